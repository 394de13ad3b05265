//! Quoted text with its continued lines joined, and the mapping from joined bytes back to the source.

use smallvec::SmallVec;

use super::lines::join_len;
use crate::Span;

/// Text between quotes without the `\` + line end of continued lines.
pub(crate) enum QuotedText<'s> {
    /// Text on one physical line.
    Whole {
        /// Bytes of the source.
        bytes: &'s [u8],
        /// Source offset of the first byte.
        start: u32,
    },
    /// Text over several lines.
    Cut {
        /// Bytes without the joins.
        bytes: SmallVec<[u8; 128]>,
        /// Runs of bytes between joins: (offset in `bytes`, offset in the source).
        runs: SmallVec<[(u32, u32); 4]>,
    },
}

impl<'s> QuotedText<'s> {
    /// Joins `text`, which begins at source offset `start`.
    pub fn new(text: &'s [u8], start: u32) -> Self {
        if !text.contains(&b'\n') {
            return QuotedText::Whole { bytes: text, start };
        }
        let (mut bytes, mut runs) = (SmallVec::new(), SmallVec::new());
        let mut at = 0;
        while at < text.len() {
            let run = text[at..].iter().position(|b| *b == b'\n').map_or(&text[at..], |newline| {
                let line = &text[at..at + newline];
                &line[..line.iter().rposition(|b| *b == b'\\').unwrap_or(line.len())]
            });
            runs.push((bytes.len() as u32, start + at as u32));
            bytes.extend_from_slice(run);
            at += run.len();
            at += join_len(&text[at..]).unwrap_or(text.len() - at);
        }
        QuotedText::Cut { bytes, runs }
    }

    /// Joined bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            QuotedText::Whole { bytes, .. } => bytes,
            QuotedText::Cut { bytes, .. } => bytes,
        }
    }

    /// Source span of a range of joined bytes.
    pub fn span(&self, range: std::ops::Range<usize>) -> Span {
        let first = self.offset(range.start);
        let end = if range.is_empty() { first } else { self.offset(range.end - 1) + 1 };
        Span::new(first, end)
    }

    fn offset(&self, index: usize) -> u32 {
        match self {
            QuotedText::Whole { start, .. } => start + index as u32,
            QuotedText::Cut { runs, .. } => {
                let run = runs.partition_point(|(joined, _)| *joined as usize <= index).max(1);
                let (joined, source) = runs[run - 1];
                source + (index as u32).saturating_sub(joined)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str, offsets: &[u32]) {
        let joined = QuotedText::new(text.as_bytes(), 100);
        assert_eq!(joined.bytes(), expected.as_bytes(), "{text:?}");
        let found: Vec<u32> = (0..expected.len()).map(|n| joined.span(n..n + 1).start).collect();
        assert_eq!(found, offsets, "{text:?}");
    }

    #[test]
    fn parts_join_with_nothing_between() {
        check("ab", "ab", &[100, 101]);
        check("a\\\nb", "ab", &[100, 103]);
        check("a \\ \t\r\n b", "a  b", &[100, 101, 107, 108]);
        check("\\\n\\\na", "a", &[104]);
        check("a\\\\\nn", "a\\n", &[100, 101, 104]);
    }

    #[test]
    fn a_span_over_a_join_holds_it() {
        assert_eq!(QuotedText::new(b"a\\\nb", 0).span(0..2), Span::new(0, 4));
    }
}
