//! Decoding of QNX user events through datakeys, each event alone and a mix of all, beside the hand-written decoder.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tfbc_benches::{Engine, NativeText, RecordLoad, UserEvent, assert_same_text, blob, definitions, run_native};

const EVENTS: usize = 20_000;

fn datakeys(criterion: &mut Criterion) {
    let blob = blob("load.xml", &definitions());
    for only in UserEvent::SHARES.map(|(event, _)| Some(event)).into_iter().chain([None]) {
        let load = RecordLoad::new(only, EVENTS);
        let (mut engine, mut checked) = (Engine::new(&blob), Engine::checked(&blob));
        assert_same_text(&mut engine, load.events(), NativeText::record);
        assert_same_text(&mut checked, load.events(), NativeText::record);

        let mut group = criterion.benchmark_group(format!("datakeys/{}", only.map_or("mix", UserEvent::name)));
        group.throughput(Throughput::Elements(EVENTS as u64));
        let mut text = NativeText::new();
        group.bench_function("native", |bencher| {
            bencher.iter(|| black_box(run_native(black_box(&load).events(), &mut text, NativeText::record)));
        });
        group.bench_function("engine", |bencher| bencher.iter(|| black_box(engine.run(black_box(&load).events()))));
        group.bench_function("checked", |bencher| bencher.iter(|| black_box(checked.run(black_box(&load).events()))));
        group.finish();
    }
}

criterion_group!(benches, datakeys);
criterion_main!(benches);
