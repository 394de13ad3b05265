//! Schemas of QNX events.

use crate::catalog::{Catalog, RecordEntry};
use tfbc_vm::names::Besides;
use tfbc_vm::{Program, Schema, SchemaField, Space};

/// Fields of a QNX event in one program.
pub(crate) struct RecordSchema<'c> {
    pub program: &'c Program<'c>,
    pub entry: RecordEntry,
    pub schema: Schema,
}

/// Fields of a QNX event, by program. Names are unique among all programs.
pub(crate) fn record_schemas<'c>(catalog: &'c Catalog<'_>, class: u8, event: u16) -> Vec<RecordSchema<'c>> {
    let entries = catalog.records(Space::RecordFields, class, event).iter();
    let mut found: Vec<RecordSchema<'c>> = Vec::new();
    for entry in entries {
        let program = catalog.record_program(entry);
        let Some(mut schema) = program.record_schema(class, event) else { continue };
        for at in 0..schema.fields.len() {
            let known = |name: &str| {
                let others = schema.fields.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, field)| field);
                found.iter().flat_map(|known| &known.schema.fields).chain(others).any(|field| has_column(field, name))
            };
            let field = &schema.fields[at];
            let besides = Besides { labels: field.labels.is_some(), raw: false };
            let earlier = |name: &str| {
                besides.columns(name).any(|name| {
                    found.iter().flat_map(|known| &known.schema.fields).any(|field| has_column(field, &name))
                })
            };
            if !found.is_empty() && earlier(&field.name) {
                let numbered = (2..).map(|number| format!("{}_{number}", field.name));
                let free = numbered.into_iter().find(|name| !besides.columns(name).any(|name| known(&name)));
                rename(&mut schema.fields[at], free.unwrap_or_default());
            }
        }
        found.push(RecordSchema { program, entry: *entry, schema });
    }
    found
}

fn has_column(field: &SchemaField, name: &str) -> bool {
    field.name == name || field.labels.as_ref().is_some_and(|labels| labels.name == name)
}

fn rename(field: &mut SchemaField, name: String) {
    if let Some(labels) = &mut field.labels {
        labels.name = tfbc_vm::names::labels_of(&name);
    }
    field.name = name;
}
