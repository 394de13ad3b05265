//! Files of a session: those open in the editor, and those that the project names.
//!
//! Functions and subroutines are looked up in all files. The files are checked as one set, with the project's files
//! first.

use super::document::Document;
use super::facts::{NameRole, NameUse, StanzaFacts};
use super::vocabulary;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tfbc_grammar::{Source, SourceLimits, Span};
use toml::de::{DeTable, DeValue};

/// File in the root directory that lists the project's format files.
pub const CONFIG: &str = "tfbc.toml";

/// Files of a session.
#[derive(Debug, Default)]
pub struct Project {
    /// By path, or by URI if it is not a file.
    documents: BTreeMap<String, Document>,
    root: Option<PathBuf>,
    /// Format files from the client's settings.
    given: Vec<String>,
    /// Keys of the files from the settings and from [`CONFIG`], in order.
    named: Vec<String>,
    /// Ids of all stanzas; cleared by every change.
    ids: OnceCell<HashSet<u16>>,
}

/// Symbol that a name refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Symbol {
    Predefined(String),
    /// Template subroutine, by canonical id.
    Stanza(u16),
    Function(String),
    /// Macro of a stanza, or macro or parameter of a function. The stanza is given by file and logical line.
    Local {
        key: String,
        line: usize,
        within: Option<usize>,
        name: String,
    },
}

/// Span in one of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpan {
    pub key: String,
    pub span: Span,
}

impl Project {
    /// Sets the root directory and the client's format files, and reads them.
    pub fn begin(&mut self, root: Option<PathBuf>, formats: Vec<String>) {
        self.root = root;
        self.given = formats;
        self.reload();
    }

    /// Reads [`CONFIG`] and all files that are not open in the editor.
    pub fn reload(&mut self) {
        self.ids.take();
        let mut names = self.given.clone();
        if let Some(root) = &self.root {
            names.extend(configured(&root.join(CONFIG)));
        }
        let root = self.root.clone().unwrap_or_default();
        self.documents.retain(|_, document| document.version.is_some());
        self.named.clear();
        for name in names {
            // Editors send paths without `.` components.
            let path: PathBuf = root.join(name).components().collect();
            let key = path.to_string_lossy().into_owned();
            self.read(&key, &path);
            if self.documents.contains_key(&key) && !self.named.contains(&key) {
                self.named.push(key);
            }
        }
    }

    fn read(&mut self, key: &str, path: &Path) {
        if self.documents.contains_key(key) {
            return;
        }
        if let Some(bytes) = read_file(path) {
            self.documents.insert(key.to_owned(), Document::new(uri_of(path), None, bytes));
        }
    }

    pub fn open(&mut self, uri: String, version: i32, text: String) {
        self.ids.take();
        let key = key_of(&uri);
        self.documents.insert(key, Document::new(uri, Some(version), text.into_bytes()));
    }

    /// Closes a file. A file of the project is read from disk again.
    pub fn close(&mut self, uri: &str) {
        self.ids.take();
        let key = key_of(uri);
        self.documents.remove(&key);
        if self.named.contains(&key) {
            self.read(&key, Path::new(&key));
        }
    }

    pub fn get(&self, key: &str) -> Option<&Document> {
        self.documents.get(key)
    }

    /// Document for a change; cached results are dropped.
    pub fn get_mut(&mut self, uri: &str) -> Option<&mut Document> {
        self.ids.take();
        self.documents.get_mut(&key_of(uri))
    }

    /// Analyses a few stanzas before a request needs them. Returns false if nothing is left.
    pub fn read_ahead(&self) -> bool {
        self.documents.values().any(Document::read_ahead)
    }

    /// All files with their keys, in compile order: later definitions win.
    pub fn documents(&self) -> impl Iterator<Item = (&String, &Document)> {
        let named = self.named.iter().filter_map(|key| self.documents.get_key_value(key));
        named.chain(self.documents.iter().filter(|(key, _)| !self.named.contains(key)))
    }

