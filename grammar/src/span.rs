/// Range of bytes in one source: `start` is inclusive, `end` exclusive.
///
/// Offsets are `u32`: sources are limited to 1 GiB.
///
/// ```
/// use tfbc_grammar::Span;
/// let span = Span::new(4, 7);
/// assert_eq!(span.len(), 3);
/// assert_eq!(span.to(Span::new(9, 12)), Span::new(4, 12));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Range from `start` to `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Length in bytes; 0 if `end` is before `start`.
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// True if the span contains no byte.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Span from the start of this one to the end of `last`.
    pub const fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }
}

/// A node with its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spanned<N> {
    /// The node.
    pub node: N,
    /// Its span.
    pub span: Span,
}

impl<N> Spanned<N> {
    /// Combines a node and its span.
    pub const fn new(node: N, span: Span) -> Self {
        Self { node, span }
    }
}
