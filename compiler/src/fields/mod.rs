//! Fields of AIX events: every value that a stanza prints from the event's data, with a name and a type.
//!
//! ```text
//! stanza ─expand→ steps ─derive→ fields ─comment→ names and types ─┬→ schema
//!                   └─────────────────────────store────────────────┴→ IR that stores fields
//! ```
//!
//! Fields are derived from the syntax tree, not from the IR that prints the text, because names and types come from the
//! source: macros, casts, and the text before a value. The code that lowers values is shared.
//!
//! Fields of QNX events come from the labels of datakeys. `crate::datakey` derives them and uses this module for names,
//! codes and comments.

pub(crate) mod comment;
mod derive;
mod expand;
pub(crate) mod form;
pub(crate) mod names;
pub(crate) mod store;

use crate::codes::TOO_MANY_FIELDS;
use crate::ir::{self, Block, FieldInst, Inst, Node, ShowId};
use crate::names::{NameTable, Unit};
use derive::Deriver;
pub(crate) use derive::MAX_FIELDS;
use expand::{Expander, FieldId};
use store::Storer;
use tfbc_grammar::{Diagnostic, Source, SourceId};
use tfbc_vm::{FieldKind, Hint, Labels, NameRule, Schema, SchemaField, Shape, Space};

/// Limit on the steps of all stanzas of a program.
pub(crate) const MAX_STEPS: usize = 1 << 21;

/// Routine that stores the fields of a stanza or of a QNX event.
pub(crate) struct FieldRoutine {
    /// Index of its entry in the program.
    pub stanza: usize,
    pub schema: Schema,
    pub n_locals: u16,
    pub body: Block,
}

/// Derives the fields of all stanzas. `sources` are indexed by source ids, with the built-in one last.
pub(crate) fn derive(
    units: &[Unit<'_>],
    names: &NameTable<'_>,
    program: &ir::IrProgram,
    sources: &[&Source],
) -> (Vec<FieldRoutine>, Vec<Diagnostic>) {
    let mut routines = Vec::new();
    let mut found = Vec::new();
    let mut n_steps = 0;
    for (at, lowered) in program.stanzas.iter().enumerate().filter(|(_, stanza)| stanza.space == Space::Hook) {
        let Some((unit, index)) = names.stanzas.get(&lowered.id).copied() else { continue };
        let unit = &units[unit];
        let stanza = &unit.file.stanzas[index];
        let mut expander = Expander::new(units, names);
        let steps = expander.with_stanza(unit, stanza, |expander, scope| {
            let mut steps = expander.group(scope, stanza.body)?;
            let mut deriver = Deriver::default();
            let mut fields = Vec::new();
            deriver.block(&mut steps, &mut fields);
            if deriver.drafts.len() > MAX_FIELDS {
                return Err(expand::TooLarge);
            }
            deriver.name_all(&fields, true);
            let extras = comment::apply(stanza, scope, &steps, &mut deriver, &mut fields, &mut found);
            Ok((steps, deriver, fields, extras))
        });
        n_steps += expander.n_steps();
        let Ok((steps, mut deriver, fields, extras)) = steps else {
            found.push(too_large(unit.id, lowered));
            continue;
        };
        if n_steps > MAX_STEPS {
            found.push(too_large(unit.id, lowered));
            break;
        }
        let n_cells = place_cells(&mut deriver, &fields);
        let storer = Storer { deriver: &deriver, scratch: expander.n_locals, keeps_lines: expander.uses_lines };
        let body = storer.block(steps);
        let last = storer.store_comment_fields(extras);
        let whole = Inst::Field(Box::new(FieldInst::Whole { n_cells, body, last }));
        let builtin = |id: SourceId| units.iter().any(|unit| unit.id == id && unit.builtin);
        let schema = Schema { fields: schema_fields(&mut deriver, &fields, sources, &builtin), ..Schema::default() };
        routines.push(FieldRoutine {
            stanza: at,
            schema,
            n_locals: expander.n_locals + 1,
            body: vec![Node { inst: whole, span: lowered.span }],
        });
    }
    (routines, found)
}

fn too_large(source: SourceId, stanza: &ir::IrEntry) -> Diagnostic {
    let text = format!("stanza {} has no fields: with its callees it is too large", ShowId(stanza.id));
    Diagnostic::warning(&TOO_MANY_FIELDS, source, stanza.span, text)
}

/// Assigns cells to fields and members. Returns the number of cells.
fn place_cells(deriver: &mut Deriver<'_>, fields: &[FieldId]) -> u16 {
    let mut next = 0;
    for id in fields {
        let has_labels = deriver.drafts[*id].has_labels();
        deriver.drafts[*id].cell = next;
        next += 1;
        if has_labels {
            deriver.drafts[*id].label_cell = next;
            next += 1;
        }
        let members = deriver.drafts[*id].members.clone();
        place_cells(deriver, &members);
    }
    next
}

/// Schema of fields. Moves their names and texts out of the drafts, because nothing reads them afterwards.
fn schema_fields(
    deriver: &mut Deriver<'_>,
    fields: &[FieldId],
    sources: &[&Source],
    builtin: &dyn Fn(SourceId) -> bool,
) -> Vec<SchemaField> {
    fields.iter().map(|id| schema_field(deriver, *id, sources, builtin)).collect()
}

fn schema_field(
    deriver: &mut Deriver<'_>,
    id: FieldId,
    sources: &[&Source],
    builtin: &dyn Fn(SourceId) -> bool,
) -> SchemaField {
    let draft = &mut deriver.drafts[id];
    let has_labels = draft.has_labels();
    let (name, rule) = draft.name.take().unwrap_or((String::new(), NameRule::Position));
    let labels = has_labels.then(|| Labels {
        name: names::labels_of(&name),
        cell: draft.label_cell,
        is_list: draft.has_text_list,
        texts: std::mem::take(&mut draft.texts).into_all(),
    });
    let (cell, shown) = (draft.cell, std::mem::take(&mut draft.shown));
    let source = draft.place.source;
    let place = sources.get(usize::from(source.0)).map(|text| text.line_column(draft.place.span.start));
    let (line, column) = place.unwrap_or((1, 1));
    let source = (!builtin(source)).then_some(source.0);
    let mut shape = Shape { size: draft.size, ..Shape::new(draft.kind, draft.hint) };
    if draft.kind == FieldKind::List {
        let members = std::mem::take(&mut draft.members);
        let members = schema_fields(deriver, &members, sources, builtin);
        shape.items = Some(Box::new(match <[SchemaField; 1]>::try_from(members) {
            Ok([only]) if only.labels.is_none() => only.shape,
            Ok(only) => Shape { members: only.into(), ..Shape::new(FieldKind::Struct, Hint::None) },
            Err(members) => Shape { members, ..Shape::new(FieldKind::Struct, Hint::None) },
        }));
    }
    SchemaField { name, shape, labels, shown, source, line, column, rule, cell }
}
