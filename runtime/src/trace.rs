//! The library's trace type, and the two functions that write a report of it.

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

/// An opened AIX trace or QNX kernel log. The first bytes of the input tell which.
///
/// Inputs compressed by gzip, zstd or compress (`.Z`) are unpacked as they are read.
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

/// State of a run that the trace owns, so that its reader and its formatter can both borrow it.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub options: ReportOptions,
    pub infos: Vec<LogInfo>,
    pub known_steps: AtomicU64,
}

/// Properties of a trace that are known once it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceInfo {
    /// System that the trace was recorded on.
    pub system: System,
    /// Kind of file, as `tfbc info` prints it: `stream32`, `stream64`, `log32`, `log64` or `kev`.
    pub kind: &'static str,
    /// Name used in messages.
    pub name: String,
    /// Total size of all files in bytes; `None` for pipes and compressed inputs.
    pub size: Option<u64>,
    /// Number of logs. More than one after [`Trace::merge`], and for a log with a file per CPU.
    pub n_logs: usize,
}

/// Options of a report, by vendor.
#[derive(Debug, Clone, Default)]
pub struct ReportOptions {
    /// Options for AIX traces.
    pub aix: report::ReportOptions,
    /// Options for QNX logs.
    pub qnx: RecordOptions,
}

/// Counts of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportSummary {
    /// Counts for an AIX trace.
    Aix(Summary),
    /// Counts for a QNX log.
    Qnx(RecordSummary),
}

impl Trace {
    /// Opens a trace; `-` is standard input. The CPU files of a multi-CPU log are opened with its base file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a trace.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        Self::open_with(path, &ReadOptions::default())
    }

    /// Opens a trace with options for the reader.
    ///
    /// # Errors
    /// The file cannot be read, or is not a trace of the kind that the options require.
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, TraceError> {
        AnyTrace::open(path.as_ref(), options).map(Self::from)
    }

    /// Reads a trace from memory. Messages call it `name`.
    ///
    /// # Errors
    /// The bytes are not a trace.
    pub fn from_bytes(name: &str, bytes: impl AsRef<[u8]> + Send + 'static) -> Result<Self, TraceError> {
        AnyTrace::from_input(name, Input::from_bytes(bytes), &ReadOptions::default()).map(Self::from)
    }

    /// Reads a trace from a stream, such as a socket, in constant memory. Messages call it `name`.
    ///
    /// # Errors
    /// The stream cannot be read, or is not a trace.
    pub fn from_reader(name: &str, reader: impl Read + Send + 'static) -> Result<Self, TraceError> {
        AnyTrace::from_input(name, Input::from_read(reader)?, &ReadOptions::default()).map(Self::from)
    }

    /// Merges AIX traces into one, ordered by time.
    ///
    /// # Errors
    /// One of the traces is a QNX log, or an input is not seekable.
    pub fn merge(traces: impl IntoIterator<Item = Trace>) -> io::Result<Self> {
        let logs = traces.into_iter().map(|trace| match trace.source {
            AnyTrace::Aix(logs) => Ok(*logs),
            AnyTrace::Kev(log) => {
                let message = format!("{} is a QNX log; only AIX traces can be merged", log.name());
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        });
        let logs: Vec<Logs> = logs.collect::<io::Result<_>>()?;
        Ok(Self::from(AnyTrace::Aix(Box::new(Logs::merged(logs, false)?))))
    }

    /// Properties of the trace.
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

    /// Iterates over the events, each with the text that `formats` gives it.
    pub fn events<'a>(&'a mut self, formats: &'a Formats) -> Events<'a> {
        Events::new(self, formats)
    }

    /// The input.
    pub(crate) fn source_mut(&mut self) -> &mut AnyTrace {
        &mut self.source
    }

    /// Stores the options of a run and borrows the input and the stored state for it.
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

/// Writes the report of a trace, like `tfbc report`.
///
/// Damaged bytes are skipped and counted. Use [`report_with`] to receive a notice for each damaged place.
///
/// # Errors
/// Reading the trace or writing the report failed.
pub fn report(
    trace: &mut Trace,
    formats: &Formats,
    options: &ReportOptions,
    out: impl Write + Send,
) -> Result<ReportSummary, ReportError> {
    report_with(trace, formats, options, out, |_: &crate::reader::Notice| {})
}

/// Writes the report of a trace and passes notices and progress to a monitor.
///
/// # Errors
/// Reading the trace or writing the report failed.
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
