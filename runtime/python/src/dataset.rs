//! Datasets: the traces of a folder or glob.

use crate::errors::unreadable;
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tfbc::aix::ReadOptions;
use tfbc::{System, TraceKind};
use tfbc_authoring::folder::{Folder, drop_cpu_files};

/// Traces of a folder or glob, ordered by path.
pub struct Dataset {
    /// Folder or glob, as it was given.
    pub name: String,
    pub traces: Vec<PathBuf>,
    /// Directories that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Kinds of the traces, each once.
    kinds: Vec<TraceKind>,
}

/// Trace or directory that cannot be read, and the reason.
#[derive(Clone)]
pub struct Unreadable {
    pub name: String,
    pub why: String,
}

impl Unreadable {
    pub fn new(path: &Path, why: &dyn ToString) -> Self {
        Self { name: path.to_string_lossy().into_owned(), why: why.to_string() }
    }
}

/// Message about traces of a dataset that were passed over; `None` if all could be read.
pub fn passed_over(dataset: &str, unreadable: &[Unreadable]) -> Option<String> {
    let first = unreadable.first()?;
    let Unreadable { name, why } = first;
    let others = match unreadable.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!("{dataset}: passed over {name}: {why}{others}"))
}

impl Dataset {
    /// Finds the traces in and below directories, and adds the other paths. Of several paths, those that cannot be read
    /// are passed over.
    ///
    /// # Errors
    /// The only directory cannot be read, or there is no trace.
    pub fn find(name: &Path, paths: &[PathBuf], options: &ReadOptions) -> PyResult<Self> {
        let name = name.to_string_lossy().into_owned();
        let (mut traces, mut without) = (Vec::new(), Vec::new());
        // A link may lead to a directory above it. A trace that is found by both has the name without the link.
        let (links, direct): (Vec<_>, Vec<_>) = paths.iter().partition(|path| path.is_symlink());
        for path in direct.into_iter().chain(links) {
            if path.is_file() {
                traces.push(path.clone());
                continue;
            }
            if !path.is_dir() {
                without.push(Unreadable::new(path, &"not a file"));
                continue;
            }
            let folder = match Folder::search(path, true, options) {
                Ok(folder) => folder,
                Err(error) if paths.len() > 1 => {
                    without.push(Unreadable::new(path, &error));
                    continue;
                }
                Err(error) => return Err(unreadable(&path.to_string_lossy(), &error, error.raw_os_error())),
            };
            traces.extend(folder.traces);
            without.extend(folder.unreadable.iter().map(|(path, error)| Unreadable::new(path, error)));
        }
        // A glob may match a directory and a trace in it.
        let mut seen = BTreeSet::new();
        traces.retain(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
        traces.sort();
        without.sort_by(|one, other| one.name.cmp(&other.name));
        drop_cpu_files(&mut traces, options);
        if traces.is_empty() {
            return Err(unreadable(&name, &"no file in or below this directory is a trace", None));
        }
        let mut kinds = Vec::new();
        for kind in traces.iter().filter_map(|path| options.format.or(TraceKind::of_file(path).ok().flatten())) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(Self { name, traces, unreadable: without, kinds })
    }

    /// Systems of the traces, each once.
    pub fn systems(&self) -> Vec<System> {
        let has = |system: &System| self.kinds.iter().any(|kind| kind.system() == *system);
        [System::Aix, System::Qnx].into_iter().filter(has).collect()
    }

    /// Name of the kind that all traces have, or `mixed`.
    pub fn kind(&self) -> &'static str {
        match self.kinds.as_slice() {
            [kind] => kind.name(),
            _ => "mixed",
        }
    }

    /// Sum of the sizes in bytes; `None` if one is unknown.
    pub fn size(&self) -> Option<u64> {
        self.traces.iter().map(|path| path.metadata().ok().map(|file| file.len())).sum()
    }
}
