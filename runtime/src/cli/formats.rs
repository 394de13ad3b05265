//! Format files of a command: flags, loading, and what is said about them.

use super::console::{Console, Ending, Failure, Message, Status};
#[cfg(feature = "compiler")]
use super::levels::LevelArgs;
use super::limits::RatioArgs;
#[cfg(feature = "compiler")]
use super::limits::SourceLimitArgs;
use crate::catalog::{FormatSet, LoadError, LoadOptions};
use clap::Args;
use std::path::PathBuf;

#[cfg(feature = "compiler")]
use crate::cache::Cache;
#[cfg(feature = "compiler")]
use crate::catalog::Findings;
#[cfg(feature = "compiler")]
use crate::render;
#[cfg(feature = "compiler")]
use tfbc_compiler::{Dialect, Options};
#[cfg(feature = "compiler")]
use tfbc_grammar::{Diagnostic, Severity};

/// Flags of every command that takes format files.
#[derive(Debug, Clone, Default, Args)]
pub struct LanguageArgs {
    /// Set what the language leaves open; `help` lists the settings
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Format files")]
    pub dialect: Vec<String>,
    /// Take warnings about format files for errors
    #[arg(long, help_heading = "Format files")]
    pub strict: bool,
    /// Compile format files anew, and keep nothing for the next run
    #[cfg(feature = "compiler")]
    #[arg(long, help_heading = "Format files")]
    pub no_cache: bool,
    /// Which findings are said, and as what.
    #[cfg(feature = "compiler")]
    #[command(flatten)]
    pub levels: LevelArgs,
    /// What format files may ask for.
    #[cfg(feature = "compiler")]
    #[command(flatten)]
    pub limits: SourceLimitArgs,
    /// What compressed files may come to.
    #[command(flatten)]
    pub ratio: RatioArgs,
}

impl LanguageArgs {
    /// Whether the settings are asked for, in place of the command's own work.
    pub fn asks_for_help(&self) -> bool {
        self.dialect.iter().any(|setting| setting == "help")
    }

    /// The settings as loading takes them.
    pub fn options(&self) -> Result<LoadOptions, Failure> {
        #[cfg_attr(not(feature = "compiler"), expect(unused_mut, reason = "only sources have a dialect and limits"))]
        let mut options = LoadOptions {
            max_ratio: self.ratio.ratio(),
            #[cfg(feature = "compiler")]
            compile: Options { limits: self.limits.limits(), levels: self.levels.levels()?, ..Options::default() },
            #[cfg(feature = "compiler")]
            cache: None,
            #[cfg(feature = "compiler")]
            instrument: false,
            #[cfg(feature = "compiler")]
            plain: false,
        };
        #[cfg(feature = "compiler")]
        for setting in &self.dialect {
            let Some((name, value)) = setting.split_once('=') else {
                let text =
                    format!("`{setting}` is no dialect setting: expected NAME=VALUE (`--dialect help` lists them)");
                return Err(Failure::Say(Message::Usage, text));
            };
            let refused = |error: tfbc_compiler::DialectError| Failure::Say(Message::Usage, error.0);
            options.compile.dialect.set(name.trim(), value.trim()).map_err(refused)?;
        }
        Ok(options)
    }
}

/// The dialect's settings, a line each, default first.
#[cfg(feature = "compiler")]
pub fn dialect_help() -> String {
    let mut out = String::new();
    for (name, values, what) in Dialect::SETTINGS {
        out.push_str(&format!("{name}={}\n    {what}\n", values.join("|")));
    }
    out
}

/// The dialect's settings: none without a compiler.
#[cfg(not(feature = "compiler"))]
pub fn dialect_help() -> String {
    String::from("this program was built without the compiler, and blobs record their dialect\n")
}

