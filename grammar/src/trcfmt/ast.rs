//! The syntax tree of one trcfmt file.
//!
//! The tree says what stands in the source, with lexical questions settled (continuations joined, words classified,
//! sizes checked, soft blanks of bare words decided). Names are not resolved and match values not typed: that needs
//! the whole file set and the selector, and is the compiler's work.
//!
//! Nodes are `Copy`, borrow from the arena (`'ast`) and hold no destructor.

use crate::{Span, Spanned};

/// One file: its stanzas in source order, those with errors left out.
#[derive(Debug, Clone, Copy)]
pub struct File<'ast> {
    /// `# tfbc: NAME=VALUE` comment lines before the first stanza.
    pub settings: &'ast [Setting<'ast>],
    /// `# tfbc: allow=CODE` comment lines.
    pub allows: &'ast [Allow<'ast>],
    /// The stanzas that parsed.
    pub stanzas: &'ast [Stanza<'ast>],
    /// Stanzas that did not parse: what refers to them stays quiet.
    pub broken: &'ast [Broken],
    /// Names of the functions defined in stanzas that did not parse, as far as they could be read.
    pub broken_functions: &'ast [&'ast [u8]],
}

/// A stanza that did not parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// The whole logical line, without its line end.
    pub span: Span,
    /// The event id, if it could be read.
    pub id: Option<HookId>,
}

/// A `NAME=VALUE` of a dialect comment.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'ast> {
    /// Left of `=`.
    pub name: Spanned<&'ast [u8]>,
    /// Right of `=`, without blanks around it.
    pub value: Spanned<&'ast [u8]>,
}

/// Warnings that a comment allows.
#[derive(Debug, Clone, Copy)]
pub struct Allow<'ast> {
    /// The codes, as they are written; at least one.
    pub codes: &'ast [Spanned<&'ast [u8]>],
    /// The stanza or element that it is about; `None`: the whole file.
    pub scope: Option<Span>,
    /// What goes when the comment is deleted: the comment, and the line that it stands on alone.
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
    /// Version and release, compared as a pair.
    pub version: Spanned<(u32, u32)>,
    /// `L=`, when it stands there.
    pub level: Option<Spanned<Level>>,
    /// The event label, when there is one.
    pub label: Option<Label<'ast>>,
    /// What follows.
    pub body: Descriptor<'ast>,
}

/// The text column in which a stanza's text begins.
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

/// A stanza's label.
#[derive(Debug, Clone, Copy)]
pub struct Label<'ast> {
    /// The text as written, with a leading `@` if it has one.
    pub text: Text<'ast>,
    /// Whether it begins with `@`: listed by `-j`, not printed.
    pub hidden: bool,
}

/// A sequence of items.
pub type Descriptor<'ast> = &'ast [Item<'ast>];

/// A quoted string or a bare word.
#[derive(Debug, Clone, Copy)]
pub struct Text<'ast> {
    /// The bytes to print: no quotes, continuations joined.
    pub bytes: &'ast [u8],
    /// Where it stands, quotes included.
    pub span: Span,
    /// How it was written.
    pub kind: TextKind,
}

/// How a text was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// `"text"`: exact, no soft blank.
    Quoted,
    /// A bare word; `soft` says whether a soft blank follows (no item stands directly behind it).
    Word {
        /// Whether a soft blank follows the word.
        soft: bool,
    },
}

/// One item of a descriptor. There are many: what is large stands apart.
#[derive(Debug, Clone, Copy)]
pub enum Item<'ast> {
    /// `"text"` or a bare word.
    Text(Text<'ast>),
    /// `` `text` ``
    Backquoted(Backquoted<'ast>),
    /// `\n`
    Newline(Span),
    /// `\t`
    Tab(Span),
    /// A code that moves the data pointer.
    Move(Spanned<Move>),
    /// A code that prints.
    Code(Spanned<Code>),
    /// `$name` or `$name%cast`: a value, a text, an action or a subroutine, as the name resolves.
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

impl Item<'_> {
    /// Where the item stands.
    pub fn span(&self) -> Span {
        match self {
            Item::Text(text) => text.span,
            Item::Backquoted(text) => text.span,
            Item::Newline(span) | Item::Tab(span) => *span,
            Item::Move(node) => node.span,
            Item::Code(node) => node.span,
            Item::Macro(node) => node.span,
            Item::Assign(node) => node.span,
            Item::Declare(name) => name.span,
            Item::Function(node) => node.span,
            Item::Call(node) => node.span,
            Item::Switch(node) => node.span,
            Item::Loop(node) => node.span,
            Item::Bitflags(node) => node.span,
            Item::Timer(node) => node.span,
        }
    }
}

/// A backquoted string, cut into its own text and what is expanded in it.
#[derive(Debug, Clone, Copy)]
pub struct Backquoted<'ast> {
    /// The parts in order; neighbouring texts are joined.
    pub parts: &'ast [Part<'ast>],
    /// Where it stands, quotes included.
    pub span: Span,
}

