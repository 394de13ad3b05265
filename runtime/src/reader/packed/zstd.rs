//! zstd: frames one after another, with checked sums.

use super::{PackedBytes, cut, damaged};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// The largest window, in bytes: what zstd's own command takes without being told to take more.
const MAX_WINDOW: u64 = 128 << 20;
/// An empty last block, and a sum: behind it, a decoder gives out what it held back.
const END_OF_FRAME: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Unpacks frames.
pub(super) struct Zstd {
    input: PackedBytes,
    decoder: FrameDecoder,
    place: Place,
}

/// What the compressed file goes on with.
enum Place {
    /// A frame, or its end.
    Frame,
    Block,
    /// Said once the bytes before are given out.
    Fault(Option<io::Error>),
}

impl Zstd {
    pub fn new(input: PackedBytes) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { input, decoder, place: Place::Frame }
    }

    pub fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            match &mut self.place {
                Place::Fault(fault) => return fault.take().map_or(Ok(0), Err),
                Place::Block if self.decoder.is_finished() => self.end_frame()?,
                Place::Block => self.block()?,
                Place::Frame if self.input.0.fill_buf()?.is_empty() => return Ok(0),
                Place::Frame => self.frame()?,
            }
        }
    }

    fn frame(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        match self.decoder.reset(&mut self.input.0) {
            Ok(()) => self.place = Place::Block,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let n = io::copy(&mut self.input.0.by_ref().take(length.into()), &mut io::sink())?;
                if n < length.into() {
                    return Err(cut(self.input.offset(), format_args!("a frame of {length} bytes to step over")));
                }
            }
            Err(FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                let what = format_args!(
                    "a window of {requested} bytes, more than {max}: unpack it first, with `zstd -d --long=31`"
                );
                return Err(damaged(start, what));
            }
            Err(FrameDecoderError::DictNotProvided { dict_id }) => {
                return Err(damaged(start, format_args!("a frame made with dictionary {dict_id}: unpack it first")));
            }
            Err(_) if self.input.0.fill_buf()?.is_empty() => {
                return Err(cut(self.input.offset(), format_args!("the header of a zstd frame from {start:#x} on")));
            }
            Err(_) => return Err(damaged(start, "expected a zstd frame or the end")),
        }
        Ok(())
    }

    fn block(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        let Err(_) = self.decoder.decode_blocks(&mut self.input.0, BlockDecodingStrategy::UptoBlocks(1)) else {
            return Ok(());
        };
        let fault = if self.input.0.fill_buf()?.is_empty() {
            cut(self.input.offset(), format_args!("more of the zstd block at {start:#x}"))
        } else {
            damaged(start, "the zstd block makes no sense")
        };
        self.place = Place::Fault(Some(fault));
        // What the blocks before gave is sound, whatever becomes of the frame.
        let _ = self.decoder.decode_blocks(&END_OF_FRAME[..], BlockDecodingStrategy::UptoBlocks(1));
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.place = Place::Frame;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(expected), Some(found)) if expected != found => {
                let what = format_args!("the bytes before have sum {found:08x}, expected {expected:08x}");
                Err(damaged(self.input.offset().saturating_sub(4), what))
            }
            _ => Ok(()),
        }
    }
}
