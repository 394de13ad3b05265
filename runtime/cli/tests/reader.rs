//! Tests of the AIX readers: vectors, streams, logs, and damaged input.

use crate::common::damage::ShortReader;
use crate::common::*;
use std::io::{self, Read as _};
use tfbc::aix::{AfterDamage, AixKind, CpuidWord, OpenError, ReadOptions};
use tfbc::testing::aix::{AixItem, LogItem, Logs, Step, StepRules, Trace, present};
use tfbc::testing::input::{AnyTrace, Input};
use tfbc::{Notice, TraceKind};

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn rules(kind: AixKind, cpuid_word: CpuidWord) -> StepRules {
    StepRules { kernel: kind.kernel(), cpuid_word, lenient: false, short_generic_word: false }
}

fn options_for(format: AixKind) -> ReadOptions {
    ReadOptions { format: Some(TraceKind::Aix(format)), ..ReadOptions::default() }
}

#[test]
fn published_vectors() {
    let text = std::fs::read_to_string(data("aix/vectors.jsonl")).unwrap();
    for line in text.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = vector["name"].as_str().unwrap();
        let bytes = from_hex(vector["hex"].as_str().unwrap());
        let kind = if vector["trace"] == 32 { AixKind::Stream32 } else { AixKind::Stream64 };
        let rules = rules(kind, CpuidWord::Last);
        let step = rules.step(&bytes);
        if vector["ok"] == false {
            assert!(matches!(step, Step::Short(_)), "{name}: {step:?}");
            continue;
        }
        let Step::Whole(parts) = step else { panic!("{name}: {step:?}") };
        let expect = &vector["expect"];
        assert_eq!(parts.size as u64, expect["size"], "{name}");
        assert_eq!(format!("{:04x}", parts.id), expect["hookid"].as_str().unwrap(), "{name}");
        assert_eq!(parts.wide, expect["present"].as_str().unwrap().len() >= 16 && is_wide(expect), "{name}");
        assert_eq!(rules.number(&bytes, parts.tid), expect["tid"], "{name}");
        let ticks = parts.stamp.map(|at| rules.number(&bytes, at));
        assert_eq!(serde_json::json!(ticks), expect["ticks"], "{name}");
        assert_eq!(hex(present(&bytes, &parts, &mut Vec::new())), expect["present"].as_str().unwrap(), "{name}");
    }
}

fn is_wide(expect: &serde_json::Value) -> bool {
    expect["hookenv"] == 64
}

#[test]
fn worked_examples_of_stepping() {
    for (kind, text, size, id) in [
        (AixKind::Stream32, "00b0001240000006500000050000000000000001 68656c6c6f00 0000 00001a2b", 32, 0x5000),
        (AixKind::Stream64, "c000001800a00000000000000000025c", 56, 0x00A0),
        (AixKind::Stream64, "8000002850000005", 64, 0x5000),
        (AixKind::Stream32, "000000000000000000000000", 12, 0x0000),
    ] {
        let mut bytes = from_hex(&text.replace(' ', ""));
        bytes.resize(size.max(bytes.len()), 0);
        let Step::Whole(parts) = rules(kind, CpuidWord::Last).step(&bytes) else { panic!("{text}") };
        assert_eq!((parts.size, parts.id), (size, id), "{text}");
    }
}

#[test]
fn malformed_events() {
    for (kind, text, part) in [
        (AixKind::Stream32, "01070000", "type 7"),
        (AixKind::Stream32, "0108100d", "4109 bytes"),
        (AixKind::Stream64, "8008000801000000", "flags 8008"),
        (AixKind::Stream64, "8400000801000000", "flags 8400"),
        (AixKind::Stream64, "8000000c01000000", "multiple of 8"),
        (AixKind::Stream64, "8000003001000000", "at most 40"),
        (AixKind::Stream64, "a000000601000000", "multiple of 4"),
        (AixKind::Stream64, "a000001801000000", "at most 20"),
        (AixKind::Stream64, "a000000401010000", "0101"),
        (AixKind::Stream64, "c000100d01000000", "4109 bytes"),
    ] {
        let step = rules(kind, CpuidWord::Last).step(&from_hex(text));
        let Step::Malformed { fault, size: None } = step else { panic!("{text}: {step:?}") };
        assert!(fault.to_string().contains(part), "{text}: {fault}");
    }
}

#[test]
fn the_longest_generic_is_legal_and_leniency_takes_more() {
    let longest = from_hex("0108100c");
    assert_eq!(rules(AixKind::Stream32, CpuidWord::Last).step(&longest), Step::Short(8 + 4108 + 8));
    let lenient = StepRules { lenient: true, ..rules(AixKind::Stream32, CpuidWord::Last) };
    assert_eq!(lenient.step(&from_hex("0108ffff")), Step::Short(8 + 65536 + 8));
}

