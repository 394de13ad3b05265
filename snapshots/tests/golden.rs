//! Checks every corpus case, and compares the output of every stage with its golden file.
//!
//! `INSTA_GLOB_FILTER='*tab*' cargo test -p tfbc-snapshots --test kept golden` runs some of the cases, and
//! `INSTA_UPDATE=always` accepts their output.

use std::path::Path;

use insta::{Settings, assert_snapshot};
use tfbc_authoring::render;
use tfbc_compiler::{Compiled, Options, Stage, compile, emit};
use tfbc_grammar::{Arena, Sources};
use tfbc_snapshots::case::{CorpusCase, Expect};
use tfbc_snapshots::datakey;
use tfbc_snapshots::reference::{Line, Reference, layout_without_columns};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Limits, Machine, Program, Space};

/// Compares the stages of a case with `golden/<language>@<case>.snap`, which has one part per stage.
fn compare(language: &str, name: &str, comment: &str, stages: &[(&str, String)]) {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("../golden");
    settings.set_snapshot_suffix(name);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(comment);
    let shown = stages.iter().filter(|(_, text)| !text.is_empty());
    let text: String = shown.map(|(stage, text)| format!("==== {stage}\n{}\n", text.trim_end_matches('\n'))).collect();
    settings.bind(|| assert_snapshot!(language, text));
}

/// Output of the compiler stages, and the linked code.
fn compiler_stages(sources: &Sources, compiled: &Compiled) -> Vec<(&'static str, String)> {
    let options = Options::default();
    let diagnostics = compiled.diagnostics.iter().map(|found| render::human(sources, found, false)).collect::<Vec<_>>();
    vec![
        ("diagnostics", diagnostics.join("\n")),
        ("ast", emit(sources, &options, Stage::Ast).0),
        ("ir", emit(sources, &options, Stage::Ir).0),
        ("bytecode", emit(sources, &options, Stage::Bytecode).0),
        ("linked", compiled.blob.as_deref().map_or(String::new(), linked)),
    ]
}

/// Linked code of a blob, without the built-in stanzas.
fn linked(blob: &[u8]) -> String {
    let program = Program::open(blob).expect("a blob of the compiler opens");
    let entries = [Space::Hook, Space::Record].map(|space| program.entries(space));
    let own = entries.into_iter().flatten().filter(|entry| !entry.builtin);
    own.map(|entry| program.disassemble(Some(&entry))).collect::<Vec<_>>().join("")
}

/// Adds a `|` to every line if some line ends with a blank.
fn marked(text: &str) -> String {
    if text.lines().any(|line| line.ends_with(' ')) { text.replace('\n', "|\n") } else { text.to_owned() }
}

/// Report of a machine for a case.
fn machine_report(case: &CorpusCase, reference: &Reference, blob: &[u8], machine: Machine) -> Result<Expect, String> {
    let mut runner = Runner::new(blob, machine).map_err(|error| format!("{}: {error}", case.name))?;
    Ok(case.report(|event| {
        let stanza = reference.stanza(event.hook()).expect("007 formats what nothing else does");
        let layout = layout_without_columns(stanza.level.map(|level| level.node));
        let line = Line { columns: b"", layout, limits: Limits::default() };
        runner.print(stanza.id.node.0, &event.event(), &event.context(), line)
    }))
}

fn check_report(who: &str, case: &CorpusCase, got: &Expect) -> Result<(), String> {
    let expect = case.expect.clone().unwrap_or_default();
    if *got == expect {
        return Ok(());
    }
    let show =
        |report: &Expect| format!("{:?}\n{}", report.ends, String::from_utf8_lossy(&report.text).replace('\n', "|\n"));
    Err(format!("{}: {who} prints\n{}instead of\n{}", case.name, show(got), show(&expect)))
}

fn check(path: &Path) -> Result<(), String> {
    let case = CorpusCase::read(path);
    let sources = case.sources();
    let compiled = compile(&sources, &Options::default());
    let mut stages = compiler_stages(&sources, &compiled);
    let arena = Arena::new();
    let reference = Reference::parse(&arena, &sources);
    if let (Some(blob), Ok(reference)) = (&compiled.blob, &reference) {
        let report = machine_report(&case, reference, blob, Machine::default())?;
        stages.push(("report", marked(&String::from_utf8_lossy(&report.text))));
    }
    compare("trcfmt", &case.name, &case.comment, &stages);
    case.check_diagnostics(&sources, &compiled.diagnostics).map_err(|difference| {
        let found: String = compiled.diagnostics.iter().map(|found| render::short(&sources, found)).collect();
        format!("{}: {difference}; found\n{found}", case.name)
    })?;
    let Some(blob) = &compiled.blob else { return Ok(()) };
    let reference = reference.map_err(|found| format!("{}: {found:?}", case.name))?;
    check_report("the reference", &case, &case.reference_report(&reference))?;
    for (who, machine) in
        [("the machine", Machine::default()), ("the checked interpreter", Machine::checked(Limits::default()))]
    {
        check_report(who, &case, &machine_report(&case, &reference, blob, machine)?)?;
    }
    Ok(())
}

/// Compares the stages of an event definition case; `tests/datakey.rs` checks its report.
fn check_datakey(path: &Path) -> Result<(), String> {
    let case = datakey::case::DatakeyCase::read(path);
    let sources = case.sources();
    let compiled = compile(&sources, &Options::default());
    let mut stages = compiler_stages(&sources, &compiled);
    if let Some(blob) = &compiled.blob {
        let mut runner = Runner::new(blob, Machine::default()).map_err(|error| format!("{}: {error}", case.name))?;
        let lines = case.events.iter().map(|event| match runner.show(&event.record()) {
            Some((text, _)) => String::from_utf8_lossy(&text).into_owned() + "\n",
            None => "(none)\n".to_owned(),
        });
        stages.push(("report", marked(&lines.collect::<String>())));
    }
    compare("datakey", &case.name, &case.comment, &stages);
    Ok(())
}

fn on_all(pattern: &str, check: fn(&Path) -> Result<(), String>) {
    let mut failures = Vec::new();
    insta::glob!("../corpus", pattern, |path| failures.extend(check(path).err()));
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}

#[test]
fn templates() {
    on_all("trcfmt/*.case", check);
}

#[test]
fn event_definitions() {
    on_all("datakey/*.case", check_datakey);
}
