//! Inventory of AIX traces.

use crate::formats::Formats;
use crate::ids::IdSet;
use crate::monitor::{Monitor, PROGRESS_EVERY};
use crate::reader::aix::{LogItem, Logs, SystemInfo, TimedEvent, TraceState, hooks};
use crate::reader::{Imbalance, Notice};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Limit of distinct threads and of distinct CPUs. Their ids come from the trace, so a hostile one could use up memory.
const MAX_COUNTED: usize = 1 << 16;
/// Limit of listed damaged places and of listed gaps.
const MAX_LISTED: usize = 100;

/// Inventory of an AIX trace with one or more logs.
#[derive(Debug, Clone)]
pub struct AixInventory {
    state: TraceState,
    by_id: Vec<u64>,
    tids: BTreeSet<u64>,
    last_tid: Option<u64>,
    off_since_ns: Option<u64>,
    /// Number of events in all files.
    pub n_events: u64,
    /// Number of events per CPU, for up to 65,536 CPUs.
    pub cpus: BTreeMap<u64, u64>,
    /// Inventory per file, in the order of [`TraceInfo::files`](crate::TraceInfo).
    pub files: Vec<FileInventory>,
    /// Number of damaged places.
    pub n_damaged: u64,
    /// First notices: damage and warnings.
    pub notices: Vec<Notice>,
    /// Range of offsets that contains the damage not listed in `notices`.
    pub unlisted: Option<(u64, u64)>,
    /// Number of bytes skipped because of damage.
    pub n_skipped_bytes: u64,
    /// Number of 32-bit stamps that went back slightly and were replaced by the previous stamp.
    pub n_clamped: u64,
    /// Number of gaps in the recording.
    pub n_gaps: u64,
    /// First gaps.
    pub gaps: Vec<Gap>,
    /// Mismatch between the counts of reader and inventory, which is a bug of this library.
    pub imbalance: Option<Imbalance>,
}

/// Inventory of one file of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileInventory {
    /// Number of events.
    pub n_events: u64,
    /// Earliest and latest event, in nanoseconds since the start of the trace.
    pub elapsed_ns: Option<(u64, u64)>,
}

/// Gap in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// The buffers were full (hook 006).
    Lost {
        /// Time since the start of the trace.
        at_ns: u64,
        /// Offset of the event in its file.
        offset: u64,
        /// Index of the file, in the order of [`TraceInfo::files`](crate::TraceInfo).
        file: usize,
        /// Number of entries that were not recorded.
        n_entries: u64,
    },
    /// The trace was switched off (hook 002) and on again (hook 001).
    Off {
        /// Time of hook 002.
        from_ns: u64,
        /// Time of hook 001.
        to_ns: u64,
    },
}

impl FileInventory {
    fn add(&mut self, timed: &TimedEvent<'_>) {
        self.n_events += 1;
        let now = timed.time.elapsed_ns;
        if timed.event.ticks.is_some() {
            let (first, last) = self.elapsed_ns.unwrap_or((now, now));
            self.elapsed_ns = Some((first.min(now), last.max(now)));
        }
    }
}

impl AixInventory {
    /// Reads logs to their end. Notices and progress go to the monitor.
    ///
    /// # Errors
    /// Reading a log failed.
    pub(crate) fn take(logs: &mut Logs, monitor: &mut dyn Monitor) -> io::Result<Self> {
        let mut inventory = Self {
            state: TraceState::default(),
            by_id: vec![0; 1 << 16],
            tids: BTreeSet::new(),
            last_tid: None,
            off_since_ns: None,
            n_events: 0,
            cpus: BTreeMap::new(),
            files: vec![FileInventory::default(); logs.logs().len()],
            n_damaged: 0,
            notices: Vec::new(),
            unlisted: None,
            n_skipped_bytes: 0,
            n_clamped: 0,
            n_gaps: 0,
            gaps: Vec::new(),
            imbalance: None,
        };
        while let Some(item) = logs.next()? {
            match item {
                LogItem::Event(timed) => inventory.count(&timed),
                LogItem::Passed => {}
                LogItem::Notice { notice, .. } => {
                    monitor.notice(&notice);
                    inventory.note(notice);
                }
            }
            if inventory.n_events.is_multiple_of(PROGRESS_EVERY) {
                monitor.progress(logs.progress(), inventory.n_events);
            }
        }
        (inventory.n_skipped_bytes, inventory.n_clamped) = (logs.tally().skipped, logs.clamped());
        inventory.imbalance = logs.check(inventory.n_events, 0).err();
        Ok(inventory)
    }

