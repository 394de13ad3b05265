//! Intermediate representation of routines: names are resolved and match values typed, but no decision depends on the
//! environment of an event yet.
//!
//! After lowering, no stage depends on the language that a routine came from.

use crate::number::Number;
use std::fmt;
use tfbc_grammar::trcfmt::ast::{BinaryOp, Move, Size};
use tfbc_grammar::{SourceId, Span};
use tfbc_vm::{EnvText, EnvValue, Space};

/// Register that probes write to.
pub(crate) const PROBE_REGISTER: u32 = tfbc_vm::N_REGS as u32 - 1;

/// Displays an id as in reports: `hhh` for `hhh0`.
pub(crate) struct ShowId(pub u16);

impl fmt::Display for ShowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(id) = *self;
        if id.is_multiple_of(16) { write!(f, "{:03X}", id >> 4) } else { write!(f, "{id:04X}") }
    }
}

/// All routines of one set of files.
#[derive(Debug, Default)]
pub(crate) struct IrProgram {
    pub stanzas: Vec<IrEntry>,
    pub functions: Vec<Function>,
    /// True if it contains coverage probes.
    pub probed: bool,
}

/// Entry for a hook, or for class and event of a record.
#[derive(Debug)]
pub(crate) struct IrEntry {
    pub space: Space,
    /// Canonical id, or `class << 10 | event`.
    pub id: u16,
    pub source: SourceId,
    pub span: Span,
    pub version: (u32, u32),
    pub level: tfbc_vm::Level,
    /// Label without `@`.
    pub label: Vec<u8>,
    pub hidden: bool,
    /// True for a built-in stanza.
    pub builtin: bool,
    /// Shift of the tab stops in columns.
    pub tab_origin: u16,
    /// Number of macros in the event's row.
    pub n_slots: u16,
    /// Number of the routine's own variables.
    pub n_locals: u16,
    /// Code that prints the label for an event.
    pub heading: Block,
    /// Code that prints the label for a caller.
    pub called_heading: Block,
    pub body: Block,
    pub lower_hex: bool,
}

/// A function of trcfmt.
#[derive(Debug)]
pub(crate) struct Function {
    pub name: Vec<u8>,
    pub source: SourceId,
    pub span: Span,
    pub n_params: u16,
    /// Number of parameters and local macros.
    pub n_locals: u16,
    pub body: Block,
    pub lower_hex: bool,
}

pub(crate) type Block = Vec<Node>;

/// Instruction with its source position.
#[derive(Debug)]
pub(crate) struct Node {
    pub inst: Inst,
    pub span: Span,
}

/// Instruction. Large operands are boxed, because nodes are numerous.
#[derive(Debug)]
pub(crate) enum Inst {
    /// Template text.
    Text(Vec<u8>),
    /// Makes a soft blank due.
    Soft,
    /// Coverage probe with the number of its point.
    Probe(u32),
    Newline,
    Tab,
    Move(Move),
    Put(Value, ValueFormat),
    /// Text at the data pointer.
    Ascii {
        len: u32,
        width: u32,
    },
    /// Text at the data pointer, preceded by its length.
    Counted(Size),
    /// Text at the data pointer with the given length.
    CountedBy(Value),
    /// 9 to 16 bytes at the data pointer, as hex digits.
    HexBytes(u8),
    Name(EnvText),
    /// Text at the data pointer up to its NUL or the end of the event; printed with escapes, or skipped.
    String {
        print: bool,
    },
    /// This many bytes of text at the data pointer, printed up to a NUL, with escapes.
    Escaped(u32),
    /// Up to this many words at the data pointer, in QNX's format for the first bytes of a message.
    Words(u32),
    /// Text from the data pointer to `spare` bytes before the end of the event, in QNX's format for names.
    NameText {
        spare: u8,
    },
    /// Marks the event as truncated.
    Cut,
    /// Runs `body`; a failed `Demand` in it continues with `short`. Afterwards the data pointer is at the first byte of
    /// the event.
    Guarded(Box<BlockWithFallback>),
    /// Continues with `short` of the enclosing guarded block if the event has fewer bytes after the data pointer.
    Demand(u64),
    /// Block for simple records and block for combines.
    ByForm(Box<BlockByForm>),
    If(Box<If>),
    /// Texts of all matching entries, separated by blanks.
    FlagList(Box<Flags>),
    Assign(VarSlot, Value),
    SetPointer(Value),
    SetBase(Value),
    Switch(Box<Switch>),
    Loop(Box<Loop>),
    Flags(Box<Flags>),
    CallStanza(u16),
    CallFunction {
        function: usize,
        arguments: Vec<Value>,
    },
    TimerStart(Box<[Value; 2]>),
    TimerEnd(Box<[Value; 2]>),
    Error,
    Stop,
    /// Ends the event.
    Break,
    /// Ends the event and drops its output.
    Skip,
    /// Instruction of a routine that stores fields.
    Field(Box<FieldInst>),
}

