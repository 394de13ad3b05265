//! Syntax trees in, blobs out: lower, check, fold, emit, link. The only package that knows both sides.
#![forbid(unsafe_code)]

mod dialect;

pub use dialect::{Dialect, DialectError};

use tfbc_grammar::{Diagnostic, Sources};

/// How to compile.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What the language leaves open.
    pub dialect: Dialect,
}

/// What a compilation gave.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The blob; `None` when there is an error among the diagnostics.
    pub blob: Option<Vec<u8>>,
    /// Everything found, by source and place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses and compiles a set of trcfmt sources into one blob; later sources win. The built-in stanzas of the reserved
/// hooks are part of every blob.
pub fn compile(_sources: &Sources, _options: &Options) -> Compiled {
    Compiled { blob: None, diagnostics: Vec::new() }
}

/// One stage of the compiler, for looking at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The lexer's tokens.
    Tokens,
    /// The syntax tree.
    Ast,
    /// The lowered tree.
    Ir,
    /// Plain bytecode, before linking.
    Bytecode,
}

/// The text of one stage of a compilation.
pub fn emit(_sources: &Sources, _options: &Options, _stage: Stage) -> (String, Vec<Diagnostic>) {
    (String::new(), Vec::new())
}
