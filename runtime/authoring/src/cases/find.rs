//! Search for case files, and for snapshots whose case file no longer exists.

use super::file::SUFFIX;
use super::snapshot::{PENDING_SUFFIX, SUFFIX as SNAPSHOT_SUFFIX};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Limit on nested directories. Links to directories are not followed.
const MAX_DEPTH: usize = 64;

/// Result of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CaseFiles {
    /// Case files, sorted by path.
    pub cases: Vec<PathBuf>,
    /// Snapshots without a case file in the same directory, sorted by path.
    pub orphans: Vec<PathBuf>,
}

/// Searches files and, recursively, directories; hidden directories are skipped.
///
/// # Errors
/// The path that is missing or unreadable, or a named file that is not a case file, with the reason.
pub fn find(paths: &[PathBuf]) -> Result<CaseFiles, (PathBuf, io::Error)> {
    let mut names = BTreeSet::new();
    for path in paths {
        if path.is_dir() {
            search(path, 0, &mut names)?;
        } else if !ends_with(path, SUFFIX) && path.exists() {
            let text = format!("a case file's name ends with `{SUFFIX}`");
            return Err((path.clone(), io::Error::other(text)));
        } else {
            fs::metadata(path).map_err(|error| (path.clone(), error))?;
            names.insert(path.clone());
        }
    }
    let mut found = CaseFiles::default();
    for path in &names {
        if ends_with(path, SUFFIX) {
            found.cases.push(path.clone());
        } else if !names.contains(&case_of(path)) {
            found.orphans.push(path.clone());
        }
    }
    Ok(found)
}

fn search(directory: &Path, depth: usize, names: &mut BTreeSet<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
    let failed = |error| (directory.to_owned(), error);
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        let kind = entry.file_type().map_err(failed)?;
        // Paths in the current directory are shown without a leading `./`.
        let path = if directory == Path::new(".") { PathBuf::from(&name) } else { entry.path() };
        if kind.is_dir() && !hidden && depth < MAX_DEPTH {
            search(&path, depth + 1, names)?;
        } else if !kind.is_dir() && [SUFFIX, SNAPSHOT_SUFFIX, PENDING_SUFFIX].iter().any(|end| ends_with(&path, end)) {
            names.insert(path);
        }
    }
    Ok(())
}

fn ends_with(path: &Path, end: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(end.as_bytes()))
}

/// Path of the case file that belongs to a snapshot.
fn case_of(snapshot: &Path) -> PathBuf {
    let name = snapshot.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem = name.strip_suffix(PENDING_SUFFIX).or(name.strip_suffix(SNAPSHOT_SUFFIX)).unwrap_or(&name);
    snapshot.with_file_name(format!("{stem}{SUFFIX}"))
}
