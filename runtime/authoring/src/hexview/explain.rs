//! Hex views of single events, given by their bytes.

use super::{Recorder, View, show};
use crate::cases::ProgramObserver;
use crate::record::GivenRecord;
use tfbc::{Formats, MaxWork};
use tfbc_compiler::BUILT_IN_STANZAS;
use tfbc_grammar::{Source, SourceId, Sources, Span};
use tfbc_vm::{Context, Event, Job, Layout, Limits, Machine, Observer, Program, TextBuf, Timers};

/// Views of one hook; `None` if it has no template.
pub fn hook_views(set: &Formats, event: &Event<'_>, limits: Limits) -> Option<Vec<View>> {
    let catalog = set.catalog();
    let entry = catalog.lookup(event.hook_id())?;
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
    Some(views)
}

/// Views of one record, one for each definition.
pub fn record_views(set: &Formats, record: &GivenRecord<'_>) -> Vec<View> {
    let mut views = ViewCollector::new(set);
    record.observe(set, &mut views);
    views.views
}

/// Observer that collects the views of events.
pub struct ViewCollector<'s> {
    places: &'s [Vec<(SourceId, Span)>],
    /// The views so far.
    pub views: Vec<View>,
}

impl<'s> ViewCollector<'s> {
    /// Starts without views.
    pub fn new(set: &'s Formats) -> Self {
        Self { places: set.spans(), views: Vec::new() }
    }
}

impl ProgramObserver for ViewCollector<'_> {
    fn observer(&mut self, program: &Program<'_>) -> impl Observer {
        Recorder::new(program, self.places, &mut self.views)
    }
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
        let steps = self.max_work.allowance(bytes.len() as u64).min(self.limits.steps.into()) as u32;
        self.text(hook_views(&self.set, &event, Limits { steps, ..self.limits })?)
    }

    /// Payload of a QNX record and the parts of its definition; `None` if it has no definition.
    pub fn record(&self, class: u8, event: u16, bytes: &[u8], big_endian: bool) -> Option<String> {
        // Only combine records have more than two words.
        let wide = bytes.len() > 8;
        let (limits, max_work) = (self.limits, self.max_work);
        self.text(record_views(&self.set, &GivenRecord { class, event, wide, big_endian, bytes, limits, max_work }))
    }

    fn text(&self, views: Vec<View>) -> Option<String> {
        let fields = |view: &View| self.set.events().find(|event| event.id == view.id).map(|event| event.fields);
        let shown: Vec<String> =
            views.iter().map(|view| show(view, &self.sources, &fields(view).unwrap_or_default(), false)).collect();
        (!shown.is_empty()).then(|| shown.join("\n"))
    }
}
