//! A session's shared memory: what all its processes must know, and the buffers that their threads record into.
//!
//! ```text
//! header    4096 bytes    [`Header`]
//! filter    8192 bytes    a bit an id: bit `id % 64` of word `id / 64`, 1 for an id that is recorded
//! processes 1024 × 256    process id u32, length u32, parent u32, u32, path
//! heads     n × 64        [`Head`] of each buffer
//! buffers   n × size      events of one thread each, from the next page on
//! ```
//!
//! A buffer belongs to one thread from the moment it takes it until it is full. The thread writes events behind what
//! [`Head::committed`] counts and then counts them, so that whoever reads finds whole events wherever the thread stopped or
//! was killed. All bytes are other processes' as well: what is read here may be anything, and is checked by its reader.
//!
//! An event in a buffer, in the machine's own byte order, filled to 8 bytes:
//!
//! ```text
//! u64 ticks    u64 hook word << 32 | length << 16 | CPU << 4 | kind    u64 words, or u64 data word and bytes, or bytes
//! ```
//!
//! The length counts bytes without the data word.

#![expect(unsafe_code, reason = "shared memory is reached by addresses")]

use crate::sys;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = u64::from_be_bytes(*b"tfbcses1");
const PAGE: usize = 4096;
const FILTER_WORDS: usize = 1024;
/// Processes whose paths a session keeps.
pub(crate) const MAX_PROCESSES: usize = 1024;
const HEADS_AT: usize = PAGE + 8 * FILTER_WORDS + MAX_PROCESSES * size_of::<Process>();

/// Bytes before the data words of an event.
pub(crate) const EVENT_HEAD: usize = 16;
/// Bytes of variable data in an event; what is longer is cut.
pub const MAX_BYTES: usize = 4096;
/// The least size of a buffer: any event fits.
pub(crate) const MIN_BUFFER: usize = 16 << 10;

/// What one thread after another may do with a buffer.
pub(crate) mod state {
    /// Nobody's.
    pub const FREE: u32 = 0;
    /// Being taken or given back; its other words mean nothing.
    pub const CHANGING: u32 = 1;
    /// One thread's own.
    pub const OWNED: u32 = 2;
    /// Given up by its thread, and not read yet.
    pub const FULL: u32 = 3;
}

/// What a session's processes share beside its buffers.
#[repr(C)]
pub(crate) struct Header {
    magic: AtomicU64,
    n_buffers: AtomicU32,
    buffer_size: AtomicU32,
    /// The session's own process.
    pub owner: AtomicU32,
    /// [`flag`]s, fixed when the session begins.
    pub flags: AtomicU32,
    pub hertz: AtomicU64,
    /// The moment at which the session began: seconds since 1970, and ticks.
    pub started_seconds: AtomicU64,
    pub started_ticks: AtomicU64,
    /// Events up to this time are in the log.
    pub written_until: AtomicU64,
    /// What `trcstop` and the others ask for, how often they asked and were answered, and the last answer: 0 or an error's
    /// number.
    pub command: AtomicU32,
    pub asked: AtomicU32,
    pub answered: AtomicU32,
    pub answer: AtomicU32,
    /// Rung when a buffer is full or something is asked for.
    pub bell: AtomicU32,
    pub n_processes: AtomicU32,
    _line: [AtomicU64; 6],
    // What hooks write is on lines of its own.
    /// The number of the next buffer that is taken.
    pub order: AtomicU64,
    /// Events for which there was no buffer, and those that were given up for newer ones.
    pub missed: AtomicU64,
    /// Events whose bytes were cut.
    pub cut: AtomicU64,
    /// The last time of the events that were given up for newer ones.
    pub given_up_until: AtomicU64,
    _lines: [AtomicU64; 4],
    /// The log's name.
    log_len: AtomicU64,
    log: [AtomicU64; LOG_WORDS],
}

const LOG_WORDS: usize = 256;

/// Bits of [`Header::flags`].
pub(crate) mod flag {
    use crate::clock::Source;

    /// The oldest buffers give way.
    pub const CIRCULAR: u32 = 1;
    /// Events tell their CPU.
    pub const CPU: u32 = 2;
    /// Ticks are the CPU's cycles.
    pub const CYCLES: u32 = 4;
    /// Some ids are not recorded.
    pub const FILTERED: u32 = 8;
    /// The log is written as a 32-bit kernel's.
    pub const TRACE32: u32 = 16;
    /// The log is written as a big-endian target's.
    pub const BIG_ENDIAN: u32 = 32;
    /// Somebody sits at the session's prompt.
    pub const INTERACTIVE: u32 = 64;

    /// What stamps the session's events.
    #[inline(always)]
    pub fn source(flags: u32) -> Source {
        if flags & CYCLES != 0 { Source::Cycles } else { Source::Monotonic }
    }
}

/// One buffer's words.
#[repr(C, align(64))]
pub(crate) struct Head {
    /// One of [`state`].
    pub state: AtomicU32,
    /// Bytes of whole events, a multiple of 8; bit 0 while another one is being written.
    pub committed: AtomicU32,
    pub pid: AtomicU32,
    pub tid: AtomicU32,
    /// The number of its process in the table, `u32::MAX` where the table was full.
    pub process: AtomicU32,
    _align: AtomicU32,
    /// Ascending in the order in which buffers were taken.
    pub order: AtomicU64,
}

