//! Whole lines of a report (step, columns and text), compared with a report written by hand; and reports of realistic
//! traces.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn line(criterion: &mut Criterion) {
    common::phase(criterion, "line");
    common::phase(criterion, "report");
}

criterion_group!(benches, line);
criterion_main!(benches);
