//! `tfbc info` for QNX logs.

use super::console::{Console, Failure, Message};
use super::trace::{Reporter, report_imbalance};
use std::fmt::Write;
use tfbc::internal::events::{BuiltInEvents, class_name};
use tfbc::internal::formats::Catalog;
use tfbc::internal::inventory::QnxInventory;
use tfbc::internal::qnx::KevLog;
use tfbc_vm::Space;

/// Reads a log to the end and builds its inventory.
pub fn take(console: &Console, log: &mut KevLog) -> Result<QnxInventory, Failure> {
    let mut reporter = Reporter::new(console, log.name(), log.file_size());
    let inventory = QnxInventory::take(log, &mut reporter)
        .map_err(|error| Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", log.name())))?;
    reporter.end();
    report_imbalance(console, log.name(), inventory.imbalance);
    Ok(inventory)
}

/// Prints the inventory.
pub fn write(inventory: &QnxInventory, log: &KevLog, catalog: &Catalog<'_>, out: &mut String) {
    let header = log.header();
    let order = if header.big_endian { "big-endian" } else { "little-endian" };
    let _ = writeln!(out, "{}: QNX kernel log, {order}", log.name());
    if let Some(size) = log.size() {
        let _ = writeln!(out, "  size       {size} bytes");
    }
    if let Some(packing) = log.packing() {
        let _ = writeln!(out, "  packed     {packing}");
    }
    for (key, value) in &header.attributes {
        let _ = writeln!(out, "  {:<20} {}", key.escape_ascii().to_string(), value.escape_ascii());
    }
    if let Some((first, last)) = inventory.time_ns {
        let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let _ = writeln!(out, "  time       {} to {} s, {} s", seconds(first), seconds(last), seconds(last - first));
    }
    if inventory.n_untimed > 0 {
        let _ = writeln!(out, "  no time    {}", super::count(inventory.n_untimed, "event"));
    }
    let (counts, tally) = (log.counts(), log.tally());
    let cpus: Vec<_> = inventory.cpus().map(|cpu| cpu.to_string()).collect();
    let _ = writeln!(out, "  events     {} of {}", counts.records, super::count(counts.slots, "slot"));
    let _ = writeln!(out, "  cpus       {}", cpus.join(", "));
    let damaged = super::count(inventory.n_damaged, "place");
    let _ = writeln!(out, "  damaged    {damaged}, {}", super::count(tally.skipped, "byte"));
    let _ = writeln!(out, "  gaps       {}, {} lost", counts.gaps, super::count(counts.lost_buffers, "buffer"));
    write_events(inventory, BuiltInEvents::of(header.release, header.big_endian), catalog, out);
}

fn write_events(inventory: &QnxInventory, events: BuiltInEvents, catalog: &Catalog<'_>, out: &mut String) {
    for ((class, event), n) in &inventory.by_event {
        let name = class_name(*class).map_or_else(|| class.to_string(), str::to_owned);
        let label = events.distinct_label(*class, *event).unwrap_or_else(|| format!("EVENT {event}").into());
        let entries = catalog.records(Space::Record, *class, *event);
        let formats = entries.iter().filter_map(|entry| {
            let program = catalog.record_program(entry);
            program.record(*class, *event).map(|hook| String::from_utf8_lossy(hook.label).into_owned())
        });
        let formats = formats.collect::<Vec<_>>().join("; ");
        let _ = writeln!(out, "  {:<14} {n:>12}  {label:<20} {formats}", format!("{name}:{event}"));
    }
}
