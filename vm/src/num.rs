//! Formatting of numbers into a buffer that the caller knows to be long enough, without allocation and, where possible,
//! without branches on the number of digits.
//!
//! Every function takes the buffer and an offset, and returns the offset after its output. If the buffer is too short,
//! the output is lost; functions never panic. `TextBuf::SLACK` is enough for every function here.

use crate::mem::ROOM;

/// Decimal digits of 0 to 999, left-aligned; the last byte is their number. Words, so that an entry is loaded at once.
static SMALL: [u32; 1000] = small();

const fn small() -> [u32; 1000] {
    let mut table = [0; 1000];
    let mut n = 0;
    while n < 1000 {
        let (a, b, c) = ((n / 100) as u8 + b'0', (n / 10 % 10) as u8 + b'0', (n % 10) as u8 + b'0');
        table[n] = u32::from_le_bytes(match n {
            0..10 => [c, 0, 0, 1],
            10..100 => [b, c, 0, 2],
            _ => [a, b, c, 3],
        });
        n += 1;
    }
    table
}

/// Decimal digits of 0 to 999 with leading zeros; the last byte is unused.
static THREE: [[u8; 4]; 1000] = three_digits(0);

/// A point and the decimal digits of 0 to 999.
static POINT: [[u8; 4]; 1000] = three_digits(1);

/// Three digits from a place on; the other byte is a point.
const fn three_digits(at: usize) -> [[u8; 4]; 1000] {
    let mut table = [[b'.'; 4]; 1000];
    let mut n = 0;
    while n < 1000 {
        table[n][at] = b'0' + (n / 100) as u8;
        table[n][at + 1] = b'0' + (n / 10 % 10) as u8;
        table[n][at + 2] = b'0' + (n % 10) as u8;
        n += 1;
    }
    table
}

/// Stores a fixed number of bytes, which compiles to one or two store instructions.
#[inline(always)]
pub(crate) fn store<const N: usize>(buf: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(room) = buf.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<N>()) {
        *room = bytes;
    }
}

/// Stores a slice.
#[inline]
pub(crate) fn store_slice(buf: &mut [u8], at: usize, bytes: &[u8]) -> usize {
    if let Some(room) = buf.get_mut(at..at + bytes.len()) {
        room.copy_from_slice(bytes);
    }
    at + bytes.len()
}

