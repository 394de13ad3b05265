//! Runs every example and formats its trace.
//!
//! The commands are this test binary in separate processes.

#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Environment variable with the arguments of a command.
const ARGUMENTS: &str = "TFBC_TEST_ARGUMENTS";

/// Runs one of the commands in this process.
#[test]
fn command() {
    let Some(arguments) = std::env::var_os(ARGUMENTS) else { return };
    let arguments: Vec<OsString> = arguments.to_str().unwrap().split('\n').map(OsString::from).collect();
    let _ = match arguments[0].to_str() {
        Some("traceprinter") => tfbc_cli::traceprinter(arguments),
        _ => tfbc_cli::trcrpt(arguments),
    };
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
}

/// Output of a command on an example's trace. `LOG`, `FORMATS` and `REPORT` are replaced by the file names.
fn report(example: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut program = Command::new(example);
    succeed(program.args([at("LOG"), at("FORMATS")]).env("TFBC_TRACE_DIR", at("memory")));
    let name = |argument: &&str| match *argument {
        "LOG" | "FORMATS" | "REPORT" => at(argument),
        flag => flag.to_owned(),
    };
    let arguments: Vec<String> = arguments.iter().map(name).collect();
    let mut command = Command::new(std::env::current_exe().unwrap());
    succeed(command.args(["command", "--exact"]).env(ARGUMENTS, arguments.join("\n")));
    std::fs::read_to_string(Path::new(&at("REPORT"))).unwrap()
}

#[test]
fn the_sample_counts_its_turns() {
    let flags = ["trcrpt", "-d", "010", "-t", "FORMATS", "-O", "exec=on", "-o", "REPORT", "LOG"];
    let text = report(env!("CARGO_BIN_EXE_sample"), &flags);
    let turns: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("The # of loop iterations =")).collect();
    assert_eq!(turns, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"], "{text}");
    // The first iteration ends no earlier one.
    assert_eq!(text.matches("The elapsed time of the last loop = [").count(), 9, "{text}");
    assert_eq!(text.matches("USER EVENT - HKWD_USER1").count(), 10);
}

#[test]
fn threads_tell_of_every_piece() {
    let flags = ["trcrpt", "-h", "-d", "020,021", "-t", "FORMATS", "-O", "tid=on", "-o", "REPORT", "LOG"];
    let text = report(env!("CARGO_BIN_EXE_threads"), &flags);
    for piece in 0..100u64 {
        let sum = (0..piece).sum::<u64>();
        let begin = format!("BEGIN piece {piece}");
        let end = format!("END piece {piece} sum {sum} [");
        assert_eq!(text.lines().filter(|line| line.trim_end().ends_with(&begin)).count(), 1, "{begin}\n{text}");
        assert_eq!(text.lines().filter(|line| line.contains(&end)).count(), 1, "{end}\n{text}");
    }
}

#[test]
fn qnx_events_hold_numbers_and_texts() {
    let text = report(env!("CARGO_BIN_EXE_qnx"), &["traceprinter", "-f", "LOG", "-o", "REPORT"]);
    let user: Vec<&str> = text.lines().filter(|line| line.contains("USREVENT")).collect();
    assert_eq!(user.len(), 5, "{text}");
    for (line, data) in user.iter().zip(["d0:0x00000014 d1:0x00000028", "d0:0x00000015", "d0:0x00000016"]) {
        assert!(line.contains("EVENT:1") && line.contains(data), "{line}");
    }
    assert!(user[3].contains("EVENT:2") && user[4].contains("EVENT:3"), "{text}");
    assert!(text.contains("sensor 7 is warm"), "{text}");
}

#[test]
fn spans_tell_where_time_went() {
    let flags = ["trcrpt", "-h", "-d", "0f0", "-t", "FORMATS", "-O", "ids=off,timestamp=3", "-o", "REPORT", "LOG"];
    let text = report(env!("CARGO_BIN_EXE_spans"), &flags);
    let what = |line: &str| {
        line.trim().split([' ']).skip_while(|word| *word != "spans:").skip(1).collect::<Vec<_>>().join(" ")
    };
    let found: Vec<String> = text.lines().map(what).filter(|line| !line.is_empty()).collect();
    let before = |line: &String| {
        line.split([' ']).take_while(|word| !word.starts_with(['(', '['])).collect::<Vec<_>>().join(" ")
    };
    let found: Vec<String> = found.iter().map(before).collect();
    let request = |first: u32, peer: &str| {
        [
            format!("request#{first} begins peer={peer}"),
            format!("read#{} begins block=0 in request#{first}", first + 1),
            format!("read#{} ends", first + 1),
            format!("read#{} begins block=1 in request#{first}", first + 2),
            format!("slow disk millis=1.2500E+01 in read#{}", first + 2),
            format!("read#{} ends", first + 2),
            format!("answered bytes=1024 in request#{first}"),
            format!("request#{first} ends"),
        ]
    };
    assert_eq!(found, [request(1, "10.0.0.7"), request(4, "10.0.0.8")].concat(), "{text}");
    assert!(text.contains("src/bin/spans.rs:"), "{text}");
}
