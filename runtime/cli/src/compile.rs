//! `tfbc compile` and `tfbc check`.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::fix::{self, FixArgs};
use super::formats::{self, LanguageArgs};
use super::overwrite;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Instant;
use tfbc::{Findings, FormatInput, Formats, LoadError, LoadOptions};
use tfbc_authoring::fix::Fixed;
use tfbc_authoring::{render, sarif};
use tfbc_compiler::{Stage, compile, emit};
use tfbc_grammar::Sources;
use tfbc_vm::{Program, Space};

/// Flags of `tfbc compile`.
#[derive(Debug, Clone, Args)]
pub struct CompileArgs {
    /// File for the blob
    #[arg(short = 'o', long, value_name = "FILE", required_unless_present_any = ["emit", "dialect"])]
    output: Option<PathBuf>,
    /// Leave out stanzas with errors and compile the others; the exit status is then 2
    #[arg(long)]
    keep_going: bool,
    /// Print a stage of the compiler instead of writing a blob
    #[arg(long, value_name = "STAGE")]
    emit: Option<StageArg>,
    #[command(flatten)]
    language: LanguageArgs,
    /// Format files; later ones win. `default` is the built-in file, `-` is standard input
    #[arg(value_name = "FORMAT", required_unless_present = "dialect")]
    formats: Vec<PathBuf>,
}

/// Command-line form of [`Stage`].
#[derive(Debug, Clone, Copy, ValueEnum)]
enum StageArg {
    /// Tokens of the lexer
    Tokens,
    /// Syntax tree
    Ast,
    /// Intermediate representation
    Ir,
    /// Bytecode before linking
    Bytecode,
}

impl StageArg {
    fn stage(self) -> Stage {
        match self {
            StageArg::Tokens => Stage::Tokens,
            StageArg::Ast => Stage::Ast,
            StageArg::Ir => Stage::Ir,
            StageArg::Bytecode => Stage::Bytecode,
        }
    }
}

/// Flags of `tfbc check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// Format of diagnostics: human and short go to standard error, json and sarif to standard output
    #[arg(long, value_name = "FORM", default_value = "human")]
    message_format: MessageFormat,
    #[command(flatten)]
    fixes: FixArgs,
    /// Print the changes that --fix would make as a diff; write no file
    #[arg(long, requires = "fixes")]
    dry_run: bool,
    #[command(flatten)]
    language: LanguageArgs,
    /// Format files, checked as one set, so that they can use each other's functions and subroutines. `default` is the
    /// built-in file
    #[arg(value_name = "FORMAT", required_unless_present = "dialect")]
    formats: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MessageFormat {
    /// With underlined source lines
    Human,
    /// One line per diagnostic
    Short,
    /// One JSON object per line
    Json,
    /// One SARIF 2.1.0 log, for build servers and editors
    Sarif,
}

impl CompileArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        overwrite::refuse([self.output.as_deref()], overwrite::files(&self.formats))?;
        let mut options = self.language.options()?;
        let sources = read_sources(&self.formats, &options)?;
        if let Some(stage) = self.emit {
            let (text, diagnostics) = emit(&sources, &options.compile, stage.stage());
            let status = formats::show(console, &Findings::new(sources, diagnostics), self.language.strict);
            super::print(console, text, self.output.as_deref())?;
            return Ok(status);
        }
        // `--strict` stops at any error, so it wins over `--keep-going`.
        let keeps_going = self.keep_going && !self.language.strict;
        options.compile.keep_going = keeps_going;
        options.compile.codes_as_text = keeps_going;
        let begun = Instant::now();
        let compiled = compile(&sources, &options.compile);
        let millis = begun.elapsed().as_secs_f64() * 1e3;
        let n_bytes: usize = sources.iter().map(|(_, source)| source.bytes().len()).sum();
        let findings = Findings { sources, diagnostics: compiled.diagnostics, left_out: compiled.left_out };
        let mut status = formats::show(console, &findings, self.language.strict);
        // A denied warning is an error that the user asked for, so leaving stanzas out does not remove it.
        if keeps_going && compiled.blob.is_some() && !formats::has_denied(&findings) {
            formats::show_left_out(console, &findings);
            status = if status == Status::Well { Status::Well } else { Status::Damaged };
        }
        let Some(blob) = compiled.blob.filter(|_| status != Status::Failed) else { return Ok(Status::Failed) };
        super::print(console, &blob, self.output.as_deref())?;
        let (n_stanzas, n_records) = Program::open(&blob).map_or((0, 0), |program| {
            let n_stanzas = program.hooks().filter(|hook| !hook.builtin).count();
            (n_stanzas as u64, program.entries(Space::Record).count() as u64)
        });
        let what = match (n_stanzas, n_records) {
            (_, 0) => super::count(n_stanzas, "stanza"),
            (0, _) => super::count(n_records, "QNX event"),
            _ => format!("{}, {}", super::count(n_stanzas, "stanza"), super::count(n_records, "QNX event")),
        };
        console.note(format_args!("{what}, {n_bytes} bytes of source -> {} bytes, {millis:.1} ms", blob.len()));
        Ok(status)
    }
}

