//! Machine: the dispatch loop and its state.
//!
//! Each instruction is a function ([`fast`], [`flow`], [`event_texts`], [`slow_ops`]) of the run, the end of the text,
//! the instruction and the text buffer. It returns the new end of the text and the next instruction, in the registers
//! in which the next function expects them, so the loop has no state of its own.

mod event_texts;
mod fast;
mod fields;
mod flow;
#[cfg(feature = "paranoid")]
mod paranoid;
mod slow_ops;
#[cfg(not(feature = "safe"))]
mod straight;
mod texts;
mod windows;

use crate::cursor::Cursor;
use crate::mem::{ExecState, OutPtr, Pc, unchecked};
use crate::op::{N_REGS, StateUse};
use crate::program::{PreparedEntry, SHAPES};
use crate::verify::{Endianness, MAX_DEPTH, UNCOUNTED};
use crate::{COLUMNS, Context, Event, Instr, Observer, Program, Row, Step, TextBuf, Timers, Unobserved};
use fast::Handlers;
#[cfg(not(feature = "safe"))]
pub(crate) use straight::{Straight, StraightStart};
pub(crate) use texts::prints;

/// Margins of an event's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Blanks between the columns, which are already in the buffer, and the text of the first line.
    pub first: u16,
    /// Blanks before the text of every further line.
    pub further: u16,
}

/// Start of an event's line in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineStart {
    /// Margins.
    pub layout: Layout,
    /// Length of the buffer before the event's columns ([`Job::line`]).
    pub line: usize,
}

/// Limits on the cost of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of loop iterations plus calls.
    pub turns: u32,
    /// Number of steps. A step is an instruction, 32 bytes of text that are copied or scanned, 8 bytes of a selector's
    /// text, or an entry of a BITFLAGS table. Instructions are counted when a routine jumps back, calls or returns: the
    /// run between two of these is shorter than a routine. After the last step, no further instruction runs.
    pub steps: u32,
    /// Bytes of text printed by the template, without columns and margins.
    pub text: u32,
}

impl Default for Limits {
    /// 1,048,576 iterations, 64 steps for each, and 1 MiB of text.
    fn default() -> Self {
        Self { turns: 1 << 20, steps: 1 << 26, text: 1 << 20 }
    }
}

/// Result of printing one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// True after `$SKIP`: nothing was appended, and the next delta is not measured from this event.
    pub skipped: bool,
    /// True after `$STOP`: no later event may be read.
    pub stop: bool,
    /// True if a read went past the end of the event.
    pub truncated: bool,
    /// True if a limit was reached; the text contains `[limit]`.
    pub limited: bool,
    /// True if a number was divided by zero; the result is 0.
    pub divided_by_zero: bool,
    /// True if the verifier refused the routine of a lazily opened program; `[refused]` is printed instead of its text.
    pub refused: bool,
}

/// Reusable scratch memory of one thread: the registers. Values never pass from one event to the next.
#[derive(Debug)]
pub struct Machine {
    limits: Limits,
    /// Handlers for events as long as their routines need, by byte order.
    long: [&'static Handlers; 3],
    /// True if straight routines run without the loop.
    #[cfg(not(feature = "safe"))]
    runs_straight: bool,
    /// State every event starts from.
    initial: EventState,
    scratch: Box<Scratch>,
}

#[derive(Debug)]
struct Scratch {
    regs: [u64; N_REGS],
    calls: Vec<Return>,
    /// State in which the next event starts.
    state: EventState,
    /// Fields of the last event that stored any.
    row: Row,
    missing: fields::Missing,
    #[cfg(feature = "paranoid")]
    watch: paranoid::EventHistory,
}

impl Default for Machine {
    fn default() -> Self {
        Machine::new(Limits::default())
    }
}

/// Input and output of printing one event.
#[derive(Debug)]
pub struct Job<'j> {
    /// The event.
    pub event: &'j Event<'j>,
    /// Context for macros that the event's bytes do not contain.
    pub context: &'j Context<'j>,
    /// Running timers of the report.
    pub timers: &'j mut Timers,
    /// Margins.
    pub layout: Layout,
    /// Length of `out` before the event's columns. A skipped event is truncated to it, and a first line without text
    /// loses its trailing blanks down to it.
    pub line: usize,
    /// Buffer that contains the columns and receives the text.
    pub out: &'j mut TextBuf,
}