/// Loads format files for a command that is about something else: errors are shown and end it; warnings stay unsaid,
/// unless they count as errors.
pub fn load(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Result<FormatSet, Failure> {
    #[cfg_attr(not(feature = "compiler"), expect(unused_mut, reason = "only sources are compiled"))]
    let mut options = language.options()?;
    #[cfg(feature = "compiler")]
    if !language.no_cache {
        options.cache = Cache::of_user();
    }
    load_with(console, paths, language, &options)
}

/// The same, so that each step of a template is an instruction of its own.
#[cfg(feature = "compiler")]
pub fn load_plainly(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Result<FormatSet, Failure> {
    let options = LoadOptions { plain: true, ..language.options()? };
    load_with(console, paths, language, &options)
}

fn load_with(
    console: &Console,
    paths: &[PathBuf],
    language: &LanguageArgs,
    options: &LoadOptions,
) -> Result<FormatSet, Failure> {
    let set = match FormatSet::load(paths, options) {
        Ok(set) => set,
        #[cfg(feature = "compiler")]
        Err(LoadError::Source(mut findings)) if !language.strict => {
            findings.diagnostics.retain(|found| found.severity == Severity::Error);
            return Err(refusal(console, LoadError::Source(findings), false));
        }
        Err(error) => return Err(refusal(console, error, language.strict)),
    };
    #[cfg(feature = "compiler")]
    {
        let found = &set.findings().diagnostics;
        let is_denied =
            |found: &Diagnostic| found.severity == Severity::Error && found.code.severity() != Severity::Error;
        if (language.strict && !found.is_empty()) || found.iter().any(is_denied) {
            show(console, set.findings(), true);
            return Err(Failure::Said);
        }
        // What is refused alone leaves the rest in use.
        show_where(console, set.findings(), |found| found.severity == Severity::Error);
    }
    Ok(set)
}

/// How a command ends at best that has used these format files: with errors where some of them were refused alone.
pub fn loaded(set: &FormatSet) -> Status {
    #[cfg(feature = "compiler")]
    return status(set.findings(), false);
    #[cfg(not(feature = "compiler"))]
    {
        let _ = set;
        Status::Well
    }
}

/// Says why format files cannot be used.
pub fn refusal(console: &Console, error: LoadError, strict: bool) -> Failure {
    #[cfg(not(feature = "compiler"))]
    let _ = (console, strict);
    match error {
        #[cfg(feature = "compiler")]
        LoadError::Source(findings) => {
            show(console, &findings, strict);
            Failure::Said
        }
        LoadError::Io { .. } => Failure::Say(Message::Unreadable, error.to_string()),
        error => Failure::Say(Message::Formats, error.to_string()),
    }
}

/// Shows all findings with their source lines and a summary, and tells how the command ends.
#[cfg(feature = "compiler")]
pub fn show(console: &Console, findings: &Findings, strict: bool) -> Status {
    show_where(console, findings, |_| true);
    status(findings, strict)
}

/// Shows some findings with their source lines, and a summary of these.
#[cfg(feature = "compiler")]
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

/// Errors and warnings among findings.
#[cfg(feature = "compiler")]
pub fn count(findings: &Findings) -> (usize, usize) {
    let n_errors = findings.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    (n_errors, findings.diagnostics.len() - n_errors)
}

/// How a command ends whose product the findings are.
#[cfg(feature = "compiler")]
pub fn status(findings: &Findings, strict: bool) -> Status {
    let (n_errors, n_warnings) = count(findings);
    if n_errors > 0 || (strict && n_warnings > 0) { Status::Failed } else { Status::Well }
}

/// Checks format files alone (`trcrpt -c`).
pub fn check(console: &Console, paths: &[PathBuf], language: &LanguageArgs) -> Ending {
    match FormatSet::load(paths, &language.options()?) {
        Ok(set) => {
            set.catalog().map_err(|error| refusal(console, error, language.strict))?;
            #[cfg(feature = "compiler")]
            return Ok(show(console, set.findings(), language.strict));
            #[cfg(not(feature = "compiler"))]
            Ok(Status::Well)
        }
        Err(error) => Err(refusal(console, error, language.strict)),
    }
}
