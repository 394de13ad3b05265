//! Reference implementation of event definitions: formats one record, with every rule written in the simplest way.

pub mod case;
mod document;
mod fields;
mod format;
mod names;
mod number;
mod resolve;
mod show;
pub mod xml;

pub use document::{Enum, Finding, Key, KeyCondition, KeyField, Severity};
pub use names::class_name;
pub use number::NumberLiteral;
pub use show::{FormattedRecord, ReferenceField, ReferenceValue};

use tfbc_grammar::{Diagnostic, Sources};

use document::{Contents, DocumentReader};
use resolve::Links;
use show::RecordView;
use xml::{Element, Malformed};

/// One record of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceRecord<'r> {
    /// Class in the record's header.
    pub class: u8,
    /// Event number.
    pub id: u16,
    /// True for a combine record.
    pub wide: bool,
    /// True if its numbers are big-endian.
    pub big_endian: bool,
    /// Its data.
    pub payload: &'r [u8],
}

/// All definitions of some files.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    keys: Vec<Key>,
    links: Links,
    /// All problems in the files.
    pub findings: Vec<Finding>,
    tags: Vec<Vec<Tag>>,
    refused: bool,
}

/// Byte range and position of a start tag.
type Tag = (std::ops::Range<usize>, xml::LineColumn);

impl Definitions {
    /// Reads files in order.
    pub fn read(files: &[impl AsRef<[u8]>]) -> Self {
        let mut contents = Contents::default();
        let mut tags = Vec::new();
        let mut refused = false;
        for (file, bytes) in files.iter().enumerate() {
            let mut reader = DocumentReader { file, contents: &mut contents };
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
        // Empty if a whole file is refused, because then nothing is formatted.
        if refused {
            contents.keys.clear();
        }
        let links = resolve::resolve(&mut contents);
        Definitions { keys: contents.keys, links, findings: contents.findings, tags, refused }
    }

    /// Datakeys and eventclass entries in order of declaration, including refused ones.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// True if a whole file is refused, so that no record can be formatted.
    pub fn refused_a_file(&self) -> bool {
        self.refused
    }

    /// Events named by at least one valid entry.
    pub fn events(&self) -> Vec<(u8, u16)> {
        let all = self.keys.iter().filter(|key| !key.refused).flat_map(|key| key.events.iter().copied());
        let mut events: Vec<_> = all.collect();
        events.sort_unstable();
        events.dedup();
        events
    }

    /// Formats a record; `None` if no datakey names it, or all conditions fail.
    pub fn show(&self, record: &ReferenceRecord) -> Option<FormattedRecord> {
        RecordView::new(&self.keys, &self.links, record).show()
    }

    /// Start tag that contains a byte of a file.
    pub fn tag_at(&self, file: usize, byte: usize) -> Option<xml::LineColumn> {
        self.tags.get(file)?.iter().find(|(tag, _)| tag.contains(&byte)).map(|(_, place)| *place)
    }
}

/// Compiler diagnostics in the form of [`case::DatakeyCase::check_diagnostics`]: severity, and the positions of the
/// problem and of the start tag around it.
pub fn diagnostics_of(
    definitions: &Definitions,
    sources: &Sources,
    diagnostics: &[Diagnostic],
) -> Vec<(Severity, Vec<xml::LineColumn>)> {
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
