//! Fields of one datakey: types of their specs, and the bitmasks and enums that refine them.

use super::events::with_suggestion;
use super::{Findings, XmlUnit};
use crate::codes::*;
use crate::datakey::model::{EnumLabel, EnumSearch, FormatField, NumberStyle, PayloadType, Test};
use std::collections::{HashMap, HashSet};
use tfbc_grammar::datakey::ast;
use tfbc_grammar::datakey::ast::{Bitmask, Datakey, EnumTest, Format, Literal, Name, Sign, Spec};
use tfbc_grammar::{CodeInfo, Diagnostic, Edit, Fix, SourceId, Span};

/// Escapes an enum's string in the same way as strings of a record.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(text.len());
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

/// Types the fields of a format. Returns `None` if one has an error, which is reported.
pub(crate) fn fields(unit: &XmlUnit, tag: Span, format: &Format, findings: &mut Findings) -> Option<Vec<FormatField>> {
    let n_errors = findings.n_errors();
    let search = if unit.dialect.all_enums { EnumSearch::All } else { EnumSearch::Value };
    let mut fields = Vec::with_capacity(format.fields.len());
    for field in format.fields {
        let (shape, show) = shape(unit, tag, field, findings);
        fields.push(FormatField {
            span: field.span,
            label: field.label.node.to_vec(),
            shape,
            show,
            mask: None,
            search,
            bitmasks: Vec::new(),
            enums: Vec::new(),
            default: None,
            default_tag: Span::default(),
        });
    }
    (findings.n_errors() == n_errors).then_some(fields)
}

fn shape(unit: &XmlUnit, tag: Span, field: &ast::Field, findings: &mut Findings) -> (PayloadType, NumberStyle) {
    let (spec, dialect) = (field.spec, &unit.dialect);
    // `bare-s` in docs/readings.md: authors mean a text as often as a number.
    if let Spec { size: None | Some(1), sign: Some(Sign::Signed), count: None, show: None } = spec {
        warn_bare(unit, tag, field, findings);
        if spec.size.is_none() && !dialect.bare_s_number {
            return (PayloadType::Text, NumberStyle::Decimal);
        }
    }
    let bytes = spec.size.unwrap_or(4);
    let show = match spec.show {
        None if dialect.plain_hex => NumberStyle::Hex,
        None | Some(ast::NumberStyle::Decimal) => NumberStyle::Decimal,
        Some(ast::NumberStyle::Hex) => NumberStyle::Hex,
        Some(ast::NumberStyle::Octal) => NumberStyle::Octal,
        Some(ast::NumberStyle::Char) => NumberStyle::Char,
    };
    let signed = spec.sign.map_or(spec.show == Some(ast::NumberStyle::Decimal), |sign| sign == Sign::Signed);
    let shape = match spec.count.unwrap_or(1) {
        0 => PayloadType::Text,
        1 => PayloadType::Number { bytes, signed },
        count if show != NumberStyle::Char || dialect.char_lists => PayloadType::Array { bytes, signed, count },
        count => {
            if bytes != 1 {
                let label = show_label(field.label.node);
                let message = format!("field `{label}` is an array of characters of {bytes} bytes, expected 1");
                let error = Diagnostic::error(&CHAR_ARRAY, unit.id, tag, message);
                let error = error.with_secondary(unit.id, field.span, "characters of more than a byte");
                findings.add(error.with_help("use the size 1, or the format `x`"));
            }
            PayloadType::Chars { count }
        }
    };
    (shape, show)
}

fn warn_bare(unit: &XmlUnit, tag: Span, field: &ast::Field, findings: &mut Findings) {
    let label = show_label(field.label.node);
    let is_text = field.spec.size.is_none() && !unit.dialect.bare_s_number;
    let what = if is_text { "a text up to its NUL" } else { "a number" };
    let spec = if field.spec.size.is_none() { "%s" } else { "%1s" };
    let message = format!("`{spec} {label}` is read as {what}");
    let warning = Diagnostic::warning(&BARE_STRING, unit.id, tag, message);
    let warning = warning.with_secondary(unit.id, field.span, "without a count");
    let (right, help) = if is_text {
        ("%1s0", format!("write `%1s0 {label}` for a text"))
    } else {
        ("%1s1", format!("write `%1s0 {label}` for a text, or `{spec}1 {label}` for a number"))
    };
    // A character written as a reference makes the spec longer than it looks.
    let place = Span::new(field.span.start, field.span.start + spec.len() as u32);
    let is_plain = field.span.len() as usize >= spec.len() + 1 + field.label.node.len();
    let fix = (is_plain && field.spec.size.is_none() == is_text)
        .then(|| Fix::safe(format!("write `{right}`"), [Edit::replace(place, right)]));
    findings.add(Diagnostic { fix, ..warning.with_help(help) });
}

