//! Inputs of traces: files, bytes, and Python file objects.

use crate::dataset::Dataset;
use crate::errors;
use crate::worker::Worker;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tfbc::aix::ReadOptions;
use tfbc::qnx::QnxRelease;
use tfbc::{Split, SplitError, Trace, TraceError};

/// Number of bytes to read from a file object at once.
const PIECE: usize = 256 << 10;

/// Exception that a file object raised while it was read.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// Argument of `tfbc.open`.
#[derive(Clone)]
pub enum InputArg {
    /// Files; several are merged.
    Files(Vec<PathBuf>),
    /// Traces of a folder or glob, one after another.
    Dataset(Arc<Dataset>),
    /// Bytes in memory.
    Bytes(Arc<PyBackedBytes>),
    /// File object, with its name.
    Object(Arc<Py<PyAny>>, String),
    /// Part of a file, by its number. The split contains only this part.
    Part(Arc<Split>, u64),
}

impl InputArg {
    /// Accepts a path, a folder, a glob, a list of paths, bytes, or a binary file object.
    pub fn new(source: &Bound<'_, PyAny>, options: &ReadOptions) -> PyResult<Self> {
        let is_path =
            |it: &Bound<'_, PyAny>| it.is_instance_of::<PyString>() || it.hasattr("__fspath__").unwrap_or(false);
        if is_path(source) {
            return Self::of_path(source, options);
        }
        if source.is_instance_of::<PyBytes>() || source.is_instance_of::<PyByteArray>() {
            return Ok(InputArg::Bytes(Arc::new(source.extract()?)));
        }
        if !source.is_instance_of::<PyMemoryView>() && source.hasattr("read")? {
            let name = source.getattr("name").and_then(|name| name.extract::<String>());
            let name = name.unwrap_or_else(|_| String::from("<file>"));
            return Ok(InputArg::Object(Arc::new(source.clone().unbind()), name));
        }
        if let Ok(view) = PyMemoryView::from(source) {
            return Ok(InputArg::Bytes(Arc::new(view.call_method0("tobytes")?.extract()?)));
        }
        let mut paths = Vec::new();
        for item in source.try_iter().map_err(|_| refused(source))? {
            let item = item?;
            if !is_path(&item) {
                return Err(refused(&item));
            }
            paths.append(&mut expand(&item)?);
        }
        if paths.is_empty() {
            return Err(pyo3::exceptions::PyValueError::new_err("the list of traces is empty: expected paths"));
        }
        Ok(InputArg::Files(paths))
    }

    /// Input of a path: a file, or the dataset of a folder or glob.
    fn of_path(source: &Bound<'_, PyAny>, options: &ReadOptions) -> PyResult<Self> {
        let path: PathBuf = source.extract()?;
        let paths = expand(source)?;
        let is_glob = paths.first() != Some(&path);
        // A pipe can be read only once, so it is no part of a dataset.
        let is_pipe = |path: &PathBuf| !path.is_file() && !path.is_dir();
        let is_dataset = path.is_dir() || (is_glob && !(paths.len() == 1 && paths.iter().all(is_pipe)));
        if !is_dataset {
            return Ok(InputArg::Files(paths));
        }
        Dataset::find(&path, &paths, options).map(|dataset| InputArg::Dataset(Arc::new(dataset)))
    }

    /// Name used in messages.
    pub fn name(&self) -> String {
        match self {
            InputArg::Files(paths) => {
                let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
                names.join(", ")
            }
            InputArg::Dataset(dataset) => dataset.name.clone(),
            InputArg::Bytes(_) => String::from("<bytes>"),
            InputArg::Object(_, name) => name.clone(),
            InputArg::Part(split, _) => split.input().to_owned(),
        }
    }

    /// True if the input can be read more than once.
    pub fn is_lasting(&self) -> bool {
        match self {
            InputArg::Files(paths) => paths.iter().all(|path| path.is_file()),
            InputArg::Dataset(_) | InputArg::Bytes(_) | InputArg::Part(..) => true,
            InputArg::Object(..) => false,
        }
    }

    /// Opens the input on the worker.
    pub fn open_on(
        &self,
        worker: &Worker,
        py: Python<'_>,
        options: &ReadOptions,
        raised: &Raised,
    ) -> PyResult<OpenTrace> {
        let (given, options, taken) = (self.clone(), options.clone(), Arc::clone(raised));
        let opened = worker.run(py, move || given.open(&options, &taken))?;
        opened.map_err(|failure| failure.into_exception(raised))
    }

