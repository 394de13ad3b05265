//! The library's trace type, and the two functions that write its report.

use crate::aix_report::{self, AixReportOptions, AixSummary};
use crate::formats::Formats;
use crate::monitor::{Monitor, ReportError};
use crate::qnx_report::{self, QnxReportOptions, QnxSummary};
use crate::raw;
use crate::reader::aix::{self, LogHeader, LogInfo, Logs, ReadOptions};
use crate::reader::kev::{HeaderAttribute, KevHeader, QnxRelease};
use crate::reader::{AnyTrace, Compression, Input, Notice, System, TraceError, TraceKind};
use crate::split::rules::PartRules;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// An open AIX trace or QNX kernel log, told apart by its first bytes.
///
/// A trace is read once, from its start to its end: [`Trace::events`] and [`report()`] continue at its position. Open it
/// again for a second pass. Traces that are compressed with gzip, zstd or compress(1) are unpacked while they are read.
///
/// ```
/// use tfbc::{System, Trace};
///
/// let mut bytes = std::fs::read("samples/user.kev")?;
/// bytes.truncate(bytes.len() / 2);
/// let trace = Trace::from_bytes("half.kev", bytes)?;
/// assert_eq!(trace.info().system, System::Qnx);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trace {
    source: AnyTrace,
    prepared: Prepared,
    /// Rules for the report of a part; `None` for a whole trace.
    part: Option<PartRules>,
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
    /// Kind of the first file.
    pub kind: TraceKind,
    /// Name for messages.
    pub name: String,
    /// Files of the trace. There are several after [`Trace::merge`], and in a log with one file per CPU.
    pub files: Vec<TraceFile>,
    /// True if each log has one file per CPU.
    pub has_cpu_files: bool,
    /// Offset that [`Monitor::progress`] reaches at the end, in bytes; `None` if a file is a pipe.
    pub progress_end: Option<u64>,
    /// Header of an AIX log; `None` for AIX streams and QNX logs.
    pub log_header: Option<LogHeader>,
    /// Header of a QNX log; `None` for AIX traces.
    pub qnx_header: Option<QnxHeader>,
}

/// Properties of one file of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    /// Name for messages.
    pub name: String,
    /// Size in bytes, unpacked; `None` if it is not known in advance.
    pub size: Option<u64>,
    /// Compression; `None` if the file is not compressed.
    pub compression: Option<Compression>,
    /// Size of a compressed file on disk in bytes; `None` for other files and pipes.
    pub compressed_size: Option<u64>,
    /// CPU of the file, in a log with one file per CPU; `None` in other traces.
    pub cpu: Option<u32>,
}

/// Properties in the header of a QNX log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QnxHeader {
    /// All attributes in their order, each with its key (without `TRACE_`) and value.
    pub attributes: Vec<HeaderAttribute>,
    /// True if the traced machine is big-endian.
    pub big_endian: bool,
    /// Release of QNX; `None` if the header does not name it.
    pub release: Option<QnxRelease>,
    /// True if the log contains the system page.
    pub has_system_page: bool,
    /// Nanoseconds from 1970 to the clock's zero; `None` if the log contains no system page with the boot time.
    pub boot_ns: Option<i128>,
}

/// Options of a report: a trace uses those of its system, and [`ReportOptions::with_filter`] sets filters of either.
#[derive(Debug, Clone, Default)]
pub struct ReportOptions {
    /// Options for AIX traces.
    pub aix: AixReportOptions,
    /// Options for QNX logs.
    pub qnx: QnxReportOptions,
}

