//! What the machine relies on, proved of a blob before it runs.
//!
//! | rule | |
//! | --- | --- |
//! | V1 | every opcode is known, and a literal has at most 16 bytes |
//! | V2 | every register is below [`N_REGS`] |
//! | V3 | every jump stays in its routine; the end of its body is a target too where it is not called |
//! | V4 | only `loop.next` and `back` jump back, the former to the instruction behind a `loop` |
//! | V5 | a called routine ends with `ret`, `end` or `skip`, what stands behind a body with `back`, `end` or `skip`; `ret` stands in called routines only |
//! | V6 | every fixed read lies within the event bytes that the routine says it needs |
//! | V7 | every string lies in the pool |
//! | V8 | every table is of the kind its instruction asks for and well formed |
//! | V9 | the targets of a table keep V3 and V4 |
//! | V10 | every width, bit count and digit count is in its range, every name known; a number that is printed with all its digits begins with a byte |
//! | V11 | a call goes to a called routine with a lower number that needs no more event bytes, at most [`MAX_DEPTH`] deep |
//! | V12 | the rows of routines, hooks, tables and sources point inside their sections; routines and tables lie one behind the other; no body is empty; a hook's routines are not called ones |
//! | V13 | the instructions that are run with one have its opcode, and stand with it in the body or behind that |
//! | V14 | what is read of a register has been written in the same event: on every way there, or as one of the registers that the event's routine says are zeroed |
//!
//! V12 is checked when a blob is opened. The others are properties of a routine, of the tables it names and of the
//! routines it calls: they are checked of all routines at once ([`verify`]), or of each with all that it calls before
//! its first run ([`Proofs`]), by the same code.
//!
//! | rule | what keeps unproved code from running |
//! | --- | --- |
//! | P1 | a run begins by what [`crate::Program::start`] gives out alone, of routines that were proved when the program was opened, or [`crate::Program::start_lazily`], which asks for the proof |
//! | P2 | a routine is proved only when all that it calls is: a run reaches no other code |
//! | P3 | a proof is about bytes that nobody can alter: the program borrows them |
//! | P4 | what is refused stays refused |

mod registers;

use crate::blob::{BlobError, RoutineRow, Sections};
use crate::op::{EnvText, EnvValue, Instr, Kind, Op, Slot, for_each_op, form};
use crate::table::{self, TableFacts, TableKind};
use registers::Flow;
pub(crate) use registers::Registers;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Registers of the machine.
pub const N_REGS: usize = 1024;

/// The deepest nest of calls that is run. The language allows 10; blobs made otherwise may ask for more.
pub const MAX_DEPTH: usize = 64;

/// The largest event buffer that a routine may need, in bytes.
const MAX_NEED: u32 = 1 << 20;

/// What has been proved of a program so far. Threads share it: each may prove what another is proving, and both find
/// the same.
#[derive(Debug)]
pub(crate) struct Proofs {
    /// For each routine [`UNKNOWN`], [`REFUSED`], or how deep its calls nest, and [`SOUND`].
    routines: Box<[AtomicU8]>,
    /// The facts of each table that was looked at, `None` where it is malformed.
    tables: Box<[OnceLock<Option<TableFacts>>]>,
    /// For each routine that is sound the byte orders in which it and those that it calls read numbers, and their [`Looks`].
    facts: Box<[AtomicU8]>,
    /// What rule V14 has found out.
    flows: Mutex<Flows>,
}

/// The byte orders in which a routine takes numbers from windows: what runs it need not look at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Orders {
    /// The high byte first, or there are no numbers.
    #[default]
    Big,
    /// The low byte first.
    Little,
    /// Both.
    Mixed,
}

const BIG: u8 = 1;
const LITTLE: u8 = 2;
/// Where [`Looks`] stand beside these.
const LOOKS: u32 = 2;

/// What a routine needs beside the event's bytes at fixed places, and the registers that it has written itself. Each is more
/// than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Looks {
    /// Nothing.
    Nowhere,
    /// Where the data pointer stands.
    AtPointer,
    /// What else the event tells, its hook, the margin of a line behind the first, registers that are zeroed.
    AtEvent,
    /// What the event's surroundings tell, and calls.
    Around,
}

