//! Tests of sessions with traced programs: threads, processes, and death at any moment. Our own readers read the logs.
//!
//! Each test runs in a process of its own, with shared memory of its own.

#![cfg(target_os = "linux")]

use crate::common::{command, run};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tfbc::aix::ReadOptions;
use tfbc::testing::aix::{AixItem, Trace};
use tfbc::testing::input::Input;
use tfbc_recorder::hooks;
use tfbc_recorder::options::{Hooks, Mode, Output, TraceOptions};
use tfbc_recorder::record::Width;
use tfbc_recorder::session::{self, Error, Task};

/// Directory of the test in its child process; `None` in the parent, after the child has finished.
fn in_own_process(test: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("TFBC_TEST_APART") {
        hooks::prepare();
        return Some(folder.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let output = single_test(test, folder.path()).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    None
}

/// This program, running a single test.
fn single_test(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("recorder::{test}"), "--exact", "--nocapture"]).env("TFBC_TEST_APART", folder);
    command.env("TFBC_TRACE_DIR", folder.join("memory"));
    command
}

/// Starts the same test as a process with a role in it.
fn part(test: &str, folder: &Path, part: &str) -> Child {
    single_test(test, folder).env("TFBC_TEST_PART", part).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn is_part(name: &str) -> bool {
    std::env::var_os("TFBC_TEST_PART").is_some_and(|part| part == name)
}

fn task(log: &Path) -> TraceOptions {
    TraceOptions { output: Output::File(log.to_owned()), background: true, ..TraceOptions::default() }
}

fn start(options: TraceOptions) -> usize {
    session::start(&Task::Aix(options)).unwrap()
}

/// Records one event of a thread: the thread's number, and a counter.
fn count(who: u64, n: u64) {
    match n % 4 {
        0 => hooks::words(Width::W64, true, 0x0100_0000, [who, n]),
        1 => hooks::words(Width::W64, true, 0x0100_0005, [who, n, 3, 4, 5]),
        2 => hooks::words(Width::W32, true, 0x0200_0000, [who, n, 0, 0, 0]),
        _ => hooks::generic(0, Width::W64, true, 0x0300_0000, who, &n.to_be_bytes()),
    }
}

/// Contents of a log: the counts per thread, in order, and the number of missed events.
#[derive(Default, Debug)]
struct LogCounts {
    by_thread: BTreeMap<u64, Vec<u64>>,
    missed: u64,
    damaged: Vec<String>,
    ids: BTreeMap<u16, usize>,
    last_ticks: u64,
    went_back: usize,
    bytes: usize,
}

fn read(log: &Path) -> LogCounts {
    let mut counts = LogCounts::default();
    let input = Input::from_bytes(std::fs::read(log).unwrap());
    let mut trace = Trace::from_input("log", input, &ReadOptions::default()).unwrap();
    while let Some(item) = trace.next().unwrap() {
        let event = match item {
            AixItem::Event(event) => event,
            AixItem::Notice(notice) if !notice.damage => continue,
            // A session was killed before it entered its buffer into the table.
            AixItem::Notice(notice) if notice.message.starts_with("the header does not refer to") => continue,
            AixItem::Notice(notice) => {
                counts.damaged.push(format!("{notice:?}"));
                continue;
            }
        };
        *counts.ids.entry(event.id).or_default() += 1;
        if let Some(ticks) = event.ticks {
            // Stamps of a 32-bit trace wrap.
            counts.went_back += usize::from(ticks < counts.last_ticks && ticks >> 32 != 0);
            counts.last_ticks = ticks;
        }
        let word =
            |at: usize, len: usize| event.bytes[at..at + len].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let (who, n) = match event.id {
            0x0100 | 0x0300 => (word(8, 8), word(16, 8)),
            0x0200 => (word(4, 4), word(8, 4)),
            0x0060 => {
                counts.missed += if event.wide { word(16, 8) } else { word(8, 4) };
                continue;
            }
            _ => continue,
        };
        counts.bytes += event.recorded.len();
        counts.by_thread.entry(who).or_default().push(n);
    }
    counts
}

impl LogCounts {
    /// Asserts that the log is complete and ordered by time: each thread counted from 0 to its end.
    fn assert_whole(&self, threads: &[(u64, u64)]) {
        assert_eq!((&self.damaged[..], self.missed, self.went_back), (&[][..], 0, 0));
        let expected: BTreeMap<u64, Vec<u64>> = threads.iter().map(|(who, n)| (*who, (0..*n).collect())).collect();
        assert!(self.by_thread == expected, "{:?}", self.lengths());
    }

    fn lengths(&self) -> BTreeMap<u64, usize> {
        self.by_thread.iter().map(|(who, counts)| (*who, counts.len())).collect()
    }
}

fn is_counted_from_0(counts: &[u64]) -> bool {
    counts.first() == Some(&0) && is_ascending_by_one(counts)
}

fn is_ascending_by_one(counts: &[u64]) -> bool {
    counts.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

#[test]
fn threads_and_processes_record_into_one_channel() {
    const NAME: &str = "threads_and_processes_record_into_one_channel";
    let Some(folder) = in_own_process(NAME) else { return };
    let numbers = |from: u64| {
        std::thread::scope(|scope| {
            (from..from + 4).for_each(|who| drop(scope.spawn(move || (0..5000).for_each(|n| count(who, n)))));
        });
    };
    if is_part("other") {
        return numbers(10);
    }
    for trace in [Width::W64, Width::W32] {
        let log = folder.join("log");
        // Nothing is recorded before the start and after the stop.
        count(0, 0);
        assert_eq!(start(TraceOptions { trace, buffer_size: 1 << 20, log_size: 8 << 20, ..task(&log) }), 0);
        let mut others = [part(NAME, &folder, "other")];
        numbers(1);
        others.iter_mut().for_each(|other| assert!(other.wait().unwrap().success()));
        session::stop(0, false).unwrap();
        count(0, 1);
        let threads: Vec<_> = (1..5).chain(10..14).map(|who| (who, 5000)).collect();
        read(&log).assert_whole(&threads);
        assert!(session::sessions().unwrap().is_empty());
    }
}

#[test]
fn collection_is_turned_off_and_on() {
    let Some(folder) = in_own_process("collection_is_turned_off_and_on") else { return };
    let log = folder.join("log");
    start(TraceOptions { off: true, ..task(&log) });
    count(1, 100);
    session::on(0).unwrap();
    (0..10).for_each(|n| count(1, n));
    session::off(0).unwrap();
    count(1, 200);
    session::on(0).unwrap();
    (10..20).for_each(|n| count(1, n));
    session::stop(0, false).unwrap();
    let counts = read(&log);
    counts.assert_whole(&[(1, 20)]);
    assert_eq!((counts.ids[&0x0010], counts.ids[&0x0020]), (2, 2));
}

#[test]
fn ids_are_chosen() {
    let Some(folder) = in_own_process("ids_are_chosen") else { return };
    let log = folder.join("log");
    for (hooks, expected) in
        [(Hooks::Only(vec![0x0100]), [true, false, false]), (Hooks::Except(vec![0x0100, 0x0300]), [false, true, false])]
    {
        start(TraceOptions { hooks, ..task(&log) });
        let ids = [0x0100u16, 0x0200, 0x0300];
        assert_eq!(ids.map(|id| hooks::is_hook_on(0, id)), expected);
        assert!(!hooks::is_hook_on(1, 0x0100) && !hooks::is_hook_on(99, 0x0100));
        (0..40).for_each(|n| count(1, n));
        session::stop(0, false).unwrap();
        let counts = read(&log);
        assert_eq!(ids.map(|id| counts.ids.contains_key(&id)), expected);
        assert!(!hooks::is_hook_on(0, 0x0100));
    }
}

#[test]
fn circular_keeps_newest_and_single_keeps_first_events() {
    let Some(folder) = in_own_process("circular_keeps_newest_and_single_keeps_first_events") else { return };
    let log = folder.join("log");
    const ALL: u64 = 200_000;
    for (mode, buffer_size) in [(Mode::Circular, 64 << 10), (Mode::Single, 64 << 10), (Mode::Circular, 8192)] {
        start(TraceOptions { mode, buffer_size, log_size: buffer_size, ..task(&log) });
        (0..ALL).for_each(|n| count(1, n));
        session::stop(0, false).unwrap();
        let counts = read(&log);
        let kept = &counts.by_thread[&1];
        assert!(is_ascending_by_one(kept));
        assert_eq!(
            if mode == Mode::Circular { kept.last() } else { kept.first() },
            Some(&if mode == Mode::Circular { ALL - 1 } else { 0 })
        );
        // The buffer is full, except for at most one event and the session's own.
        assert!(
            counts.bytes as u64 <= buffer_size && counts.bytes as u64 > buffer_size * 9 / 10 - 400,
            "{}",
            counts.bytes
        );
        assert_eq!(counts.missed, ALL - kept.len() as u64);
        assert_eq!((counts.damaged.len(), counts.went_back), (0, 0));
    }
}

#[test]
fn a_log_that_wraps_keeps_the_newest() {
    let Some(folder) = in_own_process("a_log_that_wraps_keeps_the_newest") else { return };
    let log = folder.join("log");
    start(TraceOptions { buffer_size: 64 << 10, log_size: 256 << 10, ..task(&log) });
    // Slow enough for a log that is written at the same time.
    for n in 0..50_000 {
        count(1, n);
        if n % 500 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    session::stop(0, false).unwrap();
    let counts = read(&log);
    let kept = &counts.by_thread[&1];
    assert!(is_ascending_by_one(kept) && kept.last() == Some(&49_999), "{:?} {:?}", kept.first(), kept.last());
    assert!(counts.ids[&0x0050] > 0 && counts.missed == 0 && counts.damaged.is_empty(), "{:?}", counts.damaged);
    // The session's own events and a table are added.
    assert!(std::fs::metadata(&log).unwrap().len() <= 2 * (256 << 10));
}

#[test]
fn existing_and_missing_sessions_are_reported() {
    let Some(folder) = in_own_process("existing_and_missing_sessions_are_reported") else { return };
    let log = folder.join("log");
    assert!(matches!(session::stop(0, false), Err(Error::NotActive { channel: 0 })));
    assert!(matches!(session::on(77), Err(Error::NoChannel { channel: 77 })));
    start(task(&log));
    assert!(matches!(session::start(&Task::Aix(task(&log))), Err(Error::Active { channel: 0, pid }) if pid > 1));
    assert!(matches!(session::recover(0, &folder.join("x"), true), Err(Error::Active { .. })));
    // Channels 1 to 7 are in use.
    let generic = |n: usize| TraceOptions { generic: true, ..task(&folder.join(format!("g{n}"))) };
    for n in 1..8 {
        assert_eq!(start(generic(n)), n);
    }
    assert!(matches!(session::start(&Task::Aix(generic(8))), Err(Error::NoFreeChannel)));
    for channel in 0..9 {
        hooks::generic(channel, Width::W64, true, 0x0300_0000, channel as u64, &0u64.to_be_bytes());
    }
    let statuses = session::sessions().unwrap();
    assert_eq!(statuses.iter().map(|status| status.channel).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert!(statuses.iter().all(|status| status.is_alive && status.is_on && status.missed == 0));
    for n in (0..8).rev() {
        session::stop(n, false).unwrap();
        let log = if n == 0 { log.clone() } else { folder.join(format!("g{n}")) };
        read(&log).assert_whole(&[(n as u64, 1)]);
    }
    let missing = session::start(&Task::Aix(task(&folder.join("none/log"))));
    assert!(
        matches!(missing, Err(Error::Log { ref path, ref source }) if path.ends_with("none/log") && source.raw_os_error() == Some(2)),
        "{missing:?}"
    );
    assert!(session::sessions().unwrap().is_empty());
}

#[test]
fn killed_programs_lose_their_unfinished_event_only() {
    const NAME: &str = "killed_programs_lose_their_unfinished_event_only";
    const READY: &str = "the first event is recorded";
    let Some(folder) = in_own_process(NAME) else { return };
    if is_part("endless") {
        let who = u64::from(std::process::id());
        count(who, 0);
        println!("{READY}");
        // Records for about ten milliseconds, and never more than the buffers can store.
        for n in 1..10_000 {
            count(who, n);
            (0..100).for_each(|_| std::hint::spin_loop());
        }
        loop {
            std::thread::park();
        }
    }
    let log = folder.join("log");
    start(TraceOptions { buffer_size: 8 << 20, log_size: 64 << 20, ..task(&log) });
    let mut killed = Vec::new();
    for round in 0..20u64 {
        let mut command = single_test(NAME, &folder);
        let mut child = command.env("TFBC_TEST_PART", "endless").stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(said.map_while(Result::ok).any(|line| line == READY));
        std::thread::sleep(Duration::from_micros(round * 777));
        child.kill().unwrap();
        child.wait().unwrap();
        killed.push(u64::from(child.id()));
    }
    (0..1000).for_each(|n| count(7, n));
    session::stop(0, false).unwrap();
    let counts = read(&log);
    assert_eq!((&counts.damaged[..], counts.went_back), (&[][..], 0));
    assert_eq!(counts.by_thread[&7], (0..1000).collect::<Vec<_>>());
    assert_eq!(counts.missed, 0);
    assert!(killed.iter().all(|who| is_counted_from_0(&counts.by_thread[who])));
}

#[test]
fn killed_sessions_leave_a_log_and_recoverable_events() {
    const NAME: &str = "killed_sessions_leave_a_log_and_recoverable_events";
    let Some(folder) = in_own_process(NAME) else { return };
    let log = folder.join("log");
    let rest = folder.join("rest");
    for round in 0..20u64 {
        start(TraceOptions { buffer_size: 256 << 10, log_size: 64 << 20, ..task(&log) });
        let pid = session::sessions().unwrap()[0].pid;
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(3000 + 1931 * round));
            assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
        });
        for n in 0..3000u64 {
            count(1, n);
            if n % 100 == 0 {
                std::thread::sleep(Duration::from_micros(500));
            }
        }
        killer.join().unwrap();
        while session::sessions().unwrap()[0].is_alive {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(session::stop(0, false), Err(Error::Dead { channel: 0 })));
        let written = read(&log);
        session::recover(0, &rest, round % 2 == 0).unwrap();
        let recovered = read(&rest);
        assert_eq!((&written.damaged[..], &recovered.damaged[..]), (&[][..], &[][..]));
        let all: std::collections::BTreeSet<u64> =
            [&written, &recovered].iter().filter_map(|counts| counts.by_thread.get(&1)).flatten().copied().collect();
        assert!(all.iter().copied().eq(0..3000), "round {round}: {} events", all.len());
    }
}

#[test]
fn hooks_of_a_killed_session_turn_off() {
    let Some(folder) = in_own_process("hooks_of_a_killed_session_turn_off") else { return };
    let log = folder.join("log");
    start(TraceOptions { buffer_size: 8192, log_size: 64 << 10, ..task(&log) });
    let pid = session::sessions().unwrap()[0].pid;
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    while session::sessions().unwrap()[0].is_alive {
        std::thread::sleep(Duration::from_millis(1));
    }
    let n = (0..10_000_000).take_while(|n| hooks::is_on(0).then(|| count(1, *n)).is_some()).count();
    assert!(n > 1000 && n < 10_000_000, "{n}");
    // The next session is independent of the dead one, whose events can still be recovered.
    let dead = session::sessions().unwrap();
    assert!(dead[0].pid == pid && !dead[0].is_alive && !dead[0].is_on && dead[0].log == log);
    start(task(&log));
    (0..10).for_each(|n| count(2, n));
    session::stop(0, false).unwrap();
    read(&log).assert_whole(&[(2, 10)]);
    assert!(matches!(session::stop(0, false), Err(Error::NotActive { channel: 0 })));
    assert_eq!(session::sessions().unwrap(), dead);
    let rest = folder.join("rest");
    session::recover(0, &rest, false).unwrap();
    assert!(is_ascending_by_one(&read(&rest).by_thread[&1]));
    assert!(matches!(session::recover(0, &rest, false), Err(Error::NotActive { channel: 0 })));
}

#[test]
fn children_record_for_themselves() {
    const NAME: &str = "children_record_for_themselves";
    let Some(folder) = in_own_process(NAME) else { return };
    if is_part("after exec") {
        return (0..100).for_each(|n| count(3, n));
    }
    let log = folder.join("log");
    start(task(&log));
    (0..100).for_each(|n| count(1, n));
    forked(|| (0..100).for_each(|n| count(2, n)));
    (100..200).for_each(|n| count(1, n));
    // A program that runs another one leaves its buffer unchanged.
    assert!(part(NAME, &folder, "after exec").wait().unwrap().success());
    session::stop(0, false).unwrap();
    read(&log).assert_whole(&[(1, 200), (2, 100), (3, 100)]);
}

/// Runs `run` in a child made by `fork`.
#[expect(unsafe_code, reason = "the test is of fork")]
fn forked(run: impl FnOnce()) {
    // SAFETY: the child runs the closure and ends at once.
    unsafe {
        match libc::fork() {
            0 => {
                run();
                libc::_exit(0);
            }
            child => assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child),
        }
    }
}

