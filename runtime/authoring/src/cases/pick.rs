//! Copies events from a trace into case files.

use super::event::Slice;
use super::fields::quoted;
use super::show::printable;
use super::slice::{SliceOptions, aix_options, qnx_options, unreadable};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use tfbc::aix::AixReportOptions;
use tfbc::internal::templates::Catalog;
use tfbc::internal::{AnyTrace, ContextState, KevItem, KevLog, LogItem, Logs, event_label};
use tfbc::qnx::QnxReportOptions;
use tfbc::{EventId, Formats};

/// One event of a trace in the form that a case file uses.
#[derive(Debug, Default)]
pub struct Picked {
    /// Name made of the event's id and label.
    pub name: String,
    /// Keys and values besides the bytes.
    pub keys: Vec<(&'static str, String)>,
    /// Bytes of the event.
    pub bytes: Vec<u8>,
    /// Bytes per group in the hex dump.
    pub group: usize,
}

/// First `max` events that the filter selects; with `distinct`, only the first of every kind.
///
/// # Errors
/// The trace cannot be read, or the filter is invalid.
pub fn pick(
    slice: &Slice,
    formats: &Formats,
    options: &SliceOptions,
    max: usize,
    distinct: bool,
) -> Result<Vec<Picked>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", slice.trace.display());
    let opened = AnyTrace::open(&slice.trace, &options.reading()).map_err(|error| unreadable(slice, &error))?;
    match opened {
        AnyTrace::Aix(mut logs) => {
            let wanted = aix_options(slice, options)?;
            pick_hooks(&mut logs, formats.catalog(), &wanted, max, distinct).map_err(|error| failed(&error))
        }
        AnyTrace::Kev(mut log) => {
            let wanted = qnx_options(slice, options, log.header().release)?;
            pick_records(&mut log, &wanted, max, distinct).map_err(|error| failed(&error))
        }
    }
}

fn pick_hooks(
    logs: &mut Logs,
    catalog: &Catalog<'_>,
    wanted: &AixReportOptions,
    max: usize,
    distinct: bool,
) -> io::Result<Vec<Picked>> {
    let mut context = ContextState::new(Arc::clone(&wanted.context), Arc::clone(&wanted.names));
    let (mut known, mut names) = (BTreeSet::new(), BTreeMap::new());
    let mut picked = Vec::new();
    while picked.len() < max
        && let Some(item) = logs.next()?
    {
        let LogItem::Event(timed) = item else { continue };
        let event = &timed.event;
        context.advance(event);
        let defined = catalog.lookup(event.id).filter(|entry| entry.id() == event.id);
        if !wanted.shows(catalog, event.id) || (distinct && !known.insert((event.id, event.wide))) {
            continue;
        }
        let label = defined.and_then(|entry| catalog.program(entry).hook(entry.id())).map(|hook| printable(hook.label));
        let label = label.filter(|label| !label.is_empty()).map_or(String::new(), |label| format!(" {label}"));
        let name = unique(format!("{}{label}", EventId::Hook(event.id).name()), &mut names);
        let facts = context.facts(event);
        let mut keys = vec![("env", if event.wide { "64" } else { "32" }.to_owned())];
        keys.extend(facts.pid.map(|pid| ("pid", number(pid))));
        keys.extend((facts.tid != 0).then(|| ("tid", number(facts.tid))));
        keys.extend((!facts.path.is_empty()).then(|| ("exec", quoted(&printable(facts.path)))));
        keys.push(("time", quoted(&seconds_of(timed.time.elapsed_ns))));
        let group = if event.wide { 8 } else { 4 };
        picked.push(Picked { name, keys, bytes: event.bytes.to_vec(), group });
    }
    Ok(picked)
}

fn pick_records(log: &mut KevLog, wanted: &QnxReportOptions, max: usize, distinct: bool) -> io::Result<Vec<Picked>> {
    let header = log.header().clone();
    let (mut known, mut names) = (BTreeSet::new(), BTreeMap::new());
    let mut picked = Vec::new();
    while picked.len() < max
        && let Some(item) = log.next()?
    {
        let KevItem::Record(record) = item else { continue };
        let time = record.cycles().and_then(|cycles| header.ns(cycles));
        let (class, event) = (record.meant_class(), record.event);
        if !wanted.filter.shows(class, event, record.cpu, time.map(i128::from))
            || (distinct && !known.insert((class, event, record.wide)))
        {
            continue;
        }
        let name = EventId::class_name(class).map_or_else(|| class.to_string(), str::to_owned);
        // Every user event has the same label, so it does not distinguish events.
        let label = event_label(header.release, class, event).filter(|_| name != "USER");
        let label = label.map_or(String::new(), |label| format!(" {label}"));
        let mut keys = vec![("class", quoted(&name)), ("id", event.to_string())];
        keys.extend(record.wide.then(|| ("wide", String::from("true"))));
        keys.extend(header.big_endian.then(|| ("big-endian", String::from("true"))));
        let name = unique(format!("{name}:{event}{label}"), &mut names);
        picked.push(Picked { name, keys, bytes: record.bytes.to_vec(), group: 4 });
    }
    Ok(picked)
}

/// Makes a name unique by adding a number to it.
fn unique(name: String, names: &mut BTreeMap<String, u64>) -> String {
    let n = names.entry(name.clone()).or_insert(0);
    *n += 1;
    if *n == 1 { name } else { format!("{name} ({n})") }
}

/// Number as TOML text; numbers above TOML's range become strings.
fn number(number: u64) -> String {
    i64::try_from(number).map_or_else(|_| format!("{number:#x}"), |number| number.to_string())
}

fn seconds_of(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}
