//! Texts and fields of records that event definitions format, prepared once per event; fields as a JSON array.

use crate::catalog::{Catalog, RecordEntry};
use crate::fields::{RecordSchema, record_schemas};
use crate::general_path;
use crate::json;
use crate::literal::{self, store};
use crate::output_format::Form;
use std::ops::Range;
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
    #[inline(always)]
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
    fields: Vec<JsonField>,
}

/// Field of a datakey, with its fixed parts as JSON.
#[derive(Debug)]
struct JsonField {
    /// Cell of the value.
    cell: u16,
    /// Cell of the words, if it may have some.
    words_cell: Option<u16>,
    /// Cell that is set if the record ends before the end of a field of the datakey's format.
    cut: u16,
    /// Index of the first field after the format.
    after_format: usize,
    /// True if values are shown together with their words.
    shows_value: bool,
    notation: Notation,
    /// Bytes of a number.
    size: u8,
    is_signed: bool,
    /// `{"name":"…","raw":`
    start: Piece,
    /// Label and colon.
    label: Piece,
    /// Words, each with a blank before it if values are shown too.
    words: Vec<Piece>,
}

/// Text of a field in the output.
#[derive(Debug)]
pub(super) struct FieldText {
    /// Index of the field.
    field: usize,
    place: Range<usize>,
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
        match self.put(out.spare(), 0) {
            Some(end) => out.advance(end),
            None => out.push(&self.text),
        }
    }

    /// Writes the text at an offset of at most [`literal::MAX_START`], and returns its end. `None` for a long text.
    #[inline(always)]
    fn put(&self, room: &mut [u8; TextBuf::SPARE], at: usize) -> Option<usize> {
        let len = self.text.len();
        if len > Self::MAX {
            return None;
        }
        let at = literal::start(at);
        store(room, at, self.short);
        Some(at + len)
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
            fields: JsonField::all(&schema),
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
        push_objects(&self.fields, cells, is_first, out);
    }

    /// Appends the text that the definitions print, escaped for a JSON string, and lists the texts of its fields.
    #[inline(never)]
    pub fn push_text(&self, cells: Cells<'_>, texts: &mut Vec<FieldText>, out: &mut TextBuf) {
        push_text(&self.fields, cells, texts, out);
    }

    /// Like [`DefinedFields::push_objects`] for an empty array, with the texts that [`DefinedFields::push_text`] has
    /// appended.
    #[inline(never)]
    pub fn push_objects_of(&self, cells: Cells<'_>, texts: &[FieldText], out: &mut TextBuf) {
        let mut is_first = true;
        for FieldText { field, place } in texts {
            let Some(field) = self.fields.get(*field) else { continue };
            let value = cells.get(field.cell);
            let is_done = match value {
                CellValue::Number(number) => field.push_short(number, place, is_first, out),
                _ => false,
            };
            if !is_done {
                let text = out.as_bytes()[place.clone()].to_vec();
                field.push_object(value, is_first, out, |out| out.push(&text));
            }
            is_first = false;
        }
    }
}

/// Visits the fields that are shown, with their index and value. A field without value is left out. If the record ends
/// too early, the first missing field is shown without value, and the rest of its format is left out.
#[inline(always)]
fn each_field<'c>(fields: &[JsonField], cells: Cells<'c>, mut visit: impl FnMut(usize, &JsonField, CellValue<'c>)) {
    let mut at = 0;
    while let Some(field) = fields.get(at) {
        let value = cells.get(field.cell);
        let is_null = matches!(value, CellValue::Null);
        let is_cut = is_null && matches!(cells.get(field.cut), CellValue::Number(_));
        // One call, so that it is inlined.
        if !is_null || is_cut {
            visit(at, field, value);
        }
        at = if is_cut { field.after_format } else { at + 1 };
    }
}

fn push_objects(fields: &[JsonField], cells: Cells<'_>, is_first: &mut bool, out: &mut TextBuf) {
    each_field(fields, cells, |_, field, value| {
        let text = |out: &mut TextBuf| field.push_text(value, cells, out);
        field.push_object(value, std::mem::take(is_first), out, text);
    });
}

