//! Splits a QNX log into parts.

use super::batch::BatchPos;
use super::owners::Owner;
use super::run::RecordProducer;
use super::writer::{FormatCounts, RecordWriter};
use crate::engine::{Chunk, Producer};
use crate::monitor::ReportError;
use crate::reader::Tally;
use crate::reader::kev::{KevLog, KevRecord};
use crate::split::borders::{Border, Cuts, LogParts};
use crate::split::codec::Codec;
use crate::split::index::{IndexBuilder, PartIndex};
use crate::work::Meter;
use tfbc_vm::TextBuf;

/// Writer that writes nothing, and collects the index of a part.
#[derive(Clone, Default)]
struct IndexWriter {
    index: IndexBuilder,
    /// Process of the last record, which is in the index.
    pid: Option<i32>,
}

/// Number of an event in the index of a part.
pub(crate) fn index_id(class: u8, event: u16) -> u32 {
    u32::from(class) << 10 | u32::from(event)
}

impl IndexWriter {
    /// Index of the records since the border before.
    fn take(&mut self, start: Option<u64>, tally: Tally) -> PartIndex {
        self.pid = None;
        self.index.take(start, tally)
    }
}

impl RecordWriter for IndexWriter {
    fn record(&mut self, record: &KevRecord<'_>, _: &mut TextBuf) {
        let id = index_id(record.meant_class(), record.event);
        self.index.note_id(id);
        self.index.note_cpu(record.cpu.into());
        if let Some(cycles) = record.cycles() {
            self.index.note_time(cycles);
        }
    }

    fn set_owner(&mut self, _: u32, owner: &Owner) {
        if owner.pid != self.pid {
            self.pid = owner.pid;
            owner.pid.and_then(|pid| u64::try_from(pid).ok()).into_iter().for_each(|pid| self.index.note_pid(pid));
        }
    }

    fn tallied(&self) -> FormatCounts {
        FormatCounts::default()
    }

    fn take_back(&mut self, _: FormatCounts) {}

    fn meter(&mut self) -> Option<&mut Meter> {
        None
    }

    fn slow(&mut self) -> Option<&mut Option<(u8, u16)>> {
        None
    }
}

/// Reads a log to its end, and returns the state at each border.
pub(crate) fn split(log: &mut KevLog, cuts: Cuts) -> Result<LogParts, ReportError> {
    let mut producer = RecordProducer::new(log, true);
    let (mut chunk, mut parts) = (Chunk::default(), LogParts::default());
    let (mut writer, mut text, mut start) = (IndexWriter::default(), TextBuf::new(), None);
    // Number of records up to the last notice; a chunk with notices counts as a whole.
    let mut n_noted = None;
    let mut limit = cuts.next(producer.log().n_read());
    loop {
        producer.log().set_read_limit(limit);
        while {
            let more = producer.fill(&mut chunk, false)?;
            if !chunk.notices.is_empty() {
                n_noted = Some(producer.log().n_records());
            }
            writer.index.note_notices(chunk.notices.len());
            chunk.notices.clear();
            let mut at = BatchPos::default();
            while chunk.events.write_next(&mut at, &mut writer, &mut text).is_some() {}
            more
        } {}
        let (read, n_events) = (producer.log().n_read(), producer.log().n_records());
        let tally = producer.log().tally();
        if read < limit {
            parts.end(read, n_events, false, writer.take(start, tally));
            return Ok(parts);
        }
        limit = cuts.next(read);
        // A notice is in the part of the next event, whose time it gets in tables.
        let position = if n_noted == Some(n_events) { None } else { producer.log().position() };
        let Some(mut position) = position else {
            limit = read + 1;
            continue;
        };
        let offset = position.offset;
        let (position, state) = (Codec::encode(&mut position), Codec::encode(&mut producer.snapshot()));
        parts.borders.push(Border { read, n_events, offset, index: writer.take(start, tally), position, state });
        start = producer.log().start().cycles();
    }
}
