//! A language server: what editors ask of format files, over the Language Server Protocol.
//!
//! ```text
//! messages ─queue→ server ─→ documents: text, and facts of each stanza, read again only where it changed
//!                    │ └───→ answers
//!                    └ every change ─→ a thread that compiles all files ─→ findings
//! ```
//!
//! Answers come from the words of stanzas (`facts`) and tags of XML (`xml`), so that they do not wait for the compiler, nor
//! for a text without mistakes.
#![forbid(unsafe_code)]

mod answers;
mod check;
mod complete;
mod document;
mod facts;
mod findings;
mod hover;
mod labels;
mod navigate;
mod outline;
mod project;
mod sent;
mod shapes;
mod text;
mod transport;
mod words;
mod xml;

use answers::{Answer, Refusal, Session};
use check::Checker;
use crossbeam_channel::{Receiver, Sender, never, select};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The notification with a file's findings.
const FINDINGS: &str = "textDocument/publishDiagnostics";

/// Serves over standard input and output until the client says `exit`, or closes its end; whether it said `shutdown` before.
pub fn serve_stdio() -> bool {
    let (incoming, outgoing, writer) = transport::stdio();
    let ended_well = serve(incoming, outgoing);
    let _ = writer.join();
    ended_well
}

/// Serves a client until it says `exit`, or hangs up; whether it said `shutdown` before. What the server says leaves as the
/// text of JSON-RPC messages.
///
/// No message makes it panic: what cannot be answered gets the error that the protocol has for it.
pub fn serve(incoming: Receiver<Message>, outgoing: Sender<String>) -> bool {
    let checker = Checker::start();
    let mut server = Server { incoming, outgoing, queue: VecDeque::new(), checker, state: State::New };
    let mut session = Session::default();
    loop {
        server.take_in();
        let message = match server.queue.pop_front() {
            Some(message) => message,
            // While nobody asks, what will be asked for is read.
            None if server.checker.results.is_empty() && session.project.read_ahead() => continue,
            None => select! {
                recv(server.incoming) -> message => match message {
                    Ok(message) => {
                        // Whatever has come since may take it back.
                        server.queue.push_back(message);
                        continue;
                    }
                    Err(_) => return server.state == State::ShutDown,
                },
                recv(server.checker.results) -> checked => {
                    match checked {
                        Ok(checked) => session.findings(checked).iter().for_each(|note| server.notify(FINDINGS, note)),
                        // Nothing checks any more: all else goes on.
                        Err(_) => server.checker.results = never(),
                    }
                    continue;
                }
            },
        };
        match message {
            Message::Request(request) => server.request(&mut session, request),
            Message::Notification(note) if note.method == "exit" => return server.state == State::ShutDown,
            Message::Notification(note) => server.notification(&mut session, note),
            Message::Response(_) => {}
        }
    }
}

/// The request that a message cancels.
fn cancelled(message: &Message) -> Option<RequestId> {
    let Message::Notification(note) = message else { return None };
    let id = note.params.get("id").filter(|_| note.method == "$/cancelRequest")?;
    serde_json::from_value(id.clone()).ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before `initialize`.
    New,
    Running,
    /// Behind `shutdown`.
    ShutDown,
}

struct Server {
    incoming: Receiver<Message>,
    outgoing: Sender<String>,
    /// Messages that have come and are not answered.
    queue: VecDeque<Message>,
    checker: Checker,
    state: State,
}

impl Server {
    /// Takes in what has come. A request that is cancelled while it waits is answered so.
    fn take_in(&mut self) {
        for message in self.incoming.try_iter() {
            match cancelled(&message) {
                None => self.queue.push_back(message),
                Some(id) => {
                    let is_it = |waiting: &Message| matches!(waiting, Message::Request(request) if request.id == id);
                    let Some(at) = self.queue.iter().position(is_it) else { continue };
                    self.queue.remove(at);
                    let refusal = Refusal::new(ErrorCode::RequestCanceled, "the request was cancelled");
                    self.send(transport::response(&id, Err(refusal)));
                }
            }
        }
    }

    fn send(&self, text: String) {
        // A client that is gone is met at the next read.
        let _ = self.outgoing.send(text);
    }

    fn notify(&self, method: &str, params: &Value) {
        self.send(transport::notification(method, params));
    }

    fn request(&mut self, session: &mut Session, request: Request) {
        let Request { id, method, params } = request;
        let result = self.answer(session, &method, params);
        self.send(transport::response(&id, result));
    }

    fn answer(&mut self, session: &mut Session, method: &str, params: Value) -> Answer {
        match (self.state, method) {
            (State::New, "initialize") => {
                let answer = session.initialize(params)?;
                self.state = State::Running;
                self.recheck(session);
                Ok(answer)
            }
            (State::New, _) => Err(Refusal::new(ErrorCode::ServerNotInitialized, "`initialize` comes first")),
            (State::ShutDown, _) => Err(Refusal::new(ErrorCode::InvalidRequest, "the server is shut down")),
            (State::Running, "initialize") => {
                Err(Refusal::new(ErrorCode::InvalidRequest, "the server is initialized already"))
            }
            (State::Running, "shutdown") => {
                self.state = State::ShutDown;
                Ok(String::from("null"))
            }
            (State::Running, _) => session.answer(method, params),
        }
    }

    fn notification(&mut self, session: &mut Session, note: Notification) {
        if self.state != State::Running {
            return;
        }
        match session.notice(&note.method, note.params) {
            Ok(true) => self.recheck(session),
            Ok(false) => {}
            // There is no answer to a notification, but a line in the editor's log.
            Err(Refusal { text, .. }) => {
                let message = format!("{}: {text}", note.method);
                self.notify("window/logMessage", &json!({ "type": 1, "message": message }));
            }
        }
    }

    fn recheck(&self, session: &Session) {
        self.checker.check(session.project.sources());
    }
}
