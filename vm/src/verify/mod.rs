//! Verifier: proves the properties of a blob that the machine relies on.
//!
//! [`Rule`] lists the rules.
//!
//! V12 is checked when a blob is opened. The other rules concern a routine, its tables and its callees. The same code
//! checks them for all routines at once ([`verify`]), or for each routine with its callees before its first run
//! ([`Proofs`]).
//!
//! | rule | what keeps unproved code from running |
//! | --- | --- |
//! | P1 | a run starts only with a result of [`crate::Program::start`], for routines proved when the program was opened, or of [`crate::Program::start_lazily`], which proves the routine first |
//! | P2 | a routine is proved only after all routines that it calls, so a run reaches no unproved code |
//! | P3 | nobody can alter the bytes after the proof, because the program borrows them |
//! | P4 | a refused routine stays refused |

mod registers;

use crate::blob::{BlobError, HookRow, RoutineRow, Sections};
use crate::op::{EnvText, EnvValue, Instr, N_REGS, Op, OperandKind, Slot, StateUse, for_each_op, form};
use crate::rule::Rule;
use crate::table::{self, TableFacts, TableKind};
use crate::{Schema, Space};
pub(crate) use registers::Registers;
use registers::{Flow, RegisterUse};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Limit on nested calls. The language allows 10; other blobs may have more.
pub const MAX_DEPTH: usize = 64;

/// Longest body, in instructions, that may cost an event no steps.
pub(crate) const UNCOUNTED: u32 = 1024;

/// Limit on the event bytes that a routine may need.
const MAX_NEED: u32 = 1 << 20;

/// Results of verification so far, shared by threads. Two threads may check the same routine at once; both get the same
/// result.
#[derive(Debug)]
pub(crate) struct Proofs {
    /// Per routine: [`UNKNOWN`], [`REFUSED`], or [`SOUND`] plus the depth of its calls.
    routines: Box<[AtomicU8]>,
    /// Per table that was checked: its facts, or `None` if it is malformed.
    tables: Box<[OnceLock<Option<TableFacts>>]>,
    /// Per sound routine, with its callees: the byte orders of its numbers, its [`StateUse`], and the bit [`EFFECTS`].
    facts: Box<[AtomicU8]>,
    /// Routines of entries without effects. Created for the first routine with effects, because few programs have any.
    without_effects: OnceLock<BTreeSet<u32>>,
    /// Results of rule V14 that several routines need.
    flows: Mutex<Flows>,
}

/// Byte orders of the numbers that a routine reads from windows. If there is only one, handlers need not test the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Endianness {
    /// Big-endian, or no numbers.
    #[default]
    Big,
    /// Little-endian.
    Little,
    /// Both.
    Mixed,
}

const BIG: u8 = 1;
const LITTLE: u8 = 2;
/// Lowest bit of the [`StateUse`].
const USES: u32 = 2;
/// Set if the routine or a callee sets or ends timers, or stops the report.
const EFFECTS: u8 = 1 << 4;

#[derive(Debug, Default)]
struct Flows {
    /// Registers used by called routines.
    uses: BTreeMap<u32, RegisterUse>,
    /// Distinct targets of tables.
    targets: BTreeMap<u32, Box<[u32]>>,
}

const UNKNOWN: u8 = 0;
const REFUSED: u8 = 1;
/// Sound routine without calls.
const SOUND: u8 = 2;

impl Proofs {
    /// Nothing verified yet.
    pub fn new(sections: &Sections<'_>) -> Self {
        Self {
            without_effects: OnceLock::new(),
            routines: sections.routines.iter().map(|_| AtomicU8::new(UNKNOWN)).collect(),
            facts: sections.routines.iter().map(|_| AtomicU8::new(0)).collect(),
            tables: sections.tables.iter().map(|_| OnceLock::new()).collect(),
            flows: Mutex::default(),
        }
    }

    /// True if a routine may run. Checks it, with its callees, on the first call.
    #[inline]
    pub fn satisfies_rules(&self, sections: &Sections<'_>, routine: u32) -> bool {
        match self.routines.get(routine as usize).map_or(REFUSED, |state| state.load(Ordering::Acquire)) {
            UNKNOWN => self.prove(sections, routine),
            state => state >= SOUND,
        }
    }

