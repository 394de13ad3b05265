//! Reports with faulty format files: the parts that stay in use, and the errors that refuse a file.

use crate::common::command;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Directory with files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn run(folder: &TempDir, program: &str, args: &[&str]) -> (String, String, i32) {
    let mut command = command(program);
    crate::common::run(command.current_dir(folder.path()).env("NO_COLOR", "1").env("TFBC_CACHE", "off").args(args))
}

/// Events 010, 011, 012, 013 and 011 again.
fn trace() -> String {
    let case = "../../snapshots/data/commands/aix/bad-stanza/s.stream";
    Path::new(env!("CARGO_MANIFEST_DIR")).join(case).to_str().unwrap().to_owned()
}

/// Texts of hooks 010 and 011 in a report with these files, the errors, and the status.
fn report(files: &[(&str, &str)], more: &[&str]) -> (Vec<String>, String, i32) {
    let folder = folder(files);
    let trace = trace();
    let mut args = vec!["report", "--no-heading", "--columns", "text", "--only", "010,011"];
    args.extend(files.iter().flat_map(|(name, _)| ["-t", name]));
    args.extend(more);
    args.push(&trace);
    let (out, err, status) = run(&folder, "tfbc", &args);
    (out.lines().map(String::from).collect(), err, status)
}

#[test]
fn an_earlier_stanza_applies_again() {
    let text = "010 1.0 \"@\" \"first\"\n010 1.1 \"@\" \"second\" $D1%X17\n011 1.0 \"@\" \"eleven\"\n";
    let (out, err, status) = report(&[("t", text)], &[]);
    assert_eq!((&out[..], status), (&["first", "eleven", "eleven"].map(String::from)[..], 2), "{err}");
    assert!(err.contains("t:2:") && err.contains("t: 1 stanza left out (010)\n"), "{err}");
    // The same mistake in another file.
    let files = [("a", "010 1.0 \"@\" \"first\"\n"), ("b", "010 1.0 L=BAD\n011 1.0 \"@\" \"eleven\"\n")];
    let (out, err, status) = report(&files, &[]);
    assert_eq!((&out[..], status), (&["first", "eleven", "eleven"].map(String::from)[..], 2), "{err}");
    assert!(err.contains("b: 1 stanza left out (010)\n") && !err.contains("a: "), "{err}");
}

#[test]
fn what_calls_something_left_out_is_left_out_too() {
    // 0FE calls an undefined name and defines f(); 010 calls $0FD, which calls f().
    let text =
        "0FE 1.0 \"@\" {{ f(x) $x%U4 }} $0FF\n0FD 1.0 \"@\" f($D1)\n010 1.0 \"@\" $0FD\n011 1.0 \"@\" \"eleven\"\n";
    let (out, err, status) = report(&[("t", text)], &[]);
    assert!(out[0].starts_with("UNDEFINED TRACE ID"), "{out:?}");
    assert_eq!((&out[1..], status), (&["eleven", "eleven"].map(String::from)[..], 2), "{err}");
    assert!(err.contains("t: 3 stanzas left out (010, 0FD, 0FE)\n"), "{err}");
    // The stanza that defines f() cannot be parsed.
    let (_, err, _) = report(&[("t", &text.replace("$0FF", "X4,"))], &[]);
    assert!(err.contains("t: 3 stanzas left out (010, 0FD, 0FE)\n"), "{err}");
}

#[test]
fn mutually_recursive_stanzas_and_callers_are_left_out() {
    let text = "010 1.0 \"@\" $0FE\n0FE 1.0 \"@\" $0FD\n0FD 1.0 \"@\" $0FE\n011 1.0 \"@\" \"eleven\"\n";
    let (out, err, status) = report(&[("t", text)], &[]);
    assert_eq!((&out[1..], status), (&["eleven", "eleven"].map(String::from)[..], 2), "{err}");
    assert!(err.contains("t: 3 stanzas left out (010, 0FD, 0FE)\n"), "{err}");
}

#[test]
fn long_chains_of_callers_are_left_out_quickly() {
    // Each stanza calls the next, and the last calls an undefined name.
    let mut text: String = (0..4000).map(|n| format!("{:04X} 1.0 \"@\" ${:04X}\n", 0x4001 + n, 0x4002 + n)).collect();
    text.push_str("4FA1 1.0 \"@\" $0FF\n011 1.0 \"@\" \"eleven\"\n");
    let (out, err, status) = report(&[("t", &text)], &["--quiet"]);
    assert_eq!((&out[1..], status), (&["eleven", "eleven"].map(String::from)[..], 2));
    assert!(err.contains("t: 4001 stanzas left out (4001, 4002, "), "{}", &err[err.len() - 200..]);
}

