//! Checks every case of the event definition corpus.
//!
//! `INSTA_GLOB_FILTER='*enum*' cargo test -p tfbc-snapshots --test kept datakey` runs some of the cases.

use tfbc_authoring::render;
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_snapshots::datakey::case::DatakeyCase;
use tfbc_snapshots::datakey::{Definitions, ReferenceRecord, diagnostics_of};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Limits, Machine};

fn with_reference(case: &DatakeyCase) -> Result<(), String> {
    let definitions = Definitions::read(&case.files);
    case.check(|record| definitions.show(record).map(|shown| (shown.text, shown.truncated)))
        .map_err(|difference| format!("{difference}{:?}", definitions.findings))?;
    case.check_findings(&definitions)
}

fn with_machine(case: &DatakeyCase) -> Result<(), String> {
    let sources = case.sources();
    let compiled = compile(&sources, &Options::default());
    let found = diagnostics_of(&Definitions::read(&case.files), &sources, &compiled.diagnostics);
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
fn on_all(check: impl Fn(&DatakeyCase) -> Result<(), String>) {
    let mut failures = Vec::new();
    let mut cases = 0;
    insta::glob!("../corpus/datakey", "*.case", |path| {
        cases += 1;
        failures.extend(check(&DatakeyCase::read(path)).err());
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

#[test]
fn long_arrays_and_strings_are_whole() {
    let xml = b"<eventdefinitions><datakey sformat='%1u20000d list %1s0 text %1u1x end'><event class='6' id='1'/>\
        </datakey></eventdefinitions>";
    let mut payload = vec![7; 20_000];
    payload.extend([b'x'; 60_000]);
    payload.extend([0, 0x2a]);
    let record = ReferenceRecord { class: 6, id: 1, wide: true, big_endian: false, payload: &payload };
    let wanted = format!("list:[7{}] text:{} end:0x2a", ", 7".repeat(19_999), "x".repeat(60_000));
    let shown = Definitions::read(&[xml]).show(&record).expect("a record that is named");
    assert_eq!(String::from_utf8_lossy(&shown.text), wanted);
    let mut sources = Sources::new();
    sources.add(Source::new("long.xml", &xml[..]));
    let blob = compile(&sources, &Options::default()).blob.expect("a good file");
    for machine in [Machine::default(), Machine::checked(Limits::default())] {
        let mut runner = Runner::new(&blob, machine).expect("a blob of the compiler's opens");
        let (text, truncated) = runner.show(&record).expect("a record that is named");
        assert!(text == wanted.as_bytes() && !truncated, "{} bytes instead of {}", text.len(), wanted.len());
    }
}

/// Reads a file with one valid datakey and `inside`; true for "refused" by product and reference.
fn limited(inside: &str) -> (bool, bool) {
    let xml = format!(
        "<eventdefinitions><datakey format='%x a'><event class='6' id='1'/></datakey>{inside}</eventdefinitions>"
    );
    let mut sources = Sources::new();
    sources.add(Source::new("limit.xml", xml.as_str()));
    (Definitions::read(&[&xml]).refused_a_file(), compile(&sources, &Options::default()).blob.is_none())
}

#[test]
fn limits_of_a_document_hold() {
    let nested = |depth: usize| format!("{}{}", "<b>".repeat(depth), "</b>".repeat(depth));
    // The root has depth 1.
    assert_eq!(limited(&nested(63)), (false, false));
    assert_eq!(limited(&nested(64)), (true, true));
    let attributes = |count: usize| (0..count).map(|at| format!(" a{at}=''")).collect::<String>();
    assert_eq!(limited(&format!("<b{}/>", attributes(64))), (false, false));
    assert_eq!(limited(&format!("<b{}/>", attributes(65))), (true, true));
    assert_eq!(limited(&"  ".repeat(8 << 20)), (true, true));
    assert_eq!(limited(&"\n".repeat(1 << 20)), (false, false));
}
