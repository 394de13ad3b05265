//! A trace of any kind, told apart by its first bytes.

use super::aix::{Kind, Logs, OpenError, ReadOptions, Trace, find_kind, is_trace, may_be_stream32};
use super::kev::{KevLog, KevOptions, KevRefusal, MAX_MARKER_OFFSET, is_kev};
use super::window::{Input, Window};
use std::fmt;
use std::io;
use std::path::Path;

/// Bytes that begin like a trace of AIX are a log of QNX where a marker stands in so many of them.
const MAX_AIX_HEAD: usize = 4096;

/// An opened trace.
pub enum AnyTrace {
    /// A trace of AIX.
    Aix(Box<Logs>),
    /// A log of QNX.
    Kev(Box<KevLog>),
}

/// The system that a trace was recorded on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// A log or stream of AIX's trace.
    Aix,
    /// A kernel log of QNX.
    Qnx,
}

/// What a trace is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// A trace of AIX.
    Aix(Kind),
    /// A kernel log of QNX.
    Kev,
}

impl TraceKind {
    /// The name that `--format` takes.
    pub fn name(self) -> &'static str {
        match self {
            TraceKind::Aix(kind) => kind.name(),
            TraceKind::Kev => "kev",
        }
    }
}

/// Why a trace cannot be read at all.
#[derive(Debug)]
pub enum TraceError {
    /// It was taken for a trace of AIX.
    Aix(OpenError),
    /// It was taken for a log of QNX.
    Kev(KevRefusal),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Aix(error) => error.fmt(f),
            TraceError::Kev(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TraceError {}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        TraceError::Aix(error.into())
    }
}

impl AnyTrace {
    /// Opens a trace, `-` being standard input. What begins like no log of QNX is taken for a trace of AIX, of which
    /// `options` may say the kind.
    ///
    /// # Errors
    /// The input cannot be read, or is no trace.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        if options.format.is_some() {
            return Logs::open(path, options).map(Self::aix).map_err(TraceError::Aix);
        }
        let input = if options.follow { Input::follow(path)? } else { Input::open(path)? }.within(options.max_ratio);
        let name = path.to_string_lossy();
        let mut window = Window::new(input);
        if begins_kev(&mut window)? {
            return Self::kev(KevLog::from_window(window, &name, &kev_options(options)));
        }
        Trace::from_window(name, window, options)
            .and_then(|trace| Logs::with_cpu_files(trace, path, options))
            .map(Self::aix)
            .map_err(TraceError::Aix)
    }

    /// Opens a log of QNX, whatever its first bytes are.
    ///
    /// # Errors
    /// The input cannot be read, or is no log.
    pub fn open_kev(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        let input = if options.follow { Input::follow(path)? } else { Input::open(path)? }.within(options.max_ratio);
        Self::kev(KevLog::from_input(&path.to_string_lossy(), input, &kev_options(options)))
    }

    /// Reads a trace from an input that is no file by a path; `name` is what messages use.
    ///
    /// # Errors
    /// The input cannot be read, or is no trace.
    pub fn from_input(name: &str, input: Input, options: &ReadOptions) -> Result<Self, TraceError> {
        let mut window = Window::new(input.within(options.max_ratio));
        if options.format.is_none() && begins_kev(&mut window)? {
            return Self::kev(KevLog::from_window(window, name, &kev_options(options)));
        }
        Trace::from_window(name, window, options).map(|trace| Self::aix(trace.into())).map_err(TraceError::Aix)
    }

    /// The kind of a trace in a file, by its first bytes; `None` if it is no trace.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn kind_of(path: &Path) -> io::Result<Option<TraceKind>> {
        let mut window = Window::new(Input::open(path)?);
        if begins_kev(&mut window)? {
            return Ok(Some(TraceKind::Kev));
        }
        Ok(find_kind(&mut window).ok().map(TraceKind::Aix))
    }

    /// The system whose trace a file is, by its first bytes; `None` if it is no trace.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn system_of(path: &Path) -> io::Result<Option<System>> {
        Ok(Self::kind_of(path)?.map(|kind| if kind == TraceKind::Kev { System::Qnx } else { System::Aix }))
    }

    fn aix(logs: Logs) -> Self {
        AnyTrace::Aix(Box::new(logs))
    }

    fn kev(log: Result<KevLog, KevRefusal>) -> Result<Self, TraceError> {
        log.map(|log| AnyTrace::Kev(Box::new(log))).map_err(TraceError::Kev)
    }
}

/// What options for any trace mean for a log of QNX; the input knows already what it may come to.
fn kev_options(options: &ReadOptions) -> KevOptions {
    KevOptions { salvage: options.salvage, ..KevOptions::default() }
}

/// Looks at as many first bytes as tell a log of QNX from a trace of AIX: of a pipe no more than that, since its next
/// ones may be long in coming.
fn begins_kev(window: &mut Window) -> io::Result<bool> {
    let mut n_looked_at = 0usize;
    loop {
        let head = window.bytes();
        let is_aix = head.len() >= 4 && (is_trace(head) || may_be_stream32(head));
        // An AIX trace may hold a marker, too, as text of an event; the other one may stand across two reads.
        let fresh = n_looked_at.saturating_sub(32);
        let end = if is_aix { head.len().min(MAX_AIX_HEAD) } else { head.len() };
        if head.get(fresh..end).is_some_and(is_kev) {
            return Ok(true);
        }
        n_looked_at = head.len();
        if is_aix || n_looked_at >= MAX_MARKER_OFFSET || !window.fill()? {
            return Ok(false);
        }
    }
}
