//! Plain bytecode to linked: runs of plain instructions become fused ones, texts become literals of the instruction
//! that follows, labels become instruction numbers, tables find their place in the blob.

use crate::emit::{Draft, Line, Plain, TableDraft};
use std::collections::HashMap;
use tfbc_grammar::Span;
use tfbc_vm::table::{self, TableKind};
use tfbc_vm::{BlobBuilder, Instr, Kind, Op, Slot, form};

/// Literals up to this length are cut into pieces of 16 bytes; longer ones go to the string pool.
const MAX_INLINE: usize = 48;

/// Links one routine: its instructions with their places in the source.
pub(crate) fn link(draft: &Draft, blob: &mut BlobBuilder) -> (Vec<Instr>, Vec<Span>) {
    let mut linker = Linker { blob, code: Vec::new(), spans: Vec::new(), text: Vec::new(), labels: HashMap::new() };
    let mut at = 0;
    while at < draft.lines.len() {
        let line = &draft.lines[at];
        match &line.plain {
            Plain::Text(text) => linker.text.extend_from_slice(text),
            Plain::Label(label) => {
                linker.flush(line.span);
                linker.labels.insert(*label, linker.code.len() as u32);
            }
            Plain::Op(instr) if instr.op == Op::Reach as u8 => {
                at += linker.field(&draft.lines[at..], instr, draft.first_temp) - 1;
            }
            Plain::Op(instr) => {
                let (instr, n) = fuse(&draft.lines[at..], draft.first_temp).unwrap_or((*instr, 1));
                linker.push(instr, line.span);
                at += n - 1;
            }
        }
        at += 1;
    }
    // Behind its last instruction an event's routine ends by itself.
    let last = linker.code.last();
    if last == Some(&Instr::new(Op::End)) && linker.code.len() > 1 {
        linker.code.pop();
        linker.spans.pop();
    }
    linker.resolve(&draft.tables);
    (linker.code, linker.spans)
}

struct Linker<'b> {
    blob: &'b mut BlobBuilder,
    code: Vec<Instr>,
    spans: Vec<Span>,
    /// Text that waits for an instruction to carry it.
    text: Vec<u8>,
    labels: HashMap<u32, u32>,
}

