//! Waits until files are saved.
//!
//! The system reports changes of the directories that contain the files, because editors save by renaming. Such a
//! report only ends the wait; the file's own metadata decides if it changed. If the system cannot report (network
//! directories, too many watches), polling is enough.

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

/// Poll interval if the system reports changes; some may be lost.
const LOOK_SELDOM: Duration = Duration::from_millis(1000);
/// Poll interval if it does not.
const LOOK_OFTEN: Duration = Duration::from_millis(200);
/// Editors write a file in several steps. A save is complete after this long without changes.
const SETTLED: Duration = Duration::from_millis(50);
/// Number of such waits after which a file that keeps changing is read anyway.
const MAX_WAITS: u32 = 40;

/// Escape sequence that clears the terminal and its scrollback, and moves to the first line.
pub const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// Metadata that differs between two saved versions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    len: u64,
    inode: u64,
}

impl FileState {
    /// Reads the state of a file; `None` if it does not exist.
    fn at(path: &Path) -> Option<Self> {
        let data = fs::metadata(path).ok()?;
        Some(Self { modified: data.modified().ok(), len: data.len(), inode: inode(&data) })
    }
}

#[cfg(unix)]
fn inode(data: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(data)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}

/// Set of watched files.
#[derive(Debug)]
pub struct Saves {
    watcher: Option<RecommendedWatcher>,
    woken: Receiver<()>,
    directories: BTreeSet<PathBuf>,
    /// True if the system reports changes of every directory.
    all_told: bool,
    files: Vec<(PathBuf, Option<FileState>)>,
}

impl Default for Saves {
    fn default() -> Self {
        Self::new()
    }
}

impl Saves {
    /// Creates an empty set.
    pub fn new() -> Self {
        let (wake, woken) = channel();
        let watcher = notify::recommended_watcher(move |_| {
            // Fails only if the program is ending and nobody waits.
            let _ = wake.send(());
        });
        let watcher = watcher.ok();
        let all_told = watcher.is_some();
        Self { watcher, woken, directories: BTreeSet::new(), all_told, files: Vec::new() }
    }

    /// Watches these files from their present state on, in place of the previous ones. Missing files are waited for.
    pub fn watch(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.files = files.into_iter().map(|path| (path.clone(), FileState::at(&path))).collect();
        let directory = |path: &PathBuf| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut wanted: BTreeSet<PathBuf> = self.files.iter().map(|(path, _)| directory(path)).collect();
        wanted.extend(self.files.iter().map(|(path, _)| path).filter(|path| path.is_dir()).cloned());
        for directory in wanted.difference(&self.directories) {
            let told = self.watcher.as_mut().map(|watcher| watcher.watch(directory, RecursiveMode::NonRecursive));
            self.all_told &= matches!(told, Some(Ok(())));
        }
        self.directories.extend(wanted);
    }

    /// Blocks until a file has changed and its save is complete. Returns false if `goes_on`, which is called now and
    /// then, returns false.
    pub fn wait(&mut self, goes_on: impl Fn() -> bool) -> bool {
        let every = if self.all_told { LOOK_SELDOM } else { LOOK_OFTEN };
        loop {
            if !goes_on() {
                return false;
            }
            if self.has_changed() {
                self.settle();
                return true;
            }
            if let Err(RecvTimeoutError::Disconnected) = self.woken.recv_timeout(every) {
                std::thread::sleep(every);
            }
        }
    }

    /// Takes the present state of some files as known, so that it does not end the next wait.
    pub fn pass_over(&mut self, known: &[PathBuf]) {
        for (path, look) in self.files.iter_mut().filter(|(path, _)| known.contains(path)) {
            *look = FileState::at(path);
        }
    }

    fn has_changed(&self) -> bool {
        self.files.iter().any(|(path, look)| FileState::at(path) != *look)
    }

    /// Waits until nothing changes for a while.
    fn settle(&mut self) {
        let looks = |files: &[(PathBuf, Option<FileState>)]| {
            files.iter().map(|(path, _)| FileState::at(path)).collect::<Vec<_>>()
        };
        let mut before = looks(&self.files);
        for _ in 0..MAX_WAITS {
            std::thread::sleep(SETTLED);
            while self.woken.try_recv().is_ok() {}
            let now = looks(&self.files);
            // A file that is missing is about to be replaced.
            if now == before && now.iter().zip(&self.files).all(|(now, (_, known))| now.is_some() || known.is_none()) {
                return;
            }
            before = now;
        }
    }
}
