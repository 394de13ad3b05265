//! Ignores signals that would end a command before its trace.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register;
use signal_hook::low_level::unregister;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Ignores signals until it is dropped. A program started meanwhile receives them as usual.
pub struct IgnoredSignals(Vec<signal_hook::SigId>);

impl IgnoredSignals {
    pub fn new() -> Self {
        Self(
            [SIGHUP, SIGINT, SIGTERM]
                .into_iter()
                .filter_map(|signal| register(signal, Arc::new(AtomicBool::new(false))).ok())
                .collect(),
        )
    }
}

impl Drop for IgnoredSignals {
    fn drop(&mut self) {
        for id in self.0.drain(..) {
            unregister(id);
        }
    }
}
