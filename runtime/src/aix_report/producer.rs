//! First stage of an AIX report: reads the logs in order, advances clocks and context, selects events, and runs the
//! templates whose text depends on the order of events.

use super::batch::{Batch, MAX_EVENTS, SharedContext, SvcText};
use super::finish::Grep;
use super::line::{LineState, NO_PATHS};
use super::notes::EventNotes;
use super::options::{AixReportOptions, FieldPlacement};
use crate::catalog::Catalog;
use crate::conditions::{ConditionsNeed, HookConditions};
use crate::context::{ContextState, DepthAndSvc, RequiredContext, SvcRef, ThreadContext};
use crate::demand::{Disposition, EventPolicy};
use crate::engine::{Chunk, Producer};
use crate::fields::{FieldsForm, PreparedFields};
use crate::filter::Filter;
use crate::general_path;
use crate::monitor::{PROGRESS_EVERY, ReportError};
use crate::reader::aix::{
    BufferPos, EventSpan, FastEvent, FastPosition, LogInfo, LogItem, Logs, PASSED, RawEvent, SkipAction, SkipPolicy,
    StartTime, TimeScale, TimedEvent, TraceState, VisitResult, hooks,
};
use crate::reader::{Notice, RecordingGap};
use crate::selection;
use crate::split::state::AixState;
use crate::work::Meter;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tfbc_vm::{Event, EventInput, Layout, LineStart, Machine, Outcome, TextBuf, Timers, Unobserved};

/// Producer of the events of one report.
pub(super) struct LogProducer<'w> {
    logs: &'w mut Logs,
    live: bool,
    /// True if batches keep the [`Origin`](super::batch::Origin) per event.
    keeps_origins: bool,
    collector: Collector<'w>,
    /// State of the lines before the first event.
    first_line: LineState,
    /// Events before the part that is read.
    n_events_before: u64,
}

/// Use of the events that a producer collects.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventUse {
    /// True if batches contain all that is needed to compute the fields of their events.
    pub keeps_trails: bool,
    /// True if the state after an event serves any later report, with or without fields.
    pub keeps_state: bool,
    /// True if events that show gaps also cause notices.
    pub lists_gaps: bool,
    /// True if nothing reads the texts and fields of events.
    pub only_counts: bool,
    /// True if events are noted instead of being collected: batches stay empty.
    pub notes_events: bool,
}

/// State dropped because its table was full.
#[derive(Clone, Copy)]
pub(super) struct LostState {
    pub n_timers: u64,
    /// Processes and threads.
    pub n_processes: u64,
}

/// Counts of the events read.
pub(super) struct ProducerCounts {
    /// Events that were read.
    pub n_events: u64,
    /// Events put into batches.
    pub n_shown: u64,
    /// Damaged places.
    pub n_damaged: u64,
    /// Shown events that the producer formatted and that reached the report's work limit.
    pub n_over_work: u64,
    /// True if `$STOP` ended the run.
    pub stopped: bool,
}

impl<'w> LogProducer<'w> {
    /// Creates a producer.
    pub fn new(
        logs: &'w mut Logs,
        infos: &'w [LogInfo],
        catalog: &'w Catalog<'w>,
        options: &'w AixReportOptions,
        layouts: [Layout; 5],
        uses: EventUse,
    ) -> Self {
        let EventUse { keeps_trails, keeps_state, lists_gaps, only_counts, .. } = uses;
        // Texts and fields may also decide which events are shown.
        let only_counts = only_counts && options.grep.is_none() && options.conditions.is_none();
        let shows_fields = options.columns.has_fields() && !only_counts;
        let with_fields = shows_fields || options.conditions.is_some() || keeps_trails || keeps_state;
        let mut plan = EventPolicy::new(catalog, options, with_fields, only_counts || uses.notes_events);
        if uses.notes_events {
            plan = plan.running_for_effects();
        }
        if lists_gaps {
            plan = plan.visiting_gaps();
        }
        let live = logs.is_live();
        if !live
            && !options.delta_of_all
            && logs.is_merged()
            && !general_path::is_required()
            && let Some(ids) = plan.needs.ids.take()
        {
            logs.need(ids);
        }
        let mut collector = Collector::new(plan, infos, catalog, options, layouts);
        collector.gaps = lists_gaps.then(Gaps::default);
        collector.notes = uses.notes_events.then(|| Box::new(EventNotes::new(catalog)));
        let placement = FieldPlacement::of(options, &options.columns);
        collector.has_fields_first = placement.precedes_text();
        collector.fields = (shows_fields && placement != FieldPlacement::No).then(HashMap::default);
        if keeps_trails {
            collector.timers.keep_trail();
            // Fields may look up other paths than the text.
            collector.fields.get_or_insert_default();
        }
        let (mut first_line, mut n_events_before) = (LineState::default(), 0);
        if let Some(state) = logs.take_resumed() {
            n_events_before = state.n_events;
            let shown = |(id, _): &&(u16, u64)| options.shows(catalog, *id);
            first_line = LineState::after_heading(state.shown.iter().find(shown).map_or(0, |(_, elapsed)| *elapsed));
            collector.resume(*state);
        }
        Self { logs, live, collector, keeps_origins: false, first_line, n_events_before }
    }

