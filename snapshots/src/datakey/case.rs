//! Corpus cases for event definitions.
//!
//! A case begins with comments that say what it shows. Sections follow, each after a `==== ` line:
//!
//! - `xml`: a definition file, in order. `xml crlf` has the other line ends, `xml bom` a byte order mark.
//! - `event CLASS ID`: the data of one record in hex, mixed with quoted texts; `wide` for a combine record, `big` for a
//!   big-endian log.
//! - `expect`: one line per event, written by hand from the specification: its text, or `(none)` if no datakey names
//!   the event. With `marked`, every line ends with `|`, so that trailing blanks are visible.
//! - `diagnostics`: all tags with errors, and at least these tags with warnings: `error 3:5`, or `error` alone for one
//!   anywhere in the files. `diagnostics none` allows no warnings either. Without this section, any error fails the
//!   case.

use std::path::Path;

use tfbc_grammar::{Source, Sources};

use super::xml::LineColumn;
use super::{Definitions, Finding, ReferenceRecord, Severity};
use crate::case::{bytes, number};

/// One corpus file.
#[derive(Debug, Clone, Default)]
pub struct DatakeyCase {
    /// File name without suffix.
    pub name: String,
    /// Comments at the start of the case.
    pub comment: String,
    /// The definition files.
    pub files: Vec<Vec<u8>>,
    /// The records in order.
    pub events: Vec<CaseRecord>,
    /// Expected text per record; `None` if no datakey names it.
    pub expect: Vec<Option<Vec<u8>>>,
    /// Expected diagnostics.
    pub diagnostics: Vec<(Severity, Option<LineColumn>)>,
    /// True if no other diagnostics are allowed, not even warnings.
    pub quiet: bool,
}

/// One record of a case.
#[derive(Debug, Clone, Default)]
pub struct CaseRecord {
    class: u8,
    id: u16,
    wide: bool,
    big_endian: bool,
    payload: Vec<u8>,
}

impl CaseRecord {
    /// The record.
    pub fn record(&self) -> ReferenceRecord<'_> {
        let CaseRecord { class, id, wide, big_endian, payload } = self;
        ReferenceRecord { class: *class, id: *id, wide: *wide, big_endian: *big_endian, payload }
    }

    fn new(options: &[&str], body: &str) -> Self {
        CaseRecord {
            class: number(options[0]) as u8,
            id: number(options[1]) as u16,
            wide: options.contains(&"wide"),
            big_endian: options.contains(&"big"),
            payload: bytes(body),
        }
    }
}

impl DatakeyCase {
    /// Reads a corpus file.
    ///
    /// # Panics
    /// If the file does not have the form described at the top of the module.
    pub fn read(path: &Path) -> DatakeyCase {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut case = DatakeyCase { name, ..DatakeyCase::default() };
        let mut sections = text.split("==== ");
        let comment = sections.next().unwrap_or_default();
        assert!(comment.lines().all(|line| line.starts_with("# ")), "{}: no comment first", case.name);
        case.comment = comment.lines().map(|line| &line[2..]).collect::<Vec<_>>().join(" ");
        for section in sections {
            let (head, body) = section.split_once('\n').unwrap_or((section, ""));
            let options: Vec<&str> = head.split_whitespace().collect();
            match options[0] {
                "xml" => case.files.push(file(&options[1..], body)),
                "event" => case.events.push(CaseRecord::new(&options[1..], body)),
                "expect" => case.expect = body.lines().map(|line| expect(&options[1..], line)).collect(),
                "diagnostics" => {
                    case.quiet = options.contains(&"none");
                    case.diagnostics = body.lines().map(diagnostic).collect();
                }
                other => panic!("{}: unknown section {other}", case.name),
            }
        }
        assert_eq!(case.events.len(), case.expect.len(), "{}: one line for each event", case.name);
        case
    }

