//! Listings of instructions, and the reference page of the instruction table.

use crate::op::{EnvText, EnvValue, Instr, Op, OperandKind, Slot, form};
use crate::{Hook, Program, Routine};
use std::collections::BTreeSet;
use std::fmt::{self, Write};

impl Program<'_> {
    /// Lists the routines of one entry, or of all. Each routine has a header line; then follow address, source line (if
    /// it changes) and instruction. `>` marks jump targets.
    ///
    /// ```text
    /// ; routine 3: 010 hook32, needs 8 bytes, a.trcfmt
    ///      0  a.trcfmt:3   dec.at "pid=" 4 4
    /// ```
    pub fn disassemble(&self, hook: Option<&Hook<'_>>) -> String {
        let mut out = String::new();
        let mut waiting: Vec<u32> = match hook {
            None => self.routines().map(|routine| routine.index).collect(),
            Some(hook) => {
                hook.space.envs().iter().filter_map(|env| self.routine_of(hook, *env)).map(|r| r.index).collect()
            }
        };
        let mut wanted = BTreeSet::new();
        while let Some(index) = waiting.pop() {
            if wanted.insert(index) && self.is_sound(index) {
                let called = self.routine_at(index).code.iter().filter(|instr| instr.op == Op::Call as u8);
                waiting.extend(called.map(|instr| instr.b));
            }
        }
        for index in wanted {
            self.list_routine(&self.routine_at(index), &mut out);
        }
        out
    }

    fn list_routine(&self, routine: &Routine<'_>, out: &mut String) {
        let name = String::from_utf8_lossy(routine.name);
        let _ = writeln!(out, "; routine {}: {name}, needs {} bytes", routine.index, routine.need);
        if !self.is_sound(routine.index) {
            out.push_str("; refused by the verifier\n");
            return;
        }
        let targets = self.targets(routine);
        let mut last = None;
        for (pc, (instr, place)) in routine.code.iter().zip(routine.places).enumerate() {
            let mark = if targets.contains(&pc) { '>' } else { ' ' };
            let line = if last == Some((place.source, place.line)) {
                String::new()
            } else {
                format!("{}:{}", String::from_utf8_lossy(self.source_name(place.source)), place.line)
            };
            last = Some((place.source, place.line));
            let _ = writeln!(out, "{mark}{pc:5}  {line:<20} {}", list_instr(instr, Some(self)));
        }
    }

    fn targets(&self, routine: &Routine<'_>) -> BTreeSet<usize> {
        let mut targets = BTreeSet::new();
        for instr in routine.code {
            let Some(op) = Op::from_u8(instr.op) else { continue };
            for (_, slot, kind) in op.info().operands {
                match kind {
                    OperandKind::Target => drop(targets.insert(instr.slot(*slot) as usize)),
                    OperandKind::Short if form::mode(instr.c) == form::FIELD => {
                        targets.insert(instr.slot(*slot) as usize);
                    }
                    OperandKind::Table | OperandKind::TextTable => {
                        let (kind, words) = self.table(instr.slot(*slot));
                        targets.extend(crate::table::targets(kind, words).map(|to| to as usize));
                    }
                    _ => {}
                }
            }
        }
        targets
    }
}

/// Lists one instruction: mnemonic, literal, operands. Strings of the pool are shown if the program is given.
pub fn list_instr(instr: &Instr, program: Option<&Program<'_>>) -> String {
    let Some(op) = Op::from_u8(instr.op) else { return format!("?{}", instr.op) };
    let mut out = op.info().mnemonic.to_string();
    if instr.lit_len > 0 {
        out.push(' ');
        quote(&mut out, instr.literal());
    }
    for (_, slot, kind) in op.info().operands {
        out.push(' ');
        let _ = list_operand(&mut out, instr, *slot, *kind, program);
    }
    out
}

fn quote(out: &mut String, text: &[u8]) {
    let _ = write!(out, "\"{}\"", text.escape_ascii());
}

