//! Writes log files of any length. The table of buffers is at the start, and is filled in at the end.

use std::io::{self, Seek, SeekFrom, Write};

use crate::{LogBuilder, Width};

/// Log file written buffer by buffer; only the sizes of the buffers are kept in memory.
///
/// ```
/// use std::io::Cursor;
/// use tfbc_benches::{LogBuilder, LogFile, Width};
///
/// let mut file = Cursor::new(Vec::new());
/// let mut log = LogFile::create(&mut file, Width::W64, 0, b"initial", 2)?;
/// log.put(b"one")?;
/// log.put(b"two")?;
/// log.finish()?;
/// let whole = LogBuilder::new(Width::W64, b"initial".to_vec(), vec![b"one".to_vec(), b"two".to_vec()]);
/// assert_eq!(file.into_inner(), whole.to_bytes());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct LogFile<W> {
    out: W,
    /// Log without its buffers.
    log: LogBuilder,
    sizes: Vec<usize>,
}

impl<W: Write + Seek> LogFile<W> {
    /// Starts a log with `slots` buffers; `mode` is described at [`LogBuilder::mode`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(mut out: W, trace: Width, mode: u32, initial: &[u8], slots: usize) -> io::Result<Self> {
        let log = LogBuilder { slots, mode, ..LogBuilder::new(trace, initial.to_vec(), Vec::new()) };
        out.write_all(&log.to_bytes())?;
        Ok(Self { out, log, sizes: Vec::new() })
    }

    /// Appends a buffer of whole events.
    ///
    /// # Errors
    /// The file cannot be written, or all slots are used.
    pub fn put(&mut self, buffer: &[u8]) -> io::Result<()> {
        if self.sizes.len() == self.log.slots {
            return Err(io::Error::other("the log has no room for another buffer"));
        }
        self.sizes.push(buffer.len());
        self.out.write_all(buffer)
    }

    /// Writes the table of buffers.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&self.log.head(&self.sizes))?;
        self.out.flush()
    }
}
