//! Jobs of the page: a trace, format files and options.

use crate::hex::parse_hex;
use serde_json::Value;
use std::collections::HashSet;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use tfbc::aix::{OpenError, ReadOptions};
use tfbc::internal::{AnyTrace, Files, Input, cpu_files_among};
use tfbc::{
    EventFilter, FormatInput, Formats, LoadError, LoadOptions, Pattern, ReportOptions, System, Trace, TraceError,
    TraceInfo,
};
use tfbc_authoring::render;
use tfbc_authoring::times::signed_seconds;

/// Traces that the page contains.
const SAMPLES: [(&str, &[u8]); 3] = [
    ("shell.trc", include_bytes!("../../samples/shell.trc")),
    ("copy.trc", include_bytes!("../../samples/copy.trc")),
    ("user.kev", include_bytes!("../../samples/user.kev")),
];

/// Events on a page, and slices of its timeline.
const DEFAULT_LIMIT: u64 = 100_000;
/// Largest text of a pasted trace or event, in bytes.
const MAX_PASTED: usize = 64 << 20;

/// Reason why a job cannot be done, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(pub String);

/// Source of a trace's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceSource {
    /// A trace in the page, by name.
    Sample(&'static str, &'static [u8]),
    /// The worker's files.
    Files(Vec<HostFileName>),
    /// Pasted bytes.
    Pasted(Vec<u8>),
}

/// Name and size of one of the worker's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFileName {
    /// Name without directories.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
}

/// The worker's files as a directory, in which the reader finds the files of CPUs.
struct HostFiles<'j, F> {
    files: &'j [HostFileName],
    open: &'j F,
}

impl<R: Read + Seek + Send + 'static, F: Fn(usize) -> R> HostFiles<'_, F> {
    /// Files that are not another one's files of CPUs.
    fn traces(&self) -> Vec<&Path> {
        let paths = || self.files.iter().map(|file| Path::new(&file.name));
        // A file alone is not opened twice.
        if self.files.len() == 1 {
            return paths().collect();
        }
        let members: Vec<PathBuf> =
            paths().flat_map(|path| cpu_files_among(self, path, &ReadOptions::default())).collect();
        paths().filter(|path| !members.iter().any(|member| member == path)).collect()
    }
}

impl<R: Read + Seek + Send + 'static, F: Fn(usize) -> R> Files for HostFiles<'_, F> {
    fn is_file(&self, path: &Path) -> bool {
        self.files.iter().any(|file| Path::new(&file.name) == path)
    }

    fn next_to(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.files.iter().map(|file| PathBuf::from(&file.name)).collect())
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        let at = self.files.iter().position(|file| Path::new(&file.name) == path).ok_or(io::ErrorKind::NotFound)?;
        Input::from_seekable((self.open)(at), self.files[at].size)
    }
}

/// Properties that all jobs have.
#[derive(Debug)]
pub struct Job {
    /// The trace.
    pub trace: TraceSource,
    /// Names and texts of the user's format files.
    pub formats: Vec<(String, String)>,
    /// True if the built-in format file is used, too.
    pub has_built_in: bool,
    /// Pattern of the report's text.
    pub grep: Option<Pattern>,
    /// Ids of events, as written.
    pub only: String,
    /// CPUs, as written.
    pub cpus: String,
    /// Start of the span, in nanoseconds.
    pub from: Option<i128>,
    /// End of the span, in nanoseconds.
    pub until: Option<i128>,
    /// Limit on events of a page, and on slices of its timeline.
    pub limit: u64,
    /// Kind of a pasted event: `32`, `64`, or `class:event` of QNX.
    pub event: String,
}

impl Job {
    /// Reads a job.
    ///
    /// # Errors
    /// A property of it is missing or malformed.
    pub fn read(job: &Value) -> Result<Self, Failure> {
        let text = |name: &str| job[name].as_str().unwrap_or_default().trim().to_owned();
        let wrong = |name: &str, why: String| Failure(format!("{name}: {why}"));
        let time = |name: &str| match text(name) {
            empty if empty.is_empty() => Ok(None),
            time => signed_seconds(&time).map(Some).map_err(|why| wrong(name, why)),
        };
        let formats = job["formats"].as_array().into_iter().flatten();
        let pattern = text("grep");
        Ok(Self {
            trace: TraceSource::read(&job["trace"])?,
            formats: formats
                .map(|file| {
                    let of = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
                    (of("name"), of("text"))
                })
                .collect(),
            has_built_in: job["builtIn"].as_bool().unwrap_or(true),
            grep: match pattern.is_empty() {
                true => None,
                false => Some(Pattern::new(&pattern).map_err(|error| wrong("grep", error.to_string()))?),
            },
            only: text("only"),
            cpus: text("cpu"),
            from: time("from")?,
            until: time("until")?,
            limit: job["limit"].as_u64().unwrap_or(DEFAULT_LIMIT),
            event: text("event"),
        })
    }

    /// Compiles the format files. Stanzas with errors are left out, so that a report continues while a template is
    /// written.
    ///
    /// # Errors
    /// A file is no format file.
    pub fn load(&self, is_plain: bool) -> Result<Formats, Failure> {
        let built_in = self.has_built_in || self.formats.is_empty();
        let first = built_in.then(|| FormatInput::Path(Formats::BUILT_IN.into()));
        let others = self
            .formats
            .iter()
            .map(|(name, text)| FormatInput::Memory { name: name.clone(), bytes: text.clone().into_bytes() });
        let mut options = LoadOptions { plain: is_plain, ..LoadOptions::default() };
        options.compile.keep_going = true;
        Formats::load_with(first.into_iter().chain(others), &options).map_err(|error| match error {
            LoadError::Source(findings) => {
                let shown = findings.diagnostics.iter().take(20);
                Failure(
                    shown.map(|found| render::human(&findings.sources, found, false)).collect::<Vec<_>>().join("\n"),
                )
            }
            error => Failure(error.to_string()),
        })
    }

