//! Outputs that are inputs of the same run: every command refuses, and every input is unchanged.
#![cfg(unix)]

use crate::common::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Commands with `OUT` for the output, and the inputs it is set to.
const COMMANDS: &[(&str, &str, &[&str])] = &[
    ("tfbc", "report -o OUT t.trc u.trc -t a.trcfmt -t c.tfbc", &["t.trc", "u.trc", "a.trcfmt", "c.tfbc"]),
    ("tfbc", "report --names names --context context --output OUT t.trc", &["t.trc", "names", "context"]),
    ("tfbc", "report -o OUT traces t.trc", &["traces/one.trc", "traces/two.trc", "t.trc"]),
    ("tfbc", "report -o OUT --format stream64 traces", &["traces/notes", "traces/one.trc"]),
    ("tfbc", "report -o OUT base", &["base", "base-0", "base-1"]),
    ("tfbc", "report -o OUT traces.cpu", &["traces.cpu/base", "traces.cpu/base-0"]),
    ("tfbc", "report -o OUT -t b.xml k.kev", &["k.kev", "b.xml"]),
    (
        "tfbc",
        "view --names names --context context -o OUT -t a.trcfmt t.trc",
        &["t.trc", "names", "context", "a.trcfmt"],
    ),
    ("tfbc", "report --to ndjson --stats -o OUT k.kev", &["k.kev"]),
    ("tfbc", "compile -o OUT a.trcfmt b.xml", &["a.trcfmt", "b.xml"]),
    ("tfbc", "compile --emit ast -o OUT a.trcfmt", &["a.trcfmt"]),
    ("tfbc", "convert -o OUT b.xml", &["b.xml"]),
    ("tfbc", "test --coverage -o OUT x.case.toml", &["x.case.toml", "x.case.snap", "a.trcfmt", "t.trc"]),
    ("tfbc", "test --report json --report-file OUT .", &["x.case.toml", "x.case.snap", "a.trcfmt", "t.trc"]),
    ("tfbc", "test --new t.trc -t a.trcfmt -o OUT", &["t.trc", "a.trcfmt"]),
    ("trcrpt", "-o OUT -t a.trcfmt -n names --context context t.trc", &["t.trc", "a.trcfmt", "names", "context"]),
    ("trcrpt", "-o OUT -D io t.trc u.trc", &["t.trc", "u.trc", "groups"]),
    ("trcrpt", "-o OUT -K io t.trc", &["t.trc", "groups"]),
    ("trcrpt", "-m -o OUT t.trc u.trc", &["t.trc", "u.trc"]),
    ("trcrpt", "-r -C all -o OUT base", &["base", "base-0", "base-1"]),
    ("trcrpt", "-C 1 -o OUT base", &["base-0", "base-1"]),
    ("trcrpt", "-j -o OUT -t a.trcfmt -t c.tfbc", &["a.trcfmt", "c.tfbc"]),
    ("tfbc", "trcrpt -o OUT t.trc", &["t.trc"]),
    ("traceprinter", "-o OUT -f k.kev -t b.xml", &["k.kev", "b.xml"]),
    ("tfbc", "traceprinter -o OUT -f k.kev", &["k.kev"]),
];

