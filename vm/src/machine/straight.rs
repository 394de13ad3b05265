//! Fast path of straight routines: their instructions print numbers and texts of the event, jump forward, and use no
//! state.
//!
//! Most routines are straight. The room for their text is added up when an entry is prepared, so that one test before
//! the event replaces a test before every instruction. A handler prints and calls the next handler by a tail call: all
//! that they share stays in registers, and no loop is in between.
//!
//! ```text
//! hex.full.at "dev=" ──> hex.full.at " blk=" ──> dec.at " n=" ──> end of the text
//!                               └─ rare case ──> none: the loop prints the event
//! ```
//!
//! Rare cases, such as a text with unprintable bytes, are left to the loop. It starts with the first instruction again,
//! because nothing has changed but bytes after the text.

use super::texts::*;
use super::windows::{BIG, EITHER, LITTLE, is_little};
use crate::mem::{LENT, OutPtr, Pc, unchecked, window};
use crate::op::{EnvValue, Instr, Op, form};
use crate::program::PreparedEntry;
use crate::verify::Endianness;
use crate::{Program, TextBuf, num, table};
use std::mem::MaybeUninit;

/// Prints the text of an instruction and of those after it. Returns the end of the text; [`OutPtr::NONE`] if the loop
/// must print the event.
type Handler = for<'p, 'r> fn(OutPtr, &'r Instr, &'p PreparedEntry<'r>, Unused, &'r [u8]) -> OutPtr;

/// Argument without a value. It keeps the register free in which x86-64 processors expect the number of bits of a
/// shift; otherwise every handler would move it.
type Unused = MaybeUninit<usize>;
const UNUSED: Unused = MaybeUninit::uninit();

/// Maximum room for the text of a straight routine. It also limits the depth of calls if a compiler does not turn them
/// into jumps.
const MAX_TEXT: usize = TextBuf::TEXT_ROOM - LENT;
/// Maximum number of instructions of a straight routine.
const MAX_INSTRS: usize = 128;
/// Room of the longest literal.
const LITERAL: usize = 16;
/// Maximum length of a string that is printed up to its NUL.
const STRING: usize = 64;
/// Maximum number of bytes that a straight routine dumps.
pub(super) const MAX_DUMP: usize = 80;

/// Properties of a straight routine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Straight {
    /// True if it is only straight for 64-bit hooks, whose length is at a fixed place.
    pub is_wide: bool,
}

impl Straight {
    /// Checks the instructions of a routine's body; `None` if it is not straight.
    pub fn of(body: &[Instr]) -> Option<Straight> {
        // The longest text before each instruction that is a target of a jump.
        let mut before = [0u16; MAX_INSTRS + 1];
        // The longest text before any instruction that a switch may jump to.
        let mut before_cases = 0;
        let (mut at, mut room, mut is_wide) = (0, 0, false);
        while let Some((instr, others)) = body.get(at..)?.split_first() {
            let op = Op::from_u8(instr.op)?;
            let (n_more, n) = match (op, others) {
                (Op::Get, [user, ..]) if user.b == instr.a.into() => match Op::from_u8(user.op)? {
                    Op::PutOct | Op::PutErrno => (1, 24 + LITERAL),
                    Op::PutBin if user.c <= 16 => (1, 16 + LITERAL),
                    Op::Switch => (1, LITERAL),
                    _ => return None,
                },
                (Op::Env, [ptr, dump, end @ ..]) if is_dump(instr, ptr, dump, end) => {
                    is_wide = true;
                    (2 + end.len(), 3 * MAX_DUMP + 3 * LITERAL)
                }
                (Op::Soft, [next, ..]) if is_dropped(body, next) => (0, 0),
                _ => (0, room_for(op, instr)?),
            };
            room = room.max(before_cases).max((*before.get(at)?).into()) + n + LITERAL;
            if room > MAX_TEXT {
                return None;
            }
            if matches!(op, Op::Jump | Op::JumpEqualAt | Op::JumpDifferAt | Op::Reach | Op::StringAt)
                && let Some(before) = before.get_mut(instr.d as usize)
            {
                *before = (*before).max(room as u16);
            }
            match op {
                Op::Get if others.first()?.op == Op::Switch as u8 => before_cases = room,
                Op::SwitchTextAt => before_cases = room,
                Op::Jump => room = 0,
                _ => {}
            }
            at += 1 + n_more;
        }
        Some(Straight { is_wide })
    }
}

