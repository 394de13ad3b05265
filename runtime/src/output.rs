//! Where a command's product goes: standard output, a pipe or device, or a file that appears whole or not at all.
//!
//! A file is written under a name of its own beside its place, `.tfbc-` with six letters and `.tmp`, and renamed at the
//! end. As long as it is written, its writer holds a lock on it, which the system takes away when the process ends,
//! however that happens. So a file of such a name without a lock is what a killed process left, and the next output
//! into the same directory removes it. Where the file system knows no locks, nothing is removed. A command that is ended
//! by INT, TERM or HUP leaves none.

#[cfg(unix)]
use crate::file_id::FileId;
use crate::unfinished::Unfinished;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// An open output. A regular file takes its name at [`Output::commit`]; dropped before that, nothing is left of it.
#[derive(Debug)]
pub struct Output {
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout(io::Stdout),
    Direct(File),
    Temporary { unfinished: Unfinished, path: PathBuf },
}

/// Whether standard output is a pipe that nobody reads any more.
#[cfg(unix)]
pub fn stdout_is_closed() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let out = io::stdout();
    let mut looked = [PollFd::new(&out, PollFlags::empty())];
    poll(&mut looked, Some(&Timespec::default())).is_ok() && looked[0].revents().contains(PollFlags::ERR)
}

/// Whether standard output is a pipe that nobody reads any more: not known here before the next write.
#[cfg(not(unix))]
pub fn stdout_is_closed() -> bool {
    false
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

    /// Creates a file that takes its name at [`Output::commit`], with the permissions of a new program or text. A link of
    /// this name is replaced itself, not the file that it leads to.
    ///
    /// # Errors
    /// The temporary file beside it cannot be created.
    pub fn replace(path: &Path, is_program: bool) -> io::Result<Self> {
        let unfinished = temporary_in(directory(path), if is_program { 0o777 } else { 0o666 })?;
        Ok(Self { target: Target::Temporary { unfinished, path: path.to_owned() } })
    }

    fn open_file(path: &Path) -> io::Result<Target> {
        // Through a link, it is the file that it names that is replaced.
        let path = path.canonicalize().or_else(|_| link_target(path)).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => {
                let unfinished = temporary_in(directory(&path), 0o666)?;
                keep_owner(unfinished.file.path(), &found);
                fs::set_permissions(unfinished.file.path(), found.permissions())?;
                Ok(Target::Temporary { unfinished, path })
            }
            Ok(_) => Ok(Target::Direct(OpenOptions::new().write(true).open(&path)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Target::Temporary { unfinished: temporary_in(directory(&path), 0o666)?, path })
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
            Target::Temporary { mut unfinished, path } => {
                unfinished.file.flush().map_err(without_path)?;
                unfinished.persist(&path).map_err(without_path)
            }
        }
    }

    /// Whether what is written is shown at once.
    pub fn is_terminal(&self) -> bool {
        match &self.target {
            Target::Stdout(out) => out.is_terminal(),
            Target::Direct(out) => out.is_terminal(),
            Target::Temporary { .. } => false,
        }
    }

    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    /// The bytes cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        match &self.target {
            Target::Temporary { unfinished, .. } => unfinished.file.as_file().sync_all(),
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
            Target::Temporary { unfinished, .. } => unfinished.file.write(bytes).map_err(without_path),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Stdout(out) => out.flush(),
            Target::Direct(out) => out.flush(),
            Target::Temporary { unfinished, .. } => unfinished.file.flush().map_err(without_path),
        }
    }
}

/// Has no signal leave an unfinished file behind. A write past the size that the process may give a file (`ulimit -f`)
/// becomes an error like that of a full disk, and a signal that ends the process removes its unfinished files.
pub fn mind_signals() {
    #[cfg(target_os = "linux")]
    crate::unfinished::remove_at_signals();
    #[cfg(unix)]
    {
        let seen = std::sync::Arc::default();
        // Without the handler, the next output removes what is left.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
    }
}

/// Where a link leads to that names no file.
fn link_target(path: &Path) -> io::Result<PathBuf> {
    let target = fs::read_link(path)?;
    Ok(path.parent().map_or(target.clone(), |parent| parent.join(&target)))
}

/// The directory that holds a file.
pub fn directory(path: &Path) -> &Path {
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

/// How the name of a file begins and ends that is being written, and the letters between.
const TEMPORARY: (&str, usize, &str) = (".tfbc-", 6, ".tmp");

/// Names temporary files.
fn temporary_names<'a>() -> tempfile::Builder<'a, 'static> {
    let (prefix, n_letters, suffix) = TEMPORARY;
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).rand_bytes(n_letters).suffix(suffix);
    builder
}

/// Creates a symbolic link that takes the place of a file or link at `path`.
///
/// # Errors
/// The link cannot be created or renamed.
#[cfg(unix)]
pub fn replace_by_link(target: &Path, path: &Path) -> io::Result<()> {
    let link = temporary_names().make_in(directory(path), |link| std::os::unix::fs::symlink(target, link));
    link.map_err(without_path)?.persist(path).map(drop).map_err(|error| without_path(error.error))
}

/// Creates a file that is locked while it is open, and removes those that killed processes left. `mode` is its
/// permissions before the process's mask.
fn temporary_in(directory: &Path, mode: u32) -> io::Result<Unfinished> {
    remove_stale(directory);
    let mut builder = temporary_names();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    loop {
        let unfinished = Unfinished::new(|| builder.tempfile_in(directory).map_err(without_path))?;
        let file = &unfinished.file;
        // Before it was locked, another process may have taken it for left behind.
        if file.as_file().lock().is_err() || is_at(file.as_file(), file.path()) {
            return Ok(unfinished);
        }
    }
}

/// Removes the unfinished files that nobody writes any more, as far as the process may.
fn remove_stale(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        let is_file = || entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_temporary(entry.file_name().as_encoded_bytes()) || !is_file() {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        // With the lock held, the name can only go: whoever has another file renames that.
        if file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
}

fn is_temporary(name: &[u8]) -> bool {
    let (prefix, n_letters, suffix) = TEMPORARY;
    let letters = name.strip_prefix(prefix.as_bytes()).and_then(|rest| rest.strip_suffix(suffix.as_bytes()));
    letters.is_some_and(|letters| letters.len() == n_letters && letters.iter().all(u8::is_ascii_alphanumeric))
}

/// True if an open file still has its path.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|found| FileId::of(path) == Some(FileId::from(&found)))
}

/// Whether an open file still stands at a path.
#[cfg(not(unix))]
pub(crate) fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
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

    #[test]
    fn what_nobody_writes_any_more_goes() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in [".tfbc-abc123.tmp", ".tfbc-abc123", ".tfbc-.tmp", ".tfbc-a.c123.tmp", "x.tfbc-abc123.tmp"] {
            fs::write(at(name), "left").unwrap();
        }
        fs::create_dir(at(".tfbc-folder.tmp")).unwrap();
        let running = Output::open(Some(&at("one"))).unwrap();
        assert!(!at(".tfbc-abc123.tmp").exists());
        // That of a running process stays.
        Output::open(Some(&at("two"))).unwrap().commit().unwrap();
        running.commit().unwrap();
        let left = names(directory.path());
        assert_eq!(
            left,
            [".tfbc-.tmp", ".tfbc-a.c123.tmp", ".tfbc-abc123", ".tfbc-folder.tmp", "one", "two", "x.tfbc-abc123.tmp"]
        );
    }

    #[test]
    fn outputs_at_once_do_not_take_each_other_away() {
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
