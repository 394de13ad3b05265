//! The hand-written formatter prints what the load's templates mean, worked out with `std::fmt`.

use std::fmt::Write;

use tfbc_benches::{FLAGS, Load, NativeText, OPERATIONS, Pick, Shape, TraceHook};
use tfbc_vm::Event;

fn word(event: &[u8], index: usize) -> u64 {
    u64::from_be_bytes(event[8 * index..8 * index + 8].try_into().unwrap())
}

fn line(event: &[u8]) -> String {
    let mut text = String::new();
    let low = |index| word(event, index) as u32;
    match Shape::of_id((word(event, 0) >> 16) as u16) {
        Shape::DiskRead => writeln!(text, "DISK READ dev={:08X} blk={:08X} cnt={:08X}", low(1), low(2), low(3)),
        Shape::Ioctl => {
            let flags: String =
                (0..8).filter(|bit| low(1) >> bit & 1 == 1).map(|bit| format!("{} ", FLAGS[bit])).collect();
            let operation = OPERATIONS.get(word(event, 2) as usize).unwrap_or(&"");
            writeln!(text, "IOCTL flags={flags}op={operation} val={}", low(3))
        }
        Shape::Wakeup => {
            let name = event[24..40].iter().take_while(|&&byte| byte != 0);
            let name: String =
                name.map(|&byte| if (0x20..0x7F).contains(&byte) { byte as char } else { '.' }).collect();
            writeln!(text, "WAKEUP comm={name} pid={} prio={}", low(1), low(2))
        }
        Shape::Dump => {
            let bytes: Vec<String> = event[16..].iter().map(|byte| format!("{byte:02X}")).collect();
            writeln!(text, "DUMP len={} data= {}", low(1), bytes.join(" "))
        }
    }
    .unwrap();
    text
}

fn check(hook: TraceHook) {
    let bytes = hook.template_bytes(true);
    let mut text = NativeText::new();
    text.event(&Event { bytes: &bytes, wide: true, record: None, time_ns: 0, offset: 0 }).unwrap();
    assert_eq!(String::from_utf8_lossy(text.as_bytes()), line(&bytes));
}

#[test]
fn every_load_prints_the_same() {
    for pick in Shape::ALL.map(Pick::Only).into_iter().chain([Pick::Mix(4), Pick::Mix(200), Pick::Mix(4096)]) {
        let mut text = NativeText::new();
        let mut expected = String::new();
        for event in Load::new(pick, 2000).events() {
            text.event(&event).unwrap();
            expected += &line(event.bytes);
        }
        assert_eq!(String::from_utf8_lossy(text.as_bytes()), expected);
    }
}

#[test]
fn numbers_at_their_bounds() {
    for value in
        [0, 9, 10, 99, 100, 999, 1000, 99_999_999, 100_000_000, 999_999_999, 1_000_000_000, u64::from(u32::MAX)]
    {
        check(TraceHook::words(0x1010, 0, &[0, 99, value]));
        check(TraceHook::words(0x1000, 0, &[value, value << 4, !value]));
    }
}

#[test]
fn all_flags() {
    (0..256).for_each(|flags| check(TraceHook::words(0x1010, 0, &[flags, flags, 7])));
}

#[test]
fn names_of_every_length_and_byte() {
    let name = |text: [u8; 16]| {
        let bits = u128::from_be_bytes(text);
        check(TraceHook::words(0x1020, 0, &[1, 2, (bits >> 64) as u64, bits as u64]));
    };
    for len in 0..=16 {
        name(std::array::from_fn(|i| if i < len { b'a' } else { 0 }));
        name(std::array::from_fn(|i| {
            if i < len {
                b'a'
            } else if i == len {
                0
            } else {
                0xFF
            }
        }));
    }
    for byte in 0..=255 {
        name(b"0123456789abcdef".map(|old| if old == b'5' { byte } else { old }));
    }
}

#[test]
fn dumps_of_any_length() {
    for len in [0, 1, 2, 64, 65, 4096] {
        check(TraceHook::generic(0x1030, 0, len as u64, &vec![0xA5; len]));
    }
}

#[test]
fn an_event_that_is_too_short_prints_nothing() {
    let bytes = TraceHook::words(0x1000, 0, &[1, 2, 3]).template_bytes(true);
    let mut text = NativeText::new();
    for len in 0..bytes.len() {
        let event = Event { bytes: &bytes[..len], wide: true, record: None, time_ns: 0, offset: 0 };
        assert_eq!(text.event(&event), None);
    }
    assert_eq!(text.as_bytes(), b"");
}
