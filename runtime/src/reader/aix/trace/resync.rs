//! Finding events again behind a damaged place.
//!
//! Nothing marks where an event begins. A place is taken where [`CLEAN_EVENTS`] whole events step cleanly. Data does that,
//! too: a word of zeros is an event of hook 000, and a small number is one without a stamp. So the first such place is
//! held against those a little behind it, and the one whose events look most like events is taken: they are stamped, of
//! another id than 000, and none is earlier than the one before it.
//!
//! A place is judged once, however often a search comes by, so that the work is at most eight steps a byte of the trace.

use super::Trace;
use crate::reader::aix::hooks;
use crate::reader::aix::step::{Kernel, Step, StepRules};
use std::collections::VecDeque;
use std::io;

/// Events that must step cleanly from a place before it is taken.
const CLEAN_EVENTS: u8 = 8;
/// Bytes behind the first such place in which a better one is looked for.
const BETTER_WITHIN: usize = 1024;
/// Bytes that are searched before they are let go.
const BLOCK: usize = 4096;

/// How much the events from a place look like events: 0 where they do not step cleanly.
pub(super) type Credit = u8;

/// Events that step cleanly, and look like nothing else.
pub(super) const CLEAN: Credit = 1;
/// Events that are as they should be: for a place in what may be one event that is cut.
pub(super) const SURE: Credit = CLEAN + 2 * CLEAN_EVENTS;

/// The places that were judged, and are not behind the search.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// Offset in the file of the first one.
    from: u64,
    credits: VecDeque<Credit>,
}

impl Judged {
    /// Forgets the places before an offset.
    fn forget(&mut self, before: u64) {
        let n = before.saturating_sub(self.from).min(self.credits.len() as u64);
        self.credits.drain(..n as usize);
        self.from += n;
    }

    fn get(&self, offset: u64) -> Option<Credit> {
        self.credits.get(usize::try_from(offset.checked_sub(self.from)?).ok()?).copied()
    }

    fn put(&mut self, offset: u64, credit: Credit) {
        if offset != self.from + self.credits.len() as u64 {
            self.credits.clear();
            self.from = offset;
        }
        self.credits.push_back(credit);
    }

    /// Forgets all places: those of another area have other ends.
    pub fn clear(&mut self) {
        self.credits.clear();
    }
}

/// Judges the events at the start of some bytes; `None` where more bytes are needed.
fn judge(rules: &StepRules, bytes: &[u8]) -> Option<Credit> {
    let (mut left, mut credit, mut last) = (bytes, CLEAN, None);
    for _ in 0..CLEAN_EVENTS {
        let parts = match rules.step(left) {
            Step::Whole(parts) => parts,
            Step::Short(_) => return None,
            Step::Malformed { .. } => return Some(0),
        };
        if let Some(at) = parts.stamp
            && parts.id != hooks::ZERO
        {
            let ticks = rules.number(left, at);
            let in_order = last.is_none_or(|last| is_not_before(rules.kernel, last, ticks));
            credit += 1 + u8::from(in_order);
            last = Some(ticks);
        }
        left = left.get(parts.size..).unwrap_or_default();
    }
    Some(credit)
}

/// Whether a stamp is none of the past, for a clock that begins again at 0.
fn is_not_before(kernel: Kernel, last: u64, ticks: u64) -> bool {
    match kernel {
        Kernel::Bits32 => (ticks as u32).wrapping_sub(last as u32) < 1 << 31,
        Kernel::Bits64 => ticks.wrapping_sub(last) < 1 << 63,
    }
}

impl Trace {
    /// Skips bytes from the one behind the window's first to a place of at least some credit, or to the area's end;
    /// whether there is such a place.
    pub(super) fn seek_events(&mut self, least: Credit) -> io::Result<bool> {
        self.judged.forget(self.window.offset());
        let mut at = 1;
        let mut best: Option<(usize, Credit)> = None;
        let mut until = usize::MAX;
        while at < until
            && let Some(credit) = self.credit(at)?
        {
            if credit >= least && best.is_none_or(|(_, known)| known < credit) {
                until = until.min(at + BETTER_WITHIN);
                best = Some((at, credit));
            }
            at += 1;
            if credit == SURE {
                break;
            }
            if best.is_none() && at >= BLOCK {
                self.skip(at);
                self.judged.forget(self.window.offset());
                at = 0;
            }
        }
        self.skip(best.map_or(self.window.bytes().len(), |(at, _)| at));
        Ok(best.is_some())
    }

