//! Tests of several files as one source: per-CPU files, merged logs, and raw streams of both.

use crate::common::*;
use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tfbc::TraceKind;
use tfbc::aix::{AixKind, IdSet, OpenError, ReadOptions};
use tfbc::testing::aix::{LogItem, Logs};

pub const BASE: u32 = 4;
pub const CPU: u32 = 8;

/// Log file with a mode: one buffer of events after the initial conditions.
pub fn log(wide: bool, mode: u32, ic: &[Vec<u8>], events: &[Vec<u8>]) -> Vec<u8> {
    let log = LogBuilder { wide, current: 1, ic: ic.concat(), entries: vec![events.concat()], ..LogBuilder::default() };
    let mut bytes = log.bytes();
    bytes[12..16].copy_from_slice(&mode.to_be_bytes());
    bytes
}

/// A 64-bit stream.
fn stream64(events: &[Vec<u8>]) -> Vec<u8> {
    [vec![0xEF, 0xDF, 0x11, 0x14], events.concat()].concat()
}

/// Unstamped 64-bit 00A event of a kind.
pub fn utility64(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = words64(&[0x4000_0000_00A0_0000 | (payload.len() as u64) << 32, kind]);
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(words64(&[1]));
    bytes
}

/// Unstamped 32-bit 00A event of a kind.
fn utility32(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = words32(&[0x00A0_0000 | payload.len() as u32, kind]);
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(words32(&[1]));
    bytes
}

/// Unstamped time factors.
pub fn factors64(multiplier: u64, divisor: u64, kind: u64) -> Vec<u8> {
    utility64(0x25C, &words64(&[multiplier, divisor, kind]))
}

/// Unstamped time factors.
fn factors32(multiplier: u64, divisor: u64, kind: u64) -> Vec<u8> {
    utility32(0x25C, &words64(&[multiplier, divisor, kind]))
}

/// Record that names a CPU's file.
pub fn cpu_file(cpu: u32, name: &str) -> Vec<u8> {
    utility64(0x10, &cpu_file_payload(cpu, name))
}

fn cpu_file_payload(cpu: u32, name: &str) -> Vec<u8> {
    [&cpu.to_be_bytes()[..], name.as_bytes(), &[0]].concat()
}

/// Stamped 64-bit event without data.
fn hook64(id: u64, ticks: u64) -> Vec<u8> {
    words64(&[0x8000_0000_0000_0000 | id << 16, 0x1a2b, ticks])
}

/// Stamped 64-bit event of hook 010 with a word, and a CPU id at its end.
fn event64_cpu(word: u64, ticks: u64, cpu: u64) -> Vec<u8> {
    words64(&[0x9000_0008_0100_0000, word, 0x1a2b, ticks, cpu])
}

