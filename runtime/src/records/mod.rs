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
mod run;

pub use filter::{RecordFilter, RecordIds};
pub use print::RecordPrinter;
pub use row::{RecordColumn, RecordColumns};
pub(crate) use run::{RecordWriter, Tallied, run};

use crate::catalog::Catalog;
use crate::reader::Tally;
use crate::reader::kev::{KevCounts, KevLog};
use crate::report::{Monitor, ReportError};
use row::RowWriter;
use std::io::Write;
use std::num::NonZeroUsize;
use tfbc_vm::{Limits, TextBuf};

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
    /// Records that the layout of traceprinter 1.02 has nothing for.
    pub n_left_out: u64,
    /// Damaged places that were said one by one.
    pub n_damaged: u64,
    /// What the reader counted.
    pub counts: KevCounts,
    /// Where the bytes went.
    pub tally: Tally,
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
    run(log, writer, options.threads, out, monitor)
}
