//! Notes about the events of a log that is split: what a report would show, without its text.
//!
//! Most of the state at a border depends on the last events only: a thread's system call, timers, and times per hook.
//! So an event that repeats the hook word of an earlier event of its thread replaces that event's note, and the timers
//! of a note start or end when somebody needs them.

use crate::catalog::Catalog;
use crate::context::{ContextState, Shortcut, ThreadFacts};
use crate::reader::Tally;
use crate::reader::aix::{RawEvent, SkipAction, SkipPolicy, TimeScale, TimedEvent, VisitResult};
use crate::split::index::{IndexBuilder, PartIndex};
use std::collections::HashMap;
use tfbc_vm::{Event, FlatTimers, Space, TimerUse, Timers};

/// Notes about the events of a log.
pub(super) struct EventNotes<'w> {
    catalog: &'w Catalog<'w>,
    shown: LastShown,
    /// Index of the events since the border before.
    index: IndexBuilder,
    /// Ticks of events that the index does not contain yet.
    ticks: TickRange,
    /// Scale of the ticks in the notes.
    scale: Option<TimeScale>,
    /// Thread of the last event.
    thread: CurrentThread,
    rows: Box<[ThreadRow; N_ROWS]>,
    /// Class of hooks by id: [`PLAIN`], [`LEFT`], [`UNKNOWN`], or 1 and the index in `hooks`.
    classes: Box<[u8; N_IDS]>,
    hooks: Vec<HookTimers>,
    /// Version of the context's effects for which the classes are valid.
    n_lookups: u64,
    /// Events whose timers change later.
    kept: Vec<KeptEvent>,
    /// Timers that they start or end, and their indices.
    kept_timers: Vec<KeptTimer>,
    timer_index: HashMap<[u64; 3], u32>,
    /// Maximum number of timers that they start or end.
    n_uses: usize,
    /// Number of the last event when the timers were changed.
    n_flushed: u64,
    /// Number of the part, from 1.
    part: u64,
}

/// Number of hook ids.
const N_IDS: usize = 1 << 16;
/// Class of hooks without effects.
const PLAIN: u8 = 0;
/// Number of classes. There are more hooks with effects only if somebody writes a table of them.
const N_CLASSES: usize = 32;
/// Class of hooks that are left to the machine, since there are too many.
const LEFT: u8 = 30;
/// Class of a hook before its first event, and of hooks that are passed.
const UNKNOWN: u8 = 31;
/// Number of threads with notes, by a hash of their ids.
const N_ROWS: usize = 256;
/// Not a common hook word.
const NO_WORD: u64 = u64::MAX;

/// CPU of events that have none. The number of a CPU has 32 bits.
const NO_CPU: u64 = u64::MAX;
/// CPU of no event.
const OTHER_CPU: u64 = u64::MAX - 1;

/// Thread that the next event probably belongs to.
struct CurrentThread {
    tid: u64,
    /// CPU of its events, or [`NO_CPU`]: one number takes one comparison.
    own_cpu: u64,
    /// Version of the context's facts for which the row is valid.
    version: u64,
    row: u8,
}

impl CurrentThread {
    /// No event since the border before.
    const UNKNOWN: Self = Self { tid: 0, own_cpu: OTHER_CPU, version: u64::MAX, row: 0 };
}

/// Notes about the events of a thread.
#[derive(Clone)]
struct ThreadRow {
    tid: u64,
    /// CPU of its events, or [`NO_CPU`].
    own_cpu: u64,
    facts: ThreadFacts,
    /// Version of the facts.
    version: u64,
    /// Part whose index contains CPU and process.
    part: u64,
    last: [LastEvent; N_CLASSES],
    /// A bit per class in [`EventNotes::kept`].
    kept: u32,
    /// A bit per class whose last event had no shortcut and no timers.
    slow: u32,
}

impl ThreadRow {
    const UNUSED: Self = Self {
        tid: 0,
        own_cpu: NO_CPU,
        facts: ThreadFacts::UNKNOWN,
        version: u64::MAX,
        part: 0,
        last: [LastEvent::NONE; N_CLASSES],
        kept: 0,
        slow: 0,
    };
}

