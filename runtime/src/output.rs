//! Output of a command: standard output, a pipe or device, or a file that appears whole or not at all.
//!
//! A file is written under a temporary name in its directory, `.tfbc-` plus six letters plus `.tmp`, and renamed at the
//! end. The writer keeps it locked, and the system releases the lock when the process ends for any reason. So an
//! unlocked file of such a name was left by a killed process, and the next output into the directory removes it. On
//! file systems without locks, nothing is removed. Commands that are ended by INT, TERM or HUP remove their own files.

#[cfg(unix)]
use crate::file_id::FileId;
use crate::unfinished::Unfinished;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// An open output. A regular file gets its name at [`Output::commit`]; if the output is dropped before, the file is
/// removed.
#[derive(Debug)]
pub struct Output {
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    Stdout(io::Stdout),
    Direct(File),
    Temporary { unfinished: Unfinished, path: PathBuf, replaces: bool },
}

impl Output {
    /// Opens `path`, or standard output for `None` and `-`.
    ///
    /// # Errors
    /// The file, or a temporary file in the same directory, cannot be created.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let destination = match path {
            None => Destination::Stdout(io::stdout()),
            Some(path) if path == Path::new("-") => Destination::Stdout(io::stdout()),
            Some(path) => Self::open_file(path)?,
        };
        Ok(Self { destination })
    }

    /// Opens an output that is not text. Standard output would look for the end of the last line in each write.
    ///
    /// # Errors
    /// The file, or a temporary file in the same directory, cannot be created.
    pub fn open_binary(path: Option<&Path>) -> io::Result<Self> {
        #[cfg(unix)]
        if path.is_none_or(|path| path == Path::new("-")) {
            let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            return Ok(Self { destination: Destination::Direct(out) });
        }
        Self::open(path)
    }

    /// Creates a file that replaces `path` at [`Output::commit`], with the permissions of a new program or text file.
    /// If `path` is a link, the link itself is replaced.
    ///
    /// # Errors
    /// The temporary file in the same directory cannot be created.
    pub fn replace(path: &Path, is_program: bool) -> io::Result<Self> {
        let unfinished = temporary_in(Self::directory(path), if is_program { 0o777 } else { 0o666 })?;
        Ok(Self { destination: Destination::Temporary { unfinished, path: path.to_owned(), replaces: true } })
    }

    /// Creates a file that gets its name at [`Output::commit`], which fails if there is a file of that name by then.
    ///
    /// # Errors
    /// The temporary file in the same directory cannot be created.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        let unfinished = temporary_in(Self::directory(path), 0o666)?;
        Ok(Self { destination: Destination::Temporary { unfinished, path: path.to_owned(), replaces: false } })
    }

    /// Creates a file with its final name, in a new directory that nobody else knows yet.
    ///
    /// # Errors
    /// The file exists, or cannot be created.
    pub fn create_in_new_directory(path: &Path) -> io::Result<Self> {
        Ok(Self { destination: Destination::Direct(OpenOptions::new().write(true).create_new(true).open(path)?) })
    }

    fn open_file(path: &Path) -> io::Result<Destination> {
        // A link is kept; the file that it points to is replaced.
        let path = path.canonicalize().or_else(|_| link_target(path)).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => {
                let unfinished = temporary_in(Self::directory(&path), 0o666)?;
                keep_owner(unfinished.file.path(), &found);
                fs::set_permissions(unfinished.file.path(), found.permissions())?;
                Ok(Destination::Temporary { unfinished, path, replaces: true })
            }
            Ok(_) => Ok(Destination::Direct(OpenOptions::new().write(true).open(&path)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Destination::Temporary {
                unfinished: temporary_in(Self::directory(&path), 0o666)?,
                path,
                replaces: true,
            }),
            Err(error) => Err(error),
        }
    }

    /// Flushes the output and gives a file its final name.
    ///
    /// # Errors
    /// Writing or renaming failed; the old file is unchanged.
    pub fn commit(self) -> io::Result<()> {
        match self.destination {
            Destination::Stdout(mut out) => out.flush(),
            Destination::Direct(mut out) => out.flush(),
            Destination::Temporary { mut unfinished, path, replaces } => {
                unfinished.file.flush().map_err(without_path)?;
                unfinished.persist(&path, replaces).map_err(without_path)
            }
        }
    }

    /// True if the output is a terminal.
    pub fn is_terminal(&self) -> bool {
        match &self.destination {
            Destination::Stdout(out) => out.is_terminal(),
            Destination::Direct(out) => out.is_terminal(),
            Destination::Temporary { .. } => false,
        }
    }

    /// Blocks until a file's bytes are on the disk.
    ///
    /// # Errors
    /// The bytes cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        match &self.destination {
            Destination::Temporary { unfinished, .. } => unfinished.file.as_file().sync_all(),
            Destination::Stdout(_) | Destination::Direct(_) => Ok(()),
        }
    }

    /// Like [`Output::commit`], but writes a file's bytes to the disk before it renames it. Even after a power cut, the
    /// file is either the old one or the new one.
    ///
    /// # Errors
    /// Writing or renaming failed; the old file is unchanged.
    pub fn commit_durably(self) -> io::Result<()> {
        self.sync()?;
        let Destination::Temporary { path, .. } = &self.destination else { return self.commit() };
        let directory = Self::directory(path).to_owned();
        self.commit()?;
        // Syncing the directory makes the new name durable. Some systems cannot do that; the content is safe anyway.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(())
    }

    /// True if standard output is a pipe whose reader has closed it.
    #[cfg(unix)]
    pub fn stdout_is_closed() -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let out = io::stdout();
        let mut looked = [PollFd::new(&out, PollFlags::empty())];
        poll(&mut looked, Some(&Timespec::default())).is_ok() && looked[0].revents().contains(PollFlags::ERR)
    }

    /// Always false: on this system, only a failed write shows that the reader has closed a pipe.
    #[cfg(not(unix))]
    pub fn stdout_is_closed() -> bool {
        false
    }

    /// Makes signals clean up temporary files. A write above the process's file size limit (`ulimit -f`) becomes an
    /// error, as on a full disk. A signal that ends the process removes its unfinished files first.
    pub fn mind_signals() {
        #[cfg(target_os = "linux")]
        crate::unfinished::remove_at_signals();
        #[cfg(unix)]
        {
            let seen = std::sync::Arc::default();
            // If the handler cannot be installed, the next output removes the files that are left.
            let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
        }
    }

    /// Directory of a file; `.` for a bare name.
    pub fn directory(path: &Path) -> &Path {
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Creates a symbolic link that replaces a file or link at `path`.
    ///
    /// # Errors
    /// The link cannot be created or renamed.
    #[cfg(unix)]
    pub fn replace_by_link(destination: &Path, path: &Path) -> io::Result<()> {
        let link =
            temporary_names().make_in(Self::directory(path), |link| std::os::unix::fs::symlink(destination, link));
        link.map_err(without_path)?.persist(path).map(drop).map_err(|error| without_path(error.error))
    }

    /// True if a path still leads to this open file.
    #[cfg(unix)]
    pub fn is_at(file: &File, path: &Path) -> bool {
        file.metadata().is_ok_and(|found| FileId::of(path) == Some(FileId::from(&found)))
    }

    /// True if the path exists. This system has no file identity to compare.
    #[cfg(not(unix))]
    pub fn is_at(_file: &File, path: &Path) -> bool {
        path.exists()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.destination {
            Destination::Stdout(out) => out.write(bytes),
            Destination::Direct(out) => out.write(bytes),
            Destination::Temporary { unfinished, .. } => unfinished.file.write(bytes).map_err(without_path),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.destination {
            Destination::Stdout(out) => out.flush(),
            Destination::Direct(out) => out.flush(),
            Destination::Temporary { unfinished, .. } => unfinished.file.flush().map_err(without_path),
        }
    }
}

/// Path that a dangling link points to.
fn link_target(path: &Path) -> io::Result<PathBuf> {
    let destination = fs::read_link(path)?;
    Ok(path.parent().map_or(destination.clone(), |parent| parent.join(&destination)))
}

/// Copies the owner and group of the file to be replaced, if the process has the rights.
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

/// Prefix, number of random letters, and suffix of temporary names.
const TEMPORARY: (&str, usize, &str) = (".tfbc-", 6, ".tmp");

/// Builder of files with temporary names.
fn temporary_names<'a>() -> tempfile::Builder<'a, 'static> {
    let (prefix, n_letters, suffix) = TEMPORARY;
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).rand_bytes(n_letters).suffix(suffix);
    builder
}

