//! Formats one record.

use super::ReferenceRecord;
use super::document::{Key, KeyCondition, KeyField};
use super::format::{FieldKind, FormatField, Show};
use super::number::{NumberLiteral, mask};
use super::resolve::Links;
use super::xml::LineColumn;

/// A formatted record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormattedRecord {
    /// The text, without a line end.
    pub text: Vec<u8>,
    /// True if a field extends past the payload.
    pub truncated: bool,
    /// Fields in order.
    pub fields: Vec<ReferenceField>,
    /// File and position of every datakey used.
    pub keys: Vec<(usize, LineColumn)>,
}

/// One field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceField {
    /// Label of the field.
    pub label: String,
    /// Value after bitmasks.
    pub value: ReferenceValue,
    /// Text after `label:`.
    pub text: Vec<u8>,
    /// Matching enum strings, or the default.
    pub strings: Vec<Vec<u8>>,
}

/// Value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceValue {
    /// A number.
    Number(i128),
    /// The numbers of an array.
    Numbers(Vec<i128>),
    /// The bytes of a text.
    Text(Vec<u8>),
    /// Extends past the payload.
    Cut,
}

/// A record with the keys that may format it.
pub struct RecordView<'s> {
    keys: &'s [Key],
    links: &'s Links,
    record: &'s ReferenceRecord<'s>,
    event: (u8, u16),
}

/// Raw value of a field: bits, items of an array, or bytes.
enum RawFieldValue {
    Number(u64),
    Numbers(Vec<u64>),
    Text(Vec<u8>),
    Cut,
}

impl<'s> RecordView<'s> {
    /// Pairs a record with the keys.
    pub fn new(keys: &'s [Key], links: &'s Links, record: &'s ReferenceRecord<'s>) -> Self {
        let class = if record.class == 13 { 5 } else { record.class };
        RecordView { keys, links, record, event: (class, record.id) }
    }

    /// Formats the record.
    pub fn show(&self) -> Option<FormattedRecord> {
        let mut shown: Option<FormattedRecord> = None;
        for key in (0..self.keys.len()).filter(|key| self.keys[*key].events.contains(&self.event)) {
            if !self.applies(key) {
                continue;
            }
            let shown = shown.get_or_insert_default();
            let key = &self.keys[key];
            shown.keys.push((key.file, key.place));
            for (field, read) in key.fields.iter().zip(self.read(key)) {
                let strings = strings_of(field, &read);
                let (value, text) = show_field(key, field, read);
                shown.truncated |= value == ReferenceValue::Cut;
                if !shown.text.is_empty() {
                    shown.text.push(b' ');
                }
                shown.text.extend(field.field.label.bytes());
                shown.text.push(b':');
                shown.text.extend(&text);
                shown.fields.push(ReferenceField { label: field.field.label.clone(), value, text, strings });
            }
        }
        shown
    }

    /// Fields per key that applies; `None` if no key applies.
    pub fn show_by_key(&self) -> Option<Vec<(usize, Vec<ReferenceField>)>> {
        let named = (0..self.keys.len()).filter(|key| self.keys[*key].events.contains(&self.event));
        let shown = named.filter(|key| self.applies(*key)).map(|at| {
            let key = &self.keys[at];
            let fields = key.fields.iter().zip(self.read(key)).map(|(field, read)| {
                let strings = strings_of(field, &read);
                let (value, text) = show_field(key, field, read);
                ReferenceField { label: field.field.label.clone(), value, text, strings }
            });
            (at, fields.collect())
        });
        Some(shown.collect()).filter(|shown: &Vec<_>| !shown.is_empty())
    }

    /// True if a key is valid and its conditions are met.
    fn applies(&self, at: usize) -> bool {
        let key = &self.keys[at];
        let is_met = |(number, condition): (usize, &KeyCondition)| {
            let Some((other, field)) = self.links.reads.get(&(self.event, at, number)) else { return true };
            if !self.applies(*other) {
                return false;
            }
            let field_of = &self.keys[*other].fields[*field];
            match self.read(&self.keys[*other]).get(*field) {
                Some(RawFieldValue::Number(bits)) => {
                    condition_holds(condition, masked(field_of, *bits), field_of.field.size)
                }
                _ => false,
            }
        };
        !key.refused && key.conditions.iter().enumerate().all(is_met)
    }

    /// Offset of a key's first field.
    fn offset(&self, key: &Key) -> u64 {
        if !self.record.wide {
            return key.offset;
        }
        match key.wide_offset {
            Some(offset) => offset,
            None if self.event.0 == 6 => key.offset,
            None => 0,
        }
    }

    /// Reads a key's fields. The first cut field is the last.
    fn read(&self, key: &Key) -> Vec<RawFieldValue> {
        let payload = self.record.payload;
        let mut at = usize::try_from(self.offset(key)).unwrap_or(usize::MAX);
        let mut fields = Vec::new();
        for field in &key.fields {
            let rest = payload.get(at..).unwrap_or_default();
            let (read, length) = self.read_field(&field.field, rest);
            at = at.saturating_add(length);
            let cut = matches!(read, RawFieldValue::Cut);
            fields.push(read);
            if cut {
                break;
            }
        }
        fields
    }

