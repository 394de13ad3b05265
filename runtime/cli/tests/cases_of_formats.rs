//! Tests of `tfbc test`: case files, snapshots, decisions, reports.

use crate::common::{LogBuilder, event64, factors64, names, run};
use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SENSOR: &str = "010 1.0 L=APPL \"SENSOR\" \"door \" $D1, 1 \"open\", \\* \"shut\"\n";
const CASE: &str = "\
formats = [\"sensor.trcfmt\"]
env = 32

[[event]]
name = \"a door opens\"
hex = \"010a0000 00000001\"

[[event]]
hex = \"010a0000 00000000\"
";
const TEXT: &str = "==== a door opens\nSENSOR door open\n\n==== event 2\nSENSOR door shut\n";

/// Directory with a format file and a case file.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "sensor.trcfmt", SENSOR);
    write(&folder, "door.case.toml", CASE);
    folder
}

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).unwrap();
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

fn test(folder: &TempDir, flags: &[&str]) -> (String, String, i32) {
    run(command(folder).args(flags))
}

fn command(folder: &TempDir) -> Command {
    let mut command = crate::common::command("tfbc");
    command.arg("test").arg("--no-cache").current_dir(folder).env_remove("CI").env("NO_COLOR", "1");
    command
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name)
}

/// Accepted text without its header.
fn accepted_text(folder: &TempDir, name: &str) -> String {
    let text = read(folder, name);
    text.splitn(3, "---\n").nth(2).unwrap().to_owned()
}

#[test]
fn a_new_text_fails_until_it_is_accepted() {
    let folder = folder();
    let (out, err, status) = test(&folder, &[]);
    assert_eq!(status, 1, "{out}{err}");
    assert!(out.starts_with("new door.case.toml: nothing is accepted yet\n--- /dev/null\n"), "{out}");
    assert!(out.contains("+SENSOR door open\n"), "{out}");
    assert!(err.contains("1 case file with 2 events: 0 passed, 1 new\n") && err.contains("--review"), "{err}");
    assert_eq!(accepted_text(&folder, "door.case.snap.new"), TEXT);
    let (out, _, status) = test(&folder, &["--accept"]);
    assert_eq!((out.as_str(), status), ("accepted door.case.toml\n", 0));
    assert_eq!(accepted_text(&folder, "door.case.snap"), TEXT);
    assert_eq!(names(folder.path()), ["door.case.snap", "door.case.toml", "sensor.trcfmt"]);
    assert_eq!(
        test(&folder, &[]),
        (String::new(), "1 case file with 2 events: 2 passed\n".replace("2 passed", "1 passed"), 0)
    );
}

#[test]
fn a_changed_text_is_shown_with_the_accepted_one() {
    let folder = folder();
    assert_eq!(test(&folder, &["--update"]).2, 0);
    write(&folder, "sensor.trcfmt", &SENSOR.replace("shut", "closed"));
    let (out, err, status) = test(&folder, &[]);
    assert_eq!(status, 1);
    assert!(out.contains("\n-SENSOR door shut\n+SENSOR door closed\n") && !out.contains("-SENSOR door open"), "{out}");
    assert!(err.contains("0 passed, 1 changed"), "{err}");
    assert_eq!(accepted_text(&folder, "door.case.snap"), TEXT);
    // The pending text is removed when the template is restored.
    write(&folder, "sensor.trcfmt", SENSOR);
    assert_eq!(test(&folder, &[]).2, 0);
    assert_eq!(names(folder.path()), ["door.case.snap", "door.case.toml", "sensor.trcfmt"]);
}

