//! Control page: which channels are on, shared by all processes of a user.
//!
//! ```text
//! offset 0     flags   16 × u8    one a channel: 0 off; AIX's channels 0 to 7, QNX's trace as channel 8
//!        64    session 16 × u64   number of the channel's last session, 0 before the first
//!        192   magic   u64
//!        200   a moment by cycles and by `CLOCK_MONOTONIC`, 2 × u64, 0 before the first session
//! ```
//!
//! Each process maps the page over a static, so that a hook finds the flag of its channel at an address known to the
//! linker. The mapping is made before `main`, or by [`prepare`]. A process without the mapping (no directory, no
//! memory) is never traced.

#![expect(unsafe_code, reason = "maps shared memory over a static, and runs before main")]

use crate::clock::{ClockSource, Moment};
use crate::sys;
use std::ffi::{CStr, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::{fs, io};

/// Number of AIX channels: 0 for system events, 1 to 7 for programs.
pub const CHANNELS: usize = 8;
/// Channel of QNX's trace.
pub const QNX: usize = 8;
/// Number of all channels.
pub(crate) const ALL_CHANNELS: usize = 9;

/// Environment variable with the directory of shared memory, if it is not the default.
pub const FOLDER_VARIABLE: &str = "TFBC_TRACE_DIR";

const MAGIC: u64 = u64::from_be_bytes(*b"tfbctrc1");
const PAGE: usize = 4096;

/// The control page.
#[repr(C, align(4096))]
pub(crate) struct Control {
    flags: [AtomicU8; 16],
    _unused: [AtomicU8; 48],
    pub sessions: [AtomicU64; 16],
    magic: AtomicU64,
    moment: [AtomicU64; 2],
    _rest: [AtomicU8; PAGE - 216],
}

/// Flags under the name that AIX's macros use: nonzero if a channel is on. C programs read it too.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub static Trconflag: Control = Control {
    flags: [const { AtomicU8::new(0) }; 16],
    _unused: [const { AtomicU8::new(0) }; 48],
    sessions: [const { AtomicU64::new(0) }; 16],
    magic: AtomicU64::new(0),
    moment: [const { AtomicU64::new(0) }; 2],
    _rest: [const { AtomicU8::new(0) }; PAGE - 216],
};

static MAPPED: AtomicBool = AtomicBool::new(false);
/// Directory with a final `/` and space for a file name, for code that must not allocate.
static FOLDER: OnceLock<Vec<u8>> = OnceLock::new();

/// True if a channel is on.
#[inline(always)]
pub fn is_on(channel: usize) -> bool {
    // Acquire: a thread that sees the flag must also see the session number.
    Trconflag.flags[channel & 15].load(Ordering::Acquire) != 0
}

/// Turns a channel on or off for all processes.
pub(crate) fn set_on(channel: usize, on: bool) {
    Trconflag.flags[channel & 15].store(u8::from(on), Ordering::SeqCst);
}

/// Number of a channel's last session.
#[inline(always)]
pub(crate) fn session_of(channel: usize) -> u64 {
    Trconflag.sessions[channel & 15].load(Ordering::Acquire)
}

pub(crate) fn set_session(channel: usize, session: u64) {
    Trconflag.sessions[channel & 15].store(session, Ordering::Release);
}

/// True if the page is mapped. Without it, nothing can be traced.
pub(crate) fn is_mapped() -> bool {
    MAPPED.load(Ordering::Acquire)
}

/// Directory of shared memory.
pub(crate) fn folder() -> PathBuf {
    // A privileged program ignores the variable, which its caller controls. SAFETY: takes only a number.
    let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let named = if is_privileged { None } else { std::env::var_os(FOLDER_VARIABLE) };
    let own = || {
        let memory = if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
        format!("{memory}/tfbc-trace.{}", sys::user()).into()
    };
    let folder = named.filter(|name| !name.is_empty()).map_or_else(own, PathBuf::from);
    std::path::absolute(&folder).unwrap_or(folder)
}

/// File name of a channel's session.
pub(crate) fn session_name(channel: usize, session: u64) -> String {
    format!("{channel}.{session}")
}

/// Writes the path of a session, with its NUL, without allocation. Returns `None` if it is too long, or if nothing is
/// mapped.
pub(crate) fn session_path(channel: usize, session: u64, path: &mut [u8; 512]) -> Option<&CStr> {
    use std::io::Write;
    let folder = FOLDER.get()?;
    let mut rest = &mut path[..];
    rest.write_all(folder).ok()?;
    write!(rest, "/{channel}.{session}\0").ok()?;
    CStr::from_bytes_until_nul(path).ok()
}

/// Creates the directory and the page if they do not exist, and maps the page.
///
/// # Errors
/// The directory belongs to another user or cannot be created, or there is no memory for the page.
pub(crate) fn map() -> io::Result<()> {
    if is_mapped() {
        return Ok(());
    }
    let folder = folder();
    make_folder(&folder)?;
    let path = folder.join("control");
    let file = open_own(&path)?;
    if file.metadata()?.len() < PAGE as u64 {
        sys::reserve(file.as_fd(), PAGE)?;
    }
    let at = (&raw const Trconflag).cast_mut().cast();
    // SAFETY: the static is exactly one page, page-aligned, and consists of atomics, for which any bytes are valid.
    if !unsafe { sys::map_over(at, file.as_fd(), PAGE) } {
        return Err(io::Error::last_os_error());
    }
    let magic = Trconflag.magic.compare_exchange(0, MAGIC, Ordering::SeqCst, Ordering::SeqCst);
    if magic.is_err_and(|found| found != MAGIC) {
        return Err(io::Error::other(format!("{} is not a control page of this version", path.display())));
    }
    let folder = FOLDER.get_or_init(|| folder.into_os_string().into_vec());
    if folder.contains(&0) || folder.len() > 400 {
        return Err(io::Error::other("the folder's name is too long"));
    }
    MAPPED.store(true, Ordering::Release);
    Ok(())
}

/// Moment of the first session with this clock. The longer ago it is, the more precise the measured clock rate.
pub(crate) fn first_moment(source: ClockSource) -> Moment {
    let [ticks, ns] = &Trconflag.moment;
    let noted = Moment { ticks: ticks.load(Ordering::Relaxed), ns: ns.load(Ordering::Relaxed) };
    let now = Moment::now(source);
    // A clock that went backwards belongs to a machine that was suspended and moved, so the moment is replaced.
    if source == ClockSource::Cycles && noted.ns > 0 && noted.ns < now.ns && noted.ticks < now.ticks {
        return noted;
    }
    ticks.store(now.ticks, Ordering::Relaxed);
    ns.store(now.ns, Ordering::Relaxed);
    now
}

/// The mapped directory.
pub(crate) fn mapped_folder() -> Option<&'static Path> {
    FOLDER.get().map(|bytes| Path::new(OsStr::from_bytes(bytes)))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // In a world-writable directory another user may have created a link under this name.
    let about = fs::symlink_metadata(folder)?;
    if !about.is_dir() || about.uid() != sys::user() || about.mode() & 0o022 != 0 {
        let why = "it is not a directory that belongs to this user and that only this user can write to";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// Opens or creates a file that other users cannot access.
pub(crate) fn open_own(path: &Path) -> io::Result<fs::File> {
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)?;
    if file.metadata()?.uid() != sys::user() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is another user's"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_one_page() {
        assert_eq!(size_of::<Control>(), PAGE);
        assert_eq!(std::mem::offset_of!(Control, sessions), 64);
    }
}
