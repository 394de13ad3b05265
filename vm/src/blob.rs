//! The `.tfbc` format: writing and opening. All numbers are little-endian; sections begin at multiples of 8.
//!
//! ```text
//!  0  label      89 54 46 42 43 0D 0A 1A
//!  8  u16        version, 8
//! 10  u16        0x1234, as this file's byte order writes it
//! 12  u32        number of sections
//! 16  u64        length of the whole file
//! 24  u32        CRC-32 of everything but these four bytes
//! 28  u32        zero
//! 32  section    kind u32, offset u32, length in bytes u32, zero u32: one row a section, by kind
//! ```
//!
//! Rows of sections are the structures of this module, byte for byte. `docs/blob.md` has drawings.

use crate::rule::Rule;
use crate::table::TableKind;
use crate::{Instr, Space};
use bytemuck::{Pod, Zeroable, cast_slice};
use hashbrown::{HashMap, HashTable};
use std::borrow::Cow;
use std::hash::{BuildHasher, Hash};

/// First bytes of every blob.
pub const LABEL: [u8; 8] = *b"\x89TFBC\r\n\x1a";
/// Version that this package writes.
pub const VERSION: u16 = 8;
/// Oldest version that this package reads. Version 5 has no fields, version 6 none of QNX records. Version 7 stores the
/// words of a switch by a branch per case.
pub const OLDEST_VERSION: u16 = 5;
/// First version with fields of QNX records.
const FIRST_WITH_RECORD_FIELDS: u16 = 7;

const ORDER_MARK: u16 = 0x1234;
const HEAD_LEN: usize = 32;
const ROW_LEN: usize = 16;
const CRC_AT: usize = 24;
/// Number of sections.
const N_SECTIONS: usize = 9;

/// Source position of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable, Default)]
#[repr(C)]
pub struct SourcePos {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1; 65,535 also for later columns.
    pub column: u16,
    /// Index of the source.
    pub source: u16,
}

/// Routine: a stanza or function for one environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable, Default)]
#[repr(C)]
pub struct RoutineRow {
    /// Index of its first instruction.
    pub start: u32,
    /// Number of instructions.
    pub len: u32,
    /// Number of instructions in its body. An event's routine ends after them; the others are only reached by jumps.
    pub body: u32,
    /// Event bytes that its fixed reads need.
    pub need: u32,
    /// Number of registers, from 0, that are zeroed before an event.
    pub zeroed: u16,
    /// 0 for an event's routine, 1 for a called one.
    pub called: u8,
    /// Number that is equal for routines with the same opcodes and usually different for others; set by
    /// [`BlobBuilder::finish`]. It only affects speed: any value is valid.
    pub shape: u8,
    /// Name: offset and length in the string pool.
    pub name: [u32; 2],
}

/// Entry for an AIX hook id, or for a QNX class and event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable, Default)]
#[repr(C)]
pub struct HookRow {
    /// Canonical id, or `class << 10 | event`. Rows are sorted by space, then by id.
    pub id: u16,
    /// Number of a [`crate::Level`].
    pub level: u8,
    /// Bits: 1 the label is hidden, 2 built in, 4 has effects beyond its text; bits 3 and 4 are the number of a
    /// [`Space`].
    pub flags: u8,
    /// Version.
    pub version: u32,
    /// Release.
    pub release: u32,
    /// Label: offset and length in the string pool.
    pub label: [u32; 2],
    /// Line of the stanza, from 1.
    pub line: u32,
    /// Index of its source.
    pub source: u16,
    /// Shift of the tab stops in columns, for `L=0`. With [`TABS_FROM_LINE`], stops count from the first column of the
    /// line.
    pub tab_origin: u16,
    /// Routine per environment, in the order of [`Space::envs`].
    pub routines: [u32; 4],
}

/// Flag in [`HookRow::tab_origin`]: tab stops count from the first column of the line instead of the margin.
pub const TABS_FROM_LINE: u16 = 0x8000;

impl HookRow {
    /// Space of the id.
    pub(crate) fn space(&self) -> Space {
        Space::ALL[usize::from(self.flags >> 3 & 3)]
    }

    /// True if the entry's routines may set or end timers, or stop the report. If false, the verifier refuses such
    /// routines.
    pub fn has_effects(&self) -> bool {
        self.flags & 4 != 0
    }
}

/// Switch table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct TableRow {
    /// Number of a [`TableKind`].
    pub kind: u32,
    /// Index of its first word.
    pub start: u32,
    /// Number of words.
    pub len: u32,
}