    /// Files to check.
    pub fn sources(&self) -> Vec<(String, Option<i32>, Arc<Source>)> {
        self.documents().map(|(key, document)| (key.clone(), document.version, document.source.clone())).collect()
    }

    /// True if any file has a stanza with this id.
    pub fn has_stanza(&self, id: u16) -> bool {
        let all = || {
            let documents = self.documents.values();
            documents.flat_map(Document::stanzas).filter_map(|(.., facts)| Some(facts.id?.0)).collect()
        };
        self.ids.get_or_init(all).contains(&id)
    }

    /// Heads of the stanzas with an id, and the spans of their logical lines.
    pub fn stanzas_of(&self, id: u16) -> Vec<(FileSpan, Span)> {
        let mut found = Vec::new();
        for (key, document) in self.documents() {
            for (_, line, facts) in document.stanzas() {
                if let Some((_, span)) = facts.id.filter(|(known, _)| *known == id) {
                    found.push((FileSpan { key: key.clone(), span: shifted(span, line) }, line));
                }
            }
        }
        found
    }

    /// Definitions of a function: position of the name, and span of the whole.
    pub fn functions_of(&self, name: &str) -> Vec<(FileSpan, Span)> {
        let mut found = Vec::new();
        for (key, document) in self.documents() {
            for (_, line, facts) in document.stanzas() {
                for function in facts.functions.iter().filter(|function| function.name == name) {
                    let place = FileSpan { key: key.clone(), span: shifted(function.span, line) };
                    found.push((place, shifted(function.whole, line)));
                }
            }
        }
        found
    }

    /// Resolves a name in a stanza.
    pub fn resolve(&self, key: &str, line: usize, facts: &StanzaFacts, name: &NameUse) -> Symbol {
        let local = |within| Symbol::Local { key: key.to_owned(), line, within, name: name.text.clone() };
        match name.role {
            NameRole::Defined | NameRole::Called => Symbol::Function(name.text.clone()),
            NameRole::Param => local(name.within),
            NameRole::Used | NameRole::Assigned => {
                let params = name.within.and_then(|index| facts.functions.get(index)).map(|function| &function.params);
                if params.is_some_and(|params| params.contains(&name.text)) {
                    return local(name.within);
                }
                if vocabulary::predefined(&name.text).is_some() {
                    return Symbol::Predefined(name.text.clone());
                }
                match subroutine(&name.text) {
                    Some(id) if name.text.len() == 3 || self.has_stanza(id) => Symbol::Stanza(id),
                    _ => local(name.within),
                }
            }
        }
    }

    /// Symbol at an offset of a format file, and the span of its name.
    pub fn symbol_at(&self, key: &str, offset: u32) -> Option<(Symbol, Span)> {
        let document = self.get(key)?;
        let index = document.line_at(offset)?;
        let (line, facts) = document.stanza(index)?;
        let at = offset - line.start;
        if let Some((id, span)) = facts.id.filter(|(_, span)| span.start <= at && at <= span.end) {
            return Some((Symbol::Stanza(id), shifted(span, line)));
        }
        let name = facts.name_at(at)?;
        Some((self.resolve(key, index, facts, name), shifted(name.span, line)))
    }

    /// All uses of a symbol; true for definitions.
    pub fn places_of(&self, symbol: &Symbol) -> Vec<(FileSpan, bool)> {
        if let Symbol::Local { key, line, .. } = symbol {
            let Some((span, facts)) = self.get(key).and_then(|document| document.stanza(*line)) else {
                return Vec::new();
            };
            return self.places_in(key, *line, span, facts, symbol);
        }
        let documents = self.documents();
        let lines = documents.flat_map(|(key, document)| document.stanzas().map(move |stanza| (key, stanza)));
        lines.flat_map(|(key, (line, span, facts))| self.places_in(key, line, span, facts, symbol)).collect()
    }

