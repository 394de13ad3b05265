//! Tests of the `.kev` reader: headers, combines, clocks, lost buffers, damage.
//!
//! The logs are built byte by byte. [`expected`] is a second, much simpler reader, whose results the tests compare.

use crate::common::damage::ShortReader;
use std::collections::HashMap;
use std::error::Error as _;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use tfbc::Notice;
use tfbc::qnx::{KevCounts, KevRefusal, KevRefusalKind, QnxRelease};
use tfbc::testing::input::Input;
use tfbc::testing::qnx::{
    KevHeader, KevItem, KevLog, KevOptions, KevRecord, MAX_EVENT_BYTES, MAX_HEADER_BYTES, PageSection, is_kev,
};

const CONTROL: u32 = 1;
const KER_CALL: u32 = 2;
const SYSTEM: u32 = 5;
const USER: u32 = 6;
const SIMPLE: u32 = 0;
const BEGIN: u32 = 1;
const MORE: u32 = 2;
const END: u32 = 3;

/// Builder of a log.
#[derive(Clone)]
struct KevBuilder {
    big: bool,
    attributes: Vec<(&'static str, String)>,
    syspage: Vec<u8>,
    slots: Vec<u8>,
}

impl KevBuilder {
    fn new(big: bool) -> Self {
        let endian = if big { "BIG_ENDIAN" } else { "LITTLE_ENDIAN" };
        let attributes = [
            ("FILE_NAME", "/dev/shmem/tracebuffer.kev"),
            ("DATE", "Wed Jun 24 10:52:58 2009"),
            ("VER_MAJOR", "1"),
            ("VER_MINOR", "01"),
            (endian, "TRUE"),
            ("ENCODING", "16 byte events"),
            ("CYCLES_PER_SEC", "736629000"),
            ("CPU_NUM", "4"),
            ("SYS_RELEASE", "6.4.1"),
            ("TRACELOGGER_ARGS", "tracelogger -n 3"),
        ];
        let attributes = attributes.map(|(key, value)| (key, value.to_string())).to_vec();
        KevBuilder { big, attributes, syspage: Vec::new(), slots: Vec::new() }
    }

    fn set(mut self, key: &'static str, value: &str) -> Self {
        self.attributes.retain(|(name, _)| *name != key);
        self.attributes.push((key, value.to_string()));
        self
    }

    fn without(mut self, key: &str) -> Self {
        self.attributes.retain(|(name, _)| *name != key);
        self
    }

    fn with_syspage(self, syspage: Vec<u8>) -> Self {
        let len = syspage.len().to_string();
        KevBuilder { syspage, ..self.set("SYSPAGE_LEN", &len) }
    }

    fn word(&self, word: u32) -> [u8; 4] {
        if self.big { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    fn slot(&mut self, kind: u32, cpu: u32, class: u32, event: u32, stamp: u32, payload: &[u8; 8]) -> &mut Self {
        let header = kind << 30 | cpu << 24 | class << 10 | event;
        let head = [self.word(header), self.word(stamp)].concat();
        self.slots.extend(head);
        self.slots.extend(payload);
        self
    }

    fn simple(&mut self, cpu: u32, class: u32, event: u32, stamp: u32, words: [u32; 2]) -> &mut Self {
        let payload = words.map(|word| self.word(word)).concat();
        self.slot(SIMPLE, cpu, class, event, stamp, &payload.try_into().unwrap())
    }

    fn time(&mut self, cpu: u32, msb: u32, stamp: u32) -> &mut Self {
        self.simple(cpu, CONTROL, 1, stamp, [msb, stamp])
    }

    fn buffer(&mut self, number: u32, stamp: u32) -> &mut Self {
        self.simple(0, CONTROL, 2, stamp, [number, 714])
    }

    fn header(&self) -> Vec<u8> {
        let mut text = String::from("TRACE_HEADER_BEGIN::");
        for (key, value) in &self.attributes {
            text += &format!("TRACE_{key}::{value}");
        }
        text += "TRACE_HEADER_END::";
        [text.as_bytes(), &self.syspage].concat()
    }

    fn bytes(&self) -> Vec<u8> {
        [self.header(), self.slots.clone()].concat()
    }
}

/// A system page that contains only a clock.
fn syspage(big: bool, qtime_flags: u32, rate: u64) -> Vec<u8> {
    let mut page = vec![0; 128];
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    for (at, value) in [(0, 64), (2, 128), (4, 0), (6, 4), (32, 64), (34, 64)] {
        page[at..at + 2].copy_from_slice(&half(value));
    }
    page[64..72].copy_from_slice(&if big { rate.to_be_bytes() } else { rate.to_le_bytes() });
    page[124..].copy_from_slice(&word(qtime_flags));
    page
}

/// A record in owned form.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owned {
    offset: u64,
    class: u8,
    event: u16,
    cpu: u8,
    wide: bool,
    stamp: u32,
    msb: Option<u32>,
    bytes: Vec<u8>,
}

impl From<KevRecord<'_>> for Owned {
    fn from(record: KevRecord<'_>) -> Self {
        let KevRecord { offset, class, event, cpu, wide, stamp, msb, bytes, .. } = record;
        Owned { offset, class, event, cpu, wide, stamp, msb, bytes: bytes.to_vec() }
    }
}

/// Everything read from a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Drained {
    records: Vec<Owned>,
    slots: Vec<[u32; 4]>,
    /// Messages about damage.
    damage: Vec<String>,
    counts: KevCounts,
}

impl Drained {
    /// CPU and first payload byte per record, which identify it in these tests.
    fn marks(&self) -> Vec<(u8, u8)> {
        self.records.iter().map(|record| (record.cpu, record.bytes[0])).collect()
    }

    fn msbs(&self) -> Vec<Option<u32>> {
        self.records.iter().map(|record| record.msb).collect()
    }
}

/// Opens a log without checking that slots are aligned, like the simple reader.
fn open(bytes: &[u8]) -> Result<KevLog, KevRefusal> {
    let options = KevOptions { out_of_step: true, ..KevOptions::default() };
    KevLog::from_read(Cursor::new(bytes.to_vec()), "test", Some(bytes.len() as u64), &options)
}

/// Reads a log to its end, and checks after each item that all bytes and slots are accounted for.
fn drain(log: KevLog) -> Drained {
    drain_by_rows(log, 0)
}

