//! QNX .kev logs: a text header, a system page, and 16-byte slots in buffers.
//!
//! ```text
//! header u32: event 0-9, class 10-14, CPU 24-29, kind 30-31   low half of the clock u32   payload 8 bytes
//! ```
//!
//! Words are in the byte order of the target; texts are never swapped. A buffer begins with a BUFFER record with its
//! sequence number and number of slots. A TIME record with the high half of the clock precedes a CPU's first event in a
//! buffer, and every change of the high half. Readers with one clock for all CPUs and readers with one per CPU then
//! agree.

mod buffer;
mod date;
mod header;
mod syspage;
mod threads;

use super::note::{Note, WriteSummary};
use super::pending::Pending;
use super::setup::{LogLayout, Setup};
use crate::logger::{EventRange, Logger};
use crate::record::{EventContent, Record};
use buffer::{ByteOrder, MAX_PAYLOAD, SlotBuffer};
use std::collections::VecDeque;
use std::io::{self, Write};
use syspage::N_CPUS;
pub use threads::ThreadFacts;
use threads::{KnownThread, Threads};

/// Keys of the records that the writer adds.
const CONTROL: u32 = 1 << 10;
const TIME: u32 = CONTROL | 1;
const PROCESS: u32 = 4 << 10;
const THREAD_RUNNING: u32 = PROCESS | 1;
const THREAD_CREATED: u32 = PROCESS | 24;
const PROCESS_ENDED: u32 = PROCESS | 128;
const PROCESS_CREATED: u32 = PROCESS | 192;
const THREAD_NAMED: u32 = PROCESS | 320;

/// Maximum payload of a THRUNNING record.
const RUNNING_BYTES: usize = 16;

/// Maximum bytes of a path.
const MAX_NAME: usize = 1023;

/// Writer of a .kev log.
pub(super) struct KevLog<W> {
    out: W,
    target: ByteOrder,
    buffer: SlotBuffer,
    /// Sequence number of the next buffer.
    sequence: u32,
    cpus: [CpuState; N_CPUS],
    /// High half of the clock in the last TIME record of any CPU.
    msb: u32,
    /// Newest full buffers, if the log is a ring.
    ring: Option<Ring>,
    /// Bytes that may still be written (`-S`).
    room: Option<u64>,
    /// True after a buffer did not fit into the remaining bytes.
    is_full: bool,
    /// True if a line is printed for every buffer (`-vv`).
    prints_buffers: bool,
    /// Events to leave out (`-F`).
    except: Vec<EventRange>,
    /// True if thread states contain priority and policy (`-w`).
    wide: bool,
    threads: Threads,
    /// Thread that last recorded on each CPU, as process id and thread number.
    running: [Option<(u32, u32)>; N_CPUS],
    /// Properties of the thread that will be described next.
    facts: Option<(u32, u32, ThreadFacts)>,
    pending: Pending,
    summary: WriteSummary,
}

/// Newest buffers of a log.
#[derive(Debug)]
struct Ring {
    buffers: VecDeque<SlotBuffer>,
    /// Total bytes of the buffers.
    bytes: u64,
    max_buffers: usize,
}

/// Clock state of a CPU.
#[derive(Debug, Clone, Copy, Default)]
struct CpuState {
    /// Last time stamp that was written.
    last: u64,
    /// Time of the last event; may be earlier than `last`.
    ticks: u64,
    /// Sequence number, from 1, of the buffer with the CPU's last TIME record, and the upper 32 bits of its time.
    last_time: (u32, u32),
}

impl<W: Write> KevLog<W> {
    /// Writes header and system page. `name` is the name of the log in the header.
    pub fn create(out: W, setup: &Setup, name: &str) -> io::Result<Self> {
        let LogLayout::Kev(logger) = &setup.layout else {
            return Err(io::Error::other("the setup is that of an AIX trace"));
        };
        let Logger { ring, buffers, big_endian, except, wide, max_bytes, print_buffers, .. } = logger;
        let target = ByteOrder { big_endian: *big_endian };
        let page = syspage::image(setup, target);
        let head = [header::text(setup, logger, name, page.len())?, page].concat();
        let max_buffers = (*buffers).max(1) as usize;
        let mut log = KevLog {
            out,
            target,
            buffer: SlotBuffer::default(),
            sequence: 0,
            cpus: [CpuState::default(); N_CPUS],
            msb: 0,
            ring: ring.then(|| Ring { buffers: VecDeque::new(), bytes: 0, max_buffers }),
            room: max_bytes.map(|max| max.saturating_sub(head.len() as u64)),
            is_full: false,
            prints_buffers: *print_buffers,
            except: except.clone(),
            wide: *wide,
            threads: Threads::default(),
            running: [None; N_CPUS],
            facts: None,
            pending: Pending::new(head),
            summary: WriteSummary::default(),
        };
        for process in &setup.processes {
            log.process(setup.start_ticks, process.pid, process.tid, &process.path)?;
        }
        log.pending.write_to(&mut log.out)?;
        log.out.flush()?;
        Ok(log)
    }