impl Looks {
    /// The one with the number in the two low bits.
    #[inline(always)]
    pub const fn of_bits(bits: u8) -> Looks {
        match bits & 3 {
            0 => Looks::Nowhere,
            1 => Looks::AtPointer,
            2 => Looks::AtEvent,
            _ => Looks::Around,
        }
    }

    /// What an instruction needs, whatever its operands.
    const fn of(op: Op) -> Looks {
        match op {
            Op::Print | Op::Lit | Op::Soft | Op::SoftDrop => Looks::Nowhere,
            Op::Const | Op::Move | Op::Word | Op::Load | Op::LoadLe | Op::LoadBits | Op::Reach => Looks::Nowhere,
            Op::Sext | Op::Bits | Op::Add | Op::Sub | Op::Mul | Op::Div | Op::And | Op::Equal => Looks::Nowhere,
            Op::PutHex | Op::PutHexFit | Op::PutHexLow | Op::PutHexMin | Op::PutHexC | Op::PutOctC => Looks::Nowhere,
            Op::PutDec | Op::PutInt | Op::PutAscii | Op::PutOct | Op::PutBin | Op::PutChars => Looks::Nowhere,
            Op::PutFloat | Op::PutErrno | Op::PutTime | Op::Text | Op::HexBytes | Op::StringAt => Looks::Nowhere,
            Op::Jump | Op::JumpZero | Op::JumpEqual | Op::JumpDiffer | Op::Differ => Looks::Nowhere,
            Op::Back | Op::Loop | Op::LoopNext | Op::End | Op::Skip | Op::Stop | Op::Cut => Looks::Nowhere,
            Op::Switch | Op::SwitchText | Op::SwitchLit | Op::SwitchLitHex | Op::Mark | Op::Lower => Looks::Nowhere,
            Op::PutCase | Op::Flags | Op::FlagsAny | Op::FlagsList | Op::Nibbles => Looks::Nowhere,
            Op::Get | Op::HexAt | Op::HexLowAt | Op::HexFullAt | Op::HexLowFullAt | Op::HexCAt => Looks::Nowhere,
            Op::HexMinAt | Op::OctCAt | Op::DecAt | Op::IntAt | Op::LitAt | Op::HexCLitAt => Looks::Nowhere,
            Op::LitHexAt | Op::CaseAt | Op::HexCCaseAt | Op::NibblesAt | Op::HexCNibblesAt => Looks::Nowhere,
            Op::JumpEqualAt | Op::JumpDifferAt | Op::SwitchTextAt => Looks::Nowhere,
            Op::PtrSet | Op::PtrAdd | Op::PtrBack | Op::PtrFloor | Op::PtrCeil | Op::PtrGet => Looks::AtPointer,
            Op::PtrTo | Op::BaseGet | Op::BaseTo | Op::Take | Op::TakeLe | Op::TakeBits => Looks::AtPointer,
            Op::TakeReach | Op::TakeText | Op::TakeCounted | Op::TextBy | Op::TakeString => Looks::AtPointer,
            Op::PassString | Op::TakeEscaped | Op::TakeWords | Op::TakeName | Op::TakeHexBytes => Looks::AtPointer,
            Op::Dump => Looks::AtPointer,
            Op::Newline | Op::Tab | Op::Env => Looks::AtEvent,
            _ => Looks::Around,
        }
    }
}

#[derive(Debug, Default)]
struct Flows {
    /// The registers that called routines read before they write them.
    expected: BTreeMap<u32, Registers>,
    /// The distinct targets of tables.
    targets: BTreeMap<u32, Box<[u32]>>,
}

const UNKNOWN: u8 = 0;
const REFUSED: u8 = 1;
/// A sound routine without calls.
const SOUND: u8 = 2;

impl Proofs {
    /// Nothing has been proved yet.
    pub fn new(sections: &Sections<'_>) -> Self {
        Self {
            routines: sections.routines.iter().map(|_| AtomicU8::new(UNKNOWN)).collect(),
            facts: sections.routines.iter().map(|_| AtomicU8::new(0)).collect(),
            tables: sections.tables.iter().map(|_| OnceLock::new()).collect(),
            flows: Mutex::default(),
        }
    }

