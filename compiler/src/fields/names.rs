//! Names of fields: from the text before a value, from labels and from macros.

pub(crate) use tfbc_vm::names::{Besides, COLUMNS, labels_of, number, raw_of};
use tfbc_vm::names::{plain, shortened};

/// Words that are dropped from names.
const FILLERS: &[&str] = &["the", "a", "an", "of", "for", "in", "to", "is", "was", "and", "from", "at", "by", "on"];

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    &text[..end]
}

/// Name from the text before a value.
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
        // The text ends in a blank: the whole phrase is the name. Otherwise only its last word is.
        text = if last_word == before.len() { before } else { &before[last_word..] };
    }
    let is_end = |byte: &u8| {
        matches!(byte, b',' | b';' | b'.' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|')
            || matches!(byte, b'=' | b':' | b'"' | b'\'' | b'<' | b'>' | b'/')
    };
    let starts = text.iter().rposition(is_end).map_or(0, |last| last + 1);
    shortened(&without_fillers(&plain(&text[starts..])))
}

/// Name from the label of a QNX event's field.
pub(crate) fn from_label(label: &[u8]) -> Option<String> {
    shortened(&without_fillers(&plain(label)))
}

/// Name of a macro or parameter.
pub(super) fn from_macro(name: &[u8]) -> Option<String> {
    shortened(&String::from_utf8_lossy(name).to_ascii_lowercase())
}

fn without_fillers(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    for word in name.split('_').filter(|word| !FILLERS.contains(word)) {
        if !kept.is_empty() {
            kept.push('_');
        }
        kept.push_str(word);
    }
    if kept.is_empty() { name.into() } else { kept }
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
}
