//! Communication between a report and its caller: notices and progress while it runs, and the error that ends it.

use crate::ids::IdSet;
use crate::reader::{Notice, System};
use std::fmt;
use std::io;

/// Number of events between two calls of [`Monitor::progress`].
pub(crate) const PROGRESS_EVERY: u64 = 1 << 14;

/// Error that ends a report before the end of its trace.
#[derive(Debug)]
pub enum ReportError {
    /// The rest of the trace cannot be read.
    Read(io::Error),
    /// The report cannot be written.
    Write(io::Error),
    /// The filter has dates, but the trace does not contain its start time.
    NoStart,
    /// The logs cannot be merged into one stream, for this reason.
    NoStream(String),
    /// The trace is of this system, and the output exists only for the other one.
    WrongSystem(System),
    /// A part of a trace cannot be reported with these format files or options, for this reason.
    Part(String),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportError::Read(error) => write!(f, "cannot continue reading: {error}"),
            ReportError::Write(error) => write!(f, "cannot write: {error}"),
            ReportError::NoStart => f.write_str(
                "the trace has no start time (hook 003 of kind 1), so its events have no dates; give times in seconds \
                 since the start",
            ),
            ReportError::NoStream(why) | ReportError::Part(why) => f.write_str(why),
            ReportError::WrongSystem(System::Aix) => f.write_str("this is a trace of AIX, expected a log of QNX"),
            ReportError::WrongSystem(System::Qnx) => f.write_str("this is a log of QNX, expected a trace of AIX"),
        }
    }
}

impl std::error::Error for ReportError {}

/// Callbacks of a running report. A closure that takes a [`Notice`] is a monitor.
pub trait Monitor {
    /// Reports a damaged place or a warning. The report up to there has been written.
    fn notice(&mut self, notice: &Notice);
    /// Reports progress, about every 16,000 events: the offset in the input and the number of events.
    fn progress(&mut self, offset: u64, n_events: u64) {
        let _ = (offset, n_events);
    }
    /// Reports hooks whose events were printed with built-in stanzas, although the trace does not confirm their layouts
    /// (`docs/hooks.md`).
    fn guessed_layouts(&mut self, hooks: &IdSet) {
        let _ = hooks;
    }
    /// Reports a template that takes most of the time.
    fn slow(&mut self, template: &str) {
        let _ = template;
    }
}

impl<F: FnMut(&Notice)> Monitor for F {
    fn notice(&mut self, notice: &Notice) {
        self(notice);
    }
}
