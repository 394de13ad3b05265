//! Format files: compiling, checking, diagnostics.

use crate::errors::{FormatError, LimitError, unreadable};
use crate::html;
use crate::worker::Worker;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tfbc::internal::Output;
use tfbc::{FieldFormat, Findings, FormatInput, LoadError, LoadOptions};
use tfbc_authoring::render;
use tfbc_compiler::{Dialect, LintLevel};
use tfbc_grammar::{Severity, Source};

/// Format files, compiled once for many traces. Made by :func:`tfbc.compile`.
///
/// >>> import tfbc
/// >>> formats = tfbc.compile(tfbc.Source('015 1.0 "STATE" "state=" $D1%U4, 0 "off", 1 "on"', "state.trcfmt"))
/// >>> formats.events["015"]
/// 'STATE'
/// >>> [(field.name, field.type) for field in formats.fields("015")]
/// [('state', 'int64'), ('state_text', 'dictionary')]
#[pyclass(module = "tfbc", frozen)]
pub struct Formats {
    pub formats: tfbc::Formats,
}

/// Name and type of a field.
#[pyclass(module = "tfbc", frozen)]
pub struct Field {
    format: FieldFormat,
}

/// Error or warning about a format file. ``str(diagnostic)`` shows the underlined source.
#[pyclass(module = "tfbc", frozen)]
pub struct Diagnostic {
    findings: FindingsRef,
    index: usize,
}

/// Diagnostics of formats, or of files that do not compile.
#[derive(Clone)]
enum FindingsRef {
    Loaded(tfbc::Formats),
    Refused(Arc<Findings>),
}

impl FindingsRef {
    fn get(&self) -> &Findings {
        match self {
            FindingsRef::Loaded(formats) => formats.findings(),
            FindingsRef::Refused(findings) => findings,
        }
    }

    fn list(&self) -> Vec<Diagnostic> {
        (0..self.get().diagnostics.len()).map(|index| Diagnostic { findings: self.clone(), index }).collect()
    }
}

/// Options of the compiler from Python's arguments.
pub fn options(
    dialect: Option<&Bound<'_, PyDict>>,
    allow: &[String],
    deny: &[String],
) -> PyResult<(LoadOptions, bool)> {
    let mut options = LoadOptions::default();
    let mut has_short_words = false;
    for (name, value) in dialect.into_iter().flatten() {
        let (name, value): (String, String) = (name.extract()?, value.str()?.extract()?);
        if Dialect::is_of_report(&name) {
            has_short_words |= name == "b-generic-word" && value == "4";
            continue;
        }
        options.compile.dialect.set(&name, &value).map_err(|error| PyValueError::new_err(error.0))?;
    }
    for (codes, level) in [(allow, LintLevel::Allow), (deny, LintLevel::Deny)] {
        for code in codes {
            options.compile.levels.set(code, level).map_err(PyValueError::new_err)?;
        }
    }
    Ok((options, has_short_words))
}

/// Inputs from paths, sources in memory, and compiled formats.
pub fn inputs(formats: &Bound<'_, PyAny>) -> PyResult<Vec<FormatInput>> {
    let mut inputs = Vec::new();
    for item in formats.try_iter()? {
        let item = item?;
        if let Ok(compiled) = item.cast::<Formats>() {
            let blobs = compiled.get().formats.blobs();
            inputs.extend(blobs.map(|blob| FormatInput::Memory { name: "blob".into(), bytes: blob.to_vec() }));
        } else if item.hasattr("text")? && item.hasattr("name")? && !item.hasattr("__fspath__")? {
            let text = item.getattr("text")?;
            let bytes = match text.cast::<PyString>() {
                Ok(text) => text.to_cow()?.as_bytes().to_vec(),
                Err(_) => text.extract()?,
            };
            inputs.push(FormatInput::Memory { name: item.getattr("name")?.extract()?, bytes });
        } else {
            let path = item.extract().map_err(|_| {
                let found = item.get_type();
                PyTypeError::new_err(format!("expected a path, tfbc.Source or tfbc.Formats, found {found}"))
            })?;
            inputs.push(FormatInput::Path(path));
        }
    }
    Ok(inputs)
}

/// Loads format files on a worker thread, without Python's lock.
pub fn load(
    py: Python<'_>,
    worker: &Worker,
    inputs: Vec<FormatInput>,
    options: LoadOptions,
) -> PyResult<Result<tfbc::Formats, LoadError>> {
    worker.run(py, move || tfbc::Formats::load_with(inputs, &options))
}

