//! Lexing and parsing of 1000 templates, compared with a scanner that only finds the words.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn lex(criterion: &mut Criterion) {
    common::phase(criterion, "lex");
}

criterion_group!(benches, lex);
criterion_main!(benches);
