//! A batch of events read but not yet formatted, with the context each needs.

use crate::context::{SVC_BLOCK, SvcName, SvcRef, ThreadContext, svc_digits};
use crate::reader::SharedBuf;
use crate::reader::aix::{BufferPos, RawEvent, StartTime, SystemInfo, TimedEvent};
use crate::rows::micros;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use tfbc_vm::{Event, Outcome, ProcessNames, TimerBefore, Timers, Trail};

/// Maximum size of a batch's copied events, names and texts, and of the part of the reader's buffer that it keeps, in
/// bytes.
const MAX_BYTES: usize = 128 << 10;
/// Number of bytes of a system call's name that are copied at once.
pub(super) const BLOCK: usize = SVC_BLOCK;
/// Maximum events of a batch.
pub(super) const MAX_EVENTS: usize = 4 << 10;

/// Name of a system call. A store of fixed size is faster than a copy.
#[derive(Debug, Clone, Copy)]
pub(super) enum SvcBlock<'b> {
    /// The first `len` bytes; blanks follow.
    Short { block: [u8; BLOCK], len: usize },
    /// Name that is not shorter than a block.
    Long(&'b [u8]),
}

impl SvcBlock<'_> {
    pub const EMPTY: Self = SvcBlock::Short { block: [b' '; BLOCK], len: 0 };

    #[inline(always)]
    pub fn name(&self) -> &[u8] {
        match self {
            SvcBlock::Short { block, len } => block.get(..*len).unwrap_or_default(),
            SvcBlock::Long(name) => name,
        }
    }

    /// The block and the length of the name. A long name has none, and must be written in another way.
    #[inline(always)]
    pub fn block(&self) -> ([u8; BLOCK], usize) {
        match *self {
            SvcBlock::Short { block, len } => (block, len),
            SvcBlock::Long(_) => ([b' '; BLOCK], 0),
        }
    }
}

/// Events that pass the filter; their templates may still skip them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The reader's buffer, which contains the events of the fast path unchanged.
    pub taken: SharedBuf,
    /// Bytes of `taken` that belong to the batch.
    pub n_held: usize,
    /// Bytes of the other events, as templates see them.
    copies: Vec<u8>,
    copied: Vec<CopiedEvent>,
    pub events: Vec<EventRef>,
    /// Number of bytes of the events in earlier batches.
    pub bytes_before: u64,
    /// Number of bytes of the events in this batch.
    pub n_bytes: u64,
    settings: Vec<SharedContext>,
    threads: Vec<SharedThread>,
    systems: Vec<Arc<SystemInfo>>,
    /// Paths, names and system calls of contexts and threads.
    names: Vec<u8>,
    /// Digits of the addresses that are system calls, by context; written when a template first asks for one.
    digits: OnceLock<Vec<([u8; BLOCK], usize)>>,
    /// Texts that had to be formatted in order, by the producer.
    texts: Vec<u8>,
    ready: Vec<ReadyText>,
    /// Timers that ready texts used, and the paths that they looked up.
    timers: Vec<TimerBefore>,
    paths: Vec<(u64, Range<u32>)>,
    /// True if the batch keeps [`Origin`]s.
    pub keeps_origins: bool,
    /// Origins of the events.
    pub origins: Vec<Origin>,
    /// Start of the trace, if it is known, and the index of the first event after it became known.
    pub start: Option<(StartTime, usize)>,
    /// Elapsed time of the event before the next copied one, if deltas are measured from it.
    pub previous_ns: Option<u64>,
}

/// Position of an event in its trace, and its size; kept for tables.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Origin {
    /// Number in the order of events, from 1.
    pub number: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes of the event as recorded.
    pub n_bytes: u32,
}

/// One event.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventRef {
    pub time_ns: u64,
    pub elapsed_ns: u64,
    pub tid: u64,
    /// Offset of the event in [`Batch::taken`], or index of the copied event.
    pub at: u32,
    pub len: u32,
    /// Index of its [`SharedContext`].
    pub setting: u32,
    /// Canonical hook id.
    pub id: u16,
    /// Index of the template environment, see [`Event::env_index`].
    pub env: u8,
    pub position: Position,
}

/// Location of an event's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Position {
    /// In the reader's buffer.
    #[default]
    BufferPos,
    /// Copied.
    Copied,
    /// Copied, and its text is already formatted.
    Ready,
}

impl EventRef {
    /// True if the text is already formatted.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        self.position == Position::Ready
    }
}

