//! Notes about the events of a log that is split: what a report would show, without its text.

use crate::catalog::Catalog;
use crate::context::ContextState;
use crate::reader::Tally;
use crate::reader::aix::TimedEvent;
use crate::split::index::{IndexBuilder, PartIndex};
use tfbc_vm::{Event, FlatTimers, Space, Timers};

/// Notes about the events of a log.
pub(super) struct EventNotes {
    shown: LastShown,
    /// Index of the events since the border before.
    index: IndexBuilder,
    thread: LastThread,
    /// Index in `timers` by id; [`UNKNOWN`] before the first event of the id, [`NO_TIMERS`] if it has none.
    timers_of: Vec<u32>,
    /// Timers by environment; `None` if the routine must run.
    timers: Vec<[Option<FlatTimers>; 4]>,
}

const UNKNOWN: u32 = u32::MAX;
const NO_TIMERS: u32 = u32::MAX - 1;

/// Thread of the last event, whose CPU is in the index.
struct LastThread {
    tid: u64,
    own_cpu: Option<u64>,
    version: u64,
}

impl LastThread {
    /// No event since the border before.
    const UNKNOWN: Self = Self { tid: 0, own_cpu: None, version: u64::MAX };
}

impl EventNotes {
    pub fn new() -> Self {
        Self {
            shown: LastShown::new(),
            index: IndexBuilder::default(),
            thread: LastThread::UNKNOWN,
            timers_of: vec![UNKNOWN; 1 << 16],
            timers: Vec::new(),
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
        self.index.note_id(event.id.into());
        self.index.note_time(elapsed_ns);
    }

    /// Notes the CPU of the events that follow.
    #[inline(never)]
    fn note_thread(&mut self, tid: u64, own_cpu: Option<u64>, context: &mut ContextState) {
        self.thread = LastThread { tid, own_cpu, version: context.version_of_facts() };
        if let Some(cpu) = context.cpu_of(tid, own_cpu) {
            self.index.note_cpu(cpu);
        }
    }

    /// Notes a number of notices.
    pub fn note_notices(&mut self, n: usize) {
        self.index.note_notices(n);
    }

    /// Index of the events since the border before. `tally` has the bytes so far.
    pub fn take_index(&mut self, tally: Tally) -> PartIndex {
        self.thread = LastThread::UNKNOWN;
        self.index.take(None, tally)
    }

    /// Starts and ends the timers of an event. Returns false, and changes nothing, if its template must run.
    #[inline(always)]
    pub fn run_timers(&mut self, catalog: &Catalog<'_>, timed: &TimedEvent<'_>, timers: &mut Timers) -> bool {
        match self.timers_of[usize::from(timed.event.id)] {
            NO_TIMERS => true,
            index => self.run_timers_of(index, catalog, timed, timers),
        }
    }

    #[inline(never)]
    fn run_timers_of(
        &mut self,
        index: u32,
        catalog: &Catalog<'_>,
        timed: &TimedEvent<'_>,
        timers: &mut Timers,
    ) -> bool {
        let TimedEvent { event, time, .. } = timed;
        let index = if index == UNKNOWN { self.look_up(catalog, event.id) } else { index };
        if index == NO_TIMERS {
            return true;
        }
        let hook =
            Event { bytes: event.bytes, wide: event.wide, record: None, time_ns: time.time_ns, offset: event.offset };
        let flat = &self.timers[index as usize][hook.env_index()];
        flat.as_ref().is_some_and(|flat| flat.run(&hook, event.tid, timers))
    }

    #[cold]
    fn look_up(&mut self, catalog: &Catalog<'_>, id: u16) -> u32 {
        let index = match catalog.lookup(id).filter(|entry| entry.has_effects) {
            Some(entry) => {
                let program = catalog.program(entry);
                let envs = Space::Hook.envs().map(|env| env.index());
                let mut flat = [const { None }; 4];
                for env in envs {
                    flat[env] = program.prepare(entry.hook, env).and_then(|prepared| prepared.flat_timers());
                }
                self.timers.push(flat);
                self.timers.len() as u32 - 1
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
    by_id: Vec<(u64, u64)>,
    /// Hooks with reported events.
    ids: Vec<u16>,
    n_shown: u64,
}

impl LastShown {
    fn new() -> Self {
        Self { by_id: vec![(0, 0); 1 << 16], ids: Vec::new(), n_shown: 0 }
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

    /// Hooks and elapsed times, the latest first.
    fn list(&self) -> Vec<(u16, u64)> {
        let last = |id: &u16| self.by_id[usize::from(*id)];
        let mut ids = self.ids.clone();
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(last(id).0));
        ids.into_iter().map(|id| (id, last(&id).1)).collect()
    }
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
            n_flat.push(compare(&catalog));
        }
        assert!(n_flat.iter().all(|n| *n > 1000), "{n_flat:?}");
    }

    /// Runs events of all hooks with effects both ways, and returns the number of those that need no machine.
    fn compare(catalog: &Catalog<'_>) -> usize {
        let mut seed = 1u64;
        let mut below = move |n: u64| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (seed >> 33) % n
        };
        let (mut machine, mut text, mut n_flat) = (Machine::default(), TextBuf::new(), 0);
        let (mut flat_timers, mut timers) = (Timers::new(), Timers::new());
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
                let context = Context { tid: below(3), svc: b"open", ..Context::EMPTY };
                let is_flat = flat[event.env_index()].as_ref().is_some_and(|flat| {
                    n_flat += 1;
                    flat.run(&event, context.tid, &mut flat_timers)
                });
                text.clear();
                let input = EventInput { event: &event, context: &context };
                let start = LineStart { layout: Layout::default(), line: 0 };
                if !is_flat {
                    machine.start(program, &mut flat_timers).event(entry.hook, input, start, &mut text);
                    text.clear();
                }
                machine.start(program, &mut timers).event(entry.hook, input, start, &mut text);
                assert_eq!(flat_timers.running(), timers.running(), "{:04x} {bytes:x?}", entry.id());
            }
        }
        n_flat
    }
}
