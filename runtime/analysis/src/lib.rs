//! Summaries of where the time of a trace went, and times between two events.
//!
//! ```text
//! trace ─aix, qnx─> events and their effects ─machine─> Totals ─tables─> Summary: sections of rows
//!            └─ latency: pairs of events ─> groups                           └─print─> text, tsv, csv, ndjson
//! ```
//!
//! Every nanosecond of every CPU has one category, and the categories of a CPU sum to the span. Time that the trace
//! does not describe has categories of its own: `mode`, `unknown`, `lost` and `off`. The rules for AIX come from the
//! context table, and `docs/summary.md` explains what the categories mean.
//!
//! ```
//! use tfbc_analysis::{AnalysisOptions, summarise};
//! let mut trace = tfbc::Trace::open("../samples/shell.trc")?;
//! let summary = summarise(&mut trace, &AnalysisOptions::default(), &mut |_: &tfbc::Notice| {})?;
//! let cpus = summary.section("cpu").unwrap();
//! assert_eq!(cpus.rows().last().unwrap()[0].to_string(), "all");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod aix;
mod busy;
mod curt;
mod gaps;
pub mod latency;
mod machine;
mod marks;
mod numbers;
mod print;
mod qnx;
mod record_effects;
mod rows;
mod section;
mod tables;
mod tally;
mod thread_tables;
pub mod timeline;
mod totals;
mod utilisation;

pub use curt::{CurtOptions, write_curt};
pub use print::{TextTable, text_table, write};
pub use section::{Column, ColumnKind, Section, SortKey, Summary, TextLayout, Value};
pub use tables::against;

use machine::Machine;
use std::fmt;
use std::io;
use std::sync::Arc;
use tfbc::aix::{AddressNames, ContextTable};
use tfbc::internal::analysis::{ClassName, ContextRules, RecordRules, TimedEvent};
use tfbc::internal::{AnyTrace, KevRecord, source_mut};
use tfbc::{Monitor, Trace};

/// Options of an analysis.
#[derive(Debug, Clone)]
pub struct AnalysisOptions {
    /// Start of the span, in nanoseconds since the start of the trace. Earlier events are read, but not charged.
    pub from: Option<u64>,
    /// End of the span. Later events are not read.
    pub until: Option<u64>,
    /// Number of CPUs of the machine, for traces that do not declare it; 0 if it is unknown.
    pub cpus: u64,
    /// Idle threads of a QNX log, as process and thread; by default the threads of priority 0 in process 1.
    pub idle: Option<Vec<(u32, u32)>>,
    /// True if time in an unknown mode counts as user mode.
    pub assume_user: bool,
    /// True if interrupts are listed by CPU.
    pub per_cpu: bool,
    /// True if times imposed by clients are listed by server (QNX).
    pub per_server: bool,
    /// True if calls are listed with their addresses.
    pub addresses: bool,
    /// True for calls, dispatches and interrupts per thread.
    pub per_thread: bool,
    /// Names of the sections to compute; `None` for all.
    pub sections: Option<Vec<String>>,
    /// Rules of AIX hooks.
    pub context: Arc<ContextTable>,
    /// Names of addresses (AIX).
    pub names: Arc<AddressNames>,
    /// Limit on processes, and on threads. Further ones share a row.
    pub max_processes: usize,
    /// Limit on names of calls. Further ones share a row.
    pub max_calls: usize,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        Self {
            from: None,
            until: None,
            cpus: 0,
            idle: None,
            assume_user: false,
            per_cpu: false,
            per_server: false,
            addresses: false,
            per_thread: false,
            sections: None,
            context: Arc::default(),
            names: Arc::default(),
            max_processes: 1 << 16,
            max_calls: 1 << 16,
        }
    }
}

impl AnalysisOptions {
    /// True if a section is computed.
    fn wants(&self, section: &str) -> bool {
        self.sections.as_ref().is_none_or(|sections| sections.iter().any(|wanted| wanted == section))
    }
}

/// Reason why a trace cannot be analysed.
#[derive(Debug)]
pub enum AnalysisError {
    /// The trace cannot be read.
    Read(io::Error),
    /// No record of a QNX log has a time.
    NoTime,
    /// The output cannot be written.
    Write(io::Error),
    /// The trace has no such events or fields, as the message says.
    Pairs(String),
}

