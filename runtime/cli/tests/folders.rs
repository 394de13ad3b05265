//! Tests of `tfbc report --recursive`: the traces of a directory and of all directories below it as one dataset.

use crate::common::*;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// Directory with the files, and the directories they need.
fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    directory
}

/// Events of hook 010.
fn events(n: u64) -> Vec<u8> {
    (0..n).flat_map(|at| event64(at, 1000 * at)).collect()
}

fn stream(n: u64) -> Vec<u8> {
    [words32(&[0xEFDF_1114]), factors64(1, 1, 1), events(n)].concat()
}

fn log(n: u64) -> Vec<u8> {
    LogBuilder { wide: true, current: 1, ic: factors64(1, 1, 1), entries: vec![events(n)], ..LogBuilder::default() }
        .bytes()
}

/// Base file of a log with one file per CPU.
fn base() -> Vec<u8> {
    let mut base = LogBuilder { wide: true, ic: factors64(1, 1, 1), ..LogBuilder::default() }.bytes();
    base[15] = 4;
    base
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn kev() -> Vec<u8> {
    fs::read(data("qnx/user_le.kev")).unwrap()
}

/// A stream with an event of an impossible form in the middle.
fn damaged() -> Vec<u8> {
    [stream(40), vec![0xFF; 8], events(40)].concat()
}

fn report(directory: &Path, args: &str) -> (String, String, i32) {
    run(command("tfbc").arg("report").args(args.split(' ')).current_dir(directory))
}

/// Names in the headings of a report.
fn headings(out: &str) -> Vec<&str> {
    let headings = out.lines().filter_map(|line| line.strip_prefix("==> "));
    headings.map(|line| line.split(' ').next().unwrap()).collect()
}

/// Values of `file` in JSON lines, without repetitions of neighbours.
fn files(out: &str) -> Vec<String> {
    let of = |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["file"].as_str().unwrap().to_owned();
    let mut files: Vec<String> = out.lines().map(of).collect();
    files.dedup();
    files
}

#[test]
fn traces_below_a_directory_are_one_dataset() {
    let (kev, damaged) = (kev(), damaged());
    let directory = directory(&[
        ("logs/z", &stream(2)),
        ("logs/a/deep/er/s.gz", &gzip(&stream(3))),
        ("logs/a/deep/program", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"),
        ("logs/a/user.kev", &kev),
        ("logs/a-1/t", &stream(1)),
        ("logs/b/base", &base()),
        ("logs/b/base-0", &log(4)),
        ("logs/b/bad.kev", &kev[..200]),
        ("logs/b/damaged", &damaged),
        ("logs/empty", b""),
        ("logs/notes.txt", b"Some text that is no trace\n"),
    ]);
    let expected =
        ["a/deep/er/s.gz", "a/user.kev", "a-1/t", "b/base", "b/damaged", "z"].map(|name| format!("logs/{name}"));
    let list = expected.join(" ");
    for form in ["text", "ndjson"] {
        let (out, err, status) = report(directory.path(), &format!("--to {form} --recursive logs"));
        assert_eq!(status, 2, "{err}");
        match form {
            "text" => assert_eq!(headings(&out), expected),
            _ => assert_eq!(files(&out), expected),
        }
        // A bad trace is named, a damaged one is reported with the others, and other files are counted.
        for part in [
            "error: cannot read logs/b/bad.kev: truncated at offset 0xc8",
            "error: logs/b/damaged: event 42 at ",
            "logs: skipped 3 files without a trace: a/deep/program, empty, notes.txt",
            "logs/b/bad.kev (cannot be read)",
            "total of 7 traces",
        ] {
            assert!(err.contains(part), "{part}: {err}");
        }
        // The dataset is the report of its files in this order.
        let (listed, err, status) = report(directory.path(), &format!("--to {form} {list}"));
        assert_eq!((listed == out, status), (true, 2), "{err}");
        assert_eq!(report(directory.path(), &format!("--to {form} -r logs")).0, out);
    }
    // The names are those of the command line: other directories come first if they are given first.
    let (out, err, status) = report(directory.path(), "--to ndjson -r logs/z ./logs/a");
    assert_eq!(
        (files(&out).join(" "), status),
        (String::from("logs/z ./logs/a/deep/er/s.gz ./logs/a/user.kev"), 0),
        "{err}"
    );
    let (counts, _, status) = report(directory.path(), "--stats --to csv -r logs/a-1");
    assert_eq!((counts.as_str(), status), ("file,count,id,label\nlogs/a-1/t,1,010,UNDEFINED TRACE ID\n", 0));
}

#[test]
fn a_dataset_of_one_trace_names_its_file() {
    let directory = directory(&[("logs/a/s", &stream(1)), ("logs/a/s2", b"")]);
    let (out, err, status) = report(directory.path(), "-r logs");
    assert_eq!((headings(&out), status), (vec!["logs/a/s"], 0), "{err}");
    let (out, ..) = report(directory.path(), "-r --to ndjson logs");
    assert_eq!(files(&out), ["logs/a/s"]);
    let (out, ..) = report(directory.path(), "-r --to tsv logs/a/s");
    assert!(out.starts_with("file\tid\t") && out.contains("\nlogs/a/s\t010\t"), "{out}");
}

#[test]
fn a_directory_alone_names_the_flag() {
    let directory = directory(&[("logs/s", &stream(1)), ("logs/deeper/t", &stream(1)), ("top/logs/s", &stream(1))]);
    let (out, err, status) = report(directory.path(), "--to ndjson logs");
    assert_eq!((out.lines().count(), status), (1, 0));
    assert!(err.contains("logs: directories in it are not searched; --recursive searches them"), "{err}");
    let (out, err, status) = report(directory.path(), "top");
    assert_eq!((out.as_str(), status), ("", 1));
    let part = "cannot read top: no file in this directory is a trace; --recursive also searches the directories in it";
    assert!(err.contains(part), "{err}");
    // Commands without the flag do not name it.
    let (_, err, _) = run(command("tfbc").args(["info", "logs"]).current_dir(&directory));
    assert!(!err.contains("--recursive"), "{err}");
    let (_, err, _) = report(directory.path(), "logs/deeper");
    assert!(!err.contains("--recursive"), "{err}");
}

#[test]
fn the_status_says_how_much_was_read() {
    let cut = &kev()[..200];
    let directory =
        directory(&[("bad/a.kev", cut), ("bad/b/c.kev", cut), ("none/text", b"no trace"), ("good/s", &stream(1))]);
    for (args, expected, part) in [
        ("-r good", 0, ""),
        // Without any output, there is nothing that is complete.
        ("-r bad", 1, "cannot read bad/b/c.kev"),
        ("-r bad good", 2, "cannot read bad/a.kev"),
        // Files that are named one by one are needed.
        ("-r good bad/a.kev", 1, "cannot read bad/a.kev"),
        ("-r good missing", 1, "cannot read missing"),
        ("-r none", 1, "cannot read none: no file in or below this directory is a trace"),
        ("-r --follow good", 1, "--follow"),
        ("-r --part 1 good", 1, "--part"),
    ] {
        let (_, err, status) = report(directory.path(), args);
        assert!(status == expected && err.contains(part), "{args}: {status} {err}");
    }
    // A report in the directory itself is no input of the next run, and a trace is not overwritten.
    let (_, err, status) = report(directory.path(), "-r -o good/report.txt good");
    assert_eq!(status, 0, "{err}");
    let first = fs::read(directory.path().join("good/report.txt")).unwrap();
    assert_eq!(report(directory.path(), "-r -o good/report.txt good").2, 0);
    assert_eq!(fs::read(directory.path().join("good/report.txt")).unwrap(), first);
    let (_, err, status) = report(directory.path(), "-r -o good/s good");
    assert_eq!((fs::read(directory.path().join("good/s")).unwrap() == stream(1), status), (true, 1), "{err}");
}

#[cfg(unix)]
#[test]
fn links_lead_to_each_trace_once() {
    use std::os::unix::fs::symlink;
    let directory = directory(&[
        ("logs/day1/s", &stream(1)),
        ("logs/day2/base", &base()),
        ("logs/day2/base-0", &log(2)),
        ("elsewhere/t", &stream(1)),
    ]);
    let logs = directory.path().join("logs");
    for (to, link) in [
        (".", "day1/circle"),
        ("../../logs", "day2/circle"),
        ("day2", "latest"),
        ("/", "root"),
        ("itself", "itself"),
        ("missing", "dangling"),
        // A trace that is in the dataset, and one from outside with two names.
        ("day1/s", "a"),
        ("../elsewhere/t", "b"),
        ("../elsewhere/t", "c"),
    ] {
        symlink(to, logs.join(link)).unwrap();
    }
    let (out, err, _) = report(directory.path(), "-r logs");
    assert_eq!(headings(&out), ["logs/b", "logs/day1/s", "logs/day2/base"], "{err}");
    for part in [
        "logs: links to directories are not followed: day1/circle, day2/circle, latest, root\n",
        "logs: skipped 2 files without a trace: dangling, itself\n",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    // A link on the command line is followed.
    let (out, err, status) = report(directory.path(), "-r logs/latest/../day1 logs/day2/circle/day1");
    assert_eq!((headings(&out), status), (vec!["logs/latest/../day1/s", "logs/day2/circle/day1/s"], 0), "{err}");
    symlink("day1", logs.join("first")).unwrap();
    let (out, err, status) = report(directory.path(), "-r logs/first");
    assert_eq!((headings(&out), status), (vec!["logs/first/s"], 0), "{err}");
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_named_and_not_opened() {
    let directory = directory(&[("logs/s", &stream(1))]);
    let logs = directory.path().join("logs");
    assert!(std::process::Command::new("mkfifo").arg(logs.join("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", logs.join("zero")).unwrap();
    let (out, err, status) = report(directory.path(), "-r logs");
    assert_eq!((headings(&out), status), (vec!["logs/s"], 0), "{err}");
    assert!(err.contains("logs: skipped 2 files without a trace: pipe, zero\n"), "{err}");
}

#[cfg(unix)]
#[test]
fn unreadable_directories_are_named_and_skipped() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let directory = directory(&[
        ("logs/a/s", &stream(1)),
        ("logs/b/closed/s", &stream(1)),
        ("logs/b/t", &stream(1)),
        ("logs/c/closed", &stream(1)),
    ]);
    let mode = |name: &str, mode: u32| {
        fs::set_permissions(directory.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    mode("logs/b/closed", 0);
    mode("logs/c/closed", 0);
    let ran = |args: &[&str]| {
        let mut command = std::process::Command::new(program("tfbc"));
        command.arg("report").args(args).current_dir(&directory);
        // Everything is readable to root.
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).env("HOME", "/nonexistent");
        }
        command.output().map(collected)
    };
    let (out, err, status) = ran(&["-r", "logs"]).unwrap();
    mode("logs/b/closed", 0o755);
    assert_eq!((headings(&out), status), (vec!["logs/a/s", "logs/b/t"], 2), "{err}");
    for part in ["error: cannot read logs/b/closed: ", "error: cannot read logs/c/closed: "] {
        assert_eq!(err.matches(part).count(), 1, "{part}: {err}");
    }
    mode("logs/b/closed", 0);
    let (out, err, status) = ran(&["-r", "logs/a", "logs/b/closed"]).unwrap();
    mode("logs/b/closed", 0o755);
    assert_eq!((out.as_str(), status), ("", 1), "{err}");
}

#[cfg(unix)]
#[test]
fn one_trace_is_open_at_a_time() {
    use std::collections::BTreeSet;
    let traces: Vec<(String, Vec<u8>)> = (0..200).map(|n| (format!("logs/{:02}/{n:03}", n % 16), stream(2))).collect();
    let traces: Vec<(&str, &[u8])> = traces.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let directory = directory(&traces);
    for form in ["text", "ndjson", if cfg!(feature = "arrow") { "arrow" } else { "csv" }] {
        let mut sh = assert_cmd::Command::new("sh");
        let script = format!("ulimit -n 40 && exec \"$0\" report --threads 2 --to {form} -o out -r logs");
        let (_, err, status) = run(sh.arg("-c").arg(script).arg(program("tfbc")).current_dir(&directory));
        assert_eq!(status, 0, "{form}: {err}");
        if form == "ndjson" {
            let out = fs::read_to_string(directory.path().join("out")).unwrap();
            let found = files(&out);
            assert_eq!((out.lines().count(), found.len()), (400, 200));
            assert!(found.is_sorted() && found.iter().collect::<BTreeSet<_>>().len() == 200);
        }
    }
}
