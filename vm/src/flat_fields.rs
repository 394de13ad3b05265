//! Fast path for fields at fixed places: they are read without running the machine.
//!
//! Most stanzas print only data words, names of their values and names of their bits. Such fields are numbers at fixed
//! offsets. Events that are too short, and all other routines, run in the machine.
//!
//! ```text
//! word r256 @8 8; field.put f0 r256; field.case f1 r256   ──>   f0: 64 bits at 8    f1: the label of its case
//!                                    field.flags f2 r256  ──>                       f2: the names of its bits
//! ```

use crate::program::{PreparedEntry, Program};
use crate::row::CellValue;
use crate::table::{self, FLAG_WORDS};
use crate::verify::UNCOUNTED;
use crate::{Instr, Op, errno_name};

/// Fields of a routine that only stores numbers at fixed offsets, and names of these numbers and of their bits.
///
/// Made by [`PreparedEntry::flat_fields`]. The values are those that [`Run::fields`](crate::Run::fields) stores.
#[derive(Debug, Clone)]
pub struct FlatFields<'r> {
    program: &'r Program<'r>,
    /// Minimum size of the event in bytes.
    need: usize,
    numbers: Vec<FlatNumber>,
    words: Vec<FlatWord>,
    flags: Vec<FlatFlags>,
}

/// Number that is stored in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatNumber {
    cell: u16,
    window: Window,
}

/// Name of a number that is stored in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatWord {
    cell: u16,
    window: Window,
    names: NumberNames,
}

/// Names of a number's bits that are stored in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatFlags {
    cell: u16,
    window: Window,
    table: u32,
}

/// Name of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagName<'r> {
    /// Bits that are tested.
    pub mask: u64,
    /// Their value if they have the name.
    pub value: u64,
    /// Name of the bits; empty for none.
    pub name: &'r [u8],
    /// Name of the bits with any other value; empty for none.
    pub other: &'r [u8],
}

/// Reference to the name of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRef {
    /// The number has no name.
    None,
    /// Index of a text in [`Labels::texts`](crate::Labels::texts).
    Label(u32),
    /// Number of an error, which has a name in [`errno_name`] if it is known.
    Errno(u32),
}

/// Maximum number of names of bits in a routine, because they are not counted as work.
const MAX_FLAGS: usize = 256;

/// Source of the names of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberNames {
    /// Table of labels.
    Table(u32),
    Errno,
}

/// Bit range of the big-endian number in eight bytes of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bits {
    at: u32,
    low: u8,
    count: u8,
    is_signed: bool,
}

/// Number in the event: some bits of the eight bytes at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    at: u32,
    shift: u8,
    mask: u64,
    /// Top bit of a signed number, which is extended; 0 for an unsigned one.
    sign: u64,
}

impl Window {
    /// Reads the number. The event must be long enough.
    #[inline(always)]
    fn read(self, bytes: &[u8]) -> u64 {
        (self.bits(bytes) ^ self.sign).wrapping_sub(self.sign)
    }

    /// Reads the bits of the number, without the extension of a sign.
    #[inline(always)]
    fn bits(self, bytes: &[u8]) -> u64 {
        self.word(bytes) >> (self.shift & 63) & self.mask
    }

    /// Reads the eight bytes that contain the number.
    #[inline(always)]
    fn word(self, bytes: &[u8]) -> u64 {
        let at = self.at as usize;
        let word = bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk());
        word.map_or(0, |word| u64::from_be_bytes(*word))
    }
}

impl Bits {
    /// Number of 4 or 8 bytes at `at`; `None` if fewer than eight bytes precede its end.
    fn word(at: u32, width: u32) -> Option<Self> {
        let at = at.checked_sub(8 - width)?;
        Some(Self { at, low: 0, count: width as u8 * 8, is_signed: false })
    }

