//! Accesses by pointer. Every block names its justification: the invariant of its type, or a rule of `rule.rs`.
#![expect(unsafe_code, reason = "bounds checks at every instruction cost a third of a short event's time")]

// With bounds checks, the same design took 1.75 times as long. The verifier makes them superfluous.

use super::{LENT, ROOM, debug_assert_rule};
use crate::text::MARGIN;
use crate::{COLUMNS, Instr, TextBuf};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

/// Pointer to an instruction of the current routine, or to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pc(*const Instr);

// SAFETY: instructions are immutable and shared, and only unsafe functions read through the pointer.
unsafe impl Send for Pc {}
// SAFETY: as for `Send`.
unsafe impl Sync for Pc {}

/// Pointer to the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutPtr(*mut u8);

impl Pc {
    /// First of some instructions.
    #[inline(always)]
    pub fn start(code: &[Instr]) -> Pc {
        Pc(code.as_ptr())
    }

    /// End of the first `body` instructions.
    #[inline(always)]
    pub fn end(code: &[Instr], body: usize) -> Pc {
        Pc(code.as_ptr().wrapping_add(body))
    }

    /// Position after an instruction.
    #[inline(always)]
    pub fn after(instr: &Instr) -> Pc {
        Pc(std::ptr::from_ref(instr).wrapping_add(1))
    }

    /// Instruction at the position.
    ///
    /// # Safety
    /// The position must be before the end of a routine's body (rules V12 and P3).
    #[inline(always)]
    pub unsafe fn instr<'r>(self) -> &'r Instr {
        // SAFETY: the caller guarantees that there is an instruction; it lives as long as its program.
        unsafe { &*self.0 }
    }
}

impl OutPtr {
    /// No position.
    pub const NONE: OutPtr = OutPtr(null_mut());

    /// True if there is text from `start` to this position. False if this is no position.
    #[inline(always)]
    pub fn is_after(self, start: OutPtr) -> bool {
        self.0 > start.0
    }

    /// Prints the literal of an instruction of a straight routine.
    ///
    /// # Safety
    /// The routine's text must begin where [`ExecState::begin_line`] returned.
    #[inline(always)]
    pub unsafe fn literal(self, instr: &Instr) -> OutPtr {
        // SAFETY: the caller guarantees the room; `Straight::of` has added up the text of the routine.
        unsafe { self.0.cast::<[u8; 16]>().write_unaligned(instr.lit) };
        self.add(instr.lit_len.into())
    }

    /// Room for an instruction of a straight routine.
    ///
    /// # Safety
    /// As for [`OutPtr::literal`]; the room is used before the text continues.
    #[inline(always)]
    pub unsafe fn lend<'t>(self) -> &'t mut [u8; LENT] {
        // SAFETY: the text of the routine is at most `TextBuf::TEXT_ROOM - LENT` bytes.
        unsafe { &mut *self.0.cast() }
    }

    /// Position after `n` more bytes.
    #[inline(always)]
    pub fn add(self, n: usize) -> OutPtr {
        OutPtr(self.0.wrapping_add(n))
    }

    /// Position before the last `n` bytes.
    #[inline(always)]
    pub fn back(self, n: usize) -> OutPtr {
        OutPtr(self.0.wrapping_sub(n))
    }
}

/// Execution state: the current routine and the text it prints. `code..end` is the routine's body. `text..limit` is in
/// the text's buffer, with at least [`TextBuf::SLACK`] more bytes after it.
#[derive(Debug)]
pub(crate) struct ExecState<'r> {
    code: *const Instr,
    end: *const Instr,
    text: *mut u8,
    limit: *mut u8,
    routine: PhantomData<&'r [Instr]>,
}

impl<'r> ExecState<'r> {
    /// State without routine and text.
    pub fn new() -> Self {
        ExecState { code: null(), end: null(), text: null_mut(), limit: null_mut(), routine: PhantomData }
    }

    /// Continues a text at its end; it may grow up to `text_limit`.
    #[inline(always)]
    pub fn open(&mut self, out: &mut TextBuf, text_limit: usize) -> OutPtr {
        out.room(0);
        self.text = out.buf.as_mut_ptr();
        self.limit = self.text.wrapping_add(out.end.min(text_limit));
        OutPtr(self.text.wrapping_add(out.len))
    }

