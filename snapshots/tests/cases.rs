//! Cases of `data/aix`: a format file and a stream each, and the report expected from an independent reading of the
//! specification.

use std::path::Path;

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Arena, Severity, Source, Sources};
use tfbc_snapshots::reference::{Line, Reference, layout_without_columns};
use tfbc_snapshots::report::{report, report_by};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Limits, Machine};

fn read(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sources(name: &str) -> Sources {
    let mut sources = Sources::new();
    sources.add(Source::new(format!("{name}.trcfmt"), read(&format!("aix/{name}.trcfmt"))));
    sources
}

/// First differing line, from 1, in both versions.
fn first_difference(left: &[u8], right: &[u8]) -> String {
    let lines = |text: &[u8]| -> Vec<String> {
        text.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    };
    let (left, right) = (lines(left), lines(right));
    let at = left.iter().zip(&right).position(|(left, right)| left != right).unwrap_or(left.len().min(right.len()));
    let of = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "(end)".into());
    format!("line {}\n got {:?}\nwant {:?}", at + 1, of(&left), of(&right))
}

#[test]
fn the_reference_prints_every_case_as_expected() {
    let status = String::from_utf8(read("aix/status.txt")).unwrap();
    let mut failures = Vec::new();
    for line in status.lines() {
        let (name, status) = line.split_once(' ').unwrap();
        let sources = sources(name);
        let arena = Arena::new();
        let reference = match Reference::parse(&arena, &sources) {
            Ok(reference) => reference,
            Err(diagnostics) => {
                let found = diagnostics.iter().map(|found| format!("{} {}", found.code.code, found.message));
                failures.push(format!("{name}: {}", found.collect::<Vec<_>>().join("; ")));
                continue;
            }
        };
        let stream = format!("{name}.stream");
        let got = report(&reference, &read(&format!("aix/{stream}")), stream.as_bytes());
        let want = read(&format!("aix/{name}.txt"));
        if got.text != want {
            failures.push(format!("{name}: {}", first_difference(&got.text, &want)));
        }
        if got.status.to_string() != status {
            failures.push(format!("{name}: status {} instead of {status}", got.status));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_machine_prints_every_case_as_expected() {
    let status = String::from_utf8(read("aix/status.txt")).unwrap();
    let mut failures = Vec::new();
    for (name, _) in status.lines().filter_map(|line| line.split_once(' ')) {
        let sources = sources(name);
        let arena = Arena::new();
        let reference = Reference::parse(&arena, &sources).expect("the cases parse");
        let blob = compile(&sources, &Options::default()).blob.expect("what parses in these cases compiles");
        for machine in [Machine::default(), Machine::checked(Limits::default())] {
            let mut runner = Runner::new(&blob, machine).expect("a blob of the compiler's opens");
            let stream = format!("{name}.stream");
            let got = report_by(&read(&format!("aix/{stream}")), stream.as_bytes(), |hook, event, context| {
                let stanza = reference.stanza(hook).expect("007 formats what nothing else does");
                let layout = layout_without_columns(stanza.level.map(|level| level.node));
                let line = Line { columns: b"", layout, limits: Limits::default() };
                runner.print(stanza.id.node.0, event, context, line)
            });
            let want = read(&format!("aix/{name}.txt"));
            if got.text != want {
                failures.push(format!("{name}: {}", first_difference(&got.text, &want)));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_bad_file_is_refused_at_its_line() {
    let lines = String::from_utf8(read("aix-bad/lines.tsv")).unwrap();
    let mut failures = Vec::new();
    for line in lines.lines() {
        let mut fields = line.split('\t');
        let (name, want) = (fields.next().unwrap(), fields.next().unwrap());
        let mut sources = Sources::new();
        sources.add(Source::new(name, read(&format!("aix-bad/{name}"))));
        let compiled = compile(&sources, &Options::default());
        let errors = compiled.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let source = sources.iter().next().unwrap().1;
        let got: Vec<String> = errors.map(|found| source.line_column(found.primary.span.start).0.to_string()).collect();
        if compiled.blob.is_some() || got.iter().any(|line| line != want) || got.is_empty() {
            failures.push(format!("{name}: errors in lines {got:?} instead of {want}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
