//! A log's records, formatted side by side and written in order.

use super::RecordSummary;
use super::batch::Batch;
use crate::reader::Notice;
use crate::reader::kev::{KevItem, KevLog, KevRecord};
use crate::report::{Monitor, ReportError};
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use tfbc_vm::TextBuf;

/// Bytes of text that are gathered before they are written.
const WRITE_AT: usize = 256 << 10;
/// Logs of up to this many bytes are not worth a second thread.
const SMALL_LOG: u64 = 4 << 20;
/// Batches that wait for each worker, and texts of each.
const QUEUE: usize = 2;

/// What makes lines of records. Each worker has a clone.
pub(crate) trait RecordWriter: Clone + Send {
    /// Appends the line of a record, if it has one.
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf);

    /// Appends what is shown of a slot. Slots are handed out where the log was opened for them, and in one thread.
    fn slot(&mut self, words: [u32; 4], out: &mut TextBuf) {
        let _ = (words, out);
    }

    /// What was counted since this was asked last.
    fn take_tallied(&mut self) -> Tallied;
}

/// What formatting counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tallied {
    pub n_reported: u64,
    pub n_truncated: u64,
    pub n_limited: u64,
    pub n_refused: u64,
    pub n_left_out: u64,
}

impl RecordSummary {
    fn add(&mut self, tallied: Tallied) {
        self.n_reported += tallied.n_reported;
        self.n_truncated += tallied.n_truncated;
        self.n_limited += tallied.n_limited;
        self.n_refused += tallied.n_refused;
        self.n_left_out += tallied.n_left_out;
    }
}