    /// Starts a routine, and its text at `at`, after `blanks`. The text may grow up to `text_limit`.
    #[inline(always)]
    pub fn begin(
        &mut self,
        (code, body): (&'r [Instr], usize),
        out: &mut TextBuf,
        at: OutPtr,
        blanks: u16,
        text_limit: usize,
    ) -> OutPtr {
        (self.code, self.end) = (code.as_ptr(), code.as_ptr().wrapping_add(body));
        if blanks > MARGIN {
            out.len = Self::length(out, at);
            return self.open(out, text_limit);
        }
        self.text = out.buf.as_mut_ptr();
        self.limit = self.text.wrapping_add(out.end.min(text_limit));
        at
    }

    /// Starts a line: columns, and `blanks` before its text. `columns` writes to the given room and returns its length.
    /// Returns the end of the text, with [`TextBuf::TEXT_ROOM`] bytes after it.
    #[inline(always)]
    pub fn begin_line(
        out: &mut TextBuf,
        columns: Option<impl FnOnce(&mut [u8; COLUMNS]) -> usize>,
        blanks: u16,
    ) -> OutPtr {
        let mut n_columns = 0;
        out.room(0);
        let end = out.buf.as_mut_ptr().wrapping_add(out.len);
        if let Some(columns) = columns {
            // SAFETY: `out.room` was called, so the buffer has `TextBuf::SLACK` initialised bytes after the text.
            n_columns = columns(unsafe { &mut *end.cast() }).min(COLUMNS);
        }
        let end = end.wrapping_add(n_columns);
        if blanks == 0 {
            return OutPtr(end);
        }
        if blanks > MARGIN {
            let line = out.len;
            out.len += n_columns;
            out.pad(blanks.into());
            let end = out.buf.as_mut_ptr().wrapping_add(out.len);
            out.len = line;
            return OutPtr(end);
        }
        // SAFETY: `out.room` was called, so there is room for columns and these blanks after the text.
        unsafe { end.cast::<[u8; MARGIN as usize]>().write_unaligned([b' '; MARGIN as usize]) };
        OutPtr(end.wrapping_add(blanks.into()))
    }

    /// Length of the text up to a position in its buffer.
    #[inline(always)]
    pub fn length(out: &TextBuf, at: OutPtr) -> usize {
        at.0.addr() - out.buf.as_ptr().addr()
    }

    /// Ends a line that was printed by a straight routine.
    #[inline(always)]
    pub fn end_line(out: &mut TextBuf, at: OutPtr) {
        // SAFETY: `at` is less than `TextBuf::TEXT_ROOM` bytes after the position that `begin_line` returned.
        unsafe { at.0.write(b'\n') };
        out.len = Self::length(out, at) + 1;
    }

    /// Makes `has_room` false until the text is opened again.
    #[inline(always)]
    pub fn close_room(&mut self) {
        self.limit = null_mut();
    }

    /// Writes the length back to the buffer, so that others can append.
    #[inline(always)]
    pub fn close(&self, out: &mut TextBuf, at: OutPtr) {
        out.len = self.offset(at);
    }

    /// Offset of a position in the buffer.
    #[inline(always)]
    pub fn offset(&self, at: OutPtr) -> usize {
        at.0.addr() - self.text.addr()
    }

    /// Switches to another routine.
    pub fn enter(&mut self, code: &'r [Instr], body: usize) -> Pc {
        (self.code, self.end) = (code.as_ptr(), code.as_ptr().wrapping_add(body));
        self.start()
    }

    /// First instruction of the routine.
    #[inline(always)]
    pub fn start(&self) -> Pc {
        Pc(self.code)
    }

    /// First instruction of the routine.
    ///
    /// # Safety
    /// The routine's body must not be empty (rule V12).
    #[inline(always)]
    pub unsafe fn first(&self) -> &'r Instr {
        debug_assert_rule!(Rows: self.code != self.end);
        // SAFETY: the caller guarantees that the body is not empty; the instructions live for 'r.
        unsafe { &*self.code }
    }

    /// End of the routine.
    #[inline(always)]
    pub fn end(&self) -> Pc {
        Pc(self.end)
    }

    /// Instruction of the routine with a given index, or its end.
    ///
    /// # Safety
    /// The routine must have at least `to` instructions (rules V3 and V9).
    #[inline(always)]
    pub unsafe fn place(&self, to: u64) -> Pc {
        // SAFETY: the caller guarantees that `to` is inside the routine or its end.
        Pc(unsafe { self.code.add(to as usize) })
    }

    /// Position after an instruction.
    #[inline(always)]
    pub fn after(&self, instr: &'r Instr) -> Pc {
        Pc(std::ptr::from_ref(instr).wrapping_add(1))
    }

