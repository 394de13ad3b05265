//! Parallel formatting with ordered output.
//!
//! ```text
//! producer, one thread at a time ─Chunk───> text, in parallel ─in order─> output
//! ```
//!
//! Every thread runs the same loop: get the next chunk of events from the producer, format it, wait until all earlier
//! chunks are written, and write. The producer does the little that depends on the order of events. State that text
//! depends on, such as the time of the previous line, passes from chunk to chunk. So the output is the same for any
//! number of threads, and memory never contains more chunks than threads.

use crate::monitor::{Monitor, ReportError};
use crate::reader::Notice;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tfbc_vm::TextBuf;

/// Size in bytes at which buffered text is written. The buffer may exceed it by one event's text.
pub(crate) const WRITE_AT: usize = 512 << 10;
/// Number of chunks after which more threads are started. Starting them takes longer than formatting a few chunks.
const MIN_CHUNKS_FOR_THREADS: u64 = 32;
/// Spin time before blocking; about the cost of a wake-up.
const SPIN_TIME: Duration = Duration::from_micros(50);

/// A chunk of events that are read but not yet written.
#[derive(Debug, Default)]
pub(crate) struct Chunk<E> {
    /// Events and the context that their text needs.
    pub events: E,
    /// Notices about the events, and the bytes between them.
    pub notices: Vec<Notice>,
    /// True if notices are reported before the events, see [`Format::NOTICES_FIRST`].
    pub notices_first: bool,
    /// Template that took most of the producer's time, if that was long.
    pub slow: Option<String>,
    /// True if the next read may block. All text so far is written before that.
    pub waits: bool,
    /// Number of bytes of the input and number of events read so far.
    pub progress: (u64, u64),
}

/// Number of damaged places that are reported at their exact position in the output. Later notices may come a few
/// events late, so that a log full of damage is still formatted in large chunks.
const MAX_EXACT_NOTICES: u64 = 1000;
/// Largest number of notices in a chunk.
const MAX_NOTICES: usize = 256;

impl<E> Chunk<E> {
    /// True if the chunk ends at its last notice; `n_damaged` counts the damaged places of the run.
    pub fn ends_at_notice(&self, n_damaged: u64) -> bool {
        (!self.notices_first && n_damaged <= MAX_EXACT_NOTICES) || self.notices.len() >= MAX_NOTICES
    }
}

/// First stage: reads the events of an input in order.
pub(crate) trait Producer: Send {
    /// Storage for the events of a chunk.
    type Storage: Default + Send;

    /// Fills a chunk. Its storage may come from an earlier one, so that memory is reused. Returns false at the end
    /// of the input. `waited` is true if the previous chunk ended because the next read may block.
    fn fill(&mut self, chunk: &mut Chunk<Self::Storage>, waited: bool) -> Result<bool, ReportError>;
}

/// Second stage: formats events as text.
pub(crate) trait Format<E>: Send {
    /// State that passes from one chunk's text to the next, such as the time of the last line.
    type State: Default + Send;

    /// True if a chunk's notices are reported before its text, and contain the place where they belong. Then they end
    /// no chunk. Otherwise they are reported after the text of the events before them.
    const NOTICES_FIRST: bool = false;

    /// Appends the text of events. Returns true if events are left for another call. Without `state`, leaves out text
    /// that depends on it, for [`Format::resolve`] to add.
    fn format(&mut self, events: &E, state: Option<&mut Self::State>, text: &mut TextBuf) -> bool;

    /// Appends the text that was left out at the start of the last chunk, and updates the state. Returns false if the
    /// text of the chunk turns out to be wrong; then the chunk must be formatted again from its start.
    fn resolve(&mut self, events: &E, state: &mut Self::State, head: &mut TextBuf) -> bool;

    /// Returns the template that takes most of the time, if that is worth a message.
    fn take_slow(&mut self) -> Option<String>;
}

/// Result of [`Stepper::advance`].
pub(crate) enum StepResult {
    /// Text of some events; may be empty.
    Text,
    /// A notice, after the events before it.
    Notice(Notice),
    /// The end of the input.
    End,
}