/// Eight decimal digits of a number below 10^8, one per byte, the first in the low byte.
#[inline(always)]
fn digits8(n: u32) -> u64 {
    let (high, low) = ((n / 10_000) as u64, (n % 10_000) as u64);
    let quads = high | low << 32;
    // Splits both halves at once, by 100 and then by 10. The multiplications are exact below 10^4 and 10^2.
    let hundreds = ((quads * 5243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (quads - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - tens * 10) << 8
}

/// Prints exactly eight digits.
#[inline(always)]
fn put8(buf: &mut [u8], at: usize, n: u32) -> usize {
    let (high, low) = (n / 1000, n % 1000);
    let [_, tens, ones, _] = THREE.get((high / 1000) as usize).copied().unwrap_or_default();
    store(buf, at, [tens, ones]);
    let at = put_three(buf, at + 2, high % 1000);
    put_three(buf, at, low)
}

/// Prints exactly sixteen digits: eight per number.
#[inline(always)]
fn put16(buf: &mut [u8], at: usize, high: u32, low: u32) -> usize {
    #[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
    store(buf, at, crate::sse::digits16(high, low));
    #[cfg(not(all(target_arch = "x86_64", not(feature = "safe"))))]
    for (n, eight) in [high, low].into_iter().enumerate() {
        put8(buf, at + 8 * n, eight);
    }
    at + 16
}

/// Prints a number below 10^8 without leading zeros.
#[inline(always)]
fn put_short(buf: &mut [u8], at: usize, n: u32) -> usize {
    if n < 1000 {
        return put_first(buf, at, n);
    }
    // Groups of three digits come from tables. A loop over single digits mispredicts its end; avoiding that gained more
    // than any change to the dispatch.
    let (thousands, rest) = (n / 1000, n % 1000);
    let at = if thousands < 1000 {
        put_first(buf, at, thousands)
    } else {
        let at = put_first(buf, at, thousands / 1000);
        put_three(buf, at, thousands % 1000)
    };
    put_three(buf, at, rest)
}

/// Prints a number below 1000 without leading zeros.
#[inline(always)]
fn put_first(buf: &mut [u8], at: usize, n: u32) -> usize {
    let digits = SMALL.get(n as usize).copied().unwrap_or_default();
    store(buf, at, digits.to_le_bytes());
    at + (digits >> 24 & 3) as usize
}

/// Prints exactly three digits.
#[inline(always)]
fn put_three(buf: &mut [u8], at: usize, n: u32) -> usize {
    store(buf, at, THREE.get(n as usize).copied().unwrap_or_default());
    at + 3
}

/// Smallest number with seven digits.
pub(crate) const MILLION: u64 = 1_000_000;

/// Prints a number below [`MILLION`] as unsigned decimal.
#[inline(always)]
pub(crate) fn dec_below_million(buf: &mut [u8], at: usize, n: u32) -> usize {
    if n < 1000 {
        return put_first(buf, at, n);
    }
    let at = put_first(buf, at, n / 1000);
    put_three(buf, at, n % 1000)
}

/// Prints a number below [`LONG`] as unsigned decimal.
#[inline(always)]
pub(crate) fn dec_short(buf: &mut [u8], at: usize, n: u64) -> usize {
    put_short(buf, at, n as u32)
}

/// Smallest number that is too long for the fast path.
pub(crate) const LONG: u64 = 100_000_000;

/// Prints unsigned decimal.
///
/// ```
/// let mut buf = [0; 32];
/// let end = tfbc_vm::num::dec(&mut buf, 0, 4_294_967_296);
/// assert_eq!(&buf[..end], b"4294967296");
/// ```
#[inline(always)]
pub fn dec(buf: &mut [u8], at: usize, n: u64) -> usize {
    if n < LONG { put_short(buf, at, n as u32) } else { dec_slow(buf, at, n) }
}

#[inline(never)]
fn dec_slow(buf: &mut [u8], at: usize, n: u64) -> usize {
    // In a room of fixed size, the compiler proves that all digits fit. It does not see that there are at most 20.
    match buf.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<32>()) {
        Some(room) => at + dec_long(room, 0, n),
        None => dec_long(buf, at, n),
    }
}

/// Prints a number from [`LONG`] on as unsigned decimal.
#[inline(always)]
pub(crate) fn dec_long(buf: &mut [u8], at: usize, n: u64) -> usize {
    const E8: u64 = LONG;
    // A number of 32 bits has at most two digits before the last eight.
    if let Ok(n) = u32::try_from(n) {
        let at = put_first(buf, at, n / E8 as u32);
        return put8(buf, at, n % E8 as u32);
    }
    if n < E8 * E8 {
        let at = put_short(buf, at, (n / E8) as u32);
        return put8(buf, at, (n % E8) as u32);
    }
    let (first, rest) = (n / (E8 * E8), n % (E8 * E8));
    let at = put_short(buf, at, first as u32);
    put16(buf, at, (rest / E8) as u32, (rest % E8) as u32)
}

/// Prints unsigned decimal of up to 32 bits, without a call.
#[inline(always)]
pub fn dec32(buf: &mut [u8], at: usize, n: u32) -> usize {
    const E8: u32 = LONG as u32;
    if n < E8 {
        return put_short(buf, at, n);
    }
    let at = put_first(buf, at, n / E8);
    put8(buf, at, n % E8)
}

/// Prints unsigned decimal from 10^8 on in quotes. It is fast for addresses of AIX kernels, which have 20 digits.
///
/// ```
/// let mut buf = [0; 32];
/// let end = tfbc_vm::num::quoted(&mut buf, 0xF1000A05_08E52350);
/// assert_eq!(&buf[..end], b"\"17365891179880981328\"");
/// ```
#[inline(always)]
pub fn quoted(text: &mut [u8; 32], n: u64) -> usize {
    const E16: u64 = LONG * LONG;
    let (first, rest) = (n / E16, n % E16);
    text[0] = b'"';
    let end = if first >= 1000 {
        // No number is above 1844 * 10^16.
        text[1] = b'1';
        put_three(text, 2, first as u32 - 1000);
        put16(text, 5, (rest / LONG) as u32, (rest % LONG) as u32)
    } else {
        dec_slow(text, 1, n)
    };
    store(text, end, [b'"']);
    end + 1
}

/// Prints a 64-bit two's complement number as signed decimal.
#[inline(always)]
pub fn int(buf: &mut [u8], at: usize, n: u64) -> usize {
    if (n as i64) < 0 {
        store(buf, at, [b'-']);
        return dec(buf, at + 1, (n as i64).unsigned_abs());
    }
    dec(buf, at, n)
}

/// Prints exactly `DIGITS` decimal digits with leading zeros; `n` must be below 10^DIGITS.
#[inline]
pub fn dec_padded<const DIGITS: usize>(buf: &mut [u8], at: usize, n: u64) -> usize {
    let mut text = [b'0'; DIGITS];
    let mut rest = n;
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    store(buf, at, text);
    at + DIGITS
}

/// Prints a fixed-point number, right-aligned with blanks: `units` with a point before the last `DECIMALS` digits.
/// Returns false if no blank would be left before it, or if it has more than eight digits before the point. `DECIMALS`
/// is 3, 6 or 9; `WIDTH` is at most 9 more.
///
/// ```
/// let mut text = [0; 14];
/// assert!(tfbc_vm::num::fixed::<14, 9>(&mut text, 1_000_105_984));
/// assert_eq!(&text, b"   1.000105984");
/// assert!(!tfbc_vm::num::fixed::<14, 9>(&mut text, 1_000_000_000_000));
/// ```
#[inline(always)]
pub fn fixed<const WIDTH: usize, const DECIMALS: usize>(text: &mut [u8; WIDTH], units: u64) -> bool {
    const { assert!(DECIMALS <= 9 && DECIMALS.is_multiple_of(3) && WIDTH > DECIMALS + 3 && WIDTH <= DECIMALS + 9) };
    let scale = const { 10u64.pow(DECIMALS as u32) };
    let (whole, fraction) = (units / scale, (units % scale) as u32);
    let point = WIDTH - DECIMALS - 1;
    if let Some(digits) = RIGHT.get(whole as usize).filter(|_| point > 3 || whole < 100) {
        text[..point].fill(b' ');
        if let Some(four) = text[..point].last_chunk_mut() {
            *four = *digits;
        } else {
            text[point - 3..point].copy_from_slice(&digits[1..]);
        }
    } else if whole < const { 10u64.pow((WIDTH - DECIMALS - 2) as u32) } {
        text[..point].copy_from_slice(&right_aligned(whole as u32)[8 - point..]);
    } else {
        return false;
    }
    put_fraction::<DECIMALS>(text, point, fraction);
    true
}

/// Prints a fixed-point number: `units` with a point before the last `DECIMALS` digits, which are 3, 6 or 9.
///
/// ```
/// let mut buf = [0; 32];
/// let end = tfbc_vm::num::decimal::<9>(&mut buf, 0, 1_000_105_984);
/// assert_eq!(&buf[..end], b"1.000105984");
/// ```
#[inline(always)]
pub fn decimal<const DECIMALS: usize>(buf: &mut [u8], at: usize, units: u64) -> usize {
    const { assert!(DECIMALS <= 9 && DECIMALS.is_multiple_of(3)) };
    let scale = const { 10u64.pow(DECIMALS as u32) };
    let point = dec(buf, at, units / scale);
    put_fraction::<DECIMALS>(buf, point, (units % scale) as u32);
    point + 1 + DECIMALS
}

/// Prints a point and the digits of a fraction.
#[inline(always)]
fn put_fraction<const DECIMALS: usize>(buf: &mut [u8], point: usize, fraction: u32) {
    // From the end: each store of three digits begins with a point, which the previous three digits overwrite.
    let mut rest = fraction;
    for three in (0..DECIMALS / 3).rev() {
        if let Some(digits) = POINT.get((rest % 1000) as usize) {
            store(buf, point + 3 * three, *digits);
        }
        rest /= 1000;
    }
}

/// Prints a point and the last six digits of a number.
///
/// ```
/// let mut text = [0; 7];
/// tfbc_vm::num::point6(&mut text, 105_984);
/// assert_eq!(&text, b".105984");
/// ```
#[inline(always)]
pub fn point6(text: &mut [u8; 7], n: u32) {
    put_fraction::<6>(text, 0, n);
}

/// Writes the last six digits of a number, and one more byte that is overwritten later.
///
/// ```
/// let mut text = [0; 7];
/// tfbc_vm::num::six(&mut text, 105_984);
/// assert_eq!(&text[..6], b"105984");
/// ```
#[inline(always)]
pub fn six(text: &mut [u8; 7], n: u32) {
    put_three(text, 0, n / 1000 % 1000);
    put_three(text, 3, n % 1000);
}

/// Writes a number below 10^8, and up to three more bytes that are overwritten later. Returns the length.
#[inline]
pub fn decimal_short(text: &mut [u8], n: u64) -> usize {
    put_short(text, 0, n as u32)
}

/// Eight characters with a number below 10^8, right-aligned.
///
/// ```
/// assert_eq!(&tfbc_vm::num::right_aligned(1024), b"    1024");
/// ```
#[inline(always)]
pub fn right_aligned(n: u32) -> [u8; 8] {
    let digits = digits8(n);
    // Leading zeros are the low bytes. At least one digit stays, so 0 is printed.
    let blanks = (1 << (digits.trailing_zeros() & !7).min(56)) - 1;
    ((digits | ASCII_ZEROS) ^ (ASCII_ZEROS ^ BLANKS) & blanks).to_le_bytes()
}

/// Decimal digits of 0 to 999, right-aligned with blanks.
static RIGHT: [[u8; 4]; 1000] = right();

const fn right() -> [[u8; 4]; 1000] {
    let mut table = [[b' '; 4]; 1000];
    let mut n = 0;
    while n < 1000 {
        let (mut rest, mut at) = (n, 3);
        loop {
            table[n][at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
            at -= 1;
        }
        n += 1;
    }
    table
}

const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;
const BLANKS: u64 = 0x2020_2020_2020_2020;

/// Distance from `:`, the character after `9`, to `A`.
const UPPER: u64 = 7;
/// Distance from `:` to `a`.
const LOWER: u64 = 39;

/// Eight hex digits of a number.
#[inline(always)]
fn hex8<const LETTERS: u64>(n: u32) -> [u8; 8] {
    #[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
    return bytemuck::cast::<_, [[u8; 8]; 2]>(crate::sse::hex::<LETTERS>(n.swap_bytes().into()))[0];
    #[cfg(not(all(target_arch = "x86_64", not(feature = "safe"))))]
    hex8_by_words::<LETTERS>(n)
}

/// Sixteen hex digits of a number.
#[inline(always)]
fn hex16<const LETTERS: u64>(n: u64) -> [u8; 16] {
    #[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
    return crate::sse::hex::<LETTERS>(n.swap_bytes());
    #[cfg(not(all(target_arch = "x86_64", not(feature = "safe"))))]
    bytemuck::cast([hex8_by_words::<LETTERS>((n >> 32) as u32), hex8_by_words::<LETTERS>(n as u32)])
}

/// Eight hex digits of a number, computed in parallel in one word.
#[cfg(any(test, feature = "safe", not(target_arch = "x86_64")))]
#[inline(always)]
fn hex8_by_words<const LETTERS: u64>(n: u32) -> [u8; 8] {
    let spread = n.swap_bytes() as u64;
    let spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let nibbles = ((spread >> 4) & 0x000f_000f_000f_000f) | ((spread & 0x000f_000f_000f_000f) << 8);
    let letters = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    (nibbles + 0x3030_3030_3030_3030 + letters * LETTERS).to_le_bytes()
}

/// Four hex digits of a number, upper case.
///
/// ```
/// assert_eq!(&tfbc_vm::num::hex4(0x1a0), b"01A0");
/// ```
#[inline(always)]
pub fn hex4(n: u16) -> [u8; 4] {
    let [a, b, c, d, ..] = hex8::<UPPER>(u32::from(n) << 16);
    [a, b, c, d]
}

/// Prints the low `digits` hex digits of a number, upper case; more than 16 are zero-extended.
#[inline(always)]
pub fn hex(buf: &mut [u8], at: usize, n: u64, digits: usize) -> usize {
    hex_digits::<UPPER>(buf, at, n, digits)
}

/// Stores sixteen hex digits of the bytes, upper case, of which the first `digits` count.
#[inline(always)]
pub(crate) fn hex_first(buf: &mut [u8], at: usize, bytes: [u8; 8], digits: usize) -> usize {
    store(buf, at, hex16::<UPPER>(u64::from_be_bytes(bytes)));
    at + digits
}

/// Eight upper-case hex digits for each of up to four words, lowest byte first.
#[inline(always)]
#[cfg(not(feature = "safe"))]
pub(crate) fn hex_words<const N: usize>(words: [u32; N]) -> [[u8; 8]; N] {
    #[cfg(target_arch = "x86_64")]
    return crate::sse::hex_words::<UPPER, N>(words);
    #[cfg(not(target_arch = "x86_64"))]
    words.map(|word| hex8::<UPPER>(word.swap_bytes()))
}

/// Stores sixteen hex digits of the bytes, lower case, of which the first `digits` count.
#[inline(always)]
pub(crate) fn hex_low_first(buf: &mut [u8], at: usize, bytes: [u8; 8], digits: usize) -> usize {
    store(buf, at, hex16::<LOWER>(u64::from_be_bytes(bytes)));
    at + digits
}

/// Prints the low `digits` hex digits of a number, lower case; more than 16 are zero-extended.
#[inline(always)]
pub fn hex_low(buf: &mut [u8], at: usize, n: u64, digits: usize) -> usize {
    hex_digits::<LOWER>(buf, at, n, digits)
}

/// Lower-case hex digits of 0 to 255, left-aligned; the last byte is their number.
static SMALL_HEX: [u32; 256] = small_hex();

const fn small_hex() -> [u32; 256] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let (high, low) = (DIGITS[n >> 4], DIGITS[n & 15]);
        table[n] = u32::from_le_bytes(if n < 16 { [low, 0, 0, 1] } else { [high, low, 0, 2] });
        n += 1;
    }
    table
}

