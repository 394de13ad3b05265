//! Compiling 1000 templates from source to blob, beside a hand-written scan into records.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tfbc_benches::{templates, translate};
use tfbc_compiler::Options;
use tfbc_grammar::{Source, Sources};

fn compile(criterion: &mut Criterion) {
    let text = templates(1000);
    let mut sources = Sources::new();
    sources.add(Source::new("load.trcfmt", text.as_str()));
    let options = Options::default();
    assert!(tfbc_compiler::compile(&sources, &options).blob.is_some());

    let mut group = criterion.benchmark_group("compile");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("native", |bencher| bencher.iter(|| black_box(translate(black_box(text.as_bytes())))));
    group.bench_function("compile", |bencher| {
        bencher.iter(|| black_box(tfbc_compiler::compile(black_box(&sources), &options)));
    });
    group.finish();
}

criterion_group!(benches, compile);
criterion_main!(benches);
