//! Edits of a program: an instruction, an operand, a row, a table, a text.

use super::generate::{dialect, offset};
use super::{ProgramDraft, Routine, TableWords};
use tfbc_snapshots::generate::Rng;
use tfbc_vm::{Instr, Op, OperandKind, Slot, form};

/// Values at the boundaries of verifier rules.
const EDGES: [u32; 24] =
    [0, 1, 2, 3, 4, 7, 8, 9, 10, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1022, 1023, 1024, 1 << 20, u32::MAX];

/// Makes one edit, which may violate any rule.
pub fn edit(draft: &mut ProgramDraft, rng: &mut Rng) {
    let routine = rng.below(draft.routines.len());
    match rng.below(24) {
        0..=5 => with_instr(draft, routine, rng, operand),
        6..=8 => with_instr(draft, routine, rng, opcode),
        9..=10 => with_instr(draft, routine, rng, literal),
        11..=12 => insert(draft, routine, rng),
        13 => remove(draft, routine, rng),
        14 => swap(draft, routine, rng),
        15..=16 => routine_row(draft, routine, rng),
        17..=18 => hook_row(draft, rng),
        19..=20 => table(draft, rng),
        21 => word(&mut draft.words, rng),
        22 => string(draft, rng),
        _ => draft.dialect = dialect(rng),
    }
}

/// Changes an instruction of a routine. `change` receives the bytes that the routine needs, and its length.
fn with_instr(
    draft: &mut ProgramDraft,
    routine: usize,
    rng: &mut Rng,
    change: impl Fn(&mut Instr, [u32; 2], &mut Rng),
) {
    let Some(Routine { code, need, .. }) = draft.routines.get_mut(routine) else { return };
    let len = code.len() as u32;
    let at = rng.below(code.len());
    if let Some(instr) = code.get_mut(at) {
        change(instr, [*need, len], rng);
    }
}

/// Changes one operand to a value near a boundary.
fn operand(instr: &mut Instr, [need, len]: [u32; 2], rng: &mut Rng) {
    let operands = Op::from_u8(instr.op).map_or(&[][..], |op| op.info().operands);
    let Some((_, slot, kind)) = operands.get(rng.below(operands.len())) else { return };
    let old = instr.slot(*slot);
    let value = match (rng.below(8), kind) {
        (0, _) => *rng.pick(&EDGES),
        (1, _) => old ^ 1 << rng.below(32),
        (2, _) => old.wrapping_add(1),
        (3, _) => old.wrapping_sub(1),
        (_, OperandKind::Dst | OperandKind::Src | OperandKind::NewMark | OperandKind::Mark) => rng.below(9) as u32,
        (_, OperandKind::Target | OperandKind::Short) => rng.below(len as usize + 2) as u32,
        (_, OperandKind::Form) => {
            old ^ 1
                << *rng.pick(&[
                    0,
                    3,
                    4,
                    5,
                    8,
                    11,
                    12,
                    13,
                    form::MODE,
                    form::MODE + 1,
                    16,
                    form::END,
                    form::END + 2,
                    form::MORE,
                ])
        }
        (_, OperandKind::Off | OperandKind::Window | OperandKind::BitOff | OperandKind::Num | OperandKind::Len) => {
            offset(rng, need)
        }
        _ => rng.below(18) as u32,
    };
    *instr = instr.with(*slot, value);
}

/// Changes the opcode and keeps the operands.
fn opcode(instr: &mut Instr, _: [u32; 2], rng: &mut Rng) {
    instr.op = if rng.below(64) == 0 { rng.below(256) as u8 } else { *rng.pick(Op::ALL) as u8 };
}

fn literal(instr: &mut Instr, _: [u32; 2], rng: &mut Rng) {
    match rng.below(4) {
        0 => instr.lit_len = rng.below(18) as u8,
        1 => instr.lit[rng.below(16)] = rng.below(256) as u8,
        2 => instr.lit_len = 0,
        _ => (instr.lit, instr.lit_len) = (*b" soft \n 0123\xff\0\x1f\x1e", rng.below(17) as u8),
    }
}

/// Inserts an instruction from any routine. Jumps keep their targets, except those through tables.
fn insert(draft: &mut ProgramDraft, routine: usize, rng: &mut Rng) {
    let from = rng.below(draft.routines.len());
    let Some(from) = draft.routines.get(from) else { return };
    let Some(instr) = from.code.get(rng.below(from.code.len())).copied() else { return };
    let routine = &mut draft.routines[routine];
    let at = rng.below(routine.code.len() + 1) as u32;
    shift(routine, at, 1);
    routine.code.insert(at as usize, instr);
}

