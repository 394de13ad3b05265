//! The walk over a report's logs: it advances clocks and context, chooses events, and runs the templates whose text
//! depends on the order of events.

use super::apart::without_margins;
use super::batch::{Batch, MAX_EVENTS};
use super::{PROGRESS_EVERY, ReportError, ReportOptions, layouts};
use crate::catalog::Catalog;
use crate::context::{ContextState, Facts};
use crate::engine::{Portion, Walk, ends_portion};
use crate::filter::Filter;
use crate::needs::{Deed, Plan};
use crate::reader::aix::{InPlace, LogInfo, LogItem, Logs, PASSED, Passage, TimedEvent, TraceState, Visit};
use crate::selection;
use std::convert::identity;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tfbc_vm::{Event, Job, Layout, Machine, Outcome, TextBuf, Timers};

/// The walk of one report.
pub(super) struct LogWalk<'w> {
    logs: &'w mut Logs,
    live: bool,
    taker: Taker<'w>,
}

/// What a walk counts.
pub(super) struct Walked {
    /// Events that were read.
    pub n_events: u64,
    /// Those of them that were put into batches.
    pub n_shown: u64,
    /// Damaged places.
    pub n_damaged: u64,
    /// Whether `$STOP` ended the walk.
    pub stopped: bool,
}

impl<'w> LogWalk<'w> {
    pub fn new(logs: &'w mut Logs, infos: &'w [LogInfo], catalog: &'w Catalog<'w>, options: &'w ReportOptions) -> Self {
        let mut plan = Plan::new(catalog, options);
        let live = logs.is_live();
        if !live
            && logs.is_merged()
            && let Some(ids) = plan.needs.ids.take()
        {
            logs.need(ids);
        }
        Self { logs, live, taker: Taker::new(plan, infos, catalog, options) }
    }

    /// What was counted.
    pub fn counts(&self) -> Walked {
        let Taker { n_events, n_shown, n_damaged, stopped, .. } = self.taker;
        Walked { n_events: n_events + self.logs.n_passed() % PASSED, n_shown, n_damaged, stopped }
    }

    /// Timers that were not kept, and processes and threads.
    pub fn lost(&self) -> (u64, u64) {
        (self.taker.timers.n_lost(), self.taker.context.n_lost())
    }

    /// The state of the system, as the trace told it so far.
    pub fn state(&self) -> &TraceState {
        &self.taker.state
    }

