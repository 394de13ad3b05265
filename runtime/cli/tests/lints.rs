//! Tests of `tfbc check`: fixes, levels and formats for programs; and `docs/lints.md`, which lists every code.
//!
//! `TFBC_BOOK=update` writes that list.

use crate::common::{command, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tfbc_grammar::{CodeInfo, Severity, Source, Sources};

fn tfbc(directory: &TempDir, args: &[&str]) -> (String, String, i32) {
    run(command("tfbc").args(args).current_dir(directory))
}

fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(directory.path().join(name), text).unwrap());
    directory
}

fn read(directory: &TempDir, name: &str) -> Vec<u8> {
    fs::read(directory.path().join(name)).unwrap()
}

const DOOR: &[u8] = b"# \xff\r\n0D1 1.0 \"DOOR\xe9\" U4, 0 no, 1 yes, \\ \r\n 1 ja,\r\n0D2 1.0 \"E\" x4 $D1\r\n";

#[test]
fn safe_fixes_keep_line_ends_and_non_text_bytes() {
    let directory = directory(&[("a.trcfmt", DOOR)]);
    let (out, err, status) = tfbc(&directory, &["check", "--fix", "a.trcfmt", "--message-format", "short"]);
    assert_eq!((out.as_str(), status), ("", 0));
    assert!(err.contains("a.trcfmt:3:13: warning[S47]"), "{err}");
    assert!(err.ends_with("fixed 3 findings in a.trcfmt (1 left)\n"), "{err}");
    let expected = b"# \xff\r\n0D1 1.0 \"DOOR\xe9\" U4, 0 no, 1 yes\r\n0D2 1.0 \"E\" x4 $D1\r\n";
    assert_eq!(read(&directory, "a.trcfmt").escape_ascii().to_string(), expected.escape_ascii().to_string());
    let (_, err, _) = tfbc(&directory, &["check", "--fix", "a.trcfmt", "--message-format", "short"]);
    assert!(!err.contains("fixed"), "{err}");
}

#[test]
fn guesses_are_made_where_they_are_asked_for() {
    for flag in ["--fix=all", "--unsafe-fixes"] {
        let directory = directory(&[("a.trcfmt", DOOR)]);
        let (_, err, status) = tfbc(&directory, &["check", flag, "a.trcfmt"]);
        assert_eq!((err.as_str(), status), ("fixed 4 findings in a.trcfmt (0 left)\n", 0));
        assert!(read(&directory, "a.trcfmt").ends_with(b"\"E\" X4 $D1\r\n"));
    }
}

#[test]
fn a_dry_run_prints_a_diff_and_changes_nothing() {
    let text = b"0D1 1.0 \"E\" U4, 0 no,\n0D2 1.0 \"E\" X4 \\";
    let directory = directory(&[("a.trcfmt", text)]);
    let (out, err, status) = tfbc(&directory, &["check", "--fix", "--dry-run", "a.trcfmt"]);
    let diff = "--- a.trcfmt\n+++ a.trcfmt\n@@ -1,2 +1,2 @@\n-0D1 1.0 \"E\" U4, 0 no,\n-0D2 1.0 \"E\" X4 \\\n\
                \\ No newline at end of file\n+0D1 1.0 \"E\" U4, 0 no\n+0D2 1.0 \"E\" X4 \n\\ No newline at end of file\n";
    assert_eq!((out.as_str(), err.as_str(), status), (diff, "would fix 2 findings in a.trcfmt (0 left)\n", 0));
    assert_eq!(read(&directory, "a.trcfmt"), text);
    let coloured = tfbc(&directory, &["check", "--fix", "--dry-run", "--color", "always", "a.trcfmt"]).0;
    assert!(coloured.contains("\x1b[31m-0D1"), "{coloured:?}");
    let (_, err, status) = tfbc(&directory, &["check", "--dry-run", "a.trcfmt"]);
    assert!(err.contains("--fix") && status == 1, "{err}");
}