    /// Reads one field from the rest of the payload, and returns the bytes it takes.
    fn read_field(&self, field: &FormatField, rest: &[u8]) -> (RawFieldValue, usize) {
        let items = match field.kind {
            FieldKind::Text if rest.is_empty() => return (RawFieldValue::Cut, 0),
            FieldKind::Text => {
                let nul = rest.iter().position(|byte| *byte == 0);
                let text = &rest[..nul.unwrap_or(rest.len())];
                return (RawFieldValue::Text(text.to_vec()), nul.map_or(rest.len(), |nul| nul + 1));
            }
            FieldKind::Number => 1,
            FieldKind::Array(count) | FieldKind::Characters(count) => count,
        };
        let length = usize::try_from(u128::from(items) * u128::from(field.size)).unwrap_or(usize::MAX);
        let Some(bytes) = rest.get(..length) else { return (RawFieldValue::Cut, 0) };
        let read = match field.kind {
            FieldKind::Characters(_) => {
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                RawFieldValue::Text(bytes[..end].to_vec())
            }
            FieldKind::Array(_) => {
                RawFieldValue::Numbers(bytes.chunks(field.size as usize).map(|item| self.number(item)).collect())
            }
            _ => RawFieldValue::Number(self.number(bytes)),
        };
        (read, length)
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self.record.big_endian {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        }
    }
}

/// Bits of a field after its bitmasks.
fn masked(field: &KeyField, bits: u64) -> u64 {
    match field.masks.iter().copied().reduce(|left, right| left & right) {
        None => bits,
        Some(0) => 0,
        Some(mask) => (bits & mask) >> mask.trailing_zeros(),
    }
}

fn condition_holds(condition: &KeyCondition, bits: u64, size: u32) -> bool {
    let pattern = |literal: Option<NumberLiteral>| literal.map(|literal| literal.pattern(size));
    let is_met = match (pattern(condition.mask), pattern(condition.value)) {
        (None, None) => true,
        (None, Some(value)) => Some(bits) == value,
        (Some(mask), None) => mask.is_some_and(|mask| bits & mask == mask),
        (Some(mask), Some(value)) => mask.zip(value).is_some_and(|(mask, value)| bits & mask == value),
    };
    let nots = [condition.mask, condition.value].iter().flatten().filter(|literal| literal.not).count();
    is_met != (nots == 1)
}

/// Value of a field, and the text after its label.
fn show_field(key: &Key, field: &KeyField, read: RawFieldValue) -> (ReferenceValue, Vec<u8>) {
    let spec = &field.field;
    match read {
        RawFieldValue::Cut => (ReferenceValue::Cut, b"<truncated>".to_vec()),
        RawFieldValue::Text(text) => {
            let shown = escaped(&text);
            (ReferenceValue::Text(text), shown)
        }
        RawFieldValue::Numbers(items) => {
            let shown: Vec<String> = items.iter().map(|bits| number(spec, *bits, spec.signed)).collect();
            let values = items.iter().map(|bits| value(spec, *bits, spec.signed)).collect();
            (ReferenceValue::Numbers(values), format!("[{}]", shown.join(", ")).into_bytes())
        }
        RawFieldValue::Number(bits) => {
            let bits = masked(field, bits);
            let signed = spec.signed && field.masks.is_empty();
            let strings = matches(field, bits);
            let mut shown = Vec::new();
            if key.show_masked_value || strings.is_empty() {
                shown.push(number(spec, bits, signed).into_bytes());
            }
            shown.extend(strings.iter().map(|string| escaped(string.as_bytes())));
            (ReferenceValue::Number(value(spec, bits, signed)), shown.join(&b' '))
        }
    }
}

/// Strings of the matching enums, as printed.
fn strings_of(field: &KeyField, read: &RawFieldValue) -> Vec<Vec<u8>> {
    let RawFieldValue::Number(bits) = read else { return Vec::new() };
    matches(field, masked(field, *bits)).iter().map(|string| escaped(string.as_bytes())).collect()
}

/// Strings of the matching enums.
fn matches(field: &KeyField, bits: u64) -> Vec<&str> {
    let mut strings = Vec::new();
    for entry in &field.enums {
        let equal = match entry.literal.pattern(field.field.size) {
            None => false,
            Some(pattern) if entry.is_mask => bits & pattern == pattern,
            Some(pattern) => bits == pattern,
        };
        if equal != entry.literal.not {
            strings.push(entry.string.as_str());
            if !entry.is_mask {
                return strings;
            }
        }
    }
    if strings.is_empty() {
        strings.extend(field.default.as_deref());
    }
    strings
}

/// Value of a number, with its sign.
fn value(field: &FormatField, bits: u64, signed: bool) -> i128 {
    let negative = signed && bits >> (8 * field.size - 1) == 1;
    i128::from(bits) - if negative { i128::from(mask(field.size)) + 1 } else { 0 }
}

/// Number as the field prints it.
fn number(field: &FormatField, bits: u64, signed: bool) -> String {
    match field.show {
        Show::Decimal => value(field, bits, signed).to_string(),
        Show::Octal if bits == 0 => "0".into(),
        Show::Octal => format!("0{bits:o}"),
        Show::Character if (0x20..=0x7e).contains(&bits) => char::from(bits as u8).into(),
        Show::Hex | Show::Character => format!("{bits:#x}"),
    }
}

/// Text with its control bytes escaped.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut shown = Vec::new();
    for byte in text {
        match byte {
            b'\t' => shown.extend(b"\\t"),
            b'\n' => shown.extend(b"\\n"),
            b'\r' => shown.extend(b"\\r"),
            0..0x20 | 0x7f => shown.extend(format!("\\x{byte:02x}").bytes()),
            _ => shown.push(*byte),
        }
    }
    shown
}