    /// The operations that leave the bits.
    fn window(self) -> Window {
        let Self { at, low, count, is_signed } = self;
        let mask = u64::MAX >> ((64 - count) & 63);
        Window { at, shift: low, mask, sign: if is_signed { mask ^ mask >> 1 } else { 0 } }
    }

    /// Range of these bits as an unsigned number. Bits above the top of an unsigned number are zeros.
    fn part(self, low: u32, count: u32) -> Option<Self> {
        let count = count.min(u32::from(self.count).checked_sub(low)?);
        (!self.is_signed && count > 0).then_some(Self { low: self.low + low as u8, count: count as u8, ..self })
    }

    /// Sign-extends from bit `count - 1`.
    fn signed(self, count: u32) -> Option<Self> {
        match (self.is_signed, count <= u32::from(self.count)) {
            (true, _) => None,
            (false, true) => Some(Self { count: count as u8, is_signed: true, ..self }),
            (false, false) => Some(self),
        }
    }
}

impl FlatFields<'_> {
    /// Length in bytes from which an event contains all fields.
    #[inline(always)]
    pub fn need(&self) -> usize {
        self.need
    }

    /// Number in a cell; `None` if the cell has no number.
    pub fn number(&self, cell: u16) -> Option<FlatNumber> {
        self.numbers.iter().find(|number| number.cell == cell).copied()
    }

    /// Name of a number in a cell; `None` if the cell has no name.
    pub fn word(&self, cell: u16) -> Option<FlatWord> {
        self.words.iter().find(|word| word.cell == cell).copied()
    }

    /// Names of bits in a cell; `None` if the cell has none.
    pub fn flags(&self, cell: u16) -> Option<FlatFlags> {
        self.flags.iter().find(|flags| flags.cell == cell).copied()
    }

    /// Names that bits can have, in order.
    pub fn flag_names(&self, flags: FlatFlags) -> impl Iterator<Item = FlagName<'_>> {
        let (entries, _) = self.program.table(flags.table).1.as_chunks::<FLAG_WORDS>();
        let text = |word| {
            let (offset, len) = table::unpack_str(word);
            self.program.strings().get(offset..offset + len).unwrap_or_default()
        };
        entries.iter().map(move |&[mask, value, yes, no, _]| FlagName { mask, value, name: text(yes), other: text(no) })
    }

    /// Reads the number and looks up its name.
    #[inline]
    pub fn find_word(&self, word: FlatWord, bytes: &[u8]) -> NameRef {
        let number = word.window.read(bytes);
        match word.names {
            NumberNames::Errno => u32::try_from(number).map_or(NameRef::None, NameRef::Errno),
            NumberNames::Table(index) => {
                let (kind, words) = self.program.table(index);
                table::find_label(kind, words, number).map_or(NameRef::None, NameRef::Label)
            }
        }
    }

    /// Reads the number and looks up its name; null if it has none.
    #[inline]
    pub fn read_word(&self, word: FlatWord, bytes: &[u8]) -> CellValue<'static> {
        match self.find_word(word, bytes) {
            NameRef::None => CellValue::Null,
            NameRef::Label(label) => CellValue::Label(label),
            NameRef::Errno(number) => {
                errno_name(number.into()).map_or(CellValue::Null, |name| CellValue::Bytes(name.as_bytes()))
            }
        }
    }
}

impl FlatNumber {
    /// Reads the number from an event of at least [`FlatFields::need`] bytes.
    #[inline(always)]
    pub fn read(&self, bytes: &[u8]) -> u64 {
        self.window.read(bytes)
    }

    /// True if the number is unsigned and has at most 32 bits.
    pub fn is_u32(&self) -> bool {
        self.window.sign == 0 && self.window.mask <= u32::MAX.into()
    }

    /// Reads a number that [fits 32 bits](FlatNumber::is_u32).
    #[inline(always)]
    pub fn read_u32(&self, bytes: &[u8]) -> u32 {
        self.window.bits(bytes) as u32
    }

