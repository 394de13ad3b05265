//! The daemon of a session: reads the buffers and writes the log.

use super::choice::Choice;
use super::{Command, Error, Task, create, lock, map, target_of};
use crate::buffer_pool::{BufferPool, flag};
use crate::clock::{Clock, ClockSource};
use crate::control;
use crate::logger::Logger;
use crate::merger::Merger;
use crate::options::{Chosen, Mode, TraceOptions};
use crate::record::{EventContent, Record, Width};
use crate::write::{self, LogLayout, Setup, ThreadFacts, Writer};
use crate::{symbols, sys};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Maximum delay of events in a stream.
const STREAM_POLL: Duration = Duration::from_millis(10);
/// Maximum delay of events in a log.
const LOG_POLL: Duration = Duration::from_millis(100);
/// Interval of the search for buffers of dead threads.
const REAP: Duration = Duration::from_secs(1);
/// Slots in one of QNX's trace buffers.
const KEV_SLOTS: u64 = 1014;
/// Maximum number of threads remembered as described in the log.
const MAX_KNOWN: usize = 1 << 16;

/// A running session.
struct Daemon {
    channel: usize,
    /// Removed when the log is complete.
    path: PathBuf,
    /// Its lock shows that the session is alive.
    _file: File,
    merger: Merger,
    sink: LogSink,
    /// True if nothing is written before the stop.
    is_deferred: bool,
    is_stream: bool,
    /// Time at which the session stops by itself.
    ends_at: Option<Instant>,
    ends_after_slots: Option<u64>,
}

/// Destination of the events from the buffers.
struct LogSink {
    writer: Writer,
    pool: BufferPool,
    /// True if the log contains the functions of programs.
    names_functions: bool,
    /// Threads already described in the log.
    known: HashSet<(u32, u32)>,
    last: (u32, u32),
    /// Threads to record; `None` for all.
    choice: Option<Choice>,
    /// True if the events of the last thread are written.
    is_chosen: bool,
    /// Processes described in the log, with their parents, if the log also records their ends.
    parents: HashMap<u32, u32>,
    /// Processes that had ended before the last pass.
    gone: Vec<u32>,
    /// Times at which the channel was turned on or off and that are not in the log yet.
    switches: VecDeque<(u64, bool)>,
    /// Number of lost events already reported in the log.
    missed_reported: u64,
    slots: u64,
}

impl LogSink {
    fn new(writer: Writer, pool: BufferPool, names_functions: bool, chosen: Option<&Chosen>) -> Self {
        let (known, switches) = (HashSet::new(), VecDeque::new());
        let choice = chosen.map(Choice::new);
        let (last, is_chosen) = ((0, 0), choice.is_none());
        let (parents, gone) = (HashMap::new(), Vec::new());
        LogSink {
            writer,
            pool,
            names_functions,
            known,
            last,
            choice,
            is_chosen,
            parents,
            gone,
            switches,
            missed_reported: 0,
            slots: 0,
        }
    }

    fn record(&mut self, record: &Record<'_>, process: u32) -> Result<(), write::Error> {
        let thread = (record.pid, record.tid);
        if self.last != thread {
            self.last = thread;
            if let Some(choice) = &mut self.choice {
                self.is_chosen = choice.contains(record.pid, record.tid, |pid| self.pool.parent_of(pid));
            }
            if self.is_chosen {
                self.describe_thread(record.pid, record.tid, process)?;
            }
        }
        if !self.is_chosen {
            return Ok(());
        }
        if self.switches.front().is_some_and(|(ticks, _)| *ticks <= record.ticks) {
            self.report_switches(record.ticks)?;
        }
        // Counted as slots, because tracelogger's `-n` counts buffers of slots.
        if let EventContent::Kernel { data, .. } = record.event {
            self.slots += (data.len() as u64).div_ceil(8);
        }
        self.writer.record(record)
    }