#[test]
fn a_wrong_setting_is_ignored() {
    let text = "# tfbc: colour=red\n# tfbc: hex=lower\n010 1.0 \"@\" $D1%X1\n011 1.0 \"@\" W1 O7 X0\n";
    let (out, err, status) = report(&[("t", text)], &[]);
    assert_eq!((&out[..], status), (&["07", "08", "0b"].map(String::from)[..], 0), "{err}");
    assert!(err.contains("t:1:9"), "{err}");
}

#[test]
fn nothing_is_left_out_of_a_strict_report() {
    for text in ["010 1.0 L=BAD\n", "010 1.0 \"@\" \"a\" X17\n", "010 1.0 \"@\" x4\n"] {
        let (out, err, status) = report(&[("t", text)], &["--strict"]);
        assert_eq!((out.len(), status), (0, 1), "{text}: {err}");
        assert!(!err.contains("left out"), "{err}");
    }
}

#[test]
fn one_line_counts_the_warnings() {
    let text = "010 1.0 \"@\" x4\n";
    let line = "t: 1 warning; tfbc check t shows them\n";
    assert_eq!(report(&[("t", text)], &[]).1, line);
    assert_eq!(report(&[("t", text)], &["--quiet"]).1, "");
    assert_eq!(report(&[("t", text)], &["--allow", "S47"]).1, "");
    assert_eq!(report(&[("t", &format!("# tfbc: allow=S47\n{text}"))], &[]).1, "");
    let folder = folder(&[("t", text)]);
    let line = "t: 1 warning; trcrpt -c -t t shows them\n";
    assert_eq!(run(&folder, "trcrpt", &["-h", "-t", "t", &trace()]).1, line);
    assert_eq!(run(&folder, "trcrpt", &["-j", "-t", "t"]).1, line);
    assert_eq!(run(&folder, "trcrpt", &["-q", "-h", "-t", "t", &trace()]).1, "");
    assert_eq!(run(&folder, "tfbc", &["compile", "--quiet", "t", "-o", "t.tfbc"]).2, 0);
    assert_eq!(run(&folder, "trcrpt", &["-h", "-t", "t.tfbc", &trace()]).1, "");
}

#[test]
fn lists_continue_and_author_commands_do_not() {
    let folder = folder(&[("t", "010 1.0 L=BAD\n011 1.0 \"eleven\"\n")]);
    let (out, err, status) = run(&folder, "tfbc", &["list", "-t", "t"]);
    assert!(out.contains("eleven") && !out.contains("\n010"), "{out}");
    assert!(err.contains("t:1:9") && err.contains("t: 1 stanza left out (010)"), "{err}");
    assert_eq!(status, 2);
    assert_eq!(run(&folder, "tfbc", &["info", "-t", "t", &trace()]).2, 2);
    for args in [
        &["check", "t"][..],
        &["compile", "t", "-o", "out"],
        &["compile", "--keep-going", "--strict", "t", "-o", "out"],
        &["event", "-t", "t", "--env", "64", "8000000001100000"],
    ] {
        let (_, err, status) = run(&folder, "tfbc", args);
        assert_eq!(status, 1, "{args:?}: {err}");
        assert!(!folder.path().join("out").exists(), "{args:?}");
    }
    assert_eq!(run(&folder, "tfbc", &["compile", "--keep-going", "t", "-o", "out"]).2, 2);
    assert_eq!(run(&folder, "tfbc", &["event", "-t", "out", "--env", "64", "8000000001100000"]).2, 0);
}

#[test]
fn non_format_files_give_no_report() {
    let folder = folder(&[("cut.tfbc", "\u{7f}tfbc")]);
    fs::write(folder.path().join("cut.tfbc"), &tfbc_vm::LABEL[..4]).unwrap();
    for file in ["missing", "cut.tfbc"] {
        let (out, err, status) = run(&folder, "trcrpt", &["-h", "-t", file, &trace()]);
        assert_eq!((out.as_str(), status), ("", 1), "{err}");
    }
}
