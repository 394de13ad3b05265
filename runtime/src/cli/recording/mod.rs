//! The commands that record: `trace` and those that control and recover its sessions, `trcnm`, and QNX's `tracelogger`.

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

use super::CommonArgs;
use super::console::{Console, Ending, Failure, Message};
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::process::ExitCode;
use tfbc_recorder::flags::Notice;
use tfbc_recorder::session::{Error, FOLDER_VARIABLE, QNX};

// A command of its own; `tfbc NAME` takes the same flags. What it is about stands at its flags.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Program<A: Args> {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    args: A,
}

/// A command as it is installed.
fn program<A: Args>(name: &'static str) -> clap::Command {
    Program::<A>::command().name(name)
}

/// The commands that are installed.
pub fn programs() -> Vec<clap::Command> {
    vec![
        program::<TraceArgs>("trace"),
        program::<TrconArgs>("trcon"),
        program::<TrcoffArgs>("trcoff"),
        program::<TrcstopArgs>("trcstop"),
        program::<TrcdeadArgs>("trcdead"),
        program::<TrcnmArgs>("trcnm"),
        program::<TraceloggerArgs>("tracelogger"),
    ]
}

/// Runs a command with a command line, and gives its exit status. The messages of a `compatible` one have numbers.
pub fn run<A: Args>(
    name: &'static str,
    compatible: bool,
    args: impl IntoIterator<Item = OsString>,
    run: impl FnOnce(A, CommonArgs) -> (Console, Ending),
) -> ExitCode {
    crate::output::outlive_size_limits();
    let mut command = program::<A>(name);
    let parsed = command
        .try_get_matches_from_mut(args)
        .and_then(|matches| Program::<A>::from_arg_matches(&matches).map_err(|error| error.format(&mut command)));
    match parsed {
        Ok(program) => super::end(run(program.args, program.common)),
        Err(error) => super::refused(compatible, &error).into(),
    }
}

/// What the rules of flags say.
fn refusal(notice: Notice) -> Failure {
    Failure::Say(Message::of(notice.number), notice.text)
}

/// What went wrong with a session, and what can be done.
fn failure(error: Error) -> Failure {
    let (message, text) = match error {
        Error::Active { channel: QNX, pid } => {
            (Message::Active, format!("a trace is under way already: `kill -INT {pid}` ends it"))
        }
        Error::Active { channel, pid } => {
            let stop = control::spelt("trcstop", channel);
            (Message::Active, format!("channel {channel} is being recorded by process {pid}: `{stop}` ends that trace"))
        }
        Error::NotActive { channel } => {
            let start = if channel == 0 { "trace -a" } else { "trace -a -g" };
            (Message::NotActive, format!("no trace is active on channel {channel}: `{start}` starts one"))
        }
        Error::Dead { channel } => {
            let recover = control::spelt("trcdead", channel);
            (Message::NotActive, format!("the trace of channel {channel} was killed: `{recover}` recovers its events"))
        }
        Error::Interactive { channel, pid } => {
            let text = format!("the trace of channel {channel} is interactive: type q at the prompt of process {pid}");
            (Message::Interactive, text)
        }
        Error::NoFreeChannel => {
            let text = "each of the channels 1 to 7 is being recorded: `trcstop -1` ends the trace of channel 1";
            (Message::Active, text.to_owned())
        }
        Error::Memory { .. } => (Message::Unwritable, format!("{error}: name another folder in {FOLDER_VARIABLE}")),
        error => (Message::Unwritable, error.to_string()),
    };
    Failure::Say(message, text)
}
