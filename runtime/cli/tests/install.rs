//! Tests of `tfbc install`: a complete installation below a prefix, which overwrites no foreign files.

use crate::common::{NAMES, command, names, program, programs, run};
use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Runs `tfbc install` and returns standard output, standard error and exit status.
fn install(prefix: &Path, flags: &[&str]) -> (String, String, i32) {
    run(command("tfbc").arg("install").arg("--prefix").arg(prefix).args(flags))
}

/// Installs successfully and returns the summary.
fn installed(prefix: &Path, flags: &[&str]) -> String {
    let (out, err, status) = install(prefix, flags);
    assert_eq!(status, 0, "{err}");
    out
}

/// Every file and link below a directory, with its content or target.
fn tree(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            files.insert(path, target.into_os_string().into_encoded_bytes());
        } else if path.is_dir() {
            files.extend(tree(&path));
        } else {
            let content = fs::read(&path).unwrap();
            files.insert(path, content);
        }
    }
    files
}

/// Checks that an installation is complete and that its programs run.
fn check(prefix: &Path) {
    let bin = prefix.join("bin");
    let mut expected: Vec<&str> = programs().collect();
    expected.sort_unstable();
    assert_eq!(names(&bin), expected);
    assert!(fs::read(bin.join("tfbc")).unwrap() == fs::read(program("tfbc")).unwrap());
    assert_eq!(fs::symlink_metadata(bin.join("tfbc")).unwrap().permissions().mode() & 0o111, 0o111);
    for name in NAMES {
        assert_eq!(fs::read_link(bin.join(name)).unwrap(), Path::new("tfbc"));
        let (help, _, status) = run(Command::new(bin.join(name)).arg("--help"));
        assert!(status == 0 && help.contains(&format!("Usage: {name} ")), "{name}: {help}");
    }
    let share = prefix.join("share");
    let pages = tempfile::tempdir().unwrap();
    run(command("tfbc").arg("man").arg(pages.path()));
    assert!(names(pages.path()).len() > 30);
    assert_eq!(names(&share.join("man/man1")), names(pages.path()));
    for name in &expected {
        let page = fs::read_to_string(share.join(format!("man/man1/{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{name}");
        for (shell, path) in [
            ("bash", format!("bash-completion/completions/{name}")),
            ("zsh", format!("zsh/site-functions/_{name}")),
            ("fish", format!("fish/vendor_completions.d/{name}.fish")),
        ] {
            let (script, ..) = run(command("tfbc").args(["completions", shell, name]));
            assert_eq!(fs::read_to_string(share.join(path)).unwrap(), script, "{shell} {name}");
        }
    }
    for directory in ["bash-completion/completions", "zsh/site-functions", "fish/vendor_completions.d"] {
        assert_eq!(names(&share.join(directory)).len(), expected.len(), "{directory}");
    }
}

#[test]
fn a_fresh_prefix_gets_everything() {
    let home = tempfile::tempdir().unwrap();
    let prefix = home.path().join("new/.local");
    let out = installed(&prefix, &[]);
    assert!(out.contains(prefix.join("bin").to_str().unwrap()) && out.contains("trcrpt"), "{out}");
    assert!(out.lines().count() < 10, "{out}");
    check(&prefix);
}

#[test]
fn a_second_run_replaces_the_first() {
    let home = tempfile::tempdir().unwrap();
    installed(home.path(), &[]);
    // A link to a build, a program without a link, a dangling link, and missing and edited files.
    let bin = home.path().join("bin");
    for name in ["tfbc", "trcrpt", "trace", "trcon", "trcnm"] {
        fs::remove_file(bin.join(name)).unwrap();
    }
    let build = home.path().join("build");
    fs::copy(program("tfbc"), &build).unwrap();
    fs::File::options().append(true).open(&build).unwrap().write_all(b"older").unwrap();
    let built = fs::read(&build).unwrap();
    symlink("../build", bin.join("tfbc")).unwrap();
    symlink(program("tfbc"), bin.join("trcrpt")).unwrap();
    fs::copy(program("tfbc"), bin.join("trace")).unwrap();
    fs::remove_file(home.path().join("share/man/man1/trace.1")).unwrap();
    let script = home.path().join("share/zsh/site-functions/_trace");
    let edited = fs::read_to_string(&script).unwrap() + "# edited\n";
    fs::write(&script, edited).unwrap();
    installed(home.path(), &[]);
    check(home.path());
    assert!(fs::read(&build).unwrap() == built, "the build that a link names stays as it is");

    let (_, err, status) = run(Command::new(bin.join("tfbc")).arg("install").arg("--prefix").arg(home.path()));
    assert_eq!(status, 0, "{err}");
    check(home.path());
}

#[test]
fn foreign_files_are_refused_and_nothing_changes() {
    for with_install in [false, true] {
        let home = tempfile::tempdir().unwrap();
        if with_install {
            installed(home.path(), &[]);
        }
        let foreign =
            ["bin/tfbc", "bin/trace", "bin/trcon", "share/man/man1/trace.1", "share/zsh/site-functions/_trace"];
        for path in foreign {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&path);
            fs::write(&path, "of somebody else").unwrap();
        }
        // A link of the same name to another program.
        fs::remove_file(home.path().join("bin/trcon")).unwrap();
        fs::write(home.path().join("other"), "of somebody else").unwrap();
        symlink("../other", home.path().join("bin/trcon")).unwrap();
        let before = tree(home.path());
        for flags in [&[][..], &["--dry-run"]] {
            let (out, err, status) = install(home.path(), flags);
            assert_eq!((out.as_str(), status), ("", 1));
            for path in foreign {
                assert!(err.contains(home.path().join(path).to_str().unwrap()), "{path}: {err}");
            }
            assert!(err.contains("--force"), "{err}");
            assert!(tree(home.path()) == before);
        }
        installed(home.path(), &["--force"]);
        check(home.path());
        assert_eq!(fs::read_to_string(home.path().join("other")).unwrap(), "of somebody else");
    }
}

#[test]
fn a_directory_is_never_replaced() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("bin/trace")).unwrap();
    for flags in [&[][..], &["--force"]] {
        let (out, err, status) = install(home.path(), flags);
        assert_eq!((out.as_str(), status), ("", 1));
        assert!(err.contains("bin/trace") && err.contains("directory"), "{err}");
        assert_eq!(names(&home.path().join("bin")), ["trace"]);
        assert_eq!(names(home.path()), ["bin"]);
    }
}

