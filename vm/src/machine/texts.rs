//! Helpers that print texts, or numbers in unusual formats.

use crate::mem::{ROOM, at_bytes, at_words, unchecked};
use crate::num::{self, store, store_slice};
use crate::table::{self, FLAG_WORDS, LONG_TEXTS};
use crate::{Program, TextBuf};

pub(super) fn low_bits(value: u64, count: u32) -> u64 {
    if count >= 64 { value } else { value & ((1 << count) - 1) }
}

pub(super) fn sext(value: u64, count: u32) -> u64 {
    // A shift by the width of the type would panic; rule V10 excludes it, the clamp makes that visible to the compiler.
    let spare = 64 - count.clamp(1, 64);
    ((value << spare) as i64 >> spare) as u64
}

/// Prints hex like C's `%#x`, except that zero is `0x0`.
#[inline(always)]
pub(super) fn put_hex_c(buf: &mut [u8], value: u64) -> usize {
    // Every hex number of a QNX report has its prefix, also 0.
    store(buf, 0, *b"0x");
    num::hex_min(buf, 2, value)
}

/// Prints octal like C's `%#o`.
pub(super) fn put_oct_c(buf: &mut [u8], value: u64) -> usize {
    if value == 0 {
        store(buf, 0, [b'0']);
        return 1;
    }
    store(buf, 0, [b'0']);
    num::oct(buf, 1, value)
}

/// Prints a printable character, any other value in hex.
pub(super) fn put_ascii(buf: &mut [u8], value: u64) -> usize {
    if (0x20..=0x7e).contains(&value) {
        store(buf, 0, [value as u8]);
        return 1;
    }
    // A number above 0xFF is printed in hex too.
    put_hex_c(buf, value)
}

/// True if QNX prints the byte as part of a text.
pub(crate) fn prints(byte: u8) -> bool {
    (0x20..=0x7e).contains(&byte) || byte == b'\n'
}

/// Appends a text with escapes for control characters; bytes from 0x80 stay unchanged.
pub(super) fn put_escaped(out: &mut TextBuf, text: &[u8]) {
    let special = |byte: &u8| *byte < 0x20 || *byte == 0x7f;
    let mut rest = text;
    while let Some(at) = rest.iter().position(special) {
        out.push(&rest[..at]);
        // Only control characters: the report must not control a terminal (docs/readings.md, QNX). Bytes from 0x80 may
        // be UTF-8.
        match rest[at] {
            b'\t' => out.push(b"\\t"),
            b'\n' => out.push(b"\\n"),
            b'\r' => out.push(b"\\r"),
            byte => {
                out.push(b"\\x");
                out.room(0);
                out.len = num::hex_low(&mut out.buf, out.len, byte.into(), 2);
            }
        }
        rest = &rest[at + 1..];
    }
    out.push(rest);
}

/// Looks up the text for a number in a table. Returns offset and length in the string pool.
#[inline(always)]
pub(super) fn case_text(program: &Program<'_>, table: u32, value: u64) -> (usize, usize) {
    let (kind, words) = program.table(table);
    table::unpack_str(table::find_number(kind, words, value).unwrap_or(0))
}

/// Texts of the BITFLAGS entries that match a value, without empty ones.
pub(super) fn matching_texts<'p>(program: &'p Program<'_>, table: u32, value: u64) -> impl Iterator<Item = &'p [u8]> {
    let (entries, _) = program.table(table).1.as_chunks::<FLAG_WORDS>();
    entries.iter().filter_map(move |&[mask, field, yes, no, _]| {
        let (offset, len) = table::unpack_str(if value & mask == field { yes } else { no });
        program.strings().get(offset..offset + len).filter(|text| !text.is_empty())
    })
}

pub(super) fn put_float(buf: &mut [u8], o: usize, value: u64, width: u32, decimals: u32) -> usize {
    let value = if width == 4 { f32::from_bits(value as u32).into() } else { f64::from_bits(value) };
    num::float_with(buf, o, value, if decimals == 0 { 4 } else { decimals as usize })
}