/// Applies the bitmasks and enums of a datakey to its fields.
pub(crate) fn apply_bitmasks_and_enums(
    unit: &XmlUnit,
    datakey: &Datakey,
    fields: Vec<FormatField>,
    findings: &mut Findings,
) -> Vec<FormatField> {
    // Sorted by label and not by position, because enums may be in any order.
    let by_label = fields.iter().enumerate().map(|(at, field)| (field.label.clone(), at)).collect();
    let reach = fields.iter().map(|_| UnmatchedValues::default()).collect();
    let mut refiner = FieldRefiner { source: unit.id, fields, by_label, reach, findings };
    datakey.bitmasks.iter().for_each(|bitmask| refiner.bitmask(bitmask));
    datakey.enums.iter().for_each(|node| refiner.enumeration(node));
    refiner.fields
}

struct FieldRefiner<'f> {
    source: SourceId,
    fields: Vec<FormatField>,
    by_label: HashMap<Vec<u8>, usize>,
    /// Per field: values not yet matched by its `value` enums.
    reach: Vec<UnmatchedValues>,
    findings: &'f mut Findings,
}

impl FieldRefiner<'_> {
    /// Finds the field that an element refers to. Returns its index and its width in bytes.
    fn field(&mut self, element: &str, tag: Span, name: Option<Name>) -> Option<(usize, u8)> {
        let Some(name) = name else { return self.only_field(element, tag) };
        let Some(at) = self.by_label.get(name.node).copied() else {
            let message = format!("no field of this datakey is labelled `{}`", show_label(name.node));
            let error = Diagnostic::error(&UNKNOWN_FIELD, self.source, tag, message);
            let error = error.with_secondary(self.source, name.span, "no such label");
            let labels = self.fields.iter().map(|field| &field.label[..]);
            let near = self.findings.near(name.node, labels);
            self.findings.add(match near {
                Some(near) => with_suggestion(error, name.span, &near),
                None => error,
            });
            return None;
        };
        self.number(element, tag, at)
    }

    fn only_field(&mut self, element: &str, tag: Span) -> Option<(usize, u8)> {
        if self.fields.len() == 1 {
            return self.number(element, tag, 0);
        }
        let message = format!("`{element}` has no `name`, and the format has {} fields", self.fields.len());
        let error = Diagnostic::error(&UNKNOWN_FIELD, self.source, tag, message);
        let first = self.fields.first().map_or_else(String::new, |field| show_label(&field.label));
        self.findings.add(error.with_help(format!("add the label of a field, such as `name=\"{first}\"`")));
        None
    }

    /// Reports an error if the field is not a single number.
    fn number(&mut self, element: &str, tag: Span, at: usize) -> Option<(usize, u8)> {
        if let PayloadType::Number { bytes, .. } = self.fields[at].shape {
            return Some((at, bytes));
        }
        let field = &self.fields[at];
        let message =
            format!("`{element}` on field `{}`, which is {}", show_label(&field.label), describe(field.shape));
        let error = Diagnostic::error(&NOT_A_NUMBER, self.source, tag, message);
        self.findings.add(error.with_secondary(self.source, field.span, "the field"));
        None
    }

    fn bitmask(&mut self, bitmask: &Bitmask) {
        let Some((at, bytes)) = self.field("bitmask", bitmask.tag, bitmask.name) else { return };
        let all = all_bits(bytes);
        // Two's complement: the low bits of a negative mask are its pattern.
        let mask = bitmask.value.value as u64 & all;
        let label = show_label(&self.fields[at].label);
        if bits(bitmask.value, bytes).is_none() {
            let message = format!("mask is wider than field `{label}` of {}: it is cut to {mask:#x}", n_bytes(bytes));
            self.warn(&MASK_WIDTH, bitmask.tag, bitmask.value.span, message, "too wide");
        }
        let before = self.fields[at].mask;
        // Two masks keep the bits in both (docs/readings.md, QNX).
        let mask = mask & before.unwrap_or(all);
        if before.is_some() {
            let message = format!("second bitmask on field `{label}`: together they leave {mask:#x}");
            self.warn(&SEVERAL_MASKS, bitmask.tag, bitmask.value.span, message, "second");
        }
        if mask == 0 && before != Some(0) {
            let message = format!("bitmask leaves nothing of field `{label}`: its value is 0");
            self.warn(&MASK_ZERO, bitmask.tag, bitmask.value.span, message, "no bit");
        }
        self.fields[at].mask = Some(mask);
        self.fields[at].bitmasks.push(bitmask.tag);
    }

    fn enumeration(&mut self, node: &ast::Enum) {
        let Some((at, bytes)) = self.field("enum", node.tag, node.name) else { return };
        let test = match node.test {
            EnumTest::Value(literal) => {
                let bits = self.bits(node.tag, literal, at, bytes);
                self.reachable(node, literal, bits, at);
                Test::Value { bits, not: literal.not }
            }
            EnumTest::Mask(literal) => Test::Mask { bits: self.bits(node.tag, literal, at, bytes), not: literal.not },
            EnumTest::Default => return self.default(node, at),
        };
        self.fields[at].enums.push(EnumLabel { tag: node.tag, test, text: escaped(node.text) });
    }

    fn default(&mut self, node: &ast::Enum, at: usize) {
        let field = &mut self.fields[at];
        if field.default.is_none() {
            field.default = Some(escaped(node.text));
            field.default_tag = node.tag;
            return;
        }
        let message = format!("second default of field `{}`: the first is used", show_label(&field.label));
        let warning = Diagnostic::warning(&SECOND_DEFAULT, self.source, node.tag, message);
        let fix = Fix::safe("delete the element", [Edit::delete(node.whole)]);
        self.findings.add(warning.with_help("delete one of the two").with_fix(fix));
    }

    /// Converts a literal to the field's bit pattern; warns if no value of the field equals it.
    fn bits(&mut self, tag: Span, literal: Literal, at: usize, bytes: u8) -> Option<u64> {
        let found = bits(literal, bytes);
        if found.is_none() {
            let warning = never_matches(self.source, tag, literal, &self.fields[at].label, bytes);
            self.findings.add(warning);
        }
        found
    }

    /// Warns about a `value` enum that never matches, and removes its values from those left for later enums.
    fn reachable(&mut self, node: &ast::Enum, literal: Literal, bits: Option<u64>, at: usize) {
        // The set is exact, also for `!`: after `!5` only 5 is left.
        let reach = &mut self.reach[at];
        if self.fields[at].search == EnumSearch::All
            || (bits.is_none() && !literal.not)
            || reach.take(bits, literal.not)
        {
            return;
        }
        let (label, not) = (show_label(&self.fields[at].label), if literal.not { "!" } else { "" });
        let message = format!("value {not}{} of field `{label}` is matched by an earlier enum", literal.value);
        let warning = Diagnostic::warning(&UNREACHABLE_ENUM, self.source, node.tag, message);
        let fix = Fix::safe("delete the element", [Edit::delete(node.whole)]);
        self.findings.add(warning.with_secondary(self.source, literal.span, "never reached").with_fix(fix));
    }

    fn warn(&mut self, code: &'static CodeInfo, tag: Span, place: Span, message: String, label: &str) {
        let warning = Diagnostic::warning(code, self.source, tag, message);
        self.findings.add(warning.with_secondary(self.source, place, label));
    }
}

