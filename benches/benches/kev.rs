//! QNX logs in the layout of traceprinter 1.02, compared with a printer written by hand.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn kev(criterion: &mut Criterion) {
    common::phase(criterion, "kev");
}

criterion_group!(benches, kev);
criterion_main!(benches);
