//! Links from the lines of a report to the templates that printed them, on terminals that have links (OSC 8).

use super::terminal::{LinkPlace, Links};
use clap::Args;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::str::FromStr;
use tfbc::{EventId, Formats};
use tfbc_grammar::datakey;
use tfbc_grammar::datakey::ast::{Key, KeyKind, TopLevelElement};
use tfbc_grammar::{Arena, Source, SourceId, Span, trcfmt};

/// Size of the largest format file whose lines are looked up for links, in bytes.
const MAX_SOURCE: u64 = 16 << 20;

/// Flag that sets the form of links.
#[derive(Debug, Clone, Args)]
pub struct LinkArgs {
    /// Links from ids to their templates, on terminals with colours only: `auto` if the terminal is known to have links,
    /// `none`, `file`, `kitty`, `vscode`, `vscodium`, or an address with {path}, {line}, {column} and {host}
    #[arg(long, value_name = "FORMAT", default_value = "auto", help_heading = "Messages")]
    hyperlink_format: LinkFormat,
}

/// Form of the address of a line in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LinkFormat {
    /// The form that suits the terminal, or no links.
    Auto,
    None,
    /// Address with places for path, line, column and host.
    Address(String),
}

/// Addresses by their names in `--hyperlink-format`.
const ADDRESSES: [(&str, &str); 4] = [
    ("file", "file://{host}{path}"),
    ("kitty", "file://{host}{path}#{line}"),
    ("vscode", "vscode://file{path}:{line}:{column}"),
    ("vscodium", "vscodium://file{path}:{line}:{column}"),
];

/// Address with a name of [`ADDRESSES`].
fn named(name: &str) -> Option<&'static str> {
    ADDRESSES.iter().find(|(known, _)| *known == name).map(|(_, address)| *address)
}

impl FromStr for LinkFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            _ if text.chars().any(|letter| letter.is_control() || !letter.is_ascii()) => {
                Err(String::from("an address has only printable ASCII characters"))
            }
            _ if text.contains("{path}") && text.contains(':') => Ok(Self::Address(text.to_owned())),
            _ => named(text).map(|address| Self::Address(address.to_owned())).ok_or_else(|| {
                let names: Vec<_> = ADDRESSES.iter().map(|(name, _)| *name).collect();
                format!("expected auto, none, {}, or an address with {{path}}", names.join(", "))
            }),
        }
    }
}

impl LinkArgs {
    /// Links to the sources of the loaded format files; `None` if the terminal has no links.
    pub fn links(&self, formats: &Formats, place: LinkPlace) -> Option<Links> {
        let address = match &self.hyperlink_format {
            _ if !io::stdout().is_terminal() => return None,
            LinkFormat::None => return None,
            LinkFormat::Address(address) => address.clone(),
            LinkFormat::Auto => of_terminal()?.to_owned(),
        };
        let files = formats.files().into_iter().filter(|file| !file.is_blob);
        let host = host();
        let mut addresses = HashMap::new();
        for file in files {
            let (Some(source), Ok(path)) = (read(Path::new(&file.name)), std::path::absolute(&file.name)) else {
                continue;
            };
            let path = encoded(&path);
            for (id, span) in templates(&source) {
                let (line, column) = source.line_column(span.start);
                // The last template of an event is the one that prints it.
                addresses.insert(
                    id,
                    fill(
                        &address,
                        &[
                            ("{path}", &path),
                            ("{host}", &host),
                            ("{line}", &line.to_string()),
                            ("{column}", &column.to_string()),
                        ],
                    ),
                );
            }
        }
        (!addresses.is_empty()).then_some(Links { addresses, place })
    }
}

/// Address that suits the terminal; `None` if it is not known to have links.
fn of_terminal() -> Option<&'static str> {
    let is = |name, value| std::env::var(name).is_ok_and(|found| found == value);
    let name = match () {
        () if !supports_hyperlinks::supports_hyperlinks() => return None,
        () if is("TERM_PROGRAM", "vscode") => "vscode",
        () if is("TERM", "xterm-kitty") => "kitty",
        () => "file",
    };
    named(name)
}

/// Replaces places in an address by their values.
fn fill(address: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(address.to_owned(), |filled, (place, value)| filled.replace(place, value))
}

/// Name of this machine, so that a terminal on another one does not open a file of its own.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    name.trim().chars().filter(|letter| is_plain(*letter)).collect()
}

/// Path in the form of an address: `/` between its parts, other characters than letters and digits in hex.
fn encoded(path: &Path) -> String {
    let text = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    // The path of a drive begins with its letter.
    let mut address = String::from(if text.starts_with('/') { "" } else { "/" });
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b':' => {
                address.push(byte.into());
            }
            _ => {
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

/// Source of a format file; `None` for files that are too large or cannot be read.
fn read(path: &Path) -> Option<Source> {
    let found = fs::metadata(path).ok()?;
    let bytes = (found.is_file() && found.len() <= MAX_SOURCE).then(|| fs::read(path).ok()).flatten()?;
    Some(Source::new(path.to_string_lossy(), bytes))
}

/// Events that a source describes, as reports name them, with the places of their templates, in order.
fn templates(source: &Source) -> Vec<(String, Span)> {
    let arena = Arena::new();
    let id = SourceId(0);
    if !datakey::is_xml(source) {
        let (file, _) = trcfmt::parse(&arena, id, source);
        return file.stanzas.iter().map(|stanza| (EventId::Hook(stanza.id.node.0).name(), stanza.span)).collect();
    }
    let (file, _) = datakey::parse(&arena, id, source);
    let mut found = Vec::new();
    for item in file.items {
        match item {
            TopLevelElement::Datakey(datakey) => {
                found.extend(
                    datakey.events.iter().filter_map(|event| Some((record(&event.class, &event.id)?, datakey.tag))),
                );
            }
            TopLevelElement::EventClass(class) => {
                let events = class.events.iter();
                found.extend(events.filter_map(|event| Some((record(&class.id?, &event.id?)?, event.tag))));
            }
        }
    }
    found
}

/// Event of a class and an id, as reports name it.
fn record(class: &Key<'_>, id: &Key<'_>) -> Option<String> {
    let text = |key: &Key<'_>| match key.kind {
        KeyKind::Number(number) => number.to_string(),
        KeyKind::Name(name) => String::from_utf8_lossy(name).into_owned(),
    };
    let (class, event) = EventId::of_record(&text(class), &text(id)).ok()?;
    Some(EventId::Record(class, event).name())
}
