//! Names of columns for fields.
//!
//! The compiler names the fields of templates. The library names the fields of QNX's kernel events.

use hashbrown::{HashMap, HashSet};

/// Columns of the table of events. A field with such a name gets the prefix `arg_`.
pub const COLUMNS: &[&str] = &[
    "seq",
    "time",
    "elapsed_ns",
    "cpu",
    "pid",
    "tid",
    "process",
    "thread",
    "svc",
    "depth",
    "id",
    "label",
    "text",
    "fields",
    "note",
    "file",
    "file_offset",
    "event_bytes",
];

/// Maximum length of a derived name.
const MAX_NAME: usize = 40;

/// Lower-case letters and digits; runs of other bytes become `_`.
///
/// ```
/// assert_eq!(tfbc_vm::names::plain(b" msg[0] "), "msg_0");
/// ```
pub fn plain(text: &[u8]) -> String {
    let mut name = String::new();
    for byte in text.iter().map(u8::to_ascii_lowercase) {
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() {
            name.push(char::from(byte));
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    name.truncate(name.trim_end_matches('_').len());
    name
}

/// Cuts a long name, and protects a leading digit.
pub fn shortened(name: &str) -> Option<String> {
    let end = if name.len() > MAX_NAME { name[..=MAX_NAME].rfind('_').unwrap_or(MAX_NAME) } else { name.len() };
    let name = &name[..end];
    let digit = name.starts_with(|c: char| c.is_ascii_digit());
    (!name.is_empty()).then(|| if digit { format!("n{name}") } else { name.into() })
}

/// End of the name of a column of words.
const LABELS: &str = "_text";
/// End of the name of a column of numbers.
const RAW: &str = "_raw";

/// Name of the column of words for a field.
pub fn labels_of(name: &str) -> String {
    [name, LABELS].concat()
}

/// Name of the column with the numbers of characters.
pub fn raw_of(name: &str) -> String {
    [name, RAW].concat()
}

/// Columns of a field in addition to its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Besides {
    /// True if it has a column of words.
    pub labels: bool,
    /// True if it has a column of numbers.
    pub raw: bool,
}

impl Besides {
    /// Names of all columns of a field.
    pub fn columns(self, name: &str) -> impl Iterator<Item = String> + use<> {
        let besides = [self.labels.then(|| labels_of(name)), self.raw.then(|| raw_of(name))];
        std::iter::once(name.to_string()).chain(besides.into_iter().flatten())
    }
}

/// Limit on the fields that are compared with each other.
const FEW: usize = 16;

/// True if two columns of the fields have one name. Compares the names without building them.
fn has_equal_columns(fields: &[(String, Besides)]) -> bool {
    let columns = |field: &'_ (String, Besides)| {
        let ends = [Some(""), field.1.labels.then_some(LABELS), field.1.raw.then_some(RAW)];
        ends.into_iter().flatten()
    };
    let equal = |(one, end): (&str, &str), (other, other_end): (&str, &str)| {
        one.len() + end.len() == other.len() + other_end.len()
            && one.bytes().chain(end.bytes()).eq(other.bytes().chain(other_end.bytes()))
    };
    fields.iter().enumerate().any(|(at, one)| {
        let later = || fields[at + 1..].iter().flat_map(|other| columns(other).map(|end| (&*other.0, end)));
        columns(one).any(|end| later().any(|other| equal((&one.0, end), other)))
    })
}

/// Makes names unique: the second field with a name gets `_2`.
pub fn number(fields: &mut [(String, Besides)]) {
    // Most stanzas have a few fields whose names differ.
    if fields.len() <= FEW && !has_equal_columns(fields) {
        return;
    }
    let mut taken = HashSet::new();
    let mut n_wanting = HashMap::new();
    for (name, besides) in fields.iter() {
        for column in besides.columns(name) {
            *n_wanting.entry(column).or_insert(0u32) += 1;
        }
    }
    let mut next = HashMap::new();
    for (name, besides) in fields.iter_mut() {
        let own = |name: &str| besides.columns(name);
        if own(name).any(|name| taken.contains(&name)) {
            let number = next.entry(name.clone()).or_insert(2u32);
            let numbered = loop {
                let numbered = format!("{name}_{number}");
                *number += 1;
                if !own(&numbered).any(|name| taken.contains(&name) || n_wanting.contains_key(&name)) {
                    break numbered;
                }
            };
            *name = numbered;
        }
        taken.extend(own(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_numbers() {
        let numbered = |fields: &[(&str, bool)]| {
            let mut fields: Vec<_> = fields
                .iter()
                .map(|(name, labels)| (name.to_string(), Besides { labels: *labels, raw: false }))
                .collect();
            number(&mut fields);
            fields.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(numbered(&[("a", false), ("a", false), ("b", false), ("a", false)]), "a a_2 b a_3");
        assert_eq!(numbered(&[("a", false), ("a", false), ("a_2", false)]), "a a_3 a_2");
        assert_eq!(numbered(&[("a", true), ("a_text", false)]), "a a_text_2");
        assert_eq!(numbered(&[("a_2_text", false), ("a", false), ("a", true)]), "a_2_text a a_3");
    }
}
