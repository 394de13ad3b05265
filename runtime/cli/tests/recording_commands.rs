//! Tests of `trace` and its relatives: messages, exit statuses, the prompt, and the paths of logs.
#![cfg(target_os = "linux")]

use crate::common::{collected, program};
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Directory for one test, with its own shared memory and default logs.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        fs::create_dir(bench.path("home")).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program(name));
        command.args(args).current_dir(self.0.path()).env("HOME", self.path("home")).env_remove("XDG_STATE_HOME");
        command.env("TFBC_TRACE_DIR", self.path("memory")).env("TRCEVGRP_FILE", self.path("groups"));
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Standard output, standard error and exit status of a command.
    fn run(&self, name: &str, args: &[&str]) -> (String, String, i32) {
        wait_for_end(self.command(name, args).spawn().unwrap())
    }

    /// Runs a command that must print nothing.
    fn quiet(&self, name: &str, args: &[&str]) {
        assert_eq!(self.run(name, args), (String::new(), String::new(), 0), "{name} {args:?}");
    }

    /// Runs a command that fails with a one-line message, and returns it.
    fn fails(&self, name: &str, args: &[&str]) -> String {
        let (out, err, status) = self.run(name, args);
        assert_eq!((out.as_str(), status), ("", 1), "{name} {args:?}: {err}");
        assert!(err.starts_with("0454-"), "{name} {args:?}: {err}");
        err.lines().next().unwrap().to_owned()
    }

    /// Runs a command with input.
    fn typed(&self, name: &str, args: &[&str], input: &str) -> (String, String, i32) {
        let mut child = self.command(name, args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        wait_for_end(child)
    }

    fn is_on(&self, channel: usize) -> bool {
        fs::read(self.path("memory/control")).is_ok_and(|page| page.get(channel).is_some_and(|flag| *flag != 0))
    }

    /// Ids of the reported events of a trace.
    fn ids(&self, args: &[&str]) -> Vec<String> {
        let (out, err, status) = self.run("trcrpt", &[&["-h", "-O", "timestamp=3"], args].concat());
        assert_eq!(status, 0, "{err}");
        out.lines().map(|line| line.split_whitespace().next().unwrap_or_default().to_owned()).collect()
    }

    /// Process of the session of channel 0, from the error message about it.
    fn session_process(&self) -> String {
        let message = self.fails("trace", &["-a"]);
        let pid = message.split("process ").nth(1).unwrap();
        pid.chars().take_while(char::is_ascii_digit).collect()
    }
}

impl Drop for Bench {
    /// No session survives its test.
    fn drop(&mut self) {
        for channel in ["-0", "-1"] {
            drop(self.run("trcstop", &[channel]));
        }
    }
}

fn wait_for_end(child: Child) -> (String, String, i32) {
    collected(child.wait_with_output().unwrap())
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap().success());
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "still no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn help_has_examples() {
    let bench = Bench::new();
    for name in ["trace", "trcon", "trcoff", "trcstop", "trcdead", "trcnm", "tracelogger"] {
        for (command, args) in [(name, vec!["--help"]), ("tfbc", vec![name, "--help"])] {
            let (out, _, status) = bench.run(command, &args);
            assert_eq!(status, 0);
            assert!(out.contains("Examples:") && out.contains("Usage:") && out.contains(", as "), "{name}: {out}");
        }
        assert_eq!(bench.run(name, &["--version"]).2, 0);
        let (out, _, status) = bench.run("tfbc", &["man", name]);
        assert!(status == 0 && out.contains(".TH"), "{name}");
    }
}

