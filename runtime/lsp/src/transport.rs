//! JSON-RPC messages over standard input and output.
//!
//! An invalid message gets the error response of JSON-RPC, and reading continues with the next one.

use super::protocol::{ErrorCode, Message, RequestError, is_id};
use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread::JoinHandle;

/// Maximum size of a message in bytes; larger ones get an error response.
const MAX_MESSAGE: u64 = 256 << 20;
/// Maximum length of a header line.
const MAX_HEADER: u64 = 4096;

/// Starts reader and writer threads for standard input and output. The writer, whose handle is returned, ends when the
/// sender is dropped.
pub fn stdio() -> (Receiver<Message>, Sender<String>, JoinHandle<io::Result<()>>) {
    let (to_server, incoming) = unbounded();
    let (outgoing, from_server) = unbounded::<String>();
    // Nobody joins the reader: it blocks until the client closes its end.
    let complain = |answer: Value| write(&answer.to_string());
    std::thread::spawn(move || read_all(BufReader::new(io::stdin()), &to_server, complain));
    let writer = std::thread::spawn(move || from_server.iter().try_for_each(|text| write(&text)));
    (incoming, outgoing, writer)
}

/// Text of a response. The result is already text because it may be megabytes.
pub fn response(id: &Value, result: Result<String, RequestError>) -> String {
    match result {
        Ok(result) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"),
        Err(RequestError { code, text }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": text } }).to_string()
        }
    }
}

/// Text of a notification.
pub fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "Content-Length: {}\r\n\r\n", text.len())?;
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Reads messages until the input ends or the receiver is dropped.
fn read_all(mut input: impl BufRead, to: &Sender<Message>, complain: impl Fn(Value) -> io::Result<()>) {
    loop {
        match read_message(&mut input) {
            Ok(None) | Err(_) => return,
            Ok(Some(Ok(message))) => {
                let is_exit = matches!(&message, Message::Notification { method, .. } if method == "exit");
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

/// Reason why bytes are not a message.
pub struct BadMessage {
    code: ErrorCode,
    /// Id of the request, if it is readable.
    id: Value,
    text: String,
}

impl BadMessage {
    fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, id: Value::Null, text: text.into() }
    }

    /// Error response.
    pub fn answer(self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": { "code": self.code as i32, "message": self.text } })
    }
}

/// Reads the next message; `None` at the end of the input.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Result<Message, BadMessage>>> {
    let Some(length) = read_header(input)? else { return Ok(None) };
    let Some(length) = length else {
        return Ok(Some(Err(BadMessage::new(ErrorCode::ParseError, "header without a Content-Length"))));
    };
    if length > MAX_MESSAGE {
        io::copy(&mut input.take(length), &mut io::sink())?;
        let text = format!("message has {length} bytes, more than {MAX_MESSAGE}");
        return Ok(Some(Err(BadMessage::new(ErrorCode::InvalidRequest, text))));
    }
    let mut bytes = Vec::new();
    if input.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Ok(None);
    }
    Ok(Some(parse(&bytes)))
}

/// Reads a header and returns its content length; `Some(None)` if the header has none.
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

/// Parses a message.
pub fn parse(bytes: &[u8]) -> Result<Message, BadMessage> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| BadMessage::new(ErrorCode::ParseError, error.to_string()))?;
    let id = value.get("id").filter(|id| is_id(id)).cloned().unwrap_or(Value::Null);
    Message::from_json(value).ok_or_else(|| BadMessage {
        code: ErrorCode::InvalidRequest,
        id,
        text: String::from("neither request, response nor notification"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Methods of the messages in `input`, and error codes of the responses.
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
                Message::Request { method, .. } | Message::Notification { method, .. } => method,
                Message::Response => String::from("response"),
            })
            .collect();
        assert_eq!((found, answers.into_inner()), (methods.iter().map(|m| m.to_string()).collect(), codes.to_vec()));
    }

    fn framed(text: &str) -> Vec<u8> {
        format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
    }

    #[test]
    fn invalid_messages_are_answered_and_skipped() {
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
