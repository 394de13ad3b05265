//! `tfbc test`: flags of snapshot tests.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::files::Output;
use super::formats::{self, LanguageArgs};
use super::limits::{LimitArgs, threads};
use super::overwrite;
use super::terminal::visible;
use anstyle::AnsiColor;
use clap::{Args, ValueEnum};
use regex::Regex;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tfbc::{Cache, LoadError};
use tfbc_authoring::cases::first_case::FirstCase;
use tfbc_authoring::cases::{self, CaseError, CaseResult, Results, RunOptions, SliceOptions, Suite, Verdict};
use tfbc_authoring::coverage;
use tfbc_authoring::render;
use tfbc_authoring::watch::{CLEAR, Saves};

/// Flags of `tfbc test`.
#[derive(Debug, Clone, Args)]
pub struct TestArgs {
    /// Case files (NAME.case.toml), or directories to search for them; the current directory by default
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only case files whose path, or one of whose events, matches this regular expression
    #[arg(long, value_name = "REGEX", value_parser = Regex::new)]
    filter: Option<Regex>,
    /// Accept texts without a snapshot, and changed texts that an earlier run has shown and saved as pending
    #[arg(long, conflicts_with_all = ["update", "review"])]
    accept: bool,
    /// Accept all printed texts
    #[arg(long, conflicts_with = "review")]
    update: bool,
    /// Show each change and ask for a decision, read from the terminal or standard input
    #[arg(long)]
    review: bool,
    /// Save changed texts in .snap.new files for a later --accept or --review, even if CI is set in the environment
    #[arg(long)]
    pending: bool,
    /// Write results for a build server
    #[arg(long, value_name = "FORM")]
    report: Option<ReportForm>,
    /// File for --report; standard output by default
    #[arg(long, value_name = "FILE", requires = "report")]
    report_file: Option<PathBuf>,
    /// Show which stanzas, cases, flags, loops, enums and conditions the events reach: as a table with the unreached
    /// ones, as marked source, or as a tracefile for lcov
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "summary",
        conflicts_with = "new"
    )]
    coverage: Option<CoverageForm>,
    /// Run again after every save of a case file, format file, trace or snapshot, until Ctrl-C
    #[arg(long, conflicts_with_all = ["review", "accept", "update", "new"])]
    watch: bool,
    /// Number of threads; all cores by default. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<NonZeroUsize>,
    /// Write a first case file from a trace: the first event of every kind, or with --first the first events
    #[arg(long, value_name = "TRACE", help_heading = "A first case file", conflicts_with_all = ["paths", "accept", "update", "review", "report"])]
    new: Option<PathBuf>,
    /// Format files for the new case file, sources or blobs; `default` is the built-in file
    #[arg(short = 't', long = "formats", value_name = "FORMAT", requires = "new", help_heading = "A first case file")]
    formats: Vec<PathBuf>,
    /// Only these events of the trace, as for `tfbc report --only`
    #[arg(long, value_name = "IDS", requires = "new", help_heading = "A first case file")]
    only: Option<String>,
    /// Number of events
    #[arg(long, value_name = "N", requires = "new", help_heading = "A first case file")]
    first: Option<u64>,
    /// File for --coverage; standard output by default. With --new: the case file; by default it has the name of the
    /// trace and is in the directory of the first format file
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportForm {
    /// JUnit XML
    Junit,
    /// One JSON object
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CoverageForm {
    /// Table, followed by the unreached parts
    Summary,
    /// Format files with a count for each line
    Source,
    /// Tracefile for `genhtml` and editors
    Lcov,
}

impl TestArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        if self.output.is_some() && self.new.is_none() && self.coverage.is_none() {
            return Err(Failure::Error(Message::Usage, String::from("-o is for --coverage and --new")));
        }
        let options = self.options()?;
        match &self.new {
            Some(trace) => self.begin(console, trace, &options),
            None if self.watch => self.run_on_save(console, &options),
            None => self.test(console, &options),
        }
    }

    /// Runs the cases again after every save.
    fn run_on_save(&self, console: &Console, options: &RunOptions) -> CommandResult {
        let mut saves = Saves::default();
        loop {
            if io::stdout().is_terminal() {
                print!("{CLEAR}");
            }
            // A save during the run ends the next wait at once.
            saves.watch(self.watched_files());
            if let Err(failure) = self.test(console, options) {
                match console.end(Err(failure)) {
                    Status::Well => return Ok(Status::Well),
                    _ => saves.watch(self.watched_files()),
                }
            }
            // The run itself writes snapshots below the searched directories. They must not start another run.
            saves.pass_over(&self.searched());
            console.note("-- waiting for a save (Ctrl-C ends)");
            if !saves.wait(|| !Output::stdout_is_closed()) {
                return Ok(Status::Well);
            }
        }
    }

    fn searched(&self) -> Vec<PathBuf> {
        if self.paths.is_empty() { vec![PathBuf::from(".")] } else { self.paths.clone() }
    }

    /// Files that the results depend on, and the searched directories.
    fn watched_files(&self) -> Vec<PathBuf> {
        let mut watched = self.searched();
        let found = cases::find(&watched).unwrap_or_default();
        watched.extend(Suite::read(&found.cases, self.threads).inputs());
        watched
    }

    fn options(&self) -> Result<RunOptions, Failure> {
        let mut load = self.language.options()?;
        if !self.language.no_cache {
            load.cache = Cache::of_user();
        }
        let max_ratio = load.max_ratio;
        let slices = SliceOptions {
            limits: self.limits.limits(),
            max_work: self.limits.max_work(),
            max_ratio,
            ..SliceOptions::default()
        };
        Ok(RunOptions { load, slices, threads: self.threads })
    }

    fn test(&self, console: &Console, options: &RunOptions) -> CommandResult {
        let found = cases::find(&self.searched()).map_err(|(path, error)| {
            let name = path.display();
            let hint = match path.to_str() {
                Some(form) if CoverageForm::from_str(form, false).is_ok() => {
                    format!("; write --coverage with `=`: `--coverage={form}`")
                }
                _ if path.is_file() => format!("; `tfbc test --new TRACE -t {name}` writes one for a format file"),
                _ => String::new(),
            };
            Failure::Error(Message::Unreadable, format!("cannot search {name}: {error}{hint}"))
        })?;
        if found.cases.is_empty() {
            let text = "no case file (NAME.case.toml) found; `tfbc test --new TRACE -t FORMAT` writes a first one";
            return Err(Failure::Error(Message::Unreadable, text.to_owned()));
        }
        let mut suite = Suite::read(&found.cases, options.threads);
        self.refuse_outputs(&suite)?;
        if let Some(filter) = &self.filter {
            suite.retain(|name| filter.is_match(name));
            if suite.files.is_empty() {
                let text = format!("`{filter}` matches no case file and no event");
                return Err(Failure::Error(Message::Usage, text));
            }
        }
        let mut results = suite.run(options);
        let report = self.report.is_some() && self.report_file.is_none();
        let lcov = self.coverage == Some(CoverageForm::Lcov) && self.output.is_none();
        let shown = ResultPrinter { console, to_stderr: report || lcov };
        let mut failed = shown.findings(&results, self.language.strict);
        self.accept_or_print(console, &shown, &mut results)?;
        shown.orphans(&found.orphans);
        failed |= self.language.strict && !found.orphans.is_empty();
        self.write_report(&results)?;
        self.write_coverage(console, &suite, options)?;
        shown.summary(&results);
        failed |= results.count(Verdict::Passed) < results.cases.len();
        Ok(if failed { Status::Failed } else { Status::Well })
    }

    /// Refuses outputs that are inputs: a report or coverage that would overwrite a file of the tests, and a snapshot
    /// that is a link to another file.
    fn refuse_outputs(&self, suite: &Suite) -> Result<(), Failure> {
        let (inputs, snapshots) = (suite.inputs(), suite.snapshots());
        let outputs = [&self.report_file, &self.output].into_iter().flatten();
        overwrite::refuse(outputs.map(|path| Some(&**path)), inputs.iter().chain(&snapshots).map(PathBuf::as_path))?;
        let others = inputs.iter().filter(|path| !snapshots.contains(*path));
        overwrite::refuse(snapshots.iter().map(|path| Some(&**path)), others.map(PathBuf::as_path))
    }

    /// Accepts or stores texts, depending on the flags, and prints the remaining ones.
    fn accept_or_print(
        &self,
        console: &Console,
        shown: &ResultPrinter<'_>,
        results: &mut Results,
    ) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::write(&error, "a snapshot");
        let mut n_accepted = 0;
        let open = |case: &&mut CaseResult| matches!(case.verdict, Verdict::Changed | Verdict::New);
        if self.accept || self.update {
            for case in results.cases.iter_mut().filter(open) {
                // `--accept` must not accept a text that nobody has seen, so a text that has changed since the last run
                // stays pending.
                if self.update || case.verdict == Verdict::New || case.was_shown() {
                    shown.line("accepted", AnsiColor::Green, &case.path.display().to_string())?;
                    case.accept().map_err(failed)?;
                    n_accepted += 1;
                }
            }
            if n_accepted == 0 && results.cases.iter_mut().filter(open).count() == 0 {
                console.note("no texts are pending");
            }
        }
        if self.review {
            for case in results.cases.iter().filter(|case| case.verdict == Verdict::Broken) {
                shown.broken(case, results)?;
            }
            let look = cases::ReviewStyle { colour: console.colours_output(None), echo: !io::stdin().is_terminal() };
            let reviewed = cases::review(results, &mut io::stdin().lock(), &mut io::stdout().lock(), look)
                .map_err(|error| Failure::write(&error, "the review"))?;
            let cases::Reviewed { accepted, rejected, skipped } = reviewed;
            console.note(format!("{accepted} accepted, {rejected} rejected, {skipped} skipped"));
            return Ok(());
        }
        // A build server must not leave files in the checkout. Many set CI, and some set it to `false`.
        let keeps = self.pending || std::env::var_os("CI").is_none_or(|value| value.is_empty() || value == "false");
        for case in &results.cases {
            match case.verdict {
                Verdict::Changed | Verdict::New => {
                    shown.difference(case)?;
                    if keeps {
                        case.write_pending().map_err(failed)?;
                    }
                }
                Verdict::Broken => shown.broken(case, results)?,
                Verdict::Passed if case.pending.is_some() && keeps => case.remove_pending().map_err(failed)?,
                Verdict::Passed => {}
            }
            shown.limits(case);
        }
        Ok(())
    }

    fn write_report(&self, results: &Results) -> Result<(), Failure> {
        let Some(form) = self.report else { return Ok(()) };
        let what = self.report_file.as_ref().map_or("standard output".into(), |path| path.to_string_lossy());
        let failed = |error| Failure::write(&error, &what);
        let text = match form {
            ReportForm::Json => cases::json(results),
            ReportForm::Junit => cases::junit(results).map_err(failed)?,
        };
        let mut out = Output::open(self.report_file.as_deref()).map_err(failed)?;
        out.write_all(text.as_bytes()).and_then(|()| out.commit()).map_err(failed)
    }

    /// Formats all events again and writes the coverage.
    fn write_coverage(&self, console: &Console, suite: &Suite, options: &RunOptions) -> Result<(), Failure> {
        let Some(form) = self.coverage else { return Ok(()) };
        let coverage = coverage::measure(suite, options);
        for file in &coverage.left_out {
            console.warning(Message::Notable, format!("{file}: no coverage, because it is a blob or does not compile"));
        }
        let text = match form {
            CoverageForm::Summary => coverage::table(&coverage, !console.quiet),
            CoverageForm::Source => coverage::marked(&coverage, console.colours_output(self.output.as_deref())),
            CoverageForm::Lcov => coverage::lcov(&coverage),
        };
        let what = self.output.as_ref().map_or("standard output".into(), |path| path.to_string_lossy());
        let failed = |error| Failure::write(&error, &what);
        let mut out = Output::open(self.output.as_deref()).map_err(failed)?;
        out.write_all(text.as_bytes()).and_then(|()| out.commit()).map_err(failed)
    }

    /// Writes a first case file.
    fn begin(&self, console: &Console, trace: &Path, options: &RunOptions) -> CommandResult {
        let settings = self.language.dialect.iter().filter_map(|setting| setting.split_once('='));
        let beginning = FirstCase {
            trace: trace.to_owned(),
            formats: self.formats.clone(),
            dialect: settings.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect(),
            only: self.only.clone(),
            first: self.first,
        };
        let beside = self.formats.first().and_then(|path| path.parent()).unwrap_or(Path::new(""));
        let path = self.output.clone().unwrap_or_else(|| beginning.path(beside));
        overwrite::refuse([Some(&*path)], overwrite::files(&self.formats).chain([trace]))?;
        let set = formats::load(console, &self.formats, &self.language)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let text = beginning.text(directory, &set, &options.slices);
        let text = text.map_err(|text| Failure::Error(Message::Unreadable, text))?;
        let Some(text) = text else {
            let text = format!("no event of {} is selected", trace.display());
            return Err(Failure::Error(Message::Unreadable, text));
        };
        // An existing case file may have been edited by hand, so it is never replaced.
        if path.exists() && path != Path::new("-") {
            let text = format!("{} exists; name another file with -o", path.display());
            return Err(Failure::Error(Message::Unwritable, text));
        }
        if !path.to_string_lossy().ends_with(cases::SUFFIX) && path != Path::new("-") {
            let text = format!("{}: a case file's name ends with `{}`", path.display(), cases::SUFFIX);
            return Err(Failure::Error(Message::Usage, text));
        }
        let ending = super::print(console, &text, Some(&path))?;
        if path != Path::new("-") {
            let n = text.matches("\n[[event]]").count() as u64;
            console.note(format!("wrote {} with {}", path.display(), super::count(n, "event")));
        }
        Ok(ending.max(formats::loaded(&set)))
    }
}

