//! Iteration over the events of a trace.
//!
//! ```text
//! EventIterator ─pending─> Slot <─ Event       Slot: number of an event of the current chunk, or a copy of it
//!       └─────── Core: the pass ──────┘
//! ```
//!
//! Events are formatted in chunks of a few thousand. An [`Event`] is no more than a number until it is used, and reads
//! its values from the chunk. Before the next chunk, the events that are still referenced are copied with their fields.
//! So a loop that drops its events pays nothing for fields.

use crate::dataset::Unreadable;
use crate::errors::{self, warn_of_damage};
use crate::input::{BegunTrace, TraceInput};
use crate::selection::report_options;
use crate::source::{self, Raised};
use crate::values;
use crate::worker::Worker;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDateTime, PyDict, PyString};
use self_cell::{MutBorrow, self_cell};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tfbc::{Events, Formats, Item, ReportError, Trace};

self_cell!(
    struct EventPass {
        owner: PassOwner,
        #[not_covariant]
        dependent: Events,
    }
);

struct PassOwner {
    trace: MutBorrow<Trace>,
    formats: Formats,
}

/// One pass over a trace, shared by the iterator and its events.
struct Core {
    name: String,
    reader: Mutex<Reader>,
    raised: Raised,
}

struct Reader {
    pass: EventPass,
    /// Number of events returned so far.
    n_returned: u64,
}

/// Result of a step of the pass.
enum PassStep {
    Event,
    /// Message of a damaged place.
    Damage(String),
    Warning,
    End,
}

/// Storage of an event: a position in the current chunk, or a copy.
struct EventStorage {
    /// The pass; `None` for an event without a trace.
    core: Option<Arc<Core>>,
    state: Mutex<SlotState>,
}

enum SlotState {
    /// Number of the event, counting those that the iterator returned.
    InChunk(u64),
    Copied(Box<CopiedEvent>),
    /// The pass failed before the event was copied.
    Lost,
}

/// Copy of an event.
#[derive(Default)]
pub struct CopiedEvent {
    seq: u64,
    unix_us: Option<i64>,
    pub note: Option<&'static str>,
    elapsed_ns: Option<i64>,
    cpu: Option<u64>,
    pid: Option<u64>,
    tid: Option<u64>,
    process: Option<String>,
    id: String,
    label: String,
    text: String,
    pub fields: Vec<tfbc::Field>,
}

impl CopiedEvent {
    /// Event without a trace.
    pub fn without_trace(id: String, label: String, text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
        Self { id, label, text, ..Self::default() }
    }

    fn new(event: &tfbc::Event<'_>) -> Self {
        Self {
            seq: event.seq(),
            unix_us: event.unix_us(),
            note: event.note(),
            elapsed_ns: event.elapsed_ns(),
            cpu: event.cpu(),
            pid: event.pid(),
            tid: event.tid(),
            process: event.executable().map(Cow::into_owned),
            id: event.id(),
            label: event.label().into_owned(),
            text: event.text().into_owned(),
            fields: event.fields(),
        }
    }
}