/// Source that the blob was compiled from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct SourceRow {
    /// Name: offset and length in the string pool.
    pub name: [u32; 2],
    /// CRC-32 of the source's bytes.
    pub crc: u32,
    /// Length of the source in bytes.
    pub len: u32,
}

/// Reason why a blob was refused. Offsets are in bytes from the start of the blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlobError {
    /// The blob does not begin with the label.
    Label,
    /// The blob has another format version.
    Version {
        /// Version found.
        found: u16,
    },
    /// The blob has another byte order.
    ByteOrder,
    /// The blob is shorter or longer than its header says.
    Length {
        /// Length in the header.
        expected: u64,
        /// Length of the file.
        found: u64,
    },
    /// The checksum differs: the blob was altered.
    Checksum,
    /// A section is missing, out of order or outside of the blob.
    Section {
        /// Number of the section, from 1.
        kind: u32,
        /// Offset of its row in the section table.
        offset: u32,
    },
    /// A row refers to data outside of a section.
    Row {
        /// Number of the section with the row.
        section: u32,
        /// Index of the row.
        row: u32,
    },
    /// An instruction breaks a rule of the verifier.
    Instr {
        /// Rule that is broken.
        rule: Rule,
        /// Index of the routine.
        routine: u32,
        /// Index of the instruction, from the first of the program.
        at: u32,
    },
}

impl BlobError {
    /// Stable code for `tfbc explain`.
    pub const fn code(self) -> &'static str {
        match self {
            BlobError::Label => "B01",
            BlobError::Version { .. } => "B02",
            BlobError::ByteOrder => "B03",
            BlobError::Length { .. } => "B04",
            BlobError::Checksum => "B05",
            BlobError::Section { .. } => "B06",
            BlobError::Row { .. } => "B07",
            BlobError::Instr { .. } => "B08",
        }
    }

    /// Code, title and long text of every blob error.
    pub const CODES: &[(&str, &str, &str)] = &[
        (
            "B01",
            "not a blob",
            "The file does not begin with the label of a `.tfbc` blob (89 54 46 42 43 0D 0A 1A).\nA copy in text mode changes the label.",
        ),
        (
            "B02",
            "blob of another version",
            "The blob was written by a tfbc with another blob format.\nCompile the format files again: `tfbc compile FORMAT -o X.tfbc`.",
        ),
        (
            "B03",
            "blob of another byte order",
            "The byte order mark in the header is not 0x1234: something swapped the bytes.",
        ),
        (
            "B04",
            "blob of the wrong length",
            "The file does not have the length that its header states.\nA usual cause is an interrupted copy.",
        ),
        (
            "B05",
            "altered blob",
            "The checksum in the header differs from that of the bytes. The file was damaged or edited.",
        ),
        (
            "B06",
            "bad section table",
            "A section of the blob is missing, out of order, overlaps another, or reaches past the end of the file.",
        ),
        (
            "B07",
            "bad table row",
            "A row of the routine, hook, table or source section refers to data outside the sections.",
        ),
        (
            "B08",
            "instruction refused by the verifier",
            "An instruction breaks one of the rules that the machine relies on (see `docs/blob.md`).\n`tfbc verify X.tfbc` names the rule, the routine and the instruction.",
        ),
    ];
}

impl std::fmt::Display for BlobError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BlobError::Label => f.write_str("not a .tfbc blob: the first 8 bytes are not its label"),
            BlobError::Version { found } => write!(f, "blob format version {found}, expected {VERSION}, at offset 8"),
            BlobError::ByteOrder => {
                f.write_str("byte order mark at offset 10 is wrong, expected 0x1234: the bytes were swapped")
            }
            BlobError::Length { expected, found } => {
                write!(f, "length is {found} bytes, expected {expected} (header, offset 16)")
            }
            BlobError::Checksum => {
                f.write_str("checksum at offset 24 differs from that of the bytes: the blob was altered")
            }
            BlobError::Section { kind, offset } => {
                write!(
                    f,
                    "section {kind} is missing, out of order or outside the file (section table, offset {offset})"
                )
            }
            BlobError::Row { section, row } => {
                write!(f, "row {row} of section {section} refers to data outside the blob's sections")
            }
            BlobError::Instr { rule, routine, at } => {
                write!(f, "instruction {at} of routine {routine} breaks rule {rule}")
            }
        }
    }
}

impl std::error::Error for BlobError {}