/// Both stages on the caller's thread, a few events at a time.
pub(crate) struct Stepper<W: Producer, F: Format<W::Storage>> {
    producer: W,
    pub format: F,
    chunk: Chunk<W::Storage>,
    state: F::State,
    text: TextBuf,
    /// True if the chunk has events that are not formatted yet.
    has_more: bool,
    /// Number of the chunk's notices that have been returned.
    n_noticed: usize,
    ended: bool,
    error: Option<ReportError>,
}

impl<W: Producer, F: Format<W::Storage>> Stepper<W, F> {
    /// Creates a stepper. `state` is the state before the first event.
    pub fn new(producer: W, format: F, state: F::State) -> Self {
        Self {
            producer,
            format,
            chunk: Chunk::default(),
            state,
            text: TextBuf::new(),
            has_more: false,
            n_noticed: 0,
            ended: false,
            error: None,
        }
    }

    /// The producer.
    pub fn producer(&self) -> &W {
        &self.producer
    }

    /// The producer. While [`Stepper::is_between_chunks`], it may also be read directly.
    pub fn producer_mut(&mut self) -> &mut W {
        &mut self.producer
    }

    /// True if the events and notices of the current chunk have been returned, and another one follows.
    pub fn is_between_chunks(&self) -> bool {
        !self.has_more && self.n_noticed >= self.chunk.notices.len() && self.error.is_none() && !self.ended
    }

    /// Events of the current chunk.
    pub fn events(&self) -> &W::Storage {
        &self.chunk.events
    }

    /// Text of the last step.
    pub fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Formats more events, or returns the next notice.
    pub fn advance(&mut self) -> Result<StepResult, ReportError> {
        loop {
            if self.has_more {
                self.text.clear();
                self.has_more = self.format.format(&self.chunk.events, Some(&mut self.state), &mut self.text);
                // Slow templates are not reported here, because the caller sees the progress.
                self.format.take_slow();
                return Ok(StepResult::Text);
            }
            if let Some(notice) = self.chunk.notices.get_mut(self.n_noticed) {
                self.n_noticed += 1;
                return Ok(StepResult::Notice(notice.clone()));
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if self.ended {
                return Ok(StepResult::End);
            }
            let Chunk { notices, waits, slow, .. } = &mut self.chunk;
            notices.clear();
            let waited = std::mem::take(waits);
            (*slow, self.n_noticed) = (None, 0);
            let filled = self.producer.fill(&mut self.chunk, waited);
            self.ended = !matches!(filled, Ok(true));
            self.error = filled.err();
            self.has_more = true;
        }
    }
}

/// Result of a run.
pub(crate) struct RunResult<W, F, C> {
    pub producer: W,
    /// One formatter per thread.
    pub formats: Vec<F>,
    pub state: C,
}

/// Formats and writes all events of a producer. `state` is the state before the first event. `threads` is `None` for a thread per processor.
///
/// Output and monitor are trait objects, so that the formatting code is compiled once, in this package, and not for
/// every output of every package above it. A call writes half a megabyte.
pub(crate) fn run<W: Producer, F: Format<W::Storage>>(
    producer: W,
    make: impl Fn() -> F,
    state: F::State,
    threads: Option<NonZeroUsize>,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<RunResult<W, F, F::State>, ReportError> {
    // Without a request, small inputs stay on this thread: starting others takes longer than formatting a few chunks.
    let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let n_threads = threads.map_or_else(all, NonZeroUsize::get);
    let first_parallel = if threads.is_some() { 0 } else { MIN_CHUNKS_FOR_THREADS };
    let run = SharedRun {
        producer: Mutex::new(ProducerState { producer, next: 0, waits: false, ended: false }),
        sequencer: Mutex::new(Sequencer { next: 0, state: Some(state), out, monitor, error: None }),
        written: AtomicU64::new(0),
        next_changed: Condvar::new(),
        failed: AtomicBool::new(false),
    };
    // Scoped threads may borrow the format files and the output, so nothing is copied for them.
    let formats = std::thread::scope(|scope| {
        let _guard = PanicGuard { run: &run };
        let mut worker = Worker::new(make());
        let (mut others, mut joined) = (Vec::new(), false);
        while run.read_chunk(&mut worker) {
            if worker.number >= first_parallel && !joined {
                joined = true;
                others.extend((1..n_threads).map_while(|_| {
                    let worker = Worker::new(make());
                    // If a thread cannot start, the others do its work.
                    std::thread::Builder::new().spawn_scoped(scope, || run.work(worker)).ok()
                }));
            }
            run.finish(&mut worker);
        }
        let others = others.into_iter().map(|other| match other.join() {
            Ok(format) => format,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(worker.format).chain(others.collect::<Vec<_>>()).collect()
    });
    let Sequencer { state, error, .. } = run.sequencer.into_inner().unwrap_or_else(PoisonError::into_inner);
    let ProducerState { producer, .. } = run.producer.into_inner().unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(error),
        None => Ok(RunResult { producer, formats, state: state.unwrap_or_default() }),
    }
}

/// State that the threads share.
struct SharedRun<'r, W, C> {
    producer: Mutex<ProducerState<W>>,
    sequencer: Mutex<Sequencer<'r, C>>,
    /// Copy of [`Sequencer::next`] that can be read without the lock.
    written: AtomicU64,
    /// Signalled when [`Sequencer::next`] changes or the run fails.
    next_changed: Condvar,
    failed: AtomicBool,
}

struct ProducerState<W> {
    producer: W,
    /// Number of the next chunk.
    next: u64,
    /// True if reading it may block.
    waits: bool,
    ended: bool,
}

struct Sequencer<'r, C> {
    /// Number of the chunk to write next.
    next: u64,
    /// State after the last written chunk. `None` while a thread uses it.
    state: Option<C>,
    out: &'r mut (dyn Write + Send),
    monitor: &'r mut (dyn Monitor + Send),
    error: Option<ReportError>,
}

/// State of one thread.
struct Worker<E, F> {
    format: F,
    chunk: Chunk<E>,
    /// Number of the chunk in the input.
    number: u64,
    /// Error that ended the input after the chunk.
    error: Option<ReportError>,
    text: TextBuf,
    head: TextBuf,
}

impl<E: Default, F: Format<E>> Worker<E, F> {
    fn new(format: F) -> Self {
        let chunk = Chunk { notices_first: F::NOTICES_FIRST, ..Chunk::default() };
        Self { format, chunk, number: 0, error: None, text: TextBuf::new(), head: TextBuf::new() }
    }
}

impl<'r, W: Producer, C: Default> SharedRun<'r, W, C> {
    /// Processes chunks until the end.
    fn work<F: Format<W::Storage, State = C>>(&self, mut worker: Worker<W::Storage, F>) -> F {
        let _guard = PanicGuard { run: self };
        while self.read_chunk(&mut worker) {
            self.finish(&mut worker);
        }
        worker.format
    }

