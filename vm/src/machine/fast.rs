//! Handlers of frequent instructions. Each reads its operands, prints into the room after the text, and returns the end
//! of the text and the next instruction.

use super::event_texts::*;
use super::flow::*;
use super::texts::*;
use super::windows::{ALONE, ANY, BIG, EITHER, GIVEN, LITTLE, WHOLE};
use super::{Run, STEP, fields, slow_ops};
use crate::TextBuf;
use crate::cursor::low_first;
use crate::mem::{OutPtr, Pc, unchecked};
use crate::num;
use crate::op::{EnvValue, Instr, for_each_op, form};
use crate::table::FLAG_WORDS;

/// Runs an instruction after its literal was printed.
type Handler = for<'r> fn(&mut Run<'r>, OutPtr, &'r Instr, &mut TextBuf) -> (OutPtr, Pc);

/// Handlers by opcode.
/// A call through this table takes 12 instructions. One large `match` spilled its state at every instruction and took
/// 30. Threaded code would save 3 to 5 % of a run. A JIT would save 7 % with four templates, but cost time with 200.
pub(super) type Handlers = [Handler; 256];

/// Handlers for events as long as the routine needs, by the byte orders of its numbers
/// ([`Endianness`](crate::verify::Endianness)).
pub(super) static FAST: [&Handlers; 3] =
    [&handlers::<WHOLE, BIG>(), &handlers::<WHOLE, LITTLE>(), &handlers::<WHOLE, EITHER>()];
/// Handlers for shorter events. They cost such an event 2 to 5 %.
pub(super) static CHECKED: [&Handlers; 3] =
    [&handlers::<ANY, BIG>(), &handlers::<ANY, LITTLE>(), &handlers::<ANY, EITHER>()];
/// Handlers for observed runs: each runs a single instruction, so that the observer sees all of them.
pub(super) static OBSERVED: &Handlers = &handlers::<ANY, ALONE>();

/// Handlers for an instruction whose window is cut by the end of the event.
static CUT: &Handlers = &handlers::<GIVEN, ALONE>();

/// Builds the dispatch table from the instruction table. An opcode without a row never runs (rule V1).
macro_rules! define_handlers {
    ($($(#[doc = $doc:literal])* $number:literal $name:ident = $mnemonic:literal $form:ident
        { $($operand:ident: $slot:ident $kind:ident),* }
        reads $reads:ident, uses $uses:ident, by $($handler:ident)::+ $(<$mode:ident, $order:ident>)? $(, $effects:ident)?;)*) => {
        const fn handlers<const MODE: u8, const ORDER: u8>() -> Handlers {
            let mut all: Handlers = [end as Handler; 256];
            $(all[$number] = $($handler)::+ $(::<$mode, $order>)?;)*
            all
        }
    };
}

for_each_op!(define_handlers);

/// Defines handlers that print nothing.
macro_rules! doing {
    ($($name:ident |$run:ident, $instr:ident| $does:expr;)*) => {$(
        fn $name<'r>($run: &mut Run<'r>, at: OutPtr, $instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
            $does;
            (at, $run.stage.after($instr))
        }
    )*};
}

doing! {
    print |run, instr| {};
    const_ |run, instr| run.set(instr.a, instr.wide());
    move_ |run, instr| run.set(instr.a, run.reg(instr.b));
    word |run, instr| {
        let word = run.cursor.number_if_whole(instr.b, instr.c);
        if word.is_none() {
            run.mark_missing();
        }
        run.set(instr.a, word.unwrap_or(0));
    };
    take |run, instr| { let value = run.cursor.take(instr.c); run.set(instr.a, value) };
    take_le |run, instr| { let value = run.cursor.take_le(instr.c); run.set(instr.a, value) };
    sext_ |run, instr| run.set(instr.a, sext(run.reg(instr.b), instr.c));
    bits |run, instr| run.set(instr.a, low_bits(run.reg(instr.b) >> (instr.c & 63), instr.d));
    load_bits |run, instr| {
        let value = run.cursor.bit_field(i64::from(instr.b / 8), instr.b % 8, instr.c);
        run.set(instr.a, value);
    };
    take_bits |run, instr| { let value = run.cursor.take_bits(instr.c); run.set(instr.a, value) };
    add |run, instr| run.set(instr.a, run.reg(instr.b).wrapping_add(run.reg(instr.c)));
    sub |run, instr| run.set(instr.a, run.reg(instr.b).wrapping_sub(run.reg(instr.c)));
    mul |run, instr| run.set(instr.a, run.reg(instr.b).wrapping_mul(run.reg(instr.c)));
    ptr_back |run, instr| run.cursor.back(instr.b);
    ptr_floor |run, instr| run.cursor.floor();
    ptr_ceil |run, instr| run.cursor.ceil();
    ptr_get |run, instr| run.set(instr.a, run.cursor.byte());
    ptr_to |run, instr| run.cursor.go_to(run.reg(instr.b));
    base_get |run, instr| run.set(instr.a, run.cursor.base);
    base_to |run, instr| {
        run.change();
        run.cursor.base = run.reg(instr.b);
    };
    and |run, instr| run.set(instr.a, run.reg(instr.b) & run.reg(instr.c));
    equal |run, instr| run.set(instr.a, u64::from(run.reg(instr.b) == run.reg(instr.c)));
    differ |run, instr| run.set(instr.a, u64::from(run.reg(instr.b) != run.reg(instr.c)));
    ptr_set |run, instr| run.cursor.set(instr.b, instr.c);
    ptr_add |run, instr| run.cursor.add(instr.b.into(), instr.c.into());
    // Charged in advance for the whole table, because the search may read all of it.
    flags_any |run, instr| {
        run.charge(run.program.table(instr.c).1.len() / FLAG_WORDS);
        let matches = matching_texts(run.program, instr.c, run.reg(instr.b)).next().is_some();
        run.set(instr.a, matches.into());
    };
}

