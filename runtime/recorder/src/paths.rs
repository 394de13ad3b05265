//! Default paths of logs, for writers and readers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Default log of AIX's `trace`.
pub const AIX_LOG: &str = "/var/adm/ras/trcfile";
/// Default log of QNX's `tracelogger`.
pub const QNX_LOG: &str = "/dev/shmem/tracebuffer.kev";

/// Path for a new default log. `system`, [`AIX_LOG`] or [`QNX_LOG`], is used if the user can write to its directory.
/// Otherwise it is a file of that name in `tfbc` in the user's state directory (`$XDG_STATE_HOME` or `~/.local/state`).
pub fn to_write(system: &str) -> PathBuf {
    let system = Path::new(system);
    match own(system) {
        Some(own) if !system.parent().is_some_and(takes_files) => own,
        _ => system.to_owned(),
    }
}

/// Path of the default log to read: [the user's own](to_write) if it exists, otherwise the system's.
pub fn to_read(system: &str) -> PathBuf {
    let written = to_write(system);
    if !written.exists() && Path::new(system).exists() { system.into() } else { written }
}

/// The user's own log of the same name; `None` without a home directory.
fn own(system: &Path) -> Option<PathBuf> {
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = directory("XDG_STATE_HOME").or_else(|| directory("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("tfbc").join(system.file_name().unwrap_or(OsStr::new("log"))))
}

/// True if the user can create files in a directory.
#[cfg(target_os = "linux")]
fn takes_files(directory: &Path) -> bool {
    crate::access::is_writable(directory)
}

/// Always false: recording is not supported here.
#[cfg(not(target_os = "linux"))]
fn takes_files(_directory: &Path) -> bool {
    false
}
