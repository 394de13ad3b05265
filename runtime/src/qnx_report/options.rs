//! Options of a log's report, and its counts.

use super::clock::TimeForm;
use super::filter::RecordFilter;
use crate::columns::Columns;
use crate::expression::Expression;
use crate::output_format::Form;
use crate::pattern::Pattern;
use crate::reader::kev::KevCounts;
use crate::reader::{Imbalance, Tally};
use crate::terminal::ReportColour;
use crate::work::MaxWork;
use std::num::NonZeroUsize;
use tfbc_vm::Limits;

/// Form of an event's fields in a JSON line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FieldLayout {
    /// An object per field, with its label, raw value and text.
    #[default]
    Array,
    /// One object, with the names and types of tables.
    Object,
}

/// Options for the report of a QNX log.
#[derive(Debug, Clone)]
pub struct QnxReportOptions {
    /// Columns of the report.
    pub columns: Columns,
    /// Output format.
    pub form: Form,
    /// Form of the fields in JSON lines.
    pub fields: FieldLayout,
    /// Format of times.
    pub time: TimeForm,
    /// True if rows come in ascending time.
    pub sort: bool,
    /// True if there is no heading.
    pub no_heading: bool,
    /// True if only events with a definition that prints them are reported.
    pub defined: bool,
    /// Filter of records, see [`ReportOptions::with_filter`](crate::ReportOptions::with_filter).
    #[doc(hidden)]
    pub filter: RecordFilter,
    /// Pattern that a record's text (the column `data`) must match; `None` for all records.
    pub grep: Option<Pattern>,
    /// Conditions on the properties and fields of records.
    #[doc(hidden)]
    pub conditions: Option<Expression>,
    /// True to track processes and threads even if no column or filter needs them.
    pub follow_owners: bool,
    /// True if records are counted by class and event, and nothing else is written.
    pub stats: bool,
    /// Colours of columns and heading.
    pub colour: ReportColour,
    /// Limits on the work for one record.
    pub limits: Limits,
    /// Limit on the work for all records together.
    pub max_work: MaxWork,
    /// Number of formatting threads; `None` for one per processor. The report is the same for any number.
    pub threads: Option<NonZeroUsize>,
}

impl Default for QnxReportOptions {
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
            conditions: None,
            follow_owners: false,
            stats: false,
            colour: ReportColour::Off,
            limits: Limits::default(),
            max_work: MaxWork::default(),
            threads: None,
        }
    }
}

/// Counts of a report of a QNX log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QnxSummary {
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
    /// Damaged places.
    pub n_damaged: u64,
    /// Counts of the reader.
    pub counts: KevCounts,
    /// Accounting of the bytes that were read.
    #[doc(hidden)]
    pub tally: Tally,
    /// Set if the number of records read differs from those formatted, filtered out and skipped: a bug of this program.
    #[doc(hidden)]
    pub imbalance: Option<Imbalance>,
}
