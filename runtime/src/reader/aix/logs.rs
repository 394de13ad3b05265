//! Input of a report: one trace with its clock, or several traces merged by time.
//!
//! Several traces are the base file and the CPU files of one log, the logs of a merge, or both. Each has its own clock,
//! so they are compared in nanoseconds.

use super::clock::{Elapsed, EventTime, Factors, TimeScale, TraceClock};
use super::cpu_files::{self, CpuFiles};
use super::duplicates::Duplicates;
use super::hooks;
use super::internal::EventProperty;
use super::log_info::LogInfo;
use super::merge::{Ahead, Merge, MergeInput, MergeKey, MergePosition, MergeStep, chunk};
use super::raw_event::RawEvent;
use super::sniff::AixKind;
use super::step::{Kernel, Parts};
use super::trace::{
    FastEvent, FastPosition, FoundCommon, NextItem, OpenError, OpenedInput, ReadOptions, SkipAction, SkipPolicy,
    Survey, Trace, TracePosition, VisitResult,
};
use crate::ids::IdSet;
use crate::reader::files::{Disk, Files};
use crate::reader::window::{Input, SharedBuf};
use crate::reader::{Imbalance, Notice, Tally};
use crate::split::codec::{Codec, Malformed, stored};
use crate::split::state::AixState;
use std::io;
use std::path::Path;
use tfbc_vm::Env;

/// An event with its time.
#[derive(Debug, Clone, Copy)]
pub struct TimedEvent<'t> {
    /// The event.
    pub event: RawEvent<'t>,
    /// Time of the event.
    pub time: EventTime,
    /// Index of the event's log, for [`Logs::log`].
    pub log: usize,
    /// Number of CPUs that still report events, in a log with one file per CPU.
    pub reported_cpus: Option<u32>,
}

/// Item read from the logs.
#[derive(Debug)]
pub enum LogItem<'t> {
    /// An event.
    Event(TimedEvent<'t>),
    /// A damaged place, or a warning.
    Notice {
        /// Index of the log.
        log: usize,
        /// The notice.
        notice: Notice,
    },
    /// Another `PASSED` events were skipped.
    Passed,
}

/// Size of a run of events in common encodings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventSpan {
    pub n_events: u64,
    pub n_bytes: usize,
}

/// Position of an event in the retained buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferPos {
    /// Offset of its first byte in the detached buffer.
    pub at: usize,
    pub env: Env,
}

/// Ids of the events that [`Logs::common`] returns.
#[derive(Debug, Clone)]
pub struct CommonIds(Box<SkipPolicy>);

impl CommonIds {
    /// All ids except those in `left`.
    pub fn all_but(left: &[u16]) -> Self {
        let mut policy = Box::<SkipPolicy>::default();
        (0..=u16::MAX).for_each(|id| policy.set(id, SkipAction::Take));
        left.iter().for_each(|id| policy.set(*id, SkipAction::Leave));
        Self(policy)
    }
}

/// Converts the ticks of a run of common events of one log to times.
#[derive(Debug, Clone, Copy)]
pub struct RunTimes {
    scale: TimeScale,
    reported_cpus: Option<u32>,
}

impl RunTimes {
    /// Elapsed time of an event.
    #[inline(always)]
    pub fn elapsed_ns(&self, ticks: u64) -> u64 {
        self.scale.time(ticks).elapsed_ns
    }

    /// Event with its time.
    #[inline(always)]
    pub fn timed<'t>(&self, event: &RawEvent<'t>, ticks: u64) -> TimedEvent<'t> {
        TimedEvent { event: *event, time: self.scale.time(ticks), log: 0, reported_cpus: self.reported_cpus }
    }
}

/// Number of skipped events per [`LogItem::Passed`].
pub const PASSED: u64 = 1 << 14;

/// The logs of one report.
///
/// ```
/// use tfbc::aix::ReadOptions;
/// use tfbc::testing::aix::{LogItem, Logs, Trace};
/// use tfbc::testing::input::Input;
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
    name: String,
    inputs: Vec<MergeInput>,
    infos: Vec<LogInfo>,
    elapsed: Elapsed,
    /// Set for several traces, and for a single trace with pending notices.
    merge: Option<Box<Merge>>,
    /// True if a log has a file per CPU.
    has_cpus: bool,
    /// Ids of the events to return; `None` for all.
    needed: Option<IdSet>,
    n_passed: u64,
    /// State of a report before the part that is read; `None` at the start of the log.
    resumed: Option<Box<AixState>>,
}

/// Position of one or several logs between two events.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogPosition {
    inputs: Vec<InputPosition>,
    elapsed: Elapsed,
    /// State of the merge, if there is one.
    merge: Option<MergePosition>,
}

stored!(LogPosition { inputs, elapsed, merge });

/// Position of one trace.
#[derive(Debug, Clone, Default)]
struct InputPosition {
    /// Position in the file; in a merge, before the next event.
    trace: TracePosition,
    /// Results of the look-ahead at the start of the trace.
    survey: Survey,
    /// CPU whose file it is.
    cpu: Option<u32>,
    /// Index of its log.
    log: u32,
    /// Encoded clock; in a merge, after the next event.
    clock: Vec<u8>,
    /// Id of the last event, and true if the CPU still reports events.
    last: (u16, bool),
    /// Time and CPU of the merge key of the next event. `None` after the last event.
    key: Option<(u64, u64)>,
}

stored!(InputPosition { trace, survey, cpu, log, clock, last, key });

impl LogPosition {
    /// File offset of a single log.
    pub fn offset(&self) -> Option<u64> {
        match &self.inputs[..] {
            [input] => Some(input.trace.offset),
            _ => None,
        }
    }
}

/// A file of a log that is opened at a position.
pub(crate) struct InputToResume<'i> {
    pub name: &'i str,
    pub input: Input,
    pub options: ReadOptions,
}

const NO_FACTORS: &str = "no time factors (hook 00A, kind 25C): one tick counts as one nanosecond";

impl From<Trace> for Logs {
    fn from(trace: Trace) -> Self {
        let clock = clock_of(&trace, None);
        let name = trace.name().to_owned();
        Self::new(name, vec![MergeInput::new(trace, clock, None)], Vec::new())
    }
}

/// Event that was found, but not decoded.
enum FoundEvent {
    /// Its encoding is common.
    Common(FoundCommon),
    Parts(Parts),
}

