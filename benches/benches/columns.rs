//! The report's columns, beside code for the default layout and `std::fmt`.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn columns(criterion: &mut Criterion) {
    common::phase(criterion, "columns");
}

criterion_group!(benches, columns);
criterion_main!(benches);
