//! Rows that were read: compressed pages in a temporary file, and a sparse index of them in memory.
//!
//! ```text
//! reader thread ─Row─> Writer ─page of 64 KiB, compressed─> file
//!                         └─ PageIndex: first row, first time, offset ─> Store ─row number or time─> page ─> screen
//! ```
//!
//! A page has some hundred rows, so the index of a trace of gigabytes has a few megabytes. Scrolling back reads one
//! page. The file has a limit: reading ends there, and the status line says so.

use super::row::{Row, RowKind};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Size of a page before compression, in bytes.
const PAGE: usize = 64 << 10;
/// Time after which a page is written before it is full, so that slow inputs appear.
const PATIENCE: Duration = Duration::from_millis(100);

/// Rows that were read so far.
#[derive(Debug)]
pub struct Store {
    state: Mutex<State>,
    max_bytes: u64,
}

#[derive(Debug)]
struct State {
    file: File,
    pages: Vec<PageIndex>,
    n_bytes: u64,
    facts: Facts,
}

/// Place of a page.
#[derive(Debug, Clone, Copy)]
struct PageIndex {
    offset: u64,
    length: u32,
    first_row: u64,
    /// Time of the last event before the end of the page.
    last_ns: i64,
    has_damage: bool,
}

/// Facts about what was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Number of rows.
    pub n_rows: u64,
    /// Number of events.
    pub n_events: u64,
    /// Number of damaged places.
    pub n_damaged: u64,
    /// Time of the last event, in nanoseconds.
    pub last_ns: Option<i64>,
    /// State of the reader.
    pub reading: Reading,
}

/// State of the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reading {
    /// It reads.
    #[default]
    Active,
    /// It has read the whole trace.
    Complete,
    /// The spill file has reached its limit.
    Full,
    /// It failed.
    Failed(String),
}

impl Store {
    /// Creates an empty store, whose file has at most `max_bytes`.
    ///
    /// # Errors
    /// The temporary file cannot be created.
    pub fn new(max_bytes: u64) -> io::Result<Self> {
        let state = State { file: tempfile::tempfile()?, pages: Vec::new(), n_bytes: 0, facts: Facts::default() };
        Ok(Self { state: Mutex::new(state), max_bytes })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Facts about what was read so far.
    pub fn facts(&self) -> Facts {
        self.state().facts.clone()
    }

    /// Index of the page that contains a row.
    pub fn page_of(&self, row: u64) -> Option<usize> {
        let state = self.state();
        (row < state.facts.n_rows).then(|| state.pages.partition_point(|page| page.first_row <= row) - 1)
    }

    /// Index of the first page that has an event at or after a time.
    pub fn page_at(&self, ns: i64) -> Option<usize> {
        // Times of a QNX log may go back between CPUs, so the first such page is found one by one.
        self.state().pages.iter().position(|page| page.last_ns >= ns)
    }

    /// Index of the next page with damage, forward or backward from a page.
    pub fn damaged_page(&self, from: usize, is_forward: bool) -> Option<usize> {
        let state = self.state();
        let pages = &state.pages;
        match is_forward {
            true => (from..pages.len()).find(|at| pages[*at].has_damage),
            false => (0..pages.len().min(from + 1)).rev().find(|at| pages[*at].has_damage),
        }
    }

    /// Reads a page: the number of its first row, and its rows.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn page(&self, at: usize) -> io::Result<Page> {
        let mut state = self.state();
        let Some(index) = state.pages.get(at).copied() else { return Ok(Page::default()) };
        let mut packed = vec![0; index.length as usize];
        state.file.seek(SeekFrom::Start(index.offset))?;
        state.file.read_exact(&mut packed)?;
        drop(state);
        let bytes = lz4_flex::decompress_size_prepended(&packed).map_err(io::Error::other)?;
        let (mut rest, mut rows) = (&bytes[..], Vec::new());
        while let Some(row) = Row::read(&mut rest) {
            rows.push(row);
        }
        Ok(Page { first_row: index.first_row, rows })
    }
}

/// Rows of a page.
#[derive(Debug, Default)]
pub struct Page {
    /// Number of the first row.
    pub first_row: u64,
    /// Rows.
    pub rows: Vec<Row>,
}

/// Writer of rows.
#[derive(Debug)]
pub struct Writer {
    store: Arc<Store>,
    page: Vec<u8>,
    facts: Facts,
    first_row: u64,
    has_damage: bool,
    written: Instant,
}

