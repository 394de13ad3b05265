//! Format files on disk: read as a whole, replaced as a whole.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tfbc::internal::unix_compress::{Reader, compress_to, max_width};
use tfbc::internal::{Output, compressed, is_trace};
use tfbc_grammar::{Source, SourceLimits, datakey};

/// Reason why a format file cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file is of another kind. The text names the kind and the command for it.
    Other(&'static str),
    /// The file is larger than this many bytes after unpacking.
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

/// A format file, plain or packed by compress(1). It is locked while it is open, so no other tfbc process changes it.
#[derive(Debug)]
pub struct FormatFile {
    path: PathBuf,
    source: Source,
    /// Maximum code width of a packed file.
    width: Option<u32>,
    /// Keeps the lock.
    _file: File,
}

impl FormatFile {
    /// Reads a format file. If only `path.Z` exists, that file is read.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or does not contain templates.
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

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Unpacked text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// True if the file still contains the text that was read. Editors ignore the lock.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn is_unchanged(&self) -> io::Result<bool> {
        // Compression can double the size of a text.
        match read_text(File::open(&self.path)?, 2 * self.source.bytes().len() + 16) {
            Ok((bytes, width)) => Ok(bytes == self.source.bytes() && width == self.width),
            Err(OpenError::Io(error)) => Err(error),
            Err(OpenError::Other(_) | OpenError::TooLarge(_)) => Ok(false),
        }
    }

    /// Writes a new text, packed if the file is packed. [`Output::commit_durably`] then replaces the file in one step.
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

/// Temporary file that is already on disk and only needs its final name.
pub fn staged(path: &Path, bytes: &[u8]) -> io::Result<Output> {
    let mut out = Output::open(Some(path))?;
    out.write_all(bytes)?;
    out.sync()?;
    Ok(out)
}

/// Appends a suffix to a path.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Replaces the text of a file that this process has [locked](locked).
///
/// # Errors
/// The file no longer contains `old`, because an editor ignored the lock; or it cannot be written.
pub fn replace(path: &Path, old: &[u8], new: &[u8]) -> io::Result<()> {
    let mut out = Output::open(Some(path))?;
    out.write_all(new)?;
    let mut now = Vec::new();
    File::open(path)?.take(old.len() as u64 + 1).read_to_end(&mut now)?;
    if now == old { out.commit() } else { Err(changed()) }
}

/// Error for a file that another program changed.
pub fn changed() -> io::Error {
    io::Error::other("the file changed after it was read, so it was not replaced; run the command again")
}

/// Opens a file and locks it against other tfbc processes. On systems without locks it is only opened.
pub fn locked(path: &Path) -> io::Result<File> {
    loop {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        // The previous owner of the lock may have replaced the file, so it is opened again.
        if file.lock().is_err() || Output::is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Text of a format file, and the maximum code width if it is packed.
fn read_text(from: impl Read, max: usize) -> Result<(Vec<u8>, Option<u32>), OpenError> {
    let bytes = read(from, max)?;
    let width = max_width(&bytes);
    match width {
        Some(_) => Ok((read(Reader::new(&bytes[..]), max)?, width)),
        None => Ok((bytes, None)),
    }
}

fn read(from: impl Read, max: usize) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    from.take(max as u64 + 1).read_to_end(&mut bytes)?;
    // A wrong kind of file is reported even if it is too large.
    match other_kind(&bytes) {
        Some(what) => Err(OpenError::Other(what)),
        None if bytes.len() > max => Err(OpenError::TooLarge(max)),
        None => Ok(bytes),
    }
}

/// Describes a trace or a compressed file, which is no format file.
pub fn trace_or_packed(bytes: &[u8]) -> Option<&'static str> {
    if is_log(bytes) { Some("trace, which `tfbc report` formats") } else { compressed(bytes) }
}

/// True if bytes start like a trace of either system.
fn is_log(bytes: &[u8]) -> bool {
    is_trace(bytes) || bytes.starts_with(b"TRACE_HEADER_BEGIN")
}

/// Kind of a file that does not contain templates.
fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    let kinds = [
        (bytes.starts_with(&tfbc_vm::LABEL), "compiled blob: update its source"),
        (bytes.starts_with(&[0x1F, 0x8B]), "gzip file: unpack it first"),
        (bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]), "zstd file: unpack it first"),
        (is_log(bytes), "trace"),
        (datakey::looks_like_xml(bytes), "file of XML event definitions, which has no stanzas"),
    ];
    kinds.into_iter().find_map(|(is, what)| is.then_some(what))
}
