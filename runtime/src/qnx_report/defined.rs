//! Texts and fields of records that event definitions format, prepared once per event; fields as a JSON array.

use crate::catalog::{Catalog, RecordEntry};
use crate::fields::{RecordSchema, record_schemas};
use crate::general_path;
use crate::json;
use crate::literal::store;
use crate::output_format::Form;
use tfbc_vm::{
    CellValue, Cells, FieldShown, FormatShown, Items, Notation, PreparedEntry, Program, Row, Schema, Space, TextBuf,
    num,
};

/// Values by event, each computed when its event occurs first.
#[derive(Debug)]
struct ByEvent<T> {
    /// By class and event, the index of the value plus 1; 0 if the event did not occur.
    places: Vec<u16>,
    all: Vec<T>,
}

impl<T> Default for ByEvent<T> {
    fn default() -> Self {
        Self { places: Vec::new(), all: Vec::new() }
    }
}

impl<T> ByEvent<T> {
    /// Value of an event.
    #[inline]
    fn of(&mut self, class: u8, event: u16, compute: impl FnOnce() -> T) -> &mut T {
        let id = usize::from(Space::record_id(class, event));
        let known = self.places.get(id).map_or(0, |place| usize::from(*place));
        let at = if known > 0 { known } else { self.add(id, compute()) };
        &mut self.all[at - 1]
    }

    #[cold]
    fn add(&mut self, id: usize, value: T) -> usize {
        self.places.resize(1 << 15, 0);
        self.all.push(value);
        self.places[id] = self.all.len() as u16;
        self.all.len()
    }
}

/// Routines that print the events that occurred, of those that one definition names.
#[derive(Debug, Default)]
pub(super) struct DefinedTexts<'r>(ByEvent<[Option<Option<PreparedText<'r>>>; 4]>);

/// Routine that prints an event.
#[derive(Debug)]
pub(super) struct PreparedText<'r> {
    pub entry: PreparedEntry<'r>,
    /// True if the text never needs escapes or quotes in the report's format.
    pub is_plain: bool,
}

impl<'r> DefinedTexts<'r> {
    /// Routine of an entry for an event in an environment; `None` if the verifier refuses it.
    #[inline]
    pub fn of(
        &mut self,
        catalog: &'r Catalog<'r>,
        entry: &RecordEntry,
        (class, event, env): (u8, u16, usize),
        form: Form,
    ) -> Option<&PreparedText<'r>> {
        let prepare = || {
            let entry = general_path::prepare(catalog.record_program(entry), entry.hook, env)?;
            let is_plain = form == Form::Text || entry.prints_only(|text| form.is_plain(text));
            Some(PreparedText { entry, is_plain })
        };
        self.0.of(class, event, || [const { None }; 4])[env].get_or_insert_with(prepare).as_ref()
    }
}

/// Fields of the events that occurred.
#[derive(Debug, Default)]
pub(super) struct DefinedEvents<'r>(ByEvent<Box<[DefinedFields<'r>]>>);

/// Fields of an event in one program.
#[derive(Debug)]
pub(super) struct DefinedFields<'r> {
    program: &'r Program<'r>,
    /// Index of the entry in its program.
    hook: u32,
    /// Routine per environment that occurred; `None` if the verifier refuses it.
    entries: [Option<Option<PreparedEntry<'r>>>; 4],
    pub schema: Schema,
    formats: Vec<JsonFormat>,
}

/// Format of a datakey, with its fixed parts as JSON.
#[derive(Debug)]
struct JsonFormat {
    cut: u16,
    shows_value: bool,
    fields: Vec<JsonField>,
}

#[derive(Debug)]
struct JsonField {
    /// `{"name":"…","raw":`
    start: Piece,
    /// Label and colon.
    label: Piece,
    shown: FieldShown,
    /// Words, each with a blank before it if values are shown too.
    words: Vec<Piece>,
}

/// Fixed text, escaped for a JSON string. A short one is written by one store.
#[derive(Debug)]
struct Piece {
    short: [u8; Piece::MAX],
    text: Vec<u8>,
}

impl Piece {
    /// Bytes that are stored.
    const MAX: usize = 64;

    fn new(text: Vec<u8>) -> Self {
        let mut short = [b' '; Self::MAX];
        let n = text.len().min(Self::MAX);
        short[..n].copy_from_slice(&text[..n]);
        Self { short, text }
    }

    #[inline(always)]
    fn push(&self, out: &mut TextBuf) {
        if self.text.len() > Self::MAX {
            return out.push(&self.text);
        }
        store(out.spare(), 0, self.short);
        out.advance(self.text.len());
    }
}

