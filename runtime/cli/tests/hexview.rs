//! Tests of `tfbc hexview` and `tfbc event --trace`.

use crate::common::{command, run};
use std::fs;
use tempfile::TempDir;

fn tfbc(directory: &TempDir, args: &[&str]) -> (String, String, i32) {
    run(command("tfbc").args(args).current_dir(directory))
}

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(directory.path().join(name), text).unwrap());
    directory
}

#[track_caller]
fn check(template: &str, args: &[&str], expected: &str) {
    let directory = directory(&[("a.trcfmt", template)]);
    let (out, err, status) = tfbc(&directory, &[&["hexview", "-t", "a.trcfmt"], args].concat());
    assert_eq!((out.as_str(), err.as_str(), status), (expected, "", 0), "{out}");
}

#[test]
fn fields_have_letters_and_unread_bytes_have_none() {
    check(
        "0A1 1.0 \"E\" \"n=\" X2 $D2%W4.11 B0.3 \\n A4\n",
        &["--env", "32", "0a1e0007 01020304 00000ff0 61620000 ff"],
        "\
hook 0A1, 32-bit, 17 bytes

0000  0a 1e 00 07 01 02 03 04 00 00 0f f0 61 62 00 00  ............ab..
      a  a  a  a  d  e  e  e  c  c  c  c  -  -  -  -
            b  b              e
0010  ff                                               .
      -

a  0-3             (hook word)
                   \"E\"          a.trcfmt:1:9       \"E\"
b  2-3             \"n=\" X2      a.trcfmt:1:13  n   \" n=0007\"
c  8-11 bits 4-11  $D2%W4.11    a.trcfmt:1:21  d2  \" 00FF\"
d  4.0-4.2         B0.3         a.trcfmt:1:31  f3  \" 000\"
                   \\n           a.trcfmt:1:36      \"\\n\"
e  5-8             A4           a.trcfmt:1:39  f4  \"...\"
-  12-16  not read

> E n=0007 00FF 000
> ...
",
    );
}

