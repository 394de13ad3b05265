//! The table of events: one row per event, in batches.

use crate::columns::EventColumn;
use crate::dictionary::Words;
use crate::metadata::TableMetadata;
use arrow_array::builder::{Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use tfbc::EventId;
use tfbc::internal::rows::{EventRow, Names, RowFields, RowOptions, RowSink, TraceFacts};

/// Number of rows of a batch, unless its texts reach [`MAX_TEXT`] first.
pub(crate) const BATCH_ROWS: usize = 8192;
/// Number of bytes in texts and fields at which a batch ends, so that memory stays bounded.
pub(crate) const MAX_TEXT: usize = 1 << 20;
/// Largest value of [`TableOptions::batch_rows`].
pub const MAX_BATCH_ROWS: usize = 1 << 20;

/// Receiver of the batches of a table.
pub trait BatchSink: Send {
    /// Receives the schema. Called once, before the first batch.
    ///
    /// # Errors
    /// The table cannot be written.
    fn begin(&mut self, schema: &SchemaRef) -> io::Result<()>;

    /// Receives the next batch.
    ///
    /// # Errors
    /// The batch cannot be written.
    fn batch(&mut self, batch: RecordBatch) -> io::Result<()>;

    /// Completes the table, which has `n_rows` rows.
    ///
    /// # Errors
    /// It cannot be written.
    fn end(self: Box<Self>, n_rows: u64) -> io::Result<()> {
        let _ = n_rows;
        Ok(())
    }

    /// Writes buffered batches, because the next event may come late.
    ///
    /// # Errors
    /// It cannot be written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Options of a table of events.
#[derive(Debug, Clone)]
pub struct TableOptions {
    /// Columns; `None` for the default ones.
    pub columns: Option<Vec<EventColumn>>,
    /// Rows of a batch, from 1 to 1,048,576.
    pub batch_rows: usize,
    /// Names of the inputs: one per log of a merge, otherwise a single name.
    pub files: Vec<String>,
    /// True if the default columns include `file`, because there are several inputs.
    pub has_file: bool,
    /// UTC nanoseconds of elapsed time 0, instead of the trace's own start time.
    pub time_zero: Option<i128>,
    /// True if the input has file offsets: it is neither compressed nor a pipe.
    pub has_offsets: bool,
    /// True if a batch ends before every wait for more events.
    pub follow: bool,
    /// Metadata of the schema.
    pub metadata: TableMetadata,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            columns: None,
            batch_rows: BATCH_ROWS,
            files: Vec::new(),
            has_file: false,
            time_zero: None,
            has_offsets: true,
            follow: false,
            metadata: TableMetadata::default(),
        }
    }
}

impl TableOptions {
    /// Columns of the table.
    pub fn columns(&self) -> Vec<EventColumn> {
        let is_usual = |column: &EventColumn| column.is_default() || (self.has_file && *column == EventColumn::File);
        self.columns.clone().unwrap_or_else(|| EventColumn::ALL.iter().copied().filter(is_usual).collect())
    }

    /// Row options for these columns.
    pub fn wanted(&self) -> RowOptions {
        wanted(&self.columns())
    }
}

/// Row options for some columns: whatever no column needs is not computed.
pub(crate) fn wanted(columns: &[EventColumn]) -> RowOptions {
    let has = |column| columns.contains(&column);
    RowOptions {
        text: has(EventColumn::Text),
        fields: if has(EventColumn::Fields) { RowFields::Json } else { RowFields::No },
        note: has(EventColumn::Note),
        context: has(EventColumn::Cpu)
            || has(EventColumn::Pid)
            || has(EventColumn::Process)
            || has(EventColumn::Thread)
            || has(EventColumn::Tid),
        depth: has(EventColumn::Depth),
        svc: has(EventColumn::Svc),
        gaps: false,
    }
}

/// Sink of rows that collects them in batches.
///
/// A batch ends after a number of rows, or of bytes of text. So batches do not depend on the number of threads.
pub struct EventTable<'s> {
    options: TableOptions,
    columns: Columns,
    schema: Option<SchemaRef>,
    out: &'s mut dyn BatchSink,
    n_rows: u64,
    first_replaced: Option<u64>,
}