static BY_SIGNAL: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
/// Signals record while this is set.
static RECORDS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);

extern "C" fn on_alarm(_: libc::c_int) {
    if !RECORDS.load(std::sync::atomic::Ordering::Relaxed) {
        return;
    }
    let n = BY_SIGNAL.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    hooks::words(Width::W64, true, 0x0100_0000, [9, n]);
}

#[test]
fn signal_handlers_record_within_hooks() {
    let Some(folder) = in_own_process("signal_handlers_record_within_hooks") else { return };
    let log = folder.join("log");
    start(TraceOptions { buffer_size: 16 << 20, log_size: 64 << 20, ..task(&log) });
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let alarms = Alarms::of_this_thread();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                alarms.ring();
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        (0..300_000).for_each(|n| {
            count(1, n);
            if n % 10_000 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    session::stop(0, false).unwrap();
    let n = BY_SIGNAL.load(std::sync::atomic::Ordering::Relaxed);
    assert!(n > 10, "{n} signals");
    read(&log).assert_whole(&[(1, 300_000), (9, n)]);
}

#[test]
fn signal_handlers_record_within_a_threads_first_hook() {
    let Some(folder) = in_own_process("signal_handlers_record_within_a_threads_first_hook") else { return };
    let log = folder.join("log");
    RECORDS.store(false, std::sync::atomic::Ordering::Relaxed);
    // A thread takes two buffers: one for its hook, and one for the handler that interrupts it. A session of this size
    // has 64, so it loses no event even if it is never scheduled.
    const THREADS_PER_SESSION: u64 = 30;
    for _ in 0..10 {
        start(TraceOptions { buffer_size: 16 << 20, log_size: 64 << 20, ..task(&log) });
        BY_SIGNAL.store(0, std::sync::atomic::Ordering::Relaxed);
        let threads = 100..100 + THREADS_PER_SESSION;
        threads.clone().for_each(first_hook_with_signals);
        session::stop(0, false).unwrap();
        let threads = threads.map(|who| (who, 1));
        // On a busy machine no signal may arrive within a hook.
        let by_signal = Some((9, BY_SIGNAL.load(std::sync::atomic::Ordering::Relaxed))).filter(|(_, n)| *n > 0);
        read(&log).assert_whole(&by_signal.into_iter().chain(threads).collect::<Vec<_>>());
    }
}

/// Records the first event of a new thread while another one sends signals to it. No other thread is in the session,
/// so the hook enters it for the whole process.
fn first_hook_with_signals(who: u64) {
    let first = std::thread::spawn(move || {
        let alarms = Alarms::of_this_thread();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    alarms.ring();
                }
            });
            RECORDS.store(true, std::sync::atomic::Ordering::Relaxed);
            count(who, 0);
            RECORDS.store(false, std::sync::atomic::Ordering::Relaxed);
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    });
    first.join().unwrap();
}

