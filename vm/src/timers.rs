use std::collections::HashMap;

/// The running timers of one report: `starttimer`'s times by key.
#[derive(Debug, Clone)]
pub struct Timers {
    started: HashMap<[u64; 3], u64>,
    max: usize,
    n_lost: u64,
}

impl Default for Timers {
    fn default() -> Self {
        Self::with_max(Self::MAX)
    }
}

impl Timers {
    /// Timers kept at once where nothing else is said. Keys come from event data; a start beyond this many is not kept.
    pub const MAX: usize = 1 << 20;

    /// No timer runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// No timer runs, and at most so many will.
    pub fn with_max(max: usize) -> Self {
        Self { started: HashMap::new(), max, n_lost: 0 }
    }

    /// Starts that were not kept.
    pub fn n_lost(&self) -> u64 {
        self.n_lost
    }

    /// Starts or restarts a timer at a time in ns.
    pub(crate) fn start(&mut self, key: [u64; 3], time_ns: u64) {
        if self.started.len() < self.max || self.started.contains_key(&key) {
            self.started.insert(key, time_ns);
        } else {
            self.n_lost += 1;
        }
    }

    /// Ends a timer: the ns since its start, 0 for a time that lies before it.
    pub(crate) fn end(&mut self, key: [u64; 3], time_ns: u64) -> Option<u64> {
        self.started.remove(&key).map(|start| time_ns.saturating_sub(start))
    }
}
