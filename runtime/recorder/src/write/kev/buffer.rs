//! Buffers of slots.

/// Bytes of a slot.
const SLOT: usize = 16;
/// Slots of a buffer: 16 KiB without the head that QNX keeps in them.
const SLOTS: usize = 1014;
/// Bytes of payload in a slot.
const PAYLOAD: usize = 8;
/// The longest payload: what fits a buffer after its BUFFER record, two TIME records and the state of a thread.
pub(super) const MAX_PAYLOAD: usize = (SLOTS - 5) * PAYLOAD;

const BUFFER: u32 = 1 << 10 | 2;
const BEGIN: u32 = 1 << 30;
const CONTINUATION: u32 = 2 << 30;
const END: u32 = 3 << 30;
/// Running numbers of buffers count up to here.
const NUMBERS: u32 = 2048;

/// The byte order of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub big_endian: bool,
}

impl Target {
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

    /// Whether words of this machine stand in the wrong order.
    #[inline]
    fn swaps(self) -> bool {
        self.big_endian != cfg!(target_endian = "big")
    }
}

/// A run of slots, the first of which is its BUFFER record.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    slots: Vec<u8>,
    n_events: u64,
}

impl Buffer {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Events without BUFFER and TIME records.
    pub fn n_events(&self) -> u64 {
        self.n_events
    }

    pub fn bytes(&self) -> &[u8] {
        &self.slots
    }

    /// Whether an event with so much payload fits, and two TIME records.
    #[inline]
    pub fn has_room(&self, n_bytes: usize) -> bool {
        self.slots.len() / SLOT + n_bytes.div_ceil(PAYLOAD) + 2 <= SLOTS
    }

    /// The BUFFER record; the number of slots is filled in at the end.
    pub fn begin(&mut self, target: Target, header: u32, stamp: u32, sequence: u32) {
        self.slots.reserve(SLOTS * SLOT);
        self.control(target, header | BUFFER, stamp, [sequence % NUMBERS, 0]);
    }

    pub fn end(&mut self, target: Target) {
        let n = (self.slots.len() / SLOT) as u32;
        if let Some(count) = self.slots.get_mut(12..16) {
            count.copy_from_slice(&target.word(n));
        }
    }

    /// A CONTROL record: two words of this machine's order.
    pub fn control(&mut self, target: Target, header: u32, stamp: u32, words: [u32; 2]) {
        for word in [header, stamp, words[0], words[1]] {
            self.slots.extend_from_slice(&target.word(word));
        }
    }

    /// A record about a process or thread, in the target's byte order. It counts for no event.
    pub fn state(&mut self, target: Target, header: u32, stamp: u32, data: &[u8]) {
        self.event(target, header, stamp, data, true);
        self.n_events -= 1;
    }

    /// An event: one slot, or a combine. Zeros fill its last slot.
    #[inline]
    pub fn event(&mut self, target: Target, header: u32, stamp: u32, data: &[u8], bytes: bool) {
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
