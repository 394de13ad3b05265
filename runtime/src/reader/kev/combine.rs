//! Events whose slots are still coming in.

use super::slot::{PAYLOAD_BYTES, Payload, SLOT_BYTES};
use std::collections::{BTreeMap, HashMap};

/// Bytes that all open combines may take together; each counts for its payload and 128 bytes.
pub const MAX_OPEN_BYTES: usize = 32 << 20;
/// Bytes of payload in one event.
pub const MAX_EVENT_BYTES: usize = 1 << 20;

/// What an open combine counts for beside its payload.
const OVERHEAD: usize = 128;
/// Combines that are looked through one by one. A log has one open on each CPU, seldom more.
const MAX_RECENT: usize = 16;
/// Buffers of at most this many bytes are kept for the next combine.
const MAX_SPARE_BYTES: usize = 4 << 10;

/// An event whose end slot has not come.
#[derive(Debug, Default)]
pub(super) struct Combine {
    key: u64,
    /// Offset in the file of its first slot.
    pub offset: u64,
    /// The clock's high half at its first slot.
    pub msb: Option<u32>,
    pub payload: Vec<u8>,
}

impl Combine {
    /// Bytes of its slots in the file.
    pub fn slot_bytes(&self) -> u64 {
        (self.payload.len() / PAYLOAD_BYTES * SLOT_BYTES) as u64
    }

    /// Adds a slot's payload; `false` where there is no room for it.
    pub fn add(&mut self, payload: &Payload) -> bool {
        let has_room = self.payload.len() + PAYLOAD_BYTES <= MAX_EVENT_BYTES;
        if has_room {
            self.payload.extend_from_slice(payload);
        }
        has_room
    }

    fn cost(&self) -> usize {
        OVERHEAD + self.payload.len()
    }
}

/// What became of a slot in the middle of a combine.
#[derive(Debug)]
pub(super) enum Continued {
    /// It was added.
    Added,
    /// No combine of its key is open.
    Unknown,
    /// The combine would be too long, and is dropped without this slot.
    TooLong(Combine),
}

/// The open combines, by key and by age.
///
/// The most recent ones stand in a short list, which is all that logs of sound CPUs need. Older ones move into a map, so
/// that a log of nothing but begins costs no more time a slot than a sound one.
#[derive(Debug, Default)]
pub(super) struct OpenCombines {
    /// Oldest first; all are younger than those of `older`.
    recent: Vec<Combine>,
    older: BTreeMap<u64, Combine>,
    /// Place in `older` by key.
    places: HashMap<u64, u64>,
    n_moved: u64,
    bytes: usize,
    spare: Vec<Vec<u8>>,
}

impl OpenCombines {
    /// Opens a combine, and returns the open one of the same key.
    pub fn begin(&mut self, key: u64, offset: u64, msb: Option<u32>, payload: &Payload) -> Option<Combine> {
        let dropped = self.take(key);
        if self.recent.len() == MAX_RECENT {
            self.move_oldest();
        }
        let mut combine = Combine { key, offset, msb, payload: self.spare.pop().unwrap_or_default() };
        combine.payload.extend_from_slice(payload);
        self.bytes += combine.cost();
        self.recent.push(combine);
        dropped
    }

    /// Adds a slot in the middle.
    pub fn go_on(&mut self, key: u64, payload: &Payload) -> Continued {
        let combine = match self.recent.iter_mut().rfind(|combine| combine.key == key) {
            Some(combine) => combine,
            None => match self.places.get(&key).and_then(|place| self.older.get_mut(place)) {
                Some(combine) => combine,
                None => return Continued::Unknown,
            },
        };
        if !combine.add(payload) {
            return self.take(key).map_or(Continued::Unknown, Continued::TooLong);
        }
        self.bytes += PAYLOAD_BYTES;
        Continued::Added
    }

    /// Takes out the combine of a key.
    pub fn take(&mut self, key: u64) -> Option<Combine> {
        let combine = match self.recent.iter().rposition(|combine| combine.key == key) {
            Some(at) => self.recent.remove(at),
            None if self.places.is_empty() => return None,
            None => self.older.remove(&self.places.remove(&key)?)?,
        };
        self.bytes -= combine.cost();
        Some(combine)
    }

    /// Takes out the oldest combine where all together pass [`MAX_OPEN_BYTES`].
    pub fn take_over_limit(&mut self) -> Option<Combine> {
        if self.bytes <= MAX_OPEN_BYTES { None } else { self.take_oldest() }
    }

    /// Takes out the combine that was begun first.
    pub fn take_oldest(&mut self) -> Option<Combine> {
        let key = match self.older.first_key_value() {
            Some((_, combine)) => combine.key,
            None => self.recent.first()?.key,
        };
        self.take(key)
    }

    /// Keeps the buffer of a combine that is no longer needed.
    pub fn recycle(&mut self, combine: Combine) {
        let mut payload = combine.payload;
        if payload.capacity() <= MAX_SPARE_BYTES && self.spare.len() < MAX_RECENT {
            payload.clear();
            self.spare.push(payload);
        }
    }

    fn move_oldest(&mut self) {
        let mut combine = self.recent.remove(0);
        combine.payload.shrink_to_fit();
        self.n_moved += 1;
        self.places.insert(combine.key, self.n_moved);
        self.older.insert(self.n_moved, combine);
    }
}
