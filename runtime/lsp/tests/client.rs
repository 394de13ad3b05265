//! Test client, connected to a language server in a thread.

use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use std::thread::JoinHandle;
use std::time::Duration;
use tfbc_lsp::Message;

/// Timeout of a message. Every answer takes much less.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Client {
    connection: Option<(Sender<Message>, Receiver<String>)>,
    server: Option<JoinHandle<bool>>,
    last_id: i32,
    /// Notifications from the server that no test has read yet.
    notes: Vec<Value>,
}

impl Client {
    /// Starts a server in a thread.
    pub fn start(options: Value) -> Self {
        let (to_server, incoming) = unbounded();
        let (outgoing, from_server) = unbounded();
        let server = std::thread::spawn(move || tfbc_lsp::serve(incoming, outgoing));
        let mut client =
            Self { connection: Some((to_server, from_server)), server: Some(server), last_id: 0, notes: Vec::new() };
        let mut params = json!({ "capabilities": {}, "processId": null, "rootUri": null });
        if let (Value::Object(params), Value::Object(options)) = (&mut params, options) {
            params.extend(options);
        }
        client.request("initialize", params).unwrap();
        client.notify("initialized", json!({}));
        client
    }

    /// Starts a session with one open file.
    pub fn with(uri: &str, text: &str) -> Self {
        let client = Self::start(json!({}));
        client.open(uri, text);
        client
    }

    fn send(&self, message: Message) {
        self.connection.as_ref().unwrap().0.send(message).unwrap();
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.send(Message::Notification { method: method.into(), params });
    }

    pub fn open(&self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "trcfmt", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Next message, or `None` if the server has ended.
    pub fn next(&self) -> Option<Value> {
        self.connection.as_ref().unwrap().1.recv_timeout(PATIENCE).ok().map(|text| message(&text))
    }

    /// Result of a request, or its error code.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, i32> {
        self.last_id += 1;
        self.send(Message::Request { id: json!(self.last_id), method: method.into(), params });
        loop {
            let answer = self.next().expect("an answer");
            if answer.get("method").is_some() {
                assert!(answer.get("id").is_none(), "the server asks: {answer}");
                self.notes.push(answer);
                continue;
            }
            assert_eq!(answer["id"], self.last_id);
            return result(answer);
        }
    }

    /// Diagnostics of a version of a file.
    pub fn diagnostics(&mut self, uri: &str, version: i32) -> Vec<Value> {
        loop {
            while let Some(note) = (!self.notes.is_empty()).then(|| self.notes.remove(0)) {
                let is_it = note["params"]["uri"] == uri && note["params"]["version"] == version;
                if note["method"] == "textDocument/publishDiagnostics" && is_it {
                    return note["params"]["diagnostics"].as_array().unwrap().clone();
                }
            }
            let note = self.next().expect("findings");
            assert!(note.get("id").is_none(), "{note}");
            self.notes.push(note);
        }
    }

    /// Result of a request about a position, which [`at`] finds.
    pub fn ask(&mut self, method: &str, uri: &str, text: &str, marker: &str, more: Value) -> Result<Value, i32> {
        self.request(method, at(uri, text, marker, more))
    }

    /// Sends `shutdown` and `exit`; true if the server ended properly.
    pub fn stop(mut self) -> bool {
        assert_eq!(self.request("shutdown", Value::Null), Ok(Value::Null));
        self.exit()
    }

    /// Sends only `exit`.
    pub fn exit(mut self) -> bool {
        self.notify("exit", Value::Null);
        self.server.take().unwrap().join().expect("a server that does not panic")
    }

    /// Disconnects.
    pub fn hang_up(mut self) -> bool {
        self.connection = None;
        self.server.take().unwrap().join().expect("a server that does not panic")
    }
}

/// Parses a message of the server.
pub fn message(text: &str) -> Value {
    let message: Value = serde_json::from_str(text).unwrap();
    assert_eq!(message["jsonrpc"], "2.0");
    message
}

/// Result in a response, or its error code.
pub fn result(mut response: Value) -> Result<Value, i32> {
    match response.get("error") {
        Some(error) => Err(error["code"].as_i64().expect("a code") as i32),
        None => Ok(response.get_mut("result").expect("a result or an error").take()),
    }
}

/// Parameters of a request about a position: the `|` in `marker`.
pub fn at(uri: &str, text: &str, marker: &str, more: Value) -> Value {
    let position = position(text, marker);
    let mut params = json!({ "textDocument": { "uri": uri }, "position": position });
    if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
        params.extend(more);
    }
    params
}

/// Line and column, in UTF-16 units, of the `|` in `marker`. The text contains the marker without the `|`.
pub fn position(text: &str, marker: &str) -> Value {
    let bar = marker.find('|').expect("a bar");
    let plain = marker.replacen('|', "", 1);
    let offset = text.find(&plain).unwrap_or_else(|| panic!("{plain} stands in the text")) + bar;
    let line = text[..offset].matches('\n').count();
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": line, "character": text[start..offset].encode_utf16().count() })
}

/// Applies edits to a text, as a client does.
pub fn changed(text: &str, edits: &Value) -> String {
    let offset = |place: &Value| {
        let (line, character) = (place["line"].as_u64().unwrap() as usize, place["character"].as_u64().unwrap());
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let units = text[start..].char_indices().scan(0, |sum, (at, c)| {
            let before = *sum;
            *sum += c.len_utf16() as u64;
            Some((at, before))
        });
        let found = units.take_while(|(_, before)| *before <= character).last();
        match found {
            Some((at, before)) if before == character => start + at,
            _ => text.len(),
        }
    };
    let mut edits: Vec<(usize, usize, String)> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            let (start, end) = (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]));
            (start, end, edit["newText"].as_str().unwrap().to_owned())
        })
        .collect();
    edits.sort();
    let mut out = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        out.replace_range(start..end, &new);
    }
    out
}

/// Lines of locations, from 0, with the last component of the file name.
pub fn lines(places: &Value) -> Vec<String> {
    let line = |place: &Value| {
        let name = place["uri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        format!("{name}:{}", place["range"]["start"]["line"])
    };
    places.as_array().unwrap().iter().map(line).collect()
}
