//! Sessions: a trace of one channel, from its start to its complete log.
//!
//! ```text
//! start ── fork ──> session's process:  merge ─> Writer ─> log     <── on, off, stop (shared memory)
//!   │                                     ^
//!   └─> programs ── hooks ── buffers ─────┘
//! ```
//!
//! The session's memory is a file of its own in the folder of shared memory. Its process holds a lock on that file as long as
//! it lives: a file without a holder is what a killed session left, and [`recover`] reads it.

mod choice;
mod force;
mod keeper;

pub use crate::control::{FOLDER_VARIABLE, QNX};
pub use force::{Forced, force_stop};
pub use keeper::run;

use crate::control::{self, ALL_CHANNELS, CHANNELS};
use crate::lane;
use crate::logger::Logger;
use crate::options::{Hooks, Mode, Options, Output};
use crate::pool::{Pool, Shape, flag};
use crate::record::Width;
use crate::sys;
use crate::write;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a session records, and how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// AIX hooks, as `trace` and `trcstart` begin it.
    Aix(Options),
    /// QNX events, as `tracelogger` begins it.
    Kev(Logger),
}

/// Why a session cannot be begun, told something, or ended.
#[derive(Debug)]
pub enum Error {
    /// The channel has a session already.
    Active {
        /// The channel; 8 stands for QNX's trace.
        channel: usize,
        /// The session's process.
        pid: u32,
    },
    /// The channel has no session.
    NotActive {
        /// The channel.
        channel: usize,
    },
    /// The channel's session was killed; its events are still there.
    Dead {
        /// The channel.
        channel: usize,
    },
    /// The header of the session's memory was overwritten, so that nothing can be told to the session.
    Overwritten {
        /// The channel.
        channel: usize,
    },
    /// The channel's session ends at its own prompt.
    Interactive {
        /// The channel.
        channel: usize,
        /// The session's process.
        pid: u32,
    },
    /// There is no channel of this number.
    NoChannel {
        /// The number.
        channel: usize,
    },
    /// The channels 1 to 7 all have sessions.
    NoFreeChannel,
    /// The folder of shared memory cannot be used.
    Memory {
        /// The folder or a file in it.
        path: PathBuf,
        /// What was wrong.
        source: io::Error,
    },
    /// The log cannot be written.
    Log {
        /// The log.
        path: PathBuf,
        /// What was wrong.
        source: io::Error,
    },
    /// The session's process could not be made, or ended without a word.
    Process(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Active { channel, pid } => write!(f, "channel {channel} has a session already, process {pid}"),
            Error::NotActive { channel } => write!(f, "channel {channel} has no session"),
            Error::Dead { channel } => write!(f, "the session of channel {channel} was killed"),
            Error::Overwritten { channel } => {
                write!(f, "the header of the memory of channel {channel}'s session was overwritten")
            }
            Error::Interactive { channel, pid } => {
                write!(f, "the session of channel {channel} ends at its prompt, that of process {pid}")
            }
            Error::NoChannel { channel } => write!(f, "there is no channel {channel}"),
            Error::NoFreeChannel => write!(f, "the channels 1 to 7 all have sessions"),
            Error::Memory { path, source } => write!(f, "cannot use {} as shared memory: {source}", path.display()),
            Error::Log { path, source } => write!(f, "cannot write {}: {source}", path.display()),
            Error::Process(source) => write!(f, "the session's process cannot run: {source}"),
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
    /// The number that stands for it in `errno`.
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

/// One session, as it is at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The channel; 8 stands for QNX's trace.
    pub channel: usize,
    /// The session's process.
    pub pid: u32,
    /// Whether it runs; else it was killed.
    pub is_alive: bool,
    /// Whether hooks record.
    pub is_on: bool,
    /// Its log; empty for a stream.
    pub log: PathBuf,
    /// The file of its shared memory.
    pub memory: PathBuf,
    /// Events that found no buffer, or gave way to newer ones, so far.
    pub missed: u64,
    /// Events whose bytes were cut, so far.
    pub cut: u64,
}

/// Sessions of a channel among which one that was killed is looked for.
const MAX_LEFT: u64 = 64;

/// What a session's process is asked for.
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

/// Begins a session in a process of its own, and gives its channel once hooks are recorded (or not, with `-d`).
///
/// # Errors
/// The channel has a session, or the log or the shared memory cannot be made.
pub fn start(task: &Task) -> Result<usize, Error> {
    map()?;
    let _only = lock()?;
    let channel = free_channel(task)?;
    let (mut answer, to_caller) = io::pipe().map_err(Error::Process)?;
    match sys::fork().map_err(Error::Process)? {
        sys::Side::Child => {
            // The session's process is nobody's child, so that no program finds one that it did not make.
            match sys::fork() {
                Ok(sys::Side::Child) => keeper::run_alone(task, channel, to_caller.as_fd()),
                _ => sys::exit_now(0),
            }
        }
        sys::Side::Parent(child) => {
            drop(to_caller);
            sys::reap_child(child);
            let mut text = String::new();
            answer.read_to_string(&mut text).map_err(Error::Process)?;
            answer_of(&text, channel)
        }
    }
}

/// What the session's process said of its start: `ok`, or which file failed, with the error's number.
fn answer_of(text: &str, channel: usize) -> Result<usize, Error> {
    if text == "ok" {
        return Ok(channel);
    }
    let mut parts = text.splitn(3, ' ');
    let (kind, number, path) = (parts.next(), parts.next(), parts.next());
    let source = io::Error::from_raw_os_error(number.and_then(|number| number.parse().ok()).unwrap_or(libc::EIO));
    let path = path.unwrap_or_default().into();
    Err(match kind {
        Some("log") => Error::Log { path, source },
        Some("memory") => Error::Memory { path, source },
        _ => Error::Process(source),
    })
}

/// The other side of [`answer_of`].
fn answer_text(started: &Result<(), Error>) -> String {
    match started {
        Ok(()) => "ok".to_owned(),
        Err(error @ Error::Log { path, .. }) => format!("log {} {}", error.errno(), path.display()),
        Err(error @ Error::Memory { path, .. }) => format!("memory {} {}", error.errno(), path.display()),
        Err(error) => format!("process {}", error.errno()),
    }
}

/// Turns a channel's hooks on.
///
/// # Errors
/// The channel has no living session.
pub fn on(channel: usize) -> Result<(), Error> {
    ask(channel, Command::On)
}

/// Turns a channel's hooks off; its session goes on.
///
/// # Errors
/// The channel has no living session.
pub fn off(channel: usize) -> Result<(), Error> {
    ask(channel, Command::Off)
}

/// Ends a session, and waits until its log is complete. `discard` drops what is still in the buffers.
///
/// # Errors
/// The channel has no living session, or the log could not be completed: then what is in the buffers is left for
/// [`recover`].
pub fn stop(channel: usize, discard: bool) -> Result<(), Error> {
    ask(channel, if discard { Command::Discard } else { Command::Stop })
}

/// All sessions, living and killed.
///
/// # Errors
/// The folder of shared memory cannot be used.
pub fn sessions() -> Result<Vec<Status>, Error> {
    map()?;
    let _only = lock()?;
    let status = |channel| {
        let Found { pool, path, is_alive, .. } = find_any(channel)?;
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

/// Makes a log of the events that a killed session left in shared memory, to `path`: a sequential stream for AIX, a .kev log
/// for QNX. What the session's own log holds already is not in it. The memory is given back unless `keep` says otherwise.
///
/// # Errors
/// The channel has no session, or one that lives, or `path` cannot be written.
pub fn recover(channel: usize, path: &Path, keep: bool) -> Result<write::Summary, Error> {
    map()?;
    let _only = lock()?;
    let found = find_any(channel).ok_or_else(|| absent(channel))?;
    let pid = found.pool.header().owner.load(Ordering::Relaxed);
    let recovered =
        if found.is_alive { Err(Error::Active { channel, pid }) } else { keeper::recover(&found.pool, channel, path) };
    release(found.pool);
    if recovered.is_ok() && !keep {
        control::set_on(channel, false);
        let _ = fs::remove_file(&found.path);
    }
    recovered
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

fn map() -> Result<(), Error> {
    control::prepare();
    control::map().map_err(|source| Error::Memory { path: control::folder(), source })
}

/// Keeps others from beginning, telling and ending sessions at the same time; until it is dropped.
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

/// A session's memory, of any process.
struct Found {
    pool: Pool,
    file: File,
    path: PathBuf,
    is_alive: bool,
}

/// The last session of a channel, where it is there.
fn find(channel: usize) -> Option<Found> {
    open(channel, control::session_of(channel))
}

/// The same, or else what a session before it left that was killed.
fn find_any(channel: usize) -> Option<Found> {
    let last = control::session_of(channel);
    (last.saturating_sub(MAX_LEFT)..=last).rev().find_map(|session| open(channel, session))
}

fn open(channel: usize, session: u64) -> Option<Found> {
    let path = session_file(channel, session);
    let file = File::options().read(true).write(true).open(&path).ok().filter(|_| session != 0)?;
    let is_alive = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    let pool = Pool::open(file.as_fd(), file.metadata().ok()?.len())?;
    Some(Found { pool, file, path, is_alive })
}

/// Why a channel's session is not among [`sessions`].
pub fn absent(channel: usize) -> Error {
    if overwritten(channel).is_some() { Error::Overwritten { channel } } else { Error::NotActive { channel } }
}

/// The memory of a channel's last session, if it is there and its header was overwritten; and true if the session lives.
fn overwritten(channel: usize) -> Option<(File, PathBuf, bool)> {
    let session = control::session_of(channel);
    let path = session_file(channel, session);
    let file = File::options().read(true).write(true).open(&path).ok().filter(|_| session != 0)?;
    if let Some(pool) = Pool::open(file.as_fd(), file.metadata().ok()?.len()) {
        release(pool);
        return None;
    }
    let is_alive = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    Some((file, path, is_alive))
}

#[expect(unsafe_code, reason = "ends a mapping")]
fn release(pool: Pool) {
    // SAFETY: the caller mapped it, and gives it away.
    unsafe { pool.unmap() };
}

/// The channel that a task may have.
fn free_channel(task: &Task) -> Result<usize, Error> {
    // The process of a channel's living session.
    let keeper_of = |channel| {
        let found = find(channel)?;
        let pid = found.pool.header().owner.load(Ordering::Relaxed);
        release(found.pool);
        found.is_alive.then_some(pid)
    };
    let is_overwritten = |channel| overwritten(channel).is_some_and(|(.., is_alive)| is_alive);
    let channel = match task {
        Task::Kev(_) => QNX,
        Task::Aix(options) if options.generic => {
            let is_free = |channel: &usize| keeper_of(*channel).is_none() && !is_overwritten(*channel);
            return (1..CHANNELS).find(is_free).ok_or(Error::NoFreeChannel);
        }
        Task::Aix(_) => 0,
    };
    if is_overwritten(channel) {
        return Err(Error::Overwritten { channel });
    }
    keeper_of(channel).map_or(Ok(channel), |pid| Err(Error::Active { channel, pid }))
}

/// Has a session's process do something, and waits until it is done.
fn ask(channel: usize, command: Command) -> Result<(), Error> {
    if channel >= ALL_CHANNELS {
        return Err(Error::NoChannel { channel });
    }
    map()?;
    let _only = lock()?;
    let found = find(channel).ok_or_else(|| absent(channel))?;
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
        lane::ring(&header.bell);
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

/// Makes the memory of a channel's next session, and announces it. Its file is locked as long as it is open.
fn create(channel: usize, task: &Task, clock: crate::clock::Clock) -> Result<(Pool, File, PathBuf), Error> {
    let last = control::session_of(channel);
    // Of what killed sessions left, the last is kept.
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
    file.lock().map_err(memory)?;
    let pool = Pool::create(file.as_fd(), shape_of(task)).map_err(|source| {
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

fn shape_of(task: &Task) -> Shape {
    match task {
        // A 32-bit kernel's events are half as long as they lie in the buffers.
        Task::Aix(options) => {
            let factor = if options.trace == Width::W32 { 2 } else { 1 };
            let buffers = if options.mode == Mode::Alternate { 2 } else { 1 };
            Shape::of(options.buffer_size.saturating_mul(factor * buffers))
        }
        Task::Kev(logger) => {
            Shape::of((32 << 14).max(u64::from(if logger.ring { logger.buffers } else { 0 }) * (32 << 10)))
        }
    }
}

fn flags_of(task: &Task, clock: crate::clock::Clock) -> u32 {
    let mut flags = 0;
    let mut set = |condition, bit| flags |= if condition { bit } else { 0 };
    set(clock.source == crate::clock::Source::Cycles, flag::CYCLES);
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

/// Sets a bit for each id that is recorded. The id of an event of QNX is its class and number, as in a slot's header.
fn fill_filter(pool: &Pool, task: &Task) {
    let is_recorded = |id: u16| match task {
        Task::Aix(options) => options.hooks.contains(id),
        Task::Kev(logger) => !logger.except.iter().any(|events| events.contains((id >> 10) as u8, id & 1023)),
    };
    for (first, word) in (0..=u16::MAX).step_by(64).zip(pool.filter()) {
        let bits = (0..64).filter(|bit| is_recorded(first + bit)).fold(0, |bits, bit| bits | 1 << bit);
        word.store(bits, Ordering::Relaxed);
    }
}

/// Where a task's events go: a file, or standard output.
fn target_of(task: &Task) -> Option<PathBuf> {
    let (output, system) = match task {
        Task::Aix(options) => (&options.output, crate::place::AIX_LOG),
        Task::Kev(logger) => (&logger.output, crate::place::QNX_LOG),
    };
    match output {
        Output::Stdout => None,
        Output::File(path) => Some(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        Output::Default => {
            let path = crate::place::to_write(system);
            // Where it cannot be made, the log cannot either, and that is told.
            let _ = path.parent().map(fs::create_dir_all);
            Some(path)
        }
    }
}