/// Sets the permissions of new files, where the system has them.
fn with_mode(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = (builder, mode);
}

/// Creates a locked temporary file, and removes unlocked ones that killed processes left. `mode` is its permissions,
/// before the process's umask.
fn temporary_in(directory: &Path, mode: u32) -> io::Result<Unfinished> {
    remove_stale(directory);
    let mut builder = temporary_names();
    with_mode(&mut builder, mode);
    loop {
        let unfinished = Unfinished::new(|| builder.tempfile_in(directory).map_err(without_path))?;
        let file = &unfinished.file;
        // Another process may have removed the file as stale before the lock was taken; then try again.
        if file.as_file().lock().is_err() || Output::is_at(file.as_file(), file.path()) {
            return Ok(unfinished);
        }
    }
}

/// Removes temporary files without a lock, if the process has the rights.
fn remove_stale(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        let is_file = || entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_temporary(entry.file_name().as_encoded_bytes()) || !is_file() {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        // While this process has the lock, the path cannot become another file: writers rename only their own.
        if file.try_lock().is_ok() && Output::is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
}

fn is_temporary(name: &[u8]) -> bool {
    let (prefix, n_letters, suffix) = TEMPORARY;
    let letters = name.strip_prefix(prefix.as_bytes()).and_then(|rest| rest.strip_suffix(suffix.as_bytes()));
    letters.is_some_and(|letters| letters.len() == n_letters && letters.iter().all(u8::is_ascii_alphanumeric))
}

/// Removes the temporary path from an error's text; the user has never seen that name.
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

    #[test]
    fn stale_temporary_files_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in [".tfbc-abc123.tmp", ".tfbc-abc123", ".tfbc-.tmp", ".tfbc-a.c123.tmp", "x.tfbc-abc123.tmp"] {
            fs::write(at(name), "left").unwrap();
        }
        fs::create_dir(at(".tfbc-folder.tmp")).unwrap();
        let running = Output::open(Some(&at("one"))).unwrap();
        assert!(!at(".tfbc-abc123.tmp").exists());
        // The file of a running process is not removed.
        Output::open(Some(&at("two"))).unwrap().commit().unwrap();
        running.commit().unwrap();
        let left = names(directory.path());
        assert_eq!(
            left,
            [".tfbc-.tmp", ".tfbc-a.c123.tmp", ".tfbc-abc123", ".tfbc-folder.tmp", "one", "two", "x.tfbc-abc123.tmp"]
        );
    }

    #[test]
    fn concurrent_outputs_do_not_remove_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let write = |n: u8| {
            for turn in 0..50u8 {
                let path = directory.path().join(format!("{n}"));
                let mut out = Output::open(Some(&path)).unwrap();
                out.write_all(&[n, turn]).unwrap();
                out.commit().unwrap();
                assert_eq!(fs::read(&path).unwrap(), [n, turn]);
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|n| drop(scope.spawn(move || write(n)))));
        assert_eq!(names(directory.path()).len(), 8);
    }
}
