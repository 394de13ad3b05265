//! Text of an inventory of AIX traces.

use super::aix::{AixInventory, FileInventory, Gap};
use super::{count, seconds, write_size};
use crate::formats::Formats;
use crate::ids::EventId;
use crate::reader::aix::SystemInfo;
use crate::time_zone::TimeZone;
use crate::trace::{TraceFile, TraceInfo};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Canonical id of the stanza that formats hook 000.
const ID_IS_ZERO: u16 = 0x0040;

/// Writes the inventory.
pub fn write(inventory: &AixInventory, trace: &TraceInfo, formats: &Formats, out: &mut String) {
    write_file(trace, out);
    write_system(inventory.system(), out);
    if let Some((first, last)) = inventory.elapsed_ns() {
        let _ = writeln!(out, "  span       {} to {} s", seconds(first), seconds(last));
    }
    let _ = writeln!(out, "  events     {}, of {}", inventory.n_events, count(inventory.n_threads() as u64, "thread"));
    write_cpus(inventory, out);
    for (file, counts) in trace.files.iter().zip(&inventory.files).skip(1) {
        write_cpu_file(file, counts, out);
    }
    let damaged = count(inventory.n_damaged, "place");
    let _ = writeln!(out, "  damaged    {damaged}, {}", count(inventory.n_skipped_bytes, "byte"));
    write_notices(inventory, out);
    write_gaps(inventory, trace, out);
    if inventory.n_clamped > 0 {
        let _ = writeln!(out, "  time       went back in {}", count(inventory.n_clamped, "event"));
    }
    write_layouts(inventory, formats, out);
    write_ids(inventory, formats, out);
}

/// Writes the hooks that the built-in format file shows with its own layouts.
fn write_layouts(inventory: &AixInventory, formats: &Formats, out: &mut String) {
    let hooks = inventory.guessed_layouts(formats);
    if !hooks.is_empty() {
        let _ = writeln!(out, "  layouts    {}", hooks.guessed_layouts_note());
    }
}

fn write_cpus(inventory: &AixInventory, out: &mut String) {
    let system = inventory.system();
    let mut texts = Vec::new();
    if let (Some(total), Some(traced)) = (system.total_cpus, system.traced_cpus) {
        texts.push(format!("{traced} of {total} were traced"));
    }
    if !inventory.cpus.is_empty() {
        texts.push(format!("events of CPU {}", ranges(inventory.cpus.keys().copied())));
    }
    if !texts.is_empty() {
        let _ = writeln!(out, "  cpus       {}", texts.join(", "));
    }
}

fn write_notices(inventory: &AixInventory, out: &mut String) {
    let n_shown = inventory.notices.iter().filter(|notice| notice.damage).count() as u64;
    for notice in inventory.notices.iter().filter(|notice| notice.damage) {
        let _ = writeln!(out, "             {}", notice.message);
    }
    if inventory.n_damaged > n_shown {
        let range =
            inventory.unlisted.map_or(String::new(), |(from, to)| format!(", from offset {from:#x} to {to:#x}"));
        let _ = writeln!(out, "             and {} more{range}", inventory.n_damaged - n_shown);
    }
    for notice in inventory.notices.iter().filter(|notice| !notice.damage) {
        let _ = writeln!(out, "  note       {}", notice.message);
    }
}

fn write_gaps(inventory: &AixInventory, trace: &TraceInfo, out: &mut String) {
    let _ = writeln!(out, "  gaps       {}", inventory.n_gaps);
    for gap in &inventory.gaps {
        let _ = match *gap {
            Gap::Lost { at_ns, offset, file, n_entries } => {
                let file = if file == 0 { String::new() } else { format!(" of {}", base_name(&trace.files[file])) };
                let entries = if n_entries == 1 { "entry" } else { "entries" };
                let at = seconds(at_ns);
                writeln!(out, "             {at} s, offset {offset:#x}{file}: {n_entries} missed {entries} (006)")
            }
            Gap::Off { from_ns, to_ns } => {
                writeln!(out, "             {} to {} s: the trace was off", seconds(from_ns), seconds(to_ns))
            }
        };
    }
    if inventory.n_gaps > inventory.gaps.len() as u64 {
        let _ = writeln!(out, "             and {} more", inventory.n_gaps - inventory.gaps.len() as u64);
    }
}

fn write_ids(inventory: &AixInventory, formats: &Formats, out: &mut String) {
    let labels: BTreeMap<String, String> = formats.events().map(|event| (event.id, event.label)).collect();
    for (id, n) in inventory.by_id() {
        // Stanza 004 formats hook 000.
        let shown = EventId::Hook(if id == 0 { ID_IS_ZERO } else { id }).name();
        let label = labels.get(&shown).map_or("(no template)", String::as_str);
        let _ = writeln!(out, "  {:<4} {n:>12}  {label}", EventId::Hook(id).name());
    }
}

/// Writes the properties of the first file.
fn write_file(trace: &TraceInfo, out: &mut String) {
    let Some(file) = trace.files.first() else { return };
    let _ = writeln!(out, "{}: {}", file.name, trace.kind);
    write_size(file, out);
    if let Some(header) = trace.log_header {
        let wraps = count(header.wraps.into(), "time");
        let (entries, next, mode) = (header.n_entries, header.current, header.mode);
        let modes =
            [(1, "does not wrap"), (2, "stops when full"), (4, "base file of one file a CPU"), (8, "file of one CPU")];
        let modes: String =
            modes.iter().filter(|(bit, _)| mode & bit != 0).map(|(_, what)| format!(", {what}")).collect();
        let _ = writeln!(out, "  log        {entries} entries, next {next}, wrapped {wraps}, mode {mode:#x}{modes}");
    }
}

fn write_cpu_file(file: &TraceFile, counts: &FileInventory, out: &mut String) {
    let cpu = file.cpu.map_or(String::from("file"), |cpu| format!("cpu {cpu}"));
    let size = file.size.map_or(String::new(), |size| format!("{size} bytes, "));
    let events = count(counts.n_events, "event");
    let times = counts.elapsed_ns;
    let times = times.map_or(String::new(), |(first, last)| format!(", {} to {} s", seconds(first), seconds(last)));
    let _ = writeln!(out, "  {cpu:<10} {}: {size}{events}{times}", base_name(file));
}

fn base_name(file: &TraceFile) -> String {
    Path::new(&file.name).file_name().map_or_else(|| file.name.clone(), |name| name.to_string_lossy().into_owned())
}

/// Ascending numbers as ranges, such as `0-3, 5`.
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
        let _ = writeln!(out, "  started    {} GMT", TimeZone::UTC.date(seconds));
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
    fn numbers_are_listed_as_ranges() {
        let text = |numbers: &[u64]| ranges(numbers.iter().copied());
        assert_eq!(text(&[0, 1, 2, 5, u64::MAX]), "0-2, 5, 18446744073709551615");
        assert_eq!(text(&[]), "");
    }
}
