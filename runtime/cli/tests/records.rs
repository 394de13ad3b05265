//! Tests of `tfbc report`, `event`, `check` and `info` on QNX logs and event definitions.

use crate::common::{command, run};
use assert_cmd::Command;
use std::path::{Path, PathBuf};

fn tfbc() -> Command {
    command("tfbc")
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn stdout(command: &mut Command) -> String {
    run(command).0
}

/// Runs the published cases: definitions, a log, and the expected output.
#[test]
fn published_cases_match_from_every_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut n = 0;
    for number in 1..=20 {
        let case = |kind: &str| in_repository(&format!("snapshots/data/qnx/case{number:02}.{kind}"));
        let expected = std::fs::read(case("tsv")).unwrap();
        let blob = folder.path().join("case.tfbc");
        let compiled = tfbc().arg("compile").arg(case("xml")).arg("-o").arg(&blob).output().unwrap().status.success();
        let flags = ["--defined", "--to", "tsv", "--columns", "class,id,data"];
        for threads in ["1", "2"] {
            let report = |format: &Path| {
                let mut command = tfbc();
                command.arg("report").args(flags).args(["--threads", threads, "-t"]).arg(format);
                command
            };
            let file = report(&case("xml")).arg(case("kev")).output().unwrap();
            assert!(file.stdout == expected, "case {number}, {threads} threads");
            let piped = report(&case("xml")).arg("-").pipe_stdin(case("kev")).unwrap().output().unwrap();
            assert!(piped.stdout == expected, "case {number} from a pipe");
            // Definitions with errors give no blob.
            if compiled {
                n += 1;
                assert!(
                    report(&blob).arg(case("kev")).output().unwrap().stdout == expected,
                    "case {number} from a blob"
                );
            }
        }
    }
    assert!(n > 20);
}

#[test]
fn columns_forms_and_filters() {
    let (xml, log) = (in_repository("runtime/samples/user.xml"), in_repository("runtime/samples/user.kev"));
    let report = |flags: &[&str]| stdout(tfbc().arg("report").arg("-t").arg(&xml).args(flags).arg(&log));
    let first = "code:0xfe17a361 unknown";
    assert_eq!(report(&["--columns", "data"]).lines().next(), Some(first));
    let tsv = report(&["--to", "tsv", "--columns", "event,cpu,class,id,type,data"]);
    let mut lines = tsv.lines();
    assert_eq!(lines.next(), Some("event\tcpu\tclass\tid\ttype\tdata"));
    assert_eq!(lines.next(), Some("1\t0\tUSER\t140\tUSREVENT\tcode:0xfe17a361 unknown"));
    assert_eq!(
        report(&["--to", "csv", "--no-heading", "--columns", "id,data"]).split('\n').next(),
        Some(&format!("140,{first}")[..])
    );
    assert_eq!(
        report(&["--only", "USER:65", "--columns", "id", "--no-heading"]).lines().map(str::trim).max(),
        Some("65")
    );
    assert_eq!(report(&["--except", "6", "--to", "tsv"]).lines().count(), 1);
    assert_eq!(report(&["--cpu", "1-63", "--to", "tsv"]).lines().count(), 1);
    let object = report(&["--to", "ndjson", "--only", "6:65"]);
    let object: serde_json::Value = serde_json::from_str(object.lines().next().unwrap()).unwrap();
    assert_eq!((object["class"].as_str(), object["id"].as_u64()), (Some("USER"), Some(65)));
    let fields = object["fields"].as_array().unwrap();
    let field = |at: usize| (fields[at]["name"].as_str().unwrap(), fields[at]["raw"].as_u64().unwrap());
    assert_eq!((field(0), field(1)), (("ipicmd", 0x15d), ("ipicmd2", 4)));
    assert_eq!(fields[0]["text"], "0x15d 1_bit_8");
    tfbc().args(["report", "--columns", "elapsed"]).arg(&log).assert().code(1);
    tfbc().args(["report", "--only", "USR"]).arg(&log).assert().code(1);
}

