//! QNX's trace functions, as its C library has them.
//!
//! Each returns 0, or `EINVAL` for a code, class or event that does not fit its bits. Where no trace is under way they do
//! nothing.
//!
//! Addresses are recorded by their low 32 bits: the events that hold 64 are newer than most readers.

#![expect(unsafe_code, reason = "an event's data is written to its buffer by address")]

use crate::control::{self, QNX};
use crate::hooks::write_bytes;
use crate::lane;
use crate::pool::{Kind, MAX_BYTES};

/// Events of the user.
const USER: u8 = 6;
/// Events of the system; functions and places are entered here.
const SYSTEM: u8 = 5;
const ADDRESS: u16 = 9;
const FUNC_ENTER: u16 = 10;
const FUNC_EXIT: u16 = 11;

/// Whether a trace is under way.
#[inline(always)]
pub fn is_on() -> bool {
    control::is_on(QNX)
}

/// A user event of two words: `trace_logi`.
///
/// ```
/// assert_eq!(tfbc_recorder::qnx::logi(1024, 0, 0), libc::EINVAL);
/// ```
#[inline]
pub fn logi(code: u32, data1: u32, data2: u32) -> i32 {
    put(USER, code, &words(data1, data2), false)
}

/// A user event of bytes that are 32-bit words: `trace_logb`. They are filled up to a whole word with zeros; those beyond
/// 4096 are cut off.
#[inline]
pub fn logb(code: u32, data: &[u8]) -> i32 {
    put(USER, code, data, false)
}

/// An event of another class: `trace_logbc`. `class` is the internal class shifted left by ten, as in a log's slots.
#[inline]
pub fn logbc(class: u32, event: u32, data: &[u8]) -> i32 {
    match u8::try_from(class >> 10) {
        Ok(number @ 0..32) if class & 0x3FF == 0 => put(number, event, data, false),
        _ => libc::EINVAL,
    }
}

/// A user event of a text: `trace_logf` and the like, of which it takes what they have formatted. The text ends at its first
/// NUL, gets one, and is cut to `max` bytes with it; 0 stands for as many as needed.
#[inline]
pub fn log_text(code: u32, max: usize, text: &[u8]) -> i32 {
    let max = if max == 0 { MAX_BYTES } else { max.min(MAX_BYTES) };
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len()).min(max - 1);
    if !is_on() {
        return if code < 1024 { 0 } else { libc::EINVAL };
    }
    let mut ended = [0; MAX_BYTES];
    ended[..end].copy_from_slice(&text[..end]);
    put(USER, code, &ended[..=end], true)
}

/// The entry of a function: `trace_func_enter`.
#[inline]
pub fn func_enter(this: usize, call_site: usize) -> i32 {
    put(SYSTEM, FUNC_ENTER.into(), &words(this as u32, call_site as u32), false)
}

/// The exit of a function: `trace_func_exit`.
#[inline]
pub fn func_exit(this: usize, call_site: usize) -> i32 {
    put(SYSTEM, FUNC_EXIT.into(), &words(this as u32, call_site as u32), false)
}

/// The place from which it is called: `trace_here`.
#[inline]
pub fn here(address: usize) -> i32 {
    put(SYSTEM, ADDRESS.into(), &words(address as u32, 0), false)
}

fn words(data1: u32, data2: u32) -> [u8; 8] {
    let mut both = [0; 8];
    both[..4].copy_from_slice(&data1.to_ne_bytes());
    both[4..].copy_from_slice(&data2.to_ne_bytes());
    both
}

#[inline(always)]
fn put(class: u8, event: u32, data: &[u8], is_text: bool) -> i32 {
    if event > 0x3FF {
        return libc::EINVAL;
    }
    if is_on() {
        record(class, event, data, is_text);
    }
    0
}

#[inline(never)]
fn record(class: u8, event: u32, data: &[u8], is_text: bool) {
    let recorded = &data[..data.len().min(MAX_BYTES)];
    // No bytes at all are no event.
    if recorded.is_empty() {
        return;
    }
    let bytes = if is_text { Kind::GENERIC } else { 0 };
    let slot = u32::from(class) << 10 | event;
    let kind = Kind::new(Kind::KERNEL | Kind::STAMPED | bytes, slot, recorded.len().next_multiple_of(4));
    // Classes are filtered, not events: each is the id whose high byte is 0.
    lane::put(QNX, slot as u16, recorded.len(), kind, move |at| {
        // SAFETY: `put` made room for the length that it was told, filled to 8.
        unsafe { write_bytes(at, recorded) };
    });
    if recorded.len() < data.len() {
        lane::count_cut(QNX);
    }
}
