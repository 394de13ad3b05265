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
mod clock;
mod defined;
mod events;
mod fields;
mod filter;
mod owners;
mod print;
mod row;
mod rows;
mod run;
mod sort;

pub use clock::TimeForm;
pub use defined::{write_objects, write_record_text};
pub(crate) use events::{QnxEvent, QnxEvents};
pub use filter::{RecordFilter, RecordIds};
pub use owners::Owner;
pub use print::RecordPrinter;
pub(crate) use rows::write_rows;
pub(crate) use run::{FormatCounts, RecordWriter, run};

use crate::catalog::Catalog;
use crate::columns::Columns;
use crate::events::{BuiltInEvents, display_id};
pub use crate::output_format::Form;
use crate::output_format::{IdCount, write_counts};
use crate::reader::kev::{KevCounts, KevHeader, KevLog};
use crate::reader::{Imbalance, Notice, Tally};
use crate::report::{MaxWork, Monitor, ReportError};
use crate::terminal::ReportColour;
use clock::Clock;
use regex::bytes::Regex;
use row::{EventCounts, RowWriter};
use sort::{Sorter, Timed};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use tfbc_vm::{Limits, TextBuf};

/// Form of an event's fields in a JSON line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FieldLayout {
    /// An object per field, with its label, raw value and text.
    #[default]
    Array,
    /// One object, with the names and types of tables.
    Object,
}

/// Content and form of a log's report.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// The columns.
    pub columns: Columns,
    /// The form.
    pub form: Form,
    /// The form of fields in JSON lines.
    pub fields: FieldLayout,
    /// The form of times.
    pub time: TimeForm,
    /// True if rows come in ascending time.
    pub sort: bool,
    /// True if there is no heading.
    pub no_heading: bool,
    /// True if only events with a definition that prints them are reported.
    pub defined: bool,
    /// Filter of records.
    pub filter: RecordFilter,
    /// Pattern that a record's data must match.
    pub grep: Option<Regex>,
    /// True to track processes and threads even if no column or filter needs them.
    pub follow_owners: bool,
    /// True if records are counted by class and event, and nothing else is written.
    pub stats: bool,
    /// Colours of columns and heading.
    pub colour: ReportColour,
    /// Limits of one record.
    pub limits: Limits,
    /// Limits of all records together.
    pub max_work: MaxWork,
    /// Threads that format; `None` for all processors.
    pub threads: Option<NonZeroUsize>,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self {
            columns: Columns::qnx(),
            form: Form::default(),
            fields: FieldLayout::default(),
            time: TimeForm::default(),
            sort: false,
            no_heading: false,
            defined: false,
            filter: RecordFilter::default(),
            grep: None,
            follow_owners: false,
            stats: false,
            colour: ReportColour::Off,
            limits: Limits::default(),
            max_work: MaxWork::default(),
            threads: None,
        }
    }
}

/// Counts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordSummary {
    /// Records that were reported.
    pub n_reported: u64,
    /// Records that end before the fields of their definition.
    pub n_truncated: u64,
    /// Records that reached a limit of one record.
    pub n_limited: u64,
    /// Records whose definitions had too few steps left, because earlier ones had used the steps of the whole report.
    pub n_over_work: u64,
    /// Records whose definition the verifier refuses.
    pub n_refused: u64,
    /// Records that the layout of traceprinter 1.02 does not print.
    pub n_left_out: u64,
    /// Damaged places that were reported one by one.
    pub n_damaged: u64,
    /// Counts of the reader.
    pub counts: KevCounts,
    /// Use of the bytes that were read.
    pub tally: Tally,
    /// Set if the number of records read differs from those formatted, filtered out and skipped: a bug of this program.
    pub imbalance: Option<Imbalance>,
}

/// Writes the report of one log.
///
/// # Errors
/// The log cannot be read or the report cannot be written. A damaged log is no error: its notices go to `monitor`.
pub fn report(
    log: &mut KevLog,
    catalog: &Catalog<'_>,
    options: &RecordOptions,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<RecordSummary, ReportError> {
    let writer = RowWriter::new(catalog, options, log.header(), log.start());
    if options.stats {
        let counts = writer.counts();
        let summary = run(log, writer, options.threads, out, monitor)?;
        write_stats(&counts, options, log.header(), out).map_err(ReportError::Write)?;
        return Ok(summary);
    }
    let mut text = TextBuf::new();
    writer.heading(&mut text);
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
) -> Result<RecordSummary, ReportError> {
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
    options: &RecordOptions,
    header: &KevHeader,
    out: &mut dyn Write,
) -> io::Result<()> {
    let events = BuiltInEvents::of(header.release, header.big_endian);
    let rows = counts.iter().map(|(class, event, n)| {
        let label = events.distinct_label(class, event).unwrap_or_default().into_owned().into_bytes();
        IdCount { n, id: display_id(class, event), label }
    });
    let mut text = TextBuf::new();
    write_counts(rows.collect(), options.form, !options.no_heading, &mut text);
    out.write_all(text.as_bytes())?;
    out.flush()
}