impl Machine {
    /// Machine with the given limits.
    pub fn new(limits: Limits) -> Self {
        let initial = EventState {
            line: 1,
            soft_end: usize::MAX,
            turns: limits.turns,
            steps: limits.steps,
            counted: 0,
            selecting: false,
            end: End::Done,
            outcome: Outcome::default(),
        };
        let scratch = Box::new(Scratch {
            regs: [0; N_REGS],
            calls: Vec::with_capacity(MAX_DEPTH),
            state: initial,
            row: Row::default(),
            missing: fields::Missing::default(),
            #[cfg(feature = "paranoid")]
            watch: paranoid::EventHistory::default(),
        });
        Machine {
            limits,
            long: fast::FAST,
            // The text of a straight routine is never limited.
            #[cfg(not(feature = "safe"))]
            runs_straight: limits.text as usize >= TextBuf::TEXT_ROOM && limits.turns as usize >= straight::MAX_DUMP,
            initial,
            scratch,
        }
    }

    /// Machine that runs every event in the checked loop: the oracle for the fast one.
    pub fn checked(limits: Limits) -> Self {
        Machine {
            long: fast::CHECKED,
            #[cfg(not(feature = "safe"))]
            runs_straight: false,
            ..Machine::new(limits)
        }
    }

    /// Starts printing events of a program.
    pub fn start<'r>(&'r mut self, program: &'r Program<'r>, timers: &'r mut Timers) -> Run<'r> {
        // Only references and small fields are set here: a caller may start a run for every event.
        let Machine { limits, long, initial, scratch, .. } = self;
        // The previous run may have lowered the steps, and an observer may have unwound it.
        initial.steps = limits.steps;
        scratch.state = *initial;
        Run {
            stage: ExecState::new(),
            cursor: Cursor::new(&[]),
            scratch,
            home: program,
            program,
            event: Event { bytes: &[], wide: false, record: None, time_ns: 0, offset: 0 },
            context: None,
            timers,
            shape: 0,
            start_index: 0,
            dirty: false,
            dirty_beyond_dumps: false,
            outcome: Outcome::default(),
            cut_window: [0; 8],
            long: *long,
            #[cfg(not(feature = "safe"))]
            runs_straight: self.runs_straight,
            initial,
            max_steps: limits.steps,
            n_steps: 0,
            max_text: limits.text as usize,
            text_limit: 0,
            first: OutputLine::default(),
            further: OutputLine::default(),
            margin: 0,
        }
    }

    /// Fields of the last event that stored any.
    pub fn row(&self) -> &Row {
        &self.scratch.row
    }

    /// Prints one event with the hook at index `hook` ([`crate::Hook::index`]): appends its text and a newline. An
    /// unknown index prints an empty line.
    #[inline]
    pub fn run(&mut self, program: &Program<'_>, hook: u32, job: Job<'_>) -> Outcome {
        self.run_observed(program, hook, job, &mut Unobserved)
    }

    /// Prints one event and passes every instruction to `observer` first.
    #[inline]
    pub fn run_observed<O: Observer>(
        &mut self,
        program: &Program<'_>,
        hook: u32,
        job: Job<'_>,
        observer: &mut O,
    ) -> Outcome {
        let Job { event, context, timers, layout, line, out } = job;
        let (input, start) = (EventInput { event, context }, LineStart { layout, line });
        self.start(program, timers).observed(hook, input, start, out, observer)
    }
}

/// Handlers for an event that is shorter than its routine needs.
#[cold]
#[inline(never)]
fn checked(orders: Endianness) -> &'static Handlers {
    fast::CHECKED[orders as usize]
}

/// Handlers that each run a single instruction.
#[inline(always)]
fn observed() -> &'static Handlers {
    fast::OBSERVED
}

/// Prints an event without a routine: its hook is unknown, or its routine is refused.
#[cold]
fn without_routine(program: &Program<'_>, start_index: usize, layout: Layout, out: &mut TextBuf) -> Outcome {
    if program.has_hook(start_index / 4) {
        return refused(layout, out);
    }
    out.push(b"\n");
    Outcome::default()
}

