//! Bytes of an event and the data pointer.

/// Bytes of an event with AIX's data pointer: a byte and bit position that reads advance, plus a base.
///
/// Events are often cut short: a read past the end gives zeros, sets `truncated`, and still advances the pointer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'e> {
    pub bytes: &'e [u8],
    /// Position in bits from the start of the buffer, without the base.
    bits: u64,
    /// Base pointer in bytes.
    pub base: u64,
    /// True if a read went past the end.
    pub truncated: bool,
}

/// Limit of the pointer in bits: it saturates at 2^31 bytes.
const MAX_BITS: u64 = 1 << 34;

impl<'e> Cursor<'e> {
    pub fn new(bytes: &'e [u8]) -> Self {
        Cursor { bytes, bits: 0, base: 0, truncated: false }
    }

    /// Byte of the pointer.
    pub fn byte(&self) -> u64 {
        self.bits / 8
    }

    /// Bit of the pointer in its byte.
    pub fn bit(&self) -> u32 {
        (self.bits % 8) as u32
    }

    pub fn set(&mut self, bytes: u32, bits: u32) {
        self.bits = (u64::from(bytes) * 8 + u64::from(bits)).min(MAX_BITS);
    }

    /// Goes to a byte given as a 64-bit two's complement number; negative ones count as 0.
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

    /// Offset in the buffer of the next byte: data pointer plus base.
    fn place(&self) -> i64 {
        (self.byte() as i64).saturating_add(self.base as i64)
    }

    /// Rounds up to a byte, reads `width` bytes (at most 8) and moves past them.
    #[inline]
    pub fn take(&mut self, width: u32) -> u64 {
        // Byte reads never start inside a byte: after `B0.4`, the next code begins at the next byte.
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

    /// Rounds up to a byte, reads a text field of `len` bytes and moves past it.
    pub fn take_text(&mut self, len: u64) -> &'e [u8] {
        self.ceil();
        let text = self.text(self.place(), len);
        self.add(len, 0);
        text
    }

    /// Rounds up to a byte, reads `width` little-endian bytes (at most 8) and moves past them.
    #[inline]
    pub fn take_le(&mut self, width: u32) -> u64 {
        self.ceil();
        let value = self.number_le(self.place(), width);
        self.add(u64::from(width), 0);
        value
    }

    /// True if the event contains `len` bytes from the pointer on.
    #[inline]
    pub fn reaches(&self, len: u32) -> bool {
        let place = (self.bits.div_ceil(8) as i64).saturating_add(self.base as i64);
        (0..=self.bytes.len() as i64 - i64::from(len)).contains(&place)
    }