impl<'s> EventTable<'s> {
    /// Creates a table that sends its batches to `out`.
    pub fn new(options: TableOptions, out: &'s mut dyn BatchSink) -> Self {
        let columns = Columns::new(&options.columns(), &options);
        Self { columns, options, schema: None, out, n_rows: 0, first_replaced: None }
    }

    /// Starts the rows of another input.
    pub fn set_files(&mut self, files: Vec<String>, has_offsets: bool) {
        self.columns.source.files = files;
        self.columns.source.has_offsets = has_offsets;
    }

    /// Number of rows so far.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// `seq` of the first row whose text was not UTF-8.
    pub fn first_replaced(&self) -> Option<u64> {
        self.first_replaced
    }

    /// Sends the last batch. Returns the schema.
    ///
    /// # Errors
    /// The batch cannot be written.
    pub fn finish(&mut self) -> io::Result<SchemaRef> {
        self.finish_batch()?;
        let schema = match &self.schema {
            Some(schema) => Arc::clone(schema),
            None => self.begin_table(&TraceFacts::default())?,
        };
        self.out.flush()?;
        Ok(schema)
    }

    fn begin_table(&mut self, facts: &TraceFacts) -> io::Result<SchemaRef> {
        let fields: Vec<_> = self.options.columns().iter().map(|column| column.field()).collect();
        let metadata = self.options.metadata.entries(facts, self.options.time_zero);
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        self.out.begin(&schema)?;
        self.schema = Some(Arc::clone(&schema));
        Ok(schema)
    }

    fn finish_batch(&mut self) -> io::Result<()> {
        let Some(schema) = self.schema.as_ref().filter(|_| self.columns.n_rows > 0) else { return Ok(()) };
        let columns = self.columns.finish()?;
        self.out.batch(RecordBatch::try_new(Arc::clone(schema), columns).map_err(io::Error::other)?)
    }
}

impl RowSink for EventTable<'_> {
    fn begin(&mut self, facts: &TraceFacts) -> io::Result<()> {
        if self.schema.is_none() {
            self.begin_table(facts)?;
        }
        Ok(())
    }

    fn row(&mut self, row: &EventRow<'_>, names: &Names<'_>) -> io::Result<()> {
        self.n_rows += 1;
        if self.columns.push(row, names) {
            self.first_replaced.get_or_insert(row.seq);
        }
        if self.columns.n_rows >= self.options.batch_rows || self.columns.n_text >= MAX_TEXT {
            self.finish_batch()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.options.follow {
            self.finish_batch()?;
            self.out.flush()?;
        }
        Ok(())
    }
}

/// Data besides the row that columns are computed from.
pub(crate) struct Source {
    pub files: Vec<String>,
    pub has_offsets: bool,
    pub time_zero: Option<i128>,
}

/// Builders of the columns that exist for every event.
pub(crate) struct Columns {
    list: Vec<Column>,
    pub source: Source,
    /// Number of rows in the batch.
    pub n_rows: usize,
    /// Number of bytes of its texts and fields.
    pub n_text: usize,
}

enum Column {
    Long(EventColumn, Int64Builder),
    Int(EventColumn, Int32Builder),
    Time(TimestampMicrosecondBuilder),
    Words(EventColumn, Words),
    /// `id` or `label`, whose text depends only on the event id. So the dictionary key is cached by id.
    Named(EventColumn, Words, Ids),
    Text(EventColumn, StringBuilder),
}

/// Cache of dictionary keys by event id, for one batch.
#[derive(Default)]
struct Ids {
    known: HashMap<EventId, i32>,
    /// Last id and its key.
    last: Option<(EventId, i32)>,
}

impl Columns {
    pub fn new(columns: &[EventColumn], options: &TableOptions) -> Self {
        let builder = |column: &EventColumn| match *column {
            EventColumn::Time => Column::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            column @ (EventColumn::Cpu | EventColumn::Depth | EventColumn::EventBytes) => {
                Column::Int(column, Int32Builder::new())
            }
            column @ (EventColumn::Seq
            | EventColumn::ElapsedNs
            | EventColumn::Pid
            | EventColumn::Tid
            | EventColumn::FileOffset) => Column::Long(column, Int64Builder::new()),
            column @ (EventColumn::Text | EventColumn::Fields) => Column::Text(column, StringBuilder::new()),
            column @ (EventColumn::Id | EventColumn::Label) => Column::Named(column, Words::new(), Ids::default()),
            column => Column::Words(column, Words::new()),
        };
        Self {
            list: columns.iter().map(builder).collect(),
            source: Source {
                files: options.files.clone(),
                has_offsets: options.has_offsets,
                time_zero: options.time_zero,
            },
            n_rows: 0,
            n_text: 0,
        }
    }