#[test]
fn a_session_in_the_background() {
    let bench = Bench::new();
    let own = bench.path("home/.local/state/tfbc/trcfile");
    let system = Path::new("/var/adm/ras");
    let none = bench.run("trcrpt", &[]).1;
    assert!(none.contains("/var/adm/ras/trcfile"), "{none}");
    bench.quiet("trace", &["-a", "-d"]);
    assert!(!bench.is_on(0));
    bench.quiet("trcon", &[]);
    assert!(bench.is_on(0));
    bench.quiet("trcoff", &["-0"]);
    assert!(!bench.is_on(0));
    bench.quiet("trcon", &["-0"]);
    let message = bench.fails("trace", &["-a"]);
    assert!(message.starts_with("0454-072 channel 0 is being recorded by process "), "{message}");
    assert!(message.ends_with(": `trcstop` ends that trace"), "{message}");
    bench.quiet("trcstop", &["-s"]);
    assert!(!bench.is_on(0));
    assert!(own.exists() || system.is_dir());
    // The header's events, then on, off and on again. Without a file, trcrpt finds the log.
    let ids = bench.ids(&[]);
    assert_eq!(ids.iter().filter(|id| *id == "001").count(), 2, "{ids:?}");
    assert_eq!(ids.iter().filter(|id| *id == "002").count(), 2, "{ids:?}");
}

#[test]
fn channels_without_a_session() {
    let bench = Bench::new();
    for command in ["trcon", "trcoff", "trcstop"] {
        let message = "0454-076 no trace is active on channel 0: `trace -a` starts one";
        assert_eq!(bench.fails(command, &[]), message);
        let message = "0454-076 no trace is active on channel 3: `trace -a -g` starts one";
        assert_eq!(bench.fails(command, &["-3"]), message);
        assert_eq!(bench.fails(command, &["-8"]), "0454-900 `-8` is not a channel: expected -0 to -7");
        assert_eq!(bench.fails(command, &["x"]), "0454-900 `x` is not a channel: expected -0 to -7");
        assert_eq!(bench.fails(command, &["-12"]), "0454-900 `-12` is not a channel: expected -0 to -7");
    }
    let message = "0454-121 no killed trace of channel 0 is in memory: there is nothing to recover";
    assert_eq!(bench.fails("trcdead", &[]), message);
    assert!(bench.fails("trcdead", &["/dump"]).starts_with("0454-900 `/dump` is not a channel"));
}

#[test]
fn generic_channels_are_seven() {
    let bench = Bench::new();
    for channel in 1..=7 {
        bench.quiet("trace", &["-ag", "-o", &format!("{channel}.trc")]);
        assert!(bench.is_on(channel));
    }
    let message = bench.fails("trace", &["-ag"]);
    assert!(message.starts_with("0454-072 each of the channels 1 to 7 is being recorded"), "{message}");
    bench.quiet("trcoff", &["-5"]);
    assert!(!bench.is_on(5) && bench.is_on(6));
    for channel in 1..=7 {
        bench.quiet("trcstop", &["-d", &format!("-{channel}")]);
        assert!(!bench.is_on(channel) && bench.path(&format!("{channel}.trc")).exists());
    }
}

