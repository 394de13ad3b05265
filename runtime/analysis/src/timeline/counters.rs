//! Counters of the context table.

use super::sink::{Track, TrackKind};
use super::slices::Slices;
use crate::latency::{EventField, Fields, FormattedEvent, RecordFields, subhook};
use crate::machine::Machine;
use crate::{AnalysisError, AnalysisOptions};
use std::cell::RefCell;
use std::collections::HashMap;
use tfbc::internal::KevRecord;
use tfbc::internal::analysis::{BuiltInEvents, KevHeader, TimedEvent};
use tfbc::internal::expression::{Bound, Operand, Verdict};
use tfbc::qnx::QnxRelease;
use tfbc::{EventId, FieldValue, System};

/// Limit on counters with a key.
const MAX_TRACKS: usize = 4096;

/// Counters of a trace.
#[derive(Default)]
pub struct Counters {
    counters: Vec<Counter>,
    release: Option<QnxRelease>,
    big_endian: bool,
    group: Option<u32>,
    tracks: HashMap<Vec<u8>, Track>,
}

struct Counter {
    name: String,
    events: Bound<EventField>,
    value: EventField,
    key: Option<EventField>,
}

/// Counters are read without templates.
struct NoFormat;

impl FormattedEvent for NoFormat {
    fn text(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn field(&mut self, _: &str) -> Option<FieldValue> {
        None
    }
}

impl Counters {
    /// Looks up the counters of the context table. `header` is that of a QNX log.
    pub fn new(options: &AnalysisOptions, header: Option<&KevHeader>) -> Result<Self, AnalysisError> {
        let system = if header.is_some() { System::Qnx } else { System::Aix };
        let release = header.and_then(|header| header.release);
        let field = |name: &str| {
            let field = EventField::parse(name, system, false)?;
            if field.needs_format()
                || (system == System::Aix && !matches!(field, EventField::Place(_) | EventField::Tid))
            {
                return Err(format!("a counter cannot read the field `{name}`: give a place such as D1"));
            }
            Ok(field)
        };
        let counters = options.context.counters(system).map(|rule| {
            Ok(Counter {
                name: rule.name.clone(),
                events: rule.events.bind(system, release, field)?,
                value: field(&rule.value)?,
                key: rule.key.as_deref().map(field).transpose()?,
            })
        });
        let counters = counters.collect::<Result<_, String>>();
        let counters = counters.map_err(|text| AnalysisError::Pairs(format!("--context: counter: {text}")))?;
        let big_endian = header.is_some_and(|header| header.big_endian);
        Ok(Self { counters, release, big_endian, ..Self::default() })
    }

    /// True if the context table has counters.
    pub fn has_any(&self) -> bool {
        !self.counters.is_empty()
    }

    pub fn hook(&mut self, timed: &TimedEvent<'_>, slices: &mut Slices<'_>) {
        let event = &timed.event;
        let id = EventId::Hook(event.id);
        if !self.counters.iter().any(|counter| counter.events.names(id)) {
            return;
        }
        let value = |field: &EventField| match field {
            EventField::Place(place) => place.read(event),
            EventField::Tid => Some(event.tid.into()),
            _ => None,
        };
        self.write(timed.time.elapsed_ns, id, || subhook(timed), value, slices);
    }

    pub fn record(&mut self, record: &KevRecord<'_>, now: u64, machine: &Machine, at: usize, slices: &mut Slices<'_>) {
        let id = EventId::Record(record.meant_class(), record.event);
        if !self.counters.iter().any(|counter| counter.events.names(id)) {
            return;
        }
        let mut format = NoFormat;
        let fields = RecordFields {
            record,
            big_endian: self.big_endian,
            events: BuiltInEvents::of(self.release, self.big_endian),
            machine,
            at,
            format: RefCell::new(&mut format),
        };
        self.write(now, id, || None, |field| fields.value(field), slices);
    }

    /// Writes the values of an event.
    fn write<'e>(
        &mut self,
        now: u64,
        id: EventId,
        subhook: impl Fn() -> Option<u16>,
        value: impl Fn(&EventField) -> Option<Operand<'e>>,
        slices: &mut Slices<'_>,
    ) {
        for counter in &self.counters {
            if counter.events.test(id, &subhook, &value) != Verdict::Yes {
                continue;
            }
            let Some(Operand::Number(number)) = value(&counter.value) else { continue };
            let mut name = counter.name.clone().into_bytes();
            match counter.key.as_ref().map(&value) {
                None => {}
                Some(None) => continue,
                Some(Some(Operand::Number(key))) => name.extend(format!(" {key}").bytes()),
                Some(Some(Operand::Text(key))) => name.extend([b" ", &key[..]].concat()),
            }
            if !self.tracks.contains_key(&name) {
                if self.tracks.len() >= MAX_TRACKS {
                    slices.n_left_out += u64::from(slices.is_in_span(now));
                    continue;
                }
                let group = *self.group.get_or_insert_with(|| slices.new_group(b"counters"));
                let track = slices.new_track(group, TrackKind::Counter, &name);
                self.tracks.insert(name.clone(), track);
            }
            slices.counter(self.tracks[&name], now, &name, number);
        }
    }
}
