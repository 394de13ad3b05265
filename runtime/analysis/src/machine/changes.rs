//! Changes that a timeline draws, and the state of a CPU that it shows.

use super::change::{Base, Change, RunningThread};
use super::parts::ThreadSlot;
use super::state::Machine;
use tfbc::System;

impl Machine {
    /// Starts to keep changes, with everything that they need.
    pub fn keep_changes(&mut self) {
        (self.keeps_calls, self.keeps_interrupts, self.reads_priorities) = (true, true, true);
        (self.keeps_states, self.keeps_messages) = (self.system == System::Qnx, true);
        self.changes = Some(Vec::new());
    }

    #[inline]
    pub(super) fn note(&mut self, change: Change) {
        if let Some(changes) = &mut self.changes {
            changes.push(change);
        }
    }

    /// Adds a change: a running thread was replaced, or became idle, after the last event of its CPU.
    pub(super) fn note_thread(&mut self, slot: ThreadSlot) {
        let at = self.threads[slot as usize].cpu.map(|at| at as usize);
        // Interrupts on top of it take the time until they end.
        if let Some(at) = at.filter(|at| self.cpus[*at].frames.is_empty()) {
            self.note(Change::Base { at, time: self.cpus[at].seen, base: self.base(at) });
        }
    }

    /// Adds the begin or end of a process or thread to the changes.
    pub fn note_lifetime(&mut self, thread: ThreadSlot, name: &'static str, time: u64) {
        self.note(Change::Lifetime { thread, name, time });
    }

    /// Adds a mark of the trace to the changes.
    pub fn note_mark_at(&mut self, cpu: Option<u64>, name: &'static str, missed: Option<u64>, time: u64) {
        self.note(Change::Mark { cpu, name, missed, time });
    }

    /// Adds a change: the state of a CPU may have changed.
    pub fn touch(&mut self, at: usize, time: u64) {
        self.note(Change::Touched { at, time });
    }

    /// True if there are changes.
    #[inline]
    pub fn has_changes(&self) -> bool {
        self.changes.as_ref().is_some_and(|changes| !changes.is_empty())
    }

    /// Exchanges the changes for an empty list.
    pub fn take_changes(&mut self, list: &mut Vec<Change>) {
        list.clear();
        if let Some(changes) = &mut self.changes {
            std::mem::swap(changes, list);
        }
    }

    /// State of a CPU below its interrupts; `None` if it is unknown.
    pub fn base(&self, at: usize) -> Option<Base> {
        let cpu = &self.cpus[at];
        if cpu.n_lost > 0 {
            return Some(Base::Lost);
        }
        match cpu.thread {
            _ if cpu.n_off > 0 => Some(Base::Off),
            _ if !cpu.is_known => None,
            Some((id, thread)) => {
                Some(Base::Thread(RunningThread { id, thread, idle: self.threads[thread as usize].is_idle }))
            }
            None if cpu.switching && cpu.frames.is_empty() => Some(Base::Switch),
            None => None,
        }
    }

    /// True if a thread runs on a CPU in `n_frames` nested interrupts. The innermost has the number `last`.
    #[inline(always)]
    pub fn runs_within(&self, at: usize, running: RunningThread, n_frames: usize, last: Option<u64>) -> bool {
        let cpu = &self.cpus[at];
        let RunningThread { id, thread, idle } = running;
        // A CPU in a gap has no thread.
        cpu.thread == Some((id, thread))
            && cpu.is_known
            && cpu.frames.len() == n_frames
            && cpu.frames.last().map(|frame| frame.number) == last
            && self.threads[thread as usize].is_idle == idle
    }

    /// Numbers, classes and rows of the interrupts of a CPU, the outermost first.
    pub fn frames(&self, at: usize) -> impl ExactSizeIterator<Item = (u64, usize, usize)> {
        self.cpus[at].frames.iter().map(|frame| (frame.number, frame.class, frame.row))
    }
}
