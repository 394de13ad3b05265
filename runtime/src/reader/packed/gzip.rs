//! gzip: a sequence of members, each with a header, deflated bytes and a checksum.

use super::bytes::{PackedBytes, cut, damaged};
use flate2::{Crc, Decompress, FlushDecompress, Status};
use std::io::{self, BufRead};

/// Size of the output buffer. It is larger than deflate's history, so that no bytes are lost if an error ends them.
const BUFFER: usize = 64 << 10;

mod flags {
    pub const HEADER_SUM: u8 = 2;
    pub const EXTRA: u8 = 4;
    pub const NAME: u8 = 8;
    pub const COMMENT: u8 = 16;
    pub const RESERVED: u8 = 0xE0;
}

/// Decoder of gzip members.
pub(super) struct Gzip {
    input: PackedBytes,
    inflate: Decompress,
    sum: Crc,
    state: GzipState,
    /// Decoded bytes. Those from `at` to `end` have not been returned yet.
    buffer: Vec<u8>,
    at: usize,
    end: usize,
}

/// Expected next part of the file.
enum GzipState {
    First,
    Body,
    Trailer,
    Next,
    /// Error to return after the decoded bytes.
    Fault(Option<io::Error>),
}

impl Gzip {
    pub fn new(input: PackedBytes) -> Self {
        Self {
            input,
            inflate: Decompress::new(false),
            sum: Crc::new(),
            state: GzipState::First,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
        }
    }

    pub fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.end {
            match &mut self.state {
                GzipState::First => self.header()?,
                GzipState::Body => self.inflate()?,
                GzipState::Trailer => self.trailer()?,
                GzipState::Next => {
                    if !self.has_next()? {
                        return Ok(0);
                    }
                    self.header()?;
                }
                GzipState::Fault(fault) => return fault.take().map_or(Ok(0), Err),
            }
        }
        let n = out.len().min(self.end - self.at);
        out[..n].copy_from_slice(&self.buffer[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }

    fn bytes<const N: usize>(&mut self, expected: &str) -> io::Result<[u8; N]> {
        let start = self.input.offset();
        self.input.array(|end| cut(end, format_args!("{expected} from {start:#x} on")))
    }

    fn header(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        let [0x1F, 0x8B, method, flags, ..] = self.bytes::<10>("the 10 bytes of a gzip header")? else {
            return Err(damaged(start, "expected a gzip member (1F 8B) or the end of the file"));
        };
        if method != 8 || flags & flags::RESERVED != 0 {
            let found =
                format_args!("found method {method} and flags {flags:#04x}, expected method 8 and no reserved flag");
            return Err(damaged(start + 2, found));
        }
        if flags & flags::EXTRA != 0 {
            let n = u16::from_le_bytes(self.bytes("the length of the extra field")?);
            // Byte by byte, because the length comes from the file and must not size a buffer.
            for _ in 0..n {
                self.bytes::<1>("the extra field")?;
            }
        }
        for text in [flags::NAME, flags::COMMENT] {
            if flags & text != 0 {
                while self.bytes::<1>("the end of the header's name or comment")? != [0] {}
            }
        }
        if flags & flags::HEADER_SUM != 0 {
            self.bytes::<2>("the sum over the header")?;
        }
        self.inflate.reset(false);
        self.sum.reset();
        self.state = GzipState::Body;
        Ok(())
    }

    fn inflate(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        let packed = self.input.0.fill_buf()?;
        if packed.is_empty() {
            return Err(cut(start, "more deflated bytes"));
        }
        let (n_in, n_out) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(packed, &mut self.buffer, FlushDecompress::None);
        let n_in = (self.inflate.total_in() - n_in) as usize;
        self.input.0.consume(n_in);
        (self.at, self.end) = (0, (self.inflate.total_out() - n_out) as usize);
        self.sum.update(&self.buffer[..self.end]);
        match status {
            Ok(Status::StreamEnd) => self.state = GzipState::Trailer,
            // Without progress in input or output, this loop would never end.
            Ok(_) if n_in > 0 || self.end > 0 => {}
            Ok(_) | Err(_) => {
                let fault = damaged(self.input.offset(), "the deflated bytes are not valid");
                self.state = GzipState::Fault(Some(fault));
            }
        }
        Ok(())
    }

    fn trailer(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        let [sum, size] = [self.number()?, self.number()?];
        // Reported after the bytes, which were returned already. Most damage shows earlier, in the events.
        if (sum, size) != (self.sum.sum(), self.sum.amount()) {
            let found = format_args!(
                "the unpacked bytes have checksum {:08x} and size {}, expected {sum:08x} and {size}",
                self.sum.sum(),
                self.sum.amount()
            );
            return Err(damaged(start, found));
        }
        self.state = GzipState::Next;
        Ok(())
    }

    fn number(&mut self) -> io::Result<u32> {
        self.bytes("the 8 bytes of checksum and size").map(u32::from_le_bytes)
    }

    /// True if another member follows. Zeros after the last member are skipped: they pad the block of a tape.
    fn has_next(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.input.0.fill_buf()?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            let (left, ended) = (bytes.len() > zeros, bytes.is_empty());
            self.input.0.consume(zeros);
            if left || ended {
                return Ok(left);
            }
        }
    }
}
