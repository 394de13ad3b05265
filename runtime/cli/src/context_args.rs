//! Facts about the traced system from files: context tables and names of addresses.

use super::console::{Console, Failure, Message};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use tfbc::aix::{AddressNames, ContextLoadError, ContextTable};
use tfbc::internal::Input;
use tfbc_analysis::{Summary, Value};

/// Maximum size of a list of names, in bytes.
pub(super) const MAX_NAMES: u64 = 256 << 20;

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
    let refused =
        |error: String| Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", path.display()));
    let list = Input::open(path).and_then(|mut input| input.read_whole(MAX_NAMES));
    let list = list.map_err(|error| refused(error.to_string()))?;
    AddressNames::parse(&list).map(Arc::new).map_err(|error| refused(error.to_string()))
}

/// Limit on names of processes from a file.
const MAX_PIDS: usize = 1 << 16;

/// Names of processes from a file.
pub struct ProcessNames(HashMap<i128, String>);

impl ProcessNames {
    /// Names the processes of a summary that the trace does not name.
    pub fn apply(&self, summary: &mut Summary) {
        let name = |pid: &Value| if let Value::Number(pid) = pid { self.0.get(pid).cloned() } else { None };
        summary.sections_mut().for_each(|section| section.name_rows(name));
    }
}

/// Names from lines of a process id and a name. Other lines are skipped and counted.
pub fn pids(console: &Console, path: &Path) -> Result<ProcessNames, Failure> {
    let mut names = HashMap::new();
    let mut n_skipped = 0u64;
    for line in read(path)?.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words = line.split_once(char::is_whitespace);
        match words.and_then(|(pid, name)| Some((pid.parse().ok()?, name.trim().to_owned()))) {
            Some((pid, name)) if names.len() < MAX_PIDS => drop(names.insert(pid, name)),
            _ => n_skipped += 1,
        }
    }
    if n_skipped > 0 {
        console.note(format_args!("{}: {n_skipped} lines are not `PID name`", path.display()));
    }
    Ok(ProcessNames(names))
}

/// Text of a file with names.
pub fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |error| Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", path.display()));
    let bytes = Input::open(path).and_then(|mut input| input.read_whole(MAX_NAMES)).map_err(unreadable)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
