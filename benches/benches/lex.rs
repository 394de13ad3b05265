//! Lexing and parsing of 1000 templates, beside a hand-written scanner that finds the words only.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tfbc_benches::{scan, templates};
use tfbc_grammar::{Arena, Source, SourceId, trcfmt};

fn lex(criterion: &mut Criterion) {
    let text = templates(1000);
    let source = Source::new("load.trcfmt", text.as_str());
    let arena = Arena::new();
    let (_, diagnostics) = trcfmt::parse(&arena, SourceId(0), &source);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");

    let mut group = criterion.benchmark_group("lex");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("native", |bencher| bencher.iter(|| black_box(scan(black_box(text.as_bytes())))));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| {
            let arena = Arena::new();
            black_box(trcfmt::parse(&arena, SourceId(0), black_box(&source)));
        });
    });
    group.finish();
}

criterion_group!(benches, lex);
criterion_main!(benches);