    /// Checks a routine after its callees. Calls go to lower numbers, so each routine is visited at most twice.
    #[cold]
    fn prove(&self, sections: &Sections<'_>, routine: u32) -> bool {
        let mut waiting = vec![routine];
        while let Some(routine) = waiting.last().copied() {
            let row = &sections.routines[routine as usize];
            let before = waiting.len();
            if self.state(routine) == UNKNOWN {
                let code = &sections.code[row.start as usize..row.start as usize + row.len as usize];
                let called = code.iter().filter(|instr| instr.op == Op::Call as u8).map(|instr| instr.b);
                waiting.extend(called.filter(|callee| *callee < routine && self.state(*callee) == UNKNOWN));
            }
            if waiting.len() == before {
                waiting.pop();
                if self.state(routine) == UNKNOWN {
                    let _ = self.check(sections, routine);
                }
            }
        }
        self.state(routine) >= SOUND
    }

    /// Byte orders and state use of a sound routine.
    pub fn facts(&self, routine: u32) -> (Endianness, StateUse) {
        const ORDERS: [Endianness; 4] = [Endianness::Big, Endianness::Big, Endianness::Little, Endianness::Mixed];
        let facts = self.facts[routine as usize].load(Ordering::Relaxed);
        (ORDERS[usize::from(facts & 3)], StateUse::from_bits(facts >> USES))
    }

    /// Verdict on a routine. A thread that reads it as sound also sees its facts.
    fn state(&self, routine: u32) -> u8 {
        self.routines[routine as usize].load(Ordering::Acquire)
    }

    /// Checks a routine whose callees were checked, and stores the verdict.
    fn check(&self, sections: &Sections<'_>, routine: u32) -> Result<(), BrokenRule> {
        let row = &sections.routines[routine as usize];
        let mut verifier =
            Verifier { sections, proofs: self, flat: FlatRoutine::default(), shared: 0, uses: StateUse::Nothing };
        let found = verifier.routine(routine, row);
        let state = found.map_or(REFUSED, |depth| SOUND + depth as u8);
        if row.zeroed > 0 {
            verifier.uses(StateUse::Event);
        }
        if row.body > UNCOUNTED {
            verifier.uses(StateUse::Context);
        }
        let facts = verifier.shared | (verifier.uses as u8) << USES;
        self.facts[routine as usize].store(facts, Ordering::Relaxed);
        self.routines[routine as usize].store(state, Ordering::Release);
        found.map(|_| ())
    }

    /// True if the routine belongs to an entry that denies effects.
    #[cold]
    fn is_without_effects(&self, sections: &Sections<'_>, routine: u32) -> bool {
        let denied = || sections.hooks.iter().filter(|hook| !hook.has_effects()).flat_map(|hook| hook.routines);
        self.without_effects.get_or_init(|| denied().collect()).contains(&routine)
    }

    /// Facts of a table; `None` if it does not exist or is malformed.
    fn table(&self, sections: &Sections<'_>, index: u32) -> Option<TableFacts> {
        *self.tables.get(index as usize)?.get_or_init(|| {
            let kind = TableKind::from_u32(sections.tables[index as usize].kind)?;
            table::check(kind, words_of(sections, index), sections.strings)
        })
    }

    /// Registers used by a routine and its callees. The routine must satisfy the other rules.
    ///
    /// # Errors
    /// The broken rule: V14 or V15.
    fn register_use(
        &self,
        sections: &Sections<'_>,
        code: &[Instr],
        body: usize,
        zeroed: Registers,
    ) -> Result<RegisterUse, Rule> {
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        let Flows { uses, targets } = &mut *flows;
        for instr in code {
            if let Some(table) = registers::table(instr) {
                targets.entry(table).or_insert_with(|| {
                    let facts = self.table(sections, table).into_iter();
                    let all = facts.flat_map(|facts| table::targets(facts.kind, words_of(sections, table)));
                    all.map(|to| to as u32).collect::<BTreeSet<_>>().into_iter().collect()
                });
            }
        }
        let targets = |table| targets.get(&table).map_or(&[][..], |targets| targets);
        let callee = |callee| uses.get(&callee).copied().unwrap_or_default();
        Flow { code, body, targets, callee, zeroed }.register_use()
    }
}

/// Words of a table; in range by rule V12.
fn words_of<'s>(sections: &'s Sections<'_>, index: u32) -> &'s [u64] {
    let row = &sections.tables[index as usize];
    &sections.words[row.start as usize..row.start as usize + row.len as usize]
}

