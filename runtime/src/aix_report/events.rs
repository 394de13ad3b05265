//! Events of AIX traces, one at a time.

use super::batch::{Batch, EventRef, MAX_EVENTS, Position};
use super::line::{LineEnd, LineFormat, NO_PATHS, context_of};
use super::producer::{EventUse, LogProducer};
use super::{AixReportOptions, layouts};
use crate::catalog::Catalog;
use crate::context::{SvcRef, ThreadContext, svc_digits};
use crate::engine::{StepResult, Stepper};
use crate::fields::{Field, FieldReader, FieldsForm};
use crate::monitor::ReportError;
use crate::reader::aix::{
    FastEvent, FastPosition, LogInfo, Logs, RawEvent, SkipAction, SkipPolicy, TimeScale, TimedEvent,
};
use crate::row_facts::RowNote;
use crate::rows::micros;
use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use tfbc_vm::{Context, Env, Event, EventInput, Timers};

/// Events of a trace with their texts.
pub(crate) struct AixEvents<'a> {
    steps: Stepper<LogProducer<'a>, LineFormat<'a>>,
    /// Index of the line to return next.
    next: usize,
    /// Events that need no batch.
    fast: Box<FastSteps>,
    /// True if there may be such events.
    may_be_fast: bool,
    /// True if the current event has no batch.
    is_fast: bool,
    /// Scale of the ticks of such events.
    scale: TimeScale,
    shared: Shared<'a>,
}

/// Number of events of a batch between two runs of events without one.
const SMALL_BATCH: usize = 16;

/// State of steps without batches: nearly all events need only their id to be shown without texts.
#[derive(Default)]
struct FastSteps {
    /// Ids of the events that are only counted.
    policy: SkipPolicy,
    /// Position before the current run.
    start: FastPosition,
    /// Number of events of the last run.
    n_steps: u64,
    /// Number of events of the next batch.
    batch: usize,
    /// True if the last batch had events with new ids in the policy.
    has_learned: bool,
}

/// Data that all events share.
struct Shared<'a> {
    catalog: &'a Catalog<'a>,
    logs: &'a [LogInfo],
    fields: RefCell<FieldReader>,
    /// True if events have texts. Otherwise a template runs only to decide if its event is shown.
    has_texts: bool,
}

/// One event.
#[derive(Clone, Copy)]
pub(crate) struct AixEvent<'e> {
    source: Source<'e>,
    shared: &'e Shared<'e>,
}

#[derive(Clone, Copy)]
enum Source<'e> {
    Batch {
        batch: &'e Batch,
        shown: &'e EventRef,
        line: &'e LineEnd,
    },
    /// The reader is at the event, so its state is that of the event.
    Reader(&'e LogProducer<'e>, &'e TimeScale, FastEvent),
}

impl<'a> AixEvents<'a> {
    pub fn new(
        logs: &'a mut Logs,
        infos: &'a [LogInfo],
        catalog: &'a Catalog<'a>,
        options: &'a AixReportOptions,
        known_steps: &'a AtomicU64,
    ) -> Self {
        let layouts = layouts(&options.columns);
        let uses = EventUse { keeps_trails: true, ..EventUse::default() };
        let producer = LogProducer::new(logs, infos, catalog, options, layouts, uses).with_origins();
        let mut format = LineFormat::new(catalog, options, &options.columns, layouts, infos, known_steps);
        let producer = if options.columns.has_text() {
            format.collect_ends();
            producer
        } else {
            format.for_rows(FieldsForm::Json, false);
            producer.for_rows(FieldsForm::Json)
        };
        let first = producer.first_line();
        let fields = RefCell::new(FieldReader::new(options.limits, options.max_work));
        let has_texts = options.columns.has_text();
        let may_be_fast = !has_texts && producer.may_step_fast();
        Self {
            steps: Stepper::new(producer, format, first),
            next: 0,
            fast: Box::default(),
            may_be_fast,
            is_fast: false,
            scale: TimeScale::default(),
            shared: Shared { catalog, logs: infos, fields, has_texts },
        }
    }

    /// Moves to the next event, notice or the end.
    #[inline]
    pub fn advance(&mut self) -> Result<StepResult, ReportError> {
        self.next = self.next.wrapping_add(1);
        while self.next >= self.steps.format.ends().len() {
            if self.starts_fast_steps() {
                return Ok(StepResult::Text);
            }
            match self.steps.advance()? {
                StepResult::Text => {
                    self.learn();
                    self.next = 0;
                }
                step => {
                    self.next = usize::MAX - 1;
                    return Ok(step);
                }
            }
        }
        Ok(StepResult::Text)
    }

