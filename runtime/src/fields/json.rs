//! Rows and schemas as JSON.

use crate::json::{MAX_EXACT, TextWriter, push_unsigned, string};
use crate::literal::{self, Literal, MAX_START, store};
use crate::time_zone::utc;
use std::io::Write;
use tfbc_vm::{
    COLUMNS, CellValue, Cells, FieldKind, FlagName, FlatFields, FlatFlags, FlatNumber, FlatWord, Hint, Labels, Row,
    Schema, SchemaField, Shape, TextBuf, num,
};

/// Appends the non-null fields of a row as an object.
pub fn write_row(schema: &Schema, row: &Row, out: &mut TextBuf) {
    write_cells(&schema.fields, row.cells(), out);
}

fn write_cells(fields: &[SchemaField], cells: Cells<'_>, out: &mut TextBuf) {
    out.push(b"{");
    write_members(fields, cells, &mut true, out);
    out.push(b"}");
}

/// Appends the non-null fields of a row to an object. `is_first` is true if the object is still empty.
pub(crate) fn write_members(fields: &[SchemaField], cells: Cells<'_>, is_first: &mut bool, out: &mut TextBuf) {
    let mut key = |name: &str, out: &mut TextBuf| {
        out.push(if std::mem::take(is_first) { b"\"" } else { b",\"" });
        out.push(name.as_bytes());
        out.push(b"\":");
    };
    for field in fields {
        let value = cells.get(field.cell);
        if matches!(value, CellValue::Null) {
            continue;
        }
        key(&field.name, out);
        write_value(&field.shape, value, out);
        if let Some(labels) = &field.labels {
            let value = cells.get(labels.cell);
            if !matches!(value, CellValue::Null) {
                key(&labels.name, out);
                write_label(labels, value, out);
            }
        }
    }
}

/// Parts of a field's JSON that are equal in all events.
#[derive(Debug)]
pub(super) struct FieldKeys {
    /// `,"name":`
    key: JsonKey,
    /// Key and words of the field's label.
    label: Option<(JsonKey, Vec<Box<[u8]>>)>,
}

/// Key of an object, with the comma before it.
#[derive(Debug)]
struct JsonKey {
    text: Box<[u8]>,
    /// The text, if it is short.
    literal: Option<Literal>,
}

impl JsonKey {
    fn new(name: &str) -> Self {
        let text: Box<[u8]> = format!(",\"{name}\":").into_bytes().into();
        let literal = Literal::fitting(&text);
        Self { text, literal }
    }

    /// Appends the key after a comma or brace. Returns room for a short value, which begins after a part of the key.
    #[inline(always)]
    fn push<'t>(&self, before: u8, out: &'t mut TextBuf) -> (&'t mut [u8; TextBuf::SPARE], usize) {
        if let Some(literal) = &self.literal {
            let room = out.spare();
            let at = literal.put(room, 0);
            room[0] = before;
            return (room, at);
        }
        out.push(&[before]);
        out.push(&self.text[1..]);
        (out.spare(), 0)
    }
}

impl FieldKeys {
    pub fn new(field: &SchemaField) -> Self {
        let word = |text: &String| json_text(text.as_bytes()).into();
        let label = field.labels.as_ref();
        Self {
            key: JsonKey::new(&field.name),
            label: label.map(|labels| (JsonKey::new(&labels.name), labels.texts.iter().map(word).collect())),
        }
    }
}

/// [`write_row`] with prepared keys.
pub(super) fn write_prepared(schema: &Schema, keys: &[FieldKeys], row: &Row, out: &mut TextBuf) {
    let (cells, mut before) = (row.cells(), b'{');
    for (field, keys) in schema.fields.iter().zip(keys) {
        let value = cells.get(field.cell);
        if matches!(value, CellValue::Null) {
            continue;
        }
        let (room, at) = keys.key.push(std::mem::replace(&mut before, b','), out);
        let end = match value {
            CellValue::Number(number) => write_integer(field.shape.kind, number, room, at),
            _ => at,
        };
        out.advance(end);
        if end == at {
            write_value(&field.shape, value, out);
        }
        let (Some(labels), Some((key, words))) = (&field.labels, &keys.label) else { continue };
        let value = cells.get(labels.cell);
        if matches!(value, CellValue::Null) {
            continue;
        }
        let (_, at) = key.push(b',', out);
        out.advance(at);
        match value {
            CellValue::Label(word) if (word as usize) < words.len() => out.push(&words[word as usize]),
            _ => write_label(labels, value, out),
        }
    }
    out.push(if before == b'{' { b"{}" } else { b"}" });
}