struct Verifier<'s> {
    sections: &'s Sections<'s>,
    proofs: &'s Proofs,
    flat: FlatRoutine,
    /// Facts shared with callers: byte orders and [`EFFECTS`].
    shared: u8,
    uses: StateUse,
}

/// Check of rules V14 and V15 for routines without control flow, done along with the other rules.
#[derive(Default)]
struct FlatRoutine {
    /// Registers written so far.
    written: Registers,
    /// Registers that hold a mark, once one was written.
    marks: Option<Registers>,
    /// True if marks are written, or registers other than the zeroed ones are read.
    reads: bool,
    /// True if a register is read as a number that was not written before.
    unwritten: bool,
    /// True if a register is read as a mark that was not written before.
    unwritten_mark: bool,
    /// True if a mark is read as a number, or a number as a mark.
    confused: bool,
    /// True if the routine jumps, calls, or ends before its last instruction.
    branches: bool,
}

impl FlatRoutine {
    #[inline(always)]
    fn is_mark(&self, register: u32) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.contains(register))
    }
}

/// Instruction with its routine.
struct Site<'s> {
    row: &'s RoutineRow,
    code: &'s [Instr],
    pc: usize,
    instr: &'s Instr,
}

/// Checks all rules for a whole program.
pub(crate) fn verify(sections: &Sections<'_>) -> Result<Proofs, BlobError> {
    check_rows(sections)?;
    check_schemas(sections)?;
    verify_routines(sections, |_| true)
}

/// Checks the rows of a program, and all rules for the routines that print text.
pub(crate) fn verify_text(sections: &Sections<'_>) -> Result<Proofs, BlobError> {
    check_rows(sections)?;
    let mut prints: Vec<bool> = sections.routines.iter().map(|row| row.called == 1).collect();
    let hooks = sections.hooks.iter().filter(|row| row.space().prints());
    hooks.flat_map(|row| row.routines).for_each(|routine| prints[routine as usize] = true);
    verify_routines(sections, |routine| prints[routine as usize])
}

fn verify_routines(sections: &Sections<'_>, is_asked_for: impl Fn(u32) -> bool) -> Result<Proofs, BlobError> {
    let proofs = Proofs::new(sections);
    for (routine, row) in (0..).zip(sections.routines.iter()).filter(|(routine, _)| is_asked_for(*routine)) {
        proofs.check(sections, routine).map_err(|(rule, pc)| BlobError::Instr {
            rule,
            routine,
            at: row.start + pc as u32,
        })?;
    }
    Ok(proofs)
}

/// Checks rule V12.
pub(crate) fn check_rows(sections: &Sections<'_>) -> Result<(), BlobError> {
    let (routines, n_strings, n_sources) = (&*sections.routines, sections.strings.len() as u64, sections.sources.len());
    let (n_instrs, n_words) = (sections.code.len() as u64, sections.words.len() as u64);
    let end = |start: u32, len: u32| u64::from(start) + u64::from(len);
    let string = |[offset, len]: [u32; 2]| end(offset, len) <= n_strings;
    let outside = |section: u32, row: usize| BlobError::Row { section, row: row as u32 };
    // Diagnostics look up a position by the index of its instruction.
    if sections.places.len() != sections.code.len() {
        return Err(outside(2, sections.places.len()));
    }
    let mut last_end = 0;
    for (at, row) in routines.iter().enumerate() {
        // Routines may not overlap. Otherwise a small blob could list the same code many times, and each time it would
        // be verified again.
        let (start, end) = (u64::from(row.start), end(row.start, row.len));
        let placed = start >= last_end && end <= n_instrs;
        let sizes = placed && row.len > 0 && row.need <= MAX_NEED && (1..=row.len).contains(&row.body);
        last_end = end;
        if !sizes || row.zeroed as usize > N_REGS || row.called > 1 || !string(row.name) {
            return Err(outside(3, at));
        }
    }
    last_end = 0;
    for (at, row) in sections.tables.iter().enumerate() {
        let (start, end) = (u64::from(row.start), end(row.start, row.len));
        // Tables may not overlap either, for the same reason.
        if start < last_end || end > n_words {
            return Err(outside(5, at));
        }
        last_end = end;
    }
    let mut least = 0;
    for (at, row) in sections.hooks.iter().enumerate() {
        // An event must not run a called routine directly, because its `ret` would have no return address.
        let own = |index: &u32| routines.get(*index as usize).is_some_and(|row| row.called == 0);
        // Entries are found by binary search. Equal ids are refused too: only one of them would be found.
        let key = (row.space() as u32) << 16 | u32::from(row.id);
        let sorted = key >= least;
        let source = usize::from(row.source) < n_sources;
        let effects = !row.has_effects() || matches!(row.space(), Space::Hook | Space::HookFields);
        if !sorted || !source || !effects || row.level > 4 || !string(row.label) || !row.routines.iter().all(own) {
            return Err(outside(4, at));
        }
        least = key + 1;
    }
    match sections.sources.iter().position(|row| !string(row.name)) {
        Some(at) => Err(outside(8, at)),
        None => Ok(()),
    }
}

