//! Circular buffer of complete events; the oldest are dropped.

use super::aix::UTILITY;
use super::encode::{event_id, event_len, event_stamp};
use crate::record::Width;

/// The newest events that fit into a number of bytes.
#[derive(Debug)]
pub(super) struct Ring {
    trace: Width,
    bytes: Vec<u8>,
    /// Offset of the oldest event, and bytes of all events.
    start: usize,
    len: usize,
    /// Number of dropped events, without those that only help the reader (00A).
    pub overwritten: u64,
}

impl Ring {
    pub fn new(trace: Width, capacity: usize) -> Self {
        Ring { trace, bytes: vec![0; capacity], start: 0, len: 0, overwritten: 0 }
    }

    /// Adds complete events of at least 8 bytes each.
    pub fn push(&mut self, mut events: &[u8]) {
        while let Some(head) = events.first_chunk() {
            let (event, rest) = events.split_at(event_len(self.trace, *head).min(events.len()));
            self.push_event(*head, event);
            events = rest;
        }
    }

    fn push_event(&mut self, head: [u8; 8], event: &[u8]) {
        if event.len() > self.bytes.len() {
            self.count(head);
            return;
        }
        self.make_room(event.len());
        let end = self.place(self.len);
        let n = event.len().min(self.bytes.len() - end);
        self.bytes[end..end + n].copy_from_slice(&event[..n]);
        self.bytes[..event.len() - n].copy_from_slice(&event[n..]);
        self.len += event.len();
    }

    /// Drops the oldest events until `n` bytes are free, or the ring is empty.
    pub fn make_room(&mut self, n: usize) {
        while self.len > 0 && self.len + n > self.bytes.len() {
            let head = self.at(0);
            let len = event_len(self.trace, head).min(self.len);
            self.start = self.place(len);
            self.len -= len;
            self.count(head);
        }
    }

    fn count(&mut self, head: [u8; 8]) {
        self.overwritten += u64::from(event_id(self.trace, head) != UTILITY);
    }

    /// Time stamp of the oldest event.
    pub fn first_stamp(&self) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        event_stamp(self.trace, self.at(0), |at| self.at(at))
    }

    /// All events, oldest first, in two slices.
    pub fn parts(&self) -> [&[u8]; 2] {
        let n = self.len.min(self.bytes.len() - self.start);
        [&self.bytes[self.start..self.start + n], &self.bytes[..self.len - n]]
    }

    /// Eight bytes at an offset from the oldest event.
    #[inline]
    fn at(&self, offset: usize) -> [u8; 8] {
        let at = self.place(offset);
        let whole = self.bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk());
        whole.copied().unwrap_or_else(|| std::array::from_fn(|i| self.bytes[self.place(offset + i)]))
    }

    /// Index of a byte at most one round after the oldest event.
    fn place(&self, offset: usize) -> usize {
        let at = self.start + offset;
        if at < self.bytes.len() { at } else { at - self.bytes.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 32-bit event without data: hook word and thread id.
    fn event(n: u8) -> [u8; 8] {
        [0x10, 0x01, 0, n, 0, 0, 0, n]
    }

    #[test]
    fn the_oldest_events_give_way_whole() {
        let mut ring = Ring::new(Width::W32, 28);
        for n in 1..=5 {
            ring.push(&event(n));
        }
        assert_eq!(ring.parts().concat(), [event(3), event(4), event(5)].concat());
        assert_eq!(ring.overwritten, 2);
        ring.push(&[0x10, 0x09, 0, 6, 0, 0, 0, 6, 0, 0, 0, 7]); // 12 bytes: the oldest event is dropped
        assert_eq!(ring.parts().concat().len(), 28);
        assert_eq!((ring.overwritten, ring.first_stamp()), (3, None));
        ring.push(&event(9));
        assert_eq!(ring.parts().concat().len(), 28);
        ring.push(&event(9));
        assert_eq!((ring.overwritten, ring.first_stamp()), (5, Some(7)));
    }

    #[test]
    fn event_larger_than_the_buffer_is_overwritten() {
        let mut ring = Ring::new(Width::W32, 7);
        ring.push(&event(1));
        assert_eq!((ring.parts().concat().len(), ring.overwritten), (0, 1));
    }
}
