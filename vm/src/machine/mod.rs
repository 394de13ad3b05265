//! The dispatch loop and what it touches.
//!
//! Each instruction is a function ([`fast`], [`flow`], [`event_texts`], [`slow_ops`]) that is given the run, where the text
//! ends, the instruction, and the text; it gives where the text ends then, and where the routine goes on. Both come back in
//! the registers in which the next one wants them, so the loop keeps no state of its own.

mod event_texts;
mod fast;
mod flow;
#[cfg(feature = "paranoid")]
mod paranoid;
mod slow_ops;
mod texts;
mod windows;

use crate::cursor::Cursor;
use crate::mem::{At, Pc, Stage, unchecked};
use crate::op::{N_REGS, StateUse};
use crate::program::{PreparedEntry, SHAPES};
use crate::verify::{MAX_DEPTH, Orders, UNCOUNTED};
use crate::{COLUMNS, Context, Event, Instr, Observer, Program, Step, TextBuf, Timers, Unobserved};
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
    /// Steps: an instruction, 32 bytes of text that it copies or looks through, 8 bytes of a selector's text, or an entry of a
    /// BITFLAGS table. Instructions are counted when a routine jumps back, calls or returns: the run between two of these is
    /// shorter than a routine. Once the steps are used up, no further instruction runs.
    pub steps: u32,
    /// Bytes of text that the template itself prints: columns and margins do not count.
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
        // The run before may have lowered the steps, and an observer may have unwound it.
        fresh.steps = limits.steps;
        scratch.state = *fresh;
        Run {
            stage: Stage::new(),
            cursor: Cursor::new(&[]),
            scratch,
            home: program,
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
            max_steps: limits.steps,
            n_steps: 0,
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
    if program.has_hook(beginning / 4) {
        return refused(layout, out);
    }
    out.push(b"\n");
    Outcome::default()
}

