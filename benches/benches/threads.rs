//! Reports with one and with two threads, from memory to memory and from file to file. The lower limit for a file is
//! measured too: writing the finished text.

use std::fs::{self, File};
use std::io::{Write, sink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tfbc_benches::{Pick, ReportRun, STREAM64_MAGIC, mix_buffers, templates};

const EVENTS: usize = 500_000;
const PICK: Pick = Pick::Mix(200);
/// Bytes of text that are written at once.
const PIECE: usize = 512 << 10;

/// Input and output of a report, removed at the end.
struct ReportFiles {
    input: PathBuf,
    output: PathBuf,
}

impl ReportFiles {
    fn new(stream: &[u8]) -> Self {
        let path = |name: &str| std::env::temp_dir().join(format!("tfbc-threads-{}.{name}", std::process::id()));
        let files = ReportFiles { input: path("trc"), output: path("txt") };
        fs::write(&files.input, stream).expect("temporary files can be written");
        files
    }

    fn write(&self, text: &[u8]) -> usize {
        let mut file = File::create(&self.output).expect("temporary files can be written");
        text.chunks(PIECE).for_each(|piece| file.write_all(piece).expect("there is room for the text"));
        text.len()
    }

    fn report(&self, run: &mut ReportRun) -> usize {
        run.run_file(&self.input, &mut File::create(&self.output).expect("temporary files can be written"))
    }
}

impl Drop for ReportFiles {
    fn drop(&mut self) {
        for path in [&self.input, &self.output] {
            let gone = fs::remove_file(path);
            assert!(gone.is_ok() || !Path::exists(path));
        }
    }
}

fn threads(criterion: &mut Criterion) {
    let events = mix_buffers(PICK, EVENTS, 1).flatten();
    let stream: &'static [u8] = STREAM64_MAGIC.into_iter().chain(events).collect::<Vec<u8>>().leak();
    let files = ReportFiles::new(stream);
    let mut runs = [1, 2].map(|n_threads| {
        let mut run = ReportRun::new(&templates(PICK.n_templates()));
        run.set_threads(n_threads);
        (n_threads, run)
    });
    let mut text = Vec::new();
    runs[0].1.run(stream, &mut text);
    for (_, run) in &mut runs {
        files.report(run);
        assert!(fs::read(&files.output).expect("it was written") == text, "the same bytes for every number of threads");
    }

    let mut group = criterion.benchmark_group("threads");
    group.throughput(Throughput::Elements(EVENTS as u64)).sample_size(10).measurement_time(Duration::from_secs(10));
    for (n_threads, run) in &mut runs {
        group.bench_function(format!("memory/{n_threads}"), |bencher| bencher.iter(|| run.run(stream, &mut sink())));
        group.bench_function(format!("file/{n_threads}"), |bencher| bencher.iter(|| files.report(run)));
    }
    group.bench_function("write the finished text", |bencher| bencher.iter(|| files.write(&text)));
    group.finish();
}

criterion_group!(benches, threads);
criterion_main!(benches);
