//! The commands. Every one is a set of flags and a `run`; none has logic of its own.

mod blob;
#[cfg(feature = "compiler")]
mod compile;
mod console;
#[cfg(feature = "compiler")]
mod convert;
mod event;
mod explain;
#[cfg(feature = "compiler")]
mod fix;
#[cfg(feature = "compiler")]
mod fmt;
mod formats;
#[cfg(feature = "compiler")]
mod hexview;
mod info;
mod info_aix;
mod info_kev;
mod inputs;
mod joined;
mod known;
#[cfg(feature = "compiler")]
mod levels;
mod limits;
mod list;
#[cfg(feature = "compiler")]
mod lsp;
mod manual;
#[cfg(target_os = "linux")]
mod recording;
mod report;
mod rptopts;
#[cfg(feature = "compiler")]
mod test;
mod trace;
mod traceprinter;
mod trcevgrp;
mod trcrpt;
#[cfg(feature = "compiler")]
mod trcupdate;
#[cfg(feature = "compiler")]
mod watch;

use crate::output;
use crate::spelling::closest;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use console::{Colour, Console, Ending, Failure, Message, Status};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Flags of every command.
#[derive(Debug, Clone, Copy, Default, Args)]
struct CommonArgs {
    /// When to colour messages and reports; `auto` on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, value_enum, help_heading = "Messages")]
    color: Colour,
    /// Leave out warnings, summaries and progress
    #[arg(long, global = true, help_heading = "Messages")]
    quiet: bool,
    /// Write control characters of traces to a terminal as they are; else they are shown as \x1b or \u{9b}. Files and
    /// pipes always get them as they are
    #[arg(long = "raw", global = true, help_heading = "Messages")]
    raw_text: bool,
}

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
  tfbc compile my.trcfmt -o my.tfbc              compile format files once, load them fast
  tfbc event -t my.trcfmt --env 32 010a00000000000a
  tfbc report -t defs.xml log.kev                a QNX log with its event definitions
  tfbc explain S07                               what a diagnostic means";