    fn fill_batch(&mut self, portion: &mut Portion<Batch>, mut waited: bool) -> Result<bool, ReportError> {
        let Self { logs, live, taker } = self;
        let Portion { events: batch, notices, waits, .. } = portion;
        let until = taker.n_events + PROGRESS_EVERY;
        while !batch.is_full(taker.max_events) && taker.n_events < until {
            taker.ordinary(logs, batch);
            if batch.is_full(taker.max_events) || logs.hands_over() {
                break;
            }
            if *live && !waited && logs.waits().map_err(ReportError::Read)? {
                *waits = true;
                break;
            }
            waited = false;
            match logs.next().map_err(ReportError::Read)? {
                Some(LogItem::Event(timed)) => taker.take(&timed, batch)?,
                Some(LogItem::Passed) => taker.n_events += PASSED,
                Some(LogItem::Notice { notice, .. }) => {
                    taker.n_damaged += u64::from(notice.damage);
                    notices.push(notice);
                    if ends_portion(taker.n_damaged, notices.len()) {
                        break;
                    }
                }
                None => return Ok(false),
            }
            if taker.stopped {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Walk for LogWalk<'_> {
    type Events = Batch;

    fn fill(&mut self, portion: &mut Portion<Batch>, waited: bool) -> Result<bool, ReportError> {
        portion.events.clear();
        self.taker.settings.forget();
        self.logs.lend(&mut portion.events.taken);
        let filled = self.fill_batch(portion, waited);
        self.logs.hand_over(&mut portion.events.taken);
        self.taker.n_shown += portion.events.events.len() as u64;
        portion.progress = (self.logs.progress(), self.taker.n_events);
        filled
    }
}

/// What takes events into batches.
struct Taker<'w> {
    catalog: &'w Catalog<'w>,
    options: &'w ReportOptions,
    infos: &'w [LogInfo],
    plan: Plan<'w>,
    max_events: usize,
    filter: Filter,
    /// Whether the filter asks for more than the hook id.
    by_facts: bool,
    /// Whether anything asks for the context.
    by_context: bool,
    state: TraceState,
    context: ContextState,
    settings: Settings,
    /// Layouts by level of the texts that are formatted here.
    layouts: [Layout; 5],
    machine: Machine,
    timers: Timers,
    text: TextBuf,
    n_events: u64,
    n_shown: u64,
    n_damaged: u64,
    stopped: bool,
}

impl<'w> Taker<'w> {
    fn new(plan: Plan<'w>, infos: &'w [LogInfo], catalog: &'w Catalog<'w>, options: &'w ReportOptions) -> Self {
        Self {
            max_events: options.batch.map_or(MAX_EVENTS, NonZeroUsize::get),
            filter: options.filter.clone(),
            by_facts: options.filter.asks_for_facts(),
            by_context: plan.needs.context,
            state: TraceState::default(),
            context: ContextState::within(
                Arc::clone(&options.context),
                Arc::clone(&options.names),
                options.tables.processes as usize,
                plan.needs.wanted,
            ),
            settings: Settings::new(),
            layouts: if options.has_lines() { layouts(&options.columns) } else { Default::default() },
            machine: Machine::new(options.limits),
            timers: Timers::with_max(options.tables.timers as usize),
            text: TextBuf::new(),
            n_events: 0,
            n_shown: 0,
            n_damaged: 0,
            stopped: false,
            catalog,
            options,
            infos,
            plan,
        }
    }

    /// Takes ordinary events in a row, as far as they are at hand.
    fn ordinary(&mut self, logs: &mut Logs, batch: &mut Batch) {
        let before = batch.events.len();
        let is_merged = logs.is_merged();
        let passage = match (self.by_context, is_merged) {
            (true, _) => self.ordinary_by_facts(logs, batch),
            (false, true) => self.merged_alike(logs, batch),
            (false, false) => self.ordinary_alike(logs, batch),
        };
        self.n_events += passage.n_events;
        if batch.events.len() > before && !is_merged {
            logs.hold(&passage);
            batch.n_held += passage.n_bytes;
        }
    }

    /// Takes them where nothing is asked of the events before: they share one setting.
    #[inline(never)]
    fn ordinary_alike(&mut self, logs: &mut Logs, batch: &mut Batch) -> Passage {
        let reported_cpus = self.infos[0].cpu.map(|_| 1);
        let setting = self.settings.without_context(0, reported_cpus, &self.state, batch);
        let max_events = self.max_events;
        logs.ordinary(
            batch.room(),
            self.plan.ways(),
            #[inline(always)]
            |timed, place| {
                batch.push(timed, place, setting);
                if batch.events.len() >= max_events { Visit::Last } else { Visit::Next }
            },
        )
    }

    /// The same of several logs: those of each share one setting.
    #[inline(never)]
    fn merged_alike(&mut self, logs: &mut Logs, batch: &mut Batch) -> Passage {
        let Self { plan, state, settings, max_events, .. } = self;
        logs.ordinary_merged(
            plan.ways(),
            #[inline(always)]
            |timed| {
                let setting = settings.without_context(timed.log, timed.reported_cpus, state, batch);
                batch.push_copy(timed, setting);
                if batch.is_full(*max_events) { Visit::Last } else { Visit::Next }
            },
        )
    }

    /// Takes them, and what they tell of processes and threads.
    #[inline(never)]
    fn ordinary_by_facts(&mut self, logs: &mut Logs, batch: &mut Batch) -> Passage {
        let Self { plan, filter, by_facts, state, context, settings, max_events, .. } = self;
        let room = batch.room();
        // It is an argument since closures may be marked there only.
        let mut visit = identity(
            #[inline(always)]
            |timed: &TimedEvent<'_>, place: Option<InPlace>| {
                // The header has not told yet when the trace began.
                if *by_facts && filter.asks_for_dates() {
                    return Visit::Leave;
                }
                context.advance(&timed.event);
                if *by_facts && !selection::admits(filter, state, context, timed).unwrap_or(false) {
                    return Visit::Next;
                }
                let setting = settings.by_context(timed, context, state, batch);
                match place {
                    Some(place) => batch.push(timed, place, setting),
                    None => batch.push_copy(timed, setting),
                }
                if batch.is_full(*max_events) { Visit::Last } else { Visit::Next }
            },
        );
        if logs.is_merged() {
            logs.ordinary_merged(
                plan.ways(),
                #[inline(always)]
                |timed| visit(timed, None),
            )
        } else {
            logs.ordinary(
                room,
                plan.ways(),
                #[inline(always)]
                |timed, place| visit(timed, Some(place)),
            )
        }
    }

    /// Takes in any event.
    fn take(&mut self, timed: &TimedEvent<'_>, batch: &mut Batch) -> Result<(), ReportError> {
        self.n_events += 1;
        if self.state.advance(&timed.event) {
            self.settings.forget();
        }
        if self.by_context {
            self.context.advance(&timed.event);
        }
        match self.plan.deed(timed.event.id) {
            Deed::Unknown | Deed::Nothing => {}
            Deed::Effects => drop(self.run(timed)),
            Deed::Show if self.admits(timed)? => self.push(timed, batch),
            Deed::ShowInOrder if self.admits(timed)? => self.show_in_order(timed, batch),
            Deed::Show => {}
            Deed::ShowInOrder if self.plan.needs.timers => drop(self.run(timed)),
            Deed::ShowInOrder => {}
        }
        Ok(())
    }

    /// Whether the filter admits an event for more than its id.
    fn admits(&mut self, timed: &TimedEvent<'_>) -> Result<bool, ReportError> {
        Ok(!self.by_facts || selection::admits(&mut self.filter, &self.state, &mut self.context, timed)?)
    }

    fn push(&mut self, timed: &TimedEvent<'_>, batch: &mut Batch) {
        let context = self.by_context.then_some(&mut self.context);
        let setting = self.settings.of(timed, context, &self.state, batch);
        batch.push_copy(timed, setting);
    }

    /// Takes an event with its text.
    fn show_in_order(&mut self, timed: &TimedEvent<'_>, batch: &mut Batch) {
        let Some((outcome, layout)) = self.run(timed) else { return };
        let text = self.text.as_bytes();
        if !outcome.skipped
            && let Some(wanted) = &self.options.grep
            && !wanted.is_match(&without_margins(text, layout))
        {
            return;
        }
        self.push(timed, batch);
        batch.push_ready(outcome, self.text.as_bytes());
        self.stopped |= outcome.stop;
    }

    /// Runs the template of an event, beside its columns.
    fn run(&mut self, timed: &TimedEvent<'_>) -> Option<(Outcome, Layout)> {
        let TimedEvent { event, time, .. } = timed;
        let entry = self.catalog.lookup(event.id)?;
        let layout = self.layouts[entry.level as usize];
        let (facts, paths) = self.context.facts_and_paths(event);
        let job = Job {
            event: &Event {
                bytes: event.bytes,
                wide: event.wide,
                record: None,
                time_ns: time.time_ns,
                offset: event.offset,
            },
            context: &self.state.system().context(&self.infos[timed.log], timed.reported_cpus, &facts, paths),
            timers: &mut self.timers,
            layout,
            line: 0,
            out: &mut self.text,
        };
        job.out.clear();
        Some((self.machine.run(self.catalog.program(entry), entry.hook, job), layout))
    }
}

/// Which settings of a batch hold for which events.
struct Settings {
    /// By log, where nothing asks for the context.
    by_log: Vec<Known>,
    /// Others by a mix of thread and log: events come back to the same few.
    known: Box<[Known; N_KNOWN]>,
    /// Counts batches and states of the system: what is known of earlier ones does not hold.
    generation: u64,
    /// Index in the batch of the system's state.
    system: Option<u32>,
}

const N_KNOWN: usize = 256;

/// A setting, and which events it holds for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Known {
    generation: u64,
    version: u64,
    tid: u64,
    cpu: Option<u64>,
    depth: u32,
    log: usize,
    reported_cpus: Option<u32>,
    index: u32,
}

