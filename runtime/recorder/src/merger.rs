//! Merges the events of a session's buffers by time.
//!
//! Events within a buffer are in order, because one thread writes them. [`Merger::pass`] merges all buffers up to a
//! time after which every event still being written must lie; younger events wait for the next pass.

use crate::buffer_pool::{BufferPool, EVENT_HEAD, EventWord, bytes_of, flag, state};
use crate::clock::Clock;
use crate::record::{Data, EventContent, Record, Width};
use crate::sys;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time to wait for an event that is being written. Its thread may have been stopped and never continue.
const PATIENCE: Duration = Duration::from_millis(200);
/// Upper bound for the time until another CPU sees the "being written" mark of an event.
const MARGIN: Duration = Duration::from_micros(50);

/// One buffer and the read position in it.
#[derive(Default)]
struct MergedBuffer {
    /// Number of this use of the buffer.
    order: u64,
    /// Words copied out of the buffer.
    copied: usize,
    /// Copied words, and the number of them already emitted.
    words: Vec<u64>,
    emitted: usize,
    /// Time of the last emitted event.
    until: u64,
    pid: u32,
    tid: u32,
    process: u32,
    is_full: bool,
    /// True if the contents are invalid from some offset on.
    is_damaged: bool,
    /// Offset of an event that is being written, and the time since when.
    being_written: Option<(u32, Instant)>,
}

/// Merges a session's buffers.
pub(crate) struct Merger {
    pool: BufferPool,
    clock: Clock,
    buffers: Vec<MergedBuffer>,
    /// Events up to this time are skipped.
    from: u64,
    /// Number of buffers with invalid contents.
    pub n_damaged: u64,
}

impl MergedBuffer {
    /// Time and length of the next event, if it is not later than `until`.
    fn next(&mut self, until: u64) -> Option<(u64, usize)> {
        let words = self.words.get(self.emitted..).filter(|words| words.len() * 8 >= EVENT_HEAD && !self.is_damaged)?;
        let len = EventWord(words[1]).event_len() / 8;
        // A process may have overwritten its own buffer. Then it loses its events; the others are not affected.
        if len > words.len() {
            self.is_damaged = true;
            return None;
        }
        (words[0] <= until).then_some((words[0], len))
    }

    fn is_read(&self) -> bool {
        self.is_damaged || self.emitted == self.words.len()
    }
}

/// Decodes an event.
fn record_of<'b>(words: &'b [u64], pid: u32, tid: u32) -> Option<Record<'b>> {
    let (&[ticks, kind], data) = words.split_first_chunk()?;
    let kind = EventWord(kind);
    let stamped = kind.has(EventWord::STAMPED);
    let event = if kind.has(EventWord::KERNEL) {
        let data = bytes_of(data).get(..kind.data_len())?;
        let word = kind.hook_word();
        let (class, event) = ((word >> 10) as u8 & 31, word as u16 & 0x3FF);
        EventContent::Kernel { class, event, data, bytes: kind.has(EventWord::GENERIC) }
    } else {
        let data = if kind.has(EventWord::GENERIC) {
            let (&word, data) = data.split_first()?;
            Data::Generic { word, bytes: bytes_of(data).get(..kind.data_len())? }
        } else {
            Data::Words(data.get(..kind.data_len() / 8).filter(|words| words.len() <= 5)?)
        };
        let width = if kind.has(EventWord::NARROW) { Width::W32 } else { Width::W64 };
        let (id, subhook) = ((kind.hook_word() >> 16) as u16, kind.hook_word() as u16);
        EventContent::Hook { width, stamped, id, subhook, data }
    };
    Some(Record { ticks, pid, tid, cpu: kind.cpu(), event })
}

impl Merger {
    /// Starts to read a session's buffers, skipping events up to `from`.
    pub fn new(pool: BufferPool, from: u64) -> Self {
        let header = pool.header();
        let source = flag::source(header.flags.load(Ordering::Relaxed));
        let clock = Clock { source, hertz: header.hertz.load(Ordering::Relaxed).max(1) };
        let buffers = (0..pool.n_buffers()).map(|_| MergedBuffer::default()).collect();
        Merger { pool, clock, buffers, from, n_damaged: 0 }
    }

    /// Skips events up to a time.
    pub fn skip_until(&mut self, until: u64) {
        self.from = self.from.max(until);
    }