    /// Whether a routine may run. The first time that is asked, it is checked, with all that it calls.
    #[inline]
    pub fn sound(&self, sections: &Sections<'_>, routine: u32) -> bool {
        match self.routines.get(routine as usize).map_or(REFUSED, |state| state.load(Ordering::Acquire)) {
            UNKNOWN => self.prove(sections, routine),
            state => state >= SOUND,
        }
    }

    /// Checks a routine behind all that it calls. Calls go to lower numbers, so each is come to twice at most.
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

    /// The byte orders of a routine that is sound, and what it looks at.
    pub fn facts(&self, routine: u32) -> (Orders, Looks) {
        const ORDERS: [Orders; 4] = [Orders::Big, Orders::Big, Orders::Little, Orders::Mixed];
        let facts = self.facts[routine as usize].load(Ordering::Relaxed);
        (ORDERS[usize::from(facts & 3)], Looks::of_bits(facts >> LOOKS))
    }

    fn state(&self, routine: u32) -> u8 {
        self.routines[routine as usize].load(Ordering::Relaxed)
    }

    /// Checks a routine whose callees have been, and keeps the verdict.
    fn check(&self, sections: &Sections<'_>, routine: u32) -> Result<(), Broken> {
        let row = &sections.routines[routine as usize];
        let mut verifier =
            Verifier { sections, proofs: self, straight: Straight::default(), orders: 0, looks: Looks::Nowhere };
        let found = verifier.routine(routine, row);
        let state = found.map_or(REFUSED, |depth| SOUND + depth as u8);
        if row.zeroed > 0 {
            verifier.looks(Looks::AtEvent);
        }
        let facts = verifier.orders | (verifier.looks as u8) << LOOKS;
        self.facts[routine as usize].store(facts, Ordering::Relaxed);
        self.routines[routine as usize].store(state, Ordering::Release);
        found.map(|_| ())
    }

    /// The facts of a table; `None` where there is none, or it is malformed.
    fn table(&self, sections: &Sections<'_>, index: u32) -> Option<TableFacts> {
        *self.tables.get(index as usize)?.get_or_init(|| {
            let kind = TableKind::from_u32(sections.tables[index as usize].kind)?;
            table::check(kind, words_of(sections, index), sections.strings)
        })
    }

    /// The registers that a routine which keeps the other rules, or what it calls, may read before they are written.
    fn expected(&self, sections: &Sections<'_>, code: &[Instr], body: usize) -> Option<Registers> {
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        let Flows { expected, targets } = &mut *flows;
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
        let callee = |callee| expected.get(&callee).copied().unwrap_or_default();
        Flow { code, body, targets, callee }.expected()
    }
}

/// A table's words (rule V12).
fn words_of<'s>(sections: &'s Sections<'_>, index: u32) -> &'s [u64] {
    let row = &sections.tables[index as usize];
    &sections.words[row.start as usize..row.start as usize + row.len as usize]
}

struct Verifier<'s> {
    sections: &'s Sections<'s>,
    proofs: &'s Proofs,
    straight: Straight,
    /// The byte orders of the routine, and of those that it calls.
    orders: u8,
    looks: Looks,
}

/// What rule V14 asks of a routine that runs straight on, found as its other rules are checked.
#[derive(Default)]
struct Straight {
    /// The registers that the instructions so far have written.
    written: Registers,
    /// Whether registers are read beyond those that are zeroed.
    reads: bool,
    /// Whether such a one has not been written by then.
    unwritten: bool,
    /// Whether the routine jumps or calls, or ends before its last instruction.
    bends: bool,
}

/// One instruction with what its rules are about.
struct Site<'s> {
    row: &'s RoutineRow,
    code: &'s [Instr],
    pc: usize,
    instr: &'s Instr,
}

/// All rules, of a whole program.
pub(crate) fn verify(sections: &Sections<'_>) -> Result<Proofs, BlobError> {
    check_rows(sections)?;
    let proofs = Proofs::new(sections);
    for (routine, row) in (0..).zip(sections.routines.iter()) {
        proofs.check(sections, routine).map_err(|(rule, pc)| BlobError::Instr {
            rule,
            routine,
            at: row.start + pc as u32,
        })?;
    }
    Ok(proofs)
}

