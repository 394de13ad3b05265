//! `curt`: CPU use of an AIX trace, with the flags and layout of AIX's command.

use super::CommonArgs;
use super::analyse;
use super::console::{CommandResult, Console, Failure, Message, Status};
use super::context_args;
use super::inputs;
use super::overwrite;
use super::summary::summarise;
use super::trace_args::TraceArgs;
use clap::Args;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tfbc::System;
use tfbc::aix::{AddressNames, ContextTable};
use tfbc_analysis::{AnalysisOptions, CurtOptions, Summary, Value, write_curt};
use tfbc_authoring::times::{check_times, seconds};
use tfbc_vm::TextBuf;

/// Sections that the report needs.
const SECTIONS: [&str; 7] = ["head", "cpu", "process", "thread", "call", "pending", "interrupt"];

/// Flags of `curt`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Report how an AIX trace used its CPUs, as AIX's curt does",
    after_help = AFTER_HELP,
    args_override_self = true
)]
pub struct CurtArgs {
    /// Trace; `-` is standard input
    #[arg(short = 'i', value_name = "FILE", required = true)]
    input: PathBuf,
    /// File for the report
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Names of addresses, from gensyms: lines of a name and a hex address
    #[arg(short = 'n', value_name = "FILE")]
    gensyms: Option<PathBuf>,
    /// Names of addresses, from trcnm
    #[arg(short = 'm', value_name = "FILE")]
    trcnm: Option<PathBuf>,
    /// Names of processes: lines of a pid and a name
    #[arg(short = 'a', value_name = "FILE")]
    pids: Option<PathBuf>,
    /// From this time, in seconds since the start of the trace
    #[arg(short = 'f', value_name = "SECONDS", value_parser = seconds)]
    from: Option<u64>,
    /// Until this time, in seconds
    #[arg(short = 'l', value_name = "SECONDS", value_parser = seconds)]
    until: Option<u64>,
    /// Report the elapsed times of system calls
    #[arg(short = 'e')]
    elapsed: bool,
    /// Report the errors of system calls
    #[arg(short = 's')]
    errors: bool,
    /// Report per thread
    #[arg(short = 't')]
    threads: bool,
    /// Report per process
    #[arg(short = 'p')]
    processes: bool,
    /// Report on pthreads
    #[arg(short = 'P')]
    pthreads: bool,
    /// PURR times; refused, because it is not public which events carry them
    #[arg(short = 'r', value_name = "PURR")]
    purr: Option<String>,
    /// WPARs; refused, because it is not public how a trace names them
    #[arg(short = '@', value_name = "WPARS", num_args = 0..=1, default_missing_value = "ALL")]
    wpars: Option<String>,
    /// Context table: the meaning of hooks, added to the built-in table (docs/context.md)
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
}

/// Examples of the help page.
const AFTER_HELP: &str = "\
Examples:
  curt -i trace.log
  curt -i trace.log -o curt.out -n gensyms.out -est
  curt -i trace.log -f 1.5 -l 2          a part of the trace";

impl CurtArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(false, common);
        let ending = self.report(&console);
        (console, ending)
    }

    fn report(&self, console: &Console) -> CommandResult {
        let usage = |text: &str| Failure::Error(Message::Usage, text.to_owned());
        if self.purr.is_some() {
            return Err(usage("-r PURR: it is not public which events carry PURR values; leave -r out"));
        }
        if self.wpars.is_some() {
            return Err(usage("-@: it is not public how a trace names WPARs; leave -@ out"));
        }
        check_times("-f", self.from, "-l", self.until).map_err(|text| usage(&text))?;
        let args = TraceArgs::default();
        let told = [&self.gensyms, &self.trcnm, &self.pids, &self.context].into_iter().flatten();
        overwrite::refuse([self.output.as_deref()], told.map(PathBuf::as_path))?;
        inputs::refuse_output(self.output.as_deref(), std::slice::from_ref(&self.input), &args)?;
        let options = AnalysisOptions {
            from: self.from,
            until: self.until,
            per_cpu: true,
            addresses: true,
            per_thread: self.threads || self.processes || self.pthreads,
            sections: Some(SECTIONS.map(str::to_owned).into()),
            context: self.context()?,
            names: self.names(console)?,
            ..AnalysisOptions::default()
        };
        let mut summary = summarise(console, std::slice::from_ref(&self.input), &args, &options)?;
        if summary.system == System::Qnx {
            return Err(usage("curt reads AIX traces; `tfbc summary` reads QNX logs"));
        }
        if let Some(pids) = &self.pids {
            analyse::pids(console, pids)?.apply(&mut summary);
        }
        let mut out = TextBuf::new();
        self.heading(&summary, &mut out);
        let CurtArgs { elapsed, errors, threads, processes, pthreads, .. } = *self;
        write_curt(&summary, CurtOptions { elapsed, errors, threads, processes, pthreads }, &mut out);
        super::print(console, out.as_bytes(), self.output.as_deref())?;
        Ok(if summary.n_damaged > 0 { Status::Damaged } else { Status::Well })
    }

    fn context(&self) -> Result<Arc<ContextTable>, Failure> {
        context_args::context(self.context.as_deref())
    }

    /// Names of addresses from both lists. Lines of other forms are skipped and counted.
    fn names(&self, console: &Console) -> Result<Arc<AddressNames>, Failure> {
        let mut list = Vec::new();
        for path in [&self.gensyms, &self.trcnm].into_iter().flatten() {
            let mut n_skipped = 0;
            for line in context_args::read(path)?.lines() {
                let mut words = line.split_whitespace();
                let is_hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).is_ok();
                match (words.next(), words.next()) {
                    (Some(name), Some(address)) if is_hex(address) => {
                        list.extend(format!("{name} {}\n", address.trim_start_matches("0x")).bytes());
                    }
                    _ => n_skipped += u64::from(!line.trim().is_empty()),
                }
            }
            if n_skipped > 0 {
                console.note(format_args!("{}: {n_skipped} lines are not `name  hexaddress`", path.display()));
            }
        }
        if list.is_empty() {
            return Ok(Arc::default());
        }
        let unreadable = |error: tfbc::aix::NamesError| Failure::Error(Message::Unreadable, error.to_string());
        AddressNames::parse(&list).map(Arc::new).map_err(unreadable)
    }

    fn heading(&self, summary: &Summary, out: &mut TextBuf) {
        let mut line = |text: String| {
            out.push(text.as_bytes());
            out.push(b"\n");
        };
        line(format!("AIX trace file name = {}", self.input.display()));
        if let Ok(found) = fs::metadata(&self.input) {
            line(format!("AIX trace file size = {}", found.len()));
        }
        let Some((section, row)) = summary.section("head").and_then(|head| Some((head, head.rows().next()?))) else {
            return;
        };
        let ns = |name: &str| section.get(row, name).map(Value::to_string).unwrap_or_default();
        line(format!("Elapsed nanoseconds = {}, from {} to {}", ns("span_ns"), ns("from_ns"), ns("until_ns")));
        line(format!("Number of CPUs = {}", ns("cpus")));
        line(format!("Number of events = {}", ns("events")));
        if let Some(Value::List(notes)) = section.get(row, "notes") {
            notes.iter().for_each(|note| line(format!("Note: {note}")));
        }
    }
}
