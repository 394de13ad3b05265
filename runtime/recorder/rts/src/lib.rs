//! `librts`: the recorder for C programs. `include/sys` documents the functions.
//!
//! No panic reaches the program. Arguments are checked: channels, codes and lengths have limits, and null pointers mean
//! "no data". The hooks can be called from signal handlers.
#![cfg(target_os = "linux")]

mod control;
mod hooks;
mod qnx;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a C function. If it panics, the function returns `failed`.
fn guarded<T>(failed: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(failed)
}

/// Bytes at an address of a C program.
///
/// # Safety
/// `at` is null, or `length` bytes there are readable and not written while the result is in use.
#[expect(unsafe_code, reason = "the caller passes address and length")]
unsafe fn bytes<'b>(at: *const u8, length: usize) -> &'b [u8] {
    if at.is_null() || length > isize::MAX as usize {
        return &[];
    }
    // SAFETY: `at` is not null, the length is valid for a slice, and the caller promises the rest.
    unsafe { std::slice::from_raw_parts(at, length) }
}

/// Errno of this thread.
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

/// Sets `errno`, and returns -1, the failure value of a C function.
fn fails(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// Converts a result to a C return value. `errno` is only changed by a failure.
fn c_result(run: impl FnOnce() -> Result<c_int, c_int>) -> c_int {
    let kept = errno();
    match guarded(Err(libc::EFAULT), run) {
        Ok(value) => {
            set_errno(kept);
            value
        }
        Err(error) => fails(error),
    }
}
