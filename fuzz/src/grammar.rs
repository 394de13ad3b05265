//! Fuzz target for generated templates and event definitions that are valid or nearly so.

use crate::oracle;
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_snapshots::generate::datakey::definitions;
use tfbc_snapshots::generate::{Rng, template};
use tfbc_vm::Program;

/// Checks that a generated format file compiles, verifies and runs, and that generated event definitions do if they
/// compile.
pub fn grammar(data: &[u8]) {
    let mut rng = Rng::of_choices(0, data);
    let mut sources = Sources::new();
    let size = rng.below(64);
    let is_sound = size > 0;
    if is_sound {
        sources.add(Source::new("generated.trcfmt", template(&mut rng, size).source));
    } else {
        for file in definitions(&mut rng).files {
            sources.add(Source::new("generated.xml", file));
        }
    }
    let compiled = compile(&sources, &Options::default());
    assert!(compiled.blob.is_some() || !is_sound, "a generated template compiles: {:?}", compiled.diagnostics);
    if let Some(blob) = compiled.blob {
        oracle::check(&Program::open(&blob).expect("what compiles verifies"), &blob, &mut rng);
    }
}
