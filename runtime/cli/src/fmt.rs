//! `tfbc fmt`: brings format files into the canonical layout.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::formats;
use super::limits::SourceLimitArgs;
use super::terminal::visible;
use clap::Args;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tfbc::Findings;
use tfbc_authoring::update::{locked, replace, trace_or_packed};
use tfbc_grammar::{Formatted, Source, SourceId, SourceLimits, Sources, format};

/// Flags of `tfbc fmt`.
#[derive(Debug, Clone, Args)]
pub struct FmtArgs {
    /// Write no file; show the changes as a diff, and exit with 1 if there are any
    #[arg(long, conflicts_with = "stdout")]
    check: bool,
    /// Write the result to standard output and keep the files
    #[arg(long)]
    stdout: bool,
    #[command(flatten)]
    limits: SourceLimitArgs,
    /// Format files, trcfmt or XML, to rewrite in place; `-` formats standard input to standard output
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Number of files by result.
#[derive(Debug, Default)]
struct FileCounts {
    n_changed: u64,
    n_same: u64,
    /// Files that cannot be read or written, or that contain stanzas or documents with errors.
    n_failed: u64,
}

impl FmtArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let mut tally = FileCounts::default();
        for path in &self.files {
            match self.file(console, path, &mut tally) {
                Ok(()) => {}
                Err(Failure::Error(message, text)) => {
                    console.error(message, text);
                    tally.n_failed += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
        if !self.is_filter() {
            console.note(self.summary(&tally));
        }
        let is_well = tally.n_failed == 0 && !(self.check && tally.n_changed > 0);
        Ok(if is_well { Status::Well } else { Status::Failed })
    }

    /// True if the result goes to standard output, so that no summary is printed.
    fn is_filter(&self) -> bool {
        self.stdout || self.files.iter().all(|path| path == Path::new("-"))
    }

    fn summary(&self, tally: &FileCounts) -> String {
        let changed = match self.check {
            true => "would change",
            false => "changed",
        };
        let mut text = format!("{} {changed}, {} unchanged", super::count(tally.n_changed, "file"), tally.n_same);
        if tally.n_failed > 0 {
            let _ = write!(text, ", {} with errors", tally.n_failed);
        }
        text
    }

    fn file(&self, console: &Console, path: &Path, tally: &mut FileCounts) -> Result<(), Failure> {
        let limits = self.limits.limits();
        let to_stdout = self.stdout || path == Path::new("-");
        let in_place = !self.check && !to_stdout;
        let unreadable = |why: String| {
            let text = format!("cannot read {}: {why}", path.display());
            Failure::Error(Message::Unreadable, text)
        };
        // The lock makes trcupdate and other tfbc commands wait.
        let _lock = in_place.then(|| locked(path)).transpose().map_err(|error| unreadable(error.to_string()))?;
        let source = read(path, &limits).map_err(unreadable)?;
        let Formatted { rewrites, diagnostics } = format(SourceId(0), &source, &limits);
        let is_same = rewrites.is_empty();
        let text = Formatted { rewrites, diagnostics: Vec::new() }.text(&source);
        *if is_same { &mut tally.n_same } else { &mut tally.n_changed } += 1;
        if self.check && !is_same {
            super::print_styled(diff(source.name(), source.bytes(), &text, console.colours_output(None)))?;
        } else if !self.check && to_stdout {
            super::print(console, source.encode(&text), None)?;
        } else if in_place && !is_same {
            let (old, new) = (source.encode(source.bytes()), source.encode(&text));
            replace(path, &old, &new).map_err(|error| Failure::write(&error, path.display()))?;
        }
        if !diagnostics.is_empty() {
            tally.n_failed += 1;
            let mut sources = Sources::new();
            sources.add(source);
            formats::show(console, &Findings::new(sources, diagnostics), false);
        }
        Ok(())
    }
}

fn read(path: &Path, limits: &SourceLimits) -> Result<Source, String> {
    let max = limits.source.max(limits.xml);
    let mut bytes = Vec::new();
    let n_wanted = max as u64 + 1;
    let read = if path == Path::new("-") {
        io::stdin().lock().take(n_wanted).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(n_wanted).read_to_end(&mut bytes))
    };
    read.map_err(|error| error.to_string())?;
    let other = match bytes.starts_with(&tfbc_vm::LABEL) {
        true => Some("compiled blob: format its source"),
        false => trace_or_packed(&bytes),
    };
    match other {
        Some(what) => Err(format!("it is a {what}")),
        None if bytes.len() > max => {
            let (max, flag) = limits.of_language(&bytes);
            Err(format!("it has more than {max} bytes ({flag} raises the limit)"))
        }
        None => {
            let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
            Ok(Source::new(name, bytes))
        }
    }
}

/// Lines of context in a diff.
const CONTEXT: usize = 2;
/// Time limit for finding a short diff.
const PATIENCE: Duration = Duration::from_secs(2);

/// Changes as a unified diff.
fn diff(name: &str, old: &[u8], new: &[u8], colour: bool) -> String {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&old, &new);
    let style = |colour: anstyle::AnsiColor| colour.on_default();
    let (red, green, cyan) =
        (style(anstyle::AnsiColor::Red), style(anstyle::AnsiColor::Green), style(anstyle::AnsiColor::Cyan));
    let mut out = format!("--- {0}\n+++ {0}\n", visible(name));
    let mut line = |style: anstyle::Style, mark: &str, text: &str| {
        let text = visible(text);
        let _ = match colour && style != anstyle::Style::new() {
            true => writeln!(out, "{style}{mark}{text}{style:#}"),
            false => writeln!(out, "{mark}{text}"),
        };
    };
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        line(cyan, "", &hunk.header().to_string());
        for change in hunk.iter_changes() {
            let (style, mark) = match change.tag() {
                ChangeTag::Equal => (anstyle::Style::new(), " "),
                ChangeTag::Delete => (red, "-"),
                ChangeTag::Insert => (green, "+"),
            };
            line(style, mark, change.value().trim_end_matches('\n'));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_shown_with_the_lines_around_it() {
        let text = diff("a", b"1\n2\n3\n4 \n5\n6\n7\n", b"1\n2\n3\n4\n5\n6\n7\n", false);
        assert_eq!(text, "--- a\n+++ a\n@@ -2,5 +2,5 @@\n 2\n 3\n-4 \n+4\n 5\n 6\n");
    }
}
