//! Asserts the verifier's rules at every instruction that runs.
//!
//! Accesses by pointer assert their own rules ([`crate::mem::debug_assert_rule`]). This module asserts those that no
//! single access shows.

use super::Run;
use crate::mem::{OutPtr, Pc};
use crate::op::{EnvText, EnvValue, Instr, N_REGS, Op, OperandKind, form};
use crate::program::PreparedEntry;
use crate::table::{self, TableKind};
use crate::verify::{MAX_DEPTH, Registers};
use crate::{TextBuf, mem};

/// History of the current event.
#[derive(Debug, Default)]
pub(super) struct EventHistory {
    /// Registers that were zeroed or written.
    written: Registers,
    /// Routine, index and opcode of the last instruction.
    last: Option<(u32, u64, Op)>,
    /// Instructions since the last counted one.
    unpaid: u64,
    /// Loop iterations left at that point.
    turns: u32,
}

impl EventHistory {
    pub fn read(&self, register: u32) {
        assert!((register as usize) < N_REGS, "rule V2: register {register}");
        assert!(self.written.contains(register), "rule V14: register {register} is read before it is written");
    }

    pub fn write(&mut self, register: u16) {
        assert!(usize::from(register) < N_REGS, "rule V2: register {register}");
        self.written.insert(register.into());
    }
}

impl<'r> Run<'r> {
    /// Starts an event. Resets nothing that a routine can see: stale state must show in fuzzing.
    pub(super) fn watch_event(&mut self, entry: &PreparedEntry<'r>) {
        // `routine` depends on these.
        self.start_index = entry.start_index as usize;
        self.scratch.calls.clear();
        self.scratch.watch = EventHistory { written: Registers::first(entry.zeroed), ..EventHistory::default() };
    }

    /// Checks an address before the loop reads it.
    pub(super) fn watch_place(&mut self, pc: Pc) {
        let running = self.routine();
        let (code, body) = self.program.code_of(running);
        let at = self.stage.index(pc);
        assert!(at < code.len() as u64 || at == body as u64, "rule V3: instruction {at} of {}", code.len());
        let Some((routine, from, op)) = self.scratch.watch.last else { return };
        let turns = self.state().turns;
        let watch = &mut self.scratch.watch;
        watch.unpaid += 1;
        // A call and a return change the routine, so only jumps within one are compared.
        if routine == running && at <= from && at != body as u64 {
            assert!(matches!(op, Op::LoopNext | Op::Back), "rule V4: {op:?} goes back from {from} to {at}");
        }
        let called = routine != running;
        // A jump back, a call or a return must have counted all instructions since the last count (docs/limits.md,
        // "Steps of one event"). The call counts its return.
        if called || at <= from {
            assert!(turns < watch.turns || op == Op::Ret || at == body as u64, "the steps of {op:?} are not counted");
            (watch.unpaid, watch.turns) = (0, turns);
        }
        assert!(watch.unpaid <= code.len() as u64, "the steps of {} instructions are not counted", watch.unpaid);
    }

    /// Checks an instruction before it runs.
    pub(super) fn watch_instr(&mut self, instr: &'r Instr, out: &TextBuf, at: OutPtr) {
        let at = self.stage.offset(at);
        assert!(at + TextBuf::SLACK <= out.buf.len(), "no room for an instruction's text");
        const { assert!(mem::BEFORE + mem::ROOM <= TextBuf::SLACK) };
        let op = Op::from_u8(instr.op).filter(|_| instr.lit_len <= 16).expect("rule V1");
        let here = self.stage.index(self.stage.after(instr)) - 1;
        let routine = self.routine();
        for (_, slot, kind) in op.info().operands {
            self.watch_operand(routine, instr, here, op, *kind, instr.slot(*slot));
        }
        match op {
            Op::Call => {
                let callee = self.program.routine_at(instr.b);
                assert!(instr.b < routine && callee.called, "rule V11: a call of {}", instr.b);
                assert!(self.scratch.calls.len() < MAX_DEPTH, "rule V11: too deep");
            }
            Op::Ret => assert!(!self.scratch.calls.is_empty(), "rule V5: a return from no call"),
            _ => {}
        }
        let turns = self.state().turns;
        let watch = &mut self.scratch.watch;
        if watch.last.is_none() {
            watch.turns = turns;
        }
        watch.last = Some((routine, here, op));
    }

