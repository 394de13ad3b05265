//! Tests of help, manual pages and completions: they are complete and contain examples.

use crate::common::{NAMES, command, commands, programs};
use std::fs;

const USER_KEV: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/user.kev");

fn run(program: &str, args: &[&str]) -> (String, String, i32) {
    crate::common::run(command(program).args(args))
}

fn help(program: &str, command: Option<&str>) -> String {
    let args: Vec<&str> = command.into_iter().chain(["--help"]).collect();
    let (out, err, status) = run(program, &args);
    assert_eq!(status, 0, "{program} {args:?}: {err}");
    out
}

/// Flags of a help page, such as `-t` and `--formats`.
fn flags(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = lines.flat_map(|line| line.split_whitespace().take_while(|word| word.starts_with('-')));
    let mut flags: Vec<_> = words
        .map(|word| word.trim_end_matches(',').split(['=', '[']).next().unwrap().trim_end_matches("...").to_owned())
        .collect();
    flags.sort();
    flags.dedup();
    flags
}

/// Every help page: program, subcommand, text.
fn pages() -> Vec<(&'static str, Option<String>, String)> {
    let mut pages: Vec<_> = programs().map(|program| (program, None, help(program, None))).collect();
    pages.extend(commands().into_iter().map(|command| ("tfbc", Some(command.clone()), help("tfbc", Some(&command)))));
    pages
}

/// The vendors' commands read flags by `getopt`, so a repeated flag is no mistake, and the last value counts.
#[test]
fn flags_of_vendors_commands_may_be_repeated() {
    let shell = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/shell.trc");
    let lines: [(&str, &[&str], &[&str]); 5] = [
        ("trcrpt", &["-x", "-h", "-x", "-h", shell], &["-x", "-h", shell]),
        ("trcrpt", &["-d", "100", "-d", "101", "-vv", "-n", "nosuch", "-n", "/dev/null", shell], &[]),
        ("traceprinter", &["-n", "-f", "nosuch", "-n", "-f", USER_KEV], &["-n", "-f", USER_KEV]),
        ("curt", &["-i", "nosuch", "-p", "-p", "-i", shell], &["-p", "-i", shell]),
        ("trcupdate", &["-v", "-v", "-t", "nosuch", "-t", "neither", "x"], &["-v", "-t", "neither", "x"]),
    ];
    for (program, repeated, once) in lines {
        let (out, err, status) = run(program, repeated);
        assert!(!err.contains("multiple times") && !err.contains("nosuch"), "{program} {repeated:?}: {err}");
        if !once.is_empty() {
            assert_eq!((out, err, status), run(program, once), "{program} {repeated:?}");
        }
    }
}

#[test]
fn every_command_has_examples() {
    let names = commands();
    for expected in ["compile", "check", "report", "event", "list", "info", "completions", "man", "trcrpt", "trcupdate"]
    {
        assert!(names.iter().any(|name| name == expected), "{expected}: {names:?}");
    }
    for (program, command, help) in pages() {
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
        let begins = if program == "tfbc" && command.as_deref().is_none_or(|name| !NAMES.contains(&name)) {
            "tfbc"
        } else {
            command.as_deref().unwrap_or(program)
        };
        assert!(examples.trim_start().starts_with(begins), "{program} {command:?}: {examples}");
    }
}

#[test]
fn every_command_page_has_flags_and_examples() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("man1");
    let (out, err, status) = run("tfbc", &["man", path.to_str().unwrap()]);
    assert_eq!((out.as_str(), err.as_str(), status), ("", "", 0));
    let mut n_pages = 0;
    for (program, command, help) in pages() {
        let name = command.map_or(program.to_owned(), |command| format!("{program}-{command}"));
        let page = fs::read_to_string(path.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{name}");
        for flag in flags(&help) {
            assert!(page.contains(&flag.replace('-', "\\-")), "{name}: {flag}");
        }
        let examples = page.split(".SH EXAMPLES\n.nf\n").nth(1).unwrap_or_default().split(".SH").next().unwrap();
        assert!(examples.lines().count() > 1 && examples.ends_with(".fi\n"), "{name}: {examples}");
        for section in ["EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"] {
            let section = page.split(&format!(".SH {section}\n")).nth(1).unwrap_or_default();
            let text = section.split(".SH").next().unwrap();
            assert!(text.lines().any(|line| line.starts_with('.')), "{name}: {section}");
        }
        n_pages += 1;
    }
    assert_eq!(fs::read_dir(&path).unwrap().count(), n_pages);
}

#[test]
fn one_page_is_printed() {
    let (page, _, status) = run("tfbc", &["man"]);
    assert_eq!(status, 0);
    assert!(page.contains(".TH tfbc 1") && page.contains("tfbc\\-report(1)"), "{page}");
    let (page, _, _) = run("tfbc", &["man", "report"]);
    assert!(page.contains(".TH tfbc-report 1"), "{page}");
    let (page, _, _) = run("tfbc", &["man", "traceprinter"]);
    assert!(page.contains(".TH traceprinter 1"), "{page}");
    let (out, err, status) = run("tfbc", &["man", "reprot"]);
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(err.contains("did you mean `report`?"), "{err}");
}

/// A section of a manual page, without markup.
fn section<'p>(page: &'p str, name: &str) -> &'p str {
    page.split(&format!(".SH {name}\n")).nth(1).unwrap_or_default().split("\n.SH").next().unwrap()
}

