//! The instructions that are frequent or jump. Each reads its operands, prints into the room behind the text, and says
//! where the routine goes on and where the text ends.

use super::texts::*;
use super::{End, Return, Run};
use crate::TextBuf;
use crate::cursor::low_first;
use crate::mem::{At, Pc, by_rule, window};
use crate::num;
use crate::op::{Instr, form, number};
use crate::table;
use crate::verify::MAX_DEPTH;

/// What runs an instruction, behind its literal.
pub(super) type Handler = for<'r> fn(&mut Run<'r>, &mut TextBuf, &'r Instr, At) -> (Pc, At);

/// The handlers by opcode, for events that are as long as the routine needs.
pub(super) static FAST: [Handler; 256] = handlers::<false>();
/// The same for others.
pub(super) static CHECKED: [Handler; 256] = handlers::<true>();

/// The longest text that the room of every instruction holds.
const SHORT: usize = 64;

macro_rules! handlers {
    (
        { $($plain:ident = $plain_fn:ident,)* }
        fields { $($field:ident = $field_fn:ident,)* }
    ) => {
        const fn handlers<const CHECK: bool>() -> [Handler; 256] {
            let mut all: [Handler; 256] = [aside as Handler; 256];
            $(all[number::$plain as usize] = $plain_fn;)*
            $(all[number::$field as usize] = $field_fn::<CHECK>;)*
            all
        }
    };
}

handlers! {
    {
    Print = print,
    Soft = soft,
    SoftDrop = soft_drop,
    Const = const_,
    Env = env,
    LoadBits = load_bits,
    TakeBits = take_bits,
    Add = add,
    Sub = sub,
    Mul = mul,
    PtrBack = ptr_back,
    PtrFloor = ptr_floor,
    PtrCeil = ptr_ceil,
    PtrGet = ptr_get,
    PtrTo = ptr_to,
    BaseGet = base_get,
    BaseTo = base_to,
    Move = move_,
    Word = word,
    Take = take,
    TakeLe = take_le,
    Reach = reach,
    TakeReach = take_reach,
    Sext = sext_,
    Bits = bits,
    And = and,
    Equal = equal,
    Differ = differ,
    PtrSet = ptr_set,
    PtrAdd = ptr_add,
    PutHex = put_hex,
    PutHexFit = put_hex_fit,
    PutHexLow = put_hex_low,
    PutHexC = put_hexc,
    PutHexMin = put_hex_min,
    PutOctC = put_octc,
    PutAscii = put_ascii_,
    PutDec = put_dec,
    PutInt = put_int,
    Text = text,
    Jump = jump,
    Back = back,
    JumpZero = jump_zero,
    JumpEqual = jump_equal,
    JumpDiffer = jump_differ,
    Switch = switch,
    SwitchText = switch_text,
    PutCase = put_case,
    FlagsAny = flags_any,
    Nibbles = nibbles,
    SwitchLit = switch_lit,
    SwitchLitHex = switch_lit_hex,
    Loop = loop_,
    LoopNext = loop_next,
    Dump = dump,
    Call = call,
    Ret = ret,
    End = end,
    Skip = skip,
    StringAt = string_at,
    }
    fields {
        Load = load,
        LoadLe = load_le,
        Get = get,
        HexAt = hex_at,
        HexLowAt = hex_low_at,
        HexFullAt = hex_full_at,
        HexLowFullAt = hex_low_full_at,
        HexCAt = hexc_at,
        HexMinAt = hex_min_at,
        OctCAt = octc_at,
        DecAt = dec_at,
        IntAt = int_at,
        LitAt = lit_at,
        HexCLitAt = hexc_lit_at,
        LitHexAt = lit_hex_at,
        CaseAt = case_at,
        HexCCaseAt = hexc_case_at,
        NibblesAt = nibbles_at,
        HexCNibblesAt = hexc_nibbles_at,
        JumpEqualAt = jump_equal_at,
        JumpDifferAt = jump_differ_at,
    }
}

impl<'r> Run<'r> {
    /// The bits that a form takes from a window; `None` where the event is too short for a checked field, which only
    /// the checked twin meets.
    #[inline(always)]
    fn field<const CHECK: bool>(&mut self, at: u32, how: u32) -> Option<u64> {
        Some(self.left_aligned::<CHECK>(at, how)? >> (how >> form::RIGHT & 63))
    }

    /// The same, extended by their sign.
    #[inline(always)]
    fn signed<const CHECK: bool>(&mut self, at: u32, how: u32) -> Option<u64> {
        Some((self.left_aligned::<CHECK>(at, how)? as i64 >> (how >> form::RIGHT & 63)) as u64)
    }