/// Prints a run for people.
struct ResultPrinter<'c> {
    console: &'c Console,
    /// True if the report for programs goes to standard output.
    to_stderr: bool,
}

impl ResultPrinter<'_> {
    fn write(&self, text: &str) -> Result<(), Failure> {
        if self.to_stderr {
            self.console.write(text);
            return Ok(());
        }
        io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::write(&error, "standard output"))
    }

    fn colour(&self) -> bool {
        if self.to_stderr { self.console.colour } else { self.console.colours_output(None) }
    }

    fn line(&self, word: &str, colour: AnsiColor, text: &str) -> Result<(), Failure> {
        let text = visible(text);
        if self.colour() {
            let style = colour.on_default().bold();
            self.write(&format!("{style}{word}{style:#} {text}\n"))
        } else {
            self.write(&format!("{word} {text}\n"))
        }
    }

    /// Prints diagnostics of the format files; true if they fail the run.
    fn findings(&self, results: &Results, strict: bool) -> bool {
        let mut n_warnings = 0;
        for set in &results.sets {
            match &set.loaded {
                Ok(set) => {
                    formats::show(self.console, set.findings(), strict);
                    n_warnings += set.findings().diagnostics.len();
                }
                Err(LoadError::Source(findings)) => drop(formats::show(self.console, findings, strict)),
                Err(_) => {}
            }
        }
        strict && n_warnings > 0
    }

    fn difference(&self, case: &CaseResult) -> Result<(), Failure> {
        let what = if case.verdict == Verdict::New { ": nothing is accepted yet" } else { "" };
        self.line(case.verdict.word(), AnsiColor::BrightRed, &format!("{}{what}", case.path.display()))?;
        self.write(&format!("{}\n", case.diff(self.colour())))
    }

    fn broken(&self, case: &CaseResult, results: &Results) -> Result<(), Failure> {
        self.line("broken", AnsiColor::BrightRed, &case.path.display().to_string())?;
        let mut text = String::new();
        match &case.broken {
            Some(CaseError::Case(bad)) => {
                for found in &bad.diagnostics {
                    text.push_str(&render::human(&bad.sources, found, self.colour()));
                }
            }
            Some(CaseError::Formats(set)) => match results.sets.get(*set).map(|set| &set.loaded) {
                Some(Err(LoadError::Source(_))) => text.push_str("  its format files do not compile\n"),
                Some(Err(error)) => {
                    let _ = writeln!(text, "  {}", visible(&error.to_string()));
                }
                _ => {}
            },
            Some(CaseError::Other(lines)) => lines.iter().for_each(|line| {
                let _ = writeln!(text, "  {}", visible(line));
            }),
            None => {}
        }
        self.write(&format!("{text}\n"))
    }

    /// Prints the events that reached a limit.
    fn limits(&self, case: &CaseResult) {
        for event in case.events.iter().filter(|event| event.limited) {
            let text = format!(
                "{}: `{}` reached a limit (--max-turns, --max-steps, --max-text)",
                case.path.display(),
                event.name
            );
            self.console.warning(Message::Notable, text);
        }
    }

    fn orphans(&self, orphans: &[PathBuf]) {
        for orphan in orphans {
            let text = format!("{}: this snapshot has no case file; delete it", orphan.display());
            self.console.warning(Message::Notable, text);
        }
    }

    fn summary(&self, results: &Results) {
        let n = |verdict: Verdict| (results.count(verdict), verdict.word());
        let counts = Verdict::ALL.map(n).into_iter().filter(|(n, word)| *n > 0 || *word == "passed");
        let counts: Vec<_> = counts.map(|(n, word)| format!("{n} {word}")).collect();
        let (cases, events) = (results.cases.len() as u64, results.n_events() as u64);
        let (cases, events) = (super::count(cases, "case file"), super::count(events, "event"));
        let text = format!("{cases} with {events}: {}", counts.join(", "));
        self.console.note(text);
        let open = results.count(Verdict::Changed) + results.count(Verdict::New);
        if open > 0 {
            self.console
                .note("`tfbc test --review` asks about each text; `tfbc test --accept` accepts all that were shown");
        }
    }
}
