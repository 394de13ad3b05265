//! Events formatted side by side, and written in order.
//!
//! ```text
//! walk, one thread at a time ─Portion─> text, side by side ─in turn─> output
//! ```
//!
//! Every thread does the same: it takes a portion of events from the walk, formats it, waits for its turn, and writes.
//! The walk does what depends on the order of events, and leaves little to do there. What text depends on text before
//! it is carried from turn to turn. So the output is the same for any number of threads, one of them included, and no
//! more portions and texts are held than there are threads.

use crate::reader::Notice;
use crate::report::{Monitor, ReportError};
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tfbc_vm::TextBuf;

/// Bytes of text that are gathered before they are written. A report of large events holds one event's text more.
pub(crate) const WRITE_AT: usize = 512 << 10;
/// Portions that one thread takes before others join in: small inputs are not worth a second thread.
const ALONE: u64 = 32;
/// How long a thread looks again and again before it sleeps: to be woken takes about as long, and most waits are shorter.
const LOOKING: Duration = Duration::from_micros(50);

/// Some events on their way to the output.
#[derive(Debug, Default)]
pub(crate) struct Portion<E> {
    /// The events, with all that their text depends on.
    pub events: E,
    /// What is to be said behind them.
    pub notices: Vec<Notice>,
    /// The template that took most of the walk's time, if that was long.
    pub slow: Option<String>,
    /// Whether what follows must be waited for: then all text up to there is written before that.
    pub waits: bool,
    /// How far the reading is, in bytes of the input, and how many events were read.
    pub progress: (u64, u64),
}

/// Damaged places of a run that are told behind the text of the events before them. Later ones may come with text of
/// events behind them: a log that is damaged all over is still formatted in portions of many events.
const TOLD_IN_PLACE: u64 = 1000;
/// Notices of one portion, at most.
const MAX_NOTICES: usize = 256;

/// Whether a portion ends with its last notice, `n_damaged` damaged places having been met in the run.
pub(crate) fn ends_portion(n_damaged: u64, n_notices: usize) -> bool {
    n_damaged <= TOLD_IN_PLACE || n_notices >= MAX_NOTICES
}

/// What takes the events of an input in their order.
pub(crate) trait Walk: Send {
    /// A form for events.
    type Events: Default + Send;

    /// Takes what stands next into an emptied portion, whose events are those of an earlier one: false where nothing
    /// follows. `waited` tells that the portion before ended since what stands next must be waited for.
    fn fill(&mut self, portion: &mut Portion<Self::Events>, waited: bool) -> Result<bool, ReportError>;
}

/// What makes text of events.
pub(crate) trait Format<E>: Send {
    /// What the text depends on of the text before it.
    type Carried: Default + Send;

    /// Appends the text of events: false at their end, else the next call goes on from there. Where it is not known yet
    /// what is carried, the text that depends on it is left to [`Format::resolve`].
    fn format(&mut self, events: &E, carried: Option<&mut Self::Carried>, text: &mut TextBuf) -> bool;

    /// Appends what was left out at the beginning of the text that was formatted last, and takes in what that carries
    /// on. False if the text does not hold after what is carried: then it is to be formatted again, from the events' beginning.
    fn resolve(&mut self, events: &E, carried: &mut Self::Carried, head: &mut TextBuf) -> bool;

    /// The template that takes most of the time, if that is long.
    fn take_slow(&mut self) -> Option<String>;
}

/// What [`Steps::advance`] has come to.
pub(crate) enum Step {
    /// Text of some events; it may be empty.
    Text,
    /// A notice that comes after the events before it.
    Notice(Notice),
    /// The end of the input.
    End,
}

/// Walk and format on the caller's own thread, one text at a time.
pub(crate) struct Steps<W: Walk, F: Format<W::Events>> {
    walk: W,
    pub format: F,
    portion: Portion<W::Events>,
    carried: F::Carried,
    text: TextBuf,
    /// True if the portion has events without text.
    has_more: bool,
    /// Number of the portion's notices that were given out.
    n_noticed: usize,
    ended: bool,
    error: Option<ReportError>,
}

impl<W: Walk, F: Format<W::Events>> Steps<W, F> {
    pub fn new(walk: W, format: F) -> Self {
        Self {
            walk,
            format,
            portion: Portion::default(),
            carried: F::Carried::default(),
            text: TextBuf::new(),
            has_more: false,
            n_noticed: 0,
            ended: false,
            error: None,
        }
    }

