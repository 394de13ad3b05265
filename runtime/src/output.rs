//! Where a command's product goes: standard output, a pipe or device, or a file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// An open output. A regular file takes its name at [`Output::commit`]; dropped before that, nothing is left of it.
#[derive(Debug)]
pub struct Output {
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout(io::Stdout),
    Direct(File),
    Temporary { file: NamedTempFile, path: PathBuf },
}

impl Output {
    /// Opens `path`, or standard output for `None` and `-`.
    ///
    /// # Errors
    /// The file, or a temporary one beside it, cannot be created.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let target = match path {
            None => Target::Stdout(io::stdout()),
            Some(path) if path == Path::new("-") => Target::Stdout(io::stdout()),
            Some(path) => Self::open_file(path)?,
        };
        Ok(Self { target })
    }

    fn open_file(path: &Path) -> io::Result<Target> {
        // Through a link, it is the file that it names that is replaced.
        let path = path.canonicalize().or_else(|_| link_target(path)).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => {
                let file = temporary_beside(&path)?;
                keep_owner(file.path(), &found);
                fs::set_permissions(file.path(), found.permissions())?;
                Ok(Target::Temporary { file, path })
            }
            Ok(_) => Ok(Target::Direct(OpenOptions::new().write(true).open(&path)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Target::Temporary { file: temporary_beside(&path)?, path })
            }
            Err(error) => Err(error),
        }
    }

    /// Writes what is buffered and gives a file its name.
    ///
    /// # Errors
    /// The bytes cannot be written or the file cannot be renamed; then it is as it was before.
    pub fn commit(self) -> io::Result<()> {
        match self.target {
            Target::Stdout(mut out) => out.flush(),
            Target::Direct(mut out) => out.flush(),
            Target::Temporary { mut file, path } => {
                file.flush().map_err(without_path)?;
                file.persist(path).map_err(|error| without_path(error.error))?;
                Ok(())
            }
        }
    }

    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    /// The bytes cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        match &self.target {
            Target::Temporary { file, .. } => file.as_file().sync_all(),
            Target::Stdout(_) | Target::Direct(_) => Ok(()),
        }
    }

    /// As [`Output::commit`], but a file has its bytes on the disk before it takes its name, so that even after a power
    /// cut it is the old one or the new one.
    ///
    /// # Errors
    /// As of [`Output::commit`].
    pub fn commit_durably(self) -> io::Result<()> {
        self.sync()?;
        let Target::Temporary { path, .. } = &self.target else { return self.commit() };
        let directory = directory(path).to_owned();
        self.commit()?;
        // The name is on the disk when the directory is; systems that cannot say so lose nothing.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Stdout(out) => out.write(bytes),
            Target::Direct(out) => out.write(bytes),
            Target::Temporary { file, .. } => file.write(bytes).map_err(without_path),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Stdout(out) => out.flush(),
            Target::Direct(out) => out.flush(),
            Target::Temporary { file, .. } => file.flush().map_err(without_path),
        }
    }
}

/// Where a link leads to that names no file.
fn link_target(path: &Path) -> io::Result<PathBuf> {
    let target = fs::read_link(path)?;
    Ok(path.parent().map_or(target.clone(), |parent| parent.join(&target)))
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a file the owner and group of the one that it is to replace, as far as the process may.
fn keep_owner(path: &Path, found: &fs::Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let _ = chown(path, None, Some(found.gid()));
        let _ = chown(path, Some(found.uid()), None);
    }
    #[cfg(not(unix))]
    let _ = (path, found);
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tfbc-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any file that a program creates: the process's mask takes its bits off.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory(path)).map_err(without_path)
}

/// The system's own words alone: the temporary file's own name would mean nothing to the user.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    let text = text.split(" at path ").next().unwrap_or_default();
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_at_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let mut out = Output::open(Some(&path)).unwrap();
        out.write_all(b"text").unwrap();
        assert!(!path.exists());
        out.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[test]
    fn errors_do_not_name_the_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let error = Output::open(Some(&directory.path().join("missing/out"))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains(".tfbc-"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_their_files_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("file", &link).unwrap();
        for text in ["one", "two"] {
            let mut out = Output::open(Some(&link)).unwrap();
            out.write_all(text.as_bytes()).unwrap();
            out.commit().unwrap();
            assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), text);
            assert!(link.is_symlink());
        }
        assert_eq!(names(directory.path()), ["file", "link"]);
    }

    #[test]
    fn a_dropped_output_leaves_the_old_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        fs::write(&path, "old").unwrap();
        let mut out = Output::open(Some(&path)).unwrap();
        out.write_all(b"new").unwrap();
        drop(out);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["out"]);
    }
}
