//! Events outside the range in a log's header: they are always reported, and `--salvage` reads them if they are
//! well-formed.

use crate::common::damage::{DamagedRead, check_bytes};
use crate::common::*;
use std::fs;
use std::ops::Range;
use tfbc::aix::ReadOptions;
use tfbc::testing::aix::{AixItem, Trace};
use tfbc::testing::input::Input;
use tfbc::testing::qnx::KevOptions;

/// Numbered events whose stamps follow their numbers.
fn events(wide: bool, numbers: Range<u64>) -> Vec<u8> {
    let event = |n| if wide { event64(n, 1000 + n) } else { event32(n as u32, 1000 + n as u32) };
    numbers.flat_map(event).collect()
}

/// Log whose buffers contain events from the first number to before the second.
fn log(wide: bool, current: u32, wraps: u32, entries: &[(u64, u64)]) -> LogBuilder {
    let ic = if wide { factors64(1, 1, 2) } else { factors32(1, 1, 2) };
    LogBuilder {
        wide,
        current,
        wraps,
        ic,
        entries: entries.iter().map(|(from, to)| events(wide, *from..*to)).collect(),
    }
}

/// Logs in all states: not full, full, wrapped, with one buffer.
fn logs(wide: bool) -> [(&'static str, LogBuilder); 5] {
    [
        ("full", log(wide, 3, 0, &[(1, 4), (4, 15), (15, 18)])),
        ("with unused entries", log(wide, 2, 0, &[(1, 4), (4, 15), (0, 0), (0, 0)])),
        ("wrapped", log(wide, 1, 1, &[(20, 31), (1, 12), (12, 20)])),
        ("wrapped over an unused entry", log(wide, 2, 3, &[(20, 31), (31, 33), (0, 0), (1, 20)])),
        ("of one buffer", log(wide, 1, 0, &[(1, 12)])),
    ]
}

fn outcome(bytes: &[u8], salvage: bool) -> Option<DamagedRead> {
    let options = ReadOptions { salvage, ..ReadOptions::default() };
    damage::outcome_with(Input::from_bytes(bytes.to_vec()), &options)
}

/// Reads a log with every bit of its header flipped, with and without salvage.
fn sweep(bytes: &[u8], head_len: usize, check: impl Fn(usize, &[u8], DamagedRead, DamagedRead)) {
    for bit in 0..8 * head_len {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // A file that is no longer a log is refused with exit status 1.
        let Some(plain) = outcome(&flipped, false) else { continue };
        let salvaged = outcome(&flipped, true).unwrap();
        check_bytes(&plain, bytes.len());
        check_bytes(&salvaged, bytes.len());
        check(bit, &flipped, plain, salvaged);
    }
}

/// True if an event or a damaged place overlaps these bytes.
fn touches(outcome: &DamagedRead, from: u64, to: u64) -> bool {
    let skipped = outcome.notices.iter().filter(|notice| !notice.message.starts_with("the header does not refer to"));
    let skipped = skipped.filter_map(|notice| notice.skipped);
    let mut places = outcome.events.iter().map(|event| (event.from, event.to)).chain(skipped);
    places.any(|(start, end)| start < to && from < end)
}

#[test]
fn flipped_header_bits_hide_no_events_silently() {
    for wide in [false, true] {
        for (name, log) in logs(wide) {
            let bytes = log.bytes();
            let intact = outcome(&bytes, false).unwrap();
            assert_eq!(intact.notices, []);
            let base = log.head_len() as u64;
            sweep(&bytes, log.head_len(), |bit, flipped, plain, salvaged| {
                let what = format!("{name}, wide: {wide}, byte {}, bit {}: {plain:#?} {salvaged:#?}", bit / 8, bit % 8);
                for read in [&plain, &salvaged] {
                    let is_missing = intact.events.iter().any(|event| !read.events.contains(event));
                    let is_told = read.notices.iter().any(|notice| notice.damage);
                    assert!(is_told || !is_missing, "{what}");
                }
                // A header that announces too many entries takes the following bytes for its table.
                let n_entries = u32::from_be_bytes(*flipped[4..].first_chunk().unwrap()) as usize;
                let table_end = log.row(n_entries);
                let mut from = base;
                for buffer in std::iter::once(&log.ic).chain(&log.entries) {
                    let to = from + buffer.len() as u64;
                    // Events of a 32-bit kernel are not well-formed as 64-bit events.
                    let is_table = table_end <= bytes.len() && from < table_end as u64;
                    if bit >= 32 && !is_table && !touches(&plain, from, to) {
                        let mut own = intact.events.iter().filter(|event| from <= event.from && event.from < to);
                        assert!(own.all(|event| salvaged.events.contains(event)), "{what}");
                    }
                    from = to;
                }
            });
        }
    }
}

#[test]
fn log_without_named_entries_is_salvaged_in_order() {
    for wide in [false, true] {
        for (name, log) in logs(wide) {
            let mut bytes = log.bytes();
            let intact = outcome(&bytes, false).unwrap();
            bytes[4..8].fill(0);
            let read = outcome(&bytes, true).unwrap();
            let in_file_order = |mut outcome: DamagedRead| {
                outcome.events.sort_by_key(|event| event.from);
                outcome.events
            };
            // 32-bit stamps do not show which buffer of a wrapped log is the oldest.
            if wide || log.wraps == 0 {
                assert_eq!(read.events, intact.events, "{name}, wide: {wide}");
            } else {
                assert_eq!(in_file_order(read.clone()), in_file_order(intact), "{name}");
            }
            assert_eq!(read.notices.iter().filter(|notice| notice.damage).count(), 2, "{:?}", read.notices);
        }
    }
}

#[test]
fn buffer_without_an_entry_is_read_in_order() {
    for wide in [false, true] {
        for lost in 0..3 {
            let whole = log(wide, 3, 0, &[(1, 4), (4, 15), (15, 18)]);
            let mut bytes = whole.bytes();
            let intact = outcome(&bytes, false).unwrap();
            set_row(&mut bytes, &whole, lost, 0, 0);
            assert_eq!(outcome(&bytes, true).unwrap().events, intact.events, "wide: {wide}, entry {lost}");
        }
    }
}

#[test]
fn events_without_stamps_are_salvaged_if_eight_step_cleanly() {
    let unstamped = |n: u64| words64(&[0x0000_0008_0100_0000, n, 0x1a2b]);
    for (n, is_read) in [(7, false), (8, true), (20, true)] {
        let entries = vec![(1..=n).flat_map(unstamped).collect()];
        let whole = LogBuilder { entries, ..log(true, 1, 0, &[]) };
        let mut bytes = whole.bytes();
        set_row(&mut bytes, &whole, 0, 0, 0);
        let read = outcome(&bytes, true).unwrap();
        assert_eq!(read.events.len() as u64, 1 + if is_read { n } else { 0 });
    }
}

#[test]
fn zeros_and_unreadable_words_are_no_events() {
    let whole = log(true, 1, 0, &[(1, 12)]);
    let intact = outcome(&whole.bytes(), false).unwrap();
    let mut bytes = whole.bytes();
    bytes[4..8].fill(0);
    let with_tail = |more: &[u8]| outcome(&[&bytes[..], more].concat(), true).unwrap();
    for more in [&[0; 4096][..], &[0xFF; 100], b"some text of another file, which is no event at all"] {
        let read = with_tail(more);
        assert_eq!(read.events, intact.events, "{more:?}");
        let table = 16;
        let is_skipped = read.tally.skipped == (table + more.len()) as u64;
        assert_eq!(is_skipped, more[0] != 0, "{:?}", read.notices);
    }
}

#[test]
fn salvage_ends_at_the_event_cut_by_full_disk() {
    for wide in [false, true] {
        let whole = log(wide, 2, 0, &[(1, 4), (4, 9)]);
        let bytes = whole.bytes();
        let (event, intact) = (if wide { 32 } else { 16 }, outcome(&bytes, false).unwrap());
        for cut in 1..event {
            // The second buffer's row was not written, nor was the end of its last event.
            let mut bytes = bytes[..bytes.len() - cut].to_vec();
            set_row(&mut bytes, &whole, 1, 0, 0);
            let read = outcome(&bytes, true).unwrap();
            assert_eq!(read.events, intact.events[..intact.events.len() - 1], "wide: {wide}, {cut} bytes are missing");
            assert!(outcome(&bytes, false).unwrap().notices[0].damage);
        }
    }
}

#[test]
fn log_of_many_runs_needs_bounded_memory() {
    // Each run has one event, followed by zeros.
    let place = |n: u64| [event64(n, 1000 + n), vec![0; 8]].concat();
    let n = (1 << 16) + 50;
    let whole = LogBuilder { entries: vec![(1..=n).flat_map(place).collect()], ..log(true, 1, 0, &[]) };
    let mut bytes = whole.bytes();
    set_row(&mut bytes, &whole, 0, 0, 0);
    let read = outcome(&bytes, true).unwrap();
    assert_eq!(read.events.len(), 1 + (1 << 16));
    assert!(read.notices[0].message.contains("no more runs of events are looked for"), "{:?}", read.notices);
}

const TEMPLATE: &str = "010 1.0 L=APPL \"N\" $D1%UW\n";

fn tfbc(directory: &std::path::Path, args: &[&str]) -> (String, String, i32) {
    let (program, args) = args.split_first().unwrap();
    run(command(program).args(args).current_dir(directory).env("TFBC_CACHE", "off"))
}

#[test]
fn trace_commands_report_skipped_data_with_status_2() {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = log(true, 4, 0, &[(1, 4), (4, 15), (15, 18), (18, 20)]).bytes();
    let size = bytes.len();
    // 4 entries become 0.
    bytes[7] ^= 4;
    fs::write(directory.path().join("a.log"), bytes).unwrap();
    fs::write(directory.path().join("f"), TEMPLATE).unwrap();
    let from = 48;
    let message = format!(
        "a.log: the header does not refer to offset {from:#x} to 0x70, 0xa8 to {size:#x}: skipped ({} bytes); `tfbc report \
         --salvage` reads the well-formed events there",
        size - 48 - 56
    );
    for line in ["tfbc report -t f a.log", "trcrpt -t f a.log", "tfbc report --stats a.log", "trcrpt -r -o raw a.log"] {
        let (out, err, status) = tfbc(directory.path(), &line.split(' ').collect::<Vec<_>>());
        assert_eq!(status, 2, "{line}: {err}");
        assert!(err.contains(&message), "{line}: {err}");
        assert!(!out.contains("N 7"), "{line}: {out}");
    }
    let (out, _, status) = tfbc(directory.path(), &["tfbc", "info", "a.log"]);
    assert!(status == 2 && out.contains("the header does not refer to offset"), "{out}");
    for line in ["tfbc report --salvage -t f a.log", "trcrpt --salvage -t f a.log"] {
        let (out, err, status) = tfbc(directory.path(), &line.split(' ').collect::<Vec<_>>());
        assert_eq!(status, 2, "the header is damaged all the same: {line}: {err}");
        assert!((1..20).all(|n| out.contains(&format!("N {n}\n"))), "{line}: {out}");
        assert!(err.contains("read anyway (608 bytes of events)"), "{line}: {err}");
    }
    let (out, _, status) = tfbc(directory.path(), &["tfbc", "info", "--salvage", "a.log"]);
    assert!(status == 2 && out.contains("events     20,"), "{out}");
}

/// A base file and two per-CPU files.
fn base_and_files(directory: &std::path::Path) -> [Vec<u8>; 3] {
    let counts = [2u32, 2].map(u32::to_be_bytes).concat();
    let file = |cpu: u32, name: &str| [&cpu.to_be_bytes()[..], name.as_bytes(), b"\0"].concat();
    let kinds = [(0x12, counts), (0x10, file(0, "base-0")), (0x10, file(1, "base-1"))];
    let named: Vec<u8> = kinds.iter().flat_map(|(kind, bytes)| generic_by64(0x00A0, *kind, bytes, 1, 0)).collect();
    let on = plain64(0x0010, 0, &[0], 1, 1000);
    let ic = [factors64(1, 1, 2), on, named].concat();
    let base = LogBuilder { wide: true, ic, ..LogBuilder::default() };
    let of_cpu = |from, to| LogBuilder { ic: Vec::new(), ..log(true, 1, 0, &[(from, to)]) };
    let logs = [base, of_cpu(1, 10), of_cpu(10, 30)].map(|log| log.bytes());
    for ((name, mode), bytes) in [("base", 4), ("base-0", 8), ("base-1", 8)].into_iter().zip(&logs) {
        let mut bytes = bytes.clone();
        bytes[15] = mode;
        fs::write(directory.join(name), bytes).unwrap();
    }
    ["base", "base-0", "base-1"].map(|name| fs::read(directory.join(name)).unwrap())
}

#[test]
fn flipped_bits_of_cpu_logs_hide_no_events() {
    let directory = tempfile::tempdir().unwrap();
    let files = base_and_files(directory.path());
    let shown = || {
        let options = ReadOptions::default();
        let Ok(mut logs) = tfbc::testing::aix::Logs::open(&directory.path().join("base"), &options) else {
            return None;
        };
        let (mut n, mut damage) = (0, false);
        while let Some(item) = logs.next().unwrap() {
            match item {
                tfbc::testing::aix::LogItem::Event(timed) => n += u64::from(timed.event.id == 0x0100),
                tfbc::testing::aix::LogItem::Notice { notice, .. } => damage |= notice.damage,
                tfbc::testing::aix::LogItem::Passed => {}
            }
        }
        Some((n, damage))
    };
    assert_eq!(shown(), Some((29, false)));
    for (name, bytes) in ["base", "base-0", "base-1"].iter().zip(&files) {
        for bit in 0..8 * 64 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(directory.path().join(name), flipped).unwrap();
            if let Some((n, damage)) = shown() {
                assert!(n == 29 || damage, "{name}, byte {}, bit {}: {n} events", bit / 8, bit % 8);
            }
        }
        fs::write(directory.path().join(name), bytes).unwrap();
    }
}