impl Settings {
    fn new() -> Self {
        Self { by_log: Vec::new(), known: Box::new([Known::default(); N_KNOWN]), generation: 0, system: None }
    }

    /// The batch or the state of the system is another one from here on.
    fn forget(&mut self) {
        self.generation += 1;
        self.system = None;
    }

    /// The setting of an event that context, where anything asks for it, and state have taken in.
    fn of(
        &mut self,
        timed: &TimedEvent<'_>,
        context: Option<&mut ContextState>,
        state: &TraceState,
        batch: &mut Batch,
    ) -> u32 {
        match context {
            Some(context) => self.by_context(timed, context, state, batch),
            None => self.without_context(timed.log, timed.reported_cpus, state, batch),
        }
    }

    /// The setting of the events of a log, where nothing asks for the context.
    fn without_context(
        &mut self,
        log: usize,
        reported_cpus: Option<u32>,
        state: &TraceState,
        batch: &mut Batch,
    ) -> u32 {
        if log >= self.by_log.len() {
            self.by_log.resize(log + 1, Known::default());
        }
        let known = self.by_log[log];
        if known.generation == self.generation && known.reported_cpus == reported_cpus {
            return known.index;
        }
        let index = self.add(&Facts::default(), log, reported_cpus, state, batch);
        self.by_log[log] = Known { generation: self.generation, reported_cpus, index, ..Known::default() };
        index
    }

    fn by_context(
        &mut self,
        timed: &TimedEvent<'_>,
        context: &mut ContextState,
        state: &TraceState,
        batch: &mut Batch,
    ) -> u32 {
        let TimedEvent { event, log, reported_cpus, .. } = *timed;
        let place = ((event.tid ^ log as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize;
        let wanted = Known {
            generation: self.generation,
            version: context.version(),
            tid: event.tid,
            cpu: event.cpu,
            depth: context.depth_at(&timed.event),
            log,
            reported_cpus,
            index: self.known[place].index,
        };
        if self.known[place] == wanted {
            return wanted.index;
        }
        let index = self.add(&context.facts(&timed.event), log, reported_cpus, state, batch);
        self.known[place] = Known { index, ..wanted };
        index
    }

    fn add(
        &mut self,
        facts: &Facts<'_>,
        log: usize,
        reported_cpus: Option<u32>,
        state: &TraceState,
        batch: &mut Batch,
    ) -> u32 {
        let system = *self.system.get_or_insert_with(|| batch.push_system(state.system()));
        batch.push_setting(facts, log, reported_cpus, system)
    }
}
