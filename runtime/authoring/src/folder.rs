//! Traces in a directory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tfbc::TraceKind;
use tfbc::aix::ReadOptions;
use tfbc::internal::cpu_files;
use walkdir::WalkDir;

/// Files of a directory.
#[derive(Debug, Default)]
pub struct Folder {
    /// Traces, ordered by path. A file that cannot be read is one of them, so that opening it names the reason.
    pub traces: Vec<PathBuf>,
    /// Files that are not traces, with pipes, devices, and links to no file.
    pub left_out: Vec<PathBuf>,
    /// Symbolic links to directories, which a recursive search does not follow.
    pub links: Vec<PathBuf>,
    /// Directories that cannot be read.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Number of directories in the directory.
    pub n_directories: usize,
}

impl Folder {
    /// Searches a directory; with `is_recursive`, also those below it. The bytes of a file decide if it is a trace,
    /// unless the options name the kind of all files.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn search(directory: &Path, is_recursive: bool, options: &ReadOptions) -> io::Result<Self> {
        let mut folder = Self::default();
        let mut linked = Vec::new();
        let depth = if is_recursive { usize::MAX } else { 1 };
        // Directories are read in the order of the file system, which differs between machines. Links to directories
        // are not followed: they may form circles, and lead to the whole file system.
        for entry in WalkDir::new(directory).min_depth(1).max_depth(depth).sort_by_file_name() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = error.path().map_or_else(|| directory.to_path_buf(), Path::to_path_buf);
                    let error = error.into_io_error().unwrap_or_else(|| io::ErrorKind::Other.into());
                    if path == directory {
                        return Err(error);
                    }
                    folder.unreadable.push((path, error));
                    continue;
                }
            };
            let (is_link, path) = (entry.path_is_symlink(), entry.into_path());
            if path.is_dir() {
                folder.n_directories += 1;
                if is_link && is_recursive {
                    folder.links.push(path);
                }
            } else if path.is_file() {
                let is_wanted =
                    options.format.is_some() || TraceKind::of_file(&path).map_or(true, |kind| kind.is_some());
                match (is_wanted, is_link) {
                    (false, _) => folder.left_out.push(path),
                    (true, false) => folder.traces.push(path),
                    (true, true) => linked.push(path),
                }
            } else {
                // A pipe, a device, or a link to nothing: opening it might never return.
                folder.left_out.push(path);
            }
        }
        add_linked(&mut folder.traces, linked);
        drop_cpu_files(&mut folder.traces, options);
        Ok(folder)
    }
}

/// Adds the traces that links name, each once: the events of a trace that has two names are not reported twice.
fn add_linked(traces: &mut Vec<PathBuf>, linked: Vec<PathBuf>) {
    if linked.is_empty() {
        return;
    }
    let mut seen: BTreeSet<PathBuf> = traces.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    traces.extend(linked.into_iter().filter(|path| fs::canonicalize(path).map_or(true, |target| seen.insert(target))));
    traces.sort();
}

/// Removes per-CPU files whose base file is also in the list. A base file opens them itself, so their events would be
/// reported twice.
pub fn drop_cpu_files(paths: &mut Vec<PathBuf>, options: &ReadOptions) {
    let members: BTreeSet<PathBuf> = paths.iter().flat_map(|path| cpu_files(path, options)).collect();
    paths.retain(|path| !members.contains(path));
}
