//! Compiling 1000 templates from source to blob, compared with a scan into records.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn compile(criterion: &mut Criterion) {
    common::phase(criterion, "compile");
}

criterion_group!(benches, compile);
criterion_main!(benches);
