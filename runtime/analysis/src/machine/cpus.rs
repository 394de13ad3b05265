//! CPUs: which one an event belongs to, and what its time is charged to.

use super::change::Change;
use super::parts::{Affinity, Cpu, IntervalEnd, ThreadSlot, cells};
use super::state::{MAX_CPUS, Machine, NO_CPU, add};
use crate::busy::Part;
use tfbc::System;

impl Machine {
    /// Index of a CPU that the trace has shown.
    pub fn index_of_cpu(&self, id: u64) -> Option<usize> {
        self.cpu_by_id.get(&id).map(|at| *at as usize)
    }

    /// Adds a CPU that the trace declares at a time. If it is new, its time before is unknown.
    pub fn declare(&mut self, id: u64, now: u64) {
        if let Some(at) = self.cpu(id, now) {
            self.cpus[at].is_declared = true;
        }
    }

    /// Index of a CPU; `None` above the limit. The time of a new CPU is unknown up to `now`.
    #[inline(always)]
    pub fn cpu(&mut self, id: u64, now: u64) -> Option<usize> {
        match self.small_cpus.get(id as usize).filter(|_| id < MAX_CPUS as u64) {
            Some(at) if *at != NO_CPU => Some(*at as usize),
            _ => self.find_cpu(id, now),
        }
    }

    #[inline(never)]
    fn find_cpu(&mut self, id: u64, now: u64) -> Option<usize> {
        if let Some(at) = self.cpu_by_id.get(&id) {
            return Some(*at as usize);
        }
        if self.cpus.first().is_some_and(|cpu| cpu.id.is_none()) {
            self.drop_nameless();
        }
        if self.cpus.len() >= MAX_CPUS {
            return None;
        }
        let at = self.cpus.len();
        let (mut n_lost, mut n_off) = (0, 0);
        for stream in self.streams.iter().filter(|stream| stream.cpu.is_none()) {
            n_lost += u32::from(stream.lost_since.is_some());
            n_off += u32::from(stream.off_since.is_some());
        }
        self.n_untraced += u32::from(n_lost + n_off > 0);
        let unknown = now.saturating_sub(self.from).into();
        self.cpus.push(Cpu { id: Some(id), since: now, seen: now, unknown, n_lost, n_off, ..Cpu::default() });
        self.cpu_by_id.insert(id, at as u32);
        if id < MAX_CPUS as u64 {
            self.small_cpus[id as usize] = at as u32;
        }
        Some(at)
    }

    /// Index of the CPU of an event without a CPU number: the only declared CPU, or the one that the thread runs on.
    #[inline(always)]
    pub fn cpu_without_id(&mut self, tid: u64) -> Option<usize> {
        if let [cpu] = &self.cpus[..]
            && (cpu.is_declared || cpu.id.is_none())
        {
            return Some(0);
        }
        self.find_without_id(tid)
    }

    #[inline(never)]
    fn find_without_id(&mut self, tid: u64) -> Option<usize> {
        match self.cpu_of_dispatch() {
            None => self.running_on(tid),
            only => only,
        }
    }

    /// Index of the CPU of a dispatch without a CPU number: the only declared CPU.
    #[inline]
    pub fn cpu_of_dispatch(&mut self) -> Option<usize> {
        self.need_cpu();
        let [cpu] = &self.cpus[..] else { return None };
        (cpu.is_declared || cpu.id.is_none()).then_some(0)
    }

    /// Creates a CPU without a number for AIX, if the trace has not named any yet.
    #[inline]
    pub(super) fn need_cpu(&mut self) {
        if self.cpus.is_empty() && self.system == System::Aix {
            self.cpus.push(Cpu::default());
        }
    }

    /// Time of the last event of a CPU, or of another one that changed its state.
    pub fn last_event(&self, at: usize) -> u64 {
        self.cpus[at].seen
    }

    /// Time of a QNX record of a CPU. Times that go back are moved to the CPU's own last record.
    #[inline(always)]
    pub fn record_time(&mut self, at: usize, now: u64) -> u64 {
        let own = &mut self.cpus[at].own;
        *own = now.max(*own);
        *own
    }

    /// Time of an AIX event on a CPU. Times that go back are moved to the CPU's own last event.
    #[inline(always)]
    pub fn time_at(&self, at: usize, now: u64) -> u64 {
        if now >= self.cpus[at].seen { now } else { now.max(self.last_own_event(at)) }
    }

    /// Time of the next AIX event on a CPU, like [`Machine::time_at`].
    #[inline(always)]
    pub fn next_time(&mut self, at: usize, now: u64) -> u64 {
        if now >= self.cpus[at].seen { now } else { self.next_early_time(at, now) }
    }