    /// State of the lines before the first event.
    pub fn first_line(&self) -> LineState {
        self.first_line
    }

    /// Tracks the context whose parts any report may need.
    pub fn with_whole_context(mut self) -> Self {
        let Collector { options, context, .. } = &mut self.collector;
        let (table, names) = (Arc::clone(&options.context), Arc::clone(&options.names));
        *context = ContextState::within(table, names, options.tables.processes as usize, RequiredContext::ALL);
        self
    }

    /// The logs.
    pub fn logs(&mut self) -> &mut Logs {
        self.logs
    }

    /// Notes of the events, if the producer was created to take them.
    pub fn notes(&mut self) -> Option<&mut EventNotes<'w>> {
        self.collector.notes.as_deref_mut()
    }

    /// State after the last event. `shown` has, per hook, the elapsed time of the last event that was reported, the
    /// latest first.
    pub fn snapshot(&mut self, shown: Vec<(u16, u64)>) -> AixState {
        let Collector { n_events, state, start, context, timers, gaps, notes, .. } = &mut self.collector;
        if let Some(notes) = notes {
            notes.flush_timers(timers);
        }
        AixState {
            n_events: *n_events,
            system: (**state.system()).clone(),
            start: *start,
            context: context.snapshot(),
            timers: timers.running(),
            off_since_ns: gaps.as_ref().and_then(|gaps| gaps.off_since_ns),
            shown,
        }
    }

    /// Keeps the origins of events.
    pub fn with_origins(mut self) -> Self {
        self.keeps_origins = true;
        self
    }

    /// Keeps the origins of events, and stores their fields in the given form.
    pub fn for_rows(self, form: FieldsForm) -> Self {
        let mut producer = self.with_origins();
        let Collector { options, fields, fields_form, has_fields_first, has_only_fields, .. } = &mut producer.collector;
        if options.columns.has_fields() {
            fields.get_or_insert_default();
        }
        (*fields_form, *has_fields_first) = (form, *has_only_fields);
        producer
    }

    /// Counts so far.
    pub fn counts(&self) -> ProducerCounts {
        let Collector { n_events, n_shown, n_damaged, n_over_work, stopped, .. } = self.collector;
        let n_events = n_events + self.logs.n_passed() % PASSED - self.n_events_before;
        ProducerCounts { n_events, n_shown, n_damaged, n_over_work, stopped }
    }

    /// State lost so far.
    pub fn lost(&self) -> LostState {
        LostState { n_timers: self.collector.timers.n_lost(), n_processes: self.collector.context.n_lost() }
    }

    /// Start of the trace, if it is known.
    pub fn start(&self) -> Option<StartTime> {
        self.collector.start
    }

    /// Properties of the system that the trace has contained so far.
    pub fn state(&self) -> &TraceState {
        &self.collector.state
    }

    /// True if events can be read by [`LogProducer::step_fast`]: whether one is shown depends on its id alone.
    pub fn may_step_fast(&self) -> bool {
        let Collector { options, by_facts, grep, conditions, gaps, notes, .. } = &self.collector;
        let is_by_id = !by_facts && grep.is_none() && conditions.is_none();
        is_by_id && gaps.is_none() && notes.is_none() && !options.delta_of_all && !self.live
    }

    /// Determines how far [`LogProducer::step_fast`] may step; returns the position of the last event, and the scale of
    /// ticks.
    pub fn allow_fast_steps(&mut self) -> (FastPosition, TimeScale) {
        self.logs.allow_fast_steps();
        self.collector.n_bytes_passed = 0;
        (self.logs.fast_position(), self.logs.time_scale().unwrap_or_default())
    }

    /// Counts the bytes of the events since a position to which [`LogProducer::step_fast`] has moved. Returns the number
    /// of events.
    pub fn count_fast_steps(&mut self, start: FastPosition) -> u64 {
        let (n_events, n_bytes) = self.logs.fast_position().presented_since(start);
        self.collector.n_bytes_shown += n_bytes - self.collector.n_bytes_passed;
        n_events
    }

    /// Moves to the next event without a batch, if it is in the reader's buffer, in the most frequent encoding, and
    /// taken by `policy`.
    #[inline(always)]
    pub fn step_fast(&mut self, policy: &SkipPolicy) -> Option<FastEvent> {
        let Self { logs, collector, .. } = self;
        loop {
            let mut action = SkipAction::Leave;
            let found = logs.step_fast(
                #[inline(always)]
                |id| {
                    action = policy.of(id);
                    if action == SkipAction::Leave && collector.passes(id) {
                        action = SkipAction::Pass;
                    }
                    action != SkipAction::Leave
                },
            )?;
            if action == SkipAction::Take {
                if collector.by_context {
                    collector.context.advance(&logs.fast_event(&found).event);
                }
                return Some(found);
            }
            collector.n_bytes_passed += found.n_presented() as u64;
        }
    }

    /// Sets the largest number of events of a batch, which the options may limit further.
    pub fn set_max_events(&mut self, max: usize) {
        let Collector { options, max_events, .. } = &mut self.collector;
        *max_events = options.batch.map_or(max, |batch| batch.get().min(max));
    }

    /// Decodes the event to which [`LogProducer::step_fast`] moved again.
    pub fn last_fast(&self) -> Option<FastEvent> {
        self.logs.last_fast()
    }

    /// The event to which [`LogProducer::step_fast`] moved.
    #[inline(always)]
    pub fn fast_event(&self, found: &FastEvent) -> TimedEvent<'_> {
        self.logs.fast_event(found)
    }

    /// Context of that event, and its system call; unknown unless something needs the context.
    pub fn fast_facts(&self, found: &FastEvent) -> (ThreadContext<'_>, SvcRef<'_>) {
        let Collector { by_context, context, .. } = &self.collector;
        match by_context {
            true => context.facts_and_svc(found.tid, self.fast_event(found).event.cpu),
            false => (ThreadContext { tid: found.tid, ..ThreadContext::default() }, SvcRef::None),
        }
    }

    fn fill_batch(&mut self, chunk: &mut Chunk<Batch>, mut waited: bool) -> Result<bool, ReportError> {
        let Self { logs, live, collector, .. } = self;
        let until = collector.n_events + PROGRESS_EVERY;
        while !chunk.events.is_full(collector.max_events) && collector.n_events < until {
            collector.push_common(logs, &mut chunk.events);
            if chunk.events.is_full(collector.max_events) || logs.should_detach() {
                break;
            }
            if *live && !waited && logs.waits().map_err(ReportError::Read)? {
                chunk.waits = true;
                break;
            }
            waited = false;
            match logs.next().map_err(ReportError::Read)? {
                Some(LogItem::Event(timed)) => {
                    collector.process_event(&timed, &mut chunk.events)?;
                    if let Some(gaps) = &mut collector.gaps
                        && let Some(notice) = gaps.advance(&timed, collector.infos.len() == 1)
                    {
                        chunk.notices.push(Notice { n_before: logs.n_numbered(), ..notice });
                        // The notice comes before the next event and gets that event's time.
                        if chunk.ends_at_notice(collector.n_damaged) {
                            break;
                        }
                    }
                }
                Some(LogItem::Passed) => collector.n_events += PASSED,
                Some(LogItem::Notice { notice, .. }) => {
                    collector.n_damaged += u64::from(notice.damage);
                    chunk.notices.push(Notice { n_before: logs.n_numbered(), ..notice });
                    if chunk.ends_at_notice(collector.n_damaged) {
                        break;
                    }
                }
                None => return Ok(false),
            }
            if collector.stopped {
                return Ok(false);
            }
            chunk.slow = collector.slow.take();
            if chunk.slow.is_some() {
                break;
            }
        }
        Ok(true)
    }
}

