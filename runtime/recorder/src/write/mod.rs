//! Turns [`Record`]s into the bytes of logs.
//!
//! ```text
//! Setup ─ what is known at the start ─┐
//! Record ─ one event at a time ───────┼─> Writer ─> AIX log | AIX stream | .kev log
//! ticks, processes, missed counts ────┘
//! ```
//!
//! All of it is plain safe code over byte buffers and files: who merges the events, and from where they come, is the
//! session's matter. A writer never panics and never makes a file that its readers stumble over: what a layout cannot hold
//! is counted and told in the log as missed, a time that goes back is written as the last one, and a log file is
//! readable after every single write.

mod aix;
mod cpu_logs;
mod encode;
mod held;
mod kev;
mod log_file;
mod ring;
mod setup;
mod stream;

pub use encode::{Encoder, Refusal};
pub use kev::ThreadFacts;
pub use log_file::AixLog;
pub use setup::{Layout, Machine, Process, Setup, Symbol};
pub use stream::AixStream;

use crate::options::Options;
use crate::record::Record;
use cpu_logs::CpuLogs;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A log that is being written.
///
/// What may be called when:
///
/// - [`create`](Writer::create) or [`stream`](Writer::stream) once. The header, the process table of the [`Setup`] and, unless
///   the session begins off, the 001 event of the start stand in the log when it returns: do not call `on` for the start.
/// - Then, in any order and any number: [`record`](Writer::record), [`missed`](Writer::missed),
///   [`process`](Writer::process), [`symbol`](Writer::symbol), [`on`](Writer::on), [`off`](Writer::off),
///   [`flush`](Writer::flush). Times should not go back from call to call, over all of them; those that do are clamped and counted.
/// - [`finish`](Writer::finish) at the end, after the last `off`. Without it a log holds what was flushed or filled a
///   buffer, and is readable as such; one of mode circular or single then holds no events.
///
/// A call that fails loses at most the events that it was given: what was written stays readable, what waits in memory is
/// kept and tried again by the next call that writes. [`finish`](Writer::finish) may be called again, too.
pub struct Writer {
    kind: Kind,
    name: PathBuf,
}

enum Kind {
    Log(Box<AixLog<File>>),
    Cpus(Box<CpuLogs>),
    Stream(Box<AixStream<Box<dyn Write + Send>>>),
    Kev(Box<kev::KevLog<Box<dyn Write + Send>>>),
}

impl Writer {
    /// Begins a log file: an AIX log or a .kev log, by the setup's [`Layout`].
    ///
    /// An older file of that name is kept as `NAME.old` where the options say so, else replaced; a reader that has it open
    /// goes on reading it. It is there until the new log has its header.
    ///
    /// # Errors
    /// The file cannot be made, or the sizes of the options do not fit: a log of more than 2¹⁸ buffers, or a 32-bit one
    /// beyond 4 GiB.
    pub fn create(setup: &Setup, path: &Path) -> Result<Self, Error> {
        let kind = match &setup.layout {
            Layout::Aix { options: Options { cpu_logs: Some(cpus), .. }, .. } => {
                CpuLogs::create(cpus, setup, path).map(|logs| Kind::Cpus(Box::new(logs)))
            }
            Layout::Aix { options, .. } => setup::new_file(path, options.keeps_old, |file| AixLog::create(file, setup))
                .map(|log| Kind::Log(Box::new(log))),
            Layout::Kev(_) => {
                let name = path.to_string_lossy();
                let begin = |file| kev::KevLog::create(Box::new(file) as Box<dyn Write + Send>, setup, &name);
                setup::new_file(path, false, begin).map(|log| Kind::Kev(Box::new(log)))
            }
        };
        kind.map(|kind| Writer { kind, name: path.to_owned() }).map_err(|source| Error::new(path, source))
    }

