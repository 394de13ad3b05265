//! Problems of a translation.

use crate::codes::{NOT_CARRIED, OTHERWISE_SHOWN};
use tfbc_grammar::{Diagnostic, SourceId, Span};

/// Problems of a translation.
#[derive(Default)]
pub(super) struct Losses {
    pub found: Vec<Diagnostic>,
}

impl Losses {
    /// Reports a part that cannot be translated.
    pub fn left_out(&mut self, source: SourceId, span: Span, text: impl Into<String>) {
        self.found.push(Diagnostic::warning(&NOT_CARRIED, source, span, text));
    }

    /// Reports a part that is shown differently.
    pub fn shown_differently(&mut self, source: SourceId, span: Span, text: impl Into<String>) {
        self.found.push(Diagnostic::warning(&OTHERWISE_SHOWN, source, span, text));
    }
}
