//! Interface between the run over a log and the writer of its lines.

use super::options::QnxSummary;
use super::owners::Owner;
use crate::reader::kev::{KevRecord, KevSlot};
use crate::row_facts::RowNote;
use crate::work::Meter;
use tfbc_vm::TextBuf;

/// Writer of lines. Each thread has a clone.
pub(crate) trait RecordWriter: Clone + Send {
    /// True if lines are rows of a table, to which notices give the place where they belong.
    const IS_TABLE: bool = false;

    /// Appends the line of a record, if it has one.
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf);

    /// Appends a slot. Called only if the log was opened with slots.
    fn slot(&mut self, slot: KevSlot, out: &mut TextBuf) {
        let _ = (slot, out);
    }

    /// True if [`RecordWriter::set_owner`] must be called before each record.
    fn needs_owners(&self) -> bool {
        false
    }

    /// Sets the owner of the next record, and its index in the batch.
    fn set_owner(&mut self, id: u32, owner: &Owner) {
        let _ = (id, owner);
    }

    /// Starts a batch.
    fn begin_batch(&mut self) {}

    /// Starts a text.
    fn begin_text(&mut self) {}

    /// Ends a text.
    fn end_text(&mut self, out: &mut TextBuf) {
        let _ = out;
    }

    /// Counts so far.
    fn tallied(&self) -> FormatCounts;

    /// Resets the counts to earlier ones, because the records since then are written again.
    fn take_back(&mut self, tallied: FormatCounts);

    /// Meter of the steps that definitions take, if there are definitions.
    fn meter(&mut self) -> Option<&mut Meter>;

    /// Event whose definitions took most of the recent steps.
    fn slow(&mut self) -> Option<&mut Option<(u8, u16)>>;
}

/// Counts of formatting.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FormatCounts {
    pub n_reported: u64,
    pub n_truncated: u64,
    pub n_limited: u64,
    pub n_over_work: u64,
    pub n_refused: u64,
    pub n_left_out: u64,
}

impl FormatCounts {
    /// Note for the row of a record, by the counts before its line (`before`) and after it.
    pub(super) fn note_since(self, before: Self) -> RowNote {
        if self.n_truncated > before.n_truncated {
            RowNote::Truncated
        } else if self.n_limited > before.n_limited || self.n_over_work > before.n_over_work {
            RowNote::Limit
        } else if self.n_refused > before.n_refused {
            RowNote::Refused
        } else {
            RowNote::None
        }
    }
}

impl QnxSummary {
    /// Adds the counts of another part.
    pub(crate) fn add_part(&mut self, part: &Self) {
        self.n_reported += part.n_reported;
        self.n_truncated += part.n_truncated;
        self.n_limited += part.n_limited;
        self.n_over_work += part.n_over_work;
        self.n_refused += part.n_refused;
        self.n_left_out += part.n_left_out;
        self.n_damaged += part.n_damaged;
        self.counts = self.counts + part.counts;
        self.tally = self.tally + part.tally;
        self.imbalance = self.imbalance.or(part.imbalance);
    }

    /// Adds the counts of one thread.
    pub(super) fn add(&mut self, tallied: FormatCounts) {
        self.n_reported += tallied.n_reported;
        self.n_truncated += tallied.n_truncated;
        self.n_limited += tallied.n_limited;
        self.n_over_work += tallied.n_over_work;
        self.n_refused += tallied.n_refused;
        self.n_left_out += tallied.n_left_out;
    }
}