impl Writer {
    /// Writer into an empty store.
    pub fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            page: Vec::new(),
            facts: Facts::default(),
            first_row: 0,
            has_damage: false,
            written: Instant::now(),
        }
    }

    /// Adds a row. Returns false if the store is full.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, row: &Row) -> io::Result<bool> {
        row.write(&mut self.page);
        self.facts.n_rows += 1;
        self.facts.n_events += u64::from(row.is_event());
        self.facts.n_damaged += u64::from(row.kind == RowKind::Damage);
        self.has_damage |= !row.is_event();
        self.facts.last_ns = row.time_ns.or(self.facts.last_ns);
        let is_due =
            self.page.len() >= PAGE || (self.facts.n_rows.is_multiple_of(64) && self.written.elapsed() >= PATIENCE);
        if is_due { self.flush() } else { Ok(true) }
    }

    /// Writes the rows since the last page. Returns false if the store is full.
    fn flush(&mut self) -> io::Result<bool> {
        self.written = Instant::now();
        if self.page.is_empty() {
            return Ok(true);
        }
        let packed = lz4_flex::compress_prepend_size(&self.page);
        let mut state = self.store.state();
        if state.n_bytes + packed.len() as u64 > self.store.max_bytes {
            return Ok(false);
        }
        let offset = state.n_bytes;
        state.file.seek(SeekFrom::Start(offset))?;
        state.file.write_all(&packed)?;
        state.n_bytes += packed.len() as u64;
        state.pages.push(PageIndex {
            offset,
            length: packed.len() as u32,
            first_row: self.first_row,
            last_ns: self.facts.last_ns.unwrap_or(i64::MIN),
            has_damage: self.has_damage,
        });
        state.facts = self.facts.clone();
        drop(state);
        (self.first_row, self.has_damage) = (self.facts.n_rows, false);
        self.page.clear();
        Ok(true)
    }

    /// Writes the last rows and the final state of the reader.
    pub fn finish(mut self, reading: Reading) {
        let reading = match self.flush() {
            Ok(true) => reading,
            Ok(false) => Reading::Full,
            Err(error) => Reading::Failed(format!("cannot write the temporary file: {error}")),
        };
        self.store.state().facts.reading = reading;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A list that waits for a thread that has ended would wait forever.
        let reading = &mut self.store.state().facts.reading;
        if *reading == Reading::Active {
            *reading = Reading::Failed(String::from("internal error: the reader has ended"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64) -> Row {
        let kind = if n == 777 { RowKind::Damage } else { RowKind::Hook };
        Row { kind, seq: n, time_ns: Some(10 * n as i64), text: format!("event {n}"), ..Row::default() }
    }

    fn n_pages(store: &Store) -> usize {
        store.state().pages.len()
    }

    fn filled(n: u64, max_bytes: u64) -> Arc<Store> {
        let store = Arc::new(Store::new(max_bytes).unwrap());
        let mut writer = Writer::new(store.clone());
        let ends_early = (0..n).any(|n| !writer.push(&row(n)).unwrap());
        writer.finish(if ends_early { Reading::Full } else { Reading::Complete });
        store
    }

    #[test]
    fn rows_are_found_by_number_and_time() {
        let store = filled(5000, u64::MAX);
        assert!(n_pages(&store) > 3, "{}", n_pages(&store));
        for n in [0, 1, 999, 2500, 4999] {
            let page = store.page(store.page_of(n).unwrap()).unwrap();
            assert_eq!(page.rows[(n - page.first_row) as usize], row(n));
        }
        assert_eq!(store.page_of(5000), None);
        let page = store.page(store.page_at(25_005).unwrap()).unwrap();
        assert!(page.rows.iter().any(|row| row.seq == 2501));
        assert_eq!(store.page_at(50_000), None);
        let damaged = store.page_of(777).unwrap();
        assert_eq!((store.damaged_page(0, true), store.damaged_page(damaged + 1, true)), (Some(damaged), None));
        assert_eq!(store.damaged_page(n_pages(&store), false), Some(damaged));
        let facts = store.facts();
        assert_eq!((facts.n_rows, facts.n_events, facts.n_damaged), (5000, 4999, 1));
        assert_eq!((facts.last_ns, facts.reading), (Some(49_990), Reading::Complete));
    }

    #[test]
    fn a_reader_that_ends_early_is_noticed() {
        let store = Arc::new(Store::new(u64::MAX).unwrap());
        drop(Writer::new(store.clone()));
        assert!(matches!(store.facts().reading, Reading::Failed(_)));
    }

    #[test]
    fn a_full_file_ends_the_reading() {
        let store = filled(100_000, 20_000);
        let facts = store.facts();
        assert_eq!(facts.reading, Reading::Full);
        assert!(facts.n_rows > 0 && facts.n_rows < 100_000, "{facts:?}");
        let last = store.page(n_pages(&store) - 1).unwrap();
        assert_eq!(last.first_row + last.rows.len() as u64, facts.n_rows);
    }
}
