//! Interrupts of a CPU.

use super::parts::{Frame, IntervalEnd};
use super::state::{MAX_NAME, MAX_ROWS, Machine, index_of};
use crate::totals::InterruptCounts;
use tfbc::internal::analysis::ClassName;

/// Limit on nested interrupts. The time of deeper ones is charged to the innermost frame that is kept.
pub(super) const MAX_FRAMES: usize = 64;

impl Machine {
    /// True if interrupts are told apart.
    #[inline]
    pub fn keeps_interrupts(&self) -> bool {
        self.keeps_interrupts
    }

    /// Enters an interrupt on a CPU. `name` returns the name of its handler, if nothing is known of the interrupt yet.
    pub fn raise<N: AsRef<[u8]>>(
        &mut self,
        at: usize,
        class: ClassName,
        kind: Option<u64>,
        address: Option<u64>,
        name: impl FnOnce() -> Option<N>,
    ) {
        if self.is_in_gap(at) {
            return;
        }
        let class = self.class(class);
        let row = self.interrupt(at, class, kind, address, name);
        if self.cpus[at].frames.len() < MAX_FRAMES {
            self.n_frames += 1;
            let thread = self.runs(at);
            self.cpus[at].frames.push(Frame { number: self.n_frames, class, row, own_ns: 0, thread });
        } else {
            self.totals.interrupts[row].n_unfinished += 1;
        }
    }

    /// Fast path for an AIX event by which the thread that runs on a CPU enters an interrupt, if interrupts are not told
    /// apart: does the same as [`Machine::evidence`] and then [`Machine::raise`]. Returns false, and does nothing, in
    /// states in which that is not sure.
    #[inline(always)]
    pub fn raise_nameless(&mut self, at: usize, id: u64, class: ClassName, now: u64) -> bool {
        let Some(class) = self.classes.iter().position(|known| known.name == class) else { return false };
        let cpu = &self.cpus[at];
        // A CPU in a gap has no thread.
        let Some((_, slot)) = cpu.thread.filter(|(running, _)| *running == id) else { return false };
        let is_usual = self.pending_gap_start.is_none() && !self.totals.interrupts.is_empty();
        if !is_usual || cpu.frames.len() >= MAX_FRAMES {
            return false;
        }
        self.charge(at, now, IntervalEnd::Plain);
        self.n_frames += 1;
        let cpu = &mut self.cpus[at];
        cpu.just_dispatched = None;
        cpu.frames.push(Frame { number: self.n_frames, class, row: 0, own_ns: 0, thread: Some(slot) });
        true
    }

    /// Fast path for [`Machine::reset`], like [`Machine::raise_nameless`].
    #[inline(always)]
    pub fn reset_nameless(&mut self, at: usize, id: u64, resume: bool, now: u64) -> bool {
        let cpu = &self.cpus[at];
        if self.pending_gap_start.is_some() || cpu.thread.is_none_or(|(running, _)| running != id) {
            return false;
        }
        self.charge(at, now, if resume { IntervalEnd::Resume } else { IntervalEnd::Plain });
        let cpu = &mut self.cpus[at];
        cpu.frames.clear();
        (cpu.is_known, cpu.just_dispatched) = (true, None);
        self.prove_reset();
        true
    }

    /// Leaves the innermost interrupt of a class on a CPU, and all interrupts inside of it.
    pub fn lower(&mut self, at: Option<usize>, class: ClassName, now: u64) {
        let class = self.class(class);
        self.n_proofs += u64::from(!std::mem::replace(&mut self.classes[class].has_first, true));
        let Some(at) = at else { return };
        if self.is_in_gap(at) {
            return;
        }
        match self.cpus[at].frames.iter().rposition(|frame| frame.class == class) {
            Some(from) => {
                while self.cpus[at].frames.len() > from {
                    self.end_frame(at, now, true);
                }
            }
            None => self.totals.n_unmatched += u64::from(self.counts(now)),
        }
    }

    /// Leaves all interrupts on a CPU.
    pub fn reset(&mut self, at: Option<usize>, now: u64) {
        self.prove_reset();
        let Some(at) = at else { return };
        if self.is_in_gap(at) {
            return;
        }
        self.end_frames(at, now, true);
        self.cpus[at].is_known = true;
    }

    pub(super) fn end_frames(&mut self, at: usize, now: u64, seen: bool) {
        if !self.keeps_interrupts {
            return self.cpus[at].frames.clear();
        }
        while !self.cpus[at].frames.is_empty() {
            self.end_frame(at, now, seen);
        }
    }

    fn end_frame(&mut self, at: usize, now: u64, seen: bool) {
        let counts = self.counts(now);
        let Some(frame) = self.cpus[at].frames.pop() else { return };
        let row = &mut self.totals.interrupts[frame.row];
        if seen && counts {
            row.own.add(frame.own_ns);
            if let (Some(details), Some(thread)) = (&mut self.details, frame.thread) {
                details.add_interrupt(thread, frame.row);
            }
        } else if counts {
            row.n_unfinished += 1;
            row.unfinished_ns += frame.own_ns;
        }
    }

    /// Index of a class of interrupts.
    fn class(&mut self, name: ClassName) -> usize {
        index_of(&mut self.classes, name)
    }

    /// Row of an interrupt.
    fn interrupt<N: AsRef<[u8]>>(
        &mut self,
        at: usize,
        class: usize,
        kind: Option<u64>,
        address: Option<u64>,
        name: impl FnOnce() -> Option<N>,
    ) -> usize {
        if !self.keeps_interrupts {
            // All interrupts share a row that is not printed.
            if self.totals.interrupts.is_empty() {
                self.totals.interrupts.push(InterruptCounts { class, ..InterruptCounts::default() });
            }
            return 0;
        }
        // Traces of many CPUs have few kinds of interrupts, but many kinds per CPU.
        let at = if self.keeps_interrupts_per_cpu { at } else { 0 };
        let key = (at as u32, class, kind, address);
        if let Some(row) = self.interrupt_by_key.get(&key) {
            return *row;
        }
        let is_full = self.totals.interrupts.len() >= MAX_ROWS;
        let key = if is_full { (at as u32, class, None, None) } else { key };
        if let Some(row) = self.interrupt_by_key.get(&key) {
            return *row;
        }
        let name = if is_full { None } else { name() };
        let name = name.as_ref().map(AsRef::as_ref).filter(|name| !name.is_empty());
        self.totals.interrupts.push(InterruptCounts {
            cpu: at,
            class,
            kind: key.2,
            address: key.3,
            name: name.map(|name| name[..name.len().min(MAX_NAME)].into()),
            ..InterruptCounts::default()
        });
        self.interrupt_by_key.insert(key, self.totals.interrupts.len() - 1);
        self.totals.interrupts.len() - 1
    }
}
