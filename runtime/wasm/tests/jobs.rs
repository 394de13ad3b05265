//! Jobs of the page, without a browser: `.ci/web` runs the same in Chromium.

#[path = "../../tests/common/mod.rs"]
mod common;

use common::{LogBuilder, event64, factors64, words64};
use serde_json::{Value, json};
use std::io::Cursor;
use tfbc::Notice;
use tfbc_wasm::{Failure, Host, run};

const SHELL: &[u8] = include_bytes!("../../samples/shell.trc");
const USER: &[u8] = include_bytes!("../../samples/user.kev");

/// Host that keeps everything.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    notices: Vec<String>,
}

impl Host for Kept {
    fn piece(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn progress(&mut self, _: u64, _: u64) {}

    fn notice(&mut self, notice: &Notice) {
        self.notices.push(notice.message.clone());
    }
}

/// Result, text and notices of a job about a file.
fn done(kind: &str, file: &'static [u8], more: Value) -> Result<(Value, Kept), Failure> {
    done_with(kind, &[("a", file)], more)
}

/// Result, text and notices of a job about files.
fn done_with(kind: &str, files: &[(&str, &'static [u8])], more: Value) -> Result<(Value, Kept), Failure> {
    let named: Vec<Value> = files.iter().map(|(name, bytes)| json!({ "name": name, "size": bytes.len() })).collect();
    let mut job = json!({ "kind": kind, "trace": { "kind": "files", "files": named } });
    if let (Value::Object(job), Value::Object(more)) = (&mut job, more) {
        job.extend(more);
    }
    let mut host = Kept::default();
    let answer = run(&job.to_string(), |at| Cursor::new(files[at].1), &mut host)?;
    Ok((answer, host))
}

fn template(text: &str) -> Value {
    json!({ "formats": [{ "name": "own", "text": text }] })
}

#[test]
fn a_report_has_the_user_s_template_and_the_built_in_ones() {
    let (answer, host) = done("report", SHELL, template("134 1.0 L=KERN \"@EXEC\" \"<<\" $D1%PW \">>\"\n")).unwrap();
    let text = String::from_utf8(host.bytes).unwrap();
    assert!(text.contains("<<") && text.contains("dispatch: cmd="), "{text}");
    assert_eq!((answer["events"].as_u64(), answer["damaged"].as_u64()), (Some(288), Some(0)));
    let (answer, host) = done("report", USER, json!({})).unwrap();
    assert!(answer["events"].as_u64() > Some(0) && !host.bytes.is_empty());
}

#[test]
fn filters_choose_events() {
    let n = |more| done("report", SHELL, more).unwrap().0["events"].as_u64().unwrap();
    assert_eq!(n(json!({ "only": "106" })), 20);
    assert!(n(json!({ "grep": "ls" })) < 288);
    assert!(n(json!({ "until": "0.001" })) < n(json!({ "from": "0.001" })));
    let refused = |more| done("report", SHELL, more).err().unwrap().0;
    assert!(refused(json!({ "from": "soon" })).starts_with("from: expected seconds"));
    assert!(refused(json!({ "only": "xyz" })).starts_with("only: "));
    assert!(refused(json!({ "grep": "(" })).starts_with("grep: "));
    assert!(refused(json!({ "cpu": "a" })).starts_with("cpu: "));
}

#[test]
fn a_stanza_with_an_error_hides_no_other() {
    let text = "134 1.0 L=KERN \"@EXEC\" \"<<\" $D1%PW \">>\"\n135 1.0 \"@EXIT\" {{ 1 +\n";
    let (_, host) = done("report", SHELL, template(text)).unwrap();
    assert!(String::from_utf8(host.bytes).unwrap().contains("<<"));
}

#[test]
fn a_page_has_table_summary_and_timeline() {
    for file in [SHELL, USER] {
        let (answer, host) = done("page", file, json!({})).unwrap();
        let html = String::from_utf8(host.bytes).unwrap();
        assert!(answer["events"].as_u64() > Some(0) && html.contains("id=\"events-data\""));
    }
    let (answer, host) = done("page", SHELL, json!({ "limit": 10 })).unwrap();
    assert_eq!((answer["events"].as_u64(), answer["all"].as_u64() > Some(200)), (Some(10), true));
    assert!(String::from_utf8(host.bytes).unwrap().contains("These are the first 10 of"));
}

#[test]
fn an_event_has_bytes_and_fields() {
    let (_, host) = done("report", SHELL, json!({ "only": "134" })).unwrap();
    assert!(!host.bytes.is_empty());
    let found = (0..288).filter_map(|seq| done("event", SHELL, json!({ "seq": seq })).ok());
    let exec = found.map(|(answer, _)| answer).find(|answer| answer["id"] == "134").unwrap();
    assert_eq!(exec["fields"][0], json!(["cmd", "/usr/bin/ls"]), "{exec}");
    assert!(exec["bytes"].as_str().unwrap().starts_with("hook 134"), "{exec}");
    assert!(done("event", SHELL, json!({ "seq": 100_000 })).is_err());
    let (answer, _) = done("event", USER, json!({ "seq": 3 })).unwrap();
    assert!(!answer["bytes"].as_str().unwrap().is_empty());
}

#[test]
fn pasted_bytes_are_an_event_or_a_trace() {
    let pasted = |text: &str, event: &str| {
        let trace = json!({ "kind": "pasted", "text": text });
        done("bytes", &[], json!({ "trace": trace, "event": event }))
            .map(|(answer, _)| answer["bytes"].as_str().unwrap().to_owned())
            .map_err(|Failure(text)| text)
    };
    assert!(pasted("10600001 00000000 0000002a", "32").unwrap().starts_with("hook 106, 32-bit"));
    assert!(pasted("2a 00 00 00", "USER:111").is_err(), "no definition is given");
    assert_eq!(pasted("10", "64").unwrap_err(), "1 bytes, expected at least the 8 of a hook word");
    assert!(pasted("10600001", "none").is_err());
    let hex: String = SHELL.iter().map(|byte| format!("{byte:02x}")).collect();
    let (answer, _) = done("report", &[], json!({ "trace": { "kind": "pasted", "text": hex } })).unwrap();
    assert_eq!(answer["events"], 288);
}

#[test]
fn a_timeline_is_a_file_of_perfetto() {
    let (answer, host) = done("timeline", SHELL, json!({})).unwrap();
    assert!(answer["events"].as_u64() > Some(200) && host.bytes.len() > 10_000);
    assert_eq!(host.bytes[0], 0x0a, "the first field of Perfetto's trace is a packet");
}

#[test]
fn malformed_jobs_and_traces_are_refused() {
    let mut host = Kept::default();
    for job in [
        "",
        "{",
        "[]",
        "{\"kind\":\"report\"}",
        "{\"kind\":\"x\",\"trace\":{\"kind\":\"sample\",\"name\":\"shell.trc\"}}",
    ] {
        assert!(run(job, |_| Cursor::new(SHELL), &mut host).is_err(), "{job}");
    }
    for kind in ["report", "page", "event", "timeline"] {
        // The page has no flags, so no message names one.
        for (bytes, why) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\r"[..], "neither a trace of AIX nor a kernel log of QNX"),
            (b"neither of both", "not a trace but a text file"),
            (b"", "is empty"),
        ] {
            let Failure(refused) = done(kind, bytes, json!({})).err().unwrap();
            assert!(refused.contains(why) && !refused.contains("--"), "{kind}: {refused}");
        }
        // A cut trace is reported up to its end.
        let _ = done(kind, &SHELL[..SHELL.len() / 2 + 1], json!({}));
    }
}

#[test]
fn files_of_cpus_are_one_trace_with_their_base_file() {
    // Modes of the log's header: a base file, and a file of one CPU.
    let log = |mode: u32, ic: Vec<u8>, events: &[Vec<u8>]| {
        let log = LogBuilder { wide: true, current: 1, ic, entries: vec![events.concat()], ..LogBuilder::default() };
        let mut bytes = log.bytes();
        bytes[12..16].copy_from_slice(&mode.to_be_bytes());
        &*bytes.leak()
    };
    let base = ("b", log(4, factors64(1, 1, 2), &[words64(&[0x8000_0000_0010_0000, 0x1a2b, 90])]));
    let cpus = [("b-0", log(8, Vec::new(), &[event64(1, 100)])), ("b-1", log(8, Vec::new(), &[event64(2, 95)]))];
    let marked = template("010 1.0 L=APPL \"MARK\" $CPUID\n");
    let report = |files: &[_]| {
        let (answer, host) = done_with("report", files, marked.clone()).unwrap();
        (answer["events"].as_u64().unwrap(), String::from_utf8(host.bytes).unwrap(), host.notices)
    };
    let (n, text, notices) = report(&[cpus[0], base, cpus[1]]);
    let marks: Vec<_> = text.lines().filter_map(|line| line.split_once("MARK").map(|(_, text)| text.trim())).collect();
    assert_eq!((n, marks, notices.len()), (3, vec!["1", "0"], 0), "{text}");
    // A base file alone has no events of its CPUs.
    let (n, _, notices) = report(&[base]);
    assert!(n == 1 && notices[0].contains("b-0 does not exist"), "{notices:?}");
}

#[test]
fn several_traces_are_merged_by_time() {
    let n = |files: &[_]| done_with("report", files, json!({})).unwrap().0["events"].as_u64().unwrap();
    assert_eq!(n(&[("a", SHELL), ("b", SHELL)]), 2 * n(&[("a", SHELL)]));
    let refused = done_with("report", &[("a", SHELL), ("b", USER)], json!({})).err().unwrap().0;
    assert!(refused.contains("only AIX traces can be merged"), "{refused}");
    // Files from two folders may have one name.
    let refused = done_with("report", &[("a", SHELL), ("a", SHELL)], json!({})).err().unwrap().0;
    assert_eq!(refused, "two files are named a: choose one of them");
    assert_eq!(done_with("report", &[], json!({})).err().unwrap().0, "the job has no files");
}
