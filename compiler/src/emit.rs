//! Emits plain bytecode from IR, once per environment.
//!
//! The emitter resolves two things at compile time where it can. The *data pointer*: while its position is known, reads
//! use fixed offsets, and the machine's pointer is only set when the position becomes unknown. The *soft blank*: while
//! it is known if one is due, it becomes part of the following text or disappears; otherwise it is printed and removed
//! again if needed.

use crate::ir::*;
use crate::number::Number;
use foldhash::{HashMap, HashSet, HashSetExt};
use std::borrow::Cow;
use std::cell::Cell;
use tfbc_grammar::Span;
use tfbc_grammar::trcfmt::ast::{BinaryOp, Move, Size};
use tfbc_vm::{Env, EnvText, EnvValue, Instr, Op, Slot as At, num};

/// Item of a routine before linking. Texts borrow from the IR if possible.
#[derive(Debug, Clone)]
pub(crate) enum AsmItem<'p> {
    /// Prints text.
    Text(Cow<'p, [u8]>),
    /// Plain instruction. Jump targets are labels, tables are indices of [`UnlinkedRoutine::tables`].
    Op(Instr),
    /// Target of jumps.
    Label(u32),
    /// End of the body. The code after it is only reached by jumps.
    BodyEnd,
}

/// Item with its source position.
#[derive(Debug, Clone)]
pub(crate) struct AsmLine<'p> {
    pub plain: AsmItem<'p>,
    pub span: Span,
}

/// Table before linking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnlinkedTable<'p> {
    Number(Vec<(u64, u32)>, u32),
    Text(Vec<(&'p [u8], u32)>, u32),
    Flags(Vec<(u64, u64, FlagEnd<'p>, FlagEnd<'p>)>),
    /// Texts by number, and the default.
    Texts(Vec<(u64, &'p [u8])>, &'p [u8]),
    /// Labels plus 1 by number, and the default; 0 is none.
    Labels(Vec<(u64, u64)>, u64),
    /// Texts by index; the default is last.
    Lits(Vec<&'p [u8]>),
    Nibbles(Nibbles),
}

/// Texts by the values of nibbles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nibbles {
    /// Texts per nibble, from the lowest tested nibble on.
    pub texts: Vec<[ShortText; 16]>,
    /// Bit offset of the lowest tested nibble.
    pub shift: u32,
    /// Text printed if no nibble prints any.
    pub default: ShortText,
}

/// Text of up to 31 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ShortText {
    bytes: [u8; 31],
    len: u8,
}

impl ShortText {
    /// Appends to the text; returns false if it becomes too long.
    fn push(&mut self, more: &[u8]) -> bool {
        let room = self.bytes.get_mut(usize::from(self.len)..usize::from(self.len) + more.len());
        let fits = room.is_some();
        if let Some(room) = room {
            room.copy_from_slice(more);
            self.len += more.len() as u8;
        }
        fits
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Text of one side of a BITFLAGS entry, and true if a soft blank follows it.
pub(crate) type FlagEnd<'p> = (&'p [u8], bool);

/// Routine in plain bytecode.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnlinkedRoutine<'p> {
    pub lines: Vec<AsmLine<'p>>,
    pub tables: Vec<UnlinkedTable<'p>>,
    /// Number of labels.
    pub n_labels: u32,
    /// Environment properties the code depends on.
    pub deps: EnvDeps,
    /// Event bytes that its fixed reads need.
    pub need: u32,
    /// First temporary register. A temporary is used once.
    pub first_temp: u16,
    /// One past its last register.
    pub end: usize,
}

/// Set of environment properties that code depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EnvDeps(u8);

impl EnvDeps {
    /// Word size.
    const WORD: EnvDeps = EnvDeps(1);
    /// Generic hook or not.
    const GENERIC: EnvDeps = EnvDeps(2);
    /// Offset of the event's own data.
    const START: EnvDeps = EnvDeps(4);
    /// Byte order.
    const ORDER: EnvDeps = EnvDeps(8);
    /// Simple or combine record.
    const FORM: EnvDeps = EnvDeps(16);

    /// Union of both sets.
    pub fn and(self, other: EnvDeps) -> EnvDeps {
        EnvDeps(self.0 | other.0)
    }

    /// True if the code is the same in both environments, because they agree in all these properties.
    pub fn same_code_for(self, one: Env, other: Env) -> bool {
        let same = |what: EnvDeps, same: bool| self.0 & what.0 == 0 || same;
        same(EnvDeps::WORD, one.word() == other.word())
            && same(EnvDeps::GENERIC, one.generic() == other.generic())
            && same(EnvDeps::START, data_start(one) == data_start(other))
            && same(EnvDeps::ORDER, one.little_endian() == other.little_endian())
            && same(EnvDeps::FORM, one.combine() == other.combine())
    }
}

/// Built routine as its callers see it. `first` is the first register of its variables, `end` one past its last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Callee {
    pub routine: u32,
    pub first: u16,
    pub end: usize,
    pub need: u32,
    pub deps: EnvDeps,
}

/// Built routines of one stanza or function, by environment.
pub(crate) type Callees = [Callee; 4];

/// Context of the emitter: the program and the routines built so far.
pub(crate) struct EmitContext<'p, 'c> {
    pub program: &'p IrProgram,
    pub env: Env,
    pub functions: &'c HashMap<usize, Callees>,
    pub stanzas: &'c HashMap<u16, Callees>,
    /// Per function: true if it and its callees do not use the data pointer.
    pub preserves_pointer: &'c [bool],
}

/// Calling convention and registers of a routine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallingConvention {
    /// True if other routines call it.
    pub called: bool,
    /// True if the base pointer is known to be 0.
    pub base_is_zero: bool,
    /// Number of its own variables.
    pub n_locals: u16,
    /// Its first register.
    pub first: u16,
    pub lower_hex: bool,
    /// True if it stores fields instead of printing text.
    pub stores_fields: bool,
}

/// Number of registers for the row that the templates of one event share.
pub(crate) const ROW: u16 = 255;

/// Limit on the end of fixed reads; later bytes are read at the data pointer.
const MAX_FIXED: u64 = 1 << 16;

/// Limit of the data pointer in bits: it saturates at 2^31 bytes.
const MAX_BITS: u64 = 1 << 34;

/// Limit on the keys of a switch that becomes an indexed list of short texts.
const MAX_LITS: u64 = 256;

/// Facts about the data pointer, known at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pointer {
    /// Known number of bits after the start of the event's own data; the machine's pointer is not set yet.
    Start(u64),
    /// Known absolute bit; the machine's pointer is not set yet.
    At(u64),
    /// The machine's pointer is valid.
    Live,
}

/// State of the soft blank, if known at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SoftBlank {
    /// Not due.
    No,
    /// Due, but not printed.
    Due,
    /// May have been printed and may have to be removed again.
    Maybe,
}

struct Emitter<'p, 'c> {
    context: &'c EmitContext<'p, 'c>,
    shape: CallingConvention,
    deps: Cell<EnvDeps>,
    lines: Vec<AsmLine<'p>>,
    /// Code after the body: rare paths, reached by jumps.
    tails: Vec<AsmLine<'p>>,
    tables: Vec<UnlinkedTable<'p>>,
    pointer: Pointer,
    soft: SoftBlank,
    /// True if the event has ended here.
    dead: bool,
    /// Label at which a failed demand continues.
    short: Option<u32>,
    /// Label at which the event ends, if code follows its end.
    exit: Option<u32>,
    need: u32,
    next_temp: usize,
    end: usize,
    n_labels: u32,
    span: Span,
}

/// Offset of the event's own data, in bytes.
const fn data_start(env: Env) -> u64 {
    match env {
        Env::Hook32 => 2,
        Env::Generic32 => 4,
        Env::Hook64 => 6,
        Env::Generic64 => 8,
        Env::SimpleLittle | Env::WideLittle | Env::SimpleBig | Env::WideBig => 0,
    }
}

