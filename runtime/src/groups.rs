//! Event groups, from files that may be compressed.

use crate::reader::{Compression, Input, Unpacker};
use std::io;
use std::path::Path;
pub use tfbc_recorder::groups::{FILE_VARIABLE, FormError, Group, GroupError, Groups, MAX_FILE, RESERVED, USER, place};

/// Reads a file of groups, and tells how it is compressed: such a file can be read only. One that does not exist is empty.
///
/// # Errors
/// The file cannot be read, or is none.
pub fn load(path: &Path) -> io::Result<(Groups, Option<Compression>)> {
    let (bytes, compression) = match Input::open(path) {
        Ok(mut input) => (input.read_whole(MAX_FILE + 1)?, input.unpacker().map(Unpacker::compression)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
        Err(error) => return Err(error),
    };
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
    }
    let groups = Groups::parse(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok((groups, compression))
}
