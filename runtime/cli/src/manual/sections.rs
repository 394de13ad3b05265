//! Sections of a manual page that do not come from flags: exit status, environment, files, and related pages.

use super::lines::write_lines;
use crate::rptopts;

/// Word and its meaning.
type ListRow = (&'static str, &'static str);

/// Appends the sections of a page, such as `tfbc-report` or `trcrpt`.
pub fn write(page: &str, out: &mut Vec<u8>) {
    let command = page.strip_prefix("tfbc-").unwrap_or(page);
    if command == "trcrpt" {
        // Indents like an example in a help page, because `write_lines` removes that indentation.
        let options: String = rptopts::help().lines().map(|line| format!("  {line}\n")).collect();
        write_lines("REPORT OPTIONS", &format!("Values of -O:\n\n{options}"), out);
    }
    write_rows("EXIT STATUS", &exit_status(command), out);
    write_rows("ENVIRONMENT", &environment(command), out);
    write_rows("FILES", &files(command), out);
}

/// Appends the related pages; each page has this section once, as `man` expects.
pub fn write_see_also(page: &str, out: &mut Vec<u8>) {
    let command = page.strip_prefix("tfbc-").unwrap_or(page);
    let names: Vec<String> = see_also(command).iter().map(|name| format!(".BR {} (1)", escaped(name))).collect();
    out.extend_from_slice(format!(".SH SEE ALSO\n{}\n", names.join(",\n")).as_bytes());
}