/// Prints lower-case hex without leading zeros.
///
/// ```
/// let mut buf = [0; 32];
/// let end = tfbc_vm::num::hex_min(&mut buf, 0, 0x7c0f);
/// assert_eq!(&buf[..end], b"7c0f");
/// ```
#[inline(always)]
pub fn hex_min(buf: &mut [u8], at: usize, n: u64) -> usize {
    if let Some(entry) = SMALL_HEX.get(n as usize) {
        store(buf, at, entry.to_le_bytes());
        return at + (entry >> 24) as usize;
    }
    // `| 1` gives 0 one digit without a branch.
    let digits = (64 - (n | 1).leading_zeros()).div_ceil(4) as usize;
    store(buf, at, hex16::<LOWER>(n << (64 - digits * 4)));
    at + digits
}

#[inline(always)]
fn hex_digits<const LETTERS: u64>(buf: &mut [u8], at: usize, n: u64, digits: usize) -> usize {
    // The requested digits come first; extra digits after them are overwritten later.
    if digits == 8 {
        store(buf, at, hex8::<LETTERS>(n as u32));
    } else if digits < 8 {
        store(buf, at, hex8::<LETTERS>((n as u32) << (((8 - digits) * 4) & 31)));
    } else if digits <= 16 {
        store(buf, at, hex16::<LETTERS>(n << ((16 - digits) * 4)));
    } else {
        return hex_wide::<LETTERS>(buf, at, n, digits);
    }
    at + digits
}

