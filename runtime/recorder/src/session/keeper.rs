//! The process that keeps a session: it takes events out of the buffers, and writes the log.

use super::choice::Choice;
use super::{Command, Error, Task, answer_text, create, lock, map, target_of};
use crate::clock::{Clock, Source};
use crate::control;
use crate::drain::Drain;
use crate::logger::Logger;
use crate::options::{Chosen, Mode, Options};
use crate::pool::{Pool, flag};
use crate::record::{Event, Record, Width};
use crate::write::{self, Layout, Setup, ThreadFacts, Writer};
use crate::{symbols, sys};
use std::collections::{HashMap, HashSet, VecDeque};
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
    /// Threads that the session was begun for; `None` for all.
    choice: Option<Choice>,
    /// True if the last thread's events are written.
    is_chosen: bool,
    /// Processes of which the log tells, with their parents, if it tells of their ends.
    parents: HashMap<u32, u32>,
    /// Those of them that had ended before the last pass.
    gone: Vec<u32>,
    /// When the channel was turned on and off, as far as the log does not tell it yet.
    turns: VecDeque<(u64, bool)>,
    /// Events that were missed and of which the log does not tell yet, are counted from here.
    missed_told: u64,
    slots: u64,
}

impl Sink {
    fn new(writer: Writer, pool: Pool, names_functions: bool, chosen: Option<&Chosen>) -> Self {
        let (known, turns) = (HashSet::new(), VecDeque::new());
        let choice = chosen.map(Choice::new);
        let (last, is_chosen) = ((0, 0), choice.is_none());
        let (parents, gone) = (HashMap::new(), Vec::new());
        Sink {
            writer,
            pool,
            names_functions,
            known,
            last,
            choice,
            is_chosen,
            parents,
            gone,
            turns,
            missed_told: 0,
            slots: 0,
        }
    }

    fn record(&mut self, record: &Record<'_>, process: u32) -> Result<(), write::Error> {
        let thread = (record.pid, record.tid);
        if self.last != thread {
            self.last = thread;
            if let Some(choice) = &mut self.choice {
                self.is_chosen = choice.contains(thread, |pid| self.pool.parent_of(pid));
            }
            if self.is_chosen {
                self.meet(thread, process)?;
            }
        }
        if !self.is_chosen {
            return Ok(());
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
            self.parents.clear();
        }
        if self.writer.wants_facts() {
            let facts = thread_facts(thread.0, thread.1);
            // A process that has ended no longer tells its parent.
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

    /// Processes that have ended. What they recorded may still be in their buffers.
    fn ended(&self) -> Vec<u32> {
        self.parents.keys().copied().filter(|pid| !sys::is_alive(*pid, *pid)).collect()
    }

    /// Tells that processes have ended, all of whose events are in the log.
    fn tell_ended(&mut self, pids: &[u32], ticks: u64) -> Result<(), write::Error> {
        for pid in pids {
            if let Some(parent) = self.parents.remove(pid) {
                self.known.retain(|(of, _)| of != pid);
                self.last = (0, 0);
                self.writer.ended(*pid, parent, ticks)?;
            }
        }
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

    /// Tells of events that were lost before a time. How many they are is not known from a header that was overwritten.
    fn tell_missed(&mut self, ticks: u64) -> Result<(), write::Error> {
        if !self.pool.is_intact() {
            return Ok(());
        }
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
                let ends_at = logger.time.and_then(|time| now.checked_add(time));
                let slots = (logger.buffers > 0 && !logger.ring).then(|| u64::from(logger.buffers) * KEV_SLOTS);
                (logger.ring, false, ends_at, slots)
            }
        };
        control::set_on(channel, !is_off);
        let (symbols, chosen) = match task {
            Task::Aix(options) => (options.symbols, options.chosen.as_ref()),
            Task::Kev(_) => (false, None),
        };
        let sink = Sink::new(writer, pool, symbols, chosen);
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
            || (self.channel == control::QNX && self.sink.writer.is_full())
    }

    /// Takes what has been recorded to the log.
    fn pass(&mut self) -> Result<(), Error> {
        let sink = &mut self.sink;
        let gone = sink.ended();
        let until = self.drain.pass(|record, process| sink.record(record, process))?;
        // Events after `until` come with the next pass.
        let before = std::mem::replace(&mut sink.gone, gone);
        sink.tell_ended(&before, until)?;
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
        let gone = sink.ended();
        let mut finish = || {
            if !discards {
                if pool.is_intact() {
                    self.drain.pass_over(header.given_up_until.load(Ordering::Relaxed));
                }
                self.drain.finish(|record, process| sink.record(record, process))?;
            }
            sink.tell_ended(&gone, end)?;
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

/// Reads the facts of a thread from /proc.
fn thread_facts(pid: u32, tid: u32) -> ThreadFacts {
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let stat = read(&format!("task/{tid}/stat"));
    // After the name, which is in parentheses, fields are numbers; the state is field 3.
    let after_name = stat.rsplit(|byte| *byte == b')').next().unwrap_or_default();
    let fields: Vec<&[u8]> = after_name.split(|byte| *byte == b' ').filter(|field| !field.is_empty()).collect();
    let field = |number: usize| -> u32 {
        let text = fields.get(number - 3).and_then(|field| std::str::from_utf8(field).ok());
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let usual = ThreadFacts::default();
    // Threads that are not scheduled in real time have no fixed priority.
    let (priority, policy) = match (field(40), field(41)) {
        (0, _) => (usual.priority, usual.policy),
        real_time => real_time,
    };
    let name_of = |thread: u32| read(&format!("task/{thread}/comm")).trim_ascii_end().to_vec();
    // A thread that was not named has the name of its process.
    let name = Some(name_of(tid)).filter(|name| tid != pid && *name != name_of(pid)).unwrap_or_default();
    ThreadFacts { parent: field(4), name, priority, policy }
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
    let mut sink = Sink::new(writer, *pool, false, None);
    drain.recover(|record, process| sink.record(record, process))?;
    Ok(sink.writer.finish()?)
}
