//! The clock of a log.

use crate::reader::kev::KevHeader;
use crate::time_zone::utc;

const NS: u64 = 1_000_000_000;

/// Format of times in the report of a QNX log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeForm {
    /// Seconds since the boot, as the log's clock counts them.
    #[default]
    Absolute,
    /// Seconds since the trace's start.
    Relative,
    /// Date and time, UTC.
    Clock,
}

/// A time in ns since 1970 as `YYYY-MM-DD HH:MM:SS.nnnnnnnnn`, UTC.
pub(super) fn date_and_time(ns: i128) -> String {
    let (seconds, ns) = (ns.div_euclid(i128::from(NS)), ns.rem_euclid(i128::from(NS)));
    format!("{}.{ns:09}", utc(seconds as i64, ' '))
}

/// Converts cycles to times. Multiplying by the inverse of the clock's rate avoids a slow division.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Cycles per second.
    rate: u64,
    /// 2^64 divided by the rate, or 1 less.
    inverse: u64,
}

impl Clock {
    /// The clock of a log; `None` if its rate is unknown.
    pub fn new(header: &KevHeader) -> Option<Self> {
        let rate = header.cycles_per_sec.filter(|rate| *rate > 0)?;
        Some(Clock { rate, inverse: u64::MAX / rate })
    }

    /// Like [`KevHeader::ns`].
    #[inline]
    pub fn ns(self, cycles: u64) -> u64 {
        let (seconds, rest) = self.divide(cycles);
        let rest_ns = match rest.checked_mul(NS) {
            Some(product) => self.divide(product).0,
            None => (u128::from(rest) * u128::from(NS) / u128::from(self.rate)) as u64,
        };
        seconds.saturating_mul(NS).saturating_add(rest_ns)
    }

    /// Quotient and remainder of a number divided by the rate.
    #[inline]
    fn divide(self, n: u64) -> (u64, u64) {
        // At most 1 too small: `inverse` is at most 1 below 2^64 / rate, and `n` is below 2^64.
        let quotient = ((u128::from(n) * u128::from(self.inverse)) >> 64) as u64;
        let rest = n - quotient * self.rate;
        if rest < self.rate { (quotient, rest) } else { (quotient + 1, rest - self.rate) }
    }
}

/// Time of a clock in cycles as a report shows it, in ns. `start` is the clock at the trace's start. `None` if it is not
/// known.
pub(crate) fn shown_ns(form: TimeForm, header: &KevHeader, start: Option<u64>, cycles: u64) -> Option<i128> {
    let clock = Clock::new(header)?;
    let zero = match form {
        TimeForm::Absolute => 0,
        TimeForm::Relative => -i128::from(clock.ns(start?)),
        TimeForm::Clock => header.boot_ns().unwrap_or_default(),
    };
    Some(i128::from(clock.ns(cycles)) + zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_leap_days() {
        for (seconds, expected) in [
            (0_i128, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_245_772_066, "2009-06-23 15:47:46"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (4_294_967_295, "2106-02-07 06:28:15"),
        ] {
            assert_eq!(date_and_time(seconds * i128::from(NS)), format!("{expected}.000000000"));
        }
    }

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
