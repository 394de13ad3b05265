//! Processes and threads described in a log, with QNX's thread numbers.

use std::collections::HashMap;

/// Maximum number of known processes. Forgotten ones are described again.
const MAX_PROCESSES: usize = 1 << 16;
/// Maximum number of known threads per process.
const MAX_THREADS: usize = 1 << 16;

/// Properties of a thread as the system reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadFacts {
    /// Parent of its process; 0 if unknown.
    pub parent: u32,
    /// Name of the thread; empty if it has none.
    pub name: Vec<u8>,
    /// Priority.
    pub priority: u32,
    /// Scheduling policy.
    pub policy: u32,
}

impl Default for ThreadFacts {
    fn default() -> Self {
        Self { parent: 0, name: Vec::new(), priority: 10, policy: 0 }
    }
}

/// Thread in the log: its number in the process, priority and policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownThread {
    pub number: u32,
    pub priority: u32,
    pub policy: u32,
}

#[derive(Debug, Default)]
struct KnownProcess {
    /// Path of the program; `None` if it is not in the log yet.
    path: Option<Vec<u8>>,
    threads: HashMap<u32, KnownThread>,
    /// Highest thread number in use.
    last: u32,
}

/// Known processes and threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    processes: HashMap<u32, KnownProcess>,
}

impl Threads {
    /// Notes the program of a process; true if the log must describe it.
    pub fn set_program(&mut self, pid: u32, path: &[u8]) -> bool {
        let process = self.process(pid);
        if process.path.as_deref() == Some(path) {
            return false;
        }
        // After exec, a process starts with new threads.
        *process = KnownProcess { path: Some(path.to_vec()), ..KnownProcess::default() };
        true
    }

    /// Looks up or adds a thread. Returns true if the log must describe it; `facts` are used only then.
    pub fn find_or_add(&mut self, pid: u32, tid: u32, facts: &ThreadFacts) -> (KnownThread, bool) {
        let process = self.process(pid);
        if let Some(thread) = process.threads.get(&tid) {
            return (*thread, false);
        }
        if process.threads.len() == MAX_THREADS {
            process.threads.clear();
        }
        // Number 1 belongs to the main thread.
        let number = if tid == pid { 1 } else { process.last.max(1) + 1 };
        process.last = process.last.max(number);
        let thread = KnownThread { number, priority: facts.priority, policy: facts.policy };
        process.threads.insert(tid, thread);
        (thread, true)
    }

    /// Forgets a process; true if the log had described it.
    pub fn forget(&mut self, pid: u32) -> bool {
        self.processes.remove(&pid).is_some()
    }

    fn process(&mut self, pid: u32) -> &mut KnownProcess {
        if self.processes.len() == MAX_PROCESSES && !self.processes.contains_key(&pid) {
            self.processes.clear();
        }
        self.processes.entry(pid).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_thread_is_1_and_others_follow_in_order() {
        let mut threads = Threads::default();
        let mut number = |pid, tid| {
            let (thread, is_new) = threads.find_or_add(pid, tid, &ThreadFacts::default());
            (thread.number, is_new)
        };
        assert_eq!(
            [number(7, 9), number(7, 7), number(7, 8), number(7, 9)],
            [(2, true), (1, true), (3, true), (2, false)]
        );
        assert_eq!(number(8, 8), (1, true));
        assert!(threads.set_program(7, b"a") && !threads.set_program(7, b"a") && threads.set_program(7, b"b"));
        assert_eq!(threads.find_or_add(7, 8, &ThreadFacts::default()).0.number, 2);
        assert!(threads.forget(7) && !threads.forget(7));
    }
}
