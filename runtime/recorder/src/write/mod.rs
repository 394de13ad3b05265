//! Encodes [`Record`]s as logs.
//!
//! ```text
//! Setup ─ what is known at the start ─┐
//! Record ─ one event at a time ───────┼─> Writer ─> AIX log | AIX stream | .kev log
//! ticks, processes, missed counts ────┘
//! ```
//!
//! This is safe code over byte buffers and files; the session merges the events. A writer never panics, and never makes
//! a file that a reader cannot read. Events that a layout cannot store are counted, and the log reports them as missed.
//! A time that goes back is replaced by the last one. A log file is readable after every write.

mod aix;
mod cpu_logs;
mod encode;
mod kev;
mod log_file;
mod note;
mod pending;
mod ring;
mod setup;
mod stream;

pub use encode::{EncodeError, Encoder};
pub use kev::ThreadFacts;
pub use log_file::AixLog;
pub use note::{Note, WriteSummary};
pub use setup::{HostMachine, LogLayout, Setup, Symbol, ThreadInfo};
pub use stream::AixStream;

use crate::options::TraceOptions;
use crate::record::Record;
use cpu_logs::CpuLogs;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writer of one log.
///
/// Order of calls:
///
/// - [`create`](Writer::create) or [`stream`](Writer::stream) once. It writes the header, the process table of the
///   [`Setup`] and, unless the session starts off, the first 001 event; do not call `on` for the start.
/// - Then, in any order: [`record`](Writer::record), [`missed`](Writer::missed), [`process`](Writer::process),
///   [`symbol`](Writer::symbol), [`on`](Writer::on), [`off`](Writer::off), [`flush`](Writer::flush). Times should not
///   decrease from call to call; those that do are clamped and counted.
/// - [`finish`](Writer::finish) at the end, after the last `off`. Without it, a log contains only flushed or full
///   buffers, but is readable; in circular or single mode it contains no events.
///
/// A failed call loses at most the events passed to it. Written data stays readable, and data in memory is written by
/// the next call. [`finish`](Writer::finish) can be repeated too.
pub struct Writer {
    kind: LogKind,
    name: PathBuf,
}

enum LogKind {
    Log(Box<AixLog<File>>),
    Cpus(Box<CpuLogs>),
    Stream(Box<AixStream<Box<dyn Write + Send>>>),
    Kev(Box<kev::KevLog<Box<dyn Write + Send>>>),
}

impl Writer {
    /// Creates a log file, an AIX log or a .kev log, depending on the setup's [`LogLayout`].
    ///
    /// An existing file of that name is kept as `NAME.old` if the options say so, otherwise replaced. It stays in place
    /// until the new log has its header, and readers that have it open can continue.
    ///
    /// # Errors
    /// The file cannot be created, or the sizes are invalid: a log of more than 2¹⁸ buffers, or a 32-bit log above 4
    /// GiB.
    pub fn create(setup: &Setup, path: &Path) -> Result<Self, Error> {
        let kind = match &setup.layout {
            LogLayout::Aix { options: TraceOptions { cpu_logs: Some(cpus), .. }, .. } => {
                CpuLogs::create(cpus, setup, path).map(|logs| LogKind::Cpus(Box::new(logs)))
            }
            LogLayout::Aix { options, .. } => {
                setup::new_file(path, options.keeps_old, |file| AixLog::create(file, setup))
                    .map(|log| LogKind::Log(Box::new(log)))
            }
            LogLayout::Kev(_) => {
                let name = path.to_string_lossy();
                let begin = |file| kev::KevLog::create(Box::new(file) as Box<dyn Write + Send>, setup, &name);
                setup::new_file(path, false, begin).map(|log| LogKind::Kev(Box::new(log)))
            }
        };
        kind.map(|kind| Writer { kind, name: path.to_owned() }).map_err(|source| Error::new(path, source))
    }

