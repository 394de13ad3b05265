//! Values as JSON.

use crate::forms::any_byte;
use std::io::Write;
use tfbc_vm::TextBuf;

/// Bytes written into a text.
pub(crate) struct Into<'t>(pub &'t mut TextBuf);

impl Write for Into<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether a text stands in a string as it is.
#[inline]
pub(crate) fn is_plain(text: &[u8]) -> bool {
    !any_byte(text, |byte| !(b' '..=b'~').contains(&byte) | (byte == b'"') | (byte == b'\\'))
}

/// A string in quotes. JSON is UTF-8: bytes that are not become U+FFFD.
pub(crate) fn string(text: &[u8], out: &mut TextBuf) {
    if is_plain(text) {
        out.push(b"\"");
        out.push(text);
        return out.push(b"\"");
    }
    // Writing into memory does not fail.
    let _ = serde_json::to_writer(Into(out), &String::from_utf8_lossy(text));
}