fn push_text(fields: &[JsonField], cells: Cells<'_>, texts: &mut Vec<FieldText>, out: &mut TextBuf) {
    each_field(fields, cells, |at, field, value| {
        let is_first = texts.is_empty();
        let place = match value {
            CellValue::Number(number) => field.push_short_text(number, cells, is_first, out),
            _ => None,
        };
        let place = place.unwrap_or_else(|| {
            out.push(if is_first { b"" } else { b" " });
            field.label.push(out);
            let start = out.len();
            field.push_text(value, cells, out);
            start..out.len()
        });
        texts.push(FieldText { field: at, place });
    });
}

/// Appends the fields of a row as objects of an array.
pub fn write_objects(schema: &Schema, row: &Row, out: &mut TextBuf) {
    push_objects(&JsonField::all(schema), row.cells(), &mut true, out);
}

/// Appends the text of a row, escaped for a JSON string.
pub fn write_record_text(schema: &Schema, row: &Row, out: &mut TextBuf) {
    push_text(&JsonField::all(schema), row.cells(), &mut Vec::new(), out);
}

/// Escapes a text for a JSON string, without quotation marks.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut out = TextBuf::new();
    json::string(text, &mut out);
    out.as_bytes()[1..out.len() - 1].to_vec()
}

impl JsonField {
    /// Fields of an event, in the order of its formats.
    fn all(schema: &Schema) -> Vec<Self> {
        let mut all = Vec::new();
        for format in &schema.formats {
            let after_format = all.len() + format.fields.len();
            all.extend(format.fields.iter().map(|shown| Self::new(shown, format, after_format, schema)));
        }
        all
    }

    fn new(shown: &FieldShown, format: &FormatShown, after_format: usize, schema: &Schema) -> Self {
        let mut start = TextBuf::new();
        start.push(b"{\"name\":");
        json::string(shown.label.as_bytes(), &mut start);
        start.push(b",\"raw\":");
        let texts = shown.words.map_or(&[][..], |cell| schema.texts(cell));
        let blank: &[u8] = if format.shows_value { b" " } else { b"" };
        let words = texts.iter().map(|text| Piece::new([blank, &escaped(text.as_bytes())].concat())).collect();
        let &FieldShown { cell, words: words_cell, notation, size, is_signed, .. } = shown;
        Self {
            cell,
            words_cell,
            cut: format.cut,
            after_format,
            shows_value: format.shows_value,
            notation,
            size,
            is_signed,
            start: Piece::new(start.as_bytes().to_vec()),
            label: Piece::new([&escaped(shown.label.as_bytes())[..], b":"].concat()),
            words,
        }
    }

