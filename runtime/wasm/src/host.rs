//! Functions of the worker: bytes of the trace, and pieces of results.

use std::io::{self, Read, Seek, SeekFrom, Write};
use tfbc::{Monitor, Notice};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Number of files.
    #[wasm_bindgen(js_namespace = ["globalThis", "tfbcHost"])]
    fn count() -> u32;

    /// Size of a file in bytes.
    #[wasm_bindgen(js_namespace = ["globalThis", "tfbcHost"])]
    fn size(file: u32) -> f64;

    /// Reads bytes of a file at an offset; returns their number, or -1 if the file cannot be read.
    #[wasm_bindgen(js_namespace = ["globalThis", "tfbcHost"])]
    fn read(file: u32, offset: f64, into: &mut [u8]) -> i32;

    /// Takes a piece of a result.
    #[wasm_bindgen(js_namespace = ["globalThis", "tfbcHost"])]
    fn piece(bytes: &[u8]);

    /// Takes the offset in the trace and the number of events so far.
    #[wasm_bindgen(js_namespace = ["globalThis", "tfbcHost"])]
    fn progress(offset: f64, n_events: f64);

    /// Takes a notice.
    #[wasm_bindgen(js_namespace = ["globalThis", "tfbcHost"])]
    fn notice(damage: bool, message: &str);

    /// Takes the text of a panic.
    #[wasm_bindgen(js_namespace = ["globalThis", "tfbcHost"])]
    pub fn failed(text: &str);
}

/// Receiver of a job's results.
pub trait Host: Send {
    /// Takes a piece of the result.
    fn piece(&mut self, bytes: &[u8]);
    /// Takes the offset in the trace and the number of events so far.
    fn progress(&mut self, offset: u64, n_events: u64);
    /// Takes a notice about the trace.
    fn notice(&mut self, notice: &Notice);
}

/// The page, through its worker.
#[derive(Debug)]
pub struct Page;

impl Host for Page {
    fn piece(&mut self, bytes: &[u8]) {
        piece(bytes);
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        progress(offset as f64, n_events as f64);
    }

    fn notice(&mut self, found: &Notice) {
        notice(found.damage, &found.message);
    }
}

/// Results as an output.
#[derive(Debug)]
pub struct HostWriter<'h, H>(pub &'h mut H);

impl<H: Host> Write for HostWriter<'_, H> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.piece(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Progress and notices of a run without output.
#[derive(Debug)]
pub struct HostMonitor<'h, H>(pub &'h mut H);

impl<H: Host> Monitor for HostMonitor<'_, H> {
    fn notice(&mut self, notice: &Notice) {
        self.0.notice(notice);
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.0.progress(offset, n_events);
    }
}

/// Bytes that are read ahead, of all files together.
const AHEAD: usize = 4 << 20;
/// Least number of bytes per file that are read ahead.
const LEAST_AHEAD: usize = 1 << 16;

/// A file that was dropped on the page, read in pieces.
#[derive(Debug)]
pub struct HostFile {
    /// Place among the job's files.
    file: u32,
    offset: u64,
    /// Bytes to read ahead.
    n_ahead: usize,
    /// Bytes from `start` on.
    ahead: Vec<u8>,
    start: u64,
}

impl HostFile {
    /// Opens a file by its place among the job's files.
    pub fn open(file: usize) -> Self {
        let n_ahead = (AHEAD / count().max(1) as usize).max(LEAST_AHEAD);
        Self { file: file as u32, offset: 0, n_ahead, ahead: Vec::new(), start: 0 }
    }
}

impl Read for HostFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let is_ahead = self.start <= self.offset && self.offset < self.start + self.ahead.len() as u64;
        if !is_ahead {
            self.ahead.resize(self.n_ahead, 0);
            let n = usize::try_from(read(self.file, self.offset as f64, &mut self.ahead));
            self.ahead.truncate(n.unwrap_or(0));
            self.start = self.offset;
            n.map_err(|_| {
                io::Error::other("the browser cannot read the file: it may have changed since it was chosen")
            })?;
        }
        let rest = &self.ahead[(self.offset - self.start) as usize..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.offset += n as u64;
        Ok(n)
    }
}

impl Seek for HostFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
            SeekFrom::End(by) => (size(self.file) as u64).checked_add_signed(by),
        };
        self.offset = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.offset)
    }
}