    /// Bytes from the pointer to the end of the event.
    pub fn rest(&self) -> &'e [u8] {
        usize::try_from(self.place()).ok().and_then(|at| self.bytes.get(at..)).unwrap_or(&[])
    }

    /// Reads the text at the pointer up to a NUL or the end of the event, and moves past the NUL.
    pub fn take_string(&mut self) -> &'e [u8] {
        self.ceil();
        let rest = self.rest();
        let len = nul_position(rest).unwrap_or(rest.len());
        self.add(len as u64 + 1, 0);
        &rest[..len]
    }

    /// Reads a big-endian number of at most 8 bytes.
    #[inline(always)]
    pub fn number(&mut self, at: i64, width: u32) -> u64 {
        match self.window(at, width) {
            Some(value) => value,
            None => self.short_number(at, width),
        }
    }

    /// Reads a little-endian number of at most 8 bytes.
    #[inline(always)]
    pub fn number_le(&mut self, at: i64, width: u32) -> u64 {
        match self.window(at, width) {
            Some(value) => low_first(value, width),
            None => low_first(self.short_number(at, width), width),
        }
    }

    /// Reads a number at a fixed offset, if the event contains all of it.
    #[inline(always)]
    pub fn number_if_whole(&self, at: u32, width: u32) -> Option<u64> {
        let at = at as usize;
        match width {
            4 => self.bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_be_bytes(*word).into()),
            8 => self.bytes.get(at..at + 8)?.first_chunk().map(|word| u64::from_be_bytes(*word)),
            _ => self.window(at as i64, width),
        }
    }

    /// Reads a number, if the event contains all of it.
    #[inline(always)]
    pub fn window(&self, at: i64, width: u32) -> Option<u64> {
        let rest = self.bytes.get(usize::try_from(at).ok()?..)?;
        // The usual widths take one load each. Other widths, up to eight bytes, are rare and take a loop.
        Some(match width {
            1 => u64::from(*rest.first()?),
            2 => u64::from(u16::from_be_bytes(*rest.first_chunk()?)),
            4 => u64::from(u32::from_be_bytes(*rest.first_chunk()?)),
            8 => u64::from_be_bytes(*rest.first_chunk()?),
            _ => rest.get(..width as usize)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        })
    }

    /// Slow path: missing bytes are zero; a read that begins before the event gives 0.
    #[cold]
    fn short_number(&mut self, at: i64, width: u32) -> u64 {
        self.truncated = true;
        if at < 0 {
            return 0;
        }
        let byte = |at: u64| self.bytes.get(at as usize).copied().unwrap_or(0);
        (0..u64::from(width)).fold(0, |value, k| value << 8 | u64::from(byte((at as u64).saturating_add(k))))
    }

    /// Reads `count` bits from bit `bit` of byte `at`, most significant first.
    pub fn bit_field(&mut self, at: i64, bit: u32, count: u32) -> u64 {
        let n_bytes = (bit + count).div_ceil(8);
        let (first, rest) = (n_bytes.min(8), n_bytes.saturating_sub(8));
        // 64 bits that begin within a byte lie in nine bytes, more than a word.
        let mut bits = u128::from(self.number(at, first));
        if rest > 0 {
            // A read that begins before the event is 0, even if its last byte is inside.
            let before = at < 0;
            let last = self.number(at.saturating_add(8), rest);
            bits = bits << 8 | u128::from(if before { 0 } else { last });
        }
        let spare = n_bytes * 8 - bit - count;
        let value = (bits >> spare) as u64;
        if count < 64 { value & ((1 << count) - 1) } else { value }
    }

    /// Text of a field up to its NUL or the end of the event.
    pub fn text(&mut self, at: i64, len: u64) -> &'e [u8] {
        if len == 0 {
            return &[];
        }
        let rest = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)).unwrap_or(&[]);
        let field = &rest[..rest.len().min(usize::try_from(len).unwrap_or(usize::MAX))];
        match nul_position(field) {
            // A NUL inside ends the text, so the event need not contain the rest of the field.
            Some(end) => &field[..end],
            None => {
                self.truncated |= (field.len() as u64) < len;
                field
            }
        }
    }

    /// Rounds up to a byte, reads up to `len` bytes and moves past those that exist.
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

    /// Reads exactly `len` bytes; `None` if the event is shorter or a read already went past its end.
    #[inline]
    pub fn take_all(&mut self, len: u64) -> Option<&'e [u8]> {
        let at = usize::try_from((self.bits.div_ceil(8) as i64).saturating_add(self.base as i64)).ok()?;
        let field = self.bytes.get(at..)?.get(..usize::try_from(len).ok()?).filter(|_| !self.truncated)?;
        // The field ends in the event, so nothing overflows.
        self.bits = (self.bits.next_multiple_of(8) + field.len() as u64 * 8).min(MAX_BITS);
        Some(field)
    }

    /// Up to `len` bytes from an offset.
    pub fn raw(&mut self, at: i64, len: u32) -> &'e [u8] {
        let rest = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)).unwrap_or(&[]);
        let field = &rest[..rest.len().min(len as usize)];
        self.truncated |= field.len() < len as usize;
        field
    }

    /// Rounds up to a byte, reads up to `len` raw bytes and moves past `len` bytes.
    pub fn take_raw(&mut self, len: u32) -> &'e [u8] {
        self.ceil();
        let field = self.raw(self.place(), len);
        self.add(u64::from(len), 0);
        field
    }
}

