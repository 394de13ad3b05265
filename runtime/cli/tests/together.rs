//! Two commands that change one format file at the same time: no change is lost.
#![cfg(target_os = "linux")]

use crate::common::*;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Text that `tfbc fmt` changes: too many blanks.
const UNTIDY: &str = "010 1.0 L=APPL   \"A\"   X4\n";
/// Text that `tfbc check --fix` changes: a comma after the last entry.
const FIXABLE: &str = "0D1 1.0 L=APPL \"DOOR\" \"state=\" U4, 0 closed, 1 open,\n";
/// Format file after an update.
const UPDATED: &str = "010 1.0 L=APPL   \"A\"   X4\n020 1.0 L=APPL   \"NEW\"   X4\n";

fn start(directory: &Path, args: &[&str]) -> Child {
    let name = if args[0] == "trcupdate" { "trcupdate" } else { "tfbc" };
    let args = if name == "tfbc" { args } else { &args[1..] };
    let mut command = Command::new(program(name));
    command.args(args).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn end(child: Child) -> (String, i32) {
    let (_, err, status) = collected(child.wait_with_output().unwrap());
    (err, status)
}

/// Waits until a process waits for a lock.
fn wait_for_waiter(child: &mut Child) {
    let pid = child.id().to_string();
    let begun = Instant::now();
    let waits = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        words.contains(&"->") && words.contains(&&*pid)
    };
    while !fs::read_to_string("/proc/locks").unwrap().lines().any(waits) {
        assert!(child.try_wait().unwrap().is_none(), "it has ended and did not wait");
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not wait for the lock");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs a command on a file that an update is about to replace, as `trcupdate` would.
fn run_during_update(args: &[&str], before: &str, updated: &str) -> (String, String, i32) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fmt");
    fs::write(&path, before).unwrap();
    let held = File::open(&path).unwrap();
    held.lock().unwrap();
    let mut child = start(directory.path(), args);
    wait_for_waiter(&mut child);
    fs::write(directory.path().join("new"), updated).unwrap();
    fs::rename(directory.path().join("new"), &path).unwrap();
    drop(held);
    let (err, status) = end(child);
    assert_eq!(names(directory.path()), ["fmt"]);
    (fs::read_to_string(path).unwrap(), err, status)
}

#[test]
fn fmt_waits_for_an_update_and_formats_it() {
    let (text, err, status) = run_during_update(&["fmt", "fmt"], UNTIDY, UPDATED);
    assert_eq!(status, 0, "{err}");
    assert!(text.contains("020 1.0 L=APPL \"NEW\""), "{text}");
}

#[test]
fn fixes_are_not_written_over_an_update() {
    for fix in ["--fix", "--fix=all"] {
        let (text, err, status) = run_during_update(&["check", fix, "fmt"], FIXABLE, UPDATED);
        assert_eq!(status, 1, "{err}");
        assert!(err.contains("cannot write fmt: the file changed after it was read, so it was not replaced"), "{err}");
        assert_eq!(text, UPDATED);
    }
}

#[test]
fn looking_at_a_file_takes_no_lock() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fmt");
    fs::write(&path, UNTIDY).unwrap();
    let held = File::open(&path).unwrap();
    held.lock().unwrap();
    for (args, expected) in
        [(&["fmt", "--check", "fmt"][..], 1), (&["fmt", "--stdout", "fmt"], 0), (&["check", "fmt"], 0)]
    {
        let (err, status) = end(start(directory.path(), args));
        assert_eq!(status, expected, "{args:?}: {err}");
    }
}

#[test]
fn no_change_is_lost_among_many_commands() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("fmt"), FIXABLE).unwrap();
    let ids: Vec<String> = (0x100..0x110).map(|id| format!("{id:03X}")).collect();
    let commands = ids.iter().flat_map(|id| {
        let update = format!("* /etc/trcfmt\n+ {id} 1.0 L=APPL   \"STANZA {id}\"   X4\n");
        fs::write(at(&format!("{id}.trc")), update).unwrap();
        let update = start(directory.path(), &["trcupdate", "-t", "fmt", id]);
        [update, start(directory.path(), &["fmt", "fmt"]), start(directory.path(), &["check", "--fix", "fmt"])]
    });
    let commands: Vec<Child> = commands.collect();
    for (n, command) in commands.into_iter().enumerate() {
        let (err, status) = end(command);
        // The fixes may come too late.
        assert!(status == 0 || n % 3 == 2 && err.contains("changed after it was read"), "{err}");
    }
    let text = fs::read_to_string(at("fmt")).unwrap();
    assert!(ids.iter().all(|id| text.contains(&format!("STANZA {id}"))), "{text}");
}
