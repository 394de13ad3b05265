//! Whole lines of a report: step, columns and text, beside a report written by hand.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn line(criterion: &mut Criterion) {
    common::phase(criterion, "line");
}

criterion_group!(benches, line);
criterion_main!(benches);
