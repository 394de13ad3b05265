//! `tfbc info`: what a trace holds.

use super::console::{Console, Ending, Failure, Message, Status};
use super::formats::{self, LanguageArgs};
use super::info_kev::LogInventory;
use super::inputs;
use super::trace::{self, Announcer, TraceArgs};
use crate::catalog::Catalog;
use crate::ids::display_id;
use crate::reader::AnyTrace;
use crate::reader::aix::{LogItem, Logs, SystemInfo, TimedEvent, TraceState, hooks};
use crate::report::{Monitor, date};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

/// Threads and processors that are told apart; the ids come from the trace.
const MAX_COUNTED: usize = 1 << 16;
/// Events between two steps of the progress bar.
const PROGRESS_EVERY: u64 = 1 << 14;
/// Hook 006: events were lost.
const BUFFER_WRAP: u16 = 0x0060;

/// Flags of `tfbc info`.
#[derive(Debug, Clone, Args)]
pub struct InfoArgs {
    /// Format file, source or blob, for labels and missing templates; later ones win
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    /// Traces, `-` for standard input; a directory stands for the traces in it. Compressed ones (.gz, .zst, .Z) are unpacked; offsets in messages count unpacked
    /// bytes
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    traces: Vec<PathBuf>,
}

impl InfoArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> Ending {
        if self.language.asks_for_help() {
            return super::print(formats::dialect_help(), None);
        }
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog().map_err(|error| formats::refusal(console, error, false))?;
        let mut out = String::new();
        let mut status = Status::Well;
        let traces = inputs::expand(console, &self.traces, &self.trace)?;
        for path in &traces {
            let opened = match trace::open(path, &self.trace) {
                Err(Failure::Say(Message::Unreadable, text)) if traces.len() > 1 => {
                    console.error(Message::Unreadable, text);
                    status = Status::Failed;
                    continue;
                }
                opened => opened?,
            };
            let n_damaged = match opened {
                AnyTrace::Aix(mut logs) => {
                    let survey = Inventory::take(console, &mut logs)?;
                    survey.write(&logs, &catalog, &mut out);
                    survey.n_damaged
                }
                AnyTrace::Kev(mut log) => {
                    let survey = LogInventory::take(console, &mut log)?;
                    survey.write(&log, &catalog, &mut out);
                    survey.n_damaged
                }
            };
            if n_damaged > 0 {
                status = status.max(Status::Damaged);
            }
        }
        super::print(out, None)?;
        Ok(status.max(formats::loaded(&set)))
    }
}

/// What one pass over a trace counts.
struct Inventory {
    state: TraceState,
    n_events: u64,
    n_damaged: u64,
    n_lost: u64,
    last_ns: u64,
    by_id: BTreeMap<u16, u64>,
    tids: BTreeSet<u64>,
    cpus: BTreeSet<u64>,
}

impl Inventory {
    fn take(console: &Console, logs: &mut Logs) -> Result<Self, Failure> {
        let mut announcer = Announcer::of(console, logs);
        let mut inventory = Self {
            state: TraceState::default(),
            n_events: 0,
            n_damaged: 0,
            n_lost: 0,
            last_ns: 0,
            by_id: BTreeMap::new(),
            tids: BTreeSet::new(),
            cpus: BTreeSet::new(),
        };
        let name = logs.name().to_owned();
        let unreadable = |error| Failure::Say(Message::Unreadable, format!("cannot read {name}: {error}"));
        while let Some(item) = logs.next().map_err(unreadable)? {
            match item {
                LogItem::Event(timed) => inventory.count(&timed),
                LogItem::Notice { notice, .. } => {
                    inventory.n_damaged += u64::from(notice.damage);
                    announcer.notice(&notice);
                }
            }
            if inventory.n_events.is_multiple_of(PROGRESS_EVERY) {
                announcer.progress(logs.progress(), inventory.n_events);
            }
        }
        Ok(inventory)
    }

    fn count(&mut self, timed: &TimedEvent<'_>) {
        let TimedEvent { event, time, .. } = timed;
        self.state.advance(event);
        self.n_events += 1;
        self.last_ns = self.last_ns.max(time.elapsed_ns);
        self.n_lost += u64::from(event.id == BUFFER_WRAP);
        *self.by_id.entry(event.id).or_default() += 1;
        if self.tids.len() < MAX_COUNTED {
            self.tids.insert(event.tid);
        }
        if let Some(cpu) = event.cpu
            && self.cpus.len() < MAX_COUNTED
        {
            self.cpus.insert(cpu);
        }
    }

    fn write(&self, logs: &Logs, catalog: &Catalog<'_>, out: &mut String) {
        let Some(trace) = logs.traces().next() else { return };
        let _ = writeln!(out, "{}: {}", trace.name(), trace.kind());
        if let Some(size) = trace.size() {
            let _ = writeln!(out, "  size       {size} bytes");
        }
        if let Some(packing) = trace.packing() {
            let _ = writeln!(out, "  packed     {packing}");
        }
        if let Some(header) = trace.log_header() {
            let _ = writeln!(
                out,
                "  log        {} entries, next {}, wrapped {} times, mode {:#x}",
                header.n_entries, header.current, header.wraps, header.mode
            );
        }
        write_system(self.state.system(), out);
        let _ = writeln!(out, "  elapsed    {}.{:09} s", self.last_ns / 1_000_000_000, self.last_ns % 1_000_000_000);
        let _ = writeln!(out, "  events     {}, of {}", self.n_events, super::count(self.tids.len() as u64, "thread"));
        if !self.cpus.is_empty() {
            let _ = writeln!(out, "  cpu ids    {}", self.cpus.len());
        }
        let (skipped, clamped) = (logs.tally().skipped, logs.clamped());
        let _ =
            writeln!(out, "  damaged    {}, {}", super::count(self.n_damaged, "place"), super::count(skipped, "byte"));
        let _ = writeln!(out, "  gaps       {} buffer wraps (006)", self.n_lost);
        if clamped > 0 {
            let _ = writeln!(out, "  time went back in {clamped} events");
        }
        self.write_ids(catalog, out);
    }

    fn write_ids(&self, catalog: &Catalog<'_>, out: &mut String) {
        for (id, n) in &self.by_id {
            let consumed = *id == hooks::HEADER || *id == hooks::UTILITY;
            let entry = if *id == hooks::ZERO { catalog.lookup(*id) } else { catalog.get(*id) };
            let hook = entry.and_then(|entry| catalog.program(entry).hook(entry.id()));
            let label = match hook {
                Some(hook) => String::from_utf8_lossy(hook.label).into_owned(),
                None if consumed => String::from("(read by the report)"),
                None => String::from("(no template)"),
            };
            let _ = writeln!(out, "  {:<4} {n:>12}  {label}", display_id(*id));
        }
    }
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
    if let (Some(total), Some(traced)) = (system.total_cpus, system.traced_cpus) {
        let _ = writeln!(out, "  cpus       {total}, of which {traced} were traced");
    }
}