#[test]
fn only_shown_results_are_accepted() {
    let folder = folder();
    test(&folder, &["--update"]);
    write(&folder, "sensor.trcfmt", &SENSOR.replace("shut", "closed"));
    test(&folder, &[]);
    // The template changes again, so nobody has seen the pending text.
    write(&folder, "sensor.trcfmt", &SENSOR.replace("shut", "locked"));
    let (out, _, status) = test(&folder, &["--accept"]);
    assert_eq!(status, 1);
    assert!(out.contains("+SENSOR door locked"), "{out}");
    assert_eq!(accepted_text(&folder, "door.case.snap"), TEXT);
    assert_eq!(test(&folder, &["--accept"]).2, 0);
    assert_eq!(accepted_text(&folder, "door.case.snap"), TEXT.replace("shut", "locked"));
}

#[test]
fn a_review_asks_and_follows_the_answers() {
    let folder = folder();
    let review = |answers: &str| {
        let mut command = command(&folder);
        run(command.arg("--review").write_stdin(answers))
    };
    let (out, err, status) = review("what\ns\n");
    assert_eq!((out.matches("(a)ccept, (r)eject, (s)kip or (q)uit? ").count(), status), (2, 1), "{out}");
    assert!(err.contains("0 accepted, 0 rejected, 1 skipped"), "{err}");
    assert!(folder.path().join("door.case.snap.new").exists());
    assert_eq!(review("r\n").2, 1);
    assert!(!folder.path().join("door.case.snap.new").exists());
    assert_eq!(review("").2, 1);
    let (out, _, status) = review("a\n");
    assert!(out.starts_with("1 of 1: door.case.toml (new)\n"), "{out}");
    assert_eq!(status, 0);
    assert_eq!(accepted_text(&folder, "door.case.snap"), TEXT);
}

#[test]
fn tests_in_ci_write_no_unrequested_files() {
    let folder = folder();
    assert_eq!(run(command(&folder).env("CI", "true")).2, 1);
    assert!(!folder.path().join("door.case.snap.new").exists());
    assert_eq!(run(command(&folder).env("CI", "true").arg("--pending")).2, 1);
    assert!(folder.path().join("door.case.snap.new").exists());
}

#[test]
fn a_filter_chooses_by_path_and_by_name() {
    let folder = folder();
    fs::create_dir(folder.path().join("below")).unwrap();
    write(&folder, "below/other.case.toml", "[[event]]\nhex = \"8000000800100000 0000000000000001\"\n");
    let count = |filter: &str| test(&folder, &["--filter", filter]).1.lines().next().unwrap_or_default().to_owned();
    assert_eq!(count("a door"), "1 case file with 2 events: 0 passed, 1 new");
    assert_eq!(count("^below"), "1 case file with 1 event: 0 passed, 1 new");
    assert_eq!(count("door|other"), "2 case files with 3 events: 0 passed, 2 new");
    assert!(
        count("nothing").contains("`nothing` matches no case file"),
        "a filter that chooses nothing would always pass"
    );
    assert_eq!(test(&folder, &["--filter", "("]).2, 1);
}

#[test]
fn reports_for_programs() {
    let folder = folder();
    test(&folder, &["--update"]);
    write(&folder, "sensor.trcfmt", &SENSOR.replace("open", "<&]]>"));
    write(&folder, "bad.case.toml", "[[event]]\n");
    let (out, err, status) = test(&folder, &["--report", "json"]);
    assert_eq!(status, 1);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["summary"], serde_json::json!({ "passed": 0, "changed": 1, "new": 0, "broken": 1 }));
    let verdicts: Vec<_> =
        json["cases"][1]["events"].as_array().unwrap().iter().map(|event| &event["verdict"]).collect();
    assert_eq!(verdicts, ["changed", "passed"]);
    assert!(json["cases"][0]["reason"].as_str().unwrap().contains("K04"), "{out}");
    assert!(err.contains("changed door.case.toml"), "people are told on standard error: {err}");
    let (out, _, _) = test(&folder, &["--report", "junit", "--report-file", "out.xml"]);
    assert!(out.contains("changed door.case.toml"), "{out}");
    let xml = read(&folder, "out.xml");
    assert!(xml.contains("<testsuites name=\"tfbc test\" tests=\"3\" failures=\"1\" errors=\"1\">"), "{xml}");
    assert!(xml.contains("<testcase classname=\"door.case.toml\" name=\"event 2\"/>"), "{xml}");
    assert!(xml.contains("+SENSOR door &lt;&amp;"), "{xml}");
    assert_eq!(test(&folder, &["--report-file", "x"]).2, 1);
}

