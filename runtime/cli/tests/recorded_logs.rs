//! Logs and streams written by the recorder, read by the reader and by reports.
#![cfg(target_os = "linux")]

use crate::common::{OwnedEvent, TraceContents, command, read_with, run};
use std::cell::RefCell;
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::rc::Rc;
use tfbc::aix::{AixKind, ReadOptions};
use tfbc::testing::aix::{LogItem, Logs, Trace};
use tfbc::testing::input::Input;
use tfbc_recorder::clock::{Clock, ClockSource};
use tfbc_recorder::options::{Hooks, Mode, TraceOptions};
use tfbc_recorder::record::{Data, EventContent, Record, Width};
use tfbc_recorder::write::{
    AixLog, AixStream, HostMachine, LogLayout, Note, Setup, Symbol, ThreadInfo, WriteSummary, Writer,
};

const START: u64 = 5_000_000_000;

fn setup(options: TraceOptions) -> Setup {
    Setup {
        layout: LogLayout::Aix { options, channel: 3 },
        clock: Clock { source: ClockSource::Monotonic, hertz: 1_000_000_000 },
        start_ticks: START,
        start_seconds: 941_117_645,
        machine: HostMachine {
            sysname: "Linux".into(),
            nodename: "moscow".into(),
            release: "6.12".into(),
            version: "#1 SMP a version that is far too long for its field".into(),
            machine: "x86_64".into(),
            ip_address: Some([9, 48, 162, 180]),
            n_cpus: 4,
            boot_seconds: 941_000_000,
        },
        processes: vec![ThreadInfo { pid: 40, tid: 41, path: b"/usr/bin/sensor".to_vec() }],
        symbols: vec![Symbol { pid: 40, address: 0x1000, name: b"main".to_vec() }],
        recorder: 7,
    }
}

fn options(trace: Width, mode: Mode, buffer_size: u64, log_size: u64) -> TraceOptions {
    TraceOptions { trace, mode, buffer_size, log_size, command: b"trace -a".to_vec(), ..TraceOptions::default() }
}

/// File in memory that records its writes; one or all of them can be made to fail.
#[derive(Debug, Clone, Default)]
struct Disk {
    state: Rc<RefCell<SinkState>>,
    at: u64,
}

#[derive(Debug, Default)]
struct SinkState {
    writes: Vec<(u64, Vec<u8>)>,
    calls: usize,
    /// Index of the write that fails after half of its bytes; true if all later ones fail too.
    fails_at: Option<(usize, bool)>,
    has_failed: bool,
}

impl Disk {
    fn failing(at: usize, for_good: bool) -> Self {
        let disk = Disk::default();
        disk.state.borrow_mut().fails_at = Some((at, for_good));
        disk
    }

    fn bytes(&self) -> Vec<u8> {
        image(&self.state.borrow().writes)
    }
}

/// File contents after some writes.
fn image(writes: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for (at, bytes) in writes {
        let (at, end) = (*at as usize, *at as usize + bytes.len());
        file.resize(end.max(file.len()), 0);
        file[at..end].copy_from_slice(bytes);
    }
    file
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.borrow_mut();
        let call = state.calls;
        state.calls += 1;
        let n = match state.fails_at {
            Some((at, _)) if call == at && bytes.len() > 16 => bytes.len() / 2,
            Some((at, _)) if call == at || (call == at + 1 && !state.has_failed) => 0,
            Some((at, true)) if call > at => 0,
            _ => bytes.len(),
        };
        if n == 0 && !bytes.is_empty() {
            state.has_failed = true;
            return Err(io::Error::from_raw_os_error(28)); // ENOSPC
        }
        state.writes.push((self.at, bytes[..n].to_vec()));
        self.at += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else { return Err(io::Error::other("from the start alone")) };
        self.at = at;
        Ok(at)
    }
}

/// A hook in owned form.
#[derive(Debug, Clone)]
struct OwnedHook {
    width: Width,
    stamped: bool,
    id: u16,
    subhook: u16,
    words: Vec<u64>,
    bytes: Option<Vec<u8>>,
    ticks: u64,
    tid: u32,
}

