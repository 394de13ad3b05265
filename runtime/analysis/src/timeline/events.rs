//! Instants: events that are shown with their texts and fields.

use super::sink::{Arg, Track, TrackKind};
use super::slices::Slices;
use super::{InstantChoice, TimelineOptions};
use crate::AnalysisError;
use crate::latency::{FormattedEvent, HookSource, subhook};
use crate::machine::Machine;
use std::collections::HashMap;
use tfbc::internal::KevRecord;
use tfbc::internal::analysis::{BuiltInEvents, KevHeader, TimedEvent, classes};
use tfbc::internal::expression::{Bound, Verdict};
use tfbc::internal::templates::{Catalog, RecordPrinter};
use tfbc::qnx::QnxRelease;
use tfbc::{EventId, Field, FieldValue, System};
use tfbc_vm::{Limits, TextBuf};

/// Limit on tracks of threads with events.
const MAX_TRACKS: usize = 1 << 16;
/// Limit on fields of an event that become arguments.
const MAX_FIELDS: usize = 32;

/// Instants of a trace.
#[derive(Default)]
pub struct Instants<'o> {
    hooks: Option<Hooks<'o>>,
    records: Option<Records<'o>>,
    group: Option<u32>,
    tracks: HashMap<u64, Track>,
}

struct Hooks<'o> {
    /// Events that are shown; `None` for those that have a template.
    chosen: Option<Bound<()>>,
    catalog: &'o Catalog<'o>,
}

struct Records<'o> {
    /// Events that are shown; `None` for the class USER.
    chosen: Option<Bound<()>>,
    catalog: &'o Catalog<'o>,
    printer: RecordPrinter<'o>,
    events: BuiltInEvents,
}

/// Looks up the events of a choice. `Err` if it shows none.
fn chosen(
    what: &TimelineOptions,
    system: System,
    release: Option<QnxRelease>,
) -> Result<Result<Option<Bound<()>>, ()>, AnalysisError> {
    if !what.tracks.contains(&"events") {
        return Ok(Err(()));
    }
    match &what.instants {
        InstantChoice::Never => Ok(Err(())),
        InstantChoice::Defined => Ok(if system == System::Qnx || what.has_formats { Ok(None) } else { Err(()) }),
        InstantChoice::Events(expression) => {
            let no_fields = |name: &str| Err(format!("conditions on fields such as `{name}` are not allowed here"));
            let bound = expression.bind(system, release, no_fields);
            Ok(Ok(Some(bound.map_err(|text| AnalysisError::Pairs(format!("--instants: {text}")))?)))
        }
    }
}

impl<'o> Instants<'o> {
    pub fn of_hooks(what: &TimelineOptions, catalog: &'o Catalog<'o>) -> Result<Self, AnalysisError> {
        let Ok(chosen) = chosen(what, System::Aix, None)? else { return Ok(Self::default()) };
        Ok(Self { hooks: Some(Hooks { chosen, catalog }), ..Self::default() })
    }

    /// True if events of AIX are shown.
    pub fn has_hooks(&self) -> bool {
        self.hooks.is_some()
    }

    pub fn of_records(
        what: &TimelineOptions,
        catalog: &'o Catalog<'o>,
        header: &KevHeader,
    ) -> Result<Self, AnalysisError> {
        let Ok(chosen) = chosen(what, System::Qnx, header.release)? else { return Ok(Self::default()) };
        let records = Records {
            chosen,
            catalog,
            printer: RecordPrinter::new(catalog, header.big_endian, header.release, Limits::default()),
            events: BuiltInEvents::of(header.release, header.big_endian),
        };
        Ok(Self { records: Some(records), ..Self::default() })
    }

    pub fn hook(&mut self, timed: &TimedEvent<'_>, source: &mut HookSource<'o>, slices: &mut Slices<'_>) {
        let Some(Hooks { chosen, catalog }) = &self.hooks else { return };
        let event = &timed.event;
        let is_shown = match chosen {
            None => catalog.defines(event.id),
            Some(chosen) => chosen.test(EventId::Hook(event.id), || subhook(timed), |()| None) == Verdict::Yes,
        };
        if !is_shown || !slices.is_in_span(timed.time.elapsed_ns) {
            return;
        }
        let (text, fields) = source.read(timed, |template, _| (template.text(), template.fields()));
        let label = source.label(event.id).unwrap_or_else(|| EventId::Hook(event.id).name());
        let instant = EventInstant { label: &label, text: &text, fields: &fields };
        self.write(event.tid, format!("tid {}", event.tid), timed.time.elapsed_ns, instant, slices);
    }

    pub fn record(&mut self, record: &KevRecord<'_>, now: u64, machine: &Machine, at: usize, slices: &mut Slices<'_>) {
        let Some(Records { chosen, catalog, printer, events }) = &mut self.records else { return };
        let class = record.meant_class();
        let is_shown = match chosen {
            None => class == classes::USER,
            Some(chosen) => chosen.test(EventId::Record(class, record.event), || None, |()| None) == Verdict::Yes,
        };
        if !is_shown || !slices.is_in_span(now) {
            return;
        }
        let mut text = TextBuf::new();
        if !printer.definitions(record, &mut text) {
            printer.arguments(record, &mut text);
        }
        let fields = printer.list_fields(record);
        let defined = catalog.names_of_record(class, record.event);
        let label = match events.label(class, record.event) {
            _ if !defined.is_empty() => defined,
            Some(label) => label.to_owned(),
            None => format!("{} {}", EventId::class_name(class).unwrap_or("class"), record.event),
        };
        let (id, name) = match machine.running_thread(at) {
            Some((id, _)) => (id, format!("tid {}.{}", id >> 32, id & 0xFFFF_FFFF)),
            None => (u64::MAX - 1 - at as u64, format!("CPU {}", record.cpu)),
        };
        let instant = EventInstant { label: &label, text: text.as_bytes().trim_ascii(), fields: &fields };
        self.write(id, name, now, instant, slices);
    }

    /// Writes an instant on the track of a thread, which is created with `name` before its first instant.
    fn write(&mut self, id: u64, name: String, now: u64, instant: EventInstant<'_>, slices: &mut Slices<'_>) {
        let group = *self.group.get_or_insert_with(|| slices.new_group(b"events"));
        let has_track = self.tracks.contains_key(&id) || self.tracks.len() < MAX_TRACKS;
        let (id, name) = if has_track { (id, name) } else { (u64::MAX, String::from("(others)")) };
        let new = || slices.new_track(group, TrackKind::Slices, name.as_bytes());
        let track = *self.tracks.entry(id).or_insert_with(new);
        let mut args: Vec<(&str, Arg<'_>)> = vec![("text", Arg::Text(instant.text))];
        args.extend(instant.fields.iter().take(MAX_FIELDS).filter_map(argument));
        let mut body = Vec::new();
        slices.sink.encode(instant.label.as_bytes(), "event", &args, &mut body);
        slices.instant(track, now, &body);
    }
}

/// Contents of an event's instant.
#[derive(Clone, Copy)]
struct EventInstant<'e> {
    label: &'e str,
    text: &'e [u8],
    fields: &'e [Field],
}

/// Name and value of a field as an argument; `None` if the event does not have it.
fn argument(field: &Field) -> Option<(&str, Arg<'_>)> {
    let value = match &field.value {
        FieldValue::Missing => return None,
        FieldValue::Bool(flag) => Arg::Flag(*flag),
        FieldValue::Integer(number) => Arg::Number(*number),
        FieldValue::Float(number) => Arg::Float(*number),
        _ => Arg::Text(field.text.as_bytes()),
    };
    Some((&field.name, value))
}