#[test]
fn flags_of_trace_that_are_refused() {
    let bench = Bench::new();
    for (args, expected) in [
        (&["-j", "010,xyz"][..], "0454-013 `xyz` at position 5 of `010,xyz` is not a hook id"),
        (&["-J", "nogroup"], "0454-111 event group `nogroup` does not exist"),
        (&["-a", "-L", "100000", "-T", "90000"], "0454-040 a log of 100000 bytes (-L) has no room for two buffers"),
        (&["-a", "-f", "-L", "8192", "-T", "90000"], "0454-041 a log of 8192 bytes (-L) has no room for its buffer"),
        (&["-a", "-T", "100"], "0454-900 -T: a buffer has 8192 to 268435184 bytes, found 100"),
        (&["-C", "all", "-o", "-"], "0454-009 -C and -o - cannot be combined"),
        (&["-C", "5000"], "0454-900 -C: there is no CPU 5000: the last one is "),
        (&["-C", "two"], "0454-900 -C: `two` is not the number of a CPU"),
        (&["-M"], "0454-901 flag -M is refused: "),
        (&["-@", "wpar"], "0454-901 flag -@ is refused: "),
        (&["-A", "4194305"], "0454-900 -A: there is no process 4194305"),
        (&["-t", "1,x"], "0454-900 -t: `x` is not the number of a thread"),
        (&["-A", "1", "-P", "x"], "0454-900 -P: expected n (none), t (threads) or p (processes), found `x`"),
        (&["-P", "p"], "0454-900 -P needs -A or -t"),
        (&["-a", "-g", "-A", "1"], "0454-900 -A and -t cannot be used with -g"),
        (&["-g"], "0454-900 -g needs -a"),
        (&["-f", "-l"], "0454-900 -f and -l cannot be combined"),
        (&["-S", "-a"], "0454-900 the argument '-S' cannot be used"),
        (&["--bits", "16"], "0454-900 --bits: expected 32 or 64"),
        (&["-x", "true", "-X", "true"], "0454-900 the argument '-x <COMMAND>' cannot be used"),
        (&["-x", "true", "-o", "-"], "0454-900 -o - and -x cannot be combined"),
        (&["-q"], "0454-900 unexpected argument '-q'"),
        (&["my.trc"], "0454-900 unexpected argument 'my.trc'"),
        (&["-a", "-o", "/no/such/directory/log"], "0454-903 cannot write /no/such/directory/log: No such file"),
    ] {
        let message = bench.fails("trace", args);
        assert!(message.starts_with(expected), "{args:?}: {message}");
    }
    fs::write(bench.path("groups"), "SWservAt:\n\tattribute = \"void_trcgrp\"\n\tvalue = \"\"\n").unwrap();
    assert!(bench.fails("trace", &["-a", "-K", "void"]).starts_with("0454-078 "));
    assert!(!bench.path("home/.local").exists());
}

#[test]
fn flags_of_trace_that_are_left_out() {
    let bench = Bench::new();
    for (args, expected) in [
        (&["-b"][..], "0454-008 -b is ignored: "),
        (&["-p", "--bits", "32"], "0454-017 -p is ignored: "),
        (&["-n", "-h"], "0454-043 -n is ignored: "),
        (&["-r", "PURR"], "0454-047 -r PURR is ignored: "),
    ] {
        let (out, err, status) = bench.run("trace", &[&["-x", "true", "-o", "my.trc"], args].concat());
        assert_eq!((out.as_str(), status), ("", 0), "{err}");
        assert!(err.starts_with(expected) && err.lines().count() == 1, "{err}");
        bench.quiet("trace", &[&["--quiet", "-x", "true", "-o", "my.trc"], args].concat());
    }
    let sizes = "64-bit trace: a buffer has 262144 bytes (-T), the log 2621440 bytes (-L)\n\
                 32-bit trace: a buffer has 131072 bytes (-T), the log 1310720 bytes (-L)\n";
    assert_eq!(bench.run("trace", &["-S"]), (sizes.to_owned(), String::new(), 0));
}

#[test]
fn the_prompt() {
    let bench = Bench::new();
    let input = "trcoff\n!echo from the shell\n\n?\ntrcno\ntrcon\nquit\nnot read\n";
    let (out, err, status) = bench.typed("trace", &["-o", "my.trc", "-m", "words"], input);
    assert_eq!(status, 0);
    let shown = out.replace("-> ", "");
    assert!(shown.starts_with("from the shell\ntrcon     begin the collection\ntrcoff "), "{out}");
    assert_eq!(out.matches("-> ").count(), 7, "{out}");
    assert_eq!(err, "0454-900 `trcno` is not a command: `?` lists all commands; did you mean `trcon`?\n");
    let ids = bench.ids(&["-d", "001,002", "my.trc"]);
    assert_eq!(ids, ["001", "002", "001", "002"]);
    // The end of the input also ends the trace.
    assert_eq!(bench.typed("trace", &["-o", "my.trc"], ""), ("-> \n".into(), String::new(), 0));
    assert_eq!(bench.ids(&["-d", "001,002", "my.trc"]), ["001", "002"]);
}