    /// Begins a sequential stream (`trace -o -`), or a .kev log, to any output; `name` is what errors call it.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn stream(setup: &Setup, out: Box<dyn Write + Send>, name: &str) -> Result<Self, Error> {
        let kind = match &setup.layout {
            Layout::Aix { .. } => AixStream::create(out, setup).map(|stream| Kind::Stream(Box::new(stream))),
            Layout::Kev(_) => kev::KevLog::create(out, setup, name).map(|log| Kind::Kev(Box::new(log))),
        };
        let name = PathBuf::from(name);
        match kind {
            Ok(kind) => Ok(Writer { kind, name }),
            Err(source) => Err(Error::new(&name, source)),
        }
    }

    /// Writes one event. One that the layout cannot hold, or for which there is no room any more, is counted as missed.
    ///
    /// # Errors
    /// A buffer is full and cannot be written out: the event is lost, the buffer is not.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let written = match &mut self.kind {
            Kind::Log(log) => log.record(record),
            Kind::Cpus(logs) => logs.record(record),
            Kind::Stream(stream) => stream.record(record),
            Kind::Kev(log) => log.record(record),
        };
        written.map_err(|source| Error::new(&self.name, source))
    }

    /// Tells that `n` events were lost before `ticks`: a 006 event of an AIX trace; a .kev log only counts them.
    ///
    /// # Errors
    /// As [`record`](Writer::record).
    pub fn missed(&mut self, n: u64, ticks: u64) -> Result<(), Error> {
        self.note(Note::Missed(n, ticks))
    }

    /// Tells that a thread of a process is there, and what its process runs (a path without NUL, cut at 1023 bytes). To be called
    /// ahead of the thread's first event, and again when its process runs another program.
    ///
    /// # Errors
    /// As [`record`](Writer::record).
    pub fn process(&mut self, pid: u32, tid: u32, path: &[u8]) -> Result<(), Error> {
        self.note(Note::Process(pid, tid, path))
    }

    /// Tells facts of a thread, for the call of [`process`](Writer::process) that follows; .kev logs only.
    pub fn facts(&mut self, pid: u32, tid: u32, facts: ThreadFacts) {
        if let Kind::Kev(log) = &mut self.kind {
            log.set_facts(pid, tid, facts);
        }
    }

    /// True if facts of threads and ends of processes are to be told.
    pub fn wants_facts(&self) -> bool {
        matches!(self.kind, Kind::Kev(_))
    }

    /// Tells that a process has ended; .kev logs only.
    ///
    /// # Errors
    /// As [`record`](Writer::record).
    pub fn ended(&mut self, pid: u32, parent: u32, ticks: u64) -> Result<(), Error> {
        let Kind::Kev(log) = &mut self.kind else { return Ok(()) };
        log.ended(pid, parent, ticks).map_err(|source| Error::new(&self.name, source))
    }

    /// Tells the address of a name in a process (`-n`); AIX traces only. Names are cut at 1023 bytes.
    ///
    /// # Errors
    /// As [`record`](Writer::record).
    pub fn symbol(&mut self, pid: u32, address: u64, name: &[u8]) -> Result<(), Error> {
        self.note(Note::Symbol(pid, address, name))
    }

    /// Collection goes on (001), after an `off` or where the session began off.
    ///
    /// # Errors
    /// As [`record`](Writer::record).
    pub fn on(&mut self, ticks: u64) -> Result<(), Error> {
        self.note(Note::On(ticks))
    }

    /// Collection is off (002).
    ///
    /// # Errors
    /// As [`record`](Writer::record).
    pub fn off(&mut self, ticks: u64) -> Result<(), Error> {
        self.note(Note::Off(ticks))
    }

    /// Writes out what waits in memory, so that a reader sees it and a killed session does not lose it. Cheap enough to be
    /// called a few times a second; a .kev log then has more and shorter buffers. The buffers of the modes circular and single,
    /// and those of a .kev ring, wait for [`finish`](Writer::finish).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        let flushed = match &mut self.kind {
            Kind::Log(log) => log.flush(),
            Kind::Cpus(logs) => logs.each(AixLog::flush),
            Kind::Stream(stream) => stream.flush(),
            Kind::Kev(log) => log.flush(),
        };
        flushed.map_err(|source| Error::new(&self.name, source))
    }

    /// Completes the log, and says what became of the events.
    ///
    /// # Errors
    /// The file cannot be written. The call may be repeated.
    pub fn finish(&mut self) -> Result<Summary, Error> {
        let finished = match &mut self.kind {
            Kind::Log(log) => log.finish(),
            Kind::Cpus(logs) => logs.each(AixLog::finish),
            Kind::Stream(stream) => stream.finish(),
            Kind::Kev(log) => log.finish(),
        };
        finished.map_err(|source| Error::new(&self.name, source))?;
        Ok(self.summary())
    }

    /// What became of the events so far.
    pub fn summary(&self) -> Summary {
        match &self.kind {
            Kind::Log(log) => log.summary(),
            Kind::Cpus(logs) => logs.summary(),
            Kind::Stream(stream) => stream.summary(),
            Kind::Kev(log) => log.summary(),
        }
    }

    /// Whether there is no room for further events: a log that stops when it is full (`-s`), or a single buffer (`-f`).
    /// The session may stop then; what it still records is counted as missed.
    pub fn is_full(&self) -> bool {
        match &self.kind {
            Kind::Log(log) => log.is_full(),
            Kind::Cpus(logs) => logs.are_full(),
            Kind::Stream(_) => false,
            Kind::Kev(log) => log.is_full(),
        }
    }

    fn note(&mut self, note: Note<'_>) -> Result<(), Error> {
        let written = match &mut self.kind {
            Kind::Log(log) => log.note(note),
            Kind::Cpus(logs) => logs.note(note),
            Kind::Stream(stream) => stream.note(note),
            Kind::Kev(log) => log.note(note),
        };
        written.map_err(|source| Error::new(&self.name, source))
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("name", &self.name).field("summary", &self.summary()).finish_non_exhaustive()
    }
}