/// Writes an integer at an offset and returns its end. Writes nothing for values of other kinds.
#[inline(always)]
fn write_integer(kind: FieldKind, number: u64, room: &mut [u8], at: usize) -> usize {
    match kind {
        FieldKind::Int64 => num::int(room, at, number),
        FieldKind::UInt64 => write_unsigned(number, room, at),
        _ => at,
    }
}

/// Writes an unsigned number at an offset and returns its end. Readers would round a large one, so it is a string.
#[inline(always)]
fn write_unsigned(number: u64, room: &mut [u8], at: usize) -> usize {
    // Tested first, because most numbers are short.
    if number < 100_000_000 {
        return num::dec(room, at, number);
    }
    if number <= MAX_EXACT {
        return num::dec(room, at, number);
    }
    let text = room.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
    at + text.map_or(0, |text| num::quoted(text, number))
}

/// Integers and their labels, which can be read without the machine.
#[derive(Debug)]
pub(super) struct FlatRow<'r> {
    source: FlatFields<'r>,
    first: Vec<FlatItem>,
    /// Further items, in parts for which a room is long enough.
    more: Vec<Vec<FlatItem>>,
    /// Length in bytes from which [`FlatRow::replace_newline`] writes the fields of an event.
    line_need: usize,
    /// End of the object, `}` or `{}`, and its length.
    end: ([u8; 2], u8),
}

/// Member of an object.
#[derive(Debug)]
struct FlatItem {
    /// Key with the brace or comma before it.
    key: Literal,
    value: FlatValue,
}

#[derive(Debug)]
enum FlatValue {
    /// Number of at most 32 bits that is never negative.
    Short(FlatNumber),
    /// Unsigned number of 64 bits.
    Word64(FlatNumber),
    Int(FlatNumber),
    UInt(FlatNumber),
    /// Name of a number, and the names as JSON. There is no member if the number has no name.
    Word(Box<(FlatWord, Vec<Vec<Literal>>)>),
    /// Names of the bits of a number.
    Flags(Box<(FlatFlags, Vec<FlagTexts>)>),
    /// Names of single bits of a number in ascending order, with a comma after each.
    Bits(Box<BitTexts>),
}

/// Names of single bits.
#[derive(Debug)]
struct BitTexts {
    flags: FlatFlags,
    /// Bits that have a name.
    known: u64,
    /// Names by bit.
    texts: Vec<Literal>,
}

/// Names of bits as JSON with a comma after each, or nothing.
#[derive(Debug)]
struct FlagTexts {
    mask: u64,
    value: u64,
    name: Literal,
    other: Literal,
}

/// Maximum size of an integer, or the name of an error, in quotes.
const MAX_VALUE: usize = 22;

