use std::collections::HashMap;

/// Running timers of one report: start times by key.
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
    /// Default limit on running timers. Keys come from event data, so their number must be bounded; a start above the
    /// limit is dropped.
    pub const MAX: usize = 1 << 20;

    /// No running timers, with the default limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// No running timers, with a limit of `max`.
    pub fn with_max(max: usize) -> Self {
        Self { started: HashMap::new(), max, n_lost: 0 }
    }

    /// Number of dropped starts.
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

    /// Ends a timer. Returns the ns since its start, 0 if the start is later.
    pub(crate) fn end(&mut self, key: [u64; 3], time_ns: u64) -> Option<u64> {
        self.started.remove(&key).map(|start| time_ns.saturating_sub(start))
    }
}
