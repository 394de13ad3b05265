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
    // As signed bytes, those from 128 on are negative.
    !contains_any::<{ u32::from_be_bytes(*b"\"\\\x7F\x7F") }, 0x20>(text)
}

/// Largest number that every reader of JSON represents exactly.
pub(crate) const MAX_EXACT: u64 = 1 << 53;

/// Appends an unsigned number of 64 bits: as a string if readers would round it.
pub(crate) fn push_unsigned(number: u64, out: &mut TextBuf) {
    let quote: &[u8] = if number > MAX_EXACT { b"\"" } else { b"" };
    out.push(quote);
    out.dec(number);
    out.push(quote);
}

/// Appends a quoted and escaped string. Bytes that are not UTF-8 become U+FFFD, because JSON is UTF-8.
pub(crate) fn string(text: &[u8], out: &mut TextBuf) {
    if is_plain(text) {
        out.push(b"\"");
        out.push(text);
        return out.push(b"\"");
    }
    // Control characters, and bytes from 128 on, which are negative as signed bytes.
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
}
