//! State of all CPUs, threads and processes.

use super::change::Change;
use super::details::Details;
use super::parts::{CallRows, Class, Cpu, InterruptKey, OTHERS, Process, ProcessSlot, Stream, Thread, ThreadSlot};
use crate::AnalysisOptions;
use crate::busy::Utilisation;
use crate::gaps::GapStarts;
use crate::totals::{CallCounts, InterruptCounts, RecordedKinds, Totals};
use foldhash::HashMap;
use tfbc::System;
use tfbc::internal::analysis::ClassName;

/// Limit on the length of a name, in bytes; longer names are cut.
pub(super) const MAX_NAME: usize = 1023;

/// Limit on CPUs. Events of further CPUs count as events without a CPU.
pub const MAX_CPUS: usize = 1024;

/// Limit on times in unknown modes that are kept per thread and CPU. Further ones stay in an unknown mode.
pub(super) const MAX_UNDECIDED: usize = 1 << 20;

/// Index of no CPU.
pub(super) const NO_CPU: u32 = u32::MAX;

/// Limit on kinds of interrupts, and on kinds of errors of all calls together. Further interrupts share a row, and
/// further errors are not listed.
pub(super) const MAX_ROWS: usize = 1 << 16;

/// Number of threads whose slots are found without a hash table.
pub(super) const N_RECENT: usize = 64;

/// State of all CPUs, threads and processes at the current event.
#[derive(Debug)]
pub struct Machine {
    pub(super) system: System,
    /// Start of the span; earlier time is not charged.
    pub(super) from: u64,
    /// Latest time of an event.
    pub(super) last: u64,
    /// Time of the current record (QNX). Records of several CPUs need not be in order.
    pub current: u64,
    pub(super) cpus: Vec<Cpu>,
    /// Indices of the CPUs with small numbers, and of all CPUs.
    pub(super) small_cpus: Vec<u32>,
    pub(super) cpu_by_id: HashMap<u64, u32>,
    pub(super) threads: Vec<Thread>,
    pub(super) thread_by_id: HashMap<u64, ThreadSlot>,
    /// Threads that were looked up before, by a hash of their ids; [`OTHERS`] for none.
    pub(super) recent_threads: [(u64, ThreadSlot); N_RECENT],
    /// Threads whose id now belongs to a thread of another process.
    pub(super) moved: HashMap<(ProcessSlot, u64), ThreadSlot>,
    /// CPU per thread id, for running threads that share the slot [`OTHERS`].
    pub(super) others: HashMap<u64, u32>,
    pub(super) processes: Vec<Process>,
    pub(super) process_by_id: HashMap<u64, ProcessSlot>,
    pub(super) max_known: usize,
    pub(super) max_calls: usize,
    /// True if calls are told apart by their names.
    pub(super) keeps_calls: bool,
    /// True if interrupts are told apart by their types and handlers.
    pub(super) keeps_interrupts: bool,
    /// True if interrupts are counted per CPU.
    pub(super) keeps_interrupts_per_cpu: bool,
    /// True if the states of threads are kept, and their messages (QNX).
    pub(super) keeps_states: bool,
    pub(super) keeps_messages: bool,
    /// True if the priorities of threads are read, and if the time per priority is kept.
    pub(super) reads_priorities: bool,
    pub(super) keeps_priorities: bool,
    /// True if the busy time of CPUs is kept over time.
    pub(super) keeps_utilisation: bool,
    /// Threads with a mode, call or state that a gap invalidates.
    pub(super) tracked: Vec<ThreadSlot>,
    pub(super) modes: Vec<Class>,
    pub(super) classes: Vec<Class>,
    /// Rows of calls, by class.
    pub(super) calls: Vec<CallRows>,
    pub(super) interrupt_by_key: HashMap<InterruptKey, usize>,
    pub(super) streams: Vec<Stream>,
    /// Number of untraced CPUs.
    pub(super) n_untraced: u32,
    /// Number of gaps so far. Two equal values mean that nothing was lost in between.
    pub(super) n_gaps: u64,
    /// Start of a gap whose effect on threads is not applied yet, and true if it is a loss. It waits for the next event, because several streams may
    /// start a gap at the same time.
    pub(super) pending_gap_start: Option<(u64, bool)>,
    /// Number of streams that lose events.
    pub(super) n_losing: u32,
    /// Number of gaps that have begun and not ended, of all streams.
    pub(super) n_open_gaps: u32,
    /// True if an untraced CPU has had events.
    pub(super) has_events_in_gap: bool,
    pub(super) has_dispatch: bool,
    pub(super) n_errors: usize,
    /// Number of times in unknown modes of all threads.
    pub(super) n_undecided: usize,
    /// Number of intervals in which processes ran that may still be joined.
    pub(super) n_running_intervals: usize,
    pub(super) max_undecided: usize,
    pub(super) totals: Totals,
    /// Counts per thread; `None` if they are not wanted.
    pub(super) details: Option<Box<Details>>,
    /// Starts of gaps so far.
    pub gap_starts: GapStarts,
    /// Number of interrupts so far.
    pub(super) n_frames: u64,
    /// Messages that were sent and not received: by receive id, server and client process; the client and a number.
    pub(super) sent: HashMap<(u32, u32, u32), (ThreadSlot, u64)>,
    pub(super) n_messages: u64,
    /// Number of answers to the messages of a thread, by its id: a record names no more than that.
    pub(super) answers: HashMap<u64, u64>,
    /// True if the current event has changed nothing but times.
    pub(super) is_unchanged: bool,
    /// See [`Machine::n_proofs`].
    pub(super) n_proofs: u64,
    /// Changes since a timeline last took them; `None` if there is no timeline.
    pub(super) changes: Option<Vec<Change>>,
}

