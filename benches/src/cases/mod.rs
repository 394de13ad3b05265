//! What is measured: the cases of each phase, done by the engine, by hand, and some by plain definitions.
//!
//! The benches take the time of a case's passes, and `count-run` lets a tool count their instructions, so that both
//! measure the same. Before anything is measured, all sides must have printed the same bytes.

mod formats;
mod kev;
mod numbers;
mod report;
mod run;
mod switch;

use std::fmt;

/// Who does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The project.
    Engine,
    /// The same, with what the next event begins with looked up while one is printed, as reports of AIX traces do.
    Ahead,
    /// The machine's checked twin.
    Checked,
    /// Code written by hand for this case alone.
    Native,
    /// The standard library, as one writes it without a thought of speed.
    Plain,
}

impl Side {
    /// Every side.
    pub const ALL: [Side; 5] = [Side::Engine, Side::Ahead, Side::Checked, Side::Native, Side::Plain];

    /// Its name in benches and on command lines.
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

/// One pass over a case's load; gives the number of bytes that it made, or a sum that depends on all its work.
type Pass = Box<dyn FnMut() -> usize>;

/// A load, and those who handle it.
pub struct Case {
    /// Events, numbers or templates of a pass.
    pub units: u64,
    sides: Vec<(Side, Pass)>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("units", &self.units).finish_non_exhaustive()
    }
}

impl Case {
    fn new(units: usize) -> Self {
        Self { units: units as u64, sides: Vec::new() }
    }

    fn side(mut self, side: Side, pass: impl FnMut() -> usize + 'static) -> Self {
        self.sides.push((side, Box::new(pass)));
        self
    }

    /// Who can do it.
    pub fn sides(&self) -> Vec<Side> {
        self.sides.iter().map(|(side, _)| *side).collect()
    }

    /// Lets one side do it once; `None` where it is no side of this case.
    pub fn pass(&mut self, side: Side) -> Option<usize> {
        let (_, pass) = self.sides.iter_mut().find(|(known, _)| *known == side)?;
        Some(std::hint::black_box(pass()))
    }

    /// The same, by a name that a tool can look for: `benches/gate.sh` counts what happens in here, and only in this
    /// thread.
    #[inline(never)]
    pub fn measured_pass(&mut self, side: Side) -> Option<usize> {
        self.pass(side)
    }
}

/// A case by its name, made when it is wanted.
pub struct Measure {
    /// What it is called in its phase.
    pub name: String,
    make: Box<dyn Fn(usize) -> Case>,
}

impl fmt::Debug for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measure").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Measure {
    fn new(name: impl Into<String>, make: impl Fn(usize) -> Case + 'static) -> Self {
        Self { name: name.into(), make: Box::new(make) }
    }

    /// The case with about this many events, where their number is free.
    pub fn case(&self, n_events: usize) -> Case {
        (self.make)(n_events)
    }
}

/// A phase: its name, and what makes its cases.
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

/// The cases of a phase; none where there is no such phase.
pub fn phase(name: &str) -> Vec<Measure> {
    PHASES.iter().find(|(known, _)| *known == name).map_or_else(Vec::new, |(_, measures)| measures())
}

/// The names of all cases, as `phase/case`.
pub fn names() -> Vec<String> {
    PHASES
        .iter()
        .flat_map(|(phase, measures)| measures().into_iter().map(move |m| format!("{phase}/{}", m.name)))
        .collect()
}

/// The case `phase/case`.
pub fn find(name: &str) -> Option<Measure> {
    let (phase_name, case) = name.split_once('/')?;
    phase(phase_name).into_iter().find(|measure| measure.name == case)
}

/// Asserts that two sides made the same bytes.
fn assert_same(left: &[u8], right: &[u8]) {
    if let Some(at) = left.iter().zip(right).position(|(a, b)| a != b) {
        let part =
            |text: &[u8]| String::from_utf8_lossy(&text[at.saturating_sub(80)..(at + 60).min(text.len())]).into_owned();
        panic!("they differ:\n{}\n----\n{}", part(left), part(right));
    }
    assert_eq!(left.len(), right.len(), "bytes of text");
}
