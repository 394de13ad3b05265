//! Fields of single events, for the library.

use super::PreparedFields;
use super::field::{Field, FieldFormat, FieldValue};
use super::json::{write_label, write_value};
use crate::catalog::{Catalog, HookEntry};
use crate::work::{MaxWork, Work};
use std::collections::HashMap;
use tfbc_vm::{
    CellValue, Cells, EventInput, FieldKind, Hint, Limits, Machine, Program, Schema, SchemaField, Shape, Space,
    TextBuf, Timers,
};

/// Reader of the fields of events, in any order.
pub struct FieldReader {
    machine: Machine,
    scratch: TextBuf,
    /// Schemas by id of the entry.
    schemas: HashMap<u16, Schema>,
    max_work: MaxWork,
    work: Work,
}

impl FieldReader {
    /// Creates a reader with limits per event and for all events together.
    pub fn new(limits: Limits, max_work: MaxWork) -> Self {
        Self {
            machine: Machine::new(limits),
            scratch: TextBuf::new(),
            schemas: HashMap::new(),
            max_work,
            work: Work::default(),
        }
    }

    /// Runs the routine of an event's fields. Returns none if the blob has no routine, or if the verifier refuses it.
    /// Does not change the timers.
    pub fn read(
        &mut self,
        catalog: &Catalog<'_>,
        entry: &HookEntry,
        timers: &mut Timers,
        input: &EventInput<'_, '_>,
    ) -> Vec<Field> {
        let program = catalog.program(entry);
        let Some(hook) = program.entry(Space::HookFields, entry.id()) else { return Vec::new() };
        let Some(prepared) = program.prepare(hook.index, input.event.env_index()) else { return Vec::new() };
        let schema = self.schemas.entry(entry.id()).or_insert_with(|| program.schema(entry.id()).unwrap_or_default());
        let mut run = self.machine.start(program, timers);
        self.work.bytes += input.event.bytes.len() as u64;
        // A hostile template must not run for hours, see `work.rs`.
        if self.work.steps < self.max_work.allowance(self.work.bytes) {
            run.fields(&prepared, input, true, &mut self.scratch);
            self.work.steps += run.n_steps();
            return fields(&schema.fields, Some(run.row().cells()));
        }
        fields(&schema.fields, None)
    }

    /// Appends the fields of an event as in JSON lines. Does not change the timers.
    pub fn write_json(
        &mut self,
        catalog: &Catalog<'_>,
        entry: &HookEntry,
        timers: &mut Timers,
        input: &EventInput<'_, '_>,
        out: &mut TextBuf,
    ) {
        match PreparedFields::new(catalog, entry, input.event.env_index()) {
            Some(fields) => {
                let mut run = self.machine.start(catalog.program(entry), timers);
                fields.write(&mut run, input, true, out);
            }
            None => out.push(b"{}"),
        }
    }
}

/// Fields with their labels. Without cells, all are missing.
pub fn fields(schema: &[SchemaField], cells: Option<Cells<'_>>) -> Vec<Field> {
    let get = |cell| cells.map_or(CellValue::Null, |cells| cells.get(cell));
    let mut found = Vec::new();
    for field in schema {
        let cell = get(field.cell);
        let is_missing = matches!(cell, CellValue::Null);
        let value = value(&field.shape, cell);
        let text = text(&value, |out| write_value(&field.shape, cell, out));
        found.push(Field { name: field.name.clone(), value, text });
        if let Some(labels) = &field.labels {
            let cell = if is_missing { CellValue::Null } else { get(labels.cell) };
            let value = match cell {
                CellValue::Label(at) => {
                    labels.texts.get(at as usize).cloned().map_or(FieldValue::Missing, FieldValue::Text)
                }
                CellValue::Bytes(word) => FieldValue::Text(String::from_utf8_lossy(word).into_owned()),
                CellValue::List(words) => {
                    let word = Shape::new(FieldKind::Utf8, Hint::None);
                    FieldValue::List(words.map(|item| self::value(&word, item.get(0))).collect())
                }
                CellValue::Null | CellValue::Number(_) => FieldValue::Missing,
            };
            let text = self::text(&value, |out| write_label(labels, cell, out));
            found.push(Field { name: labels.name.clone(), value, text });
        }
    }
    found
}

/// Value as text: the JSON that `write` appends, without quotation marks and escapes.
fn text(value: &FieldValue, write: impl FnOnce(&mut TextBuf)) -> String {
    match value {
        FieldValue::Missing => String::new(),
        FieldValue::Text(text) => text.clone(),
        _ => {
            let mut out = TextBuf::new();
            write(&mut out);
            String::from_utf8_lossy(out.as_bytes()).trim_matches('"').to_owned()
        }
    }
}

fn value(shape: &Shape, cell: CellValue<'_>) -> FieldValue {
    match (shape.kind, cell) {
        (FieldKind::Bool, CellValue::Number(number)) => FieldValue::Bool(number & 1 == 1),
        (FieldKind::Int64, CellValue::Number(number)) => FieldValue::Integer((number as i64).into()),
        (FieldKind::UInt64, CellValue::Number(number)) => FieldValue::Integer(number.into()),
        (FieldKind::Float32, CellValue::Number(bits)) => FieldValue::Float(f32::from_bits(bits as u32).into()),
        (FieldKind::Float64, CellValue::Number(bits)) => FieldValue::Float(f64::from_bits(bits)),
        (FieldKind::Timestamp, CellValue::Number(seconds)) => FieldValue::Timestamp(seconds as u32),
        (FieldKind::Utf8, CellValue::Bytes(text)) => FieldValue::Text(String::from_utf8_lossy(text).into_owned()),
        (FieldKind::Binary | FieldKind::FixedBinary, CellValue::Bytes(bytes)) => FieldValue::Bytes(bytes.to_vec()),
        (FieldKind::List, CellValue::List(items)) => FieldValue::List(
            items
                .map(|item| match shape.items.as_deref() {
                    Some(shape) if shape.kind == FieldKind::Struct => {
                        FieldValue::Struct(fields(&shape.members, Some(item)))
                    }
                    Some(shape) => value(shape, item.get(0)),
                    None => FieldValue::Missing,
                })
                .collect(),
        ),
        _ => FieldValue::Missing,
    }
}

/// Descriptions of a program's fields and of their labels.
pub fn describe(schema: &[SchemaField], program: &Program<'_>) -> Vec<FieldFormat> {
    let mut found = Vec::new();
    for field in schema {
        let SchemaField { line, column, .. } = *field;
        let file = field.source.map(|source| String::from_utf8_lossy(program.source_name(source)).into_owned());
        let mut shape = &field.shape;
        let mut kind = String::from(shape.kind.name());
        while let Some(items) = &shape.items {
            kind = format!("{kind} of {}", items.kind.name());
            shape = items;
        }
        found.push(FieldFormat {
            name: field.name.clone(),
            kind,
            hint: shape.hint.name(),
            texts: Vec::new(),
            members: describe(&shape.members, program),
            file: file.clone(),
            line,
            column,
        });
        if let Some(labels) = &field.labels {
            found.push(FieldFormat {
                name: labels.name.clone(),
                kind: if labels.is_list { "list of dictionary" } else { "dictionary" }.into(),
                hint: "",
                texts: labels.texts.clone(),
                members: Vec::new(),
                file,
                line,
                column,
            });
        }
    }
    found
}
