//! Tests of `trcevgrp`, and of event groups in `trcrpt`.

use crate::common::{Noise, program, run};
use assert_cmd::Command;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tfbc_recorder::groups::Groups;

const TIDHK: &str = "tidhk - hooks that show which process a thread belongs to (reserved) \"106,10C,134,139,465\"\n";
const GKA: &str = "gka - general kernel activity: files, programs, dispatches (reserved) \
                   \"106,10C,134,139,465,107,135,15b,12e,116,117,200,20E,20F\"\n";

/// Export of another system: a custom class, a list in two objects, an unknown attribute.
const EXPORT: &str = "\
# exported
CuAt:
\tname = \"sys0\"
\tattribute = \"x_trcgrp\"
\tvalue = \"not \\\"ours\\\"\"

SWservAt:
        attribute = \"v5_trcgrp\"
        default = \" \"
        value = \"\\\"010,020\\\"\"

SWservAt:
        attribute = \"v5_trcgrpdesc\"
        default = \" \"
        value = \"all of \\\"version 5\\\"\"
        extra = 7

SWservAt:
        attribute = \"v5_trcgrptype\"
        default = \" \"
        value = \"reserved\"

# more of v6
SWservAt:
\tattribute = \"v6_trcgrp\"
\tdefault = \" \"
\tvalue = \"030\"

SWservAt:
\tattribute = \"v6_trcgrp\"
\tdefault = \" \"
\tvalue = \"\\\"040,\\\"\"
SWservAt:
\tattribute = \"other\"
\tvalue = \"kept\"
";

fn command(name: &str, file: &Path, args: &[&str]) -> Command {
    let mut command = crate::common::command(name);
    command.env("TRCEVGRP_FILE", file).args(args);
    command
}

/// Directory whose file `groups` contains the text.
fn directory(text: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("groups"), text).unwrap();
    directory
}

fn trcevgrp(directory: &TempDir, args: &[&str]) -> (String, String, i32) {
    run(&mut command("trcevgrp", &directory.path().join("groups"), args))
}

fn file(directory: &TempDir) -> String {
    fs::read_to_string(directory.path().join("groups")).unwrap()
}

/// Runs a command that must print no messages.
fn done(directory: &TempDir, args: &[&str]) -> String {
    assert_eq!(trcevgrp(directory, args), (String::new(), String::new(), 0), "{args:?}");
    file(directory)
}

fn list(directory: &TempDir) -> String {
    let (out, error, status) = trcevgrp(directory, &["-l"]);
    assert_eq!((error.as_str(), status), ("", 0));
    out
}

#[test]
fn reserved_groups_are_there_from_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let (out, error, status) = run(&mut command("trcevgrp", &directory.path().join("none"), &["-l"]));
    assert_eq!((out, error.as_str(), status), (format!("{TIDHK}{GKA}"), "", 0));
}

#[test]
fn groups_are_added_changed_and_removed() {
    let directory = directory("");
    let io = done(&directory, &["-a", "-d", "disk \"requests\"", "-h", "10B,10c 15B", "io"]);
    let expected = "SWservAt:\n\tattribute = \"io_trcgrp\"\n\tdefault = \" \"\n\tvalue = \"\\\"10B,10c,15B\\\"\"\n\n\
                    SWservAt:\n\tattribute = \"io_trcgrpdesc\"\n\tdefault = \" \"\n\tvalue = \"disk \\\"requests\\\"\"\n\n\
                    SWservAt:\n\tattribute = \"io_trcgrptype\"\n\tdefault = \" \"\n\tvalue = \"user\"\n";
    assert_eq!(io, expected);
    assert_eq!(list(&directory), format!("{TIDHK}{GKA}io - disk \"requests\" (user) \"10B,10c,15B\"\n"));
    done(&directory, &["-a", "-d", "", "-h", "F5F1", "wide"]);
    assert_eq!(trcevgrp(&directory, &["-l", "wide"]).0, "wide -  (user) \"F5F1\"\n");
    done(&directory, &["-u", "-h", "01", "io"]);
    assert_eq!(
        trcevgrp(&directory, &["-l", "io", "wide"]).0,
        "io - disk \"requests\" (user) \"01\"\nwide -  (user) \"F5F1\"\n"
    );
    done(&directory, &["-u", "-d", "a\\b", "io"]);
    assert_eq!(trcevgrp(&directory, &["-l", "io"]).0, "io - a\\b (user) \"01\"\n");
    done(&directory, &["-u", "-d", "two", "-h", "020", "io"]);
    assert_eq!(trcevgrp(&directory, &["-l", "io"]).0, "io - two (user) \"020\"\n");
    done(&directory, &["-r", "wide", "io"]);
    assert_eq!(list(&directory), format!("{TIDHK}{GKA}"));
}

