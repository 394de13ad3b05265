//! A trace in, a report out: heading, columns, and each event's text by the program of its hook.

use crate::catalog::{Catalog, Entry};
use crate::columns::{Columns, Row, trim};
use crate::context::{AddressNames, ContextState, ContextTable, Facts};
pub use crate::filter::Filter;
use crate::forms::{DIM, Form, PLAIN};
use crate::ids::display_id;
use crate::needs::Needs;
use crate::reader::aix::{LogInfo, LogItem, Logs, Notice, PASSED, SystemInfo, TimedEvent, TraceState};
use crate::selection;
use regex::bytes::Regex;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use tfbc_vm::{Event, Job, Layout, Level, Limits, Machine, Outcome, TextBuf, Timers};

mod apart;

/// Bytes of text that are gathered before they are written.
pub(crate) const WRITE_AT: usize = 128 << 10;
/// Events between two calls of [`Monitor::progress`].
pub(crate) const PROGRESS_EVERY: u64 = 1 << 14;

/// What a report looks like and holds.
#[derive(Debug, Clone, Default)]
pub struct ReportOptions {
    /// The columns.
    pub columns: Columns,
    /// Lines between two heading lines; 0 for a single one.
    pub page_size: u64,
    /// Whether there is no heading at all.
    pub no_heading: bool,
    /// Which events are reported.
    pub filter: Filter,
    /// Whether only events are reported that a stanza of the given files formats.
    pub defined: bool,
    /// Only events whose text, without columns and margins, has a match.
    pub grep: Option<Regex>,
    /// The form: as lines, or as a table.
    pub form: Form,
    /// Whether columns and heading step back on a terminal.
    pub colour: bool,
    /// Whether the events are counted by hook id, and nothing else is written.
    pub stats: bool,
    /// Whether the events are counted by hook id behind the report.
    pub histogram: bool,
    /// What the events tell of processes, threads, CPUs and system calls.
    pub context: Arc<ContextTable>,
    /// Names of system calls, where a trace has addresses.
    pub names: Arc<AddressNames>,
    /// What one event may cost.
    pub limits: Limits,
}

/// What a run counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Events of the trace that were read.
    pub n_events: u64,
    /// Events that were reported.
    pub n_reported: u64,
    /// Damaged places.
    pub n_damaged: u64,
    /// Events whose template read past their end.
    pub n_truncated: u64,
    /// Events that reached a limit.
    pub n_limited: u64,
    /// Events whose template divided by zero.
    pub n_divided: u64,
    /// 32-bit stamps that went back a little.
    pub n_clamped: u64,
    /// Bytes that were taken in, and that were reported as unreadable.
    pub bytes: (u64, u64),
    /// `$STOP` ended the report.
    pub stopped: bool,
}

/// Why a report ended before its trace.
#[derive(Debug)]
pub enum ReportError {
    /// The trace cannot be read on.
    Read(io::Error),
    /// The report cannot be written.
    Write(io::Error),
    /// The report is to hold the events of certain dates, and the trace does not tell when it began.
    NoStart,
    /// The logs cannot be one stream, for this reason.
    NoStream(String),
    /// Bytes were read that are in no event and in no message: a fault of this program.
    Unaccounted(u64),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportError::Read(error) => write!(f, "cannot read on: {error}"),
            ReportError::Write(error) => write!(f, "cannot write: {error}"),
            ReportError::NoStart => f.write_str(
                "the trace does not tell when it began (hook 003, kind 1), so that its events have no dates; choose them by \
                 seconds from its start",
            ),
            ReportError::NoStream(why) => f.write_str(why),
            ReportError::Unaccounted(n) => write!(f, "{n} bytes of the trace are unaccounted for"),
        }
    }
}

impl std::error::Error for ReportError {}

/// Hears of a run while it goes on.
pub trait Monitor {
    /// A damaged place or a warning; the report up to there has been written.
    fn notice(&mut self, notice: &Notice);
    /// Now and then: where the run is.
    fn progress(&mut self, offset: u64, n_events: u64) {
        let _ = (offset, n_events);
    }
}

