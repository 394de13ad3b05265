//! Stepping over the events of a stream, beside code that knows nothing but 64-bit streams.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn step(criterion: &mut Criterion) {
    common::phase(criterion, "step");
}

criterion_group!(benches, step);
criterion_main!(benches);
