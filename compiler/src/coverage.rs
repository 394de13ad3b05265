//! Which parts of format files events reach: programs with probes in them.
//!
//! A probe is an instruction that does nothing but to be seen: it writes its number to a register that nothing reads.
//! Probes are put into the intermediate representation, before anything is decided that depends on an event's environment,
//! and stand in the way of every instruction that would stand for several cases at once. So what an observer of the
//! machine sees is exact for every construct, in all environments together; and what is printed is the same.

use crate::build::Form;
use crate::ir::PROBE_REGISTER;
use crate::{Built, Compiled, Options, run};
use std::collections::HashMap;
use tfbc_grammar::{SourceId, Sources, Span};
use tfbc_vm::{Instr, Op, Slot};

/// What a part of a format file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PointKind {
    /// A stanza.
    Stanza,
    /// A function.
    Function,
    /// A case of a switch, `\*` among them.
    Case,
    /// The body of a loop.
    Loop,
    /// A BITFLAGS entry whose bits are set, or whose field is equal.
    FlagSet,
    /// A BITFLAGS entry with a text for bits that are not set, and they are not.
    FlagClear,
    /// A datakey, or an event of an eventclass, that is shown.
    Datakey,
    /// An `event` of a datakey that is shown for it.
    Event,
    /// A `bitmask` on a field that is shown.
    Bitmask,
    /// An `enum` whose string is shown.
    Enum,
    /// A `default` that is shown.
    EnumDefault,
    /// A `condition` that holds.
    Holds,
    /// A `condition` that does not hold.
    Fails,
    /// What stands in a stanza, function or brace group behind an item that may end the event.
    Rest,
}

/// A part of a format file that events reach or do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// What it is.
    pub kind: PointKind,
    /// The file.
    pub source: SourceId,
    /// Its place: of parts of stanzas, with all that is inside; of elements, the start tag.
    pub span: Span,
    /// What tells it from others: an id, a name, a match value, a flag, a string.
    pub name: String,
}

/// A compilation with probes.
#[derive(Debug, Clone)]
pub struct Instrumented {
    /// The blob and all that was found, as of [`compile`](crate::compile).
    pub compiled: Compiled,
    /// The points, by the numbers of their probes.
    pub points: Vec<Point>,
}

/// Compiles sources as [`compile`](crate::compile) does, with a probe at every point. Stanzas and functions that are
/// replaced by later ones have no points, nor have refused definitions.
///
/// ```
/// use tfbc_compiler::{Options, coverage};
/// use tfbc_grammar::{Source, Sources};
/// let mut sources = Sources::new();
/// sources.add(Source::new("a.trcfmt", "010 1.0 \"SENSOR\" X1, 1 \"on\", 2 \"off\"\n"));
/// let made = coverage::instrument(&sources, &Options::default());
/// let names: Vec<_> = made.points.iter().map(|point| point.name.as_str()).collect();
/// assert_eq!(names, ["010", "1", "2"]);
/// ```
pub fn instrument(sources: &Sources, options: &Options) -> Instrumented {
    let mut probes = Probes::new(true);
    let take = |_: &_, built: Option<Built<'_>>| built.map(|built| built.blob.finish());
    let (blob, diagnostics, left_out) = run(sources, options, Form::Linked, &mut probes, take);
    Instrumented { compiled: Compiled { blob, diagnostics, left_out }, points: probes.points }
}

/// The number of the point whose probe an instruction of an instrumented program is.
pub fn probe(instr: &Instr) -> Option<usize> {
    let is_probe = instr.op == Op::Const as u8 && instr.slot(Slot::A) == PROBE_REGISTER;
    is_probe.then(|| instr.slot(Slot::B) as usize)
}

/// The points of a compilation, as they are met.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// Whether any are wanted.
    pub wanted: bool,
    /// Whether those are that are met now.
    pub on: bool,
    points: Vec<Point>,
    /// Points of elements, which several events may have in common.
    known: HashMap<(PointKind, SourceId, Span), u32>,
}

impl Probes {
    pub fn new(wanted: bool) -> Self {
        Self { wanted, on: wanted, ..Self::default() }
    }

    /// The number of a fresh point; `None` where none is wanted.
    pub fn point(&mut self, kind: PointKind, source: SourceId, span: Span, name: &[u8]) -> Option<u32> {
        if !self.on {
            return None;
        }
        let name = String::from_utf8_lossy(name).into_owned();
        self.points.push(Point { kind, source, span, name });
        Some(self.points.len() as u32 - 1)
    }

    /// The number of an element's point, fresh where it has none yet.
    pub fn element(&mut self, kind: PointKind, source: SourceId, span: Span, name: &[u8]) -> Option<u32> {
        if let Some(known) = self.known.get(&(kind, source, span)) {
            return Some(*known);
        }
        let number = self.point(kind, source, span, name)?;
        self.known.insert((kind, source, span), number);
        Some(number)
    }

    /// The number of an element's point that is known.
    pub fn known(&self, kind: PointKind, source: SourceId, span: Span) -> Option<u32> {
        self.known.get(&(kind, source, span)).copied().filter(|_| self.on)
    }
}
