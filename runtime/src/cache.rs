//! Cache of compiled format files, a file per compilation.
//!
//! A file is named by a hash over the sources' names and bytes, the compiler options, and the version, size and date of
//! this program. A cached blob is used only if its checksum is right and the verifier accepts it; otherwise the sources
//! are compiled again. Sources with warnings are not cached, so that every run prints the warnings.
//!
//! The directory must belong to the user, and nobody else may have write access; otherwise the cache is silently off.
//! The cache touches only regular files that it has named itself: `tfbc-cache-`, 64 hex digits, `.blob`.

use crate::output::Output;
use std::fs::{self, DirBuilder, DirEntry, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tfbc_compiler::Options;
use tfbc_grammar::Sources;
use tfbc_vm::Program;

/// Environment variable with the directory of the cache, or `off`.
pub const VARIABLE: &str = "TFBC_CACHE";

/// Total size of sources in bytes below which compiling is as fast as a lookup.
const MIN_SOURCES: usize = 64 << 10;

/// Size limit of the cache in bytes. A write above it removes the least recently used files.
const MAX_KEPT: u64 = 64 << 20;

/// Prefix and suffix of file names; the hash is between them.
const NAME: (&str, &str) = ("tfbc-cache-", ".blob");

/// A directory of compiled blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// Cache in a directory, which the first write creates.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The user's cache: `$TFBC_CACHE`, `$XDG_CACHE_HOME/tfbc` or `~/.cache/tfbc`. `None` if `$TFBC_CACHE` is `off`, or
    /// if there is no home directory.
    pub fn of_user() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(named) = variable(VARIABLE) {
            return (named != "off").then(|| Self::at(named));
        }
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
        Some(Self::at(base.join("tfbc")))
    }

    /// The file for the blob of these sources; `None` if they are too small to be worth caching.
    pub(crate) fn blob(&self, sources: &Sources, options: &Options) -> Option<CachedBlob<'_>> {
        let n_bytes: usize = sources.iter().map(|(_, source)| source.bytes().len()).sum();
        if n_bytes < MIN_SOURCES {
            return None;
        }
        let mut hash = blake3::Hasher::new();
        // Each part is hashed with its length, so that moving bytes from one part to the next changes the hash.
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
        Some(CachedBlob { directory: &self.directory, file: self.directory.join(name) })
    }
}

/// Identifies this build of the program: its version, size and date.
fn program() -> Option<String> {
    let file = fs::metadata(std::env::current_exe().ok()?).ok()?;
    let date = file.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), date.as_nanos()))
}

/// File of one blob in the cache, which may not exist yet.
pub(crate) struct CachedBlob<'c> {
    directory: &'c Path,
    file: PathBuf,
}

impl CachedBlob<'_> {
    /// Reads the blob. `None` if it does not exist, is damaged, or is refused by the verifier.
    pub fn read(&self) -> Option<Vec<u8>> {
        check_folder(self.directory).ok()?;
        let len = fs::symlink_metadata(&self.file).ok().filter(|found| found.is_file())?.len();
        let mut blob = Vec::with_capacity(len.min(MAX_KEPT) as usize);
        File::open(&self.file).ok()?.take(MAX_KEPT).read_to_end(&mut blob).ok()?;
        // The checksum is tested here, so no altered blob is used. The routines are verified when they run, so opening
        // stays fast.
        Program::open_lazily(&blob).ok().filter(|_| tfbc_vm::is_intact(&blob))?;
        // The date of last use decides which files are removed first.
        let _ = File::options().append(true).open(&self.file).and_then(|file| file.set_modified(SystemTime::now()));
        Some(blob)
    }

    /// Stores a blob atomically. Errors are ignored: the cache only saves time.
    pub fn write(&self, blob: &[u8]) {
        let write = || -> io::Result<()> {
            make_folder(self.directory)?;
            // The cache creates only regular files, so a link or pipe with this name is not replaced.
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

/// Creates the directory, accessible only to the user.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    check_folder(folder)
}

/// Refuses a directory that is a link, belongs to another user, or can be written by others, who could plant blobs.
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

/// True if a file name has the form that the cache uses.
fn is_own_name(name: &[u8]) -> bool {
    let hash = name.strip_prefix(NAME.0.as_bytes()).and_then(|rest| rest.strip_suffix(NAME.1.as_bytes()));
    hash.is_some_and(|hash| {
        hash.len() == 2 * blake3::OUT_LEN && hash.iter().all(|byte| b"0123456789abcdef".contains(byte))
    })
}

/// Removes the least recently used files until at most `max` bytes are left.
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
    fn the_least_recently_used_files_are_removed() {
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
    fn small_sources_are_not_cached() {
        let mut sources = Sources::new();
        sources.add(tfbc_grammar::Source::new("a", vec![b'\n'; MIN_SOURCES - 1]));
        assert!(Cache::at("x").blob(&sources, &Options::default()).is_none());
        sources.add(tfbc_grammar::Source::new("b", "\n"));
        let blob = |options: &Options| Cache::at("x").blob(&sources, options).map(|blob| blob.file);
        let plain = blob(&Options::default());
        assert!(plain.is_some());
        let mut other = Options::default();
        other.dialect.set("hex", "lower").unwrap();
        assert_ne!(blob(&other), plain);
    }
}
