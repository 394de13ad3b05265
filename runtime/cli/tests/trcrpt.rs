//! Tests of every flag and option of `trcrpt` and `tfbc report`, on traces whose reports were worked out by hand.

use crate::common::*;
use std::fs;
use tempfile::TempDir;

/// Standard output, standard error and exit status of a command in a directory.
fn run(program: &str, directory: &TempDir, args: &[&str]) -> (String, String, i32) {
    let state = directory.path().join("state");
    crate::common::run(command(program).args(args).current_dir(directory).env("XDG_STATE_HOME", state))
}

/// Report of a successful run.
fn report(directory: &TempDir, args: &[&str]) -> String {
    let (out, err, status) = run("trcrpt", directory, args);
    assert_eq!((err.as_str(), status), ("", 0), "{args:?}");
    out
}

/// Message of a refused run.
fn refusal(directory: &TempDir, args: &[&str]) -> String {
    let (out, err, status) = run("trcrpt", directory, args);
    assert_eq!((out.as_str(), status), ("", 1), "{args:?}: {err}");
    err
}

/// Hook 010 prints its first word.
const USER: &str = "010 1.0 L=APPL \"\" \"n=\" $D1%U4\n";

/// 64-bit stream of our own recorder in nanoseconds, after 001: `trace` in the directory, with `user.trcfmt`.
fn own_trace(events: &[Vec<u8>]) -> TempDir {
    let mut stream = STREAM64.to_vec();
    stream.extend(generic_by64(0x0030, 1, &start(941_117_645), 1, 0));
    stream.extend(generic_by64(0x00A0, 0x1E, b"tfbc\0", 1, 0));
    stream.extend(generic_by64(0x00A0, 0x25C, &words64(&[1, 1, 2]), 1, 0));
    stream.extend(generic_by64(0x00A0, 1, &process(4522, 7, "/usr/bin/ksh"), 1, 0));
    stream.extend(plain64(0x0010, 0, &[0], 7, 0));
    events.iter().for_each(|event| stream.extend(event));
    directory(&[("trace", &stream), ("user.trcfmt", USER.as_bytes())])
}

fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

/// Bytes of 003, kind 1.
fn start(seconds: u32) -> Vec<u8> {
    let mut bytes = seconds.to_be_bytes().to_vec();
    for name in ["AIX", "moscow", "3", "4", "000167894C00"] {
        let end = bytes.len() + 32;
        bytes.extend(name.as_bytes());
        bytes.resize(end, 0);
    }
    bytes
}

fn user(word: u64, tid: u64, ns: u64) -> Vec<u8> {
    plain64(0x0100, 0, &[word], tid, ns)
}

/// Two processes on two CPUs: ksh (pid 4522, thread 7) forks a child (pid 6418, thread 8), which becomes `ls` and is in
/// `kread` when an interrupt arrives.
fn two_processes() -> TempDir {
    own_trace(&[
        user(1, 7, 1_000),
        plain64(0x1060, 3, &[4522, 7, 60, 0, 0], 7, 2_000),
        user(2, 7, 3_000),
        plain64(0x1390, 0, &[6418, 8], 7, 4_000),
        plain64(0x1060, 5, &[6418, 8, 61, 0, 0], 8, 5_000),
        user(3, 8, 6_000),
        generic_by64(0x1340, 6418, b"/usr/bin/ls", 8, 7_000),
        plain64(0x1010, 0, &[0x1A2B4], 8, 8_000),
        user(4, 8, 9_000),
        plain64(0x1000, 5, &[4, 0], 8, 10_000),
        user(5, 8, 11_000),
        plain64(0x2000, 5, &[0], 8, 12_000),
        user(6, 8, 13_000),
        plain64(0x1040, 0, &[0, 0], 8, 14_000),
        user(7, 8, 15_000),
        plain64(0x1350, 0, &[6418, 0], 8, 16_000),
        user(8, 8, 17_000),
        user(9, 99, 2_000_000_000),
    ])
}

/// Values `n=` of the reported 010 events.
fn marks(out: &str) -> Vec<&str> {
    out.lines().filter_map(|line| line.split_once("n=")).map(|(_, mark)| mark).collect()
}

/// Values `n=` of the events reported with some flags.
fn marks_with(directory: &TempDir, flags: &[&str]) -> String {
    let args = [&["-h", "-t", "user.trcfmt", "-d", "010"], flags, &["trace"]].concat();
    marks(&report(directory, &args)).join(" ")
}

