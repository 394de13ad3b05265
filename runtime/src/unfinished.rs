//! Files that are being written under temporary names, and are removed if a signal ends the process.
//!
//! On Linux, the first such file of a command starts a thread that waits for HUP, INT and TERM. It removes the files and
//! ends the process by the same signal, so that a shell sees what happened. A signal that was ignored when the command
//! began, as by `nohup`, stays ignored. Other systems do not tell that: there, the next command removes what is left.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The paths of all unfinished files of this process.
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn paths() -> MutexGuard<'static, Vec<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file under a temporary name.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub file: NamedTempFile,
    listed: Listed,
}

/// An entry in the list of paths, as long as it lives.
#[derive(Debug)]
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        paths().retain(|path| *path != self.0);
    }
}

impl Unfinished {
    /// The file that `make` makes.
    ///
    /// # Errors
    /// As of `make`.
    pub fn new(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        signals::watch();
        // A signal waits for the lock, so that no file exists that is not in the list.
        let mut paths = paths();
        let file = make()?;
        let path = file.path().to_owned();
        paths.push(path.clone());
        drop(paths);
        Ok(Self { file, listed: Listed(path) })
    }

    /// Gives the file its name. Once a signal has begun to end the process, that does not happen any more.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        let Self { file, listed } = self;
        let paths = paths();
        let persisted = file.persist(path).map(drop).map_err(|error| error.error);
        drop(paths);
        drop(listed);
        persisted
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

    /// True in commands. A program that uses the library minds its signals itself.
    static IS_WANTED: AtomicBool = AtomicBool::new(false);

    /// From now on, unfinished files are removed if a signal ends the process.
    pub(crate) fn remove_at_signals() {
        IS_WANTED.store(true, Ordering::Relaxed);
    }

    /// Starts the thread that waits for signals, and returns when it does.
    pub(super) fn watch() {
        static STARTED: Once = Once::new();
        if !IS_WANTED.load(Ordering::Relaxed) {
            return;
        }
        STARTED.call_once(|| {
            let (ready, is_ready) = mpsc::channel();
            // Without the thread, signals end the process as ever.
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
        // Held until the process ends: no further file is made.
        let paths = super::paths();
        paths.iter().for_each(|path| drop(fs::remove_file(path)));
        let _ = emulate_default_handler(signal);
    }

    /// Those of the three signals that are neither ignored nor handled otherwise.
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
