//! Rules V14 and V15: a routine only reads registers that were written in the same event, and with the type they were
//! written with: number or mark.
//!
//! A data-flow analysis follows every path with the registers written so far. At a join, a register counts as written
//! if all paths wrote it, and as a number or mark if any path wrote one. A join is visited again if another path
//! changes its state.

use crate::op::{Instr, N_REGS, Op, OperandKind, form};
use crate::rule::Rule;
use std::collections::{BTreeMap, BTreeSet};

/// Limit on the average number of visits per instruction. Code of the compiler needs three.
const MAX_VISITS: usize = 64;

/// Set of registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Registers([u64; N_REGS / 64]);

impl Registers {
    /// The first `n` registers.
    pub fn first(n: u16) -> Registers {
        let mut all = Registers::default();
        (0..u32::from(n)).for_each(|register| all.insert(register));
        all
    }

    fn one(register: u32) -> Registers {
        let mut all = Registers::default();
        all.insert(register);
        all
    }

    pub fn insert(&mut self, register: u32) {
        self.0[register as usize / 64 % (N_REGS / 64)] |= 1 << (register % 64);
    }

    pub fn remove(&mut self, register: u32) {
        self.0[register as usize / 64 % (N_REGS / 64)] &= !(1 << (register % 64));
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

    /// Registers that are not in the other set.
    pub fn without(self, other: Registers) -> Registers {
        self.zip(other, |word, other| word & !other)
    }

    pub fn is_empty(&self) -> bool {
        *self == Registers::default()
    }
}

/// Routine that satisfies rules V1 to V5 and V9.
pub(crate) struct Flow<'f, T, C> {
    pub code: &'f [Instr],
    /// End of its body.
    pub body: usize,
    /// Returns the distinct targets of a table.
    pub targets: T,
    /// Returns the registers used by a callee.
    pub callee: C,
    /// Registers zeroed before the routine runs.
    pub zeroed: Registers,
}

/// Registers used by a routine and its callees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RegisterUse {
    /// Registers read as numbers before the routine writes them.
    pub numbers_expected: Registers,
    /// Registers read as marks before the routine writes them.
    pub marks_expected: Registers,
    /// Registers that numbers are written to.
    numbers_written: Registers,
    /// Registers that marks are written to.
    marks_written: Registers,
}

/// Contents of the registers at one point, over all paths to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct RegisterContents {
    /// Registers that every path wrote.
    written: Registers,
    /// Registers that may hold a number written on some path.
    numbers: Registers,
    /// Registers that may hold a mark written on some path.
    marks: Registers,
}

impl RegisterContents {
    fn meet(self, other: RegisterContents) -> RegisterContents {
        RegisterContents {
            written: self.written.and(other.written),
            numbers: self.numbers.or(other.numbers),
            marks: self.marks.or(other.marks),
        }
    }

    fn write_number(&mut self, register: u32) {
        self.written.insert(register);
        self.numbers.insert(register);
        self.marks.remove(register);
    }

    fn write_mark(&mut self, register: u32) {
        self.written.insert(register);
        self.marks.insert(register);
        self.numbers.remove(register);
    }
}

/// State of the analysis of one routine.
#[derive(Default)]
struct FlowAnalysis {
    /// Join points, with the joined contents of all paths that reached them so far.
    joins: BTreeMap<u32, Option<RegisterContents>>,
    /// Join points to visit.
    open: BTreeSet<u32>,
    /// Joined contents at all switches over the same table.
    switched: BTreeMap<u32, RegisterContents>,
    /// Registers used so far.
    found: RegisterUse,
    /// True if a mark was read as a number, or a number as a mark.
    confused: bool,
    /// Number of visited instructions.
    n_visited: usize,
}

