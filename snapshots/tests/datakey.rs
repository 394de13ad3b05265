//! The corpus of event definitions: each case against what it asks for.
//!
//! `INSTA_GLOB_FILTER='*enum*' cargo test -p tfbc-snapshots --test datakey` runs some of the cases.

use std::path::Path;

use tfbc_snapshots::datakey::Definitions;
use tfbc_snapshots::datakey::case::Case;

fn with_reference(case: &Case) -> Result<(), String> {
    let definitions = Definitions::read(&case.files);
    case.check(|record| definitions.show(record).map(|shown| (shown.text, shown.truncated)))
        .map_err(|difference| format!("{difference}{:?}", definitions.findings))?;
    case.check_findings(&definitions)
}

/// Runs a check on every case of the corpus.
fn on_all(check: impl Fn(&Case) -> Result<(), String>) {
    let mut failures = Vec::new();
    let mut cases = 0;
    insta::glob!("../corpus/datakey", "*.case", |path: &Path| {
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