#[test]
fn the_session_of_the_documentation() {
    let mut stream = generic_by32(0x00A, 0x25C, &words64(&[1, 1, 1]), 1, 100);
    stream.extend(generic_by32(0x00A, 1, &process(19_310, 0x1a2b, "./sample"), 1, 100));
    stream.extend(words32(&[0x001A_0000, 0, 0x1a2b, 128]));
    let elapsed = [105_984, 113_920, 119_296, 124_672, 129_792, 135_168, 140_288, 145_408, 151_040, 156_160];
    for (n, elapsed) in elapsed.into_iter().enumerate() {
        stream.extend(event32(n as u32 + 1, 128 + elapsed));
    }
    let format = b"010 1.0 L=APPL \"USER HOOK 1\" O2.0 \\n \\\n\
                  \x20             \"The data field for the user hook = \" U4 endtimer(0x010,0x010) starttimer(0x010,0x010)\n";
    let files = directory(&[("trace", &stream), ("mytrcfmt", format)]);
    let args = ["-d", "010", "-t", "mytrcfmt", "-O", "exec=on", "-o", "sample.rpt", "trace"];
    assert_eq!(report(&files, &args), "");
    let expected = "\
ID  PROCESS NAME   I    ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT
010 sample              0.000105984       0.105984   USER HOOK 1
                                                     The data field for the user hook = 1
010 sample              0.000113920       0.007936   USER HOOK 1
                                                     The data field for the user hook = 2 [7 usec]
010 sample              0.000119296       0.005376   USER HOOK 1
                                                     The data field for the user hook = 3 [5 usec]
010 sample              0.000124672       0.005376   USER HOOK 1
                                                     The data field for the user hook = 4 [5 usec]
010 sample              0.000129792       0.005120   USER HOOK 1
                                                     The data field for the user hook = 5 [5 usec]
010 sample              0.000135168       0.005376   USER HOOK 1
                                                     The data field for the user hook = 6 [5 usec]
010 sample              0.000140288       0.005120   USER HOOK 1
                                                     The data field for the user hook = 7 [5 usec]
010 sample              0.000145408       0.005120   USER HOOK 1
                                                     The data field for the user hook = 8 [5 usec]
010 sample              0.000151040       0.005632   USER HOOK 1
                                                     The data field for the user hook = 9 [5 usec]
010 sample              0.000156160       0.005120   USER HOOK 1
                                                     The data field for the user hook = 10 [5 usec]
";
    assert_eq!(fs::read_to_string(files.path().join("sample.rpt")).unwrap(), expected);
}

#[test]
fn unknown_time_zone_is_named_once_and_means_utc() {
    let traces = own_trace(&[user(1, 7, 0)]);
    for program in ["trcrpt", "tfbc"] {
        let zoned = |value: &str, flags: &[&str]| {
            let mut command = command(program);
            let args: &[&str] = if program == "tfbc" { &["report"] } else { &[] };
            crate::common::run(command.args(args).args(flags).arg("trace").current_dir(&traces).env("TZ", value))
        };
        for (flags, value, date, n_warnings) in [
            (&[][..], "Nowhere/None", "Thu Oct 28 13:34:05 1999", 1),
            (&["--utc"], "Nowhere/None", "Thu Oct 28 13:34:05 1999", 0),
            (&[], "EST5EDT,M4.1.0,M10.5.0", "Thu Oct 28 09:34:05 1999", 0),
            (&["--utc"], "EST5EDT,M4.1.0,M10.5.0", "Thu Oct 28 13:34:05 1999", 0),
        ] {
            let (out, err, status) = zoned(value, flags);
            assert_eq!((out.lines().next(), status), (Some(date), 0), "{program} {flags:?} {value}: {err}");
            assert_eq!(err.matches("TZ=Nowhere/None is not a time zone").count(), n_warnings, "{err}");
            assert_eq!(err.lines().count(), n_warnings, "{err}");
        }
    }
}

