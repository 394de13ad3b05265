//! Tests of `trcupdate`, and of the undo of every update.

use crate::common::{Noise, command, names, program};
use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tfbc::testing::unix_compress::{Reader, compress, compress_to};
use tfbc_authoring::update::{UpdateResult, apply};
use tfbc_grammar::Source;

const FORMAT: &str = "\
# the format file of a test
010 1.5 L=APPL \"FIRST\" X4
# about 020
020 1.10 \"SECOND\" \\
    \"value\" X4
F5F1 2.0 \"WIDE\" {{ state(v) $v, 0 \"DOWN\", \\* \"UP\" }} state($D1)

030 1.0 \"THIRD\" {{ $x = X2 }} $x
";

/// Directory with the format file `fmt`, an update file `up.trc` and the given files.
fn directory(update: &str, files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("fmt"), FORMAT).unwrap();
    fs::write(directory.path().join("up.trc"), format!("* /etc/trcfmt\n{update}")).unwrap();
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

fn trcupdate(directory: &Path, args: &[&str]) -> Command {
    let mut command = command("trcupdate");
    command.current_dir(directory).args(args);
    command
}

/// Standard output, standard error and exit status.
fn run(directory: &Path, args: &[&str]) -> (String, String, i32) {
    crate::common::run(&mut trcupdate(directory, args))
}

/// Format file after a run of `-t fmt`.
fn updated(directory: &TempDir, args: &[&str]) -> String {
    let (out, error, status) = run(directory.path(), &[&["-t", "fmt"], args].concat());
    assert_eq!((status, out.as_str()), (0, ""), "{error}");
    read(directory, "fmt")
}

/// Checks that a run is refused with all these messages, and that nothing was written.
fn refused(update: &str, args: &[&str], messages: &[&str]) {
    let directory = directory(update, &[]);
    let before = names(directory.path());
    let (out, error, status) = run(directory.path(), &[&["-t", "fmt"], args].concat());
    assert_eq!((status, out.as_str()), (1, ""), "{error}");
    for message in messages {
        assert!(error.contains(message), "{message}: {error}");
    }
    assert_eq!(read(&directory, "fmt"), FORMAT);
    assert_eq!(names(directory.path()), before);
}

fn read(directory: &TempDir, name: &str) -> String {
    fs::read_to_string(directory.path().join(name)).unwrap()
}

#[test]
fn stanzas_are_appended_or_replaced_in_place() {
    let directory = directory("+ 040 1.0 \"NEW\" X4\n+ 020 1.10 \"OTHER\"\n", &[]);
    let format = updated(&directory, &["up"]);
    let expected = FORMAT.replace("020 1.10 \"SECOND\" \\\n    \"value\" X4", "020 1.10 \"OTHER\"");
    assert_eq!(format, format!("{expected}040 1.0 \"NEW\" X4\n"));
}

#[test]
fn stanzas_are_deleted_and_comments_stay() {
    let directory = directory("- 020\n-030\n", &[]);
    let format = updated(&directory, &["up"]);
    let expected = FORMAT.replace("020 1.10 \"SECOND\" \\\n    \"value\" X4\n", "");
    assert_eq!(format, expected.replace("030 1.0 \"THIRD\" {{ $x = X2 }} $x\n", ""));
}

#[test]
fn production_forms_are_read() {
    let update = "* a comment\n# another\n\n* /etc/trcfmt\n+ F5F1 2.1 \"WIDE\" {{ state(v) $v, 0 \"OFF\", \\* \"ON\" }} \\\n\
                  \t{{ $n = X2 }} $n state($D1)\n+ 0500 1.0 \"TWELVE BITS\"\n\t+F5F2\t1.0 @x\n- 010 1.5\n";
    let directory = directory(update, &[]);
    let (_, error, status) = run(directory.path(), &["-t", "fmt", "up"]);
    assert_eq!(status, 0, "{error}");
    assert!(error.contains("0454-905 up.trc:5: `* /etc/trcfmt` is repeated here"), "{error}");
    assert!(error.contains("fmt: 2 added, 1 replaced, 1 deleted; up.undo.trc undoes this"), "{error}");
    let format = read(&directory, "fmt");
    assert!(
        format
            .contains("F5F1 2.1 \"WIDE\" {{ state(v) $v, 0 \"OFF\", \\* \"ON\" }} \\\n\t{{ $n = X2 }} $n state($D1)\n")
    );
    assert!(format.ends_with("0500 1.0 \"TWELVE BITS\"\nF5F2\t1.0 @x\n") && !format.contains("FIRST"), "{format}");
}

