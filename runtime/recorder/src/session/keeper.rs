//! The process that keeps a session: it takes events out of the buffers, and writes the log.

use super::{Command, Error, Task, answer_text, create, lock, map, target_of};
use crate::clock::{Clock, Source};
use crate::control;
use crate::drain::Drain;
use crate::logger::Logger;
use crate::options::{Mode, Options};
use crate::pool::{Pool, flag};
use crate::record::{Event, Record, Width};
use crate::write::{self, Layout, Setup, Writer};
use crate::{symbols, sys};
use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the events of a stream may wait in the buffers.
const STREAM_POLL: Duration = Duration::from_millis(10);
/// How long those of a log may.
const LOG_POLL: Duration = Duration::from_millis(100);
/// How often dead threads' buffers are looked for.
const REAP: Duration = Duration::from_secs(1);
/// Slots of one of QNX's trace buffers.
const KEV_SLOTS: u64 = 1014;
/// Threads that are remembered as told of.
const MAX_KNOWN: usize = 1 << 16;

/// A session under way.
struct Keeper {
    channel: usize,
    /// Removed when the log is complete.
    path: PathBuf,
    /// Its lock says that the session lives.
    _file: File,
    drain: Drain,
    sink: Sink,
    /// Nothing is written before the stop.
    is_deferred: bool,
    is_stream: bool,
    /// When the session ends by itself.
    ends_at: Option<Instant>,
    ends_after_slots: Option<u64>,
}

/// What comes out of the buffers goes in here.
struct Sink {
    writer: Writer,
    pool: Pool,
    /// Whether the log names the functions of programs.
    names_functions: bool,
    /// Threads of which the log tells already.
    known: HashSet<(u32, u32)>,
    last: (u32, u32),
    /// When the channel was turned on and off, as far as the log does not tell it yet.
    turns: VecDeque<(u64, bool)>,
    /// Events that were missed and of which the log does not tell yet, are counted from here.
    missed_told: u64,
    slots: u64,
}

impl Sink {
    fn new(writer: Writer, pool: Pool, names_functions: bool) -> Self {
        let (known, turns) = (HashSet::new(), VecDeque::new());
        Sink { writer, pool, names_functions, known, last: (0, 0), turns, missed_told: 0, slots: 0 }
    }

    fn record(&mut self, record: &Record<'_>, process: u32) -> Result<(), write::Error> {
        let thread = (record.pid, record.tid);
        if self.last != thread {
            self.last = thread;
            self.meet(thread, process)?;
        }
        if self.turns.front().is_some_and(|(ticks, _)| *ticks <= record.ticks) {
            self.turn(record.ticks)?;
        }
        if let Event::Kernel { data, .. } = record.event {
            self.slots += (data.len() as u64).div_ceil(8);
        }
        self.writer.record(record)
    }