fn write_rows(section: &str, rows: &[ListRow], out: &mut Vec<u8>) {
    out.extend_from_slice(format!(".SH {section}\n").as_bytes());
    for (word, meaning) in rows {
        out.extend_from_slice(format!(".TP\n.B {}\n{}\n", escaped(word), escaped(meaning)).as_bytes());
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

const WELL: ListRow = ("0", "Success, also if the output pipe was closed.");
const DAMAGED: ListRow =
    ("2", "The output is complete, but the trace contains damaged or cut events; messages name their offsets.");

fn exit_status(command: &str) -> Vec<ListRow> {
    match command {
        "report" | "view" | "browse" | "info" | "trcrpt" => {
            vec![
                WELL,
                ("1", "Wrong usage, unreadable input, errors in format files, an output that cannot be written."),
                DAMAGED,
            ]
        }
        "traceprinter" => vec![
            WELL,
            ("1", "Wrong usage, unreadable input, errors in event definitions, an output that cannot be written."),
            DAMAGED,
            ("255", "With --compat=1.02, instead of 1."),
        ],
        "check" | "compile" => {
            vec![WELL, ("1", "Errors in the format files, and with --strict warnings; wrong usage; unreadable files.")]
        }
        "fmt" => {
            vec![WELL, ("1", "Errors in a file; with --check, a file would change; wrong usage; unreadable files.")]
        }
        "test" => vec![WELL, ("1", "A text has changed, is new or is missing; no case file is found; wrong usage.")],
        "verify" => vec![WELL, ("1", "A blob is refused or cannot be read; wrong usage.")],
        "hexview" => {
            vec![WELL, ("1", "No template formats the event; wrong usage; unreadable input; errors in format files.")]
        }
        "curt" => vec![WELL, ("1", "Wrong usage, unreadable input, an output that cannot be written."), DAMAGED],
        "trcupdate" => vec![WELL, ("1", "The update is refused, and the format file is unchanged; wrong usage.")],
        "install" => {
            vec![WELL, ("1", "A file of another program has the same name; wrong usage; a file cannot be written.")]
        }
        "trace" => vec![WELL, ("1", "The trace cannot be recorded; the program of -x failed; wrong usage.")],
        "tfbc" => vec![
            WELL,
            ("1", "Wrong usage, unreadable input, errors in format files, an output that cannot be written."),
            DAMAGED,
        ],
        _ => vec![WELL, ("1", "Wrong usage, unreadable input, an output that cannot be written.")],
    }
}

/// True if a command caches compiled format files.
fn has_cache(command: &str) -> bool {
    ["tfbc", "report", "view", "browse", "event", "list", "fields", "info", "disasm", "test", "trcrpt", "traceprinter"]
        .contains(&command)
}

/// True if a command talks to recording sessions.
fn meets_sessions(command: &str) -> bool {
    ["trace", "trcon", "trcoff", "trcstop", "trcdead", "tracelogger"].contains(&command)
}

/// True if a command has a default log.
fn has_default_log(command: &str) -> bool {
    ["trcrpt", "trace", "trcdead", "traceprinter", "tracelogger"].contains(&command)
}

fn environment(command: &str) -> Vec<ListRow> {
    let mut rows = vec![("NO_COLOR", "No colours, unless --color always is given.")];
    if has_cache(command) {
        rows.push((
            "TFBC_CACHE",
            "Directory in which compiled format files are kept, or off; without it tfbc in XDG_CACHE_HOME or ~/.cache.",
        ));
        rows.push(("XDG_CACHE_HOME", "Directory of the user's caches, instead of ~/.cache."));
    }
    if ["trcrpt", "trcevgrp", "trace"].contains(&command) {
        rows.push(("TRCEVGRP_FILE", "File of the event groups."));
        rows.push(("XDG_CONFIG_HOME", "Directory of the user's settings, instead of ~/.config."));
    }
    if meets_sessions(command) {
        rows.push(("TFBC_TRACE_DIR", "Directory of the sessions' shared memory: traced programs need the same."));
    }
    if has_default_log(command) {
        rows.push(("XDG_STATE_HOME", "Directory of the user's logs, instead of ~/.local/state."));
    }
    if ["report", "trcrpt"].contains(&command) {
        rows.push(("TFBC_PAGER, PAGER", "Pager on a terminal, instead of less -FRX; empty or cat for none."));
    }
    if command == "view" {
        rows.push(("BROWSER", "With --open, the browser that xdg-open starts if there is no desktop."));
        rows.push(("TMPDIR", "Directory for a copy of standard input."));
    }
    if command == "browse" {
        rows.push(("TMPDIR", "Directory for the rows that are not shown, and for a copy of standard input."));
    }
    if command == "test" {
        rows.push(("CI", "If set, changed texts are not kept in .snap.new files, unless --pending is given."));
    }
    rows
}

fn files(command: &str) -> Vec<ListRow> {
    const FORMATS: ListRow =
        ("*.trcfmt, *.xml, *.tfbc", "AIX format files, QNX event definitions, or blobs; detected from their content.");
    const CACHE: ListRow = ("~/.cache/tfbc/*.tfbc", "Compiled format files, 64 MiB at most.");
    const GROUPS: ListRow = ("~/.config/tfbc/trcevgrp", "The event groups.");
    const MEMORY: ListRow = ("/dev/shm/tfbc-trace.UID", "Shared memory of the sessions.");
    const AIX_LOG: ListRow = ("/var/adm/ras/trcfile", "The log, if this user can write to its directory.");
    const OWN_AIX_LOG: ListRow = ("~/.local/state/tfbc/trcfile", "The log otherwise.");
    const QNX_LOG: ListRow = ("/dev/shmem/tracebuffer.kev", "The log, if this user can write to its directory.");
    const OWN_QNX_LOG: ListRow = ("~/.local/state/tfbc/tracebuffer.kev", "The log otherwise.");
    const SYSTEM_FORMATS: ListRow = ("/etc/trcfmt", "The format file of an AIX system.");
    match command {
        "trcrpt" => vec![SYSTEM_FORMATS, AIX_LOG, OWN_AIX_LOG, GROUPS, CACHE],
        "trcupdate" => vec![
            SYSTEM_FORMATS,
            ("FILE.trc", "The update."),
            ("FILE.undo.trc", "Undo file of the update, written before the format file changes."),
        ],
        "view" => vec![("TRACE.html", "The page, in the current directory, unless -o is given."), FORMATS, CACHE],
        "trcevgrp" => vec![GROUPS],
        "traceprinter" => vec![QNX_LOG, OWN_QNX_LOG, CACHE],
        "tracelogger" => vec![QNX_LOG, OWN_QNX_LOG, MEMORY],
        "trace" => vec![AIX_LOG, OWN_AIX_LOG, GROUPS, MEMORY],
        "trcdead" => vec![("LOG.dead", "The recovered events, in the directory of the trace's log."), MEMORY],
        "trcon" | "trcoff" | "trcstop" => vec![MEMORY],
        "trcnm" => vec![("/proc/kallsyms", "The names of the running kernel.")],
        "test" => vec![
            ("NAME.case.toml", "A case file."),
            ("NAME.case.snap", "The accepted text of its events."),
            ("NAME.case.snap.new", "A changed text that waits to be accepted."),
            CACHE,
        ],
        "completions" => vec![
            ("/etc/bash_completion.d/tfbc", "Where bash looks for the script."),
            ("~/.zfunc/_tfbc", "Where zsh looks for it, if ~/.zfunc is in its fpath."),
            ("~/.config/fish/completions/tfbc.fish", "Where fish does."),
        ],
        "install" => vec![
            ("DIR/bin", "The program tfbc, and links to it by its other names."),
            ("DIR/share/man/man1", "The manual pages."),
            ("DIR/share/bash-completion/completions", "Completions for bash."),
            ("DIR/share/zsh/site-functions", "Completions for zsh."),
            ("DIR/share/fish/vendor_completions.d", "Completions for fish."),
        ],
        "man" => vec![("/usr/local/share/man/man1", "A directory where man looks for pages.")],
        "ops" | "explain" => vec![("none", "The command reads and writes no file.")],
        _ if has_cache(command) => vec![FORMATS, CACHE],
        _ => vec![FORMATS],
    }
}

fn see_also(command: &str) -> &'static [&'static str] {
    match command {
        "compile" => &["tfbc-check", "tfbc-verify", "tfbc-disasm", "tfbc-report"],
        "check" => &["tfbc-explain", "tfbc-fmt", "tfbc-test", "tfbc-lsp"],
        "convert" => &["tfbc-check", "tfbc-fmt"],
        "fmt" => &["tfbc-check", "tfbc-lsp"],
        "browse" => &["tfbc-report", "tfbc-view", "tfbc-hexview"],
        "view" => &["tfbc-browse", "tfbc-report", "tfbc-summary", "tfbc-timeline"],
        "report" => &["tfbc-browse", "tfbc-view", "tfbc-info", "tfbc-list", "tfbc-compile", "trcrpt", "traceprinter"],
        "event" => &["tfbc-hexview", "tfbc-list", "tfbc-report"],
        "test" => &["tfbc-check", "tfbc-watch", "tfbc-event"],
        "watch" => &["tfbc-report", "tfbc-test", "tfbc-lsp"],
        "hexview" => &["tfbc-event", "tfbc-watch"],
        "list" => &["tfbc-report", "tfbc-info"],
        "fields" => &["tfbc-report", "tfbc-list"],
        "info" => &["tfbc-report", "tfbc-list"],
        "disasm" => &["tfbc-compile", "tfbc-ops", "tfbc-verify"],
        "verify" => &["tfbc-compile", "tfbc-disasm", "tfbc-explain"],
        "lsp" => &["tfbc-check", "tfbc-fmt"],
        "ops" => &["tfbc-disasm"],
        "explain" => &["tfbc-check", "tfbc-verify"],
        "completions" => &["tfbc-install", "tfbc-man"],
        "install" => &["tfbc-completions", "tfbc-man"],
        "man" => &["tfbc-install", "tfbc-completions", "man"],
        "trcrpt" => &["trace", "trcupdate", "trcevgrp", "trcnm", "tfbc-report"],
        "trcupdate" => &["trcrpt", "tfbc-check"],
        "trcevgrp" => &["trcrpt", "trace"],
        "curt" => &["tfbc-summary", "trcrpt", "trace", "trcnm"],
        "traceprinter" => &["tracelogger", "tfbc-report"],
        "trace" => &["trcon", "trcoff", "trcstop", "trcdead", "trcrpt", "trcevgrp"],
        "trcon" => &["trcoff", "trcstop", "trace"],
        "trcoff" => &["trcon", "trcstop", "trace"],
        "trcstop" => &["trcdead", "trcoff", "trace"],
        "trcdead" => &["trcstop", "trace", "trcrpt"],
        "trcnm" => &["trcrpt"],
        "tracelogger" => &["traceprinter", "trcdead"],
        _ => &["trcrpt", "trcupdate", "trcevgrp", "traceprinter", "trace", "tracelogger"],
    }
}