/// Exception for format files that cannot be loaded.
pub fn refusal(py: Python<'_>, error: LoadError) -> PyErr {
    match error {
        LoadError::Io { path, error } => unreadable(&path.to_string_lossy(), &error, error.raw_os_error()),
        LoadError::TooLarge { .. } => LimitError::new_err(error.to_string()),
        LoadError::Source(findings) => do_not_compile(py, &FindingsRef::Refused(Arc::new(findings))),
        other => FormatError::new_err(other.to_string()),
    }
}

/// Exception that shows the first error and contains all diagnostics.
fn do_not_compile(py: Python<'_>, findings: &FindingsRef) -> PyErr {
    let Findings { sources, diagnostics, .. } = findings.get();
    let mut errors = diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let mut text = errors.next().map_or_else(String::new, |first| render::human(sources, first, false));
    let n_more = errors.count();
    if n_more > 0 {
        text.push_str(&format!("and {n_more} more"));
    }
    let list = findings.list().into_iter().map(|found| Py::new(py, found)).collect::<PyResult<Vec<_>>>();
    list.map_or_else(|error| error, |list| FormatError::new_err((text.trim_end().to_owned(), list)))
}

/// Compiles format files, sources in memory, or blobs. Later ones override earlier ones.
///
/// ``dialect`` has settings by name, as ``tfbc report --dialect help`` lists them. ``allow`` and ``deny`` are codes of
/// warnings to hide, or to treat as errors.
///
/// >>> import tfbc
/// >>> tfbc.compile(tfbc.Source('015 1.0 "STATE" X17', "bad.trcfmt"))
/// Traceback (most recent call last):
///     ...
/// tfbc.FormatError: ...
#[pyfunction]
#[pyo3(signature = (*formats, dialect=None, allow=vec![], deny=vec![]), text_signature = "(*formats, dialect=None, allow=(), deny=())")]
pub fn compile(
    py: Python<'_>,
    formats: &Bound<'_, PyTuple>,
    dialect: Option<&Bound<'_, PyDict>>,
    allow: Vec<String>,
    deny: Vec<String>,
) -> PyResult<Formats> {
    let (options, _) = options(dialect, &allow, &deny)?;
    let loaded = load(py, &Worker::start()?, inputs(formats.as_any())?, options)?;
    let formats = loaded.map_err(|error| refusal(py, error))?;
    if formats.diagnostics().iter().any(|found| found.severity == Severity::Error) {
        return Err(do_not_compile(py, &FindingsRef::Loaded(formats)));
    }
    Ok(Formats { formats })
}

/// Checks format files. Returns their errors and warnings, in the order of the files.
///
/// >>> import tfbc
/// >>> [found.code for found in tfbc.check(tfbc.Source('015 1.0 "STATE" X17', "bad.trcfmt"))]
/// ['S07']
#[pyfunction]
#[pyo3(signature = (*formats))]
pub fn check(py: Python<'_>, formats: &Bound<'_, PyTuple>) -> PyResult<Vec<Diagnostic>> {
    let loaded = load(py, &Worker::start()?, inputs(formats.as_any())?, LoadOptions::default())?;
    match loaded {
        Ok(formats) => Ok(FindingsRef::Loaded(formats).list()),
        Err(LoadError::Source(findings)) => Ok(FindingsRef::Refused(Arc::new(findings)).list()),
        Err(error) => Err(refusal(py, error)),
    }
}

impl Formats {
    /// The blob, if there is exactly one.
    fn blob(&self) -> PyResult<&[u8]> {
        let mut blobs = self.formats.blobs();
        match (blobs.next(), blobs.next()) {
            (Some(blob), None) => Ok(blob),
            (None, _) => Err(PyValueError::new_err("there is no blob, because no format files were given")),
            _ => Err(PyValueError::new_err(
                "the formats were compiled before, from several files: compile them together",
            )),
        }
    }
}

