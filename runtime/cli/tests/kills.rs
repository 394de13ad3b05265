//! Kills commands at random moments: each output is complete, either old or new, or absent.
//!
//! `TFBC_KILLS` sets the number of kills.

#![cfg(unix)]

use crate::common::{Noise, STREAM64, names, plain64, program};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Number of kinds of output, which share the kills equally.
const N_KINDS: usize = 5;

/// Signals of the rounds; only KILL may leave a temporary file.
const SIGNALS: [Signal; 8] =
    [Signal::KILL, Signal::KILL, Signal::INT, Signal::TERM, Signal::KILL, Signal::KILL, Signal::TERM, Signal::HUP];

fn n_rounds() -> usize {
    let wanted = std::env::var("TFBC_KILLS").ok().and_then(|text| text.parse::<usize>().ok());
    wanted.unwrap_or(40).div_ceil(N_KINDS)
}

/// Counts of a series of kills.
#[derive(Debug, Default)]
struct Seen {
    n_killed: usize,
    n_old: usize,
    n_new: usize,
    /// Rounds that left a temporary file.
    n_stale: usize,
}

/// Directory with inputs, and a command to run in it.
struct Fixture {
    directory: TempDir,
    name: &'static str,
    args: Vec<String>,
}

impl Fixture {
    fn new(name: &'static str, args: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // The cache requires a directory that no other user can write to.
        fs::DirBuilder::new().mode(0o755).create(directory.path().join("out")).unwrap();
        Self { directory, name, args: args.iter().map(|arg| (*arg).to_owned()).collect() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn out(&self) -> PathBuf {
        self.at("out")
    }

    fn start(&self) -> Child {
        let mut command = Command::new(program(self.name));
        command.args(&self.args).current_dir(self.directory.path()).env("TFBC_CACHE", self.at("out"));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn run(&self) {
        assert!(self.start().wait().unwrap().success(), "{} {:?}", self.name, self.args);
    }

    /// Kills the command repeatedly; every second time, soon after it begins to write. `reset` restores the old files,
    /// and `check` verifies the files afterwards and returns true if they are new.
    fn kill(&self, reset: impl Fn(bool), check: impl Fn(bool) -> bool) -> Seen {
        reset(false);
        let begun = Instant::now();
        self.run();
        let mut whole = begun.elapsed();
        assert!(check(false), "{} makes what is expected", self.name);
        let mut noise = Noise::new(self.args.len() as u64);
        let mut seen = Seen::default();
        for round in 0..8 * n_rounds() {
            // On a busy machine many commands end before they are killed.
            if round >= n_rounds() && seen.n_killed * 4 > n_rounds() {
                break;
            }
            let had_old = round % 4 < 2;
            reset(had_old);
            let left = names(&self.out());
            let mut child = self.start();
            if round % 2 == 0 {
                wait_for_temporary(&self.out(), &mut child);
                std::thread::sleep(Duration::from_micros(noise.below(2000)));
            } else {
                std::thread::sleep(Duration::from_micros(noise.below(whole.as_micros() as u64 * 11 / 10)));
            }
            let signal = SIGNALS[round % SIGNALS.len()];
            let _ = kill_process(Pid::from_child(&child), signal);
            if child.wait().unwrap().signal() == Some(signal.as_raw()) {
                seen.n_killed += 1;
                let is_new = |name: &String| name.starts_with(".tfbc-") && !left.contains(name);
                let leaves_file = names(&self.out()).iter().any(is_new);
                assert!(!leaves_file || signal == Signal::KILL || !cfg!(target_os = "linux"), "{signal:?}");
            } else {
                // The first run may have been slow.
                whole = whole * 7 / 8;
            }
            seen.n_stale += usize::from(has_temporary(&self.out()));
            if check(had_old) {
                seen.n_new += 1;
            } else {
                seen.n_old += 1;
            }
        }
        // The next run is not disturbed by a leftover file, and removes it.
        reset(false);
        self.run();
        assert!(check(false));
        assert!(!has_temporary(&self.out()), "{:?}", names(&self.out()));
        assert!(seen.n_killed * 4 > n_rounds(), "{}: {seen:?}", self.name);
        seen
    }
}

fn has_temporary(directory: &Path) -> bool {
    names(directory).iter().any(|name| name.starts_with(".tfbc-"))
}

fn wait_for_temporary(directory: &Path, child: &mut Child) {
    while child.try_wait().unwrap().is_none() && !has_temporary(directory) {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Restores a file, or removes it.
fn put(path: &Path, old: Option<&[u8]>) {
    match old {
        Some(bytes) => fs::write(path, bytes).unwrap(),
        None => drop(fs::remove_file(path)),
    }
}

/// True if a file is the new one; otherwise it must be the old one.
fn is_new(path: &Path, old: Option<&[u8]>, new: &[u8]) -> bool {
    let found = fs::read(path).ok();
    let is_new = found.as_deref() == Some(new);
    assert!(is_new || found.as_deref() == old, "{}: {} bytes", path.display(), found.map_or(0, |found| found.len()));
    is_new
}

/// Tests one product at `out/product`; `new` is its expected content.
fn one_product(world: &Fixture) -> Seen {
    world.run();
    let path = world.at("out/product");
    let new = fs::read(&path).unwrap();
    let old = |had_old: bool| had_old.then_some(&b"old"[..]);
    world.kill(|had_old| put(&path, old(had_old)), |had_old| is_new(&path, old(had_old), &new))
}

fn stanzas(n: u32) -> String {
    (0..n).map(|n| format!("{:03X} 1.0 L=APPL \"STANZA {n}\" \"word\" X4 D2 O4\n", n + 16)).collect()
}

fn log(n_events: u64) -> Vec<u8> {
    let events = (0..n_events).flat_map(|n| plain64(0x0100 + (n % 16 * 16) as u16, 0, &[n, n], 7, 100 * n));
    STREAM64.into_iter().chain(events).collect()
}

#[test]
fn killed_compilation_leaves_a_whole_blob() {
    let world = Fixture::new("tfbc", &["compile", "formats.trcfmt", "-o", "out/product"]);
    fs::write(world.at("formats.trcfmt"), stanzas(300)).unwrap();
    one_product(&world);
}

#[test]
fn a_killed_report_is_whole_or_absent() {
    let world = Fixture::new("tfbc", &["report", "log", "-o", "out/product"]);
    fs::write(world.at("log"), log(20_000)).unwrap();
    let seen = one_product(&world);
    assert!(seen.n_stale > 0 && seen.n_old > 0, "{seen:?}");
}

#[test]
fn so_is_the_one_of_trcrpt() {
    let world = Fixture::new("trcrpt", &["-o", "out/product", "log"]);
    fs::write(world.at("log"), log(20_000)).unwrap();
    let seen = one_product(&world);
    assert!(seen.n_stale > 0 && seen.n_old > 0, "{seen:?}");
}

#[test]
fn killed_update_leaves_whole_format_and_undo_files() {
    let world = Fixture::new("trcupdate", &["-t", "out/formats", "out/driver"]);
    let formats = stanzas(200);
    let update = "* /etc/trcfmt\n+ 010 1.1 L=APPL \"OTHER\" X8\n- 020\n+ FF0 1.0 \"MORE\" X4\n";
    let (file, undo) = (world.at("out/formats"), world.at("out/driver.undo.trc"));
    fs::write(world.at("out/driver.trc"), update).unwrap();
    fs::write(&file, &formats).unwrap();
    world.run();
    let (new, back) = (fs::read(&file).unwrap(), fs::read(&undo).unwrap());
    let old = |had_old: bool| had_old.then_some(&b"older"[..]);
    let reset = |had_old: bool| {
        fs::write(&file, &formats).unwrap();
        put(&undo, old(had_old));
    };
    world.kill(reset, |had_old| {
        let has_back = is_new(&undo, old(had_old), &back);
        let is_new = is_new(&file, Some(formats.as_bytes()), &new);
        assert!(has_back || !is_new, "the way back is there before the way is taken");
        is_new
    });
}

#[test]
fn killed_run_leaves_no_partial_blob_in_cache() {
    let world = Fixture::new("tfbc", &["list", "-t", "formats.trcfmt"]);
    fs::write(world.at("formats.trcfmt"), stanzas(1500)).unwrap();
    world.run();
    let kept = names(&world.out());
    let [name] = &kept[..] else { panic!("{kept:?}") };
    let path = world.out().join(name);
    let blob = fs::read(&path).unwrap();
    world.kill(|_| put(&path, None), |_| is_new(&path, None, &blob));
}
