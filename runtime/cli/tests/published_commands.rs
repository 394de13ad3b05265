//! Shell scripts with commands, their inputs, and the expected output.
//!
//! A case is a directory of `snapshots/data/commands`. `cmd` is a shell script that runs in a copy of the directory.
//! `stdout` is its standard output, byte for byte; `exit` is its status, 0 if there is no such file. A line of `stderr`
//! is a text that standard error must contain; after `!`, one that it must not contain; after `/`, a regular expression
//! that must match. Without `stdout` or `stderr`, nothing may be printed there.

use crate::common::{collected, program};
use regex::RegexBuilder;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of a case that are not inputs.
const EXPECTED: [&str; 4] = ["cmd", "stdout", "stderr", "exit"];

#[test]
fn every_aix_script_prints_what_its_case_says() {
    run_all("aix");
}

#[test]
fn every_qnx_script_prints_what_its_case_says() {
    run_all("qnx");
}

fn run_all(vendor: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/data/commands").join(vendor);
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(!cases.is_empty(), "{vendor} has no cases");
    let failures: String = cases.iter().map(|case| differences(case)).collect();
    assert!(failures.is_empty(), "{failures}");
}

/// A line for each difference from what the case expects.
fn differences(case: &Path) -> String {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("case");
    fs::create_dir(&folder).unwrap();
    for entry in fs::read_dir(case).unwrap() {
        let entry = entry.unwrap();
        if !EXPECTED.iter().any(|name| entry.file_name() == *name) {
            // Only the bytes: a read-only case must not give read-only copies.
            fs::write(folder.join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
        }
    }
    let mut path = OsString::from(program("tfbc").parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .arg(case.join("cmd"))
        .current_dir(&folder)
        .env_clear()
        .env("PATH", path)
        .env("LC_ALL", "C")
        .env("NO_COLOR", "1")
        .envs(["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TFBC_TRACE_DIR"].map(|name| (name, home.path())))
        .output()
        .unwrap();
    let name = case.file_name().unwrap().display();
    let mut found = String::new();
    let mut differs = |text: String| found += &format!("{name}: {text}\n");
    let expected = |file: &str| match fs::read(case.join(file)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => panic!("{}: {error}", case.join(file).display()),
    };
    let (stdout, stderr, status) = collected(output);
    let want = expected("stdout");
    if want != stdout {
        differs(format!("standard output is\n{stdout}and not\n{want}"));
    }
    let want = expected("exit");
    let want = if want.is_empty() { "0" } else { want.trim() };
    if want.parse() != Ok(status) {
        differs(format!("the exit status is {status} and not {want}"));
    }
    let want = expected("stderr");
    if want.is_empty() && !stderr.is_empty() {
        differs(format!("standard error is not empty: {stderr}"));
    }
    for line in want.lines() {
        let (holds, rule) = match (line.strip_prefix('!'), line.strip_prefix('/')) {
            (Some(text), _) => (!stderr.contains(text), "contains"),
            (_, Some(regex)) => (RegexBuilder::new(regex).multi_line(true).build().unwrap().is_match(&stderr), "lacks"),
            _ => (stderr.contains(line), "lacks"),
        };
        if !holds {
            differs(format!("standard error {rule} {line:?}: {stderr}"));
        }
    }
    found
}