    /// Words of the field.
    #[inline(always)]
    fn words<'c>(&self, cells: Cells<'c>) -> CellValue<'c> {
        self.words_cell.map_or(CellValue::Null, |cell| cells.get(cell))
    }

    /// Appends an object of the field. Without a value, the record ends before the field.
    fn push_object(
        &self,
        value: CellValue<'_>,
        is_first: bool,
        out: &mut TextBuf,
        push_text: impl FnOnce(&mut TextBuf),
    ) {
        out.push(if is_first { b"" } else { b"," });
        self.start.push(out);
        self.push_value(value, out);
        out.push(TEXT_KEY);
        push_text(out);
        out.push(b"\"}");
    }

    /// Like [`JsonField::push_object`], for a number whose text is in the output. Returns false and appends nothing if
    /// a part is long.
    #[inline(always)]
    fn push_short(&self, number: u64, text: &Range<usize>, is_first: bool, out: &mut TextBuf) -> bool {
        const MAX_TEXT: usize = 32;
        let Some(block) = out.block::<MAX_TEXT>(text.start).copied() else { return false };
        let room = out.spare();
        room[0] = b',';
        let start = if text.len() > MAX_TEXT { None } else { self.start.put(room, usize::from(!is_first)) };
        let Some(mut at) = start else { return false };
        at = literal::start(self.put_raw(room, at, number));
        store(room, at, *TEXT_KEY);
        at += TEXT_KEY.len();
        store(room, at, block);
        at += text.len();
        store(room, at, *b"\"}");
        out.advance(at + 2);
        true
    }

    /// Appends blank, label and text of a number with at most one word, and returns the text's place. Returns `None` and
    /// appends nothing if a part is long.
    #[inline(always)]
    fn push_short_text(
        &self,
        number: u64,
        cells: Cells<'_>,
        is_first: bool,
        out: &mut TextBuf,
    ) -> Option<Range<usize>> {
        let before = out.len();
        let room = out.spare();
        room[0] = b' ';
        let start = self.label.put(room, usize::from(!is_first))?;
        let end = match self.words(cells) {
            CellValue::Null => self.put_number(number, room, start),
            CellValue::Label(word) => {
                let at = if self.shows_value { self.put_number(number, room, start) } else { start };
                self.words.get(word as usize)?.put(room, at)?
            }
            _ => return None,
        };
        out.advance(end);
        Some(before + start..before + end)
    }

    /// Appends the raw value.
    fn push_value(&self, value: CellValue<'_>, out: &mut TextBuf) {
        match value {
            CellValue::Bytes(text) => json::string(text, out),
            CellValue::List(items) => {
                out.push(b"[");
                for (at, item) in items.enumerate() {
                    out.push(if at > 0 { b", " } else { b"" });
                    match item.get(0) {
                        CellValue::Number(number) => {
                            let end = self.put_raw(out.spare(), 0, number);
                            out.advance(end);
                        }
                        _ => out.push(b"null"),
                    }
                }
                out.push(b"]");
            }
            CellValue::Number(number) => {
                let end = self.put_raw(out.spare(), 0, number);
                out.advance(end);
            }
            CellValue::Null | CellValue::Label(_) => out.push(b"null"),
        }
    }

    /// Appends the text, escaped for a JSON string. Without a value, the record ends before the field.
    fn push_text(&self, value: CellValue<'_>, cells: Cells<'_>, out: &mut TextBuf) {
        match (value, self.words(cells)) {
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
                if self.shows_value {
                    self.push_number(number, out);
                }
                if let Some(word) = self.words.get(word as usize) {
                    word.push(out);
                }
            }
            (CellValue::Number(number), CellValue::List(words)) => self.push_words(number, words, out),
            (CellValue::Number(number), _) => self.push_number(number, out),
            (CellValue::Null, _) => out.push(b"<truncated>"),
            (CellValue::Label(_), _) => {}
        }
    }

    /// Appends a number and a list of words.
    fn push_words(&self, number: u64, words: Items<'_>, out: &mut TextBuf) {
        let mut is_first = true;
        for word in words {
            if is_first && self.shows_value {
                self.push_number(number, out);
            }
            if let CellValue::Bytes(word) = word.get(0) {
                out.push(if is_first && !self.shows_value { b"" } else { b" " });
                push_escaped(word, out);
            }
            is_first = false;
        }
        if is_first {
            self.push_number(number, out);
        }
    }

    /// Writes the number in decimal, by its declared sign, at an offset; returns the offset after it.
    #[inline(always)]
    fn put_raw(&self, room: &mut [u8], at: usize, number: u64) -> usize {
        if self.is_signed {
            let spare = 64 - 8 * u32::from(self.size);
            num::int(room, at, ((number << spare) as i64 >> spare) as u64)
        } else {
            num::dec(room, at, number)
        }
    }

    /// Appends the number in its notation.
    #[inline(always)]
    fn push_number(&self, number: u64, out: &mut TextBuf) {
        let end = self.put_number(number, out.spare(), 0);
        out.advance(end);
    }

    /// Writes the number in its notation at an offset; returns the offset after it.
    #[inline(always)]
    fn put_number(&self, number: u64, room: &mut [u8], at: usize) -> usize {
        let pattern = number & u64::MAX >> (64 - 8 * u32::from(self.size));
        match self.notation {
            Notation::Decimal => self.put_raw(room, at, number),
            Notation::Char if (0x20..=0x7e).contains(&pattern) => {
                let is_special = matches!(pattern as u8, b'"' | b'\\');
                store(room, at, [b'\\', pattern as u8]);
                store(room, at + usize::from(is_special), [pattern as u8]);
                at + 1 + usize::from(is_special)
            }
            Notation::Hex | Notation::Char => {
                store(room, at, *b"0x");
                num::hex_min(room, at + 2, pattern)
            }
            Notation::Octal => {
                store(room, at, *b"0");
                if pattern == 0 { at + 1 } else { num::oct(room, at + 1, pattern) }
            }
        }
    }
}

/// Bytes between the raw value and the text of a field.
const TEXT_KEY: &[u8; 9] = b",\"text\":\"";

/// Appends a text, escaped for a JSON string.
fn push_escaped(text: &[u8], out: &mut TextBuf) {
    if json::is_plain(text) {
        return out.push(text);
    }
    out.push(&escaped(text));
}
