//! .kev logs written by the recorder, read by the reader and by `traceprinter`.
#![cfg(target_os = "linux")]

use crate::common::{command, run};
use std::fs;
use tfbc::testing::qnx::{KevItem, KevLog, KevOptions};
use tfbc_recorder::clock::{Clock, ClockSource};
use tfbc_recorder::logger::{EventRange, Logger};
use tfbc_recorder::record::{EventContent, Record};
use tfbc_recorder::write::{HostMachine, LogLayout, Setup, ThreadFacts, ThreadInfo, WriteSummary, Writer};

/// 5 seconds before the low half of the clock wraps.
const START: u64 = (6 << 32) - 5_000_000_000;
const USER: u8 = 6;
/// Process and thread states, which the writer adds.
const STATES: EventRange = EventRange::class(4);

fn setup(logger: Logger) -> Setup {
    Setup {
        layout: LogLayout::Kev(logger),
        clock: Clock { source: ClockSource::Monotonic, hertz: 1_000_000_000 },
        start_ticks: START,
        start_seconds: 1_245_840_778,
        machine: HostMachine {
            sysname: "Linux".into(),
            nodename: "moscow".into(),
            release: "6.12.43".into(),
            version: "#1 SMP PREEMPT_DYNAMIC Debian 6.12.43-1 (2025-08-27)".into(),
            machine: "x86_64".into(),
            ip_address: None,
            n_cpus: 4,
            boot_seconds: 1_245_757_666,
        },
        processes: Vec::new(),
        symbols: Vec::new(),
        recorder: 7,
    }
}

fn logger(big_endian: bool) -> Logger {
    // Only program events.
    Logger { big_endian, arguments: "-n 0 -w".into(), except: vec![STATES], ..Logger::default() }
}

/// A record in owned form.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnedRecord {
    cpu: u16,
    ticks: u64,
    class: u8,
    event: u16,
    data: Vec<u8>,
    bytes: bool,
}

fn words(cpu: u16, ticks: u64, event: u16, words: &[u32]) -> OwnedRecord {
    let data = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    OwnedRecord { cpu, ticks, class: USER, event, data, bytes: false }
}

fn text(cpu: u16, ticks: u64, event: u16, text: &str) -> OwnedRecord {
    let mut data = text.as_bytes().to_vec();
    data.resize((text.len() + 1).next_multiple_of(4), 0);
    OwnedRecord { cpu, ticks, class: USER, event, data, bytes: true }
}

impl OwnedRecord {
    /// Payload in the byte order of the target.
    fn payload(&self, big_endian: bool) -> Vec<u8> {
        let mut payload = self.data.clone();
        payload.resize(payload.len().next_multiple_of(8), 0);
        if !self.bytes && big_endian != cfg!(target_endian = "big") {
            payload.chunks_mut(4).for_each(<[u8]>::reverse);
        }
        payload
    }
}

fn write(setup: &Setup, puts: &[OwnedRecord]) -> (Vec<u8>, WriteSummary) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.kev");
    let mut writer = Writer::create(setup, &path).unwrap();
    for OwnedRecord { cpu, ticks, class, event, data, bytes } in puts {
        let event = EventContent::Kernel { class: *class, event: *event, data, bytes: *bytes };
        writer.record(&Record { ticks: *ticks, pid: 1, tid: 2, cpu: *cpu, event }).unwrap();
    }
    let summary = writer.finish().unwrap();
    (fs::read(&path).unwrap(), summary)
}

/// One record as read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LoggedRecord {
    cpu: u8,
    cycles: u64,
    class: u8,
    event: u16,
    payload: Vec<u8>,
    offset: u64,
}

/// All records; the log must cause no notices.
fn read(bytes: &[u8]) -> Vec<LoggedRecord> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.kev");
    fs::write(&path, bytes).unwrap();
    let mut log = KevLog::open(&path, &KevOptions::default()).unwrap();
    let mut records = Vec::new();
    while let Some(item) = log.next().unwrap() {
        match item {
            KevItem::Record(record) => records.push(LoggedRecord {
                cpu: record.cpu,
                cycles: record.cycles().unwrap_or_else(|| {
                    assert_eq!((record.class, record.event), (1, 2), "a TIME record stands ahead of every event");
                    0
                }),
                class: record.class,
                event: record.event,
                payload: record.bytes.to_vec(),
                offset: record.offset,
            }),
            KevItem::Notice(notice) => panic!("{}", notice.message),
            KevItem::Slot(_) => {}
        }
    }
    records
}

