//! Tests of C programs with `librts`: examples and small programs are compiled as users do, and their traces are
//! formatted.
#![cfg(target_os = "linux")]

use crate::common::{collected, program, root};
use crate::librts::{PREFIX, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Ways to link librts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// `-l rts`, with a position-independent program.
    Shared,
    /// `-l rts`, with a program at fixed addresses.
    Fixed,
    /// `librts.a`.
    Static,
}

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

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// One of our commands, or a program in the directory.
    fn command(&self, name: &str) -> Command {
        let own = self.path(name);
        let mut command = Command::new(if own.exists() { own } else { program(name) });
        let path = format!("{}:{}", program("trace").parent().unwrap().display(), std::env::var("PATH").unwrap());
        command.current_dir(self.0.path()).env("PATH", path).env("HOME", self.path("home"));
        command.env("TFBC_TRACE_DIR", self.path("memory")).env("LD_LIBRARY_PATH", PREFIX.path().join("lib"));
        command.env_remove("XDG_STATE_HOME").env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    fn run(&self, name: &str, args: &[&str]) -> String {
        succeed(self.command(name).args(args))
    }

    /// Error message and status of a command that fails.
    fn fails(&self, name: &str, args: &[&str]) -> (String, i32) {
        let (_, err, status) = collected(self.command(name).args(args).output().unwrap());
        (err, status)
    }

    /// Compiles a program as users do, with pkg-config if it is installed.
    fn compile(&self, source: &Path, name: &str, link: Link) {
        let prefix = PREFIX.path();
        let mut cc = Command::new("cc");
        cc.args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-pthread", "-o"]).arg(self.path(name)).arg(source);
        cc.arg("-I").arg(prefix.join("include"));
        match link {
            Link::Shared => cc.arg("-L").arg(prefix.join("lib")).args(["-l", "rts"]),
            Link::Fixed => cc.arg("-no-pie").arg("-L").arg(prefix.join("lib")).args(["-l", "rts"]),
            Link::Static => cc.arg(prefix.join("lib/librts.a")),
        };
        succeed(&mut cc);
    }

    fn example(&self, name: &str) -> PathBuf {
        root().join("examples/c").join(name)
    }

    /// Compiles and runs a program with these statements; returns its output.
    fn program(&self, statements: &str, link: Link) -> String {
        let text = format!(
            "#include <errno.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
             #include <unistd.h>\n#include <sys/wait.h>\n#include <sys/trace.h>\n#include <sys/trcctl.h>\n\
             #include <sys/trchkid.h>\n#include <sys/trcmacros.h>\nint main(void) {{\n{statements}\nreturn 0;\n}}\n"
        );
        self.compile(&self.write("program.c", &text), "program", link);
        self.run("program", &[])
    }

    /// Ids and texts of a trace's report.
    fn report(&self, formats: &str, args: &[&str]) -> Vec<String> {
        let formats = self.write("formats.trcfmt", formats);
        let mut command = self.command("tfbc");
        command.args([
            "report",
            "--no-heading",
            "--columns",
            "id,text",
            "--only",
            "01,02,03,04,05,06,07,08,09,0A,0B,0C,0D,0E,0F,F5F1",
        ]);
        command.arg("-t").arg(formats).args(args);
        succeed(&mut command).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }
}

/// Numbers after each occurrence of `before`.
fn numbers(text: &str, before: &str) -> Vec<u64> {
    let number = |rest: &str| {
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    text.split(before).skip(1).map(number).collect()
}

/// Waits until another process has done something.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "still no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_five_steps_of_the_manual() {
    for link in [Link::Shared, Link::Fixed, Link::Static] {
        let bench = Bench::new();
        bench.compile(&bench.example("sample.c"), "sample", link);
        let said = bench.run("sample", &[]);
        assert_eq!(said, "configuring trace collection\nturning trace on\nturning trace off\n", "{link:?}");
        fs::copy(bench.example("sample.trcfmt"), bench.path("mytrcfmt")).unwrap();
        bench.run("trcrpt", &["-d", "010", "-t", "mytrcfmt", "-O", "exec=on", "-o", "sample.rpt"]);
        let report = fs::read_to_string(bench.path("sample.rpt")).unwrap();
        assert!(report.contains("ELAPSED"), "{report}");
        assert_eq!(numbers(&report, "The # of loop iterations ="), (1..=10).collect::<Vec<_>>(), "{link:?}\n{report}");
        let lines: Vec<_> = report.lines().filter(|line| line.contains("USER EVENT - HKWD_USER1")).collect();
        assert_eq!(lines.len(), 10);
        assert!(lines.iter().all(|line| line.starts_with("010 sample")), "{report}");
        // The first round follows no other.
        let rounds: Vec<_> =
            report.lines().filter(|line| line.contains("The elapsed time of the last loop =")).collect();
        assert_eq!(rounds.len(), 10);
        assert_eq!(
            rounds.iter().map(|line| line.contains(" usec]")).collect::<Vec<_>>()[..2],
            [false, true],
            "{report}"
        );
    }
}

