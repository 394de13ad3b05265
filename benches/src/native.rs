//! Hand-written formatter of the load, the baseline for the machine.
//!
//! It prints the same as the templates of [`crate::templates`], and knows their texts and layouts at compile time. It is
//! the fastest that we can write: stores through pointers without bounds checks, texts of up to 16 bytes by one store,
//! flags and names as rows of tables, hex digits by SSE2 and dumps by SSSE3 where the processor has them.
#![expect(unsafe_code, reason = "the limit that the machine is compared with has no bounds checks")]

use std::marker::PhantomData;

use tfbc_vm::Event;

use crate::load::{FLAGS, OPERATIONS};
#[cfg(target_arch = "x86_64")]
use crate::native_sse as sse;

/// Room for a line that is not a dump: its longest text, and the bytes that the last store adds.
pub(crate) const WINDOW: usize = 512;

/// Room for the texts of any event of this many bytes.
const fn room_for(event_bytes: usize) -> usize {
    WINDOW + 3 * event_bytes
}

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

    /// Bytes of the text.
    #[inline(always)]
    pub fn n_bytes(&self) -> usize {
        self.len
    }

    /// Clears the text and keeps the buffer.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends a line.
    ///
    /// # Safety
    /// `put` stores at most [`WINDOW`] bytes.
    #[inline(always)]
    pub(crate) unsafe fn line(&mut self, put: impl FnOnce(&mut LineWindow<'_>)) {
        // SAFETY: as the caller says.
        let mut line = unsafe { self.window(WINDOW) };
        put(&mut line);
        let n = line.n_bytes();
        self.len += n;
    }

    /// Appends a text, and bytes as pairs of hex digits with or without blanks between them.
    #[inline(always)]
    pub(crate) fn dump<const N: usize>(&mut self, head: &[u8; N], bytes: &[u8], n_blanks: usize) -> Option<()> {
        const { assert!(N <= 16) };
        // SAFETY: the head takes at most 16 bytes, and each byte three.
        let mut line = unsafe { self.window(room_for(bytes.len())) };
        line.literal(head);
        if n_blanks == 0 {
            line.pairs(bytes)
        } else {
            line.spaced_pairs(bytes)
        }
        line.literal(b"\n");
        let n = line.n_bytes();
        self.len += n;
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, n: usize) {
        self.buf.resize((self.len + n).next_power_of_two().max(1 << 16), 0);
    }

    /// Place for the next line.
    ///
    /// # Safety
    /// The stores of the line end at most `n` bytes after its beginning.
    #[inline(always)]
    pub(crate) unsafe fn window(&mut self, n: usize) -> LineWindow<'_> {
        if self.buf.len() - self.len < n {
            self.grow(n);
        }
        // SAFETY: `len` is at most the length of the buffer.
        let start = unsafe { self.buf.as_mut_ptr().add(self.len) };
        LineWindow { start, at: start, text: PhantomData }
    }

    /// Appends the line of one event; `None`, without output, if the event is too short.
    #[inline(always)]
    pub fn event(&mut self, event: &Event<'_>) -> Option<()> {
        let id = u16::from_be_bytes(*event.bytes.get(4..)?.first_chunk()?);
        // SAFETY: a body fits into this room.
        let mut line = unsafe { self.window(room_for(event.bytes.len())) };
        line.body(id, event.bytes)?;
        let n = line.n_bytes();
        self.len += n;
        Some(())
    }
}

/// A line while it is written, without bounds checks: whoever creates it gives enough room for all that it stores.
pub(crate) struct LineWindow<'t> {
    start: *mut u8,
    at: *mut u8,
    text: PhantomData<&'t mut [u8]>,
}

/// Mark in a text.
pub(crate) struct LineEnd(*mut u8);

