//! Layout of split files.
//!
//! ```text
//! header   "tfbs" | version u32 | number of sections u32 | checksum of the table, 16 bytes
//! table    per section: kind u32 | part u32 | length u64 | checksum, 16 bytes
//! contents of the sections, in their order
//! ```
//!
//! Numbers are little-endian. Checksums are the first 16 bytes of BLAKE3. The first section is about the input. Each part
//! has three sections: its place and index, the position of the reader, and the state of a report. A file contains all
//! parts, or one of them. A part is read without the sections of the others.

use super::codec::{Codec, Malformed, SPLIT_MAGIC as MAGIC, Stored, stored};
use super::{PartIndex, PartInfo, PartState, Split, SplitError, codes};
use crate::reader::aix::{AfterDamage, ReadOptions};
use crate::reader::{Input, Tally};
use std::io::{self, Read, Seek, SeekFrom};

const VERSION: u32 = 2;
const HEADER_BYTES: usize = 28;
const ROW_BYTES: usize = 32;

const INPUT: u32 = 0;
/// Kinds of the sections of a part, in their order.
const OF_PART: [u32; 3] = [1, 2, 3];

type Checksum = [u8; 16];

/// Number of bytes at each end of the input that identify it.
const IDENTIFYING_BYTES: u64 = 4096;

/// Properties by which a split file recognises its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Identity {
    size: u64,
    /// BLAKE3 of the first and of the last bytes.
    first: [u8; 32],
    last: [u8; 32],
}

stored!(Identity { size, first, last });

impl Identity {
    /// Identity of a seekable input.
    pub fn of(input: &mut Input) -> io::Result<Self> {
        let size = input.size()?.unwrap_or(0);
        Self::within(input, size)
    }

    /// Identity that an input had when it was `size` bytes long.
    fn within(input: &mut Input, size: u64) -> io::Result<Self> {
        let n = size.min(IDENTIFYING_BYTES);
        let mut hash = |offset| input.read_aside(offset, n).map(|bytes| blake3::hash(&bytes).into());
        Ok(Self { size, first: hash(0)?, last: hash(size - n)? })
    }

    /// Checks that an input is the one that was split. It may have grown, unless its end is read.
    pub fn check(&self, input: &mut Input, reads_end: bool, name: &str) -> Result<(), SplitError> {
        let refuse =
            |why: String| Err(SplitError::OtherInput(format!("{name} is not the input that was split: {why}")));
        let Some(size) = input.size()? else { return refuse("it is compressed or a pipe".to_owned()) };
        if size < self.size {
            return refuse(format!("it has {size} bytes, and had {}", self.size));
        }
        let now = Self::within(input, self.size)?;
        if now.first != self.first {
            return refuse("its first bytes differ".to_owned());
        }
        if now.last != self.last {
            return refuse("its last bytes differ".to_owned());
        }
        if size > self.size && reads_end {
            return refuse(format!(
                "it has grown from {} to {size} bytes, and this part reads to its end; split it again",
                self.size
            ));
        }
        Ok(())
    }
}

/// Facts about the input of a split.
#[derive(Debug, Clone, Default)]
pub(crate) struct SplitFacts {
    /// Name of the trace for messages.
    pub name: Text,
    /// Files of the trace.
    pub inputs: Vec<InputFacts>,
    /// Hash of the format files.
    pub formats: [u8; 32],
    /// Number of parts of the whole trace. A split file may contain only one of them.
    pub n_parts: u64,
    /// True if a template ended the report of the whole.
    pub stopped: bool,
}

stored!(SplitFacts { name, inputs, formats, n_parts, stopped });

/// One file of the input, and the options with which it is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputFacts {
    /// Name, as it was given.
    pub name: Text,
    pub identity: Identity,
    /// Codes of the options of the reader.
    kind: u8,
    cpuid_word: u8,
    lenient: bool,
    short_generic_word: bool,
    to_next_entry: bool,
}

