//! What `tfbc info` says of AIX traces.

use super::console::{Console, Failure, Message};
use super::trace::{Announcer, announce_imbalance};
use crate::catalog::Catalog;
use crate::ids::display_id;
use crate::reader::Notice;
use crate::reader::aix::{LogInfo, LogItem, Logs, RawEvent, SystemInfo, TimedEvent, Trace, TraceState, hooks};
use crate::report::{Monitor, date};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Threads and processors that are told apart; the ids come from the trace.
const MAX_COUNTED: usize = 1 << 16;
/// Damaged places, and gaps, that are listed.
const MAX_LISTED: usize = 100;
/// Events between two steps of the progress bar.
const PROGRESS_EVERY: u64 = 1 << 14;

/// What one pass over the logs counts.
pub struct Inventory {
    state: TraceState,
    n_events: u64,
    by_id: Vec<u64>,
    tids: BTreeSet<u64>,
    last_tid: Option<u64>,
    /// Counts by processor.
    cpus: BTreeMap<u64, u64>,
    /// By log.
    files: Vec<Span>,
    /// Places that are damaged.
    pub n_damaged: u64,
    /// Whether what was read does not add up.
    pub is_at_fault: bool,
    notices: Vec<Notice>,
    /// What is skipped by other notices lies between these offsets.
    unlisted: Option<(u64, u64)>,
    gaps: Vec<Gap>,
    n_gaps: u64,
    /// Since when the trace has been off.
    off_since_ns: Option<u64>,
}

/// How many events a log has, and the time that they span.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    n_events: u64,
    elapsed_ns: Option<(u64, u64)>,
}

/// Where events are missing.
#[derive(Debug, Clone, Copy)]
enum Gap {
    /// Hook 006: buffers were full.
    Lost { at_ns: u64, offset: u64, log: usize, n_entries: u64 },
    /// Between 002 and 001.
    Off { from_ns: u64, to_ns: u64 },
}

impl Span {
    fn add(&mut self, timed: &TimedEvent<'_>) {
        self.n_events += 1;
        let now = timed.time.elapsed_ns;
        if timed.event.ticks.is_some() {
            let (first, last) = self.elapsed_ns.unwrap_or((now, now));
            self.elapsed_ns = Some((first.min(now), last.max(now)));
        }
    }

    fn joined(spans: &[Span]) -> Span {
        spans.iter().fold(Span::default(), |sum, span| Span {
            n_events: sum.n_events + span.n_events,
            elapsed_ns: match (sum.elapsed_ns, span.elapsed_ns) {
                (Some((first, last)), Some((from, to))) => Some((first.min(from), last.max(to))),
                (known, other) => known.or(other),
            },
        })
    }
}

impl Inventory {
    /// Reads logs to their end.
    pub fn take(console: &Console, logs: &mut Logs) -> Result<Self, Failure> {
        let mut announcer = Announcer::of(console, logs);
        let mut inventory = Self {
            state: TraceState::default(),
            n_events: 0,
            by_id: vec![0; 1 << 16],
            tids: BTreeSet::new(),
            last_tid: None,
            cpus: BTreeMap::new(),
            files: vec![Span::default(); logs.logs().len()],
            n_damaged: 0,
            is_at_fault: false,
            notices: Vec::new(),
            unlisted: None,
            gaps: Vec::new(),
            n_gaps: 0,
            off_since_ns: None,
        };
        let name = logs.name().to_owned();
        let unreadable = |error| Failure::Say(Message::Unreadable, format!("cannot read {name}: {error}"));
        while let Some(item) = logs.next().map_err(unreadable)? {
            match item {
                LogItem::Event(timed) => inventory.count(&timed),
                LogItem::Passed => {}
                LogItem::Notice { notice, .. } => inventory.note(notice),
            }
            if inventory.n_events.is_multiple_of(PROGRESS_EVERY) {
                announcer.progress(logs.progress(), inventory.n_events);
            }
        }
        announcer.end();
        let imbalance = logs.check(inventory.n_events, 0).err();
        announce_imbalance(console, &name, imbalance);
        inventory.is_at_fault = imbalance.is_some();
        Ok(inventory)
    }

    fn note(&mut self, notice: Notice) {
        self.n_damaged += u64::from(notice.damage);
        // What has no bytes of its own, such as why a compressed file ends, comes on top.
        let room = if notice.skipped.is_none() { 2 * MAX_LISTED } else { MAX_LISTED };
        if self.notices.len() < room {
            self.notices.push(notice);
        } else if let Some((from, to)) = notice.skipped {
            let (first, last) = self.unlisted.unwrap_or((from, to));
            self.unlisted = Some((first.min(from), last.max(to)));
        }
    }

