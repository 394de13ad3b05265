//! Waits for files to be saved.
//!
//! The system tells of changes in the directories that the files are in, since editors save by renaming. That only wakes
//! the wait: whether a file is another than before is seen by the file itself. So where the system cannot tell (shared
//! directories, too many watches), looking now and then is enough.

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

/// Between two looks where the system tells of changes: it may not tell of all.
const LOOK_SELDOM: Duration = Duration::from_millis(1000);
/// Between two looks where it does not.
const LOOK_OFTEN: Duration = Duration::from_millis(200);
/// Editors write a file in several steps: so long nothing more must have happened.
const SETTLED: Duration = Duration::from_millis(50);
/// Files that never come to rest are looked at nevertheless, after so many waits for it.
const MAX_WAITS: u32 = 40;

/// Clears a terminal, with what has scrolled away, and goes to its first line.
pub const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// What tells a saved file from the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    len: u64,
    inode: u64,
}

impl FileState {
    /// A look at a file; `None` where there is none.
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

/// Files that are watched.
#[derive(Debug)]
pub struct Saves {
    watcher: Option<RecommendedWatcher>,
    woken: Receiver<()>,
    directories: BTreeSet<PathBuf>,
    /// Whether the system tells of every directory.
    all_told: bool,
    files: Vec<(PathBuf, Option<FileState>)>,
}

impl Default for Saves {
    fn default() -> Self {
        Self::new()
    }
}

impl Saves {
    /// Watches nothing yet.
    pub fn new() -> Self {
        let (wake, woken) = channel();
        let watcher = notify::recommended_watcher(move |_| {
            // Nobody waits any more: the program ends.
            let _ = wake.send(());
        });
        let watcher = watcher.ok();
        let all_told = watcher.is_some();
        Self { watcher, woken, directories: BTreeSet::new(), all_told, files: Vec::new() }
    }

    /// Watches these files, as they are now; those of before no more. Files that are not there are waited for.
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

    /// Waits until a file is another one than when it was watched, and has come to rest; false where `goes_on` tells, now
    /// and then, that nobody waits any more.
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

    /// Takes some of the files as they are now: what has become of them is known.
    pub fn pass_over(&mut self, known: &[PathBuf]) {
        for (path, look) in self.files.iter_mut().filter(|(path, _)| known.contains(path)) {
            *look = FileState::at(path);
        }
    }

    fn has_changed(&self) -> bool {
        self.files.iter().any(|(path, look)| FileState::at(path) != *look)
    }

    /// Waits until nothing happens for a while.
    fn settle(&mut self) {
        let looks = |files: &[(PathBuf, Option<FileState>)]| {
            files.iter().map(|(path, _)| FileState::at(path)).collect::<Vec<_>>()
        };
        let mut before = looks(&self.files);
        for _ in 0..MAX_WAITS {
            std::thread::sleep(SETTLED);
            while self.woken.try_recv().is_ok() {}
            let now = looks(&self.files);
            // A file that is away is about to be replaced.
            if now == before && now.iter().zip(&self.files).all(|(now, (_, known))| now.is_some() || known.is_none()) {
                return;
            }
            before = now;
        }
    }
}
