//! Parts of a trace that are formatted alone, on any machine, and are the whole report one after another.
//!
//! ```text
//! Trace::parts ─reads the log once─> Split ─encode─> split file ─> Split::open_part ─> Trace ─report─> lines of a part
//! ```
//!
//! A border lies between two events. For each border, a split contains the reader's position and the state of a report
//! there, encoded by one function per type ([`codec`]). A trace that is opened at a border hands this state to the
//! reader and the producer of the report, which continue as if they had read everything before it.

pub(crate) mod codec;
mod file;
mod index;
mod state;
mod whole;

use crate::aix_report::{self, AixReportOptions};
use crate::formats::Formats;
use crate::monitor::ReportError;
use crate::qnx_report;
use crate::reader::aix::{AfterDamage, AixKind, CpuidWord, Logs, ReadOptions};
use crate::reader::kev::KevLog;
use crate::reader::{AnyTrace, Input, TraceError, TraceKind};
use crate::trace::{ReportOptions, Trace};
use codec::{Codec, Malformed};
pub(crate) use file::{Identity, InputFacts, MAGIC as SPLIT_MAGIC};
pub(crate) use index::{IndexBuilder, PartIndex};
pub(crate) use state::{AixState, QnxState};
use std::fmt;
use std::io;
use std::num::NonZeroU64;
use std::path::Path;

/// Size of the parts of a [`Split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartSize {
    /// At most this many parts of about equal size.
    Count(NonZeroU64),
    /// Parts of about this many bytes. A part ends after the first event that reaches the size.
    Bytes(NonZeroU64),
}

/// One part of a [`Split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartInfo {
    /// Number of the part, from 1.
    pub number: u64,
    /// File offset of its first byte. A log that has wrapped is not read in the order of its file.
    pub offset: u64,
    /// Number of bytes that it reads, damage included.
    pub n_bytes: u64,
    /// Number of its events.
    pub n_events: u64,
}

/// A trace divided into parts, each with the state of the reader at its start.
///
/// ```
/// use std::num::NonZeroU64;
/// use tfbc::{Formats, PartSize, ReportOptions, Trace, report};
///
/// let formats = Formats::builtin();
/// let (mut whole, mut parts) = (Vec::new(), Vec::new());
/// report(&mut Trace::open("samples/shell.trc")?, &formats, &ReportOptions::default(), &mut whole)?;
/// let split = Trace::open("samples/shell.trc")?.parts(&formats, PartSize::Count(NonZeroU64::new(3).unwrap()))?;
/// for part in split.parts() {
///     let mut trace = split.open_part(part.number)?;
///     report(&mut trace, &formats, &ReportOptions::default(), &mut parts)?;
/// }
/// assert!(parts == whole);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Split {
    input: InputFacts,
    parts: Vec<PartInfo>,
    indexes: Vec<PartIndex>,
    /// States at the starts of the parts; part 1 has an empty one.
    states: Vec<PartState>,
}

/// Encoded state at the start of a part.
#[derive(Debug, Clone, Default)]
struct PartState {
    position: Vec<u8>,
    report: Vec<u8>,
}

/// Reason why a trace cannot be split, or a part cannot be opened.
#[derive(Debug)]
pub enum SplitError {
    /// The input, or the split file, cannot be read.
    Io(io::Error),
    /// The input is not a trace.
    Trace(TraceError),
    /// The rest of the trace cannot be read.
    Report(ReportError),
    /// Traces of this kind cannot be split; the text says why.
    Refused(String),
    /// The file is not a split file, or a damaged one; the text says which.
    Malformed(&'static str),
    /// The input is not the one that was split; the text names the difference.
    OtherInput(String),
    /// There is no part with this number.
    NoPart {
        /// Number, from 1.
        number: u64,
        /// Number of parts.
        n_parts: u64,
    },
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SplitError::Io(error) => error.fmt(f),
            SplitError::Trace(error) => error.fmt(f),
            SplitError::Report(error) => error.fmt(f),
            SplitError::Refused(why) | SplitError::OtherInput(why) => f.write_str(why),
            SplitError::Malformed(what) => f.write_str(what),
            SplitError::NoPart { number, n_parts } => {
                write!(f, "there is no part {number}: the parts are 1 to {n_parts}")
            }
        }
    }
}

