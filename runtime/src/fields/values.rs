//! Fields of single events, for the library.

use super::PreparedFields;
use super::field::{Field, FieldFormat, FieldValue};
use super::json::{write_label, write_value};
use crate::catalog::{Catalog, HookEntry};
use crate::general_path;
use crate::work::{MaxWork, Work};
use std::collections::HashMap;
use tfbc_vm::{
    CellValue, Cells, Context, Event, EventInput, FieldKind, FlatFields, Hint, Labels, Limits, Machine, PreparedEntry,
    Program, Schema, SchemaField, Shape, Space, TextBuf, Timers,
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
        if self.work.admits(input.event.bytes.len(), self.max_work) {
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

/// Reader of fields by name, which prepares each routine once.
pub(crate) struct NamedFields<'c> {
    catalog: &'c Catalog<'c>,
    names: Vec<String>,
    machine: Machine,
    scratch: TextBuf,
    max_work: MaxWork,
    work: Work,
    /// Index in `hooks` plus 1, by id of the entry and environment; 0 if it is not known yet.
    indexes: Vec<u32>,
    hooks: Vec<Option<HookFields<'c>>>,
}

/// Fields of one hook in one environment.
struct HookFields<'c> {
    entry: PreparedEntry<'c>,
    schema: Schema,
    /// Fields that can be read without the machine.
    flat: Option<FlatFields<'c>>,
    /// Fields that have one of the names, by the number of the name.
    places: Vec<(usize, FieldPlace)>,
}

/// Place of a value in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FieldPlace {
    /// Index of the field.
    field: usize,
    /// True for the label of the field.
    is_label: bool,
}

/// Progress of [`NamedFields::value`] with one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldsProgress {
    #[default]
    Unread,
    /// The event is counted as work.
    Counted,
    /// The machine's row has the fields.
    HasRow,
    /// There is no work left.
    OverWork,
}

impl<'c> NamedFields<'c> {
    /// Creates a reader of fields with these names, with limits per event and for all events together.
    pub fn new(catalog: &'c Catalog<'c>, names: Vec<String>, limits: Limits, max_work: MaxWork) -> Self {
        Self {
            catalog,
            names,
            machine: Machine::new(limits),
            scratch: TextBuf::new(),
            max_work,
            work: Work::default(),
            indexes: Vec::new(),
            hooks: Vec::new(),
        }
    }

    /// Value of the field with the name of a number; missing if the event has none. `progress` is the same for all
    /// fields of an event. Does not change the timers.
    pub fn value<'e>(
        &mut self,
        name: usize,
        id: u16,
        event: &Event<'e>,
        context: impl FnOnce() -> Context<'e>,
        timers: &mut Timers,
        progress: &mut FieldsProgress,
    ) -> FieldValue {
        let Some(index) = self.index(id, event.env_index()) else { return FieldValue::Missing };
        let Some(hook) = &self.hooks[index] else { return FieldValue::Missing };
        if *progress == FieldsProgress::Unread {
            let admitted = self.work.admits(event.bytes.len(), self.max_work);
            *progress = if admitted { FieldsProgress::Counted } else { FieldsProgress::OverWork };
        }
        let place = hook.places.binary_search_by_key(&name, |(name, _)| *name).map(|at| hook.places[at].1);
        let Ok(FieldPlace { field, is_label }) = place else { return FieldValue::Missing };
        let Some(field) = hook.schema.fields.get(field) else { return FieldValue::Missing };
        match *progress {
            FieldsProgress::OverWork => return FieldValue::Missing,
            FieldsProgress::Unread | FieldsProgress::Counted => {
                if let Some(flat) = hook.flat.as_ref().filter(|flat| event.bytes.len() >= flat.need())
                    && !is_label
                    && let Some(number) = flat.number(field.cell)
                {
                    return value(&field.shape, CellValue::Number(number.read(event.bytes)));
                }
                let mut run = self.machine.start(hook.entry.program(), timers);
                run.fields(&hook.entry, &EventInput { event, context: &context() }, true, &mut self.scratch);
                self.work.steps += run.n_steps();
                *progress = FieldsProgress::HasRow;
            }
            FieldsProgress::HasRow => {}
        }
        let cells = self.machine.row().cells();
        match &field.labels {
            Some(labels) if is_label => label_value(labels, cells.get(field.cell), cells.get(labels.cell)),
            _ => value(&field.shape, cells.get(field.cell)),
        }
    }

    /// Index of the fields of a hook in an environment; `None` if it has no template.
    fn index(&mut self, id: u16, env: usize) -> Option<usize> {
        let entry = self.catalog.lookup(id)?;
        let key = usize::from(entry.id()) << 2 | env & 3;
        match self.indexes.get(key) {
            Some(index) if *index > 0 => Some(*index as usize - 1),
            _ => Some(self.add(key, entry, env)),
        }
    }

    /// Prepares the fields of a hook in an environment. Returns their index.
    #[cold]
    fn add(&mut self, key: usize, entry: &HookEntry, env: usize) -> usize {
        let fields = HookFields::new(self.catalog, entry, env, &self.names);
        self.hooks.push(fields);
        self.indexes.resize(1 << 18, 0);
        self.indexes[key] = self.hooks.len() as u32;
        self.hooks.len() - 1
    }
}

impl<'c> HookFields<'c> {
    /// `None` if the blob has no routine for the fields, or if the verifier refuses it.
    fn new(catalog: &'c Catalog<'c>, entry: &HookEntry, env: usize, names: &[String]) -> Option<Self> {
        let program = catalog.program(entry);
        let hook = program.entry(Space::HookFields, entry.id())?;
        let schema = program.schema(entry.id()).unwrap_or_default();
        let entry = general_path::prepare(program, hook.index, env)?;
        let mut found = HashMap::new();
        for (at, field) in schema.fields.iter().enumerate() {
            found.entry(&field.name[..]).or_insert(FieldPlace { field: at, is_label: false });
            if let Some(labels) = &field.labels {
                found.entry(&labels.name).or_insert(FieldPlace { field: at, is_label: true });
            }
        }
        let place = |(number, name): (usize, &String)| Some((number, *found.get(&name[..])?));
        let places = names.iter().enumerate().filter_map(place).collect();
        let flat = entry.flat_fields().filter(|_| !general_path::is_required());
        Some(Self { entry, flat, places, schema })
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
            let label = get(labels.cell);
            let value = label_value(labels, cell, label);
            let cell = if is_missing { CellValue::Null } else { label };
            let text = self::text(&value, |out| write_label(labels, cell, out));
            found.push(Field { name: labels.name.clone(), value, text });
        }
    }
    found
}

/// Value of a label, which is missing if its field is.
fn label_value(labels: &Labels, field: CellValue<'_>, label: CellValue<'_>) -> FieldValue {
    match label {
        _ if matches!(field, CellValue::Null) => FieldValue::Missing,
        CellValue::Label(at) => labels.texts.get(at as usize).cloned().map_or(FieldValue::Missing, FieldValue::Text),
        CellValue::Bytes(word) => FieldValue::Text(String::from_utf8_lossy(word).into_owned()),
        CellValue::List(words) => {
            let word = Shape::new(FieldKind::Utf8, Hint::None);
            FieldValue::List(words.map(|item| value(&word, item.get(0))).collect())
        }
        CellValue::Null | CellValue::Number(_) => FieldValue::Missing,
    }
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
