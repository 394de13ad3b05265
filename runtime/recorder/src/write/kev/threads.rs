//! Processes and threads that a log has told of, as QNX numbers them.

use std::collections::HashMap;

/// Processes that are known at once, at most. Those that were forgotten are told of once more.
const MAX_PROCESSES: usize = 1 << 16;
/// Threads of a process that are known at once, at most.
const MAX_THREADS: usize = 1 << 16;

/// Facts that the system reports of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadFacts {
    /// The parent of its process; 0 if it is not known.
    pub parent: u32,
    /// Its own name; empty if it has none.
    pub name: Vec<u8>,
    /// Its priority.
    pub priority: u32,
    /// Its scheduling policy.
    pub policy: u32,
}

impl Default for ThreadFacts {
    fn default() -> Self {
        Self { parent: 0, name: Vec::new(), priority: 10, policy: 0 }
    }
}

/// A thread in the log: its number in its process, its priority and policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thread {
    pub number: u32,
    pub priority: u32,
    pub policy: u32,
}

#[derive(Debug, Default)]
struct Process {
    /// Path of the program; `None` if the log has not told it.
    path: Option<Vec<u8>>,
    threads: HashMap<u32, Thread>,
    /// The highest number of a thread.
    last: u32,
}

/// The processes and threads that were met.
#[derive(Debug, Default)]
pub(super) struct Threads {
    processes: HashMap<u32, Process>,
}

impl Threads {
    /// Meets the program of a process: true if the log has to tell of it.
    pub fn meet_program(&mut self, pid: u32, path: &[u8]) -> bool {
        let process = self.process(pid);
        if process.path.as_deref() == Some(path) {
            return false;
        }
        // A program in place of another one has threads of its own.
        *process = Process { path: Some(path.to_vec()), ..Process::default() };
        true
    }

    /// Meets a thread: the thread, and true if the log has to tell of it. `facts` are of a new one.
    pub fn meet(&mut self, pid: u32, tid: u32, facts: &ThreadFacts) -> (Thread, bool) {
        let process = self.process(pid);
        if let Some(thread) = process.threads.get(&tid) {
            return (*thread, false);
        }
        if process.threads.len() == MAX_THREADS {
            process.threads.clear();
        }
        // Number 1 is the main thread's.
        let number = if tid == pid { 1 } else { process.last.max(1) + 1 };
        process.last = process.last.max(number);
        let thread = Thread { number, priority: facts.priority, policy: facts.policy };
        process.threads.insert(tid, thread);
        (thread, true)
    }

    /// Forgets a process: true if the log has told of it.
    pub fn forget(&mut self, pid: u32) -> bool {
        self.processes.remove(&pid).is_some()
    }

    fn process(&mut self, pid: u32) -> &mut Process {
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
    fn threads_are_numbered_in_the_order_met_and_the_main_thread_is_1() {
        let mut threads = Threads::default();
        let mut number = |pid, tid| {
            let (thread, is_new) = threads.meet(pid, tid, &ThreadFacts::default());
            (thread.number, is_new)
        };
        assert_eq!(
            [number(7, 9), number(7, 7), number(7, 8), number(7, 9)],
            [(2, true), (1, true), (3, true), (2, false)]
        );
        assert_eq!(number(8, 8), (1, true));
        assert!(threads.meet_program(7, b"a") && !threads.meet_program(7, b"a") && threads.meet_program(7, b"b"));
        assert_eq!(threads.meet(7, 8, &ThreadFacts::default()).0.number, 2);
        assert!(threads.forget(7) && !threads.forget(7));
    }
}