/// Last event of a thread and a class.
#[derive(Clone, Copy)]
struct LastEvent {
    /// Hook word of the events to which `shortcut` applies, or [`NO_WORD`].
    repeated: u64,
    word: u64,
    /// Number in the log.
    number: u64,
    ticks: u64,
    shortcut: Shortcut,
    /// Environment and `$HD`, by which the timers are chosen.
    env: u8,
    hook_data: u16,
}

impl LastEvent {
    const NONE: Self =
        Self { repeated: NO_WORD, word: NO_WORD, number: 0, ticks: 0, shortcut: Shortcut::None, env: 0, hook_data: 0 };
}

/// Last event of a thread and a class, whose timers change later.
struct KeptEvent {
    row: u8,
    class: u8,
    /// Hook word of the event whose timers are listed.
    word: u64,
    /// Indexes of the timers, and true for those that it starts, in order.
    uses: Vec<(u32, bool)>,
}

/// Timer that kept events start or end.
struct KeptTimer {
    key: [u64; 3],
    /// Number of the last event that started or ended it.
    number: u64,
    /// Ticks of the event if it started the timer.
    start: Option<u64>,
}

/// Maximum number of timers of kept events.
const MAX_KEPT_TIMERS: usize = 1 << 12;

/// Timers of a hook.
struct HookTimers {
    /// True if its template starts or ends timers.
    has_timers: bool,
    /// Timers by environment; `None` if the routine must run.
    by_env: [Option<FlatTimers>; 4],
    /// Maximum number of timers that an event starts or ends.
    n_uses: usize,
}

impl<'w> EventNotes<'w> {
    pub fn new(catalog: &'w Catalog<'w>) -> Self {
        Self {
            catalog,
            shown: LastShown::new(),
            index: IndexBuilder::default(),
            ticks: TickRange::EMPTY,
            scale: None,
            thread: CurrentThread::UNKNOWN,
            rows: of_each(ThreadRow::UNUSED),
            classes: of_each(UNKNOWN),
            hooks: Vec::new(),
            n_lookups: 0,
            kept: Vec::new(),
            kept_timers: Vec::new(),
            timer_index: HashMap::new(),
            n_uses: 0,
            n_flushed: 0,
            part: 1,
        }
    }

    /// Number, in the log, of the last event; 0 if there is none.
    pub fn last_number(&self) -> u64 {
        self.shown.last_number
    }

    /// Hooks and the elapsed times of their last events, the latest first.
    pub fn last_shown(&mut self) -> Vec<(u16, u64)> {
        self.convert_ticks();
        self.shown.list()
    }

    /// Prepares for a run of events: the scale of their ticks, and the context before them.
    pub fn begin_run(&mut self, scale: TimeScale, context: &mut ContextState, timers: &mut Timers) {
        context.settle();
        if self.thread.version != context.version_of_facts() {
            self.thread = CurrentThread::UNKNOWN;
        }
        let has_other_effects = self.n_lookups != context.n_lookups();
        if self.scale != Some(scale) || has_other_effects {
            self.convert_ticks();
            self.flush_timers(timers);
            self.scale = Some(scale);
        }
        // Templates may have started timers since the last run.
        if !timers.has_room(self.n_uses) {
            self.forget_kept(timers);
        }
        if has_other_effects {
            self.forget_kept(timers);
            self.hooks.clear();
            self.classes.fill(UNKNOWN);
            self.rows.fill(ThreadRow::UNUSED);
            self.thread = CurrentThread::UNKNOWN;
            self.n_lookups = context.n_lookups();
        }
    }

    /// Processes an event of a run. Leaves it, and changes nothing, if `policy` does, or if its template must run.
    #[inline(always)]
    pub fn process(
        &mut self,
        event: &RawEvent<'_>,
        ticks: u64,
        policy: &SkipPolicy,
        context: &mut ContextState,
        timers: &mut Timers,
    ) -> VisitResult {
        let RawEvent { number, id, bytes, wide, tid, cpu, .. } = *event;
        // Facts change on the slow paths only, after which the thread is found again.
        let is_same = self.thread.tid == tid && self.thread.own_cpu == cpu.unwrap_or(NO_CPU);
        let class = self.classes[usize::from(id)];
        if is_same && (class == PLAIN || self.repeats(class, hook_word(wide, bytes), number, bytes, ticks, context)) {
            self.note_ticks(id, number, ticks);
            return VisitResult::Next;
        }
        // By value: a reference to the event would force it into memory for all events.
        let event = HookEvent { number, id, bytes, wide, tid, cpu };
        if !is_same && self.switch_thread(event, class, ticks, context) {
            return VisitResult::Next;
        }
        if self.process_slowly(event, ticks, policy, context, timers) { VisitResult::Next } else { VisitResult::Leave }
    }