impl LineWindow<'_> {
    /// Bytes of text.
    #[inline(always)]
    pub(crate) fn n_bytes(&self) -> usize {
        self.at.addr() - self.start.addr()
    }

    /// The text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: the buffer is initialised, and the text is in it.
        unsafe { std::slice::from_raw_parts(self.start, self.n_bytes()) }
    }

    /// Clears the text.
    pub(crate) fn clear(&mut self) {
        self.at = self.start;
    }

    /// Copy of the line for a function that returns it. A pointer to it would keep it in memory all the time.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> Self {
        LineWindow { start: self.start, at: self.at, text: PhantomData }
    }

    /// The end of the text.
    #[inline(always)]
    pub(crate) fn mark(&self) -> LineEnd {
        LineEnd(self.at)
    }

    /// Takes back what follows a mark of the same text.
    #[inline(always)]
    pub(crate) fn return_to(&mut self, mark: LineEnd) {
        self.at = mark.0;
    }

    /// Replaces the last byte.
    #[inline(always)]
    pub(crate) fn rewrite_last(&mut self, byte: u8) {
        // SAFETY: the caller has appended it.
        unsafe { self.at.sub(1).write(byte) };
    }

    /// Stores `N` bytes, of which the first `len` are text.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        self.overwrite(0, bytes);
        self.skip(len);
    }

    /// Stores bytes some places after the end of the text, which stays where it is.
    #[inline(always)]
    pub(crate) fn overwrite<const N: usize>(&mut self, place: usize, bytes: &[u8; N]) {
        // SAFETY: the line's creator gave room for it.
        unsafe { self.at.add(place).cast::<[u8; N]>().write_unaligned(*bytes) };
    }

    /// Takes stored bytes as text.
    #[inline(always)]
    pub(crate) fn skip(&mut self, n: usize) {
        // SAFETY: the line's creator gave room for it.
        self.at = unsafe { self.at.add(n) };
    }

    /// Appends a text by one store of 1, 4, 8 or 16 bytes, or a longer one as it is.
    #[inline(always)]
    pub(crate) fn literal<const N: usize>(&mut self, text: &[u8; N]) {
        if matches!(N, 0 | 1 | 4 | 8 | 16..) {
            return self.put(text, N);
        }
        // A constant for the compiler; a copy into padding goes through memory.
        let mut wide = 0;
        let mut i = 0;
        while i < N {
            wide |= u128::from(text[i]) << (8 * i);
            i += 1;
        }
        match N {
            2 | 3 => self.put(&(wide as u32).to_le_bytes(), N),
            5..8 => self.put(&(wide as u64).to_le_bytes(), N),
            _ => self.put(&wide.to_le_bytes(), N),
        }
    }

    #[inline(always)]
    pub(crate) fn hex(&mut self, value: u32) {
        self.literal(&hex_digits::<UPPER>(value));
    }

    /// Appends 16 hex digits.
    #[inline(always)]
    pub(crate) fn hex_long(&mut self, value: u64) {
        #[cfg(target_arch = "x86_64")]
        self.literal(&sse::hex::<UPPER>(value.swap_bytes()));
        #[cfg(not(target_arch = "x86_64"))]
        [(value >> 32) as u32, value as u32].into_iter().for_each(|half| self.hex(half));
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

    /// Appends bytes as pairs of hex digits with blanks between them.
    #[inline(always)]
    fn spaced_pairs(&mut self, bytes: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the line's creator gave room for it.
        let (n, digits) = unsafe { sse::spaced_pairs(bytes, self.at) };
        #[cfg(not(target_arch = "x86_64"))]
        let (n, digits) = (0, 0);
        self.skip(digits);
        for byte in &bytes[n..] {
            self.put(&SPACED[usize::from(*byte)], 3);
        }
        // The last blank is no text.
        if !bytes.is_empty() {
            // SAFETY: the text has at least three bytes.
            self.at = unsafe { self.at.sub(1) };
        }
    }

    /// Appends bytes as pairs of hex digits without blanks.
    #[inline(always)]
    fn pairs(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        for bytes in eights {
            self.hex_long(u64::from_be_bytes(*bytes));
        }
        for byte in rest {
            self.put(&SPACED[usize::from(*byte)], 2);
        }
    }

    /// Appends the text of an event after the columns of its line. The line has room for three times the event's bytes
    /// and a [`WINDOW`].
    #[inline(always)]
    pub(crate) fn body(&mut self, id: u16, bytes: &[u8]) -> Option<()> {
        // `Shape::of_id` compiles to a table before the jump.
        match id >> 4 & 3 {
            0 => disk_read(bytes.first_chunk()?, self),
            1 => ioctl(bytes.first_chunk()?, self),
            2 => wakeup(bytes.first_chunk()?, self),
            _ => dump(bytes, self)?,
        }
        self.literal(b"\n");
        Some(())
    }
}

/// Byte as two hex digits and a blank, and a byte that the next one overwrites.
static SPACED: [[u8; 4]; 256] = {
    let digits = b"0123456789ABCDEF";
    let mut table = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [digits[byte >> 4], digits[byte & 15], b' ', 0];
        byte += 1;
    }
    table
};