/// Prints `[refused]` instead of a text.
fn refused(layout: Layout, out: &mut TextBuf) -> Outcome {
    out.pad(layout.first.into());
    out.push(b"[refused]\n");
    Outcome { refused: true, ..Outcome::default() }
}

/// Line of the output.
#[derive(Debug, Clone, Copy, Default)]
struct OutputLine {
    /// Start in the buffer, including columns or margin.
    start: usize,
    /// Start of its text.
    text: usize,
}

/// Reason why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Skip,
    Limit,
}

/// State that an event changes while it is printed, besides the pointer and the registers.
#[derive(Debug, Clone, Copy)]
struct EventState {
    /// Number of the line in the event, from 1.
    line: u64,
    /// End of the text at the last soft blank.
    soft_end: usize,
    /// Loop iterations and calls left.
    turns: u32,
    /// Steps left.
    steps: u32,
    /// Index of the first instruction of the current routine whose steps are not counted yet.
    counted: u64,
    /// True while a selector's text is printed, which is removed again and does not count.
    selecting: bool,
    end: End,
    outcome: Outcome,
}

/// Run of a machine over events of a program.
///
/// State that a routine does not use may be left over from the previous event: the verifier notes which state each
/// routine uses.
#[derive(Debug)]
pub struct Run<'r> {
    stage: ExecState<'r>,
    cursor: Cursor<'r>,
    scratch: &'r mut Scratch,
    /// Program that the run was started with.
    home: &'r Program<'r>,
    /// Program of the current event.
    program: &'r Program<'r>,
    event: Event<'r>,
    /// Context of the current event, if its routine uses it.
    context: Option<Context<'r>>,
    timers: &'r mut Timers,
    /// Shape of the last routine.
    shape: u8,
    /// Index of the start data, see [`Program::start_index`].
    start_index: usize,
    /// True if the event has changed the state, which few do.
    dirty: bool,
    /// True if it has changed more than the soft blank and the number of iterations left, as dumps do.
    dirty_beyond_dumps: bool,
    /// Outcome of the last event that did not end normally.
    outcome: Outcome,
    /// Window that is cut by the end of the event, padded with zeros.
    cut_window: [u8; 8],
    /// Handlers for events as long as their routines need, by byte order.
    long: [&'static Handlers; 3],
    /// True if straight routines run without the loop.
    #[cfg(not(feature = "safe"))]
    runs_straight: bool,
    /// State that every event starts from.
    initial: &'r mut EventState,
    /// Limit of the machine on the steps of an event.
    max_steps: u32,
    /// Steps of all events so far.
    n_steps: u64,
    /// Limit on the text of an event in bytes.
    max_text: usize,
    /// Maximum length of the buffer, except for a selector's text. Columns and margins so far are included.
    text_limit: usize,
    /// First line of the event.
    first: OutputLine,
    /// Current line, if it is not the first.
    further: OutputLine,
    /// Blanks before the text of further lines.
    margin: usize,
}

/// Return address of a call.
#[derive(Debug)]
struct Return {
    /// Routine that was called.
    routine: u32,
    /// Index of the caller's instruction after the call.
    at: u64,
}

/// Event and its context. Everything except the bytes is computed only if a routine needs it; few do.
pub trait EventContext<'r>: Copy {
    /// Bytes of the event ([`Event::bytes`]).
    fn bytes(&self) -> &'r [u8];
    /// The event.
    fn event(&self) -> Event<'r>;
    /// Values that a template may read beyond the event's bytes.
    fn context(&self) -> Context<'r>;
}

/// An event and its context, both known.
#[derive(Debug, Clone, Copy)]
pub struct EventInput<'e, 'r> {
    /// The event.
    pub event: &'e Event<'r>,
    /// Its context.
    pub context: &'e Context<'r>,
}

impl<'r> EventContext<'r> for EventInput<'_, 'r> {
    #[inline(always)]
    fn bytes(&self) -> &'r [u8] {
        self.event.bytes
    }

    #[inline(always)]
    fn event(&self) -> Event<'r> {
        *self.event
    }

    #[inline(always)]
    fn context(&self) -> Context<'r> {
        *self.context
    }
}