    /// True if the number is unsigned and has 64 bits.
    pub fn is_u64(&self) -> bool {
        matches!(self.window, Window { shift: 0, mask: u64::MAX, sign: 0, .. })
    }

    /// Reads a number that [is 64 bits wide](FlatNumber::is_u64).
    #[inline(always)]
    pub fn read_u64(&self, bytes: &[u8]) -> u64 {
        self.window.word(bytes)
    }
}

impl FlatFlags {
    /// Reads the number whose bits have names from an event of at least [`FlatFields::need`] bytes.
    #[inline(always)]
    pub fn read(&self, bytes: &[u8]) -> u64 {
        self.window.read(bytes)
    }
}

impl<'r> PreparedEntry<'r> {
    /// Flattens a routine that stores fields; `None` if it does more than store numbers at fixed offsets and their
    /// names.
    pub fn flat_fields(&self) -> Option<FlatFields<'r>> {
        let (numbers, words, flags) = (Vec::new(), Vec::new(), Vec::new());
        let mut flat = FlatFields { program: self.program, need: self.need as usize, numbers, words, flags };
        if self.body > UNCOUNTED {
            return None;
        }
        let (mut registers, mut n_cells) = (Vec::new(), 0);
        for instr in self.code.get(..self.body as usize)? {
            flat.add(instr, &mut registers, &mut n_cells)?;
        }
        Some(flat)
    }
}

impl FlatFields<'_> {
    /// Adds an instruction; `None` if it cannot be flattened.
    fn add(&mut self, instr: &Instr, registers: &mut Vec<(u32, Bits)>, n_cells: &mut u32) -> Option<()> {
        let get = |register: u32| registers.iter().rev().find(|(known, _)| *known == register).map(|(_, bits)| *bits);
        let result = match Op::from_u8(instr.op)? {
            Op::FieldRow if *n_cells == 0 => {
                *n_cells = instr.b;
                return Some(());
            }
            Op::Word | Op::Load if matches!(instr.c, 4 | 8) => {
                self.need = self.need.max(instr.b as usize + instr.c as usize);
                Bits::word(instr.b, instr.c)?
            }
            Op::Move => get(instr.b)?,
            Op::Bits => get(instr.b)?.part(instr.c & 63, instr.d)?,
            Op::Sext => get(instr.b)?.signed(instr.c.clamp(1, 64))?,
            Op::FieldPut => {
                let bits = get(instr.b)?;
                self.numbers.push(FlatNumber { cell: self.new_cell(instr.a, *n_cells)?, window: bits.window() });
                return Some(());
            }
            Op::FieldErrno => {
                let bits = get(instr.b)?.part(0, instr.c.min(8) * 8)?;
                let cell = self.new_cell(instr.a, *n_cells)?;
                self.words.push(FlatWord { cell, window: bits.window(), names: NumberNames::Errno });
                return Some(());
            }
            Op::FieldCase => {
                let (cell, bits) = (self.new_cell(instr.a, *n_cells)?, get(instr.b)?);
                self.words.push(FlatWord { cell, window: bits.window(), names: NumberNames::Table(instr.c) });
                return Some(());
            }
            Op::FieldFlags => {
                let (cell, bits) = (self.new_cell(instr.a, *n_cells)?, get(instr.b)?);
                self.flags.push(FlatFlags { cell, window: bits.window(), table: instr.c });
                let n_words: usize = self.flags.iter().map(|flags| self.program.table(flags.table).1.len()).sum();
                return (n_words <= MAX_FLAGS * FLAG_WORDS).then_some(());
            }
            _ => return None,
        };
        registers.push((instr.a.into(), result));
        Some(())
    }

    /// Checks that a cell exists and has no value yet.
    fn new_cell(&self, cell: u16, n_cells: u32) -> Option<u16> {
        let is_new = self.number(cell).is_none() && self.word(cell).is_none() && self.flags(cell).is_none();
        (is_new && u32::from(cell) < n_cells).then_some(cell)
    }
}
