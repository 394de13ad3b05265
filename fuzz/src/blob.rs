//! Fuzz target for blobs: arbitrary bytes, generated programs, and edited compiled programs.

use crate::oracle;
use crate::programs::{ProgramDraft, edit, generate};
use std::sync::LazyLock;
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_snapshots::generate::datakey::definitions;
use tfbc_snapshots::generate::{Rng, template};
use tfbc_vm::{Program, write_checksum};

/// Maximum number of edits of a program.
const EDITS: usize = 4;

/// Size above which a blob takes too long.
const LARGE: usize = 6000;

/// Compiled programs of one hook or record.
static COMPILED: LazyLock<Vec<ProgramDraft>> = LazyLock::new(|| {
    let compiled = |name: &str, file: &str| {
        let mut sources = Sources::new();
        sources.add(Source::new(name, file));
        compile(&sources, &Options::default()).blob
    };
    let templates =
        (0..24).filter_map(|seed| compiled("a.trcfmt", &template(&mut Rng::new(seed), 1 + seed as usize).source));
    let files = (0..8).flat_map(|seed| definitions(&mut Rng::new(seed)).files);
    let blobs = templates.chain(files.filter_map(|file| compiled("a.xml", &file)));
    let own = |blob: Vec<u8>| {
        let program = ProgramDraft::read(&blob);
        // Built-in stanzas are part of every blob.
        let hooks = program.hooks.iter().filter(|hook| hook.flags & 2 == 0);
        hooks.map(|hook| program.with_hooks(&[*hook]).compact()).collect::<Vec<_>>()
    };
    blobs.flat_map(own).filter(|program| program.write().len() < LARGE).collect()
});

/// Opens a blob. It is refused, or the text of its programs satisfies `oracle.rs`.
///
/// The first byte chooses the meaning of the others: a blob, one that needs a checksum, a generated program, or edits
/// of a compiled one. The second chooses the events, and the next two seed all other choices.
pub fn blob(data: &[u8]) {
    let Some((&[kind, events, low, high], choices)) = data.split_first_chunk() else { return };
    let events = &mut Rng::new(events.into());
    match kind % 16 {
        0 => open(choices, events),
        1 => {
            let mut bytes = choices.to_vec();
            write_checksum(&mut bytes);
            open(&bytes, events);
        }
        2.. => {
            let rng = &mut Rng::of_choices(u16::from_le_bytes([low, high]).into(), choices);
            let (program, refused) = edited(kind, rng);
            open(&program, events);
            if let Some(refused) = refused.filter(|_| events.below(8) == 0) {
                oracle::check_refused(&refused, events);
            }
        }
    }
}

/// Edited program that the verifier accepts, and the last one that it refused.
fn edited(kind: u8, rng: &mut Rng) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut program = if kind % 16 < 4 { rng.pick(&COMPILED).clone() } else { generate(rng) };
    let mut blob = program.write();
    let mut refused = None;
    for _ in 0..rng.below(EDITS) {
        let mut next = program.clone();
        edit(&mut next, rng);
        let bytes = next.write();
        match Program::open(&bytes) {
            Ok(_) => (program, blob) = (next, bytes),
            Err(_) => refused = Some(bytes),
        }
    }
    (blob, refused)
}

fn open(blob: &[u8], events: &mut Rng) {
    match Program::open(blob) {
        Ok(program) => oracle::check(&program, blob, events),
        Err(_) => oracle::check_refused(blob, events),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfbc_vm::Op;

    /// Inputs per kind.
    const CASES: u64 = 500;

    #[test]
    fn most_programs_keep_the_rules() {
        // Kinds 2 and 6: edited compiled programs, and generated ones.
        for (kind, at_least) in [(2, CASES), (6, CASES * 7 / 10)] {
            let accepted = |seed: &u64| Program::open(&edited(kind, &mut Rng::new(*seed)).0).is_ok();
            let n_accepted = (0..CASES).filter(accepted).count() as u64;
            assert!(n_accepted >= at_least, "the verifier accepts {n_accepted} of {CASES} programs of kind {kind}");
        }
    }

    #[test]
    fn every_instruction_is_run() {
        let mut ops: Vec<u8> = Vec::new();
        for seed in 0..CASES {
            let (blob, _) = edited(6, &mut Rng::new(seed));
            if Program::open(&blob).is_ok() {
                ops.extend(
                    ProgramDraft::read(&blob).routines.iter().flat_map(|routine| &routine.code).map(|instr| instr.op),
                );
            }
        }
        let missing: Vec<_> = Op::ALL.iter().filter(|op| !ops.contains(&(**op as u8))).collect();
        assert!(missing.is_empty(), "no accepted program has {missing:?}");
    }
}
