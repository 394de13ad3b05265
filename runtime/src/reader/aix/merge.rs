//! Several traces by time: each stands at its next event, and the earliest of these comes first.

use super::clock::Clock;
use super::duplicates::Duplicates;
use super::hooks;
use super::step::Parts;
use super::trace::{Found, FoundOrdinary, Trace};
use crate::reader::Notice;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

/// Bytes that the traces of a merge read in one go, all together.
const ALL_CHUNKS: usize = 1 << 20;

/// Bytes that each of so many traces reads in one go.
pub(super) fn chunk(n_traces: usize) -> usize {
    (ALL_CHUNKS / n_traces.max(1)).clamp(16 << 10, 256 << 10)
}

/// One trace with its clock.
pub(super) struct Lane {
    pub trace: Trace,
    pub clock: Clock,
    /// The processor whose file it is.
    pub cpu: Option<u32>,
    /// Index of the log that it is a part of: a base file and the files of its processors are one.
    pub log: usize,
    /// What is known of the event at which the trace stands.
    stands: Stands,
    /// Id of the event that was handed out last.
    last_id: u16,
    /// Whether the processor's events go on.
    reports: bool,
}

impl Lane {
    pub fn new(trace: Trace, clock: Clock, cpu: Option<u32>) -> Self {
        Self { trace, clock, cpu, log: 0, stands: Stands::Nowhere, last_id: 0, reports: cpu.is_some() }
    }

    /// Where the next event stands in the order, of which stamp and cpu id are these.
    #[inline(always)]
    fn head(&mut self, lane: usize, ticks: Option<u64>, cpu: Option<u64>) -> Head {
        let cpu = cpu.or(self.cpu.map(u64::from)).map_or(0, |cpu| cpu + 1);
        Head { time_ns: self.clock.advance(ticks), cpu, lane }
    }
}

/// What is known of the event at which a trace stands.
#[derive(Debug, Clone, Copy)]
enum Stands {
    /// There is none.
    Nowhere,
    /// Any event.
    At(Parts),
    /// An ordinary one.
    AtOrdinary(FoundOrdinary),
}

/// A trace's next event. The order is that of the merge: by time, then by processor, where events without one come
/// first, then by the traces' own order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head {
    pub time_ns: u64,
    /// The event's processor and 1; 0 where it is not known.
    cpu: u64,
    pub lane: usize,
}

/// What comes next.
pub(super) enum Turn {
    Event(Head, Parts),
    Notice(usize, Notice),
    End,
}

/// Where a merge is.
#[derive(Default)]
pub(super) struct Merge {
    heads: BinaryHeap<Reverse<Head>>,
    /// Traces whose first event was looked for.
    n_begun: usize,
    /// Whether the earliest head was handed out.
    taken: bool,
    pub duplicates: Option<Duplicates>,
    /// Events that were left out as duplicates.
    pub n_duplicates: u64,
    told_of_overflow: bool,
    /// What is to be said, with the index of the trace.
    pub notices: VecDeque<(usize, Notice)>,
    /// Processors whose events go on.
    pub n_reporting: u32,
}

impl Merge {
    /// Before the first event: what is to be said, and how many processors have files.
    pub fn new(notices: VecDeque<(usize, Notice)>, n_reporting: u32) -> Self {
        Self { notices, n_reporting, ..Self::default() }
    }

    /// The next event that no other log had, or the next notice.
    pub fn next(&mut self, lanes: &mut [Lane]) -> io::Result<Turn> {
        loop {
            if let Some((lane, notice)) = self.notices.pop_front() {
                return Ok(Turn::Notice(lane, notice));
            }
            if let Some(notice) = self.advance(lanes)? {
                self.notices.push_back(notice);
                continue;
            }
            let Some(Reverse(head)) = self.heads.peek().copied() else { return Ok(Turn::End) };
            let lane = &mut lanes[head.lane];
            let parts = match lane.stands {
                Stands::At(parts) => Some(parts),
                Stands::AtOrdinary(_) => lane.trace.parts(),
                Stands::Nowhere => None,
            };
            let Some(parts) = parts else { return Ok(Turn::End) };
            self.taken = true;
            if self.is_duplicate(head, &parts, lane) {
                self.n_duplicates += 1;
                continue;
            }
            lane.last_id = parts.id;
            if lane.cpu.is_some() && !lane.reports {
                lane.reports = true;
                self.n_reporting += 1;
            }
            return Ok(Turn::Event(head, parts));
        }
    }