/// Prints the name of an error of `width` bytes.
pub(super) fn put_error(buf: &mut [u8], o: usize, program: &Program<'_>, value: u64, width: u32) -> usize {
    // `errno` in docs/readings.md; an error without a name is printed as a signed number.
    match crate::errno_name(low_bits(value, width * 8)).filter(|_| program.settings.errno_names) {
        Some(name) => store_slice(buf, o, name.as_bytes()),
        None => num::int(buf, o, sext(value, width * 8)),
    }
}

/// Prints bytes as hex digits. Bytes missing from the event are zero.
pub(super) fn put_hex_bytes(buf: &mut [u8], o: usize, bytes: &[u8], len: usize) -> usize {
    let end = num::hex_run::<2>(buf, o, bytes);
    num::hex_run::<2>(buf, end, &[0; 16][..len.saturating_sub(bytes.len()).min(16)])
}

/// Prints the text with an index from a list; the default after the last one. A text is 15 bytes and a length in two
/// words, or 31 bytes and a length in four.
#[inline(always)]
pub(super) fn put_indexed(room: &mut [u8], words: &[u64], base: u32, index: u64) -> usize {
    let base = base as usize;
    // The index of the default is the count, so values beyond the list find it by `min`, without a branch.
    let [head] = *unchecked!(Tables: at_words(words, base));
    if head & LONG_TEXTS == 0 {
        return put_packed::<16>(room, 0, words, base + 1 + index.min(head) as usize * 2);
    }
    let index = index.min(head & !LONG_TEXTS) as usize;
    put_packed::<32>(room, 0, words, base + 1 + index * 4)
}

/// Prints the text of up to `BYTES` - 1 bytes at word `place`; the last byte is its length. All bytes are stored,
/// because a fixed-size store is faster.
#[inline(always)]
fn put_packed<const BYTES: usize>(room: &mut [u8], at: usize, words: &[u64], place: usize) -> usize {
    let text: &[u8; BYTES] = unchecked!(Tables: at_bytes(words, place));
    #[cfg(target_endian = "big")]
    let text = &{
        let mut swapped = *text;
        swapped.as_chunks_mut::<8>().0.iter_mut().for_each(|word| word.reverse());
        swapped
    };
    store_slice(room, at, text);
    usize::from(text[BYTES - 1]) % BYTES
}

/// Prints the text with an index from a list; the index in hex if that text is empty.
#[inline(always)]
pub(super) fn put_indexed_or_hex(room: &mut [u8], words: &[u64], base: u32, index: u64) -> usize {
    match put_indexed(room, words, base, index) {
        0 => put_hex_c(room, index),
        n => n,
    }
}

/// Maximum number of nibbles whose texts surely fit into [`ROOM`].
pub(super) const FEW_NIBBLES: u64 = 6;

/// Prints the texts of a value's nibbles, or the default text if all are empty. Each nibble has 16 texts of 31 bytes
/// and a length. Returns `None` if they may exceed [`ROOM`].
#[inline(always)]
pub(super) fn put_nibbles(room: &mut [u8], words: &[u64], base: u32, value: u64) -> Option<usize> {
    if let Some(n) = put_two_nibbles(room, words, base, value) {
        return Some(n);
    }
    let base = base as usize;
    let [head] = *unchecked!(Tables: at_words(words, base));
    let count = head & 0xff;
    if count > FEW_NIBBLES {
        return None;
    }
    let mut value = value >> (head >> 8 & 63);
    let (mut o, mut at) = (0, base + 5);
    // Each text is stored with all its 32 bytes; the next one overwrites the excess. No copy depends on a length.
    for _ in 0..count {
        o += put_packed::<32>(room, o, words, at + (value & 15) as usize * 4);
        (value, at) = (value >> 4, at + 64);
    }
    if o == 0 {
        o = put_packed::<32>(room, 0, words, base + 1);
    }
    Some(o)
}

