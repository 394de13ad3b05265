/// A run of bytes of one source: `start` inclusive, `end` exclusive, both byte offsets.
///
/// Offsets are `u32`: sources are limited to 64 MiB.
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
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Length in bytes; 0 for a span that was built back to front.
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether the span holds no byte.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The span from this one's start to `last`'s end.
    pub const fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }
}

/// A node with the bytes it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spanned<N> {
    /// The node.
    pub node: N,
    /// Where it stands.
    pub span: Span,
}

impl<N> Spanned<N> {
    /// Joins a node and its place.
    pub const fn new(node: N, span: Span) -> Self {
        Self { node, span }
    }
}
