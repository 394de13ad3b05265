//! Typed fields of events, and their schemas.
//!
//! The compiler derives a schema from each stanza and from the definitions of a QNX event, and a routine that stores
//! an event's values in a [`Row`]. A row and its schema give the `fields` of JSON lines.

mod field;
mod flat_cells;
mod json;
mod list;
mod records;
mod values;

pub use field::{Field, FieldFormat, FieldValue};
use flat_cells::FlatCells;
pub use flat_cells::{flags_of_word, label_of_word};
pub(crate) use json::write_members;
pub use json::write_row;
use json::{FieldKeys, FlatRow, write_prepared};
pub use list::{list_json, list_text};
pub(crate) use records::{RecordSchema, record_schemas};
pub use values::FieldReader;
pub(crate) use values::{FieldsProgress, NamedFields, describe, fields};

use crate::catalog::{Catalog, HookEntry};
use crate::general_path;
use tfbc_vm::{EventContext, EventInput, Outcome, PreparedEntry, Row, Run, Schema, TextBuf};

/// Form of an event's fields in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldsForm {
    /// A JSON object.
    #[default]
    Json,
    /// An encoded [`Row`].
    Cells,
}

impl FieldsForm {
    /// An event without fields.
    pub fn none(self) -> &'static [u8] {
        match self {
            FieldsForm::Json => b"{}",
            FieldsForm::Cells => b"",
        }
    }
}

/// Fields of the events of one hook in one environment.
#[derive(Debug)]
pub struct PreparedFields<'r> {
    entry: PreparedEntry<'r>,
    schema: Schema,
    keys: Vec<FieldKeys>,
    /// Fields that can be read without the machine, as JSON.
    flat: Option<FlatRow<'r>>,
    /// Fields that can be read without the machine, for columns.
    flat_cells: Option<FlatCells<'r>>,
}

impl<'r> PreparedFields<'r> {
    /// Looks up the fields of a stanza; `None` if its blob has none, or if the verifier refuses their routine.
    pub fn new(catalog: &'r Catalog<'r>, entry: &HookEntry, env: usize) -> Option<Self> {
        let program = catalog.program(entry);
        let hook = program.entry(tfbc_vm::Space::HookFields, entry.id())?;
        let schema = program.schema(entry.id())?;
        let keys = schema.fields.iter().map(FieldKeys::new).collect();
        let entry = general_path::prepare(program, hook.index, env)?;
        let flat = entry.flat_fields().filter(|_| !general_path::is_required());
        let flat_cells = flat.clone().and_then(|flat| FlatCells::new(flat, &schema));
        let flat = flat.and_then(|flat| FlatRow::new(flat, &schema));
        Some(Self { entry, schema, keys, flat, flat_cells })
    }

    /// Schema of the fields.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Fields that can be read without the machine, for columns.
    pub(crate) fn flat_cells(&self) -> Option<&FlatCells<'r>> {
        self.flat_cells.as_ref()
    }

    /// Runs the routine of an event and appends its fields as a JSON object. With `is_trial`, restores the timers
    /// afterwards.
    pub fn write(
        &self,
        run: &mut Run<'r>,
        input: &impl EventContext<'r>,
        is_trial: bool,
        out: &mut TextBuf,
    ) -> Outcome {
        self.write_between(run, input, is_trial, b"", b"", out).unwrap_or_default()
    }

    /// Like [`PreparedFields::write`], but between two texts. `None` if the event ended normally.
    #[inline]
    pub(crate) fn write_between<const N: usize, const M: usize>(
        &self,
        run: &mut Run<'r>,
        input: &impl EventContext<'r>,
        is_trial: bool,
        before: &[u8; N],
        after: &[u8; M],
        out: &mut TextBuf,
    ) -> Option<Outcome> {
        let bytes = input.bytes();
        match &self.flat {
            Some(flat) if flat.fit(bytes) => {
                flat.write(bytes, before, after, out);
                None
            }
            _ => self.write_by_machine(run, input, is_trial, before, after, out),
        }
    }

    /// Makes [`PreparedFields::replace_newline`] refuse all events, because their texts must be escaped first.
    pub(crate) fn refuse_newlines(&mut self) {
        if let Some(flat) = &mut self.flat {
            flat.refuse_newlines();
        }
    }

    /// Replaces the newline at the end of a text by the event's fields between two texts. Returns false if this needs
    /// the machine.
    #[inline(always)]
    pub(crate) fn replace_newline<const N: usize, const M: usize>(
        &self,
        bytes: &[u8],
        before: &[u8; N],
        after: &[u8; M],
        out: &mut TextBuf,
    ) -> bool {
        self.flat.as_ref().is_some_and(
            #[inline(always)]
            |flat| flat.replace_newline(bytes, before, after, out),
        )
    }

    #[inline(never)]
    fn write_by_machine(
        &self,
        run: &mut Run<'r>,
        input: &impl EventContext<'r>,
        is_trial: bool,
        before: &[u8],
        after: &[u8],
        out: &mut TextBuf,
    ) -> Option<Outcome> {
        let outcome = run.fields(&self.entry, input, is_trial, out);
        out.push(before);
        write_prepared(&self.schema, &self.keys, run.row(), out);
        out.push(after);
        (outcome != Outcome::default()).then_some(outcome)
    }

    /// Runs the routine of an event and appends its fields as JSON or as encoded cells.
    pub(crate) fn write_as(
        &self,
        form: FieldsForm,
        run: &mut Run<'r>,
        input: &impl EventContext<'r>,
        is_trial: bool,
        out: &mut TextBuf,
    ) -> Outcome {
        match form {
            FieldsForm::Json => self.write(run, input, is_trial, out),
            FieldsForm::Cells => self.write_cells(run, input, is_trial, out),
        }
    }

    /// Runs the routine of an event and appends its fields as encoded cells.
    pub(crate) fn write_cells(
        &self,
        run: &mut Run<'r>,
        input: &impl EventContext<'r>,
        is_trial: bool,
        out: &mut TextBuf,
    ) -> Outcome {
        let outcome = run.fields(&self.entry, input, is_trial, out);
        run.row().encode(|bytes| out.push(bytes));
        outcome
    }

    /// Runs the routine of an event and returns its row.
    pub fn row<'s>(
        &self,
        run: &'s mut Run<'r>,
        input: EventInput<'_, 'r>,
        scratch: &mut TextBuf,
    ) -> (Outcome, &'s Row) {
        let outcome = run.fields(&self.entry, &input, false, scratch);
        (outcome, run.row())
    }
}