impl<'f, T: Fn(u32) -> &'f [u32], C: Fn(u32) -> RegisterUse> Flow<'f, T, C> {
    /// Registers used by the routine and its callees.
    ///
    /// # Errors
    /// [`Rule::Marks`] if it mixes up marks and numbers, [`Rule::Initialized`] if the analysis exceeds its limit.
    pub fn register_use(&self) -> Result<RegisterUse, Rule> {
        let mut analysis = FlowAnalysis::default();
        self.find_joins(&mut analysis);
        analysis.reach(0, RegisterContents { written: self.zeroed, numbers: self.zeroed, marks: Registers::default() });
        // The lowest join first: code jumps mostly forward, so a join is rarely visited before all paths to it are
        // known.
        while let Some(from) = analysis.open.pop_first() {
            self.walk(&mut analysis, from);
            if analysis.confused {
                return Err(Rule::Marks);
            }
            // A blob can be made so that every path changes every join once more. It is refused instead of analysed for
            // minutes.
            if analysis.n_visited > MAX_VISITS * (self.code.len() + MAX_VISITS) {
                return Err(Rule::Initialized);
            }
        }
        Ok(analysis.found)
    }

    /// Collects the jump targets.
    fn find_joins(&self, analysis: &mut FlowAnalysis) {
        let mut tables = BTreeSet::new();
        for instr in self.code {
            analysis.joins.extend(jumps(instr).map(|to| (to, None)));
            if let Some(table) = table(instr).filter(|table| tables.insert(*table)) {
                analysis.joins.extend((self.targets)(table).iter().map(|to| (*to, None)));
            }
        }
        analysis.joins.insert(0, None);
    }

    /// Follows a path from a join point to its end or to the next join point.
    fn walk(&self, analysis: &mut FlowAnalysis, from: u32) {
        let mut contents = analysis.joins.get(&from).copied().flatten().unwrap_or_default();
        let mut pc = from;
        let known = |instr: &'f Instr| Op::from_u8(instr.op).map(|op| (instr, op));
        // A path ends at the end of the body.
        while let Some((instr, op)) = self.code.get(pc as usize).filter(|_| pc as usize != self.body).and_then(known) {
            analysis.n_visited += 1;
            self.read(analysis, instr, op, &contents);
            jumps(instr).for_each(|to| analysis.reach(to, contents));
            // Switches over one table are joined before its targets are walked: many switches over a large table cost
            // its length once, not once per switch.
            if let Some(table) = table(instr)
                && analysis.switch(table, contents)
            {
                (self.targets)(table).iter().for_each(|to| analysis.reach(*to, contents));
                analysis.n_visited += (self.targets)(table).len();
            }
            if table(instr).is_some() || matches!(op, Op::Jump | Op::Back | Op::Ret | Op::End | Op::Skip) {
                return;
            }
            self.write(analysis, instr, op, &mut contents);
            pc += 1;
            if analysis.joins.contains_key(&pc) {
                return analysis.reach(pc, contents);
            }
        }
    }

    /// Notes the registers that an instruction reads.
    fn read(&self, analysis: &mut FlowAnalysis, instr: &Instr, op: Op, contents: &RegisterContents) {
        if op == Op::Call {
            let callee = (self.callee)(instr.b);
            analysis.read_numbers(callee.numbers_expected, contents);
            analysis.read_marks(callee.marks_expected, contents);
        }
        for (_, slot, kind) in op.info().operands {
            let register = Registers::one(instr.slot(*slot));
            match kind {
                OperandKind::Src => analysis.read_numbers(register, contents),
                OperandKind::Dst if op == Op::LoopNext => analysis.read_numbers(register, contents),
                OperandKind::Mark => analysis.read_marks(register, contents),
                _ => {}
            }
        }
    }

    /// Notes the registers that an instruction writes.
    fn write(&self, analysis: &mut FlowAnalysis, instr: &Instr, op: Op, contents: &mut RegisterContents) {
        if op == Op::Call {
            // The callee may or may not have written these.
            let callee = (self.callee)(instr.b);
            contents.numbers = contents.numbers.or(callee.numbers_written);
            contents.marks = contents.marks.or(callee.marks_written);
            analysis.found.numbers_written = analysis.found.numbers_written.or(callee.numbers_written);
            analysis.found.marks_written = analysis.found.marks_written.or(callee.marks_written);
        }
        for (_, slot, kind) in op.info().operands {
            let register = instr.slot(*slot);
            match kind {
                OperandKind::Dst => {
                    contents.write_number(register);
                    analysis.found.numbers_written.insert(register);
                }
                OperandKind::NewMark => {
                    contents.write_mark(register);
                    analysis.found.marks_written.insert(register);
                }
                _ => {}
            }
        }
    }
}

