//! Removes duplicates: events that several logs of a merge contain, because their buffers overlapped.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};

/// Number of remembered events. Few are needed, since equal events have equal times and come close together.
const MAX_REMEMBERED: usize = 1 << 16;

/// Recent events of a merge, with the number of times that each log contained them.
///
/// An event is a duplicate if another log has contained as many equal ones: two equal events in both of two logs are
/// two events. Events are compared by two keyed hashes of all their bytes, so that a hostile trace cannot fake a match.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    hashers: [RandomState; 2],
    copies: HashMap<EventHash, CopyCount>,
    /// Times and hashes of the events, oldest first.
    order: VecDeque<(u64, EventHash)>,
    overflowed: bool,
}

type EventHash = [u64; 2];

/// Number of times that an event was found.
#[derive(Debug, Default)]
struct CopyCount {
    n_given: u32,
    /// Count per log; nearly always one or two entries.
    by_log: Vec<(usize, u32)>,
}

impl Duplicates {
    /// Records an event of a log. Returns true if another log contained it before.
    pub fn is_duplicate(&mut self, log: usize, time_ns: u64, cpu: Option<u64>, recorded: &[u8]) -> bool {
        // 128 bits of two keyed hashes instead of the bytes: memory stays bounded, and nobody can prepare a collision.
        let key = [0, 1].map(|at| {
            let mut hasher: std::hash::DefaultHasher = self.hashers[at].build_hasher();
            hasher.write_u64(time_ns);
            hasher.write_u64(cpu.map_or(0, |cpu| cpu + 1));
            hasher.write(recorded);
            hasher.finish()
        });
        let copies = self.copies.entry(key).or_insert_with(|| {
            self.order.push_back((time_ns, key));
            CopyCount::default()
        });
        let n = match copies.by_log.iter_mut().find(|(known, _)| *known == log) {
            Some((_, n)) => {
                *n = n.saturating_add(1);
                *n
            }
            None => {
                copies.by_log.push((log, 1));
                1
            }
        };
        // The n-th copy in a log is new only if no other log had n copies.
        let duplicate = n <= copies.n_given;
        if !duplicate {
            copies.n_given = n;
        }
        self.forget(time_ns);
        duplicate
    }

    fn forget(&mut self, now_ns: u64) {
        if self.order.len() > MAX_REMEMBERED
            && let Some((time_ns, key)) = self.order.pop_front()
        {
            self.copies.remove(&key);
            // Forgetting an older event is harmless: its duplicates would have come at its time.
            self.overflowed |= time_ns >= now_ns;
        }
    }

    /// True, once, if an event was forgotten while its duplicates could still follow.
    pub fn take_overflow(&mut self) -> bool {
        std::mem::take(&mut self.overflowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_events_count_by_log() {
        let mut duplicates = Duplicates::default();
        let mut given = |log| !duplicates.is_duplicate(log, 5, None, b"event");
        // Two in log 0, three in log 1, one in log 2: three distinct events.
        let shown: Vec<bool> = [0, 1, 1, 0, 2, 1].map(&mut given).into();
        assert_eq!(shown, [true, false, true, false, false, true]);
    }

    #[test]
    fn time_and_cpu_and_bytes_tell_events_apart() {
        let mut duplicates = Duplicates::default();
        assert!(!duplicates.is_duplicate(0, 5, Some(0), b"event"));
        assert!(!duplicates.is_duplicate(1, 6, Some(0), b"event"));
        assert!(!duplicates.is_duplicate(1, 5, Some(1), b"event"));
        assert!(!duplicates.is_duplicate(1, 5, None, b"event"));
        assert!(!duplicates.is_duplicate(1, 5, Some(0), b"evens"));
        assert!(duplicates.is_duplicate(1, 5, Some(0), b"event"));
    }

    #[test]
    fn too_many_events_of_one_time_are_told() {
        let mut duplicates = Duplicates::default();
        for n in 0..MAX_REMEMBERED as u64 {
            duplicates.is_duplicate(0, 5, None, &n.to_be_bytes());
        }
        assert!(!duplicates.take_overflow());
        duplicates.is_duplicate(0, 6, None, b"later");
        assert!(!duplicates.take_overflow());
        for n in 0..=MAX_REMEMBERED as u64 {
            duplicates.is_duplicate(0, 7, None, &n.to_be_bytes());
        }
        assert!(duplicates.take_overflow());
        assert!(duplicates.copies.len() <= MAX_REMEMBERED);
    }
}
