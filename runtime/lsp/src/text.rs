//! Converts between byte offsets and the protocol's lines and columns.
//!
//! A line ends at `\n`, `\r\n` or `\r`, as in the protocol. Columns count bytes or UTF-16 units, as client and server
//! agreed. An invalid UTF-8 byte counts as one of either.

use super::protocol::{Encoding, Position, Range};
use tfbc_grammar::Span;

/// Start offsets of a text's lines.
#[derive(Debug, Clone)]
pub struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    pub fn new(bytes: &[u8]) -> Self {
        let mut starts = vec![0];
        push_starts(bytes, 0, bytes.len(), &mut starts);
        Self { starts }
    }

    /// Offset of a position. Positions after the end of a line, or of the text, become that end.
    pub fn offset(&self, bytes: &[u8], position: Position, encoding: Encoding) -> usize {
        let Some(start) = self.starts.get(position.line as usize) else { return bytes.len() };
        let line = self.line(bytes, position.line as usize);
        *start as usize + column_to_bytes(line, position.character as usize, encoding)
    }

    /// Position of an offset.
    pub fn position(&self, bytes: &[u8], offset: u32, encoding: Encoding) -> Position {
        let offset = offset.min(bytes.len() as u32);
        let line = self.starts.partition_point(|start| *start <= offset).max(1) - 1;
        let before = &bytes[self.starts[line] as usize..offset as usize];
        Position::new(line as u32, columns(before, encoding) as u32)
    }

    pub fn range(&self, bytes: &[u8], span: Span, encoding: Encoding) -> Range {
        Range::new(self.position(bytes, span.start, encoding), self.position(bytes, span.end.max(span.start), encoding))
    }

    /// Replaces `bytes[start..end]` by `new`, and scans only the lines around it.
    pub fn replace(&mut self, bytes: &mut Vec<u8>, start: usize, end: usize, new: &str) {
        let first = self.starts.partition_point(|line| *line as usize <= start).max(1) - 1;
        // A `\r` at the end of the previous line may now precede a `\n`.
        let first = first.saturating_sub(1);
        let last = self.starts.partition_point(|line| *line as usize <= end + 1);
        let next_line = self.starts.get(last).map(|line| *line as usize);
        bytes.splice(start..end, new.bytes());
        let moved = |at: usize| at + new.len() - (end - start);
        let region_end = next_line.map_or(bytes.len(), moved);
        let mut region = Vec::new();
        push_starts(bytes, self.starts[first] as usize, region_end, &mut region);
        // The line that begins after the region is among those kept.
        region.retain(|start| next_line.is_none_or(|next_line| (*start as usize) < moved(next_line)));
        let tail: Vec<u32> = self.starts[last..].iter().map(|line| moved(*line as usize) as u32).collect();
        self.starts.truncate(first + 1);
        self.starts.extend(region);
        self.starts.extend(tail);
    }

    /// Line without its line end.
    fn line<'b>(&self, bytes: &'b [u8], line: usize) -> &'b [u8] {
        let end = self.starts.get(line + 1).map_or(bytes.len(), |end| *end as usize);
        without_line_end(&bytes[self.starts[line] as usize..end])
    }

    /// Offset per line.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }
}

/// Adds the start of every line that follows a line end in `bytes[from..to]`.
fn push_starts(bytes: &[u8], from: usize, to: usize, starts: &mut Vec<u32>) {
    for (at, byte) in bytes.iter().enumerate().take(to).skip(from) {
        if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
            starts.push(at as u32 + 1);
        }
    }
}

/// Removes a final `\n`, `\r\n` or `\r`.
pub fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Number of columns that some bytes take.
pub fn columns(bytes: &[u8], encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => bytes.len(),
        Encoding::Utf16 if bytes.is_ascii() => bytes.len(),
        Encoding::Utf16 => bytes
            .utf8_chunks()
            .map(|chunk| chunk.valid().chars().map(char::len_utf16).sum::<usize>() + chunk.invalid().len())
            .sum(),
    }
}

/// Number of bytes in the given columns. A column inside a character becomes its start.
fn column_to_bytes(line: &[u8], column: usize, encoding: Encoding) -> usize {
    let mut left = column;
    let mut at = 0;
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            let width = if encoding == Encoding::Utf8 { c.len_utf8() } else { c.len_utf16() };
            if left < width {
                return at;
            }
            left -= width;
            at += c.len_utf8();
        }
        let n = chunk.invalid().len().min(left);
        at += n;
        left -= n;
        if n < chunk.invalid().len() {
            return at;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_offsets_agree() {
        let text = "a\r\n\u{e9}\u{1F600}x\rb\n\nend".as_bytes();
        let lines = Lines::new(text);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (offset, _) in String::from_utf8_lossy(text).char_indices() {
                let position = lines.position(text, offset as u32, encoding);
                // There is no position between `\r` and `\n`.
                if offset != 2 {
                    assert_eq!(lines.offset(text, position, encoding), offset, "{encoding:?} {position:?}");
                }
            }
        }
        assert_eq!(lines.position(text, 9, Encoding::Utf16), Position::new(1, 3));
        assert_eq!(lines.position(text, 9, Encoding::Utf8), Position::new(1, 6));
        assert_eq!(lines.offset(text, Position::new(1, 2), Encoding::Utf16), 5, "within a character");
        assert_eq!(lines.offset(text, Position::new(1, 99), Encoding::Utf16), 10);
        assert_eq!(lines.offset(text, Position::new(99, 0), Encoding::Utf16), text.len());
    }

    #[test]
    fn bytes_that_are_no_text_count_one() {
        let text = b"a\xff\xfeb";
        let lines = Lines::new(text);
        assert_eq!(lines.position(text, 3, Encoding::Utf16), Position::new(0, 3));
        assert_eq!(lines.offset(text, Position::new(0, 2), Encoding::Utf16), 2);
    }

    #[test]
    fn lines_after_changes_are_those_of_the_new_text() {
        let mut bytes = b"one\ntwo\r\nthree\rfour\n".to_vec();
        let mut lines = Lines::new(&bytes);
        let mut seed = 7u64;
        let mut below = |n: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        for _ in 0..2000 {
            let start = below(bytes.len() + 1);
            let end = (start + below(4)).min(bytes.len());
            let new = ["", "\n", "\r", "\r\n", "x", "y\nz", "\n\n"][below(7)];
            lines.replace(&mut bytes, start, end, new);
            assert_eq!(lines.starts, Lines::new(&bytes).starts, "{:?}", String::from_utf8_lossy(&bytes));
        }
    }
}
