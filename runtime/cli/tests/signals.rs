//! Signals that end a command while it writes: no temporary file is left, and the shell sees the signal.
#![cfg(target_os = "linux")]

use crate::common::*;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Commands that write `out/product` until their standard input ends.
const COMMANDS: &[(&str, &[&str])] = &[
    ("tfbc", &["report", "-o", "out/product", "-"]),
    ("trcrpt", &["-o", "out/product", "-"]),
    ("trcrpt", &["-m", "-o", "out/product", "-"]),
    ("trcrpt", &["-r", "-o", "out/product", "-"]),
    ("tfbc", &["report", "--to", "ndjson", "--output", "out/product", "-"]),
    ("tfbc", &["traceprinter", "-o", "out/product", "-f", "-"]),
    ("traceprinter", &["-o", "out/product", "-f", "-"]),
];

/// First bytes of a trace or log that continues.
fn beginning(args: &[&str]) -> Vec<u8> {
    if args.contains(&"-f") {
        let text = b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_CPU_NUM::2TRACE_HEADER_END::";
        let slot = |n: u32| [0x1807, 16 * n, n, n].map(u32::to_le_bytes).concat();
        return [text.to_vec(), (0..8).flat_map(slot).collect()].concat();
    }
    let events = (1..9).flat_map(|n| plain64(0x0100, 0, &[n], 7, 100 * n));
    [STREAM64.to_vec(), factors64(1, 1, 2)].concat().into_iter().chain(events).collect()
}

/// Starts a command and waits for its temporary file or directory. The shell runs `before` first.
fn start(directory: &Path, before: &str, name: &str, args: &[&str]) -> Child {
    let mut child = Command::new("sh")
        .args(["-c", &format!("{before} exec \"$0\" \"$@\"")])
        .arg(program(name))
        .args(args)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(&beginning(args)).unwrap();
    let begun = Instant::now();
    while !names(&directory.join("out")).iter().any(|name| name.starts_with('.')) {
        assert!(child.try_wait().unwrap().is_none(), "{name} {args:?} has ended");
        assert!(begun.elapsed() < Duration::from_secs(60), "{name} {args:?} writes nothing");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Directory with the directory `out`, with or without an old product.
fn test_directory(old: Option<&str>) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("out")).unwrap();
    if let Some(old) = old {
        fs::write(directory.path().join("out/product"), old).unwrap();
    }
    directory
}

/// Signals that neither this process nor its children ignore.
fn unignored_signals() -> Vec<Signal> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(mask.trim(), 16).unwrap();
    let signals = [Signal::INT, Signal::TERM, Signal::HUP];
    signals.into_iter().filter(|signal| ignored >> (signal.as_raw() - 1) & 1 == 0).collect()
}

#[test]
fn a_signal_removes_the_unfinished_file() {
    assert!(unignored_signals().contains(&Signal::TERM));
    for (name, args) in COMMANDS {
        for signal in unignored_signals() {
            for old in [None, Some("old")] {
                let world = test_directory(old);
                let mut child = start(world.path(), "", name, args);
                send(&child, signal);
                // The input stays open: waiting would close it.
                let _stdin = child.stdin.take();
                let ended = child.wait().unwrap();
                assert_eq!(ended.signal(), Some(signal.as_raw()), "{name} {args:?}: {ended}");
                let left = names(&world.path().join("out"));
                assert_eq!(left, old.map_or(vec![], |_| vec!["product"]), "{name} {args:?} after {signal:?}");
                assert_eq!(fs::read_to_string(world.path().join("out/product")).ok().as_deref(), old);
            }
        }
    }
}

#[cfg(feature = "arrow")]
#[test]
fn a_signal_removes_the_unfinished_directory() {
    let args = ["report", "--to", "arrow", "--by-event", "-o", "out/product", "-"];
    for signal in unignored_signals() {
        let world = test_directory(None);
        let mut child = start(world.path(), "", "tfbc", &args);
        send(&child, signal);
        let _stdin = child.stdin.take();
        assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()));
        assert!(names(&world.path().join("out")).is_empty(), "{signal:?}");
    }
    let world = test_directory(None);
    let mut child = start(world.path(), "", "tfbc", &args);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(names(&world.path().join("out")), ["product"]);
    assert!(names(&world.path().join("out/product")).contains(&String::from("010.arrows")));
    // A file in its place is refused before any event is read.
    let world = test_directory(Some("old"));
    fs::write(world.path().join("trace"), beginning(&args)).unwrap();
    let mut command = command("tfbc");
    let args = [&args[..args.len() - 1], &["trace"]].concat();
    let (_, err, status) = run(command.current_dir(world.path()).args(args));
    assert_eq!((err.as_str(), status), ("error: cannot write out/product: it is a file, not a directory\n", 1));
}

#[test]
fn an_ignored_signal_stays_ignored() {
    for (name, args) in COMMANDS {
        let world = test_directory(None);
        let mut child = start(world.path(), "trap '' HUP INT;", name, args);
        send(&child, Signal::HUP);
        send(&child, Signal::INT);
        // The end of the input ends the command.
        drop(child.stdin.take());
        let ended = child.wait().unwrap();
        assert!(ended.success(), "{name} {args:?}: {ended}");
        assert_eq!(names(&world.path().join("out")), ["product"]);
    }
    let world = test_directory(None);
    let (name, args) = COMMANDS[0];
    let mut child = start(world.path(), "trap '' HUP INT;", name, args);
    send(&child, Signal::TERM);
    let _stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert!(names(&world.path().join("out")).is_empty());
}
