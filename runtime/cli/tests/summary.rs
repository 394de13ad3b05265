//! Tests of `tfbc summary`: flags, formats, messages and exit status. The numbers are tested in `runtime/analysis/tests`.

use crate::common::{command, run};
use std::path::Path;

fn summary(args: &[&str]) -> (String, String, i32) {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    run(command("tfbc").arg("summary").args(args).current_dir(samples))
}

#[test]
fn sections_are_printed_in_every_form() {
    let (text, err, status) = summary(&["shell.trc"]);
    assert_eq!((err.as_str(), status), ("", 0));
    for title in ["CPUs, in milliseconds", "\nProcesses\n", "\nThreads\n", "\nCalls\n", "\nInterrupts"] {
        assert!(text.contains(title), "{title}: {text}");
    }
    assert!(text.contains("36.975666  2.177909     1.436793  0.540570"), "{text}");
    let (csv, ..) = summary(&["--to", "csv", "--sections", "process", "--exec", "ls", "shell.trc"]);
    let expected = "pid,generation,name,threads,total_ns,application_ns,syscall_ns,mode_ns,idle_ns\n\
                    6418,1,ls,1,167697,72759,94938,0,0\n";
    assert_eq!(csv, expected);
    let (tsv, ..) = summary(&["--to", "tsv", "--sections", "process", "--pid", "6418", "shell.trc"]);
    assert_eq!(tsv, expected.replace(',', "\t"));
    let (json, ..) = summary(&["--to", "ndjson", "--sections", "call", "--top", "1", "shell.trc"]);
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["call"], "kfork");
    assert_eq!((&lines[1]["call"], &lines[1]["class"]), (&"(others)".into(), &serde_json::Value::Null));
    assert_eq!(lines.len(), 2);
}

#[test]
fn rows_are_sorted_and_compared() {
    let (names, ..) = summary(&["--to", "csv", "--sections", "call", "--sort", "name", "shell.trc"]);
    let names: Vec<&str> = names.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert!(names.is_sorted() && names.len() == 18, "{names:?}");
    let (rows, ..) = summary(&["--against", "shell.trc", "--to", "csv", "--sections", "call", "shell.trc"]);
    assert!(rows.starts_with("class,call,number,base,this,difference,ratio\n"), "{rows}");
    assert!(rows.lines().skip(1).all(|row| row.ends_with(",0,1.000")), "{rows}");
    // No process of the one is in the other.
    let (rows, ..) = summary(&["--against", "shell.trc", "--sections", "process", "copy.trc"]);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        words(rows.lines().next().unwrap()),
        ["name", "number", "base", "this", "difference", "ratio"],
        "{rows}"
    );
    // The rows that differ most, and the sum of the others.
    let compared = |top: &str| {
        let args = ["--against", "shell.trc", "--to", "csv", "--sections", "process", "--top", top, "copy.trc"];
        let (rows, ..) = summary(&args);
        let total = |row: &&str| row.contains(",total_ns,");
        let rows: Vec<Vec<String>> =
            rows.lines().filter(total).map(|row| row.split(',').map(str::to_owned).collect()).collect();
        let difference = |row: &Vec<String>| row[4].parse::<i64>().unwrap();
        (rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), rows.iter().map(difference).collect::<Vec<_>>())
    };
    let (names, all) = compared("1000");
    let (first, two) = compared("2");
    assert!(names.len() > 3 && first.len() == 3 && first[2] == "(others)", "{names:?} {first:?}");
    assert!(two[0].abs() >= two[1].abs() && all.iter().all(|other| other.abs() <= two[0].abs()), "{all:?} {two:?}");
    assert_eq!(two.iter().sum::<i64>(), all.iter().sum::<i64>());
    // Without any row of its own, a section is one sum.
    let (names, sum) = compared("0");
    assert_eq!((&names[..], &sum[..]), (&[String::from("(others)")][..], &[all.iter().sum()][..]));
    let (rows, ..) = summary(&["--top", "0", "--to", "csv", "--sections", "process", "shell.trc"]);
    assert_eq!(rows.lines().nth(1), Some(",,(others),7,36774226,1436793,540570,0,34796863"), "{rows}");
    let (_, err, status) = summary(&["--against", "shell.trc", "--sections", "gap", "shell.trc"]);
    assert!(status == 1 && err.contains("does not compare the section gap"), "{err}");
}

#[test]
fn processes_without_a_name_are_named_by_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pids");
    // The name of process 516 comes from the trace.
    std::fs::write(&path, "516 other\n9999 x y\nz\n").unwrap();
    let (out, err, status) =
        summary(&["--to", "csv", "--sections", "process", "--pids", path.to_str().unwrap(), "shell.trc"]);
    assert!(status == 0 && err.contains("1 lines are not `PID name`") && out.contains("\n516,1,wait,1,"), "{err}{out}");
}