/// V12.
pub(crate) fn check_rows(sections: &Sections<'_>) -> Result<(), BlobError> {
    let string = |[offset, len]: [u32; 2]| offset as usize + len as usize <= sections.strings.len();
    let outside = |section: u32, row: usize| BlobError::Row { section, row: row as u32 };
    if sections.places.len() != sections.code.len() {
        return Err(outside(2, sections.places.len()));
    }
    let mut behind = 0;
    for (at, row) in sections.routines.iter().enumerate() {
        let (start, end) = (row.start as usize, row.start as usize + row.len as usize);
        let placed = start >= behind && end <= sections.code.len();
        let sizes = placed && row.len > 0 && row.need <= MAX_NEED && (1..=row.len).contains(&row.body);
        behind = end;
        if !sizes || row.zeroed as usize > N_REGS || row.called > 1 || !string(row.name) {
            return Err(outside(3, at));
        }
    }
    behind = 0;
    for (at, row) in sections.tables.iter().enumerate() {
        let (start, end) = (row.start as usize, row.start as usize + row.len as usize);
        if start < behind || end > sections.words.len() {
            return Err(outside(5, at));
        }
        behind = end;
    }
    let mut last = None;
    for (at, row) in sections.hooks.iter().enumerate() {
        let own = |index: &u32| sections.routines.get(*index as usize).is_some_and(|row| row.called == 0);
        let sorted = last < Some((row.space(), row.id)) && row.flags >> 3 & 3 < 3;
        let source = (row.source as usize) < sections.sources.len();
        if !sorted || !source || row.level > 4 || !string(row.label) || !row.routines.iter().all(own) {
            return Err(outside(4, at));
        }
        last = Some((row.space(), row.id));
    }
    match sections.sources.iter().position(|row| !string(row.name)) {
        Some(at) => Err(outside(8, at)),
        None => Ok(()),
    }
}

/// A broken rule and the instruction that breaks it, counted from the routine's first.
type Broken = (u8, usize);