/// Like [`drain`], but reads rows of up to `max_slots` slots before each item.
fn drain_by_rows(mut log: KevLog, max_slots: usize) -> Drained {
    let mut drained = Drained::default();
    let mut last_offset = 0;
    loop {
        let row = log.row(max_slots);
        let n_before = drained.records.len();
        row.each(|record| {
            assert_eq!(record.number, drained.records.len() as u64 + 1);
            drained.records.push((*record).into());
        });
        assert_eq!(drained.records.len() - n_before, row.len());
        assert_eq!(log.counts().records, drained.records.len() as u64);
        let tally = log.tally();
        assert_eq!(tally.read, tally.header + tally.events + tally.skipped);
        assert!(log.offset() >= last_offset);
        last_offset = log.offset();
        match log.next().unwrap() {
            Some(KevItem::Record(record)) => {
                assert_eq!(record.number, drained.records.len() as u64 + 1);
                assert_eq!(record.bytes.len() % 8, 0);
                drained.records.push(record.into());
            }
            Some(KevItem::Slot(slot)) => drained.slots.push(slot.words),
            Some(KevItem::Notice(notice)) => {
                if notice.damage {
                    drained.damage.push(notice.message);
                } else {
                    assert!(notice.message.contains("version"), "{notice:?}");
                }
            }
            None => break,
        }
    }
    assert!(log.next().unwrap().is_none());
    let (tally, counts) = (log.tally(), log.counts());
    assert_eq!(tally.read, tally.header + tally.events + tally.skipped);
    assert_eq!(tally.skipped, 16 * counts.dropped_slots + counts.cut_bytes + counts.skipped_bytes);
    assert_eq!(counts.records, drained.records.len() as u64);
    let n_delivered: usize = drained.records.iter().map(|record| record.bytes.len() / 8).sum();
    assert_eq!(counts.slots, n_delivered as u64 + counts.dropped_slots);
    assert_eq!(tally.read, tally.header + 16 * counts.slots + counts.cut_bytes + counts.skipped_bytes);
    drained.counts = counts;
    drained
}

fn read(log: &KevBuilder) -> Drained {
    read_bytes(&log.bytes())
}

/// Reads a log item by item, and again in rows of several lengths.
fn read_bytes(bytes: &[u8]) -> Drained {
    let drained = drain(open(bytes).unwrap());
    for max_slots in [3, usize::MAX] {
        assert_eq!(drain_by_rows(open(bytes).unwrap(), max_slots), drained, "rows of {max_slots}");
    }
    drained
}