/// An event in its chunk, or a copy of it.
enum View<'e> {
    InChunk(tfbc::Event<'e>),
    Copied(&'e CopiedEvent),
}

impl Core {
    /// Starts a pass over an opened trace.
    fn new(begun: BegunTrace, input: &TraceInput) -> PyResult<Self> {
        let BegunTrace { trace, name, release } = begun;
        let every = tfbc_data::Selection::default();
        let found = report_options(&every, &input.formats, release, input.context.as_ref());
        let mut options = found.map_err(PyValueError::new_err)?;
        (options.aix.follow_context, options.qnx.follow_owners) = (true, true);
        let owner = PassOwner { trace: MutBorrow::new(trace), formats: input.formats.clone() };
        let pass = EventPass::new(owner, |owner| owner.trace.borrow_mut().events(&owner.formats).with_options(options));
        Ok(Self { name, reader: Mutex::new(Reader { pass, n_returned: 0 }), raised: Arc::clone(&input.raised) })
    }

    /// Steps to the next event if it is in memory.
    fn buffered_step(&self, py: Python<'_>) -> Option<Result<PassStep, ReportError>> {
        let mut reader = self.reader(py);
        reader.has_buffered().then(|| reader.step())
    }

    fn reader(&self, py: Python<'_>) -> MutexGuard<'_, Reader> {
        self.reader.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    fn has_buffered(&self) -> bool {
        self.pass.with_dependent(|_, events| events.has_buffered())
    }

    fn step(&mut self) -> Result<PassStep, ReportError> {
        let step = self.pass.with_dependent_mut(|_, events| {
            Ok(match events.next()? {
                Some(Item::Event(_)) => PassStep::Event,
                Some(Item::Notice(notice)) if notice.damage => PassStep::Damage(notice.message),
                Some(Item::Notice(_)) => PassStep::Warning,
                None => PassStep::End,
            })
        });
        self.n_returned += u64::from(matches!(step, Ok(PassStep::Event)));
        step
    }

    /// Calls a function with an event of the current chunk; `None` if it is no longer in memory.
    fn with_event<T>(&self, number: u64, read: impl FnOnce(tfbc::Event<'_>) -> T) -> Option<T> {
        let n_before = usize::try_from(self.n_returned.checked_sub(number)?).ok()?;
        self.pass.with_dependent(|_, events| events.recent(n_before).map(read))
    }
}

impl EventStorage {
    /// Calls a function with the event.
    fn read<T>(&self, py: Python<'_>, read: impl FnOnce(View<'_>) -> T) -> PyResult<T> {
        let state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let found = match &*state {
            SlotState::InChunk(number) => (self.core.as_ref())
                .and_then(|core| core.reader(py).with_event(*number, |event| read(View::InChunk(event)))),
            SlotState::Copied(copy) => Some(read(View::Copied(copy))),
            SlotState::Lost => None,
        };
        found.ok_or_else(|| errors::Error::new_err("the event is lost, because reading its trace failed"))
    }

    /// Copies the event, so that it outlives its chunk.
    fn copy(&self, py: Python<'_>) {
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let SlotState::InChunk(number) = *state {
            let core = self.core.as_ref();
            let copy = core.and_then(|core| core.reader(py).with_event(number, |event| CopiedEvent::new(&event)));
            *state = copy.map_or(SlotState::Lost, |copy| SlotState::Copied(Box::new(copy)));
        }
    }

    /// Calls a function with the event's fields, which are computed once and kept.
    fn with_fields<T>(&self, py: Python<'_>, read: impl FnOnce(&[tfbc::Field]) -> T) -> PyResult<T> {
        self.copy(py);
        self.read(py, |event| match event {
            View::Copied(copy) => read(&copy.fields),
            View::InChunk(event) => read(&event.fields()),
        })
    }
}

/// Iterator over the events of a trace, made by ``iter(trace)``.
#[pyclass(module = "tfbc", frozen)]
pub struct EventIterator {
    input: Arc<TraceInput>,
    state: Mutex<IteratorState>,
}

struct IteratorState {
    worker: Worker,
    /// Pass over the current trace; `None` at the end.
    core: Option<Arc<Core>>,
    /// Traces after the current one.
    rest: std::vec::IntoIter<Option<PathBuf>>,
    /// Traces that were passed over.
    unreadable: Vec<Unreadable>,
    /// Events of the current chunk that have been returned and may still be used.
    pending: Vec<Arc<EventStorage>>,
    n_damaged: u64,
    first_damage: Option<String>,
}

impl EventIterator {
    /// Starts a pass over a trace, or over the traces of a dataset.
    pub fn new(py: Python<'_>, input: &Arc<TraceInput>) -> PyResult<Self> {
        let mut state = IteratorState {
            worker: Worker::start()?,
            core: None,
            rest: input.traces().into_iter(),
            unreadable: input.unreadable(),
            pending: Vec::new(),
            n_damaged: 0,
            first_damage: None,
        };
        state.begin_next(py, input)?;
        Ok(Self { input: Arc::clone(input), state: Mutex::new(state) })
    }
}

impl IteratorState {
    /// Starts the pass over the next trace. A trace of a dataset that cannot be opened is passed over.
    fn begin_next(&mut self, py: Python<'_>, input: &TraceInput) -> PyResult<()> {
        self.core = None;
        for path in self.rest.by_ref() {
            if let Some(begun) = input.begin_readable(py, &self.worker, path, &mut self.unreadable)? {
                self.core = Some(Arc::new(Core::new(begun, input)?));
                break;
            }
        }
        Ok(())
    }

    /// Copies the events that Python code still refers to, before their chunk is reused.
    fn copy_kept_events(&mut self, py: Python<'_>) {
        for slot in self.pending.drain(..).filter(|slot| Arc::strong_count(slot) > 1) {
            slot.copy(py);
        }
    }

    /// Moves to the next event, and returns the pass that has it. `None` at the end.
    fn advance(&mut self, py: Python<'_>, input: &TraceInput) -> PyResult<Option<Arc<Core>>> {
        while let Some(core) = self.core.clone() {
            let step = match core.buffered_step(py) {
                Some(step) => step,
                None => {
                    self.copy_kept_events(py);
                    let core = Arc::clone(&core);
                    let job = move || core.reader.lock().unwrap_or_else(PoisonError::into_inner).step();
                    self.worker.run(py, job)?
                }
            };
            match step {
                Ok(PassStep::Event) => return Ok(Some(core)),
                Ok(PassStep::Damage(message)) => {
                    self.n_damaged += 1;
                    self.first_damage.get_or_insert(message);
                }
                Ok(PassStep::Warning) => {}
                Ok(PassStep::End) => {
                    self.report_damage(py, &core.name, input.strict)?;
                    self.begin_next(py, input)?;
                }
                Err(ReportError::Read(error)) if input.is_dataset() => {
                    self.unreadable.push(Unreadable { name: core.name.clone(), why: error.to_string() });
                    self.begin_next(py, input)?;
                }
                Err(error) => {
                    return Err(source::take(&core.raised).unwrap_or_else(|| errors::pass_error(&core.name, &error)));
                }
            }
        }
        input.warn_of_passed_over(py, &std::mem::take(&mut self.unreadable))?;
        Ok(None)
    }

    /// Warns of damage after the last event of a trace or, with `strict`, raises an exception.
    fn report_damage(&mut self, py: Python<'_>, name: &str, strict: bool) -> PyResult<()> {
        let n_damaged = std::mem::take(&mut self.n_damaged);
        let Some(first) = self.first_damage.take() else { return Ok(()) };
        let places = if n_damaged == 1 { "place" } else { "places" };
        warn_of_damage(py, format!("{name}: {n_damaged} damaged {places}; the first one: {first}"), strict)
    }
}

#[pymethods]
impl EventIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let core = match state.advance(py, &self.input) {
            Ok(Some(core)) => core,
            ended => {
                state.core = None;
                return ended.map(|_| None);
            }
        };
        let number = core.reader(py).n_returned;
        let slot = Arc::new(EventStorage { core: Some(core), state: Mutex::new(SlotState::InChunk(number)) });
        state.pending.push(Arc::clone(&slot));
        Ok(Some(Event { slot }))
    }
}

impl Drop for EventIterator {
    /// Copies the events that Python code still refers to, so that they do not keep the trace open.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        Python::try_attach(|py| state.copy_kept_events(py));
    }
}

