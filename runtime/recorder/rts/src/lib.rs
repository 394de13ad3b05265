//! `librts`: the recorder for C programs. The functions are described in `include/sys`.
//!
//! Nothing here panics into a program, and no argument is taken at its word where that could be avoided: channels, codes and
//! lengths are checked, null pointers stand for nothing. The hooks may be called from signal handlers.
#![cfg(target_os = "linux")]

mod control;
mod hooks;
mod qnx;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs what a C function does; a panic ends here, and the function returns `failed`.
fn guarded<T>(failed: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(failed)
}

/// The bytes at an address of a C program.
///
/// # Safety
/// `at` is null, or so many bytes there can be read and are not written to while they are in use.
#[expect(unsafe_code, reason = "the caller tells address and length")]
unsafe fn bytes<'b>(at: *const u8, length: usize) -> &'b [u8] {
    if at.is_null() || length > isize::MAX as usize {
        return &[];
    }
    // SAFETY: `at` is not null, the length is one that a slice may have, and the rest is the caller's promise.
    unsafe { std::slice::from_raw_parts(at, length) }
}

/// This thread's `errno`.
#[expect(unsafe_code, reason = "errno is C's")]
fn errno() -> c_int {
    // SAFETY: the address of this thread's own errno.
    unsafe { *libc::__errno_location() }
}

#[expect(unsafe_code, reason = "errno is C's")]
fn set_errno(error: c_int) {
    // SAFETY: the address of this thread's own errno.
    unsafe { *libc::__errno_location() = error };
}

/// Sets `errno`, and gives what a C function returns then.
fn fails(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// What a C function returns by what was done, and `errno`, which stays as it was where all went well.
fn answered(run: impl FnOnce() -> Result<c_int, c_int>) -> c_int {
    let kept = errno();
    match guarded(Err(libc::EFAULT), run) {
        Ok(value) => {
            set_errno(kept);
            value
        }
        Err(error) => fails(error),
    }
}
