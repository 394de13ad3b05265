//! Pagers on pseudo-terminals: when there is one, what it gets, and what remains of the exit status and the messages.

use crate::common::{command as piped, program, run};
use crate::terminal::{TerminalSize, TerminalStreams, on_sized_terminal, on_terminal};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples")
}

/// Directory with `shell.trc`, and `damaged.trc` with some bytes that no header refers to.
fn directory() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let trace = fs::read(samples().join("shell.trc")).unwrap();
    fs::write(folder.path().join("damaged.trc"), [&trace[..], &[0xFF; 24]].concat()).unwrap();
    fs::write(folder.path().join("shell.trc"), trace).unwrap();
    folder
}

/// Command with a pager that writes what it gets to the file `seen`.
fn command(folder: &Path, line: &str) -> Command {
    let mut words = line.split(' ');
    let mut command = Command::new(program(words.next().unwrap()));
    command
        .args(words)
        .current_dir(folder)
        .env("TFBC_CACHE", "off")
        .env("TFBC_PAGER", "cat > seen; echo paged; exit 3");
    command.env_remove("PAGER").env_remove("LESS");
    command
}

/// Text on the terminal, the file that the pager wrote, and the exit status.
struct Paged {
    screen: String,
    seen: Option<String>,
    status: Option<i32>,
}

fn paged(folder: &Path, command: &mut Command) -> Paged {
    let (screen, status) = on_terminal(command, TerminalStreams::Both, None);
    let seen = folder.join("seen");
    let text = fs::read_to_string(&seen).ok();
    let _ = fs::remove_file(seen);
    Paged { screen: String::from_utf8(screen).unwrap(), seen: text, status }
}

#[test]
fn a_report_on_a_terminal_goes_to_the_pager() {
    let folder = directory();
    let plain = |line: &str| {
        run(piped(&line[..line.find(' ').unwrap()]).args(line.split(' ').skip(1)).current_dir(folder.path())).0
    };
    for line in [
        "tfbc report shell.trc",
        "trcrpt shell.trc",
        "trcrpt -m shell.trc",
        "tfbc report --to tsv shell.trc",
        "tfbc summary shell.trc",
        "tfbc latency --timers shell.trc",
        "tfbc info shell.trc",
    ] {
        let Paged { screen, seen, status } = paged(folder.path(), &mut command(folder.path(), line));
        let seen = seen.unwrap_or_else(|| panic!("{line}: {screen}"));
        assert_eq!((screen.as_str(), status), ("paged\n", Some(0)), "{line}");
        assert_eq!(seen.replace("\x1b[2m", "").replace("\x1b[0m", ""), plain(line), "{line}");
        assert_eq!(seen.contains("\x1b[2m"), line == "tfbc report shell.trc", "{line}");
    }
}

#[test]
fn messages_follow_the_pager_and_the_status_is_kept() {
    let folder = directory();
    for (line, status) in [
        ("tfbc report damaged.trc", 2),
        ("trcrpt damaged.trc", 2),
        ("tfbc summary damaged.trc", 2),
        ("tfbc latency --timers damaged.trc", 2),
        ("tfbc report none.trc", 1),
        ("tfbc summary none.trc", 1),
        ("tfbc latency --timers none.trc", 1),
        ("tfbc info none.trc", 1),
    ] {
        let Paged { screen, seen, status: found } = paged(folder.path(), &mut command(folder.path(), line));
        assert_eq!(found, Some(status), "{line}: {screen}");
        assert_eq!(seen.is_some(), status == 2, "{line}: a pager does not start without a report");
        let messages = if status == 2 { screen.strip_prefix("paged\n").unwrap_or_default() } else { &screen };
        assert!(messages.contains(if status == 2 { "skipped" } else { "cannot read" }), "{line}: {screen}");
    }
}