#[test]
fn built_in_layouts_are_named_for_foreign_traces() {
    const LINE: &str = "hook 106: layout of tfbc's own samples; give the system's format file with -t\n";
    let of = |recorder: &[u8]| {
        let mut stream = STREAM64.to_vec();
        stream.extend(generic_by64(0x00A0, 0x1E, recorder, 1, 0));
        stream.extend(generic_by64(0x00A0, 0x25C, &words64(&[1, 1, 2]), 1, 0));
        stream.extend(plain64(0x1060, 0, &[1, 2, 3, 4, 5], 7, 10));
        stream.extend(plain64(0x0010, 0, &[0], 7, 20));
        directory(&[("trace", &stream), ("own.trcfmt", b"106 1.0 \"@\" \"dispatched\"\n")])
    };
    let traces = of(b"aix\0");
    for (args, line) in [
        (&["trace"][..], LINE),
        (&["-O", "pagesize=9", "trace"], LINE),
        (&["-O", "timestamp=3,ids=off", "-t", "own.trcfmt", "-t", "default", "trace"], LINE),
        (&["-t", "own.trcfmt", "trace"], ""),
        (&["-t", "default", "-t", "own.trcfmt", "trace"], ""),
        (&["-q", "trace"], ""),
        (&["--quiet", "trace"], ""),
        (&["-d", "001", "trace"], ""),
        (&["-j"], ""),
    ] {
        let (_, err, status) = run("trcrpt", &traces, args);
        assert_eq!((err.as_str(), status), (line, 0), "{args:?}");
    }
    let (out, err, _) = run("tfbc", &traces, &["info", "trace"]);
    assert!(out.contains(&format!("layouts    {LINE}")) && err.is_empty(), "{out}{err}");
    let ours = of(b"tfbc\0");
    assert_eq!(run("trcrpt", &ours, &["trace"]).1, "");
    assert!(!run("tfbc", &ours, &["info", "trace"]).0.contains("layouts"));
}

#[test]
fn columns_are_in_the_documented_order() {
    let files = two_processes();
    let options = "exec=on,cpuid=on,pid=on,tid=on,svc=on,filename=on,reportedcpus=on";
    let out = report(&files, &["-t", "user.trcfmt", "-d", "010", "-O", options, "trace"]);
    let expected = "\
Thu Oct 28 13:34:05 1999
System: AIX moscow Node: 4
Machine: 000167894C00

ID  FILENAME       PROCESS NAME   CPU RCPUS PID      TID      I SYSTEM CALL       ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT
010 trace          ksh                0     4522     7                            0.000001000       0.001000   n=1
010 trace          ksh            3   0     4522     7                            0.000003000       0.002000   n=2
010 trace          ksh            5   0     6418     8                            0.000006000       0.003000   n=3
010 trace          ls             5   0     6418     8          0001A2B4          0.000009000       0.003000   n=4
010 trace          ls             5   0     6418     8        1 0001A2B4          0.000011000       0.002000   n=5
010 trace          ls             5   0     6418     8          0001A2B4          0.000013000       0.002000   n=6
010 trace          ls             5   0     6418     8                            0.000015000       0.002000   n=7
010 trace          -?-                0              8                            0.000017000       0.002000   n=8
010 trace          -?-                0              99                           2.000000000    1999.983000   n=9
";
    assert_eq!(out, expected);
}

#[test]
fn columns_match_measured_reports() {
    let files = two_processes();
    let out = report(&files, &["-h", "-O", "exec=on,pid=on", "-d", "106,134", "trace"]);
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert!(["ksh ", "ls  "].contains(&&line[4..8]) && ["4522 ", "6418 "].contains(&&line[19..24]), "{line}");
        assert!(line[33..44].starts_with("0.00000") && &line[44..51] == "       ", "{line}");
        assert!(&line[51..59] == "0.002000" || &line[51..59] == "0.003000", "{line}");
        assert_eq!(line.find("dispatch:").or(line.find("exec:")), Some(78), "{line}");
    }
    let out = report(&files, &["-h", "-O", "tid=on", "-d", "106", "trace"]);
    assert!(out.lines().all(|line| line.find("dispatch:") == Some(61) && &line[4..6] != "  "), "{out}");
    assert!(out.starts_with("106 7           0.000002000       0.002000                   dispatch:"), "{out}");
}

/// A post-processor cuts lines at fixed columns: id 4, exec 14 and 1, pid 9, I 1 and 1, svc 15, elapsed 10.
#[test]
fn post_processors_find_the_columns_at_fixed_places() {
    let files = two_processes();
    let out = report(&files, &["-h", "-O", "exec=on,svc=on,timestamp=1,pid=on", "trace"]);
    let rows: Vec<_> = out
        .lines()
        .map(|line| {
            assert_eq!((&line[3..4], &line[18..19], &line[29..30]), (" ", " ", " "), "{line}");
            let cells = [&line[..3], &line[4..18], &line[19..28], &line[28..29], &line[30..45], &line[45..55]];
            assert!(line[55..].is_empty() || line[55..].starts_with("   "), "{line}");
            cells.map(str::trim).join("|")
        })
        .collect();
    assert_eq!(rows[..3], ["001|ksh|4522|||0.000000", "010|ksh|4522|||0.000001", "106|ksh|4522|||0.000002"]);
    assert_eq!(rows[10], "100|ls|6418|1|0001A2B4|0.000010");
    assert_eq!(rows[17], "010|-?-||||0.000017");
}

