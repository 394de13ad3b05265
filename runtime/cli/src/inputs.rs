//! Several inputs: expansion of directories, and the summary after the last report.

use super::console::{Console, Failure, Message, Status};
use super::files::cpu_files;
use super::overwrite;
use super::trace_args::TraceArgs;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use tfbc::{System, TraceKind};
use tfbc_authoring::folder::Folder;

/// Maximum number of skipped files that are named, besides those that end like a trace next to them.
const MAX_NAMED: usize = 8;

/// Traces of a command.
#[derive(Debug)]
pub struct Inputs {
    /// Paths of the traces, in the order of their reports.
    pub traces: Vec<PathBuf>,
    /// Traces that `--recursive` found.
    found: BTreeSet<PathBuf>,
    /// True if `--recursive` makes the traces one dataset.
    is_dataset: bool,
    /// [`Status::Damaged`] if a directory inside another one cannot be read.
    pub status: Status,
}

impl Inputs {
    /// True if reports and rows name their file. They do so in a dataset of one trace as well: its columns do not depend
    /// on the number of files.
    pub fn names_files(&self) -> bool {
        self.traces.len() > 1 || self.is_dataset
    }

    /// Exit status after a trace that cannot be read. Nobody named the files of a dataset one by one, so the others
    /// count as the complete output.
    pub fn status_of_unreadable(&self, path: &Path) -> Status {
        if self.found.contains(path) { Status::Damaged } else { Status::Failed }
    }
}

/// Expands paths to traces. A directory becomes the traces in it, by name.
///
/// # Errors
/// A directory cannot be read, or contains no trace.
pub fn expand(console: &Console, paths: &[PathBuf], args: &TraceArgs) -> Result<Vec<PathBuf>, Failure> {
    Ok(find(console, paths, args)?.traces)
}

/// Finds the traces that paths name. A directory means the traces in it, by path; with `--recursive`, also those in the
/// directories below it.
///
/// # Errors
/// A directory from the command line cannot be read, or contains no trace.
pub fn find(console: &Console, paths: &[PathBuf], args: &TraceArgs) -> Result<Inputs, Failure> {
    let is_recursive = args.recursive == Some(true);
    let mut inputs =
        Inputs { traces: Vec::new(), found: BTreeSet::new(), is_dataset: is_recursive, status: Status::Well };
    for path in paths {
        if !path.is_dir() {
            inputs.traces.push(path.clone());
            continue;
        }
        let refused = |why: &dyn std::fmt::Display| {
            Failure::Error(Message::Unreadable, format!("cannot read {}: {why}", path.display()))
        };
        let mut files = Folder::search(path, is_recursive, &args.options()).map_err(|error| refused(&error))?;
        for (directory, error) in &files.unreadable {
            console.error(Message::Unreadable, format!("cannot read {}: {error}", directory.display()));
            inputs.status = Status::Damaged;
        }
        let has_hint = args.recursive == Some(false) && files.n_directories > 0;
        if files.traces.is_empty() {
            let place = if is_recursive { "in or below this directory" } else { "in this directory" };
            let hint = if has_hint { "; --recursive also searches the directories in it" } else { "" };
            return Err(refused(&format!("no file {place} is a trace{hint}")));
        }
        if !files.left_out.is_empty() {
            let skipped = match is_recursive {
                true => format!("skipped {} without a trace", super::count(files.left_out.len() as u64, "file")),
                false => String::from("skipped because they are not traces"),
            };
            console.note(format_args!(
                "{}: {skipped}: {}",
                path.display(),
                named(path, &files.left_out, &files.traces)
            ));
        }
        if !files.links.is_empty() {
            let links = named(path, &files.links, &[]);
            console.note(format_args!("{}: links to directories are not followed: {links}", path.display()));
        }
        if has_hint {
            console.note(format_args!(
                "{}: directories in it are not searched; --recursive searches them",
                path.display()
            ));
        }
        if is_recursive {
            inputs.found.extend(files.traces.iter().cloned());
        }
        inputs.traces.append(&mut files.traces);
    }
    Ok(inputs)
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

/// True if the traces come from both systems.
pub fn are_mixed(traces: &[PathBuf], args: &TraceArgs) -> bool {
    let files = traces.iter().filter(|path| args.format.is_none() && path.is_file());
    let systems: Vec<System> =
        files.filter_map(|path| TraceKind::of_file(path).ok().flatten()).map(TraceKind::system).collect();
    systems.contains(&System::Aix) && systems.contains(&System::Qnx)
}

/// Paths relative to their directory, for a message. A file that ends like one of the traces may be a damaged trace, so
/// all of these are named.
fn named(directory: &Path, paths: &[PathBuf], traces: &[PathBuf]) -> String {
    let endings: BTreeSet<_> = traces.iter().filter_map(|trace| trace.extension()).collect();
    let mut n_others = 0;
    let is_named = |path: &&PathBuf| {
        let is_like_trace = path.extension().is_some_and(|ending| endings.contains(ending));
        n_others += usize::from(!is_like_trace);
        is_like_trace || n_others <= MAX_NAMED
    };
    let names = paths.iter().filter(is_named).map(|path| path.strip_prefix(directory).unwrap_or(path));
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    match paths.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
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

    /// True if no input can be read.
    pub fn is_unreadable(&self) -> bool {
        self.rows.iter().all(|(.., counts)| counts.is_none())
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
    fn skipped_files_that_end_like_a_trace_are_all_named() {
        let paths = |names: &[&str]| names.iter().map(|name| Path::new("d").join(name)).collect::<Vec<_>>();
        let others: Vec<String> = (0..10).map(|n| format!("{n}.txt")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).chain(["x.kev", "y.kev", "z"]).collect();
        let text = named(Path::new("d"), &paths(&others), &paths(&["good.kev", "trc"]));
        assert_eq!(text, "0.txt, 1.txt, 2.txt, 3.txt, 4.txt, 5.txt, 6.txt, 7.txt, x.kev, y.kev and 3 more");
    }

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
