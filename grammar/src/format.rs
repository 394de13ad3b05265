//! Canonical layout of either language: the result types and the entry point.

use crate::{Diagnostic, Source, SourceId, SourceLimits, Span, datakey, trcfmt};

/// Replacement of a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Bytes to replace.
    pub span: Span,
    /// New bytes, in the source's own encoding.
    pub text: Vec<u8>,
}

/// Changes that bring a source into its canonical layout.
#[derive(Debug, Clone)]
pub struct Formatted {
    /// Replacements in ascending order; empty if nothing changes.
    pub rewrites: Vec<Rewrite>,
    /// Errors in the parts that cannot be parsed and are kept unchanged.
    pub diagnostics: Vec<Diagnostic>,
}

impl Formatted {
    /// Applies the rewrites and returns the whole text.
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

/// Lays out a source with [`trcfmt::format`] or [`datakey::format`], chosen by its content.
pub fn format(id: SourceId, source: &Source, limits: &SourceLimits) -> Formatted {
    if datakey::is_xml(source) { datakey::format(id, source, limits) } else { trcfmt::format(id, source, limits) }
}
