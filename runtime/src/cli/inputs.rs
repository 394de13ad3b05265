//! Several inputs: what directories stand for, and the summary behind the last report.

use super::console::{Console, Failure, Message};
use super::trace::TraceArgs;
use crate::reader::AnyTrace;
use crate::reader::aix::cpu_files;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files of a directory that are named as left out.
const MAX_NAMED: usize = 8;

/// The traces that paths stand for: a directory for the traces in it, by name.
///
/// # Errors
/// A directory cannot be read, or holds no trace.
pub fn expand(console: &Console, paths: &[PathBuf], args: &TraceArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut traces = Vec::new();
    for path in paths {
        if path.is_dir() {
            let refused = |why: &dyn std::fmt::Display| {
                Failure::Say(Message::Unreadable, format!("cannot read {}: {why}", path.display()))
            };
            let Files { mut found, left_out } = look_into(path, args).map_err(|error| refused(&error))?;
            if found.is_empty() {
                return Err(refused(&"no file in this directory is a trace"));
            }
            if !left_out.is_empty() {
                console.note(format_args!("{}: left out, since no traces: {}", path.display(), named(&left_out)));
            }
            drop_members(&mut found, args);
            traces.append(&mut found);
        } else {
            traces.push(path.clone());
        }
    }
    Ok(traces)
}

/// The files of a directory.
#[derive(Debug, Default)]
struct Files {
    found: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
}

fn look_into(directory: &Path, args: &TraceArgs) -> io::Result<Files> {
    let mut files = Files::default();
    let mut paths =
        fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths.into_iter().filter(|path| path.is_file()) {
        // A file that cannot be read is no less wanted: the report says why it is not there.
        let wanted = args.format.is_some() || AnyTrace::is_trace(&path).unwrap_or(true);
        if wanted { files.found.push(path) } else { files.left_out.push(path) }
    }
    Ok(files)
}

fn named(paths: &[PathBuf]) -> String {
    let names = paths.iter().filter_map(|path| path.file_name()).take(MAX_NAMED);
    let names = names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(MAX_NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// Drops the files of single processors that belong to a base file among the others.
fn drop_members(paths: &mut Vec<PathBuf>, args: &TraceArgs) {
    let options = args.options();
    let members: BTreeSet<PathBuf> = paths.iter().flat_map(|path| cpu_files(path, &options)).collect();
    paths.retain(|path| !members.contains(path));
}

/// What the report of one trace counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub n_events: u64,
    pub n_reported: u64,
    pub n_damaged: u64,
}

/// What became of each input.
#[derive(Debug, Default)]
pub struct Overview {
    rows: Vec<(String, Option<Counts>)>,
}

impl Overview {
    /// Adds an input, `None` where it cannot be read.
    pub fn add(&mut self, path: &Path, counts: Option<Counts>) {
        self.rows.push((path.display().to_string(), counts));
    }

    /// A line for each input, and one for all.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let mut total = Counts::default();
        let _ = writeln!(out, "{:>12} {:>12} {:>9}  trace", "events", "reported", "damaged");
        for (name, counts) in &self.rows {
            match counts {
                Some(counts) => {
                    row(counts, name, &mut out);
                    total.n_events += counts.n_events;
                    total.n_reported += counts.n_reported;
                    total.n_damaged += counts.n_damaged;
                }
                None => {
                    let _ = writeln!(out, "{:>12} {:>12} {:>9}  {name} (cannot be read)", "-", "-", "-");
                }
            }
        }
        row(&total, &format!("total of {}", super::count(self.rows.len() as u64, "trace")), &mut out);
        out.truncate(out.trim_end().len());
        out
    }
}

fn row(counts: &Counts, name: &str, out: &mut String) {
    let Counts { n_events, n_reported, n_damaged } = counts;
    let _ = writeln!(out, "{n_events:>12} {n_reported:>12} {n_damaged:>9}  {name}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_a_line_for_each_input() {
        let mut overview = Overview::default();
        overview.add(Path::new("a"), Some(Counts { n_events: 10, n_reported: 3, n_damaged: 1 }));
        overview.add(Path::new("b"), None);
        assert_eq!(
            overview.table(),
            "      events     reported   damaged  trace\n\
            \x20         10            3         1  a\n\
            \x20          -            -         -  b (cannot be read)\n\
            \x20         10            3         1  total of 2 traces"
        );
    }
}