impl CheckArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        let mut options = self.language.options()?;
        options.compile.updates_call_out = true;
        let sources = read_sources(&self.formats, &options)?;
        let Some(wanted) = self.fixes.wanted() else {
            let diagnostics = compile(&sources, &options.compile).diagnostics;
            return self.show(console, &Findings::new(sources, diagnostics));
        };
        let fixed = tfbc_authoring::fix::fix(sources.clone(), &options.compile, wanted);
        if self.dry_run {
            super::print_styled(fix::diff(console, &sources, &fixed))?;
        } else {
            fix::write(console, &sources, &fixed)?;
        }
        let Fixed { sources, diagnostics, n_fixed } = fixed;
        let findings = Findings::new(sources, diagnostics);
        let status = self.show(console, &findings)?;
        let Findings { sources, diagnostics, .. } = findings;
        fix::print_counts(console, &Fixed { sources, diagnostics, n_fixed }, self.dry_run);
        Ok(status)
    }

    fn show(&self, console: &Console, findings: &Findings) -> CommandResult {
        let strict = self.language.strict;
        let all = findings.diagnostics.iter();
        match self.message_format {
            MessageFormat::Human => drop(formats::show(console, findings, strict)),
            MessageFormat::Short => {
                let wanted = all.filter(|found| formats::is_wanted(console, found, strict));
                console.write(&wanted.map(|found| render::short(&findings.sources, found)).collect::<String>());
            }
            MessageFormat::Json => {
                let lines: String = all.map(|found| render::json(&findings.sources, found)).collect();
                super::print(console, lines, None)?;
            }
            MessageFormat::Sarif => {
                let log = sarif::log(&findings.sources, &findings.diagnostics);
                super::print(console, log, None)?;
            }
        }
        Ok(formats::status(findings, strict))
    }
}

/// Reads format files in source form; blobs are refused.
pub(super) fn read_sources(paths: &[PathBuf], options: &LoadOptions) -> Result<Sources, Failure> {
    let mut sources = Sources::new();
    for path in paths {
        match FormatInput::read_source(path, options) {
            Ok(Some(source)) => drop(sources.add(source)),
            Ok(None) => {
                let name = path.display();
                let text = format!("{name} is a blob, expected a source; `tfbc verify {name}` checks a blob");
                return Err(Failure::Error(Message::Formats, text));
            }
            Err(LoadError::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
                let hint = tfbc_grammar::closest(&path.to_string_lossy(), &[Formats::BUILT_IN]);
                let mut hint = hint.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                if let Some("safe" | "all") = path.to_str() {
                    hint = format!("; write --fix with `=`: `--fix={}`", path.display());
                }
                let text = format!("cannot read {}: {error}{hint}", path.display());
                return Err(Failure::Error(Message::Unreadable, text));
            }
            Err(error) => return Err(Failure::Error(Message::Unreadable, error.to_string())),
        }
    }
    Ok(sources)
}
