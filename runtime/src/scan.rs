//! Scans of short texts, 8 or 16 bytes at once.

/// One in each byte of a word.
const ONES: u64 = u64::MAX / 255;

/// True if `mark` sets the highest bit of any byte. Checks eight bytes at once.
#[inline]
pub(crate) fn any_marked(text: &[u8], mark: impl Fn(u64) -> u64) -> bool {
    let any = match text.last_chunk() {
        Some(last) => {
            let words = text.as_chunks().0.iter().map(|word| mark(u64::from_le_bytes(*word)));
            words.fold(mark(u64::from_le_bytes(*last)), |any, word| any | word)
        }
        None => text.iter().fold(0, |any, byte| any | mark(u64::from(*byte) * ONES)),
    };
    any & (ONES << 7) != 0
}

/// Marks the lowest byte of a word that is below a limit of at most 128, and perhaps others that are.
#[inline(always)]
pub(crate) fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(limit)) & !word
}

/// Marks the lowest byte of a word that has a value, and perhaps others after it.
#[inline(always)]
pub(crate) fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

/// True if a predicate is true for any byte. Checks 16 bytes at once, provided that `is` does not branch.
#[inline]
pub(crate) fn any_byte(text: &[u8], is: impl Fn(u8) -> bool) -> bool {
    let any_of = |chunk: &[u8; 16]| chunk.iter().fold(0, |any, byte| any | u8::from(is(*byte))) != 0;
    let any_of_half = |half: &[u8; 8]| half.iter().fold(0, |any, byte| any | u8::from(is(*byte))) != 0;
    match (text.last_chunk(), text.first_chunk(), text.last_chunk()) {
        (Some(last), ..) => text.as_chunks().0.iter().any(any_of) || any_of(last),
        (None, Some(first), Some(last)) => any_of_half(first) || any_of_half(last),
        _ => text.iter().any(|byte| is(*byte)),
    }
}
