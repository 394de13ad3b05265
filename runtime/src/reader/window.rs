//! Inputs, and a sliding window over one: the bytes that are read but not yet consumed, as one slice.

use super::follow::Follower;
use super::notice::Notice;
use super::packed::{Compression, MaxRatio, Unpacker};
use crate::temporary::temporary;
use bytes::Bytes;
#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::ops::{Deref, Range};
#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use tempfile::SpooledTempFile;

/// Size of one read, and maximum number of bytes in a batch. With its events and their text, a batch of this
/// size fits the second-level cache.
const CHUNK: usize = 128 << 10;

/// Largest look-ahead into an input that is not seekable, in bytes.
pub(in crate::reader) const MAX_LOOK_AHEAD: u64 = 16 << 20;

/// Part of the look-ahead that stays in memory; the rest goes to a temporary file.
const LOOK_AHEAD_IN_MEMORY: usize = 1 << 20;

/// Size up to which the unread rest of a buffer is copied twice, so that the next batch can lend its own buffer.
const LITTLE: usize = 4 << 10;

/// Largest offset in a buffer of bytes that events can refer to: batches store 32-bit offsets. Only inputs in memory
/// have larger buffers.
const MAX_PLACE: usize = u32::MAX as usize;

/// Seekable input, such as a file or a cursor.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// Source of a trace's bytes.
pub enum Input {
    /// Regular file. Logs are read by position, and looking ahead needs no memory.
    Seekable(Box<dyn ReadSeek>),
    /// Bytes in memory. Events are formatted from them without a copy.
    Memory(Cursor<Bytes>),
    /// Stream that cannot be read twice; looking ahead keeps its bytes.
    Stream(Box<dyn Read + Send>),
    /// Pipe, terminal or socket, which can be polled for bytes.
    Pipe(Pipe),
    /// Compressed file or pipe, decompressed while reading.
    Packed(Box<Unpacker>),
    /// Growing file; reading waits at its end.
    Growing(Box<Follower>),
}

/// An open pipe, terminal or socket.
pub struct Pipe {
    read: Box<dyn Read + Send>,
    /// Descriptor to poll.
    #[cfg(unix)]
    descriptor: Option<OwnedFd>,
}

impl Pipe {
    /// True if the next read may block.
    fn may_wait(&self) -> bool {
        #[cfg(unix)]
        if let Some(descriptor) = &self.descriptor {
            let mut asked = [PollFd::new(descriptor, PollFlags::IN)];
            return !matches!(poll(&mut asked, Some(&Timespec::default())), Ok(1..));
        }
        true
    }
}

