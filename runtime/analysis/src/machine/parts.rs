//! Parts of the state: CPUs, threads, processes, calls and interrupts.

use crate::tally::StateCounts;
use foldhash::HashMap;
use tfbc::internal::analysis::ClassName;

/// Indices into the times of a thread or CPU: three fixed cells, then two cells per class of modes.
pub mod cells {
    /// Time of idle threads.
    pub const IDLE: usize = 0;
    /// Time in an unknown mode.
    pub const MODE: usize = 1;
    /// Time of kernel processes.
    pub const KPROC: usize = 2;

    /// User-mode time before or after a call of a class.
    pub const fn user(class: usize) -> usize {
        3 + 2 * class
    }

    /// Time inside calls of a class.
    pub const fn within(class: usize) -> usize {
        4 + 2 * class
    }
}

/// Index of a thread in [`Totals::threads`](crate::totals::Totals::threads).
pub type ThreadSlot = u32;

/// Index of a process in [`Totals::processes`](crate::totals::Totals::processes).
pub type ProcessSlot = u32;

/// Slot that all threads above the limit share, and all processes.
pub const OTHERS: u32 = 0;

/// State of a thread of QNX: its number, or `None` if it is unknown.
pub type ThreadState = Option<u8>;

/// Number of the state of a running thread.
pub(super) const RUNNING: ThreadState = Some(1);

/// Class of modes or interrupts.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    pub name: ClassName,
    /// True if the trace contains an `enter` of the class or, for interrupts, a `lower`.
    pub has_first: bool,
    /// True if the trace contains a `return` of the class.
    pub has_second: bool,
}

/// CPU and the time charged to it.
#[derive(Debug, Clone, Default)]
pub struct Cpu {
    /// CPU number; `None` for the only CPU of a trace whose events contain no CPU number.
    pub id: Option<u64>,
    pub(super) is_declared: bool,
    /// Time up to which everything is charged.
    pub(super) since: u64,
    /// Time of the last event. The state has been the same since `since`, so one sum charges all intervals up to the next
    /// change.
    pub(super) seen: u64,
    /// Time of the last record of the CPU itself (QNX).
    pub(super) own: u64,
    /// Time to which something else than an event of the CPU has moved `seen`, and time of its own last event (AIX).
    pub(super) moved: Option<(u64, u64)>,
    /// Id and slot of the running thread.
    pub(super) thread: Option<(u64, ThreadSlot)>,
    /// True if the CPU is in the list of CPUs of the running thread.
    pub(super) is_thread_noted: bool,
    /// True if the trace has shown which thread runs, or that none does. Interrupts do not change this.
    pub(super) is_known: bool,
    /// True between the end of one thread's turn on the CPU and the start of the next (QNX).
    pub(super) switching: bool,
    pub(super) frames: Vec<Frame>,
    /// Set between a dispatch and the next event; true if the dispatched thread is idle.
    pub(super) just_dispatched: Option<bool>,
    /// Numbers of streams that cover the CPU and have lost events, or are switched off.
    pub(super) n_lost: u32,
    pub(super) n_off: u32,
    /// Time per cell of [`cells`].
    pub cells: Vec<u128>,
    /// Time per class of interrupts.
    pub interrupts: Vec<u128>,
    /// Time of dispatches, charged to no thread and no interrupt.
    pub dispatch: u128,
    pub idle_dispatch: u128,
    pub switch: u128,
    pub unknown: u128,
    pub lost: u128,
    pub off: u128,
    pub n_dispatches: u64,
    pub n_idle_dispatches: u64,
    pub affinity: Affinity,
}

impl Cpu {
    pub(super) fn is_untraced(&self) -> bool {
        self.n_lost + self.n_off > 0
    }
}

/// Information about an interval from the event that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntervalEnd {
    Plain,
    /// The event is a `resume`.
    Resume,
    /// The event contradicts the state of the CPU.
    Contradiction,
}

/// Dispatches compared with the thread's previous one, if the trace shows both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Affinity {
    pub n_same: u64,
    pub n_known: u64,
}

