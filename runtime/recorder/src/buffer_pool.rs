//! Shared memory of a session: its settings, and the buffers that threads record into.
//!
//! ```text
//! header    4096 bytes    [`SessionHeader`]
//! filter    8192 bytes    a bit an id: bit `id % 64` of word `id / 64`, 1 for an id that is recorded
//! processes 1024 × 256    process id u32, length u32, parent u32, u32, path
//! heads     n × 64        one [`BufferHeader`] per buffer
//! buffers   n × size      events of one thread each, from the next page on
//! ```
//!
//! A buffer belongs to one thread from the moment the thread takes it until it is full. The thread writes an event
//! after the bytes counted by [`BufferHeader::committed`] and then increases the count, so that a reader finds only
//! complete events even if the thread was killed. Other processes can write to all of this memory, so readers check
//! everything.
//!
//! Layout of an event, in the machine's byte order, padded to 8 bytes:
//!
//! ```text
//! u64 ticks    u64 hook word << 32 | length << 16 | CPU << 4 | kind    u64 words, or u64 data word and bytes, or bytes
//! ```
//!
//! The length does not include the data word.

#![expect(unsafe_code, reason = "shared memory is reached by addresses")]

use crate::sys;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = u64::from_be_bytes(*b"tfbcses1");
const PAGE: usize = 4096;
const FILTER_WORDS: usize = 1024;
/// Number of processes whose paths a session stores.
pub(crate) const MAX_PROCESSES: usize = 1024;
const HEADS_AT: usize = PAGE + 8 * FILTER_WORDS + MAX_PROCESSES * size_of::<ProcessEntry>();

/// Bytes before the data words of an event.
pub(crate) const EVENT_HEAD: usize = 16;
/// Maximum bytes of variable data in an event; longer data is cut.
pub const MAX_BYTES: usize = 4096;
/// Minimum size of a buffer, so that any event fits.
pub(crate) const MIN_BUFFER: usize = 16 << 10;

/// States of a buffer.
pub(crate) mod state {
    /// Not owned.
    pub const FREE: u32 = 0;
    /// Being taken or freed; the other words are invalid.
    pub const CHANGING: u32 = 1;
    /// Owned by one thread.
    pub const OWNED: u32 = 2;
    /// Released by its thread and not read yet.
    pub const FULL: u32 = 3;
}

/// Settings and counters that the processes of a session share.
#[repr(C)]
pub(crate) struct SessionHeader {
    magic: AtomicU64,
    n_buffers: AtomicU32,
    buffer_size: AtomicU32,
    /// Process id of the session.
    pub owner: AtomicU32,
    /// [`flag`]s, constant during the session.
    pub flags: AtomicU32,
    pub hertz: AtomicU64,
    /// Start of the session: seconds since 1970, and ticks.
    pub started_seconds: AtomicU64,
    pub started_ticks: AtomicU64,
    /// Events up to this time are in the log.
    pub written_until: AtomicU64,
    /// Command from `trcstop` and its relatives, counts of commands and replies, and the last reply: 0 or an errno.
    pub command: AtomicU32,
    pub asked: AtomicU32,
    pub answered: AtomicU32,
    pub answer: AtomicU32,
    /// Futex that wakes the session if a buffer is full or a command arrives.
    pub wake_up: AtomicU32,
    pub n_processes: AtomicU32,
    _line: [AtomicU64; 6],
    // Words that hooks write are on separate cache lines.
    /// Sequence number of the next buffer.
    pub order: AtomicU64,
    /// Events lost for lack of a buffer, and old events that were overwritten.
    pub missed: AtomicU64,
    /// Events whose data was cut.
    pub cut: AtomicU64,
    /// Time of the last overwritten event.
    pub dropped_until: AtomicU64,
    _lines: [AtomicU64; 4],
    /// Name of the log.
    log_len: AtomicU64,
    log: [AtomicU64; LOG_WORDS],
}

const LOG_WORDS: usize = 256;

/// Bits of [`SessionHeader::flags`].
pub(crate) mod flag {
    use crate::clock::ClockSource;

