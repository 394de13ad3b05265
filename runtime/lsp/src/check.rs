//! Checks files in the background: the newest state of all files is compiled as one set.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use tfbc::{FieldFormat, Formats, TraceKind};
use tfbc_compiler::{DEFINES_NOTHING, Options, compile};
use tfbc_grammar::{Diagnostic, Source, Sources};

/// Key, version and source of a file.
pub type CheckedFile = (String, Option<i32>, Arc<Source>);

/// Diagnostics of a set of files, and the fields that they show.
#[derive(Debug, Default)]
pub struct Checked {
    /// Checked files, indexed by the source ids in diagnostics.
    pub files: Vec<CheckedFile>,
    pub diagnostics: Vec<Diagnostic>,
    /// Descriptions of fields, by file name, line and column of the item that shows them. An item of a subroutine shows
    /// one field per stanza that calls it.
    pub fields: HashMap<(String, u32, u32), Vec<String>>,
}

/// Maximum descriptions of one item.
const MAX_DESCRIPTIONS: usize = 4;

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

/// Compiles files as one set.
pub fn check(files: Vec<CheckedFile>) -> Checked {
    let mut sources = Sources::new();
    for (path, _, source) in &files {
        let is_trace = is_trace(Path::new(path), source);
        sources.add(if is_trace { Source::new(source.name(), "") } else { Source::clone(source) });
    }
    let options = Options { updates_call_out: true, ..Options::default() };
    let compiled = compile(&sources, &options);
    let mut diagnostics = compiled.diagnostics;
    // If a stanza has an error, the others still have fields. The first result has the diagnostics of `tfbc check`.
    let rest = || compile(&sources, &Options { keep_going: true, ..options }).blob;
    let blob = compiled.blob.or_else(rest);
    for found in diagnostics.iter_mut().filter(|found| found.code == &DEFINES_NOTHING) {
        let file = files.get(usize::from(found.primary.source.0));
        if file.is_some_and(|(path, _, source)| is_trace(Path::new(path), source)) {
            found.message = String::from("this is a trace, not a format file: `tfbc report` formats it");
        }
    }
    let mut fields = HashMap::new();
    if let Some(Ok(formats)) = blob.map(Formats::from_blob) {
        formats.events().for_each(|event| describe(&event.fields, &mut fields));
    }
    Checked { files, diagnostics, fields }
}

/// Adds descriptions of fields and of their members.
fn describe(formats: &[FieldFormat], fields: &mut HashMap<(String, u32, u32), Vec<String>>) {
    for FieldFormat { name, kind, hint, members, file, line, column, .. } in formats {
        describe(members, fields);
        let Some(file) = file else { continue };
        let known = fields.entry((file.clone(), *line, *column)).or_default();
        let hint = if hint.is_empty() { String::new() } else { format!(" ({hint})") };
        let text = format!("Field `{name}` of tables: {kind}{hint}.");
        if known.len() < MAX_DESCRIPTIONS && !known.contains(&text) {
            known.push(text);
        }
    }
}

/// True if the file is a trace. The editor cannot show its bytes, so it is not checked.
fn is_trace(path: &Path, shown: &Source) -> bool {
    const REPLACED: &[u8] = "\u{FFFD}".as_bytes();
    let is_binary = |bytes: &[u8]| bytes.contains(&0) || bytes.windows(REPLACED.len()).any(|text| text == REPLACED);
    is_binary(shown.bytes()) && path.is_file() && matches!(TraceKind::of_file(path), Ok(Some(_)))
}
