//! Finds the next event after a damaged place.
//!
//! Nothing marks the start of an event. A position is a candidate if [`CLEAN_EVENTS`] valid events follow from it.
//! Plain data can look valid too: a word of zeros is an event of hook 000, and a small number is an event without a
//! stamp. So the first candidate is compared with those shortly after it, and the one with the most plausible events
//! wins: they have stamps in ascending order and ids other than 000.
//!
//! Each position is judged only once, even if several searches reach it, so the work is at most eight steps per byte.

use super::Trace;
use super::plausibility::{CLEAN, CLEAN_EVENTS, Plausibility, SURE};
use crate::reader::aix::hooks;
use crate::reader::aix::step::{Kernel, Step, StepRules};
use std::io;

/// Distance after the first candidate, in bytes, within which a better one is searched.
const BETTER_WITHIN: usize = 1024;
/// Number of bytes that are searched before they are consumed.
const BLOCK: usize = 4096;

/// Judges the events at the start of some bytes; `None` if more bytes are needed.
fn judge(rules: &StepRules, bytes: &[u8]) -> Option<Plausibility> {
    let (mut left, mut credit, mut last) = (bytes, CLEAN, None);
    for _ in 0..CLEAN_EVENTS {
        let parts = match rules.step(left) {
            Step::Whole(parts) => parts,
            Step::Short(_) => return None,
            Step::Malformed { .. } => return Some(0),
        };
        // An event earns at most two points. Hook 000 earns none, because zeros look like events of hook 000.
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

/// True if a stamp is not before the last one, on a clock that wraps.
fn is_not_before(kernel: Kernel, last: u64, ticks: u64) -> bool {
    match kernel {
        Kernel::Bits32 => (ticks as u32).wrapping_sub(last as u32) < 1 << 31,
        Kernel::Bits64 => ticks.wrapping_sub(last) < 1 << 63,
    }
}

impl Trace {
    /// Skips bytes to the next position with at least this plausibility, or to the area's end. The search starts one
    /// byte after the window's start. Returns true if a position was found.
    pub(super) fn seek_events(&mut self, least: Plausibility) -> io::Result<bool> {
        self.judged.forget(self.window.offset());
        let mut at = 1;
        let mut best: Option<(usize, Plausibility)> = None;
        let mut until = usize::MAX;
        while at < until
            && let Some(credit) = self.plausibility_at(at)?
        {
            if credit >= least && best.is_none_or(|(_, known)| known < credit) {
                // The first candidate may be inside of an event's data. The real start is soon after it.
                until = until.min(at + BETTER_WITHIN);
                best = Some((at, credit));
            }
            at += 1;
            if credit == SURE {
                break;
            }
            // Consumed in blocks, so that the buffer does not grow with the damage.
            if best.is_none() && at >= BLOCK {
                self.skip(at);
                self.judged.forget(self.window.offset());
                at = 0;
            }
        }
        self.skip(best.map_or(self.window.bytes().len(), |(at, _)| at));
        Ok(best.is_some())
    }

    /// Plausibility of the position `at` bytes after the window's start; `None` after the area's end.
    fn plausibility_at(&mut self, at: usize) -> io::Result<Option<Plausibility>> {
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
    fn events_are_judged_by_stamps_order_and_ids() {
        let rules = rules(Kernel::Bits64);
        let sound: Vec<_> = (0..8).map(|n| (0x0100, Some(100 + n / 2))).collect();
        assert_eq!(judge(&rules, &events(&sound)), Some(SURE));
        let changed = |at: usize, event| {
            let mut changed = sound.clone();
            changed[at] = event;
            judge(&rules, &events(&changed))
        };
        // An event without a stamp, or of hook 000, earns neither of its two points.
        assert_eq!(changed(3, (0x0100, None)), Some(SURE - 2));
        assert_eq!(changed(3, (hooks::ZERO, Some(101))), Some(SURE - 2));
        // An event with an old stamp earns one point.
        assert_eq!(changed(7, (0x0100, Some(99))), Some(SURE - 1));
        let bytes = events(&sound);
        assert_eq!(judge(&rules, &bytes[..bytes.len() - 1]), None, "all of the last event must be there");
        let mut bytes = bytes;
        bytes[24 * 7] = 0xFF;
        assert_eq!(judge(&rules, &bytes), Some(0), "the last one is malformed");
    }

    #[test]
    fn stamps_up_to_half_a_wrap_back_are_old() {
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
                assert_eq!(is_not_before(kernel, last, ticks), expected, "{kernel:?}: {ticks:#x} after {last:#x}");
            }
        }
    }
}
