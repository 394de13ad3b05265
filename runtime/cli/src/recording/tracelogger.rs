//! `tracelogger`: QNX's flags for the recorder.

use crate::console::{CommandResult, CommonArgs, Console, Failure, Message, Status};
use crate::limits;
use clap::{ArgAction, ArgMatches, Args, FromArgMatches};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tfbc::EventId;
use tfbc_recorder::logger::{EventRange, Logger};
use tfbc_recorder::options::Output;
use tfbc_recorder::session::{self, Task};

/// Flags of `tracelogger`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Record QNX's trace functions, as QNX's tracelogger does",
    after_help = AFTER_HELP,
    args_override_self = true
)]
pub struct TraceloggerArgs {
    /// Number of buffers to log, of 1014 slots each; 32 without -n and -s; 0 for no limit
    #[arg(short = 'n', value_name = "BUFFERS", allow_negative_numbers = true, overrides_with = "continuous")]
    buffers: Option<u32>,
    /// Log continuously: same as -n 0
    #[arg(short = 'c', overrides_with = "buffers")]
    continuous: bool,
    /// Seconds to log, such as 0.5; 0 for no limit
    #[arg(short = 's', value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    time: Option<Duration>,
    /// Log file, instead of /dev/shmem/tracebuffer.kev or your own; `-` is standard output
    #[arg(short = 'f', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Leave out a class: 0 none, 1 kernel calls, 2 interrupts, 3 processes, 4 threads, 5 virtual threads, 6
    /// communication, 7 system; or a class by its name, such as COMM
    #[arg(short = 'F', value_name = "CLASS", value_parser = class, allow_negative_numbers = true)]
    except: Vec<ExcludedEvents>,
    /// Keep the newest buffers in memory and write them at the end; -k or -n sets their number
    #[arg(short = 'r')]
    ring: bool,
    /// Maximum size of the log in bytes, or with k, M or G
    #[arg(short = 'S', value_name = "SIZE", value_parser = size, allow_negative_numbers = true)]
    max_bytes: Option<u64>,
    /// Add an attribute to the log's header
    #[arg(short = 'A', value_name = "KEY=VALUE")]
    attributes: Vec<String>,
    /// Wide mode: state records include priority and policy; program events are always complete
    #[arg(short = 'w')]
    wide: bool,
    /// Print what is logged; given twice, also a line for every buffer
    #[arg(short = 'v', action = ArgAction::Count)]
    verbose: u8,
    /// Write the log as a big-endian target would
    #[arg(long)]
    big_endian: bool,
    #[command(flatten)]
    without_effect: WithoutEffect,
}

/// Explanation and examples of the help page.
const AFTER_HELP: &str = "\
Programs call trace_logi() and similar functions of librts (docs/recording.md). The trace ends when
its buffers are full, its time is over, or at SIGINT. Without -f, traceprinter reads the log that
tracelogger writes without -f.

Examples:
  tracelogger -s 10 -f my.kev; traceprinter -f my.kev
  tracelogger -n 0 -r                  the newest 32 buffers before you press Ctrl-C
  tracelogger -s 5 -A TARGET=board7 -F 7";

/// QNX's flags that have no effect here.
#[derive(Debug, Clone, Args)]
struct WithoutEffectArgs {
    /// No effect here: the class of security events
    #[arg(short = 'a')]
    _security: bool,
    /// No effect here: buffers to allocate
    #[arg(short = 'b', value_name = "NUM", allow_negative_numbers = true)]
    _allocated: Option<u32>,
    /// No effect here: seconds between flushes
    #[arg(short = 'D', value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    _flush: Option<Duration>,
    /// No effect here: 1, a daemon
    #[arg(short = 'd', value_name = "MODE", value_parser = clap::value_parser!(u8).range(1..=1), allow_negative_numbers = true)]
    _mode: Option<u8>,
    /// No effect here: record from the start
    #[arg(short = 'E')]
    _from_start: bool,
    /// With -r, number of buffers in the ring; otherwise no effect here
    #[arg(short = 'k', value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    kernel_buffers: Option<u32>,
    /// No effect here: map the log; requires -S
    #[arg(short = 'M', requires = "max_bytes")]
    _mapped: bool,
    /// No effect here: keep the kernel's buffers
    #[arg(short = 'P')]
    _preserve: bool,
    /// No effect here: reuse the kernel's buffers
    #[arg(short = 'R')]
    _reuse: bool,
    /// No effect here: address of the kernel's buffers
    #[arg(short = 'p', value_name = "ADDR")]
    _address: Option<String>,
}

