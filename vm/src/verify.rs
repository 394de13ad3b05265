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
//! | V10 | every width, bit count and digit count is in its range, every name known |
//! | V11 | a call goes to a called routine with a lower number that needs no more event bytes, at most [`MAX_DEPTH`] deep |
//! | V12 | the rows of routines, hooks and sources point inside their sections; a hook's routines are not called ones |
//! | V13 | the instructions that are run with one have its opcode, and stand with it in the body or behind that |

use crate::blob::{BlobError, RoutineRow, Sections};
use crate::op::{EnvText, EnvValue, Instr, Kind, Op, Slot, form};
use crate::table::{self, TableKind};

/// Registers of the machine.
pub const N_REGS: usize = 1024;

/// The deepest nest of calls that is run. The language allows 10; blobs made otherwise may ask for more.
pub const MAX_DEPTH: usize = 64;

/// The largest event buffer that a routine may need, in bytes.
const MAX_NEED: u32 = 1 << 20;

struct Verifier<'s> {
    sections: &'s Sections<'s>,
    /// Targets of each table, `None` where it is malformed.
    tables: Vec<Option<Vec<u64>>>,
    /// Depth of calls below each routine that has been checked.
    depths: Vec<usize>,
}

/// One instruction with what its rules are about.
struct Site<'s> {
    row: &'s RoutineRow,
    code: &'s [Instr],
    pc: usize,
    instr: &'s Instr,
}

pub(crate) fn verify(sections: &Sections<'_>) -> Result<(), BlobError> {
    check_rows(sections)?;
    let tables = sections.tables.iter().map(|row| {
        let words = sections.words.get(row.start as usize..(row.start as usize).checked_add(row.len as usize)?)?;
        table::check(TableKind::from_u32(row.kind)?, words, sections.strings)
    });
    let mut verifier = Verifier { sections, tables: tables.collect(), depths: Vec::new() };
    for (index, row) in sections.routines.iter().enumerate() {
        let depth = verifier.routine(row).map_err(|(rule, pc)| BlobError::Instr {
            rule,
            routine: index as u32,
            at: row.start + pc as u32,
        })?;
        verifier.depths.push(depth);
    }
    Ok(())
}

/// V12.
fn check_rows(sections: &Sections<'_>) -> Result<(), BlobError> {
    let string = |[offset, len]: [u32; 2]| offset as usize + len as usize <= sections.strings.len();
    let outside = |section: u32, row: usize| BlobError::Row { section, row: row as u32 };
    if sections.places.len() != sections.code.len() {
        return Err(outside(2, sections.places.len()));
    }
    for (at, row) in sections.routines.iter().enumerate() {
        let end = row.start as usize + row.len as usize;
        let sizes = row.len > 0 && end <= sections.code.len() && row.need <= MAX_NEED && row.body <= row.len;
        if !sizes || row.zeroed as usize > N_REGS || row.called > 1 || !string(row.name) {
            return Err(outside(3, at));
        }
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
    fn routine(&self, row: &RoutineRow) -> Result<usize, Broken> {
        let code = &self.sections.code[row.start as usize..row.start as usize + row.len as usize];
        let mut depth = 0;
        for (pc, instr) in code.iter().enumerate() {
            let site = Site { row, code, pc, instr };
            let fail = |rule| (rule, pc);
            let op = Op::from_u8(instr.op).filter(|_| instr.lit_len <= 16).ok_or(fail(1))?;
            for (_, slot, kind) in op.info().operands {
                self.operand(&site, op, *slot, *kind).map_err(fail)?;
            }
            if op == Op::Ret && row.called == 0 {
                return Err(fail(5));
            }
            if op == Op::Call {
                depth = depth.max(self.call(&site).ok_or(fail(11))?);
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
        if (falls && (row.called == 1 || !whole)) || (row.called == 1 && !whole) {
            return Err((5, code.len() - 1));
        }
        Ok(depth)
    }

    /// V11: the depth of a call, or `None` where it breaks the rule.
    fn call(&self, site: &Site<'_>) -> Option<usize> {
        let depth = self.depths.get(site.instr.b as usize)? + 1;
        let row = &self.sections.routines[site.instr.b as usize];
        let fits = row.called == 1 && row.need <= site.row.need;
        (fits && depth <= MAX_DEPTH).then_some(depth)
    }

    fn operand(&self, site: &Site<'_>, op: Op, slot: Slot, kind: Kind) -> Result<(), u8> {
        let value = site.instr.slot(slot);
        let rule = |holds: bool, rule: u8| if holds { Ok(()) } else { Err(rule) };
        match kind {
            Kind::Dst | Kind::Src => rule((value as usize) < N_REGS, 2),
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
            Kind::Value => rule(EnvValue::from_u32(value).is_some(), 10),
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
    fn target(&self, site: &Site<'_>, to: u64, op: Op) -> Result<(), u8> {
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
        let Some(row) = self.sections.tables.get(index as usize) else { return false };
        let by_number = matches!(TableKind::from_u32(row.kind), Some(TableKind::Dense | TableKind::Hash));
        let held = |word: &u64| {
            let (offset, len) = table::unpack_str(*word);
            offset + len <= self.sections.strings.len()
        };
        by_number && self.tables[index as usize].as_ref().is_some_and(|targets| targets.iter().all(held))
    }

    /// V8 and V9.
    fn switch(&self, site: &Site<'_>, index: u32, kinds: &[TableKind]) -> Result<(), u8> {
        let row = self.sections.tables.get(index as usize).ok_or(8)?;
        let kind = TableKind::from_u32(row.kind).ok_or(8)?;
        let targets = self.tables[index as usize].as_ref().filter(|_| kinds.contains(&kind)).ok_or(8)?;
        if targets.iter().all(|to| self.target(site, *to, Op::Switch).is_ok()) { Ok(()) } else { Err(9) }
    }
}

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
fn within_need(site: &Site<'_>, op: Op) -> bool {
    let at = u64::from(site.instr.b);
    let end = match op {
        Op::Load | Op::LoadLe | Op::HexBytes => at + u64::from(site.instr.c),
        Op::LoadBits => (at + u64::from(site.instr.c)).div_ceil(8),
        _ => return true,
    };
    end <= u64::from(site.row.need)
}