/// Checks the schemas of fields, which rows have instead of a label.
fn check_schemas(sections: &Sections<'_>) -> Result<(), BlobError> {
    let is_valid = |row: &HookRow| {
        let [offset, len] = row.label.map(|part| part as usize);
        !sections.has_schema(row) || Schema::decode(&sections.strings[offset..offset + len]).is_some()
    };
    match sections.hooks.iter().position(|row| !is_valid(row)) {
        Some(at) => Err(BlobError::Row { section: 4, row: at as u32 }),
        None => Ok(()),
    }
}

/// Broken rule, and the index of the instruction in the routine.
type BrokenRule = (Rule, usize);

impl Verifier<'_> {
    /// Checks a routine. Returns the depth of its calls.
    fn routine(&mut self, index: u32, row: &RoutineRow) -> Result<usize, BrokenRule> {
        let code = &self.sections.code[row.start as usize..row.start as usize + row.len as usize];
        let mut depth = 0;
        for (pc, instr) in code.iter().enumerate() {
            let site = Site { row, code, pc, instr };
            let fail = |rule| (rule, pc);
            let op = Op::from_u8(instr.op).filter(|_| instr.lit_len <= 16).ok_or(fail(Rule::Opcodes))?;
            // Most rules concern operands. The rest of the loop checks the order of instructions.
            self.operands(&site, op).map_err(fail)?;
            self.flat.branches |= matches!(op, Op::End | Op::Skip) && pc + 1 < code.len();
            if op == Op::Ret && row.called == 0 {
                return Err(fail(Rule::Ends));
            }
            if op == Op::Call {
                depth = depth.max(self.call(&site, index).ok_or(fail(Rule::Calls))?);
                (self.flat.reads, self.flat.branches) = (true, true);
            }
        }
        // Reports do not run hooks without effects if they are filtered out. A timer in one would be lost without a
        // message.
        if self.shared & EFFECTS != 0 && self.proofs.is_without_effects(self.sections, index) {
            return Err((Rule::Effects, self.first_effect(code)));
        }
        // Code that runs past its end would continue in the next routine, which was verified for events of another
        // length.
        let last = code.last().and_then(|instr| Op::from_u8(instr.op));
        let falls = match last {
            Some(Op::End | Op::Skip) => false,
            Some(Op::Ret) => row.called == 0,
            Some(Op::Back) => row.called == 1,
            _ => true,
        };
        let whole = row.body as usize == code.len();
        self.flat.branches |= !whole;
        if (falls && (row.called == 1 || !whole)) || (row.called == 1 && !whole) {
            return Err((Rule::Ends, code.len() - 1));
        }
        self.registers(index, row, code).map_err(|rule| (rule, 0))?;
        Ok(depth)
    }

    /// Index of the first instruction with effects, or of the first call of a routine with effects.
    fn first_effect(&self, code: &[Instr]) -> usize {
        let of_callee = |callee: u32| self.proofs.facts[callee as usize].load(Ordering::Relaxed) & EFFECTS != 0;
        let is_effect = |instr: &Instr| match Op::from_u8(instr.op) {
            Some(Op::Call) => of_callee(instr.b),
            op => op.is_some_and(|op| op.info().has_effects),
        };
        code.iter().position(is_effect).unwrap_or(0)
    }

    /// Adds to the state used by the routine.
    #[inline(always)]
    fn uses(&mut self, uses: StateUse) {
        if uses > self.uses {
            self.uses = uses;
        }
    }

    /// Notes the register that an instruction writes.
    #[inline(always)]
    fn written(&mut self, instr: &Instr, slot: Slot, kind: OperandKind) {
        match kind {
            OperandKind::Dst => {
                self.flat.written.insert(instr.slot(slot));
                if let Some(marks) = &mut self.flat.marks {
                    marks.remove(instr.slot(slot));
                }
            }
            OperandKind::NewMark => {
                self.flat.written.insert(instr.slot(slot));
                self.flat.marks.get_or_insert_default().insert(instr.slot(slot));
            }
            _ => {}
        }
    }

    /// Checks V14 and V15. The routine must satisfy the other rules.
    fn registers(&self, index: u32, row: &RoutineRow, code: &[Instr]) -> Result<(), Rule> {
        let FlatRoutine { reads, unwritten, unwritten_mark, confused, branches, .. } = self.flat;
        // Most routines are decided here: without branches, one pass over the operands has seen reads and writes in
        // order.
        if row.called == 0 && !branches {
            return match (confused || unwritten_mark && !unwritten, unwritten) {
                (true, _) => Err(Rule::Marks),
                (false, true) => Err(Rule::Initialized),
                (false, false) => Ok(()),
            };
        }
        if row.called == 0 && !reads {
            return Ok(());
        }
        let zeroed = Registers::first(if row.called == 1 { 0 } else { row.zeroed });
        // Called routines are always analysed, because their callers need to know which registers they read and write.
        let found = self.proofs.register_use(self.sections, code, row.body as usize, zeroed)?;
        if row.called == 1 {
            self.proofs.flows.lock().unwrap_or_else(PoisonError::into_inner).uses.insert(index, found);
            return Ok(());
        }
        match (found.numbers_expected.is_empty(), found.marks_expected.is_empty()) {
            (true, true) => Ok(()),
            (false, _) => Err(Rule::Initialized),
            (true, false) => Err(Rule::Marks),
        }
    }

    /// Checks V11. Returns the depth of a call, or `None` if the rule is broken.
    fn call(&mut self, site: &Site<'_>, index: u32) -> Option<usize> {
        // Callees have lower numbers: they were verified before, and no blob can express recursion.
        let callee = Some(site.instr.b).filter(|callee| *callee < index)?;
        let depth = usize::from(self.proofs.state(callee).checked_sub(SOUND)?) + 1;
        let row = &self.sections.routines[callee as usize];
        // The event's length is compared with the need of the caller only, once per event.
        let fits = row.called == 1 && row.need <= site.row.need;
        self.shared |= self.proofs.facts[callee as usize].load(Ordering::Relaxed) & (BIG | LITTLE | EFFECTS);
        (fits && depth <= MAX_DEPTH).then_some(depth)
    }

    #[inline(always)]
    fn operand(&mut self, site: &Site<'_>, op: Op, slot: Slot, kind: OperandKind) -> Result<(), Rule> {
        let value = site.instr.slot(slot);
        let rule = |is_kept: bool, rule: Rule| if is_kept { Ok(()) } else { Err(rule) };
        match kind {
            OperandKind::Dst | OperandKind::Src => {
                rule((value as usize) < N_REGS, Rule::Registers)?;
                if kind == OperandKind::Src || op == Op::LoopNext {
                    let is_zeroed = value < site.row.zeroed.into();
                    self.flat.reads |= !is_zeroed;
                    self.flat.unwritten |= !is_zeroed && !self.flat.written.contains(value);
                    self.flat.confused |= self.flat.is_mark(value);
                }
                Ok(())
            }
            OperandKind::NewMark | OperandKind::Mark => {
                rule((value as usize) < N_REGS, Rule::Registers)?;
                self.flat.reads = true;
                if kind == OperandKind::Mark && !self.flat.is_mark(value) {
                    let is_number = value < site.row.zeroed.into() || self.flat.written.contains(value);
                    self.flat.confused |= is_number;
                    self.flat.unwritten_mark |= !is_number;
                }
                Ok(())
            }
            // Any value is safe: a number of the template, or an operand that its handler checks.
            OperandKind::Num | OperandKind::Wide | OperandKind::Len | OperandKind::Routine | OperandKind::Cell => {
                Ok(())
            }
            OperandKind::Width => rule((1..=16).contains(&value), Rule::Operands),
            OperandKind::WideWidth => rule((9..=16).contains(&value), Rule::Operands),
            // Bits that no form uses are refused, so that a later version can give them a meaning.
            OperandKind::Form => {
                let (mode, end) = (form::mode(value), form::end(value));
                let known = form::LEFT
                    | 63 << form::RIGHT
                    | form::LITTLE
                    | 3 << form::MODE
                    | 15 << form::END
                    | 31 << form::BACK
                    | 7 << form::MORE;
                let back = form::back(value) <= site.instr.lit_len.into();
                rule(mode <= form::FIELD && (1..=8).contains(&end) && value & !known == 0 && back, Rule::Operands)?;
                rule(!form::can_run_together(op) || value & form::LEFT & 7 == 0, Rule::Operands)?;
                self.shared |= if value & form::LITTLE != 0 { LITTLE } else { BIG };
                rule(run_together(site, op, form::n_more(value)), Rule::RunTogether)
            }
            // The machine always loads eight bytes, however wide the number is.
            OperandKind::Window => rule(u64::from(value) + 8 <= site.row.need.into(), Rule::FixedReads),
            OperandKind::Short if form::mode(site.instr.c) == form::FIELD => self.target(site, value.into(), op),
            OperandKind::Short => rule(value == 0, Rule::Operands),
            OperandKind::Back => rule(value <= site.instr.lit_len.into(), Rule::Operands),
            // A count of 0 or above 64 would shift a word by its own width or more.
            OperandKind::Bits => rule((1..=64).contains(&value), Rule::Operands),
            OperandKind::Bit => rule(value < 64, Rule::Operands),
            OperandKind::Digits => rule((1..=32).contains(&value), Rule::Operands),
            OperandKind::FirstDigits => rule((1..=form::n_digits(site.instr.c)).contains(&value), Rule::Operands),
            OperandKind::Soft | OperandKind::Flag => rule(value <= 1, Rule::Operands),
            OperandKind::Value => {
                let env = EnvValue::from_u32(value).ok_or(Rule::Operands)?;
                self.uses(if env.is_of_event() { StateUse::Event } else { StateUse::Context });
                Ok(())
            }
            OperandKind::Name => rule(EnvText::from_u32(value).is_some(), Rule::Operands),
            OperandKind::Off | OperandKind::BitOff => rule(within_need(site, op), Rule::FixedReads),
            OperandKind::Str => {
                let end = u64::from(value) + u64::from(site.instr.c);
                rule(end <= self.sections.strings.len() as u64, Rule::Strings)
            }
            OperandKind::Target => self.target(site, value.into(), op),
            OperandKind::Table => self.switch(site, value, &[TableKind::Dense, TableKind::Hash]),
            OperandKind::TextTable => self.switch(site, value, &[TableKind::Text]),
            OperandKind::CaseTexts => rule(self.has_numbers(value, |facts| facts.texts), Rule::Tables),
            OperandKind::Labels => rule(self.has_numbers(value, |_| true), Rule::Tables),
            OperandKind::Flags => self.switch(site, value, &[TableKind::Flags]),
            // A count, then texts of 16 or 32 bytes, with the default after the last.
            OperandKind::Lits => {
                let words = |[head]: [u64; 1]| {
                    let (count, width) = (head & !table::LONG_TEXTS, if head & table::LONG_TEXTS != 0 { 4 } else { 2 });
                    count.saturating_add(1).saturating_mul(width)
                };
                rule(self.has_words(value, words), Rule::Tables)
            }
            // A count and a shift, then texts of 32 bytes: the default, then 16 per nibble.
            OperandKind::Nibbles => {
                let words = |[head]: [u64; 1]| if head & 0xff <= 16 { 4 + (head & 0xff) * 64 } else { u64::MAX };
                rule(self.has_words(value, words), Rule::Tables)
            }
        }
    }

    /// True if the section has as many words after `at` as the word there asks for.
    fn has_words(&self, at: u32, n_words: impl Fn([u64; 1]) -> u64) -> bool {
        let Some((head, rest)) = self.sections.words.get(at as usize..).and_then(|words| words.split_first_chunk())
        else {
            return false;
        };
        n_words(*head) <= rest.len() as u64
    }

    /// Checks V3 and V4.
    #[inline]
    fn target(&mut self, site: &Site<'_>, to: u64, op: Op) -> Result<(), Rule> {
        // Only `loop.next` and `back` count iterations, so any other jump back could run forever.
        self.flat.branches = true;
        let inside = to < site.code.len() as u64;
        if !inside && (to != u64::from(site.row.body) || site.row.called == 1) {
            return Err(Rule::Targets);
        }
        let to = to as usize;
        let is_allowed = match op {
            Op::LoopNext => to <= site.pc && to > 0 && Op::from_u8(site.code[to - 1].op) == Some(Op::Loop),
            Op::Back => true,
            _ => to > site.pc,
        };
        if is_allowed { Ok(()) } else { Err(Rule::Loops) }
    }

    /// Checks V8 for a table by number whose targets are no instructions.
    fn has_numbers(&self, index: u32, are_targets: fn(TableFacts) -> bool) -> bool {
        let facts = self.proofs.table(self.sections, index);
        facts.is_some_and(|facts| matches!(facts.kind, TableKind::Dense | TableKind::Hash) && are_targets(facts))
    }

    /// Checks V8 and V9. It is enough to test the lowest and the highest target.
    fn switch(&mut self, site: &Site<'_>, index: u32, kinds: &[TableKind]) -> Result<(), Rule> {
        let facts =
            self.proofs.table(self.sections, index).filter(|facts| kinds.contains(&facts.kind)).ok_or(Rule::Tables)?;
        let (least, greatest) = facts.targets;
        let mut is_valid = |to: u64| self.target(site, to, Op::Switch).is_ok();
        if least > greatest || (is_valid(least) && is_valid(greatest)) { Ok(()) } else { Err(Rule::TableTargets) }
    }
}

