//! Output formats of a report: aligned text for people, tables for programs.

use crate::json;
use crate::literal::{self, store};
use std::cmp::Reverse;
use tfbc_vm::{TextBuf, contains_any, first_equal};

/// Output format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// Aligned columns with a heading.
    #[default]
    Text,
    /// Values separated by tabs, after a line of names. Tab, newline and backslash in a value become `\t`, `\n`, `\\`.
    Tsv,
    /// Values separated by commas, after a line of names. Values are quoted by RFC 4180 if necessary; lines end in a
    /// newline.
    Csv,
    /// One JSON object per line, with the typed fields of the event.
    Ndjson,
}

impl Form {
    /// Separator between two values.
    pub(crate) fn separator(self) -> &'static [u8] {
        match self {
            Form::Text => b"  ",
            Form::Tsv => b"\t",
            Form::Csv | Form::Ndjson => b",",
        }
    }

    /// Separator of a table's values, which is one byte.
    #[inline]
    #[doc(hidden)]
    pub fn delimiter(self) -> [u8; 1] {
        if self == Form::Tsv { *b"\t" } else { *b"," }
    }

    /// Text after the last value of a line.
    pub(crate) fn line_end(self) -> &'static [u8] {
        b"\n"
    }

    /// Appends a value, escaped or quoted for the format.
    #[doc(hidden)]
    pub fn value(self, value: &[u8], out: &mut TextBuf) {
        let start = self.begin_value(out);
        if self.is_plain(value) {
            out.push(value);
            self.end_plain(out);
        } else {
            self.rewrite(value, start, out);
        }
    }

    /// Starts a value whose text the caller appends. Returns its offset, for [`Form::end_value`].
    #[inline]
    pub(crate) fn begin_value(self, out: &mut TextBuf) -> usize {
        if self == Form::Ndjson {
            out.push(b"\"");
        }
        out.len()
    }

    /// Ends the value that starts at `start`, and escapes it if necessary.
    #[inline]
    pub(crate) fn end_value(self, start: usize, out: &mut TextBuf) {
        if self.is_plain(&out.as_bytes()[start..]) {
            self.end_plain(out);
        } else {
            self.rewrite_end(start, out);
        }
    }

    #[inline(never)]
    fn rewrite_end(self, start: usize, out: &mut TextBuf) {
        let text = out.as_bytes()[start..].to_vec();
        self.rewrite(&text, start, out);
    }

    /// Ends the row of a table with its last value, whose text begins at `start` and ends in a newline.
    #[inline(never)]
    pub(crate) fn end_row(self, start: usize, out: &mut TextBuf) {
        let value = out.as_bytes().get(start..).and_then(|text| text.strip_suffix(b"\n"));
        if !value.is_some_and(|value| self.is_plain(value)) {
            return self.end_any_row(start, out);
        }
        self.end_plain_row(start, out);
    }

    /// [`Form::end_row`] for a text, which `is_plain` if it is one line that needs no escapes.
    #[inline(always)]
    pub(crate) fn end(self, start: usize, is_plain: bool, out: &mut TextBuf) {
        if is_plain { self.end_plain_row(start, out) } else { self.end_row(start, out) }
    }

    /// [`Form::end_row`] for a value that needs no escapes.
    #[inline(always)]
    fn end_plain_row(self, start: usize, out: &mut TextBuf) {
        debug_assert!(out.as_bytes()[start..].strip_suffix(b"\n").is_some_and(|value| self.is_plain(value)));
        if self == Form::Ndjson {
            out.truncate(out.len() - 1);
            out.put_columns(|room| {
                store(room, 0, *b"\"}\n ");
                3
            });
        }
    }

    #[inline(never)]
    fn end_any_row(self, start: usize, out: &mut TextBuf) {
        if out.as_bytes()[start..].ends_with(b"\n") {
            out.truncate(out.len() - 1);
        }
        self.end_value(start, out);
        out.push(if self == Form::Ndjson { b"}\n" } else { self.line_end() });
    }

    /// Ends a value that needs no escapes.
    #[inline]
    pub(crate) fn end_plain(self, out: &mut TextBuf) {
        if self == Form::Ndjson {
            out.push(b"\"");
        }
    }

    /// True if a value needs no escapes or quotes.
    #[inline(always)]
    pub(crate) fn is_plain(self, value: &[u8]) -> bool {
        match self {
            Form::Text => true,
            Form::Tsv => !contains_any::<{ u32::from_be_bytes(*b"\t\n\\\\") }, { i8::MIN }>(value),
            Form::Csv => !contains_any::<{ u32::from_be_bytes(*b",\"\r\n") }, { i8::MIN }>(value),
            Form::Ndjson => json::is_plain(value),
        }
    }

    /// Replaces the text from offset `start` to the end by the escaped or quoted value.
    fn rewrite(self, value: &[u8], start: usize, out: &mut TextBuf) {
        out.truncate(start);
        match self {
            Form::Text => out.push(value),
            Form::Tsv => escaped(value, out),
            Form::Csv => quoted(value, out),
            Form::Ndjson => {
                out.truncate(start - 1);
                json::string(value, out);
            }
        }
    }
}

/// Appends a value with the escapes of TSV.
fn escaped(value: &[u8], out: &mut TextBuf) {
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n' | b'\\')) {
        out.push(&rest[..at]);
        out.push(match rest[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            _ => b"\\\\",
        });
        rest = &rest[at + 1..];
    }
    out.push(rest);
}

/// Appends a value in the quotes of CSV.
fn quoted(value: &[u8], out: &mut TextBuf) {
    out.push(b"\"");
    for part in value.chunks(literal::MAX_START / 2) {
        let len = double_quotes(part, out.spare());
        out.advance(len);
    }
    out.push(b"\"");
}

