//! Shared by the tests: running commands, and traces built byte by byte.

use assert_cmd::Command;
use std::borrow::BorrowMut;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

#[path = "../../tests/common/mod.rs"]
mod traces;

pub use traces::*;

/// Names, other than `tfbc`, that the program can be called by. Those that record exist only on Linux.
pub const NAMES: &[&str] = &[
    "trcrpt",
    "trcupdate",
    "trcevgrp",
    "curt",
    "traceprinter",
    #[cfg(target_os = "linux")]
    "trace",
    #[cfg(target_os = "linux")]
    "trcon",
    #[cfg(target_os = "linux")]
    "trcoff",
    #[cfg(target_os = "linux")]
    "trcstop",
    #[cfg(target_os = "linux")]
    "trcdead",
    #[cfg(target_os = "linux")]
    "trcnm",
    #[cfg(target_os = "linux")]
    "tracelogger",
];

/// All names of the program.
pub fn programs() -> impl Iterator<Item = &'static str> {
    std::iter::once("tfbc").chain(NAMES.iter().copied())
}

/// Directory with every command under its name.
static PROGRAMS: LazyLock<PathBuf> = LazyLock::new(|| {
    let tfbc = Path::new(env!("CARGO_BIN_EXE_tfbc"));
    // All profiles share the temporary directory.
    let profile = tfbc.parent().unwrap().file_name().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(profile);
    fs::create_dir_all(&folder).unwrap();
    for name in programs() {
        let link = folder.join(name);
        #[cfg(unix)]
        let made = std::os::unix::fs::symlink(tfbc, link);
        #[cfg(not(unix))]
        let made = fs::copy(tfbc, link.with_extension("exe")).map(drop);
        if let Err(error) = made {
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{name}: {error}");
        }
    }
    folder
});

/// Path of a command.
pub fn program(name: &str) -> PathBuf {
    PROGRAMS.join(name)
}

/// A command, without arguments.
pub fn command(name: &str) -> Command {
    Command::new(program(name))
}

/// Subcommands in the help of `tfbc`.
pub fn commands() -> Vec<String> {
    let (help, error, status) = run(command("tfbc").arg("--help"));
    assert_eq!(status, 0, "{error}");
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// Root directory of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Path of a test data file.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name)
}

/// Runs a command; returns standard output, standard error and exit status.
pub fn run(mut command: impl BorrowMut<Command>) -> (String, String, i32) {
    let command = command.borrow_mut();
    if command.get_envs().all(|(name, _)| name != "TZ") {
        command.env_remove("TZ");
    }
    collected(command.output().unwrap())
}

/// Standard output, standard error and exit status of a finished command.
pub fn collected(output: Output) -> (String, String, i32) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

/// Names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
