//! Layout of split files.
//!
//! ```text
//! header   "tfbs" | version u32 | number of sections u32 | size of the file u64 | checksum of these, 16 bytes
//! table    per section: kind u32 | part u32 | offset u64 | length u64 | checksum of these and the contents, 16 bytes
//! contents of the sections, in their order
//! ```
//!
//! Numbers are little-endian. Checksums are the first 16 bytes of BLAKE3. The first section is about the input. Each part
//! has three sections: its place and index, the position of the reader, and the state of a report. A file contains all
//! parts, or one of them. A part is read without the sections of the others, and without their rows of the table.

use super::codec::{Codec, Malformed, SPLIT_MAGIC as MAGIC, Text, stored};
use super::formats::{FormatFacts, HashStart};
use super::{PartIndex, PartInfo, PartState, Split, SplitError, codes};
use crate::reader::aix::{AfterDamage, ReadOptions};
use crate::reader::{Input, Tally};
use std::io::{self, Read, Seek, SeekFrom};

const VERSION: u32 = 4;
const HEADER_BYTES: usize = 36;
const ROW_BYTES: usize = 40;

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
        let differs = |end, now, before| {
            let (now, before) = (HashStart(now), HashStart(before));
            format!("its {end} bytes differ (BLAKE3 {now} of {size} bytes, and was {before} of {})", self.size)
        };
        if now.first != self.first {
            return refuse(differs("first", &now.first, &self.first));
        }
        if now.last != self.last {
            return refuse(differs("last", &now.last, &self.last));
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
    pub formats: FormatFacts,
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

stored!(PartInfo { number, offset, n_bytes, n_events });

/// Limit on all numbers of bytes and events, so that no sum overflows.
const MAX_COUNT: u64 = 1 << 60;

fn checksum(hasher: &blake3::Hasher) -> Checksum {
    let mut checksum = Checksum::default();
    checksum.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    checksum
}

/// Row of the table of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Section {
    kind: u32,
    part: u32,
    offset: u64,
    len: u64,
}

stored!(Section { kind, part, offset, len });

impl Section {
    fn checksum(mut self, contents: &[u8]) -> Checksum {
        checksum(blake3::Hasher::new().update(&Codec::encode(&mut self)).update(contents))
    }

    /// Offset after the section.
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// Bytes of a split file.
pub(super) fn encode(split: &Split) -> Vec<u8> {
    let Split { facts, parts, indexes, states } = split;
    let mut sections = vec![(Section { kind: INPUT, ..Section::default() }, Codec::encode(&mut facts.clone()))];
    for ((info, index), PartState { position, report }) in parts.iter().zip(indexes).zip(states) {
        let place = Codec::encode(&mut (*info, index.clone()));
        let contents = OF_PART.into_iter().zip([place, position.clone(), report.clone()]);
        let of_part = |kind| Section { kind, part: info.number as u32, ..Section::default() };
        sections.extend(contents.map(|(kind, bytes)| (of_part(kind), bytes)));
    }
    let mut offset = (HEADER_BYTES + sections.len() * ROW_BYTES) as u64;
    let mut table = Vec::new();
    for (section, contents) in &mut sections {
        (section.offset, section.len) = (offset, contents.len() as u64);
        offset = section.end();
        table.extend(Codec::encode(section));
        table.extend(section.checksum(contents));
    }
    let mut out = Vec::from(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend((sections.len() as u32).to_le_bytes());
    out.extend(offset.to_le_bytes());
    out.extend(checksum(blake3::Hasher::new().update(&out)));
    out.extend(table);
    sections.iter().for_each(|(_, contents)| out.extend_from_slice(contents));
    out
}

/// Reader of the sections of a split file.
struct SplitFile<'f, F> {
    file: &'f mut F,
    size: u64,
    n_sections: u64,
    /// Rows of the table; empty if only some of them are read.
    rows: Vec<(Section, Checksum)>,
}

impl<'f, F: Read + Seek> SplitFile<'f, F> {
    /// Reads the header.
    fn open(file: &'f mut F) -> Result<Self, SplitError> {
        let malformed = |what| Err(SplitError::Malformed(what));
        let size = file.seek(SeekFrom::End(0))?;
        if size < HEADER_BYTES as u64 {
            return malformed("a damaged split file: it is too short");
        }
        let header = read_at(file, 0, HEADER_BYTES as u64)?;
        let (facts, expected) = header.split_at(HEADER_BYTES - size_of::<Checksum>());
        if facts[..4] != MAGIC {
            return malformed("not a split file; `tfbc split` writes one");
        }
        if facts[4..8] != VERSION.to_le_bytes() {
            return malformed("a split file of another version of tfbc; split the trace again");
        }
        if checksum(blake3::Hasher::new().update(facts)) != expected {
            return malformed("a damaged split file: the checksum of its header is wrong");
        }
        let mut counts = (0_u32, 0_u64);
        if Codec::decode(&facts[8..], &mut counts).is_err() || counts.1 != size {
            return malformed("a damaged split file: its size is wrong");
        }
        let n_sections = u64::from(counts.0);
        if n_sections == 0 || HEADER_BYTES as u64 + n_sections * ROW_BYTES as u64 > size {
            return malformed("a damaged split file: its table is cut");
        }
        Ok(Self { file, size, n_sections, rows: Vec::new() })
    }

