//! State machine of CPUs and threads: charges each interval of a CPU to a category and a thread.
//!
//! ```text
//! aix.rs, qnx.rs ─dispatch, enter, raise, lost, …─> Machine ─finish─> Totals
//! ```
//!
//! The state of a CPU does not change between two of its events. The second one charges the interval between them, and
//! then changes the state. Whatever the trace does not describe is charged to `unknown`, `lost`, `off` or, if a thread
//! ran in an unknown mode, to `mode`.
//!
//! | module | part of the state |
//! | --- | --- |
//! | `cpus`, `dispatches` | CPUs, the intervals that they are charged, and the threads that come and leave |
//! | `threads`, `calls` | threads and processes, their modes, and calls |
//! | `interrupts` | interrupts of a CPU |
//! | `untraced` | losses, and intervals in which tracing is off |
//! | `states`, `clients` | QNX: states of threads, and which thread works for which |
//! | `details` | counts per thread, if they are wanted |
//! | `changes` | changes that a timeline draws |
//! | `finish` | the end of the span |

mod calls;
mod changes;
mod clients;
mod cpus;
mod details;
mod dispatches;
mod finish;
mod interrupts;
mod states;
mod threads;
mod untraced;

pub use changes::{Base, CallEnding, Change, MessageStep, Returned, RunningThread};
pub use cpus::{Cpu, MAX_CPUS};
pub use details::Details;
pub use states::ThreadState;
pub use threads::{Process, Thread};

use crate::AnalysisOptions;
use crate::gaps::GapStarts;
use crate::totals::{CallCounts, InterruptCounts, Totals};
use crate::utilisation::Utilisation;
use calls::CallRows;
use cpus::{MAX_UNDECIDED, NO_CPU};
use foldhash::HashMap;
use interrupts::InterruptKey;
use tfbc::System;
use tfbc::internal::analysis::ClassName;
use untraced::Stream;

/// Limit on kinds of interrupts, and on kinds of errors of all calls together. Further interrupts share a row, and
/// further errors are not listed.
const MAX_ROWS: usize = 1 << 16;

/// Number of threads whose slots are found without a hash table.
const N_RECENT: usize = 64;

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

/// Index of a thread in [`Totals::threads`].
pub type ThreadSlot = u32;

/// Index of a process in [`Totals::processes`].
pub type ProcessSlot = u32;

/// Slot that all threads above the limit share, and all processes.
pub const OTHERS: u32 = 0;

/// Class of modes or interrupts.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    pub name: ClassName,
    /// True if the trace contains an `enter` of the class or, for interrupts, a `lower`.
    pub has_first: bool,
    /// True if the trace contains a `return` of the class.
    pub has_second: bool,
}

/// Events that the trace has shown and that prove the meaning of times, with the version of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    has_dispatch: bool,
    has_reset: bool,
    /// Number of classes of interrupts, and of those with an end.
    n_classes: (usize, usize),
    rules_version: u64,
}

