//! Totals that the state machine collects: counts and times, from which `tables` computes the sections.

use crate::busy::Utilisation;
use crate::machine::details::Details;
use crate::machine::parts::{Class, Cpu, Process, Thread, ThreadSlot};
use crate::tally::Tally;
use std::collections::BTreeMap;
use tfbc::System;
use tfbc::internal::analysis::ClassName;

/// Counts of the calls of one name.
#[derive(Debug, Clone, Default)]
pub struct CallCounts {
    pub class: usize,
    pub name: Option<Box<[u8]>>,
    /// First address; `None` if the trace contains only the name.
    pub address: Option<u64>,
    pub cpu: Tally,
    pub elapsed: Tally,
    /// Number of calls per error; `None` if no call failed, so that most rows are small.
    #[expect(clippy::box_collection, reason = "a pointer is a third of a map")]
    pub errors: Option<Box<BTreeMap<u64, u64>>>,
    pub n_interrupted: u64,
    pub n_begun_before: u64,
    pub n_pending: u64,
    pub n_cut: u64,
    pub n_not_returned: u64,
    pub n_ended: u64,
}

impl CallCounts {
    /// Name, or the address in hex digits.
    pub fn label(&self) -> Option<String> {
        let name = self.name.as_ref().map(|name| String::from_utf8_lossy(name).into_owned());
        name.or_else(|| self.address.map(|address| format!("{address:X}")))
    }
}

/// Counts of the interrupts of one kind on one CPU.
#[derive(Debug, Clone, Default)]
pub struct InterruptCounts {
    pub cpu: usize,
    pub class: usize,
    pub kind: Option<u64>,
    pub address: Option<u64>,
    pub name: Option<Box<[u8]>>,
    pub own: Tally,
    pub n_unfinished: u64,
    pub unfinished_ns: u128,
}

/// Call that has not returned at the end of the span.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    pub thread: ThreadSlot,
    /// Index into [`Totals::calls`].
    pub row: usize,
    pub cpu_ns: Option<u128>,
    pub elapsed_ns: u64,
}

/// Kind of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapKind {
    Lost,
    Off,
}

/// Untraced interval of a stream.
#[derive(Debug, Clone, Copy)]
pub struct Gap {
    /// CPU of the stream; `None` if it has events of all CPUs.
    pub cpu: Option<u64>,
    pub from: u64,
    pub to: u64,
    pub kind: GapKind,
    pub missed: Missed,
}

/// Numbers of lost events and buffers, if the trace contains them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Missed {
    pub events: Option<u64>,
    pub buffers: Option<u64>,
}

/// Kinds of events that the header of a trace says were recorded.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordedKinds {
    pub dispatches: bool,
    pub idle_dispatches: bool,
    pub calls: bool,
    pub interrupts: bool,
}

/// Everything that the state machine counts and charges.
#[derive(Debug)]
pub struct Totals {
    pub system: Option<System>,
    /// Names of the states of threads, by number.
    pub state_names: Vec<String>,
    /// First and last time of the span.
    pub span: (u64, u64),
    pub has_dispatch: bool,
    /// True if the trace has a dispatch of an idle thread.
    pub has_idle_dispatch: bool,
    pub has_reset: bool,
    /// Kinds of events that were recorded even if none occurred.
    pub recorded: RecordedKinds,
    pub cpus: Vec<Cpu>,
    pub threads: Vec<Thread>,
    pub processes: Vec<Process>,
    pub modes: Vec<Class>,
    pub classes: Vec<Class>,
    pub calls: Vec<CallCounts>,
    pub pending: Vec<Pending>,
    pub interrupts: Vec<InterruptCounts>,
    pub gaps: Vec<Gap>,
    /// Busy time of the CPUs over time.
    pub utilisation: Utilisation,
    /// Counts per thread, if they are wanted.
    pub details: Option<Details>,
    /// Time that threads ran, per priority.
    pub priorities: [u128; 256],
    pub n_events: u64,
    pub n_marks: u64,
    pub n_contradictions: u64,
    pub n_unmatched: u64,
    pub n_without_thread: u64,
    /// Messages that were received, and those of them whose sending the trace shows.
    pub n_receives: u64,
    pub n_matched_receives: u64,
    pub n_unlisted_gaps: u64,
    /// True if times stay in an unknown mode because too many were kept.
    pub has_dropped_undecided: bool,
    pub n_other_threads: u64,
    pub n_other_processes: u64,
    /// Number of damaged places.
    pub n_damaged: u64,
}

impl Totals {
    /// Gives interrupts without a name the label of their class and type.
    pub fn name_interrupts<'l>(&mut self, label: impl Fn(ClassName, u64) -> Option<&'l str>) {
        for interrupt in self.interrupts.iter_mut().filter(|interrupt| interrupt.name.is_none()) {
            let class = self.classes[interrupt.class].name;
            let label = interrupt.kind.and_then(|kind| label(class, kind));
            interrupt.name = label.map(|label| label.as_bytes().into());
        }
    }
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            system: None,
            state_names: Vec::new(),
            span: (0, 0),
            has_dispatch: false,
            has_idle_dispatch: false,
            has_reset: false,
            recorded: RecordedKinds::default(),
            cpus: Vec::new(),
            threads: Vec::new(),
            processes: Vec::new(),
            modes: Vec::new(),
            classes: Vec::new(),
            calls: Vec::new(),
            pending: Vec::new(),
            interrupts: Vec::new(),
            gaps: Vec::new(),
            utilisation: Utilisation::default(),
            details: None,
            priorities: [0; 256],
            n_events: 0,
            n_marks: 0,
            n_contradictions: 0,
            n_unmatched: 0,
            n_without_thread: 0,
            n_receives: 0,
            n_matched_receives: 0,
            n_unlisted_gaps: 0,
            has_dropped_undecided: false,
            n_other_threads: 0,
            n_other_processes: 0,
            n_damaged: 0,
        }
    }
}
