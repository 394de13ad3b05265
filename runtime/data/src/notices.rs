//! The table of notices: one row per damaged place or warning, and one for the summary.

use crate::columns::{field, words};
use crate::dictionary::Words;
use crate::events::{BATCH_ROWS, BatchSink, time_us};
use crate::metadata::{Summary, TableMetadata};
use arrow_array::builder::{Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tfbc::Notice;
use tfbc::internal::rows::{Long, Names, RowBlock, RowSink, Short, TraceFacts};

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

/// One row. A `None` is null.
#[derive(Debug, Clone)]
struct NoticeRow {
    kind: NoticeKind,
    offset: Option<u64>,
    bytes: Option<u64>,
    seq: Option<u64>,
    cpu: Option<u32>,
    count: Option<u64>,
    message: String,
}

/// Time and CPU of an event.
#[derive(Debug, Clone, Copy, Default)]
struct EventTime {
    time_us: Option<i64>,
    elapsed_ns: Option<i64>,
    cpu: Option<u32>,
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
    /// Rows that wait for the time of the next event, in the order of `seq`.
    waiting: VecDeque<NoticeRow>,
    time_zero: Option<i128>,
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
            waiting: VecDeque::new(),
            time_zero: None,
        }
    }

    /// Sets the input of the next rows.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn set_file(&mut self, file: &str) -> io::Result<()> {
        self.push_waiting(u64::MAX, EventTime::default())?;
        file.clone_into(&mut self.file);
        Ok(())
    }

    /// Sets the UTC nanoseconds of elapsed time 0, which replace those of the trace.
    pub fn set_time_zero(&mut self, time_zero: Option<i128>) {
        self.time_zero = time_zero;
    }

    /// Adds a notice. Its time is that of the next row of the table of events.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn notice(&mut self, notice: &Notice) -> io::Result<()> {
        let (from, to) = notice.skipped.unzip();
        let gap = notice.gap;
        self.waiting.push_back(NoticeRow {
            kind: match gap {
                Some(_) => NoticeKind::Gap,
                None if notice.damage => NoticeKind::Damage,
                None => NoticeKind::Warning,
            },
            offset: from.or(gap.map(|gap| gap.offset)),
            bytes: from.zip(to).map(|(from, to)| to - from).or(gap.map(|gap| gap.n_bytes)),
            seq: Some(notice.n_before),
            cpu: gap.and_then(|gap| gap.cpu),
            count: gap.and_then(|gap| gap.n_missing),
            message: notice.message.clone(),
        });
        // If no event comes for long, the notices have no time.
        if self.waiting.len() >= BATCH_ROWS { self.push_waiting(u64::MAX, EventTime::default()) } else { Ok(()) }
    }

    /// Takes rows of the table of events. The notices before each get its time.
    ///
    /// # Errors
    /// A batch cannot be written.
    fn events(&mut self, rows: &RowBlock<'_>) -> io::Result<()> {
        let seqs = rows.long(Long::Seq);
        let mut row = 0;
        while let Some(waiting) = self.waiting.front() {
            let seq = waiting.seq.unwrap_or_default();
            row += (row..rows.len()).take_while(|row| (seqs.value(*row) as u64) < seq).count();
            if row == rows.len() {
                break;
            }
            let next = EventTime {
                time_us: time_us(self.time_zero, rows, row),
                elapsed_ns: rows.long(Long::ElapsedNs).get(row),
                cpu: rows.short(Short::Cpu).get(row),
            };
            self.push_waiting(seqs.value(row) as u64, next)?;
        }
        Ok(())
    }

    /// Adds the waiting rows up to a `seq`.
    fn push_waiting(&mut self, seq: u64, next: EventTime) -> io::Result<()> {
        while self.waiting.front().is_some_and(|row| row.seq.is_none_or(|own| own <= seq))
            && let Some(row) = self.waiting.pop_front()
        {
            self.push(&row, next)?;
        }
        Ok(())
    }

    /// Adds a warning about the whole input.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn warning(&mut self, seq: Option<u64>, count: Option<u64>, message: &str) -> io::Result<()> {
        self.of_input(NoticeKind::Warning, None, seq, count, message)
    }

    /// Adds a flag that removed events, and how many it removed if that is known.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn filtered(&mut self, flag: &str, n_events: Option<u64>) -> io::Result<()> {
        self.of_input(NoticeKind::Filtered, None, None, n_events, flag)
    }

    /// Adds the summary and passes on the last rows.
    ///
    /// # Errors
    /// A batch cannot be written.
    pub fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let bytes = Some(summary.tally.read);
        self.of_input(NoticeKind::Summary, bytes, None, Some(summary.rows), &summary.to_json())?;
        self.finish_batch()?;
        self.out.flush()
    }

    /// Adds a row about the whole input. No event comes after it.
    fn of_input(
        &mut self,
        kind: NoticeKind,
        bytes: Option<u64>,
        seq: Option<u64>,
        count: Option<u64>,
        message: &str,
    ) -> io::Result<()> {
        self.push_waiting(u64::MAX, EventTime::default())?;
        let row = NoticeRow { kind, offset: None, bytes, seq, cpu: None, count, message: message.to_owned() };
        self.push(&row, EventTime::default())
    }

    fn push(&mut self, row: &NoticeRow, next: EventTime) -> io::Result<()> {
        self.kinds.push(row.kind.name().as_bytes());
        self.files.push(self.file.as_bytes());
        let signed = |number: Option<u64>| number.map(|number| number as i64);
        let numbers = [signed(row.offset), signed(row.bytes), signed(row.seq), next.elapsed_ns, signed(row.count)];
        for (builder, number) in self.numbers.iter_mut().zip(numbers) {
            builder.append_option(number);
        }
        self.times.append_option(next.time_us);
        self.cpus.append_option(row.cpu.or(next.cpu).and_then(|cpu| i32::try_from(cpu).ok()));
        self.messages.append_value(&row.message);
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

/// Table of notices that a run fills from its monitor, while its rows pass.
pub struct NoticeLog<'s> {
    table: Mutex<NoticeTable<'s>>,
    /// True if a notice waits for the time of the next row.
    waits: AtomicBool,
}