    /// Reads the next chunk; false at the end, or if the run has failed.
    fn read_chunk<F>(&self, worker: &mut Worker<W::Storage, F>) -> bool {
        // Spins before it blocks: most waits are shorter than a wake-up.
        spin(|| self.producer.try_lock().is_ok());
        let mut input = lock(&self.producer);
        if input.ended || self.failed.load(Ordering::Relaxed) || (input.waits && self.wait(input.next).is_none()) {
            return false;
        }
        let Chunk { notices, waits, slow, .. } = &mut worker.chunk;
        notices.clear();
        (*waits, *slow) = (false, None);
        let waited = input.waits;
        let filled = input.producer.fill(&mut worker.chunk, waited);
        worker.number = input.next;
        input.next += 1;
        input.waits = worker.chunk.waits;
        // After an error the chunk is still formatted: everything before the damage is printed.
        input.ended = !matches!(filled, Ok(true));
        worker.error = filled.err();
        true
    }

    /// Formats a chunk, and writes its text once all earlier chunks are written.
    fn finish<F: Format<W::Storage, State = C>>(&self, worker: &mut Worker<W::Storage, F>) {
        let Worker { format, chunk, number, error, text, head } = worker;
        // If the previous chunk is already written, its state is available and nothing has to be deferred.
        let mut state = self.state_for(*number);
        loop {
            text.clear();
            let mut more = format.format(&chunk.events, state.as_mut(), text);
            let Some(mut sequencer) = self.wait(*number) else { return };
            head.clear();
            if state.is_none() {
                state = sequencer.state.take();
                if let Some(state) = &mut state
                    && !format.resolve(&chunk.events, state, head)
                {
                    // Formatting takes long, so the lock is released. No other thread can write: this chunk is still
                    // the next.
                    drop(sequencer);
                    head.clear();
                    text.clear();
                    more = format.format(&chunk.events, Some(state), text);
                    let Some(again) = self.wait(*number) else { return };
                    sequencer = again;
                }
            }
            if F::NOTICES_FIRST {
                sequencer.report(&mut chunk.notices);
            }
            // Written under the lock. Other threads have to wait for this chunk anyway.
            let written = sequencer.write(&[head, text]);
            let done = match written {
                Ok(()) if more => {
                    if let Some(template) = format.take_slow() {
                        sequencer.monitor.slow(&template);
                    }
                    continue;
                }
                Ok(()) => sequencer.close(chunk, error.take()),
                Err(error) => Err(error),
            };
            // Only now is the state complete: the next chunk starts where this one ended.
            sequencer.state = state;
            sequencer.next += 1;
            self.written.store(sequencer.next, Ordering::Relaxed);
            if let Err(error) = done {
                sequencer.error = Some(error);
                self.failed.store(true, Ordering::Relaxed);
            }
            self.next_changed.notify_all();
            return;
        }
    }

