//! Finds events in bytes of a log that its header does not refer to.
//!
//! A damaged header, or a disk that filled up while the log was written, leaves buffers that no entry refers to. A run
//! of events starts at the first position with eight valid events, or fewer if zeros or the end follow. Numbers in a
//! table or in data can look valid too, so each of these events must have an id that AIX uses and a stamp that is not
//! before the last one; events about the trace itself (003, 00A) need no stamp. Old logs contain events without stamps:
//! if nothing is found, eight such events are enough. Buffers are aligned to the kernel's word, and so are runs.

use super::{ClaimedRanges, EventRegion, Notice, PlannedRange, RangeKind, Trace, named};
use crate::reader::aix::hooks;
use crate::reader::aix::step::{Kernel, Parts, Step, StepRules};
use std::collections::BTreeMap;
use std::io;

/// Number of valid events at the start of a run, unless the run is shorter.
const CLEAN_EVENTS: usize = 8;
/// Largest number of runs in a log; a hostile one could have one per event.
const MAX_RUNS: usize = 1 << 16;

/// Requirement on the events at the start of a run, in addition to being valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Stamps in order.
    Stamps,
    /// Ids that AIX uses.
    Ids,
}

/// A run of events.
#[derive(Debug, Clone, Copy)]
struct EventRun {
    start: u64,
    end: u64,
    first_stamp: Option<u64>,
}

/// True if an event has an id that AIX uses. Plain data rarely looks like such an event, because small numbers are hook
/// 000.
fn has_known_id(rules: &StepRules, parts: &Parts) -> bool {
    let is_short = rules.kernel == Kernel::Bits64 && parts.id < 0x1000;
    parts.id != hooks::ZERO && !(is_short && parts.id & 0xF != 0)
}

/// True for an event about the trace itself, which often has no stamp: the word after its hook word is a known kind.
fn is_about_trace(rules: &StepRules, event: &[u8], parts: &Parts) -> bool {
    let kind = rules.number(event, parts.data);
    let has_kind = parts.n_data >= rules.kernel.word() && (kind <= 0xFF || kind == 0x25C);
    matches!(parts.id, hooks::HEADER | hooks::UTILITY) && has_kind
}

/// True if a run starts with these bytes; `None` if more bytes are needed. `ended` is true if there are no more.
fn begins_run(rules: &StepRules, bytes: &[u8], ended: bool, evidence: Evidence) -> Option<bool> {
    let word = rules.kernel.word();
    // A stamp of 0 is probably one of the zeros after a table.
    let (mut left, mut last) = (bytes, 1);
    for n in 0..CLEAN_EVENTS {
        let is_at_end = n > 0 && (left.is_empty() && ended || left.starts_with(&[0; 8][..word]));
        let parts = match rules.step(left) {
            _ if is_at_end => return Some(evidence == Evidence::Stamps),
            Step::Whole(parts) => parts,
            Step::Short(_) if !ended => return None,
            Step::Short(_) => return Some(n > 0 && evidence == Evidence::Stamps),
            Step::Malformed { .. } => return Some(false),
        };
        let stamp = parts.stamp.map(|at| rules.number(left, at));
        let is_in_order = is_about_trace(rules, left, &parts) || stamp.is_some_and(|stamp| stamp >= last);
        if !has_known_id(rules, &parts) || (evidence == Evidence::Stamps && !is_in_order) {
            return Some(false);
        }
        last = stamp.map_or(last, |stamp| stamp.max(last));
        left = left.get(parts.size..).unwrap_or_default();
    }
    Some(true)
}