impl Producer for LogProducer<'_> {
    type Storage = Batch;

    fn fill(&mut self, chunk: &mut Chunk<Batch>, waited: bool) -> Result<bool, ReportError> {
        chunk.events.clear();
        chunk.events.bytes_before = self.collector.n_bytes_shown;
        chunk.events.keeps_origins = self.keeps_origins;
        chunk.events.start = self.collector.start.map(|start| (start, 0));
        self.collector.settings.forget();
        self.logs.recycle(&mut chunk.events.taken);
        let filled = self.fill_batch(chunk, waited);
        self.logs.detach(&mut chunk.events.taken);
        self.collector.n_shown += chunk.events.events.len() as u64;
        self.collector.n_bytes_shown += chunk.events.n_bytes;
        chunk.progress = (self.logs.progress(), self.collector.n_events);
        filled
    }
}

/// Finder of the gaps that events show.
#[derive(Debug, Default)]
struct Gaps {
    /// Time at which the trace was switched off, in nanoseconds.
    off_since_ns: Option<u64>,
}

impl Gaps {
    /// Processes the next event that may show a gap. With one file per CPU, each file is switched off and on
    /// separately. So unless the log `is_alone`, only events without a CPU count.
    fn advance(&mut self, timed: &TimedEvent<'_>, is_alone: bool) -> Option<Notice> {
        let TimedEvent { event, time, .. } = timed;
        let (offset, of_all) = (event.offset, is_alone || event.cpu.is_none());
        let (n_missing, text) = match event.id {
            hooks::BUFFER_WRAP => {
                let n_missing = event.data_word(2);
                (
                    Some(n_missing),
                    format!("at offset {offset:#x}: events missing because the buffers were full: {n_missing}"),
                )
            }
            hooks::TRACE_OFF if of_all => {
                self.off_since_ns = Some(time.elapsed_ns);
                return None;
            }
            hooks::TRACE_ON if of_all => {
                let off_ns = time.elapsed_ns.saturating_sub(self.off_since_ns.take()?);
                (None, format!("at offset {offset:#x}: the trace was switched off for {off_ns} ns"))
            }
            _ => return None,
        };
        let cpu = event.cpu.and_then(|cpu| u32::try_from(cpu).ok());
        Some(Notice::warning(text).with_gap(RecordingGap { n_missing, offset, n_bytes: 0, cpu, is_event: true }))
    }
}