    /// State at the start of a chunk, if the previous chunk is already written.
    fn state_for(&self, number: u64) -> Option<C> {
        let mut sequencer = self.sequencer.try_lock().ok()?;
        if sequencer.next == number { sequencer.state.take() } else { None }
    }

    /// Blocks until a chunk may be written; `None` if the run failed.
    fn wait(&self, number: u64) -> Option<MutexGuard<'_, Sequencer<'r, C>>> {
        spin(|| self.written.load(Ordering::Relaxed) == number || self.failed.load(Ordering::Relaxed));
        let mut sequencer = lock(&self.sequencer);
        while sequencer.next != number {
            if self.failed.load(Ordering::Relaxed) {
                return None;
            }
            sequencer = self.next_changed.wait(sequencer).unwrap_or_else(PoisonError::into_inner);
        }
        (!self.failed.load(Ordering::Relaxed)).then_some(sequencer)
    }
}

impl<C> Sequencer<'_, C> {
    fn write(&mut self, texts: &[&TextBuf]) -> Result<(), ReportError> {
        let mut texts = texts.iter().filter(|text| !text.is_empty());
        texts.try_for_each(|text| self.out.write_all(text.as_bytes())).map_err(ReportError::Write)
    }

    fn report(&mut self, notices: &mut Vec<Notice>) {
        notices.drain(..).for_each(|notice| self.monitor.notice(&notice));
    }

    /// Reports notices and progress after a chunk's text was written.
    fn close<E>(&mut self, chunk: &mut Chunk<E>, error: Option<ReportError>) -> Result<(), ReportError> {
        if chunk.waits || !chunk.notices.is_empty() {
            self.out.flush().map_err(ReportError::Write)?;
        }
        self.report(&mut chunk.notices);
        if let Some(template) = &chunk.slow {
            self.monitor.slow(template);
        }
        let (offset, n_events) = chunk.progress;
        self.monitor.progress(offset, n_events);
        error.map_or(Ok(()), Err)
    }
}

/// Stops the run if a thread panics, so that the others do not wait forever.
struct PanicGuard<'g, 'r, W, C> {
    run: &'g SharedRun<'r, W, C>,
}

impl<W, C> Drop for PanicGuard<'_, '_, W, C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.run.failed.store(true, Ordering::Relaxed);
            let _sequencer = lock(&self.run.sequencer);
            self.run.next_changed.notify_all();
        }
    }
}

/// Spins until a condition is true, for [`SPIN_TIME`] at most.
fn spin(mut is_done: impl FnMut() -> bool) {
    let mut start = None;
    while !is_done() && start.get_or_insert_with(Instant::now).elapsed() < SPIN_TIME {
        std::hint::spin_loop();
    }
}

/// Locks a mutex and ignores poison: a panic ends the run anyway, so inconsistent state is never used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