/// Simple reader of records, without system pages and limits.
fn expected(header_len: usize, bytes: &[u8], big: bool) -> (Vec<Owned>, KevCounts) {
    let mut records = Vec::new();
    let mut counts = KevCounts::default();
    let mut open: HashMap<(u32, u32), Owned> = HashMap::new();
    let mut msbs = HashMap::new();
    let mut last_buffer = None;
    let slots = bytes[header_len..].chunks_exact(16);
    counts.cut_bytes = slots.remainder().len() as u64;
    for (at, slot) in slots.enumerate() {
        let word = |at: usize| {
            let word = slot[4 * at..4 * at + 4].try_into().unwrap();
            if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        counts.slots += 1;
        let (header, stamp) = (word(0), word(1));
        let (cpu, class, event) = (header >> 24 & 63, header >> 10 & 31, header & 1023);
        let kind = header >> 30;
        if (kind, class, event) == (SIMPLE, CONTROL, 1) {
            msbs.insert(cpu, word(2));
        }
        if (kind, class, event) == (SIMPLE, CONTROL, 2) {
            let number = i64::from(word(2) & 0x7FF);
            let lost = last_buffer.map_or(0, |last: i64| (number - last - 1).rem_euclid(2048));
            counts.gaps += u64::from(lost > 0);
            counts.lost_buffers += lost as u64;
            last_buffer = Some(number);
        }
        let key = (cpu << 24 | class << 10 | event, stamp);
        let record = Owned {
            offset: (header_len + 16 * at) as u64,
            class: class as u8,
            event: event as u16,
            cpu: cpu as u8,
            wide: kind != SIMPLE,
            stamp,
            msb: msbs.get(&cpu).copied(),
            bytes: slot[8..].to_vec(),
        };
        match kind {
            SIMPLE => records.push(record),
            BEGIN => {
                if let Some(dropped) = open.insert(key, record) {
                    counts.dropped_begins += 1;
                    counts.dropped_slots += dropped.bytes.len() as u64 / 8;
                }
            }
            _ => match open.get_mut(&key) {
                None => {
                    counts.dropped_slots += 1;
                    if kind == MORE {
                        counts.continuations_without_begin += 1;
                    } else {
                        counts.ends_without_begin += 1;
                    }
                }
                Some(combine) => {
                    combine.bytes.extend(&slot[8..]);
                    if kind == END {
                        let mut combine = open.remove(&key).unwrap();
                        combine.msb = combine.msb.or(record.msb);
                        records.push(combine);
                    }
                }
            },
        }
    }
    counts.open_at_end = open.len() as u64;
    counts.dropped_slots += open.values().map(|combine| combine.bytes.len() as u64 / 8).sum::<u64>();
    counts.records = records.len() as u64;
    (records, counts)
}

fn assert_expected(header_len: usize, bytes: &[u8], big: bool) -> Drained {
    let drained = read_bytes(bytes);
    let (records, counts) = expected(header_len, bytes, big);
    assert_eq!(drained.records, records);
    assert_eq!(drained.counts, counts);
    assert_eq!(drained.damage.is_empty(), (counts.gaps, counts.dropped_slots, counts.cut_bytes) == (0, 0, 0));
    drained
}

/// A small log with every feature: four CPUs, interleaved combines that cross buffers, clock wraps, gaps, incomplete
/// combines.
fn mixed(big: bool) -> KevBuilder {
    let mut log = KevBuilder::new(big);
    log.slot(MORE, 1, USER, 5, 7, b"leftover").buffer(33, 0xFFFF_FF00).time(0, 1, 0xFFFF_FF01);
    log.time(1, 1, 0xFFFF_FF02).slot(BEGIN, 0, SYSTEM, 4, 0xFFFF_FF10, b"/dev/ser");
    log.slot(BEGIN, 1, SYSTEM, 4, 0xFFFF_FF10, b"/proc/bo").simple(2, KER_CALL, 11, 0xFFFF_FF11, [1, 2]);
    log.slot(MORE, 0, SYSTEM, 4, 0xFFFF_FF10, b"1/queue/").slot(BEGIN, 3, USER, 9, 40, b"dropped.");
    log.buffer(34, 0xFFFF_FFF0).time(0, 2, 5).time(2, 2, 6);
    log.slot(END, 1, SYSTEM, 4, 0xFFFF_FF10, b"ot\0\0\0\0\0\0").slot(END, 0, SYSTEM, 4, 0xFFFF_FF10, b"depth\0\0\0");
    log.slot(BEGIN, 3, USER, 9, 40, b"second..").slot(MORE, 3, USER, 9, 40, b"of its k").slot(
        END,
        3,
        USER,
        9,
        40,
        b"ey......",
    );
    log.buffer(37, 50).simple(3, USER, 3, 51, [3, 4]).slot(END, 2, USER, 1, 60, b"no begin").simple(
        0,
        13,
        9,
        61,
        [0x8048, 0],
    );
    for stamp in 100..130 {
        log.slot(BEGIN, 2, USER, 1, stamp, b"many....");
    }
    for stamp in (100..130).rev() {
        log.slot(END, 2, USER, 1, stamp, b"together");
    }
    log.slot(BEGIN, 0, USER, 1, 200, b"no end..");
    log
}

#[test]
fn a_mixed_log_reads_as_its_slots_say() {
    for big in [false, true] {
        let log = mixed(big);
        let drained = assert_expected(log.header().len(), &log.bytes(), big);
        let counts = KevCounts {
            dropped_begins: 1,
            continuations_without_begin: 1,
            ends_without_begin: 1,
            open_at_end: 1,
            dropped_slots: 4,
            gaps: 1,
            lost_buffers: 2,
            ..drained.counts
        };
        assert_eq!(drained.counts, counts);
        assert_eq!(drained.damage.len(), 2);
        assert!(drained.damage[0].contains("buffers lost between sequence 34 and 37: 2"), "{}", drained.damage[0]);
        assert_eq!(
            drained.damage[1].split_once(": ").unwrap().1,
            "begun again before their end: 1, continuations without begin: 1, ends without begin: 1, open at the end: 1; slots: 4"
        );
    }
}

#[test]
fn byte_orders_differ_in_words_and_never_in_payloads() {
    let payloads = [false, true].map(|big| {
        let mut log = KevBuilder::new(big);
        log.slot(SIMPLE, 1, USER, 1, 0x0102_0304, b"abcdefgh").simple(2, USER, 2, 5, [0x0A0B_0C0D, 1]);
        let drained = read(&log);
        let record = &drained.records[0];
        assert_eq!((record.cpu, record.event, record.stamp, &record.bytes[..]), (1, 1, 0x0102_0304, &b"abcdefgh"[..]));
        drained.records[1].bytes.clone()
    });
    assert_eq!(payloads[0], [0x0D, 0x0C, 0x0B, 0x0A, 1, 0, 0, 0]);
    assert_eq!(payloads[1], [0x0A, 0x0B, 0x0C, 0x0D, 0, 0, 0, 1]);
}

#[test]
fn unknown_bits_of_a_slot_header_are_ignored() {
    let mut log = KevBuilder::new(true);
    log.slots.extend(0x3F01_FFFF_u32.to_be_bytes());
    log.slots.extend([0; 12]);
    log.slots.extend((0x4001_0000_u32 | USER << 10).to_be_bytes());
    log.slots.extend([0; 12]);
    log.slots.extend((0xC08E_8000_u32 | USER << 10).to_be_bytes());
    log.slots.extend([0; 12]);
    let drained = read(&log);
    assert_eq!(drained.counts.dropped_slots, 0);
    let record = &drained.records[0];
    assert_eq!((record.cpu, record.class, record.event, record.wide), (63, 31, 1023, false));
    assert!(drained.records[1].wide);
}

#[test]
fn combines_come_at_their_end_with_their_begins_key() {
    let mut log = KevBuilder::new(false);
    log.slot(BEGIN, 0, USER, 1, 10, b"AAAAAAAA").simple(0, USER, 2, 11, [7, 7]);
    log.slot(MORE, 0, USER, 1, 10, b"BBBBBBBB").slot(END, 0, USER, 1, 10, b"CCCCCCCC");
    let drained = read(&log);
    assert_eq!(drained.records.iter().map(|record| record.event).collect::<Vec<_>>(), [2, 1]);
    let combine = &drained.records[1];
    assert_eq!((combine.wide, combine.stamp), (true, 10));
    assert_eq!(combine.offset, log.header().len() as u64);
    assert_eq!(combine.bytes, b"AAAAAAAABBBBBBBBCCCCCCCC");
}

#[test]
fn combines_differ_by_cpu_class_event_and_stamp() {
    let mut log = KevBuilder::new(false);
    let keys = [(0, USER, 1, 10), (1, USER, 1, 10), (0, SYSTEM, 1, 10), (0, USER, 2, 10), (0, USER, 1, 11)];
    for round in [BEGIN, MORE, END] {
        for (at, (cpu, class, event, stamp)) in keys.into_iter().enumerate() {
            log.slot(round, cpu, class, event, stamp, &[at as u8; 8]);
        }
    }
    let drained = read(&log);
    assert_eq!(drained.counts.dropped_slots, 0);
    for (at, record) in drained.records.iter().enumerate() {
        assert_eq!(record.bytes, [at as u8; 24]);
    }
    assert_eq!(drained.records.len(), 5);
}

#[test]
fn clocks_run_per_cpu() {
    let mut log = KevBuilder::new(false);
    log.simple(0, USER, 0, 5, [0, 0]).time(0, 7, 6).simple(0, USER, 0, 7, [0, 0]).simple(1, USER, 0, 8, [0, 0]);
    log.time(1, 9, 9).simple(1, USER, 0, 10, [0, 0]).time(0, 8, 1).simple(0, USER, 0, 2, [0, 0]);
    let (none, seven, eight, nine) = (None, Some(7), Some(8), Some(9));
    assert_eq!(read(&log).msbs(), [none, seven, seven, none, nine, nine, eight, eight]);
    for big in [false, true] {
        let mut log =
            KevBuilder { slots: Vec::new(), big, ..KevBuilder::new(big) }.with_syspage(syspage(big, 8 | 4, 1000));
        log.time(0, 7, 6).simple(1, USER, 0, 7, [0, 0]).time(1, 8, 1).simple(0, USER, 0, 2, [0, 0]);
        assert_eq!(read(&log).msbs(), [seven, seven, eight, eight]);
        assert!(open(&log.bytes()).unwrap().header().one_clock);
    }
    let other = KevBuilder::new(false).with_syspage(syspage(false, 7, 1000));
    assert!(!open(&other.bytes()).unwrap().header().one_clock);
}

#[test]
fn a_combine_keeps_the_clock_of_its_begin() {
    let mut log = KevBuilder::new(false);
    log.slot(BEGIN, 0, USER, 1, 0xFFFF_FFFF, &[0; 8]).time(0, 7, 0).slot(END, 0, USER, 1, 0xFFFF_FFFF, &[0; 8]);
    log.slot(BEGIN, 0, USER, 1, 0xFFFF_FFFE, &[0; 8]).time(0, 8, 0).slot(END, 0, USER, 1, 0xFFFF_FFFE, &[0; 8]);
    let drained = read(&log);
    assert_eq!(drained.msbs(), [Some(7), Some(7), Some(8), Some(7)]);
    let mut log = open(&log.bytes()).unwrap();
    let Some(KevItem::Record(record)) = log.next().unwrap() else { panic!() };
    assert_eq!(record.cycles(), Some(7 << 32));
}

#[test]
fn cycles_become_nanoseconds() {
    let ns = |rate, cycles| KevHeader { cycles_per_sec: rate, ..KevHeader::default() }.ns(cycles);
    assert_eq!(ns(Some(736_629_000), 736_629_000), Some(1_000_000_000));
    assert_eq!((ns(None, 5), ns(Some(0), 5)), (None, None));
    assert_eq!(ns(Some(1), u64::MAX), Some(u64::MAX));
    let mut cycles = 0x1234_5678_9ABC_DEF0_u64;
    for rate in [1, 3, 19_200_000, 31_250_000, 2_400_000_000, 18_446_744_073, 18_446_744_074, u64::MAX] {
        for _ in 0..50 {
            cycles = cycles.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) >> (cycles % 7);
            let exact = u128::from(cycles) * 1_000_000_000 / u128::from(rate);
            assert_eq!(ns(Some(rate), cycles), Some(u64::try_from(exact).unwrap_or(u64::MAX)), "{cycles} / {rate}");
        }
    }
}

