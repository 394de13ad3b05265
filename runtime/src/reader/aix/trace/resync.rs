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