    /// Reads the whole table, and checks that its sections follow one another to the end of the file. So no byte is read
    /// for more than one of them.
    fn read_table(&mut self) -> Result<(), SplitError> {
        let table_bytes = self.n_sections * ROW_BYTES as u64;
        let table = read_at(self.file, HEADER_BYTES as u64, table_bytes)?;
        let mut end = HEADER_BYTES as u64 + table_bytes;
        for row in table.as_chunks::<ROW_BYTES>().0 {
            let (section, checksum) = section_of(row);
            if section.offset != end {
                return Err(SplitError::Malformed("a damaged split file: its sections overlap or have gaps"));
            }
            end = section.end();
            self.rows.push((section, checksum));
        }
        if end == self.size { Ok(()) } else { Err(SplitError::Malformed("a damaged split file: a section is cut")) }
    }

    /// Reads a section by its number in the table.
    fn read(&mut self, at: u64, kind: u32, part: u32) -> Result<Vec<u8>, SplitError> {
        if at >= self.n_sections {
            return Err(SplitError::Malformed("a damaged split file: a section is missing"));
        }
        let (section, expected) = self.row(at)?;
        if (section.kind, section.part) != (kind, part) {
            return Err(SplitError::Malformed("a damaged split file: a section is missing"));
        }
        if section.end() > self.size {
            return Err(SplitError::Malformed("a damaged split file: a section is cut"));
        }
        let contents = read_at(self.file, section.offset, section.len)?;
        if section.checksum(&contents) != expected {
            return Err(SplitError::Malformed("a damaged split file: the checksum of a section is wrong"));
        }
        Ok(contents)
    }

