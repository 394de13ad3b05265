//! A QNX log in, its report out: a line a record, with the text of the event definitions or of the built-in tables.
//!
//! ```text
//! KevLog ─reader thread─> Batch ─workers─> text ─in order─> output
//! ```
//!
//! A record's line depends on nothing but the record, so batches are formatted side by side; the output is the same for
//! any number of threads.

mod batch;
mod filter;
mod json;
mod print;
mod row;

pub use filter::{RecordFilter, RecordIds};
pub use print::RecordPrinter;
pub use row::{RecordColumn, RecordColumns};

use crate::catalog::Catalog;
use crate::reader::kev::{KevCounts, KevItem, KevLog, KevRecord};
use crate::reader::{Notice, Tally};
use crate::report::{Monitor, ReportError};
use batch::Batch;
use row::RowWriter;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tfbc_vm::{Limits, TextBuf};

/// Bytes of text that are gathered before they are written.
const WRITE_AT: usize = 128 << 10;
/// Logs of up to this many bytes are not worth a second thread.
const SMALL_LOG: u64 = 4 << 20;
/// Batches that wait for each worker, and texts of each.
const QUEUE: usize = 2;

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// Aligned columns under a heading.
    #[default]
    Text,
    /// Values between tabs, with a line of names; tab, newline and backslash in a value are written `\t`, `\n`, `\\`.
    Tsv,
    /// RFC 4180: values between commas, quoted where they must be, with a line of names.
    Csv,
    /// One JSON object a line, with the fields of the data.
    Ndjson,
}

/// What the report of a log holds.
#[derive(Debug, Clone, Default)]
pub struct RecordOptions {
    /// The columns.
    pub columns: RecordColumns,
    /// The form.
    pub form: Form,
    /// Whether there is no heading.
    pub no_heading: bool,
    /// Only the events that a definition names, and shows.
    pub defined: bool,
    /// Which records are reported.
    pub filter: RecordFilter,
    /// What one record may cost.
    pub limits: Limits,
    /// Threads that format; `None` for as many as there are processors.
    pub threads: Option<NonZeroUsize>,
}

/// What a run counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordSummary {
    /// Records that were reported.
    pub n_reported: u64,
    /// Records that end before the fields of their definition.
    pub n_truncated: u64,
    /// Records that reached a limit.
    pub n_limited: u64,
    /// Damaged places that were said one by one.
    pub n_damaged: u64,
    /// What the reader counted.
    pub counts: KevCounts,
    /// Where the bytes went.
    pub tally: Tally,
}

impl RecordSummary {
    fn add(&mut self, tallied: Tallied) {
        self.n_reported += tallied.n_reported;
        self.n_truncated += tallied.n_truncated;
        self.n_limited += tallied.n_limited;
    }
}

/// What formatting counts.
#[derive(Debug, Clone, Copy, Default)]
struct Tallied {
    n_reported: u64,
    n_truncated: u64,
    n_limited: u64,
}

