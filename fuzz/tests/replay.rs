//! Runs every target on the committed corpus, the seeds, all past findings, and some mutations of them.
//!
//! `TFBC_CASES=100000` tries that many mutations per target.

use flate2::read::GzDecoder;
use std::fs;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tfbc_fuzz::{TARGETS, Target};
use tfbc_snapshots::generate::Rng;

/// Default number of mutations per target.
const CHANGED: usize = 300;

/// Maximum size of a mutated input, in bytes.
const MAX_LEN: usize = 4096;

fn directory(of: &str, target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(of).join(target)
}

/// Files of a directory, by name; empty if it does not exist.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a directory that can be read").path()).collect();
    files.sort();
    files
}

/// An input, with a name for failure messages.
struct Input {
    name: String,
    bytes: Vec<u8>,
}

/// Corpus, seeds and findings of a target.
fn inputs(target: &Target) -> Vec<Input> {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{}.tar.gz", target.name));
    let file = fs::File::open(&archive).unwrap_or_else(|error| panic!("{}: {error}", archive.display()));
    let mut inputs = Vec::new();
    for entry in tar::Archive::new(GzDecoder::new(file)).entries().expect("an archive") {
        let mut entry = entry.expect("a file in the archive");
        let name = format!("{} in {}", entry.path().expect("a name").display(), archive.display());
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("a file in the archive");
        inputs.push(Input { name, bytes });
    }
    assert!(!inputs.is_empty(), "{} has no corpus", target.name);
    for path in ["seeds", "findings"].into_iter().flat_map(|kind| files(&directory(kind, target.name))) {
        let bytes = fs::read(&path).expect("a file that can be read");
        inputs.push(Input { name: path.display().to_string(), bytes });
    }
    inputs
}

/// Calls a target on many inputs, on all cores; returns their number.
fn call_all<T: Sync>(
    target: &Target,
    inputs: &[T],
    bytes: impl Fn(&T) -> Vec<u8> + Sync,
    name: impl Fn(&T) -> String + Sync,
) {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let failed: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|from| {
                let (bytes, name) = (&bytes, &name);
                scope.spawn(move || {
                    let own = inputs.iter().skip(from).step_by(workers);
                    let fails = |input: &&T| catch_unwind(AssertUnwindSafe(|| (target.body)(&bytes(input)))).is_err();
                    own.filter(fails).map(name).collect::<Vec<_>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|worker| worker.join().expect("panics are caught")).collect()
    });
    assert!(failed.is_empty(), "{}: a promise is broken for\n{}", target.name, failed.join("\n"));
}

/// Mutated input: pieces of one or two inputs, with bytes inserted, removed, duplicated and overwritten.
fn changed(rng: &mut Rng, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = rng.pick(inputs).clone();
    bytes.truncate(MAX_LEN);
    if rng.chance(15) {
        let other = rng.pick(inputs);
        bytes.truncate(rng.below(bytes.len() + 1));
        bytes.extend(&other[rng.below(other.len())..]);
        bytes.truncate(MAX_LEN);
    }
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        let end = (at + 1 + rng.below(8)).min(bytes.len());
        match (rng.below(6), bytes.get_mut(at)) {
            (0, _) => _ = bytes.drain(at.min(end)..end),
            (1, _) => {
                let copy = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, copy);
            }
            (2, _) => bytes.insert(at, rng.bits() as u8),
            (3, Some(byte)) => *byte = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            (4, Some(byte)) => *byte ^= 1 << rng.below(8),
            (_, Some(byte)) => *byte = rng.bits() as u8,
            _ => {}
        }
    }
    bytes
}

/// Replays and mutates the inputs of one target.
fn replay(name: &str) {
    let target = tfbc_fuzz::target(name).expect("a target");
    let inputs = inputs(target);
    call_all(target, &inputs, |input| input.bytes.clone(), |input| input.name.clone());
    let inputs: Vec<Vec<u8>> = inputs.into_iter().map(|input| input.bytes).filter(|bytes| !bytes.is_empty()).collect();
    let n = std::env::var("TFBC_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CHANGED);
    let seeds: Vec<u64> = (0..n as u64).collect();
    let bytes = |seed: &u64| changed(&mut Rng::new(*seed), &inputs);
    call_all(target, &seeds, bytes, |seed| {
        format!("seed {seed}: {}", changed(&mut Rng::new(*seed), &inputs).escape_ascii())
    });
}

/// Defines one test per target, and one that checks that no target is missing.
macro_rules! replayed {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let mut replayed = vec!["command", $(stringify!($name)),*];
            let mut all = TARGETS.map(|target| target.name).to_vec();
            replayed.sort();
            all.sort();
            assert_eq!(replayed, all);
            let bins = files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/targets")));
            let bins: Vec<_> = bins.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
            assert_eq!(bins, all, "each target has a program around libFuzzer");
            for kind in ["corpus", "seeds", "findings"] {
                for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(kind)) {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().replace(".tar.gz", "");
                    assert!(all.contains(&name.as_str()), "{} is of no target", path.display());
                }
            }
        }
    };
}

replayed! { template grammar xml blob reference aix kev packed split }

/// Commands write to standard output and standard error, so they run in a separate process.
#[test]
fn command() {
    let target = tfbc_fuzz::target("command").expect("a target");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut inputs: Vec<Vec<u8>> = inputs(target).into_iter().map(|input| input.bytes).collect();
    let changed: Vec<_> = (0..CHANGED as u64).map(|seed| changed(&mut Rng::new(seed), &inputs)).collect();
    inputs.extend(changed);
    let write = |(at, bytes): (usize, &Vec<u8>)| {
        let path = directory.path().join(at.to_string());
        fs::write(&path, bytes).expect("a temporary file");
        path
    };
    let paths: Vec<PathBuf> = inputs.iter().enumerate().map(write).collect();
    let mut child = Command::new(env!("CARGO_BIN_EXE_replay"));
    child.arg("command").args(&paths).env("TFBC_CACHE", "off").stdout(Stdio::null()).stdin(Stdio::null());
    let output = child.output().expect("the program that replays");
    if !output.status.success() {
        let _ = std::io::stderr().write_all(&output.stderr);
        let kept = directory.keep();
        panic!("a promise is broken for the last file that is named above; the files are in {}", kept.display());
    }
}
