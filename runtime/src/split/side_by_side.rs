//! Reports of several parts side by side, one thread per part.
//!
//! ```text
//! parts ─next one─> thread ─report─> PartBuffer ─in order─> output
//! ```
//!
//! The thread whose part is next writes through. The others keep their text and notices up to [`MAX_BUFFERED`] bytes, and
//! wait then. So memory is bounded, and output, notices and errors are those of a report without threads.

use super::part_report::{PartCounts, WholeReport};
use crate::ids::IdSet;
use crate::monitor::{Monitor, ReportError};
use crate::reader::Notice;
use crate::trace::{ReportOptions, ReportSummary};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of text that a thread keeps until its part is next.
const MAX_BUFFERED: usize = 32 << 20;
/// Size of the largest part whose text usually fits into a buffer. Larger parts are formatted by all threads, one after
/// another.
const MAX_PART_BYTES: u64 = 20 << 20;
/// Bytes of all parts from which threads are worth their start, unless the user asks for them.
const MIN_BYTES: u64 = 4 << 20;

/// Number of threads for the parts from `at` on; `None` if they are reported one after another.
pub(super) fn threads(whole: &WholeReport<'_>, at: usize) -> Option<usize> {
    let parts = &whole.split.parts[at..];
    let ReportOptions { aix, qnx } = whole.options;
    let asked = if whole.is_aix() { aix.threads } else { qnx.threads };
    let n_bytes: u64 = parts.iter().map(|part| part.n_bytes).sum();
    let n_threads = match asked {
        Some(n) => n.get(),
        None if n_bytes < MIN_BYTES => 1,
        None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
    };
    let n = n_threads.min(parts.len());
    let are_small = parts.iter().all(|part| part.n_bytes <= MAX_PART_BYTES);
    // Fewer parts than threads are faster if all threads format one part.
    (n > 1 && n == n_threads && are_small).then_some(n)
}

/// State that the threads share.
struct SharedRun<'r> {
    /// Index of the part that is written now. Changes under the lock of `output`.
    next: AtomicUsize,
    /// Index of the part that a thread begins next.
    begun: AtomicUsize,
    output: Mutex<Output<'r>>,
    next_changed: Condvar,
    /// True if the report has ended before its last part.
    ended: AtomicBool,
}

struct Output<'r> {
    out: &'r mut (dyn Write + Send),
    monitor: &'r mut (dyn Monitor + Send),
    counts: &'r mut PartCounts,
    error: Option<ReportError>,
}

/// Writes the reports of parts, which do not begin the report.
pub(super) fn report(
    whole: &WholeReport<'_>,
    parts: &[usize],
    n_threads: usize,
    counts: &mut PartCounts,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<(), ReportError> {
    let mut options = whole.options.clone();
    (options.aix.threads, options.qnx.threads) = (Some(NonZeroUsize::MIN), Some(NonZeroUsize::MIN));
    let whole = whole.with_options(&options);
    let run = SharedRun {
        next: AtomicUsize::new(0),
        begun: AtomicUsize::new(0),
        output: Mutex::new(Output { out, monitor, counts, error: None }),
        next_changed: Condvar::new(),
        ended: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads.min(parts.len()) {
            // If a thread cannot start, the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || run.work(&whole, parts));
        }
        run.work(&whole, parts);
    });
    run.output.into_inner().unwrap_or_else(PoisonError::into_inner).error.map_or(Ok(()), Err)
}

impl<'r> SharedRun<'r> {
    /// Reports parts until none is left.
    fn work(&self, whole: &WholeReport<'_>, parts: &[usize]) {
        let _guard = PanicGuard(self);
        loop {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            let Some(at) = parts.get(number).filter(|_| !self.has_ended()) else { return };
            let part = PartOutput { run: self, number, kept: Mutex::default() };
            let done = whole.report_part(*at, &mut PartWriter(&part), &mut PartMonitor(&part));
            part.finish(done);
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn is_next(&self, number: usize) -> bool {
        self.next.load(Ordering::Acquire) == number
    }

    /// Blocks until a part may be written; `None` if the report has ended.
    fn wait(&self, number: usize) -> Option<MutexGuard<'_, Output<'r>>> {
        let mut output = self.lock();
        while !self.is_next(number) && !self.has_ended() {
            output = self.next_changed.wait(output).unwrap_or_else(PoisonError::into_inner);
        }
        (!self.has_ended()).then_some(output)
    }

    fn lock(&self) -> MutexGuard<'_, Output<'r>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the run if a thread panics, so that the others do not wait forever.
struct PanicGuard<'g, 'r>(&'g SharedRun<'r>);

impl Drop for PanicGuard<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _output = self.0.lock();
            self.0.ended.store(true, Ordering::Relaxed);
            self.0.next_changed.notify_all();
        }
    }
}

