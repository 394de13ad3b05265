//! Text of an inventory of QNX logs.

use super::qnx::QnxInventory;
use super::{count, seconds, write_size};
use crate::formats::Formats;
use crate::ids::EventId;
use crate::trace::TraceInfo;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Writes the inventory.
pub fn write(inventory: &QnxInventory, log: &TraceInfo, formats: &Formats, out: &mut String) {
    let Some(header) = &log.qnx_header else { return };
    let order = if header.big_endian { "big-endian" } else { "little-endian" };
    let _ = writeln!(out, "{}: {}, {order}", log.name, log.kind);
    log.files.iter().for_each(|file| write_size(file, out));
    for (key, value) in &header.attributes {
        let _ = writeln!(out, "  {:<20} {}", key.escape_ascii().to_string(), value.escape_ascii());
    }
    if let Some((first, last)) = inventory.time_ns {
        let _ = writeln!(out, "  time       {} to {} s, {} s", seconds(first), seconds(last), seconds(last - first));
    }
    if inventory.n_untimed > 0 {
        let _ = writeln!(out, "  no time    {}", count(inventory.n_untimed, "event"));
    }
    let counts = inventory.counts;
    let cpus: Vec<_> = inventory.cpus().map(|cpu| cpu.to_string()).collect();
    let _ = writeln!(out, "  events     {} of {}", counts.records, count(counts.slots, "slot"));
    let _ = writeln!(out, "  cpus       {}", cpus.join(", "));
    let damaged = count(inventory.n_damaged, "place");
    let _ = writeln!(out, "  damaged    {damaged}, {}", count(inventory.n_skipped_bytes, "byte"));
    let _ = writeln!(out, "  gaps       {}, {} lost", counts.gaps, count(counts.lost_buffers, "buffer"));
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
