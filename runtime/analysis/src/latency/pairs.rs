//! Open starts of pairs, and the ends that find them.

use super::lanes::Lanes;
use crate::gaps::GapStarts;
use std::collections::{HashMap, VecDeque};

/// Rule that assigns an end to a start if several are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Matching {
    /// The latest; earlier ones are dropped.
    #[default]
    Newest,
    /// The latest; earlier ones stay open.
    Nested,
    /// The earliest.
    Oldest,
}

/// Start of a pair.
#[derive(Debug, Clone)]
pub struct Start {
    /// Time of the event.
    pub ns: u64,
    /// CPU of the event.
    pub cpu: Option<u64>,
    /// Number of gaps that began before it.
    pub n_gaps: u64,
    /// Encoded fields for the group.
    pub by: Box<[u8]>,
    /// Number of the lane, if there are lanes.
    pub lane: Option<u16>,
}

/// Counts of events and pairs that did not become latencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Pairs.
    pub n_pairs: u64,
    /// Starts that another start replaced.
    pub n_restarted: u64,
    /// Ends without a start.
    pub n_unmatched: u64,
    /// Pairs that untraced time cut.
    pub n_cut: u64,
    /// Starts that are open at the end of the trace.
    pub n_pending: u64,
    /// Events without a field that is needed.
    pub n_unused: u64,
    /// Starts that were not kept because too many were open.
    pub n_dropped: u64,
    /// Pairs whose end has an earlier time than the start; they count as 0 ns.
    pub n_negative: u64,
}

/// Starts that are open, by key.
#[derive(Debug)]
pub struct OpenStarts {
    by_key: HashMap<Box<[u8]>, VecDeque<Start>>,
    n: usize,
    max: usize,
    matching: Matching,
    across_gaps: bool,
    /// Number of gaps that had begun at the last removal of cut starts.
    n_gaps_removed: u64,
    /// Lanes, by the fields for the group; `None` if nobody asks for them.
    lanes: Option<Lanes>,
    pub counts: PairCounts,
}

impl OpenStarts {
    /// Creates an empty list for up to `max` starts.
    pub fn new(matching: Matching, across_gaps: bool, max: usize) -> Self {
        Self {
            by_key: HashMap::new(),
            n: 0,
            max,
            matching,
            across_gaps,
            n_gaps_removed: 0,
            lanes: None,
            counts: PairCounts::default(),
        }
    }

    /// Gives every pair a lane.
    pub fn keep_lanes(&mut self, lanes: Lanes) {
        self.lanes = Some(lanes);
    }

    fn is_cut(&self, start: &Start, gaps: &GapStarts) -> bool {
        !self.across_gaps && gaps.since(start.n_gaps, start.cpu)
    }

    /// Adds a start.
    pub fn start(&mut self, key: &[u8], mut start: Start, gaps: &GapStarts) {
        if self.matching == Matching::Newest
            && let Some(open) = self.by_key.get_mut(key)
            && let Some(old) = open.pop_back()
        {
            let is_cut = !self.across_gaps && gaps.since(old.n_gaps, old.cpu);
            if is_cut {
                self.counts.n_cut += 1;
            } else {
                self.counts.n_restarted += 1;
            }
            if let Some(lanes) = &mut self.lanes {
                if !is_cut {
                    lanes.free(&old.by, old.lane, old.ns);
                }
                start.lane = lanes.take(&start.by, start.ns, start.cpu, gaps);
            }
            open.push_back(start);
            return;
        }
        if self.n >= self.max && self.n_gaps_removed < gaps.n() {
            self.remove_cut(gaps);
        }
        if self.n >= self.max {
            self.counts.n_dropped += 1;
            return;
        }
        self.n += 1;
        if let Some(lanes) = &mut self.lanes {
            start.lane = lanes.take(&start.by, start.ns, start.cpu, gaps);
        }
        match self.by_key.get_mut(key) {
            Some(open) => open.push_back(start),
            None => {
                let mut open = VecDeque::with_capacity(1);
                open.push_back(start);
                self.by_key.insert(key.into(), open);
            }
        }
    }

    /// Removes and returns the start that belongs to an end on a CPU. `None` if there is none, or if untraced time has
    /// cut the pair.
    pub fn end(&mut self, key: &[u8], now: u64, cpu: Option<u64>, gaps: &GapStarts) -> Option<Start> {
        loop {
            let open = self.by_key.get_mut(key);
            let Some(open) = open else {
                self.counts.n_unmatched += 1;
                return None;
            };
            let taken = if self.matching == Matching::Oldest { open.pop_front() } else { open.pop_back() };
            if open.is_empty() {
                self.by_key.remove(key);
            }
            let Some(start) = taken else { continue };
            self.n -= 1;
            if self.is_cut(&start, gaps) {
                self.counts.n_cut += 1;
                continue;
            }
            if let Some(lanes) = &mut self.lanes {
                lanes.free(&start.by, start.lane, now.max(start.ns));
            }
            if !self.across_gaps && cpu.is_some() && gaps.since(start.n_gaps, cpu) {
                self.counts.n_cut += 1;
                return None;
            }
            return Some(start);
        }
    }

    /// Removes the starts that untraced time has cut.
    pub fn remove_cut(&mut self, gaps: &GapStarts) {
        self.n_gaps_removed = gaps.n();
        if self.across_gaps {
            return;
        }
        let mut n_left = 0;
        self.by_key.retain(|_, open| {
            open.retain(|start| !gaps.since(start.n_gaps, start.cpu));
            n_left += open.len();
            !open.is_empty()
        });
        self.counts.n_cut += (self.n - n_left) as u64;
        self.n = n_left;
    }

    /// Counts the starts that are still open at the end of the trace.
    pub fn finish(&mut self, end: u64, gaps: &GapStarts) {
        for start in self.by_key.values().flatten() {
            if !self.across_gaps && gaps.since_before(start.n_gaps, start.cpu, end) {
                self.counts.n_cut += 1;
            } else {
                self.counts.n_pending += 1;
            }
        }
    }
}
