//! Opening a blob of 1000 templates, verified or lazily, compared with reading its bytes once.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn load(criterion: &mut Criterion) {
    common::phase(criterion, "load");
}

criterion_group!(benches, load);
criterion_main!(benches);
