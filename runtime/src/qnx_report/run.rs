//! Report of a log: records are formatted in parallel and written in order.

use super::batch::{BatchPos, RecordBatch};
use super::options::QnxSummary;
use super::owners::Owners;
use super::writer::{FormatCounts, RecordWriter};
use crate::engine::{self, Chunk, Format, Producer, RunResult, WRITE_AT};
use crate::events::class_name;
use crate::monitor::{Monitor, ReportError};
use crate::reader::kev::{KevItem, KevLog};
use crate::reader::{Imbalance, Notice};
use crate::work::Work;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use tfbc_vm::TextBuf;

/// Formats and writes all records of a log with `threads` threads.
pub(crate) fn run(
    log: &mut KevLog,
    writer: impl RecordWriter,
    threads: Option<NonZeroUsize>,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<QnxSummary, ReportError> {
    let producer = RecordProducer::new(log, writer.needs_owners());
    let known_steps = AtomicU64::new(0);
    let make = || RecordFormat::new(writer.clone(), &known_steps);
    let RunResult { producer, formats, .. } = engine::run(producer, make, Work::default(), threads, out, monitor)?;
    let mut summary = QnxSummary { n_damaged: producer.n_damaged, ..QnxSummary::default() };
    let mut n_formatted = 0;
    for format in formats {
        summary.add(format.writer.tallied());
        n_formatted += format.n_formatted;
    }
    out.flush().map_err(ReportError::Write)?;
    summary.counts = log.counts();
    summary.tally = log.tally();
    let events = Imbalance::check("records", summary.counts.records, &[("formatted or filtered out", n_formatted)]);
    summary.imbalance = summary.tally.check().and(events).err();
    Ok(summary)
}

/// Producer of the records of a log.
pub(super) struct RecordProducer<'w> {
    log: &'w mut KevLog,
    live: bool,
    /// Tracker of processes and threads, if they are needed.
    owners: Option<Owners>,
    n_damaged: u64,
}

impl<'w> RecordProducer<'w> {
    pub fn new(log: &'w mut KevLog, needs_owners: bool) -> Self {
        let mut owners = needs_owners.then(|| Owners::new(log.header().big_endian));
        if let (Some(state), Some(owners)) = (log.take_resumed(), &mut owners) {
            owners.resume(state.owners);
        }
        Self { live: log.is_live(), log, owners, n_damaged: 0 }
    }

