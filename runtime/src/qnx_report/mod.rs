//! Reports of QNX logs: a line per record, with the text of the event definitions or of the built-in tables.
//!
//! ```text
//! KevLog ─RecordProducer─> Batch ─RecordWriter─> text ─in order─> output
//! ```
//!
//! A record's line depends on the record and its owner alone, so batches are formatted in parallel; the output is the
//! same for any number of threads. `cells.rs` describes the parts of a line.

mod batch;
mod cells;
pub(crate) mod clock;
mod defined;
mod events;
mod fields;
mod filter;
pub(crate) mod ids;
mod line;
mod options;
pub(crate) mod owners;
pub(crate) mod print;
mod rows;
mod run;
mod sort;
mod split;
mod writer;

pub use clock::TimeForm;
pub use defined::{write_objects, write_record_text};
pub(crate) use events::{QnxEvent, QnxEvents};
pub use filter::RecordFilter;
pub use ids::RecordIds;
pub use options::{FieldLayout, QnxReportOptions, QnxSummary};
pub(crate) use owners::OwnersSnapshot;
pub use print::RecordPrinter;
pub(crate) use rows::write_rows;
pub(crate) use run::run;
pub(crate) use split::{index_id, split};
pub(crate) use writer::{FormatCounts, RecordWriter};

use crate::catalog::Catalog;
use crate::events::{BuiltInEvents, display_id};
use crate::monitor::{Monitor, ReportError};
use crate::output_format::{IdCount, write_counts};
use crate::reader::Notice;
use crate::reader::kev::{KevHeader, KevLog};
use clock::Clock;
use line::{EventCounts, RowWriter};
use sort::{Sorter, Timed};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use tfbc_vm::TextBuf;

/// Writes the report of one log.
///
/// # Errors
/// The log cannot be read or the report cannot be written. A damaged log is no error: its notices go to `monitor`.
pub fn report(
    log: &mut KevLog,
    catalog: &Catalog<'_>,
    options: &QnxReportOptions,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<QnxSummary, ReportError> {
    let has_heading = log.is_at_start();
    report_part(log, catalog, options, has_heading, out, monitor)
}

/// Reports one of several parts, as [`report`] does. The first part that is written has the heading.
pub(crate) fn report_part(
    log: &mut KevLog,
    catalog: &Catalog<'_>,
    options: &QnxReportOptions,
    has_heading: bool,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<QnxSummary, ReportError> {
    let writer = RowWriter::new(catalog, options, log.header(), log.start());
    if options.stats {
        let counts = writer.counts();
        let summary = run(log, writer, options.threads, out, monitor)?;
        write_stats(&counts, options, log.header(), out).map_err(ReportError::Write)?;
        return Ok(summary);
    }
    let mut text = TextBuf::new();
    if has_heading {
        writer.heading(&mut text);
    }
    out.write_all(text.as_bytes()).map_err(ReportError::Write)?;
    if options.sort {
        return run_sorted(log, writer, options.threads, out, monitor);
    }
    run(log, writer, options.threads, out, monitor)
}

/// Formats all records of a log, and writes their texts in ascending time.
pub(crate) fn run_sorted(
    log: &mut KevLog,
    writer: impl RecordWriter,
    threads: Option<NonZeroUsize>,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<QnxSummary, ReportError> {
    let writer = Timed::new(writer, Clock::new(log.header()));
    let mut sorter = Sorter::new(sort::MAX_MEMORY);
    let summary = run(log, writer, threads, &mut sorter, monitor)?;
    if sorter.has_spilled() {
        monitor.notice(&Notice::warning("the rows need more than 1 GiB: they are sorted in temporary files"));
    }
    sorter.finish(out).map_err(ReportError::Write)?;
    Ok(summary)
}

/// Writes the number of reported records per event.
fn write_stats(
    counts: &EventCounts,
    options: &QnxReportOptions,
    header: &KevHeader,
    out: &mut dyn Write,
) -> io::Result<()> {
    let events = BuiltInEvents::of(header.release, header.big_endian);
    let rows = counts.iter().map(|(class, event, n)| {
        let label = events.distinct_label(class, event).unwrap_or_else(|| format!("EVENT {event}").into());
        let label = label.into_owned().into_bytes();
        IdCount { n, id: display_id(class, event), label }
    });
    let mut text = TextBuf::new();
    write_counts(rows.collect(), options.form, !options.no_heading, &mut text);
    out.write_all(text.as_bytes())?;
    out.flush()
}
