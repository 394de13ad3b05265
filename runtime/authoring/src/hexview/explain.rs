//! Hex views of single events, given by their bytes.

use super::{Recorder, View, show};
use tfbc::internal::KevRecord;
use tfbc::internal::templates::{Catalog, HookEntry, RecordPrinter};
use tfbc::{Formats, MaxWork};
use tfbc_compiler::BUILT_IN_STANZAS;
use tfbc_grammar::{Source, Sources};
use tfbc_vm::{Context, Event, Job, Layout, Limits, Machine, Space, TextBuf, Timers};

/// Views of one hook.
pub fn hook_views(
    catalog: &Catalog<'_>,
    set: &Formats,
    entry: &HookEntry,
    event: &Event<'_>,
    limits: Limits,
) -> Vec<View> {
    let program = catalog.program(entry);
    let (mut views, mut text, mut timers) = (Vec::new(), TextBuf::new(), Timers::new());
    let job = Job {
        event,
        context: &Context { trace_env: if event.wide { 64 } else { 32 }, ..Context::EMPTY },
        timers: &mut timers,
        layout: Layout::default(),
        line: 0,
        out: &mut text,
    };
    let mut recorder = Recorder::new(program, set.spans(), &mut views);
    Machine::new(limits).run_observed(program, entry.hook, job, &mut recorder);
    views
}

/// Views of one record, one for each definition.
pub fn record_views(
    catalog: &Catalog<'_>,
    set: &Formats,
    mut printer: RecordPrinter<'_>,
    record: &KevRecord<'_>,
) -> Vec<View> {
    let mut views = Vec::new();
    for entry in catalog.records(Space::Record, record.class, record.event) {
        let mut text = TextBuf::new();
        let mut recorder = Recorder::new(catalog.record_program(entry), set.spans(), &mut views);
        printer.one(entry, record, &mut text, &mut recorder);
    }
    views
}

/// Hex views of single events of a trace as text, for lists in which events are chosen.
pub struct Explainer {
    set: Formats,
    sources: Sources,
    limits: Limits,
    max_work: MaxWork,
}

impl Explainer {
    /// Explains events by format files that were loaded with `LoadOptions::plain`.
    pub fn new(set: Formats, limits: Limits, max_work: MaxWork) -> Self {
        let mut sources = set.findings().sources.clone();
        sources.add(Source::new("built-in", BUILT_IN_STANZAS));
        Self { set, sources, limits, max_work }
    }

    /// Bytes of an AIX event and the parts of its template; `None` if it has no template.
    pub fn hook(&self, bytes: &[u8], wide: bool) -> Option<String> {
        let event = Event { bytes, wide, record: None, time_ns: 0, offset: 0 };
        let catalog = self.set.catalog();
        let entry = catalog.lookup(event.hook_id())?;
        let steps = self.max_work.allowance(bytes.len() as u64).min(self.limits.steps.into()) as u32;
        self.text(hook_views(catalog, &self.set, entry, &event, Limits { steps, ..self.limits }))
    }

    /// Payload of a QNX record and the parts of its definition; `None` if it has no definition.
    pub fn record(&self, class: u8, event: u16, bytes: &[u8], big_endian: bool) -> Option<String> {
        let catalog = self.set.catalog();
        // Only combine records have more than two words.
        let wide = bytes.len() > 8;
        let record = KevRecord { number: 1, offset: 0, class, event, cpu: 0, wide, stamp: 0, msb: None, bytes };
        let printer = RecordPrinter::new(catalog, big_endian, None, self.limits).with_max_work(self.max_work);
        self.text(record_views(catalog, &self.set, printer, &record))
    }

    fn text(&self, views: Vec<View>) -> Option<String> {
        let fields = |view: &View| self.set.events().find(|event| event.id == view.id).map(|event| event.fields);
        let shown: Vec<String> =
            views.iter().map(|view| show(view, &self.sources, &fields(view).unwrap_or_default(), false)).collect();
        (!shown.is_empty()).then(|| shown.join("\n"))
    }
}