impl Input {
    /// Opens a file; `-` is standard input. Compression is detected from the first bytes.
    ///
    /// # Errors
    /// The file cannot be opened or read.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") { Self::from_stdin() } else { Self::from_file(File::open(path)?) }
    }

    /// Uses an open file. It is seekable if it is a regular file and not compressed.
    ///
    /// # Errors
    /// The type or the first bytes of the file cannot be read.
    pub fn from_file(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Self::from_pipe(file);
        }
        Self::from_seekable(file, metadata.len())
    }

    /// Uses a seekable source of `len` bytes from its start.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn from_seekable(mut source: impl ReadSeek + 'static, len: u64) -> io::Result<Self> {
        let magic = Compression::read_magic(&mut source)?;
        source.seek(SeekFrom::Start(0))?;
        Ok(match Compression::of(&magic) {
            Some(compression) => Input::Packed(Box::new(Unpacker::new(compression, source, Some(len)))),
            None => Input::Seekable(Box::new(source)),
        })
    }

    fn from_stdin() -> io::Result<Self> {
        #[cfg(unix)]
        return Self::from_pipe(File::from(io::stdin().as_fd().try_clone_to_owned()?));
        #[cfg(not(unix))]
        Self::from_read(io::stdin())
    }

    /// Uses a pipe, with its descriptor for polling.
    fn from_pipe(file: File) -> io::Result<Self> {
        #[cfg(unix)]
        let descriptor = file.as_fd().try_clone_to_owned().ok();
        Ok(match Self::from_read(file)? {
            Input::Stream(read) => Input::Pipe(Pipe {
                read,
                #[cfg(unix)]
                descriptor,
            }),
            packed => packed,
        })
    }

    /// True if the next read may block on another program.
    fn may_wait(&self) -> bool {
        match self {
            Input::Seekable(_) | Input::Memory(_) => false,
            Input::Pipe(pipe) => pipe.may_wait(),
            Input::Packed(unpacker) => unpacker.packed_size().is_none(),
            Input::Stream(_) | Input::Growing(_) => true,
        }
    }

    /// Uses a pipe, terminal or socket. Blocks until the first bytes arrive, which show whether it is compressed.
    ///
    /// # Errors
    /// Reading the first bytes failed.
    pub fn from_read(mut read: impl Read + Send + 'static) -> io::Result<Self> {
        let magic = Compression::read_magic(&mut read)?;
        let compression = Compression::of(&magic);
        let whole = Cursor::new(magic).chain(read);
        Ok(match compression {
            Some(compression) => Input::Packed(Box::new(Unpacker::new(compression, whole, None))),
            None => Input::Stream(Box::new(whole)),
        })
    }

    /// Opens a growing file, or a pipe.
    ///
    /// # Errors
    /// The file cannot be opened or read, or is compressed.
    pub fn follow(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Self::from_stdin();
        }
        let mut file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Self::from_pipe(file);
        }
        let magic = Compression::read_magic(&mut file)?;
        file.seek(SeekFrom::Start(0))?;
        match Compression::of(&magic) {
            None => Ok(Input::Growing(Box::new(Follower::new(file, path)))),
            Some(compression) => {
                let text = format!("a file compressed by {compression} cannot be followed; unpack it first");
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
        }
    }

    /// Limits the decompression ratio of a compressed input.
    #[must_use]
    pub fn within(mut self, max: MaxRatio) -> Self {
        if let Input::Packed(unpacker) = &mut self {
            unpacker.set_max_ratio(max);
        }
        self
    }

    /// True if reading may block on another program.
    pub(in crate::reader) fn is_live(&self) -> bool {
        !matches!(self, Input::Seekable(_) | Input::Memory(_))
    }

    /// Reads the whole input, of at most `max` bytes.
    ///
    /// # Errors
    /// Reading failed, or a compressed input is damaged. The error of a larger input is
    /// [`io::ErrorKind::FileTooLarge`].
    pub fn read_whole(&mut self, max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_rest(&mut bytes, max)?;
        Ok(bytes)
    }

    /// Reads the rest of an input of at most `max` bytes; `bytes` contains the part that has been read already.
    ///
    /// # Errors
    /// Reading failed, or a compressed input is damaged. The error of a larger input is
    /// [`io::ErrorKind::FileTooLarge`].
    pub fn read_rest(&mut self, bytes: &mut Vec<u8>, max: u64) -> io::Result<()> {
        let is_large = self.size()?.is_some_and(|size| size > max);
        if !is_large {
            self.read_on(bytes, (max + 1).saturating_sub(bytes.len() as u64))?;
        }
        if is_large || bytes.len() as u64 > max {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max} bytes")));
        }
        Ok(())
    }

    /// Appends up to `max` more bytes of the input to `bytes`.
    ///
    /// # Errors
    /// Reading failed, or a compressed input is damaged.
    pub fn read_on(&mut self, bytes: &mut Vec<u8>, max: u64) -> io::Result<()> {
        let left = self.size().ok().flatten().unwrap_or(0).saturating_sub(bytes.len() as u64).min(max);
        // The extra byte detects the end of the input. The reservation is capped, because a file may report any size.
        bytes.reserve_exact(left.min(1 << 26) as usize + 1);
        self.by_ref().take(max).read_to_end(bytes)?;
        match self.unpacker().and_then(Unpacker::fault) {
            Some(fault) => Err(io::Error::new(io::ErrorKind::InvalidData, fault)),
            None => Ok(()),
        }
    }

    /// Decompressor of a compressed input.
    pub fn unpacker(&self) -> Option<&Unpacker> {
        if let Input::Packed(unpacker) = self { Some(unpacker) } else { None }
    }

    /// Uses bytes in memory without a copy: a vector, a static slice or a mapped file.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Input::Memory(Cursor::new(Bytes::from_owner(bytes)))
    }

    /// Reads bytes at an offset of a seekable input, whose position does not change.
    ///
    /// # Errors
    /// Reading failed, or the input is not seekable or ends before.
    pub(crate) fn read_aside(&mut self, offset: u64, n: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; n as usize];
        match self {
            Input::Seekable(input) => {
                let here = input.stream_position()?;
                input.seek(SeekFrom::Start(offset))?;
                input.read_exact(&mut bytes)?;
                input.seek(SeekFrom::Start(here))?;
            }
            Input::Memory(input) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(input.get_ref().len());
                (&input.get_ref()[from..]).read_exact(&mut bytes)?;
            }
            _ => return Err(io::Error::new(io::ErrorKind::Unsupported, "the input is not seekable")),
        }
        Ok(bytes)
    }

    /// Total size in bytes, if it is known.
    pub(crate) fn size(&mut self) -> io::Result<Option<u64>> {
        match self {
            Input::Seekable(input) => {
                let here = input.stream_position()?;
                let size = input.seek(SeekFrom::End(0))?;
                input.seek(SeekFrom::Start(here))?;
                Ok(Some(size))
            }
            Input::Memory(input) => Ok(Some(input.get_ref().len() as u64)),
            Input::Stream(_) | Input::Pipe(_) | Input::Packed(_) | Input::Growing(_) => Ok(None),
        }
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = match self {
                Input::Seekable(input) => input.read(into),
                Input::Memory(input) => input.read(into),
                Input::Stream(input) => input.read(into),
                Input::Pipe(input) => input.read.read(into),
                Input::Packed(input) => input.read(into),
                Input::Growing(input) => input.read(into),
            };
            match got {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                got => return got,
            }
        }
    }
}

