//! Benchmark cases per phase: run by the engine, by hand-written code, and some by the standard library.
//!
//! The benches measure the time of a pass, and `count-run` lets a tool count its instructions, so both measure the same
//! work. Before any measurement, all implementations must have printed the same bytes.

mod case;
mod formats;
mod kev;
mod numbers;
mod report;
mod run;
mod switch;
mod times;

pub use case::{BenchCase, Measure, Side};

/// Name of a phase, and the function that creates its cases.
type Phase = (&'static str, fn() -> Vec<Measure>);

const PHASES: [Phase; 12] = [
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
    ("times", times::measures),
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
