//! Untraced time: losses, and intervals in which tracing is off.

use super::change::{CallCut, Change};
use super::parts::{IntervalEnd, Stream};
use super::state::Machine;
use crate::totals::{Gap, GapKind, Missed};
use std::ops::Range;

/// Largest number of listed gaps.
pub(super) const MAX_GAPS: usize = 1 << 16;

impl Machine {
    /// Adds a stream that covers one CPU or all.
    pub fn add_stream(&mut self, cpu: Option<u64>) {
        self.streams.push(Stream { cpu, ..Stream::default() });
        if let Some(cpu) = cpu {
            self.declare(cpu, 0);
        }
    }

    /// Starts a gap in which a stream lost events.
    pub fn begin_loss(&mut self, stream: usize, now: u64) {
        if self.streams[stream].lost_since.is_none() {
            self.split_off(stream, now, true);
            self.streams[stream].lost_since = Some(now);
            self.n_losing += 1;
            self.n_open_gaps += 1;
            self.begin(stream, now, GapKind::Lost);
            self.streams[stream].loss_number = self.n_gaps;
        }
    }

    /// Ends a gap in which a stream lost events.
    pub fn end_loss(&mut self, stream: usize, now: u64, missed: Missed) {
        if let Some(from) = self.streams[stream].lost_since.take() {
            self.end(stream, now, GapKind::Lost);
            self.n_losing -= 1;
            self.n_open_gaps -= 1;
            self.note(Change::LossEnded { number: self.streams[stream].loss_number, time: now });
            self.gap(stream, from..now, GapKind::Lost, missed);
            self.split_off(stream, now, false);
        }
    }

    /// True while any stream loses events or is switched off.
    #[inline]
    pub fn has_gap(&self) -> bool {
        self.n_open_gaps > 0
    }

    /// True while a stream loses events.
    pub fn is_losing(&self, stream: usize) -> bool {
        self.streams[stream].lost_since.is_some()
    }

    /// True while a stream is switched off.
    pub fn is_off(&self, stream: usize) -> bool {
        self.streams[stream].off_since.is_some()
    }

    /// Switches a stream off.
    pub fn switch_off(&mut self, stream: usize, now: u64) {
        if self.streams[stream].off_since.is_none() {
            self.streams[stream].off_since = Some(now);
            self.n_open_gaps += 1;
            self.begin(stream, now, GapKind::Off);
        }
    }

    /// Switches a stream on.
    pub fn switch_on(&mut self, stream: usize, now: u64) {
        if let Some(from) = self.streams[stream].off_since.take() {
            self.n_open_gaps -= 1;
            self.end(stream, now, GapKind::Off);
            self.gap(stream, from..now, GapKind::Off, Missed::default());
        }
    }

    /// Splits an off interval at a loss: lists the part before it, or starts the part after it.
    fn split_off(&mut self, stream: usize, now: u64, is_begin: bool) {
        if let Some(from) = self.streams[stream].off_since {
            if is_begin {
                self.gap(stream, from..now, GapKind::Off, Missed::default());
            }
            self.streams[stream].off_since = Some(now);
        }
    }

    fn covered(&self, stream: usize) -> std::ops::Range<usize> {
        match self.streams[stream].cpu {
            None => 0..self.cpus.len(),
            Some(id) => match self.cpu_by_id.get(&id) {
                Some(at) => *at as usize..*at as usize + 1,
                None => 0..0,
            },
        }
    }

    fn begin(&mut self, stream: usize, now: u64, kind: GapKind) {
        self.need_cpu();
        // Gaps that start at one time are applied together.
        if self.pending_gap_start.is_some_and(|(begin, _)| begin != now) {
            self.apply_gap_start();
        }
        let is_loss = kind == GapKind::Lost || self.pending_gap_start.is_some_and(|(_, is_loss)| is_loss);
        for at in self.covered(stream) {
            self.note_moved(at, now);
            self.charge(at, now, IntervalEnd::Plain);
            self.n_untraced += u32::from(!self.cpus[at].is_untraced());
            let cpu = &mut self.cpus[at];
            match kind {
                GapKind::Lost => cpu.n_lost += 1,
                GapKind::Off => cpu.n_off += 1,
            }
            self.clear_cpu(at, now);
            self.note(Change::Base { at, time: self.cpus[at].seen, base: self.base(at) });
        }
        self.n_gaps += 1;
        self.gap_starts.note(self.streams[stream].cpu, now);
        self.pending_gap_start = Some((now, is_loss));
    }

