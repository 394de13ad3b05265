//! The class `Trace`: opening traces, and the methods that read them.

use crate::contents::Contents;
use crate::errors::{FormatWarning, part_error, unreadable};
use crate::events::EventIterator;
use crate::formats::{self, Formats};
use crate::html;
use crate::input::{InputFacts, NamedTable, TraceInput};
use crate::parts::{self, Part};
use crate::selection::{Seconds, Selection, Words};
use crate::source::{InputArg, OpenTrace, Raised};
use crate::table::{self, Table};
use crate::values;
use crate::worker::Worker;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tfbc::aix::{AixKind, ContextTable, ReadOptions};
use tfbc::{FormatInput, PartSize, TraceKind};

/// An AIX trace or a QNX kernel log. Made by :func:`tfbc.open`.
///
/// Iterating yields :class:`Event` objects. Each ``for`` loop reads the trace from its start.
#[pyclass(module = "tfbc", frozen)]
pub struct Trace {
    pub input: Arc<TraceInput>,
}

/// Opens a trace. Only its header is read.
///
/// ``source`` is a path, a folder, a glob, a list of paths, bytes, or a binary file object. A list of AIX traces is
/// merged by time. The traces of a folder (in it and below it) or glob are one dataset: they are read one after another,
/// ordered by path, and ``file`` names the trace of a row. A trace that cannot be read is named in a
/// :class:`DamageWarning` and passed over.
///
/// ``formats`` has paths of format files, :class:`Source` or :class:`Formats`; later ones override earlier ones
/// and the built-in file, which ``builtin=False`` leaves out.
///
/// ``time_zero`` is the time at which the trace began, as a ``datetime`` with a time zone, if the trace does not contain it.
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
    signature = (source, *, formats=None, builtin=true, dialect=None, context=None, kind=None, follow=false,
        time_zero=None, strict=false),
    text_signature = "(source, *, formats=(), builtin=True, dialect=None, context=None, kind=None, follow=False, time_zero=None, strict=False)"
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
    time_zero: Option<&Bound<'_, PyAny>>,
    strict: bool,
) -> PyResult<Trace> {
    let worker = Worker::start()?;
    let time_zero = time_zero.map(utc_ns).transpose()?;
    let args = FormatArgs { formats, builtin, dialect, strict };
    let (formats, short_generic_word) = args.load(py, &worker)?;
    let mut options = ReadOptions { format: kind.map(trace_kind).transpose()?, ..ReadOptions::default() };
    (options.follow, options.short_generic_word) = (follow, short_generic_word);
    let given = InputArg::new(source, &options)?;
    if follow && matches!(given, InputArg::Dataset(_)) {
        return Err(PyValueError::new_err("follow=True needs a single trace, not a folder or glob"));
    }

    let context = context.map(|path| load_context(&path)).transpose()?;
    let raised = Raised::default();
    let OpenTrace { trace, release } = given.open_on(&worker, py, &options, &raised)?;
    let info = trace.info();
    let once = (!given.is_lasting()).then(|| Mutex::new(Some(trace)));
    let outcome = Mutex::new(None);
    let input = TraceInput {
        given,
        options,
        context,
        formats,
        info,
        release,
        strict,
        follow,
        time_zero,
        once,
        raised,
        outcome,
    };
    Ok(Trace { input: Arc::new(input) })
}

