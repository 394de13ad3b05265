//! Templates of events: their texts, fields and timers.

use super::fields::FormattedEvent;
use tfbc::internal::templates::{Catalog, RecordPrinter};
use tfbc::internal::{FieldReader, KevRecord, Meter};
use tfbc::{Field, FieldValue, MaxWork};
use tfbc_vm::{Context, Event, EventInput, Layout, Limits, LineStart, Machine, TextBuf, TimerUse, Timers, Unobserved};

/// Runs the templates of AIX events.
pub struct HookTemplates<'c> {
    catalog: &'c Catalog<'c>,
    machine: Machine,
    meter: Meter,
    timers: Timers,
    text: TextBuf,
    fields: FieldReader,
    /// True if `text` and `uses` belong to the current event.
    is_ready: bool,
    /// Timers that the current event started and ended, in order.
    uses: Vec<TimerUse>,
}

impl<'c> HookTemplates<'c> {
    /// Creates a runner with the default limits.
    pub fn new(catalog: &'c Catalog<'c>) -> Self {
        let limits = Limits::default();
        let mut timers = Timers::new();
        timers.keep_uses();
        timers.keep_trail();
        Self {
            catalog,
            machine: Machine::new(limits),
            meter: Meter::new(MaxWork::default(), limits.steps),
            timers,
            text: TextBuf::new(),
            fields: FieldReader::new(limits, MaxWork::default()),
            is_ready: false,
            uses: Vec::new(),
        }
    }

    /// True if the template of a hook may set or end timers.
    pub fn has_effects(&self, id: u16) -> bool {
        self.catalog.lookup(id).is_some_and(|entry| entry.has_effects)
    }

    /// Clears the text and timers of the previous event.
    pub fn next(&mut self) {
        self.is_ready = false;
        self.uses.clear();
    }

    /// Prints an event, if that is not done yet.
    pub fn run(&mut self, event: &Event<'_>, context: &Context<'_>) {
        if std::mem::replace(&mut self.is_ready, true) {
            return;
        }
        self.text.clear();
        if let Some(trail) = self.timers.trail() {
            trail.timers.clear();
            trail.pids.clear();
        }
        if let Some(entry) = self.catalog.lookup(event.hook_id()) {
            self.meter.next(event.bytes.len() as u64);
            let mut run = self.machine.start(self.catalog.program(entry), &mut self.timers);
            let start = LineStart { layout: Layout::default(), line: 0 };
            self.meter.run(&mut run, entry.hook, EventInput { event, context }, start, &mut self.text, &mut Unobserved);
        }
        if let Some(uses) = self.timers.uses() {
            std::mem::swap(uses, &mut self.uses);
        }
    }

    /// Timers that the template of the current event started and ended, in order.
    pub fn uses(&self) -> &[TimerUse] {
        &self.uses
    }

    /// Fields of an event.
    fn fields(&mut self, event: &Event<'_>, context: &Context<'_>) -> Vec<Field> {
        let Some(entry) = self.catalog.lookup(event.hook_id()) else { return Vec::new() };
        // Reading the fields runs the template again, with the timers that the event found.
        let mut timers = match entry.has_effects {
            true => {
                self.run(event, context);
                Timers::before(self.timers.trail().map_or(&[], |trail| &trail.timers))
            }
            false => Timers::new(),
        };
        self.fields.read(self.catalog, entry, &mut timers, &EventInput { event, context })
    }

    /// Label of a hook's template.
    pub fn label(&self, id: u16) -> Option<String> {
        let entry = self.catalog.lookup(id)?;
        let hook = self.catalog.program(entry).hook(entry.id())?;
        Some(String::from_utf8_lossy(hook.label).trim_start_matches('@').to_owned()).filter(|label| !label.is_empty())
    }
}

/// AIX event with the runner of its template.
pub struct HookTemplate<'r, 'c, 'e> {
    pub templates: &'r mut HookTemplates<'c>,
    pub event: &'r Event<'e>,
    pub context: &'r Context<'e>,
}

impl FormattedEvent for HookTemplate<'_, '_, '_> {
    fn text(&mut self) -> Vec<u8> {
        self.templates.run(self.event, self.context);
        self.templates.text.as_bytes().trim_ascii().to_vec()
    }

    fn field(&mut self, name: &str) -> Option<FieldValue> {
        self.fields().into_iter().find(|field| field.name == name).map(|field| field.value)
    }
}

impl HookTemplate<'_, '_, '_> {
    /// Fields of the event.
    pub fn fields(&mut self) -> Vec<Field> {
        self.templates.fields(self.event, self.context)
    }
}

/// QNX record with the printer of its definitions.
pub struct RecordTemplate<'r, 'c> {
    pub printer: &'r mut RecordPrinter<'c>,
    pub record: &'r KevRecord<'r>,
}

impl FormattedEvent for RecordTemplate<'_, '_> {
    fn text(&mut self) -> Vec<u8> {
        let mut text = TextBuf::new();
        if !self.printer.definitions(self.record, &mut text) {
            self.printer.arguments(self.record, &mut text);
        }
        text.as_bytes().trim_ascii().to_vec()
    }

    fn field(&mut self, name: &str) -> Option<FieldValue> {
        let found = self.printer.list_fields(self.record);
        found.into_iter().find(|field| field.name == name).map(|field| field.value)
    }
}
