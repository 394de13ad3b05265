//! What the examples have in common: each is told the names of its log and of its format file.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

use std::path::PathBuf;

/// The names of log and format file, or `NAME.trc` and `NAME.trcfmt`.
pub fn names(name: &str) -> (PathBuf, PathBuf) {
    let mut given = std::env::args_os().skip(1).map(PathBuf::from);
    let log = given.next().unwrap_or_else(|| format!("{name}.trc").into());
    (log, given.next().unwrap_or_else(|| format!("{name}.trcfmt").into()))
}

/// The page for users of Rust: its examples are compiled, and run where they record nothing.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/recording-rust.md")]
struct Page;
