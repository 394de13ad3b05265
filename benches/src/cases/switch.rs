//! Benchmarks of a switch between texts, with a number: `op=NAME val=N`, by dense and sparse numbers and by text.
//!
//! The case `none` has one fixed name; subtracting it gives the cost of the switch alone. By hand, a dense switch is a
//! table, and a sparse one a hash table.

use super::case::{BenchCase, Measure};
use super::numbers::{events, stanza};
use super::run::formatted;
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

/// Hand-written name lookup, by the word itself or its hash.
struct NameLookup {
    multiplier: u64,
    shift: u32,
    /// Word, name, and bytes of the name.
    places: Vec<(u64, [u8; 16], usize)>,
}

impl NameLookup {
    fn new(keys: Keys) -> Self {
        let size = (keys.n() * 4).next_power_of_two();
        let shift = 64 - size.trailing_zeros();
        let mut multiplier = 0x9E37_79B9_7F4A_7C15u64;
        loop {
            if let Some(places) = Self::places(keys, multiplier, shift, size) {
                return Self { multiplier, shift, places };
            }
            multiplier = multiplier.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(2) | 1;
        }
    }

    /// Hash table, if every collision fits into the neighbouring slot.
    fn places(keys: Keys, multiplier: u64, shift: u32, size: u64) -> Option<Vec<(u64, [u8; 16], usize)>> {
        let mut places = vec![(u64::MAX, [0; 16], 0); size as usize + 8];
        for index in 0..keys.n() {
            let (word, name) = (keys.word(index), name(index));
            let hashed = if let Keys::Dense(_) = keys { word } else { word.wrapping_mul(multiplier) >> shift };
            let at = (hashed as usize..hashed as usize + 8).find(|at| places[*at].2 == 0)?;
            let mut bytes = [0; 16];
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            places[at] = (word, bytes, name.len());
        }
        Some(places)
    }

    #[inline(always)]
    fn dense(&self, word: u64) -> Option<(&[u8; 16], usize)> {
        self.places.get(word as usize).map(|(_, name, len)| (name, *len))
    }

    #[inline(always)]
    fn hashed(&self, word: u64) -> Option<(&[u8; 16], usize)> {
        let first = (word.wrapping_mul(self.multiplier) >> self.shift) as usize;
        let run = self.places.get(first..)?;
        run.iter().take_while(|(.., len)| *len > 0).find(|(key, ..)| *key == word).map(|(_, name, len)| (name, *len))
    }
}

fn case(keys: Keys, n_events: usize) -> BenchCase {
    let mut rng = Rng::new(1);
    let event = |_| {
        let random = rng.next_u64();
        let value = random >> 32 >> (random & 31);
        [0x8000_0010_1000_0000, keys.word(u64::from(rng.below(keys.n() as u32))), value].map(u64::to_be_bytes).concat()
    };
    let events = events((0..n_events).flat_map(event).collect(), 24);
    let names = NameLookup::new(keys);
    let native = move |text: &mut NativeText, event: &Event<'static>| {
        let [_, word, value] = *event.bytes.as_chunks::<8>().0 else { return None };
        let (word, value) = (u64::from_be_bytes(word), u64::from_be_bytes(value));
        text.line(|line| {
            line.literal(b"op=");
            let found = match keys {
                Keys::None => Some((b"OPERATION_0\0\0\0\0\0", 11)),
                Keys::Dense(_) => names.dense(word),
                Keys::Sparse(_) | Keys::Text(_) => names.hashed(word),
            };
            if let Some((name, len)) = found {
                line.put(name, len);
            }
            line.literal(b" val=");
            line.decimal(value as u32);
            line.literal(b"\n");
        });
        Some(())
    };
    formatted("load.trcfmt", &stanza(&keys.descriptor()), n_events, move || events.clone(), native)
}