fn list_operand(
    out: &mut String,
    instr: &Instr,
    slot: Slot,
    kind: OperandKind,
    program: Option<&Program<'_>>,
) -> fmt::Result {
    let value = instr.slot(slot);
    match kind {
        OperandKind::Dst | OperandKind::Src | OperandKind::NewMark | OperandKind::Mark => write!(out, "r{value}"),
        OperandKind::Wide => write!(out, "{:#x}", instr.wide()),
        OperandKind::Off => write!(out, "@{value}"),
        OperandKind::BitOff => write!(out, "@{}.{}", value / 8, value % 8),
        OperandKind::Window => write!(out, "@{value}"),
        OperandKind::Form => list_form(out, value),
        OperandKind::Short if form::mode(instr.c) != form::FIELD => drop_blank(out),
        OperandKind::Short => write!(out, "->{value}"),
        OperandKind::Back if value == 0 => drop_blank(out),
        OperandKind::Back => write!(out, "back {value}"),
        OperandKind::Target => write!(out, "->{value}"),
        OperandKind::Routine => write!(out, "routine {value}"),
        OperandKind::Table | OperandKind::TextTable => write!(out, "table {value}"),
        OperandKind::CaseTexts => write!(out, "texts of table {value}"),
        OperandKind::Labels => write!(out, "labels of table {value}"),
        OperandKind::Flags => write!(out, "flags {value}"),
        OperandKind::Lits => write!(out, "texts {value}"),
        OperandKind::Nibbles => write!(out, "nibbles {value}"),
        OperandKind::Value => write!(out, "${}", EnvValue::from_u32(value).map_or("?", EnvValue::name)),
        OperandKind::Name => write!(out, "${}", EnvText::from_u32(value).map_or("?", EnvText::name)),
        OperandKind::Soft => write!(out, "{}", if value == 1 { "soft" } else { "exact" }),
        OperandKind::Flag => write!(out, "{}", if value == 1 { "yes" } else { "no" }),
        OperandKind::Cell => write!(out, "f{value}"),
        OperandKind::Str => {
            match program {
                Some(program) => quote(out, program.string([value, instr.c])),
                None => write!(out, "text {value}+{}", instr.c)?,
            }
            Ok(())
        }
        OperandKind::Num
        | OperandKind::Width
        | OperandKind::WideWidth
        | OperandKind::Bits
        | OperandKind::Bit
        | OperandKind::Len => write!(out, "{value}"),
        OperandKind::Digits | OperandKind::FirstDigits => write!(out, "{value}"),
    }
}

/// Removes the blank before an operand that is not listed.
fn drop_blank(out: &mut String) -> fmt::Result {
    out.truncate(out.trim_end().len());
    Ok(())
}

/// Lists a form: bits of the window in reading order, and how they are read.
fn list_form(out: &mut String, form: u32) -> fmt::Result {
    let bits = form::bits(form);
    let order = if form & form::LITTLE != 0 { "le" } else { "be" };
    write!(out, "{}..{}{order}", bits.start, bits.end)?;
    out.push_str(match form::mode(form) {
        form::LOAD => "",
        form::WORD => " word",
        _ => " field",
    });
    write!(out, " of {}", form::end(form))?;
    match form::back(form) {
        0 => {}
        back => write!(out, " back {back}")?,
    }
    match form::n_more(form) {
        0 => Ok(()),
        more => write!(out, " and {more} more"),
    }
}

/// Instruction table as a page of Markdown: `docs/bytecode.md` and `tfbc ops`.
pub fn ops_page() -> String {
    let mut out = String::from(PAGE_HEAD);
    for op in Op::ALL {
        let info = op.info();
        let operands = info.operands.iter().map(|(name, slot, kind)| format!("{name} ({slot:?}, {kind:?})"));
        let operands = operands.collect::<Vec<_>>().join(", ");
        let form = if info.fused { "fused" } else { "plain" };
        let _ = writeln!(out, "| {} | `{}` | {form} | {operands} | {} |", *op as u8, info.mnemonic, info.doc.trim());
    }
    out
}

const PAGE_HEAD: &str = "\
# The bytecode

An instruction is 32 bytes, little-endian: opcode (1 byte), literal length (1), operand slots A (2), B (4), C (4),
D (4), and 16 bytes of literal. Every instruction prints its literal first, then does what the table says. `plain`
instructions are what the compiler emits, `fused` ones what the link pass makes of runs of plain ones. A machine has
1024 registers of 64 bits; jumps count from the routine's first instruction.

This page is printed by `tfbc ops` from the table in `vm/src/op.rs`.

| number | mnemonic | form | operands (slot, kind) | effect |
| --- | --- | --- | --- | --- |
";