/// A part of a backquoted string. Codes and macros print without their soft blank here.
#[derive(Debug, Clone, Copy)]
pub enum Part<'ast> {
    /// Text of the string's own, blanks included.
    Text(Spanned<&'ast [u8]>),
    /// A word that is a printing code.
    Code(Spanned<Code>),
    /// A word that is a position code: it acts.
    Move(Spanned<Move>),
    /// `$name` with its cast; subroutines and actions act.
    Macro(&'ast MacroRef<'ast>),
}

/// A name without its `$`, with its place (the `$` included where there is one).
pub type Name<'ast> = Spanned<&'ast [u8]>;

/// `$name[%cast]`
#[derive(Debug, Clone, Copy)]
pub struct MacroRef<'ast> {
    /// The name without `$`.
    pub name: &'ast [u8],
    /// The cast behind `%`.
    pub cast: Option<Spanned<Cast<'ast>>>,
    /// Where it stands, `$` and cast included.
    pub span: Span,
}

/// What stands behind `%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cast<'ast> {
    /// A printing code of section 6 but `HB` and `HT`; `%X0` is [`Code::HexByte`].
    Code(Code),
    /// `%Wm.n`: bits `low` to `high`, bit 0 the least significant; the parser has checked 0 ≤ low ≤ high ≤ 63.
    Bits {
        /// First bit.
        low: u8,
        /// Last bit, inclusive.
        high: u8,
    },
    /// `%W` alone or any other letters (`%HB` too): prints as an uncast user macro, with a warning.
    Unknown(&'ast [u8]),
}

/// The size of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// So many bytes.
    Bytes(u8),
    /// The hook's word: 4 or 8 bytes.
    Word,
}

/// A code that moves the data pointer. Sums saturate at `u32::MAX`; the pointer itself saturates at 2^31 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// `Gm.n`: go to byte m, bit n.
    Goto {
        /// m
        bytes: u32,
        /// n, may exceed 7
        bits: u32,
    },
    /// `Om.n`: advance m bytes, n bits.
    Omit {
        /// m
        bytes: u32,
        /// n, may exceed 7
        bits: u32,
    },
    /// `Rm`: back m bytes; `R0` rounds down to a byte.
    Reverse {
        /// m
        bytes: u32,
    },
    /// `Wm`: go to word m of the buffer.
    Word {
        /// m
        words: u32,
    },
}

/// A code that prints. Sizes are legal ones: the parser has refused the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// `Am.n`: text of up to m bytes, padded to n. `Am` has `width` 0.
    Ascii {
        /// m
        len: u32,
        /// n
        width: u32,
    },
    /// `Sm`: a length of m bytes, then that many bytes of text.
    Counted(Size),
    /// `Bm.n`: 8m+n binary digits, 1 to 64.
    Binary {
        /// 8m+n
        bits: u8,
    },
    /// `X0`: one byte as two hex digits, no soft blank.
    HexByte,
    /// `Xm`, 1 to 16 bytes or a word.
    Hex(Size),
    /// `Dm`
    Signed(Size),
    /// `Um`
    Unsigned(Size),
    /// `om`
    Octal(Size),
    /// `F4`, `F8`: a size in bytes.
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
    /// The macro.
    pub name: Name<'ast>,
    /// Its value.
    pub value: &'ast Expr<'ast>,
    /// Where it stands, braces included.
    pub span: Span,
}

/// An arithmetic expression on 64-bit values.
#[derive(Debug, Clone, Copy)]
pub enum Expr<'ast> {
    /// A format code: reads at the data pointer and moves it.
    Code(Spanned<Code>),
    /// A macro, perhaps cast.
    Macro(&'ast MacroRef<'ast>),
    /// A constant; one above 2^64 - 1 has been refused.
    Const(Spanned<u64>),
    /// `left op right`; parentheses leave no node.
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
    /// Where the expression stands.
    pub fn span(&self) -> Span {
        match self {
            Expr::Code(node) => node.span,
            Expr::Macro(node) => node.span,
            Expr::Const(node) => node.span,
            Expr::Binary { left, right, .. } => left.span().to(right.span()),
        }
    }
}