impl Trace {
    /// Finds runs of events in the bytes outside all areas, and adds them as areas.
    pub(super) fn salvage(&mut self, claims: &mut ClaimedRanges, size: u64) -> io::Result<()> {
        let mut runs = Vec::new();
        for (from, to) in claims.gaps(size) {
            // The strict test comes first. Events without stamps count only if it finds nothing at all.
            let before = runs.len();
            self.find_runs(EventRegion { offset: from, size: to - from }, Evidence::Stamps, &mut runs)?;
            if runs.len() == before {
                self.find_runs(EventRegion { offset: from, size: to - from }, Evidence::Ids, &mut runs)?;
            }
        }
        if runs.is_empty() {
            return Ok(());
        }
        let places: Vec<_> = runs.iter().map(|run| (run.start, run.end)).collect();
        let n: u64 = places.iter().map(|(from, to)| to - from).sum();
        let capped = if runs.len() == MAX_RUNS { "; no more runs of events are looked for" } else { "" };
        self.notices.push_back(Notice::damage(format!(
            "the header does not refer to {}: read anyway ({n} bytes of events){capped}",
            named(&places)
        )));
        for (from, to) in places {
            let _ = claims.take(from, to);
        }
        self.insert(&runs)
    }

    /// Appends the runs of events in some bytes.
    fn find_runs(&mut self, bytes: EventRegion, evidence: Evidence, runs: &mut Vec<EventRun>) -> io::Result<()> {
        self.window.set_area_end(bytes.offset + bytes.size);
        self.window.seek(bytes.offset)?;
        let word = self.rules.kernel.word();
        let to_word = |offset: u64| (offset.next_multiple_of(word as u64) - offset) as usize;
        while runs.len() < MAX_RUNS {
            let bytes = self.window.bytes();
            let n_zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            // Buffers begin at whole words, so other positions need not be checked.
            let n = match to_word(self.window.offset()) {
                0 if n_zeros >= word => n_zeros / word * word,
                0 if self.is_at_run(evidence)? => {
                    runs.push(self.step_over_run()?);
                    continue;
                }
                0 => word,
                n => n,
            };
            if self.window.bytes().len() <= n && !self.window.fill()? {
                break;
            }
            self.window.consume(n);
        }
        Ok(())
    }

    /// True if a run starts at the window's start.
    fn is_at_run(&mut self, evidence: Evidence) -> io::Result<bool> {
        let mut ended = false;
        loop {
            match begins_run(&self.rules, self.window.bytes(), ended, evidence) {
                Some(begins) => return Ok(begins),
                None => ended = !self.window.fill()?,
            }
        }
    }

    /// Moves to the end of the run at the window's start: the next event is not valid, has an unknown id, or is older
    /// than the run's first event. In the last case an older buffer follows, in a log that has wrapped.
    fn step_over_run(&mut self) -> io::Result<EventRun> {
        let mut run = EventRun { start: self.window.offset(), end: self.window.offset(), first_stamp: None };
        loop {
            let bytes = self.window.bytes();
            match self.rules.step(bytes) {
                Step::Whole(parts) if has_known_id(&self.rules, &parts) => {
                    let stamp = parts.stamp.map(|at| self.rules.number(bytes, at));
                    if run.first_stamp > stamp && stamp.is_some() {
                        break;
                    }
                    run.first_stamp = run.first_stamp.or(stamp);
                    self.window.consume(parts.size);
                }
                Step::Short(_) if self.window.fill()? => {}
                _ => break,
            }
        }
        run.end = self.window.offset();
        Ok(run)
    }

