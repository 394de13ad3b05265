//! Records hooks at a fixed rate as the load of `recorder_pipe.sh`, or measures the cost of one, for comparison in
//! `lttng.sh`.
#![forbid(unsafe_code)]

use clap::Parser;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tfbc_recorder::hooks;
use tfbc_recorder::record::Width;

/// Record events of hook 010, five words each, to channel 0.
#[derive(Parser)]
struct HookLoadArgs {
    /// Events per second
    #[arg(long, default_value_t = 1_000_000)]
    rate: u64,
    /// Duration in seconds
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Measure the cost of an event instead: the best of many short runs
    #[arg(long)]
    cost: bool,
}

fn main() {
    let args = HookLoadArgs::parse();
    if args.cost {
        println!("TRCHKL5T {} {:.1} ns", if hooks::is_on(0) { "on" } else { "off" }, cost());
    } else {
        load(args.rate, args.rate * args.seconds);
        println!("{}", args.rate * args.seconds);
    }
}

fn record(word: u64) {
    hooks::words(Width::W64, true, 0x0100_0000, [black_box(word), 2, 3, 4, 5]);
}

/// Records the events that are due, a few thousand times per second.
fn load(rate: u64, events: u64) {
    let start = Instant::now();
    let mut done = 0;
    while done < events {
        let due = (start.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000) as u64;
        (done..due.min(events)).for_each(record);
        done = done.max(due);
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Nanoseconds per event. Each run is too short to be interrupted often.
fn cost() -> f64 {
    const RUN: u64 = 200;
    let run = |_| {
        let start = Instant::now();
        (0..RUN).for_each(record);
        start.elapsed().as_nanos() as f64 / RUN as f64
    };
    (0..20_000).map(run).fold(f64::MAX, f64::min)
}
