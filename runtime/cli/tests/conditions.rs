//! `tfbc report --where`: conditions on fields and properties.

use crate::common::*;
use serde_json::Value;

/// Rows of a report as JSON.
fn rows(args: &[&str]) -> Vec<Value> {
    let (out, err, status) = run(command("tfbc").args(["report", "--to", "ndjson"]).args(args));
    assert_eq!((&*err, status), ("", 0), "{args:?}");
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn events_are_selected_by_fields_and_properties() {
    let trace = root().join("runtime/samples/shell.trc");
    let trace = trace.to_str().expect("UTF-8");
    let columns = "tid,exec,svc,id,fields";
    let all = rows(&["--columns", columns, trace]);
    let check = |expression: &str, is_wanted: &dyn Fn(&Value) -> bool| {
        let expected: Vec<_> = all.iter().filter(|row| is_wanted(row)).cloned().collect();
        let got = rows(&["--columns", columns, "--where", expression, trace]);
        assert!(!expected.is_empty() && expected.len() < all.len(), "{expression}: {} rows", expected.len());
        assert_eq!(got, expected, "{expression}");
    };
    check("106{cpuid=0 && timer>1000000}", &|row| {
        row["id"] == "106" && row["fields"]["timer"].as_i64().is_some_and(|timer| timer > 1_000_000)
    });
    check("cmd_text == \"/usr/bin/ls\" | 134", &|row| row["fields"]["cmd_text"] == "/usr/bin/ls" || row["id"] == "134");
    check("process=ls, svc=kwrite", &|row| row["exec"] == "ls" && row["svc"] == "kwrite");
    check("tid != 8191 && arg_tid >= 10015", &|row| {
        row["tid"] != 8191 && row["fields"]["arg_tid"].as_u64().is_some_and(|tid| tid >= 10015)
    });
}

#[test]
fn records_are_selected_by_fields_and_properties() {
    let samples = root().join("runtime/samples");
    let (trace, definitions) = (samples.join("user.kev"), samples.join("user.xml"));
    let (trace, definitions) = (trace.to_str().expect("UTF-8"), definitions.to_str().expect("UTF-8"));
    let found = rows(&["-t", definitions, "--columns", "data", "--where", "name ~ eide && cpu = 0 | USER:140", trace]);
    assert!(found.len() > 1, "{found:?}");
    for row in &found {
        let data = row["data"].as_str().expect("a text");
        assert!(data.contains("name:devb-eide") || data.starts_with("code:"), "{data}");
    }
}

#[test]
fn an_unknown_name_is_an_error() {
    let trace = root().join("runtime/samples/shell.trc");
    let (_, error, status) = run(command("tfbc").args(["report", "--where", "pri=1"]).arg(&trace));
    assert!(error.contains("--where: no event has a field `pri`") && status == 1, "{error}");
    let (_, error, _) = run(command("tfbc").args(["report", "--where", "dept=1"]).arg(&trace));
    assert!(error.contains("did you mean `depth`?"), "{error}");
}

#[test]
fn threads_do_not_change_the_selection() {
    let trace = root().join("runtime/samples/shell.trc");
    let report = |threads: &str| {
        let args = ["report", "--columns", "id,delta,text", "--where", "106{timer>0}|svc~read", "--threads", threads];
        run(command("tfbc").args(args).arg(&trace))
    };
    assert_eq!(report("1"), report("8"));
}
