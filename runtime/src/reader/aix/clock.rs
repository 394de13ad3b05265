//! Clock of a trace: converts raw ticks to nanoseconds, unwraps 32-bit stamps, and computes elapsed time.

use super::hooks;
use crate::split::codec::{Codec, Malformed, Stored, stored};

/// Conversion of ticks to nanoseconds: `ticks * multiplier / divisor`, rounded down (hook 00A, kind 25C).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factors {
    multiplier: u64,
    divisor: u64,
    /// 2^64 divided by the divisor, rounded down and below 2^64, so that a multiplication replaces the division.
    reciprocal: u64,
    /// Number of ticks after which a 32-bit stamp restarts at 0.
    wrap: u64,
}

impl Default for Factors {
    /// A tick is a nanosecond, and 32-bit stamps wrap at 2^32.
    fn default() -> Self {
        Self::by(1, 1, 1 << 32)
    }
}

impl Factors {
    /// Clock type 1: POWER real time clock, whose stamps are nanoseconds within the second.
    const RTC: u64 = 1;
    /// Clock type 2: time base, the only clock that uses the factors.
    const TIME_BASE: u64 = 2;

    /// Creates the factors of a trace. A divisor of 0 means that the trace has no factors.
    pub fn new(multiplier: u64, divisor: u64, clock_type: u64) -> Self {
        let wrap = if clock_type == Self::RTC { 1_000_000_000 } else { 1 << 32 };
        if clock_type == Self::TIME_BASE && divisor != 0 {
            Self::by(multiplier, divisor, wrap)
        } else {
            Self::by(1, 1, wrap)
        }
    }

    /// Creates factors; the divisor must not be 0.
    fn by(multiplier: u64, divisor: u64, wrap: u64) -> Self {
        Self { multiplier, divisor, reciprocal: u64::MAX / divisor, wrap }
    }

    /// Converts ticks to nanoseconds, saturating.
    #[inline]
    pub fn ns(&self, ticks: u64) -> u64 {
        if self.multiplier == self.divisor {
            return ticks;
        }
        match ticks.checked_mul(self.multiplier) {
            Some(product) => self.divide(product),
            None => long_ns(ticks, self.multiplier, self.divisor),
        }
    }

    /// Computes `product / divisor` with the reciprocal. The reciprocal is at most 1 below 2^64 / divisor and the
    /// product is below 2^64, so the rounded quotient is at most 1 too small, which one comparison corrects.
    #[inline]
    fn divide(&self, product: u64) -> u64 {
        let quotient = ((u128::from(product) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = product - quotient * self.divisor;
        quotient + u64::from(rest >= self.divisor)
    }
}

impl Stored for Factors {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut values = [self.multiplier, self.divisor, self.wrap];
        values.visit(codec)?;
        let [multiplier, divisor, wrap] = values;
        codec.check(divisor != 0 && (wrap == 1_000_000_000 || wrap == 1 << 32))?;
        *self = Self::by(multiplier, divisor, wrap);
        Ok(())
    }
}

#[cold]
fn long_ns(ticks: u64, multiplier: u64, divisor: u64) -> u64 {
    let wide = u128::from(ticks) * u128::from(multiplier) / u128::from(divisor);
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// Time of an event, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventTime {
    /// Time since the epoch of the trace's clock. An event without a stamp has the time of the event before it.
    pub time_ns: u64,
    /// Time since the start of the trace; 0 for earlier events.
    pub elapsed_ns: u64,
}

/// Clock of one trace, advanced event by event.
#[derive(Debug, Clone)]
pub struct TraceClock {
    factors: Factors,
    wraps: bool,
    /// True after the first stamp.
    is_stamped: bool,
    /// Raw stamp that corresponds to `ticks`, if stamps wrap.
    raw: u64,
    /// Last stamp, unwrapped.
    ticks: u64,
    clamped: u64,
}

impl TraceClock {
    /// Creates a clock. `wraps` is true for 32-bit stamps.
    pub fn new(factors: Factors, wraps: bool) -> Self {
        Self { factors, wraps, is_stamped: false, raw: 0, ticks: 0, clamped: 0 }
    }

