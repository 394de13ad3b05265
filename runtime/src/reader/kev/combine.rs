//! Combines: events of several slots, collected until their end slot.

use crate::split::codec::stored;

use super::slot::{N_CPUS, PAYLOAD_BYTES, Payload, SLOT_BYTES, Slot};
use std::collections::{BTreeMap, HashMap};

/// Limit on the bytes of all open combines; each counts for its payload and 256 bytes.
pub const MAX_OPEN_BYTES: usize = 4 << 20;
/// Limit on the payload of an event in bytes.
pub const MAX_EVENT_BYTES: usize = 1 << 20;

/// Bytes that an open combine counts for in addition to its payload.
const OVERHEAD: usize = 256;
/// Maximum length of the list that is searched linearly.
const MAX_RECENT: usize = 16;
/// Maximum size of a buffer that is kept for the next combine.
const MAX_SPARE_BYTES: usize = 4 << 10;
/// Key that no combine has.
const NONE: u64 = u64::MAX;

/// Event whose end slot has not been read yet.
#[derive(Debug, Clone)]
pub(super) struct Combine {
    key: u64,
    /// Offset in the file of its first slot.
    pub offset: u64,
    /// The clock's high half at its first slot.
    pub msb: Option<u32>,
    payload: Vec<u8>,
}

stored!(Combine { key, offset, msb, payload }
    where |combine| !combine.payload.is_empty() && combine.payload.len().is_multiple_of(PAYLOAD_BYTES)
        && combine.payload.len() <= MAX_EVENT_BYTES);

impl Default for Combine {
    /// Empty entry of a table of combines.
    fn default() -> Self {
        Combine { key: NONE, offset: 0, msb: None, payload: Vec::new() }
    }
}

impl Combine {
    /// Size of its slots in the file, in bytes.
    pub fn slot_bytes(&self) -> u64 {
        (self.payload.len() / PAYLOAD_BYTES * SLOT_BYTES) as u64
    }

    fn is_full(&self) -> bool {
        self.payload.len() + PAYLOAD_BYTES > MAX_EVENT_BYTES
    }

    fn cost(&self) -> usize {
        OVERHEAD + self.payload.len()
    }

    /// Appends its payload and the payload of the last slot to `into`, and empties the entry.
    #[inline]
    fn end(&mut self, last: &Payload, into: &mut Vec<u8>) -> CompleteCombine {
        let len = self.payload.len() + PAYLOAD_BYTES;
        into.extend_from_slice(&self.payload);
        into.extend_from_slice(last);
        self.key = NONE;
        self.payload.clear();
        if self.payload.capacity() > MAX_SPARE_BYTES {
            self.payload = Vec::new();
        }
        CompleteCombine { offset: self.offset, msb: self.msb, len: len as u32 }
    }
}

/// A complete combine, without its payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompleteCombine {
    /// Offset in the file of its first slot.
    pub offset: u64,
    /// The clock's high half at its first slot.
    pub msb: Option<u32>,
    /// Bytes of payload.
    pub len: u32,
}

/// Reason why a slot belongs to no combine.
#[derive(Debug)]
pub(super) enum StrayReason {
    /// No combine of its key is open.
    Unknown,
    /// The combine would be too long, and is dropped without this slot.
    TooLong(Combine),
}

/// Open combines.
///
/// The latest combine per CPU is kept in an array; undamaged logs need no more. Older ones are in a short list, then in
/// a map, so that a hostile log of begin slots takes little more time per slot than an undamaged one.
#[derive(Debug)]
pub(super) struct OpenCombines {
    /// Latest combine per CPU.
    last: Box<[Combine; N_CPUS]>,
    recent: Vec<Combine>,
    /// Older ones, by offset.
    older: BTreeMap<u64, Combine>,
    /// Offsets of `older` by key.
    offsets: HashMap<u64, u64>,
    bytes: usize,
    spare: Vec<Vec<u8>>,
}

impl Default for OpenCombines {
    fn default() -> Self {
        OpenCombines {
            last: Box::new(std::array::from_fn(|_| Combine::default())),
            recent: Vec::new(),
            older: BTreeMap::new(),
            offsets: HashMap::new(),
            bytes: 0,
            spare: Vec::new(),
        }
    }
}

impl OpenCombines {
    /// Opens a combine. Returns an open one with the same key, which is dropped.
    #[inline]
    pub fn begin(&mut self, slot: Slot, offset: u64, msb: Option<u32>, payload: &Payload) -> Option<Combine> {
        let key = slot.key();
        let is_free = self.last[slot.place()].key == NONE && self.recent.is_empty() && self.offsets.is_empty();
        let dropped = if is_free { None } else { self.free_place(slot) };
        let combine = &mut self.last[slot.place()];
        (combine.key, combine.offset, combine.msb) = (key, offset, msb);
        combine.payload.extend_from_slice(payload);
        // The overhead counts, too. Otherwise a log of a million begin slots without payload would not reach the limit.
        self.bytes += OVERHEAD + PAYLOAD_BYTES;
        dropped
    }

    /// Copies of all open combines, the oldest first.
    pub fn list(&self) -> Vec<Combine> {
        let others = self.recent.iter().chain(self.older.values());
        let mut open: Vec<Combine> =
            self.last.iter().filter(|combine| combine.key != NONE).chain(others).cloned().collect();
        open.sort_unstable_by_key(|combine| combine.offset);
        open
    }

