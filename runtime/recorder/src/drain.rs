//! Takes recorded events out of a session's buffers, in the order of their times.
//!
//! Within a buffer events are in order, since one thread wrote them. [`Drain::pass`] merges the buffers up to a time at which
//! nobody can be recording an older event any more; what is younger waits for the next pass.

use crate::clock::Clock;
use crate::pool::{EVENT_HEAD, Kind, Pool, bytes_of, flag, state};
use crate::record::{Data, Event, Record, Width};
use crate::sys;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long others' events wait for one that is under way: its thread may have been stopped for good.
const PATIENCE: Duration = Duration::from_millis(200);
/// Between the store that says that an event is under way and its being seen by another CPU passes less than this.
const MARGIN: Duration = Duration::from_micros(50);

/// One buffer, as far as it has been read.
#[derive(Default)]
struct Place {
    /// Which use of the buffer this is.
    order: u64,
    /// Words copied out of the buffer.
    copied: usize,
    /// Words that were copied, and those of them that were handed on.
    words: Vec<u64>,
    handed_on: usize,
    /// The time of the last event that was handed on.
    until: u64,
    pid: u32,
    tid: u32,
    process: u32,
    is_full: bool,
    /// Its contents made no sense from some place on.
    is_damaged: bool,
    /// Since when an event has been under way behind so many bytes.
    under_way: Option<(u32, Instant)>,
}

/// Reads a session's buffers.
pub(crate) struct Drain {
    pool: Pool,
    clock: Clock,
    places: Vec<Place>,
    /// Events up to this time are passed over.
    from: u64,
    /// Buffers whose contents made no sense.
    pub n_damaged: u64,
}

impl Place {
    /// The next event up to a time.
    fn next(&mut self, until: u64) -> Option<(u64, usize)> {
        let words =
            self.words.get(self.handed_on..).filter(|words| words.len() * 8 >= EVENT_HEAD && !self.is_damaged)?;
        let len = Kind(words[1]).event_len() / 8;
        if len > words.len() {
            self.is_damaged = true;
            return None;
        }
        (words[0] <= until).then_some((words[0], len))
    }

    fn is_read(&self) -> bool {
        self.is_damaged || self.handed_on == self.words.len()
    }
}

/// The record of an event's words.
fn record_of<'b>(words: &'b [u64], pid: u32, tid: u32) -> Option<Record<'b>> {
    let (&[ticks, kind], data) = words.split_first_chunk()?;
    let kind = Kind(kind);
    let stamped = kind.has(Kind::STAMPED);
    let event = if kind.has(Kind::KERNEL) {
        let data = bytes_of(data).get(..kind.data_len())?;
        let word = kind.hook_word();
        let (class, event) = ((word >> 10) as u8 & 31, word as u16 & 0x3FF);
        Event::Kernel { class, event, data, bytes: kind.has(Kind::GENERIC) }
    } else {
        let data = if kind.has(Kind::GENERIC) {
            let (&word, data) = data.split_first()?;
            Data::Generic { word, bytes: bytes_of(data).get(..kind.data_len())? }
        } else {
            Data::Words(data.get(..kind.data_len() / 8).filter(|words| words.len() <= 5)?)
        };
        let width = if kind.has(Kind::NARROW) { Width::W32 } else { Width::W64 };
        let (id, subhook) = ((kind.hook_word() >> 16) as u16, kind.hook_word() as u16);
        Event::Hook { width, stamped, id, subhook, data }
    };
    Some(Record { ticks, pid, tid, cpu: kind.cpu(), event })
}

impl Drain {
    /// Begins to read a session's buffers; events up to `from` are passed over.
    pub fn new(pool: Pool, from: u64) -> Self {
        let header = pool.header();
        let source = flag::source(header.flags.load(Ordering::Relaxed));
        let clock = Clock { source, hertz: header.hertz.load(Ordering::Relaxed).max(1) };
        let places = (0..pool.n_buffers()).map(|_| Place::default()).collect();
        Drain { pool, clock, places, from, n_damaged: 0 }
    }

    /// Passes over events up to a time.
    pub fn pass_over(&mut self, until: u64) {
        self.from = self.from.max(until);
    }

