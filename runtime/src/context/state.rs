//! State of processes, threads, CPUs and system calls, updated event by event.

use super::keys::IdKeys;
use super::names::AddressNames;
use super::table::{
    Action, ClassName, ContextTable, DAEMON_IDENTITY, DAEMON_NAME, DecodedHook, FastAction, FastEntry, HookLookup,
    NamePos, ResolvedPos, TableEntry,
};
use crate::reader::aix::{RawEvent, hooks};
use crate::split::codec::stored;
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
            (true, _) => Some(TableEntry { action: self.without_priority(entry.action), ..*entry }),
            (false, Some(_)) => Some(TableEntry { action: Action::None, ..*entry }),
            (false, None) => None,
        }
    }
}

impl RequiredContext {
    /// The action, without a priority that is not required.
    fn without_priority(self, mut action: Action) -> Action {
        if let Action::Dispatch { priority, .. } | Action::Thread { priority, .. } = &mut action
            && !self.priority
        {
            *priority = None;
        }
        action
    }
}

/// Context of one report, updated by every event in the report's order.
#[derive(Debug, Clone)]
pub struct ContextState {
    table: Arc<ContextTable>,
    /// Name of the recorder, by which entries of the table apply.
    daemon: Vec<u8>,
    lookup: HookLookup,
    /// Incremented when `lookup` changes.
    n_lookups: u64,
    known: Known,
}

/// Facts about a thread on which its [`Shortcut`]s depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadFacts {
    /// Slot of the thread, or [`NO_SLOT`].
    slot: u32,
    pub pid: Option<u64>,
    pub cpu: Option<u64>,
    /// True if the address of a system call may have a name.
    has_names: bool,
}

impl ThreadFacts {
    /// Facts about a thread that is not known.
    pub const UNKNOWN: Self = Self { slot: NO_SLOT, pid: None, cpu: None, has_names: false };

    /// True if the thread is known. An event may make it known without a change of the version.
    pub fn is_known(&self) -> bool {
        self.slot != NO_SLOT
    }
}

/// Effect of an event, valid for all events of the thread with an equal hook word until the thread's facts change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortcut {
    /// The effect depends on the data, or changes facts.
    None,
    /// Dispatch of the event's own thread, if its data says so: index of the entry, and of the interrupt depth.
    Dispatch(u32, u32),
    /// The event changes nothing.
    Nothing,
    /// System call with an address, which is at this position.
    Enter(ResolvedPos),
    /// End of the system call.
    Return,
    /// Changes of the interrupt depth at this index.
    Raise(u32),
    Lower(u32),
    Reset(u32),
}

/// Context between two events, without what follows from it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContextSnapshot {
    daemon: Vec<u8>,
    /// Process ids, ascending, with paths.
    processes: Vec<(u64, Vec<u8>)>,
    /// Threads by ascending id.
    threads: Vec<ThreadSnapshot>,
    symbols: Vec<(u64, Vec<u8>)>,
    depths: Vec<u32>,
    /// Changes that take effect after the last event, the first one first.
    deferred: Vec<ChangeSnapshot>,
}

/// Context of one thread.
#[derive(Debug, Clone, Default)]
struct ThreadSnapshot {
    tid: u64,
    pid: Option<u64>,
    cpu: Option<u64>,
    priority: u64,
    /// Address of the system call, or its name; neither if there is none.
    svc_address: Option<u64>,
    svc_name: Vec<u8>,
}

/// A [`DeferredChange`]: its kind, and its process, thread or place.
#[derive(Debug, Clone, Default)]
struct ChangeSnapshot {
    kind: u8,
    value: u64,
}

stored!(ContextSnapshot { daemon, processes, threads, symbols, depths, deferred } where |context| !context.depths.is_empty()
    && context.depths.len() <= MAX_KNOWN + 1
    && context.depths.iter().all(|depth| *depth <= MAX_DEPTH)
    && context.processes.is_sorted_by(|a, b| a.0 < b.0)
    && context.threads.is_sorted_by(|a, b| a.tid < b.tid)
    && context.deferred.iter().all(|change| change.change(context.depths.len()).is_some()));

stored!(ThreadSnapshot { tid, pid, cpu, priority, svc_address, svc_name });

stored!(ChangeSnapshot { kind, value });

impl ChangeSnapshot {
    fn of(change: DeferredChange) -> Self {
        let (kind, value) = match change {
            DeferredChange::Exit(pid) => (0, pid),
            DeferredChange::Return(tid) => (1, tid),
            DeferredChange::Undispatch(tid) => (2, tid),
            DeferredChange::Lower(place) => (3, place as u64),
            DeferredChange::Reset(place) => (4, place as u64),
        };
        Self { kind, value }
    }

    /// The change; `None` if it is not one, or if its place is not among the interrupt depths.
    fn change(&self, n_depths: usize) -> Option<DeferredChange> {
        let place = || usize::try_from(self.value).ok().filter(|place| *place < n_depths);
        Some(match self.kind {
            0 => DeferredChange::Exit(self.value),
            1 => DeferredChange::Return(self.value),
            2 => DeferredChange::Undispatch(self.value),
            3 => DeferredChange::Lower(place()?),
            4 => DeferredChange::Reset(place()?),
            _ => return None,
        })
    }
}