#[test]
fn a_trace_gives_its_salvaged_events_once() {
    let mut bytes = log(true, 2, 0, &[(1, 4), (4, 15)]).bytes();
    bytes[4..8].fill(0);
    let options = ReadOptions { salvage: true, ..ReadOptions::default() };
    let mut trace = Trace::from_input("test", Input::from_bytes(bytes), &options).unwrap();
    let mut n = 0;
    while let Some(item) = trace.next().unwrap() {
        n += u64::from(matches!(item, AixItem::Event(_)));
    }
    assert_eq!((n, trace.n_whole()), (15, 15));
}

/// Numbered records after a header and a system page of 160 bytes.
fn qnx(big_endian: bool, n: u32) -> (Vec<u8>, usize) {
    let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    let half = |half: u16| if big_endian { half.to_be_bytes() } else { half.to_le_bytes() };
    let order = if big_endian { "BIG" } else { "LITTLE" };
    let text = format!(
        "TRACE_HEADER_BEGIN::TRACE_FILE_NAME::a.kevTRACE_VER_MAJOR::1TRACE_VER_MINOR::01TRACE_{order}_ENDIAN::TRUE\
         TRACE_CYCLES_PER_SEC::1000000000TRACE_CPU_NUM::2TRACE_SYS_RELEASE::6.4.1TRACE_SYSPAGE_LEN::160TRACE_HEADER_END::"
    );
    let mut page = [half(64), half(160), half(0), half(2)].concat();
    page.resize(160, 0x5A);
    let slot = |n: u32| [0x1807 | (n % 2) << 24, 16 * n, n, 0x7000 + n].map(word).concat();
    let head = [text.into_bytes(), page].concat();
    let len = head.len();
    ([head, (1..=n).flat_map(slot).collect()].concat(), len)
}