    /// The next event where it is ordinary and at hand, and no duplicates are looked for; [`Merge::hand_out`] comes next
    /// where it is handed out.
    #[inline(always)]
    pub fn next_ordinary(&mut self, lanes: &mut [Lane]) -> Option<(Head, FoundOrdinary)> {
        if self.duplicates.is_some() {
            return None;
        }
        if self.taken {
            let mut top = self.heads.peek_mut()?;
            let lane = &mut lanes[top.0.lane];
            if lane.last_id == hooks::TRACE_OFF {
                return None;
            }
            let found = lane.trace.find_ordinary()?;
            lane.stands = Stands::AtOrdinary(found);
            *top = Reverse(lane.head(top.0.lane, found.ticks, found.cpu));
            self.taken = false;
        }
        let Reverse(head) = self.heads.peek()?;
        // Where a trace stands at one, all have begun, nothing is to be said, and its processor's events go on.
        if let Stands::AtOrdinary(found) = lanes[head.lane].stands { Some((*head, found)) } else { None }
    }

    /// The event of [`Merge::next_ordinary`] is handed out.
    #[inline(always)]
    pub fn hand_out(&mut self, lane: &mut Lane, id: u16) {
        self.taken = true;
        lane.last_id = id;
    }

    /// Traces that stand at an event that was not handed out.
    pub fn n_standing(&self) -> u64 {
        (self.heads.len() as u64).saturating_sub(self.taken.into())
    }

    /// Looks for the next event of the trace whose one was handed out, and at first for those of all.
    fn advance(&mut self, lanes: &mut [Lane]) -> io::Result<Option<(usize, Notice)>> {
        while let Some(lane) = lanes.get_mut(self.n_begun) {
            match self.find(self.n_begun, lane)? {
                Ok(Some(head)) => self.heads.push(Reverse(head)),
                Ok(None) => {}
                Err(notice) => return Ok(Some((self.n_begun, notice))),
            }
            self.n_begun += 1;
        }
        if self.taken
            && let Some(Reverse(Head { lane: at, .. })) = self.heads.peek().copied()
        {
            let found = self.find(at, &mut lanes[at])?;
            if let Some(mut top) = self.heads.peek_mut() {
                match found {
                    Ok(Some(head)) => *top = Reverse(head),
                    Ok(None) => drop(PeekMut::pop(top)),
                    Err(notice) => return Ok(Some((at, notice))),
                }
            }
            self.taken = false;
        }
        Ok(None)
    }

    /// The next event of a trace, or its next notice.
    fn find(&mut self, at: usize, lane: &mut Lane) -> io::Result<Result<Option<Head>, Notice>> {
        let found = lane.trace.find()?;
        if lane.reports && (lane.last_id == hooks::TRACE_OFF || matches!(found, Found::End)) {
            lane.reports = false;
            self.n_reporting -= 1;
        }
        let parts = match found {
            Found::Event(parts) => parts,
            Found::Notice(notice) => return Ok(Err(notice)),
            Found::End => return Ok(Ok(None)),
        };
        lane.stands = Stands::At(parts);
        let (ticks, cpu) = lane.trace.stamp_and_cpu(&parts);
        Ok(Ok(Some(lane.head(at, ticks, cpu))))
    }

    fn is_duplicate(&mut self, head: Head, parts: &Parts, lane: &mut Lane) -> bool {
        let Some(duplicates) = &mut self.duplicates else { return false };
        let recorded = lane.trace.event(parts).recorded;
        let duplicate = duplicates.is_duplicate(lane.log, head.time_ns, head.cpu.checked_sub(1), recorded);
        if duplicates.take_overflow() && !self.told_of_overflow {
            self.told_of_overflow = true;
            let message = "too many events of one time: some that two logs hold may be reported twice";
            self.notices.push_back((head.lane, Notice::warning(message)));
        }
        duplicate
    }
}
