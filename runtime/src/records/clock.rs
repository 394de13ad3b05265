//! The clock of a log.

use crate::reader::kev::KevHeader;

const NS: u64 = 1_000_000_000;

/// Form of times in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeForm {
    /// Seconds of the clock.
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
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years counted from March have their leap day at the end. An era is 400 such years, or 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i128::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{ns:09}")
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

    /// Quotient and remainder of a number divided by the rate.
    #[inline]
    fn divide(self, n: u64) -> (u64, u64) {
        // At most 1 too small: `inverse` is at most 1 below 2^64 / rate, and `n` is below 2^64.
        let quotient = ((u128::from(n) * u128::from(self.inverse)) >> 64) as u64;
        let rest = n - quotient * self.rate;
        if rest < self.rate { (quotient, rest) } else { (quotient + 1, rest - self.rate) }
    }
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