fn env<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    // Every dump begins with the event's length.
    match run.event.wide_len().filter(|_| instr.b == EnvValue::HookLen as u32) {
        Some(len) => run.set(instr.a, len.into()),
        None => return any_env(run, at, instr, out),
    }
    (at, run.stage.after(instr))
}

/// Slow path of `env`. It is a tail call: a call in the middle of `env` would make it save registers.
#[inline(never)]
fn any_env<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    let value = run.env(instr.b);
    run.set(instr.a, value);
    (at, run.stage.after(instr))
}

/// Defines handlers that print a register.
macro_rules! putting {
    ($($name:ident |$room:ident, $value:ident, $instr:ident| $prints:expr;)*) => {$(
        fn $name<'r>(run: &mut Run<'r>, at: OutPtr, $instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
            let $value = run.reg($instr.b);
            let $room = unchecked!(room: run.stage.room(out, at));
            (at.add($prints), run.stage.after($instr))
        }
    )*};
}

putting! {
    put_hex |room, value, instr| num::hex(room, 0, value, instr.c as usize);
    put_hex_fit |room, value, instr| num::hex_fit(room, 0, value);
    put_hex_low |room, value, instr| num::hex_low(room, 0, value, instr.c as usize);
    put_hexc |room, value, instr| put_hex_c(room, value);
    put_hex_min |room, value, instr| num::hex_min(room, 0, value);
    put_octc |room, value, instr| put_oct_c(room, value);
    put_ascii_ |room, value, instr| put_ascii(room, value);
    put_dec |room, value, instr| num::dec(room, 0, value);
    put_oct |room, value, instr| num::oct(room, 0, value);
    put_int |room, value, instr| num::int(room, 0, value);
}

fn put_bin<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    if instr.c > 16 {
        return put_long_bin(run, at, instr, out);
    }
    let room = unchecked!(room: run.stage.room(out, at));
    (at.add(num::bin_short(room, 0, run.reg(instr.b), instr.c)), run.stage.after(instr))
}

/// Slow path of `put_bin` for more than sixteen digits.
#[inline(never)]
fn put_long_bin<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    let count = instr.c as usize;
    run.charge(count / STEP);
    let room = unchecked!(room: run.stage.room(out, at));
    (at.add(num::bin(room, 0, run.reg(instr.b), count)), run.stage.after(instr))
}

/// Defines handlers that print a number of the event, given the operand with its offset, how to read it, and how to
/// print it.
macro_rules! printing {
    ($($name:ident $slot:ident $read:ident |$run:ident, $room:ident, $value:ident, $instr:ident| $prints:expr;)*) => {$(
        fn $name<'r, const MODE: u8, const ORDER: u8>(
            $run: &mut Run<'r>,
            at: OutPtr,
            $instr: &'r Instr,
            out: &mut TextBuf,
        ) -> (OutPtr, Pc) {
            let Some($value) = $run.$read::<MODE, ORDER>($instr.$slot.into(), $instr.c) else {
                return $run.read_cut_window(at, $instr, out, $instr.$slot.into());
            };
            let $room = unchecked!(room: $run.stage.room(out, at));
            (at.add($prints), $run.stage.after($instr))
        }
    )*};
}

printing! {
    hex_at b field |run, room, value, instr| num::hex(room, 0, value, instr.a.into());
    hex_low_at b field |run, room, value, instr| num::hex_low(room, 0, value, instr.a.into());
    hexc_at b field |run, room, value, instr| put_hex_c(room, value);
    hex_min_at b field |run, room, value, instr| num::hex_min(room, 0, value);
    octc_at b field |run, room, value, instr| put_oct_c(room, value);
    lit_at a field |run, room, value, instr| put_indexed(room, run.program.words(), instr.b, value);
    lit_hex_at a field |run, room, value, instr| put_indexed_or_hex(room, run.program.words(), instr.b, value);
}