impl Verifier<'_> {
    /// Checks a routine; gives the depth of calls below it.
    fn routine(&mut self, index: u32, row: &RoutineRow) -> Result<usize, Broken> {
        let code = &self.sections.code[row.start as usize..row.start as usize + row.len as usize];
        let mut depth = 0;
        for (pc, instr) in code.iter().enumerate() {
            let site = Site { row, code, pc, instr };
            let fail = |rule| (rule, pc);
            let op = Op::from_u8(instr.op).filter(|_| instr.lit_len <= 16).ok_or(fail(1))?;
            self.operands(&site, op).map_err(fail)?;
            self.straight.bends |= matches!(op, Op::End | Op::Skip) && pc + 1 < code.len();
            if op == Op::Ret && row.called == 0 {
                return Err(fail(5));
            }
            if op == Op::Call {
                depth = depth.max(self.call(&site, index).ok_or(fail(11))?);
                (self.straight.reads, self.straight.bends) = (true, true);
            }
        }
        let last = code.last().and_then(|instr| Op::from_u8(instr.op));
        let falls = match last {
            Some(Op::End | Op::Skip) => false,
            Some(Op::Ret) => row.called == 0,
            Some(Op::Back) => row.called == 1,
            _ => true,
        };
        let whole = row.body as usize == code.len();
        self.straight.bends |= !whole;
        if (falls && (row.called == 1 || !whole)) || (row.called == 1 && !whole) {
            return Err((5, code.len() - 1));
        }
        self.registers(index, row, code).map_err(|rule| (rule, 0))?;
        Ok(depth)
    }

    /// Notes what is needed.
    #[inline(always)]
    fn looks(&mut self, looks: Looks) {
        if looks > self.looks {
            self.looks = looks;
        }
    }

    /// Notes what an instruction writes.
    #[inline(always)]
    fn written(&mut self, instr: &Instr, slot: Slot, kind: Kind) {
        if kind == Kind::Dst {
            self.straight.written.insert(instr.slot(slot));
        }
    }

    /// V14 of a routine that keeps the other rules.
    fn registers(&self, index: u32, row: &RoutineRow, code: &[Instr]) -> Result<(), u8> {
        let Straight { reads, unwritten, bends, .. } = self.straight;
        if row.called == 0 && !bends {
            return if unwritten { Err(14) } else { Ok(()) };
        }
        if row.called == 0 && !reads {
            return Ok(());
        }
        let expected = self.proofs.expected(self.sections, code, row.body as usize).ok_or(14)?;
        if row.called == 1 {
            self.proofs.flows.lock().unwrap_or_else(PoisonError::into_inner).expected.insert(index, expected);
            return Ok(());
        }
        if expected.without(Registers::first(row.zeroed)).is_empty() { Ok(()) } else { Err(14) }
    }

    /// V11: the depth of a call in a routine, or `None` where it breaks the rule.
    fn call(&mut self, site: &Site<'_>, index: u32) -> Option<usize> {
        let callee = Some(site.instr.b).filter(|callee| *callee < index)?;
        let depth = usize::from(self.proofs.state(callee).checked_sub(SOUND)?) + 1;
        let row = &self.sections.routines[callee as usize];
        let fits = row.called == 1 && row.need <= site.row.need;
        self.orders |= self.proofs.facts[callee as usize].load(Ordering::Relaxed) & (BIG | LITTLE);
        (fits && depth <= MAX_DEPTH).then_some(depth)
    }

    #[inline(always)]
    fn operand(&mut self, site: &Site<'_>, op: Op, slot: Slot, kind: Kind) -> Result<(), u8> {
        let value = site.instr.slot(slot);
        let rule = |holds: bool, rule: u8| if holds { Ok(()) } else { Err(rule) };
        match kind {
            Kind::Dst | Kind::Src => {
                rule((value as usize) < N_REGS, 2)?;
                if (kind == Kind::Src || op == Op::LoopNext) && value >= site.row.zeroed.into() {
                    self.straight.reads = true;
                    self.straight.unwritten |= !self.straight.written.contains(value);
                }
                Ok(())
            }
            Kind::Num | Kind::Wide | Kind::Len | Kind::Routine => Ok(()),
            Kind::Width => rule((1..=16).contains(&value), 10),
            Kind::WideWidth => rule((9..=16).contains(&value), 10),
            Kind::Form => {
                let (mode, end) = (form::mode(value), form::end(value));
                let known = form::LEFT
                    | 63 << form::RIGHT
                    | form::LITTLE
                    | 3 << form::MODE
                    | 15 << form::END
                    | 31 << form::BACK
                    | 7 << form::MORE;
                let back = form::back(value) <= site.instr.lit_len.into();
                rule(mode <= form::FIELD && (1..=8).contains(&end) && value & !known == 0 && back, 10)?;
                rule(!form::together(op) || value & form::LEFT & 7 == 0, 10)?;
                self.orders |= if value & form::LITTLE != 0 { LITTLE } else { BIG };
                rule(run_together(site, op, form::more(value)), 13)
            }
            Kind::Window => rule(u64::from(value) + 8 <= site.row.need.into(), 6),
            Kind::Short if form::mode(site.instr.c) == form::FIELD => self.target(site, value.into(), op),
            Kind::Short => rule(value == 0, 10),
            Kind::Back => rule(value <= site.instr.lit_len.into(), 10),
            Kind::Bits => rule((1..=64).contains(&value), 10),
            Kind::Bit => rule(value < 64, 10),
            Kind::Digits => rule((1..=32).contains(&value), 10),
            Kind::Soft => rule(value <= 1, 10),
            Kind::Value => {
                let env = EnvValue::from_u32(value).ok_or(10)?;
                self.looks(if env.is_of_event() { Looks::AtEvent } else { Looks::Around });
                Ok(())
            }
            Kind::Name => rule(EnvText::from_u32(value).is_some(), 10),
            Kind::Off | Kind::BitOff => rule(within_need(site, op), 6),
            Kind::Str => rule(value as usize + site.instr.c as usize <= self.sections.strings.len(), 7),
            Kind::Target => self.target(site, value.into(), op),
            Kind::Table => self.switch(site, value, &[TableKind::Dense, TableKind::Hash]),
            Kind::TextTable => self.switch(site, value, &[TableKind::Text]),
            Kind::CaseTexts => rule(self.texts(value), 8),
            Kind::Flags => self.switch(site, value, &[TableKind::Flags]),
            // A count; 16 or 32 bytes a text, and the default behind the last.
            Kind::Lits => {
                let words = |[head]: [u64; 1]| {
                    let (count, width) = (head & !table::LONG_TEXTS, if head & table::LONG_TEXTS != 0 { 4 } else { 2 });
                    count.saturating_add(1).saturating_mul(width)
                };
                rule(self.holds(value, words), 8)
            }
            // A count and a shift; 32 bytes a text, the default first, then 16 a nibble.
            Kind::Nibbles => {
                let words = |[head]: [u64; 1]| if head & 0xff <= 16 { 4 + (head & 0xff) * 64 } else { u64::MAX };
                rule(self.holds(value, words), 8)
            }
        }
    }

    /// Whether there are as many words at a place as its first one says, behind that.
    fn holds(&self, at: u32, n_words: impl Fn([u64; 1]) -> u64) -> bool {
        let Some((head, rest)) = self.sections.words.get(at as usize..).and_then(|words| words.split_first_chunk())
        else {
            return false;
        };
        n_words(*head) <= rest.len() as u64
    }

    /// V3 and V4.
    #[inline]
    fn target(&mut self, site: &Site<'_>, to: u64, op: Op) -> Result<(), u8> {
        self.straight.bends = true;
        let inside = to < site.code.len() as u64;
        if !inside && (to != u64::from(site.row.body) || site.row.called == 1) {
            return Err(3);
        }
        let to = to as usize;
        let holds = match op {
            Op::LoopNext => to <= site.pc && to > 0 && Op::from_u8(site.code[to - 1].op) == Some(Op::Loop),
            Op::Back => true,
            _ => to > site.pc,
        };
        if holds { Ok(()) } else { Err(4) }
    }

    /// V8 of a table whose targets are texts.
    fn texts(&self, index: u32) -> bool {
        let facts = self.proofs.table(self.sections, index);
        facts.is_some_and(|facts| facts.texts && matches!(facts.kind, TableKind::Dense | TableKind::Hash))
    }

    /// V8 and V9. Of targets between two that keep V3 and V4 all do.
    fn switch(&mut self, site: &Site<'_>, index: u32, kinds: &[TableKind]) -> Result<(), u8> {
        let facts = self.proofs.table(self.sections, index).filter(|facts| kinds.contains(&facts.kind)).ok_or(8)?;
        let (least, greatest) = facts.targets;
        let mut kept = |to: u64| self.target(site, to, Op::Switch).is_ok();
        if least > greatest || (kept(least) && kept(greatest)) { Ok(()) } else { Err(9) }
    }
}