#[derive(Debug, Subcommand)]
enum Command {
    /// Compile format files into one blob
    #[cfg(feature = "compiler")]
    #[command(after_help = "\
Examples:
  tfbc compile a.trcfmt b.trcfmt -o both.tfbc    b's stanzas win over a's
  tfbc compile a.trcfmt --emit bytecode          print a stage of the compiler")]
    Compile(compile::CompileArgs),
    /// Check format files and show all that is wrong with them
    #[cfg(feature = "compiler")]
    #[command(after_help = "\
Examples:
  tfbc check a.trcfmt
  tfbc check --message-format short --strict *.trcfmt
  tfbc check --fix --dry-run a.trcfmt            show what would be mended
  tfbc check --fix a.trcfmt                      mend it
  tfbc check --allow S47 --deny C4x a.trcfmt     warnings to leave out, and to take for errors
  tfbc check --message-format sarif a.trcfmt > findings.sarif
  tfbc check defs.xml                            event definitions of QNX")]
    Check(compile::CheckArgs),
    /// Say what a format file of AIX says in event definitions of QNX, and back
    #[cfg(feature = "compiler")]
    #[command(after_help = "\
Examples:
  tfbc convert defs.xml -o defs.trcfmt           a stanza for each event
  tfbc convert my.trcfmt --class USER --first-id 100")]
    Convert(convert::ConvertArgs),
    /// Lay out format files in one canonical form
    #[cfg(feature = "compiler")]
    #[command(after_help = "\
Examples:
  tfbc fmt my.trcfmt                             in place
  tfbc fmt --check *.trcfmt defs.xml             show what would change
  tfbc fmt - < my.trcfmt                         from standard input to standard output")]
    Fmt(fmt::FmtArgs),
    /// Format whole traces and logs
    #[command(after_help = "\
Examples:
  tfbc report trace.log                          with the built-in format file
  tfbc report -t a.trcfmt -t b.tfbc trace.log    b wins over a
  tfbc report --only 15b,106 --columns elapsed,text -o report.txt trace.log
  tfbc report -h - < trace.stream                standard input, no heading
  tfbc report traces/ old.log.gz                 the traces of a directory, and a compressed one
  trace -o - | tfbc report --follow --grep exec -
  tfbc report --stats --to tsv trace.log         how often each hook was met
  tfbc report -t defs.xml --defined log.kev      what event definitions say of a QNX log
  tfbc report --only USER,KER_CALL:11 --cpu 0 --to ndjson log.kev")]
    Report(Box<report::ReportArgs>),
    /// Format one event given in hex
    #[command(after_help = "\
Examples:
  tfbc event -t a.trcfmt --env 32 010a0000 0000000a
  tfbc event -t a.trcfmt --env 64 8000000850000005 000000000000002a --trace
  tfbc event -t defs.xml --class USER --id 65 '00 03 04 00'")]
    Event(event::EventArgs),
    /// Test format files: what events print is compared with what was accepted
    #[cfg(feature = "compiler")]
    #[command(after_help = "\
Examples:
  tfbc test --new boot.trc -t my.trcfmt          write a first case file, boot.case.toml
  tfbc test                                      run the case files here and below
  tfbc test --review                             look at each change, and accept or reject it
  tfbc test --accept                             accept what the last run has shown
  tfbc test --coverage                           what the events reach of the format files
  tfbc test --report junit --report-file out.xml tests/")]
    Test(Box<test::TestArgs>),
    /// Show the report of some events again after every save of a format file
    #[cfg(feature = "compiler")]
    #[command(after_help = "\
Examples:
  tfbc watch my.trcfmt boot.trc                  the first events, and what is wrong with my.trcfmt
  tfbc watch my.trcfmt boot.trc --only 15b --columns id,elapsed,text
  tfbc watch -t defs.xml log.kev --only USER --first 5")]
    Watch(watch::WatchArgs),
    /// Show an event's bytes, and which part of its template reads which of them
    #[cfg(feature = "compiler")]
    #[command(after_help = "\
Examples:
  tfbc hexview -t a.trcfmt --env 32 010a0000 0000000a
  tfbc hexview -t a.trcfmt --only 15b --first 3 trace.log
  tfbc hexview -t a.trcfmt --only 15b --entry 7 trace.log
  tfbc hexview -t defs.xml --class USER --id 65 '00 03 04 00'")]
    Hexview(hexview::HexviewArgs),
    /// List what can be formatted: hooks and events with their labels
    #[command(after_help = "\
Examples:
  tfbc list                                      the built-in format file
  tfbc list -t a.trcfmt")]
    List(list::ListArgs),
    /// Describe a trace or log: header, kind, time range, events per id, damaged places
    #[command(after_help = "\
Examples:
  tfbc info trace.log
  tfbc info -t a.trcfmt trace.log                which ids have no template there")]
    Info(info::InfoArgs),
    /// List the bytecode of a blob or format file
    #[command(after_help = "\
Examples:
  tfbc disasm a.tfbc
  tfbc disasm a.tfbc 15b                         one hook
  tfbc disasm a.xml USER:65                      one event of QNX")]
    Disasm(blob::DisasmArgs),
    /// Verify blobs
    #[command(after_help = "\
Examples:
  tfbc verify a.tfbc b.tfbc")]
    Verify(blob::VerifyArgs),
    /// Serve editors: diagnostics, hover, completion and more, over the Language Server Protocol
    #[cfg(feature = "compiler")]
    #[command(after_help = "\
Examples:
  tfbc lsp                                       what an editor is told to start")]
    Lsp(lsp::LspArgs),
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
    /// Write a script for a shell that completes commands, flags and values
    #[command(after_help = "\
Examples:
  tfbc completions bash > /etc/bash_completion.d/tfbc
  tfbc completions zsh > ~/.zfunc/_tfbc
  tfbc completions fish trcrpt > ~/.config/fish/completions/trcrpt.fish")]
    Completions(manual::CompletionsArgs),
    /// Print a manual page, or write them all to a directory
    #[command(after_help = "\
Examples:
  tfbc man report | man -l -                     the page of one command
  tfbc man /usr/local/share/man/man1             every page")]
    Man(manual::ManArgs),
    /// Write the report of AIX traces, as AIX's trcrpt does
    Trcrpt(Box<trcrpt::TrcrptArgs>),
    /// Add, replace and delete stanzas of a format file, as AIX's trcupdate does
    #[cfg(feature = "compiler")]
    Trcupdate(trcupdate::TrcupdateArgs),
    /// List, add, change and remove event groups, as AIX's trcevgrp does
    Trcevgrp(trcevgrp::TrcevgrpArgs),
    /// Print QNX kernel logs, as QNX's traceprinter does
    Traceprinter(Box<traceprinter::TraceprinterArgs>),
    /// Record a trace of the programs that call its hooks, as AIX's trace does
    #[cfg(target_os = "linux")]
    Trace(Box<recording::TraceArgs>),
    /// Begin the collection of a trace that is off, as AIX's trcon does
    #[cfg(target_os = "linux")]
    Trcon(recording::TrconArgs),
    /// Interrupt the collection of a trace, as AIX's trcoff does
    #[cfg(target_os = "linux")]
    Trcoff(recording::TrcoffArgs),
    /// End a trace, as AIX's trcstop does
    #[cfg(target_os = "linux")]
    Trcstop(recording::TrcstopArgs),
    /// Recover the events of a trace that was killed, as AIX's trcdead does
    #[cfg(target_os = "linux")]
    Trcdead(recording::TrcdeadArgs),
    /// List names and addresses, as AIX's trcnm does
    #[cfg(target_os = "linux")]
    Trcnm(recording::TrcnmArgs),
    /// Record the events of QNX's trace functions, as QNX's tracelogger does
    #[cfg(target_os = "linux")]
    Tracelogger(recording::TraceloggerArgs),
}

