//! Tests of the cache of compiled format files.

use crate::common::command;
use std::fs;
use std::path::Path;

/// Format file of about 90 KB in which hook 102 prints `word`.
fn formats(word: &str) -> String {
    let stanza = |id: u32| format!("{id:03X} 1.0 L=KERN \"HOOK {id:03X}\" \"first=\" X4 \"second=\" X4\n");
    let others: String = (0x200..0x900).map(stanza).collect();
    format!("102 1.0 L=KERN \"{word}\"\n{others}")
}

fn report(directory: &Path, more: &[&str]) -> (String, String, i32) {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/shell.trc");
    let mut command = command("tfbc");
    command.current_dir(directory).env("TFBC_CACHE", directory.join("cache"));
    crate::common::run(command.args(["report", "-t", "big.trcfmt"]).args(more).arg(trace))
}

#[test]
fn the_second_run_uses_what_the_first_compiled() {
    let directory = tempfile::tempdir().unwrap();
    let (path, cache) = (directory.path(), directory.path().join("cache"));
    fs::write(path.join("big.trcfmt"), formats("FIRST")).unwrap();
    let first = report(path, &[]);
    assert_eq!(first.2, 0, "{}", first.1);
    assert!(first.0.contains("FIRST"));
    let kept = crate::common::names(&cache);
    assert_eq!(kept.len(), 1);
    assert_eq!(report(path, &[]), first);
    // A blob of another file in its place shows that the cache is used.
    let file = cache.join(&kept[0]);
    let original = fs::read(&file).unwrap();
    fs::write(path.join("other.trcfmt"), formats("OTHER")).unwrap();
    let mut compile = command("tfbc");
    compile.current_dir(path).args(["compile", "other.trcfmt", "-o", "other.tfbc"]).assert().success();
    fs::copy(path.join("other.tfbc"), &file).unwrap();
    assert!(report(path, &[]).0.contains("OTHER"));
    assert_eq!(report(path, &["--no-cache"]), first);
    // An invalid blob is compiled again.
    for damaged in [&original[..original.len() / 2], b"", b"text"] {
        fs::write(&file, damaged).unwrap();
        assert_eq!(report(path, &[]), first);
        assert_eq!(fs::read(&file).unwrap(), original);
    }
    // Other sources and settings have separate cache entries.
    fs::write(path.join("big.trcfmt"), formats("SECOND")).unwrap();
    assert!(report(path, &[]).0.contains("SECOND"));
    report(path, &["--dialect", "hex=lower"]);
    assert!(crate::common::names(&cache).len() >= 2);
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

/// A cache after the first run, and the path of its blob.
#[cfg(unix)]
fn filled(path: &Path) -> std::path::PathBuf {
    fs::write(path.join("big.trcfmt"), formats("FIRST")).unwrap();
    assert_eq!(report(path, &[]).2, 0);
    let kept = crate::common::names(&path.join("cache"));
    assert_eq!(kept.len(), 1);
    path.join("cache").join(&kept[0])
}

#[cfg(unix)]
#[test]
fn users_files_in_the_cache_folder_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let blob = filled(path);
    // More entries than the cache keeps, all older than its own.
    let others = ["mine.tfbc", "other.tfbc", "0000000000000000000000000000000000000000000000000000000000000000.tfbc"];
    for name in others {
        let file = fs::File::create(path.join("cache").join(name)).unwrap();
        file.set_len(40 << 20).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
    for word in ["SECOND", "THIRD"] {
        fs::write(path.join("big.trcfmt"), formats(word)).unwrap();
        assert!(report(path, &[]).0.contains(word));
    }
    let names = crate::common::names(&path.join("cache"));
    assert!(others.iter().all(|name| names.iter().any(|found| found == name)), "{names:?}");
    assert!(blob.exists());
    assert_eq!(names.len(), others.len() + 3);
}

#[cfg(unix)]
#[test]
fn only_the_user_may_reach_the_folder() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let cache = path.join("cache");
    let blob = filled(path);
    assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o7777, 0o700);
    // A blob of another file shows whether the cache is used.
    fs::write(path.join("other.trcfmt"), formats("OTHER")).unwrap();
    let mut compile = command("tfbc");
    compile.current_dir(path).args(["compile", "other.trcfmt", "-o", "other.tfbc"]).assert().success();
    fs::copy(path.join("other.tfbc"), &blob).unwrap();
    let other = fs::read(&blob).unwrap();
    for (mode, is_used) in [(0o700, true), (0o755, true), (0o775, false), (0o702, false), (0o777, false)] {
        fs::set_permissions(&cache, fs::Permissions::from_mode(mode)).unwrap();
        let (text, messages, status) = report(path, &[]);
        assert_eq!((messages.as_str(), status), ("", 0));
        assert_eq!(text.contains("OTHER"), is_used, "{mode:o}");
        assert!(fs::read(&blob).unwrap() == other, "{mode:o}");
    }
    // A link to a directory could lead anywhere.
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
    fs::rename(&cache, path.join("elsewhere")).unwrap();
    symlink("elsewhere", &cache).unwrap();
    assert!(report(path, &[]).0.contains("FIRST"));
    assert!(fs::read(path.join("elsewhere").join(blob.file_name().unwrap())).unwrap() == other);
}

#[cfg(unix)]
#[test]
fn altered_blobs_are_compiled_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let blob = filled(path);
    let original = fs::read(&blob).unwrap();
    let first = report(path, &[]);
    // Text that no verifier rule checks.
    let at = original.windows(5).position(|bytes| bytes == b"FIRST").unwrap();
    let mut altered = original.clone();
    altered[at..at + 5].copy_from_slice(b"FALSE");
    fs::write(&blob, &altered).unwrap();
    assert_eq!(report(path, &[]), first);
    assert!(fs::read(&blob).unwrap() == original);
}

#[cfg(unix)]
#[test]
fn pipes_and_links_in_place_of_blobs_are_kept() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let blob = filled(path);
    let first = report(path, &[]);
    fs::remove_file(&blob).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&blob).status().unwrap().success());
    // Opening the pipe would block forever, so the command must not do it.
    assert_eq!(report(path, &[]), first);
    assert!(fs::symlink_metadata(&blob).unwrap().file_type().is_fifo());
    fs::remove_file(&blob).unwrap();
    fs::write(path.join("mine"), "mine").unwrap();
    symlink(path.join("mine"), &blob).unwrap();
    assert_eq!(report(path, &[]), first);
    assert_eq!(fs::read(path.join("mine")).unwrap(), b"mine");
}

#[test]
fn a_refused_template_is_marked_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("big.trcfmt"), formats("GOOD")).unwrap();
    let mut compile = command("tfbc");
    compile.current_dir(path).args(["compile", "big.trcfmt", "-o", "big.tfbc"]).assert().success();
    let mut blob = fs::read(path.join("big.tfbc")).unwrap();
    // The instruction with the text of hook 102 gets an undefined opcode.
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
