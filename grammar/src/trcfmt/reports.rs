//! Where the stages of one parse put what they find.

use std::cell::{Cell, RefCell};

use crate::{CodeInfo, Diagnostic, Severity, Source, SourceId, Span};

/// The findings about one source. Lexer and grammar actions share it while a stanza is parsed.
pub(crate) struct Reports<'s> {
    /// The source that is parsed.
    pub source: &'s Source,
    id: SourceId,
    found: RefCell<Vec<Diagnostic>>,
    n_errors: Cell<usize>,
}

impl<'s> Reports<'s> {
    pub fn new(id: SourceId, source: &'s Source) -> Self {
        Self { source, id, found: RefCell::default(), n_errors: Cell::new(0) }
    }

    /// How many errors have been found.
    pub fn n_errors(&self) -> usize {
        self.n_errors.get()
    }

    /// An error to be finished by the `with_` methods and given to [`Reports::add`].
    pub fn error(&self, code: &'static CodeInfo, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.id, span, message)
    }

    /// A warning to be finished by the `with_` methods and given to [`Reports::add`].
    pub fn warning(&self, code: &'static CodeInfo, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(code, self.id, span, message)
    }

    /// Keeps a finding.
    pub fn add(&self, diagnostic: Diagnostic) {
        self.n_errors.set(self.n_errors.get() + usize::from(diagnostic.severity == Severity::Error));
        self.found.borrow_mut().push(diagnostic);
    }

    /// The source this is about.
    pub fn id(&self) -> SourceId {
        self.id
    }

    /// Everything found, in the order of the source.
    pub fn finish(self) -> Vec<Diagnostic> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|diagnostic| diagnostic.primary.span.start);
        found
    }
}

/// Source bytes for a message: invalid UTF-8 replaced, control characters escaped, long text cut.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LIMIT: usize = 40;
    let cut = &bytes[..bytes.len().min(LIMIT)];
    let mut text: String = String::from_utf8_lossy(cut).chars().flat_map(printable).collect();
    if bytes.len() > LIMIT {
        text.push('…');
    }
    text
}

fn printable(c: char) -> impl Iterator<Item = char> {
    let (plain, escaped) = if c.is_control() { (None, Some(c.escape_default())) } else { (Some(c), None) };
    plain.into_iter().chain(escaped.into_iter().flatten())
}