/// Formats and writes all records of a log, in as many threads as are asked for.
pub(crate) fn run(
    log: &mut KevLog,
    writer: impl RecordWriter,
    threads: Option<NonZeroUsize>,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<RecordSummary, ReportError> {
    let mut summary = match n_threads(log, threads) {
        1 => alone(log, writer, out, monitor)?,
        n => together(log, &writer, n, out, monitor)?,
    };
    out.flush().map_err(ReportError::Write)?;
    summary.counts = log.counts();
    summary.tally = log.tally();
    let accounted = summary.tally.header + summary.tally.events + summary.tally.skipped;
    if accounted != summary.tally.read {
        return Err(ReportError::Unaccounted(summary.tally.read.abs_diff(accounted)));
    }
    Ok(summary)
}

fn n_threads(log: &KevLog, threads: Option<NonZeroUsize>) -> usize {
    match threads {
        _ if log.shows_slots() => 1,
        Some(threads) => threads.get(),
        None if log.size().is_none_or(|size| size <= SMALL_LOG) => 1,
        None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
    }
}

/// Reads, formats and writes in one thread.
fn alone(
    log: &mut KevLog,
    mut writer: impl RecordWriter,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<RecordSummary, ReportError> {
    /// Slots in a row, between two looks at the text's length.
    const ROW: usize = 1 << 10;
    let mut summary = RecordSummary::default();
    let mut text = TextBuf::new();
    loop {
        log.row(ROW).each(|record| writer.record(record, &mut text));
        if log.waits() {
            write_out(&mut text, out)?;
            out.flush().map_err(ReportError::Write)?;
        }
        if text.len() < WRITE_AT {
            match log.next().map_err(ReportError::Read)? {
                Some(KevItem::Record(record)) => writer.record(&record, &mut text),
                Some(KevItem::Slot(words)) => writer.slot(words, &mut text),
                Some(KevItem::Notice(notice)) => {
                    write_out(&mut text, out)?;
                    out.flush().map_err(ReportError::Write)?;
                    summary.n_damaged += u64::from(notice.damage);
                    monitor.notice(&notice);
                }
                None => break,
            }
        }
        if text.len() >= WRITE_AT {
            write_out(&mut text, out)?;
            monitor.progress(log.progress(), log.counts().records);
        }
    }
    write_out(&mut text, out)?;
    summary.add(writer.take_tallied());
    Ok(summary)
}

fn write_out(text: &mut TextBuf, out: &mut impl Write) -> Result<(), ReportError> {
    out.write_all(text.as_bytes()).map_err(ReportError::Write)?;
    text.clear();
    Ok(())
}

/// A batch's text, on its way to the output.
struct Formatted {
    text: TextBuf,
    tallied: Tallied,
    notices: Vec<Notice>,
    offset: u64,
    n_records: u64,
}

/// What the writing thread has of a worker: its texts, and the way back for them once they are written.
struct Texts {
    from: Receiver<Formatted>,
    spares: Sender<TextBuf>,
}

/// Reads in one thread, formats in `n`, writes in order in this one. Batch k goes to worker k modulo n, so taking the
/// workers' texts in turn keeps the order.
fn together<W: RecordWriter>(
    log: &mut KevLog,
    writer: &W,
    n: usize,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<RecordSummary, ReportError> {
    std::thread::scope(|scope| {
        let (spare_batches, spares) = channel();
        let (mut to_workers, mut from_workers) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let (to, batches) = sync_channel(QUEUE);
            let (texts, from) = sync_channel(QUEUE);
            let (spare_text, spare_texts) = channel();
            to_workers.push(to);
            from_workers.push(Texts { from, spares: spare_text });
            let worker = Worker { writer: writer.clone(), batches, spare_batches: spare_batches.clone(), spare_texts };
            scope.spawn(move || worker.run(&texts));
        }
        let live = log.is_live();
        let reader = scope.spawn(move || read_batches(log, &to_workers, &spares));
        let written = write_in_order(from_workers, live, out, monitor);
        match reader.join() {
            Ok(read) => written.and_then(|summary| read.map(|()| summary)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Deals batches to the workers in turn, until the log ends or nobody takes them any more.
fn read_batches(log: &mut KevLog, to: &[SyncSender<Batch>], spares: &Receiver<Batch>) -> Result<(), ReportError> {
    for worker in to.iter().cycle() {
        let mut batch = spares.try_recv().unwrap_or_default();
        batch.clear();
        let more = fill(log, &mut batch);
        batch.offset = log.progress();
        let taken = worker.send(batch).is_ok();
        if !more? || !taken {
            break;
        }
    }
    Ok(())
}

/// Fills a batch; false where the log has ended.
fn fill(log: &mut KevLog, batch: &mut Batch) -> Result<bool, ReportError> {
    while batch.room() > 0 {
        batch.push_row(&log.row(batch.room()));
        if batch.room() == 0 || (batch.len() > 0 && log.waits()) {
            break;
        }
        match log.next().map_err(ReportError::Read)? {
            Some(KevItem::Record(record)) => batch.push(&record),
            Some(KevItem::Slot(_)) => {}
            // A notice comes behind the records before it.
            Some(KevItem::Notice(notice)) => {
                batch.notices.push(notice);
                break;
            }
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// What formats some of the batches.
struct Worker<W> {
    writer: W,
    batches: Receiver<Batch>,
    spare_batches: Sender<Batch>,
    spare_texts: Receiver<TextBuf>,
}

impl<W: RecordWriter> Worker<W> {
    fn run(mut self, texts: &SyncSender<Formatted>) {
        for mut batch in self.batches {
            let mut text = self.spare_texts.try_recv().unwrap_or_default();
            text.clear();
            batch.each(|record| self.writer.record(record, &mut text));
            let formatted = Formatted {
                text,
                tallied: self.writer.take_tallied(),
                notices: std::mem::take(&mut batch.notices),
                offset: batch.offset,
                n_records: batch.len() as u64,
            };
            // Nobody takes it where the reader is done.
            let _ = self.spare_batches.send(batch);
            if texts.send(formatted).is_err() {
                break;
            }
        }
    }
}

/// Takes the workers' texts in turn; the first that has none left ends the report. Those of a live log may be long in
/// coming, so none is held back.
fn write_in_order(
    workers: Vec<Texts>,
    live: bool,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<RecordSummary, ReportError> {
    let mut summary = RecordSummary::default();
    let mut n_records = 0;
    for worker in workers.iter().cycle() {
        let Ok(formatted) = worker.from.recv() else { break };
        out.write_all(formatted.text.as_bytes()).map_err(ReportError::Write)?;
        summary.add(formatted.tallied);
        if !formatted.notices.is_empty() || live {
            out.flush().map_err(ReportError::Write)?;
        }
        for notice in &formatted.notices {
            summary.n_damaged += u64::from(notice.damage);
            monitor.notice(notice);
        }
        n_records += formatted.n_records;
        monitor.progress(formatted.offset, n_records);
        // A worker that is done needs it no more.
        let _ = worker.spares.send(formatted.text);
    }
    Ok(summary)
}