pub fn directory(files: &[(&str, Vec<u8>)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

fn open(path: &Path) -> Logs {
    Logs::open(path, &ReadOptions::default()).unwrap()
}

/// One event as read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    id: u16,
    mark: u8,
    elapsed_ns: u64,
    cpu: Option<u64>,
    log: usize,
    reported_cpus: Option<u32>,
}

/// All events, and all notices; true for damage.
fn read_all(mut logs: Logs) -> (Vec<Seen>, Vec<(bool, String)>) {
    let (mut events, mut notices) = (Vec::new(), Vec::new());
    while let Some(item) = logs.next().unwrap() {
        match item {
            LogItem::Event(timed) => events.push(Seen {
                id: timed.event.id,
                mark: *timed.event.bytes.last().unwrap(),
                elapsed_ns: timed.time.elapsed_ns,
                cpu: timed.event.cpu,
                log: timed.log,
                reported_cpus: timed.reported_cpus,
            }),
            LogItem::Passed => {}
            LogItem::Notice { notice, .. } => notices.push((notice.damage, notice.message)),
        }
    }
    let tally = logs.tally();
    assert_eq!(tally.read, tally.header + tally.events + tally.skipped);
    (events, notices)
}

/// Marks of the 010 events.
fn marks(events: &[Seen]) -> Vec<u8> {
    events.iter().filter(|event| event.id == 0x0100).map(|event| event.mark).collect()
}

/// Base file with the files of two CPUs. The trace begins at tick 90, and a tick is a nanosecond.
fn two_cpus() -> TempDir {
    directory(&[
        (
            "trc",
            log(
                true,
                BASE,
                &[factors64(1, 1, 2), cpu_file(0, "/var/adm/ras/trc-0"), cpu_file(1, "/var/adm/ras/trc-1")],
                &[hook64(0x0010, 90), hook64(0x0020, 900)],
            ),
        ),
        ("trc-0", log(true, CPU, &[], &[event64(1, 100), event64(4, 300), event64(6, 500), hook64(0x0020, 600)])),
        ("trc-1", log(true, CPU, &[], &[event64(2, 100), event64(3, 200), event64(5, 500), event64(7, 700)])),
    ])
}

#[test]
fn compressed_files_of_cpus_are_found_beside_their_base() {
    let pack = |directory: &TempDir, name: &str| {
        let path = directory.path().join(name);
        let file = fs::File::create(path.with_added_extension("gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &fs::read(&path).unwrap()).unwrap();
        packed.finish().unwrap();
        fs::remove_file(path).unwrap();
    };
    let whole = read_all(open(&two_cpus().path().join("trc")));
    for packed in [&["trc-0"][..], &["trc"], &["trc", "trc-0", "trc-1"]] {
        let directory = two_cpus();
        packed.iter().for_each(|name| pack(&directory, name));
        let base = if packed.contains(&"trc") { "trc.gz" } else { "trc" };
        assert_eq!(read_all(open(&directory.path().join(base))), whole, "{packed:?}");
    }
    // A base file without names uses the files in its directory.
    let base = log(true, BASE, &[factors64(1, 1, 2)], &[hook64(0x0010, 90)]);
    let cpu = log(true, CPU, &[], &[event64(1, 100)]);
    let directory = directory(&[("b", base), ("b-0", cpu.clone()), ("b-1", cpu)]);
    let whole = read_all(open(&directory.path().join("b")));
    assert_eq!(marks(&whole.0), [1, 1]);
    ["b", "b-1"].iter().for_each(|name| pack(&directory, name));
    assert_eq!(read_all(open(&directory.path().join("b.gz"))), whole);
}

#[test]
fn cpu_files_merge_by_time_then_by_cpu() {
    let directory = two_cpus();
    let logs = open(&directory.path().join("trc"));
    let names: Vec<_> =
        logs.logs().iter().map(|log| Path::new(&log.name).file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["trc", "trc-0", "trc-1"]);
    assert_eq!(logs.logs().iter().map(|log| log.cpu).collect::<Vec<_>>(), [None, Some(0), Some(1)]);
    let (events, notices) = read_all(logs);
    assert_eq!(notices, []);
    assert_eq!(marks(&events), [1, 2, 3, 4, 6, 5, 7]);
    let of_cpus: Vec<_> = events.iter().filter(|event| event.id == 0x0100).collect();
    assert_eq!(of_cpus.iter().map(|event| event.elapsed_ns).collect::<Vec<_>>(), [10, 10, 110, 210, 410, 410, 610]);
    assert_eq!(of_cpus.iter().map(|event| event.cpu.unwrap()).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(of_cpus.iter().map(|event| event.log).collect::<Vec<_>>(), [1, 2, 2, 1, 1, 2, 2]);
    assert!(events.iter().filter(|event| event.log == 0).all(|event| event.cpu.is_none()));
}

#[test]
fn reported_cpus_fall_as_files_end() {
    let directory = two_cpus();
    let (events, _) = read_all(open(&directory.path().join("trc")));
    let counts: Vec<_> = events.iter().map(|event| (event.id, event.log, event.reported_cpus.unwrap())).collect();
    // CPU 0 ends with a 002 at 600, CPU 1 with its file at 700.
    assert_eq!(counts[counts.len() - 3..], [(0x0020, 1, 2), (0x0100, 2, 1), (0x0020, 0, 0)]);
    assert!(counts[..counts.len() - 3].iter().all(|(_, _, n)| *n == 2));
}

#[test]
fn a_cpu_counts_again_after_its_next_trace_on() {
    let directory = directory(&[
        ("t", log(true, BASE, &[factors64(1, 1, 2)], &[])),
        ("t-0", log(true, CPU, &[], &[event64(1, 10), hook64(0x0020, 20), hook64(0x0010, 40), event64(4, 50)])),
        ("t-1", log(true, CPU, &[], &[event64(2, 15), event64(3, 30), event64(5, 60)])),
    ]);
    let (events, _) = read_all(open(&directory.path().join("t")));
    let counts: Vec<_> = events[1..].iter().map(|event| event.reported_cpus.unwrap()).collect();
    assert_eq!(counts, [2, 2, 2, 1, 2, 2, 1]);
}

#[test]
fn files_are_found_by_their_names_or_their_numbers() {
    let records =
        [factors64(1, 1, 2), cpu_file(0, "/tmp/renamed.zero"), cpu_file(5, "/gone/old-5"), cpu_file(7, "x-7")];
    let file = |mark| log(true, CPU, &[], &[event64(mark, 100 * mark)]);
    let directory = directory(&[
        ("base", log(true, BASE, &records, &[])),
        ("renamed.zero", file(1)),
        ("base-5", file(2)),
        ("base-9", file(9)),
    ]);
    let base = directory.path().join("base");
    let (events, notices) = read_all(open(&base));
    assert_eq!(marks(&events), [1, 2]);
    assert_eq!(events.iter().filter_map(|event| event.cpu).collect::<Vec<_>>(), [0, 5]);
    let [(true, message)] = &notices[..] else { panic!("{notices:?}") };
    assert!(message.contains("CPU 7") && message.contains("base-7"), "{message}");
    let (out, err, status) = run(trcrpt(&["-h", base.to_str().unwrap()]));
    assert_eq!(status, 2, "{err}");
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(err.contains("base-7"), "{err}");
}

#[test]
fn a_base_without_names_has_the_files_beside_it() {
    let counts = utility64(0x12, &[0, 0, 0, 4, 0, 0, 0, 3]);
    let file = |mark| log(true, CPU, &[], &[event64(mark, 100)]);
    let mut files = vec![
        ("b", log(true, BASE, &[factors64(1, 1, 2), counts], &[])),
        ("b-0", file(1)),
        ("b-10", file(3)),
        ("b-02", file(8)),
        ("b-x", file(9)),
        ("c-1", file(9)),
    ];
    let part = directory(&files);
    let (events, notices) = read_all(open(&part.path().join("b")));
    assert_eq!(marks(&events), [1, 3]);
    let [(true, message)] = &notices[..] else { panic!("{notices:?}") };
    assert!(message.contains("3 CPUs were traced") && message.contains("CPU 0 and 10"), "{message}");
    files.push(("b-2", file(2)));
    let whole = directory(&files);
    let (events, notices) = read_all(open(&whole.path().join("b")));
    assert_eq!((marks(&events), notices), (vec![1, 2, 3], vec![]));
}

#[test]
fn a_base_alone_is_damaged() {
    let directory = directory(&[("b", log(true, BASE, &[factors64(1, 1, 2)], &[hook64(0x0010, 9)]))]);
    let base = directory.path().join("b");
    let (events, notices) = read_all(open(&base));
    assert_eq!(events.len(), 2);
    assert!(matches!(&notices[..], [(true, message)] if message.contains("b-0")), "{notices:?}");
    let name = format!("{}: ", base.display());
    assert!(!notices[0].1.starts_with(&name), "only of several logs it is said which is meant: {notices:?}");
    let mut piped = trcrpt(&["-"]);
    let (out, err, status) = run(piped.write_stdin(fs::read(&base).unwrap()));
    assert_eq!(status, 2);
    assert!(out.contains("TRACE ON") && err.contains("standard input"), "{out}{err}");
}

#[test]
fn a_cpu_file_alone_is_readable() {
    let directory = two_cpus();
    let path = directory.path().join("trc-1");
    let (events, _) = read_all(open(&path));
    assert_eq!(marks(&events), [2, 3, 5, 7]);
    assert!(events.iter().all(|event| event.cpu == Some(1) && event.reported_cpus == Some(1)));
}

#[test]
fn files_not_matching_their_base_are_left_out() {
    let records = [factors64(1, 1, 2), cpu_file(0, "b-0"), cpu_file(1, "b-1"), cpu_file(2, "b-2"), cpu_file(3, "b-2")];
    let directory = directory(&[
        ("b", log(true, BASE, &records, &[])),
        ("b-0", log(false, CPU, &[], &[event32(1, 100)])),
        ("b-1", b"no trace at all".to_vec()),
        ("b-2", log(true, CPU, &[], &[event64(2, 100)])),
    ]);
    // Notices about the base file's format are not repeated for the others.
    for format in [None, Some(AixKind::Log64)] {
        let options = ReadOptions { format: format.map(TraceKind::Aix), ..ReadOptions::default() };
        let (events, notices) = read_all(Logs::open(&directory.path().join("b"), &options).unwrap());
        assert_eq!(marks(&events), [2]);
        assert_eq!(notices.len(), 3, "{notices:?}");
        for part in ["32-bit", "b-1", "CPU 2 and CPU 3"] {
            assert!(notices.iter().any(|(damage, message)| *damage && message.contains(part)), "{part}: {notices:?}");
        }
    }
}

#[test]
fn second_of_two_files_for_a_cpu_is_read() {
    let names = ["first", "second", "second"].map(|name| cpu_file(0, name));
    let file = |mark| log(true, CPU, &[], &[event64(mark, 100)]);
    let directory = directory(&[
        ("b", log(true, BASE, &[vec![factors64(1, 1, 2)], names.to_vec()].concat(), &[])),
        ("first", file(1)),
        ("second", file(2)),
    ]);
    let (events, notices) = read_all(open(&directory.path().join("b")));
    assert_eq!(marks(&events), [2]);
    let [(true, message)] = &notices[..] else { panic!("{notices:?}") };
    assert!(message.contains("two files are named for CPU 0, ") && message.contains("first and "), "{message}");
}

#[test]
fn factors_are_the_bases_where_a_file_has_none() {
    let directory = directory(&[
        ("b", log(true, BASE, &[factors64(2, 1, 2)], &[hook64(0x0010, 10)])),
        ("b-0", log(true, CPU, &[], &[event64(1, 20)])),
        // CPU 1 has its own time factors: 10 nanoseconds per tick.
        ("b-1", log(true, CPU, &[factors64(10, 1, 2)], &[event64(2, 3), event64(3, 5)])),
    ]);
    let (events, notices) = read_all(open(&directory.path().join("b")));
    assert_eq!(notices, []);
    assert_eq!(marks(&events), [2, 1, 3]);
    let elapsed: Vec<_> = events.iter().filter(|event| event.id == 0x0100).map(|event| event.elapsed_ns).collect();
    assert_eq!(elapsed, [10, 20, 30]);
}

#[test]
fn missing_factors_are_reported_once() {
    let directory = directory(&[
        ("b", log(true, BASE, &[], &[])),
        ("b-0", log(true, CPU, &[], &[event64(1, 20)])),
        ("b-1", log(true, CPU, &[], &[event64(2, 30)])),
    ]);
    let (_, notices) = read_all(open(&directory.path().join("b")));
    assert!(matches!(&notices[..], [(false, message)] if message.contains("25C")), "{notices:?}");
    // A file with its own factors, or without stamps, needs none.
    let no_stamps = words64(&[0x0000_0008_0100_0000, 3, 0x1a2b]);
    for (name, bytes) in
        [("b-0", log(true, CPU, &[factors64(1, 1, 2)], &[event64(1, 20)])), ("b-1", log(true, CPU, &[], &[no_stamps]))]
    {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    let (events, notices) = read_all(open(&directory.path().join("b")));
    assert_eq!((events.len(), notices), (3, vec![]));
}

#[test]
fn base_names_at_most_1024_cpu_files() {
    let names: Vec<_> = (0..1026).map(|cpu| cpu_file(cpu, "b")).collect();
    let directory = directory(&[("b", log(true, BASE, &[vec![factors64(1, 1, 2)], names].concat(), &[]))]);
    let (_, notices) = read_all(open(&directory.path().join("b")));
    assert_eq!(notices.len(), 1024);
    assert!(notices[1023].1.contains("the file of CPU 1023"), "{:?}", notices[1023]);
}

#[test]
fn short_stamps_are_unwrapped_from_the_bases_first() {
    let names = [utility32(0x10, &cpu_file_payload(0, "b-0")), utility32(0x10, &cpu_file_payload(1, "b-1"))];
    let on = words32(&[0x0019_0000, 0x1a2b, 0xFFFF_FF00]);
    let directory = directory(&[
        ("b", log(false, BASE, &[vec![factors32(1, 1, 2)], names.to_vec()].concat(), &[on])),
        // The first stamp of CPU 1 is after the wrap.
        ("b-0", log(false, CPU, &[], &[event32(1, 0xFFFF_FF80), event32(3, 0x20)])),
        ("b-1", log(false, CPU, &[], &[event32(2, 0x10), event32(4, 0x30)])),
    ]);
    let (events, notices) = read_all(open(&directory.path().join("b")));
    assert_eq!(notices, []);
    assert_eq!(marks(&events), [1, 2, 3, 4]);
    let elapsed: Vec<_> = events.iter().filter(|event| event.id == 0x0100).map(|event| event.elapsed_ns).collect();
    assert_eq!(elapsed, [0x80, 0x110, 0x120, 0x130]);
}

#[test]
fn truncated_cpu_files_keep_earlier_events() {
    let directory = two_cpus();
    let base = directory.path().join("trc");
    let (whole, _) = read_all(open(&base));
    let file = directory.path().join("trc-1");
    let bytes = fs::read(&file).unwrap();
    for cut in 0..bytes.len() {
        fs::write(&file, &bytes[..cut]).unwrap();
        let (events, notices) = read_all(open(&base));
        let others = |events: &[Seen]| -> Vec<_> {
            events.iter().filter(|event| event.log < 2).map(|event| (event.mark, event.elapsed_ns)).collect()
        };
        assert_eq!(others(&events), others(&whole), "{cut}");
        let of_cpu = |events: &[Seen]| -> Vec<_> {
            events.iter().filter(|event| event.cpu == Some(1)).map(|event| (event.mark, event.elapsed_ns)).collect()
        };
        let left = of_cpu(&events);
        assert_eq!(left, of_cpu(&whole)[..left.len()], "{cut}");
        // Header and one table row are 64 bytes, and each event 32.
        assert_eq!(left.len(), cut.saturating_sub(64) / 32, "{cut}");
        assert!(notices.iter().any(|(damage, message)| *damage && message.contains("trc-1")), "{cut}: {notices:?}");
    }
}

fn merged(paths: &[PathBuf], remove_duplicates: bool) -> Logs {
    Logs::merged(paths.iter().map(|path| open(path)).collect(), remove_duplicates).unwrap()
}

#[test]
fn elapsed_time_of_a_merge_begins_once() {
    let directory = directory(&[
        ("late", stream64(&[factors64(1, 1, 2), hook64(0x0010, 500), event64(3, 600)])),
        (
            "early",
            stream64(&[factors64(1, 1, 2), hook64(0x0010, 100), event64(1, 200), event64(2, 550), event64(4, 700)]),
        ),
    ]);
    let paths = ["late", "early"].map(|name| directory.path().join(name));
    let (events, _) = read_all(merged(&paths, true));
    let times: Vec<_> = events.iter().filter(|event| event.id != 0x00A0).map(|event| event.elapsed_ns).collect();
    assert_eq!(times, [0, 100, 400, 450, 500, 600]);
    assert_eq!(marks(&events), [1, 2, 3, 4]);
}

#[test]
fn merge_without_trace_on_starts_at_the_first_stamp() {
    let stamped_factors = words64(&[0xC000_0018_00A0_0000, 0x25C, 1, 1, 2, 1, 50]);
    let directory = directory(&[
        // In this file alone, elapsed 0 would be the 001 event.
        ("a", stream64(&[stamped_factors, hook64(0x0010, 300)])),
        ("b", stream64(&[factors64(1, 1, 2), event64(1, 200)])),
    ]);
    let paths = ["a", "b"].map(|name| directory.path().join(name));
    let (events, _) = read_all(merged(&paths, true));
    let times: Vec<_> = events.iter().filter(|event| event.id != 0x00A0).map(|event| event.elapsed_ns).collect();
    // The earliest event that is not a 00A is of hook 010, so the first stamp counts. The unstamped factors come first,
    // at time 0 of their trace, then the factors stamped 50.
    assert_eq!(times, [150, 250]);
}

#[test]
fn cpu_trace_on_follows_unnumbered_event_of_its_time() {
    let stamped_factors = words64(&[0xC000_0018_00A0_0000, 0x25C, 1, 1, 2, 1, 50]);
    let directory = directory(&[
        ("b", log(true, BASE, &[stamped_factors], &[event64(1, 100)])),
        ("b-0", log(true, CPU, &[], &[hook64(0x0010, 100), event64(2, 130)])),
    ]);
    let (events, _) = read_all(open(&directory.path().join("b")));
    // The 001 event is not the first event, so time does not start with it.
    assert_eq!(events.iter().map(|event| event.elapsed_ns).collect::<Vec<_>>(), [0, 50, 50, 80]);
}

#[test]
fn equal_times_sort_by_cpu_with_unnumbered_events_first() {
    // Only the low half of the CPU word counts.
    let cpu = |cpu: u64| 0xFFFF_FFFF_0000_0000 | cpu;
    let directory = directory(&[
        ("a", stream64(&[factors64(1, 1, 2), event64_cpu(4, 100, cpu(2)), event64_cpu(5, 200, cpu(0))])),
        ("b", stream64(&[factors64(1, 1, 2), event64_cpu(3, 100, cpu(1)), event64_cpu(6, 200, cpu(1))])),
        ("c", stream64(&[factors64(1, 1, 2), event64_cpu(2, 100, cpu(0)), event64_cpu(7, 200, cpu(3))])),
        ("d", stream64(&[factors64(1, 1, 2), event64(1, 100), event64_cpu(8, 200, cpu(4))])),
    ]);
    let paths = ["a", "b", "c", "d"].map(|name| directory.path().join(name));
    let (events, _) = read_all(merged(&paths, true));
    assert_eq!(marks(&events), [1, 2, 3, 4, 5, 6, 7, 8]);
    let cpus: Vec<_> = events.iter().filter(|event| event.id == 0x0100).map(|event| event.cpu).collect();
    assert_eq!(cpus[..4], [None, Some(0), Some(1), Some(2)]);
}

#[test]
fn notices_of_a_merge_name_their_log() {
    let directory = directory(&[
        ("s", stream64(&[factors64(1, 1, 2), event64(1, 100)])),
        ("b", log(true, BASE, &[factors64(1, 1, 2), cpu_file(0, "b-0"), cpu_file(1, "b-1")], &[])),
        ("b-0", log(true, CPU, &[], &[event64(2, 200)])),
    ]);
    let paths = ["s", "b"].map(|name| directory.path().join(name));
    let mut logs = merged(&paths, true);
    let mut told = Vec::new();
    while let Some(item) = logs.next().unwrap() {
        if let LogItem::Notice { log, notice } = item {
            told.push((log, notice.message));
        }
    }
    let base = paths[1].display().to_string();
    assert!(
        matches!(&told[..], [(1, message)] if message.starts_with(&format!("{base}: the file of CPU 1"))),
        "{told:?}"
    );
    assert_eq!(logs.log(1).name, base);
}

#[test]
fn logs_report_size_and_progress() {
    let directory = two_cpus();
    let sizes = ["trc", "trc-0", "trc-1"].map(|name| fs::metadata(directory.path().join(name)).unwrap().len());
    let mut logs = open(&directory.path().join("trc"));
    let all: u64 = sizes.iter().sum();
    assert_eq!((logs.size(), logs.file_size()), (Some(all), Some(all)));
    assert!(!logs.is_live() && !logs.waits().unwrap());
    let (mut n, mut last) = (0, 0);
    while let Some(item) = logs.next().unwrap() {
        n += u64::from(matches!(item, LogItem::Event(_)));
        // Events that the merge has read ahead are not counted.
        assert_eq!(logs.n_events(), (n, 0));
        assert!(last <= logs.progress() && logs.progress() <= all);
        last = logs.progress();
    }
    assert_eq!((n, logs.progress()), (13, all));
}

#[test]
fn stamps_that_go_back_are_counted() {
    let directory = directory(&[
        ("a", [factors32(1, 1, 2), event32(1, 300), event32(2, 200), event32(3, 400)].concat()),
        ("b", [factors32(1, 1, 2), event32(1, 900), event32(2, 800), event32(3, 700)].concat()),
    ]);
    let paths = ["a", "b"].map(|name| directory.path().join(name));
    let mut logs = merged(&paths, true);
    while logs.next().unwrap().is_some() {}
    assert_eq!(logs.clamped(), 3);
}

#[test]
fn events_with_unneeded_ids_are_skipped() {
    let mut needed = IdSet::default();
    (0..=u16::MAX).filter(|id| *id != 0x0100).for_each(|id| needed.insert(id));
    let first = stream64(&[factors64(1, 1, 2), event64(1, 100), hook64(0x5001, 200), event64(2, 300)]);
    let second = stream64(&[factors64(1, 1, 2), hook64(0x5001, 150), event64(3, 250)]);
    let directory = directory(&[("a", first), ("b", second)]);
    let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
    for (mut logs, n_passed, times) in [(open(&a), 2, vec![0, 100]), (merged(&[a, b], false), 3, vec![0, 0, 50, 100])] {
        logs.need(needed.clone());
        let mut seen = Vec::new();
        while let Some(item) = logs.next().unwrap() {
            if let LogItem::Event(timed) = item {
                assert_ne!(timed.event.id, 0x0100);
                seen.push(timed.time.elapsed_ns);
            }
        }
        assert_eq!((seen, logs.n_passed()), (times, n_passed));
    }
}

#[test]
fn events_of_two_logs_are_given_once() {
    let directory = directory(&[
        ("a", stream64(&[factors64(1, 1, 2), event64(1, 100), event64(2, 200), event64(2, 200), event64(4, 400)])),
        ("b", stream64(&[factors64(1, 1, 2), event64(2, 200), event64(2, 200), event64(2, 200), event64(3, 300)])),
    ]);
    let paths = ["a", "b"].map(|name| directory.path().join(name));
    assert_eq!(marks(&read_all(merged(&paths, true)).0), [1, 2, 2, 2, 3, 4]);
    assert_eq!(marks(&read_all(merged(&paths, false)).0), [1, 2, 2, 2, 2, 2, 3, 4]);
    let [a, b] = paths.map(|path| path.to_str().unwrap().to_owned());
    let lines = |args: &[&str]| {
        let (out, err, status) = run(trcrpt(&[args, &[a.as_str(), b.as_str()]].concat()));
        assert_eq!(status, 0, "{err}");
        out.lines().count()
    };
    assert_eq!(lines(&["-h", "-m"]), 6);
    assert_eq!(lines(&["-h", "-m", "-O", "removedups=off"]), 8);
    assert_eq!(lines(&["-h"]), 8); // one after another
}

#[test]
fn too_many_events_of_one_time_are_reported_once() {
    let events: Vec<Vec<u8>> = (0..66_000).map(|n| event32(n, 7)).collect();
    let directory = directory(&[
        ("a", [factors32(1, 1, 2), events.concat()].concat()),
        ("b", [factors32(1, 1, 2), event32(99_999, 8)].concat()),
    ]);
    let paths = ["a", "b"].map(|name| directory.path().join(name));
    let mut logs = merged(&paths, true);
    let mut told = Vec::new();
    while let Some(item) = logs.next().unwrap() {
        if let LogItem::Notice { notice, .. } = item {
            told.push(notice.message);
        }
    }
    assert!(matches!(&told[..], [message] if message.contains("too many events with one time stamp")), "{told:?}");
}

#[test]
fn merged_logs_keep_their_kernels_and_names() {
    let directory = directory(&[
        ("wide", stream64(&[factors64(1, 1, 2), event64(1, 100), event64(3, 300)])),
        ("narrow", [factors32(1, 1, 2), event32(2, 200), event32(4, 400)].concat()),
        ("x.fmt", b"010 1.0 L=0 \"\" $TRACEENV $LOGFILE\n".to_vec()),
    ]);
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (out, err, status) = run(trcrpt(&["-h", "-m", "-t", &path("x.fmt"), &path("wide"), &path("narrow")]));
    assert_eq!(status, 0, "{err}");
    let lines: Vec<_> = out.lines().map(|line| (line.contains("64"), line.contains("wide"))).collect();
    assert_eq!(lines, [(true, true), (false, false), (true, true), (false, false)], "{out}");
}

#[test]
fn what_is_no_trace_of_aix_is_not_merged() {
    let directory = directory(&[("a", stream64(&[event64(1, 1)]))]);
    let a = directory.path().join("a").to_str().unwrap().to_owned();
    let (out, err, status) = run(trcrpt(&["-m", &a, "/no/such/file"]));
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.contains("/no/such/file"), "{err}");
    let (_, err, status) = run(trcrpt(&["-m", "-", "-"]).write_stdin(stream64(&[])));
    assert_eq!(status, 1);
    assert!(err.contains("more than once"), "{err}");
}

#[test]
fn cpus_are_chosen_by_their_files() {
    let directory = two_cpus();
    let base = directory.path().join("trc").to_str().unwrap().to_owned();
    let report = |cpus: &str| {
        let (out, err, status) = run(trcrpt(&["-h", "-O", "cpuid=on,timestamp=3", "-d", "010", "-C", cpus, &base]));
        assert_eq!(status, 0, "{err}");
        out.lines().map(|line| line[4..5].to_owned()).collect::<String>()
    };
    assert_eq!(report("all"), "0110011");
    assert_eq!(report("0"), "000");
    assert_eq!(report("1"), "1111");
    assert_eq!(report("0,1"), "0110011");
    assert_eq!(report("0 1"), "0110011");
    assert_eq!(report("0-1"), "0110011");
    // Files that are not selected may be missing.
    fs::remove_file(directory.path().join("trc-1")).unwrap();
    assert_eq!(report("0"), "000");
}

#[test]
fn cpus_that_a_log_does_not_have_are_refused() {
    let directory = two_cpus();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for (cpus, name, parts) in [
        ("2", "trc", ["CPU 2", "CPU 0, 1"]),
        ("0-7", "trc", ["CPU 2", "CPU 0, 1"]),
        ("0", "trc-1", ["CPU 0", "the file of CPU 1"]),
        ("x", "trc", ["-C", "`x`"]),
        ("All", "trc", ["-C", "did you mean `all`"]),
    ] {
        let (out, err, status) = run(trcrpt(&["-C", cpus, &path(name)]));
        assert_eq!((status, out.as_str()), (1, ""), "{cpus}");
        assert!(parts.iter().all(|part| err.contains(part)), "{cpus}: {err}");
    }
    let options = ReadOptions { cpus: Some(vec![(0, u64::MAX)]), ..ReadOptions::default() };
    let refused = Logs::open(&directory.path().join("trc"), &options).err().unwrap();
    assert!(matches!(refused, OpenError::NoCpu { cpu: 2, .. }));
}

#[test]
fn cpus_are_chosen_by_words_of_events() {
    let events = [factors64(1, 1, 2), event64_cpu(1, 100, 0), event64_cpu(2, 200, 3), event64_cpu(3, 300, 0)];
    let directory = directory(&[("p", stream64(&events))]);
    let path = directory.path().join("p").to_str().unwrap().to_owned();
    for (cpus, expected) in [("0", 2), ("3", 1), ("all", 3), ("1-3", 1)] {
        let (out, err, status) = run(trcrpt(&["-h", "-C", cpus, &path]));
        assert_eq!((status, out.lines().count()), (0, expected), "{cpus}: {err}");
    }
}

#[test]
fn dates_do_not_go_with_cpus() {
    let directory = two_cpus();
    let base = directory.path().join("trc").to_str().unwrap().to_owned();
    let (out, err, status) = run(trcrpt(&["-h", "-d", "010", "-C", "all", "-s", "010100000099", &base]));
    assert_eq!((status, out.lines().count()), (0, 7), "{err}");
    assert!(err.contains("0454-051"), "{err}");
}

/// Checks that the report of a log's raw stream equals the report of the log.
fn reads_back(directory: &TempDir, name: &str, flags: &[&str], magic: &[u8]) {
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (raw, log) = (path("raw"), path(name));
    let (out, err, status) = run(trcrpt(&[flags, &["-r", "-o", &raw, &log]].concat()));
    assert_eq!((status, out.as_str()), (0, ""), "{name}: {err}");
    assert!(fs::read(&raw).unwrap().starts_with(magic));
    let columns = ["-O", "exec=on,pid=on,tid=on,cpuid=on,svc=on"];
    let (expected, ..) = run(trcrpt(&[flags, &columns, &[log.as_str()]].concat()));
    let (out, err, status) = run(trcrpt(&[&columns, &[raw.as_str()][..]].concat()));
    assert_eq!((status, err.as_str()), (0, ""), "{name}");
    assert!(expected.lines().count() > 2, "{name}: {expected}");
    assert_eq!(without_offsets(&out), without_offsets(&expected), "{name}");
}

/// Removes the offsets and flag P that events without a template print.
fn without_offsets(report: &str) -> String {
    let words = |line: &str| {
        let kept: Vec<&str> =
            line.split(' ').filter(|word| !word.starts_with("idx=") && !word.starts_with("hookword=")).collect();
        kept.join(" ")
    };
    report.lines().map(|line| words(line) + "\n").collect()
}

const MAGIC64: [u8; 4] = [0xEF, 0xDF, 0x11, 0x14];

#[test]
fn raw_streams_read_back() {
    for (name, magic) in [("sample32.stream", &[][..]), ("sample64.stream", &MAGIC64[..])] {
        let directory = directory(&[(name, fs::read(data(&format!("aix/{name}"))).unwrap())]);
        reads_back(&directory, name, &[], magic);
        let raw = fs::read(directory.path().join("raw")).unwrap();
        assert_eq!(raw, fs::read(directory.path().join(name)).unwrap(), "{name}");
    }
}

#[test]
fn raw_streams_of_logs_read_back() {
    let entries = vec![event64(5, 500), event64(6, 600), event64(1, 100), event64(2, 200)];
    let wrapped = LogBuilder { wide: true, current: 2, wraps: 1, ic: factors64(2, 1, 2), entries };
    let entries = vec![event32(1, 0xFFFF_FFF0), event32(2, 0x10), Vec::new()];
    let narrow = LogBuilder { wide: false, current: 2, wraps: 0, ic: factors32(3, 2, 2), entries };
    let directory = directory(&[("wrapped", wrapped.bytes()), ("narrow", narrow.bytes())]);
    reads_back(&directory, "wrapped", &[], &MAGIC64);
    let (events, _) = read_all(open(&directory.path().join("raw")));
    assert_eq!(marks(&events), [1, 2, 5, 6]);
    reads_back(&directory, "narrow", &[], &[]);
}

#[test]
fn raw_streams_of_cpus_read_back_with_the_cpus() {
    let directory = two_cpus();
    reads_back(&directory, "trc", &["-C", "all"], &MAGIC64);
    let (events, _) = read_all(open(&directory.path().join("raw")));
    assert_eq!(marks(&events), [1, 2, 3, 4, 6, 5, 7]);
    let cpus: Vec<_> = events.iter().filter(|event| event.id == 0x0100).map(|event| event.cpu.unwrap()).collect();
    assert_eq!(cpus, [0, 1, 1, 0, 0, 1, 1]);
    // Flag P, and the number as the last word.
    let raw = fs::read(directory.path().join("raw")).unwrap();
    let expected = words64(&[0x9000_0008_0100_0000, 2, 0x1a2b, 100, 1]);
    assert!(raw.windows(expected.len()).any(|bytes| bytes == expected));
    reads_back(&directory, "trc", &["-C", "1"], &MAGIC64);
    let (events, _) = read_all(open(&directory.path().join("raw")));
    assert_eq!(marks(&events), [2, 3, 5, 7]);
}

#[test]
fn raw_streams_have_the_cpu_in_the_last_word() {
    let first = words64(&[0x9000_0008_0100_0000, 3, 42, 0x1a2b, 100]);
    let directory = directory(&[("p", stream64(&[factors64(1, 1, 2), first]))]);
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (_, err, status) = run(trcrpt(&["-r", "--cpuid-word", "first", "-o", &path("raw"), &path("p")]));
    assert_eq!(status, 0, "{err}");
    let (events, _) = read_all(open(&directory.path().join("raw")));
    assert_eq!((events[1].mark, events[1].cpu), (42, Some(3)));
    // A flag without its word is removed.
    let flagged = words64(&[0x9000_0008_0100_0000, 42, 0x1a2b, 100]);
    fs::write(directory.path().join("p"), stream64(&[factors64(1, 1, 2), flagged])).unwrap();
    let (_, err, status) = run(trcrpt(&["-r", "--cpuid-word", "none", "-o", &path("raw"), &path("p")]));
    assert_eq!(status, 0, "{err}");
    let (events, notices) = read_all(open(&directory.path().join("raw")));
    assert_eq!((events[1].mark, events[1].cpu, notices.len()), (42, None, 0));
}

#[test]
fn raw_streams_contain_chosen_and_internal_events() {
    let other = hook64(0x5000, 150);
    let directory = directory(&[(
        "s",
        stream64(&[
            factors64(1, 1, 2),
            hook64(0x0010, 90),
            event64(1, 100),
            other,
            event64(2, 200),
            hook64(0x0020, 300),
        ]),
    )]);
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let ids = |flags: &[&str]| {
        let (_, err, status) = run(trcrpt(&[&["-r", "-o", &path("raw")], flags, &[path("s").as_str()]].concat()));
        assert_eq!(status, 0, "{err}");
        read_all(open(&directory.path().join("raw"))).0.iter().map(|event| event.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["-d", "500"]), [0x00A0, 0x0010, 0x5000, 0x0020]);
    assert_eq!(ids(&["-k", "500"]), [0x00A0, 0x0010, 0x0100, 0x0100, 0x0020]);
    assert_eq!(ids(&["-O", "starttime=0.000000100"]), [0x00A0, 0x0010, 0x0100, 0x0020]);
    assert_eq!(ids(&["-T", "1"]), [0x00A0, 0x0010, 0x0020]);
}

#[test]
fn what_cannot_be_one_stream_is_refused() {
    let later = words64(&[0xC000_0018_00A0_0000, 0x25C, 7, 1, 2, 1, 150]);
    let directory = directory(&[
        ("wide", stream64(&[factors64(1, 1, 2), event64(1, 100)])),
        ("fast", stream64(&[factors64(2, 1, 2), event64(2, 100)])),
        ("turn", stream64(&[factors64(1, 1, 2), event64(2, 100), later, event64(3, 300)])),
        ("narrow", [factors32(1, 1, 2), event32(3, 100)].concat()),
    ]);
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for (other, part) in [("fast", "time factors"), ("turn", "time factors"), ("narrow", "32-bit")] {
        let raw = path("raw");
        let (_, err, status) = run(trcrpt(&["-m", "-r", "-o", &raw, &path("wide"), &path(other)]));
        assert_eq!(status, 1, "{other}");
        assert!(err.contains(part) && err.contains(other), "{other}: {err}");
        assert!(!Path::new(&raw).exists());
    }
}

#[test]
fn raw_streams_of_a_merge_and_of_damaged_logs() {
    let mut cut = stream64(&[factors64(1, 1, 2), event64(2, 200), event64(3, 300)]);
    cut.truncate(cut.len() - 4);
    let directory = directory(&[("a", stream64(&[factors64(1, 1, 2), event64(1, 100), event64(4, 400)])), ("b", cut)]);
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (_, err, status) = run(trcrpt(&["-m", "-r", "-o", &path("raw"), &path("a"), &path("b")]));
    assert_eq!(status, 2);
    assert!(err.contains(&format!("{}: truncated at offset", path("b"))), "{err}");
    let (events, notices) = read_all(open(&directory.path().join("raw")));
    assert_eq!((marks(&events), notices), (vec![1, 2, 4], vec![]));
}

fn info(path: &Path) -> (String, i32) {
    let mut command = command("tfbc");
    let (out, _, status) = run(command.arg("info").arg(path));
    (out, status)
}

fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|known| known == *line), "`{line}` in\n{text}");
    }
}