impl<F: FnMut(&Notice)> Monitor for F {
    fn notice(&mut self, notice: &Notice) {
        self(notice);
    }
}

/// Writes one report of all events of the logs.
///
/// # Errors
/// A log cannot be read on or the report cannot be written. A damaged trace is no error: its notices go to
/// `monitor`, and [`Summary::n_damaged`] counts them.
pub fn report(
    logs: &mut Logs,
    catalog: &Catalog<'_>,
    options: &ReportOptions,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<Summary, ReportError> {
    let needs = Needs::of(catalog, options);
    let live = logs.is_live();
    if let Some(ids) = needs.ids
        && !live
    {
        logs.need(ids);
    }
    let mut report = Report::new(catalog, options, (needs.context, needs.timers), logs.logs().to_vec());
    while let Some(item) = logs.next().map_err(ReportError::Read)? {
        match item {
            LogItem::Event(event) => report.event(&event),
            LogItem::Passed => report.summary.n_events += PASSED,
            LogItem::Notice { notice, .. } => {
                report.summary.n_damaged += u64::from(notice.damage);
                report.write_to(out)?;
                out.flush().map_err(ReportError::Write)?;
                monitor.notice(&notice);
            }
        }
        if report.text.len() >= WRITE_AT {
            report.write_to(out)?;
        } else if live && logs.waits() {
            report.write_to(out)?;
            out.flush().map_err(ReportError::Write)?;
        }
        if report.no_start {
            return Err(ReportError::NoStart);
        }
        if report.summary.stopped {
            break;
        }
        if report.summary.n_events.is_multiple_of(PROGRESS_EVERY) {
            monitor.progress(logs.progress(), report.summary.n_events);
        }
    }
    report.finish(logs, out)
}

/// One report while it is written.
struct Report<'r> {
    catalog: &'r Catalog<'r>,
    options: &'r ReportOptions,
    filter: Filter,
    /// Whether the filter asks for more than the hook id.
    by_facts: bool,
    /// Whether events are formatted apart from the report.
    apart: bool,
    state: TraceState,
    /// Whether anything asks for the context.
    by_context: bool,
    /// Whether an event that is shown asks for timers.
    by_timers: bool,
    context: ContextState,
    logs: Vec<LogInfo>,
    columns: Columns,
    /// Layouts by level: they are the same for every event.
    layouts: [Layout; 5],
    machine: Machine,
    timers: Timers,
    /// Report text that is not written yet.
    text: TextBuf,
    /// Text of events that are run for their effects only.
    unseen: TextBuf,
    /// Elapsed time of the event that was reported last.
    last_elapsed_ns: u64,
    begun: bool,
    /// Dates are asked for that the trace cannot have.
    no_start: bool,
    lines_on_page: u64,
    /// Events that were reported, by canonical id; empty unless they are asked for.
    counts: Vec<u64>,
    summary: Summary,
}

impl<'r> Report<'r> {
    fn new(
        catalog: &'r Catalog<'r>,
        options: &'r ReportOptions,
        (by_context, by_timers): (bool, bool),
        logs: Vec<LogInfo>,
    ) -> Self {
        let columns = options.columns.clone().with_wide_ids(catalog.has_wide_ids());
        Self {
            catalog,
            options,
            filter: options.filter.clone(),
            by_facts: options.filter.asks_for_facts(),
            apart: options.grep.is_some() || options.stats || options.form != Form::Text,
            state: TraceState::default(),
            by_context,
            by_timers,
            context: ContextState::new(Arc::clone(&options.context), Arc::clone(&options.names)),
            logs,
            layouts: Level::ALL.map(|level| columns.layout(level)),
            columns,
            machine: Machine::new(options.limits),
            timers: Timers::new(),
            text: TextBuf::new(),
            unseen: TextBuf::new(),
            last_elapsed_ns: 0,
            begun: false,
            no_start: false,
            lines_on_page: 0,
            counts: if options.histogram || options.stats { vec![0; 1 << 16] } else { Vec::new() },
            summary: Summary::default(),
        }
    }

