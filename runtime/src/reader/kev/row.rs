//! Runs of records.

use super::combine::CompleteCombine;
use super::record::KevRecord;
use crate::split::codec::stored;

use super::slot::{N_CPUS, SLOT_BYTES, Slot, SlotKind};

/// High halves of the clocks.
#[derive(Debug, Clone)]
pub(crate) struct Clocks {
    msbs: [Option<u32>; N_CPUS],
    /// Maps a CPU to its index in `msbs`; 0 if one clock serves all.
    mask: u8,
    /// Incremented at each change.
    pub version: u64,
}

stored!(Clocks { msbs });

impl Clocks {
    pub(super) fn new(one_clock: bool) -> Self {
        Self { msbs: [None; N_CPUS], mask: if one_clock { 0 } else { N_CPUS as u8 - 1 }, version: 0 }
    }

    #[inline]
    pub(super) fn msb(&self, cpu: u8) -> Option<u32> {
        self.msbs[usize::from(cpu & self.mask) % N_CPUS]
    }

    pub(super) fn set(&mut self, cpu: u8, msb: u32) {
        self.msbs[usize::from(cpu & self.mask) % N_CPUS] = Some(msb);
        self.version += 1;
    }
}

/// Run of records: their slots, the clocks, and the payloads of combines.
///
/// A row is self-contained: it can be copied, and formatted while reading continues.
#[derive(Debug, Clone, Copy)]
pub struct KevRow<'k> {
    pub(crate) slots: &'k [[u8; SLOT_BYTES]],
    /// Combines of the end slots in `slots`, in their order; `None` if a combine was dropped.
    pub(crate) ends: &'k [Option<CompleteCombine>],
    /// Payloads of `ends`, in their order.
    pub(crate) payloads: &'k [u8],
    pub(crate) n_records: usize,
    /// Number of the record before the first.
    pub(crate) number: u64,
    /// Offset in the file of the first slot.
    pub(crate) offset: u64,
    pub(crate) clocks: &'k Clocks,
    pub(crate) big_endian: bool,
}

impl KevRow<'_> {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.n_records
    }

    /// True if there are no slots. A row can have slots but no records, if its combines end after it.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Calls `visit` with every record in order, and returns their number.
    #[inline]
    pub fn each(self, mut visit: impl FnMut(&KevRecord<'_>)) -> u64 {
        let (mut ends, mut payloads, mut number) = (self.ends.iter(), self.payloads, self.number);
        let mut here = self.offset;
        for slot in self.slots {
            let head = Slot::read(slot, self.big_endian);
            let (class, event, cpu, stamp) = (head.class(), head.event(), head.cpu(), head.stamp);
            let place = here;
            here += SLOT_BYTES as u64;
            let (mut wide, mut offset, mut bytes) = (false, place, &slot[SLOT_BYTES / 2..]);
            let mut msb = self.clocks.msb(cpu);
            if !head.is_simple() {
                if head.kind() != SlotKind::End {
                    continue;
                }
                let Some(Some(ended)) = ends.next() else { continue };
                (bytes, payloads) = payloads.split_at_checked(ended.len as usize).unwrap_or_default();
                (wide, offset, msb) = (true, ended.offset, ended.msb);
            }
            number += 1;
            visit(&KevRecord { number, offset, class, event, cpu, wide, stamp, msb, bytes });
        }
        number - self.number
    }
}
