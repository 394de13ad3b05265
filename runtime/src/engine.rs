//! Parallel formatting with ordered output.
//!
//! ```text
//! walk, one thread at a time ─Chunk───> text, in parallel ─in order─> output
//! ```
//!
//! Every thread does the same: it takes the next chunk of events from the walk, formats it, waits for its turn, and
//! writes. The walk does everything that depends on the order of events, which is little. Text that depends on earlier
//! text is passed from turn to turn. So the output is the same for any number of threads, and there are never more
//! chunks in memory than threads.

use crate::monitor::{Monitor, ReportError};
use crate::reader::Notice;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tfbc_vm::TextBuf;

/// Size of text in bytes from which it is written. The buffer may exceed it by one event's text.
pub(crate) const WRITE_AT: usize = 512 << 10;
/// Number of chunks before more threads are started: a small input is not worth a second thread.
const ALONE: u64 = 32;
/// Spin time before blocking; about the cost of a wake-up.
const LOOKING: Duration = Duration::from_micros(50);

/// A chunk of events that are read but not yet written.
#[derive(Debug, Default)]
pub(crate) struct Chunk<E> {
    /// Events, with the context that their text depends on.
    pub events: E,
    /// Notices to report after the events.
    pub notices: Vec<Notice>,
    /// Template that took most of the walk's time, if that was long.
    pub slow: Option<String>,
    /// True if the next read may block. All text so far is written before that.
    pub waits: bool,
    /// Number of bytes of the input and number of events read so far.
    pub progress: (u64, u64),
}

/// Number of damaged places that are reported exactly after the text before them. Later notices may come after the text
/// of a few more events, so that a log full of damage is still formatted in large chunks.
const TOLD_IN_PLACE: u64 = 1000;
/// Largest number of notices in a chunk.
const MAX_NOTICES: usize = 256;

/// True if a chunk ends at its last notice; `n_damaged` counts the damaged places of the run.
pub(crate) fn ends_chunk(n_damaged: u64, n_notices: usize) -> bool {
    n_damaged <= TOLD_IN_PLACE || n_notices >= MAX_NOTICES
}

/// First stage: reads the events of an input in order.
pub(crate) trait Producer: Send {
    /// Storage for the events of a chunk.
    type Storage: Default + Send;

    /// Fills an emptied chunk, whose events may be those of an earlier one, so that memory is reused. False at the end
    /// of the input. `waited` is true if the previous chunk ended because the next read may block.
    fn fill(&mut self, chunk: &mut Chunk<Self::Storage>, waited: bool) -> Result<bool, ReportError>;
}

/// Second stage: formats events as text.
pub(crate) trait Format<E>: Send {
    /// State that text depends on from earlier text.
    type Carried: Default + Send;

    /// Appends the text of events. False at their end; otherwise the next call continues. While `carried` is unknown,
    /// text that depends on it is left out, for [`Format::resolve`] to add.
    fn format(&mut self, events: &E, carried: Option<&mut Self::Carried>, text: &mut TextBuf) -> bool;

    /// Appends the text that was left out at the start of the last chunk, and updates the carried state. False if the
    /// chunk's text is wrong after this state; then the chunk must be formatted again from its start.
    fn resolve(&mut self, events: &E, carried: &mut Self::Carried, head: &mut TextBuf) -> bool;

    /// Returns the template that takes most of the time, if it is slow.
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

/// Both stages on the caller's thread, one text at a time.
pub(crate) struct Stepper<W: Producer, F: Format<W::Storage>> {
    walk: W,
    pub format: F,
    chunk: Chunk<W::Storage>,
    carried: F::Carried,
    text: TextBuf,
    /// True if the chunk has events that are not formatted yet.
    has_more: bool,
    /// Number of the chunk's notices that were returned.
    n_noticed: usize,
    ended: bool,
    error: Option<ReportError>,
}

impl<W: Producer, F: Format<W::Storage>> Stepper<W, F> {
    pub fn new(walk: W, format: F) -> Self {
        Self {
            walk,
            format,
            chunk: Chunk::default(),
            carried: F::Carried::default(),
            text: TextBuf::new(),
            has_more: false,
            n_noticed: 0,
            ended: false,
            error: None,
        }
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
                self.has_more = self.format.format(&self.chunk.events, Some(&mut self.carried), &mut self.text);
                // Slow templates are not reported here: the caller sees the progress itself.
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
            let filled = self.walk.fill(&mut self.chunk, waited);
            self.ended = !matches!(filled, Ok(true));
            self.error = filled.err();
            self.has_more = true;
        }
    }
}

