//! The commands. Each one is a set of flags and a `run` method; the work is done by other packages.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(feature = "analysis", feature = "browse", feature = "lsp", target_os = "linux")),
    allow(dead_code, reason = "the commands share their helpers, and some commands are left out")
)]

#[cfg(feature = "analysis")]
mod analyse;
mod blob;
#[cfg(feature = "browse")]
mod browse;
mod compile;
mod console;
mod context_args;
mod convert;
#[cfg(feature = "analysis")]
mod curt;
mod event;
mod events_args;
mod explain;
mod fields;
mod file_column;
mod files;
mod filter_args;
mod fix;
mod fmt;
mod formats;
mod hexview;
mod info;
mod inputs;
mod install;
#[cfg(feature = "analysis")]
mod latency;
mod levels;
mod limits;
mod links;
mod list;
#[cfg(feature = "lsp")]
mod lsp;
mod manual;
mod merge;
mod overwrite;
mod pager;
#[cfg(target_os = "linux")]
mod recording;
mod report;
mod rptopts;
#[cfg(all(feature = "analysis", feature = "arrow"))]
mod section_tables;
mod split;
mod split_file;
#[cfg(feature = "analysis")]
mod summary;
#[cfg(feature = "arrow")]
mod tables;
mod terminal;
mod test;
#[cfg(feature = "analysis")]
mod timeline;
mod trace;
mod trace_args;
mod traceprinter;
mod trcevgrp;
mod trcrpt;
mod trcupdate;
mod unpack;
#[cfg(feature = "analysis")]
mod view;
mod watch;
mod zone;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use console::{CommandResult, CommonArgs, Console, Failure, Message, Status};
use files::Output;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Format AIX traces and QNX kernel logs with the vendors' own templates, compiled to bytecode.
#[derive(Debug, Parser)]
#[command(name = "tfbc", version, max_term_width = 100, after_help = EXAMPLES)]
struct Tfbc {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  tfbc report trace.log                          format a trace with the built-in format file
  tfbc report -t my.trcfmt trace.log             format it with your own
  tfbc report -t defs.xml log.kev                a QNX log with its event definitions
  tfbc info trace.log                            what a trace contains, and if it is complete
  tfbc check my.trcfmt                           show the problems in a format file
  tfbc explain S07                               explain one of them";

// In the order of the help: for traces, for format files, for the shell, and those of AIX and QNX.
#[derive(Debug, Subcommand)]
enum Command {
    /// Format whole traces and logs
    #[command(after_help = "\
Examples:
  tfbc report trace.log                          with the built-in format file
  tfbc report -t a.trcfmt -t b.tfbc trace.log    b wins over a
  tfbc report --only 15b,106 --columns elapsed,text -o report.txt trace.log
  tfbc report --no-heading - < trace.stream      standard input, no heading
  tfbc report traces/ old.log.gz                 the traces of a directory, and a compressed one
  tfbc report -r --to ndjson logs/ > all.ndjson  every trace below a directory, as one table
  trace -o - | tfbc report --follow --grep exec -
  tfbc report --stats --to tsv trace.log         count the events per hook
  tfbc report -t defs.xml --defined log.kev      a QNX log with event definitions
  tfbc report --only USER,KER_CALL:11 --cpu 0 --to ndjson log.kev")]
    Report(Box<report::ReportArgs>),
    /// Describe a trace or log: header, kind, time range, events per id, damage
    #[command(after_help = "\
Examples:
  tfbc info trace.log
  tfbc info -t a.trcfmt trace.log                also list ids without a template")]
    Info(info::InfoArgs),
    /// Look through a trace on the terminal: scroll, search, filter, and look at single events
    ///
    /// The list appears at once, while the rest of the trace is read. `?` shows the keys, which are those of less and vim.
    #[command(after_help = "\
Examples:
  tfbc browse trace.log
  tfbc browse -t my.trcfmt --from 1.5 trace.log
  tfbc browse -t defs.xml --only USER log.kev
  ssh host cat trace.log | tfbc browse -         over the network")]
    #[cfg(feature = "browse")]
    Browse(Box<browse::BrowseArgs>),
    /// Write a report as one HTML file that can be mailed, with summary and timeline
    ///
    /// The page loads nothing from elsewhere: a browser without a network shows it. It has the events with their texts,
    /// a filter and a search, the tables of `tfbc summary`, and a timeline.
    #[command(after_help = "\
Examples:
  tfbc view trace.log                            writes trace.log.html
  tfbc view --open -o /tmp/page.html trace.log
  tfbc view --from 1 --until 1.5 --exec ksh -o ksh.html trace.log
  tfbc view -t my.xml --limit 500000 -o log.html log.kev")]
    #[cfg(feature = "analysis")]
    View(Box<view::ViewArgs>),
    /// Sum up where the time of a trace went: CPUs, processes, threads, calls, interrupts
    #[command(after_help = "\
Examples:
  tfbc summary trace.log
  tfbc summary --sections call --top 10 trace.log
  tfbc summary --against tuesday.log today.log   what got slower
  tfbc summary --from 1.5 --until 2 --to ndjson log.kev")]
    #[cfg(feature = "analysis")]
    Summary(Box<summary::SummaryArgs>),
    /// Measure the times between two events, such as a request and its answer: groups, percentiles, histograms
    #[command(after_help = "\
Examples:
  tfbc latency --pair svc trace.log              system calls, by name
  tfbc latency --start '101{svc=kread}' --end '104{svc=kread}' --hist trace.log
  tfbc latency --start 1A0 --end 1A1 --key d1 --outliers 10 trace.log
  tfbc latency --pair ready log.kev              how long threads wait for a CPU (QNX)
  tfbc latency --timers -t my.trcfmt trace.log")]
    #[cfg(feature = "analysis")]
    Latency(Box<latency::LatencyArgs>),
    /// Draw what CPUs and threads did, for Perfetto and other viewers
    ///
    /// The file opens at ui.perfetto.dev. It has a track per CPU and per thread, with calls, interrupts and states; the
    /// times of its slices are those of `tfbc summary`.
    #[command(after_help = "\
Examples:
  tfbc timeline -o shell.json trace.log          for ui.perfetto.dev and chrome://tracing
  tfbc timeline -o shell.pftrace trace.log       Perfetto's own format, exact to the nanosecond
  tfbc timeline -o a.json.gz --tracks cpus,marks --from 1 --until 1.5 trace.log
  tfbc timeline -o log.pftrace -t my.xml log.kev   with the events of the class USER")]
    #[cfg(feature = "analysis")]
    Timeline(Box<timeline::TimelineArgs>),
    /// List the hooks and events that format files define, with their labels
    #[command(after_help = "\
Examples:
  tfbc list                                      the built-in format file
  tfbc list -t a.trcfmt")]
    List(list::ListArgs),
    /// List the typed fields of events that JSON lines and tables contain
    #[command(after_help = "\
Examples:
  tfbc fields a.trcfmt
  tfbc fields a.trcfmt --id 010
  tfbc fields a.trcfmt --to json")]
    Fields(fields::FieldsArgs),
    /// Format one event given in hex
    #[command(after_help = "\
Examples:
  tfbc event -t a.trcfmt --env 32 010a0000 0000000a
  tfbc event -t a.trcfmt --env 64 8000000850000005 000000000000002a --trace
  tfbc event -t defs.xml --class USER --id 65 '00 03 04 00'")]
    Event(event::EventArgs),
    /// Divide a trace into parts that any machine can format alone
    ///
    /// The split file contains the state of the reader where a part begins. The reports of all parts, one after
    /// another, are the report of the whole.
    #[command(after_help = "\
Examples:
  tfbc split -n 8 -o trace.tfbs trace.log        eight parts of about equal size
  tfbc split --bytes 64m -t my.trcfmt -o trace.tfbs trace.log
  tfbc report --part 1 trace.tfbs                the report of the first part, with the heading")]
    Split(split::SplitArgs),
    /// Write an index of a trace, by which reports with filters read only the parts that can match
    #[command(after_help = "\
Examples:
  tfbc index trace.log                           writes trace.log.tfbs
  tfbc report --from 3600 --until 3601 trace.log.tfbs
  tfbc report --only 15b trace.log.tfbs")]
    Index(split::IndexArgs),
    /// Check format files and show all problems in them
    #[command(after_help = "\
Examples:
  tfbc check a.trcfmt
  tfbc check --message-format short --strict *.trcfmt
  tfbc check --fix --dry-run a.trcfmt            show the repairs as a diff
  tfbc check --fix a.trcfmt                      repair it
  tfbc check --allow S47 --deny C4x a.trcfmt     hide warnings, or turn them into errors
  tfbc check --message-format sarif a.trcfmt > findings.sarif
  tfbc check defs.xml                            QNX event definitions")]
    Check(compile::CheckArgs),
    /// Test format files: compare the text of events with the accepted text
    #[command(after_help = "\
Examples:
  tfbc test --new boot.trc -t my.trcfmt          write a first case file, boot.case.toml
  tfbc test                                      run the case files here and below
  tfbc test --review                             look at each change, and accept or reject it
  tfbc test --accept                             accept the texts that the last run showed
  tfbc test --coverage                           which parts of the format files events reach
  tfbc test --report junit --report-file out.xml tests/")]
    Test(Box<test::TestArgs>),
    /// Show the report of some events again after every save of a format file
    #[command(after_help = "\
Examples:
  tfbc watch my.trcfmt boot.trc                  the first events, and problems in my.trcfmt
  tfbc watch my.trcfmt boot.trc --only 15b --columns id,elapsed,text
  tfbc watch -t defs.xml log.kev --only USER --first 5")]
    Watch(watch::WatchArgs),
    /// Show an event's bytes, and the parts of its template that read them
    #[command(after_help = "\
Examples:
  tfbc hexview -t a.trcfmt --env 32 010a0000 0000000a
  tfbc hexview -t a.trcfmt --only 15b --first 3 trace.log
  tfbc hexview -t a.trcfmt --only 15b --entry 7 trace.log
  tfbc hexview -t defs.xml --class USER --id 65 '00 03 04 00'")]
    Hexview(hexview::HexviewArgs),
    /// Bring format files into the canonical layout
    #[command(after_help = "\
Examples:
  tfbc fmt my.trcfmt                             in place
  tfbc fmt --check *.trcfmt defs.xml             show what would change
  tfbc fmt - < my.trcfmt                         from standard input to standard output")]
    Fmt(fmt::FmtArgs),
    /// Translate format files between AIX's templates and QNX's event definitions
    #[command(after_help = "\
Examples:
  tfbc convert defs.xml -o defs.trcfmt           a stanza for each event
  tfbc convert my.trcfmt --class USER --first-id 100")]
    Convert(convert::ConvertArgs),
    /// Compile format files into one blob
    #[command(after_help = "\
Examples:
  tfbc compile a.trcfmt b.trcfmt -o both.tfbc    b's stanzas win over a's
  tfbc compile a.trcfmt --emit bytecode          print a stage of the compiler")]
    Compile(compile::CompileArgs),
    /// Verify blobs
    #[command(after_help = "\
Examples:
  tfbc verify a.tfbc b.tfbc")]
    Verify(blob::VerifyArgs),
    /// List the bytecode of a blob or format file
    #[command(after_help = "\
Examples:
  tfbc disasm a.tfbc
  tfbc disasm a.tfbc 15b                         one hook
  tfbc disasm a.xml USER:65                      one QNX event")]
    Disasm(blob::DisasmArgs),
    /// Print the instruction table
    #[command(after_help = "\
Examples:
  tfbc ops | less")]
    Ops,
    /// Explain the code of a diagnostic
    #[command(after_help = "\
Examples:
  tfbc explain S07
  tfbc explain                                   list all codes")]
    Explain(explain::ExplainArgs),
    /// Serve editors: diagnostics, hover, completion and more, over the Language Server Protocol
    #[command(after_help = "\
Examples:
  tfbc lsp                                       the command to enter in the editor")]
    #[cfg(feature = "lsp")]
    Lsp(lsp::LspArgs),
    /// Write a shell script that completes commands, flags and values
    #[command(after_help = "\
Examples:
  tfbc completions bash > /etc/bash_completion.d/tfbc
  tfbc completions zsh > ~/.zfunc/_tfbc
  tfbc completions fish trcrpt > ~/.config/fish/completions/trcrpt.fish")]
    Completions(manual::CompletionsArgs),
    /// Print a manual page, or write all of them to a directory
    #[command(after_help = "\
Examples:
  tfbc man report | man -l -                     the page of one command
  tfbc man /usr/local/share/man/man1             every page")]
    Man(manual::ManArgs),
    /// Install the programs, their manual pages and completions below a directory
    #[command(after_help = "\
Examples:
  tfbc install --prefix ~/.local                 for yourself
  tfbc install --prefix /usr/local --dry-run     list what would be written")]
    Install(install::InstallArgs),
    /// Write the report of AIX traces, as AIX's trcrpt does
    Trcrpt(Box<trcrpt::TrcrptArgs>),
    /// Add, replace and delete stanzas of a format file, as AIX's trcupdate does
    Trcupdate(trcupdate::TrcupdateArgs),
    /// List, add, change and remove event groups, as AIX's trcevgrp does
    Trcevgrp(trcevgrp::TrcevgrpArgs),
    /// Report how an AIX trace used its CPUs, as AIX's curt does
    #[cfg(feature = "analysis")]
    Curt(Box<curt::CurtArgs>),
    /// Print QNX kernel logs, as QNX's traceprinter does
    Traceprinter(Box<traceprinter::TraceprinterArgs>),
    /// Record the trace hooks of programs, as AIX's trace does
    #[cfg(target_os = "linux")]
    Trace(Box<recording::TraceArgs>),
    /// Turn collection of a trace on, as AIX's trcon does
    #[cfg(target_os = "linux")]
    Trcon(recording::TrconArgs),
    /// Turn collection of a trace off, as AIX's trcoff does
    #[cfg(target_os = "linux")]
    Trcoff(recording::TrcoffArgs),
    /// Stop a trace, as AIX's trcstop does
    #[cfg(target_os = "linux")]
    Trcstop(recording::TrcstopArgs),
    /// Recover the events of a killed trace, as AIX's trcdead does
    #[cfg(target_os = "linux")]
    Trcdead(recording::TrcdeadArgs),
    /// List names and addresses of symbols, as AIX's trcnm does
    #[cfg(target_os = "linux")]
    Trcnm(recording::TrcnmArgs),
    /// Record QNX's trace functions, as QNX's tracelogger does
    #[cfg(target_os = "linux")]
    Tracelogger(recording::TraceloggerArgs),
}

impl Command {
    fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(false, common);
        let ending = match self {
            Command::Compile(args) => args.run(&console),
            Command::Check(args) => args.run(&console),
            Command::Convert(args) => args.run(&console),
            Command::Fmt(args) => args.run(&console),
            Command::Report(args) => args.run(&console),
            Command::Event(args) => args.run(&console),
            Command::Test(args) => args.run(&console),
            Command::Watch(args) => args.run(&console),
            Command::Hexview(args) => args.run(&console),
            Command::List(args) => args.run(&console),
            Command::Fields(args) => args.run(&console),
            Command::Split(args) => args.run(&console),
            Command::Index(args) => args.run(&console),
            Command::Info(args) => args.run(&console),
            #[cfg(feature = "analysis")]
            Command::Summary(args) => args.run(&console),
            #[cfg(feature = "analysis")]
            Command::Latency(args) => args.run(&console),
            #[cfg(feature = "analysis")]
            Command::Timeline(args) => args.run(&console),
            #[cfg(feature = "analysis")]
            Command::View(args) => args.run(&console),
            #[cfg(feature = "browse")]
            Command::Browse(args) => args.run(&console),
            Command::Disasm(args) => args.run(&console),
            Command::Verify(args) => args.run(&console),
            #[cfg(feature = "lsp")]
            Command::Lsp(args) => args.run(&console),
            Command::Ops => print(&console, tfbc_vm::ops_page(), None),
            Command::Explain(args) => args.run(&console),
            Command::Completions(args) => args.run(&console, programs()),
            Command::Man(args) => args.run(&console, programs()),
            Command::Install(args) => args.run(&console),
            Command::Trcrpt(args) => return args.run(common),
            Command::Trcupdate(args) => return args.run(common),
            Command::Trcevgrp(args) => return args.run(common),
            #[cfg(feature = "analysis")]
            Command::Curt(args) => return args.run(common),
            Command::Traceprinter(args) => return args.run(common),
            #[cfg(target_os = "linux")]
            Command::Trace(args) => return args.run(common),
            #[cfg(target_os = "linux")]
            Command::Trcon(args) => return args.run(common),
            #[cfg(target_os = "linux")]
            Command::Trcoff(args) => return args.run(common),
            #[cfg(target_os = "linux")]
            Command::Trcstop(args) => return args.run(common),
            #[cfg(target_os = "linux")]
            Command::Trcdead(args) => return args.run(common),
            #[cfg(target_os = "linux")]
            Command::Trcnm(args) => return args.run(common),
            #[cfg(target_os = "linux")]
            Command::Tracelogger(args) => return args.run(common),
        };
        (console, ending)
    }
}