impl Command {
    fn run(self, common: CommonArgs) -> (Console, Ending) {
        let console = Console::new(false, common);
        let ending = match self {
            #[cfg(feature = "compiler")]
            Command::Compile(args) => args.run(&console),
            #[cfg(feature = "compiler")]
            Command::Check(args) => args.run(&console),
            #[cfg(feature = "compiler")]
            Command::Convert(args) => args.run(&console),
            #[cfg(feature = "compiler")]
            Command::Fmt(args) => args.run(&console),
            Command::Report(args) => args.run(&console),
            Command::Event(args) => args.run(&console),
            #[cfg(feature = "compiler")]
            Command::Test(args) => args.run(&console),
            #[cfg(feature = "compiler")]
            Command::Watch(args) => args.run(&console),
            #[cfg(feature = "compiler")]
            Command::Hexview(args) => args.run(&console),
            Command::List(args) => args.run(&console),
            Command::Info(args) => args.run(&console),
            Command::Disasm(args) => args.run(&console),
            Command::Verify(args) => args.run(&console),
            #[cfg(feature = "compiler")]
            Command::Lsp(args) => args.run(&console),
            Command::Ops => print(&console, tfbc_vm::ops_page(), None),
            Command::Explain(args) => args.run(&console),
            Command::Completions(args) => args.run(&console, programs()),
            Command::Man(args) => args.run(&console, programs()),
            Command::Trcrpt(args) => return args.run(common),
            #[cfg(feature = "compiler")]
            Command::Trcupdate(args) => return args.run(common),
            Command::Trcevgrp(args) => return args.run(common),
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

/// Write the report of AIX traces, as AIX's trcrpt does
// The command of its own; `tfbc trcrpt` takes the same flags.
#[derive(Debug, Parser)]
#[command(name = "trcrpt", version, max_term_width = 100)]
struct Trcrpt {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    args: trcrpt::TrcrptArgs,
}

/// Add, replace and delete stanzas of a format file, as AIX's trcupdate does
// The command of its own; `tfbc trcupdate` takes the same flags.
#[cfg(feature = "compiler")]
#[derive(Debug, Parser)]
#[command(name = "trcupdate", version, max_term_width = 100)]
struct Trcupdate {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    args: trcupdate::TrcupdateArgs,
}

/// List, add, change and remove event groups, as AIX's trcevgrp does
// The command of its own; `tfbc trcevgrp` takes the same flags.
#[derive(Debug, Parser)]
#[command(name = "trcevgrp", version, max_term_width = 100)]
struct Trcevgrp {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    args: trcevgrp::TrcevgrpArgs,
}

/// Print QNX kernel logs, as QNX's traceprinter does
// The command of its own; `tfbc traceprinter` takes the same flags.
#[derive(Debug, Parser)]
#[command(name = "traceprinter", version, max_term_width = 100)]
struct Traceprinter {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    args: traceprinter::TraceprinterArgs,
}

/// Every command that is installed.
fn programs() -> Vec<clap::Command> {
    let mut programs = vec![
        Tfbc::command(),
        Trcrpt::command(),
        #[cfg(feature = "compiler")]
        Trcupdate::command(),
        Trcevgrp::command(),
        Traceprinter::command(),
    ];
    #[cfg(target_os = "linux")]
    programs.extend(recording::programs());
    programs
}

/// A command of `tfbc` with its own flags and no others.
#[derive(Debug, Parser)]
struct Alone<A: Args> {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    args: A,
}

/// What a command line asks for, where it is right and its command is one that scripts call again and again: setting up
/// the flags of all commands takes half of a short run. What is wrong with a command line is told by all of them.
fn often_called(args: &[OsString]) -> Option<Tfbc> {
    fn of<A: Args>(args: &[OsString], command: impl FnOnce(A) -> Command) -> Option<Tfbc> {
        let Alone { common, args } = Alone::<A>::try_parse_from(args).ok()?;
        output::outlive_size_limits();
        Some(Tfbc { common, command: command(args) })
    }
    let args = args.get(1..)?;
    match args.first()?.to_str()? {
        "report" => of(args, |args| Command::Report(Box::new(args))),
        "event" => of(args, Command::Event),
        _ => None,
    }
}

/// Runs `tfbc` with a command line, and gives its exit status.
pub fn tfbc(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<_> = args.into_iter().collect();
    match often_called(&args).map_or_else(|| parse::<Tfbc>(args), Ok) {
        Ok(tfbc) => end(tfbc.command.run(tfbc.common)),
        Err(error) => refused(false, &error).into(),
    }
}

/// Runs `trcrpt` with a command line, and gives its exit status.
pub fn trcrpt(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse::<Trcrpt>(args) {
        Ok(trcrpt) => end(trcrpt.args.run(trcrpt.common)),
        Err(error) => refused(true, &error).into(),
    }
}

/// Runs `trcupdate` with a command line, and gives its exit status.
#[cfg(feature = "compiler")]
pub fn trcupdate(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse::<Trcupdate>(args) {
        Ok(trcupdate) => end(trcupdate.args.run(trcupdate.common)),
        Err(error) => refused(true, &error).into(),
    }
}

/// Runs `trcevgrp` with a command line, and gives its exit status.
pub fn trcevgrp(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse::<Trcevgrp>(args) {
        Ok(trcevgrp) => end(trcevgrp.args.run(trcevgrp.common)),
        Err(error) => refused(true, &error).into(),
    }
}

/// Runs `traceprinter` with a command line, and gives its exit status.
pub fn traceprinter(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse::<Traceprinter>(args) {
        Ok(traceprinter) => end(traceprinter.args.run(traceprinter.common)),
        Err(error) => refused(false, &error).into(),
    }
}

/// Makes the functions that run the recording commands; where there is no recorder, they say so.
macro_rules! recording_commands {
    ($($name:ident($args:ident, compatible: $compatible:literal);)*) => {$(
        #[doc = concat!("Runs `", stringify!($name), "` with a command line, and gives its exit status.")]
        pub fn $name(args: impl IntoIterator<Item = OsString>) -> ExitCode {
            #[cfg(target_os = "linux")]
            return recording::run(stringify!($name), $compatible, args, recording::$args::run);
            #[cfg(not(target_os = "linux"))]
            return no_recorder($compatible, args);
        }
    )*};
}

recording_commands! {
    trace(TraceArgs, compatible: true);
    trcon(TrconArgs, compatible: true);
    trcoff(TrcoffArgs, compatible: true);
    trcstop(TrcstopArgs, compatible: true);
    trcdead(TrcdeadArgs, compatible: true);
    trcnm(TrcnmArgs, compatible: true);
    tracelogger(TraceloggerArgs, compatible: false);
}

#[cfg(not(target_os = "linux"))]
fn no_recorder(compatible: bool, _args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let console = Console::new(compatible, CommonArgs::default());
    console.error(Message::Unsupported, "programs are recorded on Linux alone");
    Status::Failed.into()
}

fn parse<P: CommandFactory + FromArgMatches>(args: impl IntoIterator<Item = OsString>) -> Result<P, clap::Error> {
    output::outlive_size_limits();
    let mut command = P::command();
    let matches = command.try_get_matches_from_mut(args)?;
    P::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn end((console, ending): (Console, Ending)) -> ExitCode {
    console.end(ending).into()
}

/// How a command ends whose command line is help or wrong.
fn refused(compatible: bool, error: &clap::Error) -> Status {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed =
                error.print().map(|()| Status::Well).map_err(|error| Failure::write(&error, "standard output"));
            Console::new(compatible, CommonArgs::default()).end(printed)
        }
        _ if compatible => {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
            Console::new(true, CommonArgs::default()).error(Message::Usage, text);
            Status::Failed
        }
        _ => {
            let _ = error.print();
            Status::Failed
        }
    }
}

/// Writes a command's whole product to a file or standard output.
fn print(console: &Console, text: impl AsRef<[u8]>, path: Option<&Path>) -> Ending {
    let what = path.map_or(String::from("standard output"), |path| path.display().to_string());
    let failed = |error| Failure::write(&error, &what);
    let mut out = console.open(path).map_err(failed)?;
    out.write_all(text.as_ref()).map_err(failed)?;
    out.into_inner().commit().map_err(failed)?;
    Ok(Status::Well)
}

/// A number of things, such as `1 event` or `2 events`.
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
            "tfbc report --quiet --color never -h - --raw --threads 3",
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