fn users(records: &[LoggedRecord]) -> Vec<LoggedRecord> {
    records.iter().filter(|record| record.class != 1).cloned().collect()
}

/// Words and texts of all lengths on four CPUs, over several buffers and a wrap of the clock's low half.
fn many(n: u64) -> Vec<OwnedRecord> {
    (0..n)
        .map(|i| {
            let (cpu, ticks, event) = ((i % 4) as u16, START + i * 20_000_000, (i % 1024) as u16);
            if i % 3 == 0 {
                text(cpu, ticks, event, &"text ".repeat(i as usize % 50))
            } else {
                words(cpu, ticks, event, &vec![i as u32; 1 + i as usize % 60])
            }
        })
        .collect()
}

#[test]
fn everything_comes_back_in_both_byte_orders() {
    for big_endian in [false, true] {
        let puts = many(600);
        let (bytes, summary) = write(&setup(logger(big_endian)), &puts);
        let records = read(&bytes);
        let got = users(&records);
        assert_eq!(got.len(), puts.len());
        for (got, put) in got.iter().zip(&puts) {
            let expected = (put.cpu, put.class, put.event, put.payload(big_endian));
            assert_eq!((u16::from(got.cpu), got.class, got.event, got.payload.clone()), expected);
            assert!((put.ticks..put.ticks + 4).contains(&got.cycles), "{} at {}", got.cycles, put.ticks);
        }
        assert_eq!((summary.events, summary.missed()), (600, 0));
        assert!(summary.buffers > 5, "{summary:?}");
    }
}

