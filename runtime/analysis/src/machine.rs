//! State machine of CPUs and threads: charges each interval of a CPU to a category and a thread.
//!
//! ```text
//! aix.rs, qnx.rs ─dispatch, enter, raise, lost, …─> Machine ─finish─> Books
//! ```
//!
//! The state of a CPU does not change between two of its events. The second one charges the interval between them, and
//! then changes the state. Whatever the trace does not describe is charged to `unknown`, `lost`, `off` or, if a thread
//! ran in an unknown mode, to `mode`.

use crate::books::{Books, CallCounts, Gap, GapKind, InterruptCounts, Pending, StateCounts};
use std::collections::HashMap;
use tfbc::System;
use tfbc::internal::analysis::ClassName;

/// Largest number of CPUs. Events of further ones count as events without a CPU.
pub const MAX_CPUS: usize = 1024;
/// Deepest nesting of interrupts. Deeper ones are charged to the last of these.
const MAX_FRAMES: usize = 64;
/// Largest number of listed gaps.
const MAX_GAPS: usize = 1 << 16;
/// Largest number of kinds of interrupts, and of errors of all calls together. Others share a row.
const MAX_ROWS: usize = 1 << 16;
/// Longest name that is kept, in bytes.
const MAX_NAME: usize = 1023;

/// Cells of the time of threads, before the cells of the classes of modes.
pub mod cells {
    /// Idle threads.
    pub const IDLE: usize = 0;
    /// A thread ran in an unknown mode.
    pub const MODE: usize = 1;
    /// Kernel processes.
    pub const KPROC: usize = 2;

    /// User mode, known from a call of a class.
    pub const fn user(class: usize) -> usize {
        3 + 2 * class
    }

    /// Inside a class.
    pub const fn within(class: usize) -> usize {
        4 + 2 * class
    }
}

/// Index of a thread in [`Books::threads`].
pub type ThreadSlot = u32;
/// Index of a process in [`Books::processes`].
pub type ProcessSlot = u32;

/// Slot of all threads and of all processes that exceed the limit.
pub const OTHERS: u32 = 0;

/// Kind of untraced time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Darkness {
    Lost,
    Off,
}

/// CPU and the time charged to it.
#[derive(Debug, Clone, Default)]
pub struct Cpu {
    /// Number; `None` for the only CPU of a trace whose events have none.
    pub id: Option<u64>,
    is_declared: bool,
    /// Time up to which everything is charged.
    since: u64,
    /// Id and slot of the thread that runs.
    thread: Option<(u64, ThreadSlot)>,
    /// True if it is known what runs below the interrupts.
    known: bool,
    /// True if the last thread has left and none runs yet (QNX).
    switching: bool,
    frames: Vec<Frame>,
    /// Set by a dispatch until the next event; true for an idle thread.
    fresh: Option<bool>,
    /// Number of losses, and of intervals without tracing, that cover the CPU now.
    n_lost: u32,
    n_off: u32,
    /// Time of threads, by [`cells`].
    pub cells: Vec<u128>,
    /// Time per class of interrupts.
    pub interrupts: Vec<u128>,
    /// Time of rows 2, 4, 5 and 6 of the specification's table, and untraced time.
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
    fn is_dark(&self) -> bool {
        self.n_lost + self.n_off > 0
    }
}

/// Dispatches that have an earlier one of the same thread, and those of them to the same CPU.
#[derive(Debug, Clone, Copy, Default)]
pub struct Affinity {
    pub n_same: u64,
    pub n_known: u64,
}

/// Open interrupt.
#[derive(Debug, Clone, Copy)]
struct Frame {
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
    /// CPU on which it runs.
    cpu: Option<u32>,
    /// Cell of its mode; `None` if the mode is unknown.
    mode: Option<u32>,
    is_idle: bool,
    is_kproc: bool,
    /// True if its process has ended while it ran.
    is_leaving: bool,
    /// True if the thread is in [`Machine::held`].
    is_held: bool,
    call: Option<OpenCall>,
    /// Time of an unknown mode, by CPU.
    undecided: Vec<(u32, u128)>,
    pub cells: Vec<u128>,
    /// Bit set of the CPUs on which time was charged.
    cpus: Vec<u64>,
    /// CPU of the last dispatch, and number of the darkness that was last then.
    last_dispatch: Option<(u32, u64)>,
    /// Time of leaving a CPU, and number of the darkness that was last then.
    left: Option<(u64, u64)>,
    pub n_dispatches: u64,
    pub affinity: Affinity,
    pub waited: u128,
    /// State, and its beginning. `None` outside the thread's life.
    state: Option<(ThreadState, u64)>,
    pub states: Vec<(ThreadState, StateCounts)>,
    priority: Option<u8>,
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
    /// Time in the class at the start.
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

/// Facts that the event at the end of an interval adds about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Plain,
    /// The event is a `resume`.
    Resume,
    /// The event contradicts what was known.
    Contradiction,
}

