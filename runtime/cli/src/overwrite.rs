//! Protects inputs: an output that is an input of the same run would destroy it.

use super::console::{Failure, Message};
use super::files::FileId;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use tfbc::Formats;

/// Refuses a command whose output is one of its inputs, even under another name. Missing paths, pipes and terminals
/// cannot be destroyed.
///
/// An output is a path, or standard output for `None` and `-`; the input `-` is standard input. Commands call this before
/// they read or create anything.
pub fn refuse<'p>(
    outputs: impl IntoIterator<Item = Option<&'p Path>>,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let output_ids = outputs.into_iter().filter_map(|output| {
        let output = output.filter(|path| *path != Path::new("-"));
        let found = output.map_or_else(|| open_file(&io::stdout()), file)?;
        Some((found, output))
    });
    // By identity, not by path: a link or `./a` for `a` is the same file, and creating the output would empty it before
    // it is read.
    let mut outputs: HashMap<FileId, Option<&Path>> = output_ids.collect();
    if outputs.is_empty() {
        return Ok(());
    }
    for input in inputs {
        let is_stdin = input == Path::new("-");
        let found = if is_stdin { open_file(&io::stdin()) } else { file(input) };
        let Some(output) = found.and_then(|found| outputs.remove(&found)) else { continue };
        let input = if is_stdin { "standard input".into() } else { input.to_string_lossy() };
        let output = output.map_or("standard output".into(), Path::to_string_lossy);
        let name = if input == output { String::new() } else { format!(", as {input}") };
        let text = format!("cannot write {output}: this command also reads the file{name}: name another one");
        return Err(Failure::Error(Message::Unwritable, text));
    }
    Ok(())
}

/// Files among the values of `-t`; `default` is not a file.
pub fn files(formats: &[PathBuf]) -> impl Iterator<Item = &Path> {
    formats.iter().map(PathBuf::as_path).filter(|path| *path != Path::new(Formats::BUILT_IN))
}

/// Identity of the file at a path, if it could be destroyed.
fn file(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().filter(is_destroyable).and_then(|_| FileId::of(path))
}

#[cfg(unix)]
fn open_file(stream: &impl std::os::fd::AsFd) -> Option<FileId> {
    let file = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(is_destroyable).map(|found| FileId::from(&found))
}

/// Standard streams have no file identity on this system.
#[cfg(not(unix))]
fn open_file<T>(_stream: &T) -> Option<FileId> {
    None
}

/// True for regular files and disks. A terminal is often both input and output.
fn is_destroyable(found: &Metadata) -> bool {
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type()) {
        return true;
    }
    found.is_file()
}
