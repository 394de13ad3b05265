//! Opening and verifying a blob of 1000 templates, beside reading its bytes once.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tfbc_benches::{blob, sum, templates};
use tfbc_vm::Program;

fn load(criterion: &mut Criterion) {
    let blob = blob("load.trcfmt", &templates(1000));
    assert!(Program::open(&blob).is_ok());

    let mut group = criterion.benchmark_group("load");
    group.throughput(Throughput::Bytes(blob.len() as u64));
    group.bench_function("native", |bencher| bencher.iter(|| sum(black_box(&blob))));
    group.bench_function("open", |bencher| bencher.iter(|| black_box(Program::open(black_box(&blob)).is_ok())));
    group.finish();
}

criterion_group!(benches, load);
criterion_main!(benches);
