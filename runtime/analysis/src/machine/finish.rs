//! End of the span.

use super::parts::{IntervalEnd, Stream, ThreadSlot, cells};
use super::state::{Machine, add};
use crate::totals::{GapKind, Missed, Pending, Totals};
use tfbc::System;
use tfbc::internal::analysis::ClassName;

impl Machine {
    /// Returns the end of the span, by default the last event, and applies the gaps that start before it.
    pub fn end_at(&mut self, until: Option<u64>) -> u64 {
        let end = until.unwrap_or(self.last);
        // A gap that starts at the end of the span has no length.
        if self.pending_gap_start.is_some_and(|(begin, _)| begin < end) {
            self.apply_gap_start();
        }
        end
    }

    /// Charges everything up to the end of the span, and returns the totals. `lowers` is true for a class of interrupts if an
    /// event of the context table ends them.
    pub fn finish(mut self, end: u64, lowers: impl Fn(ClassName) -> bool) -> Totals {
        for stream in 0..self.streams.len() {
            let Stream { lost_since, off_since, .. } = self.streams[stream];
            if let Some(from) = lost_since.filter(|from| *from < end) {
                self.gap(stream, from..end, GapKind::Lost, Missed::default());
            } else if let Some(from) = off_since {
                self.gap(stream, from..end, GapKind::Off, Missed::default());
            }
        }
        // Untraced time that begins at the end is none.
        self.totals.gaps.retain(|gap| gap.from < end);
        for at in 0..self.cpus.len() {
            self.charge(at, end, IntervalEnd::Plain);
            self.end_frames(at, end.max(self.from), false);
        }
        for slot in 0..self.threads.len() as ThreadSlot {
            self.decide(slot, cells::MODE);
            let thread = &self.threads[slot as usize];
            if let Some(call) = thread.call {
                let spent = thread.cells.get(cells::within(call.class)).copied().unwrap_or(0) - call.charged;
                let elapsed = end.saturating_sub(call.start);
                self.totals.calls[call.row].n_pending += 1;
                let known = self.modes[call.class];
                let is_complete = self.has_dispatch && known.has_first && known.has_second;
                self.totals.pending.push(Pending {
                    thread: slot,
                    row: call.row,
                    cpu_ns: is_complete.then_some(spent),
                    elapsed_ns: elapsed,
                });
            }
            if let Some(state) = thread.state {
                self.threads[slot as usize].last_state = Some(state);
                self.change_state(slot, None, end);
            }
        }
        self.totals.utilisation.reach(end);
        self.reclassify(lowers);
        let Self { system, from, cpus, threads, processes, modes, classes, mut totals, has_dispatch, details, .. } =
            self;
        (totals.system, totals.span, totals.has_dispatch) = (Some(system), (from.min(end), end), has_dispatch);
        totals.has_idle_dispatch = threads.iter().any(|thread| thread.is_idle);
        (totals.cpus, totals.threads, totals.processes) = (cpus, threads, processes);
        (totals.modes, totals.classes) = (modes, classes);
        totals.details = details.map(|details| *details);
        totals
    }

    /// Moves time to `unknown` or `mode` if the trace lacks the kind of event that would prove its category.
    fn reclassify(&mut self, lowers: impl Fn(ClassName) -> bool) {
        // Classes without an event that ends them: a resume or reset does.
        for class in &mut self.classes {
            class.has_first |= self.totals.has_reset && !lowers(class.name);
        }
        if self.system == System::Aix && !self.has_dispatch {
            for cpu in &mut self.cpus {
                let named = cpu.cells.drain(..).sum::<u128>() + cpu.interrupts.drain(..).sum::<u128>();
                cpu.unknown += named + cpu.dispatch + cpu.idle_dispatch + cpu.switch;
                (cpu.dispatch, cpu.idle_dispatch, cpu.switch) = (0, 0, 0);
            }
            for thread in &mut self.threads {
                thread.cells.clear();
                thread.forget_cpus();
            }
            self.totals.utilisation.clear();
            self.totals.priorities.fill(0);
        }
        for (class, _) in self.classes.iter().enumerate().filter(|(_, class)| !class.has_first) {
            self.totals.utilisation.clear_interrupts(class);
            for cpu in &mut self.cpus {
                if let Some(ns) = cpu.interrupts.get_mut(class) {
                    cpu.unknown += std::mem::take(ns);
                }
            }
        }
        let all = self.cpus.iter_mut().map(|cpu| &mut cpu.cells);
        for cells in all.chain(self.threads.iter_mut().map(|thread| &mut thread.cells)) {
            for (class, _) in self.modes.iter().enumerate().filter(|(_, class)| !(class.has_first && class.has_second))
            {
                for cell in [cells::user(class), cells::within(class)] {
                    let ns = cells.get_mut(cell).map_or(0, std::mem::take);
                    add(cells, cells::MODE, ns);
                }
            }
        }
    }
}