    fn places_in(
        &self,
        key: &str,
        line: usize,
        at: Span,
        facts: &StanzaFacts,
        symbol: &Symbol,
    ) -> Vec<(FileSpan, bool)> {
        let place = |span: Span| FileSpan { key: key.to_owned(), span: shifted(span, at) };
        let mut found = Vec::new();
        if let (Symbol::Stanza(id), Some((known, span))) = (symbol, facts.id)
            && *id == known
        {
            found.push((place(span), true));
        }
        for name in &facts.names {
            let may_be = match symbol {
                Symbol::Predefined(text) | Symbol::Function(text) | Symbol::Local { name: text, .. } => {
                    *text == name.text
                }
                Symbol::Stanza(id) => subroutine(&name.text) == Some(*id),
            };
            if may_be && self.resolve(key, line, facts, name) == *symbol {
                let makes = matches!(name.role, NameRole::Defined | NameRole::Assigned | NameRole::Param);
                found.push((place(name.span), makes));
            }
        }
        found
    }
}

/// Converts a span in a stanza to one in its file.
pub fn shifted(span: Span, line: Span) -> Span {
    Span::new(span.start + line.start, span.end + line.start)
}

/// Canonical id from a name of 3 or 4 hexadecimal digits.
pub fn subroutine(name: &str) -> Option<u16> {
    let number = u16::from_str_radix(name, 16).ok().filter(|_| name.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    match name.len() {
        3 => Some(number << 4),
        4 => Some(number),
        _ => None,
    }
}

/// Reads a regular file up to the maximum size of a format file.
fn read_file(path: &Path) -> Option<Vec<u8>> {
    let max = SourceLimits::default().source as u64;
    let is_small = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= max);
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok().filter(|_| is_small)?.take(max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Format files listed in a configuration.
fn configured(path: &Path) -> Vec<String> {
    let text = read_file(path).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let Ok(table) = DeTable::parse(&text) else { return Vec::new() };
    let formats = table.get_ref().iter().find(|(name, _)| name.get_ref() == "formats");
    let Some(DeValue::Array(formats)) = formats.map(|(_, value)| value.get_ref()) else { return Vec::new() };
    formats.iter().filter_map(|name| name.get_ref().as_str().map(str::to_owned)).collect()
}

/// Key of a document: its path, or its URI if it is not a file.
pub fn key_of(uri: &str) -> String {
    path_of(uri).map_or_else(|| uri.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Path of a `file:` URI.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.find('/').map(|at| &rest[at..])?;
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let Some((first, others)) = rest.split_first() {
        let hex = others.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match hex.filter(|_| *first == b'%') {
            Some(byte) => (bytes, rest) = (pushed(bytes, byte), &others[2..]),
            None => (bytes, rest) = (pushed(bytes, *first), others),
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    // `/c:/formats` is a Windows path.
    let is_drive = matches!(text.as_bytes(), [b'/', letter, b':', ..] if letter.is_ascii_alphabetic());
    Some(PathBuf::from(if is_drive { &text[1..] } else { &text }))
}

fn pushed(mut bytes: Vec<u8>, byte: u8) -> Vec<u8> {
    bytes.push(byte);
    bytes
}

fn uri_of(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut out = String::from(if text.starts_with('/') { "file://" } else { "file:///" });
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_agree() {
        let uri = uri_of(Path::new("/tmp/a b\u{e9}.trcfmt"));
        assert_eq!(uri, "file:///tmp/a%20b%C3%A9.trcfmt");
        assert_eq!(path_of(&uri).unwrap(), Path::new("/tmp/a b\u{e9}.trcfmt"));
        assert_eq!(path_of("file:///c%3A/a.trcfmt").unwrap(), Path::new("c:/a.trcfmt"));
        assert_eq!(key_of("untitled:a"), "untitled:a");
    }
}