    /// Sets the stamp from which 32-bit stamps are unwrapped.
    pub fn starting_at(mut self, stamp: Option<u64>) -> Self {
        if let Some(stamp) = stamp.filter(|_| self.wraps) {
            (self.is_stamped, self.raw, self.ticks) = (true, stamp, stamp);
        }
        self
    }

    /// Current factors.
    pub fn factors(&self) -> Factors {
        self.factors
    }

    /// Sets the factors for the following events.
    pub fn set_factors(&mut self, factors: Factors) {
        self.factors = factors;
    }

    /// Number of stamps that went back slightly and were replaced by the previous stamp.
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Advances the clock by an event; returns its time in nanoseconds.
    #[inline]
    pub fn advance(&mut self, stamp: Option<u64>) -> u64 {
        self.advance_where(self.wraps, stamp)
    }

    /// Like [`TraceClock::advance`], with the wrap decided at compile time.
    #[inline]
    pub(super) fn advance_where(&mut self, wraps: bool, stamp: Option<u64>) -> u64 {
        let ticks = self.advance_ticks(wraps, stamp);
        self.factors.ns(ticks)
    }

    /// Advances the clock by an event; returns its ticks, which a [`TimeScale`] converts.
    #[inline]
    pub(super) fn advance_ticks(&mut self, wraps: bool, stamp: Option<u64>) -> u64 {
        if let Some(stamp) = stamp {
            self.unwrap_stamp(wraps, stamp);
        }
        self.ticks
    }

    /// Time of unwrapped ticks, in nanoseconds.
    #[inline(always)]
    pub(super) fn time_ns(&self, ticks: u64) -> u64 {
        self.factors.ns(ticks)
    }

    /// True after the first stamp.
    pub(super) fn is_stamped(&self) -> bool {
        self.is_stamped
    }

    /// Sets the clock to a 64-bit stamp, which must not be the first one.
    #[inline(always)]
    pub(super) fn set_ticks(&mut self, ticks: u64) {
        debug_assert!(!self.wraps && self.is_stamped);
        self.ticks = ticks;
    }

    /// Advances the clock by the stamp of a skipped event.
    #[inline]
    pub fn pass(&mut self, stamp: Option<u64>) {
        if let Some(stamp) = stamp {
            self.unwrap_stamp(self.wraps, stamp);
        }
    }

    /// Extends a 32-bit stamp to 64 bits. It counts as later than the last one if it is up to 15/16 of a wrap after it;
    /// otherwise as slightly earlier, because the clocks of two CPUs differ.
    #[inline]
    fn unwrap_stamp(&mut self, wraps: bool, stamp: u64) {
        let was_stamped = std::mem::replace(&mut self.is_stamped, true);
        if !wraps {
            self.ticks = stamp;
            return;
        }
        // The first stamp is used unchanged, because nobody knows how often the clock wrapped before it.
        if !was_stamped {
            (self.raw, self.ticks) = (stamp, stamp);
            return;
        }
        let (wrap, raw) = (self.factors.wrap, self.raw);
        // The usual step is tested first, because the remainder of the other case is a slow division.
        let forward = match stamp.wrapping_sub(raw) {
            forward if forward < wrap => forward,
            _ => (stamp as i64 - raw as i64).rem_euclid(wrap as i64) as u64,
        };
        if forward <= wrap / 16 * 15 {
            self.ticks = self.ticks.saturating_add(forward);
            self.raw = stamp;
        } else {
            self.clamped += 1;
        }
    }
}

// The count of corrected stamps begins with the part, and the width of stamps is known from the trace's kind.
stored!(TraceClock { factors, is_stamped, raw, ticks }
    where |clock| !clock.wraps || clock.raw <= u32::MAX.into());

stored!(Elapsed { from_trace_on, zero });

stored!(TimeZero { trace, ticks, ns });

/// Origin of elapsed time: the first 001 event if only 003 and 00A events come before it, else the first stamped event.
#[derive(Debug, Clone, Default)]
pub struct Elapsed {
    from_trace_on: bool,
    zero: Option<TimeZero>,
}

/// Event at which the elapsed time is 0.
#[derive(Debug, Clone, Copy, Default)]
struct TimeZero {
    /// Index of its trace.
    trace: u32,
    ticks: u64,
    ns: u64,
}

/// Conversion of ticks to times, for events whose times are rarely needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimeScale {
    factors: Factors,
    /// Time at which the elapsed time is 0.
    zero_ns: u64,
}