fn hexc_lit_at<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    let Some(value) = run.field::<MODE, ORDER>(instr.a.into(), instr.c) else {
        return run.read_cut_window(at, instr, out, instr.a.into());
    };
    let at = at.add(put_hex_c(unchecked!(room: run.stage.room(out, at)), value));
    let room = unchecked!(room: run.stage.room(out, at));
    (at.add(put_indexed(room, run.program.words(), instr.b, value)), run.stage.after(instr))
}

fn get<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    let Some(value) = run.field::<MODE, ORDER>(instr.b, instr.c) else {
        return run.read_cut_window(at, instr, out, instr.b);
    };
    run.set(instr.a, value);
    (at, run.stage.after(instr))
}

fn load<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    _: &mut TextBuf,
) -> (OutPtr, Pc) {
    let value = run.load::<MODE>(instr.b, instr.c);
    run.set(instr.a, value);
    (at, run.stage.after(instr))
}

fn load_le<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    _: &mut TextBuf,
) -> (OutPtr, Pc) {
    let value = low_first(run.load::<MODE>(instr.b, instr.c), instr.c);
    run.set(instr.a, value);
    (at, run.stage.after(instr))
}

/// Defines handlers that print the digits of a window and run the following instructions.
macro_rules! digits_at {
    ($($name:ident $prints:path;)*) => {$(
        fn $name<'r, const MODE: u8, const ORDER: u8>(
            run: &mut Run<'r>,
            mut at: OutPtr,
            mut instr: &'r Instr,
            out: &mut TextBuf,
        ) -> (OutPtr, Pc) {
            // Observers must see every instruction, and a window cut by the event's end belongs to one instruction
            // alone.
            let mut more = if ORDER == ALONE { 0 } else { form::n_more(instr.c) };
            loop {
                let Some(digits) = run.high_first::<MODE, ORDER>(instr.b, instr.c) else { return run.read_cut_window(at, instr, out, instr.b) };
                let room = unchecked!(room: run.stage.room(out, at));
                at = at.add($prints(room, 0, digits, instr.a.into()));
                if more == 0 {
                    return (at, run.stage.after(instr));
                }
                // No dispatch in between, which would cost about 2 ns.
                more -= 1;
                instr = unchecked!(RunTogether: run.stage.next(instr));
                at = unchecked!(room: run.stage.literal(out, at, instr));
            }
        }
    )*};
}

digits_at! {
    hex_full_at num::hex_first;
    hex_low_full_at num::hex_low_first;
}

fn dec_at<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    let Some(value) = run.field::<MODE, ORDER>(instr.b, instr.c) else {
        return run.read_cut_window(at, instr, out, instr.b);
    };
    run.put_dec(at, instr, out, value)
}

fn int_at<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    let Some(value) = run.signed::<MODE, ORDER>(instr.b, instr.c) else {
        return run.read_cut_window(at, instr, out, instr.b);
    };
    if (value as i64) < 0 {
        // `unsigned_abs`, because the lowest number has no positive counterpart.
        unchecked!(room: run.stage.room(out, at))[0] = b'-';
        return run.put_dec(at.add(1), instr, out, (value as i64).unsigned_abs());
    }
    run.put_dec(at, instr, out, value)
}

/// Slow path of `dec_at` for long numbers. It is a tail call: a call in the middle would make every run save registers.
#[inline(never)]
fn long_dec<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf, value: u64) -> (OutPtr, Pc) {
    let room = unchecked!(room: run.stage.room(out, at));
    (at.add(num::dec_long(room, 0, value)), run.stage.after(instr))
}

fn case_at<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    let Some(value) = run.field::<MODE, ORDER>(instr.a.into(), instr.c) else {
        return run.read_cut_window(at, instr, out, instr.a.into());
    };
    run.put_case(at, instr, out, instr.b, value)
}

fn hexc_case_at<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    let Some(value) = run.field::<MODE, ORDER>(instr.a.into(), instr.c) else {
        return run.read_cut_window(at, instr, out, instr.a.into());
    };
    let n = put_hex_c(unchecked!(room: run.stage.room(out, at)), value);
    run.put_case(at.add(n), instr, out, instr.b, value)
}

fn put_case<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    let value = run.reg(instr.b);
    run.put_case(at, instr, out, instr.c, value)
}

fn nibbles_at<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    let Some(value) = run.field::<MODE, ORDER>(instr.a.into(), instr.c) else {
        return run.read_cut_window(at, instr, out, instr.a.into());
    };
    run.put_nibbles(at, instr, out, instr.b, value)
}