impl OwnedHook {
    fn record<R>(&self, take: impl FnOnce(&Record<'_>) -> R) -> R {
        let data = match &self.bytes {
            Some(bytes) => Data::Generic { word: self.words[0], bytes },
            None => Data::Words(&self.words),
        };
        let OwnedHook { width, stamped, id, subhook, ticks, tid, .. } = *self;
        let event = EventContent::Hook { width, stamped, id, subhook, data };
        take(&Record { ticks, pid: 1, tid, cpu: 2, event })
    }

    /// Bytes that templates see, from the format's description; `flags` are added by a 64-bit kernel.
    fn template_bytes(&self, flags: u16) -> Vec<u8> {
        let len = self.bytes.as_ref().map_or(0, Vec::len) as u32;
        let narrow = |word: &u64| (*word as u32).to_be_bytes();
        let tail = self.bytes.clone().unwrap_or_default();
        match (self.width, &self.bytes) {
            (Width::W32, bytes) => {
                let mut words = self.words.clone();
                if bytes.is_none() && words.len() > 1 {
                    words.resize(5, 0);
                }
                let (n, low) = if bytes.is_some() { (0, len) } else { (1 + words.len() as u32, self.subhook.into()) };
                let t = if self.stamped { 8 } else { 0 };
                let head = u32::from(self.id) << 16 | (t | n) << 16 | low;
                [head.to_be_bytes().to_vec(), words.iter().flat_map(narrow).collect(), tail].concat()
            }
            (Width::W64, bytes) => {
                let flags = flags | if self.stamped { 0x8000 } else { 0 } | if bytes.is_some() { 0x4000u16 } else { 0 };
                let len = if bytes.is_some() { len as u16 } else { 8 * self.words.len() as u16 };
                let head = [flags, len, self.id, self.subhook].map(u16::to_be_bytes).concat();
                [head, self.words.iter().flat_map(|word| word.to_be_bytes()).collect(), tail].concat()
            }
        }
    }
}

/// Pseudorandom numbers.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Hooks of the given program widths. `longest` limits the bytes of generic ones, and `gap` the ticks between two.
fn hooks(n: usize, widths: &[Width], longest: u64, gap: u64) -> Vec<OwnedHook> {
    let mut numbers = RandomNumbers(0x9E37_79B9_7F4A_7C15);
    let mut ticks = START;
    let mut hook = || {
        ticks += numbers.below(gap);
        let width = widths[numbers.below(widths.len() as u64) as usize];
        let mask = if width == Width::W32 { 0xFFFF_FFFF } else { u64::MAX };
        let generic = numbers.below(3) == 0;
        let n_words = if generic { 1 } else { numbers.below(6) };
        OwnedHook {
            width,
            stamped: numbers.below(4) > 0,
            id: (0x100 + numbers.below(0xE00) as u16) << 4,
            subhook: if generic && width == Width::W32 { 0 } else { numbers.below(0x1_0000) as u16 },
            words: (0..n_words).map(|_| numbers.below(u64::MAX) & mask).collect(),
            bytes: generic.then(|| (0..numbers.below(longest + 1)).map(|_| numbers.below(256) as u8).collect()),
            ticks,
            tid: 40 + numbers.below(4) as u32,
        }
    };
    (0..n).map(|_| hook()).collect()
}

/// Events of programs.
fn programs(read: &TraceContents) -> Vec<OwnedEvent> {
    read.events.iter().filter(|event| event.id >= 0x0100).cloned().collect()
}

/// The recorder's own events with an id.
fn own(read: &TraceContents, id: u16) -> Vec<&OwnedEvent> {
    read.events.iter().filter(|event| event.id == id).collect()
}

/// Words of a plain event in the trace's width.
fn words(event: &OwnedEvent) -> Vec<u64> {
    let wide = event.bytes.len().is_multiple_of(8) && event.bytes[0] & 0x80 != 0;
    let n = if wide { 8 } else { 4 };
    event.bytes[n..].chunks(n).map(|word| word.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))).collect()
}

