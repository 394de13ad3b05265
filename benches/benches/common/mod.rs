//! All cases of a phase, each side in the same run.

use criterion::{Criterion, Throughput};
use tfbc_benches::cases;

const EVENTS: usize = 20_000;

/// Measures every side of every case.
pub fn phase(criterion: &mut Criterion, name: &str) {
    for measure in cases::phase(name) {
        let mut case = measure.case(EVENTS);
        let mut group = criterion.benchmark_group(format!("{name}/{}", measure.name));
        group.throughput(Throughput::Elements(case.units));
        for side in case.sides() {
            group.bench_function(side.name(), |bencher| bencher.iter(|| case.pass(side)));
        }
        group.finish();
    }
}