    /// The oldest buffers are overwritten.
    pub const CIRCULAR: u32 = 1;
    /// Events contain their CPU.
    pub const CPU: u32 = 2;
    /// Ticks are CPU cycles.
    pub const CYCLES: u32 = 4;
    /// Some ids are not recorded.
    pub const FILTERED: u32 = 8;
    /// The log imitates a 32-bit kernel.
    pub const TRACE32: u32 = 16;
    /// The log imitates a big-endian target.
    pub const BIG_ENDIAN: u32 = 32;
    /// The session has an interactive prompt.
    pub const INTERACTIVE: u32 = 64;

    /// Clock source of the session's time stamps.
    #[inline(always)]
    pub fn source(flags: u32) -> ClockSource {
        if flags & CYCLES != 0 { ClockSource::Cycles } else { ClockSource::Monotonic }
    }
}

/// State of one buffer.
#[repr(C, align(64))]
pub(crate) struct BufferHeader {
    /// One of [`state`].
    pub state: AtomicU32,
    /// Bytes of complete events, a multiple of 8. Bit 0 is set while another event is being written.
    pub committed: AtomicU32,
    pub pid: AtomicU32,
    pub tid: AtomicU32,
    /// Index in the process table, or `u32::MAX` if the table was full.
    pub process: AtomicU32,
    _align: AtomicU32,
    /// Sequence number; buffers taken later have higher numbers.
    pub order: AtomicU64,
}

#[repr(C)]
struct ProcessEntry {
    pid: AtomicU32,
    len: AtomicU32,
    parent: AtomicU32,
    _unused: AtomicU32,
    path: [AtomicU64; 30],
}

/// Mapped shared memory of a session. Copies refer to the same mapping, which lives until [`BufferPool::unmap`].
#[derive(Clone, Copy)]
pub(crate) struct BufferPool {
    base: NonNull<u8>,
    len: usize,
    n_buffers: usize,
    buffer_size: usize,
}

// SAFETY: all memory at the address is atomic, or owned by one thread as `BufferHeader::state` says.
unsafe impl Send for BufferPool {}
// SAFETY: all memory at the address is atomic, or owned by one thread as `BufferHeader::state` says.
unsafe impl Sync for BufferPool {}

/// Size of a session's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolSize {
    pub n_buffers: usize,
    pub buffer_size: usize,
}

/// Offset of the first buffer, at a page boundary.
fn buffers_at(n_buffers: usize) -> usize {
    (HEADS_AT + n_buffers * size_of::<BufferHeader>()).next_multiple_of(PAGE)
}

impl PoolSize {
    /// Sizes for `bytes` bytes of events, with spare buffers for threads that keep a nearly empty one or have ended.
    pub fn of(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30);
        let buffer_size = (bytes / 32).next_power_of_two().clamp(MIN_BUFFER, 1 << 20);
        let n_idle = ((4 << 20) / buffer_size).max(32);
        PoolSize { n_buffers: bytes.div_ceil(buffer_size) + n_idle, buffer_size }
    }

    /// Size of the file in bytes.
    pub fn file_len(self) -> usize {
        buffers_at(self.n_buffers) + self.n_buffers * self.buffer_size
    }
}

