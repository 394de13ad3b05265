//! Iterators over the batches of a table.
//!
//! A report pushes rows, but a reader pulls batches. So the report runs on a thread of its own. It waits until the
//! reader has received each batch, and stops when the reader is dropped.

use crate::by_event::{EventTables, OpenTables};
use crate::events::{BatchSink, EventTable, TableOptions};
use crate::metadata::{Summary, TableMetadata, kind_name};
use crate::notices::{NoticeLog, NoticeTable};
use crate::tables::CountedRows;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tfbc::EventId;
use tfbc::internal::rows::{Names, RowBlock, RowOptions, RowSink, TraceFacts, names, qnx_release, rows};
use tfbc::{Formats, Notice, ReportError, ReportOptions, Trace};

/// Capacity of the channel, in batches. One is enough to compute the next batch while the reader uses the last.
const N_WAITING: usize = 1;

/// Message from a run.
enum Sent {
    Schema(SchemaRef),
    Batch(RecordBatch),
    Failed(String),
}

/// Iterator over the batches of a table. Dropping it stops the report and joins its thread.
pub struct EventReader {
    schema: SchemaRef,
    sent: Option<Receiver<Sent>>,
    run: Option<JoinHandle<()>>,
    outcome: Arc<Mutex<Option<Outcome>>>,
}

/// Reader of the table of notices.
pub type NoticeReader = EventReader;

/// Result of a complete run, available after the last batch.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Counts of events, rows and bytes.
    pub summary: Summary,
    /// Number of damaged places.
    pub n_damaged: u64,
    /// Message of the first damaged place.
    pub first_damage: Option<String>,
}

/// Sends batches to the reader.
struct Sender(SyncSender<Sent>);

