//! Event definitions after checking: names resolved, literals typed, what is refused left out. `check` makes it,
//! `lower` reads it.

use tfbc_grammar::{SourceId, Span};

/// The definitions of all XML files, and what each event is shown by.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// Datakeys and eventclass entries that stand, in the order given.
    pub definitions: Vec<Definition>,
    /// The events that they name, by class and id; class 13 is 5 already.
    pub events: Vec<EventPlan>,
}

/// A datakey, or one `event` of an eventclass.
#[derive(Debug)]
pub(crate) struct Definition {
    pub source: SourceId,
    /// The start tag.
    pub span: Span,
    /// The format as written, in the label of listings.
    pub format: Vec<u8>,
    pub fields: Vec<Field>,
    pub show_masked_value: bool,
    /// The start tags of the events that a datakey names; none of an event of an eventclass.
    pub event_tags: Vec<((u8, u16), Span)>,
}

/// One element of a format.
#[derive(Debug)]
pub(crate) struct Field {
    /// The spec and label in the format.
    pub span: Span,
    /// Runs of white space are one blank.
    pub label: Vec<u8>,
    pub shape: Shape,
    pub show: Show,
    /// The bits that all bitmasks leave, as a pattern of the field's width.
    pub mask: Option<u64>,
    pub search: Search,
    /// The start tags of the bitmasks.
    pub bitmasks: Vec<Span>,
    /// In document order, without `default`s.
    pub enums: Vec<Enum>,
    pub default: Option<Vec<u8>>,
    /// The start tag of the default.
    pub default_tag: Span,
}

/// What a field takes from the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A number of 1, 2, 4 or 8 bytes.
    Number { bytes: u8, signed: bool },
    /// `count` numbers, at least 2.
    Array { bytes: u8, signed: bool, count: u64 },
    /// `count` bytes of text, at least 2: an array of size 1 and format `c`.
    Chars { count: u64 },
    /// A text up to its NUL or the payload's end.
    Text,
}

impl Shape {
    /// Bytes that the payload must hold: of a text, its first.
    pub fn len(self) -> u64 {
        match self {
            Shape::Number { bytes, .. } => bytes.into(),
            Shape::Array { bytes, count, .. } => count.saturating_mul(bytes.into()),
            Shape::Chars { count } => count,
            Shape::Text => 1,
        }
    }
}

/// How a number is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// By the sign of its shape; unsigned behind a mask.
    Decimal,
    Hex,
    Octal,
    Char,
}

/// Which of the enums that a value meets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Search {
    /// Masks, up to the first `value` enum, which ends the search.
    #[default]
    Value,
    /// All.
    All,
}

/// One `enum` with a string.
#[derive(Debug)]
pub(crate) struct Enum {
    /// The start tag.
    pub tag: Span,
    pub test: Test,
    pub text: Vec<u8>,
}

/// A test of a field's value after its bitmask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// Equal to `bits`; `None` is a literal that no value has.
    Value { bits: Option<u64>, not: bool },
    /// `value & mask == mask`; `None` likewise.
    Mask { bits: Option<u64>, not: bool },
    /// `value & mask == bits`, of a condition with both.
    Both { mask: Option<u64>, bits: Option<u64>, not: bool },
}

/// What one event is shown by.
#[derive(Debug)]
pub(crate) struct EventPlan {
    pub class: u8,
    pub id: u16,
    /// In the order given.
    pub keys: Vec<Key>,
}

/// A definition that applies to an event.
#[derive(Debug)]
pub(crate) struct Key {
    /// Index of [`Model::definitions`].
    pub definition: usize,
    /// Bytes from the payload's start, in simple records and in wide ones.
    pub offsets: [u64; 2],
    /// All must hold. Conditions that are ignored for this event are left out.
    pub conditions: Vec<Condition>,
}

/// A condition with the field it reads. No circle of keys reads one another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Condition {
    /// The key of the same event that contributes the field, and the field; `None` where that definition was refused:
    /// the condition is false.
    pub field: Option<(usize, usize)>,
    pub test: Test,
    /// The start tag.
    pub tag: Span,
}