#[test]
fn buffers_tell_their_number_and_their_slots() {
    for big_endian in [false, true] {
        let (bytes, summary) = write(&setup(logger(big_endian)), &many(600));
        let word = |bytes: &[u8]| {
            let word = <[u8; 4]>::try_from(bytes).unwrap();
            if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let first = read(&bytes)[0].offset as usize;
        assert_eq!((bytes.len() - first) % 16, 0);
        let slots: Vec<[u32; 4]> =
            bytes[first..].chunks(16).map(|slot| [0, 4, 8, 12].map(|at| word(&slot[at..at + 4]))).collect();
        let (mut at, mut numbers) = (0, Vec::new());
        while at < slots.len() {
            let [header, stamp, number, n] = slots[at];
            assert_eq!(header & 0xFFFF, 1 << 10 | 2, "slot {at}");
            // The high half follows at once, with the stamp of the event that started the buffer.
            assert_eq!((slots[at + 1][0], slots[at + 1][1]), (header & !3 | 1, stamp));
            assert!(n <= 1014);
            numbers.push(number);
            at += n as usize;
        }
        assert_eq!(at, slots.len());
        assert_eq!(numbers, (1..=summary.buffers as u32).collect::<Vec<_>>());
    }
}

#[test]
fn stamps_are_unique_on_each_cpu() {
    let puts: Vec<OwnedRecord> = (0..3000).map(|i| words((i % 2) as u16, START + i / 100, 1, &[i as u32])).collect();
    let (bytes, _) = write(&setup(logger(false)), &puts);
    for cpu in 0..2 {
        let stamps: Vec<u64> = users(&read(&bytes)).iter().filter(|got| got.cpu == cpu).map(|got| got.cycles).collect();
        assert_eq!(stamps.len(), 1500);
        assert!(stamps.is_sorted_by(|one, other| one < other));
    }
}

#[test]
fn the_high_half_is_written_where_it_changes() {
    let edge = 6u64 << 32;
    let puts = [
        words(0, edge - 1, 1, &[1]),
        words(0, edge - 1, 2, &[1]),
        words(1, edge - 5, 3, &[1]),
        words(0, edge + 9, 4, &[1]),
        words(1, edge + (3 << 32), 5, &[1]),
        words(0, edge + (3 << 32) + 1, 6, &[1]),
    ];
    let (bytes, _) = write(&setup(logger(false)), &puts);
    for (got, put) in users(&read(&bytes)).iter().zip(&puts) {
        assert!((put.ticks..put.ticks + 4).contains(&got.cycles), "{:x} at {:x}", got.cycles, put.ticks);
    }
}

#[test]
fn a_ring_keeps_the_newest_buffers() {
    let ring = Logger { ring: true, buffers: 2, ..logger(false) };
    let puts = many(600);
    let (bytes, summary) = write(&setup(ring), &puts);
    let got = users(&read(&bytes));
    assert_eq!(summary.buffers, 2);
    assert_eq!(got.len() as u64 + summary.overwritten, 600);
    assert!(got.len() > 30 && summary.overwritten > 0);
    for (got, put) in got.iter().rev().zip(puts.iter().rev()) {
        assert_eq!((got.event, &got.payload), (put.event, &put.payload(false)));
    }
}

#[test]
fn a_log_is_no_longer_than_its_limit() {
    let puts = many(600);
    let (whole, _) = write(&setup(logger(false)), &puts);
    let head = write(&setup(logger(false)), &[]).0.len() as u64;
    for ring in [false, true] {
        for max in [0, 20_000, 40_000, 1 << 20] {
            let limited = Logger { ring, buffers: 1000, max_bytes: Some(max), ..logger(false) };
            let (bytes, summary) = write(&setup(limited), &puts);
            assert!(bytes.len() as u64 <= max.max(head), "{max}: {}", bytes.len());
            let got = users(&read(&bytes));
            assert_eq!(got.len() as u64 + summary.over + summary.overwritten, 600, "{ring} {max}");
            assert_eq!(bytes.len() == whole.len(), max == 1 << 20);
            // A ring contains the newest events, another log the oldest.
            let newest: Vec<_> = puts[600 - got.len()..].iter().collect();
            let expected: Vec<_> = if ring { newest } else { puts[..got.len()].iter().collect() };
            for (got, put) in got.iter().zip(expected) {
                assert_eq!((got.event, &got.payload), (put.event, &put.payload(false)));
            }
        }
    }
}

#[test]
fn what_was_flushed_outlives_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.kev");
    let mut writer = Writer::create(&setup(logger(false)), &path).unwrap();
    for (i, OwnedRecord { cpu, ticks, class, event, data, bytes }) in many(100).into_iter().enumerate() {
        let event = EventContent::Kernel { class, event, data: &data, bytes };
        writer.record(&Record { ticks, pid: 1, tid: 2, cpu, event }).unwrap();
        if i % 10 == 4 {
            writer.flush().unwrap();
            assert_eq!(users(&read(&fs::read(&path).unwrap())).len(), i + 1);
        }
    }
}

#[test]
fn processes_are_left_out_with_their_class() {
    let (process, thread) =
        (EventRange { class: 4, first: 64, last: 1023 }, EventRange { class: 4, first: 0, last: 25 });
    for (except, n) in [(vec![], 4), (vec![process], 3), (vec![thread], 1), (vec![STATES], 0)] {
        let mut setup = setup(Logger { except, ..logger(false) });
        setup.processes = vec![ThreadInfo { pid: 40, tid: 41, path: b"sensor".to_vec() }];
        let (bytes, _) = write(&setup, &[words(0, START, 1, &[1])]);
        assert_eq!(users(&read(&bytes)).iter().filter(|got| got.class == 4).count(), n);
    }
}

#[test]
fn what_no_slot_can_hold_is_counted() {
    let good = words(0, START, 1, &[1]);
    let puts = [
        OwnedRecord { class: 32, ..good.clone() },
        OwnedRecord { event: 1024, ..good.clone() },
        OwnedRecord { data: vec![0; 8080], ..good.clone() },
        OwnedRecord { data: Vec::new(), ..good.clone() },
        OwnedRecord { data: vec![0; 8072], ..good.clone() },
        good,
    ];
    let (bytes, summary) = write(&setup(logger(false)), &puts);
    assert_eq!(summary.refused, 3);
    assert_eq!(users(&read(&bytes)).iter().map(|got| got.payload.len()).collect::<Vec<_>>(), [8072, 8]);
}

