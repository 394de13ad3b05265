//! The intermediate representation: what a routine does, with names resolved and match values typed, and nothing yet
//! decided that depends on an event's environment.
//!
//! After lowering no stage asks which language a routine came from.

use crate::number::Number;
use std::fmt;
use tfbc_grammar::trcfmt::ast::{BinaryOp, Move, Size};
use tfbc_grammar::{SourceId, Span};
use tfbc_vm::{EnvText, EnvValue, Space};

/// The register that probes write.
pub(crate) const PROBE_REGISTER: u32 = tfbc_vm::N_REGS as u32 - 1;

/// An id as reports print it: `hhh` for `hhh0`.
pub(crate) struct ShowId(pub u16);

impl fmt::Display for ShowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(id) = *self;
        if id.is_multiple_of(16) { write!(f, "{:03X}", id >> 4) } else { write!(f, "{id:04X}") }
    }
}

/// Everything of one file set.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub stanzas: Vec<Stanza>,
    pub functions: Vec<Function>,
    /// Whether there are probes in it.
    pub probed: bool,
}

/// An entry: a hook's, or that of a record's class and event.
#[derive(Debug)]
pub(crate) struct Stanza {
    pub space: Space,
    /// Canonical id, or `class << 10 | event`.
    pub id: u16,
    pub source: SourceId,
    pub span: Span,
    pub version: (u32, u32),
    pub level: tfbc_vm::Level,
    /// Without `@`.
    pub label: Vec<u8>,
    pub hidden: bool,
    /// Whether it is one of the built-in ones.
    pub builtin: bool,
    /// Columns that a tab stop is off.
    pub tab_origin: u16,
    /// Macros numbered in the event's row.
    pub n_slots: u16,
    /// Variables of the routine's own.
    pub n_locals: u16,
    /// The label as an event's routine prints it.
    pub heading: Block,
    /// The label as a called routine prints it.
    pub called_heading: Block,
    pub body: Block,
    pub lower_hex: bool,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub name: Vec<u8>,
    pub source: SourceId,
    pub span: Span,
    pub n_params: u16,
    /// Parameters and local macros.
    pub n_locals: u16,
    pub body: Block,
    pub lower_hex: bool,
}

pub(crate) type Block = Vec<Node>;

/// An instruction with its place in the source.
#[derive(Debug)]
pub(crate) struct Node {
    pub inst: Inst,
    pub span: Span,
}

/// There are many: what is large stands apart.
#[derive(Debug)]
pub(crate) enum Inst {
    /// Template text.
    Text(Vec<u8>),
    /// A soft blank is due.
    Soft,
    /// Does nothing but to be seen: the number of a point.
    Probe(u32),
    Newline,
    Tab,
    Move(Move),
    Put(Value, How),
    /// Text at the data pointer.
    Ascii {
        len: u32,
        width: u32,
    },
    /// Length, then text, at the data pointer.
    Counted(Size),
    /// Text at the data pointer, its length given.
    CountedBy(Value),
    /// 9 to 16 bytes at the data pointer as hex digits.
    HexBytes(u8),
    Name(EnvText),
    /// Text at the data pointer up to its NUL, or the event's end: printed with escapes, or passed.
    String {
        print: bool,
    },
    /// So many bytes of text at the data pointer, printed up to a NUL, with escapes.
    Escaped(u32),
    /// Up to so many words at the data pointer as QNX prints the first bytes of a message.
    Words(u32),
    /// The text from the data pointer to so many bytes before the event's end, as QNX prints names.
    NameText {
        spare: u8,
    },
    /// Marks the event truncated.
    Cut,
    /// Runs `body`, whose demands that are not met go on with `short`. Behind it the data pointer stands at the
    /// event's first byte.
    Guarded(Box<Guarded>),
    /// Leaves for the guarded block's `short` where the event has fewer bytes from the data pointer on.
    Demand(u64),
    /// One block for simple records, the other for combines.
    ByForm(Box<ByForm>),
    If(Box<If>),
    /// The texts of the entries that a value meets, a blank between two.
    FlagList(Box<Flags>),
    Assign(Slot, Value),
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
    /// Ends the event and drops it.
    Skip,
}

/// A variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The event's row, shared by the templates of one event.
    Row(u16),
    /// A function's parameter or local.
    Local(u16),
}

/// A 64-bit number.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Const(u64),
    /// Reads at the data pointer and moves it.
    Read(Field),
    Slot(Slot),
    Env(EnvValue),
    /// `$HOOKENV`
    HookEnv,
    /// `$WORDSIZE`
    WordSize,
    /// `$GENERIC`
    Generic,
    /// `$D1` to `$D5`, from 1.
    DataWord(u8),
    /// `$DATAPOINTER`
    Pointer,
    /// `$BASEPOINTER`
    Base,
    /// The low bytes, zero- or sign-extended.
    Low {
        value: Box<Value>,
        size: Size,
        signed: bool,
    },
    /// `count` bits from `low` up.
    Bits {
        value: Box<Value>,
        low: u8,
        count: u8,
    },
    /// The first bytes, or bits, of a number that is as wide as `of`; all of it if it is no wider.
    First {
        value: Box<Value>,
        of: Size,
        taken: Taken,
    },
    Binary(BinaryOp, Box<Value>, Box<Value>),
    /// 1 where both are equal (or differ), else 0.
    Compare {
        equal: bool,
        left: Box<Value>,
        right: Box<Value>,
    },
    /// 1 where the value meets an entry that prints text, else 0.
    AnyFlag(Box<Flags>),
}

