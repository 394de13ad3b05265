//! Messages of JSON-RPC and of the Language Server Protocol that this server uses.

use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Message from the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Message that gets a response.
    Request {
        /// Number or string, chosen by the client.
        id: Value,
        /// Name of the request.
        method: String,
        /// Parameters; null if there are none.
        params: Value,
    },
    /// Message that gets no response.
    Notification {
        /// Name of the notification.
        method: String,
        /// Parameters; null if there are none.
        params: Value,
    },
    /// Response to a request of the server, which sends none.
    Response,
}

impl Message {
    /// Reads a message from JSON; `None` if it is neither request, response nor notification.
    pub fn from_json(mut message: Value) -> Option<Self> {
        let params = message.get_mut("params").map_or(Value::Null, Value::take);
        match (message.get("id").filter(|id| is_id(id)), message.get("method")) {
            (Some(id), Some(Value::String(method))) => {
                Some(Self::Request { id: id.clone(), method: method.clone(), params })
            }
            (None, Some(Value::String(method))) if message.get("id").is_none() => {
                Some(Self::Notification { method: method.clone(), params })
            }
            (Some(_), None) if message.get("result").or(message.get("error")).is_some() => Some(Self::Response),
            _ => None,
        }
    }
}

/// True if a value can be the id of a request.
pub fn is_id(id: &Value) -> bool {
    id.is_i64() || id.is_string()
}

/// Numbers of errors in responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    ServerNotInitialized = -32002,
    RequestCancelled = -32800,
    RequestFailed = -32803,
}

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

/// Unit of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
}

/// Place in a text, counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub line: u32,
    /// Column in the units that client and server agreed on.
    pub character: u32,
}

impl Position {
    pub fn new(line: u32, character: u32) -> Self {
        Self { line, character }
    }

    fn from_json(place: &Value) -> Option<Self> {
        let number = |name| u32::try_from(place.get(name)?.as_u64()?).ok();
        Some(Self { line: number("line")?, character: number("character")? })
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("line", &self.line)?;
        map.serialize_entry("character", &self.character)?;
        map.end()
    }
}

/// Part of a text; `end` is exclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

impl Range {
    pub fn new(start: Position, end: Position) -> Self {
        Self { start, end }
    }

    fn from_json(range: &Value) -> Option<Self> {
        Some(Self { start: Position::from_json(range.get("start")?)?, end: Position::from_json(range.get("end")?)? })
    }
}

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("start", &self.start)?;
        map.serialize_entry("end", &self.end)?;
        map.end()
    }
}

/// Change of an open file.
#[derive(Debug, Clone)]
pub struct TextChange {
    /// Replaced part; `None` replaces the whole text.
    pub range: Option<Range>,
    pub text: String,
}

impl TextChange {
    fn from_json(change: &Value) -> Option<Self> {
        let range = match change.get("range") {
            None | Some(Value::Null) => None,
            Some(range) => Some(Range::from_json(range)?),
        };
        Some(Self { range, text: change.get("text")?.as_str()?.to_owned() })
    }
}

/// Coloured token, relative to the token before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SemanticToken {
    pub delta_line: u32,
    pub delta_start: u32,
    pub length: u32,
    /// Index in the server's list of token types.
    pub token_type: u32,
}

/// Icon of an item in the outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    Field = 8,
    Function = 12,
    Event = 24,
}

/// Icon of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    Function = 3,
    Field = 5,
    Variable = 6,
    Class = 7,
    Property = 10,
    Unit = 11,
    Value = 12,
    Enum = 13,
    Keyword = 14,
    Reference = 18,
    EnumMember = 20,
    Constant = 21,
    TypeParameter = 25,
}

/// Parameters of a request or notification. A missing or malformed one is an error that names it.
#[derive(Debug)]
pub struct Params(pub Value);

impl Params {
    fn required<'p, T>(&'p self, path: &str, read: impl FnOnce(&'p Value) -> Option<T>) -> Result<T, RequestError> {
        self.get(path).and_then(read).ok_or_else(|| {
            RequestError::new(ErrorCode::InvalidParams, format!("`{path}` is missing or has a wrong type"))
        })
    }

    /// Value at a path of names, such as `/textDocument/uri`.
    fn get(&self, path: &str) -> Option<&Value> {
        self.0.pointer(path)
    }

    pub fn uri(&self) -> Result<&str, RequestError> {
        self.required("/textDocument/uri", Value::as_str)
    }