    /// The traced system, as the first events describe it.
    pub fn system(&self) -> &SystemInfo {
        self.state.system()
    }

    /// Number of distinct threads, at most 65,536.
    pub fn n_threads(&self) -> usize {
        self.tids.len()
    }

    /// Ids with their number of events, in ascending order.
    pub fn by_id(&self) -> impl Iterator<Item = (u16, u64)> {
        (0..=u16::MAX).zip(self.by_id.iter().copied()).filter(|(_, n)| *n > 0)
    }

    /// Earliest and latest event of all files, in nanoseconds since the start of the trace.
    pub fn elapsed_ns(&self) -> Option<(u64, u64)> {
        let times = self.files.iter().filter_map(|file| file.elapsed_ns);
        times.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
    }

    /// Recorded hooks that the built-in format file formats with guessed layouts, because the trace does not declare
    /// its own.
    pub fn guessed_layouts(&self, formats: &Formats) -> IdSet {
        let mut hooks = IdSet::default();
        if !self.system().has_our_layouts() {
            let guesses = formats.catalog().entries().filter(|entry| entry.is_guess).map(|entry| entry.id());
            guesses.filter(|id| self.by_id[usize::from(*id)] > 0).for_each(|id| hooks.insert(id));
        }
        hooks
    }

    fn note(&mut self, notice: Notice) {
        self.n_damaged += u64::from(notice.damage);
        // Notices without bytes, such as the end of a damaged compressed file, come last and need room of their own.
        let limit = if notice.skipped.is_none() { 2 * MAX_LISTED } else { MAX_LISTED };
        if self.notices.len() < limit {
            self.notices.push(notice);
        } else if let Some((from, to)) = notice.skipped {
            let (first, last) = self.unlisted.unwrap_or((from, to));
            self.unlisted = Some((first.min(from), last.max(to)));
        }
    }

    fn count(&mut self, timed: &TimedEvent<'_>) {
        let event = &timed.event;
        self.state.advance(event);
        self.n_events += 1;
        self.by_id[usize::from(event.id)] += 1;
        self.files[timed.log].add(timed);
        if self.last_tid != Some(event.tid) && self.tids.len() < MAX_COUNTED {
            self.last_tid = Some(event.tid);
            self.tids.insert(event.tid);
        }
        if let Some(cpu) = event.cpu
            && (self.cpus.len() < MAX_COUNTED || self.cpus.contains_key(&cpu))
        {
            *self.cpus.entry(cpu).or_default() += 1;
        }
        if matches!(event.id, hooks::TRACE_ON | hooks::TRACE_OFF | hooks::BUFFER_WRAP) {
            self.note_gap(timed);
        }
    }

    #[cold]
    fn note_gap(&mut self, timed: &TimedEvent<'_>) {
        let (event, now) = (&timed.event, timed.time.elapsed_ns);
        // With one file per CPU, each file is switched off and on separately.
        let of_all = self.files.len() == 1 || event.cpu.is_none();
        match event.id {
            hooks::BUFFER_WRAP => {
                let n_entries = event.data_word(2);
                self.gap(Gap::Lost { at_ns: now, offset: event.offset, file: timed.log, n_entries });
            }
            hooks::TRACE_OFF if of_all => self.off_since_ns = Some(now),
            hooks::TRACE_ON if of_all => {
                if let Some(from_ns) = self.off_since_ns.take() {
                    self.gap(Gap::Off { from_ns, to_ns: now });
                }
            }
            _ => {}
        }
    }

    fn gap(&mut self, gap: Gap) {
        self.n_gaps += 1;
        if self.gaps.len() < MAX_LISTED {
            self.gaps.push(gap);
        }
    }
}
