//! Threads and processes: identities, modes and ends.

use super::change::{CallCut, CallEnding, Change};
use super::parts::{OTHERS, Process, ProcessSlot, Thread, ThreadSlot, cells};
use super::state::{MAX_NAME, Machine, N_RECENT, add};
use tfbc::System;

/// Index of a thread id in [`Machine::recent_threads`].
#[inline]
fn recent_index(id: u64) -> usize {
    // Ids are often multiples of 2, 4 or 256.
    (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize % N_RECENT
}

impl Machine {
    /// Slot of a thread; creates the thread if it is new.
    #[inline]
    pub fn thread(&mut self, id: u64) -> ThreadSlot {
        if let Some(slot) = self.recent_thread(id) {
            return slot;
        }
        let slot = self.find_thread(id);
        self.recent_threads[recent_index(id)] = (id, slot);
        slot
    }

    /// Slot of a thread, if it was looked up recently.
    #[inline]
    pub(super) fn recent_thread(&self, id: u64) -> Option<ThreadSlot> {
        let (known, slot) = self.recent_threads[recent_index(id)];
        (known == id && slot != OTHERS).then_some(slot)
    }

    fn find_thread(&mut self, id: u64) -> ThreadSlot {
        if let Some(slot) = self.thread_by_id.get(&id) {
            return *slot;
        }
        let slot = self.new_thread(id, None);
        if slot != OTHERS {
            self.thread_by_id.insert(id, slot);
        }
        slot
    }

    fn new_thread(&mut self, id: u64, process: Option<ProcessSlot>) -> ThreadSlot {
        if self.threads.len() > self.max_known {
            self.totals.n_other_threads += 1;
            return OTHERS;
        }
        let slot = self.threads.len() as ThreadSlot;
        // A thread that the trace first shows in the middle existed before, unless a record creates it.
        let state = (self.system == System::Qnx).then_some((None, 0));
        self.threads.push(Thread { tid: id, state, ..Thread::default() });
        self.join(slot, process);
        slot
    }

    /// Adds a thread to a process.
    fn join(&mut self, slot: ThreadSlot, process: Option<ProcessSlot>) {
        let Some(process) = process else { return };
        let known = &mut self.processes[process as usize];
        let thread = &mut self.threads[slot as usize];
        thread.process = Some(process);
        thread.is_kproc = known.is_kproc;
        // The process is not the first with its id, so the thread cannot have existed from the start.
        if known.generation > 1 && matches!(thread.state, Some((None, 0))) {
            thread.state = Some((None, self.current));
        }
        if process != OTHERS {
            thread.sibling = known.first_thread.replace(slot);
        }
        if thread.is_kproc {
            self.settle_thread(slot);
            self.decide(slot, cells::KPROC);
            self.set_mode(slot, cells::KPROC);
        }
    }

    /// Slots of the threads of a process.
    pub(super) fn members(&self, process: ProcessSlot) -> Vec<ThreadSlot> {
        let first = self.processes[process as usize].first_thread;
        std::iter::successors(first, |slot| self.threads[*slot as usize].sibling).collect()
    }

    /// Slot of a process. A process that has ended keeps its id until [`Machine::create`] reuses it.
    pub fn process(&mut self, pid: u64) -> ProcessSlot {
        match self.process_by_id.get(&pid) {
            Some(slot) => *slot,
            None => self.new_process(pid, 1),
        }
    }

    fn new_process(&mut self, pid: u64, generation: u32) -> ProcessSlot {
        if self.processes.len() > self.max_known {
            self.totals.n_other_processes += 1;
            return OTHERS;
        }
        let slot = self.processes.len() as ProcessSlot;
        self.processes.push(Process { pid, generation, is_current: true, ..Process::default() });
        if let Some(old) = self.process_by_id.insert(pid, slot) {
            self.processes[old as usize].is_current = false;
        }
        slot
    }

    /// Slot of a process that an event creates or describes. If the last process with this id has ended, it is a new one.
    pub fn create(&mut self, pid: u64) -> ProcessSlot {
        let slot = self.process(pid);
        let known = &self.processes[slot as usize];
        if slot != OTHERS && known.has_ended { self.new_process(pid, known.generation + 1) } else { slot }
    }

    /// Sets the name of a process; an empty name leaves it unchanged.
    pub fn name_process(&mut self, slot: ProcessSlot, name: &[u8]) {
        let name = &name[..name.len().min(MAX_NAME)];
        let known = &mut self.processes[slot as usize];
        if slot != OTHERS && !name.is_empty() && known.name.as_deref() != Some(name) {
            known.name = Some(name.into());
            known.n_names = known.n_names.wrapping_add(1);
        }
    }

    /// Sets the name of a thread.
    pub fn name_thread(&mut self, slot: ThreadSlot, name: &[u8]) {
        if slot != OTHERS {
            self.threads[slot as usize].name = (!name.is_empty()).then(|| name[..name.len().min(MAX_NAME)].into());
        }
    }

    /// Process of a thread.
    pub fn process_of(&self, slot: ThreadSlot) -> Option<ProcessSlot> {
        self.threads[slot as usize].process
    }

    /// Name of a thread's process.
    pub fn name_of(&self, slot: ThreadSlot) -> Option<Box<[u8]>> {
        self.processes[self.process_of(slot)? as usize].name.clone()
    }

    /// Slot of a thread of a process. If the id belonged to another process, it is a new thread.
    pub fn attach(&mut self, id: u64, process: ProcessSlot) -> ThreadSlot {
        let slot = self.thread(id);
        if slot == OTHERS {
            return slot;
        }
        match self.threads[slot as usize].process {
            None => {
                self.join(slot, Some(process));
                return slot;
            }
            Some(known) if known == process => return slot,
            Some(known) => self.moved.insert((known, id), slot),
        };
        let new = match self.moved.get(&(process, id)) {
            Some(new) => *new,
            None => self.new_thread(id, Some(process)),
        };
        if new == OTHERS {
            // The table is full. The id keeps its old thread.
            return slot;
        }
        self.settle_thread(slot);
        let cpu = self.threads[slot as usize].cpu.take();
        if let Some(cpu) = cpu {
            self.forget(slot, None);
            // The thread of the earlier process has left without a record.
            self.change_state(slot, Some(None), self.current);
            let cpu = &mut self.cpus[cpu as usize];
            (cpu.thread, cpu.is_thread_noted) = (Some((id, new)), false);
        }
        self.threads[new as usize].cpu = cpu;
        self.note_thread(new);
        self.thread_by_id.insert(id, new);
        self.recent_threads[recent_index(id)] = (id, new);
        new
    }

    /// Slot of a thread that is dispatched. The event also names its process, which becomes the thread's.
    pub fn attach_dispatched(&mut self, id: u64, pid: u64) -> ThreadSlot {
        let slot = self.thread(id);
        if let Some(own) = self.threads[slot as usize].process {
            let own = &self.processes[own as usize];
            if own.pid == pid && own.is_current {
                return slot;
            }
        }
        let process = self.process(pid);
        let is_own = self.threads[slot as usize].process == Some(process);
        // Threads of a process that has ended are still dispatched to clean up; they do not start a new process.
        let process = if is_own { process } else { self.create(pid) };
        self.attach(id, process)
    }

    /// Ends a process.
    pub fn exit(&mut self, process: ProcessSlot, now: u64) {
        self.apply_gap_start();
        if process == OTHERS || self.processes[process as usize].has_ended {
            return;
        }
        let n = usize::from(self.counts(now)) as u64;
        self.processes[process as usize].has_ended = true;
        for slot in self.members(process) {
            if let Some(call) = self.threads[slot as usize].call.take() {
                self.totals.calls[call.row].n_ended += n;
                self.note(Change::Left { thread: slot, time: now, ending: CallEnding::Ended });
            }
            if self.threads[slot as usize].cpu.is_some() {
                self.threads[slot as usize].is_leaving = true;
            } else {
                self.forget_mode(slot);
            }
        }
    }

    /// Marks a process as a kernel process, together with its threads.
    pub fn kproc(&mut self, process: ProcessSlot) {
        self.apply_gap_start();
        if process == OTHERS || self.processes[process as usize].is_kproc {
            return;
        }
        self.processes[process as usize].is_kproc = true;
        for slot in self.members(process) {
            self.settle_thread(slot);
            self.threads[slot as usize].is_kproc = true;
            self.decide(slot, cells::KPROC);
            self.set_mode(slot, cells::KPROC);
        }
    }

    /// Adds a thread to the list of those that a gap affects.
    #[inline]
    pub(super) fn track(&mut self, slot: ThreadSlot) {
        let thread = &mut self.threads[slot as usize];
        if !std::mem::replace(&mut thread.is_tracked, true) {
            self.tracked.push(slot);
        }
    }

    pub(super) fn set_mode(&mut self, slot: ThreadSlot, cell: usize) {
        // Threads above the limit share a slot, which has no mode.
        if slot != OTHERS {
            self.threads[slot as usize].mode = Some(cell as u32);
            self.track(slot);
        }
    }

    /// Charges a thread's undecided time to a cell.
    #[inline]
    pub(super) fn decide(&mut self, slot: ThreadSlot, cell: usize) {
        if !self.threads[slot as usize].undecided.is_empty() {
            self.decide_now(slot, cell);
        }
    }

    #[cold]
    fn decide_now(&mut self, slot: ThreadSlot, cell: usize) {
        let Self { threads, cpus, .. } = self;
        let thread = &mut threads[slot as usize];
        let undecided = std::mem::take(&mut thread.undecided);
        self.n_undecided -= undecided.len();
        for (cpu, ns) in undecided {
            add(&mut cpus[cpu as usize].cells, cell, ns.into());
            add(&mut thread.cells, cell, ns.into());
        }
    }

    pub(super) fn forget_mode(&mut self, slot: ThreadSlot) {
        self.decide(slot, cells::MODE);
        let thread = &mut self.threads[slot as usize];
        thread.mode = None;
        thread.is_leaving = false;
        if thread.is_kproc {
            thread.mode = Some(cells::KPROC as u32);
        }
    }

    /// Forgets the mode and the open call of a thread that may have run untraced. Without a cut, the call counts as not
    /// returned.
    pub(super) fn forget(&mut self, slot: ThreadSlot, cut: Option<CallCut>) {
        self.forget_mode(slot);
        if let Some(call) = self.threads[slot as usize].call.take() {
            let (time, ending) = match cut {
                Some(CallCut { time, in_loss }) => {
                    self.totals.calls[call.row].n_cut += u64::from(self.counts(time));
                    (time, CallEnding::Cut(in_loss.then_some(self.n_gaps)))
                }
                None => {
                    self.totals.calls[call.row].n_not_returned += 1;
                    (self.last, CallEnding::NotReturned)
                }
            };
            self.note(Change::Left { thread: slot, time, ending });
        }
    }
}
