//! Bytes on their way into a file or a pipe.

use std::io::{self, Write};

/// What waits to be written. Where writing fails, the rest stays, and goes first the next time.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub bytes: Vec<u8>,
    /// How many of `bytes` are out.
    written: usize,
}

impl Held {
    pub fn new(bytes: Vec<u8>) -> Self {
        Held { bytes, written: 0 }
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
