//! Collects the diagnostics of the checks.

use tfbc_grammar::codes::LEFT_OUT;
use tfbc_grammar::{Diagnostic, Severity, nearest};

/// Limit on the errors, and on the warnings, that are kept.
const MAX_FINDINGS: usize = 10_000;

/// Limit on the lookups of similar names, which are slow if many names are unknown.
const MAX_SUGGESTIONS: usize = 100;

/// Diagnostics of all files.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
    n_errors: usize,
    n_warnings: usize,
    n_suggestions: usize,
    /// First diagnostic that was dropped.
    left_out: Option<Diagnostic>,
}

impl Findings {
    /// Number of errors so far, including dropped ones.
    pub fn n_errors(&self) -> usize {
        self.n_errors
    }

    /// Adds a diagnostic, or only counts it if there are too many of its severity.
    pub fn add(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.n_errors,
            Severity::Warning => &mut self.n_warnings,
        };
        *count += 1;
        if *count <= MAX_FINDINGS {
            self.list.push(diagnostic);
        } else if self.left_out.is_none() {
            self.left_out = Some(diagnostic);
        }
    }

    /// Finds the known name nearest to `name`, if there is a similar one.
    pub fn near<'k>(&mut self, name: &[u8], known: impl IntoIterator<Item = &'k [u8]>) -> Option<String> {
        self.n_suggestions += 1;
        if self.n_suggestions > MAX_SUGGESTIONS {
            return None;
        }
        nearest(name, known).map(|known| String::from_utf8_lossy(known).into_owned())
    }

    /// All diagnostics, sorted by source and position.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|found| (found.primary.source, found.primary.span));
        if let Some(first) = self.left_out {
            let n_left_out = self.n_errors.saturating_sub(MAX_FINDINGS) + self.n_warnings.saturating_sub(MAX_FINDINGS);
            let message = format!("{n_left_out} more errors and warnings are not shown");
            let finding = if self.n_errors > MAX_FINDINGS { Diagnostic::error } else { Diagnostic::warning };
            self.list.push(finding(&LEFT_OUT, first.primary.source, first.primary.span, message));
        }
        self.list
    }
}
