//! Bytes of the event: fields of the hook word, and reads at bit addresses.

use tfbc_vm::Event;

/// Hook word and data of one event.
#[derive(Clone, Copy)]
pub(super) struct Buffer<'e> {
    bytes: &'e [u8],
    wide: bool,
}

/// Result of a read.
pub(super) struct Read<T> {
    pub(super) found: T,
    /// True if a byte outside the event was needed.
    pub(super) past_end: bool,
}

impl<'e> Buffer<'e> {
    pub(super) fn new(event: &Event<'e>) -> Self {
        Buffer { bytes: event.bytes, wide: event.wide }
    }

    /// True for a 64-bit hook.
    pub(super) fn wide(&self) -> bool {
        self.wide
    }

    /// Bytes of a word.
    pub(super) fn word(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn header(&self) -> u64 {
        (0..self.word()).fold(0, |value, at| value << 8 | u64::from(self.bytes.get(at).copied().unwrap_or(0)))
    }

    /// Flags of a 64-bit hook, or the type nibble of a 32-bit one.
    pub(super) fn hook_type(&self) -> u64 {
        if self.wide { self.header() >> 48 } else { self.header() >> 16 & 0xF }
    }

    pub(super) fn generic(&self) -> bool {
        if self.wide { self.hook_type() & 0x4000 != 0 } else { self.hook_type() & 7 == 0 }
    }

    /// 16-bit hook id.
    pub(super) fn id(&self) -> u16 {
        if self.wide { (self.header() >> 16) as u16 } else { (self.header() >> 20 << 4) as u16 }
    }

    /// `$HD`
    pub(super) fn hook_data(&self) -> u64 {
        self.header() & 0xFFFF
    }

    /// `$HL`
    pub(super) fn hook_len(&self) -> u64 {
        if self.wide {
            self.header() >> 32 & 0xFFFF
        } else if self.generic() {
            self.hook_data()
        } else {
            ((self.hook_type() & 7) - 1) * 4
        }
    }

    /// Data word `n`, from 1; 0 if the event does not contain all of it.
    pub(super) fn data_word(&self, n: usize) -> u64 {
        if self.generic() && n > 1 {
            return 0;
        }
        match self.bytes.get(n * self.word()..(n + 1) * self.word()) {
            Some(word) => word.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
            None => 0,
        }
    }

    /// True if the event contains all of data word `n`, from 1.
    pub(super) fn has_data_word(&self, n: usize) -> bool {
        (n == 1 || !self.generic()) && (n + 1) * self.word() <= self.bytes.len()
    }

    /// Byte at an address; `None` outside the event.
    fn byte(&self, at: i128) -> Option<u8> {
        usize::try_from(at).ok().and_then(|at| self.bytes.get(at)).copied()
    }

    /// Number in `n` bits from a bit address. Bytes outside the event are 0, and so are all if it begins before the
    /// event.
    pub(super) fn bits(&self, from: i128, n: u32) -> Read<u128> {
        let mut read = Read { found: 0, past_end: false };
        for bit in from..from + i128::from(n) {
            let byte = self.byte(bit.div_euclid(8));
            read.past_end |= byte.is_none();
            let byte = if from < 0 { 0 } else { byte.unwrap_or(0) };
            read.found = read.found << 1 | u128::from(byte >> (7 - bit.rem_euclid(8)) & 1);
        }
        read
    }

    /// Text of up to `len` bytes from a byte address, without its NUL.
    pub(super) fn text(&self, from: i128, len: u64) -> Read<Vec<u8>> {
        let mut found = Vec::new();
        for at in from..from + i128::from(len) {
            match self.byte(at) {
                None => return Read { found, past_end: true },
                Some(0) => break,
                Some(byte) => found.push(byte),
            }
        }
        Read { found, past_end: false }
    }
}
