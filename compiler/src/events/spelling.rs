//! Names of classes and events, as in QNX's header (with or without `_NTO_TRACE_`) and as in traceprinter. Case
//! is ignored.

use super::table::{CALLS, CLASSES, EVENTS, KER_CALL, Release, call, event};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Events that a class name selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassPart {
    /// The whole class.
    All,
    /// States of threads.
    Threads,
    /// States of virtual threads.
    VirtualThreads,
    /// Events of processes.
    Processes,
    /// Entries of kernel calls.
    Entries,
    /// Exits of kernel calls.
    Exits,
    /// Interrupted kernel calls.
    Interrupted,
    /// One event.
    Event(u16),
}

/// Further names of classes, in lower case and without `_nto_trace_`.
const CLASS_NAMES: [(&str, u8, ClassPart); 20] = [
    ("process", 4, ClassPart::Processes),
    ("thread", 4, ClassPart::Threads),
    ("vthread", 4, ClassPart::VirtualThreads),
    ("kercall", KER_CALL, ClassPart::All),
    ("kercallenter", KER_CALL, ClassPart::Entries),
    ("kercallexit", KER_CALL, ClassPart::Exits),
    ("kercallint", KER_CALL, ClassPart::Interrupted),
    ("ker_exit", KER_CALL, ClassPart::Exits),
    ("int_call", KER_CALL, ClassPart::Interrupted),
    ("intenter", 3, ClassPart::Event(1)),
    ("intexit", 3, ClassPart::Event(2)),
    ("int_handler_enter", 3, ClassPart::Event(3)),
    ("int_handler_exit", 3, ClassPart::Event(4)),
    ("int_entr", 3, ClassPart::Event(1)),
    ("int_exit", 3, ClassPart::Event(2)),
    ("int_handler_entr", 3, ClassPart::Event(3)),
    ("interrupt", 3, ClassPart::All),
    ("usrevent", 6, ClassPart::All),
    ("sys", 5, ClassPart::All),
    ("container", 5, ClassPart::All),
];

/// All names of classes in [`canonical`] form, with number and selected events.
pub fn class_spellings() -> impl Iterator<Item = (String, u8, ClassPart)> {
    let table = CLASSES.iter().map(|class| (class.name.to_ascii_lowercase(), class.number, ClassPart::All));
    table.chain(CLASS_NAMES.iter().map(|(name, class, part)| ((*name).to_owned(), *class, *part)))
}

/// Name of an event in [`canonical`] form. A kernel call is listed by its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSpelling {
    /// The name.
    pub name: String,
    /// The class.
    pub class: u8,
    /// The first event number.
    pub first: u16,
    /// The last event number.
    pub last: u16,
    /// Bit per release whose logs use the name, oldest release first.
    pub releases: u8,
}

/// All names of all events: constants, aliases and labels.
pub fn event_spellings() -> Vec<EventSpelling> {
    let mut all: Vec<EventSpelling> = Vec::new();
    let mut add = |names: &[&str], class: u8, numbers: (u16, u16), is_in: &dyn Fn(Release) -> bool| {
        let bits = Release::ALL.iter().enumerate().map(|(at, release)| u8::from(is_in(*release)) << at);
        let releases = bits.fold(0, |all, bit| all | bit);
        let mut names: Vec<String> = names.iter().map(|name| canonical(name)).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let is_same = |other: &&mut EventSpelling| {
                (&other.name, other.class, other.first, other.last) == (&name, class, numbers.0, numbers.1)
            };
            match all.iter_mut().find(is_same) {
                Some(known) => known.releases |= releases,
                None => all.push(EventSpelling { name, class, first: numbers.0, last: numbers.1, releases }),
            }
        }
    };
    for row in EVENTS {
        let is_in = |release| event(release, row.class, row.number).is_some_and(|used| std::ptr::eq(used, row));
        if row.last_number > row.number {
            add(&[row.label()], row.class, (row.number, row.last_number), &is_in);
        }
        let label = Some(row.label()).filter(|_| row.last_number == row.number);
        let names: Vec<&str> = row.aliases.iter().copied().chain([row.name]).chain(label).collect();
        add(&names, row.class, (row.number, row.number), &is_in);
    }
    for row in CALLS {
        let is_in = |release| call(release, row.number).is_some_and(|used| std::ptr::eq(used, row));
        add(&[row.name, row.label()], KER_CALL, (row.number, row.number), &is_in);
    }
    all
}

/// Lower-case name without the prefix common to the constants of QNX's header.
pub fn canonical(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let start = ["_nto_trace_", "__ker_"].into_iter().find_map(|start| name.strip_prefix(start));
    start.unwrap_or(&name).to_owned()
}

/// Number of a class, by any of its names.
pub(crate) fn class_number(name: &str) -> Option<u8> {
    let name = canonical(name);
    class_spellings().find(|(known, ..)| *known == name).map(|(_, class, _)| class)
}