/// State of a compressed input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// Compression format.
    pub compression: Compression,
    /// Size of the compressed file in bytes, if it is known.
    pub size: Option<u64>,
    /// Number of compressed bytes that were read.
    pub offset: u64,
    /// Reason why the unpacked bytes ended early.
    pub fault: Option<String>,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.compression.fmt(f)?;
        self.size.map_or(Ok(()), |size| write!(f, ", {size} bytes"))
    }
}

/// Buffer of a window: a vector to read into, or a view of an input in memory.
#[derive(Debug)]
pub(crate) enum Buffer {
    Own(Vec<u8>),
    Lent(Bytes),
}

impl Buffer {
    fn is_lent(&self) -> bool {
        matches!(self, Buffer::Lent(_))
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer::Own(Vec::new())
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        match self {
            Buffer::Own(bytes) => bytes,
            Buffer::Lent(bytes) => bytes,
        }
    }
}

/// A buffer that left the window for a batch, because events refer to its bytes.
#[derive(Debug, Default)]
pub(crate) struct SharedBuf {
    pub bytes: Buffer,
    /// File offset of the first byte.
    pub offset: u64,
}

/// Look-ahead bytes of an input that is not seekable.
///
/// They are not kept in the window, because its buffer would grow and stay that large for every batch.
struct LookAhead {
    /// The bytes: the first ones in memory, the rest in an unnamed temporary file.
    bytes: SpooledTempFile,
    /// Number of bytes; during the replay, number of bytes left.
    n_bytes: u64,
    /// True during the replay.
    is_replayed: bool,
    /// True if the input ends after them.
    is_last: bool,
}

impl LookAhead {
    fn new(first: &[u8]) -> io::Result<Self> {
        let mut bytes = temporary(LOOK_AHEAD_IN_MEMORY);
        bytes.write_all(first)?;
        Ok(Self { bytes, n_bytes: first.len() as u64, is_replayed: false, is_last: false })
    }

    /// Reads from the input and records the bytes, or replays them.
    fn read(&mut self, input: &mut Input, into: &mut [u8]) -> io::Result<usize> {
        if !self.is_replayed {
            let n = input.read(into)?;
            self.bytes.write_all(&into[..n])?;
            self.n_bytes += n as u64;
            return Ok(n);
        }
        let n = self.bytes.read(into)?;
        self.n_bytes -= n as u64;
        Ok(n)
    }

