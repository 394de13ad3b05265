use crate::{CodeInfo, SourceId, Span};
use smallvec::SmallVec;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The file compiles, and probably does not do what its author meant. `--strict` makes these errors.
    Warning,
    /// The stanza cannot be compiled.
    Error,
}

/// A place with a short remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The source that holds the place.
    pub source: SourceId,
    /// The smallest run of bytes that shows the problem.
    pub span: Span,
    /// A remark that is read at the place; may be empty.
    pub text: String,
}

/// One finding about a source, built where the problem is known and rendered elsewhere.
///
/// The message is lower case, without a full stop, and true on its own; advice stands only in `help`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The stable code.
    pub code: &'static CodeInfo,
    /// What was found, and what was expected.
    pub message: String,
    /// The place of the problem.
    pub primary: Label,
    /// Other places that belong to it, such as an earlier definition.
    pub secondary: SmallVec<[Label; 1]>,
    /// How to mend it, where that is known.
    pub help: Option<String>,
    /// A change of the source that mends it, where one is known.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// An error at a place; further parts are added by the `with_` methods.
    pub fn error(code: &'static CodeInfo, source: SourceId, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, source, span, message.into())
    }

    /// A warning at a place.
    pub fn warning(code: &'static CodeInfo, source: SourceId, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, source, span, message.into())
    }

    fn new(severity: Severity, code: &'static CodeInfo, source: SourceId, span: Span, message: String) -> Self {
        let primary = Label { source, span, text: String::new() };
        Self { severity, code, message, primary, secondary: SmallVec::new(), help: None, fix: None }
    }

    /// The remark at the primary place.
    #[must_use]
    pub fn with_label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Another place with its remark.
    #[must_use]
    pub fn with_secondary(mut self, source: SourceId, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { source, span, text: text.into() });
        self
    }

    /// Advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A change that mends it.
    #[must_use]
    pub fn with_fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }
}

/// A change of the source that would mend what a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What the change does, as a command: `delete the comma`.
    pub title: String,
    /// The changes, all in the source of the finding's primary place, in ascending order, none overlapping.
    pub edits: SmallVec<[Edit; 1]>,
    /// Whether the change keeps what the file means, or is surely what was meant. Others are guesses, such as the nearest
    /// name, and are applied only where they are asked for.
    pub safe: bool,
}

impl Fix {
    /// A change that can be made unseen.
    pub fn safe(title: impl Into<String>, edits: impl IntoIterator<Item = Edit>) -> Self {
        Self { title: title.into(), edits: edits.into_iter().collect(), safe: true }
    }

    /// A change that somebody should look at.
    pub fn guess(title: impl Into<String>, edits: impl IntoIterator<Item = Edit>) -> Self {
        Self { safe: false, ..Self::safe(title, edits) }
    }
}

/// New text in place of a run of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that go; empty where text is put in.
    pub span: Span,
    /// What stands there then.
    pub text: String,
}

impl Edit {
    /// Puts `text` in place of what stands at `span`.
    pub fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }

    /// Takes away what stands at `span`.
    pub fn delete(span: Span) -> Self {
        Self::replace(span, "")
    }

    /// Puts `text` before the byte at offset `at`.
    pub fn insert(at: u32, text: impl Into<String>) -> Self {
        Self::replace(Span::new(at, at), text)
    }
}
