//! State of processes, threads, CPUs and system calls, updated event by event.

use super::keys::IdKeys;
use super::names::AddressNames;
use super::table::{
    Action, ClassName, ContextTable, DAEMON_IDENTITY, DAEMON_NAME, DecodedHook, HookLookup, NamePos, NumberPos,
    TableEntry,
};
use crate::reader::aix::{RawEvent, hooks};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tfbc_vm::{ProcessNames, contains_any, num};

/// Default limit of remembered processes, of threads and of CPUs. Their ids come from the trace, so a hostile one could
/// use up memory; what exceeds the limit is dropped.
pub const MAX_KNOWN: usize = 1 << 16;
/// Longest remembered path in bytes.
const MAX_PATH: usize = 1023;
/// Longest remembered name of a system call in bytes.
const MAX_SVC: usize = 255;
/// Longest process name in reports, in characters.
const MAX_NAME: usize = 14;
/// Deepest nesting of interrupts that is counted.
const MAX_DEPTH: u32 = 99;
/// Context of an event, derived from earlier events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadContext<'c> {
    /// Thread id of the event.
    pub tid: u64,
    /// Process id of the thread.
    pub pid: Option<u64>,
    /// Path of the process; empty if unknown.
    pub path: &'c [u8],
    /// Last part of the path, made printable and cut to 14 characters; empty if unknown.
    pub name: &'c [u8],
    /// CPU, if it is known.
    pub cpu: Option<u64>,
    /// Nesting depth of interrupts on the CPU. Events without a CPU share one depth.
    pub depth: u32,
    /// Priority of the thread; 0 if unknown.
    pub priority: u64,
    /// System call of the thread: its name, or its address in hexadecimal; empty if there is none.
    pub svc: &'c [u8],
}

/// Parts of the context that a report needs besides processes and CPUs. The others are not tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RequiredContext {
    pub depth: bool,
    pub priority: bool,
    pub svc: bool,
}

impl RequiredContext {
    pub const ALL: Self = Self { depth: true, priority: true, svc: true };

    pub fn or(self, other: Self) -> Self {
        Self { depth: self.depth | other.depth, priority: self.priority | other.priority, svc: self.svc | other.svc }
    }

    /// Required part of an entry; `None` if it provides none.
    fn part_of(self, entry: &TableEntry) -> Option<TableEntry> {
        let is_wanted = match entry.action {
            Action::Enter { class, .. } | Action::Return { class, .. } => self.svc && class == ClassName::SYSCALL,
            Action::Symbol { .. } => self.svc,
            Action::Raise { .. } | Action::Lower { .. } | Action::Reset { .. } => self.depth,
            Action::Kproc { .. } | Action::Lost { .. } | Action::On | Action::Off => false,
            _ => true,
        };
        // The CPU of a thread is needed even if the rest of the entry is not: filters and the cpu column use it.
        match (is_wanted, entry.cpu) {
            (true, _) => Some(*entry),
            (false, Some(_)) => Some(TableEntry { action: Action::None, ..*entry }),
            (false, None) => None,
        }
    }
}

/// Context of one report, updated by every event in the report's order.
#[derive(Debug, Clone)]
pub struct ContextState {
    table: Arc<ContextTable>,
    names: Arc<AddressNames>,
    /// Names of addresses from the trace itself.
    symbols: Arc<HashMap<u64, Vec<u8>>>,
    max_symbols: usize,
    lookup: HookLookup,
    processes: SlotMap<Process>,
    threads: SlotMap<Thread>,
    /// Pairs of process and thread, as slots.
    members: BTreeSet<(u32, u32)>,
    /// Paths by process id, for the template code `P`.
    paths: ProcessNames,
    /// Interrupt depths: the first for events without a CPU, then one per CPU.
    depths: Vec<u32>,
    /// Cache of the last lookup, since neighbouring events usually belong to one thread.
    last: Option<(u64, Option<u32>)>,
    /// Change that takes effect after the last event.
    deferred: Vec<DeferredChange>,
    wanted: RequiredContext,
    /// Counts changes.
    version: u64,
    /// Version after the last change of anything but interrupt depths and system calls.
    version_of_facts: u64,
    /// Version after the last change that concerns all threads.
    version_of_all: u64,
    /// Version after the last change of a thread, by a hash of its id. Threads with equal hashes count as changed
    /// together.
    versions: Box<[u64; N_VERSIONS]>,
}

/// Size of the table of thread versions.
const N_VERSIONS: usize = 256;