impl Logs {
    /// Opens a trace; `-` is standard input. The CPU files of a base file are opened too; problems with them are
    /// reported as damage.
    ///
    /// # Errors
    /// The file cannot be read or is not a trace, or a requested CPU has no file.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        Self::open_among(&Disk, path, options)
    }

    /// Like [`Logs::open`], among given files.
    ///
    /// # Errors
    /// As for [`Logs::open`].
    pub fn open_among(files: &dyn Files, path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        Self::with_cpu_files(files, Trace::open_among(files, path, options)?, path, options)
    }

    /// Adds the CPU files of an open trace, if it is a base file.
    ///
    /// # Errors
    /// A requested CPU has no file.
    pub fn with_cpu_files(
        files: &dyn Files,
        trace: Trace,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Self, OpenError> {
        let header = trace.log_header();
        if header.is_some_and(|header| header.is_base()) || !trace.cpu_files().is_empty() {
            return Self::open_cpu_files(files, trace, path, options);
        }
        // If the file of a CPU is opened alone, only its name contains the number.
        let cpu = header.filter(|header| header.is_cpu_file()).and_then(|_| cpu_files::number(path));
        if let (Some(cpu), Some(asked)) = (cpu, &options.cpus)
            && !cpu_files::contains(asked, cpu.into())
        {
            let asked = asked.first().map_or(0, |(first, _)| *first);
            return Err(OpenError::NoCpu { cpu: asked, known: format!("is the file of CPU {cpu}") });
        }
        let clock = clock_of(&trace, None);
        let name = trace.name().to_owned();
        Ok(Self::new(name, vec![MergeInput::new(trace, clock, cpu)], Vec::new()))
    }

    fn open_cpu_files(files: &dyn Files, base: Trace, path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        let mut found = CpuFiles::of(files, &base, path)?;
        if let Some(asked) = &options.cpus {
            let known = found.known();
            found.select(asked).map_err(|cpu| OpenError::NoCpu { cpu, known: format!("has {known}") })?;
        }
        let mut notices = found.damage;
        let survey = *base.survey();
        // The kind of the base file is not forced on the others: a wrong file among them is left out with its own
        // message.
        let part_options = ReadOptions { format: None, cpus: None, ..options.clone() };
        let chunk = chunk(1 + found.files.len());
        let name = base.name().to_owned();
        let clock = clock_of(&base, None);
        let mut inputs = vec![MergeInput::new(base, clock, None)];
        // A missing file of one CPU is damage, not an error: the others are worth a report.
        for (cpu, path) in found.files {
            match open_part(files, &path, inputs[0].trace.kind(), &part_options, chunk) {
                Ok(part) => {
                    let clock = clock_of(&part, Some(&inputs[0].trace));
                    inputs.push(MergeInput::new(part, clock, Some(cpu)));
                }
                Err(why) => {
                    let message = format!("the file of CPU {cpu} is left out: cannot read {}: {why}", path.display());
                    notices.push(Notice::damage(message));
                }
            }
        }
        let lacks_factors =
            |input: &MergeInput| input.trace.survey().first_stamp.is_some() && input.trace.survey().factors.is_none();
        if survey.factors.is_none() && survey.first_stamp.is_none() && inputs.iter().any(lacks_factors) {
            notices.push(Notice::warning(NO_FACTORS));
        }
        Ok(Self::new(name, inputs, notices))
    }

    /// Merges logs by time. With `remove_duplicates`, an event that several logs contain is returned once.
    ///
    /// # Errors
    /// An input is not seekable.
    pub fn merged(logs: Vec<Logs>, remove_duplicates: bool) -> io::Result<Self> {
        let name = logs.iter().map(|log| log.name.as_str()).collect::<Vec<_>>().join(", ");
        let mut inputs = Vec::new();
        let mut notices = Vec::new();
        for (at, log) in logs.into_iter().enumerate() {
            let first = inputs.len();
            let pending = log.merge.map_or_else(Default::default, |merge| merge.notices);
            notices.extend(pending.into_iter().map(|(input, notice)| (first + input, notice)));
            // Logs stay groups: duplicates are compared between logs, never within one.
            for mut input in log.inputs {
                input.log = at;
                inputs.push(input);
            }
        }
        // All buffers together stay below the memory limit, for any number of logs.
        let chunk = chunk(inputs.len());
        inputs.iter_mut().try_for_each(|input| input.trace.set_chunk(chunk))?;
        let mut merged = Self::new(name, inputs, Vec::new());
        if let Some(merge) = &mut merged.merge {
            merge.notices = notices.into();
            merge.duplicates = remove_duplicates.then(Duplicates::default);
        }
        Ok(merged)
    }

    fn new(name: String, inputs: Vec<MergeInput>, notices: Vec<Notice>) -> Self {
        let infos: Vec<LogInfo> = inputs.iter().map(LogInfo::of).collect();
        let n_reporting = inputs.iter().filter(|input| input.cpu.is_some()).count() as u32;
        let notices = notices.into_iter().map(|notice| (0, notice)).collect();
        let merge = Merge::new(notices, n_reporting);
        let merge = (inputs.len() > 1 || !merge.notices.is_empty()).then(|| Box::new(merge));
        Self {
            name,
            elapsed: Elapsed::new(starts_with_trace_on(&inputs)),
            inputs,
            infos,
            merge,
            has_cpus: n_reporting > 0,
            needed: None,
            n_passed: 0,
            resumed: None,
        }
    }

    /// Opens logs at a position.
    ///
    /// # Errors
    /// An input cannot be read, is not a trace, or does not have this position.
    pub(crate) fn at_position(
        name: &str,
        files: Vec<InputToResume<'_>>,
        position: LogPosition,
    ) -> Result<Self, OpenError> {
        let malformed = |what| OpenError::Io(io::Error::new(io::ErrorKind::InvalidData, what));
        let LogPosition { inputs: positions, elapsed, merge } = position;
        if files.is_empty() || files.len() != positions.len() || (files.len() > 1 && merge.is_none()) {
            return Err(malformed("the number of its files is malformed"));
        }
        let starts = merge.as_ref().is_some_and(|merge| !merge.has_begun);
        let (chunk, n_inputs) = (chunk(files.len()), files.len());
        let n_files = |log| positions.iter().filter(|position| position.log == log).count();
        let (mut inputs, mut keys) = (Vec::new(), Vec::new());
        for (at, (file, position)) in files.into_iter().zip(&positions).enumerate() {
            let InputToResume { name, input, options } = file;
            let InputPosition { trace, survey, cpu, log, clock, last, key } = position;
            // A file of one CPU has no factors of its own, unless it was opened alone.
            let warns = cpu.is_none() || n_files(*log) == 1;
            let mut trace = match starts {
                true => Trace::at_start(name, input, &options, *survey, warns)?,
                false => Trace::at_position(name, input, &options, *survey, *trace)?,
            };
            if merge.is_some() {
                trace.set_chunk(chunk)?;
            }
            let trace_clock = clock_of(&trace, None);
            let mut input = MergeInput::new(trace, trace_clock, *cpu);
            input.log = *log as usize;
            Codec::decode(clock, &mut input.clock)
                .map_err(|Malformed| malformed("the state of its clock is malformed"))?;
            if let (false, Some(_)) = (starts, &merge) {
                input.set_last(*last);
                if let Some((time_ns, cpu)) = *key {
                    keys.push(MergeKey { time_ns, cpu, input: at });
                    if !input.find_again()? {
                        return Err(malformed("the next event of a file is not at its position"));
                    }
                }
            }
            inputs.push(input);
        }
        let mut logs = Self::new(name.to_owned(), inputs, Vec::new());
        logs.elapsed = elapsed;
        if let Some(position) = merge {
            let n_reporting = logs.inputs.iter().filter(|input| input.last().1).count() as u32;
            let merge = logs.merge.insert(Box::new(Merge::new(Default::default(), n_reporting)));
            merge.resume(position, keys, n_inputs);
        }
        Ok(logs)
    }

    /// Position after the last returned event, or at the start of a merge. `None` if notices come before the next
    /// event, or a merge does not end there.
    pub(crate) fn position(&mut self) -> Option<LogPosition> {
        let Self { inputs, elapsed, merge, .. } = self;
        let merge_position = match merge {
            Some(merge) => Some(merge.position()?),
            None => None,
        };
        let mut positions = Vec::new();
        for (at, input) in inputs.iter_mut().enumerate() {
            let (survey, cpu, log, last) = (*input.trace.survey(), input.cpu, input.log as u32, input.last());
            let key = merge.as_ref().and_then(|merge| merge.key_of(at)).map(|key| (key.time_ns, key.cpu));
            let trace = match merge {
                Some(_) => input.trace.position_before(),
                None => input.trace.position()?,
            };
            let clock = Codec::encode(&mut input.clock);
            positions.push(InputPosition { trace, survey, cpu, log, clock, last, key });
        }
        Some(LogPosition { inputs: positions, elapsed: elapsed.clone(), merge: merge_position })
    }

    /// Ends a single log at the first event after `n_bytes` bytes have been read. A merge ends before that, and is at
    /// its limit as often as needed to come near.
    pub(crate) fn set_read_limit(&mut self, n_bytes: u64) {
        let read = self.tally().read;
        let Some(merge) = &mut self.merge else { return self.inputs[0].trace.set_read_limit(n_bytes) };
        // Bytes are counted per file, so a merge counts events. Half of the rest is too little rather than too much,
        // and the size of few events says little about the next ones.
        let n_returned = merge.n_returned.max(1);
        let mean = (read / n_returned).max(1);
        let n_left = (n_bytes.saturating_sub(read) / mean / 2).clamp(1, n_returned);
        merge.set_limit(if n_bytes == u64::MAX { n_bytes } else { merge.n_returned.saturating_add(n_left) });
    }

    /// Ends a part of a merge after `n_events` events, and a part of a single log after `n_bytes` bytes.
    pub(crate) fn set_part_limit(&mut self, n_bytes: u64, n_events: u64) {
        match &mut self.merge {
            Some(merge) => merge.set_limit(merge.n_returned.saturating_add(n_events)),
            None => self.inputs[0].trace.set_read_limit(n_bytes),
        }
    }

    /// True if events follow the limit, or a single log ends at it.
    pub(crate) fn is_at_limit(&self) -> bool {
        self.merge.as_ref().map_or_else(|| self.inputs[0].trace.is_at_limit(), |merge| merge.is_at_limit())
    }

    /// True if a merge left out duplicates, and times went back after a border.
    pub(crate) fn has_gone_back(&self) -> bool {
        self.merge.as_ref().is_some_and(|merge| merge.has_gone_back)
    }

    /// Names, inputs and options by which the files can be opened again at a position; `None` if one depends on more than its
    /// bytes.
    pub(crate) fn opened_inputs(&mut self) -> Option<Vec<OpenedInput<'_>>> {
        self.inputs.iter_mut().map(|input| input.trace.opened_input()).collect()
    }

    /// Sets the state of a report before the first event that is read.
    pub(crate) fn resume(&mut self, state: AixState) {
        self.resumed = Some(Box::new(state));
    }

    /// Takes the state of a report before the first event.
    pub(crate) fn take_resumed(&mut self) -> Option<Box<AixState>> {
        self.resumed.take()
    }

    /// Name as the user wrote it, or the names of all merged logs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Properties of one log.
    pub fn log(&self, index: usize) -> &LogInfo {
        &self.infos[index]
    }

    /// Properties of all logs; CPU files count as logs.
    pub fn logs(&self) -> &[LogInfo] {
        &self.infos
    }

    /// Traces of all logs.
    pub fn traces(&self) -> impl Iterator<Item = &Trace> {
        self.inputs.iter().map(|input| &input.trace)
    }

    /// True if all logs have a file per CPU.
    pub fn has_cpu_files(&self) -> bool {
        let mut logs: Vec<(usize, bool)> = self.inputs.iter().map(|input| (input.log, input.cpu.is_some())).collect();
        logs.sort_unstable();
        logs.chunk_by(|one, other| one.0 == other.0).all(|log| log.iter().any(|(_, has_cpu)| *has_cpu))
    }

    /// Total size of all files in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.infos.iter().map(|log| log.size).sum()
    }

    /// Accounting of the bytes read so far.
    pub fn tally(&self) -> Tally {
        self.traces().map(Trace::tally).fold(Tally::default(), |sum, tally| sum + tally)
    }

    /// Number of whole events (returned, skipped, or left out as duplicates), and number of duplicates among them.
    pub fn n_events(&self) -> (u64, u64) {
        let n_found: u64 = self.traces().map(Trace::n_whole).sum();
        let merge = self.merge.as_ref();
        let n_pending = merge.map_or(0, |merge| merge.n_pending());
        (n_found.saturating_sub(n_pending), merge.map_or(0, |merge| merge.n_duplicates))
    }

    /// Number of events up to the last returned item, as [`RawEvent::number`] counts them.
    pub(crate) fn n_numbered(&self) -> u64 {
        match &self.merge {
            Some(merge) if self.infos.len() > 1 => merge.n_returned,
            merge => self.inputs[0].trace.n_events() - merge.as_ref().map_or(0, |merge| merge.n_pending()),
        }
    }

    /// Checks that all bytes and events that were read are accounted for.
    ///
    /// # Errors
    /// The counts do not add up, which is a bug of this library.
    pub fn check(&self, n_formatted: u64, n_filtered: u64) -> Result<(), Imbalance> {
        let (n_read, n_duplicates) = self.n_events();
        let parts = [("formatted", n_formatted), ("filtered out", n_filtered), ("duplicates", n_duplicates)];
        self.tally().check().and(Imbalance::check("events", n_read, &parts))
    }

    /// Number of 32-bit stamps that went back slightly and were replaced by the previous stamp.
    pub fn clamped(&self) -> u64 {
        self.inputs.iter().map(|input| input.clock.clamped()).sum()
    }

    /// Reason why the logs cannot be written as one stream, which has one kernel and one clock.
    pub fn no_stream(&self) -> Option<String> {
        let (first, others) = self.inputs.split_first()?;
        let kernel = |input: &MergeInput| input.trace.kind().kernel();
        let other =
            |input: &&MergeInput| kernel(input) != kernel(first) || input.clock.factors() != first.clock.factors();
        // A stream has one first word and one set of time factors.
        let input = others.iter().find(other)?;
        let (name, other) = (first.trace.name(), input.trace.name());
        Some(if kernel(input) == kernel(first) {
            format!("{name} and {other} have different time factors, and a stream has one clock")
        } else {
            let (bits, others) = (kernel(first).env(), kernel(input).env());
            format!("{name} is of a {bits}-bit kernel and {other} of a {others}-bit one, and a stream is of one kernel")
        })
    }

    /// Skips events of other ids as cheaply as possible. Include hooks 001, 002 and 00A: times and the end of a CPU's
    /// events depend on them.
    pub fn need(&mut self, ids: IdSet) {
        self.needed = Some(ids);
    }

    /// True if several traces are merged, or if one has pending notices.
    pub(crate) fn is_merged(&self) -> bool {
        self.merge.is_some()
    }

    /// Number of skipped events.
    pub fn n_passed(&self) -> u64 {
        self.n_passed
    }

    /// Reads the next event or notice; `None` at the end.
    ///
    /// # Errors
    /// Reading an input failed.
    #[expect(
        clippy::should_implement_trait,
        reason = "an event borrows the reader's buffer, which no Iterator can say"
    )]
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<LogItem<'_>>> {
        if self.needed.is_none()
            && let Some(found) = self.step_fast(|id| id != hooks::UTILITY)
        {
            return Ok(Some(LogItem::Event(self.fast_event(&found))));
        }
        self.next_slow()
    }

    /// Slow path of [`Logs::next`]: any event of any log.
    #[inline(never)]
    fn next_slow(&mut self) -> io::Result<Option<LogItem<'_>>> {
        let (log, merged_ns, found) = loop {
            // A merge has already computed the times, to compare them.
            let (log, merged_ns, parts) = match &mut self.merge {
                Some(merge) => match merge.next(&mut self.inputs)? {
                    MergeStep::Event(head, parts) => (head.input, Some(head.time_ns), parts),
                    MergeStep::Notice(log, mut notice) => {
                        if self.infos.len() > 1 {
                            notice.message = format!("{}: {}", self.infos[log].name, notice.message);
                        }
                        return Ok(Some(LogItem::Notice { log, notice }));
                    }
                    MergeStep::End => return Ok(None),
                },
                None if self.needed.is_none()
                    && let Some(found) = self.inputs[0].trace.find_common() =>
                {
                    break (0, None, FoundEvent::Common(found));
                }
                None => match self.inputs[0].trace.find()? {
                    NextItem::Event(parts) => (0, None, parts),
                    NextItem::Notice(notice) => return Ok(Some(LogItem::Notice { log: 0, notice })),
                    NextItem::End => return Ok(None),
                },
            };
            // Ids are tested before the event is presented: a report of one hook skips most of a trace here.
            if self.needed.as_ref().is_none_or(|ids| ids.contains(parts.id)) {
                break (log, merged_ns, FoundEvent::Parts(parts));
            }
            let MergeInput { trace, clock, .. } = &mut self.inputs[log];
            if merged_ns.is_none() {
                clock.pass(trace.stamp(&parts));
            }
            self.elapsed.pass(log, clock, parts.id);
            self.n_passed += 1;
            // A report of a rare hook reads gigabytes without an event; progress and ^C need a sign of life.
            if self.n_passed.is_multiple_of(PASSED) {
                return Ok(Some(LogItem::Passed));
            }
        };
        if self.needed.is_none() {
            self.allow_fast_steps();
        }
        let MergeInput { trace, clock, cpu, .. } = &mut self.inputs[log];
        let mut event = match found {
            FoundEvent::Common(found) => trace.common_event(&found),
            FoundEvent::Parts(parts) => trace.event(&parts),
        };
        event.cpu = event.cpu.or(cpu.map(u64::from));
        if let Some(merge) = self.merge.as_ref().filter(|_| self.infos.len() > 1) {
            event.number = merge.n_returned;
        }
        let time_ns = merged_ns.unwrap_or_else(|| clock.advance(event.ticks));
        let time = EventTime { time_ns, elapsed_ns: self.elapsed.at(log, clock, event.id, time_ns) };
        if event.id == hooks::UTILITY {
            note_factors(&event, log, clock, &mut self.elapsed);
        }
        let reported_cpus = match &self.merge {
            Some(merge) => self.has_cpus.then_some(merge.n_reporting),
            None => cpu.map(|_| 1),
        };
        Ok(Some(LogItem::Event(TimedEvent { event, time, log, reported_cpus })))
    }

    /// Moves a single log to its next event if it is one of the most frequent ones, `accepts` its id, and
    /// [`Logs::allow_fast_steps`] was called since anything else happened. Its time is [`Logs::fast_time`].
    #[inline(always)]
    pub(crate) fn step_fast(&mut self, accepts: impl FnOnce(u16) -> bool) -> Option<FastEvent> {
        let MergeInput { trace, clock, .. } = self.inputs.first_mut()?;
        let found = trace.step_fast(accepts)?;
        clock.set_ticks(found.ticks);
        Some(found)
    }

    /// Determines how far [`Logs::step_fast`] may step: only in a single log, after the origin of elapsed times.
    pub(crate) fn allow_fast_steps(&mut self) {
        if self.merge.is_none() && self.elapsed.is_known() && self.inputs[0].clock.is_stamped() {
            self.inputs[0].trace.allow_fast_steps();
        }
    }

    /// Position of a single log, to measure the events of [`Logs::step_fast`].
    pub(crate) fn fast_position(&self) -> FastPosition {
        self.inputs[0].trace.fast_position()
    }

    /// Decodes the event to which [`Logs::step_fast`] moved again.
    pub(crate) fn last_fast(&self) -> Option<FastEvent> {
        self.inputs[0].trace.last_fast()
    }

    /// The event to which [`Logs::step_fast`] moved.
    #[inline(always)]
    pub(crate) fn fast_event(&self, found: &FastEvent) -> TimedEvent<'_> {
        let MergeInput { trace, cpu, .. } = &self.inputs[0];
        let event = RawEvent { cpu: cpu.map(u64::from), ..trace.fast_event(found) };
        TimedEvent { event, time: self.fast_time(found), log: 0, reported_cpus: cpu.map(|_| 1) }
    }

    /// Time of an event to which [`Logs::step_fast`] moved.
    #[inline(always)]
    pub(crate) fn fast_time(&self, found: &FastEvent) -> EventTime {
        self.elapsed.time(self.inputs[0].clock.time_ns(found.ticks))
    }

    /// Finds the next item of one log before the merge reaches it. Does not affect [`Logs::next`].
    pub fn look_ahead(&mut self, log: usize) -> io::Result<Ahead> {
        match &mut self.merge {
            Some(merge) => merge.look_ahead(&mut self.inputs, log),
            None => Ok(Ahead::Unknown),
        }
    }

    /// Fast path for a run of buffered events in common encodings: passes those that `policy` selects to `visit`.
    ///
    /// The events of a single trace are in the next `room` bytes of its buffer; to refer to them there, call
    /// [`Logs::retain`] next. [`Logs::next`] continues after the run.
    #[inline(always)]
    pub(crate) fn visit_common(
        &mut self,
        room: usize,
        policy: &SkipPolicy,
        visit: impl FnMut(&TimedEvent<'_>, Option<BufferPos>) -> VisitResult,
    ) -> EventSpan {
        match self.inputs[0].trace.rules().kernel {
            _ if self.merge.is_some() => self.visit_common_merged(|id| policy.of(id), visit),
            Kernel::Bits32 => self.visit_common_of::<false>(room, policy, visit),
            Kernel::Bits64 => self.visit_common_of::<true>(room, policy, visit),
        }
    }

    /// Times of the next events of [`Logs::common`]; `None` if there are several logs, or if the origin of elapsed times
    /// is unknown.
    pub fn run_times(&self) -> Option<RunTimes> {
        if self.merge.is_some() || self.needed.is_some() {
            return None;
        }
        Some(RunTimes { scale: self.time_scale()?, reported_cpus: self.inputs[0].cpu.map(|_| 1) })
    }

    /// Fast path for a log with [`Logs::run_times`]: passes its next events and their ticks to `visit`, those that are
    /// buffered and in common encodings, until one has another id or `visit` returns false, which leaves the event to
    /// [`Logs::next`]. Returns the number of events passed on.
    #[inline(always)]
    pub fn common(&mut self, ids: &CommonIds, mut visit: impl FnMut(&RawEvent<'_>, u64) -> bool) -> u64 {
        let span = self.visit_ticks(
            |id| ids.0.of(id),
            #[inline(always)]
            |event, ticks| if visit(event, ticks) { VisitResult::Next } else { VisitResult::Leave },
        );
        span.n_events
    }

    /// Like [`Logs::visit_common`], but passes the times of events in ticks of [`Logs::time_scale`], which are known
    /// without an arithmetic operation. `action_of` is the policy.
    #[inline(always)]
    pub(crate) fn visit_ticks(
        &mut self,
        action_of: impl Fn(u16) -> SkipAction,
        mut visit: impl FnMut(&RawEvent<'_>, u64) -> VisitResult,
    ) -> EventSpan {
        match self.inputs[0].trace.rules().kernel {
            // A merge compares times in nanoseconds.
            _ if self.merge.is_some() => self.visit_common_merged(
                action_of,
                #[inline(always)]
                |timed, _| visit(&timed.event, timed.time.time_ns),
            ),
            Kernel::Bits32 => self.visit_ticks_of::<false>(action_of, visit),
            Kernel::Bits64 => self.visit_ticks_of::<true>(action_of, visit),
        }
    }

    /// Scale of the ticks that [`Logs::visit_ticks`] passes; `None` while the origin of elapsed times is unknown.
    pub(crate) fn time_scale(&self) -> Option<TimeScale> {
        let factors = if self.merge.is_some() { Factors::default() } else { self.inputs[0].clock.factors() };
        self.elapsed.scale(factors)
    }

    #[inline(always)]
    fn visit_ticks_of<const WIDE: bool>(
        &mut self,
        action_of: impl Fn(u16) -> SkipAction,
        mut visit: impl FnMut(&RawEvent<'_>, u64) -> VisitResult,
    ) -> EventSpan {
        let MergeInput { trace, clock, cpu, .. } = &mut self.inputs[0];
        if !clock.is_stamped() {
            return EventSpan::default();
        }
        let input_cpu = cpu.map(u64::from);
        let before = trace.n_events();
        let n_bytes = trace.visit_common::<WIDE>(
            usize::MAX,
            #[inline(always)]
            |event, position| match action_of(event.id) {
                SkipAction::Leave => VisitResult::Leave,
                SkipAction::Pass => {
                    clock.pass(event.ticks);
                    VisitResult::Next
                }
                SkipAction::Take => {
                    // An event that is left advances the clock again, by nothing.
                    let ticks = match event.ticks {
                        Some(ticks) if WIDE => {
                            clock.set_ticks(ticks);
                            ticks
                        }
                        stamp => clock.advance_ticks(!WIDE, stamp),
                    };
                    visit(&event.raw(WIDE, position, input_cpu), ticks)
                }
            },
        );
        EventSpan { n_events: trace.n_events() - before, n_bytes }
    }

    #[inline(always)]
    fn visit_common_of<const WIDE: bool>(
        &mut self,
        room: usize,
        policy: &SkipPolicy,
        mut visit: impl FnMut(&TimedEvent<'_>, Option<BufferPos>) -> VisitResult,
    ) -> EventSpan {
        let MergeInput { trace, clock, cpu, .. } = &mut self.inputs[0];
        let (input_cpu, elapsed) = (cpu.map(u64::from), &mut self.elapsed);
        let before = trace.n_events();
        let n_bytes = trace.visit_common::<WIDE>(
            room,
            #[inline(always)]
            |event, position| match policy.of(event.id) {
                SkipAction::Leave => VisitResult::Leave,
                SkipAction::Pass => {
                    // Skipped events count for the clock: a 32-bit stamp may wrap between two shown events.
                    clock.pass(event.ticks);
                    elapsed.pass(0, clock, event.id);
                    VisitResult::Next
                }
                SkipAction::Take => {
                    // The clock advances in the order of the trace, also for events that a filter drops later.
                    let ticks = event.ticks;
                    let time_ns = clock.advance_where(!WIDE, ticks);
                    let time = EventTime { time_ns, elapsed_ns: elapsed.at(0, clock, event.id, time_ns) };
                    let raw = event.raw(WIDE, position, input_cpu);
                    let timed = TimedEvent { event: raw, time, log: 0, reported_cpus: input_cpu.map(|_| 1) };
                    visit(&timed, Some(BufferPos { at: position.place, env: event.env }))
                }
            },
        );
        EventSpan { n_events: trace.n_events() - before, n_bytes }
    }

    /// Like [`Logs::visit_common`], for several traces. Their events cannot be retained.
    #[inline(always)]
    fn visit_common_merged(
        &mut self,
        action_of: impl Fn(u16) -> SkipAction,
        mut visit: impl FnMut(&TimedEvent<'_>, Option<BufferPos>) -> VisitResult,
    ) -> EventSpan {
        let mut span = EventSpan::default();
        // Borrowed field by field, because the visitor runs while the merge is borrowed.
        let Self { merge: Some(merge), inputs, infos, elapsed, needed, has_cpus, .. } = self else { return span };
        while let Some((MergeKey { input: log, time_ns, .. }, found)) = merge.next_common(inputs) {
            let input = &mut inputs[log];
            // Events whose id nobody needs only advance the clock.
            let action = if needed.as_ref().is_none_or(|ids| ids.contains(found.id)) {
                action_of(found.id)
            } else {
                SkipAction::Pass
            };
            let visited = match action {
                SkipAction::Leave => VisitResult::Leave,
                SkipAction::Pass => {
                    elapsed.pass(log, &input.clock, found.id);
                    VisitResult::Next
                }
                SkipAction::Take => {
                    let mut event = input.trace.common_event(&found);
                    event.cpu = event.cpu.or(input.cpu.map(u64::from));
                    if infos.len() > 1 {
                        event.number = merge.n_returned + 1;
                    }
                    let time = EventTime { time_ns, elapsed_ns: elapsed.at(log, &input.clock, event.id, time_ns) };
                    let reported_cpus = has_cpus.then_some(merge.n_reporting);
                    visit(&TimedEvent { event, time, log, reported_cpus }, None)
                }
            };
            if visited == VisitResult::Leave {
                break;
            }
            merge.mark_used(input, found.id);
            span.n_events += 1;
            if visited == VisitResult::Last {
                break;
            }
        }
        span
    }

    /// Retains the events of the last run in the buffer, until [`Logs::detach`].
    pub(crate) fn retain(&mut self, span: &EventSpan) {
        self.inputs[0].trace.retain(span.n_bytes);
    }

    /// Gives the window the buffer of an empty batch to read into.
    pub(crate) fn recycle(&mut self, own: &mut SharedBuf) {
        if self.merge.is_none() {
            self.inputs[0].trace.recycle(own);
        }
    }

    /// Moves the buffer with the retained events to a batch.
    pub(crate) fn detach(&mut self, to: &mut SharedBuf) {
        self.inputs[0].trace.detach(to);
    }

    /// True if the retained events should be detached before the next read.
    pub(crate) fn should_detach(&self) -> bool {
        self.inputs[0].trace.should_detach()
    }
}

impl LogInfo {
    fn of(input: &MergeInput) -> Self {
        let trace = &input.trace;
        Self {
            name: trace.name().to_owned(),
            kind: trace.kind(),
            size: trace.size(),
            cpu: input.cpu,
            rules: trace.rules(),
        }
    }
}

/// Creates the clock of a trace. A CPU file without time factors uses its base file's.
fn clock_of(trace: &Trace, base: Option<&Trace>) -> TraceClock {
    let of_base = base.map(Trace::survey);
    let factors = trace.survey().factors.or(of_base.and_then(|survey| survey.factors)).unwrap_or_default();
    TraceClock::new(factors, trace.kind().kernel() == Kernel::Bits32)
        .starting_at(of_base.and_then(|survey| survey.first_stamp))
}

/// Opens the file of one CPU, which must be of the base file's kernel.
fn open_part(
    files: &dyn Files,
    path: &Path,
    base: AixKind,
    options: &ReadOptions,
    chunk: usize,
) -> Result<Trace, String> {
    let mut trace = Trace::open_part(files, path, options).map_err(|error| error.to_string())?;
    let (bits, of_base) = (trace.kind().kernel().env(), base.kernel().env());
    if bits != of_base {
        return Err(format!("it is of a {bits}-bit kernel, and the base file of a {of_base}-bit one"));
    }
    trace.set_chunk(chunk).map_err(|error| error.to_string())?;
    Ok(trace)
}

/// True if the earliest event other than 003 and 00A is a 001.
fn starts_with_trace_on(inputs: &[MergeInput]) -> bool {
    let first = |input: &MergeInput| {
        let event = input.trace.survey().first_event?;
        // Uses a copy of the clock, because the trace itself has not started yet.
        let time_ns = input.clock.clone().advance(event.ticks);
        Some((time_ns, input.cpu.map_or(0, |cpu| u64::from(cpu) + 1), !event.is_trace_on))
    };
    inputs.iter().filter_map(first).min().is_some_and(|(_, _, is_other)| !is_other)
}

impl Logs {
    /// Total size of all files on disk, compressed or not; `None` if it is unknown.
    pub fn file_size(&self) -> Option<u64> {
        self.traces().map(Trace::file_size).sum()
    }

    /// Progress in bytes of the files on disk, compressed or not.
    pub fn progress(&self) -> u64 {
        self.traces().map(Trace::progress).sum()
    }

    /// True if reading may block on another program.
    pub fn is_live(&self) -> bool {
        self.traces().any(Trace::is_live)
    }

    /// True if reading the next event may block.
    ///
    /// # Errors
    /// Reading an input failed.
    pub fn waits(&mut self) -> io::Result<bool> {
        self.inputs.iter_mut().try_fold(false, |waits, input| Ok(waits || input.trace.waits()?))
    }
}

/// Applies time factors to the events after them.
#[cold]
fn note_factors(event: &RawEvent<'_>, log: usize, clock: &mut TraceClock, elapsed: &mut Elapsed) {
    if let Some(EventProperty::Factors(factors)) = EventProperty::parse(event.id, event.wide, event.bytes) {
        clock.set_factors(factors);
        elapsed.rescale(log, clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::window::Window;
    use crate::reader::{Input, TraceKind};
    use std::io::{Cursor, Read};
    use tfbc_vm::Event;

    /// Pseudo-random numbers, determined by a seed.
    struct PseudoRandom(u64);

    impl PseudoRandom {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    fn be64(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn be32(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// Events in every encoding of a kernel, mostly the common ones.
    fn events(wide: bool, n: u64, noise: &mut PseudoRandom) -> Vec<u8> {
        let mut bytes = Vec::new();
        for ticks in 1..=n {
            let (id, len) = (1 + noise.below(4), noise.below(6));
            let (id32, ticks32) = (id as u32, ticks as u32);
            bytes.extend(match (wide, noise.below(40)) {
                // Generic, without a stamp, of a 32-bit program, and with registers and a CPU id.
                (true, 0) => be64(
                    &[
                        &[0xC000_0000_5000_0000 | (8 * len) << 32 | id << 16, 7][..],
                        &[5; 6][..len as usize],
                        &[1, ticks],
                    ]
                    .concat(),
                ),
                (true, 1) => be64(&[0x0000_0008_5000_0000 | id << 16, 7, 2]),
                (true, 2) => be64(&[0xA000_0008_5000_0000 | id << 20, 7, 3, ticks]),
                (true, 3) => be64(&[0x9801_0008_5000_0000 | id << 16, 7, 4, ticks, 1, 2, 3]),
                // Larger than most chunks.
                (true, 4) if noise.below(8) == 0 => {
                    be64(&[&[0xC000_1000_5000_0000 | id << 16, 7][..], &[ticks; 512], &[5, ticks]].concat())
                }
                (true, _) => be64(
                    &[&[0x8000_0000_5000_0000 | (8 * len) << 32 | id << 16][..], &[7; 6][..len as usize], &[6, ticks]]
                        .concat(),
                ),
                (false, 0) => be32(&[0x5008_0006 | id32 << 20, 7, 0x0102_0304, 0x0506_0000, 1, ticks32]),
                (false, 1) => be32(&[0x5002_0000 | id32 << 20, 7, 2]),
                // Event of a 64-bit program on a 32-bit kernel.
                (false, 2) => be32(&[0x00B8_000C, 0x8000_0008, 0x5000_0000 | id32 << 16, 0, 9, 3, ticks32]),
                (false, 4) if noise.below(8) == 0 => {
                    be32(&[&[0x5008_0800 | id32 << 20, 7][..], &[ticks32; 512], &[5, ticks32]].concat())
                }
                (false, _) => be32(
                    &[&[0x5008_0000 | id32 << 20 | (len as u32 + 1) << 16][..], &[7; 6][..len as usize], &[6, ticks32]]
                        .concat(),
                ),
            });
        }
        bytes
    }

    /// A log file that has wrapped, so that its areas are not read in the order of the file.
    fn log_file(wide: bool, noise: &mut PseudoRandom) -> Vec<u8> {
        let areas: Vec<Vec<u8>> = [90, 5, 0, 60, 30, 1, 80].map(|n| events(wide, n, noise)).into();
        let mut head = be32(&[if wide { 0xEFDF_1113 } else { 0xEFDF_1112 }, areas.len() as u32 - 1, 3, 0, 1, 0, 0]);
        if wide {
            head.extend([0; 4]);
        }
        let row = if wide { 16 } else { 8 };
        let (mut at, mut body) = (head.len() + row * areas.len(), Vec::new());
        for area in &areas {
            let (offset, len) = (if area.is_empty() { 0 } else { at }, area.len());
            head.extend(if wide { be64(&[offset as u64, len as u64]) } else { be32(&[offset as u32, len as u32]) });
            at += len;
            body.extend_from_slice(area);
        }
        [head, body].concat()
    }

    /// Event as a reader returns it: number, offset, id, time, bytes, and environment.
    type EventFacts = (u64, u64, u16, EventTime, Vec<u8>, Env);

    fn env(bytes: &[u8], wide: bool) -> Env {
        Event { bytes, wide, record: None, time_ns: 0, offset: 0 }.env()
    }

    fn facts(timed: &TimedEvent<'_>) -> EventFacts {
        let RawEvent { number, offset, id, bytes, wide, .. } = timed.event;
        (number, offset, id, timed.time, bytes.to_vec(), env(bytes, wide))
    }

    /// Reads all events through the slow path.
    fn one_by_one(mut logs: Logs) -> (Vec<EventFacts>, Vec<String>) {
        let (mut all, mut notices) = (Vec::new(), Vec::new());
        while let Some(item) = logs.next().unwrap() {
            match item {
                LogItem::Event(timed) => all.push(facts(&timed)),
                LogItem::Notice { notice, .. } => notices.push(notice.message),
                LogItem::Passed => {}
            }
        }
        (all, notices)
    }

    /// Reads all events as batches of random lengths.
    fn in_batches(
        mut logs: Logs,
        policy: &SkipPolicy,
        n_owners: usize,
        noise: &mut PseudoRandom,
    ) -> (Vec<EventFacts>, Vec<String>) {
        let (mut all, mut notices) = (Vec::new(), Vec::new());
        let mut owners: Vec<SharedBuf> = (0..n_owners).map(|_| SharedBuf::default()).collect();
        for turn in 0.. {
            let taken = &mut owners[turn % n_owners];
            let (first, max) = (all.len(), [1, 3, 40, 1000][noise.below(4) as usize]);
            let mut places = Vec::new();
            logs.recycle(taken);
            let ended = loop {
                let span = logs.visit_common(1 << 20, policy, |timed, place| {
                    let place = place.unwrap();
                    places.push((all.len(), place, timed.event.bytes.len()));
                    let (number, offset, id, time, ..) = facts(timed);
                    all.push((number, offset, id, time, Vec::new(), place.env));
                    if all.len() - first >= max { VisitResult::Last } else { VisitResult::Next }
                });
                if span.n_events > 0 {
                    logs.retain(&span);
                }
                if all.len() - first >= max || logs.should_detach() {
                    break false;
                }
                match logs.next().unwrap() {
                    Some(LogItem::Event(timed)) => all.push(facts(&timed)),
                    Some(LogItem::Notice { notice, .. }) => notices.push(notice.message),
                    Some(LogItem::Passed) => {}
                    None => break true,
                }
            };
            logs.detach(taken);
            for (at, BufferPos { at: place, .. }, len) in places {
                assert_eq!(taken.offset + place as u64, all[at].1);
                all[at].4 = taken.bytes[place..][..len].to_vec();
            }
            if ended {
                break;
            }
        }
        assert!(logs.tally().check().is_ok());
        (all, notices)
    }

    /// Reader that returns pieces of random lengths.
    struct Pieces(Cursor<Vec<u8>>, PseudoRandom, u64);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = into.len().min(1 + self.1.below(self.2) as usize);
            self.0.read(&mut into[..n])
        }
    }

    #[test]
    fn events_stay_in_place_until_they_are_handed_over() {
        let mut noise = PseudoRandom(7);
        for case in 0..60 {
            let wide = case % 2 == 0;
            let mut bytes = match case % 3 {
                0 => log_file(wide, &mut noise),
                _ => [
                    &[0xEF, 0xDF, 0x11, if wide { 0x14 } else { 0 }][..if wide { 4 } else { 0 }],
                    &events(wide, 300, &mut noise),
                ]
                .concat(),
            };
            if case % 5 == 4 {
                // Damage in the middle, with valid events after it.
                let at = bytes.len() / 2;
                bytes[at..at + 200].fill(0xFF);
            }
            let kind = match (case % 3, wide) {
                (0, true) => AixKind::Log64,
                (0, false) => AixKind::Log32,
                (_, true) => AixKind::Stream64,
                (_, false) => AixKind::Stream32,
            };
            let read = |input, chunk| {
                let options = ReadOptions { format: Some(TraceKind::Aix(kind)), ..ReadOptions::default() };
                Logs::from(Trace::from_window("x", Window::in_pieces(input, chunk), &options).unwrap())
            };
            let expected = one_by_one(read(Input::from_bytes(bytes.clone()), 1 << 20));
            assert!(expected.0.len() > 200, "case {case}");
            let mut policy = SkipPolicy::default();
            (0..=u16::MAX)
                .for_each(|id| policy.set(id, if id & 0x30 == 0x30 { SkipAction::Leave } else { SkipAction::Take }));
            for chunk in [16, 100, 700, 5000, 1 << 20] {
                let n_owners = 1 + noise.below(3) as usize;
                let file = Input::Seekable(Box::new(Cursor::new(bytes.clone())));
                for input in [file, Input::from_bytes(bytes.clone())] {
                    let found = in_batches(read(input, chunk), &policy, n_owners, &mut noise);
                    assert!(found == expected, "case {case}, chunk {chunk}, from a file or memory");
                }
                for piece in [1, 37, 3000] {
                    let pieces = Pieces(Cursor::new(bytes.clone()), PseudoRandom(chunk as u64), piece);
                    let input = Input::from_read(pieces).unwrap();
                    let (events, _) = in_batches(read(input, chunk), &policy, n_owners, &mut noise);
                    assert!(events == expected.0, "case {case}, chunk {chunk}, from a pipe by {piece}");
                }
            }
        }
    }

    /// Several traces of one kernel, some of them CPU files, with all kinds of events, tracing switched off and on, and
    /// damage.
    fn several(wide: bool, seed: u64, chunk: usize) -> Logs {
        let mut noise = PseudoRandom(seed);
        let options = |kind| ReadOptions { format: Some(TraceKind::Aix(kind)), ..ReadOptions::default() };
        let input = |at: u32, noise: &mut PseudoRandom| {
            let magic = &[0xEF, 0xDF, 0x11, 0x14][..if wide { 4 } else { 0 }];
            let mut bytes = [magic, &events(wide, 100 + noise.below(100), noise)].concat();
            let off_and_on = |id: u64| match wide {
                true => be64(&[0x8000_0000_0000_0000 | id << 20, 6, 90 + id]),
                false => be32(&[(id as u32) << 20 | 0x9_0000, 6, 90 + id as u32]),
            };
            bytes.extend([off_and_on(2), off_and_on(1), events(wide, 100, noise)].concat());
            if at == 1 {
                let middle = bytes.len() / 2;
                bytes[middle..middle + 50].fill(0xFF);
            }
            let window = Window::in_pieces(Input::from_bytes(bytes), chunk);
            let kind = if wide { AixKind::Stream64 } else { AixKind::Stream32 };
            let trace = Trace::from_window("x", window, &options(kind)).unwrap();
            let clock = clock_of(&trace, None);
            MergeInput::new(trace, clock, (at > 1).then_some(at))
        };
        let inputs = (0..5).map(|at| input(at, &mut noise)).collect();
        Logs::new("several".to_owned(), inputs, Vec::new())
    }

    #[test]
    fn merging_runs_and_single_events_is_equal() {
        type Merged = (usize, Option<u64>, Option<u32>, EventFacts);
        let of = |timed: &TimedEvent<'_>| (timed.log, timed.event.cpu, timed.reported_cpus, facts(timed));
        let mut noise = PseudoRandom(3);
        for case in 0..40 {
            let (wide, chunk) = (case % 2 == 0, [64, 700, 1 << 20][case as usize % 3]);
            let removes_duplicates = case % 5 == 4;
            let needed = (case % 4 == 3).then(|| {
                let mut ids = IdSet::default();
                [0x0010, 0x0020, 0x5001, 0x5010, 0x5003, 0x5030].into_iter().for_each(|id| ids.insert(id));
                ids
            });
            let read = |policy: Option<&SkipPolicy>, noise: &mut PseudoRandom| {
                let mut logs = several(wide, case, chunk);
                if let Some(ids) = &needed {
                    logs.need(ids.clone());
                }
                if removes_duplicates && let Some(merge) = &mut logs.merge {
                    merge.duplicates = Some(Duplicates::default());
                }
                let (mut all, mut notices, mut n_in_rows) = (Vec::<Merged>::new(), Vec::new(), 0);
                loop {
                    if let Some(policy) = policy {
                        let span = logs.visit_common(1 << 20, policy, |timed, _| {
                            if noise.below(20) == 0 {
                                return VisitResult::Leave;
                            }
                            all.push(of(timed));
                            if noise.below(20) == 0 { VisitResult::Last } else { VisitResult::Next }
                        });
                        n_in_rows += span.n_events;
                    }
                    match logs.next().unwrap() {
                        Some(LogItem::Event(timed)) => all.push(of(&timed)),
                        Some(LogItem::Notice { notice, .. }) => notices.push((all.len(), notice.message)),
                        Some(LogItem::Passed) => {}
                        None => break,
                    }
                }
                assert!(logs.tally().check().is_ok());
                let (n_events, _) = logs.n_events();
                (all, notices, n_events, n_in_rows)
            };
            let expected = read(None, &mut noise);
            assert!(expected.0.len() > 100, "case {case}");
            assert!(expected.0.iter().any(|(_, _, cpus, _)| *cpus < Some(3)), "case {case}");
            let mut policy = SkipPolicy::default();
            (0..=u16::MAX)
                .for_each(|id| policy.set(id, if id & 0x30 == 0x30 { SkipAction::Leave } else { SkipAction::Take }));
            let found = read(Some(&policy), &mut noise);
            // Duplicates are detected on the slow path only.
            let many = if removes_duplicates { found.3 == 0 } else { found.3 > expected.2 / 2 };
            assert!(many, "case {case}: {} of {} in rows", found.3, expected.2);
            assert!((found.0, found.1, found.2) == (expected.0, expected.1, expected.2), "case {case}");
        }
    }

    #[test]
    fn a_slow_pipe_fills_the_buffer_before_handover() {
        let event = be64(&[0x8000_0008_5000_0000, 1, 2, 3]);
        let bytes = [vec![0xEF, 0xDF, 0x11, 0x14], event.repeat(1000)].concat();
        let pieces = Pieces(Cursor::new(bytes), PseudoRandom(1), 40);
        let window = Window::in_pieces(Input::from_read(pieces).unwrap(), 8 << 10);
        let mut logs = Logs::from(Trace::from_window("x", window, &ReadOptions::default()).unwrap());
        let mut policy = SkipPolicy::default();
        (0..=u16::MAX).for_each(|id| policy.set(id, SkipAction::Take));
        let (mut taken, mut counts) = (SharedBuf::default(), Vec::new());
        loop {
            let (mut n, mut ended) = (0, false);
            logs.recycle(&mut taken);
            while !ended {
                let span = logs.visit_common(1 << 20, &policy, |_, _| VisitResult::Next);
                if span.n_events > 0 {
                    logs.retain(&span);
                }
                n += span.n_events;
                if logs.should_detach() {
                    break;
                }
                match logs.next().unwrap() {
                    Some(LogItem::Event(_)) => n += 1,
                    Some(_) => {}
                    None => ended = true,
                }
            }
            logs.detach(&mut taken);
            counts.push(n);
            if ended {
                break;
            }
        }
        assert_eq!(counts.iter().sum::<u64>(), 1000);
        assert!(counts[..counts.len() - 1].iter().all(|n| *n >= 100), "half of the buffer at least: {counts:?}");
    }

    #[test]
    fn unaccounted_events_are_an_imbalance() {
        let event = [0x40, 0, 0, 0, 0x50, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let bytes = [&[0xEF, 0xDF, 0x11, 0x14], &event[..], &event].concat();
        let trace = Trace::from_input("x", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
        let mut logs = Logs::from(trace);
        while logs.next().unwrap().is_some() {}
        assert_eq!((logs.check(2, 0), logs.check(1, 1)), (Ok(()), Ok(())));
        assert!(logs.check(1, 0).is_err() && logs.check(2, 1).is_err());
    }
}
