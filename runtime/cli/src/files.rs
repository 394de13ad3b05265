//! Files of the commands: inputs that may be compressed, and outputs that are whole or absent.
//!
//! Commands use these types of the library through this module alone, so that all files follow the rules of reports.

use std::io;
use std::path::Path;
#[cfg(feature = "arrow")]
pub use tfbc::internal::UnfinishedDirectory;
pub use tfbc::internal::{FileId, Input, Output, Unpacker, cpu_files};

/// Reads a file of at most `max` bytes.
///
/// # Errors
/// The file cannot be read, or is larger ([`io::ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    Input::open(path)?.read_whole(max)
}

/// Reads a file of at most `max` bytes that begins with `magic`. Of any other file, reads only as many bytes.
///
/// # Errors
/// The file cannot be read, or is larger.
pub fn read_of_kind(path: &Path, magic: &[u8], max: u64) -> io::Result<Vec<u8>> {
    let mut input = Input::open(path)?;
    let mut bytes = Vec::new();
    input.read_on(&mut bytes, magic.len() as u64)?;
    if bytes == magic {
        input.read_rest(&mut bytes, max)?;
    }
    Ok(bytes)
}
