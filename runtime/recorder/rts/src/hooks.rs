//! AIX's hooks (`sys/trcmacros.h`), and the queries about hooks from `sys/trcctl.h`.
#![expect(unsafe_code, reason = "C functions take addresses")]

use crate::{bytes, guarded};
use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong};
use tfbc_recorder::hooks::{self, CHANNELS};
use tfbc_recorder::record::Width;

/// Maximum bytes of a generic event. The recorder cuts off the rest and counts it.
const MAX_BYTES: usize = 4096;

/// Word size of a C program.
const OWN: Width = if size_of::<c_ulong>() == 8 { Width::W64 } else { Width::W32 };

/// Widens a C program's word of 4 or 8 bytes.
fn wide(word: c_ulong) -> u64 {
    u128::from(word) as u64
}

/// Records a hook of up to five data words.
fn words(width: Width, stamped: bool, hook_word: u32, n_words: usize, words: [u64; 5]) {
    let [d1, d2, d3, d4, d5] = words;
    guarded((), || match n_words {
        0 => hooks::words(width, stamped, hook_word, []),
        1 => hooks::words(width, stamped, hook_word, [d1]),
        2 => hooks::words(width, stamped, hook_word, [d1, d2]),
        3 => hooks::words(width, stamped, hook_word, [d1, d2, d3]),
        4 => hooks::words(width, stamped, hook_word, [d1, d2, d3, d4]),
        _ => hooks::words(width, stamped, hook_word, [d1, d2, d3, d4, d5]),
    });
}

/// Records a 32-bit hook word `hhh t dddd` with up to five words. Its type says if there is a time stamp, and how many
/// words there are.
fn hook32(hook_word: c_uint, data: [c_uint; 5]) {
    let stamped = hook_word & 0x8_0000 != 0;
    let n_words = match hook_word >> 16 & 7 {
        n @ 1..=5 => n as usize - 1,
        _ => 5,
    };
    words(Width::W32, stamped, hook_word & 0xFFF0_FFFF, n_words, data.map(u64::from));
}

/// Records a 64-bit hook word `ffff llll hhhh ssss` with up to five words. Flag 8000 means a time stamp, and the length
/// counts bytes. Machines with 32-bit words have no room for flags and length, so all five words and the time are
/// recorded.
fn hook64(hook_word: c_ulong, data: [c_ulong; 5]) {
    let whole = wide(hook_word);
    let (stamped, n_words) = match OWN {
        Width::W64 => (whole >> 63 != 0, (whole >> 35 & 0x1FFF) as usize),
        Width::W32 => (true, 5),
    };
    words(Width::W64, stamped, whole as u32, n_words, data.map(wide));
}

/// # Safety
/// `data` is null, or `length` bytes there can be read.
unsafe fn generic(
    width: Width,
    channel: c_int,
    stamped: bool,
    hook_word: c_ulong,
    word: c_ulong,
    length: c_uint,
    data: *const u8,
) {
    let Ok(channel) = usize::try_from(channel) else { return };
    // A negative length, such as the result of a failed read(), counts as 0.
    let length = if length > c_int::MAX as c_uint { 0 } else { length as usize };
    // One byte more than fits shows the recorder that data was cut. SAFETY: the caller guarantees readable bytes, and
    // this is a prefix of them.
    let data = unsafe { bytes(data, length.min(MAX_BYTES + 1)) };
    guarded((), || hooks::generic(channel, width, stamped, hook_word as u32, wide(word), data));
}

/// Records a 32-bit hook; see `sys/trcmacros.h`.
#[unsafe(no_mangle)]
pub extern "C" fn trchook(hw: c_uint, d1: c_uint, d2: c_uint, d3: c_uint, d4: c_uint, d5: c_uint) {
    hook32(hw, [d1, d2, d3, d4, d5]);
}

/// Alias of [`trchook`] for user programs.
#[unsafe(no_mangle)]
pub extern "C" fn utrchook(hw: c_uint, d1: c_uint, d2: c_uint, d3: c_uint, d4: c_uint, d5: c_uint) {
    hook32(hw, [d1, d2, d3, d4, d5]);
}