/// Another post-processor finds columns by the words of the heading, and takes times from three characters to the left.
#[test]
fn post_processors_find_the_columns_by_the_heading() {
    let files = two_processes();
    let out = report(&files, &["-t", "user.trcfmt", "-O", "exec=on,pid=on,tid=on,cpuid=on", "-d", "010", "trace"]);
    let heading = out.lines().find(|line| line.starts_with("ID ")).unwrap();
    let at = |word: &str| heading.find(word).unwrap();
    let line = out.lines().find(|line| line.ends_with("n=4")).unwrap();
    let cell = |start: usize, len: usize| line[start..start + len].trim();
    assert_eq!(cell(at("PROCESS NAME "), 14), "ls");
    assert_eq!((cell(at("CPU "), 4), cell(at("PID "), 9), cell(at(" TID ") + 1, 9)), ("5", "6418", "8"));
    assert_eq!(cell(at("ELAPSED") - 3, 14), "0.000009000");
    assert_eq!(heading.find("ELAPSED_SEC").unwrap() + "ELAPSED_SEC".len(), line.find("0.000009000").unwrap() + 11);
    let margin = at("APPL");
    assert_eq!([at("SYSCALL"), at("KERNEL"), at("INTERRUPT")], [margin + 8, margin + 16, margin + 24]);
    assert_eq!(line.find("n=4"), Some(margin));
}

#[test]
fn x_is_exec_and_svc() {
    let files = two_processes();
    let out = report(&files, &["-x", "trace"]);
    assert_eq!(out, report(&files, &["-O", "exec=on,svc=on", "trace"]));
    assert_eq!(out, report(&files, &["-x", "-O", "exec=off", "trace"]));
    assert!(out.contains("PROCESS NAME") && out.contains("SYSTEM CALL"));
}

#[test]
fn events_are_chosen_by_process() {
    let files = two_processes();
    for (list, expected) in [
        ("4522", "1 2"),
        ("ksh", "1 2 3"),
        ("/usr/bin/ls", "4 5 6 7"),
        ("ls 4522", "1 2 4 5 6 7"),
        ("INTR", "5"),
        ("INTR,4522", "1 2 5"),
        ("k,l,/ls,intr,0", ""),
    ] {
        assert_eq!(marks_with(&files, &["-p", list]), expected, "{list}");
    }
    assert_eq!(marks_with(&files, &["-p", "INTR", "-p4522"]), "1 2 5");
    assert!(refusal(&files, &["-p", ",", "trace"]).starts_with("0454-900 -p: "));
}

#[test]
fn events_are_chosen_by_thread() {
    let files = two_processes();
    for (list, expected) in [("7", "1 2"), ("7,99", "1 2 9"), ("0x63", "9"), ("!8", "1 2 9"), ("!7,8", "9"), ("5", "")]
    {
        assert_eq!(marks_with(&files, &["-T", list]), expected, "{list}");
    }
    assert_eq!(marks_with(&files, &["-T", "8", "-p", "INTR"]), "5");
    assert!(refusal(&files, &["-T", "ksh", "trace"]).contains("`ksh` is not a thread id"));
}

#[test]
fn what_is_filtered_out_still_moves_timers_and_context() {
    let format = "010 1.0 L=APPL \"\" \"n=\" $D1%U4 endtimer(1,1) starttimer(1,1) $EXECPATH\n";
    let files = two_processes();
    fs::write(files.path().join("timer.trcfmt"), format).unwrap();
    let out =
        report(&files, &["-h", "-t", "timer.trcfmt", "-d", "010", "-T", "8", "-O", "ids=off,timestamp=3", "trace"]);
    assert_eq!(out.lines().next(), Some("   n=3 [3 usec]/usr/bin/ksh"));
    assert_eq!(out.lines().nth(1), Some("   n=4 [3 usec]/usr/bin/ls"));
}

