//! Commands that record: `trace` and the commands that control and recover its sessions, `trcnm`, and QNX's
//! `tracelogger`.

mod control;
mod prompt;
mod signals;
mod trace;
mod tracelogger;
mod trcdead;
mod trcnm;

pub use control::{TrcoffArgs, TrconArgs, TrcstopArgs};
pub use trace::TraceArgs;
pub use tracelogger::TraceloggerArgs;
pub use trcdead::TrcdeadArgs;
pub use trcnm::TrcnmArgs;

use super::console::{Failure, Message};
use tfbc_recorder::flags::Notice;
use tfbc_recorder::session::{Error, FOLDER_VARIABLE, QNX};

/// Command line for a channel, as a suggestion.
fn command_line(command: &str, channel: usize) -> String {
    if channel == 0 { command.to_owned() } else { format!("{command} -{channel}") }
}

/// Failure for a violated flag rule.
fn refusal(notice: Notice) -> Failure {
    Failure::Error(Message::of(notice.number), notice.text)
}

/// Failure of a session, with advice.
fn failure(error: Error) -> Failure {
    let (message, text) = match error {
        Error::Active { channel: QNX, pid } => {
            (Message::Active, format!("a trace is already running: `kill -INT {pid}` ends it"))
        }
        Error::Active { channel, pid } => {
            let stop = command_line("trcstop", channel);
            (Message::Active, format!("channel {channel} is being recorded by process {pid}: `{stop}` ends that trace"))
        }
        Error::NotActive { channel } => {
            let start = if channel == 0 { "trace -a" } else { "trace -a -g" };
            (Message::NotActive, format!("no trace is active on channel {channel}: `{start}` starts one"))
        }
        Error::Dead { channel } => {
            let recover = command_line("trcdead", channel);
            (Message::NotActive, format!("the trace of channel {channel} was killed: `{recover}` recovers its events"))
        }
        Error::Overwritten { channel } => {
            let stop = command_line("trcstop --force", channel);
            let text = format!(
                "the header of the shared memory of channel {channel}'s trace was overwritten: `{stop}` ends that trace, and says \
                 what is lost"
            );
            (Message::Active, text)
        }
        Error::Interactive { channel, pid } => {
            let text = format!("the trace of channel {channel} is interactive: type q at the prompt of process {pid}");
            (Message::Interactive, text)
        }
        Error::NoFreeChannel => {
            let text = "each of the channels 1 to 7 is being recorded: `trcstop -1` ends the trace of channel 1";
            (Message::Active, text.to_owned())
        }
        Error::Memory { .. } => (Message::Unwritable, format!("{error}: name another directory in {FOLDER_VARIABLE}")),
        error => (Message::Unwritable, error.to_string()),
    };
    Failure::Error(message, text)
}