/// Sections of an opened but unverified blob. Borrows the bytes if they are aligned.
#[derive(Debug, Clone)]
pub(crate) struct Sections<'b> {
    pub version: u16,
    pub code: Cow<'b, [Instr]>,
    pub places: Cow<'b, [SourcePos]>,
    pub routines: Cow<'b, [RoutineRow]>,
    pub hooks: Cow<'b, [HookRow]>,
    pub tables: Cow<'b, [TableRow]>,
    pub words: Cow<'b, [u64]>,
    pub strings: &'b [u8],
    pub sources: Cow<'b, [SourceRow]>,
    pub dialect: &'b [u8],
}

impl Sections<'_> {
    /// True if the row has a schema of fields instead of a label.
    pub fn has_schema(&self, row: &HookRow) -> bool {
        match row.space() {
            Space::HookFields => true,
            Space::RecordFields => self.has_record_fields(),
            Space::Hook | Space::Record => false,
        }
    }

    /// True if the version has schemas of QNX records.
    pub fn has_record_fields(&self) -> bool {
        self.version >= FIRST_WITH_RECORD_FIELDS
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..CRC_AT]);
    hasher.update(&bytes[CRC_AT + 4..]);
    hasher.finalize()
}

/// True if the checksum in the header matches the bytes.
pub fn is_intact(blob: &[u8]) -> bool {
    blob.len() >= HEAD_LEN && u32_at(blob, CRC_AT) == checksum(blob)
}

/// Writes the correct checksum to the header, for tools that alter blobs. Does nothing if the bytes are shorter than a
/// header.
pub fn write_checksum(blob: &mut [u8]) {
    if blob.len() >= HEAD_LEN {
        let crc = checksum(blob);
        blob[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Views a section as rows; copies it if it is misaligned.
fn rows<T: Pod>(bytes: &[u8]) -> Option<Cow<'_, [T]>> {
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return None;
    }
    Some(match bytemuck::try_cast_slice(bytes) {
        Ok(rows) => Cow::Borrowed(rows),
        Err(_) => Cow::Owned(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()),
    })
}

/// Opens the sections of a blob: checks header, length and section table, and the checksum if `summed`.
pub(crate) fn open(bytes: &[u8], summed: bool) -> Result<Sections<'_>, BlobError> {
    if !bytes.starts_with(&LABEL) {
        return Err(BlobError::Label);
    }
    let found = bytes.len() as u64;
    let table_end = HEAD_LEN + N_SECTIONS * ROW_LEN;
    if bytes.len() < table_end {
        return Err(BlobError::Length { expected: table_end as u64, found });
    }
    // Rows are used in place, so a host with another byte order cannot read them.
    if u16::from_ne_bytes([bytes[10], bytes[11]]) != ORDER_MARK {
        return Err(BlobError::ByteOrder);
    }
    // Checked before the length, which another version may count differently.
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        return Err(BlobError::Version { found: version });
    }
    // Checked before the checksum, so that a cut copy is reported as cut and not as altered.
    let expected = u64::from(u32_at(bytes, 16)) | u64::from(u32_at(bytes, 20)) << 32;
    if expected != found {
        return Err(BlobError::Length { expected, found });
    }
    if summed && u32_at(bytes, CRC_AT) != checksum(bytes) {
        return Err(BlobError::Checksum);
    }
    if u32_at(bytes, 12) as usize != N_SECTIONS {
        return Err(BlobError::Section { kind: 0, offset: 12 });
    }
    let mut end = table_end;
    let mut section = |kind: u32| {
        let row = HEAD_LEN + (kind as usize - 1) * ROW_LEN;
        let error = BlobError::Section { kind, offset: row as u32 };
        let (start, len) = (u32_at(bytes, row + 4) as usize, u32_at(bytes, row + 8) as usize);
        // Sections are in order and begin at multiples of 8, so rows can be used in place and no byte belongs to two
        // sections.
        let in_order = u32_at(bytes, row) == kind && start >= end && start.is_multiple_of(8);
        let stop = start.checked_add(len).filter(|_| in_order).ok_or(error)?;
        let found = bytes.get(start..stop).ok_or(error)?;
        end = stop;
        Ok((found, error))
    };
    fn typed<'b, T: Pod>(found: Result<(&'b [u8], BlobError), BlobError>) -> Result<Cow<'b, [T]>, BlobError> {
        let (bytes, error) = found?;
        rows(bytes).ok_or(error)
    }
    Ok(Sections {
        version,
        code: typed(section(1))?,
        places: typed(section(2))?,
        routines: typed(section(3))?,
        hooks: typed(section(4))?,
        tables: typed(section(5))?,
        words: typed(section(6))?,
        strings: section(7)?.0,
        sources: typed(section(8))?,
        dialect: section(9)?.0,
    })
}

