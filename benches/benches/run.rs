//! Formatting of the four shapes and of mixes over 4, 200 and 4096 templates, beside the hand-written formatter.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn run(criterion: &mut Criterion) {
    common::phase(criterion, "run");
}

criterion_group!(benches, run);
criterion_main!(benches);
