//! Links plain bytecode: fuses runs of instructions, attaches texts as literals to the next instruction, replaces
//! labels by instruction numbers, and places tables in the blob.

use crate::emit::{AsmItem, AsmLine, UnlinkedRoutine, UnlinkedTable};
use tfbc_grammar::Span;
use tfbc_vm::table::{self, TableKind};
use tfbc_vm::{BlobBuilder, Instr, Op, OperandKind, Slot, form};

/// Literals up to this length are split into pieces of 16 bytes; longer ones go to the string pool.
const MAX_INLINE: usize = 48;

/// Buffers of the linker, reused for all routines.
#[derive(Debug, Default)]
pub(crate) struct LinkBuffers {
    /// Instructions of the last linked routine.
    pub code: Vec<Instr>,
    /// Source position per instruction.
    pub spans: Vec<Span>,
    /// Text waiting for an instruction to carry it.
    text: Vec<u8>,
    /// Instruction at each label; [`UNKNOWN`] until the label is reached.
    labels: Vec<u32>,
    /// Number of items before each label, not counting labels.
    places: Vec<u32>,
    variables: Variables,
}

/// Label that has not been reached.
const UNKNOWN: u32 = u32::MAX;

/// Properties of a linked routine.
pub(crate) struct Linked {
    /// Number of instructions in its body.
    pub body: u32,
    /// Event bytes that it needs.
    pub need: u32,
}

/// Links one routine. If `plain`, instructions are not fused, and each keeps its own source position.
pub(crate) fn link(
    draft: &UnlinkedRoutine<'_>,
    blob: &mut BlobBuilder,
    buffers: &mut LinkBuffers,
    plain: bool,
) -> Linked {
    buffers.begin(draft, plain);
    // A fused read loads eight bytes at once, so a routine with any fixed read needs at least eight.
    let need = if draft.need > 0 { draft.need.max(8) } else { 0 };
    let (places, variables) = (std::mem::take(&mut buffers.places), std::mem::take(&mut buffers.variables));
    let fuser = Fuser { lines: &draft.lines, variables: &variables, places: &places, need };
    let mut linker = Linker { blob, buffers, body: 0 };
    let mut at = 0;
    while at < draft.lines.len() {
        let line = &draft.lines[at];
        match &line.plain {
            AsmItem::Text(text) => {
                // Text is attached to the next instruction, which prints up to 16 bytes first. In plain code, text has
                // an instruction of its own.
                linker.buffers.text.extend_from_slice(text);
                // Traced runs show one instruction per item, at the place in the source of that item.
                if plain {
                    linker.flush(line.span);
                }
            }
            AsmItem::Label(label) => {
                // A jump to the label must not print the text before it.
                linker.flush(line.span);
                linker.buffers.labels[*label as usize] = linker.buffers.code.len() as u32;
            }
            AsmItem::BodyEnd => linker.end_body(line.span, at + 1 < draft.lines.len()),
            AsmItem::Op(instr) => {
                at += match if plain { None } else { fuser.fuse(at) } {
                    Some(fused) => linker.fused(&fused, line.span),
                    None => {
                        linker.push(*instr, line.span);
                        1
                    }
                } - 1;
            }
        }
        at += 1;
    }
    linker.resolve(&draft.tables);
    let body = if linker.body == 0 { linker.buffers.code.len() as u32 } else { linker.body };
    // A run of equal instructions must not cross the end of the body (rule V13).
    let (before, routine) = buffers.code.split_at_mut(body as usize);
    run_together(before);
    run_together(routine);
    (buffers.places, buffers.variables) = (places, variables);
    Linked { body, need }
}

impl LinkBuffers {
    fn begin(&mut self, draft: &UnlinkedRoutine<'_>, plain: bool) {
        self.code.clear();
        self.spans.clear();
        self.text.clear();
        self.labels.clear();
        self.labels.resize(draft.n_labels as usize, UNKNOWN);
        if plain {
            return;
        }
        self.places.clear();
        self.places.resize(draft.n_labels as usize, UNKNOWN);
        // The positions of labels are needed in advance, because two labels at one position allow a fused jump.
        let mut n = 0;
        for line in &draft.lines {
            match line.plain {
                AsmItem::Label(label) => self.places[label as usize] = n,
                _ => n += 1,
            }
        }
        self.variables.read(draft);
    }
}