#[test]
fn text_may_follow_the_first_lines_name() {
    for first in ["* /etc/trcfmt  for the driver", "*  /etc/trcfmt\r", "*\t/etc/trcfmt"] {
        let update = format!("{first}\n- 010\n");
        let directory = directory("", &[("a.trc", update.as_bytes())]);
        assert!(!updated(&directory, &["a"]).contains("FIRST"), "{first}");
    }
}

#[test]
fn a_file_without_the_first_line_is_refused() {
    for first in ["", "+ 040 1.0 \"X\"\n", "# /etc/trcfmt\n", "* /etc/trcfmts\n", "\n* /etc/trcfmt\n", "/etc/trcfmt\n"]
    {
        let directory = directory("", &[("a.trc", first.as_bytes())]);
        let (_, error, status) = run(directory.path(), &["-t", "fmt", "a"]);
        assert_eq!(status, 1);
        assert!(error.contains("0454-027 a.trc:1: expected `* /etc/trcfmt` in the first line"), "{error}");
        assert!(error.contains("0454-065 fmt is unchanged"), "{error}");
        assert_eq!(read(&directory, "fmt"), FORMAT);
    }
}

#[test]
fn versions_compare_as_pairs_of_integers() {
    let older = |update: &str| {
        refused(update, &["up"], &["0454-066 up.trc:2: stanza 020 has version ", "older than 1.10", "0454-065"]);
    };
    older("+ 020 1.9 \"X\"\n");
    older("+ 020 0.99 \"X\"\n");
    older("+ 0200 1.9 \"X\"\n");
    for version in ["1.10", "1.11", "2.0", "1.011", "10.0"] {
        let directory = directory(&format!("+ 020 {version} \"X\"\n"), &[]);
        assert!(updated(&directory, &["up"]).contains(&format!("020 {version} \"X\"\n")));
    }
    let directory = directory("+ 020 1.9 \"X\"\n", &[]);
    assert!(updated(&directory, &["-o", "up"]).contains("020 1.9 \"X\"\n"));
}

#[test]
fn a_missing_stanza_cannot_be_deleted() {
    refused(
        "+ 040 1.0 \"X\"\n- 050\n",
        &["up"],
        &["0454-067 up.trc:3: stanza 050 is not in the format file", "0454-065"],
    );
    refused("- 010\n- 010\n", &["-o", "up"], &["0454-067 up.trc:3: stanza 010"]);
}

#[test]
fn entries_act_in_their_order() {
    let directory = directory("- 010\n+ 010 1.0 \"AGAIN\"\n+ 040 1.0 \"X\"\n- 040\n", &[]);
    let format = updated(&directory, &["up"]);
    assert_eq!(format, FORMAT.replace("010 1.5 L=APPL \"FIRST\" X4\n", "") + "010 1.0 \"AGAIN\"\n");
}

#[test]
fn a_stanza_twice_in_an_update_draws_a_warning() {
    let directory = directory("+ 040 1.0 \"A\"\n+ 040 1.0 \"B\"\n", &[]);
    let (_, error, status) = run(directory.path(), &["-t", "fmt", "up"]);
    assert_eq!(status, 0);
    assert!(error.contains("0454-022 up.trc:3: stanza 040 is repeated here: the one in line 2 is lost"), "{error}");
    assert_eq!(read(&directory, "fmt"), format!("{FORMAT}040 1.0 \"B\"\n"));
    refused("+ 040 1.1 \"A\"\n+ 040 1.0 \"B\"\n", &["up"], &["0454-066 up.trc:3: stanza 040"]);
}

#[test]
fn lines_that_are_no_entries_are_refused() {
    refused("+ 040 1.0 \"X\"\n  \"rest\" X4\n", &["up"], &["0454-027 up.trc:3: expected `+ stanza`", "`\"rest\" X4`"]);
    refused("+ xyz 1.0 \"X\"\n", &["up"], &["0454-025 up.trc:2: expected 3 or 4 hex digits of a hook id, found `xyz`"]);
    refused("+\n", &["up"], &["0454-025 up.trc:2:"]);
    refused("-\n", &["up"], &["0454-025 up.trc:2:"]);
    refused("- 10\n", &["up"], &["0454-025 up.trc:2:", "found `10`"]);
    refused("- 010 020\n", &["up"], &["0454-027 up.trc:2:", "found `- 010 020`"]);
    refused("+ 040 one \"X\"\n", &["up"], &["0454-028 up.trc:2: stanza 040: expected version and release"]);
}

