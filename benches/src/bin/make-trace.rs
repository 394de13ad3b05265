//! Makes AIX traces: the bundled sample, and benchmark loads of any size with their format file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tfbc_benches::{Log, MAX_TEMPLATES, Pick, STREAM64_MAGIC, Width, mix_buffers, sample_buffers, templates};

/// Make AIX traces, the same bytes for the same options everywhere.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A shell runs three commands: some hundred events of well-known hooks.
    Sample {
        /// Width of the kernel that traces.
        #[arg(long, value_enum, default_value = "64")]
        trace: TraceWidth,
        #[command(flatten)]
        output: Output,
    },
    /// Benchmark load: events of four shapes, formatted by the templates of `make-trace templates`.
    Mix {
        /// How many events.
        #[arg(long, default_value_t = 100_000)]
        events: usize,
        /// How many templates the events are spread over.
        #[arg(long, default_value_t = 200, value_parser = template_count)]
        templates: usize,
        #[command(flatten)]
        output: Output,
    },
    /// The format file of a benchmark load.
    Templates {
        /// How many templates.
        #[arg(value_parser = template_count)]
        templates: usize,
        /// Where to write.
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Output {
    /// Log file or sequential stream.
    #[arg(long, value_enum, default_value = "stream")]
    form: Form,
    /// Trace buffers that the log has room for; with fewer than were recorded it wraps.
    #[arg(long)]
    slots: Option<usize>,
    /// Another seed gives other times and data.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Log,
    Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TraceWidth {
    #[value(name = "32")]
    W32,
    #[value(name = "64")]
    W64,
}

fn template_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 4..=MAX_TEMPLATES) => Ok(n),
        _ => Err(format!("expected a number from 4 to {MAX_TEMPLATES}")),
    }
}

fn main() -> io::Result<()> {
    match Cli::parse().what {
        What::Sample { trace: TraceWidth::W32, output } => {
            output.write(Width::W32, sample_buffers(Width::W32, output.seed))
        }
        What::Sample { trace: TraceWidth::W64, output } => {
            output.write(Width::W64, sample_buffers(Width::W64, output.seed))
        }
        What::Mix { events, templates, output } => {
            output.write(Width::W64, mix_buffers(Pick::Mix(templates), events, output.seed))
        }
        What::Templates { templates: n, out } => std::fs::write(out, templates(n)),
    }
}

impl Output {
    fn write(&self, trace: Width, buffers: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(&self.out)?);
        match self.form {
            Form::Stream => write_stream(trace, buffers, &mut file)?,
            Form::Log => file.write_all(&self.log(trace, buffers)?.to_bytes())?,
        }
        file.flush()
    }

    fn log(&self, trace: Width, mut buffers: impl Iterator<Item = Vec<u8>>) -> io::Result<Log> {
        let initial = buffers.next().unwrap_or_default();
        let mut log = Log::new(trace, initial, buffers.collect());
        match self.slots {
            Some(0) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "a log has at least one slot")),
            Some(slots) => log.slots = slots,
            None => {}
        }
        Ok(log)
    }
}

fn write_stream(trace: Width, buffers: impl Iterator<Item = Vec<u8>>, file: &mut impl Write) -> io::Result<()> {
    if trace == Width::W64 {
        file.write_all(&STREAM64_MAGIC)?;
    }
    buffers.into_iter().try_for_each(|buffer| file.write_all(&buffer))
}
