//! V14: whatever a routine reads of a register has been written in the same event.
//!
//! Along every way through a routine goes the set of registers that are written so far; where ways meet, those that all
//! of them have written. A place is walked from again when another way brings less to it.

use super::N_REGS;
use crate::op::{Instr, Kind, Op, form};
use std::collections::{BTreeMap, BTreeSet};

/// How often each instruction of a routine may be walked over, in the mean. Ways that the compiler makes need three.
const MAX_WALKS: usize = 64;

/// A set of registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Registers([u64; N_REGS / 64]);

impl Registers {
    /// The first `n`.
    pub fn first(n: u16) -> Registers {
        let mut all = Registers::default();
        (0..u32::from(n)).for_each(|register| all.insert(register));
        all
    }

    pub fn insert(&mut self, register: u32) {
        self.0[register as usize / 64 % (N_REGS / 64)] |= 1 << (register % 64);
    }

    pub fn contains(&self, register: u32) -> bool {
        self.0[register as usize / 64 % (N_REGS / 64)] >> (register % 64) & 1 == 1
    }

    fn zip(self, other: Registers, of: impl Fn(u64, u64) -> u64) -> Registers {
        let mut all = self;
        all.0.iter_mut().zip(other.0).for_each(|(word, other)| *word = of(*word, other));
        all
    }

    fn and(self, other: Registers) -> Registers {
        self.zip(other, |word, other| word & other)
    }

    fn or(self, other: Registers) -> Registers {
        self.zip(other, |word, other| word | other)
    }

    /// Those that the other set does not have.
    pub fn without(self, other: Registers) -> Registers {
        self.zip(other, |word, other| word & !other)
    }

    pub fn is_empty(&self) -> bool {
        *self == Registers::default()
    }
}

/// A routine that keeps the rules V1 to V5 and V9.
pub(crate) struct Flow<'f, T, C> {
    pub code: &'f [Instr],
    /// Where its body ends.
    pub body: usize,
    /// The distinct targets of a table.
    pub targets: T,
    /// The registers that a routine reads before it writes them.
    pub callee: C,
}

/// What is known of a routine while it is walked through.
#[derive(Default)]
struct Ways {
    /// The places where ways meet, with what is written on all that came there yet.
    met: BTreeMap<u32, Option<Registers>>,
    /// Those to walk from.
    open: BTreeSet<u32>,
    /// What is written at all switches by a table.
    switched: BTreeMap<u32, Registers>,
    /// What was read before it was written.
    expected: Registers,
    /// Instructions walked over.
    n_walked: usize,
}

impl<'f, T: Fn(u32) -> &'f [u32], C: Fn(u32) -> Registers> Flow<'f, T, C> {
    /// The registers that the routine, or what it calls, may read before they are written. `None` where its ways are too
    /// tangled to tell.
    pub fn expected(&self) -> Option<Registers> {
        let mut ways = Ways::default();
        self.meeting_places(&mut ways);
        ways.come(0, Registers::default());
        while let Some(from) = ways.open.pop_first() {
            self.walk(&mut ways, from);
            if ways.n_walked > MAX_WALKS * (self.code.len() + MAX_WALKS) {
                return None;
            }
        }
        Some(ways.expected)
    }

    /// Finds the places that are jumped to.
    fn meeting_places(&self, ways: &mut Ways) {
        let mut tables = BTreeSet::new();
        for instr in self.code {
            ways.met.extend(jumps(instr).map(|to| (to, None)));
            if let Some(table) = table(instr).filter(|table| tables.insert(*table)) {
                ways.met.extend((self.targets)(table).iter().map(|to| (*to, None)));
            }
        }
        ways.met.insert(0, None);
    }

    /// Walks on from a meeting place to where the way ends, or comes to another.
    fn walk(&self, ways: &mut Ways, from: u32) {
        let mut written = ways.met.get(&from).copied().flatten().unwrap_or_default();
        let mut pc = from;
        let known = |instr: &'f Instr| Op::from_u8(instr.op).map(|op| (instr, op));
        // Whoever comes to the body's end ends there.
        while let Some((instr, op)) = self.code.get(pc as usize).filter(|_| pc as usize != self.body).and_then(known) {
            ways.n_walked += 1;
            ways.expected = ways.expected.or(self.read(instr, op).without(written));
            jumps(instr).for_each(|to| ways.come(to, written));
            if let Some(table) = table(instr)
                && ways.switch(table, written)
            {
                (self.targets)(table).iter().for_each(|to| ways.come(*to, written));
                ways.n_walked += (self.targets)(table).len();
            }
            if table(instr).is_some() || matches!(op, Op::Jump | Op::Back | Op::Ret | Op::End | Op::Skip) {
                return;
            }
            written = written.or(registers(instr, op, Kind::Dst));
            pc += 1;
            if ways.met.contains_key(&pc) {
                return ways.come(pc, written);
            }
        }
    }

    /// What an instruction reads.
    fn read(&self, instr: &Instr, op: Op) -> Registers {
        match op {
            Op::LoopNext => registers(instr, op, Kind::Dst),
            Op::Call => (self.callee)(instr.b),
            _ => registers(instr, op, Kind::Src),
        }
    }
}