#[test]
fn names_of_addresses() {
    let files = two_processes();
    fs::write(files.path().join("names"), "SYSTEM\nkread  0001A2B4  text\nkwrite 1A2B8\n").unwrap();
    let args = ["-h", "-O", "svc=on,timestamp=3", "-d", "101,010,104"];
    let with = report(&files, &[&args[..], &["-t", "default", "-t", "user.trcfmt", "-n", "names", "trace"]].concat());
    let lines: Vec<_> = with.lines().collect();
    let blanks = |n: usize| " ".repeat(n);
    assert_eq!(lines[3], format!("101 kread{}kread LR = 0000000000000000", blanks(10 + 3 + 8)));
    assert_eq!(lines[4], format!("010 kread{}n=4", blanks(10 + 3)));
    assert_eq!(lines[7], format!("104 kread{}return from kread rc=0 [6 usec]", blanks(10 + 3 + 8)));
    assert_eq!(lines[8], format!("010 {}n=7", blanks(15 + 3)));
    let without = report(&files, &[&args[..], &["-t", "default", "-t", "user.trcfmt", "trace"]].concat());
    assert_eq!(
        without,
        with.replace("kread   ", "0001A2B4").replace("kread LR", "0001A2B4 LR").replace("kread rc", "0001A2B4 rc")
    );
    fs::write(files.path().join("bad"), "nothing\n").unwrap();
    assert!(refusal(&files, &["-n", "bad", "trace"]).starts_with("0454-902 cannot read bad: no line is"));
    assert!(refusal(&files, &["-n", "/no/such", "trace"]).starts_with("0454-902 cannot read /no/such"));
}

#[test]
fn times_since_the_start_limit_a_report() {
    let files = two_processes();
    for (option, expected) in [
        ("starttime=0.000009", "4 5 6 7 8 9"),
        ("endtime=0.000009", "1 2 3 4"),
        ("starttime=0.000003,endtime=0.000009", "2 3 4"),
        ("starttime=2", "9"),
        ("starttime=2.000000001", ""),
    ] {
        assert_eq!(marks_with(&files, &["-O", option]), expected, "{option}");
    }
}

#[test]
fn dates_limit_a_report() {
    // The trace begins on Thu Oct 28 13:34:05 1999, and its last event is two seconds later.
    let files = two_processes();
    for (flags, expected) in [
        (&["-s", "102813340699"][..], "9"),
        (&["-s", "102813340799"], "9"),
        (&["-s", "102813340899"], ""),
        (&["-e", "102813340699"], "1 2 3 4 5 6 7 8"),
        (&["-e", "102813340799"], "1 2 3 4 5 6 7 8 9"),
        (&["-e", "102813340499"], ""),
        (&["-s", "010100000099", "-e", "010100000000"], "1 2 3 4 5 6 7 8 9"),
    ] {
        assert_eq!(marks_with(&files, flags), expected, "{flags:?}");
    }
    for bad in ["1028133406", "132813340699", "x", "-1"] {
        let message = refusal(&files, &["-s", bad, "trace"]);
        assert!(message.starts_with("0454-032 ") && message.contains("MMddhhmmssyy"), "{message}");
        assert!(refusal(&files, &["-e", bad, "trace"]).starts_with("0454-032 "));
    }
    let both = refusal(&files, &["-s", "102813340699", "-O", "endtime=5", "trace"]);
    assert!(both.starts_with("0454-900 ") && both.contains("one or the other"), "{both}");
    let mut stream = STREAM64.to_vec();
    stream.extend(factors64(1, 1, 1));
    stream.extend(user(1, 7, 1));
    fs::write(files.path().join("undated"), stream).unwrap();
    assert!(refusal(&files, &["-s", "102813340699", "undated"]).contains("no start time (hook 003 of kind 1)"));
}

#[test]
fn text_may_have_its_own_line() {
    let format = "010 1.0 L=KERN \"\" $D1%U4, 2 \"\", \\* { \"n=\" $D1%U4 \\n \"more\" }\n";
    let files = own_trace(&[user(1, 7, 1_000), user(2, 7, 2_000)]);
    fs::write(files.path().join("two.trcfmt"), format).unwrap();
    let out = report(&files, &["-t", "two.trcfmt", "-d", "010", "-O", "2line=on,pid=on", "trace"]);
    let expected = "
ID  PID      I    ELAPSED_SEC     DELTA_MSEC
        APPL    SYSCALL KERNEL  INTERRUPT
010 4522          0.000001000       0.001000
                        n=1
                        more
010 4522          0.000002000       0.001000
";
    assert!(out.ends_with(expected), "{out}");
}

