//! Decoding of QNX user events through datakeys, compared with a decoder written by hand.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn datakeys(criterion: &mut Criterion) {
    common::phase(criterion, "datakeys");
}

criterion_group!(benches, datakeys);
criterion_main!(benches);
