//! Records that are on their way to a worker.

use crate::reader::Notice;
use crate::reader::kev::{Clocks, Ended, KevRecord, KevRow, SLOT_BYTES};

/// Slots of one batch, at most; a record that stands alone counts for one.
const MAX_SLOTS: usize = 1 << 12;
/// Bytes of payload of one batch, unless one record has more.
const MAX_BYTES: usize = 128 << 10;

/// Some records with their payloads, and what is to be said behind them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    items: Vec<Item>,
    /// Payloads of records.
    bytes: Vec<u8>,
    /// Slots of rows, and what ended in them.
    slots: Vec<[u8; SLOT_BYTES]>,
    ends: Vec<Option<Ended>>,
    clocks: Vec<Clocks>,
    n_records: usize,
    n_slots: usize,
    pub notices: Vec<Notice>,
    /// How far the reading of the file is.
    pub offset: u64,
}

/// What stands next in a batch.
#[derive(Debug)]
enum Item {
    /// A record without its payload, which ends at `end`.
    Record { record: KevRecord<'static>, end: usize },
    /// Records in a row: where their slots, ends and payloads end.
    Row {
        number: u64,
        offset: u64,
        big_endian: bool,
        clocks: usize,
        n_records: usize,
        slot: usize,
        end: usize,
        byte: usize,
    },
}

impl Batch {
    /// Empties the batch and keeps its room.
    pub fn clear(&mut self) {
        self.items.clear();
        self.bytes.clear();
        self.slots.clear();
        self.ends.clear();
        self.clocks.clear();
        self.notices.clear();
        self.n_records = 0;
        self.n_slots = 0;
    }

    pub fn push(&mut self, record: &KevRecord<'_>) {
        self.bytes.extend_from_slice(record.bytes);
        self.items.push(Item::Record { record: KevRecord { bytes: &[], ..*record }, end: self.bytes.len() });
        self.n_records += 1;
        self.n_slots += 1;
    }

    pub fn push_row(&mut self, row: &KevRow<'_>) {
        if row.is_empty() {
            return;
        }
        if self.clocks.last().is_none_or(|last| last.version != row.clocks.version) {
            self.clocks.push(row.clocks.clone());
        }
        self.slots.extend_from_slice(row.slots);
        self.ends.extend_from_slice(row.ends);
        self.bytes.extend_from_slice(row.payloads);
        let KevRow { number, offset, big_endian, n_records, .. } = *row;
        let (clocks, slot) = (self.clocks.len() - 1, self.slots.len());
        let (end, byte) = (self.ends.len(), self.bytes.len());
        self.items.push(Item::Row { number, offset, big_endian, clocks, n_records, slot, end, byte });
        self.n_records += n_records;
        self.n_slots += row.slots.len();
    }

    /// How many more slots there is room for.
    pub fn room(&self) -> usize {
        if self.bytes.len() >= MAX_BYTES { 0 } else { MAX_SLOTS.saturating_sub(self.n_slots) }
    }

    pub fn len(&self) -> usize {
        self.n_records
    }

    /// Shows every record, in their order.
    #[inline]
    pub fn each(&self, mut visit: impl FnMut(&KevRecord<'_>)) {
        let (mut first_byte, mut first_slot, mut first_end) = (0, 0, 0);
        for item in &self.items {
            match item {
                Item::Record { record, end } => {
                    visit(&KevRecord { bytes: &self.bytes[first_byte..*end], ..*record });
                    first_byte = *end;
                }
                &Item::Row { number, offset, big_endian, clocks, n_records, slot, end, byte } => {
                    let (slots, clocks) = (&self.slots[first_slot..slot], &self.clocks[clocks]);
                    let (ends, payloads) = (&self.ends[first_end..end], &self.bytes[first_byte..byte]);
                    let row = KevRow { slots, ends, payloads, n_records, number, offset, clocks, big_endian };
                    row.each(&mut visit);
                    (first_slot, first_end, first_byte) = (slot, end, byte);
                }
            }
        }
    }
}
