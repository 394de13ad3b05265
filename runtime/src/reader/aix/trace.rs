//! An open AIX trace: its events in reading order, and notices at damaged places.

mod common;
mod plausibility;
mod resync;
mod salvage;

pub(super) use common::FoundCommon;
pub(crate) use common::{FastEvent, FastPosition, SkipAction, SkipPolicy, VisitResult};

use super::clock::Factors;
use super::hooks;
use super::internal::EventProperty;
use super::log_layout::{self, ClaimedRanges, EventRegion, LogHeader};
use super::raw_event::RawEvent;
use super::sniff::{AixKind, Sniffed, compressed, format_file, is_text, sniff};
use super::step::{CpuidWord, Fault, MAX_GENERIC, Parts, Step, StepRules, present};
use crate::reader::files::{Disk, Files};
use crate::reader::window::{Input, Packing, Window};
use crate::reader::{MaxRatio, Notice, Tally, TraceKind};
use crate::split::codec::{SPLIT_MAGIC, stored};
use plausibility::{CLEAN, JudgedPositions, SURE};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::Path;

/// Largest number of byte ranges that a notice lists.
const MAX_NAMED: usize = 8;

/// Number that no count of events of a file reaches.
pub(super) const MAX_NUMBER: u64 = 1 << 60;

/// Largest number of CPU files that a base file may name; AIX has at most as many CPUs.
const MAX_CPU_FILES: usize = 1024;

/// Number of bytes that contain any whole event, unless longer events than a trace buffer allows are accepted.
const LARGE_EVENT: usize = 2 * MAX_GENERIC;

/// Options for reading traces of both systems. Most are for AIX.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Kind of the trace; `None` to detect it.
    pub format: Option<TraceKind>,
    /// Position of the CPU id in events that have one.
    pub cpuid_word: CpuidWord,
    /// True to accept generic events longer than a trace buffer allows.
    pub lenient: bool,
    /// True if the data word of a 32-bit program's generic hook in a 64-bit trace has 4 bytes, otherwise 8.
    pub short_generic_word: bool,
    /// True to follow a growing file: reading waits at its end, after all complete events were returned.
    pub follow: bool,
    /// CPUs whose files are read, as inclusive ranges, for a log with one file per CPU; `None` for all.
    pub cpus: Option<Vec<(u64, u64)>>,
    /// Place where reading continues after a malformed event.
    pub after_damage: AfterDamage,
    /// True to search for events in the bytes of a log that its header does not refer to.
    pub salvage: bool,
    /// True to also read the slots of QNX records, for `traceprinter -v`.
    pub slots: bool,
    /// True to read QNX logs as traceprinter 1.02 does: it refuses logs of versions before 1.01, and reads slots that are
    /// out of step unchanged.
    pub as_traceprinter_1_02: bool,
    /// Largest decompression ratio of compressed files.
    pub max_ratio: MaxRatio,
}

/// Place where reading continues after a malformed event of unknown size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterDamage {
    /// At the next eight valid events, or at a log's next entry.
    #[default]
    Resync,
    /// At a log's next entry. A stream ends there.
    NextEntry,
}

/// Reason why an AIX trace cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be opened or read.
    Io(io::Error),
    /// The input is empty, and no kind was given.
    Empty,
    /// A log of AIX 3, whose layout is not published.
    Aix3,
    /// The file is of another kind: a text with its name and the command to use for it.
    Other(&'static str),
    /// The file does not start like a trace.
    Unknown,
    /// A log cannot be followed, because only streams grow at their end.
    CannotFollow(AixKind),
    /// A requested CPU has no file.
    NoCpu {
        /// The requested CPU.
        cpu: u64,
        /// CPUs with a file.
        known: String,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(error) => error.fmt(f),
            OpenError::Empty => f.write_str("it is empty; use --format stream32 to read it as a trace without events"),
            OpenError::Aix3 => f.write_str("a log of AIX 3 (EFDF1111), whose layout is not public"),
            OpenError::NoCpu { cpu, known } => write!(f, "found no events of CPU {cpu}; the trace {known}"),
            OpenError::Other(what) => write!(f, "not a trace but a {what}"),
            OpenError::CannotFollow(kind) => write!(
                f,
                "an {kind} cannot be followed, because its header and buffers are overwritten: follow a stream, such as that of `trace -o -`"
            ),
            OpenError::Unknown => f.write_str(
                "not a proper trace file: no known first word, no header of a QNX log, and no 32-bit stream that begins with hook 001, 003 or \
                 00A and whose events are valid; --format stream32 reads it anyway",
            ),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        OpenError::Io(error)
    }
}

/// Item read from a trace.
#[derive(Debug)]
pub enum AixItem<'t> {
    /// An event.
    Event(RawEvent<'t>),
    /// A damaged place, or a warning.
    Notice(Notice),
}

stored!(Survey { factors, first_stamp, first_event, traced_cpus });

stored!(FirstEvent { is_trace_on, ticks });

/// Name, input and options of a trace that is open.
pub(crate) struct OpenedInput<'t> {
    pub name: &'t str,
    pub input: &'t mut Input,
    pub options: ReadOptions,
}

