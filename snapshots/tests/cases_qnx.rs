//! The cases of `data/qnx`: event definitions and a log each, and what `tfbc report -t XML --defined --to tsv --columns
//! class,id,data LOG` must print by an independent reading of the specification.

use std::path::{Path, PathBuf};

use tfbc_snapshots::datakey::{Definitions, Record, class_name};
use tfbc_snapshots::kev;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/qnx")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of the cases.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the folder of cases");
    let names = files.filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".xml")?.to_string()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(names.len() >= 20);
    names
}

/// A value with what would end its column spelt.
fn column(value: &[u8]) -> Vec<u8> {
    let spell = |byte: &u8| match byte {
        b'\t' => b"\\t".to_vec(),
        b'\n' => b"\\n".to_vec(),
        b'\\' => b"\\\\".to_vec(),
        byte => vec![*byte],
    };
    value.iter().flat_map(spell).collect()
}

/// The report that the reference gives.
fn report(xml: &[u8], log: &[u8]) -> Vec<u8> {
    let definitions = Definitions::read(&[xml]);
    let log = kev::read(log).expect("the cases' headers are whole");
    let mut lines = b"class\tid\tdata\n".to_vec();
    for found in &log.records {
        let record = Record {
            class: found.class,
            id: found.event,
            wide: found.wide,
            big_endian: log.big_endian,
            payload: &found.payload,
        };
        let Some(shown) = definitions.show(&record) else { continue };
        lines.extend(format!("{}\t{}\t", class_name(found.class), found.event).bytes());
        lines.extend(column(&shown.text));
        lines.push(b'\n');
    }
    lines
}

/// The first line that differs, from 1, with both versions.
fn first_difference(got: &[u8], want: &[u8]) -> String {
    let lines = |text: &[u8]| -> Vec<String> {
        text.split(|byte| *byte == b'\n').map(|line| line.escape_ascii().to_string()).collect()
    };
    let (got, want) = (lines(got), lines(want));
    let at = got.iter().zip(&want).position(|(got, want)| got != want).unwrap_or(got.len().min(want.len()));
    let of = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "(end)".into());
    format!("line {}\n got {}\nwant {}", at + 1, of(&got), of(&want))
}

#[test]
fn the_reference_prints_every_case_as_expected() {
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
