//! Several inputs: expansion of directories, and the summary after the last report.

use super::console::{Console, Failure, Message};
use super::overwrite;
use super::trace_args::TraceArgs;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use tfbc::internal::cpu_files;
use tfbc::{System, TraceKind};

/// Maximum number of skipped files that are named.
const MAX_NAMED: usize = 8;

/// Expands paths to traces. A directory becomes the traces in it, by name.
///
/// # Errors
/// A directory cannot be read, or contains no trace.
pub fn expand(console: &Console, paths: &[PathBuf], args: &TraceArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut traces = Vec::new();
    for path in paths {
        if path.is_dir() {
            let refused = |why: &dyn std::fmt::Display| {
                Failure::Error(Message::Unreadable, format!("cannot read {}: {why}", path.display()))
            };
            let DirectoryFiles { mut found, left_out } = look_into(path, args).map_err(|error| refused(&error))?;
            if found.is_empty() {
                return Err(refused(&"no file in this directory is a trace"));
            }
            if !left_out.is_empty() {
                console.note(format_args!(
                    "{}: skipped because they are not traces: {}",
                    path.display(),
                    named(&left_out)
                ));
            }
            // A base file opens its per-CPU files itself. Listed as well, their events would be reported twice.
            drop_members(&mut found, args);
            traces.append(&mut found);
        } else {
            traces.push(path.clone());
        }
    }
    Ok(traces)
}

/// Refuses an output that is one of the traces, or that is a per-CPU file of one.
pub fn refuse_output(output: Option<&Path>, traces: &[PathBuf], args: &TraceArgs) -> Result<(), Failure> {
    overwrite::refuse([output], traces.iter().map(PathBuf::as_path))?;
    // Only an existing output can be such a file.
    let options = args.options();
    // Standard input and pipes have no per-CPU files.
    let bases = traces.iter().filter(|path| output.is_some_and(Path::is_file) && path.is_file());
    let members: Vec<PathBuf> = bases.flat_map(|path| cpu_files(path, &options)).collect();
    overwrite::refuse([output], members.iter().map(PathBuf::as_path))
}

/// Last part of a trace's path.
pub fn title(path: &Path) -> String {
    match path.file_name() {
        Some(name) if path != Path::new("-") => name.to_string_lossy().into_owned(),
        _ => String::from("standard input"),
    }
}

/// Copies standard input to a temporary file, for commands that read a trace several times.
///
/// # Errors
/// Standard input cannot be read, or the file cannot be written.
pub fn copy_of_stdin() -> Result<NamedTempFile, Failure> {
    let copied = NamedTempFile::with_prefix("tfbc-input-").and_then(|mut copy| {
        io::copy(&mut io::stdin().lock(), &mut copy)?;
        copy.flush()?;
        Ok(copy)
    });
    copied.map_err(|error| Failure::Error(Message::Unreadable, format!("cannot copy standard input: {error}")))
}

/// Files of a directory.
#[derive(Debug, Default)]
struct DirectoryFiles {
    found: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
}

fn look_into(directory: &Path, args: &TraceArgs) -> io::Result<DirectoryFiles> {
    let mut files = DirectoryFiles::default();
    let mut paths =
        fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    // Directories are read in the order of the file system, which differs between machines.
    paths.sort();
    for path in paths.into_iter().filter(|path| path.is_file()) {
        // Unreadable files are kept, so that the report names them.
        let wanted = args.format.is_some() || TraceKind::of_file(&path).map_or(true, |kind| kind.is_some());
        if wanted { files.found.push(path) } else { files.left_out.push(path) }
    }
    Ok(files)
}

/// True if the traces come from both systems.
pub fn are_mixed(traces: &[PathBuf], args: &TraceArgs) -> bool {
    let files = traces.iter().filter(|path| args.format.is_none() && path.is_file());
    let systems: Vec<System> =
        files.filter_map(|path| TraceKind::of_file(path).ok().flatten()).map(TraceKind::system).collect();
    systems.contains(&System::Aix) && systems.contains(&System::Qnx)
}

fn named(paths: &[PathBuf]) -> String {
    let names = paths.iter().filter_map(|path| path.file_name()).take(MAX_NAMED);
    let names = names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(MAX_NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// Removes per-CPU files whose base file is also in the list.
fn drop_members(paths: &mut Vec<PathBuf>, args: &TraceArgs) {
    let options = args.options();
    let members: BTreeSet<PathBuf> = paths.iter().flat_map(|path| cpu_files(path, &options)).collect();
    paths.retain(|path| !members.contains(path));
}

/// Counts from the report of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputCounts {
    pub n_events: u64,
    pub n_reported: u64,
    pub n_damaged: u64,
}

/// Summary of all inputs.
#[derive(Debug, Default)]
pub struct RunSummary {
    /// Name, kind and counts per input.
    rows: Vec<(String, &'static str, Option<InputCounts>)>,
}

impl RunSummary {
    /// Adds an input.
    pub fn add(&mut self, path: &Path, kind: &'static str, counts: InputCounts) {
        self.rows.push((path.display().to_string(), kind, Some(counts)));
    }

    /// Adds an input that cannot be read.
    pub fn add_unreadable(&mut self, path: &Path) {
        self.rows.push((path.display().to_string(), "-", None));
    }

    /// Sum over all inputs.
    pub fn total(&self) -> InputCounts {
        self.rows.iter().filter_map(|(.., counts)| *counts).fold(InputCounts::default(), |sum, counts| InputCounts {
            n_events: sum.n_events + counts.n_events,
            n_reported: sum.n_reported + counts.n_reported,
            n_damaged: sum.n_damaged + counts.n_damaged,
        })
    }

    /// Table with a line for each input, and a total.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{:>12} {:>12} {:>9}  {:<8}  trace", "events", "reported", "damaged", "kind");
        for (name, kind, counts) in &self.rows {
            match counts {
                Some(counts) => row(counts, kind, name, &mut out),
                None => {
                    let _ = writeln!(out, "{:>12} {:>12} {:>9}  {kind:<8}  {name} (cannot be read)", "-", "-", "-");
                }
            }
        }
        row(&self.total(), "", &format!("total of {}", super::count(self.rows.len() as u64, "trace")), &mut out);
        out.truncate(out.trim_end().len());
        out
    }
}

fn row(counts: &InputCounts, kind: &str, name: &str, out: &mut String) {
    let InputCounts { n_events, n_reported, n_damaged } = counts;
    let _ = writeln!(out, "{n_events:>12} {n_reported:>12} {n_damaged:>9}  {kind:<8}  {name}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_a_line_for_each_input() {
        let mut run_summary = RunSummary::default();
        run_summary.add(Path::new("a"), "stream64", InputCounts { n_events: 10, n_reported: 3, n_damaged: 1 });
        run_summary.add_unreadable(Path::new("b"));
        run_summary.add(Path::new("c"), "kev", InputCounts { n_events: 5, n_reported: 5, n_damaged: 0 });
        assert_eq!(
            run_summary.table(),
            "      events     reported   damaged  kind      trace\n\
            \x20         10            3         1  stream64  a\n\
            \x20          -            -         -  -         b (cannot be read)\n\
            \x20          5            5         0  kev       c\n\
            \x20         15            8         1            total of 3 traces"
        );
    }
}
