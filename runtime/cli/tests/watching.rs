//! Tests of `tfbc watch` and `tfbc test --watch`: the screen after each save.

#![cfg(unix)]

use crate::common::{command, program, run};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Timeout for a screen, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command that runs until it is dropped.
struct RunningCommand {
    child: Child,
    lines: Receiver<String>,
}

impl RunningCommand {
    fn start(folder: &Path, args: &[&str], errors: bool) -> Self {
        let mut command = Command::new(program("tfbc"));
        command.args(args).current_dir(folder).env("NO_COLOR", "1").env_remove("CI");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(if errors { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().unwrap();
        let (send, lines) = channel();
        if errors {
            let from = BufReader::new(child.stderr.take().unwrap());
            let send = send.clone();
            std::thread::spawn(move || from.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        }
        let from = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || from.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        RunningCommand { child, lines }
    }

    /// First screen that `is_wanted` accepts, up to the line that waits for a save.
    fn screen(&self, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no such screen, but:\n{screen}"));
            let ends = line.contains("waiting for a save");
            screen.push_str(&line);
            screen.push('\n');
            if ends && is_wanted(&screen) {
                return screen;
            }
            if ends {
                screen.clear();
            }
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["shell.trc", "user.kev", "user.xml"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name);
        fs::copy(from, folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("my.trcfmt"), "106 1.0 \"FIRST\" X4\n").unwrap();
    folder
}

/// Saves as editors do: writes another file and renames it.
fn save_by_rename(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join("other~"), text).unwrap();
    fs::rename(folder.join("other~"), folder.join(name)).unwrap();
}

#[test]
fn every_save_shows_the_report_again() {
    let folder = folder();
    let args = ["watch", "--no-cache", "my.trcfmt", "shell.trc", "--only", "106", "--first", "2"];
    let running = RunningCommand::start(folder.path(), &args, false);
    let first = running.screen(|_| true);
    assert_eq!(first.matches("FIRST").count(), 2, "{first}");
    assert!(first.ends_with("-- my.trcfmt: no errors; waiting for a save (Ctrl-C ends)\n"), "{first}");
    assert!(!first.contains('\x1b'), "only terminals are cleared: {first:?}");
    save_by_rename(folder.path(), "my.trcfmt", "106 1.0 \"SECOND\" X4\n");
    let second = running.screen(|screen| screen.contains("SECOND"));
    assert!(!second.contains("FIRST"), "{second}");
    // Errors, with the last good report below.
    fs::write(folder.path().join("my.trcfmt"), "106 1.0 \"THIRD\" X17\n").unwrap();
    let third = running.screen(|screen| screen.contains("X17"));
    let (error, report) = (third.find("error[S07]").unwrap(), third.find("SECOND").unwrap());
    assert!(error < report && third.contains("1 error; waiting"), "{third}");
    save_by_rename(folder.path(), "my.trcfmt", "106 1.0 \"FOURTH\" X4\n");
    let fourth = running.screen(|screen| screen.contains("FOURTH"));
    assert!(!fourth.contains("error["), "{fourth}");
    // A file that disappears and returns, and a replaced trace.
    fs::remove_file(folder.path().join("my.trcfmt")).unwrap();
    running.screen(|screen| screen.contains("cannot read my.trcfmt"));
    fs::write(folder.path().join("my.trcfmt"), "106 1.0 \"FIFTH\" X4\n").unwrap();
    running.screen(|screen| screen.contains("FIFTH"));
    fs::write(folder.path().join("shell.trc"), b"no trace").unwrap();
    let broken = running.screen(|screen| screen.contains("error: ") && screen.contains("shell.trc"));
    assert!(broken.contains("FIFTH"), "{broken}");
}

#[test]
fn logs_of_qnx_are_watched_too() {
    let folder = folder();
    let args = ["watch", "--no-cache", "-t", "user.xml", "user.kev", "--first", "1"];
    let running = RunningCommand::start(folder.path(), &args, false);
    assert!(running.screen(|_| true).starts_with("USER       140  code:0xfe17a361 unknown\n"));
    let xml = fs::read_to_string(folder.path().join("user.xml")).unwrap();
    save_by_rename(folder.path(), "user.xml", &xml.replace("unknown", "not known"));
    running.screen(|screen| screen.contains("code:0xfe17a361 not known\n"));
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let folder = folder();
    let mut child = Command::new(program("tfbc"))
        .args(["watch", "--no-cache", "my.trcfmt", "shell.trc"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn case_files_run_again() {
    let folder = folder();
    let case = "formats = \"my.trcfmt\"\n[[event]]\nhex = \"8000000810600000 000000000000002a\"\n";
    fs::write(folder.path().join("my.case.toml"), case).unwrap();
    let running = RunningCommand::start(folder.path(), &["test", "--watch", "--no-cache"], true);
    running.screen(|screen| screen.contains("1 new"));
    let (.., status) = run(command("tfbc").args(["test", "--accept", "--no-cache"]).current_dir(folder.path()));
    assert_eq!(status, 0);
    running.screen(|screen| screen.contains("1 passed"));
    save_by_rename(folder.path(), "my.trcfmt", "106 1.0 \"SECOND\" X4\n");
    running.screen(|screen| screen.contains("1 changed"));
    // A new case file.
    fs::write(folder.path().join("more.case.toml"), case).unwrap();
    running.screen(|screen| screen.contains("2 case files"));
}

#[test]
fn what_cannot_be_watched_is_refused() {
    for args in [&["shell.trc"][..], &["my.trcfmt", "-"], &["-", "shell.trc"], &[]] {
        let (.., status) = run(command("tfbc").arg("watch").args(args));
        assert_eq!(status, 1, "{args:?}");
    }
}
