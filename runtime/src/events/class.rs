//! Names of classes.

/// Class numbers and names.
pub(super) static CLASS_NAMES: &[(u8, &str)] = include!("../../built_in/class_names.rs");

/// Returns the name of a class, such as `USER` for 6.
pub fn class_name(class: u8) -> Option<&'static str> {
    CLASS_NAMES.iter().find(|(number, _)| *number == class).map(|(_, name)| *name)
}

/// Class and number of an event as reports print them, such as `USER:65`. A class without a name is printed as a number.
pub fn display_id(class: u8, event: u16) -> String {
    match class_name(class) {
        Some(name) => format!("{name}:{event}"),
        None => format!("{class}:{event}"),
    }
}
