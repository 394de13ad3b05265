//! Fast paths print what the plain definition prints: numbers, flags and dumps of compiled templates, in the fast and
//! in the checked loop, compared with `std::fmt`.

use tfbc_benches::{Engine, TraceHook, Width, blob, program};
use tfbc_vm::Event;

/// Powers of two and ten with their neighbours and negatives, and numbers of every length.
fn numbers() -> impl Iterator<Item = u64> {
    let powers = (0..64).map(|k| 1u64 << k).chain((0..20).map(|k| 10u64.pow(k)));
    let near = powers.flat_map(|n| [n - 1, n, n + 1]).flat_map(|n| [n, n.wrapping_neg(), !n]);
    near.chain((0..3000u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (k % 64))).chain([u64::MAX, 0])
}

/// Checks one line per event, printed by the stanza of hook 100.
fn check(descriptor: &str, events: impl Iterator<Item = (TraceHook, String)>) {
    let blob = blob("load.trcfmt", &format!("100 1.0 L=KERN \"@T\" {descriptor}\n"));
    let program = program(&blob);
    let mut engines = [Engine::new(&program), Engine::checked(&program)];
    for (hook, expected) in events {
        let bytes = hook.template_bytes(true);
        let wide = hook.width == Width::W64;
        for engine in &mut engines {
            let event = Event { bytes: &bytes, wide, record: None, time_ns: 0, offset: 0 };
            engine.run([event].into_iter());
            let line = String::from_utf8_lossy(engine.text());
            assert_eq!(line.trim_end(), expected.trim_end(), "{descriptor}, {bytes:02X?}");
        }
    }
}

/// Checks how a data word is printed, by its code, after a text and alone.
fn check_words(code: &str, values: impl Iterator<Item = u64> + Clone, plain: impl Fn(u64) -> String) {
    let event = |value| TraceHook::words(0x1000, 0, &[value, !value]);
    check(&format!("$D1%{code}"), values.clone().map(|value| (event(value), plain(value))));
    check(
        &format!("\"a=\" $D1%{code} \"b=\" $D2%{code} \"end\""),
        values.map(|value| (event(value), format!("a={} b={} end", plain(value), plain(!value)))),
    );
}

fn low(value: u64, bytes: usize) -> u64 {
    value & (u64::MAX >> (64 - 8 * bytes))
}

fn signed(value: u64, bytes: usize) -> i64 {
    (value << (64 - 8 * bytes)) as i64 >> (64 - 8 * bytes)
}

#[test]
fn every_16_bit_number_in_every_base() {
    let all = 0..=u64::from(u16::MAX);
    check_words("U2", all.clone(), |value| low(value, 2).to_string());
    check_words("D2", all.clone(), |value| signed(value, 2).to_string());
    check_words("X2", all.clone(), |value| format!("{:04X}", low(value, 2)));
    check_words("o2", all.clone(), |value| format!("{:o}", low(value, 2)));
    check_words("B2", all, |value| format!("{:016b}", low(value, 2)));
}

#[test]
fn numbers_of_every_size() {
    let values: Vec<u64> = numbers().collect();
    let values = || values.iter().copied();
    for bytes in [1, 2, 4, 8] {
        check_words(&format!("U{bytes}"), values(), |value| low(value, bytes).to_string());
        check_words(&format!("D{bytes}"), values(), |value| signed(value, bytes).to_string());
        check_words(&format!("o{bytes}"), values(), |value| format!("{:o}", low(value, bytes)));
    }
    for bytes in 1..=8 {
        check_words(&format!("X{bytes}"), values(), |value| {
            format!("{:0width$X}", low(value, bytes), width = 2 * bytes)
        });
        check_words(&format!("B{bytes}"), values(), |value| {
            format!("{:0width$b}", low(value, bytes), width = 8 * bytes)
        });
    }
}

/// A list of flags: bit `i` prints `<i>`.
fn flags(n: u32) -> String {
    (0..n).map(|bit| format!(", {:X} \"<{bit}>\"", 1u64 << bit)).collect()
}

fn plain_flags(value: u64, n: u32) -> String {
    (0..n).filter(|bit| value >> bit & 1 == 1).map(|bit| format!("<{bit}>")).collect()
}

#[test]
fn every_set_of_16_flags() {
    let events = || (0..=u64::from(u16::MAX)).map(|value| (TraceHook::words(0x1000, 0, &[value]), value));
    for n in [1, 3, 4, 5, 8, 16] {
        check(
            &format!("\"set=\" BITFLAGS $D1{} \"|\" \"end\"", flags(n)),
            events().map(|(hook, value)| {
                // The text after the list is printed if the last flag is not set.
                let none = if value >> (n - 1) & 1 == 0 { "|" } else { "" };
                (hook, format!("set={}{none}end", plain_flags(value, n)))
            }),
        );
    }
}

#[test]
fn flags_of_32_bits() {
    check(
        &format!("BITFLAGS $D1{}", flags(32)),
        numbers().map(|value| (TraceHook::words(0x1000, 0, &[value]), plain_flags(value, 32))),
    );
}

#[test]
fn dumps_of_every_length() {
    let bytes: Vec<u8> = (0..4200u32).map(|i| (i.wrapping_mul(0x9E37_79B9) >> 13) as u8).collect();
    let events = |blank: &'static str| {
        let bytes = &bytes;
        (0..=260).chain([511, 512, 513, 4095, 4096]).map(move |len| {
            let shown: String = bytes[..len].iter().map(|byte| format!("{byte:02X}{blank}")).collect();
            (
                TraceHook::generic(0x1000, 0, 1, &bytes[..len]),
                format!("data={}{shown}", if len == 0 { "" } else { blank }),
            )
        })
    };
    check("\"data=\" W2 LOOP $HL { X0 }", events(""));
    check("\"data= \" W2 LOOP $HL { X1 }", events(" "));
}
