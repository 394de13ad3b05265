//! Notes about the events of a log that is split: what a report would show, without its text.

use crate::catalog::Catalog;
use crate::context::ContextState;
use crate::reader::Tally;
use crate::reader::aix::{RawEvent, TimedEvent};
use crate::split::index::{IndexBuilder, PartIndex};
use tfbc_vm::{Event, FlatTimers, Space, TimerCache, Timers};

/// Notes about the events of a log.
pub(super) struct EventNotes<'w> {
    catalog: &'w Catalog<'w>,
    shown: LastShown,
    /// Index of the events since the border before.
    index: IndexBuilder,
    thread: LastThread,
    /// Index in `timers` of an id's first environment; [`UNKNOWN`] before the first event of the id, [`NO_TIMERS`] if it
    /// has none.
    timers_of: Box<[u32; N_IDS]>,
    /// Timers by id and environment; `None` if the routine must run.
    timers: Vec<Option<FlatTimers>>,
    last_timers: TimerCache,
}

/// Number of hook ids.
const N_IDS: usize = 1 << 16;
const UNKNOWN: u32 = u32::MAX;
const NO_TIMERS: u32 = u32::MAX - 1;

/// Thread of the last event, whose CPU and process are in the index.
struct LastThread {
    tid: u64,
    own_cpu: Option<u64>,
    version: u64,
}

impl LastThread {
    /// No event since the border before.
    const UNKNOWN: Self = Self { tid: 0, own_cpu: None, version: u64::MAX };
}

impl<'w> EventNotes<'w> {
    pub fn new(catalog: &'w Catalog<'w>) -> Self {
        Self {
            catalog,
            shown: LastShown::new(),
            index: IndexBuilder::default(),
            thread: LastThread::UNKNOWN,
            timers_of: by_id(UNKNOWN),
            timers: Vec::new(),
            last_timers: TimerCache::default(),
        }
    }

    /// Number of events so far.
    pub fn n_shown(&self) -> u64 {
        self.shown.n_shown
    }

    /// Hooks and the elapsed times of their last events, the latest first.
    pub fn last_shown(&self) -> Vec<(u16, u64)> {
        self.shown.list()
    }

    /// Notes an event that the context has already processed.
    #[inline(always)]
    pub fn note(&mut self, timed: &TimedEvent<'_>, context: &mut ContextState) {
        let (event, elapsed_ns) = (&timed.event, timed.time.elapsed_ns);
        let version = context.version_of_facts();
        let LastThread { tid, own_cpu, version: known } = self.thread;
        if known != version || (tid, own_cpu) != (event.tid, event.cpu) {
            self.note_thread(event.tid, event.cpu, context);
        }
        self.shown.note(event.id, elapsed_ns);
        self.index.note_time(elapsed_ns);
    }

    /// Notes CPU and process of the events that follow.
    #[inline(never)]
    fn note_thread(&mut self, tid: u64, own_cpu: Option<u64>, context: &mut ContextState) {
        self.thread = LastThread { tid, own_cpu, version: context.version_of_facts() };
        let (pid, cpu) = context.process_and_cpu(tid, own_cpu);
        if let Some(cpu) = cpu {
            self.index.note_cpu(cpu);
        }
        if let Some(pid) = pid {
            self.index.note_pid(pid);
        }
    }

    /// Notes a number of notices.
    pub fn note_notices(&mut self, n: usize) {
        self.index.note_notices(n);
    }

    /// Index of the events since the border before. `tally` has the bytes so far.
    pub fn take_index(&mut self, tally: Tally) -> PartIndex {
        self.thread = LastThread::UNKNOWN;
        self.shown.take_ids().for_each(|id| self.index.note_id(id.into()));
        self.index.take(None, tally)
    }

    /// Starts and ends the timers of an event. Returns false, and changes nothing, if its template must run.
    /// [`EventNotes::flush_timers`] passes the changes on to `timers`.
    #[inline(always)]
    pub fn run_timers(&mut self, timed: &TimedEvent<'_>, timers: &mut Timers) -> bool {
        let RawEvent { id, bytes, wide, tid, .. } = timed.event;
        let index = match self.timers_of[usize::from(id)] {
            UNKNOWN => self.look_up(id),
            index => index,
        };
        if index == NO_TIMERS {
            return true;
        }
        let event = Event { bytes, wide, record: None, time_ns: timed.time.time_ns, offset: 0 };
        let index = index as usize + event.env_index();
        // By value: a reference to the event would force it into memory for all events.
        if wide {
            self.run_timers_of::<true>(index, bytes, tid, event.time_ns, timers)
        } else {
            self.run_timers_of::<false>(index, bytes, tid, event.time_ns, timers)
        }
    }

    #[inline(never)]
    fn run_timers_of<const WIDE: bool>(
        &mut self,
        index: usize,
        bytes: &[u8],
        tid: u64,
        time_ns: u64,
        timers: &mut Timers,
    ) -> bool {
        let event = Event { bytes, wide: WIDE, record: None, time_ns, offset: 0 };
        let flat = self.timers.get(index).and_then(Option::as_ref);
        flat.is_some_and(|flat| flat.run(&event, tid, &mut self.last_timers, timers))
    }

