//! Events of part of a trace, as the report prints them.

use super::event::Slice;
use super::show::{EventText, printable};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use tfbc::aix::{AixReportOptions, ContextTable, ReadOptions, Timestamp};
use tfbc::qnx::{QnxRelease, QnxReportOptions};
use tfbc::{
    Columns, EventFilter, FilterError, Formats, MaxRatio, MaxWork, Monitor, Notice, ReportSummary, Trace, TraceError,
    report_with,
};
use tfbc_vm::Limits;

/// Maximum bytes of text from one part of a trace.
const MAX_TEXT: usize = 16 << 20;

/// Options for parts of traces, besides their keys.
#[derive(Debug, Clone)]
pub struct SliceOptions {
    /// Meaning of the hooks that name processes and threads.
    pub context: Arc<ContextTable>,
    /// Limits of one event.
    pub limits: Limits,
    /// Limit of all events together.
    pub max_work: MaxWork,
    /// Limit of the decompression ratio.
    pub max_ratio: MaxRatio,
    /// Default columns, for AIX and for QNX.
    pub columns: [&'static str; 2],
}

impl Default for SliceOptions {
    fn default() -> Self {
        Self {
            context: Arc::default(),
            limits: Limits::default(),
            max_work: MaxWork::default(),
            max_ratio: MaxRatio::default(),
            columns: ["text", "data"],
        }
    }
}

impl SliceOptions {
    /// Options for reading a trace.
    pub(super) fn reading(&self) -> ReadOptions {
        ReadOptions { max_ratio: self.max_ratio, ..ReadOptions::default() }
    }
}

/// Opens the trace of a slice.
fn open(slice: &Slice, options: &SliceOptions) -> Result<Trace, String> {
    Trace::open_with(&slice.trace, &options.reading()).map_err(|error| unreadable(slice, &error))
}

/// Message about a trace that cannot be opened.
pub(super) fn unreadable(slice: &Slice, error: &TraceError) -> String {
    format!("cannot read {}: {error}", slice.trace.display())
}

/// Text of some events of a trace. Errors become part of the result.
pub fn show(slice: &Slice, formats: &Formats, options: &SliceOptions) -> EventText {
    written(slice, formats, options).unwrap_or_else(EventText::failed)
}

/// Text of some events of a trace, followed by notes.
///
/// # Errors
/// The trace cannot be read, or the filter is invalid.
pub fn text(slice: &Slice, formats: &Formats, options: &SliceOptions) -> Result<String, String> {
    let shown = written(slice, formats, options)?;
    let notes = shown.notes.iter().map(|note| format!("note: {note}\n"));
    Ok(notes.fold(shown.text, |text, note| text + &note))
}

fn written(slice: &Slice, formats: &Formats, options: &SliceOptions) -> Result<EventText, String> {
    if slice.first == Some(0) {
        return Ok(EventText::default());
    }
    let taken = Mutex::new(SelectedText::default());
    let mut monitor = Notices { taken: &taken };
    let mut trace = open(slice, options)?;
    let mut wanted = tfbc::ReportOptions::default();
    let header = trace.info().qnx_header;
    match &header {
        None => wanted.aix = aix_options(slice, options)?,
        Some(header) => wanted.qnx = qnx_options(slice, options, header.release)?,
    }
    let mut events = EventSplitter { taken: &taken, slice, by_line: header.is_some(), n_met: 0 };
    let ended = report_with(&mut trace, formats, &wanted, &mut events, &mut monitor);
    let n_limited = match &ended {
        Ok(ReportSummary::Aix(summary)) => summary.n_limited,
        Ok(ReportSummary::Qnx(summary)) => summary.n_limited,
        Err(_) => 0,
    };
    let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
    match ended {
        Err(error) if !taken.full => Err(format!("{}: {error}", slice.trace.display())),
        _ => Ok(taken.shown(slice, n_limited > 0)),
    }
}

/// Text of the selected events.
#[derive(Debug, Default)]
struct SelectedText {
    text: Vec<u8>,
    n_events: u64,
    n_damaged: u64,
    full: bool,
}

impl SelectedText {
    fn shown(self, slice: &Slice, limited: bool) -> EventText {
        let mut notes = Vec::new();
        if self.n_events == 0 {
            notes.push(String::from("no event of the trace is selected"));
        } else if slice.first.is_some_and(|first| self.n_events < first) {
            notes.push(format!("the trace has {} of them", self.n_events));
        }
        if self.n_damaged > 0 {
            notes.push(String::from("the trace is damaged"));
        }
        EventText { text: printable(&self.text), fields: None, notes, limited, failure: None }
    }
}

/// Output that splits a report into its events.
struct EventSplitter<'e> {
    taken: &'e Mutex<SelectedText>,
    slice: &'e Slice,
    /// True if each line is an event; otherwise each write is one.
    by_line: bool,
    n_met: u64,
}