#[test]
fn pages_describe_more_than_flags() {
    let page = |name: &str| run("tfbc", &["man", name]).0.replace("\\-", "-");
    let report = page("report");
    for (name, usage) in [
        ("report", "tfbc report\\fR [OPTIONS] [TRACE]..."),
        ("check", "tfbc check\\fR [OPTIONS] [FORMAT]..."),
        ("curt", "curt\\fR [OPTIONS] -i <FILE>"),
    ] {
        assert!(section(&page(name), "SYNOPSIS").starts_with(&format!("\\fB{usage}\n")), "{name}");
    }
    assert!(section(&report, "EXIT STATUS").contains(".B 2\n"), "{report}");
    assert!(section(&report, "ENVIRONMENT").contains("TFBC_CACHE") && report.contains("NO_COLOR"), "{report}");
    assert!(section(&report, "SEE ALSO").contains(".BR traceprinter (1)"), "{report}");
    let trcrpt = page("trcrpt");
    assert!(section(&trcrpt, "FILES").contains("/etc/trcfmt"), "{trcrpt}");
    assert!(section(&page("trcevgrp"), "ENVIRONMENT").contains("TRCEVGRP_FILE"));
    let (options, ..) = run("trcrpt", &["-O", "help"]);
    for option in options.lines().filter(|line| !line.starts_with(' ')) {
        assert!(section(&trcrpt, "REPORT OPTIONS").contains(option), "{option}");
    }
}

#[test]
fn every_page_that_is_referred_to_is_there() {
    let directory = tempfile::tempdir().unwrap();
    run("tfbc", &["man", directory.path().to_str().unwrap()]);
    for file in fs::read_dir(directory.path()).unwrap() {
        let page = fs::read_to_string(file.unwrap().path()).unwrap().replace("\\-", "-");
        let names: Vec<&str> = section(&page, "SEE ALSO").lines().filter_map(|line| line.split(' ').nth(1)).collect();
        assert!(!names.is_empty(), "{page}");
        for name in names.into_iter().filter(|name| *name != "man") {
            assert!(directory.path().join(format!("{name}.1")).exists(), "{name}");
        }
    }
}

#[test]
fn h_is_help_but_in_commands_of_aix() {
    let others = ["trcrpt", "trcevgrp", "trace"];
    for program in programs().filter(|program| !others.contains(program)) {
        let (out, err, status) = run(program, &["-h"]);
        assert!(out.contains("Usage:") && err.is_empty() && status == 0, "{program}: {out}{err}");
    }
    for command in commands().iter().filter(|command| !others.contains(&command.as_str())) {
        let (out, err, status) = run("tfbc", &[command, "-h"]);
        assert!(out.contains("Usage:") && err.is_empty() && status == 0, "{command}: {out}{err}");
    }
}

#[test]
fn completions_offer_values() {
    for shell in ["bash", "zsh", "fish"] {
        // Help texts also name some values, but with commas.
        let offers = |script: &str, values: &[&str]| match shell {
            "fish" => values.iter().all(|value| script.contains(&format!("{value}\\t''"))),
            _ => script.contains(&values.join(" ")),
        };
        let (tfbc, ..) = run("tfbc", &["completions", shell]);
        for values in [
            &["reportedcpus", "pid", "tid"][..],
            &["text", "event", "time", "class", "type"],
            &["tsv", "csv"],
            &["S06", "S07", "S08"],
            &["C55", "C56", "X80"],
            &["match-base=hex", "match-base=decimal"],
        ] {
            assert!(offers(&tfbc, values), "{shell}: {values:?}");
        }
        let (trcrpt, ..) = run("tfbc", &["completions", shell, "trcrpt"]);
        for values in [&["2line=on", "2line=off"][..], &["endtime=", "exec=on"], &["timestamp=2", "timestamp=3"]] {
            assert!(offers(&trcrpt, values), "{shell}: {values:?}");
        }
    }
}

#[test]
fn completions_hold_every_flag() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let scripts: Vec<_> = programs().map(|program| run("tfbc", &["completions", shell, program])).collect();
        for (program, command, help) in pages() {
            let (script, err, status) = &scripts[programs().position(|name| name == program).unwrap()];
            assert_eq!((err.as_str(), *status), ("", 0));
            for flag in flags(&help) {
                // Fish uses `-l` and `-s` for flags.
                let name = flag.trim_start_matches('-');
                let fish = if flag.starts_with("--") { format!("-l {name}") } else { format!("-s {name}") };
                let option = if shell == "fish" { &fish } else { &flag };
                assert!(script.contains(option), "{shell}: {program} {command:?} {flag}");
            }
        }
        let (script, ..) = &scripts[0];
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
    }
}

#[test]
fn misspelt_commands_flags_and_values_have_a_neighbour() {
    for (args, hint) in [
        (&["reprot"][..], "'report'"),
        (&["report", "--colums", "id", "x"], "'--columns'"),
        (&["report", "--color", "nevr", "x"], "'never'"),
        (&["report", "--to", "ndjsn", "x"], "`ndjson`"),
        (&["report", "--format", "strem64", "x"], "'stream64'"),
        (&["completions", "bsh"], "'bash'"),
        (&["compile", "--dialect", "mach-base=decimal", "-o", "x", "y"], "`match-base`"),
        (&["compile", "--dialect", "match-base=decmal", "-o", "x", "y"], "`decimal`"),
        (&["report", "--only", "USR", USER_KEV], "`USER`"),
        (&["report", "--only", "KER_CALL:MSG_SEDV", USER_KEV], "`MSG_SENDV`"),
        (&["report", "--columns", "clss", USER_KEV], "`class`"),
        (&["completions", "bash", "trcprt"], "`trcrpt`"),
    ] {
        let (out, err, status) = run("tfbc", args);
        assert_eq!((out.as_str(), status), ("", 1), "{args:?}");
        assert!(err.contains(hint), "{args:?}: {err}");
    }
}
