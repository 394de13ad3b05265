//! Syntax tree of one trcfmt file.
//!
//! The tree mirrors the source after lexical analysis: continued lines are joined, words classified, sizes checked, and
//! soft blanks after bare words decided. Names are not resolved and match values are not typed: that needs the whole
//! file set and the selector's type, so the compiler does it.
//!
//! Nodes are `Copy`, borrow from the arena (`'ast`) and have no destructor.

use crate::{Span, Spanned};

/// One file: its valid stanzas in source order.
#[derive(Debug, Clone, Copy)]
pub struct File<'ast> {
    /// `# tfbc: NAME=VALUE` comment lines before the first stanza.
    pub settings: &'ast [Setting<'ast>],
    /// `# tfbc: allow=CODE` comment lines.
    pub allows: &'ast [Allow<'ast>],
    /// Stanzas without errors.
    pub stanzas: &'ast [Stanza<'ast>],
    /// Stanzas with errors. References to them are not reported again.
    pub broken: &'ast [BrokenStanza],
    /// Readable names of functions defined in broken stanzas.
    pub broken_functions: &'ast [&'ast [u8]],
}

/// A stanza with a syntax error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenStanza {
    /// The whole logical line, without its line end.
    pub span: Span,
    /// The event id, if it is readable.
    pub id: Option<HookId>,
}

/// `NAME=VALUE` of a `# tfbc:` comment.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'ast> {
    /// Text before `=`.
    pub name: Spanned<&'ast [u8]>,
    /// Text after `=`, trimmed.
    pub value: Spanned<&'ast [u8]>,
}

/// Codes that a comment allows.
#[derive(Debug, Clone, Copy)]
pub struct Allow<'ast> {
    /// The codes as written; at least one.
    pub codes: &'ast [Spanned<&'ast [u8]>],
    /// Stanza or element that the comment applies to; `None` for the whole file.
    pub scope: Option<Span>,
    /// The range that a fix deletes: the comment, with its line if nothing else is on it.
    pub whole: Span,
}

/// A hook id in its canonical 16-bit form: `hhh` is stored as `hhh0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookId(pub u16);

/// `event_id V.R [L=level] [label] descriptor`
#[derive(Debug, Clone, Copy)]
pub struct Stanza<'ast> {
    /// The whole logical line, without its line end.
    pub span: Span,
    /// The event id.
    pub id: Spanned<HookId>,
    /// Version and release; compared as a pair.
    pub version: Spanned<(u32, u32)>,
    /// The `L=` field, if present.
    pub level: Option<Spanned<Level>>,
    /// The event label, if present.
    pub label: Option<Label<'ast>>,
    /// Items after the label.
    pub body: Descriptor<'ast>,
    /// Entries of the `# tfbc: fields=` comments above it, as written.
    pub fields: &'ast [Spanned<&'ast [u8]>],
}

/// Text column in which the output of a stanza begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// `L=APPL`, column 1.
    Appl,
    /// `L=SVC`, column 2.
    Svc,
    /// `L=KERN`, column 3.
    Kern,
    /// `L=INT`, column 4.
    Int,
    /// `L=0`: no report columns, text from column 0.
    Zero,
}

/// Label of a stanza.
#[derive(Debug, Clone, Copy)]
pub struct Label<'ast> {
    /// The text as written, including a leading `@`.
    pub text: Text<'ast>,
    /// True if it begins with `@`: listed by `-j`, but not printed.
    pub hidden: bool,
}

/// A sequence of items.
pub type Descriptor<'ast> = &'ast [DescriptorItem<'ast>];

/// A quoted string or a bare word.
#[derive(Debug, Clone, Copy)]
pub struct Text<'ast> {
    /// Bytes to print, without quotes and with continued lines joined.
    pub bytes: &'ast [u8],
    /// Span, including the quotes.
    pub span: Span,
    /// Form in the source.
    pub kind: TextKind,
}

/// Form of a text in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// `"text"`: printed exactly, without a soft blank.
    Quoted,
    /// A bare word.
    Word {
        /// True if a soft blank follows: no item is directly adjacent to the word.
        soft: bool,
    },
}

