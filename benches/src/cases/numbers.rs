//! Benchmarks of one number, set of flags or dump per line: templates, hand-written code, and the standard library.
//!
//! Each line consists of `a=`, the value, and a newline. The case `none` has no value; subtracting it gives the cost of
//! the number alone.

use super::case::{BenchCase, Measure, Side, assert_same};
use super::run::formatted;
use crate::native::LineWindow;
use crate::{FLAGS, NativeText, Rng};
use std::fmt::Write;
use tfbc_vm::Event;

/// One value, printed by hand and by the standard library.
#[derive(Clone, Copy)]
struct Number {
    name: &'static str,
    descriptor: &'static str,
    /// Maps a random word to a value.
    value: fn(&mut Rng) -> u64,
    native: fn(&mut LineWindow<'_>, u64),
    plain: fn(&mut String, u64),
}

const FLAG_LIST: &str = concat!(
    r#""a=" BITFLAGS $D1, 01 "READ ", 02 "WRITE ", 04 "ASYNC ", 08 "PHYS ", 10 "DIRTY ", "#,
    r#"20 "BUSY ", 40 "ERROR ", 80 "DONE " """#
);

const NUMBERS: [Number; 8] = [
    Number { name: "none", descriptor: r#""a=""#, value: small, native: |_, _| {}, plain: |_, _| {} },
    Number {
        name: "decimal-small",
        descriptor: r#""a=" $D1%U4"#,
        value: small,
        native: |line, value| line.decimal(value as u32),
        plain: |text, value| put(text, format_args!("{value}")),
    },
    Number {
        name: "decimal",
        descriptor: r#""a=" $D1%U4"#,
        value: any,
        native: |line, value| line.decimal(value as u32),
        plain: |text, value| put(text, format_args!("{value}")),
    },
    Number {
        name: "hex",
        descriptor: r#""a=" $D1%X4"#,
        value: any,
        native: |line, value| line.hex(value as u32),
        plain: |text, value| put(text, format_args!("{value:08X}")),
    },
    Number {
        name: "hex64",
        descriptor: r#""a=" $D1%X8"#,
        value: |rng| rng.next_u64(),
        native: |line, value| line.hex_long(value),
        plain: |text, value| put(text, format_args!("{value:016X}")),
    },
    Number {
        name: "octal",
        descriptor: r#""a=" $D1%o4"#,
        value: any,
        native: |line, value| line.octal_number(value as u32),
        plain: |text, value| put(text, format_args!("{value:o}")),
    },
    Number {
        name: "binary",
        descriptor: r#""a=" $D1%B2"#,
        value: |rng| rng.next_u64() & 0xFFFF,
        native: |line, value| line.binary(value as u16),
        plain: |text, value| put(text, format_args!("{value:016b}")),
    },
    Number {
        name: "flags",
        descriptor: FLAG_LIST,
        value: |rng| rng.next_u64() & rng.next_u64() & 255,
        native: |line, value| line.flags(value as usize),
        plain: |text, value| {
            (0..8).filter(|bit| value >> bit & 1 == 1).for_each(|bit| put(text, format_args!("{} ", FLAGS[bit])));
        },
    },
];

fn small(rng: &mut Rng) -> u64 {
    rng.below(1000).into()
}

/// Random number below 2^32 of any length.
fn any(rng: &mut Rng) -> u64 {
    let random = rng.next_u64();
    random >> 32 >> (random & 31)
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes everything");
}

pub(super) fn measures() -> Vec<Measure> {
    let numbers = NUMBERS.map(|number| Measure::new(number.name, move |n_events| case(number, n_events)));
    let dumps = [("dump64", r#""a= " W2 LOOP $HL { X1 }"#, " "), ("dump64-run", r#""a=" W2 LOOP $HL { X0 }"#, "")]
        .map(|(name, descriptor, blank)| Measure::new(name, move |n_events| dump(descriptor, blank, n_events)));
    numbers.into_iter().chain(dumps).collect()
}

/// Stanza of hook 100 with a hidden label.
pub(super) fn stanza(descriptor: &str) -> String {
    format!("100 1.0 L=KERN \"@T\" {descriptor}\n")
}

/// Events of hook 100 from one buffer, all of the same size.
pub(super) fn events(bytes: Vec<u8>, event_bytes: usize) -> impl Iterator<Item = Event<'static>> + Clone {
    let bytes: &'static [u8] = bytes.leak();
    bytes.chunks_exact(event_bytes).map(|bytes| Event { bytes, wide: true, record: None, time_ns: 0, offset: 0 })
}

fn case(number: Number, n_events: usize) -> BenchCase {
    let mut rng = Rng::new(1);
    let values: Vec<u64> = (0..n_events).map(|_| (number.value)(&mut rng)).collect();
    let bytes = values.iter().flat_map(|value| [0x8000_0008_1000_0000, *value]).flat_map(u64::to_be_bytes).collect();
    let events = events(bytes, 16);
    let mut plain = String::new();
    let mut by_std = move || {
        plain.clear();
        for value in &values {
            plain.push_str("a=");
            (number.plain)(&mut plain, *value);
            plain.push('\n');
        }
        plain.clone()
    };
    let native = move |text: &mut NativeText, event: &Event<'static>| {
        let value = u64::from_be_bytes(*event.bytes.get(8..)?.first_chunk()?);
        text.number(|line| (number.native)(line, value));
        Some(())
    };
    let mut text = NativeText::new();
    events.clone().for_each(|event| native(&mut text, &event).expect("events are whole"));
    let expected: Vec<u8> = by_std().into_bytes();
    assert_same(&without_last_blanks(text.as_bytes()), &without_last_blanks(&expected));
    let case = formatted("load.trcfmt", &stanza(number.descriptor), n_events, move || events.clone(), native);
    case.side(Side::Plain, move || by_std().len())
}

/// Removes the blank after the last flag, which lines need not keep.
fn without_last_blanks(text: &[u8]) -> Vec<u8> {
    text.split(|byte| *byte == b'\n').flat_map(|line| [line.trim_ascii_end(), b"\n"].concat()).collect()
}

fn dump(descriptor: &str, blank: &'static str, n_events: usize) -> BenchCase {
    const HEAD: usize = 16;
    const BYTES: usize = 64;
    let mut rng = Rng::new(1);
    let event = |_| {
        let words = (0..BYTES / 8).map(|_| rng.next_u64());
        [0xC000_0040_1000_0000, 0].into_iter().chain(words).flat_map(u64::to_be_bytes).collect::<Vec<u8>>()
    };
    let bytes: Vec<u8> = (0..n_events).flat_map(event).collect();
    let events = events(bytes, HEAD + BYTES);
    let shown: Vec<Event<'static>> = events.clone().collect();
    let mut plain = String::new();
    let by_std = move || {
        plain.clear();
        for event in &shown {
            plain.push_str("a=");
            plain.push_str(blank);
            for (at, byte) in event.bytes[HEAD..].iter().enumerate() {
                put(&mut plain, format_args!("{}{byte:02X}", if at == 0 { "" } else { blank }));
            }
            plain.push('\n');
        }
        plain.len()
    };
    let native = move |text: &mut NativeText, event: &Event<'static>| {
        let shown = event.bytes.get(HEAD..)?;
        if blank.is_empty() { text.dump(b"a=", shown, 0) } else { text.dump(b"a= ", shown, 1) }
    };
    formatted("load.trcfmt", &stanza(descriptor), n_events, move || events.clone(), native).side(Side::Plain, by_std)
}
