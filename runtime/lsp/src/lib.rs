//! Language server for format files, over the Language Server Protocol.
//!
//! ```text
//! messages ─queue→ server ─→ documents: text, and facts per stanza; only changed ones are analysed
//!                    │ └───→ answers
//!                    └ every change ─→ a thread that compiles all files ─→ findings
//! ```
//!
//! Answers come from the tokens of stanzas (`facts`) and the tags of XML (`xml`). They do not wait for the compiler and
//! work on files with errors.
#![forbid(unsafe_code)]

mod check;
mod complete;
mod diagnostics;
mod dialogue;
mod document;
mod facts;
mod hover;
mod json;
mod labels;
mod navigate;
mod outline;
mod project;
mod protocol;
mod requests;
mod sent_tokens;
mod text;
mod transport;
mod vocabulary;
mod xml;

use check::Checker;
use crossbeam_channel::{Receiver, Sender, never, select};
pub use dialogue::Dialogue;
pub use protocol::Message;
use protocol::{ErrorCode, RequestError};
use serde_json::Value;
use std::collections::VecDeque;

/// Serves standard input and output until the client sends `exit` or disconnects. Returns true if it sent `shutdown`
/// before.
pub fn serve_stdio() -> bool {
    let (incoming, outgoing, writer) = transport::stdio();
    let ended_well = serve(incoming, outgoing);
    let _ = writer.join();
    ended_well
}

/// Serves a client until it sends `exit` or disconnects. Returns true if it sent `shutdown` before. Outgoing messages
/// are JSON-RPC text.
///
/// No message causes a panic: a request that cannot be answered gets an error response.
pub fn serve(incoming: Receiver<Message>, outgoing: Sender<String>) -> bool {
    let mut server = Server { incoming, outgoing, queue: VecDeque::new() };
    let mut checker = Checker::start();
    let mut dialogue = Dialogue::default();
    loop {
        server.take_in();
        let message = match server.queue.pop_front() {
            Some(message) => message,
            // While the client is idle, the server analyses what it may ask for next.
            None if checker.results.is_empty() && dialogue.read_ahead() => continue,
            None => select! {
                recv(server.incoming) -> message => match message {
                    Ok(message) => {
                        // A later message may cancel this request.
                        server.queue.push_back(message);
                        continue;
                    }
                    Err(_) => return dialogue.is_shut_down(),
                },
                recv(checker.results) -> checked => {
                    match checked {
                        Ok(checked) => server.send_all(dialogue.findings(checked)),
                        // The checker thread ended; everything else continues to work.
                        Err(_) => checker.results = never(),
                    }
                    continue;
                }
            },
        };
        if matches!(&message, Message::Notification { method, .. } if method == "exit") {
            return dialogue.is_shut_down();
        }
        server.send_all(dialogue.take(message));
        if let Some(files) = dialogue.unchecked() {
            checker.check(files);
        }
    }
}

/// Id of the request that a message cancels.
fn cancelled(message: &Message) -> Option<&Value> {
    match message {
        Message::Notification { method, params } if method == "$/cancelRequest" => params.get("id"),
        _ => None,
    }
}

struct Server {
    incoming: Receiver<Message>,
    outgoing: Sender<String>,
    /// Received messages that are not answered yet.
    queue: VecDeque<Message>,
}

impl Server {
    /// Receives all waiting messages. A cancelled request is answered at once with an error.
    fn take_in(&mut self) {
        for message in self.incoming.try_iter() {
            match cancelled(&message) {
                None => self.queue.push_back(message),
                Some(cancelled) => {
                    let is_it = |waiting: &Message| matches!(waiting, Message::Request { id, .. } if id == cancelled);
                    let Some(at) = self.queue.iter().position(is_it) else { continue };
                    self.queue.remove(at);
                    let refusal = RequestError::new(ErrorCode::RequestCancelled, "the request was cancelled");
                    self.send(transport::response(cancelled, Err(refusal)));
                }
            }
        }
    }

    fn send(&self, text: String) {
        // A disconnected client is noticed at the next read.
        let _ = self.outgoing.send(text);
    }

    fn send_all(&self, texts: Vec<String>) {
        texts.into_iter().for_each(|text| self.send(text));
    }
}