#[test]
fn every_line_is_json_at_every_text_limit() {
    let (xml, log) = (in_repository("runtime/samples/user.xml"), in_repository("runtime/samples/user.kev"));
    let lines = |limit: usize| {
        let mut command = tfbc();
        command
            .args(["report", "--quiet", "--to", "ndjson", "--max-text", &limit.to_string(), "-t"])
            .arg(&xml)
            .arg(&log);
        let (text, ..) = run(command);
        let parsed = text.lines().map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{limit}: {error}: {line}"))
        });
        parsed.collect::<Vec<_>>()
    };
    let whole = lines(1 << 20);
    let longest = whole.iter().map(|line| line["data"].as_str().unwrap().len()).max().unwrap();
    let fields = |line: &serde_json::Value| line["fields"].as_array().cloned().unwrap_or_default();
    assert!(whole.iter().any(|line| fields(line).len() > 1));
    let mut n_cut = 0;
    for limit in 0..longest + 40 {
        let cut = lines(limit);
        assert_eq!(cut.len(), whole.len());
        for (cut, whole) in cut.iter().zip(&whole) {
            // The limit is about the text; fields need none.
            assert_eq!(fields(cut), fields(whole), "{limit}: {cut}");
            n_cut += usize::from(cut["data"] != whole["data"]);
        }
    }
    assert!(n_cut > 100, "{n_cut}");
}

#[test]
fn worked_examples_of_single_payloads() {
    let folder = tempfile::tempdir().unwrap();
    let xml = folder.path().join("a.xml");
    let event = |definitions: &str, flags: &[&str], payload: &str| {
        std::fs::write(&xml, format!("<eventdefinitions>{definitions}</eventdefinitions>")).unwrap();
        let mut command = tfbc();
        command.arg("event").arg("-t").arg(&xml).args(["--class", "6", "--id", "65"]).args(flags).arg(payload);
        stdout(&mut command)
    };
    let key = |format: &str, rest: &str| {
        format!("<datakey format=\"{format}\"><event class=\"6\" id=\"65\"/>{rest}</datakey>")
    };
    let five = key("%x mydata", "<enum value=\"0x5\" string=\"five\"/>");
    assert_eq!(event(&five, &[], "05 00 00 00 00 00 00 00"), "mydata:0x5 five\n");
    assert_eq!(event(&five, &["--big-endian"], "00 00 00 05"), "mydata:0x5 five\n");
    let masked = key("%2u1x ipicmd", "<bitmask value=\"0xff00\"/>");
    assert_eq!(event(&masked, &[], "ff7c"), "ipicmd:0x7c\n");
    let string = key("%4u1x myvalue %1s0 mystring", "");
    assert_eq!(event(&string, &["--wide"], "2a000000686900"), "myvalue:0x2a mystring:hi\n");
    // Without a definition, the built-in tables' arguments are printed.
    let mut other = tfbc();
    other.arg("event").arg("-t").arg(&xml).args(["--class", "USER", "--id", "66", "0100000002000000"]);
    assert_eq!(stdout(&mut other), "d0:0x00000001 d1:0x00000002\n");
    tfbc().args(["event", "--class", "6"]).arg("00").assert().code(1);
}

#[test]
fn refused_definitions_are_reported_and_others_shown() {
    let folder = tempfile::tempdir().unwrap();
    let xml = folder.path().join("a.xml");
    let text = "<eventdefinitions>\n<datakey format=\"%x good\"><event class=\"6\" id=\"65\"/></datakey>\n\
                <datakey format=\"%x bad\"><event class=\"6\"/></datakey>\n</eventdefinitions>\n";
    std::fs::write(&xml, text).unwrap();
    let log = in_repository("runtime/samples/user.kev");
    let run =
        tfbc().arg("report").arg("-t").arg(&xml).args(["--defined", "--columns", "data"]).arg(&log).assert().code(1);
    assert!(run.get_output().stdout.starts_with(b"good:0x"));
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(said.contains("a.xml:3:26") && said.contains("X07"), "{said}");
    let strict = tfbc().arg("report").arg("--strict").arg("-t").arg(&xml).arg(&log).assert().code(1);
    assert!(strict.get_output().stdout.is_empty());
    tfbc().arg("check").arg(&xml).assert().code(1);
    std::fs::write(&xml, "<eventdefinitions><datakey></eventdefinitions>").unwrap();
    let refused = tfbc().arg("report").arg("-t").arg(&xml).arg(&log).assert().code(1);
    assert!(refused.get_output().stdout.is_empty());
}

#[test]
fn info_describes_a_log() {
    let text = stdout(tfbc().arg("info").arg(in_repository("runtime/tests/data/qnx/interleaved_le.kev")));
    for expected in
        ["QNX kernel log, little-endian", "CYCLES_PER_SEC", "  cpus       0, 1, 2, 3", "COMM:2", "REC_MESSAGE"]
    {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
}