/// Marks runs of instructions with the same opcode, which the machine executes in one dispatch.
fn run_together(code: &mut [Instr]) {
    let mut following = 0;
    // Counts from the end, so that every instruction knows how many follow. Then a jump into the middle of a run is
    // correct, too.
    for at in (0..code.len()).rev() {
        let same = code.get(at + 1).is_some_and(|next| next.op == code[at].op);
        following = if same { (following + 1).min(form::MAX_MORE) } else { 0 };
        if Op::from_u8(code[at].op).is_some_and(form::can_run_together) {
            code[at].c |= following << form::MORE;
        }
    }
}

struct Linker<'b> {
    blob: &'b mut BlobBuilder,
    buffers: &'b mut LinkBuffers,
    body: u32,
}

impl Linker<'_> {
    fn push(&mut self, instr: Instr, span: Span) {
        let LinkBuffers { code, spans, text, .. } = &mut *self.buffers;
        // Inline text is in the cache line of its instruction. More of it would fill the cache with text.
        if text.len() > MAX_INLINE {
            let [offset, len] = self.blob.string(text);
            code.push(Instr::of(Op::Lit, &[offset]).with(Slot::C, len));
            text.clear();
        }
        let mut rest = &text[..];
        while let Some((piece, more)) = rest.split_at_checked(16).filter(|(_, more)| !more.is_empty()) {
            code.push(with_literal(Instr::new(Op::Print), piece));
            rest = more;
        }
        code.push(with_literal(instr, rest));
        spans.resize(code.len(), span);
        text.clear();
    }

    /// Pushes a fused instruction. Returns the number of items it replaces.
    fn fused(&mut self, fused: &Fused, span: Span) -> usize {
        let text = &fused.text;
        if text.len() > 16 {
            // The text is too long to be removed again, so the check becomes a separate instruction before it.
            if let Some(reach) = fused.reach {
                self.push(reach, span);
            }
            self.buffers.text.extend_from_slice(text);
            self.push(fused.instr, span);
            return fused.n_lines;
        }
        // Earlier text is printed in any case; only the field's own text is removed if the field is missing.
        let back = text.len() as u32;
        let mut instr = fused.instr;
        if back > 0 {
            let waits = self.buffers.text.len().saturating_sub(16 - text.len());
            let last = self.buffers.text.split_off(waits);
            self.flush(span);
            self.buffers.text.extend_from_slice(&last);
            self.buffers.text.extend_from_slice(text);
            let is_string = instr.op == Op::StringAt as u8;
            instr.c |= if is_string { back } else { back << form::BACK };
        }
        self.push(instr, span);
        fused.n_lines
    }

    /// Ends the body. A body is never empty. If code follows, an `End` instruction marks where the body ends.
    fn end_body(&mut self, span: Span, more: bool) {
        self.flush(span);
        // The machine ends a routine after its last instruction.
        // A jump may lead to this `End`; the end of the body would be a different instruction then.
        let named = self.buffers.labels.iter().any(|label| *label as usize == self.buffers.code.len());
        let code = &mut self.buffers.code;
        if code.len() > 1 && !named && code.pop_if(|last| *last == Instr::new(Op::End)).is_some() {
            self.buffers.spans.pop();
        }
        if self.buffers.code.is_empty() {
            self.push(Instr::new(Op::Print), span);
        }
        self.body = self.buffers.code.len() as u32;
        if more {
            self.push(Instr::new(Op::End), span);
        }
    }

    /// Pushes a `Print` for the waiting text, so that a jump target does not skip it.
    fn flush(&mut self, span: Span) {
        if !self.buffers.text.is_empty() {
            self.push(Instr::new(Op::Print), span);
        }
    }

    /// Replaces labels by instruction numbers, and table indices by offsets in the blob.
    fn resolve(&mut self, tables: &[UnlinkedTable<'_>]) {
        for at in 0..self.buffers.code.len() {
            let mut instr = self.buffers.code[at];
            let Some(op) = Op::from_u8(instr.op) else { continue };
            for (_, slot, kind) in op.info().operands {
                let value = instr.slot(*slot);
                let resolved = match kind {
                    OperandKind::Target => self.buffers.labels[value as usize],
                    OperandKind::Short if form::mode(instr.c) == form::FIELD => self.buffers.labels[value as usize],
                    // Tables are placed here and not when they are emitted: their targets are instruction numbers.
                    OperandKind::Table
                    | OperandKind::TextTable
                    | OperandKind::CaseTexts
                    | OperandKind::Labels
                    | OperandKind::Flags
                    | OperandKind::Lits
                    | OperandKind::Nibbles => self.table(&tables[value as usize]),
                    _ => continue,
                };
                instr = instr.with(*slot, resolved);
            }
            self.buffers.code[at] = instr;
        }
    }

    fn table(&mut self, draft: &UnlinkedTable<'_>) -> u32 {
        let blob = &mut *self.blob;
        let place = |label: &u32| self.buffers.labels[*label as usize];
        match draft {
            UnlinkedTable::Number(cases, default) => {
                let cases: Vec<_> = cases.iter().map(|(key, label)| (*key, place(label).into())).collect();
                let (kind, words) = table::number_table(&cases, place(default).into());
                blob.table(kind, &words)
            }
            UnlinkedTable::Texts(texts, default) => {
                let mut string = |text: &[u8]| {
                    let [offset, len] = blob.string(text);
                    table::pack_str(offset, len)
                };
                let default = string(default);
                let cases: Vec<_> = texts.iter().map(|(key, text)| (*key, string(text))).collect();
                let (kind, words) = table::number_table(&cases, default);
                blob.table(kind, &words)
            }
            UnlinkedTable::Labels(labels, default) => {
                let (kind, words) = table::number_table(labels, *default);
                blob.table(kind, &words)
            }
            UnlinkedTable::Text(cases, default) => {
                let cases: Vec<_> = cases
                    .iter()
                    .map(|(text, label)| {
                        let [offset, len] = blob.string(text);
                        table::TextCase { text, string: table::pack_str(offset, len), target: place(label) }
                    })
                    .collect();
                let (kind, words) = table::text_table(&cases, place(default));
                blob.table(kind, &words)
            }
            UnlinkedTable::Flags(entries) => {
                let mut words = Vec::with_capacity(entries.len() * 5);
                for (mask, field, yes, no) in entries {
                    let mut string = |text: &[u8]| {
                        let [offset, len] = blob.string(text);
                        table::pack_str(offset, len)
                    };
                    let soft = u64::from(yes.1) | u64::from(no.1) << 1;
                    words.extend([*mask, *field, string(yes.0), string(no.0), soft]);
                }
                blob.table(TableKind::Flags, &words)
            }
            UnlinkedTable::Lits(texts) => {
                let count = texts.len() as u64 - 1;
                let mut words = Vec::with_capacity(1 + texts.len() * 4);
                // Short texts take half of the space, so more of them fit the cache.
                if texts.iter().all(|text| text.len() <= 15) {
                    words.push(count);
                    texts.iter().for_each(|text| words.extend(packed::<2>(text)));
                } else {
                    words.push(count | table::LONG_TEXTS);
                    texts.iter().for_each(|text| words.extend(packed::<4>(text)));
                }
                blob.words(&words)
            }
            UnlinkedTable::Nibbles(nibbles) => {
                let head = nibbles.texts.len() as u64 | u64::from(nibbles.shift) << 8;
                let texts = [&nibbles.default].into_iter().chain(nibbles.texts.iter().flatten());
                let mut words = Vec::with_capacity(5 + nibbles.texts.len() * 64);
                words.push(head);
                texts.for_each(|text| words.extend(packed::<4>(text.as_bytes())));
                blob.words(&words)
            }
        }
    }
}

