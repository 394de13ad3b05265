//! Where the stages of one parse put what they find.

use std::cell::{Cell, RefCell};

use crate::{CodeInfo, Diagnostic, Severity, Source, SourceId, Span, codes};

/// The most errors, and the most warnings, that are kept of one source: a file that is no template at all has one a
/// line.
pub(crate) const MAX_FINDINGS: usize = 10_000;

/// The findings about one source. Lexer and grammar actions share it while a stanza is parsed.
pub(crate) struct Reports<'s> {
    /// The source that is parsed.
    pub source: &'s Source,
    id: SourceId,
    /// Whether the source is read to its end, however many errors it has.
    reads_on: bool,
    found: RefCell<Vec<Diagnostic>>,
    n_errors: Cell<usize>,
    n_warnings: Cell<usize>,
}

/// How much has been found at some time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    n_found: usize,
    n_errors: usize,
    n_warnings: usize,
}

impl<'s> Reports<'s> {
    /// For a source that is given up when it has too many errors.
    pub fn new(id: SourceId, source: &'s Source) -> Self {
        Self {
            source,
            id,
            reads_on: false,
            found: RefCell::default(),
            n_errors: Cell::new(0),
            n_warnings: Cell::new(0),
        }
    }

    /// For a source whose good parts are used, however many errors the others have.
    pub fn reading_on(id: SourceId, source: &'s Source) -> Self {
        Self { reads_on: true, ..Self::new(id, source) }
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

    /// Keeps a finding, unless there are too many of its kind.
    pub fn add(&self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &self.n_errors,
            Severity::Warning => &self.n_warnings,
        };
        count.set(count.get() + 1);
        if count.get() <= MAX_FINDINGS {
            self.found.borrow_mut().push(diagnostic);
        }
    }

    /// The place in the findings where those begin that are still to come.
    pub fn mark(&self) -> Mark {
        Mark { n_found: self.found.borrow().len(), n_errors: self.n_errors.get(), n_warnings: self.n_warnings.get() }
    }

    /// Takes the findings since a mark back.
    pub fn take_since(&self, mark: Mark) -> Vec<Diagnostic> {
        self.n_errors.set(mark.n_errors);
        self.n_warnings.set(mark.n_warnings);
        let mut found = self.found.borrow_mut();
        let kept = mark.n_found.min(found.len());
        found.split_off(kept)
    }

    /// Whether there are so many errors that reading on is of no use.
    pub fn is_full(&self) -> bool {
        self.n_errors.get() >= MAX_FINDINGS
    }

    /// The source this is about.
    pub fn id(&self) -> SourceId {
        self.id
    }

    /// Everything found, in the order of the source.
    pub fn finish(self) -> Vec<Diagnostic> {
        let mut found = self.found.take();
        found.sort_by_key(|diagnostic| diagnostic.primary.span.start);
        found.extend(self.left_out());
        found
    }

    /// Says that there may be more.
    fn left_out(&self) -> Option<Diagnostic> {
        let end = self.source.bytes().len() as u32;
        let span = Span::new(end, end);
        if self.is_full() && !self.reads_on {
            let message = format!("source has {MAX_FINDINGS} errors or more: the rest of it is not read");
            return Some(self.error(&codes::LEFT_OUT, span, message));
        }
        let n_errors = self.n_errors.get().saturating_sub(MAX_FINDINGS);
        if n_errors > 0 {
            let message = format!("{n_errors} more errors are not shown");
            return Some(self.error(&codes::LEFT_OUT, span, message));
        }
        let n_warnings = self.n_warnings.get().saturating_sub(MAX_FINDINGS);
        let message = format!("{n_warnings} more warnings are not shown");
        (n_warnings > 0).then(|| self.warning(&codes::LEFT_OUT, span, message))
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