    /// Processes an event that repeats the hook word of an earlier one of the thread. Returns false, and changes
    /// nothing, if it does not.
    #[inline(always)]
    fn repeats(
        &mut self,
        class: u8,
        word: u64,
        number: u64,
        bytes: &[u8],
        ticks: u64,
        context: &mut ContextState,
    ) -> bool {
        let row = &mut self.rows[usize::from(self.thread.row)];
        let last = &mut row.last[usize::from(class) % N_CLASSES];
        if last.repeated != word || !context.apply_shortcut(last.shortcut, row.tid, &row.facts, bytes) {
            return false;
        }
        (last.number, last.ticks) = (number, ticks);
        true
    }

    /// Processes the event of another thread that is in the index of the part. Returns false if its row is stale, or if
    /// the event does not repeat an earlier one of the thread.
    #[inline(never)]
    fn switch_thread(&mut self, event: HookEvent<'_>, class: u8, ticks: u64, context: &mut ContextState) -> bool {
        let HookEvent { number, id, bytes, wide, tid, cpu } = event;
        let (at, own_cpu) = (row_place(tid, cpu), cpu.unwrap_or(NO_CPU));
        let row = &self.rows[usize::from(at)];
        let is_own = row.tid == tid && row.own_cpu == own_cpu;
        if !is_own || row.version != context.version(tid) || row.part != self.part {
            return false;
        }
        self.thread = CurrentThread { tid, own_cpu, version: context.version_of_facts(), row: at };
        if class != PLAIN && !self.repeats(class, hook_word(wide, bytes), number, bytes, ticks, context) {
            return false;
        }
        self.note_ticks(id, number, ticks);
        true
    }

    /// Processes the event of another thread, or one whose effect is not known yet. Returns false, and changes nothing,
    /// if it is left.
    #[inline(never)]
    fn process_slowly(
        &mut self,
        event: HookEvent<'_>,
        ticks: u64,
        policy: &SkipPolicy,
        context: &mut ContextState,
        timers: &mut Timers,
    ) -> bool {
        let HookEvent { number, id, bytes, wide, tid, cpu } = event;
        let class = match self.classes[usize::from(id)] {
            UNKNOWN => match policy.of(id) {
                SkipAction::Take => self.look_up(id, context),
                SkipAction::Pass => return true,
                SkipAction::Leave => return false,
            },
            class => class,
        };
        if class == LEFT {
            return false;
        }
        let version = context.version_of_facts();
        let (row, is_known) = self.row_of(tid, cpu, context, timers);
        self.thread.row = row;
        let word = hook_word(wide, bytes);
        let slow = &self.rows[usize::from(row)].slow;
        if class != PLAIN && slow & 1 << class != 0 {
            context.advance(&event.raw());
        } else if class != PLAIN && !self.repeats(class, word, number, bytes, ticks, context) {
            let Some(is_kept) = self.keep_timers(row, class, &event, ticks, timers) else {
                self.thread = CurrentThread::UNKNOWN;
                return false;
            };
            let event = event.raw();
            let has_timers = self.hooks[usize::from(class) - 1].has_timers;
            let ThreadRow { last, facts, slow, .. } = &mut self.rows[usize::from(row)];
            let shortcut = context.shortcut(facts, &event);
            let applies = context.apply_shortcut(shortcut, tid, facts, bytes);
            let last = &mut last[usize::from(class)];
            (last.repeated, last.shortcut) = (if applies && is_kept { word } else { NO_WORD }, shortcut);
            if !applies {
                context.advance(&event);
            }
            // Events with another hook word may have a shortcut, but hooks without one rarely have several words.
            *slow |= u32::from(is_known && shortcut == Shortcut::None && !has_timers) << class;
        }
        if is_known && version == context.version_of_facts() {
            self.thread = CurrentThread { tid, own_cpu: cpu.unwrap_or(NO_CPU), version, row };
            self.note_thread(row, cpu);
        } else {
            self.enter_thread(tid, cpu, context, timers);
        }
        context.settle();
        self.shown.know(id);
        self.note_ticks(id, number, ticks);
        true
    }