    #[cold]
    fn next_early_time(&mut self, at: usize, now: u64) -> u64 {
        let time = now.max(self.last_own_event(at));
        let Cpu { seen, moved, .. } = &mut self.cpus[at];
        if let Some((to, own)) = moved
            && to == seen
        {
            *own = time;
        }
        time
    }

    #[cold]
    fn last_own_event(&self, at: usize) -> u64 {
        let Cpu { seen, moved, .. } = self.cpus[at];
        moved.filter(|(to, _)| *to == seen).map_or(seen, |(_, own)| own)
    }

    /// Notes that the CPU's last charge was up to an event of its own.
    pub fn note_own(&mut self, at: usize) {
        self.cpus[at].moved = None;
    }

    /// Notes that something else than an event of a CPU charges it up to `now`.
    pub(super) fn note_moved(&mut self, at: usize, now: u64) {
        if now > self.cpus[at].seen {
            self.cpus[at].moved = Some((now, self.last_own_event(at)));
        }
    }

    /// True if the priorities of threads are needed.
    #[inline]
    pub fn reads_priorities(&self) -> bool {
        self.reads_priorities
    }

    /// Number of a CPU; `None` for the only one of a trace whose events have none.
    pub fn cpu_id(&self, at: usize) -> Option<u64> {
        self.cpus[at].id
    }

    pub(super) fn running_on(&self, id: u64) -> Option<usize> {
        let slot = match self.recent_thread(id) {
            Some(slot) => slot,
            None => match self.thread_by_id.get(&id) {
                Some(slot) => *slot,
                None => return self.others.get(&id).map(|cpu| *cpu as usize),
            },
        };
        self.threads[slot as usize].cpu.map(|cpu| cpu as usize)
    }

    /// Removes the CPU without a number and the time charged to it: an event has named a real one.
    #[cold]
    fn drop_nameless(&mut self) {
        let cpu = self.cpus.remove(0);
        self.note(Change::Dropped { time: cpu.seen });
        self.n_untraced -= u32::from(cpu.is_untraced());
        self.others.clear();
        for thread in &mut self.threads {
            thread.cpu = None;
            self.n_undecided -= thread.undecided.len();
            thread.undecided.clear();
            thread.cells.clear();
            thread.cpus.clear();
            thread.last_dispatch = None;
            thread.left_cpu = None;
            (thread.n_dispatches, thread.affinity, thread.waited, thread.n_waits) = (0, Affinity::default(), 0, 0);
            if let Some(call) = &mut thread.call {
                call.charged = 0;
            }
        }
        for call in &mut self.totals.calls {
            call.cpu.forget();
        }
        self.totals.interrupts.clear();
        self.totals.utilisation.clear();
        self.totals.priorities.fill(0);
        self.interrupt_by_key.clear();
        if let Some(details) = &mut self.details {
            details.forget_cpus();
        }
        self.totals.n_contradictions = 0;
        self.totals.n_unmatched = 0;
    }

    /// Charges the time of a CPU up to its last event, before its state changes in another way than by its own events.
    #[inline]
    pub(super) fn settle(&mut self, at: usize) {
        if self.cpus[at].seen > self.cpus[at].since {
            self.charge(at, 0, IntervalEnd::Plain);
        }
    }

    /// Charges the time of the CPU on which a thread runs up to the CPU's last event.
    #[inline]
    pub(super) fn settle_thread(&mut self, slot: ThreadSlot) {
        if let Some(at) = self.threads[slot as usize].cpu {
            self.settle(at as usize);
        }
    }

    /// Charges the time of a CPU up to `now`, or to its last event if that is later.
    #[inline(always)]
    pub(super) fn charge(&mut self, at: usize, now: u64, ending: IntervalEnd) {
        let cpu = &mut self.cpus[at];
        let now = now.max(cpu.seen);
        if now <= cpu.since {
            return;
        }
        // Nearly all intervals are of a thread or class of interrupts that has been charged before. A CPU in a gap has
        // neither a thread nor interrupts.
        let is_usual = ending != IntervalEnd::Contradiction && cpu.since >= self.from && !self.keeps_utilisation;
        if let Some(frame) = cpu.frames.last_mut() {
            if is_usual && let Some(of_class) = cpu.interrupts.get_mut(frame.class) {
                let ns = u128::from(now - cpu.since);
                frame.own_ns += ns;
                *of_class += ns;
                (cpu.since, cpu.seen) = (now, now);
                return;
            }
        } else if let Some((_, slot)) = cpu.thread
            && is_usual
            && !(ending == IntervalEnd::Resume && cpu.just_dispatched.is_some())
            && cpu.is_thread_noted
            && cpu.is_known
            && !self.keeps_priorities
        {
            let thread = &mut self.threads[slot as usize];
            let cell = if thread.is_idle { Some(cells::IDLE as u32) } else { thread.mode };
            if let Some(cell) = cell
                && let Some(of_thread) = thread.cells.get_mut(cell as usize)
                && let Some(of_cpu) = cpu.cells.get_mut(cell as usize)
            {
                let ns = u128::from(now - cpu.since);
                *of_thread += ns;
                *of_cpu += ns;
                (cpu.since, cpu.seen) = (now, now);
                return;
            }
        }
        self.charge_any(at, now, ending);
    }

