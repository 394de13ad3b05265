//! Logs of QNX.

use crate::reports::{DEFINITIONS, LIMITS, Ran, Way};
use crate::seed_of;
use regex::bytes::Regex;
use tfbc::forms::Form;
use tfbc::reader::Notice;
use tfbc::reader::kev::{KevLog, KevOptions};
use tfbc::records::{self, RecordColumns, RecordOptions, RecordSummary};
use tfbc::traceprinter::{DEFAULT, Layout, LineFormat, PrintOptions, print};

/// Reports and prints a log: every byte is formatted or named, and both are the same from a file and a pipe, by one thread
/// and by two.
///
/// The first byte chooses how it is reported.
pub fn kev(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let other = Way::other(seed_of(bytes));
    if choice & 1 == 0 {
        compare(|way| reported(*choice, bytes, way), other);
    } else {
        compare(|way| printed(*choice, bytes, way), other);
    }
}

fn compare(run: impl Fn(Way) -> Option<Ran<RecordSummary>>, other: Option<Way>) {
    let from_file = run(Way::File);
    if let Some(Ran { summary: Ok(summary), notices, .. }) = &from_file {
        assert_eq!(notices.iter().filter(|notice| notice.damage).count() as u64, summary.n_damaged, "{notices:?}");
    }
    let Some(way) = other else { return };
    let found = run(way);
    if way == Way::Threads {
        return assert_eq!(found, from_file, "two threads");
    }
    let text = |ran: &Option<Ran<RecordSummary>>| ran.as_ref().map(|ran| (ran.text.clone(), ran.notices.len()));
    assert_eq!(text(&found), text(&from_file), "from a pipe");
}

fn open(bytes: &[u8], way: Way, slots: bool) -> Option<KevLog> {
    KevLog::from_input("fuzzed.kev", way.input(bytes), &KevOptions { slots, ..KevOptions::default() }).ok()
}

fn reported(choice: u8, bytes: &[u8], way: Way) -> Option<Ran<RecordSummary>> {
    let mut log = open(bytes, way, false)?;
    let options = RecordOptions {
        columns: match choice >> 1 & 3 {
            0 => RecordColumns::parse("data").expect("a list of columns"),
            1 => RecordColumns::parse("event,time,cpu,class,id,type,data").expect("a list of columns"),
            _ => RecordColumns::default(),
        },
        form: [Form::Text, Form::Tsv, Form::Csv, Form::Ndjson][usize::from(choice >> 3 & 3)],
        defined: choice & 32 != 0,
        grep: (choice & 64 != 0).then(|| Regex::new("1|[a-c]").expect("a pattern")),
        stats: choice >> 5 == 4,
        limits: LIMITS,
        threads: way.threads(),
        ..RecordOptions::default()
    };
    let (mut text, mut notices) = (Vec::new(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    let summary = records::report(&mut log, &DEFINITIONS, &options, &mut text, &mut monitor);
    Some(Ran::new(text, notices, summary, |summary| summary.imbalance))
}

fn printed(choice: u8, bytes: &[u8], way: Way) -> Option<Ran<RecordSummary>> {
    let verbose = choice & 16 != 0;
    let mut log = open(bytes, way, verbose)?;
    let format = if choice & 8 != 0 { "%t %02C %e %-8.3Z|%20.5z|%#c%%" } else { DEFAULT };
    let options = PrintOptions {
        layout: match choice >> 1 & 3 {
            0 => Layout::Compat { one_line: false },
            1 => Layout::Compat { one_line: true },
            _ => Layout::Default(LineFormat::parse(format).expect("a line format")),
        },
        verbose,
        limits: LIMITS,
        threads: way.threads(),
    };
    let catalog = (choice & 32 != 0).then(|| &*DEFINITIONS);
    let (mut text, mut notices) = (Vec::new(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    let summary = print(&mut log, catalog, &options, &mut text, &mut monitor);
    Some(Ran::new(text, notices, summary, |summary| summary.imbalance))
}
