//! Every command on a terminal: our own styles work, and none of them appears as text.
#![cfg(target_os = "linux")]

use crate::common::{commands, program};
use crate::terminal::{TerminalStreams, on_terminal};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const PUMP: &str = "0A1 1.0 L=APPL \"PUMP\" \"id=\" $D1%U4 \"state=\" $D2%U4, 0 \"off\", 1 \"on\"\n";
/// Format file with fixable diagnostics, and a layout that `tfbc fmt` changes.
const UNTIDY: &str = "0A1   1.0 L=APPL \"PUMP\" U4, 0 \"off\", 1 \"on\",\n0A2 1.0 \"x\" x4   X4\n";
const UPDATE: &str = "* /etc/trcfmt\n+ 0A2 1.0 L=APPL \"VALVE\" X4\n";

/// Directory with a trace, a log, and format files, some of them with errors.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    for name in ["shell.trc", "user.kev", "user.xml"] {
        fs::copy(samples.join(name), directory.path().join(name)).unwrap();
    }
    let own = |name: &str| format!("{name}.trcfmt");
    for (name, text) in [
        (own("pump"), PUMP),
        (own("own"), PUMP),
        (own("untidy"), UNTIDY),
        (own("bad"), "0A1 1.0 X17\n"),
        (own("empty"), ""),
        (String::from("up.trc"), UPDATE),
    ] {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

fn command(directory: &Path, line: &str, colour: &str) -> Command {
    let mut words = line.split(' ');
    let mut command = Command::new(program(words.next().unwrap()));
    command
        .args(["--color", colour])
        .args(words)
        .current_dir(directory)
        .env("HOME", directory)
        .env("TFBC_CACHE", "off");
    command.env("TFBC_TRACE_DIR", directory.join("memory")).env("TRCEVGRP_FILE", directory.join("groups"));
    command.env_remove("XDG_STATE_HOME").env_remove("CI");
    command
}

/// Every command with its exit status. Commands that run until they are ended have none, and are ended when they wait.
const LINES: &[(&str, Option<i32>)] = &[
    ("tfbc --help", Some(0)),
    ("tfbc summary shell.trc", Some(0)),
    ("tfbc summary -m --sections cpu shell.trc shell.trc", Some(0)),
    ("tfbc latency --merge --pair svc shell.trc shell.trc", Some(0)),
    ("tfbc latency --pair svc --hist shell.trc", Some(0)),
    ("tfbc timeline -o shell.json shell.trc", Some(0)),
    ("tfbc view shell.trc", Some(0)),
    ("tfbc browse none.trc", Some(1)),
    ("tfbc compile pump.trcfmt -o pump.tfbc", Some(0)),
    ("tfbc compile untidy.trcfmt --emit ast", Some(0)),
    ("tfbc check untidy.trcfmt", Some(0)),
    ("tfbc check bad.trcfmt", Some(1)),
    ("tfbc check empty.trcfmt", Some(0)),
    ("tfbc check --message-format json bad.trcfmt", Some(1)),
    ("tfbc check --fix --dry-run untidy.trcfmt", Some(0)),
    ("tfbc convert pump.trcfmt", Some(0)),
    ("tfbc fmt --check untidy.trcfmt", Some(1)),
    ("tfbc fmt --stdout untidy.trcfmt", Some(0)),
    ("tfbc report shell.trc", Some(0)),
    ("tfbc report shell.trc user.kev", Some(0)),
    ("tfbc report -t user.xml shell.trc", Some(0)),
    ("tfbc report --only 0AB shell.trc", Some(0)),
    ("tfbc split -n 3 -o shell.tfbs shell.trc", Some(0)),
    ("tfbc report --part 2 shell.tfbs", Some(0)),
    ("tfbc index --bytes 4k shell.trc", Some(0)),
    ("tfbc report --from 0.001 shell.trc.tfbs", Some(0)),
    ("tfbc report --to ndjson user.kev shell.trc", Some(0)),
    ("tfbc report --stats user.kev", Some(0)),
    ("tfbc event -t pump.trcfmt --env 32 0A1B0000 00000007 00000001", Some(0)),
    ("tfbc event -t pump.trcfmt --env 32 --trace 0A2B0000 00000007", Some(0)),
    ("tfbc test --new shell.trc -t pump.trcfmt --only 134 -o shell.case.toml", Some(0)),
    ("tfbc test", Some(1)),
    ("tfbc test --coverage=source", Some(1)),
    ("tfbc test --review", Some(1)),
    ("tfbc test --watch", None),
    ("tfbc test --accept", Some(0)),
    ("tfbc watch untidy.trcfmt shell.trc", None),
    ("tfbc hexview -t pump.trcfmt --env 32 0A1B0000 00000007 00000001", Some(0)),
    ("tfbc hexview --first 3 shell.trc", Some(0)),
    ("tfbc list", Some(0)),
    ("tfbc fields pump.trcfmt", Some(0)),
    ("tfbc info shell.trc user.kev", Some(0)),
    ("tfbc disasm pump.trcfmt", Some(0)),
    ("tfbc verify pump.tfbc", Some(0)),
    ("tfbc verify shell.trc", Some(1)),
    ("tfbc lsp", Some(1)),
    ("tfbc ops", Some(0)),
    ("tfbc explain", Some(0)),
    ("tfbc explain S07", Some(0)),
    ("tfbc completions zsh", Some(0)),
    ("tfbc man report", Some(0)),
    ("tfbc install --prefix installed", Some(0)),
    ("trcrpt shell.trc", Some(0)),
    ("trcrpt -O help", Some(0)),
    ("trcrpt -c -t bad.trcfmt", Some(1)),
    ("curt -i shell.trc", Some(0)),
    ("trcupdate -t own.trcfmt -x 0A1", Some(0)),
    ("trcupdate -v -t own.trcfmt up", Some(0)),
    ("trcevgrp -l", Some(0)),
    ("traceprinter -t user.xml -f user.kev", Some(0)),
    ("traceprinter --compat=1.02 -v -f user.kev", Some(0)),
    ("trace -o x.trc", Some(0)),
    ("trace --help", Some(0)),
    ("trcon", Some(1)),
    ("trcoff", Some(1)),
    ("trcstop", Some(1)),
    ("trcdead", Some(1)),
    ("trcnm pump.trcfmt", Some(1)),
    ("tracelogger -s 1 -f t.kev", Some(0)),
];

#[test]
fn no_style_is_shown_as_text() {
    for colour in ["auto", "always"] {
        let directory = directory();
        for (line, expected) in LINES {
            let until = expected.is_none().then_some("waiting for a save");
            let (text, status) =
                on_terminal(&mut command(directory.path(), line, colour), TerminalStreams::Both, until);
            let text = String::from_utf8_lossy(&text);
            assert_eq!(status, *expected, "{line}: {text}");
            assert!(
                !text.is_empty() || ["trcon", "tfbc lsp", "tfbc timeline -o shell.json shell.trc"].contains(line),
                "{line}"
            );
            assert!(!text.contains("\\x1b") && !text.contains("\\u{1b}"), "{line}: {text}");
        }
    }
}

#[test]
fn every_command_is_among_them() {
    let names = commands();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let is_run = LINES.iter().any(|(line, _)| line.split(' ').take(2).any(|word| word == name));
        assert!(is_run, "{name} is run on no terminal");
    }
}

