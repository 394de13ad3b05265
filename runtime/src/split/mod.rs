//! Parts of a trace that are formatted alone, on any machine, and are the whole report one after another.
//!
//! ```text
//! Trace::parts ─reads the log once─> Split ─encode─> split file ─> Split::open_part ─> Trace ─report─> lines of a part
//! ```
//!
//! A border lies between two events. For each border, a split contains the reader's position and the state of a report
//! there, encoded by one function per type ([`codec`]). A trace that is opened at a border hands this state to the
//! reader and the producer of the report, which continue as if they had read everything before it.

pub(crate) mod borders;
pub(crate) mod codec;
mod codes;
mod file;
mod formats;
pub(crate) mod index;
mod may_show;
mod part_report;
pub(crate) mod rules;
mod side_by_side;
pub(crate) mod state;
mod whole;

use crate::aix_report;
use crate::formats::Formats;
use crate::monitor::ReportError;
use crate::qnx_report;
use crate::reader::aix::{InputToResume, Logs, OpenError, OpenedInput, ReadOptions};
use crate::reader::kev::KevLog;
use crate::reader::{AnyTrace, Input, TraceError, TraceKind};
use crate::trace::Trace;
pub use borders::PartSize;
use borders::{Border, Cuts, LogParts};
use codec::{Codec, Malformed, Text};
use file::{Identity, InputFacts, SplitFacts, WantedParts};
use formats::FormatFacts;
use index::PartIndex;
use rules::PartRules;
use state::{AixState, QnxState};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// One part of a [`Split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartInfo {
    /// Number of the part, from 1.
    pub number: u64,
    /// File offset of its first byte. A log that has wrapped is not read in the order of its file. For several files,
    /// the number of bytes that earlier parts read.
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
    facts: SplitFacts,
    parts: Vec<PartInfo>,
    indexes: Vec<PartIndex>,
    /// States at the starts of the parts; part 1 of a single file has an empty one.
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

impl Trace {
    /// Reads the trace to its end, without formatting, and divides it into parts.
    ///
    /// # Errors
    /// The trace is compressed or a pipe; or reading it failed.
    pub fn parts(mut self, formats: &Formats, size: PartSize) -> Result<Split, SplitError> {
        let info = self.info();
        let refuse = |why: &str| Err(SplitError::Refused(why.to_owned()));
        if info.files.iter().any(|file| file.compression.is_some()) {
            return refuse("a compressed trace cannot be split; `tfbc split --unpack DIR` unpacks it first");
        }
        if info.files.iter().any(|file| file.name == "-" || file.size.is_none()) {
            return refuse("a pipe cannot be split; `tfbc split --unpack DIR` writes it to a file first");
        }
        if self.part().is_some() {
            return refuse("a part cannot be split again");
        }
        let end = info.files.iter().filter_map(|file| file.size).sum();
        let cuts = |start| Cuts { size, start, end };
        let (found, inputs) = match self.source_mut() {
            AnyTrace::Aix(logs) => {
                let Some(inputs) = logs.opened_inputs() else {
                    return refuse("a trace that is read with --salvage cannot be split");
                };
                let facts = |OpenedInput { name, input, options }| {
                    Identity::of(input).map(|identity| InputFacts::of_reader(name.to_owned(), identity, &options))
                };
                let inputs = inputs.into_iter().map(facts).collect::<io::Result<_>>()?;
                let cuts = cuts(logs.tally().read);
                (aix_report::split(logs, formats.catalog(), cuts).map_err(SplitError::Report)?, inputs)
            }
            AnyTrace::Kev(log) => {
                if !log.can_resume() {
                    return refuse("a log that is read with --salvage or with its slots cannot be split");
                }
                let identity = Identity::of(log.input_mut())?;
                let options = ReadOptions { format: Some(TraceKind::Kev), ..ReadOptions::default() };
                let input = InputFacts::of_reader(info.name.clone(), identity, &options);
                let cuts = cuts(log.tally().read);
                (qnx_report::split(log, cuts).map_err(SplitError::Report)?, vec![input])
            }
        };
        if found.has_lost_state {
            return refuse("it has more processes, threads or timers than a report can follow, so it cannot be split");
        }
        if let AnyTrace::Aix(logs) = self.source()
            && logs.has_gone_back()
        {
            return refuse(
                "its times go back, so duplicates may be in different parts; merge the logs to a stream first",
            );
        }
        let (formats, stopped) = (FormatFacts::of(formats), found.stopped);
        let facts = SplitFacts { name: Text(info.name), inputs, formats, stopped, ..SplitFacts::default() };
        Ok(Split::new(facts, found))
    }
}