fn assert_same(events: &[OwnedEvent], hooks: &[OwnedHook], trace: Width, flags: u16) {
    assert_eq!(events.len(), hooks.len());
    for (event, hook) in events.iter().zip(hooks) {
        let ticks = if trace == Width::W32 { hook.ticks & 0xFFFF_FFFF } else { hook.ticks };
        assert_eq!(event.bytes, hook.template_bytes(flags), "{hook:?}");
        assert_eq!((event.id, event.tid), (hook.id, hook.tid.into()));
        assert_eq!(event.ticks, hook.stamped.then_some(ticks), "{hook:?}");
    }
}

fn log_of(setup: &Setup, hooks: &[OwnedHook]) -> (Disk, WriteSummary) {
    let disk = Disk::default();
    let mut log = AixLog::create(disk.clone(), setup).unwrap();
    for hook in hooks {
        hook.record(|record| log.record(record)).unwrap();
    }
    log.finish().unwrap();
    (disk, log.summary())
}

fn stream_of(setup: &Setup, hooks: &[OwnedHook]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut stream = AixStream::create(&mut bytes, setup).unwrap();
    for hook in hooks {
        hook.record(|record| stream.record(record)).unwrap();
    }
    stream.finish().unwrap();
    drop(stream);
    bytes
}

fn read(bytes: &[u8]) -> TraceContents {
    let read = read_with(bytes, &ReadOptions::default());
    assert_eq!(read.damage, [""; 0]);
    read
}

const LAYOUTS: [(Width, Width); 4] =
    [(Width::W32, Width::W32), (Width::W32, Width::W64), (Width::W64, Width::W32), (Width::W64, Width::W64)];

#[test]
fn every_layout_comes_back_as_it_was_recorded() {
    for (trace, width) in LAYOUTS {
        for cpu_ids in [false, true] {
            let hooks = hooks(400, &[width], 4096, 1000);
            let flags = if cpu_ids && trace == Width::W64 { 0x1000 } else { 0 };
            for mode in [Mode::Alternate, Mode::Circular, Mode::Single] {
                let setup = setup(TraceOptions { cpu_ids, ..options(trace, mode, 1 << 20, 2 << 20) });
                let (disk, summary) = log_of(&setup, &hooks);
                let read = read(&disk.bytes());
                assert_eq!(read.warnings, [""; 0]);
                assert_same(&programs(&read), &hooks, trace, flags);
                assert_eq!((summary.events, summary.missed()), (400, 0));
                let cpu = (cpu_ids && trace == Width::W64).then_some(2);
                assert!(programs(&read).iter().all(|event| event.cpu == cpu));
            }
            let setup = setup(TraceOptions { cpu_ids, ..options(trace, Mode::Alternate, 0, 0) });
            let read = read(&stream_of(&setup, &hooks));
            assert_eq!(read.warnings, [""; 0]);
            assert_same(&programs(&read), &hooks, trace, flags);
        }
    }
}

#[test]
fn streams_and_logs_begin_as_their_kinds_do() {
    for (trace, stream, log) in
        [(Width::W32, AixKind::Stream32, AixKind::Log32), (Width::W64, AixKind::Stream64, AixKind::Log64)]
    {
        let setup = setup(options(trace, Mode::Alternate, 8192, 8192));
        let kind =
            |bytes: Vec<u8>| Trace::from_input("x", Input::from_bytes(bytes), &ReadOptions::default()).unwrap().kind();
        assert_eq!(kind(stream_of(&setup, &[])), stream);
        assert_eq!(kind(log_of(&setup, &[]).0.bytes()), log);
    }
}