    /// Version of the text in the editor.
    pub fn version(&self) -> Result<i32, RequestError> {
        self.required("/textDocument/version", |version| i32::try_from(version.as_i64()?).ok())
    }

    pub fn position(&self) -> Result<Position, RequestError> {
        self.required("/position", Position::from_json)
    }

    pub fn range(&self) -> Result<Range, RequestError> {
        self.required("/range", Range::from_json)
    }

    pub fn text(&self, path: &str) -> Result<&str, RequestError> {
        self.required(path, Value::as_str)
    }

    pub fn flag(&self, path: &str) -> Result<bool, RequestError> {
        self.required(path, Value::as_bool)
    }

    pub fn changes(&self) -> Result<Vec<TextChange>, RequestError> {
        self.required("/contentChanges", |changes| changes.as_array()?.iter().map(TextChange::from_json).collect())
    }

    /// Kinds of code actions that the client wants; `None` if it wants all.
    pub fn wanted_kinds(&self) -> Result<Option<Vec<&str>>, RequestError> {
        match self.required("/context", Some)?.get("only") {
            None | Some(Value::Null) => Ok(None),
            Some(_) => {
                self.required("/context/only", |only| only.as_array()?.iter().map(Value::as_str).collect()).map(Some)
            }
        }
    }

    /// Unit of columns that the client's `initialize` allows.
    pub fn encoding(&self) -> Encoding {
        let encodings = self.get("/capabilities/general/positionEncodings").and_then(Value::as_array);
        let has_utf8 = encodings.is_some_and(|encodings| encodings.iter().any(|encoding| encoding == "utf-8"));
        if has_utf8 { Encoding::Utf8 } else { Encoding::Utf16 }
    }

    /// True if the client's `initialize` supports snippets.
    pub fn has_snippets(&self) -> bool {
        let support = "/capabilities/textDocument/completion/completionItem/snippetSupport";
        self.get(support).and_then(Value::as_bool).unwrap_or(false)
    }

    /// URI of the first open folder.
    pub fn folder(&self) -> Option<&str> {
        self.get("/workspaceFolders/0/uri").and_then(Value::as_str)
    }

    /// Format files that the client's options name.
    pub fn formats(&self) -> Vec<String> {
        let formats = self.get("/initializationOptions/formats").and_then(Value::as_array).into_iter().flatten();
        formats.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_distinguished_by_id_and_method() {
        let request = |id: Value| Some(Message::Request { id, method: "m".into(), params: Value::Null });
        let cases = [
            (json!({ "id": 7, "method": "m" }), request(json!(7))),
            (json!({ "id": "a", "method": "m" }), request(json!("a"))),
            (json!({ "method": "m", "params": [1] }), {
                Some(Message::Notification { method: "m".into(), params: json!([1]) })
            }),
            (json!({ "id": 7, "result": null }), Some(Message::Response)),
            (json!({ "id": 7, "error": { "code": 1, "message": "" } }), Some(Message::Response)),
            (json!({ "id": 7 }), None),
            (json!({ "id": 1.5, "method": "m" }), None),
            (json!({ "id": [], "method": "m" }), None),
            (json!({ "id": 7, "method": 8 }), None),
            (json!([]), None),
        ];
        for (text, expected) in cases {
            assert_eq!(Message::from_json(text.clone()), expected, "{text}");
        }
    }

    #[test]
    fn misshapen_parameters_are_named() {
        let range = json!({ "start": { "line": 1, "character": 2 }, "end": { "line": 3, "character": 4 } });
        let params = Params(json!({
            "textDocument": { "uri": "file:///a", "version": 1_u64 << 40 },
            "position": { "line": -1, "character": 0 },
            "range": range,
            "contentChanges": [{ "text": "a" }, { "range": 1, "text": "b" }],
            "context": { "only": ["quickfix", 1] },
        }));
        assert_eq!(params.uri().unwrap(), "file:///a");
        assert_eq!(json!(params.range().unwrap()), range);
        let message = |error: RequestError| error.text;
        assert_eq!(message(params.version().unwrap_err()), "`/textDocument/version` is missing or has a wrong type");
        assert!(params.position().is_err());
        assert!(params.changes().is_err());
        assert!(params.wanted_kinds().is_err());
        assert!(params.text("/newName").is_err());
        assert_eq!(Params(json!({ "context": {} })).wanted_kinds().unwrap(), None);
    }
}
