//! Accesses with bounds checks. Accesses that the verifier rules out read zeros here.

use super::ROOM;
use crate::{COLUMNS, Instr, TextBuf};

/// Index of an instruction in the current routine, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pc(usize);

/// End of the text, as an offset in the buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutPtr(usize);

impl OutPtr {
    /// Position after `n` more bytes.
    #[inline(always)]
    pub fn add(self, n: usize) -> OutPtr {
        OutPtr(self.0 + n)
    }

    /// Position before the last `n` bytes.
    #[inline(always)]
    pub fn back(self, n: usize) -> OutPtr {
        OutPtr(self.0.saturating_sub(n))
    }
}

/// Execution state: the current routine and the text it prints.
#[derive(Debug)]
pub(crate) struct ExecState<'r> {
    code: &'r [Instr],
    body: usize,
    /// Index of the current instruction.
    running: std::cell::Cell<usize>,
    /// Last position with enough room; `None` if the text must be reopened first.
    limit: Option<usize>,
}

impl<'r> ExecState<'r> {
    /// Creates a state that runs no routine and prints no text.
    pub fn new() -> Self {
        ExecState { code: &[], body: 0, running: 0.into(), limit: None }
    }

    /// Continues a text at its end; it may grow up to `text_limit`.
    pub fn open(&mut self, out: &mut TextBuf, text_limit: usize) -> OutPtr {
        out.room(0);
        self.limit = Some(out.end.min(text_limit));
        OutPtr(out.len)
    }

    /// Starts a line: columns, and `blanks` before its text. Returns the end of the text.
    pub fn begin_line(
        out: &mut TextBuf,
        columns: Option<impl FnOnce(&mut [u8; COLUMNS]) -> usize>,
        blanks: u16,
    ) -> OutPtr {
        let line = out.len;
        out.room(0);
        if let Some(columns) = columns
            && let Some(room) = out.buf.get_mut(out.len..).and_then(|room| room.first_chunk_mut())
        {
            out.len += columns(room).min(COLUMNS);
        }
        out.pad(blanks.into());
        let at = OutPtr(out.len);
        out.len = line;
        at
    }

    /// Length of the text up to a position in its buffer.
    pub fn length(_: &TextBuf, at: OutPtr) -> usize {
        at.0
    }

    /// Starts a routine, and its text at `at`. The text may grow up to `text_limit`.
    pub fn begin(
        &mut self,
        (code, body): (&'r [Instr], usize),
        out: &mut TextBuf,
        at: OutPtr,
        _blanks: u16,
        text_limit: usize,
    ) -> OutPtr {
        (self.code, self.body) = (code, body);
        out.len = at.0;
        self.open(out, text_limit)
    }

    /// Makes `has_room` false until the text is opened again.
    pub fn close_room(&mut self) {
        self.limit = None;
    }

    /// Writes the length back to the buffer, so that others can append.
    pub fn close(&self, out: &mut TextBuf, at: OutPtr) {
        out.len = at.0.min(out.buf.len());
    }

    /// Offset of a position in the buffer.
    pub fn offset(&self, at: OutPtr) -> usize {
        at.0
    }

    /// Switches to another routine.
    pub fn enter(&mut self, code: &'r [Instr], body: usize) -> Pc {
        (self.code, self.body) = (code, body);
        self.start()
    }

    /// First instruction of the routine.
    pub fn start(&self) -> Pc {
        Pc(0)
    }

    /// First instruction of the routine; makes it the current one.
    pub fn first(&self) -> &'r Instr {
        self.running.set(0);
        &self.code[0]
    }

    /// End of the routine.
    pub fn end(&self) -> Pc {
        Pc(self.body)
    }

    /// Instruction of the routine with a given index, or its end.
    pub fn place(&self, to: u64) -> Pc {
        Pc(to as usize)
    }

    /// Position after the current instruction.
    pub fn after(&self, _: &'r Instr) -> Pc {
        Pc(self.running.get() + 1)
    }

    /// Instruction after the current one; makes it the current one.
    pub fn next(&self, instr: &'r Instr) -> &'r Instr {
        self.running.set(self.running.get() + 1);
        self.code.get(self.running.get()).unwrap_or(instr)
    }

    /// Index of an instruction.
    pub fn index(&self, pc: Pc) -> u64 {
        pc.0 as u64
    }

    /// Instruction at a position, which becomes the current one; `None` at the end.
    #[inline(always)]
    pub fn instr(&self, pc: Pc) -> Option<&'r Instr> {
        self.running.set(pc.0);
        self.code.get(pc.0).filter(|_| pc.0 != self.body)
    }

    /// True if there is room for the text of any one instruction.
    #[inline(always)]
    pub fn has_room(&self, at: OutPtr) -> bool {
        self.limit.is_some_and(|limit| at.0 <= limit)
    }

    /// Prints the literal of an instruction.
    #[inline(always)]
    pub fn literal(&self, out: &mut TextBuf, at: OutPtr, instr: &Instr) -> OutPtr {
        crate::num::store(&mut out.buf, at.0, instr.lit);
        at.add(instr.lit_len.into())
    }

    /// Room after the text.
    #[inline(always)]
    #[expect(clippy::expect_used, reason = "the loop reserves room before each instruction")]
    pub fn room<'t>(&self, out: &'t mut TextBuf, at: OutPtr) -> &'t mut [u8; ROOM] {
        out.buf
            .get_mut(at.0..)
            .and_then(|rest| rest.first_chunk_mut())
            .expect("there is room for an instruction's text")
    }
}

/// Does nothing in this build.
pub(crate) fn prefetch<T>(_: *const T) {}

/// Eight bytes of an event at a fixed offset.
#[inline(always)]
pub(crate) fn window(bytes: &[u8], at: u32) -> [u8; 8] {
    bytes.get(at as usize..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default()
}

/// `N` words of a table.
#[inline(always)]
pub(crate) fn at_words<const N: usize>(words: &[u64], at: usize) -> &[u64; N] {
    words.get(at..).and_then(|rest| rest.first_chunk()).unwrap_or(&[0; N])
}

/// Bytes of 8-byte words of a table, in memory order.
#[inline(always)]
pub(crate) fn at_bytes<const BYTES: usize>(words: &[u64], at: usize) -> &[u8; BYTES] {
    bytemuck::cast_slice::<u64, u8>(words.get(at..).unwrap_or_default()).first_chunk().unwrap_or(&[0; BYTES])
}

/// Row with a given index.
#[inline(always)]
pub(crate) fn row_at<T>(rows: &[T], at: usize) -> &T {
    &rows[at]
}

/// Part of a section.
#[inline(always)]
pub(crate) fn part<T>(rows: &[T], start: usize, len: usize) -> &[T] {
    rows.get(start..start + len).unwrap_or(&[])
}

/// Section from a given row to its end.
#[inline(always)]
pub(crate) fn tail<T>(rows: &[T], start: usize) -> &[T] {
    rows.get(start..).unwrap_or(&[])
}