impl BufferPool {
    /// Maps a new file that already has its length, and writes its header.
    pub fn create(file: BorrowedFd<'_>, shape: PoolSize) -> std::io::Result<Self> {
        sys::reserve(file, shape.file_len())?;
        let base = sys::map_shared(file, shape.file_len()).ok_or_else(std::io::Error::last_os_error)?;
        sys::make_ready(base.as_ptr(), shape.file_len(), sys::Ready::Made);
        let PoolSize { n_buffers, buffer_size } = shape;
        let pool = BufferPool { base, len: shape.file_len(), n_buffers, buffer_size };
        let header = pool.header();
        header.n_buffers.store(n_buffers as u32, Ordering::Relaxed);
        header.buffer_size.store(buffer_size as u32, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(pool)
    }

    /// Maps the session of another process. Returns `None` if the file is not a session, or is shorter than its header
    /// says.
    pub fn open(file: BorrowedFd<'_>, file_len: u64) -> Option<Self> {
        let len = usize::try_from(file_len).ok().filter(|len| *len >= HEADS_AT)?;
        let base = sys::map_shared(file, len)?;
        let mut pool = BufferPool { base, len, n_buffers: 0, buffer_size: 0 };
        let header = pool.header();
        let is_session = header.magic.load(Ordering::Acquire) == MAGIC;
        let shape = PoolSize {
            n_buffers: header.n_buffers.load(Ordering::Relaxed) as usize,
            buffer_size: header.buffer_size.load(Ordering::Relaxed) as usize,
        };
        let is_sane = shape.buffer_size.is_power_of_two() && (MIN_BUFFER..=1 << 20).contains(&shape.buffer_size);
        if !is_session || !is_sane || shape.n_buffers > 1 << 20 || shape.file_len() > len {
            // SAFETY: nothing else knows the mapping yet.
            unsafe { pool.unmap() };
            return None;
        }
        pool.n_buffers = shape.n_buffers;
        pool.buffer_size = shape.buffer_size;
        Some(pool)
    }

    /// Ends the mapping.
    ///
    /// # Safety
    /// No copy of this pool is used any more.
    pub unsafe fn unmap(self) {
        // SAFETY: the mapping belongs to this pool, and the caller promises that this is its last use.
        unsafe { sys::unmap(self.base, self.len) };
    }

    /// True if the header still has the values of this mapping. A faulty program may overwrite them.
    pub fn is_intact(&self) -> bool {
        let header = self.header();
        header.magic.load(Ordering::Relaxed) == MAGIC
            && header.n_buffers.load(Ordering::Relaxed) as usize == self.n_buffers
            && header.buffer_size.load(Ordering::Relaxed) as usize == self.buffer_size
    }

    pub fn header(&self) -> &SessionHeader {
        // SAFETY: the mapping is longer than a header, page-aligned, and any bytes are valid atomics.
        unsafe { self.base.cast::<SessionHeader>().as_ref() }
    }

    /// One bit per id.
    pub fn filter(&self) -> &[AtomicU64; FILTER_WORDS] {
        // SAFETY: in every mapping the filter follows the header, at a page boundary.
        unsafe { self.base.add(PAGE).cast::<[AtomicU64; FILTER_WORDS]>().as_ref() }
    }

    /// True if events with this id are recorded.
    #[inline(always)]
    pub fn records(&self, id: u16) -> bool {
        self.filter()[usize::from(id >> 6)].load(Ordering::Relaxed) >> (id & 63) & 1 != 0
    }

    fn processes(&self) -> &[ProcessEntry; MAX_PROCESSES] {
        // SAFETY: in every mapping the table follows the filter, aligned to 8.
        unsafe { self.base.add(PAGE + 8 * FILTER_WORDS).cast::<[ProcessEntry; MAX_PROCESSES]>().as_ref() }
    }

    /// Adds a process to the table and returns its index, or `u32::MAX` if the table is full.
    pub fn enter_process(&self, pid: u32, parent: u32, path: &[u8]) -> u32 {
        let number = self.header().n_processes.fetch_add(1, Ordering::Relaxed);
        let Some(process) = self.processes().get(number as usize) else {
            self.header().n_processes.fetch_sub(1, Ordering::Relaxed);
            return u32::MAX;
        };
        let len = store_bytes(&process.path, path);
        process.len.store(len as u32, Ordering::Relaxed);
        process.parent.store(parent, Ordering::Relaxed);
        process.pid.store(pid, Ordering::Release);
        number
    }

    /// Parent of a process at the time it was added. If its id was reused, the last entry counts.
    pub fn parent_of(&self, pid: u32) -> Option<u32> {
        let process = self.processes().iter().rev().find(|process| process.pid.load(Ordering::Acquire) == pid)?;
        Some(process.parent.load(Ordering::Relaxed))
    }

    /// Path of a process in the table.
    pub fn path_of_process(&self, number: u32) -> Option<Vec<u8>> {
        let process = self.processes().get(number as usize)?;
        if process.pid.load(Ordering::Acquire) == 0 {
            return None;
        }
        Some(load_bytes(&process.path, process.len.load(Ordering::Relaxed) as usize))
    }

    /// Stores the name of the log.
    pub fn set_log(&self, name: &[u8]) {
        let len = store_bytes(&self.header().log, name);
        self.header().log_len.store(len as u64, Ordering::Release);
    }

    /// Name of the log; empty for a stream.
    pub fn log(&self) -> Vec<u8> {
        load_bytes(&self.header().log, self.header().log_len.load(Ordering::Acquire) as usize)
    }

    pub fn n_buffers(&self) -> usize {
        self.n_buffers
    }

    pub fn buffer_size(&self) -> usize {
        self.buffer_size
    }

    /// Headers of all buffers.
    pub fn heads(&self) -> &[BufferHeader] {
        // SAFETY: `open` and `create` checked that this many headers and buffers lie within the mapping, aligned to 64.
        unsafe { std::slice::from_raw_parts(self.base.add(HEADS_AT).cast::<BufferHeader>().as_ptr(), self.n_buffers) }
    }

    /// Address of a buffer, whose bytes may change at any time.
    pub fn buffer(&self, i: usize) -> *mut u8 {
        assert!(i < self.n_buffers, "buffer {i} of {}", self.n_buffers);
        // SAFETY: `open` and `create` checked that the buffers lie within the mapping.
        unsafe { self.base.add(buffers_at(self.n_buffers) + i * self.buffer_size).as_ptr() }
    }

    /// Copies the committed words of a buffer from word `from` on, and returns the number of all committed words. A
    /// count beyond the buffer, from a hostile process, is clamped.
    pub fn copy_committed(&self, i: usize, from: usize, to: &mut Vec<u64>) -> usize {
        let committed = self.heads()[i].committed.load(Ordering::Acquire) as usize;
        let end = committed.min(self.buffer_size) / 8;
        let Some(len) = end.checked_sub(from).filter(|len| *len > 0) else { return from };
        to.reserve(len);
        // SAFETY: `from + len` words lie within the buffer, which is aligned to 64; `reserve` made room; the ranges do
        // not overlap. The owner writes only after its committed bytes. If a hostile owner does not, the copied words
        // are invalid, and readers check them.
        unsafe {
            let from = self.buffer(i).cast::<u64>().add(from);
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr().add(to.len()), len);
            to.set_len(to.len() + len);
        }
        end
    }
}

