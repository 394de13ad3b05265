//! Counts and times of some values.

/// Count, total, minimum and maximum of some values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub n: u64,
    pub total: u128,
    pub min: u128,
    pub max: u128,
}

/// Number and lengths of the periods that a thread spent in a state.
pub type StateCounts = Tally;

impl Tally {
    /// Adds a value.
    pub fn add(&mut self, value: u128) {
        self.min = if self.n == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
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
        (self.n > 0).then(|| [self.min, self.total / u128::from(self.n), self.max])
    }
}
