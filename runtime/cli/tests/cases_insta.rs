//! Compatibility with insta: it accepts our snapshots, and we read the ones it writes.

use crate::common::{command, run};
use assert_cmd::Command;
use std::fs;
use std::path::Path;

fn test(folder: &Path, flags: &[&str]) -> i32 {
    let mut command = command("tfbc");
    command.arg("test").arg("--no-cache").current_dir(folder).env_remove("CI").args(flags);
    run(command).2
}

/// Output of a case with difficult text: quotes, backslashes, trailing blanks, lines that look like a header.
const TEXT: &str = "==== \"quoted\": a # b\nA \"x\" \\ \t\n---\nsource: y  \n\n==== event 2\nB";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    file("a b: c.trcfmt", "010 1.0 \"@A\" `A \"x\" \\ \t` \\n \"---\" \\n \"source: y  \"\n020 1.0 \"B\" \"   \"\n");
    file(
        "a.case.toml",
        "formats = \"a b: c.trcfmt\"\nenv = 32\n[[event]]\nname = '\"quoted\": a # b'\nhex = \"010a0000\"\n[[event]]\nhex = \"020a0000\"\n",
    );
    folder
}

/// True if insta finds `text` in the kept file. It runs in a separate process, because it does not write new snapshots
/// if `CI` is set.
fn insta_takes(folder: &Path, text: &str) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "cases_insta::insta_asserts", "--ignored"]).env("INSTA_UPDATE", "new");
    command.env("KEPT_IN", folder).env("KEPT_TEXT", text).output().unwrap().status.success()
}

#[test]
#[ignore = "is run by `insta_takes`"]
fn insta_asserts() {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(std::env::var_os("KEPT_IN").unwrap());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("a.case", std::env::var("KEPT_TEXT").unwrap()));
}

#[test]
fn insta_takes_what_we_accept() {
    let folder = folder();
    assert_eq!(test(folder.path(), &["--update"]), 0);
    assert!(insta_takes(folder.path(), TEXT));
    // insta does reject other text.
    assert!(!insta_takes(folder.path(), &TEXT.replace('A', "C")));
    // That created insta's own `.snap.new`, which is read as one of ours.
    let pending = fs::read_to_string(folder.path().join("a.case.snap.new")).unwrap();
    assert!(pending.contains("==== \"quoted\": a # b\nC \"x\""), "{pending}");
    assert_eq!(test(folder.path(), &[]), 0);
}

#[test]
fn we_take_what_insta_accepts() {
    let folder = folder();
    assert_eq!(test(folder.path(), &[]), 1);
    // `cargo insta accept` reads the pending file and writes its text under the header that it read.
    let pending = fs::read_to_string(folder.path().join("a.case.snap.new")).unwrap();
    let head = "---\nsource: a.case.toml\nexpression: \"a b: c.trcfmt\"\n---\n";
    assert_eq!(pending, format!("{head}{TEXT}\n"));
    let written = format!("---\nsource: a.case.toml\nexpression: \"a b: c.trcfmt\"\n---\n{}\n", TEXT.trim_end());
    fs::write(folder.path().join("a.case.snap"), written).unwrap();
    fs::remove_file(folder.path().join("a.case.snap.new")).unwrap();
    assert_eq!(test(folder.path(), &[]), 0);
}