/// The walk over an instruction's operands, from the instruction table's rows.
macro_rules! define_operands {
    ($($(#[doc = $doc:literal])* $name:ident = $mnemonic:literal $form:ident { $($operand:ident: $slot:ident $kind:ident),* };)*) => {
        impl Verifier<'_> {
            fn operands(&mut self, site: &Site<'_>, op: Op) -> Result<(), u8> {
                match op {
                    $(Op::$name => {
                        self.looks(const { Looks::of(Op::$name) });
                        $(self.operand(site, Op::$name, Slot::$slot, Kind::$kind)?;)*
                        $(self.written(site.instr, Slot::$slot, Kind::$kind);)*
                    })*
                }
                Ok(())
            }
        }
    };
}

for_each_op!(define_operands);

/// V13.
fn run_together(site: &Site<'_>, op: Op, n_more: u32) -> bool {
    let Some(others) = site.code[site.pc + 1..].get(..n_more as usize) else { return false };
    let body = site.pc + 1..=site.pc + others.len();
    n_more == 0
        || n_more <= form::MAX_MORE
            && form::together(op)
            && others.iter().all(|other| other.op == op as u8)
            && !body.contains(&(site.row.body as usize))
}

/// V6. Texts and data words look at the event's length themselves.
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
    fn an_instruction_looks_at_what_its_name_says() {
        for op in Op::ALL {
            let name = op.info().mnemonic;
            let expected = match (name, name.split('.').next()) {
                ("nl" | "tab" | "env", _) => Looks::AtEvent,
                ("call" | "ret" | "error" | "put.path" | "put.name", _) | (_, Some("timer")) => Looks::Around,
                ("text.by" | "dump", _) | (_, Some("take" | "pass" | "ptr" | "base")) => Looks::AtPointer,
                _ => Looks::Nowhere,
            };
            assert_eq!(Looks::of(*op), expected, "{name}");
        }
    }
}
