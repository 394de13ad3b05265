//! The table of events: one row per event, in batches.

use crate::columns::EventColumn;
use crate::dictionary::{NONE, Words};
use crate::metadata::TableMetadata;
use crate::numbers::Numbers;
use crate::row_set::RowSet;
use crate::strings::Strings;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tfbc::EventId;
use tfbc::internal::rows::{Long, NULL, Names, RowBlock, RowFields, RowOptions, RowSink, Short, TraceFacts};

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

    /// Writes buffered batches, because the next event may be delayed.
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
        time: has(EventColumn::Time),
        origins: has(EventColumn::FileOffset) || has(EventColumn::EventBytes),
        logs: has(EventColumn::File),
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
    /// Options of the table.
    pub(crate) fn options(&self) -> &TableOptions {
        &self.options
    }

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
        self.first_replaced = self.first_replaced.or(self.columns.first_replaced);
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

    fn rows(&mut self, rows: &RowBlock<'_>, names: &Names<'_>) -> io::Result<()> {
        self.n_rows += rows.len() as u64;
        let mut first = 0;
        while first < rows.len() {
            let last = rows.len().min(first + self.options.batch_rows.saturating_sub(self.columns.n_rows).max(1));
            let next = self.columns.push(rows, first..last, names);
            if self.columns.n_rows >= self.options.batch_rows || self.columns.n_text >= MAX_TEXT {
                self.finish_batch()?;
            }
            first = next;
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
    list: Vec<TableColumn>,
    pub source: Source,
    /// Number of rows in the batch.
    pub n_rows: usize,
    /// Number of bytes of its texts and fields.
    pub n_text: usize,
    /// `seq` of the rows in the batch, if they have texts.
    seqs: Vec<u64>,
    /// `seq` of the first row of the last batch whose text was not UTF-8.
    first_replaced: Option<u64>,
    /// Dictionary keys of a block's names.
    keys: Vec<i32>,
}

enum TableColumn {
    Long(Long, Numbers<Int64Type>),
    Int(Short, Numbers<Int32Type>),
    Time(Numbers<TimestampMicrosecondType>),
    /// Name of a block.
    Name(Short, Words),
    Note(Words),
    File(Words),
    /// `id` or `label`, whose text depends only on the event id. So the dictionary key is cached by id.
    Id(EventColumn, Words, KeysByNumber),
    Text(EventColumn, Strings),
}

/// Keys by number, such as dictionary keys by the event id.
pub(crate) struct KeysByNumber {
    /// Keys by the number's hash, so that most numbers need no search.
    recent: Box<[(u32, i32); N_RECENT]>,
    all: HashMap<u32, i32>,
}

const N_RECENT: usize = 1024;

impl Columns {
    pub fn new(columns: &[EventColumn], options: &TableOptions) -> Self {
        let builder = |column: &EventColumn| match *column {
            EventColumn::Time => TableColumn::Time(Numbers::new()),
            EventColumn::Cpu => TableColumn::Int(Short::Cpu, Numbers::new()),
            EventColumn::Depth => TableColumn::Int(Short::Depth, Numbers::new()),
            EventColumn::EventBytes => TableColumn::Int(Short::Bytes, Numbers::new()),
            EventColumn::Seq => TableColumn::Long(Long::Seq, Numbers::new()),
            EventColumn::ElapsedNs => TableColumn::Long(Long::ElapsedNs, Numbers::new()),
            EventColumn::Pid => TableColumn::Long(Long::Pid, Numbers::new()),
            EventColumn::Tid => TableColumn::Long(Long::Tid, Numbers::new()),
            EventColumn::FileOffset => TableColumn::Long(Long::Offset, Numbers::new()),
            column @ (EventColumn::Text | EventColumn::Fields) => TableColumn::Text(column, Strings::new()),
            column @ (EventColumn::Id | EventColumn::Label) => {
                TableColumn::Id(column, Words::new(), KeysByNumber::new())
            }
            EventColumn::Process => TableColumn::Name(Short::Process, Words::new()),
            EventColumn::Thread => TableColumn::Name(Short::Thread, Words::new()),
            EventColumn::Svc => TableColumn::Name(Short::Svc, Words::new()),
            EventColumn::Note => TableColumn::Note(Words::new()),
            EventColumn::File => TableColumn::File(Words::new()),
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
            seqs: Vec::new(),
            first_replaced: None,
            keys: Vec::new(),
        }
    }

    /// Appends rows of a range, up to the one with which the texts of the batch reach [`MAX_TEXT`]. Returns the end of
    /// the appended rows.
    pub fn push(&mut self, block: &RowBlock<'_>, range: Range<usize>, names: &Names<'_>) -> usize {
        let has =
            |wanted| self.list.iter().any(|column| matches!(column, TableColumn::Text(column, _) if *column == wanted));
        let [has_text, has_fields] = [EventColumn::Text, EventColumn::Fields].map(has);
        let mut range = range;
        if has_text || has_fields {
            if self.n_text + block.max_text(range.clone()) >= MAX_TEXT {
                let mut n_text = self.n_text;
                let is_full = |row: &usize| {
                    n_text += if has_text { block.text(*row).len() } else { 0 };
                    n_text += if has_fields { block.fields(*row).len() } else { 0 };
                    n_text >= MAX_TEXT
                };
                range.end = range.clone().find(is_full).map_or(range.end, |row| row + 1);
            }
            range.append(block.long(Long::Seq).values(), u64::from_le_bytes, &mut self.seqs);
        }
        self.push_all(block, &range, |id| names.label(id));
        let n_bytes = |column: &TableColumn| match column {
            TableColumn::Text(_, strings) => strings.n_bytes(),
            _ => 0,
        };
        self.n_text = self.list.iter().map(n_bytes).sum();
        range.end
    }

    /// Appends rows. `label` returns the label of an event.
    pub fn push_all(&mut self, block: &RowBlock<'_>, rows: &impl RowSet, label: impl Fn(EventId) -> String) {
        let Self { list, source, keys, .. } = self;
        let n_rows = rows.n_rows();
        for column in list {
            match column {
                TableColumn::Long(Long::Offset, numbers) if !source.has_offsets => numbers.push_nulls(n_rows),
                TableColumn::Long(column, numbers) => numbers.push_longs(block.long(*column), rows),
                TableColumn::Int(column, numbers) => numbers.push_shorts(block.short(*column), rows),
                TableColumn::Time(numbers) => match source.time_zero {
                    None => numbers.push_longs(block.long(Long::TimeUs), rows),
                    Some(_) => rows.indices().for_each(|row| numbers.push(time_us(source.time_zero, block, row))),
                },
                TableColumn::Id(column, words, keys) => {
                    let ids = block.short(Short::Id);
                    let mut key = |words: &mut Words, number| match keys.get(number) {
                        NONE => {
                            let id = RowBlock::id(number);
                            let text = if *column == EventColumn::Id { id.name() } else { label(id) };
                            let key = words.key(text.as_bytes());
                            keys.insert(number, key);
                            key
                        }
                        key => key,
                    };
                    if rows.has_one_id()
                        && let Some(first) = rows.indices().next()
                    {
                        let key = key(words, ids.value(first));
                        words.push_key(key, n_rows);
                        continue;
                    }
                    let mut last = (NULL, NONE);
                    words.push_keys(rows.indices(), |words, row| {
                        let number = ids.value(row);
                        if number != last.0 {
                            last = (number, key(words, number));
                        }
                        last.1
                    });
                }
                TableColumn::Name(column, words) => {
                    let column = block.short(*column);
                    if column.is_empty() {
                        words.push_nulls(n_rows);
                        continue;
                    }
                    keys.clear();
                    keys.resize(block.n_names(), NONE);
                    words.push_keys(rows.indices(), |words, row| {
                        let index = column.value(row);
                        let Some(key) = keys.get_mut(index as usize) else { return NONE };
                        if *key == NONE {
                            *key = words.key(block.name(index));
                        }
                        *key
                    });
                }
                TableColumn::Note(words) => {
                    let notes = block.short(Short::Note);
                    if notes.is_empty() {
                        words.push_nulls(n_rows);
                        continue;
                    }
                    words.push_keys(rows.indices(), |words, row| {
                        let name = RowBlock::note(notes.value(row)).name();
                        name.map_or(NONE, |name| words.key(name.as_bytes()))
                    });
                }
                TableColumn::File(words) => {
                    let logs = block.short(Short::Log);
                    if logs.is_empty() {
                        let key = words.key(source.file(NULL).as_bytes());
                        words.push_key(key, n_rows);
                        continue;
                    }
                    let mut last = (NULL, NONE);
                    words.push_keys(rows.indices(), |words, row| {
                        let log = logs.value(row);
                        if last.0 != log || last.1 == NONE {
                            last = (log, words.key(source.file(log).as_bytes()));
                        }
                        last.1
                    });
                }
                TableColumn::Text(EventColumn::Text, strings) => {
                    match rows.range().and_then(|range| block.texts_of(range)) {
                        Some(texts) => strings.push_joined(texts),
                        None => rows.indices().for_each(|row| strings.push(block.text(row))),
                    }
                }
                TableColumn::Text(_, strings) => match rows.range().and_then(|range| block.fields_of(range)) {
                    Some(fields) => strings.push_joined(fields),
                    None => rows.indices().for_each(|row| strings.push(block.fields(row))),
                },
            }
        }
        self.n_rows += n_rows;
    }

    /// Returns the columns, and starts the next batch.
    pub fn finish(&mut self) -> io::Result<Vec<ArrayRef>> {
        (self.n_rows, self.n_text, self.first_replaced) = (0, 0, None);
        let finished = self.list.iter_mut().map(|column| {
            Ok(match column {
                TableColumn::Long(_, numbers) => Arc::new(numbers.finish()) as ArrayRef,
                TableColumn::Int(_, numbers) => Arc::new(numbers.finish()),
                TableColumn::Time(numbers) => Arc::new(numbers.finish().with_timezone("UTC")),
                TableColumn::Name(_, words) | TableColumn::Note(words) | TableColumn::File(words) => {
                    words.finish().map_err(io::Error::other)?
                }
                TableColumn::Id(_, words, keys) => {
                    keys.clear();
                    words.finish().map_err(io::Error::other)?
                }
                TableColumn::Text(_, strings) => {
                    let (column, first) = strings.finish().map_err(io::Error::other)?;
                    let first = first.and_then(|row| self.seqs.get(row)).copied();
                    self.first_replaced = self.first_replaced.into_iter().chain(first).min();
                    Arc::new(column)
                }
            })
        });
        let finished = finished.collect();
        self.seqs.clear();
        finished
    }
}

/// Time of a row in microseconds since 1970. `time_zero` is the UTC time of elapsed time 0, if it was given.
pub(crate) fn time_us(time_zero: Option<i128>, block: &RowBlock<'_>, row: usize) -> Option<i64> {
    match time_zero {
        Some(zero_ns) => {
            let elapsed_ns = block.long(Long::ElapsedNs).get(row)?;
            Some((zero_ns + i128::from(elapsed_ns)).div_euclid(1000) as i64)
        }
        None => block.long(Long::TimeUs).get(row),
    }
}

impl Source {
    fn file(&self, log: u32) -> &str {
        self.files.get(log as usize).or(self.files.first()).map_or("", String::as_str)
    }
}

impl KeysByNumber {
    pub fn new() -> Self {
        Self { recent: Box::new([(NULL, NONE); N_RECENT]), all: HashMap::new() }
    }

    /// Key of a number, or [`NONE`].
    #[inline]
    pub fn get(&mut self, number: u32) -> i32 {
        let recent = &mut self.recent[(number.wrapping_mul(0x9E37_79B1) >> 22) as usize];
        if recent.0 != number || recent.1 == NONE {
            *recent = (number, self.all.get(&number).copied().unwrap_or(NONE));
        }
        recent.1
    }

    pub fn insert(&mut self, number: u32, key: i32) {
        self.all.insert(number, key);
    }

    pub fn clear(&mut self) {
        self.recent.fill((NULL, NONE));
        self.all.clear();
    }
}
