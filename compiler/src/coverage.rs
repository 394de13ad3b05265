//! Coverage of format files: programs with probes that show which parts events reach.
//!
//! A probe is an instruction without effect: it writes its number to a register that nothing reads. Probes are inserted
//! into the IR, before any decision depends on the environment, and they prevent instructions from being merged across
//! cases. So the observed coverage is exact for every construct and environment, and the output does not change.

use crate::build::{Built, CodeForm};
use crate::ir::PROBE_REGISTER;
use crate::probes::Probes;
pub use crate::probes::{CoveragePoint, PointKind};
use crate::{Compiled, Options, run};
use tfbc_grammar::Sources;
use tfbc_vm::{Instr, Op, Slot};

/// Compilation with probes.
#[derive(Debug, Clone)]
pub struct Instrumented {
    /// Blob and diagnostics, as returned by [`compile`](crate::compile).
    pub compiled: Compiled,
    /// Points, indexed by the numbers of their probes.
    pub points: Vec<CoveragePoint>,
}

/// Compiles sources like [`compile`](crate::compile), with a probe at every point. Stanzas and functions that are
/// replaced by later ones, and refused definitions, have no points.
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
    let (blob, diagnostics, left_out) = run(sources, options, CodeForm::Linked, &mut probes, take);
    Instrumented { compiled: Compiled { blob, diagnostics, left_out }, points: probes.points }
}

/// Number of the point, if the instruction is a probe.
pub fn probe(instr: &Instr) -> Option<usize> {
    let is_probe = instr.op == Op::Const as u8 && instr.slot(Slot::A) == PROBE_REGISTER;
    is_probe.then(|| instr.slot(Slot::B) as usize)
}
