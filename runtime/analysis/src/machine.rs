//! State machine of CPUs and threads: charges each interval of a CPU to a category and a thread.
//!
//! ```text
//! aix.rs, qnx.rs ─dispatch, enter, raise, lost, …─> Machine ─finish─> Totals
//! ```
//!
//! The state of a CPU does not change between two of its events. The second one charges the interval between them, and
//! then changes the state. Whatever the trace does not describe is charged to `unknown`, `lost`, `off` or, if a thread
//! ran in an unknown mode, to `mode`.

use crate::Options;
use crate::gaps::GapStarts;
use crate::totals::{CallCounts, Gap, GapKind, InterruptCounts, Pending, StateCounts, Totals};
use foldhash::HashMap;
use tfbc::System;
use tfbc::internal::analysis::ClassName;

/// Limit on CPUs. Events of further CPUs count as events without a CPU.
pub const MAX_CPUS: usize = 1024;
/// Index of no CPU.
const NO_CPU: u32 = u32::MAX;
/// Limit on nested interrupts. The time of deeper ones is charged to the innermost frame that is kept.
const MAX_FRAMES: usize = 64;
/// Largest number of listed gaps.
const MAX_GAPS: usize = 1 << 16;
/// Limit on kinds of interrupts, and on kinds of errors of all calls together. Further interrupts share a row, and
/// further errors are not listed.
const MAX_ROWS: usize = 1 << 16;
/// Name of the calls that exceed the limit.
const OTHER_CALLS: &[u8] = b"(others)";
/// Limit on messages that were sent and not received.
const MAX_SENT: usize = 1 << 16;
/// Limit on threads that wait for each other in a row.
const MAX_CHAIN: usize = 64;
/// Limit on servers with a row of their own, per client.
const MAX_SERVERS: usize = 1024;
/// Limit on the length of a name, in bytes; longer names are cut.
const MAX_NAME: usize = 1023;

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

/// CPU and the time charged to it.
#[derive(Debug, Clone, Default)]
pub struct Cpu {
    /// CPU number; `None` for the only CPU of a trace whose events contain no CPU number.
    pub id: Option<u64>,
    is_declared: bool,
    /// Time up to which everything is charged.
    since: u64,
    /// Id and slot of the running thread.
    thread: Option<(u64, ThreadSlot)>,
    /// True if the trace has shown which thread runs, or that none does. Interrupts do not change this.
    is_known: bool,
    /// True between the end of one thread's turn on the CPU and the start of the next (QNX).
    switching: bool,
    frames: Vec<Frame>,
    /// Set between a dispatch and the next event; true if the dispatched thread is idle.
    just_dispatched: Option<bool>,
    /// Numbers of streams that cover the CPU and have lost events, or are switched off.
    n_lost: u32,
    n_off: u32,
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
    fn is_untraced(&self) -> bool {
        self.n_lost + self.n_off > 0
    }
}

/// Dispatches compared with the thread's previous one, if the trace shows both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Affinity {
    pub n_same: u64,
    pub n_known: u64,
}

/// Open interrupt.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// Number of the interrupt, in the order of the trace.
    number: u64,
    class: usize,
    row: usize,
    own_ns: u128,
}

/// Thread and the time charged to it.
#[derive(Debug, Clone, Default)]
pub struct Thread {
    pub tid: u64,
    pub process: Option<ProcessSlot>,
    /// Next thread of the process.
    sibling: Option<ThreadSlot>,
    pub name: Option<Box<[u8]>>,
    /// CPU on which the thread runs.
    cpu: Option<u32>,
    /// Cell of the current mode; `None` if the mode is unknown.
    mode: Option<u32>,
    is_idle: bool,
    is_kproc: bool,
    /// True if the process ended while the thread was running.
    is_leaving: bool,
    /// True if the thread is in [`Machine::tracked`].
    is_tracked: bool,
    call: Option<OpenCall>,
    /// Time per CPU whose mode the next call or return of the thread will decide.
    undecided: Vec<(u32, u128)>,
    pub cells: Vec<u128>,
    /// Bit set of the CPUs on which the thread was charged time.
    cpus: Vec<u64>,
    /// CPU of the last dispatch, and [`Machine::n_gaps`] at that time.
    last_dispatch: Option<(u32, u64)>,
    /// Time when the thread left its CPU, and [`Machine::n_gaps`] at that time.
    left_cpu: Option<(u64, u64)>,
    pub n_dispatches: u64,
    pub affinity: Affinity,
    pub waited: u128,
    /// Current state and its start; `None` before the thread is created and after it ends.
    state: Option<(ThreadState, u64)>,
    pub states: Vec<(ThreadState, StateCounts)>,
    priority: Option<u8>,
    /// Thread for which this one works, and the number of the message (QNX).
    serves: Option<(ThreadSlot, u64)>,
    /// Time up to which running is charged to clients.
    charged_to_clients: u64,
    /// State at the end of the span, and its start.
    pub last_state: Option<(ThreadState, u64)>,
    /// Time that threads ran on its behalf, per thread.
    pub imposed: Vec<(ThreadSlot, u128)>,
}

impl Thread {
    /// Number of CPUs on which the thread was charged time.
    pub fn n_cpus(&self) -> u32 {
        self.cpus.iter().map(|word| word.count_ones()).sum()
    }
}

/// State of a thread of QNX: its number, or `None` if it is unknown.
pub type ThreadState = Option<u8>;

/// Number of the state of a running thread.
const RUNNING: ThreadState = Some(1);
/// Number of the state of a thread that waits for a CPU.
const READY: ThreadState = Some(2);

#[derive(Debug, Clone, Copy)]
struct OpenCall {
    class: usize,
    row: usize,
    is_named: bool,
    start: u64,
    /// Time that the thread had spent in the class when the call began.
    charged: u128,
}

/// Process.
#[derive(Debug, Clone, Default)]
pub struct Process {
    pub pid: u64,
    pub generation: u32,
    pub name: Option<Box<[u8]>>,
    has_ended: bool,
    is_kproc: bool,
    first_thread: Option<ThreadSlot>,
    n_running: u32,
    running_since: u64,
    pub running: u128,
}

/// Information about an interval from the event that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntervalEnd {
    Plain,
    /// The event is a `resume`.
    Resume,
    /// The event contradicts the state of the CPU.
    Contradiction,
}

