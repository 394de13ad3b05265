//! Tests of all commands: help, exit statuses, and outputs that are written completely or not at all.

use crate::common::*;
use assert_cmd::Command;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

fn tfbc(args: &[&str]) -> Command {
    let mut command = command("tfbc");
    command.args(args);
    command
}

fn trcrpt(args: &[&str]) -> Command {
    let mut command = command("trcrpt");
    command.args(args);
    command
}

fn sample(bits: u32) -> String {
    data(&format!("aix/sample{bits}.stream")).to_str().unwrap().to_owned()
}

const USER: &str = "010 1.0 L=APPL \"\" \"hook = \" $D1%U4 endtimer(1,1) starttimer(1,1)\n";

/// Directory with the format file `user.trcfmt` and the given files.
fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("user.trcfmt"), USER).unwrap();
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

#[test]
fn help_has_examples_on_every_level() {
    for command in [
        &["--help"][..],
        &["compile", "--help"],
        &["check", "--help"],
        &["report", "--help"],
        &["event", "--help"],
        &["list", "--help"],
        &["info", "--help"],
        &["disasm", "--help"],
        &["verify", "--help"],
        &["ops", "--help"],
        &["explain", "--help"],
        &["trcrpt", "--help"],
    ] {
        let (out, _, status) = run(&mut tfbc(command));
        assert_eq!(status, 0, "{command:?}");
        assert!(out.contains("Examples:"), "{command:?}");
    }
    let (out, _, status) = run(&mut trcrpt(&["--help"]));
    assert_eq!(status, 0);
    assert!(out.contains("Examples:") && out.contains("-O"));
}

#[test]
fn usage_errors_end_with_status_1() {
    for args in
        [&["frobnicate"][..], &["report"], &["report", "--timestamp", "9", "x"], &["explain", "Z99"], &["event"]]
    {
        let (out, err, status) = run(&mut tfbc(args));
        assert_eq!((status, out.as_str()), (1, ""), "{args:?}");
        assert!(err.contains("error:"), "{args:?}: {err}");
    }
    let (_, err, _) = run(&mut tfbc(&["reprot"]));
    assert!(err.contains("report"), "{err}");
}

