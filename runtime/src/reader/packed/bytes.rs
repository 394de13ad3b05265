//! The bytes of a compressed file, with their offsets and the errors about them.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Size of one read of compressed bytes.
const BUFFER: usize = 64 << 10;
/// Progress of reading a compressed file, shared with the codec that owns the file.
#[derive(Debug, Default)]
pub(super) struct Meter {
    pub(super) n_read: AtomicU64,
    /// I/O error of the file itself. Stored separately, because codecs would report it as damage.
    pub(super) failure: Mutex<Option<io::Error>>,
}

/// The compressed file, with its progress recorded.
pub(super) struct Packed {
    pub(super) inner: Box<dyn Read + Send>,
    pub(super) meter: Arc<Meter>,
}

impl Read for Packed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(out);
        match got {
            Ok(n) => {
                self.meter.n_read.fetch_add(n as u64, Ordering::Relaxed);
                Ok(n)
            }
            // The codec gets an error of the same kind; the original is returned to the caller later.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let again = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
                *self.meter.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(again)
            }
            got => got,
        }
    }
}

/// Buffered compressed bytes with their offset.
pub(super) struct PackedBytes(pub(super) BufReader<Packed>);

impl PackedBytes {
    pub(super) fn new(packed: Packed) -> Self {
        Self(BufReader::with_capacity(BUFFER, packed))
    }

    /// Offset of the next byte in the compressed file.
    pub(super) fn offset(&self) -> u64 {
        self.0.get_ref().meter.n_read.load(Ordering::Relaxed) - self.0.buffer().len() as u64
    }

    /// Fills a buffer. `cut` returns the error for a file that ends before, at the given offset.
    pub(super) fn fill(&mut self, bytes: &mut [u8], cut: impl FnOnce(u64) -> io::Error) -> io::Result<()> {
        self.0.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => cut(self.offset()),
            _ => error,
        })
    }

    /// Reads `N` bytes, as [`PackedBytes::fill`] does.
    pub(super) fn array<const N: usize>(&mut self, cut: impl FnOnce(u64) -> io::Error) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, cut)?;
        Ok(bytes)
    }
}

/// Error for bytes that are not valid.
pub(super) fn damaged(offset: u64, found: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged at offset {offset:#x} of the compressed file: {found}"))
}

/// Error for a compressed file that ends too early.
pub(super) fn cut(offset: u64, expected: impl fmt::Display) -> io::Error {
    let text = format!("cut short at offset {offset:#x} of the compressed file: expected {expected}");
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