#[test]
fn events_too_large_for_the_layout_are_missed() {
    let good = &hooks(3, &[Width::W32], 10, 100)[..];
    let setup = setup(options(Width::W32, Mode::Alternate, 8192, 16384));
    let mut hooks = good.to_vec();
    hooks.insert(2, OwnedHook { id: 0x1234, ..good[1].clone() });
    hooks.insert(2, OwnedHook { words: vec![0; 6], bytes: None, ..good[1].clone() });
    hooks.insert(2, OwnedHook { words: vec![0], bytes: Some(vec![0; 4097]), ..good[1].clone() });
    let (disk, summary) = log_of(&setup, &hooks);
    assert_eq!((summary.events, summary.refused, summary.missed()), (3, 3, 3));
    let read = read(&disk.bytes());
    assert_same(&programs(&read), good, Width::W32, 0);
    assert_eq!(words(own(&read, 0x0060)[0])[..2], [1, 3]);
}

#[test]
fn times_never_go_back() {
    for trace in [Width::W32, Width::W64] {
        let setup = setup(options(trace, Mode::Alternate, 8192, 16384));
        let mut hooks = hooks(3, &[trace], 10, 100);
        for (hook, ticks) in hooks.iter_mut().zip([START + 500, START + 100, START + 600]) {
            (hook.stamped, hook.ticks) = (true, ticks);
        }
        let (disk, summary) = log_of(&setup, &hooks);
        assert_eq!(summary.clamped, 1);
        hooks[1].ticks = START + 500;
        assert_same(&programs(&read(&disk.bytes())), &hooks, trace, 0);
    }
}

