//! Format files: 1000 templates as text, compiled, and loaded.

use super::{Case, Measure, Side};
use crate::{blob, scan, sum, templates, translate};
use tfbc_compiler::Options;
use tfbc_grammar::{Arena, Source, SourceId, Sources, trcfmt};
use tfbc_vm::Program;

const N_TEMPLATES: usize = 1000;
const NAME: &str = "load.trcfmt";

/// Lexing and parsing, beside a scanner that finds the words only.
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
        Case::new(N_TEMPLATES).side(Side::Engine, parse).side(Side::Native, move || scan(text.as_bytes()).len())
    };
    vec![Measure::new("parse", case)]
}

/// From source to blob, beside a scan into records of 32 bytes.
pub(super) fn compile() -> Vec<Measure> {
    let case = |_| {
        let text = templates(N_TEMPLATES);
        let mut sources = Sources::new();
        sources.add(Source::new(NAME, text.as_str()));
        let compile = move || {
            let compiled = tfbc_compiler::compile(&sources, &Options::default());
            compiled.blob.expect("the load compiles").len()
        };
        Case::new(N_TEMPLATES).side(Side::Engine, compile).side(Side::Native, move || translate(text.as_bytes()).len())
    };
    vec![Measure::new("templates", case)]
}

/// Opening a blob and verifying all of it, beside reading its bytes once.
pub(super) fn load() -> Vec<Measure> {
    let case = |_| {
        let blob: &'static [u8] = blob(NAME, &templates(N_TEMPLATES)).leak();
        let open = move || Program::open(blob).map_or(0, |program| program.hooks().count());
        Case::new(N_TEMPLATES).side(Side::Engine, open).side(Side::Native, move || sum(blob) as usize)
    };
    vec![Measure::new("verified", case)]
}