/// Result of a run.
pub(crate) struct RunResult<W, F, C> {
    pub walk: W,
    /// One formatter per thread.
    pub formats: Vec<F>,
    pub carried: C,
}

/// Formats and writes all events of a walk. `None` as `threads` means a thread per processor.
///
/// Output and monitor are trait objects, so that the formatting code is compiled once, in this package, and not for
/// every output of every package above it. A call writes half a megabyte.
pub(crate) fn run<W: Producer, F: Format<W::Storage>>(
    walk: W,
    make: impl Fn() -> F,
    threads: Option<NonZeroUsize>,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<RunResult<W, F, F::Carried>, ReportError> {
    // Without a request, small inputs stay on this thread: starting others takes longer than formatting a few chunks.
    let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let n_threads = threads.map_or_else(all, NonZeroUsize::get);
    let alone = if threads.is_some() { 0 } else { ALONE };
    let run = SharedRun {
        walking: Mutex::new(ProducerState { walk, next: 0, waits: false, ended: false }),
        turn: Mutex::new(Sequencer { next: 0, carried: Some(F::Carried::default()), out, monitor, error: None }),
        written: AtomicU64::new(0),
        turns: Condvar::new(),
        failed: AtomicBool::new(false),
    };
    // Scoped threads may borrow the format files and the output, so nothing is copied for them.
    let formats = std::thread::scope(|scope| {
        let _guard = PanicGuard { run: &run };
        let mut worker = Worker::new(make());
        let (mut others, mut joined) = (Vec::new(), false);
        while run.take(&mut worker) {
            if worker.number >= alone && !joined {
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
    let Sequencer { carried, error, .. } = run.turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    let ProducerState { walk, .. } = run.walking.into_inner().unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(error),
        None => Ok(RunResult { walk, formats, carried: carried.unwrap_or_default() }),
    }
}

/// State that the threads share.
struct SharedRun<'r, W, C> {
    walking: Mutex<ProducerState<W>>,
    turn: Mutex<Sequencer<'r, C>>,
    /// Copy of [`Sequencer::next`] that can be read without the lock.
    written: AtomicU64,
    /// Signalled when the turn passes on or the run fails.
    turns: Condvar,
    failed: AtomicBool,
}

struct ProducerState<W> {
    walk: W,
    /// Number of the next chunk.
    next: u64,
    /// True if its events may have to be waited for.
    waits: bool,
    ended: bool,
}

struct Sequencer<'r, C> {
    /// Number of the chunk to write next.
    next: u64,
    /// `None` while a thread has it.
    carried: Option<C>,
    out: &'r mut (dyn Write + Send),
    monitor: &'r mut (dyn Monitor + Send),
    error: Option<ReportError>,
}

/// State of one thread.
struct Worker<E, F> {
    format: F,
    chunk: Chunk<E>,
    /// Number of the chunk.
    number: u64,
    /// Error that ended the walk after the chunk.
    error: Option<ReportError>,
    text: TextBuf,
    head: TextBuf,
}

impl<E: Default, F> Worker<E, F> {
    fn new(format: F) -> Self {
        Self { format, chunk: Chunk::default(), number: 0, error: None, text: TextBuf::new(), head: TextBuf::new() }
    }
}

impl<'r, W: Producer, C: Default> SharedRun<'r, W, C> {
    /// Processes chunks until the end.
    fn work<F: Format<W::Storage, Carried = C>>(&self, mut worker: Worker<W::Storage, F>) -> F {
        let _guard = PanicGuard { run: self };
        while self.take(&mut worker) {
            self.finish(&mut worker);
        }
        worker.format
    }

    /// Reads the next chunk; false at the end, or if the run has failed.
    fn take<F>(&self, worker: &mut Worker<W::Storage, F>) -> bool {
        // Spins before it blocks: most waits are shorter than a wake-up.
        look(|| self.walking.try_lock().is_ok());
        let mut walking = lock(&self.walking);
        if walking.ended || self.failed.load(Ordering::Relaxed) || (walking.waits && self.wait(walking.next).is_none())
        {
            return false;
        }
        let Chunk { notices, waits, slow, .. } = &mut worker.chunk;
        notices.clear();
        (*waits, *slow) = (false, None);
        let waited = walking.waits;
        let filled = walking.walk.fill(&mut worker.chunk, waited);
        worker.number = walking.next;
        walking.next += 1;
        walking.waits = worker.chunk.waits;
        // After an error the chunk is still formatted: everything before the damage is printed.
        walking.ended = !matches!(filled, Ok(true));
        worker.error = filled.err();
        true
    }

    /// Formats a chunk, and writes its text when its turn comes.
    fn finish<F: Format<W::Storage, Carried = C>>(&self, worker: &mut Worker<W::Storage, F>) {
        let Worker { format, chunk, number, error, text, head } = worker;
        // If the chunk before is written already, the state is there and nothing has to be deferred.
        let mut carried = self.carried(*number);
        loop {
            text.clear();
            let mut more = format.format(&chunk.events, carried.as_mut(), text);
            let Some(mut turn) = self.wait(*number) else { return };
            head.clear();
            if carried.is_none() {
                carried = turn.carried.take();
                if let Some(carried) = &mut carried
                    && !format.resolve(&chunk.events, carried, head)
                {
                    // The turn stays with this chunk, but other threads may look at it meanwhile.
                    drop(turn);
                    head.clear();
                    text.clear();
                    more = format.format(&chunk.events, Some(carried), text);
                    let Some(again) = self.wait(*number) else { return };
                    turn = again;
                }
            }
            // Written under the lock: chunks must not mix, and the next one waits for this one anyway.
            let written = turn.write(&[head, text]);
            let done = match written {
                Ok(()) if more => {
                    if let Some(template) = format.take_slow() {
                        turn.monitor.slow(&template);
                    }
                    continue;
                }
                Ok(()) => turn.close(chunk, error.take()),
                Err(error) => Err(error),
            };
            // Passed on only now, complete: the next chunk starts where this one ended.
            turn.carried = carried;
            turn.next += 1;
            self.written.store(turn.next, Ordering::Relaxed);
            if let Err(error) = done {
                turn.error = Some(error);
                self.failed.store(true, Ordering::Relaxed);
            }
            self.turns.notify_all();
            return;
        }
    }

    /// Carried state for a chunk, if it is known already.
    fn carried(&self, number: u64) -> Option<C> {
        let mut turn = self.turn.try_lock().ok()?;
        if turn.next == number { turn.carried.take() } else { None }
    }

    /// Blocks until a chunk may be written; `None` if the run failed.
    fn wait(&self, number: u64) -> Option<MutexGuard<'_, Sequencer<'r, C>>> {
        look(|| self.written.load(Ordering::Relaxed) == number || self.failed.load(Ordering::Relaxed));
        let mut turn = lock(&self.turn);
        while turn.next != number {
            if self.failed.load(Ordering::Relaxed) {
                return None;
            }
            turn = self.turns.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        (!self.failed.load(Ordering::Relaxed)).then_some(turn)
    }
}

impl<C> Sequencer<'_, C> {
    fn write(&mut self, texts: &[&TextBuf]) -> Result<(), ReportError> {
        let mut texts = texts.iter().filter(|text| !text.is_empty());
        texts.try_for_each(|text| self.out.write_all(text.as_bytes())).map_err(ReportError::Write)
    }

    /// Reports notices and progress after a chunk's text was written.
    fn close<E>(&mut self, chunk: &Chunk<E>, error: Option<ReportError>) -> Result<(), ReportError> {
        if chunk.waits || !chunk.notices.is_empty() {
            self.out.flush().map_err(ReportError::Write)?;
        }
        chunk.notices.iter().for_each(|notice| self.monitor.notice(notice));
        if let Some(template) = &chunk.slow {
            self.monitor.slow(template);
        }
        let (offset, n_events) = chunk.progress;
        self.monitor.progress(offset, n_events);
        error.map_or(Ok(()), Err)
    }
}

/// Ends the run if a thread panics, so that the others do not wait forever.
struct PanicGuard<'g, 'r, W, C> {
    run: &'g SharedRun<'r, W, C>,
}

impl<W, C> Drop for PanicGuard<'_, '_, W, C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.run.failed.store(true, Ordering::Relaxed);
            let _turn = lock(&self.run.turn);
            self.run.turns.notify_all();
        }
    }
}

/// Spins for a while until a condition is true.
fn look(mut has_come: impl FnMut() -> bool) {
    let mut begun = None;
    while !has_come() && begun.get_or_insert_with(Instant::now).elapsed() < LOOKING {
        std::hint::spin_loop();
    }
}

/// Locks a mutex and ignores poison: a panic ends the run anyway, so inconsistent state is never used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