impl Sender {
    fn send(&self, sent: Sent) -> io::Result<()> {
        self.0.send(sent).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl BatchSink for Sender {
    fn begin(&mut self, schema: &SchemaRef) -> io::Result<()> {
        self.send(Sent::Schema(Arc::clone(schema)))
    }

    fn batch(&mut self, batch: RecordBatch) -> io::Result<()> {
        self.send(Sent::Batch(batch))
    }
}

/// Starts a report and returns an iterator over the table of its events.
///
/// # Errors
/// The trace cannot be read up to its first event.
pub fn events(
    mut trace: Trace,
    formats: Formats,
    report: ReportOptions,
    mut options: TableOptions,
) -> Result<EventReader, ArrowError> {
    describe(&trace, &formats, &mut options);
    EventReader::run(move |sender, outcome| {
        let mut table = EventTable::new(options.clone(), sender);
        let mut damage = Damage::default();
        let ran = rows(&mut trace, &formats, &report, options.wanted(), &mut table, &mut damage.monitor(None));
        table.finish().map_err(ReportError::Write)?;
        let summary = Summary::of(&ran?, table.n_rows());
        damage.end(summary, outcome);
        Ok(())
    })
}

/// Starts a report and returns an iterator over the table of its notices.
///
/// # Errors
/// The trace cannot be read.
pub fn notices(
    trace: Trace,
    formats: Formats,
    report: ReportOptions,
    mut options: TableOptions,
) -> Result<NoticeReader, ArrowError> {
    describe(&trace, &formats, &mut options);
    let name = std::mem::take(&mut options.files).into_iter().next().unwrap_or_default();
    let only = NoticeInput { name, opened: Ok(OpenedInput { trace, report }), ends_run: true };
    notices_of(std::iter::once(only), formats, options)
}

/// One input of the table that [`notices_of`] returns.
pub struct NoticeInput {
    /// Name of the input.
    pub name: String,
    /// The opened trace, or the reason why it cannot be opened.
    pub opened: Result<OpenedInput, String>,
    /// True if the table ends with an error if the trace cannot be read; otherwise, the reason becomes a row.
    pub ends_run: bool,
}

/// An opened trace, and the options of its report.
pub struct OpenedInput {
    /// The trace.
    pub trace: Trace,
    /// Options of its report.
    pub report: ReportOptions,
}

/// Reads inputs one after another and returns an iterator over the table of all their notices. The inputs are opened one
/// at a time. An input that cannot be read is a row.
///
/// # Errors
/// The only input cannot be read.
pub fn notices_of(
    inputs: impl Iterator<Item = NoticeInput> + Send + 'static,
    formats: Formats,
    options: TableOptions,
) -> Result<NoticeReader, ArrowError> {
    EventReader::run(move |sender, outcome| {
        let mut table = NoticeTable::new(&options.metadata, sender);
        table.set_time_zero(options.time_zero);
        let log = NoticeLog::new(table);
        let mut damage = Damage::default();
        let mut all = Summary::default();
        for NoticeInput { name, opened, ends_run } in inputs {
            log.with(|table| table.set_file(&name)).map_err(ReportError::Write)?;
            let unreadable = |why: &str| log.with(|table| table.warning(None, None, &format!("cannot read it: {why}")));
            let OpenedInput { mut trace, report } = match opened {
                Ok(opened) => opened,
                Err(why) => {
                    unreadable(&why).map_err(ReportError::Write)?;
                    continue;
                }
            };
            let mut count = CountedRows(0);
            // Text is formatted so that truncated events are counted.
            let wanted = RowOptions { note: true, gaps: true, context: true, time: true, ..RowOptions::default() };
            let mut monitor = damage.monitor(Some(&log));
            let ran = rows(&mut trace, &formats, &report, wanted, &mut log.rows(&mut count), &mut monitor);
            let written = monitor.written;
            written.map_err(ReportError::Write)?;
            match ran {
                Ok(counts) => all.add(&Summary::of(&counts, count.0)),
                Err(ReportError::Read(error)) if !ends_run => {
                    unreadable(&error.to_string()).map_err(ReportError::Write)?;
                }
                Err(error) => return Err(error),
            }
        }
        log.with(|table| table.finish(&all)).map_err(ReportError::Write)?;
        damage.end(all, outcome);
        Ok(())
    })
}

/// Starts a report and returns an iterator over the table of one event's typed fields. Rows of other tables are left out.
///
/// # Errors
/// The trace cannot be read up to its first event.
pub fn event(
    mut trace: Trace,
    formats: Formats,
    report: ReportOptions,
    mut options: TableOptions,
    id: EventId,
) -> Result<EventReader, ArrowError> {
    describe(&trace, &formats, &mut options);
    EventReader::run(move |sender, outcome| {
        let mut open = OneTable(sender.0.clone());
        let wanted = EventTables::wanted(&options);
        let names = names(&formats, qnx_release(&trace));
        let mut sink = OneEvent { ids: names.same_table(id), names, tables: EventTables::new(options, &mut open) };
        let mut damage = Damage::default();
        let ran = rows(&mut trace, &formats, &report, wanted, &mut sink, &mut damage.monitor(None));
        let n_rows = sink.tables.n_rows();
        sink.tables.finish().map_err(ReportError::Write)?;
        damage.end(Summary::of(&ran?, n_rows), outcome);
        Ok(())
    })
}

/// Output of the only table, which sends its batches to the reader.
struct OneTable(SyncSender<Sent>);

impl OpenTables for OneTable {
    fn open(&mut self, _: &str) -> io::Result<Box<dyn BatchSink>> {
        Ok(Box::new(Sender(self.0.clone())))
    }

    fn close(&mut self, _: &str, _: Box<dyn BatchSink>, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// Sink for the rows of one event. The table has a schema even if there are no rows.
struct OneEvent<'s> {
    /// Events of the table.
    ids: Vec<EventId>,
    names: Names<'s>,
    tables: EventTables<'s>,
}

impl RowSink for OneEvent<'_> {
    fn begin(&mut self, facts: &TraceFacts) -> io::Result<()> {
        self.tables.begin(facts)?;
        self.tables.open_only(std::mem::take(&mut self.ids), &self.names)
    }

    fn rows(&mut self, rows: &RowBlock<'_>, names: &Names<'_>) -> io::Result<()> {
        self.tables.rows(rows, names)
    }
}

/// Completes table options with facts about the trace.
fn describe(trace: &Trace, formats: &Formats, options: &mut TableOptions) {
    let info = trace.info();
    if options.files.is_empty() {
        options.files = vec![info.name];
    }
    options.has_offsets = info.files.iter().all(|file| file.size.is_some());
    let metadata = TableMetadata { kind: kind_name(info.kind.name()), ..std::mem::take(&mut options.metadata) };
    options.metadata = metadata.with_formats(formats);
}

/// Number of damaged places, and the first message.
#[derive(Default)]
struct Damage {
    n_damaged: u64,
    first: Option<String>,
}

/// Monitor of a run that fills a table.
struct TableMonitor<'d, 't, 's> {
    damage: &'d mut Damage,
    table: Option<&'t NoticeLog<'s>>,
    written: io::Result<()>,
}

impl Damage {
    fn monitor<'d, 't, 's>(&'d mut self, table: Option<&'t NoticeLog<'s>>) -> TableMonitor<'d, 't, 's> {
        TableMonitor { damage: self, table, written: Ok(()) }
    }

    fn end(self, summary: Summary, outcome: &Mutex<Option<Outcome>>) {
        let ended = Outcome { summary, n_damaged: self.n_damaged, first_damage: self.first };
        *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
    }
}

