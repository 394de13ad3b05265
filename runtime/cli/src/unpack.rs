//! `--unpack`: writes compressed traces and pipes to files, which can be read from any position.

use super::console::{Console, Failure, Message, Status};
use super::files::{Input, Output, Unpacker, cpu_files};
use super::trace_args::TraceArgs;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Endings of compressed files.
const PACKED: [&str; 3] = [".gz", ".zst", ".Z"];

/// File of a trace that is not compressed.
pub struct Unpacked {
    pub path: PathBuf,
    /// Not well if the compressed data are damaged; everything before the damage is in the file.
    pub status: Status,
}

/// Writes a trace and the files of its CPUs to a directory. A trace whose files are neither compressed nor pipes stays
/// where it is.
pub fn unpack(console: &Console, path: &Path, directory: &Path, args: &TraceArgs) -> Result<Unpacked, Failure> {
    let is_file = path != Path::new("-") && path.is_file();
    let mut files = vec![path.to_owned()];
    if is_file {
        files.extend(cpu_files(path, &args.options()));
    }
    let is_packed = |path: &PathBuf| Input::open(path).is_ok_and(|input| input.unpacker().is_some());
    if is_file && !files.iter().any(is_packed) {
        return Ok(Unpacked { path: path.to_owned(), status: Status::Well });
    }
    let failed = |error: io::Error, path: &Path| Failure::write(&error, path.display());
    fs::create_dir_all(directory).map_err(|error| failed(error, directory))?;
    let targets: Vec<PathBuf> = files.iter().map(|file| directory.join(unpacked_name(file))).collect();
    // Checked before gigabytes are unpacked.
    if let Some(existing) = targets.iter().find(|target| target.symlink_metadata().is_ok()) {
        let text = format!("cannot write {}: the file exists; remove it or name another directory", existing.display());
        return Err(Failure::Error(Message::Unwritable, text));
    }
    let mut status = Status::Well;
    for (file, target) in files.iter().zip(&targets) {
        let unreadable =
            |error: io::Error| Failure::Error(Message::Unreadable, format!("cannot read {}: {error}", file.display()));
        let mut input = Input::open(file).map_err(unreadable)?.within(args.max_ratio);
        let mut out = Output::create_new(target).map_err(|error| failed(error, target))?;
        let mut buffer = vec![0; 1 << 18];
        loop {
            let n = input.read(&mut buffer).map_err(unreadable)?;
            if n == 0 {
                break;
            }
            out.write_all(&buffer[..n]).map_err(|error| failed(error, target))?;
        }
        out.commit().map_err(|error| failed(error, target))?;
        if let Some(fault) = input.unpacker().and_then(Unpacker::fault) {
            console.error(Message::InvalidEvent, format!("{}: {fault}", file.display()));
            status = Status::Damaged;
        }
    }
    Ok(Unpacked { path: targets.into_iter().next().unwrap_or_default(), status })
}

/// Name of a file without the ending of its compression.
fn unpacked_name(path: &Path) -> PathBuf {
    let name = match path.file_name() {
        Some(name) if path != Path::new("-") => name.to_string_lossy().into_owned(),
        _ => return PathBuf::from("stdin"),
    };
    let stem = PACKED.iter().find_map(|end| name.strip_suffix(end)).filter(|stem| !stem.is_empty());
    PathBuf::from(stem.unwrap_or(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_the_ending_of_the_compression() {
        for (path, name) in [("a/b.trc.gz", "b.trc"), ("b.Z", "b"), ("trc-0.zst", "trc-0"), ("b", "b"), (".gz", ".gz")]
        {
            assert_eq!(unpacked_name(Path::new(path)), Path::new(name));
        }
        assert_eq!(unpacked_name(Path::new("-")), Path::new("stdin"));
    }
}
