//! An event's bytes and the data pointer in them.

/// The event's bytes with AIX's data pointer: a byte and bit position that reads move, plus a base.
///
/// Traces are cut short in real life: a read past the end sees zero bytes, leaves a mark and still moves the pointer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'e> {
    pub bytes: &'e [u8],
    /// Position in bits from the buffer's start, without the base.
    bits: u64,
    /// The base pointer, in bytes.
    pub base: u64,
    /// Whether a read went past the end.
    pub truncated: bool,
}

/// The pointer saturates at 2^31 bytes.
const MAX_BITS: u64 = 1 << 34;

impl<'e> Cursor<'e> {
    pub fn new(bytes: &'e [u8]) -> Self {
        Cursor { bytes, bits: 0, base: 0, truncated: false }
    }

    /// The pointer's byte.
    pub fn byte(&self) -> u64 {
        self.bits / 8
    }

    pub fn set(&mut self, bytes: u32, bits: u32) {
        self.bits = (u64::from(bytes) * 8 + u64::from(bits)).min(MAX_BITS);
    }

    /// Goes to a byte given as a 64-bit two's complement number.
    pub fn go_to(&mut self, byte: u64) {
        self.bits = if (byte as i64) < 0 { 0 } else { byte.saturating_mul(8).min(MAX_BITS) };
    }

    pub fn add(&mut self, bytes: u64, bits: u64) {
        self.bits = self.bits.saturating_add(bytes.saturating_mul(8)).saturating_add(bits).min(MAX_BITS);
    }

    pub fn back(&mut self, bytes: u32) {
        self.bits = self.bits.saturating_sub(u64::from(bytes) * 8);
    }

    pub fn floor(&mut self) {
        self.bits &= !7;
    }

    pub fn ceil(&mut self) {
        self.bits = self.bits.next_multiple_of(8);
    }

    /// Offset in the buffer of the byte to read: data pointer plus base.
    fn place(&self) -> i64 {
        (self.byte() as i64).saturating_add(self.base as i64)
    }

    /// Rounds up, reads `width` bytes (at most 8) and moves past them.
    #[inline]
    pub fn take(&mut self, width: u32) -> u64 {
        self.ceil();
        let value = self.number(self.place(), width);
        self.add(u64::from(width), 0);
        value
    }

    /// Reads `count` bits (at most 64) and moves past them.
    pub fn take_bits(&mut self, count: u32) -> u64 {
        let value = self.bit_field(self.place(), (self.bits % 8) as u32, count);
        self.add(0, u64::from(count));
        value
    }

