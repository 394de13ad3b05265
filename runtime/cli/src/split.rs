//! `tfbc split` and `tfbc index`: divide a trace into parts that are formatted alone, or left out by a filter.

use super::console::{CommandResult, Console, Failure, Message};
use super::formats::{self, LanguageArgs};
use super::overwrite;
use super::trace;
use super::trace_args::TraceArgs;
use clap::{ArgGroup, Args};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use tfbc::{PartSize, Split, SplitError};

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
    /// Format file that the parts will be formatted with, source or blob; later ones win. `default` is the built-in
    /// file, which is also used if none is given
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Split file
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    /// Trace or log: a file that is not compressed
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    input: Option<PathBuf>,
}

/// Reads a size in bytes: a number, and `k`, `m` or `g` after it for powers of 1024.
fn size(text: &str) -> Result<NonZeroU64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(String::from("expected a number of bytes such as 5000, 64k, 64m or 1g")),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).and_then(NonZeroU64::new);
    bytes.ok_or_else(|| String::from("expected a number of bytes such as 5000, 64k, 64m or 1g, at least 1"))
}

/// Failure for a trace that cannot be split, or a part that cannot be opened.
pub fn failure(name: &str, error: SplitError) -> Failure {
    let message = match error {
        SplitError::Refused(_) | SplitError::NoPart { .. } => Message::Usage,
        _ => Message::Unreadable,
    };
    Failure::Error(message, format!("cannot read {name}: {error}"))
}

/// Flags of `tfbc index`.
#[derive(Debug, Clone, Args)]
pub struct IndexArgs {
    /// Bytes per part, which is the least that is read; a part ends after the first event that reaches this size
    #[arg(long, value_name = "SIZE", default_value = "16m", value_parser = size)]
    bytes: NonZeroU64,
    /// Format file that the trace will be formatted with, source or blob; later ones win. `default` is the built-in
    /// file, which is also used if none is given
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Split file; by default the trace's name with `.tfbs` after it
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    /// Trace or log: a file that is not compressed
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    input: Option<PathBuf>,
}

/// A division into parts, from the flags of either command.
struct Division<'d> {
    size: PartSize,
    formats: &'d [PathBuf],
    output: &'d Path,
    trace: &'d TraceArgs,
    language: &'d LanguageArgs,
    input: &'d Path,
}

impl SplitArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let Self { parts, bytes, formats, output, trace, language, input } = self;
        let size = match (parts, bytes) {
            (_, Some(bytes)) => PartSize::Bytes(*bytes),
            (parts, None) => PartSize::Count(parts.unwrap_or(NonZeroU64::MIN)),
        };
        match input {
            Some(input) if !language.asks_for_help() => {
                Division { size, formats, output, trace, language, input }.write(console)
            }
            _ => super::print(console, formats::dialect_help(), None),
        }
    }
}

impl IndexArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let Self { bytes, formats, output, trace, language, input } = self;
        match input {
            Some(input) if !language.asks_for_help() => {
                let mut named = input.clone().into_os_string();
                named.push(".tfbs");
                let (size, output) = (PartSize::Bytes(*bytes), output.clone().unwrap_or_else(|| named.into()));
                Division { size, formats, output: &output, trace, language, input }.write(console)
            }
            _ => super::print(console, formats::dialect_help(), None),
        }
    }
}

impl Division<'_> {
    /// Divides the trace, and writes the split file.
    fn write(&self, console: &Console) -> CommandResult {
        let Self { size, formats, output, trace, language, input } = *self;
        let inputs = overwrite::files(formats).chain([input]);
        overwrite::refuse([Some(output)], inputs)?;
        let set = formats::load_for_report(console, formats, language)?;
        let short_generic_word = language.report_dialect()?.short_generic_word;
        let args = TraceArgs { short_generic_word, max_ratio: language.ratio.ratio(), ..trace.clone() };
        let trace = trace::open(input, &args)?;
        let split = trace.parts(&set, size).map_err(|error| failure(&input.to_string_lossy(), error))?;
        let failed = |error| Failure::write(&error, output.display());
        let mut out = console.open(Some(output)).map_err(failed)?;
        out.write_all(&split.encode()).and_then(|()| out.flush()).map_err(failed)?;
        out.into_inner().commit().map_err(failed)?;
        console.note(table(&split));
        Ok(formats::loaded(&set))
    }
}

/// Opens a split file; `None` if the file is not one, which its first bytes show.
pub fn open(path: &Path) -> Result<Option<Split>, Failure> {
    let mut magic = [0; 4];
    let is_split = path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"tfbs";
    let split = is_split.then(|| Split::open(path)).transpose();
    split.map_err(|error| failure(&path.to_string_lossy(), error))
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
