//! Changes that a timeline draws, and the state of a CPU that it shows.

use super::states::ThreadState;
use super::{Machine, ThreadSlot};
use tfbc::System;

/// Change of a CPU or thread, for a timeline. The other changes at an event are only on the event's own CPU.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// All activity of a CPU ends.
    Ended { at: usize, time: u64 },
    /// A loss ends at its mark. `number` is that of the gap.
    LossEnded { number: u64, time: u64 },
    /// The state of a CPU may have changed.
    Touched { at: usize, time: u64 },
    /// A CPU without interrupts gets another state, at the begin or end of a gap or for another reason.
    Base { at: usize, time: u64, base: Option<Base> },
    /// The CPU without a number is dropped, because an event has named a real CPU.
    Dropped { time: u64 },
    /// A dispatch took this time.
    Dispatched { at: usize, from: u64, to: u64, idle: bool },
    /// A call begins.
    Entered { thread: ThreadSlot, row: usize, time: u64 },
    /// A call ends.
    Left { thread: ThreadSlot, time: u64, ending: CallEnding },
    /// The state of a thread of QNX changes. `None` if the thread ends.
    State { thread: ThreadSlot, state: Option<ThreadState>, time: u64 },
    /// The trace says that tracing was switched on or off, or that events are missing.
    Mark { cpu: Option<u64>, name: &'static str, missed: Option<u64>, time: u64 },
    /// A message is sent, received or answered by a thread (QNX).
    Message { thread: ThreadSlot, step: MessageStep, id: u64, time: u64 },
    /// A process or thread begins, changes or ends.
    Lifetime { thread: ThreadSlot, name: &'static str, time: u64 },
}

/// Step of a message from a thread to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStep {
    Sent,
    Received,
    Replied,
}

/// Return of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Returned {
    pub result: Option<i64>,
    /// Number of the error; 0 if there is none.
    pub errno: u64,
    pub interrupted: bool,
}

/// Loss of events, or interval without tracing, that cuts a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallCut {
    pub time: u64,
    pub in_loss: bool,
}

/// End of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    Returned(Returned),
    /// Its thread may have run in a gap. If events were lost, it ends at the end of any loss up to this number.
    Cut(Option<u64>),
    /// Another call began, or returned.
    NotReturned,
    /// Its thread ended.
    Ended,
}

/// State of a CPU below its interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Thread(RunningThread),
    Switch,
    Lost,
    Off,
}

/// Thread that runs on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningThread {
    pub id: u64,
    pub thread: ThreadSlot,
    pub idle: bool,
}

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

    /// True if a thread runs on a CPU, in `n_frames` interrupts of which the innermost one has the number `last`.
    #[inline(always)]
    pub fn runs_within(&self, at: usize, running: RunningThread, n_frames: usize, last: Option<&u64>) -> bool {
        let cpu = &self.cpus[at];
        let RunningThread { id, thread, idle } = running;
        // A CPU in a gap has no thread.
        cpu.thread == Some((id, thread))
            && cpu.is_known
            && cpu.frames.len() == n_frames
            && cpu.frames.last().map(|frame| &frame.number) == last
            && self.threads[thread as usize].is_idle == idle
    }

    /// Numbers, classes and rows of the interrupts of a CPU, the outermost first.
    pub fn frames(&self, at: usize) -> impl ExactSizeIterator<Item = (u64, usize, usize)> {
        self.cpus[at].frames.iter().map(|frame| (frame.number, frame.class, frame.row))
    }
}
