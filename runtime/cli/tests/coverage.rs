//! Tests of `tfbc test --coverage`, part by part; `snapshots/tests/coverage.rs` compares it with the reference on
//! random templates.

use crate::common::{command, run};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use tfbc_authoring::cases::{RunOptions, Suite};
use tfbc_authoring::coverage::{Coverage, Covered, lcov, marked, measure, table};
use tfbc_compiler::coverage::PointKind;

/// Coverage of one format file by events of 32-bit hooks, or by records of class 6.
fn coverage(name: &str, source: &str, events: &[&str]) -> (TempDir, Coverage) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    file(name, source);
    let events: String = events.iter().map(|event| format!("[[event]]\n{event}\n")).collect();
    file("a.case.toml", &format!("formats = {:?}\n{events}", name));
    let suite = Suite::read(&[folder.path().join("a.case.toml")], None);
    let measured = measure(&suite, &RunOptions::default());
    assert_eq!(measured.left_out, [""; 0]);
    (folder, measured)
}

fn hook(words: &str) -> String {
    format!("env = 32\nhex = \"{words}\"")
}

fn record(id: u16, payload: &str) -> String {
    format!("class = 6\nid = {id}\nhex = \"{payload}\"")
}

/// Names and counts of parts of the given kinds, in file order.
fn counts(file: &Covered, kinds: &[PointKind]) -> Vec<(String, u64)> {
    let hits = file.hits.iter().filter(|hit| kinds.contains(&hit.point.kind));
    hits.map(|hit| (hit.point.name.clone(), hit.n)).collect()
}

fn assert_counts(file: &Covered, kind: PointKind, expected: &[(&str, u64)]) {
    let expected: Vec<_> = expected.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    assert_eq!(counts(file, &[kind]), expected, "{kind:?}");
}

