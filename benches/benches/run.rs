//! Formatting of the four shapes and of mixes over 4, 200 and 4096 templates, beside the hand-written formatter.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tfbc_benches::{Engine, Load, NativeText, Pick, Shape, assert_same_text, blob, run_native, templates};

const EVENTS: usize = 20_000;

fn run(criterion: &mut Criterion) {
    let loads = [
        ("disk-read", Pick::Only(Shape::DiskRead)),
        ("ioctl", Pick::Only(Shape::Ioctl)),
        ("wakeup", Pick::Only(Shape::Wakeup)),
        ("dump", Pick::Only(Shape::Dump)),
        ("mix4", Pick::Mix(4)),
        ("mix200", Pick::Mix(200)),
        ("mix4096", Pick::Mix(4096)),
    ];
    for (name, pick) in loads {
        let blob = blob("load.trcfmt", &templates(pick.n_templates()));
        let load = Load::new(pick, EVENTS);
        let (mut engine, mut checked) = (Engine::new(&blob), Engine::checked(&blob));
        assert_same_text(&mut engine, load.events(), NativeText::event);
        assert_same_text(&mut checked, load.events(), NativeText::event);

        let mut group = criterion.benchmark_group(format!("run/{name}"));
        group.throughput(Throughput::Elements(EVENTS as u64));
        let mut text = NativeText::new();
        group.bench_function("native", |bencher| {
            bencher.iter(|| black_box(run_native(black_box(&load).events(), &mut text, NativeText::event)));
        });
        group.bench_function("engine", |bencher| bencher.iter(|| black_box(engine.run(black_box(&load).events()))));
        group.bench_function("checked", |bencher| bencher.iter(|| black_box(checked.run(black_box(&load).events()))));
        group.finish();
    }
}

criterion_group!(benches, run);
criterion_main!(benches);