#[test]
fn info_describes_a_base_and_its_files() {
    let directory = two_cpus();
    let base = directory.path().join("trc");
    let (text, status) = info(&base);
    assert_eq!(status, 0, "{text}");
    assert_lines(
        &text,
        &[
            "  log        1 entries, next 1, wrapped 0 times, mode 0x4, base file of one file a CPU",
            "  span       0.000000000 to 0.000000810 s",
            "  events     13, of 2 threads",
            "  cpus       events of CPU 0-1",
            // 48 of the header, 16 of the table, three events of 32 bytes and one of 24.
            "  cpu 0      trc-0: 184 bytes, 4 events, 0.000000010 to 0.000000510 s",
            "  cpu 1      trc-1: 192 bytes, 4 events, 0.000000010 to 0.000000610 s",
            "  damaged    0 places, 0 bytes",
            "  gaps       0",
            "  001             1  TRACE ON",
            "  010             7  (no template)",
        ],
    );
    fs::remove_file(directory.path().join("trc-0")).unwrap();
    let (text, status) = info(&base);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("  damaged    1 place, 0 bytes\n             ") && text.contains("trc-0"), "{text}");
}

#[test]
fn info_lists_damage_and_gaps_with_their_offsets() {
    let lost = words64(&[0x8000_0010_0060_0000, 3, 17, 0x1a2b, 400]);
    let mut bytes = stream64(&[
        factors64(1, 1, 2),
        hook64(0x0010, 100),
        hook64(0x0020, 200),
        hook64(0x0010, 350),
        lost,
        event64(1, 500),
    ]);
    bytes.truncate(bytes.len() - 8);
    let directory = directory(&[("s", bytes)]);
    let (text, status) = info(&directory.path().join("s"));
    assert_eq!(status, 2, "{text}");
    assert_lines(
        &text,
        &[
            "  damaged    1 place, 24 bytes",
            // 4 of the first word, 48 of the factors, three events of 24 bytes, one of 40.
            "             truncated at offset 0xa4: 24 bytes left in the stream, event 6 needs 32",
            "  gaps       2",
            "             0.000000100 to 0.000000250 s: the trace was off",
            "             0.000000300 s, offset 0x7c: 17 missed entries (006)",
        ],
    );
}