    #[inline(always)]
    fn left_aligned<const CHECK: bool>(&mut self, at: u32, how: u32) -> Option<u64> {
        let bytes = if CHECK { self.short_window(at, how)? } else { by_rule!(V6: window(self.cursor.bytes, at)) };
        let number = if how & form::LITTLE != 0 { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) };
        Some(number << (how & form::LEFT))
    }

    /// A window of an event that may end before it, or in it.
    #[inline]
    fn short_window(&mut self, at: u32, how: u32) -> Option<[u8; 8]> {
        let held = self.cursor.bytes.get(at as usize..).unwrap_or(&[]);
        if let Some(whole) = held.first_chunk() {
            return Some(*whole);
        }
        let mut bytes = [0; 8];
        bytes[..held.len()].copy_from_slice(held);
        if held.len() < form::end(how) as usize {
            match form::mode(how) {
                form::LOAD => self.cursor.truncated = true,
                form::WORD => bytes = [0; 8],
                _ => return None,
            }
        }
        Some(bytes)
    }

    /// Goes where the routine goes without a checked field.
    #[cold]
    fn short(&mut self, instr: &Instr, at: At) -> (Pc, At) {
        (by_rule!(V3: self.stage.place(instr.d.into())), at.back(form::back(instr.c) as usize))
    }

    /// A fixed read. Outside the checked twin the event is long enough (rule V6).
    #[inline(always)]
    fn load<const CHECK: bool>(&mut self, at: u32, width: u32) -> u64 {
        if CHECK { self.cursor.number(at.into(), width) } else { self.cursor.whole(at, width).unwrap_or(0) }
    }
}

/// An instruction that does something to the run and prints nothing.
macro_rules! doing {
    ($($name:ident |$run:ident, $instr:ident| $does:expr;)*) => {$(
        fn $name<'r>($run: &mut Run<'r>, _: &mut TextBuf, $instr: &'r Instr, at: At) -> (Pc, At) {
            $does;
            ($run.stage.after($instr), at)
        }
    )*};
}

doing! {
    print |run, instr| {};
    const_ |run, instr| run.set(instr.a, instr.wide());
    move_ |run, instr| run.set(instr.a, run.reg(instr.b));
    word |run, instr| run.set(instr.a, run.cursor.whole(instr.b, instr.c).unwrap_or(0));
    take |run, instr| { let value = run.cursor.take(instr.c); run.set(instr.a, value) };
    take_le |run, instr| { let value = run.cursor.take_le(instr.c); run.set(instr.a, value) };
    sext_ |run, instr| run.set(instr.a, sext(run.reg(instr.b), instr.c));
    bits |run, instr| run.set(instr.a, low_bits(run.reg(instr.b) >> (instr.c & 63), instr.d));
    env |run, instr| { let value = run.env(instr.b); run.set(instr.a, value) };
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
    base_to |run, instr| run.cursor.base = run.reg(instr.b);
    and |run, instr| run.set(instr.a, run.reg(instr.b) & run.reg(instr.c));
    equal |run, instr| run.set(instr.a, u64::from(run.reg(instr.b) == run.reg(instr.c)));
    differ |run, instr| run.set(instr.a, u64::from(run.reg(instr.b) != run.reg(instr.c)));
    ptr_set |run, instr| run.cursor.set(instr.b, instr.c);
    ptr_add |run, instr| run.cursor.add(instr.b.into(), instr.c.into());
    flags_any |run, instr| {
        let met = met_texts(run.program, instr.c, run.reg(instr.b)).next().is_some();
        run.set(instr.a, met.into());
    };
}

