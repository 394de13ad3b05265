//! Case files: the events of a test, and the format files that print them.
//!
//! ```text
//! formats = ["sensor.trcfmt"]        # next to this file
//! env = 32                           # for every event
//!
//! [[event]]
//! name = "a door opens"
//! hex = "010a0000 00000001"
//!
//! [[event]]
//! trace = "boot.trc"
//! only = "106,15b"
//! first = 20
//! ```

use super::codes::{BAD_SETTING, BAD_VALUE, NO_EVENT, NO_TOML};
use super::event::{self, CaseEvent};
use super::fields::{Diagnostics, Fields, resolve_path, span_of};
use std::path::{Path, PathBuf};
use tfbc_compiler::Dialect;
use tfbc_grammar::{Diagnostic, Source, Sources};
use toml::de::DeTable;

/// Suffix of every case file.
pub const SUFFIX: &str = ".case.toml";
/// Maximum size of a case file, in bytes.
pub const MAX_CASE_FILE: u64 = 16 << 20;

/// A parsed case file.
#[derive(Debug, Default)]
pub struct CaseFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Paths of the format files, relative to the working directory; empty means the built-in format file.
    pub formats: Vec<PathBuf>,
    /// Names and values of dialect settings.
    pub dialect: Vec<(String, String)>,
    /// Events, in order.
    pub events: Vec<CaseEvent>,
}

/// Diagnostics of a case file, with its text.
#[derive(Debug, Clone)]
pub struct BadCaseFile {
    /// The text of the case file.
    pub sources: Sources,
    /// All problems found in it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Keys that belong to the file, not to an event.
const OF_FILE: [&str; 3] = ["formats", "dialect", "event"];

impl CaseFile {
    /// Parses the text of a case file. Paths in it are relative to the directory of `path`.
    ///
    /// # Errors
    /// All problems in the text.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Box<BadCaseFile>> {
        let mut sources = Sources::new();
        let source = sources.add(Source::new(path.to_string_lossy(), text.as_bytes()));
        let mut found = Diagnostics::new();
        let mut file = CaseFile { path: path.to_owned(), ..CaseFile::default() };
        match DeTable::parse(text) {
            Ok(table) => {
                let span = span_of(table.span());
                file.read(&Fields { table: table.get_ref(), source, span }, &mut found);
            }
            Err(error) => {
                let span = error.span().map(span_of).unwrap_or_default();
                found.push(Diagnostic::error(&NO_TOML, source, span, one_line(error.message())));
            }
        }
        if found.is_empty() {
            return Ok(file);
        }
        found.sort_by_key(|found| found.primary.span);
        Err(Box::new(BadCaseFile { sources, diagnostics: found }))
    }

    fn read(&mut self, top: &Fields<'_>, found: &mut Diagnostics) {
        let keys = event::keys();
        let known: Vec<&str> = OF_FILE.iter().chain(&keys).copied().filter(|key| !event::OWN.contains(key)).collect();
        top.only(&known, found);
        let directory = self.directory();
        let formats = top.texts("formats", found);
        self.formats = formats.iter().map(|format| resolve_path(&directory, format.value)).collect();
        if let Some(settings) = top.table("dialect", found) {
            self.settings(&settings, found);
        }
        let Some(events) = top.value("event") else {
            return top.refuse(
                &NO_EVENT,
                top.key("formats").unwrap_or_default(),
                "this case file has no `[[event]]`",
                found,
            );
        };
        let tables =
            events.get_ref().as_array().map(|list| list.iter().map(|item| (item.get_ref().as_table(), item.span())));
        for (at, (table, span)) in tables.into_iter().flatten().enumerate() {
            let Some(table) = table else { continue };
            let own = Fields { table, source: top.source, span: span_of(span) };
            own.only(&keys, found);
            let n_found = found.len();
            let event = CaseEvent::read(&own, top, &directory, at + 1, found);
            self.events.extend(event.filter(|_| found.len() == n_found));
        }
        if self.events.is_empty() && found.is_empty() {
            let text = "`event` is a list of tables, each headed `[[event]]`";
            top.refuse(&BAD_VALUE, span_of(events.span()), text, found);
        }
    }

    fn settings(&mut self, settings: &Fields<'_>, found: &mut Diagnostics) {
        let mut dialect = Dialect::default();
        for key in settings.table.keys() {
            let name: &str = key.get_ref();
            let flag = settings.value(name).and_then(|value| value.get_ref().as_bool());
            let value = match flag {
                Some(flag) => Some(flag.to_string()),
                None => settings.word(name, found).map(|value| value.value.to_owned()),
            };
            let Some(value) = value else { continue };
            if let Err(error) = dialect.set(name, &value) {
                settings.refuse(&BAD_SETTING, span_of(key.span()), error.to_string(), found);
            }
            self.dialect.push((name.to_owned(), value));
        }
    }

    /// Directory that contains the file.
    pub fn directory(&self) -> PathBuf {
        self.path.parent().map_or_else(PathBuf::new, Path::to_owned)
    }

    /// File name without the suffix of case files.
    pub fn name(&self) -> String {
        let name = self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        name.strip_suffix(SUFFIX).map_or(name.clone(), str::to_owned)
    }
}

fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join("; ")
}