    /// Notes an event that the context has already processed.
    pub fn note(&mut self, timed: &TimedEvent<'_>, context: &mut ContextState, timers: &mut Timers) {
        let (event, elapsed_ns) = (&timed.event, timed.time.elapsed_ns);
        self.enter_thread(event.tid, event.cpu, context, timers);
        self.shown.note(event.id, event.number, elapsed_ns);
        self.index.note_time(elapsed_ns);
    }

    /// Notes id and time of an event.
    #[inline(always)]
    fn note_ticks(&mut self, id: u16, number: u64, ticks: u64) {
        self.shown.note_ticks(id, number, ticks);
        self.ticks.add(ticks);
    }

    /// Converts the ticks of the notes to times.
    fn convert_ticks(&mut self) {
        let Some(scale) = self.scale else { return };
        self.shown.convert_ticks(&scale);
        let range = std::mem::replace(&mut self.ticks, TickRange::EMPTY).ends();
        for ticks in range.into_iter().flatten() {
            self.index.note_time(scale.time(ticks).elapsed_ns);
        }
    }

    /// Makes the thread of an event the current one, and adds its CPU and process to the index.
    fn enter_thread(&mut self, tid: u64, own_cpu: Option<u64>, context: &mut ContextState, timers: &mut Timers) {
        let version = context.version_of_facts();
        let CurrentThread { tid: last_tid, own_cpu: last_cpu, version: known, .. } = self.thread;
        if (last_tid, last_cpu, known) == (tid, own_cpu.unwrap_or(NO_CPU), version) {
            return;
        }
        let row = self.find_row(tid, own_cpu, context, timers);
        self.thread = CurrentThread { tid, own_cpu: own_cpu.unwrap_or(NO_CPU), version, row };
        self.note_thread(row, own_cpu);
    }

    /// Adds CPU and process of a thread to the index.
    #[inline]
    fn note_thread(&mut self, row: u8, own_cpu: Option<u64>) {
        let row = &mut self.rows[usize::from(row)];
        if std::mem::replace(&mut row.part, self.part) == self.part {
            return;
        }
        let facts = row.facts;
        if let Some(cpu) = own_cpu.or(facts.cpu) {
            self.index.note_cpu(cpu);
        }
        if let Some(pid) = facts.pid {
            self.index.note_pid(pid);
        }
    }

    /// Index of a thread's row, and true if the context knows the thread. Only a known thread keeps its facts until
    /// their version changes.
    fn row_of(
        &mut self,
        tid: u64,
        own_cpu: Option<u64>,
        context: &mut ContextState,
        timers: &mut Timers,
    ) -> (u8, bool) {
        let CurrentThread { tid: last_tid, own_cpu: last_cpu, version, row } = self.thread;
        let own = own_cpu.unwrap_or(NO_CPU);
        let is_same = (last_tid, last_cpu, version) == (tid, own, context.version_of_facts());
        let is_known = |notes: &Self, row: u8| notes.rows[usize::from(row)].facts.is_known();
        if is_same && is_known(self, row) {
            return (row, true);
        }
        let row = self.find_row(tid, own_cpu, context, timers);
        (row, is_known(self, row))
    }

    /// Index of a thread's row, whose facts are those of the context.
    fn find_row(&mut self, tid: u64, own_cpu: Option<u64>, context: &mut ContextState, timers: &mut Timers) -> u8 {
        let at = row_place(tid, own_cpu);
        let row = &mut self.rows[usize::from(at)];
        let version = context.version(tid);
        let own_cpu = own_cpu.unwrap_or(NO_CPU);
        let is_own = (row.tid, row.own_cpu) == (tid, own_cpu);
        if is_own && row.version == version {
            return at;
        }
        let facts = context.thread_facts(tid);
        let version = if facts.is_known() { version } else { u64::MAX };
        if is_own && row.facts == facts {
            row.version = version;
            return at;
        }
        if !is_own && row.kept != 0 {
            self.forget_kept(timers);
        }
        let row = &mut self.rows[usize::from(at)];
        (row.tid, row.own_cpu, row.facts, row.version, row.part) = (tid, own_cpu, facts, version, 0);
        row.last.iter_mut().for_each(|last| last.repeated = NO_WORD);
        row.slow = 0;
        at
    }

