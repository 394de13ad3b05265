//! What formatters of both languages give.

use crate::{Diagnostic, Source, SourceId, SourceLimits, Span, datakey, trcfmt};

/// Bytes of a source, and what is to stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The bytes that go.
    pub span: Span,
    /// What comes in their place: bytes as the source's, of no certain encoding.
    pub text: Vec<u8>,
}

/// The canonical layout of a source.
#[derive(Debug, Clone)]
pub struct Formatted {
    /// What to rewrite, in ascending order; nothing where the source is laid out so already.
    pub rewrites: Vec<Rewrite>,
    /// The errors of what cannot be read, and so stays as it was.
    pub diagnostics: Vec<Diagnostic>,
}

impl Formatted {
    /// The whole source in its canonical layout.
    pub fn text(&self, source: &Source) -> Vec<u8> {
        let (bytes, mut text, mut at) = (source.bytes(), Vec::with_capacity(source.bytes().len()), 0);
        for Rewrite { span, text: by } in &self.rewrites {
            text.extend_from_slice(&bytes[at..span.start as usize]);
            text.extend_from_slice(by);
            at = span.end as usize;
        }
        text.extend_from_slice(&bytes[at..]);
        text
    }
}

/// Lays out a source of either language, told by its content: [`trcfmt::format`] or [`datakey::format`].
pub fn format(id: SourceId, source: &Source, limits: &SourceLimits) -> Formatted {
    if datakey::is_xml(source) { datakey::format(id, source, limits) } else { trcfmt::format(id, source, limits) }
}
