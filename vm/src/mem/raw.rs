//! The accesses by pointer. Every block names what it stands on: its type's own invariant, or a rule of `verify.rs`.
#![expect(unsafe_code, reason = "bounds checks at every instruction cost a third of a short event's time")]

use super::{MARGIN, ROOM, debug_assert_rule};
use crate::{COLUMNS, Instr, TextBuf};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

/// An instruction of the running routine, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pc(*const Instr);

/// Where the text ends, in the stage's buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At(*mut u8);

impl At {
    /// Behind `n` more bytes.
    #[inline(always)]
    pub fn add(self, n: usize) -> At {
        At(self.0.wrapping_add(n))
    }

    /// Before the last `n` bytes.
    #[inline(always)]
    pub fn back(self, n: usize) -> At {
        At(self.0.wrapping_sub(n))
    }
}

/// The running routine and the text that it prints. `code..end` is the routine's body, a part of its instructions, `text..limit` bytes of
/// the text's buffer with [`TextBuf::SLACK`] more behind them.
#[derive(Debug)]
pub(crate) struct Stage<'r> {
    code: *const Instr,
    end: *const Instr,
    text: *mut u8,
    limit: *mut u8,
    routine: PhantomData<&'r [Instr]>,
}

impl<'r> Stage<'r> {
    /// No routine, and no text.
    pub fn new() -> Self {
        Stage { code: null(), end: null(), text: null_mut(), limit: null_mut(), routine: PhantomData }
    }

    /// Takes up a text where it ends; it may grow up to `text_limit`.
    #[inline(always)]
    pub fn open(&mut self, out: &mut TextBuf, text_limit: usize) -> At {
        out.room(0);
        self.text = out.buf.as_mut_ptr();
        self.limit = self.text.wrapping_add(out.end.min(text_limit));
        At(self.text.wrapping_add(out.len))
    }

    /// Takes up a routine, and a text with columns and `blanks` behind it: `columns` says how many bytes of its room they
    /// take. The text may grow by `max_text` after them. Gives how long it is with the columns, and where it ends; without
    /// blanks and columns there may be no room yet.
    #[inline(always)]
    pub fn begin(
        &mut self,
        (code, body): (&'r [Instr], usize),
        out: &mut TextBuf,
        columns: Option<impl FnOnce(&mut [u8; COLUMNS]) -> usize>,
        blanks: u16,
        max_text: usize,
    ) -> (usize, At) {
        const { assert!(COLUMNS + MARGIN as usize <= TextBuf::SLACK) };
        (self.code, self.end) = (code.as_ptr(), code.as_ptr().wrapping_add(body));
        let mut n_columns = 0;
        if columns.is_some() || blanks > 0 {
            out.room(0);
        }
        let text = out.buf.as_mut_ptr();
        let end = text.wrapping_add(out.len);
        if let Some(columns) = columns {
            // SAFETY: the buffer has `TextBuf::SLACK` initialised bytes behind the text where room was made.
            n_columns = columns(unsafe { &mut *end.cast() }).min(COLUMNS);
        }
        let len = out.len + n_columns;
        self.text = text;
        self.limit = text.wrapping_add(out.end.min(len + usize::from(blanks) + max_text));
        let end = end.wrapping_add(n_columns);
        if blanks == 0 {
            return (len, At(end));
        }
        if blanks > MARGIN {
            out.len = len;
            out.pad(blanks.into());
            return (len, self.open(out, len + usize::from(blanks) + max_text));
        }
        // SAFETY: what the buffer has behind the text, where room was made, holds columns and these blanks.
        unsafe { end.cast::<[u8; MARGIN as usize]>().write_unaligned([b' '; MARGIN as usize]) };
        (len, At(end.wrapping_add(blanks.into())))
    }

    /// Holds no place of the text any more, until it is opened again.
    #[inline(always)]
    pub fn exhaust(&mut self) {
        self.limit = null_mut();
    }

    /// Leaves the text to others.
    #[inline(always)]
    pub fn close(&self, out: &mut TextBuf, at: At) {
        out.len = self.offset(at);
    }

    /// Where the text ends, from the buffer's start.
    #[inline(always)]
    pub fn offset(&self, at: At) -> usize {
        at.0.addr() - self.text.addr()
    }

    /// Another routine.
    pub fn enter(&mut self, (code, body): (&'r [Instr], usize)) -> Pc {
        (self.code, self.end) = (code.as_ptr(), code.as_ptr().wrapping_add(body));
        self.start()
    }

    /// The routine's first instruction.
    #[inline(always)]
    pub fn start(&self) -> Pc {
        Pc(self.code)
    }

    /// The routine's first instruction.
    ///
    /// # Safety
    /// The routine's body is not empty: rule V12.
    #[inline(always)]
    pub unsafe fn first(&self) -> &'r Instr {
        debug_assert_rule!(Rows: self.code != self.end);
        // SAFETY: the caller's; the instructions live for 'r.
        unsafe { &*self.code }
    }

    /// The place where the routine ends.
    #[inline(always)]
    pub fn end(&self) -> Pc {
        Pc(self.end)
    }

    /// The routine's instruction with a number, or its end.
    ///
    /// # Safety
    /// The routine has at least `to` instructions: rules V3 and V9.
    #[inline(always)]
    pub unsafe fn place(&self, to: u64) -> Pc {
        // SAFETY: the caller's.
        Pc(unsafe { self.code.add(to as usize) })
    }

    /// The place behind an instruction.
    #[inline(always)]
    pub fn after(&self, instr: &'r Instr) -> Pc {
        Pc(std::ptr::from_ref(instr).wrapping_add(1))
    }

    /// The instruction behind one.
    ///
    /// # Safety
    /// It is run with that one: rule V13.
    #[inline(always)]
    pub unsafe fn next(&self, instr: &'r Instr) -> &'r Instr {
        // SAFETY: the caller's; the instructions live for 'r.
        unsafe { &*std::ptr::from_ref(instr).add(1) }
    }

    /// An instruction's number.
    pub fn index(&self, pc: Pc) -> u64 {
        (pc.0.addr() - self.code.addr()) as u64 / size_of::<Instr>() as u64
    }

    /// The instruction at a place; `None` at the end.
    ///
    /// # Safety
    /// The place is one of this routine: rules V3 and V5.
    #[inline(always)]
    pub unsafe fn instr(&self, pc: Pc) -> Option<&'r Instr> {
        // SAFETY: the caller's; the instructions live for 'r.
        (pc.0 != self.end).then(|| unsafe { &*pc.0 })
    }

    /// Whether there is room for the text of any one instruction.
    #[inline(always)]
    pub fn holds(&self, at: At) -> bool {
        at.0 <= self.limit
    }

    /// Prints an instruction's literal.
    ///
    /// # Safety
    /// `holds(at)`, or the text was opened from `out` where it ends at `at`.
    #[inline(always)]
    pub unsafe fn literal(&self, _out: &mut TextBuf, at: At, instr: &Instr) -> At {
        // SAFETY: the buffer has `TextBuf::SLACK` bytes behind `limit`, and behind the place where it was opened.
        unsafe { at.0.cast::<[u8; 16]>().write_unaligned(instr.lit) };
        at.add(instr.lit_len.into())
    }

    /// The bytes behind the text.
    ///
    /// # Safety
    /// `at` is at most [`super::BEFORE`] bytes after a place that is held, or at which the text was opened from `out`: an
    /// instruction prints no more before it asks for room, by rule V10 for the digits of those that are run together.
    #[inline(always)]
    pub unsafe fn room<'t>(&self, _out: &'t mut TextBuf, at: At) -> &'t mut [u8; ROOM] {
        // SAFETY: the buffer has `TextBuf::SLACK` initialised bytes behind `limit`: `BEFORE` and those that are lent here.
        unsafe { &mut *at.0.cast() }
    }
}