fn hexc_nibbles_at<'r, const MODE: u8, const ORDER: u8>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
) -> (OutPtr, Pc) {
    let Some(value) = run.field::<MODE, ORDER>(instr.a.into(), instr.c) else {
        return run.read_cut_window(at, instr, out, instr.a.into());
    };
    let n = put_hex_c(unchecked!(room: run.stage.room(out, at)), value);
    run.put_nibbles(at.add(n), instr, out, instr.b, value)
}

fn nibbles<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    if instr.a == 1 {
        return slow_ops::soft_nibbles(run, at, instr, out);
    }
    let value = run.reg(instr.b);
    run.put_nibbles(at, instr, out, instr.c, value)
}

fn switch_lit<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    let room = unchecked!(room: run.stage.room(out, at));
    (at.add(put_indexed(room, run.program.words(), instr.c, run.reg(instr.b))), run.stage.after(instr))
}

fn switch_lit_hex<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    let room = unchecked!(room: run.stage.room(out, at));
    (at.add(put_indexed_or_hex(room, run.program.words(), instr.c, run.reg(instr.b))), run.stage.after(instr))
}

impl<'r> Run<'r> {
    /// Slow path for a window cut by the event's end: reads the missing bytes as zeros, or jumps to the field's
    /// "missing" target. It is a tail call: a call in the middle of a handler would make it save registers.
    #[cold]
    #[inline(never)]
    pub(super) fn read_cut_window(
        &mut self,
        at: OutPtr,
        instr: &'r Instr,
        out: &mut TextBuf,
        place: u32,
    ) -> (OutPtr, Pc) {
        match self.cut_window(place as usize, instr.c) {
            Some(window) => {
                self.cut_window = window;
                CUT[usize::from(instr.op)](self, at, instr, out)
            }
            None => self.short(instr, at),
        }
    }

    #[inline(always)]
    fn put_case(&mut self, at: OutPtr, instr: &'r Instr, out: &mut TextBuf, table: u32, value: u64) -> (OutPtr, Pc) {
        let run = case_text(self.program, table, value);
        let room = unchecked!(room: self.stage.room(out, at));
        if let Some(n) = copy_short(room, self.program.strings(), run.0, run.1) {
            return (at.add(n), self.stage.after(instr));
        }
        long_case(self, at, instr, out, run.0, run.1)
    }

    #[inline(always)]
    fn put_dec(&mut self, at: OutPtr, instr: &'r Instr, out: &mut TextBuf, value: u64) -> (OutPtr, Pc) {
        if value >= num::LONG {
            return long_dec(self, at, instr, out, value);
        }
        let room = unchecked!(room: self.stage.room(out, at));
        (at.add(num::dec_short(room, 0, value)), self.stage.after(instr))
    }

    #[inline(always)]
    fn put_nibbles(&mut self, at: OutPtr, instr: &'r Instr, out: &mut TextBuf, table: u32, value: u64) -> (OutPtr, Pc) {
        let words = self.program.words();
        if let Some(n) = put_nibbles(unchecked!(room: self.stage.room(out, at)), words, table, value) {
            return (at.add(n), self.stage.after(instr));
        }
        many_nibbles(self, at, instr, out, table, value)
    }
}

// The functions below are tail calls of their handlers: a call in the middle of a handler would make every run of it
// save registers.

#[inline(never)]
fn long_case<'r>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
    offset: usize,
    len: usize,
) -> (OutPtr, Pc) {
    // The range was checked by rule V8. The cost of `get` is negligible compared with the copy, and it needs no
    // `unsafe`.
    let text = run.program.strings().get(offset..offset + len).unwrap_or(b"");
    // Short texts, up to the room in the buffer that every instruction finds, cost no steps.
    run.charge(if len <= SHORT { 0 } else { len / STEP });
    run.stage.close(out, at);
    run.push(out, text);
    (run.reopen(out), run.stage.after(instr))
}

#[inline(never)]
fn many_nibbles<'r>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
    table: u32,
    value: u64,
) -> (OutPtr, Pc) {
    run.stage.close(out, at);
    put_many_nibbles(out, run.program.words(), table, value);
    (run.reopen(out), run.stage.after(instr))
}

fn put_soft_blank<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
    unchecked!(room: run.stage.room(out, at))[0] = b' ';
    let at = at.add(1);
    // The position is kept, not the fact: a text may itself end with a blank, which must stay.
    run.change_by_dump().soft_end = run.stage.offset(at);
    (at, run.stage.after(instr))
}

fn drop_soft_blank<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, _: &mut TextBuf) -> (OutPtr, Pc) {
    let drops = run.state().soft_end == run.stage.offset(at);
    if drops {
        run.change_by_dump().soft_end = usize::MAX;
    }
    (at.back(drops.into()), run.stage.after(instr))
}
