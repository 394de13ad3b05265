//! `trcon`, `trcoff` and `trcstop`: control a running session.

use crate::console::{CommandResult, CommonArgs, Console, Failure, Message, Status};
use clap::Args;
use tfbc_recorder::hooks::CHANNELS;
use tfbc_recorder::session::{self, Error, Forced, QNX};

/// The channel of a command.
#[derive(Debug, Clone, Args)]
pub struct ChannelArg {
    /// Channel of the trace, -0 to -7; default -0
    #[arg(value_name = "-CHANNEL", allow_negative_numbers = true)]
    channel: Option<String>,
}

impl ChannelArg {
    /// Number of an AIX channel.
    pub fn number(&self) -> Result<usize, Failure> {
        self.number_up_to(CHANNELS - 1)
    }

    /// Number of a channel up to `last`.
    pub fn number_up_to(&self, last: usize) -> Result<usize, Failure> {
        let Some(text) = &self.channel else { return Ok(0) };
        let digits = text.strip_prefix('-').unwrap_or(text);
        let number = digits.parse().ok().filter(|number| *number <= last && digits.len() == 1);
        number
            .ok_or_else(|| Failure::Error(Message::Usage, format!("`{text}` is not a channel: expected -0 to -{last}")))
    }
}

/// Flags of `trcon`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Turn collection of a trace on, as AIX's trcon does",
    after_help = "\
Examples:
  trcon                                a trace that was started with trace -a -d
  trcon -1                             the trace of channel 1"
)]
pub struct TrconArgs {
    #[command(flatten)]
    channel: ChannelArg,
}

impl TrconArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        (Console::new(true, common), self.channel.number().and_then(|channel| command_result(session::on(channel))))
    }
}

/// Flags of `trcoff`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Turn collection of a trace off, as AIX's trcoff does",
    after_help = "\
Examples:
  trcoff                               until trcon
  trcoff -1                            the trace of channel 1"
)]
pub struct TrcoffArgs {
    #[command(flatten)]
    channel: ChannelArg,
}

impl TrcoffArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        (Console::new(true, common), self.channel.number().and_then(|channel| command_result(session::off(channel))))
    }
}

/// Flags of `trcstop`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Stop a trace, as AIX's trcstop does",
    after_help = "\
The command returns when the log is complete.

Examples:
  trcstop                              the trace of channel 0
  trcstop -1                           the trace of channel 1
  trcstop -d                           discard events that are not written yet
  trcstop --force                      a trace whose shared memory was overwritten"
)]
pub struct TrcstopArgs {
    /// Discard the events that are still in buffers
    #[arg(short = 'd')]
    discard: bool,
    /// Wait until the log is complete; this command always waits
    #[arg(short = 's')]
    wait: bool,
    /// Stop the trace even if the header of its shared memory was overwritten, and report the loss; the exit status is
    /// then 2
    #[arg(long, conflicts_with = "discard")]
    force: bool,
    #[command(flatten)]
    channel: ChannelArg,
}

impl TrcstopArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(true, common);
        let stop = |channel| {
            let stopped = if self.force {
                session::force_stop(channel)
            } else {
                session::stop(channel, self.discard).map(|()| None)
            };
            match stopped {
                Ok(None) => Ok(Status::Well),
                Ok(Some(forced)) => {
                    console.warning(Message::Notable, lost(channel, &forced));
                    Ok(Status::Damaged)
                }
                Err(error @ Error::Log { .. }) => {
                    let recover = super::command_line("trcdead", channel);
                    let text = format!("{error}: `{recover} -o FILE` recovers what is still in memory");
                    Err(Failure::Error(Message::Unwritable, text))
                }
                Err(error) => Err(super::failure(error)),
            }
        };
        // Channel 8 is QNX's trace.
        let last = if self.force { QNX } else { CHANNELS - 1 };
        let ending = self.channel.number_up_to(last).and_then(stop);
        (console, ending)
    }
}

/// Message about the loss when a session was stopped by force.
fn lost(channel: usize, forced: &Forced) -> String {
    let log = forced.log.as_ref().map_or(String::from("its log"), |log| log.display().to_string());
    let ended = match forced.pid {
        None => String::from("its process was killed before"),
        Some(pid) if forced.is_complete => format!("process {pid} has ended"),
        Some(pid) => format!("process {pid} did not complete its log and was killed"),
    };
    let what = if forced.is_complete {
        format!("{log} is complete, except for threads that began to record afterwards")
    } else {
        format!("events that were not in {log} yet are lost, and all events of threads that began to record afterwards")
    };
    format!(
        "the header of the shared memory of channel {channel}'s trace was overwritten: {ended}; {what}; how many events were missed is \
         not known"
    )
}

fn command_result(done: Result<(), Error>) -> CommandResult {
    done.map(|()| Status::Well).map_err(super::failure)
}