impl FlowAnalysis {
    /// Reads registers as numbers.
    fn read_numbers(&mut self, registers: Registers, contents: &RegisterContents) {
        let expected = &mut self.found.numbers_expected;
        *expected = expected.or(registers.without(contents.written));
        self.confused |= !registers.and(contents.marks).is_empty();
    }

    /// Reads registers as marks.
    fn read_marks(&mut self, registers: Registers, contents: &RegisterContents) {
        let expected = &mut self.found.marks_expected;
        *expected = expected.or(registers.without(contents.written));
        self.confused |= !registers.and(contents.numbers).is_empty();
    }

    /// Adds the contents of a path to a join point.
    fn reach(&mut self, to: u32, contents: RegisterContents) {
        // A join is only visited again if this path adds something, so the analysis ends.
        let known = self.joins.entry(to).or_default();
        let both = known.map_or(contents, |known| known.meet(contents));
        if *known != Some(both) {
            *known = Some(both);
            self.open.insert(to);
        }
    }

    /// Adds the contents of a path to a switch. Returns true if they changed.
    fn switch(&mut self, table: u32, contents: RegisterContents) -> bool {
        let known = self.switched.get(&table).copied();
        let both = known.map_or(contents, |known| known.meet(contents));
        self.switched.insert(table, both);
        known != Some(both)
    }
}

/// Direct jump targets of an instruction.
fn jumps(instr: &Instr) -> impl Iterator<Item = u32> {
    let operands = Op::from_u8(instr.op).map_or(&[][..], |op| op.info().operands);
    operands.iter().filter_map(|(_, slot, kind)| {
        let jumps = *kind == OperandKind::Target || *kind == OperandKind::Short && form::mode(instr.c) == form::FIELD;
        jumps.then(|| instr.slot(*slot))
    })
}

