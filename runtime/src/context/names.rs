//! Names of addresses from the output of AIX's `trcnm`, one `name  hexaddress` per line.

use crate::reader::Input;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;

/// Map from addresses to names.
///
/// ```
/// let names = tfbc::aix::AddressNames::parse(b"kread  0001A2B4\nkwrite 0x0001A300 .text\n")?;
/// assert_eq!(names.get(0x1A2B4), Some(&b"kread"[..]));
/// assert_eq!(names.get(0x1A2B5), None);
/// # Ok::<(), tfbc::aix::NamesError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressNames {
    by_address: HashMap<u64, Vec<u8>>,
}

/// Error of a list without any line of the form `name hexaddress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesError;

impl fmt::Display for NamesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no line is `name hexaddress`; expected the output of trcnm")
    }
}

impl std::error::Error for NamesError {}

impl AddressNames {
    /// Maximum size of a list in bytes.
    #[doc(hidden)]
    pub const MAX_LIST: u64 = 256 << 20;

    /// Loads a list from a file, which may be compressed.
    ///
    /// # Errors
    /// The file cannot be read or has more than 256 MiB; or it is not empty, and no line contains a name and an address.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        let list = Input::open(path.as_ref())?.read_whole(Self::MAX_LIST)?;
        Self::parse(&list).map_err(io::Error::other)
    }

    /// Parses a list. Further columns, and lines of other forms such as headings, are ignored. If an address has
    /// several names, the first one counts.
    ///
    /// # Errors
    /// The list is not empty, but no line contains a name and an address.
    pub fn parse(list: &[u8]) -> Result<Self, NamesError> {
        let mut by_address = HashMap::new();
        for (name, address) in list.split(|byte| *byte == b'\n').filter_map(name_and_address) {
            by_address.entry(address).or_insert_with(|| name.to_vec());
        }
        let blank = list.iter().all(u8::is_ascii_whitespace);
        if by_address.is_empty() && !blank { Err(NamesError) } else { Ok(Self { by_address }) }
    }

    /// True if there are no names.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// Name of exactly this address.
    #[doc(hidden)]
    pub fn get(&self, address: u64) -> Option<&[u8]> {
        self.by_address.get(&address).map(Vec::as_slice)
    }
}

fn name_and_address(line: &[u8]) -> Option<(&[u8], u64)> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (name, address) = (words.next()?, std::str::from_utf8(words.next()?).ok()?);
    let digits = address.strip_prefix("0x").unwrap_or(address);
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u64::from_str_radix(digits, 16).ok().map(|address| (name, address)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_other_forms_are_ignored() {
        let list = b"SYSTEM NAMES\nname zzz\n\n.kread 1A2B4\nkread2 1a2b4\nbig fffffffffffffffff\n";
        let names = AddressNames::parse(list).unwrap();
        assert_eq!(names.get(0x1A2B4), Some(&b".kread"[..]));
        assert_eq!(names.by_address.len(), 1);
        assert!(AddressNames::parse(b"\n \n").is_ok());
        assert_eq!(AddressNames::parse(b"nothing here\n"), Err(NamesError));
        assert_eq!(AddressNames::parse(&[0xFF; 64]), Err(NamesError));
    }
}