#[test]
fn a_manual_page_on_a_terminal_is_laid_out_by_man() {
    let folder = directory();
    let man = folder.path().join("man");
    fs::write(&man, "#!/bin/sh\necho \"man $*\"; cat > seen\n").unwrap();
    fs::set_permissions(&man, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let line = "tfbc man report";
    let plain = run(piped("tfbc").args(["man", "report"]).env("PATH", &path)).0;
    assert!(plain.contains(".TH tfbc-report 1"), "{plain}");
    let Paged { screen, seen, status } = paged(folder.path(), command(folder.path(), line).env("PATH", &path));
    assert_eq!((screen.as_str(), status, seen.as_deref()), ("man -l -\n", Some(0), Some(plain.as_str())));

    for (script, pager) in [("exit 5", "less"), ("cat > seen", "")] {
        fs::write(&man, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mut command = command(folder.path(), line);
        let Paged { screen, seen, status } = paged(folder.path(), command.env("PATH", &path).env("TFBC_PAGER", pager));
        assert_eq!((status, seen), (Some(0), None), "{script}");
        assert!(screen.contains(".TH tfbc-report 1"), "{script}: {screen}");
    }
}

#[test]
fn there_is_a_pager_only_if_it_is_wanted() {
    let folder = directory();
    for line in [
        "tfbc report --no-pager shell.trc",
        "tfbc report --pager never shell.trc",
        "trcrpt --no-pager shell.trc",
        "tfbc summary --no-pager shell.trc",
        "tfbc summary --pager never shell.trc",
    ] {
        let Paged { screen, seen, .. } = paged(folder.path(), &mut command(folder.path(), line));
        assert!(seen.is_none() && screen.contains("ksh"), "{line}: {screen}");
    }
    for line in ["tfbc summary shell.trc", "tfbc latency --timers shell.trc", "tfbc info shell.trc"] {
        let in_pipe = command(folder.path(), line).output().unwrap().stdout;
        assert!(!in_pipe.is_empty() && !folder.path().join("seen").exists(), "{line}");
    }
    let report = || command(folder.path(), "tfbc report shell.trc");
    for name in ["", "cat"] {
        assert!(paged(folder.path(), report().env("TFBC_PAGER", name)).seen.is_none(), "{name}");
    }
    // A pipe has no pager, unless it is asked for.
    for (flag, is_paged) in [("auto", false), ("always", true)] {
        let out = report().args(["--pager", flag]).output().unwrap().stdout;
        assert_eq!(out == b"paged\n", is_paged, "{flag}");
    }
    fs::remove_file(folder.path().join("seen")).unwrap();
    let file = paged(folder.path(), report().args(["-o", "out"]));
    assert!(file.seen.is_none() && folder.path().join("out").exists());
    let from_pager = paged(folder.path(), report().env_remove("TFBC_PAGER").env("TFBC_PAGER", "sort > seen"));
    assert!(from_pager.seen.is_some());
}

#[test]
fn a_pager_that_is_closed_early_is_no_error() {
    let folder = directory();
    let many = ["shell.trc"; 40].join(" ");
    let mut closed = command(folder.path(), &format!("tfbc report --quiet {many}"));
    let Paged { screen, status, .. } = paged(folder.path(), closed.env("TFBC_PAGER", "head -n 1; exit 1"));
    assert_eq!((screen.lines().count(), status), (1, Some(0)), "{screen}");
    // Ctrl-C reaches the report, too, and is for the pager.
    let mut interrupted = command(folder.path(), "tfbc report shell.trc");
    let Paged { seen, status, .. } = paged(folder.path(), interrupted.env("TFBC_PAGER", "kill -INT $PPID; cat > seen"));
    assert_eq!(status, Some(0));
    assert!(seen.unwrap().lines().count() > 280);
}

#[test]
fn a_missing_pager_is_named_and_the_report_is_printed() {
    let folder = directory();
    let mut missing = command(folder.path(), "tfbc report shell.trc");
    let Paged { screen, status, .. } = paged(folder.path(), missing.env("TFBC_PAGER", "no-such-pager -R"));
    assert_eq!(status, Some(0));
    assert!(screen.contains(": there is no pager `no-such-pager`, which TFBC_PAGER names"), "{screen}");
    assert!(screen.contains("ksh"), "{screen}");
}

#[test]
fn matches_are_coloured_and_long_lines_are_cut() {
    let folder = directory();
    let line = "tfbc report --grep exec --columns id,text shell.trc";
    let Paged { seen, .. } = paged(folder.path(), &mut command(folder.path(), line));
    assert!(seen.unwrap().contains("\x1b[1;31mexec\x1b[0m: cmd="));
    let mut without = command(folder.path(), line);
    assert!(!paged(folder.path(), without.args(["--color", "never"])).seen.unwrap().contains('\x1b'));
    for (columns, pager) in [(40, ""), (40, "cat > seen"), (200, "")] {
        let mut report =
            command(folder.path(), "tfbc report --chop --color never --no-heading --columns text shell.trc");
        report.env("TFBC_PAGER", pager);
        let size = TerminalSize { columns, lines: 24 };
        let (screen, _) = on_sized_terminal(&mut report, TerminalStreams::Output, None, size);
        let text = match pager {
            "" => String::from_utf8(screen).unwrap(),
            _ => fs::read_to_string(folder.path().join("seen")).unwrap(),
        };
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= columns.into() && (columns == 200 || longest == 40), "{columns} {pager}: {longest}");
        assert_eq!(text.lines().count(), 288);
    }
    // less cuts lines itself, so that it can show the rest.
    let less = folder.path().join("less");
    fs::write(&less, "#!/bin/sh\necho \"LESS=$LESS\" > seen\ncat > /dev/null\n").unwrap();
    fs::set_permissions(&less, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut chopped = command(folder.path(), "tfbc report --chop shell.trc");
    let Paged { seen, .. } = paged(folder.path(), chopped.env("TFBC_PAGER", "./less -R").env("LESS", "-i"));
    assert_eq!(seen.unwrap(), "LESS=-i -S\n");
}

/// Link as a terminal gets it.
fn link(address: &str, text: &str) -> String {
    format!("\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\")
}

#[test]
fn ids_are_links_on_terminals_that_have_them() {
    let folder = directory();
    let at = folder.path().canonicalize().unwrap().display().to_string();
    let stanzas = "# Disks.\n\n105 1.0 L=KERN \"OLD\"\n 105 1.0 L=KERN \"DISK\"\n104 1.0 \"RETURN\" {\n";
    fs::write(folder.path().join("my \x1b disk.trcfmt"), stanzas).unwrap();
    fs::copy(samples().join("user.kev"), folder.path().join("user.kev")).unwrap();
    fs::copy(samples().join("user.xml"), folder.path().join("user.xml")).unwrap();
    let aix = ["-t", "my \x1b disk.trcfmt", "--only", "104,105,106", "--quiet", "shell.trc"];
    let report = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut report = command(Path::new(&at), "tfbc report --no-heading --columns id,text");
        report.args(flags).args(aix).env("TFBC_PAGER", "").env("FORCE_HYPERLINK", "1");
        report.env_remove("TERM_PROGRAM").envs(variables.iter().copied());
        String::from_utf8(on_terminal(&mut report, TerminalStreams::Output, None).0).unwrap()
    };
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let path = format!("{at}/my%20%1B%20disk.trcfmt");

    let text = report(&[], &[]);
    let file = link(&format!("file://{}{path}", host.trim()), "105");
    assert_eq!(text.matches(&file).count(), 14, "{text:?}");
    assert_eq!(text.matches("\x1b]8;;file").count(), 14, "{text:?}");
    let vscode = link(&format!("vscode://file{path}:4:1"), "105");
    assert!(report(&[], &[("TERM_PROGRAM", "vscode")]).contains(&vscode));
    assert!(report(&["--hyperlink-format", "vscode"], &[("FORCE_HYPERLINK", "0")]).contains(&vscode));
    let own = report(&["--hyperlink-format", "ed:{path}?{line},{column}"], &[]);
    assert!(own.contains(&link(&format!("ed:{path}?4,1"), "105")), "{own:?}");
    // A pager that is known to pass links gets them.
    let less = folder.path().join("less");
    fs::write(&less, "#!/bin/sh\ncat\n").unwrap();
    fs::set_permissions(&less, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(report(&[], &[("TFBC_PAGER", "./less -R")]).contains(&file));

    let without = [
        report(&["--hyperlink-format", "none"], &[]),
        report(&[], &[("FORCE_HYPERLINK", "0")]),
        report(&["--color", "never", "--hyperlink-format", "file"], &[]),
        report(&["--to", "tsv"], &[]),
        report(&["--stats"], &[]),
        report(&["--raw"], &[]),
        report(&[], &[("TFBC_PAGER", "cat;true")]),
    ];
    for text in without {
        assert!(text.contains("105") && !text.contains("\x1b]8"), "{text:?}");
    }
    let mut pipe = piped("tfbc");
    pipe.args(["report", "--color", "always", "--hyperlink-format", "file"]).args(aix).current_dir(folder.path());
    let (text, ..) = run(pipe.env("FORCE_HYPERLINK", "1"));
    assert!(text.contains("\x1b[2m105") && !text.contains("\x1b]8"), "{text:?}");

    let mut qnx = command(folder.path(), "tfbc report -t user.xml --only USER:120 user.kev");
    qnx.args(["--hyperlink-format", "vscode"]).env("TFBC_PAGER", "");
    let text = String::from_utf8(on_terminal(&mut qnx, TerminalStreams::Output, None).0).unwrap();
    let xml = fs::read_to_string(samples().join("user.xml")).unwrap();
    let of_120 = xml.lines().position(|line| line.contains("pid %1s0 name")).unwrap() + 1;
    assert_eq!(text.matches(&link(&format!("vscode://file{at}/user.xml:{of_120}:3"), "120")).count(), 2, "{text:?}");
}

#[test]
fn a_wrong_form_of_links_is_refused() {
    for form in ["nothing", "{path}", "file://{path}\x1b"] {
        let (_, errors, status) = run(piped("tfbc").args(["report", "--hyperlink-format", form, "shell.trc"]));
        assert_eq!(status, 1, "{errors}");
        assert!(errors.contains("--hyperlink-format"), "{errors}");
    }
}
