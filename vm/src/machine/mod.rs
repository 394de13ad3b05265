//! The dispatch loop and what it touches.
//!
//! Each instruction is a function ([`fast`], [`flow`], [`event_texts`], [`aside`]) that is given the run, where the text
//! ends, the instruction, and the text; it gives where the text ends then, and where the routine goes on. Both come back in
//! the registers in which the next one wants them, so the loop keeps no state of its own.

mod aside;
mod event_texts;
mod fast;
mod flow;
#[cfg(feature = "paranoid")]
mod paranoid;
mod texts;
mod windows;

use crate::cursor::Cursor;
use crate::mem::{At, Pc, Stage, by_rule, prefetch};
use crate::program::{SHAPES, Start};
use crate::verify::{Looks, MAX_DEPTH, N_REGS, Orders};
use crate::{Context, Event, Instr, Observer, Program, Step, TextBuf, Timers, Unobserved};
use fast::Handlers;
pub(crate) use texts::prints;

/// Where an event's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Blanks between what stands in the buffer already (the columns) and the text of the first line.
    pub first: u16,
    /// Blanks before the text of every further line.
    pub further: u16,
}

/// What one event may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Loop turns and calls together.
    pub turns: u32,
    /// Steps: an instruction, 32 bytes of text that it copies or looks through, or an entry of a BITFLAGS table. They are
    /// counted where a routine jumps back, calls or returns: what runs between two of these is shorter than a routine.
    pub steps: u32,
    /// Bytes of text, margins included.
    pub text: u32,
}

impl Default for Limits {
    /// 1,048,576 turns, 64 steps for each of them, and 1 MiB.
    fn default() -> Self {
        Self { turns: 1 << 20, steps: 1 << 26, text: 1 << 20 }
    }
}

/// How an event ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// `$SKIP`: nothing was appended, and the event has no part in delta.
    pub skipped: bool,
    /// `$STOP`: no later event is to be read.
    pub stop: bool,
    /// A read went past the event's end.
    pub truncated: bool,
    /// A limit was reached; the text says so.
    pub limited: bool,
    /// A division by zero gave 0.
    pub divided_by_zero: bool,
    /// The verifier refused the routine, of a program that was opened lazily: `[refused]` stands for its text.
    pub refused: bool,
}

/// The reusable scratch of one thread: its registers. One event's values never reach the next.
#[derive(Debug)]
pub struct Machine {
    limits: Limits,
    /// What runs events that are as long as their routines need.
    long: [&'static Handlers; 3],
    /// What an event begins with.
    fresh: State,
    scratch: Box<Scratch>,
}

#[derive(Debug)]
struct Scratch {
    regs: [u64; N_REGS],
    calls: Vec<Return>,
    /// Between two events what the next one begins with.
    state: State,
    #[cfg(feature = "paranoid")]
    watch: paranoid::Watch,
}

impl Default for Machine {
    fn default() -> Self {
        Machine::new(Limits::default())
    }
}

/// Where and how one event is printed.
#[derive(Debug)]
pub struct Job<'j> {
    /// The event.
    pub event: &'j Event<'j>,
    /// What a template may ask beyond the event's bytes.
    pub context: &'j Context<'j>,
    /// The report's running timers.
    pub timers: &'j mut Timers,
    /// The margins.
    pub layout: Layout,
    /// The length that `out` had before the event's columns: a skipped event cuts it to that, and a first line
    /// without text loses the blanks at its end down to there.
    pub line: usize,
    /// Where the columns stand, and the text goes.
    pub out: &'j mut TextBuf,
}

