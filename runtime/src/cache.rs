//! Compiled format files, kept from run to run: the file is named by a hash of everything that it was made of.
//!
//! The hash is over the sources' names and bytes, the dialect, and the program that compiles, by its version, size and
//! date. What is found is trusted as any blob is: it is verified, and compiled anew where that fails. Only sources
//! without findings are kept, so that a warning is said in every run. A directory that cannot be read or written is as
//! good as an empty one.

use crate::output::Output;
use std::fs::{self, File};
use std::io::{self, Write};
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
        let name = format!("{}.tfbc", hash.finalize().to_hex());
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
    /// The blob, where there is one that can be used.
    pub fn read(&self) -> Option<Vec<u8>> {
        let blob = fs::read(&self.file).ok()?;
        Program::open_lazily(&blob).ok()?;
        // It goes last when room is made.
        let _ = File::options().append(true).open(&self.file).and_then(|file| file.set_modified(SystemTime::now()));
        Some(blob)
    }

    /// Keeps a blob: it appears whole, or not at all.
    pub fn write(&self, blob: &[u8]) {
        let write = || -> io::Result<()> {
            fs::create_dir_all(self.directory)?;
            let mut out = Output::open(Some(&self.file))?;
            out.write_all(blob)?;
            out.commit_durably()
        };
        if write().is_ok() {
            make_room(self.directory, MAX_KEPT);
        }
    }
}

/// Removes the files that were used longest ago, until so many bytes are left.
fn make_room(directory: &Path, max: u64) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let kept = entries.filter_map(Result::ok).filter(|entry| entry.path().extension().is_some_and(|of| of == "tfbc"));
    let mut files: Vec<(SystemTime, u64, PathBuf)> = kept
        .filter_map(|entry| {
            let file = entry.metadata().ok()?;
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
        for (age, name) in ["a.tfbc", "b.tfbc", "c.tfbc", "d.txt"].iter().enumerate() {
            let path = directory.path().join(name);
            fs::write(&path, [0; 100]).unwrap();
            let date = SystemTime::now() - Duration::from_secs(age as u64 * 60);
            File::options().append(true).open(path).unwrap().set_modified(date).unwrap();
        }
        make_room(directory.path(), 250);
        let left = |name: &str| directory.path().join(name).exists();
        assert_eq!(["a.tfbc", "b.tfbc", "c.tfbc", "d.txt"].map(left), [true, true, false, true]);
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
