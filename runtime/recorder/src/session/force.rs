//! Stops a session whose memory was overwritten. Its process is found through the file that it has open, and is stopped
//! by a signal.

use super::{Command, Error, ask, lock, map, overwritten};
use crate::{control, sys};
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time for the session's process to complete its log.
const PATIENCE: Duration = Duration::from_secs(5);

/// A session that was stopped by force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    /// Process of the session; `None` if it had already been killed.
    pub pid: Option<u32>,
    /// Its log, if it is a file.
    pub log: Option<PathBuf>,
    /// True if the process completed the log. Otherwise the events in memory are lost.
    pub is_complete: bool,
}

/// Stops a session, even if its memory was overwritten. Returns `None` if it could be stopped normally, as by
/// [`stop`](super::stop).
///
/// # Errors
/// The errors of [`stop`](super::stop); or the session's process cannot be found or signalled.
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
    // The process removes the memory when it completes the log.
    let is_complete = !path.exists();
    let _ = fs::remove_file(&path);
    Ok(Some(Forced { pid: holder, log, is_complete }))
}

/// Process that has a file open.
fn holder_of(file: &Metadata) -> Result<u32, Error> {
    let is_it = |about: Metadata| (about.dev(), about.ino()) == (file.dev(), file.ino());
    let processes = fs::read_dir("/proc").map_err(Error::Process)?;
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let has_it_open = |pid: &u32| open_files(*pid).any(|path| fs::metadata(path).is_ok_and(is_it));
    let missing = || Error::Process(std::io::Error::other("found no process that has the session's memory open"));
    pids.filter(|pid| *pid != sys::pid()).find(has_it_open).ok_or_else(missing)
}

/// Open files of a process, as links.
fn open_files(pid: u32) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok();
    files.into_iter().flatten().filter_map(|file| Some(file.ok()?.path()))
}

/// Log that a session's process writes.
fn log_of(pid: u32, memory: &Path) -> Option<PathBuf> {
    let is_log = |path: &PathBuf| {
        let mut start = [0; 3];
        let begins =
            |mut file: File| file.read_exact(&mut start).is_ok() && (start == [0xEF, 0xDF, 0x11] || &start == b"TRA");
        path != memory && fs::metadata(path).is_ok_and(|about| about.is_file()) && File::open(path).is_ok_and(begins)
    };
    open_files(pid).filter_map(|link| fs::read_link(link).ok()).find(is_log)
}

/// Stops a session's process and waits until it releases its memory.
fn end(pid: u32, memory: &File) -> Result<(), Error> {
    let is_over = || memory.try_lock().is_ok();
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        // A stopped process must continue to complete its log.
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
