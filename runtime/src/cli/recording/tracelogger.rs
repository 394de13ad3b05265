//! `tracelogger`: QNX's flags on our recorder.

use crate::cli::console::{Console, Ending, Failure, Message, Status};
use crate::cli::{self, CommonArgs};
use clap::Args;
use std::path::{Path, PathBuf};
use tfbc_recorder::logger::Logger;
use tfbc_recorder::options::Output;
use tfbc_recorder::session::{self, Task};

/// Flags of `tracelogger`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Record the events of QNX's trace functions, as QNX's tracelogger does",
    after_help = AFTER_HELP
)]
pub struct TraceloggerArgs {
    /// Buffers to log, of 1014 slots each; 0 for all until SIGINT
    #[arg(short = 'n', value_name = "BUFFERS", default_value_t = 32)]
    buffers: u32,
    /// Seconds to log
    #[arg(short = 's', value_name = "SECONDS")]
    seconds: Option<u32>,
    /// Log, in place of /dev/shmem/tracebuffer.kev or your own; `-` is standard output
    #[arg(short = 'f', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Leave out a class: 1 kernel calls, 2 interrupts, 3 processes, 4 threads and 5 virtual threads (the three are one
    /// class in the log), 6 communication, 7 system
    #[arg(short = 'F', value_name = "CLASS", value_parser = clap::value_parser!(u8).range(1..=7))]
    except: Vec<u8>,
    /// Keep the newest buffers in memory, and write them at the end
    #[arg(short = 'r')]
    ring: bool,
    /// Add an attribute to the log's header
    #[arg(short = 'A', value_name = "KEY=VALUE")]
    attributes: Vec<String>,
    /// Accepted: programs always record all that they give
    #[arg(short = 'w')]
    wide: bool,
    /// Write the log of a big-endian target
    #[arg(long)]
    big_endian: bool,
}

/// Explanation and examples of the help page.
const AFTER_HELP: &str = "\
Programs call trace_logi() and the like of librts (docs/recording.md). The trace ends with its
buffers, its seconds, or at SIGINT; traceprinter without -f reads the log that tracelogger without
-f has written.

Examples:
  tracelogger -s 10 -f my.kev; traceprinter -f my.kev
  tracelogger -n 0 -r                  the newest 32 buffers before you press Ctrl-C
  tracelogger -s 5 -A TARGET=board7 -F 7";

impl TraceloggerArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, Ending) {
        let console = Console::new(false, common);
        let ending = self.log(&console);
        (console, ending)
    }

    fn log(&self, console: &Console) -> Ending {
        let logger = self.logger()?;
        let summary = session::run(&Task::Kev(logger), |_| {}).map_err(super::failure)?;
        let lost = summary.lost + summary.refused + summary.over;
        let lost = if lost > 0 { format!(", {lost} lost") } else { String::new() };
        console.note(format!("{}{lost}", cli::count(summary.events, "event")));
        Ok(Status::Well)
    }

    fn logger(&self) -> Result<Logger, Failure> {
        let output = match &self.file {
            None => Output::Default,
            Some(path) if path == Path::new("-") => Output::Stdout,
            Some(path) => Output::File(path.clone()),
        };
        let arguments = std::env::args().skip_while(|word| word.rsplit('/').next() != Some("tracelogger")).skip(1);
        Ok(Logger {
            output,
            buffers: if self.ring && self.buffers == 0 { Logger::default().buffers } else { self.buffers },
            seconds: self.seconds,
            ring: self.ring,
            except: self.except.iter().map(|class| internal(*class)).collect(),
            attributes: self.attributes.iter().map(|text| attribute(text)).collect::<Result<_, _>>()?,
            big_endian: self.big_endian,
            arguments: arguments.collect::<Vec<_>>().join(" "),
        })
    }
}

/// The class of a log's slots that a number of `-F` stands for.
fn internal(class: u8) -> u8 {
    match class {
        1 => 2,
        2 => 3,
        3..=5 => 4,
        6 => 7,
        _ => 5,
    }
}

fn attribute(text: &str) -> Result<(String, String), Failure> {
    let is_key = |key: &str| {
        let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        !key.is_empty() && key.bytes().all(is_part)
    };
    match text.split_once('=') {
        Some((key, value)) if is_key(key) => Ok((key.to_owned(), value.to_owned())),
        _ => {
            let text = format!("-A: expected KEY=VALUE with a key of A-Z, 0-9 and _, found `{text}`");
            Err(Failure::Say(Message::Usage, text))
        }
    }
}
