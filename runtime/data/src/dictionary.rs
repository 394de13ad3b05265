//! Dictionary columns. Each batch has its own dictionary, in the order of first use.

use arrow_array::builder::{Int32BufferBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::ArrowError;
use std::collections::HashMap;
use std::sync::Arc;

/// Builder of a dictionary column.
pub(crate) struct Words {
    keys: Int32BufferBuilder,
    nulls: NullBufferBuilder,
    texts: StringBuilder,
    known: HashMap<Box<[u8]>, i32>,
    /// Last text and its key. Consecutive rows often have equal texts.
    last: (Vec<u8>, i32),
}

/// Key of a null.
const NONE: i32 = -1;

impl Words {
    pub fn new() -> Self {
        Self {
            keys: Int32BufferBuilder::new(0),
            nulls: NullBufferBuilder::new(0),
            texts: StringBuilder::new(),
            known: HashMap::new(),
            last: (Vec::new(), NONE),
        }
    }

    /// Key of a text, which is added if necessary. Bytes that are not UTF-8 are replaced.
    pub fn key(&mut self, text: &[u8]) -> i32 {
        if self.last.1 != NONE && self.last.0 == text {
            return self.last.1;
        }
        let key = match self.known.get(text) {
            Some(key) => *key,
            None => {
                let key = self.known.len() as i32;
                self.known.insert(text.into(), key);
                self.texts.append_value(String::from_utf8_lossy(text));
                key
            }
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(text);
        self.last.1 = key;
        key
    }

    /// Appends a row by its key. [`Words::key`] must have returned the key since the last batch.
    #[inline]
    pub fn push_key(&mut self, key: i32) {
        self.keys.append(key);
        self.nulls.append_non_null();
    }

    /// Appends a text.
    pub fn push(&mut self, text: &[u8]) {
        let key = self.key(text);
        self.push_key(key);
    }

    /// Appends a null.
    #[inline]
    pub fn push_null(&mut self) {
        self.keys.append(0);
        self.nulls.append_null();
    }

    /// Appends a text, or a null if it is empty.
    #[inline]
    pub fn push_known(&mut self, text: &[u8]) {
        if text.is_empty() { self.push_null() } else { self.push(text) }
    }

    /// Returns the column, and starts the next one.
    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.known.clear();
        self.last.1 = NONE;
        let keys = Int32Array::try_new(self.keys.finish().into(), self.nulls.finish())?;
        let column = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(self.texts.finish()))?;
        Ok(Arc::new(column))
    }
}
