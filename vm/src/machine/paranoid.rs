//! Asserts the verifier's rules at every instruction that runs.
//!
//! Accesses by pointer assert their own rules ([`crate::mem::debug_assert_rule`]). This module asserts those that no
//! single access shows.

use super::Run;
use crate::mem::{At, Pc};
use crate::op::{EnvText, EnvValue, Instr, Kind, N_REGS, Op, form};
use crate::program::PreparedEntry;
use crate::table::{self, TableKind};
use crate::verify::{MAX_DEPTH, Registers};
use crate::{TextBuf, mem};

/// History of the current event.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Registers that were zeroed or written.
    written: Registers,
    /// Routine, index and opcode of the last instruction.
    last: Option<(u32, u64, Op)>,
    /// Instructions since the last counted one.
    unpaid: u64,
    /// Loop iterations left at that point.
    turns: u32,
}

impl Watch {
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
        self.beginning = entry.beginning as usize;
        self.scratch.calls.clear();
        self.scratch.watch = Watch { written: Registers::first(entry.zeroed), ..Watch::default() };
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
        if routine == running && at <= from && at != body as u64 {
            assert!(matches!(op, Op::LoopNext | Op::Back), "rule V4: {op:?} goes back from {from} to {at}");
        }
        let called = routine != running;
        if called || at <= from {
            assert!(turns < watch.turns || op == Op::Ret || at == body as u64, "{op:?} is not paid for");
            (watch.unpaid, watch.turns) = (0, turns);
        }
        assert!(watch.unpaid <= code.len() as u64, "{} instructions are not paid for", watch.unpaid);
    }

    /// Checks an instruction before it runs.
    pub(super) fn watch_instr(&mut self, instr: &'r Instr, out: &TextBuf, at: At) {
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

    fn watch_operand(&self, routine: u32, instr: &Instr, here: u64, op: Op, kind: Kind, value: u32) {
        let need = || u64::from(self.program.routine_at(routine).need);
        let place = |to: u64| {
            let (code, body) = self.program.code_of(routine);
            to < code.len() as u64 || to == body as u64
        };
        let words = |at: u32, n: u64| u64::from(at) + n <= self.program.words().len() as u64;
        let head = || self.program.words().get(value as usize).copied().unwrap_or(u64::MAX);
        let holds = match kind {
            Kind::Dst | Kind::Src | Kind::NewMark | Kind::Mark => (value as usize) < N_REGS,
            Kind::Width => (1..=16).contains(&value),
            Kind::WideWidth => (9..=16).contains(&value),
            Kind::Bits => (1..=64).contains(&value),
            Kind::Bit => value < 64,
            Kind::Digits => (1..=32).contains(&value),
            Kind::FirstDigits => (1..=form::n_digits(instr.c)).contains(&value),
            Kind::Soft => value <= 1,
            Kind::Back => value <= instr.lit_len.into(),
            Kind::Value => EnvValue::from_u32(value).is_some(),
            Kind::Name => EnvText::from_u32(value).is_some(),
            Kind::Window => u64::from(value) + 8 <= need(),
            Kind::Off | Kind::BitOff => match op {
                Op::Load | Op::LoadLe | Op::HexBytes => u64::from(value) + u64::from(instr.c) <= need(),
                Op::LoadBits => u64::from(value) + u64::from(instr.c) <= need() * 8,
                _ => true,
            },
            Kind::Form => {
                let (code, _) = self.program.code_of(routine);
                let mut others = (1..=u64::from(form::more(value))).map(|n| code.get((here + n) as usize));
                form::mode(value) <= form::FIELD && others.all(|other| other.is_some_and(|other| other.op == instr.op))
            }
            Kind::Short => form::mode(instr.c) != form::FIELD || place(value.into()),
            Kind::Target => place(value.into()),
            Kind::Str => u64::from(value) + u64::from(instr.c) <= self.program.strings().len() as u64,
            Kind::Table | Kind::TextTable => {
                let (of, words) = self.program.table(value);
                (kind == Kind::TextTable) == (of == TableKind::Text) && table::targets(of, words).all(place)
            }
            Kind::CaseTexts => {
                let (of, words) = self.program.table(value);
                let held = |word: u64| {
                    let (offset, len) = table::unpack_str(word);
                    offset + len <= self.program.strings().len()
                };
                matches!(of, TableKind::Dense | TableKind::Hash) && table::targets(of, words).all(held)
            }
            Kind::Flags => self.program.table(value).0 == TableKind::Flags,
            Kind::Lits => {
                let width = if head() & table::LONG_TEXTS != 0 { 4 } else { 2 };
                words(value, ((head() & !table::LONG_TEXTS).saturating_add(1)).saturating_mul(width).saturating_add(1))
            }
            Kind::Nibbles => head() & 0xff <= 16 && words(value, 5 + (head() & 0xff) * 64),
            Kind::Num | Kind::Wide | Kind::Len | Kind::Routine => true,
        };
        assert!(holds, "{op:?} at {here}: {kind:?} {value}");
    }
}