    /// Starts a sequential stream (`trace -o -`), or a .kev log, on any output. `name` is the output's name in errors.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn stream(setup: &Setup, out: Box<dyn Write + Send>, name: &str) -> Result<Self, Error> {
        let kind = match &setup.layout {
            LogLayout::Aix { .. } => AixStream::create(out, setup).map(|stream| LogKind::Stream(Box::new(stream))),
            LogLayout::Kev(_) => kev::KevLog::create(out, setup, name).map(|log| LogKind::Kev(Box::new(log))),
        };
        let name = PathBuf::from(name);
        match kind {
            Ok(kind) => Ok(Writer { kind, name }),
            Err(source) => Err(Error::new(&name, source)),
        }
    }

    /// Writes one event. It is counted as missed if the layout cannot store it or the log is full.
    ///
    /// # Errors
    /// A full buffer cannot be written. The event is lost, the buffer is kept.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let written = match &mut self.kind {
            LogKind::Log(log) => log.record(record),
            LogKind::Cpus(logs) => logs.record(record),
            LogKind::Stream(stream) => stream.record(record),
            LogKind::Kev(log) => log.record(record),
        };
        written.map_err(|source| Error::new(&self.name, source))
    }

    /// Records that `n` events were lost before `ticks`. An AIX trace gets a 006 event; a .kev log only counts them.
    ///
    /// # Errors
    /// See [`record`](Writer::record).
    pub fn missed(&mut self, n: u64, ticks: u64) -> Result<(), Error> {
        self.note(Note::Missed(n, ticks))
    }

    /// Describes a thread and the program of its process (a path without NUL, cut at 1023 bytes). Call it before the
    /// first event of the thread, and again when the process runs another program.
    ///
    /// # Errors
    /// See [`record`](Writer::record).
    pub fn process(&mut self, pid: u32, tid: u32, path: &[u8]) -> Result<(), Error> {
        self.note(Note::Process(pid, tid, path))
    }

    /// Sets the properties of a thread for the next call of [`process`](Writer::process); .kev logs only.
    pub fn facts(&mut self, pid: u32, tid: u32, facts: ThreadFacts) {
        if let LogKind::Kev(log) = &mut self.kind {
            log.set_facts(pid, tid, facts);
        }
    }

    /// True if the log stores properties of threads and ends of processes.
    pub fn wants_facts(&self) -> bool {
        matches!(self.kind, LogKind::Kev(_))
    }

    /// Records the end of a process; .kev logs only.
    ///
    /// # Errors
    /// See [`record`](Writer::record).
    pub fn process_ended(&mut self, pid: u32, parent: u32, ticks: u64) -> Result<(), Error> {
        let LogKind::Kev(log) = &mut self.kind else { return Ok(()) };
        log.process_ended(pid, parent, ticks).map_err(|source| Error::new(&self.name, source))
    }

    /// Records the address of a symbol in a process (`-n`); AIX traces only. Names are cut at 1023 bytes.
    ///
    /// # Errors
    /// See [`record`](Writer::record).
    pub fn symbol(&mut self, pid: u32, address: u64, name: &[u8]) -> Result<(), Error> {
        self.note(Note::Symbol(pid, address, name))
    }

    /// Records that collection is on (001), after an `off` or if the session started off.
    ///
    /// # Errors
    /// See [`record`](Writer::record).
    pub fn on(&mut self, ticks: u64) -> Result<(), Error> {
        self.note(Note::On(ticks))
    }

    /// Records that collection is off (002).
    ///
    /// # Errors
    /// See [`record`](Writer::record).
    pub fn off(&mut self, ticks: u64) -> Result<(), Error> {
        self.note(Note::Off(ticks))
    }

    /// Writes data from memory, so that readers see it and a killed session does not lose it. It is cheap enough for
    /// several calls per second, but makes more and shorter buffers in a .kev log. Circular and single buffers, and
    /// .kev rings, are only written by [`finish`](Writer::finish).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        let flushed = match &mut self.kind {
            LogKind::Log(log) => log.flush(),
            LogKind::Cpus(logs) => logs.each(AixLog::flush),
            LogKind::Stream(stream) => stream.flush(),
            LogKind::Kev(log) => log.flush(),
        };
        flushed.map_err(|source| Error::new(&self.name, source))
    }

    /// Completes the log, and returns the counts of events.
    ///
    /// # Errors
    /// The file cannot be written. The call may be repeated.
    pub fn finish(&mut self) -> Result<WriteSummary, Error> {
        let finished = match &mut self.kind {
            LogKind::Log(log) => log.finish(),
            LogKind::Cpus(logs) => logs.each(AixLog::finish),
            LogKind::Stream(stream) => stream.finish(),
            LogKind::Kev(log) => log.finish(),
        };
        finished.map_err(|source| Error::new(&self.name, source))?;
        Ok(self.summary())
    }

    /// Counts of the events so far.
    pub fn summary(&self) -> WriteSummary {
        match &self.kind {
            LogKind::Log(log) => log.summary(),
            LogKind::Cpus(logs) => logs.summary(),
            LogKind::Stream(stream) => stream.summary(),
            LogKind::Kev(log) => log.summary(),
        }
    }

    /// True if there is no room for more events: in a log that stops when full (`-s`), or a single buffer (`-f`). The
    /// session can stop then; later events are counted as missed.
    pub fn is_full(&self) -> bool {
        match &self.kind {
            LogKind::Log(log) => log.is_full(),
            LogKind::Cpus(logs) => logs.are_full(),
            LogKind::Stream(_) => false,
            LogKind::Kev(log) => log.is_full(),
        }
    }

    fn note(&mut self, note: Note<'_>) -> Result<(), Error> {
        let written = match &mut self.kind {
            LogKind::Log(log) => log.note(note),
            LogKind::Cpus(logs) => logs.note(note),
            LogKind::Stream(stream) => stream.note(note),
            LogKind::Kev(log) => log.note(note),
        };
        written.map_err(|source| Error::new(&self.name, source))
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("name", &self.name).field("summary", &self.summary()).finish_non_exhaustive()
    }
}

/// A file that cannot be written.
#[derive(Debug)]
pub struct Error {
    /// Path of the file, or the caller's name for the output.
    pub path: PathBuf,
    /// Cause.
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
