//! Bytes and fields of one event.

use crate::job::{Failure, Job, TraceSource};
use serde_json::{Value, json};
use std::io::{Read, Seek};
use tfbc::aix::AixKind;
use tfbc::internal::terminal::visible;
use tfbc::{EventId, FieldValue, Item, MaxWork, TraceKind};
use tfbc_authoring::hexview::Explainer;
use tfbc_vm::Limits;

/// Explains the event at a position of the trace: what it is, its fields, and which part of its template reads which
/// bytes.
pub fn event<R: Read + Seek + Send + 'static>(
    job: &Job,
    open: &impl Fn(usize) -> R,
    seq: u64,
) -> Result<Value, Failure> {
    let formats = job.load(false)?;
    let mut trace = job.open(open)?;
    let info = trace.info();
    let options = job.options(&trace, &formats)?;
    let mut events = trace.events(&formats).with_options(options).with_context();
    while let Some(item) = events.next().map_err(|error| Failure(error.to_string()))? {
        let Item::Event(event) = item else { continue };
        if event.seq() < seq {
            continue;
        }
        if event.seq() > seq {
            break;
        }
        let explainer = explainer(job)?;
        let bytes = match (event.event_id(), info.kind) {
            (EventId::Record(class, number), _) => {
                let is_big = info.qnx_header.as_ref().is_some_and(|header| header.big_endian);
                explainer.record(class, number, event.bytes(), is_big)
            }
            (EventId::Hook(_), kind) => {
                let is_wide = matches!(kind, TraceKind::Aix(AixKind::Stream64 | AixKind::Log64));
                explainer.hook(event.bytes(), is_wide)
            }
        };
        let fields: Vec<Value> = event.fields().iter().map(|field| json!([field.name, shown(&field.value)])).collect();
        return Ok(json!({
            "id": event.id(),
            "label": event.label(),
            "text": visible(&event.text()),
            "fields": fields,
            "bytes": bytes.map(|text| visible(&text).into_owned()).unwrap_or_else(|| dump(event.bytes())),
        }));
    }
    Err(Failure(format!("the report has no event {seq}")))
}

/// Explains pasted bytes as one event.
pub fn bytes(job: &Job) -> Result<Value, Failure> {
    let TraceSource::Pasted(bytes) = &job.trace else {
        return Err(Failure(String::from("only pasted bytes can be one event")));
    };
    let explainer = explainer(job)?;
    let text = match &*job.event {
        "32" | "64" => {
            let is_wide = job.event == "64";
            let word = if is_wide { 8 } else { 4 };
            if bytes.len() < word {
                let n = bytes.len();
                return Err(Failure(format!("{n} bytes, expected at least the {word} of a hook word")));
            }
            explainer.hook(bytes, is_wide).ok_or("no template applies to this hook")
        }
        event => {
            let (class, id) = event.split_once(':').unwrap_or((event, ""));
            let (class, id) = EventId::of_record(class.trim(), id.trim()).map_err(Failure)?;
            explainer.record(class, id, bytes, false).ok_or("no definition applies to this event")
        }
    };
    let text = text.map_err(|why| Failure(why.to_owned()))?;
    Ok(json!({ "bytes": visible(&text) }))
}

fn explainer(job: &Job) -> Result<Explainer, Failure> {
    Ok(Explainer::new(job.load(true)?, Limits::default(), MaxWork::default()))
}

/// Value of a field as text.
fn shown(value: &FieldValue) -> String {
    match value {
        FieldValue::Missing => String::new(),
        FieldValue::Bool(value) => value.to_string(),
        FieldValue::Integer(value) => value.to_string(),
        FieldValue::Float(value) => value.to_string(),
        FieldValue::Text(text) => visible(text).into_owned(),
        FieldValue::Timestamp(seconds) => format!("{seconds} s since 1970"),
        FieldValue::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        FieldValue::List(values) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", ")),
        FieldValue::Struct(fields) => {
            let parts = fields.iter().map(|field| format!("{}: {}", field.name, shown(&field.value)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Bytes of an event without a template.
fn dump(bytes: &[u8]) -> String {
    let line = |(at, line): (usize, &[u8])| {
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:04x}  {}\n", at * 16, hex.join(" "))
    };
    bytes.chunks(16).enumerate().map(line).collect()
}