#[test]
fn gaps_in_the_sequence_are_lost_buffers() {
    let lost = |numbers: &[u32]| {
        let mut log = KevBuilder::new(true);
        for &number in numbers {
            log.buffer(number, 1);
        }
        let drained = read(&log);
        assert_eq!(drained.damage.len() as u64, drained.counts.gaps);
        (drained.counts.gaps, drained.counts.lost_buffers)
    };
    assert_eq!(lost(&[5, 6, 7]), (0, 0));
    assert_eq!(lost(&[2046, 2047, 0, 1]), (0, 0));
    assert_eq!(lost(&[2046, 2]), (1, 3));
    assert_eq!(lost(&[5, 7, 10]), (2, 3));
    assert_eq!(lost(&[5, 5]), (1, 2047));
    // Bits 13 and up contain the index of the buffer.
    assert_eq!(lost(&[5, 6 | 9 << 13, 7 | 1 << 31]), (0, 0));
}

#[test]
fn gap_notices_do_not_flood() {
    let mut log = KevBuilder::new(false);
    for number in 0..1000 {
        log.buffer(number * 2, 1);
    }
    let drained = read(&log);
    assert_eq!(drained.counts.gaps, 999);
    assert_eq!(drained.damage.len(), 101);
    assert_eq!(drained.damage[100], "gaps in the sequence of buffers: 999, buffers lost: 999");
    // The first hundred are reported one by one, without a summary.
    log.slots.truncate(101 * 16);
    let drained = read(&log);
    assert_eq!((drained.counts.gaps, drained.damage.len()), (100, 100));
    assert!(drained.damage[99].ends_with("buffers lost between sequence 198 and 200: 1"), "{}", drained.damage[99]);
}

#[test]
fn headers_come_in_any_order() {
    let mut log = mixed(false).with_syspage(syspage(false, 8, 1));
    let plain = read(&log);
    log.attributes.reverse();
    assert_eq!(read(&log).records, plain.records);
    let opened = open(&log.bytes()).unwrap();
    let header = opened.header();
    assert_eq!(header.attributes[0], (b"SYSPAGE_LEN".to_vec(), b"128".to_vec()));
    assert_eq!(
        (header.cycles_per_sec, header.release, header.cpu_num),
        (Some(736_629_000), Some(QnxRelease { major: 6, minor: 4 }), Some(4))
    );
    assert_eq!(header.attribute("TRACELOGGER_ARGS"), Some(&b"tracelogger -n 3"[..]));
    assert_eq!(header.attribute("HEADER_BEGIN"), None);
    let page = header.syspage.as_ref().unwrap();
    assert_eq!(
        (page.size(), page.total_size(), page.machine(), page.n_cpus()),
        (Some(64), Some(128), Some(0), Some(4))
    );
    assert_eq!((page.bytes(), page.section(PageSection::Qtime)), (&log.syspage[..], Some(&log.syspage[64..])));
}

#[test]
fn values_may_be_long_raw_and_empty() {
    let mut log = mixed(true).set("NOTE", &"x".repeat(1 << 20)).set("EMPTY", "");
    log.attributes.rotate_right(1);
    let mut bytes = log.bytes();
    let at = bytes.windows(3).position(|window| window == b"xxx").unwrap();
    bytes[at..at + 4].copy_from_slice(&[0, b'\n', 0xFF, b':']);
    let opened = open(&bytes).unwrap();
    let header = opened.header();
    assert_eq!(header.attributes[0], (b"EMPTY".to_vec(), Vec::new()));
    let note = header.attribute("NOTE").unwrap();
    assert_eq!((note.len(), &note[..6]), (1 << 20, &[0, b'\n', 0xFF, b':', b'x', b'x'][..]));
    assert_eq!(drain(opened).records.len(), read(&mixed(true)).records.len());
}

#[test]
fn text_that_looks_like_a_key_splits_a_value() {
    let values = |value: &str| {
        let mut log = KevBuilder::new(false).set("NOTE", value);
        log.simple(0, USER, 1, 1, [0, 0]);
        let opened = open(&log.bytes()).unwrap();
        let tail = opened.header().attributes.iter().skip_while(|(key, _)| key != b"NOTE");
        let text: Vec<String> = tail
            .map(|(key, value)| format!("{}={}", String::from_utf8_lossy(key), String::from_utf8_lossy(value)))
            .collect();
        assert_eq!(drain(opened).records.len(), 1, "{value}");
        text.join(" ")
    };
    assert_eq!(values("a TRACE_X2_Y::b"), "NOTE=a  X2_Y=b");
    assert_eq!(values("TRACE_lower::b TRACE_::c TRACE_Z:d"), "NOTE=TRACE_lower::b TRACE_::c TRACE_Z:d");
    assert_eq!(values("TRACE_TRACE_TRACE_"), "NOTE=TRACE_TRACE_TRACE_");
    assert_eq!(values("TRACE_TRACE_A::TTTT"), "NOTE= TRACE_A=TTTT");
    assert_eq!(values("::TRACE"), "NOTE=::TRACE");
    assert_eq!(values("UPPER"), "NOTE=UPPER");
    assert_eq!(values(""), "NOTE=");
}

#[test]
fn the_header_stops_at_the_first_end_marker() {
    let mut log = KevBuilder::new(false);
    log.slots.extend(b"TRACE_HEADER_END");
    log.simple(0, USER, 1, 1, [0, 0]);
    assert_eq!(read(&log).counts.slots, 2);
    let log = KevBuilder::new(false).set("NOTE", "aTRACE_HEADER_END::0123456789abcdef");
    let opened = open(&log.bytes()).unwrap();
    assert_eq!(opened.header().attribute("NOTE"), Some(&b"a"[..]));
    // Two slots and two bytes of text: a simple slot, and the start of a combine without an end.
    let counts = drain(opened).counts;
    assert_eq!((counts.records, counts.slots, counts.open_at_end, counts.cut_bytes), (1, 2, 1, 2));
}

#[test]
fn the_begin_marker_is_in_the_first_64_kib() {
    let log = mixed(false).bytes();
    let marker = "TRACE_HEADER_BEGIN::".len();
    for (front, found) in [(0, true), (99, true), (60_000, true), (65536 - marker, true), (65536 - marker + 1, false)] {
        let bytes = [vec![b'T'; front], log.clone()].concat();
        assert_eq!(is_kev(&bytes), found, "{front}");
        match open(&bytes) {
            Ok(opened) => {
                assert!(found);
                assert_eq!(drain(opened).records.len(), read(&mixed(false)).records.len());
            }
            Err(refusal) => {
                assert!(!found);
                assert!(matches!(refusal.kind, KevRefusalKind::NotKev), "{refusal}");
                assert_eq!(refusal.to_string(), "not a .kev log: no TRACE_HEADER_BEGIN:: in its first 65536 bytes");
            }
        }
    }
    assert!(matches!(open(b"").err().unwrap().kind, KevRefusalKind::NotKev));
}

#[test]
fn a_header_is_bounded() {
    let log = KevBuilder::new(false).set("NOTE", &"x".repeat(MAX_HEADER_BYTES - 1000));
    assert!(open(&log.bytes()).is_ok());
    let log = KevBuilder::new(false).set("NOTE", &"x".repeat(MAX_HEADER_BYTES));
    let refusal = open(&log.bytes()).err().unwrap();
    assert!(matches!(refusal.kind, KevRefusalKind::TooLong), "{refusal}");
    let endless = io::Cursor::new(b"TRACE_HEADER_BEGIN::").chain(io::repeat(b'T'));
    let refusal = KevLog::from_read(endless, "endless", None, &KevOptions::default()).err().unwrap();
    assert!(matches!(refusal.kind, KevRefusalKind::TooLong), "{refusal}");
}

