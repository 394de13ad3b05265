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
    texts: Texts,
    /// Key of the last text. Consecutive rows often have equal texts.
    last: i32,
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
        Self { keys: Vec::new(), nulls: NullBufferBuilder::new(0), texts: Texts::new(), last: NONE }
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
        self.keys.push(key);
        self.nulls.append_non_null();
    }

    /// Appends a key of this batch `n` times.
    pub fn push_key(&mut self, key: i32, n: usize) {
        self.keys.resize(self.keys.len() + n, key);
        self.nulls.append_n_non_nulls(n);
    }

    /// Appends nulls.
    #[inline]
    pub fn push_nulls(&mut self, n: usize) {
        self.keys.resize(self.keys.len() + n, 0);
        self.nulls.append_n_nulls(n);
    }

    /// Returns the column, and starts the next one. Bytes that are not UTF-8 are replaced.
    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.last = NONE;
        let next = Vec::with_capacity(self.keys.len());
        let keys = Int32Array::try_new(std::mem::replace(&mut self.keys, next).into(), self.nulls.finish())?;
        let column = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(self.texts.finish()?))?;
        Ok(Arc::new(column))
    }
}
