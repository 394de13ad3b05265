//! Layout of split files.
//!
//! ```text
//! header   "tfbs" | version u32 | number of sections u32 | checksum of the table, 16 bytes
//! table    per section: kind u32 | part u32 | length u64 | checksum, 16 bytes
//! contents of the sections, in their order
//! ```
//!
//! Numbers are little-endian. Checksums are the first 16 bytes of BLAKE3. Each part but part 1 has two sections: the
//! position of the reader, and the state of a report. A file contains all parts, or one of them.

use super::codec::{Codec, Malformed, Stored, stored};
use super::{PartIndex, PartInfo, PartState, Split, SplitError};
use crate::reader::Input;
use std::io;

/// First bytes of a split file.
pub(crate) const MAGIC: [u8; 4] = *b"tfbs";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 28;
const ROW_BYTES: usize = 32;

const INPUT: u32 = 0;
const PARTS: u32 = 1;
const POSITION: u32 = 2;
const REPORT: u32 = 3;

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

stored!(Identity { size: u64, first: [u8; 32], last: [u8; 32] });

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
                "it has grown from {} to {size} bytes, and the last part reads to its end; split it again",
                self.size
            ));
        }
        Ok(())
    }
}

/// Facts about the input of a split.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputFacts {
    /// Name, as it was given.
    pub name: String,
    pub identity: Identity,
    /// Hash of the format files.
    pub formats: [u8; 32],
    /// Number of parts of the whole trace. A split file may contain only one of them.
    pub n_parts: u64,
    /// True if a template ended the report of the whole.
    pub stopped: bool,
    /// Codes of the options of the reader.
    pub kind: u8,
    pub cpuid_word: u8,
    pub lenient: bool,
    pub short_generic_word: bool,
    pub to_next_entry: bool,
}

impl Stored for InputFacts {
    const MIN_BYTES: usize = 0;

    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut name = self.name.clone().into_bytes();
        name.visit(codec)?;
        self.name = String::from_utf8(name).map_err(|_| Malformed)?;
        self.identity.visit(codec)?;
        self.formats.visit(codec)?;
        self.n_parts.visit(codec)?;
        self.stopped.visit(codec)?;
        self.kind.visit(codec)?;
        self.cpuid_word.visit(codec)?;
        self.lenient.visit(codec)?;
        self.short_generic_word.visit(codec)?;
        self.to_next_entry.visit(codec)
    }
}

stored!(PartInfo { number: u64, offset: u64, n_bytes: u64, n_events: u64 });

struct Section {
    kind: u32,
    part: u32,
    bytes: Vec<u8>,
}

fn checksum(bytes: &[u8]) -> Checksum {
    let mut checksum = Checksum::default();
    checksum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    checksum
}

/// Bytes of a split file.
pub(super) fn encode(split: &Split) -> Vec<u8> {
    let Split { input, parts, indexes, states } = split;
    let mut known: Vec<(PartInfo, PartIndex)> = parts.iter().copied().zip(indexes.iter().cloned()).collect();
    let mut sections = vec![
        Section { kind: INPUT, part: 0, bytes: Codec::encode(&mut input.clone()) },
        Section { kind: PARTS, part: 0, bytes: Codec::encode(&mut known) },
    ];
    for (info, PartState { position, report }) in parts.iter().zip(states).filter(|(info, _)| info.number != 1) {
        let part = info.number as u32;
        sections.push(Section { kind: POSITION, part, bytes: position.clone() });
        sections.push(Section { kind: REPORT, part, bytes: report.clone() });
    }
    let mut table = Vec::new();
    for Section { kind, part, bytes } in &sections {
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
    sections.iter().for_each(|section| out.extend_from_slice(&section.bytes));
    out
}

/// Reads the sections of a split file.
fn sections(bytes: &[u8]) -> Result<Vec<Section>, &'static str> {
    let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or("a damaged split file: it is too short")?;
    if header[..4] != MAGIC {
        return Err("not a split file; `tfbc split` writes one");
    }
    if header[4..8] != VERSION.to_le_bytes() {
        return Err("a split file of another version of tfbc; split the trace again");
    }
    let n = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
    let (table, mut rest) = n
        .checked_mul(ROW_BYTES)
        .and_then(|len| rest.split_at_checked(len))
        .ok_or("a damaged split file: its table is cut")?;
    if checksum(table) != header[12..] {
        return Err("a damaged split file: the checksum of its table is wrong");
    }
    let mut sections = Vec::new();
    for row in table.as_chunks::<ROW_BYTES>().0 {
        let number = |at: usize| u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
        let len = u64::from(number(8)) | u64::from(number(12)) << 32;
        let split = usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len));
        let (bytes, after) = split.ok_or("a damaged split file: a section is cut")?;
        if checksum(bytes) != row[16..] {
            return Err("a damaged split file: the checksum of a section is wrong");
        }
        sections.push(Section { kind: number(0), part: number(4), bytes: bytes.to_vec() });
        rest = after;
    }
    if rest.is_empty() { Ok(sections) } else { Err("a damaged split file: bytes follow its sections") }
}

/// Decodes a split file.
pub(super) fn decode(bytes: &[u8]) -> Result<Split, &'static str> {
    let mut found = sections(bytes)?.into_iter();
    let mut next = |kind: u32, part: u32| {
        let section = found.next().filter(|section| (section.kind, section.part) == (kind, part));
        section.map(|section| section.bytes).ok_or("a damaged split file: a section is missing")
    };
    let (mut input, mut parts) = (InputFacts::default(), Vec::<(PartInfo, PartIndex)>::new());
    Codec::decode(&next(INPUT, 0)?, &mut input)
        .map_err(|Malformed| "a damaged split file: the facts about its input")?;
    Codec::decode(&next(PARTS, 0)?, &mut parts).map_err(|Malformed| "a damaged split file: the list of its parts")?;
    const NUMBERS: &str = "a damaged split file: the numbers of its parts";
    let is_whole = (1..).zip(&parts).all(|(number, part)| part.0.number == number);
    let is_alone = matches!(&parts[..], [(part, _)] if (1..=input.n_parts).contains(&part.number));
    if !is_alone && (!is_whole || parts.is_empty() || parts.len() as u64 != input.n_parts) {
        return Err(NUMBERS);
    }
    let mut states = Vec::new();
    for (info, _) in &parts {
        let part = u32::try_from(info.number).map_err(|_| NUMBERS)?;
        states.push(match part {
            1 => PartState::default(),
            part => PartState { position: next(POSITION, part)?, report: next(REPORT, part)? },
        });
    }
    let (parts, indexes) = parts.into_iter().unzip();
    if found.next().is_some() {
        Err("a damaged split file: it has too many sections")
    } else {
        Ok(Split { input, parts, indexes, states })
    }
}
