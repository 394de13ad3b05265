//! Tests of dialect settings: the output for each value, and where a setting may appear.

use crate::common::command;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tfbc::aix::CpuidWord;
use tfbc::testing::aix::{Kernel, Step, StepRules, present};

/// Directory with a format file `t.trcfmt`.
fn folder(format: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.trcfmt"), format).unwrap();
    folder
}

fn run(folder: &Path, program: &str, args: &[&str]) -> (String, String, i32) {
    let mut command = command(program);
    crate::common::run(command.current_dir(folder).env("NO_COLOR", "1").env("TFBC_CACHE", "off").args(args))
}

/// Checks the text of a 64-bit hook with data in hex: by default, and with a setting from a flag, a comment or a blob.
#[track_caller]
fn check(body: &str, data: &str, default: &str, setting: &str, expected: &str) {
    let format = format!("010 1.0 L=0 \"@\" {body}\n");
    let folder = folder(&format);
    let path = folder.path();
    let hex = format!("8000{:04x}01000000{data}", data.len() / 2);
    let event = |file: &str, more: &[&str]| {
        let args = [&["event", "-t", file, "--env", "64"], more, &[&hex]].concat();
        run(path, "tfbc", &args).0
    };
    assert_eq!(event("t.trcfmt", &[]), format!("{default}\n"));
    assert_eq!(event("t.trcfmt", &["--dialect", setting]), format!("{expected}\n"), "{setting}");
    fs::write(path.join("c.trcfmt"), format!("# tfbc: {setting}\n{format}")).unwrap();
    assert_eq!(event("c.trcfmt", &[]), format!("{expected}\n"), "# tfbc: {setting}");
    for (source, flags) in [("t.trcfmt", &["--dialect", setting][..]), ("c.trcfmt", &[])] {
        let args = [&["compile", source, "-o", "t.tfbc"], flags].concat();
        assert_eq!(run(path, "tfbc", &args).2, 0);
        assert_eq!(event("t.tfbc", &[]), format!("{expected}\n"), "{setting} in a blob of {source}");
        let blob = fs::read(path.join("t.tfbc")).unwrap();
        assert!(blob.windows(setting.len()).any(|bytes| bytes == setting.as_bytes()), "{source} records {setting}");
    }
}

#[test]
fn narrow_casts_take_the_last_or_first_bytes() {
    let data = "0123456789abcdef";
    check("$D1%X2 $D1%U1 $D1%B0.4", data, "CDEF 239 1111", "cast-bytes=high", "0123 1 0000");
    check("$D1%D2", "ff800000000000ff", "255", "cast-bytes=high", "-128");
    check("$D1%A2", "4142000000004344", "CD", "cast-bytes=high", "AB");
    // A cast at least as wide as the macro prints all of it; a user macro has 8 bytes.
    check("$D1%X8 {{ $x = $D1 }} $x%X1", data, "0123456789ABCDEF EF", "cast-bytes=high", "0123456789ABCDEF 01");
    check("$D1%X2, CDEF \"low\", 0123 \"high\"", data, "low", "cast-bytes=high", "high");
}

#[test]
fn first_bytes_of_a_32_bit_word() {
    let folder = folder("010 1.0 L=0 \"@\" $D1%X2 $D1%X4 $L1%X2 $D1%XW\n");
    let args = ["event", "-t", "t.trcfmt", "--env", "32", "--dialect", "cast-bytes=high", "010a000001234567"];
    assert_eq!(run(folder.path(), "tfbc", &args).0, "0123 01234567 0000 01234567\n");
}

#[test]
fn f8_has_four_or_eight_decimals() {
    check("W1 F8", "400921fb54442d18", "3.1416E+00", "f8=8", "3.14159265E+00");
    check("$D1%F8", "fff0000000000001", "NAN", "f8=8", "NAN");
    // The longest form: sign, digit, point, eight decimals, and an exponent of three digits.
    check("W1 F8", "ffefffffffffffff", "-1.7977E+308", "f8=8", "-1.79769313E+308");
    check("W1 F4", "3fc0000000000000", "1.5000E+00", "f8=8", "1.5000E+00");
}

#[test]
fn codes_in_back_quotes_are_words_or_anywhere() {
    check("W1 `rc=X1;`", "4100000000000000", "rc=X1;", "backquote=anywhere", "rc=41;");
    check("W1 `rcX1 X1_ <A2>`", "4142000000000000", "rcX1 X1_ <A2>", "backquote=anywhere", "rcX1 X1_ <AB>");
}

#[test]
fn a_loop_ends_with_the_data_or_its_count() {
    check("G14 LOOP $D1 { X2 }", "0000000000000003", "0003 0000", "loop-end=count", "0003 0000 0000");
    check("G14 LOOP $D1 { X0 }", "0000000000000003", "000300", "loop-end=count", "000300");
    check("G15 LOOP $D1 { X0 }", "0000000000000003", "0300", "loop-end=count", "030000");
}

