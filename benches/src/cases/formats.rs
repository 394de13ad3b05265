//! Benchmarks of format files: 1000 templates as text, compiled, and loaded.

use super::case::{BenchCase, Measure, Side};
use crate::{blob, scan, sum, templates, translate};
use tfbc_compiler::Options;
use tfbc_grammar::{Arena, Source, SourceId, Sources, trcfmt};
use tfbc_vm::{BlobError, Program};

const N_TEMPLATES: usize = 1000;
const NAME: &str = "load.trcfmt";

/// Lexing and parsing, compared with a scanner that only finds words.
pub(super) fn lex() -> Vec<Measure> {
    let case = |_| {
        let text = templates(N_TEMPLATES);
        let source = Source::new(NAME, text.as_str());
        let parse = move || {
            let arena = Arena::new();
            let (tree, diagnostics) = trcfmt::parse(&arena, SourceId(0), &source);
            assert!(diagnostics.is_empty(), "{diagnostics:?}");
            std::hint::black_box(tree);
            N_TEMPLATES
        };
        BenchCase::new(N_TEMPLATES).side(Side::Engine, parse).side(Side::Native, move || scan(text.as_bytes()).len())
    };
    vec![Measure::new("parse", case)]
}

/// Compilation, compared with a scan into 32-byte records.
pub(super) fn compile() -> Vec<Measure> {
    let case = |_| {
        let text = templates(N_TEMPLATES);
        let mut sources = Sources::new();
        sources.add(Source::new(NAME, text.as_str()));
        let compile = move || {
            let compiled = tfbc_compiler::compile(&sources, &Options::default());
            compiled.blob.expect("the load compiles").len()
        };
        BenchCase::new(N_TEMPLATES)
            .side(Side::Engine, compile)
            .side(Side::Native, move || translate(text.as_bytes()).len())
    };
    vec![Measure::new("templates", case)]
}

/// Opening a blob, fully, partly or lazily verified, compared with reading its bytes once.
pub(super) fn load() -> Vec<Measure> {
    let measure = |name, open: fn(&'static [u8]) -> Result<Program<'static>, BlobError>| {
        Measure::new(name, move |_| {
            let blob: &'static [u8] = blob(NAME, &templates(N_TEMPLATES)).leak();
            let open = move || usize::from(std::hint::black_box(open(blob)).is_ok());
            BenchCase::new(N_TEMPLATES).side(Side::Engine, open).side(Side::Native, move || sum(blob) as usize)
        })
    };
    vec![
        measure("whole", Program::open),
        measure("verified", Program::open_for_text),
        measure("lazily", Program::open_lazily),
    ]
}
