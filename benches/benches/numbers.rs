//! Numbers, flags and dumps through templates, beside hand-written code and `std::fmt`.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn numbers(criterion: &mut Criterion) {
    common::phase(criterion, "numbers");
}

criterion_group!(benches, numbers);
criterion_main!(benches);