/// Asks the processor for what stands at a place, if anything does.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it reads nothing that the program sees, and any place will do.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Eight bytes of an event at a fixed place.
///
/// # Safety
/// The event has `at + 8` bytes: rule V6, and the length that is checked before a routine runs.
#[inline(always)]
pub(crate) unsafe fn window(bytes: &[u8], at: u32) -> [u8; 8] {
    debug_assert_rule!(FixedReads: at as usize + 8 <= bytes.len());
    // SAFETY: the caller's.
    unsafe { bytes.as_ptr().add(at as usize).cast::<[u8; 8]>().read_unaligned() }
}

/// `N` words of a table.
///
/// # Safety
/// There are `at + N` words: rule V8.
#[inline(always)]
pub(crate) unsafe fn at_words<const N: usize>(words: &[u64], at: usize) -> &[u64; N] {
    debug_assert_rule!(Tables: at + N <= words.len());
    // SAFETY: the caller's.
    unsafe { &*words.as_ptr().add(at).cast() }
}

/// The bytes of eight-byte words of a table, in memory order.
///
/// # Safety
/// There are `at + BYTES / 8` words: rule V8.
#[inline(always)]
pub(crate) unsafe fn at_bytes<const BYTES: usize>(words: &[u64], at: usize) -> &[u8; BYTES] {
    debug_assert_rule!(Tables: at + BYTES / 8 <= words.len() && BYTES.is_multiple_of(8));
    // SAFETY: the caller's.
    unsafe { &*words.as_ptr().add(at).cast() }
}

/// A row by its number.
///
/// # Safety
/// There is such a row: rules V8 and V12.
#[inline(always)]
pub(crate) unsafe fn row_at<T>(rows: &[T], at: usize) -> &T {
    debug_assert_rule!(Rows: at < rows.len());
    // SAFETY: the caller's.
    unsafe { rows.get_unchecked(at) }
}

/// A part of a section.
///
/// # Safety
/// The section holds it: rules V8 and V12.
#[inline(always)]
pub(crate) unsafe fn part<T>(rows: &[T], start: usize, len: usize) -> &[T] {
    debug_assert_rule!(Rows: start + len <= rows.len());
    // SAFETY: the caller's.
    unsafe { rows.get_unchecked(start..start + len) }
}

/// A section from a row on.
///
/// # Safety
/// There is such a row: rule V12.
#[inline(always)]
pub(crate) unsafe fn behind<T>(rows: &[T], start: usize) -> &[T] {
    debug_assert_rule!(Rows: start <= rows.len());
    // SAFETY: the caller's.
    unsafe { rows.get_unchecked(start..) }
}