#[test]
fn several_files_and_standard_input_are_mended() {
    const XML: &str = "<!DOCTYPE a><eventdefinitions><datakey format=\"%4u1x a\"><event class=\"6\" id=\"1\"/></datakey></eventdefinitions>\n";
    let directory = directory(&[("a.trcfmt", b"0D1 1.0 \"E\" U4, 0 no,\n"), ("b.xml", XML.as_bytes())]);
    let (_, err, status) = tfbc(&directory, &["check", "--fix", "a.trcfmt", "b.xml"]);
    let expected = "fixed 1 finding in a.trcfmt (0 left)\nfixed 1 finding in b.xml (0 left)\n";
    assert_eq!((err.as_str(), status), (expected, 0));
    assert_eq!(read(&directory, "b.xml"), XML.strip_prefix("<!DOCTYPE a>").unwrap().as_bytes());
    let mut command = command("tfbc");
    let (out, err, status) = run(command.args(["check", "--fix", "-"]).write_stdin("0D1 1.0 \"E\" U4, 0 no,\n"));
    assert_eq!((out.as_str(), status), ("0D1 1.0 \"E\" U4, 0 no\n", 0));
    assert_eq!(err, "fixed 1 finding in standard input (0 left)\n");
}

#[test]
fn a_fix_that_does_harm_is_left_out() {
    let text = b"0D1 1.0 \"E\" loop $D1 BitFlags X4, 1 a\n";
    let directory = directory(&[("a.trcfmt", text)]);
    let (_, err, status) = tfbc(&directory, &["check", "--fix=all", "a.trcfmt"]);
    assert!(err.contains("loop") && err.ends_with("fixed 1 finding in a.trcfmt (1 left)\n") && status == 0, "{err}");
    assert_eq!(read(&directory, "a.trcfmt"), b"0D1 1.0 \"E\" loop $D1 BITFLAGS X4, 1 a\n");
}

#[test]
fn levels_are_set_by_flags() {
    let directory = directory(&[("a.trcfmt", b"0D1 1.0 \"E\" x4 $D1 {{ $x = X4 }} U4, 1 a, 1 b\n")]);
    let short = |args: &[&str]| {
        let (_, err, status) = tfbc(&directory, &[&["check", "--message-format", "short", "a.trcfmt"], args].concat());
        let found = err.lines().filter_map(|line| line.split_once(": ")?.1.split_once(':')).map(|(found, _)| found);
        (found.collect::<Vec<_>>().join(" "), status)
    };
    let check =
        |args: &[&str], expected: &str, status: i32| assert_eq!(short(args), (expected.into(), status), "{args:?}");
    check(&[], "warning[S47] warning[C49] warning[C44]", 0);
    check(&["--allow", "S47,C44"], "warning[C49]", 0);
    check(&["--allow", "all", "--warn", "C49"], "warning[C49]", 0);
    check(&["--deny", "C"], "warning[S47] error[C49] error[C44]", 1);
    check(&["--deny", "C4x", "--warn", "C44", "--allow", "S"], "error[C49] warning[C44]", 1);
    check(&["--deny", "all", "--allow", "S47", "--allow", "C49", "--allow", "C44"], "", 0);
    check(&["--strict", "--allow", "S47,C44"], "warning[C49]", 1);
    check(&["--allow", "S47", "--deny", "S47"], "error[S47] warning[C49] warning[C44]", 1);
}

#[test]
fn quiet_hides_warnings_but_no_errors() {
    let warning = &b"010 1.0 \"L\" {{ $x = X2 }}\n"[..];
    let directory =
        directory(&[("warning", warning), ("both", b"010 1.0 \"L\" {{ $x = X2 }}\n011 1.0 \"M\" BITFLAGS\n")]);
    for command in [&["check"][..], &["check", "--message-format", "short"], &["compile", "-o", "blob"]] {
        let (_, err, status) = tfbc(&directory, &[command, &["--quiet", "warning"]].concat());
        assert_eq!((err.as_str(), status), ("", 0), "{command:?}");
        let (_, err, status) = tfbc(&directory, &[command, &["--quiet", "both"]].concat());
        assert!(err.contains("error[") && !err.contains("warning["), "{command:?}: {err}");
        assert_eq!(status, 1, "{command:?}");
        // The warning is why the command fails.
        let (_, err, status) = tfbc(&directory, &[command, &["--quiet", "--strict", "warning"]].concat());
        assert!(err.contains("[C49]"), "{command:?}: {err}");
        assert_eq!(status, 1, "{command:?}");
    }
}

