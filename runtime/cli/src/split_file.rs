//! Split files as inputs of other commands.

use super::console::{Failure, Message};
use super::trace_args::TraceArgs;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tfbc::{Split, SplitError, Trace};

/// Opens a split file; `None` if the file is not one, which its first bytes show.
pub fn open(path: &Path) -> Result<Option<Split>, Failure> {
    let mut magic = [0; 4];
    let is_split = path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"tfbs";
    let split = is_split.then(|| Split::open(path)).transpose();
    split.map_err(|error| failure(&path.to_string_lossy(), error))
}

/// Checks flags that say how to read a trace: a split file contains what they say, and belongs to a whole trace.
pub fn check_flags(path: &Path, split: &Split, args: &TraceArgs) -> Result<(), Failure> {
    let refuse = |why: &str| Err(Failure::Error(Message::Usage, format!("{}: {why}", path.display())));
    if args.follow {
        return refuse("--follow waits for more of a trace, and this is a split file: name the trace");
    }
    if !split.is_read_with(&args.options()) {
        return refuse(
            "--format, --cpuid-word, --lenient, --after-damage and --salvage say how to read a trace: give them to \
             `tfbc split` or `tfbc index`, and here the same or none",
        );
    }
    Ok(())
}

/// Files that a report of a split file reads. None if it is not one, which the report says.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let files = if path.is_file() { Split::files_in(path).ok() } else { None };
    files.map_or(Vec::new(), |files| files.into_iter().map(PathBuf::from).collect())
}

/// Opens a part of a trace.
pub fn open_part(path: &Path, split: &Split, number: u64) -> Result<Trace, Failure> {
    split.open_part(number).map_err(|error| match error {
        SplitError::Io(error) => {
            let text = format!("cannot read {}, the trace of {}: {error}", split.input(), path.display());
            Failure::Error(Message::Unreadable, text)
        }
        error => failure(&path.to_string_lossy(), error),
    })
}

/// Failure for a trace that cannot be split, or a part that cannot be opened.
pub fn failure(name: &str, error: SplitError) -> Failure {
    let message = match error {
        SplitError::Refused(_) | SplitError::NoPart { .. } => Message::Usage,
        _ => Message::Unreadable,
    };
    Failure::Error(message, format!("cannot read {name}: {error}"))
}
