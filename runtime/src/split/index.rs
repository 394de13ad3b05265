//! Index of a part: what its events have in common, by which a filter may leave out the whole part.

use super::codec::stored;
use crate::aix_report::AixReportOptions;
use crate::catalog::Catalog;
use crate::qnx_report::{QnxReportOptions, clock, index_id};
use crate::reader::Tally;
use crate::reader::kev::KevHeader;
use crate::trace::ReportOptions;
use std::collections::BTreeSet;

/// Maximum number of CPUs that are listed; their ids come from the trace.
const MAX_CPUS: usize = 1024;

/// Times, ids and CPUs of the events of a part.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartIndex {
    /// Least and largest time: elapsed nanoseconds of AIX, cycles of QNX. `None` if no event has one.
    times: Option<(u64, u64)>,
    /// Ids, ascending.
    ids: Vec<u32>,
    /// CPUs, ascending.
    cpus: Vec<u64>,
    /// True if there are more CPUs than are listed.
    has_more_cpus: bool,
    /// True if the part has notices, which a report must not leave out.
    pub has_notices: bool,
    /// Bytes of the part. If a QNX event begins in an earlier part, its remaining slots count for this part.
    pub tally: Tally,
    /// Clock at the start of the QNX log in cycles, if it is known before the part.
    start: Option<u64>,
}

stored!(PartIndex { times, ids, cpus, has_more_cpus, has_notices, tally, start });

stored!(Tally { read, header, events, skipped });

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
        let has_cpu = || filter.cpus.as_ref().is_none_or(|cpus| self.cpus.iter().any(|cpu| cpus.contains(*cpu)));
        self.ids.iter().any(shows) && self.times.is_some_and(is_in_time) && (self.has_more_cpus || has_cpu())
    }

    /// True if a report of a QNX log with these options may show a record of the part.
    fn may_show_records(&self, header: &KevHeader, options: &QnxReportOptions) -> bool {
        let filter = &options.filter;
        let has = |id: u32| self.ids.binary_search(&id).is_ok();
        let has_id =
            filter.only.as_ref().is_none_or(|ids| ids.iter().any(|(class, event)| has(index_id(class, event))));
        let has_cpu = filter.cpus.is_none_or(|cpus| self.cpus.iter().any(|cpu| cpus >> (cpu & 63) & 1 == 1));
        let shown = |cycles| clock::shown_ns(options.time, header, self.start, cycles);
        // A time that cannot be computed here may be in the range.
        let is_in_time = |(first, last): (u64, u64)| {
            filter.from_ns.is_none_or(|from| shown(last).is_none_or(|last| last >= from))
                && filter.to_ns.is_none_or(|to| shown(first).is_none_or(|first| first <= to))
        };
        has_id && has_cpu && (!filter.is_timed() || self.times.is_some_and(is_in_time))
    }
}

/// Builder of the index of a part.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexBuilder {
    index: PartIndex,
    /// A bit per id; empty before the first event.
    ids: Vec<u64>,
    /// A bit per CPU below 64.
    low_cpus: u64,
    cpus: BTreeSet<u64>,
    /// Bytes before the part.
    before: Tally,
}

/// Number of ids.
const N_IDS: usize = 1 << 16;

impl IndexBuilder {
    /// Adds an event.
    pub fn note(&mut self, id: u32, time: Option<u64>, cpu: Option<u64>) {
        if let Some(time) = time {
            let (first, last) = self.index.times.unwrap_or((time, time));
            self.index.times = Some((first.min(time), last.max(time)));
        }
        if self.ids.is_empty() {
            self.ids = vec![0; N_IDS / 64];
        }
        let id = id as usize % N_IDS;
        self.ids[id / 64] |= 1 << (id % 64);
        match cpu {
            Some(cpu @ ..64) => self.low_cpus |= 1 << cpu,
            Some(cpu) if self.cpus.len() < MAX_CPUS => drop(self.cpus.insert(cpu)),
            Some(cpu) => self.index.has_more_cpus |= !self.cpus.contains(&cpu),
            None => {}
        }
    }

    /// Adds a number of notices.
    pub fn note_notices(&mut self, n: usize) {
        self.index.has_notices |= n > 0;
    }

    /// Ends the part and begins the next one. `start` is the clock at the start of the log, and `tally` has the bytes
    /// so far.
    pub fn take(&mut self, start: Option<u64>, tally: Tally) -> PartIndex {
        let next = Self { before: tally, ..Self::default() };
        let Self { index, ids, low_cpus, cpus, before } = std::mem::replace(self, next);
        let has = |bits: u64, at: u32| bits >> at & 1 == 1;
        let ids = (0..)
            .zip(ids)
            .flat_map(|(word, bits)| (0..64).filter(move |at| has(bits, *at)).map(move |at| word * 64 + at));
        let low_cpus = (0..64).filter(|cpu| has(low_cpus, *cpu)).map(u64::from);
        let cpus = low_cpus.chain(cpus).collect();
        let tally = Tally {
            read: tally.read.saturating_sub(before.read),
            header: tally.header.saturating_sub(before.header),
            events: tally.events.saturating_sub(before.events),
            skipped: tally.skipped.saturating_sub(before.skipped),
        };
        PartIndex { ids: ids.collect(), cpus, tally, start, ..index }
    }
}