#[test]
fn comment_that_swallows_an_entry_is_warned_about() {
    let directory = directory("# see \\\n+ 040 1.0 \"X\"\n- 010\n", &[]);
    let (_, error, status) = run(directory.path(), &["-t", "fmt", "up"]);
    assert_eq!(status, 0);
    assert!(error.contains("0454-905 up.trc:2: the comment ends in `\\`"), "{error}");
}

#[test]
fn invalid_stanzas_are_shown_in_the_update_file() {
    refused("# one\n+ 040 1.0 \"X\" \\\n   X17\n", &["up"], &["error[S07]", "up.trc:4:4", "X17", "0454-065"]);
    refused("+ 040 1.0 \"X\" $FED\n", &["up"], &["error[C01]", "up.trc:2:15"]);
    refused("+ 040 1.0 \"X\n", &["up"], &["error[S06]", "up.trc:2:11"]);
    refused("+ 020 1.10 \"X\" nowhere($D1)\n+ 040 1.0 LOOP\n", &["up"], &["error[C02]", "up.trc:2:16", "up.trc:3:"]);
}

#[test]
fn what_other_stanzas_need_cannot_be_deleted() {
    let user = "050 1.0 \"USER\" $010\n";
    let directory = directory("- 010\n", &[("fmt", format!("{FORMAT}{user}").as_bytes())]);
    let (_, error, status) = run(directory.path(), &["-t", "fmt", "up"]);
    assert_eq!(status, 1);
    assert!(error.contains("error[C01]") && error.contains("fmt:8:16"), "{error}");
    assert!(read(&directory, "fmt").contains("FIRST"));
}

#[test]
fn warnings_about_the_updates_stanzas_are_shown() {
    let directory = directory("+ 040 1.0 \"X\" $never\n", &[]);
    let (_, error, status) = run(directory.path(), &["-t", "fmt", "up"]);
    assert_eq!(status, 0);
    assert!(error.contains("warning[C47]") && error.contains("up.trc:2:15"), "{error}");
    let (_, error, _) = run(directory.path(), &["-t", "fmt", "up.undo", "-o"]);
    assert!(!error.contains("warning"), "{error}");
}

#[test]
fn undo_file_is_an_update_in_reverse_order() {
    let directory = directory("+ 010 2.0 \"NEW\"\n- 020\n+ 040 1.0 \"X\"\n", &[]);
    updated(&directory, &["up"]);
    let undo = read(&directory, "up.undo.trc");
    let entries: String = undo.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let expected = "* /etc/trcfmt\n- 040\n+ 020 1.10 \"SECOND\" \\\n    \"value\" X4\n+ 010 1.5 L=APPL \"FIRST\" X4\n";
    assert_eq!(entries, expected);
}

#[test]
fn the_undo_file_restores_byte_for_byte() {
    let directory = directory("+ 010 2.0 \"NEW\"\n- 020\n+ 040 1.0 \"X\"\n", &[]);
    let changed = updated(&directory, &["up"]);
    // Without -o the older stanza 010 is refused.
    let (_, error, status) = run(directory.path(), &["-t", "fmt", "up.undo"]);
    assert_eq!(status, 1);
    assert!(error.contains("0454-066 up.undo.trc:10: stanza 010 has version 1.5, older than 2.0"), "{error}");
    assert_eq!(updated(&directory, &["-o", "up.undo"]), FORMAT);
    assert_eq!(updated(&directory, &["-o", "up.undo.undo"]), changed);
    assert_eq!(updated(&directory, &["-o", "up.undo"]), FORMAT);
}