#[test]
fn compatible_messages_have_numbers() {
    let sample = sample(32);
    for (args, number, part) in [
        (&["-C", "x", &sample][..], "0454-900", "-C"),
        (&["-l", "all", &sample], "0454-901", "component traces"),
        (&["-M", "all", &sample], "0454-901", "memory traces"),
        (&["-@", "1", &sample], "0454-901", "workload partitions"),
        (&["-O", "timestmp=1", &sample], "0454-900", "did you mean `timestamp`"),
        (&["-O", "timestamp=7", &sample], "0454-900", "timestamp"),
        (&["-d", "15b,xyz", &sample], "0454-013", "position 5"),
        (&[&sample, "-h"], "0454-187", "put options before files"),
        (&["-Z", &sample], "0454-900", "-Z"),
        (&["/no/such/file"], "0454-902", "/no/such/file"),
        (&["-t", "/no/such/format", &sample], "0454-902", "/no/such/format"),
        (&["-o", "/no/such/directory/x", &sample], "0454-903", "/no/such/directory/x"),
    ] {
        let (out, err, status) = run(&mut trcrpt(args));
        assert_eq!((status, out.as_str()), (1, ""), "{args:?}");
        assert!(err.starts_with(number) && err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn trcrpt_takes_flags_as_getopt_does() {
    let directory = directory(&[]);
    let sample = sample(32);
    let expected =
        run(trcrpt(&["-h", "-t", "user.trcfmt", "-O", "ids=off", "-d", "010", &sample]).current_dir(&directory));
    assert_eq!(expected.2, 0);
    assert_eq!(expected.0.lines().count(), 10);
    for args in [
        &["-htuser.trcfmt", "-Oids=off", "-d010", &sample][..],
        &["-hd", "010", "-tuser.trcfmt", "-O", "ids=off", &sample],
    ] {
        assert_eq!(run(trcrpt(args).current_dir(&directory)), expected, "{args:?}");
    }
    let args = ["trcrpt", "-h", "-t", "user.trcfmt", "-O", "ids=off", "-d", "010", &sample];
    assert_eq!(run(tfbc(&args).current_dir(&directory)), expected);
}

#[test]
fn trcrpt_lists_its_options_and_labels() {
    let (out, _, status) = run(&mut trcrpt(&["-O", "help"]));
    assert_eq!(status, 0);
    assert!(out.contains("ids=") && out.contains("timestamp=") && out.contains("pagesize="));
    let directory = directory(&[("x.trcfmt", b"F5F1 1.0 @hidden \"x\"\n00A 1.0 \"TRACE_UTIL\"\n")]);
    let (out, _, status) = run(trcrpt(&["-j", "-t", "x.trcfmt"]).current_dir(&directory));
    assert_eq!(status, 0);
    let lines: Vec<_> = out.lines().collect();
    assert!(lines.contains(&"00a TRACE_UTIL") && lines.contains(&"f5f1 hidden") && lines.contains(&"001 TRACE ON"));
    assert!(lines.is_sorted());
}

#[test]
fn the_sample_reports_are_those_of_the_documentation() {
    let directory = directory(&[]);
    for bits in [32, 64] {
        let (out, err, status) = run(trcrpt(&["-t", "user.trcfmt", &sample(bits)]).current_dir(&directory));
        assert_eq!((status, err.as_str()), (0, ""));
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines[0], "ID     ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT");
        assert_eq!(lines[1], "001    0.000000000       0.000000                   TRACE ON channel 0");
        assert_eq!(lines[2], "010    0.000105984       0.105984   hook = 1");
        assert_eq!(lines[3], "010    0.000113920       0.007936   hook = 2 [7 usec]");
        assert_eq!(lines.len(), 12);
    }
}

#[test]
fn filters_keep_timers_and_delta_counts_shown_events() {
    let directory = directory(&[("two.trcfmt", b"001 1.0 starttimer(1,1)\n010 1.0 $D1%U4 endtimer(1,1)\n")]);
    let (out, ..) = run(trcrpt(&["-h", "-t", "two.trcfmt", "-k", "001", &sample(32)]).current_dir(&directory));
    let first = out.lines().next().unwrap();
    assert_eq!(first, "010    0.000105984       0.105984                   1 [105 usec]");
}

#[test]
fn header_events_are_shown_when_asked_for() {
    let directory = directory(&[("x.trcfmt", b"00A 1.0 \"TRACE_UTIL\"\n")]);
    let (out, ..) = run(trcrpt(&["-h", "-t", "x.trcfmt", "-d", "00a", &sample(32)]).current_dir(&directory));
    assert_eq!(out, "00A    0.000000000       0.000000                   TRACE_UTIL\n");
}

#[test]
fn headings_repeat_by_page() {
    let directory = directory(&[]);
    let args = ["-O", "pagesize=5", "-t", "user.trcfmt", &sample(32)];
    let (out, ..) = run(trcrpt(&args).current_dir(&directory));
    let headings: Vec<_> =
        out.lines().enumerate().filter(|(_, line)| line.starts_with("ID ")).map(|(at, _)| at).collect();
    assert_eq!(headings, [0, 6, 12]);
}

#[test]
fn columns_may_be_chosen() {
    let directory = directory(&[]);
    let report = |columns: &str| {
        let args = ["report", "--no-heading", "-t", "user.trcfmt", "--only", "010", "--columns", columns, &sample(32)];
        run(tfbc(&args).current_dir(&directory)).0.lines().next().unwrap().to_owned()
    };
    assert_eq!(report("text"), "hook = 1");
    assert_eq!(report("id,elapsed"), "010    0.000105984");
    assert_eq!(report("delta,text"), "       0.105984   hook = 1");
}

#[test]
fn an_id_without_stanza_is_formatted_as_undefined() {
    let directory = directory(&[]);
    let mut stream = vec![0xEF, 0xDF, 0x11, 0x14];
    stream.extend(factors64(1, 1, 1));
    stream.extend(words64(&[0x8000_0000_F5F1_0000, 1, 5]));
    fs::write(directory.path().join("s"), stream).unwrap();
    let (out, _, status) = run(trcrpt(&["-h", "-t", "user.trcfmt", "s"]).current_dir(&directory));
    assert_eq!(status, 0);
    assert!(
        out.starts_with("F5F1   0.000000005       0.000005                   UNDEFINED TRACE ID idx=60 traceid=F5F1"),
        "{out}"
    );
}

#[test]
fn damage_gives_status_2_and_keeps_earlier_events() {
    let directory = directory(&[]);
    let bytes = fs::read(sample(32)).unwrap();
    fs::write(directory.path().join("cut"), &bytes[..bytes.len() - 3]).unwrap();
    let (out, err, status) = run(trcrpt(&["-h", "-t", "user.trcfmt", "-o", "out", "cut"]).current_dir(&directory));
    assert_eq!((status, out.as_str()), (2, ""));
    let offset = bytes.len() - 16;
    assert!(err.contains(&format!("truncated at offset {offset:#x}: 13 bytes left")), "{err}");
    let report = fs::read_to_string(directory.path().join("out")).unwrap();
    assert!(report.ends_with("hook = 9 [5 usec]\n"), "{report}");
}

#[test]
fn standard_input_is_a_trace() {
    let directory = directory(&[]);
    let bytes = fs::read(sample(64)).unwrap();
    let named = run(trcrpt(&["-t", "user.trcfmt", &sample(64)]).current_dir(&directory));
    let piped = run(trcrpt(&["-t", "user.trcfmt", "-"]).current_dir(&directory).write_stdin(bytes));
    assert_eq!(piped, named);
}

#[test]
fn later_formats_win_and_built_in_stanzas_never_do() {
    let directory = directory(&[
        ("a.trcfmt", b"010 1.0 L=APPL \"a\"\n001 1.0 L=APPL \"on\"\n"),
        ("b.trcfmt", b"010 1.0 L=APPL \"b\"\n"),
    ]);
    tfbc(&["compile", "a.trcfmt", "-o", "a.tfbc"]).current_dir(&directory).assert().success();
    tfbc(&["compile", "b.trcfmt", "-o", "b.tfbc"]).current_dir(&directory).assert().success();
    for (first, second, texts) in [
        ("a.trcfmt", "b.trcfmt", ["on", "b"]),
        ("b.trcfmt", "a.trcfmt", ["on", "a"]),
        ("a.tfbc", "b.trcfmt", ["on", "b"]),
        ("b.trcfmt", "a.tfbc", ["on", "a"]),
        ("a.trcfmt", "b.tfbc", ["on", "b"]),
        ("a.tfbc", "b.tfbc", ["on", "b"]),
    ] {
        let args = ["-h", "-O", "ids=off,timestamp=3", "-t", first, "-t", second, &sample(32)];
        let (out, ..) = run(trcrpt(&args).current_dir(&directory));
        let texts = texts.map(|text| format!("   {text}"));
        assert_eq!(out.lines().take(2).collect::<Vec<_>>(), texts, "{first} {second}");
    }
}

#[test]
fn the_built_in_format_file_needs_no_naming() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/shell.trc");
    let trace = trace.to_str().unwrap();
    let unnamed = run(&mut tfbc(&["report", trace]));
    assert_eq!(unnamed.2, 0);
    assert!(unnamed.0.lines().count() > 100);
    assert!(!unnamed.0.contains("UNDEFINED"));
    assert_eq!(run(&mut tfbc(&["report", "-t", "default", trace])), unnamed);
}

#[test]
fn strict_format_errors_stop_before_any_output() {
    let directory = directory(&[("bad.trcfmt", b"010 1.0 X17\n")]);
    let args = ["--strict", "-o", "out", "-t", "bad.trcfmt", &sample(32)];
    let (out, err, status) = run(trcrpt(&args).current_dir(&directory));
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.contains("bad.trcfmt:1:9") && err.contains("1 error"), "{err}");
    assert_eq!(names(directory.path()), ["bad.trcfmt", "user.trcfmt"]);
    let (_, err, status) = run(trcrpt(&["-c", "-t", "bad.trcfmt"]).current_dir(&directory));
    assert_eq!(status, 1);
    assert!(err.contains("bad.trcfmt:1:9"), "{err}");
    assert_eq!(run(trcrpt(&["-c", "-t", "user.trcfmt"]).current_dir(&directory)).2, 0);
}