impl Machine {
    /// Creates the state at the start of a trace.
    pub fn new(system: System, options: &AnalysisOptions) -> Self {
        Self {
            system,
            from: options.from.unwrap_or(0),
            last: 0,
            current: 0,
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
            keeps_interrupts_per_cpu: options.per_cpu,
            keeps_states: system == System::Qnx
                && ["process", "thread", "state", "client", "snapshot"].iter().any(|section| options.wants(section)),
            keeps_messages: options.wants("client"),
            reads_priorities: options.wants("priority"),
            keeps_priorities: options.wants("priority"),
            keeps_utilisation: options.wants("utilisation"),
            tracked: Vec::new(),
            modes: Vec::new(),
            classes: Vec::new(),
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
            n_running_intervals: 0,
            max_undecided: MAX_UNDECIDED,
            totals: Totals { utilisation: Utilisation::new(options.from.unwrap_or(0)), ..Totals::default() },
            details: options.per_thread.then(Box::default),
            gap_starts: GapStarts::default(),
            n_frames: 0,
            sent: HashMap::default(),
            n_messages: 0,
            answers: HashMap::default(),
            is_unchanged: false,
            n_proofs: 0,
            changes: None,
        }
    }

    /// True if the trace contains an end of a class of interrupts, so that its times are known.
    pub fn has_end(&self, class: usize, lowers: impl FnOnce(ClassName) -> bool) -> bool {
        self.classes[class].has_first || (self.totals.has_reset && !lowers(self.classes[class].name))
    }

    /// Number of first events of their kind, and of changes of the rules. As long as it is equal, [`Machine::has_end`]
    /// and [`Machine::has_dispatch`] are.
    #[inline]
    pub fn n_proofs(&self) -> u64 {
        self.n_proofs
    }

    /// Notes that the rules of the trace have changed.
    pub fn note_rules(&mut self) {
        self.n_proofs += 1;
    }

    /// Notes kinds of events that the header of a log says were recorded.
    pub fn note_recorded(&mut self, kinds: RecordedKinds) {
        self.totals.recorded = kinds;
    }

    /// Notes a dispatch, which proves the meaning of AIX's times if the thread is not an idle one.
    #[inline]
    pub(super) fn prove_dispatch(&mut self, idle: bool) {
        if !idle && !self.has_dispatch {
            self.has_dispatch = true;
            self.n_proofs += 1;
        }
    }

    /// Notes an end of all interrupts of a CPU, which proves the meaning of classes without an end of their own.
    #[inline]
    pub(super) fn prove_reset(&mut self) {
        if !self.totals.has_reset {
            self.totals.has_reset = true;
            self.n_proofs += 1;
        }
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

    /// Notes the time of a hook that describes the trace. It is no event of the analysis.
    pub fn note_header(&mut self, now: u64) {
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
    pub(super) fn counts(&self, now: u64) -> bool {
        now >= self.from
    }

    /// Counts a mark: an event about the trace itself.
    pub fn note_mark(&mut self) {
        self.totals.n_marks += 1;
    }
}

/// Adds to a cell of a list; grows the list if necessary.
#[inline(always)]
pub(super) fn add(cells: &mut Vec<u128>, cell: usize, ns: u128) {
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

pub(super) fn index_of(classes: &mut Vec<Class>, name: ClassName) -> usize {
    classes.iter().position(|class| class.name == name).unwrap_or_else(|| {
        classes.push(Class { name, has_first: false, has_second: false });
        classes.len() - 1
    })
}
