//! A sliding window over a file or a pipe: what is read and not yet consumed stands in one piece.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes asked for in one read.
const CHUNK: usize = 256 << 10;

/// Anything that can be read and positioned, such as a file or a cursor.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// Where trace bytes come from.
pub enum Input {
    /// A regular file, or bytes in memory: logs are read by position, and looking ahead costs no memory.
    Seekable(Box<dyn ReadSeek>),
    /// A pipe, a terminal or a socket: what is looked ahead at is kept.
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// An opened file: seekable when it is a regular one.
    ///
    /// # Errors
    /// The file's kind cannot be told.
    pub fn from_file(file: File) -> io::Result<Self> {
        Ok(if file.metadata()?.is_file() { Input::Seekable(Box::new(file)) } else { Input::Stream(Box::new(file)) })
    }

    /// Bytes in memory.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Input::Seekable(Box::new(io::Cursor::new(bytes.into())))
    }

    /// Total bytes, where that is known.
    pub(in crate::reader) fn size(&mut self) -> io::Result<Option<u64>> {
        match self {
            Input::Seekable(input) => {
                let size = input.seek(SeekFrom::End(0))?;
                input.seek(SeekFrom::Start(0))?;
                Ok(Some(size))
            }
            Input::Stream(_) => Ok(None),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = match self {
                Input::Seekable(input) => input.read(into),
                Input::Stream(input) => input.read(into),
            };
            match got {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                got => return got,
            }
        }
    }
}

/// The unconsumed bytes of the area that is being read. Offsets count from the start of the file.
pub(in crate::reader) struct Window {
    input: Input,
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the file of `buf[start]`.
    offset: u64,
    /// Offset in the file behind the area.
    area_end: u64,
    /// Where looking ahead began, as an index of `buf`: nothing from there on is dropped.
    pin: Option<usize>,
    ended: bool,
}

impl Window {
    pub fn new(input: Input) -> Self {
        Self { input, buf: Vec::new(), start: 0, end: 0, offset: 0, area_end: u64::MAX, pin: None, ended: false }
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

    /// Reads more; `false` where the area or the input ends. One call of the input a call, so that a pipe's bytes
    /// come through as they arrive.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.ended || self.offset + (self.end - self.start) as u64 >= self.area_end {
            return Ok(false);
        }
        self.make_room();
        let n = self.input.read(&mut self.buf[self.end..])?;
        self.end += n;
        self.ended = n == 0;
        Ok(n > 0)
    }

    fn make_room(&mut self) {
        let keep = self.pin.unwrap_or(self.start).min(self.start);
        if self.buf.len() - self.end >= CHUNK / 2 {
            return;
        }
        self.buf.copy_within(keep..self.end, 0);
        self.start -= keep;
        self.end -= keep;
        self.pin = self.pin.map(|pin| pin - keep);
        if self.buf.len() - self.end < CHUNK / 2 {
            // Memory that comes zeroed from the system is not touched before it is read into.
            let mut larger = vec![0; (self.end + CHUNK).next_power_of_two()];
            larger[..self.end].copy_from_slice(&self.buf[..self.end]);
            self.buf = larger;
        }
    }

    /// Begins to look ahead; [`Window::rewind`] comes back here.
    pub fn pin(&mut self) -> u64 {
        if matches!(self.input, Input::Stream(_)) {
            self.pin = Some(self.start);
        }
        self.offset
    }

    /// Bytes that looking ahead holds in memory.
    pub fn pinned(&self) -> usize {
        self.pin.map_or(0, |pin| self.end - pin)
    }

    /// Ends looking ahead and goes back to where it began.
    pub fn rewind(&mut self, to: u64) -> io::Result<()> {
        match self.pin.take() {
            Some(pin) => {
                self.start = pin;
                self.offset = to;
                Ok(())
            }
            None => self.seek(to),
        }
    }

    /// Goes to a place of a seekable input; a pipe stays where it is.
    pub fn seek(&mut self, to: u64) -> io::Result<()> {
        let first = self.offset - self.start as u64;
        if to >= first && to - first <= self.end as u64 {
            self.start = (to - first) as usize;
            self.offset = to;
            return Ok(());
        }
        if let Input::Seekable(input) = &mut self.input {
            input.seek(SeekFrom::Start(to))?;
            (self.start, self.end, self.offset, self.ended) = (0, 0, to, false);
        }
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

    /// The input, when nothing but what is in the window has been read from it; for spooling a pipe.
    pub fn into_parts(self) -> (Vec<u8>, Input) {
        (self.buf[self.start..self.end].to_vec(), self.input)
    }
}