/// Offset and payload per record.
type Records = Vec<(u64, Vec<u8>)>;

/// Records of a log; true if it is damaged.
fn records(bytes: &[u8], salvage: bool) -> Option<(Records, bool)> {
    let options = KevOptions { salvage, ..KevOptions::default() };
    let (records, notices, tally) = damage::kev_outcome(Input::from_bytes(bytes.to_vec()), &options)?;
    assert_eq!(tally.read, bytes.len() as u64);
    let records = records.into_iter().map(|(offset, _, _, bytes)| (offset, bytes)).collect();
    Some((records, notices.iter().any(|notice| notice.damage)))
}

#[test]
fn flipped_qnx_header_bits_hide_no_events() {
    for big_endian in [false, true] {
        for n in [3, 100] {
            let (bytes, head_len) = qnx(big_endian, n);
            let (intact, damage) = records(&bytes, false).unwrap();
            assert_eq!((intact.len(), damage), (n as usize, false));
            for bit in 0..8 * head_len {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                for salvage in [false, true] {
                    let Some((found, damage)) = records(&flipped, salvage) else { continue };
                    let is_missing = intact.iter().any(|record| !found.contains(record));
                    assert!(damage || !is_missing, "byte {}, bit {}, {n} records: {found:?}", bit / 8, bit % 8);
                }
            }
        }
    }
}