#[test]
fn case_file_errors_point_to_their_line() {
    let folder = folder();
    let wrong = |text: &str| {
        write(&folder, "door.case.toml", text);
        let (out, err, status) = test(&folder, &[]);
        assert_eq!(status, 1, "{out}");
        out + &err
    };
    let shown = wrong(&CASE.replace("hex = \"010a0000 00000000\"", "hexa = \"00\""));
    assert!(shown.contains("error[K02]: unknown key `hexa`\n --> door.case.toml:9:1\n"), "{shown}");
    assert!(shown.contains("did you mean `hex`?") && !shown.contains("K05"), "{shown}");
    for (text, expected) in [
        ("formats = [", "K01"),
        ("formats = []\n", "no `[[event]]`"),
        ("event = 3\n", "K03"),
        ("[[event]]\nhex = \"0\"\n", "1 hex digits, expected an even number"),
        ("[[event]]\nhex = \"zz\"\n", "`z` is not a hex digit"),
        ("[[event]]\nhex = \"00\"\n", "expected at least the 8 of a hook word"),
        ("[[event]]\nhex = \"010a0000\"\nenv = 16\n", "`env` is 32 or 64"),
        ("[[event]]\nhex = \"010a0000\"\nenv = \"32\"\n", "`env`: expected a number, found a string"),
        ("[[event]]\nhex = \"00\"\nclass = \"USR\"\nid = 1\n", "did you mean `USER`?"),
        ("[[event]]\nhex = \"00\"\nclass = 6\n", "has no `id`"),
        ("[[event]]\nhex = \"00\"\nfirst = 2\n", "K05"),
        ("[[event]]\nhex = \"00\"\ntrace = \"x\"\n", "not both"),
        ("[[event]]\ntrace = \"x\"\nenv = 32\n", "K05"),
        ("[[event]]\ntrace = \"nosuch.trc\"\n", "cannot read nosuch.trc"),
        ("[[event]]\nhex = \"010a000000000000\"\npid = -1\n", "`pid` is a number from 0"),
        ("[[event]]\nhex = \"010a000000000000\"\ntime = \"soon\"\n", "expected seconds"),
        ("[[event]]\nhex = \"010a000000000000\"\nprocesses = { one = \"x\" }\n", "not a process id"),
        ("dialect = { level = \"LOUD\" }\n[[event]]\nhex = \"010a000000000000\"\n", "K06"),
        ("formats = \"nosuch.trcfmt\"\n[[event]]\nhex = \"010a000000000000\"\n", "nosuch.trcfmt"),
    ] {
        let shown = wrong(text);
        assert!(shown.contains(expected), "{text}: {shown}");
    }
    let shown = wrong("formats = \"sensor.trcfmt\"\n[[event]]\nhex = \"\u{0}\"\n");
    assert!(!shown.contains('\0'), "{shown:?}");
}

#[test]
fn errors_of_format_files_are_shown_once() {
    let folder = folder();
    write(&folder, "again.case.toml", CASE);
    write(&folder, "sensor.trcfmt", "010 1.0 \"SENSOR\" X17\n");
    let (out, err, status) = test(&folder, &[]);
    assert_eq!(status, 1);
    assert_eq!(err.matches("error[S07]").count(), 1, "{err}");
    assert_eq!(out.matches("its format files do not compile").count(), 2, "{out}");
    // Warnings are reported, and fail the run only with --strict.
    write(&folder, "sensor.trcfmt", "010 1.0 \"SENSOR\" {{ $never = 1 }}\n");
    assert_eq!(test(&folder, &["--update"]).2, 0);
    let (_, err, status) = test(&folder, &[]);
    assert_eq!((err.matches("warning[").count(), status), (1, 0), "{err}");
    assert_eq!(test(&folder, &["--strict"]).2, 1);
}

