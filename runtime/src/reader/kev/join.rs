//! Joins the slots of combines, and counts the dropped ones.

use super::combine::{Combine, CompleteCombine, MAX_EVENT_BYTES, MAX_OPEN_BYTES, OpenCombines, StrayReason};
use super::slot::{PAYLOAD_BYTES, Payload, SLOT_BYTES, Slot, SlotKind};
use crate::reader::RecordingGap;
use crate::split::codec::{Codec, Malformed, Stored, stored};

/// Counts of a QNX log's records, slots and losses. A slot has 16 bytes; a combine is a record of several slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KevCounts {
    /// Whole records.
    pub records: u64,
    /// Slots read.
    pub slots: u64,
    /// Combines dropped because another one with their key began.
    pub dropped_begins: u64,
    /// Continuation slots dropped because no combine with their key was open.
    pub continuations_without_begin: u64,
    /// End slots dropped because no combine with their key was open.
    pub ends_without_begin: u64,
    /// Combines open at the end of the log, dropped.
    pub open_at_end: u64,
    /// Combines dropped because they, or all open ones together, were too large.
    pub over_limits: u64,
    /// Slots dropped for any of these reasons.
    pub dropped_slots: u64,
    /// Gaps in the numbers of the buffers.
    pub gaps: u64,
    /// Buffers lost in the gaps; a lower bound, because the numbers wrap.
    pub lost_buffers: u64,
    /// Bytes after the last whole slot.
    pub cut_bytes: u64,
    /// Bytes skipped because slots were out of step.
    pub skipped_bytes: u64,
}

stored!(KevCounts {
    records,
    slots,
    dropped_begins,
    continuations_without_begin,
    ends_without_begin,
    open_at_end,
    over_limits,
    dropped_slots,
    gaps,
    lost_buffers,
    cut_bytes,
    skipped_bytes
});

impl KevCounts {
    /// Combines each count with that of `other`.
    fn combined(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            records: combine(self.records, other.records),
            slots: combine(self.slots, other.slots),
            dropped_begins: combine(self.dropped_begins, other.dropped_begins),
            continuations_without_begin: combine(self.continuations_without_begin, other.continuations_without_begin),
            ends_without_begin: combine(self.ends_without_begin, other.ends_without_begin),
            open_at_end: combine(self.open_at_end, other.open_at_end),
            over_limits: combine(self.over_limits, other.over_limits),
            dropped_slots: combine(self.dropped_slots, other.dropped_slots),
            gaps: combine(self.gaps, other.gaps),
            lost_buffers: combine(self.lost_buffers, other.lost_buffers),
            cut_bytes: combine(self.cut_bytes, other.cut_bytes),
            skipped_bytes: combine(self.skipped_bytes, other.skipped_bytes),
        }
    }
}

impl std::ops::Add for KevCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.combined(other, |one, other| one + other)
    }
}

impl std::ops::Sub for KevCounts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        self.combined(before, |all, before| all - before)
    }
}

impl KevCounts {
    /// True if a log with `offset` bytes before it can have these counts.
    pub(super) fn fit(&self, offset: u64) -> bool {
        let Self { records, dropped_slots, lost_buffers, skipped_bytes, gaps, .. } = *self;
        let counts = [
            self.dropped_begins,
            self.continuations_without_begin,
            self.ends_without_begin,
            self.over_limits,
            self.slots,
        ];
        let slots = records.saturating_add(dropped_slots);
        slots.saturating_mul(SLOT_BYTES as u64).saturating_add(skipped_bytes) <= offset
            && counts.iter().all(|n| *n <= offset)
            && gaps <= offset
            && lost_buffers <= gaps.saturating_mul(1 << 11)
            && (self.open_at_end, self.cut_bytes) == (0, 0)
    }
}

/// Joins the slots of combines.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    open: OpenCombines,
    pub counts: KevCounts,
    /// Combines that were delivered, and the bytes of their payloads.
    joined: (u64, u64),
    /// Offsets of the first and last dropped slot.
    dropped: Option<(u64, u64)>,
}

impl Stored for Joiner {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut open = self.open.list();
        open.visit(codec)?;
        self.counts.visit(codec)?;
        self.joined.visit(codec)?;
        self.dropped.visit(codec)?;
        if codec.is_decoding() {
            codec.check(self.open.resume(open))?;
        }
        let (n_joined, payload) = self.joined;
        codec.check(n_joined <= self.counts.records && payload <= self.counts.records.saturating_mul(1 << 20))
    }
}

impl Joiner {
    /// True if all open combines began before an offset.
    pub fn open_before(&self, offset: u64) -> bool {
        self.open.list().last().is_none_or(|last| last.offset < offset)
    }