#[test]
fn exports_are_read_as_they_are() {
    let directory = directory(EXPORT);
    let expected = "v5 - all of \"version 5\" (reserved) \"010,020\"\nv6 -  (user) \"030,040\"\n";
    assert_eq!(list(&directory), format!("{TIDHK}{GKA}{expected}"));
    // Objects that are not groups keep their bytes.
    let object =
        |value: &str| format!("SWservAt:\n\tattribute = \"v6_trcgrp\"\n\tdefault = \" \"\n\tvalue = {value}\n");
    let changed = done(&directory, &["-u", "-h", "050", "v6"]);
    let expected =
        EXPORT.replace(&object("\"030\""), &object("\"\\\"050\\\"\"")).replace(&object("\"\\\"040,\\\"\""), "");
    assert_eq!(changed, expected);
    let removed = done(&directory, &["-r", "v6"]);
    assert_eq!(removed, expected.replace(&(object("\"\\\"050\\\"\"") + "\n"), ""));
}

#[test]
fn other_forms_of_values_are_read() {
    for (value, hooks) in [
        ("\"010,020\"", "010,020"),
        ("\"\"010,020\"\"", "010,020"),
        ("\"\\\"010\\\",\\\"020\\\"\"", "010,020"),
        ("\"010,\\\n020\"", "010,020"),
        ("\"010,\\n\\\r\n020\"", "010,020"),
        ("010,020", "010,020"),
        ("\" 010 020 \"\r", "010 020"),
        ("\"\"", ""),
        ("", ""),
    ] {
        let groups =
            Groups::parse(format!("SWservAt:\r\n attribute=\"a_trcgrp\"\n\n value = {value}\n").into()).unwrap();
        assert_eq!(groups.get("a").unwrap().hooks, hooks, "{value}");
    }
}

#[test]
fn files_may_redefine_built_in_groups() {
    let directory = directory("SWservAt:\n attribute = \"tidhk_trcgrp\"\n value = \"106\"\n");
    assert_eq!(
        trcevgrp(&directory, &["-l", "tidhk"]).0,
        "tidhk - hooks that show which process a thread belongs to (reserved) \"106\"\n"
    );
    let (_, error, _) = trcevgrp(&directory, &["-r", "tidhk"]);
    assert!(error.contains("0454-113"), "{error}");
}

#[test]
fn wrong_calls_have_their_numbers() {
    let directory = directory(EXPORT);
    for (args, part) in [
        (&["io"][..], "0454-101 no action"),
        (&[], "0454-101"),
        (&["-l", "-r", "v6"], "0454-109 several actions"),
        (&["-a", "-u", "-d", "x", "-h", "010", "v6"], "0454-109"),
        (&["-a", "-d", "x", "-h", "010"], "0454-105 expected one event group, found 0"),
        (&["-a", "-d", "x", "-h", "010", "a", "b"], "0454-105 expected one event group, found 2"),
        (&["-u", "-h", "010", "v6", "v5"], "0454-105"),
        (&["-a", "-d", "x", "-h", "010", "v6"], "0454-110 event group `v6` already exists"),
        (&["-a", "-d", "x", "-h", "010", "tidhk"], "0454-110"),
        (&["-u", "-h", "010", "v7"], "0454-111 event group `v7` does not exist; did you mean `v5`?"),
        (&["-r", "tidkh"], "0454-111 event group `tidkh` does not exist; did you mean `tidhk`?"),
        (&["-l", "nothing"], "0454-111 event group `nothing` does not exist: `trcevgrp -l` lists"),
        (&["-u", "-h", "010", "v5"], "0454-113 event group `v5` is reserved"),
        (&["-r", "v6", "gka"], "0454-113 event group `gka` is reserved"),
        (&["-a", "-d", "x", "-h", "010", "*"], "0454-114 `*` is not a valid name"),
        (&["-a", "-d", "x", "-h", "010", "a b"], "0454-114"),
        (&["-a", "-d", "x", "-h", "010", ""], "0454-114"),
        (&["-r", "*"], "0454-114"),
        (&["-a", "-d", "x", "-h", "010,xyz", "a"], "0454-013 event group `a`: `xyz` at position 5"),
        (&["-u", "-h", "", "v6"], "0454-013"),
        (&["-a", "-h", "010", "a"], "0454-900 -a: expected both"),
        (&["-a", "-d", "x", "a"], "0454-900 -a: expected both"),
        (&["-u", "v6"], "0454-900 -u: expected a description"),
        (&["-r"], "0454-900 -r: expected names"),
        (&["-l", "-d", "x"], "0454-900 -d and -h are only for -a and -u"),
        (&["-z"], "0454-900"),
    ] {
        let (out, error, status) = trcevgrp(&directory, args);
        assert_eq!((out.as_str(), status), ("", 1), "{args:?} {error}");
        assert!(error.contains(part), "{args:?}: {error}");
        assert_eq!(file(&directory), EXPORT);
    }
    // The others are listed, and each failure is reported.
    let (out, error, status) = trcevgrp(&directory, &["-l", "no", "v6", "none"]);
    assert_eq!((out.as_str(), status), ("v6 -  (user) \"030,040\"\n", 1));
    assert_eq!(error.matches("0454-111").count(), 2);
    let (_, error, _) = trcevgrp(&directory, &["-r", "no", "v6", "gka"]);
    assert!(error.contains("0454-111") && error.contains("0454-113"), "{error}");
    assert_eq!(file(&directory), EXPORT);
}