#[test]
fn snapshots_without_a_case_are_named() {
    let folder = folder();
    test(&folder, &["--update"]);
    write(&folder, "gone.case.snap", "---\nsource: x\n---\ntext\n");
    let (_, err, status) = test(&folder, &[]);
    assert!(err.contains("gone.case.snap: this snapshot has no case file"), "{err}");
    assert_eq!(status, 0);
    assert_eq!(test(&folder, &["--strict"]).2, 1);
}

#[test]
fn notes_add_what_the_text_lacks() {
    let folder = folder();
    write(
        &folder,
        "sensor.trcfmt",
        "010 1.0 \"A\" X4 X4\n020 1.0 $SKIP\n030 1.0 LOOP $D1 { \"x\" }\n040 1.0 {{ $x = 1 / $D1 }} $x\n",
    );
    let event = |hook: &str, word: &str| format!("[[event]]\nhex = \"{hook}a0000 {word}\"\n");
    let events = [event("010", "00000001"), event("020", "0"), event("030", "00000009"), event("040", "00000000")];
    let events = events.concat().replace("\"020a0000 0\"", "\"020a0000\"");
    write(&folder, "door.case.toml", &format!("formats = \"sensor.trcfmt\"\nenv = 32\n{events}"));
    let (_, err, _) = test(&folder, &["--update", "--max-turns", "3"]);
    assert!(err.contains("door.case.toml: `event 3` reached a limit"), "{err}");
    assert_eq!(
        accepted_text(&folder, "door.case.snap"),
        "==== event 1\nA 00000000 00010000\nnote: reads past the end of the event\n\n==== event 2\nnote: dropped by $SKIP\n\n\
         ==== event 3\nxxx [limit]\nnote: reached a limit\n\n==== event 4\n0000\nnote: divided by zero\n"
    );
}

#[test]
fn context_values_reach_the_template() {
    let folder = folder();
    write(
        &folder,
        "sensor.trcfmt",
        "010 1.0 \"A\" $PID \" \" $TID \" \" $EXECPATH \" \" $SVC \" \" $CPUID \" \" $LOGFILE \" \" P4 $HOOKENV starttimer(1,1)\n\
         020 1.0 \"B\" endtimer(1,1) $TOTALCPUS $IPADDR\n",
    );
    let case = "formats = \"sensor.trcfmt\"\nenv = 32\npid = 7\n\n[[event]]\nhex = \"010a0000 00001267\"\ntid = 9\n\
                exec = \"/bin/ls\"\nsvc = \"kread\"\ncpu = 3\nlog-file = \"a.trc\"\ntime = \"1.5\"\nprocesses = { 4711 = \"/bin/sh\" }\n\n\
                [[event]]\nhex = \"020a0000 00000000\"\ntime = \"1.500009\"\ntotal-cpus = 4\nip-address = 0x0a000001\n";
    write(&folder, "door.case.toml", case);
    assert_eq!(test(&folder, &["--update"]).2, 0);
    let text = accepted_text(&folder, "door.case.snap");
    assert!(text.contains("A 7 9 /bin/ls kread 3 a.trc"), "{text}");
    assert!(text.contains("[9 usec]") && text.contains("0A000001"), "{text}");
}

