//! Logs with one file per CPU (`trace -C`): a base file `F`, and next to it `F-0`, `F-1` and so on.
//!
//! The base file names its files in 00A events of kind 10, which contain the CPU's number and the path on the traced
//! system; only the last part of the path is used. Without such events, the files are found by their names. All files
//! may be compressed: `F-0.gz` is used if there is no `F-0`.

use super::trace::{ReadOptions, Trace};
use crate::reader::Notice;
use crate::reader::files::{Disk, Files};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Suffixes of compressed files.
const PACKED: [&str; 3] = [".gz", ".zst", ".Z"];

/// Files of a base file by CPU, and the problems with them.
#[derive(Debug, Default)]
pub(super) struct CpuFiles {
    pub files: BTreeMap<u32, PathBuf>,
    pub damage: Vec<Notice>,
}

/// Returns the CPU files of a trace. Empty if it is not a base file, or cannot be read.
pub fn cpu_files(path: &Path, options: &ReadOptions) -> Vec<PathBuf> {
    cpu_files_among(&Disk, path, options)
}

/// Like [`cpu_files`], among given files.
pub fn cpu_files_among(files: &dyn Files, path: &Path, options: &ReadOptions) -> Vec<PathBuf> {
    let is_base =
        |trace: &Trace| trace.log_header().is_some_and(|header| header.is_base()) || !trace.cpu_files().is_empty();
    let base = Trace::open_among(files, path, options).ok().filter(is_base);
    let found = base.and_then(|base| CpuFiles::of(files, &base, path).ok());
    found.map_or(Vec::new(), |found| found.files.into_values().collect())
}

impl CpuFiles {
    /// Finds the files that a base file names, or those next to it.
    pub fn of(files: &dyn Files, trace: &Trace, base: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        if base == Path::new("-") {
            found.damage(String::from("a base file from standard input: the files of its CPUs cannot be found"));
        } else if trace.cpu_files().is_empty() {
            found.list(files, trace, base)?;
        } else {
            found.resolve(files, trace, base);
        }
        Ok(found)
    }

    fn resolve(&mut self, files: &dyn Files, trace: &Trace, base: &Path) {
        for file in trace.cpu_files() {
            // The log names paths of the traced machine. A copy of the files may have other names, but the same
            // numbers.
            let by_number = numbered(files, base, file.cpu);
            let by_name = last_part(&file.name).map(|name| existing(files, base.with_file_name(name)));
            let path = by_name.filter(|path| path != base && files.is_file(path)).unwrap_or(by_number);
            if let Some(other) = self.files.insert(file.cpu, path.clone())
                && other != path
            {
                let (first, second) = (other.display(), path.display());
                self.damage(format!(
                    "two files are named for CPU {}, {first} and {second}; the second is read",
                    file.cpu
                ));
            }
        }
        // One file for two CPUs would print its events twice.
        let mut seen: BTreeMap<PathBuf, u32> = BTreeMap::new();
        let mut doubled = Vec::new();
        for (cpu, path) in &self.files {
            if let Some(other) = seen.insert(path.clone(), *cpu) {
                doubled.push((*cpu, format!("{} is named for CPU {other} and CPU {cpu}", path.display())));
            }
        }
        for (cpu, message) in doubled {
            self.files.remove(&cpu);
            self.damage(message);
        }
    }

    fn list(&mut self, files: &dyn Files, trace: &Trace, base: &Path) -> io::Result<()> {
        for path in files.next_to(base)? {
            // `F-01` also ends in a number, but is not the file that trace writes.
            if let Some(cpu) = number(&path).filter(|cpu| numbered(files, base, *cpu) == path && files.is_file(&path)) {
                self.files.insert(cpu, path);
            }
        }
        let n = self.files.len();
        match trace.survey().traced_cpus {
            _ if n == 0 => {
                let first = numbered(files, base, 0);
                self.damage(format!("a base file without the files of its CPUs: {} does not exist", first.display()));
            }
            Some(traced) if traced as usize > n => {
                self.damage(format!(
                    "{traced} CPUs were traced, but only the files of {n} are in its directory: {}",
                    self.known()
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn damage(&mut self, message: String) {
        self.damage.push(Notice::damage(message));
    }

    /// Keeps only the files of some CPUs. The error is a CPU without a file.
    pub fn select(&mut self, cpus: &[(u64, u64)]) -> Result<(), u64> {
        for (first, last) in cpus {
            let missing = |cpu: &u64| !u32::try_from(*cpu).is_ok_and(|cpu| self.files.contains_key(&cpu));
            if let Some(cpu) = (*first..=*last).find(missing) {
                return Err(cpu);
            }
        }
        self.files.retain(|cpu, _| contains(cpus, (*cpu).into()));
        Ok(())
    }

    /// Lists the CPUs for messages, such as `CPU 0 to 3 and 5`.
    pub fn known(&self) -> String {
        let mut text = String::from("CPU");
        let mut cpus = self.files.keys().copied().peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|next| Some(*next) == last.checked_add(1)) {
                last = next;
            }
            let link = if text.len() == 3 {
                ""
            } else if cpus.peek().is_some() {
                ","
            } else {
                " and"
            };
            let _ = match last - first {
                0 => write!(text, "{link} {first}"),
                1 => write!(text, "{link} {first}, {last}"),
                _ => write!(text, "{link} {first} to {last}"),
            };
        }
        if text.len() == 3 { String::from("no files of CPUs") } else { text }
    }
}

/// True if one of the ranges contains a number.
pub(super) fn contains(ranges: &[(u64, u64)], number: u64) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&number))
}

