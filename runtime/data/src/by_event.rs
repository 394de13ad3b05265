//! One table per event id, with a column per typed field.

use crate::columns::EventColumn;
use crate::dictionary::NONE;
use crate::events::{BatchSink, Columns, KeysByNumber, MAX_TEXT, TableOptions, wanted};
use crate::fields::FieldColumns;
use crate::metadata::TableMetadata;
use crate::row_set::RowsOfEvent;
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tfbc::EventId;
use tfbc::internal::rows::{
    FlatRows, Names, RowBlock, RowFields, RowOptions, RowSink, RowStore, Short, TraceFacts, split_cells,
};
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
///
/// The first tables are filled at once. Rows of further events are stored until the end, and then fill their tables
/// group by group, so that memory and open files stay bounded.
pub struct EventTables<'s> {
    options: TableOptions,
    facts: TraceFacts,
    /// The open tables.
    tables: Vec<EventFields>,
    /// Tables that are not open yet. They have the indices from [`MAX_OPEN`].
    later: Vec<NewTable>,
    /// Rows of these tables, in groups of [`MAX_OPEN`] tables.
    stored: RowStore,
    /// Index of a table by its name.
    known: HashMap<String, i32>,
    /// Index of the table by event of this input, or [`LEFT_OUT`].
    places: KeysByNumber,
    /// File names by input.
    inputs: Vec<Vec<String>>,
    /// Events that have a table; `None` for all.
    only: Option<Vec<EventId>>,
    /// Tables with rows of the current block.
    changed: Vec<usize>,
    open: &'s mut dyn OpenTables,
    cells: CellsOfBlock,
    n_rows: u64,
}

/// Limit on open tables, for memory.
const MAX_OPEN: usize = 256;

/// Index of the table of an event that has none.
const LEFT_OUT: i32 = i32::MAX;

/// Table before it is opened.
struct NewTable {
    name: String,
    /// Columns of the fields by program.
    fields: Vec<FieldColumns>,
}

/// Table of one event, or of all records of a kernel call in a direction.
struct EventFields {
    name: String,
    schema: SchemaRef,
    columns: Columns,
    /// Columns of the fields by program.
    fields: Vec<FieldColumns>,
    out: Box<dyn BatchSink>,
    n_rows: u64,
    n_bytes: usize,
    /// Rows of the current block that are not in the columns yet.
    rows: Vec<usize>,
    /// [Place](FlatRows::place) of their fields, if they are exactly some flat rows.
    flat: Option<usize>,
}

impl<'s> EventTables<'s> {
    /// Options of the table.
    pub(crate) fn options(&self) -> &TableOptions {
        &self.options
    }

    /// Creates a sink without tables. Columns of `options` that are not in [`BY_EVENT`] are left out.
    pub fn new(options: TableOptions, open: &'s mut dyn OpenTables) -> Self {
        Self {
            inputs: vec![options.files.clone()],
            options,
            facts: TraceFacts::default(),
            tables: Vec::new(),
            later: Vec::new(),
            stored: RowStore::new(),
            known: HashMap::new(),
            places: KeysByNumber::new(),
            only: None,
            changed: Vec::new(),
            open,
            cells: CellsOfBlock::default(),
            n_rows: 0,
        }
    }

    /// Row options for the columns of the tables.
    pub fn wanted(options: &TableOptions) -> RowOptions {
        RowOptions { fields: RowFields::Cells, ..wanted(&columns(options)) }
    }

    /// Starts the rows of another input.
    pub fn set_files(&mut self, files: Vec<String>) {
        self.places.clear();
        self.use_files(&files);
        self.inputs.push(files.clone());
        self.options.files = files;
    }

    fn use_files(&mut self, files: &[String]) {
        self.tables.iter_mut().for_each(|table| files.clone_into(&mut table.columns.source.files));
    }

