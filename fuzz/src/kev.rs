//! Fuzz target for QNX logs.

use crate::reports::{DEFINITIONS, LIMITS, PATTERN, ReportMode, ReportResult, catalog, is_part_of, is_well_formed};
use crate::seed::seed_of;
use tfbc::internal::filter::RecordFilter;
use tfbc::qnx::{QnxReportOptions, QnxSummary};
use tfbc::testing::formats::Catalog;
use tfbc::testing::qnx;
use tfbc::testing::qnx::{KevLog, KevOptions};
use tfbc::testing::traceprinter::print;
use tfbc::traceprinter::{Layout, LineFormat, PrintOptions};
use tfbc::{Columns, Form, MaxWork, Notice};

/// Reports and prints a log. Every byte is formatted or reported, the results are the same for a file and a pipe, and
/// for one and two threads, and a record's text does not depend on filters.
///
/// The first byte chooses the options.
pub fn kev(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let seed = seed_of(bytes);
    let (other, catalog) = (ReportMode::other(seed), catalog(&DEFINITIONS, seed));
    if choice & 1 == 0 {
        let all = RecordFilter::default();
        let whole = compare(|way| reported(*choice, bytes, catalog, &all, way), other);
        let is_text = choice >> 3 & 3 == 0 && choice >> 5 != 4;
        if let Some(whole) = whole.filter(|_| is_text && seed >> 44 & 7 == 0) {
            let some = RecordFilter { cpus: Some(seed), ..RecordFilter::default() };
            let part = reported(*choice, bytes, catalog, &some, ReportMode::File).expect("a log that opened");
            is_part_of(&whole.text, &part.text);
        }
    } else {
        compare(|way| printed(*choice, bytes, catalog, way), other);
    }
}

/// Runs a report from a file and in another way, and returns the first result.
fn compare(
    run: impl Fn(ReportMode) -> Option<ReportResult<QnxSummary>>,
    other: Option<ReportMode>,
) -> Option<ReportResult<QnxSummary>> {
    let from_file = run(ReportMode::File);
    if let Some(ReportResult { summary: Ok(summary), notices, .. }) = &from_file {
        assert_eq!(notices.iter().filter(|notice| notice.damage).count() as u64, summary.n_damaged, "{notices:?}");
    }
    let Some(way) = other else { return from_file };
    let found = run(way);
    if way == ReportMode::Threads {
        assert_eq!(found, from_file, "two threads");
    } else {
        let text =
            |ran: &Option<ReportResult<QnxSummary>>| ran.as_ref().map(|ran| (ran.text.clone(), ran.notices.len()));
        assert_eq!(text(&found), text(&from_file), "from a pipe");
    }
    from_file
}

fn open(bytes: &[u8], way: ReportMode, slots: bool) -> Option<KevLog> {
    KevLog::from_input("fuzzed.kev", way.input(bytes), &KevOptions { slots, ..KevOptions::default() }).ok()
}

fn reported(
    choice: u8,
    bytes: &[u8],
    catalog: &Catalog<'_>,
    filter: &RecordFilter,
    way: ReportMode,
) -> Option<ReportResult<QnxSummary>> {
    let mut log = open(bytes, way, false)?;
    let options = QnxReportOptions {
        columns: match choice >> 1 & 3 {
            0 => Columns::parse_qnx("data").expect("a list of columns"),
            1 => Columns::parse_qnx("event,time,cpu,class,id,type,data").expect("a list of columns"),
            _ => Columns::qnx(),
        },
        form: [Form::Text, Form::Tsv, Form::Csv, Form::Ndjson][usize::from(choice >> 3 & 3)],
        defined: choice & 32 != 0,
        grep: (choice & 64 != 0).then(|| PATTERN.clone()),
        filter: filter.clone(),
        stats: choice >> 5 == 4,
        limits: LIMITS,
        threads: way.threads(),
        ..QnxReportOptions::default()
    };
    let (mut text, mut notices) = (Vec::new(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    let summary = qnx::report(&mut log, catalog, &options, &mut text, &mut monitor);
    let ran = ReportResult::new(text, notices, summary, |summary| summary.imbalance);
    is_well_formed(options.form, &ran.text);
    Some(ran)
}

fn printed(choice: u8, bytes: &[u8], catalog: &Catalog<'_>, way: ReportMode) -> Option<ReportResult<QnxSummary>> {
    let verbose = choice & 16 != 0;
    let mut log = open(bytes, way, verbose)?;
    let format = match choice & 8 {
        0 => LineFormat::default(),
        _ => LineFormat::parse("%t %02C %e %-8.3Z|%20.5z|%#c%%").expect("a line format"),
    };
    let options = PrintOptions {
        layout: match choice >> 1 & 3 {
            0 => Layout::Compat { one_line: false },
            1 => Layout::Compat { one_line: true },
            layout => Layout::Default { format, one_line: layout == 3 },
        },
        verbose,
        sort: choice & 64 != 0,
        limits: LIMITS,
        max_work: MaxWork::default(),
        threads: way.threads(),
    };
    let catalog = (choice & 32 != 0).then_some(catalog);
    let (mut text, mut notices) = (Vec::new(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    let summary = print(&mut log, catalog, &options, &mut text, &mut monitor);
    Some(ReportResult::new(text, notices, summary, |summary| summary.imbalance))
}