/// Open interrupt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// Number of the interrupt, in the order of the trace.
    pub(super) number: u64,
    pub(super) class: usize,
    pub(super) row: usize,
    pub(super) own_ns: u128,
    /// Thread that ran when it began.
    pub(super) thread: Option<ThreadSlot>,
}

/// CPU, class, type and address of an interrupt.
pub(super) type InterruptKey = (u32, usize, Option<u64>, Option<u64>);

/// Thread and the time charged to it.
#[derive(Debug, Clone, Default)]
pub struct Thread {
    pub tid: u64,
    pub process: Option<ProcessSlot>,
    /// Next thread of the process.
    pub(super) sibling: Option<ThreadSlot>,
    pub name: Option<Box<[u8]>>,
    /// CPU on which the thread runs.
    pub(super) cpu: Option<u32>,
    /// Cell of the current mode; `None` if the mode is unknown.
    pub(super) mode: Option<u32>,
    pub(super) is_idle: bool,
    pub(super) is_kproc: bool,
    /// True if the process ended while the thread was running.
    pub(super) is_leaving: bool,
    /// True if the thread is in [`Machine::tracked`](super::Machine::tracked).
    pub(super) is_tracked: bool,
    pub(super) call: Option<OpenCall>,
    /// Time per CPU whose mode the next call or return of the thread will decide.
    pub(super) undecided: Vec<(u32, u64)>,
    pub cells: Vec<u128>,
    /// Bit set of the CPUs on which the thread was charged time.
    pub(super) cpus: Vec<u64>,
    /// CPU of the last dispatch, and [`Machine::n_gaps`](super::Machine::n_gaps) at that time.
    pub(super) last_dispatch: Option<(u32, u64)>,
    /// Time when the thread left its CPU, and [`Machine::n_gaps`](super::Machine::n_gaps) at that time.
    pub(super) left_cpu: Option<(u64, u64)>,
    pub n_dispatches: u64,
    pub affinity: Affinity,
    pub waited: u128,
    /// Number of times that it waited.
    pub n_waits: u64,
    /// Current state and its start; `None` before the thread is created and after it ends.
    pub(super) state: Option<(ThreadState, u64)>,
    /// Time when the thread last ended.
    pub(super) ended: u64,
    pub states: Vec<(ThreadState, StateCounts)>,
    pub(super) priority: Option<u8>,
    /// Work for other threads (QNX).
    pub(super) serves: Vec<Service>,
    /// Thread that last received a message of this one.
    pub(super) last_server: Option<ThreadSlot>,
    /// Time up to which running is charged to clients.
    pub(super) charged_to_clients: u64,
    /// State at the end of the span, and its start.
    pub last_state: Option<(ThreadState, u64)>,
    /// Time that threads ran on its behalf, per thread, in the order of their slots.
    pub imposed: Vec<(ThreadSlot, u128)>,
}

impl Thread {
    /// True if the thread was charged time on a CPU.
    #[inline]
    pub(super) fn has_cpu(&self, at: usize) -> bool {
        self.cpus.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Forgets on which CPUs the thread was charged time.
    pub(super) fn forget_cpus(&mut self) {
        self.cpus.clear();
    }

    /// Number of CPUs on which the thread was charged time.
    pub fn n_cpus(&self) -> u32 {
        self.cpus.iter().map(|word| word.count_ones()).sum()
    }
}

/// Process.
#[derive(Debug, Clone, Default)]
pub struct Process {
    pub pid: u64,
    pub generation: u32,
    pub name: Option<Box<[u8]>>,
    /// Number of names that it has had.
    pub(super) n_names: u32,
    /// True if no later process has its id.
    pub(super) is_current: bool,
    pub(super) has_ended: bool,
    pub(super) is_kproc: bool,
    pub(super) first_thread: Option<ThreadSlot>,
    /// Time in which at least one of its threads was running.
    pub running: Covered,
}

/// Time that at least one of many intervals covers. The intervals need not come in order.
#[derive(Debug, Clone, Default)]
pub struct Covered {
    /// Covered time before `settled_until`, which no later interval changes.
    settled_ns: u128,
    settled_until: u64,
    /// Covered intervals after that time, in order, with gaps between them.
    recent: Vec<(u64, u64)>,
}

impl Covered {
    /// Number of intervals that are kept.
    pub(super) fn n_recent(&self) -> usize {
        self.recent.len()
    }