#[test]
fn parts_of_traces_of_both_vendors() {
    let folder = folder();
    for name in ["shell.trc", "user.kev", "user.xml"] {
        fs::copy(sample(name), folder.path().join(name)).unwrap();
    }
    write(
        &folder,
        "door.case.toml",
        "[[event]]\nname = \"dispatch\"\ntrace = \"shell.trc\"\nonly = 106\nskip = 1\nfirst = 2\ncolumns = \"id,pid,text\"\n\n\
         [[event]]\nname = \"none\"\ntrace = \"shell.trc\"\nonly = \"FFF\"\n",
    );
    write(
        &folder,
        "user.case.toml",
        "formats = \"user.xml\"\n[[event]]\ntrace = \"user.kev\"\nonly = \"USER:100\"\nfirst = 3\ncolumns = \"class,id,data\"\n",
    );
    assert_eq!(test(&folder, &["--update"]).2, 0);
    let report = |flags: &[&str]| {
        let mut command = crate::common::command("tfbc");
        run(command.current_dir(&folder).args(["report", "--no-heading", "--no-cache"]).args(flags)).0
    };
    let all = report(&["--only", "106", "--columns", "id,pid,text", "shell.trc"]);
    let lines: Vec<_> = all.lines().collect();
    let expected =
        format!("==== dispatch\n{}\n{}\n\n==== none\nnote: no event of the trace is selected\n", lines[1], lines[2]);
    assert_eq!(accepted_text(&folder, "door.case.snap"), expected);
    let flags = ["-t", "user.xml", "--only", "USER:100", "--columns", "class,id,data", "user.kev"];
    let expected: String = report(&flags).split_inclusive('\n').take(3).collect();
    assert_eq!(accepted_text(&folder, "user.case.snap"), format!("==== event 1\n{expected}"));
}

#[test]
fn a_damaged_trace_says_so_in_the_text() {
    let folder = folder();
    let entries = vec![[event64(1, 100), event64(2, 200)].concat(), [event64(3, 300), vec![0xff; 40]].concat()];
    let log = LogBuilder { wide: true, current: 2, wraps: 0, ic: factors64(1, 1, 2), entries };
    fs::write(folder.path().join("boot.trc"), log.bytes()).unwrap();
    write(&folder, "door.case.toml", "formats = \"sensor.trcfmt\"\n[[event]]\ntrace = \"boot.trc\"\nonly = \"010\"\n");
    test(&folder, &["--update"]);
    let text = accepted_text(&folder, "door.case.snap");
    assert_eq!(text.matches("SENSOR door").count(), 3, "{text}");
    assert!(text.contains("\ndamaged: ") && text.ends_with("note: the trace is damaged\n"), "{text}");
}

#[test]
fn a_first_case_file_comes_from_a_trace() {
    let folder = folder();
    fs::remove_file(folder.path().join("door.case.toml")).unwrap();
    let trace = sample("shell.trc").to_string_lossy().into_owned();
    let (_, err, status) = test(&folder, &["--new", &trace, "-t", "sensor.trcfmt", "-t", "default"]);
    assert_eq!((err.as_str(), status), ("wrote shell.case.toml with 15 events\n", 0));
    let text = read(&folder, "shell.case.toml");
    assert!(text.contains("formats = [\"sensor.trcfmt\", \"default\"]\n"), "{text}");
    assert!(test(&folder, &["--new", &trace]).1.contains("shell.case.toml exists"));
    assert_eq!(test(&folder, &["--update"]).2, 0);
    // The text equals that of the report.
    let report = run(crate::common::command("tfbc")
        .args(["report", "--no-heading", "--no-cache", "--columns", "text"])
        .arg(sample("shell.trc")))
    .0;
    let section = accepted_text(&folder, "shell.case.snap");
    let fork = section.split("==== ").find(|part| part.starts_with("139 FORK")).unwrap().lines().nth(1).unwrap();
    assert!(report.contains(fork), "{fork}");
    let (xml, log) = (sample("user.xml"), sample("user.kev"));
    let (xml, log) = (xml.to_string_lossy(), log.to_string_lossy());
    let flags = ["--new", &log, "-t", &xml, "--only", "USER:65,USER:100", "--first", "3", "-o", "user.case.toml"];
    assert_eq!(test(&folder, &flags).2, 0);
    assert_eq!(test(&folder, &["--update", "user.case.toml"]).2, 0);
    assert!(accepted_text(&folder, "user.case.snap").contains("==== USER:100 (2)\n"));
    assert_eq!(test(&folder, &["--new", &log, "--only", "USER:1000"]).2, 1);
    assert_eq!(test(&folder, &["--new", &log, "-o", "x.toml"]).2, 1);
}