    #[inline]
    fn event(&mut self, timed: &TimedEvent<'_>) {
        let TimedEvent { event, time, .. } = timed;
        self.summary.n_events += 1;
        self.state.advance(event);
        if self.by_context {
            self.context.advance(event);
        }
        let shown = self.filter.shows(event.id);
        let Some(entry) = self.catalog.lookup(event.id) else { return };
        let shown = shown
            && (!self.options.defined || self.catalog.defines(event.id))
            && (!self.by_facts || self.admits(timed));
        let vm_event =
            Event { bytes: event.bytes, wide: event.wide, record: None, time_ns: time.time_ns, offset: event.offset };
        if shown && self.apart {
            self.report_apart(timed, &vm_event, entry);
        } else if shown && self.columns.has_text() {
            self.report_event(timed, &vm_event, entry);
        } else if shown {
            self.report_columns(timed, &vm_event, entry);
        } else if entry.has_effects && self.by_timers {
            self.run_unseen(timed, &vm_event, entry, Layout::default());
        }
    }

    /// Whether the filter admits an event for more than its id.
    #[cold]
    fn admits(&mut self, timed: &TimedEvent<'_>) -> bool {
        let admitted = selection::admits(&mut self.filter, &self.state, &mut self.context, timed);
        self.no_start |= admitted.is_err();
        admitted.unwrap_or(false)
    }

    #[inline]
    fn report_event(&mut self, timed: &TimedEvent<'_>, vm_event: &Event<'_>, entry: &Entry) {
        if !self.begun || self.options.page_size > 0 {
            self.page_break();
        }
        let line = self.text.len();
        let (facts, paths) = self.context.facts_and_paths(&timed.event);
        let log = &self.logs[timed.log];
        if entry.level != Level::Zero {
            let row = row(timed, self.last_elapsed_ns, &facts, log, &self.state);
            write_columns(&self.columns, self.options.colour, line, &row, &mut self.text);
        }
        let behind_columns = self.text.len();
        let job = Job {
            event: vm_event,
            context: &self.state.context(timed, log, &facts, paths),
            timers: &mut self.timers,
            layout: self.layouts[entry.level as usize],
            line,
            out: &mut self.text,
        };
        let outcome = self.machine.run(self.catalog.program(entry), entry.hook, job);
        if self.columns.has_two_lines() && self.text.len() == behind_columns + 1 && entry.level != Level::Zero {
            // No text, no line for it.
            self.text.truncate(behind_columns);
        }
        self.count(timed, outcome);
        self.count_lines(line);
    }

    /// Counts the lines of an event that begins at `line`.
    #[inline]
    fn count_lines(&mut self, line: usize) {
        if self.options.page_size > 0 {
            let lines = self.text.as_bytes()[line..].iter().filter(|byte| **byte == b'\n').count();
            self.lines_on_page += lines as u64;
        }
    }

    #[inline]
    fn count(&mut self, timed: &TimedEvent<'_>, outcome: Outcome) {
        self.summary.n_truncated += u64::from(outcome.truncated);
        self.summary.n_limited += u64::from(outcome.limited);
        self.summary.n_divided += u64::from(outcome.divided_by_zero);
        self.summary.stopped |= outcome.stop;
        if !outcome.skipped {
            self.summary.n_reported += 1;
            self.last_elapsed_ns = timed.time.elapsed_ns;
            if let Some(count) = self.counts.get_mut(usize::from(timed.event.id)) {
                *count += 1;
            }
        }
    }

    /// A report without text: the template still decides whether there is a line.
    fn report_columns(&mut self, timed: &TimedEvent<'_>, vm_event: &Event<'_>, entry: &Entry) {
        let outcome = self.run_unseen(timed, vm_event, entry, Layout::default());
        if !outcome.skipped {
            self.columns_line(timed, entry.level);
        }
        self.count(timed, outcome);
    }

    /// A line of nothing but columns.
    fn columns_line(&mut self, timed: &TimedEvent<'_>, level: Level) {
        if level != Level::Zero {
            self.page_break();
            let line = self.text.len();
            self.columns_of(timed, level);
            trim(line, &mut self.text);
            self.text.push(b"\n");
            self.lines_on_page += 1;
        }
    }

