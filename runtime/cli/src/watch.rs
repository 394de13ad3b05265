//! `tfbc watch`: prints the report of some events again after every save.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::files::Output;
use super::formats::{self, LanguageArgs};
use super::limits::LimitArgs;
use super::terminal::visible;
use clap::Args;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tfbc::{Findings, FormatInput, Formats, LoadError, LoadOptions};
use tfbc_authoring::cases::{Slice, SliceOptions, slice_text};
use tfbc_authoring::render;
use tfbc_authoring::times::{check_times, seconds};
use tfbc_authoring::watch::{CLEAR, Saves};
use tfbc_grammar::Severity;

/// Default number of events.
const FIRST: u64 = 25;

/// Flags of `tfbc watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArgs {
    /// Format file, source or blob; later ones win. `default` is the built-in file
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Only these events, as for `tfbc report --only`
    #[arg(long, value_name = "IDS")]
    only: Option<String>,
    /// Leave out these events
    #[arg(long, value_name = "IDS")]
    except: Option<String>,
    /// Only events that have a template in the given files
    #[arg(long)]
    defined: bool,
    /// Number of selected events to skip
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    skip: u64,
    /// Number of events to show
    #[arg(long, value_name = "N", default_value_t = FIRST, allow_negative_numbers = true)]
    first: u64,
    /// From this time, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    from: Option<u64>,
    /// Until this time, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    until: Option<u64>,
    /// Columns, as for `tfbc report --columns`; default for AIX id,text, for QNX class,id,data
    #[arg(long, value_name = "LIST")]
    columns: Option<String>,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Format files, followed by the trace
    #[arg(value_name = "FORMAT… TRACE", required = true)]
    paths: Vec<PathBuf>,
}

impl WatchArgs {
    /// Runs until its output is closed or the command is interrupted.
    pub fn run(&self, console: &Console) -> CommandResult {
        let (trace, more) = self.paths.split_last().ok_or(Failure::AlreadyReported)?;
        let formats: Vec<PathBuf> = self.formats.iter().chain(more).cloned().collect();
        if formats.is_empty() {
            let text = String::from("no format file: give it before the trace, as in `tfbc watch my.trcfmt boot.trc`");
            return Err(Failure::Error(Message::Usage, text));
        }
        if let Some(path) = formats.iter().chain([trace]).find(|path| *path == Path::new("-")) {
            let text = format!("`{}`: standard input cannot be watched", path.display());
            return Err(Failure::Error(Message::Usage, text));
        }
        check_times("--from", self.from, "--until", self.until).map_err(|text| Failure::Error(Message::Usage, text))?;
        let load = self.language.options()?;
        let slice = Slice {
            trace: trace.clone(),
            only: self.only.clone(),
            except: self.except.clone(),
            from_ns: self.from,
            to_ns: self.until,
            defined: self.defined,
            columns: self.columns.clone(),
            skip: self.skip,
            first: Some(self.first),
            ..Slice::default()
        };
        let options = SliceOptions {
            limits: self.limits.limits(),
            max_work: self.limits.max_work(),
            max_ratio: load.max_ratio,
            columns: ["id,text", "class,id,data"],
            ..SliceOptions::default()
        };
        let watched = || formats.iter().filter(|path| *path != Path::new(Formats::BUILT_IN)).chain([trace]).cloned();
        let mut screen = Round { console, shows: io::stdout().is_terminal(), n: 0, last_good: None };
        let mut saves = Saves::default();
        loop {
            // Before showing, so that a save during a long report starts the next round at once.
            saves.watch(watched());
            screen.show(&formats, &slice, &load, &options)?;
            if !saves.wait(|| !Output::stdout_is_closed()) {
                return Ok(Status::Well);
            }
        }
    }
}

/// State of one round between two saves.
struct Round<'c> {
    console: &'c Console,
    /// True if the output is a terminal, which is cleared.
    shows: bool,
    n: u64,
    last_good: Option<String>,
}

impl Round<'_> {
    fn show(
        &mut self,
        formats: &[PathBuf],
        slice: &Slice,
        load: &LoadOptions,
        options: &SliceOptions,
    ) -> Result<(), Failure> {
        self.n += 1;
        let mut text = String::new();
        if self.shows {
            text.push_str(CLEAR);
        } else if self.n > 1 {
            text.push('\n');
        }
        let set = Formats::load_with(FormatInput::of_paths(formats), load);
        let (report, status) = match &set {
            Ok(set) => {
                self.findings(set.findings(), &mut text);
                (slice_text(slice, set, options), summary(set.findings()))
            }
            Err(LoadError::Source(findings)) => {
                self.findings(findings, &mut text);
                (Err(String::new()), summary(findings))
            }
            Err(error) => (Err(error.to_string()), String::from("not loaded")),
        };
        // An unfinished template rarely compiles. The last good report stays visible below the errors, so that the
        // reader can compare.
        match report {
            Ok(report) => {
                text.push_str(&report);
                self.last_good = Some(report);
            }
            Err(why) => {
                if !why.is_empty() {
                    text.push_str(&format!("error: {}\n", visible(&why)));
                }
                if let Some(last) = &self.last_good {
                    text.push_str("\nthe report before:\n");
                    text.push_str(last);
                }
            }
        }
        let names: Vec<_> = formats.iter().map(|path| path.to_string_lossy()).collect();
        text.push_str(&format!("-- {}: {status}; waiting for a save (Ctrl-C ends)\n", names.join(", ")));
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| Failure::write(&error, "standard output"))
    }

    /// Errors come first, because a full screen shows only the top.
    fn findings(&self, findings: &Findings, text: &mut String) {
        let colour = self.console.colours_output(None);
        for severity in [Severity::Error, Severity::Warning] {
            for found in findings.diagnostics.iter().filter(|found| found.severity == severity) {
                text.push_str(&render::human(&findings.sources, found, colour));
                text.push('\n');
            }
        }
    }
}

fn summary(findings: &Findings) -> String {
    let (n_errors, n_warnings) = formats::count(findings);
    render::summary(n_errors, n_warnings).unwrap_or_else(|| String::from("no errors"))
}
