//! Bytes that every line of a report repeats: delimiters, keys and marks of colours, ready to be stored at once.

use tfbc_vm::TextBuf;

/// Offsets in a room of [`TextBuf::SPARE`] bytes up to which a store needs no check.
pub(crate) const MAX_START: usize = 511;
const _: () = assert!(MAX_START + 128 <= TextBuf::SPARE);

/// An offset of at most [`MAX_START`], in a form from which the compiler sees that stores fit.
#[inline(always)]
pub(crate) fn start(at: usize) -> usize {
    debug_assert!(at <= MAX_START, "{at}");
    at & MAX_START
}

/// A short text in a block of fixed length. One store writes the whole block, and the next value overwrites the rest.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Literal {
    text: [u8; Literal::MAX],
    len: u8,
}

impl Literal {
    /// Bytes that are stored.
    pub const MAX: usize = 24;

    /// A literal of at most [`Literal::MAX`] bytes.
    pub fn of(text: &[u8]) -> Self {
        let mut literal = Self::default();
        literal.append(text);
        literal
    }

    /// A literal of a text; `None` if that is too long.
    pub fn fitting(text: &[u8]) -> Option<Self> {
        (text.len() <= Self::MAX).then(|| Self::of(text))
    }

    /// Literals for a text of any length; none for an empty one.
    pub fn all(text: &[u8]) -> impl Iterator<Item = Self> {
        text.chunks(Self::MAX).map(Self::of)
    }

    /// Appends bytes up to the capacity; returns those that did not fit.
    pub fn append<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let start = usize::from(self.len);
        let Some(room) = self.text.get_mut(start..start + bytes.len()) else { return bytes };
        room.copy_from_slice(bytes);
        self.len += bytes.len() as u8;
        &[]
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.len()]
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        // The mask changes nothing. It shows the compiler that the length is small.
        usize::from(self.len & 31)
    }

    /// Writes the text at an offset; returns the offset after it.
    #[inline(always)]
    pub fn put(&self, room: &mut [u8], at: usize) -> usize {
        store(room, at, self.text);
        at + self.len()
    }
}

/// Writes bytes at an offset; writes nothing if there is no room for all of them.
#[inline(always)]
pub(crate) fn store<const N: usize>(room: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(room) = room.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<N>()) {
        *room = bytes;
    }
}