    /// Charges an interval of any kind.
    #[inline(never)]
    fn charge_any(&mut self, at: usize, now: u64, ending: IntervalEnd) {
        if ending == IntervalEnd::Contradiction {
            self.settle(at);
        }
        let cpu = &mut self.cpus[at];
        cpu.seen = now;
        if now <= cpu.since {
            return;
        }
        let from = std::mem::replace(&mut cpu.since, now).max(self.from);
        if now <= from {
            return;
        }
        let ns = u128::from(now - from);
        let mut busy = None;
        if cpu.n_lost > 0 {
            cpu.lost += ns;
        } else if cpu.n_off > 0 {
            cpu.off += ns;
        } else if ending == IntervalEnd::Contradiction {
            cpu.unknown += ns;
        } else if let Some(idle) = cpu.just_dispatched
            && ending == IntervalEnd::Resume
            && cpu.frames.is_empty()
        {
            *(if idle { &mut cpu.idle_dispatch } else { &mut cpu.dispatch }) += ns;
            busy = Some(Part::Other);
            self.note(Change::Dispatched { at, from, to: now, idle });
        } else if let Some(frame) = cpu.frames.last_mut() {
            frame.own_ns += ns;
            add(&mut cpu.interrupts, frame.class, ns);
            busy = Some(Part::Interrupts(frame.class));
        } else if !cpu.is_known {
            cpu.unknown += ns;
        } else if let Some((_, slot)) = cpu.thread {
            let thread = &mut self.threads[slot as usize];
            busy = (!thread.is_idle).then_some(Part::Other);
            let cell = if thread.is_idle { Some(cells::IDLE as u32) } else { thread.mode };
            match cell {
                Some(cell) => {
                    add(&mut thread.cells, cell as usize, ns);
                    add(&mut cpu.cells, cell as usize, ns);
                }
                None => match thread.undecided.binary_search_by_key(&(at as u32), |(cpu, _)| *cpu) {
                    Ok(found) => thread.undecided[found].1 += now - from,
                    Err(place) if self.n_undecided < self.max_undecided => {
                        self.n_undecided += 1;
                        thread.undecided.insert(place, (at as u32, now - from));
                    }
                    Err(_) => {
                        self.totals.has_dropped_undecided = true;
                        add(&mut thread.cells, cells::MODE, ns);
                        add(&mut cpu.cells, cells::MODE, ns);
                    }
                },
            }
            cpu.is_thread_noted = true;
            if !thread.has_cpu(at) {
                if thread.cpus.len() <= at / 64 {
                    thread.cpus.resize(at / 64 + 1, 0);
                }
                thread.cpus[at / 64] |= 1 << (at % 64);
            }
            if let Some(priority) = thread.priority.filter(|_| self.keeps_priorities) {
                self.totals.priorities[usize::from(priority)] += ns;
            }
        } else if cpu.switching {
            cpu.switch += ns;
            busy = Some(Part::Other);
        } else {
            cpu.unknown += ns;
        }
        if self.keeps_utilisation
            && let Some(part) = busy
        {
            self.totals.utilisation.add(at, part, from..now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnalysisOptions;

    #[test]
    fn times_in_unknown_modes_are_bounded() {
        let mut machine = Machine::new(System::Aix, &AnalysisOptions::default());
        machine.max_undecided = 100;
        (0..10).for_each(|cpu| machine.declare(cpu, 0));
        let mut now = 0;
        for (thread, cpu) in (0..20).flat_map(|thread| (0..10).map(move |cpu| (thread, cpu))) {
            // The second dispatch leaves the thread on no CPU.
            for id in [1000 + thread, cpu as u64] {
                let slot = machine.thread(id);
                machine.dispatch(Some(cpu), id, slot, now, false);
                now += 5;
            }
        }
        assert!(machine.n_undecided <= 100 && machine.totals.has_dropped_undecided);
        let kept: usize = machine.threads.iter().map(|thread| thread.undecided.len()).sum();
        assert_eq!(kept, machine.n_undecided);
        let totals = machine.finish(now, |_| true);
        let named: u128 = totals.cpus.iter().map(|cpu| cpu.cells.iter().sum::<u128>() + cpu.unknown).sum();
        assert_eq!(named, 10 * u128::from(now));
        let of_threads: u128 = totals.threads.iter().flat_map(|thread| &thread.cells).sum();
        assert_eq!(of_threads, totals.cpus.iter().flat_map(|cpu| &cpu.cells).sum());
    }
}