// Parser for a command under its own name, without `tfbc`. Its description comes from its flags.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Standalone<A: Args> {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    args: A,
}

/// Name, other than `tfbc`, that the executable can be called by.
struct ProgramName {
    name: &'static str,
    command: fn() -> clap::Command,
    run: fn(Vec<OsString>) -> ExitCode,
}

/// Declares the table of programs, and a function that runs each with a command line. Messages of a `compatible`
/// program have AIX's numbers.
macro_rules! programs {
    ($($(#[$system:meta])? $name:ident($args:ty, compatible: $compatible:literal);)*) => {
        /// Names, other than `tfbc`, that the executable can be called by. Links, pages and completions come from this
        /// table.
        const PROGRAMS: &[ProgramName] = &[$(
            $(#[$system])?
            ProgramName {
                name: stringify!($name),
                command: || Standalone::<$args>::command().name(stringify!($name)),
                run: |args| $name(args),
            },
        )*];
        $(
            #[doc = concat!("Runs `", stringify!($name), "` with a command line and returns its exit status.")]
            $(#[$system])?
            pub fn $name(args: impl IntoIterator<Item = OsString>) -> ExitCode {
                let words: Vec<_> = args.into_iter().collect();
                match parse::<Standalone<$args>>(stringify!($name), &words) {
                    Ok(Standalone { common, args }) => {
                        let (console, result) = args.run(common);
                        let command = || Standalone::<$args>::command().name(stringify!($name));
                        console.end(show_example(result, command, &words)).into()
                    },
                    Err(mistake) => refused($compatible, mistake).into(),
                }
            }
        )*
    };
}

programs! {
    trcrpt(trcrpt::TrcrptArgs, compatible: true);
    trcupdate(trcupdate::TrcupdateArgs, compatible: true);
    trcevgrp(trcevgrp::TrcevgrpArgs, compatible: true);
    #[cfg(feature = "analysis")]
    curt(curt::CurtArgs, compatible: false);
    traceprinter(traceprinter::TraceprinterArgs, compatible: false);
    #[cfg(target_os = "linux")]
    trace(recording::TraceArgs, compatible: true);
    #[cfg(target_os = "linux")]
    trcon(recording::TrconArgs, compatible: true);
    #[cfg(target_os = "linux")]
    trcoff(recording::TrcoffArgs, compatible: true);
    #[cfg(target_os = "linux")]
    trcstop(recording::TrcstopArgs, compatible: true);
    #[cfg(target_os = "linux")]
    trcdead(recording::TrcdeadArgs, compatible: true);
    #[cfg(target_os = "linux")]
    trcnm(recording::TrcnmArgs, compatible: true);
    #[cfg(target_os = "linux")]
    tracelogger(recording::TraceloggerArgs, compatible: false);
}

/// Command-line definitions of all programs, `tfbc` first.
fn programs() -> Vec<clap::Command> {
    std::iter::once(Tfbc::command()).chain(PROGRAMS.iter().map(|program| (program.command)())).collect()
}

/// Fast path for the commands that scripts call often: building the flags of all commands takes half of a short run.
/// Returns `None` for other commands, and for errors, whose messages need all flags.
fn often_called(args: &[OsString]) -> Option<Tfbc> {
    fn of<A: Args>(args: &[OsString], command: impl FnOnce(A) -> Command) -> Option<Tfbc> {
        let Standalone { common, args } = Standalone::<A>::try_parse_from(args).ok()?;
        Output::mind_signals();
        Some(Tfbc { common, command: command(args) })
    }
    let args = args.get(1..)?;
    match args.first()?.to_str()? {
        "report" => of(args, |args| Command::Report(Box::new(args))),
        "event" => of(args, Command::Event),
        _ => None,
    }
}

/// Runs the program named by the first word of the command line, such as `trcrpt`; any other name runs `tfbc`.
pub fn by_name(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<_> = args.into_iter().collect();
    let name = args.first().and_then(|word| Path::new(word).file_stem()?.to_str());
    match PROGRAMS.iter().find(|program| name == Some(program.name)) {
        Some(program) => (program.run)(args),
        None => tfbc(args),
    }
}

/// Runs `tfbc` and returns its exit status.
pub fn tfbc(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<_> = args.into_iter().collect();
    match often_called(&args).map_or_else(|| parse::<Tfbc>("tfbc", &args), Ok) {
        Ok(tfbc) => {
            let (console, result) = tfbc.command.run(tfbc.common);
            console.end(show_example(result, Tfbc::command, &args)).into()
        }
        Err(mistake) => refused(false, mistake).into(),
    }
}

fn parse<P: CommandFactory + FromArgMatches>(name: &'static str, args: &[OsString]) -> Result<P, Mistake> {
    Output::mind_signals();
    let mut command = P::command().name(name);
    let matches = match command.try_get_matches_from_mut(args) {
        Ok(matches) => matches,
        Err(error) => return Err(Mistake::new(error, &command, args)),
    };
    P::from_arg_matches(&matches).map_err(|error| Mistake::new(error.format(&mut command), &command, args))
}

/// Usage error, and a command line that works.
struct Mistake {
    error: clap::Error,
    example: Option<String>,
}

impl Mistake {
    fn new(error: clap::Error, command: &clap::Command, args: &[OsString]) -> Self {
        // Who calls a command without its arguments tries it for the first time.
        let example = match error.kind() {
            ErrorKind::MissingRequiredArgument => first_example(chosen(command, args)),
            _ => example(command, args),
        };
        Self { error, example }
    }
}

/// Commands whose usage errors show the first example of their help page.
const WITH_EXAMPLE: [&str; 4] = ["summary", "latency", "timeline", "curt"];

/// Commands that compute from a whole trace, so that they cannot follow one that grows.
const WITHOUT_FOLLOW: [&str; 5] = ["summary", "latency", "timeline", "curt", "view"];

/// Example for a command line of a command in [`WITH_EXAMPLE`].
fn example(command: &clap::Command, args: &[OsString]) -> Option<String> {
    let own = Some(command.get_name()).into_iter();
    let name =
        own.chain(args.iter().skip(1).filter_map(|word| word.to_str())).find(|word| WITH_EXAMPLE.contains(word))?;
    first_example(command.find_subcommand(name).unwrap_or(command))
}

/// Subcommand of a command line, or the program itself.
fn chosen<'c>(command: &'c clap::Command, args: &[OsString]) -> &'c clap::Command {
    args.iter().skip(1).find_map(|word| command.find_subcommand(word)).unwrap_or(command)
}

/// First example of a help page.
fn first_example(command: &clap::Command) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let (_, examples) = help.split_once("Examples:\n")?;
    let example = examples.lines().next()?.trim().split("  ").next()?;
    Some(example.to_owned())
}

/// Result of a command. A usage error of a command in [`WITH_EXAMPLE`] that shows no example yet gets one.
fn show_example(result: CommandResult, command: impl FnOnce() -> clap::Command, args: &[OsString]) -> CommandResult {
    result.map_err(|failure| match failure {
        Failure::Error(Message::Usage, text)
            if !["an example is `", "as in `"].iter().any(|has| text.contains(has)) =>
        {
            let example = example(&command(), args).map(|example| format!("; an example is `{example}`"));
            Failure::Error(Message::Usage, text + &example.unwrap_or_default())
        }
        failure => failure,
    })
}

/// Prints help or a usage error, and returns the exit status.
fn refused(compatible: bool, mistake: Mistake) -> Status {
    let Mistake { mut error, example } = mistake;
    advise(&mut error);
    if let Some(example) = example {
        add_tip(&mut error, format!("an example is `{example}`"));
    }
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed =
                error.print().map(|()| Status::Well).map_err(|error| Failure::write(&error, "standard output"));
            Console::new(compatible, CommonArgs::default()).end(printed)
        }
        _ if compatible => {
            let text = with_plain_numbers(error.to_string());
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
            Console::new(true, CommonArgs::default()).error(Message::Usage, text);
            Status::Failed
        }
        ErrorKind::ValueValidation => {
            // The stream removes colours that the terminal does not take. A closed one is ignored.
            let text = with_plain_numbers(error.render().ansi().to_string());
            let _ = anstream::stderr().write_all(text.as_bytes());
            Status::Failed
        }
        _ => {
            let _ = error.print();
            Status::Failed
        }
    }
}