/// Data of a copied event that does not fit into [`EventRef`].
#[derive(Debug, Clone, Copy)]
struct CopiedEvent {
    /// Offset of the event in [`Batch::copies`].
    at: u32,
    /// Index of its text, if that is already formatted.
    ready: u32,
    /// Offset in the file.
    offset: u64,
    /// [`Batch::previous_ns`] at this event.
    previous_ns: Option<u64>,
}

/// Context derived from earlier events; neighbours usually share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SharedContext {
    /// Index of its [`SharedThread`].
    pub thread: u32,
    /// Nesting depth of interrupts.
    pub depth: u32,
    pub svc: SvcText,
}

/// System call of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SvcText {
    #[default]
    None,
    /// Address without a name.
    Address(u64),
    /// Name, by its offset in the batch and its length. Blanks follow one that is shorter than a block.
    Name { at: u32, len: u32 },
}

/// Part of a context that rarely changes.
#[derive(Debug, Clone)]
pub(super) struct SharedThread {
    /// Index of the event's log.
    pub log: u32,
    pub reported_cpus: Option<u32>,
    system: u32,
    pub pid: Option<u64>,
    pub cpu: Option<u64>,
    priority: u64,
    path: Range<u32>,
    name: Range<u32>,
}

/// A text that the producer formatted.
#[derive(Debug, Clone)]
struct ReadyText {
    outcome: Outcome,
    text: Range<u32>,
    /// Fields as JSON, if the report shows them.
    fields: Range<u32>,
    /// Its part of [`Batch::timers`] and [`Batch::paths`].
    timers: Range<usize>,
    paths: Range<usize>,
}

impl Batch {
    /// Empties the batch and keeps its allocations.
    pub fn clear(&mut self) {
        (self.n_held, self.n_bytes) = (0, 0);
        self.copies.clear();
        self.copied.clear();
        self.events.clear();
        self.settings.clear();
        self.threads.clear();
        self.systems.clear();
        self.names.clear();
        self.digits.take();
        self.texts.clear();
        self.ready.clear();
        self.timers.clear();
        self.paths.clear();
        self.origins.clear();
    }

    /// True if the batch has `max` events or its maximum of bytes.
    #[inline]
    pub fn is_full(&self, max: usize) -> bool {
        self.events.len() >= max
            || self.copies.len() + self.names.len() + self.texts.len() >= MAX_BYTES
            || self.n_held >= MAX_BYTES
            || size_of_val(&self.timers[..]) + size_of_val(&self.paths[..]) >= MAX_BYTES
    }

    /// True if the names alone are the maximum of bytes.
    #[inline(always)]
    pub fn has_many_names(&self) -> bool {
        self.names.len() >= MAX_BYTES
    }

    /// Number of bytes of the reader's buffer that the batch can still take.
    pub fn room(&self) -> usize {
        (2 * MAX_BYTES).saturating_sub(self.n_held)
    }

    /// Adds an event whose bytes are in the reader's buffer.
    #[inline(always)]
    pub fn push(&mut self, timed: &TimedEvent<'_>, place: BufferPos, setting: u32) {
        let TimedEvent { event, time, .. } = timed;
        self.push_origin(timed);
        self.n_bytes += event.bytes.len() as u64;
        self.events.push(EventRef {
            time_ns: time.time_ns,
            elapsed_ns: time.elapsed_ns,
            tid: event.tid,
            at: place.at as u32,
            len: event.bytes.len() as u32,
            setting,
            id: event.id,
            env: place.env.index() as u8,
            position: Position::BufferPos,
        });
    }

    #[inline(always)]
    fn push_origin(&mut self, timed: &TimedEvent<'_>) {
        if self.keeps_origins {
            let RawEvent { number, offset, recorded, .. } = timed.event;
            self.origins.push(Origin { number, offset, n_bytes: recorded.len() as u32 });
        }
    }

    /// Adds a copy of an event.
    pub fn push_copy(&mut self, timed: &TimedEvent<'_>, setting: u32) {
        self.push_origin(timed);
        let TimedEvent { event, time, .. } = timed;
        let hook = Event { bytes: event.bytes, wide: event.wide, record: None, time_ns: 0, offset: 0 };
        self.n_bytes += event.bytes.len() as u64;
        self.events.push(EventRef {
            time_ns: time.time_ns,
            elapsed_ns: time.elapsed_ns,
            tid: event.tid,
            at: self.copied.len() as u32,
            len: event.bytes.len() as u32,
            setting,
            id: event.id,
            env: hook.env_index() as u8,
            position: Position::Copied,
        });
        self.copied.push(CopiedEvent {
            at: self.copies.len() as u32,
            ready: 0,
            offset: event.offset,
            previous_ns: self.previous_ns,
        });
        self.copies.extend_from_slice(event.bytes);
    }