impl<'r> DefinedEvents<'r> {
    /// Fields of an event, one per program.
    #[inline]
    pub fn of(&mut self, catalog: &'r Catalog<'r>, class: u8, event: u16) -> &mut [DefinedFields<'r>] {
        self.0.of(class, event, || DefinedFields::of(catalog, class, event))
    }
}

impl<'r> DefinedFields<'r> {
    /// Fields of an event, one per program.
    fn of(catalog: &'r Catalog<'r>, class: u8, event: u16) -> Box<[DefinedFields<'r>]> {
        let schemas = record_schemas(catalog, class, event).into_iter();
        let fields = schemas.map(|RecordSchema { program, entry, schema }| DefinedFields {
            program,
            hook: entry.hook,
            entries: [const { None }; 4],
            formats: schema.formats.iter().map(|format| JsonFormat::new(format, &schema)).collect(),
            schema,
        });
        fields.collect()
    }

    /// Routine of an environment; `None` if the verifier refuses it.
    #[inline]
    pub fn entry(&mut self, env: usize) -> Option<&PreparedEntry<'r>> {
        let (program, hook) = (self.program, self.hook);
        self.entries[env].get_or_insert_with(|| general_path::prepare(program, hook, env)).as_ref()
    }

    /// Appends the fields as objects of an array. `is_first` is true if the array is still empty.
    pub fn push_objects(&self, cells: Cells<'_>, is_first: &mut bool, out: &mut TextBuf) {
        push_objects(&self.formats, cells, is_first, out);
    }

    /// Appends the text that the definitions print, escaped for a JSON string.
    pub fn push_text(&self, cells: Cells<'_>, out: &mut TextBuf) {
        push_text(&self.formats, cells, out);
    }
}

/// Visits the fields that are shown, with their values. A field without value is left out. If the record ends too
/// early, the first missing field is shown without value, and the rest of its format is left out.
#[inline(always)]
fn each_field<'c>(
    formats: &[JsonFormat],
    cells: Cells<'c>,
    mut visit: impl FnMut(&JsonFormat, &JsonField, Option<CellValue<'c>>),
) {
    for format in formats {
        let is_cut = matches!(cells.get(format.cut), CellValue::Number(_));
        for field in &format.fields {
            match cells.get(field.shown.cell) {
                CellValue::Null if is_cut => {
                    visit(format, field, None);
                    break;
                }
                CellValue::Null => {}
                value => visit(format, field, Some(value)),
            }
        }
    }
}

fn push_objects(formats: &[JsonFormat], cells: Cells<'_>, is_first: &mut bool, out: &mut TextBuf) {
    each_field(formats, cells, |format, field, value| {
        if !std::mem::take(is_first) {
            out.push(b",");
        }
        field.start.push(out);
        match value {
            Some(CellValue::Number(number)) => field.push_raw(number, out),
            Some(value) => field.push_value(value, out),
            None => return out.push(b"null,\"text\":\"<truncated>\"}"),
        }
        store(out.spare(), 0, *b",\"text\":\"      ");
        out.advance(9);
        field.push_text(value.unwrap_or(CellValue::Null), cells, format.shows_value, out);
        out.push(b"\"}");
    });
}

fn push_text(formats: &[JsonFormat], cells: Cells<'_>, out: &mut TextBuf) {
    let mut blank: &[u8] = b"";
    each_field(formats, cells, |format, field, value| {
        out.push(std::mem::replace(&mut blank, b" "));
        field.label.push(out);
        match value {
            Some(value) => field.push_text(value, cells, format.shows_value, out),
            None => out.push(b"<truncated>"),
        }
    });
}

/// Appends the fields of a row as objects of an array.
pub fn write_objects(schema: &Schema, row: &Row, out: &mut TextBuf) {
    let formats: Vec<_> = schema.formats.iter().map(|format| JsonFormat::new(format, schema)).collect();
    push_objects(&formats, row.cells(), &mut true, out);
}

/// Appends the text of a row, escaped for a JSON string.
pub fn write_record_text(schema: &Schema, row: &Row, out: &mut TextBuf) {
    let formats: Vec<_> = schema.formats.iter().map(|format| JsonFormat::new(format, schema)).collect();
    push_text(&formats, row.cells(), out);
}

