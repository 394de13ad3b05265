//! Decoding of QNX user events through datakeys, beside the hand-written decoder.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn datakeys(criterion: &mut Criterion) {
    common::phase(criterion, "datakeys");
}

criterion_group!(benches, datakeys);
criterion_main!(benches);
