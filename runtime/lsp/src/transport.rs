//! Messages over standard input and output.
//!
//! What is no message gets the error that JSON-RPC has for it, and the next one is read: an editor's mistake ends nothing.

use super::answers::Refusal;
use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{ErrorCode, Message, RequestId};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread::JoinHandle;

/// The longest message that is read, in bytes; longer ones are answered with an error.
const MAX_MESSAGE: u64 = 256 << 20;
/// The longest line of a header.
const MAX_HEADER: u64 = 4096;

/// Messages from standard input, the way of texts to standard output, and the thread that writes them. That ends when the
/// way there is dropped.
pub fn stdio() -> (Receiver<Message>, Sender<String>, JoinHandle<io::Result<()>>) {
    let (to_server, incoming) = unbounded();
    let (outgoing, from_server) = unbounded::<String>();
    // Nobody waits for the reader: it sits in a read until the client closes its end.
    let complain = |answer: Value| write(&answer.to_string());
    std::thread::spawn(move || read_all(BufReader::new(io::stdin()), &to_server, complain));
    let writer = std::thread::spawn(move || from_server.iter().try_for_each(|text| write(&text)));
    (incoming, outgoing, writer)
}

/// The text of a response. A result is text already: it may be megabytes.
pub fn response(id: &RequestId, result: Result<String, Refusal>) -> String {
    match result {
        Ok(result) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", json!(id)),
        Err(Refusal { code, text }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": text } }).to_string()
        }
    }
}

/// The text of a notification.
pub fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "Content-Length: {}\r\n\r\n", text.len())?;
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Reads messages until the end of the input, or until nobody takes them any more.
fn read_all(mut input: impl BufRead, to: &Sender<Message>, complain: impl Fn(Value) -> io::Result<()>) {
    loop {
        match read_message(&mut input) {
            Ok(None) | Err(_) => return,
            Ok(Some(Ok(message))) => {
                let is_exit = matches!(&message, Message::Notification(note) if note.method == "exit");
                if to.send(message).is_err() || is_exit {
                    return;
                }
            }
            Ok(Some(Err(fault))) => {
                if complain(fault.answer()).is_err() {
                    return;
                }
            }
        }
    }
}

/// Why bytes are no message.
struct Fault {
    code: ErrorCode,
    /// The request that they were to be, where that can be told.
    id: Value,
    text: String,
}

impl Fault {
    fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, id: Value::Null, text: text.into() }
    }

    fn answer(self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": { "code": self.code as i32, "message": self.text } })
    }
}

/// The next message; `None` at the end of the input.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Result<Message, Fault>>> {
    let Some(length) = read_header(input)? else { return Ok(None) };
    let Some(length) = length else {
        return Ok(Some(Err(Fault::new(ErrorCode::ParseError, "header without a Content-Length"))));
    };
    if length > MAX_MESSAGE {
        io::copy(&mut input.take(length), &mut io::sink())?;
        let text = format!("message has {length} bytes, more than {MAX_MESSAGE}");
        return Ok(Some(Err(Fault::new(ErrorCode::InvalidRequest, text))));
    }
    let mut bytes = Vec::new();
    if input.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Ok(None);
    }
    Ok(Some(parse(&bytes)))
}

/// The length that a header names; `Some(None)` where it names none.
fn read_header(input: &mut impl BufRead) -> io::Result<Option<Option<u64>>> {
    let (mut length, mut line) = (None, Vec::new());
    loop {
        line.clear();
        if input.take(MAX_HEADER).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return Ok(Some(length));
        }
        let colon = text.iter().position(|byte| *byte == b':');
        let (name, value) = colon.map_or((text, &b""[..]), |colon| (&text[..colon], &text[colon + 1..]));
        if name.eq_ignore_ascii_case(b"content-length") {
            length = std::str::from_utf8(value).ok().and_then(|value| value.trim().parse().ok());
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Message, Fault> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| Fault::new(ErrorCode::ParseError, error.to_string()))?;
    let id = value.get("id").filter(|id| id.is_number() || id.is_string()).cloned().unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|_| Fault {
        code: ErrorCode::InvalidRequest,
        id,
        text: String::from("neither request, response nor notification"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Methods of the messages in some bytes, and codes of what is answered.
    fn check(input: &[u8], methods: &[&str], codes: &[i64]) {
        let (sender, receiver) = unbounded();
        let answers = RefCell::new(Vec::new());
        read_all(input, &sender, |answer| {
            answers.borrow_mut().push(answer["error"]["code"].as_i64().unwrap());
            Ok(())
        });
        let found: Vec<String> = receiver
            .try_iter()
            .map(|message| match message {
                Message::Request(request) => request.method,
                Message::Notification(note) => note.method,
                Message::Response(_) => String::from("response"),
            })
            .collect();
        assert_eq!((found, answers.into_inner()), (methods.iter().map(|m| m.to_string()).collect(), codes.to_vec()));
    }

    fn framed(text: &str) -> Vec<u8> {
        format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
    }

    #[test]
    fn what_is_no_message_is_answered_and_the_next_is_read() {
        let good = framed(r#"{"jsonrpc":"2.0","method":"a"}"#);
        check(&good, &["a"], &[]);
        check(&[framed("{no json"), good.clone()].concat(), &["a"], &[-32700]);
        check(&[framed("[1]"), good.clone()].concat(), &["a"], &[-32600]);
        check(&[framed(r#"{"id":7}"#), framed("\u{e9}"), good.clone()].concat(), &["a"], &[-32600, -32700]);
        check(&[b"Content-Length: x\r\n\r\n".to_vec(), good.clone()].concat(), &["a"], &[-32700]);
        check(b"content-length:30\n\n{\"jsonrpc\":\"2.0\",\"method\":\"b\"}", &["b"], &[]);
        check(b"Content-Length: 100\r\n\r\n{", &[], &[]);
    }
}
