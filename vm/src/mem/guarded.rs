//! The accesses with bounds checks. What the verifier excludes reads as zeros here.

use super::ROOM;
use crate::{COLUMNS, Instr, TextBuf};

/// An instruction of the running routine, by number, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pc(usize);

/// Where the text ends, from the buffer's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At(usize);

impl At {
    /// Behind `n` more bytes.
    #[inline(always)]
    pub fn add(self, n: usize) -> At {
        At(self.0 + n)
    }

    /// Before the last `n` bytes.
    #[inline(always)]
    pub fn back(self, n: usize) -> At {
        At(self.0.saturating_sub(n))
    }
}

/// The running routine and the text that it prints.
#[derive(Debug)]
pub(crate) struct Stage<'r> {
    code: &'r [Instr],
    body: usize,
    /// The number of the instruction that runs.
    running: std::cell::Cell<usize>,
    /// The place up to which there is room; `None` if no place is held.
    limit: Option<usize>,
}

impl<'r> Stage<'r> {
    /// No routine, and no text.
    pub fn new() -> Self {
        Stage { code: &[], body: 0, running: 0.into(), limit: None }
    }

    /// Takes up a text where it ends; it may grow up to `text_limit`.
    pub fn open(&mut self, out: &mut TextBuf, text_limit: usize) -> At {
        out.room(0);
        self.limit = Some(out.end.min(text_limit));
        At(out.len)
    }

    /// Takes up a routine, and a text with columns and `blanks` behind it: `columns` says how many bytes of its room they
    /// take. The text may grow by `max_text` after them. Gives how long it is with the columns, and where it ends.
    pub fn begin(
        &mut self,
        (code, body): (&'r [Instr], usize),
        out: &mut TextBuf,
        columns: Option<impl FnOnce(&mut [u8; COLUMNS]) -> usize>,
        blanks: u16,
        max_text: usize,
    ) -> (usize, At) {
        (self.code, self.body) = (code, body);
        out.room(0);
        if let Some(columns) = columns
            && let Some(room) = out.buf.get_mut(out.len..).and_then(|room| room.first_chunk_mut())
        {
            out.len += columns(room).min(COLUMNS);
        }
        let len = out.len;
        out.pad(blanks.into());
        (len, self.open(out, len + usize::from(blanks) + max_text))
    }

    /// Holds no place of the text any more, until it is opened again.
    pub fn exhaust(&mut self) {
        self.limit = None;
    }

    /// Leaves the text to others.
    pub fn close(&self, out: &mut TextBuf, at: At) {
        out.len = at.0.min(out.buf.len());
    }

    /// Where the text ends, from the buffer's start.
    pub fn offset(&self, at: At) -> usize {
        at.0
    }

    /// Another routine.
    pub fn enter(&mut self, (code, body): (&'r [Instr], usize)) -> Pc {
        (self.code, self.body) = (code, body);
        self.start()
    }

    /// The routine's first instruction.
    pub fn start(&self) -> Pc {
        Pc(0)
    }

    /// The routine's first instruction, which runs from here on.
    pub fn first(&self) -> &'r Instr {
        self.running.set(0);
        &self.code[0]
    }

    /// The place where the routine ends.
    pub fn end(&self) -> Pc {
        Pc(self.body)
    }

    /// The routine's instruction with a number, or its end.
    pub fn place(&self, to: u64) -> Pc {
        Pc(to as usize)
    }

    /// The place behind the instruction that runs.
    pub fn after(&self, _: &'r Instr) -> Pc {
        Pc(self.running.get() + 1)
    }

    /// The instruction behind one, which runs from here on.
    pub fn next(&self, instr: &'r Instr) -> &'r Instr {
        self.running.set(self.running.get() + 1);
        self.code.get(self.running.get()).unwrap_or(instr)
    }

    /// An instruction's number.
    pub fn index(&self, pc: Pc) -> u64 {
        pc.0 as u64
    }

    /// The instruction at a place, which runs from here on; `None` at the end.
    #[inline(always)]
    pub fn instr(&self, pc: Pc) -> Option<&'r Instr> {
        self.running.set(pc.0);
        self.code.get(pc.0).filter(|_| pc.0 != self.body)
    }

    /// Whether there is room for the text of any one instruction.
    #[inline(always)]
    pub fn holds(&self, at: At) -> bool {
        self.limit.is_some_and(|limit| at.0 <= limit)
    }

    /// Prints an instruction's literal.
    #[inline(always)]
    pub fn literal(&self, out: &mut TextBuf, at: At, instr: &Instr) -> At {
        crate::num::store(&mut out.buf, at.0, instr.lit);
        at.add(instr.lit_len.into())
    }

    /// The bytes behind the text.
    #[inline(always)]
    #[expect(clippy::expect_used, reason = "the loop has made sure of the room before each instruction")]
    pub fn room<'t>(&self, out: &'t mut TextBuf, at: At) -> &'t mut [u8; ROOM] {
        out.buf
            .get_mut(at.0..)
            .and_then(|rest| rest.first_chunk_mut())
            .expect("there is room for an instruction's text")
    }
}

/// Asks the processor for nothing.
pub(crate) fn prefetch<T>(_: *const T) {}

/// Eight bytes of an event at a fixed place.
#[inline(always)]
pub(crate) fn window(bytes: &[u8], at: u32) -> [u8; 8] {
    bytes.get(at as usize..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default()
}

/// `N` words of a table.
#[inline(always)]
pub(crate) fn at_words<const N: usize>(words: &[u64], at: usize) -> &[u64; N] {
    words.get(at..).and_then(|rest| rest.first_chunk()).unwrap_or(&[0; N])
}

/// The bytes of eight-byte words of a table, in memory order.
#[inline(always)]
pub(crate) fn at_bytes<const BYTES: usize>(words: &[u64], at: usize) -> &[u8; BYTES] {
    bytemuck::cast_slice::<u64, u8>(words.get(at..).unwrap_or_default()).first_chunk().unwrap_or(&[0; BYTES])
}

/// A row by its number.
#[inline(always)]
pub(crate) fn row_at<T>(rows: &[T], at: usize) -> &T {
    &rows[at]
}

/// A part of a section.
#[inline(always)]
pub(crate) fn part<T>(rows: &[T], start: usize, len: usize) -> &[T] {
    rows.get(start..start + len).unwrap_or(&[])
}

/// A section from a row on.
#[inline(always)]
pub(crate) fn behind<T>(rows: &[T], start: usize) -> &[T] {
    rows.get(start..).unwrap_or(&[])
}
