//! Control characters from a trace on a terminal, in a pipe, and in JSON.
#![cfg(unix)]

use crate::common::*;
use crate::terminal::{self, TerminalStreams};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Text that would retitle the window, change colours, ring, move the cursor, delete, and reverse the writing
/// direction.
const HOSTILE: &[u8] = b"\x1b]0;owned\x07\x1b[31mred\x1b[2m\x08\x7f\r\x9b1m\xc2\x9b2Jend\xe2\x80\xaexyz";
const SHOWN: &str = "\\x1b]0;owned\\x07\\x1b[31mred\\x1b[2m\\x08\\x7f\\x0d";

/// Directory with a trace, a log and format files that contain the hostile text in every possible place.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    let sized = [&[HOSTILE.len() as u8], HOSTILE].concat();
    let mut exec = process(5, 9, "");
    exec.pop();
    exec.extend([HOSTILE, &[0]].concat());
    let trace = [
        &STREAM64[..],
        &factors64(1, 1, 2),
        &generic_by64(0x00A0, 1, &exec, 9, 1),
        &generic_by64(0x0100, 1, &sized, 9, 2),
        &generic_by64(0x0110, 1, b"", 9, 3),
    ];
    write("trace", &trace.concat());
    let formats: [&[u8]; 5] = [
        b"010 1.0 L=APPL \"@LABEL",
        HOSTILE,
        b"\" \"of \" $EXECPATH \" text \" G16 S1\n011 1.0 L=APPL \"@",
        HOSTILE,
        b"\" \"\"\n",
    ];
    write("x.trcfmt", &formats.concat().into_iter().filter(|byte| *byte != b'\r').collect::<Vec<_>>());
    let mut log = b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_FILE_NAME::".to_vec();
    log.extend(HOSTILE);
    log.extend(b"TRACE_HEADER_END::");
    let payload = [HOSTILE, &[0; 16]].concat();
    let n = HOSTILE.len() / 8 + 1;
    for (at, bytes) in payload.chunks_exact(8).take(n).enumerate() {
        let kind: u32 = if at == 0 {
            1
        } else if at + 1 == n {
            3
        } else {
            2
        };
        log.extend((kind << 30 | 6 << 10 | 1).to_le_bytes());
        log.extend(77u32.to_le_bytes());
        log.extend(bytes);
    }
    write("log.kev", &log);
    write(
        "x.xml",
        br#"<eventdefinitions><datakey format="%1s0 name"><event class="6" id="1"/></datakey></eventdefinitions>"#,
    );
    write("bad.trcfmt", &[b"010 1.0 \"x\" X17 ", HOSTILE, b"\n"].concat());
    directory
}

/// Output of a command whose standard output, or standard error, is a terminal.
fn on_terminal(directory: &Path, args: &[&str], error: bool) -> Vec<u8> {
    let mut command = Command::new(program(args[0]));
    command.args(&args[1..]).current_dir(directory);
    terminal::on_terminal(&mut command, if error { TerminalStreams::Errors } else { TerminalStreams::Output }, None).0
}

/// Control characters of a text, except newlines, tabs, our own styles, and decoding artefacts.
fn controls(text: &[u8]) -> Vec<char> {
    let text = String::from_utf8_lossy(text).replace("\x1b[2m", "").replace("\x1b[0m", "");
    text.chars().filter(|char| char.is_control() && !matches!(char, '\n' | '\t') || *char == '\u{202e}').collect()
}

