//! Places at which a log is cut into parts, and what is known there.

use super::index::PartIndex;
use std::num::NonZeroU64;

/// Size of the parts of a [`Split`](crate::Split).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartSize {
    /// At most this many parts of about equal size.
    Count(NonZeroU64),
    /// Parts of about this many bytes. A part ends after the first event that reaches the size.
    Bytes(NonZeroU64),
}

/// Places at which a trace is cut, as numbers of bytes read.
pub(crate) struct Cuts {
    pub size: PartSize,
    /// Bytes read before the first event, and bytes of the file.
    pub start: u64,
    pub end: u64,
}

impl Cuts {
    /// The first place after `read` bytes.
    pub fn next(&self, read: u64) -> u64 {
        match self.size {
            PartSize::Bytes(bytes) => read.saturating_add(bytes.get()),
            PartSize::Count(n) => {
                let n = u128::from(n.get());
                let len = u128::from(self.end.saturating_sub(self.start));
                let before = u128::from(read.saturating_sub(self.start));
                // The number of the first target above `read`.
                let number = (before * n).checked_div(len).map_or(n, |number| number + 1);
                if number >= n { u64::MAX } else { self.start + (len * number).div_ceil(n) as u64 }
            }
        }
    }
}

/// State of reader and report between two events.
pub(crate) struct Border {
    /// Bytes read before it.
    pub read: u64,
    /// Events before it.
    pub n_events: u64,
    /// File offset.
    pub offset: u64,
    /// Events since the border before.
    pub index: PartIndex,
    pub position: Vec<u8>,
    pub state: Vec<u8>,
}

/// Borders of a log, and its end.
#[derive(Default)]
pub(crate) struct LogParts {
    /// Encoded position before the first event; empty for a single file.
    pub start: Vec<u8>,
    pub borders: Vec<Border>,
    pub read: u64,
    pub n_events: u64,
    pub stopped: bool,
    /// True if a table of processes, threads or timers was full, so that the state depends on the report.
    pub has_lost_state: bool,
    /// Events after the last border.
    pub index: PartIndex,
}

impl LogParts {
    /// Sets the bytes and events of the whole log, and the index of the events after the last border. `stopped` is true if a template ended the report.
    pub fn end(&mut self, read: u64, n_events: u64, stopped: bool, index: PartIndex) {
        (self.read, self.n_events, self.stopped, self.index) = (read, n_events, stopped, index);
        // What comes after the last event belongs to the part of that event.
        if let Some(last) = self.borders.pop_if(|last| last.n_events == n_events) {
            let has_notices = self.index.has_notices || last.index.has_notices;
            let tally = self.index.tally + last.index.tally;
            self.index = last.index;
            self.index.has_notices = has_notices;
            self.index.tally = tally;
        }
    }
}
