//! Shared by the examples: names of log and format file from the command line.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

use std::path::PathBuf;

/// Names of log and format file; by default `NAME.trc` and `NAME.trcfmt`.
pub fn names(name: &str) -> (PathBuf, PathBuf) {
    let mut given = std::env::args_os().skip(1).map(PathBuf::from);
    let log = given.next().unwrap_or_else(|| format!("{name}.trc").into());
    (log, given.next().unwrap_or_else(|| format!("{name}.trcfmt").into()))
}

/// The page for Rust users: its examples are compiled, and run if they record nothing.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/recording-rust.md")]
struct Page;
