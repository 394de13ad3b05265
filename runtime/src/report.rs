//! Reports of AIX traces: heading, columns, and the texts that the programs of their hooks print.
//!
//! ```text
//! Logs ─LogProducer─> Batch ─LineFormat─> text ─in order─> output
//! ```
//!
//! The producer tracks everything that depends on earlier events: times, context, timers and the filter. A batch
//! contains the events to show, their context and the reader's buffer with most of their bytes, so batches are
//! formatted in parallel.

mod batch;
mod cells;
mod events;
mod finish;
mod format;
mod heading;
mod prepared;
mod producer;
mod rows;

use crate::catalog::Catalog;
use crate::columns::Columns;
use crate::context::{AddressNames, ContextTable, MAX_KNOWN};
use crate::engine::{self, RunResult};
pub use crate::filter::Filter;
pub use crate::monitor::{Monitor, ReportError};
use crate::output_format::Form;
use crate::reader::aix::Logs;
use crate::reader::{Imbalance, Tally};
use crate::terminal::ReportColour;
use crate::time_zone::TimeZone;
pub use crate::work::MaxWork;
pub(crate) use events::{AixEvent, AixEvents};
use format::LineFormat;
use producer::{LogProducer, ProducerCounts};
use regex::bytes::Regex;
pub(crate) use rows::write_rows;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tfbc_vm::{Layout, Level, Limits, TextBuf, Timers};

/// Events between two calls of [`Monitor::progress`].
pub(crate) const PROGRESS_EVERY: u64 = 1 << 14;

/// Maximum sizes of the tables kept during a report; their ids come from the trace.
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

/// Content and layout of a report.
#[derive(Debug, Clone, Default)]
pub struct ReportOptions {
    /// The columns.
    pub columns: Columns,
    /// Lines between two heading lines; 0 for a single one.
    pub page_size: u64,
    /// True if the report has no heading.
    pub no_heading: bool,
    /// True if delta is measured from the previous event of the trace, otherwise from the previous reported one.
    pub delta_of_all: bool,
    /// Time zone of the heading's date.
    pub time_zone: TimeZone,
    /// Which events are reported.
    pub filter: Filter,
    /// True if only events with a stanza in the given files are reported.
    pub defined: bool,
    /// Pattern that an event's text, without columns and margins, must match.
    pub grep: Option<Regex>,
    /// The form: as lines, or as a table.
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
    /// Threads that format; `None` for as many as there are processors. The report is the same for any number.
    pub threads: Option<NonZeroUsize>,
    /// Events per batch; `None` for a number chosen for speed. The report is the same for any number.
    pub batch: Option<NonZeroUsize>,
}

impl ReportOptions {
    /// True if events with this canonical id may be shown.
    #[doc(hidden)]
    pub fn shows(&self, catalog: &Catalog<'_>, id: u16) -> bool {
        self.filter.shows(id) && (!self.defined || catalog.defines(id))
    }

    /// True if events are written as text, not as a table or as counts.
    fn is_text(&self) -> bool {
        self.form == Form::Text && !self.stats
    }

    /// True if the report is text, and its columns include the events' texts.
    fn has_lines(&self) -> bool {
        self.is_text() && self.columns.has_text()
    }
}

/// Counts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
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
    /// 32-bit stamps that went back a little.
    pub n_clamped: u64,
    /// Timers dropped because the table was full.
    pub n_timers_lost: u64,
    /// Processes and threads dropped because a table was full.
    pub n_processes_lost: u64,
    /// Bytes read, and bytes reported as unreadable.
    pub bytes: (u64, u64),
    /// Use of the bytes that were read.
    pub tally: Tally,
    /// `$STOP` ended the report.
    pub stopped: bool,
    /// Mismatch between the bytes read and the bytes accounted for: a bug in this program.
    pub imbalance: Option<Imbalance>,
}

/// Writes one report of all events of the logs.
///
/// # Errors
/// Reading a log or writing the report failed. Damage is not an error: its notices go to `monitor`, and
/// [`Summary::n_damaged`] counts them.
pub fn report(
    logs: &mut Logs,
    catalog: &Catalog<'_>,
    options: &ReportOptions,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<Summary, ReportError> {
    let infos = logs.logs().to_vec();
    let columns = options.columns.clone().with_wide_ids(catalog.has_wide_ids());
    // The end of a page depends on all lines before it, so pages are printed by one thread.
    let threads = if options.page_size > 0 { Some(NonZeroUsize::MIN) } else { options.threads };
    let layouts = if options.has_lines() { layouts(&columns) } else { Default::default() };
    let producer = LogProducer::new(logs, &infos, catalog, options, layouts, false);
    let known_steps = AtomicU64::new(0);
    let make = || LineFormat::new(catalog, options, (&columns, layouts), &infos, &known_steps);
    let RunResult { producer, mut formats, mut state } = engine::run(producer, make, threads, out, monitor)?;
    let (counts, lost) = (producer.counts(), producer.lost());
    let mut text = TextBuf::new();
    let mut format = formats.swap_remove(0);
    formats.iter().for_each(|other| format.add(other));
    format.end(producer.state().system(), &mut state, &mut text);
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(ReportError::Write)?;
    if !options.stats && !format.guessed().is_empty() && !producer.state().system().has_our_layouts() {
        monitor.guessed_layouts(format.guessed());
    }
    Ok(summary_of(logs, &format, &counts, lost))
}

/// Summary of a run. `format` has the counts of all threads; the last argument is [`LogProducer::lost`].
fn summary_of(
    logs: &Logs,
    format: &LineFormat<'_>,
    counts: &ProducerCounts,
    (n_timers_lost, n_processes_lost): (u64, u64),
) -> Summary {
    let ProducerCounts { n_events, n_shown, n_damaged, n_over_work, stopped } = *counts;
    let tally = logs.tally();
    let bytes = (tally.read, tally.skipped);
    let imbalance = logs.check(format.n_formatted(), n_events.saturating_sub(n_shown)).err();
    let summary = format.summary();
    Summary {
        n_events,
        n_damaged,
        stopped,
        bytes,
        tally,
        imbalance,
        n_clamped: logs.clamped(),
        n_timers_lost,
        n_processes_lost,
        n_limited: summary.n_limited - n_over_work,
        n_over_work: summary.n_over_work + n_over_work,
        ..summary
    }
}

/// Layout per level. The producer and the formatting threads use the same ones, so all texts have equal margins.
fn layouts(columns: &Columns) -> [Layout; 5] {
    Level::ALL.map(|level| columns.layout(level))
}
