//! Generated traces are read without notices, have the requested contents, and are printed by their format files.

use std::collections::BTreeMap;
use std::io::Cursor;

use tfbc::aix::ReadOptions;
use tfbc::testing::aix::{AixItem, Trace};
use tfbc::testing::input::Input;
use tfbc_benches::{
    Data, EventWriter, Files, LogBuilder, LogFile, STREAM64_MAGIC, Stamp, TraceHook, TraceKind, TraceLength, TraceLoad,
    Width, blob,
};
use tfbc_vm::{Context, Event, Job, Layout, Machine, Program, TextBuf, Timers};

const KINDS: [TraceKind; 3] = [TraceKind::Realistic, TraceKind::Small32, TraceKind::Dumps];
/// Two events that every trace has: trace on and trace off.
const ENDS: u64 = 2;

fn load(kind: TraceKind, events: u64) -> TraceLoad {
    TraceLoad { kind, extent: TraceLength::Events(events), seed: 1, cpu: 0, cpus: 1 }
}

/// A stream with its header.
fn stream(load: TraceLoad) -> Vec<u8> {
    let magic = if load.kind.width() == Width::W64 { STREAM64_MAGIC.to_vec() } else { Vec::new() };
    [vec![magic, load.header(Files::One)], load.buffers().collect()].concat().concat()
}

/// A log file as the generator writes it.
fn log(load: TraceLoad) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let slots = load.max_buffers() as usize;
    let mut log = LogFile::create(&mut file, load.kind.width(), 0, &load.header(Files::One), slots).unwrap();
    load.buffers().for_each(|buffer| log.put(&buffer).unwrap());
    log.finish().unwrap();
    file.into_inner()
}

