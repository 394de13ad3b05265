//! tfbc for browsers: what the page in `web/` calls.
//!
//! ```text
//! page ─job (JSON)→ worker ─→ engine ─→ host: pieces of text, progress, notices
//!                                └←─── host: bytes of the trace, a piece at a time
//! ```
//!
//! A worker runs one job at a time, and the page cancels a job by ending its worker. So no job has to be interrupted,
//! and a template that takes long blocks neither the page nor the editor, whose language server has its own worker.
#![forbid(unsafe_code)]

mod event;
mod hex;
mod host;
mod job;
mod page;
mod report;
mod timeline;

pub use hex::parse_hex;
pub use host::Host;
pub use job::{Failure, HostFileName, Job, TraceSource};

use host::Page;
use serde_json::Value;
use std::io::{Read, Seek};
use wasm_bindgen::prelude::*;

/// Runs a job that the page describes, and returns its result as JSON.
///
/// # Errors
/// The job cannot be done; the text is for people.
pub fn run<R: Read + Seek + Send + 'static>(
    job: &str,
    open: impl Fn(usize) -> R,
    host: &mut impl Host,
) -> Result<Value, Failure> {
    let what: Value = serde_json::from_str(job).map_err(|error| Failure(format!("the job is malformed: {error}")))?;
    let job = Job::read(&what)?;
    match what["kind"].as_str() {
        Some("report") => report::report(&job, &open, host),
        Some("page") => page::page(&job, &open, host),
        Some("event") => event::event(&job, &open, what["seq"].as_u64().unwrap_or(0)),
        Some("bytes") => event::bytes(&job),
        Some("timeline") => timeline::timeline(&job, &open, host),
        _ => Err(Failure(String::from("the job is of no known kind"))),
    }
}

/// Runs a job for the page. The files are the worker's, and so are the functions that take the result's pieces.
///
/// # Errors
/// The job cannot be done; the text is for people.
#[wasm_bindgen(js_name = run)]
pub fn run_for_page(job: &str) -> Result<String, JsError> {
    match run(job, host::HostFile::open, &mut Page) {
        Ok(answer) => Ok(answer.to_string()),
        Err(Failure(text)) => Err(JsError::new(&text)),
    }
}

/// Passes the text of a panic to the page. It is called once, before all others.
#[wasm_bindgen]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| host::failed(&panic.to_string())));
}

/// Language server of the editor.
#[wasm_bindgen]
#[derive(Default)]
pub struct LanguageServer(tfbc_lsp::Dialogue);

#[wasm_bindgen]
impl LanguageServer {
    /// Creates a server.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers a JSON-RPC message.
    pub fn receive(&mut self, message: &str) -> Vec<String> {
        self.0.receive(message)
    }

    /// Diagnostics of the files, if one has changed since the last call.
    pub fn check(&mut self) -> Vec<String> {
        self.0.check()
    }
}
