//! A QNX log in, its report out: a line a record, with the text of the event definitions or of the built-in tables.
//!
//! ```text
//! KevLog ─RecordWalk─> Batch ─RecordWriter─> text ─in order─> output
//! ```
//!
//! A record's line depends on nothing but the record, so batches are formatted side by side; the output is the same for
//! any number of threads.

mod batch;
mod clock;
mod filter;
mod names;
mod print;
mod row;
mod run;

pub(crate) use filter::cpus;
pub use filter::{RecordFilter, RecordIds};
pub use print::RecordPrinter;
pub use row::{RecordColumn, RecordColumns};
pub(crate) use run::{RecordWriter, Tallied, run};

use crate::catalog::Catalog;
use crate::events::{Events, class_name};
pub use crate::forms::Form;
use crate::forms::{Counted, write_counts};
use crate::reader::kev::{KevCounts, KevHeader, KevLog};
use crate::reader::{Imbalance, Tally};
use crate::report::{Monitor, ReportError};
use regex::bytes::Regex;
use row::{Counts, RowWriter};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use tfbc_vm::{Limits, TextBuf};

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
    /// Only records whose data has a match.
    pub grep: Option<Regex>,
    /// Whether the records are counted by class and event, and nothing else is written.
    pub stats: bool,
    /// Whether columns and heading step back on a terminal: they stand between marks, which a
    /// [`Screen`](crate::screen::Screen) makes styles.
    pub colour: bool,
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
    /// Records whose definition the verifier refuses.
    pub n_refused: u64,
    /// Records that the layout of traceprinter 1.02 has nothing for.
    pub n_left_out: u64,
    /// Damaged places that were said one by one.
    pub n_damaged: u64,
    /// What the reader counted.
    pub counts: KevCounts,
    /// Where the bytes went.
    pub tally: Tally,
    /// What was read is not what was formatted, filtered out and skipped: a fault of this program.
    pub imbalance: Option<Imbalance>,
}

/// Writes the report of one log.
///
/// # Errors
/// The log cannot be read on or the report cannot be written. A damaged log is no error: its notices go to `monitor`.
pub fn report(
    log: &mut KevLog,
    catalog: &Catalog<'_>,
    options: &RecordOptions,
    out: &mut (impl Write + Send),
    monitor: &mut (impl Monitor + Send),
) -> Result<RecordSummary, ReportError> {
    let writer = RowWriter::new(catalog, options, log.header());
    if options.stats {
        let counts = writer.counts();
        let summary = run(log, writer, options.threads, out, monitor)?;
        write_stats(&counts, options, log.header(), out).map_err(ReportError::Write)?;
        return Ok(summary);
    }
    let mut text = TextBuf::new();
    writer.heading(&mut text);
    out.write_all(text.as_bytes()).map_err(ReportError::Write)?;
    run(log, writer, options.threads, out, monitor)
}

/// Writes how often each event was reported.
fn write_stats(counts: &Counts, options: &RecordOptions, header: &KevHeader, out: &mut impl Write) -> io::Result<()> {
    let events = Events::of(header.release, header.big_endian);
    let rows = counts.iter().map(|(class, event, n)| {
        let name = class_name(class).map_or_else(|| class.to_string(), str::to_owned);
        let label = events.label(class, event).unwrap_or_default().as_bytes().to_vec();
        Counted { n, id: format!("{name}:{event}"), label }
    });
    let mut text = TextBuf::new();
    write_counts(rows.collect(), options.form, !options.no_heading, &mut text);
    out.write_all(text.as_bytes())?;
    out.flush()
}
