//! QNX .kev logs: a text header, a system page, and slots of 16 bytes in buffers.
//!
//! ```text
//! header u32: event 0-9, class 10-14, CPU 24-29, kind 30-31   low half of the clock u32   payload 8 bytes
//! ```
//!
//! Words are in the target's byte order, texts never are. A buffer begins with a BUFFER record, which tells its running number and its
//! slots. A TIME record with the clock's high half stands ahead of a CPU's first event in a buffer, and ahead of all at
//! which a high half has changed, so that readers that count one clock for all CPUs and those that count one for each
//! agree.

mod buffer;
mod date;
mod header;
mod syspage;

use super::held::Held;
use super::setup::{Layout, Setup};
use super::{Note, Summary};
use crate::logger::Logger;
use crate::record::{Event, Record};
use buffer::{Buffer, MAX_PAYLOAD, Target};
use std::collections::VecDeque;
use std::io::{self, Write};

/// CPUs that a slot's header can name.
const N_CPUS: usize = 64;

/// Classes and events that the writer itself writes.
const CONTROL: u32 = 1 << 10;
const TIME: u32 = CONTROL | 1;
const PROCESS_CLASS: u8 = 4;
const PROCESS: u32 = (PROCESS_CLASS as u32) << 10;
const THREAD_CREATED: u32 = PROCESS | 24;
const PROCESS_CREATED: u32 = PROCESS | 192;

/// Bytes of paths.
const MAX_NAME: usize = 1023;

/// A .kev log that is being written.
pub(super) struct KevLog<W> {
    out: W,
    target: Target,
    buffer: Buffer,
    /// Running number of the next buffer.
    sequence: u32,
    cpus: [Cpu; N_CPUS],
    /// The high half that was told last, by whichever CPU.
    msb: u32,
    /// The newest full buffers, where the log is a ring, and how many are kept.
    ring: Option<(VecDeque<Buffer>, usize)>,
    /// Whether processes and threads are left out (`-F`).
    without_processes: bool,
    held: Held,
    summary: Summary,
}

/// What a CPU's records depend on.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// The last stamp, and the last time, which may be earlier.
    last: u64,
    ticks: u64,
    /// The buffer in which its high half was told last, by sequence number from 1, and that half.
    told: (u32, u32),
}

impl<W: Write> KevLog<W> {
    /// Writes header and system page. `name` is what the header calls the log.
    pub fn create(out: W, setup: &Setup, name: &str) -> io::Result<Self> {
        let Layout::Kev(logger) = &setup.layout else {
            return Err(io::Error::other("the setup is that of an AIX trace"));
        };
        let Logger { ring, buffers, big_endian, except, .. } = logger;
        let target = Target { big_endian: *big_endian };
        let page = syspage::image(setup, target);
        let mut log = KevLog {
            out,
            target,
            buffer: Buffer::default(),
            sequence: 0,
            cpus: [Cpu::default(); N_CPUS],
            msb: 0,
            ring: ring.then(|| (VecDeque::new(), (*buffers).max(1) as usize)),
            without_processes: except.contains(&PROCESS_CLASS),
            held: Held::new([header::text(setup, logger, name, page.len())?, page].concat()),
            summary: Summary::default(),
        };
        for process in &setup.processes {
            log.process(setup.start_ticks, process.pid, process.tid, &process.path)?;
        }
        log.held.write_to(&mut log.out)?;
        log.out.flush()?;
        Ok(log)
    }