    /// Keeps an event whose timers will start or end later. Returns false if they changed at once, and `None` if the
    /// template must run.
    fn keep_timers(
        &mut self,
        at: u8,
        class: u8,
        event: &HookEvent<'_>,
        ticks: u64,
        timers: &mut Timers,
    ) -> Option<bool> {
        let HookEvent { number, bytes, wide, tid, .. } = *event;
        let event = Event { bytes, wide, record: None, time_ns: 0, offset: 0 };
        let (word, env) = (hook_word(wide, bytes), event.env_index() as u8);
        let hook_data = event.hook_data();
        let hook = &self.hooks[usize::from(class) - 1];
        let n_uses = hook.n_uses;
        if hook.has_timers {
            let flat = hook.by_env[usize::from(env)].as_ref()?;
            if !flat.fits(bytes.len()) {
                return None;
            }
            let row = &self.rows[usize::from(at)];
            let is_kept = row.kept & 1 << class != 0;
            // An event with another hook word may use other timers.
            if is_kept && row.last[usize::from(class)].word != word {
                self.flush_timers(timers);
            }
            if !is_kept {
                // A start above the limit is dropped, so the order of starts and ends matters there.
                if !timers.has_room(self.n_uses + n_uses) {
                    self.forget_kept(timers);
                    if !timers.has_room(n_uses) {
                        let time_ns = self.scale?.time(ticks).time_ns;
                        let flat = self.hooks[usize::from(class) - 1].by_env[usize::from(env)].as_ref()?;
                        flat.run(hook_data.into(), tid, time_ns, timers);
                        return Some(false);
                    }
                }
                self.kept.push(KeptEvent { row: at, class, word: NO_WORD, uses: Vec::new() });
                self.n_uses += n_uses;
                self.rows[usize::from(at)].kept |= 1 << class;
            }
        }
        let last = &mut self.rows[usize::from(at)].last[usize::from(class)];
        *last = LastEvent { word, number, ticks, env, hook_data, ..LastEvent::NONE };
        Some(true)
    }

    /// Starts and ends the timers of all events so far. Only the last event of a timer counts.
    pub fn flush_timers(&mut self, timers: &mut Timers) {
        let Self { rows, hooks, kept, kept_timers, timer_index, n_flushed, shown, scale: Some(scale), .. } = self
        else {
            return;
        };
        let mut changed: Vec<u32> = Vec::new();
        for KeptEvent { row, class, word, uses } in kept {
            let (tid, last) = (rows[usize::from(*row)].tid, &rows[usize::from(*row)].last[usize::from(*class)]);
            if last.number <= *n_flushed {
                continue;
            }
            if *word != last.word {
                (*word, *uses) = (last.word, Vec::new());
                let flat = hooks[usize::from(*class) - 1].by_env[usize::from(last.env)].as_ref();
                for TimerUse { key, is_end } in flat.into_iter().flat_map(|flat| flat.uses(last.hook_data.into(), tid))
                {
                    let index = *timer_index.entry(key).or_insert_with(|| {
                        kept_timers.push(KeptTimer { key, number: 0, start: None });
                        kept_timers.len() as u32 - 1
                    });
                    uses.push((index, !is_end));
                }
            }
            for (index, is_start) in uses {
                let timer = &mut kept_timers[*index as usize];
                if timer.number <= *n_flushed {
                    changed.push(*index);
                }
                // An event may use a timer more than once.
                if timer.number <= last.number {
                    (timer.number, timer.start) = (last.number, is_start.then_some(last.ticks));
                }
            }
        }
        for index in changed {
            let KeptTimer { key, start, .. } = kept_timers[index as usize];
            timers.set(key, start.map(|ticks| scale.time(ticks).time_ns));
        }
        *n_flushed = shown.last_number;
        if self.kept_timers.len() > MAX_KEPT_TIMERS {
            self.forget_timers();
        }
    }

