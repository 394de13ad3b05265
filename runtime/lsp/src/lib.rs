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
pub use protocol::Message;
use protocol::{ErrorCode, Params, RequestError};
use requests::{Answer, Session};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Notification with the diagnostics of a file.
const FINDINGS: &str = "textDocument/publishDiagnostics";

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
    let checker = Checker::start();
    let mut server = Server { incoming, outgoing, queue: VecDeque::new(), checker, state: ServerState::New };
    let mut session = Session::default();
    loop {
        server.take_in();
        let message = match server.queue.pop_front() {
            Some(message) => message,
            // While the client is idle, the server analyses what it may ask for next.
            None if server.checker.results.is_empty() && session.project.read_ahead() => continue,
            None => select! {
                recv(server.incoming) -> message => match message {
                    Ok(message) => {
                        // A later message may cancel this request.
                        server.queue.push_back(message);
                        continue;
                    }
                    Err(_) => return server.state == ServerState::ShutDown,
                },
                recv(server.checker.results) -> checked => {
                    match checked {
                        Ok(checked) => session.findings(checked).iter().for_each(|note| server.notify(FINDINGS, note)),
                        // The checker thread ended; everything else continues to work.
                        Err(_) => server.checker.results = never(),
                    }
                    continue;
                }
            },
        };
        match message {
            Message::Request { id, method, params } => server.request(&mut session, &id, &method, Params(params)),
            Message::Notification { method, .. } if method == "exit" => return server.state == ServerState::ShutDown,
            Message::Notification { method, params } => server.notification(&mut session, &method, Params(params)),
            Message::Response => {}
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerState {
    /// Before `initialize`.
    New,
    Running,
    /// After `shutdown`.
    ShutDown,
}

struct Server {
    incoming: Receiver<Message>,
    outgoing: Sender<String>,
    /// Received messages that are not answered yet.
    queue: VecDeque<Message>,
    checker: Checker,
    state: ServerState,
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

    fn notify(&self, method: &str, params: &Value) {
        self.send(transport::notification(method, params));
    }

    fn request(&mut self, session: &mut Session, id: &Value, method: &str, params: Params) {
        let result = self.answer(session, method, &params);
        self.send(transport::response(id, result));
    }

    fn answer(&mut self, session: &mut Session, method: &str, params: &Params) -> Answer {
        match (self.state, method) {
            (ServerState::New, "initialize") => {
                let answer = session.initialize(params)?;
                self.state = ServerState::Running;
                self.recheck(session);
                Ok(answer)
            }
            (ServerState::New, _) => Err(RequestError::new(ErrorCode::ServerNotInitialized, "send `initialize` first")),
            (ServerState::ShutDown, _) => Err(RequestError::new(ErrorCode::InvalidRequest, "the server is shut down")),
            (ServerState::Running, "initialize") => {
                Err(RequestError::new(ErrorCode::InvalidRequest, "the server is initialized already"))
            }
            (ServerState::Running, "shutdown") => {
                self.state = ServerState::ShutDown;
                Ok(String::from("null"))
            }
            (ServerState::Running, _) => session.answer(method, params),
        }
    }

    fn notification(&mut self, session: &mut Session, method: &str, params: Params) {
        if self.state != ServerState::Running {
            return;
        }
        match session.notice(method, &params) {
            Ok(true) => self.recheck(session),
            Ok(false) => {}
            // A notification has no response, so its error goes to the editor's log.
            Err(RequestError { text, .. }) => {
                let message = format!("{method}: {text}");
                self.notify("window/logMessage", &json!({ "type": 1, "message": message }));
            }
        }
    }

    fn recheck(&self, session: &Session) {
        self.checker.check(session.project.sources());
    }
}