impl std::error::Error for SplitError {}

impl From<io::Error> for SplitError {
    fn from(error: io::Error) -> Self {
        SplitError::Io(error)
    }
}

/// Places at which a trace is cut, as numbers of bytes read.
pub(crate) struct Cuts {
    size: PartSize,
    /// Bytes read before the first event, and bytes of the file.
    start: u64,
    end: u64,
    is_delayed: bool,
}

impl Cuts {
    /// The first place after `read` bytes.
    pub fn next(&mut self, read: u64) -> u64 {
        if std::mem::take(&mut self.is_delayed) {
            return read + 1;
        }
        match self.size {
            PartSize::Bytes(bytes) => read.saturating_add(bytes.get()),
            PartSize::Count(n) => {
                let n = u128::from(n.get());
                let len = u128::from(self.end.saturating_sub(self.start));
                let before = u128::from(read.saturating_sub(self.start));
                // The number of the first target above `read`.
                let number = (before * n).checked_div(len).map_or(n, |number| number + 1);
                if number >= n { u64::MAX } else { self.start + (len * number).div_ceil(n) as u64 }
            }
        }
    }

    /// Moves the next place to the next event.
    pub fn delay(&mut self) {
        self.is_delayed = true;
    }
}

/// State of reader and report between two events.
pub(crate) struct Border {
    /// Bytes read before it.
    pub read: u64,
    /// Events before it.
    pub n_events: u64,
    /// File offset.
    pub offset: u64,
    /// Events since the border before.
    pub index: PartIndex,
    pub position: Vec<u8>,
    pub state: Vec<u8>,
}

/// Borders of a log, and its end.
#[derive(Default)]
pub(crate) struct LogParts {
    pub borders: Vec<Border>,
    read: u64,
    n_events: u64,
    stopped: bool,
    /// True if a table of processes, threads or timers was full, so that the state depends on the report.
    pub has_lost_state: bool,
    /// Events after the last border.
    index: PartIndex,
}

impl LogParts {
    /// Sets the bytes and events of the whole log, and the index of the events after the last border. `stopped` is true if a template ended the report.
    pub fn end(&mut self, read: u64, n_events: u64, stopped: bool, index: PartIndex) {
        (self.read, self.n_events, self.stopped, self.index) = (read, n_events, stopped, index);
        // What comes after the last event belongs to the part of that event.
        if let Some(last) = self.borders.pop_if(|last| last.n_events == n_events) {
            let has_notices = self.index.has_notices || last.index.has_notices;
            self.index = last.index;
            self.index.has_notices = has_notices;
        }
    }
}

/// Limits of a report of one part.
#[derive(Debug, Clone)]
pub(crate) struct PartRules {
    number: u64,
    formats: [u8; 32],
    stopped: bool,
}

