//! Names of fields, from the text before them.

/// Columns of the table of events. No field has their names.
pub(crate) const COLUMNS: [&str; 18] = [
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

/// Words that a name does not contain, unless nothing else is left.
const LEFT_OUT: [&str; 14] = ["the", "a", "an", "of", "for", "in", "to", "is", "was", "and", "from", "at", "by", "on"];

/// Maximum length of a name from a text.
const MAX_LEN: usize = 40;

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Text without blanks at the end.
fn trim_end(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    &text[..len]
}

/// Text without blanks at both ends.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let text = trim_end(text);
    &text[text.iter().take_while(|byte| is_blank(byte)).count()..]
}

/// Name from the text before a printed value; `None` if it gives none.
pub(super) fn from_text(text: &[u8]) -> Option<String> {
    let text = without_quote(without_0x(trim_end(text)));
    let text = match text {
        [before @ .., b'=' | b':'] if before.last().is_some_and(is_blank) => before,
        [before @ .., b'=' | b':'] => before.rsplit(is_blank).next().unwrap_or(before),
        _ => text,
    };
    from_phrase(text.rsplit(|byte| b",;.()[]{}|=:\"'<>/".contains(byte)).next().unwrap_or(text))
}

/// Steps (c) to (e).
pub(crate) fn from_phrase(phrase: &[u8]) -> Option<String> {
    let lower: String = phrase.iter().map(|byte| char::from(*byte).to_ascii_lowercase()).collect();
    let is_kept = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let words: Vec<&str> = lower.split(|letter| !is_kept(letter)).filter(|word| !word.is_empty()).collect();
    let kept: Vec<&str> = words.iter().copied().filter(|word| !LEFT_OUT.contains(word)).collect();
    shortened(if kept.is_empty() { words.join("_") } else { kept.join("_") })
}

/// Name of a macro as the name of its field.
pub(super) fn from_macro(name: &[u8]) -> Option<String> {
    shortened(String::from_utf8_lossy(name).to_ascii_lowercase())
}

/// Step (e): at most 40 characters, and no leading digit.
fn shortened(mut name: String) -> Option<String> {
    if name.len() > MAX_LEN {
        name.truncate(name[..=MAX_LEN].rfind('_').unwrap_or(MAX_LEN));
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert(0, 'n');
    }
    (!name.is_empty()).then_some(name)
}

fn without_0x(text: &[u8]) -> &[u8] {
    match text {
        [before @ .., b'0', b'x' | b'X'] if !before.last().is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') => {
            trim_end(before)
        }
        _ => text,
    }
}

/// Removes an opening quote or bracket after `=` or `:`.
fn without_quote(text: &[u8]) -> &[u8] {
    match text {
        [before @ .., b'\'' | b'(' | b'[' | b'{' | b'<'] if matches!(trim_end(before), [.., b'=' | b':']) => {
            trim_end(before)
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_give_the_names_of_the_specification() {
        let check = |text: &str, name: &str| {
            assert_eq!(from_text(text.as_bytes()).as_deref(), (!name.is_empty()).then_some(name), "{text}");
        };
        check("The # of loop iterations =", "loop_iterations");
        check("return from slih cpuid=", "cpuid");
        check("The elapsed time of the last loop = ", "elapsed_time_last_loop");
        check("LR = ", "lr");
        check("for minor device ", "minor_device");
        check("block number ", "block_number");
        check("fork: pid=", "pid");
        check(" [", "");
        check(", ", "");
        check("(", "");
        check("LVM read bp=", "bp");
        check("iar=0x", "iar");
        check("path='", "path");
        check("path = '", "path");
        check("addr (0x", "");
        check("addr 0x", "addr");
        check("max0x", "max0x");
        check("x==", "");
        check("a, b", "b");
        check("for the", "for_the");
        check("2nd word", "n2nd_word");
        check("h\u{e9}llo w", "h_llo_w");
        check("", "");
    }

    #[test]
    fn long_names_end_at_a_word() {
        let long = |tail: &str| format!("aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd{tail}");
        let cut = "aaaaaaaaa_bbbbbbbbb_ccccccccc_ddddddddd";
        assert_eq!(from_text(long("e fff").as_bytes()).unwrap(), format!("{cut}e"));
        assert_eq!(from_text(long("ee f").as_bytes()).unwrap(), cut[..29]);
        assert_eq!(from_text(&[b'x'; 50]).unwrap(), "x".repeat(40));
        assert_eq!(from_text(&[b'7'; 50]).unwrap(), format!("n{}", "7".repeat(40)));
        assert_eq!(from_macro(b"_Xy").unwrap(), "_xy");
    }
}
