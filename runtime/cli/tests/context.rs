//! Tests of the context table: the process, thread, CPU and system call of an event, derived from earlier events.

use crate::common::*;
use std::fs;
use tempfile::TempDir;

fn run(program: &str, directory: &TempDir, args: &[&str]) -> (String, String, i32) {
    crate::common::run(command(program).args(args).current_dir(directory))
}

/// Directory with the trace and the format file `x.trcfmt`.
fn directory(trace: &[u8], format: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("trace"), trace).unwrap();
    fs::write(directory.path().join("x.trcfmt"), format).unwrap();
    directory
}

/// 64-bit stream with times in nanoseconds.
fn stream64(events: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = STREAM64.to_vec();
    stream.extend(factors64(1, 1, 1));
    events.iter().for_each(|event| stream.extend(event));
    stream
}

/// Lines of a report whose format file prints the context at 010 events.
fn known(trace: &[u8], flags: &[&str]) -> Vec<String> {
    let format = "010 1.0 L=APPL \"\" \"pid=\" $PID \"tid=\" $TID \"cpu=\" $CPUID \"pri=\" $PRI \"svc=\" $SVC \" path=\" $EXECPATH\n";
    let files = directory(trace, format);
    fs::write(files.path().join("own.context"), OWN).unwrap();
    let args = [&["-h", "-O", "ids=off,timestamp=3", "-t", "x.trcfmt", "-d", "010"], flags, &["trace"]].concat();
    let (out, err, status) = run("trcrpt", &files, &args);
    assert_eq!((err.as_str(), status), ("", 0));
    out.lines().map(|line| line.trim().to_owned()).collect()
}

/// Table as a user might derive it from templates.
const OWN: &str = "# my machine
106 dispatch pid=D3 tid=D4 priority=U2@14
134 plain exec pid=D1 path=P@24
15B generic kind=7 enter name=S@W2+4
15B.1 plain return
100 none
";

fn user(tid: u64, ticks: u64) -> Vec<u8> {
    plain64(0x0100, 0, &[], tid, ticks)
}

#[test]
fn macros_show_facts_of_earlier_events() {
    let trace = stream64(&[
        user(7, 1),
        generic_by64(0x00A0, 0x1E, b"tfbc\0", 1, 2),
        plain64(0x1060, 3, &[40, 7, 60, 0, 0], 7, 3),
        user(7, 4),
        generic_by64(0x1340, 40, b"/usr/bin/ls", 7, 5),
        generic_by64(0x1010, 0, b"kread", 7, 6),
        user(7, 7),
        plain64(0x1040, 0, &[], 7, 8),
        user(7, 9),
    ]);
    let expected = [
        "pid=0 tid=7 cpu=0 pri=0 svc= path=",
        "pid=40 tid=7 cpu=3 pri=60 svc= path=",
        "pid=40 tid=7 cpu=3 pri=60 svc=kread path=/usr/bin/ls",
        "pid=40 tid=7 cpu=3 pri=60 svc= path=/usr/bin/ls",
    ];
    assert_eq!(known(&trace, &[]), expected);
}

#[test]
fn unpublished_words_of_foreign_traces_are_not_read() {
    let trace = stream64(&[
        generic_by64(0x00A0, 1, &process(40, 7, "/usr/bin/ksh"), 1, 1),
        plain64(0x1060, 3, &[41, 7, 60, 0, 0], 7, 2),
        plain64(0x1390, 0, &[42, 8], 7, 3),
        plain64(0x4650, 0, &[43, 9], 7, 4),
        user(7, 5),
        user(8, 6),
        user(9, 7),
        plain64(0x1350, 0, &[40, 0], 7, 8),
        user(7, 9),
    ]);
    let ksh = "pid=40 tid=7 cpu=0 pri=0 svc= path=/usr/bin/ksh";
    let unknown = |tid| format!("pid=0 tid={tid} cpu=0 pri=0 svc= path=");
    assert_eq!(known(&trace, &[]), [ksh, &unknown(8), &unknown(9), ksh]);
}