    /// Opens combines that were begun before, the oldest first. Returns false if they cannot all be open.
    pub fn resume(&mut self, open: Vec<Combine>) -> bool {
        let mut before = None;
        for combine in open {
            let slot = Slot::of_key(combine.key);
            let is_later = before.replace(combine.offset).is_none_or(|before| before < combine.offset);
            if !is_later || slot.key() != combine.key || combine.key == NONE {
                return false;
            }
            let Some(first) = combine.payload.first_chunk::<PAYLOAD_BYTES>() else { return false };
            if self.begin(slot, combine.offset, combine.msb, first).is_some() {
                return false;
            }
            self.bytes += combine.payload.len() - PAYLOAD_BYTES;
            self.last[slot.place()].payload = combine.payload;
        }
        self.bytes <= MAX_OPEN_BYTES
    }

    /// Appends a continuation slot to its combine.
    #[inline(always)]
    pub fn append(&mut self, slot: Slot, payload: &Payload) -> Result<(), StrayReason> {
        let key = slot.key();
        let last = &mut self.last[slot.place()];
        let combine = if last.key == key { last } else { find(&mut self.recent, &mut self.older, &self.offsets, key)? };
        if combine.is_full() {
            return Err(self.take(slot).map_or(StrayReason::Unknown, StrayReason::TooLong));
        }
        combine.payload.extend_from_slice(payload);
        self.bytes += PAYLOAD_BYTES;
        Ok(())
    }

    /// Removes the combine of an end slot, and appends its payload to `into`.
    #[inline(always)]
    pub fn end(&mut self, slot: Slot, payload: &Payload, into: &mut Vec<u8>) -> Result<CompleteCombine, StrayReason> {
        let last = &mut self.last[slot.place()];
        if last.key == slot.key() && !last.is_full() {
            self.bytes -= last.cost();
            return Ok(last.end(payload, into));
        }
        self.end_other(slot, payload, into)
    }

    #[cold]
    fn end_other(&mut self, slot: Slot, payload: &Payload, into: &mut Vec<u8>) -> Result<CompleteCombine, StrayReason> {
        let mut combine = self.take(slot).ok_or(StrayReason::Unknown)?;
        if combine.is_full() {
            return Err(StrayReason::TooLong(combine));
        }
        let ended = combine.end(payload, into);
        self.recycle(combine);
        Ok(ended)
    }

    /// True if any combine is open.
    pub fn any(&self) -> bool {
        self.bytes > 0
    }

    /// Size of all their slots in bytes.
    pub fn slot_bytes(&self) -> u64 {
        let others = self.recent.iter().chain(self.older.values());
        self.last.iter().filter(|combine| combine.key != NONE).chain(others).map(Combine::slot_bytes).sum()
    }

    /// Removes the oldest combine if all together exceed [`MAX_OPEN_BYTES`].
    #[inline]
    pub fn take_over_limit(&mut self) -> Option<Combine> {
        if self.bytes <= MAX_OPEN_BYTES { None } else { self.take_oldest() }
    }

    /// Removes the combine that began first.
    pub fn take_oldest(&mut self) -> Option<Combine> {
        let oldest = self.older.first_key_value().map(|(_, combine)| combine);
        let others = self.last.iter().filter(|combine| combine.key != NONE).chain(&self.recent);
        // The oldest is the least likely to be continued.
        let key = others.chain(oldest).min_by_key(|combine| combine.offset)?.key;
        self.take(Slot::of_key(key))
    }

    /// Keeps the buffer of a combine that is no longer needed.
    pub fn recycle(&mut self, combine: Combine) {
        let mut payload = combine.payload;
        if payload.capacity() <= MAX_SPARE_BYTES && self.spare.len() < MAX_RECENT {
            payload.clear();
            self.spare.push(payload);
        }
    }

    /// Removes the combine with a slot's key.
    fn take(&mut self, slot: Slot) -> Option<Combine> {
        let key = slot.key();
        let combine = match self.recent.iter().rposition(|combine| combine.key == key) {
            _ if self.last[slot.place()].key == key => self.take_last(slot),
            Some(at) => self.recent.remove(at),
            None if self.offsets.is_empty() => return None,
            None => self.older.remove(&self.offsets.remove(&key)?)?,
        };
        self.bytes -= combine.cost();
        Some(combine)
    }

    /// Removes the latest combine of a slot's CPU.
    fn take_last(&mut self, slot: Slot) -> Combine {
        let empty = Combine { payload: self.spare.pop().unwrap_or_default(), ..Combine::default() };
        std::mem::replace(&mut self.last[slot.place()], empty)
    }

    /// Moves the latest combine of a slot's CPU from the array to the list. Removes and returns the open combine with
    /// the slot's key.
    #[cold]
    fn free_place(&mut self, slot: Slot) -> Option<Combine> {
        let dropped = self.take(slot);
        if self.last[slot.place()].key != NONE {
            if self.recent.len() == MAX_RECENT {
                self.move_recent();
            }
            let other = self.take_last(slot);
            self.recent.push(other);
        }
        dropped
    }

    /// Moves the oldest combine of the list into the map.
    fn move_recent(&mut self) {
        // Only logs with more than sixteen combines left open come here; those are damaged or hostile.
        let mut combine = self.recent.remove(0);
        combine.payload.shrink_to_fit();
        self.offsets.insert(combine.key, combine.offset);
        self.older.insert(combine.offset, combine);
    }
}

/// Finds an open combine in the list or the map.
#[cold]
fn find<'o>(
    recent: &'o mut [Combine],
    older: &'o mut BTreeMap<u64, Combine>,
    offsets: &HashMap<u64, u64>,
    key: u64,
) -> Result<&'o mut Combine, StrayReason> {
    if let Some(at) = recent.iter().rposition(|combine| combine.key == key) {
        return Ok(&mut recent[at]);
    }
    offsets.get(&key).and_then(|offset| older.get_mut(offset)).ok_or(StrayReason::Unknown)
}
