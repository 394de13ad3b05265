//! The bytes of written events, streams and logs, against the layouts that AIX documents.

use tfbc_benches::{
    COPY_SLOTS, Data, EventWriter, LogBuilder, Stamp, TraceHook, Width, copy_buffers, mix_buffers, shell_buffers,
};

const TID: u64 = 0x1a2b;
const TICKS: u64 = 0x0000_0123_0f00_ba50;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks the bytes of an event in a trace, blanks aside, and the buffer that a template sees.
fn check(trace: Width, hook: TraceHook, stamped: bool, event: &str, presented: &str) {
    let mut writer = EventWriter::new(trace);
    let stamp = if stamped { Stamp::at(TID, TICKS) } else { Stamp::unstamped(TID) };
    writer.put(&hook, &stamp);
    assert_eq!(hex(writer.events()), event.replace(' ', ""));
    assert_eq!(hex(&hook.template_bytes(stamped)), presented.replace(' ', ""));
}

fn five() -> TraceHook {
    TraceHook::words(0x5000, 5, &[1, 2, 3, 4, 5])
}

#[test]
fn hooks_of_32_bits_in_a_32_bit_trace() {
    let hook = |subhook, words: &[u64]| TraceHook::words(0x0100, subhook, words).width(Width::W32);
    check(Width::W32, hook(0xabcd, &[]), true, "0109abcd 00001a2b 0f00ba50", "0109abcd");
    check(Width::W32, hook(0, &[10]), true, "010a0000 0000000a 00001a2b 0f00ba50", "010a0000 0000000a");
    check(Width::W32, hook(0, &[10]), false, "01020000 0000000a 00001a2b", "01020000 0000000a");
    let words = "00000001 00000002 00000003 00000004 00000005";
    check(
        Width::W32,
        five().width(Width::W32),
        true,
        &format!("500e0005 {words} 00001a2b 0f00ba50"),
        &format!("500e0005 {words}"),
    );
    let two = "010e0000 00000001 00000002 00000000 00000000 00000000";
    check(Width::W32, hook(0, &[1, 2]), true, &format!("{two} 00001a2b 0f00ba50"), two);
}

#[test]
fn generic_hooks_are_filled_to_whole_words() {
    let narrow = TraceHook::generic(0x0100, 0, 1, b"hello\0").width(Width::W32);
    let presented = "01080006 00000001 68656c6c6f00";
    check(Width::W32, narrow, true, &format!("{presented} 0000 00001a2b 0f00ba50"), presented);
    let wide = TraceHook::generic(0x5000, 5, 1, b"hello\0");
    let presented = "4000000650000005 0000000000000001 68656c6c6f00";
    check(Width::W64, wide, false, &format!("{presented} 0000 0000000000001a2b"), presented);
}

#[test]
fn wide_hook_in_a_narrow_trace_is_inside_00b() {
    let presented =
        "8000002850000005 0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005";
    check(Width::W32, five(), true, &format!("00b8002c {presented} 00001a2b 0f00ba50"), presented);
    let generic = TraceHook::generic(0x5000, 5, 1, b"hello\0");
    let presented = "4000000650000005 0000000000000001 68656c6c6f00";
    check(Width::W32, generic, false, &format!("00b00012 {presented} 0000 00001a2b"), presented);
}

#[test]
fn narrow_hook_in_a_wide_trace_has_flag_b() {
    check(
        Width::W64,
        five().width(Width::W32),
        true,
        "a000001450000005 0000000100000002 0000000300000004 0000000500000000 0000000000001a2b 000001230f00ba50",
        "500e0005 00000001 00000002 00000003 00000004 00000005",
    );
    check(
        Width::W64,
        TraceHook::generic(0x5000, 5, 1, b"hello\0").width(Width::W32),
        true,
        "e000000650000005 0000000000000001 68656c6c6f000000 0000000000001a2b 000001230f00ba50",
        "50080006 00000001 68656c6c6f00",
    );
}

#[test]
fn registers_and_the_cpu_id_follow_the_stamp() {
    let mut writer = EventWriter::new(Width::W64);
    let stamp = Stamp { registers: &[7, 8], cpu: Some(3), ..Stamp::at(TID, TICKS) };
    writer.put(&TraceHook::words(0x5000, 5, &[]), &stamp);
    let expected =
        "9801000050000005 0000000000001a2b 000001230f00ba50 0000000000000007 0000000000000008 0000000000000003";
    assert_eq!(hex(writer.events()), expected.replace(' ', ""));
}

