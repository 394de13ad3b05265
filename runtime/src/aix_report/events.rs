//! Events of AIX traces, one at a time.

use super::batch::{Batch, EventRef};
use super::line::{LineEnd, LineFormat, context_of};
use super::producer::{EventUse, LogProducer};
use super::{AixReportOptions, layouts};
use crate::catalog::Catalog;
use crate::context::ThreadContext;
use crate::engine::{StepResult, Stepper};
use crate::fields::{Field, FieldReader, FieldsForm};
use crate::monitor::ReportError;
use crate::reader::aix::{LogInfo, Logs};
use crate::row_facts::RowNote;
use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use tfbc_vm::{Context, EventInput};

/// Events of a trace with their texts.
pub(crate) struct AixEvents<'a> {
    steps: Stepper<LogProducer<'a>, LineFormat<'a>>,
    /// Index of the line to return next.
    next: usize,
    shared: Shared<'a>,
}

/// Data that all events share.
struct Shared<'a> {
    catalog: &'a Catalog<'a>,
    logs: &'a [LogInfo],
    fields: RefCell<FieldReader>,
}

/// One event.
#[derive(Clone, Copy)]
pub(crate) struct AixEvent<'e> {
    batch: &'e Batch,
    shown: &'e EventRef,
    line: &'e LineEnd,
    shared: &'e Shared<'e>,
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
        Self { steps: Stepper::new(producer, format, first), next: 0, shared: Shared { catalog, logs: infos, fields } }
    }

    /// Moves to the next event, notice or the end.
    #[inline]
    pub fn advance(&mut self) -> Result<StepResult, ReportError> {
        self.next += 1;
        while self.next >= self.steps.format.ends().len() {
            match self.steps.advance()? {
                StepResult::Text => self.next = 0,
                step => {
                    self.next = usize::MAX - 1;
                    return Ok(step);
                }
            }
        }
        Ok(StepResult::Text)
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
        self.at(self.next.checked_sub(n_before)?)
    }

    #[inline]
    fn at(&self, index: usize) -> Option<(&[u8], AixEvent<'_>)> {
        let ends = self.steps.format.ends();
        let line = ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| ends[before].end);
        // Each line ends in a newline, unless there are no texts.
        let end = line.end.saturating_sub(1).max(start);
        let text = self.steps.text().get(start as usize..end as usize)?;
        let batch = self.steps.events();
        let shown = batch.events.get(line.event as usize)?;
        let event = AixEvent { batch, shown, line, shared: &self.shared };
        Some((text, event))
    }
}

impl<'e> AixEvent<'e> {
    #[inline]
    pub fn id(&self) -> u16 {
        self.shown.id
    }

    pub fn label(&self) -> &'e [u8] {
        let Shared { catalog, .. } = self.shared;
        let entry = catalog.lookup(self.shown.id);
        let hook = entry.and_then(|entry| catalog.program(entry).hook(entry.id()));
        hook.map_or(&[], |hook| hook.label)
    }

    #[inline]
    pub fn time_ns(&self) -> u64 {
        self.shown.time_ns
    }

    #[inline]
    pub fn elapsed_ns(&self) -> u64 {
        self.shown.elapsed_ns
    }

    /// Position in the input, from 0.
    pub fn seq(&self) -> u64 {
        self.batch.origins.get(self.line.event as usize).map_or(0, |origin| origin.number.saturating_sub(1))
    }

    /// Microseconds since 1970.
    pub fn unix_us(&self) -> Option<i64> {
        self.batch.unix_us(self.line.event as usize)
    }

    pub fn note(&self) -> RowNote {
        self.line.note
    }

    /// Path of the executable.
    pub fn path(&self) -> Option<&'e [u8]> {
        Some(self.facts().path).filter(|path| !path.is_empty())
    }

    #[inline]
    pub fn tid(&self) -> u64 {
        self.shown.tid
    }

    fn facts(&self) -> ThreadContext<'e> {
        self.batch.facts(self.batch.shared_context(self.shown.setting), self.shown.tid)
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
        self.batch.hook(&self.batch.taken.bytes, self.shown).bytes
    }

    /// Runs the routine of the event's fields.
    pub fn fields(&self) -> Vec<Field> {
        let Self { batch, shown, shared: Shared { catalog, logs, fields }, .. } = self;
        let Some(entry) = catalog.lookup(shown.id) else { return Vec::new() };
        let (mut timers, processes) = batch.state_before(shown);
        let event = batch.hook(&batch.taken.bytes, shown);
        let context = Context { processes: &processes, ..context_of(batch, shown, logs) };
        fields.borrow_mut().read(catalog, entry, &mut timers, &EventInput { event: &event, context: &context })
    }
}