#[test]
fn tab_stops_count_from_the_margin_or_the_line() {
    let folder = folder("010 1.0 L=SVC \"@\" \"a\" \\t \"b\" \\n \\t \"c\"\n");
    fs::write(folder.path().join("s.stream"), stream()).unwrap();
    let report = |more: &[&str]| {
        let args = [&["-h", "-O", "timestamp=3", "-d", "010", "-t", "t.trcfmt"], more, &["s.stream"]].concat();
        run(folder.path(), "trcrpt", &args).0
    };
    // ID ends at column 4, so SVC texts begin at 15. The next tab stop from the margin is 23, from the line 16.
    assert_eq!(report(&[]), format!("010{:12}a{:7}b\n{:23}c\n", "", "", ""));
    assert_eq!(report(&["--dialect", "tabs=line"]), format!("010{:12}a{:8}b\n{:16}c\n", "", "", ""));
}

/// 64-bit stream: its header, then 010 and 011 at 1, 2, 4 and 8 microseconds.
fn stream() -> Vec<u8> {
    let case = "../../snapshots/data/commands/aix/warning-line/s.stream";
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(case)).unwrap();
    // The first event is the header; each of the others has one word, a thread and a stamp.
    let n_events = 1;
    let header = bytes.len() - 3 * 32;
    bytes[..header + n_events * 32].to_vec()
}

#[test]
fn delta_counts_from_the_last_reported_or_last_event() {
    let case = "../../snapshots/data/commands/aix/bad-stanza/s.stream";
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join(case);
    let folder = folder("");
    // Events 010 to 013, and 011 again, 1 microsecond apart.
    let report = |setting: &str| {
        let args = ["report", "--no-heading", "--columns", "id,delta", "--only", "010,013,011", "--dialect", setting];
        run(folder.path(), "tfbc", &[&args[..], &[trace.to_str().unwrap()]].concat()).0
    };
    let lines = |deltas: [&str; 4]| -> String {
        ["010", "011", "013", "011"].iter().zip(deltas).map(|(id, delta)| format!("{id}        {delta}\n")).collect()
    };
    assert_eq!(report("delta=reported"), lines(["0.001000", "0.001000", "0.002000", "0.001000"]));
    assert_eq!(report("delta=all"), lines(["0.001000"; 4]));
}

#[test]
fn report_settings_are_refused_in_files() {
    let folder = folder("# tfbc: delta=all\n010 1.0 \"E\"\n");
    let (_, error, status) = run(folder.path(), "tfbc", &["check", "t.trcfmt"]);
    assert!(error.contains("t.trcfmt:1:9") && error.contains("--dialect delta=all"), "{error}");
    assert_eq!(status, 1);
    for setting in ["delta=some", "b-generic-word=2", "delta"] {
        let args = ["report", "--dialect", setting, "x"];
        assert_eq!(run(folder.path(), "tfbc", &args).2, 1, "{setting}");
    }
}

#[test]
fn generic_word_of_a_32_bit_program_is_configurable() {
    let rules = |short_generic_word| StepRules {
        kernel: Kernel::Bits64,
        cpuid_word: CpuidWord::Last,
        lenient: false,
        short_generic_word,
    };
    let presented = |rules: StepRules, data: &[u8]| {
        // Flags B and G, five bytes, id 500.
        let event = [&[0x60, 0, 0, 5, 0x50, 0, 0, 0], data, &[0; 8]].concat();
        let Step::Whole(parts) = rules.step(&event) else { panic!("no event") };
        assert_eq!(parts.size, event.len());
        present(&event, &parts, &mut Vec::new()).to_vec()
    };
    let expected = [0x50, 0, 0, 5, 0, 0, 0, 7, b'a', b'b', b'c', b'd', b'e'];
    let wide = [&[0, 0, 0, 0, 0, 0, 0, 7][..], b"abcde\0\0\0"].concat();
    assert_eq!(presented(rules(false), &wide), expected);
    let narrow = [&[0, 0, 0, 7][..], b"abcde\0\0\0\0\0\0\0"].concat();
    assert_eq!(presented(rules(true), &narrow), expected);
}

#[test]
fn the_help_names_each_setting_with_its_values() {
    let folder = folder("");
    let (help, ..) = run(folder.path(), "tfbc", &["report", "--dialect", "help"]);
    let names = [
        "b-generic-word=8|4",
        "delta=reported|all",
        "cast-bytes=low|high",
        "f8=4|8",
        "backquote=words|anywhere",
        "loop-end=data|count",
        "tabs=margin|line",
        "first-tab=3|8",
        "match-base=hex|decimal",
        "soft-blank=numbers|all|none",
        "subroutine-labels=print|omit",
        "level=KERN|APPL|SVC|INT",
        "msec=1000|NUMBER",
        "timer-key=id|thread",
        "errno=names|number",
        "hex=upper|lower",
    ];
    let listed: Vec<&str> = help.lines().filter(|line| names.contains(line)).collect();
    assert_eq!(listed, names);
    for switch in ["--cpuid-word=", "--context", "--after-damage=", "--utc", "--strict", "--max-text"] {
        assert!(help.contains(switch), "{switch}");
    }
}