impl<'r> FlatRow<'r> {
    /// Returns `None` if the row has other values than integers and their labels, or if one of them is long.
    pub fn new(source: FlatFields<'r>, schema: &Schema) -> Option<Self> {
        let mut items = Vec::new();
        let mut add = |name: &str, value: FlatValue| {
            let before: &[u8] = if items.is_empty() { b"{" } else { b"," };
            let key = Literal::fitting(&[before, &JsonKey::new(name).text[1..]].concat())?;
            items.push(FlatItem { key, value });
            Some(())
        };
        for field in &schema.fields {
            let is_label = |cell| source.word(cell).is_some() || source.flags(cell).is_some();
            if is_label(field.cell) || field.labels.as_ref().is_some_and(|labels| source.number(labels.cell).is_some())
            {
                return None;
            }
            // A field that no instruction stores is null, and so is its label.
            let Some(number) = source.number(field.cell) else { continue };
            let value = match field.shape.kind {
                FieldKind::Int64 | FieldKind::UInt64 if number.is_u32() => FlatValue::Short(number),
                FieldKind::Int64 => FlatValue::Int(number),
                FieldKind::UInt64 if number.is_u64() => FlatValue::Word64(number),
                FieldKind::UInt64 => FlatValue::UInt(number),
                _ => return None,
            };
            add(&field.name, value)?;
            let Some(labels) = &field.labels else { continue };
            if let Some(word) = source.word(labels.cell) {
                let texts = labels.texts.iter().map(|text| Literal::all(&json_text(text.as_bytes())).collect());
                add(&labels.name, FlatValue::Word(Box::new((word, texts.collect()))))?;
            } else if let Some(flags) = source.flags(labels.cell) {
                let texts: Option<_> = source.flag_names(flags).map(FlagTexts::new).collect();
                add(&labels.name, FlatValue::of_flags(flags, texts?))?;
            }
        }
        let end = if items.is_empty() { (*b"{}", 2) } else { ([b'}', 0], 1) };
        // Every part has room for the texts around the object, too. The end of a long item is the end of its part.
        let max_end = MAX_START - 3 * Literal::MAX;
        let (mut first, mut more, mut end_of_part) = (Vec::new(), Vec::new(), 0);
        for item in items {
            let len = item.max_len();
            if len > COLUMNS - 4 * Literal::MAX {
                return None;
            }
            if end_of_part > 0 && end_of_part + len > max_end {
                more.push(Vec::new());
                end_of_part = 0;
            }
            end_of_part += len;
            more.last_mut().unwrap_or(&mut first).push(item);
        }
        if end_of_part > max_end {
            more.push(Vec::new());
        }
        let line_need = if more.is_empty() { source.need() } else { usize::MAX };
        Some(Self { source, first, more, line_need, end })
    }

    /// True if the event contains all fields.
    #[inline(always)]
    pub fn fit(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.source.need()
    }

    /// Appends the fields of an event that contains all of them as an object between two texts.
    #[inline(always)]
    pub fn write<const N: usize, const M: usize>(
        &self,
        bytes: &[u8],
        before: &[u8; N],
        after: &[u8; M],
        out: &mut TextBuf,
    ) {
        if !self.more.is_empty() {
            return self.write_parts(bytes, before, after, out);
        }
        out.put_columns(
            #[inline(always)]
            |room| self.put_object(bytes, before, after, room),
        );
    }

    /// Replaces the newline at the end of a text by the fields of an event between two texts. Returns false if the event
    /// may not contain all of them, or if the row refuses.
    #[inline(always)]
    pub fn replace_newline<const N: usize, const M: usize>(
        &self,
        bytes: &[u8],
        before: &[u8; N],
        after: &[u8; M],
        out: &mut TextBuf,
    ) -> bool {
        if bytes.len() < self.line_need {
            return false;
        }
        out.replace_last(
            #[inline(always)]
            |room| self.put_object(bytes, before, after, room),
        );
        true
    }

    /// Makes [`FlatRow::replace_newline`] refuse all events.
    pub fn refuse_newlines(&mut self) {
        self.line_need = usize::MAX;
    }

    /// Writes the object between two texts, and returns the end.
    #[inline(always)]
    fn put_object<const N: usize, const M: usize>(
        &self,
        bytes: &[u8],
        before: &[u8; N],
        after: &[u8; M],
        room: &mut [u8; COLUMNS],
    ) -> usize {
        const { assert!(N <= Literal::MAX && M <= Literal::MAX) };
        store(room, 0, *before);
        let at = self.put(&self.first, bytes, room, N);
        let (end, len) = self.end;
        store(room, literal::start(at), end);
        let at = literal::start(at + usize::from(len & 3));
        store(room, at, *after);
        at + M
    }

    #[inline(never)]
    fn write_parts(&self, bytes: &[u8], before: &[u8], after: &[u8], out: &mut TextBuf) {
        out.push(before);
        for items in std::iter::once(&self.first).chain(&self.more) {
            out.put_columns(|room| self.put(items, bytes, room, 0));
        }
        out.push(b"}");
        out.push(after);
    }

    /// Writes members at an offset and returns their end.
    #[inline(always)]
    fn put(&self, items: &[FlatItem], bytes: &[u8], room: &mut [u8; COLUMNS], at: usize) -> usize {
        // Not `fold`, which would become a call.
        let mut end = at;
        for item in items {
            end = item.put(&self.source, bytes, room, end);
        }
        end
    }
}