stored!(InputFacts { name, identity, kind, cpuid_word, lenient, short_generic_word, to_next_entry });

impl InputFacts {
    /// Facts about a file that is read with these options, which name its kind.
    pub fn of_reader(name: String, identity: Identity, options: &ReadOptions) -> Self {
        let ReadOptions { format, cpuid_word, lenient, short_generic_word, after_damage, .. } = *options;
        Self {
            name: Text(name),
            identity,
            kind: codes::of(&codes::KINDS, format),
            cpuid_word: codes::of(&codes::CPUID_WORDS, Some(cpuid_word)),
            lenient,
            short_generic_word,
            to_next_entry: after_damage == AfterDamage::NextEntry,
        }
    }

    /// Options of the reader; `None` if the facts are not valid.
    pub fn read_options(&self) -> Option<ReadOptions> {
        Some(ReadOptions {
            format: Some(*codes::KINDS.get(usize::from(self.kind))?),
            cpuid_word: *codes::CPUID_WORDS.get(usize::from(self.cpuid_word))?,
            lenient: self.lenient,
            short_generic_word: self.short_generic_word,
            after_damage: if self.to_next_entry { AfterDamage::NextEntry } else { AfterDamage::Resync },
            ..ReadOptions::default()
        })
    }
}

/// Text that is stored as UTF-8.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text(pub String);

impl Stored for Text {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.visit(codec)?;
        self.0 = String::from_utf8(bytes).map_err(|_| Malformed)?;
        Ok(())
    }
}

stored!(PartInfo { number, offset, n_bytes, n_events });

/// Limit on all numbers of bytes and events, so that no sum overflows.
const MAX_COUNT: u64 = 1 << 60;

fn checksum(bytes: &[u8]) -> Checksum {
    let mut checksum = Checksum::default();
    checksum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    checksum
}

/// Bytes of a split file.
pub(super) fn encode(split: &Split) -> Vec<u8> {
    let Split { facts, parts, indexes, states } = split;
    let mut sections = vec![(INPUT, 0, Codec::encode(&mut facts.clone()))];
    for ((info, index), PartState { position, report }) in parts.iter().zip(indexes).zip(states) {
        let place = Codec::encode(&mut (*info, index.clone()));
        let contents = OF_PART.into_iter().zip([place, position.clone(), report.clone()]);
        sections.extend(contents.map(|(kind, bytes)| (kind, info.number as u32, bytes)));
    }
    let mut table = Vec::new();
    for (kind, part, bytes) in &sections {
        table.extend(kind.to_le_bytes());
        table.extend(part.to_le_bytes());
        table.extend((bytes.len() as u64).to_le_bytes());
        table.extend(checksum(bytes));
    }
    let mut out = Vec::from(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend((sections.len() as u32).to_le_bytes());
    out.extend(checksum(&table));
    out.extend(table);
    sections.iter().for_each(|(.., bytes)| out.extend_from_slice(bytes));
    out
}

/// Row of the table of sections.
#[derive(Debug, Clone, Copy, Default)]
struct Section {
    kind: u32,
    part: u32,
    offset: u64,
    len: u64,
    checksum: Checksum,
}

/// Reader of the sections of a split file.
struct SplitFile<'f, F> {
    file: &'f mut F,
    sections: Vec<Section>,
}