fn sample(name: &str) -> String {
    format!("{}/../samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Checks that the output contains these lines in this order.
#[track_caller]
fn check_lines(args: &[&str], expected: &[&str]) {
    let directory = directory(&[("a.trcfmt", TEMPLATES)]);
    let (out, err, status) = tfbc(&directory, &[&["hexview"], args].concat());
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    let mut lines = out.lines();
    for line in expected {
        assert!(lines.any(|shown| shown == *line), "{line}\n---\n{out}");
    }
}

const TEMPLATES: &str = "\
0A1 1.0 L=APPL \"LOOPS\" {{ $n = X1 }} \"data=\" LOOP $n { X1 \":\" } LOOP $n { X0 } $n%W0.1
0A2 1.0 L=APPL \"OVERLAP\" $D1 $D1%U2 G4 X1 G4 D4 $0A30
0A3 1.0 \"@sub\" G4 U1
0A4 1.0 L=APPL \"TEXTS\" A8.10 S1 W1 XW
";

#[test]
fn iterations_over_adjacent_bytes_are_one_part() {
    let directory = directory(&[("a.trcfmt", TEMPLATES)]);
    let (out, ..) = tfbc(&directory, &["hexview", "-t", "a.trcfmt", "--env", "32", "0a1e0300 a1a2a3b1 b2b3c0c1"]);
    let has = |begin: &str, end: &str| out.lines().any(|line| line.starts_with(begin) && line.ends_with(end));
    assert!(has("b  2  ", "a.trcfmt:1:24"), "{out}");
    assert!(has("d  4  ", "\"A1\""), "{out}");
    assert!(has("f  6-8 from b  ", "a.trcfmt:1:65  f2    \"A3B1B2\""), "{out}");
    assert!(has("   from b bits 0-1  $n%W0.1 ", "\"0003\""), "{out}");
    assert!(has("-  9-11  not read", "") && has("> LOOPS data=00 :A1 :A2 :A3B1B20003", ""), "{out}");
}

#[test]
fn bytes_read_twice_have_a_letter_of_each() {
    check_lines(
        &["-t", "a.trcfmt", "--env", "32", "0a2e0000 00000007"],
        &[
            "0000  0a 2e 00 00 00 00 00 07                          ........",
            "      a  a  a  a  b  b  b  b",
            "                  c  c  c  c",
            "                  d  e  e  e",
            "                  +",
        ],
    );
}

#[test]
fn texts_end_at_their_nul() {
    let directory = directory(&[("a.trcfmt", TEMPLATES)]);
    let args = ["hexview", "-t", "a.trcfmt", "--env", "32", "0a4e6869 00aaaaaa aaaa02c1 c2000000"];
    let (out, ..) = tfbc(&directory, &args);
    assert!(out.contains("b  2-4"), "{out}");
    assert!(out.contains("c  10-12"), "{out}");
    assert!(out.contains("-  8-9, 13-15  not read"), "{out}");
}

#[test]
fn events_of_traces_are_chosen() {
    let trace = sample("shell.trc");
    let heads = |args: &[&str]| {
        let directory = directory(&[]);
        let (out, _, status) = tfbc(&directory, &[&["hexview", &trace], args].concat());
        assert_eq!(status, 0);
        let heads = out.lines().filter(|line| line.starts_with("hook ")).map(|line| line[5..8].to_owned());
        heads.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(heads(&[]), "101");
    assert_eq!(heads(&["--first", "3"]), "101 104 106");
    assert_eq!(heads(&["--entry", "3"]), "106");
    assert_eq!(heads(&["--only", "134", "--first", "9"]), "134 134 134");
}

#[test]
fn the_text_equals_the_report() {
    let directory = directory(&[]);
    let trace = sample("shell.trc");
    let (out, ..) = tfbc(&directory, &["hexview", &trace, "--only", "134,139,106", "--first", "20"]);
    let shown: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    let (report, ..) =
        tfbc(&directory, &["report", "--no-heading", "--columns", "text", "--only", "134,139,106", &trace]);
    let report: Vec<&str> = report.lines().map(str::trim).take(20).collect();
    assert_eq!(shown, report);
}

#[test]
fn fields_of_event_definitions_are_parts() {
    let user = sample("user.xml");
    let directory = directory(&[]);
    let (out, err, status) =
        tfbc(&directory, &["hexview", "-t", &user, "--class", "USER", "--id", "65", "00 03 04 00 00"]);
    assert_eq!((err.as_str(), status), ("", 0));
    assert!(out.starts_with("event 6:65, simple, 5 bytes\n"), "{out}");
    assert!(out.contains("a  0-1  %2u1x ipicmd ") && out.contains("-  4  not read"), "{out}");
    assert!(out.ends_with("> ipicmd:0x300 1_bit_8 1_bit_9 ipicmd2:0x4 2_val_3\n"), "{out}");
    let (out, ..) = tfbc(&directory, &["hexview", "-t", &user, "--only", "USER:180", &sample("user.kev")]);
    assert!(out.contains("c  2-3  %2s1d level "), "{out}");
}

#[test]
fn colours_need_a_terminal_or_a_flag() {
    let directory = directory(&[("a.trcfmt", TEMPLATES)]);
    let args = ["hexview", "-t", "a.trcfmt", "--env", "32", "0a2e0000 00000007"];
    assert!(!tfbc(&directory, &args).0.contains('\x1b'));
    let (out, ..) = tfbc(&directory, &[&args[..], &["--color", "always"]].concat());
    assert!(out.contains("\x1b[1m\x1b[4m") || out.contains("\x1b[4m"), "{out:?}");
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let directory = directory(&[("a.trcfmt", TEMPLATES)]);
    assert_eq!(tfbc(&directory, &["compile", "a.trcfmt", "-o", "a.tfbc"]).2, 0);
    for (args, expected) in [
        (&["-t", "a.tfbc", "--env", "32", "0a2e0000"][..], "a.tfbc is a blob"),
        (&["-t", "a.trcfmt", "--env", "32", "0a"], "expected at least the 4 of a hook word"),
        (&["-t", "a.trcfmt", "none.trc"], "none.trc"),
        (&["-t", "a.trcfmt", "--env", "32", "--only", "0a2", "0a2e0000"], "--only"),
        (&["-t", "a.trcfmt"], "TRACE|HEX"),
    ] {
        let (out, err, status) = tfbc(&directory, &[&["hexview"], args].concat());
        assert!(err.contains(expected) && status == 1 && out.is_empty(), "{args:?}: {out}{err}");
    }
}

#[test]
fn instruction_trace_shows_positions_and_texts() {
    let directory = directory(&[("a.trcfmt", "0A1 1.0 \"E\" \"n=\" X2 {{ $x = U1 }} \\n $x\n")]);
    let (out, _, status) = tfbc(&directory, &["event", "-t", "a.trcfmt", "--env", "32", "--trace", "0a1e0007 05"]);
    assert_eq!(status, 0);
    let (trace, text) = out.split_at(out.find("\nE n=").unwrap_or(0));
    assert!(trace.starts_with("0A1 hook32 a.trcfmt\n"), "{out}");
    assert!(trace.contains(" 1:18 ") && trace.contains("+\"") && trace.contains("0007"), "{out}");
    assert!(trace.contains("r0=0x5"), "{out}");
    assert!(text.ends_with("0005\n"), "{out}");
}