/// True if a soft blank before the instruction `next` is removed at once: by that instruction, or after one jump. No
/// other soft blanks are in straight routines, except at the end of a dump.
fn is_dropped(body: &[Instr], next: &Instr) -> bool {
    let drop = match Op::from_u8(next.op) {
        Some(Op::Jump) if next.lit_len == 0 => body.get(next.d as usize),
        _ => Some(next),
    };
    drop.is_some_and(|drop| drop.op == Op::SoftDrop as u8 && drop.lit_len == 0)
}

/// True for the end of a routine that dumps the data of a hook: `env`, `ptr.set`, `dump`, and `soft.drop` if the dump
/// ends with a soft blank.
fn is_dump(env: &Instr, ptr: &Instr, dump: &Instr, end: &[Instr]) -> bool {
    let drops = match end {
        [] => false,
        [last] => last.op == Op::SoftDrop as u8 && last.lit_len == 0,
        _ => return false,
    };
    let ops = [env.op, ptr.op, dump.op] == [Op::Env, Op::PtrSet, Op::Dump].map(|op| op as u8);
    let is_data = env.b == EnvValue::HookLen as u32 && ptr.c == 0 && dump.b == env.a.into();
    ops && is_data && ptr.lit_len == 0 && dump.lit_len == 0 && drops == (dump.a == 1)
}

/// Maximum number of bytes that an instruction prints after its literal; `None` if no straight routine contains it.
fn room_for(op: Op, instr: &Instr) -> Option<usize> {
    Some(match op {
        Op::Print | Op::SoftDrop | Op::Jump | Op::JumpEqualAt | Op::JumpDifferAt | Op::Reach => 0,
        Op::HexFullAt | Op::HexLowFullAt | Op::HexMinAt => 16,
        Op::HexAt | Op::HexLowAt if instr.a <= 16 => 16,
        Op::Text if instr.c <= 16 && instr.d == 0 => 16,
        Op::SwitchTextAt => 16,
        Op::StringAt => STRING,
        Op::HexCAt => 18,
        Op::DecAt | Op::IntAt => 21,
        Op::OctCAt => 24,
        Op::LitAt | Op::LitHexAt => 32,
        Op::CaseAt => 32,
        Op::HexCLitAt | Op::HexCCaseAt => 50,
        Op::NibblesAt => 32 * FEW_NIBBLES as usize,
        Op::HexCNibblesAt => 18 + 32 * FEW_NIBBLES as usize,
        _ => return None,
    })
}

/// Data needed to start a straight routine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StraightStart {
    /// Handler of its first instruction.
    first: Handler,
    /// End of its body.
    end: Pc,
}

impl StraightStart {
    /// Start of no routine.
    #[inline(always)]
    pub fn none(code: &[Instr]) -> StraightStart {
        StraightStart { first: other, end: Pc::start(code) }
    }

    /// Start of a straight routine, with a handler that is compiled for the form or the run of its first instruction if
    /// there is one.
    pub fn of(orders: Endianness, code: &[Instr], body: u32) -> StraightStart {
        let op = code.first().map_or(0, |first| first.op);
        let first = code.first().filter(|_| orders == Endianness::Big).and_then(|first| {
            let run = code.get(..=form::n_more(first.c) as usize).filter(|_| first.op == Op::HexFullAt as u8);
            let is_run = |is_member: fn(&Instr) -> bool| run.is_some_and(|run| run.iter().all(is_member));
            if is_run(|instr| instr.a == 8 && bits_of(instr.c) == LOW_HALF) {
                let handlers: [Handler; 4] = [hexes::<1, true>, hexes::<2, true>, hexes::<3, true>, hexes::<4, true>];
                return handlers.get(run?.len() - 1).copied();
            }
            if is_run(|instr| instr.a <= 8) {
                let handlers: [Handler; 3] = [hexes::<2, false>, hexes::<3, false>, hexes::<4, false>];
                return handlers.get(run?.len().checked_sub(2)?).copied();
            }
            let handler: Handler = match (Op::from_u8(first.op)?, bits_of(first.c)) {
                (Op::Get, WHOLE_WORD) => match Op::from_u8(code.get(1)?.op)? {
                    Op::Switch => get_switch::<BIG, WHOLE_WORD>,
                    Op::PutBin => get_put_bin::<BIG, WHOLE_WORD>,
                    _ => return None,
                },
                (Op::Get, LOW_HALF) if code.get(1)?.op == Op::PutBin as u8 => get_put_bin::<BIG, LOW_HALF>,
                (Op::DecAt, LOW_HALF) => dec_at::<BIG, LOW_HALF>,
                (Op::LitAt, WHOLE_WORD) => lit_at::<BIG, WHOLE_WORD>,
                (Op::CaseAt, WHOLE_WORD) => case_at::<BIG, WHOLE_WORD>,
                (Op::NibblesAt, WHOLE_WORD) => nibbles_at::<BIG, WHOLE_WORD>,
                _ => return None,
            };
            Some(handler)
        });
        let first = first.unwrap_or(HANDLERS[orders as usize][usize::from(op)]);
        StraightStart { first, end: Pc::end(code, body as usize) }
    }
}

