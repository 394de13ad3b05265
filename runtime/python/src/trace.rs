//! Opening of traces.

use crate::errors::{FormatWarning, SpentError, unreadable};
use crate::events::EventIterator;
use crate::formats::{self, Formats};
use crate::html;
use crate::source::{Given, OpenOptions, Raised};
use crate::worker::Worker;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyTuple};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tfbc::aix::{AixKind, ContextTable};
use tfbc::{FormatInput, ReportOptions, System, TraceInfo};

/// A trace of AIX or a kernel log of QNX. Made by :func:`tfbc.open`.
///
/// Iterating yields :class:`Event` objects. Each ``for`` loop reads the trace from its start.
#[pyclass(module = "tfbc", frozen)]
pub struct Trace {
    given: Given,
    options: OpenOptions,
    context: Option<Arc<ContextTable>>,
    formats: Py<Formats>,
    info: TraceInfo,
    strict: bool,
    /// The opened input, if it can be read only once.
    once: Option<Mutex<Option<tfbc::Trace>>>,
    raised: Raised,
}

/// Opens a trace. Only its header is read.
///
/// ``source`` is a path, a glob, a list of paths, bytes, or a binary file object. Several traces of AIX are merged by
/// time. ``formats`` has paths of format files, :class:`Source` or :class:`Formats`; later ones override earlier ones
/// and the built-in file, which ``builtin=False`` leaves out.
///
/// With ``strict=True``, errors in format files and damage of the trace raise exceptions; otherwise they are warnings.
///
/// >>> import tfbc
/// >>> trace = tfbc.open(sample)
/// >>> trace.info["system"], trace.info["kind"]
/// ('aix', 'log64')
/// >>> sum(event.label == "EXEC" for event in trace)
/// 3
#[pyfunction]
#[pyo3(
    signature = (source, *, formats=None, builtin=true, dialect=None, context=None, kind=None, follow=false, strict=false),
    text_signature = "(source, *, formats=(), builtin=True, dialect=None, context=None, kind=None, follow=False, strict=False)"
)]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments of Python")]
pub fn open(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    formats: Option<&Bound<'_, PyAny>>,
    builtin: bool,
    dialect: Option<&Bound<'_, PyDict>>,
    context: Option<PathBuf>,
    kind: Option<&str>,
    follow: bool,
    strict: bool,
) -> PyResult<Trace> {
    let worker = Worker::start()?;
    let given = Given::new(source)?;
    let (mut load_options, short_generic_word) = formats::options(dialect, (&[], &[]))?;
    let mut options = OpenOptions { is_kev: kind == Some("kev"), ..OpenOptions::default() };
    options.read.format = kind.filter(|kind| *kind != "kev").map(aix_kind).transpose()?;
    (options.read.follow, options.read.short_generic_word) = (follow, short_generic_word);
    (load_options.compile.keep_going, load_options.compile.codes_as_text) = (!strict, !strict);

    let own = match formats {
        None => Vec::new(),
        Some(one) if is_single(one) => formats::inputs(PyTuple::new(py, [one])?.as_any())?,
        Some(several) => formats::inputs(several)?,
    };
    let built_in = FormatInput::Path(PathBuf::from("default"));
    let inputs = builtin.then_some(built_in).into_iter().chain(own).collect();
    let loaded = formats::load(py, &worker, inputs, load_options)?;
    let formats = Formats { formats: loaded.map_err(|error| formats::refusal(py, error))? };
    warn_of_left_out(py, &formats)?;

    let context = context.map(|path| load_context(&path)).transpose()?;
    let raised = Raised::default();
    let opened = {
        let (given, options, raised) = (given.clone(), options.clone(), Arc::clone(&raised));
        worker.run(py, move || given.open(&options, &raised))?
    };
    let trace = opened.map_err(|failure| failure.into_exception(&raised))?;
    let info = trace.info();
    let once = (!given.is_lasting()).then(|| Mutex::new(Some(trace)));
    Ok(Trace { given, options, context, formats: Py::new(py, formats)?, info, strict, once, raised })
}