/// Offsets of a kernel call's records from the number of its entry.
const CALL_RECORDS: [(&str, u16); 5] =
    [("enter", 0), ("exit", 128), ("int", 256), ("enter64", 512), ("exit64", 512 + 128)];

/// Event numbers of a class with this name, in ascending order. The name of a kernel call may have a suffix: `:enter`
/// (the default), `:exit`, `:int`, `:enter64` or `:exit64`.
pub(crate) fn event_numbers(class: u8, name: &str) -> Vec<u16> {
    static BY_NAME: OnceLock<HashMap<String, Vec<EventSpelling>>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        let mut by_name: HashMap<String, Vec<EventSpelling>> = HashMap::new();
        event_spellings().into_iter().for_each(|known| by_name.entry(known.name.clone()).or_default().push(known));
        by_name
    });
    let (name, record) = match name.split_once(':') {
        Some((name, record)) if class == KER_CALL => (name, record.to_ascii_lowercase()),
        _ => (name, String::from("enter")),
    };
    let Some((_, add)) = CALL_RECORDS.iter().find(|(known, _)| *known == record) else { return Vec::new() };
    let known = by_name.get(&canonical(name)).map_or(&[][..], Vec::as_slice);
    let of_class = known.iter().filter(|known| known.class == class);
    let mut numbers: Vec<u16> = of_class.flat_map(|known| known.first..=known.last).map(|n| n + add).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Distinct labels of a class's events, in the order of their numbers.
pub(crate) fn event_labels(class: u8) -> Vec<&'static str> {
    let mut labels: Vec<&'static str> = match class {
        KER_CALL => CALLS.iter().map(|row| row.label()).collect(),
        _ => EVENTS.iter().filter(|row| row.class == class).map(|row| row.label()).collect(),
    };
    let mut known = std::collections::HashSet::new();
    labels.retain(|label| known.insert(*label));
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_the_names_of_header_table_and_traceprinter() {
        for (name, class) in [
            ("USER", 6),
            ("user", 6),
            ("_NTO_TRACE_USER", 6),
            ("_nto_trace_thread", 4),
            ("VTHREAD", 4),
            ("KERCALL", 2),
            ("KerCallEnter", 2),
            ("INT_HANDLER_EXIT", 3),
            ("INTERRUPT", 3),
            ("USREVENT", 6),
            ("Container", 5),
            ("sys", 5),
            ("QVM", 10),
        ] {
            assert_eq!(class_number(name), Some(class), "{name}");
        }
        assert_eq!((class_number("USERS"), class_number("__KER_USERS"), class_number("")), (None, None, None));
    }

    #[test]
    fn names_of_classes_are_distinguished() {
        let mut names: Vec<String> = class_spellings().map(|(name, ..)| name).collect();
        let n = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n);
    }

    #[test]
    fn symbolic_names_give_numbers() {
        for (class, name, numbers) in [
            (2, "MSG_SENDV", &[11][..]),
            (2, "__ker_msg_sendv", &[11]),
            (2, "__KER_MSG_SENDV:enter", &[11]),
            (2, "MSG_SENDV:exit", &[139]),
            (2, "MSG_SENDV:int", &[267]),
            (2, "MSG_SENDV:enter64", &[523]),
            (2, "msg_sendv:EXIT64", &[651]),
            (2, "MSG_SENDV:into", &[]),
            // 6.4 has this name at the end of its table, with another number than 7.1.
            (2, "__KER_BAD", &[100, 107]),
            (4, "_NTO_TRACE_THREADY", &[2]),
            (4, "thready", &[2]),
            (4, "VTHREADY", &[28]),
            (5, "MAPNAME", &[8, 21]),
            (5, "_NTO_TRACE_SYS_MAPNAME_64", &[21]),
            (5, "_NTO_TRACE_SYS_COMPACTION", &[13]),
            (5, "sys_compaction", &[13]),
            (5, "COMPACTION", &[13]),
            (7, "THREADY", &[]),
            (7, "_NTO_TRACE_COMM_RPULSE", &[3]),
            (7, "rec_pulse", &[3]),
            (6, "_NTO_TRACE_USERFIRST", &[0]),
        ] {
            assert_eq!(event_numbers(class, name), numbers, "{name}");
        }
        assert_eq!(event_numbers(6, "usrevent").len(), 1024);
    }

    #[test]
    fn names_belong_to_the_releases_that_use_them() {
        let of = |name: &str| -> Vec<(u16, u8)> {
            let all = event_spellings().into_iter().filter(|known| known.name == name);
            all.map(|known| (known.first, known.releases)).collect()
        };
        assert_eq!(of("bad"), [(100, 0b001), (107, 0b111)]);
        assert_eq!(of("net_cred"), [(93, 0b011)]);
        assert_eq!(of("msg_queue_open"), [(93, 0b100)]);
    }
}