/// Instruction of a routine that stores fields. Cells count from the first one of the innermost list item or the row.
#[derive(Debug)]
pub(crate) enum FieldInst {
    /// Body of the routine, and code that runs at the end of the event, also after `$BREAK`.
    Whole {
        n_cells: u16,
        body: Block,
        last: Block,
    },
    Put {
        cell: u16,
        value: Value,
    },
    /// Stores the text that a block prints. With `keep`, a switch can still use the text. With `some`, an empty text is null.
    Text {
        cell: u16,
        body: Block,
        keep: bool,
        some: bool,
    },
    /// Appends the text that a block prints to text begun by `Begin`.
    Append {
        cell: u16,
        body: Block,
    },
    /// Begins text or bytes to which a loop of `count` iterations appends.
    Begin {
        cell: u16,
        count: Value,
    },
    /// Appends a byte to bytes begun by `Begin`.
    Byte {
        cell: u16,
        value: Value,
    },
    /// Stores bytes at the data pointer.
    Bytes {
        cell: u16,
        width: u8,
    },
    /// Stores a number as `width` bytes.
    Wide {
        cell: u16,
        value: Value,
        width: u8,
    },
    /// Stores the label with this number. With `weak`, stores it only in a null cell.
    Label {
        cell: u16,
        label: u32,
        weak: bool,
    },
    Cases(LabelCases),
    Errno {
        cell: u16,
        value: Value,
        size: Size,
        weak: bool,
    },
    Path {
        cell: u16,
        value: Value,
        weak: bool,
    },
    Flags {
        cell: u16,
        flags: Flags,
    },
    /// Begins the list of a loop of `count` iterations.
    List {
        cell: u16,
        count: Value,
        n_members: u16,
    },
    /// Begins an item of the list.
    Item,
    /// Ends the list.
    End,
    Timer {
        cell: u16,
        pair: [Value; 2],
    },
    /// Counts the call of a stanza or function whose code is inserted here.
    Call,
    /// Ends the event by `$ERROR`, without the code for its end.
    Abort,
}

/// Labels of the cases of a switch.
#[derive(Debug)]
pub(crate) struct LabelCases {
    pub cell: u16,
    /// True if a label is only stored in a null cell.
    pub weak: bool,
    /// Selector of `width` bits (`None`: a word).
    pub value: Value,
    pub width: Option<u32>,
    /// Pairs of a number and a case; the first match is used.
    pub keys: Vec<(Number, usize)>,
    /// Label per case, if it has one.
    pub labels: Vec<Option<u32>>,
    pub default: Option<usize>,
}

impl FieldInst {
    fn touches_pointer(&self) -> bool {
        match self {
            FieldInst::Bytes { .. } | FieldInst::Whole { .. } => true,
            FieldInst::Text { body, .. } | FieldInst::Append { body, .. } => {
                body.iter().any(|node| node.inst.touches_pointer())
            }
            FieldInst::Put { value, .. }
            | FieldInst::Begin { count: value, .. }
            | FieldInst::Byte { value, .. }
            | FieldInst::Wide { value, .. }
            | FieldInst::Errno { value, .. }
            | FieldInst::Path { value, .. }
            | FieldInst::List { count: value, .. } => value.touches_pointer(),
            FieldInst::Flags { flags, .. } => flags.value.touches_pointer(),
            FieldInst::Cases(cases) => cases.value.touches_pointer(),
            FieldInst::Timer { pair, .. } => pair.iter().any(Value::touches_pointer),
            FieldInst::Label { .. } | FieldInst::Item | FieldInst::End | FieldInst::Call | FieldInst::Abort => false,
        }
    }
}

/// Variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VarSlot {
    /// Macro in the event's row, which the templates of one event share.
    Row(u16),
    /// Parameter or local of a function.
    Local(u16),
}

/// 64-bit number.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Const(u64),
    /// Reads at the data pointer and advances it.
    Read(EventField),
    Slot(VarSlot),
    Env(EnvValue),
    /// `$HOOKENV`
    HookEnv,
    /// `$WORDSIZE`
    WordSize,
    /// `$GENERIC`
    Generic,
    /// `$D1` to `$D5`; the index is 1 to 5.
    DataWord(u8),
    /// `$DATAPOINTER`
    Pointer,
    /// `$BASEPOINTER`
    Base,
    /// Low bytes of a value, zero- or sign-extended.
    Low {
        value: Box<Value>,
        size: Size,
        signed: bool,
    },
    /// `count` bits of a value, starting at bit `low`.
    Bits {
        value: Box<Value>,
        low: u8,
        count: u8,
    },
    /// First (most significant) bytes or bits of a number of width `of`; the whole number if it is not wider.
    First {
        value: Box<Value>,
        of: Size,
        taken: LeadingPart,
    },
    Binary(BinaryOp, Box<Value>, Box<Value>),
    /// Result of a comparison, 1 or 0: `left == right` if `equal` is true, otherwise `left != right`.
    Compare {
        equal: bool,
        left: Box<Value>,
        right: Box<Value>,
    },
    /// 1 if the value matches an entry that prints text, otherwise 0.
    AnyFlag(Box<Flags>),
}

/// Part of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeadingPart {
    Bytes(Size),
    Bits(u8),
}

/// Field in the event's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventField {
    /// 1 to 16 bytes from the next whole byte, in the event's byte order; the value is the low 8.
    Bytes { size: Size, signed: bool },
    /// Bits from the data pointer on.
    Bits(u8),
}

/// Output format of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueFormat {
    /// Upper- or lower-case hex (see the dialect), two digits per byte.
    Hex(Size),
    /// Hex with 4, 8 or 16 digits.
    HexFit,
    /// Lower-case hex, two digits per byte.
    HexLow(Size),
    /// Lower-case hex without leading zeros.
    HexMin,
    /// `0x` and lower-case hex without leading zeros.
    HexC,
    /// `0` and octal.
    OctC,
    /// The character if it is printable, otherwise `0x` and hex.
    Ascii,
    Dec,
    Int,
    Oct,
    /// This many binary digits.
    Bin(u8),
    /// Float: size in bytes, decimals.
    Float(u8, u8),
    Errno(Size),
    Time,
    Path,
    /// One hex digit for a 32-bit hook, four for a 64-bit hook.
    HookType,
    /// Low bytes as text, padded to `width`.
    Chars {
        len: u8,
        width: u32,
    },
}

/// Block with a fallback that runs if a demand in it fails.
#[derive(Debug)]
pub(crate) struct BlockWithFallback {
    pub body: Block,
    pub short: Block,
}

/// Block for simple records and block for combines.
#[derive(Debug)]
pub(crate) struct BlockByForm {
    pub simple: Block,
    pub wide: Block,
}

/// Blocks for a value other than 0 and for 0.
#[derive(Debug)]
pub(crate) struct If {
    pub on: Value,
    pub then: Block,
    pub otherwise: Block,
}

/// Block that runs `count` times.
#[derive(Debug)]
pub(crate) struct Loop {
    /// True if it runs all iterations even after the end of the data.
    pub all: bool,
    pub count: Value,
    pub body: Block,
}

/// Value and the entries that it may match.
#[derive(Debug, Clone)]
pub(crate) struct Flags {
    pub value: Value,
    pub entries: Vec<Flag>,
}

