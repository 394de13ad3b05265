//! `tfbc report`: our flags on the report.

use super::console::{Console, Ending, Failure, Message};
use super::formats::{self, LanguageArgs};
use super::limits::LimitArgs;
use super::trace::{self, TraceArgs};
use crate::columns::{Columns, Timestamp};
use crate::report::ReportOptions;
use clap::{ArgAction, Args};
use std::path::PathBuf;

/// Flags of `tfbc report`.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true)]
pub struct ReportArgs {
    /// Format file, source or blob; later ones win. Without any the built-in one applies, also named `default`
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    /// Write the report to a file
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Columns, in their order: id, elapsed, delta, text (all, as far as the form of times has them)
    #[arg(long, value_name = "LIST")]
    columns: Option<String>,
    /// Form of times: 0 seconds and milliseconds, 1 seconds with 6 decimals, 2 seconds and microseconds, 3 none
    #[arg(long, value_name = "FORM", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=3))]
    timestamp: u64,
    /// Lines between two heading lines; 0 for a single one
    #[arg(long, value_name = "LINES", default_value_t = 0)]
    pagesize: u64,
    /// Only these hooks: hh, hhh or hhhh, separated by commas or blanks
    #[arg(long, value_name = "IDS")]
    only: Vec<String>,
    /// All but these hooks
    #[arg(long, value_name = "IDS")]
    except: Vec<String>,
    /// No heading
    #[arg(short = 'h', long)]
    no_heading: bool,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// Traces, `-` for standard input
    #[arg(value_name = "TRACE", required_unless_present = "dialect")]
    traces: Vec<PathBuf>,
}

impl ReportArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> Ending {
        if self.language.asks_for_help() {
            return super::print(formats::dialect_help(), None);
        }
        let options = ReportOptions {
            columns: self.columns()?,
            page_size: self.pagesize,
            no_heading: self.no_heading,
            filter: super::trcrpt::filter(&self.only, &self.except)?,
            limits: self.limits.limits(),
        };
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog().map_err(|error| formats::refusal(console, error, false))?;
        trace::run(console, &catalog, &self.traces, &self.trace.options(), &options, self.output.as_deref())
    }

    fn columns(&self) -> Result<Columns, Failure> {
        let timestamp = Timestamp::from_number(self.timestamp).unwrap_or_default();
        match &self.columns {
            None => Ok(Columns::new(true, timestamp)),
            Some(list) => {
                Columns::parse(list, timestamp).map_err(|error| Failure::Say(Message::Usage, error.to_string()))
            }
        }
    }
}