/// Lines of a report that contain a word.
fn lines_with(report: &str, word: &str) -> Vec<String> {
    report.lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}

#[test]
fn skipped_events_do_not_change_times_or_context() {
    // 101 and 104 are skipped unless the system call is needed; 5001 is always read.
    let enter = words64(&[0x8000_0008_1010_0000, 0x1234, 0x1a2b, 0]);
    let enter = |ticks: u64| [&enter[..24], &ticks.to_be_bytes()].concat();
    let directory = directory(&[
        (
            "s",
            stream64(&[
                factors64(1, 1, 2),
                hook64(0x0010, 50),
                hook64(0x5001, 60),
                enter(70),
                event64(1, 100),
                hook64(0x5001, 120),
                hook64(0x1040, 130),
                event64(2, 200),
            ]),
        ),
        ("x.fmt", b"010 1.0 L=0 \"\" \"mark \" $D1 \" svc \" $SVC\n101 1.0 L=0 \"\" \"enter\"\n".to_vec()),
        ("y.fmt", b"010 1.0 L=APPL \"\" \"mark\"\n101 1.0 L=0 \"\" \"enter\"\n".to_vec()),
    ]);
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for flags in [&["-t", &path("x.fmt")][..], &["-t", &path("y.fmt")], &["-t", &path("y.fmt"), "-O", "exec=on,svc=on"]]
    {
        let whole = run(trcrpt(&[&["-h", "-O", "timestamp=1"], flags, &[path("s").as_str()]].concat())).0;
        let part = run(trcrpt(&[&["-h", "-O", "timestamp=1", "-d", "010"], flags, &[path("s").as_str()]].concat())).0;
        assert_eq!(part.lines().count(), 2, "{part}");
        assert_eq!(lines_with(&whole, "mark"), lines_with(&part, "mark"), "{flags:?}");
    }
    let (_, err, _) = run(trcrpt(&["-h", "-vv", "-d", "010", &path("s")]));
    assert!(err.contains("8 events") && err.contains("2 reported"), "{err}");
}

