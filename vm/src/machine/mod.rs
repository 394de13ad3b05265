//! The dispatch loop and what it touches.
//!
//! Each instruction is a function ([`fast`], [`aside`]) that is given the run, its text, the instruction,
//! and where the text ends; it gives where the routine goes on, and where the text ends then. So the loop's own state stays in registers.

mod aside;
mod fast;
mod texts;

use crate::cursor::Cursor;
use crate::mem::{At, Pc, Stage, by_rule};
use crate::verify::{MAX_DEPTH, N_REGS};
use crate::{Context, Event, Instr, Observer, Program, Step, TextBuf, Timers, Unobserved};
use fast::Handler;

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
    /// Bytes of text, margins included.
    pub text: u32,
}

impl Default for Limits {
    /// 1,048,576 turns and 1 MiB.
    fn default() -> Self {
        Self { turns: 1 << 20, text: 1 << 20 }
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
    checked_only: bool,
    /// What an event begins with.
    fresh: State,
    scratch: Box<Scratch>,
}

#[derive(Debug)]
struct Scratch {
    regs: [u64; N_REGS],
    calls: Vec<Return>,
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
            selecting: false,
            end: End::Done,
            outcome: Outcome::default(),
        };
        let scratch = Box::new(Scratch { regs: [0; N_REGS], calls: Vec::with_capacity(MAX_DEPTH) });
        Machine { limits, checked_only: false, fresh, scratch }
    }

    /// A machine that runs every event through the checked twin of the loop: the oracle for the fast one.
    pub fn checked(limits: Limits) -> Self {
        Machine { checked_only: true, ..Machine::new(limits) }
    }

    /// Prints one event by the hook with index `hook` ([`crate::Hook::index`]): appends its text, and a newline at
    /// its end. An index that the program does not have prints an empty line.
    #[inline(always)]
    pub fn run(&mut self, program: &Program<'_>, hook: u32, job: Job<'_>) -> Outcome {
        self.run_observed(program, hook, job, &mut Unobserved)
    }

    /// The same, with every instruction shown to `observer` first.
    #[inline(always)]
    pub fn run_observed<O: Observer>(
        &mut self,
        program: &Program<'_>,
        hook: u32,
        job: Job<'_>,
        observer: &mut O,
    ) -> Outcome {
        let Job { event, context, timers, layout, line, out } = job;
        let Some(start) = program.start(hook, event.env_index()) else {
            return without_routine(program, hook, layout, out);
        };
        if start.zeroed > 0 {
            self.scratch.regs[..start.zeroed].fill(0);
        }
        self.scratch.calls.clear();
        let text_limit = out.len() + self.limits.text as usize;
        let mut stage = Stage::new(start.code);
        let at = stage.begin(out, layout.first, text_limit);
        let line_text = stage.offset(at);
        let mut run = Run {
            stage,
            cursor: Cursor::new(event.bytes),
            scratch: &mut self.scratch,
            program,
            event,
            context,
            timers,
            hook,
            routine: start.routine,
            event_start: line,
            line: Line { start: line, text: line_text, margin: layout.further.into() },
            text_limit,
            state: self.fresh,
        };
        // An observer sees every instruction; in the loop for long events some are run together.
        let at = if O::ACTIVE || self.checked_only || event.bytes.len() < start.need {
            run.checked(out, at, observer)
        } else {
            run.go(&fast::FAST, out, at, observer)
        };
        run.finish(out, at)
    }
}

/// An event that no routine prints: of a hook that the program does not have, or one whose routine is refused.
#[cold]
fn without_routine(program: &Program<'_>, hook: u32, layout: Layout, out: &mut TextBuf) -> Outcome {
    let refused = program.has_hook(hook);
    if refused {
        out.pad(layout.first.into());
        out.push(b"[refused]");
    }
    out.push(b"\n");
    Outcome { refused, ..Outcome::default() }
}

/// The line being printed.
struct Line {
    /// Where it starts in the buffer, columns or margin included.
    start: usize,
    /// Where its text starts.
    text: usize,
    /// Blanks before the text of the lines that follow.
    margin: usize,
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
    /// Whether what is printed is a selector's text, which goes again and does not count.
    selecting: bool,
    end: End,
    outcome: Outcome,
}

/// One event's run.
struct Run<'r> {
    stage: Stage<'r>,
    cursor: Cursor<'r>,
    scratch: &'r mut Scratch,
    program: &'r Program<'r>,
    event: &'r Event<'r>,
    context: &'r Context<'r>,
    timers: &'r mut Timers,
    /// The hook's index.
    hook: u32,
    /// The running routine's number.
    routine: u32,
    /// Where the event's columns start.
    event_start: usize,
    line: Line,
    text_limit: usize,
    state: State,
}

/// The caller of a routine.
#[derive(Debug)]
struct Return {
    routine: u32,
    /// The instruction behind the call.
    at: u64,
}