/// One item of a descriptor. Large nodes are references, because items are numerous.
#[derive(Debug, Clone, Copy)]
pub enum DescriptorItem<'ast> {
    /// `"text"` or a bare word.
    Text(Text<'ast>),
    /// `` `text` ``
    Backquoted(Backquoted<'ast>),
    /// `\n`
    Newline(Span),
    /// `\t`
    Tab(Span),
    /// Code that moves the data pointer.
    Move(Spanned<Move>),
    /// Code that prints.
    Code(Spanned<Code>),
    /// `$name` or `$name%cast`. The name may be a value, a text, an action or a subroutine; the compiler resolves it.
    Macro(&'ast MacroRef<'ast>),
    /// `{{ $name = EXPR }}`
    Assign(&'ast Assign<'ast>),
    /// `{{ $name }}`
    Declare(Name<'ast>),
    /// `{{ name(params) descriptor }}`
    Function(&'ast Function<'ast>),
    /// `name(arguments)`
    Call(&'ast Call<'ast>),
    /// `selector , case , … case`
    Switch(&'ast Switch<'ast>),
    /// `LOOP count { descriptor }`
    Loop(&'ast Loop<'ast>),
    /// `BITFLAGS selector, entry, …`
    Bitflags(&'ast Bitflags<'ast>),
    /// `starttimer(a,b)` or `endtimer(a,b)`
    Timer(&'ast Timer<'ast>),
}

impl DescriptorItem<'_> {
    /// Span of the whole item.
    pub fn span(&self) -> Span {
        match self {
            DescriptorItem::Text(text) => text.span,
            DescriptorItem::Backquoted(text) => text.span,
            DescriptorItem::Newline(span) | DescriptorItem::Tab(span) => *span,
            DescriptorItem::Move(node) => node.span,
            DescriptorItem::Code(node) => node.span,
            DescriptorItem::Macro(node) => node.span,
            DescriptorItem::Assign(node) => node.span,
            DescriptorItem::Declare(name) => name.span,
            DescriptorItem::Function(node) => node.span,
            DescriptorItem::Call(node) => node.span,
            DescriptorItem::Switch(node) => node.span,
            DescriptorItem::Loop(node) => node.span,
            DescriptorItem::Bitflags(node) => node.span,
            DescriptorItem::Timer(node) => node.span,
        }
    }
}

/// A backquoted string, split into text, codes and macros.
#[derive(Debug, Clone, Copy)]
pub struct Backquoted<'ast> {
    /// Parts in order; adjacent texts are merged.
    pub parts: &'ast [BackquotedPart<'ast>],
    /// Span, including the quotes.
    pub span: Span,
}

/// Part of a backquoted string. Codes and macros print without a soft blank here.
#[derive(Debug, Clone, Copy)]
pub enum BackquotedPart<'ast> {
    /// Literal text.
    Text(Spanned<&'ast [u8]>),
    /// Word that is a printing code.
    Code(Spanned<Code>),
    /// Word that is a position code: it moves the data pointer.
    Move(Spanned<Move>),
    /// `$name` with its cast; subroutines and actions run.
    Macro(&'ast MacroRef<'ast>),
}

/// A name without `$`; the span includes the `$`.
pub type Name<'ast> = Spanned<&'ast [u8]>;

/// `$name[%cast]`
#[derive(Debug, Clone, Copy)]
pub struct MacroRef<'ast> {
    /// Name without `$`.
    pub name: &'ast [u8],
    /// Cast after `%`.
    pub cast: Option<Spanned<Cast<'ast>>>,
    /// Span, including `$` and cast.
    pub span: Span,
}

/// Cast after `%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cast<'ast> {
    /// A printing code other than `HB` and `HT`; `%X0` is [`Code::HexByte`].
    Code(Code),
    /// `%Wm.n`: bits `low` to `high`, bit 0 is the least significant. The parser guarantees 0 ≤ low ≤ high ≤ 63.
    Bits {
        /// First bit.
        low: u8,
        /// Last bit, inclusive.
        high: u8,
    },
    /// `%W` alone or any other letters, `%HB` included. Prints like a user macro without a cast, with a warning.
    Unknown(&'ast [u8]),
}

/// Size of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// Number of bytes.
    Bytes(u8),
    /// Word of the hook: 4 or 8 bytes.
    Word,
}

