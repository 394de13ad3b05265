//! Collects the diagnostics of one parse.

use std::cell::{Cell, RefCell};

use crate::{CodeInfo, Diagnostic, Severity, Source, SourceId, Span, codes};

/// Limit on the errors, and on the warnings, kept per source. A file that is no template at all has an error in every
/// line.
pub(crate) const MAX_FINDINGS: usize = 10_000;

/// Diagnostics of one source, shared by its lexer and grammar actions.
pub(crate) struct Reports<'s> {
    /// Source being parsed.
    pub source: &'s Source,
    id: SourceId,
    /// True if the source is read to its end, no matter how many errors it has.
    reads_on: bool,
    found: RefCell<Vec<Diagnostic>>,
    n_errors: Cell<usize>,
    n_warnings: Cell<usize>,
}

/// Position in the list of diagnostics, see [`Reports::take_since`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportMark {
    n_found: usize,
    n_errors: usize,
    n_warnings: usize,
}

impl<'s> Reports<'s> {
    /// Collector for a source whose parse stops after too many errors.
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

    /// Collector for a source whose valid parts are used, no matter how many errors the others have.
    pub fn reading_on(id: SourceId, source: &'s Source) -> Self {
        Self { reads_on: true, ..Self::new(id, source) }
    }

    /// Number of errors so far, including those not kept.
    pub fn n_errors(&self) -> usize {
        self.n_errors.get()
    }

    /// Starts an error; finish it with the `with_` methods and pass it to [`Reports::add`].
    pub fn error(&self, code: &'static CodeInfo, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.id, span, message)
    }

    /// Starts a warning; finish it with the `with_` methods and pass it to [`Reports::add`].
    pub fn warning(&self, code: &'static CodeInfo, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(code, self.id, span, message)
    }

    /// Adds a diagnostic, or only counts it if there are too many of its severity.
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

    /// Position of the next diagnostic.
    pub fn mark(&self) -> ReportMark {
        ReportMark {
            n_found: self.found.borrow().len(),
            n_errors: self.n_errors.get(),
            n_warnings: self.n_warnings.get(),
        }
    }

    /// Removes and returns the diagnostics added after `mark`.
    pub fn take_since(&self, mark: ReportMark) -> Vec<Diagnostic> {
        self.n_errors.set(mark.n_errors);
        self.n_warnings.set(mark.n_warnings);
        let mut found = self.found.borrow_mut();
        let kept = mark.n_found.min(found.len());
        found.split_off(kept)
    }

    /// True if the parser should stop because of too many errors.
    pub fn is_full(&self) -> bool {
        self.n_errors.get() >= MAX_FINDINGS
    }

    /// Id of the source.
    pub fn id(&self) -> SourceId {
        self.id
    }

    /// All diagnostics in source order; the last one says how many were dropped.
    pub fn finish(self) -> Vec<Diagnostic> {
        let mut found = self.found.take();
        // Some checks look ahead, so findings are not in the order of the source.
        found.sort_by_key(|diagnostic| diagnostic.primary.span.start);
        found.extend(self.left_out());
        found
    }

    /// Diagnostic that reports the dropped ones, if there are any.
    fn left_out(&self) -> Option<Diagnostic> {
        let end = self.source.bytes().len() as u32;
        let span = Span::new(end, end);
        if self.is_full() && !self.reads_on {
            let message = format!("source has at least {MAX_FINDINGS} errors: the rest is not read");
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