fn remove(draft: &mut ProgramDraft, routine: usize, rng: &mut Rng) {
    let Some(routine) = draft.routines.get_mut(routine).filter(|routine| routine.code.len() > 1) else { return };
    let at = rng.below(routine.code.len());
    routine.code.remove(at);
    shift(routine, at as u32 + 1, u32::MAX);
}

/// Moves the body's end and jump targets after a position.
fn shift(routine: &mut Routine, from: u32, by: u32) {
    let moved = |to: u32| if to >= from { to.wrapping_add(by) } else { to };
    routine.body = moved(routine.body);
    for instr in &mut routine.code {
        let jumps = Op::from_u8(instr.op).is_some_and(|op| {
            op.info().operands.iter().any(|(_, _, kind)| {
                *kind == OperandKind::Target || *kind == OperandKind::Short && form::mode(instr.c) == form::FIELD
            })
        });
        if jumps {
            *instr = instr.with(Slot::D, moved(instr.d));
        }
    }
}

fn swap(draft: &mut ProgramDraft, routine: usize, rng: &mut Rng) {
    let Some(Routine { code, .. }) = draft.routines.get_mut(routine) else { return };
    let (one, other) = (rng.below(code.len()), rng.below(code.len()));
    if one < code.len() && other < code.len() {
        code.swap(one, other);
    }
}

fn routine_row(draft: &mut ProgramDraft, routine: usize, rng: &mut Rng) {
    let Some(row) = draft.routines.get_mut(routine) else { return };
    match rng.below(6) {
        0..=1 => row.need = offset(rng, row.need),
        2..=3 => row.zeroed = *rng.pick(&[0, 1, 2, 6, 7, 8, 9, 64, 1023, 1024, 1025]),
        4 => row.body = rng.below(row.code.len() + 2) as u32,
        _ => (row.called, row.shape) = (rng.below(3) as u8 % 2, rng.below(256) as u8),
    }
}

fn hook_row(draft: &mut ProgramDraft, rng: &mut Rng) {
    let which = rng.below(draft.hooks.len());
    let n_routines = draft.routines.len();
    let Some(row) = draft.hooks.get_mut(which) else { return };
    match rng.below(6) {
        0..=1 => row.flags ^= 4,
        2 => row.flags ^= 1 << rng.below(8),
        3 => row.level = rng.below(6) as u8,
        4 => row.tab_origin = *rng.pick(&[0, 1, 7, 8, 0x7fff, 0xffff]),
        _ => row.routines[rng.below(4)] = rng.below(n_routines + 1) as u32,
    }
}

fn table(draft: &mut ProgramDraft, rng: &mut Rng) {
    let which = rng.below(draft.tables.len());
    let Some(TableWords { kind, words }) = draft.tables.get_mut(which) else { return };
    match rng.below(8) {
        0 => *kind = rng.below(5) as u32,
        1 => drop(words.pop()),
        2 => words.push(rng.below(9) as u64),
        _ => word(words, rng),
    }
}

/// Changes one word: by one, in a bit, in one half, or completely.
fn word(words: &mut [u64], rng: &mut Rng) {
    let at = rng.below(words.len());
    let Some(word) = words.get_mut(at) else { return };
    *word = match rng.below(6) {
        0 => word.wrapping_add(1),
        1 => word.wrapping_sub(1),
        2 => *word ^ 1 << rng.below(64),
        3 => *word >> 32 << 32 | u64::from(*rng.pick(&EDGES)),
        4 => *word & 0xffff_ffff | u64::from(*rng.pick(&EDGES)) << 32,
        _ => rng.below(18) as u64,
    };
}

fn string(draft: &mut ProgramDraft, rng: &mut Rng) {
    let at = rng.below(draft.strings.len());
    match (rng.below(4), draft.strings.get_mut(at)) {
        (0, _) => draft.strings.truncate(at),
        (1, _) => draft.strings.resize(at + rng.below(3) * 400, b'-'),
        (_, Some(byte)) => *byte = *rng.pick(b" \t\n\0\x1e\x1f\x80\xffaZ0-"),
        _ => {}
    }
}