impl PartRules {
    /// Checks that a report of this part, with the others, is the report of the whole. `has_columns` is true if it
    /// has columns or pages that depend on the lines of the parts before.
    pub fn check(&self, formats: &Formats, options: &ReportOptions, has_columns: bool) -> Result<(), ReportError> {
        let refuse = |why: String| Err(ReportError::Part(why));
        if self.formats != hash_of(formats) {
            return refuse(format!("part {} was split with other format files; use those", self.number));
        }
        let ReportOptions { aix, qnx } = options;
        let AixReportOptions { columns, filter, .. } = aix;
        if aix.stats || qnx.stats || aix.histogram || qnx.sort {
            return refuse("counts and sorted rows are of a whole trace, not of a part".to_owned());
        }
        if aix.page_size > 0 && has_columns {
            return refuse("the pages of a part depend on the lines of the parts before it".to_owned());
        }
        if aix.delta_of_all {
            return refuse("the delta to events that are not reported is unknown at the start of a part".to_owned());
        }
        let own = AixReportOptions::default();
        if aix.context != own.context || aix.names != own.names || aix.tables != own.tables {
            return refuse(
                "a part has the context of the built-in table; another one needs the whole trace".to_owned(),
            );
        }
        if aix.limits != own.limits {
            return refuse(
                "a part was split with the usual limits of one event; others need the whole trace".to_owned(),
            );
        }
        let by_event = aix.grep.is_some() || aix.conditions.is_some() || filter.depends_on_more_than_ids();
        if by_event && has_columns && columns.has_delta() {
            return refuse(
                "with this filter, the delta of a part's first line is unknown; leave out the column `delta`"
                    .to_owned(),
            );
        }
        let by_id = filter.only.is_some() || filter.except != own.filter.except || aix.defined;
        if self.stopped && (by_event || by_id) {
            return refuse(
                "a template ended the trace while it was split, so a filter needs the whole trace".to_owned(),
            );
        }
        Ok(())
    }
}

/// Hash of the compiled format files.
fn hash_of(formats: &Formats) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for blob in formats.blobs() {
        hasher.update(&(blob.len() as u64).to_le_bytes());
        hasher.update(blob);
    }
    hasher.finalize().into()
}

impl Trace {
    /// Reads the trace to its end, without formatting, and divides it into parts.
    ///
    /// # Errors
    /// The trace is compressed, a pipe, a merge, or has one file per CPU; or reading it failed.
    pub fn parts(mut self, formats: &Formats, size: PartSize) -> Result<Split, SplitError> {
        let info = self.info();
        let refuse = |why: &str| Err(SplitError::Refused(why.to_owned()));
        if info.files.iter().any(|file| file.compression.is_some()) {
            return refuse("a compressed trace cannot be split; unpack it first");
        }
        if info.name == "-" || info.files.iter().any(|file| file.size.is_none()) {
            return refuse("a pipe cannot be split; write it to a file first");
        }
        if info.files.len() > 1 || info.files.iter().any(|file| file.cpu.is_some()) {
            return refuse("a trace with one file per CPU, or of several logs, cannot be split yet");
        }
        if self.part().is_some() {
            return refuse("a part cannot be split again");
        }
        let end = info.files[0].size.unwrap_or(0);
        let kind = info.kind;
        let (found, mut input) = match self.source_mut() {
            AnyTrace::Aix(logs) => {
                let Some(input) = logs.reader_facts()? else {
                    return refuse("a trace that names other files, or is read with --salvage, cannot be split");
                };
                let cuts = Cuts { size, start: logs.tally().read, end, is_delayed: false };
                (aix_report::split(logs, formats.catalog(), cuts).map_err(SplitError::Report)?, input)
            }
            AnyTrace::Kev(log) => {
                if !log.can_resume() {
                    return refuse("a log that is read with --salvage or with its slots cannot be split");
                }
                let identity = Identity::of(log.input_mut())?;
                let input = InputFacts { identity, ..InputFacts::default() };
                let cuts = Cuts { size, start: log.tally().read, end, is_delayed: false };
                (qnx_report::split(log, cuts).map_err(SplitError::Report)?, input)
            }
        };
        if found.has_lost_state {
            return refuse("it has more processes, threads or timers than a report can follow, so it cannot be split");
        }
        input.name = info.name.clone();
        input.kind = code_of(kind);
        input.formats = hash_of(formats);
        input.stopped = found.stopped;
        Ok(Split::new(input, found))
    }
}