/// Index of a section's rows by content. Hashes are seeded, so that input cannot be chosen to collide.
#[derive(Debug, Clone, Default)]
struct RowIndex {
    seed: hashbrown::DefaultHashBuilder,
    rows: HashTable<(u64, u32)>,
}

impl RowIndex {
    /// Finds the row with equal content; `Err` contains the hash of the content.
    fn find(&self, content: impl Hash, same: impl Fn(usize) -> bool) -> Result<u32, u64> {
        // Equal hashes are compared by content; a collision only costs time.
        let hash = self.seed.hash_one(content);
        let found = self.rows.find(hash, |(known, row)| *known == hash && same(*row as usize));
        found.map(|(_, row)| *row).ok_or(hash)
    }

    fn insert(&mut self, hash: u64, row: u32) {
        self.rows.insert_unique(hash, (hash, row), |(hash, _)| *hash);
    }
}

/// Builder of a blob. Equal strings, words and tables are stored once.
#[derive(Debug, Clone, Default)]
pub struct BlobBuilder {
    code: Vec<Instr>,
    places: Vec<SourcePos>,
    routines: Vec<RoutineRow>,
    hooks: Vec<HookRow>,
    tables: Vec<TableRow>,
    words: Vec<u64>,
    /// Runs of `words` used directly by instructions: offset and length.
    runs: Vec<[u32; 2]>,
    strings: Vec<u8>,
    /// Runs of `strings`: offset and length.
    texts: Vec<[u32; 2]>,
    sources: Vec<SourceRow>,
    dialect: Vec<u8>,
    known_texts: RowIndex,
    known_tables: RowIndex,
    known_runs: RowIndex,
    known_routines: RowIndex,
}

/// Part of a section, by offset and length.
fn run<T>(rows: &[T], [offset, len]: [u32; 2]) -> &[T] {
    &rows[offset as usize..offset as usize + len as usize]
}

impl BlobBuilder {
    /// An empty blob.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a string or finds an equal one. Returns offset and length.
    pub fn string(&mut self, text: &[u8]) -> [u32; 2] {
        match self.known_texts.find(text, |row| run(&self.strings, self.texts[row]) == text) {
            Ok(row) => self.texts[row as usize],
            Err(hash) => {
                self.known_texts.insert(hash, self.texts.len() as u32);
                let place = [self.strings.len() as u32, text.len() as u32];
                self.texts.push(place);
                self.strings.extend_from_slice(text);
                place
            }
        }
    }

    /// Adds a table or finds an equal one. Returns its index.
    pub fn table(&mut self, kind: TableKind, words: &[u64]) -> u32 {
        let content = (kind as u32, cast_slice::<u64, u8>(words));
        let same = |row: &TableRow| row.kind == kind as u32 && run(&self.words, [row.start, row.len]) == words;
        self.known_tables.find(content, |row| same(&self.tables[row])).unwrap_or_else(|hash| {
            let index = self.tables.len() as u32;
            self.known_tables.insert(hash, index);
            self.tables.push(TableRow { kind: kind as u32, start: self.words.len() as u32, len: words.len() as u32 });
            self.words.extend_from_slice(words);
            index
        })
    }

    /// Adds words used directly by an instruction, or finds equal ones. Returns their offset.
    pub fn words(&mut self, words: &[u64]) -> u32 {
        let content = cast_slice::<u64, u8>(words);
        let row = self.known_runs.find(content, |row| run(&self.words, self.runs[row]) == words);
        let row = row.unwrap_or_else(|hash| {
            self.known_runs.insert(hash, self.runs.len() as u32);
            self.runs.push([self.words.len() as u32, words.len() as u32]);
            self.words.extend_from_slice(words);
            self.runs.len() as u32 - 1
        });
        self.runs[row as usize][0]
    }

    /// Adds a routine without a name; see [`BlobBuilder::named_routine`].
    pub fn routine(&mut self, row: RoutineRow, code: &[Instr], places: &[SourcePos]) -> u32 {
        self.named_routine(row, &[], code, places)
    }

