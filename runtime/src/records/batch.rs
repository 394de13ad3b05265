//! Records that are on their way to a worker.

use crate::reader::Notice;
use crate::reader::kev::{Clocks, KevRecord, SLOT_BYTES, SimpleRecords};

/// Records of one batch, at most.
const MAX_RECORDS: usize = 1 << 11;
/// Bytes of payload of one batch, unless one record has more.
const MAX_BYTES: usize = 128 << 10;

/// Some records with their payloads, and what is to be said behind them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    items: Vec<Item>,
    /// Payloads of records.
    bytes: Vec<u8>,
    /// Slots of simple records in a row.
    slots: Vec<[u8; SLOT_BYTES]>,
    clocks: Vec<Clocks>,
    n_records: usize,
    pub notices: Vec<Notice>,
    /// How far the reading of the file is.
    pub offset: u64,
}

/// What stands next in a batch.
#[derive(Debug)]
enum Item {
    /// A record without its payload, which ends at `end`.
    Record { record: KevRecord<'static>, end: usize },
    /// Simple records in a row, whose slots end at `end`.
    Simple { number: u64, offset: u64, big_endian: bool, clocks: usize, end: usize },
}

impl Batch {
    /// Empties the batch and keeps its room.
    pub fn clear(&mut self) {
        self.items.clear();
        self.bytes.clear();
        self.slots.clear();
        self.clocks.clear();
        self.notices.clear();
        self.n_records = 0;
    }

    pub fn push(&mut self, record: &KevRecord<'_>) {
        self.bytes.extend_from_slice(record.bytes);
        self.items.push(Item::Record { record: KevRecord { bytes: &[], ..*record }, end: self.bytes.len() });
        self.n_records += 1;
    }

    pub fn push_simple(&mut self, records: &SimpleRecords<'_>) {
        if records.is_empty() {
            return;
        }
        if self.clocks.last().is_none_or(|last| last.version != records.clocks.version) {
            self.clocks.push(records.clocks.clone());
        }
        self.slots.extend_from_slice(records.slots);
        let SimpleRecords { number, offset, big_endian, .. } = *records;
        let (clocks, end) = (self.clocks.len() - 1, self.slots.len());
        self.items.push(Item::Simple { number, offset, big_endian, clocks, end });
        self.n_records += records.len();
    }

    /// How many more records there is room for.
    pub fn room(&self) -> usize {
        if self.bytes.len() >= MAX_BYTES { 0 } else { MAX_RECORDS.saturating_sub(self.n_records) }
    }

    pub fn len(&self) -> usize {
        self.n_records
    }

    /// Shows every record, in their order.
    #[inline]
    pub fn each(&self, mut visit: impl FnMut(&KevRecord<'_>)) {
        let (mut byte, mut slot) = (0, 0);
        for item in &self.items {
            match item {
                Item::Record { record, end } => {
                    visit(&KevRecord { bytes: &self.bytes[byte..*end], ..*record });
                    byte = *end;
                }
                &Item::Simple { number, offset, big_endian, clocks, end } => {
                    let (slots, clocks) = (&self.slots[slot..end], &self.clocks[clocks]);
                    let records = SimpleRecords { slots, number, offset, clocks, big_endian };
                    records.iter().for_each(|record| visit(&record));
                    slot = end;
                }
            }
        }
    }
}