/// An instruction that prints a register.
macro_rules! putting {
    ($($name:ident |$room:ident, $value:ident, $instr:ident| $prints:expr;)*) => {$(
        fn $name<'r>(run: &mut Run<'r>, out: &mut TextBuf, $instr: &'r Instr, at: At) -> (Pc, At) {
            let $value = run.reg($instr.b);
            let $room = by_rule!(LOOP: run.stage.room(out, at));
            (run.stage.after($instr), at.add($prints))
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
    put_int |room, value, instr| num::int(room, 0, value);
}

/// An instruction that prints a number of the event: its operand for the place, how it is read, what it prints.
macro_rules! printing {
    ($($name:ident $slot:ident $read:ident |$run:ident, $room:ident, $value:ident, $instr:ident| $prints:expr;)*) => {$(
        fn $name<'r, const CHECK: bool>(
            $run: &mut Run<'r>,
            out: &mut TextBuf,
            $instr: &'r Instr,
            at: At,
        ) -> (Pc, At) {
            let Some($value) = $run.$read::<CHECK>($instr.$slot.into(), $instr.c) else {
                return $run.short($instr, at);
            };
            let $room = by_rule!(LOOP: $run.stage.room(out, at));
            ($run.stage.after($instr), at.add($prints))
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
    hexc_lit_at a field |run, room, value, instr| {
        let n = put_hex_c(room, value);
        n + put_indexed(behind(room, n), run.program.words(), instr.b, value)
    };
    lit_hex_at a field |run, room, value, instr| put_indexed_or_hex(room, run.program.words(), instr.b, value);
}

fn get<'r, const CHECK: bool>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.field::<CHECK>(instr.b, instr.c) else { return run.short(instr, at) };
    run.set(instr.a, value);
    (run.stage.after(instr), at)
}

fn load<'r, const CHECK: bool>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let value = run.load::<CHECK>(instr.b, instr.c);
    run.set(instr.a, value);
    (run.stage.after(instr), at)
}

fn load_le<'r, const CHECK: bool>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let value = low_first(run.load::<CHECK>(instr.b, instr.c), instr.c);
    run.set(instr.a, value);
    (run.stage.after(instr), at)
}

/// An instruction that prints the digits of a window, and those that are run with it. The checked twin runs each alone.
macro_rules! digits_at {
    ($($name:ident $prints:path;)*) => {$(
        fn $name<'r, const CHECK: bool>(
            run: &mut Run<'r>,
            out: &mut TextBuf,
            mut instr: &'r Instr,
            mut at: At,
        ) -> (Pc, At) {
            let mut more = if CHECK { 0 } else { form::more(instr.c) };
            loop {
                let Some(digits) = run.left_aligned::<CHECK>(instr.b, instr.c) else { return run.short(instr, at) };
                let room = by_rule!(LOOP: run.stage.room(out, at));
                at = at.add($prints(room, 0, digits, instr.a.into()));
                if more == 0 {
                    return (run.stage.after(instr), at);
                }
                more -= 1;
                instr = by_rule!(V13: run.stage.next(instr));
                at = by_rule!(LOOP: run.stage.literal(out, at, instr));
            }
        }
    )*};
}

digits_at! {
    hex_full_at num::hex_first;
    hex_low_full_at num::hex_low_first;
}

fn dec_at<'r, const CHECK: bool>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.field::<CHECK>(instr.b, instr.c) else { return run.short(instr, at) };
    run.put_dec(out, instr, at, value)
}

fn int_at<'r, const CHECK: bool>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.signed::<CHECK>(instr.b, instr.c) else { return run.short(instr, at) };
    if (value as i64) < 0 {
        by_rule!(LOOP: run.stage.room(out, at))[0] = b'-';
        return run.put_dec(out, instr, at.add(1), (value as i64).unsigned_abs());
    }
    run.put_dec(out, instr, at, value)
}

/// What `dec_at` does with a long number; a call from there would have it save registers for all.
#[inline(never)]
fn long_dec<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At, value: u64) -> (Pc, At) {
    let room = by_rule!(LOOP: run.stage.room(out, at));
    (run.stage.after(instr), at.add(num::dec(room, 0, value)))
}

fn case_at<'r, const CHECK: bool>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.field::<CHECK>(instr.a.into(), instr.c) else { return run.short(instr, at) };
    run.put_case(out, instr, at, instr.b, value)
}

fn hexc_case_at<'r, const CHECK: bool>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.field::<CHECK>(instr.a.into(), instr.c) else { return run.short(instr, at) };
    let n = put_hex_c(by_rule!(LOOP: run.stage.room(out, at)), value);
    run.put_case(out, instr, at.add(n), instr.b, value)
}

fn put_case<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let value = run.reg(instr.b);
    run.put_case(out, instr, at, instr.c, value)
}

fn nibbles_at<'r, const CHECK: bool>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.field::<CHECK>(instr.a.into(), instr.c) else { return run.short(instr, at) };
    run.put_nibbles(out, instr, at, instr.b, value)
}

fn hexc_nibbles_at<'r, const CHECK: bool>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.field::<CHECK>(instr.a.into(), instr.c) else { return run.short(instr, at) };
    let n = put_hex_c(by_rule!(LOOP: run.stage.room(out, at)), value);
    run.put_nibbles(out, instr, at.add(n), instr.b, value)
}

fn nibbles<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    if instr.a == 1 {
        return aside(run, out, instr, at);
    }
    let value = run.reg(instr.b);
    run.put_nibbles(out, instr, at, instr.c, value)
}