pub(crate) const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;

/// Distance from `:`, which follows `9`, to `A`.
const UPPER: u64 = 7;
/// Distance from `:` to `a`.
pub(crate) const LOWER: u64 = 39;

/// Hex digits of a number.
#[inline(always)]
pub(crate) fn hex_digits<const LETTERS: u64>(value: u32) -> [u8; 8] {
    #[cfg(target_arch = "x86_64")]
    return sse::hex_half::<LETTERS>(value.swap_bytes());
    #[cfg(not(target_arch = "x86_64"))]
    {
        let x = u64::from(value.swap_bytes());
        let x = (x | x << 16) & 0x0000_FFFF_0000_FFFF;
        let x = (x | x << 8) & 0x00FF_00FF_00FF_00FF;
        let nibbles = x >> 4 & 0x000F_000F_000F_000F | (x & 0x000F_000F_000F_000F) << 8;
        let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        (nibbles + ASCII_ZEROS + letters * LETTERS).to_le_bytes()
    }
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

/// Low half of a word of an event.
#[inline(always)]
fn low_half<const N: usize>(event: &[u8; N], word: usize) -> u32 {
    let [.., a, b, c, d] = event.as_chunks::<8>().0[word];
    u32::from_be_bytes([a, b, c, d])
}

#[inline(always)]
fn disk_read(event: &[u8; 32], line: &mut LineWindow<'_>) {
    #[cfg(target_arch = "x86_64")]
    let [device, block, count] = sse::three_halves(event);
    #[cfg(not(target_arch = "x86_64"))]
    let [device, block, count] = [1, 2, 3].map(|word| hex_digits::<UPPER>(low_half(event, word)));
    line.literal(b"DISK READ dev=");
    line.literal(&device);
    line.literal(b" blk=");
    line.literal(&block);
    line.literal(b" cnt=");
    line.literal(&count);
}

#[inline(always)]
fn ioctl(event: &[u8; 32], line: &mut LineWindow<'_>) {
    line.literal(b"IOCTL flags=");
    line.flags(low_half(event, 1) as usize);
    line.literal(b"op=");
    if let Some(name) = OPERATION_NAMES.get(u64::from_be_bytes(event.as_chunks::<8>().0[2]) as usize) {
        line.put(name, usize::from(name[15]));
    }
    line.literal(b" val=");
    line.decimal(low_half(event, 3));
}

#[inline(always)]
fn wakeup(event: &[u8; 40], line: &mut LineWindow<'_>) {
    line.literal(b"WAKEUP comm=");
    let Some(name) = event.last_chunk() else { unreachable!("the event is longer") };
    let (end, has_odd) = end_and_odd(name);
    if has_odd {
        let (name, len) = printable_slowly(name);
        line.put(&name, len);
    } else {
        line.put(name, end);
    }
    line.literal(b" pid=");
    line.decimal(low_half(event, 1));
    line.literal(b" prio=");
    line.decimal(low_half(event, 2));
}

/// Bytes of a text before its NUL, and true if an unprintable byte is among them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn end_and_odd(text: &[u8; 16]) -> (usize, bool) {
    let (nul, odd) = sse::nul_and_odd(text);
    // Bit 16 is the end of a text without NUL.
    let nul = nul | 0x1_0000;
    (nul.trailing_zeros() as usize, odd & (nul ^ (nul - 1)) >> 1 != 0)
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn end_and_odd(text: &[u8; 16]) -> (usize, bool) {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(16);
    (end, text[..end].iter().any(|byte| !matches!(byte, 0x20..=0x7E)))
}

#[cold]
fn printable_slowly(text: &[u8; 16]) -> ([u8; 16], usize) {
    let len = text.iter().position(|&byte| byte == 0).unwrap_or(16);
    (text.map(|byte| if matches!(byte, 0x20..=0x7E) { byte } else { b'.' }), len)
}

#[inline(always)]
fn dump(bytes: &[u8], line: &mut LineWindow<'_>) -> Option<()> {
    let head: &[u8; 16] = bytes.first_chunk()?;
    let len = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let shown = bytes.get(16..)?.get(..usize::from(len))?;
    line.literal(b"DUMP len=");
    line.decimal(low_half(head, 1));
    line.literal(b" data= ");
    line.spaced_pairs(shown);
    Some(())
}
