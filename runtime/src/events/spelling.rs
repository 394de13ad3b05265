//! Names of classes and events in all spellings: as in QNX's header (with or without `_NTO_TRACE_`) and as in
//! traceprinter.

use super::built_in::BuiltInEvents;
use super::class::{CLASS_NAMES, class_name};
use crate::reader::kev::{KevRecord, QnxRelease, classes};
use tfbc_vm::TextBuf;

/// Canonical names ([`canonical`]) of classes, each with its class and the events that it covers.
static CLASSES: &[(&str, u8, ClassPart)] = include!("../../built_in/class_spellings.rs");

/// Canonical names of events: name, class, first and last number, and a bit per release that has the name.
static EVENTS: &[(&str, u8, u16, u16, u8)] = include!("../../built_in/event_spellings.rs");

/// Events of a class that a name covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassPart {
    /// Every event.
    All,
    /// Events of threads.
    Threads,
    /// Events of virtual threads.
    VirtualThreads,
    /// Events of processes.
    Processes,
    /// Entries of kernel calls.
    Entries,
    /// Exits of kernel calls.
    Exits,
    /// Interrupted kernel calls.
    Interrupted,
    /// One event, by number.
    Event(u16),
}

impl ClassPart {
    /// True if the part covers an event of the class.
    pub fn contains(self, events: BuiltInEvents, event: u16) -> bool {
        match self {
            ClassPart::All => true,
            ClassPart::Threads => thread_kind(events, event).as_bytes() == b"THREAD",
            ClassPart::VirtualThreads => thread_kind(events, event).as_bytes() == b"VTHREAD",
            ClassPart::Processes => thread_kind(events, event).as_bytes() == b"PROCESS",
            ClassPart::Entries => event >> 7 & 3 == 0,
            ClassPart::Exits => event >> 7 & 3 == 1,
            ClassPart::Interrupted => event >> 7 & 3 == 2,
            ClassPart::Event(number) => event == number,
        }
    }
}

/// Kind of an event of the class [`classes::PR_TH`]: `THREAD`, `VTHREAD` or `PROCESS`.
fn thread_kind(events: BuiltInEvents, event: u16) -> TextBuf {
    let (class, bytes) = (classes::PR_TH, &[][..]);
    let record = KevRecord { number: 0, offset: 0, class, event, cpu: 0, wide: false, stamp: 0, msb: None, bytes };
    let mut kind = TextBuf::new();
    events.class_text(&record, &mut kind);
    kind
}

/// Range of events: class, first number, last number.
pub(crate) type EventRange = (u8, u16, u16);