/// Writes a text of at most half of [`literal::MAX_START`] bytes with each quote twice, and returns its length.
fn double_quotes(text: &[u8], room: &mut [u8; TextBuf::SPARE]) -> usize {
    let (mut at, mut rest) = (0, text);
    while !rest.is_empty() {
        let mut block = [b' '; 16];
        let n = rest.len().min(block.len());
        match rest.first_chunk() {
            Some(first) => block = *first,
            None => block[..n].copy_from_slice(rest),
        }
        store(room, literal::start(at), block);
        let quote = first_equal(&block, &[b'"'; 16]);
        let n = quote.map_or(n, |quote| quote + 1);
        (at, rest) = (at + n, rest.get(n..).unwrap_or_default());
        if quote.is_some() {
            store(room, literal::start(at), [b'"']);
            at += 1;
        }
    }
    at
}

/// Number of events of one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdCount {
    pub n: u64,
    /// Id as reports print it.
    pub id: String,
    pub label: Vec<u8>,
}

/// Writes counts in descending order; equal counts stay in their order.
pub(crate) fn write_counts(mut rows: Vec<IdCount>, form: Form, heading: bool, out: &mut TextBuf) {
    rows.sort_by_key(|row| Reverse(row.n));
    let width = rows.iter().map(|row| row.id.len()).max().unwrap_or(0).max(4);
    match form {
        Form::Text if heading => out.push(format!("{:>12}  {:<width$}  label\n", "count", "id").as_bytes()),
        Form::Tsv | Form::Csv if heading => {
            out.push([&b"count"[..], b"id", b"label"].join(form.separator()).as_slice());
            out.push(form.line_end());
        }
        _ => {}
    }
    for IdCount { n, id, label } in rows {
        match form {
            Form::Text => {
                out.push(format!("{n:>12}  {id:<width$}  ").as_bytes());
                out.push(&label);
            }
            Form::Tsv | Form::Csv => {
                out.dec(n);
                out.push(form.separator());
                form.value(id.as_bytes(), out);
                out.push(form.separator());
                form.value(&label, out);
            }
            Form::Ndjson => {
                out.push(format!("{{\"count\":{n},\"id\":").as_bytes());
                json::string(id.as_bytes(), out);
                out.push(b",\"label\":");
                json::string(&label, out);
                out.push(b"}");
            }
        }
        out.push(form.line_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_distinguished_in_every_form() {
        for (form, expected) in
            [(Form::Tsv, "a\\tb\\n\\\\,\""), (Form::Csv, "\"a\tb\n\\,\"\"\""), (Form::Ndjson, r#""a\tb\n\\,\"""#)]
        {
            let mut out = TextBuf::new();
            form.value(b"a\tb\n\\,\"", &mut out);
            assert_eq!(String::from_utf8_lossy(out.as_bytes()), expected, "{form:?}");
        }
    }

    #[test]
    fn quotes_of_csv_are_doubled_at_any_place() {
        for (len, step) in [(1, 1), (15, 3), (16, 15), (17, 16), (255, 1), (256, 5), (1000, 1), (1001, 7)] {
            let value: String = (0..len).map(|at| if at % step == 0 { '"' } else { 'x' }).collect();
            let mut out = TextBuf::new();
            Form::Csv.value(value.as_bytes(), &mut out);
            let expected = format!("\"{}\"", value.replace('"', "\"\""));
            assert_eq!(String::from_utf8_lossy(out.as_bytes()), expected, "{len} {step}");
        }
    }

    #[test]
    fn values_written_in_place_are_equal() {
        for form in [Form::Text, Form::Tsv, Form::Csv, Form::Ndjson] {
            for len in 0..40 {
                for (at, byte) in (0..=len).flat_map(|at| b"a\t\n\r\\\",\x7f\xff".map(|byte| (at, byte))) {
                    let mut value = vec![b'x'; len];
                    value.iter_mut().skip(at).step_by(7).for_each(|there| *there = byte);
                    let (mut out, mut expected) = (TextBuf::new(), TextBuf::new());
                    out.push(b"\"\n");
                    expected.push(b"\"\n");
                    let start = form.begin_value(&mut out);
                    out.push(&value);
                    form.end_value(start, &mut out);
                    form.value(&value, &mut expected);
                    assert_eq!(out.as_bytes(), expected.as_bytes(), "{form:?}");
                }
            }
        }
    }

    #[test]
    fn values_are_plain_unless_a_byte_needs_an_escape() {
        for byte in 0..=255 {
            for text in [&[b'a', byte, b'a'][..], &[[b'a'; 20], [byte; 20]].concat()] {
                let special: [&[u8]; 3] = [b"\t\n\\", b",\"\r\n", b"\"\\"];
                let is_json = (b' '..0x7F).contains(&byte);
                assert_eq!(Form::Tsv.is_plain(text), !special[0].contains(&byte), "{byte}");
                assert_eq!(Form::Csv.is_plain(text), !special[1].contains(&byte), "{byte}");
                assert_eq!(Form::Ndjson.is_plain(text), is_json && !special[2].contains(&byte), "{byte}");
            }
        }
    }

    #[test]
    fn counts_begin_with_the_most_frequent() {
        let row = |n, id: &str| IdCount { n, id: id.to_owned(), label: b"L".to_vec() };
        let mut out = TextBuf::new();
        write_counts(vec![row(2, "010"), row(9, "15B"), row(2, "F5F1")], Form::Tsv, true, &mut out);
        let expected = "count\tid\tlabel\n9\t15B\tL\n2\t010\tL\n2\tF5F1\tL\n";
        assert_eq!(String::from_utf8_lossy(out.as_bytes()), expected);
    }
}