    /// Writes one event.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        let EventContent::Kernel { class, event, data, bytes } = record.event else {
            self.summary.refused += 1;
            return Ok(());
        };
        if class > 31 || event > 1023 || data.len() > MAX_PAYLOAD {
            self.summary.refused += 1;
            return Ok(());
        }
        if self.is_full {
            self.summary.over += 1;
            return Ok(());
        }
        // A record without data is not written.
        if data.is_empty() {
            self.summary.events += 1;
            return Ok(());
        }
        let running = self.running(record)?;
        let key = u32::from(class) << 10 | u32::from(event);
        // Room for both records, so that a change of thread is never without its event.
        if !self.has_room(data.len() + RUNNING_BYTES)? {
            self.summary.over += 1;
            return Ok(());
        }
        let cpu = usize::from(record.cpu) % N_CPUS;
        let (header, stamp) = ((cpu as u32) << 24, self.stamp(cpu, record.ticks) as u32);
        if let Some(state) = running {
            self.buffer.state(self.target, header | THREAD_RUNNING, stamp, &state);
        }
        self.buffer.event(self.target, header | key, stamp, data, bytes);
        self.summary.events += 1;
        Ok(())
    }

    /// Payload of a THRUNNING record if another thread recorded last on this CPU. First describes the thread if it is
    /// new.
    fn running(&mut self, record: &Record<'_>) -> io::Result<Option<Vec<u8>>> {
        let Record { ticks, pid, tid, cpu, .. } = *record;
        let KnownThread { number, priority, policy } = self.thread(ticks, pid, tid)?;
        // The kernel records every switch of threads. Here only programs record, so a switch shows at the next event.
        let running = &mut self.running[usize::from(cpu) % N_CPUS];
        if running.replace((pid, number)) == Some((pid, number)) || self.leaves_out(THREAD_RUNNING) {
            return Ok(None);
        }
        let words = if self.wide { vec![pid, number, priority, policy] } else { vec![pid, number] };
        Ok(Some(words.into_iter().flat_map(|word| self.target.word(word)).collect()))
    }

    /// Thread of the log; a new one is described first.
    fn thread(&mut self, ticks: u64, pid: u32, tid: u32) -> io::Result<KnownThread> {
        // The facts are read just before the thread's first event, so they are valid only for the same thread.
        let facts = self.facts.take_if(|(process, thread, _)| (*process, *thread) == (pid, tid));
        let facts = facts.map(|(.., facts)| facts).unwrap_or_default();
        let (thread, is_new) = self.threads.find_or_add(pid, tid, &facts);
        if is_new {
            self.state(ticks, THREAD_CREATED, [pid, thread.number], b"")?;
            if !facts.name.is_empty() {
                self.state(ticks, THREAD_NAMED, [pid, thread.number], &[&facts.name[..], &[0]].concat())?;
            }
        }
        Ok(thread)
    }

    /// Stores the properties of a thread that will be described next.
    pub fn set_facts(&mut self, pid: u32, tid: u32, facts: ThreadFacts) {
        self.facts = Some((pid, tid, facts));
    }

    /// Records the end of a process.
    pub fn process_ended(&mut self, pid: u32, parent: u32, ticks: u64) -> io::Result<()> {
        if !self.threads.forget(pid) {
            return Ok(());
        }
        let is_of = |running: &&mut Option<(u32, u32)>| running.is_some_and(|(of, _)| of == pid);
        self.running.iter_mut().filter(is_of).for_each(|running| *running = None);
        self.state(ticks, PROCESS_ENDED, [parent, pid], b"")
    }

    /// True if an event is left out.
    fn leaves_out(&self, key: u32) -> bool {
        let (class, event) = ((key >> 10) as u8, (key & 1023) as u16);
        self.except.iter().any(|events| events.contains(class, event))
    }

    /// Appends a record about a process or thread: two numbers and a name.
    fn state(&mut self, ticks: u64, key: u32, ids: [u32; 2], name: &[u8]) -> io::Result<()> {
        let data = [&ids.map(|word| self.target.word(word)).concat(), name].concat();
        if self.is_full || self.leaves_out(key) || !self.has_room(data.len())? {
            return Ok(());
        }
        let stamp = self.stamp(0, ticks);
        self.buffer.state(self.target, key, stamp as u32, &data);
        Ok(())
    }

    pub fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        match note {
            Note::Missed(n, _) => self.summary.lost += n,
            Note::Process(pid, tid, path) => return self.process(self.cpus[0].last, pid, tid, path),
            Note::Symbol(..) | Note::On(_) | Note::Off(_) => {}
        }
        Ok(())
    }

    /// Describes a process by its program, and its thread, in the way QNX describes those that are already running.
    fn process(&mut self, ticks: u64, pid: u32, tid: u32, path: &[u8]) -> io::Result<()> {
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len()).min(MAX_NAME);
        if self.threads.set_program(pid, &path[..end]) {
            let facts = self.facts.as_ref().filter(|(process, ..)| *process == pid);
            let parent = facts.map_or(0, |(.., facts)| facts.parent);
            self.state(ticks, PROCESS_CREATED, [parent, pid], &[&path[..end], &[0]].concat())?;
        }
        self.thread(ticks, pid, tid).map(drop)
    }

    /// True if the payload fits into the current buffer, or into a new one.
    fn has_room(&mut self, n_bytes: usize) -> io::Result<bool> {
        if !self.buffer.has_room(n_bytes) {
            self.end_buffer()?;
        }
        Ok(!self.is_full)
    }

    /// Unique time stamp for a CPU; a TIME record is added if the high half has changed.
    #[inline]
    fn stamp(&mut self, cpu: usize, ticks: u64) -> u64 {
        let stamp = self.next_stamp(cpu, ticks);
        let high = (stamp >> 32) as u32;
        // The usual case: readers already know the high half.
        if !self.buffer.is_empty() && self.cpus[cpu].last_time == (self.sequence, high) && self.msb == high {
            return stamp;
        }
        self.push_time(cpu, ticks, stamp)
    }

    #[cold]
    fn push_time(&mut self, cpu: usize, ticks: u64, mut stamp: u64) -> u64 {
        let header = (cpu as u32) << 24;
        loop {
            let (high, low) = ((stamp >> 32) as u32, stamp as u32);
            if self.buffer.is_empty() {
                self.sequence = self.sequence.wrapping_add(1);
                self.buffer.begin(self.target, header, low, self.sequence);
            }
            if self.cpus[cpu].last_time == (self.sequence, high) && self.msb == high {
                return stamp;
            }
            self.buffer.control(self.target, header | TIME, low, [high, low]);
            (self.cpus[cpu].last_time, self.msb) = ((self.sequence, high), high);
            stamp = self.next_stamp(cpu, ticks);
        }
    }

    /// Current time, but at least one tick after the CPU's last.
    #[inline]
    fn next_stamp(&mut self, cpu: usize, ticks: u64) -> u64 {
        let cpu = &mut self.cpus[cpu];
        // Slots of a combine are found by their stamp, so two events of a CPU must not share one.
        let stamp = if ticks > cpu.last || cpu.last_time.0 == 0 { ticks } else { cpu.last.wrapping_add(1) };
        self.summary.clamped += u64::from(ticks < cpu.ticks);
        (cpu.last, cpu.ticks) = (stamp, ticks.max(cpu.ticks));
        stamp
    }

    /// Completes the buffer and passes it to the file or the ring.
    fn end_buffer(&mut self) -> io::Result<()> {
        // Pending bytes are written first, so that memory stays bounded.
        self.pending.write_to(&mut self.out)?;
        let mut full = std::mem::take(&mut self.buffer);
        full.end(self.target);
        let n_bytes = full.bytes().len() as u64;
        if self.prints_buffers {
            let (sequence, slots) = (self.sequence, n_bytes / 16);
            let _ = writeln!(io::stderr(), "tracelogger: buffer {sequence}: {slots} slots");
        }
        self.summary.buffers += 1;
        let Some(ring) = &mut self.ring else {
            // Writes only whole buffers, because half of one would end in the middle of a combine.
            if self.room.is_some_and(|room| room < n_bytes) {
                self.is_full = true;
                self.summary.buffers -= 1;
                self.summary.over += full.n_events();
                self.summary.events = self.summary.events.saturating_sub(full.n_events());
                return Ok(());
            }
            self.room = self.room.map(|room| room - n_bytes);
            self.pending.bytes.extend_from_slice(full.bytes());
            return self.pending.write_to(&mut self.out);
        };
        ring.bytes += n_bytes;
        ring.buffers.push_back(full);
        while ring.buffers.len() > ring.max_buffers || self.room.is_some_and(|room| room < ring.bytes) {
            let Some(oldest) = ring.buffers.pop_front() else { break };
            ring.bytes -= oldest.bytes().len() as u64;
            self.summary.overwritten += oldest.n_events();
            self.summary.buffers -= 1;
        }
        Ok(())
    }

    /// True if the log has no room for another buffer.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Writes pending bytes and the filled part of the current buffer. Buffers of a ring stay in memory.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.ring.is_none() && !self.buffer.is_empty() {
            self.end_buffer()?;
        }
        self.pending.write_to(&mut self.out)?;
        self.out.flush()
    }

    /// Writes everything that is left.
    pub fn finish(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.end_buffer()?;
        }
        if let Some(ring) = &mut self.ring {
            for buffer in ring.buffers.drain(..) {
                self.pending.bytes.extend_from_slice(buffer.bytes());
            }
        }
        self.pending.write_to(&mut self.out)?;
        self.out.flush()
    }

    pub fn summary(&self) -> WriteSummary {
        self.summary
    }
}