#[test]
fn a_wrapped_hook_whose_lengths_differ_is_stepped_over() {
    let mut bytes = factors32(1, 1, 1);
    bytes.extend(event32(1, 10));
    let bad = bytes.len();
    bytes.extend(from_hex("00b8002c8000002050000005"));
    bytes.extend([0; 48]);
    bytes.extend(event32(2, 20));
    let read = read(&bytes);
    assert_eq!(read.marks()[1..], [1, 2]);
    assert_eq!(read.damage.len(), 1);
    assert!(read.damage[0].contains(&format!("event 3 at offset {bad:#x}")), "{}", read.damage[0]);
    assert!(read.damage[0].contains("hook 00B of 44 bytes around an event of 36"), "{}", read.damage[0]);
    // The size is known before the whole event is available.
    for len in 12..60 {
        assert_eq!(rules(AixKind::Stream32, CpuidWord::Last).step(&bytes[bad..bad + len]), Step::Short(60));
    }
    let input = Input::Stream(Box::new(ShortReader::new(bytes.clone(), 5)));
    assert_eq!(drain(Trace::from_input("test", input, &ReadOptions::default()).unwrap()), read);
}

#[test]
fn only_generic_events_of_hook_00b_are_wrapped() {
    let bytes = from_hex("00ba00058000000800001a2b0f00ba50");
    let read = read_with(&bytes, &options_for(AixKind::Stream32));
    assert_eq!((read.events[0].id, hex(&read.events[0].bytes)), (0x00B0, "00ba000580000008".to_owned()));
}

#[test]
fn the_cpu_id_is_at_the_chosen_position() {
    let plain = [0x9000_0008_0100_0000, 0x2a, 0x1a2b, 0x64];
    for (place, at) in [(CpuidWord::Last, 4), (CpuidWord::First, 1), (CpuidWord::AfterTid, 3)] {
        let mut words = plain.to_vec();
        words.insert(at, 7);
        let mut bytes = words64(&words);
        bytes.extend(event64(1, 0x65));
        let options = ReadOptions { cpuid_word: place, ..options_for(AixKind::Stream64) };
        let read = read_with(&bytes, &options);
        assert_eq!(read.events.len(), 2, "{place:?}");
        let event = &read.events[0];
        assert_eq!((event.tid, event.ticks, event.cpu), (0x1a2b, Some(0x64), Some(7)), "{place:?}");
        assert_eq!(event.bytes, words64(&plain[..2]), "{place:?}");
    }
    let options = ReadOptions { cpuid_word: CpuidWord::None, ..options_for(AixKind::Stream64) };
    assert_eq!(read_with(&words64(&plain), &options).events[0].cpu, None);
}

#[test]
fn registers_follow_the_stamp() {
    // Three registers, then the CPU id.
    let mut bytes = words64(&[0x9802_0008_0100_0000, 0x2a, 0x1a2b, 0x64, 1, 2, 3, 5]);
    bytes.extend(event64(9, 0x65));
    let read = read_with(&bytes, &options_for(AixKind::Stream64));
    assert_eq!(read.marks(), [0x2a, 9]);
    assert_eq!(read.events[0].cpu, Some(5));
}

#[test]
fn generic_32_bit_events_lose_the_high_half() {
    let mut bytes = words64(&[0xE000_0003_0100_0000, 0x1234_5678]);
    bytes.extend(b"abc\0\0\0\0\0");
    bytes.extend(words64(&[0x1a2b, 0x64]));
    let read = read_with(&bytes, &options_for(AixKind::Stream64));
    assert_eq!(hex(&read.events[0].bytes), "010800031234567861626 3".replace(' ', ""));
}

