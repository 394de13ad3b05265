//! Checking in the background: the newest state of the files, compiled as one set.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::Arc;
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Diagnostic, Source, Sources};

/// A file with its key and version.
pub type File = (String, Option<i32>, Arc<Source>);

/// What was found in a set of files.
#[derive(Debug)]
pub struct Checked {
    /// In the order of the sources that findings name.
    pub files: Vec<File>,
    pub diagnostics: Vec<Diagnostic>,
}

/// The thread that checks. It ends when this is dropped.
#[derive(Debug)]
pub struct Checker {
    jobs: Sender<Vec<File>>,
    pub results: Receiver<Checked>,
}

impl Checker {
    pub fn start() -> Self {
        let (jobs, todo) = unbounded::<Vec<File>>();
        let (done, results) = unbounded();
        std::thread::spawn(move || {
            while let Ok(mut job) = todo.recv() {
                // What has been written since makes the older states of no interest.
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

    pub fn check(&self, files: Vec<File>) {
        // The thread takes jobs as long as this is here.
        let _ = self.jobs.send(files);
    }
}

fn check(files: Vec<File>) -> Checked {
    let mut sources = Sources::new();
    for (_, _, source) in &files {
        sources.add(Source::clone(source));
    }
    let diagnostics = compile(&sources, &Options::default()).diagnostics;
    Checked { files, diagnostics }
}
