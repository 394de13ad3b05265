//! Formatting by SSE2, which every x86-64 processor has.
#![expect(unsafe_code, reason = "the compiler asks for it where a function says which instructions it uses")]

use std::arch::x86_64::*;

/// The hex digits of eight bytes, the lowest first; `LETTERS` is how far `A` or `a` stands behind `:`.
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