/// True for a single format file instead of a list.
fn is_single(formats: &Bound<'_, PyAny>) -> bool {
    let is = |name| formats.hasattr(name).unwrap_or(false);
    formats.is_instance_of::<pyo3::types::PyString>()
        || is("__fspath__")
        || is("text")
        || formats.is_instance_of::<Formats>()
}

fn aix_kind(name: &str) -> PyResult<AixKind> {
    let kinds = [AixKind::Stream32, AixKind::Stream64, AixKind::Log32, AixKind::Log64];
    kinds.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        PyValueError::new_err(format!("unknown kind {name:?}: expected stream32, stream64, log32, log64 or kev"))
    })
}

fn load_context(path: &Path) -> PyResult<Arc<ContextTable>> {
    let own = ContextTable::load(path).map_err(|error| unreadable(&path.to_string_lossy(), &error, None))?;
    Ok(Arc::new(ContextTable::default().overlay(own)))
}

/// Warns of stanzas that were left out because of errors.
fn warn_of_left_out(py: Python<'_>, formats: &Formats) -> PyResult<()> {
    let left_out = formats.formats.findings().left_out.len();
    let errors = formats.diagnostics().into_iter().find(|found| found.is_error());
    if let Some(first) = errors {
        let stanzas = if left_out == 1 { "stanza" } else { "stanzas" };
        let message = format!("{left_out} {stanzas} left out; the first error: {}", first.summary());
        py.import("warnings")?.call_method1("warn", (message, py.get_type::<FormatWarning>()))?;
    }
    Ok(())
}

impl Trace {
    /// Opens the input for a pass.
    fn begin(&self, py: Python<'_>, worker: &Worker) -> PyResult<tfbc::Trace> {
        if let Some(once) = &self.once {
            let trace = once.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
            let text = || format!("{} was read before, and cannot be read again", self.given.name());
            return trace.ok_or_else(|| SpentError::new_err(text()));
        }
        let (given, options, raised) = (self.given.clone(), self.options.clone(), Arc::clone(&self.raised));
        let opened = worker.run(py, move || given.open(&options, &raised))?;
        opened.map_err(|failure| failure.into_exception(&self.raised))
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let TraceInfo { system, kind, name, size, n_logs } = &self.info;
        vec![
            ("name", name.clone()),
            ("system", system_name(*system).into()),
            ("kind", String::from(*kind)),
            ("size", size.map_or_else(|| String::from("unknown"), |size| format!("{size} bytes"))),
            ("logs", n_logs.to_string()),
        ]
    }
}

fn system_name(system: System) -> &'static str {
    match system {
        System::Aix => "aix",
        System::Qnx => "qnx",
    }
}

#[pymethods]
impl Trace {
    /// Facts of the trace's header: ``name``, ``system``, ``kind``, ``size`` in bytes (``None`` if unknown), ``logs``.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let TraceInfo { system, kind, name, size, n_logs } = &self.info;
        let info = PyDict::new(py);
        info.set_item("name", name)?;
        info.set_item("system", system_name(*system))?;
        info.set_item("kind", kind)?;
        info.set_item("size", size)?;
        info.set_item("logs", n_logs)?;
        Ok(info)
    }

    /// Format files of the trace.
    #[getter]
    fn formats(&self, py: Python<'_>) -> Py<Formats> {
        self.formats.clone_ref(py)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<EventIterator> {
        let worker = Worker::start()?;
        let trace = self.begin(py, &worker)?;
        let mut options = ReportOptions::default();
        (options.aix.follow_context, options.qnx.follow_owners) = (true, true);
        if let Some(context) = &self.context {
            options.aix.context = Arc::clone(context);
        }
        let formats = self.formats.get().formats.clone();
        let name = self.given.name();
        Ok(EventIterator::new(trace, name, (formats, options), (worker, Arc::clone(&self.raised)), self.strict))
    }

    fn __repr__(&self) -> String {
        format!("<tfbc.Trace {:?} ({})>", self.info.name, self.info.kind)
    }

    fn _repr_html_(&self) -> String {
        html::pairs("tfbc.Trace", self.rows())
    }
}
