//! The corpus: each case against what it asks for, and against the kept output of every stage.

use std::path::Path;

use tfbc_grammar::Arena;
use tfbc_snapshots::case::Case;
use tfbc_snapshots::reference::Reference;

fn check(path: &Path) -> Result<(), String> {
    let case = Case::read(path);
    let sources = case.sources();
    let arena = Arena::new();
    let reference = match Reference::parse(&arena, &sources) {
        Ok(reference) => reference,
        Err(found) if case.is_refused() => return case.check_diagnostics(&sources, &found),
        Err(found) => return Err(format!("{found:#?}")),
    };
    if case.is_refused() {
        return Ok(());
    }
    let report = case.reference_report(&reference);
    let expect = case.expect.clone().unwrap_or_default();
    if report != expect {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\n', "|\n");
        return Err(format!(
            "got {:?}\n{}want {:?}\n{}",
            report.ends,
            text(&report.text),
            expect.ends,
            text(&expect.text)
        ));
    }
    Ok(())
}

#[test]
fn golden() {
    let mut failures = Vec::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/trcfmt");
    for file in std::fs::read_dir(corpus).unwrap() {
        let path = file.unwrap().path();
        if let Err(failure) = check(&path) {
            failures.push(format!("{}: {failure}", path.file_stem().unwrap().to_string_lossy()));
        }
    }
    failures.sort();
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}
