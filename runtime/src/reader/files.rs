//! Files of a log that has several: on disk, or opened by a program, such as a page in a browser.

use super::window::Input;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files among which the reader finds those of a trace.
pub trait Files {
    /// True if the path is a file.
    fn is_file(&self, path: &Path) -> bool;

    /// Paths in the directory of a file.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn next_to(&self, file: &Path) -> io::Result<Vec<PathBuf>>;

    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Input>;
}

/// Files on disk; `-` is standard input.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Files for Disk {
    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn next_to(&self, file: &Path) -> io::Result<Vec<PathBuf>> {
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::read_dir(directory)?.map(|entry| Ok(file.with_file_name(entry?.file_name()))).collect()
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        Input::open(path)
    }
}
