//! Fields at fixed places as numbers: a word per column of the event's table.
//!
//! ```text
//! [`FLAT`] │ field │ its name │ field │ field │ names of its bits │ …
//! ```
//!
//! Most stanzas have only such fields. Their columns are copied without a row of cells for each event.

use tfbc_vm::{
    COLUMNS, CellValue, FieldKind, FlagName, FlatFields, FlatFlags, FlatNumber, FlatWord, NameRef, Schema, SchemaField,
    TextBuf, errno_name,
};

/// Start of flat cells. An encoded row starts with a smaller number, that of its cells.
pub const FLAT: [u8; 4] = u32::MAX.to_le_bytes();
/// A number without name.
const NO_NAME: u64 = u64::MAX;
/// Bit of a name that is an error number; other names are indices of a label.
const ERRNO: u64 = 1 << 32;

/// Fields of an event, as they are encoded.
#[derive(Debug, Clone, Copy)]
pub enum EncodedCells<'b> {
    /// A word for each field and each label, in the order of the schema.
    Flat(&'b [[u8; 8]]),
    /// An encoded [`Row`](tfbc_vm::Row), or nothing.
    Row(&'b [u8]),
}

impl<'b> EncodedCells<'b> {
    /// Recognizes the form of an event's fields.
    #[inline]
    pub fn of(bytes: &'b [u8]) -> Self {
        match bytes.split_first_chunk() {
            Some((&FLAT, words)) => EncodedCells::Flat(words.as_chunks().0),
            _ => EncodedCells::Row(bytes),
        }
    }
}

/// Label from a word of flat cells.
#[inline]
pub fn label_of_word(word: u64) -> CellValue<'static> {
    match word {
        NO_NAME => CellValue::Null,
        word if word & ERRNO == 0 => CellValue::Label(word as u32),
        word => {
            let name = errno_name(u64::from(word as u32));
            name.map_or(CellValue::Null, |name| CellValue::Bytes(name.as_bytes()))
        }
    }
}

/// Indices of labels from a word of flat cells, in ascending order.
#[inline]
pub fn flags_of_word(word: u64) -> impl Iterator<Item = u32> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let lowest = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        Some(lowest)
    })
}

/// Fields that can be read without the machine.
#[derive(Debug)]
pub(super) struct FlatCells<'r> {
    source: FlatFields<'r>,
    cells: Vec<FlatCell>,
}

#[derive(Debug)]
enum FlatCell {
    Number(FlatNumber),
    Name(FlatWord),
    Flags(FlatFlags, Vec<FlagLabels>),
}

/// Name of bits, as bits of the label's texts; 0 for no name.
#[derive(Debug)]
struct FlagLabels {
    mask: u64,
    value: u64,
    name: u64,
    other: u64,
}

impl<'r> FlatCells<'r> {
    /// Returns `None` if the row has other values than numbers and their names, or if it lacks some of them.
    pub fn new(source: FlatFields<'r>, schema: &Schema) -> Option<Self> {
        let mut cells = Vec::new();
        for SchemaField { cell, shape, labels, .. } in &schema.fields {
            if matches!(
                shape.kind,
                FieldKind::Utf8 | FieldKind::Binary | FieldKind::FixedBinary | FieldKind::List | FieldKind::Struct
            ) {
                return None;
            }
            cells.push(FlatCell::Number(source.number(*cell)?));
            let Some(labels) = labels else { continue };
            cells.push(match source.flags(labels.cell) {
                Some(flags) => FlatCell::Flags(flags, FlagLabels::all(source.flag_names(flags), &labels.texts)?),
                None => FlatCell::Name(source.word(labels.cell)?),
            });
        }
        (FLAT.len() + size_of::<u64>() * cells.len() <= COLUMNS).then_some(Self { source, cells })
    }

    /// Appends the fields of an event. Returns false if the event may not contain all of them.
    #[inline]
    pub fn write(&self, bytes: &[u8], out: &mut TextBuf) -> bool {
        if !self.source.fit(bytes) {
            return false;
        }
        out.put_columns(|room| {
            let Some((head, rest)) = room.split_first_chunk_mut() else { return 0 };
            *head = FLAT;
            for (cell, room) in self.cells.iter().zip(rest.as_chunks_mut().0) {
                *room = self.word(cell, bytes).to_le_bytes();
            }
            FLAT.len() + size_of::<u64>() * self.cells.len()
        });
        true
    }

    #[inline(always)]
    fn word(&self, cell: &FlatCell, bytes: &[u8]) -> u64 {
        match cell {
            FlatCell::Number(number) => number.read(bytes),
            FlatCell::Name(word) => match self.source.find_word(*word, bytes) {
                NameRef::Label(label) => label.into(),
                NameRef::Errno(number) => ERRNO | u64::from(number),
                NameRef::None => NO_NAME,
            },
            FlatCell::Flags(flags, labels) => {
                let number = flags.read(bytes);
                labels.iter().fold(0, |bits, FlagLabels { mask, value, name, other }| {
                    bits | if number & mask == *value { name } else { other }
                })
            }
        }
    }
}

impl FlagLabels {
    /// Returns `None` if the names are not in the order of the label's texts, or are too many.
    fn all<'n>(names: impl Iterator<Item = FlagName<'n>>, texts: &[String]) -> Option<Vec<Self>> {
        let mut first = 0;
        let mut all = Vec::new();
        for FlagName { mask, value, name, other } in names {
            let mut last = first;
            let mut bits = |name: &[u8]| {
                if name.is_empty() {
                    return Some(0);
                }
                let at = first + texts.get(first..)?.iter().position(|text| text.as_bytes() == name)?;
                last = last.max(at + 1);
                (at < u64::BITS as usize).then_some(1 << at)
            };
            all.push(Self { mask, value, name: bits(name)?, other: bits(other)? });
            first = last;
        }
        Some(all)
    }
}