#[test]
fn on_another_file_an_undo_brings_back_the_stanzas() {
    let directory = directory("+ 010 2.0 \"NEW\"\n- 020\n", &[]);
    let changed = updated(&directory, &["up"]) + "# edited\n";
    fs::write(directory.path().join("fmt"), &changed).unwrap();
    let (_, error, status) = run(directory.path(), &["-o", "-t", "fmt", "up.undo"]);
    assert_eq!(status, 0);
    assert!(
        error.contains("0454-905 up.undo.trc:1: the format file differs from the one that this undo file belongs to"),
        "{error}"
    );
    let expected = changed.replace("010 2.0 \"NEW\"", "010 1.5 L=APPL \"FIRST\" X4");
    assert_eq!(read(&directory, "fmt"), format!("{expected}020 1.10 \"SECOND\" \\\n    \"value\" X4\n"));
}

#[test]
fn an_undo_brings_back_stanzas_that_do_not_compile() {
    let broken = "010 1.0 \"A\" X17\n020 1.0 \"B\"\n";
    let directory = directory("+ 010 1.0 \"MENDED\" X4\n", &[("fmt", broken.as_bytes())]);
    updated(&directory, &["up"]);
    assert_eq!(updated(&directory, &["-o", "up.undo"]), broken);
}

#[test]
fn the_same_update_again_changes_nothing() {
    let directory = directory("+ 010 2.0 \"NEW\"\n", &[]);
    let changed = updated(&directory, &["up"]);
    let undo = read(&directory, "up.undo.trc");
    let (_, error, status) = run(directory.path(), &["-t", "fmt", "up"]);
    assert_eq!(status, 0);
    assert!(error.contains("fmt already contains all of this"), "{error}");
    assert_eq!(read(&directory, "fmt"), changed);
    assert_eq!(read(&directory, "up.undo.trc"), undo);
}

#[test]
fn stanzas_are_taken_out_as_they_stand() {
    let directory = directory("+ 010 2.0 \"NEW\"\n", &[("tail", b"030 1.0 \"A\" \\\r\n  X4\r\n# x\n010 1.0 \"B\"")]);
    let second = "020 1.10 \"SECOND\" \\\n    \"value\" X4\n";
    for (ids, expected) in [
        ("020", second.to_owned()),
        ("0200,F5F1", format!("{second}F5F1 2.0 \"WIDE\" {{{{ state(v) $v, 0 \"DOWN\", \\* \"UP\" }}}} state($D1)\n")),
        ("02", second.to_owned()),
        ("030 020", format!("{second}030 1.0 \"THIRD\" {{{{ $x = X2 }}}} $x\n")),
    ] {
        assert_eq!(run(directory.path(), &["-t", "fmt", "-x", ids]), (expected, String::new(), 0), "{ids}");
    }
    assert_eq!(run(directory.path(), &["-t", "tail", "-x", "01,03"]).0, "030 1.0 \"A\" \\\r\n  X4\r\n010 1.0 \"B\"\n");
    let (out, error, status) = run(directory.path(), &["-t", "fmt", "-x", "020,0F0"]);
    assert_eq!((out.as_str(), status), (second, 1));
    assert!(error.contains("0454-067 no stanza of 0F0 in fmt"), "{error}");
    let (out, error, status) = run(directory.path(), &["-t", "fmt", "-x", "020,xx"]);
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(error.contains("0454-013") && error.contains("position 5"), "{error}");
    assert_eq!(read(&directory, "fmt"), FORMAT);
    // With an update, the previous stanza is printed.
    let (out, _, status) = run(directory.path(), &["-t", "fmt", "-x", "010", "up"]);
    assert_eq!((out.as_str(), status), ("010 1.5 L=APPL \"FIRST\" X4\n", 0));
    assert!(read(&directory, "fmt").contains("010 2.0 \"NEW\""));
}

#[test]
fn files_are_named_as_they_are_opened() {
    let directory = directory("+ 010 2.0 \"NEW\"\n", &[]);
    let (_, error, _) = run(directory.path(), &["-v", "-t", "fmt", "up"]);
    let lines: Vec<_> = error.lines().take(3).collect();
    assert_eq!(lines, ["fmt", "up.trc", "up.undo.trc"]);
}