/// How much is taken of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Bytes(Size),
    Bits(u8),
}

/// A field of the event's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// Bytes from the next whole byte on in the event's byte order, 1 to 16 of which the low 8 count.
    Bytes { size: Size, signed: bool },
    /// Bits from the pointer on.
    Bits(u8),
}

/// How a number is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Two digits a byte.
    Hex(Size),
    /// 4, 8 or 16 digits.
    HexFit,
    /// Two lower-case digits a byte.
    HexLow(Size),
    /// Lower case, without leading zeros.
    HexMin,
    /// The same behind `0x`.
    HexC,
    /// Octal behind a `0`.
    OctC,
    /// A character that prints, or `0x` and hex.
    Ascii,
    Dec,
    Int,
    Oct,
    /// So many binary digits.
    Bin(u8),
    /// A float of so many bytes, with so many decimals.
    Float(u8, u8),
    Errno(Size),
    Time,
    Path,
    /// A hex digit for a 32-bit hook, four for a 64-bit one.
    HookType,
    /// The low bytes as text, padded.
    Chars {
        len: u8,
        width: u32,
    },
}

/// A block, and what is done in its place where a demand in it is not met.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub body: Block,
    pub short: Block,
}

/// A block for simple records, and one for combines.
#[derive(Debug)]
pub(crate) struct ByForm {
    pub simple: Block,
    pub wide: Block,
}

/// Blocks for a value other than 0, and for 0.
#[derive(Debug)]
pub(crate) struct If {
    pub on: Value,
    pub then: Block,
    pub otherwise: Block,
}

/// A block that runs so many times.
#[derive(Debug)]
pub(crate) struct Loop {
    /// True if it takes all its turns, though the event has no more data.
    pub all: bool,
    pub count: Value,
    pub body: Block,
}

/// A value, and the entries that it may meet.
#[derive(Debug, Clone)]
pub(crate) struct Flags {
    pub value: Value,
    pub entries: Vec<Flag>,
}

#[derive(Debug)]
pub(crate) struct Switch {
    pub on: Select,
    /// What the cases do.
    pub bodies: Vec<Block>,
    /// The body of every other value.
    pub default: Option<usize>,
}

#[derive(Debug)]
pub(crate) enum Select {
    /// A number of so many bits (`None`: a word's), with the numbers that have a body; the first that is equal wins.
    Number { value: Value, width: Option<u32>, keys: Vec<(Number, usize)> },
    /// What a block prints, with a body by distinct text.
    Text(Block, Vec<(Vec<u8>, usize)>),
}

/// One BITFLAGS entry: `yes` prints when `value & mask == field`.
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

/// Calls `visit` on a block's nodes and on those of the blocks inside it, in order.
pub(crate) fn walk(block: &Block, visit: &mut impl FnMut(&Node)) {
    for node in block {
        walk_node(node, visit);
    }
}

/// Calls `visit` on a node, and on those of the blocks inside it, in order.
pub(crate) fn walk_node(node: &Node, visit: &mut impl FnMut(&Node)) {
    visit(node);
    match &node.inst {
        Inst::Switch(switch) => {
            if let Select::Text(text, _) = &switch.on {
                walk(text, visit);
            }
            switch.bodies.iter().for_each(|body| walk(body, visit));
        }
        Inst::Loop(node) => walk(&node.body, visit),
        Inst::Guarded(node) => both(&node.body, &node.short, visit),
        Inst::ByForm(node) => both(&node.simple, &node.wide, visit),
        Inst::If(node) => both(&node.then, &node.otherwise, visit),
        _ => {}
    }
}

fn both(first: &Block, second: &Block, visit: &mut impl FnMut(&Node)) {
    walk(first, visit);
    walk(second, visit);
}

impl Value {
    /// Whether computing the value reads at the data pointer or looks where it is.
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
    /// Whether the instruction itself uses or moves the data pointer.
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
            Inst::Switch(node) => matches!(&node.on, Select::Number { value, .. } if value.touches_pointer()),
            Inst::Loop(node) => node.count.touches_pointer(),
            Inst::Flags(flags) | Inst::FlagList(flags) => flags.value.touches_pointer(),
            Inst::If(node) => node.on.touches_pointer(),
            Inst::TimerStart(pair) | Inst::TimerEnd(pair) => pair.iter().any(Value::touches_pointer),
            _ => false,
        }
    }
}