/// Writes the report of one log.
///
/// # Errors
/// The log cannot be read on or the report cannot be written. A damaged log is no error: its notices go to `monitor`.
pub fn report(
    log: &mut KevLog,
    catalog: &Catalog<'_>,
    options: &RecordOptions,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<RecordSummary, ReportError> {
    let writer = RowWriter::new(catalog, options, log.header());
    let mut text = TextBuf::new();
    writer.heading(&mut text);
    out.write_all(text.as_bytes()).map_err(ReportError::Write)?;
    let mut summary = match threads(log, options) {
        1 => alone(log, writer, out, monitor)?,
        n => together(log, &writer, n, out, monitor)?,
    };
    out.flush().map_err(ReportError::Write)?;
    summary.counts = log.counts();
    summary.tally = log.tally();
    let accounted = summary.tally.header + summary.tally.events + summary.tally.skipped;
    if accounted != summary.tally.read {
        return Err(ReportError::Unaccounted(summary.tally.read.abs_diff(accounted)));
    }
    Ok(summary)
}

fn threads(log: &KevLog, options: &RecordOptions) -> usize {
    match options.threads {
        Some(threads) => threads.get(),
        None if log.size().is_none_or(|size| size <= SMALL_LOG) => 1,
        None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
    }
}

/// Reads, formats and writes in one thread.
fn alone(
    log: &mut KevLog,
    mut writer: RowWriter<'_>,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<RecordSummary, ReportError> {
    let mut summary = RecordSummary::default();
    let (mut text, mut n_records) = (TextBuf::new(), 0u64);
    loop {
        let offset = log.offset();
        match log.next().map_err(ReportError::Read)? {
            Some(KevItem::Record(record)) => {
                writer.record(&record, &mut text);
                n_records += 1;
                if n_records.is_multiple_of(1 << 14) {
                    monitor.progress(offset, n_records);
                }
            }
            Some(KevItem::Slot(_)) => {}
            Some(KevItem::Notice(notice)) => {
                write_out(&mut text, out)?;
                out.flush().map_err(ReportError::Write)?;
                summary.n_damaged += u64::from(notice.damage);
                monitor.notice(&notice);
            }
            None => break,
        }
        if text.len() >= WRITE_AT {
            write_out(&mut text, out)?;
        }
    }
    write_out(&mut text, out)?;
    summary.add(writer.take_tallied());
    Ok(summary)
}

fn write_out(text: &mut TextBuf, out: &mut impl Write) -> Result<(), ReportError> {
    out.write_all(text.as_bytes()).map_err(ReportError::Write)?;
    text.clear();
    Ok(())
}

/// A batch's text, on its way to the output.
struct Formatted {
    text: TextBuf,
    tallied: Tallied,
    notices: Vec<Notice>,
    offset: u64,
    n_records: u64,
}

/// Reads in one thread, formats in `n`, writes in order in this one. Batch k goes to worker k modulo n, so taking the
/// workers' texts in turn keeps the order.
fn together(
    log: &mut KevLog,
    writer: &RowWriter<'_>,
    n: usize,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<RecordSummary, ReportError> {
    std::thread::scope(|scope| {
        let mut to_workers = Vec::new();
        let mut from_workers = Vec::new();
        for _ in 0..n {
            let (to, batches) = sync_channel::<Batch>(QUEUE);
            let (texts, from) = sync_channel::<Formatted>(QUEUE);
            to_workers.push(to);
            from_workers.push(from);
            let writer = writer.clone();
            scope.spawn(move || format_batches(writer, &batches, &texts));
        }
        let reader = scope.spawn(move || read_batches(log, &to_workers));
        let written = write_in_order(from_workers, out, monitor);
        match reader.join() {
            Ok(read) => written.and_then(|summary| read.map(|()| summary)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Deals batches to the workers in turn, until the log ends or nobody takes them any more.
fn read_batches(log: &mut KevLog, to: &[SyncSender<Batch>]) -> Result<(), ReportError> {
    for worker in to.iter().cycle() {
        let mut batch = Batch::default();
        let mut failed = None;
        let ended = loop {
            match log.next() {
                Ok(Some(KevItem::Record(record))) => batch.push(&record),
                Ok(Some(KevItem::Slot(_))) => {}
                // A notice comes behind the records before it.
                Ok(Some(KevItem::Notice(notice))) => {
                    batch.notices.push(notice);
                    break false;
                }
                Ok(None) => break true,
                Err(error) => {
                    failed = Some(ReportError::Read(error));
                    break true;
                }
            }
            if batch.is_full() {
                break false;
            }
        };
        batch.offset = log.offset();
        let taken = worker.send(batch).is_ok();
        if let Some(error) = failed {
            return Err(error);
        }
        if ended || !taken {
            break;
        }
    }
    Ok(())
}

fn format_batches(mut writer: RowWriter<'_>, batches: &Receiver<Batch>, texts: &SyncSender<Formatted>) {
    for batch in batches {
        let mut text = TextBuf::new();
        batch.records().for_each(|record: KevRecord<'_>| writer.record(&record, &mut text));
        let n_records = batch.len() as u64;
        let tallied = writer.take_tallied();
        let formatted = Formatted { text, tallied, notices: batch.notices, offset: batch.offset, n_records };
        if texts.send(formatted).is_err() {
            break;
        }
    }
}

/// Takes the workers' texts in turn; the first that has none left ends the report.
fn write_in_order(
    from: Vec<Receiver<Formatted>>,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<RecordSummary, ReportError> {
    let mut summary = RecordSummary::default();
    let mut n_records = 0;
    for worker in from.iter().cycle() {
        let Ok(formatted) = worker.recv() else { break };
        out.write_all(formatted.text.as_bytes()).map_err(ReportError::Write)?;
        summary.add(formatted.tallied);
        if !formatted.notices.is_empty() {
            out.flush().map_err(ReportError::Write)?;
        }
        for notice in &formatted.notices {
            summary.n_damaged += u64::from(notice.damage);
            monitor.notice(notice);
        }
        n_records += formatted.n_records;
        monitor.progress(formatted.offset, n_records);
    }
    Ok(summary)
}