    /// The session's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Emits, in order, every event older than the oldest one still being written; returns that time.
    pub fn pass<E>(&mut self, take: impl FnMut(&Record<'_>, u32) -> Result<(), E>) -> Result<u64, E> {
        let until = self.safe_until();
        self.merge(until, take)?;
        Ok(until)
    }

    /// Emits all remaining events. Recording is off; events still being written are waited for.
    pub fn finish<E>(&mut self, take: impl FnMut(&Record<'_>, u32) -> Result<(), E>) -> Result<(), E> {
        let start = Instant::now();
        // A thread may be stopped in the middle of an event, for example by a debugger, and never continue.
        while self.is_under_way() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_micros(100));
        }
        self.copy();
        self.merge(u64::MAX, take)
    }

    /// Emits all events of a session whose processes may be dead, so nothing is waited for.
    pub fn recover<E>(&mut self, take: impl FnMut(&Record<'_>, u32) -> Result<(), E>) -> Result<(), E> {
        self.copy();
        self.merge(u64::MAX, take)
    }

    fn is_under_way(&self) -> bool {
        self.pool.heads().iter().any(|head| {
            head.state.load(Ordering::Acquire) == state::OWNED && head.committed.load(Ordering::Relaxed) & 1 != 0
        })
    }

    /// Copies committed events, and returns the time up to which no more can appear.
    fn safe_until(&mut self) -> u64 {
        // An event that began just now may not be visible to this CPU yet.
        let mut until = self.clock.source.now().saturating_sub(self.clock.ticks_in(MARGIN));
        let now = Instant::now();
        for (buffer, head) in self.buffers.iter_mut().zip(self.pool.heads()) {
            if head.state.load(Ordering::Acquire) != state::OWNED {
                buffer.being_written = None;
                continue;
            }
            let mut committed = head.committed.load(Ordering::Acquire);
            // Most events are written within nanoseconds; waiting here saves the whole pass.
            for _ in 0..100 {
                if committed & 1 == 0 {
                    break;
                }
                std::hint::spin_loop();
                committed = head.committed.load(Ordering::Acquire);
            }
            if committed & 1 == 0 {
                buffer.being_written = None;
                continue;
            }
            let since = buffer.being_written.filter(|(seen, _)| *seen == committed).map_or(now, |(_, since)| since);
            buffer.being_written = Some((committed, since));
        }
        self.copy();
        for buffer in &self.buffers {
            if buffer.being_written.is_some_and(|(_, since)| now - since < PATIENCE) {
                // The event being written is younger than the thread's last one.
                let last = buffer.last_ticks().unwrap_or(buffer.until);
                until = until.min(last);
            }
        }
        until
    }

    /// Copies all committed events.
    fn copy(&mut self) {
        for (i, (buffer, head)) in self.buffers.iter_mut().zip(self.pool.heads()).enumerate() {
            let state = head.state.load(Ordering::Acquire);
            if state != state::OWNED && state != state::FULL {
                continue;
            }
            let order = head.order.load(Ordering::Relaxed);
            // The buffer has a new owner, so the last owner's positions are invalid.
            if buffer.copied == 0 || buffer.order != order {
                let words = std::mem::take(&mut buffer.words);
                let being_written = buffer.being_written;
                *buffer = MergedBuffer { order, words, being_written, ..MergedBuffer::default() };
                buffer.words.clear();
                buffer.pid = head.pid.load(Ordering::Relaxed);
                buffer.tid = head.tid.load(Ordering::Relaxed);
                buffer.process = head.process.load(Ordering::Relaxed);
            }
            if buffer.emitted == buffer.words.len() {
                buffer.words.clear();
                buffer.emitted = 0;
            }
            buffer.copied = self.pool.copy_committed(i, buffer.copied, &mut buffer.words);
            buffer.is_full = state == state::FULL;
        }
    }

    fn merge<E>(&mut self, until: u64, mut take: impl FnMut(&Record<'_>, u32) -> Result<(), E>) -> Result<(), E> {
        let mut heap: BinaryHeap<Reverse<(u64, u64, usize)>> = BinaryHeap::new();
        for (i, buffer) in self.buffers.iter_mut().enumerate() {
            heap.extend(buffer.next(until).map(|(ticks, _)| Reverse((ticks, buffer.order, i))));
        }
        while let Some(mut top) = heap.peek_mut() {
            let Reverse((ticks, order, i)) = *top;
            let buffer = &mut self.buffers[i];
            let Some((_, len)) = buffer.next(until) else {
                std::collections::binary_heap::PeekMut::pop(top);
                continue;
            };
            let words = &buffer.words[buffer.emitted..buffer.emitted + len];
            match record_of(words, buffer.pid, buffer.tid) {
                // Skips events that are in the log, or older than events that a full buffer has dropped: an event
                // before a gap would look complete.
                Some(_) if ticks <= self.from => {}
                Some(record) => take(&record, buffer.process)?,
                None => self.n_damaged += 1,
            }
            let buffer = &mut self.buffers[i];
            buffer.emitted += len;
            buffer.until = buffer.until.max(ticks);
            match buffer.next(until) {
                Some((ticks, _)) => *top = Reverse((ticks, order, i)),
                None => drop(std::collections::binary_heap::PeekMut::pop(top)),
            }
        }
        Ok(())
    }

    /// Frees the buffers whose events have all been emitted and are not younger than `safe_until`.
    pub fn free_emitted(&mut self, safe_until: u64) {
        for (buffer, head) in self.buffers.iter_mut().zip(self.pool.heads()) {
            // Freed only when the log has been flushed. Until then the buffer is the only copy.
            if buffer.is_full && buffer.is_read() && buffer.until <= safe_until {
                self.n_damaged += u64::from(buffer.is_damaged);
                let taken =
                    head.state.compare_exchange(state::FULL, state::CHANGING, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    head.committed.store(0, Ordering::Relaxed);
                    head.state.store(state::FREE, Ordering::Release);
                }
                *buffer = MergedBuffer { words: std::mem::take(&mut buffer.words), ..MergedBuffer::default() };
                buffer.words.clear();
            }
        }
    }

    /// Marks the buffers of dead threads as full, so that they are read and freed.
    pub fn release_dead_threads(&mut self) {
        for head in self.pool.heads() {
            let (pid, tid) = (head.pid.load(Ordering::Relaxed), head.tid.load(Ordering::Relaxed));
            // A killed thread never returns its buffer.
            if head.state.load(Ordering::Acquire) == state::OWNED && !sys::is_alive(pid, tid) {
                let _ = head.state.compare_exchange(state::OWNED, state::FULL, Ordering::Release, Ordering::Relaxed);
            }
        }
    }

    /// Shared memory of the session.
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }
}

impl MergedBuffer {
    /// Time of the last copied event.
    fn last_ticks(&self) -> Option<u64> {
        let mut at = self.emitted;
        let mut last = None;
        while let Some([ticks, kind]) = self.words.get(at..).and_then(|words| words.first_chunk()) {
            last = Some(*ticks);
            at += EventWord(*kind).event_len() / 8;
        }
        last
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "what other processes may write is written by address")]
mod tests {
    use super::*;
    use crate::buffer_pool::{MIN_BUFFER, PoolSize};
    use std::os::fd::AsFd;