/// Processes, threads and CPUs as the events so far have shown them.
#[derive(Debug, Clone)]
struct Known {
    names: Arc<AddressNames>,
    /// True if any address has a name.
    has_names: bool,
    /// Names of addresses from the trace itself.
    symbols: Arc<HashMap<u64, Vec<u8>>>,
    max_symbols: usize,
    processes: SlotMap<Process>,
    threads: SlotMap<Thread>,
    /// Pairs of process and thread, as slots; `None` before the first process ends.
    members: Option<BTreeSet<(u32, u32)>>,
    /// Paths by process id, for the template code `P`.
    paths: ProcessNames,
    /// Interrupt depths: the first for events without a CPU, then one per CPU.
    depths: Vec<u32>,
    /// Thread id and slot of the last lookup, since neighbouring events usually belong to one thread. The slot is
    /// [`NO_SLOT`] if the thread is unknown.
    last: (u64, u32),
    /// Change that takes effect after the last event.
    deferred: Option<DeferredChange>,
    /// Further changes, which take effect after `deferred`, the last one first.
    more_deferred: Vec<DeferredChange>,
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

impl Process {
    fn new(mut path: Vec<u8>) -> Self {
        path.truncate(MAX_PATH);
        let name = base_name(&path).iter().take(MAX_NAME).map(|byte| printable(*byte)).collect();
        Self { path, name }
    }
}

#[derive(Debug, Clone, Default)]
struct Thread {
    /// Slot and id of the thread's process.
    process: Option<(u32, u64)>,
    cpu: Option<u64>,
    /// Index of the CPU's interrupt depth.
    depth_place: u32,
    priority: u64,
    svc: SvcName,
    /// Version after the last change of `svc`.
    svc_version: u64,
}

impl Thread {
    /// Index of the interrupt depth of an event's CPU.
    #[inline(always)]
    fn depth_place(&self, cpu: Option<u64>) -> usize {
        if cpu.is_some() { depth_place(cpu) } else { self.depth_place as usize }
    }
}

/// Bytes of the name of a system call that are copied at once.
pub(crate) const SVC_BLOCK: usize = 32;

/// Name of a system call; empty if there is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct SvcName {
    /// The name, and blanks up to [`SVC_BLOCK`] bytes; nothing if there is none.
    padded: Vec<u8>,
    len: usize,
    /// Address instead of a name, whose digits are not in `padded` yet.
    address: Option<u64>,
}

impl SvcName {
    #[inline(always)]
    fn clear(&mut self) {
        (self.len, self.address) = (0, None);
    }

    /// Sets a name, made printable and cut to the longest one that is kept.
    pub fn set(&mut self, name: &[u8]) {
        let name = &name[..name.len().min(MAX_SVC)];
        self.clear();
        self.len = name.len();
        self.padded.clear();
        // Names rarely need a change, and this test takes 8 bytes at a time.
        if contains_any::<0x7F7F_7F7F, 0x20>(name) {
            self.padded.extend(name.iter().map(|byte| printable(*byte)));
        } else {
            self.padded.extend_from_slice(name);
        }
        if !name.is_empty() && name.len() < SVC_BLOCK {
            self.padded.resize(SVC_BLOCK, b' ');
        }
    }

    /// Sets an address instead of a name. Its digits are written when they are first asked for.
    #[inline(always)]
    fn set_address(&mut self, address: u64) {
        (self.len, self.address) = (0, Some(address));
    }

    /// Writes the digits of an address.
    fn write_digits(&mut self) {
        if let Some(address) = self.address.take() {
            let (block, len) = svc_digits(address);
            self.padded.clear();
            self.padded.extend_from_slice(&block);
            self.len = len;
        }
    }

    /// The name. Empty for an address whose digits are not written.
    #[inline(always)]
    fn as_bytes(&self) -> &[u8] {
        self.padded.get(..self.len).unwrap_or_default()
    }

    /// The system call.
    #[inline(always)]
    pub fn get(&self) -> SvcRef<'_> {
        match self.address {
            Some(address) => SvcRef::Address(address),
            None if self.len == 0 => SvcRef::None,
            None => SvcRef::Name { padded: &self.padded, len: self.len },
        }
    }
}

/// System call of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SvcRef<'s> {
    None,
    /// Address without a name.
    Address(u64),
    /// Name of `len` bytes, and blanks after it if it is shorter than [`SVC_BLOCK`] bytes.
    Name {
        padded: &'s [u8],
        len: usize,
    },
}