    /// Adds an interval.
    pub(super) fn add(&mut self, from: u64, to: u64) {
        let (mut from, mut to) = (from.max(self.settled_until), to);
        if from >= to {
            return;
        }
        match self.recent.last_mut() {
            Some(last) if last.1 < from => return self.recent.push((from, to)),
            Some(last) if last.0 <= from => return last.1 = last.1.max(to),
            None => return self.recent.push((from, to)),
            Some(_) => {}
        }
        let first = self.recent.partition_point(|known| known.1 < from);
        let end = self.recent.partition_point(|known| known.0 <= to);
        let touched = &self.recent[first..end];
        if let (Some(earliest), Some(latest)) = (touched.first(), touched.last()) {
            (from, to) = (from.min(earliest.0), to.max(latest.1));
        }
        self.recent.splice(first..end, [(from, to)]);
    }

    /// End of the interval before the last `n_kept` ones.
    pub(super) fn end_before(&self, n_kept: usize) -> Option<u64> {
        Some(self.recent[self.recent.len().checked_sub(n_kept + 1)?].1)
    }

    /// Sums up the intervals before a time. Parts of later intervals before that time do not count.
    pub(super) fn settle(&mut self, until: u64) {
        let n_settled = self.recent.partition_point(|known| known.1 <= until);
        self.settled_ns += self.recent.drain(..n_settled).map(|(from, to)| u128::from(to - from)).sum::<u128>();
        if let Some(first) = self.recent.first_mut().filter(|first| first.0 < until) {
            self.settled_ns += u128::from(until - first.0);
            first.0 = until;
        }
        self.settled_until = self.settled_until.max(until);
    }

    /// Covered time.
    pub fn ns(&self) -> u128 {
        self.settled_ns + self.recent.iter().map(|(from, to)| u128::from(to - from)).sum::<u128>()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OpenCall {
    pub(super) class: usize,
    pub(super) row: usize,
    pub(super) is_named: bool,
    pub(super) start: u64,
    /// Time that the thread had spent in the class when the call began.
    pub(super) charged: u128,
}

/// Rows of the calls of a class.
#[derive(Debug, Default)]
pub(super) struct CallRows {
    pub(super) unnamed: Option<usize>,
    pub(super) by_name: HashMap<Box<[u8]>, usize>,
    pub(super) by_address: HashMap<u64, usize>,
}

/// Work of a thread for a client, from a message that it received until the client gets an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    pub(super) client: ThreadSlot,
    /// Number of the message.
    pub(super) message: u64,
    /// Number of answers to the client's id until then. One more ends the service.
    pub(super) n_answers: u64,
}

/// One file, with its current gaps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stream {
    /// CPU that the file belongs to; `None` if it has events of all CPUs.
    pub(super) cpu: Option<u64>,
    pub(super) lost_since: Option<u64>,
    /// Number of the gap that is the current or last loss.
    pub(super) loss_number: u64,
    pub(super) off_since: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_time_is_the_union_of_intervals_in_any_order() {
        let mut seed = 7u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (seed >> 33) % n
        };
        for _ in 0..300 {
            let (mut covered, mut expected) = (Covered::default(), [false; 100]);
            let mut settled = 0;
            for _ in 0..below(40) {
                let from = below(100);
                let to = (from + below(12)).min(100);
                covered.add(from, to);
                (from.max(settled)..to).for_each(|at| expected[at as usize] = true);
                if below(10) == 0
                    && let Some(until) = covered.end_before(2)
                {
                    covered.settle(until);
                    settled = until;
                }
                assert!(covered.recent.is_sorted_by(|one, other| one.1 < other.0), "{covered:?}");
                assert_eq!(covered.ns(), expected.iter().filter(|at| **at).count() as u128, "{covered:?}");
            }
        }
    }
}
