//! Number formatting with SSE2, which every x86-64 processor has, and with SSSE3 and AVX2 if available.
#![expect(unsafe_code, reason = "the compiler asks for it where a function says which instructions it uses")]

use std::arch::x86_64::*;

/// Hex digits of eight bytes, lowest byte first. `LETTERS` is the distance from `:` to `A` or `a`.
#[inline(always)]
pub(crate) fn hex<const LETTERS: u64>(bytes: u64) -> [u8; 16] {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { digits::<LETTERS>(bytes) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn digits<const LETTERS: u64>(bytes: u64) -> [u8; 16] {
    let bytes = _mm_cvtsi64_si128(bytes as i64);
    let fifteen = _mm_set1_epi8(15);
    let (high, low) = (_mm_and_si128(_mm_srli_epi16(bytes, 4), fifteen), _mm_and_si128(bytes, fifteen));
    let nibbles = _mm_unpacklo_epi8(high, low);
    let letters = _mm_and_si128(_mm_cmpgt_epi8(nibbles, _mm_set1_epi8(9)), _mm_set1_epi8(LETTERS as i8));
    let text = _mm_add_epi8(_mm_add_epi8(nibbles, _mm_set1_epi8(0x30)), letters);
    let mut digits = [0; 16];
    // SAFETY: sixteen bytes are written.
    unsafe { _mm_storeu_si128(digits.as_mut_ptr().cast(), text) };
    digits
}

/// Hex digits of up to four words, lowest byte first.
#[inline(always)]
pub(crate) fn hex_words<const LETTERS: u64, const N: usize>(words: [u32; N]) -> [[u8; 8]; N] {
    const { assert!(N <= 4) };
    let word = |n: usize| u64::from(words.get(n).copied().unwrap_or(0));
    let pair = |n: usize| word(n) | word(n + 1) << 32;
    // SAFETY: SSE2 is part of x86-64.
    let digits = unsafe { digits_of_words::<LETTERS>(pair(0), pair(2)) };
    std::array::from_fn(|n| digits[n % 4].to_le_bytes())
}

#[inline]
#[target_feature(enable = "sse2")]
fn digits_of_words<const LETTERS: u64>(first: u64, last: u64) -> [u64; 4] {
    let bytes = _mm_set_epi64x(last as i64, first as i64);
    let fifteen = _mm_set1_epi8(15);
    let (high, low) = (_mm_and_si128(_mm_srli_epi16(bytes, 4), fifteen), _mm_and_si128(bytes, fifteen));
    let [a, b] = [_mm_unpacklo_epi8(high, low), _mm_unpackhi_epi8(high, low)].map(|nibbles| {
        let letters = _mm_and_si128(_mm_cmpgt_epi8(nibbles, _mm_set1_epi8(9)), _mm_set1_epi8(LETTERS as i8));
        _mm_add_epi8(_mm_add_epi8(nibbles, _mm_set1_epi8(0x30)), letters)
    });
    [a, _mm_unpackhi_epi64(a, a), b, _mm_unpackhi_epi64(b, b)].map(|eight| _mm_cvtsi128_si64(eight) as u64)
}

/// Eight decimal digits per number, for two numbers below 10^8.
#[inline(always)]
pub(crate) fn digits16(high: u32, low: u32) -> [u8; 16] {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { decimals(high, low) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn decimals(high: u32, low: u32) -> [u8; 16] {
    let n = _mm_unpacklo_epi64(_mm_cvtsi32_si128(high as i32), _mm_cvtsi32_si128(low as i32));
    // Splits all numbers by 10^4, by 100 and by 10. Multiplications instead of divisions are exact up to these sizes.
    let quads = _mm_srli_epi64(_mm_mul_epu32(n, _mm_set1_epi64x(0xD1B7_1759)), 45);
    let rest = _mm_sub_epi32(n, _mm_mul_epu32(quads, _mm_set1_epi64x(10_000)));
    let n = _mm_or_si128(quads, _mm_slli_epi64(rest, 32));
    let pairs = _mm_srli_epi16(_mm_mulhi_epu16(n, _mm_set1_epi16(5243)), 3);
    let rest = _mm_sub_epi16(n, _mm_mullo_epi16(pairs, _mm_set1_epi16(100)));
    let n = _mm_or_si128(pairs, _mm_slli_epi32(rest, 16));
    let tens = _mm_mulhi_epu16(n, _mm_set1_epi16(6554));
    let rest = _mm_sub_epi16(n, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
    let text = _mm_or_si128(_mm_or_si128(tens, _mm_slli_epi16(rest, 8)), _mm_set1_epi8(0x30));
    let mut digits = [0; 16];
    // SAFETY: sixteen bytes are written.
    unsafe { _mm_storeu_si128(digits.as_mut_ptr().cast(), text) };
    digits
}

/// Bit mask of the bytes below 0x20 or above 0x7e; bit 0 is the first byte.
#[inline(always)]
pub(crate) fn unprintable(bytes: &[u8; 16]) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { unprintable_of(bytes) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn unprintable_of(bytes: &[u8; 16]) -> u32 {
    // SAFETY: sixteen bytes are read.
    let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    // Maps 0x20 to the lowest signed number.
    let moved = _mm_add_epi8(bytes, _mm_set1_epi8(0x60));
    _mm_movemask_epi8(_mm_cmpgt_epi8(moved, _mm_set1_epi8(i8::MIN + 0x5e))) as u32
}

/// Prints bytes as hex like [`crate::num::hex_run`], in blocks of 32 and 16. Returns how many bytes were printed, or
/// `None` if the processor has no SSSE3 or the buffer is too short.
#[inline(always)]
pub(crate) fn hex_run<const WIDTH: usize>(room: &mut [u8], bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks();
    if blocks.is_empty() || !is_x86_feature_detected!("avx2") {
        return hex_run_by_sixteens::<WIDTH>(room, bytes);
    }
    let room = room.get_mut(..bytes.len() / 16 * 16 * WIDTH)?;
    let (room, room_of_rest) = room.split_at_mut(blocks.len() * 32 * WIDTH);
    // SAFETY: the processor has AVX2, and the room has `WIDTH` characters for each byte.
    unsafe { pairs_of_blocks::<WIDTH>(room, blocks) };
    if rest.len() >= 16 {
        hex_run_by_sixteens::<WIDTH>(room_of_rest, rest);
    }
    Some(bytes.len() / 16 * 16)
}

/// Like [`hex_run`], in blocks of 16.
pub(crate) fn hex_run_by_sixteens<const WIDTH: usize>(room: &mut [u8], bytes: &[u8]) -> Option<usize> {
    let (sixteens, _) = bytes.as_chunks::<16>();
    if sixteens.is_empty() || !is_x86_feature_detected!("ssse3") {
        return None;
    }
    let room = room.get_mut(..sixteens.len() * 16 * WIDTH)?;
    // SAFETY: the processor has SSSE3.
    unsafe { pairs::<WIDTH>(room, sixteens) };
    Some(sixteens.len() * 16)
}

/// Like [`pairs`], for blocks of 32 bytes: each half of a register contains 16 of them.
///
/// # Safety
/// `room` must have `WIDTH` characters for each byte.
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn pairs_of_blocks<const WIDTH: usize>(room: &mut [u8], blocks: &[[u8; 32]]) {
    debug_assert!(room.len() >= blocks.len() * 32 * WIDTH);
    let twice = |bytes: &[u8; 16]| {
        // SAFETY: sixteen bytes are read.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    };
    let digits = twice(b"0123456789ABCDEF");
    let fifteen = _mm256_set1_epi8(15);
    let [first, middle, more, last] = SPREAD.each_ref().map(twice);
    let blanks = BLANKS.each_ref().map(twice);
    let mut to = room.as_mut_ptr();
    for block in blocks {
        // SAFETY: 32 bytes are read.
        let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        let (high, low) = (_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), fifteen), _mm256_and_si256(bytes, fifteen));
        let (high, low) = (_mm256_shuffle_epi8(digits, high), _mm256_shuffle_epi8(digits, low));
        let (a, b) = (_mm256_unpacklo_epi8(high, low), _mm256_unpackhi_epi8(high, low));
        let pieces = if WIDTH == 2 {
            [a, b, b]
        } else {
            let both = _mm256_or_si256(_mm256_shuffle_epi8(a, middle), _mm256_shuffle_epi8(b, more));
            [
                _mm256_or_si256(_mm256_shuffle_epi8(a, first), blanks[0]),
                _mm256_or_si256(both, blanks[1]),
                _mm256_or_si256(_mm256_shuffle_epi8(b, last), blanks[2]),
            ]
        };
        for (at, piece) in pieces.into_iter().take(WIDTH).enumerate() {
            // SAFETY: sixteen characters are written to each half of the block's `32 * WIDTH` characters.
            unsafe {
                _mm_storeu_si128(to.add(at * 16).cast(), _mm256_castsi256_si128(piece));
                _mm_storeu_si128(to.add((WIDTH + at) * 16).cast(), _mm256_extracti128_si256::<1>(piece));
            }
        }
        to = to.wrapping_add(32 * WIDTH);
    }
}

#[target_feature(enable = "ssse3")]
fn pairs<const WIDTH: usize>(room: &mut [u8], sixteens: &[[u8; 16]]) {
    let load = |bytes: &[u8; 16]| {
        // SAFETY: sixteen bytes are read.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    };
    let digits = load(b"0123456789ABCDEF");
    let fifteen = _mm_set1_epi8(15);
    let [first, middle, more, last] = SPREAD.each_ref().map(load);
    let blanks = BLANKS.each_ref().map(load);
    for (bytes, text) in sixteens.iter().zip(room.chunks_exact_mut(16 * WIDTH)) {
        let bytes = load(bytes);
        let (high, low) = (_mm_and_si128(_mm_srli_epi16(bytes, 4), fifteen), _mm_and_si128(bytes, fifteen));
        let (high, low) = (_mm_shuffle_epi8(digits, high), _mm_shuffle_epi8(digits, low));
        let (a, b) = (_mm_unpacklo_epi8(high, low), _mm_unpackhi_epi8(high, low));
        let pieces = if WIDTH == 2 {
            [a, b, b]
        } else {
            let both = _mm_or_si128(_mm_shuffle_epi8(a, middle), _mm_shuffle_epi8(b, more));
            [
                _mm_or_si128(_mm_shuffle_epi8(a, first), blanks[0]),
                _mm_or_si128(both, blanks[1]),
                _mm_or_si128(_mm_shuffle_epi8(b, last), blanks[2]),
            ]
        };
        for (piece, text) in pieces.into_iter().zip(text.chunks_exact_mut(16)) {
            // SAFETY: sixteen bytes are written.
            unsafe { _mm_storeu_si128(text.as_mut_ptr().cast(), piece) };
        }
    }
}

/// Shuffle masks that spread 32 digits to 48 characters, with a blank after each pair; 128 selects no digit. The middle
/// 16 characters take digits from both halves.
const SPREAD: [[u8; 16]; 4] = {
    let mut spread = [[128; 16]; 4];
    let mut at = 0;
    while at < 48 {
        let digit = 2 * (at / 3) + at % 3;
        if at % 3 < 2 {
            let piece = if at < 16 {
                0
            } else if at < 32 {
                1 + digit / 16
            } else {
                3
            };
            spread[piece][at % 16] = digit as u8 % 16;
        }
        at += 1;
    }
    spread
};

/// Blanks of the 48 characters.
const BLANKS: [[u8; 16]; 3] = {
    let mut blanks = [[0; 16]; 3];
    let mut at = 2;
    while at < 48 {
        blanks[at / 16][at % 16] = b' ';
        at += 3;
    }
    blanks
};

/// First place at which two blocks have an equal byte.
#[inline(always)]
pub(crate) fn first_equal(block: &[u8; 16], other: &[u8; 16]) -> Option<usize> {
    // SAFETY: SSE2 is part of x86-64.
    let equal = unsafe { equal_bytes(block, other) };
    (equal != 0).then(|| equal.trailing_zeros() as usize)
}

/// Bit mask of the places at which two blocks have an equal byte.
#[inline]
#[target_feature(enable = "sse2")]
fn equal_bytes(block: &[u8; 16], other: &[u8; 16]) -> i32 {
    let load = |bytes: &[u8; 16]| {
        // SAFETY: sixteen bytes are read.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    };
    _mm_movemask_epi8(_mm_cmpeq_epi8(load(block), load(other)))
}

/// True if a text contains one of four bytes, or a byte that is less than `LIMIT` as a signed number.
#[inline(always)]
pub(crate) fn contains_any<const BYTES: u32, const LIMIT: i8>(text: &[u8]) -> bool {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { contains_any_of::<BYTES, LIMIT>(text) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn contains_any_of<const BYTES: u32, const LIMIT: i8>(text: &[u8]) -> bool {
    let marks = |block: __m128i| {
        let [a, b, c, d] = BYTES.to_be_bytes();
        let equal = |byte: u8| _mm_cmpeq_epi8(block, _mm_set1_epi8(byte as i8));
        let mut marks = _mm_or_si128(_mm_or_si128(equal(a), equal(b)), equal(c));
        if d != c {
            marks = _mm_or_si128(marks, equal(d));
        }
        if LIMIT > i8::MIN {
            marks = _mm_or_si128(marks, _mm_cmplt_epi8(block, _mm_set1_epi8(LIMIT)));
        }
        marks
    };
    let load = |bytes: &[u8; 16]| {
        // SAFETY: sixteen bytes are read.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    };
    let halves = |first: u64, last: u64| _mm_set_epi64x(last as i64, first as i64);
    let last = match (text.last_chunk(), text.first_chunk(), text.last_chunk()) {
        (Some(last), ..) => load(last),
        (None, Some(first), Some(last)) => halves(u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => {
            let Some(first) = text.first() else { return false };
            // Fills the block before the text with copies of its first byte.
            let word = text.iter().fold(u64::MAX / 255 * u64::from(*first), |word, byte| word << 8 | u64::from(*byte));
            halves(word, word)
        }
    };
    let blocks = text.as_chunks().0.iter();
    let found = blocks.fold(marks(last), |found, block| _mm_or_si128(found, marks(load(block))));
    _mm_movemask_epi8(found) != 0
}