    /// Opens the input. Exceptions of a file object are stored in `raised`.
    pub fn open(&self, options: &ReadOptions, raised: &Raised) -> Result<OpenTrace, OpenFailure> {
        let opened = |name: &str, trace: Result<Trace, TraceError>| {
            trace.map(OpenTrace::new).map_err(|error| OpenFailure::new(name, error))
        };
        match self {
            InputArg::Files(paths) => {
                let open = |path: &PathBuf| opened(&path.to_string_lossy(), Trace::open_with(path, options));
                let mut traces = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
                match traces.len() {
                    1 => Ok(traces.swap_remove(0)),
                    _ => Trace::merge(traces.into_iter().map(|opened| opened.trace))
                        .map(|trace| OpenTrace { trace, release: None })
                        .map_err(|error| OpenFailure::new(&self.name(), error.into())),
                }
            }
            InputArg::Dataset(dataset) => {
                let open = |path: &PathBuf| opened(&path.to_string_lossy(), Trace::open_with(path, options));
                // The first header that can be read describes the dataset.
                let mut failure = None;
                for path in &dataset.traces {
                    match open(path) {
                        Ok(opened) => return Ok(opened),
                        Err(error) => failure = failure.or(Some(error)),
                    }
                }
                let missing = || OpenFailure::new(&dataset.name, io::Error::from(io::ErrorKind::NotFound).into());
                Err(failure.unwrap_or_else(missing))
            }
            InputArg::Bytes(bytes) => {
                let name = self.name();
                opened(&name, Trace::from_bytes_with(&name, SharedBytes(Arc::clone(bytes)), options))
            }
            InputArg::Object(object, name) => {
                let reader =
                    ObjectReader { object: Arc::clone(object), piece: None, at: 0, raised: Arc::clone(raised) };
                opened(name, Trace::from_reader_with(name, reader, options))
            }
            InputArg::Part(split, number) => split
                .open_part(*number)
                .map(OpenTrace::new)
                .map_err(|error| OpenFailure { name: self.name(), error: Refusal::Part(error) }),
        }
    }
}

/// An open trace.
pub struct OpenTrace {
    pub trace: Trace,
    /// QNX release in the header of a log.
    pub release: Option<QnxRelease>,
}

impl OpenTrace {
    fn new(trace: Trace) -> Self {
        let release = trace.info().qnx_header.and_then(|header| header.release);
        Self { trace, release }
    }
}

/// Expands a path or glob to paths. A glob that is also the name of a file means that file.
fn expand(path: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let plain: PathBuf = path.extract()?;
    let has_wildcard = plain.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte));
    if !has_wildcard || plain.exists() {
        return Ok(vec![plain]);
    }
    let glob = path.py().import("glob")?;
    let mut found: Vec<PathBuf> =
        glob.call_method1("glob", (glob.py().import("os")?.call_method1("fspath", (path,))?,))?.extract()?;
    found.sort();
    if found.is_empty() {
        return Err(errors::unreadable(&plain.to_string_lossy(), &"no file has such a name", Some(2)));
    }
    Ok(found)
}

fn refused(found: &Bound<'_, PyAny>) -> PyErr {
    let found = found.get_type();
    PyTypeError::new_err(format!("expected a path, a list of paths, bytes, or a binary file object, found {found}"))
}

/// Name of an input that cannot be opened, and the reason.
pub struct OpenFailure {
    name: String,
    error: Refusal,
}

enum Refusal {
    Trace(TraceError),
    Part(SplitError),
}

impl OpenFailure {
    fn new(name: &str, error: TraceError) -> Self {
        Self { name: name.to_owned(), error: Refusal::Trace(error) }
    }

    /// The reason, without the name.
    pub fn reason(&self) -> String {
        match &self.error {
            Refusal::Trace(error) => error.to_string(),
            Refusal::Part(error) => error.to_string(),
        }
    }

    /// Converts to an exception. An exception that the file object raised takes precedence.
    pub fn into_exception(self, raised: &Raised) -> PyErr {
        take(raised).unwrap_or_else(|| match self.error {
            Refusal::Trace(error) => errors::not_opened(&self.name, &error),
            Refusal::Part(error) => errors::part_error(&self.name, &error),
        })
    }
}

/// Takes the exception that a file object raised, if there is one.
pub fn take(raised: &Raised) -> Option<PyErr> {
    raised.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Python bytes object that several passes share.
struct SharedBytes(Arc<PyBackedBytes>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Reader of a file object. It takes Python's lock only while the object's `read` runs.
struct ObjectReader {
    object: Arc<Py<PyAny>>,
    piece: Option<PyBackedBytes>,
    /// Number of bytes of the piece that have been consumed.
    at: usize,
    raised: Raised,
}

impl Read for ObjectReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.piece.as_ref().is_none_or(|piece| self.at >= piece.len()) {
            let read = |py: Python<'_>| -> PyResult<PyBackedBytes> {
                self.object.bind(py).call_method1("read", (PIECE,))?.extract().map_err(PyErr::from)
            };
            let Some(piece) = Python::try_attach(read) else {
                return Err(io::Error::other("Python is shutting down"));
            };
            self.piece = Some(piece.map_err(|error| {
                let message = error.to_string();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                io::Error::other(message)
            })?);
            self.at = 0;
        }
        let rest = self.piece.as_ref().and_then(|piece| piece.get(self.at..)).unwrap_or_default();
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}