    /// Loads the format files, and opens the trace for a report.
    ///
    /// # Errors
    /// [`Job::load`], [`Job::open`] or [`Job::options`] fails.
    pub fn prepare<R: Read + Seek + Send + 'static>(&self, open: &impl Fn(usize) -> R) -> Result<Prepared, Failure> {
        let formats = self.load(false)?;
        let trace = self.open(open)?;
        let info = trace.info();
        let options = self.options(&trace, &formats)?;
        Ok(Prepared { formats, trace, info, options })
    }

    /// Opens the trace. `open` opens one of the worker's files by its place. Files of CPUs belong to their base file;
    /// several traces are merged by time.
    ///
    /// # Errors
    /// A file is not a trace, or cannot be read.
    pub fn open<R: Read + Seek + Send + 'static>(&self, open: &impl Fn(usize) -> R) -> Result<Trace, Failure> {
        match &self.trace {
            TraceSource::Sample(name, bytes) => Trace::from_bytes(name, *bytes),
            TraceSource::Pasted(bytes) => Trace::from_bytes("the pasted bytes", bytes.clone()),
            TraceSource::Files(files) => {
                let files = HostFiles { files, open };
                let opened = |path: &Path| {
                    let trace = AnyTrace::open_among(&files, path, &ReadOptions::default());
                    trace.map(Trace::from).map_err(|error| Failure(format!("{}: {}", path.display(), reason(&error))))
                };
                let mut traces = files.traces().into_iter().map(opened).collect::<Result<Vec<_>, _>>()?;
                return match traces.len() {
                    1 => Ok(traces.remove(0)),
                    _ => Trace::merge(traces).map_err(|error| Failure(error.to_string())),
                };
            }
        }
        .map_err(|error| Failure(reason(&error)))
    }

    /// Options of a report of the trace.
    ///
    /// # Errors
    /// An id or a number is malformed.
    pub fn options(&self, trace: &Trace, formats: &Formats) -> Result<ReportOptions, Failure> {
        let texts = |text: &String| Some(text.clone()).filter(|text| !text.is_empty()).into_iter().collect();
        // AIX times are not negative, so all events are after such a time.
        let time = |ns: i128| if trace.info().system == System::Aix { ns.clamp(0, u64::MAX.into()) } else { ns };
        let filter = EventFilter {
            only: texts(&self.only),
            cpus: texts(&self.cpus),
            from_ns: self.from.map(time),
            until_ns: self.until.map(time),
            ..EventFilter::default()
        };
        let options = ReportOptions::default().with_filter(&filter, trace, formats);
        let mut options = options.map_err(|error| Failure(error.to_string()))?;
        (options.aix.grep, options.qnx.grep) = (self.grep.clone(), self.grep.clone());
        Ok(options)
    }

    /// Name of the trace.
    pub fn name(&self) -> &str {
        match &self.trace {
            TraceSource::Sample(name, _) => name,
            TraceSource::Files(files) => files.first().map_or("", |file| &file.name),
            TraceSource::Pasted(_) => "pasted bytes",
        }
    }
}

/// Reason why bytes are no trace. It names no flags, which only the command has.
fn reason(error: &TraceError) -> String {
    match error {
        TraceError::Aix(OpenError::Empty) => String::from("the file is empty"),
        TraceError::Aix(OpenError::Unknown) => String::from(
            "neither a trace of AIX nor a kernel log of QNX (.kev), nor one of them compressed as .gz, .zst or .Z",
        ),
        error => error.to_string(),
    }
}

/// An opened trace and what a report of it needs.
pub struct Prepared {
    pub formats: Formats,
    pub trace: Trace,
    pub info: TraceInfo,
    pub options: ReportOptions,
}

impl TraceSource {
    fn read(trace: &Value) -> Result<Self, Failure> {
        let name = trace["name"].as_str().unwrap_or_default();
        match trace["kind"].as_str() {
            Some("sample") => {
                let found = SAMPLES.iter().find(|(known, _)| *known == name);
                found.map(|(name, bytes)| Self::Sample(name, bytes)).ok_or_else(|| Failure(format!("no sample {name}")))
            }
            Some("files") => {
                let files = trace["files"].as_array().into_iter().flatten();
                let files: Vec<HostFileName> = files
                    .map(|file| HostFileName {
                        name: file["name"].as_str().unwrap_or_default().to_owned(),
                        size: file["size"].as_u64().unwrap_or(0),
                    })
                    .collect();
                if files.is_empty() {
                    return Err(Failure(String::from("the job has no files")));
                }
                // Files are found by name, so one of two would be read twice.
                let mut names = HashSet::new();
                if let Some(file) = files.iter().find(|file| !names.insert(&*file.name)) {
                    return Err(Failure(format!("two files are named {}: choose one of them", file.name)));
                }
                Ok(Self::Files(files))
            }
            Some("pasted") => {
                let text = trace["text"].as_str().unwrap_or_default();
                if text.len() > MAX_PASTED {
                    return Err(Failure(String::from("more than 64 MiB are pasted: choose a file instead")));
                }
                parse_hex(text).map(Self::Pasted)
            }
            _ => Err(Failure(String::from("the job has no trace"))),
        }
    }
}
