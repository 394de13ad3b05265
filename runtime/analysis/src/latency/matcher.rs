//! Pairs the events of a trace: tests each event, and passes on the finished pairs.

use super::fields::{EventField, Fields, encode, split_first};
use super::lanes::Lanes;
use super::pairs::{OpenStarts, Start};
use super::statistics::{Groups, Statistics};
use super::{Latency, Pair, PairOptions};
use crate::gaps::GapStarts;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use tfbc::EventId;
use tfbc::internal::expression::{Bound, Verdict};

/// Fields of a key in the start and in the end.
#[derive(Debug)]
pub struct KeyField {
    pub name: String,
    pub start: EventField,
    pub end: EventField,
}

/// Field of a group.
#[derive(Debug)]
pub struct GroupField {
    pub name: String,
    /// True if it is a field of the end.
    pub of_end: bool,
    pub field: EventField,
}

/// Fields and events of the pairs, looked up for one system.
#[derive(Debug)]
pub struct Plan {
    /// Start and end; `None` for the timers of templates.
    pub events: Option<(Bound<EventField>, Bound<EventField>)>,
    pub key: Vec<KeyField>,
    pub by: Vec<GroupField>,
}

impl Plan {
    /// All fields.
    pub fn fields(&self) -> impl Iterator<Item = &EventField> {
        let events = self.events.iter().flat_map(|(start, end)| start.fields().chain(end.fields()));
        let keys = self.key.iter().flat_map(|key| [&key.start, &key.end]);
        events.chain(keys).chain(self.by.iter().map(|by| &by.field))
    }
}

/// One of the longest finished pairs: its length, the order of its end, and the pair.
type Outlier = Reverse<(u64, Reverse<u64>, StoredPair)>;

/// Pair in memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StoredPair {
    start: u64,
    end: u64,
    key: Box<[u8]>,
    by: Box<[u8]>,
}

/// Matcher of one run.
pub struct Matcher<'o> {
    plan: Plan,
    options: &'o PairOptions,
    from: u64,
    /// True if events of the span have been seen.
    has_begun: bool,
    open: OpenStarts,
    groups: Groups<Box<[u8]>>,
    group_by_key: HashMap<Box<[u8]>, usize>,
    others: Option<usize>,
    outliers: BinaryHeap<Outlier>,
    on_pair: &'o mut dyn FnMut(&Pair<'_>),
    key: Vec<u8>,
    by: Vec<u8>,
}