/// Emits one routine: heading, then body. `lines` is an empty buffer.
pub(crate) fn emit<'p>(
    context: &EmitContext<'p, '_>,
    shape: CallingConvention,
    heading: &'p Block,
    body: &'p Block,
    lines: Vec<AsmLine<'p>>,
) -> UnlinkedRoutine<'p> {
    let first_temp = usize::from(shape.first + shape.n_locals);
    let mut emitter = Emitter {
        context,
        shape,
        deps: Cell::default(),
        lines,
        tails: Vec::new(),
        tables: Vec::new(),
        pointer: if shape.called { Pointer::Live } else { Pointer::Start(0) },
        soft: if shape.called { SoftBlank::Maybe } else { SoftBlank::No },
        dead: false,
        short: None,
        exit: None,
        need: 0,
        next_temp: first_temp,
        end: first_temp,
        n_labels: 0,
        span: Span::default(),
    };
    // The row needs no code: the machine zeroes it before the event (`zeroed` of the routine's row).
    if !shape.called && !shape.stores_fields {
        // Clears the variables of a stanza. The caller sets the variables of a function.
        for local in 0..shape.n_locals {
            emitter.constant(shape.first + local, 0);
        }
    }
    emitter.block(heading);
    emitter.block(body);
    emitter.finish();
    UnlinkedRoutine {
        lines: emitter.lines,
        tables: emitter.tables,
        n_labels: emitter.n_labels,
        deps: emitter.deps.get(),
        need: emitter.need,
        first_temp: first_temp as u16,
        end: emitter.end,
    }
}

