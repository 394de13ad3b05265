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
    FlatRows, Names, ProgramFields, RowBlock, RowFields, RowOptions, RowSink, Short, TraceFacts, split_cells,
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
pub struct EventTables<'s> {
    options: TableOptions,
    facts: TraceFacts,
    /// The open tables.
    tables: Vec<EventFields>,
    /// Index of the table by event of this input, or [`LEFT_OUT`].
    places: KeysByNumber,
    /// Events that have a table; `None` for all.
    only: Option<Vec<EventId>>,
    /// Tables with rows of the current block.
    changed: Vec<usize>,
    open: &'s mut dyn OpenTables,
    cells: CellsOfBlock,
    n_rows: u64,
    /// Number of completed tables per name. If the event occurs again, it gets another table.
    n_ended: HashMap<String, u32>,
}

/// Limit on open tables, for memory. To open another one, the least recently used is completed.
const MAX_OPEN: usize = 256;

/// Index of the table of an event that has none.
const LEFT_OUT: i32 = i32::MAX;

/// Table of one event, or of all records of a kernel call in a direction.
struct EventFields {
    name: String,
    /// Its name and a number, if the table continues another one.
    file: String,
    schema: SchemaRef,
    columns: Columns,
    /// Columns of the fields by program.
    fields: Vec<FieldColumns>,
    out: Box<dyn BatchSink>,
    n_rows: u64,
    n_bytes: usize,
    /// Number of the table's last row, counting the rows of all tables.
    last_row: u64,
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
            options,
            facts: TraceFacts::default(),
            tables: Vec::new(),
            places: KeysByNumber::new(),
            only: None,
            changed: Vec::new(),
            open,
            cells: CellsOfBlock::default(),
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
        self.places.clear();
        for table in &mut self.tables {
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
    pub fn finish(mut self) -> io::Result<()> {
        self.tables.sort_by(|one, other| one.file.cmp(&other.file));
        self.tables.into_iter().try_for_each(|table| table.end(self.open))
    }

    /// Completes the table that has not had a row for the longest time.
    fn end_oldest(&mut self) -> io::Result<()> {
        let tables = self.tables.iter().enumerate();
        let Some((oldest, _)) = tables.min_by_key(|(_, table)| table.last_row) else { return Ok(()) };
        let table = self.tables.swap_remove(oldest);
        self.places.clear();
        *self.n_ended.entry(table.name.clone()).or_default() += 1;
        table.end(self.open)
    }

    /// Leaves out the rows of other events. Opens the table of these events even if it has no rows yet.
    pub(crate) fn open_only(&mut self, ids: Vec<EventId>, names: &Names<'_>) -> io::Result<()> {
        if let Some(id) = ids.first() {
            self.place(*id, names, None)?;
        }
        self.only = Some(ids);
        Ok(())
    }

    /// Index of the table of an event, which is opened if necessary, or [`LEFT_OUT`].
    #[cold]
    fn place(&mut self, id: EventId, names: &Names<'_>, rows: Option<&RowBlock<'_>>) -> io::Result<i32> {
        if self.only.as_ref().is_some_and(|only| !only.contains(&id)) {
            return Ok(LEFT_OUT);
        }
        let name = names.table(id);
        if let Some(at) = self.tables.iter().position(|table| table.name == name) {
            return Ok(at as i32);
        }
        if self.tables.len() >= MAX_OPEN {
            rows.map_or(Ok(()), |rows| self.push_rows(rows, names))?;
            self.end_oldest()?;
        }
        let table = self.create(name, names.fields(id))?;
        self.tables.push(table);
        Ok(self.tables.len() as i32 - 1)
    }

    /// Collects the rows of a block for their tables: those with fields at fixed places event by event, then the others.
    /// Returns false and does nothing if a table may have to be completed before, because too many are open.
    fn collect_rows(&mut self, block: &RowBlock<'_>, names: &Names<'_>) -> io::Result<bool> {
        let ids = block.short(Short::Id);
        let of_groups = block.flat_rows().filter_map(|flat| flat.rows().next());
        let is_unknown = |row: &usize| self.places.get(ids.value(*row)) == NONE;
        let n_unknown = of_groups.chain(self.cells.others.iter().copied()).filter(is_unknown).count();
        if self.tables.len() + n_unknown > MAX_OPEN {
            return Ok(false);
        }
        for flat in block.flat_rows() {
            let Some(first) = flat.rows().next() else { continue };
            let at = self.place_of(ids.value(first), block, names)?;
            let Some(table) = self.tables.get_mut(at as usize) else { continue };
            table.flat = table.rows.is_empty().then(|| flat.place());
            if table.rows.is_empty() {
                self.changed.push(at as usize);
            }
            table.rows.extend(flat.rows());
        }
        for at in 0..self.cells.others.len() {
            let row = self.cells.others[at];
            let at = self.place_of(ids.value(row), block, names)?;
            let Some(table) = self.tables.get_mut(at as usize) else { continue };
            table.flat = None;
            if table.rows.is_empty() {
                self.changed.push(at as usize);
            }
            table.rows.push(row);
        }
        let n_before = self.n_rows;
        for at in &self.changed {
            let table = &mut self.tables[*at];
            if table.flat.is_none() && !table.rows.is_sorted() {
                table.rows.sort_unstable();
            }
            self.n_rows += table.rows.len() as u64;
            table.last_row = n_before + table.rows.last().map_or(0, |last| *last as u64 + 1);
        }
        Ok(true)
    }

    /// Collects the rows of a block one by one, and completes tables if too many are open.
    #[cold]
    fn collect_in_order(&mut self, block: &RowBlock<'_>, names: &Names<'_>) -> io::Result<()> {
        let ids = block.short(Short::Id);
        for row in 0..block.len() {
            let at = self.place_of(ids.value(row), block, names)?;
            let Some(table) = self.tables.get_mut(at as usize) else { continue };
            if table.rows.is_empty() {
                self.changed.push(at as usize);
            }
            table.rows.push(row);
            self.n_rows += 1;
            table.last_row = self.n_rows;
        }
        Ok(())
    }

    /// Index of the table of an event by its number, see [`EventTables::place`].
    #[inline(always)]
    fn place_of(&mut self, id: u32, block: &RowBlock<'_>, names: &Names<'_>) -> io::Result<i32> {
        match self.places.get(id) {
            NONE => {
                let at = self.place(RowBlock::id(id), names, Some(block))?;
                self.places.insert(id, at);
                Ok(at)
            }
            at => Ok(at),
        }
    }

    /// Appends the rows of a block to the columns of their tables.
    fn push_rows(&mut self, block: &RowBlock<'_>, names: &Names<'_>) -> io::Result<()> {
        let Self { tables, changed, cells, options, .. } = self;
        changed.drain(..).try_for_each(|at| tables[at].push_rows(block, names, options.batch_rows, cells))
    }

    fn create(&mut self, name: String, fields: Vec<ProgramFields<'_>>) -> io::Result<EventFields> {
        let options = &self.options;
        let columns = columns(options);
        let fields: Vec<_> = fields.iter().map(|of| FieldColumns::new(&of.fields, of.program)).collect();
        let own = fields.iter().flat_map(FieldColumns::fields);
        let all: Vec<_> = columns.iter().map(|column| Arc::new(column.field())).chain(own).collect();
        let metadata = TableMetadata { event: Some(name.clone()), ..options.metadata.clone() };
        let schema = Arc::new(Schema::new_with_metadata(all, metadata.entries(&self.facts, options.time_zero)));
        let file = match self.n_ended.get(&name) {
            Some(n) => format!("{name}.{n}"),
            None => name.clone(),
        };
        let mut out = self.open.open(&file)?;
        out.begin(&schema)?;
        let columns = Columns::new(&columns, options);
        Ok(EventFields {
            name,
            file,
            schema,
            columns,
            fields,
            out,
            n_rows: 0,
            n_bytes: 0,
            last_row: 0,
            rows: Vec::new(),
            flat: None,
        })
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

    /// Flat rows with the first of some rows, and the range of these that are the next of the rows, too.
    fn flat<'b>(&self, block: &RowBlock<'b>, rows: &[usize]) -> Option<(FlatRows<'b>, Range<usize>)> {
        let first = *rows.first()?;
        let flat = block.flat_rows_at(*self.places.get(first)? as usize)?;
        let start = flat.position(first)?;
        let n = flat.rows().skip(start).zip(rows).take_while(|(one, other)| one == *other).count();
        Some((flat, start..start + n))
    }
}

impl EventFields {
    fn end(mut self, open: &mut dyn OpenTables) -> io::Result<()> {
        self.finish_batch()?;
        open.close(&self.file, self.out, self.n_rows)
    }

    /// Appends the rows of a block to the columns.
    fn push_rows(
        &mut self,
        block: &RowBlock<'_>,
        names: &Names<'_>,
        batch_rows: usize,
        cells: &mut CellsOfBlock,
    ) -> io::Result<()> {
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
                Some(_) => self.columns.push_all(block, &RowsOfEvent(own), names),
                None => self.columns.push_all(block, &own, names),
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
        if !self.collect_rows(rows, names)? {
            self.collect_in_order(rows, names)?;
        }
        self.push_rows(rows, names)
    }
}