fn refusal(log: &KevBuilder) -> KevRefusal {
    open(&log.bytes()).err().unwrap()
}

/// First notice of a log, if it is not refused.
fn first_notice(log: &KevBuilder, options: &KevOptions) -> Result<Option<Notice>, KevRefusal> {
    let mut opened = KevLog::from_read(Cursor::new(log.bytes()), "a.kev", None, options)?;
    Ok(match opened.next().unwrap() {
        Some(KevItem::Notice(notice)) => Some(notice),
        _ => None,
    })
}

#[test]
fn logs_of_0_96_and_later_are_read() {
    for (major, minor, warning) in [
        ("0", "95", None),
        ("0", "9", None),
        ("0", "96", Some("version 0.96 of .kev logs, expected 1.01 or newer")),
        ("0", "099", Some("version 0.99 of .kev logs")),
        ("1", "00", Some("version 1.00 of .kev logs")),
        ("1", "", Some("no version in the header, expected 1.01 or newer")),
        ("1", "01", Some("")),
        ("1", "2", Some("")),
        ("2", "00", Some("")),
    ] {
        let log = mixed(false).set("VER_MAJOR", major).set("VER_MINOR", minor);
        let found = first_notice(&log, &KevOptions::default());
        match warning {
            None => assert!(found.is_err(), "{major}.{minor}"),
            Some("") => assert_eq!(found.unwrap(), None, "{major}.{minor}"),
            Some(text) => {
                let notice = found.unwrap().unwrap();
                assert!(notice.message.starts_with(text) && !notice.damage, "{notice:?}");
            }
        }
        let is_new = (major, minor) >= ("1", "01");
        let options = KevOptions { only_new: true, ..KevOptions::default() };
        assert_eq!(first_notice(&log, &options).is_ok(), is_new, "{major}.{minor}");
    }
    let log = mixed(false).set("VER_MAJOR", "0").set("VER_MINOR", "95");
    let refusal = refusal(&log);
    assert!(matches!(refusal.kind, KevRefusalKind::Version));
    assert_eq!(refusal.to_string(), "version 0.95 of .kev logs, expected 0.96 or newer");
    assert_eq!(refusal.header.len(), log.attributes.len());
    let unnamed = mixed(false).without("VER_MAJOR").without("VER_MINOR");
    assert!(first_notice(&unnamed, &KevOptions::default()).unwrap().is_some());
}

/// A versioned system page: two CPUs of 40 bytes at 232, strings at 312, qtime at 328.
fn versioned_page(big: bool, major: u16) -> Vec<u8> {
    let mut page = vec![0; 408];
    let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let sizes = [(0, 232), (2, 408), (4, 0x1104), (6, 2), (12, major)];
    let parts =
        [(20, 328), (22, 80), (32, 312), (34, 16), (206, 232), (208, 80), (210, 40), (232 + 28, 0), (272 + 28, 6)];
    for (at, n) in sizes.into_iter().chain(parts) {
        page[at..at + 2].copy_from_slice(&half(n));
    }
    for (at, n) in [(232, 7), (236, 1000), (272, 8), (276, 2000), (328 + 20, 1_700_000_000), (328 + 48, 8)] {
        page[at..at + 4].copy_from_slice(&word(n));
    }
    let rate = if big { 1_000_000_u64.to_be_bytes() } else { 1_000_000_u64.to_le_bytes() };
    page[328..336].copy_from_slice(&rate);
    page[312..324].copy_from_slice(b"first\0second");
    page
}

#[test]
fn the_versioned_page_of_8_0_is_read() {
    for big in [false, true] {
        let log = KevBuilder::new(big).without("CYCLES_PER_SEC").with_syspage(versioned_page(big, 2));
        let opened = open(&log.bytes()).unwrap();
        let header = opened.header();
        let page = header.syspage.as_ref().unwrap();
        assert_eq!((header.one_clock, header.cycles_per_sec, page.n_cpus()), (true, Some(1_000_000), Some(2)));
        assert_eq!(page.qtime().unwrap().boot_time, 1_700_000_000);
        let cpus: Vec<_> = page.cpus().map(|cpu| (cpu.kind, cpu.speed_mhz, cpu.name.to_vec())).collect();
        assert_eq!(cpus, [(7, 1000, b"first".to_vec()), (8, 2000, b"second".to_vec())]);
        assert_eq!(first_notice(&log, &KevOptions::default()).unwrap(), None);
        // For an unknown version, only the type, the number of CPUs and the header of the log are used.
        let log = KevBuilder::new(big).with_syspage(versioned_page(big, 3));
        let notice = first_notice(&log, &KevOptions::default()).unwrap().unwrap();
        assert!(notice.message.starts_with("the system page has version 3.0, expected 2") && !notice.damage);
        let opened = open(&log.bytes()).unwrap();
        let page = opened.header().syspage.as_ref().unwrap();
        assert_eq!((opened.header().one_clock, page.qtime(), page.cpus().count()), (false, None, 0));
        assert_eq!((page.machine(), page.n_cpus()), (Some(0x1104), Some(2)));
    }
}

#[test]
fn a_log_names_its_byte_order() {
    let log = mixed(false).without("LITTLE_ENDIAN");
    let refused = refusal(&log);
    assert!(matches!(refused.kind, KevRefusalKind::Endian));
    assert_eq!(refused.to_string(), "neither TRACE_LITTLE_ENDIAN:: nor TRACE_BIG_ENDIAN:: in the header");
    assert_eq!(refused.header[0], (b"FILE_NAME".to_vec(), b"/dev/shmem/tracebuffer.kev".to_vec()));
    for big in [false, true] {
        let both = mixed(big).set("LITTLE_ENDIAN", "TRUE").set("BIG_ENDIAN", "TRUE");
        let log = both.clone().with_syspage(syspage(big, 0, 1));
        assert_eq!(open(&log.bytes()).unwrap().header().big_endian, big);
        assert_eq!(read(&log).counts, read(&mixed(big)).counts);
        assert!(matches!(refusal(&both).kind, KevRefusalKind::Endian));
        // 0x0101 is equal in both byte orders.
        let mut either = vec![1; 4];
        either.resize(0x101, 0);
        assert!(refusal(&both.clone().with_syspage(either)).to_string().contains("either byte order"));
        let neither = [0xFF; 128].to_vec();
        assert!(refusal(&both.clone().with_syspage(neither)).to_string().contains("neither byte order"));
        // The total size is 128, but the page has 127 bytes.
        let mut short = syspage(big, 0, 1);
        short.pop();
        assert!(matches!(refusal(&both.with_syspage(short)).kind, KevRefusalKind::Endian));
    }
}