impl Ways {
    /// A way comes to a meeting place.
    fn come(&mut self, to: u32, written: Registers) {
        let known = self.met.entry(to).or_default();
        let both = known.map_or(written, |known| known.and(written));
        if *known != Some(both) {
            *known = Some(both);
            self.open.insert(to);
        }
    }

    /// A way comes to a switch; whether it brings less than those before.
    fn switch(&mut self, table: u32, written: Registers) -> bool {
        let known = self.switched.get(&table).copied();
        let both = known.map_or(written, |known| known.and(written));
        self.switched.insert(table, both);
        known != Some(both)
    }
}

/// Where an instruction jumps, but by a table.
fn jumps(instr: &Instr) -> impl Iterator<Item = u32> {
    let operands = Op::from_u8(instr.op).map_or(&[][..], |op| op.info().operands);
    operands.iter().filter_map(|(_, slot, kind)| {
        let jumps = *kind == Kind::Target || *kind == Kind::Short && form::mode(instr.c) == form::FIELD;
        jumps.then(|| instr.slot(*slot))
    })
}

/// The table by which an instruction jumps.
pub(super) fn table(instr: &Instr) -> Option<u32> {
    let jumps = [Op::Switch, Op::SwitchText, Op::SwitchTextAt].map(|op| op as u8).contains(&instr.op);
    jumps.then_some(instr.c)
}

fn registers(instr: &Instr, op: Op, kind: Kind) -> Registers {
    let mut all = Registers::default();
    for (_, slot, of) in op.info().operands {
        if *of == kind {
            all.insert(instr.slot(*slot));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Slot;

    /// The registers that a routine without switches and calls may read before they are written.
    fn expected(code: &[Instr], body: usize) -> Vec<u32> {
        let flow = Flow { code, body, targets: |_| [].as_slice(), callee: |_| Registers::default() };
        let found = flow.expected().expect("few ways");
        (0..N_REGS as u32).filter(|register| found.contains(*register)).collect()
    }

    fn set(register: u32) -> Instr {
        Instr::of(Op::Const, &[register])
    }

    fn put(register: u32) -> Instr {
        Instr::of(Op::PutDec, &[register])
    }

    #[test]
    fn a_register_is_written_on_every_way() {
        let jump = |to| Instr::of(Op::JumpZero, &[0, to]);
        assert_eq!(expected(&[set(0), put(0), put(1023)], 3), [1023]);
        assert_eq!(expected(&[set(0), jump(3), set(1), put(1)], 4), [1]);
        assert_eq!(expected(&[set(0), jump(4), set(1), Instr::of(Op::Jump, &[5]), set(1), put(1)], 6), []);
        // What stands behind a jump is not reached.
        assert_eq!(expected(&[Instr::of(Op::Jump, &[2]), put(7), set(0)], 3), []);
    }

    #[test]
    fn a_loop_counts_in_a_register_of_its_own() {
        let turn = |to| Instr::of(Op::LoopNext, &[2, to]);
        let code = [set(0), Instr::of(Op::Loop, &[2, 0, 4]), set(1), turn(2), put(1)];
        assert_eq!(expected(&code, 5), [1], "the loop may have no turns");
        assert_eq!(expected(&[set(0), turn(1)], 2), [2]);
    }

    #[test]
    fn jumps_back_bring_what_was_written_before_them() {
        // Behind the body at 5: back to 3, without what 2 writes.
        let reach = Instr::of(Op::Reach, &[8, 6]);
        let back = Instr::new(Op::Back).with(Slot::D, 3);
        let code = [set(0), reach, set(1), put(0), put(1), Instr::new(Op::End), back];
        assert_eq!(expected(&code, 5), [1]);
        let code = [set(0), reach, set(1), put(0), put(1), Instr::new(Op::End), set(1), back];
        assert_eq!(expected(&code, 5), []);
    }

    #[test]
    fn callees_and_cases_count() {
        let mut seven = Registers::default();
        seven.insert(7);
        let code = [set(0), Instr::of(Op::Switch, &[0, 5]), put(9), set(7), Instr::of(Op::Call, &[3]), put(0)];
        let expected =
            |targets: &'static [u32]| Flow { code: &code, body: 6, targets: |_| targets, callee: |_| seven }.expected();
        assert_eq!(expected(&[4, 5]), Some(seven));
        assert_eq!(expected(&[3, 5]), Some(Registers::default()));
    }

    #[test]
    fn ways_through_many_blocks_behind_the_body_are_told() {
        // A chain of parts, each of which writes and reads a register, or goes on behind the body and back to the next.
        let n = 2000;
        let body = 4 * n + 1;
        let mut code = vec![set(1)];
        for part in 0..n {
            code.extend([Instr::of(Op::Reach, &[8, body + 1 + part]), set(0), put(0), put(1)]);
        }
        code.push(Instr::new(Op::End));
        code.extend((0..n).map(|part| Instr::new(Op::Back).with(Slot::D, 4 * part + 5)));
        assert_eq!(expected(&code, body as usize), []);
        code[2] = set(2);
        assert_eq!(expected(&code, body as usize), [0]);
    }
}
