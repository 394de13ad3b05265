//! Hex digits, dumps and texts of the hand-written formatters, with SSE2 and, for dumps, SSSE3.
#![expect(unsafe_code, reason = "the limit that the machine is compared with uses the processor's vectors")]

use std::arch::x86_64::*;

/// Hex digits of eight bytes, lowest byte first.
#[inline(always)]
pub(crate) fn hex<const LETTERS: u64>(bytes: u64) -> [u8; 16] {
    // SAFETY: SSE2 is part of x86-64, and vectors are bytes.
    unsafe {
        let bytes = _mm_cvtsi64_si128(bytes as i64);
        std::mem::transmute(text::<LETTERS>(_mm_unpacklo_epi8(high_nibbles(bytes), low_nibbles(bytes))))
    }
}

/// Hex digits of four bytes, lowest byte first.
#[inline(always)]
pub(crate) fn hex_half<const LETTERS: u64>(bytes: u32) -> [u8; 8] {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let bytes = _mm_cvtsi32_si128(bytes as i32);
        let text = text::<LETTERS>(_mm_unpacklo_epi8(high_nibbles(bytes), low_nibbles(bytes)));
        _mm_cvtsi128_si64(text).to_le_bytes()
    }
}

/// Hex digits of the low halves of three words after the first.
#[inline(always)]
pub(crate) fn three_halves(event: &[u8; 32]) -> [[u8; 8]; 3] {
    const UPPER: u64 = 7;
    // SAFETY: SSE2 is part of x86-64, and 16 bytes from 8 and 16 are in the event.
    unsafe {
        let load = |at: usize| _mm_castsi128_ps(_mm_loadu_si128(event.as_ptr().add(at).cast()));
        let halves = _mm_castps_si128(_mm_shuffle_ps::<0b11_11_11_01>(load(8), load(16)));
        let (high, low) = (high_nibbles(halves), low_nibbles(halves));
        let (two, last) = (text::<UPPER>(_mm_unpacklo_epi8(high, low)), text::<UPPER>(_mm_unpackhi_epi8(high, low)));
        [two, _mm_unpackhi_epi64(two, two), last].map(|digits| _mm_cvtsi128_si64(digits).to_le_bytes())
    }
}

/// # Safety
/// Every x86-64 processor has SSE2.
#[inline(always)]
unsafe fn high_nibbles(bytes: __m128i) -> __m128i {
    // SAFETY: as the function says.
    unsafe { _mm_and_si128(_mm_srli_epi16::<4>(bytes), _mm_set1_epi8(15)) }
}

/// # Safety
/// Every x86-64 processor has SSE2.
#[inline(always)]
unsafe fn low_nibbles(bytes: __m128i) -> __m128i {
    // SAFETY: as the function says.
    unsafe { _mm_and_si128(bytes, _mm_set1_epi8(15)) }
}

/// Characters of 16 hex digits.
///
/// # Safety
/// Every x86-64 processor has SSE2.
#[inline(always)]
unsafe fn text<const LETTERS: u64>(digits: __m128i) -> __m128i {
    // SAFETY: as the function says.
    unsafe {
        let letters = _mm_and_si128(_mm_cmpgt_epi8(digits, _mm_set1_epi8(9)), _mm_set1_epi8(LETTERS as i8));
        _mm_add_epi8(_mm_add_epi8(digits, _mm_set1_epi8(0x30)), letters)
    }
}

/// Bit masks of the NUL bytes and of all unprintable bytes; bit 0 is the first byte.
#[inline(always)]
pub(crate) fn nul_and_odd(text: &[u8; 16]) -> (u32, u32) {
    // SAFETY: SSE2 is part of x86-64, and 16 bytes are read.
    unsafe {
        let text = _mm_loadu_si128(text.as_ptr().cast());
        let nul = _mm_cmpeq_epi8(text, _mm_setzero_si128());
        // Maps 0x20 to the lowest signed number.
        let odd = _mm_cmpgt_epi8(_mm_add_epi8(text, _mm_set1_epi8(0x60)), _mm_set1_epi8(i8::MIN + 0x5e));
        (_mm_movemask_epi8(nul) as u32, _mm_movemask_epi8(odd) as u32)
    }
}

/// Writes bytes as pairs of hex digits, each with a blank after it, 16 at a time. Returns how many bytes were written,
/// and how many characters they are.
///
/// # Safety
/// `to` has room for three characters a byte.
#[inline(always)]
pub(crate) unsafe fn spaced_pairs(bytes: &[u8], to: *mut u8) -> (usize, usize) {
    let (sixteens, _) = bytes.as_chunks::<16>();
    if sixteens.is_empty() || !is_x86_feature_detected!("ssse3") {
        return (0, 0);
    }
    // SAFETY: the processor has SSSE3, and the caller gives the room.
    unsafe { spaced_sixteens(sixteens, to) };
    (sixteens.len() * 16, sixteens.len() * 48)
}

/// Constant vectors are loaded once for all bytes.
///
/// # Safety
/// `to` has room for 48 bytes for each 16.
#[target_feature(enable = "ssse3")]
unsafe fn spaced_sixteens(sixteens: &[[u8; 16]], mut to: *mut u8) {
    let digits = _mm_setr_epi8(48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 65, 66, 67, 68, 69, 70);
    let first = _mm_setr_epi8(0, 1, -1, 2, 3, -1, 4, 5, -1, 6, 7, -1, 8, 9, -1, 10);
    let left = _mm_setr_epi8(11, -1, 12, 13, -1, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    let right = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, -1, 2, 3, -1, 4, 5);
    let last = _mm_setr_epi8(-1, 6, 7, -1, 8, 9, -1, 10, 11, -1, 12, 13, -1, 14, 15, -1);
    let blanks = [
        _mm_setr_epi8(0, 0, 32, 0, 0, 32, 0, 0, 32, 0, 0, 32, 0, 0, 32, 0),
        _mm_setr_epi8(0, 32, 0, 0, 32, 0, 0, 32, 0, 0, 32, 0, 0, 32, 0, 0),
        _mm_setr_epi8(32, 0, 0, 32, 0, 0, 32, 0, 0, 32, 0, 0, 32, 0, 0, 32),
    ];
    for bytes in sixteens {
        // SAFETY: 16 bytes are read, and 48 written, for which the caller gives room.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            let (high, low) = (high_nibbles(bytes), low_nibbles(bytes));
            let (high, low) = (_mm_shuffle_epi8(digits, high), _mm_shuffle_epi8(digits, low));
            let (a, b) = (_mm_unpacklo_epi8(high, low), _mm_unpackhi_epi8(high, low));
            let middle = _mm_or_si128(_mm_shuffle_epi8(a, left), _mm_shuffle_epi8(b, right));
            _mm_storeu_si128(to.cast(), _mm_or_si128(_mm_shuffle_epi8(a, first), blanks[0]));
            _mm_storeu_si128(to.add(16).cast(), _mm_or_si128(middle, blanks[1]));
            _mm_storeu_si128(to.add(32).cast(), _mm_or_si128(_mm_shuffle_epi8(b, last), blanks[2]));
            to = to.add(48);
        }
    }
}