/// Directory with one input per kind.
fn test_directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    let stream = |first: u64| {
        let events = (first..first + 3).flat_map(|n| plain64(0x0100, 0, &[n], 7, 100 * n));
        STREAM64.into_iter().chain(factors64(1, 1, 2)).chain(events).collect::<Vec<u8>>()
    };
    let log = |mode: u8, ticks: u64| {
        let events = plain64(0x0100, 0, &[ticks], 7, ticks);
        let mut log =
            LogBuilder { wide: true, current: 1, wraps: 0, ic: factors64(1, 1, 2), entries: vec![events] }.bytes();
        log[15] = mode;
        log
    };
    put("a.trcfmt", b"010 1.0 L=APPL \"A\" \"word\" X8\n");
    put("b.xml", include_bytes!("../../samples/user.xml"));
    put("k.kev", include_bytes!("../../samples/user.kev"));
    put("names", b"main 0000000000000010\n");
    put("context", b"");
    put("groups", b"SWservAt:\n        attribute = \"io_trcgrp\"\n        deflt = \"\"\n        value = \"010\"\n");
    for name in ["traces", "traces.cpu"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    for (name, first) in [("t.trc", 1), ("u.trc", 5), ("traces/one.trc", 1), ("traces/two.trc", 7)] {
        put(name, &stream(first));
    }
    put("traces/notes", b"no trace");
    for name in ["base", "traces.cpu/base"] {
        for (end, mode, ticks) in [("", 4, 1), ("-0", 8, 20), ("-1", 8, 30)] {
            put(&format!("{name}{end}"), &log(mode, ticks));
        }
    }
    let case = "formats = [\"a.trcfmt\"]\n[[event]]\nname = \"all\"\ntrace = \"t.trc\"\nonly = \"010\"\n";
    put("x.case.toml", case.as_bytes());
    for (command, args) in [
        ("trcevgrp", "-a -d disks -h 010 --file groups io"),
        ("tfbc", "compile a.trcfmt -o c.tfbc"),
        ("tfbc", "test --update x.case.toml"),
    ] {
        if command == "trcevgrp" {
            fs::remove_file(directory.path().join("groups")).unwrap();
        }
        let (_, err, status) = run_in(&directory, command, args);
        assert_eq!(status, 0, "{command} {args}: {err}");
    }
    directory
}

fn run_in(directory: &TempDir, name: &str, args: &str) -> (String, String, i32) {
    let mut command = command(name);
    command.current_dir(directory.path()).env("TFBC_CACHE", "off").env("TRCEVGRP_FILE", "groups");
    run(command.args(args.split(' ')))
}

/// Every file below a directory, with its bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn no_output_is_written_onto_an_input() {
    let world = test_directory();
    let at = |name: &str| world.path().join(name);
    for (command, args, inputs) in COMMANDS {
        // With another output, the command works.
        let out = if args.contains("--new") { "new.case.toml" } else { "out" };
        let (_, err, status) = run_in(&world, command, &args.replace("OUT", out));
        assert_ne!(status, 1, "{command} {args}: {err}");
        assert!(at(out).exists(), "{command} {args}");
        fs::remove_file(at(out)).unwrap();
        for input in *inputs {
            symlink(at(input), at("symbolic")).unwrap();
            fs::hard_link(at(input), at("hard")).unwrap();
            let before = files(world.path());
            let detour = format!("traces/../{input}");
            for name in [input, "symbolic", "hard", &*detour] {
                let (out, err, status) = run_in(&world, command, &args.replace("OUT", name));
                let place = format!("{command} {args} onto {input} by {name}");
                assert_eq!((out.as_str(), status), ("", 1), "{place}: {err}");
                assert!(
                    err.contains(&format!("cannot write {name}: this command also reads the file")),
                    "{place}: {err}"
                );
                assert!(
                    name == *input || err.contains(&format!(", as {}", input.trim_start_matches("./"))),
                    "{place}: {err}"
                );
                assert!(files(world.path()) == before, "{place}");
            }
            fs::remove_file(at("symbolic")).unwrap();
            fs::remove_file(at("hard")).unwrap();
        }
    }
}

#[test]
fn standard_input_and_output_are_files_as_well() {
    let world = test_directory();
    let at = |name: &str| world.path().join(name);
    let before = fs::read(at("t.trc")).unwrap();
    let open = |name: &str| fs::File::options().read(true).append(true).open(at(name)).unwrap();
    let run = |args: &[&str], stdin: &str, stdout: Option<&str>| {
        let mut command = std::process::Command::new(program("tfbc"));
        command.args(args).current_dir(world.path()).stdin(open(stdin)).stderr(std::process::Stdio::piped());
        command.stdout(stdout.map_or(std::process::Stdio::null(), |name| open(name).into()));
        let (_, err, status) = collected(command.spawn().unwrap().wait_with_output().unwrap());
        (err, status)
    };
    let (err, status) = run(&["report", "-o", "t.trc", "-"], "t.trc", None);
    assert_eq!(status, 1);
    assert!(err.contains("cannot write t.trc: this command also reads the file, as standard input"), "{err}");
    for args in [["report", "t.trc"], ["report", "-"]] {
        let (err, status) = run(&args, "t.trc", Some("t.trc"));
        assert_eq!(status, 1);
        assert!(err.contains("cannot write standard output: this command also reads the file"), "{err}");
    }
    assert!(fs::read(at("t.trc")).unwrap() == before);
    let (err, status) = run(&["report", "t.trc"], "t.trc", Some("names"));
    assert_eq!(status, 0, "{err}");
}

