//! Where the logs are that nobody names, for those that write them and those that read them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The log of AIX's `trace`.
pub const AIX_LOG: &str = "/var/adm/ras/trcfile";
/// The log of QNX's `tracelogger`.
pub const QNX_LOG: &str = "/dev/shmem/tracebuffer.kev";

/// Where a session writes a log that is not named: `system`, [`AIX_LOG`] or [`QNX_LOG`], where its directory takes files of
/// this user, else the file of that name in `tfbc` of the user's state directory (`$XDG_STATE_HOME` or `~/.local/state`).
pub fn to_write(system: &str) -> PathBuf {
    let system = Path::new(system);
    match own(system) {
        Some(own) if !system.parent().is_some_and(takes_files) => own,
        _ => system.to_owned(),
    }
}

/// Where the log is that is to be read: where [this user writes it](to_write), else where the system has it.
pub fn to_read(system: &str) -> PathBuf {
    let written = to_write(system);
    if !written.exists() && Path::new(system).exists() { system.into() } else { written }
}

/// The user's own log of the same name; `None` where there is no home.
fn own(system: &Path) -> Option<PathBuf> {
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = directory("XDG_STATE_HOME").or_else(|| directory("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("tfbc").join(system.file_name().unwrap_or(OsStr::new("log"))))
}

/// Whether this user can make files in a directory.
#[cfg(target_os = "linux")]
fn takes_files(directory: &Path) -> bool {
    crate::access::is_writable(directory)
}

/// Whether this user can make files in a directory: nobody records here.
#[cfg(not(target_os = "linux"))]
fn takes_files(_directory: &Path) -> bool {
    false
}
