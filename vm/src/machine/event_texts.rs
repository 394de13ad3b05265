//! Handlers of instructions that print texts of the event. Short, printable texts are copied directly into the room
//! after the text.

use super::texts::*;
use super::{Run, STEP, slow_ops};
use crate::TextBuf;
use crate::mem::{OutPtr, Pc, unchecked};
use crate::op::Instr;
use crate::table;

/// Longest text that fits into the room in the buffer that every instruction finds.
pub(super) const SHORT: usize = 64;

pub(super) fn text<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    if instr.c <= 16 && instr.d == 0 {
        let room = unchecked!(room: run.stage.room(out, at));
        if let Some(n) = copy_sixteen(room, run.cursor.bytes, instr.b, instr.c) {
            return (at.add(n), run.stage.after(instr));
        }
    }
    long_text(run, at, instr, out)
}

/// Slow path of `text`: long, padded and unprintable texts, and those cut by the end of the event.
#[inline(never)]
fn long_text<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    if instr.c as usize <= SHORT && instr.d == 0 {
        let room = unchecked!(room: run.stage.room(out, at));
        if let Some(n) = copy_field(room, run.cursor.bytes, instr.b, instr.c) {
            return (at.add(n), run.stage.after(instr));
        }
    }
    let text = run.cursor.text(instr.b.into(), instr.c.into());
    run.charge(text.len() / STEP);
    if text.len() <= SHORT && instr.d == 0 {
        let room = unchecked!(room: run.stage.room(out, at));
        return (at.add(copy_printable(room, 0, text)), run.stage.after(instr));
    }
    run.stage.close(out, at);
    run.put_text(out, text, instr.d as usize);
    (run.reopen(out), run.stage.after(instr))
}

pub(super) fn switch_text_at<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    // The copy is only used for the lookup. It is stored after the end of the text, where the next text overwrites it.
    let room = unchecked!(room: run.stage.room(out, at));
    let Some(n) = copy_sixteen(room, run.cursor.bytes, instr.b, instr.d) else {
        return switch_odd_text(run, at, instr, out);
    };
    let sixteen = room.first_chunk().unwrap_or(&[0; 16]);
    let found = table::find_short_text(run.program.table(instr.c).1, run.program.strings(), sixteen, n);
    (at, switch_target(run, found))
}

/// Slow path of `switch.text.at`: texts with unprintable bytes, and those cut by the end of the event. It is a tail
/// call: a call in the middle would make every run save registers.
#[inline(never)]
fn switch_odd_text<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    let room = unchecked!(room: run.stage.room(out, at));
    let n = copy_printable(room, 0, run.cursor.text(instr.b.into(), instr.d.into()));
    let text = room.get(..n).unwrap_or_default();
    let found = table::find_text(run.program.table(instr.c).1, run.program.strings(), text);
    (at, switch_target(run, found))
}

/// Position of a table's target. `None` would be a malformed table, which rule V8 refuses; the event just ends.
#[inline(always)]
fn switch_target(run: &Run<'_>, target: Option<u64>) -> Pc {
    match target {
        Some(to) => unchecked!(TableTargets: run.stage.place(to)),
        None => run.stage.end(),
    }
}

pub(super) fn string_at<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    if run.cursor.bytes.len() <= instr.b as usize {
        return (at.back(instr.c as usize), unchecked!(Targets: run.stage.place(instr.d.into())));
    }
    if run.cursor.base != 0 {
        return long_string(run, at, instr, out);
    }
    let room = unchecked!(room: run.stage.room(out, at));
    if let Some(n) = copy_string(room, run.cursor.bytes, instr.b) {
        run.cursor.set(instr.b.saturating_add(n as u32 + 1), 0);
        return (at.add(n), run.stage.after(instr));
    }
    long_string(run, at, instr, out)
}

/// Slow path of `string_at`: long texts, those that need escapes, and texts past a base pointer.
#[inline(never)]
fn long_string<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    run.cursor.set(instr.b, 0);
    let text = run.cursor.take_string();
    run.charge(text.len() / STEP);
    run.stage.close(out, at);
    put_escaped(out, text);
    (run.reopen(out), run.stage.after(instr))
}

pub(super) fn take_words<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    let (words, _) = run.cursor.rest().as_chunks::<4>();
    let words = &words[..words.len().min(instr.b as usize)];
    let room = unchecked!(room: run.stage.room(out, at));
    let Some(n) = put_words(room, words) else { return slow_ops::take_words(run, at, instr, out) };
    run.cursor.add(words.len() as u64 * 4, 0);
    run.charge(n / STEP);
    (at.add(n), run.stage.after(instr))
}

pub(super) fn take_name<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    let rest = run.cursor.rest();
    let len = rest.len().saturating_sub(instr.b as usize);
    let room = unchecked!(room: run.stage.room(out, at));
    let Some(n) = copy_field(room, rest, 0, len.min(SHORT) as u32).filter(|n| len <= SHORT || *n < SHORT) else {
        return slow_ops::take_name(run, at, instr, out);
    };
    run.cursor.add(rest.len() as u64, 0);
    // Charged twice, because the text is scanned and copied.
    run.charge(n / STEP * 2);
    (at.add(n), run.stage.after(instr))
}
