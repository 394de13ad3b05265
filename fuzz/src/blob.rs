//! Blob bytes: any, with the checksum put right, and valid ones with changes.

use crate::{printing, seed_of};
use std::sync::LazyLock;
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_snapshots::generate::datakey::definitions;
use tfbc_snapshots::generate::{Rng, template};
use tfbc_vm::{Program, seal};

/// Valid blobs: of generated format files, then of generated event definitions.
static VALID: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let compiled = |name: &str, file: &str| {
        let mut sources = Sources::new();
        sources.add(Source::new(name, file));
        compile(&sources, &Options::default()).blob
    };
    let templates =
        (0..24).filter_map(|seed| compiled("a.trcfmt", &template(&mut Rng::new(seed), 1 + seed as usize).source));
    let files = (0..8).flat_map(|seed| definitions(&mut Rng::new(seed)).files);
    templates.chain(files.filter_map(|file| compiled("a.xml", &file))).collect()
});

/// Bytes of one change.
const CHANGE: usize = 4;
/// Bytes of an instruction.
const INSTR: usize = 32;

/// Opens what the bytes are or make: a blob is refused, or it runs within limits, in the fast loop as in its twin, opened
/// whole as opened lazily.
///
/// The first byte says what the others are: a blob, one whose checksum is to be put right, or changes to a valid one,
/// which the second byte chooses.
pub fn blob(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    match (mode % 4, rest.split_first()) {
        (0, _) => runs_or_is_refused(rest),
        (1, _) => {
            let mut bytes = rest.to_vec();
            seal(&mut bytes);
            runs_or_is_refused(&bytes);
        }
        (2.., Some((which, changes))) => {
            let mut bytes = VALID[usize::from(*which) % VALID.len()].clone();
            changes.as_chunks::<CHANGE>().0.iter().for_each(|change| apply(&mut bytes, *change));
            seal(&mut bytes);
            runs_or_is_refused(&bytes);
        }
        _ => {}
    }
}

/// Changes a blob: a byte, a bit, a number, or an instruction that is put in the place of another.
fn apply(bytes: &mut [u8], [low, high, how, value]: [u8; CHANGE]) {
    let at = usize::from(u16::from_le_bytes([low, high])) % bytes.len();
    match how % 5 {
        0 => bytes[at] = value,
        1 => bytes[at] ^= 1 << (value & 7),
        2 => bytes[at] = bytes[at].wrapping_add(value),
        3 => {
            let number = u32::from(value) << (8 * (how >> 6 & 3));
            if let Some(word) = bytes.get_mut(at & !3..).and_then(<[u8]>::first_chunk_mut) {
                *word = number.to_le_bytes();
            }
        }
        _ => {
            let (from, to) = (at & !7, (at & !7) + INSTR * (usize::from(value) + 1));
            if to + INSTR <= bytes.len() {
                bytes.copy_within(from..from + INSTR, to);
            }
        }
    }
}

fn runs_or_is_refused(bytes: &[u8]) {
    let seed = seed_of(bytes);
    let verified = Program::open(bytes);
    if let Ok(program) = &verified {
        printing::run(program, &mut Rng::new(seed));
    }
    let lazy = Program::open_lazily(bytes);
    assert!(lazy.is_ok() || verified.is_err(), "what is verified as a whole is opened lazily");
    if let Ok(lazy) = &lazy {
        printing::run_lazily(lazy, verified.as_ref().ok(), &mut Rng::new(seed));
    }
}