    /// Appends the columns of an event whose text stands elsewhere.
    fn columns_of(&mut self, timed: &TimedEvent<'_>, level: Level) {
        if level != Level::Zero {
            let facts = self.context.facts(&timed.event);
            let row = row(timed, self.last_elapsed_ns, &facts, &self.logs[timed.log], &self.state);
            write_columns(&self.columns, self.options.colour, self.text.len(), &row, &mut self.text);
        }
    }

    /// Runs the program of an event beside the report.
    fn run_unseen(&mut self, timed: &TimedEvent<'_>, vm_event: &Event<'_>, entry: &Entry, layout: Layout) -> Outcome {
        self.unseen.clear();
        let (facts, paths) = self.context.facts_and_paths(&timed.event);
        let job = Job {
            event: vm_event,
            context: &self.state.context(timed, &self.logs[timed.log], &facts, paths),
            timers: &mut self.timers,
            layout,
            line: 0,
            out: &mut self.unseen,
        };
        self.machine.run(self.catalog.program(entry), entry.hook, job)
    }

    /// The heading before the first line, and the heading line again where a page is full.
    #[cold]
    fn page_break(&mut self) {
        let begins = !std::mem::replace(&mut self.begun, true);
        if self.options.no_heading || self.options.stats {
            return;
        }
        match self.options.form {
            Form::Text if self.columns.is_bare() => {}
            Form::Text if begins => {
                write_heading(self.state.system(), &mut self.text);
                self.column_heading();
            }
            Form::Text if self.options.page_size > 0 && self.lines_on_page >= self.options.page_size => {
                self.lines_on_page = 0;
                self.column_heading();
            }
            form @ (Form::Tsv | Form::Csv) if begins => apart::write_names(form, &self.columns, &mut self.text),
            Form::Text | Form::Tsv | Form::Csv | Form::Ndjson => {}
        }
    }

    fn column_heading(&mut self) {
        let (before, behind) = if self.options.colour { (DIM, PLAIN) } else { (&b""[..], &b""[..]) };
        self.text.push(before);
        self.columns.write_heading(&mut self.text);
        self.text.push(behind);
    }

    fn write_to(&mut self, out: &mut impl Write) -> Result<(), ReportError> {
        out.write_all(self.text.as_bytes()).map_err(ReportError::Write)?;
        self.text.clear();
        Ok(())
    }

    fn finish(mut self, logs: &Logs, out: &mut impl Write) -> Result<Summary, ReportError> {
        if !self.begun {
            self.page_break();
        }
        if self.options.stats {
            apart::write_stats(&self.counts, self.catalog, self.options.form, !self.options.no_heading, &mut self.text);
        } else {
            write_histogram(&self.counts, self.catalog, &mut self.text);
        }
        self.write_to(out)?;
        out.flush().map_err(ReportError::Write)?;
        let tally = logs.tally();
        let accounted = tally.header + tally.events + tally.skipped;
        if accounted != tally.read {
            return Err(ReportError::Unaccounted(tally.read.abs_diff(accounted)));
        }
        self.summary.n_events += logs.n_passed() % PASSED;
        self.summary.bytes = (tally.read, tally.skipped);
        self.summary.n_clamped = logs.clamped();
        Ok(self.summary)
    }
}

/// Appends the columns of an event, whose line begins at `line`.
#[inline]
fn write_columns(columns: &Columns, colour: bool, line: usize, row: &Row<'_>, out: &mut TextBuf) {
    if colour {
        out.push(DIM);
        columns.write(line + DIM.len(), row, out);
        out.push(PLAIN);
    } else {
        columns.write(line, row, out);
    }
}

