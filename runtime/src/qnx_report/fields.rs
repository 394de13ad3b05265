//! Typed fields of kernel events: the arguments of a record by name.

use crate::events::{Argument, ArgumentName, ArgumentValue, Arguments, EventColumns, WORDS, text_of_words};
use crate::fields::{Field, FieldValue};
use crate::json;
use tfbc_vm::{TextBuf, num};

/// Fields of one record in the order of its argument list; equal names are numbered.
pub(super) struct RecordFields<'r> {
    arguments: Arguments<'r>,
    /// Names of the fields so far. Words without a name need no check, because their names contain their index.
    met: Vec<&'static str>,
}

/// One field.
pub(super) struct RecordField<'r> {
    name: ArgumentName,
    /// Number of earlier fields with the name.
    n_before: usize,
    value: ArgumentValue<'r>,
}

impl<'r> RecordFields<'r> {
    pub fn new(arguments: Arguments<'r>) -> Self {
        Self { arguments, met: Vec::new() }
    }

    /// The field with a name, such as `pid`, `empty_2` or `w3`.
    pub fn find(mut self, wanted: &str) -> Option<RecordField<'r>> {
        Iterator::find(&mut self, |field| field.is_called(wanted))
    }
}

impl<'r> Iterator for RecordFields<'r> {
    type Item = RecordField<'r>;

    fn next(&mut self) -> Option<RecordField<'r>> {
        let Argument { name, value, .. } = self.arguments.next()?;
        let mut n_before = 0;
        if let ArgumentName::Listed(name) = name {
            n_before = self.met.iter().filter(|met| **met == name).count();
            self.met.push(name);
        }
        Some(RecordField { name, n_before, value })
    }
}

impl RecordField<'_> {
    /// True if the field has this name, such as `pid`, `empty_2` or `w3`.
    fn is_called(&self, wanted: &str) -> bool {
        let number = |text: &str| text.parse().ok().filter(|number: &usize| number.to_string() == text);
        match self.name {
            ArgumentName::Word(at) => wanted.strip_prefix('w').and_then(number) == Some(at),
            ArgumentName::Listed(name) => match wanted.strip_prefix(name) {
                Some("") => self.n_before == 0,
                Some(rest) => self.n_before > 0 && rest.strip_prefix('_').and_then(number) == Some(self.n_before + 1),
                None => false,
            },
        }
    }

    fn push_name(&self, out: &mut TextBuf) {
        match self.name {
            ArgumentName::Listed(name) => out.push(name.as_bytes()),
            ArgumentName::Word(at) => {
                out.push(b"w");
                out.dec(at as u64);
            }
        }
        if self.n_before > 0 {
            out.push(b"_");
            out.dec(self.n_before as u64 + 1);
        }
    }

    /// Appends the shown text.
    pub fn push_text(&self, out: &mut TextBuf) {
        match self.value {
            ArgumentValue::Decimal(value) => push_int(value.into(), out),
            ArgumentValue::Decimal64(value) => push_int(value, out),
            ArgumentValue::Hex(value) => {
                out.push(b"0x");
                push_number(out, |room| num::hex_low(room, 0, value.into(), 8));
            }
            ArgumentValue::Hex64(value) => {
                out.push(b"0x");
                push_number(out, |room| num::hex_low(room, 0, value, 16));
            }
            ArgumentValue::Pointer(value) => push_number(out, |room| num::hex_min(room, 0, value.into())),
            ArgumentValue::Text(words) => text_of_words(words).for_each(|part| out.push(part)),
            ArgumentValue::Name(name) => push_escaped(name, out),
        }
    }

    /// Appends the raw value as JSON: a number or a string.
    pub fn push_raw(&self, out: &mut TextBuf) {
        push_raw(self.value, out);
    }

    /// Appends `{"name":"pid","raw":1,"text":"1"}`.
    pub fn push_object(&self, scratch: &mut TextBuf, out: &mut TextBuf) {
        // Names of the built-in tables contain no characters that JSON escapes.
        out.push(b"{\"name\":\"");
        self.push_name(out);
        out.push(b"\",\"raw\":");
        self.push_raw(out);
        if matches!(self.value, ArgumentValue::Text(_) | ArgumentValue::Name(_)) {
            scratch.clear();
            self.push_text(scratch);
            out.push(b",\"text\":");
            json::string(scratch.as_bytes(), out);
            out.push(b"}");
        } else {
            out.push(b",\"text\":\"");
            self.push_text(out);
            out.push(b"\"}");
        }
    }
}

