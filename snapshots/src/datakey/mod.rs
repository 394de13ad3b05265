//! The reference for event definitions: files in, the text of one record out, every rule written the naive way.

pub mod case;
mod document;
mod format;
mod names;
mod number;
mod resolve;
mod show;
pub mod xml;

pub use document::{Condition, Enum, Finding, Key, KeyField, Severity};
pub use names::class_name;
pub use number::Literal;
pub use show::{Shown, ShownField, Value};

use tfbc_grammar::{Diagnostic, Sources};

use document::{Contents, Reader};
use resolve::Links;
use show::Sight;
use xml::{Element, Malformed};

/// One record of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'r> {
    /// The class of the record's header.
    pub class: u8,
    /// The event number.
    pub id: u16,
    /// Whether it is a combine event.
    pub wide: bool,
    /// Whether its numbers are big-endian.
    pub big_endian: bool,
    /// Its data.
    pub payload: &'r [u8],
}

/// All definitions of some files.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    keys: Vec<Key>,
    links: Links,
    /// Everything that is told about the files.
    pub findings: Vec<Finding>,
    tags: Vec<Vec<Tag>>,
    refused: bool,
}

/// A start tag: its bytes and its place.
type Tag = (std::ops::Range<usize>, xml::Place);

impl Definitions {
    /// Reads files, in the order in which they are given.
    pub fn read(files: &[impl AsRef<[u8]>]) -> Self {
        let mut contents = Contents::default();
        let mut tags = Vec::new();
        let mut refused = false;
        for (file, bytes) in files.iter().enumerate() {
            let mut reader = Reader { file, contents: &mut contents };
            let mut of_file = Vec::new();
            match xml::read(bytes.as_ref()) {
                Ok(document) => {
                    refused |= !reader.document(&document);
                    collect_tags(&document.root, &mut of_file);
                }
                Err(Malformed { place, reason }) => {
                    reader.error(place, reason);
                    refused = true;
                }
            }
            tags.push(of_file);
        }
        // No report is made without a whole file that it was asked to use.
        if refused {
            contents.keys.clear();
        }
        let links = resolve::resolve(&mut contents);
        Definitions { keys: contents.keys, links, findings: contents.findings, tags, refused }
    }

    /// The datakeys and eventclass entries in the order of declaration, refused ones too.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Whether a whole file is refused, so that there is nothing to show by any.
    pub fn refused_a_file(&self) -> bool {
        self.refused
    }

    /// The events that some entry names that is not refused.
    pub fn events(&self) -> Vec<(u8, u16)> {
        let all = self.keys.iter().filter(|key| !key.refused).flat_map(|key| key.events.iter().copied());
        let mut events: Vec<_> = all.collect();
        events.sort_unstable();
        events.dedup();
        events
    }

    /// Shows a record; nothing when no datakey names it, or all that do fail their conditions.
    pub fn show(&self, record: &Record) -> Option<Shown> {
        Sight::new(&self.keys, &self.links, record).show()
    }

    /// The start tag of a file that holds a byte.
    pub fn tag_at(&self, file: usize, byte: usize) -> Option<xml::Place> {
        self.tags.get(file)?.iter().find(|(tag, _)| tag.contains(&byte)).map(|(_, place)| *place)
    }
}

/// What the compiler tells about sources, in the form of [`case::Case::check_diagnostics`]: its severity, and the place
/// where it shows with that of the start tag around it.
pub fn told(
    definitions: &Definitions,
    sources: &Sources,
    diagnostics: &[Diagnostic],
) -> Vec<(Severity, Vec<xml::Place>)> {
    let places = |found: &Diagnostic| {
        let place = sources.get(found.primary.source).map(|source| source.line_column(found.primary.span.start));
        let file = sources.iter().position(|(id, _)| id == found.primary.source).unwrap_or_default();
        let tag = definitions.tag_at(file, found.primary.span.start as usize);
        place.into_iter().chain(tag).collect()
    };
    let severity = |found: &Diagnostic| match found.severity {
        tfbc_grammar::Severity::Error => Severity::Error,
        tfbc_grammar::Severity::Warning => Severity::Warning,
    };
    diagnostics.iter().map(|found| (severity(found), places(found))).collect()
}

fn collect_tags(element: &Element, tags: &mut Vec<Tag>) {
    tags.push((element.tag.clone(), element.place));
    for child in &element.children {
        collect_tags(child, tags);
    }
}
