//! A sliding window over a file or a pipe: what is read and not yet consumed stands in one piece.

use super::follow::Follower;
use super::notice::Notice;
use super::packed::{Compression, MaxRatio, Unpacker};
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

/// Bytes asked for in one read. A batch takes as many at most: with its events and their text they fit a second cache.
const CHUNK: usize = 128 << 10;

/// Bytes of an input that cannot be read again that are looked ahead at.
pub(in crate::reader) const MAX_LOOK_AHEAD: u64 = 16 << 20;

/// How many of them are kept in memory.
const LOOK_AHEAD_IN_MEMORY: usize = 1 << 20;

/// Bytes of a buffer that is handed over that may be copied twice, so that the next one can lend its own.
const LITTLE: usize = 4 << 10;

/// Where held bytes end at most in a buffer: batches tell their places in 32 bits. Only inputs in memory have larger ones.
const MAX_PLACE: usize = u32::MAX as usize;

/// Anything that can be read and positioned, such as a file or a cursor.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// Where trace bytes come from.
pub enum Input {
    /// A regular file: logs are read by position, and looking ahead costs no memory.
    Seekable(Box<dyn ReadSeek>),
    /// Bytes in memory: the same, but for events, which are formatted where they stand.
    Memory(Cursor<Bytes>),
    /// Anything that can be read: what is looked ahead at is kept.
    Stream(Box<dyn Read + Send>),
    /// A pipe, a terminal or a socket, which tells whether it has bytes at hand.
    Pipe(Pipe),
    /// A compressed file or pipe: what is read of it is unpacked.
    Packed(Box<Unpacker>),
    /// A growing file: reading waits at its end.
    Growing(Box<Follower>),
}

/// An opened pipe, terminal or socket.
pub struct Pipe {
    read: Box<dyn Read + Send>,
    /// What is asked for bytes.
    #[cfg(unix)]
    descriptor: Option<OwnedFd>,
}