/// Entry to run, and the lookup of its code and body length. The lookup happens late: an earlier one would occupy a
/// register of the loop.
struct EntryCode<'p, 'r, F> {
    entry: &'p PreparedEntry<'r>,
    code: F,
}

impl<'r> Run<'r> {
    /// Prints an event by the hook with an index, as [`Machine::run`] does.
    #[inline(always)]
    pub fn event(&mut self, hook: u32, input: EventInput<'_, 'r>, start: LineStart, out: &mut TextBuf) -> Outcome {
        self.observed(hook, input, start, out, &mut Unobserved)
    }

    /// Prints an event of any program by its prepared entry, after its columns: `columns` writes them into the given
    /// buffer and returns their length. True if the event ended normally and took no steps ([`Run::n_steps`]);
    /// otherwise [`Run::outcome`] returns its outcome.
    #[inline(always)]
    pub fn run_prepared(
        &mut self,
        prepared: &PreparedEntry<'r>,
        input: &impl EventContext<'r>,
        start: LineStart,
        columns: impl FnOnce(&mut [u8; COLUMNS]) -> usize,
        out: &mut TextBuf,
    ) -> bool {
        let bytes = input.bytes();
        let at = ExecState::begin_line(out, Some(columns), start.layout.first);
        #[cfg(not(feature = "safe"))]
        if bytes.len() >= prepared.straight_need as usize && self.runs_straight {
            let end = straight::run(prepared, bytes, at);
            // A line without text is left to the loop, which removes the blanks before it.
            if end.is_after(at) {
                ExecState::end_line(out, end);
                return true;
            }
        }
        self.print_prepared(prepared, *input, start, at, out)
    }

    /// Prints an event by the loop, after its columns. It is a call with a copy of the input, so that the caller's loop
    /// keeps its own state in registers.
    #[inline(never)]
    fn print_prepared(
        &mut self,
        prepared: &PreparedEntry<'r>,
        input: impl EventContext<'r>,
        start: LineStart,
        at: OutPtr,
        out: &mut TextBuf,
    ) -> bool {
        let code = EntryCode { entry: prepared, code: || (prepared.code, prepared.body as usize) };
        self.print::<_, true>(code, &input, start, at, out, &mut Unobserved)
    }