impl Machine {
    /// A machine with the given limits.
    pub fn new(limits: Limits) -> Self {
        let fresh = State {
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
            state: fresh,
            #[cfg(feature = "paranoid")]
            watch: paranoid::Watch::default(),
        });
        Machine { limits, long: fast::FAST, fresh, scratch }
    }

    /// A machine that runs every event through the checked twin of the loop: the oracle for the fast one.
    pub fn checked(limits: Limits) -> Self {
        Machine { long: fast::CHECKED, ..Machine::new(limits) }
    }

    /// Begins to print events of a program, one after the other.
    pub fn start<'r>(&'r mut self, program: &'r Program<'r>, timers: &'r mut Timers) -> Run<'r> {
        let Machine { limits, long, fresh, scratch } = self;
        // An observer may have unwound the run before.
        scratch.state = *fresh;
        Run {
            stage: Stage::new(),
            cursor: Cursor::new(&[]),
            scratch,
            program,
            event: Event { bytes: &[], wide: false, record: None, time_ns: 0, offset: 0 },
            context: None,
            timers,
            shape: 0,
            beginning: 0,
            touched: false,
            outcome: Outcome::default(),
            given: [0; 8],
            long: *long,
            fresh,
            max_text: limits.text as usize,
            text_limit: 0,
            first: Line::default(),
            further: Line::default(),
            margin: 0,
        }
    }

    /// Prints one event by the hook with index `hook` ([`crate::Hook::index`]): appends its text, and a newline at
    /// its end. An index that the program does not have prints an empty line.
    #[inline]
    pub fn run(&mut self, program: &Program<'_>, hook: u32, job: Job<'_>) -> Outcome {
        self.run_observed(program, hook, job, &mut Unobserved)
    }

    /// The same, with every instruction shown to `observer` first.
    #[inline]
    pub fn run_observed<O: Observer>(
        &mut self,
        program: &Program<'_>,
        hook: u32,
        job: Job<'_>,
        observer: &mut O,
    ) -> Outcome {
        let Job { event, context, timers, layout, line, out } = job;
        self.start(program, timers).observed(hook, (event, context), (layout, line), out, observer)
    }
}

/// What runs an event that is shorter than its routine needs.
#[cold]
#[inline(never)]
fn checked(orders: Orders) -> &'static Handlers {
    fast::CHECKED[orders as usize]
}

/// An event that no routine prints: of a hook that the program does not have, or one whose routine is refused.
#[cold]
fn without_routine(program: &Program<'_>, beginning: usize, layout: Layout, out: &mut TextBuf) -> Outcome {
    let refused = program.has_hook(beginning / 4);
    if refused {
        out.pad(layout.first.into());
        out.push(b"[refused]");
    }
    out.push(b"\n");
    Outcome { refused, ..Outcome::default() }
}

/// A line.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    /// Where it starts in the buffer, columns or margin included.
    start: usize,
    /// Where its text starts.
    text: usize,
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Skip,
    Limit,
}

/// What an event changes as it is printed, beside the pointer and the registers.
#[derive(Debug, Clone, Copy)]
struct State {
    /// The line's number within the event, from 1.
    line: u64,
    /// Where the text ended when a soft blank was printed last.
    soft_end: usize,
    /// Loop turns and calls that are left.
    turns: u32,
    /// Steps that are left.
    steps: u32,
    /// The running routine's instruction from which on steps have not been counted.
    counted: u64,
    /// Whether what is printed is a selector's text, which goes again and does not count.
    selecting: bool,
    end: End,
    outcome: Outcome,
}

/// A machine at work on the events of a program.
///
/// What an event's routine does not look at is left as the event before had it: the verifier tells what it looks at.
#[derive(Debug)]
pub struct Run<'r> {
    stage: Stage<'r>,
    cursor: Cursor<'r>,
    scratch: &'r mut Scratch,
    program: &'r Program<'r>,
    event: Event<'r>,
    /// That of an event that looks around.
    context: Option<Context<'r>>,
    timers: &'r mut Timers,
    /// The shape that was entered last.
    shape: u8,
    /// As of [`Program::beginning`].
    beginning: usize,
    /// Whether the event has changed the machine's state; few do.
    touched: bool,
    /// How the last event ended that was not as most are.
    outcome: Outcome,
    /// A window that the event does not hold whole.
    given: [u8; 8],
    /// What runs events that are as long as their routines need.
    long: [&'static Handlers; 3],
    /// What an event begins with.
    fresh: &'r State,
    /// Bytes of text that an event may have.
    max_text: usize,
    /// The length that the text must not pass where it is no selector's.
    text_limit: usize,
    /// The event's first line.
    first: Line,
    /// The running line behind the first.
    further: Line,
    /// Blanks before the text of a line behind the first.
    margin: usize,
}

/// A call.
#[derive(Debug)]
struct Return {
    /// The routine that is called.
    routine: u32,
    /// The instruction of the caller that stands behind the call.
    at: u64,
}

