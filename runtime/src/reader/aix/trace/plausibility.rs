//! Plausibility of positions in a trace, judged by the events that begin there.

use std::collections::VecDeque;

/// Number of valid events that make a position a candidate.
pub(super) const CLEAN_EVENTS: u8 = 8;
/// Plausibility of the events from a position; 0 if they are not valid.
pub(super) type Plausibility = u8;

/// Plausibility of events that are valid but look like data.
pub(super) const CLEAN: Plausibility = 1;
/// Plausibility of perfect events. Required inside bytes that may be one event with a damaged length.
pub(super) const SURE: Plausibility = CLEAN + 2 * CLEAN_EVENTS;

/// Judged positions at or after the current search position.
#[derive(Debug, Default)]
pub(super) struct JudgedPositions {
    /// File offset of the first one.
    from: u64,
    credits: VecDeque<Plausibility>,
}

impl JudgedPositions {
    /// Drops the positions before an offset.
    pub fn forget(&mut self, before: u64) {
        let n = before.saturating_sub(self.from).min(self.credits.len() as u64);
        self.credits.drain(..n as usize);
        self.from += n;
    }

    /// Plausibility of a position, if it was judged.
    pub fn get(&self, offset: u64) -> Option<Plausibility> {
        self.credits.get(usize::try_from(offset.checked_sub(self.from)?).ok()?).copied()
    }

    /// Stores the plausibility of a position.
    pub fn put(&mut self, offset: u64, credit: Plausibility) {
        if offset != self.from + self.credits.len() as u64 {
            self.credits.clear();
            self.from = offset;
        }
        self.credits.push_back(credit);
    }

    /// Drops all positions: they were judged by the old end of the area.
    pub fn clear(&mut self) {
        self.credits.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_until_the_search_is_past_them() {
        let mut judged = JudgedPositions::default();
        for (offset, credit) in [(100, 1), (101, 2), (102, 3), (103, 4)] {
            judged.put(offset, credit);
        }
        let known = |judged: &JudgedPositions| [99, 100, 101, 102, 103, 104].map(|offset| judged.get(offset));
        assert_eq!(known(&judged), [None, Some(1), Some(2), Some(3), Some(4), None]);
        judged.forget(100);
        judged.forget(102);
        assert_eq!(known(&judged), [None, None, None, Some(3), Some(4), None]);
        judged.put(104, 5);
        assert_eq!(known(&judged), [None, None, None, Some(3), Some(4), Some(5)]);
        // A distant position starts a new list.
        judged.put(99, 6);
        assert_eq!(known(&judged), [Some(6), None, None, None, None, None]);
        judged.clear();
        assert_eq!(known(&judged), [None; 6]);
    }
}