/// Converts a number that was read as big-endian to its little-endian value.
#[inline(always)]
pub(crate) fn low_first(value: u64, width: u32) -> u64 {
    match width {
        0 => 0,
        1..8 => value.swap_bytes() >> ((8 - width) * 8),
        _ => value.swap_bytes(),
    }
}

/// Position of the first NUL; scans eight bytes at a time.
#[inline(always)]
fn nul_position(field: &[u8]) -> Option<usize> {
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
    use super::{Cursor, nul_position};

    /// Bytes without a pattern; none is zero.
    fn bytes(n: usize) -> Vec<u8> {
        (0..n).map(|at| (at * 73 + 41) as u8 | 1).collect()
    }

    /// Reads bit by bit, big-endian; missing bits are zero.
    fn bits_of(bytes: &[u8], first: u64, count: u32) -> u64 {
        (first..first + u64::from(count)).fold(0, |value, at| {
            let byte = bytes.get(at as usize / 8).copied().unwrap_or(0);
            value << 1 | u64::from(byte >> (7 - at % 8) & 1)
        })
    }

    #[test]
    fn the_first_nul_is_found_in_every_place() {
        for len in 0..40 {
            let mut field = vec![0x80; len];
            assert_eq!(nul_position(&field), None);
            for at in (0..len).rev() {
                field[at] = 0;
                assert_eq!(nul_position(&field), Some(at));
                field[at] = 1;
                assert_eq!(nul_position(&field), (at + 1..len).find(|at| field[*at] == 0));
                field[at] = 0;
            }
        }
    }

    #[test]
    fn the_pointer_is_a_byte_and_a_bit() {
        let mut cursor = Cursor::new(&[]);
        let at = |cursor: &Cursor<'_>| (cursor.byte(), cursor.bit());
        cursor.set(2, 11);
        assert_eq!(at(&cursor), (3, 3));
        cursor.floor();
        assert_eq!(at(&cursor), (3, 0));
        cursor.add(1, 9);
        assert_eq!(at(&cursor), (5, 1));
        cursor.back(2);
        assert_eq!(at(&cursor), (3, 1));
        cursor.ceil();
        assert_eq!(at(&cursor), (4, 0));
        cursor.ceil();
        assert_eq!(at(&cursor), (4, 0));
        cursor.back(5);
        assert_eq!(at(&cursor), (0, 0));
        for byte in [0, 1, 77] {
            cursor.set(9, 9);
            cursor.go_to(byte);
            assert_eq!(at(&cursor), (byte, 0));
        }
        cursor.go_to(u64::MAX);
        assert_eq!(at(&cursor), (0, 0), "a negative number");
    }

    #[test]
    fn the_pointer_stops_at_two_gibibytes() {
        let limit = 1 << 31;
        let mut cursor = Cursor::new(&[]);
        cursor.set(u32::MAX, u32::MAX);
        assert_eq!(cursor.byte(), limit);
        cursor.go_to(u64::MAX / 2);
        assert_eq!(cursor.byte(), limit);
        cursor.add(u64::MAX, u64::MAX);
        assert_eq!(cursor.byte(), limit);
        cursor.back(1);
        assert_eq!(cursor.byte(), limit - 1);
    }

    #[test]
    fn numbers_have_either_order_and_zeros_past_end() {
        let bytes = bytes(20);
        for width in 1..=8 {
            for at in 0..24u32 {
                let expected = bits_of(&bytes, u64::from(at) * 8, width * 8);
                let reversed = expected.swap_bytes() >> (64 - width * 8);
                let whole = at + width <= 20;
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(cursor.number(at.into(), width), expected);
                assert_eq!(cursor.number_le(at.into(), width), reversed);
                assert_eq!(cursor.truncated, !whole);
                assert_eq!(cursor.window(at.into(), width), whole.then_some(expected));
                assert_eq!(cursor.number_if_whole(at, width), whole.then_some(expected));
                // Reads at the pointer give the same numbers, from the next whole byte on and with a base.
                for base in 0..3u32 {
                    let mut cursor = Cursor::new(&bytes);
                    cursor.base = base.into();
                    if let Some(at) = at.checked_sub(base + 1) {
                        cursor.set(at, 3);
                        assert_eq!(cursor.take(width), expected);
                        assert_eq!((cursor.byte(), cursor.bit()), (u64::from(at + 1 + width), 0));
                        assert_eq!(cursor.truncated, !whole);
                        cursor.set(at, 3);
                        assert_eq!(cursor.take_le(width), reversed);
                        cursor.set(at, 3);
                        assert_eq!(cursor.reaches(width), whole);
                    }
                }
            }
        }
        assert_eq!(Cursor::new(&bytes[..3]).number(0, 8), bits_of(&bytes[..3], 0, 64));
        let mut cursor = Cursor::new(&bytes);
        for before in [-1, -8, i64::MIN] {
            assert_eq!((cursor.number(before, 8), cursor.window(before, 8)), (0, None));
        }
        assert!(cursor.truncated);
    }

    #[test]
    fn bits_are_read_from_any_place() {
        let bytes = bytes(20);
        for first in 0..100 {
            for count in 1..=64 {
                let mut cursor = Cursor::new(&bytes);
                cursor.set(0, first);
                assert_eq!(cursor.take_bits(count), bits_of(&bytes, first.into(), count), "{count} bits from {first}");
                assert_eq!((cursor.byte() * 8) as u32 + cursor.bit(), first + count);
                assert_eq!(cursor.truncated, first + count > 160);
            }
        }
        // A read that begins before the event is zero, even if its end is inside.
        let mut cursor = Cursor::new(&bytes);
        for at in [-1, -4, -8, -9, i64::MIN] {
            assert_eq!(cursor.bit_field(at, 4, 64), 0);
        }
    }

    #[test]
    fn texts_end_at_a_nul_or_are_cut() {
        let bytes = b"one\0two\0three";
        let mut cursor = Cursor::new(bytes);
        assert_eq!((cursor.text(0, 8), cursor.text(4, 2), cursor.text(8, 5)), (&b"one"[..], &b"tw"[..], &b"three"[..]));
        assert_eq!((cursor.text(13, 0), cursor.text(99, 0), cursor.text(-1, 0)), (&b""[..], &b""[..], &b""[..]));
        assert!(!cursor.truncated);
        assert_eq!(cursor.text(8, 6), b"three");
        assert!(cursor.truncated, "the sixth byte is missing");
        for outside in [13, 14, -1, i64::MAX] {
            let mut cursor = Cursor::new(bytes);
            assert_eq!(cursor.text(outside, 1), b"");
            assert!(cursor.truncated);
        }
        assert_eq!(Cursor::new(bytes).text(4, u64::MAX), b"two");
    }

    #[test]
    fn texts_at_the_pointer_move_it() {
        let bytes = b"one\0two\0three";
        let mut cursor = Cursor::new(bytes);
        cursor.set(0, 1);
        assert_eq!((cursor.take_text(4), cursor.byte()), (&b"ne"[..], 5));
        assert_eq!((cursor.rest(), cursor.take_string(), cursor.byte()), (&bytes[5..], &b"wo"[..], 8));
        assert_eq!((cursor.take_string(), cursor.byte()), (&b"three"[..], 14));
        assert_eq!((cursor.rest(), cursor.take_string(), cursor.byte()), (&b""[..], &b""[..], 15));
        cursor.set(7, 5);
        assert_eq!((cursor.take_whole(0), cursor.bit()), (&b""[..], 5));
        assert_eq!((cursor.take_whole(2), cursor.byte()), (&b"th"[..], 10));
        assert_eq!((cursor.take_whole(9), cursor.byte()), (&b"ree"[..], 13));
        assert!(!cursor.truncated);
        cursor.set(7, 5);
        assert_eq!((cursor.take_raw(5), cursor.byte(), cursor.truncated), (&b"three"[..], 13, false));
        cursor.set(8, 0);
        assert_eq!((cursor.take_raw(6), cursor.byte(), cursor.truncated), (&b"three"[..], 14, true));
        let mut cursor = Cursor::new(bytes);
        assert_eq!((cursor.raw(2, 3), cursor.truncated), (&b"e\0t"[..], false));
        assert_eq!((cursor.raw(-1, 3), cursor.truncated), (&b""[..], true));
    }
}
