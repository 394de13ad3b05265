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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zstd::Zstd;

/// Compressed bytes that are asked for in one read.
const BUFFER: usize = 64 << 10;
/// First bytes that tell how a file is compressed.
const MAGIC_BYTES: usize = 4;

/// The most bytes that a byte of a compressed file may come to, once more than 16 MiB are unpacked. The flag
/// `--max-ratio`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxRatio(pub u32);

impl Default for MaxRatio {
    /// 1100: more than deflate can come to, which is 1032.
    fn default() -> Self {
        Self(1100)
    }
}

/// Unpacked bytes that are no concern, whatever they were packed to.
const FREE: u64 = 16 << 20;

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
    n_unpacked: u64,
    max_ratio: MaxRatio,
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
        Self { compression, codec, meter, size, fault: None, n_unpacked: 0, max_ratio: MaxRatio::default() }
    }

    /// Takes other inputs for bombs than those of the default ratio.
    pub fn set_max_ratio(&mut self, max: MaxRatio) {
        self.max_ratio = max;
    }

    /// What is wrong with an input that comes to far more bytes than it has.
    fn excess(&self) -> Option<String> {
        let (packed, MaxRatio(max)) = (self.packed_offset(), self.max_ratio);
        let most = packed.saturating_mul(max.into()).max(FREE);
        (self.n_unpacked > most).then(|| {
            format!(
                "{}: the first {packed} bytes come to {}, more than {max} times as many: not read on (--max-ratio)",
                self.compression, self.n_unpacked
            )
        })
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
                self.fault = self.excess();
                Ok(n)
            }
            got => got,
        }
    }
}

/// What was read of a compressed file.
#[derive(Debug, Default)]
struct Meter {
    n_read: AtomicU64,
    /// Why the file itself cannot be read, which is another thing than damage.
    failure: Mutex<Option<io::Error>>,
}

/// The bytes of a compressed file.
struct Packed {
    inner: Box<dyn Read + Send>,
    meter: Arc<Meter>,
}

impl Read for Packed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(out);
        match got {
            Ok(n) => {
                self.meter.n_read.fetch_add(n as u64, Ordering::Relaxed);
                Ok(n)
            }
            // Whatever the decoder makes of it.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let again = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
                *self.meter.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(again)
            }
            got => got,
        }
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
