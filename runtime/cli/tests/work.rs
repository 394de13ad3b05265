//! Tests of the work limit of a report: hostile templates end soon, and the output does not depend on threads.

use crate::common::damage::ShortReader;
use crate::common::*;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tfbc::aix::{AixReportOptions, AixSummary, ReadOptions};
use tfbc::qnx::QnxReportOptions;
use tfbc::testing::aix::{Logs, Trace, report};
use tfbc::testing::formats::FormatSet;
use tfbc::testing::input::Input;
use tfbc::testing::qnx;
use tfbc::testing::qnx::{KevLog, KevOptions};
use tfbc::{Form, LoadOptions, MaxWork, Monitor, Notice};

/// Hook 010 loops as often as its first word says; 011 is ordinary; 012 must run in event order.
const FORMATS: &str = "\
010 1.0 L=APPL \"@HOSTILE\" {{ $n = $D1 }} LOOP $n { {{ $n = $n + 0 }} } \"done\"
011 1.0 L=APPL \"@ORDINARY\" \"word \" $D1%U4
012 1.0 L=APPL \"@TIMED\" starttimer($TID,1) {{ $n = $D1 }} LOOP $n { {{ $n = $n + 0 }} } \"timed\"
";

fn formats() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.trcfmt");
    fs::write(&path, FORMATS).unwrap();
    (directory, path)
}

/// Events of which every few loop; the last ones are ordinary.
fn stream(n: u64, turns: u64, ids: &[u16]) -> Vec<u8> {
    let event = |i: u64| {
        let id = ids[i as usize % ids.len()];
        plain64(id, 0, &[if id == 0x0110 { i } else { turns }], 7, 1000 + i)
    };
    [STREAM64.to_vec(), factors64(1, 1, 2), (0..n).flat_map(event).collect()].concat()
}

#[derive(Default)]
struct Messages(Vec<String>);

impl Monitor for Messages {
    fn notice(&mut self, _: &Notice) {}

    fn slow(&mut self, template: &str) {
        self.0.push(template.to_owned());
    }
}

fn reported(set: &FormatSet, input: Input, options: &AixReportOptions) -> (String, AixSummary, Messages) {
    let catalog = set.catalog().unwrap();
    let mut logs = Logs::from(Trace::from_input("x", input, &ReadOptions::default()).unwrap());
    let (mut out, mut heard) = (Vec::new(), Messages::default());
    let summary = report(&mut logs, &catalog, options, &mut out, &mut heard).unwrap();
    (String::from_utf8(out).unwrap(), summary, heard)
}

#[test]
fn events_beyond_the_budget_are_marked_and_counted() {
    let (_directory, path) = formats();
    let set = FormatSet::load(&[path], &LoadOptions::default()).unwrap();
    let bytes = stream(500, 10_000, &[0x0100, 0x0110]);
    let options =
        AixReportOptions { max_work: MaxWork(1), threads: NonZeroUsize::new(1), ..AixReportOptions::default() };
    let (text, summary, _) = reported(&set, Input::from_bytes(bytes.clone()), &options);
    let n_limited = text.lines().filter(|line| line.ends_with(" [limit]")).count() as u64;
    assert_eq!((summary.n_over_work, summary.n_limited), (n_limited, 0));
    assert!((200..500).contains(&n_limited), "{n_limited}");
    assert_eq!(summary.n_reported, 500);
    assert!(text.contains("done") && text.contains("word 1\n"), "events within the budget are whole");
    let (text, summary, _) = reported(&set, Input::from_bytes(bytes), &AixReportOptions::default());
    assert!(summary.n_over_work == 0 && !text.contains("[limit]"));
}

#[test]
fn text_does_not_depend_on_threads_or_chunks() {
    let (_directory, path) = formats();
    let set = FormatSet::load(&[path], &LoadOptions::default()).unwrap();
    // All events loop, every second one, or a few; one is run by the reading stage.
    for (n, turns, ids) in [
        (400, 3000, &[0x0100][..]),
        (3000, 400, &[0x0100, 0x0110]),
        (6000, 1500, &[0x0110, 0x0110, 0x0110, 0x0110, 0x0110, 0x0100, 0x0110]),
        (600, 2000, &[0x0120, 0x0110, 0x0100]),
    ] {
        let bytes = stream(n, turns, ids);
        for (form, stats) in [(Form::Text, false), (Form::Ndjson, false), (Form::Text, true)] {
            let with = |threads, batch| AixReportOptions {
                max_work: MaxWork(1),
                form,
                stats,
                threads: NonZeroUsize::new(threads),
                batch: NonZeroUsize::new(batch),
                ..AixReportOptions::default()
            };
            let (expected, counted, _) = reported(&set, Input::from_bytes(bytes.clone()), &with(1, 4096));
            // A table of counts formats only events that cannot be skipped.
            assert!(stats || counted.n_over_work > 0, "{n} events of {turns} turns");
            for (threads, batch) in [(1, 1), (1, 37), (2, 3), (2, 100), (3, 16), (4, 4096), (7, 5)] {
                let file = reported(&set, Input::from_bytes(bytes.clone()), &with(threads, batch));
                let short_reads = Input::from_read(ShortReader::new(bytes.clone(), 997)).unwrap();
                let pipe = reported(&set, short_reads, &with(threads, batch));
                for (text, summary, _) in [file, pipe] {
                    assert!(text == expected, "{n} events of {turns} turns, {threads} threads by {batch}, {form:?}");
                    assert_eq!(summary, counted, "{threads} threads by {batch}, {form:?}");
                }
            }
        }
    }
}