/// Flags without effect, with the reason.
const REASONS: [(&str, &str, &str); 10] = [
    ("_security", "-a", "the security class comes from the kernel"),
    ("_allocated", "-b", "buffers are allocated as they are needed"),
    ("_flush", "-D", "events are flushed at once"),
    ("_mode", "-d1", "it records from the start, as with -E; programs cannot start and stop it"),
    ("_from_start", "-E", "it always records from the start"),
    ("kernel_buffers", "-k", "there are no kernel buffers"),
    ("_mapped", "-M", "the log is written, not mapped"),
    ("_preserve", "-P", "there are no kernel buffers to preserve"),
    ("_reuse", "-R", "there are no kernel buffers to use again"),
    ("_address", "-p", "there are no kernel buffers to place"),
];

/// Given flags that have no effect.
#[derive(Debug, Clone)]
struct WithoutEffect {
    args: WithoutEffectArgs,
    /// Flag and reason, in command-line order.
    notes: Vec<(&'static str, &'static str)>,
}

impl FromArgMatches for WithoutEffect {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_given = |id: &str| matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine);
        let place = |id: &str| matches.indices_of(id).and_then(Iterator::last);
        let mut notes: Vec<_> = REASONS.into_iter().filter(|(id, ..)| is_given(id)).collect();
        notes.sort_by_key(|(id, ..)| place(id));
        let notes = notes.into_iter().map(|(_, flag, reason)| (flag, reason)).collect();
        Ok(WithoutEffect { args: WithoutEffectArgs::from_arg_matches(matches)?, notes })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for WithoutEffect {
    fn augment_args(command: clap::Command) -> clap::Command {
        WithoutEffectArgs::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        WithoutEffectArgs::augment_args_for_update(command)
    }
}

/// Events of a class that `-F` leaves out.
#[derive(Debug, Clone)]
struct ExcludedEvents(Vec<EventRange>);

/// Parses a class of `-F`.
fn class(text: &str) -> Result<ExcludedEvents, String> {
    let name = match text {
        "0" => return Ok(ExcludedEvents(Vec::new())),
        "1" => "KER_CALL",
        "2" => "INT",
        "3" => "PROCESS",
        "4" => "THREAD",
        "5" => "VTHREAD",
        "6" => "COMM",
        "7" => "SYSTEM",
        name => name,
    };
    let (class, events) = EventId::of_class(name).map_err(|names| format!("expected 0 to 7 or one of {names}"))?;
    let mut ranges: Vec<EventRange> = Vec::new();
    for event in events {
        match ranges.last_mut() {
            Some(range) if range.last + 1 == event => range.last = event,
            _ => ranges.push(EventRange { class, first: event, last: event }),
        }
    }
    Ok(ExcludedEvents(ranges))
}

/// Parses seconds with a decimal fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds >= 0.0);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| String::from("expected a number of seconds, 0 or more, such as 10 or 0.5"))
}

/// Parses a size in bytes.
fn size(text: &str) -> Result<u64, String> {
    limits::byte_count(text).ok_or_else(|| String::from("expected bytes, or a number with k, M or G, such as 30M"))
}