/// Values not yet matched by the `value` enums of a field.
#[derive(Default)]
enum UnmatchedValues {
    #[default]
    All,
    AllBut(HashSet<u64>),
    Only(u64),
    Nothing,
}

impl UnmatchedValues {
    /// Removes the values that an enum matches; `None` is a literal that no value equals. Returns true if any
    /// value was removed.
    fn take(&mut self, bits: Option<u64>, not: bool) -> bool {
        if let UnmatchedValues::All = self {
            *self = UnmatchedValues::AllBut(HashSet::new());
        }
        match (&mut *self, bits, not) {
            (UnmatchedValues::AllBut(taken), Some(bits), false) => taken.insert(bits),
            (UnmatchedValues::AllBut(taken), Some(bits), true) => {
                *self = if taken.contains(&bits) { UnmatchedValues::Nothing } else { UnmatchedValues::Only(bits) };
                true
            }
            (UnmatchedValues::Only(left), Some(bits), not) => {
                let is_met = (*left == bits) != not;
                if is_met {
                    *self = UnmatchedValues::Nothing;
                }
                is_met
            }
            (UnmatchedValues::AllBut(_) | UnmatchedValues::Only(_), None, true) => {
                *self = UnmatchedValues::Nothing;
                true
            }
            _ => false,
        }
    }
}

