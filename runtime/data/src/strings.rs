//! Columns of texts.

use arrow_array::StringArray;
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::ArrowError;
use tfbc::internal::rows::JoinedTexts;

/// Builder of a column of texts without nulls.
///
/// All texts are checked at once at the end, because nearly all are UTF-8.
pub(crate) struct Strings {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl Strings {
    pub fn new() -> Self {
        Self { bytes: Vec::new(), ends: vec![0] }
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// Text of an index; empty if there is none.
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        let range = self.ends.get(index).zip(self.ends.get(index + 1));
        range.and_then(|(start, end)| self.bytes.get(*start as usize..*end as usize)).unwrap_or_default()
    }

    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(i32::try_from(self.bytes.len()).unwrap_or(i32::MAX));
    }

    /// Appends texts of consecutive rows.
    pub fn push_joined(&mut self, texts: JoinedTexts<'_>) {
        // No column has 4 GiB, so the difference may wrap and the sum is right.
        let base = (self.bytes.len() as u32).wrapping_sub(texts.start);
        self.bytes.extend_from_slice(texts.bytes);
        self.ends.extend(texts.ends.iter().map(|end| base.wrapping_add(u32::from_le_bytes(*end)) as i32));
    }

    /// Number of bytes of all texts.
    pub fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the column, and the index of the first text that is not UTF-8, if there is one. Starts the next column.
    pub fn finish(&mut self) -> Result<(StringArray, Option<usize>), ArrowError> {
        // The next column is usually about as large.
        let next = Self {
            bytes: Vec::with_capacity(self.bytes.len() + self.bytes.len() / 16),
            ends: Vec::with_capacity(self.ends.len()),
        };
        let Self { bytes, ends } = std::mem::replace(self, next);
        self.ends.push(0);
        if i32::try_from(bytes.len()).is_err() {
            return Err(ArrowError::OffsetOverflowError(bytes.len()));
        }
        let (ends, bytes) = (OffsetBuffer::new(ends.into()), Buffer::from_vec(bytes));
        if let Ok(column) = StringArray::try_new(ends.clone(), bytes.clone(), None) {
            return Ok((column, None));
        }
        let texts = ends.windows(2).map(|pair| &bytes[pair[0] as usize..pair[1] as usize]);
        let first = texts.clone().position(|text| std::str::from_utf8(text).is_err());
        Ok((StringArray::from_iter_values(texts.map(String::from_utf8_lossy)), first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        let mut strings = Strings::new();
        // The parts of a letter are no letter, and the whole is.
        for texts in [[&b"a"[..], b"\xc3", b"\xa4"], ["", "\u{e4}", "b"].map(str::as_bytes)] {
            texts.iter().for_each(|text| strings.push(text));
            assert_eq!((strings.len(), strings.get(1), strings.get(3)), (3, texts[1], &b""[..]));
            let (column, first) = strings.finish().unwrap();
            let expected = texts.map(String::from_utf8_lossy);
            assert!(column.iter().eq(expected.iter().map(|text| Some(&**text))));
            assert_eq!(first, texts.iter().position(|text| std::str::from_utf8(text).is_err()));
        }
    }
}
