//! Hand-written formatter of the load, the baseline for the machine.
//!
//! It prints the same as the templates of [`crate::templates`], and knows their texts and layouts at compile time. All
//! code is safe: text positions are masked to half of a fixed window, so that no store needs a bounds check.

use tfbc_vm::Event;

use crate::load::{FLAGS, OPERATIONS, Shape};

/// Size of a line that is not a dump; positions stay below half of it.
pub(crate) const WINDOW: usize = 512;
const MASK: usize = WINDOW / 2 - 1;

/// Digits of a number below 1000, and their count.
static SMALL: [[u8; 4]; 1000] = {
    let mut table = [[0; 4]; 1000];
    let mut n = 0;
    while n < 1000 {
        let (hundreds, tens, units) = (b'0' + (n / 100) as u8, b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8);
        table[n] = match n {
            0..10 => [units, 0, 0, 1],
            10..100 => [tens, units, 0, 2],
            _ => [hundreds, tens, units, 3],
        };
        n += 1;
    }
    table
};

/// Byte as a blank and two hex digits, and a byte that the next one overwrites.
pub(crate) static HEX_BYTE: [[u8; 4]; 256] = {
    let digits = b"0123456789ABCDEF";
    let mut table = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [b' ', digits[byte >> 4], digits[byte & 15], 0];
        byte += 1;
    }
    table
};

/// Names of the operations; the last byte is the length.
static OPERATION_NAMES: [[u8; 16]; 16] = {
    let mut table = [[0; 16]; 16];
    let mut i = 0;
    while i < 16 {
        let name = OPERATIONS[i].as_bytes();
        let mut at = 0;
        while at < name.len() {
            table[i][at] = name[at];
            at += 1;
        }
        table[i][15] = at as u8;
        i += 1;
    }
    table
};

/// Names of the flags set in a low and a high nibble; the last byte is the length.
static FLAG_NAMES: [[[u8; 32]; 16]; 2] = {
    let mut table = [[[0; 32]; 16]; 2];
    let mut i = 0;
    while i < 32 {
        let (half, bits) = (i / 16, i % 16);
        let (mut at, mut bit) = (0, 0);
        while bit < 4 {
            if bits >> bit & 1 == 1 {
                let name = FLAGS[half * 4 + bit].as_bytes();
                let mut from = 0;
                while from < name.len() {
                    table[half][bits][at] = name[from];
                    (at, from) = (at + 1, from + 1);
                }
                table[half][bits][at] = b' ';
                at += 1;
            }
            bit += 1;
        }
        table[half][bits][31] = at as u8;
        i += 1;
    }
    table
};

/// Text of formatted events.
#[derive(Debug, Clone, Default)]
pub struct NativeText {
    /// Initialised buffer; the text is `buf[..len]`.
    buf: Vec<u8>,
    pub(crate) len: usize,
}

