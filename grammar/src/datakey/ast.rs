//! The syntax tree of one file of event definitions.
//!
//! The tree mirrors the file: attributes are decoded, numbers read, formats parsed. An element that lacks a required
//! attribute is left out, and the datakey or event that contains it is marked as refused. Names of fields, classes and
//! events are resolved by the compiler.
//!
//! Nodes are `Copy`, borrow from the arena (`'ast`) and have no destructor. A `tag` is the span of a start tag's `<`
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
    pub items: &'ast [TopLevelElement<'ast>],
    /// True if the file cannot be used at all, because it is not XML or has another root. Then it has no items.
    pub refused: bool,
}

impl File<'_> {
    /// Adds a label for the enclosing datakey to an error inside it, because that datakey is refused too.
    pub fn name_refused(&self, diagnostic: &mut Diagnostic) {
        let place = diagnostic.primary.span;
        let n_before = self.items.partition_point(|item| item.tag().start <= place.start);
        let around = n_before.checked_sub(1).map(|last| self.items[last]);
        if let (Some(TopLevelElement::Datakey(datakey)), Severity::Error) = (around, diagnostic.severity)
            && datakey.tag != place
            && *diagnostic.code != codes::LEFT_OUT
        {
            let (source, text) = (diagnostic.primary.source, "this datakey is refused".into());
            diagnostic.secondary.push(Label { source, span: datakey.tag, text });
        }
    }
}

impl TopLevelElement<'_> {
    /// Span of the start tag.
    pub fn tag(&self) -> Span {
        match self {
            TopLevelElement::Datakey(datakey) => datakey.tag,
            TopLevelElement::EventClass(class) => class.tag,
        }
    }
}

/// A child of the root.
#[derive(Debug, Clone, Copy)]
pub enum TopLevelElement<'ast> {
    /// `<datakey …>`
    Datakey(Datakey<'ast>),
    /// `<eventclass …>`
    EventClass(EventClass<'ast>),
}

impl File<'_> {
    /// Number of datakeys plus events of eventclasses, the unit of
    /// [`SourceLimits::templates`](crate::SourceLimits::templates).
    pub fn n_templates(&self) -> usize {
        let n = |item: &TopLevelElement<'_>| {
            if let TopLevelElement::EventClass(class) = item { class.events.len() } else { 1 }
        };
        self.items.iter().map(n).sum()
    }
}

/// `<datakey format="…">` with its children.
#[derive(Debug, Clone, Copy)]
pub struct Datakey<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// True if the datakey or one of its children has an error.
    pub refused: bool,
    /// `None` if it is missing or has an error.
    pub format: Option<Format<'ast>>,
    /// Bytes from the payload's start.
    pub offset: Option<Spanned<u64>>,
    /// Bytes from the payload's start, for wide records.
    pub wide_offset: Option<Spanned<u64>>,
    /// `show_masked_value`; true by default.
    pub show_masked_value: bool,
    /// The events without errors, in document order.
    pub events: &'ast [EventElement<'ast>],
    /// In document order.
    pub bitmasks: &'ast [Bitmask<'ast>],
    /// In document order, defaults included.
    pub enums: &'ast [Enum<'ast>],
    /// In document order.
    pub conditions: &'ast [Condition<'ast>],
    /// Entries of the `<!-- tfbc: fields=… -->` comments before it, as written.
    pub fields: &'ast [Spanned<&'ast [u8]>],
}

/// `<event class="…" id="…"/>` of a datakey.
#[derive(Debug, Clone, Copy)]
pub struct EventElement<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// The range that a fix deletes: the element and the blanks before it on its line.
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
    /// The class; `None` if it is missing or has an error.
    pub id: Option<Key<'ast>>,
    /// In document order.
    pub events: &'ast [ClassEvent<'ast>],
}

