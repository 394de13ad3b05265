//! Index of a part: what its events have in common, by which a filter may leave out the whole part.

use super::codec::stored;
use crate::ids::set_bits;
use crate::reader::Tally;
use std::collections::BTreeSet;

/// Maximum number of CPUs and of processes that are listed; their ids come from the trace.
const MAX_LISTED: usize = 1024;

/// Numbers that occur in a part.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberList {
    /// Numbers, ascending.
    listed: Vec<u64>,
    /// True if there are more than are listed.
    has_more: bool,
}

stored!(NumberList { listed, has_more });

impl NumberList {
    /// True if a number of the part may meet a condition.
    pub fn may_have(&self, meets: impl FnMut(u64) -> bool) -> bool {
        self.has_more || self.listed.iter().copied().any(meets)
    }
}

/// Builder of a [`NumberList`].
#[derive(Debug, Clone)]
struct NumberSet {
    /// A bit per number below 64.
    low: u64,
    /// Numbers that were added lately, by their low bits: most numbers occur many times.
    recent: [u64; N_RECENT],
    others: BTreeSet<u64>,
    has_more: bool,
}

const N_RECENT: usize = 32;

impl Default for NumberSet {
    fn default() -> Self {
        // The numbers are at least 64, so that 0 is none of them.
        Self { low: 0, recent: [0; N_RECENT], others: BTreeSet::new(), has_more: false }
    }
}

impl NumberSet {
    #[inline]
    fn add(&mut self, number: u64) {
        if number < 64 {
            self.low |= 1 << number;
            return;
        }
        if std::mem::replace(&mut self.recent[number as usize % N_RECENT], number) != number {
            self.add_to_list(number);
        }
    }

    fn add_to_list(&mut self, number: u64) {
        if self.others.len() < MAX_LISTED {
            self.others.insert(number);
        } else {
            self.has_more |= !self.others.contains(&number);
        }
    }

    fn list(self) -> NumberList {
        let Self { low, others, has_more, .. } = self;
        NumberList { listed: set_bits(&[low]).map(u64::from).chain(others).collect(), has_more }
    }
}

/// Times, ids, CPUs and processes of the events of a part.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartIndex {
    /// Least and largest time: elapsed nanoseconds of AIX, cycles of QNX. `None` if no event has one.
    pub times: Option<(u64, u64)>,
    /// Ids, ascending.
    pub ids: Vec<u32>,
    pub cpus: NumberList,
    pub pids: NumberList,
    /// True if the part has notices, which a report must not leave out.
    pub has_notices: bool,
    /// Bytes of the part. If a QNX event begins in an earlier part, its remaining slots count for this part.
    pub tally: Tally,
    /// Clock at the start of the QNX log in cycles, if it is known before the part.
    pub start: Option<u64>,
}

stored!(PartIndex { times, ids, cpus, pids, has_notices, tally, start });

stored!(Tally { read, header, events, skipped });

/// Builder of the index of a part.
#[derive(Debug, Clone)]
pub(crate) struct IndexBuilder {
    /// Least and largest time; the first is larger if no event has a time.
    times: (u64, u64),
    /// A bit per id.
    ids: Box<[u64; N_IDS / 64]>,
    cpus: NumberSet,
    pids: NumberSet,
    has_notices: bool,
    /// Bytes before the part.
    before: Tally,
}

/// Number of ids.
const N_IDS: usize = 1 << 16;

impl Default for IndexBuilder {
    fn default() -> Self {
        Self {
            times: (u64::MAX, 0),
            ids: Box::new([0; N_IDS / 64]),
            cpus: NumberSet::default(),
            pids: NumberSet::default(),
            has_notices: false,
            before: Tally::default(),
        }
    }
}

impl IndexBuilder {
    /// Adds the id of an event.
    #[inline(always)]
    pub fn note_id(&mut self, id: u32) {
        let id = id as usize % N_IDS;
        self.ids[id / 64] |= 1 << (id % 64);
    }

    /// Adds the time of an event.
    #[inline(always)]
    pub fn note_time(&mut self, time: u64) {
        self.times = (self.times.0.min(time), self.times.1.max(time));
    }

    /// Adds the CPU of an event.
    #[inline]
    pub fn note_cpu(&mut self, cpu: u64) {
        self.cpus.add(cpu);
    }

    /// Adds the process of an event.
    pub fn note_pid(&mut self, pid: u64) {
        self.pids.add(pid);
    }

    /// Adds a number of notices.
    pub fn note_notices(&mut self, n: usize) {
        self.has_notices |= n > 0;
    }

    /// Ends the part and begins the next one. `start` is the clock at the start of the log, and `tally` has the bytes
    /// so far.
    pub fn take(&mut self, start: Option<u64>, tally: Tally) -> PartIndex {
        let next = Self { before: tally, ..Self::default() };
        let Self { times, ids, cpus, pids, has_notices, before } = std::mem::replace(self, next);
        // Most words are empty.
        let used = (0..).zip(&*ids).filter(|(_, word)| **word != 0);
        let ids =
            used.flat_map(|(at, word)| set_bits(std::slice::from_ref(word)).map(move |id| 64 * at + id)).collect();
        let (cpus, pids) = (cpus.list(), pids.list());
        let tally = Tally {
            read: tally.read.saturating_sub(before.read),
            header: tally.header.saturating_sub(before.header),
            events: tally.events.saturating_sub(before.events),
            skipped: tally.skipped.saturating_sub(before.skipped),
        };
        let times = (times.0 <= times.1).then_some(times);
        PartIndex { times, ids, cpus, pids, has_notices, tally, start }
    }
}