    /// Describes a thread that was not seen before.
    fn describe_thread(&mut self, pid: u32, tid: u32, process: u32) -> Result<(), write::Error> {
        let thread = (pid, tid);
        if self.known.contains(&thread) {
            return Ok(());
        }
        // Forgotten threads are described again.
        // Ids are reused, and a machine that runs for months starts millions of threads.
        if self.known.len() == MAX_KNOWN {
            self.known.clear();
            self.parents.clear();
        }
        if self.writer.wants_facts() {
            let facts = thread_facts(thread.0, thread.1);
            // A process that has ended no longer has a parent in /proc.
            let parent = self.pool.parent_of(thread.0).unwrap_or(facts.parent);
            let facts = ThreadFacts { parent, ..facts };
            self.parents.insert(thread.0, facts.parent);
            self.writer.facts(thread.0, thread.1, facts);
        }
        if let Some(path) = self.pool.path_of_process(process).filter(|path| !path.is_empty()) {
            self.writer.process(thread.0, thread.1, &path)?;
        }
        let is_first = || !self.known.iter().any(|(pid, _)| *pid == thread.0);
        if self.names_functions && is_first() {
            for (address, name) in symbols::of_process(thread.0) {
                self.writer.symbol(thread.0, address, &name)?;
            }
        }
        self.known.insert(thread);
        Ok(())
    }

    /// Processes that have ended. Their last events may still be in buffers.
    fn ended_processes(&self) -> Vec<u32> {
        self.parents.keys().copied().filter(|pid| !sys::is_alive(*pid, *pid)).collect()
    }

    /// Records the end of processes whose events are all in the log.
    fn report_ended(&mut self, pids: &[u32], ticks: u64) -> Result<(), write::Error> {
        for pid in pids {
            if let Some(parent) = self.parents.remove(pid) {
                self.known.retain(|(of, _)| of != pid);
                self.last = (0, 0);
                self.writer.process_ended(*pid, parent, ticks)?;
            }
        }
        Ok(())
    }

    /// Records that the channel was turned on or off, up to a time.
    fn report_switches(&mut self, until: u64) -> Result<(), write::Error> {
        while let Some(&(ticks, on)) = self.switches.front().filter(|(ticks, _)| *ticks <= until) {
            self.switches.pop_front();
            if on { self.writer.on(ticks) } else { self.writer.off(ticks) }?;
        }
        Ok(())
    }

    /// Records that events were lost before a time. The number is unknown if the header was overwritten.
    fn report_missed(&mut self, ticks: u64) -> Result<(), write::Error> {
        if !self.pool.is_intact() {
            return Ok(());
        }
        let missed = self.pool.header().missed.load(Ordering::Relaxed);
        let more = missed.saturating_sub(self.missed_reported);
        self.missed_reported = missed;
        if more > 0 { self.writer.missed(more, ticks) } else { Ok(()) }
    }
}