/// Opens a part of a trace. Only what precedes its first event is read.
///
/// ``formats``, ``builtin`` and ``dialect`` name the format files with which the trace was opened and split.
/// ``time_zero`` and ``strict`` are those of :func:`tfbc.open`. Other format files, and another or a changed input,
/// raise :class:`PartError`.
///
/// >>> import tfbc
/// >>> trace = tfbc.open(sample)
/// >>> texts = [event.text for part in trace.split(n=3) for event in tfbc.open_part(part)]
/// >>> texts == [event.text for event in trace]
/// True
#[pyfunction]
#[pyo3(
    signature = (part, *, formats=None, builtin=true, dialect=None, time_zero=None, strict=false),
    text_signature = "(part, *, formats=(), builtin=True, dialect=None, time_zero=None, strict=False)"
)]
pub fn open_part(
    py: Python<'_>,
    part: &Bound<'_, Part>,
    formats: Option<&Bound<'_, PyAny>>,
    builtin: bool,
    dialect: Option<&Bound<'_, PyDict>>,
    time_zero: Option<&Bound<'_, PyAny>>,
    strict: bool,
) -> PyResult<Trace> {
    let Part { split, info } = part.get();
    let worker = Worker::start()?;
    let time_zero = time_zero.map(utc_ns).transpose()?;
    let (formats, _) = FormatArgs { formats, builtin, dialect, strict }.load(py, &worker)?;
    split.check_formats(&formats).map_err(|error| part_error(split.input(), &error))?;
    let given = InputArg::Part(Arc::clone(split), info.number);
    // The split contains the options of the reader.
    let options = ReadOptions::default();
    let raised = Raised::default();
    let OpenTrace { trace, release } = given.open_on(&worker, py, &options, &raised)?;
    let input = TraceInput {
        given,
        options,
        context: None,
        formats,
        info: trace.info(),
        release,
        strict,
        follow: false,
        time_zero,
        once: None,
        raised,
        outcome: Mutex::new(None),
    };
    Ok(Trace { input: Arc::new(input) })
}

/// Paths of traces, and names of directories that cannot be read, each with the reason.
type FoundTraces = (Vec<PathBuf>, Vec<(String, String)>);

/// Names of the traces that a path, a folder or a glob means, and of directories that cannot be read, each with the
/// reason.
#[pyfunction]
#[pyo3(name = "_find_traces")]
pub fn find_traces(source: &Bound<'_, PyAny>) -> PyResult<FoundTraces> {
    match InputArg::new(source, &ReadOptions::default())? {
        InputArg::Files(paths) => Ok((paths, Vec::new())),
        InputArg::Dataset(dataset) => {
            let unreadable = dataset.unreadable.iter().map(|error| (error.name.clone(), error.why.clone()));
            Ok((dataset.traces.clone(), unreadable.collect()))
        }
        _ => Err(PyTypeError::new_err("expected a path")),
    }
}

/// Arguments of format files.
struct FormatArgs<'a, 'py> {
    pub formats: Option<&'a Bound<'py, PyAny>>,
    pub builtin: bool,
    pub dialect: Option<&'a Bound<'py, PyDict>>,
    pub strict: bool,
}

impl FormatArgs<'_, '_> {
    /// Loads the format files. The flag is true if the generic words of the trace are short.
    pub fn load(&self, py: Python<'_>, worker: &Worker) -> PyResult<(tfbc::Formats, bool)> {
        let (mut options, short_generic_word) = formats::options(self.dialect, &[], &[])?;
        (options.compile.keep_going, options.compile.codes_as_text) = (!self.strict, !self.strict);
        let own = match self.formats {
            None => Vec::new(),
            Some(one) if is_single(one) => formats::inputs(PyTuple::new(py, [one])?.as_any())?,
            Some(several) => formats::inputs(several)?,
        };
        let built_in = FormatInput::Path(PathBuf::from("default"));
        let inputs: Vec<FormatInput> = self.builtin.then_some(built_in).into_iter().chain(own).collect();
        let loaded = formats::load(py, worker, inputs, options)?;
        let formats = Formats { formats: loaded.map_err(|error| formats::refusal(py, error))? };
        warn_of_left_out(py, &formats)?;
        Ok((formats.formats, short_generic_word))
    }
}

/// True if the argument is one format file, not a list.
pub fn is_single(formats: &Bound<'_, PyAny>) -> bool {
    let is = |name| formats.hasattr(name).unwrap_or(false);
    formats.is_instance_of::<pyo3::types::PyString>()
        || is("__fspath__")
        || is("text")
        || formats.is_instance_of::<Formats>()
}