/// Says what number a flag takes, instead of the texts of Rust's number types.
fn with_plain_numbers(mut text: String) -> String {
    let texts = [
        ("invalid digit found in string", "expected a whole number"),
        ("cannot parse integer from empty string", "expected a whole number"),
        ("number would be zero for non-zero type", "expected at least 1"),
        ("number too large to fit in target type", "expected a smaller number"),
    ];
    for (rust, plain) in texts {
        text = text.replace(rust, plain);
    }
    // Such as `7 is not in 0..=3`. The number is in the message already, as the value.
    let Some((before, after)) = text.rsplit_once(" is not in ") else { return text };
    let (range, rest) = after.split_at(after.find('\n').unwrap_or(after.len()));
    // A range without an end ends with its type.
    let range = range.strip_suffix(&u64::MAX.to_string()).map_or(range, |range| range.trim_end_matches('='));
    let is_range = range.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'=' | b'-'));
    match (before.rsplit_once(": "), range.split_once("..")) {
        (Some((before, _)), Some((least, ""))) if is_range => format!("{before}: expected at least {least}{rest}"),
        (Some((before, _)), Some((least, most))) if is_range => {
            format!("{before}: expected {least} to {}{rest}", most.trim_start_matches('='))
        }
        _ => text,
    }
}

