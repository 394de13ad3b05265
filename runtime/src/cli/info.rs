//! `tfbc info`: what a trace holds.

use super::console::{Console, Ending, Failure, Message, Status};
use super::formats::{self, LanguageArgs};
use super::info_aix::Inventory;
use super::info_kev::LogInventory;
use super::inputs;
use super::trace::{self, TraceArgs};
use crate::reader::AnyTrace;
use clap::Args;
use std::path::PathBuf;

/// Flags of `tfbc info`.
#[derive(Debug, Clone, Args)]
pub struct InfoArgs {
    /// Format file, source or blob, for labels and missing templates; later ones win
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    /// Traces, `-` for standard input; a directory stands for the traces in it. Compressed ones (.gz, .zst, .Z) are unpacked; offsets in messages count unpacked
    /// bytes
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    traces: Vec<PathBuf>,
}

impl InfoArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> Ending {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog().map_err(|error| formats::refusal(console, error, false))?;
        let mut out = String::new();
        let mut status = Status::Well;
        let args = TraceArgs { max_ratio: self.language.ratio.ratio(), ..self.trace.clone() };
        let traces = inputs::expand(console, &self.traces, &args)?;
        for path in &traces {
            let opened = match trace::open(path, &args) {
                Err(Failure::Say(Message::Unreadable, text)) if traces.len() > 1 => {
                    console.error(Message::Unreadable, text);
                    status = Status::Failed;
                    continue;
                }
                opened => opened?,
            };
            let is_damaged = match opened {
                AnyTrace::Aix(mut logs) => {
                    let survey = Inventory::take(console, &mut logs)?;
                    survey.write(&logs, &catalog, &mut out);
                    survey.n_damaged > 0 || survey.is_at_fault
                }
                AnyTrace::Kev(mut log) => {
                    let survey = LogInventory::take(console, &mut log)?;
                    survey.write(&log, &catalog, &mut out);
                    survey.n_damaged > 0 || survey.is_at_fault
                }
            };
            if is_damaged {
                status = status.max(Status::Damaged);
            }
        }
        super::print(console, out, None)?;
        Ok(status.max(formats::loaded(&set)))
    }
}
