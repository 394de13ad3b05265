//! Coverage points, collected during lowering.

use std::collections::HashMap;
use tfbc_grammar::{SourceId, Span};

/// Kind of a coverage point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PointKind {
    /// A stanza.
    Stanza,
    /// A function.
    Function,
    /// Case of a switch, including `\*`.
    Case,
    /// Body of a loop.
    Loop,
    /// BITFLAGS entry whose bits are set, or whose field is equal.
    FlagSet,
    /// BITFLAGS entry with a text for cleared bits, if they are cleared.
    FlagClear,
    /// Printed datakey, or printed event of an eventclass.
    Datakey,
    /// `event` of a datakey that was printed for it.
    Event,
    /// `bitmask` of a printed field.
    Bitmask,
    /// `enum` whose string was printed.
    Enum,
    /// `default` that was printed.
    EnumDefault,
    /// `condition` that was true.
    ConditionTrue,
    /// `condition` that was false.
    ConditionFalse,
    /// Items after one that may end the event, in a stanza, function or brace group.
    Rest,
}

/// Part of a format file that events may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveragePoint {
    /// Kind of the part.
    pub kind: PointKind,
    /// Its source.
    pub source: SourceId,
    /// Span of the whole part; for elements, of the start tag.
    pub span: Span,
    /// Distinguishing text: an id, a name, a match value, a flag or a string.
    pub name: String,
}

/// Coverage points collected during lowering.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// True if the program gets probes.
    pub wanted: bool,
    /// True if the current part gets probes.
    pub on: bool,
    /// The points, by number.
    pub points: Vec<CoveragePoint>,
    /// Points of XML elements, which several events may share.
    known: HashMap<(PointKind, SourceId, Span), u32>,
}

impl Probes {
    pub fn new(wanted: bool) -> Self {
        Self { wanted, on: wanted, ..Self::default() }
    }

    /// Adds a point and returns its number; `None` if probes are off.
    pub fn point(&mut self, kind: PointKind, source: SourceId, span: Span, name: &[u8]) -> Option<u32> {
        if !self.on {
            return None;
        }
        let name = String::from_utf8_lossy(name).into_owned();
        self.points.push(CoveragePoint { kind, source, span, name });
        Some(self.points.len() as u32 - 1)
    }

    /// Returns the number of an element's point, adding it if it is new.
    pub fn element(&mut self, kind: PointKind, source: SourceId, span: Span, name: &[u8]) -> Option<u32> {
        if let Some(known) = self.known.get(&(kind, source, span)) {
            return Some(*known);
        }
        let number = self.point(kind, source, span, name)?;
        self.known.insert((kind, source, span), number);
        Some(number)
    }

    /// Number of an element's existing point; `None` if probes are off.
    pub fn known(&self, kind: PointKind, source: SourceId, span: Span) -> Option<u32> {
        self.known.get(&(kind, source, span)).copied().filter(|_| self.on)
    }
}