#[test]
fn threads_and_channels() {
    let bench = Bench::new();
    bench.compile(&bench.example("threads.c"), "threads", Link::Shared);
    let formats = fs::read_to_string(bench.example("threads.trcfmt")).unwrap();
    bench.run("trace", &["-a", "-o", "work.trc", "-L", "4000000"]);
    bench.run("trace", &["-a", "-g", "-o", "names.trc"]);
    bench.run("threads", &["1"]);
    bench.run("trcstop", &["-1"]);
    bench.run("trcstop", &[]);
    let report = bench.report(&formats, &["work.trc"]);
    for what in ["begins", "ends"] {
        let pieces = report.iter().filter(|line| line.contains(what)).flat_map(|line| numbers(line, "piece="));
        let mut pieces: Vec<_> = pieces.collect();
        pieces.sort_unstable();
        assert_eq!(pieces, (0..1000).collect::<Vec<_>>(), "{what}");
    }
    assert!(report.iter().filter(|line| line.contains("ends")).all(|line| line.ends_with(']')));
    let mut names = bench.report(&formats, &["names.trc"]);
    names.retain(|line| line.starts_with("030"));
    names.sort();
    let expected = (0..4).map(|n| format!("030 WORKER number={n} name=worker {n}"));
    assert_eq!(names, expected.collect::<Vec<_>>());
}

/// Runs `tracelogger` during a test, until it is interrupted.
fn logger(bench: &Bench, args: &[&str]) -> Child {
    let mut command = bench.command("tracelogger");
    let child = command.args(["-n", "0"]).args(args).stderr(Stdio::piped()).spawn().unwrap();
    let control = bench.path("memory/control");
    wait_until("trace", || fs::read(&control).is_ok_and(|page| page.len() > 8 && page[8] != 0));
    child
}

fn interrupt(child: Child) -> String {
    succeed(Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]));
    let (out, err, status) = collected(child.wait_with_output().unwrap());
    assert_eq!(status, 0, "{out}{err}");
    err
}

#[test]
fn user_events_of_qnx() {
    for (link, order) in [(Link::Shared, &[][..]), (Link::Static, &["--big-endian"])] {
        let bench = Bench::new();
        bench.compile(&bench.example("qnx.c"), "qnx", link);
        let file = [&["-f", "my.kev", "-A", "TARGET=board 7"], order].concat();
        let running = logger(&bench, &file);
        bench.run("qnx", &[]);
        assert_eq!(interrupt(running), "7 events\n");
        let definitions = bench.example("qnx.xml").display().to_string();
        let printed = bench.run("traceprinter", &["-t", &definitions, "-p", "%Z %z", "-f", "my.kev"]);
        assert!(printed.contains("TRACE_TARGET:: board 7"), "{printed}");
        let lines: Vec<_> = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let events = lines.iter().filter(|line| line.starts_with("USREVENT")).map(String::as_str).collect::<Vec<_>>();
        let expected = [
            "USREVENT EVENT:65 sensor:0 degrees:20",
            "USREVENT EVENT:65 sensor:1 degrees:21",
            "USREVENT EVENT:65 sensor:2 degrees:22",
            "USREVENT EVENT:66 message:sensor 2 of 3 failed",
            "USREVENT EVENT:66 message:short o",
            "USREVENT EVENT:67 x:3 y:4 height:12",
        ];
        assert_eq!(events, expected);
        assert!(lines.iter().any(|line| line.starts_with("SYSTEM ADDRESS addr:0x")), "{printed}");
    }
}