#[test]
fn slots_counted_to_the_system_page_are_salvaged() {
    let directory = tempfile::tempdir().unwrap();
    for big_endian in [false, true] {
        let (bytes, head_len) = qnx(big_endian, 100);
        let (intact, _) = records(&bytes, false).unwrap();
        let at = bytes.windows(5).position(|window| window == b"::160").unwrap() + 2;
        for length in ["161", "170", "176", "560", "960"] {
            let mut bytes = bytes.clone();
            bytes[at..at + 3].copy_from_slice(length.as_bytes());
            assert_eq!(records(&bytes, true), Some((intact.clone(), true)), "{length}");
            let (rest, damage) = records(&bytes, false).unwrap();
            assert!(damage && rest.len() < intact.len(), "{length}");
        }
        let mut bytes = bytes;
        bytes[at] = b'5';
        fs::write(directory.path().join("a.kev"), bytes).unwrap();
        let (from, to) = (head_len, head_len + 400);
        let place = format!("slots follow it at offset {from:#x} to {to:#x}");
        for (line, advice) in [
            ("tfbc report a.kev", "skipped (400 bytes); `tfbc report --salvage` reads them"),
            ("traceprinter -f a.kev", "skipped (400 bytes); `tfbc report --salvage` reads them"),
            ("tfbc report --salvage a.kev", "read anyway (400 bytes)"),
        ] {
            let (out, err, status) = tfbc(directory.path(), &line.split(' ').collect::<Vec<_>>());
            assert_eq!(status, 2, "{line}: {err}");
            assert!(err.contains("a.kev: TRACE_SYSPAGE_LEN:: is 560"), "{line}: {err}");
            assert!(err.contains(&place) && err.contains(advice), "{line}: {err}");
            assert_eq!(out.contains("0x00007001"), line.contains("--salvage"), "{line}: {out}");
        }
    }
}
