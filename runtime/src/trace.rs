//! Traces and logs of either vendor, and their reports.

use crate::event::Events;
use crate::formats::Formats;
use crate::reader::aix::{LogInfo, Logs, ReadOptions};
use crate::reader::{AnyTrace, Input, System, TraceError};
use crate::records::{self, RecordOptions, RecordSummary};
use crate::report::{self, Monitor, ReportError, Summary};
use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// A trace of AIX, or a kernel log of QNX. The first bytes tell which.
///
/// gzip, zstd and `.Z` are unpacked on the way.
///
/// ```
/// use tfbc::{Formats, ReportOptions, Trace, report};
///
/// let trace = std::fs::read("samples/shell.trc")?;
/// let mut text = Vec::new();
/// report(&mut Trace::from_bytes("shell.trc", trace)?, &Formats::builtin(), &ReportOptions::default(), &mut text)?;
/// assert!(String::from_utf8(text)?.contains("ELAPSED_SEC"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trace {
    source: AnyTrace,
    prepared: Prepared,
}

/// Parts of a run that the trace keeps, so that readers and writers can borrow them.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub options: ReportOptions,
    pub infos: Vec<LogInfo>,
    pub known_steps: AtomicU64,
}

/// Facts about a trace, known as soon as it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceInfo {
    /// The system that the trace was recorded on.
    pub system: System,
    /// The kind, as `tfbc info` names it: `stream32`, `stream64`, `log32`, `log64` or `kev`.
    pub kind: &'static str,
    /// The name that messages use.
    pub name: String,
    /// Size in bytes, if it is known; of several files, of all of them.
    pub size: Option<u64>,
    /// Number of logs: more than one after [`Trace::merge`], and for a log with one file per CPU.
    pub n_logs: usize,
}

/// Options of a report, by vendor.
#[derive(Debug, Clone, Default)]
pub struct ReportOptions {
    /// Reports of AIX traces.
    pub aix: report::ReportOptions,
    /// Reports of QNX logs.
    pub qnx: RecordOptions,
}

/// Counts of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportSummary {
    /// Of an AIX trace.
    Aix(Summary),
    /// Of a QNX log.
    Qnx(RecordSummary),
}

impl Trace {
    /// Opens a trace; `-` is standard input. Beside the base file of a multi-CPU log, its CPU files are opened.
    ///
    /// # Errors
    /// The file cannot be read, or is no trace.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        Self::open_with(path, &ReadOptions::default())
    }

    /// Opens a trace with options for the reader.
    ///
    /// # Errors
    /// As of [`Trace::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, TraceError> {
        AnyTrace::open(path.as_ref(), options).map(Self::from)
    }

    /// Reads a trace in memory. `name` is used in messages.
    ///
    /// # Errors
    /// The bytes are no trace.
    pub fn from_bytes(name: &str, bytes: impl AsRef<[u8]> + Send + 'static) -> Result<Self, TraceError> {
        AnyTrace::from_input(name, Input::from_bytes(bytes), &ReadOptions::default()).map(Self::from)
    }

    /// Reads a trace from a stream, such as a socket, with constant memory. `name` is used in messages.
    ///
    /// # Errors
    /// The stream cannot be read, or is no trace.
    pub fn from_reader(name: &str, reader: impl Read + Send + 'static) -> Result<Self, TraceError> {
        AnyTrace::from_input(name, Input::from_read(reader)?, &ReadOptions::default()).map(Self::from)
    }

    /// Merges traces of AIX into one, by time.
    ///
    /// # Errors
    /// A log of QNX is among them, or an input cannot be positioned.
    pub fn merge(traces: impl IntoIterator<Item = Trace>) -> io::Result<Self> {
        let logs = traces.into_iter().map(|trace| match trace.source {
            AnyTrace::Aix(logs) => Ok(*logs),
            AnyTrace::Kev(log) => {
                let message = format!("{} is a log of QNX: only traces of AIX can be merged", log.name());
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        });
        let logs: Vec<Logs> = logs.collect::<io::Result<_>>()?;
        Ok(Self::from(AnyTrace::Aix(Box::new(Logs::merged(logs, false)?))))
    }

    /// Facts about the trace.
    pub fn info(&self) -> TraceInfo {
        match &self.source {
            AnyTrace::Aix(logs) => TraceInfo {
                system: System::Aix,
                kind: logs.log(0).kind.name(),
                name: logs.name().to_owned(),
                size: logs.size(),
                n_logs: logs.logs().len(),
            },
            AnyTrace::Kev(log) => {
                TraceInfo { system: System::Qnx, kind: "kev", name: log.name().to_owned(), size: log.size(), n_logs: 1 }
            }
        }
    }

    /// The events, each with its text by the formats.
    pub fn events<'a>(&'a mut self, formats: &'a Formats) -> Events<'a> {
        Events::new(self, formats)
    }

    /// Keeps the options of a run, and lends what it reads from.
    pub(crate) fn prepare(&mut self, options: ReportOptions) -> (&mut AnyTrace, &Prepared) {
        let infos = match &self.source {
            AnyTrace::Aix(logs) => logs.logs().to_vec(),
            AnyTrace::Kev(_) => Vec::new(),
        };
        self.prepared = Prepared { options, infos, known_steps: AtomicU64::new(0) };
        (&mut self.source, &self.prepared)
    }
}

impl From<AnyTrace> for Trace {
    fn from(source: AnyTrace) -> Self {
        Self { source, prepared: Prepared::default() }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("info", &self.info()).finish_non_exhaustive()
    }
}

/// Writes the report of a trace. Damage is skipped and counted; [`report_with`] tells it.
///
/// # Errors
/// The trace cannot be read further, or the report cannot be written.
pub fn report(
    trace: &mut Trace,
    formats: &Formats,
    options: &ReportOptions,
    out: impl Write + Send,
) -> Result<ReportSummary, ReportError> {
    report_with(trace, formats, options, out, |_: &crate::reader::Notice| {})
}

/// Writes the report of a trace, and tells a monitor of damage and progress.
///
/// # Errors
/// As of [`report()`].
pub fn report_with(
    trace: &mut Trace,
    formats: &Formats,
    options: &ReportOptions,
    mut out: impl Write + Send,
    mut monitor: impl Monitor + Send,
) -> Result<ReportSummary, ReportError> {
    let catalog = formats.catalog();
    match &mut trace.source {
        AnyTrace::Aix(logs) => {
            report::report(logs, catalog, &options.aix, &mut out, &mut monitor).map(ReportSummary::Aix)
        }
        AnyTrace::Kev(log) => {
            records::report(log, catalog, &options.qnx, &mut out, &mut monitor).map(ReportSummary::Qnx)
        }
    }
}
