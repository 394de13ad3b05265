//! Runs case files. They are read in parallel, each distinct set of format files is compiled once, and the cases are
//! formatted in parallel and compared with their snapshots.

use super::diff::{self, NamedText};
use super::event::EventSource;
use super::file::{BadCaseFile, CaseFile, MAX_CASE_FILE, SUFFIX};
use super::observe;
use super::show::{EventPrinter, EventText, NoObserver, ProgramObserver};
use super::slice::{self, SliceOptions};
use super::snapshot::{self, EventSnapshot, SnapshotPaths};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tfbc::internal::Input;
use tfbc::internal::templates::Catalog;
use tfbc::{FormatInput, Formats, LoadError, LoadOptions};

/// Options of a test run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Options for loading format files. The dialect settings of a case file are added to these.
    pub load: LoadOptions,
    /// Options for parts of traces.
    pub slices: SliceOptions,
    /// Number of threads; `None` for one per processor. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
}

/// Result of comparing a case with its snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Every event prints the accepted text.
    Passed,
    /// The text differs from the accepted text.
    Changed,
    /// No text has been accepted yet.
    New,
    /// Nothing was compared, because the case file, a format file or a trace has an error.
    Broken,
}

impl Verdict {
    /// All verdicts, in the order of the summary.
    pub const ALL: [Verdict; 4] = [Verdict::Passed, Verdict::Changed, Verdict::New, Verdict::Broken];

    /// Name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Changed => "changed",
            Verdict::New => "new",
            Verdict::Broken => "broken",
        }
    }
}

/// Result of one case file.
#[derive(Debug)]
pub struct CaseResult {
    /// Path of the case file.
    pub path: PathBuf,
    /// Paths of its snapshots.
    pub places: SnapshotPaths,
    /// Verdict of the whole case.
    pub verdict: Verdict,
    /// Printed text; empty if the case is broken.
    pub text: String,
    /// Accepted text.
    pub accepted: Option<String>,
    /// Pending text from an earlier run.
    pub pending: Option<String>,
    /// Results of its events.
    pub events: Vec<EventResult>,
    /// Format files, for the header of the snapshot.
    pub expression: String,
    /// Reason for the verdict "broken".
    pub broken: Option<CaseError>,
}

/// Reason why a case cannot run.
#[derive(Debug, Clone)]
pub enum CaseError {
    /// The case file has errors.
    Case(Box<BadCaseFile>),
    /// The format files have errors. The value is an index of [`Results::sets`].
    Formats(usize),
    /// A file cannot be read, or an event cannot be formatted.
    Other(Vec<String>),
}

/// Result of one event.
#[derive(Debug)]
pub struct EventResult {
    /// Name of the event.
    pub name: String,
    /// Printed text, followed by notes.
    pub text: String,
    /// True if a limit stopped the event.
    pub limited: bool,
    /// Reason why the event could not be formatted.
    pub failure: Option<String>,
    /// Verdict of this event.
    pub verdict: Verdict,
}

impl CaseResult {
    /// Diff from the accepted text to the printed one.
    pub fn diff(&self, colour: bool) -> String {
        let path = self.places.accepted.to_string_lossy();
        let old = match self.accepted.as_deref() {
            Some(text) => NamedText { name: &path, text },
            None => NamedText { name: "/dev/null", text: "" },
        };
        let text = snapshot::normal(&self.text);
        diff::unified(old, NamedText { name: "printed now", text: &text }, colour)
    }

    /// Accepts the printed text and removes the pending snapshot.
    ///
    /// # Errors
    /// The snapshot cannot be written.
    pub fn accept(&mut self) -> io::Result<()> {
        self.keep(true)?;
        snapshot::remove(&self.places.pending)?;
        self.verdict = Verdict::Passed;
        self.events.iter_mut().for_each(|event| event.verdict = Verdict::Passed);
        Ok(())
    }

    /// Writes the printed text as a pending snapshot.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_pending(&self) -> io::Result<()> {
        self.keep(false)
    }

    /// Removes the pending snapshot.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove_pending(&self) -> io::Result<()> {
        snapshot::remove(&self.places.pending)
    }

    fn keep(&self, accepted: bool) -> io::Result<()> {
        let path = if accepted { &self.places.accepted } else { &self.places.pending };
        let source = self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        snapshot::write(path, &source, &self.expression, &self.text)
    }

    /// True if the pending snapshot already contains the printed text.
    pub fn was_shown(&self) -> bool {
        self.pending.as_deref() == Some(&snapshot::normal(&self.text))
    }
}

