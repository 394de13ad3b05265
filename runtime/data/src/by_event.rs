//! One table per event id, with a column per typed field.

use crate::columns::EventColumn;
use crate::events::{BatchSink, Columns, MAX_TEXT, TableOptions, wanted};
use crate::fields::FieldColumns;
use crate::metadata::TableMetadata;
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use tfbc::EventId;
use tfbc::internal::rows::{EventRow, Names, RowFields, RowOptions, RowSink, TraceFacts};
use tfbc_vm::Row;

/// Columns that a table of one event may have before its fields. By default it has those up to `note`.
pub const BY_EVENT: [EventColumn; 10] = [
    EventColumn::Seq,
    EventColumn::Time,
    EventColumn::ElapsedNs,
    EventColumn::Cpu,
    EventColumn::Pid,
    EventColumn::Tid,
    EventColumn::Process,
    EventColumn::Id,
    EventColumn::Note,
    EventColumn::File,
];

/// Creates the outputs of tables.
pub trait OpenTables: Send {
    /// Opens the table of an event.
    ///
    /// # Errors
    /// The output cannot be created.
    fn open(&mut self, id: &str) -> io::Result<Box<dyn BatchSink>>;

    /// Completes a table.
    ///
    /// # Errors
    /// The output cannot be written.
    fn close(&mut self, id: &str, table: Box<dyn BatchSink>, n_rows: u64) -> io::Result<()>;
}

/// Sink of rows that fills one table per event id.
pub struct EventTables<'s> {
    options: TableOptions,
    facts: TraceFacts,
    tables: HashMap<EventId, EventFields>,
    open: &'s mut dyn OpenTables,
    row: Row,
    n_rows: u64,
    /// Number of completed tables per event. If the event occurs again, it gets another table.
    n_ended: HashMap<EventId, u32>,
}

/// Limit on open tables, for memory. To open another one, the least recently used is completed.
const MAX_OPEN: usize = 256;

/// Table of one event.
struct EventFields {
    name: String,
    schema: SchemaRef,
    columns: Columns,
    fields: FieldColumns,
    out: Box<dyn BatchSink>,
    n_rows: u64,
    n_bytes: usize,
    /// Number of the table's last row, counting the rows of all tables.
    last_row: u64,
}

impl<'s> EventTables<'s> {
    /// Creates a sink without tables. Columns of `options` that are not in [`BY_EVENT`] are left out.
    pub fn new(options: TableOptions, open: &'s mut dyn OpenTables) -> Self {
        Self {
            options,
            facts: TraceFacts::default(),
            tables: HashMap::new(),
            open,
            row: Row::default(),
            n_rows: 0,
            n_ended: HashMap::new(),
        }
    }

    /// Row options for the columns of the tables.
    pub fn wanted(options: &TableOptions) -> RowOptions {
        RowOptions { fields: RowFields::Cells, ..wanted(&columns(options)) }
    }

    /// Starts the rows of another input.
    pub fn set_files(&mut self, files: Vec<String>) {
        for table in self.tables.values_mut() {
            table.columns.source.files.clone_from(&files);
        }
        self.options.files = files;
    }

    /// Number of rows so far.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Completes all tables, in the order of their names.
    ///
    /// # Errors
    /// A table cannot be written.
    pub fn finish(self) -> io::Result<()> {
        let mut tables: Vec<EventFields> = self.tables.into_values().collect();
        tables.sort_by(|one, other| one.name.cmp(&other.name));
        tables.into_iter().try_for_each(|table| table.end(self.open))
    }

    /// Completes the table that has not had a row for the longest time.
    fn end_oldest(&mut self) -> io::Result<()> {
        let oldest = self.tables.iter().min_by_key(|(_, table)| table.last_row).map(|(id, _)| *id);
        let Some((id, table)) = oldest.and_then(|id| self.tables.remove_entry(&id)) else { return Ok(()) };
        *self.n_ended.entry(id).or_default() += 1;
        table.end(self.open)
    }

    /// Opens the table of an event even if it has no rows yet.
    pub(crate) fn open_event(&mut self, id: EventId, names: &Names<'_>) -> io::Result<()> {
        self.table(id, names).map(drop)
    }

    fn table(&mut self, id: EventId, names: &Names<'_>) -> io::Result<&mut EventFields> {
        if self.tables.len() >= MAX_OPEN && !self.tables.contains_key(&id) {
            self.end_oldest()?;
        }
        use std::collections::hash_map::Entry;
        match self.tables.entry(id) {
            Entry::Occupied(table) => Ok(table.into_mut()),
            Entry::Vacant(place) => {
                let (options, name) = (&self.options, id.name());
                let columns = columns(options);
                let fields = names
                    .schema(id)
                    .map_or_else(FieldColumns::none, |(schema, program)| FieldColumns::new(&schema.fields, program));
                let all: Vec<_> =
                    columns.iter().map(|column| Arc::new(column.field())).chain(fields.fields()).collect();
                let metadata = TableMetadata { event: Some(name.clone()), ..options.metadata.clone() };
                let metadata = metadata.entries(&self.facts, options.time_zero);
                let schema = Arc::new(Schema::new_with_metadata(all, metadata));
                let name = match self.n_ended.get(&id) {
                    Some(n) => format!("{name}.{n}"),
                    None => name,
                };
                let mut out = self.open.open(&name)?;
                out.begin(&schema)?;
                let columns = Columns::new(&columns, options);
                Ok(place.insert(EventFields { name, schema, columns, fields, out, n_rows: 0, n_bytes: 0, last_row: 0 }))
            }
        }
    }
}

fn columns(options: &TableOptions) -> Vec<EventColumn> {
    match &options.columns {
        Some(columns) => columns.iter().copied().filter(|column| BY_EVENT.contains(column)).collect(),
        None => BY_EVENT.to_vec(),
    }
}

impl EventFields {
    fn end(mut self, open: &mut dyn OpenTables) -> io::Result<()> {
        self.finish_batch()?;
        open.close(&self.name, self.out, self.n_rows)
    }

    fn finish_batch(&mut self) -> io::Result<()> {
        if self.columns.n_rows == 0 {
            return Ok(());
        }
        let mut columns = self.columns.finish()?;
        columns.extend(self.fields.finish().map_err(io::Error::other)?);
        self.n_bytes = 0;
        self.out.batch(RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(io::Error::other)?)
    }
}

impl RowSink for EventTables<'_> {
    fn begin(&mut self, facts: &TraceFacts) -> io::Result<()> {
        if self.n_rows == 0 {
            self.facts = facts.clone();
        }
        Ok(())
    }

    fn row(&mut self, row: &EventRow<'_>, names: &Names<'_>) -> io::Result<()> {
        self.n_rows += 1;
        let (batch_rows, last_row) = (self.options.batch_rows, self.n_rows);
        let mut cells = std::mem::take(&mut self.row);
        let is_known = cells.decode(row.fields);
        let table = self.table(row.id, names)?;
        table.columns.push(row, names);
        table.fields.push(is_known.then(|| cells.cells()));
        table.n_rows += 1;
        table.last_row = last_row;
        table.n_bytes += row.fields.len();
        if table.columns.n_rows >= batch_rows || table.n_bytes >= MAX_TEXT {
            table.finish_batch()?;
        }
        self.row = cells;
        Ok(())
    }
}