    /// Adds the text and the fields of the event added last, which must be a copy.
    pub fn push_ready(&mut self, outcome: Outcome, text: &[u8], fields: &[u8]) {
        if let (Some(event), Some(copied)) = (self.events.last_mut(), self.copied.last_mut()) {
            event.position = Position::Ready;
            copied.ready = self.ready.len() as u32;
            let text = append(&mut self.texts, text);
            let fields = append(&mut self.texts, fields);
            self.ready.push(ReadyText { outcome, text, fields, timers: 0..0, paths: 0..0 });
        }
    }

    /// Adds the state that the text added last used, so that [`Batch::before`] can restore it.
    pub fn push_trail(&mut self, trail: &mut Trail, paths: &ProcessNames) {
        let Some(ready) = self.ready.last_mut() else { return };
        let (n_timers, n_paths) = (self.timers.len(), self.paths.len());
        self.timers.extend_from_slice(&trail.timers);
        trail.pids.sort_unstable();
        trail.pids.dedup();
        for pid in &trail.pids {
            if let Some(path) = paths.get(pid) {
                self.paths.push((*pid, append(&mut self.texts, path)));
            }
        }
        (ready.timers, ready.paths) = (n_timers..self.timers.len(), n_paths..self.paths.len());
    }

    /// Timers and paths of processes that the text of an event used, with their values before the event.
    pub fn state_before(&self, event: &EventRef) -> (Timers, ProcessNames) {
        let copied = self.copied.get(event.at as usize).filter(|_| event.is_ready());
        let Some(ready) = copied.and_then(|copied| self.ready.get(copied.ready as usize)) else {
            return (Timers::new(), ProcessNames::new());
        };
        let path = |text: &Range<u32>| self.texts[text.start as usize..text.end as usize].to_vec();
        let paths = self.paths[ready.paths.clone()].iter().map(|(pid, text)| (*pid, path(text))).collect();
        (Timers::before(&self.timers[ready.timers.clone()]), paths)
    }

    /// Adds system properties and returns their index.
    pub fn push_system(&mut self, system: &Arc<SystemInfo>) -> u32 {
        self.systems.push(Arc::clone(system));
        self.systems.len() as u32 - 1
    }

    /// Adds a context and returns its index.
    #[inline]
    pub fn push_context(&mut self, context: SharedContext) -> u32 {
        self.settings.push(context);
        self.settings.len() as u32 - 1
    }

    /// Adds the part of a context that rarely changes, and returns its index.
    pub fn push_thread(
        &mut self,
        facts: &ThreadContext<'_>,
        log: usize,
        reported_cpus: Option<u32>,
        system: u32,
    ) -> u32 {
        let thread = SharedThread {
            log: log as u32,
            reported_cpus,
            system,
            pid: facts.pid,
            cpu: facts.cpu,
            priority: facts.priority,
            path: append(&mut self.names, facts.path),
            name: append(&mut self.names, facts.name),
        };
        self.threads.push(thread);
        self.threads.len() as u32 - 1
    }

    /// Adds a system call.
    #[inline(always)]
    pub fn push_svc(&mut self, svc: &SvcName) -> SvcText {
        match svc.get() {
            SvcRef::None => SvcText::None,
            SvcRef::Address(address) => SvcText::Address(address),
            SvcRef::Name { padded, len } => {
                SvcText::Name { at: append(&mut self.names, padded).start, len: len as u32 }
            }
        }
    }

    /// An event as a template sees it; `taken` is the buffer of [`Batch::taken`].
    #[inline(always)]
    pub fn hook<'b>(&'b self, taken: &'b [u8], event: &EventRef) -> Event<'b> {
        let (buffer, at, offset) = match event.position {
            Position::BufferPos => (taken, event.at, self.taken.offset + u64::from(event.at)),
            Position::Copied | Position::Ready => {
                let CopiedEvent { at, offset, .. } = self.copied[event.at as usize];
                (&self.copies[..], at, offset)
            }
        };
        let (bytes, wide) = (&buffer[at as usize..][..event.len as usize], event.env & 2 != 0);
        let hook = Event { bytes, wide, record: None, time_ns: event.time_ns, offset };
        debug_assert_eq!(usize::from(event.env), hook.env_index());
        hook
    }

    #[inline(always)]
    pub fn shared_context(&self, index: u32) -> &SharedContext {
        &self.settings[index as usize]
    }

    /// Part of a context that rarely changes.
    pub fn thread(&self, context: &SharedContext) -> &SharedThread {
        &self.threads[context.thread as usize]
    }