    /// Bytes of the slots of open combines.
    pub fn open_bytes(&self) -> u64 {
        self.open.slot_bytes()
    }

    /// True if any combine is open.
    pub fn has_open(&self) -> bool {
        self.open.any()
    }

    /// Adds a slot to its combine. `msb` is the high half of its CPU's clock. An end slot completes the combine, whose
    /// payload is appended to `into`.
    #[inline(always)]
    pub fn take(
        &mut self,
        slot: Slot,
        payload: &Payload,
        offset: u64,
        msb: Option<u32>,
        into: &mut Vec<u8>,
    ) -> Option<CompleteCombine> {
        let taken = match slot.kind() {
            SlotKind::Begin => {
                if let Some(combine) = self.open.begin(slot, offset, msb, payload) {
                    self.drop_begun(combine);
                }
                self.keep_limit();
                return None;
            }
            SlotKind::End => match self.open.end(slot, payload, into) {
                Ok(ended) => {
                    self.joined.0 += 1;
                    self.joined.1 += u64::from(ended.len);
                    return Some(CompleteCombine { msb: ended.msb.or(msb), ..ended });
                }
                Err(stray) => Err(stray),
            },
            _ => self.open.append(slot, payload),
        };
        match taken {
            Ok(()) => self.keep_limit(),
            Err(stray) => self.drop_stray(slot, offset, stray),
        }
        None
    }

    #[cold]
    fn drop_begun(&mut self, combine: Combine) {
        self.counts.dropped_begins += 1;
        self.drop_combine(combine);
    }

    #[cold]
    fn drop_stray(&mut self, slot: Slot, offset: u64, stray: StrayReason) {
        match stray {
            StrayReason::TooLong(combine) => {
                self.counts.over_limits += 1;
                self.drop_combine(combine);
            }
            StrayReason::Unknown if slot.kind() == SlotKind::End => self.counts.ends_without_begin += 1,
            StrayReason::Unknown => self.counts.continuations_without_begin += 1,
        }
        self.drop_bytes(offset, SLOT_BYTES as u64);
    }

    #[inline]
    fn keep_limit(&mut self) {
        while let Some(combine) = self.open.take_over_limit() {
            self.counts.over_limits += 1;
            self.drop_combine(combine);
        }
    }

    /// Drops the combines that are open at the end of the log.
    pub fn end(&mut self) {
        while let Some(combine) = self.open.take_oldest() {
            self.counts.open_at_end += 1;
            self.drop_combine(combine);
        }
    }

    fn drop_combine(&mut self, combine: Combine) {
        self.drop_bytes(combine.offset, combine.slot_bytes());
        self.open.recycle(combine);
    }

    fn drop_bytes(&mut self, offset: u64, n: u64) {
        self.counts.dropped_slots += n / SLOT_BYTES as u64;
        let (first, last) = self.dropped.unwrap_or((offset, offset));
        self.dropped = Some((first.min(offset), last.max(offset)));
    }

    /// Bytes of the slots of delivered records and of open combines.
    pub fn event_bytes(&self) -> u64 {
        let (n_joined, payload) = self.joined;
        (self.counts.records - n_joined) * SLOT_BYTES as u64
            + payload / PAYLOAD_BYTES as u64 * SLOT_BYTES as u64
            + self.open.slot_bytes()
    }

    /// Message about all dropped slots, and the gap that they leave; `None` if there are none.
    pub fn dropped(&self) -> Option<(String, RecordingGap)> {
        if self.counts.dropped_slots == 0 {
            return None;
        }
        let counts = &self.counts;
        let limits = format!("over the limits of {MAX_OPEN_BYTES} bytes open and {MAX_EVENT_BYTES} bytes an event");
        let parts = [
            (counts.dropped_begins, "begun again before their end"),
            (counts.continuations_without_begin, "continuations without begin"),
            (counts.ends_without_begin, "ends without begin"),
            (counts.open_at_end, "open at the end"),
            (counts.over_limits, &limits),
        ];
        let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what}: {n}")).collect();
        let (slots, (first, last)) = (counts.dropped_slots, self.dropped.unwrap_or_default());
        let parts = parts.join(", ");
        let last = if first < last { format!(" and the last at {last:#x}") } else { String::new() };
        let text =
            format!("incomplete combines dropped, the first at offset {first:#x}{last}: {parts}; slots: {slots}");
        let n_combines = counts.dropped_begins + counts.ends_without_begin + counts.open_at_end + counts.over_limits;
        let n_bytes = slots * SLOT_BYTES as u64;
        let gap = RecordingGap { n_missing: Some(n_combines), offset: first, n_bytes, ..RecordingGap::default() };
        Some((text, gap))
    }
}
