//! Cases of `data/qnx`: event definitions and a log each, and the expected output of `tfbc report -t XML --defined --to
//! tsv --columns class,id,data LOG` from an independent reading of the specification.

use std::path::{Path, PathBuf};

use tfbc::testing::qnx::{KevItem, KevLog, KevOptions, KevRecord};
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_snapshots::datakey::{Definitions, ReferenceRecord, class_name};
use tfbc_snapshots::kev;
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Limits, Machine};

const HEADING: &[u8] = b"class\tid\tdata\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/qnx")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Names of the cases.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the folder of cases");
    let names = files.filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".xml")?.to_string()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(names.len() >= 20);
    names
}

/// Escapes the characters that would end a column.
fn column(value: &[u8]) -> Vec<u8> {
    let spell = |byte: &u8| match byte {
        b'\t' => b"\\t".to_vec(),
        b'\n' => b"\\n".to_vec(),
        b'\\' => b"\\\\".to_vec(),
        byte => vec![*byte],
    };
    value.iter().flat_map(spell).collect()
}

/// Report line of a defined record.
fn line(record: &ReferenceRecord, text: &[u8]) -> Vec<u8> {
    let mut line = format!("{}\t{}\t", class_name(record.class), record.id).into_bytes();
    line.extend(column(text));
    line.push(b'\n');
    line
}

/// Report of the reference.
fn by_reference(xml: &[u8], log: &[u8]) -> Vec<u8> {
    let definitions = Definitions::read(&[xml]);
    let log = kev::read(log).expect("the cases' headers are whole");
    let mut lines = HEADING.to_vec();
    for found in &log.records {
        let record = ReferenceRecord {
            class: found.class,
            id: found.event,
            wide: found.wide,
            big_endian: log.big_endian,
            payload: &found.payload,
        };
        lines.extend(definitions.show(&record).map(|shown| line(&record, &shown.text)).unwrap_or_default());
    }
    lines
}

/// Report of compiler, reader and machine.
fn by_machine(xml: &[u8], log: &[u8], machine: Machine) -> Vec<u8> {
    let mut sources = Sources::new();
    sources.add(Source::new("case.xml", xml));
    let blob = compile(&sources, &Options::default()).blob.expect("something in each case is good");
    let mut runner = Runner::new(&blob, machine).expect("a blob of the compiler's opens");
    let input = std::io::Cursor::new(log.to_vec());
    let mut log = KevLog::from_read(input, "case.kev", None, &KevOptions::default()).expect("a whole header");
    let big_endian = log.header().big_endian;
    let mut lines = HEADING.to_vec();
    while let Some(item) = log.next().expect("bytes in memory") {
        let KevItem::Record(KevRecord { class, event, wide, bytes, .. }) = item else { continue };
        let record = ReferenceRecord { class, id: event, wide, big_endian, payload: bytes };
        lines.extend(runner.show(&record).map(|(text, _)| line(&record, &text)).unwrap_or_default());
    }
    lines
}

/// First differing line, from 1, in both versions.
fn first_difference(got: &[u8], want: &[u8]) -> String {
    let lines = |text: &[u8]| -> Vec<String> {
        text.split(|byte| *byte == b'\n').map(|line| line.escape_ascii().to_string()).collect()
    };
    let (got, want) = (lines(got), lines(want));
    let at = got.iter().zip(&want).position(|(got, want)| got != want).unwrap_or(got.len().min(want.len()));
    let of = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "(end)".into());
    format!("line {}\n got {}\nwant {}", at + 1, of(&got), of(&want))
}

fn check(report: impl Fn(&[u8], &[u8]) -> Vec<u8>) {
    let mut failures = Vec::new();
    for name in names() {
        let got = report(&read(&format!("{name}.xml")), &read(&format!("{name}.kev")));
        let want = read(&format!("{name}.tsv"));
        if got != want {
            failures.push(format!("{name}: {}", first_difference(&got, &want)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_reference_prints_every_case_as_expected() {
    check(by_reference);
}

#[test]
fn the_machine_prints_every_case_as_expected() {
    check(|xml, log| by_machine(xml, log, Machine::default()));
    check(|xml, log| by_machine(xml, log, Machine::checked(Limits::default())));
}