/// Call that a part makes before it is next.
enum Call {
    /// Number of bytes of text.
    Write(usize),
    Flush,
    Notice(Notice),
    Guessed(IdSet),
}

/// Text and calls of a part before it is next.
#[derive(Default)]
struct Kept {
    text: Vec<u8>,
    calls: Vec<Call>,
}

impl Kept {
    /// True if the part must wait.
    fn is_full(&self) -> bool {
        self.text.len() >= MAX_BUFFERED || self.calls.len() * size_of::<Call>() >= MAX_BUFFERED / 8
    }

    fn write(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
        match self.calls.last_mut() {
            Some(Call::Write(n)) => *n += bytes.len(),
            _ => self.calls.push(Call::Write(bytes.len())),
        }
    }

    /// Makes the calls.
    fn pass_on(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        let Kept { text, calls } = std::mem::take(self);
        let mut rest = &text[..];
        for call in calls {
            match call {
                Call::Write(n) => {
                    let (text, after) = rest.split_at(n);
                    rest = after;
                    output.out.write_all(text)?;
                }
                Call::Flush => output.out.flush()?,
                Call::Notice(notice) => output.monitor.notice(&notice),
                Call::Guessed(hooks) => output.monitor.guessed_layouts(&hooks),
            }
        }
        Ok(())
    }
}

/// Output of one part.
struct PartOutput<'p, 'r> {
    run: &'p SharedRun<'r>,
    number: usize,
    kept: Mutex<Kept>,
}

impl PartOutput<'_, '_> {
    /// Keeps a call, or makes it if the part is next.
    fn call(
        &self,
        keep: impl FnOnce(&mut Kept),
        make: impl FnOnce(&mut Output<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let ended = || io::Error::from(io::ErrorKind::BrokenPipe);
        if self.run.has_ended() {
            return Err(ended());
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.run.is_next(self.number) && !kept.is_full() {
            keep(&mut kept);
            return Ok(());
        }
        let mut output = self.run.wait(self.number).ok_or_else(ended)?;
        kept.pass_on(&mut output)?;
        make(&mut output)
    }

    /// Ends the part: the next one may be written.
    fn finish(&self, done: Result<ReportSummary, ReportError>) {
        let Some(mut output) = self.run.wait(self.number) else { return };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let written = kept.pass_on(&mut output).map_err(ReportError::Write);
        let stopped = match written.and(done) {
            Ok(summary) => {
                output.counts.add(&summary);
                matches!(&summary, ReportSummary::Aix(summary) if summary.stopped)
            }
            Err(error) => {
                output.error = Some(error);
                true
            }
        };
        if stopped {
            self.run.ended.store(true, Ordering::Relaxed);
        }
        self.run.next.store(self.number + 1, Ordering::Release);
        self.run.next_changed.notify_all();
    }
}

struct PartWriter<'o, 'p, 'r>(&'o PartOutput<'p, 'r>);

impl Write for PartWriter<'_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.call(|kept| kept.write(bytes), |output| output.out.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.call(|kept| kept.calls.push(Call::Flush), |output| output.out.flush())
    }
}

struct PartMonitor<'o, 'p, 'r>(&'o PartOutput<'p, 'r>);

impl Monitor for PartMonitor<'_, '_, '_> {
    fn notice(&mut self, notice: &Notice) {
        // If the report has ended, the next write fails.
        let _ = self.0.call(
            |kept| kept.calls.push(Call::Notice(notice.clone())),
            |output| {
                output.monitor.notice(notice);
                Ok(())
            },
        );
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        if self.0.run.is_next(self.0.number) {
            self.0.run.lock().monitor.progress(offset, n_events);
        }
    }

    fn guessed_layouts(&mut self, hooks: &IdSet) {
        let _ = self.0.call(
            |kept| kept.calls.push(Call::Guessed(hooks.clone())),
            |output| {
                output.monitor.guessed_layouts(hooks);
                Ok(())
            },
        );
    }

    fn slow(&mut self, template: &str) {
        if self.0.run.is_next(self.0.number) {
            self.0.run.lock().monitor.slow(template);
        }
    }
}
