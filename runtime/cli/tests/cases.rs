//! Published cases through the command, with source and compiled format files.

use crate::common::command;
use std::path::PathBuf;

fn cases() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/data/aix")
}

/// Standard output and exit status of a report in the directory of the cases, so that `$LOGFILE` is the bare name.
fn trcrpt(format: &str, stream: &str) -> (Vec<u8>, i32) {
    let mut command = command("trcrpt");
    let output = command.args(["-h", "-O", "ids=off,timestamp=3", "-t", format, stream]).current_dir(cases());
    let output = output.output().unwrap();
    (output.stdout, output.status.code().unwrap())
}

#[test]
fn every_case_prints_what_the_specification_says() {
    let status = std::fs::read_to_string(cases().join("status.txt")).unwrap();
    let mut wrong = Vec::new();
    for line in status.lines() {
        let (name, status) = line.split_once(' ').unwrap();
        let (text, code) = trcrpt(&format!("{name}.trcfmt"), &format!("{name}.stream"));
        if code.to_string() != status || text != std::fs::read(cases().join(format!("{name}.txt"))).unwrap() {
            wrong.push(name.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn blobs_print_what_their_sources_print() {
    let directory = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(cases()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "trcfmt") {
            continue;
        }
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let blob = directory.path().join("x.tfbc");
        let mut compile = command("tfbc");
        compile.args(["compile", "--quiet", "-o"]).arg(&blob).arg(&path).assert().success();
        let stream = format!("{stem}.stream");
        let from_source = trcrpt(path.to_str().unwrap(), &stream);
        assert_eq!(trcrpt(blob.to_str().unwrap(), &stream), from_source, "{stem}");
    }
}