impl Pipe {
    /// Whether the next read may wait.
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
    /// Opens a file, `-` being standard input. Whether it is compressed is told by its first bytes.
    ///
    /// # Errors
    /// The file cannot be opened or read.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") { Self::from_stdin() } else { Self::from_file(File::open(path)?) }
    }

    /// An opened file: seekable when it is a regular one that is not compressed.
    ///
    /// # Errors
    /// The file's kind cannot be told.
    pub fn from_file(mut file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Self::from_pipe(file);
        }
        let magic = Compression::read_magic(&mut file)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(match Compression::of(&magic) {
            Some(compression) => Input::Packed(Box::new(Unpacker::new(compression, file, Some(metadata.len())))),
            None => Input::Seekable(Box::new(file)),
        })
    }

    fn from_stdin() -> io::Result<Self> {
        #[cfg(unix)]
        return Self::from_pipe(File::from(io::stdin().as_fd().try_clone_to_owned()?));
        #[cfg(not(unix))]
        Self::from_read(io::stdin())
    }

    /// A pipe, which is asked whether it has bytes.
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

    /// Whether the next read may wait for another program.
    fn may_wait(&self) -> bool {
        match self {
            Input::Seekable(_) | Input::Memory(_) => false,
            Input::Pipe(pipe) => pipe.may_wait(),
            Input::Packed(unpacker) => unpacker.packed_size().is_none(),
            Input::Stream(_) | Input::Growing(_) => true,
        }
    }

    /// A pipe, a terminal or a socket. Waits for its first bytes, which tell whether it is compressed.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn from_read(mut read: impl Read + Send + 'static) -> io::Result<Self> {
        let magic = Compression::read_magic(&mut read)?;
        let compression = Compression::of(&magic);
        let whole = Cursor::new(magic).chain(read);
        Ok(match compression {
            Some(compression) => Input::Packed(Box::new(Unpacker::new(compression, whole, None))),
            None => Input::Stream(Box::new(whole)),
        })
    }

    /// Opens a file that grows, or a pipe.
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
                let text = format!("a file that {compression} made cannot be followed");
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
        }
    }

    /// The same input, of which a byte may come to so many, where it is compressed.
    #[must_use]
    pub fn within(mut self, max: MaxRatio) -> Self {
        if let Input::Packed(unpacker) = &mut self {
            unpacker.set_max_ratio(max);
        }
        self
    }

    /// Whether reading may wait for another program.
    pub(in crate::reader) fn is_live(&self) -> bool {
        !matches!(self, Input::Seekable(_) | Input::Memory(_))
    }

    /// Reads all of an input that has at most `max` bytes.
    ///
    /// # Errors
    /// The input cannot be read, or is compressed and damaged. If it has more bytes, the kind of the error is
    /// [`io::ErrorKind::FileTooLarge`].
    pub fn read_whole(&mut self, max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_rest(&mut bytes, max)?;
        Ok(bytes)
    }

    /// Reads the rest of an input that has at most `max` bytes, of which `bytes` were read before.
    ///
    /// # Errors
    /// As of [`Input::read_whole`].
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

    /// Appends the rest of the input to bytes of it, up to `max` bytes.
    ///
    /// # Errors
    /// The input cannot be read, or is compressed and damaged.
    pub fn read_on(&mut self, bytes: &mut Vec<u8>, max: u64) -> io::Result<()> {
        let left = self.size().ok().flatten().unwrap_or(0).saturating_sub(bytes.len() as u64).min(max);
        // A byte more tells that there is no more; what the size promises is not taken on trust.
        bytes.reserve_exact(left.min(1 << 26) as usize + 1);
        self.by_ref().take(max).read_to_end(bytes)?;
        match self.unpacker().and_then(Unpacker::fault) {
            Some(fault) => Err(io::Error::new(io::ErrorKind::InvalidData, fault)),
            None => Ok(()),
        }
    }

    /// What unpacks a compressed input.
    pub fn unpacker(&self) -> Option<&Unpacker> {
        if let Input::Packed(unpacker) = self { Some(unpacker) } else { None }
    }

    /// Bytes in memory, which stay where they are: a vector, a static slice, a mapped file.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Input::Memory(Cursor::new(Bytes::from_owner(bytes)))
    }

    /// Total bytes, where that is known.
    pub(in crate::reader) fn size(&mut self) -> io::Result<Option<u64>> {
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

/// How an input is compressed, and how much of it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// How it is compressed.
    pub compression: Compression,
    /// Bytes of the compressed file, where that is known.
    pub size: Option<u64>,
    /// Bytes of the compressed file that were read.
    pub offset: u64,
    /// Why the unpacked bytes end early.
    pub fault: Option<String>,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.compression.fmt(f)?;
        self.size.map_or(Ok(()), |size| write!(f, ", {size} bytes"))
    }
}

/// Bytes that were read, or those of an input in memory, which stay where they are.
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

/// A window's buffer that was handed over.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub bytes: Buffer,
    /// Offset in the file of the first byte.
    pub offset: u64,
}

/// Bytes of an input that cannot be read again, kept while looking ahead.
///
/// They are not kept in the window: its buffer would grow, and go from batch to batch at that size.
struct Ahead {
    /// The bytes, of which the first ones are in memory and the others in an unnamed temporary file.
    bytes: SpooledTempFile,
    /// How many there are; while they are read again, how many are left.
    n_bytes: u64,
    /// True once they are read again.
    is_replayed: bool,
    /// True if the input ends after them.
    is_last: bool,
}

impl Ahead {
    fn new(first: &[u8]) -> io::Result<Self> {
        let mut bytes = SpooledTempFile::new(LOOK_AHEAD_IN_MEMORY);
        bytes.write_all(first)?;
        Ok(Self { bytes, n_bytes: first.len() as u64, is_replayed: false, is_last: false })
    }

    /// Reads from the input, or again what was read before.
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

    /// True if the input itself is to be read from here on.
    fn is_used_up(&self) -> bool {
        self.is_replayed && !self.is_last && self.n_bytes == 0
    }
}

