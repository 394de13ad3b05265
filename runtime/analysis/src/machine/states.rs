//! States of the threads of QNX.

use super::change::{CallEnding, Change};
use super::parts::{IntervalEnd, OTHERS, ProcessSlot, RUNNING, ThreadSlot, ThreadState};
use super::state::Machine;
use crate::tally::StateCounts;
/// Number of the state of a thread that waits for a CPU.
pub(super) const READY: ThreadState = Some(2);

/// Largest number of intervals of a process that are kept, so that late records can change them.
const MAX_KEPT: usize = 256;
/// Largest number of kept intervals of all processes. Above it, a process keeps [`FEW_KEPT`].
const MAX_INTERVALS: usize = 1 << 18;
const FEW_KEPT: usize = 8;

impl Machine {
    /// Runs a QNX thread on a CPU.
    pub fn run(&mut self, at: usize, id: u64, slot: ThreadSlot, now: u64, idle: bool) {
        self.apply_gap_start();
        self.prove_dispatch(false);
        self.charge(at, now, IntervalEnd::Plain);
        self.settle_thread(slot);
        self.threads[slot as usize].is_idle = idle && slot != OTHERS;
        if self.is_in_gap(at) {
            return;
        }
        let old = self.cpus[at].thread;
        if let Some((old, old_slot)) = old.filter(|(old, _)| *old != id) {
            self.cpus[at].thread = None;
            self.take_off_cpu(old, old_slot, now, true);
            self.change_state(old_slot, Some(None), now);
        }
        self.put_on_cpu(at, id, slot, now);
        (self.cpus[at].is_known, self.cpus[at].switching) = (true, false);
        self.change_state(slot, Some(RUNNING), now);
        self.count_dispatch(at, slot, now, idle);
    }

    /// Gives a QNX thread a state other than running. `None` ends the thread.
    pub fn state(&mut self, id: u64, slot: ThreadSlot, state: Option<u8>, now: u64) {
        self.apply_gap_start();
        if let Some(at) = self.running_on(id) {
            self.charge(at, now, IntervalEnd::Plain);
            self.cpus[at].thread = None;
            self.cpus[at].switching = true;
            self.take_off_cpu(id, slot, now, true);
            self.note(Change::Touched { at, time: now });
        }
        if let Some(state) = state {
            self.change_state(slot, Some(Some(state)), now);
        } else {
            let n = u64::from(self.counts(now));
            if let Some(call) = self.threads[slot as usize].call.take() {
                self.totals.calls[call.row].n_ended += n;
                self.note(Change::Left { thread: slot, time: now, ending: CallEnding::Ended });
            }
            self.forget_mode(slot);
            self.change_state(slot, None, now);
            self.threads[slot as usize].serves.clear();
        }
        self.track(slot);
    }

    /// Ends all threads of a QNX process.
    pub fn end_threads(&mut self, process: ProcessSlot, now: u64) {
        if process == OTHERS || self.processes[process as usize].has_ended {
            return;
        }
        for slot in self.members(process) {
            self.state(self.threads[slot as usize].tid, slot, None, now);
        }
    }

    /// Sets the priority of a thread, from a record.
    pub fn prioritise(&mut self, slot: ThreadSlot, priority: Option<u8>) {
        if slot != OTHERS {
            self.settle_thread(slot);
            self.threads[slot as usize].priority = priority;
        }
    }

    /// Starts the states of a QNX thread at its creation.
    pub fn begin_thread(&mut self, slot: ThreadSlot, now: u64) {
        let thread = &mut self.threads[slot as usize];
        let is_new = match thread.state {
            None => true,
            Some((state, since)) => state.is_none() && since == 0 && thread.states.is_empty(),
        };
        if slot != OTHERS && is_new {
            thread.state = Some((None, now.max(thread.ended)));
        }
    }

    /// Counts the time of a thread's current state, and starts another state.
    pub(super) fn change_state(&mut self, slot: ThreadSlot, state: Option<ThreadState>, now: u64) {
        if !self.keeps_states || slot == OTHERS {
            return;
        }
        if self.keeps_messages {
            self.charge_clients(slot, now);
        }
        let (from, counts) = (self.from, self.counts(now));
        let thread = &mut self.threads[slot as usize];
        if let Some((old, since)) = thread.state {
            let ns = u128::from(now.max(from) - since.max(from).min(now.max(from)));
            if counts && (ns > 0 || old.is_some()) {
                let known = match thread.states.iter().position(|(known, _)| *known == old) {
                    Some(known) => known,
                    None => {
                        thread.states.push((old, StateCounts::default()));
                        thread.states.len() - 1
                    }
                };
                thread.states[known].1.add(ns);
                if old == READY {
                    thread.waited += ns;
                    thread.n_waits += 1;
                }
            }
        }
        let ran_since = thread.state.and_then(|(old, since)| (old == RUNNING).then_some(since.max(from)));
        let time = now.max(thread.state.map_or(thread.ended, |(_, since)| since));
        thread.state = state.map(|state| (state, time));
        if state.is_none() {
            thread.ended = time;
        }
        self.note(Change::State { thread: slot, state, time });
        if let Some(since) = ran_since
            && let Some(process) = self.threads[slot as usize].process
        {
            self.add_running(process, since, time);
        }
    }

    /// Notes that a process ran in an interval.
    fn add_running(&mut self, process: ProcessSlot, from: u64, to: u64) {
        let running = &mut self.processes[process as usize].running;
        let n_before = running.n_recent();
        running.add(from, to);
        self.n_running_intervals = self.n_running_intervals + running.n_recent() - n_before;
        let max = if self.n_running_intervals > MAX_INTERVALS { FEW_KEPT } else { MAX_KEPT };
        if running.n_recent() > max {
            self.settle_running(process);
        }
    }

    /// Sums up the older half of the intervals in which a process ran. Records are rarely that late.
    #[inline(never)]
    fn settle_running(&mut self, process: ProcessSlot) {
        let running = &self.processes[process as usize].running;
        let Some(until) = running.end_before(running.n_recent() / 2) else { return };
        let n_before = running.n_recent();
        for at in 0..self.cpus.len() {
            let Some((_, slot)) = self.cpus[at].thread else { continue };
            let thread = &self.threads[slot as usize];
            if let (Some((RUNNING, since)), true) = (thread.state, thread.process == Some(process)) {
                self.processes[process as usize].running.add(since.max(self.from), until);
            }
        }
        let running = &mut self.processes[process as usize].running;
        running.settle(until);
        self.n_running_intervals = self.n_running_intervals + running.n_recent() - n_before;
    }
}
