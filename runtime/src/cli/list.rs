//! What can be formatted: `tfbc list` and `trcrpt -j`.

use super::console::{Console, Ending};
use super::formats::{self, LanguageArgs};
use crate::catalog::Catalog;
use crate::ids::display_id;
use clap::Args;
use std::path::PathBuf;
use tfbc_vm::Level;

/// Flags of `tfbc list`.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Format file, source or blob; later ones win
    #[arg(short = 't', long = "formats", value_name = "FORMAT")]
    formats: Vec<PathBuf>,
    #[command(flatten)]
    language: LanguageArgs,
}

impl ListArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> Ending {
        if self.language.asks_for_help() {
            return super::print(formats::dialect_help(), None);
        }
        let set = formats::load(console, &self.formats, &self.language)?;
        let catalog = set.catalog().map_err(|error| formats::refusal(console, error, false))?;
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
            out.push_str(&format!("{:<4} {version:<6} {level:<4} {label:<32} {place}\n", display_id(hook.id)));
        }
        super::print(out, None)
    }
}

/// `hhh label`, by id, in lower-case hex. Labels are bytes, as in their source.
pub fn labels(catalog: &Catalog<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for hook in catalog.hooks() {
        out.extend_from_slice(display_id(hook.id).to_lowercase().as_bytes());
        if !hook.label.is_empty() {
            out.push(b' ');
            out.extend_from_slice(hook.label);
        }
        out.push(b'\n');
    }
    out
}