/// Position of a trace between two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TracePosition {
    /// Events before it, malformed ones included.
    number: u64,
    /// Malformed and truncated events before it.
    n_malformed: u64,
    /// File offset.
    pub offset: u64,
    /// Number of areas that were begun.
    n_areas: u64,
    /// True if the last of these areas has not ended.
    in_area: bool,
}

stored!(TracePosition { number, n_malformed, offset, n_areas, in_area }
    where |position| position.n_malformed <= position.number && position.number < MAX_NUMBER);

/// Results of the look-ahead at the start of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Survey {
    /// First time factors, which apply to the events before them too.
    pub factors: Option<Factors>,
    /// First time stamp.
    pub first_stamp: Option<u64>,
    /// First event other than 003 and 00A.
    pub first_event: Option<FirstEvent>,
    /// Number of traced CPUs, if the trace contains it.
    pub traced_cpus: Option<u32>,
}

/// First event after those about the trace itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FirstEvent {
    /// True for hook 001, which is the origin of elapsed time.
    pub is_trace_on: bool,
    /// Raw time stamp.
    pub ticks: Option<u64>,
}

/// File of one CPU, as the base file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CpuFile {
    pub cpu: u32,
    /// Path on the traced system.
    pub name: Vec<u8>,
}

/// A range of events to read, or the reason why it is left out.
#[derive(Debug, Clone, Copy)]
struct PlannedRange {
    what: RangeKind,
    start: u64,
    end: u64,
    /// End according to the header, if the file ends before it.
    cut_from: Option<u64>,
    refused: Option<Refusal>,
}

/// Kind of an area, for messages.
#[derive(Debug, Clone, Copy)]
enum RangeKind {
    Stream,
    InitialConditions,
    Entry(usize),
    /// Events that no entry of the header refers to.
    Salvaged,
}

impl fmt::Display for RangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangeKind::Stream => f.write_str("the stream"),
            RangeKind::InitialConditions => f.write_str("the ic area"),
            RangeKind::Entry(at) => write!(f, "entry {at}"),
            RangeKind::Salvaged => f.write_str("a run of events that no entry refers to"),
        }
    }
}

/// Reason why an area of a log is left out.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    /// It starts after the end of the file.
    Beyond,
    /// It overlaps the area with these offsets.
    Overlap(u64, u64),
}

pub(super) enum NextItem {
    Event(Parts),
    Notice(Notice),
    End,
}

/// An open AIX trace.
///
/// ```
/// use tfbc::aix::ReadOptions;
/// use tfbc::testing::aix::{AixItem, Trace};
/// use tfbc::testing::input::Input;
/// let bytes = [0xef, 0xdf, 0x11, 0x14, 0, 0, 0, 0, 0x50, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0x1a, 0x2b];
/// let mut trace = Trace::from_input("x", Input::from_bytes(bytes), &ReadOptions::default())?;
/// let Some(AixItem::Event(event)) = trace.next()? else { panic!() };
/// assert_eq!((event.id, event.tid, event.offset), (0x5000, 0x1a2b, 4));
/// assert!(trace.next()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trace {
    name: String,
    kind: AixKind,
    size: Option<u64>,
    rules: StepRules,
    header: Option<LogHeader>,
    window: Window,
    areas: Vec<PlannedRange>,
    /// Index of the next area.
    next_area: usize,
    in_area: bool,
    /// Size of the returned events that are still in the window. [`Trace::step_fast`] leaves several there.
    pending: usize,
    /// Size of the last of them.
    last: usize,
    /// Offset in the window's buffer before which an event may begin that [`Trace::step_fast`] moves to; 0 if nothing
    /// has been checked since the window, its area, the notices or the limit changed.
    fast_end: usize,
    number: u64,
    scratch: Vec<u8>,
    notices: VecDeque<Notice>,
    survey: Survey,
    cpu_files: Vec<CpuFile>,
    tally: Tally,
    after_damage: AfterDamage,
    salvage: bool,
    judged: JudgedPositions,
    /// Number of malformed and truncated events.
    n_malformed: u64,
    /// Byte ranges of a log that no area contains.
    outside: Vec<(u64, u64)>,
    /// True if the end of a compressed or growing file has been reported.
    ending_reported: bool,
    /// Number of bytes of [`Tally::read`] after which the trace ends, at the next event; `u64::MAX` for all.
    read_limit: u64,
    /// Whole events before the part that is read.
    n_whole_before: u64,
}

