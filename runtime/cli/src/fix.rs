//! `tfbc check --fix`: writes fixed format files.

use super::console::{Console, Failure, Message};
use super::files::Input;
use super::terminal::{show, visible};
use anstyle::AnsiColor;
use clap::{Args, ValueEnum};
use similar::udiff::UnifiedHunkHeader;
use similar::{Algorithm, ChangeTag, capture_diff_slices, group_diff_ops};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use tfbc::Formats;
use tfbc_authoring::fix::{FixLevel, Fixed};
use tfbc_authoring::update::{locked, replace};
use tfbc_grammar::{Source, Sources};

/// Flags of `tfbc check` for fixes.
#[derive(Debug, Clone, Args)]
#[group(id = "fixes")]
pub struct FixArgs {
    /// Repair the problems found and show the rest: `safe` keeps the meaning of the files; `all` also guesses, such as
    /// the nearest name
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "safe")]
    fix: Option<FixArg>,
    /// Short for --fix=all
    #[arg(long, conflicts_with = "fix")]
    unsafe_fixes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FixArg {
    /// Repairs that keep the meaning, or are surely intended
    Safe,
    /// Guesses as well
    All,
}

impl FixArgs {
    /// Level of fixes that the flags ask for.
    pub fn wanted(&self) -> Option<FixLevel> {
        match (self.fix, self.unsafe_fixes) {
            (Some(FixArg::All), _) | (_, true) => Some(FixLevel::All),
            (Some(FixArg::Safe), _) => Some(FixLevel::Safe),
            (None, false) => None,
        }
    }
}

/// Writes each changed file completely or not at all. Standard input goes to standard output.
///
/// # Errors
/// A file cannot be written, or has changed since it was read.
pub fn write(console: &Console, before: &Sources, fixed: &Fixed) -> Result<(), Failure> {
    for (old, new) in changed(before, fixed) {
        let path = Path::new(new.name());
        if path == Path::new("-") {
            super::print(console, new.encode(new.bytes()), None)?;
            continue;
        }
        let refuse = |text: String| Failure::Error(Message::Unwritable, text);
        if path == Path::new(Formats::BUILT_IN) {
            return Err(refuse(format!("`{}` is the built-in file and cannot be changed", Formats::BUILT_IN)));
        }
        let failed = |error| Failure::write(&error, path.display());
        // Only one file is locked at a time, so two commands cannot block each other.
        let _lock = locked(path).map_err(failed)?;
        // Plain text under a name that ends in .gz could not be opened by the next command.
        if let Some(unpacker) = Input::open(path).map_err(failed)?.unpacker() {
            let (path, compression) = (path.display(), unpacker.compression());
            return Err(refuse(format!("cannot write {path}: it is compressed by {compression}: unpack it first")));
        }
        // `replace` refuses if the file no longer has the old bytes: an editor may have saved it since it was read.
        replace(path, &old.encode(old.bytes()), &new.encode(new.bytes())).map_err(failed)?;
    }
    Ok(())
}

/// Prints, per file, how many problems were fixed and how many remain.
pub fn print_counts(console: &Console, fixed: &Fixed, only_shown: bool) {
    for ((id, source), n_fixed) in fixed.sources.iter().zip(&fixed.n_fixed) {
        if *n_fixed > 0 {
            let n_left = fixed.diagnostics.iter().filter(|found| found.primary.source == id).count();
            let what = super::count(*n_fixed as u64, "finding");
            let verb = if only_shown { "would fix" } else { "fixed" };
            let name = if source.name() == "-" { "standard input" } else { source.name() };
            console.note(format_args!("{verb} {what} in {name} ({n_left} left)"));
        }
    }
}

fn changed<'s>(before: &'s Sources, fixed: &'s Fixed) -> impl Iterator<Item = (&'s Source, &'s Source)> {
    let pairs = before.iter().zip(fixed.sources.iter()).map(|((_, old), (_, new))| (old, new));
    pairs.filter(|(old, new)| old.bytes() != new.bytes())
}

/// Changes of the fixes, as a unified diff.
pub fn diff(console: &Console, before: &Sources, fixed: &Fixed) -> Vec<u8> {
    let (colour, shows_controls) = (console.colours_output(None), console.shows_controls());
    let mut out = Vec::new();
    for (old, new) in changed(before, fixed) {
        let name = visible(old.name()).into_owned();
        let _ = write!(out, "{}", paint(colour, AnsiColor::White, &format!("--- {name}\n+++ {name}\n")));
        let (old, new) = (lines(old.bytes()), lines(new.bytes()));
        for hunk in group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), 3) {
            let header = UnifiedHunkHeader::new(&hunk).to_string();
            let _ = writeln!(out, "{}", paint(colour, AnsiColor::Cyan, &header));
            for change in hunk.iter().flat_map(|op| op.iter_changes(&old, &new)) {
                let mut line = Vec::new();
                if shows_controls {
                    show(change.value(), &mut line);
                } else {
                    line.extend_from_slice(change.value());
                }
                put_line(&mut out, change.tag(), &line, colour);
            }
        }
    }
    out
}

/// Lines of a text, with their line ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn put_line(out: &mut Vec<u8>, tag: ChangeTag, line: &[u8], colour: bool) {
    let (mark, style) = match tag {
        ChangeTag::Equal => (' ', None),
        ChangeTag::Delete => ('-', Some(AnsiColor::Red)),
        ChangeTag::Insert => ('+', Some(AnsiColor::Green)),
    };
    let style = style.filter(|_| colour).map(|style| style.on_default());
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let mut begin = String::new();
    if let Some(style) = style {
        let _ = write!(begin, "{style}");
    }
    begin.push(mark);
    out.extend_from_slice(begin.as_bytes());
    out.extend_from_slice(text);
    if let Some(style) = style {
        out.extend_from_slice(format!("{style:#}").as_bytes());
    }
    out.push(b'\n');
    if text.len() == line.len() {
        out.extend_from_slice(b"\\ No newline at end of file\n");
    }
}

fn paint(colour: bool, ink: AnsiColor, text: &str) -> String {
    if !colour {
        return text.to_owned();
    }
    let style = ink.on_default().bold();
    format!("{style}{text}{style:#}")
}
