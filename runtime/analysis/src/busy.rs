//! Busy time of CPUs over time.

use std::ops::Range;

/// Limit on buckets.
const MAX_BUCKETS: usize = 256;

/// Busy time of CPUs in buckets of equal length. If the buckets do not reach far enough, two neighbours become one.
#[derive(Debug, Clone, Default)]
pub struct Utilisation {
    /// Start of the first bucket.
    start: u64,
    /// Length of a bucket as a power of two.
    pub shift: u32,
    /// Time per CPU, part and bucket.
    pub cpus: Vec<Vec<Vec<u64>>>,
}

/// Part of the busy time: what is not interrupts, or a class of interrupts.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    Other,
    Interrupts(usize),
}

impl Part {
    fn index(self) -> usize {
        match self {
            Self::Other => 0,
            Self::Interrupts(class) => 1 + class,
        }
    }
}

impl Utilisation {
    /// Creates buckets from a time on.
    pub fn new(start: u64) -> Self {
        Self { start, ..Self::default() }
    }

    /// Adds a span of time, which is not empty.
    pub fn add(&mut self, cpu: usize, part: Part, span: Range<u64>) {
        self.reach(span.end);
        let (from, to) = (span.start - self.start, span.end - self.start);
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, Vec::new);
        }
        let parts = &mut self.cpus[cpu];
        if parts.len() <= part.index() {
            parts.resize_with(part.index() + 1, Vec::new);
        }
        let buckets = &mut parts[part.index()];
        let (first, last) = ((from >> self.shift) as usize, ((to - 1) >> self.shift) as usize);
        if buckets.len() <= last {
            buckets.resize(last + 1, 0);
        }
        let length = 1 << self.shift;
        for (bucket, ns) in buckets.iter_mut().enumerate().take(last + 1).skip(first) {
            let begin = bucket as u64 * length;
            *ns += to.min(begin.saturating_add(length)) - from.max(begin);
        }
    }

    /// Makes the buckets long enough for times up to `to`.
    pub fn reach(&mut self, to: u64) {
        while to.saturating_sub(self.start.saturating_add(1)) >> self.shift >= MAX_BUCKETS as u64 {
            self.shift += 1;
            for buckets in self.cpus.iter_mut().flatten() {
                *buckets = buckets.chunks(2).map(|pair| pair.iter().sum()).collect();
            }
        }
    }

    /// Forgets all times.
    pub fn clear(&mut self) {
        self.cpus.clear();
    }

    /// Forgets the times of a class of interrupts.
    pub fn clear_interrupts(&mut self, class: usize) {
        for parts in &mut self.cpus {
            if let Some(buckets) = parts.get_mut(Part::Interrupts(class).index()) {
                buckets.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_keep_the_sum() {
        let mut busy = Utilisation::new(100);
        let (mut sum, mut at) = (0, 100);
        // Lengths grow, so the buckets must be merged many times.
        for step in 0..60 {
            let length = 1u64 << step;
            busy.add(step % 3, Part::Interrupts(step % 2), at..at + length);
            sum += u128::from(length);
            at += 2 * length;
        }
        let buckets: Vec<&Vec<u64>> = busy.cpus.iter().flatten().collect();
        assert_eq!(buckets.iter().flat_map(|buckets| buckets.iter()).map(|ns| u128::from(*ns)).sum::<u128>(), sum);
        assert!(buckets.iter().all(|buckets| buckets.len() <= MAX_BUCKETS));
        assert!(buckets.iter().flat_map(|buckets| buckets.iter()).all(|ns| *ns <= 1 << busy.shift));
        busy.clear_interrupts(0);
        let odd = (0..60).filter(|step| step % 2 == 1).map(|step| 1u128 << step).sum::<u128>();
        assert_eq!(busy.cpus.iter().flatten().flatten().map(|ns| u128::from(*ns)).sum::<u128>(), odd);
    }
}