/// Sends signals to one thread, whose handler interrupts its recording.
struct Alarms(libc::pthread_t);

#[expect(unsafe_code, reason = "the test is of signals")]
impl Alarms {
    fn of_this_thread() -> Self {
        // SAFETY: the handler calls only a hook.
        unsafe {
            libc::signal(libc::SIGALRM, on_alarm as extern "C" fn(libc::c_int) as libc::sighandler_t);
            Alarms(libc::pthread_self())
        }
    }

    fn ring(&self) {
        // SAFETY: the thread lives until the caller has joined the sender.
        assert_eq!(unsafe { libc::pthread_kill(self.0, libc::SIGALRM) }, 0);
    }
}

#[test]
fn ended_threads_return_their_memory() {
    let Some(folder) = in_own_process("ended_threads_return_their_memory") else { return };
    let log = folder.join("log");
    let maps = || std::fs::read_to_string("/proc/self/maps").unwrap().matches("/memory/").count();
    for round in 0..40 {
        start(TraceOptions { log_size: 16 << 20, ..task(&log) });
        for who in 0..200u64 {
            std::thread::spawn(move || (0..20).for_each(|n| count(who, n))).join().unwrap();
        }
        session::stop(0, false).unwrap();
        let threads: Vec<_> = (0..200).map(|who| (who, 20)).collect();
        read(&log).assert_whole(&threads);
        assert!(maps() <= 3, "round {round}: {}", std::fs::read_to_string("/proc/self/maps").unwrap());
    }
}