/// Short text in `WORDS` words: its bytes, zeros, and its length in the last byte.
fn packed<const WORDS: usize>(text: &[u8]) -> [u64; WORDS] {
    let mut bytes = [0; 32];
    bytes[..text.len()].copy_from_slice(text);
    bytes[WORDS * 8 - 1] = text.len() as u8;
    std::array::from_fn(|k| bytes[k * 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)))
}

fn with_literal(mut instr: Instr, text: &[u8]) -> Instr {
    instr.lit[..text.len()].copy_from_slice(text);
    instr.lit_len = text.len() as u8;
    instr
}

/// Fused instruction for a run of items.
struct Fused {
    instr: Instr,
    /// Text between the check for a field and its read.
    text: Vec<u8>,
    /// The check as an instruction of its own.
    reach: Option<Instr>,
    n_lines: usize,
}

/// Number at a fixed offset, as the items read so far describe it.
#[derive(Clone, Copy)]
struct FusedNumber {
    at: u32,
    width: u32,
    little: bool,
    mode: u32,
    short: u32,
    /// Bits of the field, counted from the least significant: first bit and count.
    low: u32,
    count: u32,
    signed: bool,
    /// Register that receives it.
    register: u32,
}

/// Number of items searched for another use of a register.
const AHEAD: usize = 64;

