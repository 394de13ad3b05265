//! Passes the events of a trace to the matcher, with the data that their fields need.

use super::fields::{EventField, HookFields, RecordFields};
use super::formats::{HookTemplate, HookTemplates, RecordTemplate};
use super::matcher::Matcher;
use crate::machine::Machine;
use crate::{AnalysisOptions, EventCpu, InterruptRules, Observer};
use std::cell::RefCell;
use std::sync::Arc;
use tfbc::EventId;
use tfbc::internal::analysis::{
    BuiltInEvents, ContextRules, Effect, EffectName, KevHeader, LogInfo, ThreadContext, TimedEvent, hooks,
};
use tfbc::internal::expression::Operand;
use tfbc::internal::templates::{Catalog, RecordPrinter};
use tfbc::internal::{ContextState, KevRecord, TraceState};
use tfbc_vm::{Event, Limits, TimerUse};

/// Hook of a log that has wrapped.
const LOG_WRAP: u16 = 0x0050;

/// True for hooks that describe the trace.
fn is_header(id: u16) -> bool {
    matches!(id, hooks::ZERO | hooks::HEADER | hooks::UTILITY | LOG_WRAP)
}

/// Templates of AIX events, with the state that they read. It must see every event.
pub struct HookSource<'o> {
    infos: Vec<LogInfo>,
    state: TraceState,
    context: ContextState,
    templates: HookTemplates<'o>,
    /// True if texts are printed or timers are needed, so that templates that use timers must run.
    runs_timers: bool,
}

impl<'o> HookSource<'o> {
    pub fn new(options: &AnalysisOptions, catalog: &'o Catalog<'o>, infos: &[LogInfo], runs_timers: bool) -> Self {
        Self {
            infos: infos.to_vec(),
            state: TraceState::default(),
            context: ContextState::new(Arc::clone(&options.context), Arc::clone(&options.names)),
            templates: HookTemplates::new(catalog),
            runs_timers,
        }
    }

    /// Advances to an event.
    pub fn advance(&mut self, timed: &TimedEvent<'_>) {
        let event = &timed.event;
        self.state.advance(event);
        self.context.advance(event);
        self.templates.next();
        if self.runs_timers && !is_header(event.id) && self.templates.has_effects(event.id) {
            self.read(timed, |template, _| template.templates.run(template.event, template.context));
        }
    }

    /// Timers that the template of the current event started and ended.
    fn timers(&self) -> Vec<TimerUse> {
        self.templates.uses().to_vec()
    }

    /// Label of a hook's template.
    pub fn label(&self, id: u16) -> Option<String> {
        self.templates.label(id)
    }

    /// Calls `read` with the template of the current event, and the context of its thread.
    pub fn read<T>(
        &mut self,
        timed: &TimedEvent<'_>,
        read: impl FnOnce(&mut HookTemplate<'_, 'o, '_>, ThreadContext<'_>) -> T,
    ) -> T {
        let event = &timed.event;
        let hook = Event {
            bytes: event.bytes,
            wide: event.wide,
            record: None,
            time_ns: timed.time.time_ns,
            offset: event.offset,
        };
        let (facts, paths) = self.context.facts_and_paths(event);
        let context = self.state.system().context(&self.infos[timed.log], timed.reported_cpus, &facts, paths);
        read(&mut HookTemplate { templates: &mut self.templates, event: &hook, context: &context }, facts)
    }
}

/// Matcher for the events of AIX.
pub struct HookPairs<'o> {
    matcher: Matcher<'o>,
    /// True if fields from the effects of events are read.
    needs_effects: bool,
}

impl<'o> HookPairs<'o> {
    pub fn new(matcher: Matcher<'o>) -> Self {
        let needs_effects = matcher.fields().any(|field| matches!(field, EventField::Kind | EventField::Errno));
        Self { matcher, needs_effects }
    }

    /// True if templates that use timers must run for these pairs.
    pub fn runs_timers(&self) -> bool {
        self.matcher.is_of_timers() || self.matcher.fields().any(EventField::needs_format)
    }