#[test]
fn the_header_holds_the_facts_of_the_machine() {
    for (big_endian, endian) in [(false, "LITTLE_ENDIAN"), (true, "BIG_ENDIAN")] {
        let logger = Logger { attributes: vec![("site".into(), "LAB TWO".into())], ..logger(big_endian) };
        let (bytes, _) = write(&setup(logger), &[words(0, START, 1, &[1])]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.kev");
        fs::write(&path, bytes).unwrap();
        let log = KevLog::open(&path, &KevOptions::default()).unwrap();
        let header = log.header();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        let all: Vec<(String, String)> =
            header.attributes.iter().map(|(key, value)| (text(key), text(value))).collect();
        let keys: Vec<&str> = all.iter().map(|(key, _)| key.as_str()).collect();
        let tracelogger = [
            "FILE_NAME",
            "DATE",
            "VER_MAJOR",
            "VER_MINOR",
            endian,
            "ENCODING",
            "BOOT_DATE",
            "CYCLES_PER_SEC",
            "CPU_NUM",
            "SYSNAME",
            "NODENAME",
            "SYS_RELEASE",
            "SYS_VERSION",
            "MACHINE",
            "SYSPAGE_LEN",
            "SITE",
            "TRACELOGGER_ARGS",
        ];
        assert_eq!(keys, tracelogger);
        let value = |key| all.iter().find(|(name, _)| name == key).unwrap().1.as_str();
        assert_eq!((value("DATE"), value("BOOT_DATE")), ("Wed Jun 24 10:52:58 2009", "Tue Jun 23 11:47:46 2009"));
        assert_eq!((value("CYCLES_PER_SEC"), value("CPU_NUM"), value("SYSNAME")), ("1000000000", "4", "Linux"));
        assert_eq!((value("SITE"), value("TRACELOGGER_ARGS")), ("LAB TWO", "tracelogger -n 0 -w"));
        assert!(header.one_clock);
        let page = header.syspage.as_ref().unwrap();
        assert_eq!((page.size(), page.n_cpus(), page.machine()), (Some(64), Some(4), Some(0)));
        assert_eq!(page.total_size().map(usize::from), Some(page.bytes().len()));
        assert_eq!(value("SYSPAGE_LEN").parse(), Ok(page.bytes().len()));
        let qtime = page.qtime().unwrap();
        assert_eq!((qtime.cycles_per_sec, qtime.boot_time), (1_000_000_000, 1_245_757_666));
        assert_eq!(page.cpus().map(|cpu| cpu.speed_mhz).collect::<Vec<_>>(), [1000; 4]);
    }
}

/// The text `short` in two words shows the log's byte order.
fn printed(short: &str) -> String {
    let blank = " ";
    format!(
        "\
t:0xd5fa0e00 CPU:00 CONTROL: BUFFER sequence = 1, num_events = 18
t:0xd5fa0e00 CPU:00 CONTROL :TIME msb:0x00000004 lsb(offset):0xd5fa0e00
t:0xd5fa0e01 CPU:00 PROCESS :PROCCREATE_NAME ppid:0 pid:40 name:usr/bin/sensor
t:0xd5fa0e02 CPU:00 THREAD  :THCREATE      pid:40 tid:2
t:0xd5fa0e09 CPU:00 THREAD  :THCREATE      pid:1 tid:2
t:0xd5fa0e09 CPU:01 CONTROL :TIME msb:0x00000004 lsb(offset):0xd5fa0e09
t:0xd5fa0e0a CPU:01 THREAD  :THRUNNING     pid:1 tid:2{blank}
t:0xd5fa0e0a CPU:01 USREVENT:EVENT:5, d0:0x00000010 d1:0x0000abcd
t:0xd5fa0e14 CPU:01 USREVENT:EVENT:6 STR:\"\"
t:0xd5fa0e1e CPU:01 USREVENT:EVENT:7 STR:\"a text of some length\"
t:0xd5fa0e28 CPU:00 THREAD  :THRUNNING     pid:1 tid:2{blank}
t:0xd5fa0e28 CPU:00 USREVENT:EVENT:8, {short}
t:0xd5fa0e32 CPU:00 SYSTEM  :FUNC_ENTER thisfn:0x00001000 call_site:0x00002000
"
    )
}

#[test]
fn traceprinter_prints_it() {
    for big_endian in [false, true] {
        let mut setup = setup(Logger { except: Vec::new(), ..logger(big_endian) });
        setup.processes = vec![ThreadInfo { pid: 40, tid: 41, path: b"usr/bin/sensor".to_vec() }];
        let puts = [
            words(1, START + 9, 5, &[0x10, 0xABCD]),
            words(1, START + 20, 6, &[1, 2, 3]),
            text(1, START + 30, 7, "a text of some length"),
            text(0, START + 40, 8, "short"),
            OwnedRecord { class: 5, event: 10, ..words(0, START + 50, 0, &[0x1000, 0x2000]) },
        ];
        let (bytes, _) = write(&setup, &puts);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.kev");
        fs::write(&path, bytes).unwrap();
        let mut command = command("traceprinter");
        let (out, err, status) = run(command.args(["--compat=1.02", "-n", "-f"]).arg(&path));
        assert_eq!((err.as_str(), status), ("", 0));
        let short = if big_endian { "d0:0x73686f72 d1:0x74000000" } else { "d0:0x726f6873 d1:0x00000074" };
        assert_eq!(out.split(" -- KERNEL EVENTS -- \n").nth(1), Some(printed(short).as_str()), "{out}");
    }
}

#[test]
fn a_log_tells_who_logged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.kev");
    for big_endian in [false, true] {
        let logger = Logger { big_endian, wide: true, ..Logger::default() };
        let mut writer = Writer::create(&setup(logger), &path).unwrap();
        let put = |writer: &mut Writer, pid, tid, cpu, ticks| {
            let event = EventContent::Kernel { class: USER, event: 5, data: &[0; 8], bytes: false };
            writer.record(&Record { ticks: START + ticks, pid, tid, cpu, event }).unwrap();
        };
        let named = ThreadFacts { parent: 3, name: b"io worker".to_vec(), priority: 63, policy: 2 };
        writer.facts(40, 41, named);
        writer.process(40, 41, b"bin/sensor").unwrap();
        put(&mut writer, 40, 41, 0, 10);
        put(&mut writer, 40, 41, 1, 20);
        put(&mut writer, 40, 41, 1, 30);
        writer.process(40, 40, b"bin/sensor").unwrap();
        put(&mut writer, 40, 40, 1, 40);
        put(&mut writer, 40, 41, 0, 50);
        writer.process_ended(40, 3, START + 60).unwrap();
        writer.process(40, 40, b"bin/other").unwrap();
        put(&mut writer, 40, 40, 1, 70);
        writer.finish().unwrap();
        let mut command = command("tfbc");
        command.args(["report", "--no-heading", "--except", "CONTROL", "--to", "csv"]);
        command.args(["--columns", "type,cpu,pid,tid,process,thread,arg.ppid,arg.priority,arg.policy"]).arg(&path);
        let (out, err, status) = run(&mut command);
        assert_eq!((err.as_str(), status), ("", 0));
        let expected = "\
            PROCCREATE_NAME,0,40,-,bin/sensor,-,3,-,-\n\
            THCREATE,0,40,2,bin/sensor,-,-,-,-\n\
            PROCTHREAD_NAME,0,40,2,bin/sensor,io worker,-,-,-\n\
            THRUNNING,0,40,2,bin/sensor,io worker,-,63,2\n\
            USREVENT,0,40,2,bin/sensor,io worker,-,-,-\n\
            THRUNNING,1,40,2,bin/sensor,io worker,-,63,2\n\
            USREVENT,1,40,2,bin/sensor,io worker,-,-,-\n\
            USREVENT,1,40,2,bin/sensor,io worker,-,-,-\n\
            THCREATE,0,40,1,bin/sensor,-,-,-,-\n\
            THRUNNING,1,40,1,bin/sensor,-,-,10,0\n\
            USREVENT,1,40,1,bin/sensor,-,-,-,-\n\
            USREVENT,0,40,2,bin/sensor,io worker,-,-,-\n\
            PROCDESTROY,0,40,-,bin/sensor,-,3,-,-\n\
            PROCCREATE_NAME,0,40,-,bin/other,-,0,-,-\n\
            THCREATE,0,40,1,bin/other,-,-,-,-\n\
            THRUNNING,1,40,1,bin/other,-,-,10,0\n\
            USREVENT,1,40,1,bin/other,-,-,-,-\n";
        assert_eq!(out, expected);
    }
}
