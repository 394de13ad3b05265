//! Output buffer that survives failed writes.

use std::io::{self, Write};

/// Bytes to be written. After a failed write the rest stays and is written first the next time.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub bytes: Vec<u8>,
    /// Number of bytes already written.
    written: usize,
}

impl Pending {
    pub fn new(bytes: Vec<u8>) -> Self {
        Pending { bytes, written: 0 }
    }

    pub fn write_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        while self.written < self.bytes.len() {
            match out.write(&self.bytes[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.written += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.written = 0;
        Ok(())
    }
}
