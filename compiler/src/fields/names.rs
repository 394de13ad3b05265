//! Names of fields: from the text before a value, from macros, and among equal names.

use foldhash::{HashMap, HashMapExt, HashSet};

/// Columns of the table of events. A field with such a name gets the prefix `arg_`.
pub(crate) const COLUMNS: &[&str] = &[
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

/// Words that say nothing in a name.
const FILLERS: &[&str] = &["the", "a", "an", "of", "for", "in", "to", "is", "was", "and", "from", "at", "by", "on"];

/// Maximum length of a derived name.
const MAX_NAME: usize = 40;

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    &text[..end]
}

/// Name from the text that is printed before a value.
///
/// ```text
/// "The # of loop iterations ="  →  loop_iterations
/// "return from slih cpuid="     →  cpuid
/// ```
pub(super) fn from_text(text: &[u8]) -> Option<String> {
    let mut text = trim_end(text);
    if let [before @ .., b'0', b'x' | b'X'] = text
        && before.last().is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
    {
        text = trim_end(before);
    }
    if let [before @ .., b'\'' | b'(' | b'[' | b'{' | b'<'] = text
        && let before = trim_end(before)
        && let [.., b'=' | b':'] = before
    {
        text = before;
    }
    if let [before @ .., b'=' | b':'] = text {
        let last_word = before.iter().rposition(|byte| is_blank(*byte)).map_or(0, |blank| blank + 1);
        // After a blank, the phrase counts.
        text = if last_word == before.len() { before } else { &before[last_word..] };
    }
    let starts = text.iter().rposition(|byte| b",;.()[]{}|=:\"'<>/".contains(byte)).map_or(0, |last| last + 1);
    shortened(&without_fillers(&plain(&text[starts..])))
}

/// Name of a macro or parameter.
pub(super) fn from_macro(name: &[u8]) -> Option<String> {
    shortened(&String::from_utf8_lossy(name).to_ascii_lowercase())
}

/// Lower-case letters and digits; runs of other bytes become `_`.
fn plain(text: &[u8]) -> String {
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

fn without_fillers(name: &str) -> String {
    let kept: Vec<&str> = name.split('_').filter(|word| !FILLERS.contains(word)).collect();
    if kept.is_empty() { name.into() } else { kept.join("_") }
}

/// Cuts a long name, and protects a leading digit.
fn shortened(name: &str) -> Option<String> {
    let end = if name.len() > MAX_NAME { name[..=MAX_NAME].rfind('_').unwrap_or(MAX_NAME) } else { name.len() };
    let name = &name[..end];
    let digit = name.starts_with(|c: char| c.is_ascii_digit());
    (!name.is_empty()).then(|| if digit { format!("n{name}") } else { name.into() })
}

/// Name of the column of words for a field.
pub(super) fn labels_of(name: &str) -> String {
    format!("{name}_text")
}

/// Makes names unique: the second field with a name gets `_2`. Each field has its name and if it has labels.
pub(super) fn number(fields: &mut [(String, bool)]) {
    let mut taken = HashSet::default();
    let mut n_wanting = HashMap::new();
    for (name, has_labels) in fields.iter() {
        *n_wanting.entry(name.clone()).or_insert(0u32) += 1;
        if *has_labels {
            *n_wanting.entry(labels_of(name)).or_insert(0) += 1;
        }
    }
    let mut next = HashMap::new();
    for (name, has_labels) in fields.iter_mut() {
        let own = |name: &str| [Some(name.to_string()), has_labels.then(|| labels_of(name))].into_iter().flatten();
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
    fn texts_become_names() {
        for (text, expected) in [
            ("The # of loop iterations =", Some("loop_iterations")),
            ("return from slih cpuid=", Some("cpuid")),
            ("The elapsed time of the last loop = ", Some("elapsed_time_last_loop")),
            ("LR = ", Some("lr")),
            ("for minor device ", Some("minor_device")),
            ("block number ", Some("block_number")),
            ("fork: pid=", Some("pid")),
            (" [", None),
            (", ", None),
            ("(", None),
            ("iar=0x", Some("iar")),
            ("path='", Some("path")),
            ("LVM read bp=", Some("bp")),
            ("dispatch: cmd=", Some("cmd")),
            ("path = '", Some("path")),
            ("box", Some("box")),
            ("a=", Some("a")),
            ("2nd=", Some("n2nd")),
            ("x", Some("x")),
            ("a0x", Some("a0x")),
            ("at 0x", Some("at")),
            ("", None),
        ] {
            assert_eq!(from_text(text.as_bytes()).as_deref(), expected, "{text}");
        }
        let long = from_text(format!("{} bb", "a".repeat(40)).as_bytes());
        assert_eq!(long, Some("a".repeat(40)));
        let long = from_text(format!("{} bb", "a".repeat(41)).as_bytes());
        assert_eq!(long, Some("a".repeat(40)));
        assert_eq!(from_text(format!("bb {}", "a".repeat(40)).as_bytes()), Some("bb".into()));
    }

    #[test]
    fn equal_names_get_numbers() {
        let numbered = |fields: &[(&str, bool)]| {
            let mut fields: Vec<_> = fields.iter().map(|(name, labels)| (name.to_string(), *labels)).collect();
            number(&mut fields);
            fields.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(numbered(&[("a", false), ("a", false), ("b", false), ("a", false)]), "a a_2 b a_3");
        assert_eq!(numbered(&[("a", false), ("a", false), ("a_2", false)]), "a a_3 a_2");
        assert_eq!(numbered(&[("a", true), ("a_text", false)]), "a a_text_2");
        assert_eq!(numbered(&[("a_2_text", false), ("a", false), ("a", true)]), "a_2_text a a_3");
    }
}
