use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_vm::{Context, Job, Layout, Limits, Machine, Program, TextBuf, Timers};

use crate::{Load, NativeText};

/// Text that is kept before a run forgets it, as a report writer hands over a full buffer.
const TEXT_BYTES: usize = 256 << 10;

/// The blob of a format file.
///
/// # Panics
/// A format file with errors.
pub fn blob(format_file: &str) -> Vec<u8> {
    let mut sources = Sources::new();
    sources.add(Source::new("load.trcfmt", format_file));
    let compiled = compile(&sources, &Options::default());
    compiled.blob.unwrap_or_else(|| panic!("the load's templates compile: {:?}", compiled.diagnostics))
}

/// A program with what running it takes, ready for the next event.
#[derive(Debug)]
pub struct Engine<'b> {
    program: Program<'b>,
    /// Index of the hook of each id; [`u32::MAX`] where there is none.
    hooks: Vec<u32>,
    machine: Machine,
    timers: Timers,
    text: TextBuf,
}

impl<'b> Engine<'b> {
    /// A machine for a blob.
    ///
    /// # Panics
    /// A blob that does not verify.
    pub fn new(blob: &'b [u8]) -> Self {
        Self::with_machine(blob, Machine::new(Limits::default()))
    }

    /// The same, with the machine's checked twin for every event.
    pub fn checked(blob: &'b [u8]) -> Self {
        Self::with_machine(blob, Machine::checked(Limits::default()))
    }

    fn with_machine(blob: &'b [u8], machine: Machine) -> Self {
        let program = Program::open(blob).expect("a blob of the compiler verifies");
        let mut hooks = vec![u32::MAX; 1 << 16];
        program.hooks().for_each(|hook| hooks[usize::from(hook.id)] = hook.index);
        Engine { program, hooks, machine, timers: Timers::new(), text: TextBuf::new() }
    }

    /// Formats a load; gives the bytes of its text, the last part of which is kept.
    pub fn run(&mut self, load: &Load) -> usize {
        self.text.clear();
        let mut n_bytes = 0;
        for event in load.events() {
            if self.text.len() >= TEXT_BYTES {
                n_bytes += self.text.len();
                self.text.clear();
            }
            let job = Job {
                event: &event,
                context: &Context::EMPTY,
                timers: &mut self.timers,
                layout: Layout::default(),
                line: self.text.len(),
                out: &mut self.text,
            };
            self.machine.run(&self.program, self.hooks[usize::from(event.hook_id())], job);
        }
        n_bytes + self.text.len()
    }

    /// The last part of the text.
    pub fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Formats a load by hand; gives the bytes of its text, the last part of which is kept.
pub fn run_native(load: &Load, text: &mut NativeText) -> usize {
    text.clear();
    let mut n_bytes = 0;
    for event in load.events() {
        if text.as_bytes().len() >= TEXT_BYTES {
            n_bytes += text.as_bytes().len();
            text.clear();
        }
        text.event(&event);
    }
    n_bytes + text.as_bytes().len()
}

/// Asserts that the engine and the hand-written formatter print the same bytes of a load.
///
/// # Panics
/// When they do not.
pub fn assert_same_text(engine: &mut Engine<'_>, load: &Load) {
    let mut native = NativeText::new();
    assert_eq!(engine.run(load), run_native(load, &mut native));
    let (engine, native) = (engine.text(), native.as_bytes());
    let differs = engine.iter().zip(native).position(|(a, b)| a != b);
    if let Some(at) = differs {
        let line =
            |text: &[u8]| String::from_utf8_lossy(&text[at.saturating_sub(60)..(at + 60).min(text.len())]).into_owned();
        panic!("engine:\n{}\nby hand:\n{}", line(engine), line(native));
    }
}