/// A set of format files that cases share.
#[derive(Debug)]
pub struct SetOfFormats {
    /// Paths of the format files.
    pub formats: Vec<PathBuf>,
    /// Compiled set, or the reason why it does not load.
    pub loaded: Result<Formats, LoadError>,
}

/// Results of a run.
#[derive(Debug)]
pub struct Results {
    /// Cases, sorted by path.
    pub cases: Vec<CaseResult>,
    /// Every distinct set of format files.
    pub sets: Vec<SetOfFormats>,
}

impl Results {
    /// Number of cases with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }

    /// Number of events in all cases.
    pub fn n_events(&self) -> usize {
        self.cases.iter().map(|case| case.events.len()).sum()
    }
}

/// Path of a case file, and the parsed file or its error.
pub type ReadCase = (PathBuf, Result<CaseFile, CaseError>);

/// Case files, with the format files that they use.
#[derive(Debug, Default)]
pub struct Suite {
    /// Case files, sorted by path.
    pub files: Vec<ReadCase>,
    /// Index into `sets` for each case file.
    pub set_of: Vec<usize>,
    /// Distinct sets of format files.
    pub sets: Vec<FormatsOf>,
}

/// Key of a compiled set: format files and dialect settings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FormatsOf {
    /// Paths of the format files.
    pub formats: Vec<PathBuf>,
    /// Names and values of dialect settings.
    pub dialect: Vec<(String, String)>,
}

impl Suite {
    /// Reads case files.
    pub fn read(paths: &[PathBuf], threads: Option<NonZeroUsize>) -> Self {
        let files = side_by_side(paths, threads, || (), |(), path| (path.clone(), read(path)));
        let mut suite = Suite { files, ..Suite::default() };
        let mut known = HashMap::new();
        let mut canonical: HashMap<PathBuf, PathBuf> = HashMap::new();
        for (_, file) in &suite.files {
            let key = file.as_ref().ok().map(|file| {
                let same = |path: &PathBuf| {
                    let known = canonical.entry(path.clone());
                    known.or_insert_with(|| path.canonicalize().unwrap_or_else(|_| path.clone())).clone()
                };
                FormatsOf { formats: file.formats.iter().map(same).collect(), dialect: file.dialect.clone() }
            });
            let (Some(key), Ok(file)) = (key, file) else {
                suite.set_of.push(0);
                continue;
            };
            let at = *known.entry(key).or_insert_with(|| {
                suite.sets.push(FormatsOf { formats: file.formats.clone(), dialect: file.dialect.clone() });
                suite.sets.len() - 1
            });
            suite.set_of.push(at);
        }
        suite
    }

    /// Keeps the cases whose path, or the name of one of their events, is chosen.
    pub fn retain(&mut self, chosen: impl Fn(&str) -> bool) {
        let keep: Vec<bool> = self
            .files
            .iter()
            .map(|(path, file)| {
                let events = file.iter().flat_map(|file| &file.events);
                chosen(&path.to_string_lossy()) || events.into_iter().any(|event| chosen(&event.name))
            })
            .collect();
        let mut at = keep.iter();
        self.files.retain(|_| *at.next().unwrap_or(&true));
        let mut at = keep.iter();
        self.set_of.retain(|_| *at.next().unwrap_or(&true));
    }