#[test]
fn check_prints_in_three_forms() {
    let directory = directory(&[("bad.trcfmt", b"010 1.0 X17\n020 1.0 Loop\n")]);
    let check = |form: &str| run(tfbc(&["check", "--message-format", form, "bad.trcfmt"]).current_dir(&directory));
    let (out, err, status) = check("human");
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.contains("^^^") && err.ends_with("1 error, 1 warning\n"), "{err}");
    let (out, err, status) = check("short");
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.starts_with("bad.trcfmt:1:9: error[S") && err.lines().count() == 2, "{err}");
    let (out, err, status) = check("json");
    assert_eq!((status, err.as_str()), (1, ""));
    for line in out.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["primary"]["file"], "bad.trcfmt");
    }
}

#[test]
fn strict_takes_warnings_for_errors() {
    let directory = directory(&[("warn.trcfmt", b"020 1.0 \"LABEL\" Loop\n")]);
    for (args, status) in [
        (&["check", "warn.trcfmt"][..], 0),
        (&["check", "--strict", "warn.trcfmt"], 1),
        (&["compile", "--strict", "warn.trcfmt", "-o", "x"], 1),
        (&["report", "--strict", "-t", "warn.trcfmt", &sample(32)], 1),
        (&["report", "-t", "warn.trcfmt", &sample(32)], 0),
    ] {
        assert_eq!(run(tfbc(args).current_dir(&directory)).2, status, "{args:?}");
    }
    assert_eq!(names(directory.path()), ["user.trcfmt", "warn.trcfmt"]);
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let directory = directory(&[("bad.trcfmt", b"010 1.0 X17\n")]);
    let (_, plain, _) = run(tfbc(&["check", "bad.trcfmt"]).current_dir(&directory));
    assert!(!plain.contains('\x1b'));
    let (_, coloured, _) = run(tfbc(&["check", "--color", "always", "bad.trcfmt"]).current_dir(&directory));
    assert!(coloured.contains('\x1b'));
}