/// Prints `[refused]` in place of a text.
fn refused(layout: Layout, out: &mut TextBuf) -> Outcome {
    out.pad(layout.first.into());
    out.push(b"[refused]\n");
    Outcome { refused: true, ..Outcome::default() }
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
    /// The program that the run was started with.
    home: &'r Program<'r>,
    /// The program of the running event.
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
    /// State that every event starts from.
    fresh: &'r mut State,
    /// Steps that an event may take by the machine's limits.
    max_steps: u32,
    /// Steps of the events so far.
    n_steps: u64,
    /// Bytes of text that an event may have.
    max_text: usize,
    /// The length that the text must not pass where it is no selector's; columns and margins so far are on top of it.
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
    /// written here: `columns` is lent room, and says how many bytes of it they take. True if the event ended normally and took
    /// no steps ([`Run::n_steps`]); else [`Run::outcome`] tells how it ended.
    #[inline(always)]
    pub fn begun(
        &mut self,
        prepared: &PreparedEntry<'r>,
        scene: &impl Scene<'r>,
        (layout, line): (Layout, usize),
        columns: impl FnOnce(&mut [u8; COLUMNS]) -> usize,
        out: &mut TextBuf,
    ) -> bool {
        self.program = prepared.program;
        let code = || (prepared.code, prepared.body as usize);
        self.print::<_, true>((prepared, code), scene, (layout, line), Some(columns), out, &mut Unobserved)
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
        let program = self.home;
        self.program = program;
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
        let prepared = PreparedEntry::of(program, beginning, start);
        let bare = None::<fn(&mut _) -> _>;
        let code = || program.code_at(start);
        let is_usual =
            self.print::<_, false>((&prepared, code), &(event, context), (layout, line), bare, out, observer);
        if is_usual { Outcome::default() } else { self.outcome }
    }

    /// How the event ended that was printed last, where [`Run::begun`] said that there is something to tell.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Steps of the run's events so far: those that they were charged for loops, calls and text ([`Limits::steps`]), and
    /// the lengths of routines of more than 1,024 instructions.
    #[inline]
    pub fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// Sets the steps that each further event may take: at most those of the machine's [`Limits`].
    ///
    /// Code without loops and calls runs to its end however few steps there are; [`Run::limited`] runs nothing at all.
    pub fn limit_steps(&mut self, steps: u64) {
        let steps = steps.min(self.max_steps.into()) as u32;
        self.fresh.steps = steps;
        self.scratch.state.steps = steps;
    }

    /// Prints ` [limit]` for an event whose routine is not run, since its report has no steps left. `line` is as in
    /// [`Job::line`].
    #[cold]
    pub fn limited(&self, line: usize, out: &mut TextBuf) -> Outcome {
        // Columns without text end without blanks, as those of any event do.
        while out.len > line && out.buf[out.len - 1] == b' ' {
            out.len -= 1;
        }
        out.push(b" [limit]\n");
        Outcome { limited: true, ..Outcome::default() }
    }

    /// Prints `[refused]` for an event whose routine the verifier refuses: [`Program::begin`] has none.
    #[cold]
    pub fn refused(&self, layout: Layout, out: &mut TextBuf) -> Outcome {
        refused(layout, out)
    }

    /// Prints an event; `AHEAD` tells that its beginning was looked up before the event ahead of it was printed. Its code is
    /// asked for where it is needed: looked up earlier, it would be kept in a register of the loop's.
    #[inline(always)]
    fn print<O: Observer, const AHEAD: bool>(
        &mut self,
        (prepared, code): (&PreparedEntry<'r>, impl FnOnce() -> (&'r [Instr], usize)),
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
        // An observer may look at any state.
        let uses = if O::ACTIVE { StateUse::Context } else { prepared.uses };
        if uses != StateUse::Nothing {
            self.cursor.go_to(0);
        }
        if uses >= StateUse::Event {
            self.first.start = line;
            (self.event, self.beginning, self.margin) =
                (scene.event(), prepared.beginning as usize, layout.further.into());
            if uses == StateUse::Context || prepared.zeroed > 0 {
                self.look_around(prepared, scene.context());
            }
        }
        #[cfg(feature = "paranoid")]
        self.watch_event(prepared);
        let bytes = scene.bytes();
        self.cursor.bytes = bytes;
        let (len, mut at) = self.stage.begin(code(), out, columns, layout.first, self.max_text);
        // The margin is no text, whatever columns there are.
        self.text_limit = len + usize::from(layout.first) + self.max_text;
        self.first.text = len + usize::from(layout.first);
        let handlers = if O::ACTIVE {
            fast::OBSERVED
        } else if bytes.len() >= prepared.need as usize {
            self.long[prepared.orders as usize]
        } else {
            checked(prepared.orders)
        };
        let mut pc = self.stage.start();
        if AHEAD && !O::ACTIVE && self.stage.holds(at) {
            let first = self.first();
            (at, pc) = entry(prepared.shape)(self, handlers, at, first, out);
        }
        let at = self.go(handlers, pc, at, out, observer);
        let is_usual = self.finish(out, at, line);
        if O::ACTIVE {
            observer.after(out.as_bytes().get(line..).unwrap_or_default());
        }
        is_usual
    }

    /// Makes ready what few events look at.
    #[inline(never)]
    fn look_around(&mut self, prepared: &PreparedEntry<'r>, context: Context<'r>) {
        if prepared.body > UNCOUNTED {
            self.n_steps += u64::from(prepared.body);
            // The caller must learn of the steps.
            self.touched = true;
        }
        self.scratch.regs[..prepared.zeroed.into()].fill(0);
        self.scratch.calls.clear();
        self.context = Some(context);
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
        mut pc: Pc,
        mut at: At,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> At {
        while let Some(instr) = self.instr(pc) {
            if O::ACTIVE {
                self.stage.close(out, at);
                observer.before(self.shown(instr, out.as_bytes()));
            }
            (at, pc) = if self.stage.holds(at) {
                self.step(handlers, at, instr, out)
            } else {
                self.step_behind(handlers, at, instr, out)
            };
        }
        at
    }

    /// Runs an instruction.
    #[inline(always)]
    fn step(&mut self, handlers: &Handlers, at: At, instr: &'r Instr, out: &mut TextBuf) -> (At, Pc) {
        #[cfg(feature = "paranoid")]
        self.watch_instr(instr, out, at);
        let behind = unchecked!(room: self.stage.literal(out, at, instr));
        handlers[usize::from(instr.op)](self, behind, instr, out)
    }

    /// Runs an instruction whose text has no room yet; or ends the event, if its text or its steps have reached their limit.
    #[cold]
    #[inline(never)]
    fn step_behind(&mut self, handlers: &Handlers, at: At, instr: &'r Instr, out: &mut TextBuf) -> (At, Pc) {
        self.stage.close(out, at);
        if self.state().steps == 0 || self.is_over(out.len) {
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
        unchecked!(Rows: self.stage.first())
    }

    /// The instruction at a place; `None` at the body's end.
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

    /// Counts steps. Without any left, the next instruction finds no room for its text, and ends the event.
    #[inline]
    fn charge(&mut self, n: usize) {
        if n > 0 {
            let state = self.change();
            state.steps = state.steps.saturating_sub(n.try_into().unwrap_or(u32::MAX));
            if state.steps == 0 {
                self.stage.exhaust();
            }
        }
    }

    /// Takes up the text again where it ends, after an instruction that appended to it by itself.
    #[inline]
    fn reopen(&mut self, out: &mut TextBuf) -> At {
        let at = self.stage.open(out, self.text_limit());
        if self.state().steps == 0 {
            self.stage.exhaust();
        }
        at
    }

    /// Appends a text of any length. More than one byte beyond the text limit is left out: it would go again.
    fn push(&self, out: &mut TextBuf, text: &[u8]) {
        out.push(&text[..text.len().min((self.text_limit() + 2).saturating_sub(out.len))]);
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
            unchecked!(room: self.stage.room(out, at))[0] = b'\n';
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
        let state = *self.state();
        self.n_steps += u64::from(self.fresh.steps.saturating_sub(state.steps));
        let outcome = if some && self.stage.holds(at) && state.end == End::Done && !state.selecting {
            unchecked!(room: self.stage.room(out, at))[0] = b'\n';
            self.stage.close(out, at.add(1));
            self.met()
        } else {
            self.stage.close(out, at);
            self.finish_slow(out)
        };
        self.renew();
        self.outcome = outcome;
        let Outcome { skipped, stop, truncated, limited, divided_by_zero, refused } = outcome;
        self.n_steps == 0 && !(skipped | stop | truncated | limited | divided_by_zero | refused)
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
        let Outcome { truncated, divided_by_zero, .. } = self.met();
        // The instructions after a limit may have run in part: what they met says nothing.
        let (truncated, divided_by_zero) = (truncated && !limited, divided_by_zero && !limited);
        Outcome { limited, truncated, divided_by_zero, ..self.met() }
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
/// entry tells them apart; where it is known early enough ([`PreparedEntry`]), so are all that follow.
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

/// Bytes of a selector's text that are a step: it is printed, and hashed.
const SELECTOR_STEP: usize = 8;

/// The longest text of a selector. Events are shorter.
const SELECTOR: usize = 1 << 20;