/// Parses a decimal number, or a hexadecimal one after `0x`.
pub(crate) fn number(text: &str) -> Option<u16> {
    match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => u16::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// Parses the number or name of a class. Returns the class and the events that the name covers.
pub(crate) fn class(text: &str) -> Option<(u8, ClassPart)> {
    if let Some(number) = number(text) {
        return (number < 32).then_some((number as u8, ClassPart::All));
    }
    let name = canonical(text);
    CLASSES.iter().find(|(known, ..)| *known == name).map(|(_, class, part)| (*class, *part))
}

/// Class that a name means, and its events in QNX 6.4.
pub fn class_events(name: &str) -> Option<(u8, Vec<u16>)> {
    let (class, part) = class(name)?;
    let events = BuiltInEvents::of(None, false);
    Some((class, (0..1024).filter(|event| part.contains(events, *event)).collect()))
}

/// Looks up events by name in a release, optionally in one class. The name of a kernel call means its entry
/// records. A name that the release does not have is looked up in all releases.
pub(crate) fn events(release: Option<QnxRelease>, class: Option<u8>, name: &str) -> Vec<EventRange> {
    let name = canonical(name);
    let named = || EVENTS.iter().filter(|row| row.0 == name && class.is_none_or(|class| row.1 == class));
    let bit = match release.map(|release| release.major) {
        Some(7) => 0b010,
        Some(8..) => 0b100,
        _ => 0b001,
    };
    let mut rows: Vec<EventRange> = named().filter(|row| row.4 & bit != 0).map(|row| (row.1, row.2, row.3)).collect();
    if rows.is_empty() {
        rows = named().map(|row| (row.1, row.2, row.3)).collect();
    }
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Names of all classes, for messages.
pub fn class_list() -> String {
    let parts = ["THREAD", "VTHREAD", "PROCESS", "KERCALLENTER", "KERCALLEXIT", "KERCALLINT", "INTENTER", "INTEXIT"];
    CLASS_NAMES.iter().map(|(_, name)| *name).chain(parts).collect::<Vec<_>>().join(", ")
}

/// Distinct labels of a class, for messages.
pub(crate) fn event_list(of: BuiltInEvents, class: u8) -> String {
    const MAX_LISTED: usize = 40;
    let mut labels = of.labels(class);
    let mut known = std::collections::HashSet::new();
    labels.retain(|label| known.insert(*label));
    let more = labels.len().saturating_sub(MAX_LISTED);
    labels.truncate(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more, which `tfbc list` shows") } else { String::new() };
    labels.join(", ") + &more
}

/// Formats events for messages: `SYSTEM:8, SYSTEM:21`.
pub(crate) fn row_list(rows: &[EventRange]) -> String {
    let name = |class: u8| class_name(class).map_or_else(|| class.to_string(), str::to_owned);
    rows.iter().map(|(class, first, _)| format!("{}:{first}", name(*class))).collect::<Vec<_>>().join(", ")
}

/// Distance of a kernel call's records of a kind, such as `exit`, from its entry record. `None` for unknown kinds.
pub(crate) fn call_record(kind: &str) -> Option<u16> {
    let kinds = [("enter", 0), ("exit", 128), ("int", 256), ("enter64", 512), ("exit64", 512 + 128)];
    kinds.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(kind)).map(|(_, add)| add)
}

/// Splits a kernel call's name from the kind of record after its last colon.
pub(crate) fn split_call(class: u8, text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, kind)) if class == classes::KER_CALL => (name, Some(kind)),
        _ => (text, None),
    }
}

/// Canonical form of a name: lower case, without the prefix of QNX's constants. The compiler writes the tables in this
/// form.
fn canonical(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let start = ["_nto_trace_", "__ker_"].into_iter().find_map(|start| name.strip_prefix(start));
    start.unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbers_and_names() {
        assert_eq!(class("0x5"), Some((5, ClassPart::All)));
        assert_eq!(class("31"), Some((31, ClassPart::All)));
        assert_eq!((class("32"), class("0x"), class("0xg"), class("-1"), class("")), (None, None, None, None, None));
        assert_eq!(class("_NTO_TRACE_PROCESS"), Some((4, ClassPart::Processes)));
        assert_eq!(class("KERCALLEXIT"), Some((2, ClassPart::Exits)));
    }

    #[test]
    fn thread_parts_depend_on_the_release() {
        let of = |release, part: ClassPart| {
            let events = BuiltInEvents::of(release, false);
            (0..1024).filter(|event| part.contains(events, *event)).collect::<Vec<u16>>()
        };
        // Unknown events below 64 belong to threads.
        assert!(
            of(Some(QnxRelease { major: 6, minor: 4 }), ClassPart::VirtualThreads)
                .iter()
                .copied()
                .eq((26..47).chain(50..52))
        );
        assert!(
            of(Some(QnxRelease { major: 6, minor: 4 }), ClassPart::Threads)
                .iter()
                .copied()
                .eq((0..26).chain(47..50).chain(52..64))
        );
        assert!(of(Some(QnxRelease { major: 8, minor: 0 }), ClassPart::Threads).contains(&26));
        assert!(of(None, ClassPart::Processes).iter().copied().eq(64..1024));
    }

    #[test]
    fn names_of_the_release_come_first() {
        let bad = |release| events(release, Some(2), "__KER_BAD");
        assert_eq!(
            (bad(Some(QnxRelease { major: 6, minor: 4 })), bad(Some(QnxRelease { major: 8, minor: 0 }))),
            (vec![(2, 100, 100), (2, 107, 107)], vec![(2, 107, 107)])
        );
        assert_eq!(events(None, None, "thrunning"), [(4, 1, 1)]);
        assert_eq!(events(None, Some(7), "THRUNNING"), []);
    }
}
