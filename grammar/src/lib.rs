//! Text in, syntax tree out: sources, spans and diagnostics, and the trcfmt language's lexer, grammar and tree.
//!
//! This package knows nothing of bytecode. Trees live in an [`Arena`] and borrow from it; every node carries the
//! [`Span`] it came from, so that later stages can point at it.
#![forbid(unsafe_code)]

mod arena;
mod code;
pub mod datakey;
mod diagnostic;
mod source;
mod span;
pub mod trcfmt;

pub use arena::Arena;
pub use code::{CODES, CodeInfo};
pub use diagnostic::{Diagnostic, Label, Severity};
pub use source::{Source, SourceId, Sources};
pub use span::{Span, Spanned};

/// The codes of this package's diagnostics, one constant a code.
pub mod codes {
    pub use crate::code::rows::*;
}
