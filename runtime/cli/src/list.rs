//! `tfbc list` and `trcrpt -j`: lists the hooks and events that can be formatted.

use super::console::{CommandResult, Console};
use super::formats::{self, LanguageArgs};
use clap::Args;
use std::path::PathBuf;
use tfbc::{EventId, Formats};
use tfbc_vm::{Hook, Level, Space};

/// Flags of `tfbc list`. Without format files, the built-in ones of both vendors are listed.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Format file, source or blob; later ones win. `default` is the built-in file
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    #[command(flatten)]
    language: LanguageArgs,
}

impl ListArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        let set = formats::load_leniently(console, &self.formats, &self.language)?;
        let catalog = set.catalog();
        let mut out = String::new();
        for hook in catalog.hooks() {
            let (version, release) = hook.version;
            let level = match hook.level {
                Level::Appl => "APPL",
                Level::Svc => "SVC",
                Level::Kern => "KERN",
                Level::Int => "INT",
                Level::Zero => "0",
            };
            let place = if hook.builtin {
                String::from("built in")
            } else {
                format!("{}:{}", String::from_utf8_lossy(hook.source), hook.line)
            };
            let version = format!("{version}.{release}");
            let label = String::from_utf8_lossy(hook.label);
            out.push_str(&format!(
                "{:<4} {version:<6} {level:<4} {label:<32} {place}\n",
                EventId::Hook(hook.id).name()
            ));
        }
        for program in catalog.programs() {
            program.entries(Space::Record).for_each(|record| out.push_str(&record_line(&record)));
        }
        if self.formats.is_empty() {
            out.push_str(EventId::QNX_LISTING);
        }
        super::print(console, out, None)?;
        Ok(formats::loaded(&set))
    }
}

/// Line for one QNX event and its definitions.
fn record_line(record: &Hook<'_>) -> String {
    let (class, event) = ((record.id >> 10) as u8, record.id & 1023);
    let id = EventId::Record(class, event).name();
    let (label, source) = (String::from_utf8_lossy(record.label), String::from_utf8_lossy(record.source));
    format!("{id:<14}  {label:<48}  {source}:{}\n", record.line)
}

/// `hhh label` lines by id, in lower-case hex. Labels are bytes as in their source.
pub fn labels(formats: &Formats) -> Vec<u8> {
    let mut out = Vec::new();
    for hook in formats.catalog().hooks() {
        out.extend_from_slice(EventId::Hook(hook.id).name().to_lowercase().as_bytes());
        if !hook.label.is_empty() {
            out.push(b' ');
            out.extend_from_slice(hook.label);
        }
        out.push(b'\n');
    }
    out
}