#[test]
fn a_dry_run_lists_every_file_and_writes_none() {
    let home = tempfile::tempdir().unwrap();
    let list = installed(home.path(), &["--dry-run"]);
    assert!(names(home.path()).is_empty());
    installed(home.path(), &[]);
    let listed: Vec<PathBuf> = list.lines().map(|line| line.split(" -> ").next().unwrap().into()).collect();
    let files = tree(home.path());
    assert_eq!(listed.len(), files.len());
    assert!(listed.iter().all(|path| files.contains_key(path)), "{list}");
}

#[test]
fn an_unwritable_prefix_is_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "of somebody else").unwrap();
    let closed = home.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let mut prefixes = vec![file.clone(), file.join("below")];
    // Root can write everywhere, so the test does not apply.
    if fs::write(closed.join("probe"), "").is_err() {
        prefixes.push(closed);
    }
    for prefix in prefixes {
        for flags in [&[][..], &["--force"]] {
            let (out, err, status) = install(&prefix, flags);
            assert_eq!((out.as_str(), status), ("", 1), "{err}");
            assert!(err.starts_with("error: cannot write ") && err.contains(prefix.to_str().unwrap()), "{err}");
        }
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "of somebody else");
}

#[test]
fn path_is_mentioned_if_it_lacks_the_programs() {
    let home = tempfile::tempdir().unwrap();
    let (_, err, _) = install(home.path(), &[]);
    let bin = home.path().join("bin");
    assert!(err.contains("PATH") && err.contains(bin.to_str().unwrap()), "{err}");
    let (_, err, _) = run(command("tfbc").arg("install").arg("--prefix").arg(home.path()).env("PATH", &bin));
    assert_eq!(err, "");
}
