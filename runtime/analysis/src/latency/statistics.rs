//! Statistics of a group of latencies: exact sums, percentiles and a histogram in bounded memory.

use std::collections::BTreeMap;

/// Buckets per octave of values that are not kept one by one, as a power of two.
const PRECISION: u32 = 10;

/// Percentile in thousandths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile(u32);

impl Percentile {
    /// Parses a number from 0 to 100 with at most three decimals.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(decimals) || decimals.len() > 3 || text.ends_with('.') {
            return None;
        }
        let decimals: u32 = format!("{decimals:0<3}").parse().ok()?;
        let thousandths = whole.parse::<u32>().ok()?.checked_mul(1000)? + decimals;
        (thousandths <= 100_000).then_some(Self(thousandths))
    }

    /// Number of the value, from 1, among `n` values in ascending order (nearest rank).
    fn rank(self, n: u64) -> u64 {
        (u128::from(n) * u128::from(self.0)).div_ceil(100_000).max(1) as u64
    }
}

impl std::fmt::Display for Percentile {
    /// Formats the percentile as `99.9`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = format!("{:03}", self.0 % 1000);
        let decimals = decimals.trim_end_matches('0');
        write!(f, "{}{}{decimals}", self.0 / 1000, if decimals.is_empty() { "" } else { "." })
    }
}

/// Latencies of a group.
#[derive(Debug, Clone)]
pub struct Statistics {
    pub n: u64,
    pub sum: u128,
    pub min: u64,
    pub max: u64,
    values: Values,
    /// Number of values by power of two: first 0, then [2^k, 2^(k+1)).
    octaves: Vec<u64>,
}

#[derive(Debug, Clone)]
enum Values {
    /// All values.
    Exact(Vec<u64>),
    /// Number of values by the largest value of their bucket.
    Buckets(BTreeMap<u64, u64>),
}

/// Upper bound of the bucket that contains a value. There are 2^`precision` buckets per octave, and one for each small
/// value.
fn bucket(value: u64, precision: u32) -> u64 {
    let octave = value.max(1).ilog2();
    if octave <= precision { value } else { value | ((1 << (octave - precision)) - 1) }
}

impl Statistics {
    /// Creates a group without values, exact or in buckets.
    pub fn new(is_exact: bool) -> Self {
        let values = if is_exact { Values::Exact(Vec::new()) } else { Values::Buckets(BTreeMap::new()) };
        Self { n: 0, sum: 0, min: u64::MAX, max: 0, values, octaves: Vec::new() }
    }

    /// Adds a value. Returns the number of new entries in memory.
    fn add(&mut self, value: u64, precision: u32) -> usize {
        self.n += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let octave = if value == 0 { 0 } else { value.ilog2() as usize + 1 };
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, 0);
        }
        self.octaves[octave] += 1;
        match &mut self.values {
            Values::Exact(values) => {
                values.push(value);
                1
            }
            Values::Buckets(buckets) => {
                let before = buckets.len();
                *buckets.entry(bucket(value, precision)).or_default() += 1;
                buckets.len() - before
            }
        }
    }

    /// Counts the values by buckets of a precision. Returns the number of buckets.
    fn coarsen(&mut self, precision: u32) -> usize {
        let mut coarse: BTreeMap<u64, u64> = BTreeMap::new();
        let mut add = |value: u64, n: u64| *coarse.entry(bucket(value, precision)).or_default() += n;
        match &self.values {
            Values::Exact(values) => values.iter().for_each(|value| add(*value, 1)),
            Values::Buckets(buckets) => buckets.iter().for_each(|(value, n)| add(*value, *n)),
        }
        let n = coarse.len();
        self.values = Values::Buckets(coarse);
        n
    }

    /// Adds the values of another group of the same precision.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if self.octaves.len() < other.octaves.len() {
            self.octaves.resize(other.octaves.len(), 0);
        }
        self.octaves.iter_mut().zip(&other.octaves).for_each(|(sum, n)| *sum += n);
        match (&mut self.values, &other.values) {
            (Values::Exact(values), Values::Exact(more)) => values.extend(more),
            (Values::Buckets(buckets), Values::Buckets(more)) => {
                more.iter().for_each(|(value, n)| *buckets.entry(*value).or_default() += n);
            }
            _ => {}
        }
    }

    /// True if percentiles are exact.
    pub fn is_exact(&self) -> bool {
        matches!(self.values, Values::Exact(_))
    }

    /// Mean, rounded down.
    pub fn mean(&self) -> u128 {
        self.sum / u128::from(self.n.max(1))
    }

    /// Values of percentiles.
    pub fn percentiles(&mut self, percentiles: &[Percentile]) -> Vec<u64> {
        let (n, max) = (self.n, self.max);
        match &mut self.values {
            Values::Exact(values) => {
                values.sort_unstable();
                let value = |rank: u64| values.get(rank as usize - 1).copied().unwrap_or(max);
                percentiles.iter().map(|percentile| value(percentile.rank(n))).collect()
            }
            Values::Buckets(buckets) => {
                let value = |rank: u64| {
                    let mut left = rank;
                    let found = buckets.iter().find(|(_, n)| {
                        let is_here = left <= **n;
                        left -= if is_here { 0 } else { **n };
                        is_here
                    });
                    found.map_or(max, |(value, _)| *value).min(max)
                };
                percentiles.iter().map(|percentile| value(percentile.rank(n))).collect()
            }
        }
    }

    /// Histogram: start, end and number of values per bucket, from the first to the last that is not empty.
    pub fn histogram(&self) -> impl Iterator<Item = (u128, u128, u64)> {
        let first = self.octaves.iter().position(|n| *n > 0).unwrap_or(0);
        let octaves = self.octaves.iter().enumerate().skip(first);
        octaves.map(|(at, n)| (if at == 0 { 0 } else { 1 << (at - 1) }, 1 << at, *n))
    }
}