/// Hexadecimal digits of an address, at least 8, with blanks after them, and their number.
#[inline(always)]
pub(crate) fn svc_digits(address: u64) -> ([u8; SVC_BLOCK], usize) {
    let n_left_out = (address.leading_zeros() as usize / 4).min(8);
    let mut block = [b' '; SVC_BLOCK];
    num::hex(&mut block, 0, address << (4 * n_left_out), 16);
    let len = 16 - n_left_out;
    if n_left_out > 0 {
        block[len..16].fill(b' ');
    }
    (block, len)
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

/// Parts of a thread's context that change most often.
pub(crate) struct DepthAndSvc<'s> {
    /// Nesting depth of interrupts on the thread's CPU.
    pub(crate) depth: u32,
    /// Version of the system call: equal versions mean equal names.
    pub(crate) svc_version: u64,
    /// Name of the system call, if the thread is known.
    pub(crate) svc: Option<&'s SvcName>,
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
        let known = Known {
            has_names: !names.is_empty(),
            names,
            symbols: Arc::default(),
            max_symbols: max_known,
            processes: SlotMap::new(max_known),
            threads: SlotMap::new(max_known),
            members: None,
            paths: ProcessNames::new(),
            depths: vec![0],
            last: (0, NO_SLOT),
            deferred: None,
            more_deferred: Vec::new(),
            wanted,
            version: 0,
            version_of_facts: 0,
            version_of_all: 0,
            versions: Box::new([0; N_VERSIONS]),
        };
        Self { lookup: lookup(&table, b"", wanted), n_lookups: 0, daemon: Vec::new(), table, known }
    }

    /// Updates the state by an event. What an event enters (a dispatch, a system call, an interrupt) applies to the
    /// event itself; what it leaves still applies to it, and no longer to later events.
    #[inline(never)]
    pub fn advance(&mut self, event: &RawEvent<'_>) {
        self.advance_fast(event);
    }

    /// [`ContextState::advance`] for the loop over common events.
    #[inline(always)]
    pub(crate) fn advance_fast(&mut self, event: &RawEvent<'_>) {
        if let Some(change) = self.known.deferred {
            self.known.apply_deferred(change);
        }
        let list = self.lookup.find(event.id);
        if list == 0 {
            return;
        }
        let RawEvent { bytes, tid, cpu, .. } = *event;
        if !self.known.apply_fast(self.lookup.fast(list, event), bytes, tid, cpu) {
            // By value: a reference to the event would force it into memory for all events.
            self.advance_slowly(list, DecodedHook::new(event));
        }
    }

    /// Updates the state by an event with any entries.
    #[inline(never)]
    fn advance_slowly(&mut self, list: u32, event: DecodedHook<'_>) {
        if event.id == hooks::UTILITY && self.follow_daemon(&event) {
            return;
        }
        for entry in self.lookup.matches(list, &event) {
            self.known.apply(entry, &event);
        }
    }

    /// Copy of the context after the last event.
    pub(crate) fn snapshot(&self) -> ContextSnapshot {
        let Known { processes, threads, symbols, depths, deferred, more_deferred, .. } = &self.known;
        let mut paths: Vec<(u64, Vec<u8>)> =
            processes.by_id.iter().map(|(pid, slot)| (*pid, processes.get(*slot).path.clone())).collect();
        paths.sort_unstable();
        let thread = |(tid, slot): (&u64, &u32)| {
            let Thread { process, cpu, priority, svc, .. } = threads.get(*slot);
            let pid = process.map(|(_, pid)| pid);
            let svc_name = svc.as_bytes().to_vec();
            ThreadSnapshot { tid: *tid, pid, cpu: *cpu, priority: *priority, svc_address: svc.address, svc_name }
        };
        let mut known: Vec<ThreadSnapshot> = threads.by_id.iter().map(thread).collect();
        known.sort_unstable_by_key(|thread| thread.tid);
        let mut symbols: Vec<(u64, Vec<u8>)> = symbols.iter().map(|(address, name)| (*address, name.clone())).collect();
        symbols.sort_unstable();
        ContextSnapshot {
            daemon: self.daemon.clone(),
            processes: paths,
            threads: known,
            symbols,
            depths: depths.clone(),
            deferred: deferred
                .iter()
                .chain(more_deferred.iter().rev())
                .map(|change| ChangeSnapshot::of(*change))
                .collect(),
        }
    }

    /// Replaces the context of an empty state. Parts that the state does not track are left out.
    pub(crate) fn resume(&mut self, snapshot: ContextSnapshot) {
        let ContextSnapshot { daemon, processes, threads, symbols, depths, deferred } = snapshot;
        if self.daemon != daemon {
            self.lookup = lookup(&self.table, &daemon, self.known.wanted);
            self.n_lookups += 1;
            self.daemon = daemon;
        }
        let known = &mut self.known;
        // All processes and threads at once, because a part of many threads is small.
        let paths = processes.iter().filter(|(_, path)| !path.is_empty());
        known.paths = paths.map(|(pid, path)| (*pid, path[..path.len().min(MAX_PATH)].to_vec())).collect();
        known.processes.extend(processes.into_iter().map(|(pid, path)| (pid, Process::new(path))));
        let (mut last, version) = (None, known.version + 1);
        known.version = version;
        let Known { processes, threads: known_threads, .. } = known;
        known_threads.extend(threads.into_iter().map(|thread| {
            let ThreadSnapshot { tid, pid, cpu, priority, svc_address, svc_name } = thread;
            // Neighbours often share a process.
            if last.map(|(_, pid)| pid) != pid {
                last = pid.and_then(|pid| Some((processes.make(pid)?, pid)));
            }
            let mut svc = SvcName { address: svc_address, ..SvcName::default() };
            if !svc_name.is_empty() {
                svc.set(&svc_name);
            }
            let depth_place = depth_place(cpu) as u32;
            (tid, Thread { process: last, cpu, depth_place, priority, svc, svc_version: version })
        }));
        known.symbols = Arc::new(symbols.into_iter().take(known.max_symbols).collect());
        known.has_names |= !known.symbols.is_empty();
        let mut changes: Vec<DeferredChange> =
            deferred.iter().rev().filter_map(|change| change.change(depths.len())).collect();
        (known.deferred, known.more_deferred) = (changes.pop(), changes);
        known.depths = depths;
        known.change_all();
    }

    /// Number of times that a process or thread was dropped because of the limit.
    pub(crate) fn n_lost(&self) -> u64 {
        self.known.processes.n_lost + self.known.threads.n_lost
    }

    /// Number of changes so far.
    #[inline]
    pub(crate) fn n_changes(&self) -> u64 {
        self.known.version
    }

    /// Version of the facts about all threads, except interrupt depths and system calls. Equal versions mean equal
    /// facts.
    #[inline]
    pub(crate) fn version_of_facts(&self) -> u64 {
        self.known.version_of_facts
    }

    /// Version of the facts about a thread, except interrupt depths and system calls. Equal versions mean equal facts.
    #[inline]
    pub(crate) fn version(&self, tid: u64) -> u64 {
        self.known.version_of_all.max(self.known.versions[version_place(tid)])
    }

    /// Interrupt depth and system call at the last event, if a column shows them.
    #[inline(always)]
    pub(crate) fn depth_and_svc(&mut self, tid: u64, cpu: Option<u64>) -> DepthAndSvc<'_> {
        let slot = self.known.find_slot(tid);
        let Known { threads, depths, .. } = &self.known;
        let depth = |place: usize| depths.get(place).copied().unwrap_or(0);
        match threads.values.get(slot as usize) {
            Some((_, thread)) => DepthAndSvc {
                depth: depth(thread.depth_place(cpu)),
                svc_version: thread.svc_version,
                svc: Some(&thread.svc),
            },
            None => DepthAndSvc { depth: depth(depth_place(cpu)), svc_version: 0, svc: None },
        }
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

    /// CPU of a thread at the last event, unless the event contains its own.
    pub(crate) fn cpu_of(&mut self, tid: u64, cpu: Option<u64>) -> Option<u64> {
        cpu.or_else(|| {
            let slot = self.known.find_slot(tid);
            self.known.thread(slot).and_then(|thread| thread.cpu)
        })
    }

    /// Number of times that the effects of hooks have changed.
    pub(crate) fn n_lookups(&self) -> u64 {
        self.n_lookups
    }

    /// True if events of a hook may have effects.
    pub(crate) fn has_effects(&self, id: u16) -> bool {
        self.lookup.find(id) != 0
    }

    /// Facts about a thread.
    pub(crate) fn thread_facts(&mut self, tid: u64) -> ThreadFacts {
        let slot = self.known.find_slot(tid);
        let has_names = self.known.has_names;
        let thread = self.known.threads.values.get(slot as usize).map(|(_, thread)| thread);
        let pid = thread.and_then(|thread| thread.process).map(|(_, pid)| pid);
        ThreadFacts { slot, pid, cpu: thread.and_then(|thread| thread.cpu), has_names }
    }

    /// Shortcut for an event of a thread with these facts.
    pub(crate) fn shortcut(&self, facts: &ThreadFacts, event: &RawEvent<'_>) -> Shortcut {
        let list = self.lookup.find(event.id);
        if list == 0 {
            return Shortcut::Nothing;
        }
        let entry = self.lookup.fast(list, event);
        if facts.slot == NO_SLOT {
            return Shortcut::None;
        }
        let stays = entry.cpu.is_none_or(|place| {
            place.is_in_hook_word(event.wide) && facts.cpu.is_some() && place.read(event.bytes) == facts.cpu
        });
        let place = depth_place(event.cpu.or(facts.cpu));
        let has_depth = place < self.known.depths.len();
        match entry.action {
            _ if !stays => Shortcut::None,
            FastAction::None => Shortcut::Nothing,
            FastAction::Enter if !facts.has_names && entry.number.read_fast(event.bytes).is_some() => {
                Shortcut::Enter(entry.number)
            }
            FastAction::Return => Shortcut::Return,
            FastAction::Dispatch if has_depth && (event.cpu.is_none() || event.cpu == facts.cpu) => {
                Shortcut::Dispatch(self.lookup.fast_index(list, event), place as u32)
            }
            FastAction::Raise if has_depth => Shortcut::Raise(place as u32),
            FastAction::Lower if has_depth => Shortcut::Lower(place as u32),
            FastAction::Reset if has_depth => Shortcut::Reset(place as u32),
            _ => Shortcut::None,
        }
    }

    /// Applies a shortcut of a thread with these facts. Returns false, and changes nothing, if the entries must be
    /// applied. Changes that take effect after the event do so at once, so they must not be looked at for its own line.
    /// No change is counted: cells of lines would be stale.
    #[inline(always)]
    pub(crate) fn apply_shortcut(&mut self, shortcut: Shortcut, tid: u64, facts: &ThreadFacts, bytes: &[u8]) -> bool {
        let Known { threads, depths, .. } = &mut self.known;
        let mut depth = |place: u32, new: fn(u32) -> u32| {
            if let Some(depth) = depths.get_mut(place as usize) {
                *depth = new(*depth);
            }
        };
        match shortcut {
            Shortcut::None => return false,
            Shortcut::Nothing => {}
            Shortcut::Enter(number) => {
                let (Some((_, thread)), Some(address)) =
                    (threads.values.get_mut(facts.slot as usize), number.read_fast(bytes))
                else {
                    return false;
                };
                thread.svc.set_address(address);
            }
            Shortcut::Return => {
                let Some((_, thread)) = threads.values.get_mut(facts.slot as usize) else { return false };
                thread.svc.clear();
            }
            Shortcut::Raise(place) => depth(place, |depth| (depth + 1).min(MAX_DEPTH)),
            Shortcut::Lower(place) => depth(place, |depth| depth.saturating_sub(1)),
            Shortcut::Reset(place) => depth(place, |_| 0),
            Shortcut::Dispatch(index, place) => {
                let entry = self.lookup.fast_at(index);
                let Some((_, thread)) = threads.values.get_mut(facts.slot as usize) else { return false };
                let repeats_pid =
                    !entry.has_number || (facts.pid.is_some() && entry.number.read_fast(bytes) == facts.pid);
                let repeats_tid = entry.tid.is_none_or(|place| place.read_fast(bytes) == Some(tid));
                let priority = entry.priority.map_or(Some(thread.priority), |place| place.read_fast(bytes));
                let Some(priority) = priority.filter(|_| repeats_pid && repeats_tid) else { return false };
                thread.priority = priority;
                depth(place, |_| 0);
            }
        }
        true
    }

    /// Applies the changes that take effect after the last event.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if let Some(change) = self.known.deferred {
            self.known.apply_deferred(change);
        }
    }

    /// Paths of all processes.
    pub fn paths(&self) -> &ProcessNames {
        &self.known.paths
    }

    /// Context of the last event, and the paths of all processes.
    #[inline]
    pub fn facts_and_paths(&mut self, event: &RawEvent<'_>) -> (ThreadContext<'_>, &ProcessNames) {
        self.look_up(event.tid, event.cpu)
    }

    fn look_up(&mut self, tid: u64, cpu: Option<u64>) -> (ThreadContext<'_>, &ProcessNames) {
        let slot = self.known.find_slot(tid);
        if let Some((_, thread)) = self.known.threads.values.get_mut(slot as usize) {
            thread.svc.write_digits();
        }
        let svc = self.known.thread(slot).map_or(&[][..], |thread| thread.svc.as_bytes());
        (ThreadContext { svc, ..self.known.facts(slot, tid, cpu) }, &self.known.paths)
    }

    /// Context of the last event, by its thread and its own CPU, and its system call.
    pub(crate) fn facts_and_svc(&self, tid: u64, cpu: Option<u64>) -> (ThreadContext<'_>, SvcRef<'_>) {
        let slot = self.known.threads.find(tid).unwrap_or(NO_SLOT);
        let svc = self.known.thread(slot).map_or(SvcRef::None, |thread| thread.svc.get());
        (self.known.facts(slot, tid, cpu), svc)
    }

    /// True if an event of hook 00A names the recorder. A hook can have different meanings for different recorders, so
    /// the table is searched again then.
    #[cold]
    fn follow_daemon(&mut self, event: &DecodedHook<'_>) -> bool {
        let is_identity = event.kind() == Some(DAEMON_IDENTITY);
        if is_identity {
            let daemon = event.text(DAEMON_NAME).unwrap_or_default();
            self.daemon = daemon.to_vec();
            self.lookup = lookup(&self.table, daemon, self.known.wanted);
            self.n_lookups += 1;
        }
        is_identity
    }
}