    /// Number of rows so far.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Completes all tables.
    ///
    /// # Errors
    /// A table cannot be written, or stored rows cannot be read.
    pub fn finish(mut self) -> io::Result<()> {
        self.end_tables()?;
        let (mut stored, inputs) = (std::mem::take(&mut self.stored), std::mem::take(&mut self.inputs));
        let mut later = std::mem::take(&mut self.later).into_iter().peekable();
        for group in 0.. {
            if later.peek().is_none() {
                break;
            }
            for table in later.by_ref().take(MAX_OPEN) {
                let table = self.create(table)?;
                self.tables.push(table);
            }
            let first = MAX_OPEN * (group + 1);
            let mut last_input = None;
            stored.read(group, |block, input| {
                if last_input.replace(input) != Some(input) {
                    self.use_files(inputs.get(input).map_or(&[], Vec::as_slice));
                }
                self.cells.begin(block);
                let tables = block.short(Short::Table);
                self.collect_rows(block, |_, row| Ok((tables.value(row) as usize).wrapping_sub(first) as i32))?;
                self.push_rows(block)
            })?;
            self.end_tables()?;
        }
        Ok(())
    }

    /// Completes the open tables, in the order of their names.
    fn end_tables(&mut self) -> io::Result<()> {
        self.tables.sort_by(|one, other| one.name.cmp(&other.name));
        self.tables.drain(..).try_for_each(|table| table.end(self.open))
    }

    /// Leaves out the rows of other events. Opens the table of these events even if it has no rows yet.
    pub(crate) fn open_only(&mut self, ids: Vec<EventId>, names: &Names<'_>) -> io::Result<()> {
        if let Some(id) = ids.first() {
            self.place(*id, names)?;
        }
        self.only = Some(ids);
        Ok(())
    }

    /// Index of the table of an event, which is opened if necessary and possible, or [`LEFT_OUT`].
    #[cold]
    fn place(&mut self, id: EventId, names: &Names<'_>) -> io::Result<i32> {
        if self.only.as_ref().is_some_and(|only| !only.contains(&id)) {
            return Ok(LEFT_OUT);
        }
        let name = names.table(id);
        if let Some(at) = self.known.get(&name) {
            return Ok(*at);
        }
        let at = self.known.len() as i32;
        self.known.insert(name.clone(), at);
        let fields = names.fields(id);
        let fields = fields.iter().map(|of| FieldColumns::new(&of.fields, of.program)).collect();
        let table = NewTable { name, fields };
        if self.tables.len() < MAX_OPEN {
            let table = self.create(table)?;
            self.tables.push(table);
        } else {
            self.later.push(table);
        }
        Ok(at)
    }

    /// Collects the rows of a block for their open tables: those with fields at fixed places event by event, then the
    /// others. `table_of` returns the index of a row's table. Returns true if a row belongs to another table.
    fn collect_rows(
        &mut self,
        block: &RowBlock<'_>,
        mut table_of: impl FnMut(&mut Self, usize) -> io::Result<i32>,
    ) -> io::Result<bool> {
        let mut has_others = false;
        for flat in block.flat_rows() {
            let Some(first) = flat.rows().next() else { continue };
            let at = table_of(self, first)?;
            let Some(table) = self.tables.get_mut(at as usize) else {
                has_others = true;
                continue;
            };
            table.flat = table.rows.is_empty().then(|| flat.place());
            if table.rows.is_empty() {
                self.changed.push(at as usize);
            }
            table.rows.extend(flat.rows());
        }
        for at in 0..self.cells.others.len() {
            let row = self.cells.others[at];
            let at = table_of(self, row)?;
            let Some(table) = self.tables.get_mut(at as usize) else {
                has_others = true;
                continue;
            };
            table.flat = None;
            if table.rows.is_empty() {
                self.changed.push(at as usize);
            }
            table.rows.push(row);
        }
        for at in &self.changed {
            let table = &mut self.tables[*at];
            if table.flat.is_none() && !table.rows.is_sorted() {
                table.rows.sort_unstable();
            }
        }
        Ok(has_others)
    }