#[test]
fn kinds_are_detected_by_content() {
    let mut stream = factors32(1, 1, 1);
    stream.extend(event32(1, 1));
    let log32 = LogBuilder { entries: vec![stream.clone()], current: 1, ..LogBuilder::default() }.bytes();
    let log64 = LogBuilder { wide: true, ..LogBuilder::default() }.bytes();
    for (bytes, kind) in [
        (stream, AixKind::Stream32),
        (vec![0xEF, 0xDF, 0x11, 0x14], AixKind::Stream64),
        (log32, AixKind::Log32),
        (log64, AixKind::Log64),
    ] {
        let trace = Trace::from_input("test", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
        assert_eq!(trace.kind(), kind);
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    let open =
        |bytes: &[u8]| Trace::from_input("test", Input::from_bytes(bytes.to_vec()), &ReadOptions::default()).map(drain);
    assert!(matches!(open(b""), Err(OpenError::Empty)));
    assert!(matches!(open(&[0xEF, 0xDF, 0x11, 0x11]), Err(OpenError::Aix3)));
    assert!(matches!(open(b"no trace \xFF\x01 at all"), Err(OpenError::Unknown)));
    for (bytes, kind) in [
        (&b"no trace at all"[..], "text file"),
        (b"# a\n\n* b\n0A1 1.0 L=APPL \"E\"\n", "format file"),
        (b"0A1 is no stanza\n", "text file"),
        (b"\xEF\xBB\xBF <?xml version=\"1.0\"?>\n<eventdefinitions>", "file of QNX event definitions"),
        (b"<svg/>", "text file"),
    ] {
        assert!(matches!(open(bytes), Err(OpenError::Other(what)) if what.starts_with(kind)), "{kind}");
    }
    assert!(matches!(open(&[0]), Err(OpenError::Unknown)));
    assert!(matches!(open(&[0x1F, 0x8B, 8, 0, 0]), Err(OpenError::Other(what)) if what.starts_with("gzip file")));
    // A valid first hook is not enough: eight events must be well-formed.
    let mut bytes = words32(&[0x0019_0000, 1, 2]);
    bytes.extend(words32(&[0x0777_7777; 20]));
    assert!(matches!(open(&bytes), Err(OpenError::Unknown)));
    assert_eq!(read_with(&bytes, &options_for(AixKind::Stream32)).events.len(), 1);
    // Time factors identify a stream as well as a first word does.
    let mut bytes = factors32(1, 1, 1);
    bytes.extend(words32(&[0x0777_7777; 20]));
    assert_eq!(read(&bytes).events.len(), 1);
    // Other events do not, however similar they are, and regardless of how the bytes arrive.
    let kind_of_factors = words32(&[0x001A_0000, 0x25C, 1, 2]);
    let length_of_factors = words32(&[0x00A8_0018, 0x10, 0, 0, 0, 0, 0, 0, 1, 2]);
    for first in [kind_of_factors, length_of_factors] {
        let bytes = [first, words32(&[0x0777_7777; 20])].concat();
        assert!(matches!(open(&bytes), Err(OpenError::Unknown)));
        for n in [1, 5, 100] {
            let input = Input::Stream(Box::new(ShortReader::new(bytes.clone(), n)));
            let opened = Trace::from_input("test", input, &ReadOptions::default());
            assert!(matches!(opened, Err(OpenError::Unknown)), "by {n} bytes");
        }
    }
}

#[test]
fn hook_00a_with_kind_in_hookdata_is_ignored() {
    // Their first words could be the kind, and the factors or counts, of a generic event.
    let wide = words64(&[0x8000_0028_00A0_025C, 0x25C, 3, 1, 2, 0, 0x1a2b, 10]);
    let narrow = words32(&[0x00AE_0012, 0x12, 4, 3, 0, 0, 0x1a2b, 10]);
    for bytes in [[STREAM64.to_vec(), wide].concat(), narrow] {
        let trace = Trace::from_input("test", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
        assert_eq!((trace.survey().factors, trace.survey().traced_cpus), (None, None));
        assert_eq!((trace.survey().first_stamp, trace.survey().first_event), (Some(10), None));
    }
}

#[test]
fn empty_traces() {
    assert_eq!(read(&[0xEF, 0xDF, 0x11, 0x14]), TraceContents::default());
    assert_eq!(read_with(b"", &options_for(AixKind::Stream32)), TraceContents::default());
    for wide in [false, true] {
        assert_eq!(read(&LogBuilder { wide, ..LogBuilder::default() }.bytes()), TraceContents::default());
    }
}

#[test]
fn samples_through_any_pipe() {
    for name in ["aix/sample32.stream", "aix/sample64.stream"] {
        let bytes = std::fs::read(data(name)).unwrap();
        let whole = read(&bytes);
        assert_eq!(whole.events.len(), 12);
        assert!(whole.damage.is_empty() && whole.warnings.is_empty());
        for n in [1, 3, 7, 64, 5000] {
            let input = Input::Stream(Box::new(ShortReader::new(bytes.clone(), n)));
            let trace = Trace::from_input("test", input, &ReadOptions::default()).unwrap();
            assert_eq!(drain(trace), whole, "{name} by {n} bytes");
        }
    }
}

fn elapsed(bytes: &[u8]) -> Vec<u64> {
    let trace = Trace::from_input("test", Input::from_bytes(bytes.to_vec()), &ReadOptions::default()).unwrap();
    let mut logs = Logs::from(trace);
    let mut times = Vec::new();
    while let Some(item) = logs.next().unwrap() {
        if let LogItem::Event(event) = item {
            times.push(event.time.elapsed_ns);
        }
    }
    times
}

#[test]
fn samples_have_the_elapsed_times_of_the_documentation() {
    let expected = [0, 0, 105_984, 113_920, 119_296, 124_672, 129_792, 135_168, 140_288, 145_408, 151_040, 156_160];
    for name in ["aix/sample32.stream", "aix/sample64.stream"] {
        assert_eq!(elapsed(&std::fs::read(data(name)).unwrap()), expected, "{name}");
    }
}

#[test]
fn factors_hold_for_the_events_before_them() {
    let mut bytes = vec![0xEF, 0xDF, 0x11, 0x14];
    bytes.extend(event64(1, 100));
    bytes.extend(event64(2, 200));
    bytes.extend(factors64(3, 1, 2));
    bytes.extend(event64(3, 300));
    assert_eq!(elapsed(&bytes)[..2], [0, 300]);
    assert_eq!(elapsed(&bytes)[3], 600);
    let input = Input::Stream(Box::new(ShortReader::new(bytes.clone(), 10)));
    let trace = Trace::from_input("test", input, &ReadOptions::default()).unwrap();
    assert_eq!(drain(trace), read(&bytes));
}

#[test]
fn a_trace_without_factors_says_so() {
    let mut bytes = vec![0xEF, 0xDF, 0x11, 0x14];
    bytes.extend(event64(1, 100));
    let read = read(&bytes);
    assert_eq!((read.warnings.len(), read.events.len()), (1, 1));
    assert!(read.warnings[0].contains("25C"));
}

#[test]
fn elapsed_begins_at_trace_on_after_header_events() {
    let trace_on = |ticks| words64(&[0x8000_0008_0010_0000, 0, 1, ticks]);
    let mut bytes = vec![0xEF, 0xDF, 0x11, 0x14];
    bytes.extend(factors64(1, 1, 1));
    let before = bytes.clone();
    bytes.extend(trace_on(50));
    bytes.extend(event64(1, 60));
    assert_eq!(elapsed(&bytes), [0, 0, 10]);
    let mut bytes = before;
    bytes.extend(event64(1, 40));
    bytes.extend(trace_on(50));
    // The factors' event has the stamp 0 and is the first event with a stamp.
    assert_eq!(elapsed(&bytes), [0, 40, 50]);
}

#[test]
fn later_factors_convert_later_ticks() {
    let event = |mark, ticks| [event64(mark, ticks), event32(mark as u32, ticks as u32)];
    let (first, second) = ([factors64(1, 1, 2), factors32(1, 1, 2)], [factors64(3, 1, 2), factors32(3, 1, 2)]);
    for at in 0..2 {
        let magic = if at == 0 { &STREAM64[..] } else { &[] };
        let bytes =
            [magic, &first[at], &event(1, 100)[at], &second[at], &event(2, 200)[at], &event(3, 300)[at]].concat();
        let times = elapsed(&bytes);
        assert_eq!((times[1], &times[3..]), (100, &[600, 900][..]));
    }
}

#[test]
fn every_cut_of_a_stream_keeps_the_whole_events() {
    for name in ["aix/sample32.stream", "aix/sample64.stream"] {
        let bytes = std::fs::read(data(name)).unwrap();
        let whole = read(&bytes);
        for len in 4..bytes.len() {
            let cut = read(&bytes[..len]);
            let n = cut.events.len();
            assert_eq!(cut.events, whole.events[..n], "{name} cut to {len}");
            let end = whole.events.get(n).map_or(len as u64, |next| next.offset);
            let left = len as u64 - end;
            if left == 0 {
                assert!(cut.damage.is_empty());
            } else {
                let expected = format!("truncated at offset {end:#x}: {left} bytes left");
                assert!(cut.damage[0].starts_with(&expected), "{}", cut.damage[0]);
            }
        }
    }
}

fn buffer(wide: bool, marks: std::ops::Range<u32>) -> Vec<u8> {
    marks.flat_map(|mark| if wide { event64(mark.into(), mark.into()) } else { event32(mark, mark) }).collect()
}

fn log(wide: bool, current: u32, wraps: u32, marks: &[std::ops::Range<u32>]) -> LogBuilder {
    LogBuilder {
        wide,
        current,
        wraps,
        ic: if wide { factors64(1, 1, 1) } else { factors32(1, 1, 1) },
        entries: marks.iter().map(|marks| buffer(wide, marks.clone())).collect(),
    }
}

#[test]
fn entries_are_read_in_order_of_writing() {
    for wide in [false, true] {
        let straight = log(wide, 2, 0, &[1..3, 3..5, 0..0]);
        let read_straight = read(&straight.bytes());
        assert_eq!(read_straight.marks()[1..], [1, 2, 3, 4]);
        assert!(read_straight.damage.is_empty() && read_straight.warnings.is_empty());
        let wrapped = log(wide, 1, 3, &[5..7, 1..3, 3..5]);
        assert_eq!(read(&wrapped.bytes()).marks()[1..], [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn incomplete_order_falls_back_to_the_stamps() {
    for (current, wraps) in [(1, 0), (9, 1)] {
        let read = read(&log(false, current, wraps, &[5..7, 1..3, 3..5]).bytes());
        assert_eq!(read.marks()[1..], [1, 2, 3, 4, 5, 6]);
        assert_eq!((read.warnings.len(), read.damage.len()), (1, 0));
    }
}

#[test]
fn a_log_through_a_pipe() {
    let bytes = log(true, 1, 3, &[5..7, 1..3, 3..5]).bytes();
    let input = Input::Stream(Box::new(ShortReader::new(bytes.clone(), 100)));
    let trace = Trace::from_input("test", input, &ReadOptions::default()).unwrap();
    assert_eq!(drain(trace), read(&bytes));
}

#[test]
fn a_damaged_entry_does_not_hide_the_next() {
    for wide in [false, true] {
        let whole = log(wide, 3, 0, &[1..3, 3..6, 6..8]);
        let mut bytes = whole.bytes();
        let event = if wide { 32 } else { 16 };
        let at = whole.head_len() + whole.ic.len() + 2 * event;
        // The second event of entry 1 gets an undefined type or flag.
        bytes[at + event + if wide { 0 } else { 1 }] |= 7;
        let read = read(&bytes);
        assert_eq!(read.marks()[1..], [1, 2, 3, 6, 7]);
        assert_eq!(read.damage.len(), 1);
        assert!(read.damage[0].contains(&format!("event 5 at offset {:#x}", at + event)), "{}", read.damage[0]);
        assert!(read.damage[0].contains(&format!("entry 1 is skipped ({} bytes)", 2 * event)), "{}", read.damage[0]);
    }
}

#[test]
fn overlapping_and_outside_entries_are_left_out() {
    for wide in [false, true] {
        let whole = log(wide, 3, 0, &[1..3, 3..6, 6..8]);
        let first = (whole.head_len() + whole.ic.len()) as u64;
        for (offset, part) in [(first + 8, "overlaps"), (0, "overlaps"), (1 << 30, "after the end")] {
            let mut bytes = whole.bytes();
            set_row(&mut bytes, &whole, 1, offset, 64);
            let read = read(&bytes);
            assert_eq!(read.marks()[1..], [1, 2, 6, 7], "{offset}");
            assert!(
                matches!(&read.damage[..], [_, said] if said.starts_with("the header does not refer to")),
                "{read:?}"
            );
            assert!(read.damage[0].contains(part), "{}", read.damage[0]);
        }
    }
}

#[test]
fn a_table_that_does_not_fit_is_refused() {
    for n in [1000, 1 << 18, u32::MAX] {
        let mut bytes = log(false, 3, 0, &[1..3, 3..4]).bytes();
        bytes[4..8].copy_from_slice(&n.to_be_bytes());
        let read = read(&bytes);
        assert_eq!(read.events.len(), 1, "the ic area is read anyway");
        assert_eq!((read.damage.len(), read.warnings.len()), (2, 0));
        assert!(read.damage[1].contains("skipped ("), "what no entry reaches is named: {}", read.damage[1]);
    }
}

#[test]
fn every_cut_of_a_log_keeps_a_prefix() {
    for wide in [false, true] {
        let whole = log(wide, 2, 0, &[1..3, 3..5]);
        let bytes = whole.bytes();
        let events = read(&bytes).events;
        for len in 4..bytes.len() {
            let cut = read(&bytes[..len]);
            assert_eq!(cut.events, events[..cut.events.len()], "cut to {len}");
            assert!(!cut.damage.is_empty(), "cut to {len}");
            let last_entry = whole.head_len() + whole.ic.len() + whole.entries[0].len();
            if len > last_entry {
                let expected = format!("truncated at offset {:#x}", cut_offset(&cut, &bytes, wide));
                assert!(cut.damage[0].contains(&expected), "{}", cut.damage[0]);
            }
        }
    }
}

fn cut_offset(cut: &TraceContents, bytes: &[u8], wide: bool) -> u64 {
    let size = if wide { 32 } else { 16 };
    let end = cut.events.last().unwrap().offset + size;
    assert!(end <= bytes.len() as u64);
    end
}

#[test]
fn every_flip_of_a_log_is_survived() {
    for wide in [false, true] {
        let whole = log(wide, 2, 0, &[1..3, 3..5]);
        let bytes = whole.bytes();
        let before = read(&bytes).events;
        for at in 4..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                let after = read(&bytes).events;
                // Events before the flipped byte are unchanged, unless it is in the header.
                if at >= whole.head_len() {
                    let size = |id| match (id, wide) {
                        (0x00A0, false) => 40,
                        (0x00A0, true) => 56,
                        (_, false) => 16,
                        (_, true) => 32,
                    };
                    let n = before.iter().filter(|event| event.offset + size(event.id) <= at as u64).count();
                    assert_eq!(after[..n], before[..n], "byte {at} bit {bit}");
                }
            }
        }
    }
}

#[test]
fn garbage_after_any_first_word_is_survived() {
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for round in 0..2000 {
        let kind = AixKind::ALL[round % 4];
        let mut bytes = kind.magic().map_or(Vec::new(), |magic| magic.to_be_bytes().to_vec());
        let n = random() % 200;
        let mask = if round % 3 == 0 { 0x0000_0018_00F0_0018 } else { u64::MAX };
        bytes.extend((0..n).flat_map(|_| (random() & mask).to_be_bytes()));
        let _ = read_with(&bytes, &options_for(kind));
    }
}

#[test]
fn a_read_error_is_told() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let good = std::fs::read(data("aix/sample32.stream")).unwrap();
    let input = Input::Stream(Box::new(io::Cursor::new(good).chain(Broken)));
    let mut trace = Trace::from_input("test", input, &ReadOptions::default()).unwrap();
    for _ in 0..12 {
        assert!(trace.next().unwrap().is_some());
    }
    assert_eq!(trace.next().unwrap_err().to_string(), "broken");
}

/// Reads a trace to its end: number of events, number of malformed places, and notices.
fn notices(mut trace: Trace) -> (u64, u64, Vec<Notice>) {
    let mut notices = Vec::new();
    while let Some(item) = trace.next().unwrap() {
        match item {
            AixItem::Event(event) => {
                let offset = event.offset;
                assert_eq!(trace.offset(), offset);
            }
            AixItem::Notice(notice) => notices.push(notice),
        }
    }
    let tally = trace.tally();
    tally.check().unwrap();
    let skipped: u64 = notices.iter().filter_map(|notice| notice.skipped).map(|(from, to)| to - from).sum();
    assert_eq!(tally.skipped, skipped, "{notices:?}");
    (trace.n_events(), trace.n_whole(), notices)
}

/// The single notice of a trace, with the counts of events, malformed places and whole events.
fn notice(input: Input, after_damage: AfterDamage) -> (u64, u64, String, Option<(u64, u64)>) {
    let options = ReadOptions { after_damage, ..ReadOptions::default() };
    let (n_events, n_whole, notices) = notices(Trace::from_input("test", input, &options).unwrap());
    let [Notice { damage: true, message, skipped, .. }] = &notices[..] else { panic!("{notices:?}") };
    (n_events, n_whole, message.clone(), *skipped)
}

#[test]
fn damage_notices_have_offset_and_size() {
    let head = [STREAM64.to_vec(), factors64(1, 1, 2), event64(1, 10)].concat();
    assert_eq!(head.len(), 0x5c);
    let more: Vec<u8> = (2..20).flat_map(|n| event64(n, 10 * n)).collect();
    let file = |bytes: &[&[u8]]| Input::from_bytes([&head[..], &bytes.concat()].concat());
    let (resync, next_entry) = (AfterDamage::Resync, AfterDamage::NextEntry);
    for after_damage in [resync, next_entry] {
        let message = "truncated at offset 0x5c: 20 bytes left in the stream, event 3 needs 32";
        let told = notice(file(&[&more[..20]]), after_damage);
        assert_eq!(told, (3, 2, message.to_owned(), Some((0x5c, 0x70))));
    }
    // Valid events follow the invalid bytes.
    let message =
        "event 3 at offset 0x5c: undefined event flags FFFF, expected none of 07F8; skipped to offset 0x64 (8 bytes)";
    let told = notice(file(&[&[0xFF; 8], &more]), resync);
    assert_eq!(told, (21, 20, message.to_owned(), Some((0x5c, 0x64))));
    // Without `--after-damage=resync`, the report ends at the damage. For a pipe, it counts the bytes that it read.
    let end = 0x64 + more.len() as u64;
    let message = format!(
        "event 3 at offset 0x5c: undefined event flags FFFF, expected none of 07F8; the rest of the stream is skipped ({} bytes), \
         to offset {end:#x}",
        end - 0x5c
    );
    let bytes = [&head[..], &[0xFF; 8], &more].concat();
    for input in [Input::from_bytes(bytes.clone()), Input::Stream(Box::new(io::Cursor::new(bytes)))] {
        assert_eq!(notice(input, next_entry), (3, 2, message.clone(), Some((0x5c, end))));
    }
    // An event whose length includes all later events.
    let long = words64(&[0xC000_0FA0_0100_0000, u64::MAX]);
    let n_left = 16 + more.len();
    let message = format!(
        "event 3 at offset 0x5c needs 4032 bytes, and {n_left} are left in the stream; skipped to offset 0x6c (16 bytes)"
    );
    let told = notice(file(&[&long, &more]), resync);
    assert_eq!(told, (21, 20, message, Some((0x5c, 0x6c))));
    let message = format!("truncated at offset 0x5c: {n_left} bytes left in the stream, event 3 needs 4032");
    let told = notice(file(&[&long, &more]), next_entry);
    assert_eq!(told, (3, 2, message, Some((0x5c, 0x5c + n_left as u64))));
}

#[test]
fn first_of_equally_plausible_positions_is_used() {
    // An event without a stamp can look like the data of another. These words and thread ids are not valid hook words.
    let unstamped = |n| words64(&[0x0000_0008_0100_0000, u64::MAX, u64::MAX]).repeat(n);
    let stamped: Vec<u8> = (1..20).flat_map(|n| event64(n, 10 * n)).collect();
    let head = [STREAM64.to_vec(), factors64(1, 1, 2), event64(1, 10)].concat();
    for (n, to) in [(60, 0x64), (30, 0x64 + 30 * 24)] {
        let bytes = [&head[..], &[0xFF; 8], &unstamped(n), &stamped].concat();
        let (.., skipped) = notice(Input::from_bytes(bytes), AfterDamage::Resync);
        assert_eq!(skipped, Some((0x5c, to)), "{n} events without stamps");
    }
}

#[test]
fn log_cut_between_events_names_the_entrys_end() {
    let whole = log(true, 2, 0, &[1..3, 3..5]);
    let bytes = whole.bytes();
    let (len, cut) = (bytes.len(), bytes.len() - 32);
    let message = format!("truncated at offset {cut:#x}: 0 bytes left, entry 1 continues to {len:#x}");
    let told = notice(Input::from_bytes(bytes[..cut].to_vec()), AfterDamage::Resync);
    assert_eq!(told, (4, 4, message, None));
    // A malformed event loses the rest of its entry, and nothing else.
    let mut bytes = bytes;
    let at = whole.head_len() + whole.ic.len();
    bytes[at] = 0xFF;
    let message = format!(
        "event 2 at offset {at:#x}: undefined event flags FF00, expected none of 07F8; the rest of entry 0 is skipped (64 bytes), \
         to offset {:#x}",
        at + 64
    );
    let told = notice(Input::from_bytes(bytes), AfterDamage::NextEntry);
    assert_eq!(told, (4, 3, message, Some((at as u64, at as u64 + 64))));
}

#[test]
fn up_to_eight_unreached_ranges_are_named() {
    for n in [1, 2, 8, 9, 12] {
        let marks: Vec<_> = (0..n).map(|at| 2 * at + 1..2 * at + 3).collect();
        let whole = log(true, n, 0, &marks);
        let mut bytes = whole.bytes();
        let mut places = Vec::new();
        for at in 0..n as usize {
            // Every entry loses its second event.
            let offset = whole.head_len() + whole.ic.len() + 64 * at;
            set_row(&mut bytes, &whole, at, offset as u64, 32);
            places.push(format!("{:#x} to {:#x}", offset + 32, offset + 64));
        }
        let mut trace = Trace::from_input("test", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
        let mut told = Vec::new();
        while let Some(item) = trace.next().unwrap() {
            if let AixItem::Notice(notice) = item {
                told.push(notice);
            }
        }
        let more = if n > 8 { format!(" and {} more places", n - 8) } else { String::new() };
        let named = places[..places.len().min(8)].join(", ");
        let message = format!(
            "the header does not refer to offset {named}{more}: skipped ({} bytes); `tfbc report --salvage` reads the well-formed events \
             there",
            32 * n
        );
        let [Notice { damage: true, message: said, skipped, .. }] = &told[..] else { panic!("{told:?}") };
        assert_eq!((said, skipped.map(|(from, to)| to - from)), (&message, (n == 1).then_some(32)));
        assert_eq!((trace.tally().skipped, trace.n_whole()), (32 * u64::from(n), u64::from(n) + 1));
    }
}

#[test]
fn oversized_table_is_reported_with_its_size() {
    let mut bytes = log(false, 3, 0, &[1..3, 3..4]).bytes();
    bytes[4..8].copy_from_slice(&1000u32.to_be_bytes());
    let left = bytes.len() - 36;
    let expected = format!("truncated at offset 0x24: {left} bytes left, the table of 1000 entries needs 8000");
    assert_eq!(read(&bytes).damage[0], expected);
}

#[test]
fn large_entries_are_ordered_by_their_stamps_too() {
    let marks = [50_000..70_000, 1..20_000, 20_000..50_000];
    let bytes = log(false, 9, 1, &marks).bytes();
    let mut trace = Trace::from_input("test", Input::from_bytes(bytes), &ReadOptions::default()).unwrap();
    let mut ticks = Vec::new();
    while let Some(item) = trace.next().unwrap() {
        if let AixItem::Event(event) = item {
            ticks.extend(event.ticks);
        }
    }
    assert_eq!(ticks, (0..70_000).collect::<Vec<_>>());
}

#[test]
fn pipes_keep_their_look_ahead() {
    let mut bytes = STREAM64.to_vec();
    bytes.extend((1..40_000).flat_map(|n| event64(n, n)));
    bytes.extend(factors64(1, 1, 2));
    bytes.extend(event64(40_000, 40_000));
    let input = Input::Stream(Box::new(ShortReader::new(bytes, 100_000)));
    let mut trace = Trace::from_input("test", input, &ReadOptions::default()).unwrap();
    assert!(trace.survey().factors.is_some());
    let mut n = 0;
    while let Some(item) = trace.next().unwrap() {
        let AixItem::Event(event) = item else { panic!("{item:?}") };
        assert_eq!((event.number, event.offset), (n + 1, 4 + 32 * n + if n == 40_000 { 24 } else { 0 }));
        n += 1;
    }
    assert_eq!(n, 40_001);
}

#[test]
fn factors_are_searched_for_in_16_mib_of_pipes() {
    let last = [factors64(1, 1, 2), event64(2, 20)].concat();
    for (n, of_pipe) in [(500_000, true), (560_000, false)] {
        let bytes = [STREAM64.to_vec(), event64(1, 10).repeat(n), last.clone()].concat();
        let pipe = damage::pipe(&bytes, 99_991);
        for (input, is_found) in [(pipe, of_pipe), (Input::from_bytes(bytes), true)] {
            let trace = Trace::from_input("test", input, &ReadOptions::default()).unwrap();
            assert_eq!(trace.survey().factors.is_some(), is_found, "{n} events");
        }
    }
}

#[test]
#[cfg(unix)]
fn what_is_not_at_hand_must_be_waited_for() {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::OwnedFd;

    for after_damage in [AfterDamage::Resync, AfterDamage::NextEntry] {
        let (read, mut write) = io::pipe().unwrap();
        let begin = [STREAM64.to_vec(), factors64(1, 1, 2), event64(1, 10)].concat();
        write.write_all(&begin).unwrap();
        let input = Input::from_file(File::from(OwnedFd::from(read))).unwrap();
        let options = ReadOptions { after_damage, ..ReadOptions::default() };
        let mut trace = Trace::from_input("-", input, &options).unwrap();
        assert!(trace.is_live() && !trace.waits().unwrap(), "the first events are at hand");
        assert!(trace.next().unwrap().is_some() && !trace.waits().unwrap());
        assert!(trace.next().unwrap().is_some() && trace.waits().unwrap(), "nothing follows yet");
        write.write_all(&event64(2, 20)[..9]).unwrap();
        assert!(trace.waits().unwrap(), "half an event follows");
        write.write_all(&event64(2, 20)[9..]).unwrap();
        assert!(!trace.waits().unwrap(), "the pipe has the other half");
        assert!(matches!(trace.next().unwrap(), Some(AixItem::Event(event)) if event.number == 3));
        // After invalid bytes the reader looks for events, unless the stream ends there.
        write.write_all(&[0xFF; 8]).unwrap();
        assert_eq!(trace.waits().unwrap(), after_damage == AfterDamage::Resync);
        drop(write);
        assert!(matches!(trace.next().unwrap(), Some(AixItem::Notice(_))));
        assert!(!trace.waits().unwrap() && trace.next().unwrap().is_none());
    }
    // The reader does not wait at the end of a pipe or file.
    let bytes = [STREAM64.to_vec(), factors64(1, 1, 2), event64(1, 10), event64(2, 20)[..9].to_vec()].concat();
    let (read, mut write) = io::pipe().unwrap();
    write.write_all(&bytes).unwrap();
    drop(write);
    for input in [Input::from_file(File::from(OwnedFd::from(read))).unwrap(), Input::from_bytes(bytes.clone())] {
        let mut trace = Trace::from_input("-", input, &ReadOptions::default()).unwrap();
        while trace.next().unwrap().is_some() {
            assert!(!trace.waits().unwrap());
        }
    }
    // If the input cannot say whether more is available, the reader blocks.
    let input = Input::Stream(Box::new(io::Cursor::new(bytes)));
    let mut trace = Trace::from_input("-", input, &ReadOptions::default()).unwrap();
    let mut waits = Vec::new();
    while trace.next().unwrap().is_some() {
        waits.push(trace.waits().unwrap());
    }
    assert_eq!(waits, [false, true, false]);
}

#[test]
fn markers_in_texts_do_not_change_the_kind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    let marker = b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_HEADER_END::";
    let wide: Vec<u8> = (0..200).flat_map(|n| event64(n, n)).collect();
    let narrow: Vec<u8> = (0..400).flat_map(|n| event32(n, n)).collect();
    let text64 = generic_by64(0x0200, 0, marker, 1, 9999);
    let text32 = generic_by32(0x020, 0, marker, 1, 9999);
    for bytes in
        [[STREAM64.to_vec(), factors64(1, 1, 2), wide, text64].concat(), [factors32(1, 1, 2), narrow, text32].concat()]
    {
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(AnyTrace::open(&path, &ReadOptions::default()), Ok(AnyTrace::Aix(_))));
    }
    // A QNX log may have other text before its marker.
    std::fs::write(&path, [&[b'x'; 5000], &marker[..]].concat()).unwrap();
    assert!(matches!(AnyTrace::open(&path, &ReadOptions::default()), Ok(AnyTrace::Kev(_))));
}

#[test]
fn kinds_have_the_names_that_the_flag_takes() {
    let directory = tempfile::tempdir().unwrap();
    for kind in AixKind::ALL {
        let path = directory.path().join(kind.name());
        let bytes = match kind {
            AixKind::Stream32 => event32(1, 1),
            AixKind::Stream64 => event64(1, 1),
            AixKind::Log32 | AixKind::Log64 => log(kind == AixKind::Log64, 2, 0, &[1..3, 3..4]).bytes(),
        };
        std::fs::write(&path, bytes).unwrap();
        let mut command = command("tfbc");
        let (out, err, status) = run(command.args(["info", "--format", kind.name()]).arg(&path));
        assert!(status == 0 && out.contains(&kind.to_string()), "{kind}: {out}{err}");
    }
}