impl Known {
    fn thread(&self, slot: u32) -> Option<&Thread> {
        self.threads.values.get(slot as usize).map(|(_, thread)| thread)
    }

    /// Context of an event, by the slot of its thread, without its system call.
    fn facts(&self, slot: u32, tid: u64, cpu: Option<u64>) -> ThreadContext<'_> {
        let thread = self.thread(slot);
        let cpu = cpu.or(thread.and_then(|thread| thread.cpu));
        let depth = self.depths.get(depth_place(cpu)).copied().unwrap_or(0);
        let mut facts = ThreadContext { tid, cpu, depth, ..ThreadContext::default() };
        if let Some(thread) = thread {
            facts.priority = thread.priority;
            if let Some((slot, pid)) = thread.process {
                let process = self.processes.get(slot);
                (facts.pid, facts.path, facts.name) = (Some(pid), &process.path, &process.name);
            }
        }
        facts
    }

    /// Records a change of the facts about one thread.
    #[inline(never)]
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

    /// Applies an entry to an event of a thread that is known and stays on its CPU. Returns false, and changes nothing,
    /// if it cannot.
    #[inline(always)]
    fn apply_fast(&mut self, entry: &FastEntry, bytes: &[u8], tid: u64, cpu: Option<u64>) -> bool {
        let slot = self.find_slot(tid);
        let Some((_, thread)) = self.threads.values.get_mut(slot as usize) else { return false };
        if let Some(place) = &entry.cpu {
            let stated = place.read_fast(bytes);
            if stated.is_none() || thread.cpu != stated {
                return false;
            }
        }
        match entry.action {
            FastAction::Slow => return false,
            FastAction::None => {}
            FastAction::Enter => {
                let Some(address) = entry.number.read_fast(bytes) else { return false };
                if self.has_names {
                    return false;
                }
                self.version += 1;
                thread.svc.set_address(address);
                thread.svc_version = self.version;
            }
            FastAction::Return => self.deferred = Some(DeferredChange::Return(tid)),
            FastAction::Raise => {
                let Some(depth) = self.depths.get_mut(thread.depth_place(cpu)) else { return false };
                *depth = (*depth + 1).min(MAX_DEPTH);
                self.version += 1;
            }
            FastAction::Lower | FastAction::Reset => {
                let place = thread.depth_place(cpu);
                if place >= self.depths.len() {
                    return false;
                }
                let is_reset = entry.action == FastAction::Reset;
                self.deferred =
                    Some(if is_reset { DeferredChange::Reset(place) } else { DeferredChange::Lower(place) });
            }
            FastAction::Dispatch => {
                let has = |place: &Option<ResolvedPos>, known| {
                    place.as_ref().is_none_or(|place| place.read_fast(bytes) == Some(known))
                };
                let has_pid = !entry.has_number
                    || thread.process.is_some_and(|(_, pid)| entry.number.read_fast(bytes) == Some(pid));
                if !(has_pid && has(&entry.tid, tid)) || (cpu.is_some() && thread.cpu != cpu) {
                    return false;
                }
                let priority = entry.priority.as_ref().map_or(Some(thread.priority), |place| place.read_fast(bytes));
                let (Some(priority), depth_place) = (priority, thread.depth_place(cpu)) else { return false };
                if self.wanted.depth && depth_place >= self.depths.len() {
                    return false;
                }
                if std::mem::replace(&mut thread.priority, priority) != priority {
                    self.change(tid);
                }
                if self.wanted.depth && std::mem::take(&mut self.depths[depth_place]) != 0 {
                    self.version += 1;
                }
            }
        }
        true
    }

    /// Defers a change to the end of the event.
    fn defer(&mut self, change: DeferredChange) {
        self.more_deferred.extend(self.deferred.replace(change));
    }

    #[inline(always)]
    fn apply(&mut self, entry: &TableEntry, event: &DecodedHook<'_>) {
        let stated = event.optional(&entry.cpu);
        // First, because the actions use the CPU of the event's thread.
        if stated.is_some() {
            self.run_on(event.tid, stated);
        }
        // The frequent actions; the others have a function of their own.
        match &entry.action {
            Action::None => {}
            Action::Dispatch { .. } => self.dispatch(&entry.action, stated, event),
            Action::Enter { name: Some(NamePos::Address(address)), .. } => {
                if let Some(address) = event.number(address) {
                    self.enter_address(event.tid, address);
                }
            }
            Action::Return { .. } => self.defer(DeferredChange::Return(event.tid)),
            Action::Raise { .. } => {
                let depth = self.depth(event.tid, event.cpu);
                // Bounded, because interrupts without a return would raise it without end.
                *depth = (*depth + 1).min(MAX_DEPTH);
                self.version += 1;
            }
            Action::Lower { .. } => {
                let place = self.place(event.tid, event.cpu);
                self.defer(DeferredChange::Lower(place));
            }
            Action::Reset { .. } => {
                let place = self.place(event.tid, event.cpu);
                self.defer(DeferredChange::Reset(place));
            }
            action => self.apply_rare(action, event),
        }
    }

    #[inline(never)]
    fn dispatch(&mut self, action: &Action, stated: Option<u64>, event: &DecodedHook<'_>) {
        let Action::Dispatch { pid, tid, priority, .. } = action else { return };
        let Some(tid) = event.tid_or_own(tid) else { return };
        if let Some(pid) = event.optional(pid) {
            self.attach(tid, pid);
        }
        self.prioritise(tid, event.optional(priority));
        let cpu = event.cpu.or(stated);
        if cpu.is_some() {
            self.run_on(tid, cpu);
        }
        if self.wanted.depth {
            *self.depth(event.tid, event.cpu) = 0;
            // Not recorded as a change, because every interrupt would make all cached cells stale. Depths are
            // compared separately.
            self.version += 1;
        }
    }

    /// Applies an action that is rare.
    #[inline(never)]
    fn apply_rare(&mut self, action: &Action, event: &DecodedHook<'_>) {
        match action {
            Action::Process { pid, tid, path } => {
                let Some(pid) = event.number(pid) else { return };
                self.set_path(pid, path.and_then(|path| event.text(path)));
                if let Some(tid) = event.optional(tid) {
                    self.attach(tid, pid);
                }
            }
            Action::Exec { pid, path } => {
                let pid = if pid.is_some() { event.optional(pid) } else { self.pid_of(event.tid) };
                let (Some(pid), Some(path)) = (pid, event.text(*path)) else { return };
                self.set_path(pid, Some(path));
                self.attach(event.tid, pid);
            }
            Action::Fork { pid, tid } => {
                let Some(pid) = event.number(pid) else { return };
                // A child runs the program of its parent until it calls exec.
                let parent = self.find_thread(event.tid).and_then(|thread| thread.process);
                let parent = parent.map(|(slot, _)| slot);
                // A path is copied only if it is new.
                let is_new = self.path_at(parent) != self.path_at(self.processes.find(pid));
                let path = is_new.then(|| self.path_at(parent).to_vec());
                self.set_path(pid, path.as_deref());
                if let Some(tid) = event.optional(tid) {
                    self.attach(tid, pid);
                }
            }
            Action::Thread { tid, pid, priority } => {
                let Some(tid) = event.number(tid) else { return };
                let pid = if pid.is_some() { event.optional(pid) } else { self.pid_of(event.tid) };
                if let Some(pid) = pid {
                    self.attach(tid, pid);
                }
                self.prioritise(tid, event.optional(priority));
            }
            Action::Exit { pid } => {
                let pid = if pid.is_some() { event.optional(pid) } else { self.pid_of(event.tid) };
                // Deferred, because the line of the exit itself still belongs to the process.
                if let Some(pid) = pid {
                    self.defer(DeferredChange::Exit(pid));
                }
            }
            Action::Undispatch { tid } => {
                if let Some(tid) = event.tid_or_own(tid) {
                    self.defer(DeferredChange::Undispatch(tid));
                }
            }
            Action::Enter { name: Some(NamePos::Text(name)), .. } => {
                self.enter(event.tid, event.text(*name).unwrap_or_default());
            }
            Action::Enter { name: None, .. } => self.enter(event.tid, b""),
            Action::Symbol { address, name } => {
                let (Some(address), Some(name)) = (event.number(address), event.text(*name)) else { return };
                // A hostile trace may name any number of addresses.
                if self.symbols.len() < self.max_symbols {
                    Arc::make_mut(&mut self.symbols).insert(address, name[..name.len().min(MAX_SVC)].to_vec());
                    if !std::mem::replace(&mut self.has_names, true) {
                        self.change_all();
                    }
                }
            }
            _ => {}
        }
    }

    /// Applies the deferred changes, beginning with `first`.
    #[inline(always)]
    fn apply_deferred(&mut self, first: DeferredChange) {
        self.deferred = None;
        self.version += 1;
        match first {
            DeferredChange::Return(tid) if self.more_deferred.is_empty() => self.leave(tid),
            DeferredChange::Reset(place) if self.more_deferred.is_empty() => self.depths[place] = 0,
            _ => self.apply_all_deferred(first),
        }
    }

    #[inline(never)]
    fn apply_all_deferred(&mut self, first: DeferredChange) {
        let mut next = Some(first);
        while let Some(change) = next {
            match change {
                DeferredChange::Exit(pid) => self.forget(pid),
                DeferredChange::Return(tid) => self.leave(tid),
                DeferredChange::Undispatch(tid) => {
                    if self.find_thread(tid).is_some() {
                        self.run_on(tid, None);
                    }
                }
                DeferredChange::Lower(place) => self.depths[place] = self.depths[place].saturating_sub(1),
                DeferredChange::Reset(place) => self.depths[place] = 0,
            }
            next = self.more_deferred.pop();
        }
    }

    /// Ends the system call of a thread.
    #[inline(always)]
    fn leave(&mut self, tid: u64) {
        let slot = self.find_slot(tid);
        if let Some((_, thread)) = self.threads.values.get_mut(slot as usize) {
            thread.svc.clear();
            thread.svc_version = self.version;
        }
    }

    /// Index of the interrupt depth of an event's CPU; grows the table if necessary.
    #[inline(always)]
    fn place(&mut self, tid: u64, cpu: Option<u64>) -> usize {
        let place = depth_place(cpu.or_else(|| self.find_thread(tid)?.cpu));
        if place >= self.depths.len() {
            self.know_depths(place);
        }
        place
    }

    #[cold]
    fn know_depths(&mut self, place: usize) {
        self.depths.resize(place + 1, 0);
    }

    #[inline(always)]
    fn depth(&mut self, tid: u64, cpu: Option<u64>) -> &mut u32 {
        let place = self.place(tid, cpu);
        &mut self.depths[place]
    }

    fn enter(&mut self, tid: u64, name: &[u8]) {
        self.version += 1;
        let version = self.version;
        if let Some(thread) = self.make_thread(tid) {
            thread.svc.set(name);
            thread.svc_version = version;
        }
    }

    #[inline]
    fn enter_address(&mut self, tid: u64, address: u64) {
        self.version += 1;
        let Some(slot) = self.make_slot(tid) else { return };
        let thread = self.threads.get_mut(slot);
        match self.names.get(address).or_else(|| self.symbols.get(&address).map(Vec::as_slice)) {
            Some(name) => thread.svc.set(name),
            None => thread.svc.set_address(address),
        }
        thread.svc_version = self.version;
    }

    #[inline]
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
    #[inline]
    fn run_on(&mut self, tid: u64, cpu: Option<u64>) {
        if let Some(thread) = self.make_thread(tid)
            && thread.cpu != cpu
        {
            (thread.cpu, thread.depth_place) = (cpu, depth_place(cpu) as u32);
            self.change(tid);
        }
    }

    fn pid_of(&mut self, tid: u64) -> Option<u64> {
        self.find_thread(tid)?.process.map(|(_, pid)| pid)
    }

    /// Path of the process in a slot; empty if it is unknown.
    fn path_at(&self, slot: Option<u32>) -> &[u8] {
        slot.map_or(&[], |slot| &self.processes.get(slot).path)
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
        *process = Process::new(path.to_vec());
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
        // A dispatch usually repeats the process of a thread.
        if self.pid_of(tid) == Some(pid) {
            return;
        }
        let Some(process) = self.processes.make(pid) else { return };
        let Some(slot) = self.make_slot(tid) else { return };
        // The system reuses thread ids. The end of the old process must not remove a thread that now belongs to another.
        let old = self.threads.get_mut(slot).process.replace((process, pid));
        if old != Some((process, pid)) {
            self.change(tid);
            if let Some(members) = &mut self.members {
                if let Some((old, _)) = old {
                    members.remove(&(old, slot));
                }
                members.insert((process, slot));
            }
        }
    }

    /// Removes a process with all its threads.
    fn forget(&mut self, pid: u64) {
        let Some(process) = self.processes.remove(pid) else { return };
        self.paths.remove(&pid);
        self.change_all();
        let Self { members, threads, .. } = self;
        let members = members.get_or_insert_with(|| {
            let slots = threads.by_id.values();
            slots.filter_map(|slot| Some((threads.get(*slot).process?.0, *slot))).collect()
        });
        while let Some(&(_, thread)) = members.range((process, 0)..=(process, u32::MAX)).next() {
            members.remove(&(process, thread));
            threads.remove_slot(thread);
        }
        // The cached slot may have belonged to a thread that was removed.
        self.seek(self.last.0);
    }

    /// Slot of a thread, or [`NO_SLOT`].
    #[inline(always)]
    fn find_slot(&mut self, tid: u64) -> u32 {
        if self.last.0 != tid {
            self.seek(tid);
        }
        self.last.1
    }

    /// Looks up a thread. A miss is cached too: if the table has no entries for threads, every event is a miss.
    #[inline(never)]
    fn seek(&mut self, tid: u64) {
        self.last = (tid, self.threads.find(tid).unwrap_or(NO_SLOT));
    }

    #[inline(always)]
    fn find_thread(&mut self, tid: u64) -> Option<&Thread> {
        let slot = self.find_slot(tid);
        self.threads.values.get(slot as usize).map(|(_, thread)| thread)
    }

    /// Slot of a thread, created if necessary; `None` if all are taken.
    #[inline(always)]
    fn make_slot(&mut self, tid: u64) -> Option<u32> {
        let slot = self.find_slot(tid);
        if slot == NO_SLOT { self.add_slot(tid) } else { Some(slot) }
    }

    #[inline(never)]
    fn add_slot(&mut self, tid: u64) -> Option<u32> {
        let slot = self.threads.make(tid);
        self.last = (tid, slot.unwrap_or(NO_SLOT));
        slot
    }

    #[inline(always)]
    fn make_thread(&mut self, tid: u64) -> Option<&mut Thread> {
        let slot = self.make_slot(tid)?;
        self.threads.values.get_mut(slot as usize).map(|(_, thread)| thread)
    }
}