#[test]
fn headings_come_again_by_page() {
    let files = two_processes();
    let count = |pagesize: &str| {
        let out = report(&files, &["-t", "user.trcfmt", "-d", "010", "-O", pagesize, "trace"]);
        out.lines().enumerate().filter(|(_, line)| line.starts_with("ID ")).map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(count("pagesize=0"), [4]);
    assert_eq!(count("pagesize=4"), [4, 9, 14]);
    assert_eq!(count("pagesize=500"), [4]);
}

#[test]
fn hooks_are_counted_after_the_report() {
    let files = two_processes();
    let out = report(&files, &["-h", "-O", "hist=on", "trace"]);
    let (_, counts) = out.split_once("\n\n").unwrap();
    let expected = "         9  010  UNDEFINED TRACE ID
         2  106  DISPATCH
         1  001  TRACE ON
         1  100  FLIH
         1  101  SYSTEM CALL
         1  104  SYSTEM CALL RETURN
         1  134  EXEC
         1  135  EXIT
         1  139  FORK
         1  200  RESUME
";
    assert_eq!(counts, expected);
    let out = report(&files, &["-h", "-O", "hist=on", "-d", "010", "-t", "user.trcfmt", "-T", "7", "trace"]);
    assert!(out.ends_with("n=2\n\n         2  010\n"), "{out}");
    let out = report(&files, &["-h", "-O", "hist=on", "-d", "0F0", "trace"]);
    assert_eq!(out, "\n");
}

#[test]
fn options_without_a_meaning_here_say_so() {
    let files = two_processes();
    let plain = report(&files, &["trace"]);
    for (option, part) in [("PURR=on", "0454-048 "), ("component=on", "component=on adds no column")] {
        let (out, err, status) = run("trcrpt", &files, &["-O", option, "trace"]);
        assert_eq!((out.as_str(), status), (plain.as_str(), 0), "{option}");
        assert!(err.contains(part), "{err}");
    }
    for option in ["removedups=off", "component=off,PURR=off,2line=off,hist=off,exec=off,svc=off,filename=off"] {
        assert_eq!(report(&files, &["-O", option, "trace"]), plain, "{option}");
    }
    assert_eq!(
        report(&files, &["-O", "reportedprocessors=on", "trace"]),
        report(&files, &["-O", "reportedcpus=on", "trace"])
    );
}

#[test]
fn options_are_listed_and_misspelt_ones_refused() {
    let files = directory(&[]);
    let (out, _, status) = run("trcrpt", &files, &["-O", "help"]);
    assert_eq!(status, 0);
    for name in [
        "2line",
        "component",
        "cpuid",
        "endtime",
        "exec",
        "filename",
        "hist",
        "ids",
        "pagesize",
        "pid",
        "PURR",
        "removedups",
        "reportedcpus",
        "starttime",
        "svc",
        "tid",
        "timestamp",
    ] {
        assert!(out.lines().any(|line| line.starts_with(&format!("{name}="))), "{name}");
    }
    for (option, part) in [
        ("exce=on", "did you mean `exec`?"),
        ("purr=on", "did you mean `PURR`?"),
        ("svc=onn", "did you mean `svc=on`?"),
        ("tid", "such as `tid=on`"),
        ("exec", "such as `exec=on`"),
        ("timestamp=4", "timestamp=0, 1, 2 or 3"),
        ("pagesize=501", "pagesize=0 to pagesize=500"),
        ("endtime=soon", "expected seconds"),
    ] {
        let message = refusal(&files, &["-O", option, "trace"]);
        assert!(message.starts_with(&format!("0454-900 -O {option}: ")) && message.contains(part), "{message}");
    }
}

#[test]
fn meaningless_flags_are_refused_with_a_reason() {
    let files = two_processes();
    for (args, part) in [
        (["-l", "all"], "component traces exist only in AIX's kernel"),
        (["-M", "all"], "memory traces exist only in AIX's kernel"),
        (["-@", "wpar1"], "workload partitions exist only on AIX"),
    ] {
        let message = refusal(&files, &[args[0], args[1], "trace"]);
        assert!(message.starts_with("0454-901 ") && message.contains(args[0]) && message.contains(part), "{message}");
    }
    fs::create_dir(files.path().join("traces")).unwrap();
    let message = refusal(&files, &["traces"]);
    assert!(message.starts_with("0454-902 cannot read traces: ") && message.contains("component trace"), "{message}");
}

#[test]
fn without_a_trace_the_default_log_is_meant() {
    let files = directory(&[]);
    if !std::path::Path::new("/var/adm/ras/trcfile").exists() {
        let message = refusal(&files, &[]);
        assert!(message.starts_with("0454-902 ") && message.contains("/var/adm/ras/trcfile"), "{message}");
        assert!(message.contains("no trace is named"), "{message}");
    }
}

#[test]
fn files_are_named_as_they_are_opened() {
    let files = two_processes();
    let (_, err, status) = run("trcrpt", &files, &["-v", "-t", "user.trcfmt", "trace"]);
    assert_eq!((err.as_str(), status), ("user.trcfmt\ntrace\n", 0));
    let (_, err, _) = run("trcrpt", &files, &["-vv", "-t", "user.trcfmt", "-d", "010", "trace"]);
    assert_eq!(err, "user.trcfmt\ntrace\ntrace: AIX 64-bit trace stream, 23 events, 9 reported\n");
    let (_, err, _) = run("trcrpt", &files, &["-vv", "-m", "-O", "removedups=off", "-d", "010", "trace", "trace"]);
    assert_eq!(err, "trace\ntrace\ntrace, trace: AIX 64-bit trace stream, 46 events, 18 reported\n");
}

#[test]
fn q_leaves_out_the_lines_of_mistakes() {
    let files = directory(&[("bad.trcfmt", b"010 1.0 L=APPL \"x\" X99999\n")]);
    let long = refusal(&files, &["-c", "-t", "bad.trcfmt"]);
    let short = refusal(&files, &["-q", "-c", "-t", "bad.trcfmt"]);
    assert!(long.contains('^') && !short.contains('^'), "{short}");
    assert!(short.starts_with("bad.trcfmt:1:"), "{short}");
}

/// Checks each statement of `report.md` about the reserved hooks.
#[test]
fn reserved_hooks_are_shown_by_their_stanzas() {
    let mut stream = STREAM64.to_vec();
    stream.extend(factors64(1, 1, 1));
    for event in [
        plain64(0x0010, 2, &[0], 7, 0),
        plain64(0x0020, 2, &[], 7, 1),
        plain64(0x0050, 0, &[3], 7, 2),
        plain64(0x0060, 0, &[2, 41], 7, 3),
        plain64(0x0000, 9, &[], 7, 4),
        plain64(0x7770, 1, &[0xAB], 7, 5),
        plain64(0x0080, 0, &[1], 7, 6),
        generic_by64(0x00A0, 2, b"x", 7, 7),
    ] {
        stream.extend(event);
    }
    let files = directory(&[("trace", &stream)]);
    let out = report(&files, &["-h", "-O", "timestamp=3", "trace"]);
    let expected = "\
001                    TRACE ON channel 2
002                    TRACE OFF channel 2
005                    LOGFILE WRAPAROUND 3
006                    TRACEBUFFER WRAPAROUND 2 41 missed entries
000                    TRACEID IS ZERO hookword=8000000000000009 file=trace index=188
777                    UNDEFINED TRACE ID idx=212 traceid=777 hookword=8000000877700001 data=00000000000000AB
008                    hookword=8000000800800000 data=0000000000000001
";
    assert_eq!(out, expected);
    let out = report(&files, &["-h", "-O", "timestamp=3", "-d", "00A", "trace"]);
    assert_eq!(out.lines().count(), 2, "{out}");
    let out = report(&files, &["-h", "-O", "timestamp=3", "-d", "00", "-k", "00a", "trace"]);
    assert_eq!(out.lines().count(), 6, "{out}");
}

#[test]
fn user_stanzas_replace_built_in_ones() {
    let files = own_trace(&[plain64(0x4B00, 3, &[4522, 7], 7, 1_000), plain64(0x1060, 3, &[4522, 7, 60], 7, 2_000)]);
    let (out, _, status) = run("tfbc", &files, &["list"]);
    assert_eq!(status, 0);
    for id in ["001", "008", "106", "4B0"] {
        assert!(out.lines().any(|line| line.starts_with(&format!("{id} "))), "{id}");
    }
    let args = ["-h", "-O", "timestamp=3,ids=off", "-d", "4B0,106"];
    let out = report(&files, &[&args[..], &["trace"]].concat());
    let blanks = " ".repeat(3 + 16);
    assert_eq!(out.lines().next(), Some(&*format!("{blanks}undispatch: pid=4522 tid=7 CPUID=3")));
    fs::write(files.path().join("own.trcfmt"), "4B0 1.0 L=APPL \"\" \"own\"\n").unwrap();
    let out = report(&files, &[&args[..], &["-t", "default", "-t", "own.trcfmt", "trace"]].concat());
    assert_eq!(out.lines().next(), Some("   own"));
    assert!(out.lines().nth(1).unwrap().contains("dispatch: cmd=/usr/bin/ksh"), "{out}");
}

#[test]
fn the_heading_shows_the_facts_of_the_trace() {
    let head = |wide: bool| {
        let mut stream = if wide { STREAM64.to_vec() } else { Vec::new() };
        let mut put = |id: u16, kind: u64, bytes: &[u8]| {
            stream.extend(if wide {
                generic_by64(id, kind, bytes, 1, 0)
            } else {
                generic_by32(u32::from(id >> 4), kind as u32, bytes, 1, 0)
            });
        };
        put(0x0030, 1, &start(941_117_645));
        put(0x0030, 2, b"trace -a -o trcfile");
        put(0x00A0, 0x25C, &words64(&[1, 1, 1]));
        put(0x00A0, 5, &words32(&[0x0930_A2B4]));
        put(0x00A0, 6, &words32(&[2]));
        let event = if wide { user(1, 7, 0) } else { event32(1, 0) };
        stream.extend(event);
        directory(&[("trace", &stream), ("user.trcfmt", USER.as_bytes())])
    };
    let expected = "\
Thu Oct 28 13:34:05 1999
System: AIX moscow Node: 4
Machine: 000167894C00
Internet Protocol Address: 0930A2B4 9.48.162.180
Buffering: Separate Segment

trace -a -o trcfile

ID     ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT
010    0.000000000       0.000000   n=1
";
    for wide in [true, false] {
        let files = head(wide);
        // A 32-bit stream without a magic number is recognised by eight events, or by its end.
        assert_eq!(report(&files, &["-t", "user.trcfmt", "trace"]), expected);
        let out = report(&files, &["-h", "-t", "user.trcfmt", "trace"]);
        assert_eq!(out, "010    0.000000000       0.000000   n=1\n");
    }
}

#[test]
fn damaged_places_are_reported_with_number_and_offset() {
    let mut stream = STREAM64.to_vec();
    stream.extend(factors64(1, 1, 1));
    stream.extend(user(1, 7, 0));
    let bad_at = stream.len();
    // A plain event of 48 bytes is malformed.
    stream.extend(words64(&[0x8000_0030_0100_0000, 0, 0, 0, 0, 0, 0, 7, 1]));
    let files = directory(&[("bad", &stream), ("cut", &stream[..bad_at - 3]), ("user.trcfmt", USER.as_bytes())]);
    let (out, err, status) = run("trcrpt", &files, &["-h", "-t", "user.trcfmt", "bad"]);
    assert_eq!((marks(&out), status), (vec!["1"], 2));
    assert!(err.starts_with("0454-077 ") && err.contains("event 3") && err.contains(&format!("{bad_at:#x}")), "{err}");
    let (_, err, status) = run("trcrpt", &files, &["-h", "-t", "user.trcfmt", "cut"]);
    assert_eq!(status, 2);
    assert!(err.contains("truncated at offset 0x3c: 29 bytes left"), "{err}");
}

#[test]
fn the_same_through_tfbc_report() {
    let files = two_processes();
    let tfbc = |args: &[&str]| {
        let (out, err, status) =
            run("tfbc", &files, &[&["report", "--no-heading", "-t", "user.trcfmt", "--only", "010"], args].concat());
        assert_eq!((err.as_str(), status), ("", 0), "{args:?}");
        out
    };
    for (flags, expected) in [
        (&["--pid", "4522"][..], "1 2"),
        (&["--exec", "ls"], "4 5 6 7"),
        (&["--exec", "/usr/bin/ls,none", "--pid", "4522"], "1 2 4 5 6 7"),
        (&["--tid", "!8"], "1 2 9"),
        (&["--cpu", "3"], "2"),
        (&["--cpu", "0-4"], "2"),
        (&["--cpu", "5,1024"], "3 4 5 6 7"),
        (&["--from", "0.000009", "--until", "0.000013"], "4 5 6"),
        (&["--from", "2"], "9"),
    ] {
        assert_eq!(marks(&tfbc(&[flags, &["trace"]].concat())).join(" "), expected, "{flags:?}");
    }
    fs::write(files.path().join("names"), "kread 1A2B4\n").unwrap();
    let columns = "id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,text";
    let out = tfbc(&["--columns", columns, "--names", "names", "--exec", "ls", "trace"]);
    assert_eq!(
        out.lines().nth(1),
        Some(
            "010 trace          ls             5   0     6418     8        1 kread             0.000011000       0.002000   n=5"
        )
    );
    let out = tfbc(&["--columns", "svc,exec,int", "--names", "names", "--exec", "ls", "trace"]);
    assert_eq!(out.lines().nth(1), Some("kread          ls             1"));
    for (args, part) in [
        (["--columns", "id,exce"], "did you mean `exec`?"),
        (["--pid", "ksh"], "`ksh` is not a process id"),
        (["--cpu", "x"], "--cpu: `x` is not a CPU"),
        (["--tid", "x"], "--tid: `x` is not a thread id"),
        (["--names", "/no/such"], "cannot read /no/such"),
        (["--context", "/no/such"], "cannot read /no/such"),
    ] {
        let (_, err, status) = run("tfbc", &files, &["report", args[0], args[1], "trace"]);
        assert!(status == 1 && err.contains(part), "{err}");
    }
}
