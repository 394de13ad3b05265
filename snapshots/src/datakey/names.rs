//! The few symbolic names that the cases use.

const CLASSES: [&str; 12] =
    ["EMPTY", "CONTROL", "KER_CALL", "INT", "PR_TH", "SYSTEM", "USER", "COMM", "QUIP", "SEC", "QVM", "PMU"];

/// Class, name and number of some events; kernel calls as they are entered.
const EVENTS: [(u8, &str, u16); 9] = [
    (1, "_NTO_TRACE_CONTROLTIME", 1),
    (1, "TIME", 1),
    (2, "__KER_MSG_SENDV", 11),
    (2, "MSG_SENDV", 11),
    (4, "THREADY", 2),
    (4, "PROCCREATE_NAME", 192),
    (5, "_NTO_TRACE_SYS_ADDRESS", 9),
    (7, "REC_PULSE", 3),
    (7, "_NTO_TRACE_COMM_RPULSE", 3),
];

/// The number of a class.
pub fn class(name: &str) -> Option<u8> {
    CLASSES.iter().position(|class| *class == name).map(|at| at as u8)
}

/// The name of a class, as reports show it.
pub fn class_name(class: u8) -> String {
    let shown = if class == 13 { 5 } else { class };
    CLASSES.get(usize::from(shown)).map_or_else(|| class.to_string(), |name| (*name).to_string())
}

/// The number of an event.
pub fn event(class: u8, name: &str) -> Option<u16> {
    let (name, more) = match name.split_once(':') {
        Some((name, "enter")) => (name, 0),
        Some((name, "exit")) => (name, 128),
        Some((name, "int")) => (name, 256),
        Some((name, "enter64")) => (name, 512),
        Some((name, "exit64")) => (name, 128 + 512),
        _ => (name, 0),
    };
    let found = EVENTS.iter().find(|event| event.0 == class && event.1 == name)?;
    Some(found.2 + more)
}