/// Class of modes or interrupts.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    pub name: ClassName,
    /// True if the trace contains an `enter` of the class or, for interrupts, a `lower`.
    pub has_first: bool,
    /// True if the trace contains a `return` of the class.
    pub has_second: bool,
}

/// One file, with its current gaps.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    /// CPU that the file belongs to; `None` if it has events of all CPUs.
    cpu: Option<u64>,
    lost_since: Option<u64>,
    off_since: Option<u64>,
}

/// Rows of the calls of a class.
#[derive(Debug, Default)]
struct CallRows {
    unnamed: Option<usize>,
    by_name: HashMap<Box<[u8]>, usize>,
    by_address: HashMap<u64, usize>,
}

/// CPU, class, type and address of an interrupt.
type InterruptKey = (u32, usize, Option<u64>, Option<u64>);

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
    last_thread: (u64, ThreadSlot),
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
    /// Threads with a mode, call or state that a gap invalidates.
    tracked: Vec<ThreadSlot>,
    modes: Vec<Class>,
    classes: Vec<Class>,
    /// Rows of calls, by class.
    calls: Vec<CallRows>,
    interrupt_by_key: HashMap<InterruptKey, usize>,
    streams: Vec<Stream>,
    /// Number of untraced CPUs.
    n_untraced: u32,
    /// Number of gaps so far. Two equal values mean that nothing was lost in between.
    n_gaps: u64,
    /// Start of a gap whose effect on threads is not applied yet. It waits for the next event, because several streams may
    /// start a gap at the same time.
    pending_gap_start: Option<u64>,
    /// True if an untraced CPU has had events.
    has_events_in_gap: bool,
    has_dispatch: bool,
    n_errors: usize,
    totals: Totals,
    /// Starts of gaps so far.
    pub gap_starts: GapStarts,
    /// Number of interrupts so far.
    n_frames: u64,
    /// Messages that were sent and not received: by receive id, server and client process; the client and a number.
    sent: HashMap<(u32, u32, u32), (ThreadSlot, u64)>,
    n_messages: u64,
    /// Number of changes of names.
    names_version: u64,
    /// Changes since a timeline last took them; `None` if there is no timeline.
    changes: Option<Vec<Change>>,
}

/// Change of a CPU or thread, for a timeline. The other changes at an event are only on the event's own CPU.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// Everything that a CPU did ends.
    Ended { at: usize, time: u64 },
    /// The state of a CPU may have changed.
    Touched { at: usize, time: u64 },
    /// A CPU without interrupts gets another state, at the begin or end of a gap or for another reason.
    Base { at: usize, time: u64, base: Option<Base> },
    /// The CPU without a number is none any more.
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

/// End of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    Returned {
        errno: u64,
        interrupted: bool,
    },
    /// Its thread may have run in a gap.
    Cut,
    /// Another call began, or returned.
    NotReturned,
    /// Its thread ended.
    Ended,
}

/// State of a CPU below its interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Thread { id: u64, thread: ThreadSlot, idle: bool },
    Switch,
    Lost,
    Off,
}

impl Machine {
    /// Creates the state at the start of a trace.
    pub fn new(system: System, options: &Options) -> Self {
        Self {
            system,
            from: options.from.unwrap_or(0),
            last: 0,
            cpus: Vec::new(),
            small_cpus: vec![NO_CPU; MAX_CPUS],
            cpu_by_id: HashMap::default(),
            threads: vec![Thread::default()],
            thread_by_id: HashMap::default(),
            last_thread: (0, OTHERS),
            moved: HashMap::default(),
            others: HashMap::default(),
            processes: vec![Process::default()],
            process_by_id: HashMap::default(),
            max_known: options.max_processes,
            max_calls: options.max_calls,
            keeps_calls: ["call", "pending"].iter().any(|section| options.wants(section)),
            tracked: Vec::new(),
            modes: Vec::new(),
            classes: Vec::new(),
            calls: Vec::new(),
            interrupt_by_key: HashMap::default(),
            streams: Vec::new(),
            n_untraced: 0,
            n_gaps: 0,
            pending_gap_start: None,
            has_events_in_gap: false,
            has_dispatch: false,
            n_errors: 0,
            totals: Totals::default(),
            gap_starts: GapStarts::default(),
            n_frames: 0,
            sent: HashMap::default(),
            n_messages: 0,
            names_version: 1,
            changes: None,
        }
    }

    // Changes for a timeline.

    /// Starts to keep changes.
    pub fn keep_changes(&mut self) {
        self.changes = Some(Vec::new());
    }

    #[inline]
    fn note(&mut self, change: Change) {
        if let Some(changes) = &mut self.changes {
            changes.push(change);
        }
    }