    /// Starts and ends the timers of all events so far, and keeps none of these events.
    fn forget_kept(&mut self, timers: &mut Timers) {
        self.flush_timers(timers);
        self.n_uses = 0;
        for KeptEvent { row, class, .. } in self.kept.drain(..) {
            let row = &mut self.rows[usize::from(row)];
            row.last[usize::from(class)].repeated = NO_WORD;
            row.kept = 0;
        }
        self.forget_timers();
    }

    /// Lists the timers of kept events again, after they have changed.
    fn forget_timers(&mut self) {
        self.kept_timers.clear();
        self.timer_index.clear();
        self.kept.iter_mut().for_each(|kept| (kept.word, kept.uses) = (NO_WORD, Vec::new()));
    }

    /// Notes a number of notices.
    pub fn note_notices(&mut self, n: usize) {
        self.index.note_notices(n);
    }

    /// Index of the events since the border before. `tally` has the bytes so far.
    pub fn take_index(&mut self, tally: Tally) -> PartIndex {
        self.convert_ticks();
        self.thread = CurrentThread::UNKNOWN;
        self.part += 1;
        let mut ids: Vec<u32> = self.shown.take_ids().map(u32::from).collect();
        ids.sort_unstable();
        PartIndex { ids, ..self.index.take(None, tally) }
    }

    /// Chooses the class of a hook.
    #[cold]
    fn look_up(&mut self, id: u16, context: &ContextState) -> u8 {
        let catalog = self.catalog;
        let entry = catalog.lookup(id).filter(|entry| entry.has_effects);
        let class = match self.hooks.len() {
            _ if entry.is_none() && !context.has_effects(id) => PLAIN,
            n_hooks if n_hooks + 1 >= usize::from(LEFT) => LEFT,
            n_hooks => {
                let mut by_env = [const { None }; 4];
                if let Some(entry) = entry {
                    let program = catalog.program(entry);
                    for env in Space::Hook.envs().map(|env| env.index()) {
                        by_env[env] = program.prepare(entry.hook, env).and_then(|prepared| prepared.flat_timers());
                    }
                }
                let n_uses = by_env.iter().flatten().map(FlatTimers::n_uses).max().unwrap_or(0);
                self.hooks.push(HookTimers { has_timers: entry.is_some(), by_env, n_uses });
                n_hooks as u8 + 1
            }
        };
        self.classes[usize::from(id)] = class;
        class
    }
}

/// Event of a run.
#[derive(Clone, Copy)]
struct HookEvent<'e> {
    number: u64,
    id: u16,
    bytes: &'e [u8],
    wide: bool,
    tid: u64,
    cpu: Option<u64>,
}

impl<'e> HookEvent<'e> {
    /// The event for the context, which uses neither its place nor its time.
    fn raw(&self) -> RawEvent<'e> {
        let Self { number, id, bytes, wide, tid, cpu } = *self;
        RawEvent { number, offset: 0, bytes, wide, id, tid, ticks: None, cpu, recorded: bytes }
    }
}

/// Place of a thread's row.
#[inline(always)]
fn row_place(tid: u64, own_cpu: Option<u64>) -> u8 {
    let hash = (tid ^ own_cpu.unwrap_or_default().rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> 56) as u8
}

/// Hook word, which contains id, length and `$HD`.
#[inline(always)]
fn hook_word(wide: bool, bytes: &[u8]) -> u64 {
    if wide {
        bytes.first_chunk().map_or(NO_WORD, |word| u64::from_ne_bytes(*word))
    } else {
        bytes.first_chunk().map_or(NO_WORD, |word| u32::from_ne_bytes(*word).into())
    }
}

/// Range of ticks, which usually ascend.
struct TickRange {
    /// Ticks added last; the largest number if there are none.
    last: u64,
    least: u64,
    /// Largest ticks before the last time that they did not ascend.
    largest: u64,
    is_empty: bool,
}