#[test]
fn an_interactive_session_is_ended_where_it_began() {
    let bench = Bench::new();
    for name in ["INT", "TERM"] {
        let child = bench.command("trace", &["-o", "my.trc"]).stdin(Stdio::piped()).spawn().unwrap();
        wait_until("trace", || bench.is_on(0));
        let message = bench.fails("trcstop", &[]);
        let expected =
            format!("0454-070 the trace of channel 0 is interactive: type q at the prompt of process {}", child.id());
        assert_eq!(message, expected);
        bench.quiet("trcoff", &[]);
        signal(name, &child.id().to_string());
        assert_eq!(wait_for_end(child).2, 0);
        assert_eq!(bench.ids(&["-d", "001,002", "my.trc"]), ["001", "002"]);
    }
}

#[test]
fn program_is_traced_from_start_to_end() {
    let bench = Bench::new();
    bench.quiet("trace", &["-x", "test \"$0\" = sh", "-o", "my.trc"]);
    assert_eq!(bench.ids(&["-d", "001,002", "my.trc"]), ["001", "002"]);
    bench.quiet("trace", &["-c", "-x", "true", "-o", "my.trc"]);
    assert!(bench.path("my.trc.old").exists());
    let message = bench.fails("trace", &["-x", "exit 3", "-o", "my.trc"]);
    assert_eq!(message, "0454-905 `exit 3` failed with exit status 3");
    assert!(!bench.is_on(0));
    let (_, err, status) = bench.run("trace", &["-X", "true", "-o", "my.trc"]);
    assert_eq!(status, 0);
    assert_eq!(err, "channel 0 is still being recorded: `trcstop` ends the trace\n");
    assert!(bench.is_on(0));
    bench.quiet("trcstop", &[]);
}

#[test]
fn what_a_killed_session_left_is_recovered() {
    let bench = Bench::new();
    bench.quiet("trace", &["-a", "-o", "my.trc"]);
    let living = bench.fails("trcdead", &[]);
    assert!(living.starts_with("0454-072 "), "{living}");
    signal("KILL", &bench.session_process());
    let killed = "0454-076 the trace of channel 0 was killed: `trcdead` recovers its events";
    wait_until("death", || bench.run("trcon", &[]).1 == format!("{killed}\n"));
    assert_eq!(bench.fails("trcstop", &[]), killed);
    let before = fs::read(bench.path("my.trc")).unwrap();
    std::os::unix::fs::symlink(bench.path("memory/0.1"), bench.path("link")).unwrap();
    for output in ["memory/0.1", "link", "my.trc", "./my.trc"] {
        let message = bench.fails("trcdead", &["-c", "-o", output]);
        assert!(message.starts_with(&format!("0454-903 cannot write {output}: this command also reads")), "{message}");
    }
    assert!(fs::read(bench.path("my.trc")).unwrap() == before);
    fs::write(bench.path("my.trc.dead"), "old").unwrap();
    let (out, err, status) = bench.run("trcdead", &["-c"]);
    assert_eq!((out.as_str(), status), ("", 0), "{err}");
    assert!(err.starts_with("0 events recovered to ") && err.ends_with("my.trc.dead\n"), "{err}");
    assert_eq!(fs::read(bench.path("my.trc.dead.old")).unwrap(), b"old");
    assert!(!bench.ids(&["my.trc.dead"]).is_empty());
    assert!(bench.fails("trcdead", &[]).starts_with("0454-121 "));
    bench.quiet("trace", &["-a", "-o", "my.trc"]);
    bench.quiet("trcstop", &[]);
}

/// Overwrites the header of the first session of channel 0, like a faulty program.
fn overwrite_header(bench: &Bench, byte: u8) {
    let memory = fs::File::options().write(true).open(bench.path("memory/0.1")).unwrap();
    memory.write_all_at(&[byte; 4096], 0).unwrap();
}