/// What the events of a hook begin with in one environment ([`Program::begin`]). Looked up before the event ahead is
/// printed, it is at hand when it is needed; and it serves all of them.
///
/// ```
/// use tfbc_vm::{Context, Event, Layout, Machine, Timers, TextBuf};
/// # use tfbc_vm::{BlobBuilder, HookRow, Instr, Op, Place, Program, RoutineRow};
/// # let mut blob = BlobBuilder::new();
/// # blob.source("doc", b"");
/// # let code = [Instr::of(Op::Take, &[0, 4]), Instr::of(Op::PutHex, &[0, 8])];
/// # let routine = blob.routine(RoutineRow { need: 4, ..RoutineRow::default() }, &code, &[Place::default(); 2]);
/// # blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
/// # let blob = blob.finish();
/// # let program = Program::open(&blob).unwrap();
/// let hook = program.hook(0x0100).unwrap().index;
/// let events = [b"\x10\x0a\0\x01", b"\x10\x0a\0\x02"]
///     .map(|bytes| Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 });
/// let (mut machine, mut timers, mut text) = (Machine::default(), Timers::new(), TextBuf::new());
/// let begin = program.begin(hook, events[0].env_index()).unwrap();
/// let mut run = machine.start(&program, &mut timers);
/// for event in &events {
///     let line = text.len();
///     let number = |room: &mut [u8; tfbc_vm::COLUMNS]| {
///         room[..2].copy_from_slice(b"# ");
///         2
///     };
///     assert!(run.begun(&begin, &(event, &Context::EMPTY), (Layout::default(), line), number, &mut text));
/// }
/// assert_eq!(text.as_bytes(), b"# 100A0001\n# 100A0002\n");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Begin<'r> {
    program: &'r Program<'r>,
    /// The instructions from the routine's first one on.
    code: &'r [Instr],
    entry: Entry,
    /// How many instructions are the routine's body.
    body: u32,
    /// Event bytes that its fixed reads need.
    need: u32,
    /// As of [`Program::beginning`].
    beginning: u32,
    /// Registers to be zeroed.
    zeroed: u16,
    orders: Orders,
    looks: Looks,
}

impl<'r> Begin<'r> {
    #[inline(always)]
    pub(crate) fn of(program: &'r Program<'r>, beginning: usize, start: &Start) -> Self {
        let (code, body) = program.code_at(start);
        let &Start { need, zeroed, orders, .. } = start;
        let (entry, looks) = (entry(start.shape()), start.looks());
        Self { program, code, entry, body: body as u32, need, beginning: beginning as u32, zeroed, orders, looks }
    }

    /// Asks the processor for the beginning, which is looked at some events later.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(self);
    }

    /// Asks it for the routine's first instructions.
    #[inline(always)]
    pub fn prefetch_code(&self) {
        prefetch(self.code.as_ptr());
        prefetch(self.code.as_ptr().wrapping_add(2));
    }

    /// The program that it is of.
    pub fn program(&self) -> &'r Program<'r> {
        self.program
    }
}

/// An event and what stands around it. All but the bytes is asked for where a routine looks at it; few do.
pub trait Scene<'r> {
    /// As [`Event::bytes`].
    fn bytes(&self) -> &'r [u8];
    /// The event.
    fn event(&self) -> Event<'r>;
    /// What a template may ask beyond the event's bytes.
    fn context(&self) -> Context<'r>;
}

impl<'r> Scene<'r> for (&Event<'r>, &Context<'r>) {
    #[inline(always)]
    fn bytes(&self) -> &'r [u8] {
        self.0.bytes
    }

    #[inline(always)]
    fn event(&self) -> Event<'r> {
        *self.0
    }

    #[inline(always)]
    fn context(&self) -> Context<'r> {
        *self.1
    }
}

/// Bytes of columns that are printed with an event's text.
pub const COLUMNS: usize = 128;

impl<'r> Run<'r> {
    /// Prints an event as [`Machine::run`] does: by the hook with an index, with the margins of `layout`, on the line whose
    /// columns begin at `line` ([`Job::line`]).
    #[inline(always)]
    pub fn event(
        &mut self,
        hook: u32,
        (event, context): (&Event<'r>, &Context<'r>),
        (layout, line): (Layout, usize),
        out: &mut TextBuf,
    ) -> Outcome {
        self.observed(hook, (event, context), (layout, line), out, &mut Unobserved)
    }

