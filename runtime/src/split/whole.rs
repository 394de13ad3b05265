//! The report and the rows of all parts in order. Parts without an event that the filter shows are not read, and several
//! threads may read parts side by side.

use super::file::InputFacts;
use super::part_report::{PartCounts, WholeReport, header_of};
use super::{Split, SplitError, side_by_side};
use crate::aix_report::{self, LineState, PartOutput};
use crate::formats::Formats;
use crate::ids::IdSet;
use crate::monitor::{Monitor, ReportError};
use crate::qnx_report;
use crate::reader::{AnyTrace, Notice, TraceKind};
use crate::row_run::{names, qnx_release};
use crate::rows::{RowDecoder, RowOptions, RowSink};
use crate::trace::{ReportOptions, ReportSummary};
use std::io::Write;

/// Monitor of all parts, for which the hooks with guessed layouts are collected.
struct PartsMonitor<'m> {
    monitor: &'m mut (dyn Monitor + Send),
    guessed: IdSet,
}

impl<'m> PartsMonitor<'m> {
    fn new(monitor: &'m mut (dyn Monitor + Send)) -> Self {
        Self { monitor, guessed: IdSet::default() }
    }

    /// Reports the hooks of all parts.
    fn end(self) {
        if !self.guessed.is_empty() {
            self.monitor.guessed_layouts(&self.guessed);
        }
    }
}

impl Monitor for PartsMonitor<'_> {
    fn notice(&mut self, notice: &Notice) {
        self.monitor.notice(notice);
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.monitor.progress(offset, n_events);
    }

    fn guessed_layouts(&mut self, hooks: &IdSet) {
        self.guessed.extend(hooks);
    }

    fn slow(&mut self, template: &str) {
        self.monitor.slow(template);
    }
}

impl From<SplitError> for ReportError {
    fn from(error: SplitError) -> Self {
        match error {
            SplitError::Report(error) => error,
            SplitError::Io(error) => ReportError::Read(error),
            other => ReportError::Part(other.to_string()),
        }
    }
}

impl Split {
    /// Writes the report of the whole trace. Parts in which the index finds nothing that the filter shows are not read,
    /// unless they have notices.
    ///
    /// # Errors
    /// A part cannot be opened or read, the report cannot be written, or its options need the trace in one piece.
    pub fn report(
        &self,
        formats: &Formats,
        options: &ReportOptions,
        mut out: impl Write + Send,
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<ReportSummary, ReportError> {
        let mut monitor = PartsMonitor::new(monitor);
        let summary = self.report_parts(formats, options, &mut out, &mut monitor)?;
        monitor.end();
        Ok(summary)
    }

    /// True if a report may show an event of a part: its index has a matching time, id and CPU.
    ///
    /// # Errors
    /// There is no such part. The header of a QNX log is read, so its part must be readable.
    #[doc(hidden)]
    pub fn may_show(&self, number: u64, formats: &Formats, options: &ReportOptions) -> Result<bool, SplitError> {
        let index = &self.indexes[self.index_of(number)?];
        let options_of_reader = self.facts.inputs.first().and_then(InputFacts::read_options);
        let is_qnx = options_of_reader.and_then(|options| options.format) == Some(TraceKind::Kev);
        let header = if is_qnx { header_of(self.open_part(number)?.source_mut()) } else { None };
        Ok(index.may_show_any(formats.catalog(), header.as_ref(), options))
    }

    fn report_parts(
        &self,
        formats: &Formats,
        options: &ReportOptions,
        out: &mut (dyn Write + Send),
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<ReportSummary, ReportError> {
        let mut first = self.open_part(1)?;
        // The state of lines passes from part to part, so columns may depend on the lines before.
        first.check_part(formats, options, false)?;
        let is_exact_alone = first.check_part(formats, options, true).is_ok();
        let whole = WholeReport::new(self, formats.catalog(), options, first.source_mut());
        drop(first);
        let mut counts = PartCounts::default();
        let (mut lines, mut has_heading) = (LineState::default(), false);
        for at in 0..self.parts.len() {
            if is_exact_alone
                && has_heading
                && let Some(threads) = side_by_side::threads(&whole, at)
            {
                let (needed, left_out): (Vec<_>, Vec<_>) = (at..self.parts.len()).partition(|at| whole.needs(*at));
                left_out.into_iter().for_each(|at| whole.add_left_out(at, &mut counts));
                side_by_side::report(&whole, &needed, threads, &mut counts, out, monitor)?;
                break;
            }
            // The heading of an empty report contains what the last part knows.
            let is_last = whole.is_last(at);
            if !whole.needs(at) && (!is_last || has_heading) {
                whole.add_left_out(at, &mut counts);
                continue;
            }
            match self.open_part(self.parts[at].number)?.source_mut() {
                AnyTrace::Aix(logs) => {
                    let output = PartOutput { before: Some(lines.before_part()), is_last, out: &mut *out };
                    let (summary, after) = aix_report::report_part(logs, whole.catalog, &options.aix, output, monitor)?;
                    (lines, has_heading) = (after, after.has_heading());
                    counts.add(&ReportSummary::Aix(summary));
                    if summary.stopped {
                        break;
                    }
                }
                AnyTrace::Kev(log) => {
                    let begins = !std::mem::replace(&mut has_heading, true);
                    let summary = qnx_report::report_part(log, whole.catalog, &options.qnx, begins, out, monitor)?;
                    counts.add(&ReportSummary::Qnx(summary));
                }
            }
        }
        Ok(whole.summary(counts))
    }

    /// Passes a row for each event of a report to a sink, like [`rows`](crate::row_run::rows). Parts in which the index
    /// finds nothing that the filter shows are not read, unless they have notices.
    ///
    /// # Errors
    /// A part cannot be opened or read, the sink failed, or the options need the trace in one piece.
    #[doc(hidden)]
    pub fn rows(
        &self,
        formats: &Formats,
        options: &ReportOptions,
        wanted: RowOptions,
        sink: &mut dyn RowSink,
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<ReportSummary, ReportError> {
        let mut first = self.open_part(1)?;
        first.check_part(formats, options, false)?;
        let release = qnx_release(&first);
        let whole = WholeReport::new(self, formats.catalog(), options, first.source_mut());
        drop(first);
        let mut monitor = PartsMonitor::new(monitor);
        let (mut counts, mut has_begun) = (PartCounts::default(), false);
        for at in 0..self.parts.len() {
            // A table without rows has the facts that the last part knows.
            let is_last = whole.is_last(at);
            if !whole.needs(at) && (!is_last || has_begun) {
                whole.add_left_out(at, &mut counts);
                continue;
            }
            let mut decoder = RowDecoder::new(&mut *sink, names(formats, release)).of_part(has_begun, is_last);
            let (catalog, ReportOptions { aix, qnx }) = (whole.catalog, options);
            let summary = match self.open_part(self.parts[at].number)?.source_mut() {
                AnyTrace::Aix(logs) => {
                    ReportSummary::Aix(aix_report::write_rows(logs, catalog, aix, wanted, &mut decoder, &mut monitor)?)
                }
                AnyTrace::Kev(log) => {
                    ReportSummary::Qnx(qnx_report::write_rows(log, catalog, qnx, wanted, &mut decoder, &mut monitor)?)
                }
            };
            has_begun = decoder.has_begun();
            counts.add(&summary);
            if matches!(&summary, ReportSummary::Aix(summary) if summary.stopped) {
                break;
            }
        }
        monitor.end();
        Ok(whole.summary(counts))
    }
}
