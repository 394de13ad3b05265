//! The corpus of event definitions: each case against what it asks for.
//!
//! `INSTA_GLOB_FILTER='*enum*' cargo test -p tfbc-snapshots --test datakey` runs some of the cases.

use tfbc::render;
use tfbc_compiler::{Options, compile};
use tfbc_snapshots::datakey::case::Case;
use tfbc_snapshots::datakey::{Definitions, told};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Limits, Machine};

fn with_reference(case: &Case) -> Result<(), String> {
    let definitions = Definitions::read(&case.files);
    case.check(|record| definitions.show(record).map(|shown| (shown.text, shown.truncated)))
        .map_err(|difference| format!("{difference}{:?}", definitions.findings))?;
    case.check_findings(&definitions)
}

fn with_machine(case: &Case) -> Result<(), String> {
    let sources = case.sources();
    let compiled = compile(&sources, &Options::default());
    let found = told(&Definitions::read(&case.files), &sources, &compiled.diagnostics);
    let lines: String = compiled.diagnostics.iter().map(|found| render::short(&sources, found)).collect();
    let Some(blob) = &compiled.blob else {
        case.check(|_| None)?;
        return case.check_diagnostics(&found).map_err(|difference| format!("{difference}\n{lines}"));
    };
    for machine in [Machine::default(), Machine::checked(Limits::default())] {
        let mut runner = Runner::new(blob, machine).map_err(|error| format!("{}: {error}", case.name))?;
        case.check(|record| runner.show(record)).map_err(|difference| format!("{difference}{lines}"))?;
    }
    case.check_diagnostics(&found).map_err(|difference| format!("{difference}\n{lines}"))
}

/// Runs a check on every case of the corpus.
fn on_all(check: impl Fn(&Case) -> Result<(), String>) {
    let mut failures = Vec::new();
    let mut cases = 0;
    insta::glob!("../corpus/datakey", "*.case", |path| {
        cases += 1;
        failures.extend(check(&Case::read(path)).err());
    });
    assert!(cases > 0);
    assert!(failures.is_empty(), "{}\n{} of {cases} fail", failures.join("\n"), failures.len());
}

#[test]
fn the_reference_does_what_each_case_asks_for() {
    on_all(with_reference);
}

#[test]
fn the_machine_does_what_each_case_asks_for() {
    on_all(with_machine);
}
