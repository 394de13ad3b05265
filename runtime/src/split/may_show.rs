//! Parts that a filter leaves out, by their index.

use super::index::PartIndex;
use crate::aix_report::AixReportOptions;
use crate::catalog::Catalog;
use crate::qnx_report::{QnxReportOptions, clock, index_id};
use crate::reader::kev::KevHeader;
use crate::trace::ReportOptions;

impl PartIndex {
    /// True if a report with these options may show an event of the part. A QNX log has a header.
    pub fn may_show_any(&self, catalog: &Catalog<'_>, header: Option<&KevHeader>, options: &ReportOptions) -> bool {
        match header {
            None => self.may_show(catalog, &options.aix),
            Some(header) => self.may_show_records(header, &options.qnx),
        }
    }

    /// True if a report of an AIX trace with these options may show an event of the part.
    fn may_show(&self, catalog: &Catalog<'_>, options: &AixReportOptions) -> bool {
        let filter = &options.filter;
        let shows = |id: &u32| u16::try_from(*id).is_ok_and(|id| options.shows(catalog, id));
        let is_in_time = |(first, last): (u64, u64)| {
            filter.from_ns.is_none_or(|from| last >= from) && filter.to_ns.is_none_or(|to| first <= to)
        };
        let has_cpu = filter.cpus.as_ref().is_none_or(|cpus| self.cpus.may_have(|cpu| cpus.contains(cpu)));
        // The names of processes and interrupts are not in the index.
        let only_pids = filter.processes.as_ref().filter(|wanted| wanted.names.is_empty() && !wanted.interrupts);
        let has_process = only_pids.is_none_or(|wanted| self.pids.may_have(|pid| wanted.pids.contains(&pid)));
        self.ids.iter().any(shows) && self.times.is_some_and(is_in_time) && has_cpu && has_process
    }

    /// True if a report of a QNX log with these options may show a record of the part.
    fn may_show_records(&self, header: &KevHeader, options: &QnxReportOptions) -> bool {
        let filter = &options.filter;
        let has = |id: u32| self.ids.binary_search(&id).is_ok();
        let has_id =
            filter.only.as_ref().is_none_or(|ids| ids.iter().any(|(class, event)| has(index_id(class, event))));
        let has_cpu = filter.cpus.is_none_or(|cpus| self.cpus.may_have(|cpu| cpus >> (cpu & 63) & 1 == 1));
        let has_process = filter.pids.as_ref().is_none_or(|pids| self.pids.may_have(|pid| pids.contains(&pid)));
        let shown = |cycles| clock::shown_ns(options.time, header, self.start, cycles);
        // A time that cannot be computed here may be in the range.
        let is_in_time = |(first, last): (u64, u64)| {
            filter.from_ns.is_none_or(|from| shown(last).is_none_or(|last| last >= from))
                && filter.to_ns.is_none_or(|to| shown(first).is_none_or(|first| first <= to))
        };
        has_id && has_cpu && has_process && (!filter.is_timed() || self.times.is_some_and(is_in_time))
    }
}