#[test]
fn a_level_of_no_warning_is_refused() {
    let directory = directory(&[("a.trcfmt", b"0D1 1.0 \"E\"\n")]);
    for (code, expected) in [
        ("S02", "S02 is an error and cannot be allowed"),
        ("S4", ""),
        ("S99", "unknown code `S99`; did you mean"),
        ("nonsense", "unknown code `nonsense`"),
        ("S0x", "unknown code `S0x`"),
    ] {
        let (_, err, status) = tfbc(&directory, &["check", "--allow", code, "a.trcfmt"]);
        assert!(err.contains(expected) && status == i32::from(!expected.is_empty()), "{code}: {err}");
    }
}

#[test]
fn what_is_denied_ends_commands_that_load_format_files() {
    let directory = directory(&[("a.trcfmt", b"0D1 1.0 \"E\" x4 $D1\n")]);
    let event = ["event", "-t", "a.trcfmt", "--env", "32", "0d1a0000", "0000002a"];
    assert_eq!(tfbc(&directory, &event).2, 0);
    let (out, err, status) = tfbc(&directory, &[&event[..], &["--deny", "S47"]].concat());
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(err.starts_with("error[S47]"), "{err}");
    assert_eq!(tfbc(&directory, &["compile", "a.trcfmt", "-o", "a.tfbc", "--deny", "S47"]).2, 1);
    assert!(!directory.path().join("a.tfbc").exists());
}

fn sarif(directory: &TempDir, args: &[&str]) -> Value {
    let (out, _, _) = tfbc(directory, &[&["check", "--message-format", "sarif"], args].concat());
    serde_json::from_str(&out).unwrap()
}

/// Validator for logs, made from the OASIS schema.
fn validator() -> jsonschema::Validator {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas/sarif-schema-2.1.0.json");
    let mut schema: Value = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    // This pattern, for properties that our logs do not use, has an unmatched bracket.
    for definition in ["run", "toolComponent"] {
        let language = schema["definitions"][definition]["properties"]["language"].as_object_mut().unwrap();
        assert!(language.remove("pattern").is_some());
    }
    jsonschema::draft7::new(&schema).unwrap()
}

#[test]
fn sarif_is_valid_and_equals_the_other_formats() {
    let validator = validator();
    let broken = b"0D1 1.0 \"\xe9\xc3\xa9\" X17\n0D2 1.0 \"E\" U4, 0 no, 0 nein,\n0D2 1.0\n\xff\xfe";
    let xml = b"<eventdefinitions>\n<datakey format='%s a'><event class='6' id='01'/><enum vaule='1'/></datakey></eventdefinitions>";
    let directory = directory(&[("a b.trcfmt", broken), ("c.xml", xml), ("good.trcfmt", b"0D1 1.0 \"E\"\n")]);
    for files in [&["a b.trcfmt", "c.xml"][..], &["good.trcfmt"]] {
        let log = sarif(&directory, files);
        let wrong: Vec<String> = validator.iter_errors(&log).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{log:#}");
    }
    let log = sarif(&directory, &["a b.trcfmt", "c.xml"]);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let (short, ..) = tfbc(&directory, &["check", "--message-format", "json", "a b.trcfmt", "c.xml"]);
    assert_eq!(results.len(), short.lines().count());
    for (result, line) in results.iter().zip(short.lines()) {
        let json: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&result["ruleId"], &result["level"]), (&json["code"], &json["severity"]));
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert_eq!(
            (&region["startLine"], &region["startColumn"]),
            (&json["primary"]["line"], &json["primary"]["column"])
        );
        assert_eq!(region["byteOffset"], json["primary"]["start"]);
        assert_eq!(result.get("fixes").is_some(), !json["fix"].is_null());
        let rule = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][rule]["id"], json["code"]);
    }
    let first = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(first["artifactLocation"]["uri"], "a%20b.trcfmt");
    // Column 14: an invalid byte and a two-byte letter count as one character each.
    assert_eq!((&first["region"]["startColumn"], &first["region"]["byteOffset"]), (&14.into(), &14.into()));
}

