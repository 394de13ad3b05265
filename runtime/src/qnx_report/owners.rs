//! Owners of records: processes and threads, derived from the log's own records.
//!
//! The state is updated in the order of the file, so an owner does not depend on which records are shown.

use crate::reader::kev::{KevRecord, classes, control};
use crate::split::codec::stored;
use std::collections::HashMap;
use std::sync::Arc;

/// CPUs of a log.
const N_CPUS: usize = 64;
/// Number of distinct buffer numbers, which wrap.
const BUFFER_NUMBERS: u32 = 2048;
/// Limit on the total size of names in bytes. Further names are not stored.
const MAX_NAME_BYTES: usize = 64 << 20;
/// Bytes that a name counts in addition to its length, for the memory around it.
const NAME_COST: usize = 128;

/// Events of the class [`classes::PR_TH`] that change the state.
mod events {
    pub const RUNNING: u16 = 1;
    pub const THREAD_CREATE: u16 = 24;
    pub const THREAD_DESTROY: u16 = 25;
    /// First number of process events; those below are about threads.
    pub const PROCESSES: u16 = 64;
    pub const CREATE: u16 = 64;
    pub const DESTROY: u16 = 128;
    pub const CREATE_NAME: u16 = 192;
    pub const DESTROY_NAME: u16 = 256;
    pub const THREAD_NAME: u16 = 320;
}

/// Process and thread of a record; unknown parts are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// The process id.
    pub pid: Option<i32>,
    /// The thread's number in its process.
    pub tid: Option<i32>,
    /// Name of the process as recorded.
    pub process: Option<Arc<[u8]>>,
    /// Name of the thread.
    pub thread: Option<Arc<[u8]>>,
}

/// Owner of a record, before its names are looked up.
#[derive(Debug)]
pub(super) enum RecordOwner {
    Unknown,
    /// Process and thread.
    Thread(i32, i32),
    /// Owner at a record that may change names.
    Named(Owner),
}

impl RecordOwner {
    /// The process id, if it is known.
    #[inline]
    pub fn pid(&self) -> Option<i32> {
        match self {
            RecordOwner::Unknown => None,
            RecordOwner::Thread(pid, _) => Some(*pid),
            RecordOwner::Named(owner) => owner.pid,
        }
    }
}

/// Entries of the cache of owners.
const N_CACHED: usize = 256;

/// Cached index of a thread's owner in the batch that is being filled.
#[derive(Debug, Clone, Copy, Default)]
struct CachedOwner {
    /// `epoch` of the cache when the entry was added; the entry is stale if they differ.
    epoch: u64,
    thread: (i32, i32),
    id: u32,
}

/// Names of a process and of its threads.
#[derive(Debug, Default)]
struct NamedProcess {
    name: Option<Arc<[u8]>>,
    threads: HashMap<i32, Arc<[u8]>>,
}

/// State at a position in a log: the running threads, and all names.
#[derive(Debug)]
pub(super) struct Owners {
    big_endian: bool,
    running: [Option<(i32, i32)>; N_CPUS],
    processes: HashMap<i32, NamedProcess>,
    last_buffer: Option<u32>,
    /// Total size of the names, see [`MAX_NAME_BYTES`].
    n_bytes: usize,
    /// Cache of the batch's owners by process and thread: consecutive records belong to few threads.
    cache: Box<[CachedOwner; N_CACHED]>,
    /// Index of the unknown owner in the batch.
    nobody: Option<u32>,
    /// Incremented per batch and per change of a name, which makes the cache stale.
    epoch: u64,
}

/// Owners between two records, without what follows from them.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnersSnapshot {
    /// Process and thread per CPU.
    running: Vec<Option<(i32, i32)>>,
    processes: Vec<ProcessSnapshot>,
    last_buffer: Option<u32>,
}

/// Names of one process and of its threads.
#[derive(Debug, Clone, Default)]
struct ProcessSnapshot {
    pid: i32,
    name: Option<Vec<u8>>,
    threads: Vec<(i32, Vec<u8>)>,
}

stored!(OwnersSnapshot { running, processes, last_buffer } where |owners| owners.running.len() == N_CPUS
    && owners.last_buffer.is_none_or(|number| number < BUFFER_NUMBERS));

stored!(ProcessSnapshot { pid, name, threads });

