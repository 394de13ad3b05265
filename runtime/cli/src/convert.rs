//! `tfbc convert`.

use super::compile::read_sources;
use super::console::{CommandResult, Console, Failure, Message};
use super::formats::{self, LanguageArgs};
use super::overwrite;
use clap::Args;
use std::path::PathBuf;
use tfbc::{EventId, Findings};
use tfbc_compiler::{ConvertOptions, convert};

/// Flags of `tfbc convert`.
#[derive(Debug, Clone, Args)]
pub struct ConvertArgs {
    /// Output file; standard output if not given
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Stanzas to XML: width of the hooks, which is the size of a word
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = ["32", "64"])]
    env: String,
    /// Stanzas to XML: class of the events, as a number or name
    #[arg(long, value_name = "CLASS", default_value = "USER")]
    class: String,
    /// Stanzas to XML: event number of the first stanza
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u16).range(..1024))]
    first_id: u16,
    #[command(flatten)]
    language: LanguageArgs,
    /// Format files of one language; `-` is standard input
    #[arg(value_name = "FORMAT", required_unless_present = "dialect")]
    formats: Vec<PathBuf>,
}

impl ConvertArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        overwrite::refuse([self.output.as_deref()], overwrite::files(&self.formats))?;
        let options = self.language.options()?;
        let sources = read_sources(&self.formats, &options)?;
        let (class, _) = EventId::of_record(&self.class, "0").map_err(|text| Failure::Error(Message::Usage, text))?;
        let word = if self.env == "32" { 4 } else { 8 };
        let converted = convert(&sources, &options.compile, ConvertOptions { word, class, first_event: self.first_id });
        if converted.text.is_none() && converted.diagnostics.is_empty() {
            let text = "files of both languages were given: convert one language at a time";
            return Err(Failure::Error(Message::Usage, text.into()));
        }
        let status = formats::show(console, &Findings::new(sources, converted.diagnostics), self.language.strict);
        match converted.text {
            Some(text) => Ok(super::print(console, text, self.output.as_deref())?.max(status)),
            None => Err(Failure::AlreadyReported),
        }
    }
}