#[cold]
fn hex_wide<const LETTERS: u64>(buf: &mut [u8], at: usize, n: u64, digits: usize) -> usize {
    let zeros = digits - 16;
    let end = store_slice(buf, at, &[b'0'; 16][..zeros.min(16)]);
    store(buf, end, hex16::<LETTERS>(n));
    end + 16
}

/// Prints hex with 4, 8 or 16 digits, depending on the number.
#[inline]
pub fn hex_fit(buf: &mut [u8], at: usize, n: u64) -> usize {
    let digits = match n {
        0..=0xffff => 4,
        0x1_0000..=0xffff_ffff => 8,
        _ => 16,
    };
    hex(buf, at, n, digits)
}

/// Each byte as two hex digits and two blanks.
static PAIRS: [[u8; 4]; 256] = pairs();

const fn pairs() -> [[u8; 4]; 256] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut table = [[b' '; 4]; 256];
    let mut n = 0;
    while n < 256 {
        table[n][0] = DIGITS[n >> 4];
        table[n][1] = DIGITS[n & 15];
        n += 1;
    }
    table
}

/// Prints bytes as hex pairs of `WIDTH` characters: 2, or 3 with a blank after each pair. Up to 32 bytes after the text
/// may be overwritten.
pub(crate) fn hex_run<const WIDTH: usize>(buf: &mut [u8], at: usize, bytes: &[u8]) -> usize {
    #[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
    if let Some(n) = buf.get_mut(at..).and_then(|room| crate::sse::hex_run::<WIDTH>(room, bytes)) {
        let end = at + n * WIDTH;
        return if n == bytes.len() { end } else { hex_run_by_bytes::<WIDTH>(buf, end, &bytes[n..]) };
    }
    hex_run_by_bytes::<WIDTH>(buf, at, bytes)
}

