//! The source of a report's events: traces with their clocks.

use super::clock::{Clock, Elapsed, EventTime};
use super::hooks;
use super::internal::Record;
use super::sniff::Kind;
use super::step::Kernel;
use super::trace::{Item, OpenError, RawEvent, ReadOptions, Trace};
use crate::reader::{Notice, Tally};
use std::io;
use std::path::Path;

/// What a report needs to know of one of its logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogInfo {
    /// The name as the user gave it.
    pub name: String,
    /// What kind of trace it is.
    pub kind: Kind,
    /// Bytes of the whole file, where that is known.
    pub size: Option<u64>,
    /// The processor whose file it is, in a log of one file a processor.
    pub cpu: Option<u32>,
}

/// An event with its time.
#[derive(Debug, Clone, Copy)]
pub struct TimedEvent<'t> {
    /// The event.
    pub event: RawEvent<'t>,
    /// Its time.
    pub time: EventTime,
    /// Index of the log that it is of, for [`Logs::log`].
    pub log: usize,
    /// Processors whose files go on, in a log of one file a processor.
    pub reported_cpus: Option<u32>,
}

/// What stands next in the logs.
#[derive(Debug)]
pub enum LogItem<'t> {
    /// An event.
    Event(TimedEvent<'t>),
    /// A damaged place, or a warning.
    Notice {
        /// Index of the log.
        log: usize,
        /// What is said of it.
        notice: Notice,
    },
}

/// The logs of one report.
///
/// ```
/// use tfbc::reader::aix::{Input, LogItem, Logs, ReadOptions, Trace};
/// let bytes = [0xef, 0xdf, 0x11, 0x14, 0x80, 0, 0, 0, 0x50, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0x1a, 0x2b, 0, 0, 0, 0, 0, 0, 0, 9];
/// let mut logs = Logs::from(Trace::from_input("x", Input::from_bytes(bytes), &ReadOptions::default())?);
/// assert!(matches!(logs.next()?, Some(LogItem::Notice { .. }))); // no time factors
/// let Some(LogItem::Event(timed)) = logs.next()? else { panic!() };
/// assert_eq!((timed.event.id, timed.time.time_ns, timed.time.elapsed_ns), (0x5000, 9, 0));
/// let log = timed.log;
/// assert_eq!(logs.log(log).name, "x");
/// assert!(logs.next()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Logs {
    lane: Lane,
    infos: Vec<LogInfo>,
    elapsed: Elapsed,
}

/// One trace with its clock.
struct Lane {
    trace: Trace,
    clock: Clock,
}

impl From<Trace> for Logs {
    fn from(trace: Trace) -> Self {
        let (kind, survey) = (trace.kind(), trace.survey());
        let elapsed = Elapsed::new(survey.starts_with_trace_on);
        let clock = Clock::new(survey.factors.unwrap_or_default(), kind.kernel() == Kernel::Bits32);
        let infos = vec![LogInfo { name: trace.name().to_owned(), kind, size: trace.size(), cpu: None }];
        Self { lane: Lane { trace, clock }, infos, elapsed }
    }
}

impl Logs {
    /// Opens a trace by its path; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is no trace.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        Trace::open(path, options).map(Self::from)
    }

    /// The name as the user gave it.
    pub fn name(&self) -> &str {
        &self.infos[0].name
    }

    /// One of the logs.
    pub fn log(&self, index: usize) -> &LogInfo {
        &self.infos[index]
    }

    /// All logs.
    pub fn logs(&self) -> &[LogInfo] {
        &self.infos
    }

    /// All logs, as they are read.
    pub fn traces(&self) -> impl Iterator<Item = &Trace> {
        std::iter::once(&self.lane.trace)
    }

    /// Bytes of all files, where that is known.
    pub fn size(&self) -> Option<u64> {
        self.infos.iter().map(|log| log.size).sum()
    }

    /// Where the bytes went that were taken in so far.
    pub fn tally(&self) -> Tally {
        self.lane.trace.tally()
    }

    /// 32-bit stamps that went back a little and were taken for the one before them.
    pub fn clamped(&self) -> u64 {
        self.lane.clock.clamped()
    }

    /// The next event or notice; `None` at the end.
    ///
    /// # Errors
    /// An input cannot be read on.
    #[expect(
        clippy::should_implement_trait,
        reason = "an event borrows the reader's buffer, which no Iterator can say"
    )]
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<LogItem<'_>>> {
        let Lane { trace, clock } = &mut self.lane;
        let Some(item) = trace.next()? else { return Ok(None) };
        Ok(Some(match item {
            Item::Event(event) => {
                let time_ns = clock.advance(event.ticks);
                let time = EventTime { time_ns, elapsed_ns: self.elapsed.at(0, clock, event.id, time_ns) };
                if event.id == hooks::UTILITY {
                    note_factors(&event, 0, clock, &mut self.elapsed);
                }
                LogItem::Event(TimedEvent { event, time, log: 0, reported_cpus: None })
            }
            Item::Notice(notice) => LogItem::Notice { log: 0, notice },
        }))
    }
}

impl Logs {
    /// Bytes of all files as they stand, which may be compressed; `None` where they are not known.
    pub fn file_size(&self) -> Option<u64> {
        self.traces().map(Trace::file_size).sum()
    }

    /// How far the reading is, in bytes of the files as they stand.
    pub fn progress(&self) -> u64 {
        self.traces().map(Trace::progress).sum()
    }

    /// Whether reading may wait for another program.
    pub fn is_live(&self) -> bool {
        self.traces().any(Trace::is_live)
    }

    /// Whether the next event must be waited for.
    pub fn waits(&self) -> bool {
        self.traces().any(Trace::waits)
    }
}

/// Time factors hold for the events behind them.
#[cold]
fn note_factors(event: &RawEvent<'_>, log: usize, clock: &mut Clock, elapsed: &mut Elapsed) {
    if let Some(Record::Factors(factors)) = Record::parse(event.id, event.wide, event.bytes) {
        clock.set_factors(factors);
        elapsed.rescale(log, clock);
    }
}