impl TraceloggerArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(false, common);
        let ending = self.log(&console);
        (console, ending)
    }

    fn log(&self, console: &Console) -> CommandResult {
        let logger = self.logger(console)?;
        for (flag, reason) in &self.without_effect.notes {
            if (*flag, self.ring) != ("-k", true) {
                console.note(format!("tracelogger: note: {flag} has no effect here: {reason}"));
            }
        }
        if self.verbose > 0 {
            console.note(self.described(&logger));
        }
        let summary = session::run(&Task::Kev(logger), |_| {}).map_err(super::failure)?;
        let lost = summary.lost + summary.refused + summary.over;
        let lost = if lost > 0 { format!(", {lost} lost") } else { String::new() };
        console.note(format!("{}{lost}", crate::count(summary.events, "event")));
        Ok(Status::Well)
    }

    /// Number of buffers to log, 0 for no limit; with a ring, the number that it keeps.
    fn buffers(&self) -> u32 {
        let usual = Logger::default().buffers;
        if self.ring {
            let n = self.without_effect.args.kernel_buffers.or(self.buffers.filter(|n| *n > 0));
            return n.unwrap_or(usual);
        }
        match self.buffers {
            _ if self.continuous => 0,
            Some(n) => n,
            None if self.time.is_some() => 0,
            None => usual,
        }
    }

    /// Description of the log for `-v`.
    fn described(&self, logger: &Logger) -> String {
        let file = match &logger.output {
            Output::Stdout => String::from("standard output"),
            Output::File(path) => path.display().to_string(),
            Output::Default => String::from("the default log"),
        };
        let mut parts = vec![match (logger.ring, logger.buffers) {
            (true, n) => format!("the newest {n} buffers"),
            (false, 0) => String::from("any number of buffers"),
            (false, n) => format!("{n} buffers"),
        }];
        parts.extend(logger.time.map(|time| format!("{} seconds", time.as_secs_f64())));
        parts.extend(logger.max_bytes.map(|bytes| format!("at most {bytes} bytes")));
        parts.push(String::from(if self.wide { "wide mode" } else { "fast mode" }));
        format!("tracelogger: logging to {file}: {}", parts.join(", "))
    }

    fn logger(&self, console: &Console) -> Result<Logger, Failure> {
        let output = match &self.file {
            None => Output::Default,
            Some(path) if path == Path::new("-") => Output::Stdout,
            Some(path) => Output::File(path.clone()),
        };
        let arguments = std::env::args().skip_while(|word| word.rsplit('/').next() != Some("tracelogger")).skip(1);
        let attributes = self.attributes.iter().map(|text| attribute(text, console)).collect::<Result<Vec<_>, _>>()?;
        Ok(Logger {
            output,
            buffers: self.buffers(),
            time: self.time.filter(|time| !time.is_zero()),
            max_bytes: self.max_bytes,
            ring: self.ring,
            wide: self.wide,
            except: self.except.iter().flat_map(|class| class.0.iter().copied()).collect(),
            attributes: attributes.into_iter().flatten().collect(),
            print_buffers: self.verbose > 1,
            big_endian: self.big_endian,
            arguments: arguments.collect::<Vec<_>>().join(" "),
        })
    }
}

/// Parses an attribute of `-A`. An attribute that a reader of the log would misread is left out with a warning.
fn attribute(text: &str, console: &Console) -> Result<Option<(String, String)>, Failure> {
    let is_key = |key: &str| {
        let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        !key.is_empty() && key.bytes().all(is_part)
    };
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    for forbidden in ["::", "TRACE_", "="] {
        if value.contains(forbidden) || (forbidden != "=" && key.contains(forbidden)) {
            console.warning(
                Message::Notable,
                format!("-A: `{text}` is left out: an attribute cannot have `{forbidden}` in its value"),
            );
            return Ok(None);
        }
    }
    if !is_key(key) || !text.contains('=') {
        let text = format!("-A: expected KEY=VALUE with a key of A-Z, 0-9 and _, found `{text}`");
        return Err(Failure::Error(Message::Usage, text));
    }
    Ok(Some((key.to_owned(), value.to_owned())))
}
