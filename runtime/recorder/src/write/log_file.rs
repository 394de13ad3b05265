//! AIX log files: a header, a table of buffers, the initial conditions, and a region for each buffer.
//!
//! ```text
//!            32-bit                     64-bit
//!  0   u32 magic EFDF1112         u32 magic EFDF1113
//!  4   u32 nentries, currentry, mode, wrapcount, 0
//! 24   u32 0                      u64 0
//! 28   ic: u32 offset, size       32  ic: u64 offset, size
//! 36   entry[nentries]: as ic     48  entry[nentries]: as ic
//!      the initial conditions, and room for more of them
//!      buffer 0, buffer 1, ...: a place of T bytes each
//! ```
//!
//! The file is readable after every write. Before a region is overwritten, its row in the table is set to 0; the row is
//! written again when the events are in the file. `currentry` moves in between, while the row is empty. Bytes of a
//! region that no row covers are 0, except between those writes.

use super::aix::{self, AixEventWriter, Mark};
use super::encode::MAX_EVENT;
use super::note::{Note, WriteSummary};
use super::ring::Ring;
use super::setup::Setup;
use crate::options::{Mode, TraceOptions};
use crate::record::{Record, Width};
use std::collections::HashSet;
use std::io::{self, Seek, SeekFrom, Write};

const MAGIC_32: u32 = 0xEFDF_1112;
const MAGIC_64: u32 = 0xEFDF_1113;

/// Mode bits: the log does not wrap; it ends at its limit; it names per-CPU files; it is a per-CPU file.
const NO_WRAP: u32 = 1;
const STOP_ON_WRAP: u32 = 2;
const BASE: u32 = 4;
const CPU: u32 = 8;

/// Maximum number of buffers in a log.
const MAX_SLOTS: u64 = 1 << 18;
/// Space for processes that are added later.
const IC_ROOM: u64 = 64 << 10;
/// Space kept free in the last buffer for 002 and 006 events.
const RESERVE: usize = 256;

/// A log file in one of the three modes.
#[derive(Debug)]
pub struct AixLog<F> {
    file: F,
    table: BufferTable,
    mode: Mode,
    stops_when_full: bool,
    events: AixEventWriter,
    /// Current buffer; in circular mode, one event.
    buffer: Vec<u8>,
    ring: Option<Ring>,
    /// Bytes of events that fit into a buffer.
    capacity: usize,
    /// Index of the buffer's region, and bytes of it already written.
    slot: usize,
    published: usize,
    /// True if the region belongs to the buffer: its old row is cleared and `currentry` has moved past it.
    is_claimed: bool,
    is_full: bool,
    /// True if the loss of events after the end was reported.
    is_over_reported: bool,
    /// Threads in the initial conditions.
    known: HashSet<(u32, u32)>,
}

/// Role of a log among the files of a trace.
#[derive(Debug)]
pub(super) enum LogRole {
    /// The only file.
    Whole,
    /// Base file of a trace with one log per CPU: CPUs and file names.
    Base(Vec<(u16, Vec<u8>)>),
    /// Log of one CPU.
    Cpu,
}

/// Positions in the file.
#[derive(Debug)]
struct BufferTable {
    trace: Width,
    mode: u32,
    ic_offset: u64,
    ic_len: u64,
    /// Offset of the first region, and bytes per region.
    base: u64,
    slot_len: u64,
    /// Number of bytes per region that may be nonzero.
    extents: Vec<u64>,
    wraps: u32,
}