/// Facts about the registers of a routine.
#[derive(Debug, Default)]
struct Variables {
    /// First temporary register. A temporary is used once.
    first_temp: u32,
    /// Per variable: true if each value is only read in the basic block that wrote it.
    in_block: Vec<bool>,
    /// Per variable: the last basic block that wrote it, counted from 1.
    written: Vec<u32>,
}

impl Variables {
    fn read(&mut self, draft: &UnlinkedRoutine<'_>) {
        self.first_temp = draft.first_temp.into();
        self.in_block.clear();
        let below = |register: &u32| *register < draft.first_temp.into();
        let ops =
            || draft.lines.iter().filter_map(|line| if let AsmItem::Op(op) = &line.plain { Some(op) } else { None });
        // A callee may read any of them.
        let calls = ops().any(|instr| instr.op == Op::Call as u8);
        // In these cases no variable is known to be dead, so the list stays empty.
        if calls || !ops().any(|instr| registers(instr, OperandKind::Dst).any(|to| below(&to))) {
            return;
        }
        self.in_block.resize(draft.first_temp.into(), false);
        self.written.clear();
        self.written.resize(draft.first_temp.into(), 0);
        let mut out = Vec::new();
        let mut block = 1;
        for line in &draft.lines {
            let AsmItem::Op(instr) = &line.plain else {
                block += 1;
                continue;
            };
            let read = registers(instr, OperandKind::Src).filter(below);
            out.extend(read.filter(|register| self.written[*register as usize] != block));
            for register in registers(instr, OperandKind::Dst).filter(below) {
                self.written[register as usize] = block;
                self.in_block[register as usize] = true;
            }
        }
        out.into_iter().for_each(|register| self.in_block[register as usize] = false);
    }

    fn is_in_block(&self, register: u32) -> bool {
        self.in_block.get(register as usize).is_some_and(|in_block| *in_block)
    }
}

/// Finds runs of items that one fused instruction can replace.
struct Fuser<'d> {
    lines: &'d [AsmLine<'d>],
    variables: &'d Variables,
    /// Number of items before each label, not counting labels.
    places: &'d [u32],
    /// Event bytes that the routine needs: at least a window of 8 if it reads any.
    need: u32,
}

impl<'d> Fuser<'d> {
    fn op(&self, at: usize) -> Option<(Op, &'d Instr)> {
        match &self.lines.get(at)?.plain {
            AsmItem::Op(instr) => Some((Op::from_u8(instr.op)?, instr)),
            _ => None,
        }
    }

    /// True if the register's value is not read after item `at`.
    fn dead(&self, register: u32, at: usize) -> bool {
        // The reader of a temporary is the instruction that is about to be fused.
        if register >= self.variables.first_temp {
            return true;
        }
        // Another block may read it, and a wrong guess would drop a value.
        if !self.variables.is_in_block(register) {
            return false;
        }
        for line in self.lines[at + 1..].iter().take(AHEAD) {
            match &line.plain {
                AsmItem::Op(instr) if registers(instr, OperandKind::Src).any(|read| read == register) => return false,
                AsmItem::Op(instr) if registers(instr, OperandKind::Dst).any(|written| written == register) => {
                    return true;
                }
                AsmItem::Label(_) | AsmItem::BodyEnd => return true,
                AsmItem::Op(_) | AsmItem::Text(_) => {}
            }
        }
        // The search is bounded, because a long stanza would otherwise take quadratic time.
        self.lines.len() <= at + AHEAD
    }

    /// Finds the fused instruction for the items from `at` on.
    fn fuse(&self, at: usize) -> Option<Fused> {
        let (first, reach) = self.op(at)?;
        let deps = (first == Op::Reach).then_some(reach);
        let mut next = at;
        let mut text = Vec::new();
        if deps.is_some() {
            next += 1;
            while let Some(AsmLine { plain: AsmItem::Text(more), .. }) = self.lines.get(next) {
                text.extend_from_slice(more);
                next += 1;
            }
            if let Some((instr, n)) = self.find_string(next, reach) {
                return Some(Fused { instr, text, reach: deps.copied(), n_lines: next + n - at });
            }
        }
        if let Some(instr) = self.selector(next).filter(|_| deps.is_none()) {
            return Some(Fused { instr, text, reach: None, n_lines: 3 });
        }
        // Check, read, narrow and print become one instruction. Without fusion and inline text a run took 4.4 times as
        // long as code by hand, with them less than 1.5 times.
        let number = self.number(next, deps)?;
        let (instr, end) = self.used(number, next + 1)?;
        Some(Fused { instr, text, reach: deps.copied(), n_lines: end - at })
    }

