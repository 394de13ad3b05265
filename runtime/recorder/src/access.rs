//! What the user may do with a file.
#![expect(unsafe_code, reason = "the standard library has no access(2)")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether this user can make files in a directory.
pub fn is_writable(directory: &Path) -> bool {
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else { return false };
    // SAFETY: access reads a string that ends with NUL, which `path` is and stays throughout the call.
    unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}
