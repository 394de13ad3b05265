//! Identity of files: symbolic and hard links are names of one file.

use std::path::Path;

/// A file under any of its names: its device and inode.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(u64, u64);

/// A file under any of its names: its canonical path, which tells symbolic links from other files, but no hard links.
#[cfg(not(unix))]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileId(std::path::PathBuf);

#[cfg(unix)]
impl FileId {
    /// The file that a path names, through links; `None` if there is none.
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
    /// The file that a path names, through links; `None` if there is none.
    pub fn of(path: &Path) -> Option<Self> {
        path.canonicalize().ok().map(Self)
    }
}