#[test]
fn packed_format_files_stay_packed() {
    let unpack = |path: PathBuf| {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut Reader::new(&fs::read(path).unwrap()[..]), &mut text).unwrap();
        text
    };
    let packed = compress_to(FORMAT.as_bytes(), 12);
    let directory = directory("+ 010 2.0 \"NEW\"\n", &[("packed", &packed), ("other.Z", &compress(FORMAT.as_bytes()))]);
    for (given, name) in [("packed", "packed"), ("other", "other.Z")] {
        let path = directory.path().join(name);
        let before = fs::read(&path).unwrap();
        let (_, error, status) = run(directory.path(), &["-t", given, "up"]);
        assert_eq!(status, 0, "{error}");
        assert_eq!(unpack(path.clone()), FORMAT.replace("010 1.5 L=APPL \"FIRST\" X4", "010 2.0 \"NEW\""));
        let (_, error, status) = run(directory.path(), &["-o", "-t", given, "up.undo"]);
        assert_eq!(status, 0, "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(run(directory.path(), &["-t", given, "-x", "010"]).0, "010 1.5 L=APPL \"FIRST\" X4\n");
    }
    let mut damaged = packed;
    damaged.truncate(40);
    damaged.extend([0xFF; 8]);
    fs::write(directory.path().join("packed"), &damaged).unwrap();
    let (_, error, status) = run(directory.path(), &["-t", "packed", "up"]);
    assert_eq!(status, 1);
    assert!(error.contains("0454-902 cannot read packed: damaged .Z data at offset 0x"), "{error}");
    assert_eq!(fs::read(directory.path().join("packed")).unwrap(), damaged);
}

#[test]
fn update_files_may_be_packed() {
    let packed = compress(b"* /etc/trcfmt\n- 010\n");
    let directory = directory("", &[("a.trc", &packed), ("cut.trc", &packed[..2])]);
    assert!(!updated(&directory, &["a"]).contains("FIRST"));
    let (_, error, status) = run(directory.path(), &["-t", "fmt", "cut"]);
    assert_eq!(status, 1);
    assert!(error.contains("cut.trc"), "{error}");
}

#[test]
fn files_of_other_kinds_are_refused() {
    for (bytes, part) in [
        (&b"\x89TFBC\r\n\x1a rest"[..], "compiled blob"),
        (b"\x1f\x8b\x08 rest", "gzip file"),
        (b"\x28\xb5\x2f\xfd rest", "zstd file"),
        (b"\xef\xdf\x11\x14", "trace"),
        (b"<?xml version=\"1.0\"?><a/>", "file of XML event definitions, which has no stanzas"),
    ] {
        let directory = directory("+ 010 2.0 \"NEW\"\n", &[("fmt", bytes)]);
        let (_, error, status) = run(directory.path(), &["-t", "fmt", "up"]);
        assert_eq!(status, 1);
        assert!(error.contains("0454-904 cannot read fmt: it is a") && error.contains(part), "{error}");
        assert_eq!(fs::read(directory.path().join("fmt")).unwrap(), bytes);
    }
    let directory = directory("", &[]);
    let (_, error, status) = run(directory.path(), &["-t", ".", "up"]);
    assert_eq!(status, 1);
    assert!(error.contains("0454-902 cannot read .: not a regular file"), "{error}");
}

