//! Events that are on their way to their text, with all that it depends on.

use crate::context::ThreadContext;
use crate::reader::SharedBuf;
use crate::reader::aix::{BufferPos, SystemInfo, TimedEvent};
use std::ops::Range;
use std::sync::Arc;
use tfbc_vm::{Event, Outcome};

/// Bytes of events that were copied, and of names and texts with them, that fill a batch; as many of a reader's buffer do.
const MAX_BYTES: usize = 128 << 10;
/// Events that fill a batch.
pub(super) const MAX_EVENTS: usize = 4 << 10;

/// Events that are reported, if their templates say so.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The reader's buffer, in which ordinary events stand as they were read.
    pub taken: SharedBuf,
    /// Bytes of it that are held for the batch.
    pub n_held: usize,
    /// Presented buffers of the other events.
    copies: Vec<u8>,
    copied: Vec<Copied>,
    pub events: Vec<EventRef>,
    /// Bytes of the events that were shown before.
    pub bytes_before: u64,
    /// Bytes of the events.
    pub n_bytes: u64,
    settings: Vec<SharedContext>,
    systems: Vec<Arc<SystemInfo>>,
    /// Paths, names and system calls of the settings.
    names: Vec<u8>,
    /// Texts that were formatted while the events were taken.
    texts: Vec<u8>,
    ready: Vec<Ready>,
    /// Elapsed time of the event before the next one that is copied, if deltas are measured from it.
    pub previous_ns: Option<u64>,
}

/// One event.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventRef {
    pub time_ns: u64,
    pub elapsed_ns: u64,
    pub tid: u64,
    /// Where the presented buffer stands in [`Batch::taken`], or the index of the copied event.
    pub at: u32,
    pub len: u32,
    /// Index of its setting.
    pub setting: u32,
    /// Canonical hook id.
    pub id: u16,
    /// The environment that templates see, by its place among those of hooks.
    pub env: u8,
    pub position: Position,
}

/// Where an event's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Position {
    /// In the reader's buffer.
    #[default]
    BufferPos,
    /// Among the copies.
    Copied,
    /// Among the copies, and its text is ready.
    Ready,
}

impl EventRef {
    /// Whether its text is ready.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        self.position == Position::Ready
    }
}

/// What else is known of an event that was copied.
#[derive(Debug, Clone, Copy)]
struct Copied {
    /// Where the presented buffer stands in [`Batch::copies`].
    at: u32,
    /// Index of its text, where that is ready.
    ready: u32,
    /// Offset in the file.
    offset: u64,
    /// As of [`Batch::previous_ns`].
    previous_ns: Option<u64>,
}

/// What is known of an event from those before it. Consecutive events share one.
#[derive(Debug, Clone)]
pub(super) struct SharedContext {
    /// Index of the event's log.
    pub log: u32,
    pub reported_cpus: Option<u32>,
    system: u32,
    pid: Option<u64>,
    pub cpu: Option<u64>,
    pub depth: u32,
    priority: u64,
    path: Range<u32>,
    name: Range<u32>,
    svc: Range<u32>,
}

/// A text that was formatted while its event was taken.
#[derive(Debug, Clone)]
struct Ready {
    outcome: Outcome,
    text: Range<u32>,
}

impl Batch {
    /// Empties the batch and keeps its room.
    pub fn clear(&mut self) {
        (self.n_held, self.n_bytes) = (0, 0);
        self.copies.clear();
        self.copied.clear();
        self.events.clear();
        self.settings.clear();
        self.systems.clear();
        self.names.clear();
        self.texts.clear();
        self.ready.clear();
    }

    /// Whether there is no room for more than `max` events.
    #[inline]
    pub fn is_full(&self, max: usize) -> bool {
        self.events.len() >= max
            || self.copies.len() + self.names.len() + self.texts.len() >= MAX_BYTES
            || self.n_held >= MAX_BYTES
    }

    /// Bytes of the reader's buffer in which events may be taken: so many that it is full where they are used up.
    pub fn room(&self) -> usize {
        (2 * MAX_BYTES).saturating_sub(self.n_held)
    }