    fn row(&mut self, at: u64) -> io::Result<(Section, Checksum)> {
        if let Some(row) = self.rows.get(at as usize) {
            return Ok(*row);
        }
        let mut row = [0; ROW_BYTES];
        self.file.seek(SeekFrom::Start(HEADER_BYTES as u64 + at * ROW_BYTES as u64))?;
        self.file.read_exact(&mut row)?;
        Ok(section_of(&row))
    }
}

/// Section and checksum in a row of the table.
fn section_of(row: &[u8; ROW_BYTES]) -> (Section, Checksum) {
    let mut row_of = (Section::default(), Checksum::default());
    // A row has the bytes of both.
    let _ = Codec::decode(row, &mut row_of);
    row_of
}

fn read_at(file: &mut (impl Read + Seek), offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len as usize];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Parts to read from a split file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WantedParts {
    All,
    /// The part with this number, if the file contains it.
    Only(u64),
    /// None: only the facts about the input.
    None,
}

/// Reads a split file and some of its parts.
pub(super) fn read(file: &mut (impl Read + Seek), wanted: WantedParts) -> Result<Split, SplitError> {
    const NUMBERS: SplitError = SplitError::Malformed("a damaged split file: the numbers of its parts");
    let mut file = SplitFile::open(file)?;
    let mut facts = SplitFacts::default();
    Codec::decode(&file.read(0, INPUT, 0)?, &mut facts)
        .map_err(|Malformed| SplitError::Malformed("a damaged split file: the facts about its input"))?;
    let n_parts = facts.n_parts;
    let n_in_file = (file.n_sections - 1) / OF_PART.len() as u64;
    let is_whole = n_in_file == n_parts;
    if n_in_file * OF_PART.len() as u64 + 1 != file.n_sections || n_in_file == 0 || !(is_whole || n_in_file == 1) {
        return Err(NUMBERS);
    }
    let first = if is_whole { 1 } else { u64::from(file.row(1)?.0.part) };
    if !(1..=n_parts).contains(&first) {
        return Err(NUMBERS);
    }
    let numbers = match wanted {
        WantedParts::All => {
            file.read_table()?;
            first..first + n_in_file
        }
        WantedParts::Only(number) => number..number.saturating_add(1),
        WantedParts::None => first..first,
    };
    let mut sums = [0_u64; 6];
    let mut split = Split { facts, parts: Vec::new(), indexes: Vec::new(), states: Vec::new() };
    for number in numbers {
        let Some(at) = number.checked_sub(first).filter(|at| *at < n_in_file) else { continue };
        let mut section =
            |kind: usize| file.read(1 + at * OF_PART.len() as u64 + kind as u64, OF_PART[kind], number as u32);
        let mut place = (PartInfo::default(), PartIndex::default());
        Codec::decode(&section(0)?, &mut place)
            .map_err(|Malformed| SplitError::Malformed("a damaged split file: the list of its parts"))?;
        if place.0.number != number {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn split_of(n_parts: u64) -> Split {
        let parts = (1..=n_parts).map(|number| PartInfo { number, n_bytes: 1, n_events: 1, ..PartInfo::default() });
        let state = PartState { position: vec![1; 50], report: vec![2; 70] };
        Split {
            facts: SplitFacts { n_parts, ..SplitFacts::default() },
            parts: parts.collect(),
            indexes: vec![PartIndex::default(); n_parts as usize],
            states: vec![state; n_parts as usize],
        }
    }

    /// File in memory that counts the bytes that are read.
    struct CountedFile {
        file: io::Cursor<Vec<u8>>,
        n_read: usize,
    }

    impl CountedFile {
        fn of(bytes: Vec<u8>) -> Self {
            Self { file: io::Cursor::new(bytes), n_read: 0 }
        }
    }

    impl Read for CountedFile {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.file.read(buffer)?;
            self.n_read += n;
            Ok(n)
        }
    }

    impl Seek for CountedFile {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.file.seek(to)
        }
    }

    #[test]
    fn one_part_is_read_without_the_others() {
        let n_read = |n_parts, number| {
            let mut file = CountedFile::of(split_of(n_parts).encode());
            let split = read(&mut file, WantedParts::Only(number)).unwrap();
            assert_eq!((split.parts.len(), split.parts[0].number), (1, number));
            file.n_read
        };
        assert_eq!(n_read(3000, 2999), n_read(3, 2));
        for number in [0, 4, u64::MAX] {
            assert!(
                read(&mut CountedFile::of(split_of(3).encode()), WantedParts::Only(number)).unwrap().parts.is_empty()
            );
        }
    }

    #[test]
    fn a_changed_byte_is_refused_or_belongs_to_another_part() {
        let bytes = split_of(3).encode();
        let only = split_of(3).only(2).unwrap().encode();
        let mut n_refused = 0;
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            match read(&mut CountedFile::of(changed), WantedParts::Only(2)) {
                Ok(split) => assert!(split.encode() == only, "byte {at}"),
                Err(_) => n_refused += 1,
            }
        }
        assert!(n_refused > bytes.len() / 4 && n_refused < bytes.len() * 3 / 4, "{n_refused} of {}", bytes.len());
    }

    #[test]
    fn sections_that_share_bytes_are_refused() {
        // The last section has the place of the one before it.
        let mut bytes = split_of(3).encode();
        let at = HEADER_BYTES + 8 * ROW_BYTES;
        let (mut before, _) = section_of(bytes[at..].first_chunk().unwrap());
        let contents = bytes[before.offset as usize..before.end() as usize].to_vec();
        before.kind = OF_PART[2];
        let row = [Codec::encode(&mut before), before.checksum(&contents).to_vec()].concat();
        bytes[at + ROW_BYTES..][..ROW_BYTES].copy_from_slice(&row);
        let error = read(&mut CountedFile::of(bytes), WantedParts::All).unwrap_err();
        assert!(error.to_string().contains("overlap"), "{error}");
    }
}
