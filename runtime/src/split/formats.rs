//! Format files with which a trace is split. The state at a border depends on them.

use super::codec::{Text, stored};
use crate::formats::Formats;
use std::fmt;

/// Names of format files, and the hash of what they compile to.
#[derive(Debug, Clone, Default)]
pub(crate) struct FormatFacts {
    /// Names, as they were given; none for the built-in format file.
    names: Vec<Text>,
    hash: [u8; 32],
}

stored!(FormatFacts { names, hash });

impl FormatFacts {
    pub fn of(formats: &Formats) -> Self {
        let names = formats.files().into_iter().map(|file| Text(file.name)).collect();
        Self { names, hash: hash_of(formats) }
    }

    /// Checks that these are the format files with which `subject` was split. The error names both.
    pub fn check(&self, formats: &Formats, subject: &str) -> Result<(), String> {
        if self.hash == hash_of(formats) {
            return Ok(());
        }
        Err(format!("{subject} was split with other format files: with {self}, not with {}", Self::of(formats)))
    }
}

/// Hash of the compiled format files.
fn hash_of(formats: &Formats) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for blob in formats.blobs() {
        hasher.update(&(blob.len() as u64).to_le_bytes());
        hasher.update(blob);
    }
    hasher.finalize().into()
}

impl fmt::Display for FormatFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names.iter().map(|name| name.0.as_str()).collect();
        let names = if names.is_empty() { "the built-in one".to_owned() } else { names.join(", ") };
        write!(f, "{names} (BLAKE3 {})", HashStart(&self.hash))
    }
}

/// First bytes of a hash, which tell hashes apart in messages.
pub(super) struct HashStart<'h>(pub &'h [u8; 32]);

impl fmt::Display for HashStart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
