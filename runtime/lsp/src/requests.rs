//! Answers to the requests of the protocol.

use super::check::Checked;
use super::complete::complete;
use super::diagnostics::{self, FileDiagnostics};
use super::document::Document;
use super::hover::hover;
use super::json::{self, Json};
use super::navigate;
use super::outline::{self, TOKEN_TYPES};
use super::project::{CONFIG, FileSpan, Project, key_of, path_of};
use super::protocol::Encoding;
use super::protocol::{ErrorCode, Params, Range, RequestError};
use super::sent_tokens::Sent;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tfbc_grammar::Span;

/// Maximum number of symbols that a workspace search returns.
const MAX_SYMBOLS: usize = 1000;

/// JSON text of a result, or an error.
pub type Answer = Result<String, RequestError>;

/// State that client and server share.
#[derive(Debug)]
pub struct Session {
    pub project: Project,
    encoding: Encoding,
    /// True if the client supports snippets.
    has_snippets: bool,
    /// Latest diagnostics, by file.
    found: BTreeMap<String, FileDiagnostics>,
    /// Latest check, without its diagnostics.
    checked: Checked,
    /// Keys of the checked files, indexed by the source ids in diagnostics.
    keys: Vec<String>,
    /// Files whose diagnostics the client displays.
    published: BTreeMap<String, String>,
    /// Semantic tokens that were last sent to the client.
    sent: Sent,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            project: Project::default(),
            encoding: Encoding::Utf16,
            has_snippets: false,
            found: BTreeMap::new(),
            checked: Checked::default(),
            keys: Vec::new(),
            published: BTreeMap::new(),
            sent: Sent::default(),
        }
    }
}

fn reply(result: &Value) -> Answer {
    Ok(result.to_string())
}

impl Session {
    /// Handles `initialize`: negotiates the encoding and lists the server's abilities.
    pub fn initialize(&mut self, params: &Params) -> Answer {
        self.encoding = params.encoding();
        self.has_snippets = params.has_snippets();
        self.project.begin(params.folder().and_then(path_of), params.formats());
        reply(&json!({
            "capabilities": self.capabilities(),
            "serverInfo": { "name": "tfbc", "version": env!("CARGO_PKG_VERSION") },
        }))
    }

    fn capabilities(&self) -> Value {
        json!({
            "positionEncoding": if self.encoding == Encoding::Utf8 { "utf-8" } else { "utf-16" },
            "textDocumentSync": { "openClose": true, "change": 2, "save": true },
            "hoverProvider": true,
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": { "prepareProvider": true },
            "completionProvider": { "triggerCharacters": ["$", "%", "<", "\"", "{"] },
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "foldingRangeProvider": true,
            "documentFormattingProvider": true,
            "documentRangeFormattingProvider": true,
            "codeActionProvider": { "codeActionKinds": ["quickfix", "source.fixAll"] },
            "semanticTokensProvider": {
                "legend": { "tokenTypes": TOKEN_TYPES, "tokenModifiers": [] },
                "full": { "delta": true },
                "range": true,
            },
        })
    }