#[test]
fn blobs_are_verified_and_listed() {
    let directory = directory(&[]);
    let (out, err, status) = run(tfbc(&["compile", "user.trcfmt", "-o", "user.tfbc"]).current_dir(&directory));
    assert_eq!((status, out.as_str()), (0, ""));
    assert!(err.starts_with("1 stanza"), "{err}");
    let (out, _, status) = run(tfbc(&["verify", "user.tfbc"]).current_dir(&directory));
    assert_eq!(status, 0);
    assert!(out.contains("verified"), "{out}");
    let (out, _, status) = run(tfbc(&["disasm", "user.tfbc", "010"]).current_dir(&directory));
    assert_eq!(status, 0);
    assert!(out.contains("timer.end") && out.contains("user.trcfmt:1"), "{out}");
    let mut bytes = fs::read(directory.path().join("user.tfbc")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(directory.path().join("user.tfbc"), bytes).unwrap();
    let (_, err, status) = run(tfbc(&["verify", "user.tfbc"]).current_dir(&directory));
    assert_eq!(status, 1);
    assert!(err.contains("[B05]"), "{err}");
    assert_eq!(run(tfbc(&["report", "-t", "user.tfbc", &sample(32)]).current_dir(&directory)).2, 1);
}

#[test]
fn one_event_in_hex() {
    let directory = directory(&[]);
    let args = ["event", "-t", "user.trcfmt", "--env", "32", "010a0000", "0000002a"];
    let (out, _, status) = run(tfbc(&args).current_dir(&directory));
    assert_eq!((status, out.as_str()), (0, "hook = 42\n"));
    let args = ["event", "--trace", "-t", "user.trcfmt", "--env", "64", "0x8000000801000000000000000000002a"];
    let (out, _, status) = run(tfbc(&args).current_dir(&directory));
    assert_eq!(status, 0);
    assert!(out.ends_with("hook = 42\n") && out.lines().count() > 3, "{out}");
    for hex in ["010", "01zz"] {
        assert_eq!(run(tfbc(&["event", "--env", "32", hex]).current_dir(&directory)).2, 1);
    }
}

#[test]
fn info_describes_a_trace() {
    let (out, _, status) = run(&mut tfbc(&["info", &sample(32)]));
    assert_eq!(status, 0);
    assert!(out.contains("AIX 32-bit trace stream") && out.contains("events     12"), "{out}");
    assert!(out.contains("(no template)"), "{out}");
}

#[test]
fn codes_and_instructions_are_explained() {
    for (args, part) in [(&["explain", "B01"][..], "not a blob"), (&["explain"], "S01"), (&["ops"], "| `")] {
        let (out, _, status) = run(&mut tfbc(args));
        assert_eq!(status, 0);
        assert!(out.contains(part), "{out}");
    }
}

#[test]
fn explain_knows_the_codes_next_to_a_misspelt_one() {
    for (code, known) in [("C1", "C01"), ("s007", "S07"), ("B1", "B01")] {
        let (out, err, status) = run(&mut tfbc(&["explain", code]));
        assert_eq!((out.as_str(), status), ("", 1));
        assert!(err.contains(&format!("did you mean `{known}")), "{err}");
    }
    let (out, _, status) = run(&mut tfbc(&["explain", "s02"]));
    assert_eq!(status, 0);
    assert!(out.starts_with("S02: ") && out.contains("\n\n    010 1.0 "), "{out}");
}

#[test]
fn truncated_blobs_are_refused_as_blobs() {
    let directory = directory(&[]);
    assert_eq!(run(tfbc(&["compile", "user.trcfmt", "-o", "user.tfbc"]).current_dir(&directory)).2, 0);
    let blob = fs::read(directory.path().join("user.tfbc")).unwrap();
    for n in [1, 4, 8, 31, 100, blob.len() - 1] {
        fs::write(directory.path().join("cut"), &blob[..n]).unwrap();
        let (out, err, status) = run(tfbc(&["report", "-t", "cut", &sample(32)]).current_dir(&directory));
        assert_eq!((out.as_str(), status), ("", 1), "{n}");
        assert!(err.starts_with("error: cut: ") && err.contains("[B0"), "{n}: {err}");
    }
}

#[test]
fn a_stage_may_be_printed() {
    let directory = directory(&[]);
    for stage in ["tokens", "ast", "ir", "bytecode"] {
        let (out, _, status) = run(tfbc(&["compile", "--emit", stage, "user.trcfmt"]).current_dir(&directory));
        assert_eq!(status, 0);
        assert!(out.contains("hook = "), "{stage}: {out}");
    }
}

#[test]
fn dialect_settings_are_listed_and_checked() {
    for command in ["compile", "check", "report", "event", "list", "info"] {
        let (out, _, status) = run(&mut tfbc(&[command, "--dialect", "help"]));
        assert_eq!(status, 0, "{command}");
        assert!(out.contains("hex="), "{command}: {out}");
    }
    for setting in ["nonsense", "nonsense=1", "hex=sideways"] {
        assert_eq!(run(&mut tfbc(&["report", "--dialect", setting, &sample(32)])).2, 1, "{setting}");
    }
    let directory = directory(&[("x.trcfmt", b"010 1.0 L=APPL $HD%X2\n")]);
    let hex = |value: &str| {
        let args = ["event", "-t", "x.trcfmt", "--dialect", value, "--env", "32", "010aabcd00000000"];
        run(tfbc(&args).current_dir(&directory)).0
    };
    assert_eq!((hex("hex=upper"), hex("hex=lower")), ("ABCD\n".into(), "abcd\n".into()));
}

/// Stream whose report is larger than a pipe's buffer.
fn long_stream() -> Vec<u8> {
    let mut stream = vec![0xEF, 0xDF, 0x11, 0x14];
    stream.extend(factors64(1, 1, 1));
    stream.extend((0..20_000).flat_map(|n| event64(n, n)));
    stream
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let directory = directory(&[("long", &long_stream())]);
    for out in [None, Some("/dev/full")] {
        let mut args = vec!["-t", "user.trcfmt"];
        args.extend(out.iter().flat_map(|path| ["-o", path]));
        args.push("long");
        let mut command = std::process::Command::new(program("trcrpt"));
        let command = command.args(&args).current_dir(&directory);
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (_, err, status) = collected(command.stdout(Stdio::from(full)).output().unwrap());
        assert_eq!(status, 1, "{args:?}");
        assert!(err.starts_with("0454-903 cannot write"), "{err}");
    }
    // Short text is tested too, because it is written at the very end.
    for args in [&["report", &sample(32)][..], &["--help"], &["list"], &["explain", "S01"]] {
        let mut command = std::process::Command::new(program("tfbc"));
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.args(args).stdout(Stdio::from(full)).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let directory = directory(&[("long", &long_stream())]);
    let mut command = std::process::Command::new(program("trcrpt"));
    let command = command.args(["-t", "user.trcfmt", "long"]).current_dir(&directory);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[cfg(unix)]
#[test]
fn a_failed_write_leaves_the_old_file() {
    // A limit on file sizes makes a write fail in the middle, like a full disk.
    let directory = directory(&[("long", &long_stream()), ("out", b"old")]);
    let trcrpt = program("trcrpt");
    let script = format!("ulimit -f 10; trap '' XFSZ; {} -t user.trcfmt -o out long", trcrpt.display());
    let (_, err, status) = run(Command::new("sh").args(["-c", &script]).current_dir(&directory));
    assert_eq!(status, 1, "{err}");
    assert_eq!(fs::read(directory.path().join("out")).unwrap(), b"old");
    assert_eq!(names(directory.path()), ["long", "out", "user.trcfmt"]);
}

#[test]
fn files_of_other_kinds_are_named() {
    let directory = directory(&[]);
    assert_eq!(run(tfbc(&["compile", "user.trcfmt", "-o", "user.tfbc"]).current_dir(&directory)).2, 0);
    let sample = sample(64);
    for (args, part) in [
        (&["report", "user.tfbc"][..], "not a trace but a .tfbc blob: give it with -t"),
        (&["report", "-t", &sample, &sample], "not a format file but a trace"),
        (&["check", &sample], "not a format file but a trace"),
    ] {
        let (out, err, status) = run(tfbc(args).current_dir(&directory));
        assert_eq!((out.as_str(), status), ("", 1), "{args:?}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn an_event_holds_its_hook_word() {
    for (env, hex) in [("32", "010a00"), ("64", "010a0000"), ("32", "")] {
        let (out, err, status) = run(&mut tfbc(&["event", "--env", env, hex]));
        assert_eq!((out.as_str(), status), ("", 1), "{hex}");
        assert!(err.contains("of a hook word"), "{err}");
    }
    let directory = directory(&[("x.trcfmt", b"010 1.0 \"\" $TRACEENV $HOOKENV\n")]);
    for (env, hex) in [("32", "01090000"), ("64", "8000000001000000")] {
        let (out, ..) = run(tfbc(&["event", "-t", "x.trcfmt", "--env", env, hex]).current_dir(&directory));
        assert_eq!(out, format!("{env} {env}\n"));
    }
}

/// Stamped 64-bit generic event.
fn generic64(id: u64, word: u64, bytes: &[u8], ticks: u64) -> Vec<u8> {
    let mut event = words64(&[0xC000_0000_0000_0000 | (bytes.len() as u64) << 32 | id << 16, word]);
    event.extend(bytes);
    event.resize(event.len().next_multiple_of(8), 0);
    event.extend(words64(&[0x1a2b, ticks]));
    event
}

#[test]
fn templates_may_use_facts_of_header_events() {
    let format =
        b"010 1.0 L=0 \"\" $TOTALCPUS $TRACEDCPUS $REPORTEDCPUS $LARGEDATATYPES $BUFF $IPADDR $TRACEENV $HOOKENV\n";
    let mut stream = vec![0xEF, 0xDF, 0x11, 0x14];
    let before = event64(1, 5);
    let records = [
        factors64(1, 1, 1),
        generic64(0x00A0, 0x12, &words32(&[4, 2]), 5),
        generic64(0x00A0, 5, &words32(&[0xC000_0211]), 5),
        generic64(0x00A0, 6, &words32(&[2]), 5),
        generic64(0x00A0, 0x13, &words32(&[1]), 5),
        // A kind in the hook data is ignored.
        words64(&[0x8000_0010_00A0_0012, 0x0000_0009_0000_0009, 0, 0x1a2b, 5]),
    ];
    let narrow = words64(&[0xA000_0004_0100_0000, 0, 0x1a2b, 6]);
    for event in [before].into_iter().chain(records).chain([event64(1, 6), narrow]) {
        stream.extend(event);
    }
    let directory = directory(&[("x.trcfmt", format), ("s", &stream)]);
    let (out, _, status) = run(trcrpt(&["-h", "-t", "x.trcfmt", "s"]).current_dir(&directory));
    let expected = "0 0 0 0 0 00000000 64 64\n4 2 2 1 2 C0000211 64 64\n4 2 2 1 2 C0000211 64 32\n";
    assert_eq!((out.as_str(), status), (expected, 0));
}

#[test]
fn hook_000_is_formatted_by_template_004() {
    let mut stream = vec![0xEF, 0xDF, 0x11, 0x14];
    stream.extend(factors64(1, 1, 1));
    stream.extend(words64(&[0x8000_0000_0000_0000, 0x1a2b, 7]));
    let directory = directory(&[("s", &stream)]);
    let (out, _, status) = run(trcrpt(&["-h", "-O", "timestamp=3", "-t", "user.trcfmt", "s"]).current_dir(&directory));
    let expected = "000                    TRACEID IS ZERO hookword=8000000000000000 file=s index=60\n";
    assert_eq!((out.as_str(), status), (expected, 0));
}

#[test]
fn delta_is_measured_from_the_elapsed_time_shown_before() {
    let mut stream = vec![0xEF, 0xDF, 0x11, 0x14];
    stream.extend(factors64(1, 1, 1));
    for (word, ticks) in [(1, 1000), (2, 3500), (3, 3000), (4, 9000)] {
        stream.extend(event64(word, ticks));
    }
    let format = b"010 1.0 L=APPL \"\" $D1%U4, 2 { $SKIP }, \\* { \"n\" $D1%U4 }\n";
    let directory = directory(&[("x.trcfmt", format), ("s", &stream)]);
    let delta = |format: &str| -> Vec<String> {
        let (out, ..) = run(trcrpt(&["-h", "-O", "ids=off", "-t", format, "s"]).current_dir(&directory));
        out.lines().map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
    };
    // The time factors' event has the stamp 0, so elapsed times equal the stamps.
    assert_eq!(delta("user.trcfmt"), ["0.001000", "0.002500", "-0.000500", "0.006000"]);
    assert_eq!(delta("x.trcfmt"), ["0.001000", "0.002000", "0.006000"]);
}

#[test]
fn an_executed_program_names_its_process() {
    let format = b"106 1.0 L=APPL \"\" $D1%P8\n134 1.0 L=APPL \"\" $EXECPATH\n";
    let exec = |pid, path: &[u8]| generic64(0x1340, pid, path, 1);
    let dispatch = |pid: u64| words64(&[0x8000_0008_1060_0000, pid, 1, 1]);
    let mut stream = vec![0xEF, 0xDF, 0x11, 0x14];
    for event in [dispatch(5), exec(5, b"/usr/bin/ls"), dispatch(5), exec(5, b"no path"), dispatch(5), dispatch(6)] {
        stream.extend(event);
    }
    let directory = directory(&[("x.trcfmt", format), ("x.stream", &stream)]);
    let args = ["-h", "-O", "ids=off,timestamp=3", "-t", "x.trcfmt", "x.stream"];
    let (out, _, status) = run(trcrpt(&args).current_dir(&directory));
    let shown: Vec<_> = out.lines().map(str::trim_start).collect();
    let ls = "/usr/bin/ls";
    assert_eq!((shown, status), (vec!["-5-", ls, ls, ls, ls, "-6-"], 0));
}

#[test]
fn stop_ends_the_report() {
    let directory = directory(&[("x.trcfmt", b"010 1.0 $D1%U4, 3 { \"stop\" $STOP }, \\* { $D1%U4 }\n")]);
    let args = ["-h", "-O", "ids=off,timestamp=3", "-t", "x.trcfmt", "-d", "010", &sample(32)];
    let (out, _, status) = run(trcrpt(&args).current_dir(&directory));
    assert_eq!(status, 0);
    assert_eq!(out.split_whitespace().collect::<Vec<_>>(), ["1", "2", "stop"]);
}

#[test]
fn several_traces_are_reported_one_after_another() {
    let directory = directory(&[]);
    let args = ["-t", "user.trcfmt", &sample(32), &sample(64)];
    let (out, _, status) = run(trcrpt(&args).current_dir(&directory));
    assert_eq!(status, 0);
    assert_eq!(out.lines().filter(|line| line.starts_with("ID ")).count(), 2);
}

#[test]
fn the_limits_of_an_event_can_be_set() {
    let files = directory(&[("loop.trcfmt", b"010 1.0 L=0 \"\" LOOP $HD { \"ab\" }\n")]);
    let formats = files.path().join("loop.trcfmt");
    let event = |limit: &[&str]| {
        let mut args = vec!["event", "-t", formats.to_str().unwrap(), "--env", "32", "01010005"];
        args.extend(limit);
        run(&mut tfbc(&args)).0
    };
    assert_eq!(event(&[]), "ababababab\n");
    assert_eq!(event(&["--max-turns", "2"]), "abab [limit]\n");
    assert_eq!(event(&["--max-text", "5"]), "ababa [limit]\n");
}

#[test]
fn the_text_column_alone_is_nothing_but_the_text() {
    let files = directory(&[]);
    let formats = files.path().join("user.trcfmt");
    let args = ["report", "-t", formats.to_str().unwrap(), "--columns", "text", "--only", "010", &sample(32)];
    let (out, _, status) = run(&mut tfbc(&args));
    assert_eq!(status, 0);
    assert_eq!(out.lines().take(2).collect::<Vec<_>>(), ["hook = 1", "hook = 2 [7 usec]"]);
}
