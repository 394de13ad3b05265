//! What stands before the events.

use crate::reader::kev::{Attribute, KevHeader, KevRefusal, KevRefusalKind, Syspage};
use std::fmt::Write;
use tfbc_vm::TextBuf;

/// The first lines. Those of QNX 7 are not public.
const VERSIONS: &str = "TRACEPRINTER version 1.02\nTRACEPARSER LIBRARY version 1.02\n";
/// Columns up to a key's end.
const KEY_END: usize = 22;

/// Writes everything up to the first event.
pub(super) fn write(header: &KevHeader, verbose: bool, out: &mut TextBuf) {
    let mut text = attributes(&header.attributes, verbose);
    if verbose {
        syspage(header.syspage.as_ref(), &mut text);
        text.push_str("TRACEPRINTER: header file and syspage have been processed\n");
    }
    text.push_str(" -- KERNEL EVENTS -- \n");
    out.push(text.as_bytes());
}

/// What traceprinter 1.02 prints of a log that it refuses; its code for the reason, where it has one.
pub fn write_refused(refusal: &KevRefusal, verbose: bool, out: &mut TextBuf) -> Option<u8> {
    let (complaint, code) = match refusal.kind {
        KevRefusalKind::Endian => ("TRACEPARSER: Wrong input trace file endian type\n", Some(11)),
        KevRefusalKind::Syspage => ("TRACEPARSER: couldn't read syspage entry from input trace file\n", Some(12)),
        KevRefusalKind::Version => ("", Some(13)),
        _ => ("", None),
    };
    out.push(attributes(&refusal.header, verbose).as_bytes());
    out.push(complaint.as_bytes());
    code
}

fn attributes(attributes: &[Attribute], verbose: bool) -> String {
    let mut text = String::from(VERSIONS);
    text.push_str(" -- HEADER FILE INFORMATION -- \n");
    for (key, value) in attributes {
        let key = format!("TRACE_{}", printable(key));
        let shown = printable(value);
        let _ = match verbose {
            false => writeln!(text, "{key:>KEY_END$}:: {shown}"),
            true => writeln!(text, "{key:>KEY_END$}:: (len={}) -> \"{shown}\" ", value.len()),
        };
    }
    text
}

/// A text without the bytes that do not print.
fn printable(text: &[u8]) -> String {
    text.iter().filter(|byte| (0x20..=0x7e).contains(*byte)).map(|byte| char::from(*byte)).collect()
}

fn syspage(syspage: Option<&Syspage>, text: &mut String) {
    text.push_str(" -- SYSPAGE INFORMATION -- \n");
    let Some(page) = syspage else { return };
    let mut line = |name: &str, value: Option<u64>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:>KEY_END$}:: {value}");
        }
    };
    line("size", page.size().map(u64::from));
    line("total_size", page.total_size().map(u64::from));
    line("type", page.machine().map(u64::from));
    line("num_cpu", page.n_cpus().map(u64::from));
    let qtime = page.qtime();
    line("cycles_per_sec", qtime.map(|qtime| qtime.cycles_per_sec));
    line("boot_time", qtime.map(|qtime| qtime.boot_time.into()));
    line("qtime flags", qtime.map(|qtime| qtime.flags.into()));
    for (number, cpu) in page.cpus().enumerate() {
        let name = format!("cpu {number}");
        let _ = writeln!(text, "{name:>KEY_END$}:: {} {} MHz", printable(cpu.name), cpu.speed_mhz);
    }
}
