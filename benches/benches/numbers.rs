//! Numbers, flags and dumps through templates, compared with code written by hand and `std::fmt`.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn numbers(criterion: &mut Criterion) {
    common::phase(criterion, "numbers");
}

criterion_group!(benches, numbers);
criterion_main!(benches);
