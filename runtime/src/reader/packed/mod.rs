//! Compressed inputs, told by their first bytes and unpacked as they are read.
//!
//! ```text
//! 1F 8B        gzip, one or more members
//! 1F 9D        compress, `.Z`
//! 28 B5 2F FD  zstd, one or more frames; 50 to 5F 2A 4D 18 is a frame to step over
//! ```
//!
//! What is damaged or cut short ends early: all that could be unpacked before is given out, and [`Unpacker::fault`] says
//! what is wrong, with the place in the compressed file. Memory is bounded: 32 KiB of history for gzip, 65,536 codes
//! for `.Z`, and at most 128 MiB for zstd, as zstd's own command takes.

mod gzip;
mod zstd;

use crate::unix_compress;
use gzip::Gzip;
use std::fmt;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use zstd::Zstd;

/// Compressed bytes that are asked for in one read.
const BUFFER: usize = 64 << 10;
/// First bytes that tell how a file is compressed.
const MAGIC_BYTES: usize = 4;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
    /// `.Z`, of compress(1).
    Compress,
}

impl Compression {
    /// What the first bytes of a file say; `None` for one that is not compressed.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1F, 0x8B, ..] => Some(Compression::Gzip),
            [0x1F, 0x9D, ..] => Some(Compression::Compress),
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Whether more bytes may show that a file is compressed.
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

    /// Reads as many first bytes as tell how an input is compressed, and no more.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn read_magic(input: &mut impl Read) -> io::Result<Vec<u8>> {
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

/// Gives the unpacked bytes of a compressed input.
pub struct Unpacker {
    compression: Compression,
    codec: Codec,
    meter: Arc<Meter>,
    size: Option<u64>,
    fault: Option<String>,
}

enum Codec {
    Gzip(Box<Gzip>),
    Zstd(Box<Zstd>),
    Compress(Box<unix_compress::Reader<Packed>>),
}

impl Unpacker {
    /// Unpacks what `input` gives, of which `size` bytes are known to come.
    pub fn new(compression: Compression, input: impl Read + Send + 'static, size: Option<u64>) -> Self {
        let meter = Arc::new(Meter::default());
        let packed = Packed { inner: Box::new(input), meter: Arc::clone(&meter) };
        let codec = match compression {
            Compression::Gzip => Codec::Gzip(Box::new(Gzip::new(PackedBytes::new(packed)))),
            Compression::Zstd => Codec::Zstd(Box::new(Zstd::new(PackedBytes::new(packed)))),
            Compression::Compress => Codec::Compress(Box::new(unix_compress::Reader::new(packed))),
        };
        Self { compression, codec, meter, size, fault: None }
    }

    /// How the input is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Bytes of the compressed file, where that is known.
    pub fn packed_size(&self) -> Option<u64> {
        self.size
    }

    /// Bytes of the compressed file that were read so far.
    pub fn packed_offset(&self) -> u64 {
        self.meter.n_read.load(Ordering::Relaxed)
    }

    /// Why the bytes ended early: damaged or cut, and where in the compressed file.
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
        match got {
            Err(error) if error.kind() != io::ErrorKind::Interrupted && !self.meter.failed.load(Ordering::Relaxed) => {
                self.fault = Some(format!("{}: {error}", self.compression));
                Ok(0)
            }
            got => got,
        }
    }
}

/// What was read of a compressed file.
#[derive(Debug, Default)]
struct Meter {
    n_read: AtomicU64,
    /// The file itself cannot be read, which is another thing than damage.
    failed: AtomicBool,
}

/// The bytes of a compressed file.
struct Packed {
    inner: Box<dyn Read + Send>,
    meter: Arc<Meter>,
}

impl Read for Packed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(out);
        match &got {
            Ok(n) => {
                self.meter.n_read.fetch_add(*n as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.meter.failed.store(true, Ordering::Relaxed),
        }
        got
    }
}

/// The bytes of a compressed file, with their places.
struct PackedBytes(BufReader<Packed>);

impl PackedBytes {
    fn new(packed: Packed) -> Self {
        Self(BufReader::with_capacity(BUFFER, packed))
    }

    /// Offset in the compressed file of the next byte.
    fn offset(&self) -> u64 {
        self.0.get_ref().meter.n_read.load(Ordering::Relaxed) - self.0.buffer().len() as u64
    }
}

/// Bytes that cannot be.
fn damaged(offset: u64, what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged at offset {offset:#x} of the compressed file: {what}"))
}

/// The compressed file ends too early.
fn cut(offset: u64, expected: impl fmt::Display) -> io::Error {
    let text = format!("cut short at offset {offset:#x} of the compressed file: expected {expected}");
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_are_read_as_far_as_they_may_matter() {
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