/// Records a 64-bit hook; see `sys/trcmacros.h`.
#[unsafe(no_mangle)]
pub extern "C" fn trchook64(hw: c_ulong, d1: c_ulong, d2: c_ulong, d3: c_ulong, d4: c_ulong, d5: c_ulong) {
    hook64(hw, [d1, d2, d3, d4, d5]);
}

/// Alias of [`trchook64`] for user programs.
#[unsafe(no_mangle)]
pub extern "C" fn utrchook64(hw: c_ulong, d1: c_ulong, d2: c_ulong, d3: c_ulong, d4: c_ulong, d5: c_ulong) {
    hook64(hw, [d1, d2, d3, d4, d5]);
}

/// Records a generic event; see `sys/trcmacros.h`.
///
/// # Safety
/// `buf` is null, or `len` bytes there can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trcgen(ch: c_int, hw: c_ulong, d1: c_ulong, len: c_uint, buf: *const c_char) {
    // SAFETY: the caller guarantees what this function requires.
    unsafe { generic(OWN, ch, false, hw, d1, len, buf.cast()) }
}

/// Records a generic event with a time stamp.
///
/// # Safety
/// See [`trcgen`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trcgent(ch: c_int, hw: c_ulong, d1: c_ulong, len: c_uint, buf: *const c_char) {
    // SAFETY: the caller guarantees what this function requires.
    unsafe { generic(OWN, ch, true, hw, d1, len, buf.cast()) }
}

/// Alias of [`trcgen`], which AIX has for kernel code.
///
/// # Safety
/// See [`trcgen`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trcgenk(ch: c_int, hw: c_ulong, d1: c_ulong, len: c_uint, buf: *const c_char) {
    // SAFETY: the caller guarantees what this function requires.
    unsafe { generic(OWN, ch, false, hw, d1, len, buf.cast()) }
}

/// Alias of [`trcgent`], which AIX has for kernel code.
///
/// # Safety
/// See [`trcgen`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trcgenkt(ch: c_int, hw: c_ulong, d1: c_ulong, len: c_uint, buf: *const c_char) {
    // SAFETY: the caller guarantees what this function requires.
    unsafe { generic(OWN, ch, true, hw, d1, len, buf.cast()) }
}

/// Records a generic event of a 32-bit program, or of one with a 32-bit data word.
///
/// # Safety
/// See [`trcgen`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trcgen32(ch: c_int, hw: c_uint, d1: c_uint, len: c_uint, buf: *const c_char) {
    // SAFETY: the caller guarantees what this function requires.
    unsafe { generic(Width::W32, ch, false, hw.into(), d1.into(), len, buf.cast()) }
}

/// Records a generic event of a 32-bit program with a time stamp.
///
/// # Safety
/// See [`trcgen`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trcgent32(ch: c_int, hw: c_uint, d1: c_uint, len: c_uint, buf: *const c_char) {
    // SAFETY: the caller guarantees what this function requires.
    unsafe { generic(Width::W32, ch, true, hw.into(), d1.into(), len, buf.cast()) }
}

/// Returns 1 if the id of a hook word would be recorded now.
#[unsafe(no_mangle)]
pub extern "C" fn trc_ishookon(ch: c_int, hw: c_long) -> c_int {
    guarded(0, || is_any_on(ch, [(hw as u32 >> 16) as u16]))
}

/// Returns 1 if any id of a set would be recorded now. The set has bit `id % 8` of byte `id / 8` for each 12-bit id.
///
/// # Safety
/// `set` is null, or `size` bytes there can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trc_ishookset(ch: c_int, set: *const u8, size: c_ulong) -> c_int {
    // SAFETY: the caller guarantees readable ids, and the length is limited to the number of existing ids.
    let set = unsafe { bytes(set, usize::try_from(size).unwrap_or(usize::MAX).min(512)) };
    let ids = (0..set.len() * 8).filter(|id| set[id / 8] >> (id % 8) & 1 != 0);
    guarded(0, || is_any_on(ch, ids.map(|id| (id << 4) as u16)))
}

fn is_any_on(channel: c_int, ids: impl IntoIterator<Item = u16>) -> c_int {
    match usize::try_from(channel) {
        Ok(channel @ 0..CHANNELS) => ids.into_iter().any(|id| hooks::is_hook_on(channel, id)).into(),
        _ => 0,
    }
}
