//! Makes AIX traces: the bundled ones, and loads of any size with their format files.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tfbc_benches::{
    COPY_SLOTS, Files, LogBuilder, LogFile, MAX_TEMPLATES, Pick, STREAM64_MAGIC, TraceKind, TraceLength, TraceLoad,
    Width, copy_buffers, mix_buffers, shell_buffers, templates,
};

/// Make AIX traces; the same options give the same bytes on every machine.
#[derive(Debug, Parser)]
struct MakeTraceArgs {
    #[command(subcommand)]
    what: TraceArg,
}

#[derive(Debug, Subcommand)]
enum TraceArg {
    /// `shell.trc`: a shell runs three commands, with some hundred events of well-known hooks.
    Shell {
        /// Width of the kernel.
        #[arg(long, value_enum, default_value = "64")]
        trace: TraceWidth,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// `copy.trc`: a shell starts `cp`, which copies a file.
    Copy {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Benchmark load: events of four shapes, formatted by the templates of `make-trace templates N`.
    Mix {
        /// Number of events.
        #[arg(long, default_value_t = 100_000)]
        events: usize,
        /// Number of templates that the events use.
        #[arg(long, default_value_t = 200, value_parser = template_count)]
        templates: usize,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Realistic 64-bit kernel: forty hooks with Zipf's weights, mostly 3 to 5 data words, 48 bytes on average.
    Realistic(LoadArgs),
    /// 32-bit hooks with one word, 16 bytes each.
    Small32(LoadArgs),
    /// Generic hooks of 4096 bytes, printed by loops over X0 and X1.
    Dumps(LoadArgs),
    /// Format file of a load.
    Templates {
        /// `realistic`, `small32`, `dumps`, or the number of templates of a mix.
        #[arg(value_name = "LOAD|N")]
        of: WrittenFormat,
        /// Output file; `-` is standard output.
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        out: PathBuf,
    },
}

#[derive(Debug, Args)]
struct OutputArgs {
    /// Log file or sequential stream.
    #[arg(long, value_enum, default_value = "stream")]
    form: FileKind,
    /// Number of trace buffers in the log; if more are recorded, it wraps.
    #[arg(long)]
    slots: Option<usize>,
    /// Seed of times and data.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output file; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct LoadArgs {
    /// Number of events of all CPUs.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    events: u64,
    /// Bytes of events instead of their number, with K, M and G for powers of 1000.
    #[arg(long, value_name = "BYTES", conflicts_with = "events")]
    size: Option<Size>,
    /// Log file or sequential stream.
    #[arg(long, value_enum, default_value = "stream")]
    form: FileKind,
    /// Number of CPUs: writes a log file for each, FILE-0 and so on, and a base file FILE that names them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: Option<u32>,
    /// Seed of times and data.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output file; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FileKind {
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

/// A number of bytes.
#[derive(Debug, Clone, Copy)]
struct Size(u64);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (digits, unit) = match text.find(|c: char| !c.is_ascii_digit()).map(|at| text.split_at(at)) {
            None => (text, 1),
            Some((digits, "K")) => (digits, 1_000),
            Some((digits, "M")) => (digits, 1_000_000),
            Some((digits, "G")) => (digits, 1_000_000_000),
            Some(_) => return Err("expected a number such as 500000, 64K, 20M or 10G"),
        };
        let number: u64 = digits.parse().map_err(|_| "expected a number such as 500000, 64K, 20M or 10G")?;
        number.checked_mul(unit).map(Size).ok_or("more than 2^64 bytes")
    }
}

/// Load whose format file is written.
#[derive(Debug, Clone, Copy)]
enum WrittenFormat {
    Load(TraceKind),
    Mix(usize),
}

impl FromStr for WrittenFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "realistic" => WrittenFormat::Load(TraceKind::Realistic),
            "small32" => WrittenFormat::Load(TraceKind::Small32),
            "dumps" => WrittenFormat::Load(TraceKind::Dumps),
            _ => WrittenFormat::Mix(template_count(text)?),
        })
    }
}

impl fmt::Display for WrittenFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrittenFormat::Load(kind) => f.write_str(&kind.format_file()),
            WrittenFormat::Mix(n) => f.write_str(&templates(*n)),
        }
    }
}

fn template_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 4..=MAX_TEMPLATES) => Ok(n),
        _ => Err(format!("expected a number from 4 to {MAX_TEMPLATES}")),
    }
}

