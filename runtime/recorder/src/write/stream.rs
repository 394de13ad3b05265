//! Sequential streams (`trace -o -`). A 64-bit stream begins with EFDF1114, a 32-bit one with its first event.

use super::aix::{self, AixEventWriter};
use super::note::{Note, WriteSummary};
use super::pending::Pending;
use super::setup::Setup;
use crate::record::{Record, Width};
use std::io::{self, Write};

/// First four bytes of a 64-bit stream.
const MAGIC: [u8; 4] = [0xEF, 0xDF, 0x11, 0x14];
/// Bytes collected before a write.
const CHUNK: usize = 64 << 10;

/// Stream that is written event by event.
#[derive(Debug)]
pub struct AixStream<W> {
    out: W,
    events: AixEventWriter,
    pending: Pending,
}

impl<W: Write> AixStream<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The output cannot be written, or the setup has another layout.
    pub fn create(out: W, setup: &Setup) -> io::Result<Self> {
        let (options, channel) = aix::options(setup)?;
        let mut events = AixEventWriter::new(setup, options, channel);
        let mut start = if options.trace == Width::W64 { MAGIC.to_vec() } else { Vec::new() };
        start.extend(events.header(setup, options));
        if !options.off {
            events.note(Note::On(setup.start_ticks), &mut start);
        }
        let mut stream = AixStream { out, events, pending: Pending::new(start) };
        stream.flush()?;
        Ok(stream)
    }

    /// Writes one event.
    ///
    /// # Errors
    /// The output cannot be written.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        if self.pending.bytes.len() >= CHUNK {
            self.pending.write_to(&mut self.out)?;
        }
        self.events.record(record, &mut self.pending.bytes);
        Ok(())
    }

    /// Writes the event for a note.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        if self.pending.bytes.len() >= CHUNK {
            self.pending.write_to(&mut self.out)?;
        }
        self.events.note(note, &mut self.pending.bytes);
        Ok(())
    }

    /// Writes pending bytes.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.events.push_missed(0, None, &mut self.pending.bytes);
        self.pending.write_to(&mut self.out)?;
        self.out.flush()
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }

    /// Counts of the events so far.
    pub fn summary(&self) -> WriteSummary {
        self.events.summary
    }
}
