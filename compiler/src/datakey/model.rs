//! Event definitions after checking: names are resolved, literals typed, definitions with errors removed. `check`
//! builds the model and `lower` reads it.

use tfbc_grammar::{SourceId, Span, Spanned};

/// Definitions of all XML files, and the ones that apply to each event.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// Valid datakeys and eventclass entries, in file order.
    pub definitions: Vec<Definition>,
    /// Events that they name, sorted by class and id. Class 13 is already replaced by 5.
    pub events: Vec<EventPlan>,
}

/// A datakey, or one `event` of an eventclass.
#[derive(Debug)]
pub(crate) struct Definition {
    pub source: SourceId,
    /// Span of the start tag.
    pub span: Span,
    /// Format as written; the label in listings.
    pub format: Vec<u8>,
    pub fields: Vec<FormatField>,
    pub show_masked_value: bool,
    /// Events of a datakey with the spans of their start tags. Empty for an event of an eventclass.
    pub event_tags: Vec<((u8, u16), Span)>,
    /// Entries of its `fields` comments.
    pub comment: Vec<Spanned<Vec<u8>>>,
}

/// One field of a format.
#[derive(Debug)]
pub(crate) struct FormatField {
    /// Span of spec and label in the format.
    pub span: Span,
    /// Label; each run of white space is one blank.
    pub label: Vec<u8>,
    pub shape: PayloadType,
    pub show: NumberStyle,
    /// Bits that remain after all bitmasks, as a pattern of the field's width.
    pub mask: Option<u64>,
    pub search: EnumSearch,
    /// Start tags of the bitmasks.
    pub bitmasks: Vec<Span>,
    /// Enums in document order, without `default`s.
    pub enums: Vec<EnumLabel>,
    pub default: Option<Vec<u8>>,
    /// Start tag of the default.
    pub default_tag: Span,
}

/// Data that a field reads from the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PayloadType {
    /// Number of 1, 2, 4 or 8 bytes.
    Number { bytes: u8, signed: bool },
    /// Array of `count` numbers, at least 2.
    Array { bytes: u8, signed: bool, count: u64 },
    /// `count` bytes of text, at least 2: an array of size 1 and format `c`.
    Chars { count: u64 },
    /// Text up to its NUL or the end of the payload.
    Text,
}

impl PayloadType {
    /// Bytes that the payload must contain; for a text, only the first byte.
    pub fn len(self) -> u64 {
        match self {
            PayloadType::Number { bytes, .. } => bytes.into(),
            PayloadType::Array { bytes, count, .. } => count.saturating_mul(bytes.into()),
            PayloadType::Chars { count } => count,
            PayloadType::Text => 1,
        }
    }
}

/// Output format of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberStyle {
    /// Signed if the shape is signed and there is no mask.
    Decimal,
    Hex,
    Octal,
    Char,
}

/// Selects which matching enums are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum EnumSearch {
    /// All matches up to the first `value` enum.
    #[default]
    Value,
    /// All matches.
    All,
}

/// One `enum` with a string.
#[derive(Debug)]
pub(crate) struct EnumLabel {
    /// Span of the start tag.
    pub tag: Span,
    pub test: Test,
    pub text: Vec<u8>,
}

/// Test on the value of a field after its bitmask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// Equal to `bits`; `None` is a literal outside of the field's range.
    Value { bits: Option<u64>, not: bool },
    /// `value & bits == bits`; `None` is a literal outside of the field's range.
    Mask { bits: Option<u64>, not: bool },
    /// `value & mask == bits`: a condition with both attributes.
    Both { mask: Option<u64>, bits: Option<u64>, not: bool },
}

/// Definitions that apply to one event.
#[derive(Debug)]
pub(crate) struct EventPlan {
    pub class: u8,
    pub id: u16,
    /// In file order.
    pub keys: Vec<AppliedDefinition>,
}

/// Definition that applies to an event.
#[derive(Debug)]
pub(crate) struct AppliedDefinition {
    /// Index in [`Model::definitions`].
    pub definition: usize,
    /// Bytes from the start of the payload, in simple and in wide records.
    pub offsets: [u64; 2],
    /// Conditions that must all be true. Conditions ignored for this event are left out.
    pub conditions: Vec<ResolvedCondition>,
}

/// Condition with the field it reads. Conditions never form a cycle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResolvedCondition {
    /// Index of the event's key that has the field, and index of the field. `None` if that definition was refused: the
    /// condition is false.
    pub field: Option<(usize, usize)>,
    pub test: Test,
    /// Span of the start tag.
    pub tag: Span,
}