    /// String that is checked for and printed.
    fn find_string(&self, at: usize, reach: &Instr) -> Option<(Instr, usize)> {
        let ((Op::PtrSet, set), (Op::TakeString, _)) = (self.op(at)?, self.op(at + 1)?) else { return None };
        // The check must be for exactly one byte: an empty string still has its NUL.
        let fits = set.c == 0 && set.b.checked_add(1) == Some(reach.b);
        fits.then(|| (Instr::of(Op::StringAt, &[set.b, 0, reach.d]), 2))
    }

    /// Short text field that selects a jump.
    fn selector(&self, at: usize) -> Option<Instr> {
        let [(Op::Mark, mark), (Op::Text, text), (Op::SwitchText, switch)] =
            [self.op(at)?, self.op(at + 1)?, self.op(at + 2)?]
        else {
            return None;
        };
        // Longer names are printed and looked up by the usual instructions.
        let fits = switch.b == mark.a.into() && (1..=16).contains(&text.c) && text.d == 0;
        fits.then(|| Instr::of(Op::SwitchTextAt, &[text.b, switch.c, text.c]))
    }

    /// Number that the item reads.
    fn number(&self, at: usize, deps: Option<&Instr>) -> Option<FusedNumber> {
        let (op, load) = self.op(at)?;
        let (little, mode) = match (op, deps) {
            (Op::Load, None) => (false, form::LOAD),
            (Op::LoadLe, None) => (true, form::LOAD),
            (Op::Word, None) => (false, form::WORD),
            (Op::Load, Some(reach)) if reach.b == load.b + load.c => (false, form::FIELD),
            (Op::LoadLe, Some(reach)) if reach.b == load.b + load.c => (true, form::FIELD),
            _ => return None,
        };
        let (at, width) = (load.b, load.c);
        // The form has room for a window offset of 16 bits, and the window must be inside the needed bytes.
        let fits = width <= 8 && at + width <= self.need && at <= u16::MAX.into();
        let short = deps.map_or(0, |reach| reach.d);
        fits.then_some(FusedNumber {
            at,
            width,
            little,
            mode,
            short,
            low: 0,
            count: width * 8,
            signed: false,
            register: load.a.into(),
        })
    }

    /// Fuses a number with the items from `at` on that use it. Returns the instruction and the index after them.
    fn used(&self, mut number: FusedNumber, mut at: usize) -> Option<(Instr, usize)> {
        loop {
            if let Some(found) = self.printed(&number, at) {
                return Some(found);
            }
            match self.narrowed(&number, at) {
                // Only printing knows the sign; a register gets the number zero-extended.
                Some(narrow) if !narrow.signed || self.printed(&narrow, at + 1).is_some() => {
                    (number, at) = (narrow, at + 1);
                }
                _ => break,
            }
        }
        Some((number.instr(Op::Get, self.need, |window| [number.register, window, 0]), at))
    }

    /// Applies the next item to the number, if it takes some of its bits or extends its sign.
    fn narrowed(&self, number: &FusedNumber, at: usize) -> Option<FusedNumber> {
        let (op, instr) = self.op(at)?;
        let into = u32::from(instr.a);
        // The register that the narrow value replaces must not be needed any more.
        let alone = into == number.register || self.dead(number.register, at);
        if instr.b != number.register || !alone || number.signed {
            return None;
        }
        let bits = match op {
            // A bit range of a bit range is a bit range, and the form only stores first position and count.
            Op::Bits if instr.c < number.count => (number.low + instr.c, instr.d.min(number.count - instr.c), false),
            Op::Sext if instr.c >= number.count => (number.low, number.count, instr.c == number.count),
            Op::Sext => (number.low, instr.c, true),
            _ => return None,
        };
        Some(FusedNumber { low: bits.0, count: bits.1, signed: bits.2, register: into, ..*number })
    }