/// Form for which there are specialized handlers.
fn bits_of(how: u32) -> u8 {
    match how & (form::LEFT | 63 << form::RIGHT | form::LITTLE) {
        0 => WHOLE_WORD,
        bits if bits == 32 | 32 << form::RIGHT => LOW_HALF,
        _ => ANY_BITS,
    }
}

/// Prints the text of an event that is as long as its straight routine needs, at a position from
/// [`ExecState::begin_line`](crate::mem::ExecState::begin_line).
#[inline(always)]
pub(super) fn run<'r>(entry: &PreparedEntry<'r>, bytes: &'r [u8], at: OutPtr) -> OutPtr {
    let first = unchecked!(Rows: Pc::start(entry.code).instr());
    (entry.straight.first)(at, first, entry, UNUSED, bytes)
}

/// Handlers by opcode, for each order of bytes.
static HANDLERS: [&[Handler; 256]; 3] = [&handlers::<BIG>(), &handlers::<LITTLE>(), &handlers::<EITHER>()];

const fn handlers<const ORDER: u8>() -> [Handler; 256] {
    let mut all: [Handler; 256] = [other; 256];
    all[Op::Print as usize] = print::<ORDER>;
    all[Op::Soft as usize] = soft::<ORDER>;
    // A soft blank that it could remove is never printed.
    all[Op::SoftDrop as usize] = print::<ORDER>;
    all[Op::Text as usize] = text::<ORDER>;
    all[Op::StringAt as usize] = string_at::<ORDER>;
    all[Op::Jump as usize] = jump::<ORDER>;
    all[Op::JumpEqualAt as usize] = jump_equal_at::<ORDER>;
    all[Op::JumpDifferAt as usize] = jump_differ_at::<ORDER>;
    all[Op::Reach as usize] = reach::<ORDER>;
    all[Op::SwitchTextAt as usize] = switch_text_at::<ORDER>;
    all[Op::Get as usize] = get::<ORDER>;
    all[Op::Env as usize] = dump::<ORDER>;
    all[Op::HexFullAt as usize] = hex_full_at::<ORDER>;
    all[Op::HexLowFullAt as usize] = hex_low_full_at::<ORDER>;
    all[Op::HexAt as usize] = hex_at::<ORDER, ANY_BITS>;
    all[Op::HexLowAt as usize] = hex_low_at::<ORDER, ANY_BITS>;
    all[Op::HexMinAt as usize] = hex_min_at::<ORDER, ANY_BITS>;
    all[Op::HexCAt as usize] = hexc_at::<ORDER, ANY_BITS>;
    all[Op::OctCAt as usize] = octc_at::<ORDER, ANY_BITS>;
    all[Op::DecAt as usize] = dec_at::<ORDER, ANY_BITS>;
    all[Op::IntAt as usize] = int_at::<ORDER>;
    all[Op::LitAt as usize] = lit_at::<ORDER, ANY_BITS>;
    all[Op::LitHexAt as usize] = lit_hex_at::<ORDER, ANY_BITS>;
    all[Op::CaseAt as usize] = case_at::<ORDER, ANY_BITS>;
    all[Op::HexCLitAt as usize] = hexc_lit_at::<ORDER, ANY_BITS>;
    all[Op::HexCCaseAt as usize] = hexc_case_at::<ORDER, ANY_BITS>;
    all[Op::NibblesAt as usize] = nibbles_at::<ORDER, ANY_BITS>;
    all[Op::HexCNibblesAt as usize] = hexc_nibbles_at::<ORDER, ANY_BITS>;
    all
}