#[test]
fn hooks_have_the_width_of_their_arguments() {
    let statements = "\
        int i = 7; long l = 8; char *p = \"x\"; if (trcstart(\"-o out.trc\") != 0) return 1;
        TRCHKL0T(HKWD_USER1 | 1); TRCHKL1T(HKWD_USER1 | 2, i); TRCHKL1T(HKWD_USER1 | 3, l); TRCHKL2T(HKWD_USER1 | 4, i, 2);
        TRCHKL2T(HKWD_USER1 | 5, i, l); TRCHKL5T(HKWD_USER1 | 6, i, 2, 3, 4, 5); TRCHKL5(HKWD_USER1 | 7, 1, 2, 3, 4, l);
        TRCHKL1T(HKWD_USER1 | 8, \"abc\"); TRCHKL3T(HKWD_USER1 | 9, p, 1, 2); TRCHK64L1T(HKWD_USER1 | 10, i); TRCHK(HKWD_USER1 | 11);
        TRCHKLT(HKWD_USER1 | 12, -1); TRCHKGT(HKWD_USER1 | 13, 1L, 2, 3, 4, 5); TRCHK64L2(HKWD_USER1 | 14, 1, 1L << 40);
        utrchook64(0x8000002001000000 | 15, 1, 2, 3, 4, 5); utrchook(0x010e0000 | 16, 1, 2, 3, 4, 5);
        trchook64(0xffffffff01000000 | 17, 1, 2, 3, 4, 5); trchook(0x01090000 | 18, 1, 2, 3, 4, 5);
        TRCHKL1T(0xf5f10000, 1);
        return trcstop(0);";
    let bench = Bench::new();
    assert_eq!(bench.program(statements, Link::Shared), "");
    let formats = "010 1.0 L=APPL \"\" $HOOKENV \"/\" $HL%D4\n";
    let report = bench.report(formats, &["out.trc"]);
    let shapes: Vec<_> = report.iter().filter_map(|line| line.strip_prefix("010 ")).collect();
    // The hook's width, and the bytes of its words.
    let expected = [
        "32 /0", "32 /4", "64 /8", "32 /20", "64 /16", "32 /20", "64 /40", "64 /8", "64 /24", "64 /8", "32 /0",
        "32 /4", "64 /40", "64 /16", "64 /32", "32 /20", "64 /40", "32 /0",
    ];
    assert_eq!(shapes, expected);
    // A four-digit id needs a 64-bit hook.
    assert_eq!(bench.report("F5F1 1.0 L=APPL \"\" $HOOKENV\n", &["out.trc"]).pop().unwrap(), "F5F1 64");
}

#[test]
fn generic_events_of_any_length() {
    let statements = "\
        static char big[5000]; memset(big, 'x', sizeof big); if (trcstart(\"-L 1000000 -o out.trc\") != 0) return 1;
        TRCGENT(0, HKWD_USER2, 1, 5, \"hello\"); TRCGEN(0, HKWD_USER2, 2, 0, NULL); TRCGENT(0, HKWD_USER2, 3, 4, NULL);
        TRCGENT(0, HKWD_USER2, 4, 4096, big); TRCGENT(0, HKWD_USER2, 5, 5000, big); TRCGENT(0, HKWD_USER2, 6, -1, big);
        TRCGENK(0, HKWD_USER2, 7, 1, \"k\"); TRCGENKT(0, HKWD_USER2, 8, 1, \"k\");
        TRCGENT(1, HKWD_USER2, 9, 1, \"off\"); TRCGENT(-1, HKWD_USER2, 10, 1, \"?\"); trcgent(8, HKWD_USER2, 11, 1, \"?\");
        trcgent(99, HKWD_USER2, 12, 1, \"?\"); trcgent(-9, HKWD_USER2, 13, 1, \"?\"); TRCGENT(64, HKWD_USER2, 14, 1, \"?\");
        return trcstop(0);";
    let bench = Bench::new();
    bench.program(statements, Link::Shared);
    let report = bench.report("020 1.0 L=APPL \"\" UW \"bytes \" $HL%D4\n", &["out.trc"]);
    let events: Vec<_> = report.iter().filter(|line| line.starts_with("020")).map(String::as_str).collect();
    let expected = [
        "020 1 bytes 5",
        "020 2 bytes 0",
        "020 3 bytes 0",
        "020 4 bytes 4096",
        "020 5 bytes 4096",
        "020 6 bytes 0",
        "020 7 bytes 1",
        "020 8 bytes 1",
    ];
    assert_eq!(events, expected);
}

#[test]
fn control_and_questions_of_a_program() {
    let statements = "\
        unsigned char set[512] = {0}; set[2] = 1;
        int result;
#define SHOW(call) errno = 0; result = (call); printf(\"%d %s\\n\", result, errno ? strerror(errno) : \"\")
        SHOW(trcon(0)); SHOW(trcoff(3)); SHOW(trcstop(0)); SHOW(trcstop(-1)); SHOW(trcon(8));
        SHOW(trcstart(\"-j xyz\")); SHOW(trcstart(\"-o /no/such/directory/x\")); SHOW(trcstart(\"-x ls\")); SHOW(trcstart(\"\\xff\"));
        SHOW(trcstart(NULL)); SHOW(trcstart(\"-a\")); SHOW(TRC_ISON(0)); SHOW(trcoff(0)); SHOW(TRC_ISON(0));
        SHOW(trcstop(0 | TRCSTOP_WAIT)); SHOW(trcstart(\"-adg -j 010 -o 1.trc\")); SHOW(TRC_ISON(1)); SHOW(trc_ishookon(1, HKWD_USER1));
        SHOW(trcon(1)); SHOW(trc_ishookon(1, HKWD_USER1)); SHOW(trc_ishookon(1, HKWD_USER2)); SHOW(trc_ishookon(1, HKWD_TRACE_UTIL));
        SHOW(trc_ishookset(1, set, 512)); SHOW(trc_ishookset(1, set, 2)); SHOW(trc_ishookset(1, NULL, 9)); SHOW(trc_ishookon(-1, 0));
        SHOW(trcstop(1 | TRCSTOP_DISCARD)); SHOW(TRC_ISON(1));";
    for link in [Link::Shared, Link::Static] {
        let bench = Bench::new();
        let said = bench.program(statements, link);
        let no_session = "-1 No such device or address";
        let wrong = "-1 Invalid argument";
        let expected = [
            no_session,
            no_session,
            no_session,
            wrong,
            wrong,
            wrong,
            "-1 No such file or directory",
            wrong,
            wrong,
            "0 ",
            "-1 Device or resource busy",
            "1 ",
            "0 ",
            "0 ",
            "0 ",
            "1 ",
            "0 ",
            "0 ",
            "0 ",
            "1 ",
            "0 ",
            "1 ",
            "1 ",
            "0 ",
            "0 ",
            "0 ",
            "0 ",
            "0 ",
        ];
        assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{link:?}");
        assert!(bench.path("home/.local/state/tfbc/trcfile").exists());
    }
}

#[test]
fn what_is_wrong_with_options_is_said() {
    let bench = Bench::new();
    bench.compile(
        &bench.write("program.c", "#include <sys/trcctl.h>\nint main(void) { return trcstart(\"-a -M\") != -1; }\n"),
        "program",
        Link::Shared,
    );
    let (said, status) = bench.fails("program", &[]);
    assert_eq!(status, 0);
    assert!(said.starts_with("0454-901 flag -M is refused: "), "{said}");
}

#[test]
fn functions_are_named_where_the_log_knows_them() {
    const PROGRAM: &str = "\
        #include <sys/trcctl.h>\n#include <sys/trchkid.h>\n#include <sys/trcmacros.h>\n
        void traced_function(void) {
            TRCHK64L1T(0x10100000, (long)traced_function); TRCHK64L1T(HKWD_USER1, 1);
        }
        int main(void) { traced_function(); return trcstop(0); }\n";
    let bench = Bench::new();
    for link in [Link::Shared, Link::Fixed] {
        bench.compile(&bench.write("program.c", PROGRAM), "program", link);
        for has_names in [true, false] {
            let names: &[&str] = if has_names { &["-n"] } else { &[] };
            bench.run("trace", &[names, &["-a", "-o", "my.trc"]].concat());
            // The session reads the names while the program runs.
            bench.run("program", &[]);
            let text = bench.run("trcrpt", &["-h", "-O", "svc=on,timestamp=3", "-d", "010", "my.trc"]);
            assert_eq!(text.contains("traced_function"), has_names, "{link:?}: {text}");
        }
    }
}

#[test]
fn functions_of_qnx_refuse_unknown_ones() {
    let statements = "\
        static char big[5000]; printf(\"%d %d\\n\", trace_logi(1, 2, 3), trace_logf(1, \"x\"));
        printf(\"%d\\n\", trace_logi(1024, 0, 0) == EINVAL); printf(\"%d\\n\", trace_logi(-1, 0, 0) == EINVAL);
        printf(\"%d\\n\", trace_logbc(_NTO_TRACE_USERC + 1, 0, big, 1) == EINVAL);
        if (system(\"tracelogger -s 1 -f my.kev 2>log &\")) return 1;
        while (!TRC_ISON(8)) usleep(1000);
        printf(\"%d \", trace_logf(1, \"%s\", \"abc\")); printf(\"%d \", trace_nlogf(1, 3, \"%s\", \"abc\"));
        memset(big, 'x', 4999); printf(\"%d \", trace_logf(2, \"%s\", big)); printf(\"%d \", trace_logf(1024, \"x\") == -1 && errno == EINVAL);
        printf(\"%d \", trace_nlogf(1, -1, \"x\")); printf(\"%d \", trace_logb(3, big, 5000)); printf(\"%d \", trace_logb(3, NULL, 7));
        printf(\"%d \", trace_logbc(_NTO_TRACE_COMMC, 1, big, 8)); printf(\"%d\", trace_func_enter((void *)16, (void *)32) + trace_func_exit(0, 0));";
    let bench = Bench::new();
    let said = bench.program(statements, Link::Shared);
    assert_eq!(said, "0 0\n1\n1\n1\n4 3 4096 1 -1 0 0 0 0");
}

/// Records 20000 events while a signal handler records too. Its child does the same, and its grandchild runs another
/// program.
const FAMILY: &str = "\
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <sys/trchkid.h>
#include <sys/wait.h>
#include <unistd.h>

static void at_signal(int number) { TRCHKL1T(HKWD_USER4, number); }

static void often(int microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, 0);
}

int main(int argc, char **argv) {
    int status = 0;
    int i;
    if (argc > 1) {
        TRCHKL1T(HKWD_USER3, 1);
        return 0;
    }
    signal(SIGALRM, at_signal);
    if (fork() == 0) {
        often(50);
        for (i = 0; i < 20000; i++) TRCHKL1T(HKWD_USER2, i);
        often(0);
        if (fork() == 0) execl(argv[0], argv[0], \"again\", (char *)0);
    } else {
        often(50);
        for (i = 0; i < 20000; i++) TRCHKL1T(HKWD_USER1, i);
        often(0);
    }
    wait(&status);
    return status != 0;
}
";

#[test]
fn children_programs_and_signal_handlers_record() {
    let bench = Bench::new();
    bench.compile(&bench.write("program.c", FAMILY), "program", Link::Shared);
    bench.run("trace", &["-x", "./program", "-o", "my.trc", "-L", "40000000", "-T", "4000000"]);
    let formats = "010 1.0 \"P\" $D1%U4\n020 1.0 \"C\" $D1%U4\n030 1.0 \"E\" $D1%U4\n040 1.0 \"S\" $D1%U4\n";
    let report = bench.report(formats, &["my.trc"]);
    for id in ["010 P", "020 C"] {
        let numbers =
            report.iter().filter_map(|line| line.strip_prefix(id)).map(|rest| rest.trim().parse::<u32>().unwrap());
        assert!(numbers.eq(0..20_000), "{id}");
    }
    assert_eq!(report.iter().filter(|line| *line == "030 E 1").count(), 1);
    assert!(report.iter().filter(|line| line.starts_with("040")).all(|line| line == "040 S 14"));
}

/// Records 1 in its first thread, 2 in a thread that runs from the start, 3 in a later thread, 4 in a child process and
/// 5 in that child's child, each after a line on standard input.
const RELATIVES: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sys/trchkid.h>

static int go[2];

static void *early(void *arg) {
    char byte;
    (void)arg;
    if (read(go[0], &byte, 1) == 1) {
        TRCHKL1T(HKWD_USER1, 2);
    }
    return NULL;
}

static void *late(void *arg) {
    (void)arg;
    TRCHKL1T(HKWD_USER1, 3);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    if (pipe(go) != 0 || pthread_create(&first, NULL, early, NULL) != 0) {
        return 1;
    }
    puts("ready");
    fflush(stdout);
    getchar();
    TRCHKL1T(HKWD_USER1, 1);
    if (write(go[1], "x", 1) != 1 || pthread_create(&second, NULL, late, NULL) != 0) {
        return 1;
    }
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    if (fork() == 0) {
        TRCHKL1T(HKWD_USER1, 4);
        if (fork() == 0) {
            TRCHKL1T(HKWD_USER1, 5);
            _exit(0);
        }
        wait(NULL);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
"#;

/// Numbers that the program recorded while `trace` ran with these flags; `PID` is replaced by its process id.
fn recorded_numbers(bench: &Bench, flags: &[&str]) -> Vec<String> {
    let mut program = bench.command("relatives").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(program.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let pid = program.id().to_string();
    let flags: Vec<&str> = flags.iter().map(|flag| if *flag == "PID" { pid.as_str() } else { flag }).collect();
    assert_eq!(bench.run("trace", &[&["-a", "-o", "my.trc"], &flags[..]].concat()), "");
    std::io::Write::write_all(program.stdin.as_mut().unwrap(), b"\n").unwrap();
    assert!(program.wait().unwrap().success());
    assert_eq!(bench.run("trcstop", &[]), "");
    let mut numbers = bench.report("010 1.0 \"@\" $D1%U4\n", &["my.trc"]);
    numbers.iter_mut().for_each(|line| *line = line.trim_start_matches("010 ").to_owned());
    numbers.sort();
    numbers
}

#[test]
fn only_chosen_threads_are_recorded() {
    let bench = Bench::new();
    bench.compile(&bench.write("relatives.c", RELATIVES), "relatives", Link::Shared);
    let own = std::process::id().to_string();
    for (flags, expected) in [
        (&[][..], "1 2 3 4 5"),
        (&["-A", "PID"], "1 2"),
        (&["-A", "PID", "-P", "n"], "1 2"),
        (&["-A", "PID", "-P", "t"], "1 2 3"),
        (&["-A", "PID", "-P", "p"], "1 2 3 4 5"),
        (&["-A", &own, "-P", "p"], "1 2 3 4 5"),
        (&["-t", "PID"], "1"),
        (&["-t", "PID", "-P", "t"], "1 3"),
        (&["-t", "PID", "-P", "p"], "1 3 4 5"),
        (&["-t", "all", "-I"], "1 2 3 4 5"),
        (&["-A", &own], ""),
        (&["-A", "PID", "-l"], "1 2"),
    ] {
        assert_eq!(recorded_numbers(&bench, flags).join(" "), expected, "{flags:?}");
    }
}

#[test]
fn each_cpu_has_a_log_of_its_own() {
    let bench = Bench::new();
    bench.compile(&bench.write("relatives.c", RELATIVES), "relatives", Link::Shared);
    for flags in [&["-C", "all"][..], &["-C", "all", "-l"], &["-C", "all", "-f"], &["-C", "all", "-p"]] {
        assert_eq!(recorded_numbers(&bench, flags).join(" "), "1 2 3 4 5", "{flags:?}");
        let of_cpu = |cpu: usize| bench.report("010 1.0 \"@\" $D1%U4\n", &[&format!("my.trc-{cpu}")]).len();
        let n_cpus = (0..).take_while(|cpu| bench.path(&format!("my.trc-{cpu}")).exists()).count();
        assert!(n_cpus > 0);
        assert_eq!((0..n_cpus).map(of_cpu).sum::<usize>(), 5, "{flags:?}");
        // Each event is in the file of its CPU.
        let cpus = bench.run("tfbc", &["report", "--no-heading", "--only", "010", "--columns", "cpu,id", "my.trc"]);
        assert!(cpus.lines().all(|line| line.starts_with(|first: char| first.is_ascii_digit())), "{cpus}");
        // The base file contains no program events.
        assert_eq!(
            bench.run("trcrpt", &["-h", "-O", "ids=on,timestamp=3", "-d", "001,002", "my.trc"]).lines().count(),
            2
        );
    }
}