fn trace_kind(name: &str) -> PyResult<TraceKind> {
    let kinds = [AixKind::Stream32, AixKind::Stream64, AixKind::Log32, AixKind::Log64].map(TraceKind::Aix);
    kinds.into_iter().chain([TraceKind::Kev]).find(|kind| kind.name() == name).ok_or_else(|| {
        PyValueError::new_err(format!("unknown kind {name:?}: expected stream32, stream64, log32, log64 or kev"))
    })
}

/// Nanoseconds since 1970 of a `datetime` with a time zone.
fn utc_ns(time: &Bound<'_, PyAny>) -> PyResult<i128> {
    let py = time.py();
    let epoch = values::utc(py, 0)?;
    if time.getattr("tzinfo")?.is_none() {
        return Err(PyValueError::new_err("time_zero needs a time zone, such as datetime.timezone.utc"));
    }
    let delta = time.sub(epoch)?;
    let part = |name: &str| delta.getattr(name)?.extract::<i64>().map(i128::from);
    Ok(((part("days")? * 86_400 + part("seconds")?) * 1_000_000 + part("microseconds")?) * 1000)
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

#[pymethods]
impl Trace {
    /// Facts about the trace: ``name``, ``system``, ``kind``, ``size`` in bytes (``None`` if unknown), ``logs``.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let InputFacts { name, system, kind, size, n_logs } = self.input.facts();
        let info = PyDict::new(py);
        info.set_item("name", name)?;
        info.set_item("system", system)?;
        info.set_item("kind", kind)?;
        info.set_item("size", size)?;
        info.set_item("logs", n_logs)?;
        Ok(info)
    }

    /// Format files of the trace.
    #[getter]
    fn formats(&self) -> Formats {
        Formats { formats: self.input.formats.clone() }
    }

    /// Table with one row per event that ``tfbc report`` prints with the same filters.
    ///
    /// ``columns`` selects and orders its columns. ``only``, ``excluding``, ``pid``, ``tid``, ``cpu`` and ``exec`` are
    /// texts, numbers or lists of them, ``start`` and ``end`` seconds, and ``grep`` a regular expression for the text.
    /// ``portable=True`` has texts instead of dictionaries and decimals instead of ``uint64``, for engines that support
    /// only those.
    ///
    /// >>> import tfbc
    /// >>> events = tfbc.open(sample).events(only="134", columns=["id", "process"])
    /// >>> [batch.num_rows for batch in events.batches()]
    /// [3]
    #[pyo3(
        signature = (*, columns=None, only=Words::default(), excluding=Words::default(), pid=Words::default(),
            tid=Words::default(), cpu=Words::default(), exec=Words::default(), start=Seconds(None), end=Seconds(None),
            grep=None, defined=false, text=true, fields=true, batch_rows=8192, threads=None, portable=false),
        text_signature = "($self, *, columns=None, only=None, excluding=None, pid=None, tid=None, cpu=None, exec=None, start=None, end=None, grep=None, defined=False, text=True, fields=True, batch_rows=8192, threads=None, portable=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments of Python")]
    fn events(
        &self,
        columns: Option<Words>,
        only: Words,
        excluding: Words,
        pid: Words,
        tid: Words,
        cpu: Words,
        exec: Words,
        start: Seconds,
        end: Seconds,
        grep: Option<String>,
        defined: bool,
        text: bool,
        fields: bool,
        batch_rows: usize,
        threads: Option<NonZeroUsize>,
        portable: bool,
    ) -> PyResult<Table> {
        let selection = Selection { only, excluding, pid, tid, cpu, exec, start, end, grep, defined, threads };
        let contents = Contents::events(columns, text, fields)?;
        Table::new(Arc::clone(&self.input), contents, selection, batch_rows, portable)
    }

    /// Table of one event, with a column for each of its typed fields.
    ///
    /// Names and types depend only on the format files. The filters are those of :meth:`events`.
    ///
    /// >>> import tfbc
    /// >>> tfbc.open(sample).table("134").schema.names[-4:]
    /// ['cmd', 'cmd_2', 'cmd_2_text', 'arg_pid']
    #[pyo3(
        signature = (id, *, columns=None, pid=Words::default(), tid=Words::default(), cpu=Words::default(),
            exec=Words::default(), start=Seconds(None), end=Seconds(None), grep=None, batch_rows=8192, threads=None,
            portable=false),
        text_signature = "($self, id, *, columns=None, pid=None, tid=None, cpu=None, exec=None, start=None, end=None, grep=None, batch_rows=8192, threads=None, portable=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments of Python")]
    fn table(
        &self,
        id: &str,
        columns: Option<Words>,
        pid: Words,
        tid: Words,
        cpu: Words,
        exec: Words,
        start: Seconds,
        end: Seconds,
        grep: Option<String>,
        batch_rows: usize,
        threads: Option<NonZeroUsize>,
        portable: bool,
    ) -> PyResult<Table> {
        let NamedTable { event, only, .. } = self.input.table(id)?;
        let (excluding, defined) = (Words::default(), false);
        let selection = Selection { only, excluding, pid, tid, cpu, exec, start, end, grep, defined, threads };
        let contents = Contents::event(event, columns)?;
        Table::new(Arc::clone(&self.input), contents, selection, batch_rows, portable)
    }

    /// Tables of all events in the trace, by id. Reads the trace once to find the ids.
    ///
    /// The records of a QNX kernel call have a table per direction, such as ``KER_EXIT.MSG_SENDV``.
    fn tables(&self, py: Python<'_>) -> PyResult<BTreeMap<String, Table>> {
        let mut tables = BTreeMap::new();
        for id in table::ids(py, &self.input)? {
            let NamedTable { event, only, name } = self.input.table(&id)?;
            if tables.contains_key(&name) {
                continue;
            }
            let (contents, selection) = (Contents::event(event, None)?, Selection { only, ..Selection::default() });
            tables.insert(name, Table::new(Arc::clone(&self.input), contents, selection, 8192, false)?);
        }
        Ok(tables)
    }

    /// Table of damaged places, warnings and a summary.
    ///
    /// >>> import tfbc
    /// >>> tfbc.open(sample).notices().head(1)
    /// <tfbc.Table kind, file, offset, bytes, seq, time, elapsed_ns, cpu, count, message>
    fn notices(&self) -> PyResult<Table> {
        Table::new(Arc::clone(&self.input), Contents::Notices, Selection::default(), 8192, false)
    }

    /// Parts of the trace, which :func:`tfbc.open_part` opens in any process. Their rows, one part after another, are
    /// those of the trace.
    ///
    /// ``n`` is the maximum number of parts, or ``bytes`` their approximate size. Reads the trace once, without
    /// formatting it. Only a trace in one file that is not compressed has parts; for others, :class:`PartError` names
    /// the reason.
    ///
    /// >>> import tfbc
    /// >>> parts = tfbc.open(sample).split(n=3)
    /// >>> [part.n_events for part in parts]
    /// [97, 102, 100]
    #[pyo3(signature = (n=None, *, bytes=None))]
    fn split(&self, py: Python<'_>, n: Option<NonZeroU64>, bytes: Option<NonZeroU64>) -> PyResult<Vec<Part>> {
        let size = match (n, bytes) {
            (Some(n), None) => PartSize::Count(n),
            (None, Some(bytes)) => PartSize::Bytes(bytes),
            _ => return Err(PyTypeError::new_err("split() takes either n, a number of parts, or bytes=, their size")),
        };
        parts::split(py, &self.input, size)
    }

    /// Counts of the last complete pass over a table. If there was none, runs one.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = table::summary(py, &self.input)?;
        py.import("json")?.call_method1("loads", (json,))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<EventIterator> {
        EventIterator::new(py, &self.input)
    }

    fn __repr__(&self) -> String {
        let InputFacts { name, kind, .. } = self.input.facts();
        format!("<tfbc.Trace {name:?} ({kind})>")
    }

    fn _repr_html_(&self) -> String {
        html::pairs("tfbc.Trace", self.input.rows())
    }
}
