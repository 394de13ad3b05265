//! Messages of one client, answered on the caller's thread.

use super::check::{Checked, CheckedFile, check};
use super::protocol::{ErrorCode, Message, Params, RequestError};
use super::requests::{Answer, Session};
use super::transport;
use serde_json::{Value, json};

/// Notification with the diagnostics of a file.
const FINDINGS: &str = "textDocument/publishDiagnostics";

/// Language server for one client, without threads: the caller passes messages, and sends what they return.
///
/// ```
/// use tfbc_lsp::Dialogue;
///
/// let mut dialogue = Dialogue::default();
/// let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#;
/// assert!(dialogue.receive(initialize)[0].contains("hoverProvider"));
/// let open = r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":
///     {"uri":"untitled:a","languageId":"trcfmt","version":1,"text":"012 1.0 \"A\" $x\n"}}}"#;
/// assert!(dialogue.receive(open).is_empty());
/// assert!(dialogue.check()[0].contains("publishDiagnostics"));
/// ```
#[derive(Debug, Default)]
pub struct Dialogue {
    session: Session,
    state: ServerState,
    /// True if files changed since they were last checked.
    is_stale: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ServerState {
    /// Before `initialize`.
    #[default]
    New,
    Running,
    /// After `shutdown`.
    ShutDown,
}

impl Dialogue {
    /// Returns the messages that answer a JSON-RPC message. Diagnostics are not among them: [`Dialogue::check`] returns
    /// those.
    pub fn receive(&mut self, text: &str) -> Vec<String> {
        match transport::parse(text.as_bytes()) {
            Ok(message) => self.take(message),
            Err(fault) => vec![fault.answer().to_string()],
        }
    }

    /// Compiles all files, if one has changed since the last call, and returns the notifications with diagnostics.
    pub fn check(&mut self) -> Vec<String> {
        let files = self.unchecked();
        files.map_or(Vec::new(), |files| self.findings(check(files)))
    }

    /// Messages that answer a message.
    pub(crate) fn take(&mut self, message: Message) -> Vec<String> {
        match message {
            Message::Request { id, method, params } => {
                vec![transport::response(&id, self.answer(&method, &Params(params)))]
            }
            Message::Notification { method, params } => self.notice(&method, Params(params)),
            Message::Response => Vec::new(),
        }
    }

    /// Files to check, if one has changed since the last call.
    pub(crate) fn unchecked(&mut self) -> Option<Vec<CheckedFile>> {
        std::mem::take(&mut self.is_stale).then(|| self.session.project.sources())
    }

    /// Notifications with the diagnostics of a check.
    pub(crate) fn findings(&mut self, checked: Checked) -> Vec<String> {
        self.session.findings(checked).iter().map(|note| transport::notification(FINDINGS, note)).collect()
    }

    /// Analyses a few stanzas before a request needs them. Returns false if nothing is left.
    pub(crate) fn read_ahead(&self) -> bool {
        self.session.project.read_ahead()
    }

    /// True if the client sent `shutdown`.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.state == ServerState::ShutDown
    }

    fn answer(&mut self, method: &str, params: &Params) -> Answer {
        match (self.state, method) {
            (ServerState::New, "initialize") => {
                let answer = self.session.initialize(params)?;
                self.state = ServerState::Running;
                self.is_stale = true;
                Ok(answer)
            }
            (ServerState::New, _) => Err(RequestError::new(ErrorCode::ServerNotInitialized, "send `initialize` first")),
            (ServerState::ShutDown, _) => Err(RequestError::new(ErrorCode::InvalidRequest, "the server is shut down")),
            (ServerState::Running, "initialize") => {
                Err(RequestError::new(ErrorCode::InvalidRequest, "the server is initialized already"))
            }
            (ServerState::Running, "shutdown") => {
                self.state = ServerState::ShutDown;
                Ok(Value::Null.to_string())
            }
            (ServerState::Running, _) => self.session.answer(method, params),
        }
    }

    fn notice(&mut self, method: &str, params: Params) -> Vec<String> {
        if self.state != ServerState::Running {
            return Vec::new();
        }
        match self.session.notice(method, &params) {
            Ok(is_stale) => {
                self.is_stale |= is_stale;
                Vec::new()
            }
            // A notification has no response, so its error goes to the editor's log.
            Err(RequestError { text, .. }) => {
                let message = format!("{method}: {text}");
                vec![transport::notification("window/logMessage", &json!({ "type": 1, "message": message }))]
            }
        }
    }
}