/// Observer of the events that the state machine applies. It is a trait object, so that the loops over events are compiled
/// once for all observers.
trait Observer {
    /// Called before the first event.
    fn begin(&mut self, _: &mut Machine) {}

    /// True if AIX events that change nothing but times are passed to [`Observer::hook`].
    fn sees_unchanged(&self) -> bool {
        true
    }

    /// Called after an AIX event with its CPU.
    fn hook(&mut self, _: &TimedEvent<'_>, _cpu: EventCpu, _: &mut Machine, _: &ContextRules) {}

    /// Called after a QNX record with its time, and the index of its CPU in the machine.
    fn record(&mut self, _: &KevRecord<'_>, _now: u64, _: &mut Machine, _at: usize, _: &dyn InterruptRules) {}

    /// Called at the end of the span.
    fn finish(&mut self, _: &mut Machine, _end: u64, _: &dyn InterruptRules) {}
}

/// CPU of an AIX event.
#[derive(Debug, Clone, Copy)]
enum EventCpu {
    None,
    /// Index of the CPU in the machine.
    At(usize),
    /// Number of the CPU that a mark states.
    Number(u64),
}

impl EventCpu {
    fn of(at: Option<usize>) -> Self {
        at.map_or(Self::None, Self::At)
    }

    /// Time of an event on this CPU's clock, which never goes back.
    fn time(self, timed: &TimedEvent<'_>, machine: &Machine) -> u64 {
        let now = timed.time.elapsed_ns;
        self.index(machine).map_or(now, |at| machine.time_at(at, now))
    }

    /// Index of the CPU in the machine, if the trace has shown it.
    fn index(self, machine: &Machine) -> Option<usize> {
        match self {
            Self::None => None,
            Self::At(at) => Some(at),
            Self::Number(number) => machine.index_of_cpu(number),
        }
    }

    /// Number of the CPU; `Some(None)` for the only CPU of a trace whose events have none.
    fn number(self, machine: &Machine) -> Option<Option<u64>> {
        match self {
            Self::None => None,
            Self::At(at) => Some(machine.cpu_id(at)),
            Self::Number(number) => Some(Some(number)),
        }
    }
}

/// Rules of interrupts: their ends, and names of their types.
trait InterruptRules {
    /// True if an event lowers interrupts of a class.
    fn lowers(&self, class: ClassName) -> bool;
    /// Name of a type.
    fn label(&self, class: ClassName, kind: u64) -> Option<&str>;
}

impl InterruptRules for ContextRules {
    fn lowers(&self, class: ClassName) -> bool {
        ContextRules::lowers(self, class)
    }

    fn label(&self, class: ClassName, kind: u64) -> Option<&str> {
        ContextRules::label(self, class, kind)
    }
}

impl InterruptRules for RecordRules {
    fn lowers(&self, class: ClassName) -> bool {
        matches!(class, ClassName::INT | ClassName::HANDLER) || RecordRules::lowers(self, class)
    }

    fn label(&self, class: ClassName, kind: u64) -> Option<&str> {
        RecordRules::label(self, class, kind)
    }
}

impl From<io::Error> for AnalysisError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) | Self::Write(error) => error.fmt(f),
            Self::NoTime => {
                f.write_str("no record has a time: the log has no TIME record, or its header has no CYCLES_PER_SEC")
            }
            Self::Pairs(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for AnalysisError {}

/// Reads a trace and summarises where its time went. Notices and progress go to the monitor.
///
/// # Errors
/// The trace cannot be read, or has no times.
pub fn summarise(
    trace: &mut Trace,
    options: &AnalysisOptions,
    monitor: &mut dyn Monitor,
) -> Result<Summary, AnalysisError> {
    let (totals, files) = match source_mut(trace) {
        AnyTrace::Aix(logs) => {
            let files = logs.logs().iter().map(|log| log.name.clone()).collect();
            (aix::analyse(logs, options, monitor, None)?.0, files)
        }
        AnyTrace::Kev(log) => (qnx::analyse(log, options, monitor, None)?.0, vec![log.name().to_owned()]),
    };
    Ok(tables::summary(&totals, files, options))
}