    /// Tells of a thread that was not seen before.
    fn meet(&mut self, thread: (u32, u32), process: u32) -> Result<(), write::Error> {
        if self.known.contains(&thread) {
            return Ok(());
        }
        // Who was forgotten is told of once more.
        if self.known.len() == MAX_KNOWN {
            self.known.clear();
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

    /// Tells of the turns up to a time.
    fn turn(&mut self, until: u64) -> Result<(), write::Error> {
        while let Some(&(ticks, on)) = self.turns.front().filter(|(ticks, _)| *ticks <= until) {
            self.turns.pop_front();
            if on { self.writer.on(ticks) } else { self.writer.off(ticks) }?;
        }
        Ok(())
    }

    /// Tells of events that were lost before a time.
    fn tell_missed(&mut self, ticks: u64) -> Result<(), write::Error> {
        let missed = self.pool.header().missed.load(Ordering::Relaxed);
        let more = missed.saturating_sub(self.missed_told);
        self.missed_told = missed;
        if more > 0 { self.writer.missed(more, ticks) } else { Ok(()) }
    }
}

impl Keeper {
    fn begin(task: &Task, channel: usize) -> Result<Self, Error> {
        let source = Source::of_this_machine();
        let clock = Clock::measured(source, control::first_moment(source));
        let target = target_of(task);
        let layout = match task {
            Task::Aix(options) => Layout::Aix { options: options.clone(), channel },
            Task::Kev(logger) => Layout::Kev(logger.clone()),
        };
        let (pool, file, path) = create(channel, task, clock)?;
        let setup = Setup::here(layout, clock, source.now());
        let writer = open(&setup, target.as_deref()).inspect_err(|_| {
            let _ = fs::remove_file(&path);
        })?;
        let header = pool.header();
        header.started_seconds.store(setup.start_seconds, Ordering::Relaxed);
        header.started_ticks.store(setup.start_ticks, Ordering::Relaxed);
        if let Some(target) = &target {
            pool.set_log(target.as_os_str().as_encoded_bytes());
        }
        let drain = Drain::new(pool, 0);
        let is_stream = target.is_none();
        let now = Instant::now();
        let (is_deferred, is_off, ends_at, ends_after_slots) = match task {
            Task::Aix(options) => (options.mode != Mode::Alternate && !is_stream, options.off, None, None),
            Task::Kev(logger) => {
                let ends_at = logger.seconds.map(|seconds| now + Duration::from_secs(seconds.into()));
                let slots = (logger.buffers > 0 && !logger.ring).then(|| u64::from(logger.buffers) * KEV_SLOTS);
                (logger.ring, false, ends_at, slots)
            }
        };
        control::set_on(channel, !is_off);
        let sink = Sink::new(writer, pool, matches!(task, Task::Aix(options) if options.symbols));
        Ok(Keeper { channel, path, _file: file, drain, sink, is_deferred, is_stream, ends_at, ends_after_slots })
    }

    /// Writes the log until somebody asks for its end. The answer of a log that could not be written is its error's.
    fn keep(mut self) -> Result<write::Summary, Error> {
        let mut failed = None;
        let mut reaped = Instant::now();
        let pool = *self.drain.pool();
        let header = pool.header();
        loop {
            let bell = header.bell.load(Ordering::Acquire);
            let asked = header.asked.load(Ordering::Acquire);
            let was_asked = asked != header.answered.load(Ordering::Relaxed);
            let command = if was_asked { Command::of(header.command.load(Ordering::Relaxed)) } else { None };
            if failed.is_none() && !self.is_deferred {
                if reaped.elapsed() > REAP {
                    self.drain.reap();
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
                Some(Command::On) if failed.is_none() => self.turn(true),
                Some(Command::Off) if failed.is_none() => self.turn(false),
                _ => {}
            }
            if was_asked {
                answer(header, asked, failed.as_ref().map_or(0, Error::errno));
            }
            if failed.is_some() {
                control::set_on(self.channel, false);
            }
            let poll = if self.is_stream { STREAM_POLL } else { LOG_POLL };
            sys::wait(&header.bell, bell, poll);
        }
    }

    /// Whether the session ends without being asked: its reader has gone, or it has logged as much as it was to.
    fn is_over(&self, failed: Option<&Error>) -> bool {
        let reader_left =
            matches!(failed, Some(Error::Log { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe);
        reader_left
            || self.ends_at.is_some_and(|end| end <= Instant::now())
            || self.ends_after_slots.is_some_and(|slots| slots <= self.sink.slots)
    }

    /// Takes what has been recorded to the log.
    fn pass(&mut self) -> Result<(), Error> {
        let sink = &mut self.sink;
        let until = self.drain.pass(|record, process| sink.record(record, process))?;
        sink.turn(until)?;
        sink.tell_missed(until)?;
        sink.writer.flush()?;
        self.drain.pool().header().written_until.store(until, Ordering::Release);
        self.drain.give_back(until);
        if sink.writer.is_full() {
            control::set_on(self.channel, false);
        }
        Ok(())
    }

    fn turn(&mut self, on: bool) {
        if control::is_on(self.channel) != on {
            let ticks = self.drain.clock().source.now();
            self.sink.turns.push_back((ticks, on));
            control::set_on(self.channel, on);
        }
    }

    /// Completes the log, and gives the session's memory back.
    fn finish(mut self, discards: bool) -> Result<write::Summary, Error> {
        let was_on = control::is_on(self.channel);
        control::set_on(self.channel, false);
        let end = self.drain.clock().source.now();
        let sink = &mut self.sink;
        let pool = *self.drain.pool();
        let header = pool.header();
        let mut finish = || {
            if !discards {
                let from = header.given_up_until.load(Ordering::Relaxed);
                self.drain.pass_over(from);
                self.drain.finish(|record, process| sink.record(record, process))?;
            }
            if was_on {
                sink.turns.push_back((end, false));
            }
            sink.turn(u64::MAX)?;
            sink.tell_missed(end)?;
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

    /// Ends a session whose log cannot be written: its memory stays, to be recovered.
    fn leave(self, error: Error) -> Result<write::Summary, Error> {
        control::set_on(self.channel, false);
        match &error {
            // Nobody wants the rest of a stream whose reader has gone.
            Error::Log { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                let _ = fs::remove_file(&self.path);
                Ok(self.sink.writer.summary())
            }
            _ => Err(error),
        }
    }
}

fn answer(header: &crate::pool::Header, asked: u32, number: i32) {
    header.answer.store(number as u32, Ordering::Relaxed);
    header.answered.store(asked, Ordering::Release);
    sys::wake(&header.answered);
}

/// Begins the log.
fn open(setup: &Setup, target: Option<&Path>) -> Result<Writer, write::Error> {
    match target {
        Some(path) => Writer::create(setup, path),
        None => Writer::stream(setup, Box::new(io::stdout()), "standard output"),
    }
}

/// Keeps a session in this process, which ends with it. `started` is told the channel. One of AIX that is not meant for the
/// background is interactive: other processes cannot stop it.
///
/// # Errors
/// As [`start`](super::start) and [`stop`](super::stop) have them.
pub fn run(task: &Task, started: impl FnOnce(usize)) -> Result<write::Summary, Error> {
    map()?;
    sys::note_ending_signals();
    let keeper = {
        let _only = lock()?;
        Keeper::begin(task, super::free_channel(task)?)?
    };
    if matches!(task, Task::Aix(options) if !options.background) {
        keeper.drain.pool().header().flags.fetch_or(flag::INTERACTIVE, Ordering::Relaxed);
    }
    started(keeper.channel);
    keeper.keep()
}

/// Keeps a session in a process that was made for it.
pub(super) fn run_alone(task: &Task, channel: usize, to_caller: BorrowedFd<'_>) -> ! {
    let to_caller = sys::stand_alone(to_caller, target_of(task).is_none());
    let status = catch_unwind(AssertUnwindSafe(|| {
        sys::note_ending_signals();
        let (keeper, started) = match Keeper::begin(task, channel) {
            Ok(keeper) => (Some(keeper), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The caller may have gone; the session goes on.
        let _ = File::from(to_caller).write_all(answer_text(&started).as_bytes());
        i32::from(keeper.is_none_or(|keeper| keeper.keep().is_err()))
    }));
    sys::exit_now(status.unwrap_or(101))
}

/// Writes what a killed session left.
pub(super) fn recover(pool: &Pool, channel: usize, path: &Path) -> Result<write::Summary, Error> {
    let header = pool.header();
    let flags = header.flags.load(Ordering::Relaxed);
    let is_set = |bit| flags & bit != 0;
    let layout = if channel == control::QNX {
        Layout::Kev(Logger { big_endian: is_set(flag::BIG_ENDIAN), arguments: "trcdead".into(), ..Logger::default() })
    } else {
        let trace = if is_set(flag::TRACE32) { Width::W32 } else { Width::W64 };
        let options = Options { trace, cpu_ids: is_set(flag::CPU), command: b"trcdead".to_vec(), ..Options::default() };
        Layout::Aix { options, channel }
    };
    let from = header.written_until.load(Ordering::Acquire).max(header.given_up_until.load(Ordering::Relaxed));
    let mut drain = Drain::new(*pool, from);
    let setup = Setup {
        start_ticks: from.max(header.started_ticks.load(Ordering::Relaxed)),
        start_seconds: header.started_seconds.load(Ordering::Relaxed),
        ..Setup::here(layout, drain.clock(), from)
    };
    let log = |source| Error::Log { path: path.to_owned(), source };
    let writer = if channel == control::QNX {
        Writer::create(&setup, path)?
    } else {
        let file = File::create(path).map_err(log)?;
        Writer::stream(&setup, Box::new(file), &path.to_string_lossy())?
    };
    let mut sink = Sink::new(writer, *pool, false);
    drain.recover(|record, process| sink.record(record, process))?;
    Ok(sink.writer.finish()?)
}