/// CPU number at the end of a file's name.
pub(super) fn number(path: &Path) -> Option<u32> {
    let (_, digits) = unpacked_name(path)?.rsplit_once('-')?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Path `F-N` for a base file `F` or `F.gz`, or its compressed form.
fn numbered(files: &dyn Files, base: &Path, cpu: u32) -> PathBuf {
    let mut name = unpacked_name(base).map_or_else(|| base.file_name().unwrap_or_default().to_owned(), Into::into);
    name.push(format!("-{cpu}"));
    existing(files, base.with_file_name(name))
}

/// File name without the suffix of its compression.
fn unpacked_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    Some(PACKED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name))
}

/// The path, or its compressed form if only that exists.
fn existing(files: &dyn Files, path: PathBuf) -> PathBuf {
    if files.is_file(&path) {
        return path;
    }
    let packed = PACKED.iter().map(|end| {
        let mut name = path.clone().into_os_string();
        name.push(end);
        PathBuf::from(name)
    });
    packed.into_iter().find(|packed| files.is_file(packed)).unwrap_or(path)
}

/// Part of a path after the last slash.
fn last_part(name: &[u8]) -> Option<&str> {
    let part = std::str::from_utf8(name).ok()?.rsplit('/').next()?;
    (!part.is_empty() && part != "." && part != "..").then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_in_numbers() {
        assert_eq!(number(Path::new("a/trc-file-12")), Some(12));
        for name in ["trcfile", "trcfile-", "trcfile-1x", "trcfile-+1", "trcfile-4294967296"] {
            assert_eq!(number(Path::new(name)), None, "{name}");
        }
        assert_eq!(numbered(&Disk, Path::new("a/b"), 3), Path::new("a/b-3"));
        assert_eq!(number(Path::new("trcfile-12.gz")), Some(12));
        assert_eq!(numbered(&Disk, Path::new("a/b.zst"), 3), Path::new("a/b-3"));
    }

    #[test]
    fn names_of_another_system_lose_their_directories() {
        assert_eq!(last_part(b"/var/adm/ras/trcfile-0"), Some("trcfile-0"));
        assert_eq!(last_part(b"/etc/.."), None);
        assert_eq!(last_part(b"x/"), None);
    }

    #[test]
    fn processors_are_listed_as_ranges() {
        let known = |cpus: &[u32]| {
            let files = cpus.iter().map(|cpu| (*cpu, PathBuf::new())).collect();
            CpuFiles { files, ..CpuFiles::default() }.known()
        };
        assert_eq!(known(&[]), "no files of CPUs");
        assert_eq!(known(&[4]), "CPU 4");
        assert_eq!(known(&[0, 1, 2, 3, 5]), "CPU 0 to 3 and 5");
        assert_eq!(known(&[0, 2, 4]), "CPU 0, 2 and 4");
    }

    #[test]
    fn what_is_asked_for_must_be_there() {
        let files = [0, 1, 2, 5].map(|cpu| (cpu, PathBuf::new())).into();
        let mut found = CpuFiles { files, ..CpuFiles::default() };
        assert_eq!(found.select(&[(0, 1), (3, u64::MAX)]), Err(3));
        assert_eq!(found.select(&[(1, 2), (5, 5)]), Ok(()));
        assert_eq!(found.known(), "CPU 1, 2 and 5");
    }
}