#[test]
fn missing_files_are_named() {
    let directory = directory("", &[("plain", b"* /etc/trcfmt\n")]);
    for (args, parts) in [
        (&["-t", "fmt", "nothing"][..], &["0454-902 cannot read nothing.trc: "][..]),
        (&["-t", "fmt", "up.trc"], &["cannot read up.trc.trc", "the suffix .trc is added, so give `up`"]),
        (&["-t", "fmt", "plain"], &["cannot read plain.trc", "ends in .trc"]),
        (&["-t", "none", "up"], &["0454-902 cannot read none: "]),
        (&[], &["0454-900", "FILE"]),
        (&["-q", "up"], &["0454-900"]),
        (&["-t", "up.undo.trc", "up"], &["cannot read up.undo.trc"]),
    ] {
        let (out, error, status) = run(directory.path(), args);
        assert_eq!((out.as_str(), status), ("", 1), "{args:?}");
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    if !Path::new("/etc/trcfmt").exists() && !Path::new("/etc/trcfmt.Z").exists() {
        let (_, error, _) = run(directory.path(), &["up"]);
        assert!(error.contains("0454-902 cannot read /etc/trcfmt: ") && error.contains("with -t"), "{error}");
    }
    fs::write(directory.path().join("up.undo.trc"), FORMAT).unwrap();
    let (_, error, status) = run(directory.path(), &["-t", "up.undo.trc", "up"]);
    assert_eq!(status, 1);
    assert!(error.contains("0454-903 cannot write up.undo.trc: this command also reads the file"), "{error}");
    assert_eq!(read(&directory, "up.undo.trc"), FORMAT);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = directory("+ 010 2.0 \"NEW\"\n", &[]);
    let at = |name: &str| directory.path().join(name);
    fs::set_permissions(at("fmt"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("fmt", at("link")).unwrap();
    let (_, error, status) = run(directory.path(), &["-t", "link", "up"]);
    assert_eq!(status, 0, "{error}");
    assert!(at("link").is_symlink());
    assert!(read(&directory, "fmt").contains("010 2.0"));
    assert_eq!(fs::metadata(at("fmt")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(directory.path()), ["fmt", "link", "up.trc", "up.undo.trc"]);
}

#[test]
fn help_has_examples() {
    let directory = tempfile::tempdir().unwrap();
    let (out, _, status) = run(directory.path(), &["--help"]);
    assert_eq!(status, 0);
    for part in ["Examples:", "-o", "-t", "-v", "-x", "* /etc/trcfmt", ".undo.trc"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let mut command = command("tfbc");
    command.args(["trcupdate", "--help"]).assert().success();
}

/// Format file that takes a while to compile, an update, and the result.
fn long_format() -> (String, String) {
    let format: String = (0..1500).map(|n| format!("{:04X} 1.0 \"LABEL\" \"text\" X4\n", 0x1000 + n)).collect();
    let changed = format.replace("1000 1.0 \"LABEL\"", "1000 1.0 \"OTHER\"");
    (format, changed.replace("1001 1.0 \"LABEL\" \"text\" X4\n", ""))
}

#[cfg(unix)]
#[test]
fn killed_update_leaves_the_old_or_new_file() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let (old, new) = long_format();
    let directory = directory("+ 1000 1.0 \"OTHER\" \"text\" X4\n- 1001\n", &[("fmt", old.as_bytes())]);
    let begun = Instant::now();
    updated(&directory, &["up"]);
    let mut whole = begun.elapsed();
    let undo = read(&directory, "up.undo.trc");
    let mut noise = Noise::new(1);
    let mut n_new = 0;
    for _ in 0..50 {
        fs::write(directory.path().join("fmt"), &old).unwrap();
        let _ = fs::remove_file(directory.path().join("up.undo.trc"));
        let mut command = Command::new(program("trcupdate"));
        command.current_dir(directory.path()).args(["-t", "fmt", "up"]).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Most of the time passes before anything is written.
        std::thread::sleep(whole.mul_f64(noise.below(1300) as f64 / 1000.0) + Duration::from_micros(noise.below(500)));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = read(&directory, "fmt");
        if found == new {
            n_new += 1;
            assert_eq!(read(&directory, "up.undo.trc"), undo);
            // The first run may have been slow.
            whole = whole * 15 / 16;
        } else {
            assert!(found == old, "{} bytes", found.len());
        }
    }
    assert!(n_new < 50);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let (old, _) = long_format();
    let update = "+ 1000 1.0 \"OTHER\" \"text\" X4\n";
    let directory = directory(update, &[("fmt", old.as_bytes()), ("up.undo.trc", b"an older one")]);
    let before = names(directory.path());
    // Files are limited to a few KiB.
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {} -t fmt up", program("trcupdate").display());
    let (_, error, status) = crate::common::run(Command::new("sh").current_dir(directory.path()).args(["-c", &script]));
    assert_eq!(status, 1, "{error}");
    assert!(error.contains("0454-903 cannot write fmt: ") && !error.contains(".tfbc-"), "{error}");
    assert!(read(&directory, "fmt") == old);
    assert_eq!(read(&directory, "up.undo.trc"), "an older one");
    assert_eq!(names(directory.path()), before);
}

#[test]
fn updates_at_the_same_time_follow_each_other() {
    let directory = directory("", &[]);
    let children: Vec<_> = (0..8)
        .map(|n| {
            let update = format!("* /etc/trcfmt\n+ 10{n} 1.0 \"N\"\n");
            fs::write(directory.path().join(format!("u{n}.trc")), update).unwrap();
            let mut command = std::process::Command::new(program("trcupdate"));
            let name = format!("u{n}");
            command.current_dir(directory.path()).args(["--quiet", "-t", "fmt", &name]).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let format = read(&directory, "fmt");
    assert!((0..8).all(|n| format.contains(&format!("10{n} 1.0 \"N\"\n"))), "{format}");
}

fn outcome(format: &[u8], update: &[u8]) -> UpdateResult {
    apply(&Source::new("fmt", format), Source::new("up.trc", update), true, tfbc_grammar::SourceLimits::default())
}

/// New format file and undo file of an update that must be accepted.
fn change(format: &[u8], update: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let outcome = outcome(format, update);
    let show = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let Some(change) = outcome.change else {
        let findings: Vec<_> = outcome.findings.diagnostics.iter().map(|found| &found.message).collect();
        panic!("{:?} {findings:?}\n{}\n{}", outcome.problems, show(format), show(update));
    };
    (change.format, change.undo)
}

/// Ids in generated files.
const IDS: [&str; 6] = ["010", "0200", "030", "1FA", "F5F1", "0A0"];

fn stanza(noise: &mut Noise, newline: &str) -> String {
    let id = noise.pick(&IDS);
    let version = format!("{}.{}", noise.below(3), noise.below(12));
    let indent = noise.pick(&["", "", "", " ", "\t", " \\\n", "\\\r\n  "]);
    let body = noise.pick(&[
        "",
        " \"A\" X4",
        "  word \"# no\"",
        " \"a\\\nb\" X2",
        " L=APPL \"x\" \\\n  D4",
        "\\\n",
        " {{ $x = X2 }} $x ",
    ]);
    format!("{indent}{id} {version}{}{newline}", body.replace('\n', newline))
}

fn format_file(noise: &mut Noise) -> Vec<u8> {
    let newline = noise.pick(&["\n", "\n", "\r\n"]);
    let mut text = String::new();
    for _ in 0..noise.below(12) {
        match noise.below(5) {
            0 => text.push_str(&format!("# comment{newline}")),
            1 => text.push_str(noise.pick(&["\n", "  \r\n", "\t\n", "# a \\\n# b\n", "\\\n\n"])),
            _ => text.push_str(&stanza(noise, newline)),
        }
    }
    text.push_str(noise.pick(&[
        "",
        "",
        "# end",
        "010 1.0 \"last\"",
        "020 1.0 x \\",
        "030 1.0 \\\n",
        "# x \\\n",
        "0A0 1.0 \\\r\n",
        " ",
        "1FA 1.0 \"x\"\r",
        "1FA 1.0 \\\r",
    ]));
    text.into_bytes()
}

fn update_file(noise: &mut Noise, format: &[u8]) -> Vec<u8> {
    let mut present: Vec<&str> = Vec::new();
    for line in tfbc_authoring::update::ids(&Source::new("f", format)).iter() {
        present.extend(IDS.iter().find(|id| u16::from_str_radix(&format!("{id:0<4}"), 16) == Ok(line)));
    }
    // 020 has two spellings.
    let mut text = String::from("* /etc/trcfmt\n");
    let newline = noise.pick(&["\n", "\n", "\r\n"]);
    for _ in 0..noise.below(8) {
        if noise.below(3) == 0 && !present.is_empty() {
            let gone = present.swap_remove(noise.below(present.len() as u64) as usize);
            text.push_str(&format!("- {gone}{newline}"));
        } else {
            let stanza = stanza(noise, newline);
            let id = IDS.iter().find(|id| stanza.contains(&format!("{id} "))).unwrap();
            if !present.contains(id) {
                present.push(id);
            }
            text.push_str(&format!("{}{stanza}", noise.pick(&["+ ", "+", "+  "])));
        }
        if noise.below(4) == 0 {
            text.push_str(noise.pick(&["# comment\n", "\n", "* comment\r\n"]));
        }
    }
    if noise.below(3) == 0 {
        text.push_str(noise.pick(&["+ 010 9.9 \"end\"", "+ 010 9.9 \"end\" \\\n", "+ 010 9.9 end\\"]));
    }
    text.into_bytes()
}

/// True if a format file compiles. The generator may create one that does not, where a lone return ends a stanza.
fn compiles(format: &[u8]) -> bool {
    outcome(format, b"* /etc/trcfmt\n").change.is_some()
}

#[test]
fn every_sequence_of_updates_is_undone_byte_for_byte() {
    let mut n_done = 0;
    for seed in 0..150 {
        let mut noise = Noise::new(seed);
        let mut states = vec![format_file(&mut noise)];
        let mut undos = Vec::new();
        if !compiles(&states[0]) {
            continue;
        }
        n_done += 1;
        for _ in 0..3 {
            let last = states.last().unwrap();
            let update = update_file(&mut noise, last);
            let (new, undo) = change(last, &update);
            states.push(new);
            undos.push(undo);
        }
        while let Some(undo) = undos.pop() {
            let changed = states.pop().unwrap();
            let expected = states.last().unwrap();
            let (back, redo) = change(&changed, &undo);
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert!(back == *expected, "{seed}:\n{:?}\n{:?}\n{:?}", show(expected), show(&undo), show(&back));
            assert!(change(&back, &redo).0 == changed, "{seed}:\n{:?}", show(&redo));
        }
    }
    assert!(n_done > 75, "{n_done}");
}

/// Text of the stanza in force for each id, with continuations as one blank.
fn in_force(format: &[u8]) -> Vec<(u16, String)> {
    use tfbc_grammar::trcfmt::{LineKind, head, logical_lines};
    let source = Source::new("f", format);
    let mut found = std::collections::BTreeMap::new();
    for line in logical_lines(&source).filter(|line| line.kind == LineKind::Stanza) {
        if let Some(id) = head(&source, line.span).id {
            let text = String::from_utf8_lossy(source.slice(line.span)).into_owned();
            found.insert(id.0, text.replace('\\', " ").split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    found.into_iter().collect()
}

#[test]
fn without_its_places_an_undo_file_says_the_same() {
    for seed in 0..150 {
        let mut noise = Noise::new(seed + 1000);
        let format = format_file(&mut noise);
        if !compiles(&format) {
            continue;
        }
        let update = update_file(&mut noise, &format);
        let (changed, undo) = change(&format, &update);
        let plain: Vec<u8> = undo
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !line.starts_with(b"# undo:") && !line.starts_with(b"# place:"))
            .flatten()
            .copied()
            .collect();
        let (back, _) = change(&changed, &plain);
        assert_eq!(in_force(&back), in_force(&format), "{seed}: {}", String::from_utf8_lossy(&plain));
    }
}

#[test]
fn truncated_update_files_do_no_harm() {
    let directory = directory("+ 010 2.0 \"NEW\" \\\n \"more\" X4\n- 020\n+ F5F1 3.0 \"W\" $D1%UW\n", &[]);
    let update = read(&directory, "up.trc");
    let (changed, undo) = change(FORMAT.as_bytes(), update.as_bytes());
    for (format, update) in [(FORMAT.as_bytes(), update.as_bytes()), (&changed, &undo)] {
        for len in 0..update.len() {
            let outcome = outcome(format, &update[..len]);
            if let Some(change) = outcome.change {
                assert!(self::change(&change.format, &change.undo).0 == format, "{len}");
            }
        }
    }
}

#[test]
fn damaged_update_and_format_files_are_read_without_harm() {
    let (changed, undo) = change(FORMAT.as_bytes(), b"* /etc/trcfmt\n- 020\n+ 010 2.0 \"N\"\n+ 040 1.0 \"X\"\n");
    for seed in 0..200 {
        let mut noise = Noise::new(seed);
        let (mut update, mut format) = (undo.clone(), changed.clone());
        for _ in 0..=noise.below(4) {
            let at = noise.below(update.len() as u64) as usize;
            update[at] = noise.below(256) as u8;
        }
        if noise.below(2) == 0 {
            let at = noise.below(format.len() as u64) as usize;
            format[at] = noise.below(256) as u8;
        }
        if let Some(change) = outcome(&format, &update).change {
            assert!(self::change(&change.format, &change.undo).0 == format, "{seed}");
        }
        let bytes: Vec<u8> = (0..300).map(|_| noise.below(256) as u8).collect();
        drop(outcome(&bytes, &[b"* /etc/trcfmt\n", &bytes[..]].concat()));
    }
}

#[test]
fn large_files_are_changed_and_changed_back() {
    let n = 20_000;
    let format: String =
        (0..n).map(|n| format!("{:04X} 1.0 \"LABEL\" \"a text that fills the line\" X4\n", 0x1000 + n)).collect();
    let update: String = (0..n).map(|n| format!("+ {:04X} 1.1 \"LABEL\"\n", 0x1000 + n)).collect();
    let (changed, undo) = change(format.as_bytes(), format!("* /etc/trcfmt\n{update}").as_bytes());
    assert!(change(&changed, &undo).0 == format.as_bytes());
}
