//! `tfbc fields`: lists the typed fields of events.

use super::console::{CommandResult, Console, Failure, Message};
use super::formats::{self, LanguageArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tfbc::EventId;
use tfbc::aix::IdSet;

/// Flags of `tfbc fields`.
#[derive(Debug, Clone, Args)]
pub struct FieldsArgs {
    /// Format files, sources or blobs; later ones win. `default` is the built-in file
    #[arg(value_name = "FORMAT", required = true)]
    formats: Vec<PathBuf>,
    /// Only the event with this id, such as 010 or USER:65; also a built-in stanza
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORM", value_enum, default_value_t = FieldsForm::Text)]
    to: FieldsForm,
    #[command(flatten)]
    language: LanguageArgs,
}

/// Output format of `tfbc fields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FieldsForm {
    /// A line per field
    Text,
    /// One JSON array
    Json,
}

impl FieldsArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        if self.language.asks_for_help() {
            return super::print(console, formats::dialect_help(), None);
        }
        let id = self.id.as_deref().map(listed_id).transpose();
        let id = id.map_err(|error| Failure::Error(Message::Usage, error))?;
        let set = formats::load_leniently(console, &self.formats, &self.language)?;
        let out = match self.to {
            FieldsForm::Text => set.fields_text(id),
            FieldsForm::Json => String::from_utf8_lossy(&set.fields_json(id)).into_owned(),
        };
        super::print(console, out, None)?;
        Ok(formats::loaded(&set))
    }
}

/// Event of an id: a hook, or class and event of QNX.
fn listed_id(id: &str) -> Result<EventId, String> {
    if let Some((class, event)) = id.split_once(':') {
        return EventId::of_record(class, event).map(|(class, event)| EventId::Record(class, event));
    }
    let ids = IdSet::parse(id).map_err(|error| error.to_string())?;
    ids.iter().next().map(EventId::Hook).ok_or_else(|| format!("`{id}` is not an event id"))
}