#[test]
fn full_device_ends_the_recording_only() {
    let Some(folder) = in_own_process("full_device_ends_the_recording_only") else { return };
    let full = Path::new("/dev/full");
    let started = session::start(&Task::Aix(task(full)));
    // The header is written first.
    assert!(
        matches!(&started, Err(Error::Log { path, source }) if path == full && source.raw_os_error() == Some(28)),
        "{started:?}"
    );
    count(1, 0);
    assert!(!hooks::is_on(0));
    drop(folder);
}

#[test]
fn events_lost_to_a_full_disk_are_reported() {
    let Some(folder) = in_own_process("events_lost_to_a_full_disk_are_reported") else { return };
    let log = folder.join("log");
    // Smaller than the session's memory.
    const DISK: u64 = (8 << 20) + 1234;
    limit_files(DISK);
    start(TraceOptions { buffer_size: 256 << 10, log_size: 16 << 20, ..task(&log) });
    (0..300_000).for_each(|n| count(1, n));
    let stopped = session::stop(0, false);
    assert!(
        matches!(&stopped, Err(Error::Log { source, .. }) if source.raw_os_error() == Some(libc::EFBIG)),
        "{stopped:?}"
    );
    assert_eq!(std::fs::metadata(&log).unwrap().len(), DISK);
    let read = |salvage| {
        let input = Input::from_bytes(std::fs::read(&log).unwrap());
        let mut trace = Trace::from_input("log", input, &ReadOptions { salvage, ..ReadOptions::default() }).unwrap();
        let (mut end, mut is_damaged) = (0, false);
        while let Some(item) = trace.next().unwrap() {
            match item {
                AixItem::Event(event) => end = event.offset + event.recorded.len() as u64,
                AixItem::Notice(notice) => is_damaged |= notice.damage,
            }
        }
        (end, is_damaged)
    };
    // The largest event has 64 bytes; the last one was written partially.
    let (end, is_damaged) = read(false);
    assert!(is_damaged || DISK - end < 64, "events end at {end}, and the file at {DISK}");
    let (end, _) = read(true);
    assert!(DISK - end < 64, "events end at {end}, and the file at {DISK}");
}

