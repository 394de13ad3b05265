//! Waits until files are saved.
//!
//! Polls the files' metadata. A few files take microseconds, and polling also works on network directories, whose
//! changes no system reports.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// Poll interval.
const INTERVAL: Duration = Duration::from_millis(100);
/// Editors write a file in several steps. A save is complete after this long without changes.
const QUIET_TIME: Duration = Duration::from_millis(50);
/// Number of [`QUIET_TIME`]s after which a file that keeps changing is read anyway.
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
#[derive(Debug, Default)]
pub struct Saves {
    files: Vec<(PathBuf, Option<FileState>)>,
}

impl Saves {
    /// Watches these files instead of the previous ones, starting from their present state. Files that do not exist yet
    /// are watched too.
    pub fn watch(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.files = files.into_iter().map(|path| (path.clone(), FileState::at(&path))).collect();
    }

    /// Blocks until a file has changed and its save is complete. Polls `goes_on` meanwhile, and returns false
    /// once it is false.
    pub fn wait(&mut self, goes_on: impl Fn() -> bool) -> bool {
        loop {
            if !goes_on() {
                return false;
            }
            if self.has_changed() {
                self.wait_until_quiet();
                return true;
            }
            sleep(INTERVAL);
        }
    }

    /// Marks the present state of some files as seen, so that it does not end the next wait.
    pub fn pass_over(&mut self, known: &[PathBuf]) {
        for (path, look) in self.files.iter_mut().filter(|(path, _)| known.contains(path)) {
            *look = FileState::at(path);
        }
    }

    fn has_changed(&self) -> bool {
        self.files.iter().any(|(path, look)| FileState::at(path) != *look)
    }

    /// Waits until nothing changes for a while.
    fn wait_until_quiet(&mut self) {
        let looks = |files: &[(PathBuf, Option<FileState>)]| {
            files.iter().map(|(path, _)| FileState::at(path)).collect::<Vec<_>>()
        };
        let mut before = looks(&self.files);
        for _ in 0..MAX_WAITS {
            sleep(QUIET_TIME);
            let now = looks(&self.files);
            // A missing file is probably being replaced, so waits for it.
            if now == before && now.iter().zip(&self.files).all(|(now, (_, known))| now.is_some() || known.is_none()) {
                return;
            }
            before = now;
        }
    }
}