#[test]
fn session_with_overwritten_header_ends_by_force() {
    for byte in [0, 0x5A, 0xFF] {
        let bench = Bench::new();
        bench.quiet("trace", &["-a", "-o", "my.trc"]);
        let session_process = bench.session_process();
        overwrite_header(&bench, byte);
        let told = "0454-072 the header of the shared memory of channel 0's trace was overwritten: `trcstop --force` ends that \
                    trace, and says what is lost";
        for (command, args) in [("trcstop", &[][..]), ("trcon", &[]), ("trace", &["-a"]), ("trcdead", &[])] {
            assert_eq!(bench.fails(command, args), told, "{command}, {byte:x}");
        }
        let (out, err, status) = bench.run("trcstop", &["--force"]);
        let log = fs::canonicalize(bench.path("my.trc")).unwrap();
        let said = format!(
            "0454-905 the header of the shared memory of channel 0's trace was overwritten: process {session_process} has ended; {} is \
             complete, except for threads that began to record afterwards; how many events were missed is not known\n",
            log.display()
        );
        assert_eq!((out.as_str(), err.as_str(), status), ("", said.as_str(), 2));
        assert!(!bench.is_on(0) && !bench.path("memory/0.1").exists());
        assert_eq!(bench.ids(&["my.trc"]), ["001", "002"]);
        assert!(bench.fails("trcstop", &["--force"]).starts_with("0454-076 "));
        bench.quiet("trace", &["-a", "-o", "next.trc"]);
        bench.quiet("trcstop", &["--force"]);
        assert_eq!(bench.ids(&["next.trc"]), ["001", "002"]);
    }
}

#[test]
fn stopped_session_with_overwritten_header_completes_its_log() {
    let bench = Bench::new();
    bench.quiet("trace", &["-a", "-o", "my.trc"]);
    signal("STOP", &bench.session_process());
    overwrite_header(&bench, 0);
    let (_, err, status) = bench.run("trcstop", &["--force"]);
    assert!(status == 2 && err.contains("has ended; "), "{err}");
    assert_eq!(bench.ids(&["my.trc"]), ["001", "002"]);
}

#[test]
fn killed_session_with_overwritten_header_ends_by_force() {
    let bench = Bench::new();
    bench.quiet("trace", &["-a", "-o", "my.trc"]);
    let session_process = bench.session_process();
    signal("KILL", &session_process);
    wait_until("death", || bench.run("trcon", &[]).1.starts_with("0454-076 "));
    overwrite_header(&bench, 0);
    assert!(bench.fails("trcdead", &[]).contains("was overwritten"));
    let (_, err, status) = bench.run("trcstop", &["--force"]);
    assert_eq!(status, 2);
    assert!(err.contains("its process was killed before; events that were not in its log yet are lost"), "{err}");
    assert!(!bench.path("memory/0.1").exists());
    // A new trace can be started.
    bench.quiet("trace", &["-a", "-o", "next.trc"]);
    bench.quiet("trcstop", &[]);
}

#[test]
fn log_does_not_overwrite_the_event_groups() {
    let bench = Bench::new();
    bench.quiet("trcevgrp", &["-a", "-d", "disks", "-h", "010", "io"]);
    let before = fs::read(bench.path("groups")).unwrap();
    fs::hard_link(bench.path("groups"), bench.path("link")).unwrap();
    for (flag, output) in [("-J", "groups"), ("-K", "link")] {
        let message = bench.fails("trace", &["-a", flag, "io", "-o", output]);
        assert!(message.starts_with(&format!("0454-903 cannot write {output}: this command also reads")), "{message}");
        assert!(fs::read(bench.path(output)).unwrap() == before);
    }
}

