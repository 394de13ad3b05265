//! Runs compiled templates over a load, without a report.

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_vm::{
    Context, Event, EventContext, Layout, Limits, LineStart, Machine, PreparedEntry, Program, Space, TextBuf, Timers,
};

use crate::{NativeText, USER};

/// Text kept before a run discards it, like a full buffer of a report.
const TEXT_BYTES: usize = 256 << 10;

/// Compiles a format file: templates (`load.trcfmt`) or event definitions (`load.xml`).
///
/// # Panics
/// If the format file has errors.
pub fn blob(name: &str, format_file: &str) -> Vec<u8> {
    let mut sources = Sources::new();
    sources.add(Source::new(name, format_file));
    let compiled = compile(&sources, &Options::default());
    compiled.blob.unwrap_or_else(|| panic!("{name} compiles: {:?}", compiled.diagnostics))
}

/// Opens a blob.
///
/// # Panics
/// If the blob does not verify.
pub fn program(blob: &[u8]) -> Program<'_> {
    Program::open(blob).expect("a blob of the compiler verifies")
}

/// Event without a context, by value: a reference would force it into memory.
#[derive(Debug, Clone, Copy)]
struct EventAlone<'e>(Event<'e>);

impl<'e> EventContext<'e> for EventAlone<'e> {
    #[inline(always)]
    fn bytes(&self) -> &'e [u8] {
        self.0.bytes
    }

    #[inline(always)]
    fn event(&self) -> Event<'e> {
        self.0
    }

    #[inline(always)]
    fn context(&self) -> Context<'e> {
        Context::EMPTY
    }
}

/// A program with the state to run it.
#[derive(Debug)]
pub struct Engine<'b> {
    program: &'b Program<'b>,
    /// Index of the hook or user event per id; 0 if there is none.
    hooks: Box<[u32; 1 << 16]>,
    /// Entries per hook, by environment.
    entries: Vec<[PreparedEntry<'b>; 4]>,
    machine: Machine,
    timers: Timers,
    text: TextBuf,
}

impl<'b> Engine<'b> {
    /// Creates a machine for a program.
    pub fn new(program: &'b Program<'b>) -> Self {
        Self::with_machine(program, Machine::new(Limits::default()))
    }

    /// Creates a machine that runs every routine in the loop, also straight ones.
    pub fn in_loop(program: &'b Program<'b>) -> Self {
        // Straight routines need no test of a limit that is at least as long as their texts.
        Self::with_machine(program, Machine::new(Limits { text: 767, ..Limits::default() }))
    }

    /// Creates a machine that uses the checked interpreter for every event.
    pub fn checked(program: &'b Program<'b>) -> Self {
        Self::with_machine(program, Machine::checked(Limits::default()))
    }

    fn with_machine(program: &'b Program<'b>, machine: Machine) -> Self {
        let mut hooks = Box::new([0; 1 << 16]);
        let known = || [Space::Hook, Space::Record].into_iter().flat_map(|space| program.entries(space));
        known().for_each(|hook| hooks[usize::from(hook.id)] = hook.index);
        let n_hooks = known().map(|hook| hook.index + 1).max().unwrap_or(0);
        let prepared = |hook| [0, 1, 2, 3].map(|env| program.prepare(hook, env).expect("every routine is sound"));
        let entries = (0..n_hooks).map(prepared).collect();
        Engine { program, hooks, entries, machine, timers: Timers::new(), text: TextBuf::new() }
    }

    /// Formats a load one event at a time. Returns the bytes of text, of which the last part is kept.
    pub fn run<'e>(&mut self, load: impl Iterator<Item = Event<'e>>) -> usize {
        let Engine { program, hooks, entries, machine, timers, text } = self;
        text.clear();
        let mut n_bytes = 0;
        let mut run = machine.start(program, timers);
        for event in load {
            if text.len() >= TEXT_BYTES {
                n_bytes += text.len();
                text.clear();
            }
            let start = LineStart { layout: Layout::default(), line: text.len() };
            let input = EventAlone(event);
            let (id, env) = place_of(&event);
            run.run_prepared(&entries[hooks[usize::from(id)] as usize][env], &input, start, |_| 0, text);
        }
        n_bytes + text.len()
    }

    /// Formats a load with lookahead: cached entries are looked up while the previous event is printed.
    pub fn run_ahead<'e>(&mut self, mut load: impl Iterator<Item = Event<'e>>) -> usize {
        let Engine { program, hooks, entries, machine, timers, text } = self;
        text.clear();
        let mut n_bytes = 0;
        let mut run = machine.start(program, timers);
        let mut next = || {
            let event = load.next()?;
            let (id, env) = place_of(&event);
            let begin = &entries[hooks[usize::from(id)] as usize][env];
            begin.prefetch_code();
            Some((begin, event))
        };
        let mut coming = next();
        while let Some((begin, event)) = coming {
            coming = next();
            if text.len() >= TEXT_BYTES {
                n_bytes += text.len();
                text.clear();
            }
            let start = LineStart { layout: Layout::default(), line: text.len() };
            let input = EventAlone(event);
            run.run_prepared(begin, &input, start, |_| 0, text);
        }
        n_bytes + text.len()
    }

    /// Last part of the text.
    pub fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Id of a hook or user event, and index of its environment.
#[inline(always)]
fn place_of(event: &Event<'_>) -> (u16, usize) {
    match (event.record, event.wide, event.bytes.first_chunk()) {
        (None, true, Some([flags, _, _, _, high, low])) => {
            (u16::from_be_bytes([*high, *low]), 2 | usize::from(flags >> 6 & 1))
        }
        (Some(record), ..) => (Space::record_id(USER, record.event), event.env_index()),
        _ => (event.hook_id(), event.env_index()),
    }
}

/// Formats a load with `format`, the hand-written code. Returns the bytes of text, of which the last part is kept.
pub fn run_native<'e>(
    load: impl Iterator<Item = Event<'e>>,
    text: &mut NativeText,
    format: impl Fn(&mut NativeText, &Event<'e>) -> Option<()>,
) -> usize {
    text.clear();
    let mut n_bytes = 0;
    for event in load {
        if text.n_bytes() >= TEXT_BYTES {
            n_bytes += text.n_bytes();
            text.clear();
        }
        format(text, &event);
    }
    n_bytes + text.n_bytes()
}

/// Asserts that the engine and the hand-written formatter print the same bytes.
///
/// # Panics
/// If they do not.
pub fn assert_same_text<'b, 'e, L: Iterator<Item = Event<'e>> + Clone>(
    engine: &mut Engine<'b>,
    run: impl Fn(&mut Engine<'b>, L) -> usize,
    load: L,
    format: impl Fn(&mut NativeText, &Event<'e>) -> Option<()>,
) {
    let mut native = NativeText::new();
    let lens = (run(engine, load.clone()), run_native(load, &mut native, format));
    let (engine, native) = (engine.text(), native.as_bytes());
    let differs = engine.iter().zip(native).position(|(a, b)| a != b);
    if let Some(at) = differs {
        let line =
            |text: &[u8]| String::from_utf8_lossy(&text[at.saturating_sub(60)..(at + 60).min(text.len())]).into_owned();
        panic!("engine:\n{}\nby hand:\n{}", line(engine), line(native));
    }
    assert_eq!(lens.0, lens.1, "bytes of text");
}