impl Split {
    fn new(input: InputFacts, found: LogParts) -> Self {
        let LogParts { borders, read, n_events, index: last, .. } = found;
        let ends = borders.iter().map(|border| (border.read, border.n_events)).chain([(read, n_events)]);
        let starts = std::iter::once((0, 0, 0));
        let starts = starts.chain(borders.iter().map(|border| (border.read, border.n_events, border.offset)));
        let parts = (1..).zip(starts.zip(ends)).map(|(number, (start, end))| PartInfo {
            number,
            offset: start.2,
            n_bytes: end.0 - start.0,
            n_events: end.1 - start.1,
        });
        let parts: Vec<PartInfo> = parts.collect();
        let input = InputFacts { n_parts: parts.len() as u64, ..input };
        let (mut states, mut indexes) = (vec![PartState::default()], Vec::new());
        for Border { index, position, state: report, .. } in borders {
            indexes.push(index);
            states.push(PartState { position, report });
        }
        indexes.push(last);
        Self { input, parts, indexes, states }
    }

    /// Reads a split file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a split file of this version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SplitError> {
        Self::decode(&std::fs::read(path)?)
    }

    /// Decodes the bytes of a split file.
    ///
    /// # Errors
    /// The bytes are not a split file of this version.
    pub fn decode(bytes: &[u8]) -> Result<Self, SplitError> {
        file::decode(bytes).map_err(SplitError::Malformed)
    }

    /// Bytes of a split file.
    pub fn encode(&self) -> Vec<u8> {
        file::encode(self)
    }

    /// Name of the input, as it was given.
    pub fn input(&self) -> &str {
        &self.input.name
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[PartInfo] {
        &self.parts
    }

    /// The split with one part only, which can be encoded and opened alone.
    ///
    /// # Errors
    /// There is no such part.
    #[doc(hidden)]
    pub fn only(&self, number: u64) -> Result<Self, SplitError> {
        let at = self.index_of(number)?;
        Ok(Self {
            input: self.input.clone(),
            parts: vec![self.parts[at]],
            indexes: vec![self.indexes[at].clone()],
            states: vec![self.states[at].clone()],
        })
    }

    /// Checks that the trace was split with these format files.
    ///
    /// # Errors
    /// It was split with others.
    #[doc(hidden)]
    pub fn check_formats(&self, formats: &Formats) -> Result<(), SplitError> {
        if self.input.formats == hash_of(formats) {
            Ok(())
        } else {
            Err(SplitError::Refused(format!("{} was split with other format files; use those", self.input.name)))
        }
    }

    /// Index of a part in the lists.
    fn index_of(&self, number: u64) -> Result<usize, SplitError> {
        let n_parts = self.input.n_parts;
        if !(1..=n_parts).contains(&number) {
            return Err(SplitError::NoPart { number, n_parts });
        }
        let found = self.parts.iter().position(|part| part.number == number);
        found.ok_or_else(|| SplitError::Refused(format!("part {number} of {n_parts} is not in this split file")))
    }

    /// Opens a part of the input, by its number from 1.
    ///
    /// # Errors
    /// There is no such part, the input cannot be read, or it is not the one that was split.
    pub fn open_part(&self, number: u64) -> Result<Trace, SplitError> {
        self.open_part_of(number, Input::open(Path::new(&self.input.name))?)
    }

    /// Like [`Split::open_part`], for an input in memory.
    ///
    /// # Errors
    /// There is no such part, or the bytes are not those that were split.
    #[doc(hidden)]
    pub fn open_part_in(&self, number: u64, bytes: impl AsRef<[u8]> + Send + 'static) -> Result<Trace, SplitError> {
        self.open_part_of(number, Input::from_bytes(bytes))
    }

    fn open_part_of(&self, number: u64, mut input: Input) -> Result<Trace, SplitError> {
        let at = self.index_of(number)?;
        let (part, state) = (&self.parts[at], &self.states[at]);
        let (is_first, is_last) = (number == 1, number == self.input.n_parts);
        self.input.identity.check(&mut input, is_last, &self.input.name)?;
        let name = &self.input.name;
        let options =
            self.input.read_options().ok_or(SplitError::Malformed("a damaged split file: the kind of its input"))?;
        let mut source = match options.format {
            _ if is_first => AnyTrace::from_input(name, input, &options).map_err(SplitError::Trace)?,
            Some(TraceKind::Kev) => {
                let mut position = Default::default();
                decode(&state.position, &mut position)?;
                let log = KevLog::at_position(name, input, position)?;
                AnyTrace::Kev(Box::new(log))
            }
            _ => {
                let mut position = Default::default();
                decode(&state.position, &mut position)?;
                let logs = Logs::at_position(name, input, &options, position);
                AnyTrace::Aix(Box::new(logs.map_err(|error| SplitError::Trace(TraceError::Aix(error)))?))
            }
        };
        let limit = if is_last { u64::MAX } else { part.n_bytes };
        match &mut source {
            AnyTrace::Aix(logs) => {
                logs.set_read_limit(limit);
                if !is_first {
                    let mut report = AixState::default();
                    decode(&state.report, &mut report)?;
                    logs.resume(report);
                }
            }
            AnyTrace::Kev(log) => {
                log.set_read_limit(limit);
                if !is_first {
                    let mut report = QnxState::default();
                    decode(&state.report, &mut report)?;
                    log.resume(report);
                }
            }
        }
        let rules = PartRules { number, formats: self.input.formats, stopped: self.input.stopped };
        Ok(Trace::from(source).with_part(rules))
    }
}