    /// Inserts runs into the reading order by their first stamps, after the `ic` area. 32-bit stamps wrap every few
    /// seconds,
    /// so in a log of a 32-bit kernel a run follows the area before it in the file.
    fn insert(&mut self, runs: &[EventRun]) -> io::Result<()> {
        let (mut latest_stamps, mut next_by_start) = (Vec::new(), BTreeMap::new());
        for at in 0..self.areas.len() {
            let PlannedRange { what, start, end, refused, .. } = self.areas[at];
            let is_read = refused.is_none() && !matches!(what, RangeKind::InitialConditions);
            let stamp = if is_read { self.first_stamp(start, end)? } else { None };
            latest_stamps.push(stamp.max(latest_stamps.last().copied().flatten()));
            next_by_start.insert(start, at + 1);
        }
        let is_wide = self.rules.kernel == Kernel::Bits64;
        let place = |run: &EventRun| match run.first_stamp.filter(|_| is_wide) {
            Some(stamp) => (latest_stamps.partition_point(|latest| latest.is_none_or(|latest| latest <= stamp)), stamp),
            None => (next_by_start.range(..run.start).next_back().map_or(0, |(_, next)| *next), run.start),
        };
        let mut placed: Vec<_> = runs.iter().map(|run| (place(run), *run)).collect();
        placed.sort_by_key(|(place, _)| *place);
        let mut placed = placed.into_iter().peekable();
        let areas = std::mem::take(&mut self.areas);
        for (at, area) in areas.into_iter().map(Some).chain([None]).enumerate() {
            while let Some((_, EventRun { start, end, .. })) = placed.next_if(|((next, _), _)| *next == at) {
                self.areas.push(PlannedRange { what: RangeKind::Salvaged, start, end, cut_from: None, refused: None });
            }
            self.areas.extend(area);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::aix::CpuidWord;

    const RULES: StepRules =
        StepRules { kernel: Kernel::Bits64, cpuid_word: CpuidWord::Last, lenient: false, short_generic_word: false };

    /// Events of a 64-bit kernel without data, with these ids and stamps.
    fn events(ids_and_stamps: &[(u16, Option<u64>)]) -> Vec<u8> {
        let event = |&(id, stamp): &(u16, Option<u64>)| {
            let flags = if stamp.is_some() { 0x8000 } else { 0 };
            let head = [flags << 48 | u64::from(id) << 16, 1];
            words(&head.into_iter().chain(stamp).collect::<Vec<_>>())
        };
        ids_and_stamps.iter().flat_map(event).collect()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn begins(bytes: &[u8], ended: bool) -> [Option<bool>; 2] {
        [Evidence::Stamps, Evidence::Ids].map(|evidence| begins_run(&RULES, bytes, ended, evidence))
    }

    #[test]
    fn eight_events_in_order_begin_a_run_whatever_follows() {
        let sound: Vec<_> = (0..8).map(|n| (0x0100, Some(100 + n / 2))).collect();
        let garbage = [0xFF; 8];
        assert_eq!(begins(&[&events(&sound)[..], &garbage].concat(), false), [Some(true); 2]);
        let changed = |at: usize, event| {
            let mut changed = sound.clone();
            changed[at] = event;
            begins(&[&events(&changed)[..], &garbage].concat(), false)
        };
        assert_eq!(changed(3, (0x0100, None)), [Some(false), Some(true)]);
        assert_eq!(changed(7, (0x0100, Some(99))), [Some(false), Some(true)]);
        // Events about the trace itself seldom have stamps.
        let about = words(&[0x4000_0000_00A0_0000, 0x25C, 1, 0x4000_0000_00A0_0000, 0x25D, 1]);
        let with = |about: &[u8]| begins(&[about, &events(&sound)].concat(), false);
        assert_eq!([with(&about[..24]), with(&about[24..])], [[Some(true); 2], [Some(false), Some(true)]]);
        // No AIX uses these ids.
        assert_eq!(changed(3, (hooks::ZERO, Some(101))), [Some(false); 2]);
        assert_eq!(changed(3, (0x0101, Some(101))), [Some(false); 2]);
        assert_eq!(changed(3, (0x1001, Some(101))), [Some(true); 2]);
    }

    #[test]
    fn fewer_stamped_events_suffice_before_zeros_or_the_end() {
        let few = events(&[(0x0100, Some(5)), (0x0100, Some(6))]);
        let with = |bytes: &[u8], ended| begins(&[&few[..], bytes].concat(), ended);
        assert_eq!(with(&[], false), [None; 2], "more may follow");
        assert_eq!(with(&[], true), [Some(true), Some(false)]);
        assert_eq!(with(&[0; 8], false), [Some(true), Some(false)]);
        assert_eq!(with(&[0xFF; 8], true), [Some(false); 2]);
        // The last event is truncated.
        assert_eq!(with(&few[..20], true), [Some(true), Some(false)]);
        assert_eq!(begins(&few[..20], true), [Some(false); 2]);
        assert_eq!(begins(&[], true), [Some(false); 2]);
    }
}
