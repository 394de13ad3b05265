//! Thread filter of a session (`trace -A`, `-t`, `-P`).

use crate::options::{Chosen, Propagation};
use std::collections::{HashMap, HashSet};
use std::fs;

/// Maximum number of ancestors examined per process.
const MAX_ANCESTORS: usize = 64;
/// Maximum number of cached decisions.
const MAX_DECIDED: usize = 1 << 16;

/// Selected threads, and those that follow from them.
#[derive(Debug, Default)]
pub(super) struct Choice {
    threads: HashSet<u32>,
    /// Processes whose later threads are selected too.
    processes: HashSet<u32>,
    /// Threads of these processes that existed at the start and were not selected.
    others: HashSet<u32>,
    with_children: bool,
    decided: HashMap<(u32, u32), bool>,
}

impl Choice {
    /// Finds the threads that exist now.
    pub fn new(chosen: &Chosen) -> Self {
        let mut choice = Self { with_children: chosen.propagation == Propagation::Processes, ..Self::default() };
        let propagates = chosen.propagation != Propagation::None;
        choice.threads.extend(&chosen.threads);
        for pid in &chosen.processes {
            choice.threads.extend(threads_of(*pid));
            choice.processes.extend(propagates.then_some(*pid));
        }
        for pid in chosen.threads.iter().filter_map(|tid| status(*tid, "Tgid:")).filter(|_| propagates) {
            if choice.processes.insert(pid) {
                choice.others.extend(threads_of(pid));
            }
        }
        choice.others.retain(|tid| !choice.threads.contains(tid));
        choice
    }

    /// True if events of a thread are written. `parent_of` returns the parent of a process that recorded.
    pub fn contains(&mut self, pid: u32, tid: u32, parent_of: impl Fn(u32) -> Option<u32>) -> bool {
        if let Some(decided) = self.decided.get(&(pid, tid)) {
            return *decided;
        }
        let is_chosen = self.threads.contains(&tid)
            || self.processes.contains(&pid) && !self.others.contains(&tid)
            || self.with_children && self.is_descendant(pid, parent_of);
        if self.decided.len() == MAX_DECIDED {
            self.decided.clear();
        }
        self.decided.insert((pid, tid), is_chosen);
        is_chosen
    }

    fn is_descendant(&mut self, pid: u32, parent_of: impl Fn(u32) -> Option<u32>) -> bool {
        let parent = |pid: &u32| parent_of(*pid).or_else(|| status(*pid, "PPid:")).filter(|parent| *parent > 1);
        let mut ancestors = std::iter::successors(parent(&pid), parent).take(MAX_ANCESTORS);
        let found = ancestors.any(|ancestor| self.processes.contains(&ancestor));
        // Added so that its children are found even after its parent ends.
        self.processes.extend(found.then_some(pid));
        found
    }
}

/// Threads of a process that exist now.
fn threads_of(pid: u32) -> impl Iterator<Item = u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok())
}

/// Number from a process's status, such as its parent's id.
fn status(pid: u32, field: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(field))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: [(u32, u32); 4] = [(20, 10), (30, 20), (40, 1), (50, 60)];

    fn parent_of(pid: u32) -> Option<u32> {
        TREE.iter().find(|(child, _)| *child == pid).map(|(_, parent)| *parent)
    }

    fn choice(with_children: bool, processes: &[u32]) -> Choice {
        Choice { with_children, processes: processes.iter().copied().collect(), ..Choice::default() }
    }

    #[test]
    fn descendants_follow_if_processes_propagate() {
        let mut children = choice(true, &[10]);
        for (pid, is_chosen) in [(10, true), (30, true), (20, true), (40, false), (50, false)] {
            assert_eq!(children.contains(pid, pid, parent_of), is_chosen, "{pid}");
        }
        assert!(!choice(false, &[10]).contains(20, 20, parent_of));
    }

    #[test]
    fn threads_that_were_not_chosen_stay_out() {
        let mut one = Choice { others: [11].into(), threads: [10].into(), ..choice(false, &[10]) };
        assert!(one.contains(10, 10, parent_of) && one.contains(10, 12, parent_of));
        assert!(!one.contains(10, 11, parent_of));
    }

    #[test]
    fn running_threads_are_found() {
        let pid = std::process::id();
        let of = |propagation| Choice::new(&Chosen { processes: vec![pid], propagation, ..Chosen::default() });
        assert!(of(Propagation::None).threads.contains(&pid) && of(Propagation::None).processes.is_empty());
        assert!(of(Propagation::Threads).processes.contains(&pid));
        let main = Chosen { threads: vec![pid], propagation: Propagation::Threads, ..Chosen::default() };
        let choice = Choice::new(&main);
        assert!(choice.processes.contains(&pid) && !choice.others.contains(&pid));
    }
}
