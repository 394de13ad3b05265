//! A batch of records that are read but not formatted yet.

use super::owners::{Owner, Owners};
use super::writer::RecordWriter;
use crate::reader::kev::{Clocks, CompleteCombine, KevRecord, KevRow, KevSlot, SLOT_BYTES};
use tfbc_vm::TextBuf;

/// Maximum number of slots in a batch. A record outside of a row counts as one slot.
const MAX_SLOTS: usize = 1 << 12;
/// Maximum number of payload bytes in a batch, unless one record has more.
const MAX_BYTES: usize = 128 << 10;
/// Maximum number of slots in a row. Text is written between two rows.
const MAX_ROW: usize = 1 << 9;

/// Some records with their payloads.
#[derive(Debug, Default)]
pub(super) struct RecordBatch {
    items: Vec<Item>,
    /// Payloads of records.
    bytes: Vec<u8>,
    /// Slots of [`Item::Row`]s.
    slots: Vec<[u8; SLOT_BYTES]>,
    /// Records of several slots that are complete with one of these slots.
    ends: Vec<Option<CompleteCombine>>,
    clocks: Vec<Clocks>,
    /// Distinct owners of the records, if needed, and an index into them per record.
    owners: Vec<Owner>,
    owner_ids: Vec<u32>,
    n_slots: usize,
    /// Approximate bytes of the log before the batch.
    pub bytes_before: u64,
}

/// Next part of a batch.
#[derive(Debug)]
enum Item {
    /// A record without its payload, which ends at `end`.
    Record { record: KevRecord<'static>, end: usize },
    /// A run of records; `slot`, `end` and `byte` are the ends of its slots, combines and payloads.
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
    /// A slot that is shown undecoded.
    Slot(KevSlot),
}

/// Position in a batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BatchPos {
    item: usize,
    byte: usize,
    slot: usize,
    end: usize,
    record: usize,
}

impl RecordBatch {
    /// Empties the batch and keeps its allocations.
    pub fn clear(&mut self) {
        self.items.clear();
        self.bytes.clear();
        self.slots.clear();
        self.ends.clear();
        self.clocks.clear();
        self.owners.clear();
        self.owner_ids.clear();
        self.n_slots = 0;
    }

    pub fn push(&mut self, record: &KevRecord<'_>) {
        self.bytes.extend_from_slice(record.bytes);
        self.items.push(Item::Record { record: KevRecord { bytes: &[], ..*record }, end: self.bytes.len() });
        self.n_slots += 1;
    }

    /// Adds the owner of the next record.
    pub fn push_owner(&mut self, owners: &mut Owners, record: &KevRecord<'_>) {
        let id = owners.take(record, &mut self.owners);
        self.owner_ids.push(id);
    }

    pub fn push_slot(&mut self, slot: KevSlot) {
        self.items.push(Item::Slot(slot));
        self.n_slots += 1;
    }

    pub fn push_row(&mut self, row: &KevRow<'_>) {
        if row.is_empty() {
            return;
        }
        // Clocks change rarely: only a new version is copied.
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
        self.n_slots += row.slots.len();
    }

    /// Maximum slots of the next row.
    pub fn room(&self) -> usize {
        let room = MAX_SLOTS.saturating_sub(self.n_slots).min(MAX_ROW);
        if self.bytes.len() >= MAX_BYTES { 0 } else { room }
    }

    /// Passes the owner of the record at a position to a writer, and moves to the next record's owner.
    #[inline]
    fn own(&self, at: &mut BatchPos, writer: &mut impl RecordWriter) {
        if let Some(id) = self.owner_ids.get(at.record)
            && let Some(owner) = self.owners.get(*id as usize)
        {
            writer.set_owner(*id, owner);
            at.record += 1;
        }
    }

    /// Appends the text of the item at a position and moves past it. Returns the number of its records, or `None` at
    /// the end.
    #[inline]
    pub fn write_next(&self, at: &mut BatchPos, writer: &mut impl RecordWriter, out: &mut TextBuf) -> Option<u64> {
        let item = self.items.get(at.item)?;
        at.item += 1;
        Some(match item {
            Item::Record { record, end } => {
                self.own(at, writer);
                writer.record(&KevRecord { bytes: &self.bytes[at.byte..*end], ..*record }, out);
                at.byte = *end;
                1
            }
            Item::Slot(slot) => {
                writer.slot(*slot, out);
                0
            }
            &Item::Row { number, offset, big_endian, clocks, n_records, slot, end, byte } => {
                let (slots, clocks) = (&self.slots[at.slot..slot], &self.clocks[clocks]);
                let (ends, payloads) = (&self.ends[at.end..end], &self.bytes[at.byte..byte]);
                let row = KevRow { slots, ends, payloads, n_records, number, offset, clocks, big_endian };
                // Two loops, so that reports without owners do not test for them at every record.
                let n = if self.owner_ids.is_empty() {
                    row.each(|record| writer.record(record, out))
                } else {
                    row.each(|record| {
                        self.own(at, writer);
                        writer.record(record, out);
                    })
                };
                (at.slot, at.end, at.byte) = (slot, end, byte);
                n
            }
        })
    }
}
