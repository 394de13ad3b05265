//! A case: a load, and the implementations that are measured with it.

use std::fmt;

/// Implementation that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The project.
    Engine,
    /// The engine, with the next event's cached entry looked up while the current one is printed, as in AIX reports.
    Ahead,
    /// The loop, for all routines.
    Loop,
    /// The checked interpreter.
    Checked,
    /// Code written by hand for this case.
    Native,
    /// The standard library, used in the ordinary way.
    Plain,
}

impl Side {
    /// All implementations.
    pub const ALL: [Side; 6] = [Side::Engine, Side::Ahead, Side::Loop, Side::Checked, Side::Native, Side::Plain];

    /// Name in benches and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Side::Engine => "engine",
            Side::Ahead => "ahead",
            Side::Loop => "loop",
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
    pub(super) fn new(units: usize) -> Self {
        Self { units: units as u64, sides: Vec::new() }
    }

    pub(super) fn side(mut self, side: Side, pass: impl FnMut() -> usize + 'static) -> Self {
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
    pub(super) fn new(name: impl Into<String>, make: impl Fn(usize) -> BenchCase + 'static) -> Self {
        Self { name: name.into(), make: Box::new(make) }
    }

    /// Creates the case, with about `n_events` events if their number is variable.
    pub fn case(&self, n_events: usize) -> BenchCase {
        (self.make)(n_events)
    }
}

/// Asserts that two implementations produced the same bytes.
pub(super) fn assert_same(left: &[u8], right: &[u8]) {
    if let Some(at) = left.iter().zip(right).position(|(a, b)| a != b) {
        let part =
            |text: &[u8]| String::from_utf8_lossy(&text[at.saturating_sub(80)..(at + 60).min(text.len())]).into_owned();
        panic!("they differ:\n{}\n----\n{}", part(left), part(right));
    }
    assert_eq!(left.len(), right.len(), "bytes of text");
}
