//! Columns of numbers.

use arrow_array::{ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::NullBufferBuilder;
use tfbc::internal::rows::LongColumn;

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
    pub fn push_longs(&mut self, column: LongColumn<'_>, rows: impl ExactSizeIterator<Item = usize> + Clone) {
        let n_rows = rows.len();
        self.values.extend(rows.clone().map(|row| column.value(row)));
        if column.has_no_nulls() {
            self.nulls.append_n_non_nulls(n_rows);
        } else {
            rows.for_each(|row| self.nulls.append(column.is_valid(row)));
        }
    }
}