/// Appends the arguments as members of a JSON object.
pub(super) fn push_members(columns: &EventColumns, arguments: Arguments<'_>, out: &mut TextBuf) {
    let mut n_words = 0;
    for (at, (column, value)) in columns.values(arguments).enumerate() {
        match column {
            Some(column) => {
                out.push(if at > 0 { b",\"" } else { b"\"" });
                out.push(columns.name(column).as_bytes());
                out.push(b"\":");
            }
            None => {
                out.push(if at == 0 || n_words > 0 { b"" } else { b"," });
                out.push(if n_words == 0 { b"\"words\":[" } else { b"," });
                n_words += 1;
            }
        }
        push_json(value, out);
    }
    out.push(if n_words > 0 { b"]" } else { b"" });
}

/// Arguments as fields with the names of columns.
pub(super) fn named(columns: &EventColumns, arguments: Arguments<'_>) -> Vec<Field> {
    let (mut found, mut words) = (Vec::new(), Vec::new());
    let text = |value: &FieldValue| match value {
        FieldValue::Text(text) => text.clone(),
        FieldValue::Integer(number) => number.to_string(),
        _ => String::new(),
    };
    for (column, value) in columns.values(arguments) {
        let value = self::value(value);
        match column {
            Some(column) => found.push(Field { name: columns.name(column).into(), text: text(&value), value }),
            None => words.push(value),
        }
    }
    if !words.is_empty() {
        let text = format!("[{}]", words.iter().map(text).collect::<Vec<_>>().join(","));
        found.push(Field { name: WORDS.into(), value: FieldValue::List(words), text });
    }
    found
}

/// Value of the argument that [`named`] gives a name.
pub(super) fn find_named(columns: &EventColumns, arguments: Arguments<'_>, name: &str) -> Option<FieldValue> {
    let mut words = Vec::new();
    for (column, value) in columns.values(arguments) {
        match column {
            Some(column) if columns.name(column) == name => return Some(self::value(value)),
            None if name == WORDS => words.push(self::value(value)),
            _ => {}
        }
    }
    (!words.is_empty()).then_some(FieldValue::List(words))
}

fn value(value: ArgumentValue<'_>) -> FieldValue {
    match value {
        ArgumentValue::Decimal(value) => FieldValue::Integer(value.into()),
        ArgumentValue::Decimal64(value) => FieldValue::Integer(value.into()),
        ArgumentValue::Hex(value) | ArgumentValue::Pointer(value) => FieldValue::Integer(value.into()),
        ArgumentValue::Hex64(value) => FieldValue::Integer(value.into()),
        ArgumentValue::Text(words) => {
            FieldValue::Text(String::from_utf8_lossy(&text_of_words(words).collect::<Vec<_>>().concat()).into_owned())
        }
        ArgumentValue::Name(name) => FieldValue::Text(String::from_utf8_lossy(name).into_owned()),
    }
}

fn push_raw(value: ArgumentValue<'_>, out: &mut TextBuf) {
    match value {
        ArgumentValue::Decimal(value) => push_int(value.into(), out),
        ArgumentValue::Decimal64(value) => push_int(value, out),
        ArgumentValue::Hex(value) | ArgumentValue::Pointer(value) => out.dec(value.into()),
        ArgumentValue::Hex64(value) => out.dec(value),
        ArgumentValue::Text(words) => json::string(&text_of_words(words).collect::<Vec<_>>().concat(), out),
        ArgumentValue::Name(name) => json::string(name, out),
    }
}

