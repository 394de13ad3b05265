//! Hand-written switch between texts, and lines of one number.
//!
//! A dense switch is a table of rows, and a sparse one a perfect hash: one multiplication finds the only row that can
//! match. A row is 32 bytes: word, text, and the text's length.
#![expect(unsafe_code, reason = "the limit that the machine is compared with has no bounds checks")]

use crate::native::{ASCII_ZEROS, LineWindow, NativeText};
use crate::native_datakeys::octal_digits;

/// A case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(32))]
struct NameRow {
    word: u64,
    text: [u8; 16],
    len: usize,
}

const EMPTY: NameRow = NameRow { word: u64::MAX, text: [0; 16], len: 0 };

/// Texts by data word.
#[derive(Debug, Clone)]
pub(crate) enum NameLookup {
    /// The text of every event.
    Fixed([u8; 16], usize),
    /// Rows by word.
    Dense(DenseRows),
    /// Rows by the high bits of a product.
    Hashed(HashedRows),
}

/// Rows by word.
#[derive(Debug, Clone)]
pub(crate) struct DenseRows(Vec<NameRow>);

/// Rows by the high bits of the product with a number that gives every word its own row.
#[derive(Debug, Clone)]
pub(crate) struct HashedRows {
    multiplier: u64,
    shift: u32,
    rows: Vec<NameRow>,
}

fn row(word: u64, name: &str) -> NameRow {
    let mut row = NameRow { word, len: name.len(), ..EMPTY };
    row.text[..name.len()].copy_from_slice(name.as_bytes());
    row
}

impl NameLookup {
    /// Lookup that finds one text for every word.
    pub(crate) fn fixed(name: &str) -> Self {
        let NameRow { text, len, .. } = row(0, name);
        Self::Fixed(text, len)
    }

    /// Lookup by words 0, 1, 2 and so on.
    pub(crate) fn dense(names: &[(u64, String)]) -> Self {
        Self::Dense(DenseRows(names.iter().map(|(word, name)| row(*word, name)).collect()))
    }

    /// Lookup by any words.
    pub(crate) fn hashed(names: &[(u64, String)]) -> Self {
        let (mut multiplier, mut n_tried) = (0x9E37_79B9_7F4A_7C15u64, 0);
        let mut size = (names.len() * 8).next_power_of_two();
        loop {
            let shift = 64 - size.trailing_zeros();
            let mut rows = vec![EMPTY; size];
            let is_perfect = names.iter().all(|(word, name)| {
                let place = &mut rows[(word.wrapping_mul(multiplier) >> shift) as usize];
                std::mem::replace(place, row(*word, name)) == EMPTY
            });
            if is_perfect {
                return Self::Hashed(HashedRows { multiplier, shift, rows });
            }
            multiplier = multiplier.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(2) | 1;
            n_tried += 1;
            if n_tried % 1000 == 0 {
                size *= 2;
            }
        }
    }
}

impl NativeText {
    /// Appends `op=NAME val=N` with the name of a word.
    #[inline(always)]
    pub(crate) fn named(&mut self, names: &NameLookup, word: u64, value: u32) {
        // SAFETY: a line takes less than 50 bytes.
        unsafe {
            self.line(|line| {
                line.literal(b"op=");
                match names {
                    NameLookup::Fixed(text, len) => line.put(text, *len),
                    NameLookup::Dense(DenseRows(rows)) => {
                        if let Some(row) = rows.get(word as usize) {
                            line.put(&row.text, row.len);
                        }
                    }
                    NameLookup::Hashed(HashedRows { multiplier, shift, rows }) => {
                        // SAFETY: there is a row for each product.
                        let row = rows.get_unchecked((word.wrapping_mul(*multiplier) >> (shift & 63)) as usize);
                        if row.word == word {
                            line.put(&row.text, row.len);
                        }
                    }
                }
                line.literal(b" val=");
                line.decimal(value);
                line.literal(b"\n");
            });
        }
    }

    /// Appends `a=` and a number.
    #[inline(always)]
    pub(crate) fn number(&mut self, put: impl FnOnce(&mut LineWindow<'_>)) {
        // SAFETY: no number or list of flags takes more than a hundred bytes.
        unsafe {
            self.line(|line| {
                line.literal(b"a=");
                put(line);
                line.literal(b"\n");
            });
        }
    }
}

/// Bytes as eight binary digits.
static BINARY: [[u8; 8]; 256] = {
    let mut table = [[b'0'; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte][bit] += (byte >> (7 - bit) & 1) as u8;
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// Octal digits of a byte, and their count.
static OCTAL: [[u8; 4]; 256] = {
    let mut table = [[0; 4]; 256];
    let mut n = 0;
    while n < 256 {
        let (first, middle, last) = (b'0' + (n >> 6) as u8, b'0' + (n >> 3 & 7) as u8, b'0' + (n & 7) as u8);
        table[n] = match n {
            0..8 => [last, 0, 0, 1],
            8..64 => [middle, last, 0, 2],
            _ => [first, middle, last, 3],
        };
        n += 1;
    }
    table
};

impl LineWindow<'_> {
    /// Appends 16 binary digits.
    #[inline(always)]
    pub(crate) fn binary(&mut self, value: u16) {
        value.to_be_bytes().into_iter().for_each(|byte| self.literal(&BINARY[usize::from(byte)]));
    }

    /// Appends an octal number.
    #[inline(always)]
    pub(crate) fn octal_number(&mut self, value: u32) {
        let high = value >> 24;
        if high == 0 {
            let digits = octal_digits(value);
            // The last digit stays where all are zero.
            let leading_zeros = (digits | 1 << 56).trailing_zeros() & !7;
            return self.put(&((digits | ASCII_ZEROS) >> leading_zeros).to_le_bytes(), 8 - leading_zeros as usize / 8);
        }
        let digits = &OCTAL[high as usize];
        self.put(digits, digits[3].into());
        self.literal(&(octal_digits(value & 0xff_ffff) | ASCII_ZEROS).to_le_bytes());
    }
}
