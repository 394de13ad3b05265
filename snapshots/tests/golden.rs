//! The corpus: each case against what it asks for, and every stage's output against the kept one.
//!
//! `INSTA_GLOB_FILTER='*tab*' cargo test -p tfbc-snapshots --test golden` runs some of the cases,
//! `INSTA_UPDATE=always` accepts their output.

use std::path::Path;

use insta::{Settings, assert_snapshot};
use tfbc::render;
use tfbc_compiler::{Compiled, Options, Stage, compile, emit};
use tfbc_grammar::{Arena, Sources};
use tfbc_snapshots::case::{Case, Expect};
use tfbc_snapshots::reference::{Line, Reference, layout_without_columns};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Limits, Machine};

/// Compares one stage's text with the kept one; a stage that gave no text has none.
fn show(stage: &str, text: &str) {
    if !text.is_empty() {
        assert_snapshot!(stage, text);
    }
}

/// The settings of one case's snapshots: `golden/<stage>@<folder>__<case>.case.snap`.
fn settings(path: &Path, case: &Case) -> Settings {
    let mut settings = Settings::clone_current();
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    settings.set_snapshot_path("../golden");
    settings.set_snapshot_suffix(format!("{folder}__{}.case", case.name));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(case.comment.clone());
    settings
}

fn stages(case: &Case, sources: &Sources, compiled: &Compiled) {
    let options = Options::default();
    let rendered: Vec<String> = compiled.diagnostics.iter().map(|found| render::human(sources, found, false)).collect();
    show("diagnostics", &rendered.join("\n"));
    show("ast", &emit(sources, &options, Stage::Ast).0);
    show("ir", &emit(sources, &options, Stage::Ir).0);
    show("bytecode", &emit(sources, &options, Stage::Bytecode).0);
    if let Some(expect) = &case.expect {
        show("report", &String::from_utf8_lossy(&expect.text));
    }
}

/// What a machine prints for a case.
fn machine_report(case: &Case, reference: &Reference, blob: &[u8], machine: Machine) -> Result<Expect, String> {
    let mut runner = Runner::new(blob, machine).map_err(|error| format!("{}: {error}", case.name))?;
    Ok(case.report(|event| {
        let stanza = reference.stanza(event.hook()).expect("007 formats what nothing else does");
        let layout = layout_without_columns(stanza.level.map(|level| level.node));
        let line = Line { columns: b"", layout, limits: Limits::default() };
        runner.print(stanza.id.node.0, &event.event(), &event.context(), line)
    }))
}

fn check_report(who: &str, case: &Case, got: &Expect) -> Result<(), String> {
    let expect = case.expect.clone().unwrap_or_default();
    if *got == expect {
        return Ok(());
    }
    let show =
        |report: &Expect| format!("{:?}\n{}", report.ends, String::from_utf8_lossy(&report.text).replace('\n', "|\n"));
    Err(format!("{}: {who} prints\n{}instead of\n{}", case.name, show(got), show(&expect)))
}

fn check(path: &Path) -> Result<(), String> {
    let case = Case::read(path);
    let sources = case.sources();
    let compiled = compile(&sources, &Options::default());
    settings(path, &case).bind(|| stages(&case, &sources, &compiled));
    case.check_diagnostics(&sources, &compiled.diagnostics).map_err(|difference| {
        let found: String = compiled.diagnostics.iter().map(|found| render::short(&sources, found)).collect();
        format!("{}: {difference}; found\n{found}", case.name)
    })?;
    let Some(blob) = &compiled.blob else { return Ok(()) };
    let arena = Arena::new();
    let reference = Reference::parse(&arena, &sources).map_err(|found| format!("{}: {found:?}", case.name))?;
    check_report("the reference", &case, &case.reference_report(&reference))?;
    for (who, machine) in [("the machine", Machine::default()), ("its twin", Machine::checked(Limits::default()))] {
        check_report(who, &case, &machine_report(&case, &reference, blob, machine)?)?;
    }
    Ok(())
}

#[test]
fn golden() {
    let mut failures = Vec::new();
    insta::glob!("../corpus", "trcfmt/*.case", |path| failures.extend(check(path).err()));
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}
