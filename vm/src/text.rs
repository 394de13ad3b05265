//! Text buffer that the machine prints into.

/// Growing buffer of report text.
///
/// The bytes after the text are always initialised, so that short texts can be appended with fixed-size stores.
///
/// ```
/// let mut text = tfbc_vm::TextBuf::new();
/// text.push(b"010 ");
/// text.pad(3);
/// assert_eq!(text.as_bytes(), b"010    ");
/// ```
#[derive(Debug, Clone)]
pub struct TextBuf {
    /// Initialised bytes; at least [`TextBuf::SLACK`] more than the text, which is `buf[..len]`.
    pub(crate) buf: Vec<u8>,
    pub(crate) len: usize,
    /// Length of `buf` without the slack.
    pub(crate) end: usize,
}

/// Longest margin that is written by one store.
pub(crate) const MARGIN: u16 = 32;

/// Maximum number of column bytes that are printed together with an event's text.
pub const COLUMNS: usize = 640;

/// True if a text contains one of the four bytes in `BYTES`, or a byte that is less than `LIMIT` as a signed number.
///
/// ```
/// use tfbc_vm::contains_any;
/// const COMMA: u32 = u32::from_be_bytes(*b",,,,");
/// assert!(contains_any::<COMMA, { i8::MIN }>(b"a,b") && !contains_any::<COMMA, { i8::MIN }>(b"a.b"));
/// assert!(contains_any::<COMMA, 0x20>(b"a\tb") && contains_any::<COMMA, 0x20>(b"\xe9"));
/// ```
#[inline(always)]
pub fn contains_any<const BYTES: u32, const LIMIT: i8>(text: &[u8]) -> bool {
    #[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
    return crate::sse::contains_any::<BYTES, LIMIT>(text);
    #[cfg(not(all(target_arch = "x86_64", not(feature = "safe"))))]
    text.iter().any(|byte| BYTES.to_be_bytes().contains(byte) || (*byte as i8) < LIMIT)
}

/// First place at which two blocks have an equal byte.
///
/// ```
/// assert_eq!(tfbc_vm::first_equal(b"0123456789abcdef", &[b'9'; 16]), Some(9));
/// assert_eq!(tfbc_vm::first_equal(b"0123456789abcdef", b"123456789abcdef0"), None);
/// ```
#[inline(always)]
pub fn first_equal(block: &[u8; 16], other: &[u8; 16]) -> Option<usize> {
    #[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
    return crate::sse::first_equal(block, other);
    #[cfg(not(all(target_arch = "x86_64", not(feature = "safe"))))]
    block.iter().zip(other).position(|(byte, other)| byte == other)
}

impl Default for TextBuf {
    fn default() -> Self {
        Self::new()
    }
}

impl TextBuf {
    /// Room for the text of an instruction, or of a straight routine.
    pub(crate) const TEXT_ROOM: usize = 768;
    /// Room after the text without a check: for columns, a margin and a text.
    pub(crate) const SLACK: usize = COLUMNS + MARGIN as usize + Self::TEXT_ROOM;
    /// Initial size of the buffer.
    const FIRST: usize = 4096;
    /// Size of [`TextBuf::spare`].
    pub const SPARE: usize = COLUMNS;

    /// An empty text.
    pub fn new() -> Self {
        Self { buf: vec![0; Self::FIRST], len: 0, end: Self::FIRST - Self::SLACK }
    }

    /// The text.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buf[..self.len]
    }

    /// Length of the text in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Allocated size in bytes.
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// Removes the text and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Shortens the text to `len` bytes, if it is longer.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes room for `n` bytes plus the slack.
    #[inline]
    pub(crate) fn room(&mut self, n: usize) {
        if self.len + n > self.end {
            self.grow(n);
        }
    }

    #[cold]
    fn grow(&mut self, n: usize) {
        let len = (self.len + n + Self::SLACK).next_power_of_two();
        self.buf.resize(len, 0);
        self.end = len - Self::SLACK;
    }

    /// Appends bytes.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len());
        self.buf[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Room after the text. Write to it, then call [`TextBuf::advance`].
    #[inline]
    pub fn spare(&mut self) -> &mut [u8; Self::SPARE] {
        self.room(0);
        let Some(spare) = self.buf[self.len..].first_chunk_mut() else { unreachable!("room was made for it") };
        spare
    }

    /// The bytes of the buffer from offset `at`, even after the text's end; `None` if it has too few.
    #[inline]
    pub fn block<const N: usize>(&self, at: usize) -> Option<&[u8; N]> {
        self.buf.get(at..)?.first_chunk()
    }

    /// Appends the first `n` bytes of [`TextBuf::spare`], at most all of them.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.len = (self.len + n.min(Self::SPARE)).min(self.buf.len());
    }

    /// Appends the columns of a line: `write` puts them into the given buffer and returns their length.
    #[inline(always)]
    pub fn put_columns(&mut self, write: impl FnOnce(&mut [u8; COLUMNS]) -> usize) {
        self.room(0);
        // Not `map_or`, which would become a call.
        let n = match self.buf[self.len..].first_chunk_mut() {
            Some(room) => write(room),
            None => 0,
        };
        self.len += n.min(COLUMNS);
    }

    /// Like [`TextBuf::put_columns`], but replaces the text's last byte.
    #[inline(always)]
    pub fn replace_last(&mut self, write: impl FnOnce(&mut [u8; COLUMNS]) -> usize) {
        self.room(0);
        let start = self.len.saturating_sub(1);
        let n = match self.buf[start..].first_chunk_mut() {
            Some(room) => write(room),
            None => 0,
        };
        self.len = start + n.min(COLUMNS);
    }

    /// Appends an unsigned decimal.
    #[inline]
    pub fn dec(&mut self, n: u64) {
        self.room(0);
        self.len = crate::num::dec(&mut self.buf, self.len, n);
    }

    /// Appends `n` blanks.
    #[inline]
    pub fn pad(&mut self, n: usize) {
        self.room(n);
        if n <= 32 {
            crate::num::store(&mut self.buf, self.len, [b' '; 32]);
        } else {
            self.buf[self.len..self.len + n].fill(b' ');
        }
        self.len += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_at_any_place() {
        const JSON: u32 = u32::from_be_bytes(*b"\"\\\x7F\x7F");
        const CSV: u32 = u32::from_be_bytes(*b",\"\r\n");
        for len in 0..70 {
            assert!(!contains_any::<JSON, 0x20>(&vec![b'a'; len]));
            for (at, byte) in (0..len).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
                let mut text = vec![b'a'; len];
                text[at] = byte;
                let is_other = !(b' '..0x7F).contains(&byte) || b"\"\\".contains(&byte);
                assert_eq!(contains_any::<JSON, 0x20>(&text), is_other, "{text:?}");
                assert_eq!(contains_any::<CSV, { i8::MIN }>(&text), b",\"\r\n".contains(&byte), "{text:?}");
            }
        }
    }
}