#[repr(C)]
struct Process {
    pid: AtomicU32,
    len: AtomicU32,
    parent: AtomicU32,
    _unused: AtomicU32,
    path: [AtomicU64; 30],
}

/// A mapped session. A copy refers to the same mapping, which lives until [`Pool::unmap`].
#[derive(Clone, Copy)]
pub(crate) struct Pool {
    base: NonNull<u8>,
    len: usize,
    n_buffers: usize,
    buffer_size: usize,
}

// SAFETY: all that is shared behind the address is atomic, or one thread's own by `Head::state`.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// How large a session's memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub n_buffers: usize,
    pub buffer_size: usize,
}

/// Where the buffers begin: at a page's start.
fn buffers_at(n_buffers: usize) -> usize {
    (HEADS_AT + n_buffers * size_of::<Head>()).next_multiple_of(PAGE)
}

impl Shape {
    /// Buffers for `bytes` bytes of events, and for threads that hold one each while others fill theirs, or that came and
    /// went.
    pub fn of(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30);
        let buffer_size = (bytes / 32).next_power_of_two().clamp(MIN_BUFFER, 1 << 20);
        let n_idle = ((4 << 20) / buffer_size).max(32);
        Shape { n_buffers: bytes.div_ceil(buffer_size) + n_idle, buffer_size }
    }

    /// Bytes of the whole file.
    pub fn file_len(self) -> usize {
        buffers_at(self.n_buffers) + self.n_buffers * self.buffer_size
    }
}

