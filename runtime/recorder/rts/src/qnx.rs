//! QNX's trace functions (`sys/trace.h`).
#![expect(unsafe_code, reason = "C functions take addresses")]

use crate::{bytes, fails, guarded};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use tfbc_recorder::qnx;

/// Maximum bytes of an event. The recorder cuts off the rest and counts it.
const MAX_BYTES: usize = 4096;

unsafe extern "C" {
    /// The C function. On the supported machines a `va_list` is passed as an address: it is an array, or a structure
    /// too large for registers.
    fn vsnprintf(text: *mut c_char, size: usize, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// Converts the result of a function that returns an errno value.
fn numbered(run: impl FnOnce() -> c_int) -> c_int {
    guarded(libc::EFAULT, run)
}

/// Records a user event of two words; see `sys/trace.h`.
#[unsafe(no_mangle)]
pub extern "C" fn trace_logi(code: c_int, data1: c_uint, data2: c_uint) -> c_int {
    numbered(|| qnx::logi(code as u32, data1, data2))
}

/// Records a user event of bytes; see `sys/trace.h`.
///
/// # Safety
/// `data` is null, or `length` bytes there can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trace_logb(code: c_int, data: *const u8, length: usize) -> c_int {
    // SAFETY: the caller guarantees readable bytes, and this is a prefix of them.
    let data = unsafe { bytes(data, length.min(MAX_BYTES + 1)) };
    numbered(|| qnx::logb(code as u32, data))
}

/// Records an event of bytes in another class; see `sys/trace.h`.
///
/// # Safety
/// See [`trace_logb`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trace_logbc(class: c_int, event: c_int, data: *const u8, length: usize) -> c_int {
    // SAFETY: the caller guarantees readable bytes, and this is a prefix of them.
    let data = unsafe { bytes(data, length.min(MAX_BYTES + 1)) };
    numbered(|| qnx::logbc(class as u32, event as u32, data))
}

/// Records a user event with a formatted text; see `sys/trace.h`. Returns the length of the text with its NUL, or 0 if
/// no trace is running.
///
/// # Safety
/// `format` is null or a `printf` format, and `arguments` match it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trace_vnlogf(code: c_int, max: c_int, format: *const c_char, arguments: *mut c_void) -> c_int {
    if format.is_null() || max < 0 {
        return fails(libc::EINVAL);
    }
    if !qnx::is_on() {
        return 0;
    }
    let mut text = [const { MaybeUninit::<u8>::uninit() }; MAX_BYTES];
    let size = if max == 0 { MAX_BYTES } else { MAX_BYTES.min(max as usize) };
    // SAFETY: `text` has room for `size` bytes; the caller guarantees that format and arguments match.
    let length = unsafe { vsnprintf(text.as_mut_ptr().cast(), size, format, arguments) };
    let Ok(length) = usize::try_from(length) else { return -1 };
    let written = length.min(size - 1);
    // SAFETY: vsnprintf wrote that many bytes and a NUL after them.
    let text = unsafe { bytes(text.as_ptr().cast(), written) };
    match numbered(|| qnx::log_text(code as u32, size, text)) {
        0 => written as c_int + 1,
        error => fails(error),
    }
}

/// Records the entry of a function; see `sys/trace.h`.
#[unsafe(no_mangle)]
pub extern "C" fn trace_func_enter(this: *const c_void, call_site: *const c_void) -> c_int {
    numbered(|| qnx::func_enter(this.addr(), call_site.addr()))
}

/// Records the exit of a function; see `sys/trace.h`.
#[unsafe(no_mangle)]
pub extern "C" fn trace_func_exit(this: *const c_void, call_site: *const c_void) -> c_int {
    numbered(|| qnx::func_exit(this.addr(), call_site.addr()))
}

/// Records the address of the call; see `sys/trace.h`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn trace_here() -> c_int {
    // The return address is the caller's position.
    std::arch::naked_asm!("mov rdi, [rsp]", "jmp {here}", here = sym here)
}

/// Records the address of the call; see `sys/trace.h`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn trace_here() -> c_int {
    // The return address is the caller's position.
    std::arch::naked_asm!("mov x0, x30", "b {here}", here = sym here)
}

extern "C" fn here(address: usize) -> c_int {
    numbered(|| qnx::here(address))
}
