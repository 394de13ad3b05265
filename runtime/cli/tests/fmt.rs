//! Tests of `tfbc fmt`.

use crate::common::command;
use std::fs;
use std::path::Path;

const UGLY: &str = "010   1.0 \"A\"\\\n X4\n020 1.0 X17   \n";
const GOOD: &str = "010 1.0 \"A\" X4\n020 1.0 X17   \n";

fn run(directory: &Path, args: &[&str], input: &str) -> (String, String, i32) {
    let mut command = command("tfbc");
    command.current_dir(directory).arg("fmt").args(args).env("NO_COLOR", "1");
    crate::common::run(command.write_stdin(input))
}

#[test]
fn files_are_laid_out_in_place() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.trcfmt"), "010   1.0 \"A\"\\\n X4\n").unwrap();
    fs::write(directory.path().join("b.xml"), "<eventdefinitions></eventdefinitions>\n").unwrap();
    let files = ["a.trcfmt", "b.xml"];
    let (out, err, status) = run(directory.path(), &files, "");
    assert_eq!((status, out.as_str(), err.as_str()), (0, "", "2 files changed, 0 unchanged\n"));
    assert_eq!(fs::read_to_string(directory.path().join("a.trcfmt")).unwrap(), "010 1.0 \"A\" X4\n");
    assert_eq!(fs::read_to_string(directory.path().join("b.xml")).unwrap(), "<eventdefinitions/>\n");
    let (_, err, status) = run(directory.path(), &files, "");
    assert_eq!((status, err.as_str()), (0, "0 files changed, 2 unchanged\n"));
}

#[test]
fn what_cannot_be_read_stays_and_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.trcfmt");
    fs::write(&path, UGLY).unwrap();
    let (out, err, status) = run(directory.path(), &["a.trcfmt"], "");
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.contains("error[S07]") && err.contains("a.trcfmt:3:9"), "{err}");
    assert!(err.ends_with("1 file changed, 0 unchanged, 1 with errors\n"), "{err}");
    assert_eq!(fs::read_to_string(&path).unwrap(), GOOD);
    for (name, bytes, why) in [
        ("blob", tfbc_vm::LABEL.to_vec(), "compiled blob"),
        ("gz", vec![0x1F, 0x8B, 8, 0], "gzip"),
        ("none", vec![], "cannot read none"),
    ] {
        if name != "none" {
            fs::write(directory.path().join(name), &bytes).unwrap();
        }
        let (_, err, status) = run(directory.path(), &[name], "");
        assert!(status == 1 && err.contains(why), "{err}");
        assert!(name == "none" || fs::read(directory.path().join(name)).unwrap() == bytes);
    }
}

#[test]
fn a_check_shows_what_would_change() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.trcfmt");
    fs::write(&path, "# x\n010   1.0 \"A\" X4\n").unwrap();
    let (out, err, status) = run(directory.path(), &["--check", "a.trcfmt"], "");
    assert_eq!(out, "--- a.trcfmt\n+++ a.trcfmt\n@@ -1,2 +1,2 @@\n # x\n-010   1.0 \"A\" X4\n+010 1.0 \"A\" X4\n");
    assert_eq!((status, err.as_str()), (1, "1 file would change, 0 unchanged\n"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "# x\n010   1.0 \"A\" X4\n");
    let (out, _, status) = run(directory.path(), &["--check", "-"], GOOD.split_at(15).0);
    assert_eq!((status, out.as_str()), (0, ""));
}

#[test]
fn a_filter_writes_the_result_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (out, err, status) = run(directory.path(), &["-"], "010   1.0 \"A\"\n");
    assert_eq!((status, out.as_str(), err.as_str()), (0, "010 1.0 \"A\"\n", ""));
    fs::write(directory.path().join("a"), "010   1.0\r\n").unwrap();
    let (out, err, status) = run(directory.path(), &["--stdout", "a"], "");
    assert_eq!((status, out.as_str(), err.as_str()), (0, "010 1.0\r\n", ""));
    let (.., status) = run(directory.path(), &[], "");
    assert_eq!(status, 1);
}