#[test]
fn a_system_page_may_be_missing_but_not_cut() {
    let plain = read(&mixed(false)).records.len();
    for log in [mixed(false), mixed(false).set("SYSPAGE_LEN", ""), mixed(false).set("SYSPAGE_LEN", "0")] {
        let opened = open(&log.bytes()).unwrap();
        assert!(opened.header().syspage.is_none());
        assert_eq!(drain(opened).records.len(), plain);
    }
    let log = KevBuilder { slots: Vec::new(), ..mixed(false).with_syspage(syspage(false, 0, 1)) };
    for cut in 1..128 {
        let bytes = log.bytes();
        let refusal = open(&bytes[..bytes.len() - cut]).err().unwrap();
        assert!(matches!(refusal.kind, KevRefusalKind::Syspage), "{refusal}");
        assert_eq!(refusal.header.len(), log.attributes.len());
        let (at, found) = (bytes.len() - cut, 128 - cut);
        let message = format!("truncated at offset {at:#x}: {found} bytes left for the system page, expected 128");
        assert_eq!(refusal.to_string(), message);
    }
    assert!(read(&log).records.is_empty());
    let huge = refusal(&mixed(false).set("SYSPAGE_LEN", "99999999999999999999999"));
    assert!(matches!(huge.kind, KevRefusalKind::Syspage), "{huge}");
    // Up to the size limit, the reader looks for the page and finds the log too short.
    for (len, part) in [(MAX_HEADER_BYTES, "truncated at"), (MAX_HEADER_BYTES + 1, "expected at most 2097152")] {
        let refusal = refusal(&mixed(false).set("SYSPAGE_LEN", &len.to_string()));
        assert!(refusal.to_string().contains(part), "{len}: {refusal}");
    }
    let cut = open(b"TRACE_HEADER_BEGIN::TRACE_A::1TRACE_B::22TRACE_C::3TRACE_HEADER_EN").err().unwrap();
    assert!(matches!(cut.kind, KevRefusalKind::Cut));
    assert_eq!(cut.header, [(b"A".to_vec(), b"1".to_vec()), (b"B".to_vec(), b"22".to_vec())]);
    assert_eq!(cut.to_string(), "truncated at offset 0x42: the header has no TRACE_HEADER_END::");
}

#[test]
fn the_system_page_replaces_a_missing_clock_rate() {
    for rate in ["", "0"] {
        let log = KevBuilder::new(true).set("CYCLES_PER_SEC", rate).with_syspage(syspage(true, 0, 31_250_000));
        assert_eq!(open(&log.bytes()).unwrap().header().cycles_per_sec, Some(31_250_000));
    }
    let log = KevBuilder::new(true).set("CYCLES_PER_SEC", "0");
    for log in [log.clone(), log.with_syspage(syspage(true, 0, 0))] {
        assert_eq!(open(&log.bytes()).unwrap().header().cycles_per_sec, None);
    }
}

#[test]
fn pipes_may_return_any_number_of_bytes() {
    let log = mixed(true).with_syspage(syspage(true, 0, 1));
    let plain = read(&log);
    for n in [1, 2, 3, 7, 15, 16, 17, 4096] {
        for max_slots in [0, 3, usize::MAX] {
            let reader = ShortReader::new(log.bytes(), n);
            let piped = KevLog::from_read(reader, "-", None, &KevOptions::default()).unwrap();
            assert_eq!(drain_by_rows(piped, max_slots), plain, "{n} bytes, rows of {max_slots}");
        }
    }
}

#[test]
fn slots_come_before_the_record_they_complete() {
    let log = mixed(true);
    let options = KevOptions { slots: true, ..KevOptions::default() };
    let mut opened = KevLog::from_read(Cursor::new(log.bytes()), "-", None, &options).unwrap();
    let mut last_slot = None;
    while let Some(item) = opened.next().unwrap() {
        match item {
            KevItem::Slot(slot) => last_slot = Some(slot.words),
            KevItem::Record(record) => {
                let words = last_slot.take().unwrap();
                assert_eq!((words[0] & 0x3FF, words[1]), (u32::from(record.event), record.stamp));
            }
            KevItem::Notice(_) => {}
        }
    }
    let drained = drain(KevLog::from_read(Cursor::new(log.bytes()), "-", None, &options).unwrap());
    // Payloads are little-endian in every log.
    let big = |word: &[u8]| u32::from_be_bytes(word.try_into().unwrap());
    let little = |word: &[u8]| u32::from_le_bytes(word.try_into().unwrap());
    let raw = |slot: &[u8]| [big(&slot[..4]), big(&slot[4..8]), little(&slot[8..12]), little(&slot[12..])];
    assert_eq!(drained.slots, log.slots.chunks_exact(16).map(raw).collect::<Vec<_>>());
    assert_eq!(Drained { slots: Vec::new(), ..drained }, read(&log));
}

#[test]
fn a_log_cut_anywhere_yields_the_records_before() {
    for big in [false, true] {
        let log = mixed(big).with_syspage(syspage(big, 0, 1));
        let (bytes, header_len) = (log.bytes(), log.header().len());
        let whole = read(&log);
        for len in 0..=bytes.len() {
            if len < header_len {
                assert!(open(&bytes[..len]).is_err(), "{len}");
                continue;
            }
            let cut = assert_expected(header_len, &bytes[..len], big);
            assert_eq!(cut.records, whole.records[..cut.records.len()]);
            let left = (len - header_len) % 16;
            assert_eq!(cut.damage.iter().any(|message| message.contains(&format!("{left} bytes left"))), left > 0);
        }
    }
}

#[test]
fn a_flipped_bit_never_panics_and_hides_nothing_else() {
    for big in [false, true] {
        let log = mixed(big).with_syspage(syspage(big, 0, 1));
        let (mut bytes, header_len) = (log.bytes(), log.header().len());
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if bit / 8 >= header_len {
                assert_expected(header_len, &bytes, big);
            } else if let Ok(log) = open(&bytes) {
                drain(log);
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn a_byte_more_or_less_never_panics() {
    let log = mixed(false).with_syspage(syspage(false, 0, 1));
    let (bytes, header_len) = (log.bytes(), log.header().len());
    for at in 0..bytes.len() {
        let mut more = bytes.clone();
        more.insert(at, 0xA5);
        let mut less = bytes.clone();
        less.remove(at);
        for changed in [more, less] {
            if at >= header_len {
                assert_expected(header_len, &changed, false);
            } else if let Ok(log) = open(&changed) {
                drain(log);
            }
        }
    }
}

#[test]
fn any_slots_read_like_the_simple_reader() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = |n: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u32 % n
    };
    for round in 0..200 {
        let mut log = KevBuilder::new(round % 2 == 0);
        for _ in 0..random(400) {
            // Few keys, so that slots of one record often interleave.
            let (cpu, class, event) = (random(2), [CONTROL, USER][random(2) as usize], random(3));
            let payload: [u8; 8] = std::array::from_fn(|_| random(256) as u8);
            log.slot(random(4), cpu, class, event, random(1 + round / 4), &payload);
        }
        let drained = assert_expected(log.header().len(), &log.bytes(), log.big);
        // Small reads, so that combines cross the window's end at every offset.
        for max_slots in [0, 2, usize::MAX] {
            let reader = ShortReader::new(log.bytes(), 1 + random(50) as usize);
            let piped = KevLog::from_read(reader, "-", None, &KevOptions::default()).unwrap();
            assert_eq!(drain_by_rows(piped, max_slots), drained, "round {round}, rows of {max_slots}");
        }
    }
}

#[test]
fn rows_match_single_items_if_slots_are_misaligned() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |n: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u32 % n
    };
    for round in 0..60 {
        let mut log = KevBuilder::new(round % 2 == 0);
        let header_len = log.header().len();
        for stamp in 0..100 + random(100) {
            let payload: [u8; 8] = std::array::from_fn(|_| random(256) as u8);
            // A CPU outside the header's count, and sometimes bits that no slot uses.
            let (cpu, class) = (random(5), [CONTROL, USER, 7][random(3) as usize]);
            let unused = [0, 0, 0, 0, 0, 0, 1 << 15, 1 << 20][random(8) as usize];
            log.slot(random(4), cpu, class, random(3) | unused, stamp / 3, &payload);
            if random(50) == 0 {
                let n = log.slots.len() - random(16) as usize;
                log.slots.truncate(n);
            }
        }
        let opened = || KevLog::from_input("x", Input::from_bytes(log.bytes()), &KevOptions::default()).unwrap();
        let one_by_one = drain(opened());
        for max_slots in [1, 2, usize::MAX] {
            assert_eq!(drain_by_rows(opened(), max_slots), one_by_one, "round {round}, rows of {max_slots}");
        }
        // Without the alignment check, the log must still match the simple reader.
        assert_expected(header_len, &log.bytes(), log.big);
    }
}

