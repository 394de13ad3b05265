//! Passes the events of a trace to the matcher, with what their fields need.

use super::fields::{Field, HookFields, RecordFields};
use super::formats::{HookTemplate, HookTemplates, RecordTemplate};
use super::matcher::Matcher;
use crate::machine::Machine;
use crate::{Observer, Options};
use std::cell::RefCell;
use std::sync::Arc;
use tfbc::EventId;
use tfbc::internal::analysis::{BuiltInEvents, ContextRules, Effect, KevHeader, LogInfo, Name, TimedEvent, hooks};
use tfbc::internal::expression::Operand;
use tfbc::internal::templates::{Catalog, RecordPrinter};
use tfbc::internal::{ContextState, KevRecord, TraceState};
use tfbc_vm::{Event, Limits};

/// Hook of a log that has wrapped.
const LOG_WRAP: u16 = 0x0050;

/// Matcher for the events of AIX.
pub struct HookPairs<'o> {
    matcher: Matcher<'o>,
    infos: Vec<LogInfo>,
    state: TraceState,
    context: ContextState,
    rules: ContextRules,
    templates: HookTemplates<'o>,
    /// True if fields from the effects of events are read.
    needs_effects: bool,
    /// True if texts are read, which may depend on timers.
    needs_text: bool,
}

impl<'o> HookPairs<'o> {
    pub fn new(matcher: Matcher<'o>, options: &Options, catalog: &'o Catalog<'o>, infos: &[LogInfo]) -> Self {
        let needs_effects = matcher.fields().any(|field| matches!(field, Field::Kind | Field::Errno));
        let needs_text = matcher.fields().any(Field::needs_format);
        Self {
            infos: infos.to_vec(),
            state: TraceState::default(),
            context: ContextState::new(Arc::clone(&options.context), Arc::clone(&options.names)),
            rules: ContextRules::new(Arc::clone(&options.context)),
            templates: HookTemplates::new(catalog),
            needs_effects,
            needs_text,
            matcher,
        }
    }

    pub fn into_matcher(self) -> Matcher<'o> {
        self.matcher
    }
}

impl Observer for HookPairs<'_> {
    fn hook(&mut self, timed: &TimedEvent<'_>, cpu: Option<Option<u64>>, machine: &mut Machine, _: &ContextRules) {
        let gaps = &machine.gap_starts;
        let event = &timed.event;
        self.state.advance(event);
        self.context.advance(event);
        let (mut kind, mut errno) = (None, None);
        if self.needs_effects || event.id == hooks::UTILITY {
            self.rules.visit(event, |_, effect| match effect {
                Effect::Raise { kind: Some(number), .. } => kind = Some(Operand::from(number)),
                Effect::Raise { name: Some(Name::Address(address)), .. } => {
                    kind = Some(Operand::Text(format!("{address:X}").into_bytes().into()));
                }
                Effect::Raise { name: Some(Name::Text(name)), .. } => kind = Some(Operand::from(name)),
                Effect::Return { errno: number, .. } => errno = number,
                _ => {}
            });
        }
        if matches!(event.id, hooks::ZERO | hooks::HEADER | hooks::UTILITY | LOG_WRAP) {
            return;
        }
        let of_timers = self.matcher.is_of_timers();
        let runs = (of_timers || self.needs_text) && self.templates.has_effects(event.id);
        if !runs && !self.matcher.names(EventId::Hook(event.id)) {
            return;
        }
        let now = timed.time.elapsed_ns;
        let hook = Event {
            bytes: event.bytes,
            wide: event.wide,
            record: None,
            time_ns: timed.time.time_ns,
            offset: event.offset,
        };
        let (facts, paths) = self.context.facts_and_paths(event);
        let context = self.state.system().context(&self.infos[timed.log], timed.reported_cpus, &facts, paths);
        self.templates.next();
        let uses = if runs { self.templates.run(&hook, &context) } else { Vec::new() };
        let mut template = HookTemplate { templates: &mut self.templates, event: &hook, context: &context };
        let format = RefCell::new(&mut template as &mut dyn super::fields::Format);
        let mut fields = HookFields { timed, facts, cpu, kind, errno, timer: None, format };
        if !of_timers {
            return self.matcher.take(&fields, now, gaps);
        }
        for timer in uses {
            fields.timer = Some(timer.key);
            self.matcher.take_timer(&fields, timer.is_end, now, gaps);
        }
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

    pub fn into_matcher(self) -> Matcher<'o> {
        self.matcher
    }
}

impl Observer for RecordPairs<'_> {
    fn record(&mut self, record: &KevRecord<'_>, now: u64, machine: &mut Machine, at: usize) {
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
