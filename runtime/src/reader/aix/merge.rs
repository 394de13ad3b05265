//! Merge of several traces by time: among the traces' next events, the earliest comes first.

use super::clock::TraceClock;
use super::duplicates::Duplicates;
use super::hooks;
use super::step::Parts;
use super::trace::{FoundCommon, MAX_NUMBER, NextItem, Trace};
use crate::reader::Notice;
use crate::split::codec::stored;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

/// Total size of one read of all traces of a merge, in bytes.
const ALL_CHUNKS: usize = 1 << 20;

/// Size of one read per trace, in bytes.
pub(super) fn chunk(n_traces: usize) -> usize {
    (ALL_CHUNKS / n_traces.max(1)).clamp(16 << 10, 256 << 10)
}

/// One input of a merge: a trace with its clock.
pub(super) struct MergeInput {
    pub trace: Trace,
    pub clock: TraceClock,
    /// CPU whose file it is.
    pub cpu: Option<u32>,
    /// Index of its log. A base file and the files of its CPUs are one log.
    pub log: usize,
    /// Next event of the trace.
    position: NextPosition,
    /// Id of the last returned event.
    last_id: u16,
    /// True if the CPU still reports events.
    reports: bool,
}

impl MergeInput {
    pub fn new(trace: Trace, clock: TraceClock, cpu: Option<u32>) -> Self {
        Self { trace, clock, cpu, log: 0, position: NextPosition::Nowhere, last_id: 0, reports: cpu.is_some() }
    }

    /// Id of the last returned event, and true if the CPU still reports events.
    pub fn last(&self) -> (u16, bool) {
        (self.last_id, self.reports)
    }

    /// Sets the id of the last returned event, and true if the CPU still reports events.
    pub fn set_last(&mut self, (last_id, reports): (u16, bool)) {
        (self.last_id, self.reports) = (last_id, reports && self.cpu.is_some());
    }

    /// Finds the next event again, whose merge key is known. False if there is none at the position of the trace.
    pub fn find_again(&mut self) -> io::Result<bool> {
        let NextItem::Event(parts) = self.trace.find()? else { return Ok(false) };
        self.position = NextPosition::At(parts);
        Ok(true)
    }

    /// Merge key of the input's next event, which has this stamp and CPU.
    #[inline(always)]
    fn head(&mut self, input: usize, ticks: Option<u64>, cpu: Option<u64>) -> MergeKey {
        // Events of one time are in the order of CPUs, so that a report does not depend on the order of files.
        let cpu = cpu.or(self.cpu.map(u64::from)).map_or(0, |cpu| cpu + 1);
        MergeKey { time_ns: self.clock.advance(ticks), cpu, input }
    }
}

/// Next event of a trace, with the parts that are parsed.
#[derive(Debug, Clone, Copy)]
enum NextPosition {
    /// No next event.
    Nowhere,
    /// Any event.
    At(Parts),
    /// An event in a common encoding.
    AtCommon(FoundCommon),
}

/// Merge key of a trace's next event. Ordered by time, then by CPU (unknown ones first), then by the order of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MergeKey {
    pub time_ns: u64,
    /// CPU plus 1; 0 if it is unknown.
    pub cpu: u64,
    pub input: usize,
}

/// State of a merge between two events.
#[derive(Debug, Clone, Default)]
pub(crate) struct MergePosition {
    /// False before the first event.
    pub has_begun: bool,
    removes_duplicates: bool,
    overflow_reported: bool,
    n_returned: u64,
    /// Notices before the first event.
    notices: Vec<FirstNotice>,
}

stored!(MergePosition { has_begun, removes_duplicates, overflow_reported, n_returned, notices }
    where |position| position.n_returned < MAX_NUMBER);

/// Notice that was found when the logs were opened.
#[derive(Debug, Clone, Default)]
struct FirstNotice {
    /// Index of its trace.
    input: u32,
    is_damage: bool,
    message: Vec<u8>,
}

stored!(FirstNotice { input, is_damage, message });

/// Result of a step of the merge.
pub(super) enum MergeStep {
    Event(MergeKey, Parts),
    Notice(usize, Notice),
    End,
}

/// Next item of one trace of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// An event with this id.
    Event(u16),
    /// A damaged place.
    Damage,
    /// The trace has ended, or it is not merged and its next item comes next.
    Unknown,
}

/// State of a merge.
#[derive(Default)]
pub(super) struct Merge {
    heads: BinaryHeap<Reverse<MergeKey>>,
    /// Number of traces whose first event has been found.
    n_begun: usize,
    /// True if the earliest event has been returned.
    taken: bool,
    pub duplicates: Option<Duplicates>,
    /// Number of events that were left out as duplicates.
    pub n_duplicates: u64,
    overflow_reported: bool,
    /// Pending notices, with the index of their trace.
    pub notices: VecDeque<(usize, Notice)>,
    /// Number of CPUs that still report events.
    pub n_reporting: u32,
    /// Number of events that were returned.
    pub n_returned: u64,
    /// Number of returned events after which the merge ends, before the next event of another time; `u64::MAX` for all.
    limit: u64,
    /// Time of the event that was returned last.
    last_ns: Option<u64>,
    /// Latest time of an event before the last border of a split.
    border_ns: Option<u64>,
    latest_ns: u64,
    /// True if an event after a border is not later than one before it, and may be its duplicate.
    pub has_gone_back: bool,
}

