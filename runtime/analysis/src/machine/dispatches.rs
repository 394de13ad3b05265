//! Threads that come to a CPU and leave it.

use super::change::{CallCut, Change};
use super::parts::{IntervalEnd, OTHERS, Thread, ThreadSlot};
use super::state::Machine;
use tfbc::internal::analysis::ClassName;
impl Machine {
    /// Charges a CPU up to an AIX event. Its thread id shows which thread runs, even if the dispatch was not traced.
    #[inline(always)]
    pub fn evidence(&mut self, at: usize, id: u64, now: u64, is_resume: bool) {
        self.apply_gap_start();
        let cpu = &self.cpus[at];
        if cpu.is_untraced() {
            self.has_events_in_gap = true;
            return self.charge(at, now, IntervalEnd::Plain);
        }
        let ending = if is_resume { IntervalEnd::Resume } else { IntervalEnd::Plain };
        match cpu.thread {
            Some((known, _)) if known == id => self.charge(at, now, ending),
            _ => self.replace(at, id, now, ending),
        }
        self.cpus[at].just_dispatched = None;
    }

    /// Charges a CPU up to an event of another thread than the one that ran, and puts the thread on the CPU.
    #[cold]
    fn replace(&mut self, at: usize, id: u64, now: u64, ending: IntervalEnd) {
        let slot = self.thread(id);
        if self.cpus[at].thread.is_some() {
            self.contradict(at, now);
        } else {
            self.charge(at, now, ending);
        }
        self.put_on_cpu(at, id, slot, now);
    }

    /// Handles an AIX event without an effect. If its thread is known to run, the state does not change.
    #[inline]
    pub fn pass_unchanged(&mut self, at: usize, id: u64, now: u64) {
        let cpu = &mut self.cpus[at];
        match cpu.thread {
            Some((known, _)) if known == id => {
                cpu.seen = cpu.seen.max(now);
                cpu.just_dispatched = None;
                self.is_unchanged = true;
            }
            _ => self.evidence_of_other(at, id, now),
        }
    }

    #[inline(never)]
    fn evidence_of_other(&mut self, at: usize, id: u64, now: u64) {
        self.evidence(at, id, now, false);
    }

    /// Charges a CPU up to a QNX event.
    #[inline]
    pub fn pass(&mut self, at: usize, now: u64) {
        self.apply_gap_start();
        self.charge(at, now, IntervalEnd::Plain);
    }

    /// Dispatches a thread to a CPU.
    pub fn dispatch(&mut self, at: Option<usize>, id: u64, slot: ThreadSlot, now: u64, idle: bool) {
        self.apply_gap_start();
        self.prove_dispatch(idle);
        // The time before the event belongs to the thread as it was known then.
        if let Some(at) = at {
            self.charge(at, now, IntervalEnd::Plain);
        }
        self.settle_thread(slot);
        self.threads[slot as usize].is_idle |= idle && slot != OTHERS;
        let Some(at) = at else { return self.note_thread(slot) };
        if self.is_in_gap(at) {
            return;
        }
        if let Some((old, old_slot)) = self.cpus[at].thread.take() {
            // A thread that is dispatched again where it runs has not been on an untraced CPU, so it forgets nothing.
            let stays = old == id && self.n_untraced > 0 && !self.threads[old_slot as usize].is_leaving;
            if !stays {
                self.take_off_cpu(old, old_slot, now, true);
            }
        }
        self.end_frames(at, now, true);
        self.put_on_cpu(at, id, slot, now);
        let cpu = &mut self.cpus[at];
        (cpu.is_known, cpu.switching, cpu.just_dispatched) = (true, false, Some(idle));
        self.count_dispatch(at, slot, now, idle);
        self.count_wait(slot, now);
    }

    /// Fast path for [`Machine::dispatch`]: a thread takes the place of another one, and both are known. Returns false, and
    /// does nothing, in all other states.
    #[inline(always)]
    pub fn switch_thread(&mut self, at: usize, id: u64, slot: ThreadSlot, now: u64, idle: bool) -> bool {
        let is_traced = self.n_untraced == 0 && self.n_losing == 0 && self.pending_gap_start.is_none();
        let Some((_, old_slot)) = self.cpus[at].thread else { return false };
        if !is_traced || now < self.from || slot == OTHERS || old_slot == OTHERS || self.details.is_some() {
            return false;
        }
        let is_here = |thread: &Thread| thread.cpu.is_none_or(|cpu| cpu as usize == at);
        if !is_here(&self.threads[slot as usize]) || self.threads[old_slot as usize].is_leaving {
            return false;
        }
        self.prove_dispatch(idle);
        self.charge(at, now, IntervalEnd::Plain);
        if !self.cpus[at].frames.is_empty() {
            self.end_frames(at, now, true);
        }
        let gap = self.n_gaps;
        let old = &mut self.threads[old_slot as usize];
        (old.cpu, old.left_cpu) = (None, Some((now, gap)));
        let (cpu, thread) = (&mut self.cpus[at], &mut self.threads[slot as usize]);
        (cpu.thread, cpu.is_thread_noted) = (Some((id, slot)), thread.has_cpu(at));
        (cpu.is_known, cpu.switching, cpu.just_dispatched) = (true, false, Some(idle));
        (thread.cpu, thread.is_idle) = (Some(at as u32), thread.is_idle | idle);
        thread.n_dispatches += 1;
        *(if idle { &mut cpu.n_idle_dispatches } else { &mut cpu.n_dispatches }) += 1;
        if let Some((last, then)) = thread.last_dispatch.replace((at as u32, gap))
            && then == gap
        {
            let n_same = u64::from(last as usize == at);
            thread.affinity.n_known += 1;
            thread.affinity.n_same += n_same;
            if !idle {
                cpu.affinity.n_known += 1;
                cpu.affinity.n_same += n_same;
            }
        }
        if let Some((left, then)) = thread.left_cpu.take()
            && then == gap
        {
            thread.n_waits += 1;
            thread.waited += u128::from(now.saturating_sub(left.max(self.from)));
        }
        self.track(slot);
        true
    }

