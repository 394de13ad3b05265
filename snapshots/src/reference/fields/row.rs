//! Row of an event, and its JSON.

use std::fmt::Write;

use tfbc_grammar::trcfmt::ast::{Code, Stanza};
use tfbc_vm::{Context, Event, errno_name};

use super::super::datum::{Datum, Frame, PrintedValue};
use super::super::{Line, Reference, Timers, number};
use super::form::{FieldType, PrintForm};
use super::schema::{FieldOrigin, FieldSchema, ItemForm, TextKind, TypedField};
use super::value::FieldValue;

/// Names and values of an event's fields, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldRow {
    /// The fields, with null ones.
    pub fields: Vec<(String, FieldValue)>,
}

impl FieldRow {
    /// JSON object of the fields that are not null.
    pub fn to_json(&self) -> String {
        json_object(&self.fields)
    }
}

/// Data that values depend on, besides the event's bytes.
#[derive(Clone, Copy)]
struct RowContext<'c> {
    /// Size of a word in bytes.
    word: u8,
    context: &'c Context<'c>,
}

impl<'ast> Reference<'ast> {
    /// Row of one event; `None` if the event is skipped.
    pub fn row(
        &self,
        stanza: &Stanza<'ast>,
        schema: &FieldSchema,
        event: &Event,
        context: &Context,
        timers: &mut Timers,
        line: Line,
    ) -> Option<FieldRow> {
        let mut run = self.start(stanza, event, context, timers, line);
        run.without_text_limit();
        run.frames = Some(vec![Frame::new()]);
        run.event(stanza);
        let frame = run.frames.take().and_then(|mut frames| frames.pop()).unwrap_or_default();
        let around = RowContext { word: if event.wide { 8 } else { 4 }, context };
        let mut fields = Vec::new();
        for field in schema.fields.iter().filter(|field| !field.omitted) {
            let (value, text) = match &field.at_end {
                Some(_) if run.limited || run.ended_by_error => (FieldValue::Null, FieldValue::Null),
                Some((name, form)) => around.value_at_end(*form, &run.at_end(name, stanza)),
                None => around.field(field, &frame),
            };
            fields.push((field.name.clone(), value));
            if field.text != TextKind::None {
                fields.push((format!("{}_text", field.name), text));
            }
        }
        (!run.skipped).then_some(FieldRow { fields })
    }
}