impl<'p> Emitter<'p, '_> {
    /// Returns the environment and records the property that the code depends on.
    fn depend_on(&self, what: EnvDeps) -> Env {
        self.deps.set(self.deps.get().and(what));
        self.context.env
    }

    fn word(&self) -> u8 {
        self.depend_on(EnvDeps::WORD).word()
    }

    fn generic(&self) -> bool {
        self.depend_on(EnvDeps::GENERIC).generic()
    }

    /// Position of the data pointer in bits, if it is known.
    fn bits(&self) -> Option<u64> {
        match self.pointer {
            // Only now does the code depend on where the data starts: routines that never ask share one copy for all
            // hooks.
            Pointer::Start(bits) => Some((data_start(self.depend_on(EnvDeps::START)) * 8 + bits).min(MAX_BITS)),
            Pointer::At(bits) => Some(bits),
            Pointer::Live => None,
        }
    }

    /// True if both pointers are at the same position.
    fn one_place(&self, one: Pointer, other: Pointer) -> bool {
        match (one, other) {
            (Pointer::Start(bits), Pointer::At(at)) | (Pointer::At(at), Pointer::Start(bits)) => {
                data_start(self.depend_on(EnvDeps::START)) * 8 + bits == at
            }
            _ => one == other,
        }
    }

    fn bytes(&self, size: Size) -> u32 {
        match size {
            Size::Bytes(n) => n.into(),
            Size::Word => self.word().into(),
        }
    }

    fn push(&mut self, plain: AsmItem<'p>) {
        self.lines.push(AsmLine { plain, span: self.span });
    }

    fn op(&mut self, op: Op, operands: &[u32]) {
        self.push(AsmItem::Op(Instr::of(op, operands)));
    }

    fn label(&mut self) -> u32 {
        self.n_labels += 1;
        self.n_labels - 1
    }

    fn table(&mut self, draft: UnlinkedTable<'p>) -> u32 {
        self.tables.push(draft);
        self.tables.len() as u32 - 1
    }

    fn temp(&mut self) -> u16 {
        let temp = self.next_temp;
        self.next_temp += 1;
        self.end = self.end.max(self.next_temp);
        // Too many registers are an error of the routine (C17), found when it is complete; until then the number only
        // must not wrap.
        temp.min(u16::MAX.into()) as u16
    }

    fn slot(&self, slot: VarSlot) -> u16 {
        match slot {
            VarSlot::Row(index) => index,
            VarSlot::Local(index) => self.shape.first + index,
        }
    }

    fn constant(&mut self, dst: u16, value: u64) {
        let instr = Instr::of(Op::Const, &[dst.into(), value as u32]).with(At::C, (value >> 32) as u32);
        self.push(AsmItem::Op(instr));
    }

    fn finish(&mut self) {
        if self.shape.called {
            // A caller knows nothing of its callee, so both agree on one state: a valid pointer, a blank that is
            // printed.
            self.reset_line_state();
            self.op(Op::Ret, &[]);
        } else {
            self.end_line();
            self.push(AsmItem::BodyEnd);
            self.lines.append(&mut self.tails);
        }
    }

    /// Brings the machine's pointer and blank into the state that callers and callees expect.
    fn reset_line_state(&mut self) {
        self.go_live();
        self.print_soft_blank();
    }

    fn go_live(&mut self) {
        if let Some(bits) = self.bits() {
            self.op(Op::PtrSet, &[(bits / 8) as u32, (bits % 8) as u32]);
            self.pointer = Pointer::Live;
        }
    }

    fn print_soft_blank(&mut self) {
        // Printed, but with its position noted, because the next text may still remove it.
        if self.soft == SoftBlank::Due {
            self.op(Op::Soft, &[]);
            self.soft = SoftBlank::Maybe;
        }
    }

    /// Drops a pending soft blank before a line end, a tab or the end of the event.
    fn end_line(&mut self) {
        if self.soft == SoftBlank::Maybe {
            self.op(Op::SoftDrop, &[]);
        }
        self.soft = SoftBlank::No;
    }

    /// Emits template text; not empty.
    fn text(&mut self, text: &'p [u8]) {
        // Note 1 in docs/readings.md: text that begins with a blank replaces the soft blank.
        match (self.soft, begins_blank(text)) {
            (SoftBlank::Due, false) => self.push(BLANK),
            (SoftBlank::Maybe, true) => self.op(Op::SoftDrop, &[]),
            _ => {}
        }
        self.push(AsmItem::Text(Cow::Borrowed(text)));
        self.soft = SoftBlank::No;
    }

    /// Prepares for output of at least one byte.
    fn before_some(&mut self) {
        if self.soft == SoftBlank::Due {
            self.push(BLANK);
        }
        self.soft = SoftBlank::No;
    }

    /// Prepares for output that may be empty, so that a soft blank may still be pending after it.
    fn before_maybe(&mut self) {
        // An empty output must leave the blank removable, so it cannot become part of a text.
        self.print_soft_blank();
    }

    fn block(&mut self, block: &'p Block) {
        for node in block {
            // Temporaries live within one node. They are given back, so that a long stanza needs few registers.
            let (outer, temps) = (self.span, self.next_temp);
            self.span = node.span;
            self.inst(&node.inst);
            self.next_temp = temps;
            self.span = outer;
        }
    }

    fn inst(&mut self, inst: &'p Inst) {
        match inst {
            Inst::Text(text) => self.text(text),
            // No code yet: most blanks become the first byte of the text that follows.
            Inst::Soft => self.soft = SoftBlank::Due,
            // A write that nothing reads: coverage observes it, and no text can depend on it.
            Inst::Probe(point) => self.op(Op::Const, &[PROBE_REGISTER, *point]),
            Inst::Newline => {
                self.end_line();
                self.op(Op::Newline, &[]);
            }
            Inst::Tab => {
                self.end_line();
                self.op(Op::Tab, &[]);
            }
            Inst::Move(step) => self.step(*step),
            Inst::Put(value, how) => self.put(value, *how),
            Inst::Ascii { len, width } => self.ascii(*len, *width),
            Inst::Counted(size) => {
                self.before_maybe();
                self.go_live();
                self.op(Op::TakeCounted, &[self.bytes(*size)]);
            }
            Inst::CountedBy(value) => {
                self.before_maybe();
                let src = self.eval(value);
                self.go_live();
                self.op(Op::TextBy, &[src.into()]);
            }
            Inst::HexBytes(n) => self.hex_bytes(*n),
            Inst::Name(text) => {
                // Of these texts only the trace id is never empty.
                if *text == EnvText::TraceId {
                    self.before_some();
                } else {
                    self.before_maybe();
                }
                self.op(Op::PutName, &[*text as u32]);
            }
            Inst::String { print } => {
                self.before_maybe();
                self.go_live();
                self.op(if *print { Op::TakeString } else { Op::PassString }, &[]);
            }
            Inst::Escaped(len) => {
                self.before_maybe();
                self.go_live();
                self.op(Op::TakeEscaped, &[*len]);
            }
            Inst::Words(count) => {
                self.before_some();
                self.go_live();
                self.op(Op::TakeWords, &[*count]);
            }
            Inst::NameText { spare } => {
                self.before_maybe();
                self.go_live();
                self.op(Op::TakeName, &[(*spare).into()]);
            }
            Inst::Cut => self.op(Op::Cut, &[]),
            Inst::Guarded(node) => self.guarded(&node.body, &node.short),
            Inst::Demand(bytes) => self.demand(*bytes),
            // Both forms are known at compile time, so a record runs no test for its form.
            Inst::ByForm(node) => {
                self.block(if self.depend_on(EnvDeps::FORM).combine() { &node.wide } else { &node.simple });
            }
            Inst::If(node) => self.choose(node),
            Inst::FlagList(flags) => {
                let src = self.eval(&flags.value);
                self.print_soft_blank();
                let table = self.flag_table(&flags.entries);
                self.op(Op::FlagsList, &[src.into(), table]);
            }
            Inst::Assign(slot, value) => {
                let dst = self.slot(*slot);
                self.eval_to(dst, value);
            }
            Inst::SetPointer(value) => self.set_pointer(value),
            Inst::SetBase(value) => {
                let src = self.eval(value);
                self.op(Op::BaseTo, &[src.into()]);
            }
            Inst::Switch(switch) => self.switch(switch),
            Inst::Loop(node) => self.repeat(node),
            Inst::Flags(flags) => self.flags(flags),
            // The graph has no cycles (C04), and callees are built first, so the entry exists.
            Inst::CallStanza(id) => {
                let callee = self.context.stanzas[id][self.context.env.index()];
                self.reset_line_state();
                self.call(callee);
                // The callee may have moved the pointer: subroutines continue where their caller is, and the reverse.
                self.pointer = Pointer::Live;
            }
            Inst::CallFunction { function, arguments } => self.call_function(*function, arguments),
            Inst::TimerStart(pair) => {
                // Evaluated in source order, because a code in an argument moves the pointer.
                let [first, second] = pair.each_ref().map(|value| self.eval(value));
                self.op(Op::TimerStart, &[first.into(), second.into()]);
            }
            Inst::TimerEnd(pair) => {
                self.before_maybe();
                let [first, second] = pair.each_ref().map(|value| self.eval(value));
                self.op(Op::TimerEnd, &[first.into(), second.into()]);
            }
            Inst::Error => {
                self.before_some();
                self.op(Op::Error, &[]);
            }
            Inst::Stop => self.op(Op::Stop, &[]),
            Inst::Break => {
                // The event ends here, so a blank that was printed has no text after it.
                if self.soft == SoftBlank::Maybe {
                    self.op(Op::SoftDrop, &[]);
                }
                match self.exit {
                    Some(exit) => {
                        let pointer = self.pointer;
                        self.go_live();
                        self.op(Op::Jump, &[exit]);
                        self.pointer = pointer;
                    }
                    // Ends the event, not only this routine: `$BREAK` in a subroutine ends its callers too.
                    None => self.op(Op::End, &[]),
                }
                self.dead = true;
            }
            // Drops all text before it, so a pending blank does not matter.
            Inst::Skip => {
                self.op(Op::Skip, &[]);
                self.dead = true;
            }
            Inst::Field(node) => self.field(node),
        }
    }

    fn field(&mut self, inst: &'p FieldInst) {
        match inst {
            FieldInst::Whole { n_cells, body, last } => {
                self.op(Op::FieldRow, &[(*n_cells).into()]);
                if last.is_empty() {
                    return self.block(body);
                }
                let exit = self.label();
                self.exit = Some(exit);
                self.block(body);
                self.go_live();
                self.exit = None;
                self.push(AsmItem::Label(exit));
                self.op(Op::FieldTop, &[]);
                (self.pointer, self.dead) = (Pointer::Live, false);
                self.block(last);
            }
            FieldInst::Put { cell, value } => self.store(Op::FieldPut, *cell, value, &[]),
            FieldInst::Text { cell, body, keep, some } => {
                let mark = self.printed(body);
                self.op(Op::FieldText, &[(*cell).into(), mark, (*keep).into(), (*some).into()]);
            }
            FieldInst::Append { cell, body } => {
                let mark = self.printed(body);
                self.op(Op::FieldAppend, &[(*cell).into(), mark]);
            }
            FieldInst::Begin { cell, count } => self.store(Op::FieldBegin, *cell, count, &[]),
            FieldInst::Byte { cell, value } => self.store(Op::FieldByte, *cell, value, &[]),
            FieldInst::Bytes { cell, width } => {
                self.go_live();
                self.op(Op::FieldBytes, &[(*cell).into(), (*width).into()]);
            }
            FieldInst::Wide { cell, value, width } => self.store(Op::FieldWide, *cell, value, &[(*width).into()]),
            FieldInst::Label { cell, label, weak } => {
                self.op(Op::FieldLabel, &[(*cell).into(), *label, (*weak).into()]);
            }
            FieldInst::Cases(cases) => self.field_cases(cases),
            FieldInst::Errno { cell, value, size, weak } => {
                let width = self.bytes(*size);
                self.store(Op::FieldErrno, *cell, value, &[width, (*weak).into()]);
            }
            FieldInst::Path { cell, value, weak } => self.store(Op::FieldPath, *cell, value, &[(*weak).into()]),
            FieldInst::Flags { cell, flags } => {
                let table = self.flag_table(&flags.entries);
                self.store(Op::FieldFlags, *cell, &flags.value, &[table]);
            }
            FieldInst::List { cell, count, n_members } => {
                self.store(Op::FieldList, *cell, count, &[(*n_members).into()]);
            }
            FieldInst::Item => self.op(Op::FieldItem, &[]),
            FieldInst::End => self.op(Op::FieldEnd, &[]),
            FieldInst::Timer { cell, pair } => {
                let [first, second] = pair.each_ref().map(|value| self.eval(value));
                self.op(Op::FieldTimer, &[(*cell).into(), first.into(), second.into()]);
            }
            FieldInst::Call => self.op(Op::FieldCall, &[]),
            FieldInst::Abort => {
                self.op(Op::End, &[]);
                self.dead = true;
            }
        }
    }

    fn field_cases(&mut self, cases: &'p LabelCases) {
        let LabelCases { cell, weak, value, width, keys, labels, default } = cases;
        let keys = self.case_keys(*width, keys);
        let constant = self.fold(value);
        if constant.is_some() || keys.is_empty() {
            let found = keys.iter().find(|(key, _)| constant == Some(*key)).map(|(_, body)| *body);
            self.eval(value);
            if let Some(label) = found.or(*default).and_then(|body| labels[body]) {
                self.op(Op::FieldLabel, &[(*cell).into(), label, (*weak).into()]);
            }
            return;
        }
        let target = |body: usize| labels[body].map_or(0, |label| u64::from(label) + 1);
        let labels = keys.into_iter().map(|(key, body)| (key, target(body))).collect();
        let table = self.table(UnlinkedTable::Labels(labels, default.map_or(0, target)));
        self.store(Op::FieldCase, *cell, value, &[table, (*weak).into()]);
    }

    /// Emits an instruction that stores a value in a cell.
    fn store(&mut self, op: Op, cell: u16, value: &'p Value, more: &[u32]) {
        let src = self.eval(value);
        let mut operands = [cell.into(), src.into(), 0, 0];
        operands[2..2 + more.len()].copy_from_slice(more);
        self.op(op, &operands[..2 + more.len()]);
    }

    /// Emits a block that prints, after a mark. Returns the mark's register.
    fn printed(&mut self, body: &'p Block) -> u32 {
        let mark = self.temp();
        // Prints to the text buffer, after a mark, so that a field's text is printed by the same code as a report's.
        self.op(Op::Mark, &[mark.into()]);
        self.block(body);
        mark.into()
    }

    /// Emits a block with a fallback for failed demands. Only records have these, and they are never called.
    fn guarded(&mut self, body: &'p Block, short: &'p Block) {
        // Body and fallback end at byte 0 of the payload with their blank printed, so the code after them is the same
        // for both.
        let (leave, end) = (self.label(), self.label());
        self.print_soft_blank();
        let (soft, dead) = (self.soft, self.dead);
        let outer = self.short.replace(leave);
        self.block(body);
        self.print_soft_blank();
        self.short = outer;
        let body_state = (self.soft, self.dead);
        (self.pointer, self.soft, self.dead) = (Pointer::At(0), soft, dead);
        if short.is_empty() {
            self.push(AsmItem::Label(leave));
        } else {
            // The fallback is rare, so it is placed after the body: the common path needs no jump over it.
            let body = std::mem::take(&mut self.lines);
            self.push(AsmItem::Label(leave));
            self.block(short);
            self.print_soft_blank();
            if !self.dead {
                self.op(Op::Back, &[end]);
            }
            self.tails.append(&mut self.lines);
            self.lines = body;
        }
        self.push(AsmItem::Label(end));
        let soft = if self.soft == body_state.0 { self.soft } else { SoftBlank::Maybe };
        (self.pointer, self.soft, self.dead) = (Pointer::At(0), soft, self.dead && body_state.1);
    }

    /// Emits a check for `bytes` bytes after the pointer, which jumps to the fallback.
    fn demand(&mut self, bytes: u64) {
        let Some(short) = self.short else { return };
        let bytes = bytes.min(u32::MAX.into());
        if let Some(bits) = self.bits() {
            let end = bits.div_ceil(8) + bytes;
            // A fixed end is compared with the length alone; the pointer need not be set for it.
            if self.shape.base_is_zero && end <= MAX_FIXED {
                return self.op(Op::Reach, &[end as u32, short]);
            }
            self.go_live();
        }
        self.op(Op::TakeReach, &[bytes as u32, short]);
    }

    fn choose(&mut self, If { on, then, otherwise }: &'p If) {
        // The environment decides many conditions, such as those on `$HOOKENV`: then only one block is emitted.
        if let Some(value) = self.fold(on) {
            return self.block(if value != 0 { then } else { otherwise });
        }
        // Flags with a text for "none of them" become one table instead of two passes over the flags.
        if let (Value::AnyFlag(_), [Node { inst: Inst::Flags(flags), .. }], [otherwise]) =
            (on, &then[..], &otherwise[..])
            && let Inst::Text(default) = &otherwise.inst
            && self.nibble_flags(flags, default)
        {
            return;
        }
        // The soft blank is printed before the jump and at the end of both blocks, so that both leave the same state.
        let (no, end) = (self.label(), self.label());
        let jump = self.unless(on, no);
        self.print_soft_blank();
        self.push(AsmItem::Op(jump));
        let before = (self.pointer, self.soft, self.dead);
        let outer = std::mem::take(&mut self.lines);
        self.block(then);
        self.print_soft_blank();
        let yes = (std::mem::take(&mut self.lines), self.pointer, self.soft, self.dead);
        (self.pointer, self.soft, self.dead) = before;
        self.block(otherwise);
        self.print_soft_blank();
        let mut other = std::mem::replace(&mut self.lines, outer);
        // If both blocks end at the same constant offset, later reads stay at fixed offsets. Otherwise the machine
        // keeps the pointer from here on.
        let same = self.one_place(yes.1, self.pointer) || yes.3 || self.dead;
        let pointer = if yes.3 { self.pointer } else { yes.1 };
        let (no_pointer, no_soft, no_dead) = (self.pointer, self.soft, self.dead);
        self.lines.extend(yes.0);
        if !same {
            self.pointer = yes.1;
            self.go_live();
        }
        if !other.is_empty() || (!same && no_pointer != Pointer::Live) {
            self.op(Op::Jump, &[end]);
        }
        self.push(AsmItem::Label(no));
        self.lines.append(&mut other);
        if !same {
            self.pointer = no_pointer;
            self.go_live();
        }
        self.push(AsmItem::Label(end));
        self.pointer = if same { pointer } else { Pointer::Live };
        self.soft = if yes.2 == no_soft { no_soft } else { SoftBlank::Maybe };
        self.dead = yes.3 && no_dead;
    }

    /// Builds a jump to `no` if the value is 0.
    fn unless(&mut self, on: &'p Value, no: u32) -> Instr {
        // Comparisons with a constant are most conditions; they become one instruction instead of three.
        if let Value::Compare { equal, left, right } = on
            && let Some(Ok(right)) = self.fold(right).map(u32::try_from)
        {
            let src = self.eval(left);
            let op = if *equal { Op::JumpDiffer } else { Op::JumpEqual };
            return Instr::of(op, &[src.into(), right, no]);
        }
        let src = self.eval(on);
        Instr::of(Op::JumpZero, &[src.into(), no])
    }

    fn flag_table(&mut self, entries: &'p [Flag]) -> u32 {
        let end = |text: &'p FlagText| (&text.text[..], text.soft);
        let rows = entries.iter().map(|entry| (entry.mask, entry.field, end(&entry.yes), end(&entry.no)));
        self.table(UnlinkedTable::Flags(rows.collect()))
    }

    fn step(&mut self, step: Move) {
        let bits = |bytes: u32, bits: u32| (u64::from(bytes) * 8 + u64::from(bits)).min(MAX_BITS);
        // Moves of a known pointer cost nothing at run time: they change the offset of the next read.
        match (step, self.pointer) {
            (Move::Goto { bytes, bits: rest }, _) => self.pointer = Pointer::At(bits(bytes, rest)),
            (Move::Word { words }, _) => {
                let at = u64::from(words) * u64::from(self.word()) * 8;
                self.pointer = Pointer::At(at.min(MAX_BITS));
            }
            (Move::Omit { bytes, bits }, Pointer::Live) => self.op(Op::PtrAdd, &[bytes, bits]),
            // `O2` before the data is the usual first code. It stays relative to the start, which is not known yet.
            (Move::Omit { bytes, bits: rest }, Pointer::Start(at)) if at + bits(bytes, rest) < MAX_BITS / 2 => {
                self.pointer = Pointer::Start(at + bits(bytes, rest));
            }
            (Move::Omit { bytes, bits: rest }, _) => self.move_by(|at| (at + bits(bytes, rest)).min(MAX_BITS)),
            (Move::Reverse { bytes: 0 }, Pointer::Live) => self.op(Op::PtrFloor, &[]),
            (Move::Reverse { bytes: 0 }, _) => self.move_by(|at| at & !7),
            (Move::Reverse { bytes }, Pointer::Live) => self.op(Op::PtrBack, &[bytes]),
            (Move::Reverse { bytes }, _) => self.move_by(|at| at.saturating_sub(u64::from(bytes) * 8)),
        }
    }

    /// Moves a pointer with a known position.
    fn move_by(&mut self, to: impl FnOnce(u64) -> u64) {
        if let Some(at) = self.bits() {
            self.pointer = Pointer::At(to(at));
        }
    }

    /// Byte offset of a read of `len` bytes, if it is fixed; moves the pointer past it.
    fn fixed(&mut self, len: u64) -> Option<u32> {
        let at = self.bits()?.div_ceil(8);
        // A hostile `G` of two gigabytes would make the routine need that many bytes of every event.
        if !self.shape.base_is_zero || at + len > MAX_FIXED {
            self.go_live();
            return None;
        }
        self.pointer = Pointer::At((at + len) * 8);
        Some(at as u32)
    }

    /// Byte offset of the next `len` bytes if it is fixed. The event must then contain all of these bytes.
    fn needed(&mut self, len: u64) -> Option<u32> {
        let at = self.fixed(len)?;
        // The machine compares the event's length with the need once, and then reads without checks.
        self.need = self.need.max(at + len as u32);
        Some(at)
    }

    fn read(&mut self, dst: u16, field: EventField) {
        match field {
            EventField::Bytes { size, signed } => {
                let n = self.bytes(size);
                // Only QNX records can be little-endian; AIX writes big-endian on every machine.
                let little = self.depend_on(EnvDeps::ORDER).little_endian();
                match self.needed(n.into()) {
                    Some(at) => self.op(if little { Op::LoadLe } else { Op::Load }, &[dst.into(), at, n]),
                    None => self.op(if little { Op::TakeLe } else { Op::Take }, &[dst.into(), n]),
                }
                // Values are 64 bits everywhere, so the sign is extended at once.
                if signed && n < 8 {
                    self.op(Op::Sext, &[dst.into(), dst.into(), n * 8]);
                }
            }
            EventField::Bits(count) => self.read_bits(dst, count.into()),
        }
    }

    fn read_bits(&mut self, dst: u16, count: u64) {
        if let Some(bits) = self.bits() {
            if self.shape.base_is_zero && bits + count <= MAX_FIXED * 8 {
                self.need = self.need.max((bits + count).div_ceil(8) as u32);
                self.pointer = Pointer::At(bits + count);
                return self.op(Op::LoadBits, &[dst.into(), bits as u32, count as u32]);
            }
            self.go_live();
        }
        self.op(Op::TakeBits, &[dst.into(), count as u32]);
    }

    fn ascii(&mut self, len: u32, width: u32) {
        if width > 0 {
            self.before_some();
        } else {
            self.before_maybe();
        }
        // A text does not raise the minimum size of the event. The fast loop prints a cut text up to the end of the
        // event, too.
        match self.fixed(len.into()) {
            Some(at) => self.op(Op::Text, &[at, len, width]),
            None => self.op(Op::TakeText, &[len, width]),
        }
    }

    fn hex_bytes(&mut self, n: u8) {
        self.before_some();
        self.hex_digits(|emitter| match emitter.needed(n.into()) {
            Some(at) => emitter.op(Op::HexBytes, &[at, n.into()]),
            None => emitter.op(Op::TakeHexBytes, &[n.into()]),
        });
    }

    /// Emits hex digits in the case that the dialect asks for.
    fn hex_digits(&mut self, print: impl FnOnce(&mut Self)) {
        if !self.shape.lower_hex {
            return print(self);
        }
        // Two instructions change the case of the printed digits. Few files ask for lower case, so a second set of hex
        // instructions is not worth it.
        let mark = self.temp();
        self.op(Op::Mark, &[mark.into()]);
        print(self);
        self.op(Op::Lower, &[mark.into()]);
    }

    fn set_pointer(&mut self, value: &'p Value) {
        // A constant, as in `$DATAPOINTER = $DATAPOINTER + 8`, keeps later reads at fixed offsets.
        match self.fold(value) {
            Some(byte) if (byte as i64) < 0 => self.pointer = Pointer::At(0),
            Some(byte) => self.pointer = Pointer::At(byte.saturating_mul(8).min(MAX_BITS)),
            None => {
                let src = self.eval(value);
                self.op(Op::PtrTo, &[src.into()]);
                self.pointer = Pointer::Live;
            }
        }
    }

    fn put(&mut self, value: &'p Value, how: ValueFormat) {
        match how {
            ValueFormat::Path => self.before_maybe(),
            ValueFormat::Chars { width: 0, .. } => self.before_maybe(),
            _ => self.before_some(),
        }
        // A constant needs no instruction: it becomes part of the literal of the next one.
        if let Some(text) = self.fold(value).and_then(|value| self.constant_text(value, how)) {
            return self.push(AsmItem::Text(Cow::Owned(text)));
        }
        let src = u32::from(self.eval(value));
        match how {
            ValueFormat::Hex(size) => {
                let digits = self.bytes(size) * 2;
                self.hex_digits(|emitter| emitter.op(Op::PutHex, &[src, digits]));
            }
            ValueFormat::HookType => {
                let digits = if self.word() == 4 { 1 } else { 4 };
                self.hex_digits(|emitter| emitter.op(Op::PutHex, &[src, digits]));
            }
            ValueFormat::HexFit => self.hex_digits(|emitter| emitter.op(Op::PutHexFit, &[src])),
            ValueFormat::HexLow(size) => {
                let digits = self.bytes(size) * 2;
                self.op(Op::PutHexLow, &[src, digits]);
            }
            ValueFormat::HexC => self.op(Op::PutHexC, &[src]),
            ValueFormat::HexMin => self.op(Op::PutHexMin, &[src]),
            ValueFormat::OctC => self.op(Op::PutOctC, &[src]),
            ValueFormat::Ascii => self.op(Op::PutAscii, &[src]),
            ValueFormat::Dec => self.op(Op::PutDec, &[src]),
            ValueFormat::Int => self.op(Op::PutInt, &[src]),
            ValueFormat::Oct => self.op(Op::PutOct, &[src]),
            ValueFormat::Bin(count) => self.op(Op::PutBin, &[src, count.into()]),
            ValueFormat::Float(n, decimals) => {
                let decimals = if decimals == 4 { 0 } else { decimals };
                self.op(Op::PutFloat, &[src, n.into(), decimals.into()]);
            }
            ValueFormat::Errno(size) => {
                let n = self.bytes(size);
                self.op(Op::PutErrno, &[src, n]);
            }
            ValueFormat::Time => self.op(Op::PutTime, &[src]),
            ValueFormat::Path => self.op(Op::PutPath, &[src]),
            // No bytes of the value are printed, only the padding.
            ValueFormat::Chars { len: 0, width } => {
                if self.shape.stores_fields {
                    // The field is null if the value is.
                    let unused = self.temp();
                    self.op(Op::Move, &[unused.into(), src]);
                }
                self.op(Op::Text, &[0, 0, width]);
            }
            ValueFormat::Chars { len, width } => self.op(Op::PutChars, &[src, len.into(), width]),
        }
    }

    /// Text that a constant prints, if it needs no run-time state.
    fn constant_text(&self, value: u64, how: ValueFormat) -> Option<Vec<u8>> {
        let mut buf = [0; 64];
        // Handles only formats that the blob's dialect cannot change at run time.
        let end = match how {
            ValueFormat::Dec => num::dec(&mut buf, 0, value),
            ValueFormat::Int => num::int(&mut buf, 0, value),
            ValueFormat::HexFit if !self.shape.lower_hex => num::hex_fit(&mut buf, 0, value),
            ValueFormat::Hex(size) if !self.shape.lower_hex => {
                num::hex(&mut buf, 0, value, self.bytes(size) as usize * 2)
            }
            _ => return None,
        };
        Some(buf[..end].to_vec())
    }

    /// Value if it is known at compile time. Reads of the event never are.
    fn fold(&self, value: &Value) -> Option<u64> {
        match value {
            Value::Const(value) => Some(*value),
            Value::HookEnv => Some(u64::from(self.word()) * 8),
            Value::WordSize => Some(self.word().into()),
            Value::Generic => Some(self.generic().into()),
            // A generic hook has only `$D1`. The others print 0, but have no value for fields.
            Value::DataWord(index) if *index > 1 && !self.shape.stores_fields && self.generic() => Some(0),
            Value::Base if self.shape.base_is_zero => Some(0),
            Value::Pointer => self.bits().map(|bits| bits / 8),
            Value::Low { value, size, signed } => {
                let value = self.fold(value)?;
                let spare = 64 - self.bytes(*size).min(8) * 8;
                Some(if *signed { ((value << spare) as i64 >> spare) as u64 } else { value << spare >> spare })
            }
            Value::First { value, of, taken } => {
                let (low, count) = self.first_bits(*of, *taken);
                Some((self.fold(value)? >> low) & crate::number::low_mask(count))
            }
            Value::Bits { value, low, count } => {
                Some((self.fold(value)? >> low) & crate::number::low_mask((*count).into()))
            }
            // Computes as the machine does, in two's complement that wraps.
            Value::Binary(op, left, right) => {
                let (left, right) = (self.fold(left)?, self.fold(right)?);
                match op {
                    BinaryOp::Add => Some(left.wrapping_add(right)),
                    BinaryOp::Sub => Some(left.wrapping_sub(right)),
                    BinaryOp::Mul => Some(left.wrapping_mul(right)),
                    BinaryOp::And => Some(left & right),
                    // A division by zero is counted at run time.
                    BinaryOp::Div if right == 0 => None,
                    BinaryOp::Div => Some((left as i64).wrapping_div(right as i64) as u64),
                }
            }
            Value::Compare { equal, left, right } => Some(u64::from((self.fold(left)? == self.fold(right)?) == *equal)),
            Value::Read(_) | Value::Slot(_) | Value::Env(_) | Value::DataWord(_) | Value::Base | Value::AnyFlag(..) => {
                None
            }
        }
    }

    /// Computes a value into a register: the variable's own, or a temporary.
    fn eval(&mut self, value: &'p Value) -> u16 {
        // A variable needs no copy, because instructions never change their sources.
        if let Value::Slot(slot) = value {
            return self.slot(*slot);
        }
        let temp = self.temp();
        self.eval_to(temp, value);
        temp
    }

    fn eval_to(&mut self, dst: u16, value: &'p Value) {
        // Folded first, because macros such as `$HOOKENV` are constants in a given environment, and so may be
        // expressions with them.
        if let Some(value) = self.fold(value) {
            return self.constant(dst, value);
        }
        let to = u32::from(dst);
        match value {
            Value::Read(field) => self.read(dst, *field),
            Value::Slot(slot) => {
                let src = self.slot(*slot);
                self.op(Op::Move, &[to, src.into()]);
            }
            // The machine's pointer may not be set here, so `$LOGIDX` is computed from the known position.
            Value::Env(EnvValue::LogIndex) => self.log_index(dst),
            Value::Env(what) => self.op(Op::Env, &[to, *what as u32]),
            Value::DataWord(index) if *index > 1 && self.shape.stores_fields && self.generic() => {
                self.op(Op::FieldMissing, &[to]);
            }
            Value::DataWord(index) => {
                // Data words are at fixed places, independent of the pointer, also in a subroutine.
                let width = u32::from(self.word());
                let at = u32::from(*index) * width;
                self.need = self.need.max(at + width);
                self.op(Op::Word, &[to, at, width]);
            }
            Value::Pointer => self.op(Op::PtrGet, &[to]),
            Value::Base => self.op(Op::BaseGet, &[to]),
            Value::Low { value, size, signed } => self.low(dst, value, self.bytes(*size), *signed),
            Value::First { value, of, taken } => {
                let (low, count) = self.first_bits(*of, *taken);
                let src = self.eval(value);
                self.op(Op::Bits, &[to, src.into(), low, count]);
            }
            Value::Bits { value, low, count } => {
                let src = self.eval(value);
                self.op(Op::Bits, &[to, src.into(), (*low).into(), (*count).into()]);
            }
            Value::Binary(op, left, right) => {
                // Evaluates the left side first, because codes in an expression read one after the other.
                let (left, right) = (self.eval(left), self.eval(right));
                let op = match op {
                    BinaryOp::Add => Op::Add,
                    BinaryOp::Sub => Op::Sub,
                    BinaryOp::Mul => Op::Mul,
                    BinaryOp::Div => Op::Div,
                    BinaryOp::And => Op::And,
                };
                self.op(op, &[to, left.into(), right.into()]);
            }
            Value::Compare { equal, left, right } => {
                let (left, right) = (self.eval(left), self.eval(right));
                let op = if *equal { Op::Equal } else { Op::Differ };
                self.op(op, &[to, left.into(), right.into()]);
            }
            Value::AnyFlag(flags) => {
                let src = self.eval(&flags.value);
                let table = self.flag_table(&flags.entries);
                self.op(Op::FlagsAny, &[to, src.into(), table]);
            }
            // `fold` has handled these.
            Value::Const(_) | Value::HookEnv | Value::WordSize | Value::Generic => {}
        }
    }

    fn low(&mut self, dst: u16, value: &'p Value, n: u32, signed: bool) {
        // A data word of the same size needs no truncation.
        let whole = n >= 8 || matches!(value, Value::DataWord(_)) && n >= self.word().into() && !signed;
        if whole {
            return self.eval_to(dst, value);
        }
        let src = self.eval(value);
        if signed {
            self.op(Op::Sext, &[dst.into(), src.into(), n * 8]);
        } else {
            self.op(Op::Bits, &[dst.into(), src.into(), 0, n * 8]);
        }
    }

    /// Lowest bit, and number of bits, of the first part of a number.
    fn first_bits(&self, of: Size, taken: LeadingPart) -> (u32, u32) {
        let all = self.bytes(of).min(8) * 8;
        let taken = match taken {
            LeadingPart::Bytes(size) => self.bytes(size).min(8) * 8,
            LeadingPart::Bits(bits) => u32::from(bits),
        };
        if taken < all { (all - taken, taken) } else { (0, 64) }
    }

    fn log_index(&mut self, dst: u16) {
        let to = u32::from(dst);
        let Some(bits) = self.bits() else {
            return self.op(Op::Env, &[to, EnvValue::LogIndex as u32]);
        };
        let offset = self.temp();
        self.op(Op::Env, &[to, EnvValue::LogIndex0 as u32]);
        self.constant(offset, bits / 8);
        self.op(Op::Add, &[to, to, offset.into()]);
    }

    fn call(&mut self, callee: Callee) {
        self.need = self.need.max(callee.need);
        self.op(Op::Call, &[callee.routine]);
        // The callee ends with its blank printed, and nobody knows if it printed any text after it.
        self.soft = SoftBlank::Maybe;
    }

    fn call_function(&mut self, function: usize, arguments: &'p [Value]) {
        let callee = self.context.functions[&function][self.context.env.index()];
        let values: Vec<u16> = arguments.iter().map(|argument| self.eval(argument)).collect();
        for (param, value) in (callee.first..).zip(&values) {
            self.op(Op::Move, &[param.into(), (*value).into()]);
        }
        let called = &self.context.program.functions[function];
        // Macros of the function are 0 at every call, not only at the first one of the event.
        for local in called.n_params..called.n_locals {
            self.constant(callee.first + local, 0);
        }
        self.print_soft_blank();
        // Functions that only print their arguments are common, and reads after them stay at fixed offsets.
        if self.context.preserves_pointer[function] {
            return self.call(callee);
        }
        self.go_live();
        self.call(callee);
    }

    fn switch(&mut self, switch: &'p Switch) {
        match &switch.on {
            SwitchSelector::Number { value, width, keys } => {
                let cases = self.case_keys(*width, keys);
                self.switch_number(value, &cases, switch);
            }
            SwitchSelector::Text(text, keys) => {
                let mark = self.temp();
                self.op(Op::Mark, &[mark.into()]);
                // The text is removed again before any output, so the pending soft blank stays as it is.
                let soft = std::mem::replace(&mut self.soft, SoftBlank::No);
                self.block(text);
                self.soft = soft;
                let keys: Vec<_> = keys.iter().map(|(text, body)| (&text[..], *body)).collect();
                self.arms(switch, &keys, |emitter, cases, default| {
                    let table = emitter.table(UnlinkedTable::Text(cases, default));
                    Instr::of(Op::SwitchText, &[mark.into(), table])
                });
            }
        }
    }

    /// Distinct keys of a switch as bit patterns, and their cases. Keys are compared as bit patterns of the selector's
    /// width, so -1 matches `FFFF` (docs/readings.md).
    fn case_keys(&self, width: Option<u32>, keys: &[(Number, usize)]) -> Vec<(u64, usize)> {
        let width = width.unwrap_or_else(|| u32::from(self.word()) * 8);
        let mut cases = Vec::with_capacity(keys.len());
        cases.extend(keys.iter().filter_map(|(number, body)| Some((number.pattern(width)?, *body))));
        keep_first(&mut cases);
        cases
    }

    fn switch_number(&mut self, value: &'p Value, cases: &[(u64, usize)], switch: &'p Switch) {
        // Tries the cheapest code first: none, one instruction with the texts, a table of texts, a jump.
        if let Some(value) = self.fold(value) {
            let body = cases.iter().find(|(key, _)| *key == value).map(|(_, body)| *body).or(switch.default);
            if let Some(body) = body {
                self.block(&switch.bodies[body]);
            }
            return;
        }
        if let Some((texts, soft)) = self.short_texts(cases, switch) {
            let src = self.eval(value);
            let table = self.table(UnlinkedTable::Lits(texts));
            self.op(Op::SwitchLit, &[src.into(), table]);
            self.soft = soft;
            return;
        }
        let src = self.eval(value);
        if let Some(texts) = self.texts_or_hex(value, cases, switch) {
            let table = self.table(UnlinkedTable::Lits(texts));
            return self.op(Op::SwitchLitHex, &[src.into(), table]);
        }
        if let Some(texts) = self.case_texts(cases, switch) {
            let table = self.table(texts);
            return self.op(Op::PutCase, &[src.into(), table]);
        }
        self.arms(switch, cases, |emitter, cases, default| {
            let table = emitter.table(UnlinkedTable::Number(cases, default));
            Instr::of(Op::Switch, &[src.into(), table])
        });
    }

    /// Texts of a switch whose cases only print text, with its default. `None` if a case does more, or
    /// if a soft blank is pending.
    fn case_texts(&self, cases: &[(u64, usize)], switch: &'p Switch) -> Option<UnlinkedTable<'p>> {
        let text = |body: usize| match &switch.bodies[body][..] {
            [] => Some(&b""[..]),
            [Node { inst: Inst::Text(text), .. }] => Some(&text[..]),
            _ => None,
        };
        let default = switch.default.map_or(Some(&b""[..]), text).filter(|_| self.soft == SoftBlank::No)?;
        let texts = cases.iter().map(|(key, body)| Some((*key, text(*body)?))).collect::<Option<_>>()?;
        Some(UnlinkedTable::Texts(texts, default))
    }

    /// Texts by key of a switch whose cases only print short texts and whose default prints the value in hex.
    /// `None` for any other switch, or if a soft blank is pending.
    fn texts_or_hex(&self, value: &Value, cases: &[(u64, usize)], switch: &'p Switch) -> Option<Vec<&'p [u8]>> {
        let last = cases.iter().map(|(key, _)| *key).max()?;
        let [Node { inst: Inst::Put(Value::Slot(other), ValueFormat::HexC), .. }] = &switch.bodies[switch.default?][..]
        else {
            return None;
        };
        let same = matches!(value, Value::Slot(slot) if slot == other);
        if last >= MAX_LITS.min(cases.len() as u64 * 4 + 16) || !same || self.soft != SoftBlank::No {
            return None;
        }
        let mut by_key = vec![&b""[..]; last as usize + 2];
        for (key, body) in cases {
            let [Node { inst: Inst::Text(text), .. }] = &switch.bodies[*body][..] else { return None };
            if text.is_empty() || text.len() > 31 {
                return None;
            }
            by_key[*key as usize] = text;
        }
        Some(by_key)
    }

    /// Texts by key of a switch whose cases only print short texts, with the default last. Also returns the soft blank
    /// state after the switch; the blank before it is already emitted.
    fn short_texts(&mut self, cases: &[(u64, usize)], switch: &'p Switch) -> Option<(Vec<&'p [u8]>, SoftBlank)> {
        let last = cases.iter().map(|(key, _)| *key).max()?;
        // Sparse keys would fill the table with copies of the default.
        if last >= MAX_LITS.min(cases.len() as u64 * 4 + 16) {
            return None;
        }
        let text = |body: Option<usize>| match body.map(|body| &switch.bodies[body][..]) {
            None | Some([]) => Some((&b""[..], false)),
            Some([Node { inst: Inst::Text(text), .. }]) => Some((&text[..], false)),
            Some([Node { inst: Inst::Text(text), .. }, Node { inst: Inst::Soft, .. }]) => Some((&text[..], true)),
            Some(_) => None,
        };
        let default = text(switch.default)?;
        let mut by_key = vec![default; last as usize + 2];
        let mut used = Vec::with_capacity(cases.len() + 1);
        used.push(default);
        for (key, body) in cases {
            by_key[*key as usize] = text(Some(*body))?;
            used.push(by_key[*key as usize]);
        }
        // One instruction prints all texts, so they must agree on the blanks before and after them.
        let all = |test: &dyn Fn(&[u8]) -> bool| used.iter().all(|(text, _)| test(text));
        let soft = used.iter().filter(|(_, soft)| *soft).count();
        if !all(&|text| text.len() <= 31) || (soft != 0 && soft != used.len()) || (soft > 0 && !all(&|t| !t.is_empty()))
        {
            return None;
        }
        let before = match self.soft {
            SoftBlank::No => SoftBlank::No,
            SoftBlank::Due if all(&begins_blank) => SoftBlank::No,
            SoftBlank::Due if all(&|text| !text.is_empty() && !begins_blank(text)) => {
                self.push(BLANK);
                SoftBlank::No
            }
            _ if all(&|text| !begins_blank(text)) => {
                self.print_soft_blank();
                SoftBlank::Maybe
            }
            _ => return None,
        };
        let texts = by_key.iter().map(|(text, _)| *text).collect();
        Some((texts, if soft > 0 { SoftBlank::Due } else { before }))
    }

    /// Emits the cases of a switch one by one, then brings all of them to the same pointer and blank state.
    fn arms<K: Copy>(
        &mut self,
        switch: &'p Switch,
        keys: &[(K, usize)],
        instr: impl FnOnce(&mut Self, Vec<(K, u32)>, u32) -> Instr,
    ) {
        let (pointer, soft, dead) = (self.pointer, self.soft, self.dead);
        let n_bodies = switch.bodies.len();
        let mut reached = vec![false; n_bodies];
        keys.iter().map(|(_, body)| *body).chain(switch.default).for_each(|body| reached[body] = true);
        // Each body starts from the state before the switch. Bodies are emitted to separate buffers first: the code
        // that each needs at its end depends on the final states of all.
        let before = std::mem::take(&mut self.lines);
        let mut arms = Vec::new();
        for (index, body) in switch.bodies.iter().enumerate().filter(|(index, _)| reached[*index]) {
            (self.pointer, self.soft, self.dead) = (pointer, soft, dead);
            self.block(body);
            arms.push((Some(index), std::mem::take(&mut self.lines), self.pointer, self.soft, self.dead));
        }
        if switch.default.is_none() {
            arms.push((None, Vec::new(), pointer, soft, dead));
        }
        // Arms that end the event do not affect the state after the switch.
        let live: Vec<_> = arms.iter().filter(|arm| !arm.4).map(|arm| (arm.2, arm.3)).collect();
        let (first_pointer, first_soft) = live.first().copied().unwrap_or((pointer, soft));
        let one_pointer = live.iter().all(|(pointer, _)| self.one_place(*pointer, first_pointer));
        let one_soft = live.iter().all(|(_, soft)| *soft == first_soft);
        let after_pointer = if one_pointer { first_pointer } else { Pointer::Live };
        let after_soft = if one_soft { first_soft } else { SoftBlank::Maybe };
        let end = self.label();
        let mut labels = vec![end; n_bodies];
        let mut default = end;
        let mut code = Vec::new();
        for (index, lines, pointer, soft, arm_dead) in arms {
            self.lines = lines;
            (self.pointer, self.soft) = (pointer, soft);
            if !arm_dead {
                if after_pointer == Pointer::Live {
                    self.go_live();
                }
                if after_soft == SoftBlank::Maybe {
                    self.print_soft_blank();
                }
            }
            let lines = std::mem::take(&mut self.lines);
            // An empty arm needs no code: its label stays the end of the switch.
            if lines.is_empty() {
                continue;
            }
            let label = self.label();
            match index {
                Some(index) => labels[index] = label,
                None => default = label,
            }
            code.push((label, lines, arm_dead));
        }
        self.lines = before;
        if let Some(index) = switch.default {
            default = labels[index];
        }
        let cases = keys.iter().map(|(key, body)| (*key, labels[*body])).collect();
        let switch = instr(self, cases, default);
        self.push(AsmItem::Op(switch));
        let n_arms = code.len();
        for (at, (label, lines, arm_dead)) in code.into_iter().enumerate() {
            self.push(AsmItem::Label(label));
            self.lines.extend(lines);
            // The last arm falls through to the end.
            if at + 1 < n_arms && !arm_dead {
                self.op(Op::Jump, &[end]);
            }
        }
        self.push(AsmItem::Label(end));
        (self.pointer, self.soft) = (after_pointer, after_soft);
        self.dead = dead || live.is_empty();
    }

    fn repeat(&mut self, Loop { all, count, body }: &'p Loop) {
        let all = *all;
        let src = self.eval(count);
        // A loop that dumps bytes becomes one instruction. Byte by byte, a dump of 64 bytes would take hundreds.
        if let Some(soft) = dumped(body).filter(|_| !self.shape.lower_hex && !all) {
            self.before_maybe();
            self.go_live();
            self.op(Op::Dump, &[src.into(), soft.into()]);
            if soft {
                self.soft = SoftBlank::Maybe;
            }
            return;
        }
        // Later iterations start from the state after the body. The body is emitted once, so its first state must suit
        // every iteration.
        let (mut moves, mut blanks) = (false, false);
        walk(body, &mut |node| {
            moves |= node.inst.touches_pointer();
            blanks |= match &node.inst {
                Inst::Soft | Inst::CallStanza(_) | Inst::CallFunction { .. } => true,
                Inst::Flags(flags) => flags.entries.iter().any(|entry| entry.yes.soft || entry.no.soft),
                _ => false,
            };
        });
        if moves {
            self.go_live();
        }
        self.print_soft_blank();
        if blanks {
            self.soft = SoftBlank::Maybe;
        }
        let (pointer, soft, dead) = (self.pointer, self.soft, self.dead);
        let (top, exit, turn) = (self.label(), self.label(), self.temp());
        self.op(Op::Loop, &[turn.into(), src.into(), exit, all.into()]);
        self.push(AsmItem::Label(top));
        self.block(body);
        if moves {
            self.go_live();
        }
        self.print_soft_blank();
        self.op(Op::LoopNext, &[turn.into(), top, all.into()]);
        self.push(AsmItem::Label(exit));
        // After an iteration a blank may have been printed, which is the state that the body began with.
        (self.pointer, self.soft, self.dead) = (pointer, soft, dead);
    }

    fn flags(&mut self, Flags { value, entries }: &'p Flags) {
        let src = self.eval(value);
        // The flags may print nothing, so the blank before them must be removable.
        self.print_soft_blank();
        if let Some((nibbles, soft)) = self.nibbles(entries) {
            let table = self.table(UnlinkedTable::Nibbles(nibbles));
            self.op(Op::Nibbles, &[src.into(), table, soft.into()]);
            if soft {
                self.soft = SoftBlank::Maybe;
            }
            return;
        }
        let table = self.flag_table(entries);
        self.op(Op::Flags, &[src.into(), table]);
        if self.soft != SoftBlank::No || entries.iter().any(|entry| entry.yes.soft || entry.no.soft) {
            self.soft = SoftBlank::Maybe;
        }
    }

    /// Emits flags with a default text as nibble texts. Returns false if that is not possible.
    fn nibble_flags(&mut self, Flags { value, entries }: &'p Flags, default: &[u8]) -> bool {
        if self.soft != SoftBlank::No {
            return false;
        }
        let Some((mut nibbles, false)) = self.nibbles(entries) else { return false };
        if !nibbles.default.push(default) {
            return false;
        }
        let src = self.eval(value);
        let table = self.table(UnlinkedTable::Nibbles(nibbles));
        self.op(Op::Nibbles, &[src.into(), table, 0]);
        true
    }

    /// Texts per nibble value. Requires that each entry tests one nibble, that nibbles ascend, and that either all
    /// texts or none have a soft blank.
    fn nibbles(&self, entries: &[Flag]) -> Option<(Nibbles, bool)> {
        let mut nibbles: Vec<[ShortText; 16]> = Vec::with_capacity(entries.len().min(16));
        let texts = || entries.iter().flat_map(|entry| [&entry.yes, &entry.no]).filter(|text| !text.text.is_empty());
        let soft = texts().any(|text| text.soft);
        let leading = texts().any(|text| begins_blank(&text.text));
        // A nibble's texts are fixed when it is compiled, so it cannot remove a blank that an earlier nibble left.
        if texts().any(|text| text.soft != soft) || (leading && (soft || self.soft != SoftBlank::No)) {
            return None;
        }
        let mut last = 0;
        for entry in entries {
            let nibble = (entry.mask.trailing_zeros() / 4) as usize;
            // Texts appear in the order of the entries, and the machine goes through the nibbles from the lowest.
            if entry.mask == 0 || entry.mask >> (nibble * 4) > 15 || nibble < last {
                return None;
            }
            last = nibble;
            nibbles.resize_with(nibbles.len().max(nibble + 1), Default::default);
            for (value, text) in nibbles[nibble].iter_mut().enumerate() {
                let met = ((value as u64) << (nibble * 4)) & entry.mask == entry.field;
                let chosen = if met { &entry.yes } else { &entry.no };
                if chosen.text.is_empty() {
                    continue;
                }
                if !text.push(&chosen.text) || (soft && !text.push(b" ")) {
                    return None;
                }
            }
        }
        // Flags in high bits would otherwise begin with empty texts for every nibble below them.
        let silent = nibbles.iter().take_while(|texts| texts.iter().all(|text| text.len == 0)).count();
        let texts = nibbles.split_off(silent);
        let nibbles = Nibbles { texts, shift: silent as u32 * 4, default: ShortText::default() };
        (!nibbles.texts.is_empty()).then_some((nibbles, soft))
    }
}

const BLANK: AsmItem<'static> = AsmItem::Text(Cow::Borrowed(b" "));

/// Removes cases with duplicate keys; the first one stays.
fn keep_first(cases: &mut Vec<(u64, usize)>) {
    if !cases.is_sorted_by(|(one, _), (next, _)| one < next) {
        let mut known = HashSet::with_capacity(cases.len());
        cases.retain(|(key, _)| known.insert(*key));
    }
}

/// True if the text replaces a soft blank before it.
fn begins_blank(text: &[u8]) -> bool {
    matches!(text, [b' ' | b'\t', ..])
}

/// `None` if a loop's body is more than `X0` or `X1`; otherwise true if a soft blank follows the code.
fn dumped(body: &Block) -> Option<bool> {
    let byte = |inst: &Inst| {
        matches!(
            inst,
            Inst::Put(Value::Read(EventField::Bytes { size: Size::Bytes(1), .. }), ValueFormat::Hex(Size::Bytes(1)))
        )
    };
    match &body[..] {
        [put] if byte(&put.inst) => Some(false),
        [put, Node { inst: Inst::Soft, .. }] if byte(&put.inst) => Some(true),
        _ => None,
    }
}