/// Times of program events, and number of clamped stamps.
fn elapsed(bytes: Vec<u8>) -> (Vec<u64>, u64) {
    let trace = Trace::from_input("x", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
    let mut logs = Logs::from(trace);
    let mut times = Vec::new();
    while let Some(item) = logs.next().unwrap() {
        match item {
            LogItem::Event(timed) if timed.event.id >= 0x0100 => times.push(timed.time.elapsed_ns),
            _ => {}
        }
    }
    (times, logs.clamped())
}

#[test]
fn gaps_beyond_a_wrap_are_noted_in_32_bits() {
    let wrap = 1u64 << 32;
    let mut hooks = hooks(7, &[Width::W32], 10, 100);
    let after =
        [wrap / 2, 3 * wrap + 17, 3 * wrap + 18, 4 * wrap + 17, 100 * wrap, 100 * wrap + wrap * 15 / 16, 200 * wrap];
    for (hook, after) in hooks.iter_mut().zip(after) {
        (hook.stamped, hook.ticks) = (true, START + after);
    }
    let setup = setup(options(Width::W32, Mode::Alternate, 8192, 16384));
    for bytes in [log_of(&setup, &hooks).0.bytes(), stream_of(&setup, &hooks)] {
        assert_eq!(elapsed(bytes), (after.to_vec(), 0));
    }
    // A very long gap is shortened to a bounded number of events; the low bits of the clock stay correct.
    hooks.truncate(2);
    (hooks[0].ticks, hooks[1].ticks) = (START + 9, u64::MAX);
    let (times, clamped) = elapsed(stream_of(&setup, &hooks));
    assert_eq!((times.len(), clamped), (2, 0));
    assert_eq!(times[1] & 0xFFFF_FFFF, (u64::MAX - START) & 0xFFFF_FFFF);
}

/// Hooks whose only word is a sequence number.
fn numbered(n: u64) -> Vec<OwnedHook> {
    (0..n)
        .map(|number| OwnedHook {
            width: Width::W64,
            stamped: true,
            id: 0x5000,
            subhook: 0,
            words: vec![number],
            bytes: None,
            ticks: START + 10 * number,
            tid: 41,
        })
        .collect()
}

/// Sequence numbers in a log.
fn numbers(read: &TraceContents) -> Vec<u64> {
    programs(read).iter().map(|event| u64::from_be_bytes(*event.bytes.last_chunk().unwrap())).collect()
}

#[test]
fn a_log_wraps_over_its_oldest_buffer() {
    for trace in [Width::W32, Width::W64] {
        for n in 1..90 {
            let setup = setup(options(trace, Mode::Alternate, 400, 1300));
            let (disk, summary) = log_of(&setup, &numbered(n));
            let bytes = disk.bytes();
            let read = read(&bytes);
            assert_eq!(read.warnings, [""; 0], "{n} events");
            let kept = numbers(&read);
            assert_eq!(kept, (n - kept.len() as u64..n).collect::<Vec<_>>());
            assert!(kept.len() as u64 == n || summary.wraps > 0);
            let trace_log = Trace::from_input("x", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
            let header = trace_log.log_header().unwrap();
            assert_eq!((header.n_entries, header.wraps), (4, summary.wraps));
            let told: Vec<u64> = own(&read, 0x0050).iter().map(|event| words(event)[0]).collect();
            assert_eq!(told, if summary.wraps > 0 { vec![u64::from(summary.wraps)] } else { vec![] });
        }
    }
}

#[test]
fn the_initial_conditions_outlive_every_wrap() {
    for trace in [Width::W32, Width::W64] {
        let disk = Disk::default();
        let mut log = AixLog::create(disk.clone(), &setup(options(trace, Mode::Alternate, 400, 800))).unwrap();
        log.note(Note::Process(50, 51, b"/bin/late")).unwrap();
        for hook in numbered(100) {
            hook.record(|record| log.record(record)).unwrap();
        }
        log.finish().unwrap();
        let read = read(&disk.bytes());
        let paths: Vec<&OwnedEvent> =
            own(&read, 0x00A0).into_iter().filter(|event| event.bytes.ends_with(b"late\0")).collect();
        assert_eq!(paths.len(), 1);
        assert_eq!(numbers(&read).last(), Some(&99));
    }
}

#[test]
fn log_that_stops_when_full_keeps_oldest_events() {
    for trace in [Width::W32, Width::W64] {
        let options = TraceOptions { stops_when_full: true, ..options(trace, Mode::Alternate, 800, 1600) };
        let disk = Disk::default();
        let mut log = AixLog::create(disk.clone(), &setup(options)).unwrap();
        let mut n = 0;
        for hook in numbered(100) {
            hook.record(|record| log.record(record)).unwrap();
            n += u64::from(!log.is_full());
        }
        assert!(log.is_full());
        log.note(Note::Off(START + 2000)).unwrap();
        log.finish().unwrap();
        let read = read(&disk.bytes());
        assert_eq!(numbers(&read), (0..n).collect::<Vec<_>>());
        assert_eq!((log.summary().events, log.summary().over), (n, 100 - n));
        assert_eq!(own(&read, 0x0020).len(), 1);
        assert!(own(&read, 0x0050).is_empty());
    }
}

#[test]
fn circular_buffer_keeps_newest_and_counts_lost_events() {
    for trace in [Width::W32, Width::W64] {
        let (disk, summary) = log_of(&setup(options(trace, Mode::Circular, 1000, 1000)), &numbered(100));
        let read = read(&disk.bytes());
        let kept = numbers(&read);
        assert_eq!(kept, (100 - kept.len() as u64..100).collect::<Vec<_>>());
        let event = if trace == Width::W32 { 28 } else { 32 };
        assert!(kept.len() * event > 1000 - 256 - event && kept.len() * event <= 1000, "{}", kept.len());
        // In a 32-bit trace, 001 was in the buffer.
        let gave_way = 100 - kept.len() as u64 + u64::from(trace == Width::W32);
        assert_eq!(summary.overwritten, gave_way);
        let told = own(&read, 0x0060);
        assert_eq!(words(told[0])[..2], [1, gave_way]);
        assert_eq!(told[0].ticks, programs(&read)[0].ticks);
    }
}

#[test]
fn single_buffer_keeps_first_and_counts_later_events() {
    for trace in [Width::W32, Width::W64] {
        let (disk, summary) = log_of(&setup(options(trace, Mode::Single, 1000, 1000)), &numbered(100));
        let read = read(&disk.bytes());
        let kept = numbers(&read).len() as u64;
        assert_eq!(numbers(&read), (0..kept).collect::<Vec<_>>());
        assert_eq!((summary.events, summary.over), (kept, 100 - kept));
        assert_eq!(words(own(&read, 0x0060)[0])[..2], [1, 100 - kept]);
    }
}

#[test]
fn lost_events_are_reported_in_place() {
    let bytes = {
        let mut bytes = Vec::new();
        let mut stream = AixStream::create(&mut bytes, &setup(options(Width::W64, Mode::Alternate, 0, 0))).unwrap();
        numbered(1)[0].record(|record| stream.record(record)).unwrap();
        stream.note(Note::Missed(12, START + 5)).unwrap();
        stream.note(Note::Off(START + 6)).unwrap();
        stream.note(Note::On(START + 7)).unwrap();
        stream.note(Note::Missed(1, START + 8)).unwrap();
        stream.finish().unwrap();
        assert_eq!(stream.summary().lost, 13);
        drop(stream);
        bytes
    };
    let read = read(&bytes);
    let told: Vec<(u16, Option<u64>)> =
        read.events.iter().skip_while(|event| event.id != 0x5000).map(|event| (event.id, event.ticks)).collect();
    let at = |after| Some(START + after);
    assert_eq!(told, [(0x5000, at(0)), (0x0060, at(5)), (0x0020, at(6)), (0x0010, at(7)), (0x0060, at(8))]);
    assert_eq!(words(own(&read, 0x0060)[1]), [2, 1]);
}

/// Records numbered events, mixed with flushes, new processes, a pause and a note of lost events.
fn session(log: &mut AixLog<Disk>) -> io::Result<()> {
    for (i, hook) in numbered(70).into_iter().enumerate() {
        hook.record(|record| log.record(record))?;
        match i % 9 {
            2 | 5 => log.flush()?,
            3 => log.note(Note::Process(100 + i as u32, 100, b"/bin/new"))?,
            7 if i < 20 => {
                log.note(Note::Off(hook.ticks))?;
                log.note(Note::On(hook.ticks + 1))?;
            }
            8 => log.note(Note::Missed(2, hook.ticks))?,
            _ => {}
        }
    }
    log.finish()
}

/// Checks that a file contains consecutive numbered events without damage; returns the last number.
fn check_whole(bytes: &[u8], what: &str) -> Option<u64> {
    let read = read_with(bytes, &ReadOptions::default());
    // Notices about a buffer that was being written are allowed.
    assert!(read.damage.iter().all(|said| said.starts_with("the header does not refer to")), "{what}: {read:?}");
    assert_eq!(read.warnings, [""; 0], "{what}");
    let numbers = numbers(&read);
    let first = numbers.first().copied().unwrap_or(0);
    assert_eq!(numbers, (first..first + numbers.len() as u64).collect::<Vec<_>>(), "{what}");
    numbers.last().copied()
}

fn modes() -> Vec<TraceOptions> {
    let of = |trace| {
        let alternate = options(trace, Mode::Alternate, 600, 1700);
        let stops = TraceOptions { stops_when_full: true, ..alternate.clone() };
        let at_end = [Mode::Circular, Mode::Single].map(|mode| options(trace, mode, 900, 900));
        [alternate, stops].into_iter().chain(at_end)
    };
    of(Width::W32).chain(of(Width::W64)).collect()
}

#[test]
fn a_log_is_readable_after_every_write() {
    for options in modes() {
        let disk = Disk::default();
        session(&mut AixLog::create(disk.clone(), &setup(options.clone())).unwrap()).unwrap();
        let writes = disk.state.borrow().writes.clone();
        let wraps = options.mode == Mode::Alternate && !options.stops_when_full;
        assert!(writes.len() > if wraps { 60 } else { 4 }, "{} writes of {options:?}", writes.len());
        let mut last = None;
        for k in 1..=writes.len() {
            let now = check_whole(&image(&writes[..k]), &format!("{k} writes of {options:?}"));
            assert!(now >= last, "{k} writes: {now:?} after {last:?}");
            last = now;
            // The process ends in the middle of a write of events.
            if let Some((at, bytes)) = writes.get(k).filter(|(_, bytes)| bytes.len() > 16) {
                let half = (*at, bytes[..bytes.len() / 2].to_vec());
                let cut = image(&[&writes[..k], &[half]].concat());
                assert_eq!(check_whole(&cut, &format!("{k} writes and a half of {options:?}")), last);
            }
        }
        let is_kept_to_the_end = !options.stops_when_full && options.mode != Mode::Single;
        assert!(last.is_some() && (last == Some(69)) == is_kept_to_the_end, "{last:?} of {options:?}");
    }
}

#[test]
fn a_full_disk_leaves_a_readable_log() {
    for options in modes() {
        let setup = setup(options);
        let whole = Disk::default();
        session(&mut AixLog::create(whole.clone(), &setup).unwrap()).unwrap();
        for at in 1..whole.state.borrow().calls {
            let disk = Disk::failing(at, true);
            let error = session(&mut AixLog::create(disk.clone(), &setup).unwrap()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(28));
            check_whole(&disk.bytes(), &format!("failing at write {at}"));
        }
    }
}

#[test]
fn a_write_that_fails_once_is_made_up_for() {
    let setup = setup(options(Width::W64, Mode::Alternate, 600, 60_000));
    let whole = Disk::default();
    session(&mut AixLog::create(whole.clone(), &setup).unwrap()).unwrap();
    for at in 1..whole.state.borrow().calls {
        let disk = Disk::failing(at, false);
        let mut log = AixLog::create(disk.clone(), &setup).unwrap();
        let mut failures = 0;
        for hook in numbered(70) {
            failures += u64::from(hook.record(|record| log.record(record)).is_err());
        }
        failures += u64::from(log.finish().is_err());
        log.finish().unwrap();
        let read = read(&disk.bytes());
        assert!(failures <= 1, "{failures} calls failed for one write");
        assert_eq!(numbers(&read).len() as u64 + log.summary().lost, 70, "failing at write {at}");
        assert_eq!(own(&read, 0x0060).len() as u64, log.summary().lost);
    }
}

#[test]
fn impossible_sizes_are_refused_at_the_start() {
    for (options, why) in [
        (options(Width::W32, Mode::Alternate, 1 << 28, 1 << 33), "a 32-bit log ends at 4 GiB"),
        (
            options(Width::W64, Mode::Alternate, 8192, 1 << 40),
            "a log of 134217728 buffers: at most 262144, so take larger buffers",
        ),
        (options(Width::W64, Mode::Alternate, u64::MAX / 2, u64::MAX), "no file is as large as that log"),
    ] {
        let error = AixLog::create(Disk::default(), &setup(options)).unwrap_err();
        assert_eq!(error.to_string(), why);
    }
}

#[test]
fn an_error_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/log");
    let setup = setup(options(Width::W64, Mode::Alternate, 8192, 8192));
    let error = Writer::create(&setup, &path).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot write {}: No such file or directory (os error 2)", path.display()));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let error = Writer::stream(&setup, Box::new(full), "standard output").unwrap_err();
    assert_eq!(error.to_string(), "cannot write standard output: No space left on device (os error 28)");
}

#[test]
fn an_old_log_is_kept_or_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, "old").unwrap();
    let with = |keeps_old| setup(TraceOptions { keeps_old, ..options(Width::W64, Mode::Alternate, 8192, 8192) });
    Writer::create(&with(true), &path).unwrap();
    assert_eq!(fs::read(folder.path().join("log.old")).unwrap(), b"old");
    Writer::create(&with(false), &path).unwrap();
    assert_eq!(crate::common::names(folder.path()), ["log", "log.old"]);
    assert!(fs::read(&path).unwrap().starts_with(&[0xEF, 0xDF, 0x11, 0x13]));
}