/// Table of jump targets of an instruction.
pub(super) fn table(instr: &Instr) -> Option<u32> {
    let jumps = [Op::Switch, Op::SwitchText, Op::SwitchTextAt].map(|op| op as u8).contains(&instr.op);
    jumps.then_some(instr.c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Slot;

    /// The registers that a routine without switches and calls may read before they are written.
    fn expected(code: &[Instr], body: usize) -> Vec<u32> {
        numbers(&flow(code, body).expect("few paths").numbers_expected)
    }

    fn flow(code: &[Instr], body: usize) -> Result<RegisterUse, Rule> {
        let (targets, zeroed) = (|_| [].as_slice(), Registers::default());
        Flow { code, body, targets, callee: |_| RegisterUse::default(), zeroed }.register_use()
    }

    fn numbers(registers: &Registers) -> Vec<u32> {
        (0..N_REGS as u32).filter(|register| registers.contains(*register)).collect()
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
        // Code after an unconditional jump is not reached.
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
    fn registers_stay_written_across_jumps_back() {
        // After the body, at 5: jumps back to 3 and skips the write at 2.
        let reach = Instr::of(Op::Reach, &[8, 6]);
        let back = Instr::new(Op::Back).with(Slot::D, 3);
        let code = [set(0), reach, set(1), put(0), put(1), Instr::new(Op::End), back];
        assert_eq!(expected(&code, 5), [1]);
        let code = [set(0), reach, set(1), put(0), put(1), Instr::new(Op::End), set(1), back];
        assert_eq!(expected(&code, 5), []);
    }

    #[test]
    fn callees_and_cases_count() {
        let seven = RegisterUse { numbers_expected: Registers::one(7), ..RegisterUse::default() };
        let code = [set(0), Instr::of(Op::Switch, &[0, 5]), put(9), set(7), Instr::of(Op::Call, &[3]), put(0)];
        let expected = |targets: &'static [u32]| {
            let zeroed = Registers::default();
            let flow = Flow { code: &code, body: 6, targets: |_| targets, callee: |_| seven, zeroed };
            numbers(&flow.register_use().expect("few paths").numbers_expected)
        };
        assert_eq!(expected(&[4, 5]), [7]);
        assert_eq!(expected(&[3, 5]), []);
    }

    #[test]
    fn marks_and_numbers_are_not_mixed_up() {
        let (mark, lower) = (Instr::of(Op::Mark, &[0]), Instr::of(Op::Lower, &[0]));
        let jump = |to| Instr::of(Op::JumpZero, &[1, to]);
        let go = |to| Instr::of(Op::Jump, &[to]);
        let is_kept = |code: &[Instr]| flow(code, code.len()).map(|found| found.marks_expected.is_empty());
        assert_eq!(is_kept(&[mark, lower]), Ok(true));
        assert_eq!(is_kept(&[lower]), Ok(false));
        assert_eq!(is_kept(&[mark, put(0)]), Err(Rule::Marks));
        assert_eq!(is_kept(&[set(0), lower]), Err(Rule::Marks));
        assert_eq!(
            is_kept(&[mark, set(0), put(0), mark, lower]),
            Ok(true),
            "a register has one content after the other"
        );
        // On one of two paths the register has the other kind.
        assert_eq!(is_kept(&[set(1), jump(4), mark, go(5), set(0), lower]), Err(Rule::Marks));
        assert_eq!(is_kept(&[set(1), jump(4), mark, go(5), set(0), put(0)]), Err(Rule::Marks));
        assert_eq!(is_kept(&[set(1), jump(4), mark, go(5), mark, lower]), Ok(true));
        // On one of two paths it is not written.
        assert_eq!(is_kept(&[set(1), jump(3), mark, lower]), Ok(false));
    }

    #[test]
    fn a_zeroed_register_is_a_number() {
        let code = [Instr::of(Op::Lower, &[0])];
        let (targets, zeroed) = (|_| [].as_slice(), Registers::first(1));
        let flow = Flow { code: &code, body: 1, targets, callee: |_| RegisterUse::default(), zeroed };
        assert_eq!(flow.register_use(), Err(Rule::Marks));
    }

    #[test]
    fn a_callee_may_change_the_type_of_a_register() {
        let (mark, lower, call) = (Instr::of(Op::Mark, &[0]), Instr::of(Op::Lower, &[0]), Instr::of(Op::Call, &[3]));
        let run = |code: &[Instr], callee: RegisterUse| {
            let (targets, zeroed) = (|_| [].as_slice(), Registers::default());
            Flow { code, body: code.len(), targets, callee: |_| callee, zeroed }.register_use().map(|_| ())
        };
        let of = |code: &[Instr]| flow(code, code.len()).expect("few paths");
        let (marks, counts) = (of(&[mark]), of(&[set(0)]));
        assert_eq!(run(&[set(0), call, put(0)], marks), Err(Rule::Marks));
        assert_eq!(run(&[mark, call, lower], counts), Err(Rule::Marks));
        assert_eq!(run(&[mark, call, lower], marks), Ok(()));
        assert_eq!(run(&[set(0), call, put(0)], counts), Ok(()));
        // The caller wrote the registers that the callee reads.
        assert_eq!(run(&[mark, call], of(&[put(0)])), Err(Rule::Marks));
        assert_eq!(run(&[set(0), call], of(&[lower])), Err(Rule::Marks));
        assert_eq!(run(&[mark, call], of(&[lower])), Ok(()));
        // A call further down.
        let further = {
            let (targets, zeroed) = (|_| [].as_slice(), Registers::default());
            let code = [call];
            Flow { code: &code, body: 1, targets, callee: |_| marks, zeroed }.register_use().expect("few paths")
        };
        assert_eq!(run(&[set(0), call, put(0)], further), Err(Rule::Marks));
    }

    #[test]
    fn paths_through_blocks_after_the_body_are_analysed() {
        // A chain of parts. Each writes and reads a register, or jumps past the body and back to the next part.
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