/// Walk over the operands of an instruction, generated from the instruction table.
macro_rules! define_operands {
    ($($(#[doc = $doc:literal])* $number:literal $name:ident = $mnemonic:literal $form:ident
        { $($operand:ident: $slot:ident $kind:ident),* }
        reads $reads:ident, uses $uses:ident, by $($handler:ident)::+ $(<$mode:ident, $order:ident>)? $(, $effects:ident)?;)*) => {
        impl Verifier<'_> {
            fn operands(&mut self, site: &Site<'_>, op: Op) -> Result<(), Rule> {
                match op {
                    $(Op::$name => {
                        self.uses(StateUse::$uses);
                        if const { Op::$name.info().has_effects } {
                            self.shared |= EFFECTS;
                        }
                        $(self.operand(site, Op::$name, Slot::$slot, OperandKind::$kind)?;)*
                        $(self.written(site.instr, Slot::$slot, OperandKind::$kind);)*
                    })*
                }
                Ok(())
            }
        }
    };
}

for_each_op!(define_operands);

/// Checks V13.
fn run_together(site: &Site<'_>, op: Op, n_more: u32) -> bool {
    let Some(others) = site.code[site.pc + 1..].get(..n_more as usize) else { return false };
    let body = site.pc + 1..=site.pc + others.len();
    n_more == 0
        || n_more <= form::MAX_MORE
            && form::can_run_together(op)
            && others.iter().all(|other| other.op == op as u8)
            && !body.contains(&(site.row.body as usize))
}

