//! Counts and times of some values.

/// Count, total, minimum and maximum of some values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub n: u64,
    pub total: u128,
    /// Smallest and largest value, at most `u64::MAX`: a table may have 65,536 rows with two tallies each.
    pub min: u64,
    pub max: u64,
}

/// Number and lengths of the periods that a thread spent in a state.
pub type StateCounts = Tally;

impl Tally {
    /// Adds a value.
    pub fn add(&mut self, value: u128) {
        let bounded = u64::try_from(value).unwrap_or(u64::MAX);
        self.min = if self.n == 0 { bounded } else { self.min.min(bounded) };
        self.max = self.max.max(bounded);
        self.n += 1;
        self.total += value;
    }

    /// Adds the values of another tally.
    pub fn merge(&mut self, other: &Self) {
        if other.n > 0 {
            self.min = if self.n == 0 { other.min } else { self.min.min(other.min) };
            self.max = self.max.max(other.max);
            self.n += other.n;
            self.total += other.total;
        }
    }

    /// Forgets the values, but keeps their number.
    pub fn forget(&mut self) {
        (self.total, self.min, self.max) = (0, 0, 0);
    }

    /// Minimum, mean (rounded down) and maximum; `None` if there are no values.
    pub fn spread(&self) -> Option<[u128; 3]> {
        (self.n > 0).then(|| [self.min.into(), self.total / u128::from(self.n), self.max.into()])
    }
}
