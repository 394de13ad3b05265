//! Text of table values for notebooks. Hints of the columns decide the format, such as hexadecimal.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use jiff_core::Timestamp;
use jiff_core::tz::Offset;
use std::fmt::Write;

/// Limit on the characters shown of a value.
const MAX_SHOWN: usize = 120;

/// Hint of a column; empty if there is none.
fn hint(field: &Field) -> &str {
    field.metadata().get("tfbc:hint").map_or("", String::as_str)
}

/// Type and hint of a column.
pub fn kind(field: &Field) -> String {
    let name = kind_name(field.data_type());
    let hint = hint(field);
    if hint.is_empty() { name } else { format!("{name} {hint}") }
}

fn kind_name(kind: &DataType) -> String {
    match kind {
        DataType::Boolean => "bool".into(),
        DataType::Dictionary(..) => "dictionary".into(),
        DataType::Timestamp(..) => "timestamp".into(),
        DataType::List(item) => format!("list of {}", kind_name(item.data_type())),
        DataType::Struct(_) => "struct".into(),
        DataType::FixedSizeBinary(n) => format!("binary of {n}"),
        other => other.to_string().to_lowercase(),
    }
}

/// Names of a schema's columns, with their types.
pub fn schema(schema: &Schema) -> String {
    let mut out = String::new();
    for field in schema.fields() {
        let _ = writeln!(out, "{}: {}", field.name(), kind(field));
    }
    out
}

/// Text of a value; empty if it is null.
pub fn value(batch: &RecordBatch, column: usize, row: usize) -> String {
    let mut out = String::new();
    write_value(batch.column(column), row, hint(batch.schema().field(column)), &mut out);
    if let Some((end, _)) = out.char_indices().nth(MAX_SHOWN) {
        out.truncate(end);
        out.push('…');
    }
    out
}

fn write_number(number: i128, hint: &str, out: &mut String) {
    let _ = match hint {
        "hex" if number < 0 => write!(out, "{:#x}", number as i64),
        "hex" => write!(out, "{number:#x}"),
        "oct" if number >= 0 => write!(out, "{number:#o}"),
        "bin" if number >= 0 => write!(out, "{number:#b}"),
        "ns" => write!(out, "{number} ns"),
        _ => write!(out, "{number}"),
    };
}

fn write_value(array: &dyn Array, row: usize, hint: &str, out: &mut String) {
    if out.len() > 4 * MAX_SHOWN || array.is_null(row) {
        return;
    }
    match array.data_type() {
        DataType::Boolean => drop(write!(out, "{}", array.as_boolean().value(row))),
        DataType::Int16 => write_number(array.as_primitive::<Int16Type>().value(row).into(), hint, out),
        DataType::Int32 => write_number(array.as_primitive::<Int32Type>().value(row).into(), hint, out),
        DataType::Int64 => write_number(array.as_primitive::<Int64Type>().value(row).into(), hint, out),
        DataType::UInt64 => write_number(array.as_primitive::<UInt64Type>().value(row).into(), hint, out),
        DataType::Decimal128(..) => write_number(array.as_primitive::<Decimal128Type>().value(row), hint, out),
        DataType::Float32 => drop(write!(out, "{:?}", array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => drop(write!(out, "{:?}", array.as_primitive::<Float64Type>().value(row))),
        DataType::Utf8 => out.push_str(array.as_string::<i32>().value(row)),
        DataType::Binary => write_bytes(array.as_binary::<i32>().value(row), out),
        DataType::FixedSizeBinary(_) => write_bytes(array.as_fixed_size_binary().value(row), out),
        DataType::Timestamp(..) => write_time(array.as_primitive::<TimestampMicrosecondType>().value(row), out),
        DataType::Dictionary(..) => {
            if let Some(words) = array.as_any_dictionary_opt() {
                let key = words.normalized_keys()[row];
                write_value(words.values(), key, hint, out);
            }
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            out.push('[');
            for index in 0..items.len() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_value(&items, index, hint, out);
            }
            out.push(']');
        }
        DataType::Struct(members) => {
            out.push('{');
            for (index, (member, column)) in members.iter().zip(array.as_struct().columns()).enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                let _ = write!(out, "{}: ", member.name());
                write_value(column, row, self::hint(member), out);
            }
            out.push('}');
        }
        _ => {}
    }
}

fn write_bytes(bytes: &[u8], out: &mut String) {
    for byte in bytes.iter().take(MAX_SHOWN) {
        let _ = write!(out, "{byte:02x}");
    }
}

/// UTC time from microseconds since 1970.
fn write_time(us: i64, out: &mut String) {
    let Ok(moment) = Timestamp::from_microsecond(us) else { return };
    let us = moment.subsec_microsecond();
    let moment = moment.to_datetime(Offset::UTC);
    let (date, time) = (moment.date(), moment.time());
    let (year, month, day) = (date.year(), date.month(), date.day());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let _ = write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{us:06}");
}
