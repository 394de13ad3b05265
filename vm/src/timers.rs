use std::collections::HashMap;

/// The running timers of one report: `starttimer`'s times by key.
#[derive(Debug, Clone, Default)]
pub struct Timers {
    started: HashMap<[u64; 3], u64>,
}

impl Timers {
    /// Timers kept at once. Keys come from event data; a start beyond this many is not kept.
    pub const MAX: usize = 1 << 20;

    /// No timer runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts or restarts a timer at a time in ns.
    pub(crate) fn start(&mut self, key: [u64; 3], time_ns: u64) {
        if self.started.len() < Self::MAX || self.started.contains_key(&key) {
            self.started.insert(key, time_ns);
        }
    }

    /// Ends a timer: the ns since its start, 0 for a time that lies before it.
    pub(crate) fn end(&mut self, key: [u64; 3], time_ns: u64) -> Option<u64> {
        self.started.remove(&key).map(|start| time_ns.saturating_sub(start))
    }
}
