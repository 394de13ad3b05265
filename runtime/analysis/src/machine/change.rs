//! Changes of the state that a timeline draws.

use super::parts::{ThreadSlot, ThreadState};

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
    /// A call begins. It has an address if nothing else is known of it.
    Entered { thread: ThreadSlot, row: usize, address: Option<u64>, time: u64 },
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