/// Filter and collector: selects events and adds them to a batch.
struct Collector<'w> {
    catalog: &'w Catalog<'w>,
    options: &'w AixReportOptions,
    infos: &'w [LogInfo],
    plan: EventPolicy<'w>,
    max_events: usize,
    filter: Filter,
    grep: Option<Grep>,
    conditions: Option<HookConditions<'w>>,
    /// True if the filter needs more than the hook id of an event.
    by_facts: bool,
    /// True if a column, filter or template needs the context.
    by_context: bool,
    /// True if batches have the context of their events.
    context_in_lines: bool,
    state: TraceState,
    start: Option<StartTime>,
    context: ContextState,
    settings: ContextCache,
    /// Layouts, by level, of the texts that the producer formats.
    layouts: [Layout; 5],
    machine: Machine,
    timers: Timers,
    /// Work of the templates that the producer runs.
    meter: Meter,
    /// Template that took most of the recent work, if it is slow.
    slow: Option<String>,
    text: TextBuf,
    /// Fields of the event that was formatted last.
    fields_json: TextBuf,
    fields_form: FieldsForm,
    /// Prepared fields by hook and environment; `None` if the report shows none.
    fields: Option<HashMap<(u16, usize), Option<PreparedFields<'w>>>>,
    /// True if the report shows fields and no text.
    has_only_fields: bool,
    /// True if fields precede the text, or if there is no text.
    has_fields_first: bool,
    /// Gaps in the recording, found by their events; `None` if the report does not list gaps.
    gaps: Option<Gaps>,
    /// Notes of the events that a report would show; `None` if they are collected.
    notes: Option<Box<EventNotes<'w>>>,
    /// Elapsed time of the last event other than header and utility events.
    last_elapsed_ns: u64,
    n_events: u64,
    n_shown: u64,
    n_bytes_shown: u64,
    /// Number of bytes of the events that [`LogProducer::step_fast`] skipped.
    n_bytes_passed: u64,
    n_damaged: u64,
    n_over_work: u64,
    stopped: bool,
}

impl<'w> Collector<'w> {
    fn new(
        plan: EventPolicy<'w>,
        infos: &'w [LogInfo],
        catalog: &'w Catalog<'w>,
        options: &'w AixReportOptions,
        layouts: [Layout; 5],
    ) -> Self {
        Self {
            max_events: options.batch.map_or(MAX_EVENTS, NonZeroUsize::get),
            filter: options.filter.clone(),
            grep: options.grep.as_ref().map(Grep::new),
            conditions: (options.conditions.as_ref())
                .map(|expression| HookConditions::new(catalog, expression, options.limits, options.max_work)),
            by_facts: options.filter.needs_context() || options.conditions.is_some(),
            by_context: plan.needs.context,
            context_in_lines: plan.needs.context_in_lines,
            state: TraceState::default(),
            start: None,
            context: ContextState::within(
                Arc::clone(&options.context),
                Arc::clone(&options.names),
                options.tables.processes as usize,
                plan.needs.wanted,
            ),
            settings: ContextCache::new(),
            layouts,
            machine: Machine::new(options.limits),
            timers: Timers::with_max(options.tables.timers as usize),
            meter: Meter::new(options.max_work, options.limits.steps),
            slow: None,
            text: TextBuf::new(),
            fields_json: TextBuf::new(),
            fields_form: FieldsForm::Json,
            fields: None,
            has_only_fields: !options.columns.has_text() && options.grep.is_none(),
            has_fields_first: false,
            gaps: None,
            notes: None,
            last_elapsed_ns: 0,
            n_events: 0,
            n_shown: 0,
            n_bytes_shown: 0,
            n_bytes_passed: 0,
            n_damaged: 0,
            n_over_work: 0,
            stopped: false,
            catalog,
            options,
            infos,
            plan,
        }
    }

