//! The syntax tree of one file of event definitions.
//!
//! The tree says what stands in the file, with attributes decoded, numbers read and formats parsed. What has no
//! attribute that it needs is left out of its lists, and the datakey or event around it is marked as refused. Names are
//! not resolved: fields, classes and events are the compiler's work.
//!
//! Nodes are `Copy`, borrow from the arena (`'ast`) and hold no destructor. A `tag` is the place of a start tag's `<`
//! and name.

pub use crate::trcfmt::ast::{Allow, Setting};
use crate::{Diagnostic, Label, Severity, Span, Spanned, codes};

/// One file: its datakeys and eventclasses in document order.
#[derive(Debug, Clone, Copy, Default)]
pub struct File<'ast> {
    /// `<!-- tfbc: NAME=VALUE -->` comments before the root's first child.
    pub settings: &'ast [Setting<'ast>],
    /// `<!-- tfbc: allow=CODE -->` comments.
    pub allows: &'ast [Allow<'ast>],
    /// The root's children.
    pub items: &'ast [Item<'ast>],
    /// Whether nothing of the file may be used, because it is no XML or not of this kind. Then it has no items.
    pub refused: bool,
}

impl File<'_> {
    /// Adds to an error about something in a datakey the place of that datakey, which is refused with it.
    pub fn name_refused(&self, diagnostic: &mut Diagnostic) {
        let place = diagnostic.primary.span;
        let n_before = self.items.partition_point(|item| item.tag().start <= place.start);
        let around = n_before.checked_sub(1).map(|last| self.items[last]);
        if let (Some(Item::Datakey(datakey)), Severity::Error) = (around, diagnostic.severity)
            && datakey.tag != place
            && *diagnostic.code != codes::LEFT_OUT
        {
            let (source, text) = (diagnostic.primary.source, "this datakey is refused".into());
            diagnostic.secondary.push(Label { source, span: datakey.tag, text });
        }
    }
}

impl Item<'_> {
    /// Its start tag.
    pub fn tag(&self) -> Span {
        match self {
            Item::Datakey(datakey) => datakey.tag,
            Item::EventClass(class) => class.tag,
        }
    }
}

/// A child of the root.
#[derive(Debug, Clone, Copy)]
pub enum Item<'ast> {
    /// `<datakey …>`
    Datakey(Datakey<'ast>),
    /// `<eventclass …>`
    EventClass(EventClass<'ast>),
}

impl File<'_> {
    /// Datakeys, and events of eventclasses.
    pub fn n_templates(&self) -> usize {
        let n = |item: &Item<'_>| if let Item::EventClass(class) = item { class.events.len() } else { 1 };
        self.items.iter().map(n).sum()
    }
}

/// `<datakey format="…">` with what stands in it.
#[derive(Debug, Clone, Copy)]
pub struct Datakey<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// Whether it, or something in it, is in error.
    pub refused: bool,
    /// `None` where it is missing or in error.
    pub format: Option<Format<'ast>>,
    /// Bytes from the payload's start.
    pub offset: Option<Spanned<u64>>,
    /// Bytes from the payload's start, for wide records.
    pub wide_offset: Option<Spanned<u64>>,
    /// `show_masked_value`; true where it is not given.
    pub show_masked_value: bool,
    /// The events that are named without an error, in document order.
    pub events: &'ast [Event<'ast>],
    /// In document order.
    pub bitmasks: &'ast [Bitmask<'ast>],
    /// In document order, defaults included.
    pub enums: &'ast [Enum<'ast>],
    /// In document order.
    pub conditions: &'ast [Condition<'ast>],
}

/// `<event class="…" id="…"/>` of a datakey.
#[derive(Debug, Clone, Copy)]
pub struct Event<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// What goes when it is deleted: the element, and the blanks before it on its line.
    pub whole: Span,
    /// The class.
    pub class: Key<'ast>,
    /// The event's id in its class.
    pub id: Key<'ast>,
}

