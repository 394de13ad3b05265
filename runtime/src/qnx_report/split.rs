//! Splits a QNX log into parts.

use super::owners::Owners;
use crate::monitor::ReportError;
use crate::reader::kev::{KevItem, KevLog, KevRecord};
use crate::split::borders::{Border, Cuts, LogParts};
use crate::split::codec::Codec;
use crate::split::index::IndexBuilder;
use crate::split::state::QnxState;

/// Maximum number of slots that are read at once.
const MAX_ROW: usize = 1 << 12;

/// Number of an event in the index of a part.
pub(crate) fn index_id(class: u8, event: u16) -> u32 {
    u32::from(class) << 10 | u32::from(event)
}

/// Notes about the records of a log: their owners, and the index of a part.
struct RecordNotes {
    index: IndexBuilder,
    owners: Owners,
    /// Process of the last record, which is in the index.
    pid: Option<i32>,
}

impl RecordNotes {
    #[inline(always)]
    fn note(&mut self, record: &KevRecord<'_>) {
        self.index.note_id(index_id(record.meant_class(), record.event));
        self.index.note_cpu(record.cpu.into());
        if let Some(cycles) = record.cycles() {
            self.index.note_time(cycles);
        }
        let pid = self.owners.advance(record).pid();
        if pid != self.pid {
            self.pid = pid;
            pid.and_then(|pid| u64::try_from(pid).ok()).into_iter().for_each(|pid| self.index.note_pid(pid));
        }
    }
}

/// Reads a log to its end, and returns the state at each border.
pub(crate) fn split(log: &mut KevLog, cuts: Cuts) -> Result<LogParts, ReportError> {
    // Tables have notices about gaps, too.
    log.list_gaps();
    let owners = Owners::new(log.header().big_endian);
    let mut notes = RecordNotes { index: IndexBuilder::default(), owners, pid: None };
    let mut parts = LogParts::default();
    // Clock at the start of the log, as the part knows it; and the number of records up to the last notice.
    let (mut start, mut n_noted) = (None, None);
    let mut limit = cuts.next(log.n_read());
    loop {
        log.set_read_limit(limit);
        loop {
            let row = log.row(MAX_ROW);
            if !row.is_empty() {
                row.each(
                    #[inline(always)]
                    |record| notes.note(record),
                );
                continue;
            }
            match log.next().map_err(ReportError::Read)? {
                Some(KevItem::Record(record)) => notes.note(&record),
                Some(KevItem::Slot(_)) => {}
                Some(KevItem::Notice(_)) => {
                    notes.index.note_notices(1);
                    n_noted = Some(log.n_records());
                }
                None => break,
            }
        }
        let (read, n_events, tally) = (log.n_read(), log.n_records(), log.tally());
        if read < limit {
            parts.end(read, n_events, false, notes.index.take(start, tally));
            return Ok(parts);
        }
        limit = cuts.next(read);
        // A notice is in the part of the next event, whose time it gets in tables.
        let position = if n_noted == Some(n_events) { None } else { log.position() };
        let Some(mut position) = position else {
            limit = read + 1;
            continue;
        };
        let offset = position.offset;
        let mut state = QnxState { owners: notes.owners.snapshot() };
        let (position, state) = (Codec::encode(&mut position), Codec::encode(&mut state));
        parts.borders.push(Border { read, n_events, offset, index: notes.index.take(start, tally), position, state });
        start = log.start().cycles();
        // The index of the next part needs the process, too.
        notes.pid = None;
    }
}
