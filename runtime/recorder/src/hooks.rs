//! AIX's trace hooks.
//!
//! An event consists of a hook word and either up to five data words (channel 0), or a data word and up to 4096 bytes
//! (any channel). The hook word here contains only the 16-bit id and the subhook, for both program widths. Id `hhh` is
//! `hhh0`.

#![expect(unsafe_code, reason = "an event's data is written to its buffer by address")]

use crate::buffer_pool::{EventWord, MAX_BYTES};
use crate::record::Width;
use crate::thread_writer;

pub use crate::control::{CHANNELS, is_on};
pub use crate::thread_writer::prepare;

#[inline(always)]
fn kind_of(width: Width, stamped: bool) -> u64 {
    let narrow = if width == Width::W32 { EventWord::NARROW } else { 0 };
    narrow | if stamped { EventWord::STAMPED } else { 0 }
}

/// Records up to five data words on channel 0, if the channel is on and the id is recorded.
///
/// `stamped` is true if the event gets a time stamp. Words of a 32-bit program are cut to 32 bits.
///
/// ```
/// use tfbc_recorder::{hooks, record::Width};
///
/// // TRCHKL1T(HKWD_USER1, 10) of a 64-bit program.
/// hooks::words(Width::W64, true, 0x0100_0000, [10]);
/// ```
#[inline(always)]
pub fn words<const N: usize>(width: Width, stamped: bool, hook_word: u32, words: [u64; N]) {
    const { assert!(N <= 5, "a hook has at most five data words") };
    if is_on(0) {
        let mask = if width == Width::W32 { u64::from(u32::MAX) } else { u64::MAX };
        let word = |i: usize| words.get(i).map_or(0, |word| word & mask);
        let kind = EventWord::new(kind_of(width, stamped), hook_word, 8 * N);
        put_words::<N>(kind, word(0), word(1), word(2), word(3), word(4));
    }
}

/// All arguments are in registers. An array would be built in memory before the check if the hook is on.
#[inline(never)]
fn put_words<const N: usize>(kind: EventWord, d1: u64, d2: u64, d3: u64, d4: u64, d5: u64) {
    thread_writer::put(0, (kind.hook_word() >> 16) as u16, 8 * N, kind, move |at| {
        for (i, word) in [d1, d2, d3, d4, d5].into_iter().take(N).enumerate() {
            // SAFETY: `put` reserved the length it was given, 8 bytes per word.
            unsafe { at.add(i).write(word) };
        }
    });
}

/// Records a data word and bytes on a channel below [`CHANNELS`], if the channel is on.
///
/// Bytes after 4096 are cut off, and the session counts such events.
#[inline(always)]
pub fn generic(channel: usize, width: Width, stamped: bool, hook_word: u32, word: u64, bytes: &[u8]) {
    if channel < CHANNELS && is_on(channel) {
        put_generic(channel, width, stamped, hook_word, word, bytes);
    }
}

#[inline(never)]
fn put_generic(channel: usize, width: Width, stamped: bool, hook_word: u32, word: u64, bytes: &[u8]) {
    let recorded = &bytes[..bytes.len().min(MAX_BYTES)];
    let kind = EventWord::new(kind_of(width, stamped) | EventWord::GENERIC, hook_word, recorded.len());
    let word = if width == Width::W32 { word & u64::from(u32::MAX) } else { word };
    thread_writer::put(channel, (hook_word >> 16) as u16, 8 + recorded.len(), kind, move |at| {
        // SAFETY: `put` reserved the length it was given: a data word and the bytes.
        unsafe {
            at.write(word);
            write_bytes(at.add(1), recorded);
        }
    });
    if recorded.len() < bytes.len() {
        thread_writer::count_cut(channel);
    }
}

/// Writes bytes, padded with zeros to a multiple of 8.
///
/// # Safety
/// `at` is valid for writes of the padded length.
#[inline(always)]
pub(crate) unsafe fn write_bytes(at: *mut u64, bytes: &[u8]) {
    // The last word is written first, so that its padding is 0. SAFETY: the caller guarantees the room for both writes.
    unsafe {
        if let Some(last) = bytes.len().checked_sub(1) {
            at.add(last / 8).write(0);
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.cast(), bytes.len());
    }
}

/// True if a hook with this 16-bit id would be recorded on this channel now.
pub fn is_hook_on(channel: usize, id: u16) -> bool {
    channel < CHANNELS && is_on(channel) && thread_writer::records(channel, id)
}