impl Merge {
    /// Creates the state before the first event.
    pub fn new(notices: VecDeque<(usize, Notice)>, n_reporting: u32) -> Self {
        Self { notices, n_reporting, limit: u64::MAX, ..Self::default() }
    }

    /// Continues at a position between two events. `keys` has the keys of the next events of the traces.
    pub fn resume(&mut self, position: MergePosition, keys: impl IntoIterator<Item = MergeKey>, n_inputs: usize) {
        let MergePosition { has_begun, removes_duplicates, overflow_reported, n_returned, notices } = position;
        self.heads = keys.into_iter().map(Reverse).collect();
        self.n_begun = if has_begun { n_inputs } else { 0 };
        self.duplicates = removes_duplicates.then(Duplicates::default);
        (self.overflow_reported, self.n_returned) = (overflow_reported, n_returned);
        let notices = notices.into_iter().map(|FirstNotice { input, is_damage, message }| {
            let notice = Notice::damage(String::from_utf8_lossy(&message));
            // An index that no trace has comes from a damaged split file.
            ((input as usize).min(n_inputs.saturating_sub(1)), Notice { damage: is_damage, ..notice })
        });
        self.notices = notices.collect();
    }

    /// Ends the merge after `n` returned events, before the next event of another time.
    pub fn set_limit(&mut self, n: u64) {
        self.limit = n;
    }

    /// True if the merge ended because of its limit.
    pub fn is_at_limit(&self) -> bool {
        self.n_returned >= self.limit && !self.heads.is_empty()
    }

    /// Position before the first event, or after the last one of a time. `None` if notices come before the next event.
    pub fn position(&mut self) -> Option<MergePosition> {
        let has_begun = self.n_begun > 0;
        let Self { overflow_reported, n_returned, ref duplicates, .. } = *self;
        let position = MergePosition {
            has_begun,
            removes_duplicates: duplicates.is_some(),
            overflow_reported,
            n_returned,
            notices: Vec::new(),
        };
        if !has_begun {
            let notices = self.notices.iter().map(|(input, Notice { damage, message, .. })| FirstNotice {
                input: *input as u32,
                is_damage: *damage,
                message: message.clone().into_bytes(),
            });
            return Some(MergePosition { notices: notices.collect(), ..position });
        }
        if !self.is_at_limit() || self.taken || !self.notices.is_empty() {
            return None;
        }
        self.border_ns = Some(self.latest_ns);
        Some(position)
    }

    /// Merge key of the next event of a trace.
    pub fn key_of(&self, input: usize) -> Option<MergeKey> {
        self.heads.iter().map(|Reverse(key)| *key).find(|key| key.input == input)
    }

    /// Returns the next event that is not a duplicate, or the next notice.
    pub fn next(&mut self, inputs: &mut [MergeInput]) -> io::Result<MergeStep> {
        loop {
            if let Some((input, notice)) = self.notices.pop_front() {
                return Ok(MergeStep::Notice(input, notice));
            }
            if self.taken {
                self.last_ns = self.heads.peek().map(|Reverse(key)| key.time_ns);
            }
            if let Some(notice) = self.advance(inputs)? {
                self.notices.push_back(notice);
                continue;
            }
            let Some(Reverse(head)) = self.heads.peek().copied() else { return Ok(MergeStep::End) };
            // Events of one time may be duplicates.
            if self.n_returned >= self.limit && self.last_ns.is_none_or(|last| last != head.time_ns) {
                return Ok(MergeStep::End);
            }
            let input = &mut inputs[head.input];
            let parts = match input.position {
                NextPosition::At(parts) => Some(parts),
                // Found by the fast path and not used: the parts are computed again, which is rare.
                NextPosition::AtCommon(_) => input.trace.parts(),
                NextPosition::Nowhere => None,
            };
            let Some(parts) = parts else { return Ok(MergeStep::End) };
            self.taken = true;
            if self.duplicates.is_some() {
                self.has_gone_back |= self.border_ns.is_some_and(|border| head.time_ns <= border);
                self.latest_ns = self.latest_ns.max(head.time_ns);
            }
            // Duplicates are counted, so that the sums of the report still add up.
            if self.is_duplicate(head, &parts, input) {
                self.n_duplicates += 1;
                continue;
            }
            input.last_id = parts.id;
            self.n_returned += 1;
            // After a trace off, a CPU counts again from its next event.
            if input.cpu.is_some() && !input.reports {
                input.reports = true;
                self.n_reporting += 1;
            }
            return Ok(MergeStep::Event(head, parts));
        }
    }

