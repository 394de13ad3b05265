//! Compiled format files that are kept from run to run.
#![cfg(feature = "compiler")]

mod common;

use assert_cmd::Command;
use std::fs;
use std::path::Path;

/// Format file of some 90 KB in which hook 102 says `word`.
fn formats(word: &str) -> String {
    let stanza = |id: u32| format!("{id:03X} 1.0 L=KERN \"HOOK {id:03X}\" \"first=\" X4 \"second=\" X4\n");
    let others: String = (0x200..0x900).map(stanza).collect();
    format!("102 1.0 L=KERN \"{word}\"\n{others}")
}

fn report(directory: &Path, more: &[&str]) -> (String, String, i32) {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/shell.trc");
    let mut command = Command::cargo_bin("tfbc").unwrap();
    command.current_dir(directory).env("TFBC_CACHE", directory.join("cache"));
    common::run(command.args(["report", "-t", "big.trcfmt"]).args(more).arg(trace))
}

#[test]
fn the_second_run_uses_what_the_first_compiled() {
    let directory = tempfile::tempdir().unwrap();
    let (path, cache) = (directory.path(), directory.path().join("cache"));
    fs::write(path.join("big.trcfmt"), formats("FIRST")).unwrap();
    let first = report(path, &[]);
    assert_eq!(first.2, 0, "{}", first.1);
    assert!(first.0.contains("FIRST"));
    let kept = common::names(&cache);
    assert_eq!(kept.len(), 1);
    assert_eq!(report(path, &[]), first);
    // A blob of another file in its place shows that it is used.
    let file = cache.join(&kept[0]);
    let original = fs::read(&file).unwrap();
    fs::write(path.join("other.trcfmt"), formats("OTHER")).unwrap();
    let mut compile = Command::cargo_bin("tfbc").unwrap();
    compile.current_dir(path).args(["compile", "other.trcfmt", "-o", "other.tfbc"]).assert().success();
    fs::copy(path.join("other.tfbc"), &file).unwrap();
    assert!(report(path, &[]).0.contains("OTHER"));
    assert_eq!(report(path, &["--no-cache"]), first);
    // What is no blob is compiled anew.
    for damaged in [&original[..original.len() / 2], b"", b"text"] {
        fs::write(&file, damaged).unwrap();
        assert_eq!(report(path, &[]), first);
        assert_eq!(fs::read(&file).unwrap(), original);
    }
    // Other sources and settings have places of their own.
    fs::write(path.join("big.trcfmt"), formats("SECOND")).unwrap();
    assert!(report(path, &[]).0.contains("SECOND"));
    report(path, &["--dialect", "hex=lower"]);
    assert!(common::names(&cache).len() >= 2);
}

#[test]
fn warnings_and_small_files_are_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("big.trcfmt"), formats("A") + "102 1.0 L=KERN \"AGAIN\"\n").unwrap();
    for _ in 0..2 {
        let (_, messages, status) = report(path, &["--strict"]);
        assert!(messages.contains("defined again") && status != 0, "{messages}");
    }
    fs::write(path.join("big.trcfmt"), "102 1.0 L=KERN \"A\"\n").unwrap();
    assert_eq!(report(path, &[]).2, 0);
    assert!(!path.join("cache").exists());
}

#[test]
fn a_directory_that_cannot_be_written_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("big.trcfmt"), formats("A")).unwrap();
    fs::write(path.join("cache"), "a file").unwrap();
    let (text, messages, status) = report(path, &[]);
    assert_eq!((messages.as_str(), status), ("", 0));
    assert!(text.contains("HOOK") || text.contains('A'));
}

#[test]
fn a_refused_template_is_marked_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("big.trcfmt"), formats("GOOD")).unwrap();
    let mut compile = Command::cargo_bin("tfbc").unwrap();
    compile.current_dir(path).args(["compile", "big.trcfmt", "-o", "big.tfbc"]).assert().success();
    let mut blob = fs::read(path.join("big.tfbc")).unwrap();
    // The instruction that carries the text of hook 102: its opcode becomes one that there is not.
    let at = blob.windows(4).position(|bytes| bytes == b"GOOD").unwrap();
    let code = u32::from_le_bytes(*blob[36..].first_chunk().unwrap()) as usize;
    let start = code + (at - code) / 32 * 32;
    blob[start] = 255;
    fs::write(path.join("big.trcfmt"), &blob).unwrap();
    let (text, messages, status) = report(path, &["--only", "102"]);
    let n_refused = text.matches("[refused]").count();
    assert!(n_refused > 0 && !text.contains("GOOD"), "{text}");
    assert_eq!(messages.matches("verifier refuses").count(), 1, "{messages}");
    assert!(messages.contains(&format!("{n_refused} event")), "{messages}");
    assert_ne!(status, 0);
    let (_, _, status) = report(path, &["--only", "234"]);
    assert_eq!(status, 0);
}