#[pymethods]
impl Formats {
    /// Warnings of the compiler.
    #[getter]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        FindingsRef::Loaded(self.formats.clone()).list()
    }

    /// Labels of the described events by id; empty for QNX events, whose definitions have none.
    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let events = PyDict::new(py);
        for event in self.formats.events() {
            events.set_item(event.id, event.label)?;
        }
        Ok(events)
    }

    /// Fields of an event, in the order of its columns.
    fn fields(&self, id: &str) -> PyResult<Vec<Field>> {
        let event = self.formats.events().find(|event| event.id == id);
        let event = event.ok_or_else(|| PyKeyError::new_err(format!("no format file describes the event {id}")))?;
        Ok(event.fields.into_iter().map(|format| Field { format }).collect())
    }

    /// Writes the compiled blob to a file. If writing fails, there is no file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let blob = self.blob()?;
        let write = || {
            let mut output = Output::open(Some(&path))?;
            output.write_all(blob)?;
            output.commit()
        };
        Ok(py.detach(write)?)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.blob()?))
    }

    /// Formats from a blob. The verifier checks it.
    #[staticmethod]
    #[pyo3(name = "_from_blob")]
    fn from_blob(py: Python<'_>, blob: &[u8]) -> PyResult<Self> {
        let formats = tfbc::Formats::from_blob(blob).map_err(|error| refusal(py, error))?;
        Ok(Self { formats })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("_from_blob")?, (self.__bytes__(py)?,)))
    }

    fn __repr__(&self) -> String {
        format!("<tfbc.Formats of {} events>", self.formats.events().count())
    }
}

#[pymethods]
impl Field {
    /// Name, as in tables.
    #[getter]
    fn name(&self) -> &str {
        &self.format.name
    }

    /// Type, such as ``int64``.
    #[getter]
    fn r#type(&self) -> &str {
        &self.format.kind
    }

    /// Hint for displaying a number: ``hex``, ``oct``, ``bin``, ``errno``, ``pid`` or ``ns``; empty if there is none.
    #[getter]
    fn hint(&self) -> &str {
        self.format.hint
    }

    /// Texts that the template contains for the values of a dictionary column.
    #[getter]
    fn texts(&self) -> Vec<String> {
        self.format.texts.clone()
    }

    /// Fields of an item, for a list of structs.
    #[getter]
    fn members(&self) -> Vec<Field> {
        self.format.members.iter().map(|format| Field { format: format.clone() }).collect()
    }

    fn __repr__(&self) -> String {
        let FieldFormat { name, kind, hint, .. } = &self.format;
        let separator = if hint.is_empty() { "" } else { " " };
        format!("<tfbc.Field {name}: {kind}{separator}{hint}>")
    }
}

impl Diagnostic {
    /// True if the severity is an error.
    pub fn is_error(&self) -> bool {
        self.found().severity == Severity::Error
    }

    /// Place and message in one line.
    pub fn summary(&self) -> String {
        format!("{}:{}:{}: {} [{}]", self.path(), self.line(), self.column(), self.message(), self.code())
    }

    fn found(&self) -> &tfbc_grammar::Diagnostic {
        &self.findings.get().diagnostics[self.index]
    }

    fn source(&self) -> Option<&Source> {
        self.findings.get().sources.get(self.found().primary.source)
    }

    fn place(&self, offset: u32) -> (u32, u32) {
        self.source().map_or((0, 0), |source| source.line_column(offset))
    }
}

#[pymethods]
impl Diagnostic {
    /// Code, such as ``S07``, which ``tfbc explain`` explains.
    #[getter]
    fn code(&self) -> &str {
        self.found().code.code
    }

    /// ``error`` or ``warning``.
    #[getter]
    fn severity(&self) -> &str {
        match self.found().severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }

    /// The problem.
    #[getter]
    fn message(&self) -> &str {
        &self.found().message
    }

    /// Path of the file, as it was given.
    #[getter]
    fn path(&self) -> &str {
        self.source().map_or("", Source::name)
    }

    /// Line of the first byte, from 1.
    #[getter]
    fn line(&self) -> u32 {
        self.place(self.found().primary.span.start).0
    }

    /// Column of the first byte, from 1.
    #[getter]
    fn column(&self) -> u32 {
        self.place(self.found().primary.span.start).1
    }

    /// Line of the end.
    #[getter]
    fn end_line(&self) -> u32 {
        self.place(self.found().primary.span.end).0
    }

    /// Column after the last byte.
    #[getter]
    fn end_column(&self) -> u32 {
        self.place(self.found().primary.span.end).1
    }

    /// Advice, or ``None``.
    #[getter]
    fn help(&self) -> Option<&str> {
        self.found().help.as_deref()
    }

    fn __str__(&self) -> String {
        render::human(&self.findings.get().sources, self.found(), false).trim_end().to_owned()
    }

    fn __repr__(&self) -> String {
        format!(
            "<tfbc.Diagnostic {} {}:{}:{}: {}>",
            self.code(),
            self.path(),
            self.line(),
            self.column(),
            self.message()
        )
    }

    fn _repr_html_(&self) -> String {
        html::preformatted(&self.__str__())
    }
}