/// State of all CPUs, threads and processes at the current event.
#[derive(Debug)]
pub struct Machine {
    system: System,
    /// Start of the span; earlier time is not charged.
    from: u64,
    /// Latest time of an event.
    last: u64,
    cpus: Vec<Cpu>,
    /// Indices of the CPUs with small numbers, and of all CPUs.
    small_cpus: Vec<u32>,
    cpu_by_id: HashMap<u64, u32>,
    threads: Vec<Thread>,
    thread_by_id: HashMap<u64, ThreadSlot>,
    /// Threads that were looked up before, by a hash of their ids; [`OTHERS`] for none.
    recent_threads: [(u64, ThreadSlot); N_RECENT],
    /// Threads whose id now belongs to a thread of another process.
    moved: HashMap<(ProcessSlot, u64), ThreadSlot>,
    /// CPU per thread id, for running threads that share the slot [`OTHERS`].
    others: HashMap<u64, u32>,
    processes: Vec<Process>,
    process_by_id: HashMap<u64, ProcessSlot>,
    max_known: usize,
    max_calls: usize,
    /// True if calls are told apart by their names.
    keeps_calls: bool,
    /// True if interrupts are told apart by their types and handlers.
    keeps_interrupts: bool,
    /// True if the states of threads are kept, and their messages (QNX).
    keeps_states: bool,
    keeps_messages: bool,
    /// True if the priorities of threads are read, and if the time per priority is kept.
    reads_priorities: bool,
    keeps_priorities: bool,
    /// True if the busy time of CPUs is kept over time.
    keeps_utilisation: bool,
    /// Threads with a mode, call or state that a gap invalidates.
    tracked: Vec<ThreadSlot>,
    modes: Vec<Class>,
    classes: Vec<Class>,
    /// Number of classes of interrupts that the trace has lowered.
    n_lowered: usize,
    /// Rows of calls, by class.
    calls: Vec<CallRows>,
    interrupt_by_key: HashMap<InterruptKey, usize>,
    streams: Vec<Stream>,
    /// Number of untraced CPUs.
    n_untraced: u32,
    /// Number of gaps so far. Two equal values mean that nothing was lost in between.
    n_gaps: u64,
    /// Start of a gap whose effect on threads is not applied yet, and true if it is a loss. It waits for the next event, because several streams may
    /// start a gap at the same time.
    pending_gap_start: Option<(u64, bool)>,
    /// Number of streams that lose events.
    n_losing: u32,
    /// Number of gaps that have begun and not ended, of all streams.
    n_open_gaps: u32,
    /// True if an untraced CPU has had events.
    has_events_in_gap: bool,
    has_dispatch: bool,
    n_errors: usize,
    /// Number of times in unknown modes of all threads.
    n_undecided: usize,
    max_undecided: usize,
    totals: Totals,
    /// Counts per thread; `None` if they are not wanted.
    details: Option<Box<Details>>,
    /// Starts of gaps so far.
    pub gap_starts: GapStarts,
    /// Number of interrupts so far.
    n_frames: u64,
    /// Messages that were sent and not received: by receive id, server and client process; the client and a number.
    sent: HashMap<(u32, u32, u32), (ThreadSlot, u64)>,
    n_messages: u64,
    /// True if the current event has changed nothing but times.
    is_unchanged: bool,
    /// Number of changes of the rules.
    rules_version: u64,
    /// Changes since a timeline last took them; `None` if there is no timeline.
    changes: Option<Vec<Change>>,
}

impl Machine {
    /// Creates the state at the start of a trace.
    pub fn new(system: System, options: &AnalysisOptions) -> Self {
        Self {
            system,
            from: options.from.unwrap_or(0),
            last: 0,
            cpus: Vec::new(),
            small_cpus: vec![NO_CPU; MAX_CPUS],
            cpu_by_id: HashMap::default(),
            threads: vec![Thread::default()],
            thread_by_id: HashMap::default(),
            recent_threads: [(0, OTHERS); N_RECENT],
            moved: HashMap::default(),
            others: HashMap::default(),
            processes: vec![Process::default()],
            process_by_id: HashMap::default(),
            max_known: options.max_processes,
            max_calls: options.max_calls,
            keeps_calls: ["call", "pending"].iter().any(|section| options.wants(section)),
            keeps_interrupts: options.wants("interrupt"),
            keeps_states: system == System::Qnx
                && ["process", "thread", "state", "client", "snapshot"].iter().any(|section| options.wants(section)),
            keeps_messages: options.wants("client"),
            reads_priorities: options.wants("priority"),
            keeps_priorities: options.wants("priority"),
            keeps_utilisation: options.wants("utilisation"),
            tracked: Vec::new(),
            modes: Vec::new(),
            classes: Vec::new(),
            n_lowered: 0,
            calls: Vec::new(),
            interrupt_by_key: HashMap::default(),
            streams: Vec::new(),
            n_untraced: 0,
            n_gaps: 0,
            pending_gap_start: None,
            n_losing: 0,
            n_open_gaps: 0,
            has_events_in_gap: false,
            has_dispatch: false,
            n_errors: 0,
            n_undecided: 0,
            max_undecided: MAX_UNDECIDED,
            totals: Totals { utilisation: Utilisation::new(options.from.unwrap_or(0)), ..Totals::default() },
            details: options.per_thread.then(Box::default),
            gap_starts: GapStarts::default(),
            n_frames: 0,
            sent: HashMap::default(),
            n_messages: 0,
            is_unchanged: false,
            rules_version: 0,
            changes: None,
        }
    }

