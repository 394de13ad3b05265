//! Rows of a block that are appended to columns.

use std::ops::Range;

/// Rows of a block: consecutive ones, or those of one event.
pub(crate) trait RowSet: Clone {
    /// Number of rows.
    fn n_rows(&self) -> usize;

    /// The rows, if they are consecutive.
    fn range(&self) -> Option<Range<usize>> {
        None
    }

    /// True if the rows have the same event id.
    fn has_one_id(&self) -> bool {
        false
    }

    /// Indices of the rows.
    fn indices(&self) -> impl ExactSizeIterator<Item = usize> + Clone;

    /// Appends the values of the rows. Values that do not exist are `T::default()`.
    fn append<B: Copy, T: Default>(&self, values: &[B], convert: impl Fn(B) -> T, to: &mut Vec<T>);
}

impl RowSet for Range<usize> {
    fn n_rows(&self) -> usize {
        self.len()
    }

    fn range(&self) -> Option<Range<usize>> {
        Some(self.clone())
    }

    fn indices(&self) -> impl ExactSizeIterator<Item = usize> + Clone {
        self.clone()
    }

    #[inline]
    fn append<B: Copy, T: Default>(&self, values: &[B], convert: impl Fn(B) -> T, to: &mut Vec<T>) {
        match values.get(self.clone()) {
            Some(values) => to.extend(values.iter().map(|value| convert(*value))),
            None => to.extend(self.clone().map(|_| T::default())),
        }
    }
}

/// Rows of one event, in ascending order.
#[derive(Clone, Copy)]
pub(crate) struct RowsOfEvent<'r>(pub &'r [usize]);

impl RowSet for RowsOfEvent<'_> {
    fn n_rows(&self) -> usize {
        self.0.len()
    }

    fn has_one_id(&self) -> bool {
        true
    }

    fn indices(&self) -> impl ExactSizeIterator<Item = usize> + Clone {
        self.0.indices()
    }

    #[inline]
    fn append<B: Copy, T: Default>(&self, values: &[B], convert: impl Fn(B) -> T, to: &mut Vec<T>) {
        self.0.append(values, convert, to);
    }
}

impl RowSet for &[usize] {
    fn n_rows(&self) -> usize {
        self.len()
    }

    fn indices(&self) -> impl ExactSizeIterator<Item = usize> + Clone {
        self.iter().copied()
    }

    #[inline]
    fn append<B: Copy, T: Default>(&self, values: &[B], convert: impl Fn(B) -> T, to: &mut Vec<T>) {
        to.extend(self.iter().map(|row| values.get(*row).map_or_else(T::default, |value| convert(*value))));
    }
}