    fn end(&mut self, stream: usize, now: u64, kind: GapKind) {
        // A gap without a length has no effect at the end of the span, so it waits, too.
        if self.pending_gap_start.is_some_and(|(begin, _)| begin < now) {
            self.apply_gap_start();
        }
        for at in self.covered(stream) {
            self.note_moved(at, now);
            self.charge(at, now, IntervalEnd::Plain);
            let cpu = &mut self.cpus[at];
            match kind {
                GapKind::Lost => cpu.n_lost -= 1,
                GapKind::Off => cpu.n_off -= 1,
            }
            self.n_untraced -= u32::from(!self.cpus[at].is_untraced());
            self.clear_cpu(at, now);
            self.note(Change::Base { at, time: self.cpus[at].seen, base: self.base(at) });
        }
        if std::mem::take(&mut self.has_events_in_gap) {
            self.forget_unseen(now, self.n_losing > 0);
        }
    }

    /// Clears a CPU. [`Machine::forget_unseen`] deals with its thread later.
    fn clear_cpu(&mut self, at: usize, now: u64) {
        self.end_frames(at, now, false);
        let cpu = &mut self.cpus[at];
        (cpu.is_known, cpu.just_dispatched, cpu.switching) = (false, None, false);
        if let Some((id, slot)) = cpu.thread.take() {
            self.others.remove(&id);
            let thread = &mut self.threads[slot as usize];
            (thread.cpu, thread.left_cpu) = (None, None);
            self.track(slot);
        }
    }

    /// Lists a gap of a stream, cut to the analysed time.
    pub(super) fn gap(&mut self, stream: usize, time: Range<u64>, kind: GapKind, missed: Missed) {
        let is_before = time.end < self.from || (time.end == self.from && time.start < self.from);
        if is_before || (kind == GapKind::Off && time.is_empty()) {
            return;
        }
        if self.totals.gaps.len() >= MAX_GAPS {
            self.totals.n_unlisted_gaps += 1;
            return;
        }
        let cpu = self.streams[stream].cpu;
        let from = time.start.max(self.from);
        self.totals.gaps.push(Gap { cpu, from, to: time.end, kind, missed });
    }

    /// True if the CPU is untraced, so that its events change nothing.
    pub(super) fn is_in_gap(&mut self, at: usize) -> bool {
        let dark = self.cpus[at].is_untraced();
        self.has_events_in_gap |= dark;
        dark
    }

    /// Applies a pending start of a gap to the threads.
    #[inline]
    pub(super) fn apply_gap_start(&mut self) {
        if let Some((now, is_loss)) = self.pending_gap_start.take() {
            self.forget_unseen(now, is_loss);
        }
    }

    /// Forgets mode, call and state of the threads that run on no traced CPU: they may have run anywhere. `in_loss` is true
    /// if their calls last until the mark of a loss.
    #[cold]
    fn forget_unseen(&mut self, now: u64, in_loss: bool) {
        for slot in std::mem::take(&mut self.tracked) {
            let thread = &mut self.threads[slot as usize];
            if thread.cpu.is_some() {
                self.tracked.push(slot);
                continue;
            }
            thread.is_tracked = false;
            self.charge_clients(slot, now);
            self.threads[slot as usize].serves.clear();
            self.forget(slot, Some(CallCut { time: now, in_loss }));
            if matches!(self.threads[slot as usize].state, Some((Some(_), _))) {
                self.change_state(slot, Some(None), now);
            }
        }
    }
}
