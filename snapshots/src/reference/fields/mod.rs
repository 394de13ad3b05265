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

use std::collections::HashMap;
use std::fmt::Write;

use tfbc_grammar::trcfmt::ast::{Code, Stanza};

use self::form::{FieldType, PrintForm};
use super::run::Datum;
use super::{Reference, shown_id};

pub use comment::CommentProblem;
pub(super) use comment::{CommentEntry, entries};
pub use row::{FieldRow, FieldValue};
pub(crate) use row::{json_text, json_time};

/// Printed values of an event or loop iteration, by their place in the stanza with all calls expanded.
pub(super) type Frame = HashMap<Vec<u32>, PrintedValue>;

/// One execution of a printed value.
#[derive(Debug, Clone, Default)]
pub(super) struct PrintedValue {
    /// True if the value depends on something that the event does not contain.
    pub(super) null: bool,
    /// Value by the printed value's own code or cast, after the mask.
    pub(super) datum: Option<Datum>,
    /// Value of the macro without cast and mask.
    pub(super) number: Option<u64>,
    /// Case of a switch that ran.
    pub(super) case: Option<usize>,
    /// Texts of the BITFLAGS entries that match.
    pub(super) flags: Option<Vec<Vec<u8>>>,
    /// Iterations of a loop, each with its values.
    pub(super) turns: Vec<Frame>,
}

impl PrintedValue {
    pub(super) fn of(datum: &Datum, number: Option<u64>) -> PrintedValue {
        PrintedValue { datum: Some(datum.clone()), number, ..PrintedValue::default() }
    }
}

/// Position of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ItemPlace {
    /// `None` for a built-in stanza.
    file: Option<usize>,
    offset: u32,
}

/// Rule that named a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameRule {
    Comment,
    Text,
    Macro,
    Case,
    Timer,
    Position,
}

/// Kind of a field's `NAME_text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    None,
    One,
    List,
}

/// Fields of a stanza.
#[derive(Debug, Clone)]
pub struct FieldSchema {
    fields: Vec<TypedField>,
    /// Errors and warnings of the comment.
    pub problems: Vec<CommentProblem>,
}

impl FieldSchema {
    /// Number of fields, without their texts.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Rules of the specification that were applied, for counting them.
    pub fn traits(&self) -> Vec<String> {
        let mut found = Vec::new();
        for field in &self.fields {
            field.traits("", &mut found);
        }
        if !self.problems.is_empty() {
            found.push("surplus entries".into());
        }
        found
    }
}

impl TypedField {
    fn traits(&self, depth: &str, found: &mut Vec<String>) {
        let mut add = |text: &str| found.push(format!("{depth}{text}"));
        add(&format!("rule {:?}", self.rule));
        add(&format!("type {:?}, hint {}", self.ty, self.hint.unwrap_or("none")));
        let number = self.name.rsplit('_').next().unwrap_or_default();
        let is_numbered = self.name.contains('_') && number.parse::<u32>().is_ok();
        for (is_true, text) in [
            (self.text == TextKind::One, "text"),
            (self.text == TextKind::List, "list of texts"),
            (self.text != TextKind::None && self.texts.is_empty(), "text without texts of the template"),
            (self.sources.len() > 1, "several printed values"),
            (self.sources.len() > 1 && !self.members.is_empty(), "several lists"),
            (self.name.starts_with("arg_"), "column's name"),
            (is_numbered, "number"),
            (self.code.is_some(), "code of a comment"),
            (self.by_case, "enum"),
            (self.omitted, "omitted"),
            (self.at_end.is_some(), "at the end"),
            (self.name.len() > 30, "long name"),
        ] {
            if is_true {
                add(text);
            }
        }
        for source in &self.sources {
            let FieldOrigin::Shown(ItemForm { texts: Some(texts), recast, .. }) = source else { continue };
            add(if texts.is_flag { "flag" } else { "switch" });
            if *recast {
                add("switch with the form of an own printed value");
            }
            for (_, own) in &texts.own {
                add(if own.texts.is_some() { "own switch" } else { "own printed value" });
                if own.has_text() {
                    add("own printed value with a text");
                }
            }
        }
        for member in &self.members {
            member.traits(&format!("in a list: {}", depth.replace("in a list: ", "in a list of lists: ")), found);
        }
    }
}

/// A field of a table or struct.
#[derive(Debug, Clone)]
struct TypedField {
    name: String,
    rule: NameRule,
    ty: FieldType,
    hint: Option<&'static str>,
    text: TextKind,
    /// Texts of the template.
    texts: Vec<Vec<u8>>,
    /// Members of a list.
    members: Vec<TypedField>,
    shown: String,
    place: ItemPlace,
    sources: Vec<FieldOrigin>,
    /// Code that a comment applies to the value.
    code: Option<Code>,
    /// True if a comment gives every case a text.
    by_case: bool,
    /// True if a comment omits the field.
    omitted: bool,
    /// Macro whose value at the end of the event is the field's, with its form.
    at_end: Option<(Vec<u8>, PrintForm)>,
}

/// A printed value of a field.
#[derive(Debug, Clone)]
enum FieldOrigin {
    Shown(ItemForm),
    Loop { path: Vec<u32>, ty: FieldType, members: Vec<TypedField> },
}

/// A printed value that is not a loop.
#[derive(Debug, Clone)]
struct ItemForm {
    path: Vec<u32>,
    form: PrintForm,
    /// True if the form comes from a printed value instead of the selector.
    recast: bool,
    /// Texts of a switch.
    texts: Option<SwitchTexts>,
}

#[derive(Debug, Clone)]
struct SwitchTexts {
    /// Texts of text cases.
    cases: Vec<Option<Vec<u8>>>,
    /// Texts before each case's first value.
    leads: Vec<Option<Vec<u8>>>,
    /// Own printed values in the cases.
    own: Vec<(usize, ItemForm)>,
    is_flag: bool,
}

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