/// Mask of all bits of a field of 1 to 8 bytes.
fn all_bits(bytes: u8) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(bytes.clamp(1, 8)))
}

/// Bit pattern of a literal in a field; `None` if it fits neither signed nor unsigned.
pub(crate) fn bits(literal: Literal, bytes: u8) -> Option<u64> {
    let all = all_bits(bytes);
    let least = -(i128::from(all) / 2 + 1);
    let is_value = (least..=i128::from(all)).contains(&literal.value);
    // Two's complement: the low bits of a negative value are its pattern.
    is_value.then_some(literal.value as u64 & all)
}

/// Warning for a literal that no value of the field equals.
pub(crate) fn never_matches(source: SourceId, tag: Span, literal: Literal, label: &[u8], bytes: u8) -> Diagnostic {
    let outcome = if literal.not { "always matches" } else { "never matches" };
    let not = if literal.not { "!" } else { "" };
    let (label, value) = (show_label(label), literal.value);
    let message = format!("{not}{value} {outcome}: field `{label}` has {}", n_bytes(bytes));
    Diagnostic::warning(&NO_SUCH_VALUE, source, tag, message).with_secondary(source, literal.span, "beyond the field")
}

fn n_bytes(bytes: u8) -> String {
    if bytes == 1 { "1 byte".into() } else { format!("{bytes} bytes") }
}

/// Kind of a field, for a message.
pub(crate) fn describe(shape: PayloadType) -> &'static str {
    match shape {
        PayloadType::Number { .. } => "a number",
        PayloadType::Array { .. } | PayloadType::Chars { .. } => "an array",
        PayloadType::Text => "a text",
    }
}

/// Label for a message: control characters are removed, long labels cut.
pub(crate) fn show_label(label: &[u8]) -> String {
    const LIMIT: usize = 40;
    let text = String::from_utf8_lossy(label);
    let shown: String = text.chars().take(LIMIT).filter(|c| !c.is_control()).collect();
    if text.chars().nth(LIMIT).is_some() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(value: i128) -> Literal {
        Literal { not: false, value, span: Span::default() }
    }

    #[test]
    fn literals_are_bits_of_the_width() {
        for (value, bytes, expected) in [
            (255, 1, Some(0xff)),
            (256, 1, None),
            (-1, 1, Some(0xff)),
            (-128, 1, Some(0x80)),
            (-129, 1, None),
            (-2, 2, Some(0xfffe)),
            (1 << 32, 4, None),
            (u64::MAX.into(), 8, Some(u64::MAX)),
            (i64::MIN.into(), 8, Some(1 << 63)),
        ] {
            assert_eq!(bits(literal(value), bytes), expected, "{value} in {bytes}");
        }
    }

    #[test]
    fn unmatched_values_are_tracked() {
        let taken = |enums: &[(Option<u64>, bool)]| {
            let mut reach = UnmatchedValues::default();
            enums.iter().map(|(bits, not)| reach.take(*bits, *not)).collect::<Vec<_>>()
        };
        assert_eq!(taken(&[(Some(1), false), (Some(2), false), (Some(1), false)]), [true, true, false]);
        assert_eq!(
            taken(&[(Some(1), true), (Some(2), false), (Some(1), false), (Some(1), false)]),
            [true, false, true, false]
        );
        assert_eq!(
            taken(&[(Some(1), true), (Some(1), true), (Some(2), true), (Some(3), true)]),
            [true, false, true, false]
        );
        assert_eq!(taken(&[(Some(1), false), (Some(1), true), (Some(1), false)]), [true, true, false]);
        assert_eq!(taken(&[(None, true), (Some(1), false)]), [true, false]);
    }
}