impl Daemon {
    fn begin(task: &Task, channel: usize) -> Result<Self, Error> {
        let source = ClockSource::of_this_machine();
        let clock = Clock::measured(source, control::first_moment(source));
        let target = target_of(task);
        let layout = match task {
            Task::Aix(options) => LogLayout::Aix { options: options.clone(), channel },
            Task::Kev(logger) => LogLayout::Kev(logger.clone()),
        };
        let (pool, file, path) = create(channel, task, clock)?;
        let setup = Setup::for_this_process(layout, clock, source.now());
        // The memory exists before the log does. If the log cannot be created, nobody will read it.
        let writer = open(&setup, target.as_deref()).inspect_err(|_| {
            let _ = fs::remove_file(&path);
        })?;
        let header = pool.header();
        header.started_seconds.store(setup.start_seconds, Ordering::Relaxed);
        header.started_ticks.store(setup.start_ticks, Ordering::Relaxed);
        if let Some(target) = &target {
            pool.set_log(target.as_os_str().as_encoded_bytes());
        }
        let merger = Merger::new(pool, 0);
        let is_stream = target.is_none();
        let now = Instant::now();
        let (is_deferred, is_off, ends_at, ends_after_slots) = match task {
            Task::Aix(options) => (options.mode != Mode::Alternate && !is_stream, options.off, None, None),
            Task::Kev(logger) => {
                let ends_at = logger.time.and_then(|time| now.checked_add(time));
                let slots = (logger.buffers > 0 && !logger.ring).then(|| u64::from(logger.buffers) * KEV_SLOTS);
                (logger.ring, false, ends_at, slots)
            }
        };
        // From here on, hooks of all programs write to the buffers.
        control::set_on(channel, !is_off);
        let (symbols, chosen) = match task {
            Task::Aix(options) => (options.symbols, options.chosen.as_ref()),
            Task::Kev(_) => (false, None),
        };
        let sink = LogSink::new(writer, pool, symbols, chosen);
        Ok(Daemon { channel, path, _file: file, merger, sink, is_deferred, is_stream, ends_at, ends_after_slots })
    }

    /// Writes the log until the session is stopped. If the log cannot be written, the reply to the stop is that error.
    fn keep(mut self) -> Result<write::WriteSummary, Error> {
        let mut failed = None;
        let mut reaped = Instant::now();
        let pool = *self.merger.pool();
        let header = pool.header();
        loop {
            // Read before the pass, so that a wake-up during the pass ends the wait after it at once.
            let wake_up = header.wake_up.load(Ordering::Acquire);
            let asked = header.asked.load(Ordering::Acquire);
            let was_asked = asked != header.answered.load(Ordering::Relaxed);
            let command = if was_asked { Command::of(header.command.load(Ordering::Relaxed)) } else { None };
            if failed.is_none() && !self.is_deferred {
                // Looking up every thread in /proc is too slow for every pass.
                if reaped.elapsed() > REAP {
                    self.merger.release_dead_threads();
                    reaped = Instant::now();
                }
                failed = self.pass().err();
            }
            let ends = self.is_over(failed.as_ref()) || sys::is_ending();
            if ends || matches!(command, Some(Command::Stop | Command::Discard)) {
                let finished = match failed {
                    Some(error) => self.leave(error),
                    None => self.finish(command == Some(Command::Discard)),
                };
                let number = finished.as_ref().map_or_else(Error::errno, |_| 0);
                answer(header, asked, number);
                return finished;
            }
            match command {
                Some(Command::On) if failed.is_none() => self.switch(true),
                Some(Command::Off) if failed.is_none() => self.switch(false),
                _ => {}
            }
            if was_asked {
                answer(header, asked, failed.as_ref().map_or(0, Error::errno));
            }
            // The session continues although it cannot write, because its memory still has the events and `trcstop` can
            // report the error.
            if failed.is_some() {
                control::set_on(self.channel, false);
            }
            let poll = if self.is_stream { STREAM_POLL } else { LOG_POLL };
            sys::wait(&header.wake_up, wake_up, poll);
        }
    }