impl TimeScale {
    /// Converts ticks to the time of an event.
    #[inline]
    pub fn time(&self, ticks: u64) -> EventTime {
        let time_ns = self.factors.ns(ticks);
        EventTime { time_ns, elapsed_ns: time_ns.saturating_sub(self.zero_ns) }
    }
}

impl Elapsed {
    /// Creates the state before the first event. `from_trace_on` is true if only 003 and 00A events come before the
    /// first 001.
    pub fn new(from_trace_on: bool) -> Self {
        Self { from_trace_on, zero: None }
    }

    /// Elapsed time of an event whose time is `time_ns`.
    #[inline]
    pub fn at(&mut self, trace: usize, clock: &TraceClock, id: u16, time_ns: u64) -> u64 {
        match self.zero {
            Some(zero) => time_ns.saturating_sub(zero.ns),
            None => {
                self.begin(clock.is_stamped, TimeZero { trace: trace as u32, ticks: clock.ticks, ns: time_ns }, id);
                0
            }
        }
    }

    /// True if the origin is known.
    pub fn is_known(&self) -> bool {
        self.zero.is_some()
    }

    /// Time of an event after the origin, whose time is `time_ns`.
    #[inline(always)]
    pub fn time(&self, time_ns: u64) -> EventTime {
        EventTime { time_ns, elapsed_ns: time_ns.saturating_sub(self.zero.map_or(0, |zero| zero.ns)) }
    }

