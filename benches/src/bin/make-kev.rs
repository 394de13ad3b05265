//! Makes QNX .kev logs of any length.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Parser;
use tfbc_benches::KevLoad;

/// Make a QNX .kev log, the same bytes for the same options everywhere.
#[derive(Debug, Parser)]
struct Cli {
    /// How many slots of 16 bytes.
    #[arg(long, default_value_t = 2_000_000)]
    slots: u64,
    /// Log of a big-endian target.
    #[arg(long)]
    big_endian: bool,
    /// Another seed gives other times and data.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

fn main() -> io::Result<()> {
    let Cli { slots, big_endian, seed, out } = Cli::parse();
    let mut file = BufWriter::new(File::create(out)?);
    KevLoad { slots, big_endian, seed }.pieces().try_for_each(|piece| file.write_all(&piece))?;
    file.flush()
}