    fn watch_operand(&self, routine: u32, instr: &Instr, here: u64, op: Op, kind: OperandKind, value: u32) {
        // The rules are written out again instead of calling the verifier: shared code would share its mistakes.
        let need = || u64::from(self.program.routine_at(routine).need);
        let place = |to: u64| {
            let (code, body) = self.program.code_of(routine);
            to < code.len() as u64 || to == body as u64
        };
        let words = |at: u32, n: u64| u64::from(at) + n <= self.program.words().len() as u64;
        let head = || self.program.words().get(value as usize).copied().unwrap_or(u64::MAX);
        let is_valid = match kind {
            OperandKind::Dst | OperandKind::Src | OperandKind::NewMark | OperandKind::Mark => (value as usize) < N_REGS,
            OperandKind::Width => (1..=16).contains(&value),
            OperandKind::WideWidth => (9..=16).contains(&value),
            OperandKind::Bits => (1..=64).contains(&value),
            OperandKind::Bit => value < 64,
            OperandKind::Digits => (1..=32).contains(&value),
            OperandKind::FirstDigits => (1..=form::n_digits(instr.c)).contains(&value),
            OperandKind::Soft | OperandKind::Flag => value <= 1,
            OperandKind::Back => value <= instr.lit_len.into(),
            OperandKind::Value => EnvValue::from_u32(value).is_some(),
            OperandKind::Name => EnvText::from_u32(value).is_some(),
            OperandKind::Window => u64::from(value) + 8 <= need(),
            // Only these four read without a check. Others with an offset compare it with the event's length when they
            // run.
            OperandKind::Off | OperandKind::BitOff => match op {
                Op::Load | Op::LoadLe | Op::HexBytes => u64::from(value) + u64::from(instr.c) <= need(),
                Op::LoadBits => u64::from(value) + u64::from(instr.c) <= need() * 8,
                _ => true,
            },
            OperandKind::Form => {
                let (code, _) = self.program.code_of(routine);
                let mut others = (1..=u64::from(form::n_more(value))).map(|n| code.get((here + n) as usize));
                form::mode(value) <= form::FIELD && others.all(|other| other.is_some_and(|other| other.op == instr.op))
            }
            OperandKind::Short => form::mode(instr.c) != form::FIELD || place(value.into()),
            OperandKind::Target => place(value.into()),
            OperandKind::Str => u64::from(value) + u64::from(instr.c) <= self.program.strings().len() as u64,
            // All targets, not only the lowest and the highest as in the verifier. Slow, but only fuzzing builds this.
            OperandKind::Table | OperandKind::TextTable => {
                let (of, words) = self.program.table(value);
                (kind == OperandKind::TextTable) == (of == TableKind::Text) && table::targets(of, words).all(place)
            }
            OperandKind::CaseTexts => {
                let (of, words) = self.program.table(value);
                let is_inside = |word: u64| {
                    let (offset, len) = table::unpack_str(word);
                    offset + len <= self.program.strings().len()
                };
                matches!(of, TableKind::Dense | TableKind::Hash) && table::targets(of, words).all(is_inside)
            }
            OperandKind::Labels => matches!(self.program.table(value).0, TableKind::Dense | TableKind::Hash),
            OperandKind::Flags => self.program.table(value).0 == TableKind::Flags,
            OperandKind::Lits => {
                let width = if head() & table::LONG_TEXTS != 0 { 4 } else { 2 };
                words(value, ((head() & !table::LONG_TEXTS).saturating_add(1)).saturating_mul(width).saturating_add(1))
            }
            OperandKind::Nibbles => head() & 0xff <= 16 && words(value, 5 + (head() & 0xff) * 64),
            // Any value is safe: numbers, and operands that their handlers check themselves.
            OperandKind::Num | OperandKind::Wide | OperandKind::Len | OperandKind::Routine | OperandKind::Cell => true,
        };
        assert!(is_valid, "{op:?} at {here}: {kind:?} {value}");
    }
}