impl<'o> Matcher<'o> {
    /// Creates a matcher for pairs that end at `from` or later.
    pub fn new(plan: Plan, options: &'o PairOptions, from: u64, on_pair: &'o mut dyn FnMut(&Pair<'_>)) -> Self {
        Self {
            plan,
            options,
            from,
            has_begun: false,
            open: OpenStarts::new(options.matching, options.across_gaps, options.max_open),
            groups: Groups::new(options.max_values),
            group_by_key: HashMap::new(),
            others: None,
            outliers: BinaryHeap::new(),
            on_pair,
            key: Vec::new(),
            by: Vec::new(),
        }
    }

    /// Gives every pair a lane that no other pair uses at the time. Each group of timers has its own lanes.
    pub fn keep_lanes(&mut self) {
        self.open.keep_lanes(Lanes::new(self.is_of_timers()));
    }

    /// Number of starts that were not kept because too many were open.
    pub fn n_dropped(&self) -> u64 {
        self.open.counts.n_dropped
    }

    /// True if the pairs are the timers of templates.
    pub fn is_of_timers(&self) -> bool {
        self.plan.events.is_none()
    }

    /// True if events of this id may start or end a pair.
    #[inline]
    pub fn names(&self, id: EventId) -> bool {
        self.plan.events.as_ref().is_some_and(|(start, end)| start.names(id) || end.names(id))
    }

    /// Fields that are read.
    pub fn fields(&self) -> impl Iterator<Item = &EventField> {
        self.plan.fields()
    }

    /// Tests an event that may start or end a pair.
    pub fn take(&mut self, event: &impl Fields, now: u64, gaps: &GapStarts) {
        let Some((start, end)) = &self.plan.events else { return };
        let test = |of: &Bound<EventField>| of.test(event.id(), || event.subhook(), |field| event.value(field));
        let (start, end) = (test(start), test(end));
        if (start, end) == (Verdict::No, Verdict::No) {
            return;
        }
        self.begin_span(now, gaps);
        let mut is_used = start != Verdict::Missing && end != Verdict::Missing;
        // An event that is both ends a pair first.
        if end == Verdict::Yes {
            is_used &= self.end(event, now, gaps);
        }
        if start == Verdict::Yes {
            is_used &= self.start(event, now, gaps);
        }
        self.open.counts.n_unused += u64::from(!is_used && now >= self.from);
    }

    /// Takes a timer's start or end.
    pub fn take_timer(&mut self, event: &impl Fields, is_end: bool, now: u64, gaps: &GapStarts) {
        self.begin_span(now, gaps);
        let is_used = if is_end { self.end(event, now, gaps) } else { self.start(event, now, gaps) };
        self.open.counts.n_unused += u64::from(!is_used && now >= self.from);
    }

    /// Resets what was counted before the span.
    fn begin_span(&mut self, now: u64, gaps: &GapStarts) {
        if !self.has_begun && now >= self.from {
            self.has_begun = true;
            self.open.remove_cut(gaps);
            self.open.counts = Default::default();
        }
    }

    /// Starts a pair. False if the event lacks a field.
    fn start(&mut self, event: &impl Fields, now: u64, gaps: &GapStarts) -> bool {
        self.key.clear();
        if !self.plan.key.iter().all(|key| encode(event.value(&key.start), &mut self.key)) {
            return false;
        }
        self.by.clear();
        for by in self.plan.by.iter().filter(|by| !by.of_end) {
            encode(event.value(&by.field), &mut self.by);
        }
        let start = Start { ns: now, cpu: event.cpu(), n_gaps: gaps.n(), by: self.by.as_slice().into(), lane: None };
        self.open.start(&self.key, start, gaps);
        true
    }

    /// Ends a pair. False if the event lacks a field.
    fn end(&mut self, event: &impl Fields, now: u64, gaps: &GapStarts) -> bool {
        self.key.clear();
        if !self.plan.key.iter().all(|key| encode(event.value(&key.end), &mut self.key)) {
            return false;
        }
        let Some(start) = self.open.end(&self.key, now, event.cpu(), gaps) else { return true };
        let ns = now.saturating_sub(start.ns);
        let (min, max) = self.options.range;
        if now < self.from || !(min..=max).contains(&ns) {
            return true;
        }
        self.open.counts.n_pairs += 1;
        self.open.counts.n_negative += u64::from(now < start.ns);
        self.by.clear();
        let mut of_start = &*start.by;
        for by in &self.plan.by {
            if by.of_end {
                encode(event.value(&by.field), &mut self.by);
            } else {
                let (value, rest) = split_first(of_start);
                self.by.extend(value);
                of_start = rest;
            }
        }
        let group = self.group();
        self.groups.add(group, ns);
        if self.options.outliers > 0 {
            self.keep_outlier(start.ns, now, ns);
        } else {
            let lane = start.lane;
            (self.on_pair)(&Pair { start: start.ns, end: now, ns, key: &self.key, by: &self.by, lane });
        }
        true
    }

    /// Index of the group of `by`.
    fn group(&mut self) -> usize {
        if let Some(group) = self.group_by_key.get(self.by.as_slice()) {
            return *group;
        }
        if self.group_by_key.len() >= self.options.max_groups {
            let groups = &mut self.groups;
            return *self.others.get_or_insert_with(|| groups.push(Box::default()));
        }
        let key: Box<[u8]> = self.by.as_slice().into();
        let group = self.groups.push(key.clone());
        self.group_by_key.insert(key, group);
        group
    }

    fn keep_outlier(&mut self, start: u64, end: u64, ns: u64) {
        let max = self.options.outliers;
        if self.outliers.len() >= max {
            if self.outliers.peek().is_some_and(|Reverse((least, ..))| ns <= *least) {
                return;
            }
            self.outliers.pop();
        }
        let pair = StoredPair { start, end, key: self.key.as_slice().into(), by: self.by.as_slice().into() };
        self.outliers.push(Reverse((ns, Reverse(self.open.counts.n_pairs), pair)));
    }

    /// Counts what is open at the end of the trace, or of the span.
    pub fn finish(mut self, end: u64, gaps: &GapStarts) -> Latency {
        self.open.finish(end, gaps);
        let others = self.others;
        let named = |(at, (key, numbers)): (usize, (Box<[u8]>, Statistics))| {
            (Some(key).filter(|_| others != Some(at)), numbers)
        };
        let groups = self.groups.into_groups().into_iter().enumerate().map(named).collect();
        for Reverse((ns, _, pair)) in self.outliers.into_sorted_vec() {
            let StoredPair { start, end, key, by } = &pair;
            (self.on_pair)(&Pair { start: *start, end: *end, ns, key, by, lane: None });
        }
        Latency {
            counts: self.open.counts,
            groups,
            by: self.plan.by.into_iter().map(|by| by.name).collect(),
            n_events: 0,
            n_damaged: 0,
        }
    }
}