impl TickRange {
    const EMPTY: Self = Self { last: u64::MAX, least: u64::MAX, largest: 0, is_empty: true };

    #[inline(always)]
    fn add(&mut self, ticks: u64) {
        if ticks <= self.last {
            self.go_back(ticks);
        }
        self.last = ticks;
    }

    #[cold]
    #[inline(never)]
    fn go_back(&mut self, ticks: u64) {
        if !self.is_empty {
            self.largest = self.largest.max(self.last);
        }
        (self.least, self.is_empty) = (self.least.min(ticks), false);
    }

    /// Least and largest ticks; `None` if there are none.
    fn ends(&self) -> Option<[u64; 2]> {
        (!self.is_empty).then(|| [self.least, self.largest.max(self.last)])
    }
}

/// Elapsed time of the last reported event, per hook.
struct LastShown {
    /// Number of the event among the reported ones, and its elapsed time, by hook.
    by_id: Box<[(u64, u64); N_IDS]>,
    /// Number and ticks of events whose times are not in `by_id` yet.
    ticks: Box<[(u64, u64); N_IDS]>,
    /// Hooks with reported events.
    ids: Vec<u16>,
    /// Number of the last reported event, and of the last one before the last border.
    last_number: u64,
    number_before: u64,
}

impl LastShown {
    fn new() -> Self {
        Self { by_id: of_each((0, 0)), ticks: of_each((0, 0)), ids: Vec::new(), last_number: 0, number_before: 0 }
    }

    fn note(&mut self, id: u16, number: u64, elapsed_ns: u64) {
        self.know(id);
        self.note_ticks(id, number, 0);
        self.by_id[usize::from(id)] = (number, elapsed_ns);
    }

    /// Adds a hook to the list.
    fn know(&mut self, id: u16) {
        if self.ticks[usize::from(id)].0 == 0 {
            self.ids.push(id);
        }
    }

    /// Notes an event of a hook in the list, whose time is converted later.
    #[inline(always)]
    fn note_ticks(&mut self, id: u16, number: u64, ticks: u64) {
        self.last_number = number;
        self.ticks[usize::from(id)] = (number, ticks);
    }

    fn convert_ticks(&mut self, scale: &TimeScale) {
        for id in &self.ids {
            let (last, (number, ticks)) = (&mut self.by_id[usize::from(*id)], self.ticks[usize::from(*id)]);
            if number > last.0 {
                *last = (number, scale.time(ticks).elapsed_ns);
            }
        }
    }

    /// Hooks of the events since the last call.
    fn take_ids(&mut self) -> impl Iterator<Item = u16> {
        let number_before = std::mem::replace(&mut self.number_before, self.last_number);
        let Self { by_id, ids, .. } = self;
        ids.iter().copied().filter(move |id| by_id[usize::from(*id)].0 > number_before)
    }

    /// Hooks and elapsed times, the latest first.
    fn list(&self) -> Vec<(u16, u64)> {
        let last = |id: &u16| self.by_id[usize::from(*id)];
        let mut ids = self.ids.clone();
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(last(id).0));
        ids.into_iter().map(|id| (id, last(&id).1)).collect()
    }
}

/// An array of equal values, made in place.
fn of_each<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    let values = vec![value.clone(); N].into_boxed_slice().try_into();
    values.unwrap_or_else(|_| Box::new(std::array::from_fn(|_| value.clone())))
}

#[cfg(all(test, feature = "compile"))]
mod tests {
    use super::*;
    use crate::format_files::{FormatSet, LoadOptions};
    use std::fs;
    use std::sync::Arc;
    use tfbc_vm::{Context, EventInput, Layout, LineStart, Machine, TextBuf};