#[test]
#[should_panic(expected = "id F5F1 does not fit a 32-bit hook word")]
fn four_digit_ids_need_a_64_bit_hook() {
    EventWriter::new(Width::W64).put(&TraceHook::words(0xF5F1, 0, &[]).width(Width::W32), &Stamp::unstamped(1));
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn a_log_names_its_buffers() {
    let log =
        LogBuilder::new(Width::W32, b"initial!".to_vec(), vec![b"one.".to_vec(), b"two.two.".to_vec()]).to_bytes();
    let fields: Vec<u32> = (0..log.len() / 4).map(|i| u32_at(&log, 4 * i)).take(13).collect();
    assert_eq!(fields, [0xEFDF_1112, 2, 2, 0, 0, 0, 0, 52, 8, 60, 4, 64, 8]);
    assert_eq!(&log[52..], b"initial!one.two.two.");

    let log = LogBuilder::new(Width::W64, b"initial!".to_vec(), vec![b"one.".to_vec()]).to_bytes();
    let fields: Vec<u32> = (0..log.len() / 4).map(|i| u32_at(&log, 4 * i)).take(16).collect();
    assert_eq!(fields, [0xEFDF_1113, 1, 1, 0, 0, 0, 0, 0, 0, 64, 0, 8, 0, 72, 0, 4]);
}

#[test]
fn a_wrapped_log_continues_over_its_oldest_buffers() {
    let entries = ["a", "b", "c", "d", "e"].map(|text| text.as_bytes().to_vec()).to_vec();
    let log = LogBuilder { slots: 3, ..LogBuilder::new(Width::W32, Vec::new(), entries) }.to_bytes();
    assert_eq!((u32_at(&log, 8), u32_at(&log, 16)), (2, 1), "next slot and wraps");
    assert_eq!(&log[log.len() - 3..], b"dec");
}

#[test]
fn unused_slots_are_zero() {
    let log = LogBuilder { slots: 2, ..LogBuilder::new(Width::W32, Vec::new(), vec![b"a".to_vec()]) }.to_bytes();
    assert_eq!((u32_at(&log, 8), u32_at(&log, 16)), (1, 0));
    assert_eq!(log[44..52], [0; 8]);
}

/// Steps through the events of a 64-bit kernel by their hook words alone, and returns their ids.
fn walk64(mut bytes: &[u8]) -> Vec<u16> {
    let mut ids = Vec::new();
    while !bytes.is_empty() {
        let word = u64::from_be_bytes(bytes[..8].try_into().unwrap());
        let (flags, len) = (word >> 48, word >> 32 & 0xFFFF);
        assert_eq!(flags & !0xC000, 0);
        let data = len + if flags & 0x4000 != 0 { 16 } else { 8 };
        let size = data.next_multiple_of(8) + 8 + if flags & 0x8000 != 0 { 8 } else { 0 };
        ids.push((word >> 16) as u16);
        bytes = &bytes[size as usize..];
    }
    ids
}

#[test]
fn the_sample_steps_from_event_to_event() {
    let buffers: Vec<_> = shell_buffers(Width::W64, 1).collect();
    let header = walk64(&buffers[0]);
    assert_eq!(header[..3], [0x0030, 0x0030, 0x00A0]);
    let events: Vec<u16> = buffers[1..].iter().flat_map(|buffer| walk64(buffer)).collect();
    assert_eq!((events[0], *events.last().unwrap()), (0x0010, 0x0020));
    for id in [0x1000, 0x1010, 0x1020, 0x1030, 0x1040, 0x1050, 0x1060, 0x10C0, 0x1340, 0x1350, 0x1390, 0x2000, 0x4650] {
        assert!(events.contains(&id), "hook {id:04X}");
    }
    assert!((270..400).contains(&events.len()), "{} events", events.len());
    assert!(buffers[1..].iter().all(|buffer| buffer.len() <= 8192));
}

#[test]
fn the_bundled_trace_is_the_sample() {
    let mut buffers = shell_buffers(Width::W64, 1);
    let initial = buffers.next().unwrap();
    let log = LogBuilder::new(Width::W64, initial, buffers.collect()).to_bytes();
    let bundled = include_bytes!("../../runtime/samples/shell.trc");
    assert!(bundled[..] == log, "run `cargo run -p tfbc-benches --bin make-trace -- shell --form log -o FILE`");
}

#[test]
fn the_bundled_copy_is_what_make_trace_makes() {
    let [initial, events] = copy_buffers();
    let log = LogBuilder { slots: COPY_SLOTS, ..LogBuilder::new(Width::W64, initial, vec![events]) }.to_bytes();
    let bundled = include_bytes!("../../runtime/samples/copy.trc");
    assert!(bundled[..] == log, "run `cargo run -p tfbc-benches --bin make-trace -- copy --form log -o FILE`");
}

#[test]
fn a_mix_has_as_many_events_as_asked() {
    let buffers: Vec<_> = mix_buffers(tfbc_benches::Pick::Mix(200), 10_000, 7).collect();
    let n: usize = buffers[1..].iter().map(|buffer| walk64(buffer).len()).sum();
    assert_eq!(n, 10_000);
}

#[test]
fn data_words_are_cut_to_the_hooks_width() {
    let hook = TraceHook { width: Width::W32, id: 0x0100, subhook: 0, data: Data::Words(vec![0xFFFF_FFFF_0000_0001]) };
    assert_eq!(hex(&hook.template_bytes(false)), "0102000000000001");
}