/// What the columns show of an event.
#[inline]
fn row<'r>(
    timed: &TimedEvent<'_>,
    last_elapsed_ns: u64,
    facts: &'r Facts<'r>,
    log: &'r LogInfo,
    state: &TraceState,
) -> Row<'r> {
    let elapsed_ns = timed.time.elapsed_ns;
    Row {
        id: timed.event.id,
        elapsed_ns,
        delta_ns: i128::from(elapsed_ns) - i128::from(last_elapsed_ns),
        facts,
        file: log.name.as_bytes(),
        reported_cpus: state.reported_cpus(timed),
    }
}

/// Reported events by hook id, the most frequent first: a blank line, then count, id and label.
fn write_histogram(counts: &[u64], catalog: &Catalog<'_>, out: &mut TextBuf) {
    if counts.is_empty() {
        return;
    }
    out.push(b"\n");
    let mut ids: Vec<u16> = (0..=u16::MAX).filter(|id| counts[usize::from(*id)] > 0).collect();
    ids.sort_by_key(|id| std::cmp::Reverse(counts[usize::from(*id)]));
    for id in ids {
        let start = out.len();
        out.push(format!("{:>10}  {:<5}", counts[usize::from(id)], display_id(id)).as_bytes());
        let hook = catalog.lookup(id).and_then(|entry| catalog.program(entry).hook(entry.id()));
        out.push(hook.as_ref().map_or(&b""[..], |hook| hook.label));
        trim(start, out);
        out.push(b"\n");
    }
}

/// The heading block before the heading line: what the trace does not tell is left out.
fn write_heading(system: &SystemInfo, out: &mut TextBuf) {
    let start = out.len();
    if let Some(seconds) = system.start_time {
        line(out, &[date(seconds).as_bytes()]);
    }
    if !system.sysname.is_empty() {
        line(out, &[b"System: ", &system.sysname, b" ", &system.nodename, b" Node: ", &system.version]);
    }
    if !system.machine.is_empty() {
        line(out, &[b"Machine: ", &system.machine]);
    }
    if let Some(address) = system.ip_address {
        let [a, b, c, d] = address.to_be_bytes();
        line(out, &[format!("Internet Protocol Address: {address:08X} {a}.{b}.{c}.{d}").as_bytes()]);
    }
    match system.buffering {
        Some(1) => line(out, &[b"Buffering: Kernel Heap"]),
        Some(2) => line(out, &[b"Buffering: Separate Segment"]),
        _ => {}
    }
    if out.len() > start {
        out.push(b"\n");
    }
    if let Some(command) = &system.command {
        line(out, &[command]);
        out.push(b"\n");
    }
}

/// A line of a trace's own texts, in which unprintable bytes become points.
fn line(out: &mut TextBuf, texts: &[&[u8]]) {
    for byte in texts.iter().copied().flatten() {
        out.push(if (0x20..0x7f).contains(byte) { std::slice::from_ref(byte) } else { b"." });
    }
    out.push(b"\n");
}

/// Seconds since the epoch as `Thu Oct 28 13:34:05 1999`, GMT.
pub fn date(seconds: u32) -> String {
    let mut text = [0; 32];
    let n = tfbc_vm::num::time(&mut text, 0, seconds);
    String::from_utf8_lossy(&text[..n]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_holds_what_the_trace_tells() {
        let system = SystemInfo {
            start_time: Some(941_117_645),
            sysname: b"AIX".to_vec(),
            nodename: b"moscow".to_vec(),
            version: b"4".to_vec(),
            machine: b"000167894C00".to_vec(),
            command: Some(b"trace -a".to_vec()),
            ip_address: Some(0x0930_A2B4),
            buffering: Some(1),
            ..SystemInfo::default()
        };
        let mut out = TextBuf::new();
        write_heading(&system, &mut out);
        let expected = "Thu Oct 28 13:34:05 1999\nSystem: AIX moscow Node: 4\nMachine: 000167894C00\n\
                        Internet Protocol Address: 0930A2B4 9.48.162.180\nBuffering: Kernel Heap\n\ntrace -a\n\n";
        assert_eq!(String::from_utf8_lossy(out.as_bytes()), expected);
        let mut out = TextBuf::new();
        write_heading(&SystemInfo::default(), &mut out);
        assert!(out.is_empty());
    }
}
