//! Input that follows a growing file: at the end, reading waits for more bytes.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Polling interval at the end of the file.
const PAUSE: Duration = Duration::from_millis(100);

/// Reader of a growing file. It ends if the file is truncated, removed, or replaced by another file of the same name.
pub struct Follower {
    file: File,
    path: PathBuf,
    offset: u64,
    ending: Option<&'static str>,
}

impl Follower {
    /// Follows an open file from its start. `path` is checked for a replaced file.
    pub fn new(file: File, path: &Path) -> Self {
        Self { file, path: path.to_owned(), offset: 0, ending: None }
    }

    /// Reason why reading has ended; `None` while the file may still grow.
    pub fn ending(&self) -> Option<&'static str> {
        self.ending
    }

    /// Returns a reason to stop if the path no longer leads to the open file.
    fn check(&self) -> io::Result<Option<&'static str>> {
        let ours = self.file.metadata()?;
        if ours.len() < self.offset {
            return Ok(Some("the file was truncated"));
        }
        match self.path.metadata() {
            Ok(named) if is_same(&ours, &named) => Ok(None),
            Ok(_) => Ok(Some("the file was replaced")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some("the file was removed")),
            Err(error) => Err(error),
        }
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    crate::file_id::FileId::from(one) == other.into()
}

#[cfg(not(unix))]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.created().ok() == other.created().ok()
}

impl Read for Follower {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.ending.is_none() {
            // Checked before the read, so that everything written before the end is still read.
            let ending = self.check()?;
            let n = self.file.read(into)?;
            if n > 0 {
                self.offset += n as u64;
                return Ok(n);
            }
            self.ending = ending;
            if ending.is_none() {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    fn followed(directory: &Path) -> (PathBuf, Follower) {
        let path = directory.join("log");
        fs::write(&path, b"one").unwrap();
        let follower = Follower::new(File::open(&path).unwrap(), &path);
        (path, follower)
    }

    fn rest(follower: &mut Follower) -> (String, Option<&'static str>) {
        let mut text = String::new();
        follower.read_to_string(&mut text).unwrap();
        (text, follower.ending())
    }

    #[test]
    fn a_removed_file_is_read_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut follower) = followed(directory.path());
        fs::remove_file(path).unwrap();
        assert_eq!(rest(&mut follower), (String::from("one"), Some("the file was removed")));
    }

    #[test]
    fn a_replaced_file_ends_the_input() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut follower) = followed(directory.path());
        fs::write(directory.path().join("other"), b"two").unwrap();
        fs::rename(directory.path().join("other"), path).unwrap();
        assert_eq!(rest(&mut follower), (String::from("one"), Some("the file was replaced")));
    }

    #[test]
    fn a_growing_file_is_read_until_truncated() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut follower) = followed(directory.path());
        let mut bytes = [0; 8];
        assert_eq!(follower.read(&mut bytes).unwrap(), 3);
        let writer = std::thread::spawn(move || {
            std::thread::sleep(PAUSE);
            OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
            std::thread::sleep(3 * PAUSE);
            File::create(&path).unwrap();
        });
        assert_eq!(rest(&mut follower), (String::from("more"), Some("the file was truncated")));
        writer.join().unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_path_that_cannot_be_checked_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let [logs, elsewhere] = ["logs", "elsewhere"].map(|name| directory.path().join(name));
        fs::create_dir(&logs).unwrap();
        let (_, mut follower) = followed(&logs);
        fs::rename(&logs, elsewhere).unwrap();
        fs::write(&logs, b"no directory").unwrap();
        let error = follower.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert_eq!(follower.ending(), None);
    }
}