    /// Sets the state before the first event.
    fn resume(&mut self, state: AixState) {
        let AixState { n_events, system, start, context, timers, off_since_ns, shown: _ } = state;
        (self.n_events, self.state, self.start) = (n_events, TraceState::resume(system), start);
        self.context.resume(context);
        self.timers.resume(&timers);
        if let Some(gaps) = &mut self.gaps {
            gaps.off_since_ns = off_since_ns;
        }
    }

    /// Fast path: adds a run of events in the common encodings, as long as they are in the buffer.
    fn push_common(&mut self, logs: &mut Logs, batch: &mut Batch) {
        // The delta of an event needs the time of every event before it, shown or not.
        if self.options.delta_of_all || self.notes.is_some() && self.conditions.is_some() {
            return;
        }
        if self.notes.is_some() {
            self.n_events += self.note_run(logs).n_events;
            return;
        }
        let before = batch.events.len();
        let span = match (self.by_facts, self.by_context) {
            (true, _) => self.push_run::<BY_FACTS>(logs, batch),
            (false, true) => self.push_run::<BY_CONTEXT>(logs, batch),
            (false, false) => self.push_run::<BY_LOG>(logs, batch),
        };
        self.n_events += span.n_events;
        if batch.events.len() > before && !logs.is_merged() {
            logs.retain(&span);
            batch.n_held += span.n_bytes;
        }
    }