/// Index of a thread's version in the table.
#[inline]
fn version_place(tid: u64) -> usize {
    (tid.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize % N_VERSIONS
}

#[derive(Debug, Clone, Default)]
struct Process {
    path: Vec<u8>,
    /// Short name for [`ThreadContext::name`].
    name: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
struct Thread {
    /// Slot and id of the thread's process.
    process: Option<(u32, u64)>,
    cpu: Option<u64>,
    priority: u64,
    svc: Vec<u8>,
    /// Version after the last change of `svc`.
    svc_version: u64,
}

/// Change of state after an event's own line.
#[derive(Debug, Clone, Copy)]
enum DeferredChange {
    Exit(u64),
    Return(u64),
    Undispatch(u64),
    Lower(usize),
    Reset(usize),
}

impl ContextState {
    /// Creates an empty state. `names` resolves the addresses of system calls.
    pub fn new(table: Arc<ContextTable>, names: Arc<AddressNames>) -> Self {
        Self::within(table, names, MAX_KNOWN, RequiredContext::ALL)
    }

    /// Creates an empty state with a limit of processes and of threads, which tracks only the wanted parts.
    pub(crate) fn within(
        table: Arc<ContextTable>,
        names: Arc<AddressNames>,
        max_known: usize,
        wanted: RequiredContext,
    ) -> Self {
        Self {
            lookup: lookup(&table, b"", wanted),
            table,
            names,
            symbols: Arc::default(),
            max_symbols: max_known,
            processes: SlotMap::new(max_known),
            threads: SlotMap::new(max_known),
            members: BTreeSet::new(),
            paths: ProcessNames::new(),
            depths: vec![0],
            last: None,
            deferred: Vec::new(),
            wanted,
            version: 0,
            version_of_facts: 0,
            version_of_all: 0,
            versions: Box::new([0; N_VERSIONS]),
        }
    }

    /// Updates the state by an event. What an event enters (a dispatch, a system call, an interrupt) applies to the
    /// event itself; what it leaves still applies to it, and no longer to later events.
    #[inline]
    pub fn advance(&mut self, event: &RawEvent<'_>) {
        if !self.deferred.is_empty() {
            self.apply_deferred();
        }
        let list = self.lookup.find(event.id);
        if list != 0 {
            self.apply_entries(DecodedHook::new(event), list);
        }
    }

    /// Number of times that a process or thread was dropped because of the limit.
    pub(crate) fn n_lost(&self) -> u64 {
        self.processes.n_lost + self.threads.n_lost
    }

    /// Number of changes so far.
    #[inline]
    pub(crate) fn n_changes(&self) -> u64 {
        self.version
    }

    /// Version of the facts about all threads, except interrupt depths and system calls. Equal versions mean equal
    /// facts.
    #[inline]
    pub(crate) fn version_of_facts(&self) -> u64 {
        self.version_of_facts
    }

    /// Version of the facts about a thread, except interrupt depths and system calls. Equal versions mean equal facts.
    #[inline]
    pub(crate) fn version(&self, tid: u64) -> u64 {
        self.version_of_all.max(self.versions[version_place(tid)])
    }

    /// Records a change of the facts about one thread.
    fn change(&mut self, tid: u64) {
        // One counter stamps all changes, so that the maximum of several stamps is the latest change. Readers keep
        // cells until it grows.
        self.version += 1;
        self.versions[version_place(tid)] = self.version;
        self.version_of_facts = self.version;
    }

    /// Records a change that may concern any thread.
    fn change_all(&mut self) {
        self.version += 1;
        self.version_of_all = self.version;
        self.version_of_facts = self.version;
    }

    /// Interrupt depth on the CPU of the last event, and version of its thread's system call.
    #[inline(always)]
    pub(crate) fn depth_and_svc(&mut self, tid: u64, cpu: Option<u64>) -> (u32, u64) {
        let RequiredContext { depth, svc, .. } = self.wanted;
        if !(depth || svc) {
            return (0, 0);
        }
        let thread = self.find_thread(tid).map(|slot| self.threads.get(slot));
        let cpu = cpu.or(thread.and_then(|thread| thread.cpu));
        let depth = if depth { self.depths.get(depth_place(cpu)).copied().unwrap_or(0) } else { 0 };
        (depth, thread.map_or(0, |thread| thread.svc_version))
    }

    /// System call of the last event's thread.
    #[inline]
    pub(crate) fn svc(&mut self, tid: u64) -> &[u8] {
        self.find_thread(tid).map_or(b"", |slot| &self.threads.get(slot).svc)
    }

    /// Context of the last event.
    #[inline]
    pub fn facts(&mut self, event: &RawEvent<'_>) -> ThreadContext<'_> {
        self.facts_of(event.tid, event.cpu)
    }

    /// Context of the last event, by its thread and its own CPU.
    pub(crate) fn facts_of(&mut self, tid: u64, cpu: Option<u64>) -> ThreadContext<'_> {
        self.look_up(tid, cpu).0
    }

    /// Paths of all processes.
    pub fn paths(&self) -> &ProcessNames {
        &self.paths
    }

    /// Context of the last event, and the paths of all processes.
    #[inline]
    pub fn facts_and_paths(&mut self, event: &RawEvent<'_>) -> (ThreadContext<'_>, &ProcessNames) {
        self.look_up(event.tid, event.cpu)
    }

    fn look_up(&mut self, tid: u64, cpu: Option<u64>) -> (ThreadContext<'_>, &ProcessNames) {
        let thread = self.find_thread(tid).map(|slot| self.threads.get(slot));
        let cpu = cpu.or(thread.and_then(|thread| thread.cpu));
        let depth = self.depths.get(depth_place(cpu)).copied().unwrap_or(0);
        let mut facts = ThreadContext { tid, cpu, depth, ..ThreadContext::default() };
        if let Some(thread) = thread {
            facts.priority = thread.priority;
            facts.svc = &thread.svc;
            if let Some((slot, pid)) = thread.process {
                let process = self.processes.get(slot);
                (facts.pid, facts.path, facts.name) = (Some(pid), &process.path, &process.name);
            }
        }
        (facts, &self.paths)
    }

    #[inline(never)]
    fn apply_entries(&mut self, event: DecodedHook<'_>, list: u32) {
        // A hook can have different meanings for different recorders, so the table is searched again when the trace
        // names its recorder.
        if event.id == hooks::UTILITY && event.kind() == Some(DAEMON_IDENTITY) {
            self.lookup = lookup(&self.table, event.text(DAEMON_NAME).unwrap_or_default(), self.wanted);
            return;
        }
        let mut n = 0;
        while let Some(entry) = self.lookup.entry(list, n) {
            n += 1;
            if event.matches(entry) {
                let entry = *entry;
                self.apply(&entry, &event);
            }
        }
    }

    #[inline(always)]
    fn apply(&mut self, entry: &TableEntry, event: &DecodedHook<'_>) {
        let stated = entry.cpu.and_then(|place| event.number(place));
        let optional = |place: Option<NumberPos>| place.and_then(|place| event.number(place));
        let tid_or_own = |place: Option<NumberPos>| place.map_or(Some(event.tid), |place| event.number(place));
        // First, because the actions use the CPU of the event's thread.
        if stated.is_some() {
            self.run_on(event.tid, stated);
        }
        match entry.action {
            Action::None => {}
            Action::Process { pid, tid, path } => {
                let Some(pid) = event.number(pid) else { return };
                self.set_path(pid, path.and_then(|path| event.text(path)));
                if let Some(tid) = optional(tid) {
                    self.attach(tid, pid);
                }
            }
            Action::Exec { pid, path } => {
                let pid = if pid.is_some() { optional(pid) } else { self.pid_of(event.tid) };
                let (Some(pid), Some(path)) = (pid, event.text(path)) else { return };
                self.set_path(pid, Some(path));
                self.attach(event.tid, pid);
            }
            Action::Fork { pid, tid } => {
                let Some(pid) = event.number(pid) else { return };
                // A child runs the program of its parent until it calls exec.
                let path = self.found_path(event.tid);
                self.set_path(pid, Some(&path));
                if let Some(tid) = optional(tid) {
                    self.attach(tid, pid);
                }
            }
            Action::Thread { tid, pid, priority } => {
                let Some(tid) = event.number(tid) else { return };
                let pid = if pid.is_some() { optional(pid) } else { self.pid_of(event.tid) };
                if let Some(pid) = pid {
                    self.attach(tid, pid);
                }
                self.prioritise(tid, optional(priority));
            }
            Action::Exit { pid } => {
                let pid = if pid.is_some() { optional(pid) } else { self.pid_of(event.tid) };
                // Deferred, because the line of the exit itself still belongs to the process.
                self.deferred.extend(pid.map(DeferredChange::Exit));
            }
            Action::Dispatch { pid, tid, priority, .. } => {
                let Some(tid) = tid_or_own(tid) else { return };
                if let Some(pid) = optional(pid) {
                    self.attach(tid, pid);
                }
                self.prioritise(tid, optional(priority));
                let cpu = event.cpu.or(stated);
                if cpu.is_some() {
                    self.run_on(tid, cpu);
                }
                if self.wanted.depth {
                    *self.depth(event) = 0;
                    // Not recorded as a change, because every interrupt would make all cached cells stale. Depths are
                    // compared separately.
                    self.version += 1;
                }
            }
            Action::Undispatch { tid } => self.deferred.extend(tid_or_own(tid).map(DeferredChange::Undispatch)),
            // The column shows system calls only.
            Action::Enter { class, .. } | Action::Return { class, .. } if class != ClassName::SYSCALL => {}
            Action::Enter { name: NamePos::Text(name), .. } => {
                self.enter(event.tid, event.text(name).unwrap_or_default());
            }
            Action::Enter { name: NamePos::Address(address), .. } => {
                let Some(address) = event.number(address) else { return };
                if self.names.get(address).is_none() && !self.symbols.contains_key(&address) {
                    return self.enter(event.tid, Hex::new(address).digits());
                }
                // Cloned, because `enter` needs all of `self` while it reads a name from these lists.
                let (names, symbols) = (Arc::clone(&self.names), Arc::clone(&self.symbols));
                if let Some(name) = names.get(address).or_else(|| symbols.get(&address).map(Vec::as_slice)) {
                    self.enter(event.tid, name);
                }
            }
            Action::Symbol { address, name } => {
                let (Some(address), Some(name)) = (event.number(address), event.text(name)) else { return };
                // A hostile trace may name any number of addresses.
                if self.symbols.len() < self.max_symbols {
                    Arc::make_mut(&mut self.symbols).insert(address, name[..name.len().min(MAX_SVC)].to_vec());
                }
            }
            Action::Return { .. } => self.deferred.push(DeferredChange::Return(event.tid)),
            Action::Raise { .. } => {
                let depth = self.depth(event);
                // Bounded, because interrupts without a return would raise it without end.
                *depth = (*depth + 1).min(MAX_DEPTH);
                self.version += 1;
            }
            Action::Lower { .. } => {
                let place = self.place(event);
                self.deferred.push(DeferredChange::Lower(place));
            }
            Action::Reset { .. } => {
                let place = self.place(event);
                self.deferred.push(DeferredChange::Reset(place));
            }
            Action::Kproc { .. } | Action::Lost { .. } | Action::On | Action::Off => {}
        }
    }

    #[inline(never)]
    fn apply_deferred(&mut self) {
        self.version += 1;
        while let Some(change) = self.deferred.pop() {
            match change {
                DeferredChange::Exit(pid) => self.forget(pid),
                DeferredChange::Return(tid) => {
                    if let Some(slot) = self.find_thread(tid) {
                        let version = self.version;
                        let thread = self.threads.get_mut(slot);
                        thread.svc.clear();
                        thread.svc_version = version;
                    }
                }
                DeferredChange::Undispatch(tid) => {
                    if self.find_thread(tid).is_some() {
                        self.run_on(tid, None);
                    }
                }
                DeferredChange::Lower(place) => self.depths[place] = self.depths[place].saturating_sub(1),
                DeferredChange::Reset(place) => self.depths[place] = 0,
            }
        }
    }

    /// Index of the interrupt depth of an event's CPU; grows the table if necessary.
    fn place(&mut self, event: &DecodedHook<'_>) -> usize {
        let thread = self.find_thread(event.tid);
        let cpu = event.cpu.or(thread.and_then(|slot| self.threads.get(slot).cpu));
        let place = depth_place(cpu);
        if place >= self.depths.len() {
            self.depths.resize(place + 1, 0);
        }
        place
    }

    fn depth(&mut self, event: &DecodedHook<'_>) -> &mut u32 {
        let place = self.place(event);
        &mut self.depths[place]
    }

    fn enter(&mut self, tid: u64, name: &[u8]) {
        self.version += 1;
        let version = self.version;
        if let Some(thread) = self.make_thread(tid) {
            let name = &name[..name.len().min(MAX_SVC)];
            thread.svc.clear();
            // Names rarely need a change, and this test takes 8 bytes at a time.
            if contains_any::<0x7F7F_7F7F, 0x20>(name) {
                thread.svc.extend(name.iter().map(|byte| printable(*byte)));
            } else {
                thread.svc.extend_from_slice(name);
            }
            thread.svc_version = version;
        }
    }

    fn prioritise(&mut self, tid: u64, priority: Option<u64>) {
        if let Some(priority) = priority
            && self.wanted.priority
            && let Some(thread) = self.make_thread(tid)
            && std::mem::replace(&mut thread.priority, priority) != priority
        {
            self.change(tid);
        }
    }

    /// Moves a thread to a CPU, or to none.
    fn run_on(&mut self, tid: u64, cpu: Option<u64>) {
        if let Some(thread) = self.make_thread(tid)
            && std::mem::replace(&mut thread.cpu, cpu) != cpu
        {
            self.change(tid);
        }
    }

    fn pid_of(&mut self, tid: u64) -> Option<u64> {
        let slot = self.find_thread(tid)?;
        self.threads.get(slot).process.map(|(_, pid)| pid)
    }

    /// Path of a thread's process.
    fn found_path(&mut self, tid: u64) -> Vec<u8> {
        let process = self.find_thread(tid).and_then(|slot| self.threads.get(slot).process);
        process.map_or(Vec::new(), |(slot, _)| self.processes.get(slot).path.clone())
    }

    /// Sets the path of a process. An empty path removes it; `None` leaves it unchanged.
    fn set_path(&mut self, pid: u64, path: Option<&[u8]>) {
        let Some(slot) = self.processes.make(pid) else { return };
        let Some(path) = path else { return };
        let path = &path[..path.len().min(MAX_PATH)];
        let process = self.processes.get_mut(slot);
        // A repeated path is no change, and must not make the cells of all threads stale.
        if process.path == path {
            return;
        }
        process.path = path.to_vec();
        process.name = base_name(path).iter().take(MAX_NAME).map(|byte| printable(*byte)).collect();
        if path.is_empty() {
            self.paths.remove(&pid);
        } else {
            self.paths.insert(pid, path.to_vec());
        }
        // All threads count as changed. Searching those of this process is not worth it, because paths change rarely.
        self.change_all();
    }

    /// Moves a thread to a process.
    fn attach(&mut self, tid: u64, pid: u64) {
        let Some(process) = self.processes.make(pid) else { return };
        let Some(slot) = self.make_slot(tid) else { return };
        // The system reuses thread ids. The end of the old process must not remove a thread that now belongs to another.
        let old = self.threads.get_mut(slot).process.replace((process, pid));
        if old != Some((process, pid)) {
            self.change(tid);
            if let Some((old, _)) = old {
                self.members.remove(&(old, slot));
            }
            self.members.insert((process, slot));
        }
    }

    /// Removes a process with all its threads.
    fn forget(&mut self, pid: u64) {
        let Some(process) = self.processes.remove(pid) else { return };
        self.paths.remove(&pid);
        self.change_all();
        // The cached slot may belong to a thread that is removed here.
        self.last = None;
        while let Some(&(_, thread)) = self.members.range((process, 0)..=(process, u32::MAX)).next() {
            self.members.remove(&(process, thread));
            self.threads.remove_slot(thread);
        }
    }

    #[inline]
    fn find_thread(&mut self, tid: u64) -> Option<u32> {
        match self.last {
            Some((last, slot)) if last == tid => slot,
            _ => {
                // A miss is cached too. If the table has no entries for threads, every event is a miss.
                let slot = self.threads.find(tid);
                self.last = Some((tid, slot));
                slot
            }
        }
    }

    #[inline]
    fn make_slot(&mut self, tid: u64) -> Option<u32> {
        match self.last {
            Some((last, slot @ Some(_))) if last == tid => slot,
            _ => self.add_slot(tid),
        }
    }

    #[inline(never)]
    fn add_slot(&mut self, tid: u64) -> Option<u32> {
        let slot = self.find_thread(tid).or_else(|| self.threads.make(tid));
        self.last = Some((tid, slot));
        slot
    }

    fn make_thread(&mut self, tid: u64) -> Option<&mut Thread> {
        self.make_slot(tid).map(|slot| self.threads.get_mut(slot))
    }
}

/// Wanted entries of the table for traces of the recorder `daemon`.
fn lookup(table: &ContextTable, daemon: &[u8], wanted: RequiredContext) -> HookLookup {
    let mut lookup = table.lookup(daemon, |entry| wanted.part_of(entry));
    // The recorder's name is always read, whether the table contains this hook or not.
    lookup.list(hooks::UTILITY);
    lookup
}

/// Map from ids to values in reusable slots.
#[derive(Debug, Clone)]
struct SlotMap<T> {
    by_id: HashMap<u64, u32, IdKeys>,
    values: Vec<(u64, T)>,
    free: Vec<u32>,
    max: usize,
    /// Number of times that all slots were taken.
    n_lost: u64,
}

impl<T: Default> SlotMap<T> {
    fn new(max: usize) -> Self {
        Self { by_id: HashMap::default(), values: Vec::new(), free: Vec::new(), max, n_lost: 0 }
    }

    fn find(&self, id: u64) -> Option<u32> {
        if self.by_id.is_empty() { None } else { self.by_id.get(&id).copied() }
    }

    /// Finds or creates the slot of an id; `None` if all are taken.
    fn make(&mut self, id: u64) -> Option<u32> {
        if let Some(slot) = self.find(id) {
            return Some(slot);
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.values.len() < self.max => {
                self.values.push((id, T::default()));
                self.values.len() as u32 - 1
            }
            None => {
                self.n_lost += 1;
                return None;
            }
        };
        // A reused slot still has the values of its last owner.
        self.values[slot as usize] = (id, T::default());
        self.by_id.insert(id, slot);
        Some(slot)
    }

    fn get(&self, slot: u32) -> &T {
        &self.values[slot as usize].1
    }

    fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.values[slot as usize].1
    }

    fn remove(&mut self, id: u64) -> Option<u32> {
        let slot = self.by_id.remove(&id)?;
        self.free.push(slot);
        Some(slot)
    }

    fn remove_slot(&mut self, slot: u32) {
        self.remove(self.values[slot as usize].0);
    }
}

/// Hexadecimal digits of an address, at least 8.
struct Hex {
    digits: [u8; 16],
    start: usize,
}

impl Hex {
    fn new(address: u64) -> Self {
        let mut digits = [0; 16];
        num::hex(&mut digits, 0, address, 16);
        Self { digits, start: (address.leading_zeros() as usize / 4).min(8) }
    }

    fn digits(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

/// Index of a CPU's interrupt depth. CPUs above [`MAX_KNOWN`] count as unknown.
#[inline]
fn depth_place(cpu: Option<u64>) -> usize {
    // A CPU id is any number of 64 bits in a hostile trace, and indexes a list here.
    match cpu {
        Some(cpu) if cpu < MAX_KNOWN as u64 => cpu as usize + 1,
        _ => 0,
    }
}

/// Part of a path after the last slash; the whole path if that part is empty.
fn base_name(path: &[u8]) -> &[u8] {
    let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if base.is_empty() { path } else { base }
}

fn printable(byte: u8) -> u8 {
    if (0x20..0x7F).contains(&byte) { byte } else { b'.' }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 64-bit event with data words.
    fn words(id: u16, subhook: u16, tid: u64, words: &[u64]) -> (u16, u64, Vec<u8>) {
        let head = (words.len() as u64 * 8) << 32 | u64::from(id) << 16 | u64::from(subhook);
        (id, tid, [&[head], words].concat().iter().flat_map(|word| word.to_be_bytes()).collect())
    }

    /// A 64-bit generic event.
    fn generic(id: u16, tid: u64, word: u64, bytes: &[u8]) -> (u16, u64, Vec<u8>) {
        let head = 0x4000_u64 << 48 | (bytes.len() as u64) << 32 | u64::from(id) << 16;
        let mut event: Vec<u8> = [head, word].iter().flat_map(|word| word.to_be_bytes()).collect();
        event.extend(bytes);
        (id, tid, event)
    }

    fn state(table: &str) -> ContextState {
        state_of(table, RequiredContext::ALL)
    }

    fn state_of(table: &str, wanted: RequiredContext) -> ContextState {
        let names = AddressNames::parse(b"kread 1A2B4").unwrap();
        ContextState::within(Arc::new(table.parse().unwrap()), Arc::new(names), MAX_KNOWN, wanted)
    }

    /// Formats an event's context as `pid name cpu depth priority svc`, with `-` for unknown parts.
    fn line(state: &mut ContextState, (id, tid, bytes): &(u16, u64, Vec<u8>)) -> String {
        let event = RawEvent {
            number: 1,
            offset: 0,
            bytes,
            recorded: &[],
            wide: true,
            id: *id,
            tid: *tid,
            ticks: None,
            cpu: None,
        };
        state.advance(&event);
        let facts = state.facts(&event);
        let number = |number: Option<u64>| number.map_or(String::from("-"), |number| number.to_string());
        let text = |text: &[u8]| String::from_utf8_lossy(if text.is_empty() { b"-" } else { text }).into_owned();
        let (name, svc) = (text(facts.name), text(facts.svc));
        format!("{} {name} {} {} {} {svc}", number(facts.pid), number(facts.cpu), facts.depth, facts.priority)
    }

    #[test]
    fn entries_apply_at_once_and_exits_after_the_event() {
        let mut state = state("106 dispatch pid=D1 tid=D2 priority=D3 cpu=HD\n101 enter address=D1\n104 return");
        let plain = words(0x0100, 0, 7, &[]);
        assert_eq!(line(&mut state, &plain), "- - - 0 0 -");
        assert_eq!(line(&mut state, &words(0x1060, 3, 7, &[40, 7, 60])), "40 - 3 0 60 -");
        assert_eq!(line(&mut state, &words(0x1010, 0, 7, &[0x1A2B4])), "40 - 3 0 60 kread");
        assert_eq!(line(&mut state, &words(0x1010, 0, 7, &[0x1A2B5])), "40 - 3 0 60 0001A2B5");
        assert_eq!(line(&mut state, &words(0x0100, 0, 8, &[])), "- - - 0 0 -");
        assert_eq!(line(&mut state, &words(0x1040, 0, 7, &[])), "40 - 3 0 60 0001A2B5");
        assert_eq!(line(&mut state, &plain), "40 - 3 0 60 -");
    }

    #[test]
    fn interrupts_are_counted_by_cpu() {
        let mut state = state("100 raise cpu=HD\n102 raise cpu=HD\n103 lower cpu=HD\n200 reset cpu=HD\n106 dispatch");
        let (first, second) = (words(0x0100, 0, 7, &[]), words(0x0100, 0, 8, &[]));
        assert_eq!(line(&mut state, &words(0x1000, 0, 7, &[])), "- - 0 1 0 -");
        assert_eq!(line(&mut state, &words(0x1020, 0, 7, &[])), "- - 0 2 0 -");
        assert_eq!(line(&mut state, &words(0x1000, 1, 8, &[])), "- - 1 1 0 -");
        assert_eq!(line(&mut state, &words(0x1030, 0, 7, &[])), "- - 0 2 0 -");
        assert_eq!(line(&mut state, &first), "- - 0 1 0 -");
        assert_eq!(line(&mut state, &words(0x2000, 0, 7, &[])), "- - 0 1 0 -");
        assert_eq!(line(&mut state, &first), "- - 0 0 0 -");
        assert_eq!(line(&mut state, &second), "- - 1 1 0 -");
        assert_eq!(line(&mut state, &words(0x1060, 0, 8, &[])), "- - 1 0 0 -");
        for _ in 0..200 {
            line(&mut state, &words(0x1000, 1, 8, &[]));
        }
        assert_eq!(line(&mut state, &second), "- - 1 99 0 -");
    }

    #[test]
    fn processes_come_and_go() {
        let mut state = state(
            "00A kind=1 process pid=U8@W2 tid=U8@W2+8 path=S@W2+16\n139 fork pid=D1 tid=D2\n\
             134 generic exec pid=D1 path=P@W2\n465 thread tid=D1\n135 exit",
        );
        let record = [&40_u64.to_be_bytes()[..], &7_u64.to_be_bytes(), b"/usr/bin/a_very_long_name\0x"].concat();
        line(&mut state, &generic(0x00A0, 1, 1, &record));
        assert_eq!(line(&mut state, &words(0x1390, 0, 7, &[41, 8])), "40 a_very_long_na - 0 0 -");
        let (parent, child) = (words(0x0100, 0, 7, &[]), words(0x0100, 0, 8, &[]));
        assert_eq!(line(&mut state, &child), "41 a_very_long_na - 0 0 -");
        assert_eq!(line(&mut state, &generic(0x1340, 8, 41, b"no path")), "41 a_very_long_na - 0 0 -");
        assert_eq!(line(&mut state, &generic(0x1340, 8, 41, b"/usr/bin/ls")), "41 ls - 0 0 -");
        assert_eq!(state.paths.get(&41).unwrap(), b"/usr/bin/ls");
        line(&mut state, &words(0x4650, 0, 8, &[9]));
        assert_eq!(line(&mut state, &words(0x0100, 0, 9, &[])), "41 ls - 0 0 -");
        assert_eq!(line(&mut state, &words(0x1350, 0, 9, &[])), "41 ls - 0 0 -");
        assert_eq!(line(&mut state, &words(0x0100, 0, 9, &[])), "- - - 0 0 -");
        assert_eq!(line(&mut state, &child), "- - - 0 0 -");
        assert_eq!(line(&mut state, &parent), "40 a_very_long_na - 0 0 -");
        assert!(!state.paths.contains_key(&41));
    }

    /// Context of a thread in owned form.
    type Known = (Option<u64>, Vec<u8>, Vec<u8>, Option<u64>, u32, u64, Vec<u8>);

    fn known(state: &mut ContextState, tid: u64) -> Known {
        let event = RawEvent {
            number: 1,
            offset: 0,
            bytes: &[0; 8],
            recorded: &[],
            wide: true,
            id: 0x0100,
            tid,
            ticks: None,
            cpu: None,
        };
        let (depth, svc) = state.depth_and_svc(tid, None);
        assert_eq!(depth, if state.wanted.depth { state.facts(&event).depth } else { 0 });
        assert!(svc > 0 || state.facts(&event).svc.is_empty());
        let ThreadContext { pid, path, name, cpu, depth, priority, svc, .. } = state.facts(&event);
        (pid, path.to_vec(), name.to_vec(), cpu, depth, priority, svc.to_vec())
    }

    /// Versions of a thread, of its system call, and of everything.
    fn versions(state: &mut ContextState, tid: u64) -> (u64, u64, u64) {
        (state.version(tid), state.depth_and_svc(tid, None).1, state.n_changes())
    }

    #[test]
    fn wanted_parts_are_tracked_and_versions_mark_changes() {
        let table = "00A kind=1 process pid=U8@W2 tid=U8@W2+8 path=S@W2+16\n100 raise cpu=HD\n101 generic enter name=S@W2\n\
                     101 plain enter address=D1\n103 lower\n104 return\n106 dispatch pid=D1 tid=D2 priority=D3 cpu=HD\n\
                     134 generic exec pid=D1 path=P@W2\n135 exit pid=D1\n139 fork pid=D1 tid=D2\n200 reset\n\
                     465 thread pid=D1 tid=D2 priority=D3\n4B0 undispatch tid=D2 cpu=HD";
        let mut seed = 1_u64;
        let mut below = move |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let none = RequiredContext::default();
        let all_wanted = [
            RequiredContext::ALL,
            none,
            RequiredContext { depth: true, ..none },
            RequiredContext { priority: true, ..none },
            RequiredContext { svc: true, ..none },
        ];
        let mut states = all_wanted.map(|wanted| state_of(table, wanted));
        // Context per thread, with the versions at that time: of the thread, of its system call, of everything.
        type Versions = (u64, u64, u64);
        let mut before: [[Option<(Versions, Known)>; 4]; 5] = Default::default();
        let ids =
            [0x00A0, 0x1000, 0x1010, 0x1010, 0x1030, 0x1040, 0x1060, 0x1340, 0x1350, 0x1390, 0x2000, 0x4650, 0x4B00];
        let mut n_same = 0;
        for _ in 0..20_000 {
            let (id, tid) = (ids[below(13) as usize], below(4));
            let event = if matches!(id, 0x00A0 | 0x1340) || (id == 0x1010 && below(2) == 0) {
                let path = [&b"/bin/sh\0"[..], b"/bin/ls\0", b"ls\0"][below(3) as usize];
                let record = [&(40 + below(3)).to_be_bytes()[..], &below(4).to_be_bytes(), path].concat();
                generic(
                    id,
                    tid,
                    if id == 0x00A0 { 1 } else { 40 + below(3) },
                    if id == 0x00A0 { &record } else { path },
                )
            } else {
                words(id, below(3) as u16, tid, &[40 + below(3), below(4), below(3)])
            };
            for state in &mut states {
                line(state, &event);
            }
            let of_all: Vec<_> = (0..4).map(|tid| known(&mut states[0], tid)).collect();
            for (state, before) in states.iter_mut().zip(&mut before) {
                let RequiredContext { depth, priority, svc } = state.wanted;
                for (tid, expected) in of_all.iter().enumerate() {
                    let found = known(state, tid as u64);
                    let of = |known: &Known| (known.0, known.1.clone(), known.2.clone(), known.3);
                    assert_eq!(of(&found), of(expected));
                    assert!(!depth || found.4 == expected.4);
                    assert!(!priority || found.5 == expected.5);
                    assert!(!svc || found.6 == expected.6);
                    let versions = versions(state, tid as u64);
                    if let Some((before, known)) = &before[tid] {
                        let rare = |known: &Known| (of(known), known.5);
                        assert!(before.0 != versions.0 || rare(known) == rare(&found));
                        assert!(before.1 != versions.1 || known.6 == found.6);
                        assert!(before.2 != versions.2 || *known == found);
                        n_same += usize::from(before.0 == versions.0);
                    }
                    before[tid] = Some((versions, found));
                }
            }
        }
        assert!(n_same > 100_000, "{n_same}");
    }

    #[test]
    fn a_recorder_that_names_itself_gets_its_section() {
        let mut state = state("106 dispatch\n[daemon own]\n106 dispatch pid=D1");
        let dispatch = words(0x1060, 0, 7, &[40]);
        assert_eq!(line(&mut state, &dispatch), "- - - 0 0 -");
        line(&mut state, &generic(0x00A0, 1, 0x1E, b"other\0"));
        assert_eq!(line(&mut state, &dispatch), "- - - 0 0 -");
        line(&mut state, &generic(0x00A0, 1, 0x1E, b"own\0"));
        assert_eq!(line(&mut state, &dispatch), "40 - - 0 0 -");
    }

    #[test]
    fn the_users_names_of_addresses_come_first() {
        let mut state = state("00A kind=C symbol address=U8@W2+8 name=S@W2+16\n101 plain enter address=D1");
        let symbol = |address: u64, name: &[u8]| {
            let record = [&7u64.to_be_bytes()[..], &address.to_be_bytes(), name, &[0]].concat();
            generic(0x00A0, 1, 0xC, &record)
        };
        let entered = |state: &mut ContextState, address| {
            line(state, &words(0x1010, 0, 7, &[address])).rsplit(' ').next().unwrap().to_owned()
        };
        line(&mut state, &symbol(0x1A2B4, b"other"));
        line(&mut state, &symbol(0x1000, b"main"));
        assert_eq!(entered(&mut state, 0x1A2B4), "kread");
        assert_eq!(entered(&mut state, 0x1000), "main");
        assert_eq!(entered(&mut state, 0x1001), "00001001");
        for address in 0..2 * MAX_KNOWN as u64 {
            line(&mut state, &symbol(address, b"f"));
        }
        assert_eq!(state.symbols.len(), MAX_KNOWN);
    }

    #[test]
    fn memory_is_bounded_and_reused() {
        let mut state = state("139 fork pid=D1 tid=D2\n135 exit pid=D1\n100 raise cpu=D1");
        for id in 0..MAX_KNOWN as u64 + 10 {
            line(&mut state, &words(0x1390, 0, 1, &[id, id + 1_000_000]));
        }
        let last = MAX_KNOWN as u64 + 9;
        assert_eq!(state.threads.values.len(), MAX_KNOWN);
        assert_eq!(line(&mut state, &words(0x0100, 0, last + 1_000_000, &[])), "- - - 0 0 -");
        line(&mut state, &words(0x1350, 0, 1, &[5]));
        line(&mut state, &words(0x1390, 0, 1, &[last, last + 1_000_000]));
        assert_eq!(line(&mut state, &words(0x0100, 0, last + 1_000_000, &[])), format!("{last} - - 0 0 -"));
        for cpu in [0, u64::MAX, 1 << 40] {
            line(&mut state, &words(0x1000, 0, 1_000_007, &[cpu]));
        }
        assert!(state.depths.len() <= MAX_KNOWN + 1);
    }

    #[test]
    fn a_thread_may_move_between_processes_for_ever() {
        let mut state = state("106 dispatch pid=D1\n135 exit pid=D1");
        for n in 0..1000 {
            line(&mut state, &words(0x1060, 0, 7, &[n % 3]));
        }
        assert_eq!(state.members.len(), 1);
        line(&mut state, &words(0x1350, 0, 7, &[1]));
        assert_eq!(line(&mut state, &words(0x0100, 0, 7, &[])), "0 - - 0 0 -");
        line(&mut state, &words(0x1350, 0, 7, &[0]));
        assert_eq!(line(&mut state, &words(0x0100, 0, 7, &[])), "- - - 0 0 -");
        assert_eq!(state.members.len(), 0);
    }
}