#[test]
fn a_table_of_ones_own_wins_hook_by_hook() {
    let trace = stream64(&[
        // The third word, at byte 24, is a path of 8 bytes.
        plain64(0x1340, 0, &[40, 0, u64::from_be_bytes(*b"/bin/cp\0")], 7, 1),
        user(7, 2),
        plain64(0x1060, 3, &[61, 0, 41, 8, 0], 1, 3),
        user(8, 4),
        generic_by64(0x15B0, 7, b"1234open\0", 7, 5),
        user(7, 6),
        plain64(0x15B0, 2, &[], 7, 7),
        user(7, 8),
        plain64(0x15B0, 1, &[], 7, 9),
        generic_by64(0x15B0, 8, b"1234close\0", 7, 10),
        user(7, 11),
        generic_by64(0x1010, 0, b"kread", 7, 12),
        user(7, 13),
    ]);
    let cp = |svc: &str| format!("pid=40 tid=7 cpu=0 pri=0 svc={svc} path=/bin/cp");
    let expected =
        [cp(""), String::from("pid=41 tid=8 cpu=0 pri=61 svc= path="), cp("open"), cp("open"), cp(""), cp("kread")];
    assert_eq!(known(&trace, &["--context", "own.context"]), expected);
}

#[test]
fn tables_serve_hooks_of_either_width() {
    let mut narrow = generic_by32(0x00A, 0x25C, &words64(&[1, 1, 1]), 1, 0);
    narrow.extend(generic_by32(0x00A, 0x16, &process(40, 7, "/usr/bin/ksh"), 1, 1));
    narrow.extend(generic_by32(0x00A, 0x1E, b"tfbc\0", 1, 1));
    narrow.extend(words32(&[0x106E_0003, 41, 8, 62, 0, 0, 8, 2]));
    narrow.extend(generic_by32(0x134, 41, b"/usr/bin/ls", 8, 3));
    narrow.extend(words32(&[0x101A_0000, 0xABC, 8, 4]));
    narrow.extend(words32(&[0x0109_0000, 7, 5]));
    narrow.extend(words32(&[0x0109_0000, 8, 6]));
    let expected =
        ["pid=40 tid=7 cpu=0 pri=0 svc= path=/usr/bin/ksh", "pid=41 tid=8 cpu=3 pri=62 svc=00000ABC path=/usr/bin/ls"];
    assert_eq!(known(&narrow, &[]), expected);
    // A 32-bit program on a 64-bit kernel: its five words have 4 bytes each.
    let words: Vec<u8> = words32(&[41, 8, 62, 0, 0]);
    let mut event = words64(&[0xA000_0014_1060_0003]);
    event.extend(words);
    event.extend([0; 4]);
    event.extend(words64(&[8, 2]));
    let trace = stream64(&[generic_by64(0x00A0, 0x1E, b"tfbc\0", 1, 1), event, user(8, 3)]);
    assert_eq!(known(&trace, &[]), ["pid=41 tid=8 cpu=3 pri=62 svc= path="]);
}

#[test]
fn events_too_short_for_their_entry_do_nothing() {
    let trace = stream64(&[
        generic_by64(0x00A0, 0x1E, b"tfbc", 1, 0),
        generic_by64(0x00A0, 1, b"", 7, 1),
        generic_by64(0x00A0, 1, &words64(&[40]), 7, 2),
        plain64(0x1060, 0, &[], 7, 3),
        plain64(0x1390, 0, &[], 7, 4),
        plain64(0x4650, 0, &[40], 7, 5),
        plain64(0x1350, 0, &[], 7, 6),
        generic_by64(0x1340, 40, b"", 7, 7),
        plain64(0x1010, 0, &[], 7, 8),
        user(7, 9),
    ]);
    assert_eq!(known(&trace, &[]), ["pid=0 tid=7 cpu=0 pri=0 svc= path="]);
}

#[test]
fn the_p_code_knows_paths() {
    let format = "010 1.0 L=APPL \"\" $D1%PW\n";
    let ask = |pid| plain64(0x0100, 0, &[pid], 7, 5);
    let trace = stream64(&[
        ask(40),
        generic_by64(0x00A0, 1, &process(40, 7, "/usr/bin/ksh"), 1, 1),
        ask(40),
        generic_by64(0x1340, 40, b"/usr/bin/ls\0junk", 7, 1),
        ask(40),
        ask(41),
    ]);
    let files = directory(&trace, format);
    let (out, ..) = run("trcrpt", &files, &["-h", "-O", "ids=off,timestamp=3", "-t", "x.trcfmt", "-d", "010", "trace"]);
    assert_eq!(out.split_whitespace().collect::<Vec<_>>(), ["-40-", "/usr/bin/ksh", "/usr/bin/ls", "-41-"]);
}