    /// Finds the next event of a trace without returning it.
    pub fn look_ahead(&mut self, inputs: &mut [MergeInput], input: usize) -> io::Result<Ahead> {
        if self.notices.iter().any(|(at, notice)| *at == input && notice.damage) {
            return Ok(Ahead::Damage);
        }
        if let Some((at, notice)) = self.advance(inputs)? {
            let is_damage = at == input && notice.damage;
            self.notices.push_back((at, notice));
            return Ok(if is_damage { Ahead::Damage } else { Ahead::Unknown });
        }
        Ok(match inputs[input].position {
            NextPosition::At(parts) => Ahead::Event(parts.id),
            NextPosition::AtCommon(found) => Ahead::Event(found.id),
            NextPosition::Nowhere => Ahead::Unknown,
        })
    }

    /// Fast path: returns the next event if it has a common encoding and is buffered, and duplicates are not removed.
    /// The caller then calls [`Merge::mark_used`] if it uses the event.
    #[inline(always)]
    pub fn next_common(&mut self, inputs: &mut [MergeInput]) -> Option<(MergeKey, FoundCommon)> {
        if self.duplicates.is_some() || self.n_returned >= self.limit {
            return None;
        }
        if self.taken {
            let mut top = self.heads.peek_mut()?;
            let input = &mut inputs[top.0.input];
            // After a trace off, the count of reporting CPUs may change, which the slow path does.
            if input.last_id == hooks::TRACE_OFF {
                return None;
            }
            let found = input.trace.find_common()?;
            input.position = NextPosition::AtCommon(found);
            // Replaced in place: the heap sifts one element instead of removing and adding it.
            *top = Reverse(input.head(top.0.input, found.ticks, found.cpu));
            self.taken = false;
        }
        let Reverse(head) = self.heads.peek()?;
        // A common event comes first only if all traces have started, no notice is pending, and its CPU still reports.
        if let NextPosition::AtCommon(found) = inputs[head.input].position { Some((*head, found)) } else { None }
    }

    /// Marks the event of [`Merge::next_common`] as used.
    #[inline(always)]
    pub fn mark_used(&mut self, input: &mut MergeInput, id: u16) {
        self.taken = true;
        self.n_returned += 1;
        input.last_id = id;
    }

    /// Number of traces with a parsed event that was not returned yet.
    pub fn n_pending(&self) -> u64 {
        (self.heads.len() as u64).saturating_sub(self.taken.into())
    }

    /// Finds the next event of the trace whose event was returned last; at the start, of all traces.
    fn advance(&mut self, inputs: &mut [MergeInput]) -> io::Result<Option<(usize, Notice)>> {
        while let Some(input) = inputs.get_mut(self.n_begun) {
            match self.find(self.n_begun, input)? {
                Ok(Some(head)) => self.heads.push(Reverse(head)),
                Ok(None) => {}
                Err(notice) => return Ok(Some((self.n_begun, notice))),
            }
            self.n_begun += 1;
        }
        if self.taken
            && let Some(Reverse(MergeKey { input: at, .. })) = self.heads.peek().copied()
        {
            let found = self.find(at, &mut inputs[at])?;
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

    /// Finds the next event or notice of a trace.
    fn find(&mut self, at: usize, input: &mut MergeInput) -> io::Result<Result<Option<MergeKey>, Notice>> {
        let found = input.trace.find()?;
        // A CPU counts as silent only after its trace-off event was printed, so the test is made when its next event is
        // looked for.
        if input.reports && (input.last_id == hooks::TRACE_OFF || matches!(found, NextItem::End)) {
            input.reports = false;
            self.n_reporting -= 1;
        }
        let parts = match found {
            NextItem::Event(parts) => parts,
            NextItem::Notice(notice) => return Ok(Err(notice)),
            NextItem::End => {
                input.position = NextPosition::Nowhere;
                return Ok(Ok(None));
            }
        };
        input.position = NextPosition::At(parts);
        let (ticks, cpu) = input.trace.stamp_and_cpu(&parts);
        Ok(Ok(Some(input.head(at, ticks, cpu))))
    }

    fn is_duplicate(&mut self, head: MergeKey, parts: &Parts, input: &mut MergeInput) -> bool {
        let Some(duplicates) = &mut self.duplicates else { return false };
        let recorded = input.trace.event(parts).recorded;
        let duplicate = duplicates.is_duplicate(input.log, head.time_ns, head.cpu.checked_sub(1), recorded);
        if duplicates.take_overflow() && !self.overflow_reported {
            self.overflow_reported = true;
            let message = "too many events with one time stamp: events that two logs contain may be reported twice";
            self.notices.push_back((head.input, Notice::warning(message)));
        }
        duplicate
    }
}
