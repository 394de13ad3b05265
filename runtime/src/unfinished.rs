//! Temporary files and directories that are removed if a signal ends the process.
//!
//! On Linux, the first of them in a command starts a thread that waits for HUP, INT and TERM. The thread removes the
//! files and ends the process with the same signal, so that a shell sees the real cause. A signal that was ignored when
//! the command started, as `nohup` does, stays ignored. Other systems do not report ignored signals, so no thread is
//! started there; the next command removes leftover files.

use crate::output::Output;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{NamedTempFile, TempDir};

/// Paths of all unfinished files and directories of this process.
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn paths() -> MutexGuard<'static, Vec<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that still has its temporary name.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub file: NamedTempFile,
    registration: Registration,
}

/// Keeps a path in the list of unfinished files until it is dropped.
#[derive(Debug)]
struct Registration(PathBuf);

impl Registration {
    /// Creates a file or directory with `make` and registers its path.
    fn make<T>(make: impl FnOnce() -> io::Result<T>, path: impl FnOnce(&T) -> &Path) -> io::Result<(T, Registration)> {
        #[cfg(target_os = "linux")]
        signals::watch();
        // The signal thread takes the same lock, so it never misses what exists already.
        let mut paths = paths();
        let made = make()?;
        let path = path(&made).to_owned();
        paths.push(path.clone());
        Ok((made, Registration(path)))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        paths().retain(|path| *path != self.0);
    }
}

impl Unfinished {
    /// Creates a file with `make` and registers it.
    ///
    /// # Errors
    /// `make` failed.
    pub fn new(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<Self> {
        let (file, registration) = Registration::make(make, NamedTempFile::path)?;
        Ok(Self { file, registration })
    }

    /// Renames the file to its final name. Blocks forever if a signal is already ending the process.
    ///
    /// # Errors
    /// The file cannot be renamed, or `replaces` is false and there is a file of that name.
    pub fn persist(self, path: &Path, replaces: bool) -> io::Result<()> {
        let Self { file, registration } = self;
        let paths = paths();
        let persisted = if replaces { file.persist(path) } else { file.persist_noclobber(path) };
        let persisted = persisted.map(drop).map_err(|error| error.error);
        drop(paths);
        drop(registration);
        persisted
    }
}

/// A directory that still has its temporary name. It is removed with its files when it is dropped.
#[derive(Debug)]
pub struct UnfinishedDirectory {
    directory: TempDir,
    // Dropped last, so that a signal during the removal completes it.
    _registration: Registration,
}

impl UnfinishedDirectory {
    /// Creates a hidden directory next to `path`, its final name.
    ///
    /// # Errors
    /// The directory cannot be created, or `path` has no last part.
    pub fn beside(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        let prefix = format!(".{name}.");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".unfinished");
        // As usual for a directory; a temporary one would be private.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let make = || builder.tempdir_in(Output::directory(path));
        let (directory, registration) = Registration::make(make, TempDir::path)?;
        Ok(Self { directory, _registration: registration })
    }

    /// Its temporary path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Renames the directory to its final name, which may be that of an empty directory. Blocks forever if a signal is
    /// already ending the process.
    ///
    /// # Errors
    /// The directory cannot be renamed.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        let paths = paths();
        if path.is_dir() {
            fs::remove_dir(path)?;
        }
        let renamed = fs::rename(self.path(), path);
        drop(paths);
        renamed
    }
}

#[cfg(target_os = "linux")]
pub(crate) use signals::remove_at_signals;

#[cfg(target_os = "linux")]
mod signals {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Once, mpsc};
    use std::thread;

    /// True in commands. A program that uses the library handles signals itself.
    static IS_WANTED: AtomicBool = AtomicBool::new(false);

    /// Removes the unfinished files and directories from now on if a signal ends the process.
    pub(crate) fn remove_at_signals() {
        IS_WANTED.store(true, Ordering::Relaxed);
    }

    /// Starts the thread and returns once its signal handlers are installed.
    pub(super) fn watch() {
        static STARTED: Once = Once::new();
        if !IS_WANTED.load(Ordering::Relaxed) {
            return;
        }
        STARTED.call_once(|| {
            let (ready, is_ready) = mpsc::channel();
            // If the thread cannot start, signals end the process as usual and leave the files.
            let started = thread::Builder::new().name(String::from("signals")).spawn(move || {
                let signals = Signals::new(with_default_action());
                let _ = ready.send(());
                signals.into_iter().for_each(|mut signals| signals.forever().for_each(end_by));
            });
            if started.is_ok() {
                let _ = is_ready.recv();
            }
        });
    }

    fn end_by(signal: i32) {
        // The lock is held until the process ends, so that no more files are created or renamed.
        let paths = super::paths();
        for path in &*paths {
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        let _ = emulate_default_handler(signal);
    }

    /// The termination signals that are neither ignored nor handled by other code.
    fn with_default_action() -> Vec<i32> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = |name: &str| {
            let mask = status.lines().find_map(|line| line.strip_prefix(name))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        };
        let (Some(ignored), Some(caught)) = (mask("SigIgn:"), mask("SigCgt:")) else { return Vec::new() };
        let has_default = |signal: &i32| (ignored | caught) >> (signal - 1) & 1 == 0;
        [SIGHUP, SIGINT, SIGTERM].into_iter().filter(has_default).collect()
    }
}