    /// All files that the results depend on: case files, format files, traces and accepted snapshots.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let mut inputs = BTreeSet::new();
        for (path, file) in &self.files {
            inputs.insert(path.clone());
            inputs.insert(CaseResult::empty(path).places.accepted);
            let Ok(file) = file else { continue };
            inputs.extend(file.formats.iter().filter(|path| *path != Path::new(Formats::BUILT_IN)).cloned());
            inputs.extend(file.events.iter().filter_map(|event| match &event.source {
                EventSource::Slice(slice) => Some(slice.trace.clone()),
                _ => None,
            }));
        }
        inputs.into_iter().collect()
    }

    /// Accepted and pending snapshots of all cases.
    pub fn snapshots(&self) -> BTreeSet<PathBuf> {
        let places = self.files.iter().map(|(path, _)| CaseResult::empty(path).places);
        places.flat_map(|places| [places.accepted, places.pending]).filter(|path| path.exists()).collect()
    }

    /// Valid case files that use a set.
    pub(crate) fn of_set(&self, set: usize) -> Vec<&CaseFile> {
        let files = self.files.iter().zip(&self.set_of).filter(|(_, of)| **of == set);
        files.filter_map(|((_, file), _)| file.as_ref().ok()).collect()
    }

    /// Compiles the sets that are in use.
    pub fn load(&self, options: &RunOptions) -> Vec<SetOfFormats> {
        side_by_side(
            &self.sets,
            options.threads,
            || (),
            |(), FormatsOf { formats, dialect }| {
                let mut load = options.load.clone();
                for (name, value) in dialect {
                    // Cannot fail: the settings were checked when the case file was parsed.
                    let _ = load.compile.dialect.set(name, value);
                }
                SetOfFormats {
                    formats: formats.clone(),
                    loaded: Formats::load_with(FormatInput::of_paths(formats), &load),
                }
            },
        )
    }

    /// Runs every case.
    pub fn run(&self, options: &RunOptions) -> Results {
        let sets = self.load(options);
        let jobs: Vec<(&ReadCase, usize)> = self.files.iter().zip(self.set_of.iter().copied()).collect();
        let run = |((path, file), set): &(&ReadCase, usize)| match file {
            Err(_) => CaseResult::broken(path, None),
            Ok(file) => match sets.get(*set).map(|set| &set.loaded) {
                Some(Ok(formats)) => run_case(file, formats, options),
                _ => CaseResult::broken(path, Some(CaseError::Formats(*set))),
            },
        };
        let mut cases = side_by_side(&jobs, options.threads, || (), |(), job| run(job));
        for (case, (_, file)) in cases.iter_mut().zip(&self.files) {
            if let Err(why) = file {
                case.broken = Some(why.clone());
            }
        }
        Results { cases, sets }
    }
}

impl CaseResult {
    fn empty(path: &Path) -> Self {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = name.strip_suffix(SUFFIX).unwrap_or(&name);
        let directory = path.parent().unwrap_or(Path::new(""));
        Self {
            path: path.to_owned(),
            places: SnapshotPaths::of(directory, name),
            verdict: Verdict::Broken,
            text: String::new(),
            accepted: None,
            pending: None,
            events: Vec::new(),
            expression: String::new(),
            broken: None,
        }
    }

    fn broken(path: &Path, why: Option<CaseError>) -> Self {
        Self { broken: why, ..Self::empty(path) }
    }
}

fn read(path: &Path) -> Result<CaseFile, CaseError> {
    let failed = |why: String| CaseError::Other(vec![format!("cannot read {}: {why}", path.display())]);
    let bytes = Input::open(path).and_then(|mut input| input.read_whole(MAX_CASE_FILE));
    let bytes = bytes.map_err(|error| failed(error.to_string()))?;
    let text =
        std::str::from_utf8(&bytes).map_err(|_| failed(String::from("it is not UTF-8; a case file must be UTF-8")))?;
    CaseFile::parse(path, text).map_err(CaseError::Case)
}

fn run_case(file: &CaseFile, formats: &Formats, options: &RunOptions) -> CaseResult {
    let mut result = CaseResult::empty(&file.path);
    let mut printer = EventPrinter::new(formats.catalog(), options.slices.limits);
    let mut unwatched = NoObserver;
    for event in &file.events {
        let fields = match &event.source {
            EventSource::Hook(hook) if event.fields => Some(printer.hook_fields(hook)),
            EventSource::Record(record) if event.fields => Some(printer.record_fields(record)),
            _ => None,
        };
        let shown = match &event.source {
            EventSource::Hook(hook) => printer.hook(hook, &mut unwatched),
            EventSource::Record(record) => printer.record(record, &mut unwatched),
            EventSource::Slice(slice) => slice::show(slice, formats, &options.slices),
        };
        result.events.push(EventResult::of(&event.name, EventText { fields, ..shown }));
    }
    let names: Vec<_> = file.formats.iter().map(|path| short_name(path)).collect();
    result.expression = if names.is_empty() { String::from("default") } else { names.join(" ") };
    let failures: Vec<_> = result.events.iter().filter_map(EventResult::problem).collect();
    if !failures.is_empty() {
        result.broken = Some(CaseError::Other(failures));
        return result;
    }
    let sections: Vec<_> = result
        .events
        .iter()
        .map(|event| EventSnapshot { name: event.name.clone(), text: event.text.clone() })
        .collect();
    result.text = snapshot::join(&sections);
    result.compare();
    result
}