/// Command line with flags inserted.
fn flagged<'a>(args: &[&'a str], flags: &[&'a str]) -> Vec<&'a str> {
    [&args[..1], flags, &args[1..]].concat()
}

/// Every command that prints text from traces or format files.
const COMMANDS: [&[&str]; 17] = [
    &["tfbc", "report", "-t", "x.trcfmt", "trace"],
    &["tfbc", "report", "-t", "x.trcfmt", "--columns", "exec,id,text", "trace"],
    &["tfbc", "report", "-t", "x.trcfmt", "--to", "tsv", "trace"],
    &["tfbc", "report", "-t", "x.trcfmt", "--to", "csv", "trace"],
    &["tfbc", "report", "-t", "x.trcfmt", "--to", "ndjson", "trace"],
    &["tfbc", "report", "-t", "x.trcfmt", "--stats", "trace"],
    &["tfbc", "report", "-t", "x.xml", "log.kev"],
    &["tfbc", "report", "-t", "x.xml", "--to", "tsv", "log.kev"],
    &["trcrpt", "-t", "x.trcfmt", "-O", "exec=on,hist=on", "trace"],
    &["trcrpt", "-t", "x.trcfmt", "-j"],
    &["tfbc", "info", "-t", "x.trcfmt", "trace"],
    &["tfbc", "info", "log.kev"],
    &["tfbc", "list", "-t", "x.trcfmt"],
    &["tfbc", "disasm", "x.trcfmt"],
    &["traceprinter", "-f", "log.kev", "-t", "x.xml"],
    &["traceprinter", "--compat=1.02", "-v", "-f", "log.kev"],
    &["tfbc", "compile", "x.trcfmt", "--emit", "tokens"],
];

#[test]
fn no_control_of_a_trace_reaches_a_terminal() {
    let directory = directory();
    for args in COMMANDS {
        for colour in ["auto", "never", "always"] {
            let text = on_terminal(directory.path(), &flagged(args, &["--color", colour]), false);
            let printed = String::from_utf8_lossy(&text).into_owned();
            assert!(!text.is_empty(), "{args:?} prints something");
            assert_eq!(controls(&text), [], "{args:?}, colour {colour}: {printed:?}");
            let styled = printed.contains("\x1b[2m");
            assert!(
                !styled || (args[1] == "report" && colour != "never"),
                "{args:?}: the trace's own style: {printed:?}"
            );
        }
    }
    let text = on_terminal(directory.path(), COMMANDS[0], false);
    assert!(String::from_utf8_lossy(&text).contains(SHOWN), "{:?}", String::from_utf8_lossy(&text));
}

#[test]
fn raw_and_pipes_get_every_byte() {
    let directory = directory();
    for args in [COMMANDS[0], COMMANDS[2], COMMANDS[3], COMMANDS[8]] {
        let raw = on_terminal(directory.path(), &flagged(args, &["--raw"]), false);
        assert!(controls(&raw).contains(&'\x1b'), "{args:?}");
        let mut command = Command::new(program(args[0]));
        let piped = command.args(&args[1..]).current_dir(directory.path()).output().unwrap().stdout;
        assert!(piped.windows(HOSTILE.len()).any(|window| window == HOSTILE), "{args:?}");
    }
}

#[test]
fn messages_never_hold_controls() {
    let directory = directory();
    let named = OsStr::from_bytes(b"\x1b[31mname\xc2\x9b").to_str().unwrap();
    fs::write(directory.path().join(named), [&STREAM64[..], &[0xFF; 9]].concat()).unwrap();
    let cases: [&[&str]; 7] = [
        &["tfbc", "report", named],
        &["trcrpt", named],
        &["tfbc", "report", "\x1b[31mmissing"],
        &["tfbc", "check", "bad.trcfmt"],
        &["tfbc", "check", "--message-format", "short", "bad.trcfmt"],
        &["trcrpt", "-c", "-t", "bad.trcfmt"],
        &["traceprinter", "-f", named],
    ];
    for args in cases {
        for colour in ["never", "auto"] {
            let args = flagged(args, &["--color", colour]);
            let shown = on_terminal(directory.path(), &args, true);
            let text = String::from_utf8_lossy(&shown).into_owned();
            assert!(!text.is_empty(), "{args:?}");
            assert!(!text.contains("\x1b[31m"), "{args:?}: {text:?}");
            if colour == "never" {
                assert_eq!(controls(&shown), [], "{args:?}: {text:?}");
            }
            let mut command = Command::new(program(args[0]));
            let piped = command.args(&args[1..]).current_dir(directory.path()).output().unwrap().stderr;
            assert!(!String::from_utf8_lossy(&piped).contains("\x1b[31m"), "{args:?} into a pipe");
        }
    }
}

#[test]
fn ndjson_is_valid_and_text_keeps_every_byte() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let text = |byte: u8| [b'a', byte, b'b'];
    let mut trace = [&STREAM64[..], &factors64(1, 1, 2)].concat();
    for byte in 1..=255 {
        let tid = byte.into();
        let process = [&words64(&[tid, tid])[..], &text(byte), &[0]].concat();
        trace.extend(generic_by64(0x00A0, 1, &process, tid, 2));
        trace.extend(plain64(0x0100, 0, &[], tid, 3));
    }
    fs::write(path("trace"), trace).unwrap();
    fs::write(path("x.trcfmt"), "010 1.0 L=APPL \"@X\" $EXECPATH\n").unwrap();
    let run = |to: &str| {
        let mut command = Command::new(program("tfbc"));
        let args =
            ["report", "--no-heading", "-t", "x.trcfmt", "--columns", "text", "--to", to, "--only", "010", "trace"];
        let output = command.args(args).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success());
        output.stdout
    };
    let lines = String::from_utf8(run("ndjson")).expect("ndjson is UTF-8");
    assert_eq!(lines.lines().count(), 255);
    for (byte, line) in (1..=255u8).zip(lines.lines()) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let shown = value["text"].as_str().unwrap();
        assert_eq!(shown, String::from_utf8_lossy(&text(byte)), "{byte:#x}");
    }
    let plain = run("text");
    for byte in 1..=255 {
        assert!(plain.windows(3).any(|window| window == text(byte)), "{byte:#x}");
    }
}