impl tfbc::Monitor for TableMonitor<'_, '_, '_> {
    fn notice(&mut self, notice: &Notice) {
        if notice.damage {
            self.damage.n_damaged += 1;
            self.damage.first.get_or_insert_with(|| notice.message.clone());
        }
        if let Some(log) = self.table
            && self.written.is_ok()
        {
            self.written = log.with(|table| table.notice(notice));
        }
    }
}

impl EventReader {
    fn run(
        work: impl FnOnce(&mut Sender, &Mutex<Option<Outcome>>) -> Result<(), ReportError> + Send + 'static,
    ) -> Result<Self, ArrowError> {
        let (sender, sent) = sync_channel(N_WAITING);
        let outcome = Arc::new(Mutex::new(None));
        let of_run = Arc::clone(&outcome);
        let run = std::thread::Builder::new().spawn(move || {
            let mut sender = Sender(sender);
            if let Err(error) = work(&mut sender, &of_run) {
                // Sending fails only if the reader was dropped, and then nobody needs the error.
                let _ = sender.send(Sent::Failed(error.to_string()));
            }
        })?;
        let mut reader = Self { schema: Arc::new(Schema::empty()), sent: Some(sent), run: Some(run), outcome };
        match reader.receive() {
            Some(Sent::Schema(schema)) => reader.schema = schema,
            Some(Sent::Failed(error)) => return Err(ArrowError::ExternalError(error.into())),
            Some(Sent::Batch(_)) | None => return Err(ArrowError::ExternalError("the run has ended early".into())),
        }
        Ok(reader)
    }

    fn receive(&mut self) -> Option<Sent> {
        let sent = self.sent.as_ref().and_then(|sent| sent.recv().ok());
        if !matches!(sent, Some(Sent::Batch(_) | Sent::Schema(_))) {
            self.join();
        }
        sent
    }

    fn join(&mut self) {
        self.sent = None;
        if let Some(run) = self.run.take() {
            // A panic in the report is a bug. The reader notices it, because there is no outcome.
            let _ = run.join();
        }
    }

    /// Counts and damage. `None` until the last batch has been read, or if the report failed.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Iterator for EventReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.sent.as_ref()?;
        match self.receive() {
            Some(Sent::Batch(batch)) => Some(Ok(batch)),
            Some(Sent::Failed(error)) => Some(Err(ArrowError::ExternalError(error.into()))),
            Some(Sent::Schema(_)) => None,
            None if self.outcome().is_none() => {
                Some(Err(ArrowError::ExternalError("the run has ended early: this is a bug in tfbc".into())))
            }
            None => None,
        }
    }
}

impl RecordBatchReader for EventReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.join();
    }
}

const _: () = {
    const fn is_sent<T: Send>() {}
    is_sent::<EventReader>();
};
