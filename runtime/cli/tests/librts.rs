//! Installs `librts` as users do.

use crate::common::{collected, root};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Runs a command that must succeed; returns its standard output.
pub fn succeed(command: &mut Command) -> String {
    let (out, err, status) = collected(command.output().unwrap());
    assert_eq!(status, 0, "{command:?}:\n{out}{err}");
    out
}

/// Directory where cargo builds the two libraries.
fn built() -> PathBuf {
    let messages = succeed(
        Command::new(env!("CARGO"))
            .args(["build", "--locked", "--package", "tfbc-rts", "--message-format", "json", "--quiet"])
            .current_dir(root()),
    );
    let message = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let artifact = messages.lines().map(message).find(|message| message["target"]["name"] == "rts").unwrap();
    let library = artifact["filenames"][0].as_str().unwrap();
    Path::new(library).parent().unwrap().to_owned()
}

/// Prefix with an installed librts, shared by all tests of a file.
pub static PREFIX: LazyLock<TempDir> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let script = root().join("runtime/recorder/rts/install.sh");
    let (prefix, built) = (directory.path(), built());
    succeed(Command::new("sh").arg(script).arg("--prefix").arg(prefix).arg("--built").arg(built));
    directory
});