    fn replay(&mut self, is_last: bool) -> io::Result<()> {
        (self.is_replayed, self.is_last) = (true, is_last);
        self.bytes.rewind()
    }

    fn is_full(&self) -> bool {
        !self.is_replayed && self.n_bytes >= MAX_LOOK_AHEAD
    }

    /// True if the replay is over and the input continues.
    fn is_used_up(&self) -> bool {
        self.is_replayed && !self.is_last && self.n_bytes == 0
    }
}

/// Sliding window over the unconsumed bytes of an area of the file. Offsets count from the start of the file.
///
/// Consumed bytes can be retained: events then refer to their place in the buffer instead of copying them, until
/// [`Window::detach`] passes the buffer to the batch. Until then, no byte of that buffer moves or changes. If it is
/// full, or reading continues elsewhere in the file, the window leaves it alone and continues in a second buffer, in
/// which nothing can be retained. The buffer of an input in memory is a view of the input itself.
pub(in crate::reader) struct Window {
    input: Input,
    /// Consecutive bytes of the file.
    buf: Buffer,
    start: usize,
    end: usize,
    /// File offset of `buf[start]`.
    offset: u64,
    /// File offset of the area's end.
    area_end: u64,
    /// Look-ahead bytes of an input that is not seekable.
    ahead: Option<LookAhead>,
    /// Range of retained bytes, in `buf` or in the buffer that was left.
    retained: Option<Range<usize>>,
    /// Buffer with the retained bytes, after the window has moved on to another one.
    left: Option<SharedBuf>,
    ended: bool,
    /// State of the compressed input whose unpacked bytes were copied to a temporary file.
    spooled: Option<Packing>,
    /// Size of one read in bytes.
    chunk: usize,
}

impl Window {
    pub fn new(input: Input) -> Self {
        let buf =
            if let Input::Memory(bytes) = &input { Buffer::Lent(bytes.get_ref().clone()) } else { Buffer::default() };
        Self {
            input,
            buf,
            start: 0,
            end: 0,
            offset: 0,
            area_end: u64::MAX,
            ahead: None,
            retained: None,
            left: None,
            ended: false,
            spooled: None,
            chunk: CHUNK,
        }
    }

    /// Creates a window with reads of `bytes` bytes.
    #[cfg(test)]
    pub fn in_pieces(input: Input, bytes: usize) -> Self {
        Self { chunk: bytes, ..Self::new(input) }
    }

    /// Sets the size of reads. The buffered bytes of a seekable input are dropped and read again.
    pub fn set_chunk(&mut self, bytes: usize) -> io::Result<()> {
        self.chunk = bytes;
        if let Input::Seekable(input) = &mut self.input {
            input.seek(SeekFrom::Start(self.offset))?;
            self.leave(Buffer::default());
            (self.start, self.end, self.ended) = (0, 0, false);
        }
        Ok(())
    }

    /// Compression state of the input; `None` if it is not compressed.
    pub fn packing(&self) -> Option<Packing> {
        let packing = |unpacker: &Unpacker| Packing {
            compression: unpacker.compression(),
            size: unpacker.packed_size(),
            offset: unpacker.packed_offset(),
            fault: unpacker.fault().map(str::to_owned),
        };
        self.input.unpacker().map(packing).or_else(|| self.spooled.clone())
    }

    /// Reason why a compressed input ended early.
    pub fn fault(&self) -> Option<String> {
        self.packing()?.fault
    }

    /// Notice about the end of the input: a followed file was replaced, or a compressed one is damaged.
    pub fn ending(&self) -> Option<Notice> {
        match &self.input {
            Input::Growing(follower) => follower.ending().map(Notice::warning),
            _ => self.fault().map(Notice::damage),
        }
    }

    /// True if reading may block on another program.
    pub fn is_live(&self) -> bool {
        self.input.is_live()
    }

    /// True if the next read may block on another program.
    pub fn may_wait(&self) -> bool {
        !self.ahead.as_ref().is_some_and(|ahead| ahead.is_replayed) && self.input.may_wait()
    }

