//! Temporary storage without a name.

use tempfile::SpooledTempFile;

/// Creates storage whose first bytes, up to `in_memory`, are in memory, and all in an unnamed file once there are more.
/// In a browser, which has no files, all are in memory.
pub fn temporary(in_memory: usize) -> SpooledTempFile {
    SpooledTempFile::new(if cfg!(target_arch = "wasm32") { usize::MAX } else { in_memory })
}
