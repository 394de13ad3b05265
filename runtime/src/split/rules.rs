//! Options with which a part is reported as in the whole trace.

use super::formats::FormatFacts;
use crate::aix_report::AixReportOptions;
use crate::formats::Formats;
use crate::monitor::ReportError;
use crate::qnx_report::QnxReportOptions;

/// Limits of a report of one part.
#[derive(Debug, Clone)]
pub(crate) struct PartRules {
    pub number: u64,
    pub formats: FormatFacts,
    pub stopped: bool,
}

impl PartRules {
    /// Checks that a report of this part, with the others, is the report of the whole. `has_columns` is true if it
    /// has columns or pages that depend on the lines of the parts before.
    pub fn check(
        &self,
        formats: &Formats,
        aix: &AixReportOptions,
        qnx: &QnxReportOptions,
        has_columns: bool,
    ) -> Result<(), ReportError> {
        let refuse = |why: String| Err(ReportError::Part(why));
        self.formats.check(formats, &format!("part {}", self.number)).map_err(ReportError::Part)?;
        let AixReportOptions { columns, filter, .. } = aix;
        if aix.stats || qnx.stats || aix.histogram || qnx.sort {
            return refuse("counts and sorted rows are of a whole trace, not of a part".to_owned());
        }
        if aix.page_size > 0 && has_columns {
            return refuse("the pages of a part depend on the lines of the parts before it".to_owned());
        }
        if aix.delta_of_all {
            return refuse("the delta to events that are not reported is unknown at the start of a part".to_owned());
        }
        let own = AixReportOptions::default();
        if aix.context != own.context || aix.names != own.names || aix.tables != own.tables {
            return refuse(
                "a part has the context of the built-in table; another one needs the whole trace".to_owned(),
            );
        }
        if aix.limits != own.limits {
            return refuse(
                "a part was split with the usual limits of one event; others need the whole trace".to_owned(),
            );
        }
        let by_event = aix.grep.is_some() || aix.conditions.is_some() || filter.depends_on_more_than_ids();
        if by_event && has_columns && columns.has_delta() {
            return refuse(
                "with this filter, the delta of a part's first line is unknown; leave out the column `delta`"
                    .to_owned(),
            );
        }
        let by_id = filter.only.is_some() || filter.except != own.filter.except || aix.defined;
        if self.stopped && (by_event || by_id) {
            return refuse(
                "a template ended the trace while it was split, so a filter needs the whole trace".to_owned(),
            );
        }
        Ok(())
    }
}