impl<'f, F: Read + Seek> SplitFile<'f, F> {
    /// Reads the table of the sections.
    fn open(file: &'f mut F) -> Result<Self, SplitError> {
        let malformed = |what| Err(SplitError::Malformed(what));
        let size = file.seek(SeekFrom::End(0))?;
        if size < HEADER_BYTES as u64 {
            return malformed("a damaged split file: it is too short");
        }
        let header = read_at(file, 0, HEADER_BYTES as u64)?;
        if header[..4] != MAGIC {
            return malformed("not a split file; `tfbc split` writes one");
        }
        if header[4..8] != VERSION.to_le_bytes() {
            return malformed("a split file of another version of tfbc; split the trace again");
        }
        let n = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let table_bytes = u64::from(n) * ROW_BYTES as u64;
        let mut offset = HEADER_BYTES as u64 + table_bytes;
        if offset > size {
            return malformed("a damaged split file: its table is cut");
        }
        let table = read_at(file, HEADER_BYTES as u64, table_bytes)?;
        if checksum(&table) != header[12..] {
            return malformed("a damaged split file: the checksum of its table is wrong");
        }
        let mut sections = Vec::new();
        for row in table.as_chunks::<ROW_BYTES>().0 {
            let number = |at: usize| u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
            let len = u64::from(number(8)) | u64::from(number(12)) << 32;
            let mut checksum = Checksum::default();
            checksum.copy_from_slice(&row[16..]);
            sections.push(Section { kind: number(0), part: number(4), offset, len, checksum });
            offset = match offset.checked_add(len) {
                Some(end) if end <= size => end,
                _ => return malformed("a damaged split file: a section is cut"),
            };
        }
        if offset != size {
            return malformed("a damaged split file: bytes follow its sections");
        }
        Ok(Self { file, sections })
    }

    /// Reads a section.
    fn read(&mut self, at: usize, kind: u32, part: u32) -> Result<Vec<u8>, SplitError> {
        let found = self.sections.get(at).filter(|section| (section.kind, section.part) == (kind, part));
        let section = *found.ok_or(SplitError::Malformed("a damaged split file: a section is missing"))?;
        let bytes = read_at(self.file, section.offset, section.len)?;
        if checksum(&bytes) != section.checksum {
            return Err(SplitError::Malformed("a damaged split file: the checksum of a section is wrong"));
        }
        Ok(bytes)
    }
}

fn read_at(file: &mut (impl Read + Seek), offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len as usize];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a split file: all its parts, or one of them.
pub(super) fn read(file: &mut (impl Read + Seek), wanted: Option<u64>) -> Result<Split, SplitError> {
    const NUMBERS: SplitError = SplitError::Malformed("a damaged split file: the numbers of its parts");
    let mut file = SplitFile::open(file)?;
    let mut facts = SplitFacts::default();
    Codec::decode(&file.read(0, INPUT, 0)?, &mut facts)
        .map_err(|Malformed| SplitError::Malformed("a damaged split file: the facts about its input"))?;
    let numbers: Vec<u32> = file.sections[1..].chunks(OF_PART.len()).map(|sections| sections[0].part).collect();
    let is_whole = numbers.len() as u64 == facts.n_parts && (1..).zip(&numbers).all(|(number, part)| number == *part);
    let is_alone = matches!(numbers[..], [number] if (1..=facts.n_parts).contains(&u64::from(number)));
    if numbers.is_empty() || !(is_whole || is_alone) {
        return Err(NUMBERS);
    }
    let mut sums = [0_u64; 6];
    let mut split = Split { facts, parts: Vec::new(), indexes: Vec::new(), states: Vec::new() };
    for (at, number) in numbers.into_iter().enumerate() {
        if wanted.is_some_and(|wanted| wanted != u64::from(number)) {
            continue;
        }
        let mut section = |kind: usize| file.read(1 + at * OF_PART.len() + kind, OF_PART[kind], number);
        let mut place = (PartInfo::default(), PartIndex::default());
        Codec::decode(&section(0)?, &mut place)
            .map_err(|Malformed| SplitError::Malformed("a damaged split file: the list of its parts"))?;
        if place.0.number != u64::from(number) {
            return Err(NUMBERS);
        }
        let Tally { read, header, events, skipped } = place.1.tally;
        let counts = [place.0.n_bytes, place.0.n_events, read, header, events, skipped];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
        if sums.iter().any(|sum| *sum > MAX_COUNT) {
            return Err(NUMBERS);
        }
        split.parts.push(place.0);
        split.indexes.push(place.1);
        split.states.push(PartState { position: section(1)?, report: section(2)? });
    }
    Ok(split)
}