impl<'r> Run<'r> {
    /// The checked twin of the loop, for events shorter than the routine needs: only there can a fixed read go past the
    /// event's end (rule V6).
    #[inline(never)]
    fn checked<O: Observer>(&mut self, out: &mut TextBuf, at: At, observer: &mut O) -> At {
        self.go(&fast::CHECKED, out, at, observer)
    }

    /// The loop. Behind the last instruction of a routine's body the event ends, as at `end`.
    #[inline(always)]
    fn go<O: Observer>(&mut self, handlers: &[Handler; 256], out: &mut TextBuf, mut at: At, observer: &mut O) -> At {
        let mut pc = self.stage.start();
        while let Some(instr) = by_rule!(V3: self.stage.instr(pc)) {
            if O::ACTIVE {
                self.stage.close(out, at);
                observer.before(self.step(pc, instr, out.as_bytes()));
            }
            if !self.stage.holds(at) {
                let Some(room) = self.grow(out, at) else { break };
                at = room;
            }
            let behind = by_rule!(LOOP: self.stage.literal(out, at, instr));
            (pc, at) = handlers[usize::from(instr.op)](self, out, instr, behind);
        }
        at
    }

    fn step<'s>(&'s self, pc: Pc, instr: &'s Instr, text: &'s [u8]) -> Step<'s> {
        Step {
            routine: self.routine,
            pc: self.stage.index(pc) as u32,
            instr,
            regs: &self.scratch.regs[..],
            pointer: self.cursor.byte(),
            text: &text[self.event_start.min(text.len())..],
        }
    }

    /// Makes room for another instruction's text; `None`, and the run's end, where the text has reached its limit.
    #[cold]
    fn grow(&mut self, out: &mut TextBuf, at: At) -> Option<At> {
        self.stage.close(out, at);
        if out.len > self.text_limit {
            self.state.end = End::Limit;
            return None;
        }
        Some(self.stage.open(out, self.text_limit))
    }

    fn reg(&self, register: u32) -> u64 {
        self.scratch.regs[register as usize % N_REGS]
    }

    fn set(&mut self, register: u16, value: u64) {
        self.scratch.regs[register as usize % N_REGS] = value;
    }

    /// Pays for a loop turn or call; false where none are left.
    #[inline]
    fn turn(&mut self) -> bool {
        let paid = self.state.turns > 0;
        self.state.turns = self.state.turns.saturating_sub(1);
        paid
    }

    /// Ends the run.
    #[cold]
    fn stop(&mut self, end: End, at: At) -> (Pc, At) {
        self.state.end = end;
        (self.stage.end(), at)
    }

    /// Begins or ends printing what does not count towards the text limit.
    fn select(&mut self, selecting: bool) {
        if std::mem::replace(&mut self.state.selecting, selecting) != selecting {
            let limit = if selecting {
                self.text_limit.saturating_add(SELECTOR)
            } else {
                self.text_limit.saturating_sub(SELECTOR)
            };
            self.text_limit = limit;
        }
    }

    /// Removes a first or further line's blanks where no text follows them.
    fn close_line(&self, out: &mut TextBuf) {
        if out.len == self.line.text {
            while out.len > self.line.start && out.buf[out.len - 1] == b' ' {
                out.len -= 1;
            }
        }
    }

    /// Closes the last line and says what the event met.
    #[inline(always)]
    fn finish(&mut self, out: &mut TextBuf, at: At) -> Outcome {
        let some = self.stage.offset(at) > self.line.text;
        if some && self.stage.holds(at) && self.state.end == End::Done && !self.state.selecting {
            by_rule!(LOOP: self.stage.room(out, at))[0] = b'\n';
            self.stage.close(out, at.add(1));
            self.state.outcome.truncated |= self.cursor.truncated;
            return self.state.outcome;
        }
        self.stage.close(out, at);
        self.finish_slow(out)
    }

    /// The same where a line may be empty, the buffer full, a limit reached, or the event is dropped.
    #[cold]
    fn finish_slow(&mut self, out: &mut TextBuf) -> Outcome {
        self.select(false);
        self.state.outcome.truncated |= self.cursor.truncated;
        self.state.outcome.skipped = self.state.end == End::Skip;
        if self.state.outcome.skipped {
            out.truncate(self.event_start);
            return self.state.outcome;
        }
        if self.state.end == End::Limit && self.state.soft_end == out.len {
            out.len -= 1;
        }
        if self.state.end == End::Limit || out.len > self.text_limit {
            out.truncate(self.text_limit);
            out.push(b" [limit]");
            self.state.outcome.limited = true;
        }
        self.close_line(out);
        out.push(b"\n");
        self.state.outcome
    }
}

/// The longest text of a selector. Events are shorter.
const SELECTOR: usize = 1 << 20;
