//! `trace`: AIX's flags for the recorder.

use super::prompt;
use crate::console::{CommandResult, CommonArgs, Console, Failure, Message, Status};
use crate::overwrite;
use clap::error::Error;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use std::path::PathBuf;
use tfbc_recorder::flags::{self, Flags, Program, REFUSED};
use tfbc_recorder::groups;
use tfbc_recorder::options::{Output, TraceOptions};
use tfbc_recorder::record::Width;
use tfbc_recorder::session::{self, Task};

/// Flags of `trace`.
#[derive(Debug, Clone, Args)]
#[command(
    disable_help_flag = true,
    about = "Record the trace hooks of programs, as AIX's trace does",
    after_help = AFTER_HELP,
    args_override_self = true
)]
pub struct TraceArgs {
    /// Record in the background and return at once; otherwise commands are read: trcon, trcoff, quit, !COMMAND, ?
    #[arg(short = 'a')]
    background: bool,
    /// Start with collection off, until trcon
    #[arg(short = 'd')]
    off: bool,
    /// Use one buffer; the trace stops when it is full, and the log is written at the end
    #[arg(short = 'f')]
    single: bool,
    /// Use one circular buffer; the log contains the newest events and is written at the end
    #[arg(short = 'l')]
    circular: bool,
    /// Record a generic channel, the first free one of 1 to 7, instead of channel 0; requires -a
    #[arg(short = 'g')]
    generic: bool,
    /// Write no header events: no date, system and message
    #[arg(short = 'h')]
    headless: bool,
    /// Only these hooks: hh, hhh or hhhh, separated by commas or blanks
    #[arg(short = 'j', value_name = "IDS")]
    only: Vec<String>,
    /// Only the hooks of these event groups, as defined with `trcevgrp`
    #[arg(short = 'J', value_name = "GROUPS")]
    only_groups: Vec<String>,
    /// Leave out these hooks
    #[arg(short = 'k', value_name = "IDS")]
    except: Vec<String>,
    /// Leave out the hooks of these event groups
    #[arg(short = 'K', value_name = "GROUPS")]
    except_groups: Vec<String>,
    /// Text for the trace's header
    #[arg(short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Record the names and addresses of the traced programs' own symbols
    #[arg(short = 'n')]
    symbols: bool,
    /// Log file, instead of /var/adm/ras/trcfile or your own; `-` streams to standard output
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Keep an existing log of the same name as FILE.old
    #[arg(short = 'c')]
    keeps_old: bool,
    /// Only events of the threads that these processes have at the start: process ids, separated by commas or blanks
    #[arg(short = 'A', value_name = "PIDS")]
    processes: Vec<String>,
    /// Only events of these threads; `all` is the default
    #[arg(short = 't', value_name = "TIDS")]
    threads: Vec<String>,
    /// With -A and -t, include also t: later threads of the same processes; p: those, and child processes; n: neither
    #[arg(short = 'P', value_name = "n|t|p")]
    propagation: Option<String>,
    /// Accepted without effect: programs record no interrupts
    #[arg(short = 'I')]
    interrupts: bool,
    /// Write a log for each of these CPUs, FILE-0 and so on, and FILE, which lists them: CPU numbers, or all
    #[arg(short = 'C', value_name = "CPUS")]
    cpus: Vec<String>,
    /// Record the CPU with every event
    #[arg(short = 'p')]
    cpu_ids: bool,
    /// Stop when the log is full instead of wrapping
    #[arg(short = 's')]
    stops_when_full: bool,
    /// Size of the log in bytes: at least two buffers, or one with -f or -l
    #[arg(short = 'L', value_name = "BYTES")]
    log_size: Option<String>,
    /// Size of a buffer in bytes
    #[arg(short = 'T', value_name = "BYTES")]
    buffer_size: Option<String>,
    /// Show the default sizes; excludes all other flags
    #[arg(short = 'S', exclusive = true)]
    shows_sizes: bool,
    /// Run a program and record until it ends
    #[arg(short = 'x', value_name = "COMMAND", conflicts_with = "outlived")]
    program: Option<String>,
    /// Run a program and continue to record after it ends, for the processes that it started
    #[arg(short = 'X', value_name = "COMMAND")]
    outlived: Option<String>,
    /// Write the trace as a 32-bit or 64-bit system would
    #[arg(long, value_name = "32|64")]
    bits: Option<String>,
    /// Accepted without effect
    #[arg(short = 'b', hide = true)]
    heap: bool,
    /// Accepted without effect
    #[arg(short = 'B', hide = true)]
    segment: bool,
    /// Accepted without effect
    #[arg(short = 'r', hide = true, value_name = "REGISTERS")]
    registers: Option<String>,
    #[command(flatten)]
    refused: RefusedArgs,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// Explanation and examples of the help page.
const AFTER_HELP: &str = "\
Programs call the hooks of librts (docs/recording.md). Without a file, trcrpt reads the log that
trace writes without -o.

Examples:
  trace -a; ./sample; trcstop; trcrpt      record what a program does, and show it
  trace -x ./sample                        the same in one command
  trace -a -d -j 010,020 -o my.trc         two hooks, off until trcon
  trace -a -l -T 1048576                   keep the newest events, write them at trcstop
  trace -o - | trcrpt -                    live, until you type q
  trace -a -g; trcstop -1                  a generic channel";

/// Flags of AIX's command that this command does not have.
#[derive(Debug, Clone, Default)]
struct RefusedArgs(Option<&'static str>);

impl Args for RefusedArgs {
    fn augment_args(command: Command) -> Command {
        REFUSED.iter().fold(command, |command, (flag, has_value, _)| {
            let action = if *has_value { ArgAction::Append } else { ArgAction::SetTrue };
            command.arg(Arg::new(*flag).short(flag.chars().next()).action(action).hide(true))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RefusedArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_given = |flag: &&str| matches.value_source(flag) == Some(ValueSource::CommandLine);
        Ok(Self(REFUSED.iter().map(|(flag, ..)| *flag).find(is_given)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl TraceArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(true, common);
        let ending = self.dispatch(&console);
        (console, ending)
    }

    fn dispatch(self, console: &Console) -> CommandResult {
        if self.shows_sizes {
            return crate::print(console, sizes(), None);
        }
        let flags = self.flags();
        if !flags.only_groups.is_empty() || !flags.except_groups.is_empty() {
            overwrite::refuse([flags.output.as_deref()], groups::default_path().as_deref())?;
        }
        let (options, warnings) = flags.options().map_err(super::refusal)?;
        for warning in warnings {
            console.warning(Message::of(warning.number), warning.text);
        }
        match &flags.program {
            Some(program) => run_program(console, options, program),
            None if options.background => start(options).map(|_| Status::Well),
            None => prompt::run(console, options),
        }
    }

    fn flags(self) -> Flags {
        let program = |command, outlived| Program { command, outlived };
        Flags {
            background: self.background,
            off: self.off,
            single: self.single,
            circular: self.circular,
            generic: self.generic,
            headless: self.headless,
            only: self.only,
            only_groups: self.only_groups,
            except: self.except,
            except_groups: self.except_groups,
            message: self.message,
            symbols: self.symbols,
            output: self.output,
            keeps_old: self.keeps_old,
            cpu_ids: self.cpu_ids,
            processes: self.processes,
            threads: self.threads,
            propagation: self.propagation,
            cpus: self.cpus,
            stops_when_full: self.stops_when_full,
            log_size: self.log_size,
            buffer_size: self.buffer_size,
            bits: self.bits,
            shows_sizes: false,
            program: self.program.map(|it| program(it, false)).or(self.outlived.map(|it| program(it, true))),
            registers: self.registers,
            allocation: if self.heap { Some('b') } else { self.segment.then_some('B') },
            refused: self.refused.0,
            command: command_line(),
        }
    }
}

/// Command line for the header of the trace.
fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.skip_while(|word| word.rsplit('/').next() != Some("trace")).skip(1).collect();
    ["trace"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn sizes() -> String {
    let line = |bits, width| {
        let (log, buffer) = flags::default_sizes(width);
        format!("{bits}-bit trace: a buffer has {buffer} bytes (-T), the log {log} bytes (-L)\n")
    };
    line(64, Width::W64) + &line(32, Width::W32)
}

fn start(options: TraceOptions) -> Result<usize, Failure> {
    session::start(&Task::Aix(options)).map_err(super::failure)
}

/// Records while a program runs (`-x` and `-X`).
fn run_program(console: &Console, options: TraceOptions, program: &Program) -> CommandResult {
    if options.output == Output::Stdout {
        let text = "-o - and -x cannot be combined: the program uses standard output";
        return Err(Failure::Error(Message::Usage, text.to_owned()));
    }
    // A signal that interrupts the program must not end its trace.
    let _signals = super::signals::IgnoredSignals::new();
    let channel = start(TraceOptions { background: true, ..options })?;
    let run = std::process::Command::new("sh").arg("-c").arg(&program.command).status();
    if !program.outlived || run.is_err() {
        session::stop(channel, false).map_err(super::failure)?;
    } else {
        let stop = super::command_line("trcstop", channel);
        console.note(format!("channel {channel} is still being recorded: `{stop}` ends the trace"));
    }
    match run {
        Ok(status) if status.success() => Ok(Status::Well),
        Ok(status) => {
            let how = status.code().map_or(status.to_string(), |code| format!("exit status {code}"));
            let text = format!("`{}` failed with {how}", program.command);
            Err(Failure::Error(Message::Notable, text))
        }
        Err(error) => Err(Failure::Error(Message::Unreadable, format!("cannot run sh: {error}"))),
    }
}