impl Linker<'_> {
    fn push(&mut self, mut instr: Instr, span: Span) {
        if self.text.len() > MAX_INLINE {
            let [offset, len] = self.blob.string(&self.text);
            self.code.push(Instr::of(Op::Lit, &[offset]).with(Slot::C, len));
            self.spans.push(span);
            self.text.clear();
        }
        while self.text.len() > 16 {
            let rest = self.text.split_off(16);
            self.code.push(with_literal(Instr::new(Op::Print), &self.text));
            self.spans.push(span);
            self.text = rest;
        }
        instr = with_literal(instr, &self.text);
        self.text.clear();
        self.code.push(instr);
        self.spans.push(span);
    }

    /// Links a `reach` with the texts, the read and the print that follow it; gives the number of lines that went into
    /// that.
    fn field(&mut self, lines: &[Line], reach: &Instr, first_temp: u16) -> usize {
        let span = lines[0].span;
        let texts = lines[1..].iter().map_while(|line| match &line.plain {
            Plain::Text(text) => Some(&text[..]),
            _ => None,
        });
        let texts: Vec<&[u8]> = texts.collect();
        let behind = 1 + texts.len();
        let Some((field, n)) = fuse_field(&lines[behind..], reach, first_temp) else {
            self.push(*reach, span);
            return 1;
        };
        let text = texts.concat();
        if text.len() > 16 {
            // The text is too long to be taken back: it is checked for on its own.
            self.push(*reach, span);
            self.text = text;
            self.push(field, span);
        } else {
            // What waits is printed in any case, so only the field's own text is taken back.
            let waits = self.text.len().saturating_sub(16 - text.len());
            let last = self.text.split_off(waits);
            self.flush(span);
            self.text = [&last[..], &text].concat();
            self.push(field.with(Slot::C, field.c | (text.len() as u32) << form::BACK), span);
        }
        behind + n
    }

    /// Prints the text that waits, before a place that jumps name.
    fn flush(&mut self, span: Span) {
        if !self.text.is_empty() {
            self.push(Instr::new(Op::Print), span);
        }
    }

    /// Puts instruction numbers for labels, and places in the blob for tables.
    fn resolve(&mut self, tables: &[TableDraft]) {
        for at in 0..self.code.len() {
            let mut instr = self.code[at];
            let Some(op) = Op::from_u8(instr.op) else { continue };
            for (_, slot, kind) in op.info().operands {
                let value = instr.slot(*slot);
                let resolved = match kind {
                    Kind::Target => self.labels[&value],
                    Kind::Table | Kind::TextTable | Kind::CaseTexts | Kind::Flags | Kind::Lits | Kind::Nibbles => {
                        self.table(&tables[value as usize])
                    }
                    _ => continue,
                };
                instr = instr.with(*slot, resolved);
            }
            self.code[at] = instr;
        }
    }

    fn table(&mut self, draft: &TableDraft) -> u32 {
        let blob = &mut *self.blob;
        match draft {
            TableDraft::Number(cases, default) => {
                let cases: Vec<_> = cases.iter().map(|(key, label)| (*key, self.labels[label].into())).collect();
                let (kind, words) = table::number_table(&cases, self.labels[default].into());
                blob.table(kind, words)
            }
            TableDraft::Texts(texts, default) => {
                let mut string = |text: &[u8]| {
                    let [offset, len] = blob.string(text);
                    table::pack_str(offset, len)
                };
                let default = string(default);
                let cases: Vec<_> = texts.iter().map(|(key, text)| (*key, string(text))).collect();
                let (kind, words) = table::number_table(&cases, default);
                blob.table(kind, words)
            }
            TableDraft::Text(cases, default) => {
                let cases: Vec<_> = cases
                    .iter()
                    .map(|(text, label)| {
                        let [offset, len] = blob.string(text);
                        (&text[..], table::pack_str(offset, len), self.labels[label])
                    })
                    .collect();
                let (kind, words) = table::text_table(&cases, self.labels[default]);
                blob.table(kind, words)
            }
            TableDraft::Flags(entries) => {
                let mut words = Vec::new();
                for (mask, field, yes, no) in entries {
                    let mut string = |text: &[u8]| {
                        let [offset, len] = blob.string(text);
                        table::pack_str(offset, len)
                    };
                    let soft = u64::from(yes.1) | u64::from(no.1) << 1;
                    words.extend([*mask, *field, string(&yes.0), string(&no.0), soft]);
                }
                blob.table(TableKind::Flags, words)
            }
            TableDraft::Lits(texts) => blob.words(texts.iter().flat_map(|text| packed::<2>(text)).collect()),
            TableDraft::Nibbles(nibbles) => {
                blob.words(nibbles.iter().flatten().flat_map(|text| packed::<4>(text)).collect())
            }
        }
    }
}