#[test]
fn the_file_is_named_by_flag_environment_or_home() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let add = ["-a", "-d", "x", "-h", "010", "a"];
    let mut by_flag = crate::common::command("trcevgrp");
    by_flag.env("TRCEVGRP_FILE", at("environment")).arg("--file").arg(at("flag")).args(add).assert().success();
    let mut by_environment = crate::common::command("trcevgrp");
    by_environment
        .env("TRCEVGRP_FILE", at("environment"))
        .env("XDG_CONFIG_HOME", at("xdg"))
        .args(add)
        .assert()
        .success();
    let bare = || {
        let mut command = crate::common::command("trcevgrp");
        command.env_remove("TRCEVGRP_FILE").env_remove("XDG_CONFIG_HOME").env_remove("HOME");
        command
    };
    bare().env("XDG_CONFIG_HOME", at("xdg")).env("HOME", at("home")).args(add).assert().success();
    bare().env("HOME", at("home")).args(add).assert().success();
    for name in ["flag", "environment", "xdg/tfbc/trcevgrp", "home/.config/tfbc/trcevgrp"] {
        assert!(fs::read_to_string(at(name)).unwrap().contains("a_trcgrp"), "{name}");
    }
    let (_, error, status) = run(bare().args(add));
    assert_eq!(status, 1);
    assert!(error.contains("0454-900") && error.contains("TRCEVGRP_FILE"), "{error}");
    let mut through_tfbc = crate::common::command("tfbc");
    through_tfbc.args(["trcevgrp", "-l", "a"]).arg("--file").arg(at("flag"));
    assert_eq!(run(&mut through_tfbc).0, "a - x (user) \"010\"\n");
}

#[test]
fn files_that_are_none_are_refused() {
    for (text, part) in [
        ("attribute = \"x\"\n", "line 1: expected a class such as `SWservAt:`, found `attribute = \"x\"`"),
        ("SWservAt:\n\tattribute\n", "line 2: expected `NAME = VALUE`, found `attribute`"),
        ("SWservAt:\n\tvalue = \"x\n\tdefault = \"\"\n", "line 2: expected a `\"` that ends the value, found `\"x`"),
        ("SWservAt:\n\tvalue = \"x\" y\n", "line 2: expected the end of the line after the value, found `y`"),
        ("SWservAt:\n\tvalue = \"a\\\nb", "line 3: expected a `\"`"),
    ] {
        let directory = directory(text);
        for args in [&["-l"][..], &["-a", "-d", "x", "-h", "010", "a"]] {
            let (out, error, status) = trcevgrp(&directory, args);
            assert_eq!((out.as_str(), status), ("", 1));
            assert!(error.contains("0454-902 cannot read ") && error.contains(part), "{error}");
            assert_eq!(file(&directory), text);
        }
    }
}

#[test]
fn a_failed_write_leaves_the_file() {
    let directory = directory("");
    let path = directory.path().join("groups").join("below");
    let (_, error, status) = run(&mut command("trcevgrp", &path, &["-a", "-d", "x", "-h", "010", "a"]));
    assert_eq!(status, 1);
    assert!(error.contains("0454-90"), "{error}");
    assert_eq!(file(&directory), "");
}