    /// Handles a notification. Returns true if the files must be checked again.
    pub fn notice(&mut self, method: &str, params: &Params) -> Result<bool, RequestError> {
        match method {
            "textDocument/didOpen" => {
                let text = params.text("/textDocument/text")?.to_owned();
                self.project.open(params.uri()?.to_owned(), params.version()?, text);
                Ok(true)
            }
            "textDocument/didChange" => {
                let (uri, version, changes) = (params.uri()?, params.version()?, params.changes()?);
                let encoding = self.encoding;
                let document = self.project.get_mut(uri).filter(|document| document.version.is_some());
                let Some(document) = document else { return Err(not_open_error(uri)) };
                // Applied at once and checked later: a request that follows already sees the new text.
                document.change(version, &changes, encoding);
                Ok(true)
            }
            "textDocument/didClose" => {
                let closed = params.uri()?;
                self.sent.forget(&key_of(closed));
                self.project.close(closed);
                Ok(true)
            }
            "textDocument/didSave" => {
                let is_config = params.uri()?.ends_with(CONFIG);
                if is_config {
                    self.project.reload();
                }
                Ok(is_config)
            }
            "workspace/didChangeWatchedFiles" | "workspace/didCreateFiles" => {
                self.project.reload();
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Answers a request.
    pub fn answer(&mut self, method: &str, params: &Params) -> Answer {
        match method {
            "textDocument/hover" => self.hover(params),
            "textDocument/definition" => self.definition(params),
            "textDocument/references" => self.references(params),
            "textDocument/documentHighlight" => self.highlights(params),
            "textDocument/prepareRename" => self.prepare_rename(params),
            "textDocument/rename" => self.rename(params),
            "textDocument/completion" => self.completion(params),
            "textDocument/documentSymbol" => self.symbols(params),
            "workspace/symbol" => self.all_symbols(params),
            "textDocument/foldingRange" => self.folds(params),
            "textDocument/formatting" => self.formatting(params),
            "textDocument/rangeFormatting" => self.range_formatting(params),
            "textDocument/codeAction" => self.actions(params),
            "textDocument/semanticTokens/full" => self.tokens(params, None),
            "textDocument/semanticTokens/full/delta" => self.tokens(params, Some(params.text("/previousResultId")?)),
            "textDocument/semanticTokens/range" => self.tokens_within(params),
            _ => Err(RequestError::new(ErrorCode::MethodNotFound, format!("unknown method `{method}`"))),
        }
    }

    /// One diagnostics message per file that has, or had, diagnostics.
    pub fn findings(&mut self, mut checked: Checked) -> Vec<Value> {
        self.keys = checked.files.iter().map(|(key, ..)| key.clone()).collect();
        self.found = diagnostics::by_file(&mut checked);
        self.checked = checked;
        let mut notes = Vec::new();
        // The client displays diagnostics until it gets others, so a file without findings needs an empty list once.
        let gone: Vec<String> = self.published.keys().filter(|key| !self.found.contains_key(*key)).cloned().collect();
        for key in gone {
            if let Some(uri) = self.published.remove(&key) {
                notes.push(json!({ "uri": uri, "diagnostics": [] }));
            }
        }
        for (key, found) in &self.found {
            // Positions of an older version would be wrong, and a newer one is being checked.
            let Some(document) = self.project.get(key).filter(|document| document.version == found.version) else {
                continue;
            };
            let shown = |diagnostic| diagnostics::shown(&self.project, &self.keys, key, diagnostic, self.encoding);
            let mut note = json!({
                "uri": document.uri,
                "diagnostics": found.diagnostics.iter().map(shown).collect::<Vec<_>>(),
            });
            if let Some(version) = found.version {
                note["version"] = json!(version);
            }
            self.published.insert(key.clone(), document.uri.clone());
            notes.push(note);
        }
        notes
    }

    /// Key of a known file, and the byte offset of a position in it.
    fn at(&self, params: &Params) -> Result<(String, u32), RequestError> {
        let (key, position) = (self.key(params)?, params.position()?);
        let offset = self.project.get(&key).map_or(0, |document| document.offset(position, self.encoding));
        Ok((key, offset))
    }

    fn key(&self, params: &Params) -> Result<String, RequestError> {
        let uri = params.uri()?;
        let key = key_of(uri);
        if self.project.get(&key).is_some() { Ok(key) } else { Err(not_open_error(uri)) }
    }

    fn range(&self, key: &str, span: Span) -> Range {
        self.project.get(key).map_or(Range::default(), |document| document.range(span, self.encoding))
    }

    fn span(&self, key: &str, range: Range) -> Span {
        let Some(document) = self.project.get(key) else { return Span::default() };
        let start = document.offset(range.start, self.encoding);
        Span::new(start, document.offset(range.end, self.encoding).max(start))
    }

    fn locations(&self, places: &[FileSpan]) -> Answer {
        let documents = places.iter().filter_map(|place| Some((self.project.get(&place.key)?, place.span)));
        Ok(json::list(documents, |json, (document, span)| {
            json.location(document.uri.as_str(), document.range(span, self.encoding));
        }))
    }

    /// Diagnostics of the version that the client has.
    fn current(&self, key: &str) -> Option<&FileDiagnostics> {
        let version = self.project.get(key)?.version;
        self.found.get(key).filter(|found| found.version == version)
    }

    fn hover(&self, params: &Params) -> Answer {
        let (key, offset) = self.at(params)?;
        let found = self.current(&key).map_or(&[][..], |found| &found.diagnostics);
        let contains = |span: Span| span.start <= offset && offset <= span.end.max(span.start);
        let here = found.iter().filter(|found| contains(found.primary.span));
        let explained: BTreeMap<_, _> = here.map(|found| (found.code.code, diagnostics::explained(found))).collect();
        let (text, span) = hover(&self.project, &key, offset).unzip();
        let fields = span.map_or(&[][..], |span| self.fields(&key, span.start));
        let text = text.map(|text| fields.iter().fold(text, |text, field| format!("{text}\n\n{field}")));
        let parts: Vec<String> = text.into_iter().chain(explained.into_values()).collect();
        if parts.is_empty() {
            return reply(&Value::Null);
        }
        let mut answer = json!({ "contents": { "kind": "markdown", "value": parts.join("\n\n---\n\n") } });
        if let Some(span) = span {
            answer["range"] = json!(self.range(&key, span));
        }
        reply(&answer)
    }

    /// Descriptions of the fields that the item at an offset shows.
    fn fields(&self, key: &str, offset: u32) -> &[String] {
        let version = self.project.get(key).map(|document| document.version);
        let file = self.checked.files.iter().find(|(checked, of, _)| checked == key && Some(*of) == version);
        let Some((.., source)) = file else { return &[] };
        // An item of a datakey begins at its `%`, before the label.
        let xml = self.project.get(key).and_then(Document::xml);
        let item = xml.and_then(|facts| {
            facts.fields.iter().find(|field| field.whole.start <= offset && offset < field.whole.end)
        });
        let (line, column) = source.line_column(item.map_or(offset, |item| item.whole.start));
        self.checked.fields.get(&(source.name().to_owned(), line, column)).map_or(&[], Vec::as_slice)
    }

    fn definition(&self, params: &Params) -> Answer {
        let (key, offset) = self.at(params)?;
        let places = navigate::definition(&self.project, &key, offset);
        self.locations(&places)
    }

    fn references(&self, params: &Params) -> Answer {
        let (key, offset) = self.at(params)?;
        let places = navigate::references(&self.project, &key, offset, params.flag("/context/includeDeclaration")?);
        self.locations(&places)
    }

    fn highlights(&self, params: &Params) -> Answer {
        let (key, offset) = self.at(params)?;
        let places = navigate::references(&self.project, &key, offset, true).into_iter();
        let here = places.filter(|place| place.key == key);
        reply(&here.map(|place| json!({ "range": self.range(&key, place.span) })).collect())
    }

    fn prepare_rename(&self, params: &Params) -> Answer {
        let (key, offset) = self.at(params)?;
        let span = navigate::renamed(&self.project, &key, offset);
        let span = span.map_err(|why| RequestError::new(ErrorCode::RequestFailed, why))?;
        reply(&json!(self.range(&key, span)))
    }

    fn rename(&self, params: &Params) -> Answer {
        let (key, offset) = self.at(params)?;
        let places = navigate::rename(&self.project, &key, offset, params.text("/newName")?);
        let places = places.map_err(|why| RequestError::new(ErrorCode::RequestFailed, why))?;
        let mut changes: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (place, text) in &places {
            let Some(document) = self.project.get(&place.key) else { continue };
            let edit = json!({ "range": document.range(place.span, self.encoding), "newText": text });
            changes.entry(document.uri.as_str()).or_default().push(edit);
        }
        reply(&json!({ "changes": changes }))
    }

    fn completion(&self, params: &Params) -> Answer {
        let (key, offset) = self.at(params)?;
        let Some((choices, span)) = complete(&self.project, &key, offset) else { return reply(&json!([])) };
        let range = self.range(&key, span);
        let item = |choice: &super::complete::Choice| {
            let is_snippet = choice.is_snippet() && self.has_snippets;
            // Without snippet support, only the name is inserted.
            let text = if choice.is_snippet() && !is_snippet { &choice.label } else { &choice.text };
            json!({
                "label": choice.label,
                "kind": choice.kind as u32,
                "detail": choice.detail,
                "filterText": choice.label,
                "insertTextFormat": if is_snippet { 2 } else { 1 },
                "textEdit": { "range": range, "newText": text },
            })
        };
        reply(&choices.iter().map(item).collect())
    }

    fn symbols(&self, params: &Params) -> Answer {
        let key = self.key(params)?;
        let Some(document) = self.project.get(&key) else { return reply(&Value::Null) };
        let entries = outline::entries(document);
        let range = |span| document.range(span, self.encoding);
        Ok(json::list(&entries, |json, entry| json.symbol(entry, &range)))
    }

    fn all_symbols(&self, params: &Params) -> Answer {
        let query = params.text("/query")?.to_lowercase();
        let mut found = Vec::new();
        for (key, document) in self.project.documents() {
            let entries = outline::entries(document);
            for entry in entries.iter().flat_map(|entry| std::iter::once(entry).chain(&entry.children)) {
                let text = format!("{} {}", entry.name, entry.detail);
                if found.len() < MAX_SYMBOLS && text.to_lowercase().contains(&query) {
                    let range = self.range(key, entry.span);
                    let location = json!({ "uri": document.uri, "range": range });
                    found.push(json!({ "name": text.trim(), "kind": entry.kind as u32, "location": location }));
                }
            }
        }
        reply(&Value::Array(found))
    }

    fn folds(&self, params: &Params) -> Answer {
        let key = self.key(params)?;
        let folds = self.project.get(&key).map_or(Vec::new(), outline::folds);
        let folds = folds.iter().map(|(span, is_comment)| (self.range(&key, *span), *is_comment));
        let folds = folds.filter(|(range, _)| range.end.line > range.start.line);
        Ok(json::list(folds, |json, (range, is_comment)| {
            json.fold(range, if is_comment { "comment" } else { "region" });
        }))
    }

    fn formatting(&self, params: &Params) -> Answer {
        let key = self.key(params)?;
        self.layout(&key, None)
    }

    fn range_formatting(&self, params: &Params) -> Answer {
        let key = self.key(params)?;
        let within = self.span(&key, params.range()?);
        self.layout(&key, Some(within))
    }

    /// Edits that format a file, or the stanzas and elements in a range of it.
    fn layout(&self, key: &str, within: Option<Span>) -> Answer {
        let Some(document) = self.project.get(key) else { return reply(&Value::Null) };
        let rewrites = document.rewrites(within);
        Ok(json::list(&rewrites, |json, rewrite| {
            json.change(document.range(rewrite.span, self.encoding), &String::from_utf8_lossy(&rewrite.text));
        }))
    }

    fn actions(&self, params: &Params) -> Answer {
        let key = self.key(params)?;
        let Some(found) = self.current(&key) else { return reply(&json!([])) };
        let within = self.span(&key, params.range()?);
        let mut actions = diagnostics::actions(&self.project, &self.keys, &key, found, within, self.encoding);
        if let Some(only) = params.wanted_kinds()? {
            let is_wanted = |kind: &str| only.iter().any(|wanted| kind.starts_with(wanted));
            actions.retain(|action| action["kind"].as_str().is_some_and(is_wanted));
        }
        reply(&Value::Array(actions))
    }

    fn tokens(&mut self, params: &Params, since: Option<&str>) -> Answer {
        let key = self.key(params)?;
        let Some(document) = self.project.get(&key) else { return reply(&Value::Null) };
        let whole = Span::new(0, document.bytes().len() as u32);
        Ok(self.sent.send(key, since, outline::tokens(document, whole, self.encoding)))
    }

    fn tokens_within(&self, params: &Params) -> Answer {
        let (key, range) = (self.key(params)?, params.range()?);
        let Some(document) = self.project.get(&key) else { return reply(&Value::Null) };
        let data = outline::tokens(document, self.span(&key, range), self.encoding);
        let mut words = Json::default();
        words.words(&data);
        Ok(format!("{{\"data\":{}}}", words.finish()))
    }
}

fn not_open_error(uri: &str) -> RequestError {
    RequestError::new(ErrorCode::InvalidParams, format!("the file {uri} is not open"))
}
