//! Detects the kind of a trace by its first bytes, and opens it.

use super::aix::{Logs, OpenError, ReadOptions, Trace, find_kind, is_trace, may_be_stream32};
use super::files::{Disk, Files};
use super::kev::{KevLog, KevOptions, KevRefusal, MAX_MARKER_OFFSET, is_kev};
use super::kind::TraceKind;
use super::window::{Input, Window};
use std::fmt;
use std::io;
use std::path::Path;

/// Number of first bytes searched for QNX's marker in an input that also looks like an AIX trace.
const MAX_AIX_HEAD: usize = 4096;

/// An open trace of either vendor.
pub enum AnyTrace {
    /// An AIX trace.
    Aix(Box<Logs>),
    /// A QNX kernel log.
    Kev(Box<KevLog>),
}

impl TraceKind {
    /// Detects the kind of a file from its first bytes; `None` if it is not a trace.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of_file(path: impl AsRef<Path>) -> io::Result<Option<Self>> {
        let mut window = Window::new(Input::open(path.as_ref())?);
        if begins_kev(&mut window)? {
            return Ok(Some(TraceKind::Kev));
        }
        Ok(find_kind(&mut window).ok().map(TraceKind::Aix))
    }
}

/// Reason why a trace cannot be opened. An input that is no trace at all is [`OpenError::Unknown`].
#[derive(Debug)]
pub enum TraceError {
    /// The input is not a QNX log, and cannot be read as an AIX trace.
    Aix(OpenError),
    /// The input begins like a QNX log, or had to be one, and cannot be read.
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
    /// Opens a trace; `-` is standard input. An input that does not start like a QNX log is opened as an AIX trace.
    ///
    /// # Errors
    /// The input cannot be read, or is not a trace.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        Self::open_among(&Disk, path, options)
    }

    /// Like [`AnyTrace::open`], among given files.
    ///
    /// # Errors
    /// The input cannot be read, or is not a trace.
    pub fn open_among(files: &dyn Files, path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        let name = path.to_string_lossy();
        let open = || if options.follow { Input::follow(path) } else { files.open(path) };
        match options.format {
            Some(TraceKind::Aix(_)) => {
                return Logs::open_among(files, path, options).map(Self::aix).map_err(TraceError::Aix);
            }
            Some(TraceKind::Kev) => {
                let log = open().map_err(KevRefusal::from).and_then(|input| {
                    KevLog::from_input(&name, input.within(options.max_ratio), &kev_options(options))
                });
                return Self::kev(log);
            }
            None => {}
        }
        let mut window = Window::new(open()?.within(options.max_ratio));
        if begins_kev(&mut window)? {
            return Self::kev(KevLog::from_window(window, &name, &kev_options(options)));
        }
        Trace::from_window(name, window, options)
            .and_then(|trace| Logs::with_cpu_files(files, trace, path, options))
            .map(Self::aix)
            .map_err(TraceError::Aix)
    }

    /// Opens a trace from an open input. Messages call it `name`.
    ///
    /// # Errors
    /// The input cannot be read, or is not a trace.
    pub fn from_input(name: &str, input: Input, options: &ReadOptions) -> Result<Self, TraceError> {
        let mut window = Window::new(input.within(options.max_ratio));
        if options.format == Some(TraceKind::Kev) || (options.format.is_none() && begins_kev(&mut window)?) {
            return Self::kev(KevLog::from_window(window, name, &kev_options(options)));
        }
        Trace::from_window(name, window, options).map(|trace| Self::aix(trace.into())).map_err(TraceError::Aix)
    }

    fn aix(logs: Logs) -> Self {
        AnyTrace::Aix(Box::new(logs))
    }

    fn kev(log: Result<KevLog, KevRefusal>) -> Result<Self, TraceError> {
        log.map(|log| AnyTrace::Kev(Box::new(log))).map_err(TraceError::Kev)
    }
}

/// Options of the QNX reader. The decompression limit is not among them, because the input applies it already.
fn kev_options(options: &ReadOptions) -> KevOptions {
    let ReadOptions { salvage, slots, as_traceprinter_1_02, .. } = *options;
    KevOptions {
        salvage,
        slots,
        out_of_step: as_traceprinter_1_02,
        only_new: as_traceprinter_1_02,
        ..KevOptions::default()
    }
}

/// True if the input starts like a QNX log. Reads no more than needed, because the next bytes of a pipe may be late.
fn begins_kev(window: &mut Window) -> io::Result<bool> {
    let mut n_looked_at = 0usize;
    loop {
        let head = window.bytes();
        let is_aix = head.len() >= 4 && (is_trace(head) || may_be_stream32(head));
        // An event of an AIX trace may contain the marker as text, so only the start is searched. The marker may also
        // be split by two reads, so the searched parts overlap.
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