    /// Prints an event by the hook with an index, and passes every instruction to `observer` first.
    #[inline(always)]
    pub fn observed<O: Observer>(
        &mut self,
        hook: u32,
        input: EventInput<'_, 'r>,
        line: LineStart,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> Outcome {
        let start_index = Program::start_index(hook, input.event.env_index());
        let program = self.home;
        // A lazily opened program has no start data in advance; the copy on the stack gives both cases one type.
        let proved;
        let start = match program.start(start_index) {
            Some(start) => start,
            None => {
                let Some(start) = program.start_lazily(start_index) else {
                    return without_routine(program, start_index, line.layout, out);
                };
                proved = start;
                &proved
            }
        };
        let prepared = PreparedEntry::of(program, start_index, start);
        let at = ExecState::begin_line(out, None::<fn(&mut _) -> _>, line.layout.first);
        let code = EntryCode { entry: &prepared, code: || program.code_at(start) };
        let is_usual = self.print::<_, false>(code, &input, line, at, out, observer);
        if is_usual { Outcome::default() } else { self.outcome }
    }

    /// Outcome of the last event, if [`Run::run_prepared`] returned false for it.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Steps of the run's events so far: those that they were charged for loops, calls and text ([`Limits::steps`]),
    /// and the lengths of routines of more than 1,024 instructions.
    #[inline]
    pub fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// Sets the number of steps that each further event may take, up to the machine's [`Limits`].
    ///
    /// Code without loops and calls always runs to its end, even with fewer steps. [`Run::limited`] runs nothing at
    /// all.
    pub fn limit_steps(&mut self, steps: u64) {
        let steps = steps.min(self.max_steps.into()) as u32;
        self.initial.steps = steps;
        self.scratch.state.steps = steps;
    }

    /// Prints ` [limit]` for an event whose routine is not run, since its report has no steps left. `line` is as in
    /// [`Job::line`].
    #[cold]
    pub fn limited(&self, line: usize, out: &mut TextBuf) -> Outcome {
        // Blanks at the end of a line are removed, also after columns without a text.
        while out.len > line && out.buf[out.len - 1] == b' ' {
            out.len -= 1;
        }
        out.push(b" [limit]\n");
        Outcome { limited: true, ..Outcome::default() }
    }

    /// Prints `[refused]` for an event whose routine the verifier refuses: [`Program::prepare`] has none.
    #[cold]
    pub fn refused(&self, layout: Layout, out: &mut TextBuf) -> Outcome {
        refused(layout, out)
    }

    /// Prints an event by the loop, at a position from [`ExecState::begin_line`]. `AHEAD` is true if its entry was
    /// prepared before the previous event was printed.
    #[inline(always)]
    fn print<O: Observer, const AHEAD: bool>(
        &mut self,
        EntryCode { entry: prepared, code }: EntryCode<'_, 'r, impl Fn() -> (&'r [Instr], usize)>,
        input: &impl EventContext<'r>,
        LineStart { layout, line }: LineStart,
        at: OutPtr,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> bool {
        let bytes = input.bytes();
        self.program = prepared.program;
        if O::ACTIVE {
            // The observer may have unwound during the previous event.
            self.reset();
        }
        // An observer may look at any state.
        let uses = if O::ACTIVE { StateUse::Context } else { prepared.uses };
        if uses != StateUse::Nothing {
            self.cursor.go_to(0);
        }
        if uses >= StateUse::Event {
            self.first.start = line;
            (self.event, self.start_index, self.margin) =
                (input.event(), prepared.start_index as usize, layout.further.into());
            if uses == StateUse::Context || prepared.zeroed > 0 {
                self.look_around(prepared.body, prepared.zeroed, input.context());
            }
        }
        #[cfg(feature = "paranoid")]
        self.watch_event(prepared);
        // The length is tested once per event. No read at a fixed offset tests it again in the fast loop (rule V6).
        self.cursor.bytes = bytes;
        self.first.text = ExecState::length(out, at);
        // The margin does not count towards the limit, so that the limit does not depend on the columns.
        self.text_limit = self.first.text + self.max_text;
        let mut at = self.stage.begin(code(), out, at, layout.first, self.text_limit);
        let handlers = if O::ACTIVE {
            fast::OBSERVED
        } else if bytes.len() >= prepared.need as usize {
            self.long[prepared.orders as usize]
        } else {
            checked(prepared.orders)
        };
        let mut pc = self.stage.start();
        if AHEAD && !O::ACTIVE && self.stage.has_room(at) {
            let first = self.first();
            (at, pc) = entry(prepared.shape)(self, handlers, at, first, out);
        }
        // The text of one instruction always fits after `has_room`; the loop tests nothing else about the buffer.
        let at = self.go(handlers, pc, at, out, observer);
        let is_usual = self.finish(out, at, line);
        if O::ACTIVE {
            observer.after(out.as_bytes().get(line..).unwrap_or_default());
        }
        is_usual
    }

    /// Prepares the state that few routines use: for a body of `n_instrs` instructions, with `n_zeroed` registers to
    /// zero. A reference to the entry would force it into memory for every event.
    #[inline(never)]
    fn look_around(&mut self, n_instrs: u32, n_zeroed: u16, context: Context<'r>) {
        if n_instrs > UNCOUNTED {
            self.n_steps += u64::from(n_instrs);
            // Makes the caller check the number of steps.
            self.dirty = true;
        }
        // Macros are 0 until they are assigned. The compiler says how many registers that takes; most routines need
        // none.
        self.scratch.regs[..n_zeroed.into()].fill(0);
        // An event that ended inside of a callee left its return addresses.
        self.scratch.calls.clear();
        self.context = Some(context);
    }

    /// Maximum length of the buffer.
    fn text_limit(&self) -> usize {
        self.text_limit + if self.state().selecting { SELECTOR } else { 0 }
    }

    /// Context of the event.
    fn context(&self) -> &Context<'r> {
        self.context.as_ref().unwrap_or(&Context::EMPTY)
    }

    /// Current line.
    fn line(&self) -> OutputLine {
        if self.state().line == 1 { self.first } else { self.further }
    }

    /// Dispatch loop. The event ends after the last instruction of the routine's body, as at `end`.
    #[inline(always)]
    fn go<O: Observer>(
        &mut self,
        handlers: &Handlers,
        mut pc: Pc,
        mut at: OutPtr,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> OutPtr {
        while let Some(instr) = self.instr(pc) {
            if O::ACTIVE {
                self.stage.close(out, at);
                observer.before(self.shown(instr, out.as_bytes()));
            }
            (at, pc) = if self.stage.has_room(at) {
                self.step(handlers, at, instr, out)
            } else {
                self.step_making_room(handlers, at, instr, out)
            };
        }
        at
    }

    /// Runs an instruction.
    #[inline(always)]
    fn step(&mut self, handlers: &Handlers, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
        #[cfg(feature = "paranoid")]
        self.watch_instr(instr, out, at);
        let end = unchecked!(room: self.stage.literal(out, at, instr));
        handlers[usize::from(instr.op)](self, end, instr, out)
    }

    /// Runs an instruction after making room for its text, or ends the event if its text or steps have reached the
    /// limit.
    #[cold]
    #[inline(never)]
    fn step_making_room(
        &mut self,
        handlers: &Handlers,
        at: OutPtr,
        instr: &'r Instr,
        out: &mut TextBuf,
    ) -> (OutPtr, Pc) {
        self.stage.close(out, at);
        if self.state().steps == 0 || self.is_over(out.len) {
            return self.stop(End::Limit, at);
        }
        // A soft blank may be one byte after the limit, because it may be removed again; the buffer has room for it.
        let at = self.stage.open(out, self.text_limit());
        self.step(handlers, at, instr, out)
    }

    /// First instruction of the routine.
    #[inline(always)]
    fn first(&mut self) -> &'r Instr {
        // An empty body would end at its first instruction; rule V12 refuses it, so the first step needs no test.
        #[cfg(feature = "paranoid")]
        self.watch_place(self.stage.start());
        unchecked!(Rows: self.stage.first())
    }

    /// Instruction at a position; `None` at the end of the body.
    #[inline(always)]
    fn instr(&mut self, pc: Pc) -> Option<&'r Instr> {
        #[cfg(feature = "paranoid")]
        self.watch_place(pc);
        unchecked!(Targets: self.stage.instr(pc))
    }

    fn shown<'s>(&'s self, instr: &'r Instr, text: &'s [u8]) -> Step<'s> {
        Step {
            routine: self.routine(),
            pc: self.stage.index(self.stage.after(instr)) as u32 - 1,
            instr,
            regs: &self.scratch.regs[..],
            pointer: self.cursor.byte(),
            bit: self.cursor.bit(),
            base: self.cursor.base,
            event: &self.event,
            text: &text[self.first.start.min(text.len())..],
        }
    }

    /// True if a text of this length exceeds the limit. A trailing soft blank does not count yet.
    fn is_over(&self, len: usize) -> bool {
        let limit = self.text_limit();
        len > limit && !(len == limit + 1 && self.state().soft_end == len)
    }

    /// Index of the current routine.
    fn routine(&self) -> u32 {
        let called = self.scratch.calls.last().map(|call| call.routine);
        called.unwrap_or_else(|| self.program.routine_in(self.start_index))
    }

    /// State changed by the event.
    fn state(&self) -> &EventState {
        &self.scratch.state
    }

    /// State for changes; sets the dirty flags.
    fn change(&mut self) -> &mut EventState {
        self.dirty_beyond_dumps = true;
        self.change_by_dump()
    }

    /// State for changes of the soft blank and the number of iterations left.
    fn change_by_dump(&mut self) -> &mut EventState {
        self.dirty = true;
        &mut self.scratch.state
    }

    fn reg(&self, register: u32) -> u64 {
        // Rule V2 makes the remainder superfluous. It is one `and`, and lets the compiler drop the bounds check in safe
        // code.
        #[cfg(feature = "paranoid")]
        self.scratch.watch.read(register);
        self.scratch.regs[register as usize % N_REGS]
    }

    fn set(&mut self, register: u16, value: u64) {
        #[cfg(feature = "paranoid")]
        self.scratch.watch.write(register);
        self.scratch.regs[register as usize % N_REGS] = value;
    }

    /// Counts a loop iteration or call. Returns false if the limit on iterations or on steps is reached.
    #[inline]
    fn count_iteration(&mut self) -> bool {
        let state = self.change();
        let paid = state.turns > 0 && state.steps > 0;
        // Both limits are tested here and nowhere else, because every loop and call passes here.
        state.turns = state.turns.saturating_sub(1);
        paid
    }

    /// Counts the steps up to an instruction that jumps to `to`.
    #[inline]
    fn count(&mut self, instr: &'r Instr, to: u64) {
        let end = self.stage.index(self.stage.after(instr));
        self.charge(end.saturating_sub(self.state().counted) as usize);
        self.change().counted = to;
    }

    /// Counts steps. If none are left, the next instruction finds no room for its text, and ends the event.
    #[inline]
    fn charge(&mut self, n: usize) {
        if n > 0 {
            let state = self.change();
            state.steps = state.steps.saturating_sub(n.try_into().unwrap_or(u32::MAX));
            if state.steps == 0 {
                self.stage.close_room();
            }
        }
    }

    /// Reopens the text after an instruction that appended to the buffer.
    #[inline]
    fn reopen(&mut self, out: &mut TextBuf) -> OutPtr {
        let at = self.stage.open(out, self.text_limit());
        if self.state().steps == 0 {
            self.stage.close_room();
        }
        at
    }

    /// Appends a text of any length, cut one byte after the text limit, because the rest would be removed again.
    fn push(&self, out: &mut TextBuf, text: &[u8]) {
        out.push(&text[..text.len().min((self.text_limit() + 2).saturating_sub(out.len))]);
    }

    /// Ends the run.
    #[cold]
    fn stop(&mut self, end: End, at: OutPtr) -> (OutPtr, Pc) {
        // The loop sees the end of the body next, so it needs no test of its own for events that are stopped.
        self.change().end = end;
        (at, self.stage.end())
    }

    /// Starts or ends text that does not count towards the limit.
    fn select(&mut self, selecting: bool) {
        if self.state().selecting != selecting {
            self.change().selecting = selecting;
        }
    }

    /// Removes the trailing blanks of a line without text.
    fn close_line(&self, out: &mut TextBuf) {
        let line = self.line();
        if out.len == line.text {
            while out.len > line.start && out.buf[out.len - 1] == b' ' {
                out.len -= 1;
            }
        }
    }

    /// Ends the last line. Returns false if the event did not end normally or changed the state.
    #[inline(always)]
    fn finish(&mut self, out: &mut TextBuf, at: OutPtr, line: usize) -> bool {
        // A further line has set the dirty flag.
        let some = self.stage.offset(at) > self.first.text;
        if some && self.stage.has_room(at) && !(self.dirty | self.cursor.truncated) {
            // Nearly all events end here: one test and one store.
            unchecked!(room: self.stage.room(out, at))[0] = b'\n';
            self.stage.close(out, at.add(1));
            return true;
        }
        self.first.start = line;
        self.finish_dump(out, at)
    }

    /// Ends an event that changed the state no more than a dump does: 20 instructions instead of 67.
    #[inline(never)]
    fn finish_dump(&mut self, out: &mut TextBuf, at: OutPtr) -> bool {
        let some = self.stage.offset(at) > self.first.text;
        if !(some && self.stage.has_room(at)) || self.dirty_beyond_dumps | self.cursor.truncated {
            return self.finish_dirty(out, at);
        }
        unchecked!(room: self.stage.room(out, at))[0] = b'\n';
        self.stage.close(out, at.add(1));
        let EventState { soft_end, turns, .. } = *self.initial;
        let state = &mut self.scratch.state;
        (state.soft_end, state.turns) = (soft_end, turns);
        (self.dirty, self.outcome) = (false, Outcome::default());
        self.n_steps == 0
    }

    /// Ends an event that changed the state, or was cut.
    #[inline(never)]
    fn finish_dirty(&mut self, out: &mut TextBuf, at: OutPtr) -> bool {
        let some = self.stage.offset(at) > self.line().text;
        let state = *self.state();
        self.n_steps += u64::from(self.initial.steps.saturating_sub(state.steps));
        let outcome = if some && self.stage.has_room(at) && state.end == End::Done && !state.selecting {
            unchecked!(room: self.stage.room(out, at))[0] = b'\n';
            self.stage.close(out, at.add(1));
            self.outcome_so_far()
        } else {
            self.stage.close(out, at);
            self.finish_slow(out)
        };
        self.reset();
        self.outcome = outcome;
        let Outcome { skipped, stop, truncated, limited, divided_by_zero, refused } = outcome;
        // Steps were counted, so the report must compare them with its budget (docs/limits.md, "Budget of a report").
        self.n_steps == 0 && !(skipped | stop | truncated | limited | divided_by_zero | refused)
    }

    /// Resets the state for the next event.
    fn reset(&mut self) {
        self.scratch.state = *self.initial;
        (self.dirty, self.dirty_beyond_dumps, self.cursor.truncated, self.cursor.base) = (false, false, false, 0);
    }

    /// Slow path: an empty line, a full buffer, a limit or a skipped event.
    #[cold]
    fn finish_slow(&mut self, out: &mut TextBuf) -> Outcome {
        self.select(false);
        let EventState { end, soft_end, .. } = *self.state();
        if end == End::Skip {
            out.truncate(self.first.start);
            return Outcome { skipped: true, ..self.outcome_so_far() };
        }
        // The event was stopped before the instruction that removes a soft blank at the end of the line.
        if end == End::Limit && soft_end == out.len {
            out.len -= 1;
        }
        // `limit` is read after `select(false)`: the text of a selector is not shown, even if the event stops in it.
        let limit = self.text_limit();
        let limited = end == End::Limit || out.len > limit;
        if limited {
            out.truncate(limit);
            out.push(b" [limit]");
        }
        self.close_line(out);
        out.push(b"\n");
        let Outcome { truncated, divided_by_zero, .. } = self.outcome_so_far();
        // After a limit, instructions may have run in part, so these flags mean nothing.
        let (truncated, divided_by_zero) = (truncated && !limited, divided_by_zero && !limited);
        Outcome { limited, truncated, divided_by_zero, ..self.outcome_so_far() }
    }

    /// Outcome so far.
    fn outcome_so_far(&self) -> Outcome {
        let outcome = self.state().outcome;
        Outcome { truncated: outcome.truncated | self.cursor.truncated, ..outcome }
    }
}