/// Counts of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportSummary {
    /// Counts for an AIX trace.
    Aix(AixSummary),
    /// Counts for a QNX log.
    Qnx(QnxSummary),
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
        Self::from_bytes_with(name, bytes, &ReadOptions::default())
    }

    /// Like [`Trace::from_bytes`], with options for the reader.
    ///
    /// # Errors
    /// The bytes are not a trace of the kind that the options require.
    pub fn from_bytes_with(
        name: &str,
        bytes: impl AsRef<[u8]> + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let input = match Compression::of(bytes.as_ref()) {
            None => Input::from_bytes(bytes),
            Some(_) => Input::from_read(io::Cursor::new(bytes))?,
        };
        AnyTrace::from_input(name, input, options).map(Self::from)
    }

    /// Reads a trace from a stream, such as a socket, in constant memory. Messages call it `name`.
    ///
    /// # Errors
    /// The stream cannot be read, or is not a trace.
    pub fn from_reader(name: &str, reader: impl Read + Send + 'static) -> Result<Self, TraceError> {
        Self::from_reader_with(name, reader, &ReadOptions::default())
    }

    /// Like [`Trace::from_reader`], with options for the reader.
    ///
    /// # Errors
    /// The stream cannot be read, or is not a trace of the kind that the options require.
    pub fn from_reader_with(
        name: &str,
        reader: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        AnyTrace::from_input(name, Input::from_read(reader)?, options).map(Self::from)
    }

    /// Merges AIX traces into one, ordered by time. A single trace is returned unchanged.
    ///
    /// ```
    /// use tfbc::{Formats, Trace};
    ///
    /// let traces = [Trace::open("samples/shell.trc")?, Trace::open("samples/copy.trc")?];
    /// let mut merged = Trace::merge(traces)?;
    /// assert_eq!(merged.info().files.len(), 2);
    /// assert!(merged.events(&Formats::builtin()).next()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// One of the traces is a QNX log, or one of several inputs is not seekable.
    pub fn merge(traces: impl IntoIterator<Item = Trace>) -> io::Result<Self> {
        Self::merge_logs(traces, false)
    }

    /// Like [`Trace::merge`], but an event that several traces contain is read once.
    ///
    /// # Errors
    /// One of the traces is a QNX log, or one of several inputs is not seekable.
    pub fn merge_without_duplicates(traces: impl IntoIterator<Item = Trace>) -> io::Result<Self> {
        Self::merge_logs(traces, true)
    }

    fn merge_logs(traces: impl IntoIterator<Item = Trace>, remove_duplicates: bool) -> io::Result<Self> {
        let logs = traces.into_iter().map(|trace| match trace.source {
            _ if trace.part.is_some() => {
                let message = "a part of a trace cannot be merged; merge whole traces";
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
            AnyTrace::Aix(logs) => Ok(*logs),
            AnyTrace::Kev(log) => {
                let message = format!("{} is a QNX log; only AIX traces can be merged", log.name());
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        });
        let logs: Vec<Logs> = logs.collect::<io::Result<_>>()?;
        let merged = match <[Logs; 1]>::try_from(logs) {
            Ok([log]) => log,
            Err(logs) => Logs::merged(logs, remove_duplicates)?,
        };
        Ok(Self::from(AnyTrace::Aix(Box::new(merged))))
    }

    /// Properties of the trace.
    pub fn info(&self) -> TraceInfo {
        match &self.source {
            AnyTrace::Aix(logs) => TraceInfo {
                system: System::Aix,
                kind: TraceKind::Aix(logs.log(0).kind),
                name: logs.name().to_owned(),
                files: logs.logs().iter().zip(logs.traces()).map(|(log, trace)| TraceFile::of(log, trace)).collect(),
                has_cpu_files: logs.has_cpu_files(),
                progress_end: logs.file_size(),
                log_header: logs.traces().next().and_then(|trace| trace.log_header()).copied(),
                qnx_header: None,
            },
            AnyTrace::Kev(log) => TraceInfo {
                system: System::Qnx,
                kind: TraceKind::Kev,
                name: log.name().to_owned(),
                files: vec![TraceFile {
                    name: log.name().to_owned(),
                    size: log.size(),
                    compression: log.packing().map(|packing| packing.compression),
                    compressed_size: log.packing().and_then(|packing| packing.size),
                    cpu: None,
                }],
                has_cpu_files: false,
                progress_end: log.file_size(),
                log_header: None,
                qnx_header: Some(QnxHeader::of(log.header())),
            },
        }
    }

    /// Makes this trace a part.
    pub(crate) fn with_part(self, part: PartRules) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Rules for the report of a part; `None` for a whole trace.
    pub(crate) fn part(&self) -> Option<&PartRules> {
        self.part.as_ref()
    }

    /// Checks that a report of this trace is possible, if it is a part.
    pub(crate) fn check_part(
        &self,
        formats: &Formats,
        options: &ReportOptions,
        has_columns: bool,
    ) -> Result<(), ReportError> {
        self.part.as_ref().map_or(Ok(()), |part| part.check(formats, &options.aix, &options.qnx, has_columns))
    }

    /// Release that a QNX log names, if it names one; `None` for an AIX trace.
    pub(crate) fn qnx_release(&self) -> Option<Option<QnxRelease>> {
        match &self.source {
            AnyTrace::Aix(_) => None,
            AnyTrace::Kev(log) => Some(log.header().release),
        }
    }

    /// The reader.
    pub(crate) fn source(&self) -> &AnyTrace {
        &self.source
    }

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

impl TraceFile {
    fn of(log: &LogInfo, trace: &aix::Trace) -> Self {
        Self {
            name: log.name.clone(),
            size: log.size,
            compression: trace.packing().map(|packing| packing.compression),
            compressed_size: trace.packing().and_then(|packing| packing.size),
            cpu: log.cpu,
        }
    }
}

impl QnxHeader {
    fn of(header: &KevHeader) -> Self {
        Self {
            attributes: header.attributes.clone(),
            big_endian: header.big_endian,
            release: header.release,
            has_system_page: header.syspage.is_some(),
            boot_ns: header.boot_ns(),
        }
    }
}

impl From<AnyTrace> for Trace {
    fn from(source: AnyTrace) -> Self {
        Self { source, prepared: Prepared::default(), part: None }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("info", &self.info()).finish_non_exhaustive()
    }
}

/// Writes the events of an AIX trace that a filter selects as one stream, which is a trace again. Like `trcrpt -r`.
///
/// Events are copied byte by byte, in the order of a report. Only `filter` and `context` of the options are used.
///
/// # Errors
/// The trace is a QNX log, its files cannot be one stream, reading it failed, or writing the stream failed.
pub fn write_raw(
    trace: &mut Trace,
    options: &AixReportOptions,
    mut out: impl Write,
    monitor: &mut dyn Monitor,
) -> Result<AixSummary, ReportError> {
    if trace.part.is_some() {
        return Err(ReportError::NoStream("a part of a trace cannot be written as a stream".to_owned()));
    }
    match &mut trace.source {
        AnyTrace::Aix(logs) => raw::write_raw(logs, options, &mut out, monitor),
        AnyTrace::Kev(_) => Err(ReportError::WrongSystem(System::Qnx)),
    }
}

/// Writes the report of a trace, like `tfbc report`.
///
/// Damaged bytes are skipped and counted. Use [`report_with`] to receive a notice for each damaged place. Threads write
/// the report in turn, so pass [`io::stdout()`] without a lock.
///
/// ```
/// use tfbc::{Formats, ReportOptions, ReportSummary, Trace, report};
///
/// let (mut trace, mut text) = (Trace::open("samples/shell.trc")?, Vec::new());
/// let summary = report(&mut trace, &Formats::builtin(), &ReportOptions::default(), &mut text)?;
/// let ReportSummary::Aix(summary) = summary else { panic!("the trace is of AIX") };
/// assert_eq!(summary.n_damaged, 0);
/// assert!(String::from_utf8(text)?.contains("ELAPSED_SEC"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Reading the trace or writing the report failed.
pub fn report(
    trace: &mut Trace,
    formats: &Formats,
    options: &ReportOptions,
    out: impl Write + Send,
) -> Result<ReportSummary, ReportError> {
    report_with(trace, formats, options, out, &mut |_: &Notice| {})
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
    monitor: &mut (dyn Monitor + Send),
) -> Result<ReportSummary, ReportError> {
    trace.check_part(formats, options, true)?;
    let catalog = formats.catalog();
    match &mut trace.source {
        AnyTrace::Aix(logs) => {
            aix_report::report(logs, catalog, &options.aix, &mut out, monitor).map(ReportSummary::Aix)
        }
        AnyTrace::Kev(log) => qnx_report::report(log, catalog, &options.qnx, &mut out, monitor).map(ReportSummary::Qnx),
    }
}