/// Like [`hex_run`], at the start of a room that every instruction finds. It is a call, so that its caller saves few
/// registers.
#[inline(never)]
pub(crate) fn hex_dump<const WIDTH: usize>(room: &mut [u8; ROOM], bytes: &[u8]) {
    hex_run::<WIDTH>(room, 0, bytes);
}

fn hex_run_by_bytes<const WIDTH: usize>(buf: &mut [u8], at: usize, bytes: &[u8]) -> usize {
    let end = at + bytes.len() * WIDTH;
    // Each store writes four bytes; the next store overwrites the excess.
    let Some(room) = buf.get_mut(at..end + 2) else { return end };
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut o = 0;
    for chunk in chunks {
        let Some(room) = room.get_mut(o..o + 7 * WIDTH + 4) else { return end };
        for (k, byte) in chunk.iter().enumerate() {
            store(room, k * WIDTH, PAIRS[usize::from(*byte)]);
        }
        o += 8 * WIDTH;
    }
    for byte in rest {
        store(room, o, PAIRS[usize::from(*byte)]);
        o += WIDTH;
    }
    end
}

/// Eight octal digits of a number below 2^24, one per byte, the first in the low byte.
#[inline(always)]
fn octal8(n: u64) -> u64 {
    let halves = n >> 12 | (n & 0xfff) << 32;
    let pairs = halves >> 6 & 0x0000_003f_0000_003f | (halves & 0x0000_003f_0000_003f) << 16;
    pairs >> 3 & 0x0007_0007_0007_0007 | (pairs & 0x0007_0007_0007_0007) << 8
}

