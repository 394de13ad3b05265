//! Switches of 16 and 256 cases, dense, sparse and by text, compared with tables written by hand.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn switch(criterion: &mut Criterion) {
    common::phase(criterion, "switch");
}

criterion_group!(benches, switch);
criterion_main!(benches);
