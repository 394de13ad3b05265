//! Tests of `tfbc latency`: flags, formats, messages and exit status. The numbers are tested in `runtime/analysis/tests`.

use crate::common::{command, run};
use std::path::Path;

fn latency(args: &[&str]) -> (String, String, i32) {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    run(command("tfbc").arg("latency").args(args).current_dir(samples).env("LC_ALL", "C"))
}

#[test]
fn groups_are_printed_in_every_form() {
    let (text, err, status) = latency(&["--pair", "svc", "--top", "1", "--hist", "shell.trc"]);
    assert_eq!((err.as_str(), status), ("", 0));
    assert!(text.starts_with("shell.trc\npairs      73\npending    3\n\nsvc  "), "{text}");
    assert!(text.contains("kwaitpid      3  28.420864"), "{text}");
    assert!(text.contains("\n(others) ") && text.contains("\nsvc=kwaitpid, nanoseconds\n"), "{text}");
    assert!(text.contains(&format!("[2M, 4M)    2 |{}\n", "#".repeat(40))), "{text}");
    let (csv, ..) = latency(&["--pair", "svc", "--to", "csv", "--percentiles", "50,99.90", "shell.trc"]);
    let expected = "svc,count,sum_ns,min_ns,mean_ns,p50_ns,p99.9_ns,max_ns,exact\n\
                    kwaitpid,3,28420864,";
    assert!(csv.starts_with(expected), "{csv}");
    assert!(csv.contains("\nkread,10,27520888,3955,2752088,2694763,5603295,5603295,true\n"), "{csv}");
    let (json, ..) = latency(&["--pair", "svc", "--to", "ndjson", "--sort", "count", "shell.trc"]);
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["section"], &lines[0]["by"]["svc"]), (&"group".into(), &"statx".into()));
    assert_eq!(lines.last().unwrap()["section"], "counts");
    let kread = lines.iter().find(|line| line["by"]["svc"] == "kread").unwrap();
    assert_eq!(kread["buckets"][0], serde_json::json!([2048, 4096, 1]));
}

#[test]
fn single_pairs_are_listed() {
    let kread = ["--start", "101{svc=kread}", "--end", "104{svc=kread}", "--by", "exec"];
    let list = |more: &[&str]| latency(&[&kread[..], more, &["shell.trc"]].concat());
    let (csv, ..) = list(&["--list", "--to", "csv"]);
    assert!(csv.starts_with("start_ns,end_ns,ns,key.tid,exec\n"), "{csv}");
    let ends: Vec<u64> = csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert!(ends.is_sorted() && ends.len() == 10, "{csv}");
    let (json, ..) = list(&["--outliers", "2", "--to", "ndjson"]);
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["ns"], &lines[0]["section"]), (3, &5_603_295.into(), &"pair".into()));
    assert!(lines[0]["key"]["tid"].is_number() && lines[0]["by"]["exec"].is_string(), "{json}");
    let (text, ..) = list(&["--list"]);
    assert!(text.starts_with("           start               end              time\n"), "{text}");
    assert!(text.contains("  tid=") && text.ends_with("\nshell.trc\npairs      10\n"), "{text}");
}

#[test]
fn mistakes_get_an_example() {
    for (args, expected) in [
        (&["shell.trc"][..], "--start"),
        (&["--pair", "svcs", "shell.trc"], "did you mean `svc`?"),
        (&["--pair", "ready", "shell.trc"], "expected svc, slih, flih, run, lvm"),
        (&["--start", "101{", "--end", "104", "shell.trc"], "expected a condition, such as `svc=kread`"),
        (&["--start", "101", "--end", "104{svx=1}", "shell.trc"], "--end: unknown field `svx`; did you mean `svc`?"),
        (&["--start", "101", "--end", "THREADY", "shell.trc"], "an example is `tfbc latency --start 101"),
        (&["--start", "101", "--end", "104", "--key", "x", "shell.trc"], "--key: unknown field `x`"),
        (&["--pair", "svc", "--hist", "--to", "csv", "shell.trc"], "--to ndjson"),
        (&["--pair", "svc", "--percentiles", "101", "shell.trc"], "such as 99.9"),
        (&["--timers", "user.kev"], "--start THREADY --end THRUNNING"),
        (&["--pair", "svc", "-o", "shell.trc", "shell.trc"], "cannot write shell.trc"),
    ] {
        let (out, err, status) = latency(args);
        assert!(out.is_empty() && status == 1 && err.contains(expected), "{args:?}: {err}");
    }
}