/// Replaces the parser's suggestions for unknown words by our own.
fn advise(error: &mut clap::Error) {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else { return };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let file = Some(word).filter(|word| Path::new(word).exists());
    let advice = match (kind, file) {
        (ContextKind::InvalidSubcommand, Some(file)) => {
            format!("`tfbc report {file}` formats a trace, `tfbc check {file}` checks a format file")
        }
        (ContextKind::InvalidSubcommand, None) => match left_out(word) {
            Some(feature) => format!("this tfbc was built without the feature `{feature}`, which `tfbc {word}` needs"),
            None => return,
        },
        _ if usage.contains("tfbc list") && !word.starts_with('-') => {
            format!("a format file is given with -t: `tfbc list -t {word}`")
        }
        _ if usage.contains("curt") && !word.starts_with('-') => format!("a trace is given with -i: `curt -i {word}`"),
        _ if usage.ends_with("trace [OPTIONS]") && !word.starts_with('-') => {
            format!("a log is given with -o: `-o {word}`")
        }
        _ if usage.contains("trace") && usage.ends_with("[OPTIONS]") && !word.starts_with('-') => {
            format!("a log is given with -f: `-f {word}`")
        }
        (ContextKind::InvalidArg, _)
            if word == "--follow" && WITHOUT_FOLLOW.iter().any(|name| usage.contains(name)) =>
        {
            // The parser suggests an argument that is spelt alike.
            error.remove(ContextKind::SuggestedArg);
            String::from("only `tfbc report --follow` reads a trace while it grows; this command needs the whole trace")
        }
        // The parser's hint to pass a word such as `-f` as a value does not help here.
        _ => {
            error.remove(ContextKind::Suggested);
            return;
        }
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
}

/// Feature of a command that this program was built without.
fn left_out(command: &str) -> Option<&'static str> {
    match command {
        "summary" | "latency" | "timeline" | "view" | "curt" if cfg!(not(feature = "analysis")) => Some("analysis"),
        "browse" if cfg!(not(feature = "browse")) => Some("browse"),
        "lsp" if cfg!(not(feature = "lsp")) => Some("lsp"),
        _ => None,
    }
}

