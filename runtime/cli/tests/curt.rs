//! Tests of `curt`: its layout and flags.

use crate::common::{command, run};
use std::fs;
use std::path::Path;

fn curt(args: &[&str]) -> (String, String, i32) {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    run(command("curt").args(args).current_dir(samples))
}

#[test]
fn the_categories_are_in_the_layout_of_aix() {
    let (text, err, status) = curt(&["-i", "shell.trc"]);
    assert_eq!((err.as_str(), status), ("", 0));
    let table = " processing       percent       percent\n total time    total time     busy time\n     \
                 (msec)  (incl. idle)  (excl. idle)  processing category\n\
                 ===========   ===========   ===========  ===================\n       \
                 1.44          3.89         65.97  APPLICATION\n       0.54          1.46         24.82  SYSCALL\n";
    assert!(text.contains(table), "{text}");
    assert!(text.contains("      34.80         94.11                IDLE\n"), "{text}");
    assert!(text.contains("      36.98                              TOTAL\n"), "{text}");
    assert!(text.contains("   1.2740       1.2740   0.0599") || text.contains("(by Tid)"), "{text}");
}

#[test]
fn parts_are_chosen_by_flags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pids");
    fs::write(&path, "516 idle process\nx\n").unwrap();
    let (text, err, status) = curt(&["-i", "shell.trc", "-estpP", "-a", path.to_str().unwrap()]);
    assert!(status == 0 && err.contains("1 lines are not `PID name`"), "{err}");
    for part in
        ["Tot ETime", "Report for Thread Id: 8191 (hex 1fff)", "Process Details for Pid: 4522", "no pthread events"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (text, ..) = curt(&["-i", "shell.trc", "-f", "0.01", "-l", "0.02"]);
    assert!(text.contains("Elapsed nanoseconds = 10000000, from 10000000 to 20000000\n"), "{text}");
}

#[test]
fn what_is_not_public_is_refused() {
    for (args, expected) in [
        (&["-i", "shell.trc", "-r", "PURR"][..], "it is not public which events carry PURR values"),
        (&["-i", "shell.trc", "-@"], "it is not public how a trace names WPARs"),
        (&["-i", "user.kev"], "no record has a time"),
        (&["shell.trc"], "-i"),
        (&["-i", "shell.trc", "-o", "shell.trc"], "cannot write shell.trc"),
        (&["-i", "shell.trc", "-f", "2", "-l", "1"], "-l"),
    ] {
        let (out, err, status) = curt(args);
        assert!(out.is_empty() && status == 1 && err.contains(expected), "{args:?}: {err}");
    }
}