    /// Adds the events of a run. `KIND` says what must be done for each of them.
    #[inline(never)]
    fn push_run<const KIND: u8>(&mut self, logs: &mut Logs, batch: &mut Batch) -> EventSpan {
        let Self {
            infos,
            plan,
            filter,
            conditions,
            by_context,
            context_in_lines,
            state,
            context,
            settings,
            timers,
            max_events,
            ..
        } = self;
        let (room, max_events) = (batch.room(), *max_events);
        let by_context = KIND == BY_FACTS && *by_context;
        let context_in_lines = KIND == BY_CONTEXT || KIND == BY_FACTS && *context_in_lines;
        let alone = (!context_in_lines && !logs.is_merged()).then(|| {
            let reported_cpus = infos[0].cpu.map(|_| 1);
            settings.without_context(0, reported_cpus, state, batch)
        });
        logs.visit_common(
            room,
            plan.policy(),
            #[inline(always)]
            |timed: &TimedEvent<'_>, place: Option<BufferPos>| {
                if KIND == BY_FACTS {
                    // Dates need the trace's start time, which the header event has not set yet.
                    if filter.has_dates() {
                        return VisitResult::Leave;
                    }
                    if by_context {
                        context.advance(&timed.event);
                    }
                    let RawEvent { tid, cpu, .. } = timed.event;
                    if !selection::admits_facts(filter, context, tid, cpu, timed.time.elapsed_ns) {
                        return VisitResult::Next;
                    }
                    if let Some(conditions) = conditions
                        && !meet(conditions, timed, state, infos, context, timers)
                    {
                        return VisitResult::Next;
                    }
                }
                let setting = match alone {
                    Some(setting) if KIND != BY_CONTEXT => setting,
                    _ if KIND == BY_CONTEXT => {
                        context.advance_fast(&timed.event);
                        settings.by_context(timed, place.is_some(), context, state, batch)
                    }
                    _ if context_in_lines => settings.of(timed, Some(context), state, batch),
                    _ => settings.without_context(timed.log, timed.reported_cpus, state, batch),
                };
                let is_full = match place {
                    Some(place) => {
                        batch.push(timed, place, setting);
                        batch.events.len() >= max_events || (KIND != BY_LOG && settings.fills_batch)
                    }
                    None => {
                        batch.push_copy(timed, setting);
                        batch.is_full(max_events)
                    }
                };
                if is_full { VisitResult::Last } else { VisitResult::Next }
            },
        )
    }

    /// Notes the events of a run, and runs their timers.
    #[inline(never)]
    fn note_run(&mut self, logs: &mut Logs) -> EventSpan {
        let Self { plan, context, notes, timers, .. } = self;
        let (Some(notes), Some(scale)) = (notes, logs.time_scale()) else { return EventSpan::default() };
        notes.begin_run(scale, context, timers);
        let policy = plan.policy();
        // The notes look at the policy only at the first events of an id.
        logs.visit_ticks(
            |_| SkipAction::Take,
            #[inline(always)]
            |event, ticks| notes.process(event, ticks, policy, context, timers),
        )
    }

    /// Processes one event of any encoding.
    fn process_event(&mut self, timed: &TimedEvent<'_>, batch: &mut Batch) -> Result<(), ReportError> {
        self.n_events += 1;
        batch.previous_ns = self.options.delta_of_all.then_some(self.last_elapsed_ns);
        if !matches!(timed.event.id, hooks::HEADER | hooks::UTILITY) {
            self.last_elapsed_ns = timed.time.elapsed_ns;
        }
        if self.state.advance(&timed.event) {
            self.settings.forget();
            self.note_start(timed, batch);
        }
        if self.by_context {
            self.context.advance(&timed.event);
        }
        match self.plan.disposition(timed.event.id) {
            Disposition::Unknown | Disposition::Nothing => {}
            Disposition::Effects => drop(self.run(timed, false)),
            Disposition::Show if self.admits(timed)? => self.push(timed, batch),
            Disposition::ShowInOrder if self.admits(timed)? => self.show_in_order(timed, batch),
            Disposition::Show => {}
            Disposition::ShowInOrder if self.plan.needs.timers => drop(self.run(timed, false)),
            Disposition::ShowInOrder => {}
        }
        Ok(())
    }

    /// True if events of an id are skipped.
    #[cold]
    fn passes(&self, id: u16) -> bool {
        self.plan.policy().of(id) == SkipAction::Pass
    }

    /// Sets the start time of the trace from the first event that contains it.
    #[cold]
    fn note_start(&mut self, timed: &TimedEvent<'_>, batch: &mut Batch) {
        if let (None, Some(seconds)) = (self.start, self.state.system().start_time) {
            let start = StartTime { seconds, time_ns: timed.time.time_ns };
            self.start = Some(start);
            batch.start = Some((start, batch.events.len()));
        }
    }

    /// True if the filter accepts an event whose id it accepts.
    fn admits(&mut self, timed: &TimedEvent<'_>) -> Result<bool, ReportError> {
        let Self { filter, conditions, infos, state, context, timers, .. } = self;
        let admits = !self.by_facts || selection::admits(filter, state, context, timed)?;
        let meets = |conditions| meet(conditions, timed, state, infos, context, timers);
        Ok(admits && conditions.as_mut().is_none_or(meets))
    }

    fn push(&mut self, timed: &TimedEvent<'_>, batch: &mut Batch) {
        if let Some(notes) = &mut self.notes {
            notes.note(timed, &mut self.context, &mut self.timers);
            return;
        }
        let context = self.context_in_lines.then_some(&mut self.context);
        let setting = self.settings.of(timed, context, &self.state, batch);
        batch.push_copy(timed, setting);
    }

    /// Formats an event in the producer, because its text depends on the order, and adds it with its text.
    fn show_in_order(&mut self, timed: &TimedEvent<'_>, batch: &mut Batch) {
        let Some(outcome) = self.run(timed, true) else { return };
        self.n_over_work += u64::from(outcome.limited && self.meter.limit().is_some());
        if self.notes.is_some() {
            self.stopped |= outcome.stop;
            if !outcome.skipped {
                self.push(timed, batch);
            }
            return;
        }
        self.push(timed, batch);
        // An event that did not run, since no steps are left, has no text: its line ends in its columns.
        let text = if self.meter.limit() == Some(0) { &[][..] } else { self.text.as_bytes() };
        batch.push_ready(outcome, text, self.fields_json.as_bytes());
        if let Some(trail) = self.timers.trail() {
            batch.push_trail(trail, self.context.paths());
        }
        self.stopped |= outcome.stop;
    }

    /// Runs the template of an event, without columns, and stores its fields if they are shown. `None` if it has no
    /// template, or if its text does not match the pattern.
    fn run(&mut self, timed: &TimedEvent<'_>, is_shown: bool) -> Option<Outcome> {
        let TimedEvent { event, time, .. } = timed;
        let entry = self.catalog.lookup(event.id)?;
        let layout = self.layouts[entry.level as usize];
        let (facts, paths) = self.context.facts_and_paths(event);
        let hook =
            Event { bytes: event.bytes, wide: event.wide, record: None, time_ns: time.time_ns, offset: event.offset };
        let context = self.state.system().context(&self.infos[timed.log], timed.reported_cpus, &facts, paths);
        self.text.clear();
        self.meter.next(event.bytes.len() as u64);
        if let Some(notes) = &mut self.notes {
            notes.flush_timers(&mut self.timers);
        }
        if let Some(trail) = self.timers.trail() {
            trail.timers.clear();
            trail.pids.clear();
        }
        let mut run = self.machine.start(self.catalog.program(entry), &mut self.timers);
        let start = LineStart { layout, line: 0 };
        let input = EventInput { event: &hook, context: &context };
        self.fields_json.clear();
        let env = hook.env_index();
        let fields = match &mut self.fields {
            Some(known) if is_shown => {
                known.entry((entry.id(), env)).or_insert_with(|| PreparedFields::new(self.catalog, entry, env)).as_ref()
            }
            _ => None,
        };
        let (form, is_trial) = (self.fields_form, !self.has_only_fields);
        // A text may end the timers that the fields read. Other fields after the text are stored only for kept events.
        let (first, last) = if self.has_fields_first || entry.has_effects { (fields, None) } else { (None, fields) };
        let of_fields = first.and_then(|fields| {
            self.meter.write_fields(&mut run, fields, form, &input, is_trial, &mut self.fields_json)
        });
        let outcome = match of_fields.filter(|_| self.has_only_fields) {
            Some(outcome) => {
                self.meter.take(0, 1);
                outcome
            }
            None => self.meter.run(&mut run, entry.hook, input, start, &mut self.text, &mut Unobserved),
        };
        if self.meter.take_slow() {
            self.slow = Some(self.catalog.name_of(event.id));
        }
        if !is_shown || outcome.skipped {
            return Some(outcome);
        }
        if let Some(wanted) = &self.grep
            && !wanted.is_match(self.text.as_bytes(), layout)
        {
            return None;
        }
        if let Some(fields) = last {
            self.meter.write_fields(&mut run, fields, form, &input, is_trial, &mut self.fields_json);
        }
        if self.fields.is_some() && self.fields_json.is_empty() {
            self.fields_json.push(form.none());
        }
        Some(outcome)
    }
}

