//! Stepping over the events of a stream, compared with code for 64-bit streams only.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn step(criterion: &mut Criterion) {
    common::phase(criterion, "step");
}

criterion_group!(benches, step);
criterion_main!(benches);
