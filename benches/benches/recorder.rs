//! Cost of a hook for the traced program, compared with reading a clock, a copy, and a text logger.
//!
//! Events are recorded to a circular buffer, so that the disk is not measured. The channel is on in all cases but
//! `off`.

use criterion::{BenchmarkId, Criterion};
use std::cell::RefCell;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tfbc_recorder::clock::ClockSource;
use tfbc_recorder::hooks;
use tfbc_recorder::options::{Mode, Output, TraceOptions};
use tfbc_recorder::record::Width::W64;
use tfbc_recorder::session::{self, Task};
use tfbc_tracing::Recorder;
use tracing_subscriber::prelude::*;

const N_THREADS: u64 = 8;
const USER1: u32 = 0x0100_0000;
/// Directory of the logs, in the process that measures.
const FOLDER: &str = "TFBC_BENCH_FOLDER";

/// Measured hooks, by their names in C.
fn hook<const N: usize>(word: u64) {
    hooks::words(W64, true, USER1, [black_box(word); N]);
}

fn generic(word: u64) {
    hooks::generic(0, W64, true, USER1, word, black_box(&[7; 64]));
}

fn off(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("recorder/off");
    group.bench_function("nothing", |bencher| bencher.iter(|| _ = black_box(1u64)));
    group.bench_function("TRCHKL5T", |bencher| bencher.iter(|| hook::<5>(1)));
    group.bench_function("TRCGENT of 64 bytes", |bencher| bencher.iter(|| generic(1)));
    for (name, is_alone) in [("tracing event", false), ("tracing event, no other layer", true)] {
        let recorder = Recorder::default();
        let layer = if is_alone { recorder.alone().boxed() } else { recorder.layer().boxed() };
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            group.bench_function(name, |bencher| bencher.iter(|| tracing::info!(n = black_box(1u64), "told")));
        });
    }
    group.finish();
}

fn on(criterion: &mut Criterion, folder: &Path) {
    let mut group = criterion.benchmark_group("recorder/on");
    let clock = ClockSource::of_this_machine();
    group.bench_function("clock", |bencher| bencher.iter(|| clock.now()));
    let copied = RefCell::new((vec![0u64; 1 << 20], 0));
    group.bench_function("clock and copy of 64 bytes", |bencher| {
        bencher.iter(|| {
            let (buffer, at) = &mut *copied.borrow_mut();
            *at = (*at + 8) & (buffer.len() - 1);
            buffer[*at..*at + 8].copy_from_slice(&[clock.now(), 0, 0, 1, 2, 3, 4, black_box(5)]);
        });
    });
    group.bench_function("TRCHKL0T", |bencher| bencher.iter(|| hook::<0>(1)));
    group.bench_function("TRCHKL1T", |bencher| bencher.iter(|| hook::<1>(1)));
    group.bench_function("TRCHKL5T", |bencher| bencher.iter(|| hook::<5>(1)));
    group.bench_function("TRCGENT of 64 bytes", |bencher| bencher.iter(|| generic(1)));
    group.bench_function("tracing event", |bencher| bencher.iter(|| tracing::info!(n = black_box(1u64), "told")));
    group.bench_function("tracing span", |bencher| {
        bencher.iter(|| drop(tracing::info_span!("span", n = black_box(1u64)).entered()))
    });
    let log = Mutex::new(BufWriter::new(File::create(folder.join("text")).unwrap()));
    group.bench_function("write!", |bencher| bencher.iter(|| write_line(&log, 1)));
    group.finish();
}

/// Writes a line to a logger that threads share.
fn write_line(log: &Mutex<BufWriter<File>>, word: u64) {
    let mut log = log.lock().unwrap();
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let word = black_box(word);
    writeln!(log, "{:?} user1 {word} {word} {word} {word} {word}", time.as_secs_f64()).unwrap();
}

/// Time per event while eight threads record.
fn threads(criterion: &mut Criterion, folder: &Path) {
    let mut group = criterion.benchmark_group("recorder/threads");
    let log = Mutex::new(BufWriter::new(File::create(folder.join("text")).unwrap()));
    let log = &log;
    let mut measure = |name: &str, event: &(dyn Fn(u64) + Sync)| {
        group.bench_function(BenchmarkId::new(name, N_THREADS), |bencher| {
            bencher.iter_custom(|n| in_threads(n, event));
        });
    };
    measure("TRCHKL5T", &|word| hook::<5>(word));
    measure("write!", &|word| write_line(log, word));
    group.finish();
}

fn in_threads(n: u64, event: &(dyn Fn(u64) + Sync)) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..N_THREADS {
            scope.spawn(|| (0..n.div_ceil(N_THREADS)).for_each(event));
        }
    });
    start.elapsed()
}

/// Runs this program with shared memory of its own.
fn in_own_process() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(std::env::args_os().skip(1)).env(FOLDER, folder.path());
    let status = command.env("TFBC_TRACE_DIR", folder.path().join("memory")).status().unwrap();
    ExitCode::from(u8::from(!status.success()))
}

fn main() -> ExitCode {
    let Some(folder) = std::env::var_os(FOLDER) else { return in_own_process() };
    let folder = Path::new(&folder);
    let mut criterion = Criterion::default().configure_from_args();
    off(&mut criterion);
    tracing_subscriber::registry().with(Recorder::default().layer()).init();
    let options = TraceOptions {
        output: Output::File(folder.join("log")),
        mode: Mode::Circular,
        buffer_size: 16 << 20,
        log_size: 32 << 20,
        ..TraceOptions::default()
    };
    let channel = session::start(&Task::Aix(options)).unwrap();
    on(&mut criterion, folder);
    threads(&mut criterion, folder);
    session::stop(channel, true).unwrap();
    criterion.final_summary();
    ExitCode::SUCCESS
}