/// A short text in `WORDS` words: its bytes, zeros, and its length in the last byte.
fn packed<const WORDS: usize>(text: &[u8]) -> [u64; WORDS] {
    let mut bytes = [0; 32];
    bytes[..text.len()].copy_from_slice(text);
    bytes[WORDS * 8 - 1] = text.len() as u8;
    let word = |k: usize| bytes[k * 8..k * 8 + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    std::array::from_fn(word)
}

fn with_literal(mut instr: Instr, text: &[u8]) -> Instr {
    instr.lit[..text.len()].copy_from_slice(text);
    instr.lit_len = text.len() as u8;
    instr
}

/// The checked field that a `reach` and the lines behind it come to, and how many of these it stands for.
fn fuse_field(lines: &[Line], reach: &Instr, first_temp: u16) -> Option<(Instr, usize)> {
    let op = |at: usize| match lines.get(at).map(|line| &line.plain) {
        Some(Plain::Op(instr)) => Op::from_u8(instr.op).map(|op| (op, instr)),
        _ => None,
    };
    let (first, load) = op(0)?;
    let order = match first {
        Op::Load => 0,
        Op::LoadLe => form::LITTLE,
        _ => return None,
    };
    let (at, width) = (load.b, load.c);
    if !matches!(width, 1 | 2 | 4 | 8) || at + width != reach.b {
        return None;
    }
    let field = |op| Instr::of(op, &[at, width | order, reach.d]);
    let printed = |at: usize, bits: u32| -> Option<(Op, usize)> {
        let (put, instr) = op(at)?;
        let own = load.a >= first_temp && instr.b == u32::from(load.a);
        let fused = match put {
            _ if !own => return None,
            Op::PutHexC => Op::FieldHexC,
            Op::PutHexMin => Op::FieldHexMin,
            Op::PutHexLow if instr.c == width * 2 => Op::FieldHexLow,
            Op::PutDec => Op::FieldDec,
            Op::PutInt if bits == 64 => Op::FieldInt,
            Op::Sext if instr.a == load.a && instr.c == width * 8 => {
                let (third, put) = op(at + 1)?;
                let fits = third == Op::PutInt && put.b == u32::from(load.a);
                return fits.then_some((Op::FieldInt, at + 2));
            }
            _ => return None,
        };
        Some((fused, at + 1))
    };
    match printed(1, width * 8) {
        Some((op, n)) => Some((field(op), n)),
        None => Some((Instr::of(Op::Field, &[load.a.into(), at, width | order, reach.d]), 1)),
    }
}

/// The fused instruction that the lines begin with, and how many lines it stands for. Only a register that is used
/// once (from `first_temp` on) may vanish.
fn fuse(lines: &[Line], first_temp: u16) -> Option<(Instr, usize)> {
    let op = |at: usize| match lines.get(at).map(|line| &line.plain) {
        Some(Plain::Op(instr)) => Op::from_u8(instr.op).map(|op| (op, instr)),
        _ => None,
    };
    let (first, load) = op(0)?;
    let (second, use_) = op(1)?;
    let (temp, at, width) = (u32::from(load.a), load.b, load.c);
    if load.a < first_temp || use_.b != temp {
        return None;
    }
    let word = |op, low| match (op, width) {
        (Op::WordDec, 8) => Instr::of(Op::Word8Dec, &[at, low]),
        _ => Instr::of(op, &[at, width, low]),
    };
    let indexed = |op| Instr::of(op, &[at, width, use_.c]).with(Slot::D, use_.d);
    let fused = match (first, second) {
        (Op::Load, Op::PutHex) if width == 4 && use_.c == 8 => Instr::of(Op::Hex4At, &[at]),
        (Op::Load, Op::PutDec) if width == 4 => Instr::of(Op::Dec4At, &[at]),
        (Op::Load, Op::PutHex) if use_.c == width * 2 => Instr::of(Op::HexAt, &[at, width]),
        (Op::Load, Op::PutDec) => Instr::of(Op::DecAt, &[at, width]),
        (Op::Load, Op::PutInt) if width == 8 => Instr::of(Op::IntAt, &[at, width]),
        (Op::Load, Op::SwitchLit) => indexed(Op::SwitchLitAt),
        (Op::Load, Op::Nibbles) if use_.a == 0 => indexed(Op::NibblesAt),
        (Op::Word, Op::PutHex) if use_.c == width * 2 => word(Op::WordHex, width),
        (Op::Word, Op::PutDec) => word(Op::WordDec, width),
        (Op::Word, Op::SwitchLit) => indexed(Op::SwitchLitWord),
        (Op::Word, Op::Nibbles) if use_.a == 0 => indexed(Op::NibblesWord),
        (Op::Load, Op::Sext) if u32::from(use_.a) == temp && use_.c == width * 8 => {
            let (third, put) = op(2)?;
            let fits = third == Op::PutInt && put.b == temp;
            return fits.then(|| (Instr::of(Op::IntAt, &[at, width]), 3));
        }
        (Op::Word, Op::Bits) if use_.c == 0 && use_.d.is_multiple_of(8) && use_.a >= first_temp => {
            let (third, put) = op(2)?;
            let low = use_.d / 8;
            let fused = match third {
                Op::PutDec => word(Op::WordDec, low),
                Op::PutHex if put.c == low * 2 => word(Op::WordHex, low),
                _ => return None,
            };
            return (put.b == u32::from(use_.a)).then_some((fused, 3));
        }
        _ => return None,
    };
    Some((fused, 2))
}