impl Owners {
    /// Copy of the state after the last record.
    pub fn snapshot(&self) -> OwnersSnapshot {
        let process = |(pid, process): (&i32, &NamedProcess)| {
            let mut threads: Vec<(i32, Vec<u8>)> =
                process.threads.iter().map(|(tid, name)| (*tid, name.to_vec())).collect();
            threads.sort_unstable();
            ProcessSnapshot { pid: *pid, name: process.name.as_ref().map(|name| name.to_vec()), threads }
        };
        let mut processes: Vec<ProcessSnapshot> = self.processes.iter().map(process).collect();
        processes.sort_unstable_by_key(|process| process.pid);
        OwnersSnapshot { running: self.running.to_vec(), processes, last_buffer: self.last_buffer }
    }

    /// Replaces an empty state.
    pub fn resume(&mut self, snapshot: OwnersSnapshot) {
        let OwnersSnapshot { running, processes, last_buffer } = snapshot;
        self.running.iter_mut().zip(running).for_each(|(own, running)| *own = running);
        self.last_buffer = last_buffer;
        for ProcessSnapshot { pid, name, threads } in processes {
            let names = threads.iter().map(|(_, name)| name).chain(&name);
            self.n_bytes += names.map(|name| cost(name)).sum::<usize>();
            let threads = threads.into_iter().map(|(tid, name)| (tid, name.into())).collect();
            self.processes.insert(pid, NamedProcess { name: name.map(Arc::from), threads });
        }
    }

    pub fn new(big_endian: bool) -> Self {
        Self {
            big_endian,
            running: [None; N_CPUS],
            processes: HashMap::new(),
            last_buffer: None,
            n_bytes: 0,
            cache: Box::new([CachedOwner::default(); N_CACHED]),
            nobody: None,
            epoch: 1,
        }
    }

    /// Begins a batch, which has no owners yet.
    pub fn begin_batch(&mut self) {
        self.epoch += 1;
        self.nobody = None;
    }

    /// Processes the next record of the log, and returns the index of its owner in `known`. Adds owners not in `known`
    /// yet.
    pub fn take(&mut self, record: &KevRecord<'_>, known: &mut Vec<Owner>) -> u32 {
        match self.advance(record) {
            RecordOwner::Unknown => self.unknown_owner(known),
            RecordOwner::Thread(pid, tid) => self.cached(pid, tid, known),
            RecordOwner::Named(owner) => add(owner, known),
        }
    }

    /// Processes the next record of the log.
    #[inline(always)]
    pub fn advance(&mut self, record: &KevRecord<'_>) -> RecordOwner {
        // Process and thread records name their thread themselves. All others belong to the thread that runs on their
        // CPU.
        match record.meant_class() {
            classes::CONTROL => {
                self.control(record);
                RecordOwner::Unknown
            }
            classes::PR_TH => match (self.word(record, 0), self.word(record, 1)) {
                (Some(first), Some(second)) => self.process_or_thread(record, first as i32, second as i32),
                _ => RecordOwner::Unknown,
            },
            _ => match self.running.get(usize::from(record.cpu)) {
                Some(Some((pid, tid))) => RecordOwner::Thread(*pid, *tid),
                _ => RecordOwner::Unknown,
            },
        }
    }

    fn unknown_owner(&mut self, known: &mut Vec<Owner>) -> u32 {
        *self.nobody.get_or_insert_with(|| add(Owner::default(), known))
    }

    /// Index of a thread's owner.
    #[inline]
    fn cached(&mut self, pid: i32, tid: i32, known: &mut Vec<Owner>) -> u32 {
        let place = (pid as u32).wrapping_mul(31).wrapping_add((pid as u32) >> 12).wrapping_add(tid as u32);
        let CachedOwner { epoch, thread, id } = self.cache[place as usize % N_CACHED];
        // A new epoch makes all entries stale, which is cheaper than clearing them.
        if (epoch, thread) == (self.epoch, (pid, tid)) {
            return id;
        }
        let id = add(self.thread(pid, tid), known);
        self.cache[place as usize % N_CACHED] = CachedOwner { epoch: self.epoch, thread: (pid, tid), id };
        id
    }

