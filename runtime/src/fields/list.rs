//! Lists of fields, for `tfbc fields`.

use super::json::write_schema;
use super::record_schemas;
use crate::catalog::Catalog;
use crate::events;
use crate::ids::EventId;
use crate::ids::display_id;
use crate::json::string;
use tfbc_vm::{FieldKind, Hint, Program, SchemaField, Shape, TextBuf};

/// Event with its fields.
struct ListedEvent<'c> {
    id: String,
    label: &'c [u8],
    /// Fields by program: several blobs may define one QNX event.
    fields: Vec<(&'c Program<'c>, Vec<SchemaField>)>,
}

/// Events to list: one, or all but the built-in stanzas of reserved hooks.
fn listed<'c>(catalog: &'c Catalog<'_>, id: Option<EventId>) -> impl Iterator<Item = ListedEvent<'c>> {
    let hooks = catalog.hooks().into_iter().filter(move |hook| match id {
        Some(id) => id == EventId::Hook(hook.id),
        None => !hook.builtin,
    });
    let hooks = hooks.filter_map(|hook| {
        let program = catalog.program(catalog.get(hook.id)?);
        let fields = program.schema(hook.id).unwrap_or_default().fields;
        Some(ListedEvent { id: display_id(hook.id), label: hook.label, fields: vec![(program, fields)] })
    });
    let records = catalog.defined_records().into_iter().filter(move |(class, event)| match id {
        Some(id) => id == EventId::Record(*class, *event),
        None => true,
    });
    hooks.chain(records.map(|(class, event)| {
        let schemas = record_schemas(catalog, class, event).into_iter();
        let fields = schemas.map(|found| (found.program, found.schema.fields)).collect();
        ListedEvent { id: events::display_id(class, event), label: b"", fields }
    }))
}

/// One JSON array with one line per event.
pub fn list_json(catalog: &Catalog<'_>, id: Option<EventId>) -> Vec<u8> {
    let mut out = TextBuf::new();
    out.push(b"[\n");
    for (at, event) in listed(catalog, id).enumerate() {
        out.push(if at > 0 { b",\n" } else { b"" });
        out.push(b"{\"id\":");
        string(event.id.as_bytes(), &mut out);
        out.push(b",\"label\":");
        string(event.label, &mut out);
        out.push(b",\"fields\":[");
        let mut is_first = true;
        for (program, fields) in &event.fields {
            write_schema(fields, &|source| program.source_name(source), &mut is_first, &mut out);
        }
        out.push(b"]}");
    }
    out.push(if out.len() > 2 { b"\n]\n" } else { b"]\n" });
    out.as_bytes().to_vec()
}

/// A paragraph per event: its id and label, then a line per field.
pub fn list_text(catalog: &Catalog<'_>, id: Option<EventId>) -> String {
    let mut out = String::new();
    for event in listed(catalog, id) {
        let label = String::from_utf8_lossy(event.label);
        out.push_str(format!("{:<4} {label}", event.id).trim_end());
        out.push('\n');
        let mut rows = Vec::new();
        for (program, fields) in &event.fields {
            add_rows(fields, program, 1, &mut rows);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 4] = std::array::from_fn(width);
        for [name, kind, shown, place, rest] in &rows {
            let [a, b, c, d] = widths;
            let line = format!("{name:a$}  {kind:b$}  {shown:c$}  {place:d$}   {rest}");
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

/// Rows of name, type, code, place, and rule or texts.
fn add_rows(fields: &[SchemaField], program: &Program<'_>, depth: usize, rows: &mut Vec<[String; 5]>) {
    let indented = |name: &str| format!("{}{name}", "  ".repeat(depth));
    for field in fields {
        let source = field.source.map(|source| String::from_utf8_lossy(program.source_name(source)));
        let source = source.map_or_else(|| "built in".into(), |name| format!("{name}:{}:{}", field.line, field.column));
        rows.push([indented(&field.name), kind(&field.shape), field.shown.clone(), source, field.rule.name().into()]);
        if let Some(items) = &field.shape.items {
            add_rows(&items.members, program, depth + 1, rows);
        }
        if let Some(labels) = &field.labels {
            let kind = if labels.is_list { "list of dictionary" } else { "dictionary" };
            let texts = labels.texts.join(", ");
            rows.push([indented(&labels.name), kind.into(), String::new(), String::new(), texts]);
        }
    }
}

/// Type and hint.
fn kind(shape: &Shape) -> String {
    let name = shape.kind.name();
    match (&shape.items, shape.hint) {
        (Some(items), _) => format!("list of {}", kind(items)),
        (None, _) if shape.kind == FieldKind::FixedBinary => format!("{name}[{}] {}", shape.size, shape.hint.name()),
        (None, Hint::None) => name.into(),
        (None, hint) => format!("{name} {}", hint.name()),
    }
}