    /// Leaves a CPU without a thread.
    pub fn undispatch(&mut self, at: usize, now: u64) {
        if self.is_in_gap(at) {
            return;
        }
        if let Some((id, slot)) = self.cpus[at].thread.take() {
            self.take_off_cpu(id, slot, now, true);
            self.change_state(slot, Some(None), now);
        }
        (self.cpus[at].is_known, self.cpus[at].switching) = (true, false);
    }

    /// Puts a thread on a CPU. If it was still running on another one, an event is missing: a contradiction.
    pub(super) fn put_on_cpu(&mut self, at: usize, id: u64, slot: ThreadSlot, now: u64) {
        let elsewhere = if slot == OTHERS { self.others.get(&id).copied() } else { self.threads[slot as usize].cpu };
        if let Some(other) = elsewhere.map(|cpu| cpu as usize).filter(|other| *other != at) {
            self.note_moved(other, now);
            self.contradict(other, now);
        }
        let is_noted = self.threads[slot as usize].has_cpu(at);
        let cpu = &mut self.cpus[at];
        (cpu.thread, cpu.is_thread_noted) = (Some((id, slot)), is_noted);
        if slot == OTHERS {
            self.others.insert(id, at as u32);
        } else {
            self.threads[slot as usize].cpu = Some(at as u32);
        }
        self.track(slot);
    }

    /// Takes a thread off its CPU; the caller updates the CPU. `seen` is true if an event of the trace shows the switch.
    pub(super) fn take_off_cpu(&mut self, id: u64, slot: ThreadSlot, now: u64, seen: bool) {
        if slot == OTHERS {
            self.others.remove(&id);
        }
        let (n_untraced, n_gaps) = (self.n_untraced, self.n_gaps);
        let thread = &mut self.threads[slot as usize];
        thread.cpu = None;
        thread.left_cpu = (seen && n_untraced == 0 && slot != OTHERS).then_some((now, n_gaps));
        if thread.is_leaving {
            self.forget_mode(slot);
        }
        if n_untraced > 0 {
            self.forget(slot, Some(CallCut { time: now, in_loss: self.n_losing > 0 }));
        }
    }

    /// Charges a CPU's last interval as unknown and clears the CPU, because an event does not fit its state.
    fn contradict(&mut self, at: usize, now: u64) {
        self.note(Change::Ended { at, time: self.cpus[at].seen });
        self.charge(at, now, IntervalEnd::Contradiction);
        self.totals.n_contradictions += u64::from(self.counts(now));
        self.end_frames(at, now, false);
        let cpu = &mut self.cpus[at];
        (cpu.is_known, cpu.just_dispatched, cpu.switching) = (false, None, false);
        if let Some((id, slot)) = cpu.thread.take() {
            self.take_off_cpu(id, slot, now, false);
        }
    }

    pub(super) fn count_dispatch(&mut self, at: usize, slot: ThreadSlot, now: u64, idle: bool) {
        let counts = self.counts(now);
        let gap = self.n_gaps;
        let is_traced = self.n_untraced == 0;
        let (cpu, thread) = (&mut self.cpus[at], &mut self.threads[slot as usize]);
        let last = thread.last_dispatch.replace((at as u32, if is_traced { gap } else { u64::MAX }));
        if slot == OTHERS {
            thread.last_dispatch = None;
        }
        if !counts {
            return;
        }
        thread.n_dispatches += 1;
        if let Some(details) = &mut self.details {
            details.add_dispatch(slot, at as u32);
        }
        *(if idle { &mut cpu.n_idle_dispatches } else { &mut cpu.n_dispatches }) += 1;
        if let Some((last, _)) = last.filter(|(_, then)| is_traced && *then == gap) {
            let n_same = u64::from(last as usize == at);
            thread.affinity.n_known += 1;
            thread.affinity.n_same += n_same;
            if !idle {
                cpu.affinity.n_known += 1;
                cpu.affinity.n_same += n_same;
            }
        }
    }

    fn count_wait(&mut self, slot: ThreadSlot, now: u64) {
        let is_traced = self.n_untraced == 0;
        let thread = &mut self.threads[slot as usize];
        if let Some((left, then)) = thread.left_cpu.take()
            && is_traced
            && then == self.n_gaps
        {
            thread.n_waits += u64::from(now >= self.from);
            thread.waited += u128::from(now.saturating_sub(left.max(self.from)));
        }
    }

    /// Thread that runs on a CPU.
    pub fn runs(&self, at: usize) -> Option<ThreadSlot> {
        self.cpus[at].thread.map(|(_, slot)| slot)
    }

    /// Id and priority of the thread that runs on a CPU.
    pub fn running_thread(&self, at: usize) -> Option<(u64, Option<u8>)> {
        let (id, slot) = self.cpus[at].thread?;
        Some((id, self.threads[slot as usize].priority))
    }

    /// Counts an event whose CPU has no thread.
    pub fn without_thread(&mut self, now: u64) {
        self.totals.n_without_thread += u64::from(self.counts(now));
    }

    /// Counts an event that enters or leaves a class of modes on a CPU on which no thread runs. The trace has such events
    /// all the same, so the modes of other threads can be told.
    pub fn mode_without_thread(&mut self, class: ClassName, is_entry: bool, now: u64) {
        let class = self.mode(class);
        let known = &mut self.modes[class];
        *(if is_entry { &mut known.has_first } else { &mut known.has_second }) = true;
        self.without_thread(now);
    }
}
