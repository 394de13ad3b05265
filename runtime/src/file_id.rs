//! Identity of files: a file and its symbolic and hard links are one file.

use std::path::Path;

/// Identity of a file: its device and inode.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(u64, u64);

/// Identity of a file: its canonical path. Hard links of one file count as different files.
#[cfg(not(unix))]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileId(std::path::PathBuf);

#[cfg(unix)]
impl FileId {
    /// Identity of the file that a path leads to; follows links. `None` if there is no such file.
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|found| Self::from(&found))
    }
}

#[cfg(unix)]
impl From<&std::fs::Metadata> for FileId {
    fn from(found: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(found.dev(), found.ino())
    }
}

#[cfg(not(unix))]
impl FileId {
    /// Identity of the file that a path leads to; follows links. `None` if there is no such file.
    pub fn of(path: &Path) -> Option<Self> {
        path.canonicalize().ok().map(Self)
    }
}
