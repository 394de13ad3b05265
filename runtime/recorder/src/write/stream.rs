//! Sequential streams (`trace -o -`): a 64-bit one begins with EFDF1114, a 32-bit one with its first event.

use super::aix::{self, Scribe};
use super::held::Held;
use super::setup::Setup;
use super::{Note, Summary};
use crate::record::{Record, Width};
use std::io::{self, Write};

/// First four bytes of a 64-bit stream.
const MAGIC: [u8; 4] = [0xEF, 0xDF, 0x11, 0x14];
/// Bytes that are held before they are written.
const CHUNK: usize = 64 << 10;

/// A stream that goes out event by event.
#[derive(Debug)]
pub struct AixStream<W> {
    out: W,
    scribe: Scribe,
    held: Held,
}

impl<W: Write> AixStream<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// It cannot be written, or the setup is of another layout.
    pub fn create(out: W, setup: &Setup) -> io::Result<Self> {
        let (options, channel) = aix::options(setup)?;
        let mut scribe = Scribe::new(setup, options, channel);
        let mut held = if options.trace == Width::W64 { MAGIC.to_vec() } else { Vec::new() };
        held.extend(scribe.header(setup, options));
        if !options.off {
            scribe.note(Note::On(setup.start_ticks), &mut held);
        }
        let mut stream = AixStream { out, scribe, held: Held::new(held) };
        stream.flush()?;
        Ok(stream)
    }

    /// Writes one event.
    ///
    /// # Errors
    /// The output cannot be written.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        if self.held.bytes.len() >= CHUNK {
            self.held.write_to(&mut self.out)?;
        }
        self.scribe.record(record, &mut self.held.bytes);
        Ok(())
    }

    /// Writes what a note says.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        if self.held.bytes.len() >= CHUNK {
            self.held.write_to(&mut self.out)?;
        }
        self.scribe.note(note, &mut self.held.bytes);
        Ok(())
    }

    /// Writes what is held.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.scribe.tell_missed(0, None, &mut self.held.bytes);
        self.held.write_to(&mut self.out)?;
        self.out.flush()
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }

    /// What became of the events so far.
    pub fn summary(&self) -> Summary {
        self.scribe.summary
    }
}
