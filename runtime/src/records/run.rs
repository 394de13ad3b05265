//! A log's records, formatted side by side and written in order.

use super::RecordSummary;
use super::batch::{Batch, Place};
use crate::engine::{self, Format, Portion, Ran, WRITE_AT, Walk, ends_portion};
use crate::reader::Imbalance;
use crate::reader::kev::{KevItem, KevLog, KevRecord};
use crate::report::{Monitor, ReportError};
use std::io::Write;
use std::num::NonZeroUsize;
use tfbc_vm::TextBuf;

/// What makes lines of records. Each thread has a clone.
pub(crate) trait RecordWriter: Clone + Send {
    /// Appends the line of a record, if it has one.
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf);

    /// Appends what is shown of a slot. Slots are handed out where the log was opened for them.
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
    out: &mut (impl Write + Send),
    monitor: &mut (impl Monitor + Send),
) -> Result<RecordSummary, ReportError> {
    let walk = RecordWalk { live: log.is_live(), log, n_damaged: 0 };
    let make = || RecordFormat { writer: writer.clone(), at: Place::default(), n_formatted: 0 };
    let Ran { walk, formats, carried: NoneCarried } = engine::run(walk, make, threads, out, monitor)?;
    let mut summary = RecordSummary { n_damaged: walk.n_damaged, ..RecordSummary::default() };
    let mut n_formatted = 0;
    for mut format in formats {
        summary.add(format.writer.take_tallied());
        n_formatted += format.n_formatted;
    }
    out.flush().map_err(ReportError::Write)?;
    summary.counts = log.counts();
    summary.tally = log.tally();
    let events = Imbalance::check("records", summary.counts.records, &[("formatted or filtered out", n_formatted)]);
    summary.imbalance = summary.tally.check().and(events).err();
    Ok(summary)
}

/// The walk over a log.
struct RecordWalk<'w> {
    log: &'w mut KevLog,
    live: bool,
    n_damaged: u64,
}

impl RecordWalk<'_> {
    fn fill_batch(&mut self, portion: &mut Portion<Batch>, mut waited: bool) -> Result<bool, ReportError> {
        let Self { log, live, n_damaged } = self;
        let Portion { events: batch, notices, waits, .. } = portion;
        while batch.room() > 0 {
            let row = log.row(batch.room());
            if !row.is_empty() {
                batch.push_row(&row);
                continue;
            }
            if *live && !waited && log.waits() {
                *waits = true;
                break;
            }
            waited = false;
            match log.next().map_err(ReportError::Read)? {
                Some(KevItem::Record(record)) => batch.push(&record),
                Some(KevItem::Slot(words)) => batch.push_slot(words),
                // It comes behind the records before it.
                Some(KevItem::Notice(notice)) => {
                    *n_damaged += u64::from(notice.damage);
                    notices.push(notice);
                    if ends_portion(*n_damaged, notices.len()) {
                        break;
                    }
                }
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Walk for RecordWalk<'_> {
    type Events = Batch;

    fn fill(&mut self, portion: &mut Portion<Batch>, waited: bool) -> Result<bool, ReportError> {
        portion.events.clear();
        let filled = self.fill_batch(portion, waited);
        portion.progress = (self.log.progress(), self.log.counts().records);
        filled
    }
}

/// A record's line depends on nothing but the record.
#[derive(Debug, Clone, Copy, Default)]
struct NoneCarried;

struct RecordFormat<W> {
    writer: W,
    at: Place,
    n_formatted: u64,
}

impl<W: RecordWriter> Format<Batch> for RecordFormat<W> {
    type Carried = NoneCarried;

    fn format(&mut self, batch: &Batch, _: Option<&mut NoneCarried>, text: &mut TextBuf) -> bool {
        while let Some(n) = batch.write_next(&mut self.at, &mut self.writer, text) {
            self.n_formatted += n;
            if text.len() >= WRITE_AT {
                return true;
            }
        }
        self.at = Place::default();
        false
    }

    fn settle(&mut self, _: &Batch, _: &mut NoneCarried, _: &mut TextBuf) {}
}
