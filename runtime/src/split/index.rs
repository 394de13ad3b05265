//! Index of a part: what its events have in common, by which a filter may leave out the whole part.

use super::codec::stored;
use crate::reader::Tally;
use std::collections::BTreeSet;

/// Maximum number of CPUs that are listed; their ids come from the trace.
const MAX_CPUS: usize = 1024;

/// Times, ids and CPUs of the events of a part.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartIndex {
    /// Least and largest time: elapsed nanoseconds of AIX, cycles of QNX. `None` if no event has one.
    pub times: Option<(u64, u64)>,
    /// Ids, ascending.
    pub ids: Vec<u32>,
    /// CPUs, ascending.
    pub cpus: Vec<u64>,
    /// True if there are more CPUs than are listed.
    pub has_more_cpus: bool,
    /// True if the part has notices, which a report must not leave out.
    pub has_notices: bool,
    /// Bytes of the part. If a QNX event begins in an earlier part, its remaining slots count for this part.
    pub tally: Tally,
    /// Clock at the start of the QNX log in cycles, if it is known before the part.
    pub start: Option<u64>,
}

stored!(PartIndex { times, ids, cpus, has_more_cpus, has_notices, tally, start });

stored!(Tally { read, header, events, skipped });

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