const REPORT: &str = "\
Thu Oct 28 13:34:05 1999
System: Linux moscow Node: #1 SMP a version that is far to
Machine: x86_64
Internet Protocol Address: 0930A2B4 9.48.162.180
Buffering: Separate Segment

trace -a

ID  PROCESS NAME   PID      TID      I    ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT
001 -?-                     7             0.000000000       0.000000                   TRACE ON channel 3
500 sensor         40       41            0.000000000       0.000000   SENSOR 0
500 sensor         40       41            0.000000010       0.000010   SENSOR 1
500 late           50       51            0.001000000       0.999990   SENSOR 0
002 -?-                     7             2.000000000    1999.000000                   TRACE OFF channel 3
";

#[test]
fn the_heading_is_complete_and_time_begins_at_zero() {
    let folder = tempfile::tempdir().unwrap();
    let format = folder.path().join("my.trcfmt");
    fs::write(&format, "500 1.0 L=APPL \"SENSOR\" $D1%UW\n").unwrap();
    for trace in [Width::W32, Width::W64] {
        let path = folder.path().join("log");
        let setup = setup(options(trace, Mode::Alternate, 8192, 8192));
        let mut writer = Writer::create(&setup, &path).unwrap();
        for mut hook in numbered(2) {
            hook.width = trace;
            hook.record(|record| writer.record(record)).unwrap();
        }
        writer.process(50, 51, b"/bin/late").unwrap();
        let late = OwnedHook { tid: 51, width: trace, ticks: START + 1_000_000, ..numbered(1)[0].clone() };
        late.record(|record| writer.record(record)).unwrap();
        writer.off(START + 2_000_000_000).unwrap();
        writer.finish().unwrap();
        let mut command = command("trcrpt");
        let (out, err, status) = run(command.args(["-O", "exec=on,pid=on,tid=on", "-t"]).arg(&format).arg(&path));
        assert_eq!((err.as_str(), status), ("", 0));
        assert_eq!(out, REPORT);
    }
}

