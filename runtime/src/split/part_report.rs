//! Reports of the parts of a split, and the sum of their counts.

use super::Split;
use crate::aix_report::{self, AixSummary, PartOutput};
use crate::catalog::Catalog;
use crate::monitor::{Monitor, ReportError};
use crate::qnx_report::{self, QnxSummary};
use crate::reader::AnyTrace;
use crate::reader::kev::{KevCounts, KevHeader};
use crate::trace::{ReportOptions, ReportSummary};
use std::io::Write;

/// Header of a QNX log.
pub(super) fn header_of(trace: &AnyTrace) -> Option<KevHeader> {
    match trace {
        AnyTrace::Aix(_) => None,
        AnyTrace::Kev(log) => Some(log.header().clone()),
    }
}

/// A report of all parts.
pub(super) struct WholeReport<'w> {
    pub split: &'w Split,
    pub catalog: &'w Catalog<'w>,
    pub options: &'w ReportOptions,
    /// Header of a QNX log.
    header: Option<KevHeader>,
}

/// Counts of some parts.
#[derive(Default)]
pub(super) struct PartCounts {
    aix: AixSummary,
    qnx: QnxSummary,
}

impl PartCounts {
    pub fn add(&mut self, summary: &ReportSummary) {
        match summary {
            ReportSummary::Aix(summary) => self.aix.add(summary),
            ReportSummary::Qnx(summary) => self.qnx.add_part(summary),
        }
    }
}

impl<'w> WholeReport<'w> {
    pub fn new(split: &'w Split, catalog: &'w Catalog<'w>, options: &'w ReportOptions, first: &AnyTrace) -> Self {
        Self { split, catalog, options, header: header_of(first) }
    }

    /// True if the report may show an event of a part, or has its notices.
    pub fn needs(&self, at: usize) -> bool {
        let index = &self.split.indexes[at];
        index.may_show_any(self.catalog, self.header.as_ref(), self.options) || index.has_notices
    }

    pub fn is_aix(&self) -> bool {
        self.header.is_none()
    }

    /// Report of the same parts with other options.
    pub fn with_options<'o>(&'o self, options: &'o ReportOptions) -> WholeReport<'o> {
        WholeReport { options, header: self.header.clone(), ..*self }
    }

    pub fn is_last(&self, at: usize) -> bool {
        at + 1 == self.split.parts.len()
    }

    /// Adds a part that is left out: its events are filtered out.
    pub fn add_left_out(&self, at: usize, counts: &mut PartCounts) {
        let (n_events, tally) = (self.split.parts[at].n_events, self.split.indexes[at].tally);
        let summary = match self.header {
            None => {
                let bytes = (tally.read, tally.skipped);
                ReportSummary::Aix(AixSummary { n_events, bytes, tally, ..AixSummary::default() })
            }
            Some(_) => {
                let counts = KevCounts { records: n_events, ..KevCounts::default() };
                ReportSummary::Qnx(QnxSummary { counts, tally, ..QnxSummary::default() })
            }
        };
        counts.add(&summary);
    }

    pub fn summary(&self, counts: PartCounts) -> ReportSummary {
        if self.header.is_none() { ReportSummary::Aix(counts.aix) } else { ReportSummary::Qnx(counts.qnx) }
    }

    /// Writes the report of a part that does not begin the report, with the state that the part contains.
    pub fn report_part(
        &self,
        at: usize,
        out: &mut (dyn Write + Send),
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<ReportSummary, ReportError> {
        let Self { split, catalog, options, .. } = *self;
        match split.open_part(split.parts[at].number)?.source_mut() {
            AnyTrace::Aix(logs) => {
                let output = PartOutput { before: None, is_last: self.is_last(at), out };
                let (summary, _) = aix_report::report_part(logs, catalog, &options.aix, output, monitor)?;
                Ok(ReportSummary::Aix(summary))
            }
            AnyTrace::Kev(log) => {
                qnx_report::report_part(log, catalog, &options.qnx, false, out, monitor).map(ReportSummary::Qnx)
            }
        }
    }
}
