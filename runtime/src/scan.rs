//! Scans of short texts, 16 bytes at once.

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
