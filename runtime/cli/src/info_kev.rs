//! `tfbc info` for QNX logs.

use std::collections::BTreeMap;
use std::fmt::Write;
use tfbc::internal::inventory::QnxInventory;
use tfbc::{EventId, Formats, TraceInfo};

/// Prints the inventory. `size` contains the lines about the size of the log.
pub fn write(inventory: &QnxInventory, log: &TraceInfo, size: &str, formats: &Formats, out: &mut String) {
    let Some(header) = &log.qnx_header else { return };
    let order = if header.big_endian { "big-endian" } else { "little-endian" };
    let _ = writeln!(out, "{}: {}, {order}", log.name, log.kind);
    out.push_str(size);
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
    let counts = inventory.counts;
    let cpus: Vec<_> = inventory.cpus().map(|cpu| cpu.to_string()).collect();
    let _ = writeln!(out, "  events     {} of {}", counts.records, super::count(counts.slots, "slot"));
    let _ = writeln!(out, "  cpus       {}", cpus.join(", "));
    let damaged = super::count(inventory.n_damaged, "place");
    let _ = writeln!(out, "  damaged    {damaged}, {}", super::count(inventory.n_skipped_bytes, "byte"));
    let _ = writeln!(out, "  gaps       {}, {} lost", counts.gaps, super::count(counts.lost_buffers, "buffer"));
    write_events(inventory, formats, out);
}

fn write_events(inventory: &QnxInventory, formats: &Formats, out: &mut String) {
    let names: BTreeMap<String, String> = formats.events().map(|event| (event.id, event.label)).collect();
    for ((class, event), n) in &inventory.by_event {
        let id = EventId::Record(*class, *event).name();
        let label = inventory.label(*class, *event).unwrap_or_else(|| format!("EVENT {event}").into());
        let definitions = names.get(&id).map_or("", String::as_str);
        let _ = writeln!(out, "  {id:<14} {n:>12}  {label:<20} {definitions}");
    }
}