    /// Rounds up, and gives `len` bytes from the pointer on as text; moves past them.
    pub fn take_text(&mut self, len: u64) -> &'e [u8] {
        self.ceil();
        let text = self.text(self.place(), len);
        self.add(len, 0);
        text
    }

    /// Rounds up, reads `width` little-endian bytes (at most 8) and moves past them.
    #[inline]
    pub fn take_le(&mut self, width: u32) -> u64 {
        self.ceil();
        let value = self.number_le(self.place(), width);
        self.add(u64::from(width), 0);
        value
    }

    /// Whether the event holds `len` bytes from the pointer on.
    #[inline]
    pub fn reaches(&self, len: u32) -> bool {
        let end = self.bits.div_ceil(8).saturating_add(self.base).saturating_add(len.into());
        end <= self.bytes.len() as u64
    }

    /// What the event holds from the pointer on.
    pub fn rest(&self) -> &'e [u8] {
        usize::try_from(self.place()).ok().and_then(|at| self.bytes.get(at..)).unwrap_or(&[])
    }

    /// Gives the text at the pointer up to a NUL or the event's end, and moves behind the NUL.
    pub fn take_string(&mut self) -> &'e [u8] {
        self.ceil();
        let rest = self.rest();
        let len = nul(rest).unwrap_or(rest.len());
        self.add(len as u64 + 1, 0);
        &rest[..len]
    }

    /// A big-endian number of at most 8 bytes.
    #[inline(always)]
    pub fn number(&mut self, at: i64, width: u32) -> u64 {
        match self.window(at, width) {
            Some(value) => value,
            None => self.short_number(at, width),
        }
    }

    /// A little-endian number of at most 8 bytes.
    #[inline(always)]
    pub fn number_le(&mut self, at: i64, width: u32) -> u64 {
        match self.window(at, width) {
            Some(value) => low_first(value, width),
            None => low_first(self.short_number(at, width), width),
        }
    }

    /// The number at a fixed place, where the event holds it whole.
    #[inline(always)]
    pub fn whole(&self, at: u32, width: u32) -> Option<u64> {
        let at = at as usize;
        match width {
            4 => self.bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_be_bytes(*word).into()),
            8 => self.bytes.get(at..at + 8)?.first_chunk().map(|word| u64::from_be_bytes(*word)),
            _ => self.window(at as i64, width),
        }
    }

    /// The number where the event holds it whole.
    #[inline(always)]
    pub fn window(&self, at: i64, width: u32) -> Option<u64> {
        let rest = self.bytes.get(usize::try_from(at).ok()?..)?;
        Some(match width {
            1 => u64::from(*rest.first()?),
            2 => u64::from(u16::from_be_bytes(*rest.first_chunk()?)),
            4 => u64::from(u32::from_be_bytes(*rest.first_chunk()?)),
            8 => u64::from_be_bytes(*rest.first_chunk()?),
            _ => rest.get(..width as usize)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        })
    }

    /// Missing bytes read as zero; a read that begins before the event sees zeros only.
    #[cold]
    fn short_number(&mut self, at: i64, width: u32) -> u64 {
        self.truncated = true;
        if at < 0 {
            return 0;
        }
        let byte = |at: u64| self.bytes.get(at as usize).copied().unwrap_or(0);
        (0..u64::from(width)).fold(0, |value, k| value << 8 | u64::from(byte((at as u64).saturating_add(k))))
    }

    /// `count` bits from bit `bit` of byte `at` on, most significant first.
    pub fn bit_field(&mut self, at: i64, bit: u32, count: u32) -> u64 {
        let n_bytes = (bit + count).div_ceil(8);
        let (first, rest) = (n_bytes.min(8), n_bytes.saturating_sub(8));
        let mut bits = u128::from(self.number(at, first));
        if rest > 0 {
            let before = at < 0;
            let last = self.number(at.saturating_add(8), rest);
            bits = bits << 8 | u128::from(if before { 0 } else { last });
        }
        let spare = n_bytes * 8 - bit - count;
        let value = (bits >> spare) as u64;
        if count < 64 { value & ((1 << count) - 1) } else { value }
    }

    /// The bytes of a text field up to its NUL, or all that the event holds.
    pub fn text(&mut self, at: i64, len: u64) -> &'e [u8] {
        if len == 0 {
            return &[];
        }
        let rest = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)).unwrap_or(&[]);
        let field = &rest[..rest.len().min(usize::try_from(len).unwrap_or(usize::MAX))];
        match nul(field) {
            Some(end) => &field[..end],
            None => {
                self.truncated |= (field.len() as u64) < len;
                field
            }
        }
    }

    /// Rounds up, gives as many of `len` bytes as the event holds, and moves past those.
    pub fn take_whole(&mut self, len: u64) -> &'e [u8] {
        if len == 0 {
            return &[];
        }
        self.ceil();
        let rest = usize::try_from(self.place()).ok().and_then(|at| self.bytes.get(at..)).unwrap_or(&[]);
        let field = &rest[..rest.len().min(usize::try_from(len).unwrap_or(usize::MAX))];
        self.add(field.len() as u64, 0);
        field
    }

    /// Bytes from an offset on, as many of `len` as the event holds.
    pub fn raw(&mut self, at: i64, len: u32) -> &'e [u8] {
        let rest = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)).unwrap_or(&[]);
        let field = &rest[..rest.len().min(len as usize)];
        self.truncated |= field.len() < len as usize;
        field
    }

    /// Rounds up, gives `len` raw bytes and moves past them.
    pub fn take_raw(&mut self, len: u32) -> &'e [u8] {
        self.ceil();
        let field = self.raw(self.place(), len);
        self.add(u64::from(len), 0);
        field
    }
}

/// The number whose bytes were read as if the first were the highest.
#[inline(always)]
pub(crate) fn low_first(value: u64, width: u32) -> u64 {
    match width {
        0 => 0,
        1..8 => value.swap_bytes() >> ((8 - width) * 8),
        _ => value.swap_bytes(),
    }
}

/// Where the first NUL stands, eight bytes at a time.
#[inline(always)]
fn nul(field: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let (chunks, rest) = field.as_chunks::<8>();
    for (at, chunk) in chunks.iter().enumerate() {
        let bytes = u64::from_le_bytes(*chunk);
        let zeros = bytes.wrapping_sub(ONES) & !bytes & (ONES * 0x80);
        if zeros != 0 {
            return Some(at * 8 + (zeros.trailing_zeros() / 8) as usize);
        }
    }
    rest.iter().position(|byte| *byte == 0).map(|at| chunks.len() * 8 + at)
}

#[cfg(test)]
mod tests {
    use super::nul;

    #[test]
    fn the_first_nul_is_found_in_every_place() {
        for len in 0..40 {
            let mut field = vec![0x80; len];
            assert_eq!(nul(&field), None);
            for at in (0..len).rev() {
                field[at] = 0;
                assert_eq!(nul(&field), Some(at));
                field[at] = 1;
                assert_eq!(nul(&field), (at + 1..len).find(|at| field[*at] == 0));
                field[at] = 0;
            }
        }
    }
}