    fn count(&mut self, timed: &TimedEvent<'_>) {
        let event = &timed.event;
        self.state.advance(event);
        self.n_events += 1;
        self.by_id[usize::from(event.id)] += 1;
        self.files[timed.log].add(timed);
        if self.last_tid != Some(event.tid) && self.tids.len() < MAX_COUNTED {
            self.last_tid = Some(event.tid);
            self.tids.insert(event.tid);
        }
        if let Some(cpu) = event.cpu
            && (self.cpus.len() < MAX_COUNTED || self.cpus.contains_key(&cpu))
        {
            *self.cpus.entry(cpu).or_default() += 1;
        }
        if matches!(event.id, hooks::TRACE_ON | hooks::TRACE_OFF | hooks::BUFFER_WRAP) {
            self.note_gap(timed);
        }
    }

    #[cold]
    fn note_gap(&mut self, timed: &TimedEvent<'_>) {
        let (event, now) = (&timed.event, timed.time.elapsed_ns);
        // The files of processors go off and on by themselves.
        let of_all = self.files.len() == 1 || event.cpu.is_none();
        match event.id {
            hooks::BUFFER_WRAP => {
                let n_entries = data_word(event, 2);
                self.gap(Gap::Lost { at_ns: now, offset: event.offset, log: timed.log, n_entries });
            }
            hooks::TRACE_OFF if of_all => self.off_since_ns = Some(now),
            hooks::TRACE_ON if of_all => {
                if let Some(from_ns) = self.off_since_ns.take() {
                    self.gap(Gap::Off { from_ns, to_ns: now });
                }
            }
            _ => {}
        }
    }

    fn gap(&mut self, gap: Gap) {
        self.n_gaps += 1;
        if self.gaps.len() < MAX_LISTED {
            self.gaps.push(gap);
        }
    }

    /// Describes the logs.
    pub fn write(&self, logs: &Logs, catalog: &Catalog<'_>, out: &mut String) {
        let Some(trace) = logs.traces().next() else { return };
        write_file(trace, out);
        write_system(self.state.system(), out);
        let span = Span::joined(&self.files);
        if let Some((first, last)) = span.elapsed_ns {
            let _ = writeln!(out, "  span       {} to {} s", seconds(first), seconds(last));
        }
        let _ = writeln!(out, "  events     {}, of {}", self.n_events, super::count(self.tids.len() as u64, "thread"));
        self.write_cpus(out);
        for (log, span) in logs.logs().iter().zip(&self.files).skip(1) {
            write_cpu_file(log, span, out);
        }
        let damaged = super::count(self.n_damaged, "place");
        let _ = writeln!(out, "  damaged    {damaged}, {}", super::count(logs.tally().skipped, "byte"));
        self.write_notices(out);
        self.write_gaps(logs, out);
        if logs.clamped() > 0 {
            let _ = writeln!(out, "  time       went back in {}", super::count(logs.clamped(), "event"));
        }
        self.write_ids(catalog, out);
    }

    fn write_cpus(&self, out: &mut String) {
        let system = self.state.system();
        let mut texts = Vec::new();
        if let (Some(total), Some(traced)) = (system.total_cpus, system.traced_cpus) {
            texts.push(format!("{traced} of {total} were traced"));
        }
        if !self.cpus.is_empty() {
            texts.push(format!("events of CPU {}", ranges(self.cpus.keys().copied())));
        }
        if !texts.is_empty() {
            let _ = writeln!(out, "  cpus       {}", texts.join(", "));
        }
    }

    fn write_notices(&self, out: &mut String) {
        let told = self.notices.iter().filter(|notice| notice.damage).count() as u64;
        for notice in self.notices.iter().filter(|notice| notice.damage) {
            let _ = writeln!(out, "             {}", notice.message);
        }
        if self.n_damaged > told {
            let range = self.unlisted.map_or(String::new(), |(from, to)| format!(", from offset {from:#x} to {to:#x}"));
            let _ = writeln!(out, "             and {} more{range}", self.n_damaged - told);
        }
        for notice in self.notices.iter().filter(|notice| !notice.damage) {
            let _ = writeln!(out, "  note       {}", notice.message);
        }
    }

