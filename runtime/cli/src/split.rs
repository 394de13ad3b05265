//! `tfbc split` and `tfbc index`: divide a trace into parts that are formatted alone, or left out by a filter.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::formats::{self, LanguageArgs};
use super::limits;
use super::merge;
use super::overwrite;
use super::split_file::failure;
use super::trace;
use super::trace_args::TraceArgs;
use super::unpack;
use clap::{ArgGroup, Args};
use std::fmt::Write as _;
use std::io::Write as _;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use tfbc::{PartSize, Split};

/// Flags of `tfbc split`.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("size").required(true))]
pub struct SplitArgs {
    /// Number of parts of about equal size. A trace of few events gets fewer
    #[arg(short = 'n', long = "parts", value_name = "N", group = "size")]
    parts: Option<NonZeroU64>,
    /// Bytes per part, such as 64m or 1g; a part ends after the first event that reaches this size
    #[arg(long, value_name = "SIZE", group = "size", value_parser = size)]
    bytes: Option<NonZeroU64>,
    /// Split file
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    division: DivisionArgs,
}

/// Flags of both commands.
#[derive(Debug, Clone, Args)]
struct DivisionArgs {
    /// Format file that the parts will be formatted with, source or blob; later ones win. `default` is the built-in
    /// file, which is also used if none is given
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Read all traces as one, merged by time (AIX)
    #[arg(short = 'm', long)]
    merge: bool,
    /// Write a compressed trace or a pipe to a file in this directory first, and split that file. The directory is
    /// created if it does not exist; a file that exists is not replaced
    #[arg(long, value_name = "DIR")]
    unpack: Option<PathBuf>,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    /// Trace or log; several with --merge. A compressed one, or `-` for standard input, needs --unpack
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    traces: Vec<PathBuf>,
}

/// Parses the size of a part.
fn size(text: &str) -> Result<NonZeroU64, String> {
    const EXPECTED: &str = "expected a number of bytes such as 5000, 64k, 64m or 1g";
    let bytes = limits::byte_count(text).ok_or(EXPECTED)?;
    NonZeroU64::new(bytes).ok_or_else(|| format!("{EXPECTED}, at least 1"))
}

/// Flags of `tfbc index`.
#[derive(Debug, Clone, Args)]
pub struct IndexArgs {
    /// Bytes per part, which is the least that is read; a part ends after the first event that reaches this size
    #[arg(long, value_name = "SIZE", default_value = "16m", value_parser = size)]
    bytes: NonZeroU64,
    /// Split file; by default the first trace's name with `.tfbs` after it
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    division: DivisionArgs,
}

impl SplitArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let size = match (self.parts, self.bytes) {
            (_, Some(bytes)) => PartSize::Bytes(bytes),
            (parts, None) => PartSize::Count(parts.unwrap_or(NonZeroU64::MIN)),
        };
        self.division.write(console, size, Some(&self.output))
    }
}

impl IndexArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        self.division.write(console, PartSize::Bytes(self.bytes), self.output.as_deref())
    }
}

impl DivisionArgs {
    /// Divides the trace, and writes the split file; without a name, next to the trace.
    fn write(&self, console: &Console, size: PartSize, output: Option<&Path>) -> CommandResult {
        let Self { formats, merge, trace, language, traces, .. } = self;
        let Some(first) = traces.first().filter(|_| !language.asks_for_help()) else {
            return super::print(console, formats::dialect_help(), None);
        };
        if traces.len() > 1 && !merge {
            let text = "a split file is about one trace: give --merge to read several as one";
            return Err(Failure::Error(Message::Usage, String::from(text)));
        }
        let mut named = first.clone().into_os_string();
        named.push(".tfbs");
        let output = output.map_or(PathBuf::from(named), Path::to_owned);
        let inputs = overwrite::files(formats).chain(traces.iter().map(PathBuf::as_path));
        overwrite::refuse([Some(output.as_path())], inputs)?;
        let set = formats::load_for_report(console, formats, language)?;
        let short_generic_word = language.report_dialect()?.short_generic_word;
        let args = TraceArgs { short_generic_word, max_ratio: language.ratio.ratio(), ..trace.clone() };
        let mut status = formats::loaded(&set);
        let traces = self.files(console, &args, &mut status)?;
        let trace = match &traces[..] {
            [only] => trace::open(only, &args)?,
            several => merge::open(several, &args, false)?,
        };
        // The files of CPUs are inputs, too.
        let info = trace.info();
        overwrite::refuse([Some(output.as_path())], info.files.iter().map(|file| Path::new(&file.name)))?;
        let split = trace.parts(&set, size).map_err(|error| failure(&info.name, error))?;
        let failed = |error| Failure::write(&error, output.display());
        let mut out = console.open(Some(&output)).map_err(failed)?;
        out.write_all(&split.encode()).and_then(|()| out.flush()).map_err(failed)?;
        out.into_inner().commit().map_err(failed)?;
        console.note(table(&split));
        Ok(status)
    }

    /// Files to split: those that were named, or their unpacked forms.
    fn files(&self, console: &Console, args: &TraceArgs, status: &mut Status) -> Result<Vec<PathBuf>, Failure> {
        let Some(directory) = &self.unpack else { return Ok(self.traces.clone()) };
        let unpack = |path: &PathBuf| unpack::unpack(console, path, directory, args);
        let unpacked = self.traces.iter().map(unpack).collect::<Result<Vec<_>, _>>()?;
        let found = unpacked.iter().map(|found| found.status).max();
        *status = (*status).max(found.unwrap_or(Status::Well));
        Ok(unpacked.into_iter().map(|found| found.path).collect())
    }
}

/// Table of the parts.
fn table(split: &Split) -> String {
    let mut out = format!("{:>6} {:>14} {:>14} {:>12}", "part", "offset", "bytes", "events");
    for part in split.parts() {
        let _ = write!(out, "\n{:>6} {:>#14x} {:>14} {:>12}", part.number, part.offset, part.n_bytes, part.n_events);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let bytes = |text| size(text).map(NonZeroU64::get);
        assert_eq!([bytes("5"), bytes("2k"), bytes("64M"), bytes("1g")], [Ok(5), Ok(2048), Ok(64 << 20), Ok(1 << 30)]);
        for text in ["", "0", "k", "1t", "-1", "1.5m", "99999999999g"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