#[test]
fn names_and_addresses() {
    let bench = Bench::new();
    let own = program("trcnm").display().to_string();
    let (out, err, status) = bench.run("trcnm", &[&own]);
    assert_eq!((err.as_str(), status), ("", 0));
    let names = tfbc::aix::AddressNames::parse(out.as_bytes()).unwrap();
    let main = out.lines().find(|line| line.starts_with("main ")).unwrap();
    let address = u64::from_str_radix(main.split(' ').nth(1).unwrap(), 16).unwrap();
    assert_eq!(names.get(address), Some(&b"main"[..]));
    let addresses: Vec<_> = out.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert!(addresses.is_sorted());
    assert_eq!(bench.run("trcnm", &[&own, "-K", "main"]).0, format!("{main}\n"));
    // A program has no loader symbols, a library has.
    let message = bench.fails("trcnm", &["-a", &own]);
    assert!(message.ends_with("the loader has no symbols for it"), "{message}");
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.lines().find_map(|line| line.contains("/libc.so").then(|| line.split_whitespace().last().unwrap()));
    let (loader, _, _) = bench.run("trcnm", &["-a", libc.unwrap()]);
    assert!(loader.lines().any(|line| line.starts_with("malloc ")), "{loader}");
    fs::write(bench.path("text"), "no symbols").unwrap();
    for (args, expected) in [
        (&["text"][..], "0454-902 cannot read text: it is not an ELF file"),
        (&["missing"], "0454-902 cannot read missing: No such file"),
        (&["-a", &own, "text"], "0454-900 "),
        (&[&own, "-K", "no_such_name"], "0454-900 -K: there is no `no_such_name` in "),
    ] {
        assert!(bench.fails("trcnm", args).starts_with(expected), "{args:?}");
    }
    // An ELF file that is cut at any position is refused or listed.
    let bytes = fs::read("/bin/true").unwrap();
    for len in [0, 4, 16, 63, 64, 200, bytes.len() / 2, bytes.len() - 1] {
        fs::write(bench.path("cut"), &bytes[..len]).unwrap();
        assert!(bench.run("trcnm", &["cut"]).2 <= 1);
    }
}

#[test]
fn a_log_of_qnx() {
    let bench = Bench::new();
    let (out, err, status) = bench.run("tracelogger", &["-s", "1", "-A", "TARGET=b7", "-w"]);
    assert_eq!((out.as_str(), err.as_str(), status), ("", "0 events\n", 0));
    // traceprinter finds it without -f.
    let (out, _, status) = bench.run("traceprinter", &[]);
    assert_eq!(status, 0);
    assert!(
        out.contains("TRACE_TARGET:: b7\n") && out.contains("TRACE_TRACELOGGER_ARGS:: tracelogger -s 1 -A "),
        "{out}"
    );
    let child = bench.command("tracelogger", &["-n", "0", "-r", "-f", "ring.kev"]).spawn().unwrap();
    wait_until("trace", || bench.is_on(8));
    let (_, err, status) = bench.run("tracelogger", &[]);
    assert_eq!((err, status), (format!("error: a trace is already running: `kill -INT {0}` ends it\n", child.id()), 1));
    signal("INT", &child.id().to_string());
    assert_eq!(wait_for_end(child), (String::new(), "0 events\n".into(), 0));
    for (args, expected) in [
        (&["-A", "novalue"][..], "error: -A: expected KEY=VALUE with a key of A-Z, 0-9 and _, found `novalue`\n"),
        (&["-A", "low=1"], "error: -A: expected KEY=VALUE with a key of A-Z, 0-9 and _, found `low=1`\n"),
        (&["-F", "8"], "error: invalid value '8' for '-F <CLASS>': expected 0 to 7 or one of EMPTY, CONTROL, KER_CALL"),
        (&["-f", "/no/such/x.kev"], "error: cannot write /no/such/x.kev: No such file"),
    ] {
        let (_, err, status) = bench.run("tracelogger", args);
        assert!(status == 1 && err.starts_with(expected), "{args:?}: {err}");
    }
}