    /// Passes the changes of all events so far on to the timers.
    pub fn flush_timers(&mut self, timers: &mut Timers) {
        self.last_timers.flush(timers);
    }

    #[cold]
    fn look_up(&mut self, id: u16) -> u32 {
        let catalog = self.catalog;
        let index = match catalog.lookup(id).filter(|entry| entry.has_effects) {
            Some(entry) => {
                let program = catalog.program(entry);
                let envs = Space::Hook.envs().map(|env| env.index());
                let mut flat = [const { None }; 4];
                for env in envs {
                    flat[env] = program.prepare(entry.hook, env).and_then(|prepared| prepared.flat_timers());
                }
                let index = self.timers.len() as u32;
                self.timers.extend(flat);
                index
            }
            None => NO_TIMERS,
        };
        self.timers_of[usize::from(id)] = index;
        index
    }
}

/// Elapsed time of the last reported event, per hook.
struct LastShown {
    /// Number of the event among the reported ones, and its elapsed time, by hook.
    by_id: Box<[(u64, u64); N_IDS]>,
    /// Hooks with reported events.
    ids: Vec<u16>,
    n_shown: u64,
    /// Number of reported events before the last border.
    n_before: u64,
}

impl LastShown {
    fn new() -> Self {
        Self { by_id: by_id((0, 0)), ids: Vec::new(), n_shown: 0, n_before: 0 }
    }

    #[inline(always)]
    fn note(&mut self, id: u16, elapsed_ns: u64) {
        self.n_shown += 1;
        let last = &mut self.by_id[usize::from(id)];
        if last.0 == 0 {
            self.ids.push(id);
        }
        *last = (self.n_shown, elapsed_ns);
    }

    /// Hooks of the events since the last call.
    fn take_ids(&mut self) -> impl Iterator<Item = u16> {
        let n_before = std::mem::replace(&mut self.n_before, self.n_shown);
        let Self { by_id, ids, .. } = self;
        ids.iter().copied().filter(move |id| by_id[usize::from(*id)].0 > n_before)
    }

    /// Hooks and elapsed times, the latest first.
    fn list(&self) -> Vec<(u16, u64)> {
        let last = |id: &u16| self.by_id[usize::from(*id)];
        let mut ids = self.ids.clone();
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(last(id).0));
        ids.into_iter().map(|id| (id, last(&id).1)).collect()
    }
}

/// A value per hook id.
fn by_id<T: Copy + std::fmt::Debug>(value: T) -> Box<[T; N_IDS]> {
    let values = vec![value; N_IDS].into_boxed_slice().try_into();
    values.unwrap_or_else(|_| Box::new([value; N_IDS]))
}

#[cfg(all(test, feature = "compile"))]
mod tests {
    use super::*;
    use crate::format_files::{FormatSet, LoadOptions};
    use std::fs;
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
        let (mut cache, mut flat_timers, mut timers) =
            (TimerCache::default(), Timers::with_max(max), Timers::with_max(max));
        for entry in catalog.entries().filter(|entry| entry.has_effects) {
            let program = catalog.program(entry);
            let prepared = Space::Hook.envs().map(|env| program.prepare(entry.hook, env.index()));
            let flat = prepared.map(|prepared| prepared.and_then(|prepared| prepared.flat_timers()));
            for time_ns in 0..500 {
                let wide = below(2) == 0;
                let n_words = below(6) as usize;
                let mut bytes = vec![0; if wide { 8 + 8 * n_words } else { 4 + 4 * n_words }];
                for byte in &mut bytes {
                    *byte = if below(2) == 0 { 0 } else { below(6) as u8 };
                }
                let event = Event { bytes: &bytes, wide, record: None, time_ns, offset: 0 };
                // The keys of many threads share entries of the cache.
                let n_threads = if below(2) == 0 { 3 } else { 3000 };
                let context = Context { tid: below(n_threads), svc: b"open", ..Context::EMPTY };
                let is_flat = flat[event.env_index()].as_ref().is_some_and(|flat| {
                    n_flat += 1;
                    flat.run(&event, context.tid, &mut cache, &mut flat_timers)
                });
                text.clear();
                let input = EventInput { event: &event, context: &context };
                let start = LineStart { layout: Layout::default(), line: 0 };
                if !is_flat {
                    cache.flush(&mut flat_timers);
                    machine.start(program, &mut flat_timers).event(entry.hook, input, start, &mut text);
                    text.clear();
                }
                machine.start(program, &mut timers).event(entry.hook, input, start, &mut text);
                if below(64) == 0 {
                    cache.flush(&mut flat_timers);
                    assert_eq!(flat_timers.running(), timers.running(), "{:04x} {bytes:x?}", entry.id());
                    assert_eq!(flat_timers.n_lost(), timers.n_lost());
                }
            }
        }
        n_flat
    }
}
