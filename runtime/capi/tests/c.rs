//! The library used by a program in C.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name)
}

/// Archive that cargo built as an example before this test.
fn archive() -> PathBuf {
    // The test is in `deps`, next to `examples`.
    let test = std::env::current_exe().unwrap();
    let archive = test.ancestors().nth(2).unwrap().join("examples/libarchive.a");
    assert!(archive.is_file(), "{}: `cargo test -p libtfbc` builds it", archive.display());
    archive
}

/// Compiles a program that uses the library.
fn compiled(source: &str, directory: &TempDir) -> PathBuf {
    let (source, program) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(source), directory.path().join("program"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-Wall", "-Werror", "-g", "-o"]).arg(&program).arg(&source).arg(archive());
    let compiled = compiler.args(["-lpthread", "-ldl", "-lm"]).output().expect("a C compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

#[test]
fn a_program_in_c_reads_rows() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled("examples/rows.c", &directory);
    let run = |args: &[&str]| {
        let ran = Command::new(&program).arg(sample("shell.trc")).args(args).output().unwrap();
        (ran.status.code(), String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned())
    };
    assert_eq!(run(&["events", r#"{"batch_rows":100}"#]), (Some(0), "288 rows in 3 batches\n".into()));
    assert_eq!(run(&["134"]), (Some(0), "3 rows in 1 batches\n".into()));
    assert_eq!(run(&["events", r#"{"exec":"x y"}"#]), (Some(0), "0 rows in 0 batches\n".into()));
    let (status, text) = run(&["events", r#"{"pid":"x y"}"#]);
    assert!(status == Some(1) && text.contains("`x` is not a process id"), "{text}");
    assert_eq!(run(&["events", "{"]).0, Some(1));
}

/// Streams are released early, moved to another thread, and read by turns. If there is valgrind, it finds no wrong
/// access and no leak.
#[test]
fn streams_are_independent() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled("tests/streams.c", &directory);
    let mut commands = vec![Command::new(&program)];
    if Command::new("valgrind").arg("--version").output().is_ok() {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
        valgrind.args(["--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]).arg(&program);
        commands.push(valgrind);
    } else {
        println!("memory is not checked: there is no valgrind");
    }
    for mut command in commands {
        let ran = command.arg(sample("shell.trc")).output().unwrap();
        let text = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        assert_eq!((ran.status.code(), &*text), (Some(0), "10 288 288 288\n"));
    }
}