    /// Fuses a number with its output. Returns the instruction and the index after the fused items.
    fn printed(&self, number: &FusedNumber, at: usize) -> Option<(Instr, usize)> {
        let (op, put) = self.op(at)?;
        let source = match op {
            Op::JumpEqual | Op::JumpDiffer => put.a.into(),
            _ => put.b,
        };
        if source != number.register {
            return None;
        }
        let plain = |op| Some(number.instr(op, self.need, |window| [0, window, 0]));
        let digits = |op, digits| Some(number.instr(op, self.need, |window| [digits, window, 0]));
        let full = |op, digits| {
            // A number with fewer bits than its digits need gets leading zeros, so it has no full form.
            if digits * 4 > number.count {
                return None;
            }
            let low = FusedNumber { count: digits * 4, ..*number };
            let instr = low.instr(op, self.need, |window| [digits, window, 0]);
            (instr.c & form::LEFT & 7 == 0).then_some(instr)
        };
        let texts = |op, table| Some(number.instr(op, self.need, |window| [window, table, 0]));
        if op == Op::PutHexC
            && !number.signed
            && let Some((label, with)) = self.op(at + 1)
            && with.b == number.register
            && self.dead(number.register, at + 1)
        {
            let both = match label {
                Op::SwitchLit => texts(Op::HexCLitAt, with.c),
                Op::PutCase => texts(Op::HexCCaseAt, with.c),
                Op::Nibbles if with.a == 0 => texts(Op::HexCNibblesAt, with.c),
                _ => None,
            };
            if let Some(instr) = both {
                return Some((instr, at + 2));
            }
        }
        // The fused instruction does not write the register, so no later instruction may read it.
        if !self.dead(number.register, at) {
            return None;
        }
        let jump = |op, value| {
            // A jump has one target: the path for a missing field must lead to the same place.
            let deps = number.mode == form::FIELD;
            let place = |label: u32| self.places.get(label as usize);
            let one_place = !deps || place(put.d) == place(number.short);
            one_place.then(|| number.instr(op, self.need, |window| [window, value, put.d]))
        };
        let instr = match op {
            Op::PutInt if number.signed || number.count == 64 => plain(Op::IntAt),
            Op::PutDec | Op::PutInt if !number.signed => plain(Op::DecAt),
            _ if number.signed => None,
            Op::PutHex if put.c <= 16 => full(Op::HexFullAt, put.c).or_else(|| digits(Op::HexAt, put.c)),
            Op::PutHexLow if put.c <= 16 => full(Op::HexLowFullAt, put.c).or_else(|| digits(Op::HexLowAt, put.c)),
            Op::PutHexC => plain(Op::HexCAt),
            Op::PutHexMin => plain(Op::HexMinAt),
            Op::PutOctC => plain(Op::OctCAt),
            Op::SwitchLit => texts(Op::LitAt, put.c),
            Op::SwitchLitHex => texts(Op::LitHexAt, put.c),
            Op::PutCase => texts(Op::CaseAt, put.c),
            Op::Nibbles if put.a == 0 => texts(Op::NibblesAt, put.c),
            Op::JumpZero => jump(Op::JumpEqualAt, 0),
            Op::JumpEqual => jump(Op::JumpEqualAt, put.b),
            Op::JumpDiffer => jump(Op::JumpDifferAt, put.b),
            _ => None,
        };
        Some((instr?, at + 1))
    }
}

impl FusedNumber {
    /// Instruction that reads the number from a window inside of the needed event bytes. `operands` maps the window's
    /// offset to the first three operands other than the form.
    fn instr(&self, op: Op, need: u32, operands: impl Fn(u32) -> [u32; 3]) -> Instr {
        let window = self.at.min(need - 8);
        let before = (self.at - window) * 8;
        let left = if self.little {
            64 - before - self.low - self.count
        } else {
            before + self.width * 8 - self.low - self.count
        };
        let order = if self.little { form::LITTLE } else { 0 };
        let end = self.at - window + self.width;
        let form = left | (64 - self.count) << form::RIGHT | order | self.mode << form::MODE | end << form::END;
        let [a, b, d] = operands(window);
        let d = if d == 0 && self.mode == form::FIELD { self.short } else { d };
        Instr::new(op).with(Slot::A, a).with(Slot::B, b).with(Slot::C, form).with(Slot::D, d)
    }
}

/// Registers that an instruction reads ([`OperandKind::Src`]) or writes ([`OperandKind::Dst`]), including marks.
fn registers(instr: &Instr, kind: OperandKind) -> impl Iterator<Item = u32> {
    let operands = Op::from_u8(instr.op).map_or(&[][..], |op| op.info().operands);
    let mark = if kind == OperandKind::Src { OperandKind::Mark } else { OperandKind::NewMark };
    // A loop also reads its own counter.
    let counts = kind == OperandKind::Src && instr.op == Op::LoopNext as u8;
    let wanted = move |of: OperandKind| of == kind || of == mark || counts;
    operands.iter().filter(move |(_, _, of)| wanted(*of)).map(|(_, slot, _)| instr.slot(*slot))
}