    /// The definition files as sources.
    pub fn sources(&self) -> Sources {
        let mut sources = Sources::new();
        for (at, file) in self.files.iter().enumerate() {
            let name = if at == 0 { "case.xml".into() } else { format!("case{}.xml", at + 1) };
            sources.add(Source::new(name, file.clone()));
        }
        sources
    }

    /// Compares the records' texts with those that the case expects. `show` formats one record.
    ///
    /// # Errors
    /// All differences.
    pub fn check(&self, mut show: impl FnMut(&ReferenceRecord) -> Option<(Vec<u8>, bool)>) -> Result<(), String> {
        let text =
            |text: Option<&Vec<u8>>| text.map_or("(none)".into(), |text| String::from_utf8_lossy(text).into_owned());
        let mut differences = String::new();
        for (at, (event, wanted)) in self.events.iter().zip(&self.expect).enumerate() {
            let got = show(&event.record());
            if got.as_ref().map(|(text, _)| text) != wanted.as_ref() {
                let (got, wanted) = (text(got.as_ref().map(|(text, _)| text)), text(wanted.as_ref()));
                differences += &format!("event {}: {got}|\n instead of {wanted}|\n", at + 1);
            } else if got.is_some_and(|(text, truncated)| truncated != contains(&text, b":<truncated>")) {
                differences += &format!("event {}: whether it counts as truncated\n", at + 1);
            }
        }
        if differences.is_empty() { Ok(()) } else { Err(format!("{}: {differences}", self.name)) }
    }

    /// Compares diagnostics with those that the case expects. Each element of `found` has the positions that are
    /// acceptable for it.
    ///
    /// # Errors
    /// The first difference.
    pub fn check_diagnostics(&self, found: &[(Severity, Vec<LineColumn>)]) -> Result<(), String> {
        let is = |(severity, place): &(Severity, Option<LineColumn>), found: &(Severity, Vec<LineColumn>)| {
            *severity == found.0 && place.is_none_or(|place| found.1.contains(&place))
        };
        if let Some(missing) = self.diagnostics.iter().find(|wanted| !found.iter().any(|found| is(wanted, found))) {
            return Err(format!("{}: not reported: {missing:?}; reported: {found:?}", self.name));
        }
        let matters = |found: &&(Severity, Vec<LineColumn>)| self.quiet || found.0 == Severity::Error;
        let unknown = |found: &&(Severity, Vec<LineColumn>)| !self.diagnostics.iter().any(|wanted| is(wanted, found));
        match found.iter().filter(matters).find(unknown) {
            Some(surplus) => Err(format!("{}: reported, but not expected by the case: {surplus:?}", self.name)),
            None => Ok(()),
        }
    }

    /// Compares the reference's findings with those that the case expects.
    ///
    /// # Errors
    /// The first difference.
    pub fn check_findings(&self, definitions: &Definitions) -> Result<(), String> {
        let found = definitions.findings.iter().map(|Finding { severity, place, .. }| (*severity, vec![*place]));
        self.check_diagnostics(&found.collect::<Vec<_>>())
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn file(options: &[&str], body: &str) -> Vec<u8> {
    let body = if options.contains(&"crlf") { body.replace('\n', "\r\n") } else { body.into() };
    let mark = if options.contains(&"bom") { "\u{feff}" } else { "" };
    format!("{mark}{body}").into()
}

fn expect(options: &[&str], line: &str) -> Option<Vec<u8>> {
    let marked = options.contains(&"marked");
    let text = if marked { line.strip_suffix('|').expect("a marked line ends in |") } else { line };
    (text != "(none)").then(|| text.into())
}

fn diagnostic(line: &str) -> (Severity, Option<LineColumn>) {
    let (severity, place) = line.split_once(' ').unwrap_or((line, ""));
    let severity = match severity {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        other => panic!("unknown severity {other}"),
    };
    let place = place.split_once(':').map(|(line, column)| (number(line) as u32, number(column) as u32));
    (severity, place)
}
