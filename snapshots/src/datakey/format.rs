//! The language of `format` and `sformat`.

use super::number::trim;

/// One field of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatField {
    /// Its label, with single blanks.
    pub label: String,
    /// Bytes of an item: 1, 2, 4 or 8.
    pub size: u32,
    /// True if decimal output has a sign.
    pub signed: bool,
    /// Kind of data.
    pub kind: FieldKind,
    /// Notation of a number.
    pub show: Show,
}

/// Kind of data in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// One number.
    Number,
    /// Several numbers.
    Array(u64),
    /// This many bytes, shown up to the first NUL.
    Characters(u64),
    /// Bytes up to a NUL or the end.
    Text,
}

/// Notation of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// By its sign.
    Decimal,
    /// `0x…`
    Hex,
    /// `0…`
    Octal,
    /// As a character.
    Character,
}

/// A label in the form in which names are compared: trimmed, white space as single blanks.
pub fn label(text: &str) -> String {
    text.split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Reads a format. Returns true if a field causes a hint. `arrays` allows counts above 1.
///
/// # Errors
/// The reason why the format is invalid.
pub fn read(text: &str, arrays: bool) -> Result<(Vec<FormatField>, bool), &'static str> {
    let mut parts = text.split('%');
    if !trim(parts.next().unwrap_or_default()).is_empty() {
        return Err("text before the first %");
    }
    let mut fields: Vec<FormatField> = Vec::new();
    let mut hint = false;
    for part in parts {
        let (spec, rest) = part.split_at(part.find([' ', '\t', '\n', '\r']).unwrap_or(part.len()));
        let mut field = field(spec)?;
        field.label = label(rest);
        hint |= spec == "s" || spec == "1s";
        if field.label.is_empty() {
            return Err("no label");
        }
        if fields.iter().any(|other| other.label == field.label) {
            return Err("a label twice");
        }
        if !arrays && matches!(field.kind, FieldKind::Array(_) | FieldKind::Characters(_)) {
            return Err("an array in format");
        }
        fields.push(field);
    }
    if fields.is_empty() { Err("no field") } else { Ok((fields, hint)) }
}

/// Reads `[size] [sign] [count] [fmt]`.
fn field(spec: &str) -> Result<FormatField, &'static str> {
    if spec.is_empty() {
        return Err("nothing after %");
    }
    if spec == "s" {
        return Ok(FormatField {
            label: String::new(),
            size: 1,
            signed: true,
            kind: FieldKind::Text,
            show: Show::Decimal,
        });
    }
    let mut rest = spec;
    let mut take = |choice: &str| {
        let first = rest.chars().next().filter(|c| choice.contains(*c))?;
        rest = &rest[1..];
        Some(first)
    };
    let size = take("1248").and_then(|c| c.to_digit(10));
    let sign = take("su");
    let mut digits = String::new();
    while let Some(digit) = take("0123456789") {
        digits.push(digit);
    }
    let fmt = take("dxoc");
    if !rest.is_empty() {
        return Err("something that is no part of a field");
    }
    let size = size.unwrap_or(4);
    let count = if digits.is_empty() { 1 } else { digits.parse().unwrap_or(u64::MAX) };
    let kind = match (count, fmt) {
        (0, None) if size == 1 => FieldKind::Text,
        (0, _) => return Err("count 0"),
        (1, _) => FieldKind::Number,
        (_, Some('c')) if size == 1 => FieldKind::Characters(count),
        (_, Some('c')) => return Err("an array of wide characters"),
        _ => FieldKind::Array(count),
    };
    let show = match fmt {
        Some('x') => Show::Hex,
        Some('o') => Show::Octal,
        Some('c') => Show::Character,
        _ => Show::Decimal,
    };
    let signed = sign.map_or(fmt == Some('d'), |sign| sign == 's');
    Ok(FormatField { label: String::new(), size, signed, kind, show })
}