#[derive(Debug)]
pub(crate) struct Switch {
    pub on: SwitchSelector,
    /// Blocks of the cases.
    pub bodies: Vec<Block>,
    /// Index of the block for all other values.
    pub default: Option<usize>,
}

#[derive(Debug)]
pub(crate) enum SwitchSelector {
    /// Number of `width` bits (`None`: a word). Keys are pairs of a number and a block; the first match is used.
    Number { value: Value, width: Option<u32>, keys: Vec<(Number, usize)> },
    /// Text printed by a block. Keys are pairs of a distinct text and a block.
    Text(Block, Vec<(Vec<u8>, usize)>),
}

/// BITFLAGS entry: prints `yes` if `value & mask == field`, otherwise `no`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flag {
    pub mask: u64,
    pub field: u64,
    pub yes: FlagText,
    pub no: FlagText,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FlagText {
    pub text: Vec<u8>,
    pub soft: bool,
}

/// Visits the nodes of a block and of all nested blocks, in order.
pub(crate) fn walk(block: &Block, visit: &mut impl FnMut(&Node)) {
    for node in block {
        walk_node(node, visit);
    }
}

/// Visits a node and the nodes of its nested blocks, in order.
pub(crate) fn walk_node(node: &Node, visit: &mut impl FnMut(&Node)) {
    visit(node);
    match &node.inst {
        Inst::Switch(switch) => {
            if let SwitchSelector::Text(text, _) = &switch.on {
                walk(text, visit);
            }
            switch.bodies.iter().for_each(|body| walk(body, visit));
        }
        Inst::Loop(node) => walk(&node.body, visit),
        Inst::Guarded(node) => both(&node.body, &node.short, visit),
        Inst::ByForm(node) => both(&node.simple, &node.wide, visit),
        Inst::If(node) => both(&node.then, &node.otherwise, visit),
        Inst::Field(node) => match &**node {
            FieldInst::Whole { body, last, .. } => both(body, last, visit),
            FieldInst::Text { body, .. } | FieldInst::Append { body, .. } => walk(body, visit),
            _ => {}
        },
        _ => {}
    }
}

fn both(first: &Block, second: &Block, visit: &mut impl FnMut(&Node)) {
    walk(first, visit);
    walk(second, visit);
}

impl Value {
    /// True if computing the value uses the data pointer.
    pub fn touches_pointer(&self) -> bool {
        match self {
            Value::Read(_) | Value::Pointer | Value::Env(EnvValue::LogIndex) => true,
            Value::Low { value, .. } | Value::Bits { value, .. } | Value::First { value, .. } => {
                value.touches_pointer()
            }
            Value::AnyFlag(flags) => flags.value.touches_pointer(),
            Value::Binary(_, left, right) | Value::Compare { left, right, .. } => {
                left.touches_pointer() || right.touches_pointer()
            }
            _ => false,
        }
    }
}

impl Inst {
    /// True if the instruction itself uses or moves the data pointer.
    pub fn touches_pointer(&self) -> bool {
        match self {
            Inst::Move(_)
            | Inst::Ascii { .. }
            | Inst::Counted(_)
            | Inst::CountedBy(_)
            | Inst::HexBytes(_)
            | Inst::String { .. }
            | Inst::Escaped(_)
            | Inst::Words(_)
            | Inst::NameText { .. }
            | Inst::Guarded(_)
            | Inst::Demand(_)
            | Inst::SetPointer(_)
            | Inst::SetBase(_)
            | Inst::CallStanza(_)
            | Inst::CallFunction { .. } => true,
            Inst::Put(value, _) | Inst::Assign(_, value) => value.touches_pointer(),
            Inst::Switch(node) => matches!(&node.on, SwitchSelector::Number { value, .. } if value.touches_pointer()),
            Inst::Loop(node) => node.count.touches_pointer(),
            Inst::Flags(flags) | Inst::FlagList(flags) => flags.value.touches_pointer(),
            Inst::If(node) => node.on.touches_pointer(),
            Inst::TimerStart(pair) | Inst::TimerEnd(pair) => pair.iter().any(Value::touches_pointer),
            Inst::Field(node) => node.touches_pointer(),
            _ => false,
        }
    }
}
