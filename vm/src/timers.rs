//! Timers that templates start and end.

use hashbrown::HashMap;
use std::hash::{Hash, Hasher};

/// Running timers of one report: start times by key.
#[derive(Debug, Clone)]
pub struct Timers {
    started: HashMap<TimerKey, u64>,
    max: usize,
    n_lost: u64,
    /// Keys changed by a trial run and their values before it; `None` outside of one.
    undo: Option<Box<Undo>>,
    /// Record of the timers and paths that the next event uses; `None` if it is not needed.
    trail: Option<Box<Trail>>,
    /// Starts and ends since the list was last cleared; `None` if nobody asks for them.
    uses: Option<Vec<TimerUse>>,
}

/// Key that is hashed as three numbers, which is faster than as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimerKey([u64; 3]);

impl Hash for TimerKey {
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.iter().for_each(|number| hasher.write_u64(*number));
    }
}

/// Start or end of a timer by a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerUse {
    /// Key of the timer: its pair, and the thread if the dialect adds it.
    pub key: [u64; 3],
    /// True for an end.
    pub is_end: bool,
}

/// State from earlier events that an event's text used. It is enough to compute the event's fields later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    /// Timers that the event started or ended, each with its state before the event.
    pub timers: Vec<TimerBefore>,
    /// Processes whose paths were looked up.
    pub pids: Vec<u64>,
}

/// Key of a timer and its start before an event; `None` if it was not running.
pub type TimerBefore = ([u64; 3], Option<u64>);

/// Limit on each list of a [`Trail`].
const MAX_TRAIL: usize = 1 << 12;

/// Changes of a trial run.
#[derive(Debug, Clone, Default)]
struct Undo {
    changes: Vec<([u64; 3], Option<u64>)>,
    n_lost: u64,
}

impl Default for Timers {
    fn default() -> Self {
        Self::with_max(Self::MAX)
    }
}

impl Timers {
    /// Default limit on running timers. Keys come from event data, so their number must be bounded; a start above the
    /// limit is dropped.
    pub const MAX: usize = 1 << 20;

    /// No running timers, with the default limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// No running timers, with a limit of `max`.
    pub fn with_max(max: usize) -> Self {
        Self { started: HashMap::new(), max, n_lost: 0, undo: None, trail: None, uses: None }
    }

    /// Timers that the text of an event used, with their values before the event.
    pub fn before(changes: &[TimerBefore]) -> Self {
        let mut timers = Self::new();
        // A key may occur more than once; its first entry counts.
        for (key, start) in changes.iter().rev() {
            match start {
                Some(start) => timers.started.insert(TimerKey(*key), *start),
                None => timers.started.remove(&TimerKey(*key)),
            };
        }
        timers
    }

    /// Running timers and their start times, in the order of their keys.
    pub fn running(&self) -> Vec<([u64; 3], u64)> {
        let mut running: Vec<_> = self.started.iter().map(|(key, start)| (key.0, *start)).collect();
        running.sort_unstable();
        running
    }

    /// Sets timers that were started before, up to the limit.
    pub fn resume(&mut self, running: &[([u64; 3], u64)]) {
        self.started.extend(running.iter().take(self.max).map(|(key, start)| (TimerKey(*key), *start)));
    }

    /// Starts recording what every event uses, see [`Timers::trail`].
    pub fn keep_trail(&mut self) {
        self.trail = Some(Box::default());
    }

    /// Begins to list starts and ends; [`Timers::uses`] has the list.
    pub fn keep_uses(&mut self) {
        self.uses = Some(Vec::new());
    }

    /// Starts and ends since the list was last cleared, up to a limit; `None` without [`Timers::keep_uses`].
    pub fn uses(&mut self) -> Option<&mut Vec<TimerUse>> {
        self.uses.as_mut()
    }

    /// Record since it was last cleared; `None` without [`Timers::keep_trail`].
    pub fn trail(&mut self) -> Option<&mut Trail> {
        self.trail.as_deref_mut()
    }

    /// Records that the path of a process was looked up.
    pub(crate) fn note_pid(&mut self, pid: u64) {
        if let Some(trail) = self.trail.as_deref_mut().filter(|trail| trail.pids.len() < MAX_TRAIL) {
            trail.pids.push(pid);
        }
    }

    /// Number of dropped starts.
    pub fn n_lost(&self) -> u64 {
        self.n_lost
    }

    /// True if `n` more timers can start.
    pub fn has_room(&self, n: usize) -> bool {
        self.started.len() + n <= self.max
    }

    /// Starts a trial run, whose changes [`Timers::end_trial`] undoes.
    pub(crate) fn begin_trial(&mut self) {
        self.undo = Some(Box::new(Undo { changes: Vec::new(), n_lost: self.n_lost }));
    }

    /// Ends a trial run.
    pub(crate) fn end_trial(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.n_lost = undo.n_lost;
        for (key, before) in undo.changes.into_iter().rev() {
            match before {
                Some(start) => self.started.insert(TimerKey(key), start),
                None => self.started.remove(&TimerKey(key)),
            };
        }
    }

    /// Notes the value of a key before a change.
    #[inline]
    fn note(&mut self, key: [u64; 3], is_end: bool) {
        if self.uses.is_some() || self.undo.is_some() || self.trail.is_some() {
            self.note_use(key, is_end);
        }
    }

    #[inline(never)]
    fn note_use(&mut self, key: [u64; 3], is_end: bool) {
        if let Some(uses) = self.uses.as_mut().filter(|uses| uses.len() < MAX_TRAIL) {
            uses.push(TimerUse { key, is_end });
        }
        let before = || self.started.get(&TimerKey(key)).copied();
        if let Some(undo) = &mut self.undo {
            undo.changes.push((key, before()));
        }
        if let Some(trail) = self.trail.as_deref_mut().filter(|trail| trail.timers.len() < MAX_TRAIL) {
            trail.timers.push((key, before()));
        }
    }

    /// Starts or restarts a timer at a time in ns, or ends it.
    #[inline]
    pub fn set(&mut self, key: [u64; 3], start_ns: Option<u64>) {
        match start_ns {
            Some(start_ns) => self.start(key, start_ns),
            None => drop(self.end(key, 0)),
        }
    }

    /// Starts or restarts a timer at a time in ns.
    #[inline]
    pub(crate) fn start(&mut self, key: [u64; 3], time_ns: u64) {
        self.note(key, false);
        let key = TimerKey(key);
        if self.started.len() < self.max || self.started.contains_key(&key) {
            self.started.insert(key, time_ns);
        } else {
            self.n_lost += 1;
        }
    }

    /// Ends a timer. Returns the ns since its start, 0 if the start is later.
    #[inline]
    pub(crate) fn end(&mut self, key: [u64; 3], time_ns: u64) -> Option<u64> {
        self.note(key, true);
        self.started.remove(&TimerKey(key)).map(|start| time_ns.saturating_sub(start))
    }
}
