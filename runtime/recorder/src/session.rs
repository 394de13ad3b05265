//! Sessions: a trace of one channel, from its start to its complete log.
//!
//! ```text
//! start ── fork ──> session's process:  merge ─> Writer ─> log     <── on, off, stop (shared memory)
//!   │                                     ^
//!   └─> programs ── hooks ── buffers ─────┘
//! ```
//!
//! The session's memory is a file in the directory of shared memory. Its process keeps that file locked. A file without
//! a lock was left by a killed session, and [`recover`] reads it.

mod choice;
mod daemon;
mod force;
mod start;

pub use crate::control::{FOLDER_VARIABLE, QNX};
pub use daemon::run;
pub use force::{Forced, force_stop};
pub use start::{recover, start};

use crate::buffer_pool::{BufferPool, PoolSize, flag};
use crate::control::{self, ALL_CHANNELS, CHANNELS};
use crate::logger::Logger;
use crate::options::{Hooks, Mode, Output, TraceOptions};
use crate::record::Width;
use crate::sys;
use crate::thread_writer;
use crate::write;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Settings of a session and of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// AIX hooks, as started by `trace` and `trcstart`.
    Aix(TraceOptions),
    /// QNX events, as started by `tracelogger`.
    Kev(Logger),
}

/// Reason why a session cannot be started, controlled or stopped.
#[derive(Debug)]
pub enum Error {
    /// The channel already has a session.
    Active {
        /// Channel; 8 is QNX's trace.
        channel: usize,
        /// Process of the session.
        pid: u32,
    },
    /// The channel has no session.
    NotActive {
        /// Channel.
        channel: usize,
    },
    /// The channel's session was killed; its events still exist.
    Dead {
        /// Channel.
        channel: usize,
    },
    /// The header of the session's memory was overwritten, so it cannot receive commands.
    Overwritten {
        /// Channel.
        channel: usize,
    },
    /// The channel's session is interactive and can only be stopped at its prompt.
    Interactive {
        /// Channel.
        channel: usize,
        /// Process of the session.
        pid: u32,
    },
    /// The channel does not exist.
    NoChannel {
        /// Channel.
        channel: usize,
    },
    /// Channels 1 to 7 are all in use.
    NoFreeChannel,
    /// The directory of shared memory cannot be used.
    Memory {
        /// The directory, or a file in it.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The log cannot be written.
    Log {
        /// Path of the log.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The session's process could not be created, or ended without a reply.
    Process(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Active { channel, pid } => write!(f, "channel {channel} already has a session, process {pid}"),
            Error::NotActive { channel } => write!(f, "channel {channel} has no session"),
            Error::Dead { channel } => write!(f, "the session of channel {channel} was killed"),
            Error::Overwritten { channel } => {
                write!(f, "the header of the memory of channel {channel}'s session was overwritten")
            }
            Error::Interactive { channel, pid } => {
                write!(f, "the session of channel {channel} is interactive: it ends at the prompt of process {pid}")
            }
            Error::NoChannel { channel } => write!(f, "there is no channel {channel}"),
            Error::NoFreeChannel => write!(f, "channels 1 to 7 all have sessions"),
            Error::Memory { path, source } => write!(f, "cannot use {} as shared memory: {source}", path.display()),
            Error::Log { path, source } => write!(f, "cannot write {}: {source}", path.display()),
            Error::Process(source) => write!(f, "cannot run the session's process: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Memory { source, .. } | Error::Log { source, .. } | Error::Process(source) => Some(source),
            _ => None,
        }
    }
}

impl From<write::Error> for Error {
    fn from(error: write::Error) -> Self {
        Error::Log { path: error.path, source: error.source }
    }
}

impl Error {
    /// Error number for `errno`.
    pub fn errno(&self) -> i32 {
        match self {
            Error::Active { .. } | Error::NoFreeChannel => libc::EBUSY,
            Error::NotActive { .. } => libc::ENXIO,
            Error::Dead { .. } => libc::ESRCH,
            Error::Overwritten { .. } => libc::EBADMSG,
            Error::Interactive { .. } => libc::EPERM,
            Error::NoChannel { .. } => libc::EINVAL,
            Error::Memory { source, .. } | Error::Log { source, .. } | Error::Process(source) => {
                source.raw_os_error().unwrap_or(libc::EIO)
            }
        }
    }
}

/// Current state of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Channel; 8 is QNX's trace.
    pub channel: usize,
    /// Process of the session.
    pub pid: u32,
    /// True if it runs, false if it was killed.
    pub is_alive: bool,
    /// True if hooks record.
    pub is_on: bool,
    /// Log; empty for a stream.
    pub log: PathBuf,
    /// File of its shared memory.
    pub memory: PathBuf,
    /// Events lost for lack of a buffer, or overwritten, so far.
    pub missed: u64,
    /// Events whose data was cut, so far.
    pub cut: u64,
}

/// Maximum number of older sessions searched for one that was killed.
const MAX_LEFT: u64 = 64;

/// Command to a session's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    On = 1,
    Off = 2,
    Stop = 3,
    Discard = 4,
}