    /// Stores the rows of a block whose tables are not open yet.
    #[cold]
    fn store_rows(&mut self, block: &RowBlock<'_>) -> io::Result<()> {
        let ids = block.short(Short::Id);
        let input = self.inputs.len() - 1;
        for row in 0..block.len() {
            let at = self.places.get(ids.value(row)) as usize;
            if (MAX_OPEN..LEFT_OUT as usize).contains(&at) {
                let group = self.stored.group(at / MAX_OPEN - 1, input)?;
                group.push(block, row, self.cells.flat_rows(block, row), at as u32);
                self.n_rows += 1;
            }
        }
        Ok(())
    }

    /// Index of the table of an event by its number, see [`EventTables::place`].
    #[inline(always)]
    fn place_of(&mut self, id: u32, names: &Names<'_>) -> io::Result<i32> {
        match self.places.get(id) {
            NONE => {
                let at = self.place(RowBlock::id(id), names)?;
                self.places.insert(id, at);
                Ok(at)
            }
            at => Ok(at),
        }
    }

    /// Appends the collected rows of a block to the columns of their tables.
    fn push_rows(&mut self, block: &RowBlock<'_>) -> io::Result<()> {
        let Self { tables, changed, cells, options, .. } = self;
        changed.drain(..).try_for_each(|at| tables[at].push_rows(block, options.batch_rows, cells))
    }

    fn create(&mut self, NewTable { name, fields }: NewTable) -> io::Result<EventFields> {
        let options = &self.options;
        let columns = columns(options);
        let own = fields.iter().flat_map(FieldColumns::fields);
        let all: Vec<_> = columns.iter().map(|column| Arc::new(column.field())).chain(own).collect();
        let metadata = TableMetadata { event: Some(name.clone()), ..options.metadata.clone() };
        let schema = Arc::new(Schema::new_with_metadata(all, metadata.entries(&self.facts, options.time_zero)));
        let mut out = self.open.open(&name)?;
        out.begin(&schema)?;
        let columns = Columns::new(&columns, options);
        Ok(EventFields { name, schema, columns, fields, out, n_rows: 0, n_bytes: 0, rows: Vec::new(), flat: None })
    }
}

fn columns(options: &TableOptions) -> Vec<EventColumn> {
    match &options.columns {
        Some(columns) => columns.iter().copied().filter(|column| BY_EVENT.contains(column)).collect(),
        None => BY_EVENT.to_vec(),
    }
}

/// Fields of the rows of a block.
#[derive(Default)]
struct CellsOfBlock {
    row: Row,
    /// Place of its [`FlatRows`] by row; empty if no row has any.
    places: Vec<u32>,
    /// Rows without such a place, in ascending order.
    others: Vec<usize>,
}

impl CellsOfBlock {
    fn begin(&mut self, block: &RowBlock<'_>) {
        self.places.clear();
        self.others.clear();
        for flat in block.flat_rows() {
            self.places.resize(block.len(), u32::MAX);
            for row in flat.rows() {
                if let Some(place) = self.places.get_mut(row) {
                    *place = flat.place() as u32;
                }
            }
        }
        if self.places.is_empty() {
            self.others.extend(0..block.len());
        } else {
            let has_none = |(row, place): (usize, &u32)| (*place == u32::MAX).then_some(row);
            self.others.extend(self.places.iter().enumerate().filter_map(has_none));
        }
    }

    /// Flat rows with the fields of a row.
    fn flat_rows<'b>(&self, block: &RowBlock<'b>, row: usize) -> Option<FlatRows<'b>> {
        block.flat_rows_at(*self.places.get(row)? as usize)
    }

    /// Flat rows with the first of some rows, and the range of these that are the next of the rows, too.
    fn flat<'b>(&self, block: &RowBlock<'b>, rows: &[usize]) -> Option<(FlatRows<'b>, Range<usize>)> {
        let first = *rows.first()?;
        let flat = self.flat_rows(block, first)?;
        let start = flat.position(first)?;
        let n = flat.rows().skip(start).zip(rows).take_while(|(one, other)| one == *other).count();
        Some((flat, start..start + n))
    }
}