/// Limits the size of files.
#[expect(unsafe_code, reason = "the test is of a system call's failure")]
fn limit_files(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: `limit` is valid. The signal is ignored, because its default action would end the process.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}

#[test]
fn long_data_is_cut() {
    let Some(folder) = in_own_process("long_data_is_cut") else { return };
    let log = folder.join("log");
    start(task(&log));
    hooks::generic(0, Width::W64, true, 0x0300_0000, 5, &vec![0; 10_000]);
    hooks::generic(0, Width::W64, true, 0x0300_0000, 6, &[]);
    assert_eq!(session::sessions().unwrap()[0].cut, 1);
    session::stop(0, false).unwrap();
    let input = Input::from_bytes(std::fs::read(&log).unwrap());
    let mut trace = Trace::from_input("log", input, &ReadOptions::default()).unwrap();
    let mut lens = Vec::new();
    while let Some(item) = trace.next().unwrap() {
        match item {
            AixItem::Event(event) if event.id == 0x0300 => lens.push(event.bytes.len()),
            AixItem::Event(_) => {}
            AixItem::Notice(notice) => panic!("{notice:?}"),
        }
    }
    assert_eq!(lens, [16 + 4096, 16]);
}

#[test]
fn qnx_events_are_printed_as_they_were_logged() {
    use tfbc_recorder::logger::Logger;
    use tfbc_recorder::qnx;
    let Some(folder) = in_own_process("qnx_events_are_printed_as_they_were_logged") else { return };
    for big_endian in [false, true] {
        let log = folder.join("log.kev");
        // Without a trace nothing is recorded and no error occurs, but invalid arguments are still reported.
        assert_eq!((qnx::logi(7, 1, 2), qnx::logi(1024, 1, 2)), (0, libc::EINVAL));
        let logger = Logger { output: Output::File(log.clone()), big_endian, ..Logger::default() };
        assert_eq!(session::start(&Task::Kev(logger.clone())).unwrap(), 8);
        assert!(matches!(session::start(&Task::Kev(logger)), Err(Error::Active { channel: 8, .. })));
        assert_eq!(qnx::logi(7, 0x1234, 0xFFFF_FFFF), 0);
        assert_eq!(qnx::log_text(8, 0, b"short"), 0);
        assert_eq!(qnx::log_text(1023, 0, b"a text that takes several slots"), 0);
        assert_eq!(qnx::log_text(9, 6, b"a text that is cut"), 0);
        assert_eq!(qnx::logb(10, &[1u32.to_ne_bytes(), 2u32.to_ne_bytes()].concat()), 0);
        assert_eq!(qnx::logbc(7 << 10, 0, &[5u32.to_ne_bytes(), 6u32.to_ne_bytes()].concat()), 0);
        assert_eq!((qnx::logbc(7, 0, &[1]), qnx::logbc(32 << 10, 0, &[1])), (libc::EINVAL, libc::EINVAL));
        assert_eq!((qnx::func_enter(0x1000, 0x2000), qnx::func_exit(0x1000, 0x2000), qnx::here(0x3000)), (0, 0, 0));
        session::stop(8, false).unwrap();
        let mut command = command("traceprinter");
        let (text, err, status) = run(command.args(["--compat=1.02", "-n", "-f"]).arg(&log));
        assert_eq!((err.as_str(), status), ("", 0));
        // Removes the times and CPUs of this run.
        let events: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("t:0x")?.get(16..)).collect();
        let is_own = |event: &&str| !["CONTROL", "PROCESS", "THREAD"].iter().any(|class| event.starts_with(class));
        let (events, around): (Vec<&str>, Vec<&str>) = events.into_iter().partition(is_own);
        assert!(around.iter().any(|event| event.starts_with("THREAD  :THCREATE")), "{around:?}");
        assert_eq!(
            events,
            [
                "USREVENT:EVENT:7, d0:0x00001234 d1:0xffffffff",
                // A text of up to 8 bytes fits into a simple slot, which does not mark it as text.
                if big_endian {
                    "USREVENT:EVENT:8, d0:0x73686f72 d1:0x74000000"
                } else {
                    "USREVENT:EVENT:8, d0:0x726f6873 d1:0x00000074"
                },
                "USREVENT:EVENT:1023 STR:\"a text that takes several slots\"",
                if big_endian {
                    "USREVENT:EVENT:9, d0:0x61207465 d1:0x78000000"
                } else {
                    "USREVENT:EVENT:9, d0:0x65742061 d1:0x00000078"
                },
                "USREVENT:EVENT:10, d0:0x00000001 d1:0x00000002",
                "COMM    :SND_MESSAGE   rcvid:0x00000005 pid:6",
                "SYSTEM  :FUNC_ENTER thisfn:0x00001000 call_site:0x00002000",
                "SYSTEM  :FUNC_EXIT thisfn:0x00001000 call_site:0x00002000",
                "SYSTEM  :ADDRESS addr:0x00003000",
            ]
        );
    }
}

#[test]
fn memory_is_in_a_folder_of_the_users_own() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let Some(folder) = in_own_process("memory_is_in_a_folder_of_the_users_own") else { return };
    let trace = |name: &str| {
        let mut command = command("trace");
        command.args(["-a", "-o"]).arg(folder.join("log")).env("TFBC_TRACE_DIR", folder.join(name));
        let (_, err, status) = run(command);
        (status, err)
    };
    std::fs::create_dir(folder.join("open")).unwrap();
    std::fs::set_permissions(folder.join("open"), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::create_dir(folder.join("other")).unwrap();
    symlink(folder.join("other"), folder.join("link")).unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    for name in ["open", "link", "file"] {
        let (status, said) = trace(name);
        assert!(status == 1 && said.contains("belongs to this user"), "{name}: {said}");
    }
    assert_eq!(std::fs::read_dir(folder.join("other")).unwrap().count(), 0);
    assert_eq!(trace("none/none").0, 1);
}
