//! Options of a report, and its counts.

use crate::catalog::Catalog;
use crate::columns::{Column, Columns};
use crate::context::{AddressNames, ContextTable, MAX_KNOWN};
use crate::expression::Expression;
use crate::filter::Filter;
use crate::output_format::Form;
use crate::pattern::Pattern;
use crate::reader::{Imbalance, Tally};
use crate::terminal::ReportColour;
use crate::time_zone::TimeZone;
use crate::work::MaxWork;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tfbc_vm::{Limits, Timers};

/// Maximum numbers of entries that a report keeps for a trace, so that a hostile trace cannot fill the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLimits {
    /// Running timers.
    pub timers: u32,
    /// Processes, and as many threads.
    pub processes: u32,
}

impl Default for TableLimits {
    /// 1,048,576 timers, 65,536 processes.
    fn default() -> Self {
        Self { timers: Timers::MAX as u32, processes: MAX_KNOWN as u32 }
    }
}

/// Options for the report of an AIX trace.
#[derive(Debug, Clone, Default)]
pub struct AixReportOptions {
    /// Columns of the report.
    pub columns: Columns,
    /// Lines between two heading lines; 0 for a single one.
    pub page_size: u64,
    /// True if the report has no heading.
    pub no_heading: bool,
    /// True if delta is measured from the previous event of the trace, otherwise from the previous reported one.
    pub delta_of_all: bool,
    /// Time zone of the heading's date.
    pub time_zone: TimeZone,
    /// Filter of the events, see [`ReportOptions::with_filter`](crate::ReportOptions::with_filter).
    #[doc(hidden)]
    pub filter: Filter,
    /// True if only events with a stanza in the given files are reported.
    pub defined: bool,
    /// Pattern that an event's text, without columns and margins, must match; `None` for all events.
    pub grep: Option<Pattern>,
    /// Conditions on the properties and fields of events.
    #[doc(hidden)]
    pub conditions: Option<Expression>,
    /// Output format: lines or a table.
    pub form: Form,
    /// Colours of columns and heading.
    pub colour: ReportColour,
    /// True to track processes and threads even if no column, filter or template needs them.
    pub follow_context: bool,
    /// True if only the number of events per hook id is written.
    pub stats: bool,
    /// True if the number of events per hook id follows the report.
    pub histogram: bool,
    /// Rules that extract processes, threads, CPUs and system calls from events.
    pub context: Arc<ContextTable>,
    /// Names of system calls by address, for traces that contain only addresses.
    pub names: Arc<AddressNames>,
    /// Limits on the work for one event.
    pub limits: Limits,
    /// Limit on the work for all events together.
    pub max_work: MaxWork,
    /// Limits on the state kept between events.
    pub tables: TableLimits,
    /// Number of formatting threads; `None` for one per processor. The report is the same for any number.
    pub threads: Option<NonZeroUsize>,
    /// Events per batch; `None` for a number chosen for speed. The report is the same for any number.
    pub batch: Option<NonZeroUsize>,
}

impl AixReportOptions {
    /// True if events with this canonical id may be shown.
    #[doc(hidden)]
    pub fn shows(&self, catalog: &Catalog<'_>, id: u16) -> bool {
        self.filter.shows(id) && (!self.defined || catalog.defines(id))
    }

    /// True if events are written as text, not as a table or as counts.
    pub(super) fn is_text(&self) -> bool {
        self.form == Form::Text && !self.stats
    }

    /// True if the report is text, and its columns include the events' texts.
    pub(super) fn has_lines(&self) -> bool {
        self.is_text() && self.columns.has_text()
    }
}

/// Counts of a report of an AIX trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AixSummary {
    /// Events of the trace that were read.
    pub n_events: u64,
    /// Events that were reported.
    pub n_reported: u64,
    /// Damaged places.
    pub n_damaged: u64,
    /// Events whose template read past their end.
    pub n_truncated: u64,
    /// Events that reached a limit of one event.
    pub n_limited: u64,
    /// Events cut short because earlier events used up the report's work limit.
    pub n_over_work: u64,
    /// Events whose template divided by zero.
    pub n_divided: u64,
    /// Events whose template the verifier refuses.
    pub n_refused: u64,
    /// Number of 32-bit stamps that went back slightly and were replaced by the previous stamp.
    pub n_clamped: u64,
    /// Timers dropped because the table was full.
    pub n_timers_lost: u64,
    /// Processes and threads dropped because a table was full.
    pub n_processes_lost: u64,
    /// Bytes read, and bytes of them that notices report as skipped.
    pub bytes: (u64, u64),
    /// Accounting of the bytes that were read.
    #[doc(hidden)]
    pub tally: Tally,
    /// True if `$STOP` ended the report.
    pub stopped: bool,
    /// Mismatch between the bytes read and the bytes accounted for: a bug in this program.
    #[doc(hidden)]
    pub imbalance: Option<Imbalance>,
}

impl AixSummary {
    /// Adds the counts of another part.
    pub(crate) fn add(&mut self, part: &Self) {
        self.n_events += part.n_events;
        self.n_reported += part.n_reported;
        self.n_damaged += part.n_damaged;
        self.n_truncated += part.n_truncated;
        self.n_limited += part.n_limited;
        self.n_over_work += part.n_over_work;
        self.n_divided += part.n_divided;
        self.n_refused += part.n_refused;
        self.n_clamped += part.n_clamped;
        self.n_timers_lost += part.n_timers_lost;
        self.n_processes_lost += part.n_processes_lost;
        self.bytes = (self.bytes.0 + part.bytes.0, self.bytes.1 + part.bytes.1);
        self.tally = self.tally + part.tally;
        self.stopped |= part.stopped;
        self.imbalance = self.imbalance.or(part.imbalance);
    }
}

/// Place of the fields in the lines of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldPlacement {
    No,
    /// In a column, with the text.
    Column,
    /// In a column, without the text, which is not formatted.
    Only,
    /// In the last column of JSON lines, without the text, which is not formatted.
    Alone,
    /// At the end of JSON lines.
    Last,
    /// In rows of a table, which have no columns as lines do.
    Row,
}

impl FieldPlacement {
    /// True if the fields precede the text in a line, or if the line has no text.
    pub fn precedes_text(self) -> bool {
        matches!(self, FieldPlacement::Column | FieldPlacement::Only | FieldPlacement::Alone)
    }

    pub(super) fn of(options: &AixReportOptions, columns: &Columns) -> Self {
        match columns.has_fields() && !options.stats {
            false => FieldPlacement::No,
            true if columns.has_fields_last() && options.form == Form::Ndjson => FieldPlacement::Last,
            true if columns.has_fields_last() => FieldPlacement::No,
            true if columns.has_text() || options.grep.is_some() => FieldPlacement::Column,
            true if options.form == Form::Ndjson && columns.list().last() == Some(&Column::Fields) => {
                FieldPlacement::Alone
            }
            true => FieldPlacement::Only,
        }
    }
}