/// 64 CPUs of 10 MB each; run with `--ignored --nocapture` to print the memory use.
#[test]
#[ignore = "writes 640 MB"]
fn sixty_four_files_of_cpus_in_constant_memory() {
    const N_EVENTS: u64 = 312_500;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("t"), log(true, BASE, &[factors64(1, 1, 2)], &[])).unwrap();
    for cpu in 0..64u64 {
        let events: Vec<u8> = (0..N_EVENTS).flat_map(|n| event64(n, n * 64 + cpu)).collect();
        fs::write(directory.path().join(format!("t-{cpu}")), log(true, CPU, &[], &[events])).unwrap();
    }
    // Memory used to write the files does not count.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = peak_kb();
    let mut logs = open(&directory.path().join("t"));
    let (mut n, mut last) = (0u64, 0);
    while let Some(item) = logs.next().unwrap() {
        let LogItem::Event(timed) = item else { panic!() };
        assert!(timed.time.elapsed_ns >= last);
        last = timed.time.elapsed_ns;
        n += 1;
    }
    assert_eq!(n, 64 * N_EVENTS + 1);
    let after = peak_kb();
    println!("peak resident memory {before} KB before, {after} KB after {n} events");
    assert!(after - before < 32 << 10);
}

fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

fn trcrpt(args: &[&str]) -> Command {
    let mut command = command("trcrpt");
    command.args(args);
    command
}

#[test]
fn a_thread_dispatched_again_keeps_its_mode_while_another_cpu_is_off() {
    let names = [cpu_file(0, "trc-0"), cpu_file(1, "trc-1")];
    let base = log(true, BASE, &[&[factors64(1, 1, 2)][..], &names].concat(), &[hook64(0x0010, 90)]);
    let ids = [0x1060, 0x1060, 0x1010, 0x1040, 0x0020];
    let events: Vec<_> = ids.into_iter().zip(1..).map(|(id, n)| hook64(id, 100 * n)).collect();
    let directory = directory(&[
        ("trc", base),
        ("trc-0", log(true, CPU, &[], &events)),
        ("trc-1", log(true, CPU, &[], &[hook64(0x0020, 95)])),
    ]);
    let mut summary = command("tfbc");
    summary.args(["summary", "--to", "ndjson", "--sections", "cpu", "trc"]).current_dir(&directory);
    let (text, err, status) = run(summary);
    assert_eq!(status, 0, "{err}");
    let row = text.lines().find(|row| row.contains("\"cpu\":0,")).unwrap_or_default();
    assert!(row.contains("\"application_ns\":300,\"syscall_ns\":100,\"mode_ns\":0,"), "{text}");
}