    /// True if the session stops by itself: its reader has gone, or it has logged as much as it should.
    fn is_over(&self, failed: Option<&Error>) -> bool {
        let reader_left =
            matches!(failed, Some(Error::Log { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe);
        reader_left
            || self.ends_at.is_some_and(|end| end <= Instant::now())
            || self.ends_after_slots.is_some_and(|slots| slots <= self.sink.slots)
            || (self.channel == control::QNX && self.sink.writer.is_full())
    }

    /// Moves recorded events to the log.
    fn pass(&mut self) -> Result<(), Error> {
        let sink = &mut self.sink;
        // Determined before the merge, because a process that has ended by now has recorded its last event.
        let gone = sink.ended_processes();
        let until = self.merger.pass(|record, process| sink.record(record, process))?;
        // Events after `until` belong to the next pass.
        let before = std::mem::replace(&mut sink.gone, gone);
        sink.report_ended(&before, until)?;
        sink.report_switches(until)?;
        sink.report_missed(until)?;
        sink.writer.flush()?;
        // Stored after the flush, so that recovery neither repeats nor loses events.
        self.merger.pool().header().written_until.store(until, Ordering::Release);
        self.merger.free_emitted(until);
        if sink.writer.is_full() {
            control::set_on(self.channel, false);
        }
        Ok(())
    }

    fn switch(&mut self, on: bool) {
        if control::is_on(self.channel) != on {
            let ticks = self.merger.clock().source.now();
            self.sink.switches.push_back((ticks, on));
            control::set_on(self.channel, on);
        }
    }

    /// Completes the log and frees the session's memory.
    fn finish(mut self, discards: bool) -> Result<write::WriteSummary, Error> {
        let was_on = control::is_on(self.channel);
        control::set_on(self.channel, false);
        // Uses the time at which hooks went off, not the time at which the buffers are empty.
        let end = self.merger.clock().source.now();
        let sink = &mut self.sink;
        let pool = *self.merger.pool();
        let header = pool.header();
        let gone = sink.ended_processes();
        let mut finish = || {
            if !discards {
                if pool.is_intact() {
                    self.merger.skip_until(header.dropped_until.load(Ordering::Relaxed));
                }
                self.merger.finish(|record, process| sink.record(record, process))?;
            }
            sink.report_ended(&gone, end)?;
            if was_on {
                sink.switches.push_back((end, false));
            }
            sink.report_switches(u64::MAX)?;
            sink.report_missed(end)?;
            sink.writer.finish()
        };
        match finish() {
            Ok(summary) => {
                let _ = fs::remove_file(&self.path);
                Ok(summary)
            }
            Err(error) => self.leave(error.into()),
        }
    }

    /// Ends a session whose log cannot be written. Its memory stays, so that the events can be recovered.
    fn leave(self, error: Error) -> Result<write::WriteSummary, Error> {
        control::set_on(self.channel, false);
        match &error {
            // Without a reader, the rest of a stream is not needed.
            Error::Log { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                let _ = fs::remove_file(&self.path);
                Ok(self.sink.writer.summary())
            }
            _ => Err(error),
        }
    }
}

/// Reads the properties of a thread from /proc.
fn thread_facts(pid: u32, tid: u32) -> ThreadFacts {
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let stat = read(&format!("task/{tid}/stat"));
    // After the name in parentheses, all fields are numbers except the state, which is field 3.
    // A program chooses its own name, which may contain blanks and parentheses.
    let after_name = stat.rsplit(|byte| *byte == b')').next().unwrap_or_default();
    let fields: Vec<&[u8]> = after_name.split(|byte| *byte == b' ').filter(|field| !field.is_empty()).collect();
    let field = |number: usize| -> u32 {
        let text = fields.get(number - 3).and_then(|field| std::str::from_utf8(field).ok());
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let usual = ThreadFacts::default();
    // Only real-time threads have a fixed priority.
    let (priority, policy) = match (field(40), field(41)) {
        (0, _) => (usual.priority, usual.policy),
        real_time => real_time,
    };
    let name_of = |thread: u32| read(&format!("task/{thread}/comm")).trim_ascii_end().to_vec();
    // An unnamed thread has the name of its process.
    let name = Some(name_of(tid)).filter(|name| tid != pid && *name != name_of(pid)).unwrap_or_default();
    ThreadFacts { parent: field(4), name, priority, policy }
}

fn answer(header: &crate::buffer_pool::SessionHeader, asked: u32, number: i32) {
    header.answer.store(number as u32, Ordering::Relaxed);
    header.answered.store(asked, Ordering::Release);
    sys::wake(&header.answered);
}

/// Creates the log.
fn open(setup: &Setup, target: Option<&Path>) -> Result<Writer, write::Error> {
    match target {
        Some(path) => Writer::create(setup, path),
        None => Writer::stream(setup, Box::new(io::stdout()), "standard output"),
    }
}

/// Runs a session in this process; it ends with the process. `started` receives the channel. An AIX session without
/// `-a` is interactive and cannot be stopped by other processes.
///
/// # Errors
/// The errors of [`start`](super::start) and [`stop`](super::stop).
pub fn run(task: &Task, started: impl FnOnce(usize)) -> Result<write::WriteSummary, Error> {
    map()?;
    sys::note_ending_signals();
    let daemon = {
        let _only = lock()?;
        Daemon::begin(task, super::free_channel(task)?)?
    };
    if matches!(task, Task::Aix(options) if !options.background) {
        daemon.merger.pool().header().flags.fetch_or(flag::INTERACTIVE, Ordering::Relaxed);
    }
    started(daemon.channel);
    daemon.keep()
}

/// Runs a session in a process made for it.
pub(super) fn run_alone(task: &Task, channel: usize, to_caller: BorrowedFd<'_>) -> ! {
    let to_caller = sys::stand_alone(to_caller, target_of(task).is_none());
    let status = catch_unwind(AssertUnwindSafe(|| {
        sys::note_ending_signals();
        let (daemon, started) = match Daemon::begin(task, channel) {
            Ok(daemon) => (Some(daemon), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The caller may have ended; the session continues.
        let _ = File::from(to_caller).write_all(answer_text(&started).as_bytes());
        i32::from(daemon.is_none_or(|daemon| daemon.keep().is_err()))
    }));
    sys::exit_now(status.unwrap_or(101))
}

/// Writes the events that a killed session left.
pub(super) fn recover(pool: &BufferPool, channel: usize, path: &Path) -> Result<write::WriteSummary, Error> {
    let header = pool.header();
    let flags = header.flags.load(Ordering::Relaxed);
    let is_set = |bit| flags & bit != 0;
    let layout = if channel == control::QNX {
        LogLayout::Kev(Logger {
            big_endian: is_set(flag::BIG_ENDIAN),
            arguments: "trcdead".into(),
            ..Logger::default()
        })
    } else {
        let trace = if is_set(flag::TRACE32) { Width::W32 } else { Width::W64 };
        let options =
            TraceOptions { trace, cpu_ids: is_set(flag::CPU), command: b"trcdead".to_vec(), ..TraceOptions::default() };
        LogLayout::Aix { options, channel }
    };
    let from = header.written_until.load(Ordering::Acquire).max(header.dropped_until.load(Ordering::Relaxed));
    let mut merger = Merger::new(*pool, from);
    let setup = Setup {
        start_ticks: from.max(header.started_ticks.load(Ordering::Relaxed)),
        start_seconds: header.started_seconds.load(Ordering::Relaxed),
        ..Setup::for_this_process(layout, merger.clock(), from)
    };
    let log = |source| Error::Log { path: path.to_owned(), source };
    let writer = if channel == control::QNX {
        Writer::create(&setup, path)?
    } else {
        let file = File::create(path).map_err(log)?;
        Writer::stream(&setup, Box::new(file), &path.to_string_lossy())?
    };
    let mut sink = LogSink::new(writer, *pool, false, None);
    merger.recover(|record, process| sink.record(record, process))?;
    Ok(sink.writer.finish()?)
}

/// Formats the reply that [`start`](super::start) parses.
fn answer_text(started: &Result<(), Error>) -> String {
    match started {
        Ok(()) => "ok".to_owned(),
        Err(error @ Error::Log { path, .. }) => format!("log {} {}", error.errno(), path.display()),
        Err(error @ Error::Memory { path, .. }) => format!("memory {} {}", error.errno(), path.display()),
        Err(error) => format!("process {}", error.errno()),
    }
}