/// Records and notices of a log that is read with the alignment check.
fn in_step(bytes: &[u8]) -> (Vec<Owned>, Vec<Notice>) {
    let mut log = KevLog::from_input("x", Input::from_bytes(bytes.to_vec()), &KevOptions::default()).unwrap();
    let (mut records, mut notices) = (Vec::new(), Vec::new());
    while let Some(item) = log.next().unwrap() {
        match item {
            KevItem::Record(record) => records.push(record.into()),
            KevItem::Notice(notice) => notices.push(notice),
            KevItem::Slot(_) => {}
        }
    }
    (records, notices)
}

#[test]
fn an_unused_bit_in_one_slot_is_ignored() {
    for odd in 0..20 {
        let mut log = KevBuilder::new(true);
        for stamp in 0..20 {
            log.simple(0, USER, if stamp == odd { 1 | 1 << 20 } else { 1 }, stamp, [stamp, 0]);
        }
        let (records, notices) = in_step(&log.bytes());
        assert_eq!((records, notices), (read(&log).records, vec![]), "slot {odd}");
    }
}

#[test]
fn misaligned_slots_are_found_among_plausible_bytes() {
    let mut log = KevBuilder::new(false);
    for stamp in 0..40 {
        // Shifted by eight bytes, every fourth slot looks like an event of the class USER.
        let word = if stamp % 4 == 0 { USER << 10 } else { u32::MAX };
        log.simple(0, USER, 1, stamp, [word, stamp]);
    }
    let (head, bytes) = (log.header().len(), log.bytes());
    let (whole, _) = in_step(&bytes);
    for at in [10, 13] {
        let at = head + 16 * at;
        let damaged = [&bytes[..at], &[0xFF; 8], &bytes[at..]].concat();
        let (records, notices) = in_step(&damaged);
        assert_eq!(records.len(), 40, "{notices:?}");
        assert!(records.iter().zip(&whole).all(|(one, other)| (one.stamp, &one.bytes) == (other.stamp, &other.bytes)));
        let skipped: Vec<_> = notices.iter().map(|notice| notice.skipped).collect();
        assert_eq!(skipped, [Some((at as u64, at as u64 + 8))]);
    }
    // The slot at the shift may itself be damaged.
    let at = head + 16 * 10;
    let damaged = [&bytes[..at], &[0xFF; 20], &bytes[at + 16..]].concat();
    let (records, notices) = in_step(&damaged);
    assert_eq!(records.len(), 39, "{notices:?}");
    let skipped: Vec<_> = notices.iter().map(|notice| notice.skipped).collect();
    assert_eq!(skipped, [Some((at as u64, at as u64 + 20))]);
}

#[test]
fn bytes_after_the_last_whole_slot_are_reported() {
    let bytes = mixed(true).bytes();
    let (from, to) = (bytes.len() as u64 - 16, bytes.len() as u64 - 11);
    let (_, notices) = in_step(&bytes[..to as usize]);
    let message = format!("truncated at offset {from:#x}: 5 bytes left, a slot needs 16");
    assert!(
        notices.iter().any(|notice| notice.message == message && notice.skipped == Some((from, to))),
        "{notices:?}"
    );
}

#[test]
fn a_log_has_name_size_and_progress() {
    let mut log = KevBuilder::new(true);
    for stamp in 0..5 {
        log.simple(0, USER, 1, stamp, [stamp, 0]);
    }
    let (bytes, head) = (log.bytes(), log.header().len() as u64);
    let n_bytes = bytes.len() as u64;
    let piped = KevLog::from_read(Cursor::new(bytes.clone()), "-", Some(7), &KevOptions::default()).unwrap();
    assert_eq!(piped.size(), Some(7), "who gives a pipe says how much is in it");
    let mut log = KevLog::from_input("a.kev", Input::from_bytes(bytes), &KevOptions::default()).unwrap();
    assert_eq!((log.name(), log.size(), log.file_size()), ("a.kev", Some(n_bytes), Some(n_bytes)));
    assert_eq!((log.progress(), log.tally().read, log.counts().slots), (head, head, 0));
    for at in 0..5 {
        let offset = head + 16 * at;
        assert!(matches!(log.next().unwrap(), Some(KevItem::Record(record)) if record.offset == offset));
        assert_eq!((log.offset(), log.progress(), log.tally().read), (offset, offset, offset + 16));
    }
    assert!(log.next().unwrap().is_none());
    assert_eq!((log.progress(), log.tally().read, log.counts().slots), (n_bytes, n_bytes, 5));
}

#[test]
fn missing_bytes_must_be_waited_for() {
    // Results of `waits` before each item and at the end.
    let waits = |mut log: KevLog| {
        let mut waits = vec![log.waits()];
        while log.next().unwrap().is_some() {
            waits.push(log.waits());
        }
        waits.push(log.waits());
        waits
    };
    let piped =
        |bytes: &[u8]| KevLog::from_read(Cursor::new(bytes.to_vec()), "-", None, &KevOptions::default()).unwrap();
    let mut log = KevBuilder::new(false);
    log.simple(0, USER, 1, 1, [1, 1]).simple(0, USER, 2, 2, [2, 2]);
    let file = KevLog::from_input("x", Input::from_bytes(log.bytes()), &KevOptions::default()).unwrap();
    assert_eq!(waits(file), [false; 4]);
    // All bytes arrive at once, but more may follow the last slot.
    assert_eq!(waits(piped(&log.bytes())), [false, false, true, false]);
    assert_eq!(waits(piped(&log.bytes()[..log.bytes().len() - 1])), [false, true, false, false]);
    let reader = ShortReader::new(log.bytes(), 1);
    let reader = KevLog::from_read(reader, "-", None, &KevOptions::default()).unwrap();
    assert_eq!(waits(reader), [true, true, true, false]);
    // A pending notice comes before the next read.
    let mut gap = KevBuilder::new(false);
    gap.buffer(1, 1).buffer(3, 2);
    assert_eq!(waits(piped(&gap.bytes())), [false, false, false, true, false]);
    // A slot of an unknown CPU is judged together with the next half KiB.
    for (n_slots, waits) in [(20, true), (31, true), (32, false), (40, false)] {
        let mut odd = KevBuilder::new(false);
        odd.simple(9, USER, 1, 1, [1, 1]);
        for stamp in 1..n_slots {
            odd.simple(0, USER, 1, stamp, [1, 1]);
        }
        assert_eq!(piped(&odd.bytes()).waits(), waits, "{n_slots} slots");
        assert!(!open(&odd.bytes()).unwrap().waits(), "slots are taken as they stand");
    }
}