    /// Adds a routine, or finds one with the same code and places under any name. `name` is given in parts. Returns its
    /// index. Sets `start`, `len` and `name` of the row; a `body` of 0 means all of the code. [`BlobBuilder::finish`]
    /// sets `shape`.
    pub fn named_routine(&mut self, mut row: RoutineRow, name: &[&str], code: &[Instr], places: &[SourcePos]) -> u32 {
        row.body = if row.body == 0 { code.len() as u32 } else { row.body };
        row.len = code.len() as u32;
        let same = |known: &RoutineRow| {
            let place = [known.start, known.len];
            // Equal code is shared: many environments and stanzas compile to the same few instructions.
            let alike = RoutineRow { start: known.start, name: known.name, ..row } == *known;
            alike && run(&self.code, place) == code && run(&self.places, place) == places
        };
        // Equal instructions of different stanzas differ in their places; hashing the first place is enough.
        let content = (row.body, places.first(), cast_slice::<Instr, u8>(code));
        self.known_routines.find(content, |index| same(&self.routines[index])).unwrap_or_else(|hash| {
            let index = self.routines.len() as u32;
            self.known_routines.insert(hash, index);
            row.start = self.code.len() as u32;
            row.name = self.name(name);
            self.code.extend_from_slice(code);
            self.places.extend_from_slice(places);
            self.routines.push(row);
            index
        })
    }

    /// Adds a name to the strings. Names are unique, so there is no lookup.
    fn name(&mut self, name: &[&str]) -> [u32; 2] {
        let offset = self.strings.len();
        name.iter().for_each(|part| self.strings.extend_from_slice(part.as_bytes()));
        [offset as u32, (self.strings.len() - offset) as u32]
    }

    /// Adds a hook. Ids must be unique within a space.
    pub fn hook(&mut self, row: HookRow) {
        self.hooks.push(row);
    }

    /// Adds a source.
    pub fn source(&mut self, name: &str, bytes: &[u8]) {
        let name = self.string(name.as_bytes());
        self.sources.push(SourceRow { name, crc: crc32fast::hash(bytes), len: bytes.len() as u32 });
    }

    /// Sets the recorded dialect: `NAME=VALUE` lines.
    pub fn dialect(&mut self, text: &str) {
        self.dialect = text.as_bytes().to_vec();
    }

    /// Returns the bytes of the blob.
    pub fn finish(mut self) -> Vec<u8> {
        self.hooks.sort_by_key(|hook| (hook.space(), hook.id));
        // Numbered after sorting, so that the same source always gives the same bytes.
        self.number_shapes();
        let sections: [&[u8]; N_SECTIONS] = [
            cast_slice(&self.code),
            cast_slice(&self.places),
            cast_slice(&self.routines),
            cast_slice(&self.hooks),
            cast_slice(&self.tables),
            cast_slice(&self.words),
            &self.strings,
            cast_slice(&self.sources),
            &self.dialect,
        ];
        let mut blob = vec![0; HEAD_LEN + N_SECTIONS * ROW_LEN];
        blob[..8].copy_from_slice(&LABEL);
        blob[8..10].copy_from_slice(&VERSION.to_le_bytes());
        blob[10..12].copy_from_slice(&ORDER_MARK.to_ne_bytes());
        blob[12..16].copy_from_slice(&(N_SECTIONS as u32).to_le_bytes());
        for (index, section) in sections.into_iter().enumerate() {
            // Rows of 8-byte words are borrowed from the mapped file, so their section must be aligned in it.
            blob.resize(blob.len().next_multiple_of(8), 0);
            let row = [index as u32 + 1, blob.len() as u32, section.len() as u32, 0];
            let at = HEAD_LEN + index * ROW_LEN;
            blob[at..at + ROW_LEN].copy_from_slice(cast_slice(&row.map(u32::to_le)));
            blob.extend_from_slice(section);
        }
        let len = blob.len() as u64;
        blob[16..24].copy_from_slice(&len.to_le_bytes());
        write_checksum(&mut blob);
        blob
    }

    /// Numbers the shapes of the hooks' routines. A trace has events of one or two environments, so the routines of
    /// each environment get consecutive numbers.
    fn number_shapes(&mut self) {
        let mut shapes = HashMap::<Vec<u8>, u8>::new();
        let mut opcodes = Vec::new();
        for env in 0..4 {
            for hook in &self.hooks {
                let Some(row) = self.routines.get_mut(hook.routines[env] as usize) else { continue };
                opcodes.clear();
                opcodes.extend(run(&self.code, [row.start, row.len]).iter().map(|instr| instr.op));
                // Beyond 256 the numbers repeat. That is harmless: a shape only helps the processor to predict jumps.
                let next = shapes.len() as u8;
                row.shape = *shapes.entry_ref(opcodes.as_slice()).or_insert(next);
            }
        }
    }
}
