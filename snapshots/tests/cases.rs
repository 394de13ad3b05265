//! The cases of `data/aix`: a format file and a stream each, and the report that an independent reading of the
//! specification gives for them.

use std::path::Path;

use tfbc_grammar::{Arena, Source, Sources};
use tfbc_snapshots::reference::Reference;
use tfbc_snapshots::report::report;

fn read(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/aix").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The first line that differs, from 1, with both versions.
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
    let status = String::from_utf8(read("status.txt")).unwrap();
    let mut failures = Vec::new();
    for line in status.lines() {
        let (name, status) = line.split_once(' ').unwrap();
        let mut sources = Sources::new();
        sources.add(Source::new(format!("{name}.trcfmt"), read(&format!("{name}.trcfmt"))));
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
        let got = report(&reference, &read(&stream), stream.as_bytes());
        let want = read(&format!("{name}.txt"));
        if got.text != want {
            failures.push(format!("{name}: {}", first_difference(&got.text, &want)));
        }
        if got.status.to_string() != status {
            failures.push(format!("{name}: status {} instead of {status}", got.status));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