/// Code that moves the data pointer. Counts saturate at `u32::MAX`, the pointer itself at 2^31 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// `Gm.n`: goes to byte m, bit n.
    Goto {
        /// `m`: byte to go to.
        bytes: u32,
        /// `n`: bit to go to; may exceed 7.
        bits: u32,
    },
    /// `Om.n`: skips m bytes and n bits.
    Omit {
        /// `m`: number of bytes to skip.
        bytes: u32,
        /// `n`: number of bits to skip; may exceed 7.
        bits: u32,
    },
    /// `Rm`: goes back m bytes; `R0` rounds down to a whole byte.
    Reverse {
        /// `m`: number of bytes to go back.
        bytes: u32,
    },
    /// `Wm`: goes to word m of the buffer.
    Word {
        /// `m`: word to go to.
        words: u32,
    },
}

/// Code that prints. The parser guarantees valid sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// `Am.n`: text of up to m bytes, padded to n. `Am` has `width` 0.
    Ascii {
        /// `m`: maximum length in bytes.
        len: u32,
        /// `n`: width to which the text is padded.
        width: u32,
    },
    /// `Sm`: a length of m bytes, then that many bytes of text.
    Counted(Size),
    /// `Bm.n`: 8m+n binary digits, 1 to 64.
    Binary {
        /// `8m+n`: number of bits.
        bits: u8,
    },
    /// `X0`: one byte as two hex digits, no soft blank.
    HexByte,
    /// `Xm`: 1 to 16 bytes or a word.
    Hex(Size),
    /// `Dm`
    Signed(Size),
    /// `Um`
    Unsigned(Size),
    /// `om`
    Octal(Size),
    /// `F4`, `F8`: size in bytes.
    Float(u8),
    /// `HB`
    HookBytes,
    /// `HT`
    HookType,
    /// `Tm`
    Time(Size),
    /// `Em`
    Errno(Size),
    /// `Pm`
    Path(Size),
}

/// `{{ $name = EXPR }}`
#[derive(Debug, Clone, Copy)]
pub struct Assign<'ast> {
    /// Macro that is assigned.
    pub name: Name<'ast>,
    /// Assigned value.
    pub value: &'ast Expr<'ast>,
    /// Span, including the braces.
    pub span: Span,
}

/// An arithmetic expression on 64-bit values.
#[derive(Debug, Clone, Copy)]
pub enum Expr<'ast> {
    /// Format code: reads at the data pointer and advances it.
    Code(Spanned<Code>),
    /// Macro, with or without a cast.
    Macro(&'ast MacroRef<'ast>),
    /// Constant; the parser refuses values above 2^64 - 1.
    Const(Spanned<u64>),
    /// `left op right`. Parentheses have no node of their own.
    Binary {
        /// The operator.
        op: Spanned<BinaryOp>,
        /// Evaluated first.
        left: &'ast Expr<'ast>,
        /// Evaluated second.
        right: &'ast Expr<'ast>,
    },
}

impl Expr<'_> {
    /// Span of the expression, without parentheses around it.
    pub fn span(&self) -> Span {
        match self {
            Expr::Code(node) => node.span,
            Expr::Macro(node) => node.span,
            Expr::Const(node) => node.span,
            Expr::Binary { left, right, .. } => left.span().to(right.span()),
        }
    }
}

/// Operator. Precedence as in C: `*` `/`, then `+` `-`, then `&`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, wrapping
    Add,
    /// `-`, wrapping
    Sub,
    /// `*`, wrapping
    Mul,
    /// `/`, rounds toward zero; division by zero gives 0
    Div,
    /// `&`
    And,
}

/// Input of a switch, loop or BITFLAGS: a code or a macro. A function parameter has the form of a macro.
#[derive(Debug, Clone, Copy)]
pub enum Selector<'ast> {
    /// Format code; advances the data pointer.
    Code(Spanned<Code>),
    /// Macro, with or without a cast.
    Macro(&'ast MacroRef<'ast>),
}

impl Selector<'_> {
    /// Span of the selector.
    pub fn span(&self) -> Span {
        match self {
            Selector::Code(node) => node.span,
            Selector::Macro(node) => node.span,
        }
    }
}

/// `selector [& mask] , case , … case`
#[derive(Debug, Clone, Copy)]
pub struct Switch<'ast> {
    /// Value that is compared.
    pub selector: Selector<'ast>,
    /// `& mask`, typed like a match value.
    pub mask: Option<RawValue<'ast>>,
    /// Cases in order; at least one.
    pub cases: &'ast [SwitchCase<'ast>],
    /// Span from the selector to the last case.
    pub span: Span,
}

