//! Loading of context tables.

use super::parse::{self, ContextError};
use super::table::ContextTable;
use crate::reader::Input;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

/// Text of the built-in table.
const BUILT_IN: &str = include_str!("../../formats/default.context");
/// Largest accepted file, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// Reason why a context table cannot be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file is larger than 1 MiB.
    TooLarge,
    /// The text has mistakes.
    Text(ContextError),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Io(error) => error.fmt(f),
            LoadError::TooLarge => write!(f, "a context table has at most {MAX_TEXT} bytes"),
            LoadError::Text(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

impl Default for ContextTable {
    /// The built-in table: documented hooks, and those whose layouts this project defines.
    fn default() -> Self {
        static TABLE: LazyLock<ContextTable> =
            LazyLock::new(|| BUILT_IN.parse().unwrap_or(ContextTable { sections: Vec::new() }));
        TABLE.clone()
    }
}

impl ContextTable {
    /// Loads a table from a file.
    ///
    /// # Errors
    /// The file cannot be read, or has mistakes; the error contains all of them.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let text = Input::open(path.as_ref()).and_then(|mut input| input.read_whole(MAX_TEXT));
        let text = text.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => LoadError::TooLarge,
            _ => LoadError::Io(error),
        })?;
        parse::parse(&text).map_err(LoadError::Text)
    }
}

impl std::str::FromStr for ContextTable {
    type Err = ContextError;

    fn from_str(text: &str) -> Result<Self, ContextError> {
        parse::parse(text.as_bytes())
    }
}
