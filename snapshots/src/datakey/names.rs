//! Symbolic names that the cases use.

const CLASSES: [&str; 12] =
    ["EMPTY", "CONTROL", "KER_CALL", "INT", "PR_TH", "SYSTEM", "USER", "COMM", "QUIP", "SEC", "QVM", "PMU"];

/// Additional class names.
const MORE_CLASSES: [(&str, u8); 10] = [
    ("THREAD", 4),
    ("VTHREAD", 4),
    ("PROCESS", 4),
    ("KERCALL", 2),
    ("KERCALLEXIT", 2),
    ("INTENTER", 3),
    ("INTERRUPT", 3),
    ("USREVENT", 6),
    ("SYS", 5),
    ("CONTAINER", 5),
];

/// Class, name and number of some events; kernel calls have the number of their entry.
const EVENTS: [(u8, &str, u16); 10] = [
    (1, "CONTROLTIME", 1),
    (1, "TIME", 1),
    (2, "MSG_SENDV", 11),
    (4, "THRUNNING", 1),
    (4, "THREADY", 2),
    (4, "PROCCREATE_NAME", 192),
    (5, "SYS_ADDRESS", 9),
    (5, "SYS_COMPACTION", 13),
    (7, "REC_PULSE", 3),
    (7, "COMM_RPULSE", 3),
];

/// Name in upper case, without the prefix of QNX's constants.
fn plain(name: &str) -> String {
    let name = name.to_uppercase();
    name.strip_prefix("_NTO_TRACE_").or(name.strip_prefix("__KER_")).unwrap_or(&name).to_owned()
}

/// Number of a class.
pub fn class(name: &str) -> Option<u8> {
    let name = plain(name);
    let more = MORE_CLASSES.iter().find(|(known, _)| *known == name).map(|(_, class)| *class);
    CLASSES.iter().position(|class| *class == name).map(|at| at as u8).or(more)
}

/// Name of a class in reports.
pub fn class_name(class: u8) -> String {
    let shown = if class == 13 { 5 } else { class };
    CLASSES.get(usize::from(shown)).map_or_else(|| class.to_string(), |name| (*name).to_string())
}

/// Number of an event.
pub fn event(class: u8, name: &str) -> Option<u16> {
    let (name, kind) = name.split_once(':').unwrap_or((name, "enter"));
    let more = match kind.to_lowercase().as_str() {
        "enter" => 0,
        "exit" => 128,
        "int" => 256,
        "enter64" => 512,
        "exit64" => 128 + 512,
        _ => return None,
    };
    let name = plain(name);
    let found = EVENTS.iter().find(|event| event.0 == class && event.1 == name)?;
    Some(found.2 + more)
}
