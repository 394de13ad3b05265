//! QNX's trace functions, as in its C library.
//!
//! Each returns 0, or `EINVAL` if a code, class or event does not fit into its bits. Without a running trace they do
//! nothing.
//!
//! Addresses are recorded as their low 32 bits, because most readers are older than the events with 64.

#![expect(unsafe_code, reason = "an event's data is written to its buffer by address")]

use crate::buffer_pool::{EventWord, MAX_BYTES};
use crate::control::{self, QNX};
use crate::hooks::write_bytes;
use crate::thread_writer;

/// Class of user events.
const USER: u8 = 6;
/// Class of system events, used for functions and code addresses.
const SYSTEM: u8 = 5;
const ADDRESS: u16 = 9;
const FUNC_ENTER: u16 = 10;
const FUNC_EXIT: u16 = 11;

/// True while a trace is running.
#[inline(always)]
pub fn is_on() -> bool {
    control::is_on(QNX)
}

/// Records a user event of two words: `trace_logi`.
///
/// ```
/// assert_eq!(tfbc_recorder::qnx::logi(1024, 0, 0), libc::EINVAL);
/// ```
#[inline]
pub fn logi(code: u32, data1: u32, data2: u32) -> i32 {
    put(USER, code, &words(data1, data2), false)
}

/// Records a user event of 32-bit words given as bytes: `trace_logb`. The last word is padded with zeros, and bytes
/// after 4096 are cut off.
#[inline]
pub fn logb(code: u32, data: &[u8]) -> i32 {
    put(USER, code, data, false)
}

/// Records an event of another class: `trace_logbc`. `class` is the internal class shifted left by ten, as in a log's
/// slots.
#[inline]
pub fn logbc(class: u32, event: u32, data: &[u8]) -> i32 {
    match u8::try_from(class >> 10) {
        Ok(number @ 0..32) if class & 0x3FF == 0 => put(number, event, data, false),
        _ => libc::EINVAL,
    }
}

/// Records a user event with a formatted text: `trace_logf` and its relatives. The text ends at its first NUL and is
/// cut to `max` bytes including the NUL; 0 means no limit.
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

/// Records the entry of a function: `trace_func_enter`.
#[inline]
pub fn func_enter(this: usize, call_site: usize) -> i32 {
    put(SYSTEM, FUNC_ENTER.into(), &words(this as u32, call_site as u32), false)
}

/// Records the exit of a function: `trace_func_exit`.
#[inline]
pub fn func_exit(this: usize, call_site: usize) -> i32 {
    put(SYSTEM, FUNC_EXIT.into(), &words(this as u32, call_site as u32), false)
}

/// Records the address of the call: `trace_here`.
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
    // An event without bytes is not recorded.
    if recorded.is_empty() {
        return;
    }
    let bytes = if is_text { EventWord::GENERIC } else { 0 };
    let slot = u32::from(class) << 10 | event;
    let kind = EventWord::new(EventWord::KERNEL | EventWord::STAMPED | bytes, slot, recorded.len().next_multiple_of(4));
    // The filter works per class: the id is the class with 0 as its low byte.
    thread_writer::put(QNX, slot as u16, recorded.len(), kind, move |at| {
        // SAFETY: `put` reserved the length it was given, rounded up to 8.
        unsafe { write_bytes(at, recorded) };
    });
    if recorded.len() < data.len() {
        thread_writer::count_cut(QNX);
    }
}