/// Appends a value as in the object of fields: numbers above 2^53 are strings.
fn push_json(value: ArgumentValue<'_>, out: &mut TextBuf) {
    match value {
        ArgumentValue::Hex64(value) => json::push_unsigned(value, out),
        value => push_raw(value, out),
    }
}

fn push_number(out: &mut TextBuf, write: impl FnOnce(&mut [u8]) -> usize) {
    let n = write(out.spare());
    out.advance(n);
}

fn push_int(value: i64, out: &mut TextBuf) {
    push_number(out, |room| num::int(room, 0, value as u64));
}

/// Appends a text with its control bytes escaped, as event definitions show texts.
pub(super) fn push_escaped(text: &[u8], out: &mut TextBuf) {
    let mut plain = 0;
    for (at, byte) in text.iter().enumerate() {
        if !byte.is_ascii_control() {
            continue;
        }
        out.push(&text[plain..at]);
        match byte {
            b'\t' => out.push(b"\\t"),
            b'\n' => out.push(b"\\n"),
            b'\r' => out.push(b"\\r"),
            _ => out.push(format!("\\x{byte:02x}").as_bytes()),
        }
        plain = at + 1;
    }
    out.push(&text[plain..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::BuiltInEvents;
    use crate::reader::kev::KevRecord;
    use crate::reader::kev::QnxRelease;

    fn fields(release: QnxRelease, class: u8, event: u16, words: &[u32]) -> String {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (wide, bytes) = (words.len() > 2, &bytes[..]);
        let record = KevRecord { number: 1, offset: 0, class, event, cpu: 0, wide, stamp: 0, msb: None, bytes };
        let (mut scratch, mut out) = (TextBuf::new(), TextBuf::new());
        for field in RecordFields::new(BuiltInEvents::of(Some(release), false).arguments(&record)) {
            field.push_object(&mut scratch, &mut out);
        }
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    #[test]
    fn every_letter_has_its_type() {
        let text = u32::from_le_bytes(*b"ping");
        let cases: [(u8, u16, &[u32], &str); 5] = [
            (4, 24, &[u32::MAX, 2], r#"{"name":"pid","raw":-1,"text":"-1"}{"name":"tid","raw":2,"text":"2"}"#),
            (7, 1, &[1, 2], r#"{"name":"scoid","raw":1,"text":"0x00000001"}{"name":"pid","raw":2,"text":"2"}"#),
            (
                2,
                82,
                &[0x8048a10, 0x10],
                r#"{"name":"sync_p","raw":134515216,"text":"8048a10"}{"name":"mutex_p","raw":16,"text":"10"}"#,
            ),
            (
                2,
                11,
                &[1, text],
                r#"{"name":"coid","raw":1,"text":"0x00000001"}{"name":"msg","raw":"ping","text":"ping"}"#,
            ),
            (
                6,
                9,
                &[0x6968, 0],
                r#"{"name":"d0","raw":26984,"text":"0x00006968"}{"name":"d1","raw":0,"text":"0x00000000"}"#,
            ),
        ];
        for (class, event, words, expected) in cases {
            assert_eq!(fields(QnxRelease { major: 6, minor: 4 }, class, event, words), expected);
        }
    }

    #[test]
    fn names_that_come_again_are_numbered() {
        let text = fields(QnxRelease { major: 8, minor: 0 }, 1, 4, &[1, 2]);
        assert_eq!(
            text,
            r#"{"name":"cookie","raw":1,"text":"0x00000001"}{"name":"cookie_2","raw":2,"text":"0x00000002"}"#
        );
    }

    #[test]
    fn control_bytes_are_escaped() {
        let mut out = TextBuf::new();
        push_escaped("a\tb\n\r\x1b\x7f\u{e9}".as_bytes(), &mut out);
        assert_eq!(out.as_bytes(), "a\\tb\\n\\r\\x1b\\x7f\u{e9}".as_bytes());
    }
}