    /// Pseudorandom numbers with a fixed seed.
    struct Random(u64);

    impl Random {
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

    fn pool(name: &str) -> BufferPool {
        let path = std::env::temp_dir().join(format!("tfbc-merger-{}-{name}", std::process::id()));
        let file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        BufferPool::create(file.as_fd(), PoolSize { n_buffers: 6, buffer_size: MIN_BUFFER }).unwrap()
    }

    /// Fills buffers with random bytes, or with nearly valid ones: event headers, and lengths just beyond the buffer.
    fn fill_randomly(pool: &BufferPool, numbers: &mut Random) {
        for (i, head) in pool.heads().iter().enumerate() {
            for at in 0..MIN_BUFFER / 8 {
                let word = match numbers.below(4) {
                    0 => numbers.next(),
                    1 => EventWord::new(numbers.below(16), 0x0100_0000, 8 * numbers.below(6) as usize).0,
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
        let mut numbers = Random(0x1234_5678_9ABC_DEF1);
        let mut n = 0;
        for _ in 0..60 {
            fill_randomly(&pool, &mut numbers);
            let mut merger = Merger::new(pool, numbers.below(10));
            let mut take = |record: &Record<'_>, process: u32| {
                n += 1;
                if let EventContent::Hook { data: Data::Words(words), .. } = record.event {
                    assert!(words.len() <= 5);
                }
                pool.path_of_process(process);
                Ok::<_, ()>(())
            };
            for _ in 0..3 {
                merger.pass(&mut take).unwrap();
                merger.free_emitted(u64::MAX);
                fill_randomly(&pool, &mut numbers);
            }
            merger.recover(&mut take).unwrap();
        }
        assert!(n > 500, "{n} records");
    }
}
