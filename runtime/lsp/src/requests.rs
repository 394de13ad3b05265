//! Answers to the requests of the protocol.

use super::check::Checked;
use super::complete::complete;
use super::diagnostics::{self, FileDiagnostics};
use super::hover::hover;
use super::json::{self, Json};
use super::navigate;
use super::outline::{self, TOKEN_TYPES};
use super::project::{CONFIG, FileSpan, Project, path_of};
use super::sent_tokens::Sent;
use super::text::Encoding;
use lsp_server::ErrorCode;
use lsp_types::{
    CodeActionParams, CompletionParams, CreateFilesParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams, DocumentFormattingParams,
    DocumentRangeFormattingParams, DocumentSymbolParams, FoldingRangeParams, GotoDefinitionParams, HoverParams,
    InitializeParams, PositionEncodingKind, Range, ReferenceParams, RenameParams, SemanticTokensDeltaParams,
    SemanticTokensParams, SemanticTokensRangeParams, TextDocumentIdentifier, TextDocumentPositionParams, Uri,
    WorkspaceSymbolParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tfbc_grammar::Span;

/// Maximum number of symbols that a workspace search returns.
const MAX_SYMBOLS: usize = 1000;

/// Error response to a request.
#[derive(Debug)]
pub struct RequestError {
    pub code: ErrorCode,
    pub text: String,
}

impl RequestError {
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

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
    /// Keys of the checked files, indexed by the source ids in diagnostics.
    keys: Vec<String>,
    /// Files whose diagnostics the client displays.
    published: BTreeMap<String, Uri>,
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
            keys: Vec::new(),
            published: BTreeMap::new(),
            sent: Sent::default(),
        }
    }
}

fn read<P: DeserializeOwned>(params: Value) -> Result<P, RequestError> {
    serde_json::from_value(params).map_err(|error| RequestError::new(ErrorCode::InvalidParams, error.to_string()))
}

fn reply(result: &impl Serialize) -> Answer {
    serde_json::to_string(result).map_err(|error| RequestError::new(ErrorCode::InternalError, error.to_string()))
}

