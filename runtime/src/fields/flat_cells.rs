//! Fields at fixed places as numbers: a word per column of the event's table.
//!
//! Most stanzas have only such fields. Their columns are filled one after the other for all rows of a chunk, without a
//! row of cells for each event.

use tfbc_vm::{
    CellValue, FieldKind, FlagName, FlatFields, FlatFlags, FlatNumber, FlatWord, NameRef, Schema, SchemaField,
    errno_name,
};

/// A number without name.
const NO_NAME: u64 = u64::MAX;
/// Bit of a name that is an error number; other names are indices of a label.
const ERRNO: u64 = 1 << 32;

/// Maximum number of columns, because short events of a chunk may have many fields at the same place.
const MAX_COLUMNS: usize = 64;

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
pub(crate) struct FlatCells<'r> {
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
        (cells.len() <= MAX_COLUMNS).then_some(Self { source, cells })
    }

    /// True if an event of this length contains all fields.
    #[inline(always)]
    pub fn fit(&self, n_bytes: usize) -> bool {
        n_bytes >= self.source.need()
    }

    /// Number of columns: a field has one, and its label another one.
    pub fn n_columns(&self) -> usize {
        self.cells.len()
    }

    /// Appends the words of events that [fit](FlatCells::fit), by column.
    pub fn extend(&self, events: &[&[u8]], words: &mut Vec<u64>) {
        for cell in &self.cells {
            match cell {
                FlatCell::Number(number) => words.extend(events.iter().map(|bytes| number.read(bytes))),
                FlatCell::Name(word) => words.extend(events.iter().map(|bytes| self.name(*word, bytes))),
                FlatCell::Flags(flags, labels) => words.extend(events.iter().map(|bytes| {
                    let number = flags.read(bytes);
                    labels.iter().fold(0, |bits, FlagLabels { mask, value, name, other }| {
                        bits | if number & mask == *value { name } else { other }
                    })
                })),
            }
        }
    }

    #[inline]
    fn name(&self, word: FlatWord, bytes: &[u8]) -> u64 {
        match self.source.find_word(word, bytes) {
            NameRef::Label(label) => label.into(),
            NameRef::Errno(number) => ERRNO | u64::from(number),
            NameRef::None => NO_NAME,
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
