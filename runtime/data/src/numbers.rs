//! Columns of numbers.

use crate::row_set::RowSet;
use arrow_array::types::Int32Type;
use arrow_array::{ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::NullBufferBuilder;
use tfbc::internal::rows::{LongColumn, ShortColumn};

/// Builder of a column of numbers.
pub(crate) struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    pub fn new() -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    /// Appends a number or null.
    #[inline]
    pub fn push(&mut self, value: Option<T::Native>) {
        self.values.push(value.unwrap_or_default());
        if value.is_some() { self.nulls.append_non_null() } else { self.nulls.append_null() }
    }

    /// Appends numbers.
    #[inline]
    pub fn extend(&mut self, values: impl ExactSizeIterator<Item = T::Native>) {
        self.nulls.append_n_non_nulls(values.len());
        self.values.extend(values);
    }

    /// Appends nulls.
    pub fn push_nulls(&mut self, n: usize) {
        self.values.resize(self.values.len() + n, T::Native::default());
        self.nulls.append_n_nulls(n);
    }

    /// Returns the column, and starts the next one.
    pub fn finish(&mut self) -> PrimitiveArray<T> {
        let next = Vec::with_capacity(self.values.len());
        PrimitiveArray::new(std::mem::replace(&mut self.values, next).into(), self.nulls.finish())
    }
}

impl<T: ArrowPrimitiveType<Native = i64>> Numbers<T> {
    /// Appends rows of a block's column.
    pub fn push_longs(&mut self, column: LongColumn<'_>, rows: &impl RowSet) {
        rows.append(column.values(), i64::from_le_bytes, &mut self.values);
        if column.has_no_nulls() {
            self.nulls.append_n_non_nulls(rows.n_rows());
        } else {
            rows.indices().for_each(|row| self.nulls.append(column.is_valid(row)));
        }
    }
}

impl Numbers<Int32Type> {
    /// Appends rows of a block's column. Numbers that do not fit are null.
    pub fn push_shorts(&mut self, column: ShortColumn<'_>, rows: &impl RowSet) {
        if column.is_empty() {
            return self.push_nulls(rows.n_rows());
        }
        let before = self.values.len();
        rows.append(column.values(), i32::from_le_bytes, &mut self.values);
        let values = &mut self.values[before..];
        if values.iter().all(|value| *value >= 0) {
            return self.nulls.append_n_non_nulls(values.len());
        }
        for value in values {
            self.nulls.append(*value >= 0);
            *value = (*value).max(0);
        }
    }
}