impl Trace {
    /// Opens a trace; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is not a trace.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        Self::open_among(&Disk, path, options)
    }

    /// Like [`Trace::open`], among given files.
    ///
    /// # Errors
    /// The file cannot be read, or is not a trace.
    pub fn open_among(files: &dyn Files, path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        let input = if options.follow { Input::follow(path)? } else { files.open(path)? }.within(options.max_ratio);
        Self::from_input(path.to_string_lossy(), input, options)
    }

    /// Opens a trace from any input. `name` is the value of `$LOGFILE`.
    ///
    /// # Errors
    /// The input cannot be read, or is not a trace.
    pub fn from_input(name: impl Into<String>, input: Input, options: &ReadOptions) -> Result<Self, OpenError> {
        Self::from_window(name, Window::new(input), options)
    }

    /// Opens a trace from a window at the start of its input.
    pub(in crate::reader) fn from_window(
        name: impl Into<String>,
        window: Window,
        options: &ReadOptions,
    ) -> Result<Self, OpenError> {
        let mut trace = Self::plan(name.into(), window, options, None)?;
        trace.warn_of_missing_factors();
        Ok(trace)
    }

    /// Opens a trace whose survey is known, at its start. `warns` is true if missing time factors cause a warning.
    pub(super) fn at_start(
        name: &str,
        input: Input,
        options: &ReadOptions,
        survey: Survey,
        warns: bool,
    ) -> Result<Self, OpenError> {
        let mut trace = Self::plan(name.to_owned(), Window::new(input), options, Some(survey))?;
        if warns {
            trace.warn_of_missing_factors();
        }
        Ok(trace)
    }

    /// Opens a trace at a position. `survey` has the results of an earlier look-ahead.
    ///
    /// # Errors
    /// The input cannot be read, is not a trace, or does not have this position.
    pub(in crate::reader) fn at_position(
        name: impl Into<String>,
        input: Input,
        options: &ReadOptions,
        survey: Survey,
        position: TracePosition,
    ) -> Result<Self, OpenError> {
        let mut trace = Self::plan(name.into(), Window::new(input), options, Some(survey))?;
        let TracePosition { number, n_malformed, offset, n_areas, in_area } = position;
        let area = (n_areas as usize).checked_sub(1).and_then(|last| trace.areas.get(last)).copied();
        let is_inside = |area: &PlannedRange| area.refused.is_none() && (area.start..=area.end).contains(&offset);
        let is_known = match area {
            Some(area) => !in_area || is_inside(&area),
            None => n_areas == 0 && !in_area,
        };
        let is_outside = trace.size.is_none_or(|size| offset > size) || n_areas > trace.areas.len() as u64;
        if !is_known || is_outside {
            let message = format!("offset {offset:#x} is not between two events");
            return Err(OpenError::Io(io::Error::new(io::ErrorKind::InvalidData, message)));
        }
        if let Some(area) = area.filter(|_| in_area) {
            trace.window.set_area_end(area.end);
            trace.window.seek(offset)?;
        }
        (trace.next_area, trace.in_area) = (n_areas as usize, in_area);
        (trace.number, trace.n_malformed, trace.n_whole_before) = (number, n_malformed, number - n_malformed);
        // Notices and bytes before the position belong to earlier parts.
        trace.notices.clear();
        trace.tally = Tally::default();
        Ok(trace)
    }

    /// Position after the last returned event; `None` if notices come before the next one.
    pub(super) fn position(&mut self) -> Option<TracePosition> {
        self.consume_pending();
        let Self { number, n_malformed, next_area, in_area, .. } = *self;
        let offset = self.window.offset();
        let position = TracePosition { number, n_malformed, offset, n_areas: next_area as u64, in_area };
        self.notices.is_empty().then_some(position)
    }

    /// Position before the event that was found last and not returned.
    pub(super) fn position_before(&self) -> TracePosition {
        let Self { number, n_malformed, next_area, in_area, .. } = *self;
        let number = number - u64::from(self.pending > 0);
        TracePosition { number, n_malformed, offset: self.offset(), n_areas: next_area as u64, in_area }
    }

    /// Name, input and options by which the trace can be opened again at a position; `None` if it depends on more than
    /// its bytes.
    pub(super) fn opened_input(&mut self) -> Option<OpenedInput<'_>> {
        self.fast_end = 0;
        if self.salvage {
            return None;
        }
        let StepRules { cpuid_word, lenient, short_generic_word, .. } = self.rules;
        let options = ReadOptions {
            format: Some(TraceKind::Aix(self.kind)),
            cpuid_word,
            lenient,
            short_generic_word,
            after_damage: self.after_damage,
            ..ReadOptions::default()
        };
        Some(OpenedInput { name: &self.name, input: self.window.input_mut(), options })
    }

    /// True if the trace has reached its limit.
    pub(super) fn is_at_limit(&self) -> bool {
        self.tally().read >= self.read_limit
    }

    /// Ends the trace at the first event after `n_bytes` bytes have been read.
    pub(in crate::reader) fn set_read_limit(&mut self, n_bytes: u64) {
        self.fast_end = 0;
        self.read_limit = n_bytes;
    }

    /// Opens one of several files of a log. Its time factors may be in another file.
    pub(super) fn open_part(files: &dyn Files, path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        Self::plan(
            path.to_string_lossy().into_owned(),
            Window::new(files.open(path)?.within(options.max_ratio)),
            options,
            None,
        )
    }

    /// Opens a trace. `survey` has the results of an earlier look-ahead, if there was one.
    fn plan(
        name: String,
        mut window: Window,
        options: &ReadOptions,
        survey: Option<Survey>,
    ) -> Result<Self, OpenError> {
        let mut size = window.input_mut().size()?;
        // A kind that the user names takes precedence, because a 32-bit stream cannot be recognised by its first word.
        let kind = match options.format {
            Some(TraceKind::Aix(kind)) => kind,
            Some(TraceKind::Kev) | None => find_kind(&mut window)?,
        };
        // A log is written in a ring, so its newest events are not at the end of the file.
        if kind.is_log() && options.follow {
            return Err(OpenError::CannotFollow(kind));
        }
        // The entries of a log need seeking, which a pipe cannot do.
        if kind.is_log() && size.is_none() {
            window = window.spool()?;
            size = window.input_mut().size()?;
        }
        let rules = StepRules {
            kernel: kind.kernel(),
            cpuid_word: options.cpuid_word,
            lenient: options.lenient,
            short_generic_word: options.short_generic_word,
        };
        let mut trace = Self {
            name,
            kind,
            size,
            rules,
            header: None,
            window,
            areas: Vec::new(),
            next_area: 0,
            in_area: false,
            pending: 0,
            last: 0,
            fast_end: 0,
            number: 0,
            scratch: Vec::new(),
            notices: VecDeque::new(),
            survey: Survey::default(),
            cpu_files: Vec::new(),
            tally: Tally::default(),
            after_damage: options.after_damage,
            salvage: options.salvage,
            judged: JudgedPositions::default(),
            n_malformed: 0,
            outside: Vec::new(),
            ending_reported: false,
            read_limit: u64::MAX,
            n_whole_before: 0,
        };
        if kind.is_log() {
            trace.plan_log()?
        } else {
            trace.plan_stream()?
        }
        match survey {
            Some(survey) => trace.survey = survey,
            None => trace.look_ahead(options.follow)?,
        }
        Ok(trace)
    }

    /// Name as the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kind of the trace.
    pub fn kind(&self) -> AixKind {
        self.kind
    }

    /// Size of the unpacked file in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// True if reading may block on another program.
    pub fn is_live(&self) -> bool {
        self.window.is_live()
    }

    /// True if reading the next event may block: it is not buffered, and another program writes the trace. Bytes that
    /// are available without waiting are read first.
    ///
    /// # Errors
    /// Reading the input failed.
    pub fn waits(&mut self) -> io::Result<bool> {
        if !self.window.is_live() || !self.in_area || !self.notices.is_empty() {
            return Ok(false);
        }
        self.fast_end = 0;
        loop {
            let left = &self.window.bytes()[self.pending..];
            let needs_more = match self.rules.step(left) {
                // A short event of this size is damage, not the start of a longer one.
                Step::Short(_) => left.len() < LARGE_EVENT || self.rules.lenient,
                // The next position with valid events depends on bytes that have not arrived.
                Step::Malformed { size: None, .. } => return Ok(self.after_damage == AfterDamage::Resync),
                _ => false,
            };
            if !needs_more || self.window.may_wait() {
                return Ok(needs_more);
            }
            if !self.window.fill()? {
                return Ok(false);
            }
        }
    }

    /// Compression of the file; `None` if it is not compressed.
    pub fn packing(&self) -> Option<Packing> {
        self.window.packing()
    }

    /// Size of the file on disk, compressed or not; `None` if it is unknown.
    pub fn file_size(&self) -> Option<u64> {
        self.size.or_else(|| self.packing()?.size)
    }

    /// Progress in bytes of the file on disk, compressed or not.
    pub fn progress(&self) -> u64 {
        self.window.progress()
    }

    /// Header of a log.
    pub fn log_header(&self) -> Option<&LogHeader> {
        self.header.as_ref()
    }

    /// Results of the look-ahead at the start.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// CPU files that a base file names.
    pub(super) fn cpu_files(&self) -> &[CpuFile] {
        &self.cpu_files
    }

    /// Layout of the events.
    pub fn rules(&self) -> StepRules {
        self.rules
    }

    /// Sets the size of reads in bytes.
    pub(super) fn set_chunk(&mut self, bytes: usize) -> io::Result<()> {
        self.fast_end = 0;
        self.window.set_chunk(bytes)
    }

    /// Accounting of the bytes before the last returned event.
    pub fn tally(&self) -> Tally {
        let n_passed = self.n_passed() as u64;
        Tally { read: self.tally.read + n_passed, events: self.tally.events + n_passed, ..self.tally }
    }

    /// Number of events so far, malformed ones included.
    pub fn n_events(&self) -> u64 {
        self.number
    }

    /// Number of whole events so far.
    pub fn n_whole(&self) -> u64 {
        self.number - self.n_malformed - self.n_whole_before
    }

    /// File offset of the last returned item.
    pub fn offset(&self) -> u64 {
        self.window.offset() + self.n_passed() as u64
    }

    /// Reads the next event or notice; `None` at the end.
    ///
    /// # Errors
    /// Reading the input failed.
    #[expect(
        clippy::should_implement_trait,
        reason = "an event borrows the reader's buffer, which no Iterator can say"
    )]
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<AixItem<'_>>> {
        // Nearly all events are of one encoding, and decoding only that one takes a third of the instructions.
        if let Some(found) = self.step_fast(|_| true) {
            return Ok(Some(AixItem::Event(self.fast_event(&found))));
        }
        self.next_slow()
    }

    /// Slow path of [`Trace::next`]: any event or notice.
    #[inline(never)]
    fn next_slow(&mut self) -> io::Result<Option<AixItem<'_>>> {
        let parts = match self.find()? {
            NextItem::Event(parts) => parts,
            NextItem::Notice(notice) => return Ok(Some(AixItem::Notice(notice))),
            NextItem::End => return Ok(None),
        };
        self.allow_fast_steps();
        Ok(Some(AixItem::Event(self.event(&parts))))
    }

    #[inline]
    pub(super) fn event(&mut self, parts: &Parts) -> RawEvent<'_> {
        let bytes = &self.window.bytes()[..parts.size];
        RawEvent {
            recorded: bytes,
            number: self.number,
            offset: self.window.offset(),
            wide: parts.wide,
            id: parts.id,
            tid: self.rules.number(bytes, parts.tid),
            ticks: parts.stamp.map(|at| self.rules.number(bytes, at)),
            cpu: parts.cpu.map(|at| self.rules.number(bytes, at) & 0xFFFF_FFFF),
            bytes: present(bytes, parts, &mut self.scratch),
        }
    }

    /// Raw time stamp of the event that was found.
    #[inline]
    pub(super) fn stamp(&self, parts: &Parts) -> Option<u64> {
        parts.stamp.map(|at| self.rules.number(self.window.bytes(), at))
    }

    /// Raw time stamp and CPU of the event that was found.
    #[inline]
    pub(super) fn stamp_and_cpu(&self, parts: &Parts) -> (Option<u64>, Option<u64>) {
        let bytes = self.window.bytes();
        let number = |at| self.rules.number(bytes, at);
        (parts.stamp.map(number), parts.cpu.map(|at| number(at) & 0xFFFF_FFFF))
    }

    /// Finds the next event, which stays at the window's start until the next call.
    #[inline]
    pub(super) fn find(&mut self) -> io::Result<NextItem> {
        // The last event is consumed only now: until here, the caller could refer to its bytes.
        self.consume_pending();
        if self.in_area
            && self.tally.read < self.read_limit
            // Nearly all events take this path, which is short enough to be inlined into the loops of a report.
            && let Step::Whole(parts) = self.rules.step(self.window.bytes())
        {
            (self.pending, self.last) = (parts.size, parts.size);
            self.number += 1;
            return Ok(NextItem::Event(parts));
        }
        self.find_slow()
    }

    /// Consumes the returned events.
    #[inline]
    fn consume_pending(&mut self) {
        if self.pending > 0 {
            self.window.consume(self.pending);
            self.tally.read += self.pending as u64;
            self.tally.events += self.pending as u64;
            (self.pending, self.last) = (0, 0);
        }
    }

    /// Number of pending bytes before the last event.
    #[inline]
    fn n_passed(&self) -> usize {
        self.pending - self.last
    }

    fn find_slow(&mut self) -> io::Result<NextItem> {
        self.fast_end = 0;
        loop {
            // Notices come before the next event, in the order of the file.
            if let Some(notice) = self.notices.pop_front() {
                return Ok(NextItem::Notice(notice));
            }
            if self.tally.read >= self.read_limit {
                return Ok(NextItem::End);
            }
            if !self.in_area {
                if self.next_area == self.areas.len() {
                    if self.skip_outside()? || self.report_ending() {
                        continue;
                    }
                    return Ok(NextItem::End);
                }
                self.open_area()?;
                continue;
            }
            match self.rules.step(self.window.bytes()) {
                Step::Whole(parts) => {
                    (self.pending, self.last) = (parts.size, parts.size);
                    self.number += 1;
                    return Ok(NextItem::Event(parts));
                }
                // Read more only if the buffered bytes do not suffice: a pipe must not block while a whole event is
                // buffered.
                Step::Short(need) => {
                    if !self.window.fill()? {
                        self.end_area(need)?;
                    }
                }
                Step::Malformed { fault, size } => self.malformed(fault, size)?,
            }
        }
    }

    fn damage(&mut self, notice: Notice) {
        self.notices.push_back(notice);
    }

    /// Reports the end of the input once, if there is something to report.
    fn report_ending(&mut self) -> bool {
        let ending = if self.ending_reported { None } else { self.window.ending() };
        self.ending_reported = true;
        self.notices.extend(ending);
        !self.notices.is_empty()
    }

    fn open_area(&mut self) -> io::Result<()> {
        let area = self.areas[self.next_area];
        self.next_area += 1;
        // Reported here and not when the log is opened, so that the notice comes at its place among the events.
        if let Some(refusal) = area.refused {
            self.damage(Notice::damage(match refusal {
                Refusal::Beyond => {
                    format!("{} at offset {:#x} is after the end of the file", area.what, area.start)
                }
                Refusal::Overlap(start, end) => format!(
                    "{} at offset {:#x} to {:#x} overlaps the data at {start:#x} to {end:#x}",
                    area.what, area.start, area.end
                ),
            }));
            return Ok(());
        }
        self.window.set_area_end(area.end);
        self.window.seek(area.start)?;
        self.judged.clear();
        self.in_area = true;
        Ok(())
    }

    /// Ends the current area, which may end inside an event that needs `need` bytes.
    fn end_area(&mut self, need: usize) -> io::Result<()> {
        let left = self.window.bytes().len();
        let (offset, number) = (self.window.offset(), self.number + 1);
        let PlannedRange { what, cut_from, .. } = self.areas[self.next_area - 1];
        // A hook word with a damaged length turns the rest of the area into one huge event. Events inside it are used
        // only if they are perfect.
        self.in_area = left > 0 && self.after_damage == AfterDamage::Resync && self.seek_events(SURE)?;
        if !self.in_area {
            self.skip(self.window.bytes().len());
        }
        let to = self.window.offset();
        let message = match (left, cut_from) {
            (0, None) => return Ok(()),
            (0, Some(end)) => format!("truncated at offset {offset:#x}: 0 bytes left, {what} continues to {end:#x}"),
            _ if self.in_area => {
                let n = to - offset;
                format!(
                    "event {number} at offset {offset:#x} needs {need} bytes, and {left} are left in {what}; skipped to offset \
                     {to:#x} ({n} bytes)"
                )
            }
            _ => format!("truncated at offset {offset:#x}: {left} bytes left in {what}, event {number} needs {need}"),
        };
        self.count_malformed(u64::from(left > 0));
        self.damage(Notice::damage(message).skipping(offset, to));
        Ok(())
    }

    fn malformed(&mut self, fault: Fault, size: Option<usize>) -> io::Result<()> {
        self.count_malformed(1);
        let (offset, number, what) = (self.window.offset(), self.number, self.areas[self.next_area - 1].what);
        let skipped_before = self.tally.skipped;
        self.in_area = match size {
            // The length is plausible although the event is not, so the next event is looked for after it.
            Some(size) => {
                self.skip(size);
                true
            }
            None => self.skip_damage()?,
        };
        let n = self.tally.skipped - skipped_before;
        let to = offset + n;
        let skipped = match size {
            Some(_) => format!("it is skipped, to offset {to:#x} ({n} bytes)"),
            None if self.in_area => format!("skipped to offset {to:#x} ({n} bytes)"),
            None => format!("the rest of {what} is skipped ({n} bytes), to offset {to:#x}"),
        };
        let message = format!("event {number} at offset {offset:#x}: {fault}; {skipped}");
        self.damage(Notice::damage(message).skipping(offset, to));
        Ok(())
    }

    fn count_malformed(&mut self, n: u64) {
        self.number += n;
        self.n_malformed += n;
    }

    /// Skips bytes to the next valid events of the area, or to its end. True if events were found.
    fn skip_damage(&mut self) -> io::Result<bool> {
        match self.after_damage {
            AfterDamage::Resync => self.seek_events(CLEAN),
            AfterDamage::NextEntry => {
                // trcrpt continues at the next entry of the log (`--after-damage` in docs/readings.md).
                let rest = self.left_in_area();
                self.window.look_for_fault();
                self.tally.read += rest;
                self.tally.skipped += rest;
                Ok(false)
            }
        }
    }

    fn skip(&mut self, n: usize) {
        self.window.consume(n);
        self.tally.read += n as u64;
        self.tally.skipped += n as u64;
    }

    /// Number of bytes up to the area's end; for a pipe, number of buffered bytes.
    fn left_in_area(&self) -> u64 {
        let end = self.areas[self.next_area - 1].end.min(self.size.unwrap_or(u64::MAX));
        if end == u64::MAX { self.window.bytes().len() as u64 } else { end.saturating_sub(self.window.offset()) }
    }

    /// Skips the bytes of a log that no area contains. Bytes other than zeros are damage: they may be events.
    fn skip_outside(&mut self) -> io::Result<bool> {
        let places = std::mem::take(&mut self.outside);
        let mut used = Vec::new();
        for &(from, to) in &places {
            // Logs often have spare room between their table and their buffers. Only bytes other than zero may be lost
            // events.
            let is_blank = self.pass(from, to)?;
            if !is_blank {
                used.push((from, to));
            }
        }
        if used.is_empty() {
            return Ok(false);
        }
        let n: u64 = used.iter().map(|(from, to)| to - from).sum();
        let advice = if self.salvage {
            "there are no well-formed events"
        } else {
            "`tfbc report --salvage` reads the well-formed events there"
        };
        let message = format!("the header does not refer to {}: skipped ({n} bytes); {advice}", named(&used));
        let notice = Notice::damage(message);
        self.notices.push_back(match used[..] {
            [(from, to)] => notice.skipping(from, to),
            _ => notice,
        });
        Ok(true)
    }

    /// Skips bytes of a log; true if all are zeros. Zeros count as part of the table, which often has unused room.
    fn pass(&mut self, from: u64, to: u64) -> io::Result<bool> {
        self.window.set_area_end(to);
        self.window.seek(from)?;
        let (mut is_blank, mut n) = (true, 0);
        loop {
            let bytes = self.window.bytes();
            is_blank &= bytes.iter().all(|byte| *byte == 0);
            let len = bytes.len();
            n += len as u64;
            self.window.consume(len);
            if !self.window.fill()? {
                break;
            }
        }
        self.tally.read += n;
        if is_blank {
            self.tally.header += n;
        } else {
            self.tally.skipped += n;
        }
        Ok(is_blank)
    }

    fn plan_stream(&mut self) -> io::Result<()> {
        let mut start = 0;
        if let Some(magic) = self.kind.magic() {
            while self.window.bytes().len() < 4 && self.window.fill()? {}
            // A part of a larger stream has no first word and can be read if its kind is given.
            if self.window.bytes().starts_with(&magic.to_be_bytes()) {
                start = 4;
                self.window.consume(4);
            }
        }
        self.tally.header += start;
        self.tally.read += start;
        self.areas.push(PlannedRange { start, end: u64::MAX, what: RangeKind::Stream, cut_from: None, refused: None });
        Ok(())
    }

    fn plan_log(&mut self) -> io::Result<()> {
        let kernel = self.kind.kernel();
        let fixed = log_layout::header_len(kernel);
        let size = self.size.unwrap_or(0);
        // A header that is cut is a damaged trace, not an error: the report still says what was found.
        let head = self.read_at(0, fixed)?;
        self.take_header(head.len() as u64);
        let Some(header) = LogHeader::parse(kernel, &head) else {
            let n = head.len();
            let message = format!("truncated at offset 0x0: {n} bytes left, the header of a log needs {fixed}");
            self.damage(Notice::damage(message));
            return Ok(());
        };
        self.header = Some(header);
        let mut claims = ClaimedRanges::default();
        let entries = self.read_table(&header, size, &mut claims)?;
        // Read first, even if it is not first in the file: it has the events that the trace command wrote at the start,
        // such as the time factors.
        self.plan_area(header.ic, RangeKind::InitialConditions, size, &mut claims);
        let order = match header.order(&entries) {
            Some(order) => order,
            None => self.order_by_stamp(&header, &entries, size)?,
        };
        for at in order {
            self.plan_area(entries[at], RangeKind::Entry(at), size, &mut claims);
        }
        // Salvages before the gaps are computed, because salvaged bytes are not gaps.
        if self.salvage {
            self.salvage(&mut claims, size)?;
        }
        self.outside = claims.gaps(size);
        Ok(())
    }

    fn take_header(&mut self, n: u64) {
        self.tally.header += n;
        self.tally.read += n;
    }

    /// Reads the entries of the table; none if the table does not fit into the file.
    fn read_table(
        &mut self,
        header: &LogHeader,
        size: u64,
        claims: &mut ClaimedRanges,
    ) -> io::Result<Vec<EventRegion>> {
        let kernel = self.kind.kernel();
        let fixed = log_layout::header_len(kernel) as u64;
        let n = header.n_entries;
        match header.table_len(kernel) {
            Some(len) if fixed + len <= size => {
                // The table claims its bytes, so that no entry can present them as events.
                let _ = claims.take(0, fixed + len);
                let table = self.read_at(fixed, len as usize)?;
                self.take_header(table.len() as u64);
                return Ok(log_layout::parse_table(kernel, &table));
            }
            Some(len) => {
                let left = size - fixed;
                let cut =
                    format!("truncated at offset {fixed:#x}: {left} bytes left, the table of {n} entries needs {len}");
                self.damage(Notice::damage(cut));
            }
            None => {
                let text = format!("the header at offset 0x4 announces {n} entries, more than any log has");
                self.damage(Notice::damage(text));
            }
        }
        let _ = claims.take(0, fixed);
        Ok(Vec::new())
    }

    fn plan_area(&mut self, area: EventRegion, what: RangeKind, size: u64, claims: &mut ClaimedRanges) {
        if area.size == 0 {
            return;
        }
        let start = area.offset;
        let full_end = start.saturating_add(area.size);
        let end = full_end.min(size);
        let refused = if start >= size {
            Some(Refusal::Beyond)
        } else {
            claims.take(start, end).err().map(|(start, end)| Refusal::Overlap(start, end))
        };
        let cut_from = (full_end > size).then_some(full_end);
        self.areas.push(PlannedRange { what, start, end, cut_from, refused });
    }

    /// Sorts the used entries by their first stamps, for a header with an inconsistent order.
    fn order_by_stamp(&mut self, header: &LogHeader, entries: &[EventRegion], size: u64) -> io::Result<Vec<usize>> {
        let mut stamped = Vec::new();
        for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.size > 0) {
            let end = entry.offset.saturating_add(entry.size).min(size);
            // An entry without a stamp cannot be ordered, so it comes last.
            let stamp = if entry.offset < end { self.first_stamp(entry.offset, end)? } else { None };
            stamped.push((stamp.unwrap_or(u64::MAX), at));
        }
        stamped.sort();
        self.notices.push_back(Notice::warning(format!(
            "the header's next entry {} of {} leaves out used entries; all are read, by their first time stamp",
            header.current, header.n_entries
        )));
        Ok(stamped.into_iter().map(|(_, at)| at).collect())
    }

    fn first_stamp(&mut self, start: u64, end: u64) -> io::Result<Option<u64>> {
        self.window.set_area_end(end);
        self.window.seek(start)?;
        loop {
            let bytes = self.window.bytes();
            match self.rules.step(bytes) {
                Step::Whole(Parts { stamp: Some(at), .. }) => return Ok(Some(self.rules.number(bytes, at))),
                Step::Whole(parts) => self.window.consume(parts.size),
                Step::Short(_) if self.window.fill()? => {}
                // Damage is reported when the entry is read, not here.
                Step::Short(_) | Step::Malformed { .. } => return Ok(None),
            }
        }
    }

    /// Reads up to `n` bytes at an offset of a seekable input.
    fn read_at(&mut self, offset: u64, n: usize) -> io::Result<Vec<u8>> {
        self.window.set_area_end(offset + n as u64);
        self.window.seek(offset)?;
        let mut bytes = Vec::new();
        loop {
            let got = self.window.bytes();
            bytes.extend_from_slice(got);
            let n = got.len();
            self.window.consume(n);
            if !self.window.fill()? {
                return Ok(bytes);
            }
        }
    }

    /// Reads until the first time factors and the first event after the header are known, then returns to the start.
    /// Does not wait for the factors of a growing file.
    fn look_ahead(&mut self, follow: bool) -> io::Result<()> {
        let start = self.window.look_ahead()?;
        // Everything is read a second time, so counts and notices of this pass are dropped at its end.
        let notices = self.notices.clone();
        let tally = self.tally;
        let outside = self.outside.clone();
        let mut survey = Survey::default();
        let mut cpu_files = Vec::new();
        // A base file may contain the names of its CPUs' files anywhere. A log that is not marked as one has them in
        // its ic area.
        let is_base = self.header.is_some_and(|header| header.is_base());
        while let NextItem::Event(parts) = self.find_event()? {
            let event = self.event(&parts);
            survey.first_stamp = survey.first_stamp.or(event.ticks);
            match event.id {
                hooks::HEADER => {}
                hooks::UTILITY => match EventProperty::parse(event.id, event.wide, event.bytes) {
                    Some(EventProperty::Factors(factors)) => survey.factors = survey.factors.or(Some(factors)),
                    Some(EventProperty::CpuCounts { traced, .. }) => survey.traced_cpus = Some(traced),
                    // Each name is a file to open; a hostile log could have millions.
                    Some(EventProperty::CpuFile { cpu, name }) if cpu_files.len() < MAX_CPU_FILES => {
                        cpu_files.push(CpuFile { cpu, name: name.to_vec() });
                    }
                    _ => {}
                },
                id => {
                    let first = FirstEvent { is_trace_on: id == hooks::TRACE_ON, ticks: event.ticks };
                    survey.first_event = survey.first_event.or(Some(first));
                }
            }
            let is_in_ic = matches!(self.areas[self.next_area - 1].what, RangeKind::InitialConditions);
            let surveyed = survey.first_event.is_some() && !is_base && !is_in_ic;
            let done = surveyed && (survey.factors.is_some() || (follow && self.waits()?));
            if done {
                break;
            }
        }
        self.window.rewind(start)?;
        (self.notices, self.tally, self.survey) = (notices, tally, survey);
        (self.next_area, self.in_area, self.ending_reported) = (0, false, false);
        (self.pending, self.last) = (0, 0);
        (self.number, self.n_malformed, self.outside) = (0, 0, outside);
        if self.header.is_some_and(|header| header.is_base() || !header.is_cpu_file()) {
            self.cpu_files = cpu_files;
        }
        Ok(())
    }

    /// Warns that a trace has time stamps but no time factors.
    fn warn_of_missing_factors(&mut self) {
        if self.survey.first_stamp.is_some() && self.survey.factors.is_none() {
            let message = "no time factors (hook 00A, kind 25C): one tick counts as one nanosecond";
            self.notices.push_front(Notice::warning(message));
        }
    }

    fn find_event(&mut self) -> io::Result<NextItem> {
        loop {
            match self.find()? {
                NextItem::Notice(_) => {}
                found => return Ok(found),
            }
        }
    }
}

