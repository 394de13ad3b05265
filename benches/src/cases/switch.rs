//! Benchmarks of a switch between texts, with a number: `op=NAME val=N`, by dense and sparse numbers and by text.
//!
//! The case `none` has one fixed name; subtracting it gives the cost of the switch alone. By hand, a dense switch is a
//! table, and a sparse one a perfect hash.

use super::case::{BenchCase, Measure};
use super::numbers::{events, stanza};
use super::run::formatted;
use crate::native_switch::NameLookup;
use crate::{NativeText, Rng};
use tfbc_vm::Event;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// One fixed text.
    None,
    /// Numbers 0, 1, 2 and so on.
    Dense(u64),
    /// This many 32-bit numbers.
    Sparse(u64),
    /// This many texts of up to 8 bytes.
    Text(u64),
}

pub(super) fn measures() -> Vec<Measure> {
    let all = [
        ("none", Keys::None),
        ("dense16", Keys::Dense(16)),
        ("dense256", Keys::Dense(256)),
        ("sparse16", Keys::Sparse(16)),
        ("sparse256", Keys::Sparse(256)),
        ("text16", Keys::Text(16)),
    ];
    all.into_iter().map(|(name, keys)| Measure::new(name, move |n_events| case(keys, n_events))).collect()
}

impl Keys {
    fn n(self) -> u64 {
        match self {
            Keys::None => 1,
            Keys::Dense(n) | Keys::Sparse(n) | Keys::Text(n) => n,
        }
    }

    /// Data word that selects a case.
    fn word(self, index: u64) -> u64 {
        match self {
            Keys::None | Keys::Dense(_) => index,
            Keys::Sparse(_) => (index + 1).wrapping_mul(0x9E37_79B1) & 0xFFFF_FFFF,
            Keys::Text(_) => u64::from_be_bytes(*text(index).as_bytes().first_chunk().expect("eight bytes")),
        }
    }

    fn descriptor(self) -> String {
        let cases = |key: &dyn Fn(u64) -> String| -> String {
            (0..self.n()).map(|index| format!(", {} \"{}\"", key(index), name(index))).collect()
        };
        match self {
            Keys::None => format!("\"op={} val=\" $D2%U4", name(0)),
            Keys::Dense(_) | Keys::Sparse(_) => {
                format!("\"op=\" $D1%UW{} \" val=\" $D2%U4", cases(&|index| self.word(index).to_string()))
            }
            Keys::Text(_) => {
                format!(
                    "\"op=\" W1 A8{} \" val=\" $D2%U4",
                    cases(&|index| format!("\"{}\"", text(index).trim_end_matches('\0')))
                )
            }
        }
    }
}

/// Text that a case prints.
fn name(index: u64) -> String {
    format!("OPERATION_{index}")
}

/// Text that selects a case, padded with NUL to eight bytes.
fn text(index: u64) -> String {
    format!("{:\0<8}", format!("{}{index}", ["rd", "wr", "ctl", "poll"][index as usize % 4]))
}

fn case(keys: Keys, n_events: usize) -> BenchCase {
    let mut rng = Rng::new(1);
    let event = |_| {
        let random = rng.next_u64();
        let value = random >> 32 >> (random & 31);
        [0x8000_0010_1000_0000, keys.word(u64::from(rng.below(keys.n() as u32))), value].map(u64::to_be_bytes).concat()
    };
    let events = events((0..n_events).flat_map(event).collect(), 24);
    let rows: Vec<(u64, String)> = (0..keys.n()).map(|index| (keys.word(index), name(index))).collect();
    let names = match keys {
        Keys::None => NameLookup::fixed(&name(0)),
        Keys::Dense(_) => NameLookup::dense(&rows),
        Keys::Sparse(_) | Keys::Text(_) => NameLookup::hashed(&rows),
    };
    let native = move |text: &mut NativeText, event: &Event<'static>| {
        let [_, word, value] = *event.bytes.as_chunks::<8>().0 else { return None };
        text.named(&names, u64::from_be_bytes(word), u64::from_be_bytes(value) as u32);
        Some(())
    };
    formatted("load.trcfmt", &stanza(&keys.descriptor()), n_events, move || events.clone(), native)
}