/// Class of modes or interrupts.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    pub name: ClassName,
    /// True if the trace has an `enter`, or an end of an interrupt.
    pub has_first: bool,
    /// True if the trace has a `return`.
    pub has_second: bool,
}

/// Stream of events: a file, and the CPUs that it covers.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    /// The only CPU that it covers; `None` for all.
    cpu: Option<u64>,
    lost_since: Option<u64>,
    off_since: Option<u64>,
}

/// Class and name of a call.
type CallKey = (usize, Option<Box<[u8]>>);
/// CPU, class, type and address of an interrupt.
type InterruptKey = (u32, usize, Option<u64>, Option<u64>);

/// The state machine.
#[derive(Debug)]
pub struct Machine {
    system: System,
    /// Start of the span; earlier time is not charged.
    from: u64,
    /// Latest time of an event.
    last: u64,
    cpus: Vec<Cpu>,
    cpu_by_id: HashMap<u64, u32>,
    threads: Vec<Thread>,
    thread_by_id: HashMap<u64, ThreadSlot>,
    last_thread: (u64, ThreadSlot),
    /// Threads whose id has moved to another process.
    moved: HashMap<(ProcessSlot, u64), ThreadSlot>,
    /// CPUs on which threads of [`OTHERS`] run.
    others: HashMap<u64, u32>,
    processes: Vec<Process>,
    process_by_id: HashMap<u64, ProcessSlot>,
    max_known: usize,
    max_calls: usize,
    /// Threads that may know something that untraced time invalidates.
    held: Vec<ThreadSlot>,
    modes: Vec<Class>,
    classes: Vec<Class>,
    call_by_name: HashMap<CallKey, usize>,
    interrupt_by_key: HashMap<InterruptKey, usize>,
    streams: Vec<Stream>,
    /// Number of CPUs that are dark.
    n_dark: u32,
    /// Number of times that a CPU became dark.
    n_darknesses: u64,
    /// Time of a begin of untraced time whose consequences for threads are pending.
    pending_begin: Option<u64>,
    /// True if events were taken in for a CPU that is dark.
    touched_in_dark: bool,
    has_dispatch: bool,
    n_errors: usize,
    books: Books,
}

