//! `tfbc info`: describes a trace.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::formats::{self, LanguageArgs};
use super::trace;
use super::trace_args::TraceArgs;
use super::{info_aix, info_kev, inputs};
use clap::Args;
use std::path::PathBuf;
use tfbc::System;
use tfbc::internal::input::AnyTrace;

/// Flags of `tfbc info`.
#[derive(Debug, Clone, Args)]
pub struct InfoArgs {
    /// Format file, source or blob, for labels and missing templates; later ones win. `default` is the built-in file
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    /// Traces; `-` is standard input, and a directory means the traces in it. Compressed files (.gz, .zst, .Z) are
    /// unpacked; offsets in messages count unpacked bytes
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    traces: Vec<PathBuf>,
}

impl InfoArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        let set = formats::load_for_report(console, &self.formats, &self.language)?;
        let catalog = set.catalog().map_err(|error| formats::refusal(console, error, false))?;
        let mut out = String::new();
        let mut status = Status::Well;
        let args = TraceArgs {
            max_ratio: self.language.ratio.ratio(),
            short_generic_word: self.language.report_dialect()?.short_generic_word,
            ..self.trace.clone()
        };
        let traces = inputs::expand(console, &self.traces, &args)?;
        let mut systems = Vec::new();
        for path in &traces {
            let opened = match trace::open(path, &args) {
                Err(Failure::Error(Message::Unreadable, text)) if traces.len() > 1 => {
                    console.error(Message::Unreadable, text);
                    status = Status::Failed;
                    continue;
                }
                opened => opened?,
            };
            let is_damaged = match opened {
                AnyTrace::Aix(mut logs) => {
                    systems.push(System::Aix);
                    let inventory = info_aix::take(console, &mut logs)?;
                    info_aix::write(&inventory, &logs, &catalog, &mut out);
                    inventory.n_damaged > 0 || inventory.imbalance.is_some()
                }
                AnyTrace::Kev(mut log) => {
                    systems.push(System::Qnx);
                    let inventory = info_kev::take(console, &mut log)?;
                    info_kev::write(&inventory, &log, &catalog, &mut out);
                    inventory.n_damaged > 0 || inventory.imbalance.is_some()
                }
            };
            if is_damaged {
                status = status.max(Status::Damaged);
            }
        }
        let input = traces.first().filter(|_| traces.len() == 1).map(|path| path.to_string_lossy());
        formats::warn_of_others(console, &set.files(&catalog), &systems, input.as_deref());
        super::print(console, out, None)?;
        Ok(status.max(formats::loaded(&set)))
    }
}
