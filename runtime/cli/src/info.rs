//! `tfbc info`: describes a trace.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::formats::{self, LanguageArgs};
use super::inputs;
use super::pager::{self, PagerArgs};
use super::trace::{self, Reporter, report_imbalance};
use super::trace_args::TraceArgs;
use clap::Args;
use std::path::PathBuf;
use tfbc::{Inventory, Monitor, Notice, System, Trace, TraceInfo};

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
    #[command(flatten)]
    pager: PagerArgs,
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
        let _held = self.pager.hold(None);
        let set = formats::load_for_info(console, &self.formats, &self.language)?;
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
            let info = opened.info();
            systems.push(info.system);
            let inventory = read(console, opened, &info)?;
            out.push_str(&inventory.text(&set));
            if inventory.n_damaged() > 0 || inventory.imbalance().is_some() {
                status = status.max(Status::Damaged);
            }
        }
        let input = traces.first().filter(|_| traces.len() == 1).map(|path| path.to_string_lossy());
        formats::warn_of_others(console, &set.files(), &systems, input.as_deref());
        pager::print(console, out.as_bytes(), None, self.pager)?;
        Ok(status.max(formats::loaded(&set)))
    }
}

/// Monitor that shows progress only: the inventory of an AIX trace itself lists the damage.
struct ProgressOnly<'a, 'c>(&'a mut Reporter<'c>);

impl Monitor for ProgressOnly<'_, '_> {
    fn notice(&mut self, _: &Notice) {}

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.0.progress(offset, n_events);
    }
}

/// Reads a trace to its end and builds its inventory.
fn read(console: &Console, mut trace: Trace, info: &TraceInfo) -> Result<Inventory, Failure> {
    let mut reporter = Reporter::new(console, info);
    let inventory = match info.system {
        System::Aix => trace.inventory(&mut ProgressOnly(&mut reporter)),
        System::Qnx => trace.inventory(&mut reporter),
    };
    reporter.end();
    let inventory = inventory
        .map_err(|error| Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", info.name)))?;
    report_imbalance(console, &info.name, inventory.imbalance());
    Ok(inventory)
}