/// Formats the events of a case file under an observer.
pub(crate) fn run_case_observed(
    file: &CaseFile,
    catalog: &Catalog<'_>,
    options: &RunOptions,
    watch: &mut impl ProgramObserver,
) {
    let mut printer = EventPrinter::new(catalog, options.slices.limits);
    for event in &file.events {
        match &event.source {
            EventSource::Hook(hook) => drop(printer.hook(hook, watch)),
            EventSource::Record(record) => drop(printer.record(record, watch)),
            // `show` has already reported any error in this trace.
            EventSource::Slice(slice) => drop(observe::watch(slice, catalog, &options.slices, watch)),
        }
    }
}

fn short_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.to_string_lossy().into_owned(), |name| name.to_string_lossy().into_owned())
}

impl EventResult {
    fn of(name: &str, shown: EventText) -> Self {
        let mut text = shown.text;
        let fields = shown.fields.map(|fields| format!("fields {fields}\n"));
        for line in fields.into_iter().chain(shown.notes.iter().map(|note| format!("note: {note}\n"))) {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&line);
        }
        let verdict = if shown.failure.is_some() { Verdict::Broken } else { Verdict::New };
        Self { name: name.to_owned(), text, limited: shown.limited, failure: shown.failure, verdict }
    }

    fn problem(&self) -> Option<String> {
        self.failure.as_ref().map(|why| format!("{}: {why}", self.name))
    }
}

impl CaseResult {
    /// Compares the printed text with the accepted one.
    fn compare(&mut self) {
        match (snapshot::read(&self.places.accepted), snapshot::read(&self.places.pending)) {
            (Ok(accepted), Ok(pending)) => (self.accepted, self.pending) = (accepted, pending),
            (Err(error), _) => return self.unreadable(&self.places.accepted.clone(), &error),
            (_, Err(error)) => return self.unreadable(&self.places.pending.clone(), &error),
        }
        self.verdict = match &self.accepted {
            None => Verdict::New,
            Some(accepted) if *accepted == snapshot::normal(&self.text) => Verdict::Passed,
            Some(_) => Verdict::Changed,
        };
        self.compare_events();
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        self.broken = Some(CaseError::Other(vec![format!("cannot read {}: {error}", path.display())]));
    }

    /// Compares event by event. A printed text that looks like a heading may mislead this; the verdict of the case
    /// compares the whole text.
    fn compare_events(&mut self) {
        let Some(accepted) = &self.accepted else { return };
        let kept = snapshot::split(accepted);
        let mut by_name: HashMap<&str, Vec<&str>> = HashMap::new();
        kept.iter().rev().for_each(|section| by_name.entry(&section.name).or_default().push(&section.text));
        for event in &mut self.events {
            event.verdict = match by_name.get_mut(event.name.as_str()).and_then(Vec::pop) {
                _ if self.verdict == Verdict::Passed => Verdict::Passed,
                None => Verdict::New,
                Some(text) if text == event.text.trim_end() => Verdict::Passed,
                Some(_) => Verdict::Changed,
            };
        }
    }
}

/// Maps items in parallel and returns the results in their order. Each thread has its own `scratch`.
pub fn side_by_side<I: Sync, S, R: Send>(
    items: &[I],
    threads: Option<NonZeroUsize>,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &I) -> R + Sync,
) -> Vec<R> {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let n_threads = threads.unwrap_or_else(all).get().min(items.len());
    if n_threads <= 1 {
        let mut scratch = scratch();
        return items.iter().map(|item| work(&mut scratch, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                let mut scratch = scratch();
                let mut made = Vec::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    made.push((at, work(&mut scratch, item)));
                }
                done.lock().unwrap_or_else(PoisonError::into_inner).extend(made);
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, made)| made).collect()
}
