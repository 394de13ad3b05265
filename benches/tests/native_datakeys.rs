//! The hand-written decoder prints what the load's definitions mean, worked out with `std::fmt`.

use std::sync::LazyLock;

use tfbc_benches::{NativeText, RecordLoad, UserEvent, definitions};
use tfbc_vm::{Event, RecordHeader};

/// The texts of the enums with values of one field, read from the definitions.
fn label(field: &str, value: u64) -> Option<String> {
    static DEFINITIONS: LazyLock<String> = LazyLock::new(definitions);
    let head = |datakey: &'static str| datakey.lines().next().unwrap_or_default();
    let datakey = DEFINITIONS.split("<datakey ").find(|datakey| head(datakey).contains(field))?;
    let n_labels = head(datakey).matches('%').count();
    datakey.lines().filter(|line| line.contains("<enum ")).find_map(|line| {
        let attribute = |name: &str| Some(line.split_once(&format!(" {name}=\""))?.1.split('"').next()?.to_owned());
        let number = attribute("value")?;
        let number = match number.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => number.parse(),
        };
        let named = if n_labels == 1 { true } else { attribute("name").as_deref() == Some(field) };
        (named && number == Ok(value)).then(|| attribute("string"))?
    })
}

/// `0x` and a number, and its label.
fn labelled(field: &str, value: u64) -> String {
    label(field, value).map_or(format!("{value:#x}"), |label| format!("{value:#x} {label}"))
}

fn masks(value: u64, names: &[(u64, &str)], none: &str) -> String {
    let met: String = names.iter().filter(|(mask, _)| value & mask != 0).map(|(_, name)| format!(" {name}")).collect();
    if met.is_empty() { none.to_owned() } else { met }
}

fn text(bytes: &[u8]) -> String {
    bytes.iter().take_while(|&&byte| byte != 0).map(|&byte| char::from(byte)).collect()
}

fn line(event: &Event<'_>) -> String {
    let bytes = event.bytes;
    let number = |at: usize, len: usize| bytes[at..at + len].iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
    let signed = |at: usize| number(at, 4) as i32;
    let id = event.record.unwrap().event;
    let (event, _) = UserEvent::SHARES.into_iter().find(|(event, _)| event.id() == id).unwrap();
    match event {
        UserEvent::Value => format!("mydata:{}\n", labelled("mydata", number(0, 4))),
        UserEvent::Masks => {
            let (first, second) = (number(0, 2), number(2, 2));
            let names = [(0x100, "1_bit_8"), (0x200, "1_bit_9"), (0x400, "1_bit_10")];
            let second_name = label("ipicmd2", second).unwrap_or("2_default".to_owned());
            format!("ipicmd:{first:#x}{} ipicmd2:{second:#x} {second_name}\n", masks(first, &names, " 1_default"))
        }
        UserEvent::Bits => {
            let status = labelled("status", (number(4, 4) & 0x70) >> 4);
            format!("command:{:#x} argument:{:#x} status:{status}\n", number(1, 1), number(0, 1))
        }
        UserEvent::State => format!("state:{} seq_id:{}\n", labelled("state", number(0, 4)), signed(4)),
        UserEvent::Numbers => format!("seq_id:{} latency:{}\n", signed(0), signed(4)),
        UserEvent::Name => format!("pid:{} name:{}\n", number(0, 4), text(&bytes[4..])),
        UserEvent::Conditions if bytes[0] & 1 == 1 => {
            format!("kind:{:#x} unit:{} length:{}\n", bytes[0], bytes[1], number(4, 4))
        }
        UserEvent::Conditions => format!("kind:{:#x} unit:{} error:{}\n", bytes[0], bytes[1], signed(4)),
        UserEvent::Codes => {
            let code = number(0, 4);
            format!("code:{code:#x} {}\n", label("code", code).unwrap_or("unknown".to_owned()))
        }
        UserEvent::Octal => {
            let mode = number(0, 4);
            let zero = if mode == 0 { "" } else { "0" };
            format!("mode:{zero}{mode:o} uid:{}\n", number(4, 4))
        }
        UserEvent::Address => format!("address:{:#x}\n", number(0, 8)),
        UserEvent::Message => {
            let names = ["READ", "WRITE", "ASYNC", "URGENT", "LAST", "ERROR"];
            let names: Vec<_> = names.into_iter().enumerate().map(|(bit, name)| (1 << bit, name)).collect();
            let flags = number(4, 4);
            let (address, text) = (number(8, 8), text(&bytes[16..]));
            let names = masks(flags, &names, "");
            format!("channel:{} flags:{flags:#x}{names} address:{address:#x} text:{text}\n", number(0, 4))
        }
        UserEvent::Phases => {
            let phase = |field: &str, value: u8| label(field, value.into()).unwrap_or(format!("{value:#x}"));
            let level = number(2, 2) as i16;
            format!("phase:{} next:{} level:{level}\n", phase("phase", bytes[0]), phase("next", bytes[1]))
        }
    }
}

fn check(event: UserEvent, payload: &[u8]) {
    let record = Some(RecordHeader { event: event.id(), big_endian: false });
    let event = Event { bytes: payload, wide: payload.len() > 8, record, time_ns: 0, offset: 0 };
    let mut text = NativeText::new();
    text.record(&event).unwrap();
    assert_eq!(String::from_utf8_lossy(text.as_bytes()), line(&event));
}

#[test]
fn every_load_prints_the_same() {
    for only in UserEvent::SHARES.map(|(event, _)| Some(event)).into_iter().chain([None]) {
        let mut text = NativeText::new();
        let mut expected = String::new();
        for event in RecordLoad::new(only, 1000).events() {
            text.record(&event).unwrap();
            expected += &line(&event);
        }
        assert_eq!(String::from_utf8_lossy(text.as_bytes()), expected);
    }
}

#[test]
fn numbers_at_their_bounds() {
    let powers = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit]).chain([u64::MAX, 999, 1000, 99_999_999]);
    for payload in powers.flat_map(|value| [value, value << 32, value.rotate_left(40)]) {
        for (event, _) in UserEvent::SHARES {
            if !matches!(event, UserEvent::Name | UserEvent::Message) {
                check(event, &payload.to_le_bytes());
            }
        }
    }
}

#[test]
fn texts_of_every_length() {
    for len in 0..40 {
        let text = &b"buffers are handed over in order, always"[..len];
        let payload = |head: usize| {
            let mut payload = [&[7; 16][..head], text, &[0]].concat();
            payload.resize(payload.len().next_multiple_of(8), 0);
            payload
        };
        check(UserEvent::Name, &payload(4));
        check(UserEvent::Message, &payload(16));
    }
}

#[test]
fn texts_without_a_nul_end_with_the_payload() {
    check(UserEvent::Name, b"\x01\0\0\0devb");
    check(UserEvent::Name, b"\x01\0\0\0devb-eide-01");
}

#[test]
fn short_or_unknown_records_print_nothing() {
    let mut text = NativeText::new();
    for (event, len) in [(UserEvent::Value.id(), 7), (UserEvent::Message.id(), 15), (1, 8)] {
        let record = Some(RecordHeader { event, big_endian: false });
        assert_eq!(text.record(&Event { bytes: &[0; 16][..len], wide: false, record, time_ns: 0, offset: 0 }), None);
    }
    assert_eq!(text.as_bytes(), b"");
}