/// Like [`put_nibbles`], for two nibbles: most flags are the bits of a byte. Returns `None` for another number.
#[inline(always)]
pub(super) fn put_two_nibbles(room: &mut [u8], words: &[u64], base: u32, value: u64) -> Option<usize> {
    let base = base as usize;
    let [head] = *unchecked!(Tables: at_words(words, base));
    if head & 0xff != 2 {
        return None;
    }
    let value = value >> (head >> 8 & 63);
    let mut o = put_packed::<32>(room, 0, words, base + 5 + (value & 15) as usize * 4);
    o += put_packed::<32>(room, o, words, base + 69 + (value >> 4 & 15) as usize * 4);
    Some(if o == 0 { put_packed::<32>(room, 0, words, base + 1) } else { o })
}

/// Appends the texts of a value's nibbles to the buffer, for any number of nibbles.
pub(super) fn put_many_nibbles(out: &mut TextBuf, words: &[u64], base: u32, value: u64) {
    let (base, start) = (base as usize, out.len);
    let [head] = *unchecked!(Tables: at_words(words, base));
    let value = value >> (head >> 8 & 63);
    // Texts of 31 bytes for sixteen nibbles exceed the room of one instruction, so each nibble makes its own.
    let put = |out: &mut TextBuf, place| {
        out.room(0);
        out.len += put_packed::<32>(&mut out.buf, out.len, words, place);
    };
    for nibble in 0..(head & 0xff) as usize {
        let digit = (value >> ((nibble * 4) & 63) & 15) as usize;
        put(out, base + 5 + (nibble * 16 + digit) * 4);
    }
    if out.len == start {
        put(out, base + 1);
    }
}

/// Prints `[n usec]` below the threshold in µs, `[n msec]` from there on, truncated.
pub(super) fn put_elapsed(buf: &mut [u8], o: usize, ns: u64, msec_from: u64) -> usize {
    let usec = ns / 1000;
    let (n, unit) = if usec < msec_from { (usec, b" usec]") } else { (usec / 1000, b" msec]") };
    store(buf, o, [b'[']);
    let o = num::dec(buf, o + 1, n);
    store(buf, o, *unit);
    o + unit.len()
}

/// Copies a string of the pool with at most 32 bytes. Requires 32 bytes in the pool from its start, for one fixed-size
/// copy.
#[inline(always)]
pub(super) fn copy_short(room: &mut [u8], strings: &[u8], offset: usize, len: usize) -> Option<usize> {
    let text: &[u8; 32] = strings.get(offset..)?.first_chunk().filter(|_| len <= 32)?;
    store_slice(room, 0, text);
    Some(len)
}

/// Copies the text at an offset up to its NUL or the end of the event, if it is short and needs no escapes.
#[inline(always)]
pub(super) fn copy_string<const N: usize>(room: &mut [u8; N], bytes: &[u8], at: u32) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let text = bytes.get(at as usize..)?;
    let (to, _) = room.as_chunks_mut::<8>();
    let mut n = 0;
    for (at, to) in to.iter_mut().enumerate() {
        let (eight, held) = piece(text, at * 8, bytes);
        *to = eight.to_le_bytes();
        // Marks bytes below 0x20, and 0x7f, but not those with the high bit set.
        let low = eight & (ONES * 0x7f);
        let special = (!(low + ONES * 0x60) | (low + ONES)) & !eight & (ONES * 0x80);
        let plain = (special.trailing_zeros() / 8) as usize;
        if plain < held {
            return ((eight >> (plain * 8)) as u8 == 0).then_some(n + plain);
        }
        n += held;
        if held < 8 {
            break;
        }
    }
    (n == text.len()).then_some(n)
}

/// Copies a text field of at most 16 bytes up to its NUL. Requires that the event has 16 bytes there and that all bytes
/// of the text are printable.
#[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
#[inline(always)]
pub(super) fn copy_sixteen(room: &mut [u8], bytes: &[u8], at: u32, len: u32) -> Option<usize> {
    let sixteen = bytes.get(at as usize..)?.first_chunk::<16>()?;
    // The bit at `len` ends the search if every byte is printable.
    let n = (crate::sse::unprintable(sixteen) | 1 << len).trailing_zeros();
    // Only a NUL ends a text early. Any other unprintable byte becomes a dot, on the slow path.
    if n != len && sixteen[n as usize & 15] != 0 {
        return None;
    }
    store(room, 0, *sixteen);
    Some(n as usize)
}