/// One event of a trace.
///
/// ``event[name]`` is a value or field by its name, and ``dict(event)`` contains all of them. A value that the trace does
/// not contain is ``None``.
///
/// >>> import tfbc
/// >>> execs = [event for event in tfbc.open(sample) if event.label == "EXEC"]
/// >>> execs[0].fields
/// {'cmd': '/usr/bin/ls', 'cmd_2': None, 'cmd_2_text': None, 'arg_pid': 6418}
#[pyclass(module = "tfbc", frozen)]
pub struct Event {
    slot: Arc<EventStorage>,
}

/// Names of the values that every event has, in the order of `keys`.
const VALUES: [&str; 11] = ["seq", "time", "elapsed_ns", "cpu", "pid", "tid", "process", "id", "label", "text", "note"];

impl Event {
    /// Event without a trace.
    pub fn without_trace(event: CopiedEvent) -> Self {
        let state = Mutex::new(SlotState::Copied(Box::new(event)));
        Self { slot: Arc::new(EventStorage { core: None, state }) }
    }

    fn value<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(Some(match name {
            "seq" => self.seq(py)?.into_bound_py_any(py)?,
            "time" => self.time(py)?.into_bound_py_any(py)?,
            "note" => self.note(py)?.into_bound_py_any(py)?,
            "elapsed_ns" => self.elapsed_ns(py)?.into_bound_py_any(py)?,
            "cpu" => self.cpu(py)?.into_bound_py_any(py)?,
            "pid" => self.pid(py)?.into_bound_py_any(py)?,
            "tid" => self.tid(py)?.into_bound_py_any(py)?,
            "process" => self.process(py)?.into_bound_py_any(py)?,
            "id" => self.id(py)?.into_any(),
            "label" => self.label(py)?.into_any(),
            "text" => self.text(py)?.into_any(),
            _ => return Ok(None),
        }))
    }
}

