//! Diagnostics: messages with positions, help and fixes.

use crate::code::{CodeInfo, Severity};
use crate::source::SourceId;
use crate::span::Span;
use smallvec::SmallVec;

/// A position with a short text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Source of the position.
    pub source: SourceId,
    /// Smallest range that shows the problem.
    pub span: Span,
    /// Text shown at the position; may be empty.
    pub text: String,
}

/// Error or warning about a source, built where the problem is found and rendered elsewhere.
///
/// The message is lower case, has no full stop, and makes sense on its own. Advice belongs in `help`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The stable code.
    pub code: &'static CodeInfo,
    /// The problem: the value found and the value expected.
    pub message: String,
    /// Position of the problem.
    pub primary: Label,
    /// Related positions, such as an earlier definition.
    pub secondary: SmallVec<[Label; 1]>,
    /// Advice, if there is any. Its first word is a verb.
    pub help: Option<String>,
    /// Change of the source that repairs it, if one is known.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Starts an error; the `with_` methods add further parts.
    pub fn error(code: &'static CodeInfo, source: SourceId, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, source, span, message.into())
    }

    /// Starts a warning; the `with_` methods add further parts.
    pub fn warning(code: &'static CodeInfo, source: SourceId, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, source, span, message.into())
    }

    fn new(severity: Severity, code: &'static CodeInfo, source: SourceId, span: Span, message: String) -> Self {
        let primary = Label { source, span, text: String::new() };
        Self { severity, code, message, primary, secondary: SmallVec::new(), help: None, fix: None }
    }

    /// Sets the text at the primary position.
    #[must_use]
    pub fn with_label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds a related position.
    #[must_use]
    pub fn with_secondary(mut self, source: SourceId, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { source, span, text: text.into() });
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the fix.
    #[must_use]
    pub fn with_fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }
}

/// A change of the source that repairs a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Title, as a command: `delete the comma`.
    pub title: String,
    /// Edits in the source of the primary position, in ascending order, without overlaps.
    pub edits: SmallVec<[Edit; 1]>,
    /// True if the change keeps the meaning of the file, or is certainly what the author meant. Other fixes are
    /// guesses, such as the nearest name, and are applied only on request.
    pub safe: bool,
}

impl Fix {
    /// A fix that can be applied without review.
    pub fn safe(title: impl Into<String>, edits: impl IntoIterator<Item = Edit>) -> Self {
        Self { title: title.into(), edits: edits.into_iter().collect(), safe: true }
    }

    /// A fix that a person should review.
    pub fn guess(title: impl Into<String>, edits: impl IntoIterator<Item = Edit>) -> Self {
        Self { safe: false, ..Self::safe(title, edits) }
    }
}

/// Replacement of a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Bytes to replace; empty for an insertion.
    pub span: Span,
    /// New text.
    pub text: String,
}

impl Edit {
    /// Replaces the bytes at `span`.
    pub fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }

    /// Deletes the bytes at `span`.
    pub fn delete(span: Span) -> Self {
        Self::replace(span, "")
    }

    /// Inserts `text` before the byte at offset `at`.
    pub fn insert(at: u32, text: impl Into<String>) -> Self {
        Self::replace(Span::new(at, at), text)
    }
}