/// An operator; precedence as in C: `*` `/`, then `+` `-`, then `&`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, wrapping
    Add,
    /// `-`, wrapping
    Sub,
    /// `*`, wrapping
    Mul,
    /// `/`, toward zero; by zero gives 0
    Div,
    /// `&`
    And,
}

/// What a switch, loop or BITFLAGS reads: a code or a macro (a function parameter is a macro by its form).
#[derive(Debug, Clone, Copy)]
pub enum Selector<'ast> {
    /// A format code; the pointer advances.
    Code(Spanned<Code>),
    /// A macro with or without cast.
    Macro(&'ast MacroRef<'ast>),
}

impl Selector<'_> {
    /// Where it stands.
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
    /// What is compared.
    pub selector: Selector<'ast>,
    /// `& mask`, typed like a match value.
    pub mask: Option<Value<'ast>>,
    /// The cases in order, at least one.
    pub cases: &'ast [Case<'ast>],
    /// From the selector to the last case.
    pub span: Span,
}

/// `matchvalue body`
#[derive(Debug, Clone, Copy)]
pub struct Case<'ast> {
    /// What the selector is compared with.
    pub value: MatchValue<'ast>,
    /// What a match prints.
    pub body: Body<'ast>,
}

/// A match value, not yet typed.
#[derive(Debug, Clone, Copy)]
pub enum MatchValue<'ast> {
    /// `\*`
    Any(Span),
    /// A bare word: a number or a name, as the selector asks.
    Word(Value<'ast>),
    /// A quoted string.
    Quoted(Text<'ast>),
}

impl MatchValue<'_> {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            MatchValue::Any(span) => *span,
            MatchValue::Word(value) => value.span,
            MatchValue::Quoted(text) => text.span,
        }
    }
}

/// The raw bytes of a word in value position (`0x1F`, `-1`, `ENOENT`, `o17`, `B0`).
pub type Value<'ast> = Spanned<&'ast [u8]>;

/// A case's body.
#[derive(Debug, Clone, Copy)]
pub enum Body<'ast> {
    /// A string or one bare word.
    Text(Text<'ast>),
    /// A backquoted string.
    Backquoted(Backquoted<'ast>),
    /// `{ descriptor }`
    Group(Group<'ast>),
}

/// `{ descriptor }`
#[derive(Debug, Clone, Copy)]
pub struct Group<'ast> {
    /// The items between the braces.
    pub items: Descriptor<'ast>,
    /// The braces and what is between.
    pub span: Span,
}

/// `LOOP count { descriptor }`
#[derive(Debug, Clone, Copy)]
pub struct Loop<'ast> {
    /// How often.
    pub count: Selector<'ast>,
    /// What is repeated.
    pub body: Group<'ast>,
    /// From `LOOP` to the closing brace.
    pub span: Span,
}

/// `BITFLAGS selector, entry, …`
#[derive(Debug, Clone, Copy)]
pub struct Bitflags<'ast> {
    /// What is tested.
    pub selector: Selector<'ast>,
    /// The entries in order, at least one.
    pub entries: &'ast [FlagEntry<'ast>],
    /// From `BITFLAGS` to the last entry.
    pub span: Span,
}

/// One entry of a BITFLAGS statement.
#[derive(Debug, Clone, Copy)]
pub enum FlagEntry<'ast> {
    /// `flag "true" ["false"]`
    Flag {
        /// All these bits must be set.
        flag: Value<'ast>,
        /// Printed when they are.
        yes: Text<'ast>,
        /// Printed when they are not.
        no: Option<Text<'ast>>,
    },
    /// `& mask field "text"`
    Field {
        /// The bits compared.
        mask: Value<'ast>,
        /// What they must be.
        field: Value<'ast>,
        /// Printed when they are.
        text: Text<'ast>,
    },
}

/// `{{ name(param, …) descriptor }}`
#[derive(Debug, Clone, Copy)]
pub struct Function<'ast> {
    /// The function's name.
    pub name: Name<'ast>,
    /// Parameter names, written without `$`.
    pub params: &'ast [Name<'ast>],
    /// What a call prints.
    pub body: Descriptor<'ast>,
    /// The braces and what is between.
    pub span: Span,
}

/// `name(argument, …)`
#[derive(Debug, Clone, Copy)]
pub struct Call<'ast> {
    /// The function's name.
    pub name: Name<'ast>,
    /// Codes, macros or numbers only: the parser has refused other expressions.
    pub arguments: &'ast [Expr<'ast>],
    /// From the name to the closing parenthesis.
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
    /// From the keyword to the closing parenthesis.
    pub span: Span,
}

/// What a timer item does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerAction {
    /// Stores the event's time under the pair.
    Start,
    /// Prints the time since, in brackets, and forgets it.
    End,
}