/// True if an event, whose context is up to date, meets the conditions.
#[inline(never)]
fn meet(
    conditions: &mut HookConditions<'_>,
    timed: &TimedEvent<'_>,
    state: &TraceState,
    infos: &[LogInfo],
    context: &mut ContextState,
    timers: &mut Timers,
) -> bool {
    let TimedEvent { event, time, .. } = timed;
    let (facts, paths) = match conditions.needs() {
        ConditionsNeed::Nothing => (ThreadContext::default(), &NO_PATHS),
        ConditionsNeed::Cpu => {
            let cpu = context.cpu_of(event.tid, event.cpu);
            (ThreadContext { cpu, ..ThreadContext::default() }, &NO_PATHS)
        }
        ConditionsNeed::Everything => context.facts_and_paths(event),
    };
    let context = || state.system().context(&infos[timed.log], timed.reported_cpus, &facts, paths);
    conditions.select(event, time.time_ns, &facts, context, timers)
}

/// Kind of [`Collector::push_run`]: all events of a log share one context.
const BY_LOG: u8 = 0;
/// Kind of [`Collector::push_run`]: every event has a context of its own.
const BY_CONTEXT: u8 = 1;
/// Kind of [`Collector::push_run`]: every event must pass the filter.
const BY_FACTS: u8 = 2;

/// Cache that finds the [`SharedContext`] of an event in its batch.
struct ContextCache {
    /// By log; used if nothing needs the context.
    by_log: Vec<CachedContext>,
    /// Contexts by hash of thread and log; used if something needs the context. Events often return to the same few
    /// threads.
    known: Box<[CachedContext; N_KNOWN]>,
    /// Context of the last event, if something needs it.
    last: LastContext,
    /// True if the batch is full of contexts.
    fills_batch: bool,
    /// Incremented per batch and per change of the system properties, which makes older entries stale.
    generation: u64,
    /// Index in the batch of the system properties.
    system: Option<u32>,
}

const N_KNOWN: usize = 256;
/// Number of changes that no context reaches.
const STALE: u64 = u64::MAX;

/// Context of an event, with all that must be equal for the next event to share it.
#[derive(Debug, Clone, Copy)]
struct LastContext {
    tid: u64,
    cpu: Option<u64>,
    log: usize,
    reported_cpus: Option<u32>,
    /// Number of changes up to it; [`STALE`] if it is of no use.
    n_changes: u64,
    /// Version of all facts; [`STALE`] if it is of no use.
    version: u64,
    /// Index in [`ContextCache::known`].
    place: u8,
    /// Index in the batch.
    index: u32,
}

/// Last context of a thread.
#[derive(Debug, Clone, Copy, Default)]
struct CachedContext {
    key: ContextKey,
    /// Index of the context, and its parts.
    index: u32,
    context: SharedContext,
    svc_version: u64,
}

/// Key of events that have equal facts, except depth and system call.
#[derive(Debug, Clone, Copy, Default)]
struct ContextKey {
    generation: u64,
    version: u64,
    tid: u64,
    cpu: Option<u64>,
    log: usize,
    reported_cpus: Option<u32>,
}

impl PartialEq for ContextKey {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.tid == other.tid
            && self.version == other.version
            && self.generation == other.generation
            && self.cpu == other.cpu
            && self.log == other.log
            && self.reported_cpus == other.reported_cpus
    }
}

impl ContextCache {
    fn new() -> Self {
        Self {
            by_log: Vec::new(),
            known: Box::new([CachedContext::default(); N_KNOWN]),
            last: LastContext {
                tid: 0,
                cpu: None,
                log: 0,
                reported_cpus: None,
                n_changes: STALE,
                version: STALE,
                place: 0,
                index: 0,
            },
            fills_batch: false,
            generation: 0,
            system: None,
        }
    }

