//! Benchmark cases per phase: run by the engine, by hand-written code, and some by the standard library.
//!
//! The benches measure the time of a pass, and `count-run` lets a tool count its instructions, so both measure the same
//! work. Before any measurement, all implementations must have printed the same bytes.

mod formats;
mod kev;
mod numbers;
mod report;
mod run;
mod switch;

use std::fmt;

/// Implementation that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The project.
    Engine,
    /// The engine, with the next event's cached entry looked up while the current one is printed, as in AIX reports.
    Ahead,
    /// The checked interpreter.
    Checked,
    /// Code written by hand for this case.
    Native,
    /// The standard library, used in the ordinary way.
    Plain,
}

impl Side {
    /// All implementations.
    pub const ALL: [Side; 5] = [Side::Engine, Side::Ahead, Side::Checked, Side::Native, Side::Plain];

    /// Name in benches and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Side::Engine => "engine",
            Side::Ahead => "ahead",
            Side::Checked => "checked",
            Side::Native => "native",
            Side::Plain => "plain",
        }
    }
}

/// One pass over a load; returns the bytes produced, or a sum that depends on all work.
type Pass = Box<dyn FnMut() -> usize>;

/// A load and its implementations.
pub struct BenchCase {
    /// Number of events, numbers or templates per pass.
    pub units: u64,
    sides: Vec<(Side, Pass)>,
}

impl fmt::Debug for BenchCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("units", &self.units).finish_non_exhaustive()
    }
}

impl BenchCase {
    fn new(units: usize) -> Self {
        Self { units: units as u64, sides: Vec::new() }
    }

    fn side(mut self, side: Side, pass: impl FnMut() -> usize + 'static) -> Self {
        self.sides.push((side, Box::new(pass)));
        self
    }

    /// Implementations of this case.
    pub fn sides(&self) -> Vec<Side> {
        self.sides.iter().map(|(side, _)| *side).collect()
    }

    /// Runs one pass; `None` if the case has no such implementation.
    pub fn pass(&mut self, side: Side) -> Option<usize> {
        let (_, pass) = self.sides.iter_mut().find(|(known, _)| *known == side)?;
        Some(std::hint::black_box(pass()))
    }

    /// Runs one pass under a name that tools can find: `benches/gate.sh` counts the instructions in this function and
    /// thread.
    #[inline(never)]
    pub fn measured_pass(&mut self, side: Side) -> Option<usize> {
        self.pass(side)
    }
}

/// A named case, created on demand.
pub struct Measure {
    /// Name within the phase.
    pub name: String,
    make: Box<dyn Fn(usize) -> BenchCase>,
}

impl fmt::Debug for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measure").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Measure {
    fn new(name: impl Into<String>, make: impl Fn(usize) -> BenchCase + 'static) -> Self {
        Self { name: name.into(), make: Box::new(make) }
    }

    /// Creates the case, with about `n_events` events if their number is variable.
    pub fn case(&self, n_events: usize) -> BenchCase {
        (self.make)(n_events)
    }
}

/// Name of a phase, and the function that creates its cases.
type Phase = (&'static str, fn() -> Vec<Measure>);

const PHASES: [Phase; 11] = [
    ("lex", formats::lex),
    ("compile", formats::compile),
    ("load", formats::load),
    ("step", report::step),
    ("run", run::shapes),
    ("line", report::line),
    ("report", report::realistic),
    ("numbers", numbers::measures),
    ("switch", switch::measures),
    ("kev", kev::measures),
    ("datakeys", run::datakeys),
];

/// Cases of a phase; empty if it does not exist.
pub fn phase(name: &str) -> Vec<Measure> {
    PHASES.iter().find(|(known, _)| *known == name).map_or_else(Vec::new, |(_, measures)| measures())
}

/// Names of all cases, as `phase/case`.
pub fn names() -> Vec<String> {
    PHASES
        .iter()
        .flat_map(|(phase, measures)| measures().into_iter().map(move |m| format!("{phase}/{}", m.name)))
        .collect()
}

/// Finds the case `phase/case`.
pub fn find(name: &str) -> Option<Measure> {
    let (phase_name, case) = name.split_once('/')?;
    phase(phase_name).into_iter().find(|measure| measure.name == case)
}

/// Asserts that two implementations produced the same bytes.
fn assert_same(left: &[u8], right: &[u8]) {
    if let Some(at) = left.iter().zip(right).position(|(a, b)| a != b) {
        let part =
            |text: &[u8]| String::from_utf8_lossy(&text[at.saturating_sub(80)..(at + 60).min(text.len())]).into_owned();
        panic!("they differ:\n{}\n----\n{}", part(left), part(right));
    }
    assert_eq!(left.len(), right.len(), "bytes of text");
}
