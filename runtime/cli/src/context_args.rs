//! Facts about the traced system from files: context tables and names of addresses.

use super::console::{Failure, Message};
use super::files;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tfbc::aix::{AddressNames, ContextLoadError, ContextTable};

/// Maximum size of a list of names, in bytes.
pub(super) const MAX_NAMES: u64 = AddressNames::MAX_LIST;

/// Built-in context table, extended by the entries of a file.
pub fn context(path: Option<&Path>) -> Result<Arc<ContextTable>, Failure> {
    let table = ContextTable::default();
    Ok(Arc::new(match own(path)? {
        Some(own) => table.overlay(own),
        None => table,
    }))
}

/// Context table of a file, without the built-in one.
pub fn own(path: Option<&Path>) -> Result<Option<ContextTable>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let own = ContextTable::load(path).map_err(|error| match error {
        ContextLoadError::Text(error) => {
            let shown = error.to_string();
            let lines = shown.lines().map(|line| format!("{}:{line}", path.display()));
            let text = lines.collect::<Vec<_>>().join("\n");
            Failure::Error(Message::Formats, format!("{text} (--context needs a context table: see docs/context.md)"))
        }
        error => Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", path.display())),
    })?;
    Ok(Some(own))
}

/// Names from a list written by `trcnm`.
pub fn names(path: Option<&Path>) -> Result<Arc<AddressNames>, Failure> {
    let Some(path) = path else { return Ok(Arc::default()) };
    AddressNames::load(path).map(Arc::new).map_err(|error| unreadable(path, &error))
}

/// Text of a file with names.
pub fn read(path: &Path) -> Result<String, Failure> {
    let bytes = files::read(path, MAX_NAMES).map_err(|error| unreadable(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", path.display()))
}