impl Machine {
    /// Creates the state at the start of a trace. Time before `from` is not charged.
    pub fn new(system: System, from: u64, max_known: usize, max_calls: usize) -> Self {
        Self {
            system,
            from,
            last: 0,
            cpus: Vec::new(),
            cpu_by_id: HashMap::new(),
            threads: vec![Thread::default()],
            thread_by_id: HashMap::new(),
            last_thread: (0, OTHERS),
            moved: HashMap::new(),
            others: HashMap::new(),
            processes: vec![Process::default()],
            process_by_id: HashMap::new(),
            max_known,
            max_calls,
            held: Vec::new(),
            modes: Vec::new(),
            classes: Vec::new(),
            call_by_name: HashMap::new(),
            interrupt_by_key: HashMap::new(),
            streams: Vec::new(),
            n_dark: 0,
            n_darknesses: 0,
            pending_begin: None,
            touched_in_dark: false,
            has_dispatch: false,
            n_errors: 0,
            books: Books::default(),
        }
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

    /// Takes note of an event of any kind. Its effects follow.
    #[inline]
    pub fn note_event(&mut self, now: u64) {
        self.books.n_events += 1;
        self.last = self.last.max(now);
    }

    /// Takes note of an event without a time.
    pub fn note_untimed(&mut self) {
        self.books.n_events += 1;
    }

    /// True if a time belongs to the span.
    fn counts(&self, now: u64) -> bool {
        now >= self.from
    }

    // CPUs.

    /// Index of a CPU. A new one is unknown up to now. `None` above the limit.
    pub fn cpu(&mut self, id: u64, now: u64) -> Option<usize> {
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
        self.n_dark += u32::from(n_lost + n_off > 0);
        let unknown = now.saturating_sub(self.from).into();
        self.cpus.push(Cpu { id: Some(id), since: now, unknown, n_lost, n_off, ..Cpu::default() });
        self.cpu_by_id.insert(id, at as u32);
        Some(at)
    }

    /// Index of the CPU of an event that tells none: the only declared one, or that of its thread.
    #[inline]
    pub fn cpu_without_id(&mut self, tid: u64) -> Option<usize> {
        match self.cpu_of_dispatch() {
            None => self.running_on(tid),
            only => only,
        }
    }

    /// Index of the CPU of a dispatch that tells none: the only declared one.
    #[inline]
    pub fn cpu_of_dispatch(&mut self) -> Option<usize> {
        self.need_cpu();
        let [cpu] = &self.cpus[..] else { return None };
        (cpu.is_declared || cpu.id.is_none()).then_some(0)
    }

    /// Creates the nameless CPU of a trace of AIX, as long as no CPU is known.
    #[inline]
    fn need_cpu(&mut self) {
        if self.cpus.is_empty() && self.system == System::Aix {
            self.cpus.push(Cpu::default());
        }
    }

    /// Time up to which a CPU is charged.
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

    /// Forgets the nameless CPU, and the time charged to it.
    #[cold]
    fn drop_nameless(&mut self) {
        let cpu = self.cpus.remove(0);
        self.n_dark -= u32::from(cpu.is_dark());
        self.others.clear();
        for thread in &mut self.threads {
            thread.cpu = None;
            thread.undecided.clear();
            thread.cells.clear();
            thread.cpus.clear();
            thread.last_dispatch = None;
            thread.left = None;
            (thread.n_dispatches, thread.affinity, thread.waited) = (0, Affinity::default(), 0);
            if let Some(call) = &mut thread.call {
                call.charged = 0;
            }
        }
        for call in &mut self.books.calls {
            call.cpu.forget();
        }
        self.books.interrupts.clear();
        self.interrupt_by_key.clear();
        self.books.n_contradictions = 0;
        self.books.n_unmatched = 0;
    }

    /// Charges the time of a CPU up to `now`.
    #[inline]
    fn charge(&mut self, at: usize, now: u64, ending: Ending) {
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
        } else if ending == Ending::Contradiction {
            cpu.unknown += ns;
        } else if let Some(idle) = cpu.fresh
            && ending == Ending::Resume
            && cpu.frames.is_empty()
        {
            *(if idle { &mut cpu.idle_dispatch } else { &mut cpu.dispatch }) += ns;
        } else if let Some(frame) = cpu.frames.last_mut() {
            frame.own_ns += ns;
            add(&mut cpu.interrupts, frame.class, ns);
        } else if !cpu.known {
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
                self.books.priorities[usize::from(priority)] += ns;
            }
        } else if cpu.switching {
            cpu.switch += ns;
        } else {
            cpu.unknown += ns;
        }
    }

    // Threads and processes.

    /// Slot of a thread, which is created if it is new.
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
            self.books.n_other_threads += 1;
            return OTHERS;
        }
        let slot = self.threads.len() as ThreadSlot;
        // A thread whose first event is in the middle of the trace was there before, unless a record creates it.
        let state = (self.system == System::Qnx).then_some((None, 0));
        self.threads.push(Thread { tid: id, state, ..Thread::default() });
        self.join(slot, process);
        slot
    }

    /// Makes a thread one of a process.
    fn join(&mut self, slot: ThreadSlot, process: Option<ProcessSlot>) {
        let Some(process) = process else { return };
        let known = &mut self.processes[process as usize];
        let thread = &mut self.threads[slot as usize];
        thread.process = Some(process);
        thread.is_kproc = known.is_kproc;
        // A thread of a process whose id was used before cannot have lived from the start.
        if known.generation > 1 && matches!(thread.state, Some((None, 0))) {
            thread.state = Some((None, self.last));
        }
        if process != OTHERS {
            thread.sibling = known.first_thread.replace(slot);
        }
    }

    /// Slots of a process's threads.
    fn members(&self, process: ProcessSlot) -> Vec<ThreadSlot> {
        let first = self.processes[process as usize].first_thread;
        std::iter::successors(first, |slot| self.threads[*slot as usize].sibling).collect()
    }

    /// Slot of a process. One that has ended stays the process of its id until [`Machine::create`].
    pub fn process(&mut self, pid: u64) -> ProcessSlot {
        match self.process_by_id.get(&pid) {
            Some(slot) => *slot,
            None => self.new_process(pid, 1),
        }
    }

    fn new_process(&mut self, pid: u64, generation: u32) -> ProcessSlot {
        if self.processes.len() > self.max_known {
            self.books.n_other_processes += 1;
            return OTHERS;
        }
        let slot = self.processes.len() as ProcessSlot;
        self.processes.push(Process { pid, generation, ..Process::default() });
        self.process_by_id.insert(pid, slot);
        slot
    }

    /// Slot of a process that an event creates or describes: if an earlier process of this id has ended, a new one.
    pub fn create(&mut self, pid: u64) -> ProcessSlot {
        let slot = self.process(pid);
        let known = &self.processes[slot as usize];
        if slot != OTHERS && known.has_ended { self.new_process(pid, known.generation + 1) } else { slot }
    }

    /// Sets the name of a process; an empty name leaves it unchanged.
    pub fn name_process(&mut self, slot: ProcessSlot, name: &[u8]) {
        if slot != OTHERS && !name.is_empty() {
            self.processes[slot as usize].name = Some(name[..name.len().min(MAX_NAME)].into());
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

    /// Slot of a thread of a process. If the id belonged to a thread of another process, it is a new thread.
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
        self.thread_by_id.insert(id, new);
        self.last_thread = (id, new);
        new
    }

    /// Slot of a thread of AIX that is dispatched with the id of its process.
    pub fn attach_dispatched(&mut self, id: u64, pid: u64) -> ThreadSlot {
        let slot = self.thread(id);
        let process = self.process(pid);
        let is_own = self.threads[slot as usize].process == Some(process);
        // The threads of a process that has ended may still be dispatched to finish.
        let process = if is_own { process } else { self.create(pid) };
        self.attach(id, process)
    }

    /// Ends a process.
    pub fn exit(&mut self, process: ProcessSlot, now: u64) {
        self.settle();
        if process == OTHERS || self.processes[process as usize].has_ended {
            return;
        }
        let n = usize::from(self.counts(now)) as u64;
        self.processes[process as usize].has_ended = true;
        for slot in self.members(process) {
            if let Some(call) = self.threads[slot as usize].call.take() {
                self.books.calls[call.row].n_ended += n;
            }
            if self.threads[slot as usize].cpu.is_some() {
                self.threads[slot as usize].is_leaving = true;
            } else {
                self.forget_mode(slot);
            }
        }
    }

    /// Makes a process a kernel process.
    pub fn kproc(&mut self, process: ProcessSlot) {
        self.settle();
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

    /// Keeps a thread in the list of those that untraced time concerns.
    #[inline]
    fn hold(&mut self, slot: ThreadSlot) {
        let thread = &mut self.threads[slot as usize];
        if !std::mem::replace(&mut thread.is_held, true) {
            self.held.push(slot);
        }
    }

    fn set_mode(&mut self, slot: ThreadSlot, cell: usize) {
        // The threads that exceed the limit have no mode of their own.
        if slot != OTHERS {
            self.threads[slot as usize].mode = Some(cell as u32);
            self.hold(slot);
        }
    }

    /// Gives the undecided time of a thread to a cell.
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

    /// Forgets the mode, the open call and the state of a thread that may have run unseen. The call counts as cut at
    /// `now`.
    fn forget(&mut self, slot: ThreadSlot, now: Option<u64>) {
        self.forget_mode(slot);
        if let Some(call) = self.threads[slot as usize].call.take() {
            match now {
                Some(now) => self.books.calls[call.row].n_cut += u64::from(self.counts(now)),
                None => self.books.calls[call.row].n_not_returned += 1,
            }
        }
    }

    /// Takes a thread off its CPU; the caller updates the CPU. `seen` is true if the trace shows the switch.
    fn leave(&mut self, id: u64, slot: ThreadSlot, now: u64, seen: bool) {
        if slot == OTHERS {
            self.others.remove(&id);
        }
        let (n_dark, n_darknesses) = (self.n_dark, self.n_darknesses);
        let thread = &mut self.threads[slot as usize];
        thread.cpu = None;
        thread.left = (seen && n_dark == 0 && slot != OTHERS).then_some((now, n_darknesses));
        if thread.is_leaving {
            self.forget_mode(slot);
        }
        if n_dark > 0 {
            self.forget(slot, Some(now));
        }
    }

    /// Puts a thread on a CPU. If it runs on another one, a switch was not seen.
    fn come(&mut self, at: usize, id: u64, slot: ThreadSlot, now: u64) {
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
        self.hold(slot);
    }

    /// Charges a CPU's interval as unknown, and forgets what ran there.
    fn contradict(&mut self, at: usize, now: u64) {
        self.charge(at, now, Ending::Contradiction);
        self.books.n_contradictions += u64::from(self.counts(now));
        self.end_frames(at, now, false);
        let cpu = &mut self.cpus[at];
        (cpu.known, cpu.fresh, cpu.switching) = (false, None, false);
        if let Some((id, slot)) = cpu.thread.take() {
            self.leave(id, slot, now, false);
        }
    }

    // Events.

    /// Charges a CPU up to an event of AIX, whose thread is evidence of what runs there.
    #[inline]
    pub fn evidence(&mut self, at: usize, id: u64, now: u64, is_resume: bool) {
        self.settle();
        let cpu = &self.cpus[at];
        if cpu.is_dark() {
            self.touched_in_dark = true;
            return self.charge(at, now, Ending::Plain);
        }
        let ending = if is_resume { Ending::Resume } else { Ending::Plain };
        match cpu.thread {
            Some((known, _)) if known == id => self.charge(at, now, ending),
            known => {
                let slot = self.thread(id);
                if known.is_some() {
                    self.contradict(at, now);
                } else {
                    self.charge(at, now, ending);
                }
                self.come(at, id, slot, now);
            }
        }
        self.cpus[at].fresh = None;
    }

    /// Charges a CPU up to an event of QNX.
    #[inline]
    pub fn pass(&mut self, at: usize, now: u64) {
        self.settle();
        self.charge(at, now, Ending::Plain);
    }

    /// True if events of the CPU are not supposed to exist now.
    fn in_dark(&mut self, at: usize) -> bool {
        let dark = self.cpus[at].is_dark();
        self.touched_in_dark |= dark;
        dark
    }

    /// Takes in that a thread was dispatched to a CPU.
    pub fn dispatch(&mut self, at: Option<usize>, id: u64, slot: ThreadSlot, now: u64, idle: bool) {
        self.settle();
        self.has_dispatch |= !idle;
        self.threads[slot as usize].is_idle |= idle && slot != OTHERS;
        let Some(at) = at else { return };
        self.charge(at, now, Ending::Plain);
        if self.in_dark(at) {
            return;
        }
        if let Some((old, old_slot)) = self.cpus[at].thread.take() {
            self.leave(old, old_slot, now, true);
        }
        self.end_frames(at, now, true);
        self.come(at, id, slot, now);
        let cpu = &mut self.cpus[at];
        (cpu.known, cpu.switching, cpu.fresh) = (true, false, Some(idle));
        self.count_dispatch(at, slot, now, idle);
        self.count_wait(slot, now);
    }

    fn count_dispatch(&mut self, at: usize, slot: ThreadSlot, now: u64, idle: bool) {
        let counts = self.counts(now);
        let darkness = self.n_darknesses;
        let is_traced = self.n_dark == 0;
        let (cpu, thread) = (&mut self.cpus[at], &mut self.threads[slot as usize]);
        let last = thread.last_dispatch.replace((at as u32, if is_traced { darkness } else { u64::MAX }));
        if slot == OTHERS {
            thread.last_dispatch = None;
        }
        if !counts {
            return;
        }
        thread.n_dispatches += 1;
        *(if idle { &mut cpu.n_idle_dispatches } else { &mut cpu.n_dispatches }) += 1;
        if let Some((last, _)) = last.filter(|(_, then)| is_traced && *then == darkness) {
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
        let is_traced = self.n_dark == 0;
        let thread = &mut self.threads[slot as usize];
        if let Some((left, then)) = thread.left.take()
            && is_traced
            && then == self.n_darknesses
        {
            thread.waited += u128::from(now.saturating_sub(left.max(self.from)));
        }
    }

    /// Takes in that a CPU has no thread any more.
    pub fn undispatch(&mut self, at: usize, now: u64) {
        if self.in_dark(at) {
            return;
        }
        if let Some((id, slot)) = self.cpus[at].thread.take() {
            self.leave(id, slot, now, true);
        }
        (self.cpus[at].known, self.cpus[at].switching) = (true, false);
    }

    /// Takes in that a CPU enters an interrupt.
    pub fn raise(&mut self, at: usize, class: ClassName, kind: Option<u64>, address: Option<u64>, name: Option<&[u8]>) {
        if self.in_dark(at) {
            return;
        }
        let class = self.class(class);
        let Some(row) = self.interrupt(at, class, kind, address, name) else { return };
        if self.cpus[at].frames.len() < MAX_FRAMES {
            self.cpus[at].frames.push(Frame { class, row, own_ns: 0 });
        } else {
            self.books.interrupts[row].n_unfinished += 1;
        }
    }

    /// Takes in that a CPU leaves an interrupt.
    pub fn lower(&mut self, at: Option<usize>, class: ClassName, now: u64) {
        let class = self.class(class);
        self.classes[class].has_first = true;
        let Some(at) = at else { return };
        if self.in_dark(at) {
            return;
        }
        match self.cpus[at].frames.iter().rposition(|frame| frame.class == class) {
            Some(from) => {
                while self.cpus[at].frames.len() > from {
                    self.end_frame(at, now, true);
                }
            }
            None => self.books.n_unmatched += u64::from(self.counts(now)),
        }
    }

    /// Takes in that a CPU is in no interrupt.
    pub fn reset(&mut self, at: Option<usize>, now: u64) {
        self.books.has_reset = true;
        let Some(at) = at else { return };
        if self.in_dark(at) {
            return;
        }
        self.end_frames(at, now, true);
        self.cpus[at].known = true;
    }

    fn end_frames(&mut self, at: usize, now: u64, seen: bool) {
        while !self.cpus[at].frames.is_empty() {
            self.end_frame(at, now, seen);
        }
    }

    fn end_frame(&mut self, at: usize, now: u64, seen: bool) {
        let counts = self.counts(now);
        let Some(frame) = self.cpus[at].frames.pop() else { return };
        let row = &mut self.books.interrupts[frame.row];
        if seen && counts {
            row.own.add(frame.own_ns);
        } else if counts {
            row.n_unfinished += 1;
            row.unfinished_ns += frame.own_ns;
        }
    }

    /// Takes in that a thread enters a class of modes.
    pub fn enter(&mut self, at: Option<usize>, slot: ThreadSlot, class: ClassName, name: Option<&[u8]>, now: u64) {
        self.settle();
        let class = self.mode(class);
        self.modes[class].has_first = true;
        if let Some(at) = at.filter(|at| !self.cpus[*at].is_dark() && self.cpus[*at].frames.is_empty()) {
            self.cpus[at].known = true;
        }
        if slot == OTHERS {
            return;
        }
        let row = self.call(class, name);
        self.decide(slot, cells::user(class));
        self.drop_call(slot, now);
        self.set_mode(slot, cells::within(class));
        let thread = &mut self.threads[slot as usize];
        let charged = thread.cells.get(cells::within(class)).copied().unwrap_or(0);
        thread.call = Some(OpenCall { class, row, is_named: name.is_some(), start: now, charged });
    }

    /// Drops the open call of a thread, which has not returned.
    fn drop_call(&mut self, slot: ThreadSlot, now: u64) {
        if let Some(call) = self.threads[slot as usize].call.take() {
            self.books.calls[call.row].n_not_returned += u64::from(self.counts(now));
        }
    }

    /// Takes in that a thread returns from a class of modes.
    pub fn leave_mode(
        &mut self,
        at: Option<usize>,
        slot: ThreadSlot,
        class: ClassName,
        name: Option<&[u8]>,
        (errno, interrupted): (u64, bool),
        now: u64,
    ) {
        self.settle();
        let class = self.mode(class);
        self.modes[class].has_second = true;
        if let Some(at) = at.filter(|at| !self.cpus[*at].is_dark() && self.cpus[*at].frames.is_empty()) {
            self.cpus[at].known = true;
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
                    let known = &mut self.books.calls[row];
                    known.cpu.add(spent);
                    known.elapsed.add(now.saturating_sub(call.start).into());
                    known.n_interrupted += u64::from(interrupted);
                }
                row
            }
            None => {
                self.drop_call(slot, now);
                let row = own_row.unwrap_or_else(|| self.call(class, None));
                self.books.calls[row].n_begun_before += counts;
                row
            }
        };
        if errno != 0 && counts > 0 {
            let errors = &mut self.books.calls[row].errors;
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

    /// Counts an event whose CPU has no thread.
    pub fn without_thread(&mut self, now: u64) {
        self.books.n_without_thread += u64::from(self.counts(now));
    }

    // Threads of QNX.

    /// Takes in that a thread of QNX runs on a CPU.
    pub fn run(&mut self, at: usize, id: u64, slot: ThreadSlot, now: u64, idle: bool) {
        self.settle();
        self.has_dispatch = true;
        self.charge(at, now, Ending::Plain);
        self.threads[slot as usize].is_idle = idle && slot != OTHERS;
        if self.in_dark(at) {
            return;
        }
        let old = self.cpus[at].thread;
        if let Some((old, old_slot)) = old.filter(|(old, _)| *old != id) {
            self.cpus[at].thread = None;
            self.leave(old, old_slot, now, true);
            self.change_state(old_slot, Some(None), now);
        }
        self.come(at, id, slot, now);
        (self.cpus[at].known, self.cpus[at].switching) = (true, false);
        self.change_state(slot, Some(RUNNING), now);
        self.count_dispatch(at, slot, now, idle);
    }

    /// Takes in that a thread of QNX has a state other than running. `None` ends the thread.
    pub fn state(&mut self, id: u64, slot: ThreadSlot, state: Option<u8>, now: u64) {
        self.settle();
        if let Some(at) = self.running_on(id) {
            self.charge(at, now, Ending::Plain);
            self.cpus[at].thread = None;
            self.cpus[at].switching = true;
            self.leave(id, slot, now, true);
        }
        if let Some(state) = state {
            self.change_state(slot, Some(Some(state)), now);
        } else {
            let n = u64::from(self.counts(now));
            if let Some(call) = self.threads[slot as usize].call.take() {
                self.books.calls[call.row].n_ended += n;
            }
            self.forget_mode(slot);
            self.change_state(slot, None, now);
        }
        self.hold(slot);
    }

    /// Ends all threads of a process of QNX.
    pub fn end_threads(&mut self, process: ProcessSlot, now: u64) {
        if process == OTHERS || self.processes[process as usize].has_ended {
            return;
        }
        for slot in self.members(process) {
            self.state(self.threads[slot as usize].tid, slot, None, now);
        }
    }

    /// Sets the priority that a record tells.
    pub fn prioritise(&mut self, slot: ThreadSlot, priority: Option<u8>) {
        if slot != OTHERS {
            self.threads[slot as usize].priority = priority;
        }
    }

    /// Begins the life of a thread of QNX.
    pub fn begin_thread(&mut self, slot: ThreadSlot, now: u64) {
        let thread = &mut self.threads[slot as usize];
        if slot != OTHERS && thread.states.is_empty() && matches!(thread.state, Some((None, 0)) | None) {
            thread.state = Some((None, now));
        }
    }

    /// Ends the period of a thread's state and begins another.
    fn change_state(&mut self, slot: ThreadSlot, state: Option<ThreadState>, now: u64) {
        if self.system == System::Aix || slot == OTHERS {
            return;
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
                }
            }
        }
        let was_running = matches!(thread.state, Some((RUNNING, _)));
        thread.state = state.map(|state| (state, thread.state.map_or(now, |(_, since)| since.max(now))));
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

    /// Forgets what threads knew at the begin of untraced time, if that has not happened yet.
    #[inline]
    fn settle(&mut self) {
        if let Some(now) = self.pending_begin.take() {
            self.forget_unseen(now);
        }
    }

    /// Forgets what is known of the threads that run on no traced CPU.
    #[cold]
    fn forget_unseen(&mut self, now: u64) {
        for slot in std::mem::take(&mut self.held) {
            let thread = &mut self.threads[slot as usize];
            if thread.cpu.is_some() {
                self.held.push(slot);
                continue;
            }
            thread.is_held = false;
            self.forget(slot, Some(now));
            if matches!(self.threads[slot as usize].state, Some((Some(_), _))) {
                self.change_state(slot, Some(None), now);
            }
        }
    }

    /// Begins a loss of a stream.
    pub fn begin_loss(&mut self, stream: usize, now: u64) {
        if self.streams[stream].lost_since.is_none() {
            self.split_off(stream, now, true);
            self.streams[stream].lost_since = Some(now);
            self.begin(stream, now, Darkness::Lost);
        }
    }

    /// Ends a loss of a stream.
    pub fn end_loss(&mut self, stream: usize, now: u64, missed: (Option<u64>, Option<u64>)) {
        if let Some(from) = self.streams[stream].lost_since.take() {
            self.end(stream, now, Darkness::Lost);
            self.gap(stream, (from, now), GapKind::Lost, missed);
            self.split_off(stream, now, false);
        }
    }

    /// True if a stream has lost events.
    pub fn is_losing(&self, stream: usize) -> bool {
        self.streams[stream].lost_since.is_some()
    }

    /// True if a stream is switched off.
    pub fn is_off(&self, stream: usize) -> bool {
        self.streams[stream].off_since.is_some()
    }

    /// Switches a stream off.
    pub fn switch_off(&mut self, stream: usize, now: u64) {
        if self.streams[stream].off_since.is_none() {
            self.streams[stream].off_since = Some(now);
            self.begin(stream, now, Darkness::Off);
        }
    }

    /// Switches a stream on.
    pub fn switch_on(&mut self, stream: usize, now: u64) {
        if let Some(from) = self.streams[stream].off_since.take() {
            self.end(stream, now, Darkness::Off);
            self.gap(stream, (from, now), GapKind::Off, (None, None));
        }
    }

    /// Takes note of a mark.
    pub fn note_mark(&mut self) {
        self.books.n_marks += 1;
    }

    /// Lists the part of an off interval before a loss, or begins the part after it.
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

    fn begin(&mut self, stream: usize, now: u64, darkness: Darkness) {
        self.need_cpu();
        // Marks at one time begin together.
        if self.pending_begin.is_some_and(|pending| pending != now) {
            self.settle();
        }
        for at in self.covered(stream) {
            self.charge(at, now, Ending::Plain);
            self.n_dark += u32::from(!self.cpus[at].is_dark());
            let cpu = &mut self.cpus[at];
            match darkness {
                Darkness::Lost => cpu.n_lost += 1,
                Darkness::Off => cpu.n_off += 1,
            }
            self.clear_cpu(at, now);
        }
        self.n_darknesses += 1;
        self.pending_begin = Some(now);
    }

    /// Forgets what runs on a CPU. Its thread is one of those that [`Machine::forget_unseen`] treats.
    fn clear_cpu(&mut self, at: usize, now: u64) {
        self.end_frames(at, now, false);
        let cpu = &mut self.cpus[at];
        (cpu.known, cpu.fresh, cpu.switching) = (false, None, false);
        if let Some((id, slot)) = cpu.thread.take() {
            self.others.remove(&id);
            let thread = &mut self.threads[slot as usize];
            (thread.cpu, thread.left) = (None, None);
            self.hold(slot);
        }
    }

    fn end(&mut self, stream: usize, now: u64, darkness: Darkness) {
        self.settle();
        for at in self.covered(stream) {
            self.charge(at, now, Ending::Plain);
            let cpu = &mut self.cpus[at];
            match darkness {
                Darkness::Lost => cpu.n_lost -= 1,
                Darkness::Off => cpu.n_off -= 1,
            }
            self.n_dark -= u32::from(!self.cpus[at].is_dark());
            self.clear_cpu(at, now);
        }
        if std::mem::take(&mut self.touched_in_dark) {
            self.forget_unseen(now);
        }
    }

    fn gap(&mut self, stream: usize, (from, to): (u64, u64), kind: GapKind, missed: (Option<u64>, Option<u64>)) {
        if to < self.from || (kind == GapKind::Off && from >= to) {
            return;
        }
        if self.books.gaps.len() >= MAX_GAPS {
            self.books.n_unlisted_gaps += 1;
            return;
        }
        let cpu = self.streams[stream].cpu;
        let from = from.max(self.from);
        self.books.gaps.push(Gap { cpu, from, to, kind, missed_events: missed.0, missed_buffers: missed.1 });
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
        let key = (class, name.map(|name| Box::from(&name[..name.len().min(MAX_NAME)])));
        if let Some(row) = self.call_by_name.get(&key) {
            return *row;
        }
        let is_full = self.books.calls.len() >= self.max_calls;
        let key = if is_full { (class, Some(Box::from(&b"(others)"[..]))) } else { key };
        if let Some(row) = self.call_by_name.get(&key) {
            return *row;
        }
        self.books.calls.push(CallCounts { class, name: key.1.clone(), ..CallCounts::default() });
        self.call_by_name.insert(key, self.books.calls.len() - 1);
        self.books.calls.len() - 1
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
        let is_full = self.books.interrupts.len() >= MAX_ROWS;
        let key = if is_full { (at as u32, class, None, None) } else { key };
        if let Some(row) = self.interrupt_by_key.get(&key) {
            return Some(*row);
        }
        let name = name.filter(|name| !name.is_empty() && !is_full).map(|name| name[..name.len().min(MAX_NAME)].into());
        self.books.interrupts.push(InterruptCounts {
            cpu: at,
            class,
            kind: key.2,
            address: key.3,
            name,
            ..InterruptCounts::default()
        });
        self.interrupt_by_key.insert(key, self.books.interrupts.len() - 1);
        Some(self.books.interrupts.len() - 1)
    }

    /// Charges everything up to the end of the span, by default the last event, and closes the books. `lowers` tells if the table has an event that
    /// lowers interrupts of a class.
    pub fn finish(mut self, until: Option<u64>, lowers: impl Fn(ClassName) -> bool) -> Books {
        let end = until.unwrap_or(self.last);
        // Untraced time that begins at the end is none.
        if self.pending_begin.is_some_and(|begin| begin < end) {
            self.settle();
        }
        for stream in 0..self.streams.len() {
            let Stream { lost_since, off_since, .. } = self.streams[stream];
            if let Some(from) = lost_since.filter(|from| *from < end) {
                self.gap(stream, (from, end), GapKind::Lost, (None, None));
            } else if let Some(from) = off_since {
                self.gap(stream, (from, end), GapKind::Off, (None, None));
            }
        }
        for at in 0..self.cpus.len() {
            self.charge(at, end, Ending::Plain);
            self.end_frames(at, end.max(self.from), false);
        }
        for slot in 0..self.threads.len() as ThreadSlot {
            self.decide(slot, cells::MODE);
            let thread = &self.threads[slot as usize];
            if let Some(call) = thread.call {
                let spent = thread.cells.get(cells::within(call.class)).copied().unwrap_or(0) - call.charged;
                let elapsed = end.saturating_sub(call.start);
                self.books.calls[call.row].n_pending += 1;
                let known = self.modes[call.class];
                let is_told = self.has_dispatch && known.has_first && known.has_second;
                self.books.pending.push(Pending {
                    thread: slot,
                    row: call.row,
                    cpu_ns: is_told.then_some(spent),
                    elapsed_ns: elapsed,
                });
            }
            if thread.state.is_some() {
                self.change_state(slot, None, end);
            }
        }
        self.judge(lowers);
        let Self { system, from, cpus, threads, processes, modes, classes, mut books, has_dispatch, .. } = self;
        (books.system, books.span, books.has_dispatch) = (Some(system), (from.min(end), end), has_dispatch);
        (books.cpus, books.threads, books.processes) = (cpus, threads, processes);
        (books.modes, books.classes) = (modes, classes);
        books
    }

    /// Takes back the names of time that the trace does not tell enough about.
    fn judge(&mut self, lowers: impl Fn(ClassName) -> bool) {
        // An interrupt of a class that no event of the table lowers ends with a resume or reset.
        for class in &mut self.classes {
            class.has_first |= self.books.has_reset && !lowers(class.name);
        }
        if self.system == System::Aix && !self.has_dispatch {
            for cpu in &mut self.cpus {
                let told = cpu.cells.drain(..).sum::<u128>() + cpu.interrupts.drain(..).sum::<u128>();
                cpu.unknown += told + cpu.dispatch + cpu.idle_dispatch + cpu.switch;
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

/// Adds to a cell of a list, which grows if necessary.
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