fn trcfmt(source: &str, events: &[&str]) -> (TempDir, Coverage) {
    let events: Vec<_> = events.iter().map(|words| hook(words)).collect();
    coverage("a.trcfmt", source, &events.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn cases_count_whatever_they_compile_to() {
    // Short and long texts, case bodies, text and errno selectors, and cases with constant selectors.
    let source = "\
010 1.0 \"A\" $D1%U4, 1 \"one\", 2 \"two\", 300000 \"many\", \\* \"other\"
020 1.0 \"B\" $D1%U4, 1 { \"one\" X2 }, 2 \"a text that is longer than thirty-one bytes by far\"
030 1.0 \"C\" G4 A4, \"ab\" \"first\", \"cd\" \"second\"
040 1.0 \"D\" G4 E4, ENOENT \"gone\", 1 \"no right\"
050 1.0 \"E\" $HOOKENV, 32 \"narrow\", 64 \"wide\"
060 1.0 \"F\" $D1 & 0f, 1 \"one\", 1 \"never\", 2 \"two\"
";
    let events = [
        "010a0000 00000001",
        "010a0000 000493e0",
        "010a0000 00000007",
        "020a0000 00000002",
        "030e0000 63640000",
        "040e0000 00000002",
        "050a0000 00000000",
        "060a0000 00000031",
        "060a0000 00000041",
    ];
    let (_folder, measured) = trcfmt(source, &events);
    let file = &measured.files[0];
    let cases: Vec<_> = counts(file, &[PointKind::Case]).into_iter().map(|(_, n)| n).collect();
    assert_eq!(cases, [1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 2, 0, 0]);
    assert_counts(file, PointKind::Stanza, &[("010", 3), ("020", 1), ("030", 1), ("040", 1), ("050", 1), ("060", 2)]);
}

#[test]
fn flags_loops_functions_and_subroutines() {
    let source = "\
010 1.0 \"A\" BITFLAGS X4, 1 \"set\" \"clear\", 2 \"two\", & f0 30 \"three\" state($D1) LOOP $D2 { X1 } $020
020 1.0 \"B\" {{ state(v) $v, 1 \"on\", \\* \"off\" }} {{ never(v) $v }}
";
    let (_folder, measured) = trcfmt(source, &["010e0000 00000001 00000003", "010e0000 00000032 00000000"]);
    let file = &measured.files[0];
    assert_counts(file, PointKind::FlagSet, &[("1", 0), ("2", 0), ("f0", 0)]);
    let measured = trcfmt(
        &source.replace("BITFLAGS X4", "BITFLAGS $D1"),
        &["010e0000 00000001 00000003", "010e0000 00000032 00000000"],
    )
    .1;
    let file = &measured.files[0];
    assert_counts(file, PointKind::FlagSet, &[("1", 1), ("2", 1), ("f0", 1)]);
    assert_counts(file, PointKind::FlagClear, &[("1", 1)]);
    assert_counts(file, PointKind::Loop, &[("LOOP", 3)]);
    assert_counts(file, PointKind::Function, &[("state", 2), ("never", 0)]);
    // A stanza is also reached as a subroutine.
    assert_counts(file, PointKind::Stanza, &[("010", 2), ("020", 2)]);
}

#[test]
fn code_after_an_events_end_is_not_reached() {
    let source = "010 1.0 \"A\" $D1, 1 { \"stop\" $BREAK } \\\n    \"behind\"\n";
    let lines = |words: &[&str]| trcfmt(source, words).1.files[0].line_counts();
    assert_eq!(lines(&["010a0000 00000001"]), [Some(1), Some(0)]);
    assert_eq!(lines(&["010a0000 00000001", "010a0000 00000002"]), [Some(2), Some(1)]);
}

#[test]
fn environments_count_together() {
    let source = "010 1.0 \"A\" $HOOKENV, 32 \"narrow\", 64 \"wide\"\n";
    let wide = "env = 64\nhex = \"8000000801000000 0000000000000001\"";
    let (_folder, measured) = coverage("a.trcfmt", source, &[wide, &hook("010a0000 00000001")]);
    assert_counts(&measured.files[0], PointKind::Case, &[("32", 1), ("64", 1)]);
    assert_counts(&measured.files[0], PointKind::Stanza, &[("010", 2)]);
}

const XML: &str = r#"<eventdefinitions>
  <datakey format="%2u1x kind %2u1x state">
    <event class="6" id="1"/>
    <event class="6" id="2"/>
    <bitmask name="state" value="0xff"/>
    <enum name="kind" value="1" string="one"/>
    <enum name="kind" value="2" string="two"/>
    <enum name="state" mask="1" string="low"/>
    <enum name="state" mask="!2" string="not high"/>
    <enum name="state" value="7" string="seven"/>
    <enum name="kind" default="some"/>
  </datakey>
  <datakey format="%4u1x more" offset="4">
    <event class="6" id="1"/>
    <condition name="kind" value="1"/>
    <condition name="state" mask="1"/>
  </datakey>
  <datakey format="%4u1x always">
    <event class="6" id="3"/>
  </datakey>
</eventdefinitions>
"#;

#[test]
fn elements_of_event_definitions() {
    let events = [
        record(1, "0100 0100 05000000"),
        record(1, "0200 0700 05000000"),
        record(1, "0900 0200 05000000"),
        record(2, "0200"),
    ];
    let (_folder, measured) = coverage("a.xml", XML, &events.each_ref().map(String::as_str));
    let file = &measured.files[0];
    assert_counts(file, PointKind::Datakey, &[("%2u1x kind %2u1x state", 4), ("%4u1x more", 1), ("%4u1x always", 0)]);
    assert_counts(file, PointKind::Event, &[("6:1", 3), ("6:2", 1), ("6:1", 1), ("6:3", 0)]);
    assert_counts(file, PointKind::Bitmask, &[("state", 3)]);
    assert_counts(file, PointKind::Enum, &[("one", 1), ("two", 2), ("low", 2), ("not high", 1), ("seven", 1)]);
    assert_counts(file, PointKind::EnumDefault, &[("some", 1)]);
    assert_counts(file, PointKind::ConditionTrue, &[("kind", 1), ("state", 2)]);
    assert_counts(file, PointKind::ConditionFalse, &[("kind", 2), ("state", 1)]);
}

#[test]
fn the_table_names_what_is_not_reached() {
    let (folder, measured) = trcfmt("010 1.0 \"A\" $D1, 1 \"one\", 2 \"two\"\n", &["010a0000 00000001"]);
    let name = folder.path().join("a.trcfmt").display().to_string();
    let width = name.len();
    let expected = format!("{:<width$}   stanzas     cases\n{name}  1/1 100%  1/2  50%\n", "file");
    assert_eq!(table(&measured, false), expected);
    assert_eq!(table(&measured, true), format!("{expected}\n{name}:1:27: not reached: case 2\n"));
}

#[test]
fn the_source_is_marked_line_by_line() {
    let source = "# Comment.\n010 1.0 \"A\" $D1, 1 \"one\", \\\n    2 { \"two\" \\\n  \"more\" } \n\n020 1.0 \"B\" {{ f(v) $v }} f($D1)\n030 1.0 f($D1)\n";
    let (_folder, measured) = trcfmt(source, &["010a0000 00000001", "030a0000 00000001"]);
    let expected = "      | # Comment.
    1 | 010 1.0 \"A\" $D1, 1 \"one\", \\
##### |     2 { \"two\" \\
      |     ^^^^^^^^^^^
##### |   \"more\" }
      | ^^^^^^^^^^
      | \n    1 | 020 1.0 \"B\" {{ f(v) $v }} f($D1)
      | ^^^^^^^^^^^^             ^^^^^^^
    1 | 030 1.0 f($D1)
";
    let shown = marked(&measured, false);
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(&shown), lines(expected), "{shown}");
    let coloured = marked(&measured, true);
    assert!(coloured.contains("\u{1b}[4m\u{1b}[31m2 { \"two\"") && !coloured.contains("^^^"), "{coloured:?}");
}

/// A tracefile is consistent: its totals equal the lines above them.
#[test]
fn the_tracefile_adds_up() {
    let (_folder, measured) = coverage("a.xml", XML, &[&record(1, "0100 0100 05000000"), &record(2, "0200 0300")]);
    let text = lcov(&measured);
    let all = |key: &str| -> Vec<&str> { text.lines().filter_map(|line| line.strip_prefix(key)).collect() };
    let one = |key: &str| all(key)[0].parse::<usize>().unwrap();
    assert!(all("SF:")[0].ends_with("a.xml") && text.starts_with("TN:\nSF:/") && text.ends_with("\nend_of_record\n"));
    let hit = |rows: Vec<&str>, at: usize| rows.iter().filter(|row| row.split(',').nth(at) != Some("0")).count();
    assert_eq!((one("FNF:"), one("FNH:")), (all("FN:").len(), hit(all("FNDA:"), 0)));
    assert_eq!((one("BRF:"), one("BRH:")), (all("BRDA:").len(), hit(all("BRDA:"), 3)));
    assert_eq!((one("LF:"), one("LH:")), (all("DA:").len(), hit(all("DA:"), 1)));
    assert!(all("FNDA:").iter().all(|row| {
        all("FN:")
            .iter()
            .any(|known| known.split_once(',').map(|(_, name)| name) == row.split_once(',').map(|(_, name)| name))
    }));
    // Exactly the lines with a tag have a count.
    let lines: Vec<_> = all("DA:").iter().map(|row| row.split(',').next().unwrap().parse::<usize>().unwrap()).collect();
    let tagged = |line: &usize| XML.lines().nth(line - 1).unwrap().contains('<');
    assert!(lines.iter().all(tagged) && lines.len() == 16, "{lines:?}");
}

#[test]
fn traces_are_covered_as_they_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let sample = |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name);
    fs::copy(sample("shell.trc"), folder.path().join("shell.trc")).unwrap();
    fs::copy(sample("user.kev"), folder.path().join("user.kev")).unwrap();
    fs::copy(sample("user.xml"), folder.path().join("user.xml")).unwrap();
    fs::write(folder.path().join("a.trcfmt"), "106 1.0 \"D\" $D1%UW, 4522 \"shell\", \\* { $SKIP }\n").unwrap();
    fs::write(
        folder.path().join("a.case.toml"),
        "formats = [\"a.trcfmt\", \"user.xml\"]\n[[event]]\ntrace = \"shell.trc\"\nonly = 106\n[[event]]\ntrace = \"user.kev\"\n",
    )
    .unwrap();
    let mut command = command("tfbc");
    command.current_dir(&folder).env("NO_COLOR", "1");
    let (out, err, status) = run(command.args(["test", "--no-cache", "--update", "--coverage", "-o", "c.txt"]));
    assert_eq!(status, 0, "{out}{err}");
    let text = fs::read_to_string(folder.path().join("a.case.snap")).unwrap();
    let n_shell = text.matches("D shell").count() as u64;
    let suite = Suite::read(&[folder.path().join("a.case.toml")], None);
    let measured = measure(&suite, &RunOptions::default());
    assert_counts(&measured.files[0], PointKind::Case, &[("4522", n_shell), ("\\*", 20 - n_shell)]);
    // Enums are counted as often as the report prints their text.
    let modes = text.lines().filter(|line| line.starts_with("code:") && line.ends_with(" unknown")).count() as u64;
    let unknown = counts(&measured.files[1], &[PointKind::EnumDefault]).into_iter().find(|(name, _)| name == "unknown");
    assert_eq!(unknown, Some(("unknown".to_owned(), modes)));
    let table = fs::read_to_string(folder.path().join("c.txt")).unwrap();
    assert!(table.starts_with("file") && table.contains("user.xml"), "{table}");
}

#[test]
fn blobs_and_broken_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.trcfmt"), "010 1.0 \"A\"\n").unwrap();
    fs::write(folder.path().join("a.case.toml"), "formats = \"a.tfbc\"\nenv = 32\n[[event]]\nhex = \"010a0000\"\n")
        .unwrap();
    let tfbc = |args: &[&str]| run(command("tfbc").current_dir(&folder).args(args));
    assert_eq!(tfbc(&["compile", "a.trcfmt", "-o", "a.tfbc", "--no-cache"]).2, 0);
    let (_, err, _) = tfbc(&["test", "--no-cache", "--coverage"]);
    assert!(err.contains("a.tfbc: no coverage"), "{err}");
}