/// `<event id="…" sformat="…"/>` of an eventclass.
#[derive(Debug, Clone, Copy)]
pub struct ClassEvent<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// True if it has an error.
    pub refused: bool,
    /// The event's id in its class; `None` if it is missing or has an error.
    pub id: Option<Key<'ast>>,
    /// `None` if it is missing or has an error.
    pub format: Option<Format<'ast>>,
}

/// A class or an event id: a number or a name.
#[derive(Debug, Clone, Copy)]
pub struct Key<'ast> {
    /// Span of the value without surrounding blanks.
    pub span: Span,
    /// Number or name.
    pub kind: KeyKind<'ast>,
}

/// Value of a class or an event id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind<'ast> {
    /// A number; the compiler checks its range.
    Number(i128),
    /// A symbolic name such as `USER` or `__KER_MSG_SENDV:exit64`.
    Name(&'ast [u8]),
}

/// A 64-bit number, -2^63 … 2^64-1, with an optional `!` before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal {
    /// True if `!` precedes the number.
    pub not: bool,
    /// The number.
    pub value: i128,
    /// Span of number and `!`, without surrounding blanks.
    pub span: Span,
}

/// Value of `name` or `key`, trimmed; each run of white space is one blank.
pub type Name<'ast> = Spanned<&'ast [u8]>;

/// `<bitmask name="…" value="…"/>`
#[derive(Debug, Clone, Copy)]
pub struct Bitmask<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// Label of the field it applies to; required if the format has several.
    pub name: Option<Name<'ast>>,
    /// The mask, never inverted.
    pub value: Literal,
}

/// `<enum name="…" … string="…"/>` or `<enum name="…" default="…"/>`
#[derive(Debug, Clone, Copy)]
pub struct Enum<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// The range that a fix deletes: the element and the blanks before it on its line.
    pub whole: Span,
    /// Label of the field it applies to; required if the format has several.
    pub name: Option<Name<'ast>>,
    /// Values that it matches.
    pub test: EnumTest,
    /// Text to print; never empty.
    pub text: &'ast [u8],
}

/// Values that an enum matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnumTest {
    /// The value equal to the literal.
    Value(Literal),
    /// Values that have all these bits set.
    Mask(Literal),
    /// Values that no other enum matches.
    Default,
}

/// `<condition name="…" value="…" mask="…"/>`
#[derive(Debug, Clone, Copy)]
pub struct Condition<'ast> {
    /// Its start tag.
    pub tag: Span,
    /// Label of a field of another datakey. If `name` is missing: the datakey's only label, with the span of the tag.
    pub name: Name<'ast>,
    /// At least one of `value` and `mask` is present.
    pub value: Option<Literal>,
    /// At least one of `value` and `mask` is present.
    pub mask: Option<Literal>,
}

/// A format without an error.
#[derive(Debug, Clone, Copy)]
pub struct Format<'ast> {
    /// Span of the attribute's value, without its quotes.
    pub span: Span,
    /// The decoded value.
    pub text: &'ast [u8],
    /// At least one field; labels are unique.
    pub fields: &'ast [Field<'ast>],
}

/// `%spec label`
#[derive(Debug, Clone, Copy)]
pub struct Field<'ast> {
    /// Span from `%` to the end of the label.
    pub span: Span,
    /// The parsed spec.
    pub spec: Spec,
    /// Label; each run of white space is one blank.
    pub label: Name<'ast>,
}

/// Parts of a spec; at least one is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Size in bytes: 1, 2, 4 or 8.
    pub size: Option<u8>,
    /// `s` or `u`.
    pub sign: Option<Sign>,
    /// Number of elements: above 1 only in an `sformat`, 0 (text up to its NUL) only as `%1s0`, `%1u0` or `%10`.
    pub count: Option<u64>,
    /// Output format.
    pub show: Option<NumberStyle>,
}

/// Signedness of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `s`
    Signed,
    /// `u`
    Unsigned,
}

/// Output format of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberStyle {
    /// `d`
    Decimal,
    /// `x`
    Hex,
    /// `o`
    Octal,
    /// `c`
    Char,
}