/// Adds a tip to the message of a usage error.
fn add_tip(error: &mut clap::Error, tip: String) {
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.push(tip.into());
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

/// Writes the output of a command to a file or standard output.
fn print(console: &Console, text: impl AsRef<[u8]>, path: Option<&Path>) -> CommandResult {
    let what = path.map_or(String::from("standard output"), |path| path.display().to_string());
    let failed = |error| Failure::write(&error, &what);
    let mut out = console.open(path).map_err(failed)?;
    out.write_all(text.as_ref()).map_err(failed)?;
    out.into_inner().commit().map_err(failed)?;
    Ok(Status::Well)
}

/// Writes text with our own styles to standard output. It must not contain control characters from files if
/// [`Console::shows_controls`] is true.
fn print_styled(text: impl AsRef<[u8]>) -> CommandResult {
    let failed = |error| Failure::write(&error, "standard output");
    let mut out = Output::open(None).map_err(failed)?;
    out.write_all(text.as_ref()).map_err(failed)?;
    out.commit().map_err(failed)?;
    Ok(Status::Well)
}

/// Message for a kind of table that this program cannot write.
fn not_built(name: &str) -> String {
    format!(
        "--to {name}: this tfbc was built without it; `cargo build --release -p tfbc-cli --features {name}` builds one \
         that writes such tables"
    )
}

/// Number with a noun, such as `1 event` or `2 events`.
fn count(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_consistent() {
        programs().into_iter().for_each(clap::Command::debug_assert);
    }

    #[test]
    fn often_called_commands_are_the_same_alone() {
        let lines = [
            "tfbc report -t a.trcfmt --only 15b,106 --columns elapsed,text -o report.txt trace.log",
            "tfbc report --quiet --color never --no-heading - --raw --threads 3",
            "tfbc event -t a.trcfmt --env 32 010a0000 0000000a --quiet",
            "tfbc event -t defs.xml --class USER --id 65 00030400",
        ];
        for line in lines {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let alone = often_called(&args).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(format!("{alone:?}"), format!("{:?}", Tfbc::try_parse_from(&args).unwrap()));
        }
        for line in [
            "tfbc report",
            "tfbc report --help",
            "tfbc report --colunms x",
            "tfbc event",
            "tfbc repor",
            "tfbc list",
            "tfbc",
            "",
        ] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(often_called(&args).is_none(), "{line}");
        }
    }
}
