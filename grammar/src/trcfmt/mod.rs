//! The trcfmt template language of AIX's `trcrpt`.

pub mod ast;