/// Groups of latencies that share a limit of values in memory.
#[derive(Debug)]
pub struct Groups<K> {
    groups: Vec<(K, Statistics)>,
    max_values: usize,
    /// Values or buckets in memory.
    n_values: usize,
    /// `None` while all values are kept.
    precision: Option<u32>,
}

impl<K> Groups<K> {
    /// Creates an empty list, which keeps all values up to a number.
    pub fn new(max_values: usize) -> Self {
        Self { groups: Vec::new(), max_values, n_values: 0, precision: None }
    }

    /// Adds a group. Returns its index.
    pub fn push(&mut self, key: K) -> usize {
        self.groups.push((key, Statistics::new(self.precision.is_none())));
        self.groups.len() - 1
    }

    /// Adds a value to a group.
    pub fn add(&mut self, group: usize, value: u64) {
        self.n_values += self.groups[group].1.add(value, self.precision.unwrap_or(PRECISION));
        // Each step has at most half as many buckets, down to one per octave.
        while self.n_values > self.max_values && self.precision != Some(0) {
            let precision = self.precision.map_or(PRECISION, |precision| precision - 1);
            self.precision = Some(precision);
            self.n_values = self.groups.iter_mut().map(|(_, numbers)| numbers.coarsen(precision)).sum();
        }
    }

    /// All groups with their keys.
    pub fn into_groups(self) -> Vec<(K, Statistics)> {
        self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some values of all sizes.
    fn values() -> Vec<u64> {
        let mut random = 1u64;
        (0..5000)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 20) >> (random % 44)
            })
            .collect()
    }

    fn numbers(values: &[u64], max_values: usize) -> Statistics {
        let mut groups = Groups::new(max_values);
        let group = groups.push(());
        values.iter().for_each(|value| groups.add(group, *value));
        groups.into_groups().remove(0).1
    }

    #[test]
    fn percentiles_are_those_of_a_sort() {
        let values = values();
        let percentiles: Vec<_> =
            ["0", "1", "50", "90", "99", "99.9", "99.999", "100"].map(|text| Percentile::parse(text).unwrap()).to_vec();
        for n in [1, 2, 3, 10, 100, 999, 1000, 5000] {
            let found = numbers(&values[..n], usize::MAX).percentiles(&percentiles);
            let mut sorted = values[..n].to_vec();
            sorted.sort_unstable();
            let ranks = [0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 0.99999, 1.0f64];
            let expected = ranks.map(|share| sorted[((share * n as f64 - 1e-9).ceil() as usize).max(1) - 1]);
            assert_eq!(found, expected, "{n} values");
        }
    }

    #[test]
    fn buckets_are_close_to_the_exact_values() {
        let values = values();
        let (mut exact, mut coarse) = (numbers(&values, 5000), numbers(&values, 4999));
        assert!(exact.is_exact() && !coarse.is_exact());
        let percentiles: Vec<_> = (1..=1000).map(|tenth| Percentile(100 * tenth)).collect();
        for (exact, coarse) in exact.percentiles(&percentiles).into_iter().zip(coarse.percentiles(&percentiles)) {
            assert!(
                coarse >= exact && u128::from(coarse - exact) * 1000 < u128::from(exact.max(1)),
                "{exact} {coarse}"
            );
        }
        assert_eq!((exact.sum, exact.min, exact.max, exact.n), (coarse.sum, coarse.min, coarse.max, coarse.n));
        assert!(exact.histogram().eq(coarse.histogram()));
        assert_eq!(exact.histogram().map(|(.., n)| n).sum::<u64>(), exact.n);
    }

    #[test]
    fn memory_is_bounded() {
        let mut groups = Groups::new(500);
        for group in 0..20 {
            groups.push(group);
        }
        for (at, value) in values().into_iter().enumerate() {
            groups.add(at % 20, value);
        }
        assert!(groups.n_values <= 20 * 65 && groups.precision.is_some_and(|precision| precision < PRECISION));
        let mut merged = Statistics::new(false);
        groups.into_groups().iter().for_each(|(_, numbers)| merged.merge(numbers));
        let all = numbers(&values(), 1);
        assert_eq!((merged.n, merged.sum, merged.min, merged.max), (all.n, all.sum, all.min, all.max));
    }

    #[test]
    fn the_histogram_has_empty_buckets_between() {
        let numbers = numbers(&[25, 30, 40, 1024, 0], 10);
        let expected = [(0, 1, 1), (1, 2, 0), (2, 4, 0), (4, 8, 0), (8, 16, 0), (16, 32, 2), (32, 64, 1), (64, 128, 0)];
        assert!(numbers.histogram().take(8).eq(expected));
        assert_eq!(numbers.histogram().last(), Some((1024, 2048, 1)));
        assert_eq!(super::tests::numbers(&[u64::MAX], 1).histogram().last(), Some((1 << 63, 1 << 64, 1)));
    }

    #[test]
    fn percentiles_have_three_decimals() {
        for (text, shown) in [("50", "50"), ("99.90", "99.9"), ("0.001", "0.001"), ("100", "100"), ("05", "5")] {
            assert_eq!(Percentile::parse(text).unwrap().to_string(), shown);
        }
        for text in ["", ".", "5.", "-1", "100.001", "1.0001", "x", "4294967297", "+5"] {
            assert_eq!(Percentile::parse(text), None, "{text}");
        }
    }
}