    /// Moves to the next event without a batch, if it needs none and all batches so far are used up.
    fn starts_fast_steps(&mut self) -> bool {
        let (fast, producer) = (&mut *self.fast, self.steps.producer_mut());
        if std::mem::take(&mut self.is_fast) {
            fast.n_steps = producer.count_fast_steps(fast.start);
        }
        if !self.may_be_fast || !self.steps.is_between_chunks() {
            return false;
        }
        // If few events are without a batch, larger batches cost less.
        let is_short = !fast.has_learned && fast.n_steps < 4 * fast.batch as u64;
        fast.batch = if is_short { (2 * fast.batch).min(MAX_EVENTS) } else { SMALL_BATCH };
        let producer = self.steps.producer_mut();
        producer.set_max_events(fast.batch);
        (fast.start, self.scale) = producer.allow_fast_steps();
        (fast.has_learned, fast.n_steps) = (false, 0);
        self.is_fast = producer.step_fast(&fast.policy).is_some();
        if self.is_fast {
            self.next = usize::MAX - 1;
        }
        self.is_fast
    }

    /// Notes which events of a batch were only counted.
    fn learn(&mut self) {
        if !self.may_be_fast {
            return;
        }
        let fast = &mut *self.fast;
        for event in &self.steps.events().events {
            let is_common = event.position == Position::BufferPos && usize::from(event.env) == Env::Hook64.index();
            if is_common && fast.policy.of(event.id) == SkipAction::Leave && self.steps.format.only_counts(event) {
                fast.policy.set(event.id, SkipAction::Take);
                fast.has_learned = true;
            }
        }
    }

    /// Moves to the next event, if it needs no batch and [`AixEvents::advance`] has moved to such an event before.
    #[inline(always)]
    pub fn step_fast(&mut self) -> Option<FastEvent> {
        // Events with texts need one test instead of the reader's.
        if !self.is_fast {
            return None;
        }
        self.steps.producer_mut().step_fast(&self.fast.policy)
    }

    /// An event without a batch.
    #[inline(always)]
    pub fn fast_event(&self, found: FastEvent) -> AixEvent<'_> {
        AixEvent { source: Source::Reader(self.steps.producer(), &self.scale, found), shared: &self.shared }
    }

    /// Moves to the next event of the chunk; false if there is none.
    #[inline(always)]
    pub fn step(&mut self) -> bool {
        let is_buffered = self.has_buffered();
        self.next = self.next.wrapping_add(is_buffered.into());
        is_buffered
    }

    /// True if the chunk has an event after the current one.
    #[inline]
    pub fn has_buffered(&self) -> bool {
        self.next.wrapping_add(1) < self.steps.format.ends().len()
    }

    /// Event of the chunk, `n_before` events before the current one, and its text.
    #[inline]
    pub fn recent(&self, n_before: usize) -> Option<(&[u8], AixEvent<'_>)> {
        if self.is_fast {
            let found = self.steps.producer().last_fast().filter(|_| n_before == 0)?;
            return Some((&[], self.fast_event(found)));
        }
        self.at(self.next.checked_sub(n_before)?)
    }

    #[inline]
    fn at(&self, index: usize) -> Option<(&[u8], AixEvent<'_>)> {
        let ends = self.steps.format.ends();
        let line = ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| ends[before].end);
        // Each line ends in a newline.
        let text = start as usize..line.end.saturating_sub(1).max(start) as usize;
        // Without texts, a template may still run to decide if its event is shown.
        let text = self.steps.text().get(if self.shared.has_texts { text } else { 0..0 })?;
        let batch = self.steps.events();
        let shown = batch.events.get(line.event as usize)?;
        Some((text, AixEvent { source: Source::Batch { batch, shown, line }, shared: &self.shared }))
    }
}

impl<'e> AixEvent<'e> {
    #[inline]
    pub fn id(&self) -> u16 {
        match &self.source {
            Source::Batch { shown, .. } => shown.id,
            Source::Reader(_, _, found) => found.id,
        }
    }