    fn control(&mut self, record: &KevRecord<'_>) {
        // Lost records may have been thread switches, so the running thread of every CPU is unknown until its next
        // switch.
        let is_loss = match (record.event, self.word(record, 0)) {
            (control::BUFFER, Some(word)) => {
                let number = word % BUFFER_NUMBERS;
                let last = self.last_buffer.replace(number);
                last.is_some_and(|last| (last + 1) % BUFFER_NUMBERS != number)
            }
            (control::DROPPED, _) => true,
            _ => false,
        };
        if is_loss {
            self.running = [None; N_CPUS];
        }
    }

    fn process_or_thread(&mut self, record: &KevRecord<'_>, first: i32, second: i32) -> RecordOwner {
        match record.event {
            events::RUNNING => {
                if let Some(running) = self.running.get_mut(usize::from(record.cpu)) {
                    *running = Some((first, second));
                }
                RecordOwner::Thread(first, second)
            }
            events::THREAD_CREATE | events::THREAD_DESTROY | events::THREAD_NAME | events::PROCESSES.. => {
                RecordOwner::Named(self.change(record, first, second))
            }
            _ => RecordOwner::Thread(first, second),
        }
    }

    /// Processes a record that may change names, and returns its owner.
    fn change(&mut self, record: &KevRecord<'_>, first: i32, second: i32) -> Owner {
        // Entries of the cache contain names, and this record changes one.
        self.epoch += 1;
        match record.event {
            events::THREAD_CREATE => {
                self.forget_thread(first, second);
                self.thread(first, second)
            }
            events::THREAD_DESTROY => {
                let owner = self.thread(first, second);
                self.forget_thread(first, second);
                self.stop(|running| running == (first, second));
                owner
            }
            events::THREAD_NAME => {
                self.forget_thread(first, second);
                if let Some(name) = self.name(record) {
                    self.processes.entry(first).or_default().threads.insert(second, name);
                }
                self.thread(first, second)
            }
            events::CREATE => {
                self.forget_process(second);
                self.process(second)
            }
            events::CREATE_NAME => {
                let known = self.processes.get(&second).and_then(|process| process.name.as_deref());
                // A log may repeat a name. If it is unchanged, the names of the threads remain valid.
                if known.is_none() || known != Some(name_bytes(record)) {
                    self.forget_process(second);
                    let name = self.name(record);
                    self.processes.insert(second, NamedProcess { name, ..NamedProcess::default() });
                }
                self.process(second)
            }
            events::DESTROY | events::DESTROY_NAME => {
                let mut owner = self.process(second);
                // The last record of a process may be the first one with its name, if the log began later.
                if owner.process.is_none() && record.event == events::DESTROY_NAME {
                    owner.process = Some(name_bytes(record)).filter(|name| !name.is_empty()).map(Arc::from);
                }
                self.forget_process(second);
                self.stop(|(pid, _)| pid == second);
                owner
            }
            _ => Owner::default(),
        }
    }

    fn process(&self, pid: i32) -> Owner {
        let process = self.processes.get(&pid).and_then(|process| process.name.clone());
        Owner { pid: Some(pid), process, ..Owner::default() }
    }

    fn thread(&self, pid: i32, tid: i32) -> Owner {
        let thread = self.processes.get(&pid).and_then(|process| process.threads.get(&tid).cloned());
        Owner { tid: Some(tid), thread, ..self.process(pid) }
    }

    fn forget_thread(&mut self, pid: i32, tid: i32) {
        let forgotten = self.processes.get_mut(&pid).and_then(|process| process.threads.remove(&tid));
        self.n_bytes -= forgotten.map_or(0, |name| cost(&name));
    }

    fn forget_process(&mut self, pid: i32) {
        let Some(NamedProcess { name, threads }) = self.processes.remove(&pid) else { return };
        let names = threads.into_values().chain(name);
        self.n_bytes -= names.map(|name| cost(&name)).sum::<usize>();
    }

    /// Removes the running threads for which `is_gone` is true.
    fn stop(&mut self, is_gone: impl Fn((i32, i32)) -> bool) {
        self.running.iter_mut().filter(|running| running.is_some_and(&is_gone)).for_each(|running| *running = None);
    }

    /// The name after the first two words; `None` if it is empty, or there is no room for it.
    fn name(&mut self, record: &KevRecord<'_>) -> Option<Arc<[u8]>> {
        let name = name_bytes(record);
        // A hostile log can invent any number of names. Beyond the limit they are unknown, and the report continues.
        if name.is_empty() || self.n_bytes + cost(name) > MAX_NAME_BYTES {
            return None;
        }
        self.n_bytes += cost(name);
        Some(Arc::from(name))
    }

