//! zstd by a decoder in Rust.

use super::*;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// Empty last block with a checksum. It makes the decoder return the bytes that it keeps back for its window.
const END_OF_FRAME: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Decoder of zstd frames.
pub(in super::super) struct Zstd {
    input: PackedBytes,
    decoder: FrameDecoder,
    state: ZstdState,
}

/// Expected next part of the file.
enum ZstdState {
    /// A frame, or the end of the file.
    Frame,
    Block,
    /// Error to return after the decoded bytes.
    Fault(Option<io::Error>),
}

impl Zstd {
    pub fn new(input: PackedBytes) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { input, decoder, state: ZstdState::Frame }
    }

    pub fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            match &mut self.state {
                ZstdState::Fault(fault) => return fault.take().map_or(Ok(0), Err),
                ZstdState::Block if self.decoder.is_finished() => self.end_frame()?,
                ZstdState::Block => self.block()?,
                ZstdState::Frame if self.input.0.fill_buf()?.is_empty() => return Ok(0),
                ZstdState::Frame => self.frame()?,
            }
        }
    }

    fn frame(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        match self.decoder.reset(&mut self.input.0) {
            Ok(()) => self.state = ZstdState::Block,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                skip(&mut self.input, length)?;
            }
            Err(FrameDecoderError::WindowSizeTooBig { requested, .. }) => {
                return Err(window_too_large(start, requested));
            }
            Err(FrameDecoderError::DictNotProvided { dict_id }) => return Err(needs_dictionary(start, dict_id)),
            Err(_) if self.input.0.fill_buf()?.is_empty() => return Err(cut_header(self.input.offset(), start)),
            Err(_) => return Err(no_frame(start)),
        }
        Ok(())
    }

    fn block(&mut self) -> io::Result<()> {
        let start = self.input.offset();
        let Err(_) = self.decoder.decode_blocks(&mut self.input.0, BlockDecodingStrategy::UptoBlocks(1)) else {
            return Ok(());
        };
        let fault = if self.input.0.fill_buf()?.is_empty() {
            cut_block(self.input.offset(), start)
        } else {
            damaged_block(start)
        };
        self.state = ZstdState::Fault(Some(fault));
        // The earlier blocks are valid, so their bytes are returned even if the frame is not.
        let _ = self.decoder.decode_blocks(&END_OF_FRAME[..], BlockDecodingStrategy::UptoBlocks(1));
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.state = ZstdState::Frame;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(expected), Some(sum)) if expected != sum => {
                Err(wrong_checksum(self.input.offset().saturating_sub(4), expected))
            }
            _ => Ok(()),
        }
    }
}