impl Pool {
    /// Maps a file that was just given its length, and writes what tells its shape.
    pub fn create(file: BorrowedFd<'_>, shape: Shape) -> std::io::Result<Self> {
        sys::reserve(file, shape.file_len())?;
        let base = sys::map_shared(file, shape.file_len()).ok_or_else(std::io::Error::last_os_error)?;
        sys::make_ready(base.as_ptr(), shape.file_len(), sys::Ready::Made);
        let Shape { n_buffers, buffer_size } = shape;
        let pool = Pool { base, len: shape.file_len(), n_buffers, buffer_size };
        let header = pool.header();
        header.n_buffers.store(n_buffers as u32, Ordering::Relaxed);
        header.buffer_size.store(buffer_size as u32, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(pool)
    }

    /// Maps a session of another process. `None` where the file is none, or is shorter than it says.
    pub fn open(file: BorrowedFd<'_>, file_len: u64) -> Option<Self> {
        let len = usize::try_from(file_len).ok().filter(|len| *len >= HEADS_AT)?;
        let base = sys::map_shared(file, len)?;
        let mut pool = Pool { base, len, n_buffers: 0, buffer_size: 0 };
        let header = pool.header();
        let is_session = header.magic.load(Ordering::Acquire) == MAGIC;
        let shape = Shape {
            n_buffers: header.n_buffers.load(Ordering::Relaxed) as usize,
            buffer_size: header.buffer_size.load(Ordering::Relaxed) as usize,
        };
        let is_sane = shape.buffer_size.is_power_of_two() && (MIN_BUFFER..=1 << 20).contains(&shape.buffer_size);
        if !is_session || !is_sane || shape.n_buffers > 1 << 20 || shape.file_len() > len {
            // SAFETY: nothing else knows of the mapping yet.
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
        // SAFETY: the mapping is this pool's, by the caller's promise the last use of it.
        unsafe { sys::unmap(self.base, self.len) };
    }

    /// True if the header still says what this mapping was made by: a program that writes anywhere may write there, too.
    pub fn is_intact(&self) -> bool {
        let header = self.header();
        header.magic.load(Ordering::Relaxed) == MAGIC
            && header.n_buffers.load(Ordering::Relaxed) as usize == self.n_buffers
            && header.buffer_size.load(Ordering::Relaxed) as usize == self.buffer_size
    }

    pub fn header(&self) -> &Header {
        // SAFETY: the mapping is longer than a header, page-aligned, and any bytes are valid atomics.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    /// A bit an id.
    pub fn filter(&self) -> &[AtomicU64; FILTER_WORDS] {
        // SAFETY: the filter lies behind the header, aligned to a page, in every mapping.
        unsafe { self.base.add(PAGE).cast::<[AtomicU64; FILTER_WORDS]>().as_ref() }
    }

    /// Whether events of an id are recorded.
    #[inline(always)]
    pub fn records(&self, id: u16) -> bool {
        self.filter()[usize::from(id >> 6)].load(Ordering::Relaxed) >> (id & 63) & 1 != 0
    }

    fn processes(&self) -> &[Process; MAX_PROCESSES] {
        // SAFETY: the table lies behind the filter, aligned to 8, in every mapping.
        unsafe { self.base.add(PAGE + 8 * FILTER_WORDS).cast::<[Process; MAX_PROCESSES]>().as_ref() }
    }

    /// Enters a process, and gives its number; `u32::MAX` where the table is full.
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

    /// The parent of a process that entered itself, when it did; the last one if a process id came again.
    pub fn parent_of(&self, pid: u32) -> Option<u32> {
        let process = self.processes().iter().rev().find(|process| process.pid.load(Ordering::Acquire) == pid)?;
        Some(process.parent.load(Ordering::Relaxed))
    }

    /// The path of a process that entered itself.
    pub fn path_of_process(&self, number: u32) -> Option<Vec<u8>> {
        let process = self.processes().get(number as usize)?;
        if process.pid.load(Ordering::Acquire) == 0 {
            return None;
        }
        Some(load_bytes(&process.path, process.len.load(Ordering::Relaxed) as usize))
    }

    /// Notes the log's name.
    pub fn set_log(&self, name: &[u8]) {
        let len = store_bytes(&self.header().log, name);
        self.header().log_len.store(len as u64, Ordering::Release);
    }

    /// The log's name; empty for a stream.
    pub fn log(&self) -> Vec<u8> {
        load_bytes(&self.header().log, self.header().log_len.load(Ordering::Acquire) as usize)
    }

    pub fn n_buffers(&self) -> usize {
        self.n_buffers
    }

    pub fn buffer_size(&self) -> usize {
        self.buffer_size
    }

    /// The heads of all buffers.
    pub fn heads(&self) -> &[Head] {
        // SAFETY: `open` and `create` saw that so many heads and their buffers lie within the mapping, aligned to 64.
        unsafe { std::slice::from_raw_parts(self.base.add(HEADS_AT).cast::<Head>().as_ptr(), self.n_buffers) }
    }

    /// The bytes of a buffer, which may change at any time.
    pub fn buffer(&self, i: usize) -> *mut u8 {
        assert!(i < self.n_buffers, "buffer {i} of {}", self.n_buffers);
        // SAFETY: as in `heads`; the buffers lie behind them.
        unsafe { self.base.add(buffers_at(self.n_buffers) + i * self.buffer_size).as_ptr() }
    }

    /// Copies what is written in a buffer from word `from` on, and gives the number of words written in all. What another
    /// process claims to have written ends with the buffer.
    pub fn copy_committed(&self, i: usize, from: usize, to: &mut Vec<u64>) -> usize {
        let committed = self.heads()[i].committed.load(Ordering::Acquire) as usize;
        let end = committed.min(self.buffer_size) / 8;
        let Some(len) = end.checked_sub(from).filter(|len| *len > 0) else { return from };
        to.reserve(len);
        // SAFETY: `from + len` words are within the buffer, which is aligned to 64, and `reserve` made room; the two do not
        // overlap. The owner writes behind what it committed only; where a hostile one does not, the words mean nothing.
        unsafe {
            let from = self.buffer(i).cast::<u64>().add(from);
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr().add(to.len()), len);
            to.set_len(to.len() + len);
        }
        end
    }
}

/// Stores as many bytes as there is room for, and gives their number.
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

/// The bytes of words, in memory order.
pub(crate) fn bytes_of(words: &[u64]) -> &[u8] {
    // SAFETY: any word is 8 bytes, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// The second word of an event in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind(pub u64);

impl Kind {
    /// A 32-bit program's hook.
    pub const NARROW: u64 = 1;
    /// The event shows its time.
    pub const STAMPED: u64 = 2;
    /// It has a data word and bytes.
    pub const GENERIC: u64 = 4;
    /// It is one of QNX's; with [`Kind::GENERIC`] its data is bytes rather than words.
    pub const KERNEL: u64 = 8;

    /// The word of an event without its CPU.
    #[inline(always)]
    pub const fn new(kind: u64, hook_word: u32, len: usize) -> Self {
        Kind((hook_word as u64) << 32 | (len as u64 & 0xFFFF) << 16 | kind)
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

    /// Bytes behind the head and the data word.
    pub fn data_len(self) -> usize {
        (self.0 >> 16) as usize & 0xFFFF
    }

    /// Bytes of the whole event in its buffer.
    pub fn event_len(self) -> usize {
        let has_word = self.has(Kind::GENERIC) && !self.has(Kind::KERNEL);
        EVENT_HEAD + if has_word { 8 } else { 0 } + self.data_len().next_multiple_of(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_session_fit_their_places() {
        assert!(size_of::<Header>() <= PAGE);
        assert_eq!(std::mem::offset_of!(Header, order) % 64, 0);
        assert_eq!(size_of::<Process>(), 256);
        assert_eq!(size_of::<Head>(), 64);
        assert_eq!(HEADS_AT % 64, 0);
    }

    #[test]
    fn a_session_has_room_for_its_events_and_for_idle_threads() {
        for bytes in [0, 8192, 256 << 10, 5 << 20, 256 << 20] {
            let shape = Shape::of(bytes);
            assert!((shape.n_buffers - 32) as u64 * shape.buffer_size as u64 >= bytes);
            assert!(shape.buffer_size >= MIN_BUFFER && shape.buffer_size.is_power_of_two());
        }
    }
}