#[test]
fn report_next_to_its_traces_can_be_repeated() {
    let world = test_directory();
    for _ in 0..2 {
        let (_, err, status) = run_in(&world, "tfbc", "report -o traces/report.txt traces");
        assert_eq!(status, 0, "{err}");
    }
}

#[test]
fn updates_overwrite_neither_input_file() {
    let update = b"* /etc/trcfmt\n+ 010 1.1 L=APPL \"B\" X4\n";
    for links in ["symbolic", "hard"] {
        for (undo_is, format) in [("up.trc", "a.trcfmt"), ("a.trcfmt", "a.trcfmt"), ("", "up.trc")] {
            let world = test_directory();
            let at = |name: &str| world.path().join(name);
            fs::write(at("up.trc"), update).unwrap();
            let link = |to: &str, name: &str| match links {
                "hard" => fs::hard_link(at(to), at(name)).unwrap(),
                _ => symlink(at(to), at(name)).unwrap(),
            };
            if !undo_is.is_empty() {
                link(undo_is, "up.undo.trc");
            }
            link(format, "format");
            let before = files(world.path());
            let (out, err, status) = run_in(&world, "trcupdate", "-t format up");
            assert_eq!((out.as_str(), status), ("", 1), "{err}");
            assert!(err.contains("this command also reads the file"), "{err}");
            assert!(files(world.path()) == before, "{undo_is} {format}");
        }
    }
}

#[cfg(feature = "arrow")]
#[test]
fn notices_are_not_written_onto_an_input() {
    let world = test_directory();
    let link = |to: &str, name: &str| fs::hard_link(world.path().join(to), world.path().join(name)).unwrap();
    for (input, name) in [("t.trc", "t.tsv"), ("base-1", "base.tsv"), ("names", "names.tsv"), ("a.trcfmt", "a.tsv")] {
        link(input, name);
        let before = files(world.path());
        let args = format!("report --to arrow -o out --names names -t a.trcfmt --notices {name} t.trc base");
        let (_, err, status) = run_in(&world, "tfbc", &args);
        assert_eq!(status, 1, "{name}: {err}");
        let expected = format!("cannot write {name}: this command also reads the file, as {input}");
        assert!(err.contains(&expected), "{err}");
        assert!(files(world.path()) == before, "{name}");
    }
    let (_, err, status) = run_in(&world, "tfbc", "report --to arrow -o one.tsv --notices one.tsv t.trc");
    assert_eq!((err.as_str(), status), ("error: -o and --notices name one file: give each its own\n", 1));
    assert!(!world.path().join("one.tsv").exists());
    for flag in ["--notices n.tsv", "--by-event", "--batch-rows 5", "--time-zero 5", "--compress lz4"] {
        let (out, err, status) = run_in(&world, "tfbc", &format!("report --to csv {flag} t.trc"));
        let name = flag.split(' ').next().unwrap();
        assert!(err.contains(&format!("{name} is for --to arrow and --to parquet")), "{err}");
        assert_eq!((out.as_str(), status), ("", 1), "{flag}");
    }
}

#[test]
fn snapshot_linked_to_a_trace_is_refused() {
    let world = test_directory();
    let snapshot = world.path().join("x.case.snap");
    fs::remove_file(&snapshot).unwrap();
    symlink("t.trc", &snapshot).unwrap();
    let before = files(world.path());
    let (_, err, status) = run_in(&world, "tfbc", "test --update x.case.toml");
    assert_eq!(status, 1, "{err}");
    assert!(err.contains("this command also reads the file, as t.trc"), "{err}");
    assert!(files(world.path()) == before);
}