impl FlatItem {
    /// Maximum length of the key and the value.
    fn max_len(&self) -> usize {
        let value = match &self.value {
            FlatValue::Short(_) | FlatValue::Word64(_) | FlatValue::Int(_) | FlatValue::UInt(_) => MAX_VALUE,
            FlatValue::Word(word) => {
                let len = |word: &Vec<Literal>| word.iter().map(Literal::len).sum();
                word.1.iter().map(len).max().unwrap_or(0).max(MAX_VALUE)
            }
            FlatValue::Flags(flags) => {
                2 + flags.1.iter().map(|text| text.name.len().max(text.other.len())).sum::<usize>()
            }
            FlatValue::Bits(bits) => 2 + bits.texts.iter().map(Literal::len).sum::<usize>(),
        };
        self.key.len() + value
    }

    /// Writes the member at an offset and returns its end.
    #[inline(always)]
    fn put(&self, source: &FlatFields<'_>, bytes: &[u8], room: &mut [u8; COLUMNS], at: usize) -> usize {
        let start = self.key.put(room, literal::start(at));
        match &self.value {
            FlatValue::Short(number) => num::dec32(room, start, number.read_u32(bytes)),
            FlatValue::Word64(number) => write_unsigned(number.read_u64(bytes), room, start),
            FlatValue::Int(number) => num::int(room, start, number.read(bytes)),
            FlatValue::UInt(number) => write_unsigned(number.read(bytes), room, start),
            FlatValue::Word(word) => match source.read_word(word.0, bytes) {
                CellValue::Label(label) => {
                    let word = word.1.get(label as usize).map_or(&[][..], Vec::as_slice);
                    word.iter().fold(start, |at, part| part.put(room, at))
                }
                CellValue::Bytes(name) => put_name(name, room, start),
                _ => at,
            },
            FlatValue::Flags(flags) => put_flags(flags.0.read(bytes), &flags.1, room, start),
            FlatValue::Bits(bits) => bits.put(bits.flags.read(bytes), room, start),
        }
    }
}

/// Writes the name of an error and returns its end.
fn put_name(name: &[u8], room: &mut [u8; COLUMNS], at: usize) -> usize {
    store(room, at, [b'"']);
    if let Some(room) = room.get_mut(at + 1..at + 1 + name.len()) {
        room.copy_from_slice(name);
    }
    store(room, at + 1 + name.len(), [b'"']);
    at + name.len() + 2
}

/// Writes the list of the names of bits and returns its end.
fn put_flags(number: u64, texts: &[FlagTexts], room: &mut [u8; COLUMNS], at: usize) -> usize {
    store(room, at, [b'[']);
    let end = texts.iter().fold(at + 1, |at, FlagTexts { mask, value, name, other }| {
        let text = if number & mask == *value { name } else { other };
        text.put(room, at)
    });
    end_list(at, end, room)
}

/// Ends a list whose items have a comma after each, and returns its end.
#[inline(always)]
fn end_list(start: usize, end: usize, room: &mut [u8; COLUMNS]) -> usize {
    // The closing bracket replaces the last comma.
    let end = end.max(start + 2);
    store(room, end - 1, [b']']);
    end
}

impl FlatValue {
    /// Names of bits, without a test of every name if they are single bits.
    fn of_flags(flags: FlatFlags, texts: Vec<FlagTexts>) -> Self {
        let mut bits = BitTexts { flags, known: 0, texts: Vec::new() };
        for FlagTexts { mask, value, name, other } in &texts {
            if !mask.is_power_of_two() || mask != value || other.len() > 0 || *mask <= bits.known {
                return FlatValue::Flags(Box::new((flags, texts)));
            }
            bits.known |= mask;
            bits.texts.resize(mask.trailing_zeros() as usize, Literal::default());
            bits.texts.push(*name);
        }
        FlatValue::Bits(Box::new(bits))
    }
}

