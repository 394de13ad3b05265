//! `traceprinter`: QNX's flags.

use super::CommonArgs;
use super::console::{CommandResult, Console, Failure, Message, Status};
use super::formats::{self, LanguageArgs};
use super::limits::{LimitArgs, threads};
use super::overwrite;
use super::report::SortArg;
use super::trace::{self, Reporter};
use clap::Args;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tfbc::aix::ReadOptions;
use tfbc::qnx::{KevRefusal, KevRefusalKind, QnxSummary};
use tfbc::traceprinter::{self, Layout, LineFormat, PrintOptions};
use tfbc::{Formats, ReportError, System, Trace, TraceError, TraceKind};
use tfbc_recorder::paths::{self, QNX_LOG};

/// Flags of `traceprinter`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Print QNX kernel logs, as QNX's traceprinter does",
    after_help = EXAMPLES,
    args_override_self = true
)]
pub struct TraceprinterArgs {
    /// Log; `-` is standard input. By default tracelogger's log: /dev/shmem/tracebuffer.kev or your own
    #[arg(short = 'f', value_name = "FILE", default_value_os_t = paths::to_read(QNX_LOG), hide_default_value = true)]
    file: PathBuf,
    /// Output file
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print all arguments on the event's line; otherwise longer records use several lines
    #[arg(short = 'n')]
    one_line: bool,
    /// Show the header, the system page and every slot in detail
    #[arg(short = 'v')]
    verbose: bool,
    /// Text before the arguments: %c cycles, %C CPU, %e running number, %t time since the start of the trace as
    /// s.ms.us, %Z class, %z event, with flags, width and precision as in printf; default `t:0x%08c CPU:%02C
    /// %-16Z:%-18z`
    #[arg(short = 'p', value_name = "FMT", allow_hyphen_values = true, conflicts_with = "compat")]
    format: Option<String>,
    /// Event definitions, XML or blob, whose text replaces the arguments
    #[arg(short = 't', value_name = "XML")]
    formats: Vec<PathBuf>,
    /// Order of the events: `file` as in the file, `time` by time across CPUs
    #[arg(long, value_name = "ORDER", default_value = "file")]
    sort: SortArg,
    /// Print exactly what the tool of QNX 6.4 prints
    #[arg(long, value_name = "VERSION", value_parser = ["1.02"])]
    compat: Option<String>,
    /// Threads for formatting; all cores by default. The output does not depend on it
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<NonZeroUsize>,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Examples of the help page.
const EXAMPLES: &str = "\
Examples:
  traceprinter -n -f trace.kev                   every event on one line
  traceprinter --compat=1.02 -n -f trace.kev     as QNX 6.4 prints it
  traceprinter -p '%t %02C %Z %z' -f trace.kev -o trace.txt
  traceprinter -t events.xml -f - < trace.kev    user events by their definitions";

impl TraceprinterArgs {
    /// Runs the command.
    pub fn run(&self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(false, common);
        let ending = self.print(&console);
        let ending = match ending {
            // With --compat every failure ends with the status of QNX's tool, also one that only this program has.
            Err(failure) if self.compat.is_some() => match console.end(Err(failure)) {
                Status::Well => Ok(Status::Well),
                _ => Ok(Status::CompatFailed),
            },
            ending => ending,
        };
        (console, ending)
    }