impl RowContext<'_> {
    /// Value of a field and of its text.
    fn field(&self, field: &TypedField, frame: &Frame) -> (FieldValue, FieldValue) {
        let ran = field.sources.iter().find_map(|source| match source {
            FieldOrigin::Shown(shown) => Some(self.shown(field, shown, frame.get(&shown.path)?, frame)),
            FieldOrigin::Loop { path, ty, members } => {
                Some((self.list(*ty, members, frame.get(path)?), FieldValue::Null))
            }
        });
        ran.unwrap_or((FieldValue::Null, FieldValue::Null))
    }

    fn list(&self, ty: FieldType, members: &[TypedField], seen: &PrintedValue) -> FieldValue {
        if seen.null {
            return FieldValue::Null;
        }
        let first = |frame: &Frame| self.field(&members[0], frame).0;
        match ty {
            FieldType::Binary => {
                let bytes = seen.turns.iter().map(first).filter_map(|value| match value {
                    FieldValue::Int(byte) => Some(byte as u8),
                    _ => None,
                });
                FieldValue::Bytes(bytes.collect())
            }
            FieldType::Utf8 => {
                let texts = seen.turns.iter().map(first).filter_map(|value| match value {
                    FieldValue::Text(text) => Some(text),
                    _ => None,
                });
                FieldValue::Text(texts.flatten().collect())
            }
            FieldType::ListOfStructs => {
                let element = |frame: &Frame| {
                    let pair = |member: &TypedField| {
                        let (value, text) = self.field(member, frame);
                        [(member.name.clone(), value), (format!("{}_text", member.name), text)]
                    };
                    let members = members.iter().flat_map(pair);
                    FieldValue::Struct(members.filter(|(_, value)| *value != FieldValue::Null).collect())
                };
                FieldValue::List(seen.turns.iter().map(element).collect())
            }
            _ => FieldValue::List(seen.turns.iter().map(first).collect()),
        }
    }

    fn shown(
        &self,
        field: &TypedField,
        shown: &ItemForm,
        seen: &PrintedValue,
        frame: &Frame,
    ) -> (FieldValue, FieldValue) {
        if seen.null {
            return (FieldValue::Null, FieldValue::Null);
        }
        let datum = self.datum(shown, seen);
        let (form, datum) = match field.code {
            None => (shown.form, datum),
            Some(code) => {
                let form = PrintForm::Code(code);
                let number = as_number(&shown.form.value(&datum));
                (form, form.cast(number, self.word))
            }
        };
        let text = match field.text {
            TextKind::None => None,
            // Another printed value that is one field with the BITFLAGS has no texts.
            TextKind::List => seen.flags.as_ref().map(|flags| {
                let texts = flags.iter().map(|text| super::name::trim(text).to_vec());
                FieldValue::List(texts.filter(|text| !text.is_empty()).map(FieldValue::Text).collect())
            }),
            TextKind::One => self.text(shown, form, &datum, seen, frame, field.by_case).map(FieldValue::Text),
        };
        (form.value(&datum), text.unwrap_or(FieldValue::Null))
    }

    /// Value in the form of the field.
    fn datum(&self, shown: &ItemForm, seen: &PrintedValue) -> Datum {
        match (shown.recast, seen.number, &seen.datum) {
            (true, Some(number), _) => shown.form.cast(number, self.word),
            (_, _, Some(datum)) => datum.clone(),
            _ => Datum::Number { raw: 0, bits: 64 },
        }
    }

    /// Text of a switch, or of an `E` or `P`. The text of the case takes precedence, then the text of the code, then
    /// the text of a printed value that shares the field.
    fn text(
        &self,
        shown: &ItemForm,
        form: PrintForm,
        datum: &Datum,
        seen: &PrintedValue,
        frame: &Frame,
        by_case: bool,
    ) -> Option<Vec<u8>> {
        let case = shown.texts.as_ref().zip(seen.case).and_then(|(texts, case)| match by_case {
            true => texts.leads[case].clone(),
            false if texts.is_flag => None,
            false => texts.cases[case].clone(),
        });
        let own = || {
            let own = shown.texts.iter().flat_map(|texts| &texts.own);
            own.filter_map(|(_, own)| {
                let seen = frame.get(&own.path)?;
                self.text(own, own.form, &self.datum(own, seen), seen, frame, false)
            })
            .next()
        };
        case.or_else(|| self.code_text(form, datum)).or_else(own)
    }

    /// Name of an error number, or path of a process.
    fn code_text(&self, form: PrintForm, datum: &Datum) -> Option<Vec<u8>> {
        let Datum::Number { raw, .. } = datum else { return None };
        match form {
            PrintForm::Code(Code::Errno(_)) if *raw != 0 => {
                errno_name(*raw as u64).map(|name| name.as_bytes().to_vec())
            }
            PrintForm::Code(Code::Path(_)) => self.context.processes.get(&(*raw as u64)).cloned(),
            _ => None,
        }
    }

    /// Value of an entry `name=$macro`.
    fn value_at_end(&self, form: PrintForm, seen: &PrintedValue) -> (FieldValue, FieldValue) {
        if seen.null {
            return (FieldValue::Null, FieldValue::Null);
        }
        let datum = match (seen.number, &seen.datum) {
            (Some(number), _) => form.cast(number, self.word),
            (None, Some(datum)) => datum.clone(),
            (None, None) => return (FieldValue::Null, FieldValue::Null),
        };
        let text = self.code_text(form, &datum).map_or(FieldValue::Null, FieldValue::Text);
        (form.value(&datum), text)
    }
}

