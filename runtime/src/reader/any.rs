//! A trace of any kind, told apart by its first bytes.

use super::aix::{Logs, OpenError, ReadOptions, Trace, find_kind, is_trace, may_be_stream32};
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

/// Why a trace cannot be read at all.
#[derive(Debug)]
pub enum AnyRefusal {
    /// It was taken for a trace of AIX.
    Aix(OpenError),
    /// It was taken for a log of QNX.
    Kev(KevRefusal),
}

impl fmt::Display for AnyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyRefusal::Aix(error) => error.fmt(f),
            AnyRefusal::Kev(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AnyRefusal {}

impl From<io::Error> for AnyRefusal {
    fn from(error: io::Error) -> Self {
        AnyRefusal::Aix(error.into())
    }
}

impl AnyTrace {
    /// Opens a trace, `-` being standard input. What begins like no log of QNX is taken for a trace of AIX, of which
    /// `options` may say the kind.
    ///
    /// # Errors
    /// The input cannot be read, or is no trace.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, AnyRefusal> {
        if options.format.is_some() {
            return Logs::open(path, options).map(Self::aix).map_err(AnyRefusal::Aix);
        }
        let input = if options.follow { Input::follow(path)? } else { Input::open(path)? }.within(options.max_ratio);
        let name = path.to_string_lossy();
        let mut window = Window::new(input);
        if begins_kev(&mut window)? {
            return Self::kev(KevLog::from_window(window, &name, &KevOptions::default()));
        }
        Trace::from_window(name, window, options)
            .and_then(|trace| Logs::with_cpu_files(trace, path, options))
            .map(Self::aix)
            .map_err(AnyRefusal::Aix)
    }

    /// Opens a log of QNX, whatever its first bytes are.
    ///
    /// # Errors
    /// The input cannot be read, or is no log.
    pub fn open_kev(path: &Path, options: &ReadOptions) -> Result<Self, AnyRefusal> {
        let input = if options.follow { Input::follow(path)? } else { Input::open(path)? }.within(options.max_ratio);
        Self::kev(KevLog::from_input(&path.to_string_lossy(), input, &KevOptions::default()))
    }

    /// Whether a file's first bytes are those of a trace.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_trace(path: &Path) -> io::Result<bool> {
        let mut window = Window::new(Input::open(path)?);
        Ok(begins_kev(&mut window)? || find_kind(&mut window).is_ok())
    }

    fn aix(logs: Logs) -> Self {
        AnyTrace::Aix(Box::new(logs))
    }

    fn kev(log: Result<KevLog, KevRefusal>) -> Result<Self, AnyRefusal> {
        log.map(|log| AnyTrace::Kev(Box::new(log))).map_err(AnyRefusal::Kev)
    }
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