    /// Adds an event that stands in the reader's buffer.
    #[inline(always)]
    pub fn push(&mut self, timed: &TimedEvent<'_>, place: BufferPos, setting: u32) {
        let TimedEvent { event, time, .. } = timed;
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

    /// Adds a copy of an event.
    pub fn push_copy(&mut self, timed: &TimedEvent<'_>, setting: u32) {
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
        self.copied.push(Copied {
            at: self.copies.len() as u32,
            ready: 0,
            offset: event.offset,
            previous_ns: self.previous_ns,
        });
        self.copies.extend_from_slice(event.bytes);
    }

    /// Adds the text of the event that was added last, which was copied.
    pub fn push_ready(&mut self, outcome: Outcome, text: &[u8]) {
        if let (Some(event), Some(copied)) = (self.events.last_mut(), self.copied.last_mut()) {
            event.position = Position::Ready;
            copied.ready = self.ready.len() as u32;
            let text = append(&mut self.texts, text);
            self.ready.push(Ready { outcome, text });
        }
    }

    /// Adds a state of the system, and gives its index.
    pub fn push_system(&mut self, system: &Arc<SystemInfo>) -> u32 {
        self.systems.push(Arc::clone(system));
        self.systems.len() as u32 - 1
    }

    /// Adds what is known of an event, and gives its index.
    pub fn push_context(
        &mut self,
        facts: &ThreadContext<'_>,
        log: usize,
        reported_cpus: Option<u32>,
        system: u32,
    ) -> u32 {
        let setting = SharedContext {
            log: log as u32,
            reported_cpus,
            system,
            pid: facts.pid,
            cpu: facts.cpu,
            depth: facts.depth,
            priority: facts.priority,
            path: append(&mut self.names, facts.path),
            name: append(&mut self.names, facts.name),
            svc: append(&mut self.names, facts.svc),
        };
        self.settings.push(setting);
        self.settings.len() as u32 - 1
    }

    /// An event as a template sees it; `taken` is the buffer of [`Batch::taken`].
    #[inline(always)]
    pub fn hook<'b>(&'b self, taken: &'b [u8], event: &EventRef) -> Event<'b> {
        let (buffer, at, offset) = match event.position {
            Position::BufferPos => (taken, event.at, self.taken.offset + u64::from(event.at)),
            Position::Copied | Position::Ready => {
                let Copied { at, offset, .. } = self.copied[event.at as usize];
                (&self.copies[..], at, offset)
            }
        };
        let (bytes, wide) = (&buffer[at as usize..][..event.len as usize], event.env & 2 != 0);
        let hook = Event { bytes, wide, record: None, time_ns: event.time_ns, offset };
        debug_assert_eq!(usize::from(event.env), hook.env_index());
        hook
    }

    pub fn shared_context(&self, index: u32) -> &SharedContext {
        &self.settings[index as usize]
    }

    /// The state of the system in a setting.
    pub fn system(&self, setting: &SharedContext) -> &SystemInfo {
        &self.systems[setting.system as usize]
    }

    /// What a setting tells of an event of a thread.
    pub fn facts(&self, setting: &SharedContext, tid: u64) -> ThreadContext<'_> {
        let SharedContext { pid, cpu, depth, priority, .. } = *setting;
        let name = |range: &Range<u32>| &self.names[range.start as usize..range.end as usize];
        let (path, svc) = (name(&setting.path), name(&setting.svc));
        ThreadContext { tid, pid, path, name: name(&setting.name), cpu, depth, priority, svc }
    }

    /// Elapsed time of the event before, if deltas are measured from it.
    pub fn previous_ns(&self, event: &EventRef) -> Option<u64> {
        match event.position {
            Position::BufferPos => None,
            Position::Copied | Position::Ready => self.copied[event.at as usize].previous_ns,
        }
    }

    /// How an event ended whose text is ready, and the text.
    pub fn ready(&self, event: &EventRef) -> Option<(Outcome, &[u8])> {
        if !event.is_ready() {
            return None;
        }
        let Ready { outcome, text } = self.ready.get(self.copied[event.at as usize].ready as usize)?;
        Some((*outcome, &self.texts[text.start as usize..text.end as usize]))
    }
}

/// Appends bytes, and gives their place. Batches are short: places fit.
fn append(to: &mut Vec<u8>, bytes: &[u8]) -> Range<u32> {
    let start = to.len() as u32;
    to.extend_from_slice(bytes);
    start..to.len() as u32
}