    /// Appends a row. Returns true if bytes of its text were replaced.
    pub fn push(&mut self, row: &EventRow<'_>, names: &Names<'_>) -> bool {
        let Self { list, source, n_text, .. } = self;
        let mut is_replaced = false;
        for column in list {
            match column {
                Column::Long(column, builder) => builder.append_option(match column {
                    EventColumn::Seq => Some(row.seq as i64),
                    EventColumn::ElapsedNs => row.elapsed_ns,
                    EventColumn::Pid => row.pid,
                    EventColumn::Tid => row.tid,
                    _ => source.has_offsets.then_some(row.offset as i64),
                }),
                Column::Int(column, builder) => builder.append_option(match column {
                    EventColumn::Cpu => row.cpu.and_then(|cpu| i32::try_from(cpu).ok()),
                    EventColumn::Depth => row.depth.map(|depth| depth as i32),
                    _ => Some(row.n_bytes as i32),
                }),
                Column::Time(builder) => builder.append_option(time_us(source.time_zero, row)),
                Column::Named(column, words, ids) => {
                    let key = ids.key(row.id, |id| match column {
                        EventColumn::Id => words.key(id.name().as_bytes()),
                        _ => words.key(names.label(id).as_bytes()),
                    });
                    words.push_key(key);
                }
                Column::Words(column, words) => match column {
                    EventColumn::Process => words.push_known(row.process),
                    EventColumn::Thread => words.push_known(row.thread),
                    EventColumn::Svc => words.push_known(row.svc),
                    EventColumn::Note => words.push_known(row.note.name().unwrap_or_default().as_bytes()),
                    _ => words.push(source.file(row.log).as_bytes()),
                },
                Column::Text(column, builder) => {
                    let text = if *column == EventColumn::Text { row.text } else { row.fields };
                    *n_text += text.len();
                    match std::str::from_utf8(text) {
                        Ok(text) => builder.append_value(text),
                        Err(_) => {
                            is_replaced = true;
                            builder.append_value(String::from_utf8_lossy(text));
                        }
                    }
                }
            }
        }
        self.n_rows += 1;
        is_replaced
    }

    /// Returns the columns, and starts the next batch.
    pub fn finish(&mut self) -> io::Result<Vec<ArrayRef>> {
        (self.n_rows, self.n_text) = (0, 0);
        let finished = self.list.iter_mut().map(|column| {
            Ok(match column {
                Column::Long(_, builder) => Arc::new(builder.finish()) as ArrayRef,
                Column::Int(_, builder) => Arc::new(builder.finish()),
                Column::Time(builder) => Arc::new(builder.finish()),
                Column::Words(_, words) => words.finish().map_err(io::Error::other)?,
                Column::Named(_, words, ids) => {
                    *ids = Ids::default();
                    words.finish().map_err(io::Error::other)?
                }
                Column::Text(_, builder) => Arc::new(builder.finish()),
            })
        });
        finished.collect()
    }
}

/// Time of a row in microseconds since 1970. `time_zero` is the UTC time of elapsed time 0, if it was given.
pub(crate) fn time_us(time_zero: Option<i128>, row: &EventRow<'_>) -> Option<i64> {
    match time_zero {
        Some(zero_ns) => Some((zero_ns + i128::from(row.elapsed_ns?)).div_euclid(1000) as i64),
        None => row.time_us,
    }
}

impl Source {
    fn file(&self, log: u32) -> &str {
        self.files.get(log as usize).or(self.files.first()).map_or("", String::as_str)
    }
}

impl Ids {
    /// Returns the key of an id, or calls `add` to make it.
    #[inline]
    fn key(&mut self, id: EventId, add: impl FnOnce(EventId) -> i32) -> i32 {
        if let Some((last, key)) = self.last
            && last == id
        {
            return key;
        }
        let key = *self.known.entry(id).or_insert_with(|| add(id));
        self.last = Some((id, key));
        key
    }
}
