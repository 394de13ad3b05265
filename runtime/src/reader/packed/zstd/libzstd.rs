//! zstd through the C library, in a third of the time of the decoder in Rust.
//!
//! [`Zstd`] walks over the frames itself and gives the library one header, block or checksum at a time. So each error
//! has the offset of the part that caused it, and the bytes of the blocks before it are not lost.

use super::*;
use std::io::BufRead;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// Magic number and the longest header: descriptor, window, dictionary id and content size.
const MAX_HEADER: usize = 4 + 14;

/// Decoder of zstd frames.
pub(in super::super) struct Zstd {
    input: PackedBytes,
    decoder: DCtx<'static>,
    state: ZstdState,
    /// True if the current frame ends with a checksum.
    has_checksum: bool,
}

/// Expected next part of the file.
#[derive(Clone, Copy)]
enum ZstdState {
    /// A frame, or the end of the file.
    Frame,
    BlockHeader,
    /// Bytes of a block, or output that the library still keeps.
    Block(Block),
    Checksum {
        block: u64,
    },
}

#[derive(Clone, Copy)]
struct Block {
    /// Offset of the block's header in the compressed file.
    start: u64,
    n_left: u32,
    is_last: bool,
}

impl Zstd {
    pub fn new(input: PackedBytes) -> Self {
        let mut decoder = DCtx::create();
        decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW.ilog2())).expect("zstd's own limit");
        Self { input, decoder, state: ZstdState::Frame, has_checksum: false }
    }

    pub fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state {
                ZstdState::Frame if self.input.0.fill_buf()?.is_empty() => return Ok(0),
                ZstdState::Frame => self.frame()?,
                ZstdState::BlockHeader => self.block_header()?,
                ZstdState::Block(block) => {
                    let n = self.block(block, out)?;
                    if n > 0 {
                        return Ok(n);
                    }
                }
                ZstdState::Checksum { block } => self.checksum(block)?,
            }
        }
    }

    fn frame(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        let mut bytes = [0; MAX_HEADER];
        let header = self.header(start, &mut bytes)?;
        let Some(header) = header else {
            let length = self.input.array(|end| cut_header(end, start))?;
            return skip(&mut self.input, u32::from_le_bytes(length));
        };
        if header.window > MAX_WINDOW {
            return Err(window_too_large(start, header.window));
        }
        if header.dictionary != 0 {
            return Err(needs_dictionary(start, header.dictionary));
        }
        self.has_checksum = header.has_checksum;
        let started = self.decoder.reset(ResetDirective::SessionOnly).is_ok();
        if !started || feed(&mut self.decoder, &bytes[..header.len], &mut []).is_none() {
            return Err(no_frame(start));
        }
        self.state = ZstdState::BlockHeader;
        Ok(())
    }

    /// Reads the magic number and the header of the frame at an offset; of a skippable frame (`None`) only the former.
    fn header(&mut self, start: u64, bytes: &mut [u8; MAX_HEADER]) -> io::Result<Option<Header>> {
        let input = &mut self.input;
        input.fill(&mut bytes[..4], |end| cut_header(end, start))?;
        match bytes[..4] {
            [0x28, 0xB5, 0x2F, 0xFD] => {}
            [0x50..=0x5F, 0x2A, 0x4D, 0x18] => return Ok(None),
            _ => return Err(no_frame(start)),
        }
        input.fill(&mut bytes[4..5], |end| cut_header(end, start))?;
        let descriptor = bytes[4];
        let is_single_segment = descriptor & 0x20 != 0;
        let window_len = usize::from(!is_single_segment);
        let dictionary_len = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size_len = match descriptor >> 6 {
            0 => usize::from(is_single_segment),
            code => 1 << code,
        };
        let dictionary_at = 5 + window_len;
        let size_at = dictionary_at + dictionary_len;
        let len = size_at + size_len;
        input.fill(&mut bytes[5..len], |end| cut_header(end, start))?;
        let window = if is_single_segment {
            // Two bytes count from 256 on.
            number(&bytes[size_at..len]) + if size_len == 2 { 256 } else { 0 }
        } else {
            let base = 1_u64 << (10 + (bytes[5] >> 3));
            base + base / 8 * u64::from(bytes[5] & 7)
        };
        let dictionary = number(&bytes[dictionary_at..size_at]) as u32;
        Ok(Some(Header { len, window, dictionary, has_checksum: descriptor & 4 != 0 }))
    }

    fn block_header(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        let bytes @ [low, middle, high] = self.input.array(|end| cut_block(end, start))?;
        let header = u32::from_le_bytes([low, middle, high, 0]);
        // A block of one repeated byte gives the number of repetitions as its size.
        let n_left = if header >> 1 & 3 == 1 { 1 } else { header >> 3 };
        feed(&mut self.decoder, &bytes, &mut []).ok_or_else(|| damaged_block(start))?;
        self.state = ZstdState::Block(Block { start, n_left, is_last: header & 1 != 0 });
        Ok(())
    }

    /// Decodes bytes of a block, and returns the number of bytes written to `out`.
    fn block(&mut self, mut block: Block, out: &mut [u8]) -> io::Result<usize> {
        let packed = self.input.0.fill_buf()?;
        let is_cut = packed.is_empty() && block.n_left > 0;
        let packed = &packed[..packed.len().min(block.n_left as usize)];
        let fed = feed(&mut self.decoder, packed, out).ok_or_else(|| damaged_block(block.start))?;
        self.input.0.consume(fed.n_in);
        block.n_left -= fed.n_in as u32;
        self.state = match block {
            _ if fed.n_out > 0 || fed.n_in > 0 => ZstdState::Block(block),
            Block { start, .. } if is_cut => return Err(cut_block(self.input.offset(), start)),
            // Without progress in input or output, this loop would never end.
            Block { n_left: 1.., start, .. } => return Err(damaged_block(start)),
            Block { is_last: false, .. } => ZstdState::BlockHeader,
            Block { start, .. } if self.has_checksum => ZstdState::Checksum { block: start },
            _ => ZstdState::Frame,
        };
        Ok(fed.n_out)
    }

    fn checksum(&mut self, block: u64) -> io::Result<()> {
        let start = self.input.offset();
        let sum = self.input.array(|end| cut_block(end, block))?;
        feed(&mut self.decoder, &sum, &mut []).ok_or_else(|| wrong_checksum(start, u32::from_le_bytes(sum)))?;
        self.state = ZstdState::Frame;
        Ok(())
    }
}

/// Header of a frame.
struct Header {
    /// Length in bytes, with the magic number.
    len: usize,
    /// Size of the window in bytes.
    window: u64,
    /// Id of the dictionary; 0 if the frame needs none.
    dictionary: u32,
    has_checksum: bool,
}

/// Numbers of bytes that the library took and wrote.
struct Fed {
    n_in: usize,
    n_out: usize,
}

/// Gives bytes to the library; `None` if they are not valid.
fn feed(decoder: &mut DCtx<'static>, packed: &[u8], out: &mut [u8]) -> Option<Fed> {
    let mut input = InBuffer::around(packed);
    let mut output = OutBuffer::around(out);
    decoder.decompress_stream(&mut output, &mut input).ok()?;
    Some(Fed { n_in: input.pos(), n_out: output.pos() })
}

/// Little-endian number of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