#[test]
fn tracelogger_says_which_flags_have_no_effect() {
    let bench = Bench::new();
    let notes = |args: &[&str]| {
        let (_, err, status) = bench.run("tracelogger", args);
        assert_eq!(status, 0, "{args:?}: {err}");
        let noted = err.lines().filter_map(|line| line.strip_prefix("tracelogger: note: "));
        noted.map(|line| line.split_once(" has no effect here: ").unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    // In command-line order; a repeated flag has one note.
    let given = ["-s", "0.1", "-P", "-aE", "-D1", "-d1", "-b8", "-k64", "-R", "-k", "3", "-M", "-S", "8k", "-p0x1000"];
    assert_eq!(notes(&given), ["-P", "-a", "-E", "-D", "-d1", "-b", "-R", "-k", "-M", "-p"]);
    // With -r, -k has an effect.
    assert_eq!(notes(&["-rk3", "-s.1"]), Vec::<String>::new());
    let (_, err, _) = bench.run("tracelogger", &["-s", "0.1", "-E", "--quiet"]);
    assert_eq!(err, "");
}

#[test]
fn attributes_that_a_reader_would_split_are_left_out() {
    let bench = Bench::new();
    let added = ["-A", "A=1", "-A", "B=x::y", "-A", "C=TRACE_D", "-A", "E=f=g", "-A", "H=2"];
    let (_, err, status) = bench.run("tracelogger", &[&["-s", "0.1", "-f", "a.kev"], &added[..]].concat());
    assert_eq!(status, 0, "{err}");
    for left_out in ["B=x::y", "C=TRACE_D", "E=f=g"] {
        assert!(err.contains(&format!("-A: `{left_out}` is left out")), "{err}");
    }
    let log = fs::read(bench.path("a.kev")).unwrap();
    let text = String::from_utf8_lossy(&log).into_owned();
    assert!(text.contains("TRACE_A::1TRACE_H::2TRACE_TRACELOGGER_ARGS::"), "{text}");
}

#[test]
fn tracelogger_describes_its_log() {
    let bench = Bench::new();
    for (args, expected) in [
        (&["-s", "0.1"][..], "any number of buffers, 0.1 seconds, fast mode"),
        (&["-s", "0.1", "-n", "3", "-n5", "-w"], "5 buffers, 0.1 seconds, wide mode"),
        (&["-s", "0.1", "-r"], "the newest 32 buffers, 0.1 seconds, fast mode"),
        (&["-s", "0.1", "-r", "-n", "4"], "the newest 4 buffers, 0.1 seconds, fast mode"),
        (&["-s", "0.1", "-r", "-n", "4", "-k2"], "the newest 2 buffers, 0.1 seconds, fast mode"),
        (&["-s", "0.1", "-c", "-S", "2k"], "any number of buffers, 0.1 seconds, at most 2048 bytes, fast mode"),
        (&["-s", "0.1", "-c", "-n", "7"], "7 buffers, 0.1 seconds, fast mode"),
        (&["-s", "0.1", "-n", "7", "-c"], "any number of buffers, 0.1 seconds, fast mode"),
        (&["-s", "0.1", "-S3M"], "any number of buffers, 0.1 seconds, at most 3145728 bytes, fast mode"),
    ] {
        let (_, err, status) = bench.run("tracelogger", &[args, &["-v", "-f", "a.kev"]].concat());
        let line = format!("tracelogger: logging to a.kev: {expected}\n");
        assert!(status == 0 && err.starts_with(&line), "{args:?}: {err}");
    }
}

#[test]
fn streams_go_to_standard_output() {
    let bench = Bench::new();
    // There is no prompt, so the trace ends with a signal.
    let child = bench.command("trace", &["-c", "-o", "-"]).spawn().unwrap();
    wait_until("trace", || bench.is_on(0));
    signal("INT", &child.id().to_string());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "0454-042 -c is ignored: with -o - there is no log to keep\n");
    assert_eq!(output.stdout[..4], [0xEF, 0xDF, 0x11, 0x14]);
    fs::write(bench.path("my.stream"), output.stdout).unwrap();
    assert_eq!(bench.ids(&["-d", "001,002", "my.stream"]), ["001", "002"]);
}
