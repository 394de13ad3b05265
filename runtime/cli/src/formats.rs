//! Format files of a command: flags, loading, and messages.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::levels::LevelArgs;
use super::limits::RatioArgs;
use super::limits::SourceLimitArgs;
use super::terminal::visible;
use clap::Args;
use std::path::PathBuf;
use tfbc::{Cache, EventId, Findings, FormatFile, FormatInput, Formats, LoadError, LoadOptions, System};
use tfbc_authoring::render;
use tfbc_compiler::{DEFINES_NOTHING, Dialect, FIELD_ENTRY, LeftOut, Options};
use tfbc_grammar::codes::UNDEFINED_CODE;
use tfbc_grammar::{Diagnostic, Severity, datakey};

/// Flags of every command that takes format files.
#[derive(Debug, Clone, Default, Args)]
pub struct LanguageArgs {
    /// Set a dialect option of the format language; `help` lists them
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Format files")]
    pub dialect: Vec<String>,
    /// Treat warnings about format files as errors, and stop at any error
    #[arg(long, help_heading = "Format files")]
    pub strict: bool,
    /// Compile format files again and do not cache the result
    #[arg(long, help_heading = "Format files")]
    pub no_cache: bool,
    /// Levels of diagnostics.
    #[command(flatten)]
    pub levels: LevelArgs,
    /// Limits of format files.
    #[command(flatten)]
    pub limits: SourceLimitArgs,
    /// Limit of the decompression ratio.
    #[command(flatten)]
    pub ratio: RatioArgs,
}

impl LanguageArgs {
    /// True if the user asked for the list of settings.
    pub fn asks_for_help(&self) -> bool {
        self.dialect.iter().any(|setting| setting == "help")
    }

    /// Names and values of the settings of `--dialect` that differ from the defaults, ordered by name.
    #[cfg(feature = "arrow")]
    pub fn changed_settings(&self) -> Vec<(String, String)> {
        let split = self.dialect.iter().filter_map(|setting| setting.split_once('='));
        let mut settings: std::collections::BTreeMap<_, _> =
            split.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect();
        settings.retain(|name, value| {
            let of_report = Dialect::REPORT_SETTINGS.iter().find(|(known, ..)| known == name);
            let mut dialect = Dialect::default();
            match of_report {
                Some((_, values, _)) => values.first() != Some(&value.as_str()),
                None => dialect.set(name, value).is_ok() && dialect != Dialect::default(),
            }
        });
        settings.into_iter().collect()
    }

    /// Settings that affect the report of a trace.
    pub fn report_dialect(&self) -> Result<ReportDialect, Failure> {
        let mut settings = ReportDialect::default();
        for (name, value) in self.dialect.iter().filter_map(|setting| setting.split_once('=')) {
            let (name, value) = (name.trim(), value.trim());
            match (name, value) {
                ("b-generic-word", "8" | "4") => settings.short_generic_word = value == "4",
                ("delta", "reported" | "all") => settings.delta_of_all = value == "all",
                ("b-generic-word", _) => return Err(wrong_value(name, "8, 4", value)),
                ("delta", _) => return Err(wrong_value(name, "reported, all", value)),
                _ => {}
            }
        }
        Ok(settings)
    }

    /// Settings for loading format files.
    pub fn options(&self) -> Result<LoadOptions, Failure> {
        let mut options = LoadOptions {
            max_ratio: self.ratio.ratio(),
            verify_whole: true,
            refuse_updates: false,
            compile: Options { limits: self.limits.limits(), levels: self.levels.levels()?, ..Options::default() },
            cache: None,
            instrument: false,
            plain: false,
        };
        for setting in &self.dialect {
            let Some((name, value)) = setting.split_once('=') else {
                let text = format!(
                    "`{setting}` is not a dialect setting: expected NAME=VALUE (`--dialect help` lists all settings)"
                );
                return Err(Failure::Error(Message::Usage, text));
            };
            if Dialect::is_of_report(name.trim()) {
                self.report_dialect()?;
                continue;
            }
            let refused = |error: tfbc_compiler::DialectError| Failure::Error(Message::Usage, error.0);
            options.compile.dialect.set(name.trim(), value.trim()).map_err(refused)?;
        }
        Ok(options)
    }
}