/// Portable version: eight bytes at a time.
#[cfg(not(all(target_arch = "x86_64", not(feature = "safe"))))]
#[inline(always)]
pub(super) fn copy_sixteen<const N: usize>(room: &mut [u8; N], bytes: &[u8], at: u32, len: u32) -> Option<usize> {
    copy_field(room, bytes, at, len)
}

/// Copies a text field up to its NUL. Requires that the event contains the whole field and that all bytes of the text
/// are printable.
#[inline(always)]
pub(super) fn copy_field<const N: usize>(room: &mut [u8; N], bytes: &[u8], at: u32, len: u32) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let rest = bytes.get(at as usize..)?;
    let field = rest.get(..len as usize)?;
    let (to, _) = room.as_chunks_mut::<8>();
    let mut n = 0;
    for (at, to) in to.iter_mut().enumerate() {
        let (eight, held) = piece(field, at * 8, field);
        *to = eight.to_le_bytes();
        // Marks bytes below 0x20 or above 0x7e. A borrow may mark later bytes too, but the first mark is exact.
        let low = eight.wrapping_sub(ONES * 0x20) & !eight;
        let high = eight.wrapping_add(ONES) | eight;
        let plain = (((low | high) & (ONES * 0x80)).trailing_zeros() / 8) as usize;
        if plain < held {
            return ((eight >> (plain * 8)) as u8 == 0).then_some(n + plain);
        }
        n += held;
        if held < 8 {
            break;
        }
    }
    (n == field.len()).then_some(n)
}

/// Maximum number of words of [`put_words`].
const FEW_WORDS: usize = 12;

/// Fast path of `take.words` for a few words whose bytes before the first NUL are printable.
#[inline(always)]
pub(super) fn put_words(room: &mut [u8; ROOM], words: &[[u8; 4]]) -> Option<usize> {
    const ONES: u32 = u32::MAX / 255;
    if words.len() > FEW_WORDS {
        return None;
    }
    store(room, 0, [b'"']);
    let mut o = 1;
    for word in words {
        let bytes = u32::from_le_bytes(*word);
        store(room, o, *word);
        // Marks bytes below 0x20 or above 0x7e. A borrow may mark later bytes too, but the first mark is exact.
        let odd = (bytes.wrapping_sub(ONES * 0x20) & !bytes | bytes.wrapping_add(ONES) | bytes) & (ONES * 0x80);
        let plain = odd.trailing_zeros() / 8;
        o += plain as usize;
        if plain < 4 {
            if bytes >> (plain * 8) & 0xff != 0 {
                return None;
            }
            break;
        }
    }
    store(room, o, *b"\" (");
    o += 3;
    for (at, word) in words.iter().enumerate() {
        let prefix = usize::from(at > 0);
        // Three bytes in both cases: the digits overwrite the last one of the first word.
        store(room, o, if at > 0 { *b" 0x" } else { *b"0x " });
        o = num::hex_low(room, o + 2 + prefix, u32::from_le_bytes(*word).into(), 8);
    }
    store(room, o, [b')']);
    Some(o + 1)
}