    fn fill_batch(&mut self, chunk: &mut Chunk<RecordBatch>, mut waited: bool) -> Result<bool, ReportError> {
        let Self { log, live, owners, n_damaged } = self;
        owners.iter_mut().for_each(Owners::begin_batch);
        while chunk.events.room() > 0 {
            let row = log.row(chunk.events.room());
            if !row.is_empty() {
                if let Some(owners) = owners {
                    row.each(|record| chunk.events.push_owner(owners, record));
                }
                chunk.events.push_row(&row);
                continue;
            }
            if *live && !waited && log.waits() {
                chunk.waits = true;
                break;
            }
            waited = false;
            match log.next().map_err(ReportError::Read)? {
                Some(KevItem::Record(record)) => {
                    if let Some(owners) = owners {
                        chunk.events.push_owner(owners, &record);
                    }
                    chunk.events.push(&record);
                }
                Some(KevItem::Slot(slot)) => chunk.events.push_slot(slot),
                // A notice usually ends the batch, so that it is written right after the records before it.
                Some(KevItem::Notice(notice)) => {
                    *n_damaged += u64::from(notice.damage);
                    chunk.notices.push(Notice { n_before: log.n_records(), ..notice });
                    if chunk.ends_at_notice(*n_damaged) {
                        break;
                    }
                }
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Producer for RecordProducer<'_> {
    type Storage = RecordBatch;

    fn fill(&mut self, chunk: &mut Chunk<RecordBatch>, waited: bool) -> Result<bool, ReportError> {
        chunk.events.clear();
        chunk.events.bytes_before = self.log.offset();
        let filled = self.fill_batch(chunk, waited);
        chunk.progress = (self.log.progress(), self.log.counts().records);
        filled
    }
}

/// Formatter of records; each thread has one.
pub(super) struct RecordFormat<'r, W> {
    writer: W,
    /// Steps of all records up to the last written batch; later batches start from at least as many.
    known_steps: &'r AtomicU64,
    at: BatchPos,
    in_batch: bool,
    /// True if the steps of earlier batches were guessed when this batch was started.
    is_guess: bool,
    n_formatted: u64,
    /// Counts, and number of formatted records, before the batch.
    before: (FormatCounts, u64),
}

impl<'r, W: RecordWriter> RecordFormat<'r, W> {
    pub fn new(writer: W, known_steps: &'r AtomicU64) -> Self {
        Self {
            writer,
            known_steps,
            at: BatchPos::default(),
            in_batch: false,
            is_guess: false,
            n_formatted: 0,
            before: (FormatCounts::default(), 0),
        }
    }

    pub fn writer(&self) -> &W {
        &self.writer
    }

    fn begin_batch(&mut self, batch: &RecordBatch, work: Option<&Work>) {
        (self.in_batch, self.is_guess) = (true, work.is_none());
        self.writer.begin_batch();
        self.before = (self.writer.tallied(), self.n_formatted);
        let known = || Work { steps: self.known_steps.load(Ordering::Relaxed), bytes: batch.bytes_before };
        let start = work.copied().unwrap_or_else(known);
        if let Some(meter) = self.writer.meter() {
            meter.begin(start, work.is_none());
        }
    }

    /// True if formatting should stop early: its result will be discarded, or a slow template has to be reported.
    #[inline]
    fn should_stop(&mut self) -> bool {
        self.writer.meter().is_some_and(|meter| meter.has_given_up())
            || self.writer.slow().is_some_and(|slow| slow.is_some())
    }

    /// Stores the steps that definitions have used so far.
    fn save_work(&mut self, work: &mut Work) {
        if let Some(meter) = self.writer.meter() {
            *work = meter.work();
            self.known_steps.fetch_max(work.steps, Ordering::Relaxed);
        }
    }
}

/// A record's line depends only on the record and on the steps that its definitions may still use.
impl<W: RecordWriter> Format<RecordBatch> for RecordFormat<'_, W> {
    type State = Work;
    const NOTICES_FIRST: bool = W::IS_TABLE;

    fn format(&mut self, batch: &RecordBatch, work: Option<&mut Work>, text: &mut TextBuf) -> bool {
        self.writer.begin_text();
        if !self.in_batch {
            self.begin_batch(batch, work.as_deref());
        }
        let mut more = false;
        while let Some(n) = batch.write_next(&mut self.at, &mut self.writer, text) {
            self.n_formatted += n;
            more = text.len() >= WRITE_AT || self.should_stop();
            if more {
                break;
            }
        }
        self.writer.end_text(text);
        if let Some(work) = work {
            self.save_work(work);
        }
        if !more {
            (self.at, self.in_batch) = (BatchPos::default(), false);
        }
        more
    }

    fn resolve(&mut self, _: &RecordBatch, work: &mut Work, _: &mut TextBuf) -> bool {
        if !std::mem::take(&mut self.is_guess) {
            return true;
        }
        if self.writer.meter().is_none_or(|meter| meter.resolve(*work)) {
            self.save_work(work);
            return true;
        }
        let (tallied, n_formatted) = self.before;
        self.writer.take_back(tallied);
        (self.n_formatted, self.at, self.in_batch) = (n_formatted, BatchPos::default(), false);
        false
    }

    fn take_slow(&mut self) -> Option<String> {
        let (class, event) = self.writer.slow()?.take()?;
        let class = class_name(class).map_or_else(|| class.to_string(), str::to_owned);
        Some(format!("event {class}:{event}"))
    }
}