fn main() -> io::Result<()> {
    match MakeTraceArgs::parse().what {
        TraceArg::Shell { trace: TraceWidth::W32, output } => {
            output.write(Width::W32, shell_buffers(Width::W32, output.seed))
        }
        TraceArg::Shell { trace: TraceWidth::W64, output } => {
            output.write(Width::W64, shell_buffers(Width::W64, output.seed))
        }
        TraceArg::Copy { mut output } => {
            output.slots.get_or_insert(COPY_SLOTS);
            output.write(Width::W64, copy_buffers().into_iter())
        }
        TraceArg::Mix { events, templates, output } => {
            output.write(Width::W64, mix_buffers(Pick::Mix(templates), events, output.seed))
        }
        TraceArg::Realistic(made) => made.write(TraceKind::Realistic),
        TraceArg::Small32(made) => made.write(TraceKind::Small32),
        TraceArg::Dumps(made) => made.write(TraceKind::Dumps),
        TraceArg::Templates { of, out } => sink(&out)?.write_all(of.to_string().as_bytes()),
    }
}

/// Opens a file, or standard output.
fn sink(path: &Path) -> io::Result<Box<dyn Write>> {
    Ok(if is_standard(path) { Box::new(io::stdout().lock()) } else { Box::new(File::create(path)?) })
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

impl OutputArgs {
    fn write(&self, trace: Width, buffers: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
        let mut file = BufWriter::new(sink(&self.out)?);
        match self.form {
            FileKind::Stream => write_stream(trace, buffers, &mut file)?,
            FileKind::Log => file.write_all(&self.log(trace, buffers)?.to_bytes())?,
        }
        file.flush()
    }

    fn log(&self, trace: Width, mut buffers: impl Iterator<Item = Vec<u8>>) -> io::Result<LogBuilder> {
        let initial = buffers.next().unwrap_or_default();
        let mut log = LogBuilder::new(trace, initial, buffers.collect());
        match self.slots {
            Some(0) => return Err(refused("a log has at least one slot")),
            Some(slots) => log.slots = slots,
            None => {}
        }
        Ok(log)
    }
}

impl LoadArgs {
    fn write(&self, kind: TraceKind) -> io::Result<()> {
        let extent = self.size.map_or(TraceLength::Events(self.events), |Size(bytes)| TraceLength::Bytes(bytes));
        let load = TraceLoad { kind, extent, seed: self.seed, cpu: 0, cpus: self.cpus.unwrap_or(1) };
        match (self.cpus, self.form) {
            (Some(_), _) => self.write_cpu_files(load),
            (None, FileKind::Stream) => {
                let header = std::iter::once(load.header(Files::One));
                write_stream(kind.width(), header.chain(load.buffers()), &mut sink(&self.out)?)
            }
            (None, FileKind::Log) => self.write_log(&self.out, 0, load, Files::One),
        }
    }

    fn write_log(&self, path: &Path, mode: u32, load: TraceLoad, files: Files<'_>) -> io::Result<()> {
        if is_standard(path) {
            return Err(refused("a log begins with a table of its buffers, and cannot be written to standard output"));
        }
        let slots = if let Files::Base(_) = files { 0 } else { load.max_buffers() };
        let slots = usize::try_from(slots).map_err(io::Error::other)?;
        let mut log = LogFile::create(File::create(path)?, load.kind.width(), mode, &load.header(files), slots)?;
        if slots > 0 {
            load.buffers().try_for_each(|buffer| log.put(&buffer))?;
        }
        log.finish()
    }

    /// Writes the base file and one file per CPU, each with its share of the events.
    fn write_cpu_files(&self, load: TraceLoad) -> io::Result<()> {
        const BASE: u32 = 4;
        const CPU: u32 = 8;
        let name = self.out.file_name().and_then(|name| name.to_str()).ok_or_else(|| refused("not a file's name"))?;
        self.write_log(&self.out, BASE, load, Files::Base(name))?;
        (0..load.cpus).try_for_each(|cpu| {
            let extent = load.extent.share(cpu.into(), load.cpus.into());
            let path = self.out.with_file_name(format!("{name}-{cpu}"));
            self.write_log(&path, CPU, TraceLoad { cpu, extent, ..load }, Files::Cpu(name))
        })
    }
}

fn write_stream(trace: Width, mut buffers: impl Iterator<Item = Vec<u8>>, file: &mut impl Write) -> io::Result<()> {
    if trace == Width::W64 {
        file.write_all(&STREAM64_MAGIC)?;
    }
    buffers.try_for_each(|buffer| file.write_all(&buffer))
}