/// Loads up to eight bytes of a text from `at`, padded with blanks, and returns how many there are. The text is the end
/// of `whole`, so that its last bytes can be loaded in one access.
#[inline(always)]
fn piece(text: &[u8], at: usize, whole: &[u8]) -> (u64, usize) {
    const BLANKS: u64 = u64::from_le_bytes([b' '; 8]);
    if let Some(eight) = text.get(at..at + 8).and_then(|eight| eight.first_chunk()) {
        return (u64::from_le_bytes(*eight), 8);
    }
    let rest = text.get(at..).unwrap_or_default();
    let n_bits = 8 * (rest.len() as u32 & 7);
    let last = match whole.last_chunk() {
        Some(eight) => u64::from_le_bytes(*eight).unbounded_shr(64 - n_bits),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (last | BLANKS << n_bits, rest.len())
}

/// Copies a text and replaces unprintable bytes by dots. The buffer must have room for it.
#[inline(always)]
pub(super) fn copy_printable(buf: &mut [u8], at: usize, text: &[u8]) -> usize {
    let Some(room) = buf.get_mut(at..at + text.len()) else { return at };
    let (chunks, rest) = text.as_chunks::<8>();
    let (to, to_rest) = room.as_chunks_mut::<8>();
    // Eight bytes are tested at once; texts with unprintable bytes are rare.
    for (to, from) in to.iter_mut().zip(chunks) {
        *to = if all_printable(u64::from_le_bytes(*from)) { *from } else { dots_for_unprintable(*from) };
    }
    for (to, from) in to_rest.iter_mut().zip(rest) {
        *to = printable(*from);
    }
    at + text.len()
}

#[cold]
fn dots_for_unprintable(bytes: [u8; 8]) -> [u8; 8] {
    bytes.map(printable)
}

#[inline]
fn printable(byte: u8) -> u8 {
    if (0x20..=0x7e).contains(&byte) { byte } else { b'.' }
}

/// True if all eight bytes are from 0x20 to 0x7e. Tests the sign bits of `x - 0x20`, which are set for small x, and of
/// `x + 1` and x, which are set for large x.
#[inline(always)]
fn all_printable(bytes: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    let low = bytes.wrapping_sub(ONES * 0x20) & !bytes;
    let high = bytes.wrapping_add(ONES) | bytes;
    (low | high) & (ONES * 0x80) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_bytes_are_recognised_at_every_position() {
        for place in 0..8 {
            for byte in 0..=255 {
                let mut bytes = *b"printed.";
                bytes[place] = byte;
                assert_eq!(all_printable(u64::from_le_bytes(bytes)), printable(byte) == byte, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn fields_end_at_a_nul_or_their_length() {
        for len in 0..=40u32 {
            for special in 0..=40usize {
                for byte in [0, 0x1f, 0x20, 0x7e, 0x7f, 0x80, 0xff] {
                    let mut bytes = [b'~'; 45];
                    bytes[2 + special] = byte;
                    let mut room = [0; ROOM];
                    let copied = copy_field(&mut room, &bytes, 2, len);
                    let plain = special >= len as usize || printable(byte) == byte;
                    let expected = if plain { Some(len as usize) } else { (byte == 0).then_some(special) };
                    assert_eq!(copied, expected, "{len} bytes, {byte:#x} at {special}");
                    if len <= 16 {
                        assert_eq!(copy_sixteen(&mut [0; ROOM], &bytes, 2, len), expected);
                    }
                    let n = expected.unwrap_or(0);
                    assert_eq!(room[..n], bytes[2..2 + n]);
                }
            }
        }
        assert_eq!(copy_field(&mut [0; ROOM], b"short", 0, 6), None);
    }

    #[test]
    fn few_words_are_printed_at_once() {
        let mut room = [0; ROOM];
        let mut text =
            |words: &[[u8; 4]]| put_words(&mut room, words).map(|n| String::from_utf8_lossy(&room[..n]).into_owned());
        assert_eq!(text(&[]).unwrap(), "\"\" ()");
        assert_eq!(text(&[*b"abcd", *b"e\0zz"]).unwrap(), "\"abcde\" (0x64636261 0x7a7a0065)");
        assert_eq!(text(&[*b"\0bcd"]).unwrap(), "\"\" (0x64636200)");
        assert_eq!(text(&[*b"a\x7fcd"]), None);
        assert_eq!(text(&[*b"ab\n\0"]), None);
        assert_eq!(text(&[*b"~ !~"; FEW_WORDS]).unwrap().len(), 2 + 4 * FEW_WORDS + 2 + 11 * FEW_WORDS);
        assert_eq!(text(&[*b"abcd"; FEW_WORDS + 1]), None);
    }

    #[test]
    fn texts_are_copied_with_dots() {
        let text: Vec<u8> = (0..=255).collect();
        for len in 0..=256 {
            let mut buf = vec![0; 512];
            let end = copy_printable(&mut buf, 3, &text[..len]);
            let expected: Vec<u8> = text[..len].iter().map(|byte| printable(*byte)).collect();
            assert_eq!(&buf[3..end], expected);
        }
    }
}
