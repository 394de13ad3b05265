//! Text before the first and after the last line of a report.

use crate::catalog::Catalog;
use crate::columns::trim;
use crate::ids::display_id;
use crate::output_format::{Form, IdCount, write_counts};
use crate::reader::aix::SystemInfo;
use crate::time_zone::TimeZone;
use tfbc_vm::TextBuf;

/// Writes the block above the heading line. Properties that the trace does not contain are left out.
pub(super) fn write_heading(system: &SystemInfo, zone: &TimeZone, out: &mut TextBuf) {
    let start = out.len();
    if let Some(seconds) = system.start_time {
        line(out, &[zone.date(seconds).as_bytes()]);
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

/// Appends a line of texts from the trace, with `.` for unprintable bytes.
fn line(out: &mut TextBuf, texts: &[&[u8]]) {
    for byte in texts.iter().copied().flatten() {
        out.push(if (0x20..0x7f).contains(byte) { std::slice::from_ref(byte) } else { b"." });
    }
    out.push(b"\n");
}

/// Reported events by hook id, the most frequent first: a blank line, then count, id and label.
pub(super) fn write_histogram(counts: &[u64], catalog: &Catalog<'_>, out: &mut TextBuf) {
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

/// Writes the number of reported events per hook.
pub(super) fn write_stats(counts: &[u64], catalog: &Catalog<'_>, form: Form, heading: bool, out: &mut TextBuf) {
    let rows = (0..=u16::MAX).zip(counts).filter(|(_, n)| **n > 0).map(|(id, n)| {
        let hook = catalog.lookup(id).and_then(|entry| catalog.program(entry).hook(entry.id()));
        IdCount { n: *n, id: display_id(id), label: hook.map_or(Vec::new(), |hook| hook.label.to_vec()) }
    });
    write_counts(rows.collect(), form, heading, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_has_the_facts_of_the_trace() {
        let system = SystemInfo {
            start_time: Some(941_117_645),
            sysname: b"AIX".to_vec(),
            nodename: b"moscow".to_vec(),
            version: b"4".to_vec(),
            machine: b"000167894C00".to_vec(),
            command: Some(b"trace -a"[..].into()),
            ip_address: Some(0x0930_A2B4),
            buffering: Some(1),
            ..SystemInfo::default()
        };
        let mut out = TextBuf::new();
        write_heading(&system, &TimeZone::UTC, &mut out);
        let expected = "Thu Oct 28 13:34:05 1999\nSystem: AIX moscow Node: 4\nMachine: 000167894C00\n\
                        Internet Protocol Address: 0930A2B4 9.48.162.180\nBuffering: Kernel Heap\n\ntrace -a\n\n";
        assert_eq!(String::from_utf8_lossy(out.as_bytes()), expected);
        let mut out = TextBuf::new();
        write_heading(&SystemInfo::default(), &TimeZone::UTC, &mut out);
        assert!(out.is_empty());
    }
}
