//! Sorting of rows by time.
//!
//! A [`Timed`] writer puts a header before a record's text: its time, if it has one, and the length of the text. A
//! [`Sorter`] reads headers and texts, and writes the texts in ascending time at the end.

use super::clock::Clock;
use super::owners::Owner;
use super::writer::{FormatCounts, RecordWriter};
use crate::engine::WRITE_AT;
use crate::reader::kev::{KevRecord, KevSlot};
use crate::temporary::temporary;
use crate::work::Meter;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use tempfile::SpooledTempFile;
use tfbc_vm::TextBuf;

/// Limit on the rows in memory, in bytes. Further rows go to a temporary file.
pub(crate) const MAX_MEMORY: usize = 1 << 30;

/// Bytes of a header: kind, time and length.
const HEADER: usize = 1 + 8 + 8;

/// Kinds of texts.
const UNTIMED: u8 = 0;
const TIMED: u8 = 1;
/// Kind of a text that belongs to the next record.
const AHEAD: u8 = 2;

/// Writer of records for a [`Sorter`].
pub(crate) struct Timed<W> {
    writer: W,
    clock: Option<Clock>,
    text: TextBuf,
}

impl<W> Timed<W> {
    pub fn new(writer: W, clock: Option<Clock>) -> Self {
        Self { writer, clock, text: TextBuf::new() }
    }

    fn push(&mut self, kind: u8, ns: u64, out: &mut TextBuf) {
        let mut header = [kind; HEADER];
        header[1..9].copy_from_slice(&ns.to_le_bytes());
        header[9..].copy_from_slice(&(self.text.len() as u64).to_le_bytes());
        out.push(&header);
        out.push(self.text.as_bytes());
    }
}

impl<W: Clone> Clone for Timed<W> {
    fn clone(&self) -> Self {
        Self::new(self.writer.clone(), self.clock)
    }
}

impl<W: RecordWriter> RecordWriter for Timed<W> {
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        self.text.clear();
        self.writer.record(record, &mut self.text);
        // A record without text still sets the time for later records without a time of their own.
        match self.clock.zip(record.cycles()) {
            Some((clock, cycles)) => self.push(TIMED, clock.ns(cycles), out),
            None => self.push(UNTIMED, 0, out),
        }
    }

    fn slot(&mut self, slot: KevSlot, out: &mut TextBuf) {
        self.text.clear();
        self.writer.slot(slot, &mut self.text);
        self.push(AHEAD, 0, out);
    }

    fn needs_owners(&self) -> bool {
        self.writer.needs_owners()
    }

    fn set_owner(&mut self, id: u32, owner: &Owner) {
        self.writer.set_owner(id, owner);
    }

    fn begin_batch(&mut self) {
        self.writer.begin_batch();
    }

    fn tallied(&self) -> FormatCounts {
        self.writer.tallied()
    }

    fn take_back(&mut self, tallied: FormatCounts) {
        self.writer.take_back(tallied);
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.writer.meter()
    }

    fn slow(&mut self) -> Option<&mut Option<(u8, u16)>> {
        self.writer.slow()
    }
}

/// A row in memory: its time and its text.
#[derive(Debug, Clone, Copy)]
struct SortedRow {
    ns: u64,
    start: usize,
    len: usize,
}

/// Sorter of texts by the times in their headers.
pub(crate) struct Sorter {
    max_memory: usize,
    /// Bytes written so far of a text that is not complete.
    pending: Vec<u8>,
    /// Texts of the rows in memory, followed by the texts that belong to the next row.
    texts: Vec<u8>,
    /// Start of the next row's text.
    start: usize,
    rows: Vec<SortedRow>,
    /// Time of the row before.
    last_ns: u64,
    /// Sorted rows on disk.
    runs: Vec<SortedRun>,
}

impl Sorter {
    pub fn new(max_memory: usize) -> Self {
        Self {
            max_memory,
            pending: Vec::new(),
            texts: Vec::new(),
            start: 0,
            rows: Vec::new(),
            last_ns: 0,
            runs: Vec::new(),
        }
    }