#[test]
fn slow_templates_are_named() {
    let (_directory, path) = formats();
    let set = FormatSet::load(&[path], &LoadOptions::default()).unwrap();
    for (ids, name) in [(&[0x0100, 0x0110][..], "hook 010 HOSTILE"), (&[0x0120, 0x0110], "hook 012 TIMED")] {
        let options = AixReportOptions { threads: NonZeroUsize::new(1), ..AixReportOptions::default() };
        let (_, summary, heard) = reported(&set, Input::from_bytes(stream(40, 300_000, ids)), &options);
        assert_eq!(summary.n_over_work, 0);
        assert!(!heard.0.is_empty() && heard.0.iter().all(|slow| slow == name), "{:?}", heard.0);
        let (.., heard) = reported(&set, Input::from_bytes(stream(2000, 10, ids)), &options);
        assert_eq!(heard.0, [""; 0]);
    }
}

#[test]
fn commands_name_the_flag() {
    let (directory, _) = formats();
    fs::write(directory.path().join("t"), stream(500, 10_000, &[0x0100, 0x0110])).unwrap();
    for line in ["tfbc report -t x.trcfmt --max-work 1 t", "trcrpt -t x.trcfmt --max-work 1 t"] {
        let args: Vec<_> = line.split(' ').collect();
        let mut command = command(args[0]);
        let (out, err, status) = run(command.args(&args[1..]).current_dir(&directory).env("TFBC_CACHE", "off"));
        assert_eq!(status, 0, "as of other limits: {err}");
        assert!(out.contains("[limit]"));
        assert!(
            err.contains("more than 1 steps for each byte") && err.contains("--max-work raises the limit"),
            "{err}"
        );
    }
}

const DEFINITIONS: &str = "<eventdefinitions><datakey format=\"%4u1x a %4u1d b %4u1x c %4s1d d %4u1x e %4u1d f\">\
    <event class=\"USER\" id=\"7\"/></datakey></eventdefinitions>";

/// Log of combine records with three slots.
fn qnx(n: u32) -> Vec<u8> {
    let text = b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_CPU_NUM::2TRACE_HEADER_END::".to_vec();
    let slot = |kind: u32, n: u32| [0x1807 | kind << 30, 16 * n, n, n + 1].map(u32::to_le_bytes).concat();
    [text, (0..n).flat_map(|n| [slot(1, n), slot(2, n), slot(3, n)].concat()).collect()].concat()
}

#[test]
fn qnx_records_share_the_budget_on_any_threads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.xml");
    fs::write(&path, DEFINITIONS).unwrap();
    let set = FormatSet::load(&[path], &LoadOptions::default()).unwrap();
    let catalog = set.catalog().unwrap();
    const N: u32 = 20_000;
    let bytes = qnx(N);
    for (form, stats) in [(Form::Text, false), (Form::Ndjson, false), (Form::Text, true)] {
        let with = |max_work, threads, piped: bool| {
            let options = QnxReportOptions {
                max_work: MaxWork(max_work),
                form,
                stats,
                threads: NonZeroUsize::new(threads),
                ..QnxReportOptions::default()
            };
            let input = match piped {
                true => Input::from_read(ShortReader::new(bytes.clone(), 9973)).unwrap(),
                false => Input::from_bytes(bytes.clone()),
            };
            let mut log = KevLog::from_input("x", input, &KevOptions::default()).unwrap();
            let mut out = Vec::new();
            let summary = qnx::report(&mut log, &catalog, &options, &mut out, &mut Messages::default()).unwrap();
            (String::from_utf8(out).unwrap(), summary)
        };
        // A limit of 0 runs nothing; the default limit runs everything. Counts need no text.
        assert_eq!(with(0, 1, false).1.n_over_work, if stats { 0 } else { u64::from(N) });
        assert_eq!(with(1024, 1, false).1.n_over_work, 0);
        for max_work in [0, 1] {
            let expected = with(max_work, 1, false);
            println!("{max_work} {form:?} {stats} {}", expected.1.n_over_work);
            for (threads, piped) in [(2, false), (3, true), (7, false), (4, true)] {
                assert!(with(max_work, threads, piped) == expected, "{max_work}, {threads} threads, {form:?}, {piped}");
            }
        }
    }
}