impl BufferTable {
    fn new(options: &TraceOptions, role: &LogRole, ic_len: usize) -> io::Result<Self> {
        let trace = options.trace;
        let slot_len = options.buffer_size.max(1);
        let n_slots = options.log_size.div_ceil(slot_len).max(1);
        if n_slots > MAX_SLOTS {
            return Err(too_large(format!("a log of {n_slots} buffers: at most {MAX_SLOTS}, so take larger buffers")));
        }
        let mode = match options.mode {
            Mode::Alternate if options.stops_when_full => STOP_ON_WRAP,
            Mode::Alternate => 0,
            Mode::Circular | Mode::Single => NO_WRAP,
        };
        let mode = match role {
            LogRole::Whole => mode,
            LogRole::Base(_) => mode | BASE,
            LogRole::Cpu => mode | CPU,
        };
        let mut table = BufferTable {
            trace,
            mode,
            ic_offset: 0,
            ic_len: ic_len as u64,
            base: 0,
            slot_len,
            extents: vec![0; n_slots as usize],
            wraps: 0,
        };
        table.ic_offset = table.row_at(n_slots as usize);
        // Processes that start later are added here, where no wrap overwrites them; but a small log must stay small.
        let room = IC_ROOM.min(n_slots.saturating_mul(slot_len));
        table.base = (table.ic_offset + table.ic_len + room).next_multiple_of(8);
        let end = n_slots.checked_mul(slot_len).and_then(|len| table.base.checked_add(len));
        let max = if trace == Width::W32 { u32::MAX.into() } else { i64::MAX as u64 };
        match end {
            Some(end) if end <= max => Ok(table),
            _ if trace == Width::W32 => Err(too_large("a 32-bit log ends at 4 GiB".to_owned())),
            _ => Err(too_large("no file is as large as that log".to_owned())),
        }
    }

    fn word(&self) -> u64 {
        if self.trace == Width::W32 { 4 } else { 8 }
    }

    /// Offset of a region's row. The row of the initial conditions is directly before the first one.
    fn row_at(&self, slot: usize) -> u64 {
        let fixed = if self.trace == Width::W32 { 36 } else { 48 };
        fixed + 2 * self.word() * slot as u64
    }

    fn place(&self, slot: usize) -> u64 {
        self.base + self.slot_len * slot as u64
    }

    fn row(&self, offset: u64, size: u64) -> Vec<u8> {
        match self.trace {
            Width::W32 => [offset as u32, size as u32].map(u32::to_be_bytes).concat(),
            Width::W64 => [offset, size].map(u64::to_be_bytes).concat(),
        }
    }

    /// `currentry`, mode and `wrapcount`, for a log whose next region is the one after `slot`.
    fn current(&self, slot: usize) -> Vec<u8> {
        let next = slot + 1;
        let next = if self.wraps > 0 { next % self.extents.len() } else { next };
        [next as u32, self.mode, self.wraps].map(u32::to_be_bytes).concat()
    }

    /// Header and table of a log without buffers.
    fn head(&self) -> Vec<u8> {
        let magic = if self.trace == Width::W32 { MAGIC_32 } else { MAGIC_64 };
        let mut head = [magic, self.extents.len() as u32, 0, self.mode, 0, 0].map(u32::to_be_bytes).concat();
        head.resize(head.len() + self.word() as usize, 0);
        head.extend(self.row(self.ic_offset, self.ic_len));
        head.resize(self.ic_offset as usize, 0);
        head
    }
}