impl BitTexts {
    /// Writes the list of the names of bits and returns its end.
    #[inline(always)]
    fn put(&self, number: u64, room: &mut [u8; COLUMNS], at: usize) -> usize {
        store(room, at, [b'[']);
        let (mut end, mut rest) = (at + 1, number & self.known);
        while let Some(text) = self.texts.get(rest.trailing_zeros() as usize) {
            end = text.put(room, end);
            rest &= rest - 1;
        }
        end_list(at, end, room)
    }
}

impl FlagTexts {
    fn new(FlagName { mask, value, name, other }: FlagName<'_>) -> Option<Self> {
        let item = |name: &[u8]| match name {
            b"" => Some(Literal::default()),
            _ => Literal::fitting(&[&json_text(name)[..], b","].concat()),
        };
        Some(Self { mask, value, name: item(name)?, other: item(other)? })
    }
}

/// A text as JSON.
fn json_text(text: &[u8]) -> Vec<u8> {
    let mut out = TextBuf::new();
    string(text, &mut out);
    out.as_bytes().to_vec()
}

/// Appends a word, or a list of words.
pub(super) fn write_label(labels: &Labels, value: CellValue<'_>, out: &mut TextBuf) {
    match value {
        CellValue::Label(at) => string(labels.texts.get(at as usize).map_or(&b""[..], |text| text.as_bytes()), out),
        CellValue::Bytes(text) => string(text, out),
        CellValue::List(items) => {
            out.push(b"[");
            for (at, item) in items.enumerate() {
                out.push(if at > 0 { b"," } else { b"" });
                match item.get(0) {
                    CellValue::Bytes(text) => string(text, out),
                    _ => out.push(b"null"),
                }
            }
            out.push(b"]");
        }
        CellValue::Null | CellValue::Number(_) => out.push(b"null"),
    }
}

pub(super) fn write_value(shape: &Shape, value: CellValue<'_>, out: &mut TextBuf) {
    match (shape.kind, value) {
        (FieldKind::Bool, CellValue::Number(number)) => out.push(if number & 1 == 1 { b"true" } else { b"false" }),
        (FieldKind::Int64, CellValue::Number(number)) => {
            let end = num::int(out.spare(), 0, number);
            out.advance(end);
        }
        (FieldKind::UInt64, CellValue::Number(number)) => push_unsigned(number, out),
        (FieldKind::Float32, CellValue::Number(bits)) => {
            let number = f32::from_bits(bits as u32);
            write_float(format_args!("{number:?}"), number.into(), out);
        }
        (FieldKind::Float64, CellValue::Number(bits)) => {
            let number = f64::from_bits(bits);
            write_float(format_args!("{number:?}"), number, out);
        }
        (FieldKind::Timestamp, CellValue::Number(seconds)) => write_time(seconds as u32, out),
        (FieldKind::Utf8, CellValue::Bytes(text)) => string(text, out),
        (FieldKind::Binary | FieldKind::FixedBinary, CellValue::Bytes(bytes)) => {
            out.push(b"\"");
            bytes.iter().for_each(|byte| out.push(&hex(*byte)));
            out.push(b"\"");
        }
        (FieldKind::List, CellValue::List(items)) => {
            out.push(b"[");
            for (at, item) in items.enumerate() {
                out.push(if at > 0 { b"," } else { b"" });
                match &shape.items {
                    Some(shape) if shape.kind == FieldKind::Struct => write_cells(&shape.members, item, out),
                    Some(shape) => write_value(shape, item.get(0), out),
                    None => out.push(b"null"),
                }
            }
            out.push(b"]");
        }
        _ => out.push(b"null"),
    }
}

pub(super) fn write_float(digits: std::fmt::Arguments<'_>, number: f64, out: &mut TextBuf) {
    if number.is_finite() {
        let _ = TextWriter(out).write_fmt(digits);
    } else if number.is_nan() {
        out.push(b"\"NaN\"");
    } else {
        out.push(if number > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
    }
}

pub(super) fn hex(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)])
}

/// Appends seconds since 1970 as `1999-10-28T13:34:05Z`.
pub(super) fn write_time(seconds: u32, out: &mut TextBuf) {
    let _ = write!(TextWriter(out), "\"{}Z\"", utc(seconds.into(), 'T'));
}