/// Stores as many bytes as fit, and returns their number.
fn store_bytes(words: &[AtomicU64], bytes: &[u8]) -> usize {
    for (word, bytes) in words.iter().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
    }
    bytes.len().min(8 * words.len())
}

fn load_bytes(words: &[AtomicU64], len: usize) -> Vec<u8> {
    words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).take(len).collect()
}

/// Bytes of words, in memory order.
pub(crate) fn bytes_of(words: &[u64]) -> &[u8] {
    // SAFETY: every word consists of 8 bytes, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// Second word of an event in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventWord(pub u64);

impl EventWord {
    /// Hook of a 32-bit program.
    pub const NARROW: u64 = 1;
    /// The event has a time stamp in the log.
    pub const STAMPED: u64 = 2;
    /// The event has a data word and bytes.
    pub const GENERIC: u64 = 4;
    /// QNX event; with [`EventWord::GENERIC`] its data is bytes, otherwise words.
    pub const KERNEL: u64 = 8;

    /// Builds the word without the CPU.
    #[inline(always)]
    pub const fn new(kind: u64, hook_word: u32, len: usize) -> Self {
        EventWord((hook_word as u64) << 32 | (len as u64 & 0xFFFF) << 16 | kind)
    }

    pub fn has(self, kind: u64) -> bool {
        self.0 & kind != 0
    }

    pub fn cpu(self) -> u16 {
        (self.0 >> 4) as u16 & 0xFFF
    }

    pub fn hook_word(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Length of the data after header and data word.
    pub fn data_len(self) -> usize {
        (self.0 >> 16) as usize & 0xFFFF
    }

    /// Length of the whole event in its buffer.
    pub fn event_len(self) -> usize {
        let has_word = self.has(EventWord::GENERIC) && !self.has(EventWord::KERNEL);
        EVENT_HEAD + if has_word { 8 } else { 0 } + self.data_len().next_multiple_of(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_session_fit_their_places() {
        assert!(size_of::<SessionHeader>() <= PAGE);
        assert_eq!(std::mem::offset_of!(SessionHeader, order) % 64, 0);
        assert_eq!(size_of::<ProcessEntry>(), 256);
        assert_eq!(size_of::<BufferHeader>(), 64);
        assert_eq!(HEADS_AT % 64, 0);
    }

    #[test]
    fn session_has_room_for_idle_threads() {
        for bytes in [0, 8192, 256 << 10, 5 << 20, 256 << 20] {
            let shape = PoolSize::of(bytes);
            assert!((shape.n_buffers - 32) as u64 * shape.buffer_size as u64 >= bytes);
            assert!(shape.buffer_size >= MIN_BUFFER && shape.buffer_size.is_power_of_two());
        }
    }
}