/// Slot of an unknown thread.
const NO_SLOT: u32 = u32::MAX;

/// Wanted entries of the table for traces of the recorder `daemon`.
fn lookup(table: &ContextTable, daemon: &[u8], wanted: RequiredContext) -> HookLookup {
    let mut lookup = table.lookup(daemon, |entry| wanted.part_of(entry));
    // The recorder's name is always read, whether the table contains this hook or not.
    lookup.list(hooks::UTILITY);
    lookup.prepare_fast(hooks::UTILITY);
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

    /// Adds values of ids that are not in the map. Those above the limit are dropped.
    fn extend(&mut self, values: impl ExactSizeIterator<Item = (u64, T)>) {
        let n = values.len().min(self.max - self.values.len());
        self.n_lost += (values.len() - n) as u64;
        self.values.reserve(n);
        self.by_id.reserve(n);
        for (id, value) in values.take(n) {
            self.by_id.insert(id, self.values.len() as u32);
            self.values.push((id, value));
        }
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

    struct TestEvent {
        id: u16,
        tid: u64,
        bytes: Vec<u8>,
    }

    /// A 64-bit event with data words.
    fn words(id: u16, subhook: u16, tid: u64, words: &[u64]) -> TestEvent {
        let head = (words.len() as u64 * 8) << 32 | u64::from(id) << 16 | u64::from(subhook);
        let bytes = [&[head], words].concat().iter().flat_map(|word| word.to_be_bytes()).collect();
        TestEvent { id, tid, bytes }
    }

    /// A 64-bit generic event.
    fn generic(id: u16, tid: u64, word: u64, bytes: &[u8]) -> TestEvent {
        let head = 0x4000_u64 << 48 | (bytes.len() as u64) << 32 | u64::from(id) << 16;
        let mut event: Vec<u8> = [head, word].iter().flat_map(|word| word.to_be_bytes()).collect();
        event.extend(bytes);
        TestEvent { id, tid, bytes: event }
    }

    fn state(table: &str) -> ContextState {
        state_of(table, RequiredContext::ALL)
    }

    fn state_of(table: &str, wanted: RequiredContext) -> ContextState {
        let names = AddressNames::parse(b"kread 1A2B4").unwrap();
        ContextState::within(Arc::new(table.parse().unwrap()), Arc::new(names), MAX_KNOWN, wanted)
    }

    /// Formats an event's context as `pid name cpu depth priority svc`, with `-` for unknown parts.
    fn line(state: &mut ContextState, event: &TestEvent) -> String {
        let event = RawEvent {
            number: 1,
            offset: 0,
            bytes: &event.bytes,
            recorded: &[],
            wide: true,
            id: event.id,
            tid: event.tid,
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
        assert_eq!(state.known.paths.get(&41).unwrap(), b"/usr/bin/ls");
        line(&mut state, &words(0x4650, 0, 8, &[9]));
        assert_eq!(line(&mut state, &words(0x0100, 0, 9, &[])), "41 ls - 0 0 -");
        assert_eq!(line(&mut state, &words(0x1350, 0, 9, &[])), "41 ls - 0 0 -");
        assert_eq!(line(&mut state, &words(0x0100, 0, 9, &[])), "- - - 0 0 -");
        assert_eq!(line(&mut state, &child), "- - - 0 0 -");
        assert_eq!(line(&mut state, &parent), "40 a_very_long_na - 0 0 -");
        assert!(!state.known.paths.contains_key(&41));
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
        let DepthAndSvc { depth, svc_version, .. } = state.depth_and_svc(tid, None);
        assert_eq!(depth, if state.known.wanted.depth { state.facts(&event).depth } else { 0 });
        assert!(svc_version > 0 || state.facts(&event).svc.is_empty());
        let ThreadContext { pid, path, name, cpu, depth, priority, svc, .. } = state.facts(&event);
        (pid, path.to_vec(), name.to_vec(), cpu, depth, priority, svc.to_vec())
    }

    /// Versions of a thread, of its system call, and of everything.
    fn versions(state: &mut ContextState, tid: u64) -> (u64, u64, u64) {
        (state.version(tid), state.depth_and_svc(tid, None).svc_version, state.n_changes())
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
                let RequiredContext { depth, priority, svc } = state.known.wanted;
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
    fn the_fast_path_has_the_results_of_the_entries() {
        let tables = [
            "100 raise cpu=HD\n101 plain enter address=D1\n101 generic enter name=S@W2\n102 raise\n103 lower cpu=HD\n\
             104 return cpu=HD\n106 dispatch pid=D1 tid=D2 priority=D3 cpu=HD\n107 dispatch tid=TID\n135 exit\n200 reset\n\
             201 lower\n300 none cpu=U2@6\n465 thread pid=D1 tid=D2 priority=D3\n4B0 undispatch tid=D2 cpu=HD",
            "00A kind=C symbol address=U8@W2+8 name=S@W2+16\n100 raise\n101 enter address=U4@4\n104 return\n104 exit pid=D1\n\
             106 dispatch pid=D1\n107.1 dispatch\n107.2 reset\n139 fork pid=D1 tid=D2\n200 reset cpu=D1",
        ];
        let mut seed = 7_u64;
        let mut below = move |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let none = RequiredContext::default();
        let all_wanted = [RequiredContext::ALL, none, RequiredContext { svc: true, ..none }];
        let ids = [
            0x00A0, 0x0100, 0x1000, 0x1010, 0x1010, 0x1020, 0x1030, 0x1040, 0x1060, 0x1060, 0x1070, 0x1350, 0x1390,
            0x2000, 0x2010, 0x3000, 0x4650, 0x4B00,
        ];
        let mut n_with_svc = 0;
        for (table, wanted) in tables.into_iter().flat_map(|table| all_wanted.map(|wanted| (table, wanted))) {
            let mut fast = state_of(table, wanted);
            let mut slow = state_of(table, wanted);
            slow.lookup.remove_fast();
            for _ in 0..20_000 {
                let (id, tid, wide) = (ids[below(18) as usize], below(4), below(4) > 0);
                let mut bytes = if below(8) == 0 {
                    let record = [&[0; 8][..], &(0x1A2B4 + below(3)).to_be_bytes(), b"name\0"].concat();
                    generic(id, tid, 0xC, &record).bytes
                } else {
                    words(id, below(3) as u16, tid, &[40 + below(3), below(4), below(3)]).bytes
                };
                if id == 0x1010 {
                    bytes[8..16].copy_from_slice(&((0x1A2B4 + below(3)) << (16 * below(3))).to_be_bytes());
                }
                if !wide {
                    bytes.drain(..4);
                }
                if below(16) == 0 {
                    bytes.truncate(below(24) as usize);
                }
                let cpu = (below(3) == 0).then(|| below(3));
                let event =
                    RawEvent { number: 1, offset: 0, bytes: &bytes, recorded: &[], wide, id, tid, ticks: None, cpu };
                fast.advance(&event);
                slow.advance(&event);
                let seen = below(4);
                let versions = (fast.version(seen), fast.n_changes());
                for tid in 0..4 {
                    let DepthAndSvc { depth, svc, .. } = fast.depth_and_svc(tid, cpu);
                    let svc = svc.map_or(SvcRef::None, SvcName::get);
                    n_with_svc += usize::from(svc != SvcRef::None);
                    let is_none = svc == SvcRef::None;
                    let found = fast.facts_of(tid, cpu);
                    assert_eq!((depth, is_none), (found.depth, found.svc.is_empty()), "{id:X}");
                    assert_eq!(found, slow.facts_of(tid, cpu), "{id:X}");
                }
                assert_eq!(versions, (fast.version(seen), fast.n_changes()));
            }
        }
        assert!(n_with_svc > 10_000, "{n_with_svc}");
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
        assert_eq!(entered(&mut state, 0x12_3456_789A), "123456789A");
        assert_eq!(entered(&mut state, 0xF100_0A05_6DCA_CEE8), "F1000A056DCACEE8");
        for address in 0..2 * MAX_KNOWN as u64 {
            line(&mut state, &symbol(address, b"f"));
        }
        assert_eq!(state.known.symbols.len(), MAX_KNOWN);
    }

    #[test]
    fn memory_is_bounded_and_reused() {
        let mut state = state("139 fork pid=D1 tid=D2\n135 exit pid=D1\n100 raise cpu=D1");
        for id in 0..MAX_KNOWN as u64 + 10 {
            line(&mut state, &words(0x1390, 0, 1, &[id, id + 1_000_000]));
        }
        let last = MAX_KNOWN as u64 + 9;
        assert_eq!(state.known.threads.values.len(), MAX_KNOWN);
        assert_eq!(line(&mut state, &words(0x0100, 0, last + 1_000_000, &[])), "- - - 0 0 -");
        line(&mut state, &words(0x1350, 0, 1, &[5]));
        line(&mut state, &words(0x1390, 0, 1, &[last, last + 1_000_000]));
        assert_eq!(line(&mut state, &words(0x0100, 0, last + 1_000_000, &[])), format!("{last} - - 0 0 -"));
        for cpu in [0, u64::MAX, 1 << 40] {
            line(&mut state, &words(0x1000, 0, 1_000_007, &[cpu]));
        }
        assert!(state.known.depths.len() <= MAX_KNOWN + 1);
    }

    #[test]
    fn a_thread_may_move_between_processes_for_ever() {
        let mut state = state("106 dispatch pid=D1\n135 exit pid=D1");
        // The members of processes are listed from the first end of one.
        line(&mut state, &words(0x1060, 0, 7, &[9]));
        line(&mut state, &words(0x1350, 0, 7, &[9]));
        for n in 0..1000 {
            line(&mut state, &words(0x1060, 0, 7, &[n % 3]));
        }
        assert_eq!(state.known.members.as_ref().map(BTreeSet::len), Some(1));
        line(&mut state, &words(0x1350, 0, 7, &[1]));
        assert_eq!(line(&mut state, &words(0x0100, 0, 7, &[])), "0 - - 0 0 -");
        line(&mut state, &words(0x1350, 0, 7, &[0]));
        assert_eq!(line(&mut state, &words(0x0100, 0, 7, &[])), "- - - 0 0 -");
        assert_eq!(state.known.members.map(|members| members.len()), Some(0));
    }
}