/// Checks V6. Texts and data words check the event's length at run time.
#[inline(always)]
fn within_need(site: &Site<'_>, op: Op) -> bool {
    let at = u64::from(site.instr.b);
    let end = match op {
        Op::Load | Op::LoadLe | Op::HexBytes => at + u64::from(site.instr.c),
        Op::LoadBits => (at + u64::from(site.instr.c)).div_ceil(8),
        _ => return true,
    };
    end <= u64::from(site.row.need)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_uses_the_state_that_its_name_implies() {
        for op in Op::ALL {
            let name = op.info().mnemonic;
            let expected = match (name, name.split('.').next()) {
                ("nl" | "tab" | "env" | "mark" | "lower" | "switch.text", _) => StateUse::Event,
                ("call" | "ret" | "error" | "put.path" | "put.name", _) | (_, Some("timer")) => StateUse::Context,
                ("field.text" | "field.append", _) => StateUse::Event,
                ("field.path" | "field.timer", _) => StateUse::Context,
                ("field.bytes", _) => StateUse::Pointer,
                ("text.by" | "dump", _) | (_, Some("take" | "pass" | "ptr" | "base")) => StateUse::Pointer,
                _ => StateUse::Nothing,
            };
            assert_eq!(op.info().uses, expected, "{name}");
        }
    }
}