fn switch_lit<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let room = by_rule!(LOOP: run.stage.room(out, at));
    (run.stage.after(instr), at.add(put_indexed(room, run.program.words(), instr.c, run.reg(instr.b))))
}

fn switch_lit_hex<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let room = by_rule!(LOOP: run.stage.room(out, at));
    (run.stage.after(instr), at.add(put_indexed_or_hex(room, run.program.words(), instr.c, run.reg(instr.b))))
}

impl<'r> Run<'r> {
    #[inline(always)]
    fn put_case(&mut self, out: &mut TextBuf, instr: &'r Instr, at: At, table: u32, value: u64) -> (Pc, At) {
        let text = case_text(self.program, table, value);
        if text.len() <= SHORT {
            let room = by_rule!(LOOP: self.stage.room(out, at));
            return (self.stage.after(instr), at.add(copy_short(room, text)));
        }
        long_case(self, out, instr, at, text)
    }

    #[inline(always)]
    fn put_dec(&mut self, out: &mut TextBuf, instr: &'r Instr, at: At, value: u64) -> (Pc, At) {
        if value >= num::LONG {
            return long_dec(self, out, instr, at, value);
        }
        let room = by_rule!(LOOP: self.stage.room(out, at));
        (self.stage.after(instr), at.add(num::dec_short(room, 0, value)))
    }

    #[inline(always)]
    fn put_nibbles(&mut self, out: &mut TextBuf, instr: &'r Instr, at: At, table: u32, value: u64) -> (Pc, At) {
        let words = self.program.words();
        if let Some(n) = put_nibbles(by_rule!(LOOP: self.stage.room(out, at)), words, table, value) {
            return (self.stage.after(instr), at.add(n));
        }
        many_nibbles(self, out, instr, at, (table, value))
    }
}

// What follows here is called last by the instructions that it belongs to: a call in their midst would have them save
// registers at every turn.

#[inline(never)]
fn long_case<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At, text: &[u8]) -> (Pc, At) {
    run.stage.close(out, at);
    out.push(text);
    (run.stage.after(instr), run.stage.open(out, run.text_limit))
}

#[inline(never)]
fn many_nibbles<'r>(
    run: &mut Run<'r>,
    out: &mut TextBuf,
    instr: &'r Instr,
    at: At,
    (table, value): (u32, u64),
) -> (Pc, At) {
    run.stage.close(out, at);
    put_many_nibbles(out, run.program.words(), table, value);
    (run.stage.after(instr), run.stage.open(out, run.text_limit))
}

/// Whatever else an instruction does, by [`Run::aside`].
fn aside<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    run.stage.close(out, at);
    run.aside(instr, out);
    (run.stage.after(instr), run.stage.open(out, run.text_limit))
}

fn soft<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    by_rule!(LOOP: run.stage.room(out, at))[0] = b' ';
    let at = at.add(1);
    run.state.soft_end = run.stage.offset(at);
    (run.stage.after(instr), at)
}

fn soft_drop<'r>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let drops = run.state.soft_end == run.stage.offset(at);
    if drops {
        run.state.soft_end = usize::MAX;
    }
    (run.stage.after(instr), at.back(drops.into()))
}

fn text<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    if instr.c as usize <= SHORT && instr.d == 0 {
        let room = by_rule!(LOOP: run.stage.room(out, at));
        if let Some(n) = copy_field(room, run.cursor.bytes, instr.b, instr.c) {
            return (run.stage.after(instr), at.add(n));
        }
    }
    long_text(run, out, instr, at)
}

/// What `text` does with long, padded and unprintable texts, and those that end with the event.
#[inline(never)]
fn long_text<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let text = run.cursor.text(instr.b.into(), instr.c.into());
    if text.len() <= SHORT && instr.d == 0 {
        let room = by_rule!(LOOP: run.stage.room(out, at));
        return (run.stage.after(instr), at.add(copy_printable(room, 0, text)));
    }
    run.stage.close(out, at);
    run.put_text(out, text, instr.d as usize);
    (run.stage.after(instr), run.stage.open(out, run.text_limit))
}

fn string_at<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    if run.cursor.bytes.len() <= instr.b as usize {
        return (by_rule!(V3: run.stage.place(instr.d.into())), at.back(instr.c as usize));
    }
    let room = by_rule!(LOOP: run.stage.room(out, at));
    if let Some(n) = copy_string(room, run.cursor.bytes, instr.b) {
        run.cursor.set(instr.b.saturating_add(n as u32 + 1), 0);
        return (run.stage.after(instr), at.add(n));
    }
    long_string(run, out, instr, at)
}

