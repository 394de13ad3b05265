//! Fields of an event and their descriptions, as the library presents them.

use super::json::{hex, write_float, write_time};
use crate::json;
use std::fmt;
use tfbc_vm::TextBuf;

/// Named value of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Unique name: a second field called `x` is `x_2`.
    pub name: String,
    /// Value as it was recorded.
    pub value: FieldValue,
    /// Value as text. For QNX, as in the event's text; for AIX, as in JSON lines, without quotation marks.
    pub text: String,
}

/// Value of a [`Field`].
///
/// Its [`Display`](fmt::Display) text is the value of JSON lines and tables without quotation marks, and empty for
/// [`FieldValue::Missing`]. Lists and structs are JSON; missing items of a list are `null`.
///
/// ```
/// use tfbc::FieldValue::{Bytes, Integer, List, Missing, Text, Timestamp};
///
/// assert_eq!(Text("ls -l".into()).to_string(), "ls -l");
/// assert_eq!(Timestamp(941_117_645).to_string(), "1999-10-28T13:34:05Z");
/// assert_eq!(Bytes(vec![0x2a, 0xff]).to_string(), "2aff");
/// assert_eq!(List(vec![Integer(-1), Text("EINTR".into()), Missing]).to_string(), r#"[-1,"EINTR",null]"#);
/// assert_eq!(format!("{:>4}{Missing}", Integer(7)), "   7");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// No value: the event is too short to contain the field, or the case that prints it did not run.
    Missing,
    /// A single bit.
    Bool(bool),
    /// Signed or unsigned number of up to 64 bits.
    Integer(i128),
    /// Float of 4 or 8 bytes.
    Float(f64),
    /// Text; bytes that are not UTF-8 are replaced.
    Text(String),
    /// Bytes, for example from `LOOP n { X0 }`.
    Bytes(Vec<u8>),
    /// Time in seconds since 1970, UTC.
    Timestamp(u32),
    /// Items of an AIX loop or of a QNX array, or words of `BITFLAGS` or of enums. An item without value is
    /// [`FieldValue::Missing`].
    List(Vec<FieldValue>),
    /// Item of a loop with several fields.
    Struct(Vec<Field>),
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldValue::Missing => f.pad(""),
            FieldValue::Text(text) => f.pad(text),
            value => {
                let mut out = TextBuf::new();
                value.push_json(&mut out);
                f.pad(String::from_utf8_lossy(out.as_bytes()).trim_matches('"'))
            }
        }
    }
}

impl FieldValue {
    fn push_json(&self, out: &mut TextBuf) {
        match self {
            FieldValue::Missing => out.push(b"null"),
            FieldValue::Bool(value) => out.push(if *value { b"true" } else { b"false" }),
            FieldValue::Integer(number) => out.push(number.to_string().as_bytes()),
            // A float of 4 bytes has fewer digits than the same number in 8 bytes.
            FieldValue::Float(number) if f64::from(*number as f32) == *number => {
                write_float(format_args!("{:?}", *number as f32), *number, out);
            }
            FieldValue::Float(number) => write_float(format_args!("{number:?}"), *number, out),
            FieldValue::Text(text) => json::string(text.as_bytes(), out),
            FieldValue::Bytes(bytes) => {
                out.push(b"\"");
                bytes.iter().for_each(|byte| out.push(&hex(*byte)));
                out.push(b"\"");
            }
            FieldValue::Timestamp(seconds) => write_time(*seconds, out),
            FieldValue::List(items) => {
                out.push(b"[");
                for (at, item) in items.iter().enumerate() {
                    out.push(if at > 0 { b"," } else { b"" });
                    item.push_json(out);
                }
                out.push(b"]");
            }
            FieldValue::Struct(members) => {
                let known = members.iter().filter(|member| member.value != FieldValue::Missing);
                out.push(b"{");
                for (at, member) in known.enumerate() {
                    out.push(if at > 0 { b"," } else { b"" });
                    json::string(member.name.as_bytes(), out);
                    out.push(b":");
                    member.value.push_json(out);
                }
                out.push(b"}");
            }
        }
    }
}

/// Name and type of a field, as `tfbc fields` lists them.
///
/// ```
/// use tfbc::Formats;
///
/// let formats = Formats::builtin();
/// let dispatch = formats.events().find(|event| event.id == "106").unwrap();
/// let timer = dispatch.fields.iter().find(|field| field.name == "timer").unwrap();
/// assert_eq!((&*timer.kind, timer.hint), ("int64", "ns"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFormat {
    /// Name, as in [`Field`](crate::Field).
    pub name: String,
    /// Type: `bool`, `int64`, `uint64`, `float32`, `float64`, `utf8`, `binary`, `fixed_size_binary`, `timestamp`,
    /// `dictionary` for words, or `list of` such a type or of `struct`.
    pub kind: String,
    /// Hint for displaying a number, or the numbers of a list: `hex`, `oct`, `bin`, `errno`, `pid` or `ns`; empty if
    /// there is none.
    pub hint: &'static str,
    /// Words of a dictionary that the template contains.
    pub texts: Vec<String>,
    /// Fields of the structs of a list.
    pub members: Vec<FieldFormat>,
    /// Format file that prints the value, as the user named it; `None` for a built-in stanza.
    pub file: Option<String>,
    /// Line in which the code that prints the value starts, from 1.
    pub line: u32,
    /// Column in which the code that prints the value starts, from 1.
    pub column: u32,
}
