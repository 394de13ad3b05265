//! Makes QNX .kev logs of any length.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Parser;
use tfbc_benches::{KevLoad, user_log};

/// Make a QNX .kev log; the same options give the same bytes on every machine.
#[derive(Debug, Parser)]
struct MakeKevArgs {
    /// Number of 16-byte slots.
    #[arg(long, default_value_t = 2_000_000)]
    slots: u64,
    /// Write the log of a big-endian target.
    #[arg(long)]
    big_endian: bool,
    /// Seed of times and data.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write this many user events, as in the benchmark `datakeys`, instead of slots.
    #[arg(long, value_name = "EVENTS", conflicts_with_all = ["slots", "big_endian", "seed", "definitions"])]
    user: Option<u64>,
    /// Write the event definitions of those user events instead of a log.
    #[arg(long)]
    definitions: bool,
    /// Only events of one slot, which kernels write most.
    #[arg(long, conflicts_with_all = ["user", "definitions"])]
    simple: bool,
    /// Output file; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

fn main() -> io::Result<()> {
    let MakeKevArgs { slots, big_endian, seed, user, definitions, simple, out } = MakeKevArgs::parse();
    let out: Box<dyn Write> =
        if out == Path::new("-") { Box::new(io::stdout().lock()) } else { Box::new(File::create(out)?) };
    let mut file = BufWriter::with_capacity(256 << 10, out);
    let mut write = |piece: Vec<u8>| file.write_all(&piece);
    match user {
        _ if definitions => write(tfbc_benches::definitions().into_bytes())?,
        Some(n_events) => user_log(n_events).try_for_each(write)?,
        None => KevLoad { slots, big_endian, seed, combines: !simple }.pieces().try_for_each(write)?,
    }
    file.flush()
}
