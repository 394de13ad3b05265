//! Events that are on their way to their text, with all that it depends on.

use crate::context::Facts;
use crate::reader::aix::{SystemInfo, TimedEvent, Visit};
use std::ops::Range;
use std::sync::Arc;
use tfbc_vm::{Event, Outcome};

/// Bytes of events, and of names and texts with them, that fill a batch.
const MAX_BYTES: usize = 128 << 10;
/// Events that fill a batch.
pub(super) const MAX_EVENTS: usize = 4 << 10;

/// Events that are reported, if their templates say so.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Presented buffers of the events, or recorded events.
    pub bytes: Vec<u8>,
    pub events: Vec<Shown>,
    settings: Vec<Setting>,
    systems: Vec<Arc<SystemInfo>>,
    /// Paths, names and system calls of the settings.
    names: Vec<u8>,
    /// Texts that were formatted while the events were taken.
    texts: Vec<u8>,
    ready: Vec<Ready>,
}

/// One event.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shown {
    pub time_ns: u64,
    pub elapsed_ns: u64,
    /// Offset in the file.
    pub offset: u64,
    pub tid: u64,
    /// Where the presented buffer stands in [`Batch::bytes`].
    pub at: u32,
    pub len: u32,
    /// Index of its setting.
    pub setting: u32,
    /// Canonical hook id.
    pub id: u16,
    /// Whether templates see a 64-bit hook.
    pub wide: bool,
    /// As of [`Event::env_index`].
    pub env: u8,
    /// Index of its text, where that is ready, and 1; else 0.
    pub ready: u32,
}

impl Shown {
    /// The event as a template sees it, whose presented buffer is given.
    #[inline(always)]
    pub fn hook<'b>(&self, bytes: &'b [u8]) -> Event<'b> {
        Event { bytes, wide: self.wide, record: None, time_ns: self.time_ns, offset: self.offset }
    }
}

/// What is known of an event from those before it. Consecutive events share one.
#[derive(Debug, Clone)]
pub(super) struct Setting {
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
        self.bytes.clear();
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
        self.is_full_with(self.bytes.len(), max)
    }

    /// Whether the event that was added last fills the batch, whose events have so many bytes.
    #[inline]
    pub fn keeps(&self, n_bytes: usize, max: usize) -> Visit {
        if self.is_full_with(n_bytes, max) { Visit::KeepLast } else { Visit::Keep }
    }

    #[inline]
    fn is_full_with(&self, n_bytes: usize, max: usize) -> bool {
        self.events.len() >= max || n_bytes + self.names.len() + self.texts.len() >= MAX_BYTES
    }

    /// Adds an event whose presented buffer stands at `at` already.
    #[inline]
    pub fn push(&mut self, timed: &TimedEvent<'_>, at: usize, setting: u32) {
        let TimedEvent { event, time, .. } = timed;
        self.events.push(Shown {
            time_ns: time.time_ns,
            elapsed_ns: time.elapsed_ns,
            offset: event.offset,
            tid: event.tid,
            at: at as u32,
            len: event.bytes.len() as u32,
            setting,
            id: event.id,
            wide: event.wide,
            env: Event { bytes: event.bytes, wide: event.wide, record: None, time_ns: 0, offset: 0 }.env_index() as u8,
            ready: 0,
        });
    }

    /// Adds the text of the event that was added last.
    pub fn push_ready(&mut self, outcome: Outcome, text: &[u8]) {
        if let Some(event) = self.events.last_mut() {
            let text = append(&mut self.texts, text);
            self.ready.push(Ready { outcome, text });
            event.ready = self.ready.len() as u32;
        }
    }

    /// Adds a state of the system, and gives its index.
    pub fn push_system(&mut self, system: &Arc<SystemInfo>) -> u32 {
        self.systems.push(Arc::clone(system));
        self.systems.len() as u32 - 1
    }

    /// Adds what is known of an event, and gives its index.
    pub fn push_setting(&mut self, facts: &Facts<'_>, log: usize, reported_cpus: Option<u32>, system: u32) -> u32 {
        let setting = Setting {
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

    /// The presented buffer of an event.
    #[inline]
    pub fn bytes_of(&self, event: &Shown) -> &[u8] {
        &self.bytes[event.at as usize..][..event.len as usize]
    }

    pub fn setting(&self, index: u32) -> &Setting {
        &self.settings[index as usize]
    }

    /// The state of the system in a setting.
    pub fn system(&self, setting: &Setting) -> &SystemInfo {
        &self.systems[setting.system as usize]
    }

    /// What a setting tells of an event of a thread.
    pub fn facts(&self, setting: &Setting, tid: u64) -> Facts<'_> {
        let Setting { pid, cpu, depth, priority, .. } = *setting;
        let name = |range: &Range<u32>| &self.names[range.start as usize..range.end as usize];
        let (path, svc) = (name(&setting.path), name(&setting.svc));
        Facts { tid, pid, path, name: name(&setting.name), cpu, depth, priority, svc }
    }

    /// How an event ended whose text is ready, and the text.
    pub fn ready(&self, event: &Shown) -> Option<(Outcome, &[u8])> {
        let Ready { outcome, text } = self.ready.get((event.ready as usize).checked_sub(1)?)?;
        Some((*outcome, &self.texts[text.start as usize..text.end as usize]))
    }
}

/// Appends bytes, and gives their place. Batches are short: places fit.
fn append(to: &mut Vec<u8>, bytes: &[u8]) -> Range<u32> {
    let start = to.len() as u32;
    to.extend_from_slice(bytes);
    start..to.len() as u32
}
