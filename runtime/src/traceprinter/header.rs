//! Text before the events.

use super::syspage;
use crate::reader::kev::{HeaderAttribute, KevHeader, KevRefusal, KevRefusalKind};
use tfbc_vm::TextBuf;

/// First lines, as QNX 6.4 prints them. The lines of QNX 7 are not public.
const VERSIONS: &str = "TRACEPRINTER version 1.02\nTRACEPARSER LIBRARY version 1.02\n";
/// Column in which keys end.
const KEY_END: usize = 22;

/// Writes everything up to the first event.
pub(super) fn write(header: &KevHeader, verbose: bool, out: &mut TextBuf) {
    let mut text = attributes(&header.attributes, verbose);
    if verbose {
        if let Some(page) = &header.syspage {
            text.extend_from_slice(b" -- SYSPAGE INFORMATION -- \n");
            syspage::write(page, &mut text);
        }
        text.extend_from_slice(b"TRACEPRINTER: header file and syspage have been processed\n");
    }
    text.extend_from_slice(b" -- KERNEL EVENTS -- \n");
    out.push(&text);
}

/// Writes the output of traceprinter 1.02 for a log that it refuses. Returns its error code, if it has one for the
/// reason.
pub fn write_refused(refusal: &KevRefusal, verbose: bool, out: &mut Vec<u8>) -> Option<u8> {
    let (complaint, code) = match refusal.kind {
        KevRefusalKind::Endian => ("TRACEPARSER: Wrong input trace file endian type\n", Some(11)),
        KevRefusalKind::Syspage => ("TRACEPARSER: couldn't read syspage entry from input trace file\n", Some(12)),
        KevRefusalKind::Version => ("", Some(13)),
        _ => ("", None),
    };
    out.extend_from_slice(&attributes(&refusal.header, verbose));
    out.extend_from_slice(complaint.as_bytes());
    code
}

fn attributes(attributes: &[HeaderAttribute], verbose: bool) -> Vec<u8> {
    let mut text = format!("{VERSIONS} -- HEADER FILE INFORMATION -- \n").into_bytes();
    for (key, value) in attributes {
        let key = format!("TRACE_{}", printable(key));
        text.extend_from_slice(format!("{key:>KEY_END$}:: ").as_bytes());
        if verbose {
            let shown = value.split(|byte| *byte == 0).next().unwrap_or_default();
            text.extend_from_slice(format!("(len={}) -> \"", value.len()).as_bytes());
            text.extend_from_slice(shown);
            text.extend_from_slice(b"\" \n");
        } else {
            text.extend_from_slice(format!("{}\n", printable(value)).as_bytes());
        }
    }
    text
}

/// Removes unprintable bytes from a text.
fn printable(text: &[u8]) -> String {
    text.iter().filter(|byte| (0x20..=0x7e).contains(*byte)).map(|byte| char::from(*byte)).collect()
}