    /// The same of an event of any program, by what was looked up for its hook and environment, behind columns that are
    /// written here: `columns` is lent room, and says how many bytes of it they take. False where there is more to tell of
    /// the event than of most: [`Run::outcome`] does.
    #[inline(always)]
    pub fn begun(
        &mut self,
        begin: &Begin<'r>,
        scene: &impl Scene<'r>,
        (layout, line): (Layout, usize),
        columns: impl FnOnce(&mut [u8; COLUMNS]) -> usize,
        out: &mut TextBuf,
    ) -> bool {
        self.program = begin.program;
        let code = || (begin.code, begin.body as usize);
        self.print::<_, true>((begin, code), scene, (layout, line), Some(columns), out, &mut Unobserved)
    }

    /// As [`Run::event`], with every instruction shown to `observer` first.
    #[inline(always)]
    pub fn observed<O: Observer>(
        &mut self,
        hook: u32,
        (event, context): (&Event<'r>, &Context<'r>),
        (layout, line): (Layout, usize),
        out: &mut TextBuf,
        observer: &mut O,
    ) -> Outcome {
        let beginning = Program::beginning(hook, event.env_index());
        let program = self.program;
        let proved;
        let start = match program.start(beginning) {
            Some(start) => start,
            None => {
                let Some(start) = program.start_lazily(beginning) else {
                    return without_routine(program, beginning, layout, out);
                };
                proved = start;
                &proved
            }
        };
        let begin = Begin::of(program, beginning, start);
        let bare = None::<fn(&mut _) -> _>;
        let code = || program.code_at(start);
        let is_usual = self.print::<_, false>((&begin, code), &(event, context), (layout, line), bare, out, observer);
        if is_usual { Outcome::default() } else { self.outcome }
    }

    /// How the event ended that was printed last, where [`Run::begun`] said that there is something to tell.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Prints an event; `AHEAD` tells that its beginning was looked up before the event ahead of it was printed. Its code is
    /// asked for where it is needed: looked up earlier, it would be kept in a register of the loop's.
    #[inline(always)]
    fn print<O: Observer, const AHEAD: bool>(
        &mut self,
        (begin, code): (&Begin<'r>, impl FnOnce() -> (&'r [Instr], usize)),
        scene: &impl Scene<'r>,
        (layout, line): (Layout, usize),
        columns: Option<impl FnOnce(&mut [u8; COLUMNS]) -> usize>,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> bool {
        if O::ACTIVE {
            // It may have unwound the event before.
            self.renew();
        }
        // Who watches looks at everything.
        let looks = if O::ACTIVE || cfg!(feature = "paranoid") { Looks::Around } else { begin.looks };
        if looks != Looks::Nowhere {
            self.cursor.go_to(0);
        }
        if looks >= Looks::AtEvent {
            self.first.start = line;
            (self.event, self.beginning, self.margin) =
                (scene.event(), begin.beginning as usize, layout.further.into());
            if looks == Looks::Around || begin.zeroed > 0 {
                self.look_around(begin.zeroed, scene.context());
            }
        }
        let bytes = scene.bytes();
        self.cursor.bytes = bytes;
        let (len, mut at) = self.stage.begin(code(), out, columns, layout.first, self.max_text);
        self.text_limit = len + self.max_text;
        self.first.text = len + usize::from(layout.first);
        let handlers = if O::ACTIVE {
            fast::OBSERVED
        } else if bytes.len() >= begin.need as usize {
            self.long[begin.orders as usize]
        } else {
            checked(begin.orders)
        };
        let first = self.first();
        let mut next = Some(first);
        if AHEAD && !O::ACTIVE && self.stage.holds(at) {
            let pc;
            (at, pc) = (begin.entry)(self, handlers, at, first, out);
            next = self.instr(pc);
        }
        let at = self.go(handlers, next, at, out, observer);
        let is_usual = self.finish(out, at, line);
        if O::ACTIVE {
            observer.after(out.as_bytes().get(line..).unwrap_or_default());
        }
        is_usual
    }

    /// Makes ready what few events look at.
    #[inline(never)]
    fn look_around(&mut self, zeroed: u16, context: Context<'r>) {
        self.scratch.regs[..zeroed.into()].fill(0);
        self.scratch.calls.clear();
        self.context = Some(context);
        #[cfg(feature = "paranoid")]
        self.scratch.watch.begin(zeroed);
    }