/// Value as a 64-bit number, for a code that a comment applies.
fn as_number(value: &FieldValue) -> u64 {
    match value {
        FieldValue::Bool(value) => u64::from(*value),
        FieldValue::Int(value) => *value as u64,
        FieldValue::Uint(value) => *value,
        FieldValue::Time(seconds) => u64::from(*seconds),
        _ => 0,
    }
}

fn json_object(fields: &[(String, FieldValue)]) -> String {
    let fields = fields.iter().filter(|(_, value)| *value != FieldValue::Null);
    let members: Vec<String> = fields.map(|(name, value)| format!("\"{name}\":{}", json(value))).collect();
    format!("{{{}}}", members.join(","))
}

fn json(value: &FieldValue) -> String {
    match value {
        FieldValue::Null => "null".into(),
        FieldValue::Bool(value) => value.to_string(),
        FieldValue::Int(value) => value.to_string(),
        FieldValue::Uint(value) if *value <= 1 << 53 => value.to_string(),
        FieldValue::Uint(value) => format!("\"{value}\""),
        FieldValue::Float32(value) => json_float(f64::from(*value), &format!("{value:?}")),
        FieldValue::Float64(value) => json_float(*value, &format!("{value:?}")),
        FieldValue::Text(text) => json_text(text),
        FieldValue::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\"{digits}\"")
        }
        FieldValue::Time(seconds) => json_time(*seconds),
        FieldValue::List(values) => format!("[{}]", values.iter().map(json).collect::<Vec<_>>().join(",")),
        FieldValue::Struct(fields) => json_object(fields),
    }
}

fn json_float(value: f64, digits: &str) -> String {
    if value.is_nan() {
        return "\"NaN\"".into();
    }
    match value.is_infinite() {
        true => format!("\"{}Infinity\"", if value < 0.0 { "-" } else { "" }),
        false => digits.into(),
    }
}

/// JSON string; bytes that are not UTF-8 become U+FFFD.
pub(crate) fn json_text(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for letter in String::from_utf8_lossy(text).chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0'..='\x1f' => {
                let _ = write!(out, "\\u{:04x}", letter as u32);
            }
            _ => out.push(letter),
        }
    }
    out + "\""
}

/// Seconds since 1970 as a JSON string.
pub(crate) fn json_time(seconds: u32) -> String {
    format!("\"{}\"", iso_8601(seconds))
}

/// Seconds since 1970 as `1999-10-28T13:34:05Z`.
fn iso_8601(seconds: u32) -> String {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let text = String::from_utf8(number::ctime(seconds)).expect("ASCII");
    let (month, day, time, year) = (&text[4..7], &text[8..10], &text[11..19], &text[20..24]);
    let month = MONTHS.find(month).map_or(0, |at| at / 3 + 1);
    format!("{year}-{month:02}-{}T{time}Z", day.replace(' ', "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_json_of_the_specification() {
        let check = |value: FieldValue, text: &str| assert_eq!(json(&value), text);
        check(FieldValue::Uint(1 << 53), "9007199254740992");
        check(FieldValue::Uint((1 << 53) + 1), "\"9007199254740993\"");
        check(FieldValue::Int(i64::MIN), "-9223372036854775808");
        check(FieldValue::Float32(0.1), "0.1");
        check(FieldValue::Float64(1.0), "1.0");
        check(FieldValue::Float64(2.5e30), "2.5e30");
        check(FieldValue::Float64(f64::NEG_INFINITY), "\"-Infinity\"");
        check(FieldValue::Float32(f32::NAN), "\"NaN\"");
        check(FieldValue::Time(941117645), "\"1999-10-28T13:34:05Z\"");
        check(FieldValue::Time(0), "\"1970-01-01T00:00:00Z\"");
        check(FieldValue::Bytes(vec![1, 0xab]), "\"01ab\"");
        check(FieldValue::Text(b"a\"\\\xff\x01".to_vec()), "\"a\\\"\\\\\u{fffd}\\u0001\"");
        let members = vec![("a".into(), FieldValue::Null), ("b".into(), FieldValue::Int(1))];
        check(FieldValue::List(vec![FieldValue::Null, FieldValue::Struct(members)]), "[null,{\"b\":1}]");
    }
}