impl EventFields {
    fn end(mut self, open: &mut dyn OpenTables) -> io::Result<()> {
        self.finish_batch()?;
        open.close(&self.name, self.out, self.n_rows)
    }

    /// Appends the rows of a block to the columns.
    fn push_rows(&mut self, block: &RowBlock<'_>, batch_rows: usize, cells: &mut CellsOfBlock) -> io::Result<()> {
        // There is no column of labels.
        let label = |_| String::new();
        let rows = std::mem::take(&mut self.rows);
        let flat = self.flat.take().and_then(|place| block.flat_rows_at(place));
        let mut rest = &rows[..];
        while !rest.is_empty() {
            let room = batch_rows.saturating_sub(self.columns.n_rows).max(1);
            let next = &rest[..room.min(rest.len())];
            let n_rows = match (flat, &mut self.fields[..]) {
                (Some(flat), [_]) => {
                    let start = rows.len() - rest.len();
                    self.push_flat(flat, start..start + next.len())
                }
                _ => self.push_fields(block, next, cells),
            };
            let (own, others) = rest.split_at(n_rows);
            match flat {
                Some(_) => self.columns.push_all(block, &RowsOfEvent(own), label),
                None => self.columns.push_all(block, &own, label),
            }
            self.n_rows += n_rows as u64;
            if self.columns.n_rows >= batch_rows || self.n_bytes >= MAX_TEXT {
                self.finish_batch()?;
            }
            rest = others;
        }
        self.rows = rows;
        self.rows.clear();
        Ok(())
    }

    /// Appends the fields of rows, up to the one with which the batch reaches [`MAX_TEXT`]. Returns the number of rows.
    fn push_fields(&mut self, block: &RowBlock<'_>, rows: &[usize], cells: &mut CellsOfBlock) -> usize {
        let mut n_rows = 0;
        while n_rows < rows.len() && self.n_bytes < MAX_TEXT {
            let rest = &rows[n_rows..];
            n_rows += match (&mut self.fields[..], cells.flat(block, rest)) {
                ([_], Some((flat, range))) => self.push_flat(flat, range),
                (fields, _) => {
                    let own = block.fields(rest[0]);
                    self.n_bytes += own.len();
                    let n_programs = fields.len();
                    let parts = fields.iter_mut().zip(split_cells(own, n_programs));
                    parts.for_each(|(fields, own)| fields.push_row(own, &mut cells.row));
                    1
                }
            };
        }
        n_rows
    }

    /// Appends the fields of a range of flat rows, up to the one with which the batch reaches [`MAX_TEXT`]. Returns the
    /// number of rows.
    fn push_flat(&mut self, flat: FlatRows<'_>, range: Range<usize>) -> usize {
        // A row counts as many bytes as its columns have, and four more.
        let row_bytes = 4 + 8 * flat.n_columns();
        let n = range.len().min(MAX_TEXT.saturating_sub(self.n_bytes).div_ceil(row_bytes));
        self.n_bytes += n * row_bytes;
        if let [fields] = &mut self.fields[..] {
            fields.push_flat(flat.columns(range.start..range.start + n));
        }
        n
    }

    fn finish_batch(&mut self) -> io::Result<()> {
        if self.columns.n_rows == 0 {
            return Ok(());
        }
        let mut columns = self.columns.finish()?;
        for fields in &mut self.fields {
            columns.extend(fields.finish().map_err(io::Error::other)?);
        }
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

    fn rows(&mut self, rows: &RowBlock<'_>, names: &Names<'_>) -> io::Result<()> {
        self.cells.begin(rows);
        let ids = rows.short(Short::Id);
        let has_others = self.collect_rows(rows, |tables, row| tables.place_of(ids.value(row), names))?;
        self.n_rows += self.changed.iter().map(|at| self.tables[*at].rows.len() as u64).sum::<u64>();
        if has_others && !self.later.is_empty() {
            self.store_rows(rows)?;
        }
        self.push_rows(rows)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.options.follow {
            return Ok(());
        }
        self.tables.iter_mut().try_for_each(|table| {
            table.finish_batch()?;
            table.out.flush()
        })
    }
}
