//! Records for tests.

use crate::reader::kev::KevRecord;

/// Words with edge cases: printable and unprintable bytes, failed calls, signs, number lengths.
const WORDS: [u32; 12] =
    [0, 1, 9, 999, 1000, 0x6162_6364, 0x6100_0a7e, 0x7F22_2020, u32::MAX, 0x8000_0000, 123_456_789, 0x0A0B_0C0D];

/// Pseudorandom words of [`WORDS`], big-endian.
pub(crate) fn payload(seed: u32, n_words: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        WORDS[(state >> 16) as usize % WORDS.len()]
    };
    (0..n_words).flat_map(|_| word().to_be_bytes()).collect()
}

/// A record of a process or thread event: `THCREATE`.
pub(crate) fn thread_created(bytes: &[u8], wide: bool) -> KevRecord<'_> {
    KevRecord { number: 1, offset: 0, class: 4, event: 24, cpu: 0, wide, stamp: 0, msb: None, bytes }
}
