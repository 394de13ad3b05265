//! Tests of diagnostics and limits of the compiler.

mod examples;
mod limits;
