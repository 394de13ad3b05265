//! Compiled format files, kept from run to run: the file is named by a hash of everything that it was made of.
//!
//! The hash is over the sources' names and bytes, the dialect, and the program that compiles, by its version, size and
//! date. A blob is used if its checksum fits and the verifier accepts it; else the sources are compiled anew. Only sources
//! without findings are kept, so that a warning is said in every run.
//!
//! The folder must be the user's own, and nobody else may write to it; otherwise nothing is kept, without a message. In it,
//! only regular files are touched whose names the cache made: `tfbc-cache-`, 64 hex digits, `.blob`.

use crate::output::Output;
use std::fs::{self, DirBuilder, DirEntry, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tfbc_compiler::Options;
use tfbc_grammar::Sources;
use tfbc_vm::Program;

/// The variable that names the directory, or is `off`.
pub const VARIABLE: &str = "TFBC_CACHE";

/// Sources with fewer bytes together compile as fast as a blob is looked up.
const MIN_SOURCES: usize = 64 << 10;

/// The bytes that are kept: behind a write above that, the files that were used longest ago go.
const MAX_KEPT: u64 = 64 << 20;

/// Beginning and end of the file names, with the hash in hex between them.
const NAME: (&str, &str) = ("tfbc-cache-", ".blob");

/// A directory of blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// The cache in a directory, which is made at the first write.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The user's: `$TFBC_CACHE`, `$XDG_CACHE_HOME/tfbc` or `~/.cache/tfbc`. `None` where the first is `off`, and where
    /// there is no home.
    pub fn of_user() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(named) = variable(VARIABLE) {
            return (named != "off").then(|| Self::at(named));
        }
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
        Some(Self::at(base.join("tfbc")))
    }

    /// The place of what these sources compile to; `None` where it is not worth keeping.
    pub(crate) fn slot(&self, sources: &Sources, options: &Options) -> Option<Slot<'_>> {
        let n_bytes: usize = sources.iter().map(|(_, source)| source.bytes().len()).sum();
        if n_bytes < MIN_SOURCES {
            return None;
        }
        let mut hash = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        add(program()?.as_bytes());
        add(format!("{options:?}").as_bytes());
        for (_, source) in sources.iter() {
            add(source.name().as_bytes());
            add(source.bytes());
        }
        let name = format!("{}{}{}", NAME.0, hash.finalize().to_hex(), NAME.1);
        Some(Slot { directory: &self.directory, file: self.directory.join(name) })
    }
}

/// What tells one build of this program from another.
fn program() -> Option<String> {
    let file = fs::metadata(std::env::current_exe().ok()?).ok()?;
    let date = file.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), date.as_nanos()))
}

/// The place of one blob.
pub(crate) struct Slot<'c> {
    directory: &'c Path,
    file: PathBuf,
}

impl Slot<'_> {
    /// The blob, if there is one that can be used.
    pub fn read(&self) -> Option<Vec<u8>> {
        check_folder(self.directory).ok()?;
        let len = fs::symlink_metadata(&self.file).ok().filter(|found| found.is_file())?.len();
        let mut blob = Vec::with_capacity(len.min(MAX_KEPT) as usize);
        File::open(&self.file).ok()?.take(MAX_KEPT).read_to_end(&mut blob).ok()?;
        Program::open_lazily(&blob).ok().filter(|_| tfbc_vm::is_intact(&blob))?;
        // It goes last when room is made.
        let _ = File::options().append(true).open(&self.file).and_then(|file| file.set_modified(SystemTime::now()));
        Some(blob)
    }

    /// Keeps a blob: it appears whole, or not at all.
    pub fn write(&self, blob: &[u8]) {
        let write = || -> io::Result<()> {
            make_folder(self.directory)?;
            // A link or a pipe of this name is not the cache's.
            if fs::symlink_metadata(&self.file).is_ok_and(|found| !found.is_file()) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let mut out = Output::open(Some(&self.file))?;
            out.write_all(blob)?;
            out.commit_durably()
        };
        if blob.len() as u64 <= MAX_KEPT && write().is_ok() {
            make_room(self.directory, MAX_KEPT);
        }
    }
}

/// Makes the folder with rights for its user alone.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    check_folder(folder)
}

/// Refuses a folder that is a link or another user's, or that others may write to: they could put blobs into it.
fn check_folder(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    #[cfg(unix)]
    let is_own = {
        use std::os::unix::fs::MetadataExt;
        found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
    };
    #[cfg(not(unix))]
    let is_own = true;
    if found.is_dir() && is_own { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// True if the cache made a file of this name.
fn is_own_name(name: &[u8]) -> bool {
    let hash = name.strip_prefix(NAME.0.as_bytes()).and_then(|rest| rest.strip_suffix(NAME.1.as_bytes()));
    hash.is_some_and(|hash| {
        hash.len() == 2 * blake3::OUT_LEN && hash.iter().all(|byte| b"0123456789abcdef".contains(byte))
    })
}

/// Removes the files that were used longest ago, until so many bytes are left.
fn make_room(directory: &Path, max: u64) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let is_own = |entry: &DirEntry| is_own_name(entry.file_name().as_encoded_bytes());
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(is_own)
        .filter_map(|entry| {
            let file = entry.metadata().ok().filter(|found| found.is_file())?;
            Some((file.modified().ok()?, file.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
    for (_, len, path) in files {
        if total <= max {
            break;
        }
        let _ = fs::remove_file(path);
        total -= len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn room_is_made_by_the_oldest() {
        let directory = tempfile::tempdir().unwrap();
        let own = |digit: &str| format!("tfbc-cache-{}.blob", digit.repeat(64));
        let [new, old, oldest] = ["a", "1", "f"].map(own);
        let hash = "0".repeat(64);
        let others = [
            "mine.tfbc",
            &format!("{hash}.tfbc"),
            &format!("{hash}.blob"),
            "tfbc-cache-.blob",
            "tfbc-cache-1.blob",
            &format!("tfbc-cache-{}.blob", "A".repeat(64)),
            &format!("tfbc-cache-{hash}.blob.old"),
            &format!("x.tfbc-cache-{hash}.blob"),
        ];
        for (age, name) in [&*new, &old, &oldest].into_iter().chain(others).enumerate() {
            let path = directory.path().join(name);
            fs::write(&path, [0; 100]).unwrap();
            let date = SystemTime::now() - Duration::from_secs(age as u64 * 60);
            File::options().append(true).open(path).unwrap().set_modified(date).unwrap();
        }
        make_room(directory.path(), 250);
        let left = |name: &str| directory.path().join(name).exists();
        assert_eq!([&*new, &old, &oldest].map(left), [true, true, false]);
        make_room(directory.path(), 0);
        assert_eq!([&*new, &old, &oldest].map(left), [false; 3]);
        assert_eq!(others.map(left), [true; 8]);
    }

    #[test]
    fn small_sources_have_no_slot() {
        let mut sources = Sources::new();
        sources.add(tfbc_grammar::Source::new("a", vec![b'\n'; MIN_SOURCES - 1]));
        assert!(Cache::at("x").slot(&sources, &Options::default()).is_none());
        sources.add(tfbc_grammar::Source::new("b", "\n"));
        let slot = |options: &Options| Cache::at("x").slot(&sources, options).map(|slot| slot.file);
        let plain = slot(&Options::default());
        assert!(plain.is_some());
        let mut other = Options::default();
        other.dialect.set("hex", "lower").unwrap();
        assert_ne!(slot(&other), plain);
    }
}