    /// Handles an event while the origin is unknown.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, is_stamped: bool, zero: TimeZero, id: u16) {
        if is_stamped && (!self.from_trace_on || id == hooks::TRACE_ON) {
            self.zero = Some(zero);
        }
    }

    /// Handles a skipped event, which may be the origin.
    #[inline]
    pub fn pass(&mut self, trace: usize, clock: &TraceClock, id: u16) {
        if self.zero.is_none() {
            self.at(trace, clock, id, clock.factors.ns(clock.ticks));
        }
    }

    /// Scale of ticks with these factors; `None` while the origin is unknown.
    pub fn scale(&self, factors: Factors) -> Option<TimeScale> {
        self.zero.map(|zero| TimeScale { factors, zero_ns: zero.ns })
    }

    /// Recomputes the origin after the factors of a trace have changed; it stays at its tick.
    pub fn rescale(&mut self, trace: usize, clock: &TraceClock) {
        if let Some(zero) = self.zero.as_mut().filter(|zero| zero.trace as usize == trace) {
            zero.ns = clock.factors.ns(zero.ticks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_base_has_factors_and_they_saturate() {
        assert_eq!(Factors::new(1000, 500, 2).ns(64), 128);
        assert_eq!(Factors::new(1000, 500, 1).ns(64), 64);
        assert_eq!(Factors::new(u64::MAX, 2, 2).ns(4), u64::MAX);
    }

    /// A clock with its elapsed time.
    struct TestClock(TraceClock, Elapsed);

    impl TestClock {
        fn new(factors: Factors, wraps: bool, from_trace_on: bool) -> Self {
            Self(TraceClock::new(factors, wraps), Elapsed::new(from_trace_on))
        }

        fn advance(&mut self, id: u16, stamp: Option<u64>) -> EventTime {
            let time_ns = self.0.advance(stamp);
            EventTime { time_ns, elapsed_ns: self.1.at(0, &self.0, id, time_ns) }
        }
    }

    fn elapsed(watch: &mut TestClock, stamps: &[u64]) -> Vec<u64> {
        stamps.iter().map(|stamp| watch.advance(0x0100, Some(*stamp)).elapsed_ns).collect()
    }

    #[test]
    fn every_product_is_divided_exactly() {
        let edges = |n: u64| [n.wrapping_sub(1), n, n.wrapping_add(1)];
        let powers = (0..64).flat_map(|bit| edges(1 << bit)).chain((0..20).flat_map(|k| edges(10u64.pow(k))));
        let numbers: Vec<u64> = powers.chain([u64::MAX, 512_000_000, 0x1234_5678_9ABC_DEF1]).collect();
        let mut noise = 1u64;
        for &divisor in numbers.iter().filter(|divisor| **divisor > 0) {
            for &multiplier in &[1, 1000, 15_625, u64::MAX, divisor] {
                let factors = Factors::new(multiplier, divisor, Factors::TIME_BASE);
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let multiples = edges(divisor.wrapping_mul(noise >> 40)).into_iter().chain([noise, noise >> 20]);
                for ticks in numbers.iter().copied().chain(multiples) {
                    let exact = u128::from(ticks) * u128::from(multiplier) / u128::from(divisor);
                    let exact = u64::try_from(exact).unwrap_or(u64::MAX);
                    assert_eq!(factors.ns(ticks), exact, "{ticks} * {multiplier} / {divisor}");
                }
            }
        }
    }

    #[test]
    fn stamps_wrap_at_two_to_the_32() {
        let mut clock = TestClock::new(Factors::new(1, 1, 2), true, false);
        assert_eq!(elapsed(&mut clock, &[0xFFFF_FFF0, 0x10, 0x10]), [0, 0x20, 0x20]);
        assert_eq!(clock.0.clamped(), 0);
    }

    #[test]
    fn real_time_clocks_wrap_at_the_second() {
        let mut clock = TestClock::new(Factors::new(7, 3, 1), true, false);
        assert_eq!(elapsed(&mut clock, &[999_999_000, 1_000, 501_000]), [0, 2_000, 502_000]);
    }

    #[test]
    fn a_small_step_back_is_clamped_and_counted() {
        let mut clock = TestClock::new(Factors::default(), true, false);
        assert_eq!(elapsed(&mut clock, &[1000, 900, 1100]), [0, 0, 100]);
        assert_eq!(clock.0.clamped(), 1);
    }

    #[test]
    fn fifteen_sixteenths_are_a_step_forward() {
        let far = 15 << 28;
        let mut clock = TestClock::new(Factors::default(), true, false);
        assert_eq!(elapsed(&mut clock, &[0, far]), [0, far]);
        let mut clock = TestClock::new(Factors::default(), true, false);
        assert_eq!(elapsed(&mut clock, &[0, far + 1]), [0, 0]);
    }

    #[test]
    fn wide_stamps_may_go_back() {
        let mut clock = TestClock::new(Factors::default(), false, false);
        assert_eq!(elapsed(&mut clock, &[100, 300, 200, 50]), [0, 200, 100, 0]);
        assert_eq!(clock.0.clamped(), 0);
    }

    #[test]
    fn elapsed_starts_at_trace_on() {
        let mut clock = TestClock::new(Factors::default(), false, true);
        assert_eq!(clock.advance(hooks::UTILITY, Some(100)).elapsed_ns, 0);
        assert_eq!(clock.advance(hooks::TRACE_ON, Some(128)).elapsed_ns, 0);
        assert_eq!(clock.advance(0x0100, Some(228)).elapsed_ns, 100);
        assert_eq!(clock.advance(0x0100, None), EventTime { time_ns: 228, elapsed_ns: 100 });
    }

    #[test]
    fn later_factors_convert_the_same_ticks() {
        let mut clock = TestClock::new(Factors::new(2, 1, 2), false, false);
        assert_eq!(elapsed(&mut clock, &[100, 200]), [0, 200]);
        clock.0.set_factors(Factors::new(3, 1, 2));
        clock.1.rescale(0, &clock.0);
        assert_eq!(elapsed(&mut clock, &[300]), [600]);
    }

    #[test]
    fn a_zero_divisor_counts_as_no_factors() {
        assert_eq!(Factors::new(1000, 0, 2).ns(5), 5);
    }
}