    /// The session's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Hands on all events that are not younger than any that may be under way, in order, and says until when.
    pub fn pass<E>(&mut self, take: impl FnMut(&Record<'_>, u32) -> Result<(), E>) -> Result<u64, E> {
        let until = self.settled();
        self.merge(until, take)?;
        Ok(until)
    }

    /// Hands on all events that are left. Nobody records any more, but for events that are under way, which are waited for.
    pub fn finish<E>(&mut self, take: impl FnMut(&Record<'_>, u32) -> Result<(), E>) -> Result<(), E> {
        let start = Instant::now();
        while self.is_under_way() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_micros(100));
        }
        self.copy();
        self.merge(u64::MAX, take)
    }

    /// As [`Drain::finish`], of a session whose processes may be dead: nothing is waited for.
    pub fn recover<E>(&mut self, take: impl FnMut(&Record<'_>, u32) -> Result<(), E>) -> Result<(), E> {
        self.copy();
        self.merge(u64::MAX, take)
    }

    fn is_under_way(&self) -> bool {
        self.pool.heads().iter().any(|head| {
            head.state.load(Ordering::Acquire) == state::OWNED && head.committed.load(Ordering::Relaxed) & 1 != 0
        })
    }

    /// Copies what was recorded, and finds the time up to which nothing more can come.
    fn settled(&mut self) -> u64 {
        let mut until = self.clock.source.now().saturating_sub(self.clock.ticks_in(MARGIN));
        let now = Instant::now();
        for (place, head) in self.places.iter_mut().zip(self.pool.heads()) {
            if head.state.load(Ordering::Acquire) != state::OWNED {
                place.under_way = None;
                continue;
            }
            let mut committed = head.committed.load(Ordering::Acquire);
            for _ in 0..100 {
                if committed & 1 == 0 {
                    break;
                }
                std::hint::spin_loop();
                committed = head.committed.load(Ordering::Acquire);
            }
            if committed & 1 == 0 {
                place.under_way = None;
                continue;
            }
            let since = place.under_way.filter(|(seen, _)| *seen == committed).map_or(now, |(_, since)| since);
            place.under_way = Some((committed, since));
        }
        self.copy();
        for place in &self.places {
            if place.under_way.is_some_and(|(_, since)| now - since < PATIENCE) {
                // The one under way is younger than the last one of its thread.
                let last = place.last_ticks().unwrap_or(place.until);
                until = until.min(last);
            }
        }
        until
    }

    /// Copies what is committed in all buffers.
    fn copy(&mut self) {
        for (i, (place, head)) in self.places.iter_mut().zip(self.pool.heads()).enumerate() {
            let state = head.state.load(Ordering::Acquire);
            if state != state::OWNED && state != state::FULL {
                continue;
            }
            let order = head.order.load(Ordering::Relaxed);
            if place.copied == 0 || place.order != order {
                let words = std::mem::take(&mut place.words);
                let under_way = place.under_way;
                *place = Place { order, words, under_way, ..Place::default() };
                place.words.clear();
                place.pid = head.pid.load(Ordering::Relaxed);
                place.tid = head.tid.load(Ordering::Relaxed);
                place.process = head.process.load(Ordering::Relaxed);
            }
            if place.handed_on == place.words.len() {
                place.words.clear();
                place.handed_on = 0;
            }
            place.copied = self.pool.copy_committed(i, place.copied, &mut place.words);
            place.is_full = state == state::FULL;
        }
    }

    fn merge<E>(&mut self, until: u64, mut take: impl FnMut(&Record<'_>, u32) -> Result<(), E>) -> Result<(), E> {
        let mut heap: BinaryHeap<Reverse<(u64, u64, usize)>> = BinaryHeap::new();
        for (i, place) in self.places.iter_mut().enumerate() {
            heap.extend(place.next(until).map(|(ticks, _)| Reverse((ticks, place.order, i))));
        }
        while let Some(mut top) = heap.peek_mut() {
            let Reverse((ticks, order, i)) = *top;
            let place = &mut self.places[i];
            let Some((_, len)) = place.next(until) else {
                std::collections::binary_heap::PeekMut::pop(top);
                continue;
            };
            let words = &place.words[place.handed_on..place.handed_on + len];
            match record_of(words, place.pid, place.tid) {
                Some(_) if ticks <= self.from => {}
                Some(record) => take(&record, place.process)?,
                None => self.n_damaged += 1,
            }
            let place = &mut self.places[i];
            place.handed_on += len;
            place.until = place.until.max(ticks);
            match place.next(until) {
                Some((ticks, _)) => *top = Reverse((ticks, order, i)),
                None => drop(std::collections::binary_heap::PeekMut::pop(top)),
            }
        }
        Ok(())
    }

    /// Gives back the buffers whose events are all safe: handed on, and not younger than `safe_until`.
    pub fn give_back(&mut self, safe_until: u64) {
        for (place, head) in self.places.iter_mut().zip(self.pool.heads()) {
            if place.is_full && place.is_read() && place.until <= safe_until {
                self.n_damaged += u64::from(place.is_damaged);
                let taken =
                    head.state.compare_exchange(state::FULL, state::CHANGING, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    head.committed.store(0, Ordering::Relaxed);
                    head.state.store(state::FREE, Ordering::Release);
                }
                *place = Place { words: std::mem::take(&mut place.words), ..Place::default() };
                place.words.clear();
            }
        }
    }

    /// Gives up the buffers of threads that are dead, for their events to be read.
    pub fn reap(&mut self) {
        for head in self.pool.heads() {
            let (pid, tid) = (head.pid.load(Ordering::Relaxed), head.tid.load(Ordering::Relaxed));
            if head.state.load(Ordering::Acquire) == state::OWNED && !sys::is_alive(pid, tid) {
                let _ = head.state.compare_exchange(state::OWNED, state::FULL, Ordering::Release, Ordering::Relaxed);
            }
        }
    }

    /// The session's memory.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
}

impl Place {
    /// The time of the last event that was copied.
    fn last_ticks(&self) -> Option<u64> {
        let mut at = self.handed_on;
        let mut last = None;
        while let Some([ticks, kind]) = self.words.get(at..).and_then(|words| words.first_chunk()) {
            last = Some(*ticks);
            at += Kind(*kind).event_len() / 8;
        }
        last
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "what other processes may write is written by address")]
mod tests {
    use super::*;
    use crate::pool::{MIN_BUFFER, Shape};
    use std::os::fd::AsFd;

    /// The same numbers in every run.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn below(&mut self, end: u64) -> u64 {
            self.next() % end
        }
    }