    fn print(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        let options = self.options()?;
        let inputs = overwrite::files(&self.formats).chain([self.file.as_path()]);
        overwrite::refuse([self.output.as_deref()], inputs)?;
        let set = match &self.formats[..] {
            [] => Formats::builtin(),
            formats => formats::load_to_run(console, formats, &self.language)?,
        };
        formats::warn_of_others(console, &set.files(), &[System::Qnx], Some(&self.file.to_string_lossy()));
        let what = self.output.as_deref().map_or(String::from("standard output"), |path| path.display().to_string());
        let failed = |error| Failure::write(&error, &what);
        let mut log = match Trace::open_with(&self.file, &self.reading()) {
            Ok(log) => log,
            Err(TraceError::Kev(refusal)) => return self.refused(console, &refusal),
            Err(error) => return Err(Failure::Error(Message::Unreadable, error.to_string())),
        };
        let mut out = console.open(self.output.as_deref()).map_err(failed)?;
        let mut reporter = Reporter::new(console, &log.info());
        let printed = traceprinter::print(&mut log, &set, &options, &mut out, &mut reporter);
        reporter.end();
        let summary = printed.map_err(|error| match error {
            ReportError::Write(error) => failed(error),
            error => Failure::Error(Message::Unreadable, format!("{}: {error}", self.file.display())),
        })?;
        out.into_inner().commit().map_err(failed)?;
        Ok(self.report_counts(console, &summary).max(formats::loaded(&set)))
    }

    fn options(&self) -> Result<PrintOptions, Failure> {
        let one_line = self.one_line;
        let layout = match (&self.compat, &self.format) {
            (Some(_), _) => Layout::Compat { one_line },
            (None, None) => Layout::Default { format: LineFormat::default(), one_line },
            (None, Some(format)) => {
                let refused = |error| Failure::Error(Message::Usage, format!("-p: {error}"));
                Layout::Default { format: LineFormat::parse(format).map_err(refused)?, one_line }
            }
        };
        let (limits, max_work) = (self.limits.limits(), self.limits.max_work());
        let (verbose, sort, threads) = (self.verbose, self.sort == SortArg::Time, self.threads);
        Ok(PrintOptions { layout, verbose, sort, limits, max_work, threads })
    }

    /// Prints the counts of a run. The 6.4 tool does not report damage, so its layout does not either.
    fn report_counts(&self, console: &Console, summary: &QnxSummary) -> Status {
        if summary.n_left_out > 0 {
            let n = super::count(summary.n_left_out, "event");
            console.note(format!("{}: left out {n} unknown to traceprinter 1.02", self.file.display()));
        }
        let (name, limits) = (self.file.to_string_lossy(), self.limits);
        trace::report_limited(console, &name, summary.n_limited, limits.limits());
        trace::report_over_work(console, &name, summary.n_over_work, limits.max_work());
        trace::report_imbalance(console, &self.file.to_string_lossy(), summary.imbalance);
        let is_damaged = summary.n_damaged > 0 && self.compat.is_none();
        if is_damaged || summary.imbalance.is_some() { Status::Damaged } else { Status::Well }
    }

    fn reading(&self) -> ReadOptions {
        ReadOptions {
            format: Some(TraceKind::Kev),
            slots: self.verbose,
            as_traceprinter_1_02: self.compat.is_some(),
            max_ratio: self.language.ratio.ratio(),
            ..ReadOptions::default()
        }
    }

    /// Ends the command for an unreadable log. In the 6.4 layout, it prints what that tool prints.
    fn refused(&self, console: &Console, refusal: &KevRefusal) -> CommandResult {
        let is_missing = matches!(&refusal.kind, KevRefusalKind::Io(error) if error.kind() == ErrorKind::NotFound);
        let is_default = self.file == paths::to_read(QNX_LOG);
        let hint = if is_missing && is_default { ": name the log with -f" } else { "" };
        let said = format!("cannot read {}: {refusal}{hint}", self.file.display());
        if self.compat.is_none() || matches!(refusal.kind, KevRefusalKind::Io(_)) {
            return Err(Failure::Error(Message::Unreadable, said));
        }
        let mut text = Vec::new();
        let code = traceprinter::write_refused(refusal, self.verbose, &mut text);
        super::print(console, text, self.output.as_deref())?;
        let Some(code) = code else { return Err(Failure::Error(Message::Unreadable, said)) };
        console.write(&format!("TRACEPARSER: function call traceparser() failed, internal error code({code})\n"));
        Ok(Status::CompatFailed)
    }
}