    fn word(&self, record: &KevRecord<'_>, at: usize) -> Option<u32> {
        let bytes = *record.bytes.get(4 * at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
}

/// Adds an owner; returns its index.
fn add(owner: Owner, known: &mut Vec<Owner>) -> u32 {
    known.push(owner);
    known.len() as u32 - 1
}

fn cost(name: &[u8]) -> usize {
    NAME_COST + name.len()
}

/// Text after the first two words, up to its NUL or the end of the data.
fn name_bytes<'r>(record: &KevRecord<'r>) -> &'r [u8] {
    let text = record.bytes.get(8..).unwrap_or_default();
    &text[..text.iter().position(|byte| *byte == 0).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(class: u8, event: u16, cpu: u8, bytes: &[u8]) -> KevRecord<'_> {
        KevRecord { number: 1, offset: 0, class, event, cpu, wide: bytes.len() > 8, stamp: 0, msb: None, bytes }
    }

    fn owner(owners: &mut Owners, record: &KevRecord<'_>) -> Owner {
        let mut known = Vec::new();
        owners.begin_batch();
        let id = owners.take(record, &mut known);
        known.swap_remove(id as usize)
    }

    /// Takes a record, and shows its owner as `pid tid process thread`.
    fn take(owners: &mut Owners, class: u8, event: u16, cpu: u8, words: [i32; 2], name: &str) -> String {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(name.as_bytes());
        let Owner { pid, tid, process, thread } = owner(owners, &record(class, event, cpu, &bytes));
        let number = |number: Option<i32>| number.map_or("-".to_owned(), |number| number.to_string());
        let text =
            |name: Option<Arc<[u8]>>| name.map_or("-".into(), |name| String::from_utf8_lossy(&name).into_owned());
        format!("{} {} {} {}", number(pid), number(tid), text(process), text(thread))
    }

    #[test]
    fn a_process_that_is_created_again_has_new_threads() {
        let mut owners = Owners::new(false);
        let mut next = |event, words, name| take(&mut owners, 4, event, 0, words, name);
        assert_eq!(next(192, [0, 7], "bin/a"), "7 - bin/a -");
        assert_eq!(next(320, [7, 1], "main"), "7 1 bin/a main");
        // The state dump at the start of a trace repeats what is already known.
        assert_eq!(next(192, [0, 7], "bin/a"), "7 - bin/a -");
        assert_eq!(next(2, [7, 1], ""), "7 1 bin/a main");
        assert_eq!(next(192, [0, 7], "bin/b"), "7 - bin/b -");
        assert_eq!(next(2, [7, 1], ""), "7 1 bin/b -");
        assert_eq!(next(64, [0, 7], ""), "7 - - -");
    }

    #[test]
    fn names_that_come_to_too_much_are_not_kept() {
        let mut owners = Owners::new(false);
        let long = "x".repeat(MAX_NAME_BYTES / 2);
        take(&mut owners, 4, 192, 0, [0, 1], &long);
        assert!(take(&mut owners, 4, 192, 0, [0, 2], &long).starts_with("2 - - "));
        take(&mut owners, 4, 128, 0, [0, 1], "");
        assert!(take(&mut owners, 4, 192, 0, [0, 2], &long).starts_with("2 - x"));
        take(&mut owners, 4, 64, 0, [0, 2], "");
        assert_eq!(owners.n_bytes, 0);
    }

    #[test]
    fn records_without_two_words_tell_nothing() {
        let mut owners = Owners::new(true);
        assert_eq!(owner(&mut owners, &record(4, 1, 0, &[0; 7])), Owner::default());
        let running = owner(&mut owners, &record(4, 1, 0, &[0, 0, 0, 5, 0, 0, 0, 6]));
        assert_eq!((running.pid, running.tid), (Some(5), Some(6)));
        assert_eq!(owner(&mut owners, &record(13, 9, 0, &[])).pid, Some(5));
        assert_eq!(owner(&mut owners, &record(4, 400, 0, &[0; 8])), Owner::default());
        owner(&mut owners, &record(1, 8, 3, &[0; 8]));
        assert_eq!(owner(&mut owners, &record(6, 9, 0, &[])), Owner::default());
    }
}
