//! The end of a session whose memory a program has overwritten: its process is found by the file that it holds, and is ended by
//! a signal.

use super::{Command, Error, ask, lock, map, overwritten};
use crate::{control, sys};
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the session's process may take to complete its log.
const PATIENCE: Duration = Duration::from_secs(5);

/// A session that was ended by force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    /// The session's process; `None` if it was killed before.
    pub pid: Option<u32>,
    /// Its log, if it is a file.
    pub log: Option<PathBuf>,
    /// True if the process completed the log. Else what was in memory is lost.
    pub is_complete: bool,
}

/// Ends a session, also one whose memory was overwritten: gives `None` if it could be asked, as by [`stop`](super::stop).
///
/// # Errors
/// As of [`stop`](super::stop); or the session's process cannot be found or signalled.
pub fn force_stop(channel: usize) -> Result<Option<Forced>, Error> {
    match ask(channel, Command::Stop) {
        Err(Error::Overwritten { .. }) => {}
        asked => return asked.map(|()| None),
    }
    map()?;
    let _only = lock()?;
    let (file, path, is_alive) = overwritten(channel).ok_or(Error::NotActive { channel })?;
    let memory = |source| Error::Memory { path: path.clone(), source };
    let holder = if is_alive { Some(holder_of(&file.metadata().map_err(memory)?)?) } else { None };
    let log = holder.and_then(|pid| log_of(pid, &path));
    if let Some(pid) = holder {
        end(pid, &file)?;
    }
    control::set_on(channel, false);
    // Who completes the log removes the memory.
    let is_complete = !path.exists();
    let _ = fs::remove_file(&path);
    Ok(Some(Forced { pid: holder, log, is_complete }))
}

/// The process that has a file open.
fn holder_of(file: &Metadata) -> Result<u32, Error> {
    let is_it = |about: Metadata| (about.dev(), about.ino()) == (file.dev(), file.ino());
    let processes = fs::read_dir("/proc").map_err(Error::Process)?;
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| open_files(*pid).any(|path| fs::metadata(path).is_ok_and(is_it));
    let missing = || Error::Process(std::io::Error::other("no process is found that holds the session's memory"));
    pids.filter(|pid| *pid != sys::pid()).find(holds).ok_or_else(missing)
}

/// The open files of a process, as links to them.
fn open_files(pid: u32) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok();
    files.into_iter().flatten().filter_map(|file| Some(file.ok()?.path()))
}

/// The log that a session's process writes.
fn log_of(pid: u32, memory: &Path) -> Option<PathBuf> {
    let is_log = |path: &PathBuf| {
        let mut start = [0; 3];
        let begins =
            |mut file: File| file.read_exact(&mut start).is_ok() && (start == [0xEF, 0xDF, 0x11] || &start == b"TRA");
        path != memory && fs::metadata(path).is_ok_and(|about| about.is_file()) && File::open(path).is_ok_and(begins)
    };
    open_files(pid).filter_map(|link| fs::read_link(link).ok()).find(is_log)
}

/// Ends a session's process, and waits until it has let go of its memory.
fn end(pid: u32, memory: &File) -> Result<(), Error> {
    let is_over = || memory.try_lock().is_ok();
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        // A process that was stopped goes on, to complete its log.
        for signal in [signal, libc::SIGCONT] {
            if !is_over() {
                sys::signal(pid, signal).map_err(Error::Process)?;
            }
        }
        let begun = Instant::now();
        while !is_over() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}