/// Appends the fields of a schema as objects of an array. `is_first` is true if the array is still empty. `source`
/// returns the name of a source.
pub fn write_schema<'n>(
    fields: &[SchemaField],
    source: &dyn Fn(u16) -> &'n [u8],
    is_first: &mut bool,
    out: &mut TextBuf,
) {
    for field in fields {
        out.push(if std::mem::take(is_first) { b"{" } else { b",{" });
        text_key(b"\"name\":", &field.name, out);
        out.push(b",");
        write_shape(&field.shape, source, out);
        text_key(b",\"shown\":", &field.shown, out);
        if let Some(index) = field.source {
            out.push(b",\"file\":");
            string(source(index), out);
            let _ = write!(TextWriter(out), ",\"line\":{},\"column\":{}", field.line, field.column);
        }
        text_key(b",\"rule\":", field.rule.name(), out);
        out.push(b"}");
        if let Some(labels) = &field.labels {
            write_labels(field, labels, out);
        }
    }
}

fn text_key(key: &[u8], value: &str, out: &mut TextBuf) {
    out.push(key);
    string(value.as_bytes(), out);
}

fn write_labels(field: &SchemaField, labels: &Labels, out: &mut TextBuf) {
    text_key(b",{\"name\":", &labels.name, out);
    out.push(match labels.is_list {
        true => b",\"type\":\"list\",\"items\":{\"type\":\"dictionary\"}".as_slice(),
        false => b",\"type\":\"dictionary\"",
    });
    text_key(b",\"of\":", &field.name, out);
    if !labels.texts.is_empty() {
        out.push(b",\"texts\":[");
        for (at, text) in labels.texts.iter().enumerate() {
            out.push(if at > 0 { b"," } else { b"" });
            string(text.as_bytes(), out);
        }
        out.push(b"]");
    }
    out.push(b"}");
}

/// Appends the keys `type` to `hint`.
fn write_shape<'n>(shape: &Shape, source: &dyn Fn(u16) -> &'n [u8], out: &mut TextBuf) {
    text_key(b"\"type\":", shape.kind.name(), out);
    if shape.kind == FieldKind::FixedBinary {
        let _ = write!(TextWriter(out), ",\"size\":{}", shape.size);
    }
    if let Some(items) = &shape.items {
        out.push(b",\"items\":{");
        write_shape(items, source, out);
        out.push(b"}");
    }
    if shape.kind == FieldKind::Struct {
        out.push(b",\"fields\":[");
        write_schema(&shape.members, source, &mut true, out);
        out.push(b"]");
    }
    if shape.hint != Hint::None {
        text_key(b",\"hint\":", shape.hint.name(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(kind: FieldKind, number: u64) -> String {
        let mut out = TextBuf::new();
        write_value(&Shape::new(kind, Hint::None), CellValue::Number(number), &mut out);
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    #[test]
    fn numbers_are_written_so_that_readers_keep_them() {
        assert_eq!(value(FieldKind::UInt64, 1 << 53), "9007199254740992");
        assert_eq!(value(FieldKind::UInt64, (1 << 53) + 1), "\"9007199254740993\"");
        assert_eq!(value(FieldKind::Int64, u64::MAX), "-1");
        assert_eq!(value(FieldKind::Float32, 0.1f32.to_bits().into()), "0.1");
        assert_eq!(value(FieldKind::Float64, 2.5e30f64.to_bits()), "2.5e30");
        assert_eq!(value(FieldKind::Float64, 1f64.to_bits()), "1.0");
        assert_eq!(value(FieldKind::Float64, f64::NAN.to_bits()), "\"NaN\"");
        assert_eq!(value(FieldKind::Float32, f32::NEG_INFINITY.to_bits().into()), "\"-Infinity\"");
        assert_eq!(value(FieldKind::Bool, 1), "true");
    }

    #[test]
    fn times_are_dates_in_utc() {
        for (seconds, expected) in [
            (0, "\"1970-01-01T00:00:00Z\""),
            (941_117_645, "\"1999-10-28T13:34:05Z\""),
            (951_782_400, "\"2000-02-29T00:00:00Z\""),
            (u32::MAX.into(), "\"2106-02-07T06:28:15Z\""),
        ] {
            assert_eq!(value(FieldKind::Timestamp, seconds), expected);
        }
    }
}