    pub fn label(&self) -> &'e [u8] {
        let Shared { catalog, .. } = self.shared;
        let entry = catalog.lookup(self.id());
        let hook = entry.and_then(|entry| catalog.program(entry).hook(entry.id()));
        hook.map_or(&[], |hook| hook.label)
    }

    #[inline]
    pub fn time_ns(&self) -> u64 {
        match &self.source {
            Source::Batch { shown, .. } => shown.time_ns,
            Source::Reader(_, scale, found) => scale.time(found.ticks).time_ns,
        }
    }

    #[inline]
    pub fn elapsed_ns(&self) -> u64 {
        match &self.source {
            Source::Batch { shown, .. } => shown.elapsed_ns,
            Source::Reader(_, scale, found) => scale.time(found.ticks).elapsed_ns,
        }
    }

    /// Position in the input, from 0.
    pub fn seq(&self) -> u64 {
        let number = match &self.source {
            Source::Batch { batch, line, .. } => {
                batch.origins.get(line.event as usize).map_or(0, |origin| origin.number)
            }
            Source::Reader(producer, _, found) => producer.fast_event(found).event.number,
        };
        number.saturating_sub(1)
    }

    /// Microseconds since 1970.
    pub fn unix_us(&self) -> Option<i64> {
        match &self.source {
            Source::Batch { batch, line, .. } => batch.unix_us(line.event as usize),
            Source::Reader(producer, ..) => Some(micros(producer.start()?.unix_ns(self.time_ns()))),
        }
    }

    pub fn note(&self) -> RowNote {
        match &self.source {
            Source::Batch { line, .. } if self.shared.has_texts => line.note,
            Source::Batch { .. } | Source::Reader(..) => RowNote::None,
        }
    }

    /// Path of the executable.
    pub fn path(&self) -> Option<&'e [u8]> {
        Some(self.facts().path).filter(|path| !path.is_empty())
    }

    #[inline]
    pub fn tid(&self) -> u64 {
        match &self.source {
            Source::Batch { shown, .. } => shown.tid,
            Source::Reader(_, _, found) => found.tid,
        }
    }

    fn facts(&self) -> ThreadContext<'e> {
        match &self.source {
            Source::Batch { batch, shown, .. } => batch.facts(batch.shared_context(shown.setting), shown.tid),
            Source::Reader(producer, _, found) => producer.fast_facts(found).0,
        }
    }

    pub fn cpu(&self) -> Option<u64> {
        self.facts().cpu
    }

    pub fn pid(&self) -> Option<u64> {
        self.facts().pid
    }

    pub fn process(&self) -> Option<&'e [u8]> {
        Some(self.facts().name).filter(|name| !name.is_empty())
    }

    #[inline]
    pub fn bytes(&self) -> &'e [u8] {
        match &self.source {
            Source::Batch { batch, shown, .. } => batch.hook(&batch.taken.bytes, shown).bytes,
            Source::Reader(producer, _, found) => producer.fast_event(found).event.bytes,
        }
    }

    /// Runs the routine of the event's fields.
    pub fn fields(&self) -> Vec<Field> {
        let Shared { catalog, logs, fields, .. } = self.shared;
        let Some(entry) = catalog.lookup(self.id()) else { return Vec::new() };
        let mut fields = fields.borrow_mut();
        match self.source {
            Source::Batch { batch, shown, .. } => {
                let (mut timers, processes) = batch.state_before(shown);
                let event = batch.hook(&batch.taken.bytes, shown);
                let context = Context { processes: &processes, ..context_of(batch, shown, logs) };
                fields.read(catalog, entry, &mut timers, &EventInput { event: &event, context: &context })
            }
            Source::Reader(producer, _, found) => {
                let TimedEvent { event, time, reported_cpus, .. } = producer.fast_event(&found);
                let RawEvent { bytes, wide, offset, .. } = event;
                let event = Event { bytes, wide, record: None, time_ns: time.time_ns, offset };
                let (facts, svc) = producer.fast_facts(&found);
                let (digits, n_digits);
                let svc = match svc {
                    SvcRef::None => &[],
                    SvcRef::Name { padded, len } => padded.get(..len).unwrap_or_default(),
                    SvcRef::Address(address) => {
                        (digits, n_digits) = svc_digits(address);
                        digits.get(..n_digits).unwrap_or_default()
                    }
                };
                let facts = ThreadContext { svc, ..facts };
                let context = producer.state().system().context(&logs[0], reported_cpus, &facts, &NO_PATHS);
                let input = EventInput { event: &event, context: &context };
                fields.read(catalog, entry, &mut Timers::new(), &input)
            }
        }
    }
}