#[pymethods]
impl Event {
    /// Position in the trace, from 0. Counts all events, even those in the header of the trace.
    #[getter]
    fn seq(&self, py: Python<'_>) -> PyResult<u64> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => event.seq(),
            View::Copied(copy) => copy.seq,
        })
    }

    /// Name of the trace, which distinguishes the events of a folder's traces. ``None`` without a trace.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.slot.core.as_ref().map(|core| core.name.as_str())
    }

    /// Time as a ``datetime`` in UTC.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDateTime>>> {
        let us = self.slot.read(py, |event| match event {
            View::InChunk(event) => event.unix_us(),
            View::Copied(copy) => copy.unix_us,
        })?;
        us.map(|us| values::utc(py, us)).transpose()
    }

    /// Reason why the text is incomplete, ``truncated``, ``limit`` or ``refused``.
    #[getter]
    fn note(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => event.note(),
            View::Copied(copy) => copy.note,
        })
    }

    /// Nanoseconds since the trace began.
    #[getter]
    fn elapsed_ns(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => event.elapsed_ns(),
            View::Copied(copy) => copy.elapsed_ns,
        })
    }

    /// CPU that recorded the event.
    #[getter]
    fn cpu(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => event.cpu(),
            View::Copied(copy) => copy.cpu,
        })
    }

    /// Process id.
    #[getter]
    fn pid(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => event.pid(),
            View::Copied(copy) => copy.pid,
        })
    }

    /// Thread id; for QNX, the thread's number in its process.
    #[getter]
    fn tid(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => event.tid(),
            View::Copied(copy) => copy.tid,
        })
    }

    /// Path of the executable; for QNX, name of the process.
    #[getter]
    fn process<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => event.executable().map(|name| PyString::new(py, &name)),
            View::Copied(copy) => copy.process.as_deref().map(|name| PyString::new(py, name)),
        })
    }

    /// Id as in reports: ``106``, or class and number such as ``USER:65``.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => PyString::new(py, &event.id()),
            View::Copied(copy) => PyString::new(py, &copy.id),
        })
    }

    /// Label of the event's template, or name of the QNX event; empty if there is none.
    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => PyString::new(py, &event.label()),
            View::Copied(copy) => PyString::new(py, &copy.label),
        })
    }

    /// Text that the event's template prints, without columns and margins.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.slot.read(py, |event| match event {
            View::InChunk(event) => PyString::new(py, &event.text()),
            View::Copied(copy) => PyString::new(py, &copy.text),
        })
    }

    /// Typed fields by name. They are computed when they are first used.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.slot.with_fields(py, |fields| values::dict(py, fields))?
    }

    /// Names of the event's values, followed by those of its fields.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let fields =
            self.slot.with_fields(py, |fields| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>())?;
        Ok(VALUES.into_iter().map(String::from).chain(fields).collect())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if let Some(value) = self.value(py, name)? {
            return Ok(value);
        }
        let find = |fields: &[tfbc::Field]| {
            fields.iter().find(|field| field.name == name).map(|field| values::value(py, &field.value))
        };
        self.slot.with_fields(py, find)?.unwrap_or_else(|| Err(PyKeyError::new_err(name.to_owned())))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.slot.read(py, |event| {
            let (id, label, text): (Cow<'_, str>, Cow<'_, str>, Cow<'_, str>) = match &event {
                View::InChunk(event) => (event.id().into(), event.label(), event.text()),
                View::Copied(copy) => ((&copy.id).into(), (&copy.label).into(), (&copy.text).into()),
            };
            let line = PyString::new(py, text.lines().next().unwrap_or_default());
            Ok(format!("<tfbc.Event {id} {label}: {}>", line.repr()?))
        })?
    }
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Core>();
};