/// What `string_at` does with long texts and those that need escapes.
#[inline(never)]
fn long_string<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    run.cursor.set(instr.b, 0);
    let text = run.cursor.take_string();
    run.stage.close(out, at);
    put_escaped(out, text);
    (run.stage.after(instr), run.stage.open(out, run.text_limit))
}

/// An instruction that jumps.
macro_rules! jumping {
    ($($name:ident |$run:ident, $instr:ident| $jumps:expr;)*) => {$(
        fn $name<'r>($run: &mut Run<'r>, _: &mut TextBuf, $instr: &'r Instr, at: At) -> (Pc, At) {
            let to = if $jumps { by_rule!(V3: $run.stage.place($instr.d.into())) } else { $run.stage.after($instr) };
            (to, at)
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

fn jump_equal_at<'r, const CHECK: bool>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.field::<CHECK>(instr.a.into(), instr.c) else { return run.short(instr, at) };
    let jumps = value == instr.b.into();
    (if jumps { by_rule!(V3: run.stage.place(instr.d.into())) } else { run.stage.after(instr) }, at)
}

fn jump_differ_at<'r, const CHECK: bool>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let Some(value) = run.field::<CHECK>(instr.a.into(), instr.c) else { return run.short(instr, at) };
    let jumps = value != instr.b.into();
    (if jumps { by_rule!(V3: run.stage.place(instr.d.into())) } else { run.stage.after(instr) }, at)
}

fn back<'r>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    if !run.turn() {
        return run.stop(End::Limit, at);
    }
    (by_rule!(V3: run.stage.place(instr.d.into())), at)
}

fn switch<'r>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let (kind, table) = run.program.table(instr.c);
    let to = match table::find_number(kind, table, run.reg(instr.b)) {
        Some(to) => by_rule!(V9: run.stage.place(to)),
        None => run.stage.end(),
    };
    (to, at)
}

fn switch_text<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    run.stage.close(out, at);
    let to = match run.switch_text(out, instr.b, instr.c) {
        Some(to) => by_rule!(V9: run.stage.place(to)),
        None => run.stage.end(),
    };
    (to, run.stage.open(out, run.text_limit))
}

fn loop_<'r>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let count = run.reg(instr.b) as i64;
    if count <= 0 || run.cursor.truncated {
        return (by_rule!(V3: run.stage.place(instr.d.into())), at);
    }
    run.set(instr.a, count as u64);
    if !run.turn() {
        return run.stop(End::Limit, at);
    }
    (run.stage.after(instr), at)
}

fn loop_next<'r>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    let left = run.reg(instr.a.into()).wrapping_sub(1);
    run.set(instr.a, left);
    if left == 0 || run.cursor.truncated {
        return (run.stage.after(instr), at);
    }
    if !run.turn() {
        return run.stop(End::Limit, at);
    }
    (by_rule!(V3: run.stage.place(instr.d.into())), at)
}

fn dump<'r>(run: &mut Run<'r>, out: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    run.stage.close(out, at);
    let whole = run.dump(out, run.reg(instr.b), instr.a == 1);
    let at = run.stage.open(out, run.text_limit);
    if whole { (run.stage.after(instr), at) } else { run.stop(End::Limit, at) }
}

fn call<'r>(run: &mut Run<'r>, _: &mut TextBuf, instr: &'r Instr, at: At) -> (Pc, At) {
    if run.scratch.calls.len() >= MAX_DEPTH || !run.turn() {
        return run.stop(End::Limit, at);
    }
    let back = run.stage.index(run.stage.after(instr));
    run.scratch.calls.push(Return { routine: run.routine, at: back });
    run.routine = instr.b;
    (run.stage.enter(run.program.code_of(instr.b)), at)
}

fn ret<'r>(run: &mut Run<'r>, _: &mut TextBuf, _: &'r Instr, at: At) -> (Pc, At) {
    let Some(back) = run.scratch.calls.pop() else { return (run.stage.end(), at) };
    run.routine = back.routine;
    run.stage.enter(run.program.code_of(back.routine));
    // A place of the caller's own.
    (by_rule!(V3: run.stage.place(back.at)), at)
}

fn end<'r>(run: &mut Run<'r>, _: &mut TextBuf, _: &'r Instr, at: At) -> (Pc, At) {
    (run.stage.end(), at)
}

fn skip<'r>(run: &mut Run<'r>, _: &mut TextBuf, _: &'r Instr, at: At) -> (Pc, At) {
    run.stop(End::Skip, at)
}