/// Prints octal without a prefix.
///
/// ```
/// let mut buf = [0; 64];
/// let end = tfbc_vm::num::oct(&mut buf, 0, 0o1_777_777);
/// assert_eq!(&buf[..end], b"1777777");
/// ```
#[inline(always)]
pub fn oct(buf: &mut [u8], at: usize, n: u64) -> usize {
    match u32::try_from(n) {
        Ok(n) => oct_short(buf, at, n),
        Err(_) => long_oct(buf, at, n),
    }
}

/// Prints a number of 32 bits in octal.
#[inline(always)]
pub(crate) fn oct_short(buf: &mut [u8], at: usize, n: u32) -> usize {
    let digits = octal8(u64::from(n & 0xff_ffff));
    if n < 1 << 24 {
        // The last digit stays, so 0 is printed.
        let zeros = (digits | 1 << 56).trailing_zeros() & !7;
        store(buf, at, ((digits | ASCII_ZEROS) >> zeros).to_le_bytes());
        return at + 8 - zeros as usize / 8;
    }
    let first = SMALL_OCTAL[(n >> 24) as usize % SMALL_OCTAL.len()];
    store(buf, at, first.to_le_bytes());
    let at = at + (first >> 24) as usize;
    store(buf, at, (digits | ASCII_ZEROS).to_le_bytes());
    at + 8
}

/// Octal digits of 0 to 255, left-aligned; the last byte is their number.
static SMALL_OCTAL: [u32; 256] = small_octal();

const fn small_octal() -> [u32; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let (a, b, c) = (b'0' + (n >> 6) as u8, b'0' + (n >> 3 & 7) as u8, b'0' + (n & 7) as u8);
        table[n] = u32::from_le_bytes(match n {
            0..8 => [c, 0, 0, 1],
            8..64 => [b, c, 0, 2],
            _ => [a, b, c, 3],
        });
        n += 1;
    }
    table
}

/// Slow path of [`oct`] for numbers of more than 32 bits.
#[inline(never)]
fn long_oct(buf: &mut [u8], at: usize, n: u64) -> usize {
    // All 24 digits are computed: three words in parallel are faster than a loop to the first digit.
    let digits = [n >> 48, n >> 24 & 0xff_ffff, n & 0xff_ffff].map(|part| (octal8(part) | ASCII_ZEROS).to_le_bytes());
    let len = (64 - (n | 1).leading_zeros()).div_ceil(3) as usize;
    let mut text = [0; 48];
    text[..24].copy_from_slice(digits.as_flattened());
    if let Some(shown) = text.get(24 - len..).and_then(|rest| rest.first_chunk::<24>()) {
        store(buf, at, *shown);
    }
    at + len
}

/// Eight binary digits per byte, the first in the low byte.
static BITS: [u64; 256] = bits();

const fn bits() -> [u64; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[n] |= (n as u64 >> (7 - bit) & 1) << (bit * 8);
            bit += 1;
        }
        table[n] |= ASCII_ZEROS;
        n += 1;
    }
    table
}

/// Eight binary digits of the low byte of a number.
#[inline(always)]
fn bits8(n: u64) -> [u8; 8] {
    BITS[usize::from(n as u8)].to_le_bytes()
}

/// Prints the low `count` bits as binary digits, 1 to 64. Up to 7 bytes after them may be overwritten.
///
/// ```
/// let mut buf = [0; 64];
/// let end = tfbc_vm::num::bin(&mut buf, 0, 0b1101, 6);
/// assert_eq!(&buf[..end], b"001101");
/// ```
#[inline(always)]
pub fn bin(buf: &mut [u8], at: usize, n: u64, count: usize) -> usize {
    let mut rest = n << (64 - count.clamp(1, 64));
    for byte in 0..count.div_ceil(8) {
        store(buf, at + byte * 8, bits8(rest >> 56));
        rest <<= 8;
    }
    at + count
}

/// Prints the low `count` bits as binary digits, at most 16. Up to 15 bytes after them may be overwritten.
#[inline(always)]
pub(crate) fn bin_short(buf: &mut [u8], at: usize, n: u64, count: u32) -> usize {
    let first = n << (16u32.wrapping_sub(count) & 31);
    store(buf, at, bits8(first >> 8));
    store(buf, at + 8, bits8(first));
    at + count as usize
}

/// Prints like C's `%.4E`, with `NAN`, `INF` and `-INF`.
///
/// ```
/// let mut buf = [0; 32];
/// let end = tfbc_vm::num::float(&mut buf, 0, 1.5);
/// assert_eq!(&buf[..end], b"1.5000E+00");
/// ```
pub fn float(buf: &mut [u8], at: usize, x: f64) -> usize {
    float_with(buf, at, x, 4)
}