    /// The credit of a place so many bytes behind the window's start; `None` behind the area's end.
    fn credit(&mut self, at: usize) -> io::Result<Option<Credit>> {
        let offset = self.window.offset() + at as u64;
        if let Some(known) = self.judged.get(offset) {
            return Ok(Some(known));
        }
        let credit = loop {
            let left = self.window.bytes().get(at..).unwrap_or_default();
            match judge(&self.rules, left) {
                Some(credit) => break credit,
                None if self.window.fill()? => {}
                None if self.window.bytes().len() <= at => return Ok(None),
                None => break 0,
            }
        };
        self.judged.put(offset, credit);
        Ok(Some(credit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::aix::CpuidWord;

    fn rules(kernel: Kernel) -> StepRules {
        StepRules { kernel, cpuid_word: CpuidWord::Last, lenient: false, short_generic_word: false }
    }

    /// Events of a 64-bit kernel without data, with these ids and stamps.
    fn events(stamps: &[(u16, Option<u64>)]) -> Vec<u8> {
        let event = |&(id, stamp): &(u16, Option<u64>)| {
            let flags = if stamp.is_some() { 0x8000 } else { 0 };
            let head = [flags << 48 | u64::from(id) << 16, 1];
            head.into_iter().chain(stamp).flat_map(u64::to_be_bytes).collect::<Vec<u8>>()
        };
        stamps.iter().flat_map(event).collect()
    }

    #[test]
    fn events_are_judged_by_their_stamps_their_order_and_their_ids() {
        let rules = rules(Kernel::Bits64);
        let sound: Vec<_> = (0..8).map(|n| (0x0100, Some(100 + n / 2))).collect();
        assert_eq!(judge(&rules, &events(&sound)), Some(SURE));
        let changed = |at: usize, event| {
            let mut changed = sound.clone();
            changed[at] = event;
            judge(&rules, &events(&changed))
        };
        // Without a stamp, or of hook 000, it has none of the two that an event can have.
        assert_eq!(changed(3, (0x0100, None)), Some(SURE - 2));
        assert_eq!(changed(3, (hooks::ZERO, Some(101))), Some(SURE - 2));
        // A stamp of the past is one only.
        assert_eq!(changed(7, (0x0100, Some(99))), Some(SURE - 1));
        let bytes = events(&sound);
        assert_eq!(judge(&rules, &bytes[..bytes.len() - 1]), None, "all of the last event must be there");
        let mut bytes = bytes;
        bytes[24 * 7] = 0xFF;
        assert_eq!(judge(&rules, &bytes), Some(0), "the last one is malformed");
    }

    #[test]
    fn a_stamp_is_of_the_past_up_to_half_of_a_clocks_turn() {
        for (kernel, half) in [(Kernel::Bits32, 1u64 << 31), (Kernel::Bits64, 1 << 63)] {
            let last = 2 * (half - 1) - 10;
            for (ticks, expected) in [
                (last, true),
                (last + 1, true),
                (last - 1, false),
                (last.wrapping_add(half - 1), true),
                (last.wrapping_add(half), false),
            ] {
                let ticks = if kernel == Kernel::Bits32 { ticks & 0xFFFF_FFFF } else { ticks };
                assert_eq!(is_not_before(kernel, last, ticks), expected, "{kernel:?}: {ticks:#x} behind {last:#x}");
            }
        }
    }

    #[test]
    fn places_are_known_until_the_search_is_past_them() {
        let mut judged = Judged::default();
        for (offset, credit) in [(100, 1), (101, 2), (102, 3), (103, 4)] {
            judged.put(offset, credit);
        }
        let known = |judged: &Judged| [99, 100, 101, 102, 103, 104].map(|offset| judged.get(offset));
        assert_eq!(known(&judged), [None, Some(1), Some(2), Some(3), Some(4), None]);
        judged.forget(100);
        judged.forget(102);
        assert_eq!(known(&judged), [None, None, None, Some(3), Some(4), None]);
        judged.put(104, 5);
        assert_eq!(known(&judged), [None, None, None, Some(3), Some(4), Some(5)]);
        // A place elsewhere begins anew.
        judged.put(99, 6);
        assert_eq!(known(&judged), [Some(6), None, None, None, None, None]);
        judged.clear();
        assert_eq!(known(&judged), [None; 6]);
    }
}
