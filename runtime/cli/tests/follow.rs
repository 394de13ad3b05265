//! Tests of traces that grow while they are formatted: files and pipes.
#![cfg(unix)]

use crate::common::*;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// Timeout for an expected line.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time after which an unexpected line would have appeared.
const MOMENT: Duration = Duration::from_millis(400);

/// A running report.
struct RunningReport {
    child: Child,
    lines: Receiver<String>,
}

impl RunningReport {
    fn start(directory: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(program("tfbc"))
            .args(args)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (to, lines) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| to.send(line)));
        Self { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line comes before more is written")
    }

    fn is_silent(&self) -> bool {
        self.lines.recv_timeout(MOMENT).is_err()
    }

    /// Waits for the end; returns the remaining lines, standard error and status.
    fn end(mut self) -> (Vec<String>, String, ExitStatus) {
        drop(self.child.stdin.take());
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let status = self.child.wait().unwrap();
        (self.lines.iter().collect(), err, status)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("user.trcfmt"), "010 1.0 L=APPL \"\" \"hook = \" $D1%U4\n").unwrap();
    directory
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn head() -> Vec<u8> {
    [words32(&[0xEFDF_1114]), factors64(1, 1, 1)].concat()
}

const BARE: [&str; 6] = ["report", "--follow", "--columns", "text", "-t", "user.trcfmt"];

#[test]
fn events_are_written_as_a_file_grows() {
    let directory = directory();
    let path = directory.path().join("trace");
    fs::write(&path, [head(), event64(1, 10)].concat()).unwrap();
    let running = RunningReport::start(directory.path(), &[&BARE[..], &["trace"]].concat());
    assert_eq!(running.line(), "hook = 1");
    let event = event64(2, 20);
    append(&path, &event[..9]);
    assert!(running.is_silent(), "half an event is waited for");
    append(&path, &event[9..]);
    assert_eq!(running.line(), "hook = 2");
    append(&path, &[event64(3, 30), event64(4, 40)].concat());
    assert_eq!((running.line(), running.line()), (String::from("hook = 3"), String::from("hook = 4")));
    // A truncated file has nothing to wait for.
    File::create(&path).unwrap();
    let (lines, err, status) = running.end();
    assert_eq!((lines.len(), status.code()), (0, Some(0)));
    assert!(err.contains("trace: the file was truncated"), "{err}");
}

#[test]
fn an_interrupted_run_has_written_all_whole_events() {
    let directory = directory();
    let path = directory.path().join("trace");
    fs::write(&path, b"").unwrap();
    let running = RunningReport::start(directory.path(), &[&BARE[..], &["trace"]].concat());
    append(&path, &head());
    let events: Vec<u8> = (1..=5000).flat_map(|n| event64(n, 10 * n)).collect();
    append(&path, &events);
    append(&path, &event64(0, 0)[..5]);
    let lines: Vec<String> = (0..5000).map(|_| running.line()).collect();
    assert_eq!(lines[4999], "hook = 5000");
    let interrupted = Command::new("kill").args(["-TERM", &running.child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let (lines, err, status) = running.end();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!((lines.len(), err.as_str(), status.signal()), (0, "", Some(15)));
}

#[test]
fn traces_without_time_factors_are_not_waited_for() {
    let directory = directory();
    let path = directory.path().join("trace");
    fs::write(&path, [words32(&[0xEFDF_1114]), event64(1, 10)].concat()).unwrap();
    let running = RunningReport::start(directory.path(), &[&BARE[..], &["trace"]].concat());
    assert_eq!(running.line(), "hook = 1");
    running.kill();
}

#[test]
fn logs_of_qnx_grow_too() {
    for threads in ["1", "3"] {
        follow_log(threads);
    }
}

fn follow_log(threads: &str) {
    let directory = directory();
    let whole = fs::read(data("qnx/user_le.kev")).unwrap();
    let (plain, ..) = run(command("tfbc").args(["report", "-"]).write_stdin(whole.clone()));
    let path = directory.path().join("log.kev");
    let cut = whole.len() - 40;
    fs::write(&path, &whole[..cut]).unwrap();
    let running = RunningReport::start(directory.path(), &["report", "--follow", "--threads", threads, "log.kev"]);
    let mut lines = vec![running.line()];
    while let Ok(line) = running.lines.recv_timeout(MOMENT) {
        lines.push(line);
    }
    let n_lines = plain.lines().count();
    assert!(lines.len() < n_lines && plain.lines().zip(&lines).all(|(one, other)| one == other));
    append(&path, &whole[cut..]);
    lines.extend((lines.len()..n_lines).map(|_| running.line()));
    assert_eq!(lines, plain.lines().collect::<Vec<_>>());
    fs::remove_file(&path).unwrap();
    let (_, err, status) = running.end();
    assert_eq!(status.code(), Some(0), "{err}");
    assert!(err.contains("log.kev: the file was removed"), "{err}");
}

#[test]
fn events_of_a_pipe_are_written_as_they_come() {
    let directory = directory();
    for (args, ends) in [(&BARE[..], true), (&["report", "--columns", "text", "-t", "user.trcfmt"], false)] {
        let mut running = RunningReport::start(directory.path(), &[args, &["-"]].concat());
        let mut pipe = running.child.stdin.take().unwrap();
        pipe.write_all(&[head(), event64(1, 10)].concat()).unwrap();
        assert_eq!(running.line(), "hook = 1");
        pipe.write_all(&event64(2, 20)[..30]).unwrap();
        assert!(running.is_silent());
        pipe.write_all(&event64(2, 20)[30..]).unwrap();
        assert_eq!(running.line(), "hook = 2");
        pipe.write_all(&event64(3, 20)[..if ends { 32 } else { 8 }]).unwrap();
        drop(pipe);
        let (lines, err, status) = running.end();
        // The end of the pipe ends the trace, even inside an event.
        let expected: (&[&str], i32) = if ends { (&["hook = 3"], 0) } else { (&[], 2) };
        assert_eq!(
            (lines.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), status.code()),
            (expected.0, Some(expected.1)),
            "{err}"
        );
    }
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let directory = directory();
    let log = LogBuilder { wide: true, current: 1, entries: vec![event64(1, 1)], ..LogBuilder::default() }.bytes();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("log"), log).unwrap();
    fs::write(path("s"), head()).unwrap();
    fs::write(path("s.Z"), tfbc::testing::unix_compress::compress(&head())).unwrap();
    for (args, part) in [
        (&["log"][..], "an AIX 64-bit trace log cannot be followed"),
        (&["s.Z"], "cannot be followed"),
        (&["s", "s"], "--follow needs exactly one trace"),
        (&["."], "--follow needs exactly one trace"),
        (&["s", "-o", "out"], "cannot be used with"),
    ] {
        let running = RunningReport::start(directory.path(), &[&["report", "--follow"], args].concat());
        let (lines, err, status) = running.end();
        assert_eq!((lines.len(), status.code()), (0, Some(1)), "{args:?}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}