#[test]
fn dropped_records_are_located_by_their_slots() {
    let mut log = KevBuilder::new(false);
    log.slot(END, 0, USER, 1, 1, b"no begin").simple(0, USER, 2, 2, [0, 0]);
    let first = log.header().len();
    let expected =
        format!("incomplete combines dropped, the first at offset {first:#x}: ends without begin: 1; slots: 1");
    assert_eq!(read(&log).damage, [expected]);
    log.slot(MORE, 0, USER, 1, 3, b"no begin").slot(BEGIN, 0, USER, 1, 4, b"no end..");
    let expected = format!(
        "incomplete combines dropped, the first at offset {first:#x} and the last at {:#x}: continuations without begin: 1, \
         ends without begin: 1, open at the end: 1; slots: 3",
        first + 48
    );
    assert_eq!(read(&log).damage, [expected]);
}

#[test]
fn a_million_open_begins_take_bounded_memory_and_time() {
    let mut log = KevBuilder::new(false);
    for stamp in 0..1_000_000 {
        log.slot(BEGIN, stamp & 3, USER, 1, stamp, b"begun...");
    }
    log.slot(END, 999_999 & 3, USER, 1, 999_999, b"young...").slot(END, 0, USER, 1, 0, b"old.....");
    let drained = read(&log);
    assert_eq!(drained.records.len(), 1);
    assert_eq!(drained.records[0].bytes, *b"begun...young...");
    let counts = drained.counts;
    assert!(counts.over_limits > 700_000, "{counts:?}");
    assert_eq!(counts.over_limits + counts.open_at_end, 999_999);
    assert_eq!((counts.ends_without_begin, counts.dropped_slots), (1, 1_000_000));
    assert_eq!(drained.damage.len(), 1);
}

#[test]
fn ended_combines_take_no_memory() {
    let mut log = KevBuilder::new(false);
    for stamp in 0..130_000 {
        log.slot(BEGIN, 0, USER, 1, stamp, b"begun...").slot(END, 0, USER, 1, stamp, b"ended...");
    }
    let (records, notices) = in_step(&log.bytes());
    assert_eq!((records.len(), notices), (130_000, vec![]));
}

#[test]
fn old_combines_are_found_however_many_are_open() {
    let mut log = KevBuilder::new(false);
    for stamp in 0..10_000 {
        log.slot(BEGIN, 0, USER, 1, stamp, &u64::from(stamp).to_le_bytes());
    }
    for round in [MORE, END] {
        for stamp in 0..10_000 {
            log.slot(round, 0, USER, 1, stamp, &u64::from(stamp).to_le_bytes());
        }
    }
    let drained = assert_expected(log.header().len(), &log.bytes(), false);
    assert_eq!(drained.records.len(), 10_000);
}

#[test]
fn an_event_is_bounded() {
    let with_payload = |n_bytes: usize| {
        let mut log = KevBuilder::new(false);
        log.slot(BEGIN, 0, USER, 1, 1, &[1; 8]);
        for _ in 2..n_bytes / 8 {
            log.slot(MORE, 0, USER, 1, 1, &[2; 8]);
        }
        log.slot(END, 0, USER, 1, 1, &[3; 8]).simple(0, USER, 2, 2, [0, 0]);
        read(&log)
    };
    let longest = with_payload(MAX_EVENT_BYTES);
    assert_eq!((longest.records[0].bytes.len(), longest.records.len()), (MAX_EVENT_BYTES, 2));
    let too_long = with_payload(MAX_EVENT_BYTES + 8);
    assert_eq!((too_long.records.len(), too_long.counts.over_limits), (1, 1));
    assert!(too_long.damage[0].contains("over the limits of"), "{}", too_long.damage[0]);
}

fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/qnx").join(name)
}

/// Compares stamps, CPUs and header attributes with the output of QNX's traceprinter.
#[test]
fn samples_read_as_the_real_tool_prints_them() {
    for name in ["doc_sample_641", "interleaved_le", "public_lines", "rollover", "user_le"] {
        let log = KevLog::open(&sample(&format!("{name}.kev")), &KevOptions::default()).unwrap();
        // There is no text of `-n` if it is the usual one.
        let text = std::fs::read(sample(&format!("{name}.n.txt")));
        let text = text.or_else(|_| std::fs::read(sample(&format!("{name}.txt")))).unwrap();
        let text = String::from_utf8_lossy(&text);
        let attributes = log.header().attributes.iter().map(|(key, value)| {
            format!("{:>22}:: {}", format!("TRACE_{}", String::from_utf8_lossy(key)), String::from_utf8_lossy(value))
        });
        let head: Vec<&str> = text.lines().skip(3).take_while(|line| !line.starts_with(" --")).collect();
        assert_eq!(head, attributes.collect::<Vec<_>>(), "{name}");
        assert_eq!(log.size(), Some(std::fs::metadata(sample(&format!("{name}.kev"))).unwrap().len()));
        let drained = drain(log);
        assert!(drained.damage.is_empty(), "{name}: {:?}", drained.damage);
        let records = drained.records.iter().map(|record| format!("t:0x{:08x} CPU:{:02}", record.stamp, record.cpu));
        let printed: Vec<&str> = text.lines().filter(|line| line.starts_with("t:0x")).map(|line| &line[..19]).collect();
        assert_eq!(records.collect::<Vec<_>>(), printed, "{name}");
    }
}

#[test]
fn a_missing_file_is_an_io_error() {
    let refusal = KevLog::open(&sample("none.kev"), &KevOptions::default()).err().unwrap();
    assert!(matches!(refusal.kind, KevRefusalKind::Io(_)), "{refusal}");
    assert_eq!(refusal.source().unwrap().to_string(), refusal.to_string());
    assert!(!refusal.to_string().is_empty());
    assert!(open(b"no log").err().unwrap().source().is_none());
}

#[test]
fn marks_identify_interleaved_combines() {
    let mut log = KevBuilder::new(true);
    for kind in [BEGIN, MORE, MORE, END] {
        for cpu in [2, 0, 3, 1] {
            log.slot(kind, cpu, KER_CALL, 14, 0x1000, &[cpu as u8 + 10; 8]);
        }
    }
    let drained = read(&log);
    assert_eq!(drained.marks(), [(2, 12), (0, 10), (3, 13), (1, 11)]);
    assert!(drained.records.iter().all(|record| record.bytes == [record.bytes[0]; 32]));
}
