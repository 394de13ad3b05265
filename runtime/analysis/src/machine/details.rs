//! Counts per thread, for reports of single threads.

use super::parts::ThreadSlot;
use crate::tally::Tally;
use foldhash::HashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// Limit on the rows of all threads together. Further ones are counted, but not listed.
const MAX_DETAILS: usize = 1 << 20;

/// Calls, dispatches and interrupts of single threads.
#[derive(Debug, Default)]
pub struct Details {
    /// Finished calls, by thread and row in [`Totals::calls`](crate::totals::Totals::calls).
    pub calls: HashMap<(ThreadSlot, usize), ThreadCalls>,
    /// Dispatches, by thread and index of the CPU.
    pub dispatches: HashMap<(ThreadSlot, u32), u64>,
    /// Interrupts that ended, by the thread that ran and row in [`Totals::interrupts`](crate::totals::Totals::interrupts).
    pub interrupts: HashMap<(ThreadSlot, usize), u64>,
    n_rows: usize,
    /// Number of calls, dispatches and interrupts above the limit.
    pub n_unlisted: u64,
}

/// Calls of a name by a thread.
#[derive(Debug, Clone, Default)]
pub struct ThreadCalls {
    pub cpu: Tally,
    pub elapsed: Tally,
    pub errors: BTreeMap<u64, u64>,
}

impl Details {
    /// Counts a finished call.
    pub(super) fn add_call(&mut self, thread: ThreadSlot, row: usize, cpu: u128, elapsed: u128) {
        let key = (thread, row);
        let Some(calls) = entry(&mut self.calls, key, &mut self.n_rows, &mut self.n_unlisted) else { return };
        calls.cpu.add(cpu);
        calls.elapsed.add(elapsed);
    }

    /// Counts an error of a call.
    pub(super) fn add_error(&mut self, thread: ThreadSlot, row: usize, errno: u64) {
        let key = (thread, row);
        let Some(calls) = entry(&mut self.calls, key, &mut self.n_rows, &mut self.n_unlisted) else { return };
        if calls.errors.contains_key(&errno) || self.n_rows < MAX_DETAILS {
            self.n_rows += usize::from(!calls.errors.contains_key(&errno));
            *calls.errors.entry(errno).or_default() += 1;
        } else {
            self.n_unlisted += 1;
        }
    }

    /// Counts a dispatch to a CPU.
    pub(super) fn add_dispatch(&mut self, thread: ThreadSlot, cpu: u32) {
        let n = entry(&mut self.dispatches, (thread, cpu), &mut self.n_rows, &mut self.n_unlisted);
        n.into_iter().for_each(|n| *n += 1);
    }

    /// Counts an interrupt.
    pub(super) fn add_interrupt(&mut self, thread: ThreadSlot, row: usize) {
        let n = entry(&mut self.interrupts, (thread, row), &mut self.n_rows, &mut self.n_unlisted);
        n.into_iter().for_each(|n| *n += 1);
    }

    /// Forgets what depends on CPUs, because the CPU without a number is none.
    pub(super) fn forget_cpus(&mut self) {
        self.dispatches.clear();
        self.interrupts.clear();
        self.calls.values_mut().for_each(|calls| calls.cpu.forget());
    }
}

/// Value of a key, created if there are few enough rows.
fn entry<'m, K: Eq + Hash, V: Default>(
    map: &'m mut HashMap<K, V>,
    key: K,
    n_rows: &mut usize,
    n_unlisted: &mut u64,
) -> Option<&'m mut V> {
    if *n_rows >= MAX_DETAILS && !map.contains_key(&key) {
        *n_unlisted += 1;
        return None;
    }
    Some(map.entry(key).or_insert_with(|| {
        *n_rows += 1;
        V::default()
    }))
}