impl Command {
    fn of(number: u32) -> Option<Self> {
        [Command::On, Command::Off, Command::Stop, Command::Discard]
            .into_iter()
            .find(|command| *command as u32 == number)
    }
}

/// Turns a channel's hooks on.
///
/// # Errors
/// The channel has no living session.
pub fn on(channel: usize) -> Result<(), Error> {
    ask(channel, Command::On)
}

/// Turns a channel's hooks off; the session continues.
///
/// # Errors
/// The channel has no living session.
pub fn off(channel: usize) -> Result<(), Error> {
    ask(channel, Command::Off)
}

/// Stops a session and waits until its log is complete. `discard` drops the events still in buffers.
///
/// # Errors
/// The channel has no living session, or the log could not be completed; then the events in buffers can be recovered
/// with [`recover`].
pub fn stop(channel: usize, discard: bool) -> Result<(), Error> {
    ask(channel, if discard { Command::Discard } else { Command::Stop })
}

/// All sessions, living and killed.
///
/// # Errors
/// The directory of shared memory cannot be used.
pub fn sessions() -> Result<Vec<Status>, Error> {
    map()?;
    let _only = lock()?;
    let status = |channel| {
        let SessionMemory { pool, path, is_alive, .. } = find_any(channel)?;
        let header = pool.header();
        let status = Status {
            channel,
            pid: header.owner.load(Ordering::Relaxed),
            is_alive,
            is_on: is_alive && control::is_on(channel),
            log: path_of(pool.log()),
            memory: path,
            missed: header.missed.load(Ordering::Relaxed),
            cut: header.cut.load(Ordering::Relaxed),
        };
        release(pool);
        Some(status)
    };
    Ok((0..ALL_CHANNELS).filter_map(status).collect())
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

fn map() -> Result<(), Error> {
    crate::thread_writer::prepare();
    control::map().map_err(|source| Error::Memory { path: control::folder(), source })
}

/// Locks the directory, so that no other process starts, controls or stops sessions until the lock is dropped.
fn lock() -> Result<File, Error> {
    let path = folder().join("lock");
    let memory = |source| Error::Memory { path: path.clone(), source };
    let file = control::open_own(&path).map_err(memory)?;
    file.lock().map_err(memory)?;
    Ok(file)
}

fn folder() -> &'static Path {
    control::mapped_folder().unwrap_or(Path::new("/"))
}

fn session_file(channel: usize, session: u64) -> PathBuf {
    folder().join(control::session_name(channel, session))
}

/// Memory of a session of any process.
struct SessionMemory {
    pool: BufferPool,
    file: File,
    path: PathBuf,
    is_alive: bool,
}

/// Last session of a channel, if its memory exists.
fn find(channel: usize) -> Option<SessionMemory> {
    open(channel, control::session_of(channel))
}

/// Last session of a channel, or else an older one that was killed.
fn find_any(channel: usize) -> Option<SessionMemory> {
    let last = control::session_of(channel);
    // A new session may have been started after the one that was killed.
    (last.saturating_sub(MAX_LEFT)..=last).rev().find_map(|session| open(channel, session))
}

