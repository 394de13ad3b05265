//! `trcdead`: recovers the events that a killed session left in memory.

use super::control::ChannelArg;
use crate::console::{CommandResult, CommonArgs, Console, Failure, Message, Status};
use crate::overwrite;
use clap::Args;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use tfbc_recorder::paths;
use tfbc_recorder::session::{self, Error, QNX};

/// Flags of `trcdead`.
#[derive(Debug, Clone, Args)]
#[command(about = "Recover the events of a killed trace, as AIX's trcdead does", after_help = AFTER_HELP)]
pub struct TrcdeadArgs {
    /// File for the events, instead of LOG.dead in the directory of the trace's log
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Keep an existing file of the same name as FILE.old
    #[arg(short = 'c')]
    keeps_old: bool,
    #[command(flatten)]
    channel: ChannelArg,
}

/// Explanation and examples of the help page.
const AFTER_HELP: &str = "\
When the process of a trace is killed, the programs' events are still in shared memory. Events that
are not in the log yet are written to a separate file, and the memory is freed. Channel -8 is the
trace of tracelogger.

Examples:
  trcdead                              the trace of channel 0
  trcdead -1 -o rest.trc               that of channel 1
  trcrpt -m my.trc my.trc.dead         the log and what was recovered, in one report";

impl TrcdeadArgs {
    /// Runs the command.
    pub fn run(self, common: CommonArgs) -> (Console, CommandResult) {
        let console = Console::new(true, common);
        let ending = self.recover(&console);
        (console, ending)
    }

    fn recover(&self, console: &Console) -> CommandResult {
        let channel = self.channel.number_up_to(QNX)?;
        let sessions = session::sessions().map_err(super::failure)?;
        let found = sessions.into_iter().find(|session| session.channel == channel);
        let session = found.ok_or_else(|| failure(session::no_session_error(channel)))?;
        let path = self.output.clone().unwrap_or_else(|| default_output(&session.log, channel));
        // Events that are no longer in memory are in the log.
        overwrite::refuse([Some(&*path)], [&*session.memory, &session.log])?;
        if self.keeps_old && !session.is_alive && path.exists() {
            let old = with_end(&path, ".old");
            fs::rename(&path, &old).map_err(|error| Failure::write(&error, old.display()))?;
        }
        let summary = session::recover(channel, &path, false).map_err(failure)?;
        console.note(format!("{} recovered to {}", crate::count(summary.events, "event"), path.display()));
        Ok(Status::Well)
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::NotActive { channel } => {
            let text = format!("no killed trace of channel {channel} is in memory: there is nothing to recover");
            Failure::Error(Message::NothingToRecover, text)
        }
        error => super::failure(error),
    }
}

/// Default output: in the directory of the session's log, or in the default directory if that log was a stream.
fn default_output(log: &Path, channel: usize) -> PathBuf {
    if !log.as_os_str().is_empty() {
        return with_end(log, ".dead");
    }
    with_end(&paths::to_write(if channel == QNX { paths::QNX_LOG } else { paths::AIX_LOG }), ".dead")
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}
