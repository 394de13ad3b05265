//! Flags and steps shared by the commands about time: `summary`, `latency` and `timeline`.

use super::console::{Console, Failure, Message};
use super::context_args;
use super::merge;
use super::trace::{self, Reporter};
use super::trace_args::TraceArgs;
use clap::Args;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use tfbc::aix::TableLimits;
use tfbc::{System, Trace};
use tfbc_analysis::{AnalysisError, AnalysisOptions, Section, Summary, Value};
use tfbc_authoring::times::{check_times, seconds};
use tfbc_grammar::hint;
use tfbc_vm::TextBuf;

/// Largest number of CPUs that `--cpus` declares.
const MAX_CPUS: u64 = 1024;

/// Flags for the span and the machine.
#[derive(Debug, Clone, Args)]
pub struct SpanArgs {
    /// From this time, in seconds since the start of the trace. Earlier events only determine the state at that time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    from: Option<u64>,
    /// Until this time, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    until: Option<u64>,
    /// Number of CPUs of the machine, if the trace does not contain it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_CPUS))]
    cpus: Option<u64>,
    /// Context table: the meaning of events, added to the built-in table (docs/context.md)
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// List of names by address, from trcnm (AIX)
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Processes, and threads, that are told apart
    #[arg(long, value_name = "N", default_value_t = TableLimits::default().processes, help_heading = "Limits")]
    max_processes: u32,
}

impl SpanArgs {
    /// Refuses a span that ends before it begins.
    pub fn check(&self) -> Result<(), Failure> {
        check_times("--from", self.from, "--until", self.until).map_err(|text| Failure::Error(Message::Usage, text))
    }

    /// Files that the flags name.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.names, &self.context].into_iter().flatten()
    }

    /// The user's context table.
    pub fn context(&self) -> Option<&Path> {
        self.context.as_deref()
    }

    /// Options of an analysis; reads the files.
    pub fn options(&self) -> Result<AnalysisOptions, Failure> {
        Ok(AnalysisOptions {
            from: self.from,
            until: self.until,
            cpus: self.cpus.unwrap_or(0),
            context: context_args::context(self.context.as_deref())?,
            names: context_args::names(self.names.as_deref())?,
            max_processes: self.max_processes as usize,
            ..AnalysisOptions::default()
        })
    }
}

/// Appends a section as an Arrow stream.
pub fn push_arrow(section: &Section, output: Option<&Path>, out: &mut TextBuf) -> Result<(), Failure> {
    let usage = |text: String| Failure::Error(Message::Usage, text);
    #[cfg(feature = "arrow")]
    {
        if output.is_none() && io::IsTerminal::is_terminal(&io::stdout()) {
            let text = "--to arrow: a table is not for a terminal: write it to a file with -o, or into a pipe";
            return Err(usage(String::from(text)));
        }
        let stream = super::section_tables::stream(section).map_err(|error| usage(format!("--to arrow: {error}")))?;
        out.push(&stream);
        Ok(())
    }
    #[cfg(not(feature = "arrow"))]
    {
        let _ = (section, output, out);
        Err(usage(super::not_built("arrow")))
    }
}

/// Place where charts are printed.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Width of the terminal; `None` if the output is none.
    pub width: Option<usize>,
    /// True if the locale's encoding is UTF-8.
    pub is_utf8: bool,
}

impl Screen {
    /// Properties of the terminal, if the output is not a file.
    pub fn of(output: Option<&Path>) -> Self {
        let size = output.is_none().then(|| terminal_size::terminal_size_of(io::stdout())).flatten();
        let names = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).unwrap_or_default());
        let locale = names.into_iter().find(|value| !value.is_empty()).unwrap_or_default().to_ascii_lowercase();
        Self {
            width: size.map(|(width, _)| width.0.into()),
            is_utf8: locale.contains("utf-8") || locale.contains("utf8"),
        }
    }
}