impl JsonFormat {
    fn new(format: &FormatShown, schema: &Schema) -> Self {
        let field = |shown: &FieldShown| {
            let mut start = TextBuf::new();
            start.push(b"{\"name\":");
            json::string(shown.label.as_bytes(), &mut start);
            start.push(b",\"raw\":");
            let texts = shown.words.map_or(&[][..], |cell| schema.texts(cell));
            let blank: &[u8] = if format.shows_value { b" " } else { b"" };
            let words = texts.iter().map(|text| Piece::new([blank, &escaped(text.as_bytes())].concat())).collect();
            let label = Piece::new([&escaped(shown.label.as_bytes())[..], b":"].concat());
            JsonField { start: Piece::new(start.as_bytes().to_vec()), label, shown: shown.clone(), words }
        };
        JsonFormat {
            cut: format.cut,
            shows_value: format.shows_value,
            fields: format.fields.iter().map(field).collect(),
        }
    }
}

/// Escapes a text for a JSON string, without quotation marks.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut out = TextBuf::new();
    json::string(text, &mut out);
    out.as_bytes()[1..out.len() - 1].to_vec()
}

impl JsonField {
    /// Appends the raw value of a text or an array.
    fn push_value(&self, value: CellValue<'_>, out: &mut TextBuf) {
        match value {
            CellValue::Bytes(text) => json::string(text, out),
            CellValue::List(items) => {
                out.push(b"[");
                for (at, item) in items.enumerate() {
                    out.push(if at > 0 { b", " } else { b"" });
                    match item.get(0) {
                        CellValue::Number(number) => self.push_raw(number, out),
                        _ => out.push(b"null"),
                    }
                }
                out.push(b"]");
            }
            CellValue::Null | CellValue::Label(_) | CellValue::Number(_) => out.push(b"null"),
        }
    }

    /// Appends the text, escaped for a JSON string.
    #[inline(always)]
    fn push_text(&self, value: CellValue<'_>, cells: Cells<'_>, shows_value: bool, out: &mut TextBuf) {
        match (value, self.shown.words.map_or(CellValue::Null, |cell| cells.get(cell))) {
            (CellValue::Bytes(text), _) => push_escaped(text, out),
            (CellValue::List(items), _) => {
                out.push(b"[");
                for (at, item) in items.enumerate() {
                    out.push(if at > 0 { b", " } else { b"" });
                    if let CellValue::Number(number) = item.get(0) {
                        self.push_number(number, out);
                    }
                }
                out.push(b"]");
            }
            (CellValue::Number(number), CellValue::Label(word)) => {
                if shows_value {
                    self.push_number(number, out);
                }
                if let Some(word) = self.words.get(word as usize) {
                    word.push(out);
                }
            }
            (CellValue::Number(number), CellValue::List(words)) => self.push_words(number, words, shows_value, out),
            (CellValue::Number(number), _) => self.push_number(number, out),
            _ => {}
        }
    }

    /// Appends a number and a list of words.
    fn push_words(&self, number: u64, words: Items<'_>, shows_value: bool, out: &mut TextBuf) {
        let mut is_first = true;
        for word in words {
            if is_first && shows_value {
                self.push_number(number, out);
            }
            if let CellValue::Bytes(word) = word.get(0) {
                out.push(if is_first && !shows_value { b"" } else { b" " });
                push_escaped(word, out);
            }
            is_first = false;
        }
        if is_first {
            self.push_number(number, out);
        }
    }

    /// Appends the number in decimal, by its declared sign.
    #[inline(always)]
    fn push_raw(&self, number: u64, out: &mut TextBuf) {
        let room = out.spare();
        let end = if self.shown.is_signed {
            let spare = 64 - 8 * u32::from(self.shown.size);
            num::int(room, 0, ((number << spare) as i64 >> spare) as u64)
        } else {
            num::dec(room, 0, number)
        };
        out.advance(end);
    }

    /// Appends the number in its notation.
    #[inline(always)]
    fn push_number(&self, number: u64, out: &mut TextBuf) {
        let pattern = number & u64::MAX >> (64 - 8 * u32::from(self.shown.size));
        let room = out.spare();
        let end = match self.shown.notation {
            Notation::Decimal => return self.push_raw(number, out),
            Notation::Char if (0x20..=0x7e).contains(&pattern) => {
                let is_special = matches!(pattern as u8, b'"' | b'\\');
                room[0] = b'\\';
                room[usize::from(is_special)] = pattern as u8;
                1 + usize::from(is_special)
            }
            Notation::Hex | Notation::Char => {
                room[..2].copy_from_slice(b"0x");
                num::hex_min(room, 2, pattern)
            }
            Notation::Octal => {
                room[0] = b'0';
                if pattern == 0 { 1 } else { num::oct(room, 1, pattern) }
            }
        };
        out.advance(end);
    }
}

/// Appends a text, escaped for a JSON string.
fn push_escaped(text: &[u8], out: &mut TextBuf) {
    if json::is_plain(text) {
        return out.push(text);
    }
    out.push(&escaped(text));
}