/// Settings of `--dialect` that affect the report of a trace, not format files.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportDialect {
    /// True if the delta column counts from the previous event of the trace, false if from the previous reported one.
    pub delta_of_all: bool,
    /// True if a 32-bit program's generic hook in a 64-bit trace has a data word of 4 bytes, false if 8.
    pub short_generic_word: bool,
}

fn wrong_value(name: &str, values: &str, found: &str) -> Failure {
    let text = format!("dialect setting `{name}` takes {values}, found `{found}`");
    Failure::Error(Message::Usage, text)
}

/// Text of `--dialect help`: the dialect's settings with the default first, then choices made by other flags, then
/// fixed choices.
pub fn dialect_help() -> String {
    let mut out = String::new();
    for (name, values, what) in Dialect::REPORT_SETTINGS {
        out.push_str(&format!("{name}={}\n    {what} (report)\n", values.join("|")));
    }
    for (name, values, what) in Dialect::SETTINGS {
        out.push_str(&format!("{name}={}\n    {what}\n", values.join("|")));
    }
    out.push_str("\n(report): belongs to the command, not to a format file or blob\n\nOther switches:\n");
    for (what, values) in Dialect::OTHER_SWITCHES {
        out.push_str(&format!("{what}\n    {values}\n"));
    }
    out.push_str("\nWithout a switch:\n");
    for (what, decision) in Dialect::WITHOUT_SWITCH {
        out.push_str(&format!("{what}\n    {decision}\n"));
    }
    out
}