/// Prints like C's `%.nE` with up to eight decimals, and `NAN`, `INF` and `-INF`.
pub(crate) fn float_with(buf: &mut [u8], at: usize, x: f64, n_decimals: usize) -> usize {
    use std::io::Write;
    if x.is_nan() {
        return store_slice(buf, at, b"NAN");
    }
    if x.is_infinite() {
        return store_slice(buf, at, if x > 0.0 { b"INF" } else { b"-INF" });
    }
    // On the stack, and long enough for any number with eight decimals.
    let mut text = [0u8; 16];
    let mut rest = &mut text[..];
    let n_decimals = n_decimals.min(8);
    let fits = write!(rest, "{x:.n_decimals$E}").is_ok();
    let left = rest.len();
    debug_assert!(fits, "sign, digit, point, eight digits, E, sign and three digits are 16 bytes");
    let text = &text[..16 - left];
    // Rust writes `1.5000E0`; C writes a sign and at least two digits in the exponent.
    let split = text.iter().position(|byte| *byte == b'E').unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(split);
    let (sign, digits) = match exponent.get(1..) {
        Some([b'-', digits @ ..]) => (b"E-", digits),
        Some(digits) => (b"E+", digits),
        None => (b"E+", &b"0"[..]),
    };
    let at = store_slice(buf, at, mantissa);
    let at = store_slice(buf, at, sign);
    let at = if digits.len() < 2 { store_slice(buf, at, b"0") } else { at };
    store_slice(buf, at, digits)
}

/// Prints seconds since 1970 as GMT, such as `Thu Oct 28 13:34:05 1999`: 24 characters, the day padded with a blank.
///
/// ```
/// let mut buf = [0; 32];
/// let end = tfbc_vm::num::time(&mut buf, 0, 941_117_645);
/// assert_eq!(&buf[..end], b"Thu Oct 28 13:34:05 1999");
/// ```
pub fn time(buf: &mut [u8], at: usize, seconds: u32) -> usize {
    const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let two = |n: u32| [b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8];
    let mut text = *b"Thu Jan  1 00:00:00 1970";
    text[..3].copy_from_slice(DAYS[days as usize % 7]);
    text[4..7].copy_from_slice(&MONTHS[month as usize * 3..month as usize * 3 + 3]);
    text[8..10].copy_from_slice(&two(day));
    if day < 10 {
        text[8] = b' ';
    }
    text[11..13].copy_from_slice(&two(of_day / 3600));
    text[14..16].copy_from_slice(&two(of_day / 60 % 60));
    text[17..19].copy_from_slice(&two(of_day % 60));
    text[20..22].copy_from_slice(&two(year / 100));
    text[22..24].copy_from_slice(&two(year % 100));
    store_slice(buf, at, &text)
}

