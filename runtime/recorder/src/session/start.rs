//! The start of a session in a process of its own, and the recovery of one that was killed.

use super::{Error, Task, daemon, find_any, free_channel, lock, map, no_session_error, release};
use crate::{control, sys, write};
use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Starts a session in a separate process. Returns its channel when hooks record (or, with `-d`, when they could be
/// turned on).
///
/// # Errors
/// The channel has a session, or the log or the shared memory cannot be created.
pub fn start(task: &Task) -> Result<usize, Error> {
    map()?;
    let _only = lock()?;
    let channel = free_channel(task)?;
    let (mut answer, to_caller) = io::pipe().map_err(Error::Process)?;
    match sys::fork().map_err(Error::Process)? {
        sys::ForkSide::Child => {
            // The session's process is detached, so that no program finds an unexpected child.
            match sys::fork() {
                Ok(sys::ForkSide::Child) => daemon::run_alone(task, channel, to_caller.as_fd()),
                _ => sys::exit_now(0),
            }
        }
        sys::ForkSide::Parent(child) => {
            drop(to_caller);
            sys::reap_child(child);
            let mut text = String::new();
            answer.read_to_string(&mut text).map_err(Error::Process)?;
            answer_of(&text, channel)
        }
    }
}

/// Parses the start reply of the session's process: `ok`, or the failed file and the error number.
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

/// Writes the events that a killed session left in shared memory to `path`: a sequential stream for AIX, a .kev log for
/// QNX. Events that are already in the session's log are left out. The memory is freed unless `keep` is set.
///
/// # Errors
/// The channel has no session, or a living one, or `path` cannot be written.
pub fn recover(channel: usize, path: &Path, keep: bool) -> Result<write::WriteSummary, Error> {
    map()?;
    // Locked until the end, so that nobody starts a session on this channel meanwhile.
    let _only = lock()?;
    let found = find_any(channel).ok_or_else(|| no_session_error(channel))?;
    let pid = found.pool.header().owner.load(Ordering::Relaxed);
    let recovered =
        if found.is_alive { Err(Error::Active { channel, pid }) } else { daemon::recover(&found.pool, channel, path) };
    release(found.pool);
    if recovered.is_ok() && !keep {
        control::set_on(channel, false);
        let _ = fs::remove_file(&found.path);
    }
    recovered
}