/// Handler of instructions that no straight routine contains.
fn other<'r>(_: OutPtr, _: &'r Instr, _: &PreparedEntry<'r>, _: Unused, _: &'r [u8]) -> OutPtr {
    OutPtr::NONE
}

/// Runs the instruction after `instr`, or ends the text.
#[inline(always)]
fn next<'r, const ORDER: u8>(at: OutPtr, instr: &'r Instr, entry: &PreparedEntry<'r>, bytes: &'r [u8]) -> OutPtr {
    let pc = Pc::after(instr);
    if pc == entry.straight.end {
        return at;
    }
    let instr = unchecked!(Rows: pc.instr());
    HANDLERS[ORDER as usize][usize::from(instr.op)](at, instr, entry, UNUSED, bytes)
}

/// Runs the instruction with an index, or ends the text. Code after the body is left to the loop.
#[inline(always)]
fn go_to<'r, const ORDER: u8>(to: u64, at: OutPtr, entry: &PreparedEntry<'r>, bytes: &'r [u8]) -> OutPtr {
    if to >= entry.body.into() {
        return if to == u64::from(entry.body) { at } else { OutPtr::NONE };
    }
    let instr = unchecked!(Targets: Pc::end(entry.code, to as usize).instr());
    HANDLERS[ORDER as usize][usize::from(instr.op)](at, instr, entry, UNUSED, bytes)
}

/// Form that a handler is compiled for: any, the low half of a big-endian word, or a whole one.
const ANY_BITS: u8 = 0;
const LOW_HALF: u8 = 1;
const WHOLE_WORD: u8 = 2;

/// Number that the form takes from a window.
#[inline(always)]
fn number<const ORDER: u8, const BITS: u8>(bytes: &[u8], at: u32, how: u32) -> u64 {
    match BITS {
        LOW_HALF => (u64::from_be_bytes(unchecked!(FixedReads: window(bytes, at))) as u32).into(),
        WHOLE_WORD => u64::from_be_bytes(unchecked!(FixedReads: window(bytes, at))),
        _ => left_aligned::<ORDER>(bytes, at, how) >> (how >> form::RIGHT & 63),
    }
}

#[inline(always)]
fn left_aligned<const ORDER: u8>(bytes: &[u8], at: u32, how: u32) -> u64 {
    let bytes = unchecked!(FixedReads: window(bytes, at));
    let number = if is_little::<ORDER>(how) { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) };
    number << (how & form::LEFT)
}

/// Defines handlers that print a number of the event, given the operand with its offset.
macro_rules! printing {
    ($($name:ident $slot:ident |$room:ident, $value:ident, $instr:ident, $program:pat_param| $prints:expr;)*) => {$(
        fn $name<'r, const ORDER: u8, const BITS: u8>(
            at: OutPtr,
            $instr: &'r Instr,
            entry: &PreparedEntry<'r>,
            _: Unused,
            bytes: &'r [u8],
        ) -> OutPtr {
            let at = unchecked!(room: at.literal($instr));
            let $program = entry.program;
            let $value = number::<ORDER, BITS>(bytes, $instr.$slot.into(), $instr.c);
            let $room = unchecked!(room: at.lend());
            let n: usize = $prints;
            next::<ORDER>(at.add(n), $instr, entry, bytes)
        }
    )*};
}

printing! {
    hex_at b |room, value, instr, _| num::hex(room, 0, value, usize::from(instr.a).min(16));
    hex_low_at b |room, value, instr, _| num::hex_low(room, 0, value, usize::from(instr.a).min(16));
    hexc_at b |room, value, instr, _| put_hex_c(room, value);
    hex_min_at b |room, value, instr, _| num::hex_min(room, 0, value);
    octc_at b |room, value, instr, _| put_oct_c(room, value);
    lit_at a |room, value, instr, program| put_indexed(room, program.words(), instr.b, value);
    lit_hex_at a |room, value, instr, program| put_indexed_or_hex(room, program.words(), instr.b, value);
    hexc_lit_at a |room, value, instr, program| {
        let n = put_hex_c(room, value);
        n + put_indexed(&mut room[n..], program.words(), instr.b, value)
    };
}