impl EventSplitter<'_> {
    fn take(&mut self, text: &[u8]) -> io::Result<()> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        self.n_met += 1;
        if self.n_met > self.slice.skip && taken.text.len() < MAX_TEXT {
            taken.text.extend_from_slice(text);
            taken.n_events += 1;
        }
        if self.slice.first.is_some_and(|first| taken.n_events >= first) || taken.text.len() >= MAX_TEXT {
            taken.full = true;
            return Err(io::Error::other("enough events"));
        }
        Ok(())
    }
}

impl Write for EventSplitter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.by_line {
            bytes.split_inclusive(|byte| *byte == b'\n').try_for_each(|line| self.take(line))?;
        } else {
            self.take(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Output that inserts notes on damage between the events.
struct Notices<'n> {
    taken: &'n Mutex<SelectedText>,
}

impl Monitor for Notices<'_> {
    fn notice(&mut self, notice: &Notice) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.n_damaged += u64::from(notice.damage);
        let word = if notice.damage { "damaged" } else { "warning" };
        taken.text.extend_from_slice(format!("{word}: {}\n", notice.message).as_bytes());
    }
}

pub(super) fn aix_options(slice: &Slice, options: &SliceOptions) -> Result<AixReportOptions, String> {
    let timestamp = Timestamp::from_number(slice.timestamp).unwrap_or_default();
    let list = slice.columns.as_deref().unwrap_or(options.columns[0]);
    let columns = Columns::parse(list, timestamp).map_err(|error| format!("`columns`: {error}"))?;
    Ok(AixReportOptions {
        columns,
        no_heading: true,
        filter: filter(slice).aix().map_err(mistake)?,
        defined: slice.defined,
        context: Arc::clone(&options.context),
        limits: options.limits,
        max_work: options.max_work,
        threads: Some(NonZeroUsize::MIN),
        // One event per batch, so that each write is one event.
        batch: Some(NonZeroUsize::MIN),
        ..AixReportOptions::default()
    })
}

/// Filter of the keys of a part.
fn filter(slice: &Slice) -> EventFilter {
    let texts = |list: &Option<String>| list.iter().cloned().collect();
    let names = slice.exec.iter().flat_map(|list| list.split([',', ' '])).filter(|name| !name.is_empty());
    EventFilter {
        only: texts(&slice.only),
        except: texts(&slice.except),
        pids: texts(&slice.pid),
        tids: texts(&slice.tid),
        cpus: texts(&slice.cpu),
        programs: names.map(String::from).collect(),
        from_ns: slice.from_ns.map(i128::from),
        until_ns: slice.to_ns.map(i128::from),
        ..EventFilter::default()
    }
}

/// Description of a mistake in a filter. Keys of a part have the names of flags.
fn mistake(error: FilterError) -> String {
    format!("`{}`: {}", error.flag, error.message)
}

/// Options for a log of a release of QNX.
pub(super) fn qnx_options(
    slice: &Slice,
    options: &SliceOptions,
    release: Option<QnxRelease>,
) -> Result<QnxReportOptions, String> {
    let of_aix = [(&slice.pid, "pid"), (&slice.exec, "exec"), (&slice.tid, "tid")];
    if let Some((_, key)) = of_aix.into_iter().find(|(list, _)| list.is_some()) {
        return Err(format!("`{key}` is for AIX traces, but {} is a QNX log", slice.trace.display()));
    }
    let list = slice.columns.as_deref().unwrap_or(options.columns[1]);
    let columns = Columns::parse_qnx(list).map_err(|error| format!("`columns`: {error}"))?;
    Ok(QnxReportOptions {
        columns,
        no_heading: true,
        defined: slice.defined,
        filter: filter(slice).qnx(release).map_err(mistake)?,
        limits: options.limits,
        max_work: options.max_work,
        threads: Some(NonZeroUsize::MIN),
        ..QnxReportOptions::default()
    })
}