    /// Makes all entries stale, because the batch or the system properties changed.
    fn forget(&mut self) {
        self.generation += 1;
        (self.last.n_changes, self.last.version) = (STALE, STALE);
        self.system = None;
        self.fills_batch = false;
    }

    /// Index of the context of an event that `context` and `state` have already processed.
    fn of(
        &mut self,
        timed: &TimedEvent<'_>,
        context: Option<&mut ContextState>,
        state: &TraceState,
        batch: &mut Batch,
    ) -> u32 {
        match context {
            Some(context) => self.by_context(timed, false, context, state, batch),
            None => self.without_context(timed.log, timed.reported_cpus, state, batch),
        }
    }

    /// Index of the context that all events of a log share if no column or filter needs more.
    fn without_context(
        &mut self,
        log: usize,
        reported_cpus: Option<u32>,
        state: &TraceState,
        batch: &mut Batch,
    ) -> u32 {
        if log >= self.by_log.len() {
            self.by_log.resize(log + 1, CachedContext::default());
        }
        let known = self.by_log[log];
        let key = ContextKey { generation: self.generation, log, reported_cpus, ..ContextKey::default() };
        if known.key == key {
            return known.index;
        }
        let system = *self.system.get_or_insert_with(|| batch.push_system(state.system()));
        let thread = batch.push_thread(&ThreadContext::default(), log, reported_cpus, system);
        let context = SharedContext { thread, ..SharedContext::default() };
        self.by_log[log] = CachedContext { key, index: batch.push_context(context), ..CachedContext::default() };
        self.by_log[log].index
    }

    /// Index of the context of an event that `context` and `state` have already processed. `is_alone` is true if there
    /// is one log.
    #[inline(always)]
    fn by_context(
        &mut self,
        timed: &TimedEvent<'_>,
        is_alone: bool,
        context: &mut ContextState,
        state: &TraceState,
        batch: &mut Batch,
    ) -> u32 {
        let TimedEvent { event: RawEvent { tid, cpu, .. }, log, reported_cpus, .. } = *timed;
        let last = &self.last;
        let is_last =
            last.tid == tid && last.cpu == cpu && (is_alone || (last.log, last.reported_cpus) == (log, reported_cpus));
        let n_changes = context.n_changes();
        if is_last && last.n_changes == n_changes {
            return last.index;
        }
        let version = context.version_of_facts();
        if !is_last || last.version != version {
            let place = ((tid ^ log as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
            let of_thread = context.version(tid);
            let key = ContextKey { generation: self.generation, version: of_thread, tid, cpu, log, reported_cpus };
            if self.known[usize::from(place)].key != key {
                self.know_thread(place, tid, cpu, log, reported_cpus, context, state, batch);
            }
            self.last = LastContext { tid, cpu, log, reported_cpus, n_changes, version, place, index: 0 };
        }
        let known = &mut self.known[usize::from(self.last.place)];
        self.fills_batch |= known.update(context.depth_and_svc(tid, cpu), batch);
        (self.last.n_changes, self.last.index) = (n_changes, known.index);
        known.index
    }

    #[expect(clippy::too_many_arguments, reason = "a reference to values of the event would force it into memory")]
    #[inline(never)]
    fn know_thread(
        &mut self,
        place: u8,
        tid: u64,
        cpu: Option<u64>,
        log: usize,
        reported_cpus: Option<u32>,
        context: &mut ContextState,
        state: &TraceState,
        batch: &mut Batch,
    ) {
        let key =
            ContextKey { generation: self.generation, version: context.version(tid), tid, cpu, log, reported_cpus };
        let facts = context.facts_of(tid, cpu);
        let system = *self.system.get_or_insert_with(|| batch.push_system(state.system()));
        let thread = batch.push_thread(&facts, log, reported_cpus, system);
        let shared = SharedContext { thread, ..SharedContext::default() };
        self.known[usize::from(place)] =
            CachedContext { key, index: batch.push_context(shared), context: shared, svc_version: 0 };
        self.fills_batch = batch.is_full(usize::MAX);
    }
}

impl CachedContext {
    /// Updates depth and system call. Returns true if that filled the batch.
    #[inline(always)]
    fn update(&mut self, new: DepthAndSvc<'_>, batch: &mut Batch) -> bool {
        let has_new_svc = self.svc_version != new.svc_version;
        if self.context.depth == new.depth && !has_new_svc {
            return false;
        }
        let mut is_full = false;
        if has_new_svc {
            self.context.svc = new.svc.map_or(SvcText::None, |svc| batch.push_svc(svc));
            self.svc_version = new.svc_version;
            is_full = matches!(self.context.svc, SvcText::Name { .. }) && batch.has_many_names();
        }
        self.context.depth = new.depth;
        self.index = batch.push_context(self.context);
        is_full
    }
}