    /// The length that the text must not pass.
    fn text_limit(&self) -> usize {
        self.text_limit + if self.state().selecting { SELECTOR } else { 0 }
    }

    /// What the event's surroundings tell.
    fn context(&self) -> &Context<'r> {
        self.context.as_ref().unwrap_or(&Context::EMPTY)
    }

    /// The running line.
    fn line(&self) -> Line {
        if self.state().line == 1 { self.first } else { self.further }
    }

    /// The loop. Behind the last instruction of a routine's body the event ends, as at `end`.
    #[inline(always)]
    fn go<O: Observer>(
        &mut self,
        handlers: &Handlers,
        mut next: Option<&'r Instr>,
        mut at: At,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> At {
        while let Some(instr) = next {
            if O::ACTIVE {
                self.stage.close(out, at);
                observer.before(self.shown(instr, out.as_bytes()));
            }
            let pc;
            (at, pc) = if self.stage.holds(at) {
                self.step(handlers, at, instr, out)
            } else {
                self.step_behind(handlers, at, instr, out)
            };
            next = self.instr(pc);
        }
        at
    }

    /// Runs an instruction.
    #[inline(always)]
    fn step(&mut self, handlers: &Handlers, at: At, instr: &'r Instr, out: &mut TextBuf) -> (At, Pc) {
        #[cfg(feature = "paranoid")]
        self.watch_instr(instr, out, at);
        let behind = by_rule!(LOOP: self.stage.literal(out, at, instr));
        handlers[usize::from(instr.op)](self, behind, instr, out)
    }

    /// Runs an instruction whose text has no room yet; or ends the run, where the text has reached its limit.
    #[cold]
    #[inline(never)]
    fn step_behind(&mut self, handlers: &Handlers, at: At, instr: &'r Instr, out: &mut TextBuf) -> (At, Pc) {
        self.stage.close(out, at);
        if self.is_over(out.len) {
            return self.stop(End::Limit, at);
        }
        // A blank that may go again stands one byte behind the limit: the buffer has room behind it as behind any text.
        let at = self.stage.open(out, self.text_limit());
        self.step(handlers, at, instr, out)
    }

    /// The routine's first instruction.
    #[inline(always)]
    fn first(&mut self) -> &'r Instr {
        #[cfg(feature = "paranoid")]
        self.watch_place(self.stage.start());
        by_rule!(V12: self.stage.first())
    }

    /// The instruction at a place; `None` at the body's end.
    #[inline(always)]
    fn instr(&mut self, pc: Pc) -> Option<&'r Instr> {
        #[cfg(feature = "paranoid")]
        self.watch_place(pc);
        by_rule!(V3: self.stage.instr(pc))
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

    /// Whether a text of so many bytes is over its limit. A soft blank counts when something follows it.
    fn is_over(&self, len: usize) -> bool {
        let limit = self.text_limit();
        len > limit && !(len == limit + 1 && self.state().soft_end == len)
    }

    /// The number of the running routine.
    fn routine(&self) -> u32 {
        let called = self.scratch.calls.last().map(|call| call.routine);
        called.unwrap_or_else(|| self.program.routine_in(self.beginning))
    }

    /// What the event has changed so far.
    fn state(&self) -> &State {
        &self.scratch.state
    }

    /// The same, to change it.
    fn change(&mut self) -> &mut State {
        self.touched = true;
        &mut self.scratch.state
    }

    fn reg(&self, register: u32) -> u64 {
        #[cfg(feature = "paranoid")]
        self.scratch.watch.read(register);
        self.scratch.regs[register as usize % N_REGS]
    }

    fn set(&mut self, register: u16, value: u64) {
        #[cfg(feature = "paranoid")]
        self.scratch.watch.write(register);
        self.scratch.regs[register as usize % N_REGS] = value;
    }

    /// Pays for a loop turn or call; false where none are left, or no steps.
    #[inline]
    fn turn(&mut self) -> bool {
        let state = self.change();
        let paid = state.turns > 0 && state.steps > 0;
        state.turns = state.turns.saturating_sub(1);
        paid
    }

    /// Counts the steps up to an instruction that goes on at another.
    #[inline]
    fn count(&mut self, instr: &'r Instr, to: u64) {
        let behind = self.stage.index(self.stage.after(instr));
        self.charge(behind.saturating_sub(self.state().counted) as usize);
        self.change().counted = to;
    }

    /// Counts steps.
    #[inline]
    fn charge(&mut self, n: usize) {
        if n > 0 {
            let state = self.change();
            state.steps = state.steps.saturating_sub(n.try_into().unwrap_or(u32::MAX));
        }
    }

    /// Ends the run.
    #[cold]
    fn stop(&mut self, end: End, at: At) -> (At, Pc) {
        self.change().end = end;
        (at, self.stage.end())
    }

    /// Begins or ends printing what does not count towards the text limit.
    fn select(&mut self, selecting: bool) {
        if self.state().selecting != selecting {
            self.change().selecting = selecting;
        }
    }

    /// Removes a first or further line's blanks where no text follows them.
    fn close_line(&self, out: &mut TextBuf) {
        let line = self.line();
        if out.len == line.text {
            while out.len > line.start && out.buf[out.len - 1] == b' ' {
                out.len -= 1;
            }
        }
    }

    /// Closes the last line; false where the event has met something, or changed the machine's state.
    #[inline(always)]
    fn finish(&mut self, out: &mut TextBuf, at: At, line: usize) -> bool {
        // A line behind the first has touched the state.
        let some = self.stage.offset(at) > self.first.text;
        if some && self.stage.holds(at) && !(self.touched | self.cursor.truncated) {
            by_rule!(LOOP: self.stage.room(out, at))[0] = b'\n';
            self.stage.close(out, at.add(1));
            return true;
        }
        self.first.start = line;
        self.finish_touched(out, at)
    }

    /// The same of an event that has changed the machine's state, or was cut.
    #[inline(never)]
    fn finish_touched(&mut self, out: &mut TextBuf, at: At) -> bool {
        let some = self.stage.offset(at) > self.line().text;
        let state = self.state();
        let outcome = if some && self.stage.holds(at) && state.end == End::Done && !state.selecting {
            by_rule!(LOOP: self.stage.room(out, at))[0] = b'\n';
            self.stage.close(out, at.add(1));
            self.met()
        } else {
            self.stage.close(out, at);
            self.finish_slow(out)
        };
        self.renew();
        self.outcome = outcome;
        let Outcome { skipped, stop, truncated, limited, divided_by_zero, refused } = outcome;
        !(skipped | stop | truncated | limited | divided_by_zero | refused)
    }

    /// Makes what an event has changed as the next one expects it.
    fn renew(&mut self) {
        self.scratch.state = *self.fresh;
        (self.touched, self.cursor.truncated, self.cursor.base) = (false, false, 0);
    }

    /// The same where a line may be empty, the buffer full, a limit reached, or the event is dropped.
    #[cold]
    fn finish_slow(&mut self, out: &mut TextBuf) -> Outcome {
        self.select(false);
        let State { end, soft_end, .. } = *self.state();
        if end == End::Skip {
            out.truncate(self.first.start);
            return Outcome { skipped: true, ..self.met() };
        }
        if end == End::Limit && soft_end == out.len {
            out.len -= 1;
        }
        let limit = self.text_limit();
        let limited = end == End::Limit || out.len > limit;
        if limited {
            out.truncate(limit);
            out.push(b" [limit]");
        }
        self.close_line(out);
        out.push(b"\n");
        Outcome { limited, ..self.met() }
    }

    /// What the event has met so far.
    fn met(&self) -> Outcome {
        let outcome = self.state().outcome;
        Outcome { truncated: outcome.truncated | self.cursor.truncated, ..outcome }
    }
}

/// A way into routines of a shape: what runs their first instruction.
///
/// Processors guess where the loop goes on by the jumps behind it, and routines of many shapes begin alike. The jump to an
/// entry tells them apart; where it is known early enough ([`Begin`]), so are all that follow.
type Entry = for<'r> fn(&mut Run<'r>, &Handlers, At, &'r Instr, &mut TextBuf) -> (At, Pc);

/// The entry of a shape.
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

/// What is stored makes each of these a function of its own: equal ones would be made one.
fn enter<'r, const SHAPE: u8>(
    run: &mut Run<'r>,
    handlers: &Handlers,
    at: At,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (At, Pc) {
    run.shape = SHAPE;
    run.step(handlers, at, instr, out)
}

/// Bytes of text that are a step.
const STEP: usize = 32;

/// The longest text of a selector. Events are shorter.
const SELECTOR: usize = 1 << 20;