/// Defines handlers that print a number of the event, or leave the event to the loop.
macro_rules! printing_few {
    ($($name:ident |$room:ident, $value:ident, $instr:ident, $program:pat_param| $prints:expr;)*) => {$(
        fn $name<'r, const ORDER: u8, const BITS: u8>(
            at: OutPtr,
            $instr: &'r Instr,
            entry: &PreparedEntry<'r>,
            _: Unused,
            bytes: &'r [u8],
        ) -> OutPtr {
            let at = unchecked!(room: at.literal($instr));
            let $program = entry.program;
            let $value = number::<ORDER, BITS>(bytes, $instr.a.into(), $instr.c);
            let $room = unchecked!(room: at.lend());
            match $prints {
                Some(n) => next::<ORDER>(at.add(n), $instr, entry, bytes),
                None => OutPtr::NONE,
            }
        }
    )*};
}

printing_few! {
    case_at |room, value, instr, program| put_case(room, program, instr.b, value);
    hexc_case_at |room, value, instr, program| {
        let n = put_hex_c(room, value);
        room[n..].first_chunk_mut::<32>().and_then(|room| put_case(room, program, instr.b, value)).map(|more| n + more)
    };
    many_nibbles_at |room, value, instr, program| put_nibbles(room, program.words(), instr.b, value);
    hexc_nibbles_at |room, value, instr, program| {
        let n = put_hex_c(room, value);
        put_nibbles(&mut room[n..], program.words(), instr.b, value).map(|more| n + more)
    };
}

fn nibbles_at<'r, const ORDER: u8, const BITS: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let value = number::<ORDER, BITS>(bytes, instr.a.into(), instr.c);
    let after = unchecked!(room: at.literal(instr));
    match put_two_nibbles(unchecked!(room: after.lend()), entry.program.words(), instr.b, value) {
        Some(n) => next::<ORDER>(after.add(n), instr, entry, bytes),
        None => many_nibbles_at::<ORDER, ANY_BITS>(at, instr, entry, UNUSED, bytes),
    }
}

#[inline(always)]
fn put_case<const ROOM: usize>(room: &mut [u8; ROOM], program: &Program<'_>, table: u32, value: u64) -> Option<usize> {
    let (offset, len) = case_text(program, table, value);
    copy_short(room, program.strings(), offset, len)
}

fn print<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    next::<ORDER>(unchecked!(room: at.literal(instr)), instr, entry, bytes)
}

/// Defines handlers that print the digits of a window.
macro_rules! digits_at {
    ($($name:ident $prints:path;)*) => {$(
        fn $name<'r, const ORDER: u8>(
            at: OutPtr,
            instr: &'r Instr,
            entry: &PreparedEntry<'r>,
            _: Unused,
            bytes: &'r [u8],
        ) -> OutPtr {
            let at = unchecked!(room: at.literal(instr));
            let number = u64::from_le_bytes(unchecked!(FixedReads: window(bytes, instr.b)));
            let left = instr.c & form::LEFT;
            let is_little = is_little::<ORDER>(instr.c);
            let digits = if is_little { (number << left).to_be_bytes() } else { (number >> left).to_le_bytes() };
            let n = $prints(unchecked!(room: at.lend()), 0, digits, instr.a.into());
            next::<ORDER>(at.add(n), instr, entry, bytes)
        }
    )*};
}

digits_at! {
    hex_full_at num::hex_first;
    hex_low_full_at num::hex_low_first;
}

/// Run of big-endian numbers of up to eight hex digits each, whose digits are computed at once. If `IS_HALF`, each is
/// the low half of a word.
fn hexes<'r, const N: usize, const IS_HALF: bool>(
    mut at: OutPtr,
    mut instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let mut words = [0; N];
    let mut reader = instr;
    for (n, word) in words.iter_mut().enumerate() {
        if n > 0 {
            reader = unchecked!(RunTogether: Pc::after(reader).instr());
        }
        let number = u64::from_le_bytes(unchecked!(FixedReads: window(bytes, reader.b)));
        *word = (number >> if IS_HALF { 32 } else { reader.c & form::LEFT }) as u32;
    }
    for (n, digits) in num::hex_words(words).into_iter().enumerate() {
        if n > 0 {
            instr = unchecked!(RunTogether: Pc::after(instr).instr());
        }
        at = unchecked!(room: at.literal(instr));
        num::store(unchecked!(room: at.lend()), 0, digits);
        at = at.add(if IS_HALF { 8 } else { instr.a.into() });
    }
    next::<BIG>(at, instr, entry, bytes)
}