    const FORMATS: &str = "\
010 1.0 L=0 \"\" $D1 starttimer(1,$TID)
011 1.0 L=0 \"\" $D1, 5 \"five\", \\* { $D2 } endtimer(1,$TID) $D2, 0 \"\", \\* { \" x\" $D3 }
012 1.0 L=0 \"\" $SVC, \"\" \"svc\", \\* { $SVC } endtimer(2,$HD) starttimer(2,$HD)
013 1.0 L=0 \"\" {{ f() starttimer(3,$HD) }} $D1%PW f() f()
014 1.0 L=0 \"\" $D1, 5 { starttimer(1,$TID) }, \\* { endtimer(1,$TID) }
015 1.0 L=0 \"\" LOOP $HL { X1 } starttimer(1,$TID)
016 1.0 L=0 \"\" starttimer(1,$D1)
017 1.0 L=0 \"\" $D1, 5 { $SKIP } starttimer(1,$TID)
018 1.0 L=0 \"\" $HD%U2 starttimer($HD,$TID) $D1%E4 endtimer(1,$TID)
019 1.0 L=0 \"\" $D1, 5 { {{ $x = 1 }} }, \\* { {{ $x = 2 }} } starttimer($x,$TID)
01A 1.0 L=0 \"\" {{ $x = 1 }} $D1, 5 { {{ $x = 2 }} } starttimer($x,$TID)
";

    #[test]
    fn timers_without_the_machine_are_those_of_the_machine() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.trcfmt");
        fs::write(&path, FORMATS).unwrap();
        let mut n_flat = Vec::new();
        for paths in [vec![path], Vec::new()] {
            let set = FormatSet::load(&paths, &LoadOptions::default()).unwrap();
            let catalog = set.catalog().unwrap();
            // With a limit, the order of starts and ends decides which timers run.
            n_flat.extend([Timers::MAX, 600, 3].map(|max| compare(&catalog, max)));
        }
        assert!(n_flat.iter().all(|n| *n > 1000), "{n_flat:?}");
    }

    /// Runs events of all hooks with effects both ways, with at most `max` timers, and returns the number of those that
    /// need no machine.
    fn compare(catalog: &Catalog<'_>, max: usize) -> usize {
        let mut seed = 1u64;
        let mut below = move |n: u64| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (seed >> 33) % n
        };
        let (mut machine, mut text, mut n_flat) = (Machine::default(), TextBuf::new(), 0);
        let (mut noted_timers, mut timers) = (Timers::with_max(max), Timers::with_max(max));
        let (mut notes, mut context) = (EventNotes::new(catalog), ContextState::new(Arc::default(), Arc::default()));
        notes.begin_run(TimeScale::default(), &mut context, &mut noted_timers);
        let mut takes_all = Box::<SkipPolicy>::default();
        (0..=u16::MAX).for_each(|id| takes_all.set(id, SkipAction::Take));
        let entries: Vec<_> = catalog.entries().filter(|entry| entry.has_effects).collect();
        for time_ns in 0..500 * entries.len() as u64 {
            let entry = entries[below(entries.len() as u64) as usize];
            let program = catalog.program(entry);
            let wide = below(2) == 0;
            let n_words = below(6) as usize;
            let mut bytes = vec![0; if wide { 8 + 8 * n_words } else { 4 + 4 * n_words }];
            for byte in &mut bytes {
                *byte = if below(2) == 0 { 0 } else { below(6) as u8 };
            }
            // The notes of many threads share rows.
            let n_threads = if below(2) == 0 { 3 } else { 3000 };
            let tid = below(n_threads);
            let hook = HookEvent { number: time_ns + 1, id: entry.id(), bytes: &bytes, wide, tid, cpu: None };
            let is_flat =
                notes.process(&hook.raw(), time_ns, &takes_all, &mut context, &mut noted_timers) == VisitResult::Next;
            n_flat += usize::from(is_flat);
            let event = Event { bytes: &bytes, wide, record: None, time_ns, offset: 0 };
            let context = Context { tid, svc: b"open", ..Context::EMPTY };
            text.clear();
            let input = EventInput { event: &event, context: &context };
            let start = LineStart { layout: Layout::default(), line: 0 };
            if !is_flat {
                notes.flush_timers(&mut noted_timers);
                machine.start(program, &mut noted_timers).event(entry.hook, input, start, &mut text);
                text.clear();
            }
            machine.start(program, &mut timers).event(entry.hook, input, start, &mut text);
            if below(64) == 0 {
                notes.flush_timers(&mut noted_timers);
                assert_eq!(noted_timers.running(), timers.running(), "{:04x} {bytes:x?}", entry.id());
                assert_eq!(noted_timers.n_lost(), timers.n_lost());
            }
        }
        n_flat
    }
}