fn open(channel: usize, session: u64) -> Option<SessionMemory> {
    let path = session_file(channel, session);
    let file = File::options().read(true).write(true).open(&path).ok().filter(|_| session != 0)?;
    // The session's process has the lock. The system releases it when the process ends, even if it is killed.
    let is_alive = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    let pool = BufferPool::open(file.as_fd(), file.metadata().ok()?.len())?;
    Some(SessionMemory { pool, file, path, is_alive })
}

/// Error for a channel whose session is not among [`sessions`].
pub fn no_session_error(channel: usize) -> Error {
    if overwritten(channel).is_some() { Error::Overwritten { channel } } else { Error::NotActive { channel } }
}

/// Memory of a channel's last session, if its header was overwritten; true if the session still runs.
fn overwritten(channel: usize) -> Option<(File, PathBuf, bool)> {
    let session = control::session_of(channel);
    let path = session_file(channel, session);
    let file = File::options().read(true).write(true).open(&path).ok().filter(|_| session != 0)?;
    if let Some(pool) = BufferPool::open(file.as_fd(), file.metadata().ok()?.len()) {
        release(pool);
        return None;
    }
    let is_alive = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    Some((file, path, is_alive))
}

#[expect(unsafe_code, reason = "ends a mapping")]
fn release(pool: BufferPool) {
    // SAFETY: the caller mapped it, and does not use it again.
    unsafe { pool.unmap() };
}

/// Free channel for a task.
fn free_channel(task: &Task) -> Result<usize, Error> {
    // Process of a channel's running session.
    let owner_of = |channel| {
        let found = find(channel)?;
        let pid = found.pool.header().owner.load(Ordering::Relaxed);
        release(found.pool);
        found.is_alive.then_some(pid)
    };
    // A traced program can destroy the shared header. Such a channel is still in use, but cannot be controlled.
    let is_overwritten = |channel| overwritten(channel).is_some_and(|(.., is_alive)| is_alive);
    let channel = match task {
        Task::Kev(_) => QNX,
        Task::Aix(options) if options.generic => {
            let is_free = |channel: &usize| owner_of(*channel).is_none() && !is_overwritten(*channel);
            return (1..CHANNELS).find(is_free).ok_or(Error::NoFreeChannel);
        }
        Task::Aix(_) => 0,
    };
    if is_overwritten(channel) {
        return Err(Error::Overwritten { channel });
    }
    owner_of(channel).map_or(Ok(channel), |pid| Err(Error::Active { channel, pid }))
}

/// Sends a command to a session's process and waits for the reply.
fn ask(channel: usize, command: Command) -> Result<(), Error> {
    if channel >= ALL_CHANNELS {
        return Err(Error::NoChannel { channel });
    }
    map()?;
    let _only = lock()?;
    let found = find(channel).ok_or_else(|| no_session_error(channel))?;
    let header = found.pool.header();
    let pid = header.owner.load(Ordering::Relaxed);
    let is_others = header.flags.load(Ordering::Relaxed) & flag::INTERACTIVE != 0 && pid != sys::pid();
    let answer = if !found.is_alive {
        control::set_on(channel, false);
        Err(Error::Dead { channel })
    } else if is_others && matches!(command, Command::Stop | Command::Discard) {
        Err(Error::Interactive { channel, pid })
    } else {
        header.command.store(command as u32, Ordering::Relaxed);
        let asked = header.asked.fetch_add(1, Ordering::Release).wrapping_add(1);
        thread_writer::wake_session(&header.wake_up);
        loop {
            let answered = header.answered.load(Ordering::Acquire);
            if answered == asked {
                break match header.answer.load(Ordering::Relaxed) as i32 {
                    0 => Ok(()),
                    number => Err(Error::Log {
                        path: path_of(found.pool.log()),
                        source: io::Error::from_raw_os_error(number),
                    }),
                };
            }
            // Checked while waiting: a process that is killed never answers.
            let is_dead = found.file.try_lock().is_ok();
            if is_dead && header.answered.load(Ordering::Acquire) != asked {
                break Err(Error::Dead { channel });
            }
            sys::wait(&header.answered, answered, Duration::from_millis(50));
        }
    };
    release(found.pool);
    answer
}