fn dec_at<'r, const ORDER: u8, const BITS: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let at = unchecked!(room: at.literal(instr));
    let value = number::<ORDER, BITS>(bytes, instr.b, instr.c);
    if value >= num::MILLION {
        return long_dec::<ORDER>(at, instr, entry, UNUSED, bytes);
    }
    let n = num::dec_below_million(unchecked!(room: at.lend()), 0, value as u32);
    next::<ORDER>(at.add(n), instr, entry, bytes)
}

/// Slow path of `dec_at` after its literal, for which every run would save registers.
#[inline(never)]
fn long_dec<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let value = number::<ORDER, ANY_BITS>(bytes, instr.b, instr.c);
    let room = unchecked!(room: at.lend());
    let n = if value < num::LONG { num::dec_short(room, 0, value) } else { num::dec_long(room, 0, value) };
    next::<ORDER>(at.add(n), instr, entry, bytes)
}

fn int_at<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let at = unchecked!(room: at.literal(instr));
    let value = left_aligned::<ORDER>(bytes, instr.b, instr.c) as i64 >> (instr.c >> form::RIGHT & 63);
    if value.unsigned_abs() >= num::LONG {
        return long_int::<ORDER>(at, instr, entry, UNUSED, bytes);
    }
    let room = unchecked!(room: at.lend());
    room[0] = b'-';
    let n = num::dec_short(room, usize::from(value < 0), value.unsigned_abs());
    next::<ORDER>(at.add(n), instr, entry, bytes)
}

/// Slow path of `int_at` after its literal.
#[inline(never)]
fn long_int<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let value = left_aligned::<ORDER>(bytes, instr.b, instr.c) as i64 >> (instr.c >> form::RIGHT & 63);
    let n = num::int(unchecked!(room: at.lend()), 0, value as u64);
    next::<ORDER>(at.add(n), instr, entry, bytes)
}

fn text<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let at = unchecked!(room: at.literal(instr));
    match copy_sixteen(unchecked!(room: at.lend()), bytes, instr.b, instr.c) {
        Some(n) => next::<ORDER>(at.add(n), instr, entry, bytes),
        None => OutPtr::NONE,
    }
}

fn string_at<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    if bytes.len() <= instr.b as usize {
        let at = unchecked!(room: at.literal(instr));
        return go_to::<ORDER>(instr.d.into(), at.back(instr.c as usize), entry, bytes);
    }
    let at = unchecked!(room: at.literal(instr));
    let copied =
        unchecked!(room: at.lend()).first_chunk_mut::<STRING>().and_then(|room| copy_string(room, bytes, instr.b));
    match copied {
        Some(n) => next::<ORDER>(at.add(n), instr, entry, bytes),
        None => OutPtr::NONE,
    }
}

/// Defines handlers that jump, given the condition.
macro_rules! jumping {
    ($($name:ident |$instr:ident, $bytes:ident| $jumps:expr;)*) => {$(
        fn $name<'r, const ORDER: u8>(
            at: OutPtr,
            $instr: &'r Instr,
            entry: &PreparedEntry<'r>,
            _: Unused,
            $bytes: &'r [u8],
        ) -> OutPtr {
            let at = unchecked!(room: at.literal($instr));
            if $jumps {
                return go_to::<ORDER>($instr.d.into(), at, entry, $bytes);
            }
            next::<ORDER>(at, $instr, entry, $bytes)
        }
    )*};
}

jumping! {
    jump |instr, bytes| true;
    jump_equal_at |instr, bytes| number::<ORDER, ANY_BITS>(bytes, instr.a.into(), instr.c) == instr.b.into();
    jump_differ_at |instr, bytes| number::<ORDER, ANY_BITS>(bytes, instr.a.into(), instr.c) != instr.b.into();
    reach |instr, bytes| bytes.len() < instr.b as usize;
}

fn switch_text_at<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let at = unchecked!(room: at.literal(instr));
    let room = unchecked!(room: at.lend());
    // The copy is only used for the lookup; the next text overwrites it.
    let Some(n) = copy_sixteen(room, bytes, instr.b, instr.d) else { return OutPtr::NONE };
    let (program, sixteen) = (entry.program, room.first_chunk().unwrap_or(&[0; 16]));
    match table::find_short_text(program.table(instr.c).1, program.strings(), sixteen, n) {
        Some(to) => go_to::<ORDER>(to, at, entry, bytes),
        None => OutPtr::NONE,
    }
}