impl<'s> NoticeLog<'s> {
    /// Creates a log of a table.
    pub fn new(table: NoticeTable<'s>) -> Self {
        Self { table: Mutex::new(table), waits: AtomicBool::new(false) }
    }

    /// Calls a function with the table.
    ///
    /// # Errors
    /// The function fails.
    pub fn with<T>(&self, change: impl FnOnce(&mut NoticeTable<'s>) -> io::Result<T>) -> io::Result<T> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut table);
        self.waits.store(!table.waiting.is_empty(), Ordering::Relaxed);
        changed
    }

    /// Creates a sink that passes rows on, and gives the notices their times.
    pub fn rows<'r>(&'r self, sink: &'r mut dyn RowSink) -> impl RowSink + use<'r, 's> {
        TimedRows { log: self, sink }
    }
}

/// Sink of [`NoticeLog::rows`].
struct TimedRows<'r, 's> {
    log: &'r NoticeLog<'s>,
    sink: &'r mut dyn RowSink,
}

impl RowSink for TimedRows<'_, '_> {
    fn begin(&mut self, facts: &TraceFacts) -> io::Result<()> {
        self.sink.begin(facts)
    }

    fn rows(&mut self, rows: &RowBlock<'_>, names: &Names<'_>) -> io::Result<()> {
        if self.log.waits.load(Ordering::Relaxed) {
            self.log.with(|table| table.events(rows))?;
        }
        self.sink.rows(rows, names)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{TextForm, TextTable};

    #[test]
    fn each_notice_has_its_own_file() {
        let mut text = TextTable::new(Vec::new(), TextForm::Tsv);
        let mut table = NoticeTable::new(&TableMetadata::default(), &mut text);
        for file in ["a.trc", "b.trc"] {
            table.set_file(file).unwrap();
            let message = format!("the end of {file}");
            table.notice(&Notice { damage: true, message, skipped: None, n_before: 1, gap: None }).unwrap();
        }
        table.finish(&Summary::default()).unwrap();
        let text = String::from_utf8(text.finish().unwrap()).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().skip(1).take(2).map(|line| line.split('\t').collect()).collect();
        assert_eq!(
            [(rows[0][1], rows[0][9]), (rows[1][1], rows[1][9])],
            [("a.trc", "the end of a.trc"), ("b.trc", "the end of b.trc")]
        );
    }
}