/// Lists the first of some byte ranges, and the number of the others.
fn named(places: &[(u64, u64)]) -> String {
    let named = places.iter().take(MAX_NAMED).map(|(from, to)| format!("{from:#x} to {to:#x}"));
    let named = named.collect::<Vec<_>>().join(", ");
    match places.len().saturating_sub(MAX_NAMED) {
        0 => format!("offset {named}"),
        more => format!("offset {named} and {more} more places"),
    }
}

/// Detects the kind of a trace from its first bytes.
pub(in crate::reader) fn find_kind(window: &mut Window) -> Result<AixKind, OpenError> {
    sniff_kind(window).map_err(|error| match window.fault() {
        Some(fault) => OpenError::Io(io::Error::new(io::ErrorKind::InvalidData, fault)),
        None => error,
    })
}

fn sniff_kind(window: &mut Window) -> Result<AixKind, OpenError> {
    let mut ended = false;
    loop {
        match sniff(window.bytes(), ended) {
            Sniffed::AixKind(kind) => return Ok(kind),
            Sniffed::Aix3 => return Err(OpenError::Aix3),
            Sniffed::Unknown if window.bytes().is_empty() => return Err(OpenError::Empty),
            // The message names what the file is instead, because people mix up traces, format files and archives.
            Sniffed::Unknown => {
                let is_split = window.bytes().starts_with(&SPLIT_MAGIC);
                let split = is_split.then_some("split file: `tfbc report --part` prints one of its parts");
                let other = split.or_else(|| compressed(window.bytes())).or_else(|| format_file(window.bytes()));
                let other = other.or_else(|| is_text(window.bytes()).then_some("text file: traces are binary"));
                return Err(other.map_or(OpenError::Unknown, OpenError::Other));
            }
            Sniffed::More => ended = !window.fill()?,
        }
    }
}