/// Parses a thread of QNX.
pub fn thread(text: &str) -> Result<(u32, u32), String> {
    let parsed = text.split_once('.').and_then(|(pid, tid)| Some((pid.parse().ok()?, tid.parse().ok()?)));
    parsed.ok_or_else(|| String::from("expected a process and a thread, such as 1.2"))
}

/// Names of traces, for headings and messages.
pub fn names_of(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
}

/// Text about an unknown name, with the known ones.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let names = known.join(", ");
    match hint(name, known) {
        hint if hint.is_empty() => format!("unknown {what} `{name}`: expected {names}"),
        hint => format!("unknown {what} `{name}`{hint} Expected {names}"),
    }
}

/// Opens a trace, or several ones merged by time, and analyses it. `example` returns a command that works for traces of a
/// system, for messages about pairs and fields; `output` is the file that `run` writes to.
pub fn analyse<T>(
    console: &Console,
    paths: &[PathBuf],
    args: &TraceArgs,
    example: impl FnOnce(System) -> &'static str,
    output: Option<&Path>,
    run: impl FnOnce(&mut Trace, &mut Reporter<'_>) -> Result<T, AnalysisError>,
) -> Result<T, Failure> {
    let mut opened = match paths {
        [path] => trace::open(path, args)?,
        paths => merge::open(paths, args, false)?,
    };
    let mut reporter = Reporter::new(console, &opened.info());
    let result = run(&mut opened, &mut reporter);
    reporter.end();
    result.map_err(|error| match error {
        AnalysisError::Read(error) => {
            Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", names_of(paths)))
        }
        AnalysisError::Pairs(text) => {
            let example = example(opened.info().system);
            Failure::Error(Message::Usage, format!("{text}; an example is `{example}`"))
        }
        AnalysisError::Write(error) => Failure::write(&error, output.unwrap_or(Path::new("the output")).display()),
        error => Failure::Error(Message::Unreadable, format!("{}: {error}", names_of(paths))),
    })
}

/// Analyses traces one after the other, or all together as one. If there are several, an unreadable one is reported and
/// skipped.
pub fn for_each_trace(
    console: &Console,
    traces: &[PathBuf],
    merges: bool,
    mut run: impl FnMut(usize, &[PathBuf]) -> super::console::CommandResult,
) -> super::console::CommandResult {
    if merges {
        return run(0, traces);
    }
    let mut status = super::console::Status::Well;
    for (at, path) in traces.chunks(1).enumerate() {
        match run(at, path) {
            Err(Failure::Error(Message::Unreadable, text)) if traces.len() > 1 => {
                console.error(Message::Unreadable, text);
                status = super::console::Status::Failed;
            }
            found => status = status.max(found?),
        }
    }
    Ok(status)
}

/// Limit on names of processes from a file.
const MAX_PIDS: usize = 1 << 16;

/// Names of processes from a file.
pub struct ProcessNames(HashMap<i128, String>);

impl ProcessNames {
    /// Names the processes of a summary that the trace does not name.
    pub fn apply(&self, summary: &mut Summary) {
        let name = |pid: &Value| if let Value::Number(pid) = pid { self.0.get(pid).cloned() } else { None };
        summary.sections_mut().for_each(|section| section.name_rows(name));
    }
}

/// Names from lines of a process id and a name. Other lines are skipped and counted.
pub fn pids(console: &Console, path: &Path) -> Result<ProcessNames, Failure> {
    let mut names = HashMap::new();
    let mut n_skipped = 0u64;
    for line in context_args::read(path)?.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words = line.split_once(char::is_whitespace);
        match words.and_then(|(pid, name)| Some((pid.parse().ok()?, name.trim().to_owned()))) {
            Some((pid, name)) if names.len() < MAX_PIDS => drop(names.insert(pid, name)),
            _ => n_skipped += 1,
        }
    }
    if n_skipped > 0 {
        console.note(format_args!("{}: {n_skipped} lines are not `PID name`", path.display()));
    }
    Ok(ProcessNames(names))
}
