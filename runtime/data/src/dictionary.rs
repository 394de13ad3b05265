//! Dictionary columns. Each batch has its own dictionary, in the order of first use.

use crate::strings::Strings;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::ArrowError;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Builder of a dictionary column.
pub(crate) struct Words {
    keys: Vec<i32>,
    nulls: NullBufferBuilder,
    /// The rows so far, if all of them are null or have the first text. There are no keys then.
    run: Run,
    /// Column of first texts, which is cut to length; kept because the library checks every key of a new column.
    zeros: Option<DictionaryArray<Int32Type>>,
    texts: Texts,
    /// Key of the last text. Consecutive rows often have equal texts.
    last: i32,
}

/// Rows with the same key.
#[derive(Default)]
struct Run {
    is_null: bool,
    n_rows: usize,
}

/// Texts, each once.
pub(crate) struct Texts {
    texts: Strings,
    /// Keys of the texts, by their hash.
    known: HashTable<i32>,
    hasher: DefaultHashBuilder,
}

/// Key of a null.
pub(crate) const NONE: i32 = -1;

impl Texts {
    pub fn new() -> Self {
        Self { texts: Strings::new(), known: HashTable::new(), hasher: DefaultHashBuilder::default() }
    }

    /// Key of a text, which is added if necessary.
    pub fn key(&mut self, text: &[u8]) -> i32 {
        let Self { texts, known, hasher } = self;
        let is_same = |key: &i32| texts.get(*key as usize) == text;
        match known.entry(hasher.hash_one(text), is_same, |key| hasher.hash_one(texts.get(*key as usize))) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let key = texts.len() as i32;
                new.insert(key);
                texts.push(text);
                key
            }
        }
    }

    /// Text of a key.
    #[inline]
    pub fn get(&self, key: usize) -> &[u8] {
        self.texts.get(key)
    }

    /// Number of texts.
    #[cfg(feature = "parquet")]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Number of bytes of all texts.
    #[cfg(feature = "parquet")]
    pub fn n_bytes(&self) -> usize {
        self.texts.n_bytes()
    }

    /// Returns the texts, and removes them.
    fn finish(&mut self) -> Result<StringArray, ArrowError> {
        self.known.clear();
        Ok(self.texts.finish()?.0)
    }
}

impl Words {
    pub fn new() -> Self {
        Self {
            keys: Vec::new(),
            nulls: NullBufferBuilder::new(0),
            run: Run::default(),
            zeros: None,
            texts: Texts::new(),
            last: NONE,
        }
    }

    /// Key of a text, which is added if necessary.
    pub fn key(&mut self, text: &[u8]) -> i32 {
        let Self { texts, last, .. } = self;
        if *last == NONE || texts.get(*last as usize) != text {
            *last = texts.key(text);
        }
        *last
    }

    /// Appends rows. `key` returns a key of this batch for each, or [`NONE`].
    pub fn push_keys(
        &mut self,
        rows: impl ExactSizeIterator<Item = usize>,
        mut key: impl FnMut(&mut Self, usize) -> i32,
    ) {
        self.end_run();
        let before = self.keys.len();
        let mut keys = std::mem::take(&mut self.keys);
        keys.extend(rows.map(|row| key(self, row)));
        self.keys = keys;
        let keys = &mut self.keys[before..];
        if !keys.contains(&NONE) {
            return self.nulls.append_n_non_nulls(keys.len());
        }
        for key in keys {
            self.nulls.append(*key != NONE);
            *key = (*key).max(0);
        }
    }

    /// Appends a text.
    pub fn push(&mut self, text: &[u8]) {
        let key = self.key(text);
        self.push_key(key, 1);
    }

    /// Appends a key of this batch `n` times.
    pub fn push_key(&mut self, key: i32, n: usize) {
        if key == 0 && self.extend_run(false, n) {
            return;
        }
        self.end_run();
        self.keys.resize(self.keys.len() + n, key);
        self.nulls.append_n_non_nulls(n);
    }

    /// Appends nulls.
    #[inline]
    pub fn push_nulls(&mut self, n: usize) {
        if self.extend_run(true, n) {
            return;
        }
        self.end_run();
        self.keys.resize(self.keys.len() + n, 0);
        self.nulls.append_n_nulls(n);
    }

    /// Adds rows to the run; returns false after other rows.
    #[inline]
    fn extend_run(&mut self, is_null: bool, n: usize) -> bool {
        let fits = self.keys.is_empty() && (self.run.n_rows == 0 || self.run.is_null == is_null);
        if fits {
            self.run = Run { is_null, n_rows: self.run.n_rows + n };
        }
        fits
    }

    /// Replaces the run by keys.
    #[inline]
    fn end_run(&mut self) {
        let Run { is_null, n_rows } = std::mem::take(&mut self.run);
        if n_rows > 0 {
            self.keys.resize(n_rows, 0);
            if is_null { self.nulls.append_n_nulls(n_rows) } else { self.nulls.append_n_non_nulls(n_rows) }
        }
    }

    /// Column of `n` rows with the first text.
    fn first_texts(&mut self, n: usize) -> Result<DictionaryArray<Int32Type>, ArrowError> {
        let known = self.zeros.take().filter(|known| known.len() >= n);
        let zeros = match known {
            Some(zeros) => zeros,
            None => {
                let texts = Arc::new(StringArray::from_iter_values([""]));
                DictionaryArray::try_new(vec![0; n.next_power_of_two()].into(), texts)?
            }
        };
        let column = zeros.slice(0, n).with_values(Arc::new(self.texts.finish()?));
        self.zeros = Some(zeros);
        Ok(column)
    }

    /// Returns the column, and starts the next one. Bytes that are not UTF-8 are replaced.
    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.last = NONE;
        if self.run.n_rows > 0 && !self.run.is_null {
            let n_rows = std::mem::take(&mut self.run).n_rows;
            return Ok(Arc::new(self.first_texts(n_rows)?));
        }
        self.end_run();
        let next = Vec::with_capacity(self.keys.len());
        let keys = Int32Array::try_new(std::mem::replace(&mut self.keys, next).into(), self.nulls.finish())?;
        let column = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(self.texts.finish()?))?;
        Ok(Arc::new(column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn runs_of_equal_rows_are_rows_like_others() {
        // The key of the first text, of the second, and nulls.
        let parts = [(Some("a"), 3), (Some("b"), 1), (None, 2)];
        let mut words = Words::new();
        for order in 0..parts.len().pow(4) {
            let mut expected = Vec::new();
            for at in 0..4 {
                let (text, n) = parts[order / parts.len().pow(at) % parts.len()];
                expected.extend(std::iter::repeat_n(text, n));
                match text {
                    // By one row and by several; a text's key depends on those before it.
                    Some(text) => {
                        words.push(text.as_bytes());
                        let key = words.key(text.as_bytes());
                        words.push_key(key, n - 1);
                    }
                    None => words.push_nulls(n),
                }
            }
            let column = words.finish().unwrap();
            let column = column.as_dictionary::<Int32Type>();
            let texts = column.values().as_string::<i32>();
            let found = (0..column.len()).map(|row| column.key(row).map(|key| texts.value(key)));
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }
}