/// Soft blank that is removed by the next instruction or after the next jump, so it is not printed.
fn soft<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let at = unchecked!(room: at.literal(instr));
    let instr = unchecked!(Rows: Pc::after(instr).instr());
    if instr.op == Op::Jump as u8 {
        return go_to::<ORDER>(u64::from(instr.d) + 1, at, entry, bytes);
    }
    next::<ORDER>(at, instr, entry, bytes)
}

/// Number that is read by one instruction and used by the next.
fn get<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    entry: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let user = unchecked!(Rows: Pc::after(instr).instr());
    USERS[ORDER as usize][usize::from(user.op)](at, instr, entry, UNUSED, bytes)
}

/// Handlers of `get` by the opcode of the instruction that uses the number, for each order of bytes.
static USERS: [&[Handler; 256]; 3] = [&users::<BIG>(), &users::<LITTLE>(), &users::<EITHER>()];

const fn users<const ORDER: u8>() -> [Handler; 256] {
    let mut all: [Handler; 256] = [other; 256];
    all[Op::Switch as usize] = get_switch::<ORDER, ANY_BITS>;
    all[Op::PutBin as usize] = get_put_bin::<ORDER, ANY_BITS>;
    all[Op::PutOct as usize] = get_put_oct::<ORDER, ANY_BITS>;
    all[Op::PutErrno as usize] = get_put_errno::<ORDER, ANY_BITS>;
    all
}

/// Defines handlers of a number that is read by one instruction and used by the next.
macro_rules! getting {
    ($($name:ident |$at:ident, $value:ident, $user:ident, $entry:ident, $bytes:ident| $does:expr;)*) => {$(
        fn $name<'r, const ORDER: u8, const BITS: u8>(
            at: OutPtr,
            instr: &'r Instr,
            $entry: &PreparedEntry<'r>,
            _: Unused,
            $bytes: &'r [u8],
        ) -> OutPtr {
            let $value = number::<ORDER, BITS>($bytes, instr.b, instr.c);
            let at = unchecked!(room: at.literal(instr));
            let $user = unchecked!(Rows: Pc::after(instr).instr());
            let $at = unchecked!(room: at.literal($user));
            $does
        }
    )*};
}

getting! {
    get_switch |at, value, user, entry, bytes| {
        let (kind, words) = entry.program.table(user.c);
        match table::find_number(kind, words, value) {
            Some(to) => go_to::<ORDER>(to, at, entry, bytes),
            None => OutPtr::NONE,
        }
    };
    get_put_bin |at, value, user, entry, bytes| {
        let n = num::bin_short(unchecked!(room: at.lend()), 0, value, user.c);
        next::<ORDER>(at.add(n), user, entry, bytes)
    };
    get_put_oct |at, value, user, entry, bytes| {
        // More digits would take a call, for which every number would save registers.
        let Ok(value) = u32::try_from(value) else { return OutPtr::NONE };
        let n = num::oct_short(unchecked!(room: at.lend()), 0, value);
        next::<ORDER>(at.add(n), user, entry, bytes)
    };
    get_put_errno |at, value, user, entry, bytes| {
        let n = put_error(unchecked!(room: at.lend()), 0, entry.program, value, user.c);
        next::<ORDER>(at.add(n), user, entry, bytes)
    };
}

/// Dump of the data of a 64-bit hook, which ends the routine.
fn dump<'r, const ORDER: u8>(
    at: OutPtr,
    instr: &'r Instr,
    _: &PreparedEntry<'r>,
    _: Unused,
    bytes: &'r [u8],
) -> OutPtr {
    let at = unchecked!(room: at.literal(instr));
    let ptr = unchecked!(Rows: Pc::after(instr).instr());
    let dump = unchecked!(Rows: Pc::after(ptr).instr());
    let len = bytes.get(2..).and_then(|bytes| bytes.first_chunk()).map_or(0, |len| u16::from_be_bytes(*len).into());
    let Some(data) = bytes.get(ptr.b as usize..).and_then(|bytes| bytes.get(..len)) else { return OutPtr::NONE };
    if !(1..=MAX_DUMP).contains(&len) {
        return OutPtr::NONE;
    }
    let room = unchecked!(room: at.lend());
    if dump.a == 1 {
        // The soft blank after the last byte is removed at the end of the line.
        num::hex_run::<3>(room, 0, data);
        return at.add(3 * len - 1);
    }
    num::hex_run::<2>(room, 0, data);
    at.add(2 * len)
}