    fn pool(name: &str) -> Pool {
        let path = std::env::temp_dir().join(format!("tfbc-drain-{}-{name}", std::process::id()));
        let file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        Pool::create(file.as_fd(), Shape { n_buffers: 6, buffer_size: MIN_BUFFER }).unwrap()
    }

    /// Any bytes, or ones that are nearly right: heads of events, and lengths that reach just beyond the buffer.
    fn scribble(pool: &Pool, numbers: &mut Numbers) {
        for (i, head) in pool.heads().iter().enumerate() {
            for at in 0..MIN_BUFFER / 8 {
                let word = match numbers.below(4) {
                    0 => numbers.next(),
                    1 => Kind::new(numbers.below(16), 0x0100_0000, 8 * numbers.below(6) as usize).0,
                    _ => numbers.below(1000),
                };
                // SAFETY: `at` is within the buffer.
                unsafe { pool.buffer(i).cast::<u64>().add(at).write(word) };
            }
            head.committed.store(numbers.below(2 * MIN_BUFFER as u64) as u32, Ordering::Relaxed);
            head.order.store(numbers.below(3), Ordering::Relaxed);
            head.pid.store(numbers.next() as u32, Ordering::Relaxed);
            head.process.store(numbers.next() as u32, Ordering::Relaxed);
            head.state.store(numbers.below(5) as u32, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_others_scribble_comes_out_in_bounds() {
        let pool = pool("scribbled");
        let mut numbers = Numbers(0x1234_5678_9ABC_DEF1);
        let mut n = 0;
        for _ in 0..60 {
            scribble(&pool, &mut numbers);
            let mut drain = Drain::new(pool, numbers.below(10));
            let mut take = |record: &Record<'_>, process: u32| {
                n += 1;
                if let Event::Hook { data: Data::Words(words), .. } = record.event {
                    assert!(words.len() <= 5);
                }
                pool.path_of_process(process);
                Ok::<_, ()>(())
            };
            for _ in 0..3 {
                drain.pass(&mut take).unwrap();
                drain.give_back(u64::MAX);
                scribble(&pool, &mut numbers);
            }
            drain.recover(&mut take).unwrap();
        }
        assert!(n > 500, "{n} records");
    }
}