    /// Instruction after the given one.
    ///
    /// # Safety
    /// The next instruction must run together with it (rule V13).
    #[inline(always)]
    pub unsafe fn next(&self, instr: &'r Instr) -> &'r Instr {
        // SAFETY: the caller guarantees that there is a next instruction; it lives for 'r.
        unsafe { &*std::ptr::from_ref(instr).add(1) }
    }

    /// Index of an instruction.
    pub fn index(&self, pc: Pc) -> u64 {
        (pc.0.addr() - self.code.addr()) as u64 / size_of::<Instr>() as u64
    }

    /// Instruction at a position; `None` at the end.
    ///
    /// # Safety
    /// The position must belong to this routine (rules V3 and V5).
    #[inline(always)]
    pub unsafe fn instr(&self, pc: Pc) -> Option<&'r Instr> {
        // SAFETY: the caller guarantees that the position is in this routine; the instructions live for 'r.
        (pc.0 != self.end).then(|| unsafe { &*pc.0 })
    }

    /// True if there is room for the text of any one instruction.
    #[inline(always)]
    pub fn has_room(&self, at: OutPtr) -> bool {
        at.0 <= self.limit
    }

    /// Prints the literal of an instruction.
    ///
    /// # Safety
    /// `has_room(at)` must be true, or the text was opened from `out` at `at`.
    #[inline(always)]
    pub unsafe fn literal(&self, _out: &mut TextBuf, at: OutPtr, instr: &Instr) -> OutPtr {
        // SAFETY: the buffer has `TextBuf::SLACK` bytes after `limit` and after the position at which it was opened.
        unsafe { at.0.cast::<[u8; 16]>().write_unaligned(instr.lit) };
        at.add(instr.lit_len.into())
    }

    /// Room after the text.
    ///
    /// # Safety
    /// `at` must be at most [`super::BEFORE`] bytes after a position for which `has_room` is true, or at which the text
    /// was opened from `out`. An instruction prints no more before it asks for room; for instructions that run
    /// together, rule V10 limits the digits.
    #[inline(always)]
    pub unsafe fn room<'t>(&self, _out: &'t mut TextBuf, at: OutPtr) -> &'t mut [u8; ROOM] {
        // SAFETY: the buffer has `TextBuf::SLACK` initialised bytes after `limit`: `BEFORE` plus those lent here.
        unsafe { &mut *at.0.cast() }
    }
}

/// Prefetches the memory at a pointer, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no visible effect, and any address is allowed.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Eight bytes of an event at a fixed offset.
///
/// # Safety
/// The event must have `at + 8` bytes (rule V6, and the length check before a routine runs).
#[inline(always)]
pub(crate) unsafe fn window(bytes: &[u8], at: u32) -> [u8; 8] {
    debug_assert_rule!(FixedReads: at as usize + 8 <= bytes.len());
    // SAFETY: the caller guarantees that the bytes exist.
    unsafe { bytes.as_ptr().add(at as usize).cast::<[u8; 8]>().read_unaligned() }
}

/// `N` words of a table.
///
/// # Safety
/// There must be `at + N` words (rule V8).
#[inline(always)]
pub(crate) unsafe fn at_words<const N: usize>(words: &[u64], at: usize) -> &[u64; N] {
    debug_assert_rule!(Tables: at + N <= words.len());
    // SAFETY: the caller guarantees that the words exist.
    unsafe { &*words.as_ptr().add(at).cast() }
}

/// Bytes of 8-byte words of a table, in memory order.
///
/// # Safety
/// There must be `at + BYTES / 8` words (rule V8).
#[inline(always)]
pub(crate) unsafe fn at_bytes<const BYTES: usize>(words: &[u64], at: usize) -> &[u8; BYTES] {
    debug_assert_rule!(Tables: at + BYTES / 8 <= words.len() && BYTES.is_multiple_of(8));
    // SAFETY: the caller guarantees that the words exist.
    unsafe { &*words.as_ptr().add(at).cast() }
}

/// Row with a given index.
///
/// # Safety
/// The row must exist (rules V8 and V12).
#[inline(always)]
pub(crate) unsafe fn row_at<T>(rows: &[T], at: usize) -> &T {
    debug_assert_rule!(Rows: at < rows.len());
    // SAFETY: the caller guarantees that the row exists.
    unsafe { rows.get_unchecked(at) }
}

/// Part of a section.
///
/// # Safety
/// The part must be inside the section (rules V8 and V12).
#[inline(always)]
pub(crate) unsafe fn part<T>(rows: &[T], start: usize, len: usize) -> &[T] {
    debug_assert_rule!(Rows: start + len <= rows.len());
    // SAFETY: the caller guarantees that the part is inside.
    unsafe { rows.get_unchecked(start..start + len) }
}

/// Section from a given row to its end.
///
/// # Safety
/// `start` must be at most the number of rows (rule V12).
#[inline(always)]
pub(crate) unsafe fn tail<T>(rows: &[T], start: usize) -> &[T] {
    debug_assert_rule!(Rows: start <= rows.len());
    // SAFETY: the caller guarantees that `start` is in range.
    unsafe { rows.get_unchecked(start..) }
}
