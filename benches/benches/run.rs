//! Formatting of the four shapes and of mixes of 4, 200 and 4096 templates, compared with a formatter written by hand.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn run(criterion: &mut Criterion) {
    common::phase(criterion, "run");
}

criterion_group!(benches, run);
criterion_main!(benches);