#[test]
fn the_header_has_hooks_command_and_message() {
    let listed = |hooks| {
        let options =
            TraceOptions { hooks, message: Some(b"why".to_vec()), ..options(Width::W64, Mode::Alternate, 8192, 8192) };
        let read = read(&log_of(&setup(options), &[]).0.bytes());
        own(&read, 0x0030).iter().map(|event| event.bytes[8..].to_vec()).collect::<Vec<_>>()
    };
    let kind = |kind: u64, bytes: &[u8]| [&kind.to_be_bytes()[..], bytes].concat();
    let all = listed(Hooks::All);
    assert_eq!(all[1..], [kind(2, b"trace -a\0"), kind(3, b""), kind(0xFF, b"why\0")]);
    assert_eq!(all[0][..16], kind(1, &[0x38, 0x18, 0x50, 0xCD, b'L', b'i', b'n', b'u'])[..]);
    assert_eq!(listed(Hooks::Only(vec![0x1340, 0xF5F1]))[2], kind(4, &[0x13, 0x40, 0xF5, 0xF1]));
    assert_eq!(listed(Hooks::Except(vec![0x1340]))[2], kind(5, &[0x13, 0x40]));
    let many: Vec<u16> = (0..4096).filter(|id| id % 8 != 3).map(|id| id << 4).collect();
    assert_eq!(listed(Hooks::Only(many.clone()))[2], kind(6, &[0xF7; 512]));
    assert_eq!(listed(Hooks::Except(many))[2], kind(6, &[0x08; 512]));
}

#[test]
fn a_headless_log_has_no_date_system_and_message() {
    let options = TraceOptions {
        headless: true,
        message: Some(b"why".to_vec()),
        ..options(Width::W64, Mode::Alternate, 8192, 8192)
    };
    let read = read(&log_of(&setup(options), &[]).0.bytes());
    let kinds: Vec<u8> = own(&read, 0x0030).iter().map(|event| event.bytes[15]).collect();
    assert_eq!(kinds, [2, 3]);
}

#[test]
fn session_started_off_counts_from_first_trcon() {
    for trace in [Width::W32, Width::W64] {
        let disk = Disk::default();
        let options = TraceOptions { off: true, ..options(trace, Mode::Alternate, 8192, 8192) };
        let mut log = AixLog::create(disk.clone(), &setup(options)).unwrap();
        log.note(Note::On(START + (7 << 32))).unwrap();
        let hook = OwnedHook { ticks: START + (7 << 32) + 5, ..numbered(1)[0].clone() };
        hook.record(|record| log.record(record)).unwrap();
        log.finish().unwrap();
        assert_eq!(elapsed(disk.bytes()), (vec![5], 0));
    }
}