    fn write_gaps(&self, logs: &Logs, out: &mut String) {
        let _ = writeln!(out, "  gaps       {}", self.n_gaps);
        for gap in &self.gaps {
            let _ = match *gap {
                Gap::Lost { at_ns, offset, log, n_entries } => {
                    let file = if log == 0 { String::new() } else { format!(" of {}", base_name(logs.log(log))) };
                    let entries = if n_entries == 1 { "entry" } else { "entries" };
                    let at = seconds(at_ns);
                    writeln!(out, "             {at} s, offset {offset:#x}{file}: {n_entries} missed {entries} (006)")
                }
                Gap::Off { from_ns, to_ns } => {
                    writeln!(out, "             {} to {} s: the trace was off", seconds(from_ns), seconds(to_ns))
                }
            };
        }
        if self.n_gaps > self.gaps.len() as u64 {
            let _ = writeln!(out, "             and {} more", self.n_gaps - self.gaps.len() as u64);
        }
    }

    fn write_ids(&self, catalog: &Catalog<'_>, out: &mut String) {
        for (id, n) in (0..=u16::MAX).zip(&self.by_id).filter(|(_, n)| **n > 0) {
            let consumed = id == hooks::HEADER || id == hooks::UTILITY;
            let entry = if id == hooks::ZERO { catalog.lookup(id) } else { catalog.get(id) };
            let hook = entry.and_then(|entry| catalog.program(entry).hook(entry.id()));
            let label = match hook {
                Some(hook) => String::from_utf8_lossy(hook.label).into_owned(),
                None if consumed => String::from("(read by the report)"),
                None => String::from("(no template)"),
            };
            let _ = writeln!(out, "  {:<4} {n:>12}  {label}", display_id(id));
        }
    }
}

/// A data word of a presented event that is not generic, from 1.
fn data_word(event: &RawEvent<'_>, at: usize) -> u64 {
    let word = if event.wide { 8 } else { 4 };
    let bytes = event.bytes.get(at * word..(at + 1) * word).unwrap_or_default();
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// What the trace's own file is.
fn write_file(trace: &Trace, out: &mut String) {
    let _ = writeln!(out, "{}: {}", trace.name(), trace.kind());
    if let Some(size) = trace.size() {
        let _ = writeln!(out, "  size       {size} bytes");
    }
    if let Some(packing) = trace.packing() {
        let _ = writeln!(out, "  packed     {packing}");
    }
    if let Some(header) = trace.log_header() {
        let wraps = super::count(header.wraps.into(), "time");
        let (entries, next, mode) = (header.n_entries, header.current, header.mode);
        let modes =
            [(1, "does not wrap"), (2, "stops when full"), (4, "base file of one file a CPU"), (8, "file of one CPU")];
        let modes: String =
            modes.iter().filter(|(bit, _)| mode & bit != 0).map(|(_, what)| format!(", {what}")).collect();
        let _ = writeln!(out, "  log        {entries} entries, next {next}, wrapped {wraps}, mode {mode:#x}{modes}");
    }
}

fn write_cpu_file(log: &LogInfo, span: &Span, out: &mut String) {
    let cpu = log.cpu.map_or(String::from("file"), |cpu| format!("cpu {cpu}"));
    let size = log.size.map_or(String::new(), |size| format!("{size} bytes, "));
    let events = super::count(span.n_events, "event");
    let times = span.elapsed_ns;
    let times = times.map_or(String::new(), |(first, last)| format!(", {} to {} s", seconds(first), seconds(last)));
    let _ = writeln!(out, "  {cpu:<10} {}: {size}{events}{times}", base_name(log));
}

fn base_name(log: &LogInfo) -> String {
    Path::new(&log.name).file_name().map_or_else(|| log.name.clone(), |name| name.to_string_lossy().into_owned())
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Ascending numbers, such as `0-3, 5`.
fn ranges(numbers: impl Iterator<Item = u64>) -> String {
    let mut numbers = numbers.peekable();
    let mut texts = Vec::new();
    while let Some(first) = numbers.next() {
        let mut last = first;
        while let Some(next) = numbers.next_if(|next| Some(*next) == last.checked_add(1)) {
            last = next;
        }
        texts.push(if first == last { first.to_string() } else { format!("{first}-{last}") });
    }
    texts.join(", ")
}

fn write_system(system: &SystemInfo, out: &mut String) {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    if let Some(seconds) = system.start_time {
        let _ = writeln!(out, "  started    {} GMT", date(seconds));
    }
    if !system.sysname.is_empty() {
        let [name, node, version, release, machine] =
            [&system.sysname, &system.nodename, &system.version, &system.release, &system.machine].map(|it| text(it));
        let _ = writeln!(out, "  system     {name} {version}.{release}, node {node}, machine {machine}");
    }
    if let Some(command) = &system.command {
        let _ = writeln!(out, "  command    {}", text(command));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_ranges() {
        let text = |numbers: &[u64]| ranges(numbers.iter().copied());
        assert_eq!(text(&[0, 1, 2, 5, u64::MAX]), "0-2, 5, 18446744073709551615");
        assert_eq!(text(&[]), "");
    }
}
