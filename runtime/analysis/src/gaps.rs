//! Starts of gaps in a trace, to find the pairs of events that a gap may separate.

use std::collections::HashMap;

/// Starts of gaps, numbered in the order of the trace.
#[derive(Debug, Default)]
pub struct GapStarts {
    n: u64,
    /// Latest start of a gap of all CPUs.
    of_all: Latest,
    /// Latest start of any gap.
    of_any: Latest,
    of_cpu: HashMap<u64, Latest>,
}

/// Number and time of the latest start, and number of the latest one at an earlier time.
#[derive(Debug, Default, Clone, Copy)]
struct Latest {
    number: u64,
    time: u64,
    number_before: u64,
}

impl Latest {
    fn note(&mut self, number: u64, time: u64) {
        if time > self.time {
            self.number_before = self.number;
        }
        (self.number, self.time) = (number, time);
    }

    /// Number of the latest start before a time.
    fn before(self, time: u64) -> u64 {
        if self.time < time { self.number } else { self.number_before }
    }
}

impl GapStarts {
    /// Adds the start of a gap of one CPU, or of all.
    pub fn note(&mut self, cpu: Option<u64>, time: u64) {
        self.n += 1;
        self.of_any.note(self.n, time);
        match cpu {
            None => self.of_all.note(self.n, time),
            Some(cpu) => self.of_cpu.entry(cpu).or_default().note(self.n, time),
        }
    }

    /// Number of starts so far.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// True if a gap has started since there were `n` starts: a gap of a CPU or, for `None`, any gap.
    #[inline]
    pub fn since(&self, n: u64, cpu: Option<u64>) -> bool {
        self.n > n && self.number(cpu, |latest| latest.number) > n
    }

    /// Like [`GapStarts::since`], for gaps that started before `time`.
    pub fn since_before(&self, n: u64, cpu: Option<u64>, time: u64) -> bool {
        self.n > n && self.number(cpu, |latest| latest.before(time)) > n
    }

    fn number(&self, cpu: Option<u64>, number: impl Fn(Latest) -> u64) -> u64 {
        match cpu {
            None => number(self.of_any),
            Some(cpu) => number(self.of_all).max(self.of_cpu.get(&cpu).map_or(0, |latest| number(*latest))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_concern_a_cpu_or_all() {
        let mut gaps = GapStarts::default();
        gaps.note(Some(1), 10);
        assert!(gaps.since(0, Some(1)) && gaps.since(0, None) && !gaps.since(0, Some(0)));
        gaps.note(None, 20);
        assert!(gaps.since(1, Some(0)) && gaps.since(1, Some(1)) && !gaps.since(2, None));
        assert!(gaps.since_before(0, Some(1), 20) && !gaps.since_before(1, Some(1), 20));
        assert!(gaps.since_before(1, None, 21) && !gaps.since_before(1, None, 20));
    }
}