    /// The events that the text is of.
    pub fn events(&self) -> &W::Events {
        &self.portion.events
    }

    /// The text of the last step.
    pub fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Formats some more events.
    pub fn advance(&mut self) -> Result<Step, ReportError> {
        loop {
            if self.has_more {
                self.text.clear();
                self.has_more = self.format.format(&self.portion.events, Some(&mut self.carried), &mut self.text);
                // Progress is the caller's own.
                self.format.take_slow();
                return Ok(Step::Text);
            }
            if let Some(notice) = self.portion.notices.get_mut(self.n_noticed) {
                self.n_noticed += 1;
                return Ok(Step::Notice(notice.clone()));
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if self.ended {
                return Ok(Step::End);
            }
            let Portion { notices, waits, slow, .. } = &mut self.portion;
            notices.clear();
            let waited = std::mem::take(waits);
            (*slow, self.n_noticed) = (None, 0);
            let filled = self.walk.fill(&mut self.portion, waited);
            self.ended = !matches!(filled, Ok(true));
            self.error = filled.err();
            self.has_more = true;
        }
    }
}

/// How a run went, where it did not fail.
pub(crate) struct Ran<W, F, C> {
    pub walk: W,
    /// One of each thread.
    pub formats: Vec<F>,
    pub carried: C,
}

/// Formats and writes all that a walk takes. `threads` is `None` for as many as there are processors.
pub(crate) fn run<W: Walk, F: Format<W::Events>>(
    walk: W,
    make: impl Fn() -> F,
    threads: Option<NonZeroUsize>,
    out: &mut (impl Write + Send),
    monitor: &mut (impl Monitor + Send),
) -> Result<Ran<W, F, F::Carried>, ReportError> {
    let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let n_threads = threads.map_or_else(all, NonZeroUsize::get);
    let alone = if threads.is_some() { 0 } else { ALONE };
    let run = Run {
        walking: Mutex::new(Walking { walk, next: 0, waits: false, ended: false }),
        turn: Mutex::new(Turn { next: 0, carried: Some(F::Carried::default()), out, monitor, error: None }),
        written: AtomicU64::new(0),
        turns: Condvar::new(),
        failed: AtomicBool::new(false),
    };
    let formats = std::thread::scope(|scope| {
        let _guard = PanicGuard { run: &run };
        let mut worker = Worker::new(make());
        let (mut others, mut joined) = (Vec::new(), false);
        while run.take(&mut worker) {
            if worker.number >= alone && !joined {
                joined = true;
                others.extend((1..n_threads).map_while(|_| {
                    let worker = Worker::new(make());
                    // Fewer threads do as well.
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
    let Turn { carried, error, .. } = run.turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    let Walking { walk, .. } = run.walking.into_inner().unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(error),
        None => Ok(Ran { walk, formats, carried: carried.unwrap_or_default() }),
    }
}

/// What the threads share.
struct Run<'r, W, C, O, M> {
    walking: Mutex<Walking<W>>,
    turn: Mutex<Turn<'r, C, O, M>>,
    /// As [`Turn::next`], to be looked at without the lock.
    written: AtomicU64,
    /// The turn has passed on, or the run has failed.
    turns: Condvar,
    failed: AtomicBool,
}

struct Walking<W> {
    walk: W,
    /// Number of the portion that is taken next.
    next: u64,
    /// Whether its events must be waited for.
    waits: bool,
    ended: bool,
}

struct Turn<'r, C, O, M> {
    /// Number of the portion that is written next.
    next: u64,
    /// `None` while a thread has it.
    carried: Option<C>,
    out: &'r mut O,
    monitor: &'r mut M,
    error: Option<ReportError>,
}

/// One thread's own.
struct Worker<E, F> {
    format: F,
    portion: Portion<E>,
    /// The portion's number.
    number: u64,
    /// Why the walk ended behind the portion.
    error: Option<ReportError>,
    text: TextBuf,
    head: TextBuf,
}

impl<E: Default, F> Worker<E, F> {
    fn new(format: F) -> Self {
        Self { format, portion: Portion::default(), number: 0, error: None, text: TextBuf::new(), head: TextBuf::new() }
    }
}

impl<'r, W: Walk, C: Default, O: Write, M: Monitor> Run<'r, W, C, O, M> {
    /// Takes and finishes portions to the end.
    fn work<F: Format<W::Events, Carried = C>>(&self, mut worker: Worker<W::Events, F>) -> F {
        let _guard = PanicGuard { run: self };
        while self.take(&mut worker) {
            self.finish(&mut worker);
        }
        worker.format
    }

    /// Takes the next portion; false where there is none, or the run has failed.
    fn take<F>(&self, worker: &mut Worker<W::Events, F>) -> bool {
        look(|| self.walking.try_lock().is_ok());
        let mut walking = lock(&self.walking);
        if walking.ended || self.failed.load(Ordering::Relaxed) || (walking.waits && self.wait(walking.next).is_none())
        {
            return false;
        }
        let Portion { notices, waits, slow, .. } = &mut worker.portion;
        notices.clear();
        (*waits, *slow) = (false, None);
        let waited = walking.waits;
        let filled = walking.walk.fill(&mut worker.portion, waited);
        worker.number = walking.next;
        walking.next += 1;
        walking.waits = worker.portion.waits;
        walking.ended = !matches!(filled, Ok(true));
        worker.error = filled.err();
        true
    }

    /// Formats a portion, and writes its text when its turn has come.
    fn finish<F: Format<W::Events, Carried = C>>(&self, worker: &mut Worker<W::Events, F>) {
        let Worker { format, portion, number, error, text, head } = worker;
        let mut carried = self.carried(*number);
        loop {
            text.clear();
            let mut more = format.format(&portion.events, carried.as_mut(), text);
            let Some(mut turn) = self.wait(*number) else { return };
            head.clear();
            if carried.is_none() {
                carried = turn.carried.take();
                if let Some(carried) = &mut carried
                    && !format.resolve(&portion.events, carried, head)
                {
                    // The turn stays this portion's, and others may look at it.
                    drop(turn);
                    head.clear();
                    text.clear();
                    more = format.format(&portion.events, Some(carried), text);
                    let Some(again) = self.wait(*number) else { return };
                    turn = again;
                }
            }
            let written = turn.write(&[head, text]);
            let done = match written {
                Ok(()) if more => {
                    if let Some(template) = format.take_slow() {
                        turn.monitor.slow(&template);
                    }
                    continue;
                }
                Ok(()) => turn.close(portion, error.take()),
                Err(error) => Err(error),
            };
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

    /// What is carried to a portion, where it is known already.
    fn carried(&self, number: u64) -> Option<C> {
        let mut turn = self.turn.try_lock().ok()?;
        if turn.next == number { turn.carried.take() } else { None }
    }

    /// Waits for the turn of a portion; `None` where it will not come.
    fn wait(&self, number: u64) -> Option<MutexGuard<'_, Turn<'r, C, O, M>>> {
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

impl<C, O: Write, M: Monitor> Turn<'_, C, O, M> {
    fn write(&mut self, texts: &[&TextBuf]) -> Result<(), ReportError> {
        let mut texts = texts.iter().filter(|text| !text.is_empty());
        texts.try_for_each(|text| self.out.write_all(text.as_bytes())).map_err(ReportError::Write)
    }

    /// Says what is to be said behind a portion whose text is written.
    fn close<E>(&mut self, portion: &Portion<E>, error: Option<ReportError>) -> Result<(), ReportError> {
        if portion.waits || !portion.notices.is_empty() {
            self.out.flush().map_err(ReportError::Write)?;
        }
        portion.notices.iter().for_each(|notice| self.monitor.notice(notice));
        if let Some(template) = &portion.slow {
            self.monitor.slow(template);
        }
        let (offset, n_events) = portion.progress;
        self.monitor.progress(offset, n_events);
        error.map_or(Ok(()), Err)
    }
}

/// Ends the run where a thread panics, so that no other one waits for its turn.
struct PanicGuard<'g, 'r, W, C, O, M> {
    run: &'g Run<'r, W, C, O, M>,
}

impl<W, C, O, M> Drop for PanicGuard<'_, '_, W, C, O, M> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.run.failed.store(true, Ordering::Relaxed);
            let _turn = lock(&self.run.turn);
            self.run.turns.notify_all();
        }
    }
}

/// Looks for a while whether something has come.
fn look(mut has_come: impl FnMut() -> bool) {
    let mut begun = None;
    while !has_come() && begun.get_or_insert_with(Instant::now).elapsed() < LOOKING {
        std::hint::spin_loop();
    }
}

/// A thread that panics ends the run, so what it leaves is not looked at.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