/// Calls `see` for each event, and panics if the reader reports damage.
fn read(bytes: Vec<u8>, mut see: impl FnMut(u16, &[u8], bool, Option<u64>)) {
    let mut trace = Trace::from_input("made", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
    while let Some(item) = trace.next().unwrap() {
        match item {
            AixItem::Event(event) => see(event.id, event.bytes, event.wide, event.ticks),
            AixItem::Notice(notice) => panic!("{notice:?}"),
        }
    }
}

fn counts(bytes: Vec<u8>) -> BTreeMap<u16, u64> {
    let mut counts = BTreeMap::new();
    read(bytes, |id, _, _, _| *counts.entry(id).or_default() += 1);
    counts
}

#[test]
fn streams_and_logs_hold_the_events_asked_for() {
    for kind in KINDS {
        let header = counts(
            [&STREAM64_MAGIC[..(kind.width() == Width::W64) as usize * 4], &load(kind, 0).header(Files::One)].concat(),
        );
        let n_header: u64 = header.values().sum();
        for events in [0, 1, 63, 64, 65, 20_000] {
            let load = load(kind, events);
            for bytes in [stream(load), log(load)] {
                assert_eq!(counts(bytes).values().sum::<u64>(), n_header + ENDS + events, "{kind:?}");
            }
        }
    }
}

#[test]
fn sizes_are_reached_by_less_than_an_event() {
    for (kind, max) in [(TraceKind::Realistic, 64), (TraceKind::Small32, 16), (TraceKind::Dumps, 4128)] {
        for wanted in [0, 1, 1000, 3_000_000] {
            let load = TraceLoad { extent: TraceLength::Bytes(wanted), ..load(kind, 0) };
            let ends = TraceLoad { extent: TraceLength::Bytes(0), ..load };
            let len = |load: TraceLoad| load.buffers().map(|buffer| buffer.len() as u64).sum::<u64>();
            let bytes = len(load) - len(ends);
            assert!((wanted..wanted + max).contains(&bytes), "{kind:?}: {bytes} for {wanted}");
            assert!(load.buffers().count() as u64 <= load.max_buffers());
        }
    }
}

#[test]
fn shares_add_up() {
    for (total, n) in [(0, 1), (7, 3), (64, 64), (1_000_001, 64)] {
        let share = |part| match TraceLength::Events(total).share(part, n) {
            TraceLength::Events(events) => events,
            TraceLength::Bytes(_) => panic!("bytes of events"),
        };
        assert_eq!((0..n).map(share).sum::<u64>(), total);
        assert!(share(0) - share(n - 1) <= 1);
    }
}

#[test]
fn realistic_events_take_48_bytes_and_have_zipf_weights() {
    let events = 400_000;
    let load = load(TraceKind::Realistic, events);
    let bytes: usize = load.buffers().map(|buffer| buffer.len()).sum();
    assert!((bytes as f64 / events as f64 - 48.0).abs() < 0.2, "{bytes}");

    let mut by_words = [0; 6];
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    read(stream(load), |id, bytes, wide, _| {
        if id > 0x0200 && bytes[0] & 0x40 == 0 {
            assert!(wide);
            by_words[bytes.len() / 8 - 1] += 1;
            *counts.entry(id).or_default() += 1;
        }
    });
    assert_eq!(counts.len(), 40);
    let many: u64 = by_words[3..].iter().sum();
    assert!(many * 100 > 75 * events, "{by_words:?}");
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let total: f64 = (1..=40).map(|rank| 1.0 / f64::from(rank)).sum();
    for (rank, count) in (1..=10).zip(counts) {
        let expected = events as f64 / f64::from(rank) / total;
        assert!((count as f64 / expected - 1.0).abs() < 0.03, "rank {rank}: {count}, not {expected}");
    }
}

#[test]
fn small_events_take_16_bytes_and_dumps_4_kib() {
    let sizes = |kind, events| load(kind, events).buffers().map(|buffer| buffer.len()).sum::<usize>();
    assert_eq!(sizes(TraceKind::Small32, 5000), 16 * 5000 + 2 * 12);
    assert_eq!(sizes(TraceKind::Dumps, 500), (24 + 4096 + 8) * 500 + 2 * 24);
}

#[test]
fn stamps_rise_and_wrap_as_the_clock_does() {
    let (mut last, mut wraps) = (0, 0);
    read(stream(load(TraceKind::Realistic, 5000)), |_, _, _, ticks| {
        assert!(ticks.unwrap() >= last);
        last = ticks.unwrap();
    });
    last = 0;
    read(stream(load(TraceKind::Small32, 6_000_000)), |_, _, _, ticks| {
        wraps += u64::from(ticks.unwrap() < last);
        last = ticks.unwrap();
    });
    assert_eq!(wraps, 1);
}

/// The text of a trace by its kind's format file; every event but the header's is printed.
fn text(kind: TraceKind, events: u64) -> String {
    let blob = blob("load.trcfmt", &kind.format_file());
    let program = Program::open(&blob).unwrap();
    let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
    read(stream(load(kind, events)), |id, bytes, wide, _| {
        if matches!(id, 0x0010 | 0x0020 | 0x0030 | 0x00A0) {
            return;
        }
        let event = Event { bytes, wide, record: None, time_ns: 0, offset: 0 };
        let (layout, line) = (Layout::default(), out.len());
        let job = Job { event: &event, context: &Context::EMPTY, timers: &mut timers, layout, line, out: &mut out };
        let outcome = machine.run(&program, program.hook(id).unwrap().index, job);
        assert_eq!((outcome.truncated, outcome.limited, outcome.skipped), (false, false, false), "hook {id:04X}");
    });
    String::from_utf8(out.as_bytes().to_vec()).unwrap()
}

#[test]
fn format_files_print_every_event_on_a_line() {
    for kind in KINDS {
        let text = text(kind, 2000);
        assert_eq!(text.lines().count(), 2000, "{kind:?}");
        assert!(text.lines().all(|line| line.contains('=') || line.starts_with("SYSTEM CALL RETURN")));
    }
    let dump = text(TraceKind::Dumps, 20);
    let lens: Vec<usize> = dump.lines().map(str::len).collect();
    assert!(lens.contains(&("DUMP len=4096 data=".len() + 2 * 4096)), "{lens:?}");
}

#[test]
fn cpu_files_and_their_base_name_each_other() {
    let load = TraceLoad { cpus: 3, ..load(TraceKind::Realistic, 0) };
    let names = |files| {
        let mut names = Vec::new();
        read([&STREAM64_MAGIC[..], &load.header(files)].concat(), |id, bytes, _, _| {
            if id == 0x00A0 && matches!(bytes[15], 0x10 | 0x11) {
                names.push((bytes[15], String::from_utf8_lossy(&bytes[16..]).into_owned()));
            }
        });
        names
    };
    assert_eq!(names(Files::One), []);
    assert_eq!(names(Files::Cpu("trc")), [(0x11, "trc\0".into())]);
    let files =
        [(0x10, "\0\0\0\0trc-0\0".into()), (0x10, "\0\0\0\u{1}trc-1\0".into()), (0x10, "\0\0\0\u{2}trc-2\0".into())];
    assert_eq!(names(Files::Base("trc")), files);
}

#[test]
fn cpus_trace_different_events_at_interleaved_times() {
    let load = TraceLoad { cpus: 2, ..load(TraceKind::Realistic, 1000) };
    let [first, second] = [0, 1].map(|cpu| TraceLoad { cpu, ..load }.buffers().collect::<Vec<_>>().concat());
    assert_ne!(first, second);
    let ticks = [first, second].map(|events| {
        let mut ticks = Vec::new();
        let header = load.header(Files::One);
        read([STREAM64_MAGIC.to_vec(), header, events].concat(), |_, _, _, stamp| ticks.push(stamp.unwrap()));
        ticks
    });
    let last = ticks.each_ref().map(|ticks| *ticks.last().unwrap());
    assert!(last[0].abs_diff(last[1]) * 10 < last[0], "{last:?}");
    let later = ticks[0].iter().filter(|tick| **tick > ticks[1][500]).count();
    assert!((300..700).contains(&later), "{later}");
}

#[test]
fn words_and_generic_write_what_put_writes() {
    for width in [Width::W32, Width::W64] {
        let (mut quick, mut plain) = (EventWriter::new(width), EventWriter::new(width));
        let stamp = Stamp::at(0x1234_5678, 0x9ABC_DEF0_1122);
        let words: Vec<u64> = (1..=5).map(|n| n * 0x0102_0304_0506).collect();
        for n in 0..=5 {
            quick.words(0x4560, 7, &words[..n], stamp.tid, stamp.ticks.unwrap());
            plain.put(&TraceHook::words(0x4560, 7, &words[..n]).width(width), &stamp);
        }
        quick.generic(0x4570, 9, b"bytes", stamp.tid, stamp.ticks.unwrap());
        let data = Data::Generic { word: 9, bytes: b"bytes".to_vec() };
        plain.put(&TraceHook { width, id: 0x4570, subhook: 0, data }, &stamp);
        assert_eq!(quick.events(), plain.events());
    }
}

#[test]
fn a_log_written_piece_by_piece_is_the_same() {
    for (width, slots) in [(Width::W32, 3), (Width::W64, 5)] {
        let buffers = [&b"one."[..], b"two.two.", b"three..."].map(<[u8]>::to_vec).to_vec();
        let mut file = Cursor::new(Vec::new());
        let mut log = LogFile::create(&mut file, width, 8, b"initial!", slots).unwrap();
        buffers.iter().for_each(|buffer| log.put(buffer).unwrap());
        if slots == 3 {
            assert!(log.put(b"four").is_err());
        }
        log.finish().unwrap();
        let whole = LogBuilder { slots, mode: 8, ..LogBuilder::new(width, b"initial!".to_vec(), buffers) };
        assert_eq!(file.into_inner(), whole.to_bytes());
    }
}
