//! Parsers of both template languages, with their sources, spans and diagnostics: AIX's [`trcfmt`] templates and QNX's
//! [`datakey`] event definitions.
//!
//! This package knows nothing about bytecode. Trees live in an [`Arena`] and borrow from it. Every node has the
//! [`Span`] it came from, so that later stages can point at it.
#![forbid(unsafe_code)]

mod allow;
mod arena;
mod code;
pub mod datakey;
mod diagnostic;
mod excerpt;
mod field_entries;
mod format;
mod limits;
mod reports;
mod source;
mod span;
mod suggest;
pub mod trcfmt;

pub use arena::Arena;
pub use code::rows as codes;
pub use code::{CODES, CodeInfo, Severity};
pub use diagnostic::{Diagnostic, Edit, Fix, Label};
pub use format::{Formatted, Rewrite, format};
pub use limits::SourceLimits;
pub use source::{Source, SourceId, Sources};
pub use span::{Span, Spanned};
pub use suggest::{closest, hint, nearest};
