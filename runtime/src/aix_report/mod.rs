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
mod heading;
mod line;
mod notes;
pub(crate) mod options;
mod prepared;
mod producer;
mod rows;
mod split;

use crate::catalog::Catalog;
use crate::columns::Columns;
use crate::engine::{self, RunResult};
use crate::monitor::{Monitor, ReportError};
use crate::reader::aix::Logs;
pub(crate) use events::{AixEvent, AixEvents};
use line::LineFormat;
pub(crate) use line::LineState;
pub use options::{AixReportOptions, AixSummary, TableLimits};
use producer::{EventUse, LogProducer, LostState, ProducerCounts};
pub(crate) use rows::write_rows;
pub(crate) use split::split;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU64;
use tfbc_vm::{Layout, Level, TextBuf};

/// Writes one report of all events of the logs.
///
/// # Errors
/// Reading a log or writing the report failed. Damage is not an error: its notices go to `monitor`, and
/// [`AixSummary::n_damaged`] counts them.
pub fn report(
    logs: &mut Logs,
    catalog: &Catalog<'_>,
    options: &AixReportOptions,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<AixSummary, ReportError> {
    report_part(logs, catalog, options, PartOutput { before: None, is_last: true, out }, monitor).map(|part| part.0)
}

/// Output of one of several parts.
pub(crate) struct PartOutput<'o> {
    /// State of the lines before the part; `None` if the part has it.
    pub before: Option<LineState>,
    /// True if no part follows.
    pub is_last: bool,
    pub out: &'o mut (dyn Write + Send),
}

/// Like [`report`], for one of several parts. Also returns the state of the lines after it.
pub(crate) fn report_part(
    logs: &mut Logs,
    catalog: &Catalog<'_>,
    options: &AixReportOptions,
    output: PartOutput<'_>,
    monitor: &mut (dyn Monitor + Send),
) -> Result<(AixSummary, LineState), ReportError> {
    let PartOutput { before, is_last, out } = output;
    let infos = logs.logs().to_vec();
    let columns = options.columns.clone().with_wide_ids(catalog.has_wide_ids());
    // The end of a page depends on all lines before it, so pages are printed by one thread.
    let threads = if options.page_size > 0 { Some(NonZeroUsize::MIN) } else { options.threads };
    let layouts = if options.has_lines() { layouts(&columns) } else { Default::default() };
    let uses = EventUse { only_counts: options.stats, ..EventUse::default() };
    let producer = LogProducer::new(logs, &infos, catalog, options, layouts, uses);
    let known_steps = AtomicU64::new(0);
    let first = before.unwrap_or(producer.first_line());
    let make = || LineFormat::new(catalog, options, &columns, layouts, &infos, &known_steps);
    let RunResult { producer, mut formats, mut state } = engine::run(producer, make, first, threads, out, monitor)?;
    let (counts, lost) = (producer.counts(), producer.lost());
    let mut text = TextBuf::new();
    let mut format = formats.swap_remove(0);
    formats.iter().for_each(|other| format.add(other));
    if is_last || producer.counts().stopped {
        format.end(producer.state().system(), &mut state, &mut text);
    }
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(ReportError::Write)?;
    if !options.stats && !format.guessed().is_empty() && !producer.state().system().has_our_layouts() {
        monitor.guessed_layouts(format.guessed());
    }
    Ok((summary_of(logs, &format, &counts, lost), state))
}

/// Summary of a run. `format` has the counts of all threads.
fn summary_of(logs: &Logs, format: &LineFormat<'_>, counts: &ProducerCounts, lost: LostState) -> AixSummary {
    let ProducerCounts { n_events, n_shown, n_damaged, n_over_work, stopped } = *counts;
    let tally = logs.tally();
    let bytes = (tally.read, tally.skipped);
    let imbalance = logs.check(format.n_formatted(), n_events.saturating_sub(n_shown)).err();
    let summary = format.summary();
    AixSummary {
        n_events,
        n_damaged,
        stopped,
        bytes,
        tally,
        imbalance,
        n_clamped: logs.clamped(),
        n_timers_lost: lost.n_timers,
        n_processes_lost: lost.n_processes,
        n_limited: summary.n_limited - n_over_work,
        n_over_work: summary.n_over_work + n_over_work,
        ..summary
    }
}

/// Layout per level. The producer and the formatting threads use the same ones, so all texts have equal margins.
fn layouts(columns: &Columns) -> [Layout; 5] {
    Level::ALL.map(|level| columns.layout(level))
}