    /// Reads a compressed file to its end after its bytes stopped making sense: its checksum may explain the damage.
    pub fn look_for_fault(&mut self) {
        if self.input.unpacker().is_some_and(|unpacker| unpacker.packed_size().is_some()) {
            let _ = io::copy(&mut self.input, &mut io::sink());
        }
    }

    /// Progress as an offset in the file; for a compressed file, in compressed bytes.
    pub fn progress(&self) -> u64 {
        self.input.unpacker().map_or(self.offset, Unpacker::packed_offset)
    }

    /// The buffered bytes, up to the end of the area.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let n = ((self.end - self.start) as u64).min(self.area_end.saturating_sub(self.offset)) as usize;
        &self.buf[self.start..self.start + n]
    }

    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Consumes the first `n` of [`Window::bytes`].
    #[inline]
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }

    /// Offset of [`Window::bytes`] in the buffer.
    #[inline(always)]
    pub fn start(&self) -> usize {
        self.start
    }

    /// The buffer after an offset, without regard to the end of the area.
    #[inline(always)]
    pub fn buffer_from(&self, place: usize) -> Option<&[u8]> {
        self.buf.get(place..)
    }

    /// True if the area has no more bytes to read.
    fn at_end(&self) -> bool {
        self.ended
            || self.offset + (self.end - self.start) as u64 >= self.area_end
            || self.ahead.as_ref().is_some_and(LookAhead::is_full)
    }

    /// Reads more bytes; false at the end of the area or input. Calls the input only once, so that the bytes of a pipe
    /// are processed as they arrive.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.at_end() {
            return Ok(false);
        }
        // Room is made before the read, so that one call gets all available bytes.
        self.make_room();
        let n = match (&mut self.buf, &mut self.ahead) {
            (Buffer::Own(bytes), None) => self.input.read(&mut bytes[self.end..])?,
            (Buffer::Own(bytes), Some(ahead)) => {
                let n = ahead.read(&mut self.input, &mut bytes[self.end..])?;
                self.ahead.take_if(|ahead| ahead.is_used_up());
                n
            }
            (Buffer::Lent(bytes), _) => (bytes.len() - self.end).min(self.chunk),
        };
        self.end += n;
        self.ended = n == 0;
        Ok(n > 0)
    }

    fn make_room(&mut self) {
        if self.has_room() {
            return;
        }
        // Retained bytes may not move: events of a batch refer to them.
        if !self.is_retained()
            && let Buffer::Own(bytes) = &mut self.buf
        {
            bytes.copy_within(self.start..self.end, 0);
            self.move_to_front();
        }
        if !self.has_room() {
            self.continue_in(Buffer::default());
        }
    }

    /// True if the buffer has enough room for a read, or is a view that contains the next bytes already.
    fn has_room(&self) -> bool {
        self.buf.is_lent() || self.buf.len() - self.end >= self.chunk / 2
    }

    /// Adjusts the positions after the unconsumed bytes were moved to the front.
    fn move_to_front(&mut self) {
        (self.start, self.end) = (0, self.end - self.start);
    }

    /// Continues in another buffer, which gets a copy of the unconsumed bytes. A buffer that is too small is replaced.
    fn continue_in(&mut self, other: Buffer) {
        let n = self.end - self.start;
        let mut other = self.buffer_with_room(other, n);
        other[..n].copy_from_slice(&self.buf[self.start..self.end]);
        self.leave(Buffer::Own(other));
        self.move_to_front();
    }

    /// Returns the buffer if it has room for a read after `n` bytes, else a new one.
    fn buffer_with_room(&self, buffer: Buffer, n: usize) -> Vec<u8> {
        match buffer {
            Buffer::Own(bytes) if bytes.len() >= n + self.chunk / 2 => bytes,
            // Zeroed memory comes untouched from the system: its pages are first written by the read.
            _ => vec![0; (n + self.chunk / 2).next_power_of_two().max(self.chunk)],
        }
    }

    /// Replaces the buffer. Keeps the old one if it has retained bytes.
    fn leave(&mut self, other: Buffer) {
        let bytes = std::mem::replace(&mut self.buf, other);
        if self.is_retained() {
            self.left = Some(SharedBuf { bytes, offset: self.first_offset() });
        }
    }

    /// File offset of the buffer's first byte.
    fn first_offset(&self) -> u64 {
        self.offset - self.start as u64
    }

    /// True if bytes of the current buffer are retained.
    fn is_retained(&self) -> bool {
        self.retained.is_some() && self.left.is_none()
    }

    /// Offset of [`Window::bytes`] in the buffer; `None` if they cannot be retained.
    pub fn place(&self) -> Option<usize> {
        (self.left.is_none() && self.end <= MAX_PLACE).then_some(self.start)
    }

    /// Retains the `n` bytes that were consumed last.
    pub fn retain(&mut self, n: usize) {
        let from = self.start - n;
        // Areas of a file may be read in any order.
        let retained = self.retained.take().unwrap_or(from..from);
        self.retained = Some(retained.start.min(from)..retained.end.max(self.start));
    }

    /// True if the window has moved on and left a buffer with retained bytes.
    pub fn has_moved_on(&self) -> bool {
        self.left.is_some()
    }

    /// True if the next read would have to leave the buffer with the retained bytes.
    pub fn would_move_on(&self) -> bool {
        self.is_retained() && !self.has_room() && !self.at_end()
    }

    /// Borrows the buffer of a batch if the window's own was detached. A thread then reads into the memory that it
    /// formats from, which stays in its cache.
    pub fn recycle(&mut self, own: &mut SharedBuf) {
        if self.retained.is_some() {
            return;
        }
        if let Buffer::Lent(bytes) = &mut self.buf {
            // Offsets of retained bytes count from the current position, so that they fit 32 bits.
            *bytes = bytes.slice(self.start..);
            self.move_to_front();
        } else if self.buf.len() < self.chunk / 2 {
            self.continue_in(std::mem::take(&mut own.bytes));
        }
    }

    /// Moves the retained bytes to a batch, at their offsets: the buffer itself, or a copy if most of the buffer is
    /// still unread.
    pub fn detach(&mut self, to: &mut SharedBuf) {
        let Some(retained) = self.retained.take() else { return };
        let n_left = self.end - self.start;
        if let Some(left) = self.left.take() {
            *to = left;
        } else if let Buffer::Lent(bytes) = &self.buf {
            *to = SharedBuf { bytes: Buffer::Lent(bytes.clone()), offset: self.first_offset() };
        } else if retained.len() < n_left {
            let mut bytes = match std::mem::take(&mut to.bytes) {
                Buffer::Own(bytes) if bytes.len() >= retained.end => bytes,
                _ => vec![0; self.buf.len()],
            };
            bytes[retained.clone()].copy_from_slice(&self.buf[retained]);
            *to = SharedBuf { bytes: Buffer::Own(bytes), offset: self.first_offset() };
        } else {
            let offset = self.first_offset();
            // A small rest is copied to a buffer of just its size, since the next batch lends a larger one. A large
            // rest goes to its final buffer at once.
            let mut other = if n_left < LITTLE {
                vec![0; n_left]
            } else {
                self.buffer_with_room(std::mem::take(&mut to.bytes), n_left)
            };
            other[..n_left].copy_from_slice(&self.buf[self.start..self.end]);
            *to = SharedBuf { bytes: std::mem::replace(&mut self.buf, Buffer::Own(other)), offset };
            (self.start, self.end) = (0, n_left);
        }
    }

    /// Starts to look ahead and returns the position for [`Window::rewind`]. For an input that is not seekable, the
    /// window ends after [`MAX_LOOK_AHEAD`] bytes until then.
    ///
    /// # Errors
    /// There is no room for the look-ahead bytes.
    pub fn look_ahead(&mut self) -> io::Result<u64> {
        if self.is_live() {
            self.ahead = Some(LookAhead::new(&self.buf[self.start..self.end])?);
        }
        Ok(self.offset)
    }

    /// Ends the look-ahead and returns to its start.
    pub fn rewind(&mut self, to: u64) -> io::Result<()> {
        let Some(ahead) = &mut self.ahead else { return self.seek(to) };
        ahead.replay(self.ended)?;
        self.ahead.take_if(|ahead| ahead.is_used_up());
        (self.start, self.end, self.offset, self.ended) = (0, 0, to, false);
        Ok(())
    }

    /// Moves to an offset of a seekable input. A pipe stays at its position.
    pub fn seek(&mut self, to: u64) -> io::Result<()> {
        let first = self.first_offset();
        if to >= first && to - first <= self.end as u64 {
            self.start = (to - first) as usize;
            self.offset = to;
            return Ok(());
        }
        let other = match &mut self.input {
            Input::Seekable(input) => {
                input.seek(SeekFrom::Start(to))?;
                if self.is_retained() { Buffer::default() } else { std::mem::take(&mut self.buf) }
            }
            Input::Memory(input) => {
                let whole = input.get_ref();
                Buffer::Lent(whole.slice(to.min(whole.len() as u64) as usize..))
            }
            _ => return Ok(()),
        };
        self.leave(other);
        (self.start, self.end, self.offset, self.ended) = (0, 0, to, false);
        Ok(())
    }

    /// Sets the file offset at which the area of the window ends.
    pub fn set_area_end(&mut self, end: u64) {
        self.area_end = end;
        self.ended = false;
    }

    pub fn input_mut(&mut self) -> &mut Input {
        &mut self.input
    }

    /// Copies a pipe to an unnamed temporary file, since logs are read by position. The window must still be at its
    /// start.
    pub fn spool(mut self) -> io::Result<Self> {
        let mut file = temporary(0);
        file.write_all(&self.buf[self.start..self.end])?;
        io::copy(&mut self.input, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let spooled = self.packing();
        Ok(Self { spooled, ..Self::new(Input::Seekable(Box::new(file))) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::unix_compress;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// Reader of one byte at a time. A signal interrupts every other read, and the end is an error if `fails` is set.
    struct Interrupted {
        bytes: Cursor<Vec<u8>>,
        interrupted: bool,
        fails: bool,
    }

    impl Read for Interrupted {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.interrupted = !self.interrupted;
            if self.interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let room = into.len().min(1);
            match self.bytes.read(&mut into[..room])? {
                0 if self.fails => Err(io::Error::other("broken")),
                n => Ok(n),
            }
        }
    }

    /// Bytes, uncompressed and in each compression format.
    fn packed(plain: &[u8]) -> [Vec<u8>; 4] {
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(plain).unwrap();
        let zstd = compress_to_vec(plain, CompressionLevel::Fastest);
        [plain.to_vec(), gzip.finish().unwrap(), zstd, unix_compress::compress(plain)]
    }

    /// Reads an input to its end in small pieces. Returns the bytes and the final result.
    fn read_all(input: &mut Input) -> (Vec<u8>, io::Result<()>) {
        let (mut all, mut piece) = (Vec::new(), [0; 4]);
        loop {
            match input.read(&mut piece) {
                Ok(0) => return (all, Ok(())),
                Ok(n) => all.extend_from_slice(&piece[..n]),
                Err(error) => return (all, Err(error)),
            }
        }
    }

    #[test]
    fn interrupted_reads_are_repeated() {
        let plain = b"what a pipe gives, a byte at a time";
        for bytes in packed(plain) {
            let reader = Interrupted { bytes: Cursor::new(bytes), interrupted: false, fails: false };
            let (all, end) = read_all(&mut Input::from_read(reader).unwrap());
            assert_eq!(all, plain);
            end.unwrap();
        }
    }

    #[test]
    fn failed_reads_are_errors_and_not_damage() {
        for bytes in packed(b"what comes before") {
            for n in [0, 1, bytes.len() - 1] {
                let bytes = Cursor::new(bytes[..n].to_vec());
                let error = match Input::from_read(Interrupted { bytes, interrupted: false, fails: true }) {
                    Ok(mut input) => {
                        let end = read_all(&mut input).1;
                        assert_eq!(input.unpacker().and_then(Unpacker::fault), None);
                        end.unwrap_err()
                    }
                    Err(error) => error,
                };
                assert_eq!(error.to_string(), "broken", "after {n} bytes");
            }
        }
    }
}