impl NativeText {
    /// Creates an empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buf[..self.len]
    }

    /// Clears the text and keeps the buffer.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends a line of at most half a window.
    #[inline(always)]
    pub(crate) fn line(&mut self, put: impl FnOnce(&mut LineWindow<'_>)) {
        let mut line = self.window();
        put(&mut line);
        let n = line.at;
        self.len += n;
    }

    /// Appends a text, and bytes as pairs of hex digits with or without blanks between them.
    pub(crate) fn dump<const N: usize>(&mut self, head: &[u8; N], bytes: &[u8], n_blanks: usize) -> Option<()> {
        let mut line = self.window();
        line.literal(head);
        let at = line.at;
        let n = if n_blanks == 0 { self.pairs(bytes, at)? } else { self.spaced_pairs(bytes, at)? };
        self.len += n;
        Some(())
    }

    /// Writes bytes as pairs of hex digits after the first `at` bytes of a line, which end with a blank; returns the
    /// line's length.
    #[inline(always)]
    fn spaced_pairs(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        // Each byte includes the blank before it, so the text's last blank belongs to the first byte.
        let start = at - 1;
        let end = (start + 3 * bytes.len()).max(at);
        let room = self.room(end + 1).get_mut(start..=end)?;
        let (eights, rest) = bytes.as_chunks::<8>();
        let mut at = 0;
        for bytes in eights {
            // 25 bytes at constant offsets need one bounds check for eight bytes.
            let digits: &mut [u8; 25] = room.get_mut(at..)?.first_chunk_mut()?;
            for (i, &byte) in bytes.iter().enumerate() {
                digits[3 * i..3 * i + 4].copy_from_slice(&HEX_BYTE[usize::from(byte)]);
            }
            at += 24;
        }
        for &byte in rest {
            *room.get_mut(at..)?.first_chunk_mut()? = HEX_BYTE[usize::from(byte)];
            at += 3;
        }
        *room.last_mut()? = b'\n';
        Some(end + 1)
    }

    /// Writes bytes as pairs of hex digits without blanks.
    #[inline(always)]
    fn pairs(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let end = at + 2 * bytes.len();
        let room = self.room(end + 1).get_mut(at..=end)?;
        let (fours, rest) = bytes.as_chunks::<4>();
        let (digits, last) = room.split_at_mut_checked(8 * fours.len())?;
        for (digits, bytes) in digits.as_chunks_mut::<8>().0.iter_mut().zip(fours) {
            *digits = hex_digits::<UPPER>(u32::from_be_bytes(*bytes));
        }
        for (digits, &byte) in last.as_chunks_mut::<2>().0.iter_mut().zip(rest) {
            let [_, high, low, _] = HEX_BYTE[usize::from(byte)];
            *digits = [high, low];
        }
        *room.last_mut()? = b'\n';
        Some(end + 1)
    }

    #[inline(always)]
    fn room(&mut self, n: usize) -> &mut [u8] {
        if self.buf.len() - self.len < n {
            self.grow(n);
        }
        &mut self.buf[self.len..]
    }

    #[cold]
    fn grow(&mut self, n: usize) {
        self.buf.resize((self.len + n).next_power_of_two().max(1 << 16), 0);
    }

    pub(crate) fn window(&mut self) -> LineWindow<'_> {
        self.window_at(0)
    }

    /// Window whose first `at` bytes already contain text.
    #[inline(always)]
    pub(crate) fn window_at(&mut self, at: usize) -> LineWindow<'_> {
        let Some(window) = self.room(WINDOW).first_chunk_mut() else { unreachable!("room gives what is asked") };
        LineWindow { bytes: window, at }
    }

    /// Appends the line of one event; `None`, without output, if the event is too short.
    pub fn event(&mut self, event: &Event<'_>) -> Option<()> {
        let id = u16::from_be_bytes(*event.bytes.get(4..)?.first_chunk()?);
        self.body(id, event.bytes, 0)
    }

    /// Appends the text of an event after the columns of its line, which take `at` bytes.
    #[inline(always)]
    pub(crate) fn body(&mut self, id: u16, bytes: &[u8], at: usize) -> Option<()> {
        let data = bytes.get(8..)?;
        let n = match Shape::of_id(id) {
            Shape::DiskRead => disk_read(data, self.window_at(at))?,
            Shape::Ioctl => ioctl(data, self.window_at(at))?,
            Shape::Wakeup => wakeup(data, self.window_at(at))?,
            Shape::Dump => dump(bytes, self, at)?,
        };
        self.len += n;
        Some(())
    }
}

/// A line while it is written.
pub(crate) struct LineWindow<'w> {
    bytes: &'w mut [u8; WINDOW],
    pub(crate) at: usize,
}

impl LineWindow<'_> {
    /// Stores `N` bytes, of which the first `len` are text.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        const { assert!(N <= WINDOW / 2) };
        let at = self.at & MASK;
        self.bytes[at..at + N].copy_from_slice(bytes);
        self.at = at + len;
    }

    #[inline(always)]
    pub(crate) fn literal<const N: usize>(&mut self, text: &[u8; N]) {
        self.put(text, N);
    }

    #[inline(always)]
    pub(crate) fn hex(&mut self, value: u32) {
        self.put(&hex_digits::<UPPER>(value), 8);
    }

    /// Appends the names of the eight low flags.
    #[inline(always)]
    pub(crate) fn flags(&mut self, flags: usize) {
        for (half, names) in FLAG_NAMES.iter().enumerate() {
            let names = &names[flags >> (4 * half) & 15];
            self.put(names, usize::from(names[31]));
        }
    }

    #[inline(always)]
    pub(crate) fn decimal(&mut self, value: u32) {
        if let Some(small) = SMALL.get(value as usize) {
            return self.put(small, usize::from(small[3]));
        }
        if value >= 100_000_000 {
            let high = SMALL[(value / 100_000_000) as usize];
            self.put(&high, usize::from(high[3]));
            return self.put(&(eight_digits(value % 100_000_000) | ASCII_ZEROS).to_le_bytes(), 8);
        }
        let digits = eight_digits(value);
        let leading_zeros = digits.trailing_zeros() & !7;
        self.put(&((digits | ASCII_ZEROS) >> leading_zeros).to_le_bytes(), 8 - leading_zeros as usize / 8);
    }
}

pub(crate) const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;

/// Distance from `:`, which follows `9`, to `A`.
const UPPER: u64 = 7;
/// Distance from `:` to `a`.
pub(crate) const LOWER: u64 = 39;

