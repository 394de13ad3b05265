//! Builds the stanza of a [`hook!`](crate::hook!) at compile time.

/// Maximum bytes of a stanza.
const MAX: usize = 2048;

/// Argument of a hook.
#[derive(Debug)]
pub struct HookArg {
    /// Name of the argument.
    pub name: &'static str,
    /// Text from the author that prints it.
    pub text: Option<&'static str>,
    /// Format code for its type.
    pub code: &'static str,
    /// True if it is bytes.
    pub is_bytes: bool,
}

/// Text built at compile time.
#[derive(Debug)]
pub struct StaticText {
    bytes: [u8; MAX],
    len: usize,
}

impl StaticText {
    const fn new() -> Self {
        Self { bytes: [0; MAX], len: 0 }
    }

    /// The text as a string.
    pub const fn as_str(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => panic!("a stanza is made of whole texts"),
        }
    }

    const fn push(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        assert!(self.len + bytes.len() <= MAX, "the stanza has more than 2048 bytes");
        let mut at = 0;
        while at < bytes.len() {
            self.bytes[self.len + at] = bytes[at];
            at += 1;
        }
        self.len += bytes.len();
        self
    }

    /// Appends a blank and a string; nothing for an empty string.
    const fn string(self, text: &str) -> Self {
        if text.is_empty() { self } else { self.push(" ").quoted(text) }
    }

    const fn quoted(self, text: &str) -> Self {
        assert!(find(text, b'"').is_none(), "a text of a stanza cannot hold a quote");
        self.push("\"").push(text).push("\"")
    }

    /// Appends hexadecimal digits.
    const fn hex(mut self, number: u16, n_digits: u32) -> Self {
        let mut left = n_digits;
        while left > 0 {
            left -= 1;
            let digit = (number >> (4 * left) & 15) as usize;
            self = self.push("0123456789ABCDEF".split_at(digit).1.split_at(1).0);
        }
        self
    }

    /// Appends a field's text with its value inserted.
    const fn field(self, field: &HookArg, number: usize) -> Self {
        let Some(text) = field.text else {
            return self.push(" \"").push(field.name).push("=\"").value(field, number, field.code);
        };
        let Some(at) = find(text, b'%') else { return self.string(text).value(field, number, field.code) };
        let (before, rest) = text.split_at(at);
        let rest = rest.split_at(1).1;
        let (code, after) = rest.split_at(code_len(rest));
        self.string(before).value(field, number, code).string(after)
    }

    const fn value(self, field: &HookArg, number: usize, code: &str) -> Self {
        if !field.is_bytes {
            return self.push(" $D").push("12345".split_at(number).1.split_at(1).0).push("%").push(code);
        }
        match code.as_bytes()[0] {
            b'S' => self.push(" W2 $HL%S8"),
            b'X' => self.push(" W2 LOOP $HL { X0 }"),
            _ => panic!("bytes are shown by `%S` as a text or by `%X` in hexadecimal"),
        }
    }
}

/// Converts a hook number to its 16-bit id: `0x010` becomes `0100`.
pub const fn id(number: u16) -> u16 {
    assert!(number >= 0x010, "ids below 010 are reserved");
    if number < 0x1000 { number << 4 } else { number }
}

/// Builds the stanza of a hook.
pub const fn stanza(id: u16, level: &str, label: &str, fields: &[HookArg], descriptor: Option<&str>) -> StaticText {
    check(fields);
    let n_digits = if id < 0x1000 { 3 } else { 4 };
    let text = StaticText::new().hex(id, n_digits).push(" 1.0 L=").push(level).push(" ").quoted(label);
    if let Some(descriptor) = descriptor {
        return text.push(" ").push(descriptor);
    }
    let (mut text, mut at) = (text, 0);
    while at < fields.len() {
        text = text.field(&fields[at], at);
        at += 1;
    }
    text
}

const fn check(fields: &[HookArg]) {
    assert!(fields.len() <= 5, "a hook has at most five arguments");
    let mut at = 0;
    while at < fields.len() {
        let is_last = at + 1 == fields.len();
        assert!(is_last || !fields[at].is_bytes, "bytes are a hook's last argument");
        assert!(at < 2 || !fields[at].is_bytes, "a hook with bytes has at most one argument before them");
        at += 1;
    }
}

const fn find(text: &str, byte: u8) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        if text.as_bytes()[at] == byte {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Length of the format code at the start of a text: a letter and a size.
const fn code_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    assert!(!bytes.is_empty(), "`%` is followed by a format code, such as `%U4`");
    let is_code = matches!(bytes[0], b'A' | b'B' | b'D' | b'E' | b'F' | b'P' | b'S' | b'T' | b'U' | b'X' | b'W' | b'o');
    assert!(is_code, "`%` is followed by a format code, such as `%U4`");
    let mut len = 1;
    while len < bytes.len() && (bytes[len].is_ascii_digit() || bytes[len] == b'.' || bytes[len] == b'W') {
        len += 1;
    }
    len
}