#[test]
fn reports_choose_hooks_by_group() {
    let directory = directory(EXPORT);
    let groups = directory.path().join("groups");
    done(&directory, &["-a", "-d", "", "-h", "010", "user"]);
    done(&directory, &["-a", "-d", "", "-h", "001", "start"]);
    fs::write(&groups, file(&directory) + "SWservAt:\n attribute = \"void_trcgrp\"\n value = \"\"\n").unwrap();
    fs::write(&groups, file(&directory) + "SWservAt:\n attribute = \"bad_trcgrp\"\n value = \"010,x\"\n").unwrap();
    let sample = crate::common::data("aix/sample32.stream");
    let report = |args: &[&str]| run(command("trcrpt", &groups, args).args(["-h", "-O", "timestamp=3"]).arg(&sample));
    let (whole, ..) = report(&[]);
    let lines = |id: &str, is: bool| {
        let lines = whole.lines().filter(|line| line.starts_with(id) == is).map(|line| format!("{line}\n"));
        lines.collect::<String>()
    };
    let chosen = lines("010", true);
    assert!(!chosen.is_empty());
    assert_eq!(report(&["-D", "user"]).0, chosen);
    assert_eq!(report(&["-K", "user"]).0, lines("010", false));
    assert_eq!(report(&["-D", "user,gka"]).0, chosen);
    assert_eq!(report(&["-D", "v6", "-D", "user"]).0, chosen);
    assert_eq!(report(&["-D", "v6", "-d", "010"]).0, chosen);
    assert_eq!(report(&["-D", "user", "-k", "010"]).0, "");
    for (args, part) in [
        (&["-D", "usr"][..], "0454-111 event group `usr` does not exist; did you mean `user`?"),
        (&["-K", "nothing"], "0454-111"),
        (&["-D", "user,void"], "0454-078 event group `void` has no hooks"),
        (&["-D", "bad"], "0454-013 event group `bad`: `x` at position 5"),
    ] {
        let (out, error, status) = report(args);
        assert_eq!((out.as_str(), status), ("", 1));
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn trcrpt_lists_groups() {
    let directory = directory(EXPORT);
    let groups = directory.path().join("groups");
    let (out, error, status) = run(&mut command("trcrpt", &groups, &["-G"]));
    assert_eq!((out, error.as_str(), status), (list(&directory), "", 0));
    for args in [&["-G", "-h"][..], &["-G", "-d", "010"], &["-G", "trace.log"]] {
        let (out, error, status) = run(&mut command("trcrpt", &groups, args));
        assert_eq!((out.as_str(), status), ("", 1));
        assert!(error.contains("0454-900") && error.contains("-G"), "{error}");
    }
}

#[test]
fn help_has_examples() {
    let (out, _, status) = run(crate::common::command("trcevgrp").arg("--help"));
    assert_eq!(status, 0);
    for part in ["Examples:", "-l", "-r", "-a", "-u", "-d", "-h", "--file", "TRCEVGRP_FILE", "tidhk"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn damaged_files_are_read_without_harm() {
    for len in 0..EXPORT.len() {
        drop(Groups::parse(EXPORT.as_bytes()[..len].to_vec()));
    }
    for seed in 0..2000 {
        let mut noise = Noise::new(seed);
        let mut bytes = EXPORT.as_bytes().to_vec();
        for _ in 0..=noise.below(5) {
            let at = noise.below(bytes.len() as u64) as usize;
            bytes[at] = noise.pick(b"\"\\\n:= \ta\xff\x00");
        }
        let Ok(groups) = Groups::parse(bytes) else { continue };
        // Everything that was read can be changed, and the rest reads the same.
        let names: Vec<_> = groups.all().iter().map(|group| group.name.clone()).collect();
        let added = Groups::parse(groups.with_added("new", "a\n\"b\"", "010").unwrap()).unwrap();
        assert_eq!(added.all().len(), names.len() + 1);
        assert_eq!(added.hooks("new").unwrap().iter().collect::<Vec<_>>(), [0x0100]);
        for name in names {
            if let Ok(bytes) = groups.with_updated(&name, Some("text"), Some("020")) {
                let group = Groups::parse(bytes).unwrap().get(&name).unwrap().clone();
                assert_eq!((group.description.as_str(), group.hooks.as_str()), ("text", "020"), "{seed}");
            }
            if let Ok(bytes) = groups.without(std::slice::from_ref(&name)) {
                assert!(Groups::parse(bytes).unwrap().get(&name).is_none(), "{seed}");
            }
        }
    }
}

#[test]
fn concurrent_changes_are_all_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("folder/groups");
    let children: Vec<_> = (0..12)
        .map(|n| {
            let mut command = std::process::Command::new(program("trcevgrp"));
            command.env("TRCEVGRP_FILE", &file).args(["-a", "-d", "x", "-h", "010", &format!("group{n}")]);
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let groups = Groups::load(&file).unwrap();
    (0..12).for_each(|n| assert!(groups.get(&format!("group{n}")).is_some(), "group{n}"));
    assert_eq!(crate::common::names(&directory.path().join("folder")), ["groups"]);
}

#[test]
fn compressed_groups_are_read_and_not_changed() {
    let directory = directory("");
    let file = directory.path().join("groups.Z");
    let packed = tfbc::testing::unix_compress::compress(EXPORT.as_bytes());
    fs::write(&file, &packed).unwrap();
    let (out, ..) = run(&mut command("trcevgrp", &file, &["-l", "v6"]));
    assert_eq!(out, "v6 -  (user) \"030,040\"\n");
    let (_, error, status) = run(&mut command("trcevgrp", &file, &["-r", "v6"]));
    assert_eq!(status, 1);
    assert!(error.contains("groups.Z: it is compressed by compress (.Z): unpack it first"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), packed);
}