    /// Writes one event.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        let Event::Kernel { class, event, data, bytes } = record.event else {
            self.summary.refused += 1;
            return Ok(());
        };
        if class > 31 || event > 1023 || data.len() > MAX_PAYLOAD {
            self.summary.refused += 1;
            return Ok(());
        }
        let key = u32::from(class) << 10 | u32::from(event);
        self.put(record.cpu, record.ticks, key, data, bytes)?;
        self.summary.events += 1;
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

    /// A process by its program, and its thread, as QNX tells of those that it finds running.
    fn process(&mut self, ticks: u64, pid: u32, tid: u32, path: &[u8]) -> io::Result<()> {
        if self.without_processes {
            return Ok(());
        }
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len()).min(MAX_NAME);
        let ids = [0, pid].map(|word| self.target.word(word)).concat();
        let named = [&ids, &path[..end], &[0]].concat();
        self.put(0, ticks, PROCESS_CREATED, &named, true)?;
        let thread = [pid, tid].map(|word| self.target.word(word)).concat();
        self.put(0, ticks, THREAD_CREATED, &thread, true)
    }

    /// Appends an event. One without data is none.
    fn put(&mut self, cpu: u16, ticks: u64, key: u32, data: &[u8], bytes: bool) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        if !self.buffer.has_room(data.len()) {
            self.end_buffer()?;
        }
        let cpu = usize::from(cpu) % N_CPUS;
        let header = (cpu as u32) << 24 | key;
        let stamp = self.stamp(cpu, ticks);
        self.buffer.event(self.target, header, stamp as u32, data, bytes);
        Ok(())
    }

    /// A stamp that is the CPU's alone; its high half has been told.
    #[inline]
    fn stamp(&mut self, cpu: usize, ticks: u64) -> u64 {
        let stamp = self.next_stamp(cpu, ticks);
        let high = (stamp >> 32) as u32;
        if !self.buffer.is_empty() && self.cpus[cpu].told == (self.sequence, high) && self.msb == high {
            return stamp;
        }
        self.tell_time(cpu, ticks, stamp)
    }

    #[cold]
    fn tell_time(&mut self, cpu: usize, ticks: u64, mut stamp: u64) -> u64 {
        let header = (cpu as u32) << 24;
        loop {
            let (high, low) = ((stamp >> 32) as u32, stamp as u32);
            if self.buffer.is_empty() {
                self.sequence = self.sequence.wrapping_add(1);
                self.buffer.begin(self.target, header, low, self.sequence);
            }
            if self.cpus[cpu].told == (self.sequence, high) && self.msb == high {
                return stamp;
            }
            self.buffer.control(self.target, header | TIME, low, [high, low]);
            (self.cpus[cpu].told, self.msb) = ((self.sequence, high), high);
            stamp = self.next_stamp(cpu, ticks);
        }
    }

    /// The time, or one tick more than the CPU's last where that is later.
    #[inline]
    fn next_stamp(&mut self, cpu: usize, ticks: u64) -> u64 {
        let cpu = &mut self.cpus[cpu];
        let stamp = if ticks > cpu.last || cpu.told.0 == 0 { ticks } else { cpu.last.wrapping_add(1) };
        self.summary.clamped += u64::from(ticks < cpu.ticks);
        (cpu.last, cpu.ticks) = (stamp, ticks.max(cpu.ticks));
        stamp
    }

    /// Hands the buffer on: to the file, or to the ring.
    fn end_buffer(&mut self) -> io::Result<()> {
        // What could not be written before goes first, so that memory stays bounded.
        self.held.write_to(&mut self.out)?;
        let mut full = std::mem::take(&mut self.buffer);
        full.end(self.target);
        self.summary.buffers += 1;
        match &mut self.ring {
            None => {
                self.held.bytes.extend_from_slice(full.bytes());
                self.held.write_to(&mut self.out)
            }
            Some((ring, n)) => {
                ring.push_back(full);
                if ring.len() > *n
                    && let Some(oldest) = ring.pop_front()
                {
                    self.summary.overwritten += oldest.n_events();
                    self.summary.buffers -= 1;
                }
                Ok(())
            }
        }
    }

    /// Writes what is on its way, and the buffer as far as it is full; one of a ring stays.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.ring.is_none() && !self.buffer.is_empty() {
            self.end_buffer()?;
        }
        self.held.write_to(&mut self.out)?;
        self.out.flush()
    }

    /// Writes all that is left.
    pub fn finish(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.end_buffer()?;
        }
        if let Some((ring, _)) = &mut self.ring {
            for buffer in ring.drain(..) {
                self.held.bytes.extend_from_slice(buffer.bytes());
            }
        }
        self.held.write_to(&mut self.out)?;
        self.out.flush()
    }

    pub fn summary(&self) -> Summary {
        self.summary
    }
}