/// Entry for routines of one shape: runs their first instruction.
///
/// Processors predict the loop's indirect jump from the jumps before it, and routines of many shapes begin with the
/// same ones. The jump to an entry distinguishes the shapes early; with a [`PreparedEntry`], all later jumps are
/// predicted better.
type Entry = for<'r> fn(&mut Run<'r>, &Handlers, OutPtr, &'r Instr, &mut TextBuf) -> (OutPtr, Pc);

/// Entry of a shape.
#[inline(always)]
fn entry(shape: u8) -> Entry {
    macro_rules! eights {
        ($($n:literal)*) => {
            [$(
                enter::<{ 8 * $n }>, enter::<{ 8 * $n + 1 }>, enter::<{ 8 * $n + 2 }>, enter::<{ 8 * $n + 3 }>,
                enter::<{ 8 * $n + 4 }>, enter::<{ 8 * $n + 5 }>, enter::<{ 8 * $n + 6 }>, enter::<{ 8 * $n + 7 }>,
            )*]
        };
    }
    static ALL: [Entry; SHAPES] = eights!(0 1 2 3 4 5 6 7);
    ALL[usize::from(shape) % SHAPES]
}

/// The store makes each instance different: otherwise the compiler would merge them.
fn enter<'r, const SHAPE: u8>(
    run: &mut Run<'r>,
    handlers: &Handlers,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    run.shape = SHAPE;
    run.step(handlers, at, instr, out)
}

/// Bytes of text per step.
const STEP: usize = 32;

/// Bytes of a selector's text per step: it is printed and hashed.
const SELECTOR_STEP: usize = 8;

/// Maximum length of a selector's text; events are shorter.
const SELECTOR: usize = 1 << 20;
