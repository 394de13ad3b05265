//! Typed fields: the schema of a stanza, and the row of an event.
//!
//! `expand` inlines functions and subroutines, `build` decides which printed values are the same field and names it,
//! `comment` applies the author's choices, and `row` takes the values from a run.

mod build;
mod comment;
mod expand;
mod form;
pub(crate) mod name;
mod row;
mod schema;
mod value;

use std::fmt::Write;

use tfbc_grammar::trcfmt::ast::Stanza;

use self::form::FieldType;
use self::schema::{NameRule, TextKind, TypedField};
use super::{Reference, shown_id};

pub(super) use comment::{CommentEntry, entries};
pub use row::FieldRow;
pub(crate) use row::{json_text, json_time};
pub use schema::{CommentProblem, FieldSchema};
pub use value::FieldValue;

impl<'ast> Reference<'ast> {
    /// Fields of a stanza's events.
    pub fn schema(&self, stanza: &Stanza<'ast>) -> FieldSchema {
        let fields = build::fields(&expand::expand(self, stanza));
        let mut schema = FieldSchema { fields, problems: Vec::new() };
        if let Some(entries) = self.comments.get(&stanza.id.node.0) {
            comment::apply(&mut schema, entries, stanza);
        }
        schema
    }

    /// Stanzas that files define.
    pub fn stanzas_of_files(&self) -> Vec<&Stanza<'ast>> {
        self.stanzas.values().filter(|stanza| !self.builtin.contains(&stanza.id.node.0)).collect()
    }

    /// Names of the macros that a stanza assigns or declares.
    pub fn macros(&self, stanza: &Stanza<'ast>) -> Vec<String> {
        let names = super::macros_in_order(stanza.body).into_iter();
        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// Indices of the entries that would be errors in a comment before a stanza.
    pub fn bad_entries(&self, stanza: &Stanza<'ast>, entries: &[String]) -> Vec<usize> {
        let entries: Vec<CommentEntry> = (0..).zip(entries).map(|(at, text)| CommentEntry::new(text, at)).collect();
        let fields = build::fields(&expand::expand(self, stanza));
        let mut schema = FieldSchema { fields, problems: Vec::new() };
        comment::apply(&mut schema, &entries, stanza);
        let errors = schema.problems.iter().filter(|problem| problem.is_error);
        errors.map(|problem| problem.offset as usize).collect()
    }

    /// Output of `tfbc fields --to json`.
    pub fn listing(&self) -> String {
        let ids = self.stanzas.keys().filter(|id| !self.builtin.contains(id));
        let mut ids: Vec<u16> = ids.copied().collect();
        ids.sort_unstable();
        let lines: Vec<String> = ids.iter().map(|id| self.listing_of(&self.stanzas[id])).collect();
        format!("[\n{}\n]\n", lines.join(",\n"))
    }

    /// JSON object that lists the fields of a stanza.
    pub fn listing_of(&self, stanza: &Stanza<'ast>) -> String {
        let schema = self.schema(stanza);
        let fields = self.list(schema.fields.iter().filter(|field| !field.omitted));
        let id = shown_id(stanza.id.node.0);
        format!("{{\"id\":\"{id}\",\"label\":{},\"fields\":{fields}}}", row::json_text(&label(stanza)))
    }

    fn list<'f>(&self, fields: impl Iterator<Item = &'f TypedField>) -> String {
        let listed: Vec<String> = fields.flat_map(|field| self.list_field(field)).collect();
        format!("[{}]", listed.join(","))
    }

    /// Objects of a field and its text.
    fn list_field(&self, field: &TypedField) -> Vec<String> {
        let mut object = format!("{{\"name\":\"{}\",{}", field.name, self.list_type(field));
        let _ = write!(object, ",\"shown\":{}", row::json_text(field.shown.as_bytes()));
        if let Some(file) = field.place.file.and_then(|file| self.files.get(file)) {
            let (line, column) = file.line_column(field.place.offset);
            let name = row::json_text(file.name.as_bytes());
            let _ = write!(object, ",\"file\":{name},\"line\":{line},\"column\":{column}");
        }
        let rule = match field.rule {
            NameRule::Comment => "comment",
            NameRule::Text => "text",
            NameRule::Macro => "macro",
            NameRule::Case => "case",
            NameRule::Timer => "timer",
            NameRule::Position => "position",
        };
        let _ = write!(object, ",\"rule\":\"{rule}\"}}");
        let mut objects = vec![object];
        let ty = match field.text {
            TextKind::None => return objects,
            TextKind::One => "\"dictionary\"",
            TextKind::List => "\"list\",\"items\":{\"type\":\"dictionary\"}",
        };
        let texts: Vec<String> = field.texts.iter().map(|text| row::json_text(text)).collect();
        let texts = if texts.is_empty() { String::new() } else { format!(",\"texts\":[{}]", texts.join(",")) };
        objects.push(format!("{{\"name\":\"{0}_text\",\"type\":{ty},\"of\":\"{0}\"{texts}}}", field.name));
        objects
    }

    /// Keys `type` to `hint`.
    fn list_type(&self, field: &TypedField) -> String {
        let name = match field.ty {
            FieldType::Bool => "bool",
            FieldType::Int64 => "int64",
            FieldType::Uint64 => "uint64",
            FieldType::Float32 => "float32",
            FieldType::Float64 => "float64",
            FieldType::Utf8 => "utf8",
            FieldType::Binary => "binary",
            FieldType::FixedBinary(_) => "fixed_size_binary",
            FieldType::Timestamp => "timestamp",
            FieldType::List | FieldType::ListOfStructs => "list",
        };
        let mut keys = format!("\"type\":\"{name}\"");
        let _ = match field.ty {
            FieldType::FixedBinary(size) => write!(keys, ",\"size\":{size}"),
            FieldType::List => write!(keys, ",\"items\":{{{}}}", self.list_type(&field.members[0])),
            FieldType::ListOfStructs => {
                let members = self.list(field.members.iter());
                write!(keys, ",\"items\":{{\"type\":\"struct\",\"fields\":{members}}}")
            }
            _ => Ok(()),
        };
        if let Some(hint) = field.hint {
            let _ = write!(keys, ",\"hint\":\"{hint}\"");
        }
        keys
    }
}

/// Label of a stanza without `@`; empty if there is none.
pub fn label(stanza: &Stanza) -> Vec<u8> {
    let Some(label) = stanza.label else { return Vec::new() };
    if label.hidden { label.text.bytes[1..].to_vec() } else { label.text.bytes.to_vec() }
}

/// A source file, for the positions of fields.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) name: String,
    bytes: Vec<u8>,
}

impl SourceFile {
    pub(super) fn new(name: &str, bytes: &[u8]) -> SourceFile {
        SourceFile { name: name.into(), bytes: bytes.into() }
    }

    /// Line and column of an offset, both from 1, the column in bytes. A byte order mark is not part of its line.
    fn line_column(&self, offset: u32) -> (usize, usize) {
        let mark = if self.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let before = &self.bytes[mark..offset as usize];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        (line, column)
    }
}