impl Session {
    /// Handles `initialize`: negotiates the encoding and lists the server's abilities.
    pub fn initialize(&mut self, params: Value) -> Answer {
        let params: InitializeParams = read(params)?;
        let capabilities = &params.capabilities;
        let encodings = capabilities.general.as_ref().and_then(|general| general.position_encodings.as_ref());
        let has_utf8 = encodings.is_some_and(|encodings| encodings.contains(&PositionEncodingKind::UTF8));
        self.encoding = if has_utf8 { Encoding::Utf8 } else { Encoding::Utf16 };
        let completion = capabilities.text_document.as_ref().and_then(|document| document.completion.as_ref());
        let item = completion.and_then(|completion| completion.completion_item.as_ref());
        self.has_snippets = item.and_then(|item| item.snippet_support).unwrap_or(false);
        let folder = params.workspace_folders.as_ref().and_then(|folders| folders.first()).map(|folder| &folder.uri);
        let options = params.initialization_options.unwrap_or_default();
        let formats = options.get("formats").and_then(Value::as_array).into_iter().flatten();
        let formats = formats.filter_map(|name| name.as_str().map(str::to_owned)).collect();
        self.project.begin(folder.and_then(path_of), formats);
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
    pub fn notice(&mut self, method: &str, params: Value) -> Result<bool, RequestError> {
        match method {
            "textDocument/didOpen" => {
                let document = read::<DidOpenTextDocumentParams>(params)?.text_document;
                self.project.open(document.uri, document.version, document.text);
                Ok(true)
            }
            "textDocument/didChange" => {
                let DidChangeTextDocumentParams { text_document, content_changes } = read(params)?;
                let encoding = self.encoding;
                let document = self.project.get_mut(&text_document.uri).filter(|document| document.version.is_some());
                let Some(document) = document else { return Err(unopened(&text_document.uri)) };
                document.change(text_document.version, &content_changes, encoding);
                Ok(true)
            }
            "textDocument/didClose" => {
                let closed = read::<DidCloseTextDocumentParams>(params)?.text_document.uri;
                self.sent.forget(&super::project::key_of(&closed));
                self.project.close(&closed);
                Ok(true)
            }
            "textDocument/didSave" => {
                let saved = read::<DidSaveTextDocumentParams>(params)?.text_document.uri;
                let is_config = saved.as_str().ends_with(CONFIG);
                if is_config {
                    self.project.reload();
                }
                Ok(is_config)
            }
            "workspace/didChangeWatchedFiles" => {
                read::<DidChangeWatchedFilesParams>(params)?;
                self.project.reload();
                Ok(true)
            }
            "workspace/didCreateFiles" => {
                read::<CreateFilesParams>(params)?;
                self.project.reload();
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Answers a request.
    pub fn answer(&mut self, method: &str, params: Value) -> Answer {
        match method {
            "textDocument/hover" => self.hover(read(params)?),
            "textDocument/definition" => self.definition(read(params)?),
            "textDocument/references" => self.references(read(params)?),
            "textDocument/documentHighlight" => self.highlights(read(params)?),
            "textDocument/prepareRename" => self.prepare_rename(read(params)?),
            "textDocument/rename" => self.rename(read(params)?),
            "textDocument/completion" => self.completion(read(params)?),
            "textDocument/documentSymbol" => self.symbols(read(params)?),
            "workspace/symbol" => self.all_symbols(read(params)?),
            "textDocument/foldingRange" => self.folds(read(params)?),
            "textDocument/formatting" => self.formatting(read(params)?),
            "textDocument/rangeFormatting" => self.range_formatting(read(params)?),
            "textDocument/codeAction" => self.actions(read(params)?),
            "textDocument/semanticTokens/full" => {
                self.tokens(&read::<SemanticTokensParams>(params)?.text_document, None)
            }
            "textDocument/semanticTokens/full/delta" => {
                let SemanticTokensDeltaParams { text_document, previous_result_id, .. } = read(params)?;
                self.tokens(&text_document, Some(&previous_result_id))
            }
            "textDocument/semanticTokens/range" => {
                let SemanticTokensRangeParams { text_document, range, .. } = read(params)?;
                self.tokens_within(&text_document, range)
            }
            _ => Err(RequestError::new(ErrorCode::MethodNotFound, format!("unknown method `{method}`"))),
        }
    }

    /// One diagnostics message per file that has, or had, diagnostics.
    pub fn findings(&mut self, mut checked: Checked) -> Vec<Value> {
        self.keys = checked.files.iter().map(|(key, ..)| key.clone()).collect();
        self.found = diagnostics::by_file(&mut checked);
        let mut notes = Vec::new();
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
    fn at(&self, place: &TextDocumentPositionParams) -> Result<(String, u32), RequestError> {
        let key = self.key(&place.text_document)?;
        let offset = self.project.get(&key).map_or(0, |document| document.offset(place.position, self.encoding));
        Ok((key, offset))
    }

    fn key(&self, document: &TextDocumentIdentifier) -> Result<String, RequestError> {
        let key = super::project::key_of(&document.uri);
        if self.project.get(&key).is_some() { Ok(key) } else { Err(unopened(&document.uri)) }
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

    fn hover(&self, params: HoverParams) -> Answer {
        let (key, offset) = self.at(&params.text_document_position_params)?;
        let found = self.current(&key).map_or(&[][..], |found| &found.diagnostics);
        let holds = |span: Span| span.start <= offset && offset <= span.end.max(span.start);
        let here = found.iter().filter(|found| holds(found.primary.span));
        let explained: BTreeMap<_, _> = here.map(|found| (found.code.code, diagnostics::explained(found))).collect();
        let (text, span) = hover(&self.project, &key, offset).unzip();
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

    fn definition(&self, params: GotoDefinitionParams) -> Answer {
        let (key, offset) = self.at(&params.text_document_position_params)?;
        let places = navigate::definition(&self.project, &key, offset);
        self.locations(&places)
    }

    fn references(&self, params: ReferenceParams) -> Answer {
        let (key, offset) = self.at(&params.text_document_position)?;
        let places = navigate::references(&self.project, &key, offset, params.context.include_declaration);
        self.locations(&places)
    }

    fn highlights(&self, params: GotoDefinitionParams) -> Answer {
        let (key, offset) = self.at(&params.text_document_position_params)?;
        let places = navigate::references(&self.project, &key, offset, true).into_iter();
        let here = places.filter(|place| place.key == key);
        reply(&here.map(|place| json!({ "range": self.range(&key, place.span) })).collect::<Vec<_>>())
    }

    fn prepare_rename(&self, params: TextDocumentPositionParams) -> Answer {
        let (key, offset) = self.at(&params)?;
        let span = navigate::renamed(&self.project, &key, offset);
        let span = span.map_err(|why| RequestError::new(ErrorCode::RequestFailed, why))?;
        reply(&self.range(&key, span))
    }

    fn rename(&self, params: RenameParams) -> Answer {
        let (key, offset) = self.at(&params.text_document_position)?;
        let places = navigate::rename(&self.project, &key, offset, &params.new_name);
        let places = places.map_err(|why| RequestError::new(ErrorCode::RequestFailed, why))?;
        let mut changes: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (place, text) in &places {
            let Some(document) = self.project.get(&place.key) else { continue };
            let edit = json!({ "range": document.range(place.span, self.encoding), "newText": text });
            changes.entry(document.uri.as_str()).or_default().push(edit);
        }
        reply(&json!({ "changes": changes }))
    }

    fn completion(&self, params: CompletionParams) -> Answer {
        let (key, offset) = self.at(&params.text_document_position)?;
        let Some((choices, span)) = complete(&self.project, &key, offset) else { return reply(&json!([])) };
        let range = self.range(&key, span);
        let item = |choice: &super::complete::Choice| {
            let is_snippet = choice.is_snippet() && self.has_snippets;
            // Without snippet support, only the name is inserted.
            let text = if choice.is_snippet() && !is_snippet { &choice.label } else { &choice.text };
            json!({
                "label": choice.label,
                "kind": choice.kind,
                "detail": choice.detail,
                "filterText": choice.label,
                "insertTextFormat": if is_snippet { 2 } else { 1 },
                "textEdit": { "range": range, "newText": text },
            })
        };
        reply(&choices.iter().map(item).collect::<Vec<_>>())
    }

    fn symbols(&self, params: DocumentSymbolParams) -> Answer {
        let key = self.key(&params.text_document)?;
        let Some(document) = self.project.get(&key) else { return reply(&Value::Null) };
        let entries = outline::entries(document);
        let range = |span| document.range(span, self.encoding);
        Ok(json::list(&entries, |json, entry| json.symbol(entry, &range)))
    }

    fn all_symbols(&self, params: WorkspaceSymbolParams) -> Answer {
        let query = params.query.to_lowercase();
        let mut found = Vec::new();
        for (key, document) in self.project.documents() {
            let entries = outline::entries(document);
            for entry in entries.iter().flat_map(|entry| std::iter::once(entry).chain(&entry.children)) {
                let text = format!("{} {}", entry.name, entry.detail);
                if found.len() < MAX_SYMBOLS && text.to_lowercase().contains(&query) {
                    let range = self.range(key, entry.span);
                    let location = json!({ "uri": document.uri, "range": range });
                    found.push(json!({ "name": text.trim(), "kind": entry.kind, "location": location }));
                }
            }
        }
        reply(&found)
    }

    fn folds(&self, params: FoldingRangeParams) -> Answer {
        let key = self.key(&params.text_document)?;
        let folds = self.project.get(&key).map_or(Vec::new(), outline::folds);
        let folds = folds.iter().map(|(span, is_comment)| (self.range(&key, *span), *is_comment));
        let folds = folds.filter(|(range, _)| range.end.line > range.start.line);
        Ok(json::list(folds, |json, (range, is_comment)| {
            json.fold(range, if is_comment { "comment" } else { "region" });
        }))
    }

    fn formatting(&self, params: DocumentFormattingParams) -> Answer {
        let key = self.key(&params.text_document)?;
        self.layout(&key, None)
    }

    fn range_formatting(&self, params: DocumentRangeFormattingParams) -> Answer {
        let key = self.key(&params.text_document)?;
        let within = self.span(&key, params.range);
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

    fn actions(&self, params: CodeActionParams) -> Answer {
        let key = self.key(&params.text_document)?;
        let Some(found) = self.current(&key) else { return reply(&json!([])) };
        let within = self.span(&key, params.range);
        let mut actions = diagnostics::actions(&self.project, &self.keys, &key, found, within, self.encoding);
        if let Some(only) = params.context.only {
            let is_wanted = |kind: &str| only.iter().any(|wanted| kind.starts_with(wanted.as_str()));
            actions.retain(|action| action["kind"].as_str().is_some_and(is_wanted));
        }
        reply(&actions)
    }

    fn tokens(&mut self, document: &TextDocumentIdentifier, since: Option<&str>) -> Answer {
        let key = self.key(document)?;
        let Some(document) = self.project.get(&key) else { return reply(&Value::Null) };
        let whole = Span::new(0, document.bytes().len() as u32);
        Ok(self.sent.send(key, since, outline::tokens(document, whole, self.encoding)))
    }

    fn tokens_within(&self, document: &TextDocumentIdentifier, range: Range) -> Answer {
        let key = self.key(document)?;
        let Some(document) = self.project.get(&key) else { return reply(&Value::Null) };
        let data = outline::tokens(document, self.span(&key, range), self.encoding);
        let mut words = Json::default();
        words.words(&data);
        Ok(format!("{{\"data\":{}}}", words.finish()))
    }
}

fn unopened(uri: &Uri) -> RequestError {
    RequestError::new(ErrorCode::InvalidParams, format!("the file {} is not open", uri.as_str()))
}
