//! The table of notices: one row per damaged place or warning, and one for the summary.

use crate::columns::{field, words};
use crate::dictionary::Words;
use crate::events::{BATCH_ROWS, BatchSink};
use crate::metadata::{Summary, TableMetadata};
use arrow_array::builder::{Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use std::io;
use std::sync::Arc;
use tfbc::Notice;
use tfbc::internal::rows::TraceFacts;

/// Kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// Bytes that are not events.
    Damage,
    /// Events that the recorder lost.
    Gap,
    /// Any other message about the trace.
    Warning,
    /// A flag that removed events.
    Filtered,
    /// Counts of the whole input; the last row.
    Summary,
}

impl NoticeKind {
    /// Name in the column `kind`.
    pub fn name(self) -> &'static str {
        match self {
            NoticeKind::Damage => "damage",
            NoticeKind::Gap => "gap",
            NoticeKind::Warning => "warning",
            NoticeKind::Filtered => "filtered",
            NoticeKind::Summary => "summary",
        }
    }
}

/// One row. `None` is null.
#[derive(Debug, Clone)]
struct Row<'r> {
    kind: NoticeKind,
    offset: Option<u64>,
    bytes: Option<u64>,
    seq: Option<u64>,
    count: Option<u64>,
    message: &'r str,
}

/// Builder of the table.
pub struct NoticeTable<'s> {
    schema: SchemaRef,
    out: &'s mut dyn BatchSink,
    has_begun: bool,
    file: String,
    n_rows: usize,
    kinds: Words,
    files: Words,
    /// `offset`, `bytes`, `seq`, `elapsed_ns` and `count`.
    numbers: [Int64Builder; 5],
    times: TimestampMicrosecondBuilder,
    cpus: Int32Builder,
    messages: StringBuilder,
}

/// Schema of the table.
fn schema(metadata: &TableMetadata) -> SchemaRef {
    let fields = vec![
        field("kind", words(), false),
        field("file", words(), false),
        field("offset", DataType::Int64, true),
        field("bytes", DataType::Int64, true),
        field("seq", DataType::Int64, true),
        field("time", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        field("elapsed_ns", DataType::Int64, true),
        field("cpu", DataType::Int32, true),
        field("count", DataType::Int64, true),
        field("message", DataType::Utf8, false),
    ];
    Arc::new(Schema::new_with_metadata(fields, metadata.entries(&TraceFacts::default(), None)))
}

impl<'s> NoticeTable<'s> {
    /// Creates a table that sends its batches to `out`.
    pub fn new(metadata: &TableMetadata, out: &'s mut dyn BatchSink) -> Self {
        Self {
            schema: schema(metadata),
            out,
            has_begun: false,
            file: String::new(),
            n_rows: 0,
            kinds: Words::new(),
            files: Words::new(),
            numbers: std::array::from_fn(|_| Int64Builder::new()),
            times: TimestampMicrosecondBuilder::new().with_timezone("UTC"),
            cpus: Int32Builder::new(),
            messages: StringBuilder::new(),
        }
    }

    /// Sets the input of the next rows.
    pub fn set_file(&mut self, file: &str) {
        file.clone_into(&mut self.file);
    }

    /// Adds a notice.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn notice(&mut self, notice: &Notice) -> io::Result<()> {
        let (from, to) = notice.skipped.unzip();
        self.push(&Row {
            kind: if notice.damage { NoticeKind::Damage } else { NoticeKind::Warning },
            offset: from,
            bytes: from.zip(to).map(|(from, to)| to - from),
            seq: Some(notice.n_before),
            count: None,
            message: &notice.message,
        })
    }

    /// Adds a warning about the whole input.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn warning(&mut self, seq: Option<u64>, count: Option<u64>, message: &str) -> io::Result<()> {
        self.push(&Row { kind: NoticeKind::Warning, offset: None, bytes: None, seq, count, message })
    }

    /// Adds the flags that removed events, and the number of events that all of them removed.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn filtered(&mut self, flags: &str, n_events: u64) -> io::Result<()> {
        let row = Row {
            kind: NoticeKind::Filtered,
            offset: None,
            bytes: None,
            seq: None,
            count: Some(n_events),
            message: flags,
        };
        self.push(&row)
    }

    /// Adds the summary and sends the last batch.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        self.push(&Row {
            kind: NoticeKind::Summary,
            offset: None,
            bytes: Some(summary.tally.read),
            seq: None,
            count: Some(summary.rows),
            message: &summary.to_json(),
        })?;
        self.finish_batch()?;
        self.out.flush()
    }

    fn push(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.kinds.push(row.kind.name().as_bytes());
        self.files.push(self.file.as_bytes());
        let numbers = [row.offset, row.bytes, row.seq, None, row.count];
        for (builder, number) in self.numbers.iter_mut().zip(numbers) {
            builder.append_option(number.map(|number| number as i64));
        }
        self.times.append_null();
        self.cpus.append_null();
        self.messages.append_value(row.message);
        self.n_rows += 1;
        if self.n_rows >= BATCH_ROWS { self.finish_batch() } else { Ok(()) }
    }

    fn finish_batch(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.out.begin(&self.schema)?;
        }
        self.n_rows = 0;
        let [offset, bytes, seq, elapsed, count] =
            self.numbers.each_mut().map(|builder| Arc::new(builder.finish()) as ArrayRef);
        let columns = vec![
            self.kinds.finish().map_err(io::Error::other)?,
            self.files.finish().map_err(io::Error::other)?,
            offset,
            bytes,
            seq,
            Arc::new(self.times.finish()),
            elapsed,
            Arc::new(self.cpus.finish()),
            count,
            Arc::new(self.messages.finish()),
        ];
        self.out.batch(RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(io::Error::other)?)
    }
}
