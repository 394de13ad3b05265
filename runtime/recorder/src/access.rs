//! File permissions of the user.
#![expect(unsafe_code, reason = "the standard library has no access(2)")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// True if the user can create files in a directory.
pub fn is_writable(directory: &Path) -> bool {
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else { return false };
    // SAFETY: access reads a string that ends with NUL, and `path` is one for the whole call.
    unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}
