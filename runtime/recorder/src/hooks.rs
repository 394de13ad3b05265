//! AIX's trace hooks.
//!
//! An event is a hook word and either up to five data words, for channel 0, or a data word and up to 4096 bytes, for any
//! channel. The hook word here is that of a program of either width, without type and length: the 16-bit id, then the
//! subhook. Id `hhh` is `hhh0`.

#![expect(unsafe_code, reason = "an event's data is written to its buffer by address")]

use crate::lane;
use crate::pool::{Kind, MAX_BYTES};
use crate::record::Width;

pub use crate::control::{CHANNELS, is_on, prepare};

#[inline(always)]
fn kind_of(width: Width, stamped: bool) -> u64 {
    let narrow = if width == Width::W32 { Kind::NARROW } else { 0 };
    narrow | if stamped { Kind::STAMPED } else { 0 }
}

/// Records up to five data words to channel 0; nothing where the channel is off or the id is not recorded.
///
/// `stamped` says whether the event shows its time. Words of a 32-bit program are cut to 32 bits.
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
        let kind = Kind::new(kind_of(width, stamped), hook_word, 8 * N);
        put_words::<N>(kind, word(0), word(1), word(2), word(3), word(4));
    }
}

/// All arguments are in registers: an array would be built in memory before it is known whether the hook is on.
#[inline(never)]
fn put_words<const N: usize>(kind: Kind, d1: u64, d2: u64, d3: u64, d4: u64, d5: u64) {
    lane::put(0, (kind.hook_word() >> 16) as u16, 8 * N, kind, move |at| {
        for (i, word) in [d1, d2, d3, d4, d5].into_iter().take(N).enumerate() {
            // SAFETY: `put` made room for the length that it was told, 8 bytes a word.
            unsafe { at.add(i).write(word) };
        }
    });
}

/// Records a data word and bytes to a channel below [`CHANNELS`]; nothing where the channel is off or there is none.
///
/// Bytes beyond 4096 are cut off, and the session counts that.
#[inline(always)]
pub fn generic(channel: usize, width: Width, stamped: bool, hook_word: u32, word: u64, bytes: &[u8]) {
    if channel < CHANNELS && is_on(channel) {
        put_generic(channel, width, stamped, hook_word, word, bytes);
    }
}

#[inline(never)]
fn put_generic(channel: usize, width: Width, stamped: bool, hook_word: u32, word: u64, bytes: &[u8]) {
    let recorded = &bytes[..bytes.len().min(MAX_BYTES)];
    let kind = Kind::new(kind_of(width, stamped) | Kind::GENERIC, hook_word, recorded.len());
    let word = if width == Width::W32 { word & u64::from(u32::MAX) } else { word };
    lane::put(channel, (hook_word >> 16) as u16, 8 + recorded.len(), kind, move |at| {
        // SAFETY: `put` made room for the length that it was told: a data word and the bytes.
        unsafe {
            at.write(word);
            write_bytes(at.add(1), recorded);
        }
    });
    if recorded.len() < bytes.len() {
        lane::count_cut(channel);
    }
}

/// Writes bytes, and zeros up to the next multiple of 8.
///
/// # Safety
/// `at` is valid for writing so many.
#[inline(always)]
pub(crate) unsafe fn write_bytes(at: *mut u64, bytes: &[u8]) {
    // SAFETY: by the caller's promise; the last word is written first, so that its end is 0.
    unsafe {
        if let Some(last) = bytes.len().checked_sub(1) {
            at.add(last / 8).write(0);
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.cast(), bytes.len());
    }
}

/// Whether a hook of this 16-bit id on this channel would be recorded now.
pub fn is_hook_on(channel: usize, id: u16) -> bool {
    channel < CHANNELS && is_on(channel) && lane::records(channel, id)
}