impl Split {
    fn new(facts: SplitFacts, found: LogParts) -> Self {
        let LogParts { start, borders, read, n_events, index: last, .. } = found;
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
        let facts = SplitFacts { n_parts: parts.len() as u64, ..facts };
        let (mut states, mut indexes) = (vec![PartState { position: start, report: Vec::new() }], Vec::new());
        for Border { index, position, state: report, .. } in borders {
            indexes.push(index);
            states.push(PartState { position, report });
        }
        indexes.push(last);
        Self { facts, parts, indexes, states }
    }

    /// Reads a split file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a split file of this version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SplitError> {
        file::read(&mut BufReader::new(File::open(path)?), WantedParts::All)
    }

    /// Reads one part of a split file. Sections of other parts are not read.
    ///
    /// # Errors
    /// The file cannot be read, is not a split file of this version, or does not contain the part.
    #[doc(hidden)]
    pub fn open_only(path: impl AsRef<Path>, number: u64) -> Result<Self, SplitError> {
        let split = file::read(&mut File::open(path)?, WantedParts::Only(number))?;
        split.index_of(number)?;
        Ok(split)
    }

    /// Names of the files that the parts of a split file are read from. Sections of parts are not read.
    ///
    /// # Errors
    /// The file cannot be read, or is not a split file of this version.
    #[doc(hidden)]
    pub fn files_in(path: impl AsRef<Path>) -> Result<Vec<String>, SplitError> {
        let split = file::read(&mut File::open(path)?, WantedParts::None)?;
        Ok(split.files().map(str::to_owned).collect())
    }

    /// Decodes the bytes of a split file.
    ///
    /// # Errors
    /// The bytes are not a split file of this version.
    pub fn decode(bytes: &[u8]) -> Result<Self, SplitError> {
        file::read(&mut io::Cursor::new(bytes), WantedParts::All)
    }

    /// Bytes of a split file.
    pub fn encode(&self) -> Vec<u8> {
        file::encode(self)
    }

    /// Name of the input, as it was given, or the names of all merged logs.
    pub fn input(&self) -> &str {
        &self.facts.name.0
    }

    /// Names of the files that the parts are read from.
    #[doc(hidden)]
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.facts.inputs.iter().map(|input| input.name.0.as_str())
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
            facts: self.facts.clone(),
            parts: vec![self.parts[at]],
            indexes: vec![self.indexes[at].clone()],
            states: vec![self.states[at].clone()],
        })
    }

    /// One split with the parts of several splits of the same input.
    #[doc(hidden)]
    pub fn join<'s>(splits: impl IntoIterator<Item = &'s Self>) -> Option<Self> {
        let mut splits = splits.into_iter();
        let mut joined = splits.next()?.clone();
        for split in splits {
            joined.parts.extend(&split.parts);
            joined.indexes.extend(split.indexes.iter().cloned());
            joined.states.extend(split.states.iter().cloned());
        }
        Some(joined)
    }

    /// Checks that the trace was split with these format files.
    ///
    /// # Errors
    /// It was split with others.
    #[doc(hidden)]
    pub fn check_formats(&self, formats: &Formats) -> Result<(), SplitError> {
        self.facts.formats.check(formats, self.input()).map_err(SplitError::Refused)
    }

    /// True if the trace is read with these options. Default options mean those of the split file.
    #[doc(hidden)]
    pub fn is_read_with(&self, options: &ReadOptions) -> bool {
        let own = ReadOptions::default();
        let ReadOptions { format, cpuid_word, lenient, short_generic_word, after_damage, salvage, .. } = *options;
        let mut inputs = self.facts.inputs.iter().filter_map(InputFacts::read_options);
        let fits = |known: ReadOptions| {
            (format.is_none() || format == known.format)
                && (cpuid_word == own.cpuid_word || cpuid_word == known.cpuid_word)
                && (after_damage == own.after_damage || after_damage == known.after_damage)
                && (!lenient || known.lenient)
                && (!short_generic_word || known.short_generic_word)
        };
        !salvage && inputs.all(fits)
    }

    /// Index of a part in the lists.
    fn index_of(&self, number: u64) -> Result<usize, SplitError> {
        let n_parts = self.facts.n_parts;
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
        self.open_part_of(number, |_, name| Input::open(Path::new(name)))
    }

    /// Like [`Split::open_part`], for an input in memory.
    ///
    /// # Errors
    /// There is no such part, or the bytes are not those that were split.
    #[doc(hidden)]
    pub fn open_part_in(&self, number: u64, bytes: impl AsRef<[u8]> + Send + 'static) -> Result<Trace, SplitError> {
        self.open_part_in_all(number, vec![bytes])
    }

    /// Like [`Split::open_part`], for files in memory, in the order of [`Split::files`].
    ///
    /// # Errors
    /// There is no such part, or the bytes are not those that were split.
    #[doc(hidden)]
    pub fn open_part_in_all<B: AsRef<[u8]> + Send + 'static>(
        &self,
        number: u64,
        files: Vec<B>,
    ) -> Result<Trace, SplitError> {
        let mut files: Vec<Option<B>> = files.into_iter().map(Some).collect();
        self.open_part_of(number, |at, name| {
            let bytes = files.get_mut(at).and_then(Option::take);
            bytes.map(Input::from_bytes).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, name.to_owned()))
        })
    }

    fn open_part_of(
        &self,
        number: u64,
        mut open: impl FnMut(usize, &str) -> io::Result<Input>,
    ) -> Result<Trace, SplitError> {
        let at = self.index_of(number)?;
        let (part, state) = (&self.parts[at], &self.states[at]);
        let (is_first, is_last) = (number == 1, number == self.facts.n_parts);
        let is_single = self.facts.inputs.len() == 1;
        let mut files = Vec::new();
        for (at, facts) in self.facts.inputs.iter().enumerate() {
            let name = facts.name.0.as_str();
            let mut input = open(at, name).map_err(|error| match is_single {
                true => error,
                false => io::Error::new(error.kind(), format!("{name}: {error}")),
            })?;
            // Any part of a merge may reach the end of a file.
            facts.identity.check(&mut input, is_last || !is_single, name)?;
            let options = facts.read_options();
            let options = options.ok_or(SplitError::Malformed("a damaged split file: the kind of its input"))?;
            files.push(InputToResume { name, input, options });
        }
        let format = files.first().map(|file| file.options.format);
        let format = format.ok_or(SplitError::Malformed("a damaged split file: it has no input"))?;
        let mut source = match format {
            // The first part of a single file has no state.
            _ if is_first && is_single && state.position.is_empty() => {
                let InputToResume { name, input, options } = files.remove(0);
                AnyTrace::from_input(name, input, &options).map_err(SplitError::Trace)?
            }
            Some(TraceKind::Kev) => {
                let mut position = Default::default();
                decode(&state.position, &mut position)?;
                let log = KevLog::at_position(self.input(), files.remove(0).input, position)?;
                AnyTrace::Kev(Box::new(log))
            }
            _ => {
                let mut position = Default::default();
                decode(&state.position, &mut position)?;
                let logs = Logs::at_position(self.input(), files, position);
                AnyTrace::Aix(Box::new(logs.map_err(|error| match error {
                    OpenError::Io(error) => SplitError::Io(error),
                    error => SplitError::Trace(TraceError::Aix(error)),
                })?))
            }
        };
        let (n_bytes, n_events) = if is_last { (u64::MAX, u64::MAX) } else { (part.n_bytes, part.n_events) };
        match &mut source {
            AnyTrace::Aix(logs) => {
                logs.set_part_limit(n_bytes, n_events);
                if !is_first {
                    let mut report = AixState::default();
                    decode(&state.report, &mut report)?;
                    logs.resume(report);
                }
            }
            AnyTrace::Kev(log) => {
                log.set_read_limit(n_bytes);
                if !is_first {
                    let mut report = QnxState::default();
                    decode(&state.report, &mut report)?;
                    log.resume(report);
                }
            }
        }
        let rules = PartRules { number, formats: self.facts.formats.clone(), stopped: self.facts.stopped };
        Ok(Trace::from(source).with_part(rules))
    }
}

impl fmt::Debug for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Split").field("input", &self.input()).field("parts", &self.parts).finish_non_exhaustive()
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