    /// True if rows were written to temporary files.
    pub fn has_spilled(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Reads the complete texts at the start of `bytes`, and returns the bytes after them.
    fn take<'b>(&mut self, mut bytes: &'b [u8]) -> io::Result<&'b [u8]> {
        while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
            let [kind, numbers @ ..] = header;
            let number = |at: usize| numbers[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let (ns, len) = (number(0), number(8) as usize);
            let Some((text, rest)) = rest.split_at_checked(len) else { break };
            bytes = rest;
            self.texts.extend_from_slice(text);
            if *kind == AHEAD {
                continue;
            }
            self.last_ns = if *kind == TIMED { ns } else { self.last_ns };
            let (start, len) = (self.start, self.texts.len() - self.start);
            if len > 0 {
                self.rows.push(SortedRow { ns: self.last_ns, start, len });
            }
            self.start = self.texts.len();
            if self.texts.len() + self.rows.len() * size_of::<SortedRow>() > self.max_memory {
                self.spill()?;
            }
        }
        Ok(bytes)
    }

    /// Writes the rows in memory to a temporary file.
    fn spill(&mut self) -> io::Result<()> {
        self.rows.sort_by_key(|row| row.ns);
        let mut file = BufWriter::new(temporary(0));
        for SortedRow { ns, start, len } in self.rows.drain(..) {
            file.write_all(&ns.to_le_bytes())?;
            file.write_all(&(len as u64).to_le_bytes())?;
            file.write_all(&self.texts[start..start + len])?;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(SortedRun(BufReader::new(file)));
        self.texts.clear();
        self.start = 0;
        Ok(())
    }

    /// Writes all rows in ascending time. Rows with equal times stay in their order.
    ///
    /// # Errors
    /// The output or a temporary file cannot be written.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.has_spilled() {
            self.spill()?;
            return merge(self.runs, out);
        }
        self.rows.sort_by_key(|row| row.ns);
        // An output may search every text that it is given for its last line.
        let mut texts = Vec::new();
        for SortedRow { start, len, .. } in &self.rows {
            texts.extend_from_slice(&self.texts[*start..start + len]);
            if texts.len() >= WRITE_AT {
                out.write_all(&texts)?;
                texts.clear();
            }
        }
        out.write_all(&texts)?;
        out.flush()
    }
}

impl Write for Sorter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.pending.is_empty() {
            let rest = self.take(bytes)?;
            self.pending.extend_from_slice(rest);
        } else {
            self.pending.extend_from_slice(bytes);
            let pending = std::mem::take(&mut self.pending);
            self.pending = self.take(&pending)?.to_vec();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sorted rows in a file.
struct SortedRun(BufReader<SpooledTempFile>);

impl SortedRun {
    /// The time and the text of the next row; `None` at the end.
    fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        let mut header = [0; 16];
        if self.0.by_ref().take(1).read(&mut header[..1])? == 0 {
            return Ok(None);
        }
        self.0.read_exact(&mut header[1..])?;
        let number = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut text = vec![0; number(8) as usize];
        self.0.read_exact(&mut text)?;
        Ok(Some((number(0), text)))
    }
}

/// Writes the rows of several files in ascending time. If times are equal, the rows of earlier files come first.
fn merge(mut runs: Vec<SortedRun>, out: &mut dyn Write) -> io::Result<()> {
    let mut next = BinaryHeap::new();
    for (at, run) in runs.iter_mut().enumerate() {
        next.extend(run.next()?.map(|(ns, text)| Reverse((ns, at, text))));
    }
    while let Some(Reverse((_, at, text))) = next.pop() {
        out.write_all(&text)?;
        next.extend(runs[at].next()?.map(|(ns, text)| Reverse((ns, at, text))));
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts as a [`Timed`] writer produces them.
    fn written(texts: &[(u8, u64, &str)]) -> Vec<u8> {
        let one = |(kind, ns, text): &(u8, u64, &str)| {
            let len = text.len() as u64;
            [&[*kind][..], &ns.to_le_bytes(), &len.to_le_bytes(), text.as_bytes()].concat()
        };
        texts.iter().flat_map(one).collect()
    }

    #[test]
    fn rows_are_sorted_in_little_memory() {
        let texts = [
            (UNTIMED, 0, "no time yet\n"),
            (TIMED, 30, "30 first\n"),
            (UNTIMED, 0, "after 30\n"),
            (TIMED, 10, "10\n"),
            (TIMED, 20, ""),
            (UNTIMED, 0, "after a hidden 20\n"),
            (AHEAD, 0, "before 5\n"),
            (TIMED, 5, "5\n"),
            (TIMED, 30, "30 again\n"),
        ];
        let expected = "no time yet\nbefore 5\n5\n10\nafter a hidden 20\n30 first\nafter 30\n30 again\n";
        let bytes = written(&texts);
        for max_memory in [0, 60, 150, MAX_MEMORY] {
            for size in [1, 7, 40, bytes.len()] {
                let mut sorter = Sorter::new(max_memory);
                bytes.chunks(size).for_each(|piece| sorter.write_all(piece).unwrap());
                assert_eq!(sorter.has_spilled(), max_memory < MAX_MEMORY);
                let mut out = Vec::new();
                sorter.finish(&mut out).unwrap();
                assert_eq!(String::from_utf8_lossy(&out), expected, "{max_memory} {size}");
            }
        }
    }
}
