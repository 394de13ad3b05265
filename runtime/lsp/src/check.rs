//! Checks files in the background: the newest state of all files is compiled as one set.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::path::Path;
use std::sync::Arc;
use tfbc::TraceKind;
use tfbc_compiler::{DEFINES_NOTHING, Options, compile};
use tfbc_grammar::{Diagnostic, Source, Sources};

/// Key, version and source of a file.
pub type CheckedFile = (String, Option<i32>, Arc<Source>);

/// Diagnostics of a set of files.
#[derive(Debug)]
pub struct Checked {
    /// Checked files, indexed by the source ids in diagnostics.
    pub files: Vec<CheckedFile>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Thread that checks files. It ends when this value is dropped.
#[derive(Debug)]
pub struct Checker {
    jobs: Sender<Vec<CheckedFile>>,
    pub results: Receiver<Checked>,
}

impl Checker {
    pub fn start() -> Self {
        let (jobs, todo) = unbounded::<Vec<CheckedFile>>();
        let (done, results) = unbounded();
        std::thread::spawn(move || {
            while let Ok(mut job) = todo.recv() {
                // Only the newest state is worth checking.
                while let Ok(newer) = todo.try_recv() {
                    job = newer;
                }
                if done.send(check(job)).is_err() {
                    return;
                }
            }
        });
        Self { jobs, results }
    }

    pub fn check(&self, files: Vec<CheckedFile>) {
        // The thread receives jobs until this value is dropped.
        let _ = self.jobs.send(files);
    }
}

fn check(files: Vec<CheckedFile>) -> Checked {
    let mut sources = Sources::new();
    for (path, _, source) in &files {
        let is_trace = is_trace(Path::new(path), source);
        sources.add(if is_trace { Source::new(source.name(), "") } else { Source::clone(source) });
    }
    let options = Options { updates_call_out: true, ..Options::default() };
    let mut diagnostics = compile(&sources, &options).diagnostics;
    for found in diagnostics.iter_mut().filter(|found| found.code == &DEFINES_NOTHING) {
        let file = files.get(usize::from(found.primary.source.0));
        if file.is_some_and(|(path, _, source)| is_trace(Path::new(path), source)) {
            found.message = String::from("this is a trace, not a format file: `tfbc report` formats it");
        }
    }
    Checked { files, diagnostics }
}

/// True if the file is a trace. The editor cannot show its bytes, so it is not checked.
fn is_trace(path: &Path, shown: &Source) -> bool {
    const REPLACED: &[u8] = "\u{FFFD}".as_bytes();
    let is_binary = |bytes: &[u8]| bytes.contains(&0) || bytes.windows(REPLACED.len()).any(|text| text == REPLACED);
    is_binary(shown.bytes()) && path.is_file() && matches!(TraceKind::of_file(path), Ok(Some(_)))
}
