//! The clock of a log.

use crate::reader::kev::KevHeader;

const NS: u64 = 1_000_000_000;

/// Makes times of cycles without a division: what divides by the clock's rate is a multiplication.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Cycles of a second.
    rate: u64,
    /// 2^64 divided by the rate, or 1 less.
    inverse: u64,
}

impl Clock {
    /// The clock of a log; `None` where its rate is not known.
    pub fn new(header: &KevHeader) -> Option<Self> {
        let rate = header.cycles_per_sec.filter(|rate| *rate > 0)?;
        Some(Clock { rate, inverse: u64::MAX / rate })
    }

    /// As [`KevHeader::ns`].
    #[inline]
    pub fn ns(self, cycles: u64) -> u64 {
        let (seconds, rest) = self.divide(cycles);
        let rest_ns = match rest.checked_mul(NS) {
            Some(product) => self.divide(product).0,
            None => (u128::from(rest) * u128::from(NS) / u128::from(self.rate)) as u64,
        };
        seconds.saturating_mul(NS).saturating_add(rest_ns)
    }

    /// A number divided by the rate, and what remains.
    #[inline]
    fn divide(self, n: u64) -> (u64, u64) {
        // At most 1 too small: the inverse leaves out less than 1 / 2^64 of the number.
        let quotient = ((u128::from(n) * u128::from(self.inverse)) >> 64) as u64;
        let rest = n - quotient * self.rate;
        if rest < self.rate { (quotient, rest) } else { (quotient + 1, rest - self.rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_header() {
        let powers = (0..20).map(|k| 10u64.pow(k)).chain((0..64).map(|k| 1 << k)).chain([736_629_000, u64::MAX]);
        let numbers: Vec<u64> = powers.flat_map(|n| [n - 1, n, n.saturating_add(1)]).collect();
        for rate in &numbers {
            let header = KevHeader { cycles_per_sec: Some(*rate), ..KevHeader::default() };
            let Some(clock) = Clock::new(&header) else {
                assert_eq!(*rate, 0);
                continue;
            };
            let around = |n: u64| [n.wrapping_mul(*rate), n.wrapping_mul(*rate).wrapping_sub(1)];
            for cycles in numbers.iter().flat_map(|n| [*n].into_iter().chain(around(*n))) {
                assert_eq!(clock.divide(cycles), (cycles / rate, cycles % rate));
                assert_eq!(Some(clock.ns(cycles)), header.ns(cycles), "{cycles} at {rate}");
            }
        }
    }
}