/// Loads format files for a command that shows an author what a stanza does. Errors are printed and end the command.
/// Warnings are hidden unless they count as errors.
pub fn load(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Result<Formats, Failure> {
    load_with(console, paths, language, &cached(language)?)
}

/// Loads format files like [`load`], but verifies the routines of large blobs before their first run.
pub fn load_to_run(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Result<Formats, Failure> {
    let options = LoadOptions { verify_whole: false, ..cached(language)? };
    load_with(console, paths, language, &options)
}

/// Loads format files for a command that continues despite errors, unless `--strict` is given. Stanzas with errors are
/// left out, and unknown format codes print as text. Errors are printed, and warnings are counted per file.
pub fn load_leniently(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Result<Formats, Failure> {
    continue_past_mistakes(console, paths, language, cached(language)?)
}

/// Loads format files for the description of a trace like [`load_leniently`], but refuses update files.
pub fn load_for_info(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Result<Formats, Failure> {
    let options = LoadOptions { refuse_updates: true, ..cached(language)? };
    continue_past_mistakes(console, paths, language, options)
}

/// Loads format files for a report like [`load_for_info`], but verifies the routines of large blobs before their first
/// run.
pub fn load_for_report(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Result<Formats, Failure> {
    let options = LoadOptions { refuse_updates: true, verify_whole: false, ..cached(language)? };
    continue_past_mistakes(console, paths, language, options)
}

fn continue_past_mistakes(
    console: &Console,
    paths: &[PathBuf],
    language: &LanguageArgs,
    mut options: LoadOptions,
) -> Result<Formats, Failure> {
    options.compile.keep_going = !language.strict;
    options.compile.codes_as_text = !language.strict;
    let formats = load_with(console, paths, language, &options)?;
    show_left_out(console, formats.findings());
    count_warnings(console, formats.findings());
    Ok(formats)
}

fn cached(language: &LanguageArgs) -> Result<LoadOptions, Failure> {
    let mut options = language.options()?;
    if !language.no_cache {
        options.cache = Cache::of_user();
    }
    Ok(options)
}

/// Loads format files without fused instructions, so that each step of a template is one instruction.
pub fn load_plainly(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Result<Formats, Failure> {
    let options = LoadOptions { plain: true, ..language.options()? };
    load_with(console, paths, language, &options)
}

fn load_with(
    console: &Console,
    paths: &[PathBuf],
    language: &LanguageArgs,
    options: &LoadOptions,
) -> Result<Formats, Failure> {
    let formats = match Formats::load_with(FormatInput::of_paths(paths), options) {
        Ok(formats) => formats,
        Err(LoadError::Source(mut findings)) if !language.strict => {
            findings.diagnostics.retain(|found| found.severity == Severity::Error);
            return Err(refusal(console, LoadError::Source(findings), false));
        }
        Err(error) => return Err(refusal(console, error, language.strict)),
    };
    let (findings, found) = (formats.findings(), formats.diagnostics());
    if (language.strict && !found.is_empty()) || has_denied(findings) {
        show(console, findings, true);
        return Err(Failure::AlreadyReported);
    }
    // If only a part is refused, the rest stays in use.
    show_where(console, findings, is_shown);
    for found in found.iter().filter(|found| found.code == &DEFINES_NOTHING) {
        let name = findings.sources.get(found.primary.source).map_or("", |source| source.name());
        console.warning(Message::Formats, format!("{name}: {}", found.message));
    }
    Ok(formats)
}

/// True if a warning counts as an error.
pub fn has_denied(findings: &Findings) -> bool {
    let is_denied = |found: &Diagnostic| found.severity == Severity::Error && found.code.severity != Severity::Error;
    findings.diagnostics.iter().any(is_denied)
}

/// True if commands other than `check` and `compile` print this diagnostic.
fn is_shown(found: &Diagnostic) -> bool {
    found.severity == Severity::Error || found.code == &UNDEFINED_CODE
}

/// Prints, for each file, how many stanzas were left out, and their ids.
pub fn show_left_out(console: &Console, findings: &Findings) {
    for (id, source) in findings.sources.iter() {
        let out: Vec<&LeftOut> = findings.left_out.iter().filter(|out| out.source == id).collect();
        if out.is_empty() {
            continue;
        }
        let mut ids: Vec<u16> = out.iter().filter_map(|out| out.id).collect();
        ids.sort_unstable();
        let ids: Vec<String> = ids.into_iter().map(|id| EventId::Hook(id).name()).collect();
        let ids = if ids.is_empty() { String::new() } else { format!(" ({})", ids.join(", ")) };
        let n = super::count(out.len() as u64, "stanza");
        console.write(&visible(&format!("{}: {n} left out{ids}\n", source.name())));
    }
}

/// Prints, for each file, the number of warnings and the command that shows them.
fn count_warnings(console: &Console, findings: &Findings) {
    if console.terse {
        return;
    }
    let command = if console.compatible { "trcrpt -c -t" } else { "tfbc check" };
    for (id, source) in findings.sources.iter() {
        // Diagnostics that are printed anyway are not counted.
        let is_counted = |found: &&Diagnostic| {
            let is_said = is_shown(found) || found.code == &DEFINES_NOTHING;
            // Checking the file alone would not show stanzas that another file replaces.
            let is_of_set = found.secondary.iter().any(|label| label.source != id);
            found.primary.source == id && !is_said && !is_of_set
        };
        let n = findings.diagnostics.iter().filter(is_counted).count();
        let name = source.name();
        if n > 0 && !datakey::is_xml(source) {
            let n = super::count(n as u64, "warning");
            console.note(format_args!("{name}: {n}; {command} {name} shows them"));
        }
    }
}

/// Warns about format files that are not used because they belong to another system. `input` is the name of the only
/// input.
pub fn warn_of_others(console: &Console, files: &[FormatFile], systems: &[System], input: Option<&str>) {
    for FormatFile { name, systems: formatted, .. } in files {
        let [system] = formatted[..] else { continue };
        if systems.is_empty() || systems.contains(&system) {
            continue;
        }
        let (formats, other) = match system {
            System::Aix => ("AIX traces", "from QNX"),
            System::Qnx => ("QNX logs", "from AIX"),
        };
        let input = input.map_or_else(|| format!("all inputs are {other}"), |input| format!("{input} is {other}"));
        console.warning(Message::Notable, format!("{name} is not used: it formats {formats}, and {input}"));
    }
}

/// Best exit status after loading these format files: 1 if parts of event definitions were refused, 2 if stanzas were
/// left out.
pub fn loaded(formats: &Formats) -> Status {
    let Findings { sources, diagnostics, left_out } = formats.findings();
    let is_xml = |id| sources.get(id).is_some_and(datakey::is_xml);
    let is_refused = |found: &Diagnostic| found.severity == Severity::Error && is_xml(found.primary.source);
    if diagnostics.iter().any(is_refused) {
        Status::Failed
    } else if left_out.is_empty() && diagnostics.iter().all(|found| found.code != &FIELD_ENTRY) {
        Status::Well
    } else {
        Status::Damaged
    }
}

/// Prints why format files cannot be used.
pub fn refusal(console: &Console, error: LoadError, strict: bool) -> Failure {
    match error {
        LoadError::Source(findings) => {
            show(console, &findings, strict);
            Failure::AlreadyReported
        }
        LoadError::Io { .. } => Failure::Error(Message::Unreadable, error.to_string()),
        error => Failure::Error(Message::Formats, error.to_string()),
    }
}

/// Prints the diagnostics that `--quiet` does not hide, with source lines and a summary, and returns the exit status.
pub fn show(console: &Console, findings: &Findings, strict: bool) -> Status {
    show_where(console, findings, |found| is_wanted(console, found, strict));
    status(findings, strict)
}

/// True if a diagnostic is shown in spite of `--quiet`: an error, or a warning that counts as one.
pub fn is_wanted(console: &Console, found: &Diagnostic, strict: bool) -> bool {
    !console.quiet || strict || found.severity == Severity::Error
}

/// Prints selected diagnostics with source lines and a summary.
fn show_where(console: &Console, findings: &Findings, shown: impl Fn(&Diagnostic) -> bool) {
    let mut text = String::new();
    let (mut n_errors, mut n_warnings) = (0, 0);
    for diagnostic in findings.diagnostics.iter().filter(|found| shown(found)) {
        match diagnostic.severity {
            Severity::Error => n_errors += 1,
            Severity::Warning => n_warnings += 1,
        }
        if console.terse {
            text.push_str(&render::short(&findings.sources, diagnostic));
        } else {
            text.push_str(&render::human(&findings.sources, diagnostic, console.colour));
            text.push('\n');
        }
        if text.len() > 1 << 16 {
            console.write(&text);
            text.clear();
        }
    }
    console.write(&text);
    if let Some(summary) = render::summary(n_errors, n_warnings) {
        console.note(summary);
    }
}

/// Number of errors and of warnings.
pub fn count(findings: &Findings) -> (usize, usize) {
    let n_errors = findings.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    (n_errors, findings.diagnostics.len() - n_errors)
}

/// Exit status of a command whose result is the diagnostics.
pub fn status(findings: &Findings, strict: bool) -> Status {
    let (n_errors, n_warnings) = count(findings);
    if n_errors > 0 || (strict && n_warnings > 0) { Status::Failed } else { Status::Well }
}

/// Checks format files only (`trcrpt -c`).
pub fn check(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> CommandResult {
    let mut options = language.options()?;
    options.refuse_updates = true;
    match Formats::load_with(FormatInput::of_paths(paths), &options) {
        Ok(formats) => Ok(show(console, formats.findings(), language.strict)),
        Err(error) => Err(refusal(console, error, language.strict)),
    }
}