    /// Adds to the changes that a running thread is another one, or an idle one, since its CPU was last charged.
    fn note_thread(&mut self, slot: ThreadSlot) {
        let at = self.threads[slot as usize].cpu.map(|at| at as usize);
        // Interrupts on top of it take the time until they end.
        if let Some(at) = at.filter(|at| self.cpus[*at].frames.is_empty()) {
            self.note(Change::Base { at, time: self.cpus[at].since, base: self.base(at) });
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

    /// Adds to the changes that the state of a CPU may be another.
    pub fn touch(&mut self, at: usize, time: u64) {
        self.note(Change::Touched { at, time });
    }

    /// Index of a CPU that the trace has shown.
    pub fn index_of_cpu(&self, id: Option<u64>) -> Option<usize> {
        match id {
            None => self.cpus.first().filter(|cpu| cpu.id.is_none()).map(|_| 0),
            Some(id) => self.cpu_by_id.get(&id).map(|at| *at as usize),
        }
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
            Some((id, thread)) => Some(Base::Thread { id, thread, idle: self.threads[thread as usize].is_idle }),
            None if cpu.switching && cpu.frames.is_empty() => Some(Base::Switch),
            None => None,
        }
    }

    /// Numbers, classes and rows of the interrupts of a CPU, the outermost first.
    pub fn frames(&self, at: usize) -> impl ExactSizeIterator<Item = (u64, usize, usize)> {
        self.cpus[at].frames.iter().map(|frame| (frame.number, frame.class, frame.row))
    }

    /// True if the trace contains an end of a class of interrupts, so that its times are known.
    pub fn has_end(&self, class: usize, lowers: impl FnOnce(ClassName) -> bool) -> bool {
        self.classes[class].has_first || (self.totals.has_reset && !lowers(self.classes[class].name))
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

    /// Number that changes with the name of a process, and the process of a thread.
    pub fn names_version(&self) -> u64 {
        self.names_version
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

    /// Adds a stream that covers one CPU or all.
    pub fn add_stream(&mut self, cpu: Option<u64>) {
        self.streams.push(Stream { cpu, ..Stream::default() });
        if let Some(cpu) = cpu {
            self.declare(cpu);
        }
    }

    /// Adds a CPU that the trace declares.
    pub fn declare(&mut self, id: u64) {
        if let Some(at) = self.cpu(id, 0) {
            self.cpus[at].is_declared = true;
        }
    }

    /// Counts an event, before its effects are applied.
    #[inline]
    pub fn note_event(&mut self, now: u64) {
        self.totals.n_events += 1;
        self.last = self.last.max(now);
    }

    /// Counts an event without a time.
    pub fn note_untimed(&mut self) {
        self.totals.n_events += 1;
    }

    /// True if counters change at this time: it is not before the span.
    fn counts(&self, now: u64) -> bool {
        now >= self.from
    }

    // CPUs.

    /// Index of a CPU; `None` above the limit. The time of a new CPU is unknown up to `now`.
    #[inline]
    pub fn cpu(&mut self, id: u64, now: u64) -> Option<usize> {
        match self.small_cpus.get(id as usize).filter(|_| id < MAX_CPUS as u64) {
            Some(at) if *at != NO_CPU => Some(*at as usize),
            _ => self.find_cpu(id, now),
        }
    }

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
        self.cpus.push(Cpu { id: Some(id), since: now, unknown, n_lost, n_off, ..Cpu::default() });
        self.cpu_by_id.insert(id, at as u32);
        if id < MAX_CPUS as u64 {
            self.small_cpus[id as usize] = at as u32;
        }
        Some(at)
    }

    /// Index of the CPU of an event without a CPU number: the only declared CPU, or the one that the thread runs on.
    #[inline]
    pub fn cpu_without_id(&mut self, tid: u64) -> Option<usize> {
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
    fn need_cpu(&mut self) {
        if self.cpus.is_empty() && self.system == System::Aix {
            self.cpus.push(Cpu::default());
        }
    }

    /// Time up to which a CPU has been charged.
    pub fn since(&self, at: usize) -> u64 {
        self.cpus[at].since
    }

    fn running_on(&self, id: u64) -> Option<usize> {
        let slot = if self.last_thread.0 == id && self.last_thread.1 != OTHERS {
            self.last_thread.1
        } else {
            match self.thread_by_id.get(&id) {
                Some(slot) => *slot,
                None => return self.others.get(&id).map(|cpu| *cpu as usize),
            }
        };
        self.threads[slot as usize].cpu.map(|cpu| cpu as usize)
    }

    /// Removes the CPU without a number and the time charged to it: an event has named a real one.
    #[cold]
    fn drop_nameless(&mut self) {
        let cpu = self.cpus.remove(0);
        self.note(Change::Dropped { time: cpu.since });
        self.n_untraced -= u32::from(cpu.is_untraced());
        self.others.clear();
        for thread in &mut self.threads {
            thread.cpu = None;
            thread.undecided.clear();
            thread.cells.clear();
            thread.cpus.clear();
            thread.last_dispatch = None;
            thread.left_cpu = None;
            (thread.n_dispatches, thread.affinity, thread.waited) = (0, Affinity::default(), 0);
            if let Some(call) = &mut thread.call {
                call.charged = 0;
            }
        }
        for call in &mut self.totals.calls {
            call.cpu.forget();
        }
        self.totals.interrupts.clear();
        self.interrupt_by_key.clear();
        self.totals.n_contradictions = 0;
        self.totals.n_unmatched = 0;
    }

    /// Charges the time of a CPU up to `now`.
    #[inline]
    fn charge(&mut self, at: usize, now: u64, ending: IntervalEnd) {
        let cpu = &mut self.cpus[at];
        if now <= cpu.since {
            return;
        }
        let from = std::mem::replace(&mut cpu.since, now).max(self.from);
        if now <= from {
            return;
        }
        let ns = u128::from(now - from);
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
            self.note(Change::Dispatched { at, from, to: now, idle });
        } else if let Some(frame) = cpu.frames.last_mut() {
            frame.own_ns += ns;
            add(&mut cpu.interrupts, frame.class, ns);
        } else if !cpu.is_known {
            cpu.unknown += ns;
        } else if let Some((_, slot)) = cpu.thread {
            let thread = &mut self.threads[slot as usize];
            let cell = if thread.is_idle { Some(cells::IDLE as u32) } else { thread.mode };
            match cell {
                Some(cell) => {
                    add(&mut thread.cells, cell as usize, ns);
                    add(&mut cpu.cells, cell as usize, ns);
                }
                None => match thread.undecided.binary_search_by_key(&(at as u32), |(cpu, _)| *cpu) {
                    Ok(found) => thread.undecided[found].1 += ns,
                    Err(place) => thread.undecided.insert(place, (at as u32, ns)),
                },
            }
            if thread.cpus.get(at / 64).is_none_or(|word| word >> (at % 64) & 1 == 0) {
                if thread.cpus.len() <= at / 64 {
                    thread.cpus.resize(at / 64 + 1, 0);
                }
                thread.cpus[at / 64] |= 1 << (at % 64);
            }
            if let Some(priority) = thread.priority {
                self.totals.priorities[usize::from(priority)] += ns;
            }
        } else if cpu.switching {
            cpu.switch += ns;
        } else {
            cpu.unknown += ns;
        }
    }

    // Threads and processes.

    /// Slot of a thread; creates the thread if it is new.
    #[inline]
    pub fn thread(&mut self, id: u64) -> ThreadSlot {
        if self.last_thread.0 == id && self.last_thread.1 != OTHERS {
            return self.last_thread.1;
        }
        let slot = self.find_thread(id);
        self.last_thread = (id, slot);
        slot
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
        self.names_version += 1;
        thread.is_kproc = known.is_kproc;
        // The process is not the first with its id, so the thread cannot have existed from the start.
        if known.generation > 1 && matches!(thread.state, Some((None, 0))) {
            thread.state = Some((None, self.last));
        }
        if process != OTHERS {
            thread.sibling = known.first_thread.replace(slot);
        }
    }

    /// Slots of the threads of a process.
    fn members(&self, process: ProcessSlot) -> Vec<ThreadSlot> {
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
        self.processes.push(Process { pid, generation, ..Process::default() });
        self.process_by_id.insert(pid, slot);
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
        if slot != OTHERS && !name.is_empty() {
            self.processes[slot as usize].name = Some(name[..name.len().min(MAX_NAME)].into());
            self.names_version += 1;
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
        let cpu = self.threads[slot as usize].cpu.take();
        if let Some(cpu) = cpu {
            self.forget(slot, None);
            self.cpus[cpu as usize].thread = Some((id, new));
        }
        self.threads[new as usize].cpu = cpu;
        self.note_thread(new);
        self.thread_by_id.insert(id, new);
        self.last_thread = (id, new);
        new
    }

    /// Slot of the thread that AIX dispatches. The event also names its process, which becomes the thread's.
    pub fn attach_dispatched(&mut self, id: u64, pid: u64) -> ThreadSlot {
        let slot = self.thread(id);
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
            self.threads[slot as usize].is_kproc = true;
            self.decide(slot, cells::KPROC);
            self.set_mode(slot, cells::KPROC);
        }
    }

    /// Adds a thread to the list of those that a gap affects.
    #[inline]
    fn track(&mut self, slot: ThreadSlot) {
        let thread = &mut self.threads[slot as usize];
        if !std::mem::replace(&mut thread.is_tracked, true) {
            self.tracked.push(slot);
        }
    }

    fn set_mode(&mut self, slot: ThreadSlot, cell: usize) {
        // Threads above the limit share a slot, which has no mode.
        if slot != OTHERS {
            self.threads[slot as usize].mode = Some(cell as u32);
            self.track(slot);
        }
    }

    /// Charges a thread's undecided time to a cell.
    fn decide(&mut self, slot: ThreadSlot, cell: usize) {
        let Self { threads, cpus, .. } = self;
        let thread = &mut threads[slot as usize];
        for (cpu, ns) in std::mem::take(&mut thread.undecided) {
            add(&mut cpus[cpu as usize].cells, cell, ns);
            add(&mut thread.cells, cell, ns);
        }
    }

    fn forget_mode(&mut self, slot: ThreadSlot) {
        self.decide(slot, cells::MODE);
        let thread = &mut self.threads[slot as usize];
        thread.mode = None;
        thread.is_leaving = false;
        if thread.is_kproc {
            thread.mode = Some(cells::KPROC as u32);
        }
    }

    /// Forgets the mode and the open call of a thread that may have run untraced. The call counts as cut at `now`, or as
    /// not returned without a time.
    fn forget(&mut self, slot: ThreadSlot, now: Option<u64>) {
        self.forget_mode(slot);
        if let Some(call) = self.threads[slot as usize].call.take() {
            match now {
                Some(now) => self.totals.calls[call.row].n_cut += u64::from(self.counts(now)),
                None => self.totals.calls[call.row].n_not_returned += 1,
            }
            let ending = if now.is_some() { CallEnding::Cut } else { CallEnding::NotReturned };
            self.note(Change::Left { thread: slot, time: now.unwrap_or(self.last), ending });
        }
    }

    /// Takes a thread off its CPU; the caller updates the CPU. `seen` is true if an event of the trace shows the switch.
    fn take_off_cpu(&mut self, id: u64, slot: ThreadSlot, now: u64, seen: bool) {
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
            self.forget(slot, Some(now));
        }
    }

    /// Puts a thread on a CPU. If it was still running on another one, an event is missing: a contradiction.
    fn put_on_cpu(&mut self, at: usize, id: u64, slot: ThreadSlot, now: u64) {
        let elsewhere = if slot == OTHERS { self.others.get(&id).copied() } else { self.threads[slot as usize].cpu };
        if let Some(other) = elsewhere.map(|cpu| cpu as usize).filter(|other| *other != at) {
            self.contradict(other, now);
        }
        self.cpus[at].thread = Some((id, slot));
        if slot == OTHERS {
            self.others.insert(id, at as u32);
        } else {
            self.threads[slot as usize].cpu = Some(at as u32);
        }
        self.track(slot);
    }

    /// Charges a CPU's last interval as unknown and clears the CPU, because an event does not fit its state.
    fn contradict(&mut self, at: usize, now: u64) {
        self.note(Change::Ended { at, time: self.cpus[at].since });
        self.charge(at, now, IntervalEnd::Contradiction);
        self.totals.n_contradictions += u64::from(self.counts(now));
        self.end_frames(at, now, false);
        let cpu = &mut self.cpus[at];
        (cpu.is_known, cpu.just_dispatched, cpu.switching) = (false, None, false);
        if let Some((id, slot)) = cpu.thread.take() {
            self.take_off_cpu(id, slot, now, false);
        }
    }

    // Events.

    /// Charges a CPU up to an AIX event. Its thread id shows which thread runs, even if the dispatch was not traced.
    #[inline]
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
            known => {
                let slot = self.thread(id);
                if known.is_some() {
                    self.contradict(at, now);
                } else {
                    self.charge(at, now, ending);
                }
                self.put_on_cpu(at, id, slot, now);
            }
        }
        self.cpus[at].just_dispatched = None;
    }

    /// Charges a CPU up to a QNX event.
    #[inline]
    pub fn pass(&mut self, at: usize, now: u64) {
        self.apply_gap_start();
        self.charge(at, now, IntervalEnd::Plain);
    }

    /// True if the CPU is untraced, so that its events change nothing.
    fn is_in_gap(&mut self, at: usize) -> bool {
        let dark = self.cpus[at].is_untraced();
        self.has_events_in_gap |= dark;
        dark
    }

    /// Dispatches a thread to a CPU.
    pub fn dispatch(&mut self, at: Option<usize>, id: u64, slot: ThreadSlot, now: u64, idle: bool) {
        self.apply_gap_start();
        self.has_dispatch |= !idle;
        // The time before the event belongs to the thread as it was known then.
        if let Some(at) = at {
            self.charge(at, now, IntervalEnd::Plain);
        }
        self.threads[slot as usize].is_idle |= idle && slot != OTHERS;
        let Some(at) = at else { return self.note_thread(slot) };
        if self.is_in_gap(at) {
            return;
        }
        if let Some((old, old_slot)) = self.cpus[at].thread.take() {
            self.take_off_cpu(old, old_slot, now, true);
        }
        self.end_frames(at, now, true);
        self.put_on_cpu(at, id, slot, now);
        let cpu = &mut self.cpus[at];
        (cpu.is_known, cpu.switching, cpu.just_dispatched) = (true, false, Some(idle));
        self.count_dispatch(at, slot, now, idle);
        self.count_wait(slot, now);
    }

    fn count_dispatch(&mut self, at: usize, slot: ThreadSlot, now: u64, idle: bool) {
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
            thread.waited += u128::from(now.saturating_sub(left.max(self.from)));
        }
    }

    /// Leaves a CPU without a thread.
    pub fn undispatch(&mut self, at: usize, now: u64) {
        if self.is_in_gap(at) {
            return;
        }
        if let Some((id, slot)) = self.cpus[at].thread.take() {
            self.take_off_cpu(id, slot, now, true);
        }
        (self.cpus[at].is_known, self.cpus[at].switching) = (true, false);
    }

    /// Enters an interrupt on a CPU.
    pub fn raise(&mut self, at: usize, class: ClassName, kind: Option<u64>, address: Option<u64>, name: Option<&[u8]>) {
        if self.is_in_gap(at) {
            return;
        }
        let class = self.class(class);
        let Some(row) = self.interrupt(at, class, kind, address, name) else { return };
        if self.cpus[at].frames.len() < MAX_FRAMES {
            self.n_frames += 1;
            self.cpus[at].frames.push(Frame { number: self.n_frames, class, row, own_ns: 0 });
        } else {
            self.totals.interrupts[row].n_unfinished += 1;
        }
    }

    /// Leaves the innermost interrupt of a class on a CPU, and all interrupts inside of it.
    pub fn lower(&mut self, at: Option<usize>, class: ClassName, now: u64) {
        let class = self.class(class);
        self.classes[class].has_first = true;
        let Some(at) = at else { return };
        if self.is_in_gap(at) {
            return;
        }
        match self.cpus[at].frames.iter().rposition(|frame| frame.class == class) {
            Some(from) => {
                while self.cpus[at].frames.len() > from {
                    self.end_frame(at, now, true);
                }
            }
            None => self.totals.n_unmatched += u64::from(self.counts(now)),
        }
    }

    /// Leaves all interrupts on a CPU.
    pub fn reset(&mut self, at: Option<usize>, now: u64) {
        self.totals.has_reset = true;
        let Some(at) = at else { return };
        if self.is_in_gap(at) {
            return;
        }
        self.end_frames(at, now, true);
        self.cpus[at].is_known = true;
    }

    fn end_frames(&mut self, at: usize, now: u64, seen: bool) {
        while !self.cpus[at].frames.is_empty() {
            self.end_frame(at, now, seen);
        }
    }

    fn end_frame(&mut self, at: usize, now: u64, seen: bool) {
        let counts = self.counts(now);
        let Some(frame) = self.cpus[at].frames.pop() else { return };
        let row = &mut self.totals.interrupts[frame.row];
        if seen && counts {
            row.own.add(frame.own_ns);
        } else if counts {
            row.n_unfinished += 1;
            row.unfinished_ns += frame.own_ns;
        }
    }

    /// Begins a call: a thread enters a class of modes.
    pub fn enter(&mut self, at: Option<usize>, slot: ThreadSlot, class: ClassName, name: Option<&[u8]>, now: u64) {
        let class = self.mode(class);
        let row = if slot == OTHERS { 0 } else { self.call(class, name) };
        self.enter_row(at, slot, class, (row, name.is_some()), now);
    }

    /// Begins the call at an address, whose name `name_of` returns.
    pub fn enter_address(
        &mut self,
        at: Option<usize>,
        slot: ThreadSlot,
        class: ClassName,
        address: u64,
        name_of: impl FnOnce(u64) -> Option<Vec<u8>>,
        now: u64,
    ) {
        let class = self.mode(class);
        let row = if slot == OTHERS { 0 } else { self.call_at(class, address, name_of) };
        self.enter_row(at, slot, class, (row, true), now);
    }

    fn enter_row(
        &mut self,
        at: Option<usize>,
        slot: ThreadSlot,
        class: usize,
        (row, is_named): (usize, bool),
        now: u64,
    ) {
        self.apply_gap_start();
        self.modes[class].has_first = true;
        if let Some(at) = at.filter(|at| !self.cpus[*at].is_untraced() && self.cpus[*at].frames.is_empty()) {
            self.cpus[at].is_known = true;
        }
        if slot == OTHERS {
            return;
        }
        self.decide(slot, cells::user(class));
        self.drop_call(slot, now);
        self.set_mode(slot, cells::within(class));
        let thread = &mut self.threads[slot as usize];
        let charged = thread.cells.get(cells::within(class)).copied().unwrap_or(0);
        thread.call = Some(OpenCall { class, row, is_named, start: now, charged });
        self.note(Change::Entered { thread: slot, row, time: now });
    }

    /// Drops the open call of a thread, which has not returned.
    fn drop_call(&mut self, slot: ThreadSlot, now: u64) {
        if let Some(call) = self.threads[slot as usize].call.take() {
            self.totals.calls[call.row].n_not_returned += u64::from(self.counts(now));
            self.note(Change::Left { thread: slot, time: now, ending: CallEnding::NotReturned });
        }
    }

    /// Ends a call: a thread returns from a class of modes.
    pub fn leave_mode(
        &mut self,
        at: Option<usize>,
        slot: ThreadSlot,
        class: ClassName,
        name: Option<&[u8]>,
        (errno, interrupted): (u64, bool),
        now: u64,
    ) {
        self.apply_gap_start();
        let class = self.mode(class);
        self.modes[class].has_second = true;
        if let Some(at) = at.filter(|at| !self.cpus[*at].is_untraced() && self.cpus[*at].frames.is_empty()) {
            self.cpus[at].is_known = true;
        }
        let counts = u64::from(self.counts(now));
        if slot == OTHERS {
            return;
        }
        self.decide(slot, cells::within(class));
        let own_row = name.map(|name| self.call(class, Some(name)));
        let open = self.threads[slot as usize].call;
        let matching =
            open.filter(|call| call.class == class && own_row.is_none_or(|row| row == call.row || !call.is_named));
        let row = match matching {
            Some(call) => {
                let row = if call.is_named { call.row } else { own_row.unwrap_or(call.row) };
                let thread = &mut self.threads[slot as usize];
                thread.call = None;
                let spent = thread.cells.get(cells::within(class)).copied().unwrap_or(0) - call.charged;
                if counts > 0 {
                    let known = &mut self.totals.calls[row];
                    known.cpu.add(spent);
                    known.elapsed.add(now.saturating_sub(call.start).into());
                    known.n_interrupted += u64::from(interrupted);
                }
                let ending = CallEnding::Returned { errno, interrupted };
                self.note(Change::Left { thread: slot, time: now, ending });
                row
            }
            None => {
                self.drop_call(slot, now);
                let row = own_row.unwrap_or_else(|| self.call(class, None));
                self.totals.calls[row].n_begun_before += counts;
                row
            }
        };
        if errno != 0 && counts > 0 {
            let errors = &mut self.totals.calls[row].errors;
            match errors.get_mut(&errno) {
                Some(n) => *n += 1,
                None if self.n_errors < MAX_ROWS => {
                    self.n_errors += 1;
                    errors.insert(errno, 1);
                }
                None => {}
            }
        }
        let is_kproc = self.threads[slot as usize].is_kproc;
        self.set_mode(slot, if is_kproc { cells::KPROC } else { cells::user(class) });
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

    /// Number of a CPU; `None` for the only one of a trace whose events have none.
    pub fn cpu_id(&self, at: usize) -> Option<u64> {
        self.cpus[at].id
    }

    /// Counts an event whose CPU has no thread.
    pub fn without_thread(&mut self, now: u64) {
        self.totals.n_without_thread += u64::from(self.counts(now));
    }

    // Threads of QNX.

    /// Runs a QNX thread on a CPU.
    pub fn run(&mut self, at: usize, id: u64, slot: ThreadSlot, now: u64, idle: bool) {
        self.apply_gap_start();
        self.has_dispatch = true;
        self.charge(at, now, IntervalEnd::Plain);
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
            self.threads[slot as usize].serves = None;
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

    /// A thread that runs on a CPU sends a message to a process.
    pub fn send(&mut self, at: usize, rcvid: u32, server: u32, now: u64) {
        let Some((id, slot)) = self.cpus[at].thread.filter(|(_, slot)| *slot != OTHERS) else { return };
        if self.sent.len() >= MAX_SENT {
            return;
        }
        self.n_messages += 1;
        self.sent.insert((rcvid, server, (id >> 32) as u32), (slot, self.n_messages));
        self.note(Change::Message { thread: slot, step: MessageStep::Sent, id: self.n_messages, time: now });
    }

    /// A thread that runs on a CPU receives a message from a process. From now on it works for the sender.
    pub fn receive(&mut self, at: usize, rcvid: u32, client: u32, now: u64) {
        let Some((id, slot)) = self.cpus[at].thread.filter(|(_, slot)| *slot != OTHERS) else { return };
        self.totals.n_receives += 1;
        let Some((sender, message)) = self.sent.remove(&(rcvid, (id >> 32) as u32, client)) else { return };
        self.totals.n_matched_receives += 1;
        self.charge_all_clients(now);
        self.threads[slot as usize].serves = Some((sender, message));
        self.track(slot);
        self.note(Change::Message { thread: slot, step: MessageStep::Received, id: message, time: now });
    }

    /// A message of a thread is answered, or fails.
    pub fn reply(&mut self, at: usize, client: u64, now: u64) {
        let Some(client) = self.thread_by_id.get(&client).copied() else { return };
        self.charge_all_clients(now);
        let replier = self.cpus[at].thread.map(|(_, slot)| slot);
        let serves =
            |slot: &ThreadSlot| self.threads[*slot as usize].serves.is_some_and(|(served, _)| served == client);
        let own = replier.filter(serves);
        let server = own.or_else(|| self.tracked.iter().copied().find(serves));
        if let Some(server) = server {
            let message = self.threads[server as usize].serves.take();
            if let Some((_, message)) = message {
                let thread = replier.unwrap_or(server);
                self.note(Change::Message { thread, step: MessageStep::Replied, id: message, time: now });
            }
        }
    }

    /// Charges the time of the threads that run to the threads that they work for.
    fn charge_all_clients(&mut self, now: u64) {
        for at in 0..self.cpus.len() {
            if let Some((_, slot)) = self.cpus[at].thread {
                self.charge_clients(slot, now);
            }
        }
    }

    /// Charges the time of a running thread to the threads that it works for, each once.
    fn charge_clients(&mut self, slot: ThreadSlot, now: u64) {
        let thread = &mut self.threads[slot as usize];
        let Some((RUNNING, since)) = thread.state else { return };
        let from = since.max(self.from).max(thread.charged_to_clients);
        let to = now.max(from);
        thread.charged_to_clients = to;
        let ns = u128::from(to - from);
        if ns == 0 || thread.serves.is_none() {
            return;
        }
        let mut chain: Vec<ThreadSlot> = Vec::new();
        let mut next = thread.serves;
        while let Some((client, _)) = next {
            if client == slot || chain.contains(&client) || chain.len() >= MAX_CHAIN {
                break;
            }
            chain.push(client);
            next = self.threads[client as usize].serves;
        }
        for client in chain {
            let imposed = &mut self.threads[client as usize].imposed;
            let find = |wanted: ThreadSlot| imposed.iter().position(|(server, _)| *server == wanted);
            // Servers above the limit share a row.
            let server = if find(slot).is_some() || imposed.len() < MAX_SERVERS { slot } else { OTHERS };
            match find(server) {
                Some(known) => imposed[known].1 += ns,
                None => imposed.push((server, ns)),
            }
        }
    }

    /// Sets the priority of a thread, from a record.
    pub fn prioritise(&mut self, slot: ThreadSlot, priority: Option<u8>) {
        if slot != OTHERS {
            self.threads[slot as usize].priority = priority;
        }
    }

    /// Starts the states of a QNX thread at its creation.
    pub fn begin_thread(&mut self, slot: ThreadSlot, now: u64) {
        let thread = &mut self.threads[slot as usize];
        if slot != OTHERS && thread.states.is_empty() && matches!(thread.state, Some((None, 0)) | None) {
            thread.state = Some((None, now));
        }
    }

    /// Counts the time of a thread's current state, and starts another state.
    fn change_state(&mut self, slot: ThreadSlot, state: Option<ThreadState>, now: u64) {
        if self.system == System::Aix || slot == OTHERS {
            return;
        }
        self.charge_clients(slot, now);
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
                }
            }
        }
        let was_running = matches!(thread.state, Some((RUNNING, _)));
        let time = thread.state.map_or(now, |(_, since)| since.max(now));
        thread.state = state.map(|state| (state, time));
        self.note(Change::State { thread: slot, state, time });
        let thread = &self.threads[slot as usize];
        let runs = state == Some(RUNNING);
        let Some(process) = thread.process.filter(|_| was_running != runs) else { return };
        let process = &mut self.processes[process as usize];
        if runs {
            if process.n_running == 0 {
                process.running_since = now;
            }
            process.n_running += 1;
        } else {
            process.n_running -= 1;
            if process.n_running == 0 {
                process.running += u128::from(now.saturating_sub(process.running_since.max(from)));
            }
        }
    }

    // Untraced time.

    /// Applies a pending start of a gap to the threads.
    #[inline]
    fn apply_gap_start(&mut self) {
        if let Some(now) = self.pending_gap_start.take() {
            self.forget_unseen(now);
        }
    }

    /// Forgets mode, call and state of the threads that run on no traced CPU: they may have run anywhere.
    #[cold]
    fn forget_unseen(&mut self, now: u64) {
        for slot in std::mem::take(&mut self.tracked) {
            let thread = &mut self.threads[slot as usize];
            if thread.cpu.is_some() {
                self.tracked.push(slot);
                continue;
            }
            thread.is_tracked = false;
            self.charge_clients(slot, now);
            self.threads[slot as usize].serves = None;
            self.forget(slot, Some(now));
            if matches!(self.threads[slot as usize].state, Some((Some(_), _))) {
                self.change_state(slot, Some(None), now);
            }
        }
    }

    /// Starts a gap in which a stream lost events.
    pub fn begin_loss(&mut self, stream: usize, now: u64) {
        if self.streams[stream].lost_since.is_none() {
            self.split_off(stream, now, true);
            self.streams[stream].lost_since = Some(now);
            self.begin(stream, now, GapKind::Lost);
        }
    }

    /// Ends a gap in which a stream lost events. `missed` has the number of events and of buffers, if they are known.
    pub fn end_loss(&mut self, stream: usize, now: u64, missed: (Option<u64>, Option<u64>)) {
        if let Some(from) = self.streams[stream].lost_since.take() {
            self.end(stream, now, GapKind::Lost);
            self.gap(stream, (from, now), GapKind::Lost, missed);
            self.split_off(stream, now, false);
        }
    }

    /// True while a stream loses events.
    pub fn is_losing(&self, stream: usize) -> bool {
        self.streams[stream].lost_since.is_some()
    }

    /// True while a stream is switched off.
    pub fn is_off(&self, stream: usize) -> bool {
        self.streams[stream].off_since.is_some()
    }

    /// Switches a stream off.
    pub fn switch_off(&mut self, stream: usize, now: u64) {
        if self.streams[stream].off_since.is_none() {
            self.streams[stream].off_since = Some(now);
            self.begin(stream, now, GapKind::Off);
        }
    }

    /// Switches a stream on.
    pub fn switch_on(&mut self, stream: usize, now: u64) {
        if let Some(from) = self.streams[stream].off_since.take() {
            self.end(stream, now, GapKind::Off);
            self.gap(stream, (from, now), GapKind::Off, (None, None));
        }
    }

    /// Counts a mark: an event about the trace itself.
    pub fn note_mark(&mut self) {
        self.totals.n_marks += 1;
    }

    /// Splits an off interval at a loss: lists the part before it, or starts the part after it.
    fn split_off(&mut self, stream: usize, now: u64, is_begin: bool) {
        if let Some(from) = self.streams[stream].off_since {
            if is_begin {
                self.gap(stream, (from, now), GapKind::Off, (None, None));
            }
            self.streams[stream].off_since = Some(now);
        }
    }

    fn covered(&self, stream: usize) -> std::ops::Range<usize> {
        match self.streams[stream].cpu {
            None => 0..self.cpus.len(),
            Some(id) => match self.cpu_by_id.get(&id) {
                Some(at) => *at as usize..*at as usize + 1,
                None => 0..0,
            },
        }
    }

    fn begin(&mut self, stream: usize, now: u64, kind: GapKind) {
        self.need_cpu();
        // Gaps that start at one time are applied together.
        if self.pending_gap_start.is_some_and(|pending| pending != now) {
            self.apply_gap_start();
        }
        for at in self.covered(stream) {
            self.charge(at, now, IntervalEnd::Plain);
            self.n_untraced += u32::from(!self.cpus[at].is_untraced());
            let cpu = &mut self.cpus[at];
            match kind {
                GapKind::Lost => cpu.n_lost += 1,
                GapKind::Off => cpu.n_off += 1,
            }
            self.clear_cpu(at, now);
            self.note(Change::Base { at, time: self.cpus[at].since, base: self.base(at) });
        }
        self.n_gaps += 1;
        self.gap_starts.note(self.streams[stream].cpu, now);
        self.pending_gap_start = Some(now);
    }

    /// Clears a CPU. [`Machine::forget_unseen`] deals with its thread later.
    fn clear_cpu(&mut self, at: usize, now: u64) {
        self.end_frames(at, now, false);
        let cpu = &mut self.cpus[at];
        (cpu.is_known, cpu.just_dispatched, cpu.switching) = (false, None, false);
        if let Some((id, slot)) = cpu.thread.take() {
            self.others.remove(&id);
            let thread = &mut self.threads[slot as usize];
            (thread.cpu, thread.left_cpu) = (None, None);
            self.track(slot);
        }
    }

    fn end(&mut self, stream: usize, now: u64, kind: GapKind) {
        self.apply_gap_start();
        for at in self.covered(stream) {
            self.charge(at, now, IntervalEnd::Plain);
            let cpu = &mut self.cpus[at];
            match kind {
                GapKind::Lost => cpu.n_lost -= 1,
                GapKind::Off => cpu.n_off -= 1,
            }
            self.n_untraced -= u32::from(!self.cpus[at].is_untraced());
            self.clear_cpu(at, now);
            self.note(Change::Base { at, time: self.cpus[at].since, base: self.base(at) });
        }
        if std::mem::take(&mut self.has_events_in_gap) {
            self.forget_unseen(now);
        }
    }

    fn gap(&mut self, stream: usize, (from, to): (u64, u64), kind: GapKind, missed: (Option<u64>, Option<u64>)) {
        if to < self.from || (kind == GapKind::Off && from >= to) {
            return;
        }
        if self.totals.gaps.len() >= MAX_GAPS {
            self.totals.n_unlisted_gaps += 1;
            return;
        }
        let cpu = self.streams[stream].cpu;
        let from = from.max(self.from);
        self.totals.gaps.push(Gap { cpu, from, to, kind, missed_events: missed.0, missed_buffers: missed.1 });
    }

    // Rows.

    /// Index of a class of modes.
    fn mode(&mut self, name: ClassName) -> usize {
        index_of(&mut self.modes, name)
    }

    /// Index of a class of interrupts.
    fn class(&mut self, name: ClassName) -> usize {
        index_of(&mut self.classes, name)
    }

    /// Row of a call.
    fn call(&mut self, class: usize, name: Option<&[u8]>) -> usize {
        let name = name.filter(|_| self.keeps_calls).map(|name| &name[..name.len().min(MAX_NAME)]);
        let known = self.calls.get(class).and_then(|rows| match name {
            Some(name) => rows.by_name.get(name).copied(),
            None => rows.unnamed,
        });
        known.unwrap_or_else(|| self.new_call(class, name, None))
    }

    /// Row of a call at an address, whose name `name_of` returns.
    fn call_at(&mut self, class: usize, address: u64, name_of: impl FnOnce(u64) -> Option<Vec<u8>>) -> usize {
        if !self.keeps_calls {
            return self.call(class, None);
        }
        if let Some(row) = self.calls.get(class).and_then(|rows| rows.by_address.get(&address)) {
            return *row;
        }
        let row = match name_of(address) {
            Some(name) => self.call(class, Some(&name)),
            None => self.new_call(class, None, Some(address)),
        };
        self.calls[class].by_address.insert(address, row);
        row
    }

    /// Adds a row for a call.
    fn new_call(&mut self, class: usize, name: Option<&[u8]>, address: Option<u64>) -> usize {
        if self.calls.len() <= class {
            self.calls.resize_with(class + 1, CallRows::default);
        }
        let is_full = self.totals.calls.len() >= self.max_calls;
        let (name, address) = if is_full { (Some(OTHER_CALLS), None) } else { (name, address) };
        if let Some(row) = name.filter(|_| is_full).and_then(|name| self.calls[class].by_name.get(name)) {
            return *row;
        }
        let row = self.totals.calls.len();
        self.totals.calls.push(CallCounts { class, name: name.map(Box::from), address, ..CallCounts::default() });
        match name {
            Some(name) => drop(self.calls[class].by_name.insert(name.into(), row)),
            None if address.is_none() => self.calls[class].unnamed = Some(row),
            None => {}
        }
        row
    }

    /// Forgets which calls are at which addresses: there are new names.
    pub fn forget_addresses(&mut self) {
        self.calls.iter_mut().for_each(|rows| rows.by_address.clear());
    }

    /// Row of an interrupt.
    fn interrupt(
        &mut self,
        at: usize,
        class: usize,
        kind: Option<u64>,
        address: Option<u64>,
        name: Option<&[u8]>,
    ) -> Option<usize> {
        let key = (at as u32, class, kind, address);
        if let Some(row) = self.interrupt_by_key.get(&key) {
            return Some(*row);
        }
        let is_full = self.totals.interrupts.len() >= MAX_ROWS;
        let key = if is_full { (at as u32, class, None, None) } else { key };
        if let Some(row) = self.interrupt_by_key.get(&key) {
            return Some(*row);
        }
        let name = name.filter(|name| !name.is_empty() && !is_full).map(|name| name[..name.len().min(MAX_NAME)].into());
        self.totals.interrupts.push(InterruptCounts {
            cpu: at,
            class,
            kind: key.2,
            address: key.3,
            name,
            ..InterruptCounts::default()
        });
        self.interrupt_by_key.insert(key, self.totals.interrupts.len() - 1);
        Some(self.totals.interrupts.len() - 1)
    }

    /// Returns the end of the span, by default the last event, and applies the gaps that start before it.
    pub fn end_at(&mut self, until: Option<u64>) -> u64 {
        let end = until.unwrap_or(self.last);
        // A gap that starts at the end of the span has no length.
        if self.pending_gap_start.is_some_and(|begin| begin < end) {
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
                self.gap(stream, (from, end), GapKind::Lost, (None, None));
            } else if let Some(from) = off_since {
                self.gap(stream, (from, end), GapKind::Off, (None, None));
            }
        }
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
        self.reclassify(lowers);
        let Self { system, from, cpus, threads, processes, modes, classes, mut totals, has_dispatch, .. } = self;
        (totals.system, totals.span, totals.has_dispatch) = (Some(system), (from.min(end), end), has_dispatch);
        (totals.cpus, totals.threads, totals.processes) = (cpus, threads, processes);
        (totals.modes, totals.classes) = (modes, classes);
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
            self.threads.iter_mut().for_each(|thread| thread.cells.clear());
        }
        for (class, _) in self.classes.iter().enumerate().filter(|(_, class)| !class.has_first) {
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

/// Adds to a cell of a list; grows the list if necessary.
#[inline]
fn add(cells: &mut Vec<u128>, cell: usize, ns: u128) {
    match cells.get_mut(cell) {
        Some(sum) => *sum += ns,
        None if ns > 0 => {
            cells.resize(cell.max(4) + 1, 0);
            cells[cell] = ns;
        }
        None => {}
    }
}

fn index_of(classes: &mut Vec<Class>, name: ClassName) -> usize {
    classes.iter().position(|class| class.name == name).unwrap_or_else(|| {
        classes.push(Class { name, has_first: false, has_second: false });
        classes.len() - 1
    })
}