/// `<eventclass id="…" name="…">`
#[derive(Debug, Clone, Copy)]
pub struct EventClass<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// The class; `None` where it is missing or in error.
    pub id: Option<Key<'ast>>,
    /// In document order.
    pub events: &'ast [ClassEvent<'ast>],
}

/// `<event id="…" sformat="…"/>` of an eventclass.
#[derive(Debug, Clone, Copy)]
pub struct ClassEvent<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// Whether it is in error.
    pub refused: bool,
    /// The event's id in its class; `None` where it is missing or in error.
    pub id: Option<Key<'ast>>,
    /// `None` where it is missing or in error.
    pub format: Option<Format<'ast>>,
}

/// A class or an event id: a number or a name.
#[derive(Debug, Clone, Copy)]
pub struct Key<'ast> {
    /// The value without blanks around it.
    pub span: Span,
    /// What it is.
    pub kind: KeyKind<'ast>,
}

/// How a class or an event id is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind<'ast> {
    /// A number, not yet compared with what classes and ids there are.
    Number(i128),
    /// A symbolic name such as `USER` or `__KER_MSG_SENDV:exit64`.
    Name(&'ast [u8]),
}

/// A number of 64 bits, -2^63 … 2^64-1, perhaps behind `!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal {
    /// Whether `!` stands before it.
    pub not: bool,
    /// The number.
    pub value: i128,
    /// Number and `!`, without blanks around them.
    pub span: Span,
}

/// The value of `name` or `key`: runs of white space are one blank, and none stands around it.
pub type Name<'ast> = Spanned<&'ast [u8]>;

/// `<bitmask name="…" value="…"/>`
#[derive(Debug, Clone, Copy)]
pub struct Bitmask<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// The label of its field; needed where the format has several.
    pub name: Option<Name<'ast>>,
    /// The mask, never inverted.
    pub value: Literal,
}

/// `<enum name="…" … string="…"/>` or `<enum name="…" default="…"/>`
#[derive(Debug, Clone, Copy)]
pub struct Enum<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// What goes when it is deleted: the element, and the blanks before it on its line.
    pub whole: Span,
    /// The label of its field; needed where the format has several.
    pub name: Option<Name<'ast>>,
    /// What it stands for.
    pub test: EnumTest,
    /// The text to show; never empty.
    pub text: &'ast [u8],
}

/// What an enum stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnumTest {
    /// Values that are equal.
    Value(Literal),
    /// Values that have all these bits.
    Mask(Literal),
    /// What no other enum matches.
    Default,
}

/// `<condition name="…" value="…" mask="…"/>`
#[derive(Debug, Clone, Copy)]
pub struct Condition<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// Label of a field of another datakey. Without a `name`, the datakey's only label, at the place of the tag.
    pub name: Name<'ast>,
    /// Present where `mask` is not.
    pub value: Option<Literal>,
    /// Present where `value` is not.
    pub mask: Option<Literal>,
}

/// A format without an error.
#[derive(Debug, Clone, Copy)]
pub struct Format<'ast> {
    /// The attribute's value, without its quotes.
    pub span: Span,
    /// The value, decoded.
    pub text: &'ast [u8],
    /// At least one; no two labels are the same.
    pub fields: &'ast [Field<'ast>],
}

/// `%spec label`
#[derive(Debug, Clone, Copy)]
pub struct Field<'ast> {
    /// From `%` to the label's end.
    pub span: Span,
    /// The parts that are written.
    pub spec: Spec,
    /// Runs of white space are one blank.
    pub label: Name<'ast>,
}

/// The parts of a spec, those that are left out `None`. At least one is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// 1, 2, 4 or 8 bytes.
    pub size: Option<u8>,
    /// The sign.
    pub sign: Option<Sign>,
    /// How many: above 1 only in an `sformat`, 0 only as `%1s0`, `%1u0` or `%10`.
    pub count: Option<u64>,
    /// How it is shown.
    pub show: Option<Show>,
}

/// Whether a number has a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `s`
    Signed,
    /// `u`
    Unsigned,
}

/// How a number is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// `d`
    Decimal,
    /// `x`
    Hex,
    /// `o`
    Octal,
    /// `c`
    Char,
}
