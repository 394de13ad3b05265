//! Format files on disk: read whole, replaced whole.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tfbc::output::{Output, is_at};
use tfbc::reader::aix::is_trace;
use tfbc::unix_compress::{self, compress_to};
use tfbc_grammar::{Source, SourceLimits, datakey};

/// Why a format file cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// It cannot be read.
    Io(io::Error),
    /// It is of another kind, named here with what to do.
    Other(&'static str),
    /// It has more bytes than this, unpacked.
    TooLarge(usize),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(error) => error.fmt(f),
            OpenError::Other(what) => write!(f, "it is a {what}"),
            OpenError::TooLarge(max) => write!(f, "it has more than {max} bytes (--max-source raises the limit)"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        OpenError::Io(error)
    }
}

/// A format file: as it is, or packed by compress(1). While it is open, no other process opens it to change it.
#[derive(Debug)]
pub struct FormatFile {
    path: PathBuf,
    source: Source,
    /// Of a packed file, the greatest width of a code.
    width: Option<u32>,
    /// Holds the lock.
    _file: File,
}

impl FormatFile {
    /// Reads a format file; where there is only one with `.Z` behind its name, that one.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is no source of trace formats.
    pub fn open(path: &Path, limits: &SourceLimits) -> Result<Self, OpenError> {
        let mut path = path.to_owned();
        if !path.exists() {
            let packed = with_suffix(&path, ".Z");
            path = if packed.exists() { packed } else { path };
        }
        let file = locked(&path)?;
        let (bytes, width) = read_text(&file, limits.source)?;
        let source = Source::new(path.to_string_lossy(), bytes);
        Ok(Self { path, source, width, _file: file })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text, unpacked.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// True if the file has the text that was read: an editor takes no lock.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn is_unchanged(&self) -> io::Result<bool> {
        // A text that packs badly takes twice its bytes.
        match read_text(File::open(&self.path)?, 2 * self.source.bytes().len() + 16) {
            Ok((bytes, width)) => Ok(bytes == self.source.bytes() && width == self.width),
            Err(OpenError::Io(error)) => Err(error),
            Err(OpenError::Other(_) | OpenError::TooLarge(_)) => Ok(false),
        }
    }

    /// Writes another text, packed where the file is, for [`Output::commit_durably`] to put in its place. At every
    /// moment the file is the old one or the new one.
    ///
    /// # Errors
    /// The text cannot be written.
    pub fn replacement(&self, text: &[u8]) -> io::Result<Output> {
        match self.width {
            Some(width) => staged(&self.path, &compress_to(text, width)),
            None => staged(&self.path, text),
        }
    }
}

/// A file that is on the disk already, and has only to take its name.
pub fn staged(path: &Path, bytes: &[u8]) -> io::Result<Output> {
    let mut out = Output::open(Some(path))?;
    out.write_all(bytes)?;
    out.sync()?;
    Ok(out)
}

/// A path with something behind its last name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Replaces the text of a file that this process has [locked](locked).
///
/// # Errors
/// The file does not have the text `old` any more, since an editor takes no lock; or it cannot be written.
pub fn replace(path: &Path, old: &[u8], new: &[u8]) -> io::Result<()> {
    let mut out = Output::open(Some(path))?;
    out.write_all(new)?;
    let mut now = Vec::new();
    File::open(path)?.take(old.len() as u64 + 1).read_to_end(&mut now)?;
    if now == old { out.commit() } else { Err(changed()) }
}

/// The error of a file that another program has changed.
pub fn changed() -> io::Error {
    io::Error::other("it has changed since it was read, and is left as it is; run the command again")
}

/// Opens a file for this process alone, as far as other commands ask for the lock, too. If the system knows no locks, it is
/// open all the same.
pub fn locked(path: &Path) -> io::Result<File> {
    loop {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        // Whoever held the lock may have put another file in its place.
        if file.lock().is_err() || is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// The text of a format file, and the greatest width of a code if it is packed.
fn read_text(from: impl Read, max: usize) -> Result<(Vec<u8>, Option<u32>), OpenError> {
    let bytes = read(from, max)?;
    let width = unix_compress::max_width(&bytes);
    match width {
        Some(_) => Ok((read(unix_compress::Reader::new(&bytes[..]), max)?, width)),
        None => Ok((bytes, None)),
    }
}

fn read(from: impl Read, max: usize) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    from.take(max as u64 + 1).read_to_end(&mut bytes)?;
    // A file of another kind is that at any size.
    match other_kind(&bytes) {
        Some(what) => Err(OpenError::Other(what)),
        None if bytes.len() > max => Err(OpenError::TooLarge(max)),
        None => Ok(bytes),
    }
}

/// What bytes are that are no text of templates.
fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    let kinds = [
        (bytes.starts_with(&tfbc_vm::LABEL), "compiled blob: update its source"),
        (bytes.starts_with(&[0x1F, 0x8B]), "gzip file: unpack it first"),
        (bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]), "zstd file: unpack it first"),
        (is_trace(bytes), "trace"),
        (datakey::looks_like_xml(bytes), "XML file, which has no stanzas"),
    ];
    kinds.into_iter().find_map(|(is, what)| is.then_some(what))
}
