//! Size and compression of a file, for `tfbc info`.

use std::fmt::Write;
use tfbc::TraceFile;

/// Prints the size of a file, and its compression if it is compressed.
pub fn write_size(file: &TraceFile, out: &mut String) {
    if let Some(size) = file.size {
        let _ = writeln!(out, "  size       {size} bytes");
    }
    if let Some(compression) = file.compression {
        let size = file.compressed_size.map_or(String::new(), |size| format!(", {size} bytes"));
        let _ = writeln!(out, "  packed     {compression}{size}");
    }
}
