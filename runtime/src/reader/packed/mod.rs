//! Compressed inputs, detected by their first bytes and decompressed while reading.
//!
//! ```text
//! 1F 8B        gzip, one or more members
//! 1F 9D        compress, `.Z`
//! 28 B5 2F FD  zstd, one or more frames; 50 to 5F 2A 4D 18 is a skippable frame
//! ```
//!
//! A damaged or truncated input ends early: everything before the damage is returned, and [`Unpacker::fault`] describes
//! the problem and its offset in the compressed file. Memory is bounded: 32 KiB of history for gzip, 65,536 codes for
//! `.Z` (1 MiB), and at most 128 MiB for zstd, which is also the limit of zstd's own command.

mod bytes;
mod gzip;
pub mod unix_compress;
mod zstd;

use bytes::{Meter, Packed, PackedBytes};
use gzip::Gzip;
use std::fmt;
use std::io::{self, Read};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use zstd::Zstd;

/// Number of first bytes that determine the compression.
const MAGIC_BYTES: usize = 4;

/// Largest accepted ratio of unpacked to packed bytes, checked from 16 MiB of unpacked bytes on. A guard against
/// decompression bombs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxRatio(pub u32);

impl Default for MaxRatio {
    /// 1100, just above the largest ratio of deflate, 1032.
    fn default() -> Self {
        Self(1100)
    }
}

/// Number of unpacked bytes that are accepted at any ratio.
const UNCHECKED_BYTES: u64 = 16 << 20;

/// Compression format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// gzip, `.gz`.
    Gzip,
    /// zstd, `.zst`.
    Zstd,
    /// compress(1), `.Z`.
    Compress,
}

impl Compression {
    /// Detects the compression from a file's first bytes; `None` if it is not compressed.
    #[doc(hidden)]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1F, 0x8B, ..] => Some(Compression::Gzip),
            [0x1F, 0x9D, ..] => Some(Compression::Compress),
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// True if the compression cannot be determined without more bytes.
    fn may_begin(bytes: &[u8]) -> bool {
        match bytes {
            [] | [0x1F] => true,
            [first, rest @ ..] if rest.len() < MAGIC_BYTES - 1 => {
                (*first == 0x28 && [0xB5, 0x2F, 0xFD].starts_with(rest))
                    || ((0x50..=0x5F).contains(first) && [0x2A, 0x4D, 0x18].starts_with(rest))
            }
            _ => false,
        }
    }

    /// Reads just enough first bytes to determine the compression.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(crate) fn read_magic(input: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut magic = Vec::new();
        while Self::may_begin(&magic) {
            let mut byte = [0];
            match input.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => magic.extend(byte),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(magic)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Compress => "compress (.Z)",
        })
    }
}

/// Reader that decompresses its input.
pub struct Unpacker {
    compression: Compression,
    codec: Codec,
    meter: Arc<Meter>,
    size: Option<u64>,
    fault: Option<String>,
    n_unpacked: u64,
    max_ratio: MaxRatio,
}

enum Codec {
    Gzip(Box<Gzip>),
    Zstd(Box<Zstd>),
    Compress(Box<unix_compress::Reader<Packed>>),
}

impl Unpacker {
    /// Creates a decompressing reader. `size` is the compressed size, if it is known.
    pub fn new(compression: Compression, input: impl Read + Send + 'static, size: Option<u64>) -> Self {
        let meter = Arc::new(Meter::default());
        let packed = Packed { inner: Box::new(input), meter: Arc::clone(&meter) };
        let codec = match compression {
            Compression::Gzip => Codec::Gzip(Box::new(Gzip::new(PackedBytes::new(packed)))),
            Compression::Zstd => Codec::Zstd(Box::new(Zstd::new(PackedBytes::new(packed)))),
            Compression::Compress => Codec::Compress(Box::new(unix_compress::Reader::new(packed))),
        };
        Self { compression, codec, meter, size, fault: None, n_unpacked: 0, max_ratio: MaxRatio::default() }
    }

    /// Sets the largest accepted ratio.
    pub fn set_max_ratio(&mut self, max: MaxRatio) {
        self.max_ratio = max;
    }

    /// Returns a message if the ratio is above the limit.
    fn ratio_message(&self) -> Option<String> {
        let (packed, MaxRatio(max)) = (self.packed_offset(), self.max_ratio);
        // Small files are not checked, because a kilobyte of zeros can have any ratio.
        let most = packed.saturating_mul(max.into()).max(UNCHECKED_BYTES);
        (self.n_unpacked > most).then(|| {
            format!(
                "{}: the first {packed} bytes unpack to {}, more than {max} times as many; reading stops (--max-ratio raises the limit)",
                self.compression, self.n_unpacked
            )
        })
    }

    /// Compression of the input.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Size of the compressed file in bytes, if it is known.
    pub fn packed_size(&self) -> Option<u64> {
        self.size
    }

    /// Number of compressed bytes read so far.
    pub fn packed_offset(&self) -> u64 {
        self.meter.n_read.load(Ordering::Relaxed)
    }

    /// Reason why the input ended early, with the offset in the compressed file.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}

impl Read for Unpacker {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.fault.is_some() || out.is_empty() {
            return Ok(0);
        }
        let got = match &mut self.codec {
            Codec::Gzip(gzip) => gzip.read(out),
            Codec::Zstd(zstd) => zstd.read(out),
            Codec::Compress(reader) => reader.read(out),
        };
        // An error of the disk is not damage to the file, and ends with status 1.
        if let Some(error) = self.meter.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        match got {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.fault = Some(format!("{}: {error}", self.compression));
                Ok(0)
            }
            Ok(n) => {
                self.n_unpacked += n as u64;
                self.fault = self.ratio_message();
                Ok(n)
            }
            got => got,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_first_bytes_are_read_than_needed() {
        for (bytes, n, compression) in [
            (&[0x1F, 0x8B, 8, 0][..], 2, Some(Compression::Gzip)),
            (&[0x1F, 0x9D, 0x90], 2, Some(Compression::Compress)),
            (&[0x28, 0xB5, 0x2F, 0xFD, 0], 4, Some(Compression::Zstd)),
            (&[0x5A, 0x2A, 0x4D, 0x18, 0], 4, Some(Compression::Zstd)),
            (&[0x28, 0xB5, 0x2F, 0xFE, 0], 4, None),
            (b"TRACE_HEADER", 2, None),
            (&[0xEF, 0xDF, 0x11, 0x14], 1, None),
            (&[0x1F, 0x9E], 2, None),
            (&[], 0, None),
        ] {
            let magic = Compression::read_magic(&mut &bytes[..]).unwrap();
            assert_eq!((magic.as_slice(), Compression::of(&magic)), (&bytes[..n], compression));
        }
    }
}
