//! Handlers of instructions that jump, call or end.

use super::{End, Return, Run};
use crate::TextBuf;
use crate::mem::{OutPtr, Pc, unchecked};
use crate::op::Instr;
use crate::table;
use crate::verify::MAX_DEPTH;

/// Defines handlers of conditional jumps.
macro_rules! jumping {
    ($($name:ident |$run:ident, $instr:ident| $jumps:expr;)*) => {$(
        pub(super) fn $name<'r>($run: &mut Run<'r>, at: OutPtr, $instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
            let to = if $jumps { unchecked!(Targets: $run.stage.place($instr.d.into())) } else { $run.stage.after($instr) };
            (at, to)
        }
    )*};
}

jumping! {
    jump |run, instr| true;
    jump_zero |run, instr| run.reg(instr.b) == 0;
    jump_equal |run, instr| run.reg(instr.a.into()) == instr.b.into();
    jump_differ |run, instr| run.reg(instr.a.into()) != instr.b.into();
    reach |run, instr| run.cursor.bytes.len() < instr.b as usize;
    take_reach |run, instr| !run.cursor.reaches(instr.b);
}

/// Defines handlers that read a number from a window and jump depending on it.
macro_rules! jumping_at {
    ($($name:ident |$instr:ident, $value:ident| $jumps:expr;)*) => {$(
        pub(super) fn $name<'r, const MODE: u8, const ORDER: u8>(
            run: &mut Run<'r>,
            at: OutPtr,
            $instr: &'r Instr,
            out: &mut TextBuf,
        ) -> (OutPtr, Pc) {
            let Some($value) = run.field::<MODE, ORDER>($instr.a.into(), $instr.c) else { return run.read_cut_window(at, $instr, out, $instr.a.into()) };
            (at, if $jumps { unchecked!(Targets: run.stage.place($instr.d.into())) } else { run.stage.after($instr) })
        }
    )*};
}

jumping_at! {
    jump_equal_at |instr, value| value == instr.b.into();
    jump_differ_at |instr, value| value != instr.b.into();
}

pub(super) fn back<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    run.count(instr, instr.d.into());
    if !run.count_iteration() {
        return run.stop(End::Limit, at);
    }
    (at, unchecked!(Targets: run.stage.place(instr.d.into())))
}

pub(super) fn switch<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    let (kind, table) = run.program.table(instr.c);
    // `None` would be a malformed table, which rule V8 refuses; the event just ends.
    let to = match table::find_number(kind, table, run.reg(instr.b)) {
        Some(to) => unchecked!(TableTargets: run.stage.place(to)),
        None => run.stage.end(),
    };
    (at, to)
}

pub(super) fn switch_text<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    run.stage.close(out, at);
    let to = match run.switch_text(out, instr.b, instr.c) {
        Some(to) => unchecked!(TableTargets: run.stage.place(to)),
        None => run.stage.end(),
    };
    (run.reopen(out), to)
}

pub(super) fn loop_<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    // A negative count means no iterations. Without `all`, a loop ends with the data (`loop-end` in docs/readings.md).
    let count = run.reg(instr.b) as i64;
    if count <= 0 || (run.cursor.truncated && instr.c == 0) {
        return (at, unchecked!(Targets: run.stage.place(instr.d.into())));
    }
    // The counter counts down, so the end needs no second register.
    run.set(instr.a, count as u64);
    if !run.count_iteration() {
        return run.stop(End::Limit, at);
    }
    (at, run.stage.after(instr))
}

pub(super) fn loop_next<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    let left = run.reg(instr.a.into()).wrapping_sub(1);
    run.set(instr.a, left);
    if left == 0 || (run.cursor.truncated && instr.c == 0) {
        return (at, run.stage.after(instr));
    }
    // Charged when it jumps back: until then the run is shorter than the routine (docs/limits.md, "Steps of one
    // event").
    run.count(instr, instr.d.into());
    if !run.count_iteration() {
        return run.stop(End::Limit, at);
    }
    (at, unchecked!(Targets: run.stage.place(instr.d.into())))
}

pub(super) fn dump<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    match run.short_dump(at, run.reg(instr.b), instr.a == 1, out) {
        Some(at) => (at, run.stage.after(instr)),
        None => long_dump(run, at, instr, out),
    }
}

/// Slow path of `dump`. It is a tail call: a call in the middle of `dump` would make it save registers.
#[inline(never)]
fn long_dump<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    run.stage.close(out, at);
    let whole = run.dump(out, run.reg(instr.b), instr.a == 1);
    let at = run.reopen(out);
    if whole { (at, run.stage.after(instr)) } else { run.stop(End::Limit, at) }
}

pub(super) fn call<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    if run.scratch.calls.len() >= MAX_DEPTH || !run.count_iteration() {
        return run.stop(End::Limit, at);
    }
    let back = run.stage.index(run.stage.after(instr));
    // Counts the caller's instructions up to here. The callee's are counted from its first one.
    run.count(instr, 0);
    run.scratch.calls.push(Return { routine: instr.b, at: back });
    let (code, body) = run.program.code_of(instr.b);
    (at, run.stage.enter(code, body))
}

pub(super) fn ret<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    // An event's own routine has no `ret` (rule V5).
    let Some(back) = run.scratch.calls.pop() else { return (at, run.stage.end()) };
    run.count(instr, back.at);
    let (code, body) = run.program.code_of(run.routine());
    run.stage.enter(code, body);
    // The return address is an instruction of the caller.
    (at, unchecked!(Targets: run.stage.place(back.at)))
}

pub(super) fn end<'r>(run: &mut Run<'r>, at: OutPtr, _: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    (at, run.stage.end())
}

pub(super) fn skip<'r>(run: &mut Run<'r>, at: OutPtr, _: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    // The text stays until the event ends: its columns are removed together with it.
    run.stop(End::Skip, at)
}