    /// All of these parts.
    pub fn threads(&self) -> &[SharedThread] {
        &self.threads
    }

    /// Path of a context's process.
    pub fn path(&self, thread: &SharedThread) -> &[u8] {
        &self.names[thread.path.start as usize..thread.path.end as usize]
    }

    /// Time of an event in microseconds since 1970, UTC. `None` if the start of the trace is not known before it.
    pub fn unix_us(&self, index: usize) -> Option<i64> {
        let (start, first) = self.start?;
        let event = self.events.get(index).filter(|_| index >= first)?;
        Some(micros(start.unix_ns(event.time_ns)))
    }

    /// System properties of a context.
    pub fn system(&self, context: &SharedContext) -> &SystemInfo {
        &self.systems[self.thread(context).system as usize]
    }

    /// System call of a context.
    #[inline(always)]
    pub fn svc(&self, context: &SharedContext) -> SvcBlock<'_> {
        match context.svc {
            SvcText::None => SvcBlock::EMPTY,
            SvcText::Address(address) => {
                let (block, len) = svc_digits(address);
                SvcBlock::Short { block, len }
            }
            SvcText::Name { at, len } => self.named_svc(at as usize, len as usize),
        }
    }

    #[inline(never)]
    fn named_svc(&self, at: usize, len: usize) -> SvcBlock<'_> {
        let names = self.names.get(at..).unwrap_or_default();
        match names.first_chunk() {
            Some(block) if len < BLOCK => SvcBlock::Short { block: *block, len },
            _ => SvcBlock::Long(names.get(..len).unwrap_or_default()),
        }
    }

    /// Bytes of a context's system call, by the index of the context.
    fn svc_bytes(&self, index: u32) -> &[u8] {
        let digits = |context: &SharedContext| match context.svc {
            SvcText::Address(address) => svc_digits(address),
            _ => ([b' '; BLOCK], 0),
        };
        match self.shared_context(index).svc {
            SvcText::None => &[],
            SvcText::Name { at, len } => self.names.get(at as usize..(at + len) as usize).unwrap_or_default(),
            SvcText::Address(_) => {
                let all = self.digits.get_or_init(|| self.settings.iter().map(digits).collect());
                all.get(index as usize).map_or(&[], |(block, len)| &block[..*len])
            }
        }
    }

    /// Context of an event of thread `tid`, by its index.
    pub fn facts_with_svc(&self, index: u32, tid: u64) -> ThreadContext<'_> {
        ThreadContext { svc: self.svc_bytes(index), ..self.facts(self.shared_context(index), tid) }
    }

    /// Context of an event of thread `tid`, without its system call.
    pub fn facts(&self, context: &SharedContext, tid: u64) -> ThreadContext<'_> {
        let SharedThread { pid, cpu, priority, .. } = *self.thread(context);
        let name = |range: &Range<u32>| &self.names[range.start as usize..range.end as usize];
        let (path, name) = (name(&self.thread(context).path), name(&self.thread(context).name));
        ThreadContext { tid, pid, path, name, cpu, depth: context.depth, priority, svc: &[] }
    }

    /// Elapsed time of the previous event, if deltas are measured from it.
    pub fn previous_ns(&self, event: &EventRef) -> Option<u64> {
        match event.position {
            Position::BufferPos => None,
            Position::Copied | Position::Ready => self.copied[event.at as usize].previous_ns,
        }
    }

    /// Outcome and text of an event that the producer formatted.
    pub fn formatted(&self, event: &EventRef) -> Option<(Outcome, &[u8])> {
        if !event.is_ready() {
            return None;
        }
        let ReadyText { outcome, text, .. } = self.ready.get(self.copied[event.at as usize].ready as usize)?;
        Some((*outcome, &self.texts[text.start as usize..text.end as usize]))
    }

    /// Fields, as JSON, of an event that the producer formatted; empty if the report shows none.
    pub fn ready_fields(&self, event: &EventRef) -> &[u8] {
        let ready = self.copied.get(event.at as usize).filter(|_| event.is_ready());
        let fields = ready.and_then(|copied| self.ready.get(copied.ready as usize)).map(|ready| &ready.fields);
        fields.map_or(&[], |fields| &self.texts[fields.start as usize..fields.end as usize])
    }
}

/// Appends bytes and returns their range. A batch is far smaller than 4 GiB, so `u32` suffices.
fn append(to: &mut Vec<u8>, bytes: &[u8]) -> Range<u32> {
    let start = to.len() as u32;
    to.extend_from_slice(bytes);
    start..to.len() as u32
}