impl fmt::Debug for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Split").field("input", &self.input.name).field("parts", &self.parts).finish_non_exhaustive()
    }
}

fn decode(bytes: &[u8], value: &mut impl codec::Stored) -> Result<(), SplitError> {
    Codec::decode(bytes, value).map_err(|Malformed| SplitError::Malformed("a damaged split file: the state of a part"))
}

/// Encoded states of reader and report at the start of a part.
pub fn split_state(split: &Split, number: u64) -> [Vec<u8>; 2] {
    let PartState { position, report } = split.states[number as usize - 1].clone();
    [position, report]
}

/// Replaces these states.
pub fn with_split_state(split: &Split, number: u64, [position, report]: [Vec<u8>; 2]) -> Split {
    let mut split = split.clone();
    split.states[number as usize - 1] = PartState { position, report };
    split
}

/// Codes of the kinds of traces, in the order of their numbers.
const KINDS: [TraceKind; 5] = [
    TraceKind::Kev,
    TraceKind::Aix(AixKind::Stream32),
    TraceKind::Aix(AixKind::Stream64),
    TraceKind::Aix(AixKind::Log32),
    TraceKind::Aix(AixKind::Log64),
];

/// Places of the CPU id, in the order of their numbers.
const CPUID_WORDS: [CpuidWord; 4] = [CpuidWord::Last, CpuidWord::First, CpuidWord::AfterTid, CpuidWord::None];

fn code_of(kind: TraceKind) -> u8 {
    KINDS.iter().position(|known| *known == kind).unwrap_or(0) as u8
}

impl InputFacts {
    /// Facts about an input that is read with these options.
    pub fn of_reader(
        identity: Identity,
        cpuid_word: CpuidWord,
        lenient: bool,
        short_generic_word: bool,
        to_next_entry: bool,
    ) -> Self {
        let cpuid_word = CPUID_WORDS.iter().position(|known| *known == cpuid_word).unwrap_or(0) as u8;
        Self { identity, cpuid_word, lenient, short_generic_word, to_next_entry, ..Self::default() }
    }

    /// Options of the reader; `None` if the facts are not valid.
    fn read_options(&self) -> Option<ReadOptions> {
        Some(ReadOptions {
            format: Some(*KINDS.get(usize::from(self.kind))?),
            cpuid_word: *CPUID_WORDS.get(usize::from(self.cpuid_word))?,
            lenient: self.lenient,
            short_generic_word: self.short_generic_word,
            after_damage: if self.to_next_entry { AfterDamage::NextEntry } else { AfterDamage::Resync },
            ..ReadOptions::default()
        })
    }
}