/// `matchvalue body`
#[derive(Debug, Clone, Copy)]
pub struct SwitchCase<'ast> {
    /// Value that the selector must have.
    pub value: MatchValue<'ast>,
    /// Items printed on a match.
    pub body: Body<'ast>,
}

/// Match value; its type depends on the selector and is not known yet.
#[derive(Debug, Clone, Copy)]
pub enum MatchValue<'ast> {
    /// `\*`
    Any(Span),
    /// Bare word: a number or a name, depending on the selector.
    Word(RawValue<'ast>),
    /// A quoted string.
    Quoted(Text<'ast>),
}

impl MatchValue<'_> {
    /// Span of the value.
    pub fn span(&self) -> Span {
        match self {
            MatchValue::Any(span) => *span,
            MatchValue::Word(value) => value.span,
            MatchValue::Quoted(text) => text.span,
        }
    }
}

/// Raw bytes of a word in the position of a value, such as `0x1F`, `-1`, `ENOENT`, `o17`, `B0`.
pub type RawValue<'ast> = Spanned<&'ast [u8]>;

/// Body of a case.
#[derive(Debug, Clone, Copy)]
pub enum Body<'ast> {
    /// String or bare word.
    Text(Text<'ast>),
    /// Backquoted string.
    Backquoted(Backquoted<'ast>),
    /// `{ descriptor }`
    Group(Group<'ast>),
}

/// `{ descriptor }`
#[derive(Debug, Clone, Copy)]
pub struct Group<'ast> {
    /// Items between the braces.
    pub items: Descriptor<'ast>,
    /// Span, including the braces.
    pub span: Span,
}

/// `LOOP count { descriptor }`
#[derive(Debug, Clone, Copy)]
pub struct Loop<'ast> {
    /// Number of iterations.
    pub count: Selector<'ast>,
    /// Repeated items.
    pub body: Group<'ast>,
    /// Span from `LOOP` to the closing brace.
    pub span: Span,
}

/// `BITFLAGS selector, entry, …`
#[derive(Debug, Clone, Copy)]
pub struct Bitflags<'ast> {
    /// Value whose bits are tested.
    pub selector: Selector<'ast>,
    /// Entries in order; at least one.
    pub entries: &'ast [FlagEntry<'ast>],
    /// Span from `BITFLAGS` to the last entry.
    pub span: Span,
}

/// One entry of a BITFLAGS statement.
#[derive(Debug, Clone, Copy)]
pub enum FlagEntry<'ast> {
    /// `flag "true" ["false"]`
    Flag {
        /// Bits that must all be set.
        flag: RawValue<'ast>,
        /// Text if they are.
        yes: Text<'ast>,
        /// Text if they are not.
        no: Option<Text<'ast>>,
    },
    /// `& mask field "text"`
    Field {
        /// Bits that are compared.
        mask: RawValue<'ast>,
        /// Value that these bits must have.
        field: RawValue<'ast>,
        /// Text if they have it.
        text: Text<'ast>,
    },
}

/// `{{ name(param, …) descriptor }}`
#[derive(Debug, Clone, Copy)]
pub struct Function<'ast> {
    /// The function's name.
    pub name: Name<'ast>,
    /// Names of the parameters, written without `$`.
    pub params: &'ast [Name<'ast>],
    /// Items printed by a call.
    pub body: Descriptor<'ast>,
    /// Span, including the braces.
    pub span: Span,
}

/// `name(argument, …)`
#[derive(Debug, Clone, Copy)]
pub struct Call<'ast> {
    /// The function's name.
    pub name: Name<'ast>,
    /// Codes, macros or numbers; the parser refuses other expressions.
    pub arguments: &'ast [Expr<'ast>],
    /// Span from the name to the closing parenthesis.
    pub span: Span,
}

/// `starttimer(a,b)` or `endtimer(a,b)`
#[derive(Debug, Clone, Copy)]
pub struct Timer<'ast> {
    /// Start or end.
    pub action: TimerAction,
    /// First half of the key, evaluated first.
    pub first: &'ast Expr<'ast>,
    /// Second half of the key.
    pub second: &'ast Expr<'ast>,
    /// Span from the keyword to the closing parenthesis.
    pub span: Span,
}

/// Action of a timer item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerAction {
    /// Stores the time of the event under the key.
    Start,
    /// Prints the time since the start, in brackets, and removes the pair.
    End,
}
