//! JSON values of reports.

use memchr::memchr2_iter;
use std::io::Write;
use tfbc_vm::{TextBuf, contains_any};

/// Adapter that implements [`Write`] for a text buffer.
pub(crate) struct TextWriter<'t>(pub &'t mut TextBuf);

impl Write for TextWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// True if a text needs no escapes in a JSON string: printable ASCII without quotes and backslashes.
#[inline(always)]
pub(crate) fn is_plain(text: &[u8]) -> bool {
    // Bytes from 128 on are negative.
    !contains_any::<{ u32::from_be_bytes(*b"\"\\\x7F\x7F") }, 0x20>(text)
}

/// True if a text is a JSON number or an array of JSON numbers, on one line.
pub(crate) fn is_numbers(text: &[u8]) -> bool {
    let is_right = match text {
        [b'[', list @ .., b']'] => list.split(|byte| *byte == b',').all(|number| is_number(number.trim_ascii_start())),
        number => is_number(number),
    };
    is_right && !text.contains(&b'\n')
}

/// True if a text is a JSON number.
fn is_number(text: &[u8]) -> bool {
    fn digits(text: &[u8]) -> Option<&[u8]> {
        let n = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (n > 0).then(|| &text[n..])
    }
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let whole = if let [b'0', rest @ ..] = unsigned { Some(rest) } else { digits(unsigned) };
    let fraction = whole.and_then(|rest| if let [b'.', rest @ ..] = rest { digits(rest) } else { Some(rest) });
    let rest = fraction.and_then(|rest| match rest {
        [b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..] => digits(rest),
        rest => Some(rest),
    });
    rest.is_some_and(<[u8]>::is_empty)
}

/// Appends a quoted and escaped string. Bytes that are not UTF-8 become U+FFFD, because JSON is UTF-8.
pub(crate) fn string(text: &[u8], out: &mut TextBuf) {
    if is_plain(text) {
        out.push(b"\"");
        out.push(text);
        return out.push(b"\"");
    }
    // Control characters, and bytes from 128 on, which are negative.
    if contains_any::<0, 0x20>(text) {
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(TextWriter(out), &String::from_utf8_lossy(text));
        return;
    }
    out.push(b"\"");
    let mut start = 0;
    for at in memchr2_iter(b'"', b'\\', text) {
        out.push(&text[start..at]);
        out.push(b"\\");
        start = at;
    }
    out.push(&text[start..]);
    out.push(b"\"");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_by_serde() {
        for byte in 0..=255 {
            for text in [&[byte][..], &[b'a', byte, byte, b'a'], &[&[b'a'; 20][..], &[byte, 0xC3, 0xA9]].concat()] {
                let mut out = TextBuf::new();
                string(text, &mut out);
                let expected = serde_json::to_string(&String::from_utf8_lossy(text)).unwrap();
                assert_eq!(String::from_utf8_lossy(out.as_bytes()), expected);
            }
        }
    }

    #[test]
    fn numbers_follow_the_grammar_of_json() {
        for text in [
            "0", "-0", "10", "1.5", "-1.25e-3", "2E+8", "0e0", "[1]", "[1, 2]", "[1,2,-3]", "00", "01", "1.", ".5",
            "-", "+1", "1e", "1e+", "0x1", "", "[]", "[", "]", "[,]", "[1,]", "[1, ]", "1 2", "nan", "[[1]]", "[1]]",
        ] {
            let value = serde_json::from_str::<serde_json::Value>(text);
            let expected = value.is_ok_and(|value| match value {
                serde_json::Value::Array(all) => !all.is_empty() && all.iter().all(serde_json::Value::is_number),
                value => value.is_number(),
            });
            assert_eq!(is_numbers(text.as_bytes()), expected, "{text:?}");
        }
        for text in [" 1", "1 ", "1\n", "[\n1]", "[1\n]"] {
            assert!(!is_numbers(text.as_bytes()), "{text:?}");
        }
    }
}