    /// True if the trace contains an end of a class of interrupts, so that its times are known.
    pub fn has_end(&self, class: usize, lowers: impl FnOnce(ClassName) -> bool) -> bool {
        self.classes[class].has_first || (self.totals.has_reset && !lowers(self.classes[class].name))
    }

    /// Evidence that the trace has shown. As long as it is equal, [`Machine::has_end`] and [`Machine::has_dispatch`] are.
    pub fn evidence_so_far(&self) -> Evidence {
        Evidence {
            has_dispatch: self.has_dispatch,
            has_reset: self.totals.has_reset,
            n_classes: (self.classes.len(), self.n_lowered),
            rules_version: self.rules_version,
        }
    }

    /// Notes that the rules of the trace have changed.
    pub fn note_rules(&mut self) {
        self.rules_version += 1;
    }

    /// True if AIX's times are known, because the trace has dispatches.
    pub fn has_dispatch(&self) -> bool {
        self.has_dispatch || self.system == System::Qnx
    }

    /// Thread by its slot.
    pub fn thread_at(&self, slot: ThreadSlot) -> &Thread {
        &self.threads[slot as usize]
    }

    /// Process by its slot.
    pub fn process_at(&self, slot: ProcessSlot) -> &Process {
        &self.processes[slot as usize]
    }

    /// Number that changes with the process of a thread, and with the process's name.
    pub fn names_version(&self, slot: ThreadSlot) -> u64 {
        match self.threads[slot as usize].process {
            Some(process) => u64::from(process) << 32 | u64::from(self.processes[process as usize].n_names),
            None => u64::MAX,
        }
    }

    /// Priority of a thread (QNX).
    pub fn priority_of(&self, slot: ThreadSlot) -> Option<u8> {
        self.threads[slot as usize].priority
    }

    /// CPU on which a thread runs.
    pub fn cpu_of(&self, slot: ThreadSlot) -> Option<u64> {
        self.cpus[self.threads[slot as usize].cpu? as usize].id
    }

    /// Name of a class of interrupts.
    pub fn class_name(&self, class: usize) -> ClassName {
        self.classes[class].name
    }

    /// Counts of a kind of interrupts, with its name.
    pub fn interrupt_row(&self, row: usize) -> &InterruptCounts {
        &self.totals.interrupts[row]
    }

    /// Counts of a call, with its name, and the name of its class.
    pub fn call_row(&self, row: usize) -> (&CallCounts, ClassName) {
        let counts = &self.totals.calls[row];
        (counts, self.modes[counts.class].name)
    }

    /// Counts an event, before its effects are applied.
    #[inline]
    pub fn note_event(&mut self, now: u64) {
        self.totals.n_events += 1;
        self.last = self.last.max(now);
        self.is_unchanged = false;
    }

    /// True if the current event has changed nothing but times.
    pub fn is_unchanged(&self) -> bool {
        self.is_unchanged
    }

    /// Counts an event without a time.
    pub fn note_untimed(&mut self) {
        self.totals.n_events += 1;
    }

    /// True if counters change at this time: it is not before the span.
    fn counts(&self, now: u64) -> bool {
        now >= self.from
    }

    /// Counts a mark: an event about the trace itself.
    pub fn note_mark(&mut self) {
        self.totals.n_marks += 1;
    }
}

/// Adds to a cell of a list; grows the list if necessary.
#[inline(always)]
fn add(cells: &mut Vec<u128>, cell: usize, ns: u128) {
    match cells.get_mut(cell) {
        Some(sum) => *sum += ns,
        None => add_new(cells, cell, ns),
    }
}

#[cold]
fn add_new(cells: &mut Vec<u128>, cell: usize, ns: u128) {
    if ns > 0 {
        cells.resize(cell.max(4) + 1, 0);
        cells[cell] = ns;
    }
}

fn index_of(classes: &mut Vec<Class>, name: ClassName) -> usize {
    classes.iter().position(|class| class.name == name).unwrap_or_else(|| {
        classes.push(Class { name, has_first: false, has_second: false });
        classes.len() - 1
    })
}
