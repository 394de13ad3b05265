//! Clock for time stamps, shared by all processes of a session.

use crate::sys;
use std::time::Duration;

/// Clock source and rate.
///
/// A tick is `10⁹ / hertz` nanoseconds. Ticks count from an arbitrary moment, the same for all processes of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Source of the ticks.
    pub source: ClockSource,
    /// Ticks per second.
    pub hertz: u64,
}

/// Source of ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    /// Cycle counter of the CPU, if it has a constant rate and is the same on all CPUs.
    Cycles,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    Monotonic,
}

impl ClockSource {
    /// Best source on this machine. The kernel's own choice shows if the cycle counter is reliable.
    /// `TFBC_TRACE_CLOCK=monotonic` disables the cycle counter.
    pub fn of_this_machine() -> Self {
        let kept_out = std::env::var_os("TFBC_TRACE_CLOCK").is_some_and(|name| name == "monotonic");
        if !kept_out && has_steady_cycles() { ClockSource::Cycles } else { ClockSource::Monotonic }
    }

    /// Current time in ticks.
    #[inline(always)]
    pub fn now(self) -> u64 {
        match self {
            ClockSource::Cycles => cycles(),
            ClockSource::Monotonic => sys::monotonic_ns(),
        }
    }
}

impl Clock {
    /// Clock with a measured rate. `since` is an earlier moment; the longer ago it is, the more precise the rate. If it
    /// is too recent, the call waits.
    pub fn measured(source: ClockSource, since: Moment) -> Self {
        if source == ClockSource::Monotonic {
            return Clock { source, hertz: 1_000_000_000 };
        }
        const ENOUGH_NS: u64 = 10_000_000;
        let passed = sys::monotonic_ns().saturating_sub(since.ns);
        std::thread::sleep(Duration::from_nanos(ENOUGH_NS.saturating_sub(passed)));
        let now = Moment::now(source);
        let ticks = u128::from(now.ticks.saturating_sub(since.ticks));
        let ns = u128::from(now.ns.saturating_sub(since.ns)).max(1);
        Clock { source, hertz: u64::try_from(ticks * 1_000_000_000 / ns).unwrap_or(0).max(1) }
    }

    /// Number of ticks in a duration.
    pub fn ticks_in(self, time: Duration) -> u64 {
        (u128::from(self.hertz) * time.as_nanos() / 1_000_000_000) as u64
    }
}

/// One moment in both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Ticks of the source.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`.
    pub ns: u64,
}

impl Moment {
    /// Current moment. Several readings are taken and the closest pair is kept, since the process may be interrupted
    /// between the two clocks.
    pub fn now(source: ClockSource) -> Self {
        let read = || {
            let before = source.now();
            let ns = sys::monotonic_ns();
            let after = source.now();
            (after.saturating_sub(before), Moment { ticks: before + after.saturating_sub(before) / 2, ns })
        };
        (0..8).map(|_| read()).min_by_key(|(held_up, _)| *held_up).map_or_else(|| read().1, |(_, moment)| moment)
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the compiler declares the intrinsic unsafe")]
#[inline(always)]
fn cycles() -> u64 {
    // SAFETY: reads a counter that every x86-64 processor has; `has_steady_cycles` checked that the kernel uses it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn cycles() -> u64 {
    sys::monotonic_ns()
}

/// True if the kernel keeps time with the cycle counter, or with the hypervisor's.
fn has_steady_cycles() -> bool {
    let kernels = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let never_stops = || {
        std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| {
            text.lines().find(|line| line.starts_with("flags")).is_some_and(|flags| {
                ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.split(' ').any(|word| word == *flag))
            })
        })
    };
    cfg!(target_arch = "x86_64")
        && match kernels.as_deref().map(str::trim) {
            Ok("tsc") => true,
            Ok("kvm-clock" | "hyperv_clocksource_tsc_page") => never_stops(),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_the_ticks_of_the_rate() {
        let source = ClockSource::of_this_machine();
        let since = Moment::now(source);
        let clock = Clock::measured(source, since);
        assert!(clock.hertz >= 1_000_000, "{clock:?}");
        assert_eq!(Clock { source, hertz: 2_500_000_000 }.ticks_in(Duration::from_millis(2)), 5_000_000);
        assert_eq!(Clock::measured(ClockSource::Monotonic, since).hertz, 1_000_000_000);
    }
}