/// Converts days since 1970 to year, month (from 0) and day (from 1) of the Gregorian calendar.
fn civil(days: u32) -> (u32, u32, u32) {
    // Counts years from 1 March, so that the leap day is the last day of a year.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + u32::from(month >= 10);
    (year, (month + 2) % 12, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut [u8]) -> usize) -> String {
        let mut buf = [0; 128];
        let end = put(&mut buf);
        String::from_utf8(buf[..end].to_vec()).unwrap()
    }

    /// Powers of two and ten with their neighbours, and a spread of other numbers.
    fn numbers() -> impl Iterator<Item = u64> {
        let powers = (0..64).map(|k| 1u64 << k).chain((0..20).map(|k| 10u64.pow(k)));
        let near = powers.flat_map(|n| [n - 1, n, n.wrapping_add(1)]);
        near.chain((0..20_000).map(|k| (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (k % 64))).chain([u64::MAX])
    }

    #[test]
    fn decimals_match_the_standard_library() {
        (0..200_000u64).chain(numbers()).for_each(|n| {
            assert_eq!(text(|b| dec(b, 0, n)), n.to_string());
            assert_eq!(text(|b| int(b, 0, n)), (n as i64).to_string());
            assert_eq!(text(|b| dec32(b, 0, n as u32)), (n as u32).to_string());
            let n = n.max(LONG);
            assert_eq!(text(|b| b.first_chunk_mut().map_or(0, |b| quoted(b, n))), format!("\"{n}\""));
        });
    }

    #[test]
    fn fixed_points_match_the_standard_library() {
        fn check<const WIDTH: usize, const DECIMALS: usize>(n: u64) {
            let scale = 10u64.pow(DECIMALS as u32);
            let plain = format!("{:>WIDTH$}", format!("{}.{:0DECIMALS$}", n / scale, n % scale));
            let fits = plain.len() == WIDTH && plain.starts_with(' ');
            let mut text = [0; WIDTH];
            assert_eq!(fixed::<WIDTH, DECIMALS>(&mut text, n), fits, "{plain}");
            assert!(!fits || text == *plain.as_bytes(), "{plain}");
            let mut text = *b"@                               ";
            let end = decimal::<DECIMALS>(&mut text, 1, n);
            assert_eq!(text[..end], *format!("@{}", plain.trim_start()).as_bytes());
        }
        for n in (0..20_000).chain(numbers()) {
            check::<14, 9>(n);
            check::<15, 6>(n);
            check::<10, 6>(n);
            check::<12, 3>(n);
        }
    }

    #[test]
    fn bases_match_the_standard_library() {
        for n in numbers() {
            assert_eq!(text(|b| oct(b, 0, n)), format!("{n:o}"));
            for count in 1..=64 {
                let low = n & (u64::MAX >> (64 - count));
                assert_eq!(text(|b| bin(b, 0, n, count)), format!("{low:0count$b}"));
                if count <= 16 {
                    assert_eq!(text(|b| bin_short(b, 0, n, count as u32)), format!("{low:0count$b}"));
                }
            }
            for digits in 1..=32usize {
                let low = if digits < 16 { n & ((1 << (digits * 4)) - 1) } else { n };
                assert_eq!(text(|b| hex(b, 0, n, digits)), format!("{low:0digits$X}"));
                assert_eq!(text(|b| hex_low(b, 0, n, digits)), format!("{low:0digits$x}"));
            }
        }
    }

    #[test]
    fn digits_are_the_same_by_words() {
        for n in numbers() {
            assert_eq!(hex8_by_words::<UPPER>(n as u32), hex8::<UPPER>(n as u32));
            assert_eq!(hex8_by_words::<LOWER>(n as u32), hex8::<LOWER>(n as u32));
        }
    }

    #[test]
    fn runs_are_pairs_with_or_without_blanks() {
        let bytes: Vec<u8> = (0..=255).rev().collect();
        for len in 0..=128 {
            let bytes = &bytes[len..len * 2];
            let pairs: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            let blanks: String = pairs.iter().map(|pair| format!("{pair} ")).collect();
            let mut buf = [0; 512];
            let end = hex_run::<2>(&mut buf, 1, bytes);
            assert_eq!(&buf[1..end], pairs.concat().as_bytes());
            let end = hex_run::<3>(&mut buf, 1, bytes);
            assert_eq!(&buf[1..end], blanks.as_bytes());
        }
    }

    #[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
    #[test]
    fn runs_are_the_same_with_every_instruction_set() {
        fn check<const WIDTH: usize>(bytes: &[u8]) {
            let mut expected = [0; 1000];
            let end = hex_run_by_bytes::<WIDTH>(&mut expected, 0, bytes);
            for room in [crate::sse::hex_run_by_sixteens::<WIDTH>, crate::sse::hex_run::<WIDTH>] {
                let mut text = [0; 1000];
                let n = room(&mut text, bytes).unwrap_or(0);
                assert_eq!(text[..n * WIDTH], expected[..n * WIDTH]);
                assert_eq!(text[n * WIDTH..], [0; 1000][n * WIDTH..], "nothing is written after the text");
                // Without the last byte of room, nothing is written.
                assert!(n == 0 || room(&mut text[..n * WIDTH - 1], bytes).is_none());
            }
            assert_eq!(end, bytes.len() * WIDTH);
        }
        let random: Vec<u8> = numbers().flat_map(u64::to_le_bytes).collect();
        for (at, len) in (0..=300).flat_map(|len| [(len, len), (len * 97, len)]) {
            check::<2>(&random[at..at + len]);
            check::<3>(&random[at..at + len]);
        }
    }

    #[test]
    fn fitting_hex_has_4_8_or_16_digits() {
        for (n, expected) in [(0, "0000"), (0xffff, "FFFF"), (0x1_0000, "00010000"), (1 << 32, "0000000100000000")] {
            assert_eq!(text(|b| hex_fit(b, 0, n)), expected);
        }
    }

    #[test]
    fn floats_are_printed_as_c_does() {
        let cases = [(0.0, "0.0000E+00"), (-1e300, "-1.0000E+300"), (1.23456e-5, "1.2346E-05"), (f64::NAN, "NAN")];
        for (x, expected) in cases {
            assert_eq!(text(|b| float(b, 0, x)), expected);
        }
        assert_eq!(text(|b| float(b, 0, f64::NEG_INFINITY)), "-INF");
    }

    #[test]
    fn times_span_the_32_bit_range() {
        for (seconds, expected) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (2_147_483_648, "Tue Jan 19 03:14:08 2038"),
            (u32::MAX, "Sun Feb  7 06:28:15 2106"),
        ] {
            assert_eq!(text(|b| time(b, 0, seconds)), expected);
        }
    }
}