/// Hex digits of a number, computed for all eight digits at once.
#[inline(always)]
pub(crate) fn hex_digits<const LETTERS: u64>(value: u32) -> [u8; 8] {
    let x = u64::from(value.swap_bytes());
    let x = (x | x << 16) & 0x0000_FFFF_0000_FFFF;
    let x = (x | x << 8) & 0x00FF_00FF_00FF_00FF;
    let nibbles = x >> 4 & 0x000F_000F_000F_000F | (x & 0x000F_000F_000F_000F) << 8;
    let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (nibbles + ASCII_ZEROS + letters * LETTERS).to_le_bytes()
}

/// Decimal digits of a number below 10^8, one per byte, the first in the lowest byte.
#[inline(always)]
fn eight_digits(value: u32) -> u64 {
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = (fours * 10_486) >> 20 & 0x0000_007F_0000_007F;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = (twos * 103) >> 10 & 0x000F_000F_000F_000F;
    tens | (twos - tens * 10) << 8
}

/// Low half of a data word.
#[inline(always)]
fn low_half(data: &[u8; 24], word: usize) -> u32 {
    let [.., a, b, c, d] = data.as_chunks::<8>().0[word];
    u32::from_be_bytes([a, b, c, d])
}

#[inline(always)]
fn disk_read(data: &[u8], mut line: LineWindow<'_>) -> Option<usize> {
    let data: &[u8; 24] = data.first_chunk()?;
    line.literal(b"DISK READ dev=");
    line.hex(low_half(data, 0));
    line.literal(b" blk=");
    line.hex(low_half(data, 1));
    line.literal(b" cnt=");
    line.hex(low_half(data, 2));
    line.literal(b"\n");
    Some(line.at)
}

#[inline(always)]
fn ioctl(data: &[u8], mut line: LineWindow<'_>) -> Option<usize> {
    let data: &[u8; 24] = data.first_chunk()?;
    line.literal(b"IOCTL flags=");
    line.flags(low_half(data, 0) as usize);
    line.literal(b"op=");
    let [_, operation, _] = *data.as_chunks::<8>().0 else { return None };
    if let Some(name) = OPERATION_NAMES.get(u64::from_be_bytes(operation) as usize) {
        line.put(name, usize::from(name[15]));
    }
    line.literal(b" val=");
    line.decimal(low_half(data, 2));
    line.literal(b"\n");
    Some(line.at)
}

#[inline(always)]
fn wakeup(data: &[u8], mut line: LineWindow<'_>) -> Option<usize> {
    let (numbers, name): (&[u8; 24], &[u8; 16]) = (data.first_chunk()?, data.get(16..)?.first_chunk()?);
    line.literal(b"WAKEUP comm=");
    let (name, len) = printable(name);
    line.put(&name, len);
    line.literal(b" pid=");
    line.decimal(low_half(numbers, 0));
    line.literal(b" prio=");
    line.decimal(low_half(numbers, 1));
    line.literal(b"\n");
    Some(line.at)
}

/// Text up to its NUL, with `.` for unprintable bytes.
#[inline(always)]
fn printable(text: &[u8; 16]) -> ([u8; 16], usize) {
    let [(zeros, odd), (more_zeros, more_odd)] = [0, 1].map(|half| nul_and_odd(text.as_chunks::<8>().0[half]));
    if odd | more_odd != 0 {
        return printable_slowly(text);
    }
    let len = if zeros != 0 { zeros.trailing_zeros() / 8 } else { 8 + more_zeros.trailing_zeros() / 8 };
    (*text, len as usize)
}

/// Bit masks with the high bit of every NUL byte, and of every other unprintable byte.
#[inline(always)]
fn nul_and_odd(bytes: [u8; 8]) -> (u64, u64) {
    const EACH: u64 = u64::MAX / 255;
    let bytes = u64::from_le_bytes(bytes);
    let low = bytes & (EACH * 0x7F);
    let not_nul = (low + EACH * 0x7F) | bytes;
    let odd = not_nul & !(low + EACH * 0x60) | (low + EACH) | bytes;
    (!not_nul & EACH << 7, odd & EACH << 7)
}

#[cold]
fn printable_slowly(text: &[u8; 16]) -> ([u8; 16], usize) {
    let len = text.iter().position(|&byte| byte == 0).unwrap_or(16);
    (text.map(|byte| if matches!(byte, 0x20..=0x7E) { byte } else { b'.' }), len)
}

#[inline(always)]
fn dump(bytes: &[u8], text: &mut NativeText, at: usize) -> Option<usize> {
    let len = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let (word, shown) = (bytes.get(12..)?.first_chunk()?, bytes.get(16..)?.get(..usize::from(len))?);
    let mut line = text.window_at(at);
    line.literal(b"DUMP len=");
    line.decimal(u32::from_be_bytes(*word));
    line.literal(b" data= ");
    let at = line.at;
    text.spaced_pairs(shown, at)
}
