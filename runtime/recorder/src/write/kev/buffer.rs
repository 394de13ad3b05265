//! Buffers of slots.

/// Bytes of a slot.
const SLOT: usize = 16;
/// Slots of a buffer: 16 KiB without the header that QNX keeps there.
const SLOTS: usize = 1014;
/// Payload bytes of a slot.
const PAYLOAD: usize = 8;
/// Longest payload that fits into a buffer after a BUFFER record, two TIME records and a thread state.
pub(super) const MAX_PAYLOAD: usize = (SLOTS - 5) * PAYLOAD;

const BUFFER: u32 = 1 << 10 | 2;
const BEGIN: u32 = 1 << 30;
const CONTINUATION: u32 = 2 << 30;
const END: u32 = 3 << 30;
/// Buffer numbers wrap at this value.
const NUMBERS: u32 = 2048;

/// Byte order of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteOrder {
    pub big_endian: bool,
}

impl ByteOrder {
    #[inline]
    pub fn word(self, word: u32) -> [u8; 4] {
        if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    pub fn half(self, half: u16) -> [u8; 2] {
        if self.big_endian { half.to_be_bytes() } else { half.to_le_bytes() }
    }

    pub fn double(self, double: u64) -> [u8; 8] {
        if self.big_endian { double.to_be_bytes() } else { double.to_le_bytes() }
    }

    /// True if words must be swapped on this machine.
    #[inline]
    fn swaps(self) -> bool {
        self.big_endian != cfg!(target_endian = "big")
    }
}

/// Sequence of slots that begins with a BUFFER record.
#[derive(Debug, Default)]
pub(super) struct SlotBuffer {
    slots: Vec<u8>,
    n_events: u64,
}

impl SlotBuffer {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Number of events, without BUFFER and TIME records.
    pub fn n_events(&self) -> u64 {
        self.n_events
    }

    pub fn bytes(&self) -> &[u8] {
        &self.slots
    }

    /// True if an event with this payload and two TIME records fit.
    #[inline]
    pub fn has_room(&self, n_bytes: usize) -> bool {
        self.slots.len() / SLOT + n_bytes.div_ceil(PAYLOAD) + 2 <= SLOTS
    }

    /// Adds the BUFFER record; the number of slots is filled in at the end.
    pub fn begin(&mut self, target: ByteOrder, header: u32, stamp: u32, sequence: u32) {
        self.slots.reserve(SLOTS * SLOT);
        self.control(target, header | BUFFER, stamp, [sequence % NUMBERS, 0]);
    }

    pub fn end(&mut self, target: ByteOrder) {
        let n = (self.slots.len() / SLOT) as u32;
        if let Some(count) = self.slots.get_mut(12..16) {
            count.copy_from_slice(&target.word(n));
        }
    }

    /// Adds a CONTROL record: two words in this machine's byte order.
    pub fn control(&mut self, target: ByteOrder, header: u32, stamp: u32, words: [u32; 2]) {
        for word in [header, stamp, words[0], words[1]] {
            self.slots.extend_from_slice(&target.word(word));
        }
    }

    /// Adds a record about a process or thread, in the target's byte order. It is not counted as an event.
    pub fn state(&mut self, target: ByteOrder, header: u32, stamp: u32, data: &[u8]) {
        self.event(target, header, stamp, data, true);
        self.n_events -= 1;
    }

    /// Adds an event: one slot, or a combine record whose last slot is padded with zeros.
    #[inline]
    pub fn event(&mut self, target: ByteOrder, header: u32, stamp: u32, data: &[u8], bytes: bool) {
        self.n_events += 1;
        let n = data.len().div_ceil(PAYLOAD);
        for (at, part) in data.chunks(PAYLOAD).enumerate() {
            let kind = match at {
                _ if n == 1 => 0,
                0 => BEGIN,
                _ if at == n - 1 => END,
                _ => CONTINUATION,
            };
            let mut payload = [0; PAYLOAD];
            payload[..part.len()].copy_from_slice(part);
            if target.swaps() && !bytes {
                payload.as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
            }
            self.slots.extend_from_slice(&target.word(header | kind));
            self.slots.extend_from_slice(&target.word(stamp));
            self.slots.extend_from_slice(&payload);
        }
    }
}