    pub fn matcher(&self) -> &Matcher<'o> {
        &self.matcher
    }

    /// Takes an event, to which the source has advanced.
    pub fn take(
        &mut self,
        timed: &TimedEvent<'_>,
        cpu: EventCpu,
        machine: &Machine,
        rules: &ContextRules,
        source: &mut HookSource<'o>,
    ) {
        let event = &timed.event;
        let timers = if self.matcher.is_of_timers() { source.timers() } else { Vec::new() };
        let is_named = !is_header(event.id) && self.matcher.names(EventId::Hook(event.id));
        if timers.is_empty() && !is_named {
            return;
        }
        let (mut kind, mut errno) = (None, None);
        if self.needs_effects {
            rules.ruled(event).read(|effect| match effect {
                Effect::Raise { kind: Some(number), .. } => kind = Some(Operand::from(number)),
                Effect::Raise { name: Some(EffectName::Address(address)), .. } => {
                    kind = Some(Operand::Text(format!("{address:X}").into_bytes().into()));
                }
                Effect::Raise { name: Some(EffectName::Text(name)), .. } => kind = Some(Operand::from(name)),
                Effect::Return { errno: number, .. } => errno = number,
                _ => {}
            });
        }
        let (now, gaps, matcher) = (cpu.time(timed, machine), &machine.gap_starts, &mut self.matcher);
        let cpu = cpu.number(machine);
        source.read(timed, |template, facts| {
            let format = RefCell::new(template as &mut dyn super::fields::FormattedEvent);
            let mut fields = HookFields { timed, facts, cpu, kind, errno, timer: None, format };
            if is_named {
                matcher.take(&fields, now, gaps);
            }
            for timer in timers {
                fields.timer = Some(timer.key);
                matcher.take_timer(&fields, timer.is_end, now, gaps);
            }
        });
    }
}

/// Measures the pairs of a trace of AIX.
pub struct HookObserver<'o> {
    source: HookSource<'o>,
    pairs: HookPairs<'o>,
}

impl<'o> HookObserver<'o> {
    pub fn new(matcher: Matcher<'o>, options: &AnalysisOptions, catalog: &'o Catalog<'o>, infos: &[LogInfo]) -> Self {
        let pairs = HookPairs::new(matcher);
        Self { source: HookSource::new(options, catalog, infos, pairs.runs_timers()), pairs }
    }

    pub fn into_matcher(self) -> Matcher<'o> {
        self.pairs.matcher
    }
}

impl Observer for HookObserver<'_> {
    fn hook(&mut self, timed: &TimedEvent<'_>, cpu: EventCpu, machine: &mut Machine, rules: &ContextRules) {
        self.source.advance(timed);
        self.pairs.take(timed, cpu, machine, rules, &mut self.source);
    }
}

/// Matcher for the records of QNX.
pub struct RecordPairs<'o> {
    matcher: Matcher<'o>,
    printer: RecordPrinter<'o>,
    events: BuiltInEvents,
    big_endian: bool,
}

impl<'o> RecordPairs<'o> {
    pub fn new(matcher: Matcher<'o>, catalog: &'o Catalog<'o>, header: &KevHeader) -> Self {
        let (big_endian, release) = (header.big_endian, header.release);
        Self {
            matcher,
            printer: RecordPrinter::new(catalog, big_endian, release, Limits::default()),
            events: BuiltInEvents::of(release, big_endian),
            big_endian,
        }
    }

    pub fn matcher(&self) -> &Matcher<'o> {
        &self.matcher
    }

    pub fn into_matcher(self) -> Matcher<'o> {
        self.matcher
    }
}

impl Observer for RecordPairs<'_> {
    fn record(&mut self, record: &KevRecord<'_>, now: u64, machine: &mut Machine, at: usize, _: &dyn InterruptRules) {
        self.take(record, now, machine, at);
    }
}

impl RecordPairs<'_> {
    /// Matches a record.
    pub fn take(&mut self, record: &KevRecord<'_>, now: u64, machine: &Machine, at: usize) {
        if !self.matcher.names(EventId::Record(record.meant_class(), record.event)) {
            return;
        }
        let mut template = RecordTemplate { printer: &mut self.printer, record };
        let fields = RecordFields {
            record,
            big_endian: self.big_endian,
            events: self.events,
            machine,
            at,
            format: RefCell::new(&mut template),
        };
        self.matcher.take(&fields, now, &machine.gap_starts);
    }
}
