//! Text in, syntax tree out: sources, spans and diagnostics, and lexer, grammar and tree of the two languages: [`trcfmt`]
//! templates of AIX, and [`datakey`] event definitions of QNX.
//!
//! This package knows nothing of bytecode. Trees live in an [`Arena`] and borrow from it; every node carries the
//! [`Span`] it came from, so that later stages can point at it.
#![forbid(unsafe_code)]

mod allow;
mod arena;
mod code;
pub mod datakey;
mod diagnostic;
mod format;
mod limits;
mod reports;
mod source;
mod span;
mod suggest;
pub mod trcfmt;

pub use arena::Arena;
pub use code::{CODES, CodeInfo};
pub use diagnostic::{Diagnostic, Edit, Fix, Label, Severity};
pub use format::{Formatted, Rewrite, format};
pub use limits::SourceLimits;
pub use source::{Source, SourceId, Sources};
pub use span::{Span, Spanned};
pub use suggest::nearest;

/// The codes of this package's diagnostics, one constant a code; those of event definitions are in [`datakey::codes`].
pub mod codes {
    pub use crate::code::rows::*;
}
