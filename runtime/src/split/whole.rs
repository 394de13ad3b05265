//! The report of all parts in order. Parts without an event that the filter shows are not read.

use super::{Split, SplitError};
use crate::aix_report::{self, AixSummary, LineState, PartOutput};
use crate::formats::Formats;
use crate::ids::IdSet;
use crate::monitor::{Monitor, ReportError};
use crate::qnx_report::{self, QnxSummary};
use crate::reader::{AnyTrace, Notice};
use crate::trace::{ReportOptions, ReportSummary};
use std::io::Write;

/// Monitor of all parts, for which the hooks with guessed layouts are collected.
struct PartsMonitor<'m> {
    monitor: &'m mut (dyn Monitor + Send),
    guessed: IdSet,
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
        let mut monitor = PartsMonitor { monitor, guessed: IdSet::default() };
        let summary = self.report_parts(formats, options, &mut out, &mut monitor)?;
        if !monitor.guessed.is_empty() {
            monitor.monitor.guessed_layouts(&monitor.guessed);
        }
        Ok(summary)
    }

    fn report_parts(
        &self,
        formats: &Formats,
        options: &ReportOptions,
        out: &mut (dyn Write + Send),
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<ReportSummary, ReportError> {
        let catalog = formats.catalog();
        let mut first = self.open_part(1)?;
        // The state of lines passes from part to part, so columns may depend on the lines before.
        first.check_part(formats, options, false)?;
        let header = match first.source_mut() {
            AnyTrace::Aix(_) => None,
            AnyTrace::Kev(log) => Some(log.header().clone()),
        };
        let (mut aix, mut qnx) = (AixSummary::default(), QnxSummary::default());
        let (mut lines, mut has_heading) = (LineState::default(), false);
        for (part, index) in self.parts.iter().zip(&self.indexes) {
            let is_last = part.number == self.input.n_parts;
            let may_show = match &header {
                None => index.may_show(catalog, &options.aix),
                Some(header) => index.may_show_records(header, &options.qnx),
            };
            // The heading of an empty report contains what the last part knows.
            let is_needed = may_show || index.has_notices || (is_last && !has_heading);
            if !is_needed {
                continue;
            }
            match self.open_part(part.number)?.source_mut() {
                AnyTrace::Aix(logs) => {
                    let output = PartOutput { before: Some(lines.before_part()), is_last, out: &mut *out };
                    let (summary, after) = aix_report::report_part(logs, catalog, &options.aix, output, monitor)?;
                    (lines, has_heading) = (after, after.has_heading());
                    aix.add(&summary);
                    if summary.stopped {
                        break;
                    }
                }
                AnyTrace::Kev(log) => {
                    let begins = !std::mem::replace(&mut has_heading, true);
                    qnx.add_part(&qnx_report::report_part(log, catalog, &options.qnx, begins, out, monitor)?);
                }
            }
        }
        Ok(if header.is_none() { ReportSummary::Aix(aix) } else { ReportSummary::Qnx(qnx) })
    }
}