#[cold]
fn too_large(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

impl<F: Write + Seek> AixLog<F> {
    /// Writes header, table and initial conditions to an empty file.
    ///
    /// # Errors
    /// The file cannot be written, the setup has another layout, or the sizes do not fit a log.
    pub fn create(file: F, setup: &Setup) -> io::Result<Self> {
        Self::create_as(&LogRole::Whole, file, setup)
    }

    /// Writes header, table and initial conditions of a log, or of one of the files of `trace -C`.
    pub(super) fn create_as(role: &LogRole, file: F, setup: &Setup) -> io::Result<Self> {
        let (options, channel) = aix::options(setup)?;
        let mut events = AixEventWriter::new(setup, options, channel);
        let mut ic = events.header(setup, options);
        if let LogRole::Base(files) = role {
            files.iter().for_each(|(cpu, name)| events.cpu_file(*cpu, name, &mut ic));
        }
        let is_wide = options.trace == Width::W64;
        let tells_start = !options.off && !matches!(role, LogRole::Cpu);
        // In a 64-bit log, the trace-on event is among the initial conditions, which survive a wrap.
        if is_wide && tells_start {
            events.note(Note::On(setup.start_ticks), &mut ic);
        }
        let table = BufferTable::new(options, role, ic.len())?;
        let capacity = usize::try_from(options.buffer_size).unwrap_or(usize::MAX).max(1);
        let ring = (options.mode == Mode::Circular).then(|| Ring::new(options.trace, capacity));
        let mut log = AixLog {
            file,
            table,
            mode: options.mode,
            stops_when_full: options.stops_when_full,
            events,
            buffer: Vec::new(),
            ring,
            capacity,
            slot: 0,
            published: 0,
            is_claimed: false,
            is_full: false,
            is_over_reported: false,
            known: setup.processes.iter().map(|process| (process.pid, process.tid)).collect(),
        };
        let head = [log.table.head(), ic].concat();
        write_at(&mut log.file, 0, &head)?;
        if !is_wide && tells_start {
            log.note(Note::On(setup.start_ticks))?;
        }
        Ok(log)
    }

    /// Writes one event.
    ///
    /// # Errors
    /// A full buffer cannot be written, so the event is lost.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        if self.is_full {
            self.events.summary.over += 1;
            return Ok(());
        }
        // The mark can be undone: an event that does not fit must not have changed the clock.
        let (start, mark) = (self.buffer.len(), self.events.mark());
        self.events.record(record, &mut self.buffer);
        self.place_appended(start, mark)
    }

    /// Writes the event for a note.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        if let Note::Process(pid, tid, path) = note {
            self.note_initially(pid, tid, path)?;
        }
        let (start, mark) = (self.buffer.len(), self.events.mark());
        if self.is_full {
            // The reserved space is for the end of the trace, when names are no longer needed.
            if matches!(note, Note::Process(..) | Note::Symbol(..)) {
                return Ok(());
            }
            // The reserved space has room for the notes at the end.
            self.events.note(note, &mut self.buffer);
            self.buffer.truncate(if self.buffer.len() > self.capacity { start } else { usize::MAX });
            return Ok(());
        }
        self.events.note(note, &mut self.buffer);
        self.place_appended(start, mark)
    }

    /// Decides about the events appended at `start`: they stay, begin the next buffer, or are refused as too large.
    #[inline]
    fn place_appended(&mut self, start: usize, mark: Mark) -> io::Result<()> {
        if let Some(ring) = &mut self.ring {
            ring.push(&self.buffer);
            self.buffer.clear();
            return Ok(());
        }
        if self.buffer.len() <= self.limit() { Ok(()) } else { self.overflow(start, mark) }
    }

    /// Bytes of events that the buffer may contain.
    #[inline]
    fn limit(&self) -> usize {
        if self.can_continue() { self.capacity } else { self.capacity.saturating_sub(RESERVE) }
    }

    /// True if another buffer can follow this one.
    #[inline]
    fn can_continue(&self) -> bool {
        self.mode == Mode::Alternate && !(self.stops_when_full && self.slot + 1 == self.table.extents.len())
    }

    #[cold]
    fn overflow(&mut self, start: usize, mark: Mark) -> io::Result<()> {
        let tail = self.buffer.split_off(start);
        if !self.can_continue() {
            self.is_full = true;
            self.events.pass_over(mark);
            return if self.mode == Mode::Alternate { self.publish() } else { Ok(()) };
        }
        // Otherwise the event alone exceeds the buffer, and no other one has more room.
        if start > 0 {
            if let Err(error) = self.publish() {
                self.events.undo(mark);
                return Err(error);
            }
            self.next_buffer(mark);
        }
        if self.buffer.len() + tail.len() <= self.limit() {
            self.buffer.extend(tail);
        } else {
            self.events.refuse(mark);
        }
        Ok(())
    }

    fn next_buffer(&mut self, mark: Mark) {
        self.buffer.clear();
        (self.slot, self.published, self.is_claimed) = (self.slot + 1, 0, false);
        if self.slot == self.table.extents.len() {
            self.slot = 0;
            self.table.wraps += 1;
            self.events.summary.wraps = self.table.wraps;
            self.events.push_wrap(self.table.wraps, mark, &mut self.buffer);
        }
    }

    /// Writes the part of the buffer that is not in the file yet.
    fn publish(&mut self) -> io::Result<()> {
        let (slot, len) = (self.slot, self.buffer.len());
        if len == self.published {
            return Ok(());
        }
        // The region still has old events, whose row must go first: a reader would take new bytes for them.
        if !self.is_claimed {
            self.clear_place(len)?;
        }
        let place = self.table.place(slot);
        write_at(&mut self.file, place + self.published as u64, &self.buffer[self.published..])?;
        self.describe(len)?;
        self.published = len;
        Ok(())
    }

    /// Clears the region's row, and the region after its first `len` bytes.
    fn clear_place(&mut self, len: usize) -> io::Result<()> {
        let (slot, len) = (self.slot, len as u64);
        let extent = self.table.extents[slot];
        if extent > 0 {
            write_at(&mut self.file, self.table.row_at(slot), &self.table.row(0, 0))?;
        }
        if extent > len {
            let zeros = vec![0; (extent - len) as usize];
            write_at(&mut self.file, self.table.place(slot) + len, &zeros)?;
        }
        self.table.extents[slot] = extent.max(len);
        Ok(())
    }

    /// Enters a region with `len` bytes of events into header and table.
    fn describe(&mut self, len: usize) -> io::Result<()> {
        let slot = self.slot;
        if !self.is_claimed {
            write_at(&mut self.file, 8, &self.table.current(slot))?;
        }
        write_at(&mut self.file, self.table.row_at(slot), &self.table.row(self.table.place(slot), len as u64))?;
        self.table.extents[slot] = len as u64;
        self.is_claimed = true;
        Ok(())
    }

    /// Adds a thread to the initial conditions, which no wrap overwrites, if there is room.
    fn note_initially(&mut self, pid: u32, tid: u32, path: &[u8]) -> io::Result<()> {
        if self.known.contains(&(pid, tid)) {
            return Ok(());
        }
        let mut event = Vec::new();
        self.events.process(pid, tid, path, &mut event);
        let (end, len) = (self.table.ic_offset + self.table.ic_len, event.len() as u64);
        if end + len > self.table.base {
            return Ok(());
        }
        write_at(&mut self.file, end, &event)?;
        let row = self.table.row(self.table.ic_offset, self.table.ic_len + len);
        write_at(&mut self.file, self.table.row_at(0) - row.len() as u64, &row)?;
        self.table.ic_len += len;
        self.known.insert((pid, tid));
        Ok(())
    }

    /// Writes the buffer of an alternating log.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.mode != Mode::Alternate {
            return Ok(());
        }
        if !self.is_full {
            let (start, mark) = (self.buffer.len(), self.events.mark());
            self.events.push_missed(0, None, &mut self.buffer);
            self.place_appended(start, mark)?;
        }
        self.publish()?;
        self.file.flush()
    }

    /// Writes everything that is left.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        match self.mode {
            Mode::Alternate => return self.flush(),
            Mode::Single => self.report_over(),
            Mode::Circular => return self.finish_ring(),
        }
        self.publish()?;
        self.file.flush()
    }

    fn report_over(&mut self) {
        if !self.is_over_reported {
            self.is_over_reported = true;
            let start = self.buffer.len();
            self.events.push_missed(self.events.summary.over, None, &mut self.buffer);
            self.buffer.truncate(if self.buffer.len() > self.capacity { start } else { usize::MAX });
        }
    }

    fn finish_ring(&mut self) -> io::Result<()> {
        let Some(ring) = &mut self.ring else { return Ok(()) };
        let mut first = Vec::new();
        self.events.push_missed(0, None, &mut first);
        ring.push(&first);
        first.clear();
        if ring.overwritten > 0 {
            ring.make_room(MAX_EVENT.min(RESERVE));
            self.events.push_overwritten(ring.overwritten, ring.first_stamp(), &mut first);
        }
        // The ring is written unrolled, so the log is like one that never wrapped.
        let [older, newer] = ring.parts();
        let len = first.len() + older.len() + newer.len();
        self.events.summary.overwritten = ring.overwritten;
        let place = self.table.place(0);
        let mut at = place;
        for part in [&first, older, newer] {
            write_at(&mut self.file, at, part)?;
            at += part.len() as u64;
        }
        if len > 0 {
            self.describe(len)?;
        }
        self.file.flush()
    }

    /// Counts of the events so far.
    pub fn summary(&self) -> WriteSummary {
        let overwritten = self.ring.as_ref().map_or(0, |ring| ring.overwritten);
        WriteSummary { overwritten, ..self.events.summary }
    }

    /// True if there is no room for more events.
    pub fn is_full(&self) -> bool {
        self.is_full
    }
}

fn write_at<F: Write + Seek>(file: &mut F, offset: u64, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}