#[test]
fn a_log_that_is_not_valid_is_found_out() {
    let validator = validator();
    let directory = directory(&[("a.trcfmt", b"0D1 1.0 \"E\" X17\n")]);
    let mut log = sarif(&directory, &["a.trcfmt"]);
    assert!(validator.is_valid(&log));
    log["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!validator.is_valid(&log));
}

// List of codes

/// Fixes per code in addition to the one in its example.
const MORE_FIXES: &[(&str, &str)] = &[
    ("S02", "guess"),
    ("S05", "guess"),
    ("S08", "guess"),
    ("S10", "guess"),
    ("S42", "safe, guess"),
    ("S46", "guess"),
    ("S47", "safe, guess"),
    ("X40", "guess"),
    ("C02", "guess"),
    ("C12", "guess"),
    ("C43", "safe, guess"),
    ("C44", "safe, guess"),
    ("C47", "guess"),
    ("C52", "safe, guess"),
    ("X82", "guess"),
    ("X94", "guess"),
];

fn example(info: &CodeInfo) -> Option<String> {
    let mut in_fence = false;
    let mut text = String::new();
    for line in info.explain.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        if line.starts_with("```") {
            in_fence = !in_fence;
        } else if let Some(line) = if in_fence { Some(line) } else { line.strip_prefix("    ") } {
            text.push_str(&line.replace('␠', " "));
            text.push('\n');
        }
    }
    (!text.is_empty()).then_some(text)
}

fn fixes(info: &CodeInfo) -> String {
    let known: BTreeMap<&str, &str> = MORE_FIXES.iter().copied().collect();
    let mut sources = Sources::new();
    sources.add(Source::new("example", example(info).unwrap_or_default()));
    let found = tfbc_compiler::compile(&sources, &tfbc_compiler::Options::default()).diagnostics;
    let fix = found.iter().filter(|found| found.code == info).find_map(|found| found.fix.as_ref());
    let shown = fix.map(|fix| if fix.safe { "safe" } else { "guess" });
    match known.get(info.code) {
        Some(known) => {
            assert!(shown.is_none_or(|shown| known.contains(shown)), "{}: {shown:?}", info.code);
            (*known).to_owned()
        }
        None => shown.unwrap_or("").to_owned(),
    }
}

fn table() -> String {
    let mut codes: Vec<&CodeInfo> = tfbc_grammar::CODES.iter().chain(tfbc_compiler::CODES).copied().collect();
    codes.sort_by_key(|info| ("SCXV".find(&info.code[..1]), info.code));
    let mut out = String::from("| code | | finding | fix |\n| --- | --- | --- | --- |\n");
    for info in codes {
        let severity = if info.severity == Severity::Error { "error" } else { "warning" };
        let _ = writeln!(out, "| {} | {severity} | {} | {} |", info.code, info.title, fixes(info));
    }
    out
}

#[test]
fn the_page_of_findings_lists_every_code() {
    const BEGIN: &str = "<!-- codes -->\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lints.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (listed, after) = rest.split_once("<!-- end of codes -->").unwrap();
    let table = table();
    if std::env::var("TFBC_BOOK").as_deref() == Ok("update") {
        fs::write(&path, format!("{before}{BEGIN}{table}<!-- end of codes -->{after}")).unwrap();
        return;
    }
    assert_eq!(listed, table, "TFBC_BOOK=update writes the list");
}

#[test]
fn every_code_has_an_example_that_fits_a_screen() {
    for info in tfbc_grammar::CODES.iter().chain(tfbc_compiler::CODES) {
        if let Some(text) = example(info) {
            assert!(text.lines().all(|line| line.chars().count() <= 76), "{}: {text}", info.code);
        }
    }
}
