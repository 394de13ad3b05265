//! Formatting of single events, without a trace.

use crate::events::{CopiedEvent, Event};
use crate::formats::{self, Formats};
use crate::trace::is_single;
use crate::worker::Worker;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tfbc::internal::templates::{Catalog, RecordPrinter};
use tfbc::internal::{FieldReader, KevRecord, event_label};
use tfbc::{EventId, LoadOptions, MaxWork};
use tfbc_vm::{Context, EventInput, Job, Layout, Limits, Machine, Outcome, TextBuf, Timers};

/// Formats one event, as ``tfbc event`` does. An AIX event is a hook word and its data, ``env`` is its width, 32 or 64.
/// A QNX event is the payload of a record; ``event_class`` and ``id`` are its class and event, by number or name.
///
/// >>> import tfbc
/// >>> source = tfbc.Source('015 1.0 "STATE" "state=" $D1%U4, 0 "off", 1 "on"', "state.trcfmt")
/// >>> event = tfbc.format_event(bytes.fromhex("01520000 00000001"), source, env=32)
/// >>> event.text, event.fields
/// ('STATE state=on', {'state': 1, 'state_text': 'on'})
#[pyfunction]
#[pyo3(signature = (data, formats, *, env=None, event_class=None, id=None))]
pub fn format_event(
    py: Python<'_>,
    data: Vec<u8>,
    formats: &Bound<'_, PyAny>,
    env: Option<u32>,
    event_class: Option<&Bound<'_, PyAny>>,
    id: Option<&Bound<'_, PyAny>>,
) -> PyResult<Event> {
    let inputs = match is_single(formats) {
        true => formats::inputs(PyTuple::new(py, [formats])?.as_any())?,
        false => formats::inputs(formats)?,
    };
    let loaded = formats::load(py, &Worker::start()?, inputs, LoadOptions::default())?;
    let formats = Formats { formats: loaded.map_err(|error| formats::refusal(py, error))? };
    let catalog = formats.formats.catalog();
    let word = |value: &Bound<'_, PyAny>| value.str()?.extract::<String>();
    let found = match (env, event_class, id) {
        (Some(32), None, None) => hook(catalog, &data, false),
        (Some(64), None, None) => hook(catalog, &data, true),
        (Some(env), None, None) => Err(format!("env is 32 or 64, found {env}")),
        (None, Some(class), Some(id)) => {
            EventId::of_record(&word(class)?, &word(id)?).map(|(class, event)| record(catalog, class, event, &data))
        }
        _ => {
            Err(String::from("which event? Give env=32 or env=64 for an AIX hook, event_class and id for a QNX event"))
        }
    };
    found.map(Event::without_trace).map_err(PyValueError::new_err)
}

fn hook(catalog: &Catalog<'_>, bytes: &[u8], wide: bool) -> Result<CopiedEvent, String> {
    let (env, word) = if wide { (64, 8) } else { (32, 4) };
    if bytes.len() < word {
        return Err(format!("{} bytes, expected at least the {word} of a hook word (env={env})", bytes.len()));
    }
    let event = tfbc_vm::Event { bytes, wide, record: None, time_ns: 0, offset: 0 };
    let id = event.hook_id();
    let entry = catalog.lookup(id).ok_or_else(|| format!("no stanza formats hook {}", EventId::Hook(id).name()))?;
    let program = catalog.program(entry);
    let context = Context { trace_env: env, ..Context::EMPTY };
    let (mut timers, mut out) = (Timers::new(), TextBuf::new());
    let mut reader = FieldReader::new(Limits::default(), MaxWork::default());
    let fields = reader.read(catalog, entry, &mut timers, &EventInput { event: &event, context: &context });
    let job = Job {
        event: &event,
        context: &context,
        timers: &mut timers,
        layout: Layout::default(),
        line: 0,
        out: &mut out,
    };
    let outcome = Machine::new(Limits::default()).run(program, entry.hook, job);
    let label = program.hook(entry.id()).map_or(&b""[..], |hook| hook.label);
    let label = String::from_utf8_lossy(label).into_owned();
    let mut found = CopiedEvent::without_trace(EventId::Hook(id).name(), label, out.as_bytes());
    (found.note, found.fields) = (note(outcome), fields);
    Ok(found)
}

fn record(catalog: &Catalog<'_>, class: u8, event: u16, bytes: &[u8]) -> CopiedEvent {
    let record = KevRecord { number: 1, offset: 0, class, event, cpu: 0, wide: false, stamp: 0, msb: None, bytes };
    let mut printer = RecordPrinter::new(catalog, false, None, Limits::default());
    let mut out = TextBuf::new();
    if !printer.definitions(&record, &mut out) {
        printer.arguments(&record, &mut out);
    }
    let label = event_label(None, class, event).unwrap_or_default().to_owned();
    let mut found = CopiedEvent::without_trace(EventId::Record(class, event).name(), label, out.as_bytes());
    found.fields = printer.list_fields(&record);
    found
}

/// Note of an event, as in its row.
fn note(outcome: Outcome) -> Option<&'static str> {
    let notes = [(outcome.truncated, "truncated"), (outcome.limited, "limit"), (outcome.refused, "refused")];
    notes.into_iter().find(|(applies, _)| *applies).map(|(_, note)| note)
}