/// Creates and announces the memory of a channel's next session. The file stays locked until it is closed.
fn create(channel: usize, task: &Task, clock: crate::clock::Clock) -> Result<(BufferPool, File, PathBuf), Error> {
    let last = control::session_of(channel);
    // Only the last killed session is kept.
    let left = find_any(channel).inspect(|found| release(found.pool)).map(|found| found.path);
    for old in last.saturating_sub(MAX_LEFT)..=last {
        let path = session_file(channel, old);
        if left.as_ref() != Some(&path) {
            let _ = fs::remove_file(path);
        }
    }
    let session = last + 1;
    let path = session_file(channel, session);
    let _ = fs::remove_file(&path);
    let memory = |source| Error::Memory { path: path.clone(), source };
    let file = control::open_own(&path).map_err(memory)?;
    // Locked before the session is announced, because others recognise a running session by this lock.
    file.lock().map_err(memory)?;
    let pool = BufferPool::create(file.as_fd(), shape_of(task)).map_err(|source| {
        let _ = fs::remove_file(&path);
        memory(source)
    })?;
    let header = pool.header();
    header.owner.store(sys::pid(), Ordering::Relaxed);
    header.hertz.store(clock.hertz, Ordering::Relaxed);
    header.flags.store(flags_of(task, clock), Ordering::Relaxed);
    fill_filter(&pool, task);
    control::set_session(channel, session);
    Ok((pool, file, path))
}

fn shape_of(task: &Task) -> PoolSize {
    match task {
        // Events of a 32-bit kernel take half the space that they take in the buffers.
        Task::Aix(options) => {
            let factor = if options.trace == Width::W32 { 2 } else { 1 };
            let buffers = if options.mode == Mode::Alternate { 2 } else { 1 };
            PoolSize::of(options.buffer_size.saturating_mul(factor * buffers))
        }
        Task::Kev(logger) => {
            PoolSize::of((32 << 14).max(u64::from(if logger.ring { logger.buffers } else { 0 }) * (32 << 10)))
        }
    }
}

fn flags_of(task: &Task, clock: crate::clock::Clock) -> u32 {
    let mut flags = 0;
    let mut set = |condition, bit| flags |= if condition { bit } else { 0 };
    set(clock.source == crate::clock::ClockSource::Cycles, flag::CYCLES);
    match task {
        Task::Aix(options) => {
            set(options.mode == Mode::Circular, flag::CIRCULAR);
            set(options.cpu_ids || options.cpu_logs.is_some(), flag::CPU);
            set(options.hooks != Hooks::All, flag::FILTERED);
            set(options.trace == Width::W32, flag::TRACE32);
        }
        Task::Kev(logger) => {
            set(logger.ring, flag::CIRCULAR);
            set(true, flag::CPU);
            set(!logger.except.is_empty(), flag::FILTERED);
            set(logger.big_endian, flag::BIG_ENDIAN);
        }
    }
    flags
}

/// Sets a bit for each recorded id. The id of a QNX event is its class and number, as in a slot's header.
fn fill_filter(pool: &BufferPool, task: &Task) {
    // All 65,536 answers are computed in advance; a hook then needs one load and one test.
    let is_recorded = |id: u16| match task {
        Task::Aix(options) => options.hooks.contains(id),
        Task::Kev(logger) => !logger.except.iter().any(|events| events.contains((id >> 10) as u8, id & 1023)),
    };
    for (first, word) in (0..=u16::MAX).step_by(64).zip(pool.filter()) {
        let bits = (0..64).filter(|bit| is_recorded(first + bit)).fold(0, |bits, bit| bits | 1 << bit);
        word.store(bits, Ordering::Relaxed);
    }
}

/// Destination of a task's events: a file, or `None` for standard output.
fn target_of(task: &Task) -> Option<PathBuf> {
    let (output, system) = match task {
        Task::Aix(options) => (&options.output, crate::paths::AIX_LOG),
        Task::Kev(logger) => (&logger.output, crate::paths::QNX_LOG),
    };
    match output {
        Output::Stdout => None,
        Output::File(path) => Some(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        Output::Default => {
            let path = crate::paths::to_write(system);
            // If this fails, creating the log fails too, and that error is reported.
            let _ = path.parent().map(fs::create_dir_all);
            Some(path)
        }
    }
}
