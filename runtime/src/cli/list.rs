//! What can be formatted: `tfbc list` and `trcrpt -j`.

use super::console::{Console, Ending};
use super::formats::{self, LanguageArgs};
use crate::catalog::Catalog;
use crate::events::{Events, class_name};
use crate::ids::display_id;
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tfbc_vm::{Level, Space};

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
        for hook in catalog.programs().iter().flat_map(|program| program.entries(Space::Record)) {
            let place = format!("{}:{}", String::from_utf8_lossy(hook.source), hook.line);
            let label = String::from_utf8_lossy(hook.label);
            out.push_str(&format!("{:<14} {label:<32} {place}\n", record_name((hook.id >> 10) as u8, hook.id & 1023)));
        }
        if self.formats.is_empty() {
            list_events(&mut out);
        }
        super::print(out, None)
    }
}

/// Class and event, such as `USER:65`.
fn record_name(class: u8, event: u16) -> String {
    match class_name(class) {
        Some(name) => format!("{name}:{event}"),
        None => format!("{class}:{event}"),
    }
}

/// The built-in events of QNX, with the first release that calls them so.
fn list_events(out: &mut String) {
    let releases = [(6, 4), (7, 1), (8, 0)].map(|release| Events::of(Some(release), false));
    let mut first_releases = BTreeMap::new();
    for (class, event, release, label) in releases.iter().flat_map(Events::all) {
        first_releases.entry((class, event, label)).or_insert(release);
    }
    let mut rows = first_releases.into_iter().peekable();
    while let Some(((class, first, label), (major, minor))) = rows.next() {
        let mut last = first;
        while let Some(next) = rows.next_if(|(next, _)| *next == (class, last + 1, label)) {
            last = next.0.1;
        }
        let more = if last > first { format!("-{last}") } else { String::new() };
        let name = record_name(class, first) + &more;
        out.push_str(&format!("{name:<14} {:<6} {label:<32} built in\n", format!("{major}.{minor}")));
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