/// The unconsumed bytes of the area that is being read. Offsets count from the start of the file.
///
/// What is consumed may be held, so that it need not be copied: events are referred to by their places in the buffer,
/// until [`Window::hand_over`] gives the buffer away. Up to there nothing of it is moved or written over. Where reading
/// has no more room in it, or goes on elsewhere in the file, the buffer is left as it is, and what follows is read into
/// another one, of which nothing can be held. An input in memory is its own buffer, from some place on.
pub(in crate::reader) struct Window {
    input: Input,
    /// Always bytes that stand in a row in the file.
    buf: Buffer,
    start: usize,
    end: usize,
    /// Offset in the file of `buf[start]`.
    offset: u64,
    /// Offset in the file behind the area.
    area_end: u64,
    /// Of an input that cannot be read again: what looking ahead has read.
    ahead: Option<Ahead>,
    /// What is held, as places in `buf`, or in the buffer that was left.
    held: Option<Range<usize>>,
    /// The buffer with what is held, where reading has left it.
    left: Option<Taken>,
    ended: bool,
    /// Of a compressed input that was spooled.
    spooled: Option<Packing>,
    /// Bytes asked for in one read.
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
            held: None,
            left: None,
            ended: false,
            spooled: None,
            chunk: CHUNK,
        }
    }

    /// Reads in pieces of so many bytes.
    #[cfg(test)]
    pub fn in_pieces(input: Input, bytes: usize) -> Self {
        Self { chunk: bytes, ..Self::new(input) }
    }

    /// Reads in pieces of so many bytes from here on. What a seekable input has in memory is given back.
    pub fn set_chunk(&mut self, bytes: usize) -> io::Result<()> {
        self.chunk = bytes;
        if let Input::Seekable(input) = &mut self.input {
            input.seek(SeekFrom::Start(self.offset))?;
            self.leave(Buffer::default());
            (self.start, self.end, self.ended) = (0, 0, false);
        }
        Ok(())
    }

    /// How the input is compressed.
    pub fn packing(&self) -> Option<Packing> {
        let packing = |unpacker: &Unpacker| Packing {
            compression: unpacker.compression(),
            size: unpacker.packed_size(),
            offset: unpacker.packed_offset(),
            fault: unpacker.fault().map(str::to_owned),
        };
        self.input.unpacker().map(packing).or_else(|| self.spooled.clone())
    }

    /// Why the bytes of a compressed input end early, once they have ended.
    pub fn fault(&self) -> Option<String> {
        self.packing()?.fault
    }

    /// What is to be said of an input that has ended, beside where its bytes end.
    pub fn ending(&self) -> Option<Notice> {
        match &self.input {
            Input::Growing(follower) => follower.ending().map(Notice::warning),
            _ => self.fault().map(Notice::damage),
        }
    }

    /// Whether reading may wait for another program.
    pub fn is_live(&self) -> bool {
        self.input.is_live()
    }

    /// Whether reading more may wait for another program.
    pub fn may_wait(&self) -> bool {
        !self.ahead.as_ref().is_some_and(|ahead| ahead.is_replayed) && self.input.may_wait()
    }

    /// Reads on to the end of a compressed file whose bytes no longer make sense: it may say why.
    pub fn look_for_fault(&mut self) {
        if self.input.unpacker().is_some_and(|unpacker| unpacker.packed_size().is_some()) {
            let _ = io::copy(&mut self.input, &mut io::sink());
        }
    }

    /// How far the reading of the file is, in its own bytes: of a compressed one in compressed ones.
    pub fn progress(&self) -> u64 {
        self.input.unpacker().map_or(self.offset, Unpacker::packed_offset)
    }

    /// Bytes that may be looked at without reading, up to the area's end.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let n = ((self.end - self.start) as u64).min(self.area_end.saturating_sub(self.offset)) as usize;
        &self.buf[self.start..self.start + n]
    }

    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Steps over `n` of [`Window::bytes`].
    #[inline]
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }

    /// Whether nothing more can be read in the area.
    fn at_end(&self) -> bool {
        self.ended
            || self.offset + (self.end - self.start) as u64 >= self.area_end
            || self.ahead.as_ref().is_some_and(Ahead::is_full)
    }

    /// Reads more; `false` where the area or the input ends. One call of the input a call, so that a pipe's bytes
    /// come through as they arrive.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.at_end() {
            return Ok(false);
        }
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
        if !self.is_held()
            && let Buffer::Own(bytes) = &mut self.buf
        {
            bytes.copy_within(self.start..self.end, 0);
            self.move_to_front();
        }
        if !self.has_room() {
            self.go_on_in(Buffer::default());
        }
    }

    /// Whether there is room behind the last byte that is worth a read, or what is read stands there already.
    fn has_room(&self) -> bool {
        self.buf.is_lent() || self.buf.len() - self.end >= self.chunk / 2
    }

    /// The unconsumed bytes are at the buffer's start now.
    fn move_to_front(&mut self) {
        (self.start, self.end) = (0, self.end - self.start);
    }

    /// Goes on in another buffer, with what is needed of this one. One that is too small is replaced.
    fn go_on_in(&mut self, other: Buffer) {
        let n = self.end - self.start;
        let mut other = self.roomy(other, n);
        other[..n].copy_from_slice(&self.buf[self.start..self.end]);
        self.leave(Buffer::Own(other));
        self.move_to_front();
    }

    /// The buffer, or another one where it has no room behind `n` bytes.
    fn roomy(&self, buffer: Buffer, n: usize) -> Vec<u8> {
        match buffer {
            Buffer::Own(bytes) if bytes.len() >= n + self.chunk / 2 => bytes,
            // Memory that comes zeroed from the system is not touched before it is read into.
            _ => vec![0; (n + self.chunk / 2).next_power_of_two().max(self.chunk)],
        }
    }

    /// Puts another buffer in the place of this one, which stays as it is where it is held.
    fn leave(&mut self, other: Buffer) {
        let bytes = std::mem::replace(&mut self.buf, other);
        if self.is_held() {
            self.left = Some(Taken { bytes, offset: self.first_offset() });
        }
    }

    /// Offset in the file of the buffer's first byte.
    fn first_offset(&self) -> u64 {
        self.offset - self.start as u64
    }

    /// Whether bytes of the buffer are held.
    fn is_held(&self) -> bool {
        self.held.is_some() && self.left.is_none()
    }

    /// Where [`Window::bytes`] stand in the buffer; `None` where they cannot be held.
    pub fn place(&self) -> Option<usize> {
        (self.left.is_none() && self.end <= MAX_PLACE).then_some(self.start)
    }

    /// Holds the `n` bytes that were consumed last.
    pub fn hold(&mut self, n: usize) {
        let from = self.start - n;
        // Areas of a file may be read in any order.
        let held = self.held.take().unwrap_or(from..from);
        self.held = Some(held.start.min(from)..held.end.max(self.start));
    }

    /// Whether reading has left the buffer with what is held.
    pub fn has_left(&self) -> bool {
        self.left.is_some()
    }

    /// Whether reading more would have to leave what is held.
    pub fn would_leave(&self) -> bool {
        self.is_held() && !self.has_room() && !self.at_end()
    }

    /// Takes the buffer of one who holds nothing, where this one was handed over: what one thread reads and looks at
    /// stands in its own cache.
    pub fn lend(&mut self, own: &mut Taken) {
        if self.held.is_some() {
            return;
        }
        if let Buffer::Lent(bytes) = &mut self.buf {
            // Places count from here on.
            *bytes = bytes.slice(self.start..);
            self.move_to_front();
        } else if self.buf.len() < self.chunk / 2 {
            self.go_on_in(std::mem::take(&mut own.bytes));
        }
    }

    /// Hands over what is held, each byte at its place. That is the buffer itself, unless little of it was consumed.
    pub fn hand_over(&mut self, to: &mut Taken) {
        let Some(held) = self.held.take() else { return };
        let n_left = self.end - self.start;
        if let Some(left) = self.left.take() {
            *to = left;
        } else if let Buffer::Lent(bytes) = &self.buf {
            *to = Taken { bytes: Buffer::Lent(bytes.clone()), offset: self.first_offset() };
        } else if held.len() < n_left {
            let mut bytes = match std::mem::take(&mut to.bytes) {
                Buffer::Own(bytes) if bytes.len() >= held.end => bytes,
                _ => vec![0; self.buf.len()],
            };
            bytes[held.clone()].copy_from_slice(&self.buf[held]);
            *to = Taken { bytes: Buffer::Own(bytes), offset: self.first_offset() };
        } else {
            let offset = self.first_offset();
            // Where little is left, the next one lends a buffer of its own; else what is left is copied but once.
            let mut other =
                if n_left < LITTLE { vec![0; n_left] } else { self.roomy(std::mem::take(&mut to.bytes), n_left) };
            other[..n_left].copy_from_slice(&self.buf[self.start..self.end]);
            *to = Taken { bytes: std::mem::replace(&mut self.buf, Buffer::Own(other)), offset };
            (self.start, self.end) = (0, n_left);
        }
    }

    /// Begins to look ahead; [`Window::rewind`] comes back here. Of an input that cannot be read again, the window ends for
    /// now after [`MAX_LOOK_AHEAD`] bytes.
    ///
    /// # Errors
    /// There is no room for what is looked at.
    pub fn look_ahead(&mut self) -> io::Result<u64> {
        if self.is_live() {
            self.ahead = Some(Ahead::new(&self.buf[self.start..self.end])?);
        }
        Ok(self.offset)
    }

    /// Ends looking ahead and goes back to where it began.
    pub fn rewind(&mut self, to: u64) -> io::Result<()> {
        let Some(ahead) = &mut self.ahead else { return self.seek(to) };
        ahead.replay(self.ended)?;
        self.ahead.take_if(|ahead| ahead.is_used_up());
        (self.start, self.end, self.offset, self.ended) = (0, 0, to, false);
        Ok(())
    }

    /// Goes to a place of a seekable input; a pipe stays where it is.
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
                if self.is_held() { Buffer::default() } else { std::mem::take(&mut self.buf) }
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

    /// Restricts the window to the bytes before an offset of the file.
    pub fn set_area_end(&mut self, end: u64) {
        self.area_end = end;
        self.ended = false;
    }

    pub fn input_mut(&mut self) -> &mut Input {
        &mut self.input
    }

    /// Copies a pipe, of which nothing but what is in the window has been read, to an unnamed temporary file, since
    /// logs are read by position.
    pub fn spool(mut self) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
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
    use crate::unix_compress;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// Gives a byte at a time; a signal interrupts every other read, and at the end the input fails.
    struct Trying {
        bytes: Cursor<Vec<u8>>,
        interrupted: bool,
        fails: bool,
    }

    impl Read for Trying {
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

    /// Bytes, plain and packed in every way.
    fn packed(plain: &[u8]) -> [Vec<u8>; 4] {
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(plain).unwrap();
        let zstd = compress_to_vec(plain, CompressionLevel::Fastest);
        [plain.to_vec(), gzip.finish().unwrap(), zstd, unix_compress::compress(plain)]
    }

    /// What an input gives call by call, and how it ends.
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
    fn reads_that_a_signal_interrupts_are_made_again() {
        let plain = b"what a pipe gives, a byte at a time";
        for bytes in packed(plain) {
            let trying = Trying { bytes: Cursor::new(bytes), interrupted: false, fails: false };
            let (all, end) = read_all(&mut Input::from_read(trying).unwrap());
            assert_eq!(all, plain);
            end.unwrap();
        }
    }

    #[test]
    fn reads_that_fail_are_told_and_are_no_damage() {
        for bytes in packed(b"what comes before") {
            for n in [0, 1, bytes.len() - 1] {
                let bytes = Cursor::new(bytes[..n].to_vec());
                let error = match Input::from_read(Trying { bytes, interrupted: false, fails: true }) {
                    Ok(mut input) => {
                        let end = read_all(&mut input).1;
                        assert_eq!(input.unpacker().and_then(Unpacker::fault), None);
                        end.unwrap_err()
                    }
                    Err(error) => error,
                };
                assert_eq!(error.to_string(), "broken", "behind {n} bytes");
            }
        }
    }
}