#[test]
fn mistakes_get_an_example() {
    for (args, expected) in [
        (&["--sections", "calls", "shell.trc"][..], "did you mean `call`?"),
        (&["--to", "tsv", "shell.trc"], "tfbc summary --to tsv --sections call TRACE"),
        (&["--to", "csv", "--sections", "cpu", "shell.trc", "copy.trc"], "--to ndjson"),
        (&["--from", "2", "--until", "1", "shell.trc"], "--until"),
        (&["user.kev"], "no record has a time"),
        (&["--idle", "1", "user.kev"], "such as 1.2"),
        (&["absent.trc"], "cannot read absent.trc"),
        (&["-o", "shell.trc", "shell.trc"], "cannot write shell.trc"),
    ] {
        let (out, err, status) = summary(args);
        assert!(out.is_empty() && status == 1 && err.contains(expected), "{args:?}: {err}");
    }
}

#[test]
fn choices_that_match_nothing_get_a_note() {
    for (args, expected) in [
        (&["--cpu", "99"][..], "shell.trc: --cpu matches no row; the trace has only the CPU 0\n"),
        (&["--pid", "7", "--exec", "nobody"], "shell.trc: --pid matches no row\nshell.trc: --exec matches no row\n"),
        (&["--tid", "7", "--sections", "thread"], "shell.trc: --tid matches no row\n"),
        (&["--from", "100"], "shell.trc: the trace has no time after --from\n"),
        (&["--cpu", "0", "--pid", "516", "--exec", "wait", "--from", "0.01"], ""),
        (&["--pid", "7", "--sections", "cpu"], ""),
        (&["--cpu", "99", "--quiet"], ""),
    ] {
        let (_, err, status) = summary(&[args, &["shell.trc"]].concat());
        assert_eq!((err.as_str(), status), (expected, 0), "{args:?}");
    }
}

#[test]
fn damage_is_lost_time_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    let mut bytes = std::fs::read(samples.join("shell.trc")).unwrap();
    // An event begins at this offset. Damage inside of an event could change its time.
    bytes[0x1A50..0x1A50 + 200].fill(0xFF);
    std::fs::write(path("damaged"), bytes).unwrap();
    let mut command = command("tfbc");
    let (out, err, status) = run(command.args(["summary", "damaged", "-o", "out"]).current_dir(&folder));
    assert!(out.is_empty() && status == 2 && err.contains("damaged"), "{err}");
    let text = std::fs::read_to_string(path("out")).unwrap();
    assert!(text.contains("lost"), "{text}");
}

#[test]
fn busy_time_is_drawn_over_time() {
    let (csv, err, status) = summary(&["--to", "csv", "--sections", "utilisation", "shell.trc"]);
    assert_eq!((err.as_str(), status), ("", 0));
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("cpu,from_ns,to_ns,busy_ns"));
    let rows: Vec<Vec<u64>> = lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    assert_eq!((rows[0][1], rows.last().unwrap()[2]), (0, 36_975_666));
    assert!(rows.windows(2).all(|rows| rows[0][2] == rows[1][1]) && rows.len() <= 256);
    assert_eq!(rows.iter().map(|row| row[3]).sum::<u64>(), 2_177_909);
    let draw = |locale: &str| {
        let args = ["summary", "--plot", "--sections", "cpu", "shell.trc"];
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
        let (text, err, status) = run(command("tfbc").args(args).env("LC_ALL", locale).current_dir(samples));
        assert_eq!((err.as_str(), status), ("", 0));
        let (_, chart) = text.split_once("\nBusy CPUs over time\n").unwrap();
        assert!(chart.lines().count() == 5 && chart.lines().all(|line| line.chars().count() <= 80), "{chart}");
        assert!(chart.contains("| 5.89 %\n") && chart.ends_with(" 0.036975666 s\n"), "{chart}");
        chart.to_owned()
    };
    assert!(draw("C").is_ascii() && draw("C.UTF-8").contains('▁'));
    for (args, expected) in [
        (&["--plot", "--to", "csv", "--sections", "cpu", "shell.trc"][..], "`--sections utilisation`"),
        (&["--plot", "--against", "shell.trc", "shell.trc"], "--against"),
    ] {
        let (_, err, status) = summary(args);
        assert!(status == 1 && err.contains(expected), "{args:?}: {err}");
    }
}

#[cfg(not(feature = "arrow"))]
#[test]
fn a_build_without_arrow_says_how_to_get_it() {
    for args in [&["summary", "--sections", "call"][..], &["latency", "--pair", "svc"]] {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
        let (out, err, status) =
            run(command("tfbc").args(args).args(["--to", "arrow", "shell.trc"]).current_dir(samples));
        assert!(out.is_empty() && status == 1 && err.contains("-p tfbc-cli --features arrow"), "{err}");
    }
}