#[test]
fn the_page_of_commands_names_every_command() {
    let page = include_str!("../../../docs/commands.md");
    for name in commands().iter().filter(|name| *name != "help") {
        let spellings = [format!("`{name}`"), format!("`tfbc {name}`"), format!("`tfbc {name} ")];
        assert!(spellings.iter().any(|spelling| page.contains(spelling)), "docs/commands.md does not name {name}");
    }
}

#[test]
fn styles_act_where_they_are_promised() {
    let directory = directory();
    for line in [
        "tfbc hexview -t pump.trcfmt --env 32 0A1B0000 00000007 00000001",
        "tfbc check --fix --dry-run untidy.trcfmt",
        "tfbc fmt --check untidy.trcfmt",
        "tfbc check bad.trcfmt",
        "tfbc report shell.trc",
    ] {
        let show = |colour: &str| {
            let (text, _) = on_terminal(&mut command(directory.path(), line, colour), TerminalStreams::Both, None);
            String::from_utf8(text).unwrap()
        };
        assert!(show("auto").contains("\x1b["), "{line}");
        assert!(!show("never").contains('\x1b'), "{line}");
    }
}

#[test]
fn control_characters_in_differences_are_harmless() {
    let directory = directory();
    fs::write(directory.path().join("hostile.trcfmt"), "0A1   1.0 \"\x1b[31m\" U4, 0 \"a\",\n").unwrap();
    for line in ["tfbc check --fix --dry-run hostile.trcfmt", "tfbc fmt --check hostile.trcfmt"] {
        let (text, _) = on_terminal(&mut command(directory.path(), line, "auto"), TerminalStreams::Output, None);
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("\\x1b[31m") && !text.contains("\x1b[31m\""), "{line}: {text:?}");
    }
    // A pipe gets the diff unchanged, so that it can be applied.
    let piped = command(directory.path(), "tfbc check --fix --dry-run hostile.trcfmt", "auto").output().unwrap().stdout;
    assert!(String::from_utf8(piped).unwrap().contains("\x1b[31m\""));
}

#[test]
fn unmatched_filter_is_named_on_terminals_only() {
    let directory = directory();
    for (line, expected) in [
        ("tfbc report --only 0AB --from 0 shell.trc", "0 of 299 events match --only, --from"),
        ("tfbc report --only USER:999 user.kev", "0 of 60 events match --only"),
        ("tfbc report --only 134 --grep nothing shell.trc shell.trc", "0 of 598 events match --only, --grep"),
        ("trcrpt -d 0AB shell.trc", "0 of 299 events match -d"),
        ("trcrpt -m -T 1 shell.trc shell.trc", "events match -T"),
    ] {
        let (text, status) = on_terminal(&mut command(directory.path(), line, "auto"), TerminalStreams::Errors, None);
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(expected) && status == Some(0), "{line}: {text}");
        let piped = command(directory.path(), line, "auto").output().unwrap().stderr;
        assert!(!String::from_utf8(piped).unwrap().contains("match"), "{line}");
    }
    for line in ["tfbc report --only 134 shell.trc", "tfbc report --quiet --only 0AB shell.trc"] {
        let (text, _) = on_terminal(&mut command(directory.path(), line, "auto"), TerminalStreams::Errors, None);
        assert_eq!(String::from_utf8(text).unwrap(), "", "{line}");
    }
}
