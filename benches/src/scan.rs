//! Hand-written baselines for the compiler's phases: the least work that reading a format file takes.

/// Kind of a scanned word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// A string with its quotes.
    Text,
    /// Any other word.
    Bare,
    /// One of `, { } ( )`.
    Mark,
    /// End of a line.
    LineEnd,
}

/// A word with its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Kind of word.
    pub kind: WordKind,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

/// Splits a format file of the load into words, without errors, codes or continued lines.
///
/// ```
/// use tfbc_benches::{WordKind, scan};
///
/// let words = scan(b"100 1.0 \"READ \" G12\n");
/// assert_eq!(words.len(), 5);
/// assert_eq!(words[2].kind, WordKind::Text);
/// ```
pub fn scan(source: &[u8]) -> Vec<Word> {
    let mut words = Vec::with_capacity(source.len() / 4);
    let mut at = 0;
    while let Some(&first) = source.get(at) {
        let rest = &source[at + 1..];
        let bare = |rest: &[u8]| rest.iter().position(|byte| b" \t\n\",{}()".contains(byte)).unwrap_or(rest.len());
        let (kind, more) = match first {
            b' ' | b'\t' => {
                at += 1;
                continue;
            }
            b'"' => (WordKind::Text, rest.iter().position(|&byte| byte == b'"').map_or(rest.len(), |end| end + 1)),
            b',' | b'{' | b'}' | b'(' | b')' => (WordKind::Mark, 0),
            b'\n' => (WordKind::LineEnd, 0),
            _ => (WordKind::Bare, bare(rest)),
        };
        let end = at + 1 + more;
        words.push(Word { kind, start: at as u32, end: end as u32 });
        at = end;
    }
    words
}

/// Scans a format file, and copies each word into a 32-byte record and each text into a pool: the least work that
/// produces something like a blob.
pub fn translate(source: &[u8]) -> Vec<u8> {
    let words = scan(source);
    let mut records = Vec::with_capacity(32 * words.len());
    let mut pool = Vec::with_capacity(source.len());
    for word in words {
        let text = &source[word.start as usize..word.end as usize];
        let mut record = [0; 32];
        record[0] = word.kind as u8;
        record[4..8].copy_from_slice(&word.start.to_le_bytes());
        let n = text.len().min(16);
        record[8..8 + n].copy_from_slice(&text[..n]);
        if word.kind == WordKind::Text {
            record[24..28].copy_from_slice(&(pool.len() as u32).to_le_bytes());
            pool.extend_from_slice(text);
        }
        records.extend_from_slice(&record);
    }
    records.append(&mut pool);
    records
}

/// Sums a blob's words, which reads it once.
pub fn sum(blob: &[u8]) -> u64 {
    let (words, rest) = blob.as_chunks::<8>();
    let tail = rest.iter().map(|&byte| u64::from(byte));
    words.iter().map(|word| u64::from_le_bytes(*word)).chain(tail).fold(0, u64::wrapping_add)
}