#[test]
fn cpu_comes_from_the_event_or_its_thread() {
    // A plain event with the CPU id after its other words.
    let with_cpu = |id: u64, tid, cpu| words64(&[0x9000_0000_0000_0000 | id << 16, tid, 5, cpu]);
    let trace = stream64(&[
        with_cpu(0x1060, 7, 2),
        user(7, 5),
        with_cpu(0x0100, 7, 3),
        user(8, 5),
        plain64(0x4B00, 0, &[], 7, 6),
        user(7, 7),
    ]);
    let files = directory(&trace, "010 1.0 L=APPL \"\" \"x\"\n");
    let args = ["-h", "-O", "ids=off,timestamp=3,cpuid=on", "-t", "x.trcfmt", "-d", "010", "trace"];
    let (out, err, status) = run("trcrpt", &files, &args);
    assert_eq!((out.as_str(), err.as_str(), status), ("2      x\n3      x\n       x\n       x\n", "", 0));
}

#[test]
fn all_mistakes_of_a_table_are_reported_at_once() {
    let files = directory(&stream64(&[user(7, 1)]), "");
    let table = "106 dispach\n\n 134 exec pid=D9 path=S@W2\n[daemon]\n100 raise cpu=HD # well\n10 lower\n";
    fs::write(files.path().join("bad.context"), table).unwrap();
    for (program, args) in [("trcrpt", vec!["--context"]), ("tfbc", vec!["report", "--context"])] {
        let (out, err, status) = run(program, &files, &[&args[..], &["bad.context", "trace"]].concat());
        assert_eq!((out.as_str(), status), ("", 1));
        let lines: Vec<_> = err.lines().collect();
        assert!(lines[0].contains("bad.context:1:5: unknown action `dispach`; did you mean `dispatch`?"), "{err}");
        assert!(lines[1].starts_with("bad.context:3:11: `D9` is not a place of a number"), "{err}");
        assert!(lines[2].starts_with("bad.context:4:1: expected a section such as `[daemon tfbc]`"), "{err}");
        assert!(lines[3].starts_with("bad.context:6:1: `10` is not a hook id"), "{err}");
        assert_eq!(lines.len(), 4, "{err}");
    }
    let (_, err, status) = run("trcrpt", &files, &["--context", "/no/such", "trace"]);
    assert!(status == 1 && err.starts_with("0454-902 cannot read /no/such: "), "{err}");
}

#[test]
fn damaged_contexts_never_stop_a_report() {
    // Changes every byte of a trace full of context events in turn.
    let trace = stream64(&[
        generic_by64(0x00A0, 0x1E, b"tfbc\0", 1, 0),
        generic_by64(0x00A0, 1, &process(40, 7, "/usr/bin/ksh"), 1, 1),
        plain64(0x1060, 3, &[41, 7, 60, 0, 0], 7, 2),
        generic_by64(0x1010, 0, b"kread", 7, 3),
        plain64(0x1350, 0, &[41, 0], 7, 4),
        user(7, 5),
    ]);
    let options = tfbc::aix::AixReportOptions {
        columns: tfbc::Columns::parse("exec,cpu,pid,int,svc,text", Default::default()).unwrap(),
        ..Default::default()
    };
    let set = tfbc::testing::formats::FormatSet::load(&[], &Default::default()).unwrap();
    let catalog = set.catalog().unwrap();
    for at in 4..trace.len() {
        for value in [0, 0x7F, 0xFF, trace[at] ^ 1] {
            let mut bytes = trace.clone();
            bytes[at] = value;
            let read = tfbc::testing::aix::Trace::from_input(
                "x",
                tfbc::testing::input::Input::from_bytes(bytes),
                &Default::default(),
            );
            let mut out = Vec::new();
            let mut logs = tfbc::testing::aix::Logs::from(read.unwrap());
            let ran = tfbc::testing::aix::report(&mut logs, &catalog, &options, &mut out, &mut |_: &tfbc::Notice| {});
            assert!(ran.is_ok(), "{at}");
        }
    }
}