#[test]
fn non_text_bytes_are_escaped_and_restored() {
    let folder = folder();
    write(&folder, "sensor.trcfmt", "010 1.0 \"A\x1b[31m\" \"x\" \\n \"---\" \\n \"==== b\"\n");
    fs::write(folder.path().join("sensor.trcfmt"), b"010 1.0 \"A\x1b[31m\xff\r\" \\n \"---\" \\n \"==== b\"\n")
        .unwrap();
    test(&folder, &["--update"]);
    let text = read(&folder, "door.case.snap");
    assert!(text.contains("A\\x1b[31m\\xff\\x0d") && !text.contains('\x1b'), "{text:?}");
    assert_eq!(test(&folder, &[]).2, 0);
}

/// Case files and snapshots may contain any bytes.
#[test]
fn no_bytes_are_too_odd() {
    use tfbc_authoring::cases::CaseFile;
    let pieces = [
        "[",
        "]",
        "[[event]]",
        "=",
        "\"",
        "'",
        "\"\"\"",
        "#",
        "{",
        "}",
        ",",
        ".",
        "0x",
        "1e999",
        "-",
        "\u{1b}",
        "\u{feff}",
        "é",
        "\n",
        "hex",
        "env",
        "trace",
        "only",
        "class",
        "id",
        "99999999999999999999",
        "true",
        "nan",
        "inf",
        "\\u",
        "1979-05-27T07:32:00Z",
    ];
    let mut noise = crate::common::Noise::new(3);
    let whole = format!(
        "{CASE}[[event]]\ntrace = \"a.trc\"\nonly = 106\nfirst = 3\n[[event]]\nclass = 6\nid = 65\nhex = \"00\"\n"
    );
    for _ in 0..3000 {
        let mut text: Vec<char> = whole.chars().collect();
        for _ in 0..=noise.below(3) {
            let at = noise.below(text.len() as u64 + 1) as usize;
            let end = (at + noise.below(6) as usize).min(text.len());
            text.splice(at..end, noise.pick(&pieces).chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(bad) = CaseFile::parse(Path::new("a.case.toml"), &text) {
            assert!(!bad.diagnostics.is_empty());
            for found in &bad.diagnostics {
                assert!(tfbc_authoring::render::human(&bad.sources, found, true).contains("error"));
            }
        }
    }
    let deep = format!("x = {}", "[".repeat(100_000));
    assert!(CaseFile::parse(Path::new("a.case.toml"), &deep).is_err());
    let folder = folder();
    for snapshot in [&b"\xff"[..], b"---\n---\n\x1b[31m\x07", b"", b"---", b"\0"] {
        fs::write(folder.path().join("door.case.snap"), snapshot).unwrap();
        let (out, err, status) = test(&folder, &["--color", "always"]);
        assert!(status == 1 && !out.contains("\x1b[31m\x07") && !err.contains("panic"), "{out:?}{err}");
    }
}

#[test]
fn the_results_do_not_depend_on_threads() {
    let folder = folder();
    for number in 0..40 {
        write(&folder, &format!("case{number:02}.case.toml"), CASE);
    }
    let with = |n: &str| test(&folder, &["--threads", n, "--report", "json"]).0;
    assert_eq!(with("1"), with("4"));
}

#[test]
fn missing_cases_are_an_error_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let (_, err, status) = test(&folder, &[]);
    assert!(status == 1 && err.contains("--new"), "{err}");
    let (_, err, status) = test(&folder, &["nosuch"]);
    assert!(status == 1 && err.contains("nosuch"), "{err}");
    write(&folder, "a.toml", "");
    let (_, err, status) = test(&folder, &["a.toml"]);
    assert!(status == 1 && err.contains(".case.toml"), "{err}");
}