/// What a log is told besides events: see the methods of [`Writer`] of these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'n> {
    /// How many events were lost, and at which ticks.
    Missed(u64, u64),
    /// A process, its thread, and the path of its program.
    Process(u32, u32, &'n [u8]),
    /// A process, an address and its name.
    Symbol(u32, u64, &'n [u8]),
    /// The ticks from which on events are collected.
    On(u64),
    /// The ticks from which on none are.
    Off(u64),
}

/// What became of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Events that were taken in and written, or wait in memory, or gave way to newer ones later.
    pub events: u64,
    /// Events that the recorder lost, as [`Writer::missed`] was told.
    pub lost: u64,
    /// Events that the layout could not hold: a 16-bit id in a 32-bit trace, more than five words, over 4096 bytes.
    pub refused: u64,
    /// Events that came when there was no room any more: a single buffer or a log that stops when it is full.
    pub over: u64,
    /// Events that gave way to newer ones in a circular buffer or a ring.
    pub overwritten: u64,
    /// Times that went back and were written as the last one.
    pub clamped: u64,
    /// How often the log began again at its first buffer.
    pub wraps: u32,
    /// Buffers of a .kev log, without those that gave way in a ring.
    pub buffers: u64,
}

impl Summary {
    /// Events that are not in the log, whyever, but for those of a wrapped log's oldest buffers.
    pub fn missed(&self) -> u64 {
        self.lost + self.refused + self.over + self.overwritten
    }
}

/// A file that cannot be written.
#[derive(Debug)]
pub struct Error {
    /// Its path, or what the caller named its output.
    pub path: PathBuf,
    /// What was wrong.
    pub source: io::Error,
}

impl Error {
    #[cold]
    fn new(path: &Path, source: io::Error) -> Self {
        Error { path: path.to_owned(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
